//! The inside of the attributes.

use pullback::{frule, has_rrule, non_differentiable, non_differentiable_fn, opt_out, opt_out_fn, rrule};

fn f(x: f64) -> f64 {
    x
}

fn norm<T: Copy>(x: T) -> T {
    x
}

const LENGTH: usize = 3;

#[rrule]
fn no_target(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (x, |dy| dy)
}

#[rrule(f)]
fn no_word(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (x, |dy| dy)
}

#[frule(for = "f")]
fn not_a_path(x: f64, dx: f64) -> (f64, f64) {
    (x, dx)
}

#[rrule(for = f, convention = "C")]
fn unknown_option(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (x, |dy| dy)
}

#[rrule(for = norm)]
fn no_instances<T: Copy>(x: T) -> (T, impl Fn(T) -> T) {
    (x, |dy| dy)
}

#[rrule(for = norm, U = [f64])]
fn unknown_parameter<T: Copy>(x: T) -> (T, impl Fn(T) -> T) {
    (x, |dy| dy)
}

#[rrule(generic, T = [f64])]
fn generic_with_instances<T: Copy>(x: T) -> (T, impl Fn(T) -> T) {
    (x, |dy| dy)
}

#[has_rrule]
fn unnamed(x: f64) -> f64 {
    x
}

#[non_differentiable(for = f)]
fn with_option(x: f64) -> f64 {
    x
}

non_differentiable_fn!();

non_differentiable_fn!(LENGTH);

opt_out_fn!("f");

#[opt_out]
fn any<T>(x: T) -> T {
    x
}

#[opt_out(for = f)]
fn elsewhere(x: f64) -> f64 {
    x
}

struct Thing(f64);

impl Thing {
    #[opt_out]
    fn method(&self) -> f64 {
        self.0
    }
}

fn main() {}
