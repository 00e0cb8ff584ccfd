//! `RefCell`s in arguments: what is borrowed, changed and replaced in them has its derivative, by whatever way it is
//! reached, and a shadow is as it was if nothing comes of that.

#![forbid(unsafe_code)]

use pullback::{Differentiable, autodiff, grad, jvp, make_zero, non_differentiable, rrule, value_and_grad, vjp};
use pullback_e2e::{assert_all_close, assert_close, finite_differences};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// What a call says that panics.
#[track_caller]
fn said<T>(call: impl FnOnce() -> T) -> String {
    let Err(said) = catch_unwind(AssertUnwindSafe(call)) else { panic!("it has not panicked") };
    match said.downcast::<String>() {
        Ok(said) => *said,
        Err(said) => (*said.downcast::<&str>().unwrap()).to_owned(),
    }
}

#[autodiff(d_number, Reverse, Duplicated, Active)]
#[autodiff(t_number, Forward, Dual, Dual)]
fn number(x: &RefCell<f64>) -> f64 {
    let y = *x.borrow() * 3.0;
    *x.borrow_mut() *= y;
    let square = x.replace(y);
    x.borrow().sin() + square
}

#[test]
fn a_number() {
    // sin 3x + 3x²
    let slope = 3.0 * 6.0_f64.cos() + 12.0;
    let (x, mut dx) = (RefCell::new(2.0), RefCell::new(0.0));
    assert_eq!(d_number(&x, &mut dx), 6.0_f64.sin() + 12.0);
    assert_eq!(x.into_inner(), 6.0);
    assert_close(dx.into_inner(), slope, 1e-14);
    // The cotangent of what is in the cell afterwards, 3x.
    let mut dx = RefCell::new(10.0);
    d_number(&RefCell::new(2.0), &mut dx);
    assert_close(dx.into_inner(), slope + 30.0, 1e-14);
    let (x, dx) = (RefCell::new(2.0), RefCell::new(1.0));
    let (value, tangent) = t_number(&x, &dx);
    assert_eq!(value, 6.0_f64.sin() + 12.0);
    assert_close(tangent, slope, 1e-14);
    assert_eq!((x.into_inner(), *dx.borrow_mut()), (6.0, 3.0));
    assert_close(grad(number, &RefCell::new(2.0)).into_inner(), slope, 1e-14);
}

/// It grows, and changes in place.
#[autodiff(d_vector, Reverse, Duplicated, Active)]
#[autodiff(t_vector, Forward, Dual, Dual)]
fn vector(x: &mut RefCell<Vec<f64>>) -> f64 {
    let sum: f64 = x.borrow().iter().map(|x| x * x).sum();
    x.borrow_mut()[0] *= 3.0;
    x.borrow_mut().push(sum);
    let by = x.borrow()[1];
    x.borrow_mut().iter_mut().for_each(|x| *x = x.sin() * by);
    x.borrow().iter().sum::<f64>() * x.borrow()[0]
}

const AT: [f64; 3] = [0.5, 1.25, -0.75];

fn of_slice(x: &[f64]) -> f64 {
    vector(&mut RefCell::new(x.to_vec()))
}

#[test]
fn a_vector_that_grows() {
    let (mut x, mut dx) = (RefCell::new(AT.to_vec()), RefCell::new(vec![0.0; 3]));
    assert_eq!(d_vector(&mut x, &mut dx), of_slice(&AT));
    assert_eq!(x.borrow().len(), 4);
    let gradient = dx.into_inner();
    assert_all_close(&gradient, &finite_differences(of_slice, &AT), 1e-8);
    for k in 0..3 {
        let mut x = RefCell::new(AT.to_vec());
        let mut dx = make_zero(&x);
        dx.borrow_mut()[k] = 1.0;
        let (value, tangent) = t_vector(&mut x, &mut dx);
        assert_eq!(value, of_slice(&AT));
        assert_all_close(&[tangent], &[gradient[k]], 1e-12);
        assert_eq!(dx.borrow().len(), x.borrow().len());
        dx.borrow_mut().push(1.0);
    }
}

/// What is never asked for is given back, and a gradient has the shape of before.
#[test]
fn a_pullback_that_is_not_called() {
    let exchanged = |x: &(RefCell<Vec<f64>>, RefCell<Vec<f64>>)| {
        x.0.swap(&x.1);
        let y = x.0.borrow()[0] * 3.0;
        y
    };
    let x = || (RefCell::new(vec![1.0, 2.0]), RefCell::new(vec![5.0]));
    drop(vjp(exchanged, &x()));
    let at = x();
    let (value, pullback) = vjp(exchanged, &at);
    let gradient = pullback(2.0);
    assert_eq!((value, gradient.0.into_inner(), gradient.1.into_inner()), (15.0, vec![0.0, 0.0], vec![6.0]));
    assert!(said(|| pullback(2.0)).contains("cannot be called again"));
}

