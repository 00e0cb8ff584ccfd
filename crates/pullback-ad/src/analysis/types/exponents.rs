//! Integer operations on the bits of a float that leave its mantissa alone.
//!
//! What is made of a float by them is a multiple of it, by a power of two, for all floats around: its derivative is
//! that [factor]. And what has only a float's sign and exponent is the same
//! number for all floats around.
//!
//! ```text
//! v2 = bitcast i64 v1
//! v3 = and v2, 4503599627370495:i64         ; the mantissa
//! v4 = or v3, 4607182418800017408:i64       ; the exponent of 1
//! v5 = bitcast f64 v4                       ; v1·2ᵏ, with v1 in 2⁻ᵏ … 2¹⁻ᵏ
//! v6 = lshr v2, 52:i64                      ; 1023 − k
//! ```

use pullback_ir::{BinOp, Builder, CastOp, Function, InstData, IntPred, Op, Type, Value, ValueDef};
use std::collections::HashSet;

/// How far to look.
const DEPTH: u32 = 8;

/// If an instruction makes a float of bits that differ in sign and exponent only from another one's: that one.
/// `is_part` says of an integer whether it has bits of a float of which not even the place is known: what is put into the
/// exponent must not.
pub(crate) fn multiple_of(func: &Function, data: &InstData, is_part: impl Fn(Value) -> bool) -> Option<Value> {
    let Op::Cast(CastOp::Bitcast, bits) = data.op else { return None };
    if !is_computed_multiple(func, bits) {
        return None;
    }
    let mut put_in = Vec::new();
    let float = same_mantissa(func, bits, DEPTH, &mut put_in)?;
    (func.ty(data.result?) == func.ty(float) && !put_in.into_iter().any(is_part)).then_some(float)
}

/// The factor between two floats of one mantissa: by the difference of their exponents, with the sign of their quotient.
/// Subnormal floats have the exponent of the least one that is not. The factor is computed from the bits of signs and
/// exponents, so it is the same for all floats around, and is ±1 where nothing but a sign was changed, also for what is
/// infinite or no number. Only where 2¹⁰²³ cannot hold it is it a quotient.
pub(crate) fn factor(b: &mut Builder, multiple: Value, float: Value) -> Value {
    let ty = b.func.ty(float).clone();
    let (int, width) = (if ty == Type::F32 { Type::I32 } else { Type::I64 }, 8 * ty.size());
    let mantissa = mantissa(&int).expect("a float has a mantissa");
    let (least, sign) = (mantissa + 1, 1 << (width - 1));
    let exponents = sign - 1 - mantissa;
    let bias = (exponents / 2) & exponents;
    let mut number = |n: u64| b.func.int(int.clone(), i128::from(n));
    let [least, sign, exponents, bias, most] = [least, sign, exponents, bias, exponents - least].map(&mut number);
    let [multiple, float] = [multiple, float].map(|float| b.value(Op::Cast(CastOp::Bitcast, float), int.clone()));
    let [of_multiple, of_float] = [multiple, float].map(|bits| {
        let exponent = b.bin(BinOp::And, bits, exponents);
        let is_less = b.icmp(IntPred::Ult, exponent, least);
        b.select(is_less, least, exponent)
    });
    let signs = b.bin(BinOp::Xor, multiple, float);
    let sign = b.bin(BinOp::And, signs, sign);
    let difference = b.bin(BinOp::Sub, of_multiple, of_float);
    let exponent = b.bin(BinOp::Add, difference, bias);
    let beyond_least = b.bin(BinOp::Sub, exponent, least);
    let is_held = b.icmp(IntPred::Ult, beyond_least, most);
    let mut with_sign = |bits: Value| {
        let bits = b.bin(BinOp::Or, bits, sign);
        b.value(Op::Cast(CastOp::Bitcast, bits), ty.clone())
    };
    let (held, dividend) = (with_sign(exponent), with_sign(of_multiple));
    let divisor = b.value(Op::Cast(CastOp::Bitcast, of_float), ty);
    let quotient = b.bin(BinOp::FDiv, dividend, divisor);
    b.select(is_held, held, quotient)
}

/// Whether an integer is computed from the bits of a float and has its mantissa.
pub(crate) fn is_computed_multiple(func: &Function, bits: Value) -> bool {
    matches!(func.def_op(bits), Some(Op::Bin(..))) && same_mantissa(func, bits, DEPTH, &mut Vec::new()).is_some()
}

