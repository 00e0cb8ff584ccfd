//! Rules for functions with arguments and results of many shapes, inside of functions that do something with them.

use pullback::rules::NoTangent;
use pullback::{Differentiable, autodiff, frule, rrule};

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

#[rrule(for = dot)]
fn dot_rrule<'a>(x: &'a [f64], y: &'a [f64]) -> (f64, impl Fn(f64, &mut [f64], &mut [f64]) + use<'a>) {
    (dot(x, y), move |dz, dx, dy| {
        for i in 0..x.len() {
            dx[i] += 10.0 * dz * y[i];
            dy[i] += 10.0 * dz * x[i];
        }
    })
}

#[autodiff(d_square, Reverse, Duplicated, Active)]
fn square(x: &[f64]) -> f64 {
    dot(x, x) + dot(&x[1..], &x[..x.len() - 1])
}

#[test]
fn one_slice_twice() {
    let mut dx = [0.0; 3];
    assert_eq!(d_square(&[1.0, 2.0, 3.0], &mut dx), 14.0 + 8.0);
    assert_eq!(dx, [40.0, 80.0, 80.0]);
}

/// Vectors that grow, shrink and move after a rule made them.
fn ramp(slope: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| slope * i as f64).collect()
}

#[rrule(for = ramp)]
fn ramp_rrule(slope: f64, count: usize) -> (Vec<f64>, impl Fn(&[f64]) -> (f64, NoTangent)) {
    let mut value = Vec::with_capacity(count + 2);
    value.extend(ramp(slope, count));
    (value, |dy| (10.0 * dy.iter().enumerate().map(|(i, dy)| dy * i as f64).sum::<f64>(), NoTangent))
}

#[autodiff(d_grown, Reverse, Active, Active)]
fn grown(slope: f64) -> f64 {
    let mut all = ramp(slope, 3);
    all.push(slope * slope);
    all.push(7.0);
    all.extend(ramp(2.0 * slope, 4));
    all.reverse();
    all.truncate(7);
    all.iter().map(|v| v * v).sum()
}

fn grown_gradient(slope: f64) -> f64 {
    // 2a + 4a + 6a squared, 7², a⁴, and (2a)², a rule's derivative being ten times that of its function
    10.0 * 2.0 * slope * (4.0 + 16.0 + 36.0) + 4.0 * slope.powi(3) + 10.0 * 2.0 * slope * 4.0
}

#[test]
fn a_vector_that_grows() {
    let slope: f64 = 1.5;
    let value = slope * slope * (4.0 + 16.0 + 36.0) + 49.0 + slope.powi(4) + 4.0 * slope * slope;
    let (gradient, found) = d_grown(slope);
    assert_eq!(found, value);
    assert!((gradient - grown_gradient(slope)).abs() < 1e-9, "{gradient} {}", grown_gradient(slope));
}

#[autodiff(d_rows, Reverse, Duplicated, Active)]
fn rows(slopes: &[f64]) -> f64 {
    let table: Vec<Vec<f64>> = slopes.iter().enumerate().map(|(i, s)| ramp(*s, i + 2)).collect();
    let mut sum = 0.0;
    for (i, row) in table.iter().enumerate() {
        for v in row {
            sum += v * slopes[i];
        }
    }
    sum
}

#[test]
fn a_table_of_results() {
    let slopes = [1.0, 2.0, 3.0];
    let mut gradient = [0.0; 3];
    assert_eq!(d_rows(&slopes, &mut gradient), 1.0 + 4.0 * 3.0 + 9.0 * 6.0);
    assert_eq!(gradient, [11.0, 11.0 * 2.0 * 3.0, 11.0 * 3.0 * 6.0]);
}

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

/// A value with a variant, passed by value.
fn choose(x: Option<f64>, y: (f64, u32)) -> f64 {
    x.unwrap_or(y.0) * f64::from(y.1)
}

#[rrule(for = choose)]
fn choose_rrule(x: Option<f64>, y: (f64, u32)) -> (f64, impl Fn(f64) -> (Option<f64>, (f64, u32))) {
    (choose(x, y), move |dz| {
        let d = 10.0 * dz * f64::from(y.1);
        if x.is_some() { (Some(d), (0.0, 0)) } else { (None, (d, 0)) }
    })
}

#[frule(for = choose)]
fn choose_frule(x: Option<f64>, dx: Option<f64>, y: (f64, u32), dy: (f64, u32)) -> (f64, f64) {
    assert_eq!((x.is_some(), y.1), (dx.is_some(), dy.1));
    (choose(x, y), 10.0 * choose(dx, dy))
}

#[autodiff(d_choice, Reverse, Active, Active, Active)]
#[autodiff(f_choice, Forward, Dual, Dual, Dual)]
fn choice(x: f64, y: f64) -> f64 {
    choose(Some(x), (y, 2)) + choose(None, (y, 3))
}

