//! Rules for forward mode.

use pullback::frule;
use pullback::rules::NoTangent;

fn f(x: f64) -> f64 {
    x
}

fn sum(x: &[f64], n: usize) -> f64 {
    x[n]
}

fn update(x: &mut [f64]) {
    x[0] = 0.0;
}

#[frule(for = f)]
fn no_tangent_follows(x: f64) -> (f64, f64) {
    (x, 1.0)
}

#[frule(for = f)]
fn no_result_tangent(x: f64, dx: f64) -> f64 {
    x + dx
}

#[frule(for = sum)]
fn not_a_reference(x: &[f64], dx: f64, n: usize, _: NoTangent) -> (f64, f64) {
    (sum(x, n), dx)
}

#[frule(for = sum)]
fn wrong_elements(x: &[f64], dx: &[f32], n: usize, _: NoTangent) -> (f64, f64) {
    (sum(x, n), f64::from(dx[0]))
}

#[frule(for = f)]
fn wrong_tangent(x: f64, dx: f32) -> (f64, f64) {
    (x, f64::from(dx))
}

#[frule(for = f)]
fn wrong_result_tangent(x: f64, dx: f64) -> (f64, f32) {
    (x, dx as f32)
}

#[frule(for = update)]
fn shared_tangent(x: &mut [f64], _dx: &[f64]) {
    x[0] = 0.0;
}

#[frule(for = update)]
fn untracked(x: &mut [f64], _: NoTangent) {
    x[0] = 0.0;
}

#[frule(for = update, transpose)]
fn transposed_in_place(x: &mut [f64], dx: &mut [f64]) {
    x[0] = 0.0;
    dx[0] = 0.0;
}

#[pullback::rrule(for = f, transpose)]
fn transposed_reverse(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (x, |d| d)
}

fn main() {}
