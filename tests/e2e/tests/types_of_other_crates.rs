//! Types of other crates as arguments, shadows and results: each is what its floats are.

use glam::{Affine2, DAffine3, DMat3, DQuat, DVec2, DVec3, Mat2, Mat3, Mat4, Quat, Vec2, Vec3, Vec4};
use nalgebra::{
    DMatrix, DVector, Isometry3, Matrix2, Matrix3, Point3, Rotation3, SMatrix, Translation3, UnitQuaternion, Vector2,
    Vector3,
};
use ndarray::{Array0, Array1, Array2, Array3, Axis, s};
use num_complex::Complex;
use pullback::{MakeZero, autodiff, grad, hvp, jvp, make_zero, non_differentiable, value_and_grad, vjp};
use pullback_e2e::{assert_all_close, assert_close};

/// The gradient of `f` at `x` by central differences; `floats` says where the floats are.
fn differences<T: Clone>(f: impl Fn(&T) -> f64, x: &T, floats: impl Fn(&mut T) -> &mut [f64]) -> Vec<f64> {
    (0..floats(&mut x.clone()).len())
        .map(|i| {
            let at = |offset: f64| {
                let mut moved = x.clone();
                floats(&mut moved)[i] += offset;
                f(&moved)
            };
            (at(1e-6) - at(-1e-6)) / 2e-6
        })
        .collect()
}

/// A gradient in reverse mode, and the same by forward mode, are what differences say.
fn check<T: Clone + MakeZero>(f: impl Fn(&T) -> f64, x: &T, floats: impl Fn(&mut T) -> &mut [f64])
where
    T: pullback::ToZero<Zero = T>,
{
    let (value, mut gradient) = value_and_grad(&f, x);
    assert_eq!(value.to_bits(), f(x).to_bits());
    let gradient = floats(&mut gradient).to_vec();
    assert_all_close(&gradient, &differences(&f, x, &floats), 1e-6);
    for (i, derivative) in gradient.iter().enumerate() {
        let mut tangent = make_zero(x);
        floats(&mut tangent)[i] = 1.0;
        assert_close(jvp(&f, x, &tangent).1, *derivative, 1e-11);
    }
}

mod of_nalgebra {
    use super::*;

