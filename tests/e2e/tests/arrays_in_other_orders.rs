//! Arrays of one shape whose elements lie in memory in another order: what a caller or a rule brings is copied by index.

use nalgebra::DMatrix;
use ndarray::{Array1, Array2, Array3, Axis, ShapeBuilder, array, s};
use num_complex::Complex;
use pullback::{autodiff, frule, grad, jvp, make_zero, rrule, vjp};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// What a call panics with.
fn said<R>(call: impl FnOnce() -> R) -> String {
    let said = catch_unwind(AssertUnwindSafe(|| drop(call()))).expect_err("it does not fit");
    said.downcast_ref::<String>().cloned().or_else(|| said.downcast_ref::<&str>().map(|said| said.to_string())).unwrap()
}

/// The same array, in several orders, and among other elements.
fn in_orders<A: Clone + Default + PartialEq>(of: &Array2<A>, other: &A) -> [Array2<A>; 4] {
    let mut columns = Array2::from_elem(of.raw_dim().f(), A::default());
    columns.assign(of);
    let mut reversed = of.clone();
    reversed.invert_axis(Axis(1));
    let mut reversed = reversed.as_standard_layout().into_owned();
    reversed.invert_axis(Axis(1));
    let mut wide = Array2::from_elem((of.nrows() + 1, 2 * of.ncols()), other.clone());
    wide.slice_mut(s![1.., ..;2]).assign(of);
    let part = wide.slice_move(s![1.., ..;2]);
    assert!(columns == *of && reversed == *of && part == *of);
    [of.clone(), columns, reversed, part]
}

