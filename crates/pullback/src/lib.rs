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
//! | `Duplicated` | a shadow follows; the gradient is *added* to it. A result: its cotangent comes last | as `Dual` |
//! | `DuplicatedOnly`, `DuplicatedNoNeed` | the same without the primal. A result: as `ActiveOnly` | as `DualOnly` |
//! | `Dual` | – | followed by its tangent. As the result: primal and tangent are returned |
//! | `DualOnly` | – | the same, and nobody looks at the primal. As the result: only the tangent is returned |
//! | `Dualv`, `DualvOnly` | – | with a width N: followed by one slice that holds the N tangents one after the other |
//!
//! A shadow has the shape of its value: [`make_zero`] makes one. Types of your own take part with
//! [`#[derive(Differentiable)]`](derive@Differentiable).
//!
//! [`autodiff_forward`] and [`autodiff_reverse`] have the signatures of nightly Rust's `std::autodiff`.

#![warn(missing_docs)]

// The macros say `::pullback`, also in this crate.
extern crate self as pullback;

#[doc(hidden)]
pub mod __private;
pub mod abi;
pub mod check;
mod differentiable;
mod functional;
mod matrices;
pub mod rt;
pub mod rules;

#[doc(hidden)]
pub use differentiable::reach;
pub use differentiable::{
    Access, ActiveResult, Differentiable, MakeZero, Mismatch, Path, SharedWritable, Sharing, Writable, layout_of,
};
pub use differentiable::{ToZero, make_zero};
pub use functional::{grad, jvp, value_and_grad, vjp};
pub use matrices::{Rows, derivative, hessian, hvp, jacobian};

/// # Example
///
/// ```
/// use pullback::{Differentiable, make_zero};
/// use std::collections::HashMap;
///
/// #[derive(Differentiable)]
/// struct Model {
///     weights: Vec<f64>,
///     #[pullback(skip)]
///     names: HashMap<String, usize>,
/// }
///
/// let model = Model { weights: vec![1.0, 2.0], names: HashMap::from([("first".to_owned(), 0)]) };
/// let zero = make_zero(&model);
/// assert_eq!((zero.weights, zero.names), (vec![0.0, 0.0], model.names));
/// ```
pub use pullback_macros::Differentiable;

/// # Example
///
#[cfg_attr(pullback, doc = "```")]
#[cfg_attr(not(pullback), doc = "```no_run")]
/// use pullback::autodiff;
///
/// #[autodiff(loss_gradient, Reverse, Const, Duplicated, Active)]
/// #[autodiff(loss_tangent, Forward, weights = Dual, return = Dual)]
/// fn loss(inputs: &[f64], weights: &[f64]) -> f64 {
///     inputs.iter().zip(weights).map(|(x, w)| (x * w - 1.0).powi(2)).sum()
/// }
///
/// let (inputs, weights) = ([1.0, 2.0], [3.0, 0.5]);
/// let mut gradient = [0.0; 2];
/// assert_eq!(loss_gradient(&inputs, &weights, &mut gradient), 4.0);
/// assert_eq!(gradient, [4.0, 0.0]);
/// assert_eq!(loss_tangent(&inputs, &weights, &[1.0, 0.0]), (4.0, 4.0));
/// ```
pub use pullback_macros::autodiff;

/// # Example
///
#[cfg_attr(pullback, doc = "```")]
#[cfg_attr(not(pullback), doc = "```no_run")]
/// use pullback::autodiff_forward;
///
/// #[autodiff_forward(df, 2, Dual, Dual)]
/// fn f(x: f64) -> f64 {
///     x * x
/// }
///
/// assert_eq!(df(3.0, 1.0, 10.0), [9.0, 6.0, 60.0]);
/// ```
pub use pullback_macros::autodiff_forward;

/// # Example
///
#[cfg_attr(pullback, doc = "```")]
#[cfg_attr(not(pullback), doc = "```no_run")]
/// use pullback::autodiff_reverse;
///
/// #[autodiff_reverse(df, Active, Duplicated, Active)]
/// fn f(x: f64, y: &[f64]) -> f64 {
///     x * y[0] * y[1]
/// }
///
/// let mut dy = [0.0; 2];
/// assert_eq!(df(2.0, &[3.0, 5.0], &mut dy, 1.0), (30.0, 15.0));
/// assert_eq!(dy, [10.0, 6.0]);
/// ```
pub use pullback_macros::autodiff_reverse;

