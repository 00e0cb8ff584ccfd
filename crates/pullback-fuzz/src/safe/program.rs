//! Random safe programs: a function, its arguments and their shadows, and a derivative that is taken of it.
//!
//! Programs come in *worlds*: a world has types and arguments, and [`FUNCTIONS`] functions of those, each of which is a
//! program. What is compiled for the arguments is compiled once for all of them.
//!
//! The text of a world is written once, and stands in two crates: in one, `F` is a float, and derivatives are taken; in
//! the other, the oracle, `F` is a dual number. Lines that begin with `@real` are in the first only.

use super::body::{Access, Floats, Place, Trust, Variable, Writer};
use super::types::{self, Ty, Use};
use crate::rng::Rng;
use std::collections::BTreeSet;

/// How an argument is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pass {
    Value,
    Ref,
    RefMut,
    Slice,
    SliceMut,
    /// `Box<&mut _>`
    InBox,
    /// `Vec<&mut _>`, of one
    InVec,
    /// A reference to what is in an `Rc`.
    Content,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Activity {
    Const,
    Duplicated,
    /// A float by value, whose gradient is returned.
    Active,
}

#[derive(Clone, Debug)]
struct Argument {
    /// What the caller owns.
    ty: Ty,
    pass: Pass,
    activity: Activity,
}

impl Argument {
    fn parameter(&self, k: usize) -> String {
        let name = self.ty.name();
        let of = if let Ty::Vec(of) | Ty::Rc(of) = &self.ty { of.name() } else { String::new() };
        match self.pass {
            Pass::Value => format!("mut p{k}: {name}"),
            Pass::Ref => format!("p{k}: &{name}"),
            Pass::RefMut => format!("p{k}: &mut {name}"),
            Pass::Slice => format!("p{k}: &[{of}]"),
            Pass::SliceMut => format!("p{k}: &mut [{of}]"),
            Pass::InBox => format!("mut p{k}: Box<&mut {name}>"),
            Pass::InVec => format!("mut p{k}: Vec<&mut {name}>"),
            Pass::Content => format!("p{k}: &{of}"),
        }
    }

    /// The argument, where `name` is what the caller owns.
    fn given(&self, name: &str) -> String {
        match self.pass {
            Pass::Value => name.to_owned(),
            Pass::Ref => format!("&{name}"),
            Pass::RefMut => format!("&mut {name}"),
            Pass::Slice => format!("&{name}[..]"),
            Pass::SliceMut => format!("&mut {name}[..]"),
            Pass::InBox => format!("Box::new(&mut {name})"),
            Pass::InVec => format!("vec![&mut {name}]"),
            Pass::Content => format!("&*{name}"),
        }
    }

    /// Its shadow in reverse mode.
    fn shadow(&self, name: &str) -> String {
        match self.pass {
            Pass::Slice | Pass::SliceMut => format!("&mut {name}[..]"),
            Pass::InBox | Pass::InVec => format!("&mut {}", self.given(name)),
            _ => format!("&mut {name}"),
        }
    }

    fn stays(&self) -> bool {
        self.pass != Pass::Value
    }
}

/// What the function returns.
#[derive(Clone, PartialEq, Debug)]
enum Returned {
    Nothing,
    Value(Ty),
    /// A pair of a value and something without a derivative that is not owned.
    Named,
    /// A reference into the first argument.
    Borrowed(Ty),
}

/// How many owners the shadow of shared memory has, beside the primal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owners {
    Same,
    Fewer,
    More,
}

/// How many programs a world has.
pub const FUNCTIONS: usize = 8;

const LINTS: &str = "#![forbid(unsafe_code)]\n#![allow(warnings)]\n";
const USES: &str = "use std::cell::{Cell, RefCell};\nuse std::rc::Rc;\n";

/// The functions of a module that are called from outside, each with its number.
fn programs(ty: &str, prefix: &str, functions: &[&Function]) -> String {
    let list: String = functions.iter().map(|f| format!("({}, {prefix}{0}), ", f.number)).collect();
    format!("pub const PROGRAMS: &[(usize, {ty})] = &[{list}];\n")
}

/// Programs, and what they share.
pub struct World {
    seed: u64,
    writer: Writer,
    functions: Vec<Function>,
    arguments: Vec<Argument>,
    /// Memory that is reached in several ways, and whether it has shadows.
    shares: Vec<(Ty, bool)>,
    /// Arguments may be of types that have tangents, but no cotangents that could be written.
    forward_only: bool,
    functional: bool,
    single: bool,
    /// The shadows' world has the primal's own shared memory.
    aliased: bool,
    /// Shadows have other capacities than their primals.
    capacities: bool,
    /// How many owners the shadows of shared memory have.
    owners: Owners,
    shares_text: String,
    world_text: String,
    shared: String,
    /// What is done to shared memory between two calls of a pullback.
    between: String,
}

/// One program.
struct Function {
    number: usize,
    returned: Returned,
    body: String,
    result: String,
    /// What can be compared with the oracle.
    trust: Trust,
    /// The attribute on the function, and the function that takes the derivative.
    form: (String, String),
    /// It is a method of the first argument's type.
    method: bool,
    /// The tangent of its result is used when the shadow has gone: no program that rustc takes.
    outlived: bool,
}

