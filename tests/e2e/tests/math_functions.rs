//! All of std's float functions, for `f64` against finite differences and for `f32` against `f64`.

use pullback_e2e::{assert_close, finite_differences};

/// `name(x, …) = expression at (x, …), (x, …);` for both types.
macro_rules! math {
    ($($name:ident($($x:ident),+) = $value:expr, at $(($($point:expr),+))+;)*) => {$(
        mod $name {
            mod double {
                #[pullback::autodiff(reverse, Reverse, Duplicated, Active)]
                #[pullback::autodiff(forward, Forward, Dual, Dual)]
                pub fn function(x: &[f64]) -> f64 {
                    let [$($x),+] = *x else { unreachable!() };
                    $value
                }
            }

            mod single {
                #[pullback::autodiff(reverse, Reverse, Duplicated, Active)]
                #[pullback::autodiff(forward, Forward, Dual, Dual)]
                pub fn function(x: &[f32]) -> f32 {
                    let [$($x),+] = *x else { unreachable!() };
                    $value
                }
            }

            #[test]
            fn f64() {
                $(super::check(double::function, double::reverse, double::forward, &[$($point),+]);)+
            }

            #[test]
            fn f32() {
                $(super::check_f32(
                    single::function, single::reverse, single::forward, double::reverse, &[$($point),+],
                );)+
            }
        }
    )*};
}

fn check(
    f: impl Fn(&[f64]) -> f64,
    reverse: impl Fn(&[f64], &mut [f64]) -> f64,
    forward: impl Fn(&[f64], &[f64]) -> (f64, f64),
    x: &[f64],
) {
    pullback_e2e::check(&f, &reverse, &forward, x);
    // The seed and the tangent are not always 1.
    let ones = vec![1.0; x.len()];
    let expected: f64 = finite_differences(&f, x).iter().sum();
    assert_close(forward(x, &ones).1, expected, 1e-6);
}

fn check_f32(
    f: impl Fn(&[f32]) -> f32,
    reverse: impl Fn(&[f32], &mut [f32]) -> f32,
    forward: impl Fn(&[f32], &[f32]) -> (f32, f32),
    reverse_f64: impl Fn(&[f64], &mut [f64]) -> f64,
    x: &[f64],
) {
    let single: Vec<f32> = x.iter().map(|v| *v as f32).collect();
    // The point that the single-precision function is really evaluated at.
    let x: Vec<f64> = single.iter().map(|v| f64::from(*v)).collect();
    let (mut gradient, mut expected) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    assert_eq!(reverse(&single, &mut gradient).to_bits(), f(&single).to_bits());
    reverse_f64(&x, &mut expected);
    for index in 0..x.len() {
        assert_close(f64::from(gradient[index]), expected[index], 2e-4);
        let mut tangent = vec![0.0; x.len()];
        tangent[index] = 1.0;
        assert_close(f64::from(forward(&single, &tangent).1), expected[index], 2e-4);
    }
}

