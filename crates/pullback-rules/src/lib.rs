//! Derivative rules of the float functions: one table that a mathematician can audit in one sitting.
//!
//! [`table`] holds a row for each [`pullback_ir::MathFn`]: the partial derivative for each float operand, written as an
//! [`Expr`] over the operands `x`, `y`, `z` and the result `r`. The same row is turned into IR for forward and reverse
//! mode, evaluated by the tests, and printed in `docs/rules.md`. What derivatives are at singular points is another
//! table, [`cases`], which the tests assert and the same page shows.
//!
//! ```
//! use pullback_rules::rule;
//! use pullback_ir::MathFn;
//!
//! let sqrt = rule(MathFn::Sqrt);
//! let partial = sqrt.partials[0].unwrap();
//! assert_eq!(partial.to_string(), "0.5 · (1 / r)");
//! assert_eq!(partial.eval(&[4.0], 2.0), 0.25);
//! ```

#![forbid(unsafe_code)]

pub mod cases;
pub mod coefficient;
pub mod docs;
pub mod expr;
pub mod table;

pub use coefficient::{Coefficient, Factor, Support};
pub use expr::{Condition, Expr};
pub use table::{Rule, rule};

#[cfg(test)]
mod tests;
