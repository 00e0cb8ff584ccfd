//! The functions of the crate `micromath`, which have rules in `pullback::rules::micromath`: they are those of the functions
//! that are approximated.

use micromath::F32Ext;
use pullback::{derivative, grad, jvp};

/// Both modes against the derivative of std's function, to the precision of the approximations.
macro_rules! compare {
    ($($name:ident at $($x:expr),+;)*) => {$($(
        let (ours, theirs) = (|x: f32| F32Ext::$name(x), |x: f32| f64::from(x).$name());
        let expected = derivative(|x: f64| x.$name(), f64::from($x as f32));
        for found in [derivative(ours, $x), jvp(|x: &f32| ours(*x), &$x, &1.0).1] {
            assert!((f64::from(found) - expected).abs() <= 0.1 * expected.abs().max(0.1), "{found} {expected}");
        }
        assert!((f64::from(ours($x)) - theirs($x)).abs() <= 0.1 * theirs($x).abs().max(0.2));
    )+)*};
}

#[test]
fn functions_of_one_number() {
    compare! {
        sqrt at 0.25, 2.0;
        exp at -0.5, 1.2;
        ln at 0.5, 3.0;
        log2 at 0.5, 3.0;
        log10 at 0.5, 3.0;
        asin at 0.3, -0.4;
        acos at 0.3, -0.4;
        recip at 0.7, 3.0;
        fract at 1.3, 2.6;
        abs at -1.5, 2.0;
    }
    assert!((derivative(|x: f32| F32Ext::inv(x), 2.0) + 0.25).abs() < 0.02);
    assert!((derivative(|x: f32| F32Ext::invsqrt(x), 4.0) + 0.0625).abs() < 0.005);
}

#[test]
fn steps() {
    let steps = |x: f32| F32Ext::floor(x) * x + F32Ext::ceil(x) * x + F32Ext::round(x) * x + F32Ext::trunc(x) * x;
    assert_eq!(derivative(steps, 2.6), 2.0 + 3.0 + 3.0 + 2.0);
}

#[test]
fn functions_of_two_numbers() {
    let close = |found: [f32; 2], expected: [f32; 2]| {
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() <= 0.1 * expected.abs().max(0.1), "{found} {expected}");
        }
    };
    close(grad(|x: &[f32; 2]| F32Ext::hypot(x[0], x[1]), &[3.0, 4.0]), [0.6, 0.8]);
    close(grad(|x: &[f32; 2]| F32Ext::powf(x[0], x[1]), &[2.0, 3.0]), [12.0, 8.0 * 2.0_f32.ln()]);
    close(grad(|x: &[f32; 2]| F32Ext::log(x[0], x[1]), &[8.0, 2.0]), [0.125 / 2.0_f32.ln(), -1.5 / 2.0_f32.ln()]);
    close(grad(|x: &[f32; 2]| F32Ext::rem_euclid(x[0], x[1]), &[7.5, 2.0]), [1.0, -3.0]);
}
