//! Products of matrices in `ndarray` and `nalgebra`, which call `matrixmultiply` for them: its kernels are vector
//! instructions, chosen when the program runs, and only the rules know their derivatives.

use nalgebra::DMatrix;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, s};
use pullback::autodiff;
use pullback_e2e::{assert_close, differentiated};

/// A matrix over some numbers.
fn matrix(x: &[f64], rows: usize, columns: usize) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((rows, columns), &x[..rows * columns]).unwrap()
}

/// Some numbers.
fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7919 + 13) % 101) as f64 / 50.0 - 1.0).collect()
}

/// Weighs each element differently.
fn weigh(c: &Array2<f64>) -> f64 {
    c.indexed_iter().map(|((i, j), c)| (1.0 + i as f64 - 0.5 * j as f64) * c * c).sum()
}

differentiated! {
    fn both_factors(x) {
        weigh(&matrix(x, 3, 4).dot(&matrix(&x[12..], 4, 2)))
    } at numbers(20);

    fn transposed_and_cut(x) {
        let (a, b) = (matrix(x, 4, 5), matrix(&x[20..], 4, 3));
        weigh(&a.t().slice(s![1.., ..]).dot(&b.slice(s![.., ..;-1])))
    } at numbers(32);

    fn a_power(x) {
        let a = matrix(x, 3, 3);
        weigh(&a.dot(&a).dot(&a))
    } at numbers(9);

    fn one_factor_is_constant(x) {
        let constant = Array2::from_shape_vec((4, 4), numbers(16)).unwrap();
        weigh(&constant.dot(&matrix(x, 4, 2))) + weigh(&matrix(x, 2, 4).dot(&constant))
    } at numbers(8);

    fn a_row_for_all_rows(x) {
        let row = matrix(x, 1, 4);
        weigh(&row.broadcast((3, 4)).unwrap().dot(&matrix(&x[4..], 4, 2)))
    } at numbers(12);

    fn alpha_and_beta(x) {
        let (a, b) = (matrix(&x[2..], 2, 3), matrix(&x[8..], 3, 2));
        let mut c = matrix(&x[14..], 2, 2).to_owned();
        general_mat_mul(x[0], &a, &b, x[1], &mut c);
        general_mat_mul(0.5, &b, &a.slice(s![.., ..2]), 0.0, &mut Array2::zeros((3, 2)));
        weigh(&c)
    } at numbers(18);

    fn in_a_loop(x) {
        let weights = matrix(x, 3, 3);
        let mut state = matrix(&x[9..], 3, 2).to_owned();
        for _ in 0..4 {
            state = weights.dot(&state);
            state.mapv_inplace(f64::tanh);
        }
        weigh(&state)
    } at numbers(15);

    fn in_nalgebra(x) {
        let a = DMatrix::from_column_slice(6, 7, &x[..42]);
        let b = DMatrix::from_column_slice(7, 6, &x[42..84]);
        let c = &a * &b;
        (0..6).map(|i| c[(i, 5 - i)] * c[(i, i)]).sum()
    } at numbers(84);
}

#[autodiff(d_single, Reverse, Duplicated, Active)]
#[autodiff(f_single, Forward, Dual, Dual)]
fn single(x: &[f32]) -> f32 {
    let a = ArrayView2::from_shape((2, 3), &x[..6]).unwrap();
    let b = ArrayView2::from_shape((3, 2), &x[6..]).unwrap();
    a.dot(&b).iter().map(|c| c * c).sum()
}

#[test]
fn single_precision() {
    let x: Vec<f32> = numbers(12).iter().map(|x| *x as f32).collect();
    let mut gradient = vec![0.0; 12];
    assert_eq!(d_single(&x, &mut gradient), single(&x));
    for i in 0..12 {
        let mut tangent = vec![0.0; 12];
        tangent[i] = 1.0;
        let mut moved = x.clone();
        moved[i] += 1e-2;
        let above = single(&moved);
        moved[i] -= 2e-2;
        // The function is of second order in each number, so the difference has no error but rounding.
        assert_close(f64::from(gradient[i]), f64::from((above - single(&moved)) / 2e-2), 1e-3);
        assert_close(f64::from(gradient[i]), f64::from(f_single(&x, &tangent).1), 1e-5);
    }
}