#[test]
fn variants_by_value() {
    assert_eq!(choice(5.0, 7.0), 31.0);
    assert_eq!(d_choice(5.0, 7.0), (20.0, 30.0, 31.0));
    assert_eq!(f_choice(5.0, 1.0, 7.0, 0.0), (31.0, 20.0));
    assert_eq!(f_choice(5.0, 0.0, 7.0, 1.0), (31.0, 30.0));
}

/// In place, in a loop, on parts of a buffer.
fn smooth(x: &mut [f64], weight: f64) {
    for i in 1..x.len() {
        x[i] += weight * x[i - 1];
    }
}

#[rrule(for = smooth)]
fn smooth_rrule(x: &mut [f64], weight: f64) -> ((), impl FnOnce(&mut [f64]) -> f64 + use<>) {
    smooth(x, weight);
    let after = x.to_vec();
    ((), move |dx| {
        let mut d_weight = 0.0;
        for i in (1..dx.len()).rev() {
            d_weight += dx[i] * after[i - 1];
            dx[i - 1] += weight * dx[i];
        }
        d_weight
    })
}

#[frule(for = smooth)]
fn smooth_frule(x: &mut [f64], dx: &mut [f64], weight: f64, d_weight: f64) {
    for i in 1..x.len() {
        dx[i] += weight * dx[i - 1] + d_weight * x[i - 1];
        x[i] += weight * x[i - 1];
    }
}

#[autodiff(d_smoothed, Reverse, Duplicated, Active, Active)]
#[autodiff(f_smoothed, Forward, Dual, Dual, Dual)]
fn smoothed(x: &[f64], weight: f64) -> f64 {
    let mut buffer = x.to_vec();
    for n in 2..=x.len() {
        smooth(&mut buffer[..n], weight);
        smooth(&mut buffer[n - 1..], weight * weight);
    }
    buffer.iter().sum()
}

#[test]
fn in_place_on_parts() {
    let (x, weight) = ([1.0, 2.0, 4.0, 3.0], 0.5);
    let mut dx = [0.0; 4];
    let (d_weight, value) = d_smoothed(&x, &mut dx, weight);
    assert_eq!(value, smoothed(&x, weight));
    let h = 1e-6;
    let difference = (smoothed(&x, weight + h) - smoothed(&x, weight - h)) / (2.0 * h);
    assert!((d_weight - difference).abs() < 1e-6, "{d_weight} {difference}");
    for i in 0..4 {
        let mut tangent = [0.0; 4];
        tangent[i] = 1.0;
        let (_, d) = f_smoothed(&x, &tangent, weight, 0.0);
        assert!((d - dx[i]).abs() < 1e-12, "{i}: {d} {}", dx[i]);
    }
    assert!((f_smoothed(&x, &[0.0; 4], weight, 1.0).1 - d_weight).abs() < 1e-12);
}

/// A diagonal matrix.
#[derive(Clone, Debug, PartialEq, Differentiable)]
struct Diagonal(Vec<f64>);

/// A full one, of two rows.
type Full = [[f64; 2]; 2];

/// `d · m`
fn times(d: &Diagonal, m: &Full) -> Full {
    std::array::from_fn(|i| m[i].map(|m| d.0[i] * m))
}

/// The cotangent of a product is a full matrix; what the diagonal gets of it is its diagonal, for nothing else has a
/// place there.
#[rrule(for = times)]
fn times_rrule(d: &Diagonal, m: &Full) -> (Full, impl Fn(Full, &mut Diagonal, &mut Full) + use<>) {
    let (d, m) = (d.clone(), *m);
    (times(&d, &m), move |dy: Full, dd: &mut Diagonal, dm: &mut Full| {
        for i in 0..2 {
            dd.0[i] += 10.0 * dy[i].iter().zip(m[i]).map(|(dy, m)| dy * m).sum::<f64>();
            (0..2).for_each(|j| dm[i][j] += d.0[i] * dy[i][j]);
        }
    })
}

/// A complex number from a real one, in another precision.
fn phase(x: f32) -> (f64, f64) {
    let (sin, cos) = f64::from(x).sin_cos();
    (cos, sin)
}

/// What is real gets the real part, and what is an `f32` an `f32`.
#[rrule(for = phase)]
fn phase_rrule(x: f32) -> ((f64, f64), impl Fn((f64, f64)) -> f32) {
    let (re, im) = phase(x);
    ((re, im), move |(d_re, d_im)| (10.0 * (im * -d_re + re * d_im)) as f32)
}

#[autodiff(d_projected, Reverse, Duplicated, Active, Active)]
fn projected(d: &Diagonal, x: f32) -> f64 {
    let (re, im) = phase(x);
    let y = times(d, &[[re, im], [1.0, 2.0]]);
    y[0][0] + y[0][1] + y[1][0] * y[1][1]
}

#[test]
fn a_cotangent_in_the_space_of_its_primal() {
    let mut dd = Diagonal(vec![0.0; 2]);
    let (dx, value) = d_projected(&Diagonal(vec![3.0, 4.0]), &mut dd, 0.0);
    assert_eq!((dx, value), (30.0, 35.0));
    assert_eq!(dd, Diagonal(vec![10.0, 160.0]));
}