impl World {
    /// The world of a seed.
    pub fn new(seed: u64) -> Self {
        let mut writer = Writer::new(Rng::new(seed));
        let rng = &mut writer.rng;
        let functional = rng.chance(40);
        let single = rng.chance(20);
        for _ in 0..rng.below(3) {
            let new = types::a_struct(&mut writer.rng, &writer.structs);
            writer.structs.push(new);
        }
        let mut shares = Vec::new();
        for _ in 0..writer.rng.below(3) {
            let active = writer.rng.chance(45);
            let purpose = if active { Use::Duplicated } else { Use::Const };
            shares.push((types::shared(&mut writer.rng, &writer.structs, purpose), active));
        }
        let mut world = World {
            seed,
            writer,
            functions: Vec::new(),
            arguments: Vec::new(),
            shares,
            forward_only: false,
            functional,
            single,
            aliased: false,
            capacities: false,
            owners: Owners::Same,
            shares_text: String::new(),
            world_text: String::new(),
            shared: String::new(),
            between: String::new(),
        };
        world.signature();
        world.values();
        for number in 0..FUNCTIONS {
            let function = world.function(number);
            world.functions.push(function);
        }
        world
    }

    /// The arguments.
    fn signature(&mut self) {
        let rng = &mut self.writer.rng;
        let forward_only = !self.functional && rng.chance(35);
        self.forward_only = forward_only;
        let count = rng.between(1, 3);
        for k in 0..count {
            let argument = self.argument(k, forward_only);
            self.arguments.push(argument);
        }
        // Each share is in at least one argument, often in two.
        for (share, active) in self.shares.clone() {
            let twice = self.writer.rng.chance(70);
            let times = if self.functional && active {
                let first = &mut self.arguments[0];
                first.pass = Pass::Ref;
                // There is something to differentiate by.
                let suffices = share.has_active_floats(&self.writer.structs);
                first.ty = match self.writer.rng.below(3) {
                    0 if suffices => share.clone(),
                    1 if suffices => Ty::Pair(Box::new(share.clone()), Box::new(share.clone())),
                    _ => Ty::Pair(Box::new(first.ty.clone()), Box::new(share.clone())),
                };
                0
            } else {
                1 + usize::from(twice)
            };
            for _ in 0..times {
                let activity = if active { Activity::Duplicated } else { Activity::Const };
                let pass = match self.writer.rng.below(5) {
                    0 if !self.functional => Pass::Value,
                    1 if !self.functional => Pass::RefMut,
                    _ => Pass::Ref,
                };
                let ty = match self.writer.rng.below(4) {
                    0 => share.clone().vec(),
                    1 => Ty::Pair(Box::new(share.clone()), Box::new(Ty::Usize)),
                    _ => share.clone(),
                };
                // Several arguments may be the same reference. (A shadow of reverse mode is a `&mut`, and no other is the same.)
                let referred = (self.forward_only || !active) && ty == share && matches!(share, Ty::Rc(_));
                let pass = if referred && self.writer.rng.chance(50) { Pass::Content } else { pass };
                self.arguments.push(Argument { ty, pass, activity });
            }
            if active && self.writer.rng.chance(40) {
                let by_value = !self.functional && self.writer.rng.chance(50);
                let pass = if by_value { Pass::Value } else { Pass::Ref };
                let ty = Ty::Held(Box::new(share));
                self.arguments.push(Argument { ty, pass, activity: Activity::Const });
            }
        }
        self.aliased = self.writer.rng.chance(12);
        self.capacities = self.writer.rng.chance(30);
        self.owners = match self.writer.rng.below(10) {
            // With others than the shadows, what is in an `Rc` cannot be put aside.
            0..3 => Owners::Fewer,
            3 => Owners::More,
            _ => Owners::Same,
        };
    }

    /// The type of a function's result.
    fn returned(&mut self, method: bool) -> Returned {
        let rng = &mut self.writer.rng;
        if method && rng.chance(25) {
            return Returned::Borrowed(Ty::Float);
        }
        if rng.chance(70) && !self.forward_only {
            return Returned::Value(Ty::Float);
        }
        let float = || Box::new(Ty::Float);
        match rng.below(10) {
            0 if !self.functional => Returned::Nothing,
            1 => Returned::Value(Ty::Pair(float(), Box::new(Ty::String))),
            2 => Returned::Value(Ty::Float.vec()),
            3 => Returned::Value(Ty::Option(Box::new(Ty::Boxed(float())))),
            4 => Returned::Named,
            5 => Returned::Value(Ty::Float.cell().rc()),
            6 | 7 if !self.functional => Returned::Borrowed(Ty::Float),
            8 => {
                let ty = types::random(rng, &self.writer.structs, Use::Duplicated, 2);
                Returned::Value(if ty.has_active_floats(&self.writer.structs) { ty } else { Ty::Float.vec() })
            }
            _ => Returned::Value(Ty::Float),
        }
    }

