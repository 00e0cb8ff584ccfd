//! Raw pointers and their shadows, and what becomes of memory.

use pullback::rules::{Memory, NoTangent};
use pullback::{frule, rrule};

unsafe extern "C" {
    fn sum(n: i32, x: *const f64) -> f64;
    fn clear(n: i32, x: *mut f64);
    fn names(n: i32, x: *const Vec<f64>) -> f64;
}

#[rrule(for = sum, abi = "C")]
fn reference_for_pointer(n: i32, x: *const f64) -> (f64, impl Fn(f64, &mut f64) -> NoTangent) {
    (unsafe { sum(n, x) }, |_, _: &mut f64| NoTangent)
}

#[rrule(for = sum, abi = "C")]
fn no_shadow(n: i32, x: *const f64) -> (f64, impl Fn(f64) -> NoTangent) {
    (unsafe { sum(n, x) }, |_| NoTangent)
}

#[rrule(for = sum, abi = "C")]
fn wrong_elements(n: i32, x: *const f64) -> (f64, impl Fn(f64, *mut f32) -> NoTangent) {
    (unsafe { sum(n, x) }, |_, _: *mut f32| NoTangent)
}

#[rrule(for = clear, abi = "C")]
fn untracked(n: i32, x: *mut f64) -> ((), impl Fn(NoTangent) -> NoTangent) {
    (unsafe { clear(n, x) }, |_| NoTangent)
}

#[rrule(for = names, abi = "C")]
fn more_than_floats(n: i32, x: *const Vec<f64>) -> (f64, impl Fn(f64, *mut Vec<f64>) -> NoTangent) {
    (unsafe { names(n, x) }, |_, _: *mut Vec<f64>| NoTangent)
}

#[frule(for = clear, abi = "C")]
fn shared_tangent(n: i32, _: NoTangent, x: *mut f64, _: *const f64) {
    unsafe { clear(n, x) }
}

fn scale(x: &mut [f64]) {
    x[0] *= 2.0;
}

#[rrule(for = scale)]
fn told_of_what_is_written(_: Memory, x: &mut [f64]) -> ((), impl Fn(&mut [f64]) + use<>) {
    scale(x);
    ((), |dx: &mut [f64]| dx[0] *= 2.0)
}

#[rrule(generic)]
fn told_of_any(_: Memory, x: &[f64]) -> (f64, impl Fn(f64, &mut [f64]) + use<>) {
    (x[0], |dy, dx: &mut [f64]| dx[0] += dy)
}

fn main() {}
