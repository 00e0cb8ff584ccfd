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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::FieldKind;
    use crate::testing::rewritten_with_facts;

    const FLOAT: &[FieldKind] = &[FieldKind::F64];
    const POINTER: &[FieldKind] = &[FieldKind::Pointer(None)];
    const INTEGER: &[FieldKind] = &[FieldKind::Int(8)];

    /// The body of `fn @f(v0: ptr, v1: ptr)` before and after; both parameters point to such memory.
    #[track_caller]
    fn check(memory: &[FieldKind], before: &str, after: &str) {
        let function = |body: &str| format!("fn @f(v0: ptr, v1: ptr) {{\n{}\n}}\n", body.trim_matches('\n'));
        let alone = |func: &mut Function, id, facts: &Facts| retype(func, id, facts, &CleanupParams::new());
        assert_eq!(rewritten_with_facts(&function(before), &[memory, memory], alone), function(after));
    }

    #[test]
    fn a_move_of_bits_is_a_move_of_floats() {
        check(
            FLOAT,
            "
b0:
  v2 = load i64 v0
  store v1, v2
  return",
            "
b0:
  v2 = load f64 v0
  store v1, v2
  return",
        );
    }

    #[test]
    fn a_move_of_an_address_is_a_move_of_a_pointer() {
        check(
            POINTER,
            "
b0:
  v2 = load i64 v0
  store v1, v2
  return",
            "
b0:
  v2 = load ptr v0
  store v1, v2
  return",
        );
    }

    #[test]
    fn single_precision_travels_in_32_bits() {
        check(
            &[FieldKind::F32],
            "
b0:
  v2 = load i32 v0
  store v1, v2
  return",
            "
b0:
  v2 = load f32 v0
  store v1, v2
  return",
        );
    }

    #[test]
    fn numbers_stay_numbers() {
        let body = "
b0:
  v2 = load i64 v0
  v3 = add v2, 1:i64
  store v1, v3
  return";
        check(INTEGER, body, body);
    }

    #[test]
    fn where_the_integer_is_wanted_the_bits_are_cast_back() {
        check(
            FLOAT,
            "
b0:
  v2 = load i64 v0
  v3 = icmp slt v2, 0:i64
  branch v3, b1, b2
b1:
  store v1, v2
  jump b2
b2:
  return",
            "
b0:
  v2 = load f64 v0
  v5 = bitcast i64 v2
  v3 = icmp slt v5, 0:i64
  branch v3, b1, b2
b1:
  store v1, v2
  jump b2
b2:
  return",
        );
    }

    #[test]
    fn parameters_and_selections_on_the_way_change_too() {
        check(
            FLOAT,
            "
b0:
  v2 = load i64 v0
  v3 = load i64 v1
  v4 = icmp ult v2, v3
  v5 = select v4, v2, v3
  branch v4, b1(v5), b1(0:i64)
b1(v6: i64):
  store v1, v6
  return",
            "
b0:
  v2 = load f64 v0
  v3 = load f64 v1
  v8 = bitcast i64 v2
  v9 = bitcast i64 v3
  v4 = icmp ult v8, v9
  v5 = select v4, v2, v3
  branch v4, b1(v5), b1(0.0f64)
b1(v6: f64):
  store v1, v6
  return",
        );
    }

    #[test]
    fn the_cast_of_loaded_bits_is_the_value_itself() {
        check(
            FLOAT,
            "
b0:
  v2 = load i64 v0
  v3: f64 = bitcast v2
  v4 = fmul v3, v3
  v5: i64 = bitcast v4
  store v1, v5
  return",
            "
b0:
  v2 = load f64 v0
  v3 = freeze v2
  v4 = fmul v3, v3
  v5 = bitcast i64 v4
  store v1, v4
  return",
        );
    }
}
