//! `det`: a determinant by expansion in minors.

use crate::protocol::{Eval, evaluate_plain};
use pullback::autodiff;
use serde::Deserialize;

pub const EVAL: Eval = Eval {
    name: "det",
    functions: &[
        ("primal", |input| evaluate_plain(input, |input: &Input| primal(&input.a, input.ell))),
        ("gradient", |input| evaluate_plain(input, |input: &Input| gradient(&input.a, input.ell))),
    ],
};

#[derive(Deserialize)]
struct Input {
    /// Row by row.
    #[serde(rename = "A")]
    a: Vec<f64>,
    ell: usize,
}

#[autodiff(d_primal, Reverse, Duplicated, Const, ActiveOnly)]
fn primal(a: &[f64], ell: usize) -> f64 {
    let mut columns: Vec<usize> = (0..ell).collect();
    minor(a, ell, &mut columns)
}

/// The determinant of the last rows in some columns, as many as there are rows. The columns are in the same order
/// afterwards.
fn minor(rows: &[f64], ell: usize, columns: &mut [usize]) -> f64 {
    let (row, below) = rows.split_at(ell);
    let mut determinant = 0.0;
    for j in 0..columns.len() {
        // The one that is left out comes first, and the others keep their order.
        columns.swap(0, j);
        let entry = row[columns[0]];
        let cofactor = match &mut columns[1..] {
            [] => 1.0,
            [column] => below[*column],
            others => minor(below, ell, others),
        };
        let term = entry * cofactor;
        determinant += if j.is_multiple_of(2) { term } else { -term };
    }
    columns.rotate_left(1);
    determinant
}

fn gradient(a: &[f64], ell: usize) -> Vec<f64> {
    let mut gradient = vec![0.0; a.len()];
    d_primal(a, &mut gradient, ell);
    gradient
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By Cramer's rule the gradient is the matrix of cofactors: `A · gradientᵀ = det A · 1`.
    #[test]
    fn the_gradient_is_the_matrix_of_cofactors() {
        let ell = 6;
        let a: Vec<f64> = (0..ell * ell).map(|i| ((7 * i * i + 3 * i) % 37) as f64 / 37.0).collect();
        let (determinant, gradient) = (primal(&a, ell), gradient(&a, ell));
        assert!(determinant.abs() > 1e-6);
        for (i, row) in a.chunks_exact(ell).enumerate() {
            for (j, cofactors) in gradient.chunks_exact(ell).enumerate() {
                let product: f64 = row.iter().zip(cofactors).map(|(a, c)| a * c).sum();
                let expected = if i == j { determinant } else { 0.0 };
                assert!((product - expected).abs() < 1e-13, "row {i}, cofactors of row {j}: {product}, not {expected}");
            }
        }
    }
}
