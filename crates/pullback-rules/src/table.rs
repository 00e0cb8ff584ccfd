//! The table: a row for each float function.

use crate::coefficient::{Coefficient, Factor, Support};
use crate::expr::{Condition, Emitter, Expr, math};
use pullback_ir::{Builder, FloatPred, MathFn, Value};
use std::f64::consts::{LN_2, LN_10, LOG2_E, LOG10_E};
use std::sync::LazyLock;

/// How one float function is differentiated.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// The function.
    pub function: MathFn,
    /// The partial derivative for each operand; `None`: it is zero everywhere, or the operand is an integer.
    pub partials: Vec<Option<Expr>>,
    /// Of a function that returns one of its two operands, where it returns the first: their tangents are chosen alike.
    pub choice: Option<Condition>,
    /// What is to be known of the formula, beyond the [cases](crate::cases).
    pub remark: &'static str,
}

impl Rule {
    /// Whether no partial derivative is ever infinite or NaN, whatever the operands are: it may be computed where the
    /// program does not.
    pub fn is_bounded(&self) -> bool {
        self.partials.iter().flatten().all(|partial| partial.is_bounded())
    }

    /// Append what the partials for the operands that are `wanted` need as IR; what they have in common is emitted
    /// once.
    pub fn coefficients(
        &self,
        b: &mut Builder,
        args: &[Value],
        result: Value,
        wanted: impl Fn(usize) -> bool,
    ) -> Vec<Option<Coefficient>> {
        let mut emitter = Emitter::new(args, result);
        let mut coefficient = |partial: Expr| {
            let (support, rest) = partial.support();
            let support = support.filter(|(condition, when)| emitter.known(condition, b.func) != Some(*when));
            let support = support.map(|(condition, when)| Support { cond: emitter.condition(&condition, b), when });
            let factor = match (rest, rest.scale()) {
                (Expr::Const(1.0), _) => Factor::One,
                (Expr::Const(-1.0), _) => Factor::MinusOne,
                (_, (1.0, _)) => Factor::Value(emitter.emit(&rest, b)),
                (_, (k, rest)) => Factor::Scaled(k, emitter.emit(&rest, b)),
            };
            Coefficient { factor, support }
        };
        let partials = self.partials.iter().enumerate();
        partials.map(|(i, p)| p.filter(|_| wanted(i)).map(&mut coefficient)).collect()
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

/// `rule!(Name, |operands, r| [partial, …], "remark")`: the operands are called `x`, `y`, `z` for floats and `n` for
/// the integer that is the second one; the result, where it is used, `r`.
macro_rules! rule {
    ($function:ident, |$($name:ident),*| [$($partial:expr),*] $(, $remark:literal)?) => {{
        $(let $name = variable(stringify!($name));)*
        Rule {
            function: MathFn::$function,
            partials: vec![$(Partial::from($partial).0),*],
            choice: None,
            remark: concat!($($remark)?),
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

/// A minimum or maximum: the partial is 1 for the operand that is returned, 0 for the other; at a tie the first one
/// counts as returned.
fn choice(function: MathFn) -> Rule {
    let first = variable("x").cmp(FloatPred::Oeq, variable("r"));
    let partials = vec![Some(first.select(1.0, 0.0)), Some(first.select(0.0, 1.0))];
    Rule {
        function,
        partials,
        choice: Some(first),
        remark: "with a constant for the other operand, a tie goes to this one",
    }
}

/// A function that is constant between its jumps.
fn step(function: MathFn) -> Rule {
    Rule { function, partials: vec![None], choice: None, remark: "" }
}

#[rustfmt::skip]
fn rows() -> Vec<Rule> {
    use MathFn::*;
    vec![
        // Roots and powers. The reciprocal by itself: it often follows a root in the program too, and it is found again
        // in the next derivative.
        rule!(Sqrt,  |r| [0.5 * (1.0 / r)]),
        rule!(Cbrt,  |r| [1.0 / (3.0 * r * r)]),
        rule!(Hypot, |x, y, r| [x / r, y / r]),
        rule!(Pow,   |x, y, r| [
                zero_at_zero(y, y * math(Pow, [x, y - 1.0])),
                x.cmp(FloatPred::Oeq, 0.0).and(y.cmp(FloatPred::Oge, 0.0)).select(0.0, r * math(Log, [x]))
            ]),
        // n − 1 wraps where n is the smallest integer; r is not zero or infinite there unless the partial is.
        rule!(Powi,  |x, n, r| [
                zero_at_zero(
                    n,
                    n * n.cmp(FloatPred::Ogt, f64::from(i32::MIN)).select(math(Powi, [x, Expr::IntMinusOne(1)]), r / x)
                ),
                Zero
            ], "n is no float and has no derivative"),
        rule!(Ldexp, | | [math(Ldexp, [1.0.into(), Expr::Int(1)]), Zero]),

        // Exponentials and logarithms.
        rule!(Exp,   |r| [r]),
        rule!(Exp2,  |r| [r * LN_2]),
        rule!(Exp10, |r| [r * LN_10]),
        rule!(Expm1, |r| [r + 1.0],       "for x far below 0 exact to one ulp of 1"),
        rule!(Log,   |x| [1.0 / x],       "below 0 the value is NaN, the partial is the formula's"),
        rule!(Log2,  |x| [LOG2_E / x],    "below 0 the value is NaN, the partial is the formula's"),
        rule!(Log10, |x| [LOG10_E / x],   "below 0 the value is NaN, the partial is the formula's"),
        rule!(Log1p, |x| [1.0 / (1.0 + x)], "below −1 the value is NaN, the partial is the formula's"),

        // Trigonometric functions.
        rule!(Sin,   |x| [math(Cos, [x])]),
        rule!(Cos,   |x| [-math(Sin, [x])]),
        rule!(Tan,   |r| [1.0 + r * r],   "large near the poles, which no float hits"),
        rule!(Asin,  |x| [1.0 / sqrt((1.0 - x) * (1.0 + x))]),
        rule!(Acos,  |x| [-1.0 / sqrt((1.0 - x) * (1.0 + x))]),
        rule!(Atan,  |x| [1.0 / (1.0 + x * x)]),
        rule!(Atan2, |x, y| [y / hypot(x, y) / hypot(x, y), -x / hypot(x, y) / hypot(x, y)],
            "the angle of the point (y, x); no overflow or underflow of x² + y²"),

        // Hyperbolic functions.
        rule!(Sinh,  |x| [math(Cosh, [x])]),
        rule!(Cosh,  |x| [math(Sinh, [x])]),
        rule!(Tanh,  |r| [(1.0 - r) * (1.0 + r)], "0 where r rounds to ±1"),
        rule!(Asinh, |x| [1.0 / hypot(1.0, x)], "no overflow of x²"),
        rule!(Acosh, |x| [1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0))], "no overflow of x²"),
        rule!(Atanh, |x| [1.0 / ((1.0 - x) * (1.0 + x))], "outside of −1 to 1 the value is NaN, the partial is the \
                                                           formula's"),

        // Piecewise linear functions.
        rule!(Fma,     |x, y| [y, x, 1.0]),
        rule!(FmulAdd, |x, y| [y, x, 1.0]),
        rule!(Fabs,    |x| [zero_at_zero(x, sign(x))], "at NaN it is the sign of the NaN"),
        rule!(Copysign, |x, y| [zero_at_zero(x, sign(x) * sign(y)), Zero], "the sign of a NaN counts, too"),
        rule!(Fdim,    |x, y| [
                x.cmp(FloatPred::Ogt, y).select(1.0, 0.0),
                x.cmp(FloatPred::Ogt, y).select(-1.0, 0.0)
            ]),
        choice(MinNum),
        choice(MaxNum),
        choice(MinimumNum),
        choice(MaximumNum),
        choice(Minimum),
        choice(Maximum),

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
