//! The body of a random function, as a [template](super::template).
//!
//! | module | what it writes |
//! |---|---|
//! | `floats` | expressions |
//! | `control` | branches, loops, labels |
//! | `slices` | what moves the elements of a slice about |
//! | `vecs` | what grows and shrinks |
//! | `data` | structs, enums, boxes, strings |
//! | `calls` | closures and functions |
//!
//! Every name is a letter and a number of its own, so that the text can be made smaller line by line. No expression
//! overflows an integer, and no slice in scope is ever empty.

mod calls;
mod control;
mod data;
mod floats;
mod slices;
mod vecs;

use super::signature::{Kind, Output, Signature};
use crate::rng::Rng;

/// The body of a function with this signature, and the functions it calls, as templates.
pub fn body(rng: Rng, signature: &Signature) -> (String, String) {
    let mut writer = Writer {
        rng,
        out: String::new(),
        helpers: String::new(),
        indent: 1,
        scope: Scope::default(),
        next: 0,
        budget: 0,
        loops: 0,
        place: Place::Function,
        returns: signature.output,
    };
    for (i, param) in signature.params.iter().enumerate() {
        writer.scope.enter(&format!("a{i}"), param.kind);
    }
    writer.next = signature.params.len();
    if writer.scope.floats.is_empty() && writer.scope.slices.is_empty() {
        writer.bind("§0.75§");
    }
    // What goes wrong with one statement is seen best alone, what goes wrong with several needs several.
    writer.budget = if writer.rng.chance(50) { writer.rng.between(1, 3) } else { writer.rng.between(4, 8) };
    while writer.budget > 0 {
        writer.statement();
    }
    writer.result(signature.output);
    (writer.out, writer.helpers)
}

/// The names in scope.
#[derive(Clone, Default)]
struct Scope {
    /// Places with an `F`.
    floats: Vec<String>,
    /// Those that can be written to.
    vars: Vec<String>,
    /// `usize`s.
    ints: Vec<String>,
    /// What can be indexed and iterated over.
    slices: Vec<String>,
    /// Those of them that can be written to.
    writable: Vec<String>,
    /// `Vec`s that can grow and shrink.
    vecs: Vec<String>,
    /// `P`s that can be written to.
    structs: Vec<String>,
    /// `Vec`s that keep their length, and can be exchanged for others.
    fixed: Vec<String>,
    /// `Vec`s of two references.
    rows: Vec<String>,
    /// Loops that can be left.
    labels: Vec<String>,
}

impl Scope {
    /// Add an argument.
    fn enter(&mut self, name: &str, kind: Kind) {
        match kind {
            Kind::Float => {
                self.floats.push(name.into());
                self.vars.push(name.into());
            }
            Kind::Slice(_) | Kind::ArrayRef(_) => self.slices.push(name.into()),
            Kind::Array(_) | Kind::SliceMut(_) | Kind::ArrayMut(_) => {
                self.slices.push(name.into());
                self.writable.push(name.into());
            }
            Kind::Vec => {
                self.slices.push(name.into());
                self.writable.push(name.into());
                self.vecs.push(name.into());
            }
            Kind::VecMut => {
                self.slices.push(name.into());
                self.writable.push(name.into());
                self.fixed.push(format!("*{name}"));
            }
            Kind::Rows => {
                let rows = [format!("{name}[0]"), format!("{name}[1]")];
                self.slices.extend(rows.clone());
                self.writable.extend(rows.clone());
                self.fixed.extend(rows.map(|row| format!("*{row}")));
                self.rows.push(name.into());
            }
            Kind::Struct | Kind::StructMut => self.enter_struct(name),
            Kind::StructRef => {
                self.floats.extend([format!("{name}.a"), format!("*{name}.g")]);
                self.slices.extend([format!("{name}.b"), format!("{name}.w")]);
                self.ints.push(format!("{name}.k"));
            }
            Kind::Index => self.ints.push(name.into()),
        }
    }

    fn enter_struct(&mut self, name: &str) {
        self.floats.extend([format!("{name}.a"), format!("*{name}.g")]);
        self.vars.extend([format!("{name}.a"), format!("*{name}.g")]);
        self.slices.extend([format!("{name}.b"), format!("{name}.w")]);
        self.writable.extend([format!("{name}.b"), format!("{name}.w")]);
        self.ints.push(format!("{name}.k"));
        self.structs.push(name.into());
        self.fixed.push(format!("{name}.w"));
    }

    /// Forget a name, and its fields.
    fn forget(&mut self, name: &str) {
        let keep = |place: &String| base(place) != base(name);
        let lists =
            [&mut self.floats, &mut self.vars, &mut self.ints, &mut self.slices, &mut self.writable, &mut self.vecs];
        for list in lists {
            list.retain(keep);
        }
        for list in [&mut self.structs, &mut self.fixed, &mut self.rows] {
            list.retain(keep);
        }
    }
}

/// The variable that a place is part of.
fn base(place: &str) -> &str {
    place.trim_start_matches('*').split(['.', '[']).next().unwrap_or(place)
}

/// What statements stand in: it says how they can be left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Function,
    Closure,
}

struct Writer {
    rng: Rng,
    out: String,
    helpers: String,
    indent: usize,
    scope: Scope,
    next: usize,
    budget: usize,
    loops: usize,
    place: Place,
    /// What the function returns.
    returns: Output,
}

impl Writer {
    fn line(&mut self, text: impl AsRef<str>) {
        self.out += &"    ".repeat(self.indent);
        self.out += text.as_ref();
        self.out.push('\n');
    }