    #[test]
    fn of_a_size_that_the_type_says() {
        let m = Matrix3::new(2.0, 0.5, -1.0, 0.25, 3.0, 1.5, -0.75, 1.0, 2.5);
        check(|m: &Matrix3<f64>| m.determinant(), &m, |m| m.as_mut_slice());
        assert_all_close(
            grad(|m: &Matrix3<f64>| m.determinant(), &m).as_slice(),
            (m.try_inverse().unwrap().transpose() * m.determinant()).as_slice(),
            1e-13,
        );
        let rows = SMatrix::<f64, 2, 3>::new(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
        check(|m: &SMatrix<f64, 2, 3>| (m * m.transpose()).determinant(), &rows, |m| m.as_mut_slice());
        check(
            |v: &Vector3<f64>| v.normalize().cross(&Vector3::x()).norm(),
            &Vector3::new(1.0, 2.0, 3.0),
            |v| v.as_mut_slice(),
        );
    }

    #[test]
    fn of_a_size_that_is_known_at_run_time() {
        let m = DMatrix::from_fn(4, 3, |i, j| (i as f64 - 1.5) * 0.5 + (j * j) as f64 * 0.25 + 1.0);
        check(|m: &DMatrix<f64>| (m.transpose() * m).map(f64::sin).sum(), &m, |m| m.as_mut_slice());
        let v = DVector::from_vec(vec![0.5, -1.0, 2.0]);
        check(|v: &DVector<f64>| v.dot(v).sqrt() + v[1] * v[2], &v, |v| v.as_mut_slice());
        let product = |v: &DVector<f64>| v.iter().product::<f64>();
        assert_eq!(hvp(product, &v, &DVector::from_vec(vec![1.0, 0.0, 0.0])), DVector::from_vec(vec![0.0, 2.0, -1.0]));
    }

    #[autodiff(d_form, Reverse, Duplicated, Duplicated, Active)]
    fn form(a: &DMatrix<f64>, x: &DVector<f64>) -> f64 {
        (x.transpose() * a * x)[0]
    }

    #[test]
    fn as_arguments_with_shadows() {
        let (a, x) = (Matrix2::new(1.0, 2.0, 3.0, 4.0), Vector2::new(0.5, -2.0));
        let (da, dx) = (x * x.transpose(), (a + a.transpose()) * x);
        let (a, x) = (DMatrix::from_column_slice(2, 2, a.as_slice()), DVector::from_column_slice(x.as_slice()));
        let (mut d_a, mut d_x) = (make_zero(&a), make_zero(&x));
        assert_eq!(d_form(&a, &mut d_a, &x, &mut d_x), form(&a, &x));
        assert_eq!((d_a.as_slice(), d_x.as_slice()), (da.as_slice(), dx.as_slice()));
    }

    #[autodiff(d_advanced, Reverse, Duplicated, Duplicated)]
    #[autodiff(f_advanced, Forward, Dual, Dual)]
    fn advanced(state: &mut DVector<f64>, by: &Matrix2<f64>) {
        for _ in 0..3 {
            *state = DVector::from_iterator(2, (by * Vector2::new(state[0], state[1])).iter().map(|x| x.sin()));
        }
    }

    #[test]
    fn that_a_function_replaces() {
        let (start, by) = (DVector::from_vec(vec![0.25, -0.5]), Matrix2::new(1.0, 0.5, -0.25, 1.5));
        let last = |by: &Matrix2<f64>| {
            let mut state = start.clone();
            advanced(&mut state, by);
            state[1]
        };
        let (mut state, mut d_state, mut d_by) = (start.clone(), DVector::from_vec(vec![0.0, 1.0]), Matrix2::zeros());
        d_advanced(&mut state, &mut d_state, &by, &mut d_by);
        assert_eq!(state[1], last(&by));
        assert_all_close(d_by.as_slice(), &differences(last, &by, |m| m.as_mut_slice()), 1e-8);
        for i in 0..4 {
            let (mut state, mut tangent, mut direction) = (start.clone(), make_zero(&start), Matrix2::zeros());
            direction[i] = 1.0;
            f_advanced(&mut state, &mut tangent, &by, &direction);
            assert_close(tangent[1], d_by[i], 1e-12);
        }
    }

    #[test]
    fn as_results() {
        let m = DMatrix::from_column_slice(2, 2, &[1.0, 2.0, 3.0, 4.0]);
        let direction = DMatrix::from_column_slice(2, 2, &[0.0, 1.0, 0.0, 0.0]);
        let (square, tangent) = jvp(|m: &DMatrix<f64>| m * m, &m, &direction);
        assert_eq!((square, tangent), (&m * &m, &direction * &m + &m * &direction));
        let m = Matrix2::new(1.0, 3.0, 2.0, 4.0);
        let (_, pullback) = vjp(|m: &Matrix2<f64>| m * m, &m);
        let d = Matrix2::new(0.0, 0.0, 1.0, 0.0);
        assert_eq!(pullback(d), d * m.transpose() + m.transpose() * d);
    }

    #[test]
    fn of_another_shape_are_told() {
        let (a, x) = (DMatrix::<f64>::zeros(2, 3), DVector::<f64>::zeros(3));
        let (mut d_a, mut d_x) = (DMatrix::zeros(3, 2), make_zero(&x));
        let said = std::panic::catch_unwind(move || d_form(&a, &mut d_a, &x, &mut d_x)).unwrap_err();
        let said = said.downcast_ref::<String>().unwrap();
        assert!(said.contains("`a.nrows()` is 2, its shadow is 3"), "{said}");
    }

    #[non_differentiable]
    fn numbers(count: usize) -> Vec<usize> {
        (0..count).collect()
    }

    /// Dimensions are believed, so there is no tangent with dimensions and no elements.
    #[test]
    fn without_a_tangent_are_told() {
        let made = |x: &f64| (x * x, DVector::from_vec(numbers(3)));
        let said = std::panic::catch_unwind(|| jvp(made, &3.0, &1.0).1.1[2]).unwrap_err();
        let said = said.downcast_ref::<&str>().copied().or(said.downcast_ref::<String>().map(String::as_str)).unwrap();
        assert!(said.contains("copy its elements to a matrix of your own"), "{said}");
        let copied = |x: &f64| {
            let numbers = numbers(3);
            (x * x, DVector::from_fn(3, |i, _| numbers[i]))
        };
        let same = DVector::from_vec(vec![0, 1, 2]);
        assert_eq!(jvp(copied, &3.0, &1.0), ((9.0, same.clone()), (6.0, same)));
    }

    #[test]
    fn of_geometry() {
        let point = Point3::new(1.0, 2.0, -0.5);
        check(|p: &Point3<f64>| nalgebra::distance(p, &Point3::origin()), &point, |p| p.coords.as_mut_slice());
        let rotation = UnitQuaternion::from_euler_angles(0.1, 0.2, 0.3);
        let isometry = Isometry3::from_parts(Translation3::new(1.0, 2.0, 3.0), rotation);
        let moved = grad(|i: &Isometry3<f64>| (i * point).coords.norm_squared(), &isometry);
        assert_all_close(moved.translation.vector.as_slice(), ((isometry * point).coords * 2.0).as_slice(), 1e-13);
        let by_rotation = |q: &UnitQuaternion<f64>| (q * point).coords.dot(&Vector3::new(1.0, -1.0, 0.5));
        let gradient = grad(by_rotation, &rotation).into_inner();
        let turned = grad(by_rotation, &isometry.rotation).into_inner();
        assert_eq!(gradient, turned);
        assert!(gradient.norm() > 0.1);
        let matrix = Rotation3::from_euler_angles(0.1, 0.2, 0.3);
        let gradient = grad(|r: &Rotation3<f64>| (r * point).x * 2.0, &matrix);
        assert_eq!(
            gradient.matrix(),
            &Matrix3::from_rows(&[
                (point.coords * 2.0).transpose(),
                Vector3::zeros().transpose(),
                Vector3::zeros().transpose(),
            ])
        );
    }
}

mod complex_numbers {
    use super::*;

