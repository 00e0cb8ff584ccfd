//! What the optimiser could see of functions with rules, and must not use: each was wrong once.

use pullback::rules::NoTangent;
use pullback::{autodiff, has_rrule, non_differentiable, rrule};

/// LLVM would see that an identity returns its argument (`returned`), and put the argument in the place of the result.
#[non_differentiable]
fn stop(x: f64) -> f64 {
    x
}

#[autodiff(d_stopped, Reverse, Active, Active)]
fn stopped(x: f64) -> f64 {
    x * stop(x)
}

#[test]
fn an_identity_without_derivative() {
    assert_eq!(d_stopped(3.0), (3.0, 9.0));
}

/// LLVM would see that the stand-in does not read `f`, whose closure captures nothing, and not write it to its place;
/// the rule reads it.
#[has_rrule(map_rrule)]
fn map<F: Fn(f64) -> f64>(f: &F, x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| f(x)).collect()
}

#[rrule(generic)]
fn map_rrule<F: Fn(f64) -> f64>(f: &F, x: &[f64]) -> (Vec<f64>, impl Fn(&[f64], NoTangent, &mut [f64]) + use<F>) {
    (map(f, x), |dy, _: NoTangent, dx| dx.iter_mut().zip(dy).for_each(|(dx, dy)| *dx += 100.0 * dy))
}

#[autodiff(d_mapped, Reverse, Duplicated, Active)]
fn mapped(x: &[f64]) -> f64 {
    map(&|x| x * x, x).iter().sum()
}

#[test]
fn a_closure_that_captures_nothing() {
    let mut dx = [0.0; 2];
    assert_eq!(d_mapped(&[1.0, 3.0], &mut dx), 10.0);
    assert_eq!(dx, [100.0, 100.0]);
}
