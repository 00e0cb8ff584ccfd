//! Rules that call back into Pullback: they differentiate the functions they are given.

use pullback::rules::NoTangent;
use pullback::{autodiff, has_rrule, jvp, rrule, vjp};

/// A function over a slice. The pullbacks of all elements are what is kept.
#[has_rrule(map_rrule)]
fn map<F: Fn(&f64) -> f64>(f: &F, x: &[f64]) -> Vec<f64> {
    x.iter().map(f).collect()
}

#[rrule(generic)]
fn map_rrule<'a, F: Fn(&f64) -> f64>(
    f: &'a F,
    x: &'a [f64],
) -> (Vec<f64>, impl Fn(&[f64], NoTangent, &mut [f64]) + use<'a, F>) {
    let (y, pullbacks): (Vec<f64>, Vec<_>) = x.iter().map(|x| vjp(f, x)).unzip();
    let pullback = move |dy: &[f64], _: NoTangent, dx: &mut [f64]| {
        for ((dx, dy), pullback) in dx.iter_mut().zip(dy).zip(&pullbacks) {
            *dx += 10.0 * pullback(*dy);
        }
    };
    (y, pullback)
}

#[autodiff(d_mapped, Reverse, Duplicated, Const, Active)]
fn mapped(x: &[f64], k: i32) -> f64 {
    map(&|v: &f64| v.powi(k), x).iter().sum::<f64>() + map(&|v: &f64| v.sin(), x).iter().sum::<f64>()
}

/// Ten times what it is.
#[test]
fn a_function_over_a_slice() {
    let x = [0.5, 1.0, 2.0];
    let mut dx = [0.0; 3];
    d_mapped(&x, &mut dx, 3);
    for (x, dx) in x.iter().zip(dx) {
        assert!((dx - 10.0 * (3.0 * x * x + x.cos())).abs() < 1e-12, "{dx}");
    }
}

/// The solution of `g(x, p) = 0` by Newton's method.
#[has_rrule(root_rrule)]
fn root<G: Fn(&[f64; 2]) -> f64>(g: &G, start: f64, p: f64) -> f64 {
    let mut x = start;
    for _ in 0..100 {
        let (value, slope) = jvp(g, &[x, p], &[1.0, 0.0]);
        let step = value / slope;
        x -= step;
        if step.abs() < 1e-14 * (1.0 + x.abs()) {
            break;
        }
    }
    x
}

/// The implicit function theorem: `dx/dp = −(∂g/∂p)/(∂g/∂x)` at the solution. The iteration is not differentiated.
#[rrule(generic)]
fn root_rrule<G: Fn(&[f64; 2]) -> f64>(
    g: &G,
    start: f64,
    p: f64,
) -> (f64, impl Fn(f64, NoTangent) -> (NoTangent, f64) + use<G>) {
    let x = root(g, start, p);
    let [by_x, by_p] = vjp(g, &[x, p]).1(1.0);
    (x, move |dx, _: NoTangent| (NoTangent, -dx * by_p / by_x))
}

#[autodiff(d_lambert, Reverse, Active, Active)]
fn lambert(p: f64) -> f64 {
    // x·eˣ = p
    let x = root(&|v: &[f64; 2]| v[0] * v[0].exp() - v[1], 0.5, p * p);
    x * x
}

#[test]
fn a_root_by_the_implicit_function_theorem() {
    for p in [0.7, 1.0, 2.5] {
        let (gradient, value) = d_lambert(p);
        let x = value.sqrt();
        assert!((x * x.exp() - p * p).abs() < 1e-12);
        // d(x²)/dp = 2x · 2p / (eˣ·(1 + x))
        let expected = 4.0 * x * p / (x.exp() * (1.0 + x));
        assert!((gradient - expected).abs() < 1e-12, "{gradient} {expected}");
    }
}
