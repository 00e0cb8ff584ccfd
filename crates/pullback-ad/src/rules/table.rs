//! The table: a row for each float function.

use super::expr::{Emitter, Expr, math};
use pullback_ir::{Builder, FloatPred, MathFn, Value};
use std::f64::consts::{LN_2, LOG2_E, LOG10_E};
use std::sync::LazyLock;

/// How one float function is differentiated.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// The function.
    pub function: MathFn,
    /// The partial derivative for each operand; `None`: it is zero everywhere, or the operand is an integer.
    pub partials: Vec<Option<Expr>>,
    /// What happens at the edges of the domain and where there is no derivative.
    pub edge: &'static str,
}

impl Rule {
    /// Append the partials for the operands that are `wanted` as IR; what they have in common is emitted once.
    pub fn emit(
        &self,
        b: &mut Builder,
        args: &[Value],
        result: Value,
        wanted: impl Fn(usize) -> bool,
    ) -> Vec<Option<Value>> {
        let mut emitter = Emitter::new(args, result);
        let partials = self.partials.iter().enumerate();
        partials.map(|(i, p)| p.filter(|_| wanted(i)).map(|p| emitter.emit(&p, b))).collect()
    }

    /// The same, of each partial `k·p` with a power of two for `k` (see [`Expr::scale`]) `k` and `p`.
    pub fn emit_scaled(
        &self,
        b: &mut Builder,
        args: &[Value],
        result: Value,
        wanted: impl Fn(usize) -> bool,
    ) -> Vec<Option<(f64, Value)>> {
        let scales: Vec<Option<(f64, Expr)>> = self.partials.iter().map(|p| p.map(|p| p.scale())).collect();
        let rest = Rule { partials: scales.iter().map(|s| s.map(|(_, p)| p)).collect(), ..self.clone() };
        let emitted = rest.emit(b, args, result, wanted);
        scales.into_iter().zip(emitted).map(|(s, p)| Some((s?.0, p?))).collect()
    }
}

/// How this function is differentiated.
pub fn rule(function: MathFn) -> &'static Rule {
    static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
        let rows = rows();
        let find = |f: &MathFn| rows.iter().find(|r| r.function == *f).cloned();
        MathFn::ALL.iter().map(|f| find(f).unwrap_or_else(|| panic!("the table has no rule for {f}"))).collect()
    });
    &RULES[function as usize]
}

/// A partial derivative as a row writes it: a formula, a number, or [`Zero`].
struct Partial(Option<Expr>);

/// The partial derivative that is zero everywhere, or belongs to an integer operand.
struct Zero;

impl From<Expr> for Partial {
    fn from(expr: Expr) -> Self {
        Partial(Some(expr))
    }
}

impl From<f64> for Partial {
    fn from(value: f64) -> Self {
        Partial(Some(Expr::Const(value)))
    }
}

impl From<Zero> for Partial {
    fn from(_: Zero) -> Self {
        Partial(None)
    }
}

/// `rule!(Name, |operands, r| [partial, …], "edge")`: the operands are called `x`, `y`, `z` for floats and `n` for the
/// integer that is the second one; the result, where it is used, `r`.
macro_rules! rule {
    ($function:ident, |$($name:ident),*| [$($partial:expr),*], $edge:literal) => {{
        $(let $name = variable(stringify!($name));)*
        Rule {
            function: MathFn::$function,
            partials: vec![$(Partial::from($partial).0),*],
            edge: $edge,
        }
    }};
}

fn variable(name: &str) -> Expr {
    match name {
        "x" => Expr::Arg(0),
        "y" => Expr::Arg(1),
        "z" => Expr::Arg(2),
        "n" => Expr::IntToFloat(1),
        "r" => Expr::Result,
        other => unreachable!("a rule has no variable {other}"),
    }
}

fn sqrt(x: Expr) -> Expr {
    math(MathFn::Sqrt, [x])
}

fn hypot(x: impl Into<Expr>, y: Expr) -> Expr {
    math(MathFn::Hypot, [x.into(), y])
}

/// The sign of `x`, ±1 also at ±0.
fn sign(x: Expr) -> Expr {
    math(MathFn::Copysign, [Expr::Const(1.0), x])
}

/// `formula`, but 0 where `x` is 0.
fn zero_at_zero(x: Expr, formula: Expr) -> Expr {
    x.cmp(FloatPred::Oeq, 0.0).select(0.0, formula)
}

/// 1 for the operand that a minimum or maximum returns, 0 for the other; at a tie the first one counts as returned.
fn chosen(x: Expr, r: Expr) -> [Expr; 2] {
    let first = x.cmp(FloatPred::Oeq, r);
    [first.select(1.0, 0.0), first.select(0.0, 1.0)]
}

/// A minimum or maximum.
fn choice(function: MathFn, edge: &'static str) -> Rule {
    Rule { function, partials: chosen(variable("x"), variable("r")).map(Some).to_vec(), edge }
}

/// A function that is constant between its jumps.
fn step(function: MathFn) -> Rule {
    Rule { function, partials: vec![None], edge: "0 everywhere, also at the jumps" }
}

