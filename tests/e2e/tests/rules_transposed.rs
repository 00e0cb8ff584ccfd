//! Rules for forward mode of which those for reverse mode are the transposes. The functions themselves cannot be
//! differentiated: what they compute goes through `black_box`.

use pullback::rules::NoTangent;
use pullback::{autodiff, check, frule};
use std::hint::black_box;

fn cube(x: f64) -> f64 {
    black_box(x * x * x)
}

#[frule(for = cube, transpose)]
fn cube_frule(x: f64, dx: f64) -> (f64, f64) {
    (cube(x), 3.0 * x * x * dx)
}

#[test]
fn of_a_number() {
    check::rule(|x: &f64| cube(*x), &[-1.5, 0.0, 2.0]);
    check::rule(|x: &f64| (1..4).map(|i| cube(x * f64::from(i)).sin()).sum::<f64>(), &[-0.5, 0.7]);
}

/// Weights of a sum, by a number and by a vector.
fn weighted(x: &[f64], n: usize, scale: f64, weights: &[f64]) -> f64 {
    black_box(scale * x.iter().zip(weights).take(n).map(|(x, w)| x * x * w).sum::<f64>())
}

#[frule(for = weighted, transpose)]
fn weighted_frule(
    x: &[f64],
    dx: &[f64],
    n: usize,
    _: NoTangent,
    scale: f64,
    d_scale: Option<f64>,
    weights: &[f64],
    d_weights: Option<&[f64]>,
) -> (f64, f64) {
    let mut tangent = 0.0;
    for i in 0..n.min(x.len()) {
        tangent += 2.0 * scale * x[i] * weights[i] * dx[i];
        tangent += d_scale.unwrap_or(0.0) * x[i] * x[i] * weights[i];
        tangent += d_weights.map_or(0.0, |d| scale * x[i] * x[i] * d[i]);
    }
    (weighted(x, n, scale, weights), tangent)
}

#[test]
fn of_slices_and_numbers() {
    let f = |x: &[f64; 5]| weighted(&x[..2], 2, x[2], &x[3..]);
    check::rule(f, &[[1.0, 2.0, 0.5, -1.0, 3.0], [0.3, -2.0, 1.5, 1.0, 0.0]]);
    check::rule(|x: &[f64; 2]| weighted(x, 1, 2.0, &[5.0, 7.0]), &[[1.0, 2.0]]);
}

/// What the pullback needs is overwritten before it runs.
#[autodiff(d_overwritten, Reverse, Duplicated, Active)]
fn overwritten(x: &mut [f64]) -> f64 {
    let before = weighted(x, 2, 1.0, &[1.0, 3.0]);
    x[0] = before;
    weighted(x, 2, 1.0, &[1.0, 1.0])
}

#[test]
fn of_memory_that_changes() {
    let (mut x, mut dx) = ([2.0, 1.0], [0.0; 2]);
    // (x₀² + 3x₁²)² + x₁²
    assert_eq!(d_overwritten(&mut x, &mut dx), 50.0);
    assert_eq!(dx, [2.0 * 7.0 * 4.0, 2.0 * 7.0 * 6.0 + 2.0]);
}

fn scaled(x: &[f64], factor: f64) -> Vec<f64> {
    x.iter().map(|x| black_box(x * factor)).collect()
}

#[frule(for = scaled, transpose)]
fn scaled_frule(x: &[f64], dx: &[f64], factor: f64, d_factor: f64) -> (Vec<f64>, Vec<f64>) {
    (scaled(x, factor), x.iter().zip(dx).map(|(x, dx)| dx * factor + x * d_factor).collect())
}

#[test]
fn with_a_result_that_owns_memory() {
    let f = |x: &[f64; 3]| scaled(&scaled(&x[..2], x[2]), x[0]).iter().map(|y| y * y).sum::<f64>();
    check::rule(f, &[[1.0, 2.0, 0.5], [0.3, -2.0, 1.5]]);
}

fn product<T: Copy + std::ops::Mul<Output = T>>(x: T, y: T) -> T {
    black_box(x * y)
}

#[frule(for = product, transpose, T = [f32, f64])]
fn product_frule<T>(x: T, dx: T, y: T, dy: T) -> (T, T)
where
    T: Copy + std::ops::Mul<Output = T> + std::ops::Add<Output = T> + pullback::MakeZero,
{
    (product(x, y), dx * y + x * dy)
}

#[autodiff(d_products, Reverse, Active, Active, Active)]
fn products(x: f64, y: f32) -> f64 {
    product(x, 3.0) + f64::from(product(y, y))
}

#[test]
fn for_some_types() {
    assert_eq!(d_products(2.0, 5.0), (3.0, 10.0, 31.0));
}

fn reversed(x: f64) -> f64 {
    black_box(-x)
}

/// Linear, but of itself.
#[frule(for = reversed, transpose)]
fn reversed_frule(x: f64, dx: f64) -> (f64, f64) {
    (reversed(x), reversed(dx))
}

#[autodiff(d_circular, Reverse, Active, Active)]
fn circular(x: f64) -> f64 {
    reversed(x)
}

#[test]
fn a_tangent_that_is_computed_by_the_function_itself() {
    let said = std::panic::catch_unwind(|| d_circular(1.0)).unwrap_err();
    let said = said.downcast_ref::<String>().unwrap();
    assert!(
        said.starts_with("the tangent of rule `reversed_frule` is computed by the function that it is for"),
        "{said}"
    );
}
