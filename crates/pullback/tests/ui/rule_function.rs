//! What a rule's function is.

use pullback::rules::NoTangent;
use pullback::{has_rrule, non_differentiable, rrule};

struct Point(f64);

impl Point {
    fn norm(&self) -> f64 {
        self.0
    }

    #[rrule(for = Point::norm)]
    fn norm_rrule(&self) -> (f64, impl Fn(f64, &mut Point)) {
        (self.0, |dy, dx| dx.0 += dy)
    }

    #[non_differentiable]
    fn steps(&self) -> f64 {
        self.0.floor()
    }
}

fn f(x: f64) -> f64 {
    x
}

fn apply(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    f(x)
}

fn first(x: &[f64]) -> &f64 {
    &x[0]
}

#[rrule(for = f)]
unsafe fn unsafe_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (x, |dy| dy)
}

#[rrule(for = f)]
const RULE: f64 = 1.0;

#[rrule(for = apply)]
fn apply_rrule(f: impl Fn(f64) -> f64, x: f64) -> (f64, impl Fn(f64) -> f64) {
    (f(x), |dy| dy)
}

#[rrule(for = first)]
fn first_rrule(x: &[f64]) -> (&f64, impl Fn(&f64, &mut [f64])) {
    (&x[0], |dy, dx| dx[0] += dy)
}

#[rrule(for = f)]
fn forever_rrule(x: &'static f64) -> (f64, impl Fn(f64, &mut f64)) {
    (*x, |dy, dx| *dx += dy)
}

#[rrule(for = f)]
fn outliving_rrule<'a: 'static>(x: &'a f64) -> (f64, impl Fn(f64, &mut f64)) {
    (*x, |dy, dx| *dx += dy)
}

#[rrule(for = f)]
fn through_a_clause_rrule<'a, 'b>(x: &'a f64, _: &'b f64) -> (f64, impl Fn(f64, &mut f64, &mut f64))
where
    'a: 'b,
    'b: 'static,
{
    (*x, |dy, dx, _| *dx += dy)
}

#[rrule(for = f)]
fn through_a_type_rrule<'a>(x: &'a f64) -> (f64, impl Fn(f64, &mut f64))
where
    &'a f64: 'static,
{
    (*x, |dy, dx| *dx += dy)
}

#[rrule(for = f)]
fn owned_object_rrule(x: f64, _: Box<dyn Fn(f64) -> f64>) -> (f64, impl Fn(f64) -> (f64, NoTangent)) {
    (x, |dy| (dy, NoTangent))
}

#[has_rrule(f_rrule)]
const fn constant(x: f64) -> f64 {
    x
}

fn main() {}
