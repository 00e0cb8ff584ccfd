//! Random programs that check Pullback's engine.
//!
//! | module | what it does |
//! |---|---|
//! | [`mod@generate`] | random programs in the IR, from a seed |
//! | [`image`] | the memory of their arguments, apart from any machine |
//! | [`dual`] | an evaluator of the IR on dual numbers |
//! | [`oracle`] | what a program's derivative has to be, by that evaluator |
//! | [`execution`] | runs of a program and of its derivative in the interpreter |
//! | [`mod@check`] | the checks of one program |
//! | [`mod@nest`] | derivatives of programs, as programs |
//! | [`mod@shrink`] | a smaller program that fails in the same way |
//! | [`campaign`] | many programs |
//! | [`rust`] | the same for random Rust programs, end to end |
//! | [`safe`] | random safe programs around derivatives, under valgrind |
//! | [`rng`] | the random numbers |

#![forbid(unsafe_code)]

pub mod campaign;
pub mod check;
pub mod dual;
pub mod execution;
pub mod generate;
pub mod image;
mod jobs;
pub mod nest;
pub mod oracle;
mod process;
pub mod rng;
pub mod rust;
pub mod safe;
pub mod shrink;
