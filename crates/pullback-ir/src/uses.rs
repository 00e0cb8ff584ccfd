//! Who uses which value.

use crate::{Block, Function, Inst, Value};
use std::collections::HashMap;

/// The uses of the values of a function: a snapshot.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    insts: HashMap<Value, Vec<Inst>>,
    ends: HashMap<Value, Vec<Block>>,
}

impl Uses {
    /// The uses in all blocks.
    pub fn new(func: &Function) -> Self {
        let mut uses = Uses::default();
        func.insts().for_each(|inst| uses.add_inst(func, inst));
        func.blocks().for_each(|block| uses.add_end(func, block));
        uses
    }

    /// Add the uses of an instruction, which is a new one.
    pub fn add_inst(&mut self, func: &Function, inst: Inst) {
        for value in func.inst(inst).op.operands() {
            self.insts.entry(value).or_default().push(inst);
        }
    }

    /// Add the uses at the end of a block, which is a new one.
    pub fn add_end(&mut self, func: &Function, block: Block) {
        let term = &func.block(block).term;
        for value in term.targets().iter().flat_map(|target| &target.args).copied().chain(term.operand()) {
            self.ends.entry(value).or_default().push(block);
        }
    }

    /// The instructions that use a value, in layout order; one that uses it twice is there twice.
    pub fn insts(&self, value: Value) -> &[Inst] {
        self.insts.get(&value).map_or(&[], Vec::as_slice)
    }

    /// The blocks whose ends test, return or hand on a value, as often as they do.
    pub fn ends(&self, value: Value) -> &[Block] {
        self.ends.get(&value).map_or(&[], Vec::as_slice)
    }

    /// How often a value is used.
    pub fn count(&self, value: Value) -> usize {
        self.insts(value).len() + self.ends(value).len()
    }
}

#[cfg(test)]
mod tests {
    use super::Uses;
    use crate::parse_module;

    #[test]
    fn each_use_counts() {
        let text = "fn @f(v0: i1, v1: f64) -> f64 {
b0:
  v2 = fmul v1, v1
  branch v0, b1(v1), b1(v1)
b1(v3: f64):
  return v3
}";
        let module = parse_module(text).unwrap();
        let (_, func) = module.functions().next().unwrap();
        let uses = Uses::new(func);
        let [v0, v1] = [func.param_values()[0], func.param_values()[1]];
        let (square, entry) = (func.insts().next().unwrap(), func.entry());
        assert_eq!((uses.insts(v1), uses.ends(v1)), (&[square, square][..], &[entry, entry][..]));
        assert_eq!([v0, v1, func.result(square)].map(|value| uses.count(value)), [1, 4, 0]);
    }
}
