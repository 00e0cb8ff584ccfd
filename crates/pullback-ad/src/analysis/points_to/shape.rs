//! What can be read off one function before anything is known of memory: computed once, used in every round of
//! [`crate::analysis::points_to::flow`].

use crate::analysis::points_to::ranges::Ranges;
use crate::analysis::scope::{OnPanic, Scope};
use crate::analysis::types::carried;
use pullback_ir::cfg::Cfg;
use pullback_ir::{BinOp, Block, CastOp, FuncId, Function, Module, Op, Value, ValueDef};
use std::collections::{HashMap, HashSet};

/// The shape of one function.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The blocks that matter.
    pub scope: Scope,
    returning: HashSet<Block>,
    /// The integers that are brought to clean-ups on the way to a panic.
    to_cleanups: HashSet<Value>,
    /// Between which numbers integers lie.
    pub ranges: Ranges,
    /// What a block parameter may be, by the parameter.
    incoming: HashMap<Value, Vec<Value>>,
}

impl Shape {
    /// The shape of a function.
    pub fn new(module: &Module, id: FuncId, on_panic: OnPanic) -> Shape {
        let func = module.func(id);
        let cfg = Cfg::new(func);
        let scope = Scope::new(module, func, &cfg, on_panic);
        let mut incoming: HashMap<Value, Vec<Value>> = HashMap::new();
        for target in scope.blocks.iter().flat_map(|block| func.block(*block).term.targets()) {
            for (arg, param) in target.args.iter().zip(&func.block(target.block).params) {
                incoming.entry(*param).or_default().push(*arg);
            }
        }
        let (returning, panicking): (Vec<Block>, Vec<Block>) = scope.blocks.iter().partition(|b| cfg.can_return(**b));
        let to_cleanups = carried::to_cleanups(func, &panicking);
        let returning = returning.into_iter().collect();
        Shape { scope, returning, to_cleanups, ranges: Ranges::new(func), incoming }
    }

    /// Whether the function can return from a block.
    fn can_return(&self, block: Block) -> bool {
        self.returning.contains(&block)
    }

    /// Whether what is passed to a parameter of `block` says what the parameter is.
    ///
    /// On the way to a panic all kinds of numbers and addresses meet as integers, to be printed; nothing follows from
    /// that for either. But what a clean-up is given means the same on every way to it.
    pub fn joins(&self, func: &Function, block: Block, param: Value) -> bool {
        self.can_return(block) || !func.ty(param).is_int() || self.to_cleanups.contains(&param)
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
            let next = match &func.value(value).def {
                ValueDef::Param(block, _) if *block != func.entry() => self.incoming.get(&value)?.clone(),
                ValueDef::Inst(inst) => match func.inst(*inst).op {
                    Op::Cast(CastOp::PtrToInt, ptr) => {
                        found.push(ptr);
                        vec![]
                    }
                    Op::Select(_, a, b) => vec![a, b],
                    Op::Freeze(a) => vec![a],
                    _ => return None,
                },
                _ => return None,
            };
            open.extend(next.into_iter().filter(|v| seen.insert(*v)));
        }
        Some(found)
    }
}
