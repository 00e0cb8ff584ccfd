//! `particle`: where a charge must be for a particle to land nearest to the origin. The particle's acceleration is a
//! gradient, and the optimum is found by gradient descent, so that a derivative is differentiated.

use super::descent::{Forward, Mode, PATIENCE, Reverse, argmin};
use crate::protocol::{Eval, evaluate_plain};
use serde::Deserialize;

/// By the outer mode, then the inner one.
pub const EVAL: Eval = Eval {
    name: "particle",
    functions: &[
        ("rr", |input| evaluate_plain(input, optimum::<Reverse, Reverse>)),
        ("ff", |input| evaluate_plain(input, optimum::<Forward, Forward>)),
        ("fr", |input| evaluate_plain(input, optimum::<Forward, Reverse>)),
        ("rf", |input| evaluate_plain(input, optimum::<Reverse, Forward>)),
    ],
};

#[derive(Deserialize)]
struct Input {
    w: f64,
    /// The time of a step. GradBench leaves it as it is.
    #[serde(default = "tenth")]
    dt: f64,
}

fn tenth() -> f64 {
    0.1
}

fn optimum<Outer: Mode, Inner: Mode>(input: &Input) -> f64 {
    let [w] = argmin::<Outer, 1>(|[w]| landing::<Inner>(*w, input.dt), [input.w], PATIENCE);
    w
}

/// How far from the origin the particle lands, squared. It is repelled by two charges.
fn landing<M: Mode>(w: f64, dt: f64) -> f64 {
    let charges = [[10.0, 10.0 - w], [10.0, 0.0]];
    let potential = |x: &[f64; 2]| charges.iter().map(|charge| 1.0 / distance(charge, x)).sum();
    let (mut x, mut v) = ([0.0, 8.0], [0.75, 0.0]);
    loop {
        let slope = M::gradient(potential, &x);
        x = [x[0] + dt * v[0], x[1] + dt * v[1]];
        if x[1] <= 0.0 {
            let since = -x[1] / v[1];
            let place = x[0] + since * v[0];
            return place * place;
        }
        v = [v[0] - dt * slope[0], v[1] - dt * slope[1]];
    }
}

fn distance(a: &[f64; 2], b: &[f64; 2]) -> f64 {
    ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The optimum of GradBench's own constants.
    #[test]
    fn all_modes_find_the_optimum() {
        let input = Input { w: 0.0, dt: 0.1 };
        let expected = 0.2071918746486116;
        for found in [
            optimum::<Reverse, Reverse>(&input),
            optimum::<Forward, Forward>(&input),
            optimum::<Forward, Reverse>(&input),
            optimum::<Reverse, Forward>(&input),
        ] {
            assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        }
    }
}
