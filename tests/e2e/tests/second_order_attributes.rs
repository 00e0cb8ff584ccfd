//! Derivatives of derivatives by attributes: all activities, batches, panics, generic functions and methods.

use pullback::{autodiff, jvp, value_and_grad};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

fn close(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs().max(b.abs())), "{what}: {a} and {b}");
}

#[autodiff(r_f, Reverse, Active, Duplicated, Active)]
#[autodiff(f_f, Forward, Dual, Dual, Dual)]
#[autodiff(r2_f, Reverse(2), Active, Duplicated, Active)]
#[autodiff(f2_f, Forward(2), Dual, Dual, Dual)]
fn f(x: f64, y: &[f64]) -> f64 {
    y.iter().fold(x, |z, y| z * y + x.sin())
}

/// The gradient of `f` by all its floats, times a weight for each: what is differentiated again.
#[autodiff(rr, Reverse, Active, Duplicated, Const, Active)]
#[autodiff(fr, Forward, Dual, Dual, Const, Dual)]
#[autodiff(fr3, Forward(3), Dual, Dual, Const, Dual)]
fn by_reverse(x: f64, y: &[f64], w: &[f64]) -> f64 {
    let mut dy = vec![0.0; y.len()];
    let (dx, _) = r_f(x, y, &mut dy);
    dx * w[0] + dy.iter().zip(&w[1..]).map(|(a, b)| a * b).sum::<f64>()
}

#[autodiff(rf, Reverse, Active, Duplicated, Const, Active)]
#[autodiff(ff, Forward, Dual, Dual, Const, Dual)]
#[autodiff(rf2, Reverse(2), Active, Duplicated, Const, Active)]
fn by_forward(x: f64, y: &[f64], w: &[f64]) -> f64 {
    f_f(x, w[0], y, &w[1..]).1
}

/// Two batch directions of the inner derivative, which are added.
#[autodiff(rr2, Reverse, Active, Duplicated, Const, Active)]
fn by_reverse_twice(x: f64, y: &[f64], w: &[f64]) -> f64 {
    let (mut one, mut two) = (vec![0.0; y.len()], vec![0.0; y.len()]);
    let ([dx, dx2], _) = r2_f(x, y, [&mut one, &mut two], [1.0, 2.0]);
    let sum = |dx: f64, dy: &[f64]| dx * w[0] + dy.iter().zip(&w[1..]).map(|(a, b)| a * b).sum::<f64>();
    sum(dx, &one) + sum(dx2, &two)
}

#[autodiff(rf_twice, Reverse, Active, Duplicated, Const, Active)]
fn by_forward_twice(x: f64, y: &[f64], w: &[f64]) -> f64 {
    let [a, b] = f2_f(x, [w[0], 2.0 * w[0]], y, [&w[1..], &w[1..]]).1;
    a + b
}

const X: f64 = 0.7;
const Y: [f64; 3] = [1.1, -0.4, 0.9];
const W: [f64; 4] = [0.3, 1.0, -2.0, 0.5];

#[test]
fn all_pairs_of_modes() {
    let mut dy = [0.0; 3];
    let (dx, value) = rr(X, &Y, &mut dy, &W);
    close(value, by_forward(X, &Y, &W), "slope");
    let mut dy_f = [0.0; 3];
    let (dx_f, _) = rf(X, &Y, &mut dy_f, &W);
    close(dx, dx_f, "dx");
    (0..3).for_each(|i| close(dy[i], dy_f[i], "dy"));
    let along = dx * W[0] + (0..3).map(|i| dy[i] * W[i + 1]).sum::<f64>();
    close(fr(X, W[0], &Y, &W[1..], &W).1, along, "fr");
    close(ff(X, W[0], &Y, &W[1..], &W).1, along, "ff");
    let h = 1e-6;
    let difference = (by_reverse(X + h, &Y, &W) - by_reverse(X - h, &Y, &W)) / (2.0 * h);
    assert!((dx - difference).abs() < 1e-8, "{dx} {difference}");
}

#[test]
fn batches_inside_and_outside() {
    let mut dy = [0.0; 3];
    let (dx, _) = rr(X, &Y, &mut dy, &W);
    let units: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(i == j)));
    let (_, tangents) = fr3(X, [0.0; 3], &Y, units.each_ref().map(|u| &u[..]), &W);
    (0..3).for_each(|i| close(tangents[i], dy[i], "fr3"));

    let (mut one, mut two) = ([0.0; 3], [0.0; 3]);
    let ([dx1, dx2], _) = rf2(X, &Y, [&mut one, &mut two], &W, [1.0, 2.0]);
    close(dx1, dx, "rf2");
    close(dx2, 2.0 * dx, "rf2");
    (0..3).for_each(|i| close(two[i], 2.0 * dy[i], "rf2"));

    let mut thrice = [0.0; 3];
    let (dx3, _) = rr2(X, &Y, &mut thrice, &W);
    close(dx3, 3.0 * dx, "rr2");
    (0..3).for_each(|i| close(thrice[i], 3.0 * dy[i], "rr2"));

    let mut d = [0.0; 3];
    let (_, value) = rf_twice(X, &Y, &mut d, &W);
    close(value, by_forward_twice(X, &Y, &W), "rf_twice");
    let h = 1e-6;
    for i in 0..3 {
        let at = |h: f64| {
            let mut y = Y;
            y[i] += h;
            by_forward_twice(X, &y, &W)
        };
        let difference = (at(h) - at(-h)) / (2.0 * h);
        assert!((d[i] - difference).abs() < 1e-8, "{} {difference}", d[i]);
    }
}

