//! Pullbacks of functions that write through `&mut`.

use pullback::{Differentiable, autodiff};

/// `r = a · b` for `n × n` matrices.
#[autodiff(d_mymul, Reverse, Duplicated, Duplicated, Duplicated, Const)]
#[autodiff(d_mymul_a, Reverse, Duplicated, Duplicated, Const, Const)]
#[autodiff(t_mymul, Forward, Dual, Dual, Dual, Const)]
fn mymul(r: &mut [f64], a: &[f64], b: &[f64], n: usize) {
    for i in 0..n {
        for j in 0..n {
            r[i * n + j] = 0.0;
            for k in 0..n {
                r[i * n + j] += a[i * n + k] * b[k * n + j];
            }
        }
    }
}

const A: [f64; 4] = [1.0, 2.0, 3.0, 4.0];
const B: [f64; 4] = [5.0, 6.0, 7.0, 8.0];
const DR: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];

#[test]
fn the_pullback_of_a_matrix_product() {
    let (mut r, mut dr, mut da, mut db) = ([0.0; 4], DR, [0.0; 4], [0.0; 4]);
    d_mymul(&mut r, &mut dr, &A, &mut da, &B, &mut db, 2);
    assert_eq!(r, [19.0, 22.0, 43.0, 50.0]);
    assert_eq!(da, [65.0, 87.0, 6500.0, 8700.0], "dr · Bᵀ");
    assert_eq!(db, [301.0, 3010.0, 402.0, 4020.0], "Aᵀ · dr");
    assert_eq!(dr, [0.0; 4], "the cotangent is taken out");

    let (mut dr, mut da) = (DR, [0.0; 4]);
    d_mymul_a(&mut r, &mut dr, &A, &mut da, &B, 2);
    assert_eq!(da, [65.0, 87.0, 6500.0, 8700.0]);
}

#[test]
fn its_tangent() {
    let (mut r, mut tr) = ([0.0; 4], [7.0; 4]);
    t_mymul(&mut r, &mut tr, &A, &[1.0, 0.0, 0.0, 0.0], &B, &[0.0; 4], 2);
    assert_eq!(tr, [5.0, 6.0, 0.0, 0.0]);
}

#[autodiff(d_scale, Reverse, Duplicated, Active)]
fn scale(x: &mut [f64], factor: f64) {
    for x in x {
        *x *= factor;
    }
}

#[test]
fn what_is_read_and_written_keeps_its_gradient() {
    let (mut x, mut dx) = ([1.0, 2.0], [1.0, 10.0]);
    assert_eq!(d_scale(&mut x, &mut dx, 3.0), 21.0);
    assert_eq!((x, dx), ([3.0, 6.0], [3.0, 30.0]));
}

#[autodiff(d_step, Reverse, Duplicated, Duplicated, Active)]
fn step(position: &mut f64, velocity: &mut f64, time: f64) {
    *velocity -= *position * time;
    *position += *velocity * time;
}

#[test]
fn scalars_behind_references() {
    let (mut p, mut dp, mut v, mut dv) = (1.0, 1.0, 2.0, 0.0);
    let dt = d_step(&mut p, &mut dp, &mut v, &mut dv, 0.5);
    assert_eq!((p, v), (1.75, 1.5));
    // p' = p + (v − p t) t, so ∂p = 1 − t², ∂v = t, ∂t = v − 2 p t.
    assert_eq!((dp, dv, dt), (0.75, 0.5, 1.0));
}

/// The result and a mutated argument together.
#[autodiff(d_both, Reverse, Duplicated, Active, Active)]
fn both(out: &mut f64, x: f64) -> f64 {
    *out = x * x;
    *out + x
}

#[test]
fn a_result_beside_a_mutation() {
    let (mut out, mut d_out) = (0.0, 10.0);
    assert_eq!(d_both(&mut out, &mut d_out, 3.0), (6.0 * 11.0 + 1.0, 12.0));
    assert_eq!((out, d_out), (9.0, 0.0));
}

#[autodiff(d_accumulate, Reverse, Duplicated, Duplicated)]
fn accumulate(sum: &mut f64, x: &[f64]) {
    for x in x {
        *sum += x * x;
    }
}

#[test]
fn an_accumulator_passes_its_cotangent_on() {
    let (mut sum, mut d_sum, mut dx) = (1.0, 5.0, [0.0; 2]);
    accumulate(&mut sum, &[]);
    d_accumulate(&mut sum, &mut d_sum, &[2.0, 3.0], &mut dx);
    assert_eq!((sum, d_sum, dx), (14.0, 5.0, [20.0, 30.0]));
}

#[derive(Differentiable)]
struct Guide {
    a: f64,
    g: Box<f64>,
}

#[autodiff(d_guided, Reverse, Duplicated, Duplicated)]
#[autodiff(t_guided, Forward, Dual, Dual)]
fn guided(p: &mut [f64; 2], q: &Guide) {
    let t = if *q.g > 0.3 { p[1] } else { q.a };
    p[0] *= t.sin();
    p.swap(0, 1)
}

/// The optimiser makes one load at one of two addresses of it. What lies behind the two is different, and told apart.
#[test]
fn a_value_of_one_of_two_arguments() {
    let guide = |a, g| Guide { a, g: Box::new(g) };
    for (g, t) in [(0.1, 0.5), (0.4, 2.0_f64)] {
        let (mut p, mut d, q, mut dq) = ([1.5, 2.0], [7.0, 10.0], guide(0.5, g), guide(0.0, 0.0));
        d_guided(&mut p, &mut d, &q, &mut dq);
        assert_eq!(p, [2.0, 1.5 * t.sin()]);
        let slope = 10.0 * 1.5 * t.cos();
        let (to_p, to_q) = if g > 0.3 { (slope, 0.0) } else { (0.0, slope) };
        assert!((d[0] - 10.0 * t.sin()).abs() < 1e-12 && (d[1] - 7.0 - to_p).abs() < 1e-12, "{d:?}");
        assert!((dq.a - to_q).abs() < 1e-12 && *dq.g == 0.0);
        let (mut p, mut d) = ([1.5, 2.0], [1.0, 0.25]);
        t_guided(&mut p, &mut d, &q, &guide(0.5, 9.0));
        let along = if g > 0.3 { 0.25 } else { 0.5 };
        assert!(d[0] == 0.25 && (d[1] - (t.sin() + 1.5 * t.cos() * along)).abs() < 1e-12, "{d:?}");
    }
}
