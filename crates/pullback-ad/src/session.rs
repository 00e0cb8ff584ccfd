//! What all functions of one derivative share, and the functions made for callees.

use crate::analysis::activity::{ActiveSet, reached};
use crate::analysis::effects::Effects;
use crate::analysis::points_to;
use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::{ContentId, Kinds, ObjId};
use crate::analysis::points_to::offsets::Offsets;
use crate::custom::Role;
use crate::linearise::linear::{Beside, Linear};
use crate::linearise::program::LinearFunction;
use crate::request::{Mode, Request};
use crate::reverse::Target;
use crate::runtime::{Runtime, TapeUse};
use pullback_ir::cfg::Cfg;
use pullback_ir::{BinOp, Callee, CastOp, FuncId, Function, MemoryEffects, Module, Op, Type, Value};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

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

/// What is supposed of functions that are not looked into: those that carry no derivative, and those that have a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inactive {
    /// They print what they are given, say, and write no more than what they are known to write. Rules write what their
    /// arguments let them write. That is so for memory to which a pullback has a reference: whoever gives out a
    /// reference into a cell writes it when the reference has gone.
    OnlyRead,
    /// They may also write to it, and to cells that they know from elsewhere.
    MayWrite,
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
    /// The functions made so far for callees.
    pub variants: HashMap<FuncId, Variant>,
    /// Callees whose functions are declared and still to be made.
    pub pending: Vec<FuncId>,
    /// Callees whose functions are made, or still to be.
    pub wanted: HashSet<FuncId>,
    /// The functions made for callees that are reversed jointly.
    pub joint: HashSet<FuncId>,
    /// The derivative's name: callees' functions are named after it.
    pub name: String,
    /// The functions of the program that the working copies stand for.
    pub originals: HashMap<FuncId, FuncId>,
    /// Functions that push to the tape of an inner derivative or pop from it, themselves or by a call.
    pub tape_users: HashSet<FuncId>,
    /// Objects to which nothing is written from the start of the forward sweep to the end of the reverse sweep,
    /// wherever those are.
    pub unwritten: Rc<HashSet<ObjId>>,
    /// Whether something belongs to the tape that refers to memory of the primal.
    pub owns_borrowing: Cell<bool>,
    /// Whether the reverse sweep leaves everything as it found it, but for what it adds to the shadows of inputs.
    pub repeatable: Cell<bool>,
    /// What a panic may leave behind in the caller's shadows.
    pub disturbs: Cell<Disturbs>,
    /// Whether pointers in the caller's memory may be overwritten, so that cotangents are settled between the sweeps.
    pub settles: bool,
    /// Whether memory may be changed that arguments by value own, so that what is in its shadows is set aside.
    pub sets_aside: bool,
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
    /// Sums: calls with joint reversal add to them in the forward sweep, and the pullback of a rule may panic.
    Sums,
    /// Pointers: where the primal overwrites pointers, so does the forward sweep in their shadows, until the reverse
    /// sweep.
    Pointers,
}

impl<'a> Session<'a> {
    /// The start of a derivative called `name`. `originals`: the functions of the program that the working copies stand
    /// for.
    pub fn new(
        module: &'a mut Module,
        facts: &'a Facts,
        active: &'a ActiveSet,
        request: &'a Request,
        runtime: Runtime,
        originals: HashMap<FuncId, FuncId>,
        name: &str,
    ) -> Self {
        let tape_users = tape_users(module, &facts.functions);
        let mut session = Session {
            module,
            facts,
            active,
            request,
            runtime,
            variants: HashMap::new(),
            pending: Vec::new(),
            wanted: HashSet::new(),
            joint: HashSet::new(),
            name: name.to_owned(),
            originals,
            tape_users,
            unwritten: Rc::default(),
            owns_borrowing: Cell::new(false),
            repeatable: Cell::new(true),
            disturbs: Cell::default(),
            settles: false,
            sets_aside: false,
            seen_in_variants: facts.objects.seen_in_variants(),
        };
        session.note_unwritten();
        session.note_overwritten_pointers();
        session.note_overwritten_sums();
        session
    }

    /// A panic may find this changed.
    pub fn disturb(&self, what: Disturbs) {
        self.disturbs.set(self.disturbs.get().max(what));
    }