#[test]
fn a_cotangent() {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let (y, pull) = vjp(|x: &[f64; 6]| Array2::from_shape_vec((2, 3), x.to_vec()).unwrap().reversed_axes(), &x);
    let mut one = Array2::zeros((3, 2));
    one[[0, 1]] = 1.0;
    assert_eq!(y[[0, 1]], x[3]);
    for cotangent in in_orders(&one, &100.0) {
        assert_eq!(pull(cotangent), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    }
    let message = said(|| pull(Array2::zeros((2, 3))));
    assert!(message.contains("an array of shape [2, 3] in the place of one of shape [3, 2]"), "{message}");
    let message = said(|| pull(Array2::zeros((6, 1))));
    assert!(message.contains("an array of shape [6, 1] in the place of one of shape [3, 2]"), "{message}");
}

/// Of elements that are more than a float, and arrays within values.
#[test]
fn a_cotangent_of_more_than_floats() {
    let f = |x: &[f64; 6]| {
        let z = Array2::from_shape_fn((3, 2).f(), |(i, j)| Complex::new(x[2 * i + j] as f32, 0.0));
        let rows = Array1::from_vec(vec![Some(vec![x[0]]), None, Some(vec![x[1], x[2]])]);
        (vec![(Rc::new(z), 3_u8)], rows.slice_move(s![..;-1]))
    };
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(f(&x).1, array![Some(vec![2.0, 3.0]), None, Some(vec![1.0])]);
    let z = Array2::from_shape_fn((3, 2), |(i, j)| Complex::new((10 * i + j) as f32, 0.5));
    let rows = array![Some(vec![0.25, 0.5]), None, Some(vec![0.75])];
    for z in in_orders(&z, &Complex::new(f32::NAN, f32::NAN)) {
        let gradient = vjp(f, &x).1((vec![(Rc::new(z), 3)], rows.clone()));
        assert_eq!(gradient, [0.75, 1.25, 10.5, 11.0, 20.0, 21.0]);
    }
    let wrong = array![Some(vec![0.25]), None, Some(vec![0.75, 0.5])];
    let message = said(|| vjp(f, &x).1((vec![(Rc::new(z), 3)], wrong)));
    assert!(message.contains("other lengths or variants"), "{message}");
}

#[test]
fn a_cotangent_that_is_a_matrix() {
    let (_, pull) = vjp(|x: &[f64; 6]| DMatrix::from_row_slice(2, 3, x), &[1.0; 6]);
    assert_eq!(pull(DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let message = said(|| pull(DMatrix::zeros(3, 2)));
    assert!(message.contains("an array of shape [3, 2] in the place of one of shape [2, 3]"), "{message}");
}

fn cubes(a: &Array2<f64>) -> f64 {
    a.iter().map(|x| x * x * x).sum()
}

/// As a product with a transposed array leaves it.
#[rrule(for = cubes)]
fn cubes_rrule(a: &Array2<f64>) -> (f64, impl Fn(f64, &mut Array2<f64>)) {
    let b = a.clone();
    (cubes_of(&b), move |dy, da| {
        let mut sum = Array2::zeros(b.raw_dim().f());
        sum.assign(&(&*da + &b.mapv(|x| 3.0 * x * x * dy)));
        *da = sum;
    })
}

fn cubes_of(a: &Array2<f64>) -> f64 {
    a.iter().map(|x| x * x * x).sum()
}

#[test]
fn the_shadow_of_a_rule() {
    let a = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    for a in in_orders(&a, &7.0) {
        let expected = a.mapv(|x| 3.0 * x * x);
        assert_eq!(grad(|a: &Array2<f64>| cubes(a), &a), expected);
        let twice = vjp(|a: &Array2<f64>| cubes(a) + cubes(a), &a).1;
        assert_eq!((twice(1.0), twice(0.5)), (&expected * 2.0, expected));
        // The derivative of the rule.
        let (gradient, tangent) = jvp(|a: &Array2<f64>| grad(|a: &Array2<f64>| cubes(a), a), &a, &a);
        assert_eq!((gradient, tangent), (a.mapv(|x| 3.0 * x * x), a.mapv(|x| 6.0 * x * x)));
    }
}

fn transposed(a: &Array2<f64>) -> (Array2<f64>, Vec<f64>) {
    (a.t().as_standard_layout().into_owned(), vec![a.sum()])
}

#[frule(for = transposed)]
fn transposed_frule(a: &Array2<f64>, da: &Array2<f64>) -> ((Array2<f64>, Vec<f64>), (Array2<f64>, Vec<f64>)) {
    let sums = if a[[0, 0]] > 0.0 { vec![da.sum()] } else { vec![] };
    ((a.t().as_standard_layout().into_owned(), vec![a.sum()]), (da.clone().reversed_axes(), sums))
}

#[test]
fn the_tangent_of_a_rule() {
    let a = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let mut direction = make_zero(&a);
    direction[[0, 1]] = 1.0;
    let ((y, _), (dy, sums)) = jvp(|a: &Array2<f64>| transposed(a), &a, &direction);
    assert_eq!((y, dy.strides()), (a.t().to_owned(), &[2, 1][..]));
    assert_eq!((dy, sums), (direction.t().to_owned(), vec![1.0]));
    let message = said(|| jvp(|a: &Array2<f64>| transposed(a), &-a, &direction));
    assert!(message.contains("rule `transposed_frule` returns does not fit its value"), "{message}");
    assert!(message.contains("`return.1` has length 1, its tangent has length 0"), "{message}");
    assert!(!message.contains("make_zero"), "{message}");
}

#[autodiff(d_sum, Reverse, Duplicated, Active)]
#[autodiff(f_sum, Forward, Dual, Dual)]
fn sum(a: &mut Array2<f64>) -> f64 {
    a.push_row(a.row(0).to_owned().view()).unwrap();
    a.iter().map(|x| x * x).sum()
}

/// The stride of an axis of length 1 leads nowhere.
#[test]
fn an_axis_of_length_1() {
    let mut a = Array2::from_shape_vec((1, 3), vec![1.0, 2.0, 3.0]).unwrap();
    a.reserve_rows(1).unwrap();
    let other = || {
        let mut of = Vec::with_capacity(99);
        of.extend([0.0; 3]);
        Array2::from_shape_vec((3, 1), of).unwrap().reversed_axes()
    };
    let mut shadow = other();
    assert_ne!(a.strides(), shadow.strides());
    assert_eq!(d_sum(&mut a.clone(), &mut shadow), 28.0);
    assert_eq!(shadow, array![[4.0, 8.0, 12.0]]);
    let message = said(|| f_sum(&mut a, &mut other()));
    assert!(message.contains("the stride of an axis of length 1 counts, too"), "{message}");
}

/// What an array has for elements is not walked through where there is nothing to be found.
#[test]
fn of_what_carries_no_derivative() {
    let (y, pull) = vjp(
        |x: &f64| {
            let mut none = Array3::from_elem((2, 3, 4), ());
            none.invert_axis(Axis(1));
            (none, Array2::from_shape_fn((2, 2).f(), |(i, j)| (i + 2 * j) as u8), *x * *x)
        },
        &3.0,
    );
    assert_eq!(y.2, 9.0);
    assert_eq!(pull((Array3::from_elem((2, 3, 4), ()), array![[0, 2], [1, 3]], 1.0)), 6.0);
}
