//! Functions without derivative that do more than read: each of these broke memory, or the gradient.

use pullback::{grad, non_differentiable, non_differentiable_fn};

#[non_differentiable]
fn grow(values: &mut Vec<f64>) {
    values.push(3.0);
}

fn grown(x: &[f64]) -> f64 {
    let mut squares = vec![x[0] * x[0], x[1] * x[1]];
    grow(&mut squares);
    squares.iter().sum()
}

#[non_differentiable]
fn refill(values: &mut [f64]) {
    values.fill(3.0);
}

fn refilled(x: &[f64]) -> f64 {
    let mut squares = [x[0] * x[0], x[1] * x[1]];
    refill(&mut squares);
    squares[0] * x[1]
}

#[non_differentiable]
fn first(values: &mut [f64]) -> &mut f64 {
    &mut values[0]
}

fn through_a_reference(x: &[f64]) -> f64 {
    let mut squares = [x[0] * x[0], x[1] * x[1]];
    *first(&mut squares) = 3.0;
    squares[0] * squares[1]
}

non_differentiable_fn!(Vec::<f64>::reserve);

fn reserved(x: &[f64]) -> f64 {
    let mut squares = vec![x[0] * x[0], x[1] * x[1]];
    squares.reserve(1000);
    squares.push(x[0]);
    squares.iter().sum()
}

fn main() {
    let x = [1.0, 2.0];
    println!("{:?} {:?}", grad(grown, &x[..]), grad(refilled, &x[..]));
    println!("{:?} {:?}", grad(through_a_reference, &x[..]), grad(reserved, &x[..]));
}
