//! What derivatives are at singular points: the cases that tests assert and `docs/rules.md` shows.
//!
//! A [`Case`] is a function, a point and the partial derivatives there; it holds for `f64` and `f32`. [`Case::forward`]
//! and its neighbours say what follows for a derivative in either mode, with and without `strong_zero`. A
//! [`Composition`] is an expression of several functions, for what no single one shows.
//!
//! This file stands by itself, for three tests read it: `rules/tests.rs` evaluates the formulas,
//! `tests/singular_points.rs` runs derivatives in the interpreter, and the end-to-end tests
//! (`tests/e2e/tests/singular_points.rs`) run compiled ones.

/// A number in each of the two float types.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// As an `f64`.
    pub double: f64,
    /// As an `f32`.
    pub single: f32,
    /// How it is written, where the digits do not say it.
    name: &'static str,
}

impl From<f64> for Number {
    fn from(double: f64) -> Self {
        named("", double)
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.double {
            _ if !self.name.is_empty() => f.write_str(self.name),
            x if x.is_nan() => f.write_str("NaN"),
            x if x.is_sign_negative() => write!(f, "−{}", Number::from(-x)),
            x if x.is_infinite() => f.write_str("∞"),
            x => write!(f, "{x}"),
        }
    }
}

const fn named(name: &'static str, double: f64) -> Number {
    Number { double, single: double as f32, name }
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// The smallest number above zero, a subnormal one.
const TINY: Number = Number { double: 5e-324, single: 1e-45, name: "tiny" };

const TWICE_TINY: Number = Number { double: 1e-323, single: 3e-45, name: "2·tiny" };

/// The largest finite number.
const HUGE: Number = Number { double: f64::MAX, single: f32::MAX, name: "huge" };

const OVER_HUGE: Number = Number { double: 1.0 / f64::MAX, single: 1.0 / f32::MAX, name: "1/huge" };

/// The smallest `i32`.
const LEAST: Number = named("−2³¹", i32::MIN as f64);

/// A function at a point.
#[derive(Clone, Debug)]
pub struct Case {
    /// The function's name, as in the table of rules; or that of an operator.
    pub function: &'static str,
    /// The operands. One that is an integer (`powi`) is written as a float.
    pub at: Vec<Number>,
    /// The partial derivative for each operand.
    pub partials: Vec<Number>,
}

/// Whether a derivative has the option `strong_zero`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Zeros {
    /// A zero that is multiplied with infinity is NaN.
    Ieee,
    /// A zero stays zero.
    Strong,
}

/// `t·p`.
fn times(t: f64, p: f64, zeros: Zeros) -> f64 {
    if t == 0.0 && zeros == Zeros::Strong { 0.0 } else { t * p }
}

impl Case {
    /// What forward mode gives for a tangent that is 1 for operand `direction` and 0 for the others, or 0 for all: `Σ
    /// tᵢ·pᵢ`. For the functions that choose an operand, it is the tangent of that one.
    pub fn forward(&self, direction: Option<usize>, zeros: Zeros, partials: &[f64]) -> f64 {
        let tangent = |i: usize| if direction == Some(i) { 1.0 } else { 0.0 };
        let sum = partials.iter().enumerate().map(|(i, p)| times(tangent(i), *p, zeros)).sum();
        // ṙ = (ẋ − r·ẏ) / y: what is divided by zero is one number.
        let is_pole = self.function == "div" && self.at[1].double == 0.0 && self.at[0].double != 0.0;
        if is_pole && direction == Some(1) { partials[1] } else { sum }
    }

    /// What reverse mode gives operand `i` for this cotangent of the result.
    pub fn reverse(&self, seed: f64, zeros: Zeros, partial: f64) -> f64 {
        times(seed, partial, zeros)
    }

    /// The partial derivatives as `f64`.
    pub fn doubles(&self) -> Vec<f64> {
        self.partials.iter().map(|p| p.double).collect()
    }

    /// The partial derivatives as `f32`.
    pub fn singles(&self) -> Vec<f64> {
        self.partials.iter().map(|p| f64::from(p.single)).collect()
    }
}

