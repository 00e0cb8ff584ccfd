//! Operations without memory: arithmetic, comparisons, conversions, float functions and aggregates.
//!
//! Given operands, hands on the result. An operand that is undef makes the result undef, as does what LLVM calls
//! poison: a shift by the width or more, a float that does not fit the integer it is cast to. Integers wrap whatever
//! the flags say, and a division that has no answer is a trap. Single precision is computed in single precision.

use super::Trap;
use super::value::{Val, mask, signed, store_size};
use crate::inst::{BinOp, CastOp, FloatPred, IntPred};
use crate::math::MathFn;
use crate::types::Type;
use std::cmp::Ordering;

fn ill_formed<T>(what: &str, args: &[&Val]) -> Result<T, Trap> {
    Err(Trap::IllFormed(format!("{what} of {args:?}")))
}

/// Two-operand arithmetic.
pub(super) fn binary(op: BinOp, a: &Val, b: &Val) -> Result<Val, Trap> {
    match (a, b) {
        (Val::Undef, _) | (_, Val::Undef) if !matches!(op, BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem) => {
            Ok(Val::Undef)
        }
        (_, Val::Undef) => Err(Trap::Undef("a divisor")),
        (Val::Undef, _) => Ok(Val::Undef),
        (Val::F32(x), Val::F32(y)) if op.is_float() => Ok(Val::F32(match op {
            BinOp::FAdd => x + y,
            BinOp::FSub => x - y,
            BinOp::FMul => x * y,
            BinOp::FDiv => x / y,
            _ => x % y,
        })),
        (Val::F64(x), Val::F64(y)) if op.is_float() => Ok(Val::F64(match op {
            BinOp::FAdd => x + y,
            BinOp::FSub => x - y,
            BinOp::FMul => x * y,
            BinOp::FDiv => x / y,
            _ => x % y,
        })),
        (Val::Int(x, w), Val::Int(y, v)) if w == v && !op.is_float() => integer(op, *x, *y, *w),
        _ => ill_formed(&format!("{op:?}"), &[a, b]),
    }
}

fn integer(op: BinOp, x: u128, y: u128, width: u16) -> Result<Val, Trap> {
    let (sx, sy) = (signed(x, width), signed(y, width));
    if matches!(op, BinOp::UDiv | BinOp::URem | BinOp::SDiv | BinOp::SRem) {
        let overflow = matches!(op, BinOp::SDiv | BinOp::SRem) && sy == -1 && sx == signed(1 << (width - 1), width);
        if y == 0 || overflow {
            return Err(Trap::Division);
        }
    }
    if matches!(op, BinOp::Shl | BinOp::LShr | BinOp::AShr) && y >= u128::from(width) {
        return Ok(Val::Undef);
    }
    let bits = match op {
        BinOp::Add => x.wrapping_add(y),
        BinOp::Sub => x.wrapping_sub(y),
        BinOp::Mul => x.wrapping_mul(y),
        BinOp::UDiv => x / y,
        BinOp::URem => x % y,
        BinOp::SDiv => (sx / sy) as u128,
        BinOp::SRem => (sx % sy) as u128,
        BinOp::Shl => x << y,
        BinOp::LShr => x >> y,
        BinOp::AShr => (sx >> y) as u128,
        BinOp::And => x & y,
        BinOp::Or => x | y,
        _ => x ^ y,
    };
    Ok(Val::int(bits, width))
}

/// Float negation.
pub(super) fn negate(a: &Val) -> Result<Val, Trap> {
    match a {
        Val::F32(x) => Ok(Val::F32(-x)),
        Val::F64(x) => Ok(Val::F64(-x)),
        Val::Undef => Ok(Val::Undef),
        _ => ill_formed("fneg", &[a]),
    }
}

/// Comparison of integers or pointers.
pub(super) fn compare_ints(pred: IntPred, a: &Val, b: &Val) -> Result<Val, Trap> {
    let (x, y, width) = match (a, b) {
        (Val::Undef, _) | (_, Val::Undef) => return Ok(Val::Undef),
        (Val::Int(x, w), Val::Int(y, v)) if w == v => (*x, *y, *w),
        (Val::Ptr(x), Val::Ptr(y)) => (u128::from(*x), u128::from(*y), 64),
        _ => return ill_formed("icmp", &[a, b]),
    };
    let (sx, sy) = (signed(x, width), signed(y, width));
    Ok(Val::bool(match pred {
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
    }))
}

/// Comparison of floats.
pub(super) fn compare_floats(pred: FloatPred, a: &Val, b: &Val) -> Result<Val, Trap> {
    let order = match (a, b) {
        (Val::Undef, _) | (_, Val::Undef) => return Ok(Val::Undef),
        (Val::F32(x), Val::F32(y)) => x.partial_cmp(y),
        (Val::F64(x), Val::F64(y)) => x.partial_cmp(y),
        _ => return ill_formed("fcmp", &[a, b]),
    };
    use Ordering::{Equal, Greater, Less};
    let unordered = order.is_none();
    Ok(Val::bool(match pred {
        FloatPred::False => false,
        FloatPred::True => true,
        FloatPred::Ord => !unordered,
        FloatPred::Uno => unordered,
        FloatPred::Oeq => order == Some(Equal),
        FloatPred::Ogt => order == Some(Greater),
        FloatPred::Oge => matches!(order, Some(Greater | Equal)),
        FloatPred::Olt => order == Some(Less),
        FloatPred::Ole => matches!(order, Some(Less | Equal)),
        FloatPred::One => matches!(order, Some(Less | Greater)),
        FloatPred::Ueq => unordered || order == Some(Equal),
        FloatPred::Ugt => unordered || order == Some(Greater),
        FloatPred::Uge => unordered || matches!(order, Some(Greater | Equal)),
        FloatPred::Ult => unordered || order == Some(Less),
        FloatPred::Ule => unordered || matches!(order, Some(Less | Equal)),
        FloatPred::Une => unordered || order != Some(Equal),
    }))
}

