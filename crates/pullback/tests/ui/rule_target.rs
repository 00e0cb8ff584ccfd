//! The rule against the function that it is for.

use pullback::{frule, rrule, scalar_rule};

fn f(x: f32) -> f32 {
    x
}

fn g(x: &[f64], y: f64) -> f64 {
    x[0] * y
}

unsafe extern "C" {
    fn cbrt(x: f64) -> f64;
}

// An argument of another type.
#[rrule(for = f)]
fn f_rrule(x: f64) -> (f32, impl Fn(f32) -> f64) {
    (f(x as f32), |dy| f64::from(dy))
}

// A result of another type.
#[rrule(for = f)]
fn f_other_rrule(x: f32) -> (f64, impl Fn(f64) -> f32) {
    (f64::from(f(x)), |dy| dy as f32)
}

// Too few arguments.
#[rrule(for = g)]
fn g_rrule(x: &[f64]) -> (f64, impl Fn(f64, &mut [f64])) {
    (g(x, 1.0), |dy, dx| dx[0] += dy)
}

// Another ABI.
#[rrule(for = cbrt)]
fn cbrt_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    let y = unsafe { cbrt(x) };
    (y, move |dy| dy / (3.0 * y * y))
}

#[frule(for = f)]
fn f_frule(x: f64, dx: f64) -> (f32, f32) {
    (f(x as f32), dx as f32)
}

scalar_rule!(f(x) => y; d/dx = 1.0);

#[rrule(for = missing)]
fn missing_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (x, |dy| dy)
}

fn main() {}
