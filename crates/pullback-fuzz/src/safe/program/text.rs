//! The text of a world: one module in which derivatives are taken, and one for the oracle.

use super::arguments::{Pass, Returned};
use super::{Function, World};
use crate::safe::types::Ty;
use std::collections::BTreeSet;

const LINTS: &str = "#![forbid(unsafe_code)]\n#![allow(warnings)]\n";
const USES: &str = "use std::cell::{Cell, RefCell};\nuse std::rc::Rc;\n";

/// The functions of a module that are called from outside, each with its number.
fn programs(ty: &str, prefix: &str, functions: &[&Function]) -> String {
    let list: String = functions.iter().map(|f| format!("({}, {prefix}{0}), ", f.number)).collect();
    format!("pub const PROGRAMS: &[(usize, {ty})] = &[{list}];\n")
}

impl World {
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
            "{LINTS}//! What the safe programs of seed {} do, with dual numbers.\n\nuse harness::dual::*;\nuse \
             harness::*;\n{USES}\n",
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
            "struct OnDrop<T: Fn()>(T);\nimpl<T: Fn()> Drop for OnDrop<T> { fn drop(&mut self) { if \
             !std::thread::panicking() { (self.0)() } } }\n\
             #[derive(Clone)]\nstruct Held<T>(RefCell<Option<T>>);\nimpl<T> Look for Held<T> { fn look(&self, \
             _: &mut Eye) {} }\n",
        );
        text += "@real #[derive(Differentiable)]\n#[derive(Clone, Copy)]\npub enum Either { Floats(F, F), \
                 Maybe(Option<usize>), Counted(usize, F) }\n\
                 impl Either {\n    fn float(&self) -> F {\n        match *self {\n            Either::Floats(a, \
                 b) => a * b,\n            Either::Maybe(n) => c((n.unwrap_or(2) % 5) as f64),\n            \
                 Either::Counted(n, a) => a * c((n % 3) as f64),\n        }\n    }\n}\n\
                 impl Look for Either {\n    fn look(&self, eye: &mut Eye) {\n        match self {\n            \
                 Either::Floats(a, b) => { 1usize.look(eye); a.look(eye); \
                 b.look(eye) }\n            Either::Maybe(n) => { 2usize.look(eye); \
                 n.look(eye) }\n            Either::Counted(n, a) => { 3usize.look(eye); n.look(eye); \
                 a.look(eye) }\n        }\n    }\n}\n";
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
    pub(super) fn receiver(&self) -> Option<String> {
        let first = &self.arguments[0];
        let borrowed = !self.functional && matches!(first.pass, Pass::Ref | Pass::RefMut);
        (borrowed && matches!(first.ty, Ty::Struct(_))).then(|| first.ty.name())
    }

    /// A function's name, or its derivative's, where it is called.
    pub(super) fn path(&self, function: &Function, name: &str) -> String {
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
}
