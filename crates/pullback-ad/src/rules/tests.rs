use super::docs::markdown;
use super::*;
use pullback_ir::{Builder, Flags, Function, MathFn, Op, Type};
use std::path::Path;

#[test]
fn every_function_has_a_rule_with_a_partial_for_each_operand() {
    for function in MathFn::ALL {
        let rule = rule(*function);
        assert_eq!(rule.function, *function);
        assert_eq!(rule.partials.len(), function.arity(), "{function}");
        assert!(!rule.edge.is_empty(), "{function}");
        assert!(!function.takes_int() || rule.partials[1].is_none(), "{function}: an integer has no derivative");
    }
}

/// Points inside the domain, away from kinks and jumps.
fn points(function: MathFn) -> Vec<Vec<f64>> {
    use MathFn::*;
    let anything = [-7.3, -2.6, -1.2, -0.7, -0.1, 0.1, 0.4, 1.3, 2.7, 9.4];
    let positive = [1e-3, 0.1, 0.7, 1.0, 1.9, 8.3, 120.0];
    let inside = [-0.99, -0.9, -0.4, -0.01, 0.02, 0.6, 0.95, 0.99];
    let above_one = [1.01, 1.2, 2.0, 17.0, 300.0];
    let one = |xs: &[f64]| xs.iter().map(|x| vec![*x]).collect();
    let two = |xs: &[f64], ys: &[f64]| xs.iter().flat_map(|x| ys.iter().map(|y| vec![*x, *y + 0.01])).collect();
    match function {
        Sqrt | Log | Log2 | Log10 => one(&positive),
        Log1p => one(&[-0.99, -0.5, -1e-9, 1e-9, 0.3, 7.0, 1e5]),
        Asin | Acos | Atanh => one(&inside),
        Acosh => one(&above_one),
        Pow => two(&positive, &anything),
        Powi | Ldexp => {
            let exponents = [-3.0, -1.0, 0.0, 1.0, 2.0, 7.0];
            anything.iter().flat_map(|x| exponents.iter().map(|n| vec![*x, *n])).collect()
        }
        Fma | FmulAdd => two(&anything, &anything).into_iter().map(|p: Vec<f64>| vec![p[0], p[1], 0.3]).collect(),
        _ if function.arity() == 1 => one(&anything),
        _ => two(&anything, &anything),
    }
}

/// Fourth-order central difference.
fn difference(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    let h = 1e-4 * x.abs().clamp(1e-3, 1.0);
    (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h)
}

#[test]
fn partials_agree_with_central_differences() {
    for function in MathFn::ALL {
        for point in points(*function) {
            let result = function.eval_f64(&point);
            for (i, partial) in rule(*function).partials.iter().enumerate() {
                if i == 1 && function.takes_int() {
                    continue;
                }
                let stated = partial.map_or(0.0, |p| p.eval(&point, result));
                let measured = difference(
                    |x| {
                        let mut at = point.clone();
                        at[i] = x;
                        function.eval_f64(&at)
                    },
                    point[i],
                );
                let scale = 1.0 + stated.abs() + result.abs();
                let error = (stated - measured).abs() / scale;
                assert!(error < 1e-7, "{function}{point:?}, operand {i}: the rule says {stated}, measured {measured}");
            }
        }
    }
}

/// The partials of a function at a point.
fn at(function: MathFn, args: &[f64]) -> Vec<f64> {
    let result = function.eval_f64(args);
    rule(function).partials.iter().map(|p| p.map_or(0.0, |p| p.eval(args, result))).collect()
}

/// Equality in which a NaN equals a NaN.
#[track_caller]
fn assert_at(function: MathFn, args: &[f64], expected: &[f64]) {
    let found = at(function, args);
    let same = found.iter().zip(expected).all(|(f, e)| f == e || (f.is_nan() && e.is_nan()));
    assert!(same && found.len() == expected.len(), "{function}{args:?}: {found:?}, expected {expected:?}");
}

