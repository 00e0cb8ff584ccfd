//! The rule for `asinh`, which the standard library computes by a formula of its own.
//!
//! The formula is right for the value, and its derivative is not: it is made from `x.abs()` and given the sign of `x`
//! again, so that by the rules for these two the derivative at 0 would be 0, and not 1; and `1.0 / x.abs()` overflows
//! near 0. The formulas of `acosh` and `atanh` are differentiated as they are.
//!
//! Where rustc has inlined the function in another crate before the rule could take its place, that is an error;
//! `opt_out_fn!(f64::asinh)` lets the formula be differentiated.

use crate::scalar_rule;

scalar_rule!(default f64::asinh(x: f64) => r; d/dx = 1.0 / f64::hypot(1.0, x));
scalar_rule!(default f32::asinh(x: f32) => r; d/dx = 1.0 / f32::hypot(1.0, x));
