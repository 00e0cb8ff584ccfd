//! `ode`: y₀′ = x₀, yᵢ′ = xᵢ yᵢ₋₁, from 0 to 2 by the classical Runge-Kutta method.

use crate::protocol::{Eval, evaluate_plain};
use pullback::autodiff;
use serde::Deserialize;

pub const EVAL: Eval = Eval {
    name: "ode",
    functions: &[
        ("primal", |input| evaluate_plain(input, |input: &Input| primal(&input.x, input.s))),
        ("gradient", |input| evaluate_plain(input, |input: &Input| gradient(&input.x, input.s))),
    ],
};

#[derive(Deserialize)]
struct Input {
    x: Vec<f64>,
    /// The number of steps.
    s: usize,
}

/// The slope of a component.
fn slope(x: f64, before: f64) -> f64 {
    x * before
}

/// The solution at 2, in `y`. A slope depends on the component before and on nothing else, so a step goes through the
/// components once, and hands on what the next one needs of the last. Before the first there is the constant 1.
#[autodiff(d_integrate, Reverse, Duplicated, Const, Duplicated)]
fn integrate(x: &[f64], steps: usize, y: &mut [f64]) {
    let h = 2.0 / steps as f64;
    y.fill(0.0);
    for _ in 0..steps {
        let (mut before, mut k1, mut k2, mut k3) = (1.0, 0.0, 0.0, 0.0);
        for (&x, y) in x.iter().zip(y.iter_mut()) {
            let k4 = slope(x, before + h * k3);
            k3 = slope(x, before + h / 2.0 * k2);
            k2 = slope(x, before + h / 2.0 * k1);
            k1 = slope(x, before);
            before = *y;
            *y += h * (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0;
        }
    }
}

fn primal(x: &[f64], steps: usize) -> Vec<f64> {
    let mut y = vec![0.0; x.len()];
    integrate(x, steps, &mut y);
    y
}

/// The derivative of the last component of the solution.
fn gradient(x: &[f64], steps: usize) -> Vec<f64> {
    let zeros = || vec![0.0; x.len()];
    let (mut y, mut dy, mut dx) = (zeros(), zeros(), zeros());
    dy[x.len() - 1] = 1.0;
    d_integrate(x, &mut dx, steps, &mut y, &mut dy);
    dx
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Components of the exact solution are polynomials in t: 2ⁿ / n! · Πx at the end. The method is exact for degrees
    /// up to four.
    #[test]
    fn a_short_system_is_solved_exactly() {
        let x = [0.7, -1.3, 0.4, 1.9];
        for steps in [1, 3, 10] {
            let (y, gradient) = (primal(&x, steps)[3], gradient(&x, steps));
            let expected = 16.0 / 24.0 * x.iter().product::<f64>();
            assert!((y - expected).abs() < 1e-14, "{steps} steps: {y}, not {expected}");
            for (dx, x) in gradient.iter().zip(x) {
                assert!((dx - expected / x).abs() < 1e-14, "{steps} steps: {dx}, not {}", expected / x);
            }
        }
    }

    /// A longer system is not: its derivative is that of the method, zero where information has not yet arrived.
    #[test]
    fn the_derivative_is_that_of_the_method() {
        assert_eq!(gradient(&[0.5; 5], 1), [0.0; 5]);
        let x = [0.7, -1.3, 0.4, 1.9, 0.8, -0.6, 1.1];
        let gradient = gradient(&x, 3);
        for (i, dx) in gradient.iter().enumerate() {
            // Each component is linear in each x.
            let at = |v: f64| {
                let mut moved = x;
                moved[i] = v;
                primal(&moved, 3)[6]
            };
            let expected = at(x[i] + 0.5) - at(x[i] - 0.5);
            assert!((dx - expected).abs() < 1e-14, "by x{i}: {dx}, not {expected}");
        }
    }
}
