//! Integer operations on the bits of a float that leave its mantissa alone.
//!
//! What is made of a float by them is a multiple of it, by a power of two, for all floats around: its derivative is
//! that factor, [by the exponents](power_of_two) of the two. And what has only a float's sign and exponent is the same
//! number for all floats around.
//!
//! ```text
//! v2 = bitcast i64 v1
//! v3 = and v2, 4503599627370495:i64         ; the mantissa
//! v4 = or v3, 4607182418800017408:i64       ; the exponent of 1
//! v5 = bitcast f64 v4                       ; v1·2ᵏ, with v1 in 2⁻ᵏ … 2¹⁻ᵏ
//! v6 = lshr v2, 52:i64                      ; 1023 − k
//! ```

use pullback_ir::{BinOp, Builder, CastOp, Function, InstData, IntPred, Op, Type, Value};

/// How far to look.
const DEPTH: u32 = 8;

/// If an instruction makes a float of bits that differ in sign and exponent only from another one's: that one.
pub(crate) fn multiple_of(func: &Function, data: &InstData) -> Option<Value> {
    match data.op {
        Op::Cast(CastOp::Bitcast, bits) if is_computed_multiple(func, bits) => {
            let float = same_mantissa(func, bits, DEPTH)?;
            (func.ty(data.result?) == func.ty(float)).then_some(float)
        }
        _ => None,
    }
}

/// What a float is a multiple of by its mantissa, with the float's sign: the float next to it towards zero that has none.
/// That of a float with the exponent of zero, which is subnormal, is the least one that is not. It is computed from the
/// bits of sign and exponent, so it is the same for all floats around.
pub(crate) fn power_of_two(b: &mut Builder, float: Value) -> Value {
    let ty = b.func.ty(float).clone();
    let (int, width) = (if ty == Type::F32 { Type::I32 } else { Type::I64 }, 8 * ty.size());
    let mantissa = mantissa(&int).expect("a float has a mantissa");
    let (least, sign) = (mantissa + 1, 1 << (width - 1));
    let mut number = |n: u64| b.func.int(int.clone(), i128::from(n));
    let (least, sign, exponents) = (number(least), number(sign), number(sign - 1 - mantissa));
    let bits = b.value(Op::Cast(CastOp::Bitcast, float), int);
    let exponent = b.bin(BinOp::And, bits, exponents);
    let is_less = b.icmp(IntPred::Ult, exponent, least);
    let exponent = b.select(is_less, least, exponent);
    let sign = b.bin(BinOp::And, bits, sign);
    let power = b.bin(BinOp::Or, exponent, sign);
    b.value(Op::Cast(CastOp::Bitcast, power), ty)
}

/// Whether an integer is computed from the bits of a float and has its mantissa.
pub(crate) fn is_computed_multiple(func: &Function, bits: Value) -> bool {
    matches!(func.def_op(bits), Some(Op::Bin(..))) && same_mantissa(func, bits, DEPTH).is_some()
}

/// Whether an operation keeps of a float's bits the sign and the exponent at most.
pub(crate) fn is_exponent(func: &Function, op: &Op) -> bool {
    match op {
        Op::Bin(BinOp::LShr | BinOp::AShr, a, by) => {
            let digits = mantissa(func.ty(*a)).map(|mantissa| i128::from(mantissa.count_ones()));
            func.as_int(*by).is_some_and(|by| digits.is_some_and(|digits| by >= digits))
        }
        Op::Bin(BinOp::And, a, b) => [a, b].into_iter().any(|mask| constant_without_mantissa(func, *mask)),
        _ => false,
    }
}

/// The mantissa's bits among those of a float.
fn mantissa(ty: &Type) -> Option<u64> {
    match ty {
        Type::Int(64) => Some((1 << (f64::MANTISSA_DIGITS - 1)) - 1),
        Type::Int(32) => Some((1 << (f32::MANTISSA_DIGITS - 1)) - 1),
        _ => None,
    }
}

/// The float whose mantissa an integer has.
fn same_mantissa(func: &Function, bits: Value, depth: u32) -> Option<Value> {
    let mantissa = mantissa(func.ty(bits))?;
    let is_kept = |mask: Value| func.as_int(mask).is_some_and(|mask| mask as u64 & mantissa == mantissa);
    let further = |value: Value| same_mantissa(func, value, depth.checked_sub(1)?);
    match func.def_op(bits)? {
        Op::Cast(CastOp::Bitcast, float) if func.ty(*float).is_float() => Some(*float),
        Op::Freeze(a) => further(*a),
        Op::Bin(BinOp::And, a, mask) if is_kept(*mask) => further(*a),
        Op::Bin(BinOp::Or | BinOp::Xor | BinOp::Add, a, b) if is_without_mantissa(func, *b, depth) => further(*a),
        Op::Bin(BinOp::Or | BinOp::Xor | BinOp::Add, a, b) if is_without_mantissa(func, *a, depth) => further(*b),
        Op::Bin(BinOp::Sub, a, b) if is_without_mantissa(func, *b, depth) => further(*a),
        _ => None,
    }
}

/// Whether the bits of a mantissa are zero in an integer.
fn is_without_mantissa(func: &Function, value: Value, depth: u32) -> bool {
    let Some(mantissa) = mantissa(func.ty(value)) else { return false };
    if constant_without_mantissa(func, value) {
        return true;
    }
    let further = |value: &Value| depth > 0 && is_without_mantissa(func, *value, depth - 1);
    match func.def_op(value) {
        Some(Op::Bin(BinOp::Shl, _, by)) => func.as_int(*by).is_some_and(|by| by >= i128::from(mantissa.count_ones())),
        Some(op @ Op::Bin(BinOp::And, ..)) => is_exponent(func, op),
        Some(Op::Bin(BinOp::Or | BinOp::Xor | BinOp::Add | BinOp::Sub, a, b)) => further(a) && further(b),
        Some(Op::Select(_, a, b)) => further(a) && further(b),
        _ => false,
    }
}

fn constant_without_mantissa(func: &Function, value: Value) -> bool {
    let mantissa = mantissa(func.ty(value));
    func.as_int(value).is_some_and(|n| mantissa.is_some_and(|mantissa| n as u64 & mantissa == 0))
}
