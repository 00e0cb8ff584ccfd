//! Derivatives of derivatives of functions that have rules: a rule is differentiated like any code.

use pullback::rules::NoTangent;
use pullback::{autodiff, frule, grad, has_rrule, jvp, rrule, scalar_rule, vjp};

fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs())), "{what}: {a} and {b}");
}

/// The second derivative by all pairs of modes.
fn second<F: Fn(&f64) -> f64 + Copy>(f: F, x: f64) -> [f64; 4] {
    let by_reverse = |x: &f64| grad(f, x);
    let by_forward = |x: &f64| jvp(f, x, &1.0).1;
    [grad(by_reverse, &x), grad(by_forward, &x), jvp(by_reverse, &x, &1.0).1, jvp(by_forward, &x, &1.0).1]
}

#[track_caller]
fn check<F: Fn(&f64) -> f64 + Copy>(f: F, x: f64, expected: f64) {
    for (found, modes) in second(f, x).into_iter().zip(["rr", "rf", "fr", "ff"]) {
        close(found, expected, 1e-12, modes);
    }
}

/// Its body has another derivative, so that it shows who made it.
#[inline(never)]
fn cube(x: f64) -> f64 {
    (x * x * x).round()
}

scalar_rule!(cube(x: f64) -> f64 => _y; d/dx = 3.0 * x * x);

/// The rule is one of `pullback`'s own, and calls its function there.
#[test]
fn a_rule_that_comes_with_pullback() {
    for x in [0.5_f64, -2.0, 0.0] {
        check(|x: &f64| x.asinh(), x, -x / (1.0 + x * x).powf(1.5));
    }
}

#[test]
fn a_scalar_rule() {
    check(|x| cube(*x), 2.0, 12.0);
    check(|x| cube(*x).sin(), 2.0, 12.0 * 8.0_f64.cos() - 144.0 * 8.0_f64.sin());
    check(|x| (0..3).map(|i| cube(x * i as f64)).sum(), 2.0, 12.0 * (1.0 + 8.0));
}

#[inline(never)]
fn inverse_root(x: f64) -> f64 {
    f64::from_bits(0x5FE6EB50C7B537A9 - (x.to_bits() >> 1)) * 0.0 + 1.0 / x.sqrt()
}

/// The value is what the rule says: the derivative of the rule's code is taken, and `y` in it is a call of the
/// function.
#[rrule(for = inverse_root)]
fn inverse_root_rrule(x: f64) -> (f64, impl FnOnce(f64) -> f64) {
    let y = inverse_root(x);
    (y, move |dy| dy * -0.5 * y / x)
}

#[frule(for = inverse_root)]
fn inverse_root_frule(x: f64, dx: f64) -> (f64, f64) {
    let y = inverse_root(x);
    (y, dx * -0.5 * y / x)
}

#[test]
fn a_rule_that_calls_its_function() {
    check(|x| inverse_root(*x), 1.7, 0.75 * 1.7_f64.powf(-2.5));
    // In a loop, where closures are kept.
    let f = |x: &f64| (1..5).fold(*x, |y, _| inverse_root(y) + x);
    let plain = |x: &f64| (1..5).fold(*x, |y, _| 1.0 / y.sqrt() + x);
    check(f, 1.7, second(plain, 1.7)[0]);
}

#[inline(never)]
fn sum_of_squares(x: &[f64]) -> f64 {
    x.iter().map(|x| (x * x).round()).sum()
}

#[rrule(for = sum_of_squares)]
fn sum_of_squares_rrule(x: &[f64]) -> (f64, impl FnOnce(f64, &mut [f64])) {
    (x.iter().map(|x| x * x).sum(), move |dy, dx| {
        for (dx, x) in dx.iter_mut().zip(x) {
            *dx += 2.0 * dy * x;
        }
    })
}

#[frule(for = sum_of_squares)]
fn sum_of_squares_frule(x: &[f64], dx: &[f64]) -> (f64, f64) {
    (x.iter().map(|x| x * x).sum(), x.iter().zip(dx).map(|(x, dx)| 2.0 * x * dx).sum())
}

#[test]
fn a_rule_for_slices() {
    let f = |x: &f64| {
        let a = [*x, x * x, 3.0];
        sum_of_squares(&a)
    };
    // x² + x⁴ + 9
    check(f, 1.3, 2.0 + 12.0 * 1.69);
}

#[inline(never)]
fn product(x: &[f64]) -> f64 {
    x.iter().product::<f64>().round()
}

/// The pullback owns memory, some that carries derivatives and some that does not.
#[rrule(for = product)]
fn product_rrule(x: &[f64]) -> (f64, impl FnOnce(f64, &mut [f64]) + use<>) {
    let y: f64 = x.iter().product();
    let partials: Vec<f64> = x.iter().map(|x| y / x).collect();
    let order: Vec<usize> = (0..x.len()).rev().collect();
    (y, move |dy, dx| {
        for i in order {
            dx[i] += dy * partials[i];
        }
    })
}

/// Only reverse mode has a rule, and its body is of no use in forward mode.
#[test]
fn a_pullback_that_owns_memory() {
    let f = |x: &f64| {
        let a = [*x, x * x, 3.0];
        product(&a)
    };
    // 3x³
    let by_reverse = |x: &f64| grad(f, x);
    close(by_reverse(&1.3), 9.0 * 1.69, 1e-12, "r");
    close(grad(by_reverse, &1.3), 18.0 * 1.3, 1e-12, "rr");
    close(jvp(by_reverse, &1.3, &1.0).1, 18.0 * 1.3, 1e-12, "fr");
}

