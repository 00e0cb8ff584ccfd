//! Derivatives of the float functions once more, in their textbook form: written apart from the engine's table, so that
//! a wrong rule cannot hide in both.

use pullback_ir::MathFn;

/// The tangent of `function` at `x` (the operands), where it has the value `r`, along `t` (the operands' tangents).
/// Integer operands come as floats, with tangent zero.
pub fn tangent(function: MathFn, x: &[f64], r: f64, t: &[f64]) -> f64 {
    use MathFn::*;
    let a = x[0];
    match function {
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
