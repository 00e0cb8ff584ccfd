//! `llsq`: how far a polynomial is from the sign function, in the sense of least squares.

use crate::protocol::{Eval, evaluate_plain};
use pullback::autodiff;
use serde::Deserialize;

pub const EVAL: Eval = Eval {
    name: "llsq",
    functions: &[
        ("primal", |input| evaluate_plain(input, |input: &Input| primal(&input.x, input.n))),
        ("gradient", |input| evaluate_plain(input, |input: &Input| gradient(&input.x, input.n))),
    ],
};

#[derive(Deserialize)]
struct Input {
    x: Vec<f64>,
    n: usize,
}

/// ½ Σ (sign t − Σ xⱼ tʲ)² over `n` points t between −1 and 1.
#[autodiff(d_primal, Reverse, Duplicated, Const, ActiveOnly)]
fn primal(x: &[f64], n: usize) -> f64 {
    let squares = (0..n).map(|i| {
        let t = -1.0 + 2.0 * i as f64 / (n as f64 - 1.0);
        let (mut residual, mut power) = (sign(t), 1.0);
        for x in x {
            residual = x.mul_add(-power, residual);
            power *= t;
        }
        residual * residual
    });
    0.5 * squares.sum::<f64>()
}

/// −1, 0 or 1.
fn sign(t: f64) -> f64 {
    if t == 0.0 { 0.0 } else { t.signum() }
}

fn gradient(x: &[f64], n: usize) -> Vec<f64> {
    let mut gradient = vec![0.0; x.len()];
    d_primal(x, &mut gradient, n);
    gradient
}
