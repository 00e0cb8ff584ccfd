//! Integers that only carry the bits of a float or a pointer become floats and pointers.
//!
//! `slice::swap` on `f64` reaches LLVM as integer loads and stores; an enum's payload moves as an `i64`. Once the
//! analysis knows that the memory behind holds floats, the value itself can be one:
//!
//! ```text
//! v2 = load i64 v0           v2 = load f64 v0
//! store v1, v2        ▶      store v1, v2
//! v3 = icmp slt v2, 0        v4 = bitcast v2 to i64; v3 = icmp slt v4, 0
//! ```
//! The program's meaning does not change: where the integer is really used as one, the bits are cast back. The
//! parameters of a clean-up function change too, with the clean-ups that name it.

use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::Kinds;
use crate::analysis::types::computed::Numbers;
use crate::prepare::change_types::{self, CleanupParams, can_change, change_types, cleanups_change, stores_bits};
use pullback_ir::{FuncId, Function, Module, Type, Value};
use std::collections::HashMap;

/// The clean-up functions among those that `facts` know, with the types that their parameters get.
pub fn cleanup_params(module: &Module, facts: &Facts) -> CleanupParams {
    change_types::cleanup_params(module, &facts.functions, |id, value| carried(module.func(id), id, facts, value))
}

/// Rewrite `func`, which `facts` know as `id`. Whether anything changed.
pub fn retype(func: &mut Function, id: FuncId, facts: &Facts, cleanups: &CleanupParams) -> bool {
    let numbers = Numbers::new(func);
    let mut targets = HashMap::new();
    let mut fixed = HashMap::new();
    for index in 0..func.value_bound() {
        let value = Value::from_index(index);
        if let Some(ty) = carried(func, id, facts, value) {
            if can_change(func, value, cleanups.contains_key(&id)) {
                targets.insert(value, ty);
            } else if !numbers.contains(func, value) {
                fixed.insert(value, ty);
            }
        }
    }
    if targets.is_empty() && fixed.is_empty() && !cleanups_change(func, cleanups) && !stores_bits(func) {
        return false;
    }
    change_types(func, id, targets, fixed, cleanups);
    true
}

/// What the value's content says it is.
fn carried(func: &Function, id: FuncId, facts: &Facts, value: Value) -> Option<Type> {
    let is = |kinds| facts.kinds(id, value) == kinds;
    // What is a float or a pointer in one variant and a number in another stays a word.
    match func.ty(value) {
        Type::Int(64) if is(Kinds::F64) => Some(Type::F64),
        Type::Int(64) if is(Kinds::PTR) => Some(Type::Ptr),
        Type::Int(32) if is(Kinds::F32) => Some(Type::F32),
        _ => None,
    }
}
