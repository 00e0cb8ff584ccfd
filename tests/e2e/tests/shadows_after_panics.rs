//! After a panic every shadow is as it was, floats and pointers, wherever the panic came from.

use pullback::{Differentiable, autodiff, grad, non_differentiable, rrule};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

fn panics<R>(f: impl FnOnce() -> R) {
    std::panic::set_hook(Box::new(|_| {}));
    assert!(catch_unwind(AssertUnwindSafe(f)).is_err(), "it should have panicked");
}

#[autodiff(d_push, Reverse, Duplicated, Active)]
fn push(v: &mut Vec<f64>, x: f64) {
    v.push(x * x);
    assert!(x < 0.0);
}

#[test]
fn a_vector_that_has_grown() {
    let (mut v, mut d) = (vec![1.0, 2.0], vec![10.0, 20.0]);
    panics(|| d_push(&mut v, &mut d, 2.0));
    assert_eq!((v, d), (vec![1.0, 2.0, 4.0], vec![10.0, 20.0]));
}

#[derive(Differentiable, Clone, Debug, PartialEq)]
enum Either {
    Floats(f64, f64),
    Number(usize),
}

/// The last row is found by arithmetic in bytes, which says little of where in a row it leads to.
#[autodiff(d_fill, Reverse, Duplicated, Const, Active)]
fn fill(rows: &mut Vec<Vec<Either>>, by: usize) -> f64 {
    let row = rows[0].clone();
    rows.fill(row);
    rows[0].clear();
    let product = |e: &Either| if let Either::Floats(a, b) = e { a * b } else { 0.0 };
    product(&rows[by][1])
}

#[test]
fn lengths_beside_pointers() {
    let rows = |of: f64| {
        let mut rows = vec![vec![Either::Floats(of, 2.0 * of), Either::Floats(3.0 * of, of)], vec![Either::Number(7)]];
        rows[0].reserve_exact(3);
        rows[1].reserve_exact(9);
        rows[1].clear();
        rows
    };
    let shape = |rows: &[Vec<Either>]| rows.iter().map(|r| (r.as_ptr(), r.len(), r.capacity())).collect::<Vec<_>>();
    let (mut v, mut d) = (rows(1.0), rows(0.5));
    let before = shape(&d);
    panics(|| d_fill(&mut v, &mut d, 0));
    assert_eq!((shape(&d), &d), (before, &rows(0.5)));
    let (mut v, mut d) = (rows(1.0), rows(0.0));
    assert_eq!(d_fill(&mut v, &mut d, 1), 3.0);
    assert_eq!(d[0], [Either::Floats(0.0, 0.0), Either::Floats(1.0, 3.0)]);
}

#[derive(Differentiable, Clone, Debug, PartialEq)]
struct Counted {
    count: usize,
    values: Vec<f64>,
}

#[autodiff(d_counted, Reverse, Duplicated, Const, Active)]
fn counted(all: &mut Vec<Counted>, by: usize) -> f64 {
    let first = all[0].clone();
    all.fill(first);
    all.rotate_left(by % 2);
    all[by].values[0] * all[0].values[0]
}

#[test]
fn numbers_beside_pointers() {
    let all = |of: f64| {
        let one = |count, values| Counted { count, values };
        vec![one(1, vec![of]), one(2, vec![of; 2]), one(3, vec![of; 5])]
    };
    let (mut v, mut d) = (all(2.0), all(0.5));
    panics(|| d_counted(&mut v, &mut d, 3));
    assert_eq!(d, all(0.5));
    let (mut v, mut d) = (all(2.0), all(0.0));
    assert_eq!(d_counted(&mut v, &mut d, 1), 4.0);
    assert_eq!((d[0].values[0], d[2].count), (4.0, 3));
}

type Shared = Rc<Box<(Vec<Cell<f64>>, Cell<f64>, Cell<usize>)>>;

thread_local! {
    static OTHER: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// Writes by an owner of its own.
#[non_differentiable]
fn count() {
    OTHER.with_borrow(|other| other.iter().for_each(|shared| shared.2.set(shared.2.get() + 1)));
}

#[autodiff(d_exchanged, Reverse, Duplicated, Duplicated, Active)]
fn exchanged(all: &mut Vec<Shared>, v: &mut Vec<Vec<f64>>, x: f64) {
    v.swap(0, 1);
    all.swap(0, 1);
    v[0][0] *= x;
    count();
    assert!(x < 5.0);
    all[0].1.set(all[1].1.get() * x);
}

#[test]
fn what_other_owners_write_stays() {
    let all = |of: f64| -> Vec<Shared> {
        let one = |of: f64| Rc::new(Box::new((vec![Cell::new(of)], Cell::new(of), Cell::new(0))));
        vec![one(of), one(2.0 * of)]
    };
    for (x, panic) in [(3.0, false), (7.0, true)] {
        let (mut a, mut da) = (all(1.0), all(0.5));
        let (mut v, mut dv) = (vec![vec![1.0], vec![2.0]], vec![vec![3.0], vec![4.0]]);
        OTHER.set(Some(da[0].clone()));
        if panic {
            panics(|| d_exchanged(&mut a, &mut da, &mut v, &mut dv, x));
            assert_eq!((da[0].1.get(), &dv), (0.5, &vec![vec![3.0], vec![4.0]]));
        } else {
            d_exchanged(&mut a, &mut da, &mut v, &mut dv, x);
        }
        assert_eq!(OTHER.take().map(|other| other.2.get()), Some(1), "an owner of its own has written that");
    }
}

#[autodiff(d_swap, Reverse, Duplicated, Duplicated, Active)]
fn swap(a: &mut Vec<f64>, b: &mut Vec<f64>, x: f64) {
    std::mem::swap(a, b);
    a[0] = x;
    assert!(x < 0.0);
}

#[test]
fn vectors_that_have_changed_places() {
    let (mut a, mut b) = (vec![1.0], vec![2.0, 3.0, 4.0]);
    let (mut da, mut db) = (vec![10.0], vec![20.0, 30.0, 40.0]);
    panics(|| d_swap(&mut a, &mut da, &mut b, &mut db, 5.0));
    assert_eq!((a, b), (vec![5.0, 3.0, 4.0], vec![1.0]));
    assert_eq!((da, db), (vec![10.0], vec![20.0, 30.0, 40.0]));
}

#[autodiff(d_reborrow, Reverse, Duplicated, Duplicated, Active)]
fn reborrow<'a>(p: &mut &'a mut [f64], q: &mut &'a mut [f64], x: f64) {
    std::mem::swap(p, q);
    p[0] *= x;
    assert!(x < 0.0);
}

