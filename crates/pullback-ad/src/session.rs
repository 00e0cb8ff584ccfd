//! What all functions of one derivative share, and the functions made for callees.

use crate::analysis::activity::ActiveSet;
use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::ContentId;
use crate::analysis::writes::{Writers, Writes};
use crate::request::{Mode, Request};
use crate::runtime::{Runtime, TapeUse};
use crate::target::Target;
use pullback_ir::{Callee, FuncId, Function, Module, Op, Type, Value};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

/// Whether a function's reverse sweep stands in the same function or in one of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The derivative that was asked for: parameters and shadows as the request says.
    Whole,
    /// The same, with the reverse sweep in a function of its own, which is called later.
    Split,
    /// A function called by it.
    Callee,
    /// A function called by it that has no reverse sweep.
    Joint,
}

impl Form {
    /// Whether the reverse sweep is a function of its own.
    pub fn is_apart(self) -> bool {
        matches!(self, Form::Split | Form::Callee)
    }

    /// Whether this is a function that the derivative calls.
    pub fn is_callee(self) -> bool {
        matches!(self, Form::Callee | Form::Joint)
    }
}

/// The functions made for a callee.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The forward derivative, or the augmented primal of reverse mode.
    pub forward: FuncId,
    /// The reverse function.
    pub reverse: Option<FuncId>,
}

/// The functions made for callees.
#[derive(Default)]
pub struct Callees {
    /// Those that are declared.
    pub variants: HashMap<FuncId, Variant>,
    /// Callees whose functions are declared and still to be made.
    pub pending: Vec<FuncId>,
    /// Callees whose functions are made, or still to be.
    pub wanted: HashSet<FuncId>,
    /// The functions that are reversed jointly.
    pub joint: HashSet<FuncId>,
}

/// What is found out about a derivative while its functions are made.
#[derive(Default)]
pub struct Noted {
    /// Whether something belongs to the tape that refers to memory of the primal.
    pub owns_borrowing: Cell<bool>,
    /// Whether the reverse sweep leaves more behind than what it adds to the shadows of inputs: it can be done once.
    pub unrepeatable: Cell<bool>,
    /// What a panic may leave behind in the caller's shadows.
    pub disturbs: Cell<Disturbs>,
}

impl Noted {
    /// A panic may find this changed.
    pub fn disturb(&self, what: Disturbs) {
        self.disturbs.set(self.disturbs.get().max(what));
    }
}

/// What all functions of one derivative share.
pub struct Session<'a> {
    /// The module everything goes into.
    pub module: &'a mut Module,
    /// Memory and pointers.
    pub facts: &'a Facts,
    /// What takes part.
    pub active: &'a ActiveSet,
    /// What was asked.
    pub request: &'a Request,
    /// The run-time functions.
    pub runtime: Runtime,
    /// The functions made for callees.
    pub callees: Callees,
    /// The derivative's name: callees' functions are named after it.
    pub name: String,
    /// The functions of the program that the working copies stand for.
    pub originals: HashMap<FuncId, FuncId>,
    /// Functions that push to the tape of an inner derivative or pop from it, themselves or by a call.
    pub tape_users: HashSet<FuncId>,
    /// What the program writes.
    pub writes: Writes,
    /// What has been found out while its functions were made.
    pub noted: Noted,
    /// What callers may see in enums.
    pub seen_in_variants: HashSet<ContentId>,
}

/// What a panic on the way through a reverse derivative may find changed in the caller's shadows, so that it has to be
/// put back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Disturbs {
    /// Nothing: shadows are only added to when the primal is through, and then nothing panics.
    #[default]
    Nothing,
    /// Sums: calls with joint reversal add to them in the forward sweep, and so do such loops that may panic, and the
    /// pullback of a rule may panic.
    Sums,
    /// Pointers: where the primal overwrites pointers, so does the forward sweep in their shadows, until the reverse
    /// sweep.
    Pointers,
}

