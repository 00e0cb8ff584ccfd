//! The evals, each in a file of its own.

use crate::protocol::Eval;
use serde::{Deserialize, Deserializer};

mod ba;
mod descent;
mod det;
mod gmm;
mod hello;
mod ht;
mod kmeans;
mod llsq;
mod lse;
mod lstm;
mod ode;
mod particle;
mod saddle;

pub const ALL: [Eval; 12] = [
    ba::EVAL,
    det::EVAL,
    gmm::EVAL,
    hello::EVAL,
    ht::EVAL,
    kmeans::EVAL,
    llsq::EVAL,
    lse::EVAL,
    lstm::EVAL,
    ode::EVAL,
    particle::EVAL,
    saddle::EVAL,
];

/// A matrix that is given as rows, read as its numbers one row after the other.
fn flat<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<f64>, D::Error> {
    Vec::<Vec<f64>>::deserialize(input).map(|rows| rows.concat())
}

/// ln Σ exp xᵢ, without overflow.
fn logsumexp(x: &[f64]) -> f64 {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    max + x.iter().map(|x| (x - max).exp()).sum::<f64>().ln()
}