/// Conversion to a type.
pub(super) fn cast(op: CastOp, a: &Val, to: &Type) -> Result<Val, Trap> {
    if *a == Val::Undef {
        return Ok(Val::Undef);
    }
    let wrong = || ill_formed(&format!("{op:?} to {to}"), &[a]);
    Ok(match (op, a, to) {
        (CastOp::Trunc | CastOp::ZExt, Val::Int(x, _), Type::Int(w)) => Val::int(*x, *w),
        (CastOp::SExt, Val::Int(x, from), Type::Int(w)) => Val::int(signed(*x, *from) as u128, *w),
        (CastOp::FpTrunc, Val::F64(x), Type::F32) => Val::F32(*x as f32),
        (CastOp::FpExt, Val::F32(x), Type::F64) => Val::F64(f64::from(*x)),
        (CastOp::FpToUi | CastOp::FpToSi, Val::F32(_) | Val::F64(_), Type::Int(w)) => {
            let x = a.as_f64().unwrap_or(f64::NAN).trunc();
            let (bits, back) = if op == CastOp::FpToUi {
                (x as u128, (x as u128 & mask(*w)) as f64)
            } else {
                (x as i128 as u128, signed(x as i128 as u128, *w) as f64)
            };
            // What does not come back the same did not fit; NaN never comes back.
            if back == x { Val::int(bits, *w) } else { Val::Undef }
        }
        (CastOp::UiToFp, Val::Int(x, _), Type::F32) => Val::F32(*x as f32),
        (CastOp::UiToFp, Val::Int(x, _), Type::F64) => Val::F64(*x as f64),
        (CastOp::SiToFp, Val::Int(x, w), Type::F32) => Val::F32(signed(*x, *w) as f32),
        (CastOp::SiToFp, Val::Int(x, w), Type::F64) => Val::F64(signed(*x, *w) as f64),
        (CastOp::PtrToInt, Val::Ptr(p), Type::Int(w)) => Val::int(u128::from(*p), *w),
        (CastOp::IntToPtr, Val::Int(x, _), Type::Ptr) => Val::Ptr(*x as u64),
        (CastOp::Bitcast, _, _) => match a.bits().filter(|_| width(a) == to.size() * 8) {
            Some(bits) => Val::from_bytes(&bits.to_le_bytes()[..store_size(to)?], to)?,
            None => return wrong(),
        },
        _ => return wrong(),
    })
}

/// The bits a scalar takes in memory.
fn width(a: &Val) -> u64 {
    match a {
        Val::Int(_, w) => Type::Int(*w).size() * 8,
        Val::F32(_) => 32,
        Val::F64(_) | Val::Ptr(_) => 64,
        Val::Struct(_) | Val::Undef => 0,
    }
}

/// A float function.
pub(super) fn math(function: MathFn, args: &[Val]) -> Result<Val, Trap> {
    if args.contains(&Val::Undef) {
        return Ok(Val::Undef);
    }
    let all: Vec<&Val> = args.iter().collect();
    if args.len() != function.arity() {
        return ill_formed(function.name(), &all);
    }
    let int = |v: &Val| v.as_int();
    match &args[0] {
        Val::F64(_) => {
            let floats = args.iter().map(|v| match v {
                Val::F64(x) => Some(*x),
                other => int(other).filter(|_| function.takes_int()).map(|n| n as f64),
            });
            match floats.collect::<Option<Vec<f64>>>() {
                Some(floats) => Ok(Val::F64(function.eval_f64(&floats))),
                None => ill_formed(function.name(), &all),
            }
        }
        Val::F32(_) => {
            let floats = args.iter().map(|v| match v {
                Val::F32(x) => Some(*x),
                other => int(other).filter(|_| function.takes_int()).map(|n| n as f32),
            });
            match floats.collect::<Option<Vec<f32>>>() {
                Some(floats) => Ok(Val::F32(function.eval_f32(&floats))),
                None => ill_formed(function.name(), &all),
            }
        }
        _ => ill_formed(function.name(), &all),
    }
}

/// A field of an aggregate.
pub(super) fn extract(a: &Val, index: u32) -> Result<Val, Trap> {
    match a {
        Val::Struct(fields) if (index as usize) < fields.len() => Ok(fields[index as usize].clone()),
        Val::Undef => Ok(Val::Undef),
        _ => ill_formed(&format!("field {index}"), &[a]),
    }
}

/// An aggregate of type `ty` with a field replaced.
pub(super) fn insert(a: Val, field: Val, index: u32, ty: &Type) -> Result<Val, Trap> {
    let mut fields = match (a, ty) {
        (Val::Struct(fields), _) => fields,
        (Val::Undef, Type::Struct(types)) => vec![Val::Undef; types.len()],
        (a, _) => return ill_formed("insert", &[&a]),
    };
    match fields.get_mut(index as usize) {
        Some(place) => *place = field,
        None => return ill_formed(&format!("insert at {index}"), &[&Val::Struct(fields)]),
    }
    Ok(Val::Struct(fields))
}

/// Some fixed value for what is undef.
pub(super) fn freeze(a: Val, ty: &Type) -> Result<Val, Trap> {
    match (a, ty) {
        (Val::Undef, _) => Val::zero(ty),
        (Val::Struct(fields), Type::Struct(types)) if fields.len() == types.len() => {
            let frozen = fields.into_iter().zip(types.iter()).map(|(v, t)| freeze(v, t));
            frozen.collect::<Result<_, _>>().map(Val::Struct)
        }
        (a, _) => Ok(a),
    }
}