    /// What the sweeps of its functions are written for.
    pub fn target(&self) -> Target<'_> {
        let Request { width, strong_zero, nested, .. } = *self.request;
        let (settles, runtime) = (self.settles, self.runtime);
        Target { module: self.module, name: &self.name, width, strong_zero, nested, settles, runtime }
    }

    /// Note what the transposes of a linear program do to the caller's shadows on the way.
    pub fn note_disturbed(&self, linear: &LinearFunction) {
        for (_, operation) in linear.all() {
            // Words that are moved within an argument are pointers, too.
            if operation.changes_shadow_pointers() {
                self.repeatable.set(false);
                self.disturb(Disturbs::Pointers);
            } else if matches!(operation, Linear::Rule(_)) {
                self.disturb(Disturbs::Sums);
            }
        }
    }

    /// What may lie in the shadow of an object: of so many bytes at these offsets, or anywhere.
    pub fn beside(&self, object: ObjId, at: &Offsets, width: Option<u64>) -> Beside {
        let objects = &self.facts.objects;
        let number = |cell: &points_to::objects::Cell| {
            let kinds = objects.kinds(cell.content);
            kinds.has_float()
                && kinds.contains(Kinds::INT)
                && width.is_none_or(|width| at.overlaps(width, &cell.at.into(), cell.width))
        };
        let callers = !objects.origins(object).args.is_empty();
        if callers && objects.cells(object).iter().any(number) { Beside::Numbers } else { Beside::Floats }
    }

    /// Whether callers may see this in an enum.
    pub fn is_seen(&self, content: ContentId) -> bool {
        self.seen_in_variants.contains(&self.facts.objects.find_content(content))
    }

    /// Whether a pointer of `func`, or a pointer in an aggregate of it, has shadows.
    pub fn has_shadow(&self, func: FuncId, value: Value) -> bool {
        self.facts.object(func, value).is_some_and(|o| self.active.is_shadowed(o))
            || self.facts.field_objects(func, value).any(|o| self.active.is_shadowed(o))
    }

    /// Whether a value is a word that takes part: an integer that is a float's bits at one time and a pointer, or a
    /// number, at another. It has a cotangent as if it were a float, and a shadow as if it were a pointer.
    pub fn is_word(&self, func: FuncId, value: Value) -> bool {
        let ty = self.module.func(func).ty(value);
        let reaches = || self.facts.carried_object(func, value).is_some_and(|o| self.active.is_shadowed(o));
        self.facts.is_word(func, ty, value) && (self.active.is_active(func, value) || reaches())
    }

    /// Whether a value travels with a shadow value for each direction: a pointer with its shadows, a word with its shadow
    /// words, in forward mode a float with its tangents. The shadow value of an aggregate holds the shadow values of its
    /// fields.
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

    /// The objects to which the program may write, anywhere.
    pub fn written(&self, inactive: Inactive) -> HashSet<ObjId> {
        let mut written = HashSet::new();
        for id in &self.facts.functions {
            let func = self.module.func(*id);
            let takes_part = self.takes_part(*id);
            let object = |v: Value| self.facts.object(*id, v);
            for inst in func.blocks().flat_map(|b| &func.block(b).insts) {
                let op = &func.inst(*inst).op;
                match op {
                    op if let Some(at) = op.written_place() => written.extend(object(at)),
                    // A function that takes no part gives memory back at once.
                    Op::Dealloc { ptr, .. } if !takes_part => written.extend(object(*ptr)),
                    Op::Call(Callee::Direct(callee), args, _) => {
                        let target = self.module.func(*callee);
                        let rule = self.request.rule(*callee);
                        let known = TapeUse::of(self.module, func, op).is_some();
                        let harmless = target.attrs.memory != MemoryEffects::Any;
                        if self.facts.functions.contains(callee) || harmless || known {
                            continue;
                        }
                        if target.attrs.inactive && inactive == Inactive::OnlyRead {
                            let effects = self.request.rules.effects(*callee);
                            let changed = effects.into_iter().flat_map(Effects::changed).filter_map(|i| args.get(i));
                            written.extend(changed.filter_map(|a| object(*a)).flat_map(|o| reached(self.facts, o)));
                            continue;
                        }
                        let may_write =
                            |i: usize| rule.is_none_or(|r| matches!(r.args[i].role, Role::Written | Role::Result));
                        let given =
                            args.iter().enumerate().filter(|(i, _)| may_write(*i)).filter_map(|(_, a)| object(*a));
                        written.extend(given.flat_map(|o| reached(self.facts, o)));
                        if rule.is_none() || inactive == Inactive::MayWrite {
                            written.extend(self.facts.regions.shared());
                        }
                    }
                    Op::Call(Callee::Indirect(_), ..) | Op::Opaque(_) => {
                        written.extend(
                            self.facts.regions.shared().iter().filter(|_| !matches!(op, Op::Opaque(op) if !op.writes)),
                        );
                        written
                            .extend(op.operands().into_iter().filter_map(object).flat_map(|o| reached(self.facts, o)));
                    }
                    _ => {}
                }
            }
        }
        if written.iter().any(|object| self.facts.regions.is_shared(*object)) {
            written.extend(self.facts.regions.shared());
        }
        written
    }

    /// Whether the function does the same when it is called again with the same arguments: it uses no memory that
    /// others may write in between, computes nothing from addresses, and calls nothing of which that is not known.
    /// Rules are functions of their arguments.
    pub fn is_reproducible(&self) -> bool {
        self.facts.functions.iter().all(|id| {
            let func = self.module.func(*id);
            let cfg = Cfg::new(func);
            let live = func.blocks().filter(|block| cfg.can_return(*block));
            let mut insts = live.flat_map(|block| &func.block(block).insts).map(|inst| &func.inst(*inst).op);
            let is_own = |v: &Value| self.facts.object(*id, *v).is_some_and(|o| !self.facts.regions.is_shared(o));
            let is_address = |v: &Value| func.ty(*v).is_int() && self.facts.kinds(*id, *v).contains(Kinds::PTR);
            insts.all(|op| match op {
                Op::Load { ptr, .. } | Op::Store { ptr, .. } | Op::Fill { dst: ptr, .. } => is_own(ptr),
                Op::Copy { dst, src, .. } => is_own(dst) && is_own(src),
                Op::Call(Callee::Direct(callee), ..) => {
                    self.facts.functions.contains(callee)
                        || self.request.rule(*callee).is_some()
                        || self.module.func(*callee).attrs.memory == MemoryEffects::None
                        || TapeUse::of(self.module, func, op).is_some()
                }
                Op::Call(Callee::Indirect(_), ..) => false,
                Op::Opaque(op) => !op.writes && !op.reads,
                // Memory has another address the next time. Distances, and how addresses are aligned, stay.
                Op::Bin(BinOp::Sub, a, b) => is_address(a) == is_address(b),
                Op::Bin(BinOp::And, _, mask) if func.as_int(*mask).is_some_and(|mask| (0..16).contains(&mask)) => true,
                Op::Bin(_, a, b) => !is_address(a) && !is_address(b),
                Op::Cast(CastOp::IntToPtr | CastOp::Bitcast, _) => true,
                Op::Cast(_, from) => !is_address(from),
                _ => true,
            })
        })
    }

    /// Find out which objects are never written. Where the reverse sweep is called later, somebody else may write in
    /// between.
    fn note_unwritten(&mut self) {
        if !self.request.split {
            let written = self.written(Inactive::MayWrite);
            self.unwritten = Rc::new(self.facts.objects.all().filter(|o| !written.contains(o)).collect());
        }
    }

    /// Find out whether pointers that lead to shadows may be overwritten in the caller's memory. The cotangents that
    /// the caller gives belong to what is there afterwards, and so are known only when the primal is through.
    fn note_overwritten_pointers(&mut self) {
        if self.request.mode == Mode::Forward || self.request.split {
            return;
        }
        let objects = &self.facts.objects;
        let is_callers = |o: ObjId| !objects.origins(o).args.is_empty() && self.active.is_shadowed(o);
        let has_pointers =
            |o: ObjId| objects.cells(o).iter().any(|cell| objects.kinds(cell.content).contains(Kinds::PTR));
        self.settles = self.facts.functions.iter().any(|id| {
            let func = self.module.func(*id);
            func.blocks().flat_map(|b| &func.block(b).insts).any(|inst| {
                let place = match &func.inst(*inst).op {
                    Op::Store { ptr, value, .. } if self.has_shadow(*id, *value) || self.is_word(*id, *value) => ptr,
                    Op::Copy { dst, .. } => dst,
                    _ => return false,
                };
                self.facts.object(*id, *place).is_some_and(|o| is_callers(o) && has_pointers(o))
            })
        });
    }

    /// Find out whether floats may be overwritten in memory that an argument by value owns. Nobody sees them
    /// afterwards, so what the shadow holds is no cotangent of theirs.
    fn note_overwritten_sums(&mut self) {
        if self.request.mode == Mode::Forward || self.request.split || !self.request.args.iter().any(|arg| arg.by_value)
        {
            return;
        }
        let objects = &self.facts.objects;
        let primal = self.facts.functions[0];
        let places: Vec<_> =
            self.module.func(primal).param_values().iter().map(|v| self.facts.object(primal, *v)).collect();
        self.sets_aside = self.written(Inactive::MayWrite).into_iter().any(|o| {
            let by_value = objects.origins(o).args.iter().any(|arg| self.request.args[*arg].by_value);
            by_value && self.active.is_shadowed(o) && !places.contains(&Some(objects.find(o)))
        });
    }

    /// The active float parameters of a callee, as positions.
    pub fn active_params(&self, callee: FuncId) -> Vec<usize> {
        let func = self.module.func(callee);
        let active = |(_, v): &(usize, &Value)| self.active.is_active(callee, **v);
        func.param_values().iter().enumerate().filter(active).map(|(i, _)| i).collect()
    }

    /// The functions that stand for a callee in this derivative, and are to be made; declared on the first call.
    pub fn variant(&mut self, callee: FuncId) -> Variant {
        if self.wanted.insert(callee) {
            self.pending.push(callee);
        }
        if let Some(variant) = self.variants.get(&callee) {
            return *variant;
        }
        let func = self.module.func(callee);
        let width = self.request.width;
        let reverse_mode = self.request.mode == Mode::Reverse;
        let mut params = if reverse_mode { vec![Type::Ptr] } else { vec![] };
        for value in func.param_values() {
            let ty = func.ty(*value).clone();
            params.push(ty.clone());
            if self.has_shadow_values(callee, *value) {
                params.extend(std::iter::repeat_n(ty, width));
            }
        }
        let ret = func.ret.clone();
        let doubled = self.returns_shadow_values(callee);
        let forward_ret = match &ret {
            Some(ty) if doubled => Some(Type::structure(std::iter::repeat_n(ty.clone(), width + 1))),
            other => other.clone(),
        };
        let base = format!("{}.{}", self.name, func.name);
        let active: Vec<Type> =
            self.active_params(callee).iter().map(|i| cotangent_type(func.ty(func.param_values()[*i]))).collect();
        let forward = self.module.add_function(Function::new(format!("{base}.fwd"), params, forward_ret));
        let reverse = reverse_mode.then(|| {
            let mut params = vec![Type::Ptr];
            if self.active.returns_active(callee) {
                let ty = cotangent_type(ret.as_ref().expect("an active result has a type"));
                params.extend(std::iter::repeat_n(ty, width));
            }
            let cotangents: Vec<Type> = active.iter().flat_map(|ty| std::iter::repeat_n(ty.clone(), width)).collect();
            let ret = (!cotangents.is_empty()).then(|| Type::structure(cotangents));
            self.module.add_function(Function::new(format!("{base}.rev"), params, ret))
        });
        let variant = Variant { forward, reverse };
        self.variants.insert(callee, variant);
        variant
    }
}

/// Which of these functions push to the tape of an inner derivative or pop from it, themselves or by a call.
fn tape_users(module: &Module, functions: &[FuncId]) -> HashSet<FuncId> {
    let mut users = HashSet::new();
    loop {
        let uses = |id: &FuncId| {
            let func = module.func(*id);
            let mut ops = func.blocks().flat_map(|b| &func.block(b).insts).map(|inst| &func.inst(*inst).op);
            ops.any(|op| match op {
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
