//! The float functions of the IR, as data: one row a function, for `f32` and `f64` alike.
//!
//! A row says what the function is called in the text format, how many operands it has, which LLVM intrinsic and which
//! C library functions compute it, and how to evaluate it. The derivative rules are in `pullback-ad`, keyed by the same
//! [`MathFn`]; the textbook derivatives that oracles use are at the end of this file.

use std::fmt;

/// How a float function is spelled in LLVM IR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelling {
    /// An intrinsic: `llvm.<name>.f64`, `llvm.<name>.f32`.
    Intrinsic(&'static str),
    /// A C library function: its `f64` name; the `f32` one has an `f` at the end.
    Libm(&'static str),
}

macro_rules! math_functions {
    ($($(#[$doc:meta])* $variant:ident $name:literal $arity:literal $spelling:expr, |$a:ident| $eval:expr;)*) => {
        /// A float function. All operands and the result have one float type, except that the second operand of
        /// [`MathFn::Powi`] and [`MathFn::Ldexp`] is an `i32`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum MathFn { $($(#[$doc])* $variant,)* }

        impl MathFn {
            /// Every float function.
            pub const ALL: &'static [MathFn] = &[$(MathFn::$variant),*];

            /// The name in the text format.
            pub fn name(self) -> &'static str {
                match self { $(MathFn::$variant => $name),* }
            }

            /// How many operands it takes.
            pub fn arity(self) -> usize {
                match self { $(MathFn::$variant => $arity),* }
            }

            /// How it is spelled in LLVM IR.
            pub fn spelling(self) -> Spelling {
                use Spelling::*;
                match self { $(MathFn::$variant => $spelling),* }
            }

            /// The value in double precision; integer operands come as floats.
            pub fn eval_f64(self, args: &[f64]) -> f64 {
                match self { $(MathFn::$variant => { let $a = args; $eval })* }
            }

            /// The value in single precision; integer operands come as floats.
            pub fn eval_f32(self, args: &[f32]) -> f32 {
                match self { $(MathFn::$variant => { let $a = args; $eval })* }
            }
        }
    };
}

math_functions! {
    /// Square root.
    Sqrt "sqrt" 1 Intrinsic("sqrt"), |a| a[0].sqrt();
    /// Sine.
    Sin "sin" 1 Intrinsic("sin"), |a| a[0].sin();
    /// Cosine.
    Cos "cos" 1 Intrinsic("cos"), |a| a[0].cos();
    /// Tangent.
    Tan "tan" 1 Libm("tan"), |a| a[0].tan();
    /// Arc sine.
    Asin "asin" 1 Libm("asin"), |a| a[0].asin();
    /// Arc cosine.
    Acos "acos" 1 Libm("acos"), |a| a[0].acos();
    /// Arc tangent.
    Atan "atan" 1 Libm("atan"), |a| a[0].atan();
    /// Angle of the point (second, first).
    Atan2 "atan2" 2 Libm("atan2"), |a| a[0].atan2(a[1]);
    /// Hyperbolic sine.
    Sinh "sinh" 1 Libm("sinh"), |a| a[0].sinh();
    /// Hyperbolic cosine.
    Cosh "cosh" 1 Libm("cosh"), |a| a[0].cosh();
    /// Hyperbolic tangent.
    Tanh "tanh" 1 Libm("tanh"), |a| a[0].tanh();
    /// Inverse hyperbolic sine.
    Asinh "asinh" 1 Libm("asinh"), |a| a[0].asinh();
    /// Inverse hyperbolic cosine.
    Acosh "acosh" 1 Libm("acosh"), |a| a[0].acosh();
    /// Inverse hyperbolic tangent.
    Atanh "atanh" 1 Libm("atanh"), |a| a[0].atanh();
    /// e to the operand.
    Exp "exp" 1 Intrinsic("exp"), |a| a[0].exp();
    /// 2 to the operand.
    Exp2 "exp2" 1 Intrinsic("exp2"), |a| a[0].exp2();
    /// 10 to the operand.
    Exp10 "exp10" 1 Libm("exp10"), |a| [10.0, a[0]][0].powf(a[0]);
    /// e to the operand, minus 1.
    Expm1 "expm1" 1 Libm("expm1"), |a| a[0].exp_m1();
    /// Natural logarithm.
    Log "log" 1 Intrinsic("log"), |a| a[0].ln();
    /// Logarithm to base 2.
    Log2 "log2" 1 Intrinsic("log2"), |a| a[0].log2();
    /// Logarithm to base 10.
    Log10 "log10" 1 Intrinsic("log10"), |a| a[0].log10();
    /// Natural logarithm of 1 plus the operand.
    Log1p "log1p" 1 Libm("log1p"), |a| a[0].ln_1p();
    /// Power with a float exponent.
    Pow "pow" 2 Intrinsic("pow"), |a| a[0].powf(a[1]);
    /// Power with an `i32` exponent.
    Powi "powi" 2 Intrinsic("powi"), |a| a[0].powi(a[1] as i32);
    /// Cube root.
    Cbrt "cbrt" 1 Libm("cbrt"), |a| a[0].cbrt();
    /// Length of the hypotenuse.
    Hypot "hypot" 2 Libm("hypot"), |a| a[0].hypot(a[1]);
    /// Positive difference.
    Fdim "fdim" 2 Libm("fdim"), |a| if a[0] > a[1] { a[0] - a[1] } else if a[0] <= a[1] { 0.0 } else { a[0] + a[1] };
    /// a·b + c with one rounding.
    Fma "fma" 3 Intrinsic("fma"), |a| a[0].mul_add(a[1], a[2]);
    /// a·b + c with one or two roundings.
    FmulAdd "fmuladd" 3 Intrinsic("fmuladd"), |a| a[0] * a[1] + a[2];
    /// Magnitude.
    Fabs "fabs" 1 Intrinsic("fabs"), |a| a[0].abs();
    /// Smaller of two; a NaN loses.
    MinNum "minnum" 2 Intrinsic("minnum"), |a| a[0].min(a[1]);
    /// Larger of two; a NaN loses.
    MaxNum "maxnum" 2 Intrinsic("maxnum"), |a| a[0].max(a[1]);
    /// Smaller of two, −0 below +0; a NaN loses.
    MinimumNum "minimumnum" 2 Intrinsic("minimumnum"), |a| a[0].min(a[1]);
    /// Larger of two, −0 below +0; a NaN loses.
    MaximumNum "maximumnum" 2 Intrinsic("maximumnum"), |a| a[0].max(a[1]);
    /// Smaller of two; a NaN wins.
    Minimum "minimum" 2 Intrinsic("minimum"),
        |a| if a[0].is_nan() || a[1].is_nan() { a[0] + a[1] } else { a[0].min(a[1]) };
    /// Larger of two; a NaN wins.
    Maximum "maximum" 2 Intrinsic("maximum"),
        |a| if a[0].is_nan() || a[1].is_nan() { a[0] + a[1] } else { a[0].max(a[1]) };
    /// Magnitude of the first, sign of the second.
    Copysign "copysign" 2 Intrinsic("copysign"), |a| a[0].copysign(a[1]);
    /// Next integer below.
    Floor "floor" 1 Intrinsic("floor"), |a| a[0].floor();
    /// Next integer above.
    Ceil "ceil" 1 Intrinsic("ceil"), |a| a[0].ceil();
    /// Integer part.
    Trunc "trunc" 1 Intrinsic("trunc"), |a| a[0].trunc();
    /// Nearest integer, ties to even.
    RoundEven "roundeven" 1 Intrinsic("roundeven"), |a| a[0].round_ties_even();
    /// Nearest integer in the current rounding mode.
    Rint "rint" 1 Intrinsic("rint"), |a| a[0].round_ties_even();
    /// Nearest integer in the current rounding mode, without the inexact exception.
    NearbyInt "nearbyint" 1 Intrinsic("nearbyint"), |a| a[0].round_ties_even();
    /// Nearest integer, ties away from zero.
    Round "round" 1 Intrinsic("round"), |a| a[0].round();
    /// First operand times 2 to the `i32` second.
    Ldexp "ldexp" 2 Intrinsic("ldexp"), |a| a[0] * (a[1]).exp2();
}

impl MathFn {
    /// The function of this name in the text format.
    pub fn from_name(name: &str) -> Option<MathFn> {
        MathFn::ALL.iter().copied().find(|m| m.name() == name)
    }

    /// Whether the second operand is an `i32`.
    pub fn takes_int(self) -> bool {
        matches!(self, MathFn::Powi | MathFn::Ldexp)
    }
}

impl MathFn {
    /// The tangent at `x` (the operands), where the function has the value `r`, along `t` (the operands' tangents), in
    /// double precision and in its textbook form. Integer operands come as floats, with tangent zero.
    ///
    /// This is for oracles: it is written apart from the engine's table of rules, so that a wrong rule cannot hide in
    /// both.
    pub fn tangent_f64(self, x: &[f64], r: f64, t: &[f64]) -> f64 {
        use MathFn::*;
        let a = x[0];
        match self {
            Sqrt => t[0] / (2.0 * r),
            Sin => t[0] * a.cos(),
            Cos => -t[0] * a.sin(),
            Tan => t[0] / (a.cos() * a.cos()),
            Asin => t[0] / (1.0 - a * a).sqrt(),
            Acos => -t[0] / (1.0 - a * a).sqrt(),
            Atan => t[0] / (1.0 + a * a),
            Atan2 => (x[1] * t[0] - a * t[1]) / (a * a + x[1] * x[1]),
            Sinh => t[0] * a.cosh(),
            Cosh => t[0] * a.sinh(),
            Tanh => t[0] / (a.cosh() * a.cosh()),
            Asinh => t[0] / (1.0 + a * a).sqrt(),
            Acosh => t[0] / (a * a - 1.0).sqrt(),
            Atanh => t[0] / (1.0 - a * a),
            Exp => t[0] * a.exp(),
            Exp2 => t[0] * a.exp2() * 2f64.ln(),
            Exp10 => t[0] * 10f64.powf(a) * 10f64.ln(),
            Expm1 => t[0] * a.exp(),
            Log => t[0] / a,
            Log2 => t[0] / (a * 2f64.ln()),
            Log10 => t[0] / (a * 10f64.ln()),
            Log1p => t[0] / (1.0 + a),
            Pow => {
                let base = if x[1] == 0.0 { 0.0 } else { x[1] * a.powf(x[1] - 1.0) };
                let exponent = if a == 0.0 && x[1] >= 0.0 { 0.0 } else { r * a.ln() };
                base * t[0] + exponent * t[1]
            }
            Powi => {
                let n = x[1] as i32;
                if n == 0 { 0.0 } else { x[1] * a.powi(n - 1) * t[0] }
            }
            Cbrt => t[0] / (3.0 * a.cbrt().powi(2)),
            Hypot => (a * t[0] + x[1] * t[1]) / r,
            Fdim => {
                if a > x[1] {
                    t[0] - t[1]
                } else {
                    0.0
                }
            }
            Fma | FmulAdd => t[0] * x[1] + a * t[1] + t[2],
            Fabs if a > 0.0 => t[0],
            Fabs if a < 0.0 => -t[0],
            Fabs => 0.0,
            MinNum | MaxNum | MinimumNum | MaximumNum | Minimum | Maximum => {
                if a == r {
                    t[0]
                } else {
                    t[1]
                }
            }
            Copysign if a == 0.0 => 0.0,
            Copysign if a.is_sign_negative() == x[1].is_sign_negative() => t[0],
            Copysign => -t[0],
            Floor | Ceil | Trunc | RoundEven | Rint | NearbyInt | Round => 0.0,
            Ldexp => t[0] * x[1].exp2(),
        }
    }
}

impl fmt::Display for MathFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
