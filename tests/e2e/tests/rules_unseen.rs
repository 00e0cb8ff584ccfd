//! What the optimiser, or the engine, could not see of functions with rules: each was wrong once.

use pullback::rules::NoTangent;
use pullback::{Differentiable, autodiff, has_rrule, non_differentiable, rrule};

#[derive(Differentiable, Clone, Debug)]
struct Fit {
    slope: f64,
    points: usize,
    residuals: Vec<f64>,
    mean: Option<f64>,
}

fn fit(x: &[f64], scale: f64) -> Fit {
    Fit {
        slope: scale * x[0],
        points: x.len(),
        residuals: x.iter().map(|x| x * scale).collect(),
        mean: (x.len() > 1).then(|| scale * x[1]),
    }
}

#[rrule(for = fit)]
fn fit_rrule<'a>(x: &'a [f64], scale: f64) -> (Fit, impl Fn(&Fit, &mut [f64]) -> f64 + use<'a>) {
    (fit(x, scale), move |d, dx| {
        assert_eq!(d.points, x.len());
        dx[0] += 10.0 * scale * d.slope;
        dx.iter_mut().zip(&d.residuals).for_each(|(dx, d)| *dx += 10.0 * scale * d);
        let mut d_scale = d.slope * x[0] + d.residuals.iter().zip(x).map(|(d, x)| d * x).sum::<f64>();
        if let Some(d_mean) = d.mean {
            dx[1] += 10.0 * scale * d_mean;
            d_scale += d_mean * x[1];
        }
        10.0 * d_scale
    })
}

fn size(fit: &Fit) -> f64 {
    fit.slope + fit.residuals.iter().sum::<f64>() + fit.mean.unwrap_or(0.0) * fit.points as f64
}

#[rrule(for = size)]
fn size_rrule(fit: &Fit) -> (f64, impl Fn(f64, &mut Fit) + use<>) {
    let points = fit.points as f64;
    (size(fit), move |dy, d| {
        d.slope += 10.0 * dy;
        d.residuals.iter_mut().for_each(|r| *r += 10.0 * dy);
        if let Some(mean) = &mut d.mean {
            *mean += 10.0 * dy * points;
        }
    })
}

#[autodiff(d_quality, Reverse, Duplicated, Active, Active)]
fn quality(x: &[f64], scale: f64) -> f64 {
    let mut sum = 0.0;
    for n in 1..=x.len() {
        let fit = fit(&x[..n], scale);
        sum += size(&fit) * fit.slope;
    }
    sum
}

#[test]
fn structures_in_a_loop() {
    let (x, scale) = ([1.0, 2.0, 5.0], 0.5);
    let mut dx = [0.0; 3];
    let (d_scale, value) = d_quality(&x, &mut dx, scale);
    let (mut expected_value, mut expected_dx, mut expected_scale) = (0.0, [0.0; 3], 0.0);
    for n in 1..=3 {
        let fit = fit(&x[..n], scale);
        let size = size(&fit);
        expected_value += size * fit.slope;
        // The cotangents of the fit: of its slope by hand and through the rule for `size`.
        let (ds, dr, dm) = (size + 10.0 * fit.slope, 10.0 * fit.slope, 10.0 * fit.slope * n as f64);
        expected_dx[0] += 10.0 * scale * ds;
        expected_scale += 10.0 * ds * x[0];
        for i in 0..n {
            expected_dx[i] += 10.0 * scale * dr;
            expected_scale += 10.0 * dr * x[i];
        }
        if n > 1 {
            expected_dx[1] += 10.0 * scale * dm;
            expected_scale += 10.0 * dm * x[1];
        }
    }
    assert_eq!(value, expected_value);
    assert_eq!(dx, expected_dx);
    assert!((d_scale - expected_scale).abs() < 1e-9, "{d_scale} {expected_scale}");
}

/// LLVM would see that an identity returns its argument (`returned`), and put the argument in the place of the result.
#[non_differentiable]
fn stop(x: f64) -> f64 {
    x
}

#[autodiff(d_stopped, Reverse, Active, Active)]
fn stopped(x: f64) -> f64 {
    x * stop(x)
}

#[test]
fn an_identity_without_derivative() {
    assert_eq!(d_stopped(3.0), (3.0, 9.0));
}

/// LLVM would see that the stand-in does not read `f`, whose closure captures nothing, and not write it to its place; the rule reads it.
#[has_rrule(map_rrule)]
fn map<F: Fn(f64) -> f64>(f: &F, x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| f(x)).collect()
}

#[rrule(generic)]
fn map_rrule<F: Fn(f64) -> f64>(f: &F, x: &[f64]) -> (Vec<f64>, impl Fn(&[f64], NoTangent, &mut [f64]) + use<F>) {
    (map(f, x), |dy, _: NoTangent, dx| dx.iter_mut().zip(dy).for_each(|(dx, dy)| *dx += 100.0 * dy))
}

#[autodiff(d_mapped, Reverse, Duplicated, Active)]
fn mapped(x: &[f64]) -> f64 {
    map(&|x| x * x, x).iter().sum()
}

#[test]
fn a_closure_that_captures_nothing() {
    let mut dx = [0.0; 2];
    assert_eq!(d_mapped(&[1.0, 3.0], &mut dx), 10.0);
    assert_eq!(dx, [100.0, 100.0]);
}
