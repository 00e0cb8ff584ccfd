//! Arithmetic on scalars and their duals.

use super::{Scalar, Trap};
use pullback_ir::{BinOp, CastOp, FloatPred, IntPred, MathFn, Type};

/// The float these bits are.
pub fn to_f64(bits: u128, ty: &Type) -> f64 {
    match ty {
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits as u64),
    }
}

/// The bits of a float.
pub fn from_f64(value: f64, ty: &Type) -> u128 {
    match ty {
        Type::F32 => (value as f32).to_bits().into(),
        _ => value.to_bits().into(),
    }
}

fn width(ty: &Type) -> u32 {
    match ty {
        Type::Int(bits) => u32::from(*bits),
        other => other.size() as u32 * 8,
    }
}

fn cut(bits: u128, width: u32) -> u128 {
    if width >= 128 { bits } else { bits & ((1 << width) - 1) }
}

fn signed(bits: u128, width: u32) -> i128 {
    ((bits << (128 - width)) as i128) >> (128 - width)
}

/// Two-operand arithmetic.
pub fn bin(op: BinOp, a: Scalar, b: Scalar, ty: &Type) -> Result<Scalar, Trap> {
    if op.is_float() {
        return Ok(float(op, a, b, ty));
    }
    let w = width(ty);
    let (x, y) = (a.bits, b.bits);
    let (sx, sy) = (signed(x, w), signed(y, w));
    let division = matches!(op, BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem);
    if division && y == 0 {
        return Err(Trap::Undefined("integer division by zero"));
    }
    let shift = matches!(op, BinOp::Shl | BinOp::LShr | BinOp::AShr);
    if shift && y >= u128::from(w) {
        return Err(Trap::Undefined("a shift by more than the width"));
    }
    let bits = match op {
        BinOp::Add => x.wrapping_add(y),
        BinOp::Sub => x.wrapping_sub(y),
        BinOp::Mul => x.wrapping_mul(y),
        BinOp::UDiv => x / y,
        BinOp::URem => x % y,
        BinOp::SDiv => sx.wrapping_div(sy) as u128,
        BinOp::SRem => sx.wrapping_rem(sy) as u128,
        BinOp::Shl => x << y,
        BinOp::LShr => x >> y,
        BinOp::AShr => (sx >> y) as u128,
        BinOp::And => x & y,
        BinOp::Or => x | y,
        _ => x ^ y,
    };
    // What moves the bits of a float whole moves its tangent's; other arithmetic ends it.
    let dual = match op {
        BinOp::Shl => a.dual << y,
        BinOp::LShr => a.dual >> y,
        BinOp::Or => a.dual | b.dual,
        BinOp::And if b.dual == 0 => a.dual & y,
        BinOp::And if a.dual == 0 => b.dual & x,
        _ => 0,
    };
    Ok(Scalar { bits: cut(bits, w), dual: cut(dual, w) })
}

fn float(op: BinOp, a: Scalar, b: Scalar, ty: &Type) -> Scalar {
    let [x, y, dx, dy] = [a.bits, b.bits, a.dual, b.dual].map(|bits| to_f64(bits, ty));
    let single = |f: fn(f32, f32) -> f32, g: fn(f64, f64) -> f64| match ty {
        Type::F32 => f64::from(f(x as f32, y as f32)),
        _ => g(x, y),
    };
    let (value, tangent) = match op {
        BinOp::FAdd => (single(|a, b| a + b, |a, b| a + b), dx + dy),
        BinOp::FSub => (single(|a, b| a - b, |a, b| a - b), dx - dy),
        BinOp::FMul => (single(|a, b| a * b, |a, b| a * b), dx * y + x * dy),
        BinOp::FDiv => (single(|a, b| a / b, |a, b| a / b), (dx * y - x * dy) / (y * y)),
        _ => (single(|a, b| a % b, |a, b| a % b), dx - (x / y).trunc() * dy),
    };
    Scalar { bits: from_f64(value, ty), dual: from_f64(tangent, ty) }
}

/// Float negation.
pub fn neg(a: Scalar, ty: &Type) -> Scalar {
    Scalar { bits: from_f64(-to_f64(a.bits, ty), ty), dual: from_f64(-to_f64(a.dual, ty), ty) }
}

/// Comparison of integers and addresses.
pub fn icmp(pred: IntPred, a: Scalar, b: Scalar, ty: &Type) -> Scalar {
    let w = width(ty);
    let (x, y) = (a.bits, b.bits);
    let (sx, sy) = (signed(x, w), signed(y, w));
    let holds = match pred {
        IntPred::Eq => x == y,
        IntPred::Ne => x != y,
        IntPred::Ult => x < y,
        IntPred::Ule => x <= y,
        IntPred::Ugt => x > y,
        IntPred::Uge => x >= y,
        IntPred::Slt => sx < sy,
        IntPred::Sle => sx <= sy,
        IntPred::Sgt => sx > sy,
        IntPred::Sge => sx >= sy,
    };
    Scalar::int(holds.into())
}