/// Whether a derivative is what it should be: a NaN is a NaN, zeros and infinities are exact, other numbers agree to
/// `tolerance`.
pub fn agrees(found: f64, expected: f64, tolerance: f64) -> bool {
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (expected != 0.0 && expected.is_finite() && (found - expected).abs() <= tolerance * expected.abs())
}

/// How far a derivative in `f64` may be from a case.
pub const DOUBLE: f64 = 1e-14;

/// How far one in `f32` may be.
pub const SINGLE: f64 = 1e-6;

/// An expression of several functions at a point. What it is in Rust and in the IR, the tests say, by its name.
#[derive(Clone, Copy, Debug)]
pub struct Composition {
    /// The expression, of `x`.
    pub name: &'static str,
    /// `x`.
    pub at: f64,
    /// The derivative that forward mode gives, without `strong_zero` and with it.
    pub forward: [f64; 2],
    /// The one that reverse mode gives.
    pub reverse: [f64; 2],
}

/// What no function shows by itself.
#[rustfmt::skip]
pub const COMPOSITIONS: [Composition; 17] = [
    // The operand that is not taken has an infinite tangent, or gives its own operand the cotangent 0·∞.
    Composition { name: "min(1, 1/x)",                      at: 0.0, forward: [0.0, 0.0], reverse: [NAN, 0.0] },
    Composition { name: "max(sqrt(x), 1)",                  at: 0.0, forward: [0.0, 0.0], reverse: [NAN, 0.0] },
    Composition { name: "clamp(1/x, 0, 1)",                 at: 0.0, forward: [0.0, 0.0], reverse: [NAN, 0.0] },
    Composition { name: "clamp(sqrt(x), 1, 2)",             at: 0.0, forward: [0.0, 0.0], reverse: [NAN, 0.0] },
    Composition { name: "abs(sqrt(x))",                     at: 0.0, forward: [0.0, 0.0], reverse: [NAN, 0.0] },
    // It is taken.
    Composition { name: "max(1, 1/x)",                      at: 0.0, forward: [-INF, -INF], reverse: [-INF, -INF] },
    Composition { name: "min(sqrt(x), 1)",                  at: 0.0, forward: [INF, INF], reverse: [INF, INF] },
    // A branch that is not taken is not differentiated.
    Composition { name: "if x > 0 { sqrt(x) } else { 0 }",  at: 0.0, forward: [0.0, 0.0], reverse: [0.0, 0.0] },
    // Zero is multiplied with infinity. In reverse mode the cotangent of x² is infinite, and not zero.
    Composition { name: "sqrt(x²)",                         at: 0.0, forward: [NAN, 0.0], reverse: [NAN, NAN] },
    Composition { name: "1/sqrt(x − x)",                    at: 1.0, forward: [NAN, 0.0], reverse: [NAN, NAN] },
    // In reverse mode the cotangent of the inner quotient is zero.
    Composition { name: "1/(1/x)",                          at: 0.0, forward: [NAN, NAN], reverse: [NAN, 0.0] },
    // A constant exponent is no other than one that varies.
    Composition { name: "pow(x, 0.5)",                      at: 0.0, forward: [INF, INF], reverse: [INF, INF] },
    // Ties.
    Composition { name: "max(x, 1)",                        at: 1.0, forward: [1.0, 1.0], reverse: [1.0, 1.0] },
    Composition { name: "max(1, x)",                        at: 1.0, forward: [1.0, 1.0], reverse: [1.0, 1.0] },
    Composition { name: "min(x, 1)",                        at: 1.0, forward: [1.0, 1.0], reverse: [1.0, 1.0] },
    Composition { name: "clamp(x, 0, 1)",                   at: 1.0, forward: [1.0, 1.0], reverse: [1.0, 1.0] },
    Composition { name: "max(x, x)",                        at: 1.0, forward: [1.0, 1.0], reverse: [1.0, 1.0] },
];

