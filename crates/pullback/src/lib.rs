//! Derivatives of ordinary Rust functions on stable Rust.
//!
//! Put [`autodiff`] on a function, and build with `cargo pullback build`:
//!
#![cfg_attr(pullback, doc = "```")]
#![cfg_attr(not(pullback), doc = "```no_run")]
//! use pullback::autodiff;
//!
//! #[autodiff(df, Reverse, Active, Duplicated, Active)]
//! fn f(x: f32, y: &f32) -> f32 {
//!     x * x + 3.0 * y
//! }
//!
//! let mut dy = 0.0;
//! let (dx, value) = df(2.0, &5.0, &mut dy);
//! assert_eq!((dx, dy, value), (4.0, 3.0, 19.0));
//! ```
//!
//! The words after the mode say what each argument, and last the result, is to the derivative:
//!
//! | word | reverse mode | forward mode |
//! |---|---|---|
//! | `Const` (or `Constant`) | no derivative | no derivative |
//! | `Active` | passed by value; its gradient is returned. As the result: the seed is 1 | – |
//! | `ActiveOnly` | a result that is not returned | – |
//! | `Duplicated` | followed by its shadow, to which the gradient is *added*. As the result: its cotangent is the last argument | as `Dual` |
//! | `DuplicatedOnly`, `DuplicatedNoNeed` | the same, and nobody looks at the primal afterwards. As the result: as `ActiveOnly` | as `DualOnly` |
//! | `Dual` | – | followed by its tangent. As the result: primal and tangent are returned |
//! | `DualOnly` | – | the same, and nobody looks at the primal. As the result: only the tangent is returned |
//! | `Dualv`, `DualvOnly` | – | with a width N: followed by one slice that holds the N tangents one after the other |
//!
//! A shadow has the shape of its value: [`make_zero`] makes one. Types of your own take part with
//! [`#[derive(Differentiable)]`](derive@Differentiable).
//!
//! [`autodiff_forward`] and [`autodiff_reverse`] have the signatures of nightly Rust's `std::autodiff`.

#![warn(missing_docs)]

// The derive says `::pullback`, also in the tests of this crate.
#[cfg(test)]
extern crate self as pullback;

#[doc(hidden)]
pub mod __private;
pub mod abi;
mod differentiable;
pub mod rt;

pub use differentiable::{
    Access, ActiveResult, Differentiable, MakeZero, Mismatch, Path, SharedWritable, Sharing, Writable, layout_of,
};
pub use differentiable::{ToZero, make_zero};
pub use pullback_macros::{Differentiable, autodiff, autodiff_forward, autodiff_reverse};
