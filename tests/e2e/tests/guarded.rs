//! Functions with a singular derivative, behind a branch that keeps the program away from the singularity.
//!
//! An optimiser may compute `1 / v` ahead of the branch that needs it: the value is not used where the branch is not
//! taken. A derivative taken from such code would multiply a cotangent of zero by `1 / 0²`, which is NaN. So each
//! function here is combined with each way in which programs store, return and choose guarded values. All combinations
//! compute the same,
//!
//! ```text
//! Σ over v of x[2..]:  if taken(v) { f(v) · x[0] } else { x[1] }
//! ```
//!
//! and are evaluated where some `v` is at the singularity: forward and reverse mode must both give the gradient that
//! one finds by hand.

use pullback_e2e::assert_all_close;

/// Check one combination at each point: `x[2..]` is at the singularity, beside it, or both in turn.
#[track_caller]
fn check(
    guarded: Guarded,
    reverse: impl Fn(&[f64], &mut [f64]) -> f64,
    forward: impl Fn(&[f64], &[f64]) -> (f64, f64),
) {
    let Guarded { singular: s, regular: r, .. } = guarded;
    for values in [vec![s], vec![s, s], vec![r, s], vec![s, r], vec![s, r, s, s, r], vec![r, r], vec![]] {
        let x = [vec![0.75, 1.5], values].concat();
        let expected = guarded.gradient(&x);
        let mut gradient = vec![0.0; x.len()];
        reverse(&x, &mut gradient);
        assert_all_close(&gradient, &expected, 1e-12);
        for (index, expected) in expected.iter().enumerate() {
            let mut tangent = vec![0.0; x.len()];
            tangent[index] = 1.0;
            assert_all_close(&[forward(&x, &tangent).1], &[*expected], 1e-12);
        }
    }
}

/// A function, its derivative, and where it may be called.
struct Guarded {
    taken: fn(f64) -> bool,
    f: fn(f64) -> f64,
    slope: fn(f64) -> f64,
    /// A point where the branch is not taken and the derivative is infinite or NaN.
    singular: f64,
    /// A point where the branch is taken.
    regular: f64,
}

impl Guarded {
    /// By hand: the gradient of the sum that every combination computes.
    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        assert!((self.taken)(self.regular) && !(self.taken)(self.singular), "the points are on both sides");
        let mut gradient = vec![0.0; x.len()];
        for (index, v) in x.iter().enumerate().skip(2) {
            if (self.taken)(*v) {
                gradient[0] += (self.f)(*v);
                gradient[index] = (self.slope)(*v) * x[0];
            } else {
                gradient[1] += 1.0;
            }
        }
        gradient
    }
}

/// Functions, and the ways to combine them with:
/// `name: guard, function, derivative, where the derivative is singular, where it is not`.
macro_rules! functions {
    ($containers:ident $($name:ident: $taken:expr, $f:expr, $slope:expr, $singular:expr, $regular:expr;)*) => {$(
        mod $name {
            use super::{Guarded, check};

            fn taken(v: f64) -> bool {
                const TAKEN: fn(f64) -> bool = $taken;
                TAKEN(v)
            }

            fn f(v: f64) -> f64 {
                const F: fn(f64) -> f64 = $f;
                F(v)
            }

            const GUARDED: Guarded = Guarded { taken, f, slope: $slope, singular: $singular, regular: $regular };

            $containers!();
        }
    )*};
}

/// Tests of functions of a slice, each in the module of a guarded function.
macro_rules! tests {
    ($(fn $name:ident($x:ident) $body:block)*) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            #[pullback::autodiff(reverse, Reverse, Duplicated, Active)]
            #[pullback::autodiff(forward, Forward, Dual, Dual)]
            fn function($x: &[f64]) -> f64 $body

            #[test]
            fn is_finite() {
                check(GUARDED, reverse, forward);
            }
        }
    )*};
}