impl<'a> Session<'a> {
    /// What the sweeps of its functions are written for.
    pub fn target(&self) -> Target<'_> {
        let Request { width, strong_zero, nested, .. } = *self.request;
        let (settles, runtime) = (self.writes.settles, self.runtime);
        Target { module: self.module, name: &self.name, width, strong_zero, nested, settles, runtime }
    }

    /// Whether callers may see this in an enum.
    pub fn is_seen(&self, content: ContentId) -> bool {
        self.seen_in_variants.contains(&self.facts.objects.find_content(content))
    }

    /// Whether a pointer of `func`, or a pointer in an aggregate of it, has shadows.
    pub fn has_shadow(&self, func: FuncId, value: Value) -> bool {
        self.active.has_shadow(self.facts, func, value)
    }

    /// Whether a value is a [word](ActiveSet::is_word) that takes part.
    pub fn is_word(&self, func: FuncId, value: Value) -> bool {
        self.active.is_word(self.facts, func, self.module.func(func).ty(value), value)
    }

    /// Whether a value travels with a shadow value for each direction: a pointer with its shadows, a word with its
    /// shadow words, in forward mode a float with its tangents. The shadow value of an aggregate holds the shadow
    /// values of its fields.
    pub fn has_shadow_values(&self, func: FuncId, value: Value) -> bool {
        let tangent = self.request.mode == Mode::Forward && self.active.is_active(func, value);
        match self.module.func(func).ty(value) {
            Type::Ptr => self.has_shadow(func, value),
            Type::Int(_) => self.is_word(func, value),
            Type::Struct(_) => self.has_shadow(func, value) || tangent,
            _ => tangent,
        }
    }

    /// Whether what a function returns has a shadow value.
    pub fn returns_shadow_values(&self, func: FuncId) -> bool {
        let active = self.active.returns_active(func);
        let word = matches!(self.module.func(func).ret, Some(Type::Int(_)));
        self.facts.returned(func).chain(self.facts.returned_word(func)).any(|o| self.active.is_shadowed(o))
            || active && (word || self.request.mode == Mode::Forward)
    }

    /// Whether a callee takes part: otherwise it is called as it is. What it does with the tape of an inner derivative
    /// has to match what other functions do with it.
    pub fn takes_part(&self, callee: FuncId) -> bool {
        let func = self.module.func(callee);
        let param = |v: &Value| self.has_shadow_values(callee, *v) || self.active.is_active(callee, *v);
        func.param_values().iter().any(param)
            || self.active.returns_active(callee)
            || self.returns_shadow_values(callee)
            || self.tape_users.contains(&callee)
    }

    /// The program, to be asked what it writes.
    pub fn writers(&self) -> Writers<'_> {
        let taking_part = self.facts.functions.iter().copied().filter(|id| self.takes_part(*id)).collect();
        let Session { facts, active, request, .. } = *self;
        Writers { module: self.module, facts, active, request, taking_part }
    }

    /// The active float parameters of a callee, as positions.
    pub fn active_params(&self, callee: FuncId) -> Vec<usize> {
        let func = self.module.func(callee);
        let active = |(_, v): &(usize, &Value)| self.active.is_active(callee, **v);
        func.param_values().iter().enumerate().filter(active).map(|(i, _)| i).collect()
    }

    /// What the functions of a callee are named after.
    pub fn callee_name(&self, callee: FuncId) -> String {
        format!("{}.{}", self.name, self.module.func(callee).name)
    }

    /// What the forward derivative of a function returns, or its augmented primal: the result, and its shadow values.
    pub fn forward_result(&self, func: FuncId) -> Option<Type> {
        let ret = self.module.func(func).ret.clone();
        if !self.returns_shadow_values(func) {
            return ret;
        }
        ret.map(|ty| Type::structure(std::iter::repeat_n(ty, self.request.width + 1)))
    }

    /// The types of the cotangents of a callee's active parameters, and of its result if that is active, for each batch
    /// direction.
    pub fn cotangents(&self, callee: FuncId) -> (Vec<Type>, Vec<Type>) {
        let (func, width) = (self.module.func(callee), self.request.width);
        let params = self.active_params(callee).into_iter().map(|i| func.ty(func.param_values()[i]));
        let result = func.ret.as_ref().filter(|_| self.active.returns_active(callee));
        (cotangent_types(params, width), cotangent_types(result, width))
    }

    /// The functions that stand for a callee in this derivative, and are to be made; declared on the first call.
    pub fn variant(&mut self, callee: FuncId) -> Variant {
        if self.callees.wanted.insert(callee) {
            self.callees.pending.push(callee);
        }
        if let Some(variant) = self.callees.variants.get(&callee) {
            return *variant;
        }
        let func = self.module.func(callee);
        let reverse_mode = self.request.mode == Mode::Reverse;
        let mut params = if reverse_mode { vec![Type::Ptr] } else { vec![] };
        for value in func.param_values() {
            let copies = if self.has_shadow_values(callee, *value) { self.request.width + 1 } else { 1 };
            params.extend(std::iter::repeat_n(func.ty(*value).clone(), copies));
        }
        let (base, ret) = (self.callee_name(callee), self.forward_result(callee));
        let (given, seeds) = self.cotangents(callee);
        let forward = self.module.add_function(Function::new(format!("{base}.fwd"), params, ret));
        let reverse = reverse_mode.then(|| {
            let params = [Type::Ptr].into_iter().chain(seeds).collect();
            self.module.add_function(Function::new(format!("{base}.rev"), params, with_cotangents(None, given)))
        });
        let variant = Variant { forward, reverse };
        self.callees.variants.insert(callee, variant);
        variant
    }
}

/// Which of these functions push to the tape of an inner derivative or pop from it, themselves or by a call.
pub fn tape_users(module: &Module, functions: &[FuncId]) -> HashSet<FuncId> {
    let mut users = HashSet::new();
    loop {
        let uses = |id: &FuncId| {
            let func = module.func(*id);
            func.ops().any(|op| match op {
                Op::Call(Callee::Direct(callee), ..) if users.contains(callee) => true,
                op => TapeUse::of(module, func, op).is_some(),
            })
        };
        let new: Vec<FuncId> = functions.iter().filter(|id| !users.contains(*id)).copied().filter(uses).collect();
        if new.is_empty() {
            return users;
        }
        users.extend(new);
    }
}

/// The type of a value's cotangent: that of a float for a word, which may be one.
pub fn cotangent_type(ty: &Type) -> Type {
    match ty {
        Type::Int(64) => Type::F64,
        Type::Int(32) => Type::F32,
        other => other.clone(),
    }
}

/// The types of the cotangents of values of these types, for each of `width` batch directions.
pub fn cotangent_types<'t>(of: impl IntoIterator<Item = &'t Type>, width: usize) -> Vec<Type> {
    of.into_iter().flat_map(|ty| std::iter::repeat_n(cotangent_type(ty), width)).collect()
}

/// What a function returns that hands back cotangents, beside a result of its own.
pub fn with_cotangents(own: Option<Type>, cotangents: Vec<Type>) -> Option<Type> {
    if cotangents.is_empty() { own } else { Some(Type::structure(own.into_iter().chain(cotangents))) }
}
