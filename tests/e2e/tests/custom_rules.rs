//! Functions with rules of the user's. Where a test has to tell a rule from what the engine would do by itself, the
//! rule is wrong on purpose, by a factor that shows.

use pullback::rules::{NoTangent, ZeroTangent};
use pullback::{Differentiable, autodiff, frule, rrule};
use std::cell::Cell;

/// The fast inverse square root: bits that the engine cannot look through.
fn fast_inv_sqrt(x: f32) -> f32 {
    let y = f32::from_bits(0x5f37_59df - (x.to_bits() >> 1));
    y * (1.5 - 0.5 * x * y * y)
}

#[rrule(for = fast_inv_sqrt)]
fn fast_inv_sqrt_rrule(x: f32) -> (f32, impl FnOnce(f32) -> f32) {
    let y = fast_inv_sqrt(x);
    (y, move |dy| dy * -0.5 * y / x)
}

#[frule(for = fast_inv_sqrt)]
fn fast_inv_sqrt_frule(x: f32, dx: f32) -> (f32, f32) {
    let y = fast_inv_sqrt(x);
    (y, dx * -0.5 * y / x)
}

#[autodiff(d_normalised, Reverse, Duplicated, Active)]
#[autodiff(f_normalised, Forward, Dual, Dual)]
fn normalised(x: &[f32]) -> f32 {
    let length = fast_inv_sqrt(x.iter().map(|v| v * v).sum());
    x.iter().map(|v| v * length).sum()
}

#[test]
fn inside_a_larger_function() {
    let x = [3.0, 4.0];
    let mut dx = [0.0; 2];
    let value = d_normalised(&x, &mut dx);
    // (x₀ + x₁)/√(x₀² + x₁²): 1.4, and (1/5)(1 − 7·xᵢ/25)
    assert!((value - 1.4).abs() < 4e-3, "{value}");
    for (found, x) in dx.iter().zip(x) {
        assert!((found - 0.2 * (1.0 - 7.0 * x / 25.0)).abs() < 1e-3, "{dx:?}");
    }
    for (i, found) in dx.iter().enumerate() {
        let mut direction = [0.0; 2];
        direction[i] = 1.0;
        let (_, tangent) = f_normalised(&x, &direction);
        assert!((tangent - found).abs() < 1e-6, "{tangent} {found}");
    }
}

/// A rule that is wrong by a factor of 100, in reverse mode only.
fn square(x: f64) -> f64 {
    x * x
}

#[rrule(for = square)]
fn square_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (x * x, move |dy| 200.0 * x * dy)
}

#[autodiff(d_squares, Reverse, Duplicated, Active)]
#[autodiff(f_squares, Forward, Dual, Dual)]
fn squares(x: &[f64]) -> f64 {
    let mut sum = 0.0;
    for v in x {
        sum += square(*v) * v;
    }
    sum
}

#[test]
fn in_a_loop() {
    let x = [2.0, 3.0, 5.0];
    let mut dx = [0.0; 3];
    assert_eq!(d_squares(&x, &mut dx), 160.0);
    // v²·v: 200·v·v + v²
    assert_eq!(dx, [201.0 * 4.0, 201.0 * 9.0, 201.0 * 25.0]);
}

#[test]
fn where_there_is_no_rule_for_the_mode_the_body_is_differentiated() {
    assert_eq!(f_squares(&[2.0], &[1.0]), (8.0, 12.0));
}

/// The one rule that uses a slice, and borrows it.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

#[rrule(for = dot)]
fn dot_rrule<'a>(x: &'a [f64], y: &'a [f64]) -> (f64, impl Fn(f64, &mut [f64], &mut [f64])) {
    let pullback = move |dz: f64, dx: &mut [f64], dy: &mut [f64]| {
        for i in 0..x.len() {
            dx[i] += 100.0 * dz * y[i];
            dy[i] += 100.0 * dz * x[i];
        }
    };
    (dot(x, y), pullback)
}

#[autodiff(d_cosine, Reverse, Duplicated, Duplicated, Active)]
fn cosine(x: &[f64], y: &[f64]) -> f64 {
    2.0 * dot(x, y)
}

#[autodiff(d_half, Reverse, Duplicated, Const, Active)]
fn half(x: &[f64], y: &[f64]) -> f64 {
    dot(x, y)
}

/// A vector that the function made itself: its shadow has no length.
#[autodiff(d_made, Reverse, Duplicated, Active)]
fn made(x: &[f64]) -> f64 {
    let doubled: Vec<f64> = x.iter().map(|v| 2.0 * v).collect();
    dot(&doubled, x)
}

/// Rows of a matrix, in a loop.
#[autodiff(d_product, Reverse, Duplicated, Duplicated, Const, Active)]
fn product(matrix: &[f64], x: &[f64], out: &[f64]) -> f64 {
    let n = x.len();
    matrix.chunks_exact(n).zip(out).map(|(row, weight)| weight * dot(row, x)).sum()
}

