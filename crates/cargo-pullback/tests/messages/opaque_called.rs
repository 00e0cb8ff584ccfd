//! Functions without derivative that do more than read: each of these broke memory, or the gradient.

use pullback::{autodiff, grad, non_differentiable, non_differentiable_fn};
use std::cell::Cell;
use std::rc::Rc;

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

/// In forward mode a shadow is dropped where its primal is, also one without floats.
#[non_differentiable]
fn renew(count: &mut Rc<Cell<usize>>) {
    *count = Rc::new(Cell::new(count.get() + 1));
}

#[autodiff(t_counted, Forward, Dual, Dual)]
fn counted(mut state: (Rc<Cell<usize>>, f64)) -> f64 {
    renew(&mut state.0);
    state.1 * state.1
}

fn main() {
    let x = [1.0, 2.0];
    let state = || (Rc::new(Cell::new(1)), 1.0);
    println!("{:?}", t_counted(state(), state()));
    println!("{:?} {:?}", grad(grown, &x[..]), grad(refilled, &x[..]));
    println!("{:?} {:?}", grad(through_a_reference, &x[..]), grad(reserved, &x[..]));
}
