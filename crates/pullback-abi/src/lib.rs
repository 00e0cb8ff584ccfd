//! What a program tells Pullback's driver, as bytes: the one place that knows them.
//!
//! An attribute leaves constants in the program, a [`Request`] for a derivative or a [`Rule`] for a function, and hands
//! them to functions that are never defined, the [`markers`]. The driver finds the calls of those in the program's
//! bitcode and reads the constants. Three crates that never run together share these types:
//!
//! ```text
//! pullback-macros ── writes code that makes ──▶ constants ◀── finds in bitcode ── cargo-pullback
//!                                                  │
//!                                     pullback ────┘ walks through layouts at run time
//! ```
//!
//! **Given** is nothing: no dependency, no allocation. **Promised** is that
//!
//! - the structures are `repr(C)`, and their fields are public, so that the driver reads each at its `offset_of!`. It
//!   reads programs for targets whose pointers are as wide as its own;
//! - whatever these fields hold, to read them is safe: pointers to data are in [`Slice`] and [`Str`], which are made of
//!   `&'static` data only;
//! - a number that nobody has given a meaning is an [`UnknownNumber`], not a guess;
//! - who changes the bytes changes [`VERSION`], and a test that says where each field lies.
//!
//! `docs/architecture.md` has the same tables in words.

#![no_std]
#![deny(unsafe_code)]

mod layout;
pub mod markers;
mod numbers;
mod request;
mod rule;
mod slice;
#[cfg(test)]
mod tests;

pub use layout::{Field, Layout, LayoutFn};
pub use numbers::{Activity, Kind, Mode, RuleKind, UnknownNumber};
pub use request::{Arg, Request};
pub use rule::{ENTRY, Kept, Rule, RuleEntry};
pub use slice::{Slice, Str};

/// The version of these structures, which requests and rules begin with.
pub const VERSION: u32 = 3;
