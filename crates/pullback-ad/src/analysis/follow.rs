//! Where values go: the ways that every analysis walks that follows them from block to block and function to function.
//!
//! Given the live blocks of some functions, [`follow`] shows an analysis their instructions, and each way by which a
//! value becomes another, until the analysis learns nothing new.

use crate::analysis::points_to::facts::Slot;
use pullback_ir::{Block, Callee, FuncId, Function, InstData, Module, Op, Terminator, Value};
use std::collections::HashMap;

/// The live blocks of some functions.
pub(crate) type Live = [(FuncId, Vec<Block>)];

/// How a value becomes another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// It is given to a function.
    Argument,
    /// It is passed to the parameter of this number of a block.
    Edge(Block, usize),
    /// It is returned.
    Return,
}

/// An analysis that follows values.
pub(crate) trait Follow {
    /// Learn from an instruction.
    fn instruction(&mut self, id: FuncId, func: &Function, data: &InstData);

    /// Learn that `from` becomes `to`.
    fn pass(&mut self, id: FuncId, from: Value, to: Slot, way: Way);

    /// Whether there is more to learn: something was learnt since the last call.
    fn goes_on(&mut self) -> bool;
}

/// Let an analysis follow the values of these live blocks, and into the functions of `group`.
pub(crate) fn follow(module: &Module, group: &[FuncId], live: &Live, analysis: &mut impl Follow) {
    loop {
        for (id, blocks) in live {
            let func = module.func(*id);
            for block in blocks.iter().map(|block| func.block(*block)) {
                for data in block.insts.iter().map(|inst| func.inst(*inst)) {
                    if let Op::Call(Callee::Direct(callee), args, _) = &data.op
                        && group.contains(callee)
                    {
                        for (arg, param) in args.iter().zip(module.func(*callee).param_values()) {
                            analysis.pass(*id, *arg, (*callee, Some(*param)), Way::Argument);
                        }
                    }
                    analysis.instruction(*id, func, data);
                }
                for target in block.term.targets() {
                    for (index, (arg, param)) in target.args.iter().zip(&func.block(target.block).params).enumerate() {
                        analysis.pass(*id, *arg, (*id, Some(*param)), Way::Edge(target.block, index));
                    }
                }
                if let Terminator::Return(Some(value)) = block.term {
                    analysis.pass(*id, value, (*id, None), Way::Return);
                }
            }
        }
        if !analysis.goes_on() {
            return;
        }
    }
}

/// What an analysis has learnt of values, and of what functions return.
pub(crate) struct Marks<M> {
    marks: HashMap<Slot, M>,
    /// What two marks together are.
    join: fn(M, M) -> M,
    /// Whether something was learnt.
    pub(crate) changed: bool,
}

impl<M: Copy + PartialEq> Marks<M> {
    /// None yet.
    pub(crate) fn new(join: fn(M, M) -> M) -> Self {
        Marks { marks: HashMap::new(), join, changed: false }
    }

    /// What is known of a slot.
    pub(crate) fn get(&self, slot: Slot) -> Option<M> {
        self.marks.get(&slot).copied()
    }

    /// Something is so of a slot, too.
    pub(crate) fn add(&mut self, slot: Slot, mark: M) {
        let known = self.get(slot);
        let new = known.map_or(mark, |known| (self.join)(known, mark));
        self.changed |= known != Some(new);
        self.marks.insert(slot, new);
    }
}
