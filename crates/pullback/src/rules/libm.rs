//! Rules for the mathematical functions of C's library. With the feature `libm`. They give way to rules of your own.
//! (Those of the crate `libm` are in [`libm_crate`](super::libm_crate).)
//!
//! What Pullback knows of itself, and what is here:
//!
//! | functions | |
//! |---|---|
//! | `sin` `cos` `exp` `exp2` `ln` `log2` `log10` `sqrt` `powf` `powi` `mul_add` | instructions of LLVM (1) |
//! | `abs` `copysign` `min` `max` `floor` `ceil` `round` … | the same |
//! | `tan` `asin` `acos` `atan` `atan2` `sinh` `cosh` `tanh` | functions of C that the standard library calls (2) |
//! | `exp_m1` `ln_1p` `cbrt` `hypot` `abs_sub` | the same (`exp_m1` is `expm1`) |
//! | `erf` `erfc` `tgamma` `lgamma` `lgamma_r` `exp10` `j0` `j1` `jn` `y0` `y1` `yn` | here |
//! | `fmod` `remainder` `remquo` `scalbn` `scalbln` `frexp` `modf` `nextafter` `logb` `sincos` | here |
//!
//! (1) They are in the engine's own table of partial derivatives, `docs/rules.md`. (2) So are these: see below.
//!
//! All have a form for `f32` as well, whose name ends in `f`. A rule for C's function (`scalar_rule!(extern "C" tan(x)
//! => …)`) holds for the method of the standard library that calls it, one for the method (`scalar_rule!(f64::tan(x) =>
//! …)`) for the method alone.
//!
//! Those of the second row could be written like those of the third. Measured, that costs: a pullback keeps what it
//! captures, and a derivative that needs nothing but `x` captures `x`, where the engine, which sees the formula, reads
//! `x` from where it lies, and computes the formula in whichever sweep is cheaper. In a sum of `atan(x[i])` a rule
//! makes the derivative execute 6 % more instructions, and write 8 bytes of tape for each element in the place of none;
//! `ln_1p` costs 5 % and `hypot` 6 % more. What is computed from the result (`tanh`) costs the same either way.
//!
//! At the edges a derivative is what IEEE arithmetic makes of the formula: the one of `tgamma` and `lgamma` is NaN at
//! their poles.

use super::NoTangent;
use crate::{frule, rrule, scalar_rule};
use std::f64::consts::{FRAC_2_SQRT_PI, LN_10, PI};
use std::ffi::{c_int, c_long};

/// ψ, the derivative of the logarithm of Γ.
pub(super) fn digamma(x: f64) -> f64 {
    if x <= 0.0 && x == x.floor() {
        return f64::NAN;
    }
    // What ψ(x) is less than ψ at a place where the series is good.
    let (mut less, mut x) = (0.0, x);
    if x < 0.0 {
        // The tangent repeats itself from one whole number to the next.
        less = PI / (PI * (x - x.floor())).tan();
        x = 1.0 - x;
    }
    while x < 10.0 {
        less += 1.0 / x;
        x += 1.0;
    }
    // The coefficients are Bernoulli's numbers over their index.
    const SERIES: [f64; 7] =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    let y = 1.0 / (x * x);
    let series = SERIES.iter().rev().fold(0.0, |sum, coefficient| (sum + coefficient) * y);
    x.ln() - 0.5 / x - series - less
}