#[autodiff(d_exchange, Reverse, Duplicated, Duplicated)]
#[autodiff(t_exchange, Forward, Dual, Dual)]
fn exchange(a: &RefCell<Vec<f64>>, b: &RefCell<Vec<f64>>) {
    a.borrow_mut().iter_mut().for_each(|x| *x *= 10.0);
    a.swap(b);
}

/// A cotangent belongs to what is in the cell when the function has returned.
#[test]
fn cells_that_exchange_what_they_hold() {
    let cell = |x: [f64; 2]| RefCell::new(x.to_vec());
    let (a, b, mut da, mut db) = (cell([1.0, 2.0]), cell([3.0, 4.0]), cell([5.0, 6.0]), cell([7.0, 8.0]));
    d_exchange(&a, &mut da, &b, &mut db);
    assert_eq!((a.into_inner(), b.into_inner()), (vec![3.0, 4.0], vec![10.0, 20.0]));
    assert_eq!((da.into_inner(), db.into_inner()), (vec![70.0, 80.0], vec![5.0, 6.0]));
    let (a, b, da, db) = (cell([1.0, 2.0]), cell([3.0, 4.0]), cell([5.0, 6.0]), cell([7.0, 8.0]));
    t_exchange(&a, &da, &b, &db);
    assert_eq!((da.into_inner(), db.into_inner()), (vec![7.0, 8.0], vec![50.0, 60.0]));
}

#[derive(Differentiable)]
struct Node {
    weight: f64,
    inputs: Vec<Rc<RefCell<Node>>>,
}

fn node(weight: f64, inputs: &[&Rc<RefCell<Node>>]) -> Rc<RefCell<Node>> {
    let inputs = inputs.iter().map(|input| Rc::clone(input)).collect();
    Rc::new(RefCell::new(Node { weight, inputs }))
}

/// A node that two others have, and each visit changes.
fn graph(weights: &[f64]) -> Rc<RefCell<Node>> {
    let shared = node(weights[2], &[]);
    node(weights[0], &[&node(weights[1], &[&shared]), &shared])
}

fn weights(node: &Rc<RefCell<Node>>) -> Vec<f64> {
    let root = node.borrow();
    let shared = root.inputs[1].borrow().weight;
    let weights = vec![root.weight, root.inputs[0].borrow().weight, shared];
    weights
}

#[autodiff(d_visit, Reverse, Duplicated, Active)]
#[autodiff(t_visit, Forward, Dual, Dual)]
fn visit(node: &Rc<RefCell<Node>>) -> f64 {
    node.borrow_mut().weight *= 2.0;
    let node = node.borrow();
    node.weight.sin() + node.inputs.iter().map(|input| visit(input) * node.weight).sum::<f64>()
}

#[test]
fn a_graph_with_several_owners() {
    let f = |weights: &[f64]| visit(&graph(weights));
    let (x, mut dx) = (graph(&AT), make_zero(&graph(&AT)));
    assert_eq!(d_visit(&x, &mut dx), f(&AT));
    let gradient = weights(&dx);
    assert_all_close(&gradient, &finite_differences(f, &AT), 1e-8);
    assert_all_close(&weights(&grad(visit, &graph(&AT))), &gradient, 1e-12);
    let (x, dx) = (graph(&AT), make_zero(&graph(&AT)));
    dx.borrow().inputs[1].borrow_mut().weight = 1.0;
    let (value, tangent) = t_visit(&x, &dx);
    assert_eq!(value, f(&AT));
    assert_all_close(&[tangent], &[gradient[2]], 1e-12);
    assert_all_close(&[jvp(visit, &graph(&AT), &dx_of(2)).1], &[gradient[2]], 1e-12);
}

fn dx_of(index: usize) -> Rc<RefCell<Node>> {
    let mut weights = [0.0; 3];
    weights[index] = 1.0;
    graph(&weights)
}

/// New nodes come to be in the argument.
#[autodiff(d_grow, Reverse, Duplicated, Active)]
fn grow(root: Rc<RefCell<Node>>) -> f64 {
    let weight = root.borrow().weight;
    let new = node(weight * weight, &[]);
    root.borrow_mut().inputs.push(new);
    let sum = root.borrow().inputs.iter().map(|input| input.borrow().weight).sum();
    sum
}