    fn argument(&mut self, k: usize, forward_only: bool) -> Argument {
        let (rng, structs) = (&mut self.writer.rng, &self.writer.structs);
        if self.functional && k > 0 {
            let ty = types::random(rng, structs, Use::Const, 2);
            return Argument { ty, pass: Pass::Ref, activity: Activity::Const };
        }
        let activity = match rng.below(10) {
            _ if k == 0 => Activity::Duplicated,
            0..5 => Activity::Duplicated,
            5..7 => Activity::Active,
            _ => Activity::Const,
        };
        if activity == Activity::Active {
            return Argument { ty: Ty::Float, pass: Pass::Value, activity };
        }
        let purpose = match activity {
            Activity::Const => Use::Const,
            _ if forward_only => Use::Dual,
            _ => Use::Duplicated,
        };
        let depth = rng.between(1, 3);
        let mut ty = types::random(rng, structs, purpose, depth);
        if activity == Activity::Duplicated {
            for _ in 0..20 {
                if ty.has_active_floats(structs) {
                    break;
                }
                ty = types::random(rng, structs, purpose, depth);
            }
            if !ty.has_active_floats(structs) || rng.chance(35) {
                ty = Ty::Float.vec();
            }
        }
        if k == 0 && forward_only && !structs.is_empty() && rng.chance(40) {
            // Its functions can be methods.
            let pass = if rng.chance(50) { Pass::Ref } else { Pass::RefMut };
            return Argument { ty: Ty::Struct(rng.below(structs.len())), pass, activity };
        }
        if k == 0 && self.functional {
            let pass = if matches!(ty, Ty::Vec(_)) && rng.chance(40) { Pass::Slice } else { Pass::Ref };
            return Argument { ty, pass, activity };
        }
        let sliced = matches!(ty, Ty::Vec(_));
        let pass = match rng.below(12) {
            0..3 => Pass::Ref,
            3..7 => Pass::RefMut,
            10 => Pass::InBox,
            11 => Pass::InVec,
            7 if sliced => Pass::Slice,
            8 if sliced => Pass::SliceMut,
            _ => Pass::Value,
        };
        Argument { ty, pass, activity }
    }

    /// The text that makes the arguments.
    fn values(&mut self) {
        self.shared =
            (0..self.writer.rng.below(4)).map(|_| self.writer.rng.below(2).to_string()).collect::<Vec<_>>().join(", ");
        let reached = Ty::Usize.vec().ref_cell().rc();
        for (k, (ty, active)) in self.shares.clone().into_iter().enumerate() {
            let floats = if active { Floats::Inputs } else { Floats::Literals };
            let value = if ty == reached && self.writer.rng.chance(60) {
                "shared()".to_owned()
            } else {
                self.writer.value(&ty, floats)
            };
            self.shares_text += &format!("    let s{k} = {value};\n");
            let variable = Variable { text: format!("s{k}"), ty, access: Access::Read, active };
            self.writer.scope.push(variable);
        }
        let all = self.writer.scope.clone();
        for k in 0..self.arguments.len() {
            let argument = self.arguments[k].clone();
            if let Ty::Held(of) = &argument.ty {
                let share = self.shares.iter().position(|(ty, active)| ty == &**of && *active).unwrap_or_default();
                self.world_text += &format!("    let a{k} = Held(RefCell::new(Some(s{share}.clone())));\n");
                continue;
            }
            let active = argument.activity != Activity::Const;
            // Memory with shadows is in arguments with shadows.
            self.writer.scope = all.iter().filter(|variable| variable.active == active).cloned().collect();
            let floats = if active { Floats::Inputs } else { Floats::Literals };
            let value = self.writer.value(&argument.ty, floats);
            self.world_text += &format!("    let a{k}: {} = {value};\n", argument.ty.name());
        }
        // Between two calls of a pullback, what is shared changes.
        let touchable = all.into_iter().filter(|variable| !variable.active);
        self.writer.scope =
            touchable.map(|variable| Variable { text: format!("(*{})", variable.text), ..variable }).collect();
        let counted = self.writer.trust;
        self.between = (0..2).map(|_| self.touched()).collect();
        self.writer.trust = counted;
        self.writer.scope.clear();
    }

    fn touched(&mut self) -> String {
        let how = self.writer.rng.below(6);
        let poke = format!("        poke({how});\n");
        if self.writer.scope.is_empty() {
            poke
        } else {
            poke + &self.writer.block(1, 0, "        ").replace("acc +=", "let _ =")
        }
    }

