//! Float functions that LLVM knows, and folds or rewrites: the value that a derivative returns is the function's own,
//! bit by bit, and the derivative is that of the calls that the program has.

use pullback::autodiff;
use std::hint::black_box;

/// Every float function of one argument, of constants.
macro_rules! of_constants {
    ($x:ident, $float:ty, $out:ident: $($function:ident)*) => {{
        let mut i = 0;
        $(for c in [0.137 as $float, 0.3, 0.71, 0.93] {
            $out[i] = $x * c.$function();
            i += 1;
        })*
        i
    }};
}

/// A derivative of each kind, of a function that writes results to `out` and returns how many.
macro_rules! bits {
    ($test:ident, $float:ty, |$x:ident, $out:ident| $body:expr) => {
        mod $test {
            use super::*;

            #[autodiff(reverse, Reverse, Active, Duplicated, Const)]
            #[autodiff(forward, Forward, Dual, Dual, Const)]
            #[inline(never)]
            fn function($x: $float, $out: &mut [$float; 160]) -> usize {
                $body
            }

            #[test]
            fn bits() {
                let mut x: $float = 0.0625;
                while x < 40.0 {
                    let (mut expected, mut zeros): ([$float; 160], [$float; 160]) = ([0.0; 160], [0.0; 160]);
                    let count = function(black_box(x), &mut expected);
                    let mut from_reverse: [$float; 160] = [0.0; 160];
                    reverse(black_box(x), &mut from_reverse, &mut zeros);
                    let (mut from_forward, mut tangents): ([$float; 160], [$float; 160]) = ([0.0; 160], [0.0; 160]);
                    forward(black_box(x), 1.0, &mut from_forward, &mut tangents);
                    assert!(count > 0);
                    for i in 0..count {
                        let bits = expected[i].to_bits();
                        assert_eq!(from_reverse[i].to_bits(), bits, "reverse, number {i} at {x}");
                        assert_eq!(from_forward[i].to_bits(), bits, "forward, number {i} at {x}");
                    }
                    x *= 1.37;
                }
            }
        }
    };
}

macro_rules! constants {
    ($test:ident, $float:ty) => {
        bits!($test, $float, |x, out| of_constants!(x, $float, out:
            sin cos tan asin acos atan sinh cosh tanh asinh atanh exp exp2 exp_m1 ln log2 log10 ln_1p cbrt sqrt recip
            to_degrees to_radians abs floor ceil round trunc fract signum));
    };
}

macro_rules! powers {
    ($test:ident, $float:ty) => {
        bits!($test, $float, |x, out| {
            let values = [
                x * (1.29 as $float).powi(6),
                x * (1.29 as $float).powi(-7),
                x * (1.29 as $float).powi(31),
                x * (0.7 as $float).powf(1.3),
                x * (1.7 as $float).powf(0.5),
                x * (0.3 as $float).hypot(0.7),
                x * (0.3 as $float).atan2(0.7),
                x * (0.3 as $float).mul_add(0.7, 0.1),
                x * (5.3 as $float).rem_euclid(0.7),
                x * (0.3 as $float).log(7.0),
                x * (1.3 as $float).acosh(),
                x * (0.3 as $float).sin_cos().1,
                // Rewritten where one argument is a constant.
                x.powf(2.0),
                x.powf(0.5),
                x.powf(-0.5),
                x.powf(1.5),
                x.powf(0.25),
                x.powf(-1.0),
                x.powf(3.0),
                (2.0 as $float).powf(x),
                (10.0 as $float).powf(x * 0.25),
                (0.5 as $float).powf(x),
                x.powi(2),
                x.powi(3),
                x.powi(-3),
                x.powi(7),
                (x as i32 as $float).exp2(),
                (-x).sin(),
                (-x).cos(),
                x.exp().ln(),
                x.tan().atan(),
                x.sqrt() * x.sqrt(),
                (x * x).sqrt(),
                (x.sin() as f32).tanh() as $float,
                (x as f64).tanh() as f32 as $float,
                (x as f64).sqrt() as f32 as $float,
            ];
            out[..values.len()].copy_from_slice(&values);
            values.len()
        });
    };
}

constants!(constants_f64, f64);
constants!(constants_f32, f32);
powers!(powers_f64, f64);
powers!(powers_f32, f32);

/// Both derivatives of a function of one argument.
#[track_caller]
fn slopes(f: fn(f64) -> f64, reverse: fn(f64) -> (f64, f64), forward: fn(f64, f64) -> (f64, f64), x: f64) -> f64 {
    let (gradient, value) = reverse(black_box(x));
    let (_, tangent) = forward(black_box(x), 1.0);
    let expected = f(black_box(x));
    assert!(value == expected || value.is_nan() && expected.is_nan(), "{value} for {expected}");
    assert!(gradient == tangent || gradient.is_nan() && tangent.is_nan(), "{gradient} and {tangent}");
    gradient
}

/// A function that LLVM rewrites, and what its derivative is at a point where the rewritten form has none, by
/// `docs/rules.md`.
macro_rules! at_edges {
    ($($name:ident: |$x:ident| $value:expr, $($point:expr => $slope:expr),+;)*) => {$(
        #[test]
        fn $name() {
            #[autodiff(reverse, Reverse, Active, Active)]
            #[autodiff(forward, Forward, Dual, Dual)]
            fn function($x: f64) -> f64 {
                $value
            }
            $(assert_eq!(slopes(function, reverse, forward, $point), $slope, "at {}", $point);)+
        }
    )*};
}

const INFINITY: f64 = f64::INFINITY;

at_edges! {
    root_as_power: |x| x.powf(0.5), 0.0 => INFINITY, -0.0 => INFINITY, 4.0 => 0.25, INFINITY => 0.0;
    inverse_root_as_power: |x| x.powf(-0.5), 0.0 => -INFINITY, INFINITY => -0.0;
    fourth_root_as_power: |x| x.powf(0.25), 0.0 => INFINITY;
    cube_root_as_power: |x| x.powf(1.0 / 3.0), 0.0 => INFINITY;
    square_as_power: |x| x.powf(2.0), 0.0 => 0.0, -3.0 => -6.0, INFINITY => INFINITY;
    first_power: |x| x.powf(1.0), 0.0 => 1.0, INFINITY => 1.0;
    no_power: |x| x.powf(0.0), 0.0 => 0.0, INFINITY => 0.0;
    inverse_as_power: |x| x.powf(-1.0), 0.0 => -INFINITY, 2.0 => -0.25;
    power_of_two: |x| 2f64.powf(x), -INFINITY => 0.0, 3.0 => 8.0 * std::f64::consts::LN_2;
    power_of_one: |x| 1f64.powf(x), 0.0 => 0.0, 7.0 => 0.0;
    inverse_as_integer_power: |x| x.powi(-1), 0.0 => -INFINITY, 2.0 => -0.25;
    square_of_magnitude: |x| x.abs() * x.abs(), 0.0 => 0.0, -2.0 => -4.0;
    cosine_of_magnitude: |x| x.abs().cos(), 0.0 => 0.0;
}