    fn parts(z: &mut Complex<f64>) -> &mut [f64] {
        // SAFETY: the type is `repr(C)`, two floats.
        unsafe { std::slice::from_raw_parts_mut((&raw mut *z).cast(), 2) }
    }

    #[test]
    fn have_derivatives_by_both_parts() {
        let z = Complex::new(1.5, -0.75);
        check(|z: &Complex<f64>| (z * z + z.conj()).norm_sqr(), &z, parts);
        check(|z: &Complex<f64>| (z.exp() / (z + 2.0)).re, &z, parts);
        check(|z: &Complex<f64>| z.norm() + z.arg(), &z, parts);
        assert_eq!(grad(|z: &Complex<f64>| (z * z).re, &z), Complex::new(3.0, 1.5));
    }

    #[test]
    fn in_vectors() {
        let polynomial = |z: &[Complex<f64>]| z.iter().rev().fold(Complex::ZERO, |sum, c| sum * 2.0 + c).norm_sqr();
        let coefficients = [Complex::new(1.0, 2.0), Complex::new(-0.5, 0.0), Complex::new(0.25, 1.0)];
        let value = coefficients[0] + coefficients[1] * 2.0 + coefficients[2] * 4.0;
        assert_eq!(grad(polynomial, &coefficients[..]), [value * 2.0, value * 4.0, value * 8.0]);
        let (product, tangent) = jvp(|z: &Complex<f64>| z * z, &coefficients[0], &Complex::I);
        assert_eq!((product, tangent), (coefficients[0] * coefficients[0], coefficients[0] * Complex::new(0.0, 2.0)));
    }
}

mod of_glam {
    use super::*;

    #[test]
    fn in_double_precision() {
        let (v, w) = (DVec3::new(1.0, 2.0, 3.0), DVec3::new(-0.5, 0.25, 1.0));
        check(|v: &DVec3| v.cross(w).length() + v.normalize().dot(w), &v, |v| v.as_mut());
        check(|v: &DVec2| v.perp_dot(DVec2::new(2.0, 3.0)) * v.x, &DVec2::new(0.5, 1.5), |v| v.as_mut());
        let m = DMat3::from_cols(v, w, v.cross(w));
        check(|m: &DMat3| m.determinant() + (*m * w).x, &m, |m| m.as_mut());
        let q = DQuat::from_rotation_y(0.5);
        assert_all_close(
            &grad(|q: &DQuat| (*q * v).dot(w), &q).to_array(),
            &differences(|q| (DQuat::from_array(*q) * v).dot(w), &q.to_array(), |q| q),
            1e-8,
        );
        let gradient = grad(|a: &DAffine3| a.transform_point3(v).dot(w), &DAffine3::from_mat3_translation(m, v));
        assert_eq!((gradient.translation, gradient.matrix3.x_axis), (w, w * v.x));
    }

