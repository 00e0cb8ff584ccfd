//! A tangent that refers to a constant would refer to zeros of the derivative's own, which are gone when it returns.

use pullback::{Differentiable, autodiff};

static TABLE: [f64; 2] = [1.0, 2.0];

#[autodiff(t_chosen, Forward, Dual, Dual)]
fn chosen(x: f64) -> &'static f64 {
    &TABLE[usize::from(x > 0.0)]
}

#[derive(Differentiable)]
struct View<'a> {
    all: &'a [f64],
}

#[autodiff(t_reset, Forward, Dual, Dual)]
fn reset(view: &mut View<'_>, x: f64) {
    if x > 0.0 {
        view.all = &TABLE;
    }
}

fn main() {
    println!("{:?}", t_chosen(1.0, 1.0));
    let (values, tangents) = ([3.0], [1.0]);
    t_reset(&mut View { all: &values }, &mut View { all: &tangents }, 1.0, 1.0);
}
