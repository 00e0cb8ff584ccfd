//! What rules are written with: tangents and cotangents that are known to be nothing, zero, or not needed yet.
//!
//! A rule tells Pullback how to differentiate a function, where its body should not be differentiated, cannot be, or
//! can be differentiated better by hand. A rule for reverse mode, [`rrule`](crate::rrule), is one function that returns
//! the value and the pullback, and what that closure captures is all that is kept between the two sweeps:
//!
//! ```
//! use pullback::rrule;
//!
//! fn sigmoid(x: f64) -> f64 {
//!     1.0 / (1.0 + (-x).exp())
//! }
//!
//! #[rrule(for = sigmoid)]
//! fn sigmoid_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
//!     let y = sigmoid(x);
//!     (y, move |dy| dy * y * (1.0 - y))
//! }
//!
//! let (y, pullback) = sigmoid_rrule(0.0);
//! assert_eq!((y, pullback(1.0)), (0.5, 0.25));
//! ```
//!
//! | | |
//! |---|---|
//! | [`rrule`](macro@crate::rrule) | a rule for reverse mode |
//! | [`frule`](macro@crate::frule) | a rule for forward mode |
//! | [`scalar_rule!`](crate::scalar_rule) | both, for a function of numbers, from its partial derivatives |
//! | [`has_rrule`], [`has_frule`] | the rule of a function that is generic over anything |
//! | [`non_differentiable`], [`non_differentiable_fn!`] | that a function's result carries no derivative |
//! | [`opt_out`], [`opt_out_fn!`] | that a function is differentiated although it has a rule |
//!
//! [`has_rrule`]: macro@crate::has_rrule
//! [`has_frule`]: macro@crate::has_frule
//! [`non_differentiable`]: macro@crate::non_differentiable
//! [`non_differentiable_fn!`]: crate::non_differentiable_fn
//! [`opt_out`]: macro@crate::opt_out
//! [`opt_out_fn!`]: crate::opt_out_fn
//!
//! A rule that has a [`Memory`] as its first parameter is told whether its pullback may refer to the arguments.
//!
//! A rule is an ordinary function: it can be called, as here, and tested by itself. Every derivative of a function that
//! calls `sigmoid` then uses it.

#[cfg(feature = "cblas")]
pub mod cblas;
pub(crate) mod closure;
pub(crate) mod cotangent;
mod hyperbolic;
#[cfg(feature = "libm")]
pub mod libm;
#[cfg(feature = "libm")]
pub mod libm_crate;
pub(crate) mod lifetimes;
#[cfg(feature = "matrixmultiply")]
pub mod matrixmultiply;
mod memory;
#[cfg(feature = "micromath")]
pub mod micromath;
pub(crate) mod result;
pub(crate) mod runs;
pub(crate) mod shadow;
pub(crate) mod tangent;
pub(crate) mod transpose;
pub(crate) mod watch;

pub use cotangent::{Cotangent, Thunk};
pub use memory::Memory;
pub use result::Lend;
pub use shadow::Reached;
pub use tangent::{ReferenceTangent, ResultTangent, Tangent};

/// The tangent, cotangent or shadow of what has none: an integer, a function, a string.
///
/// In a rule for reverse mode it is what the pullback returns for such an argument, or takes as its shadow; in a rule
/// for forward mode it is what comes in as its tangent.
///
/// ```
/// use pullback::rrule;
/// use pullback::rules::NoTangent;
///
/// fn power(x: f64, n: i32) -> f64 {
///     x.powi(n)
/// }
///
/// #[rrule(for = power)]
/// fn power_rrule(x: f64, n: i32) -> (f64, impl Fn(f64) -> (f64, NoTangent)) {
///     (x.powi(n), move |dy| (dy * f64::from(n) * x.powi(n - 1), NoTangent))
/// }
/// # assert_eq!(power_rrule(3.0, 2).1(1.0).0, 6.0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NoTangent;

/// The tangent or cotangent that is zero whatever the inputs are. Nothing is computed with it.
///
/// ```
/// use pullback::rrule;
/// use pullback::rules::ZeroTangent;
///
/// /// `x`, in steps of `step`.
/// fn quantize(x: f64, step: f64) -> f64 {
///     (x / step).round() * step
/// }
///
/// /// The straight-through estimator: as if it were `x`.
/// #[rrule(for = quantize)]
/// fn quantize_rrule(x: f64, step: f64) -> (f64, impl Fn(f64) -> (f64, ZeroTangent)) {
///     (quantize(x, step), |dy| (dy, ZeroTangent))
/// }
/// # assert_eq!(quantize_rrule(3.2, 1.0).1(2.0).0, 2.0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ZeroTangent;