    #[test]
    fn in_single_precision() {
        let v = Vec3::new(1.0, 2.0, 3.0);
        assert_eq!(grad(|v: &Vec3| v.dot(*v), &v), v * 2.0);
        assert_eq!(
            grad(|v: &[Vec2]| v.iter().map(|v| v.x * v.y).sum::<f32>(), &[Vec2::new(2.0, 3.0)][..]),
            [Vec2::new(3.0, 2.0)]
        );
    }

    /// What is a register of the processor's is read and written as an array here: products and sums of registers are
    /// instructions that have no derivative yet.
    #[test]
    fn that_are_registers() {
        let v = Vec4::new(1.0, 2.0, 3.0, 4.0);
        assert_eq!(grad(|v: &Vec4| v.to_array().iter().map(|x| x * x).sum::<f32>(), &v), v * 2.0);
        assert_eq!(
            grad(|q: &Quat| q.to_array()[1] * q.to_array()[3], &Quat::from_vec4(v)).to_array(),
            [0.0, 4.0, 0.0, 2.0]
        );
        let (made, tangent) = jvp(|x: &f32| Vec4::from_array([*x, x * x, 1.0, 0.0]), &3.0, &1.0);
        assert_eq!((made, tangent), (Vec4::new(3.0, 9.0, 1.0, 0.0), Vec4::new(1.0, 6.0, 0.0, 0.0)));
        assert_eq!(
            grad(|m: &Mat4| m.to_cols_array()[4] * m.to_cols_array()[11], &Mat4::from_cols(v, v, v, v)),
            Mat4::from_cols(Vec4::ZERO, Vec4::X * 4.0, Vec4::W, Vec4::ZERO)
        );
        assert_eq!(
            grad(|m: &Mat2| m.to_cols_array().iter().sum::<f32>(), &Mat2::IDENTITY),
            Mat2::from_cols_array(&[1.0; 4])
        );
        assert_eq!(grad(|m: &Mat3| m.determinant(), &Mat3::IDENTITY), Mat3::IDENTITY);
        let gradient =
            grad(|a: &Affine2| a.translation.x * a.translation.y, &Affine2::from_translation(Vec2::new(2.0, 5.0)));
        assert_eq!((gradient.translation, gradient.matrix2), (Vec2::new(5.0, 2.0), Mat2::ZERO));
    }

    #[autodiff(d_energy, Reverse, Duplicated, Active)]
    fn energy(points: &[DVec3]) -> f64 {
        points.windows(2).map(|pair| 1.0 / pair[0].distance(pair[1])).sum()
    }

    #[test]
    fn in_slices() {
        let points = [DVec3::ZERO, DVec3::X * 2.0, DVec3::new(2.0, 4.0, 0.0)];
        let mut gradient = make_zero(&points[..]);
        assert_eq!(d_energy(&points, &mut gradient), 0.75);
        assert_eq!(gradient, [DVec3::X * 0.25, DVec3::new(-0.25, 1.0 / 16.0, 0.0), DVec3::Y / -16.0]);
    }
}
mod of_ndarray {
    use super::*;

    fn array() -> Array2<f64> {
        Array2::from_shape_fn((3, 4), |(i, j)| 0.5 + i as f64 * 0.25 + (j * j) as f64 * 0.125)
    }

    #[test]
    fn by_reference() {
        check(|m: &Array2<f64>| (&m.t().dot(m) + 1.0).mapv(f64::ln).sum(), &array(), |m| m.as_slice_mut().unwrap());
        check(|m: &Array2<f64>| m.clone().product() + m.sum_axis(Axis(0))[1], &array(), |m| m.as_slice_mut().unwrap());
        let v = Array1::from_vec(vec![0.5, -1.0, 2.0]);
        check(|v: &Array1<f64>| v.dot(v).sqrt() + v[1] * v[2], &v, |v| v.as_slice_mut().unwrap());
        let product = |v: &Array1<f64>| v.iter().product::<f64>();
        assert_eq!(hvp(product, &v, &Array1::from_vec(vec![1.0, 0.0, 0.0])), Array1::from_vec(vec![0.0, 2.0, -1.0]));
        assert_eq!(grad(|x: &Array0<f64>| x[()].powi(3), &Array0::from_elem((), 2.0))[()], 12.0);
    }