/// `function { (point) => (partials); … }`, with a number for each operand.
macro_rules! cases {
    ($($function:ident { $(($($at:expr),+) => ($($partial:expr),+);)+ })*) => {
        vec![$($(Case {
            function: stringify!($function),
            at: vec![$(Number::from($at)),+],
            partials: vec![$(Number::from($partial)),+],
        },)+)*]
    };
}

/// A function that chooses one of its operands: the points at which all of those do the same.
macro_rules! choices {
    ($($function:ident { $($rest:tt)* })*) => {
        cases! {$($function {
            (1.0, 1.0) => (1.0, 0.0);
            (0.0, 0.0) => (1.0, 0.0);
            (0.0, -0.0) => (1.0, 0.0);
            (-0.0, 0.0) => (1.0, 0.0);
            (INF, INF) => (1.0, 0.0);
            (-INF, -INF) => (1.0, 0.0);
            (NAN, NAN) => (0.0, 1.0);
            $($rest)*
        })*}
    };
}

/// A function that is constant between its jumps.
macro_rules! steps {
    ($($function:ident)*) => {
        cases! {$($function {
            (0.0) => (0.0);
            (-0.0) => (0.0);
            (0.5) => (0.0);
            (1.0) => (0.0);
            (-1.0) => (0.0);
            (-1.5) => (0.0);
            (INF) => (0.0);
            (-INF) => (0.0);
            (NAN) => (0.0);
            (TINY) => (0.0);
        })*}
    };
}

/// All cases.
pub fn cases() -> Vec<Case> {
    let parts = [arithmetic(), powers(), exponentials(), trigonometric(), hyperbolic(), piecewise()];
    parts.into_iter().flatten().collect()
}

fn arithmetic() -> Vec<Case> {
    cases! {
        add {
            (0.0, -0.0) => (1.0, 1.0);
            (INF, -INF) => (1.0, 1.0);
            (NAN, 1.0) => (1.0, 1.0);
        }
        sub {
            (0.0, -0.0) => (1.0, -1.0);
            (INF, INF) => (1.0, -1.0);
            (NAN, 1.0) => (1.0, -1.0);
        }
        neg {
            (0.0) => (-1.0);
            (-INF) => (-1.0);
            (NAN) => (-1.0);
        }
        mul {
            (0.0, 0.0) => (0.0, 0.0);
            (0.0, INF) => (INF, 0.0);
            (-0.0, -INF) => (-INF, 0.0);
            (INF, INF) => (INF, INF);
            (0.0, NAN) => (NAN, 0.0);
            (TINY, TINY) => (TINY, TINY);
            (HUGE, HUGE) => (HUGE, HUGE);
        }
        square {
            (0.0) => (0.0);
            (-0.0) => (0.0);
            (1.0) => (2.0);
            (INF) => (INF);
            (-INF) => (-INF);
            (NAN) => (NAN);
        }
        div {
            (1.0, 0.0) => (INF, -INF);
            (1.0, -0.0) => (-INF, -INF);
            (-1.0, 0.0) => (INF, INF);
            (0.0, 0.0) => (INF, NAN);
            (0.0, 1.0) => (1.0, 0.0);
            (1.0, INF) => (0.0, 0.0);
            (1.0, -INF) => (0.0, 0.0);
            (INF, 1.0) => (1.0, -INF);
            (INF, INF) => (0.0, NAN);
            (NAN, 1.0) => (1.0, NAN);
            (NAN, INF) => (0.0, NAN);
            (1.0, NAN) => (NAN, NAN);
            (HUGE, 0.5) => (2.0, -INF);
        }
        recip {
            (0.0) => (-INF);
            (-0.0) => (-INF);
            (1.0) => (-1.0);
            (-1.0) => (-1.0);
            (INF) => (0.0);
            (-INF) => (0.0);
            (NAN) => (NAN);
            (TINY) => (-INF);
        }
        rem {
            (5.0, 2.0) => (1.0, -2.0);
            (-5.0, 2.0) => (1.0, 2.0);
            (4.0, 2.0) => (1.0, -2.0);
            (0.9, 0.1) => (1.0, -8.0);
            (0.0, 2.0) => (1.0, 0.0);
            (1.0, INF) => (1.0, 0.0);
            (1.0, 0.0) => (1.0, NAN);
            (0.0, 0.0) => (1.0, NAN);
            (INF, 1.0) => (1.0, NAN);
            (NAN, 1.0) => (1.0, NAN);
            (1.0, NAN) => (1.0, NAN);
        }
    }
}

