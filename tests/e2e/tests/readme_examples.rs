//! The examples of the seed and of the README.

use pullback::autodiff;
use pullback_e2e::{assert_close, check};

#[autodiff(df_active, Reverse, Active, Active, Active)]
fn all_active(x: f32, y: f32) -> f32 {
    x * x + 3.0 * y
}

#[test]
fn x_squared_plus_3y() {
    assert_eq!(df_active(2.0, 5.0), (4.0, 3.0, 19.0));
}

#[autodiff(df, Reverse, Active, Duplicated, Active)]
fn f(x: f32, y: &f32) -> f32 {
    x * x + 3.0 * y
}

#[test]
fn a_duplicated_argument_accumulates() {
    let mut dy = 0.0;
    assert_eq!(df(2.0, &5.0, &mut dy), (4.0, 19.0));
    assert_eq!(dy, 3.0);
    for _ in 0..4 {
        df(2.0, &5.0, &mut dy);
    }
    assert_eq!(dy, 15.0);
}

#[autodiff(backprop_both, Reverse, Duplicated, Duplicated, Active)]
#[autodiff(backprop, Reverse, Constant, Duplicated, Active)]
#[autodiff(backprop_no_loss, Reverse, Constant, Duplicated, DuplicatedNoNeed)]
#[autodiff(backprop_only, Reverse, Constant, DuplicatedNoNeed, DuplicatedNoNeed)]
#[autodiff(backprop_two, Reverse(2), Constant, Duplicated, DuplicatedNoNeed)]
fn training_loss(images: &[f32], weights: &[f32]) -> f32 {
    let mut loss = 0.0;
    for image in images.chunks_exact(weights.len()) {
        let output: f32 = image.iter().zip(weights).map(|(x, w)| x * w).sum();
        loss += (output.tanh() - 0.5).powi(2);
    }
    loss
}

#[test]
fn training_loss_in_all_combinations() {
    let images = [0.5, -1.0, 2.0, 0.25, 0.75, -0.5];
    let weights = [0.1, 0.2, -0.3];
    let loss = training_loss(&images, &weights);
    let (mut d_images, mut d_weights) = ([0.0; 6], [0.0; 3]);
    assert_eq!(backprop_both(&images, &mut d_images, &weights, &mut d_weights), loss);
    let mut each = [[0.0f32; 3]; 5];
    let [a, b, c, d, e] = &mut each;
    assert_eq!(backprop(&images, &weights, a), loss);
    let () = backprop_no_loss(&images, &weights, b);
    let () = backprop_only(&images, &weights, c);
    let () = backprop_two(&images, &weights, [d, e], [1.0, 2.0]);
    for index in 0..3 {
        let expected = f64::from(d_weights[index]);
        for (gradient, factor) in each.iter().zip([1.0, 1.0, 1.0, 1.0, 2.0]) {
            assert_close(f64::from(gradient[index]), factor * expected, 1e-6);
        }
    }
    // Against finite differences, in double precision.
    let in_f64 = |weights: &[f64]| -> f64 {
        images
            .chunks_exact(3)
            .map(|image| image.iter().zip(weights).map(|(x, w)| f64::from(*x) * w).sum::<f64>())
            .map(|output| (output.tanh() - 0.5).powi(2))
            .sum()
    };
    let expected = pullback_e2e::finite_differences(in_f64, &weights.map(f64::from));
    for (gradient, expected) in d_weights.iter().zip(expected) {
        assert_close(f64::from(*gradient), expected, 1e-5);
    }
    assert!(d_images.iter().all(|gradient| *gradient != 0.0));
}

/// Temporary storage, the seed's `5·1.2⁴`.
#[autodiff(d_power, Reverse, Active, Duplicated, Active)]
fn power(x: f64, tmp: &mut [f64]) -> f64 {
    tmp[0] = 1.0;
    for _ in 0..5 {
        tmp[0] *= x;
    }
    tmp[0]
}

#[test]
fn temporary_storage_that_is_duplicated() {
    let (mut tmp, mut d_tmp) = ([0.0], [0.0]);
    let (dx, value) = d_power(1.2, &mut tmp, &mut d_tmp);
    assert_close(dx, 10.368, 1e-14);
    assert_close(value, 1.2f64.powi(5), 1e-14);
    assert_eq!(d_tmp, [0.0]);
}

#[autodiff(d_strong, Reverse, strong_zero, Active, Active)]
#[autodiff(d_plain, Reverse, Active, Active)]
fn capped(x: f64) -> f64 {
    (1.0 / x).min(1.0)
}

#[test]
fn strong_zero_keeps_a_zero_cotangent_zero() {
    assert_eq!(d_strong(0.0), (0.0, 1.0));
    assert!(d_plain(0.0).0.is_nan());
}

#[autodiff(d_normalised, Reverse, Duplicated, Active)]
#[autodiff(t_normalised, Forward, Dual, Dual)]
fn normalised(x: &[f64]) -> f64 {
    let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    x.iter().map(|v| (v / norm).sin()).sum()
}

#[test]
fn normalising_by_a_norm() {
    check(normalised, d_normalised, t_normalised, &[1.0, -2.0, 0.5, 3.0]);
}
