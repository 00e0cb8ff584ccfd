//! Linear operations whose transposes have nothing to pass on.
//!
//! A cotangent comes from what was stored, returned, or passed to a call, and goes back through linear operations. A
//! value that depends on the inputs but leads to none of these, such as one that is only compared, has no cotangent,
//! and its operation's transpose would multiply nothing with a partial derivative. The optimiser may not drop that:
//! nothing times infinity is not a number. So it is dropped here, and its NaN with it.

use crate::linearise::augment::Augmented;
use crate::linearise::linear::Linear;
use pullback_ir::Value;
use pullback_ir::cfg::Cfg;
use std::collections::{HashMap, HashSet};

/// Drop the linear operations and the activity of values that have no cotangent.
pub fn drop_useless(aug: &mut Augmented, cfg: &Cfg) {
    let mut useful = useful(aug, cfg);
    // The reverse of a call is called anyway, for what the callee adds to shadows. Its result has a cotangent of zero.
    let calls = aug.linear.all().filter(|(_, linear)| linear.taken().is_none());
    useful.extend(calls.filter_map(|(_, linear)| linear.result()));
    let keep = |linear: &Linear| linear.taken().is_none_or(|value| useful.contains(&value));
    aug.linear.retain(keep, |value| useful.contains(&value));
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
    for block in cfg.live() {
        for target in aug.func.block(block).term.targets() {
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
