//! `gmm`: the posterior of a Gaussian mixture, with a Wishart prior.

use super::{flat, logsumexp};
use crate::protocol::{Eval, evaluate, evaluate_plain};
use pullback::{Differentiable, autodiff, make_zero};
use serde::Deserialize;
use serde_json::json;
use std::f64::consts::{PI, SQRT_2};

pub const EVAL: Eval = Eval {
    name: "gmm",
    functions: &[
        ("objective", |input| evaluate_plain(input, |input: &Input| objective(&input.parameters, &input.data))),
        ("jacobian", |input| {
            evaluate(
                input,
                |input: &Input| gradient(&input.parameters, &input.data),
                |input, gradient| {
                    let rows = |of: &[f64]| -> Vec<Vec<f64>> {
                        let width = of.len() / input.data.k;
                        (0..input.data.k).map(|k| of[k * width..][..width].to_vec()).collect()
                    };
                    json!({
                        "alpha": gradient.alpha,
                        "mu": rows(&gradient.mu),
                        "q": rows(&gradient.q),
                        "l": rows(&gradient.l),
                    })
                },
            )
        }),
    ],
};

#[derive(Deserialize)]
struct Input {
    #[serde(flatten)]
    data: Data,
    #[serde(flatten)]
    parameters: Parameters,
}

#[derive(Deserialize)]
struct Data {
    /// The dimension.
    d: usize,
    /// The number of components.
    k: usize,
    /// Points, one after the other.
    #[serde(deserialize_with = "flat")]
    x: Vec<f64>,
    gamma: f64,
    m: usize,
}

/// Weight, mean and inverse covariance of each component.
#[derive(Deserialize, Differentiable)]
struct Parameters {
    alpha: Vec<f64>,
    #[serde(deserialize_with = "flat")]
    mu: Vec<f64>,
    /// The logarithms of the diagonal of each factor `Q`.
    #[serde(deserialize_with = "flat")]
    q: Vec<f64>,
    /// What is below the diagonal of each `Q`, column by column.
    #[serde(deserialize_with = "flat")]
    l: Vec<f64>,
}

/// The logarithm of the posterior.
#[autodiff(d_objective, Reverse, Duplicated, Const, ActiveOnly)]
fn objective(parameters: &Parameters, data: &Data) -> f64 {
    let Parameters { alpha, mu, q, l } = parameters;
    let (d, below) = (data.d, data.d * (data.d - 1) / 2);
    let diagonals: Vec<f64> = q.iter().map(|q| q.exp()).collect();
    let sums: Vec<f64> = q.chunks_exact(d).map(|q| q.iter().sum()).collect();

    let mut likelihood = 0.0;
    let (mut centred, mut transformed, mut terms) = (vec![0.0; d], vec![0.0; d], vec![0.0; data.k]);
    for x in data.x.chunks_exact(d) {
        for (k, term) in terms.iter_mut().enumerate() {
            for ((centred, x), mu) in centred.iter_mut().zip(x).zip(&mu[k * d..][..d]) {
                *centred = x - mu;
            }
            multiply(&diagonals[k * d..][..d], &l[k * below..][..below], &centred, &mut transformed);
            *term = alpha[k] + sums[k] - 0.5 * squared_norm(&transformed);
        }
        likelihood += logsumexp(&terms);
    }
    let n = (data.x.len() / d) as f64;
    likelihood - n * (0.5 * d as f64 * (2.0 * PI).ln() + logsumexp(alpha)) + prior(data, &diagonals, &sums, l)
}

/// `Q x` for a lower triangular `Q`.
fn multiply(diagonal: &[f64], mut below: &[f64], x: &[f64], out: &mut [f64]) {
    for ((out, q), x) in out.iter_mut().zip(diagonal).zip(x) {
        *out = q * x;
    }
    for (i, x) in x.iter().enumerate() {
        let out = &mut out[i + 1..];
        let (column, others) = below.split_at(out.len());
        for (out, l) in out.iter_mut().zip(column) {
            *out += l * x;
        }
        below = others;
    }
}

fn squared_norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

/// The logarithm of the Wishart prior.
fn prior(data: &Data, diagonals: &[f64], sums: &[f64], l: &[f64]) -> f64 {
    let (d, k, m) = (data.d as f64, data.k as f64, data.m as f64);
    let degrees = data.d + data.m + 1;
    let normalisation = degrees as f64 * d * (data.gamma / SQRT_2).ln() - ln_gamma_multivariate(degrees, data.d);
    let frobenius = squared_norm(diagonals) + squared_norm(l);
    k * normalisation - 0.5 * data.gamma * data.gamma * frobenius + m * sums.iter().sum::<f64>()
}

/// ln Γ_d(n / 2).
fn ln_gamma_multivariate(n: usize, d: usize) -> f64 {
    let sum: f64 = (0..d).map(|j| ln_gamma_of_half(n - j)).sum();
    0.25 * (d * (d - 1)) as f64 * PI.ln() + sum
}

/// ln Γ(n / 2), for n > 0.
fn ln_gamma_of_half(n: usize) -> f64 {
    let least = if n.is_multiple_of(2) { 0.0 } else { 0.5 * PI.ln() };
    // Γ(z + 1) = z Γ(z), from Γ(1) or Γ(½).
    least + (1..n - 1).rev().step_by(2).map(|z| (0.5 * z as f64).ln()).sum::<f64>()
}

fn gradient(parameters: &Parameters, data: &Data) -> Parameters {
    let mut gradient = make_zero(parameters);
    d_objective(parameters, &mut gradient, data);
    gradient
}
