//! Whether others may change pointers in cells of arguments while a program runs.
//!
//! A `RefCell` that several own, or refer to, may hold a vector. Whoever else has it may put another vector there while
//! the derivative runs: code that is not looked into, or the program itself, by a capture or a static of which nobody
//! knows that it is the same cell. The shadow would keep the vector that it has. So the wrapper of a derivative in which
//! that may happen asks for arguments without such cells. Only what is stored as a pointer, or gives memory back,
//! changes where pointers lead.
//!
//! After a panic a hook may have done anything. In reverse mode no shadow is touched then. In forward mode clean-ups
//! do with the shadows what they do with the primals; if that may be in such a cell, the shadows are left alone.

use crate::analysis::activity::{ActiveSet, is_inert};
use crate::analysis::effects::may_do_anything;
use crate::analysis::owners;
use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::{Cell, Kinds, ObjId, Property};
use crate::analysis::scope::is_local;
use crate::request::{Mode, Request};
use crate::runtime::TapeUse;
use pullback_ir::cfg::Cfg;
use pullback_ir::{Callee, FuncId, Function, Module, Op, Terminator, Type, Value};

/// Whether pointers in cells of arguments may be changed by other names than those that have shadows.
pub fn yields(module: &Module, facts: &Facts, active: &ActiveSet, request: &Request) -> bool {
    let search = Search { module, facts, active, request };
    facts.objects.all().any(|object| search.may_be_changed(object))
        && facts.functions.iter().any(|id| search.yields(*id))
}

/// Whether what is done after a panic touches memory that a hook may have changed, and its shadow with it.
pub fn cleans_up(module: &Module, facts: &Facts, active: &ActiveSet, request: &Request) -> bool {
    let search = Search { module, facts, active, request };
    request.mode == Mode::Forward
        && facts.objects.all().any(|object| search.may_be_changed(object))
        && owners::cleanups(module, facts).into_iter().any(|id| search.touches(id))
}

struct Search<'a> {
    module: &'a Module,
    facts: &'a Facts,
    active: &'a ActiveSet,
    request: &'a Request,
}

impl Search<'_> {
    /// Whether an object is memory of an argument that has a shadow, and lies in a cell with pointers, or behind one.
    fn may_be_changed(&self, object: ObjId) -> bool {
        let (objects, regions) = (&self.facts.objects, &self.facts.regions);
        let is_pointer_in_cell = |c: &Cell| {
            objects.kinds(c.content).contains(Kinds::PTR)
                && objects.some_marked(object, Property::Shared, &c.at.into(), c.width)
        };
        let has_pointers = || objects.cells(object).iter().any(is_pointer_in_cell);
        regions.is_shared(object)
            && self.active.is_shadowed(object)
            && !objects.origins(object).args.is_empty()
            && (regions.is_wholly_shared(object) || has_pointers())
    }

    fn yields(&self, id: FuncId) -> bool {
        let func = self.module.func(id);
        let cfg = Cfg::new(func);
        func.blocks().any(|block| {
            // In reverse mode no shadow is touched on the way to a panic.
            if self.request.mode == Mode::Reverse && !cfg.can_return(block) {
                return false;
            }
            let block = func.block(block);
            // What never comes back is followed by clean-ups only.
            let is_left = matches!(block.term, Terminator::Unreachable);
            let insts = &block.insts[..block.insts.len().saturating_sub(usize::from(is_left))];
            insts.iter().any(|inst| self.is_for_others(id, func, &func.inst(*inst).op))
        })
    }

    /// Whether others may run, or what they have may be changed.
    fn is_for_others(&self, id: FuncId, func: &Function, op: &Op) -> bool {
        match op {
            Op::Store { ptr, value, .. } => may_hold_pointer(func.ty(*value)) && self.is_unknown(id, func, *ptr),
            Op::Dealloc { ptr, .. } => self.is_unknown(id, func, *ptr),
            op if let Some(at) = op.written_place() => self.is_unknown(id, func, at),
            Op::Call(Callee::Direct(callee), ..) if self.request.rule(*callee).is_some() => true,
            op => may_do_anything(self.module, self.facts, op) && TapeUse::of(self.module, func, op).is_none(),
        }
    }

    /// Whether a pointer is to memory without a shadow, of which it is not known that it is nothing that has one.
    fn is_unknown(&self, id: FuncId, func: &Function, ptr: Value) -> bool {
        let objects = &self.facts.objects;
        match self.facts.object(id, ptr) {
            Some(object) => {
                self.facts.regions.is_shared(object)
                    && !self.active.is_shadowed(object)
                    && (objects.origins(object).is_untyped() || objects.is_marked(object, Property::Inert))
            }
            // On the way to a panic, where nothing is known but what can be seen.
            None => !is_local(func, ptr),
        }
    }

    /// Whether a function reads or writes memory that others may change. Who has borrowed what is in a cell is no
    /// matter: that is not written in the shadow.
    fn touches(&self, id: FuncId) -> bool {
        let func = self.module.func(id);
        let touches = |ptr: Value, align: u64, width: u64| {
            let may_be_changed = self.facts.object(id, ptr).is_some_and(|object| self.may_be_changed(object));
            may_be_changed && !is_inert(self.facts, id, ptr, align, width)
        };
        func.insts().map(|inst| func.inst(inst)).any(|data| match (&data.op, data.result) {
            (Op::Load { ptr, align }, Some(result)) => touches(*ptr, *align, func.ty(result).size()),
            (Op::Store { ptr, value, align }, _) => touches(*ptr, *align, func.ty(*value).size()),
            (Op::Copy { dst, src, .. }, _) => touches(*dst, 1, u64::MAX) || touches(*src, 1, u64::MAX),
            (op, _) => op.written_place().is_some_and(|at| touches(at, 1, u64::MAX)),
        })
    }
}

/// Whether what is stored may be, or hold, a pointer.
fn may_hold_pointer(ty: &Type) -> bool {
    match ty {
        Type::F32 | Type::F64 => false,
        Type::Int(bits) => *bits >= 64,
        _ => true,
    }
}