    /// A function of the arguments.
    fn function(&mut self, number: usize) -> Function {
        let trusted = !self.aliased;
        self.writer.trust = Trust { derivative: trusted, after: trusted };
        self.writer.scope.clear();
        for (k, argument) in self.arguments.iter().enumerate() {
            let text = match argument.pass {
                Pass::Value => format!("p{k}"),
                Pass::InBox => format!("(**p{k})"),
                Pass::InVec => format!("(*p{k}[0])"),
                _ => format!("(*p{k})"),
            };
            let access = match argument.pass {
                Pass::Ref | Pass::Slice | Pass::Content => Access::Read,
                _ => Access::Write,
            };
            let active = argument.activity != Activity::Const;
            let (text, ty) = match (argument.pass, &argument.ty) {
                // Of a slice, the first element and the last.
                (Pass::Content, Ty::Rc(of)) => (text, (**of).clone()),
                (Pass::Slice | Pass::SliceMut, Ty::Vec(of)) => (format!("p{k}[0]"), (**of).clone()),
                _ => (text, argument.ty.clone()),
            };
            self.writer.scope.push(Variable { text, ty, access, active });
        }
        let index = self.writer.number();
        self.writer.scope.push(Variable { text: "i0".to_owned(), ty: Ty::Usize, access: Access::Read, active: false });
        self.writer.scope.push(Variable { text: "acc".to_owned(), ty: Ty::Float, access: Access::Write, active: true });
        let sum = self.slices();
        let indexed = if self.writer.rng.chance(35) { self.writer.over_numbers(1, "    ") } else { String::new() };
        let early = self.early();
        // What comes between may panic, and then the indices do not change.
        let count = self.writer.rng.between(0, if indexed.is_empty() { 6 } else { 2 });
        let body = early + &indexed + &self.writer.block(count, 2, "    ") + &self.late(!indexed.is_empty());
        let body = format!(
            "    let i0: usize = 0;\n    let i0: usize = {index} % 3;\n    let mut acc = c(0.25);\n{sum}{body}"
        );
        let more = self.writer.float(true, 1);
        let method = self.receiver().is_some() && self.writer.rng.chance(60);
        let mut returned = self.returned(method);
        let result = match returned.clone() {
            Returned::Nothing => String::new(),
            Returned::Value(Ty::Float) => format!("acc + {more}"),
            Returned::Value(ty) => self.writer.value(&ty, Floats::Computed { active: true }),
            Returned::Named => format!("(acc + {more}, \"a name\")"),
            Returned::Borrowed(ty) => {
                let suits = |place: &Place| place.root == 0 && place.ty == ty && !place.text.contains(".borrow");
                let passed = self.arguments[0].pass;
                let found: Vec<_> = if !matches!(passed, Pass::Ref | Pass::RefMut) {
                    Vec::new()
                } else {
                    self.writer.places().into_iter().filter(suits).collect()
                };
                if found.is_empty() {
                    returned = Returned::Value(Ty::Float);
                    "acc".to_owned()
                } else {
                    format!("&{}", self.writer.rng.pick(&found).text)
                }
            }
        };
        let outlived = !self.functional && matches!(returned, Returned::Borrowed(_)) && self.writer.rng.chance(30);
        let (trust, form) = (self.writer.trust, (String::new(), String::new()));
        let mut function = Function { number, returned, body, result, trust, form, method, outlived };
        function.form = self.form(&function);
        function
    }

    /// Arguments grow, shrink, are replaced or change places before all else, and the function may panic just then.
    fn early(&mut self) -> String {
        if !self.writer.rng.chance(40) {
            return String::new();
        }
        let (known, count) = (self.writer.scope.len(), self.writer.rng.between(1, 2));
        let arguments = self.arguments.len();
        let owns = |place: &Place| {
            let may_own = matches!(place.ty, Ty::Vec(_) | Ty::Boxed(_) | Ty::Option(_) | Ty::String | Ty::Struct(_));
            place.root < arguments && place.writable && !place.borrowed && may_own
        };
        let mut text = String::new();
        for _ in 0..count {
            let Some(place) = self.writer.find(owns) else { break };
            text += &self.writer.exchange_or_write(&place, "    ");
            text += "    tick();\n";
        }
        self.writer.scope.truncate(known);
        text
    }

    /// Changes to memory that the sums above have read: by another way, often.
    fn late(&mut self, indexed: bool) -> String {
        if !self.writer.rng.chance(if indexed { 90 } else { 40 }) {
            return String::new();
        }
        let known = self.writer.scope.len();
        let count = self.writer.rng.between(1, 3);
        let text = (0..count)
            .map(|_| match self.writer.rng.below(10) {
                0..2 => format!("    poke({});\n", self.writer.rng.below(6)),
                2..8 => self.writer.touch_numbers("    "),
                _ => self.writer.touch("    "),
            })
            .collect();
        self.writer.scope.truncate(known);
        text
    }

    /// Sums over the slices among the arguments.
    fn slices(&mut self) -> String {
        let mut text = String::new();
        for (k, argument) in self.arguments.iter().enumerate() {
            if !matches!(argument.pass, Pass::Slice | Pass::SliceMut) {
                continue;
            }
            match &argument.ty {
                Ty::Vec(of) if **of == Ty::Float => {
                    text += &format!("    for v in p{k}.iter() {{ acc += *v * *v; }}\n")
                }
                Ty::Vec(of) if **of == Ty::Float.cell() => {
                    text += &format!("    for v in p{k}.iter() {{ acc += v.get() * v.get(); }}\n")
                }
                _ => {}
            }
        }
        text
    }

    // ---- the text of the whole

    /// Whether rustc must not take a program, since a tangent would live longer than its shadow.
    pub fn is_outlived(&self, number: usize) -> bool {
        self.functions[number].outlived
    }

    /// The module in which derivatives are taken of some of the functions: `PROGRAMS` take a fuse and what the oracle
    /// says, and judge.
    pub fn real(&self, of: &BTreeSet<usize>) -> String {
        let functions: Vec<&Function> = self.functions.iter().filter(|f| of.contains(&f.number)).collect();
        let width = if self.single { "real32" } else { "real64" };
        let mut text = format!(
            "{LINTS}//! The safe programs of seed {}.\n\nuse harness::{width}::*;\nuse harness::*;\n\
             use pullback::rules::{{Memory, NoTangent}};\nuse pullback::*;\n{USES}\n{}\n",
            self.seed,
            self.module(&functions).replace("@real ", ""),
        );
        functions.iter().for_each(|function| text += &function.form.1);
        text + &programs("fn(usize, &Expected)", "form", &functions)
    }

