//! Floats that are rounded by an addition.
//!
//! A float to which 2⁵² is added has no place for a fraction, so what is left when 2⁵² is taken away again is a whole
//! number (or a half, of a negative float): the same for all floats around. Where the processor has no instruction that
//! rounds, libraries do it so. Nobody who adds just this number, and takes it away, wants anything else; whoever has
//! floats as large gets them back with fewer digits, and no derivative.
//!
//! ```text
//! v1 = fadd v0, 4503599627370496.0f64
//! v2 = fsub v1, 4503599627370496.0f64
//! ```

use pullback_ir::{BinOp, Constant, Function, MathFn, Op, Value};

/// Whether what an operation computes is a float that was rounded in this way.
pub(crate) fn is_rounded(func: &Function, op: &Op) -> bool {
    let (added, by) = match op {
        Op::Bin(BinOp::FSub, a, by) => (BinOp::FAdd, [(*a, *by)].to_vec()),
        Op::Bin(BinOp::FAdd, a, b) => (BinOp::FSub, [(*a, *b), (*b, *a)].to_vec()),
        _ => return false,
    };
    by.into_iter().any(|(sum, by)| {
        is_large(func, by)
            && match func.def_op(sum) {
                Some(Op::Bin(op, x, y)) if *op == added => *y == by || added == BinOp::FAdd && *x == by,
                // LLVM adds what is negative.
                Some(Op::Bin(BinOp::FAdd, x, y)) => [x, y].into_iter().any(|other| are_opposite(func, *other, by)),
                _ => false,
            }
    })
}

/// Whether a float is the number that leaves no place for fractions, or the one between it and its double, which is for
/// negative floats, too.
fn is_large(func: &Function, value: Value) -> bool {
    let (doubles, singles) = ([4503599627370496.0, 6755399441055744.0], [8388608.0, 12582912.0]);
    match (func.as_const(value), func.def_op(value)) {
        (Some(Constant::F64(bits)), _) => doubles.contains(&f64::from_bits(*bits).abs()),
        (Some(Constant::F32(bits)), _) => singles.contains(&f32::from_bits(*bits).abs()),
        (_, Some(Op::Math(MathFn::Copysign, args))) => is_large(func, args[0]),
        _ => false,
    }
}

fn are_opposite(func: &Function, a: Value, b: Value) -> bool {
    match (func.as_const(a), func.as_const(b)) {
        (Some(Constant::F64(a)), Some(Constant::F64(b))) => f64::from_bits(*a) == -f64::from_bits(*b),
        (Some(Constant::F32(a)), Some(Constant::F32(b))) => f32::from_bits(*a) == -f32::from_bits(*b),
        _ => false,
    }
}
