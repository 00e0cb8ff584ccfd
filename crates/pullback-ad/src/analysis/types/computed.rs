//! Which integers are numbers: computed as integers, so that they cannot be the bits of a float or an address.
//!
//! The payload of an enum is a number in one variant and a float in another. A number that is stored there says that
//! numbers lie there; it does not become a float itself, and neither does the loop counter that it is.

use pullback_ir::{CastOp, Constant, Copies, Function, Op, Type, Value};
use std::collections::HashSet;

/// The numbers of one function.
#[derive(Clone, Debug, Default)]
pub struct Numbers(HashSet<Value>);

/// What the definition of an integer says about it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// It is a number.
    Number,
    /// It may be anything: a constant zero, or undefined.
    Either,
    /// It was moved here from elsewhere.
    Moved,
}

impl Numbers {
    /// Find them. A block parameter is one if all that is passed to it is a number.
    pub fn new(func: &Function) -> Numbers {
        let copies = Copies::new(func, func.blocks());
        let passed = || copies.pairs().iter().filter(|(to, _)| func.ty(*to).is_int());
        let mut numbers: HashSet<Value> = passed().map(|(to, _)| *to).collect();
        // All are numbers until something else is passed to them.
        let is_moved = |from: Value| !numbers.contains(&from) && sort(func, from) == Sort::Moved;
        let mut moved: HashSet<Value> = passed().filter(|(_, from)| is_moved(*from)).map(|(to, _)| *to).collect();
        copies.close_forwards(&mut moved, |to| numbers.contains(&to));
        numbers.retain(|value| !moved.contains(value));
        let results = func.insts().filter_map(|inst| func.inst(inst).result).filter(|result| func.ty(*result).is_int());
        numbers.extend(results.filter(|result| sort(func, *result) == Sort::Number));
        Numbers(numbers)
    }

    /// Whether a value was computed as an integer.
    pub fn contains(&self, func: &Function, value: Value) -> bool {
        self.0.contains(&value) || func.as_const(value).is_some() && sort(func, value) == Sort::Number
    }
}

/// The largest integer of a type that a program writes as a number, and that is the bits of no float that it computes
/// with: those of an `f32` below 1e-38, of an `f64` below 2e-314. `None` if the type is too narrow or wide for a
/// float's bits.
pub fn largest_number(ty: &Type) -> Option<u128> {
    match ty {
        Type::Int(64) => Some((1 << 32) - 1),
        Type::Int(32) => Some((1 << 23) - 1),
        _ => None,
    }
}

/// A constant zero may be a number, a float or null, and one that is too large for a number somebody wrote may be the
/// bits of a float: it says no more of what it is joined with than something that comes from elsewhere.
fn sort(func: &Function, value: Value) -> Sort {
    match func.as_const(value) {
        Some(Constant::Undef | Constant::Poison) => return Sort::Either,
        Some(_) => {
            return match func.as_int(value) {
                Some(0) | None => Sort::Either,
                Some(n) if largest_number(func.ty(value)).is_none_or(|most| n.unsigned_abs() <= most) => Sort::Number,
                Some(_) => Sort::Moved,
            };
        }
        None => {}
    }
    let Some(op) = func.def_op(value) else { return Sort::Moved };
    match op {
        Op::Bin(..) | Op::Intrinsic(..) => Sort::Number,
        Op::Cast(op, _) if !matches!(op, CastOp::Bitcast | CastOp::PtrToInt) => Sort::Number,
        Op::ExtractValue(from, _) => {
            if matches!(func.def_op(*from), Some(Op::Intrinsic(..))) {
                Sort::Number
            } else {
                Sort::Moved
            }
        }
        _ => Sort::Moved,
    }
}