/// The rules for one type of floats, with the names that its functions have.
macro_rules! rules_for {
    (
        $T:ident, $module:ident,
        $erf:ident $erfc:ident $tgamma:ident $lgamma:ident $lgamma_r:ident $exp10:ident
        $j0:ident $j1:ident $jn:ident $y0:ident $y1:ident $yn:ident
        $fmod:ident $remainder:ident $remquo:ident $scalbn:ident $scalbln:ident $frexp:ident $modf:ident $nextafter:ident
        $sincos:ident $logb:ident
    ) => {
        mod $module {
            use super::*;

            unsafe extern "C" {
                safe fn $erf(x: $T) -> $T;
                safe fn $erfc(x: $T) -> $T;
                safe fn $tgamma(x: $T) -> $T;
                safe fn $lgamma(x: $T) -> $T;
                fn $lgamma_r(x: $T, sign: *mut c_int) -> $T;
                safe fn $exp10(x: $T) -> $T;
                safe fn $j0(x: $T) -> $T;
                safe fn $j1(x: $T) -> $T;
                safe fn $jn(n: c_int, x: $T) -> $T;
                safe fn $y0(x: $T) -> $T;
                safe fn $y1(x: $T) -> $T;
                safe fn $yn(n: c_int, x: $T) -> $T;
                safe fn $fmod(x: $T, y: $T) -> $T;
                safe fn $remainder(x: $T, y: $T) -> $T;
                fn $remquo(x: $T, y: $T, quotient: *mut c_int) -> $T;
                safe fn $scalbn(x: $T, n: c_int) -> $T;
                safe fn $scalbln(x: $T, n: c_long) -> $T;
                safe fn $nextafter(x: $T, y: $T) -> $T;
                safe fn $logb(x: $T) -> $T;
                fn $frexp(x: $T, exponent: *mut c_int) -> $T;
                fn $modf(x: $T, whole: *mut $T) -> $T;
                fn $sincos(x: $T, sin: *mut $T, cos: *mut $T);
            }

            /// ψ in this precision.
            fn psi(x: $T) -> $T {
                digamma(f64::from(x)) as $T
            }

            // The error functions.
            scalar_rule!(default extern "C" $erf(x: $T) => r; d/dx = FRAC_2_SQRT_PI as $T * (-x * x).exp());
            scalar_rule!(default extern "C" $erfc(x: $T) => r; d/dx = -(FRAC_2_SQRT_PI as $T) * (-x * x).exp());

            // Γ.
            scalar_rule!(default extern "C" $tgamma(x: $T) => r; d/dx = r * psi(x));
            scalar_rule!(default extern "C" $lgamma(x: $T) => r; d/dx = psi(x));

            scalar_rule!(default extern "C" $exp10(x: $T) => r; d/dx = r * LN_10 as $T);

            // Bessel's functions. That of the first kind and order 1 rises by 1/2 at 0.
            scalar_rule!(default extern "C" $j0(x: $T) => r; d/dx = -$j1(x));
            scalar_rule!(default extern "C" $j1(x: $T) => r; d/dx = if x == 0.0 { 0.5 } else { $j0(x) - r / x });
            scalar_rule!(default extern "C" $jn(n: c_int, x: $T) => r; d/dx = 0.5 * ($jn(n - 1, x) - $jn(n + 1, x)));
            scalar_rule!(default extern "C" $y0(x: $T) => r; d/dx = -$y1(x));
            scalar_rule!(default extern "C" $y1(x: $T) => r; d/dx = $y0(x) - r / x);
            scalar_rule!(default extern "C" $yn(n: c_int, x: $T) => r; d/dx = 0.5 * ($yn(n - 1, x) - $yn(n + 1, x)));

            // What is left of x after a whole number of y.
            scalar_rule!(default extern "C" $fmod(x: $T, y: $T) => r; d/dx = 1.0, d/dy = -((x - r) / y).round());
            scalar_rule!(default extern "C" $remainder(x: $T, y: $T) => r; d/dx = 1.0, d/dy = -((x - r) / y).round());

            scalar_rule!(default extern "C" $scalbn(x: $T, n: c_int) => r; d/dx = $scalbn(1.0, n));
            scalar_rule!(default extern "C" $scalbln(x: $T, n: c_long) => r; d/dx = $scalbln(1.0, n));

            // The neighbour of a number moves with it.
            scalar_rule!(default extern "C" $nextafter(x: $T, y: $T) => r; d/dx = 1.0, d/dy = 0.0);

            // The exponent is constant between its jumps.
            scalar_rule!(default extern "C" $logb(x: $T) => r; d/dx = 0.0);

            // Results through pointers. A pointer to what has no derivative has no shadow.

            #[rrule(for = $lgamma_r, abi = "C", default)]
            fn lgamma_r_rrule(x: $T, sign: *mut c_int) -> ($T, impl Fn($T, NoTangent) -> $T + 'static) {
                // SAFETY: S30, as the function is called, here and below.
                (unsafe { $lgamma_r(x, sign) }, move |d, _: NoTangent| d * psi(x))
            }

            #[frule(for = $lgamma_r, abi = "C", default)]
            fn lgamma_r_frule(x: $T, dx: $T, sign: *mut c_int, _: NoTangent) -> ($T, $T) {
                // SAFETY: S30, as above.
                (unsafe { $lgamma_r(x, sign) }, dx * psi(x))
            }

            #[rrule(for = $remquo, abi = "C", default)]
            fn remquo_rrule(
                x: $T,
                y: $T,
                quotient: *mut c_int,
            ) -> ($T, impl Fn($T, NoTangent) -> ($T, $T) + 'static) {
                // SAFETY: S30, as above.
                let r = unsafe { $remquo(x, y, quotient) };
                (r, move |d, _: NoTangent| (d, -d * ((x - r) / y).round()))
            }

            #[frule(for = $remquo, abi = "C", default)]
            fn remquo_frule(x: $T, dx: $T, y: $T, dy: $T, quotient: *mut c_int, _: NoTangent) -> ($T, $T) {
                // SAFETY: S30, as above.
                let r = unsafe { $remquo(x, y, quotient) };
                (r, dx - dy * ((x - r) / y).round())
            }

            #[rrule(for = $frexp, abi = "C", default)]
            fn frexp_rrule(x: $T, exponent: *mut c_int) -> ($T, impl Fn($T, NoTangent) -> $T + 'static) {
                // SAFETY: S30, as above.
                let (mantissa, power) = unsafe { ($frexp(x, exponent), *exponent) };
                (mantissa, move |d, _: NoTangent| $scalbn(d, -power))
            }

            #[frule(for = $frexp, abi = "C", default)]
            fn frexp_frule(x: $T, dx: $T, exponent: *mut c_int, _: NoTangent) -> ($T, $T) {
                // SAFETY: S30, as above.
                let (mantissa, power) = unsafe { ($frexp(x, exponent), *exponent) };
                (mantissa, $scalbn(dx, -power))
            }

            /// The whole part is constant between its jumps: what its cotangent was, nobody asks.
            #[rrule(for = $modf, abi = "C", default)]
            fn modf_rrule(x: $T, whole: *mut $T) -> ($T, impl Fn($T, *mut $T) -> $T + 'static) {
                // SAFETY: S34, as above; a shadow that is not null is there.
                let part = unsafe { $modf(x, whole) };
                (part, |d, d_whole: *mut $T| {
                    if !d_whole.is_null() {
                        unsafe { *d_whole = 0.0 };
                    }
                    d
                })
            }

            #[frule(for = $modf, abi = "C", default)]
            fn modf_frule(x: $T, dx: $T, whole: *mut $T, d_whole: *mut $T) -> ($T, $T) {
                // SAFETY: S30, as above.
                unsafe {
                    if !d_whole.is_null() {
                        *d_whole = 0.0;
                    }
                    ($modf(x, whole), dx)
                }
            }

            /// What the function has written is what the pullback needs.
            #[rrule(for = $sincos, abi = "C", default)]
            fn sincos_rrule(x: $T, sin: *mut $T, cos: *mut $T) -> ((), impl Fn(*mut $T, *mut $T) -> $T + 'static) {
                // SAFETY: S30, as above.
                let (s, c) = unsafe {
                    $sincos(x, sin, cos);
                    (*sin, *cos)
                };
                ((), move |d_sin: *mut $T, d_cos: *mut $T| {
                    // The cotangent of what was there before: nothing.
                    // SAFETY: S30, as above.
                    let take = |d: *mut $T| if d.is_null() { 0.0 } else { unsafe { d.replace(0.0) } };
                    take(d_sin) * c - take(d_cos) * s
                })
            }

            #[frule(for = $sincos, abi = "C", default)]
            fn sincos_frule(x: $T, dx: $T, sin: *mut $T, d_sin: *mut $T, cos: *mut $T, d_cos: *mut $T) {
                // SAFETY: S30, as above.
                unsafe {
                    $sincos(x, sin, cos);
                    let put = |place: *mut $T, d: $T| {
                        if !place.is_null() {
                            place.write(d);
                        }
                    };
                    put(d_sin, *cos * dx);
                    put(d_cos, -*sin * dx);
                }
            }
        }
    };
}

