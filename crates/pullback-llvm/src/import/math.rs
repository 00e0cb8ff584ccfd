//! Which LLVM intrinsics and C library functions are float functions of the IR.

use pullback_ir::math::Spelling;
use pullback_ir::{MathFn, Type};

/// The float function behind the name of an intrinsic (`llvm.sin.f64`).
pub(super) fn intrinsic(name: &str) -> Option<MathFn> {
    let name = name.strip_prefix("llvm.")?;
    let (name, suffix) = name.split_once('.')?;
    if !matches!(suffix, "f32" | "f64" | "f32.i32" | "f64.i32") {
        return None;
    }
    MathFn::ALL.iter().copied().find(|m| match m.spelling() {
        Spelling::Intrinsic(spelled) | Spelling::Libm(spelled) => spelled == name,
    })
}

/// The float function behind a C library function of this name and signature.
pub(super) fn library(name: &str, params: &[Type], ret: Option<&Type>) -> Option<MathFn> {
    let float = ret.filter(|t| t.is_float())?;
    let name = match float {
        Type::F32 => name.strip_suffix('f')?,
        _ => name,
    };
    let function = match name {
        "fmin" => MathFn::MinNum,
        "fmax" => MathFn::MaxNum,
        // Names of intrinsics that no C library function has.
        "powi" | "fmuladd" | "minnum" | "maxnum" | "minimum" | "maximum" | "minimumnum" | "maximumnum" => return None,
        _ => MathFn::ALL.iter().copied().find(|m| match m.spelling() {
            Spelling::Intrinsic(spelled) | Spelling::Libm(spelled) => spelled == name,
        })?,
    };
    let expected = |i: usize| if i == 1 && function.takes_int() { &Type::I32 } else { float };
    let fits = params.len() == function.arity() && params.iter().enumerate().all(|(i, p)| p == expected(i));
    fits.then_some(function)
}

/// The float function that a line of assembly computes in place: `sqrtsd ${0:x}, ${0:x}`, as the crate `libm` has it.
pub(super) fn instruction(text: &str, params: &[Type], ret: Option<&Type>) -> Option<MathFn> {
    let (name, operands) = text.trim().split_once(' ')?;
    let (to, from) = operands.split_once(',')?;
    let in_place = [to, from].iter().all(|operand| matches!(operand.trim(), "$0" | "${0}" | "${0:x}"));
    let ty = match name {
        "sqrtsd" => Type::F64,
        "sqrtss" => Type::F32,
        _ => return None,
    };
    (in_place && *params == [ty.clone()] && ret == Some(&ty)).then_some(MathFn::Sqrt)
}