    /// The module in which one of the functions is called, and no derivative is taken.
    pub fn primal(&self, number: usize) -> String {
        let functions: Vec<&Function> = self.functions.iter().filter(|f| f.number == number).collect();
        let text = self.real(&BTreeSet::from([number]));
        let end = text.find(&functions[0].form.1).expect("it has a form");
        let calls: String = functions.iter().map(|function| self.outcome(function)).collect();
        let form = format!("fn form{number}(fuse: usize, _: &Expected) {{\n    outcome{number}(fuse);\n}}\n");
        format!("{}{calls}{form}{}", &text[..end], programs("fn(usize, &Expected)", "form", &functions))
    }

    /// The module of the oracle: `PROGRAMS` take a fuse, and say what happens.
    pub fn dual(&self) -> String {
        let functions: Vec<&Function> = self.functions.iter().collect();
        let mut text = format!(
            "{LINTS}//! What the safe programs of seed {} do, with dual numbers.\n\nuse harness::dual::*;\nuse harness::*;\n{USES}\n",
            self.seed
        );
        for line in self.module(&functions).lines().filter(|line| !line.starts_with("@real ")) {
            text += line;
            text.push('\n');
        }
        functions.iter().for_each(|function| text += &self.outcome(function));
        text + &programs("fn(usize) -> Expected", "outcome", &functions)
    }

    fn module(&self, functions: &[&Function]) -> String {
        let mut text = String::from(
            "struct OnDrop<T: Fn()>(T);\nimpl<T: Fn()> Drop for OnDrop<T> { fn drop(&mut self) { if !std::thread::panicking() { (self.0)() } } }\n\
             #[derive(Clone)]\nstruct Held<T>(RefCell<Option<T>>);\nimpl<T> Look for Held<T> { fn look(&self, _: &mut Eye) {} }\n",
        );
        text += "@real #[derive(Differentiable)]\n#[derive(Clone, Copy)]\npub enum Either { Floats(F, F), Maybe(Option<usize>), Counted(usize, F) }\n\
                 impl Either {\n    fn float(&self) -> F {\n        match *self {\n            Either::Floats(a, b) => a * b,\n            \
                 Either::Maybe(n) => c((n.unwrap_or(2) % 5) as f64),\n            Either::Counted(n, a) => a * c((n % 3) as f64),\n        }\n    }\n}\n\
                 impl Look for Either {\n    fn look(&self, eye: &mut Eye) {\n        match self {\n            Either::Floats(a, b) => { 1usize.look(eye); a.look(eye); b.look(eye) }\n            \
                 Either::Maybe(n) => { 2usize.look(eye); n.look(eye) }\n            Either::Counted(n, a) => { 3usize.look(eye); n.look(eye); a.look(eye) }\n        }\n    }\n}\n";
        for (number, a_struct) in self.writer.structs.iter().enumerate() {
            text += &format!("@real #[derive(Differentiable)]\n#[derive(Clone)]\npub struct S{number} {{\n");
            let mut looks = String::new();
            for (k, (ty, skipped)) in a_struct.fields.iter().enumerate() {
                if *skipped {
                    text += "@real     #[pullback(skip)]\n";
                    looks += &format!("        eye.aside(&self.f{k});\n");
                } else {
                    looks += &format!("        self.f{k}.look(eye);\n");
                }
                text += &format!("    pub f{k}: {},\n", ty.name());
            }
            text +=
                &format!("}}\nimpl Look for S{number} {{\n    fn look(&self, eye: &mut Eye) {{\n{looks}    }}\n}}\n");
        }
        text += &self.writer.items;
        let share_types: String = self.shares.iter().map(|(ty, _)| format!("{}, ", ty.name())).collect();
        let names = |prefix: &str, count: usize| (0..count).map(|k| format!("{prefix}{k}, ")).collect::<String>();
        let (shares, count) = (self.shares.len(), self.arguments.len());
        text += &format!(
            "type Shares = ({share_types});\nfn shares() -> Shares {{\n{}    ({})\n}}\n",
            self.shares_text,
            names("s", shares)
        );
        let fields: String = self
            .arguments
            .iter()
            .enumerate()
            .map(|(k, argument)| format!("    a{k}: {},\n", argument.ty.name()))
            .collect();
        let unpack: String = (0..shares).map(|k| format!("    let s{k} = &s.{k};\n")).collect();
        text += &format!(
            "struct World {{\n{fields}}}\nfn world(s: &Shares) -> World {{\n{unpack}{}    World {{ {} }}\n}}\n",
            self.world_text,
            names("a", count)
        );
        for function in functions {
            let written = format!(
                "{}{} {{\n{}    {}\n}}\n",
                function.form.0,
                self.signature_text(function),
                function.body,
                function.result
            );
            text += &match self.receiver().filter(|_| function.method) {
                Some(receiver) => {
                    let body = written.replacen(" {\n", " {\n    let p0 = self;\n", 1);
                    format!("impl {receiver} {{\n{body}}}\n")
                }
                None => written,
            };
        }
        text
    }

    /// The type whose methods functions can be.
    fn receiver(&self) -> Option<String> {
        let first = &self.arguments[0];
        let borrowed = !self.functional && matches!(first.pass, Pass::Ref | Pass::RefMut);
        (borrowed && matches!(first.ty, Ty::Struct(_))).then(|| first.ty.name())
    }

    /// A function's name, or its derivative's, where it is called.
    fn path(&self, function: &Function, name: &str) -> String {
        let number = function.number;
        match self.receiver().filter(|_| function.method) {
            Some(receiver) => format!("{receiver}::{name}{number}"),
            None => format!("{name}{number}"),
        }
    }

