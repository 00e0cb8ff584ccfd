//! Random programs in Rust, compiled end to end with `cargo pullback`.
//!
//! | module | what it does |
//! |---|---|
//! | [`write`](mod@write) | one random function, from a seed |
//! | [`batch`] | a crate of many, with a `main` that checks them |
//! | [`campaign`] | builds and runs batches, and finds the function that is wrong |
//!
//! Every function has the same signature, so that one `main` checks all:
//! `fn f(x: f64, p: &P, v: &[f64], m: &mut [f64], c: &[f64], n: usize) -> f64`, where `c` and `n` are constant and `m` is both
//! argument and result. What is checked: reverse against forward by the dot product, forward against central differences,
//! and the primal's result and effect from both derivatives to the last bit.

pub mod batch;
pub mod campaign;
pub mod write;
