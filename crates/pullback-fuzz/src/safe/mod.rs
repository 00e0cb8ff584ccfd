//! Random *safe* programs around derivatives: an adversary of the claim that derivatives called from safe code are
//! memory-safe.
//!
//! | module | what it does |
//! |---|---|
//! | `types` | random types |
//! | `body` | random statements about values of these types |
//! | `callees` | functions that these call: opaque ones, and ones with rules |
//! | [`program`](mod@program) | functions, their arguments, shadows, and calls of their derivatives |
//! | [`build`] | builds programs, runs them under valgrind in both profiles, and reads what was said |
//! | [`campaign`] | many of them |
//!
//! A program has no `unsafe`, and panics only inside of `catch_unwind`. So there must be no invalid access, no block
//! that is lost or given back with another layout, no abort, no signal and no hang. And the derivative is that of the
//! same program with dual numbers. `docs/safety.md` says what this finds in an engine that is broken on purpose.

mod body;
pub mod build;
mod callees;
pub mod campaign;
pub mod program;
mod types;
