use pullback::rrule;
use pullback::rules::NoTangent;
use std::cell::Cell;

#[derive(Clone, Copy)]
struct Window<'a>(&'a [f64]);

type Forever = Window<'static>;
type AlwaysForever<'x> = Window<'static>;

trait Chooses<'x> {
    type Chosen;
}

impl<'x> Chooses<'x> for () {
    type Chosen = Window<'static>;
}

fn weighted(window: Window<'_>, x: f64) -> f64 {
    window.0[0] * x
}

#[rrule(for = weighted)]
fn hidden(window: Forever, x: f64) -> (f64, impl Fn(f64) -> (NoTangent, f64)) {
    (weighted(window, x), move |dy| (NoTangent, dy * window.0[0]))
}

#[rrule(for = weighted)]
fn unused<'x>(window: AlwaysForever<'x>, x: f64) -> (f64, impl Fn(f64) -> (NoTangent, f64) + use<>) {
    (weighted(window, x), move |dy| (NoTangent, dy * window.0[0]))
}

#[rrule(for = weighted)]
fn projected<'x>(window: <() as Chooses<'x>>::Chosen, x: f64) -> (f64, impl Fn(f64) -> (NoTangent, f64) + use<>) {
    (weighted(window, x), move |dy| (NoTangent, dy * window.0[0]))
}

fn exchanged<'a, 'b>(a: &Cell<&'a usize>, b: &Cell<&'b usize>, x: f64) -> f64 {
    (*a.get() * *b.get()) as f64 * x
}

/// It could put what ends where something lives longer.
#[rrule(for = exchanged)]
fn one_for_two<'x>(
    a: &Cell<&'x usize>,
    b: &Cell<&'x usize>,
    x: f64,
) -> (f64, impl Fn(f64, NoTangent, NoTangent) -> f64 + use<>) {
    a.swap(b);
    (x, move |dy, _, _| dy)
}

/// This one is right.
#[rrule(for = weighted)]
fn right(window: Window<'_>, x: f64) -> (f64, impl Fn(f64) -> (NoTangent, f64)) {
    (weighted(window, x), move |dy| (NoTangent, dy * window.0[0]))
}

fn main() {}