    fn name(&mut self, stem: &str) -> String {
        self.next += 1;
        format!("{stem}{}", self.next)
    }

    /// A new float of this value; now and then it can be written to, or is never looked at.
    fn bind(&mut self, value: &str) -> String {
        match self.rng.below(10) {
            0 => {
                let name = self.name("u");
                self.line(format!("let _{name} = {value};"));
                name
            }
            1..4 => {
                let name = self.name("s");
                self.line(format!("let mut {name} = {value};"));
                self.scope.vars.push(name.clone());
                self.scope.floats.push(name.clone());
                name
            }
            _ => {
                let name = self.name("x");
                self.line(format!("let {name} = {value};"));
                self.scope.floats.push(name.clone());
                name
            }
        }
    }

    /// A new slice that can be written to, of this value.
    fn bind_slice(&mut self, value: &str) -> String {
        let name = self.name("m");
        self.line(format!("let mut {name} = {value};"));
        self.scope.slices.push(name.clone());
        self.scope.writable.push(name.clone());
        name
    }

    fn bind_vec(&mut self, value: &str) -> String {
        let name = self.name("v");
        self.line(format!("let mut {name}: Vec<F> = {value};"));
        self.scope.slices.push(name.clone());
        self.scope.writable.push(name.clone());
        self.scope.vecs.push(name.clone());
        name
    }

    /// Statements in braces, with a scope of their own; `inside` writes them.
    fn nested(&mut self, inside: impl FnOnce(&mut Self)) {
        let scope = self.scope.clone();
        self.indent += 1;
        inside(self);
        self.indent -= 1;
        self.scope = scope;
    }

    fn some_statements(&mut self, most: usize) {
        for _ in 0..self.rng.between(1, most) {
            if self.budget > 0 {
                self.statement();
            }
        }
    }

    /// Statements, and one whose effect is seen outside.
    fn some_statements_and_update(&mut self) {
        self.some_statements(2);
        if self.scope.vars.is_empty() || self.rng.chance(25) { self.store() } else { self.update() }
    }

    fn statement(&mut self) {
        self.budget = self.budget.saturating_sub(1);
        let deep = self.indent > 3;
        match self.rng.below(52) {
            0..3 => {
                let value = self.float(2);
                self.bind(&value);
            }
            3 | 4 => self.update(),
            5 | 6 => self.store(),
            7 | 8 => {
                let value = self.chain();
                self.bind(&value);
            }
            9 | 10 => {
                let value = self.option();
                self.bind(&value);
            }
            11 if !deep => self.branch(),
            12 if !deep => self.match_int(),
            13..15 if !deep => self.counted_loop(),
            15 if !deep => self.iteration(),
            16 if !deep => self.while_loop(),
            17 if !deep => self.labelled(),
            18 => self.early_return(),
            19 => self.integer(),
            20..26 => self.rearrange(),
            26..31 => self.resize(),
            31 | 32 => self.structure(),
            33..36 => self.enumeration(),
            36 => self.boxed(),
            37 => self.text(),
            38 => self.assertion(),
            39..42 if !deep => self.closure(),
            42 => self.call(),
            43 if !deep => self.helper(),
            44 => self.array(),
            45..49 => self.rearrange(),
            49 | 50 => self.exchange(),
            _ => {
                let value = self.bounded();
                self.bind(&value);
            }
        }
    }

    fn update(&mut self) {
        if self.scope.vars.is_empty() {
            let value = self.float(1);
            self.bind(&value);
            return;
        }
        let name = self.rng.pick(&self.scope.vars).clone();
        let value = self.bounded();
        let operator = *self.rng.pick(&["=", "+=", "*=", "-=", "+="]);
        self.line(format!("{name} {operator} {value};"));
    }

    fn store(&mut self) {
        if self.scope.writable.is_empty() {
            return self.array();
        }
        let slice = self.rng.pick(&self.scope.writable).clone();
        let index = self.index(&slice);
        let value = self.bounded();
        let operator = *self.rng.pick(&["=", "+=", "*=", "="]);
        let name = self.name("x");
        self.line(format!("let {name} = {value};"));
        self.line(format!("{slice}[{index}] {operator} {name};"));
    }

    /// The result: something of everything.
    fn result(&mut self, output: Output) {
        let count = output.floats();
        let names: Vec<String> = (0..count).map(|_| self.name("r")).collect();
        for name in &names {
            let first = self.atom();
            self.line(format!("let mut {name} = {first};"));
            let places = self.scope.floats.clone();
            for place in places {
                if self.rng.chance(50) {
                    let weight = 0.25 + self.rng.below(8) as f64 / 8.0;
                    self.line(format!("{name} += §{weight:?}§ * {place};"));
                }
            }
            let slices = self.scope.writable.clone();
            for slice in slices {
                if self.rng.chance(60) {
                    let (a, b) = (self.literal(), self.name("t"));
                    let line = match self.rng.below(3) {
                        0 => format!("{name} += {slice}.iter().sum::<F>();"),
                        1 => format!("for (i, {b}) in {slice}.iter().enumerate() {{ {name} += {b} * (i §as_float); }}"),
                        _ => format!("{name} += {slice}.iter().fold({a}, |r, {b}| r * §0.5§ + {b});"),
                    };
                    self.line(line);
                }
            }
        }
        match (output, &names[..]) {
            (Output::Pair, [a, b]) => self.line(format!("({a}, {b})")),
            (Output::Array, [a, b]) => self.line(format!("[{a}, {b}]")),
            (_, [a]) => self.line(a.clone()),
            _ => {}
        }
    }
}
