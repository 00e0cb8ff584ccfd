//! A type that has the name of one of the standard library is not taken for it: its shadow could be of another shape.

use pullback::{Differentiable, MakeZero, Writable, autodiff};

trait Beside {
    type Value: MakeZero + Writable;
}

impl Beside for &f64 {
    type Value = [usize; 3];
}

impl Beside for &mut f64 {
    type Value = std::vec::Vec<f64>;
}

/// Not the one of the standard library.
#[derive(Differentiable)]
struct Vec<T: Beside>(T, T::Value);

#[autodiff(d_f, Reverse, Duplicated, Active)]
fn f(values: Vec<&f64>) -> f64 {
    *values.0
}

fn main() {}
