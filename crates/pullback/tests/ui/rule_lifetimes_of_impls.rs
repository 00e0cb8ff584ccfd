use pullback::rules::NoTangent;
use pullback::{frule, rrule};
use std::cell::Cell;

struct Two<'a, 'b>(Cell<&'a usize>, Cell<&'b usize>);

impl Two<'_, '_> {
    fn product(&self, x: f64) -> f64 {
        (*self.0.get() * *self.1.get()) as f64 * x
    }
}

/// It could put what ends where something lives longer.
#[rrule(for = Two::product)]
fn one_for_two<'x>(two: &Two<'x, 'x>, x: f64) -> (f64, impl Fn(f64, NoTangent) -> f64 + use<>) {
    two.0.swap(&two.1);
    (x, move |dy, _| dy)
}

/// So could this one.
#[rrule(for = Two::product)]
fn with_a_bound<'x: 'y, 'y>(two: &Two<'x, 'y>, x: f64) -> (f64, impl Fn(f64, NoTangent) -> f64 + use<>) {
    two.1.set(two.0.get());
    (x, move |dy, _| dy)
}

fn copied<'a, 'b: 'a>(a: &Cell<&'a usize>, b: &Cell<&'b usize>, x: f64) -> f64 {
    a.set(b.get());
    *a.get() as f64 * x
}

/// And this one, for a function whose lifetimes depend on each other.
#[rrule(for = copied)]
fn one_for_dependent<'x>(
    a: &Cell<&'x usize>,
    b: &Cell<&'x usize>,
    x: f64,
) -> (f64, impl Fn(f64, NoTangent, NoTangent) -> f64 + use<>) {
    a.swap(b);
    (x, move |dy, _, _| dy)
}

/// What depends on what is not proved.
#[rrule(for = copied)]
fn the_other_way<'a: 'b, 'b>(
    a: &Cell<&'a usize>,
    b: &Cell<&'b usize>,
    x: f64,
) -> (f64, impl Fn(f64, NoTangent, NoTangent) -> f64 + use<>) {
    b.set(a.get());
    (x, move |dy, _, _| dy)
}

fn seen(last: &Cell<&[f64]>, x: &[f64]) -> f64 {
    last.get()[0] * x[0]
}

/// A tangent ends with the call.
#[frule(for = seen)]
fn keeps_a_tangent<'x>(last: &Cell<&'x [f64]>, _: NoTangent, x: &[f64], dx: &'x [f64]) -> (f64, f64) {
    last.set(dx);
    (x[0], dx[0])
}

#[pullback::has_frule(keeps_another)]
fn seen_as<T>(last: &Cell<&[f64]>, x: &[f64], _: &T) -> f64 {
    last.get()[0] * x[0]
}

#[frule(generic)]
fn keeps_another<'x, T>(
    last: &Cell<&'x [f64]>,
    _: NoTangent,
    x: &[f64],
    dx: &'x [f64],
    _: &T,
    _: NoTangent,
) -> (f64, f64) {
    last.set(dx);
    (x[0], dx[0])
}

mod right {
    use super::*;

    struct Window<'a>(&'a [f64]);

    impl<'a> Window<'a> {
        fn with(&self, other: &Window<'a>) -> f64 {
            self.0[0] * other.0[0]
        }

        fn longer<'b: 'a>(&self, other: &'b [f64]) -> f64 {
            self.0[0] * other[0]
        }
    }

    #[rrule(for = Window::with)]
    fn with<'a>(this: &Window<'a>, other: &Window<'a>) -> (f64, impl Fn(f64, NoTangent, NoTangent) + use<>) {
        (this.with(other), move |_, _, _| ())
    }

    #[rrule(for = Window::longer)]
    fn longer<'a, 'b: 'a>(this: &Window<'a>, other: &'b [f64]) -> (f64, impl Fn(f64, NoTangent, NoTangent) + use<>) {
        (this.longer(other), move |_, _, _| ())
    }

    fn exchanged<'a>(a: &Cell<&'a usize>, b: &Cell<&'a usize>, x: &f64) -> f64 {
        a.swap(b);
        *x
    }

    /// What is one lifetime in the function is one in the rule; what stands outside may end earlier.
    #[rrule(for = exchanged)]
    fn one_for_one<'o, 'a>(
        a: &'o Cell<&'a usize>,
        b: &'o Cell<&'a usize>,
        x: &'o f64,
    ) -> (f64, impl Fn(f64, NoTangent, NoTangent, &mut f64) + use<'o, 'a>) {
        let _ = (a, b);
        (exchanged(a, b, x), move |dy, _, _, dx| *dx += dy)
    }

    struct Shelf<'a>(Cell<&'a [usize]>);

    fn placed<'a, 'b>(from: &'b Shelf<'a>, to: &Shelf<'b>, x: f64) -> f64 {
        to.0.set(from.0.get());
        x
    }

    /// What the types of arguments imply may be said.
    #[rrule(for = placed)]
    fn said<'a, 'b>(
        from: &'b Shelf<'a>,
        to: &Shelf<'b>,
        x: f64,
    ) -> (f64, impl Fn(f64, NoTangent, NoTangent) -> f64 + use<>)
    where
        'a: 'b,
    {
        (placed(from, to, x), |dy, _, _| dy)
    }

    #[frule(for = dot)]
    fn dot_frule<'a>(x: &'a [f64], dx: &'a [f64], y: &'a [f64], dy: &'a [f64]) -> (f64, f64) {
        (dot(x, y), dot(x, dy) + dot(dx, y))
    }

    fn dot(x: &[f64], y: &[f64]) -> f64 {
        x[0] * y[0]
    }
}

fn main() {}