/// Ways in which a program keeps a guarded value, or chooses between it and another: those that differ most.
macro_rules! containers {
    () => {
        fn option(v: f64) -> Option<f64> {
            if taken(v) { Some(f(v)) } else { None }
        }

        fn questioned(v: f64) -> Option<f64> {
            let value = option(v)?;
            Some(value * 1.0)
        }

        tests! {
            fn option_in_vec(x) {
                let options: Vec<Option<f64>> = x[2..].iter().map(|v| option(*v)).collect();
                let mut sum = 0.0;
                for option in options {
                    sum += match option {
                        Some(value) => value * x[0],
                        None => x[1],
                    };
                }
                sum
            }

            fn question_mark(x) {
                let mut sum = 0.0;
                for v in &x[2..] {
                    sum += questioned(*v).map(|value| value * x[0]).unwrap_or(x[1]);
                }
                sum
            }

            fn loop_carried(x) {
                let mut sum = 0.0;
                let mut last = x[1];
                for v in &x[2..] {
                    if taken(*v) {
                        last = f(*v) * x[0];
                    }
                    sum += last;
                    last = x[1];
                }
                sum
            }

            fn two_stores(x) {
                let mut sums = [0.0, 0.0];
                for v in &x[2..] {
                    if taken(*v) {
                        sums[0] += f(*v) * x[0];
                    } else {
                        sums[1] += x[1];
                    }
                }
                sums[0] + sums[1]
            }

            // The value does not change in the inner loop, the condition does.
            fn invariant_in_loop(x) {
                let mut sum = 0.0;
                for v in &x[2..] {
                    for i in 0..x.len() {
                        if taken(*v) && x[i] == x[0] {
                            sum += f(*v) * x[i];
                        }
                    }
                    if !taken(*v) {
                        sum += x[1];
                    }
                }
                sum
            }

            // The same, and what is kept of it is a payload, undefined in `None`.
            fn invariant_payload_in_loop(x) {
                let mut sum = 0.0;
                for v in &x[2..] {
                    let options: Vec<Option<f64>> =
                        (0..x.len()).map(|i| if taken(*v) && i == 0 { Some(f(*v)) } else { None }).collect();
                    for (i, option) in options.iter().enumerate() {
                        match option {
                            Some(value) => sum += value * x[i],
                            None if i == 0 => sum += x[1],
                            None => {}
                        }
                    }
                }
                sum
            }

            // The function is called on either side, but with an argument that is safe.
            fn safe_argument(x) {
                let mut sum = 0.0;
                for v in &x[2..] {
                    let safe = if taken(*v) { *v } else { GUARDED.regular };
                    let value = f(safe);
                    sum += if taken(*v) { value * x[0] } else { x[1] };
                }
                sum
            }
        }
    };
}

/// More of them.
macro_rules! more_containers {
    () => {
        containers!();

        #[inline(never)]
        fn option_from_far(v: f64) -> Option<f64> {
            if taken(v) { Some(f(v)) } else { None }
        }

        fn result(v: f64) -> Result<f64, u32> {
            if !taken(v) {
                return Err(7);
            }
            Ok(f(v))
        }

        enum Shape {
            Point(f64),
            Pair(f64, f64),
            Nothing,
        }

        tests! {
            fn plain_if(x) {
                let mut sum = 0.0;
                for v in &x[2..] {
                    sum += if taken(*v) { f(*v) * x[0] } else { x[1] };
                }
                sum
            }

            fn option_returned(x) {
                let mut sum = 0.0;
                for v in &x[2..] {
                    match option_from_far(*v) {
                        Some(value) => sum += value * x[0],
                        None => sum += x[1],
                    }
                }
                sum
            }

            fn boxed_option(x) {
                let mut sum = 0.0;
                for v in &x[2..] {
                    let kept = Box::new(option(*v));
                    sum += if let Some(value) = *kept { value * x[0] } else { x[1] };
                }
                sum
            }

            fn result_and_error(x) {
                x[2..].iter().map(|v| result(*v).map_or_else(|_| x[1], |value| value * x[0])).sum()
            }

            fn tuple(x) {
                let pairs: Vec<(bool, f64)> =
                    x[2..].iter().map(|v| if taken(*v) { (true, f(*v)) } else { (false, x[1]) }).collect();
                pairs.iter().map(|(scaled, value)| if *scaled { value * x[0] } else { *value }).sum()
            }

            fn array_element(x) {
                let mut values = [0.0; 8];
                for (slot, v) in values.iter_mut().zip(&x[2..]) {
                    *slot = x[1];
                    if taken(*v) {
                        *slot = f(*v) * x[0];
                    }
                }
                values.iter().sum()
            }

            fn early_return(x) {
                fn one(v: f64, x: &[f64]) -> f64 {
                    if !taken(v) {
                        return x[1];
                    }
                    f(v) * x[0]
                }
                let mut sum = 0.0;
                for v in &x[2..] {
                    sum += one(*v, x);
                }
                sum
            }

            fn continued(x) {
                let mut sum = 0.0;
                for v in &x[2..] {
                    sum += x[1];
                    if !taken(*v) {
                        continue;
                    }
                    sum += f(*v) * x[0] - x[1];
                }
                sum
            }

            fn unwrap_or(x) {
                x[2..].iter().map(|v| option(*v).map(|value| value * x[0]).unwrap_or(x[1])).sum()
            }

            fn match_guard(x) {
                let mut sum = 0.0;
                for v in &x[2..] {
                    sum += match *v {
                        v if taken(v) => f(v) * x[0],
                        _ => x[1],
                    };
                }
                sum
            }

            fn bool_then(x) {
                x[2..].iter().map(|v| taken(*v).then(|| f(*v)).map_or(x[1], |value| value * x[0])).sum()
            }

            fn filter_map(x) {
                let taken: f64 = x[2..].iter().filter_map(|v| option(*v)).map(|value| value * x[0]).sum();
                let others: f64 = x[2..].iter().filter(|v| option(**v).is_none()).map(|_| x[1]).sum();
                taken + others
            }

            fn filtered_and_collected(x) {
                let values: Vec<f64> = x[2..].iter().filter_map(|v| option(*v)).collect();
                let mut sum = x[1] * (x.len() - 2 - values.len()) as f64;
                for value in values {
                    sum += value * x[0];
                }
                sum
            }

            fn variants(x) {
                let shapes: Vec<Shape> = x[2..]
                    .iter()
                    .enumerate()
                    .map(|(i, v)| match i % 2 {
                        _ if !taken(*v) => Shape::Nothing,
                        0 => Shape::Point(f(*v)),
                        _ => Shape::Pair(f(*v), x[0]),
                    })
                    .collect();
                let mut sum = 0.0;
                for shape in &shapes {
                    sum += match shape {
                        Shape::Point(value) => value * x[0],
                        Shape::Pair(value, scale) => value * scale,
                        Shape::Nothing => x[1],
                    };
                }
                sum
            }

            // The result takes part in the condition, too.
            fn short_circuit(x) {
                let mut sum = 0.0;
                for v in &x[2..] {
                    if taken(*v) && f(*v) > -1e300 {
                        sum += f(*v) * x[0];
                    } else {
                        sum += x[1];
                    }
                }
                sum
            }

            fn closure_and_fold(x) {
                x[2..].iter().fold(0.0, |sum, v| if taken(*v) { sum + f(*v) * x[0] } else { sum + x[1] })
            }

            fn written_through_a_reference(x) {
                fn put(v: f64, place: &mut Option<f64>) {
                    *place = None;
                    if taken(v) {
                        *place = Some(f(v));
                    }
                }
                let mut sum = 0.0;
                let mut place = None;
                for v in &x[2..] {
                    put(*v, &mut place);
                    sum += place.map_or(x[1], |value| value * x[0]);
                }
                sum
            }
        }
    };
}