#[test]
fn nodes_that_are_made() {
    let mut dx = make_zero(&graph(&AT));
    d_grow(graph(&AT), &mut dx);
    assert_eq!(weights(&dx), [2.0 * AT[0], 1.0, 1.0]);
}

#[autodiff(d_twice, Reverse, Duplicated, Duplicated, Active)]
#[autodiff(t_twice, Forward, Dual, Dual, Dual)]
fn twice(a: &Rc<RefCell<f64>>, b: &Rc<RefCell<f64>>) -> f64 {
    *a.borrow_mut() *= 3.0;
    let y = *b.borrow() * *a.borrow();
    y
}

#[test]
fn two_names_of_a_cell_have_one_shadow() {
    let (x, other) = (Rc::new(RefCell::new(2.0)), Rc::new(RefCell::new(1.0)));
    let mut dx = [Rc::new(RefCell::new(0.0)), Rc::new(RefCell::new(0.0))];
    let [a, b] = &mut dx;
    assert!(said(|| d_twice(&x, a, &x, b)).contains("share memory"));
    assert!(said(|| t_twice(&x, a, &x, b)).contains("share memory"));
    assert!(said(|| d_twice(&x, a, &other, &mut a.clone())).contains("share memory"));
    assert!(said(|| t_twice(&x, &x, &x, &x)).contains("is memory of argument"));
    assert_eq!((*x.borrow(), *a.borrow()), (2.0, 0.0));
    let mut same = a.clone();
    assert_eq!(d_twice(&x, a, &x, &mut same), 36.0);
    assert_eq!(a.replace(1.0), 36.0);
    x.replace(2.0);
    assert_eq!(t_twice(&x, a, &x, &same), (36.0, 36.0));
}

#[autodiff(d_read, Reverse, Duplicated, Active)]
#[autodiff(t_read, Forward, Dual, Dual)]
fn read(x: &RefCell<Vec<f64>>) -> f64 {
    x.borrow().iter().map(|x| x * x).sum()
}

#[test]
fn what_is_borrowed_is_told() {
    let (x, mut dx) = (RefCell::new(AT.to_vec()), RefCell::new(vec![0.0; 3]));
    let borrowed = x.borrow_mut();
    assert!(
        said(|| d_read(&x, &mut dx))
            .contains("argument `x` cannot be differentiated: the content of `x` is borrowed mutably")
    );
    assert!(said(|| make_zero(&x)).contains("is borrowed mutably"));
    drop(borrowed);
    let lent = dx.borrow();
    assert!(said(|| t_read(&x, &dx)).contains("shadow of argument `x` cannot be used: the content of `x` is borrowed"));
    drop(lent);
    // Others may read what the function reads.
    let reads = |x: &RefCell<Vec<f64>>| x.borrow().iter().map(|x| x * x).sum::<f64>();
    let lent = x.borrow();
    assert_eq!(grad(reads, &x).into_inner(), AT.map(|x| 2.0 * x));
    dx.borrow_mut()[0] = 1.0;
    assert_eq!(jvp(reads, &x, &dx).1, 2.0 * AT[0]);
    drop(lent);
    dx.borrow_mut().push(1.0);
    assert!(said(|| d_read(&x, &mut dx)).contains("`x` has length 3, its shadow has length 4"));
}

#[autodiff(d_panics, Reverse, Duplicated, Active)]
fn panics(x: &RefCell<Vec<Vec<f64>>>) -> f64 {
    x.borrow_mut().swap(0, 1);
    let taken = x.borrow_mut().pop().unwrap();
    let mut held = x.borrow_mut();
    held.push(vec![taken[0] * 2.0]);
    held.push(taken);
    assert!(held[0][0] < 100.0, "too large");
    held[0][0] * held[1][0]
}

#[test]
fn a_shadow_is_as_it_was_after_a_panic() {
    let x = || RefCell::new(vec![vec![1.0, 2.0], vec![1000.0]]);
    let mut dx = RefCell::new(vec![vec![3.0, 4.0], vec![5.0]]);
    dx.get_mut().reserve_exact(8);
    assert_eq!(said(|| d_panics(&x(), &mut dx)), "too large");
    assert_eq!(*dx.borrow(), [vec![3.0, 4.0], vec![5.0]]);
    dx.get_mut().push(vec![1.0]);
    assert_eq!(said(|| grad(panics, &x())), "too large");
    let at = x();
    assert_eq!(said(|| vjp(panics, &at).0), "too large");
}

#[non_differentiable]
fn seen(x: &[f64]) -> usize {
    x.len()
}

