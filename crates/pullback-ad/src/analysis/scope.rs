//! Which blocks of a function a derivative looks at.
//!
//! What leads to no return has no derivative: such blocks are copied as they are. But a panic that unwinds gives back
//! memory, by the clean-ups of the calls it leaves (see [`Cleanup`](pullback_ir::Cleanup)). In reverse mode the tape
//! owns all shadows, so clean-ups are those of the primal. In forward mode a shadow lies beside its primal and goes
//! where that goes ([`OnPanic::Free`]), and who catches the panic sees both. So blocks that lead to a place where
//! memory may be given back, or where memory is written that is not the function's own, are in scope too: shadow
//! pointers have to be right there, and lengths and capacities in shadows. Tangents do not: whatever is computed on the
//! way to a panic has no derivative.

use crate::runtime::TapeUse;
use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, Callee, FuncId, Function, InstData, Module, Op, Table, Type, Value};

/// What a derivative does with the shadows of the primal's memory when the primal panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnPanic {
    /// Nothing.
    #[default]
    Leave,
    /// Give them back where their primals are given back.
    Free,
}

/// The blocks of one function that a derivative looks at.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The blocks, in reverse postorder.
    pub blocks: Vec<Block>,
    contained: Table<Block, bool>,
}

impl Scope {
    /// The blocks that matter.
    pub fn new(module: &Module, func: &Function, cfg: &Cfg, on_panic: OnPanic) -> Scope {
        let mut contained = Table::new(func.block_bound(), false);
        let order = cfg.reverse_postorder();
        let is_seen = |op: &Op| may_free(module, func, op) || may_be_seen(func, op);
        let seen = |b: &Block| func.block(*b).insts.iter().any(|i| is_seen(&func.inst(*i).op));
        let matters = |b: &Block| cfg.can_return(*b) || on_panic == OnPanic::Free && seen(b);
        let mut work: Vec<Block> = order.iter().copied().filter(matters).collect();
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut contained[block], true) {
                work.extend_from_slice(cfg.predecessors(block));
            }
        }
        Scope { blocks: order.iter().copied().filter(|b| contained[*b]).collect(), contained }
    }

    /// Whether a block matters.
    pub fn contains(&self, block: Block) -> bool {
        self.contained[block]
    }
}

/// Whether an instruction may give memory back, itself or in a function that is given a pointer.
fn may_free(module: &Module, func: &Function, op: &Op) -> bool {
    match op {
        Op::Dealloc { .. } => true,
        Op::Call(Callee::Direct(callee), args, _) if is_known(module, *callee) => {
            op.cleanup().is_some() || args.iter().any(|v| *func.ty(*v) == Type::Ptr)
        }
        op => op.cleanup().is_some(),
    }
}

/// Whether an instruction may write memory that is there when the function has been left.
fn may_be_seen(func: &Function, op: &Op) -> bool {
    op.written_place().is_some_and(|ptr| !is_local(func, ptr))
}

/// Whether a pointer is to a variable of the function's own, as far as its address tells.
pub(crate) fn is_local(func: &Function, ptr: Value) -> bool {
    match func.def_op(ptr) {
        Some(Op::PtrAdd(base, _)) => is_local(func, *base),
        op => matches!(op, Some(Op::Alloca { .. })),
    }
}

/// Whether a function has a body to look at.
fn is_known(module: &Module, id: FuncId) -> bool {
    let func = module.func(id);
    !func.is_declaration() && !func.attrs.inactive
}

/// Functions with a body that `primal` may call and come back from, itself first: those that take part in the
/// derivative.
pub fn returning(module: &Module, primal: FuncId) -> Vec<FuncId> {
    closure(module, vec![primal], OnPanic::Leave)
}

/// Functions with a body that a derivative looks at: those of [`returning`], in the same order, and then those that are
/// only called on the way out of a panic.
pub fn functions(module: &Module, primal: FuncId, on_panic: OnPanic) -> Vec<FuncId> {
    closure(module, returning(module, primal), on_panic)
}

fn closure(module: &Module, mut found: Vec<FuncId>, on_panic: OnPanic) -> Vec<FuncId> {
    let mut next = 0;
    while let Some(&id) = found.get(next) {
        next += 1;
        let func = module.func(id);
        for InstData { op, .. } in func.insts_in(&Scope::new(module, func, &Cfg::new(func), on_panic).blocks) {
            let callee = match (TapeUse::of(module, func, op), op) {
                (Some(TapeUse::Own(release)), _) => release,
                (_, Op::Call(Callee::Direct(callee), ..)) => Some(*callee),
                _ => None,
            };
            let cleanup = op.cleanup().filter(|_| on_panic == OnPanic::Free).map(|c| c.func);
            for callee in callee.into_iter().chain(cleanup) {
                if is_known(module, callee) && !found.contains(&callee) {
                    found.push(callee);
                }
            }
        }
    }
    found
}