    fn signature_text(&self, function: &Function) -> String {
        let number = function.number;
        let parameters: Vec<_> = self.arguments.iter().enumerate().map(|(k, argument)| argument.parameter(k)).collect();
        let mut parameters = parameters.join(", ");
        if let Some(receiver) = self.receiver().filter(|_| function.method) {
            parameters = parameters.replacen(&format!("p0: &mut {receiver}"), "&mut self", 1);
            parameters = parameters.replacen(&format!("p0: &{receiver}"), "&self", 1);
        }
        match &function.returned {
            Returned::Nothing => format!("fn f{number}({parameters})"),
            Returned::Value(ty) => format!("fn f{number}({parameters}) -> {}", ty.name()),
            Returned::Named => format!("fn f{number}({parameters}) -> (F, &'static str)"),
            // Of methods, and with one reference among the parameters, nobody writes the lifetime.
            Returned::Borrowed(ty) if function.method || parameters.matches('&').count() == 1 => {
                format!("fn f{number}({parameters}) -> &{}", ty.name())
            }
            Returned::Borrowed(ty) => {
                format!("fn f{number}<'a>({}) -> &'a {}", parameters.replacen('&', "&'a ", 1), ty.name())
            }
        }
    }

    fn reverse_is_possible(&self, function: &Function) -> bool {
        let writable = |argument: &Argument| {
            argument.activity != Activity::Duplicated || (argument.ty.is_writable() && argument.pass != Pass::Content)
        };
        matches!(function.returned, Returned::Value(Ty::Float) | Returned::Nothing)
            && self.arguments.iter().all(writable)
    }

    /// The attribute that asks for the derivative `df0` of `f0`.
    fn attribute(&self, function: &Function, mode: &str) -> String {
        let words = self.arguments.iter().map(|argument| match argument.activity {
            Activity::Const => "Const",
            _ if mode == "Forward" => "Dual",
            Activity::Duplicated => "Duplicated",
            Activity::Active => "Active",
        });
        let result = if mode == "Forward" { "Dual" } else { "Active" };
        let result = if function.returned == Returned::Nothing { None } else { Some(result) };
        let words: Vec<_> = words.chain(result).collect();
        format!("@real #[autodiff(df{}, {mode}, {})]\n", function.number, words.join(", "))
    }

    fn compared(&self, trust: Trust) -> String {
        let tolerance = if self.single { "1e-2" } else { "1e-7" };
        format!("Compared {{ derivative: {}, after: {}, tolerance: {tolerance} }}", trust.derivative, trust.after)
    }

    /// Whether a shared value is owned by an argument that the function may exchange it in, and by one that is moved in:
    /// a cotangent that is given of it is of what the function leaves in its place, or of the value itself.
    fn has_two_roles(&self) -> bool {
        let owns = |argument: &Argument, share: &Ty| {
            argument.activity == Activity::Duplicated && argument.ty.any(&self.writer.structs, &|ty| ty == share)
        };
        let is_owned = |share: &Ty, stays: bool| self.arguments.iter().any(|a| a.stays() == stays && owns(a, share));
        self.shares.iter().any(|(share, _)| is_owned(share, true) && is_owned(share, false))
    }

    fn unpack(&self, prefix: &str) -> String {
        let fields: String = (0..self.arguments.len()).map(|k| format!("a{k}: mut {prefix}{k}, ")).collect();
        format!("World {{ {fields}}}")
    }

    fn begin(&self) -> String {
        format!(
            "    reset_shared(&[{}]);\n    inputs(Inputs::Primal, 0);\n    let s = shares();\n    let {} = world(&s);\n",
            self.shared,
            self.unpack("a")
        )
    }

    /// What can be read afterwards, apart from what has shadows.
    fn after(&self) -> String {
        let mut names: Vec<String> = Vec::new();
        if self.functional {
            names.push("&a0".to_owned());
        } else {
            names.extend((0..self.arguments.len()).filter(|k| self.arguments[*k].stays()).map(|k| format!("&a{k}")));
        }
        names.extend((0..self.shares.len()).map(|k| format!("&s.{k}")));
        format!("eye(&[{}])", names.join(", "))
    }

    fn of_kind(&self, prefix: &str, is: impl Fn(&Argument) -> bool) -> Vec<String> {
        let kinds = self.arguments.iter().enumerate().filter(|(_, argument)| is(argument));
        kinds.map(|(k, _)| format!("&{prefix}{k}")).collect()
    }

    /// What the oracle does for a function.
    fn outcome(&self, function: &Function) -> String {
        let given: Vec<_> =
            self.arguments.iter().enumerate().map(|(k, argument)| argument.given(&format!("a{k}"))).collect();
        let shadowed = self.of_kind("a", |argument| {
            argument.activity == Activity::Duplicated && (argument.stays() || self.functional)
        });
        format!(
            "fn outcome{number}(fuse: usize) -> Expected {{\n{}    let end = caught(fuse, Box::new(|| alone(&{path}({}))));\n    let ticks = ticks();\n    \
             Expected::new(end, ticks, {}, eye(&[{}]))\n}}\n",
            self.begin(),
            given.join(", "),
            self.after(),
            shadowed.join(", "),
            path = self.path(function, "f"),
            number = function.number,
        )
    }

