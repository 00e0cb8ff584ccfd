//! Arguments by value that own memory: nobody sees what a function leaves there, so their shadows hold sums, to which
//! the gradient is added.

use pullback::{Differentiable, autodiff, hvp, jvp};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

#[autodiff(d_scaled, Reverse, Duplicated, Active)]
#[autodiff(t_scaled, Forward, Dual, Dual)]
fn scaled(mut a: Vec<f64>) -> f64 {
    a[0] *= 3.0;
    a[1] = a[0] * a[1];
    a[0] + a[1]
}

#[test]
fn a_vector_that_is_changed() {
    let mut d = vec![100.0, 10.0, 1.0];
    assert_eq!(d_scaled(vec![1.0, 2.0, 5.0], &mut d), 9.0);
    assert_eq!(d, [109.0, 13.0, 1.0]);
    assert_eq!(t_scaled(vec![1.0, 2.0, 5.0], vec![1.0, 1.0, 1.0]), (9.0, 12.0));
}

#[autodiff(d_single, Reverse, Duplicated, Active)]
fn single(mut a: Box<[f32; 3]>) -> f32 {
    a.swap(0, 2);
    a[0] *= a[1];
    a[0]
}

#[test]
fn single_precision_in_a_box() {
    let mut d = Box::new([1.0, 2.0, 3.0]);
    assert_eq!(d_single(Box::new([5.0, 6.0, 7.0]), &mut d), 42.0);
    assert_eq!(*d, [1.0, 9.0, 9.0]);
}

#[autodiff(d_grown, Reverse, Duplicated, Active, Active)]
fn grown(mut a: Vec<f64>, x: f64) -> f64 {
    for i in 0..3 {
        a.push(a[i] * x);
        a[i] *= 2.0;
    }
    a.iter().sum()
}

#[test]
fn a_vector_that_grows() {
    let mut d = vec![7.0, 8.0];
    // [2, 4, 2 · 3, 2 · 3, 18]: a[2] = a[0] · x is used for the last one and doubled.
    let (d_x, value) = d_grown(vec![1.0, 2.0], &mut d, 3.0);
    let f = |a: f64, b: f64, x: f64| 2.0 * a + 2.0 * b + 2.0 * a * x + b * x + a * x * x;
    assert_eq!(value, f(1.0, 2.0, 3.0));
    assert_eq!((d, d_x), (vec![7.0 + 2.0 + 6.0 + 9.0, 8.0 + 2.0 + 3.0], 2.0 + 2.0 + 6.0));
}

#[derive(Differentiable)]
struct Mixed<'a> {
    own: Vec<f64>,
    lent: &'a mut [f64],
}

#[autodiff(d_mixed, Reverse, Duplicated, Active)]
fn mixed(m: Mixed<'_>) -> f64 {
    let Mixed { mut own, lent } = m;
    own[0] *= 3.0;
    lent[0] *= own[0];
    own[0]
}

/// What is lent is seen afterwards, and has a cotangent.
#[test]
fn owned_beside_lent() {
    let (mut lent, mut d_lent) = ([2.0], [10.0]);
    let mut d = Mixed { own: vec![1000.0], lent: &mut d_lent };
    assert_eq!(d_mixed(Mixed { own: vec![5.0], lent: &mut lent }, &mut d), 15.0);
    assert_eq!(d.own, [1000.0 + 3.0 + 10.0 * 2.0 * 3.0]);
    assert_eq!((lent, d_lent), ([30.0], [150.0]));
}

#[autodiff(d_moved, Reverse, Duplicated, Duplicated)]
fn moved(to: &mut Vec<f64>, mut from: Vec<f64>) {
    from[0] *= 3.0;
    *to = from;
}

#[test]
fn memory_that_is_changed_and_moved_into_an_argument() {
    let (mut to, mut d_to) = (vec![0.0; 2], vec![1.0, 10.0]);
    let mut d_from = vec![100.0, 1000.0];
    d_moved(&mut to, &mut d_to, vec![1.0, 2.0], &mut d_from);
    assert_eq!((to, d_to, d_from), (vec![3.0, 2.0], vec![0.0, 0.0], vec![103.0, 1010.0]));
}

#[autodiff(d_shared, Reverse, Duplicated)]
fn shared(cell: Rc<Cell<f64>>) {
    cell.set(cell.get() * 3.0);
}

/// Other owners see what is in the cell afterwards.
#[test]
fn shared_values_have_cotangents() {
    let (cell, mut d) = (Rc::new(Cell::new(2.0)), Rc::new(Cell::new(10.0)));
    d_shared(cell.clone(), &mut d);
    assert_eq!((cell.get(), d.get()), (6.0, 30.0));
}

#[autodiff(d_array, Reverse, Duplicated, Active)]
fn array(mut a: [f64; 100]) -> f64 {
    for i in 1..100 {
        a[i] += 0.5 * a[i - 1];
    }
    a[99]
}

