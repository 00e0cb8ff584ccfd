//! Rules that users give for functions of theirs: derivatives that are not taken, but written.
//!
//! The program calls a function that has rules through a *stand-in*: a function that takes every argument, and the
//! place of the result, by pointer, as the primal of a request does. The stand-in's body calls the function itself; a
//! rule says what to call in its place in one mode. `docs/architecture.md` tells how it comes to that.

use crate::analysis::effects::Effects;
use crate::request::{LayoutId, Layouts, Mode};
use pullback_ir::{Constant, FuncId, GlobalId};
use std::collections::HashMap;
use std::sync::Arc;

/// The rules of a program, by stand-in and mode.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CustomRules {
    rules: HashMap<(FuncId, Mode), Arc<CustomRule>>,
    /// What functions that carry no derivative do to memory; and those in a table of them, one for all.
    effects: HashMap<Constant, Arc<Effects>>,
}

impl CustomRules {
    /// Add the rule for calls of `function`.
    pub fn add(&mut self, function: FuncId, rule: Arc<CustomRule>) {
        let mode = match rule.calls {
            Calls::Forward(_) => Mode::Forward,
            Calls::Reverse(_) => Mode::Reverse,
        };
        self.rules.insert((function, mode), rule);
    }

    /// Note what calls of `function`, which carries no derivative, do to memory.
    pub fn add_effects(&mut self, function: FuncId, effects: Arc<Effects>) {
        self.effects.insert(Constant::Func(function), effects);
    }

    /// Note what functions whose addresses are in `table` do to what their first argument points to.
    pub fn add_table(&mut self, table: GlobalId, effects: Arc<Effects>) {
        self.effects.insert(Constant::Global(table), effects);
    }

    /// What calls of `function` do to memory, if that is known.
    pub fn effects(&self, function: FuncId) -> Option<&Effects> {
        self.effects_by(&Constant::Func(function))
    }

    /// What calls by way of the address in a constant do to what their first argument points to, if they do something.
    pub fn effects_by(&self, constant: &Constant) -> Option<&Effects> {
        self.effects.get(constant).map(|effects| &**effects)
    }

    /// Whether there is nothing to look for.
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// The rule for calls of `function` in a mode.
    pub fn get(&self, function: FuncId, mode: Mode) -> Option<&Arc<CustomRule>> {
        self.rules.get(&(function, mode))
    }
}

/// A rule for one function in one mode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CustomRule {
    /// The function, as the rule names it.
    pub name: String,
    /// Its arguments, and the place of its result as the last.
    pub args: Vec<RuleArgument>,
    /// The layouts they refer to.
    pub layouts: Layouts,
    /// What is called.
    pub calls: Calls,
}

/// What is called in the place of a function with a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Calls {
    /// In forward mode: `tangent(a1, a1', …, out, out')`.
    Forward(FuncId),
    /// In reverse mode.
    Reverse(ReverseRule),
}

/// An argument of a function with rules, or the place of its result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleArgument {
    /// Its name in the rule.
    pub name: String,
    /// How it takes part.
    pub role: Role,
    /// What its place holds.
    pub layout: LayoutId,
}

/// How an argument of a function with rules takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The rule has no tangent for it.
    Inert,
    /// It is read.
    Read,
    /// What it refers to may be written.
    Written,
    /// It is the place of the result.
    Result,
}

/// What is called in reverse mode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReverseRule {
    /// `augmented(tape, closure, a1, …, out)`: the value, and the pullback.
    pub augmented: FuncId,
    /// The same, called where memory that the arguments refer to may be overwritten before the pullback runs: its
    /// pullback refers to none of it. Where there is no such function, and the pullback refers to memory, that is an
    /// error.
    pub owning: Option<FuncId>,
    /// Whether the pullback has to be dropped.
    pub drops: bool,
    /// `view(tape, view, a1, a1', …, out, out')`: what the pullback needs of the shadows, if it needs any.
    pub view: Option<FuncId>,
    /// `pullback(closure, view, a1', …, out')`.
    pub pullback: FuncId,
    /// The pullback's captures.
    pub closure: Storage,
    /// What `view` writes.
    pub view_storage: Storage,
    /// Whether the pullback may refer to the memory of the arguments.
    pub borrows: bool,
    /// Whether the pullback can be called once only.
    pub once: bool,
}

/// Bytes of which the engine knows nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Storage {
    /// How many.
    pub size: u64,
    /// Their alignment.
    pub align: u64,
}
