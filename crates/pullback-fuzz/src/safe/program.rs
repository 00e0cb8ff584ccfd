//! Random safe programs: a function, its arguments and their shadows, and a derivative that is taken of it.
//!
//! Programs come in *worlds*: a world has types and arguments, and [`FUNCTIONS`] functions of those, each of which is a
//! program. What is compiled for the arguments is compiled once for all of them.
//!
//! The text of a world is written once, and stands in two crates: in one, `F` is a float, and derivatives are taken; in
//! the other, the oracle, `F` is a dual number. Lines that begin with `@real` are in the first only.

mod arguments;
mod forms;
mod text;

use super::body::{Access, Floats, Place, Trust, Variable, Writer};
use super::types::{self, Ty, Use};
use crate::rng::Rng;
use arguments::{Activity, Argument, Owners, Pass, Returned};

/// How many programs a world has.
pub const FUNCTIONS: usize = 8;

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
                // Several arguments may be the same reference. (A shadow of reverse mode is a `&mut`, and no other is
                // the same.)
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
            // With others than the shadows, what is in an `Rc` cannot be masked.
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