#[test]
fn floats_in_the_value_itself() {
    let mut d = [1.0; 100];
    assert_eq!(d_array([1.0; 100], &mut d), 2.0);
    assert_eq!(d[97..], [1.25, 1.5, 2.0]);
}

#[autodiff(d_panicking, Reverse, Duplicated, Active, Active)]
fn panicking(mut a: Vec<f64>, x: f64) -> f64 {
    a[0] *= x;
    a.push(x);
    assert!(x < 1.0, "too large");
    a[0]
}

#[test]
fn a_panic_leaves_sums_as_they_were() {
    let mut d = vec![5.0, 6.0];
    assert!(catch_unwind(AssertUnwindSafe(|| d_panicking(vec![1.0, 2.0], &mut d, 2.0))).is_err());
    assert_eq!(d, [5.0, 6.0]);
    assert_eq!(d_panicking(vec![1.0, 2.0], &mut d, 0.5), (1.0, 0.5));
    assert_eq!(d, [5.5, 6.0]);
}

#[autodiff(d_batched, Reverse(2), Duplicated, Active)]
fn batched(mut a: Vec<f64>) -> f64 {
    a[0] *= a[1];
    a[0]
}

#[test]
fn several_cotangents() {
    let mut d = [vec![1.0, 2.0], vec![10.0, 20.0]];
    let [first, second] = &mut d;
    d_batched(vec![3.0, 4.0], [first, second], [1.0, 2.0]);
    assert_eq!(d, [vec![5.0, 5.0], vec![18.0, 26.0]]);
}

fn gradient(x: &[f64]) -> f64 {
    let mut d = vec![0.0; x.len()];
    d_scaled(x.to_vec(), &mut d);
    d.iter().sum()
}

#[test]
fn differentiated_again() {
    // 3 a + 3 a b, so the gradient's sum is 3 + 3 b + 3 a.
    assert_eq!(jvp(gradient, &[1.0, 2.0][..], &[1.0, 0.0][..]), (12.0, 3.0));
    assert_eq!(hvp(|x: &[f64]| scaled(x.to_vec()), &[1.0, 2.0][..], &[1.0, 0.0][..]), [0.0, 3.0]);
}

/// Panics when it is cloned, if it is told to.
struct Bomb(bool);

impl Clone for Bomb {
    fn clone(&self) -> Self {
        assert!(!self.0, "it cannot be cloned");
        Bomb(self.0)
    }
}

#[derive(Differentiable)]
struct Armed {
    owned: Rc<Cell<f64>>,
    #[pullback(skip)]
    bomb: Bomb,
}

#[autodiff(d_beside, Reverse, Active, Active, Active)]
#[autodiff(d_beside_twice, Reverse(2), Active, Active, Active)]
fn beside(a: Rc<Cell<f64>>, b: Armed) -> f64 {
    a.get() * b.owned.get() + if b.bomb.0 { 1.0 } else { 0.0 }
}

#[autodiff(d_named_twice, Reverse, Active, Duplicated, Active)]
fn named_twice(a: Rc<Cell<f64>>, b: &Rc<Cell<f64>>) -> f64 {
    a.get() * b.get()
}

#[autodiff(d_of_rest, Reverse, Active, Const, Active)]
fn of_rest(a: Rc<Cell<f64>>, b: Rc<Cell<f64>>) -> f64 {
    a.get() * b.get()
}

/// A derivative that refuses its arguments drops those that were moved in, also if no zero of one can be made.
#[test]
fn a_refusal_drops_what_was_moved_in() {
    let (v, w) = (Rc::new(Cell::new(2.0)), Rc::new(Cell::new(3.0)));
    let panics = |call: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    let armed = |is_armed| Armed { owned: w.clone(), bomb: Bomb(is_armed) };
    panics(&|| drop(d_beside(v.clone(), armed(true))));
    assert_eq!([Rc::strong_count(&v), Rc::strong_count(&w)], [1; 2]);
    panics(&|| drop(d_beside_twice(v.clone(), armed(true), [1.0, 1.0])));
    assert_eq!([Rc::strong_count(&v), Rc::strong_count(&w)], [1; 2]);
    let (da, db, value) = d_beside(v.clone(), armed(false));
    assert_eq!((da.get(), db.owned.get(), value), (3.0, 2.0, 6.0));
    assert_eq!([Rc::strong_count(&v), Rc::strong_count(&w)], [1; 2]);

    let c = Rc::new(Cell::new(2.0));
    panics(&|| drop(d_named_twice(c.clone(), &c, &mut Rc::new(Cell::new(0.0)))));
    assert_eq!(Rc::strong_count(&c), 1);
    panics(&|| drop(d_of_rest(c.clone(), c.clone())));
    assert_eq!(Rc::strong_count(&c), 1);
}
