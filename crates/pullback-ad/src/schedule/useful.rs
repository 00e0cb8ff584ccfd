//! Linear operations whose transposes have nothing to pass on.
//!
//! A cotangent comes from what was stored, returned, or passed to a call, and goes back through linear operations. A
//! value that depends on the inputs but leads to none of these, such as one that is only compared, has no cotangent,
//! and its operation's transpose would multiply nothing with a partial derivative. The optimiser may not drop that:
//! nothing times infinity is not a number. So it is dropped here, and its NaN with it.

use crate::linearise::augment::Augmented;
use crate::linearise::linear::Linear;
use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, Value};
use std::collections::{HashMap, HashSet};

/// Drop the linear operations and the activity of values that have no cotangent.
pub fn drop_useless(aug: &mut Augmented, cfg: &Cfg) {
    let useful = useful(aug, cfg);
    let keep = |linear: &Linear| linear.taken().is_none_or(|value| useful.contains(&value));
    aug.linear.retain(keep, |value| useful.contains(&value));
}

/// The floats whose cotangents come about and are taken in the reverse of one block: they need no place of their own.
pub fn local(aug: &Augmented, cfg: &Cfg) -> HashSet<Value> {
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

/// The values that have a cotangent.
fn useful(aug: &Augmented, cfg: &Cfg) -> HashSet<Value> {
    let mut work: Vec<Value> = aug.linear.results().map(|(_, value)| value).collect();
    let mut sources: HashMap<Value, Vec<Value>> = HashMap::new();
    for (_, linear) in aug.linear.all() {
        match linear.taken() {
            Some(value) => sources.entry(value).or_default().extend(linear.operands()),
            None => work.extend(linear.operands()),
        }
    }
    for block in cfg.reverse_postorder().iter().filter(|b| cfg.can_return(**b)) {
        for target in aug.func.block(*block).term.targets() {
            let params = &aug.func.block(target.block).params;
            for (param, arg) in params.iter().zip(&target.args).filter(|(p, _)| aug.linear.active.contains(p)) {
                sources.entry(*param).or_default().push(*arg);
            }
        }
    }
    let mut useful = HashSet::new();
    while let Some(value) = work.pop() {
        if useful.insert(value) {
            work.extend(sources.get(&value).into_iter().flatten());
        }
    }
    useful
}
