//! Linear operations whose transposes have nothing to pass on.
//!
//! A cotangent comes from what was stored, returned, or passed to a call, and goes back through linear operations. A value that
//! depends on the inputs but leads to none of these, such as one that is only compared, has no cotangent, and its operation's
//! transpose would multiply nothing with a partial derivative. The optimiser may not drop that: nothing times infinity is not a
//! number. So it is dropped here, and its NaN with it.

use super::augment::Augmented;
use super::linear::Linear;
use pullback_ir::Value;
use pullback_ir::cfg::Cfg;
use std::collections::{HashMap, HashSet};

/// Drop the linear operations and the activity of values that have no cotangent.
pub fn drop_useless(aug: &mut Augmented, cfg: &Cfg) {
    let useful = useful(aug, cfg);
    let keep = |linear: &Linear| result(linear).is_none_or(|value| useful.contains(&value));
    aug.linear.values_mut().for_each(|all| all.retain(keep));
    aug.linear.retain(|_, all| !all.is_empty());
    aug.active.retain(|value| useful.contains(value));
}

/// The value whose cotangent an operation's transpose takes; `None` if it takes one from memory, or calls.
fn result(linear: &Linear) -> Option<Value> {
    match linear {
        Linear::Sum(result, _)
        | Linear::Quotient { result, .. }
        | Linear::Cast(result, ..)
        | Linear::Select(result, ..)
        | Linear::Load(result, _)
        | Linear::Bits(result, _)
        | Linear::WordLoad { result, .. }
        | Linear::Extract(result, ..)
        | Linear::Insert(result, ..) => Some(*result),
        Linear::Store { .. }
        | Linear::Copy { .. }
        | Linear::Restore { .. }
        | Linear::WordStore { .. }
        | Linear::WordCopy { .. }
        | Linear::WordCopies { .. }
        | Linear::Rule(_)
        | Linear::Call { .. } => None,
    }
}

/// The values that an operation's transpose gives cotangents to.
fn operands(linear: &Linear) -> Vec<Value> {
    match linear {
        Linear::Sum(_, terms) => terms.iter().map(|(value, _)| *value).collect(),
        Linear::Quotient { x, y, .. } => x.iter().chain(y).copied().collect(),
        Linear::Cast(_, _, from) | Linear::Bits(_, from) | Linear::Extract(_, from, _) => vec![*from],
        Linear::Select(_, _, a, b) | Linear::Insert(_, a, b, _) => a.iter().chain(b).copied().collect(),
        Linear::Store { value, .. } | Linear::WordStore { value, .. } => value.iter().copied().collect(),
        Linear::Call { args, .. } => args.clone(),
        Linear::Load(..)
        | Linear::WordLoad { .. }
        | Linear::Copy { .. }
        | Linear::Restore { .. }
        | Linear::WordCopy { .. }
        | Linear::Rule(_)
        | Linear::WordCopies { .. } => vec![],
    }
}

/// The values that have a cotangent.
fn useful(aug: &Augmented, cfg: &Cfg) -> HashSet<Value> {
    let mut work: Vec<Value> = aug.returned.values().copied().filter(|_| aug.returns_active).collect();
    let mut sources: HashMap<Value, Vec<Value>> = HashMap::new();
    for linear in aug.linear.values().flatten() {
        match result(linear) {
            Some(value) => sources.entry(value).or_default().extend(operands(linear)),
            None => work.extend(operands(linear)),
        }
    }
    for block in cfg.reverse_postorder().iter().filter(|b| cfg.can_return(**b)) {
        for target in aug.func.block(*block).term.targets() {
            let params = &aug.func.block(target.block).params;
            for (param, arg) in params.iter().zip(&target.args).filter(|(p, _)| aug.active.contains(p)) {
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