/// Whether an operation keeps of a float's bits the sign and the exponent at most.
pub(crate) fn is_exponent(func: &Function, op: &Op) -> bool {
    match op {
        Op::Bin(BinOp::LShr | BinOp::AShr, a, by) => {
            let digits = mantissa(func.ty(*a)).map(|mantissa| i128::from(mantissa.count_ones()));
            let is_cut = func.as_int(*by).is_some_and(|by| digits.is_some_and(|digits| by >= digits));
            is_cut && has_bits_in_place(func, *a)
        }
        Op::Bin(BinOp::And, a, b) => {
            let is_cut =
                |bits: Value, mask: Value| constant_without_mantissa(func, mask) && has_bits_in_place(func, bits);
            is_cut(*a, *b) || is_cut(*b, *a)
        }
        _ => false,
    }
}

/// Whether what an integer has of the bits of floats is where it is in the float: the first bits are those of the sign
/// and the exponent.
fn has_bits_in_place(func: &Function, bits: Value) -> bool {
    let (mut seen, mut open) = (HashSet::from([bits]), vec![bits]);
    while let Some(value) = open.pop() {
        let sources: Vec<Value> = match &func.value(value).def {
            ValueDef::Const(_) => continue,
            ValueDef::Param(block, _) if *block == func.entry() => return false,
            ValueDef::Param(block, index) => func.passed_to(*block, *index).collect(),
            ValueDef::Inst(inst) => match &func.inst(*inst).op {
                Op::Cast(CastOp::Bitcast, float) if func.ty(*float).is_float() => continue,
                Op::Load { .. } => continue,
                Op::Freeze(a) => vec![*a],
                Op::Select(_, a, b) | Op::Bin(BinOp::And | BinOp::Or | BinOp::Xor, a, b) => vec![*a, *b],
                Op::Bin(BinOp::Add, a, b) if is_without_mantissa(func, *a, DEPTH) => vec![*b],
                Op::Bin(BinOp::Add | BinOp::Sub, a, b) if is_without_mantissa(func, *b, DEPTH) => vec![*a],
                _ => return false,
            },
        };
        open.extend(sources.into_iter().filter(|source| seen.insert(*source)));
    }
    true
}

/// The mantissa's bits among those of a float.
fn mantissa(ty: &Type) -> Option<u64> {
    match ty {
        Type::Int(64) => Some((1 << (f64::MANTISSA_DIGITS - 1)) - 1),
        Type::Int(32) => Some((1 << (f32::MANTISSA_DIGITS - 1)) - 1),
        _ => None,
    }
}

/// The float whose mantissa an integer has; and what was put into its exponent.
fn same_mantissa(func: &Function, bits: Value, depth: u32, put_in: &mut Vec<Value>) -> Option<Value> {
    let mantissa = mantissa(func.ty(bits))?;
    let is_kept = |mask: Value| func.as_int(mask).is_some_and(|mask| mask as u64 & mantissa == mantissa);
    let mut beside = |value: Value, exponent: Value| {
        put_in.push(exponent);
        same_mantissa(func, value, depth.checked_sub(1)?, put_in)
    };
    match func.def_op(bits)? {
        Op::Cast(CastOp::Bitcast, float) if func.ty(*float).is_float() => Some(*float),
        Op::Freeze(a) => same_mantissa(func, *a, depth.checked_sub(1)?, put_in),
        Op::Bin(BinOp::And, a, mask) if is_kept(*mask) => same_mantissa(func, *a, depth.checked_sub(1)?, put_in),
        Op::Bin(BinOp::Or | BinOp::Xor | BinOp::Add, a, b) if is_without_mantissa(func, *b, depth) => beside(*a, *b),
        Op::Bin(BinOp::Or | BinOp::Xor | BinOp::Add, a, b) if is_without_mantissa(func, *a, depth) => beside(*b, *a),
        Op::Bin(BinOp::Sub, a, b) if is_without_mantissa(func, *b, depth) => beside(*a, *b),
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
        Some(Op::Bin(BinOp::And, a, b)) => [a, b].into_iter().any(|mask| constant_without_mantissa(func, *mask)),
        Some(Op::Bin(BinOp::Or | BinOp::Xor | BinOp::Add | BinOp::Sub, a, b)) => further(a) && further(b),
        Some(Op::Select(_, a, b)) => further(a) && further(b),
        _ => false,
    }
}

fn constant_without_mantissa(func: &Function, value: Value) -> bool {
    let mantissa = mantissa(func.ty(value));
    func.as_int(value).is_some_and(|n| mantissa.is_some_and(|mantissa| n as u64 & mantissa == 0))
}