rules_for! {
    f64, double,
    erf erfc tgamma lgamma lgamma_r exp10 j0 j1 jn y0 y1 yn
    fmod remainder remquo scalbn scalbln frexp modf nextafter sincos logb
}
rules_for! {
    f32, single,
    erff erfcf tgammaf lgammaf lgammaf_r exp10f j0f j1f jnf y0f y1f ynf
    fmodf remainderf remquof scalbnf scalblnf frexpf modff nextafterf sincosf logbf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_is_what_tables_say() {
        const GAMMA: f64 = 0.577_215_664_901_532_9;
        let cases = [
            (1.0, -GAMMA),
            (2.0, 1.0 - GAMMA),
            (0.5, -GAMMA - 2.0 * std::f64::consts::LN_2),
            (10.0, 2.251_752_589_066_721),
            (100.0, 4.600_161_852_738_087),
            (-0.5, 0.036_489_973_978_576_52),
            (1e-3, -1_000.575_571_931_810_3),
            (-2.75, -1.959_055_264_977_997),
        ];
        for (x, expected) in cases {
            assert!((digamma(x) - expected).abs() <= 4e-15 * expected.abs().max(1.0), "{x}: {} {expected}", digamma(x));
        }
        assert!(digamma(0.0).is_nan() && digamma(-3.0).is_nan());
    }
}
