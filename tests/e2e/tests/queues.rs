//! `VecDeque`s in arguments and results: their elements correspond to those of a shadow by where they lie.

#![forbid(unsafe_code)]

use pullback::{autodiff, grad, jvp, make_zero, value_and_grad, vjp};
use pullback_e2e::{assert_all_close, finite_differences};
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A queue that begins in the middle of its memory, and goes round the end of that.
fn round<T: Clone>(values: &[T]) -> VecDeque<T> {
    let mut queue = VecDeque::with_capacity(values.len() + 1);
    for value in values {
        queue.push_back(value.clone());
    }
    for _ in 0..values.len() - 1 {
        let first = queue.pop_front().unwrap();
        queue.push_back(first);
    }
    queue.rotate_left(1);
    queue
}

#[autodiff(d_read, Reverse, Duplicated, Active)]
#[autodiff(t_read, Forward, Dual, Dual)]
fn read(x: &VecDeque<f64>) -> f64 {
    x.iter().enumerate().map(|(k, x)| x.powi(k as i32 + 1)).sum::<f64>() * x[1] + *x.back().unwrap()
}

const AT: [f64; 4] = [0.5, 1.25, -0.75, 2.0];

fn of_slice(x: &[f64]) -> f64 {
    read(&x.iter().copied().collect())
}

#[test]
fn a_queue_that_is_read() {
    let expected = finite_differences(of_slice, &AT);
    for x in [VecDeque::from(AT), round(&AT), AT.into_iter().collect()] {
        let (value, gradient) = value_and_grad(read, &x);
        assert_eq!(value, of_slice(&AT));
        assert_all_close(&Vec::from(gradient), &expected, 1e-8);
        let mut dx = make_zero(&x);
        dx[2] = 10.0;
        assert_eq!(d_read(&x, &mut dx), value);
        assert_all_close(&[dx[2] - 10.0, dx[3]], &expected[2..], 1e-8);
        let mut dx = make_zero(&x);
        dx[3] = 1.0;
        let (also, tangent) = t_read(&x, &dx);
        assert_eq!(also, value);
        assert_all_close(&[tangent], &expected[3..], 1e-8);
        assert_all_close(&[jvp(read, &x, &dx).1], &expected[3..], 1e-8);
    }
}

/// As in a sliding window.
#[autodiff(d_slide, Reverse, Duplicated, Const, Active)]
#[autodiff(t_slide, Forward, Dual, Const, Dual)]
fn slide(x: &mut VecDeque<f64>, times: usize) -> f64 {
    let mut sum = 0.0;
    for _ in 0..times {
        let first = x.pop_front().unwrap();
        let last = *x.back().unwrap();
        x.push_back(first * last);
        x.push_front(last.sin());
        sum += x.iter().sum::<f64>();
    }
    sum
}

#[test]
fn a_queue_that_slides_and_grows() {
    for times in [1, 3, 9] {
        let f = |x: &[f64]| slide(&mut x.iter().copied().collect(), times);
        let expected = finite_differences(f, &AT);
        for x in [VecDeque::from(AT), round(&AT)] {
            let mut at = x.clone();
            let mut dx = make_zero(&at);
            let value = d_slide(&mut at, &mut dx, times);
            assert_eq!(value, f(&AT));
            assert_all_close(&Vec::from(dx), &expected, 1e-7);
            for k in 0..4 {
                let mut at = x.clone();
                let mut dx = make_zero(&at);
                dx[k] = 1.0;
                let (_, tangent) = t_slide(&mut at, &mut dx, times);
                assert_all_close(&[tangent], &[expected[k]], 1e-7);
                assert_eq!(dx.len(), at.len());
                dx.push_front(1.0);
            }
        }
    }
}

#[track_caller]
fn refused<T>(what: &str, call: impl FnOnce() -> T) {
    let said = catch_unwind(AssertUnwindSafe(call)).err().expect("it is not refused");
    let said = said.downcast::<String>().unwrap();
    assert!(said.contains(what), "{said}");
}

#[test]
fn a_shadow_begins_where_its_primal_does() {
    let x = round(&AT);
    refused("`x` begins at place", || d_read(&x, &mut VecDeque::from([0.0; 4])));
    refused("`x` has length 4, its shadow has length 3", || t_read(&x, &VecDeque::from([0.0; 3])));
    let mut other = make_zero(&x);
    other.reserve_exact(20);
    refused("`x`", || d_read(&x, &mut other));
    // Room behind a shared reference is no matter.
    let mut wide = VecDeque::with_capacity(100);
    wide.extend([0.0; 4]);
    assert_eq!(d_read(&VecDeque::from(AT), &mut wide), of_slice(&AT));
    let mut x = VecDeque::with_capacity(8);
    x.extend(AT);
    refused("`x` has capacity 8", || d_slide(&mut x, &mut VecDeque::from([0.0; 4]), 1));
    refused("`x` has capacity 8", || t_slide(&mut x, &mut wide, 1));
    assert_eq!(x, AT);
}

