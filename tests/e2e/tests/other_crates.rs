//! Through crates that were not written with derivatives in mind.

use nalgebra::{DMatrix, DVector, Matrix3, Rotation3, Vector3};
use ndarray::{ArrayView1, ArrayView2};
use statrs::function::{beta::ln_beta, erf::erf, gamma::ln_gamma};

pullback_e2e::differentiated! {
    fn determinant(x) {
        Matrix3::from_row_slice(x).determinant()
    } at [1.0, 0.2, 0.3, 0.4, 2.0, 0.6, 0.7, 0.8, 3.0];

    fn inverse(x) {
        Matrix3::from_row_slice(x).try_inverse().map_or(0.0, |m| m.sum())
    } at [1.0, 0.2, 0.3, 0.4, 2.0, 0.6, 0.7, 0.8, 3.0];

    fn rotation(x) {
        let v = Rotation3::from_euler_angles(x[0], x[1], x[2]) * Vector3::new(1.0, 2.0, 3.0);
        v.x * v.y + v.z
    } at [0.1, 0.2, 0.3];

    fn normalised(x) {
        Vector3::new(x[0], x[1], x[2]).normalize().x
    } at [0.1, 0.2, 0.3];

    fn matrix_vector(x) {
        let m = DMatrix::from_row_slice(2, 2, &x[..4]);
        let v = DVector::from_column_slice(&x[4..]);
        (&m * &v).norm_squared()
    } at [1.0, 0.2, 0.3, 2.0, 0.5, 0.7];

    fn linear_solve(x) {
        let m = DMatrix::from_row_slice(2, 2, &x[..4]);
        let v = DVector::from_column_slice(&x[4..]);
        m.lu().solve(&v).map_or(0.0, |s| s.sum())
    } at [2.0, 0.2, 0.3, 2.0, 0.5, 0.7];

    fn cholesky(x) {
        let m = Matrix3::new(x[0], x[1], 0.0, x[1], x[2], 0.0, 0.0, 0.0, 1.0);
        m.cholesky().map_or(0.0, |c| c.l().trace())
    } at [2.0, 0.3, 3.0];

    fn log_gamma(x) { ln_gamma(x[0]) * x[1] } at [1.7, 2.0], [0.3, 1.0];

    fn error_function(x) { erf(x[0] * x[1]) } at [0.7, 1.1], [2.0, 1.2];

    fn log_beta(x) { ln_beta(x[0], x[1]) } at [1.7, 2.3];

    fn rows(x) {
        let a = ArrayView2::from_shape((2, 2), x).expect("four elements");
        a.rows().into_iter().map(|r| r.sum().powi(2)).sum()
    } at [1.0, 2.0, 3.0, 4.0];

    fn elementwise(x) {
        let a = ArrayView1::from(x);
        (&a * &a).mapv(f64::sin).sum()
    } at [1.0, 2.0, 3.0, 4.0];
}
