//! What can be read off one function before anything is known of memory: computed once, used in every round of [`super::flow`].

use super::ranges::Ranges;
use super::scope::{OnPanic, Scope};
use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, CastOp, FuncId, Function, Module, Op, Value, ValueDef};
use std::collections::{HashMap, HashSet};

/// The shape of one function.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The blocks that matter.
    pub scope: Scope,
    returning: HashSet<Block>,
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
        let returning = scope.blocks.iter().copied().filter(|b| cfg.can_return(*b)).collect();
        Shape { scope, returning, ranges: Ranges::new(func), incoming }
    }

    /// Whether the function can return from a block.
    pub fn can_return(&self, block: Block) -> bool {
        self.returning.contains(&block)
    }

    /// The pointers one of whose addresses the integer `value` is; `None` if it may be something else.
    pub fn addresses(&self, func: &Function, value: Value) -> Option<Vec<Value>> {
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