/// Vectors and strings in it are values of their own.
#[autodiff(t_texts, Forward, Dual, Dual)]
#[autodiff(d_texts, Reverse, Duplicated, Active)]
fn texts(x: &mut VecDeque<(String, Vec<f64>)>) -> f64 {
    let (text, mut values) = x.pop_front().unwrap();
    values.push(values[0] * values[0]);
    x.push_back((text + "!", values));
    x.iter().map(|(_, values)| values.iter().sum::<f64>()).product()
}

#[test]
fn vectors_and_strings_in_a_queue() {
    let make = |first: f64| {
        let mut queue = round(&[("a".to_owned(), vec![first]), ("b".to_owned(), vec![5.0, 1.0])]);
        queue.iter_mut().for_each(|(_, values)| values.reserve_exact(4));
        queue
    };
    let (mut x, mut dx) = (make(3.0), make_zero(&make(3.0)));
    dx[0].1[0] = 1.0;
    assert_eq!(t_texts(&mut x, &mut dx), (72.0, 42.0));
    assert_eq!((x[1].0.as_str(), dx[1].0.as_str(), &dx[1].1[..]), ("a!", "a!", &[1.0, 6.0][..]));
    let mut dx = make_zero(&make(3.0));
    assert_eq!(d_texts(&mut make(3.0), &mut dx), 72.0);
    assert_eq!((dx[0].1[0], &dx[1].1[..]), (42.0, &[12.0, 12.0][..]));
}

#[autodiff(d_panics, Reverse, Duplicated, Active)]
#[autodiff(t_panics, Forward, Dual, Dual)]
fn panics(x: &mut VecDeque<Box<f64>>) -> f64 {
    let first = x.pop_front().unwrap();
    x.push_back(Box::new(*first * 2.0));
    x.make_contiguous().swap(0, 1);
    assert!(*x[0] < 100.0, "too large");
    *x[0]
}

#[test]
fn a_queue_is_as_it_was_after_a_panic() {
    let x = || round(&[Box::new(1.0), Box::new(2.0), Box::new(1000.0)]);
    let (mut at, mut dx) = (x(), make_zero(&x()));
    *dx[1] = 7.0;
    assert!(catch_unwind(AssertUnwindSafe(|| d_panics(&mut at, &mut dx))).is_err());
    assert_eq!(dx, [0.0, 7.0, 0.0].map(Box::new));
    let (mut at, mut dx) = (x(), make_zero(&x()));
    assert!(catch_unwind(AssertUnwindSafe(|| t_panics(&mut at, &mut dx))).is_err());
    assert_eq!(dx.len(), at.len());
}

fn powers(x: &[f64; 2]) -> VecDeque<f64> {
    let mut queue = VecDeque::with_capacity(3);
    queue.extend([1.0, x[0], x[0] * x[1]]);
    queue.pop_front();
    queue.push_back(x[1].powi(3));
    queue
}

/// A cotangent may lie in another way.
#[test]
fn a_queue_as_the_result() {
    let (value, tangent) = jvp(powers, &[2.0, 3.0], &[1.0, 10.0]);
    assert_eq!((value, tangent), (VecDeque::from([2.0, 6.0, 27.0]), VecDeque::from([1.0, 23.0, 270.0])));
    let (value, pullback) = vjp(powers, &[2.0, 3.0]);
    assert!(!value.as_slices().1.is_empty());
    assert_eq!(pullback(VecDeque::from([1.0, 10.0, 100.0])), [31.0, 2720.0]);
    assert_eq!(pullback(round(&[1.0, 10.0, 100.0])), [31.0, 2720.0]);
}

#[autodiff(d_cells, Reverse, Duplicated, Duplicated, Active)]
fn cells(x: &VecDeque<Cell<f64>>, y: &Cell<f64>) -> f64 {
    y.set(y.get() * 3.0);
    x.iter().map(|x| x.get() * x.get()).sum()
}

#[test]
fn cells_in_a_queue_have_names() {
    let (x, mut dx) = (round(&AT.map(Cell::new)), round(&[0.0; 4].map(Cell::new)));
    let mut dy = Cell::new(0.0);
    refused("share memory", || d_cells(&x, &mut dx, &x[3], &mut dy));
    assert_eq!(d_cells(&x, &mut dx, &Cell::new(1.0), &mut dy), AT.iter().map(|x| x * x).sum::<f64>());
    let gradient: Vec<f64> = dx.iter().map(Cell::get).collect();
    assert_eq!(gradient, AT.map(|x| 2.0 * x));
    assert_eq!(
        grad(|x: &VecDeque<[f32; 2]>| x[0][1] * x[1][0], &VecDeque::from([[1.0, 2.0], [3.0, 4.0]])),
        [[0.0, 3.0], [2.0, 0.0]]
    );
}
