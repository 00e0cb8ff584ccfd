//! Derivatives of derivatives of functions that have rules: a rule is differentiated like any code.

use pullback::{frule, grad, jvp, rrule, scalar_rule};

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

/// The value is what the rule says: the derivative of the rule's code is taken, and `y` in it is a call of the function.
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

/// The pullback owns memory.
#[rrule(for = product)]
fn product_rrule(x: &[f64]) -> (f64, impl FnOnce(f64, &mut [f64]) + use<>) {
    let y: f64 = x.iter().product();
    let partials: Vec<f64> = x.iter().map(|x| y / x).collect();
    (y, move |dy, dx| {
        for (dx, partial) in dx.iter_mut().zip(&partials) {
            *dx += dy * partial;
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