    /// An attribute, and a function that takes a derivative.
    fn form(&mut self, function: &Function) -> (String, String) {
        if self.functional {
            let forms = self.functional_forms(function);
            return (String::new(), self.writer.rng.pick(&forms).clone());
        }
        if self.reverse_is_possible(function) && self.writer.rng.chance(60) {
            (self.attribute(function, "Reverse"), self.reverse(function))
        } else {
            (self.attribute(function, "Forward"), self.forward(function))
        }
    }

    fn second_world(&self, name: &str, kind: &str, aliased: bool) -> String {
        let capacities = if self.capacities && kind != "Primal" { self.seed | 1 } else { 0 };
        let shares = if aliased { "s.clone()" } else { "shares()" };
        let end = match self.owners {
            Owners::Same => String::new(),
            Owners::Fewer => format!("    drop({name}s);\n"),
            Owners::More => format!("    let {name}more = {name}s.clone();\n"),
        };
        format!(
            "    inputs(Inputs::{kind}, {capacities});\n    let {name}s = {shares};\n    let {} = world(&{name}s);\n{end}",
            self.unpack(name)
        )
    }

    fn reverse(&self, function: &Function) -> String {
        let mut given = Vec::new();
        let mut outputs = Vec::new();
        for (k, argument) in self.arguments.iter().enumerate() {
            given.push(argument.given(&format!("a{k}")));
            match argument.activity {
                Activity::Duplicated => given.push(argument.shadow(&format!("d{k}"))),
                Activity::Active => outputs.push(format!("g{k}")),
                Activity::Const => {}
            }
        }
        let active: Vec<_> = outputs.iter().map(|name| format!("&{name}")).collect();
        let mut value = "";
        if function.returned != Returned::Nothing {
            outputs.push("value".to_owned());
            value = "&value";
        }
        let pattern = if outputs.len() == 1 { outputs[0].clone() } else { format!("({})", outputs.join(", ")) };
        let duplicated = |prefix: &str| self.of_kind(prefix, |argument| argument.activity == Activity::Duplicated);
        let tangents: Vec<_> = duplicated("t")
            .into_iter()
            .chain(self.of_kind("t", |argument| argument.activity == Activity::Active))
            .collect();
        let shadows = duplicated("d").join(", ");
        // What others own, too, is neither.
        let stays = |prefix: &str, stays: bool| {
            let names = self.of_kind(prefix, |argument| {
                let has_owners = || argument.ty.any(&self.writer.structs, &|ty| matches!(ty, Ty::Rc(_)));
                argument.activity == Activity::Duplicated && argument.stays() == stays && (stays || !has_owners())
            });
            names.join(", ")
        };
        let call = format!(
            "    let before = eye(&[{shadows}]);\n    let kept = eye(&[{}]);\n    let moved = (eye(&[{}]), eye(&[{}]));\n    \
             let end = caught(fuse, Box::new(|| {{\n        let {pattern} = {}({});\n        (eye(&[{value}]), eye(&[{}]))\n    }}));\n",
            stays("d", true),
            stays("d", false),
            stays("t", false),
            self.path(function, "df"),
            given.join(", "),
            active.join(", "),
        );
        let compared = self.compared(function.trust);
        let compared_given =
            self.compared(Trust { after: function.trust.after && !self.has_two_roles(), ..function.trust });
        format!(
            "fn form{}(fuse: usize, expected: &Expected) {{\n{begin}{zero}{tangent}{call}    \
             judge_reverse(\"reverse\", &end, &{}, (&before, &eye(&[{shadows}])), &eye(&[{tangents}]), expected, {compared});\n    {{\n{begin}{}{tangent}{call}    \
             let given = Given {{ shadows: (before, eye(&[{shadows}])), kept, moved }};\n    \
             judge_cotangents(\"reverse with cotangents\", &end, &given, &eye(&[{tangents}]), expected, {compared_given});\n    }}\n}}\n",
            function.number,
            self.after(),
            self.second_world("d", "Tangent", self.aliased),
            begin = self.begin(),
            zero = self.second_world("d", "Zero", self.aliased),
            tangent = self.second_world("t", "Tangent", false),
            tangents = tangents.join(", "),
        )
    }

    fn forward(&self, function: &Function) -> String {
        let (number, path) = (function.number, self.path(function, "df"));
        let mut given = Vec::new();
        for (k, argument) in self.arguments.iter().enumerate() {
            given.push(argument.given(&format!("a{k}")));
            if argument.activity != Activity::Const {
                given.push(argument.given(&format!("d{k}")));
            }
        }
        let given = given.join(", ");
        let call = if function.returned == Returned::Nothing {
            format!("{path}({given});\n        (eye(&[]), eye(&[]))")
        } else {
            format!("let (y, dy) = {path}({given});\n        (eye(&[&y]), eye(&[&dy]))")
        };
        let begin = self.begin() + &self.second_world("d", "Tangent", self.aliased);
        if function.outlived {
            return format!(
                "fn form{number}(fuse: usize, expected: &Expected) {{\n{begin}    let end = caught(fuse, Box::new(|| {{\n        \
                 let (y, dy) = {{\n            let mut d0 = d0;\n            {path}({given})\n        }};\n        (eye(&[&y]), eye(&[&dy]))\n    }}));\n    \
                 wrong(\"a tangent lives longer than its shadow\");\n}}\n"
            );
        }
        let shadows = self.of_kind("d", |argument| argument.activity == Activity::Duplicated && argument.stays());
        format!(
            "fn form{number}(fuse: usize, expected: &Expected) {{\n{begin}    let end = caught(fuse, Box::new(|| {{\n        {call}\n    }}));\n    \
             judge_forward(\"forward\", &end, &{}, &eye(&[{}]), expected, {});\n}}\n",
            self.after(),
            shadows.join(", "),
            self.compared(function.trust),
        )
    }