fn powers() -> Vec<Case> {
    cases! {
        sqrt {
            (0.0) => (INF);
            (-0.0) => (-INF);
            (1.0) => (0.5);
            (-1.0) => (NAN);
            (INF) => (0.0);
            (-INF) => (NAN);
            (NAN) => (NAN);
            (TINY) => (Number { double: 2.249_456_897_271_598_2e161, single: 1.335_687e22, name: "1/(2·√tiny)" });
        }
        cbrt {
            (0.0) => (INF);
            (-0.0) => (INF);
            (1.0) => (named("1/3", 1.0 / 3.0));
            (-1.0) => (named("1/3", 1.0 / 3.0));
            (INF) => (0.0);
            (-INF) => (0.0);
            (NAN) => (NAN);
        }
        hypot {
            (0.0, 0.0) => (NAN, NAN);
            (-0.0, 0.0) => (NAN, NAN);
            (0.0, 1.0) => (0.0, 1.0);
            (-3.0, 4.0) => (-0.6, 0.8);
            (TINY, 0.0) => (1.0, 0.0);
            (HUGE, 0.0) => (1.0, 0.0);
            (INF, 1.0) => (NAN, 0.0);
            (1.0, -INF) => (0.0, NAN);
            (INF, INF) => (NAN, NAN);
            (INF, NAN) => (NAN, NAN);
            (1.0, NAN) => (NAN, NAN);
        }
        pow {
            (0.0, 3.0) => (0.0, 0.0);
            (0.0, 1.0) => (1.0, 0.0);
            (0.0, 0.5) => (INF, 0.0);
            (0.0, 0.0) => (0.0, 0.0);
            (-0.0, 0.0) => (0.0, 0.0);
            (0.0, -1.0) => (-INF, -INF);
            (-0.0, -1.0) => (-INF, INF);
            (-0.0, 2.0) => (0.0, 0.0);
            (-0.0, 3.0) => (0.0, 0.0);
            (0.0, INF) => (NAN, 0.0);
            (1.0, 0.0) => (0.0, 0.0);
            (1.0, 3.0) => (3.0, 0.0);
            (1.0, NAN) => (NAN, 0.0);
            (-2.0, 2.0) => (-4.0, NAN);
            (-2.0, 0.0) => (0.0, NAN);
            (-2.0, 0.5) => (NAN, NAN);
            (INF, 2.0) => (INF, INF);
            (INF, 1.0) => (1.0, INF);
            (INF, 0.0) => (0.0, INF);
            (INF, -1.0) => (0.0, NAN);
            (NAN, 0.0) => (0.0, NAN);
            (NAN, 2.0) => (NAN, NAN);
            (0.0, NAN) => (NAN, NAN);
            (TINY, 2.0) => (TWICE_TINY, 0.0);
        }
        powi {
            (0.0, 0.0) => (0.0, 0.0);
            (0.0, 1.0) => (1.0, 0.0);
            (0.0, 2.0) => (0.0, 0.0);
            (0.0, -1.0) => (-INF, 0.0);
            (-0.0, -1.0) => (-INF, 0.0);
            (-0.0, -2.0) => (INF, 0.0);
            (1.0, LEAST) => (LEAST, 0.0);
            (2.0, LEAST) => (0.0, 0.0);
            (-0.5, LEAST) => (INF, 0.0);
            (0.0, LEAST) => (-INF, 0.0);
            (-2.0, 3.0) => (12.0, 0.0);
            (INF, 0.0) => (0.0, 0.0);
            (INF, 1.0) => (1.0, 0.0);
            (INF, 2.0) => (INF, 0.0);
            (-INF, -1.0) => (0.0, 0.0);
            (NAN, 0.0) => (0.0, 0.0);
            (NAN, 1.0) => (1.0, 0.0);
            (NAN, 2.0) => (NAN, 0.0);
            (TINY, 2.0) => (TWICE_TINY, 0.0);
        }
        ldexp {
            (0.0, 3.0) => (8.0, 0.0);
            (INF, -1.0) => (0.5, 0.0);
            (NAN, 0.0) => (1.0, 0.0);
            (TINY, 0.0) => (1.0, 0.0);
        }
    }
}