#[inline(never)]
fn scaled(x: &[f64], factor: f64) -> Vec<f64> {
    x.iter().map(|x| (x * factor).round()).collect()
}

/// The result owns memory.
#[rrule(for = scaled)]
fn scaled_rrule(x: &[f64], factor: f64) -> (Vec<f64>, impl FnOnce(&Vec<f64>, &mut [f64]) -> f64) {
    (x.iter().map(|x| x * factor).collect(), move |dy, dx| {
        let mut sum = 0.0;
        for ((dx, dy), x) in dx.iter_mut().zip(dy).zip(x) {
            *dx += factor * dy;
            sum += x * dy;
        }
        sum
    })
}

#[test]
fn a_result_that_owns_memory() {
    let f = |x: &f64| {
        let y = scaled(&[*x, x * x], *x);
        y[0] * y[1]
    };
    // x² · x³
    let by_reverse = |x: &f64| grad(f, x);
    close(by_reverse(&1.3), 5.0 * 1.3_f64.powi(4), 1e-12, "r");
    close(grad(by_reverse, &1.3), 20.0 * 1.3_f64.powi(3), 1e-12, "rr");
    close(jvp(by_reverse, &1.3, &1.0).1, 20.0 * 1.3_f64.powi(3), 1e-12, "fr");
}

#[has_rrule(map_rrule)]
fn map<F: Fn(&f64) -> f64>(f: &F, x: &[f64]) -> Vec<f64> {
    x.iter().map(f).collect()
}

/// A rule that differentiates what it is given, and keeps the pullbacks.
#[rrule(generic)]
fn map_rrule<'a, F: Fn(&f64) -> f64>(
    f: &'a F,
    x: &'a [f64],
) -> (Vec<f64>, impl Fn(&[f64], NoTangent, &mut [f64]) + use<'a, F>) {
    let (y, pullbacks): (Vec<f64>, Vec<_>) = x.iter().map(|x| vjp(f, x)).unzip();
    let pullback = move |dy: &[f64], _: NoTangent, dx: &mut [f64]| {
        for ((dx, dy), pullback) in dx.iter_mut().zip(dy).zip(&pullbacks) {
            *dx += pullback(*dy);
        }
    };
    (y, pullback)
}

#[test]
fn a_rule_that_differentiates() {
    let f = |x: &f64| map(&|x: &f64| x * x * x, &[*x, 2.0 * x]).iter().sum::<f64>();
    let by_reverse = |x: &f64| grad(f, x);
    close(by_reverse(&1.3), 27.0 * 1.69, 1e-12, "r");
    close(grad(by_reverse, &1.3), 54.0 * 1.3, 1e-12, "rr");
    close(jvp(by_reverse, &1.3, &1.0).1, 54.0 * 1.3, 1e-12, "fr");
}

/// `x − e sin x = m`, solved for x.
#[inline(never)]
fn kepler(m: f64, e: f64) -> f64 {
    let mut x = m;
    while (x - e * x.sin() - m).abs() > 1e-15 {
        x -= (x - e * x.sin() - m) / (1.0 - e * x.cos());
    }
    x
}

#[autodiff(d_residual, Reverse, Active, Active, Active, Active)]
fn residual(x: f64, m: f64, e: f64) -> f64 {
    x - e * x.sin() - m
}

/// By the implicit function theorem; `x` in it is a call of `kepler`, so that second derivatives are right, too.
#[rrule(for = kepler)]
fn kepler_rrule(m: f64, e: f64) -> (f64, impl Fn(f64) -> (f64, f64)) {
    let x = kepler(m, e);
    (x, move |dx| {
        let (by_x, by_m, by_e, _) = d_residual(x, m, e);
        (-dx * by_m / by_x, -dx * by_e / by_x)
    })
}

#[test]
fn the_implicit_function_theorem_twice() {
    let by_reverse = |v: &[f64; 2]| grad(|v: &[f64; 2]| kepler(v[0], v[1]), v);
    let at = [1.0, 0.5];
    let along = jvp(by_reverse, &at, &[1.0, 0.0]).1;
    let by_m = grad(|v: &[f64; 2]| by_reverse(v)[0], &at);
    let h = 1e-5;
    let (high, low) = (by_reverse(&[1.0 + h, 0.5]), by_reverse(&[1.0 - h, 0.5]));
    for i in 0..2 {
        close(along[i], by_m[i], 1e-12, "fr and rr");
        close(along[i], (high[i] - low[i]) / (2.0 * h), 1e-8, "differences");
    }
}

/// A function without derivative is called by an inner derivative too.
#[test]
fn a_function_without_derivative_in_an_inner_derivative() {
    use std::cell::RefCell;

    #[pullback::non_differentiable]
    fn note(v: &usize) {
        std::hint::black_box(v);
    }
    fn f(x: &f64, q: &RefCell<Vec<usize>>) -> f64 {
        note(&q.borrow()[0]);
        if *x < -0.067 {
            q.borrow_mut().push(0);
        }
        x * x * x
    }
    let q = RefCell::new(vec![1]);
    assert_eq!(pullback::grad(|z: &f64| pullback::grad(|x: &f64| f(x, &q), z), &2.0), 12.0);
}