    /// The shadow of a part of an array is such a part, in the same order.
    #[test]
    fn that_are_parts_of_others() {
        let part = array().slice_move(s![1.., ..;-2]);
        assert!(!part.is_standard_layout());
        let gradient = grad(|m: &Array2<f64>| m.mapv(|x| x * x).sum() + m[[1, 0]], &part);
        let mut expected = &part * 2.0;
        expected[[1, 0]] += 1.0;
        assert_eq!(gradient, expected);
        assert_eq!(gradient.strides(), part.strides());
        let cubes = grad(|a: &Array3<f32>| a.map(|x| x * x * x).sum(), &Array3::from_elem((2, 1, 2), 2.0));
        assert_eq!(cubes, Array3::from_elem((2, 1, 2), 12.0));
    }

    #[autodiff(d_form, Reverse, Duplicated, Duplicated, Active)]
    fn form(a: &Array2<f64>, x: &Array1<f64>) -> f64 {
        x.dot(&a.dot(x))
    }

    #[test]
    fn as_arguments_with_shadows() {
        let (a, x) = (array().slice_move(s![.., ..3]), Array1::from_vec(vec![0.5, -2.0, 1.5]));
        let outer = |x: &Array1<f64>, y: &Array1<f64>| &x.view().insert_axis(Axis(1)) * &y.view().insert_axis(Axis(0));
        let (mut d_a, mut d_x) = (make_zero(&a), make_zero(&x));
        assert_eq!(d_form(&a, &mut d_a, &x, &mut d_x), form(&a, &x));
        assert_eq!((d_a, d_x), (outer(&x, &x), a.dot(&x) + a.t().dot(&x)));
    }

    #[test]
    fn of_another_shape_are_told() {
        let told = |a: Array2<f64>, mut d_a: Array2<f64>| {
            let x = Array1::zeros(2);
            let call = std::panic::AssertUnwindSafe(|| d_form(&a, &mut d_a, &x, &mut make_zero(&x)));
            std::panic::catch_unwind(call).unwrap_err().downcast_ref::<String>().unwrap().clone()
        };
        let said = told(Array2::zeros((2, 3)), Array2::zeros((3, 2)));
        assert!(said.contains("`a` has shape [2, 3], its shadow has shape [3, 2]"), "{said}");
        let said = told(Array2::zeros((2, 3)), Array2::zeros((3, 2)).reversed_axes());
        assert!(said.contains("`a` has strides [3, 1], its shadow has strides [1, 2]"), "{said}");
        let said = told(Array2::zeros((2, 3)), Array2::zeros((2, 6)).slice_move(s![.., 3..]).into_owned());
        assert!(said.contains("`a` has strides [3, 1]"), "{said}");
        let said = told(Array2::zeros((2, 3)), Array2::zeros((3, 3)).slice_move(s![1.., ..]));
        assert!(said.contains("`a` begins at byte 0, its shadow begins at byte 24"), "{said}");
    }

    #[autodiff(d_advanced, Reverse, Duplicated, Duplicated)]
    #[autodiff(f_advanced, Forward, Dual, Dual)]
    fn advanced(state: &mut Array1<f64>, by: &Array2<f64>) {
        for _ in 0..3 {
            *state = by.dot(state).mapv(f64::sin);
        }
        state[0] *= 2.0;
    }

    #[test]
    fn that_a_function_replaces() {
        let start = Array1::from_vec(vec![0.25, -0.5]);
        let by = Array2::from_shape_vec((2, 2), vec![1.0, 0.5, -0.25, 1.5]).unwrap();
        let sum = |by: &Array2<f64>| {
            let mut state = start.clone();
            advanced(&mut state, by);
            state.sum()
        };
        let (mut state, mut d_state, mut d_by) = (start.clone(), Array1::ones(2), make_zero(&by));
        d_advanced(&mut state, &mut d_state, &by, &mut d_by);
        assert_eq!(state.sum(), sum(&by));
        let differences = differences(sum, &by, |m| m.as_slice_mut().unwrap());
        assert_all_close(d_by.as_slice().unwrap(), &differences, 1e-8);
        for i in 0..4 {
            let (mut state, mut tangent, mut direction) = (start.clone(), make_zero(&start), make_zero(&by));
            direction.as_slice_mut().unwrap()[i] = 1.0;
            f_advanced(&mut state, &mut tangent, &by, &direction);
            assert_close(tangent.sum(), d_by.as_slice().unwrap()[i], 1e-12);
        }
    }

