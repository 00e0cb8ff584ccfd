//! What each activity passes and returns.

use pullback::autodiff;
use pullback_e2e::assert_close;

#[autodiff(r_all, Reverse, Active, Active, Duplicated, Active)]
#[autodiff(r_const_x, Reverse, Const, Active, Const, Active)]
#[autodiff(r_only, Reverse, Active, Const, Duplicated, ActiveOnly)]
#[autodiff(r_seeded, Reverse, Active, Const, Const, Duplicated)]
#[autodiff(f_all, Forward, Dual, Dual, Dual, Dual)]
#[autodiff(f_only, Forward, Const, Dual, Const, DualOnly)]
#[autodiff(f_duplicated, Forward, Duplicated, Const, DuplicatedOnly, Duplicated)]
#[autodiff(f_const, Forward, Dual, Const, Const, Const)]
fn f(x: f64, y: f64, z: &[f64]) -> f64 {
    x * x * y + z[0] * z[1] * x
}

const Z: [f64; 2] = [3.0, 5.0];

#[test]
fn reverse() {
    let value = f(2.0, 7.0, &Z);
    let mut dz = [0.0; 2];
    assert_eq!(r_all(2.0, 7.0, &Z, &mut dz), (43.0, 4.0, value));
    assert_eq!(dz, [10.0, 6.0]);
    assert_eq!(r_const_x(2.0, 7.0, &Z), (4.0, value));
    let mut dz = [0.0; 2];
    assert_eq!(r_only(2.0, 7.0, &Z, &mut dz), 43.0);
    assert_eq!(dz, [10.0, 6.0]);
    assert_eq!(r_seeded(2.0, 7.0, &Z, 10.0), (430.0, value));
}

#[test]
fn forward() {
    let value = f(2.0, 7.0, &Z);
    assert_eq!(f_all(2.0, 1.0, 7.0, 10.0, &Z, &[0.0, 100.0]), (value, 43.0 + 40.0 + 600.0));
    assert_eq!(f_only(2.0, 7.0, 1.0, &Z), 4.0);
    assert_eq!(f_duplicated(2.0, 1.0, 7.0, &Z, &[1.0, 0.0]), (value, 43.0 + 10.0));
    assert_eq!(f_const(2.0, 1.0, 7.0, &Z), value);
}

#[autodiff(r_batch, Reverse(3), Active, Duplicated, Active)]
#[autodiff(f_batch, Forward(2), Dual, Dual, Dual)]
#[autodiff(f_batch_only, Forward(2), Dual, Const, DualOnly)]
#[autodiff(f_stacked, Forward(2), Const, Dualv, Dual)]
#[autodiff(f_one, Forward(1), Dual, Const, Dual)]
fn batch(x: f64, y: &[f64]) -> f64 {
    y.iter().map(|y| y * y * x).sum()
}

#[test]
fn batches() {
    let y = [1.0, 2.0, 3.0];
    let (mut a, mut b, mut c) = ([0.0; 3], [0.0; 3], [0.0; 3]);
    let (dx, value) = r_batch(2.0, &y, [&mut a, &mut b, &mut c], [1.0, 0.0, -2.0]);
    assert_eq!((dx, value), ([14.0, 0.0, -28.0], 28.0));
    assert_eq!((a, b, c), ([4.0, 8.0, 12.0], [0.0; 3], [-8.0, -16.0, -24.0]));
    assert_eq!(f_batch(2.0, [1.0, 0.0], &y, [&[0.0; 3], &[1.0, 0.0, 0.0]]), (28.0, [14.0, 4.0]));
    assert_eq!(f_batch_only(2.0, [1.0, 2.0], &y), [14.0, 28.0]);
    assert_eq!(f_stacked(2.0, &y, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]), (28.0, [4.0, 8.0]));
    assert_eq!(f_one(2.0, [1.0], &y), (28.0, [14.0]));
}

/// A vector-valued function: its cotangent is the last argument.
#[autodiff(vjp, Reverse, Active, Duplicated)]
#[autodiff(jvp, Forward, Dual, Dual)]
fn polar(p: (f64, f64)) -> [f64; 2] {
    [p.0 * p.1.cos(), p.0 * p.1.sin()]
}

#[test]
fn vector_valued() {
    let p = (2.0, 0.5);
    let ((dr, dphi), value) = vjp(p, [1.0, 10.0]);
    assert_eq!(value, polar(p));
    assert_close(dr, 0.5f64.cos() + 10.0 * 0.5f64.sin(), 1e-14);
    assert_close(dphi, -2.0 * 0.5f64.sin() + 20.0 * 0.5f64.cos(), 1e-14);
    let (_, tangent) = jvp(p, (1.0, 0.0));
    assert_close(tangent[0], 0.5f64.cos(), 1e-14);
}

/// Floats, references and integers in one value.
#[autodiff(d_mixed, Reverse, Duplicated, Active, Active)]
fn mixed((x, ys, n): (f64, &[f64], usize), v: Vec<f64>) -> f64 {
    x * ys[n] * v[0]
}

#[test]
fn mixed_values() {
    let ys = [3.0, 5.0];
    let mut d_ys = [0.0; 2];
    let mut shadow = (0.0, &mut d_ys[..], 0);
    let (dv, value) = d_mixed((2.0, &ys, 1), &mut shadow, vec![7.0, 1.0]);
    assert_eq!((shadow.0, value), (35.0, 70.0));
    assert_eq!((d_ys, dv), ([0.0, 14.0], vec![10.0, 0.0]));
}