/// # Example
///
/// ```
/// use pullback::frule;
/// use pullback::rules::NoTangent;
///
/// fn weighted(x: &[f64], weight: f64, count: usize) -> f64 {
///     weight * x[..count].iter().sum::<f64>()
/// }
///
/// #[frule(for = weighted)]
/// fn weighted_frule(x: &[f64], dx: &[f64], weight: f64, d_weight: f64, count: usize, _: NoTangent) -> (f64, f64) {
///     let value = weighted(x, weight, count);
///     (value, weighted(dx, weight, count) + weighted(x, d_weight, count))
/// }
///
/// assert_eq!(weighted_frule(&[1.0, 2.0], &[1.0, 0.0], 3.0, 0.0, 2, NoTangent), (9.0, 3.0));
/// ```
/// The tangent of an argument that is a reference may also be taken as an `Option`, which is `None` where the argument
/// has none at a call; `&[f64]` is zeros there. That of a `&mut` is a `&mut`, in which the rule leaves the tangent of
/// what it leaves in the argument. A tangent that is always zero is returned as [`ZeroTangent`](rules::ZeroTangent).
/// The path after `for`, `abi` and lists of types are as in [`rrule`](macro@rrule).
pub use pullback_macros::frule;

/// # Example
///
/// ```
/// use pullback::rrule;
///
/// fn scaled_sum(x: &[f64], scale: f64) -> f64 {
///     scale * x.iter().sum::<f64>()
/// }
///
/// #[rrule(for = scaled_sum)]
/// fn scaled_sum_rrule(x: &[f64], scale: f64) -> (f64, impl Fn(f64, &mut [f64]) -> f64) {
///     let sum: f64 = x.iter().sum();
///     (scale * sum, move |dy, dx| {
///         dx.iter_mut().for_each(|dx| *dx += dy * scale);
///         dy * sum
///     })
/// }
///
/// let (value, pullback) = scaled_sum_rrule(&[1.0, 2.0], 10.0);
/// let mut dx = [0.0; 2];
/// assert_eq!((value, pullback(1.0, &mut dx), dx), (30.0, 3.0, [10.0, 10.0]));
/// ```
///
/// - The path after `for` is that of any function: of this crate or another one, a method (`Matrix::solve`), a method
///   of a trait (`<Matrix as Solve>::solve`), or a foreign function (`for = cbrt, abi = "C"`). The rule of a method is
///   a function outside of the `impl`, with the receiver as its first argument.
/// - A shadow may also be taken as an `Option<&mut T>`, which is `None` where nobody asks for it, and as
///   [`NoTangent`](rules::NoTangent).
/// - What is returned for an argument that is passed by value is of its type, or [`NoTangent`](rules::NoTangent),
///   [`ZeroTangent`](rules::ZeroTangent) or a [`Thunk`](rules::Thunk).
/// - The cotangent of a result that is more than floats is taken by reference: `impl Fn(&Fit) -> f64`, and `&[f64]` or
///   `&Vec<f64>` for a `Vec<f64>`. Where the result is `()`, there is none.
/// - Through a `&mut` argument a function changes what it refers to. When the pullback runs, the shadow holds the
///   cotangent of what the function has left there, and the pullback leaves there the cotangent of what the function
///   has found:
///
///   ```
///   # use pullback::rrule;
///   fn double(x: &mut [f64]) {
///       x.iter_mut().for_each(|x| *x *= 2.0);
///   }
///
///   #[rrule(for = double)]
///   fn double_rrule(x: &mut [f64]) -> ((), impl Fn(&mut [f64]) + use<>) {
///       double(x);
///       ((), |dx| dx.iter_mut().for_each(|dx| *dx *= 2.0))
///   }
///   # let mut dx = [3.0];
///   # double_rrule(&mut [1.0]).1(&mut dx);
///   # assert_eq!(dx, [6.0]);
///   ```
/// - An argument that owns memory is passed by reference.
/// - A pullback that is an `Fn` can be called more than once, as a derivative with a width does. One that is an
///   `FnOnce` can be, too, unless it owns memory.
/// - A rule for a generic function holds for the types that the attribute lists: `#[rrule(for = norm, T = [f32,
///   f64])]`. One that holds for all types, those of closures too, is `#[rrule(generic)]`, and the function names it:
///   [`has_rrule`](macro@has_rrule).
///
/// The closure is all that is kept between the two sweeps. If it captures nothing, nothing is kept. It may refer to
/// what the arguments refer to.
pub use pullback_macros::rrule;

