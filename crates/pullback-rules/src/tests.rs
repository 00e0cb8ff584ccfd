use super::cases::{Case, DOUBLE, agrees, cases};
use super::docs::markdown;
use super::*;
use pullback_ir::{BinOp, Builder, Flags, Function, MathFn, Op, Type};
use std::path::Path;

#[test]
fn every_function_has_a_rule_with_a_partial_for_each_operand() {
    for function in MathFn::ALL {
        let rule = rule(*function);
        assert_eq!(rule.function, *function);
        assert_eq!(rule.partials.len(), function.arity(), "{function}");
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

#[test]
fn every_function_has_its_formulas_asserted_at_singular_points() {
    for function in MathFn::ALL {
        let own: Vec<Case> = cases().into_iter().filter(|case| case.function == function.name()).collect();
        assert!(own.len() > 3, "{function} has {} cases", own.len());
        for Case { at, partials, .. } in own {
            let args: Vec<f64> = at.iter().map(|x| x.double).collect();
            let result = function.eval_f64(&args);
            assert_eq!(partials.len(), function.arity(), "{function}{args:?}");
            for (partial, expected) in rule(*function).partials.iter().zip(partials) {
                let found = partial.map_or(0.0, |p| p.eval(&args, result));
                let expected = expected.double;
                assert!(agrees(found, expected, DOUBLE), "{function}{args:?}: {found:?}, expected {expected:?}");
            }
        }
    }
}

/// A function that may be computed ahead of a branch has finite partials in all its cases, and the others have one
/// that is not, or grow without bound.
#[test]
fn bounded_partials_are_finite_at_singular_points() {
    let bounded: Vec<&MathFn> = MathFn::ALL.iter().filter(|f| rule(**f).is_bounded()).collect();
    assert!(bounded.len() >= 15 && bounded.contains(&&MathFn::Fabs) && !bounded.contains(&&MathFn::Sqrt));
    for case in cases() {
        let Some(function) = MathFn::from_name(case.function).filter(|f| rule(*f).is_bounded()) else { continue };
        let args: Vec<f64> = case.at.iter().map(|x| x.double).collect();
        for partial in rule(function).partials.iter().flatten() {
            let value = partial.eval(&args, function.eval_f64(&args));
            assert!(value.abs() <= 1.0, "{function}{args:?}: {value}");
        }
    }
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
            let coefficients = rule(*function).coefficients(&mut b, &args, result, |_| true);
            for (coefficient, partial) in coefficients.iter().zip(&rule(*function).partials) {
                assert_eq!(coefficient.is_some(), partial.is_some());
                let Some(Coefficient { factor, support }) = coefficient else { continue };
                if let Factor::Value(c) | Factor::Scaled(_, c) = factor {
                    assert_eq!(*func.ty(*c), ty, "{function}");
                }
                assert!(support.is_none_or(|s| *func.ty(s.cond) == Type::BOOL), "{function}");
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
                    Op::Bin(BinOp::And, ..) => assert_eq!(operands, [&Type::BOOL, &Type::BOOL]),
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
    rule(MathFn::Atan2).coefficients(&mut b, &args, result, |_| true);
    let insts = &func.block(entry).insts;
    let hypots = insts.iter().filter(|i| matches!(func.inst(**i).op, Op::Math(MathFn::Hypot, _))).count();
    assert_eq!(hypots, 1);
}

#[test]
fn what_is_zero_by_the_formula_is_not_multiplied() {
    let mut func = Function::new("f", vec![Type::F64, Type::F64], None);
    let entry = func.add_block();
    let args = [func.add_param(entry, Type::F64), func.add_param(entry, Type::F64)];
    let mut b = Builder::new(&mut func, entry);
    for (function, factor) in [(MathFn::Fdim, Some(Factor::One)), (MathFn::Copysign, None), (MathFn::Pow, None)] {
        let result = b.math(function, args.to_vec());
        let coefficients = rule(function).coefficients(&mut b, &args, result, |_| true);
        for coefficient in coefficients.iter().flatten() {
            assert!(coefficient.support.is_some(), "{function}: {coefficient:?}");
        }
        assert!(factor.is_none_or(|factor| coefficients[0].unwrap().factor == factor), "{function}");
    }
    assert!(MathFn::ALL.iter().filter(|f| rule(**f).choice.is_some()).count() == 6, "minima and maxima choose");
}

#[test]
fn a_constant_exponent_is_not_compared() {
    let mut func = Function::new("f", vec![Type::F64], None);
    let entry = func.add_block();
    let x = func.add_param(entry, Type::F64);
    let (three, n) = (func.float(Type::F64, 3.0), func.int(Type::I32, 3));
    let mut b = Builder::new(&mut func, entry);
    for (function, exponent) in [(MathFn::Pow, three), (MathFn::Powi, n)] {
        let result = b.math(function, vec![x, exponent]);
        let coefficients = rule(function).coefficients(&mut b, &[x, exponent], result, |i| i == 0);
        assert_eq!(coefficients[0].unwrap().support, None, "{function}");
    }
    let ops = func.block(entry).insts.iter().map(|inst| &func.inst(*inst).op);
    assert_eq!(ops.filter(|op| matches!(op, Op::FCmp(..) | Op::Select(..))).count(), 0);
}

#[test]
fn what_a_partial_uses() {
    let reads = |function, operand: usize, name: &str| {
        let partial = rule(function).partials[operand].unwrap().to_string();
        partial.split(|c: char| !c.is_alphanumeric()).any(|word| word == name)
    };
    assert!(!reads(MathFn::Pow, 0, "r") && reads(MathFn::Pow, 0, "x") && reads(MathFn::Pow, 0, "y"));
    assert!(reads(MathFn::Pow, 1, "r"));
    assert!(reads(MathFn::Powi, 0, "x") && reads(MathFn::Powi, 0, "n"));
}

#[test]
fn the_page_shows_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    let page = markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/rules.md is out of date: run UPDATE_DOCS=1 cargo test -p pullback-rules");
}
