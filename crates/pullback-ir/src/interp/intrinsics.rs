//! LLVM's intrinsics on integers, by name, at any width.
//!
//! Given the full name (`llvm.uadd.with.overflow.i64`) and the operands, hands on the result; the width is that of the
//! operands. A name that is not here is a [`Trap::UnknownIntrinsic`].

use super::Trap;
use super::value::{Val, mask, signed};
use crate::types::Type;
use std::num::FpCategory;

/// Evaluate an intrinsic whose result has type `ty`.
pub(super) fn call(name: &str, args: &[Val], ty: &Type) -> Result<Val, Trap> {
    let unknown = || Trap::UnknownIntrinsic(name.to_string());
    let operation = operation(name).ok_or_else(unknown)?;
    if args.contains(&Val::Undef) {
        return Ok(Val::Undef);
    }
    let wrong = || Trap::IllFormed(format!("{name} of {args:?}"));
    match (operation, args) {
        ("fptosi.sat" | "fptoui.sat", [x]) => saturating_cast(operation, x, ty).ok_or_else(wrong),
        ("is.fpclass", [x, Val::Int(class, _)]) => float_class(x).map(|c| Val::bool(class & c != 0)).ok_or_else(wrong),
        ("ptrmask", [Val::Ptr(p), Val::Int(m, _)]) => Ok(Val::Ptr(p & *m as u64)),
        (_, [Val::Int(x, width)]) => unary(operation, *x, *width).ok_or_else(unknown),
        ("abs", [Val::Int(x, w), _]) => Ok(Val::int(signed(*x, *w).unsigned_abs(), *w)),
        ("ctlz" | "cttz", [Val::Int(x, w), Val::Int(zero_is_poison, _)]) => {
            if *x == 0 && *zero_is_poison == 1 {
                return Ok(Val::Undef);
            }
            unary(operation, *x, *w).ok_or_else(unknown)
        }
        (_, [Val::Int(x, w), Val::Int(y, v)]) if w == v => binary(operation, *x, *y, *w, ty).ok_or_else(unknown),
        ("fshl" | "fshr", [Val::Int(x, w), Val::Int(y, _), Val::Int(n, _)]) => {
            let (n, width) = ((n % u128::from(*w)) as u32, u32::from(*w));
            let left = if operation == "fshl" { n } else { (width - n) % width };
            // A shift by nothing keeps the one operand or the other.
            let bits = match (left, operation) {
                (0, "fshl") => *x,
                (0, _) => *y,
                _ => (x << left) | (y >> (width - left)),
            };
            Ok(Val::int(bits, *w))
        }
        _ => Err(wrong()),
    }
}

