//! Rules for the crate `libm`, C's mathematical functions in Rust: it works on the bits of floats, which have no
//! derivative. With the feature `libm`. They give way to rules of your own.
//!
//! The formulas are those of the engine's table for the functions of std, `docs/rules.md`, computed by std. `sqrt`, `fabs`,
//! `copysign`, `fdim`, `ldexp`, `scalbn`, `fmin` and `fmax` need no rule: the engine sees what they do. (`sqrt` is one
//! instruction, and rustc inlines it in crates that call it.)

use super::libm::digamma;
use crate::{frule, non_differentiable_fn, rrule, scalar_rule};
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, LOG2_E, LOG10_E};

/// The rules for one type of floats, with the names that its functions have.
macro_rules! rules_for {
    (
        $T:ident, $module:ident,
        $cbrt:ident $hypot:ident $pow:ident
        $exp:ident $exp2:ident $exp10:ident $expm1:ident $log:ident $log2:ident $log10:ident $log1p:ident
        $sin:ident $cos:ident $tan:ident $asin:ident $acos:ident $atan:ident $atan2:ident $sincos:ident
        $sinh:ident $cosh:ident $tanh:ident $asinh:ident $acosh:ident $atanh:ident
        $erf:ident $erfc:ident $tgamma:ident $lgamma:ident $lgamma_r:ident
        $j0:ident $j1:ident $jn:ident $y0:ident $y1:ident $yn:ident
        $fma:ident $fmod:ident $remainder:ident $remquo:ident $modf:ident $frexp:ident $ldexp:ident $nextafter:ident
        $floor:ident $ceil:ident $trunc:ident $round:ident $rint:ident $roundeven:ident $ilogb:ident
    ) => {
        mod $module {
            use super::*;
            use libm::{$frexp, $j0, $j1, $jn, $ldexp, $lgamma_r, $modf, $remquo, $sincos, $y0, $y1, $yn};

            /// ψ in this precision.
            fn psi(x: $T) -> $T {
                digamma(f64::from(x)) as $T
            }

            // Roots and powers.
            scalar_rule!(default libm::$cbrt(x: $T) => r; d/dx = 1.0 / (3.0 * r * r));
            scalar_rule!(default libm::$hypot(x: $T, y: $T) => r; d/dx = x / r, d/dy = y / r);
            scalar_rule!(default libm::$pow(x: $T, y: $T) => r;
                d/dx = if y == 0.0 { 0.0 } else { y * x.powf(y - 1.0) },
                d/dy = if x == 0.0 && y >= 0.0 { 0.0 } else { r * x.ln() });

            // Exponentials and logarithms.
            scalar_rule!(default libm::$exp(x: $T) => r; d/dx = r);
            scalar_rule!(default libm::$exp2(x: $T) => r; d/dx = r * LN_2 as $T);
            scalar_rule!(default libm::$exp10(x: $T) => r; d/dx = r * LN_10 as $T);
            scalar_rule!(default libm::$expm1(x: $T) => r; d/dx = r + 1.0);
            scalar_rule!(default libm::$log(x: $T) => r; d/dx = 1.0 / x);
            scalar_rule!(default libm::$log2(x: $T) => r; d/dx = LOG2_E as $T / x);
            scalar_rule!(default libm::$log10(x: $T) => r; d/dx = LOG10_E as $T / x);
            scalar_rule!(default libm::$log1p(x: $T) => r; d/dx = 1.0 / (1.0 + x));

            // Trigonometric functions.
            scalar_rule!(default libm::$sin(x: $T) => r; d/dx = x.cos());
            scalar_rule!(default libm::$cos(x: $T) => r; d/dx = -x.sin());
            scalar_rule!(default libm::$tan(x: $T) => r; d/dx = 1.0 + r * r);
            scalar_rule!(default libm::$asin(x: $T) => r; d/dx = 1.0 / ((1.0 - x) * (1.0 + x)).sqrt());
            scalar_rule!(default libm::$acos(x: $T) => r; d/dx = -1.0 / ((1.0 - x) * (1.0 + x)).sqrt());
            scalar_rule!(default libm::$atan(x: $T) => r; d/dx = 1.0 / (1.0 + x * x));
            scalar_rule!(default libm::$atan2(y: $T, x: $T) => r;
                d/dy = x / x.hypot(y) / x.hypot(y), d/dx = -y / x.hypot(y) / x.hypot(y));

            #[rrule(for = libm::$sincos, default)]
            fn sincos_rrule(x: $T) -> (($T, $T), impl Fn(($T, $T)) -> $T + 'static) {
                let (s, c) = $sincos(x);
                ((s, c), move |(d_sin, d_cos)| d_sin * c - d_cos * s)
            }

            #[frule(for = libm::$sincos, default)]
            fn sincos_frule(x: $T, dx: $T) -> (($T, $T), ($T, $T)) {
                let (s, c) = $sincos(x);
                ((s, c), (dx * c, -dx * s))
            }

            // Hyperbolic functions.
            scalar_rule!(default libm::$sinh(x: $T) => r; d/dx = x.cosh());
            scalar_rule!(default libm::$cosh(x: $T) => r; d/dx = x.sinh());
            scalar_rule!(default libm::$tanh(x: $T) => r; d/dx = (1.0 - r) * (1.0 + r));
            scalar_rule!(default libm::$asinh(x: $T) => r; d/dx = 1.0 / x.hypot(1.0));
            scalar_rule!(default libm::$acosh(x: $T) => r; d/dx = 1.0 / ((x - 1.0).sqrt() * (x + 1.0).sqrt()));
            scalar_rule!(default libm::$atanh(x: $T) => r; d/dx = 1.0 / ((1.0 - x) * (1.0 + x)));

            // The error functions, Γ, Bessel's functions.
            scalar_rule!(default libm::$erf(x: $T) => r; d/dx = FRAC_2_SQRT_PI as $T * (-x * x).exp());
            scalar_rule!(default libm::$erfc(x: $T) => r; d/dx = -(FRAC_2_SQRT_PI as $T) * (-x * x).exp());
            scalar_rule!(default libm::$tgamma(x: $T) => r; d/dx = r * psi(x));
            scalar_rule!(default libm::$lgamma(x: $T) => r; d/dx = psi(x));

            #[rrule(for = libm::$lgamma_r, default)]
            fn lgamma_r_rrule(x: $T) -> (($T, i32), impl Fn(&($T, i32)) -> $T + 'static) {
                ($lgamma_r(x), move |(d, _): &($T, i32)| d * psi(x))
            }

            #[frule(for = libm::$lgamma_r, default)]
            fn lgamma_r_frule(x: $T, dx: $T) -> (($T, i32), ($T, i32)) {
                let (r, sign) = $lgamma_r(x);
                ((r, sign), (dx * psi(x), sign))
            }

            scalar_rule!(default libm::$j0(x: $T) => r; d/dx = -$j1(x));
            scalar_rule!(default libm::$j1(x: $T) => r; d/dx = if x == 0.0 { 0.5 } else { $j0(x) - r / x });
            scalar_rule!(default libm::$jn(n: i32, x: $T) => r; d/dx = 0.5 * ($jn(n - 1, x) - $jn(n + 1, x)));
            scalar_rule!(default libm::$y0(x: $T) => r; d/dx = -$y1(x));
            scalar_rule!(default libm::$y1(x: $T) => r; d/dx = $y0(x) - r / x);
            scalar_rule!(default libm::$yn(n: i32, x: $T) => r; d/dx = 0.5 * ($yn(n - 1, x) - $yn(n + 1, x)));

            // Piecewise linear functions.
            scalar_rule!(default libm::$fma(x: $T, y: $T, z: $T) => r; d/dx = y, d/dy = x, d/dz = 1.0);
            scalar_rule!(default libm::$fmod(x: $T, y: $T) => r; d/dx = 1.0, d/dy = -((x - r) / y).round());
            scalar_rule!(default libm::$remainder(x: $T, y: $T) => r; d/dx = 1.0, d/dy = -((x - r) / y).round());

            // The neighbour of a number moves with it.
            scalar_rule!(default libm::$nextafter(x: $T, y: $T) => r; d/dx = 1.0, d/dy = 0.0);

            #[rrule(for = libm::$remquo, default)]
            fn remquo_rrule(x: $T, y: $T) -> (($T, i32), impl Fn(&($T, i32)) -> ($T, $T) + 'static) {
                let (r, quotient) = $remquo(x, y);
                ((r, quotient), move |(d, _): &($T, i32)| (*d, -d * ((x - r) / y).round()))
            }

            #[frule(for = libm::$remquo, default)]
            fn remquo_frule(x: $T, dx: $T, y: $T, dy: $T) -> (($T, i32), ($T, i32)) {
                let (r, quotient) = $remquo(x, y);
                ((r, quotient), (dx - dy * ((x - r) / y).round(), quotient))
            }

            /// The exponent is constant between its jumps.
            #[rrule(for = libm::$frexp, default)]
            fn frexp_rrule(x: $T) -> (($T, i32), impl Fn(&($T, i32)) -> $T + 'static) {
                let (mantissa, power) = $frexp(x);
                ((mantissa, power), move |(d, _): &($T, i32)| $ldexp(*d, -power))
            }

            #[frule(for = libm::$frexp, default)]
            fn frexp_frule(x: $T, dx: $T) -> (($T, i32), ($T, i32)) {
                let (mantissa, power) = $frexp(x);
                ((mantissa, power), ($ldexp(dx, -power), power))
            }

            /// The whole part is constant between its jumps.
            #[rrule(for = libm::$modf, default)]
            fn modf_rrule(x: $T) -> (($T, $T), impl Fn(($T, $T)) -> $T + 'static) {
                ($modf(x), |(d, _)| d)
            }

            #[frule(for = libm::$modf, default)]
            fn modf_frule(x: $T, dx: $T) -> (($T, $T), ($T, $T)) {
                ($modf(x), (dx, 0.0))
            }

            // Steps.
            non_differentiable_fn!(libm::$floor, libm::$ceil, libm::$trunc, libm::$round, libm::$rint);
            non_differentiable_fn!(libm::$roundeven, libm::$ilogb);
        }
    };
}

rules_for! {
    f64, double,
    cbrt hypot pow
    exp exp2 exp10 expm1 log log2 log10 log1p
    sin cos tan asin acos atan atan2 sincos
    sinh cosh tanh asinh acosh atanh
    erf erfc tgamma lgamma lgamma_r
    j0 j1 jn y0 y1 yn
    fma fmod remainder remquo modf frexp ldexp nextafter
    floor ceil trunc round rint roundeven ilogb
}
rules_for! {
    f32, single,
    cbrtf hypotf powf
    expf exp2f exp10f expm1f logf log2f log10f log1pf
    sinf cosf tanf asinf acosf atanf atan2f sincosf
    sinhf coshf tanhf asinhf acoshf atanhf
    erff erfcf tgammaf lgammaf lgammaf_r
    j0f j1f jnf y0f y1f ynf
    fmaf fmodf remainderf remquof modff frexpf ldexpf nextafterf
    floorf ceilf truncf roundf rintf roundevenf ilogbf
}
