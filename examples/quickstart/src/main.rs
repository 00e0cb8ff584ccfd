//! A first look at Pullback: values and gradients of three functions.
//!
//! Run it with `cargo pullback run`, or from the repository with `cargo xtask demo`.

use pullback::{Differentiable, autodiff, make_zero};

/// x² + 3y. The derivative `df` returns ∂f/∂x and the value, and adds ∂f/∂y to `dy`.
#[autodiff(df, Reverse, Active, Duplicated, Active)]
fn f(x: f32, y: &f32) -> f32 {
    x * x + 3.0 * y
}

/// How far a small network with one hidden layer is from the labels, in the mean. Each sample is two inputs and a
/// label; the weights are four hidden units of two weights and a bias each, then the output's four weights and bias.
///
/// `backprop` adds the gradient to `dweights`; of the samples no gradient is asked for, and none is computed.
#[autodiff(backprop, Reverse, Const, Duplicated, Active)]
fn training_loss(samples: &[[f32; 3]], weights: &[f32]) -> f32 {
    let (hidden, output) = weights.split_at(12);
    let mut loss = 0.0;
    for [a, b, label] in samples {
        let units = hidden.chunks(3).map(|w| (w[0] * a + w[1] * b + w[2]).tanh());
        let sum: f32 = units.zip(output).map(|(unit, w)| unit * w).sum();
        let error = sum + output[4] - label;
        loss += error * error;
    }
    loss / samples.len() as f32
}

/// A linked list. Its shadow is a list of the same length.
#[derive(Differentiable, Debug, PartialEq)]
enum List {
    Nil,
    Cons(f64, Box<List>),
}

impl List {
    fn new(values: &[f64]) -> List {
        values.iter().rev().fold(List::Nil, |rest, value| List::Cons(*value, Box::new(rest)))
    }
}

/// The product of a list's values.
#[autodiff(product_gradient, Reverse, Duplicated, Active)]
fn product(list: &List) -> f64 {
    match list {
        List::Nil => 1.0,
        List::Cons(value, rest) => value * product(rest),
    }
}

/// Exclusive or, which a network without a hidden layer cannot learn.
const SAMPLES: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]];

/// Weights before training: small, and all different.
fn first_weights() -> Vec<f32> {
    (0..17).map(|i| (i as f32 * 1.7).sin()).collect()
}

/// Train for so many steps; return the loss before each.
fn train(weights: &mut [f32], steps: usize) -> Vec<f32> {
    let mut losses = Vec::new();
    for _ in 0..steps {
        let mut dweights = vec![0.0; weights.len()];
        losses.push(backprop(&SAMPLES, weights, &mut dweights));
        for (weight, slope) in weights.iter_mut().zip(&dweights) {
            *weight -= 0.5 * slope;
        }
    }
    losses
}

fn main() {
    println!("f(x, y) = x² + 3y at (2, 5)");
    let mut dy = 0.0;
    let (dx, value) = df(2.0, &5.0, &mut dy);
    println!("  value {value}, ∂f/∂x {dx}, ∂f/∂y {dy}\n");

    println!("Training a network of 17 weights on exclusive or");
    let mut weights = first_weights();
    let losses = train(&mut weights, 500);
    for step in [0, 10, 100, 499] {
        println!("  loss before step {step:>3}: {:.5}", losses[step]);
    }

    println!("\nThe product of a linked list");
    let list = List::new(&[2.0, 3.0, 4.0]);
    let mut gradient = make_zero(&list);
    let value = product_gradient(&list, &mut gradient);
    println!("  {list:?}\n  value {value}\n  gradient {gradient:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shadows_accumulate() {
        let mut dy = 0.0;
        for _ in 0..5 {
            assert_eq!(df(2.0, &5.0, &mut dy), (4.0, 19.0));
        }
        assert_eq!(dy, 15.0);
    }

    #[test]
    fn training_succeeds() {
        let losses = train(&mut first_weights(), 500);
        assert!(losses[0] > 0.2 && losses[499] < 1e-4, "{} to {}", losses[0], losses[499]);
    }

    #[test]
    fn the_shadow_of_a_list_is_a_list() {
        let list = List::new(&[2.0, 3.0, 4.0]);
        let mut gradient = make_zero(&list);
        assert_eq!(product_gradient(&list, &mut gradient), 24.0);
        assert_eq!(gradient, List::new(&[12.0, 8.0, 6.0]));
    }
}
