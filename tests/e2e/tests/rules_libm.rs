//! The functions of C's library that have rules in `pullback::rules::libm`.

use pullback::{autodiff, check};
use pullback_e2e::assert_close;
mod c {
    use std::ffi::{c_int, c_long};

    unsafe extern "C" {
        pub safe fn erf(x: f64) -> f64;
        pub safe fn erfc(x: f64) -> f64;
        pub safe fn tgamma(x: f64) -> f64;
        pub safe fn lgamma(x: f64) -> f64;
        pub fn lgamma_r(x: f64, sign: *mut c_int) -> f64;
        pub safe fn exp10(x: f64) -> f64;
        pub safe fn j0(x: f64) -> f64;
        pub safe fn j1(x: f64) -> f64;
        pub safe fn jn(n: c_int, x: f64) -> f64;
        pub safe fn y0(x: f64) -> f64;
        pub safe fn y1(x: f64) -> f64;
        pub safe fn yn(n: c_int, x: f64) -> f64;
        pub safe fn fmod(x: f64, y: f64) -> f64;
        pub safe fn remainder(x: f64, y: f64) -> f64;
        pub fn remquo(x: f64, y: f64, quotient: *mut c_int) -> f64;
        pub safe fn scalbn(x: f64, n: c_int) -> f64;
        pub safe fn scalbln(x: f64, n: c_long) -> f64;
        pub safe fn ldexp(x: f64, n: c_int) -> f64;
        pub safe fn nextafter(x: f64, y: f64) -> f64;
        pub safe fn logb(x: f64) -> f64;
        pub fn frexp(x: f64, exponent: *mut c_int) -> f64;
        pub fn modf(x: f64, whole: *mut f64) -> f64;
        pub fn sincos(x: f64, sin: *mut f64, cos: *mut f64);

        pub safe fn erff(x: f32) -> f32;
        pub safe fn lgammaf(x: f32) -> f32;
        pub fn modff(x: f32, whole: *mut f32) -> f32;
        pub fn sincosf(x: f32, sin: *mut f32, cos: *mut f32);
    }
}

/// Both modes against each other and against differences.
#[test]
fn functions_of_one_number() {
    check::rule(|x: &f64| c::erf(*x), &[-1.5, 0.0, 0.3, 2.0]);
    check::rule(|x: &f64| c::erfc(*x), &[-1.5, 0.0, 0.3, 2.0]);
    check::rule(|x: &f64| c::tgamma(*x), &[-1.5, 0.3, 1.0, 4.5]);
    check::rule(|x: &f64| c::lgamma(*x), &[-1.5, 0.3, 1.0, 40.5]);
    check::rule(|x: &f64| c::exp10(*x), &[-1.5, 0.3, 1.0]);
    check::rule(|x: &f64| c::j0(*x) * c::j1(*x), &[-1.5, 0.0, 1.0, 7.0]);
    check::rule(|x: &f64| c::y0(*x) * c::y1(*x), &[0.5, 1.0, 7.0]);
    check::rule(|x: &f64| c::jn(0, *x) + c::jn(3, *x) * c::yn(2, *x), &[0.5, 1.0, 7.0]);
    check::rule(|x: &f64| c::scalbn(*x, 3) * c::scalbn(*x, -1), &[0.5, -2.0]);
    check::rule(|x: &f64| c::scalbln(*x, 3) * c::ldexp(*x, -1), &[0.5, -2.0]);
    check::rule(|x: &f64| c::nextafter(*x, 10.0) * c::logb(*x), &[0.7, -3.0]);
}

#[test]
fn functions_of_two_numbers() {
    check::rule(|x: &[f64; 2]| c::fmod(x[0], x[1]), &[[7.4, 2.0], [-7.4, 2.0], [0.3, -2.0]]);
    let remainders = |x: &[f64; 2]| {
        let mut quotient = 0;
        let rest = unsafe { c::remquo(x[0], x[1], &mut quotient) };
        rest * rest * f64::from(quotient) + rest * x[1]
    };
    check::rule(remainders, &[[7.4, 2.0], [-7.4, 2.1], [0.3, -2.0]]);
    check::rule(|x: &[f64; 2]| c::remainder(x[0], x[1]), &[[7.4, 2.0], [-7.4, 2.1], [0.3, -2.0]]);
}

/// The logarithm of Γ, with its sign.
fn signed_log_gamma(x: f64) -> f64 {
    let mut sign = 0;
    let value = unsafe { c::lgamma_r(x, &mut sign) };
    f64::from(sign) * value
}

fn mantissa(x: f64) -> f64 {
    let mut exponent = 0;
    let value = unsafe { c::frexp(x, &mut exponent) };
    value * value * f64::from(exponent)
}

fn parts(x: f64) -> f64 {
    let mut whole = 0.0;
    let fraction = unsafe { c::modf(x, &mut whole) };
    fraction * fraction * whole
}

fn circle(x: f64) -> f64 {
    let (mut sin, mut cos) = (0.0, 0.0);
    unsafe { c::sincos(x, &mut sin, &mut cos) };
    sin * cos * cos + sin
}

#[test]
fn results_through_pointers() {
    check::rule(|x: &f64| signed_log_gamma(*x), &[-1.5, -0.5, 0.3, 3.0]);
    check::rule(|x: &f64| mantissa(*x), &[0.3, 5.0, -70.0]);
    check::rule(|x: &f64| parts(*x), &[0.3, 5.5, -7.25]);
    check::rule(|x: &f64| circle(*x), &[0.3, 5.0, -7.0]);
    // One after the other into the same place.
    check::rule(|x: &f64| (1..4).map(|i| parts(x * f64::from(i)) * circle(*x)).sum::<f64>(), &[0.3, 5.2]);
}

#[autodiff(d_single, Reverse, Active, Active)]
#[autodiff(f_single, Forward, Dual, Dual)]
fn single(x: f32) -> f32 {
    let (mut sin, mut cos, mut whole) = (0.0, 0.0, 0.0);
    unsafe {
        c::sincosf(x, &mut sin, &mut cos);
        c::erff(x) * c::lgammaf(x) + sin * cos * c::modff(x, &mut whole)
    }
}

#[test]
fn single_precision() {
    let at = |x: f64| {
        let (sin, cos) = x.sin_cos();
        c::erf(x) * c::lgamma(x) + sin * cos * x.fract()
    };
    let difference = (at(1.7 + 1e-6) - at(1.7 - 1e-6)) / 2e-6;
    assert_close(f64::from(d_single(1.7).0), difference, 1e-5);
    assert_close(f64::from(f_single(1.7, 1.0).1), difference, 1e-5);
}
