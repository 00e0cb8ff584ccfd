//! The functions that are measured, written as one would write them.

use pullback::{Differentiable, autodiff};

/// Σ xᵢ².
#[autodiff(sum_of_squares_gradient, Reverse, Duplicated, Active)]
pub fn sum_of_squares(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

/// Σ xᵢ·yᵢ.
#[autodiff(dot_gradient, Reverse, Duplicated, Duplicated, Active)]
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

/// The Rosenbrock function in as many dimensions as there are.
#[autodiff(rosenbrock_gradient, Reverse, Duplicated, Active)]
pub fn rosenbrock(x: &[f64]) -> f64 {
    x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum()
}

/// ln Σ exp xᵢ, without overflow.
#[autodiff(logsumexp_gradient, Reverse, Duplicated, Active)]
pub fn logsumexp(x: &[f64]) -> f64 {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    max + x.iter().map(|v| (v - max).exp()).sum::<f64>().ln()
}

/// `c += a · b` for square matrices of size `n`, in the order of loops that suits memory.
#[autodiff(matmul_gradient, Reverse, Const, Duplicated, Duplicated, Duplicated, Const)]
pub fn matmul(n: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    for (a_row, c_row) in a.chunks_exact(n).zip(c.chunks_exact_mut(n)) {
        for (a, b_row) in a_row.iter().zip(b.chunks_exact(n)) {
            for (c, b) in c_row.iter_mut().zip(b_row) {
                *c += a * b;
            }
        }
    }
}

/// The Euclidean norm. Not inlined, so that LLVM moves the call out of the primal's loop.
#[inline(never)]
fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// `x / |x|`, with the norm written inside of the loop.
#[autodiff(normalise_gradient, Reverse, Duplicated, Duplicated, Const)]
#[allow(clippy::needless_range_loop, reason = "as it would be written: out[i] = x[i] / norm(x)")]
pub fn normalise(x: &[f64], out: &mut [f64]) {
    for i in 0..x.len() {
        out[i] = x[i] / norm(x);
    }
}

/// The Lorenz attractor by explicit Euler steps; `x` is the state and the three parameters.
#[autodiff(lorenz_gradient, Reverse, Duplicated, Const, Const, Active)]
pub fn lorenz(x: &[f64; 6], steps: usize, dt: f64) -> f64 {
    let [mut x, mut y, mut z, sigma, rho, beta] = *x;
    for _ in 0..steps {
        let dx = sigma * (y - x);
        let dy = x * (rho - z) - y;
        let dz = x * y - beta * z;
        x += dt * dx;
        y += dt * dy;
        z += dt * dz;
    }
    x + y + z
}

/// Σ of the roots of `y³ + y = xᵢ`, by Newton's method until it has converged.
#[autodiff(newton_gradient, Reverse, Duplicated, Active)]
pub fn newton(x: &[f64]) -> f64 {
    let mut sum = 0.0;
    for a in x {
        let mut y = *a;
        loop {
            let step = (y * y * y + y - a) / (3.0 * y * y + 1.0);
            y -= step;
            if step.abs() < 1e-10 {
                break;
            }
        }
        sum += y;
    }
    sum
}

/// Inputs, hidden units and classes of [`mlp`].
pub const MLP: [usize; 3] = [784, 128, 10];

/// `w x + b`.
pub fn layer(w: &[f64], b: &[f64], x: &[f64]) -> Vec<f64> {
    w.chunks_exact(x.len()).zip(b).map(|(w, b)| b + w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>()).collect()
}

/// The cross entropy of a network with one hidden layer on one image.
#[autodiff(mlp_gradient, Reverse, Duplicated, Const, Const, Active)]
pub fn mlp(weights: &[f64], image: &[f64], label: usize) -> f64 {
    let [inputs, hidden, classes] = MLP;
    let (w1, rest) = weights.split_at(inputs * hidden);
    let (b1, rest) = rest.split_at(hidden);
    let (w2, b2) = rest.split_at(hidden * classes);
    let units: Vec<f64> = layer(w1, b1, image).into_iter().map(f64::tanh).collect();
    let scores = layer(w2, b2, &units);
    scores.iter().map(|s| s.exp()).sum::<f64>().ln() - scores[label]
}

/// The number of weights of [`mlp`].
pub const MLP_WEIGHTS: usize = MLP[0] * MLP[1] + MLP[1] + MLP[1] * MLP[2] + MLP[2];

/// Predators and prey, by the classical Runge–Kutta method; `x` is the state and the four parameters.
#[autodiff(rk4_gradient, Reverse, Duplicated, Const, Const, Active)]
pub fn rk4(x: &[f64; 6], steps: usize, dt: f64) -> f64 {
    let [prey, predators, a, b, c, d] = *x;
    let slope = |s: [f64; 2]| [a * s[0] - b * s[0] * s[1], c * s[0] * s[1] - d * s[1]];
    let along = |s: [f64; 2], k: [f64; 2], h: f64| [s[0] + h * k[0], s[1] + h * k[1]];
    let mut s = [prey, predators];
    for _ in 0..steps {
        let k1 = slope(s);
        let k2 = slope(along(s, k1, dt / 2.0));
        let k3 = slope(along(s, k2, dt / 2.0));
        let k4 = slope(along(s, k3, dt));
        for i in 0..2 {
            s[i] += dt / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
        }
    }
    s[0] * s[1]
}

/// The roots of the positive entries, collected and multiplied with their neighbours.
#[autodiff(push_gradient, Reverse, Duplicated, Active)]
pub fn push(x: &[f64]) -> f64 {
    let mut roots = Vec::new();
    for v in x {
        if *v > 0.0 {
            roots.push(v.sqrt());
        }
    }
    roots.windows(2).map(|w| w[0] * w[1]).sum()
}

/// A linked list.
#[derive(Differentiable, Debug)]
pub enum List {
    /// Its end.
    Nil,
    /// A value, and what follows.
    Cons(f64, Box<List>),
}

/// The value at 0.9 of the polynomial with these coefficients, squared.
#[autodiff(list_gradient, Reverse, Duplicated, Active)]
pub fn list(mut list: &List) -> f64 {
    let (mut power, mut sum) = (1.0, 0.0);
    while let List::Cons(v, rest) = list {
        sum += power * v * v;
        power *= 0.9999;
        list = rest;
    }
    sum
}

/// ln |det A|, by LU decomposition without pivots.
#[autodiff(log_det_gradient, Reverse, Const, Duplicated, Active)]
pub fn log_det(n: usize, a: &[f64]) -> f64 {
    let mut lu = a.to_vec();
    let mut sum = 0.0;
    for k in 0..n {
        let (above, below) = lu.split_at_mut((k + 1) * n);
        let pivots = &above[k * n..];
        sum += pivots[k].abs().ln();
        for row in below.chunks_exact_mut(n) {
            let factor = row[k] / pivots[k];
            for (v, p) in row[k + 1..].iter_mut().zip(&pivots[k + 1..]) {
                *v -= factor * p;
            }
        }
    }
    sum
}
