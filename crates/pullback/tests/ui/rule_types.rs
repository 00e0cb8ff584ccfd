//! Types in a rule for reverse mode that do not belong together.

use pullback::rrule;

fn f(x: f64) -> f64 {
    x
}

fn sum(x: &[f64]) -> f64 {
    x[0]
}

fn owned(x: Vec<f64>) -> f64 {
    x[0]
}

fn doubled(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| 2.0 * x).collect()
}

fn grown(x: &mut Vec<f64>) {
    x.push(0.0);
}

fn named(x: f64, _name: &str) -> f64 {
    x
}

struct Opaque(f64);

fn opaque(x: &Opaque) -> f64 {
    x.0
}

// The cotangent of the result.
#[rrule(for = f)]
fn wrong_cotangent(x: f64) -> (f64, impl Fn(f32) -> f64) {
    (x, |dy| f64::from(dy))
}

// The cotangent of an argument.
#[rrule(for = f)]
fn wrong_returned(x: f64) -> (f64, impl Fn(f64) -> f32) {
    (x, |dy| dy as f32)
}

// The shadow of an argument.
#[rrule(for = sum)]
fn wrong_shadow(x: &[f64]) -> (f64, impl Fn(f64, &mut [f32])) {
    (sum(x), |dy, dx| dx[0] += dy as f32)
}

// An argument that owns memory.
#[rrule(for = owned)]
fn by_value(x: Vec<f64>) -> (f64, impl Fn(f64) -> Vec<f64>) {
    (x[0], move |dy| vec![dy])
}

// A result that owns memory.
#[rrule(for = doubled)]
fn result_by_value(x: &[f64]) -> (Vec<f64>, impl Fn(Vec<f64>, &mut [f64])) {
    (doubled(x), |dy, dx| dx[0] += 2.0 * dy[0])
}

#[rrule(for = doubled)]
fn wrong_result_slice(x: &[f64]) -> (Vec<f64>, impl Fn(&[f32], &mut [f64])) {
    (doubled(x), |dy, dx| dx[0] += 2.0 * f64::from(dy[0]))
}

// More than floats behind a `&mut`.
#[rrule(for = grown)]
fn grown_rrule(x: &mut Vec<f64>) -> ((), impl Fn(&mut Vec<f64>) + use<>) {
    x.push(0.0);
    ((), |_| ())
}

// A string has no shadow.
#[rrule(for = named)]
fn named_rrule(x: f64, name: &str) -> (f64, impl Fn(f64, &mut str) -> f64) {
    (named(x, name), |dy, _| dy)
}

// Nor has a type that is not `Differentiable`.
#[rrule(for = opaque)]
fn opaque_rrule(x: &Opaque) -> (f64, impl Fn(f64, &mut Opaque)) {
    (x.0, |dy, dx| dx.0 += dy)
}

fn main() {}
