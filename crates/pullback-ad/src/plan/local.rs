//! Cotangents that need no slot.

use crate::linearise::augment::Augmented;
use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, Value};
use std::collections::{HashMap, HashSet};

/// The floats whose cotangents come about and are taken in the reverse of one block: they need no place of their own.
pub(crate) fn local(aug: &Augmented, cfg: &Cfg) -> HashSet<Value> {
    let mut taken: HashMap<Value, Block> = HashMap::new();
    let mut given: Vec<(Value, Block)> = Vec::new();
    let mut handed_on: HashSet<Value> = HashSet::new();
    for block in cfg.reverse_postorder() {
        let data = aug.func.block(*block);
        if *block != aug.func.entry() {
            taken.extend(data.params.iter().map(|param| (*param, *block)));
        }
        for (_, linear) in aug.linear.of_block(&aug.func, *block) {
            given.extend(linear.operands().into_iter().map(|value| (value, *block)));
            taken.extend(linear.result().map(|result| (result, *block)));
        }
        handed_on.extend(data.term.targets().iter().flat_map(|target| target.args.iter().copied()));
        handed_on.extend(data.term.operand());
    }
    taken.retain(|value, _| aug.func.ty(*value).is_float() && !handed_on.contains(value));
    for (value, block) in given {
        if taken.get(&value).is_some_and(|taken| *taken != block) {
            taken.remove(&value);
        }
    }
    taken.into_keys().collect()
}
