//! Random programs in Rust, compiled end to end with `cargo pullback`, against dual numbers.
//!
//! | module | what it does |
//! |---|---|
//! | [`template`] | source that is written once, for floats and for dual numbers |
//! | [`signature`] | what a function takes and returns, and the code that calls its derivatives |
//! | [`write`](mod@write) | a function's body |
//! | [`program`] | a whole program, from a seed |
//! | [`batch`] | crates of many programs |
//! | [`build`](mod@build) | builds and runs them, and finds out which program is at fault |
//! | [`compare`] | holds what derivatives computed against what dual numbers say |
//! | [`shrink`](mod@shrink) | a smaller program with the same fault |
//! | [`campaign`] | many batches |
//! | [`numbers`] | the numbers that programs are run on |
//!
//! The oracle is exact: the same source, compiled with dual numbers in the place of floats. Of each program is checked:
//! that forward and reverse derivatives, by attribute and by `value_and_grad`, `jvp` and `hvp`, are those of the dual
//! numbers; that they return the primal's values, to the last bit; that they panic where it does, with the same
//! message, and leave shadows as they were.

pub mod batch;
pub mod build;
pub mod campaign;
pub mod compare;
#[path = "support/stream.rs"]
#[expect(missing_docs, reason = "the crates of random programs have the file, too, and say what it is")]
pub mod numbers;
pub mod program;
pub mod shrink;
pub mod signature;
pub mod template;
pub mod write;
