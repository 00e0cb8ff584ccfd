//! What a rule for reverse mode returns, and what its pullback takes and returns.

use pullback::rrule;
use pullback::rules::NoTangent;

fn f(x: f64) -> f64 {
    x
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x[0] * y[0]
}

fn mixed(x: f64, y: &[f64], n: usize) -> f64 {
    x * y[n]
}

fn update(x: &mut [f64]) {
    x[0] = 0.0;
}

#[rrule(for = f)]
fn nothing(x: f64) {}

#[rrule(for = f)]
fn value_only(x: f64) -> f64 {
    x
}

#[rrule(for = f)]
fn hidden(x: f64) -> (f64, Box<dyn Fn(f64) -> f64>) {
    (x, Box::new(|dy| dy))
}

#[rrule(for = f)]
fn not_a_closure(x: f64) -> (f64, impl Copy) {
    (x, x)
}

#[rrule(for = f)]
fn no_cotangent(x: f64) -> (f64, impl Fn() -> f64) {
    (x, || 1.0)
}

#[rrule(for = dot)]
fn too_few_shadows(x: &[f64], y: &[f64]) -> (f64, impl Fn(f64, &mut [f64])) {
    (dot(x, y), |dy, dx| dx[0] += dy)
}

#[rrule(for = f)]
fn too_many_shadows(x: f64) -> (f64, impl Fn(f64, &mut f64)) {
    (x, |dy, dx| *dx += dy)
}

#[rrule(for = dot)]
fn shared_shadow(x: &[f64], y: &[f64]) -> (f64, impl Fn(f64, &[f64], &mut [f64])) {
    (dot(x, y), |dy, _, dx| dx[0] += dy)
}

#[rrule(for = mixed)]
fn too_few_cotangents(x: f64, y: &[f64], n: usize) -> (f64, impl Fn(f64, &mut [f64]) -> f64) {
    (mixed(x, y, n), move |dz, _| dz)
}

#[rrule(for = dot)]
fn too_many_cotangents(x: &[f64], y: &[f64]) -> (f64, impl Fn(f64, &mut [f64], &mut [f64]) -> f64) {
    (dot(x, y), |dz, _, _| dz)
}

#[rrule(for = f)]
fn no_returned_cotangent(x: f64) -> (f64, impl Fn(f64)) {
    (x, |_| ())
}

#[rrule(for = update)]
fn untracked(x: &mut [f64]) -> ((), impl Fn(NoTangent) + use<>) {
    x[0] = 0.0;
    ((), |_| ())
}

fn main() {}