fn exponentials() -> Vec<Case> {
    use std::f64::consts::*;
    cases! {
        exp {
            (0.0) => (1.0);
            (-0.0) => (1.0);
            (1.0) => (named("e", E));
            (INF) => (INF);
            (-INF) => (0.0);
            (NAN) => (NAN);
            (TINY) => (1.0);
            (HUGE) => (INF);
        }
        exp2 {
            (0.0) => (named("ln 2", LN_2));
            (-0.0) => (named("ln 2", LN_2));
            (1.0) => (named("2·ln 2", 2.0 * LN_2));
            (INF) => (INF);
            (-INF) => (0.0);
            (NAN) => (NAN);
            (HUGE) => (INF);
        }
        exp10 {
            (0.0) => (named("ln 10", LN_10));
            (-0.0) => (named("ln 10", LN_10));
            (1.0) => (named("10·ln 10", 10.0 * LN_10));
            (INF) => (INF);
            (-INF) => (0.0);
            (NAN) => (NAN);
            (HUGE) => (INF);
        }
        expm1 {
            (0.0) => (1.0);
            (-0.0) => (1.0);
            (1.0) => (named("e", E));
            (INF) => (INF);
            (-INF) => (0.0);
            (-1000.0) => (0.0);
            (NAN) => (NAN);
            (TINY) => (1.0);
        }
        log {
            (0.0) => (INF);
            (-0.0) => (-INF);
            (1.0) => (1.0);
            (-1.0) => (-1.0);
            (INF) => (0.0);
            (-INF) => (0.0);
            (NAN) => (NAN);
            (TINY) => (INF);
        }
        log2 {
            (0.0) => (INF);
            (-0.0) => (-INF);
            (1.0) => (named("log₂ e", LOG2_E));
            (-1.0) => (named("−log₂ e", -LOG2_E));
            (INF) => (0.0);
            (-INF) => (0.0);
            (NAN) => (NAN);
            (TINY) => (INF);
        }
        log10 {
            (0.0) => (INF);
            (-0.0) => (-INF);
            (1.0) => (named("log₁₀ e", LOG10_E));
            (-1.0) => (named("−log₁₀ e", -LOG10_E));
            (INF) => (0.0);
            (-INF) => (0.0);
            (NAN) => (NAN);
            (TINY) => (INF);
        }
        log1p {
            (0.0) => (1.0);
            (-0.0) => (1.0);
            (1.0) => (0.5);
            (-1.0) => (INF);
            (-2.0) => (-1.0);
            (INF) => (0.0);
            (-INF) => (0.0);
            (NAN) => (NAN);
            (TINY) => (1.0);
        }
    }
}