fn half(x: f64) -> f64 {
    x / 2.0
}

#[rrule(for = half)]
fn half_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (x / 2.0, |dy| dy / 2.0)
}

thread_local! {
    static KEPT: RefCell<Vec<Rc<RefCell<Vec<f64>>>>> = const { RefCell::new(Vec::new()) };
}

/// Whoever else has a cell with a vector could put another one there, of which the shadow would not know.
#[test]
fn cells_with_vectors_that_others_could_change_are_told() {
    let refused = "which others could change while the function runs";
    let x = RefCell::new(vec![2.0]);
    assert!(said(|| grad(|x: &RefCell<Vec<f64>>| half(x.borrow()[0]), &x)).contains(refused));
    // It is in the function's own hands.
    assert_eq!(grad(|x: &RefCell<f64>| half(*x.borrow()), &RefCell::new(2.0)).into_inner(), 0.5);
    let shared = Rc::new(RefCell::new(vec![2.0, 3.0]));
    KEPT.with_borrow_mut(|kept| kept.push(shared.clone()));
    let f = |x: &Rc<RefCell<Vec<f64>>>| {
        let y = x.borrow()[0];
        KEPT.with_borrow(|kept| kept[0].take());
        x.borrow()[1] * y
    };
    assert!(said(|| grad(f, &shared)).contains(refused));
    assert!(said(|| jvp(f, &shared, &make_zero(&shared))).contains(refused));
    assert_eq!(*shared.borrow(), [2.0, 3.0]);
    assert_eq!(seen(&shared.borrow()), 2);
}

#[autodiff(d_owned, Reverse, Duplicated, Active)]
fn owned(x: &mut RefCell<Vec<f64>>) -> f64 {
    let y = half(x.get_mut()[0]);
    x.get_mut().push(y);
    let length = seen(&x.borrow()) as f64;
    y * length
}

/// What is lent mutably, nobody else has.
#[test]
fn cells_of_the_function_s_own() {
    let (mut x, mut dx) = (RefCell::new(vec![4.0]), RefCell::new(Vec::with_capacity(1)));
    dx.get_mut().push(0.0);
    assert_eq!(d_owned(&mut x, &mut dx), 4.0);
    assert_eq!((x.into_inner(), dx.into_inner()), (vec![4.0, 2.0], vec![1.0]));
}

#[derive(Differentiable, Clone, PartialEq, Debug)]
struct Named {
    x: f64,
    name: String,
    #[pullback(skip)]
    tag: Box<str>,
}

fn named(name: &str) -> Named {
    Named { x: 2.0, name: name.to_owned(), tag: "tag".into() }
}

#[autodiff(t_named, Forward, Dual, Dual)]
#[autodiff(d_named, Reverse, Duplicated, Active)]
fn of_named(x: &mut RefCell<Named>) -> f64 {
    x.get_mut().name.push_str(" and more");
    x.get_mut().x *= 3.0;
    let x = x.borrow();
    x.x * x.x
}

/// Strings and skipped fields are values of the tangent's own; where others may have the cell, that cannot be.
#[test]
fn strings_and_skipped_fields_in_cells() {
    let (mut x, mut dx) = (RefCell::new(named("a")), RefCell::new(Named { x: 1.0, ..named("b") }));
    assert_eq!(t_named(&mut x, &mut dx), (36.0, 36.0));
    assert_eq!(
        (x.into_inner(), dx.into_inner()),
        (Named { x: 6.0, ..named("a and more") }, Named { x: 3.0, ..named("a and more") })
    );
    let mut dx = make_zero(&RefCell::new(named("a")));
    assert_eq!(d_named(&mut RefCell::new(named("a")), &mut dx), 36.0);
    assert_eq!(dx.into_inner(), Named { x: 36.0, ..named("a") });
    let read = |x: &RefCell<Named>| x.borrow().x * x.borrow().name.len() as f64;
    let x = RefCell::new(named("four"));
    assert_eq!(grad(read, &x).borrow().x, 4.0);
    assert!(said(|| jvp(read, &x, &x.clone())).contains("is a cell of a"));
}

fn cells_of(x: &[f64; 2]) -> (RefCell<Vec<f64>>, Rc<RefCell<f32>>) {
    let shared = Rc::new(RefCell::new((x[0] * x[0]) as f32));
    *shared.borrow_mut() *= 2.0;
    (RefCell::new(vec![x[0] * x[1]]), shared)
}

