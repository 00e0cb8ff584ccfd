//! `scalar_rule!`, and rules that functions name.

use pullback::{has_rrule, rrule, scalar_rule};

fn f(x: f64, y: f64) -> f64 {
    x * y
}

fn g(x: f64, n: i32) -> f64 {
    x.powi(n)
}

scalar_rule!(f(x, y) => r; d/dx = y);

scalar_rule!(f(x, y) => r; d/dx = y, d/dz = x);

scalar_rule!(f(x, y) => r; d/dx = y, d/dx = y, d/dy = x);

scalar_rule!(g(x, n: i32) => r; d/dx = 1.0, d/dn = 1.0);

scalar_rule!(f(x, y) => r; dx = y, dy = x);

scalar_rule!(f(x, y); d/dx = y, d/dy = x);

scalar_rule!(f => r; d/dx = y);

scalar_rule!(f(x, y) => r; d/dx = "y", d/dy = x);

#[rrule(generic)]
fn twice_rrule<F: Fn(f64) -> f64>(f: &F, x: f64) -> (f64, impl Fn(f64, pullback::rules::NoTangent) -> f64 + use<F>) {
    (f(f(x)), |dy, _| dy)
}

// The rule has other arguments.
#[has_rrule(twice_rrule)]
fn twice<F: Fn(f64) -> f64>(f: &F, x: f32) -> f64 {
    f(f64::from(x))
}

// Two rules for one mode.
#[has_rrule(twice_rrule)]
#[has_rrule(twice_rrule)]
fn thrice<F: Fn(f64) -> f64>(f: &F, x: f64) -> f64 {
    f(f(x))
}

fn main() {}

// There is no name for the result.
scalar_rule!(f(x, y) => 2.0 * y; d/dx = y);