fn trigonometric() -> Vec<Case> {
    cases! {
        sin {
            (0.0) => (1.0);
            (-0.0) => (1.0);
            (INF) => (NAN);
            (-INF) => (NAN);
            (NAN) => (NAN);
            (TINY) => (1.0);
        }
        cos {
            (0.0) => (0.0);
            (-0.0) => (0.0);
            (INF) => (NAN);
            (-INF) => (NAN);
            (NAN) => (NAN);
        }
        tan {
            (0.0) => (1.0);
            (-0.0) => (1.0);
            (INF) => (NAN);
            (-INF) => (NAN);
            (NAN) => (NAN);
            (TINY) => (1.0);
        }
        asin {
            (0.0) => (1.0);
            (-0.0) => (1.0);
            (1.0) => (INF);
            (-1.0) => (INF);
            (2.0) => (NAN);
            (INF) => (NAN);
            (-INF) => (NAN);
            (NAN) => (NAN);
            (TINY) => (1.0);
        }
        acos {
            (0.0) => (-1.0);
            (-0.0) => (-1.0);
            (1.0) => (-INF);
            (-1.0) => (-INF);
            (2.0) => (NAN);
            (INF) => (NAN);
            (-INF) => (NAN);
            (NAN) => (NAN);
            (TINY) => (-1.0);
        }
        atan {
            (0.0) => (1.0);
            (-0.0) => (1.0);
            (1.0) => (0.5);
            (-1.0) => (0.5);
            (INF) => (0.0);
            (-INF) => (0.0);
            (NAN) => (NAN);
            (TINY) => (1.0);
            (HUGE) => (0.0);
        }
        atan2 {
            (0.0, 0.0) => (NAN, NAN);
            (0.0, -0.0) => (NAN, NAN);
            (0.0, 1.0) => (1.0, 0.0);
            (0.0, -1.0) => (-1.0, 0.0);
            (1.0, 0.0) => (0.0, -1.0);
            (-1.0, 0.0) => (0.0, 1.0);
            (0.0, TINY) => (INF, 0.0);
            (HUGE, HUGE) => (0.0, 0.0);
            (1.0, INF) => (NAN, 0.0);
            (INF, 1.0) => (0.0, NAN);
            (INF, INF) => (NAN, NAN);
            (NAN, 1.0) => (NAN, NAN);
            (1.0, NAN) => (NAN, NAN);
        }
    }
}

fn hyperbolic() -> Vec<Case> {
    cases! {
        sinh {
            (0.0) => (1.0);
            (-0.0) => (1.0);
            (INF) => (INF);
            (-INF) => (INF);
            (NAN) => (NAN);
            (TINY) => (1.0);
            (HUGE) => (INF);
        }
        cosh {
            (0.0) => (0.0);
            (-0.0) => (0.0);
            (INF) => (INF);
            (-INF) => (-INF);
            (NAN) => (NAN);
            (TINY) => (TINY);
            (HUGE) => (INF);
        }
        tanh {
            (0.0) => (1.0);
            (-0.0) => (1.0);
            (INF) => (0.0);
            (-INF) => (0.0);
            (NAN) => (NAN);
            (TINY) => (1.0);
            (HUGE) => (0.0);
        }
        asinh {
            (0.0) => (1.0);
            (-0.0) => (1.0);
            (INF) => (0.0);
            (-INF) => (0.0);
            (NAN) => (NAN);
            (TINY) => (1.0);
            (HUGE) => (OVER_HUGE);
        }
        acosh {
            (1.0) => (INF);
            (0.0) => (NAN);
            (-0.0) => (NAN);
            (-1.0) => (NAN);
            (INF) => (0.0);
            (-INF) => (NAN);
            (NAN) => (NAN);
            (HUGE) => (OVER_HUGE);
        }
        atanh {
            (0.0) => (1.0);
            (-0.0) => (1.0);
            (1.0) => (INF);
            (-1.0) => (INF);
            (2.0) => (named("−1/3", -1.0 / 3.0));
            (INF) => (0.0);
            (-INF) => (0.0);
            (NAN) => (NAN);
            (TINY) => (1.0);
        }
    }
}