pub use pullback_macros::has_frule;

/// # Example
///
/// ```
/// use pullback::rules::NoTangent;
/// use pullback::{has_rrule, rrule};
///
/// #[has_rrule(newton_rrule)]
/// fn newton<F: Fn(f64, f64) -> (f64, f64)>(f: &F, a: f64) -> f64 {
///     (0..20).fold(1.0, |x, _| {
///         let (value, slope) = f(x, a);
///         x - value / slope
///     })
/// }
///
/// /// `f(x, a) = 0` gives `dx = -(∂f/∂a) / (∂f/∂x) da`, however `x` was found. Here `∂f/∂a` is -1.
/// #[rrule(generic)]
/// fn newton_rrule<F: Fn(f64, f64) -> (f64, f64)>(f: &F, a: f64) -> (f64, impl Fn(f64, NoTangent) -> f64) {
///     let x = newton(f, a);
///     let (_, slope) = f(x, a);
///     (x, move |dx, _| dx / slope)
/// }
///
/// let (root, pullback) = newton_rrule(&|x, a| (x * x - a, 2.0 * x), 4.0);
/// assert_eq!((root, pullback(1.0, NoTangent)), (2.0, 0.25));
/// ```
pub use pullback_macros::has_rrule;

/// # Example
///
/// ```
/// use pullback::non_differentiable;
///
/// /// How many of them are positive, as a number to compute with.
/// #[non_differentiable]
/// fn positive<T: PartialOrd + Default>(values: &[T]) -> f64 {
///     values.iter().filter(|value| **value > T::default()).count() as f64
/// }
///
/// assert_eq!(positive(&[1.0, -1.0]), 1.0);
/// ```
pub use pullback_macros::non_differentiable;

/// # Example
///
/// ```
/// pullback::non_differentiable_fn!(f64::to_bits, <f64 as Default>::default, Vec::<f64>::with_capacity);
/// ```
pub use pullback_macros::non_differentiable_fn;

/// # Example
///
/// ```
/// mod library {
///     pub fn norm(x: f64, y: f64) -> f64 {
///         (x * x + y * y).sqrt()
///     }
///
///     // A smooth one is wanted there.
///     pullback::scalar_rule!(norm(x, y) => r; d/dx = x / (r + 1e-9), d/dy = y / (r + 1e-9));
/// }
///
/// // Here it is not.
/// pullback::opt_out_fn!(library::norm);
/// ```
pub use pullback_macros::opt_out_fn;

/// # Example
///
/// ```
/// use pullback::{opt_out, scalar_rule};
///
/// // The rule below is not used.
/// #[opt_out]
/// fn cube(x: f64) -> f64 {
///     x * x * x
/// }
///
/// scalar_rule!(cube(x) => r; d/dx = 3.0 * x * x);
/// ```
pub use pullback_macros::opt_out;

/// # Example
///
/// ```
/// use pullback::scalar_rule;
///
/// scalar_rule!(f64::hypot(x, y) => r; d/dx = x / r, d/dy = y / r);
/// scalar_rule!(f32::powi(x: f32, n: i32) => _y; d/dx = n as f32 * x.powi(n - 1));
/// ```
/// A partial derivative that nobody asks for is not computed. Between the two sweeps those of the arguments, and the
/// result, are kept that the partial derivatives mention.
pub use pullback_macros::scalar_rule;

// The examples on the repository's front page, and on the page for authors of rules, run with those of the
// documentation.
#[cfg(all(doctest, pullback))]
#[doc = include_str!("../../../README.md")]
mod readme {}
#[cfg(all(doctest, pullback))]
#[doc = include_str!("../../../docs/custom-rules.md")]
mod custom_rules {}
