//! A derivative by nothing of nothing.

use pullback::{autodiff, autodiff_forward, autodiff_reverse};

#[autodiff(df, Reverse, Const, Const)]
fn f(x: f64) -> f64 {
    x
}

#[autodiff(dg, Forward, x = Const)]
fn g(x: f64) -> f64 {
    x
}

#[autodiff_forward(dh, Const)]
fn h(_: usize) {}

#[autodiff_reverse(dk, Const)]
fn k(x: &mut f64) {
    *x = 1.0;
}

fn main() {}