fn piecewise() -> Vec<Case> {
    let sums = cases! {
        fma {
            (0.0, INF, 1.0) => (INF, 0.0, 1.0);
            (INF, -INF, NAN) => (-INF, INF, 1.0);
            (NAN, 0.0, 0.0) => (0.0, NAN, 1.0);
            (0.0, -0.0, 0.0) => (0.0, 0.0, 1.0);
        }
        fmuladd {
            (0.0, INF, 1.0) => (INF, 0.0, 1.0);
            (INF, -INF, NAN) => (-INF, INF, 1.0);
            (NAN, 0.0, 0.0) => (0.0, NAN, 1.0);
            (0.0, -0.0, 0.0) => (0.0, 0.0, 1.0);
        }
        fabs {
            (0.0) => (0.0);
            (-0.0) => (0.0);
            (1.0) => (1.0);
            (-1.0) => (-1.0);
            (INF) => (1.0);
            (-INF) => (-1.0);
            (NAN) => (1.0);
            (TINY) => (1.0);
        }
        copysign {
            (3.0, -0.0) => (-1.0, 0.0);
            (3.0, 0.0) => (1.0, 0.0);
            (-3.0, -1.0) => (1.0, 0.0);
            (-3.0, INF) => (-1.0, 0.0);
            (0.0, 1.0) => (0.0, 0.0);
            (-0.0, 1.0) => (0.0, 0.0);
            (0.0, -1.0) => (0.0, 0.0);
            (INF, -INF) => (-1.0, 0.0);
            (NAN, 1.0) => (1.0, 0.0);
            (TINY, -1.0) => (-1.0, 0.0);
        }
        fdim {
            (2.0, 2.0) => (0.0, 0.0);
            (0.0, -0.0) => (0.0, 0.0);
            (3.0, 2.0) => (1.0, -1.0);
            (2.0, 3.0) => (0.0, 0.0);
            (INF, INF) => (0.0, 0.0);
            (INF, 1.0) => (1.0, -1.0);
            (NAN, 2.0) => (0.0, 0.0);
            (2.0, NAN) => (0.0, 0.0);
        }
    };
    // A NaN is not returned; where both are, the second counts as returned.
    let smaller = choices! {
        minnum {
            (1.0, 2.0) => (1.0, 0.0);
            (2.0, 1.0) => (0.0, 1.0);
            (1.0, INF) => (1.0, 0.0);
            (1.0, -INF) => (0.0, 1.0);
            (NAN, 2.0) => (0.0, 1.0);
            (2.0, NAN) => (1.0, 0.0);
        }
        minimumnum {
            (1.0, 2.0) => (1.0, 0.0);
            (2.0, 1.0) => (0.0, 1.0);
            (1.0, INF) => (1.0, 0.0);
            (1.0, -INF) => (0.0, 1.0);
            (NAN, 2.0) => (0.0, 1.0);
            (2.0, NAN) => (1.0, 0.0);
        }
        minimum {
            (1.0, 2.0) => (1.0, 0.0);
            (2.0, 1.0) => (0.0, 1.0);
            (1.0, INF) => (1.0, 0.0);
            (1.0, -INF) => (0.0, 1.0);
            (NAN, 2.0) => (0.0, 1.0);
            (2.0, NAN) => (0.0, 1.0);
        }
    };
    let larger = choices! {
        maxnum {
            (1.0, 2.0) => (0.0, 1.0);
            (2.0, 1.0) => (1.0, 0.0);
            (1.0, INF) => (0.0, 1.0);
            (1.0, -INF) => (1.0, 0.0);
            (NAN, 2.0) => (0.0, 1.0);
            (2.0, NAN) => (1.0, 0.0);
        }
        maximumnum {
            (1.0, 2.0) => (0.0, 1.0);
            (2.0, 1.0) => (1.0, 0.0);
            (1.0, INF) => (0.0, 1.0);
            (1.0, -INF) => (1.0, 0.0);
            (NAN, 2.0) => (0.0, 1.0);
            (2.0, NAN) => (1.0, 0.0);
        }
        maximum {
            (1.0, 2.0) => (0.0, 1.0);
            (2.0, 1.0) => (1.0, 0.0);
            (1.0, INF) => (0.0, 1.0);
            (1.0, -INF) => (1.0, 0.0);
            (NAN, 2.0) => (0.0, 1.0);
            (2.0, NAN) => (0.0, 1.0);
        }
    };
    let steps = steps! { floor ceil trunc round roundeven rint nearbyint };
    [sums, smaller, larger, steps].into_iter().flatten().collect()
}