#[test]
fn edges_are_as_documented() {
    use MathFn::*;
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    assert_at(Sqrt, &[0.0], &[inf]);
    assert_at(Sqrt, &[-0.0], &[-inf]);
    assert_at(Sqrt, &[-1.0], &[nan]);
    assert_at(Cbrt, &[0.0], &[inf]);
    assert_at(Cbrt, &[-0.0], &[inf]);
    assert_at(Hypot, &[0.0, 0.0], &[nan, nan]);
    assert_at(Hypot, &[3e200, 0.0], &[1.0, 0.0]);
    assert_at(Pow, &[0.0, 3.0], &[0.0, 0.0]);
    assert_at(Pow, &[0.0, 1.0], &[1.0, 0.0]);
    assert_at(Pow, &[0.0, 0.5], &[inf, 0.0]);
    assert_at(Pow, &[0.0, 0.0], &[0.0, 0.0]);
    assert_at(Pow, &[0.0, -1.0], &[-inf, -inf]);
    assert_at(Pow, &[-2.0, 2.0], &[-4.0, nan]);
    assert_at(Pow, &[0.0, nan], &[nan, nan]);
    assert_at(Powi, &[0.0, 0.0], &[0.0, 0.0]);
    assert_at(Powi, &[0.0, 1.0], &[1.0, 0.0]);
    assert_at(Powi, &[0.0, 2.0], &[0.0, 0.0]);
    assert_at(Powi, &[0.0, -1.0], &[-inf, 0.0]);
    assert_at(Powi, &[-2.0, 3.0], &[12.0, 0.0]);
    assert_at(Ldexp, &[0.0, 3.0], &[8.0, 0.0]);
    assert_at(Log, &[0.0], &[inf]);
    assert_at(Log, &[-0.0], &[-inf]);
    assert_at(Log1p, &[-1.0], &[inf]);
    assert_at(Asin, &[1.0], &[inf]);
    assert_at(Asin, &[-1.0], &[inf]);
    assert_at(Asin, &[1.5], &[nan]);
    assert_at(Acos, &[1.0], &[-inf]);
    assert_at(Atan, &[inf], &[0.0]);
    assert_at(Atan2, &[0.0, 0.0], &[nan, nan]);
    assert_at(Atan2, &[0.0, 2e-200], &[5e199, 0.0]);
    assert_at(Atan2, &[0.0, -1.0], &[-1.0, 0.0]);
    assert_at(Asinh, &[1e200], &[1e-200]);
    assert_at(Acosh, &[1.0], &[inf]);
    assert_at(Acosh, &[-3.0], &[nan]);
    assert_at(Atanh, &[1.0], &[inf]);
    assert_at(Atanh, &[-1.0], &[inf]);
    assert_at(Tanh, &[400.0], &[0.0]);
    assert_at(Expm1, &[-800.0], &[0.0]);
    assert_at(Fabs, &[0.0], &[0.0]);
    assert_at(Fabs, &[-0.0], &[0.0]);
    assert_at(Copysign, &[3.0, -0.0], &[-1.0, 0.0]);
    assert_at(Copysign, &[-3.0, -1.0], &[1.0, 0.0]);
    assert_at(Copysign, &[0.0, 1.0], &[0.0, 0.0]);
    assert_at(Fdim, &[2.0, 2.0], &[0.0, 0.0]);
    assert_at(Fdim, &[nan, 2.0], &[0.0, 0.0]);
    for choice in [MinNum, MaxNum, MinimumNum, MaximumNum, Minimum, Maximum] {
        assert_at(choice, &[2.0, 2.0], &[1.0, 0.0]);
        assert_at(choice, &[0.0, -0.0], &[1.0, 0.0]);
        assert_at(choice, &[-0.0, 0.0], &[1.0, 0.0]);
    }
    for choice in [MinNum, MaxNum, MinimumNum, MaximumNum] {
        assert_at(choice, &[nan, 2.0], &[0.0, 1.0]);
        assert_at(choice, &[2.0, nan], &[1.0, 0.0]);
    }
    assert_at(Maximum, &[2.0, nan], &[0.0, 1.0]);
    assert_at(Floor, &[2.0], &[0.0]);
}

#[test]
fn emission_is_well_typed_and_carries_the_flags() {
    for ty in [Type::F32, Type::F64] {
        for function in MathFn::ALL {
            let params: Vec<Type> = (0..function.arity())
                .map(|i| if i == 1 && function.takes_int() { Type::I32 } else { ty.clone() })
                .collect();
            let mut func = Function::new("f", params.clone(), None);
            let entry = func.add_block();
            let args: Vec<_> = params.iter().map(|p| func.add_param(entry, p.clone())).collect();
            let mut b = Builder::new(&mut func, entry);
            b.flags = Flags::FAST_MATH;
            let result = b.math(*function, args.clone());
            let values = rule(*function).emit(&mut b, &args, result, |_| true);
            for (value, partial) in values.iter().zip(&rule(*function).partials) {
                assert_eq!(value.is_some(), partial.is_some());
                assert!(value.is_none_or(|v| *func.ty(v) == ty), "{function}");
            }
            for inst in &func.block(entry).insts {
                let data = func.inst(*inst);
                let operands: Vec<&Type> = data.op.operands().iter().map(|v| func.ty(*v)).collect();
                let flags = if operands.iter().all(|t| t.is_int()) { Flags::NONE } else { Flags::FAST_MATH };
                assert_eq!(data.flags, flags, "{function}: {:?}", data.op);
                match &data.op {
                    Op::Math(f, _) if f.takes_int() => assert_eq!(operands, [&ty, &Type::I32]),
                    Op::Cast(..) => assert_eq!(operands, [&Type::I32]),
                    Op::Select(..) => assert_eq!(operands, [&Type::BOOL, &ty, &ty]),
                    Op::Bin(op, ..) if !op.is_float() => assert_eq!(operands, [&Type::I32, &Type::I32]),
                    _ => assert!(operands.iter().all(|t| **t == ty), "{function}: {:?}", data.op),
                }
            }
        }
    }
}

#[test]
fn what_two_partials_share_is_emitted_once() {
    let mut func = Function::new("f", vec![Type::F64, Type::F64], None);
    let entry = func.add_block();
    let args = [func.add_param(entry, Type::F64), func.add_param(entry, Type::F64)];
    let mut b = Builder::new(&mut func, entry);
    let result = b.math(MathFn::Atan2, args.to_vec());
    rule(MathFn::Atan2).emit(&mut b, &args, result, |_| true);
    let insts = &func.block(entry).insts;
    let hypots = insts.iter().filter(|i| matches!(func.inst(**i).op, Op::Math(MathFn::Hypot, _))).count();
    assert_eq!(hypots, 1);
}

#[test]
fn what_a_partial_uses() {
    let pow = rule(MathFn::Pow);
    let (x, y) = (pow.partials[0].unwrap(), pow.partials[1].unwrap());
    assert!(!x.uses_result() && x.uses_arg(0) && x.uses_arg(1));
    assert!(y.uses_result());
    let powi = rule(MathFn::Powi).partials[0].unwrap();
    assert!(powi.uses_arg(0) && powi.uses_arg(1) && !powi.uses_result());
}

#[test]
fn the_page_shows_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    let page = markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/rules.md is out of date: run UPDATE_DOCS=1 cargo test -p pullback-ad rules");
}
