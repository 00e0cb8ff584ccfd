//! Results that own memory, `Duplicated` in reverse mode: the cotangent is a value like them, and is added to their
//! shadow when there is one.

#![forbid(unsafe_code)]

use pullback::{Differentiable, autodiff, jvp, vjp};
use pullback_e2e::{assert_all_close, assert_close};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[autodiff(d_both, Reverse, Duplicated, Duplicated)]
#[autodiff(d_two, Reverse(2), x = Duplicated, return = Duplicated)]
fn both(x: &[f64]) -> (f64, Vec<f64>) {
    (x.iter().sum(), x.iter().map(|x| x * x).collect())
}

#[test]
fn a_number_and_a_vector() {
    let mut dx = [100.0, 0.0];
    assert_eq!(d_both(&[2.0, 3.0], &mut dx, (1.0, vec![1.0, 10.0])), (5.0, vec![4.0, 9.0]));
    assert_eq!(dx, [105.0, 61.0]);
    let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
    let seeds = [(1.0, vec![0.0, 0.0]), (0.0, vec![1.0, 1.0])];
    assert_eq!(d_two(&[2.0, 3.0], [&mut a, &mut b], seeds), (5.0, vec![4.0, 9.0]));
    assert_eq!((a, b), ([1.0, 1.0], [4.0, 6.0]));
}

/// A cotangent of another shape is told, when the result is there, and no shadow has changed.
#[test]
fn a_cotangent_of_another_shape() {
    let mut dx = [100.0, 1.0];
    for seed in [(1.0, vec![1.0]), (1.0, vec![]), (1.0, vec![1.0; 3])] {
        let said = catch_unwind(AssertUnwindSafe(|| d_both(&[2.0, 3.0], &mut dx, seed))).err().unwrap();
        assert!(said.downcast::<&str>().unwrap().contains("another shape than the value"));
    }
    assert_eq!(dx, [100.0, 1.0]);
}

#[derive(Differentiable, Clone, PartialEq, Debug)]
enum Fit {
    Line { slope: f64, rest: Box<[f64]> },
    Failed(String, Option<Box<f64>>),
}

type Fits = Result<Vec<Fit>, String>;

fn fits(x: &[f64; 3]) -> Fits {
    if x[0] > 10.0 {
        return Err(format!("{} is too large", x[0]));
    }
    let line = Fit::Line { slope: x[0] * x[1], rest: x.iter().map(|x| x.sin()).collect() };
    Ok(vec![line, Fit::Failed("none".to_owned(), Some(Box::new(x[2] * x[2])))])
}

#[autodiff(d_fits, Reverse, Duplicated, Duplicated)]
fn fits_of(x: &[f64; 3]) -> Fits {
    fits(x)
}

const AT: [f64; 3] = [0.5, 1.5, -2.0];

fn seed() -> Fits {
    let line = Fit::Line { slope: 2.0, rest: Box::new([1.0, 10.0, 100.0]) };
    Ok(vec![line, Fit::Failed(String::new(), Some(Box::new(3.0)))])
}

/// As the pullback of `vjp` has it, and forward mode.
#[test]
fn enums_with_strings_and_boxes_behind_an_alias() {
    let mut dx = [0.0; 3];
    assert_eq!(d_fits(&AT, &mut dx, seed()), fits(&AT));
    let (value, pullback) = vjp(fits, &AT);
    assert_eq!(value, fits(&AT));
    assert_eq!(pullback(seed()), dx);
    for k in 0..3 {
        let mut direction = [0.0; 3];
        direction[k] = 1.0;
        let (_, tangent) = jvp(fits, &AT, &direction);
        let Ok(tangent) = tangent else { unreachable!() };
        let (Fit::Line { slope, rest }, Fit::Failed(_, Some(square))) = (&tangent[0], &tangent[1]) else {
            unreachable!()
        };
        assert_close(2.0 * slope + rest[0] + 10.0 * rest[1] + 100.0 * rest[2] + 3.0 * **square, dx[k], 1e-12);
    }
    let large = [11.0, 1.0, 1.0];
    assert_eq!(d_fits(&large, &mut dx, Err(String::new())), Err("11 is too large".to_owned()));
    let (value, pullback) = vjp(fits, &large);
    assert!(value.is_err());
    assert_eq!(pullback(Err("whatever".to_owned())), [0.0; 3]);
    assert!(catch_unwind(AssertUnwindSafe(|| d_fits(&large, &mut dx, seed()))).is_err());
}

/// In generic functions, of arguments by value, and beside another one that is changed.
#[autodiff(d_moved, Reverse, Active, Duplicated, Duplicated)]
fn moved<T: Differentiable + pullback::MakeZero + pullback::Writable + Copy + std::ops::Mul<Output = T>>(
    x: T,
    y: &mut Vec<T>,
) -> VecDeque<T> {
    let old = std::mem::take(y);
    y.push(x * x);
    old.into_iter().map(|y| x * y).collect()
}

#[test]
fn generic_functions() {
    let (mut y, mut dy) = (vec![3.0, 4.0], vec![0.0, 0.0]);
    let (dx, value) = d_moved(2.0, &mut y, &mut dy, VecDeque::from([1.0, 10.0]));
    assert_eq!((dx, value, y), (43.0, VecDeque::from([6.0, 8.0]), vec![4.0]));
    assert_eq!(dy, [2.0, 20.0]);
    let (mut y, mut dy) = (vec![3.0_f32], vec![0.0]);
    assert_eq!(d_moved(2.0_f32, &mut y, &mut dy, [1.0].into()).0, 3.0);
}

struct Table {
    rows: Vec<Vec<f64>>,
}

impl Table {
    #[autodiff(d_scaled, Reverse, Const, Active, Duplicated)]
    fn scaled(&self, by: f64) -> Vec<Vec<f64>> {
        assert!(by < 10.0, "too large");
        self.rows.iter().map(|row| row.iter().map(|x| x * by * by).collect()).collect()
    }
}

#[test]
fn methods_and_panics() {
    let table = Table { rows: vec![vec![1.0, 2.0], vec![], vec![3.0]] };
    let seed = || vec![vec![1.0, 1.0], vec![], vec![10.0]];
    let (d_by, value) = table.d_scaled(2.0, seed());
    assert_eq!(value, table.scaled(2.0));
    assert_all_close(&[d_by], &[4.0 * 33.0], 1e-12);
    assert!(catch_unwind(AssertUnwindSafe(|| table.d_scaled(20.0, seed()))).is_err());
}
