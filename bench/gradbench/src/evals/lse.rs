//! `lse`: the logarithm of a sum of exponentials.

use super::logsumexp;
use crate::protocol::{Eval, evaluate_plain};
use pullback::autodiff;
use serde::Deserialize;

pub const EVAL: Eval = Eval {
    name: "lse",
    functions: &[
        ("primal", |input| evaluate_plain(input, |input: &Input| primal(&input.x))),
        ("gradient", |input| evaluate_plain(input, |input: &Input| gradient(&input.x))),
    ],
};

#[derive(Deserialize)]
struct Input {
    x: Vec<f64>,
}

#[autodiff(d_primal, Reverse, Duplicated, ActiveOnly)]
fn primal(x: &[f64]) -> f64 {
    logsumexp(x)
}

fn gradient(x: &[f64]) -> Vec<f64> {
    let mut gradient = vec![0.0; x.len()];
    d_primal(x, &mut gradient);
    gradient
}
