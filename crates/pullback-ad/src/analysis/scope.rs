//! Which blocks of a function a derivative looks at.
//!
//! What leads to no return has no derivative: such blocks are copied as they are. But a panic that unwinds gives back memory,
//! by the clean-ups of the calls it leaves (see [`Cleanup`](pullback_ir::Cleanup)). In reverse mode the tape owns all shadows,
//! so clean-ups are those of the primal. In forward mode a shadow lies beside its primal and goes where that goes; so blocks that
//! lead to a call with a clean-up are in scope too, and shadow pointers have to be right there. Tangents do not: whatever is
//! computed on the way to a panic has no derivative.

use crate::request::Mode;
use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, Callee, FuncId, Function, Module, Op, Table};

/// The blocks of one function that a derivative looks at.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The blocks, in reverse postorder.
    pub blocks: Vec<Block>,
    contained: Table<Block, bool>,
}

impl Scope {
    /// The blocks that matter to a derivative of this mode.
    pub fn new(func: &Function, cfg: &Cfg, mode: Mode) -> Scope {
        let mut contained = Table::new(func.block_bound(), false);
        let order = cfg.reverse_postorder();
        let cleans_up = |b: &Block| func.block(*b).insts.iter().any(|i| func.inst(*i).op.cleanup().is_some());
        let matters = |b: &Block| cfg.can_return(*b) || mode == Mode::Forward && cleans_up(b);
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

/// Functions with a body that `primal` may call and come back from, itself first: those that take part in the derivative.
pub fn returning(module: &Module, primal: FuncId) -> Vec<FuncId> {
    closure(module, vec![primal], Mode::Reverse)
}

/// Functions with a body that a derivative of this mode looks at: those of [`returning`], in the same order, and then those that
/// are only called on the way out of a panic.
pub fn functions(module: &Module, primal: FuncId, mode: Mode) -> Vec<FuncId> {
    let returning = returning(module, primal);
    if mode == Mode::Reverse { returning } else { closure(module, returning, mode) }
}

fn closure(module: &Module, mut found: Vec<FuncId>, mode: Mode) -> Vec<FuncId> {
    let mut next = 0;
    while let Some(&id) = found.get(next) {
        next += 1;
        let func = module.func(id);
        for block in Scope::new(func, &Cfg::new(func), mode).blocks {
            for inst in &func.block(block).insts {
                let op = &func.inst(*inst).op;
                let callee = match op {
                    Op::Call(Callee::Direct(callee), ..) => Some(*callee),
                    _ => None,
                };
                let cleanup = op.cleanup().filter(|_| mode == Mode::Forward).map(|c| c.func);
                for callee in callee.into_iter().chain(cleanup) {
                    let target = module.func(callee);
                    if !target.is_declaration() && !target.attrs.inactive && !found.contains(&callee) {
                        found.push(callee);
                    }
                }
            }
        }
    }
    found
}
