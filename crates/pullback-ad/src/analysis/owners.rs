//! Whether a program may change who owns a value where no shadow says so.
//!
//! In forward mode the shadow of an `Rc` has a count of its own, which changes where an owner with a shadow comes or
//! goes. The primal may have other owners, which a capture, a static or a `Const` argument leads to. Where the last of
//! them is dropped, the primal has one owner and can be taken apart (`Rc::get_mut`), while its shadow still has others.
//! So the wrapper of a derivative that may drop such owners asks for values that have none. What changes a count is a
//! store of a number, and who the count belongs to cannot be told in memory of unknown types: each store there may be
//! one, and so may each call of a function that is not looked into.
//!
//! A panic calls a hook, which may drop anything, and then the clean-ups. That matters if a clean-up looks at a count.
//! If it only drops owners and the last one is not the last one of the shadow, the run-time support ends the program.

use crate::analysis::activity::ActiveSet;
use crate::analysis::effects::may_do_anything;
use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::Property;
use crate::analysis::scope::is_local;
use crate::request::Request;
use crate::runtime::TapeUse;
use pullback_ir::{BinOp, Callee, FuncId, Function, Module, Op, Type, Value};

/// Whether owners without a shadow may come or go while the program runs, of values that have shadows with counts.
pub fn disowns(module: &Module, facts: &Facts, active: &ActiveSet, request: &Request) -> bool {
    let counted = |object| active.is_shadowed(object) && facts.objects.is_marked(object, Property::Owners);
    facts.objects.all().any(counted) && {
        let search = Search { module, facts, active, request };
        facts.functions.iter().any(|id| search.disowns(*id))
            || cleanups(module, facts).into_iter().any(|id| search.looks(id))
    }
}

struct Search<'a> {
    module: &'a Module,
    facts: &'a Facts,
    active: &'a ActiveSet,
    request: &'a Request,
}

impl Search<'_> {
    /// Whether a function may change a count that belongs to no shadow.
    fn disowns(&self, id: FuncId) -> bool {
        let func = self.module.func(id);
        func.ops().any(|op| match op {
            Op::Store { ptr, value, .. } => may_be_count(func.ty(*value)) && self.is_unknown(id, func, *ptr),
            op if let Some(at) = op.written_place() => self.is_unknown(id, func, at),
            Op::Call(Callee::Direct(callee), ..) if self.request.rule(*callee).is_some() => true,
            op => may_do_anything(self.module, self.facts, op) && TapeUse::of(self.module, func, op).is_none(),
        })
    }

    /// Whether a pointer is to memory without a shadow that may be known by other names.
    fn is_unknown(&self, id: FuncId, func: &Function, ptr: Value) -> bool {
        match self.facts.object(id, ptr) {
            Some(object) => self.facts.regions.is_shared(object) && !self.active.is_shadowed(object),
            // On the way to a panic, where nothing is known but what can be seen.
            None => !is_local(func, ptr),
        }
    }

    /// Whether a function does more with the count of a value that has a shadow than to change it, and to see whether
    /// it is zero.
    fn looks(&self, id: FuncId) -> bool {
        let func = self.module.func(id);
        func.insts().any(|inst| {
            let data = func.inst(inst);
            let (Op::Load { ptr, align }, Some(count)) = (&data.op, data.result) else { return false };
            let counts = |(object, at)| {
                let width = func.ty(count).size();
                self.active.is_shadowed(object) && self.facts.objects.some_marked(object, Property::Owners, &at, width)
            };
            self.facts.target(id, *ptr, *align).is_some_and(counts) && !only_counts(func, count)
        })
    }
}

/// The functions that run on the way out of a panic, and do with the shadows what they do with the primals.
pub(super) fn cleanups(module: &Module, facts: &Facts) -> Vec<FuncId> {
    let known = |id: &FuncId| facts.functions.contains(id);
    let ops = |id: FuncId| module.func(id).ops();
    let cleanup = |op: &Op| op.cleanup().map(|cleanup| cleanup.func).filter(known);
    let mut found: Vec<FuncId> = facts.functions.iter().flat_map(|id| ops(*id).filter_map(cleanup)).collect();
    let mut next = 0;
    while let Some(&id) = found.get(next) {
        next += 1;
        for op in ops(id) {
            if let Op::Call(Callee::Direct(callee), ..) = op
                && known(callee)
                && !found.contains(callee)
            {
                found.push(*callee);
            }
        }
    }
    found
}

/// Whether what is stored may be, or hold, a count.
fn may_be_count(ty: &Type) -> bool {
    match ty {
        Type::F32 | Type::F64 | Type::Ptr => false,
        Type::Int(bits) => *bits >= 64,
        _ => true,
    }
}

/// Whether a count that was loaded is changed by a constant, stored, and compared with zero, and that is all.
fn only_counts(func: &Function, count: Value) -> bool {
    let constant = |v: Value| func.as_int(v).map(|n| n as i64);
    let change = |op: &Op| match op {
        Op::Bin(BinOp::Add, a, by) if *a == count => constant(*by),
        Op::Bin(BinOp::Sub, a, by) if *a == count => constant(*by).map(i64::wrapping_neg),
        _ => None,
    };
    let ops = |block| func.block(block).insts.iter().map(|inst| func.inst(*inst));
    let all = func.blocks().flat_map(ops);
    let changed: Vec<(Value, i64)> = all.filter_map(|data| Some((data.result?, change(&data.op)?))).collect();
    let is_count = |v: &Value| *v == count || changed.iter().any(|(other, _)| other == v);
    func.blocks().all(|block| {
        let is_stored = |v: Value| ops(block).any(|data| matches!(data.op, Op::Store { value, .. } if value == v));
        let harmless = |op: &Op| match op {
            Op::Store { ptr, value, .. } => !is_count(ptr) && *value != count,
            // A count that is compared with what is taken from it here is zero afterwards, or not.
            Op::ICmp(_, a, b) => match constant(*b) {
                Some(0) => true,
                Some(n) => *a == count && changed.iter().any(|(v, by)| n.wrapping_add(*by) == 0 && is_stored(*v)),
                None => false,
            },
            op => change(op).is_some(),
        };
        let term = &func.block(block).term;
        let passed = term.targets().into_iter().flat_map(|target| &target.args).copied().chain(term.operand());
        ops(block).all(|data| !data.op.operands().iter().any(is_count) || harmless(&data.op))
            && !passed.into_iter().any(|v| is_count(&v))
    })
}