#[rustfmt::skip]
fn rows() -> Vec<Rule> {
    use MathFn::*;
    vec![
        // Roots and powers.
        // The reciprocal by itself: it often follows a root in the program too, and it is found again in the next derivative.
        rule!(Sqrt,  |r| [0.5 * (1.0 / r)], "+∞ at +0, −∞ at −0; NaN below 0"),
        rule!(Cbrt,  |r| [1.0 / (3.0 * r * r)], "+∞ at ±0"),
        rule!(Hypot, |x, y, r| [x / r, y / r], "NaN at the origin (0/0) and where an operand is infinite"),
        rule!(Pow,   |x, y, r| [
                zero_at_zero(y, y * math(Pow, [x, y - 1.0])),
                x.cmp(FloatPred::Oeq, 0.0).select(
                    y.cmp(FloatPred::Oge, 0.0).select(0.0, r * math(Log, [x])),
                    r * math(Log, [x]))
            ], "x-partial: 0 where y = 0; at x = 0: 0 for y > 1, 1 for y = 1, ±∞ for other y. \
                y-partial: 0 where x = 0 and y ≥ 0, −∞ where x = 0 and y < 0, NaN where x < 0"),
        rule!(Powi,  |x, n| [
                zero_at_zero(n, n * math(Powi, [x, Expr::IntMinusOne(1)])), Zero
            ], "0 where n = 0, also at x = 0; ±∞ at x = 0 for n < 0; n is no float and has no derivative"),
        rule!(Ldexp, | | [math(Ldexp, [1.0.into(), Expr::Int(1)]), Zero], "linear in x; n is no float and has no derivative"),

        // Exponentials and logarithms.
        rule!(Exp,   |r| [r],             "none"),
        rule!(Exp2,  |r| [r * LN_2],      "none"),
        rule!(Expm1, |r| [r + 1.0],       "none; for x far below 0 exact to one ulp of 1"),
        rule!(Log,   |x| [1.0 / x],       "±∞ at ±0; below 0 the value is NaN, the partial is the formula's"),
        rule!(Log2,  |x| [LOG2_E / x],    "±∞ at ±0; below 0 the value is NaN, the partial is the formula's"),
        rule!(Log10, |x| [LOG10_E / x],   "±∞ at ±0; below 0 the value is NaN, the partial is the formula's"),
        rule!(Log1p, |x| [1.0 / (1.0 + x)], "+∞ at −1; below −1 the value is NaN, the partial is the formula's"),

        // Trigonometric functions.
        rule!(Sin,   |x| [math(Cos, [x])], "NaN at ±∞"),
        rule!(Cos,   |x| [-math(Sin, [x])], "NaN at ±∞"),
        rule!(Tan,   |r| [1.0 + r * r],   "NaN at ±∞; large near the poles, which no float hits"),
        rule!(Asin,  |x| [1.0 / sqrt((1.0 - x) * (1.0 + x))], "+∞ at ±1; NaN outside"),
        rule!(Acos,  |x| [-1.0 / sqrt((1.0 - x) * (1.0 + x))], "−∞ at ±1; NaN outside"),
        rule!(Atan,  |x| [1.0 / (1.0 + x * x)], "0 at ±∞"),
        rule!(Atan2, |x, y| [y / hypot(x, y) / hypot(x, y), -x / hypot(x, y) / hypot(x, y)],
            "the angle of the point (y, x); NaN at the origin (0/0); no overflow or underflow of x² + y²"),

        // Hyperbolic functions.
        rule!(Sinh,  |x| [math(Cosh, [x])], "none"),
        rule!(Cosh,  |x| [math(Sinh, [x])], "none"),
        rule!(Tanh,  |r| [(1.0 - r) * (1.0 + r)], "none; 0 where r rounds to ±1"),
        rule!(Asinh, |x| [1.0 / hypot(1.0, x)], "none; no overflow of x²"),
        rule!(Acosh, |x| [1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0))], "+∞ at 1; NaN below; no overflow of x²"),
        rule!(Atanh, |x| [1.0 / ((1.0 - x) * (1.0 + x))], "+∞ at ±1; outside the value is NaN, the partial is the formula's"),

        // Piecewise linear functions.
        rule!(Fma,     |x, y| [y, x, 1.0], "none"),
        rule!(FmulAdd, |x, y| [y, x, 1.0], "none"),
        rule!(Fabs,    |x| [zero_at_zero(x, sign(x))], "0 at ±0; the sign elsewhere"),
        rule!(Copysign, |x, y| [zero_at_zero(x, sign(x) * sign(y)), Zero], "x-partial 0 at x = ±0; y-partial 0 also where y = ±0"),
        rule!(Fdim,    |x, y| [
                x.cmp(FloatPred::Ogt, y).select(1.0, 0.0),
                x.cmp(FloatPred::Ogt, y).select(-1.0, 0.0)
            ], "0 for both at a tie, and where an operand is NaN"),
        choice(MinNum,     "1 for the operand that is returned, 0 for the other; at a tie (also of ±0) for x, with a constant for the other one; a NaN is not returned"),
        choice(MaxNum,     "1 for the operand that is returned, 0 for the other; at a tie (also of ±0) for x, with a constant for the other one; a NaN is not returned"),
        choice(MinimumNum, "1 for the operand that is returned, 0 for the other; at a tie (also of ±0) for x, with a constant for the other one; a NaN is not returned"),
        choice(MaximumNum, "1 for the operand that is returned, 0 for the other; at a tie (also of ±0) for x, with a constant for the other one; a NaN is not returned"),
        choice(Minimum,    "1 for the operand that is returned, 0 for the other; at a tie (also of ±0) for x, with a constant for the other one; where one is NaN, for y"),
        choice(Maximum,    "1 for the operand that is returned, 0 for the other; at a tie (also of ±0) for x, with a constant for the other one; where one is NaN, for y"),

        // Steps.
        step(Floor),
        step(Ceil),
        step(Trunc),
        step(Round),
        step(RoundEven),
        step(Rint),
        step(NearbyInt),
    ]
}