#[autodiff(d_careful, Reverse, Active, Const, Active)]
fn careful(x: f64, limit: usize) -> f64 {
    let mut kept = Vec::new();
    let mut y = x;
    for i in 0..10 {
        assert!(i < limit, "no more than {limit}");
        y = y * x + 1.0;
        kept.push(Box::new(y));
    }
    kept.iter().map(|y| **y).sum()
}

#[autodiff(rr_careful, Reverse, Active, Const, Active)]
#[autodiff(fr_careful, Forward, Dual, Const, Dual)]
fn carefully(x: f64, limit: usize) -> f64 {
    d_careful(x, limit).0
}

#[test]
fn a_panic_goes_through_both() {
    let said = |f: &dyn Fn()| *catch_unwind(AssertUnwindSafe(f)).unwrap_err().downcast::<String>().unwrap();
    assert_eq!(said(&|| _ = rr_careful(0.5, 5)), "no more than 5");
    assert_eq!(said(&|| _ = fr_careful(0.5, 1.0, 7)), "no more than 7");
    let (second, first) = rr_careful(0.5, 10);
    close(fr_careful(0.5, 1.0, 10).1, second, "careful");
    let h = 1e-6;
    close(first, carefully(0.5, 10), "careful");
    assert!((second - (carefully(0.5 + h, 10) - carefully(0.5 - h, 10)) / (2.0 * h)).abs() < 1e-6);
}

trait Potential {
    fn energy(&self, x: &[f64]) -> f64;

    #[autodiff(force, Reverse, Const, Duplicated, Active)]
    fn value(&self, x: &[f64]) -> f64 {
        self.energy(x)
    }
}

struct Spring(f64);

impl Potential for Spring {
    fn energy(&self, x: &[f64]) -> f64 {
        x.windows(2).map(|w| 0.5 * self.0 * (w[1] - w[0]).powi(2) + (w[0] * w[1]).cos()).sum()
    }
}

/// A step of a simulation, by whose stiffness and start is differentiated: a derivative inside of a loop inside of a
/// generic function.
fn simulate<P: Potential>(potential: &P, x: &mut [f64], steps: usize) {
    let mut v = vec![0.0; x.len()];
    for _ in 0..steps {
        let mut gradient = vec![0.0; x.len()];
        potential.force(x, &mut gradient);
        for ((x, v), g) in x.iter_mut().zip(&mut v).zip(&gradient) {
            *v -= 0.1 * g;
            *x += 0.1 * *v;
        }
    }
}

#[autodiff(r_shot, Reverse, Active, Duplicated, Active)]
#[autodiff(f_shot, Forward, Dual, Dual, Dual)]
fn shot(stiffness: f64, start: &[f64]) -> f64 {
    let mut x = start.to_vec();
    simulate(&Spring(stiffness), &mut x, 5);
    x.iter().map(|x| x * x).sum()
}

#[test]
fn a_simulation() {
    let start = [0.1, 0.5, 0.2];
    let mut gradient = [0.0; 3];
    let (by_stiffness, value) = r_shot(2.0, &start, &mut gradient);
    close(value, shot(2.0, &start), "value");
    close(f_shot(2.0, 1.0, &start, &[0.0; 3]).1, by_stiffness, "stiffness");
    close(f_shot(2.0, 0.0, &start, &[1.0, 2.0, 3.0]).1, gradient[0] + 2.0 * gradient[1] + 3.0 * gradient[2], "start");
    let h = 1e-6;
    let difference = (shot(2.0 + h, &start) - shot(2.0 - h, &start)) / (2.0 * h);
    assert!((by_stiffness - difference).abs() < 1e-8, "{by_stiffness} {difference}");
}

/// Owners come and go.
#[autodiff(t_taken, Forward, Dual, Dual)]
fn taken(x: Rc<Cell<f64>>) -> f64 {
    let twice = vec![x.clone(), x];
    twice.iter().map(|x| x.get() * x.get() * x.get()).sum()
}

#[autodiff(t_slope, Forward, Dual, Dual)]
fn slope(x: Rc<Cell<f64>>) -> f64 {
    t_taken(x, Rc::new(Cell::new(1.0))).1
}

fn kept(x: &Rc<Cell<f64>>) -> f64 {
    let twice = vec![x.clone(), x.clone()];
    twice.iter().map(|x| x.get() * x.get() * x.get()).sum()
}

fn slope_of_kept(x: &Rc<Cell<f64>>) -> f64 {
    jvp(kept, x, &Rc::new(Cell::new(1.0))).1
}

/// The counts of the four values, of which each is the shadow of others, are those of their owners.
#[test]
fn counts_of_shadows_of_shadows() {
    let counted = |x: f64| Rc::new(Cell::new(x));
    assert_eq!(t_slope(counted(2.0), counted(1.0)), (24.0, 24.0));
    let (x, d) = (counted(2.0), counted(1.0));
    assert_eq!(jvp(slope_of_kept, &x, &d), (24.0, 24.0));
    assert_eq!((Rc::strong_count(&x), Rc::strong_count(&d)), (1, 1));
    let (value, gradient) = value_and_grad(slope_of_kept, &x);
    assert_eq!((value, gradient.get()), (24.0, 24.0));
    assert_eq!((Rc::strong_count(&x), Rc::strong_count(&gradient)), (1, 1));
    assert_eq!(value_and_grad(|x: &f64| slope_of_kept(&counted(*x)), &2.0), (24.0, 24.0));
}