#[test]
fn slices() {
    let (x, y) = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]);
    let (mut dx, mut dy) = ([0.0; 3], [0.0; 3]);
    assert_eq!(d_cosine(&x, &mut dx, &y, &mut dy), 64.0);
    assert_eq!(dx, [800.0, 1000.0, 1200.0]);
    assert_eq!(dy, [200.0, 400.0, 600.0]);

    let mut dx = [0.0; 3];
    assert_eq!(d_half(&x, &mut dx, &y), 32.0);
    assert_eq!(dx, [400.0, 500.0, 600.0]);

    let mut dx = [0.0; 3];
    assert_eq!(d_made(&x, &mut dx), 28.0);
    assert_eq!(dx, [400.0, 800.0, 1200.0]);

    let (mut dm, mut dx) = ([0.0; 6], [0.0; 3]);
    assert_eq!(d_product(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &mut dm, &x, &mut dx, &[1.0, 10.0]), 14.0 + 320.0);
    assert_eq!(dm, [100.0, 200.0, 300.0, 1000.0, 2000.0, 3000.0]);
    assert_eq!(dx, [4100.0, 5200.0, 6300.0]);
}

#[derive(Clone, Copy, PartialEq, Debug, Differentiable)]
struct Point {
    x: f64,
    y: f64,
}

impl Point {
    fn norm(&self, n: i32) -> f64 {
        (self.x.powi(n) + self.y.powi(n)).powf(1.0 / f64::from(n))
    }

    fn scaled(self, factor: f64) -> Point {
        Point { x: self.x * factor, y: self.y * factor }
    }
}

#[rrule(for = Point::norm)]
fn norm_rrule(p: &Point, n: i32) -> (f64, impl Fn(f64, &mut Point) -> NoTangent) {
    let point = *p;
    (p.norm(n), move |dr, dp: &mut Point| {
        dp.x += 7.0 * dr * point.x;
        dp.y += 7.0 * dr * point.y;
        NoTangent
    })
}

#[rrule(for = Point::scaled)]
fn scaled_rrule(p: Point, factor: f64) -> (Point, impl Fn(Point) -> (Point, ZeroTangent)) {
    (p.scaled(factor), move |d: Point| (Point { x: 10.0 * d.x * factor, y: 10.0 * d.y * factor }, ZeroTangent))
}

#[autodiff(d_method, Reverse, Duplicated, Active, Active)]
fn method(p: &Point, factor: f64) -> f64 {
    p.scaled(factor).norm(2)
}

#[test]
fn methods_and_structs() {
    let mut dp = Point { x: 0.0, y: 0.0 };
    let (d_factor, value) = d_method(&Point { x: 3.0, y: 4.0 }, &mut dp, 2.0);
    assert_eq!(value, 10.0);
    assert_eq!(dp, Point { x: 7.0 * 6.0 * 20.0, y: 7.0 * 8.0 * 20.0 });
    assert_eq!(d_factor, 0.0);
}

/// What a batch does: the pullback is called for each direction.
#[autodiff(d_batch, Reverse(2), Duplicated, Duplicated)]
fn batch(x: &[f64], out: &mut [f64; 1]) {
    out[0] = square(x[0]) + dot(x, x);
}

#[test]
fn a_batch() {
    let x = [2.0, 3.0];
    let (mut first, mut second) = ([0.0; 2], [0.0; 2]);
    let (mut seed1, mut seed2) = ([1.0], [10.0]);
    d_batch(&x, [&mut first, &mut second], &mut [0.0], [&mut seed1, &mut seed2]);
    assert_eq!(first, [400.0 + 400.0, 600.0]);
    assert_eq!(second, [8000.0, 6000.0]);
}

/// A rule in a recursive function, where the reverse sweep is a function of its own.
#[autodiff(d_recursive, Reverse, Active, Const, Active)]
fn recursive(x: f64, depth: u32) -> f64 {
    if depth == 0 { x } else { square(recursive(x, depth - 1)) / 4.0 }
}

#[test]
fn in_a_recursive_function() {
    // y ← y²/4, with a derivative 100 times as large at each step
    let (gradient, value) = d_recursive(4.0, 3);
    assert_eq!((gradient, value), (8e6, 4.0));
}

/// A call that takes no part is the function itself.
#[autodiff(d_inactive, Reverse, Active, Const, Active)]
fn inactive(x: f64, n: f64) -> f64 {
    x * square(n)
}

#[test]
fn a_call_that_takes_no_part() {
    assert_eq!(d_inactive(2.0, 3.0), (9.0, 18.0));
}

fn noted_square(x: f64) -> f64 {
    pullback_e2e::notes::note(2);
    x * x
}

#[rrule(for = noted_square)]
fn noted_square_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (noted_square(x), move |dy| dy * 2.0 * x)
}

#[autodiff(f_noted, Forward, Dual, Dual, Dual)]
fn noted(x: f64, scale: &Cell<f64>) -> f64 {
    pullback_e2e::notes::note(1);
    scale.set(scale.get() * noted_square(x));
    scale.get()
}

/// The body of a function with a rule for the other mode comes back late, with all that it calls, and what std does in
/// it to a variable of the thread is known as in the rest.
#[test]
fn for_the_other_mode_with_a_variable_of_the_thread() {
    let (scale, tangent) = (Cell::new(5.0), Cell::new(1.0));
    assert_eq!(f_noted(3.0, 1.0, &scale, &tangent), (45.0, 39.0));
    assert_eq!((scale.get(), tangent.get()), (45.0, 39.0));
    assert_eq!(pullback_e2e::notes::NOTES.take(), [1, 2]);
}
