//! The functions of the crate `libm`, which have rules in `pullback::rules::libm_crate`.

use pullback::{check, derivative, grad};
use pullback_e2e::assert_close;

/// Both modes against each other and against differences.
macro_rules! check_all {
    ($($name:ident at $points:expr;)*) => {$(
        check::rule(|x: &f64| libm::$name(*x), &$points);
    )*};
}

#[test]
fn functions_of_one_number() {
    check_all! {
        sqrt at [0.25, 4.0];
        cbrt at [-2.0, 0.3];
        exp at [-1.5, 0.0, 2.0];
        exp2 at [-1.5, 0.3];
        exp10 at [-1.5, 0.3];
        expm1 at [-1.5, 0.0, 1e-3, 2.0];
        log at [0.3, 4.0];
        log2 at [0.3, 4.0];
        log10 at [0.3, 4.0];
        log1p at [-0.5, 0.0, 4.0];
        sin at [-1.5, 0.0, 20.0];
        cos at [-1.5, 0.1, 20.0];
        tan at [-1.1, 0.0, 1.2];
        asin at [-0.4, 0.0, 0.3];
        acos at [-0.4, 0.0, 0.3];
        atan at [-5.0, 0.0, 0.9];
        sinh at [-2.0, 0.0, 0.9];
        cosh at [-2.0, 0.1, 0.9];
        tanh at [-2.0, 0.0, 0.9];
        asinh at [-2.0, 0.0, 0.9];
        acosh at [1.5, 3.0];
        atanh at [-0.4, 0.0, 0.3];
        erf at [-1.5, 0.0, 0.3];
        erfc at [-1.5, 0.0, 0.3];
        tgamma at [-1.5, 0.3, 4.5];
        lgamma at [-1.5, 0.3, 40.5];
        j0 at [-1.5, 1.0, 7.0];
        j1 at [-1.5, 0.0, 7.0];
        y0 at [0.5, 7.0];
        y1 at [0.5, 7.0];
        fabs at [-1.5, 2.0];
    }
    check::rule(|x: &f64| libm::jn(3, *x) * libm::yn(2, *x), &[0.5, 7.0]);
    check::rule(|x: &f64| libm::ldexp(*x, 3) * libm::scalbn(*x, -1), &[0.5, -2.0]);
    check::rule(|x: &f64| libm::floor(*x) * x + libm::round(x * 1.7) * x + libm::trunc(*x), &[0.5, -2.25]);
}

#[test]
fn functions_of_several_numbers() {
    check::rule(|x: &[f64; 2]| libm::hypot(x[0], x[1]), &[[3.0, -4.0], [0.3, 2.0]]);
    check::rule(|x: &[f64; 2]| libm::pow(x[0], x[1]), &[[3.0, -1.5], [0.3, 2.0]]);
    check::rule(|x: &[f64; 2]| libm::atan2(x[0], x[1]), &[[3.0, -4.0], [-0.3, 2.0]]);
    check::rule(|x: &[f64; 2]| libm::fdim(x[0], x[1]) * x[0], &[[3.0, -4.0], [-0.3, 2.0]]);
    check::rule(|x: &[f64; 2]| libm::copysign(x[0], x[1]) * x[1], &[[3.0, -4.0], [-0.3, 2.0]]);
    check::rule(|x: &[f64; 2]| libm::fmod(x[0], x[1]), &[[7.4, 2.0], [-7.4, 2.0]]);
    check::rule(|x: &[f64; 2]| libm::remainder(x[0], x[1]), &[[7.4, 2.0], [-7.4, 2.1]]);
    check::rule(|x: &[f64; 2]| libm::fma(x[0], x[1], x[0]), &[[7.4, 2.0]]);
}

#[test]
fn results_in_pairs() {
    let product = |x: &f64| {
        let ((sin, cos), (part, whole)) = (libm::sincos(*x), libm::modf(x * 1.5));
        sin * cos + part * part * whole
    };
    check::rule(product, &[0.7, 3.2, -1.8]);
    let with_numbers = |x: &f64| {
        let ((mantissa, power), (gamma, sign)) = (libm::frexp(*x), libm::lgamma_r(x + 0.5));
        mantissa * mantissa * f64::from(power) + gamma * gamma * f64::from(sign)
    };
    check::rule(with_numbers, &[0.7, 3.2, -1.8]);
    let remainders = |x: &[f64; 2]| {
        let (rest, quotient) = libm::remquo(x[0], x[1]);
        rest * rest * f64::from(quotient) + rest * x[1]
    };
    check::rule(remainders, &[[7.4, 2.0], [-7.4, 2.1]]);
}

#[test]
fn steps_and_neighbours() {
    check::rule(|x: &f64| libm::roundeven(*x) * x + f64::from(libm::ilogb(*x)) * x, &[0.7, 5.2, -1.8]);
    check::rule(|x: &[f64; 2]| libm::nextafter(x[0], x[1]) * x[0] * x[1], &[[7.4, 2.0], [-7.4, 2.1]]);
    check::rule(|x: &[f64; 2]| libm::fmin(x[0], x[1]) * libm::fmax(x[0], 1.0), &[[7.4, 2.0], [-7.4, 2.1]]);
}

#[test]
fn in_single_precision() {
    let f = |x: &[f32; 2]| libm::sinf(x[0]) * libm::expf(x[1]) + libm::powf(x[0], 3.0) + libm::sqrtf(x[1]);
    let [x, y] = [0.5_f64, 2.0];
    let gradient = grad(f, &[0.5, 2.0]);
    assert_close(gradient[0].into(), x.cos() * y.exp() + 3.0 * x * x, 1e-6);
    assert_close(gradient[1].into(), x.sin() * y.exp() + 0.5 / y.sqrt(), 1e-6);
    assert_eq!(derivative(|x: f32| libm::frexpf(x).0 + libm::remquof(x, 2.0).0 + libm::nextafterf(x, 0.0), 5.0), 2.125);
    assert_eq!(derivative(|x: f32| libm::roundevenf(x) * x + libm::ilogbf(x) as f32 * x, 5.25), 7.0);
}

/// As std's functions, by the table in `docs/rules.md`.
#[test]
fn at_singular_points() {
    assert_eq!(derivative(libm::sqrt, 0.0), f64::INFINITY);
    assert_eq!(derivative(|x| libm::pow(x, 0.0), 0.0), 0.0);
    assert_eq!(derivative(|x| libm::pow(x, 0.5), 0.0), f64::INFINITY);
    assert_eq!(derivative(|y| libm::pow(0.0, y), 2.0), 0.0);
    assert_eq!(derivative(libm::asinh, 0.0), 1.0);
    assert_eq!(derivative(libm::fabs, 0.0), 0.0);
    assert_eq!(derivative(libm::tanh, 1e3), 0.0);
    assert_eq!(derivative(libm::asin, 1.0), f64::INFINITY);
}

/// Second derivatives: rules are differentiated.
#[test]
fn rules_have_derivatives() {
    let of_exp = derivative(|x: f64| derivative(|x: f64| libm::exp(2.0 * x), x), 0.3);
    assert_close(of_exp, 4.0 * 0.6_f64.exp(), 1e-14);
    let of_product = derivative(|x: f64| derivative(|x: f64| libm::sin(x) * libm::log(x), x), 2.0);
    let (s, c) = 2.0_f64.sin_cos();
    assert_close(of_product, -s * 2.0_f64.ln() + c - s / 4.0, 1e-13);
}