    fn functional_forms(&mut self, function: &Function) -> Vec<String> {
        let number = function.number;
        let at = self.arguments[0].clone();
        let sliced = at.pass == Pass::Slice;
        let of = if let Ty::Vec(of) = &at.ty { of.name() } else { String::new() };
        let type_name = if sliced { format!("[{of}]") } else { at.ty.name() };
        let point = |name: &str| if sliced { format!("&{name}0[..]") } else { format!("&{name}0") };
        let moved = if self.writer.rng.chance(60) { "move " } else { "" };
        let rest: String = (1..self.arguments.len()).map(|k| format!(", &a{k}")).collect();
        let closure = format!("{moved}|x: &{type_name}| f{number}(x{rest})");
        let (begin, after, compared) = (self.begin(), self.after(), self.compared(function.trust));
        let tangent = self.second_world("t", "Tangent", false);
        let shadow = self.second_world("d", "Tangent", self.aliased);
        let scalar = function.returned == Returned::Value(Ty::Float);
        let owned = scalar || matches!(function.returned, Returned::Value(_));
        let mut forms = Vec::new();
        forms.push(format!(
                "fn form{number}(fuse: usize, expected: &Expected) {{\n{begin}{shadow}    let end = caught(fuse, Box::new(|| {{\n        \
                 let (y, dy) = jvp({closure}, {}, {});\n        (eye(&[&y]), eye(&[&dy]))\n    }}));\n    \
                 judge_forward(\"jvp\", &end, &{after}, &eye(&[&d0]), expected, {compared});\n}}\n",
                point("a"),
                point("d"),
            ),
        );
        if !at.ty.is_writable() || !owned {
            return forms;
        }
        if scalar {
            forms.push(format!(
                    "fn form{number}(fuse: usize, expected: &Expected) {{\n{begin}{tangent}    let end = caught(fuse, Box::new(|| {{\n        \
                     let (y, g) = value_and_grad({closure}, {});\n        (eye(&[&y]), eye(&[&g]))\n    }}));\n    \
                     let nothing = eye(&[]);\n    judge_reverse(\"grad\", &end, &{after}, (&nothing, &nothing), &eye(&[&t0]), expected, {compared});\n}}\n",
                    point("a"),
                ),
            );
        }
        if self.writer.rng.chance(60) {
            let seed = if scalar { "c(1.0)" } else { "make_zero(&y)" };
            let unpack: String = (0..self.shares.len()).map(|k| format!("        let s{k} = &s.{k};\n")).collect();
            let between = &self.between;
            let judged = if scalar {
                format!(
                    "judge_reverse(\"vjp\", &end, &{after}, (&nothing, &nothing), &eye(&[&t0]), expected, Compared {{ after: false, ..{compared} }});"
                )
            } else {
                "let _ = end;".to_owned()
            };
            forms.push(format!(
                    "fn form{number}(fuse: usize, expected: &Expected) {{\n{begin}{tangent}    let nothing = eye(&[]);\n    let end = caught(fuse, Box::new(|| {{\n        \
                     let (y, pullback) = vjp({closure}, {});\n        let first = eye(&[&pullback({seed})]);\n        let again = caught(fuse, Box::new(|| {{\n        let i0 = 0;\n{unpack}{between}        alone(&())\n        }}));\n        \
                     let again = caught(fuse, Box::new(|| alone(&pullback({seed}))));\n        let once_more = caught(usize::MAX, Box::new(|| alone(&pullback({seed}))));\n        same_again(&first, &again);\n        same_again(&first, &once_more);\n        (eye(&[&y]), first)\n    }}));\n    {judged}\n}}\n",
                    point("a"),
                ),
            );
        }
        let flat = matches!(&at.ty, Ty::Vec(of) | Ty::Array(of) if **of == Ty::Float);
        if scalar && flat && self.writer.rng.chance(30) {
            let second = if self.writer.rng.chance(50) {
                format!("hvp({closure}, {}, {})", point("a"), point("t"))
            } else {
                let inner = format!("|x: &{type_name}| f{number}(x{rest})");
                format!("grad({moved}|z: &{type_name}| grad({inner}, z).iter().sum::<F>(), {})", point("a"))
            };
            forms.push(format!(
                    "fn form{number}(fuse: usize, expected: &Expected) {{\n{begin}{tangent}    let end = caught(fuse, Box::new(|| alone(&{second})));\n    let _ = eye(&[&a0, &t0]);\n}}\n"
                ),
            );
        }
        forms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_an_input_to_differentiate_by() {
        for seed in 0..2000 {
            let World { arguments, writer, .. } = World::new(seed);
            let active = |argument: &Argument| argument.activity != Activity::Const;
            let has_floats = |argument: &Argument| argument.ty.has_active_floats(&writer.structs);
            assert!(arguments.iter().any(|argument| active(argument) && has_floats(argument)), "seed {seed}");
        }
    }
}