    #[autodiff(d_grown, Reverse, Duplicated, Active)]
    fn grown(rows: &mut Array2<f64>, x: f64) {
        rows.push_row((Array1::ones(2) * x * x).view()).unwrap();
        std::mem::swap(rows, &mut (&*rows * x));
        assert!(x < 10.0, "too far");
    }

    /// After a panic the shadow has the rows that it had.
    #[test]
    fn that_grow() {
        let with_room = || {
            let mut rows = Array2::zeros((0, 2));
            rows.reserve_rows(4).unwrap();
            rows.push_row(ndarray::aview1(&[1.0, 2.0])).unwrap();
            rows
        };
        let (mut rows, mut d_rows) = (with_room(), make_zero(&with_room()));
        d_rows.fill(1.0);
        let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| d_grown(&mut rows, &mut d_rows, 11.0)));
        assert!(said.unwrap_err().downcast_ref::<&str>().unwrap().contains("too far"));
        assert_eq!(d_rows, ndarray::arr2(&[[1.0, 1.0]]));
    }

    #[test]
    fn as_results() {
        let m = Array2::from_shape_vec((2, 2), vec![1.0, 2.0, 3.0, 4.0]).unwrap();
        let direction = Array2::from_shape_vec((2, 2), vec![0.0, 1.0, 0.0, 0.0]).unwrap();
        let (square, tangent) = jvp(|m: &Array2<f64>| m.dot(m), &m, &direction);
        assert_eq!((square, tangent), (m.dot(&m), direction.dot(&m) + m.dot(&direction)));
        let (value, pullback) = vjp(|m: &Array2<f64>| m * m, &m);
        assert_eq!(value, &m * &m);
        assert_eq!(pullback(direction.clone()), 2.0 * &m * &direction);
    }

    #[derive(pullback::Differentiable, Clone)]
    struct Layer {
        weights: Array2<f64>,
        bias: Array1<f64>,
        name: String,
    }

    fn output(layers: &Vec<Layer>) -> f64 {
        let input = Array1::from_vec(vec![0.5, -1.0]);
        layers.iter().fold(input, |x, layer| (layer.weights.dot(&x) + &layer.bias).mapv(f64::tanh)).sum()
    }

    #[test]
    fn in_structures() {
        let layer = |name: &str, by: f64| Layer {
            weights: Array2::from_shape_fn((2, 2), |(i, j)| by * (i as f64 - 0.5 * j as f64)),
            bias: Array1::from_vec(vec![by, 0.25]),
            name: name.to_owned(),
        };
        let layers = vec![layer("first", 0.5), layer("last", -0.75)];
        let gradient = grad(output, &layers);
        assert_eq!(gradient[1].name, "last");
        for (number, of_layer) in gradient.iter().enumerate() {
            let weights = differences(output, &layers, |l| l[number].weights.as_slice_mut().unwrap());
            assert_all_close(of_layer.weights.as_slice().unwrap(), &weights, 1e-8);
            let bias = differences(output, &layers, |l| l[number].bias.as_slice_mut().unwrap());
            assert_all_close(of_layer.bias.as_slice().unwrap(), &bias, 1e-8);
        }
    }

    #[autodiff(d_consumed, Reverse, Duplicated, Active)]
    #[autodiff(f_consumed, Forward, Dual, Dual)]
    fn consumed(mut m: Array1<f64>) -> f64 {
        m *= 2.0;
        let doubled = m.into_raw_vec_and_offset().0;
        doubled.iter().map(|x| x * x).sum()
    }

    #[test]
    fn by_value() {
        let v = Array1::from_vec(vec![1.0, 3.0]);
        let (value, tangent) = f_consumed(v.clone(), Array1::from_vec(vec![0.0, 1.0]));
        assert_eq!((value, tangent), (40.0, 24.0));
        let mut d_v = make_zero(&v);
        assert_eq!(d_consumed(v, &mut d_v), 40.0);
        assert_eq!(d_v, Array1::from_vec(vec![8.0, 24.0]));
    }
}
