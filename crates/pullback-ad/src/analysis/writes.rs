//! What the program writes, and what follows for its derivative.
//!
//! Functions that are looked into write what their instructions write. Of the others it is supposed ([`Inactive`]), and
//! all memory that may have several names is written with one of them.

use crate::analysis::activity::{ActiveSet, reached};
use crate::analysis::effects::Effects;
use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::{Kinds, ObjId};
use crate::custom::Role;
use crate::request::{Mode, Request};
use crate::runtime::TapeUse;
use pullback_ir::cfg::Cfg;
use pullback_ir::{BinOp, Block, Callee, CastOp, FuncId, MemoryEffects, Module, Op, Value};
use std::collections::HashSet;
use std::rc::Rc;

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

/// What the writes of a program mean for its derivative.
#[derive(Default)]
pub struct Writes {
    /// Objects to which nothing is written from the start of the forward sweep to the end of the reverse sweep,
    /// wherever those are.
    pub unwritten: Rc<HashSet<ObjId>>,
    /// Whether pointers that lead to shadows may be overwritten in the caller's memory. The cotangents that the caller
    /// gives belong to what is there afterwards, and so are known, and settled, only when the primal is through. So it is
    /// with the cotangents of a result that owns memory.
    pub settles: bool,
    /// Whether floats may be overwritten in memory that an argument by value owns. The caller does not see them
    /// afterwards, so what the shadow holds is no cotangent of theirs, and is set aside.
    pub sets_aside: bool,
}

/// A program that is asked what it writes.
pub struct Writers<'a> {
    /// Where its functions are.
    pub module: &'a Module,
    /// Memory and pointers.
    pub facts: &'a Facts,
    /// What takes part.
    pub active: &'a ActiveSet,
    /// The derivative that was asked for.
    pub request: &'a Request,
    /// The functions that take part. Another one gives memory back at once.
    pub taking_part: HashSet<FuncId>,
}

impl Writers<'_> {
    /// What follows for the derivative.
    pub fn writes(&self) -> Writes {
        let Request { mode, split, .. } = *self.request;
        let combined = mode == Mode::Reverse && !split;
        Writes {
            unwritten: Rc::new(self.unwritten()),
            settles: combined && (self.request.seeds || self.overwrites_pointers()),
            sets_aside: combined && self.overwrites_sums(),
        }
    }

    /// The objects to which the program may write, anywhere.
    pub fn written(&self, inactive: Inactive) -> HashSet<ObjId> {
        let mut written = HashSet::new();
        for id in &self.facts.functions {
            let func = self.module.func(*id);
            let takes_part = self.taking_part.contains(id);
            let object = |v: Value| self.facts.object(*id, v);
            for op in func.ops() {
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
                        if !matches!(op, Op::Opaque(op) if !op.writes) {
                            written.extend(self.facts.regions.shared());
                        }
                        let given = op.operands().into_iter().filter_map(object);
                        written.extend(given.flat_map(|o| reached(self.facts, o)));
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

    /// Whether the function does the same when it is called a second time with the same arguments: it uses no memory
    /// that others may write in between, computes nothing from addresses, and calls nothing of which that is not known.
    /// Rules are functions of their arguments.
    pub fn is_reproducible(&self) -> bool {
        self.facts.functions.iter().all(|id| {
            let func = self.module.func(*id);
            let live: Vec<Block> = Cfg::new(func).live().collect();
            let is_own = |v: &Value| self.facts.object(*id, *v).is_some_and(|o| !self.facts.regions.is_shared(o));
            let is_address = |v: &Value| func.ty(*v).is_int() && self.facts.kinds(*id, *v).contains(Kinds::PTR);
            func.insts_in(&live).map(|data| &data.op).all(|op| match op {
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

    /// The objects that are never written. Where the reverse sweep is called later, the caller may write in between.
    fn unwritten(&self) -> HashSet<ObjId> {
        if self.request.split {
            return HashSet::new();
        }
        let written = self.written(Inactive::MayWrite);
        self.facts.objects.all().filter(|o| !written.contains(o)).collect()
    }

    /// Whether pointers that lead to shadows may be overwritten in the caller's memory.
    pub fn overwrites_pointers(&self) -> bool {
        let objects = &self.facts.objects;
        // There is nothing yet in the place of a result.
        let is_callers = |o: ObjId| {
            objects.origins(o).args.iter().any(|arg| !self.request.is_result(*arg)) && self.active.is_shadowed(o)
        };
        let has_pointers =
            |o: ObjId| objects.cells(o).iter().any(|cell| objects.kinds(cell.content).contains(Kinds::PTR));
        self.facts.functions.iter().any(|id| {
            let func = self.module.func(*id);
            let leads_on = |v: Value| {
                self.active.has_shadow(self.facts, *id, v) || self.active.is_word(self.facts, *id, func.ty(v), v)
            };
            func.ops().any(|op| {
                let place = match op {
                    Op::Store { ptr, value, .. } if leads_on(*value) => ptr,
                    Op::Copy { dst, .. } => dst,
                    _ => return false,
                };
                self.facts.object(*id, *place).is_some_and(|o| is_callers(o) && has_pointers(o))
            })
        })
    }

    /// Whether floats may be overwritten in memory that an argument by value owns.
    fn overwrites_sums(&self) -> bool {
        if !self.request.args.iter().any(|arg| arg.by_value) {
            return false;
        }
        let objects = &self.facts.objects;
        let primal = self.facts.functions[0];
        let params = self.module.func(primal).param_values();
        let places: Vec<_> = params.iter().map(|v| self.facts.object(primal, *v)).collect();
        self.written(Inactive::MayWrite).into_iter().any(|o| {
            let by_value = objects.origins(o).args.iter().any(|arg| self.request.args[*arg].by_value);
            by_value && self.active.is_shadowed(o) && !places.contains(&Some(objects.find(o)))
        })
    }
}
