//! Random programs that check Pullback's engine.
//!
//! | module | what it does |
//! |---|---|
//! | [`generate`] | random programs in the IR, from a seed |
//! | [`image`] | the memory of their arguments, apart from any machine |
//! | [`dual`] | the oracle: an evaluator on dual numbers |
//! | [`oracle`] | runs a program on it |
//! | [`rng`] | the random numbers |

pub mod dual;
pub mod generate;
pub mod image;
pub mod oracle;
pub mod rng;
