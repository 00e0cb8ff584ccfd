//! Closures and functions.

use super::{Place, Scope, Writer};
use crate::rust::signature::{Kind, Output};

impl Writer {
    pub(super) fn closure(&mut self) {
        if self.rng.chance(25) || self.place == Place::Closure {
            let (a, b, c) = (self.float(1), self.atom(), self.atom());
            let value = match self.rng.below(3) {
                0 => format!("{{ let g = |t: F| t * {a} + {b}; g({c}) * g(§0.5§) }}"),
                1 => format!("apply(|t| (t * {b}).sin() + {a}, {c})"),
                _ => format!("(|mut t: F| {{ t *= {a}; t }})({c})"),
            };
            self.bind(&value);
            return;
        }
        // One that writes to what it captures.
        if self.scope.vars.is_empty() {
            let value = self.float(1);
            let name = self.name("s");
            self.line(format!("let mut {name} = {value};"));
            self.scope.vars.push(name.clone());
            self.scope.floats.push(name);
        }
        let var = self.rng.pick(&self.scope.vars).clone();
        let slice =
            if self.scope.writable.is_empty() { None } else { Some(self.rng.pick(&self.scope.writable).clone()) };
        let slice = slice.filter(|_| self.rng.chance(50));
        let (name, t) = (self.name("g"), self.name("x"));
        self.line(format!("let mut {name} = |{t}: F, i{t}: usize| {{"));
        let (labels, loops) = (std::mem::take(&mut self.scope.labels), self.loops);
        self.place = Place::Closure;
        self.nested(|w| {
            w.scope.floats.push(t.clone());
            w.scope.ints.push(format!("i{t}"));
            w.scope.vars = vec![var.clone()];
            w.scope.writable = slice.iter().cloned().collect();
            w.scope.vecs.clear();
            w.scope.structs.clear();
            w.scope.fixed.clear();
            w.scope.rows.clear();
            w.some_statements(2);
            let value = w.bounded();
            let operator = *w.rng.pick(&["=", "+=", "*="]);
            w.line(format!("{var} {operator} {value};"));
            if let Some(slice) = &slice {
                w.line(format!("let k{t} = i{t} % {slice}.len(); {slice}[k{t}] += {t};"));
            }
            if w.rng.chance(50) {
                w.line(format!("{var} * {t}"));
            }
        });
        self.place = Place::Function;
        self.loops = loops;
        self.line("};");
        let scope = self.scope.clone();
        self.scope.forget(&var);
        if let Some(slice) = &slice {
            self.scope.forget(slice);
        }
        let (a, b) = (self.bounded(), self.atom());
        match self.rng.below(3) {
            0 => self.line(format!("{name}({a}, 0); {name}({b}, 1);")),
            1 => self.line(format!("for i in 0..3 {{ {name}({a} * (i §as_float), i); }}")),
            _ => {
                self.line(format!("repeat(|t| {{ {name}(t, 1); }}, 3, {a});"));
                self.line(format!("{name}({b}, 0);"));
            }
        }
        self.scope = scope;
        self.scope.labels = labels;
    }

    /// A call of a function that is there.
    pub(super) fn call(&mut self) {
        let (int, a, b) = (self.int(), self.bounded(), self.atom());
        let slice = if self.scope.slices.is_empty() {
            "[§0.5§, §-0.25§]".into()
        } else {
            self.rng.pick(&self.scope.slices).clone()
        };
        match self.rng.below(5) {
            0..3 => {
                let function = *self.rng.pick(&["down", "even", "tree"]);
                self.bind(&format!("{function}({int} % 4, {a}, &{slice}[..])"));
            }
            3 => {
                let (first, second) = (self.name("x"), self.name("x"));
                self.line(format!("let ({first}, {second}) = ({a}).sin_cos();"));
                self.scope.floats.extend([first, second]);
            }
            _ => {
                let (first, second) = (self.name("x"), self.name("x"));
                self.line(format!("let ({first}, {second}) = both({a}, {b});"));
                self.scope.floats.extend([first, second]);
            }
        }
    }

    /// A function of its own, and a call of it.
    pub(super) fn helper(&mut self) {
        if self.place == Place::Closure || self.scope.writable.is_empty() || self.scope.slices.is_empty() {
            return self.call();
        }
        let name = self.name("h");
        let writable = self.rng.pick(&self.scope.writable).clone();
        let takes_struct = !self.scope.structs.is_empty() && self.rng.chance(50);
        let (x, m, v, n) = (self.name("x"), self.name("m"), self.name("v"), self.name("n"));
        let p = self.name("p");

        let mut scope = Scope::default();
        scope.enter(&x, Kind::Float);
        scope.enter(&m, Kind::SliceMut(0));
        scope.enter(&v, Kind::Slice(0));
        scope.enter(&n, Kind::Index);
        scope.enter(&p, if takes_struct { Kind::Struct } else { Kind::Float });
        let out = std::mem::take(&mut self.out);
        let outer = std::mem::replace(&mut self.scope, scope);
        let (indent, loops) = (std::mem::replace(&mut self.indent, 1), std::mem::replace(&mut self.loops, 1));
        let returns = std::mem::replace(&mut self.returns, Output::Float);
        let kind = if takes_struct { "P" } else { "F" };
        self.line(format!("if {n} == 0 {{ return {x}; }}"));
        self.some_statements(3);
        self.store();
        let recursion = self.rng.chance(40);
        if recursion {
            let value = self.bounded();
            let passed = if takes_struct { format!("{p}.clone()") } else { format!("{p} * §0.5§") };
            let again = format!("{name}({value}, &mut {m}[..], {v}, {n} - 1, {passed})");
            let r = self.name("x");
            self.line(format!("let {r} = {again};"));
            self.scope.floats.push(r);
        }
        let result = self.float(2);
        let tail = if takes_struct { format!("{result} + {p}.consume()") } else { format!("{result} * {p}") };
        self.line(tail);
        let body = std::mem::replace(&mut self.out, out);
        (self.scope, self.indent, self.loops, self.returns) = (outer, indent, loops, returns);
        self.helpers += &format!(
            "\nfn {name}(mut {x}: F, {m}: &mut [F], {v}: &[F], {n}: usize, mut {p}: {kind}) -> F {{\n{body}}}\n"
        );

        let read = self.rng.pick(&self.scope.slices).clone();
        let copy = self.name("m");
        let (int, a, b) = (self.int(), self.float(1), self.atom());
        self.line(format!("let {copy} = {read}.to_vec();"));
        let (first, last) = (self.name("x"), self.name("x"));
        let passed = if takes_struct { format!("{}.clone()", self.rng.pick(&self.scope.structs)) } else { b };
        self.line(format!("let ({first}, {last}) = ({a}, {passed});"));
        let k = self.name("k");
        self.line(format!("let {k} = {int} % 4;"));
        let value = format!("{name}({first}, &mut {writable}[..], &{copy}[..], {k}, {last})");
        self.bind(&value);
    }
}
