//! What can be read off one function before anything is known of memory: computed once, used in every round of
//! [`crate::analysis::points_to::flow`].

use crate::analysis::points_to::ranges::Ranges;
use crate::analysis::scope::{OnPanic, Scope};
use crate::analysis::types::carried;
use pullback_ir::cfg::Cfg;
use pullback_ir::{BinOp, Block, CastOp, Copies, FuncId, Function, Module, Op, Value};
use std::collections::HashSet;

/// The shape of one function.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The blocks that matter.
    pub scope: Scope,
    /// Those of them from which the function can return.
    returning: HashSet<Block>,
    /// The integers that are brought to clean-ups on the way to a panic.
    to_cleanups: HashSet<Value>,
    /// Between which numbers integers lie.
    pub ranges: Ranges,
    /// What is handed on in the blocks that matter.
    copies: Copies,
}

impl Shape {
    /// The shape of a function.
    pub fn new(module: &Module, id: FuncId, on_panic: OnPanic) -> Shape {
        let func = module.func(id);
        let cfg = Cfg::new(func);
        let scope = Scope::new(module, func, &cfg, on_panic);
        let copies = Copies::new(func, scope.blocks.iter().copied());
        let (returning, panicking): (Vec<Block>, Vec<Block>) = scope.blocks.iter().partition(|b| cfg.can_return(**b));
        let to_cleanups = carried::to_cleanups(func, &panicking);
        let returning = returning.into_iter().collect();
        Shape { scope, returning, to_cleanups, ranges: Ranges::new(func), copies }
    }

    /// Whether what is passed to a parameter of `block` says what the parameter is.
    ///
    /// On the way to a panic all kinds of numbers and addresses meet as integers, to be printed; nothing follows from
    /// that for either. But what a clean-up is given means the same on every way to it.
    pub fn joins(&self, func: &Function, block: Block, param: Value) -> bool {
        self.returning.contains(&block) || !func.ty(param).is_int() || self.to_cleanups.contains(&param)
    }

    /// The pointers one of whose addresses is subtracted from another by `op`, after those of the other.
    pub fn subtracted(&self, func: &Function, op: &Op) -> Option<(Vec<Value>, Vec<Value>)> {
        let Op::Bin(BinOp::Sub, a, b) = op else { return None };
        Some((self.addresses(func, *a)?, self.addresses(func, *b)?))
    }

    /// The pointers one of whose addresses the integer `value` is; `None` if it may be something else.
    fn addresses(&self, func: &Function, value: Value) -> Option<Vec<Value>> {
        let mut found = Vec::new();
        let mut seen = HashSet::from([value]);
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if let Some(Op::Cast(CastOp::PtrToInt, ptr)) = func.def_op(value) {
                found.push(*ptr);
                continue;
            }
            open.extend(self.copies.sources(value)?.iter().copied().filter(|v| seen.insert(*v)));
        }
        Some(found)
    }
}
