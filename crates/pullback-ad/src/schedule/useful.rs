//! Linear operations whose transposes have nothing to pass on.
//!
//! A cotangent comes from what was stored, returned, or passed to a call, and goes back through linear operations. A value that
//! depends on the inputs but leads to none of these, such as one that is only compared, has no cotangent, and its operation's
//! transpose would multiply nothing with a partial derivative. The optimiser may not drop that: nothing times infinity is not a
//! number. So it is dropped here, and its NaN with it.

use crate::linearise::augment::Augmented;
use crate::linearise::linear::Linear;
use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, Value};
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
        | Linear::Uncover { .. }
        | Linear::WordStore { .. }
        | Linear::WordCopy(_)
        | Linear::WordCopies { .. }
        | Linear::Rule(_)
        | Linear::Given(..)
        | Linear::Call { .. } => None,
    }
}

/// The values that an operation's transpose gives cotangents to.
pub fn operands(linear: &Linear) -> Vec<Value> {
    match linear {
        Linear::Sum(_, terms) => terms.iter().map(|(value, _)| *value).collect(),
        Linear::Quotient { x, y, .. } => x.iter().chain(y).copied().collect(),
        Linear::Cast(_, _, from) | Linear::Bits(_, from) | Linear::Extract(_, from, _) => vec![*from],
        Linear::Select(_, _, a, b) | Linear::Insert(_, a, b, _) => a.iter().chain(b).copied().collect(),
        Linear::Store { value, .. } | Linear::WordStore { value, .. } => value.iter().copied().collect(),
        Linear::Call { args, .. } => args.clone(),
        Linear::Given(arg, _) => vec![*arg],
        Linear::Load(..)
        | Linear::WordLoad { .. }
        | Linear::Copy { .. }
        | Linear::Restore { .. }
        | Linear::Uncover { .. }
        | Linear::WordCopy(_)
        | Linear::Rule(_)
        | Linear::WordCopies { .. } => vec![],
    }
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
        for linear in data.insts.iter().filter_map(|inst| aug.linear.get(inst)).flatten() {
            given.extend(operands(linear).into_iter().map(|value| (value, *block)));
            let result = match linear {
                Linear::Call { result, .. } => *result,
                other => result(other),
            };
            taken.extend(result.map(|result| (result, *block)));
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
