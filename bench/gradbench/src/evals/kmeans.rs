//! `kmeans`: the cost of a clustering, and the step of Newton's method from it.

use crate::protocol::{Eval, evaluate, evaluate_plain};
use pullback::autodiff;
use serde::Deserialize;

pub const EVAL: Eval = Eval {
    name: "kmeans",
    functions: &[
        ("cost", |input| evaluate_plain(input, |input: &Input| cost(input.d, &input.points, &input.centroids))),
        ("dir", |input| {
            evaluate(
                input,
                |input: &Input| direction(input.d, &input.points, &input.centroids),
                |input, direction| direction.chunks_exact(input.d).map(<[f64]>::to_vec).collect::<Vec<_>>(),
            )
        }),
    ],
};

/// Points and centroids, one after the other.
#[derive(Deserialize)]
#[serde(from = "Rows")]
struct Input {
    /// The dimension.
    d: usize,
    points: Vec<f64>,
    centroids: Vec<f64>,
}

#[derive(Deserialize)]
struct Rows {
    points: Vec<Vec<f64>>,
    centroids: Vec<Vec<f64>>,
}

impl From<Rows> for Input {
    fn from(Rows { points, centroids }: Rows) -> Self {
        Input { d: points[0].len(), points: points.concat(), centroids: centroids.concat() }
    }
}

/// How far points are from the nearest centroid, squared, in all.
#[autodiff(d_cost, Reverse, Const, Const, Duplicated, ActiveOnly)]
fn cost(d: usize, points: &[f64], centroids: &[f64]) -> f64 {
    points.chunks_exact(d).map(|point| squared_distance(point, nearest(point, centroids))).sum()
}

/// The first one, if there are several.
fn nearest<'c>(point: &[f64], centroids: &'c [f64]) -> &'c [f64] {
    let (mut nearest, mut least) = (&centroids[..point.len()], f64::INFINITY);
    for centroid in centroids.chunks_exact(point.len()) {
        let distance = squared_distance(point, centroid);
        if distance < least {
            (nearest, least) = (centroid, distance);
        }
    }
    nearest
}

/// Eight sums side by side, for a compiler keeps the order in which floats are added.
fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += (a - b) * (a - b);
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| (a - b) * (a - b));
    rest.chain(sums).sum()
}

/// The gradient, to which zeros are given.
#[autodiff(d_gradient, Forward, Const, Const, Dual, Dual)]
fn gradient(d: usize, points: &[f64], centroids: &[f64], gradient: &mut [f64]) {
    d_cost(d, points, centroids, gradient);
}

/// The gradient divided by the diagonal of the Hessian, element by element. There is nothing beside the diagonal, so
/// that the product of the Hessian with ones is the diagonal.
fn direction(d: usize, points: &[f64], centroids: &[f64]) -> Vec<f64> {
    let (mut gradient, mut diagonal) = (vec![0.0; centroids.len()], vec![0.0; centroids.len()]);
    d_gradient(d, points, centroids, &vec![1.0; centroids.len()], &mut gradient, &mut diagonal);
    gradient.iter().zip(diagonal).map(|(gradient, curvature)| gradient / curvature).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Newton's method goes to the mean of the points of each cluster in one step.
    #[test]
    fn the_step_leads_to_the_means() {
        let points = [0.0, 0.5, 1.0, 1.5, 10.0, 4.0, 12.0, 5.0, 14.0, 9.0];
        let direction = direction(2, &points, &[1.0, 1.0, 11.0, 5.0]);
        for (found, expected) in direction.iter().zip([1.0 - 0.5, 1.0 - 1.0, 11.0 - 12.0, 5.0 - 6.0]) {
            assert!((found - expected).abs() < 1e-14, "{direction:?}");
        }
    }
}