/// The name without `llvm.` and the types at its end.
fn operation(name: &str) -> Option<&str> {
    let mut rest = name.strip_prefix("llvm.")?;
    let is_type = |word: &str| {
        word.strip_prefix(['i', 'f', 'p']).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    while let Some((front, last)) = rest.rsplit_once('.') {
        if !is_type(last) {
            break;
        }
        rest = front;
    }
    Some(rest)
}

fn unary(operation: &str, x: u128, width: u16) -> Option<Val> {
    let unused = 128 - u32::from(width);
    let bits = match operation {
        "ctpop" => u128::from(x.count_ones()),
        "ctlz" => u128::from(x.leading_zeros() - unused),
        "cttz" => u128::from(x.trailing_zeros().min(u32::from(width))),
        "bswap" => x.swap_bytes() >> unused,
        "bitreverse" => x.reverse_bits() >> unused,
        _ => return None,
    };
    Some(Val::int(bits, width))
}

fn binary(operation: &str, x: u128, y: u128, width: u16, ty: &Type) -> Option<Val> {
    let (sx, sy) = (signed(x, width), signed(y, width));
    let overflow = |bits: u128, overflow: bool| Val::Struct(vec![Val::int(bits, width), Val::bool(overflow)]);
    // An unsigned result that does not fit: more than 128 bits, or bits above the width.
    let above = |r: Option<u128>| r.is_none_or(|r| r > mask(width));
    let outside = |r: Option<i128>| r.is_none_or(|r| signed(r as u128, width) != r);
    let saturated = |r: Option<i128>, negative: bool| {
        let least = 1u128 << (width - 1);
        match r.filter(|r| !outside(Some(*r))) {
            Some(r) => r as u128,
            None if negative => least,
            None => least - 1,
        }
    };
    let bits = match operation {
        "umin" => x.min(y),
        "umax" => x.max(y),
        "smin" => sx.min(sy) as u128,
        "smax" => sx.max(sy) as u128,
        "uadd.sat" if above(x.checked_add(y)) => mask(width),
        "uadd.sat" => x + y,
        "usub.sat" => x.saturating_sub(y),
        "sadd.sat" => saturated(sx.checked_add(sy), sx < 0),
        "ssub.sat" => saturated(sx.checked_sub(sy), sx < 0),
        "uadd.with.overflow" => return Some(overflow(x.wrapping_add(y), above(x.checked_add(y)))),
        "usub.with.overflow" => return Some(overflow(x.wrapping_sub(y), x < y)),
        "umul.with.overflow" => return Some(overflow(x.wrapping_mul(y), above(x.checked_mul(y)))),
        "sadd.with.overflow" => return Some(overflow(x.wrapping_add(y), outside(sx.checked_add(sy)))),
        "ssub.with.overflow" => return Some(overflow(x.wrapping_sub(y), outside(sx.checked_sub(sy)))),
        "smul.with.overflow" => return Some(overflow(x.wrapping_mul(y), outside(sx.checked_mul(sy)))),
        "ucmp" | "scmp" => {
            let order = if operation == "ucmp" { x.cmp(&y) } else { sx.cmp(&sy) };
            let Type::Int(result) = ty else { return None };
            return Some(Val::int(order as i8 as u128, *result));
        }
        _ => return None,
    };
    Some(Val::int(bits, width))
}

/// What Rust's `as` does: NaN becomes zero, and what does not fit the nearest value that does.
fn saturating_cast(operation: &str, x: &Val, ty: &Type) -> Option<Val> {
    let Type::Int(width) = *ty else { return None };
    let x = x.as_f64()?;
    let bits = if operation == "fptoui.sat" {
        (x as u128).min(mask(width))
    } else {
        let greatest = (mask(width) >> 1) as i128;
        (x as i128).clamp(-greatest - 1, greatest) as u128
    };
    Some(Val::int(bits, width))
}

/// The bit of LLVM's `fpclass` mask that a float belongs to.
fn float_class(x: &Val) -> Option<u128> {
    let (category, negative, quiet) = match x {
        Val::F32(x) => (x.classify(), x.is_sign_negative(), x.to_bits() & 1 << 22 != 0),
        Val::F64(x) => (x.classify(), x.is_sign_negative(), x.to_bits() & 1 << 51 != 0),
        _ => return None,
    };
    let bit = match (category, negative) {
        (FpCategory::Nan, _) => u32::from(quiet),
        (FpCategory::Infinite, true) => 2,
        (FpCategory::Normal, true) => 3,
        (FpCategory::Subnormal, true) => 4,
        (FpCategory::Zero, true) => 5,
        (FpCategory::Zero, false) => 6,
        (FpCategory::Subnormal, false) => 7,
        (FpCategory::Normal, false) => 8,
        (FpCategory::Infinite, false) => 9,
    };
    Some(1 << bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(name: &str, args: &[(i64, u16)], ty: Type) -> Val {
        let args: Vec<Val> = args.iter().map(|(x, w)| Val::int(*x as i128 as u128, *w)).collect();
        call(name, &args, &ty).unwrap()
    }

    fn number(name: &str, args: &[(i64, u16)], width: u16) -> i128 {
        eval(name, args, Type::Int(width)).as_int().unwrap()
    }

    #[test]
    fn smaller_and_larger() {
        assert_eq!(number("llvm.smin.i8", &[(-3, 8), (5, 8)], 8), -3);
        assert_eq!(number("llvm.umin.i8", &[(-3, 8), (5, 8)], 8), 5);
        assert_eq!(number("llvm.smax.i64", &[(-3, 64), (5, 64)], 64), 5);
        assert_eq!(number("llvm.umax.i64", &[(-3, 64), (5, 64)], 64), -3);
        assert_eq!(number("llvm.abs.i32", &[(-7, 32), (0, 1)], 32), 7);
        assert_eq!(number("llvm.scmp.i8.i64", &[(-7, 64), (0, 64)], 8), -1);
    }

    #[test]
    fn bits() {
        assert_eq!(number("llvm.ctpop.i16", &[(-1, 16)], 16), 16);
        assert_eq!(number("llvm.ctlz.i16", &[(1, 16), (0, 1)], 16), 15);
        assert_eq!(number("llvm.cttz.i16", &[(0, 16), (0, 1)], 16), 16);
        assert_eq!(eval("llvm.cttz.i16", &[(0, 16), (1, 1)], Type::Int(16)), Val::Undef);
        assert_eq!(number("llvm.bswap.i32", &[(0x0102_0304, 32)], 32), 0x0403_0201);
        assert_eq!(number("llvm.bitreverse.i8", &[(1, 8)], 8), -128);
        assert_eq!(number("llvm.fshl.i8", &[(1, 8), (-128, 8), (1, 8)], 8), 3);
        assert_eq!(number("llvm.fshr.i8", &[(1, 8), (-128, 8), (8, 8)], 8), -128);
        assert_eq!(number("llvm.fshr.i8", &[(1, 8), (0, 8), (1, 8)], 8), -128);
    }

    #[test]
    fn overflow_is_told() {
        let with = |name: &str, a: i64, b: i64| {
            let ty = Type::structure([Type::I8, Type::BOOL]);
            let Val::Struct(fields) = eval(name, &[(a, 8), (b, 8)], ty) else { panic!("not a struct") };
            (fields[0].as_int().unwrap(), fields[1] == Val::bool(true))
        };
        assert_eq!(with("llvm.uadd.with.overflow.i8", -1, 1), (0, true));
        assert_eq!(with("llvm.uadd.with.overflow.i8", 1, 1), (2, false));
        assert_eq!(with("llvm.usub.with.overflow.i8", 1, 2), (-1, true));
        assert_eq!(with("llvm.umul.with.overflow.i8", 16, 16), (0, true));
        assert_eq!(with("llvm.sadd.with.overflow.i8", 127, 1), (-128, true));
        assert_eq!(with("llvm.ssub.with.overflow.i8", -128, 1), (127, true));
        assert_eq!(with("llvm.smul.with.overflow.i8", -128, -1), (-128, true));
        assert_eq!(with("llvm.smul.with.overflow.i8", -5, 3), (-15, false));
    }

    #[test]
    fn saturation() {
        assert_eq!(number("llvm.uadd.sat.i8", &[(-1, 8), (1, 8)], 8), -1);
        assert_eq!(number("llvm.usub.sat.i8", &[(1, 8), (2, 8)], 8), 0);
        assert_eq!(number("llvm.sadd.sat.i8", &[(100, 8), (100, 8)], 8), 127);
        assert_eq!(number("llvm.ssub.sat.i8", &[(-100, 8), (100, 8)], 8), -128);
        let cast = |x: f64| call("llvm.fptosi.sat.i32.f64", &[Val::F64(x)], &Type::I32).unwrap().as_int().unwrap();
        assert_eq!((cast(-1.9), cast(1e300), cast(f64::NAN)), (-1, i128::from(i32::MAX), 0));
    }

    #[test]
    fn unknown_names_are_errors() {
        let error = call("llvm.frobnicate.i64", &[Val::i64(1)], &Type::I64);
        assert_eq!(error, Err(Trap::UnknownIntrinsic("llvm.frobnicate.i64".to_string())));
    }
}