math! {
    add(x, y) = x + y, at (1.5, 2.5) (-1.0, 3.0);
    sub(x, y) = x - y, at (1.5, 2.5);
    mul(x, y) = x * y, at (1.5, 2.5) (-0.5, 4.0);
    div(x, y) = x / y, at (1.5, 2.5) (-3.0, 0.5);
    rem(x, y) = x % y, at (7.3, 2.0) (-7.3, 2.0);
    neg(x) = -x, at (1.5);
    abs(x) = x.abs(), at (1.5) (-2.5);
    signum(x) = x.signum() * x, at (1.5) (-2.5);
    copysign(x, y) = x.copysign(y), at (1.5, -2.0) (-1.5, -2.0) (1.5, 3.0);
    mul_add(x, y, z) = x.mul_add(y, z), at (1.5, -2.0, 0.5);
    recip(x) = x.recip(), at (1.5) (-0.5);
    sqrt(x) = x.sqrt(), at (0.25) (2.0) (9.5);
    cbrt(x) = x.cbrt(), at (0.3) (-2.0) (27.5);
    hypot(x, y) = x.hypot(y), at (3.0, 4.0) (-1.0, 0.5);
    powi(x) = x.powi(5) + x.powi(-2) + x.powi(0) + x.powi(1), at (1.3) (-0.7);
    powf(x, y) = x.powf(y), at (1.3, 2.5) (0.4, -1.5) (2.0, 3.0);
    exp(x) = x.exp(), at (0.3) (-2.0) (3.0);
    exp2(x) = x.exp2(), at (0.3) (-2.0) (3.0);
    exp_m1(x) = x.exp_m1(), at (0.001) (-2.0) (1.5);
    ln(x) = x.ln(), at (0.3) (2.0);
    log2(x) = x.log2(), at (0.3) (2.0);
    log10(x) = x.log10(), at (0.3) (2.0);
    ln_1p(x) = x.ln_1p(), at (0.001) (2.0) (-0.5);
    log(x, y) = x.log(y), at (3.0, 2.0) (0.5, 10.0);
    sin(x) = x.sin(), at (0.3) (-2.0) (7.0);
    cos(x) = x.cos(), at (0.3) (-2.0) (7.0);
    tan(x) = x.tan(), at (0.3) (-1.0) (2.5);
    sin_cos(x) = { let (s, c) = x.sin_cos(); s * c + s }, at (0.3) (-2.0);
    asin(x) = x.asin(), at (0.3) (-0.8);
    acos(x) = x.acos(), at (0.3) (-0.8);
    atan(x) = x.atan(), at (0.3) (-3.0);
    atan2(x, y) = x.atan2(y), at (0.3, 0.5) (-1.0, 2.0) (1.0, -2.0) (-1.0, -0.5);
    sinh(x) = x.sinh(), at (0.3) (-2.0);
    cosh(x) = x.cosh(), at (0.3) (-2.0);
    tanh(x) = x.tanh(), at (0.3) (-2.0);
    asinh(x) = x.asinh(), at (0.3) (-2.0) (0.0) (-0.0) (1e-300);
    acosh(x) = x.acosh(), at (1.3) (3.0);
    atanh(x) = x.atanh(), at (0.3) (-0.7);
    floor(x) = x.floor() * x, at (1.3) (-1.3);
    ceil(x) = x.ceil() * x, at (1.3) (-1.3);
    round(x) = x.round() * x, at (1.3) (-1.7);
    round_ties_even(x) = x.round_ties_even() * x, at (1.3) (2.6);
    trunc(x) = x.trunc() * x, at (1.3) (-1.3);
    fract(x) = x.fract() * x, at (1.3) (-1.3);
    min(x, y) = x.min(y), at (1.0, 2.0) (2.0, 1.0);
    max(x, y) = x.max(y), at (1.0, 2.0) (2.0, 1.0);
    clamp(x) = x.clamp(-1.0, 2.0) * x, at (0.5) (-3.0) (5.0);
    div_euclid(x, y) = x.div_euclid(y) * x, at (7.3, 2.0) (-7.3, 2.0);
    rem_euclid(x, y) = x.rem_euclid(y), at (7.3, 2.0) (-7.3, 2.0) (7.3, -2.0);
    midpoint(x, y) = x.midpoint(y), at (1.0, 4.0);
    to_degrees(x) = x.to_degrees(), at (0.3);
    to_radians(x) = x.to_radians(), at (30.0);
}

mod conversions {
    use pullback::autodiff;

    #[autodiff(d_widened, Reverse, Active, Active)]
    fn widened(x: f32) -> f64 {
        f64::from(x) * f64::from(x)
    }

    #[autodiff(d_narrowed, Reverse, Active, Active)]
    fn narrowed(x: f64) -> f32 {
        (x * x) as f32
    }

    #[autodiff(d_through_bits, Reverse, Active, Active)]
    fn through_bits(x: f64) -> f64 {
        f64::from_bits(x.to_bits()) * x
    }

    #[test]
    fn between_widths_and_through_bits() {
        assert_eq!(d_widened(3.0), (6.0, 9.0));
        assert_eq!(d_narrowed(3.0), (6.0, 9.0));
        assert_eq!(d_through_bits(3.0), (6.0, 9.0));
    }
}

/// At a tie with a constant the other operand counts as returned, on whichever side it is: LLVM may swap them.
#[test]
fn ties_with_constants() {
    use pullback::derivative;
    assert_eq!(derivative(|x: f64| x.max(0.0), 0.0), 1.0);
    assert_eq!(derivative(|x: f64| 0.0_f64.max(x), 0.0), 1.0);
    assert_eq!(derivative(|x: f64| x.min(0.0), 0.0), 1.0);
    assert_eq!(derivative(|x: f64| 0.0_f64.min(x), 0.0), 1.0);
}
