//! `saddle`: a saddle point, by gradient descent through a function whose value is found by gradient ascent.

use super::descent::{Forward, Mode, PATIENCE, Reverse, argmin};
use crate::protocol::{Eval, evaluate_plain};
use serde::Deserialize;

/// By the outer mode, then the inner one.
pub const EVAL: Eval = Eval {
    name: "saddle",
    functions: &[
        ("rr", |input| evaluate_plain(input, saddle::<Reverse, Reverse>)),
        ("ff", |input| evaluate_plain(input, saddle::<Forward, Forward>)),
        ("fr", |input| evaluate_plain(input, saddle::<Forward, Reverse>)),
        ("rf", |input| evaluate_plain(input, saddle::<Reverse, Forward>)),
    ],
};

#[derive(Deserialize)]
struct Input {
    start: [f64; 2],
    /// Of both descents. GradBench leaves it as it is.
    #[serde(default = "patience")]
    patience: u32,
}

fn patience() -> u32 {
    PATIENCE
}

fn height(x: &[f64; 2], y: &[f64; 2]) -> f64 {
    (x[0] * x[0] + x[1] * x[1]) - (y[0] * y[0] + y[1] * y[1])
}

/// The lowest of the highest points.
fn saddle<Outer: Mode, Inner: Mode>(input: &Input) -> [f64; 4] {
    let highest = |x: &[f64; 2]| argmin::<Inner, 2>(|y| -height(x, y), input.start, input.patience);
    let x = argmin::<Outer, 2>(|x| height(x, &highest(x)), input.start, input.patience);
    let y = highest(&x);
    [x[0], x[1], y[0], y[1]]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All coordinates are where the descent ends that GradBench prescribes.
    #[test]
    fn all_modes_find_the_saddle() {
        let input = Input { start: [1.0, 1.0], patience: PATIENCE };
        for found in [
            saddle::<Reverse, Reverse>(&input),
            saddle::<Forward, Forward>(&input),
            saddle::<Forward, Reverse>(&input),
            saddle::<Reverse, Forward>(&input),
        ] {
            for coordinate in found {
                assert!((coordinate / 8.246324826140356e-06 - 1.0).abs() < 1e-9, "{found:?}");
            }
        }
    }
}