// With every container.
functions! { more_containers
    reciprocal: |v| v > 0.0, |v| 1.0 / v, |v| -1.0 / (v * v), 0.0, 2.0;
    square_root: |v| v > 0.0, |v| v.sqrt(), |v| 0.5 / v.sqrt(), 0.0, 2.0;
    integer_power: |v| v != 0.0, |v| v.powi(-1), |v| -1.0 / (v * v), 0.0, 2.0;
    product_with_nan: |v| !v.is_nan(), |v| v * v, |v| 2.0 * v, f64::NAN, 0.5;
}

functions! { containers
    method_recip: |v| v != 0.0, |v| v.recip(), |v| -1.0 / (v * v), 0.0, -2.0;
    quotient: |v| v > 1.0, |v| (v + 3.0) / (v - 1.0), |v| -4.0 / ((v - 1.0) * (v - 1.0)), 1.0, 2.0;
    remainder: |v| v > 0.0, |v| 5.0 % v, |v| -(5.0f64 / v).trunc(), 0.0, 1.5;
    negative_root: |v| v >= 0.0, |v| v.sqrt(), |v| 0.5 / v.sqrt(), -1.0, 2.0;
    logarithm: |v| v > 0.0, |v| v.ln(), |v| 1.0 / v, 0.0, 2.0;
    logarithm_2: |v| v > 0.0, |v| v.log2(), |v| 1.0 / (v * std::f64::consts::LN_2), 0.0, 2.0;
    logarithm_1p: |v| v > -1.0, |v| v.ln_1p(), |v| 1.0 / (1.0 + v), -1.0, 2.0;
    power_half: |v| v > 0.0, |v| v.powf(0.5), |v| 0.5 / v.sqrt(), 0.0, 2.0;
    power_minus_one: |v| v > 0.0, |v| v.powf(-1.0), |v| -1.0 / (v * v), 0.0, 2.0;
    integer_power_2: |v| v != 0.0, |v| v.powi(-2), |v| -2.0 / (v * v * v), 0.0, 2.0;
    cube_root: |v| v > 0.0, |v| v.cbrt(), |v| 1.0 / (3.0 * v.cbrt() * v.cbrt()), 0.0, 2.0;
    arc_cosine: |v| v < 1.0, |v| v.acos(), |v| -1.0 / (1.0 - v * v).sqrt(), 1.0, 0.5;
    arc_sine: |v| v < 1.0, |v| v.asin(), |v| 1.0 / (1.0 - v * v).sqrt(), 1.0, 0.5;
    arc_tangent_2: |v| v > 0.0, |v| v.atan2(2.0 * v - 2.0 * v + v), |_| 0.0, 0.0, 0.5;
    area_tangent: |v| v < 1.0, |v| v.atanh(), |v| 1.0 / (1.0 - v * v), 1.0, 0.5;
    length: |v| v > 0.0, |v| v.hypot(v), |_| std::f64::consts::SQRT_2, 0.0, 0.5;
    overflow: |v| v < 700.0, |v| v.exp() / v, |v| v.exp() / v - v.exp() / (v * v), 800.0, 0.5;
    product_with_infinity: |v| v.is_finite(), |v| v * (v - 3.0), |v| 2.0 * v - 3.0, f64::INFINITY, 0.5;
}