#[test]
fn results_with_cells() {
    let (value, tangent) = jvp(cells_of, &[2.0, 3.0], &[1.0, 10.0]);
    assert_eq!((value.0.into_inner(), value.1.replace(1.0)), (vec![6.0], 8.0));
    assert_eq!((tangent.0.take(), tangent.1.replace(1.0)), (vec![23.0], 8.0));
    let (_, pullback) = vjp(cells_of, &[2.0, 3.0]);
    assert_eq!(pullback((RefCell::new(vec![1.0]), Rc::new(RefCell::new(100.0)))), [3.0 + 800.0, 2.0]);
}

/// A cell in a cell, and beside another kind of one.
#[autodiff(d_within, Reverse, Duplicated, Active)]
#[autodiff(t_within, Forward, Dual, Dual)]
fn within(x: &RefCell<(Cell<f64>, RefCell<[f32; 2]>, u8)>) -> f64 {
    let mut x = x.borrow_mut();
    x.0.set(x.0.get() * f64::from(x.1.borrow()[1]));
    x.1.borrow_mut()[0] *= 4.0;
    x.2 += 1;
    let y = x.0.get() * f64::from(x.1.borrow()[0]);
    y
}

#[test]
fn cells_in_cells() {
    let x = || RefCell::new((Cell::new(2.0), RefCell::new([3.0, 5.0]), 7));
    let mut dx = make_zero(&x());
    assert_eq!(d_within(&x(), &mut dx), 120.0);
    let (a, b, c) = dx.into_inner();
    assert_eq!((a.get(), b.into_inner(), c), (60.0, [40.0, 24.0], 7));
    let dx = make_zero(&x());
    dx.borrow().1.borrow_mut()[1] = 1.0;
    assert_eq!(t_within(&x(), &dx), (120.0, 24.0));
    assert_eq!(value_and_grad(within, &x()).1.into_inner().1.into_inner(), [40.0, 24.0]);
}

#[derive(Differentiable)]
struct Ring {
    x: f64,
    next: Option<Rc<RefCell<Ring>>>,
}

/// Two that own each other, by a cell.
fn ring(x: f64, y: f64) -> Rc<RefCell<Ring>> {
    let first = Rc::new(RefCell::new(Ring { x, next: None }));
    let second = Rc::new(RefCell::new(Ring { x: y, next: Some(first.clone()) }));
    first.borrow_mut().next = Some(second);
    first
}

#[autodiff(d_around, Reverse, Duplicated, Active)]
fn around(ring: &Rc<RefCell<Ring>>) -> f64 {
    let second = ring.borrow().next.clone().unwrap();
    let first = second.borrow().next.clone().unwrap();
    let y = first.borrow().x * ring.borrow().x * second.borrow().x;
    y
}

/// Its shadow is one, too, made by hand: what owns itself has no end, and `make_zero` says so.
#[test]
fn a_value_that_owns_itself() {
    let (x, mut dx) = (ring(2.0, 3.0), ring(1.0, 10.0));
    assert!(said(|| make_zero(&x)).contains("a value that owns itself"));
    assert!(said(|| grad(around, &x)).contains("a value that owns itself"));
    assert_eq!(d_around(&x, &mut dx), 12.0);
    assert_eq!(dx.borrow().x, 13.0);
    [x, dx].iter().for_each(|ring| drop(ring.borrow_mut().next.take()));
}

fn first(x: &RefCell<Vec<f64>>) -> f64 {
    x.borrow()[0]
}

#[rrule(for = first)]
fn first_rrule(x: &RefCell<Vec<f64>>) -> (f64, impl Fn(f64, &mut RefCell<Vec<f64>>)) {
    (first(x), |dy, dx| dx.get_mut()[0] += dy)
}

fn plain(x: &RefCell<f64>) -> f64 {
    *x.borrow()
}

#[rrule(for = plain)]
fn plain_rrule(x: &RefCell<f64>) -> (f64, impl Fn(f64, &mut RefCell<f64>)) {
    (plain(x), |dy, dx| *dx.get_mut() += 10.0 * dy)
}

/// They could put another vector there, of which the shadow would not know.
#[test]
fn rules_are_given_no_cells_with_vectors() {
    let f = |x: &[f64; 1]| first(&RefCell::new(x.to_vec()));
    assert!(said(|| grad(f, &[2.0])).contains("a rule is given a reference to a `RefCell` that holds pointers"));
    let f = |x: &[f64; 1]| plain(&RefCell::new(x[0] * x[0]));
    assert_eq!(grad(f, &[2.0]), [40.0]);
    assert_eq!(grad(plain, &RefCell::new(2.0)).into_inner(), 10.0);
}