/// Comparison of floats.
pub fn fcmp(pred: FloatPred, a: Scalar, b: Scalar, ty: &Type) -> Scalar {
    use FloatPred::*;
    let order = to_f64(a.bits, ty).partial_cmp(&to_f64(b.bits, ty));
    let holds = match pred {
        False => false,
        True => true,
        Ord => order.is_some(),
        Uno => order.is_none(),
        Oeq => order.is_some_and(|o| o.is_eq()),
        One => order.is_some_and(|o| o.is_ne()),
        Ogt => order.is_some_and(|o| o.is_gt()),
        Oge => order.is_some_and(|o| o.is_ge()),
        Olt => order.is_some_and(|o| o.is_lt()),
        Ole => order.is_some_and(|o| o.is_le()),
        Ueq => order.is_none_or(|o| o.is_eq()),
        Une => order.is_none_or(|o| o.is_ne()),
        Ugt => order.is_none_or(|o| o.is_gt()),
        Uge => order.is_none_or(|o| o.is_ge()),
        Ult => order.is_none_or(|o| o.is_lt()),
        Ule => order.is_none_or(|o| o.is_le()),
    };
    Scalar::int(holds.into())
}

/// Conversion between types.
pub fn cast(op: CastOp, a: Scalar, from: &Type, to: &Type) -> Scalar {
    let w = width(to);
    match op {
        CastOp::Trunc | CastOp::ZExt | CastOp::PtrToInt | CastOp::IntToPtr | CastOp::Bitcast => {
            Scalar { bits: cut(a.bits, w), dual: cut(a.dual, w) }
        }
        CastOp::SExt => Scalar::int(cut(signed(a.bits, width(from)) as u128, w)),
        CastOp::FpTrunc | CastOp::FpExt => {
            Scalar { bits: from_f64(to_f64(a.bits, from), to), dual: from_f64(to_f64(a.dual, from), to) }
        }
        CastOp::FpToUi => Scalar::int(cut(to_f64(a.bits, from) as u128, w)),
        CastOp::FpToSi => Scalar::int(cut(to_f64(a.bits, from) as i128 as u128, w)),
        CastOp::UiToFp => Scalar::int(from_f64(a.bits as f64, to)),
        CastOp::SiToFp => Scalar::int(from_f64(signed(a.bits, width(from)) as f64, to)),
    }
}

/// A float function.
pub fn math(function: MathFn, args: &[Scalar], ty: &Type) -> Scalar {
    let is_int = |i: usize| i == 1 && function.takes_int();
    let value = |(i, a): (usize, &Scalar)| {
        if is_int(i) { f64::from(a.bits as u32 as i32) } else { to_f64(a.bits, ty) }
    };
    let x: Vec<f64> = args.iter().enumerate().map(value).collect();
    let t: Vec<f64> = args.iter().enumerate().map(|(i, a)| if is_int(i) { 0.0 } else { to_f64(a.dual, ty) }).collect();
    let r = match ty {
        Type::F32 => f64::from(function.eval_f32(&x.iter().map(|v| *v as f32).collect::<Vec<_>>())),
        _ => function.eval_f64(&x),
    };
    Scalar { bits: from_f64(r, ty), dual: from_f64(function.tangent_f64(&x, r, &t), ty) }
}

/// The integer intrinsics that generated programs use, on `i64`.
pub fn intrinsic(name: &str, args: &[Scalar]) -> Result<Scalar, Trap> {
    let x: Vec<u64> = args.iter().map(|a| a.bits as u64).collect();
    let result = match name {
        "llvm.umin.i64" => x[0].min(x[1]),
        "llvm.umax.i64" => x[0].max(x[1]),
        "llvm.smin.i64" => (x[0] as i64).min(x[1] as i64) as u64,
        "llvm.smax.i64" => (x[0] as i64).max(x[1] as i64) as u64,
        "llvm.ctpop.i64" => x[0].count_ones().into(),
        "llvm.fptosi.sat.i64.f64" => to_f64(args[0].bits, &Type::F64) as i64 as u64,
        "llvm.fptosi.sat.i64.f32" => to_f64(args[0].bits, &Type::F32) as i64 as u64,
        _ => return Err(Trap::Unsupported(name.to_owned())),
    };
    Ok(Scalar::int(result.into()))
}
