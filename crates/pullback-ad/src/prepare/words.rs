//! Values that are not what their type says become plain words.
//!
//! A payload that is a float in one variant and a pointer in another is moved without a look at the variant, and the
//! optimiser moves it as whatever it likes: an `i64`, but also as an `f64` that is a pointer at times, or as a pointer
//! that is a float. Where a value is [one of these](crate::analysis::types::mistyped), it becomes an `i64`:
//!
//! ```text
//! v2 = load f64 v0           v2 = load i64 v0
//! store v1, v2        ▶      store v1, v2
//! v3 = fadd v2, 1.0          v4 = bitcast f64 v2; v3 = fadd v4, 1.0
//! ```
//! The rest of the engine then knows of one kind of value only that may be either.

use crate::analysis::types::mistyped::Mistyped;
use crate::prepare::change_types::{self, CleanupParams, can_change, change_types, cleanups_change};
use pullback_ir::cfg::Cfg;
use pullback_ir::{FuncId, Function, Module, Op, Type, Value};
use std::collections::{HashMap, HashSet};

/// The clean-up functions in `group`, with the types that their parameters get.
pub fn cleanup_params(module: &Module, group: &[FuncId], mistyped: &Mistyped) -> CleanupParams {
    let is_mistyped = |id, value| mistyped.get(&id).is_some_and(|found| found.contains(&value));
    change_types::cleanup_params(module, group, |id, value| is_mistyped(id, value).then_some(Type::I64))
}

/// Rewrite `func`, which is called `id` where [mistyped](crate::analysis::types::mistyped::find) values were found.
/// Whether anything changed.
pub fn words(func: &mut Function, id: FuncId, mistyped: &Mistyped, cleanups: &CleanupParams) -> bool {
    let found = mistyped.get(&id);
    if found.is_none() && !cleanups_change(func, cleanups) {
        return false;
    }
    let cfg = Cfg::new(func);
    let stored = func.insts_in(cfg.reverse_postorder()).filter_map(|data| match data.op {
        Op::Store { value, .. } => Some(value),
        _ => None,
    });
    let stored: HashSet<Value> = stored.collect();
    let of_words = found.into_iter().flatten().map(|value| (*value, Type::I64));
    let (targets, mut fixed): (HashMap<_, _>, HashMap<_, _>) =
        of_words.partition(|(v, _)| can_change(func, *v, cleanups.contains_key(&id)));
    // Those are casts of integers, which are stored in their place, or passed to what becomes an integer.
    fixed.retain(|value, _| stored.contains(value));
    if targets.is_empty() && fixed.is_empty() && !cleanups_change(func, cleanups) {
        return false;
    }
    change_types(func, id, targets, fixed, cleanups);
    true
}