#[test]
fn references_that_have_changed_places() {
    let (mut a, mut b) = ([1.0, 2.0], [3.0, 4.0, 5.0]);
    let (mut da, mut db) = ([10.0, 20.0], [30.0, 40.0, 50.0]);
    {
        let (mut p, mut q) = (&mut a[..], &mut b[..]);
        let (mut dp, mut dq) = (&mut da[..], &mut db[..]);
        panics(|| d_reborrow(&mut p, &mut dp, &mut q, &mut dq, 5.0));
        assert_eq!((p.len(), q.len(), dp.len(), dq.len()), (3, 2, 2, 3));
        dp[0] += 1.0;
        dq[2] += 1.0;
    }
    assert_eq!((da, db), ([11.0, 20.0], [30.0, 40.0, 51.0]));
}

#[autodiff(d_boxes, Reverse, Duplicated, Const, Active)]
fn boxes(list: &mut [Option<Box<f64>>], k: usize) -> f64 {
    list[0] = None;
    list.swap(1, k);
    **list[1].as_mut().unwrap() *= 3.0;
    list.iter().flatten().map(|x| **x * **x).sum::<f64>() / list[k + 1].as_deref().copied().unwrap()
}

#[test]
fn boxes_in_options() {
    let list = || [Some(Box::new(1.0)), Some(Box::new(2.0)), Some(Box::new(3.0))];
    let (mut primal, mut shadow) = (list(), list());
    panics(|| d_boxes(&mut primal, &mut shadow, 2));
    assert_eq!(shadow, list());
    assert_eq!(primal, [None, Some(Box::new(9.0)), Some(Box::new(2.0))]);
}

fn fussy(x: &[f64]) -> f64 {
    x.iter().sum()
}

/// A pullback that panics.
#[rrule(for = fussy)]
fn fussy_rrule(x: &[f64]) -> (f64, impl FnOnce(f64, &mut [f64])) {
    (x.iter().sum(), move |dy: f64, dx: &mut [f64]| {
        dx.iter_mut().for_each(|dx| *dx += dy);
        assert!(dy < 100.0, "too much");
    })
}

#[autodiff(d_fussed, Reverse, Duplicated, Duplicated, Active, Active)]
fn fussed(v: &mut Vec<f64>, x: &[f64], k: f64) -> f64 {
    let s = fussy(x) * k;
    v.push(s);
    s + v[0] * fussy(&v[..1])
}

/// In the reverse sweep some shadows have their gradient already.
#[test]
fn a_pullback_that_panics() {
    let (mut v, mut dv) = (vec![3.0], vec![7.0]);
    let mut dx = [1.0, 2.0];
    panics(|| d_fussed(&mut v, &mut dv, &[4.0, 5.0], &mut dx, 1000.0));
    assert_eq!((v, dv, dx), (vec![3.0, 9000.0], vec![7.0], [1.0, 2.0]));
}

/// Says no when it is dropped.
struct Last(f64);

impl Drop for Last {
    fn drop(&mut self) {
        assert!(self.0 < 100.0 || std::thread::panicking(), "too late");
    }
}

fn squared(x: f64) -> f64 {
    x * x
}

#[rrule(for = squared)]
fn squared_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    let last = Last(x);
    (x * x, move |dy| 2.0 * { &last }.0 * dy)
}

#[autodiff(d_last, Reverse, Duplicated, Duplicated, Active)]
fn with_last(v: &mut [f64], x: &[f64]) -> f64 {
    v[0] = squared(x[0]);
    v[0]
}

/// Both sweeps are through then.
#[test]
fn a_capture_that_panics_when_the_tape_is_dropped() {
    let (mut v, mut dv, mut dx) = ([1.0], [2.0], [3.0]);
    panics(|| d_last(&mut v, &mut dv, &[200.0], &mut dx));
    assert_eq!((v, dv, dx), ([40000.0], [2.0], [3.0]));
    d_last(&mut v, &mut dv, &[20.0], &mut dx);
    assert_eq!((v, dv, dx), ([400.0], [0.0], [123.0]));
}

/// A derivative in a function that is differentiated: what it has for a shadow is dropped on the way.
#[test]
fn second_order() {
    let f = |x: &[f64]| {
        let (mut v, mut d) = (vec![x[0], x[1]], vec![0.0, 0.0]);
        d_push(&mut v, &mut d, x[0]);
        d.iter().sum::<f64>()
    };
    panics(|| grad(f, &[2.0, 3.0][..]));
}

/// Derivatives that do not panic are none the worse.
#[test]
fn nothing_has_changed_where_nothing_panics() {
    let (mut v, mut d) = (vec![1.0, 2.0], vec![10.0, 20.0]);
    let dx = d_push(&mut v, &mut d, -2.0);
    assert_eq!((v, d, dx), (vec![1.0, 2.0, 4.0], vec![10.0, 20.0], 0.0));
}
