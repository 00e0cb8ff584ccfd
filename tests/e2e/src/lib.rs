//! Helpers for the end-to-end tests: a function of a slice, its two derivatives, and central differences, all against
//! each other. Run the tests with `cargo pullback test`, in debug and with `--release`.

pub mod copies;
pub mod notes;
pub mod unwinding;

/// Fails unless two numbers agree to a relative tolerance (absolute below 1).
#[track_caller]
pub fn assert_close(left: f64, right: f64, tolerance: f64) {
    let scale = left.abs().max(right.abs()).max(1.0);
    assert!((left - right).abs() <= tolerance * scale, "{left} and {right} differ by more than {tolerance} (relative)");
}

/// [`assert_close`] for each pair of two slices.
#[track_caller]
pub fn assert_all_close(left: &[f64], right: &[f64], tolerance: f64) {
    assert_eq!(left.len(), right.len());
    for (left, right) in left.iter().zip(right) {
        assert_close(*left, *right, tolerance);
    }
}

/// The gradient of `f` at `x` by central differences.
pub fn finite_differences(f: impl Fn(&[f64]) -> f64, x: &[f64]) -> Vec<f64> {
    (0..x.len())
        .map(|index| {
            let step = 1e-5 * x[index].abs().max(1.0);
            let at = |offset: f64| {
                let mut moved = x.to_vec();
                moved[index] += offset;
                f(&moved)
            };
            // Fourth order, so that the step may be large enough for the rounding not to matter.
            (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step)
        })
        .collect()
}

/// Checks a function's reverse and forward derivatives at `x`: both give the function's value bit by bit, the gradient
/// is that of finite differences, it is added to what the shadow held, and forward and reverse agree.
#[track_caller]
pub fn check(
    f: impl Fn(&[f64]) -> f64,
    reverse: impl Fn(&[f64], &mut [f64]) -> f64,
    forward: impl Fn(&[f64], &[f64]) -> (f64, f64),
    x: &[f64],
) {
    let value = f(x);
    let mut gradient = vec![0.0; x.len()];
    assert_eq!(reverse(x, &mut gradient).to_bits(), value.to_bits(), "the reverse derivative's value");
    assert_all_close(&gradient, &finite_differences(&f, x), 1e-6);

    let mut accumulated = vec![1.0; x.len()];
    reverse(x, &mut accumulated);
    reverse(x, &mut accumulated);
    let expected: Vec<f64> = gradient.iter().map(|g| 1.0 + 2.0 * g).collect();
    assert_all_close(&accumulated, &expected, 1e-12);

    for index in 0..x.len() {
        let mut tangent = vec![0.0; x.len()];
        tangent[index] = 1.0;
        let (primal, derivative) = forward(x, &tangent);
        assert_eq!(primal.to_bits(), value.to_bits(), "the forward derivative's value");
        assert_close(derivative, gradient[index], 1e-11);
    }
}

/// Functions of a slice, each differentiated in both modes and checked at the points given:
/// `fn name(x) { … } at [1.0, 2.0], [3.0, 4.0];`
#[macro_export]
macro_rules! differentiated {
    ($(fn $name:ident($x:ident) $body:block at $($point:expr),+;)*) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            #[pullback::autodiff(reverse, Reverse, Duplicated, Active)]
            #[pullback::autodiff(forward, Forward, Dual, Dual)]
            fn function($x: &[f64]) -> f64 $body

            #[test]
            fn is_right() {
                $($crate::check(function, reverse, forward, &$point);)+
            }
        }
    )*};
}
