//! Functions that exchange what their arguments lead to: vectors, boxes, parts of lists.
//!
//! The cotangent that a caller puts into a shadow belongs to what is in that place when the function has returned,
//! wherever its memory was before. In each test the right gradient follows from the values alone.

#![forbid(unsafe_code)]

use pullback::{Differentiable, autodiff};
use std::mem::{replace, swap, take};

#[derive(Differentiable)]
struct Buffers {
    now: Vec<f64>,
    next: Vec<f64>,
}

/// Squares, by two buffers.
#[autodiff(df_step, Reverse, Duplicated)]
#[autodiff(tf_step, Forward, Dual)]
fn step(s: &mut Buffers) {
    for i in 0..s.now.len() {
        s.next[i] = s.now[i] * s.now[i];
    }
    swap(&mut s.now, &mut s.next);
}

#[autodiff(df_steps, Reverse, Duplicated, Const)]
#[autodiff(tf_steps, Forward, Dual, Const)]
fn steps(s: &mut Buffers, count: usize) {
    for _ in 0..count {
        step(s);
    }
}

#[test]
fn two_buffers() {
    let buffers = |now: [f64; 2], next: [f64; 2]| Buffers { now: now.to_vec(), next: next.to_vec() };
    let mut d = buffers([1.0, 10.0], [100.0, 0.0]);
    df_step(&mut buffers([2.0, 3.0], [7.0, 8.0]), &mut d);
    assert_eq!((d.now, d.next), (vec![104.0, 60.0], vec![0.0, 0.0]));
    for count in 0..5 {
        let (mut d, mut s) = (buffers([1.0, 10.0], [100.0, 1000.0]), buffers([1.5, 0.5], [2.5, 0.25]));
        df_steps(&mut s, &mut d, count);
        // By the tangents of both inputs.
        let seed = [1.0, 10.0, 100.0, 1000.0];
        let gradient = [d.now[0], d.now[1], d.next[0], d.next[1]];
        for (k, found) in gradient.iter().enumerate() {
            let unit = |i: usize| if i == k { 1.0 } else { 0.0 };
            let mut t = buffers([unit(0), unit(1)], [unit(2), unit(3)]);
            let mut s = buffers([1.5, 0.5], [2.5, 0.25]);
            tf_steps(&mut s, &mut t, count);
            let expected: f64 = t.now.iter().chain(&t.next).zip(seed).map(|(t, s)| t * s).sum();
            assert!(
                (found - expected).abs() <= 1e-12 * expected.abs(),
                "{count} steps, input {k}: {found}, not {expected}"
            );
        }
    }
}

#[derive(Differentiable)]
struct Boxed {
    content: Box<f64>,
}

#[autodiff(df_exchange, Reverse, Duplicated, Active, Active)]
fn exchange(p: &mut Boxed, x: f64) -> f64 {
    let mut other = Box::new(x * x);
    swap(&mut other, &mut p.content);
    3.0 * *other
}

#[test]
fn a_box_that_the_function_has_made() {
    let mut d = Boxed { content: Box::new(10.0) };
    assert_eq!(df_exchange(&mut Boxed { content: Box::new(2.0) }, &mut d, 5.0), (100.0, 6.0));
    assert_eq!(*d.content, 3.0);
}

#[autodiff(df_grow, Reverse, Duplicated, Active)]
fn grow(v: &mut Vec<f64>, x: f64) {
    v.push(x);
    v[0] *= 2.0 * x;
}

#[test]
fn a_vector_that_grows_and_is_changed_then() {
    for spare in [0, 4] {
        let roomy = |values: &[f64]| {
            let mut v = Vec::with_capacity(values.len() + spare);
            v.extend_from_slice(values);
            v
        };
        let (mut v, mut d) = (roomy(&[3.0, 4.0]), roomy(&[1.0, 7.0]));
        assert_eq!(df_grow(&mut v, &mut d, 5.0), 6.0);
        assert_eq!((v, d), (vec![30.0, 4.0, 5.0], vec![10.0, 7.0]));
    }
}

#[autodiff(df_rows, Reverse, Duplicated, Active)]
fn rows(v: &mut Vec<Vec<f32>>, x: f32) {
    v[0].push(x);
    let a = v.remove(1);
    v.push(vec![x * x]);
    v[0][0] *= a[0];
    v.swap(0, 1);
}

#[test]
fn rows_that_are_made_removed_and_swapped() {
    let (mut v, mut d) = (vec![vec![3.0], vec![4.0]], vec![vec![1.0], vec![10.0]]);
    assert_eq!(df_rows(&mut v, &mut d, 5.0), 10.0);
    assert_eq!((v, d), (vec![vec![25.0], vec![12.0, 5.0]], vec![vec![40.0], vec![30.0]]));
}

#[autodiff(df_both, Reverse, Duplicated, Duplicated)]
fn both(a: &mut Vec<f64>, b: &mut Vec<f64>) {
    swap(a, b);
    a[0] *= a[0];
}

#[test]
fn two_arguments() {
    let (mut a, mut b) = (vec![2.0], vec![3.0, 4.0]);
    let (mut da, mut db) = (vec![1.0], vec![10.0, 100.0]);
    df_both(&mut a, &mut da, &mut b, &mut db);
    // Afterwards `a` has two elements, and there is no cotangent for the second one; `b` has one.
    assert_eq!((a, b), (vec![9.0, 4.0], vec![2.0]));
    assert_eq!((da, db), (vec![10.0], vec![6.0, 100.0]));
}

#[derive(Differentiable)]
struct View<'a> {
    scale: f64,
    a: &'a mut Vec<f64>,
    b: &'a mut Vec<f64>,
}

#[autodiff(df_view, Reverse, Duplicated)]
fn view(v: View<'_>) {
    swap(v.a, v.b);
    v.a[0] *= v.scale;
}

#[test]
fn references_in_a_value() {
    let (mut a, mut b, mut da, mut db) = (vec![2.0], vec![3.0], vec![1.0], vec![10.0]);
    let mut d = View { scale: 0.5, a: &mut da, b: &mut db };
    df_view(View { scale: 4.0, a: &mut a, b: &mut b }, &mut d);
    // What is in the value itself is no cotangent of anything afterwards, and is added to.
    assert_eq!(d.scale, 3.5);
    assert_eq!((da, db), (vec![10.0], vec![4.0]));
}

#[autodiff(df_lent_rows, Reverse, Duplicated)]
fn lent_rows(rows: Vec<&mut Vec<f64>>) {
    let mut rows = rows.into_iter();
    let (a, b) = (rows.next().expect("a row"), rows.next().expect("a row"));
    swap(a, b);
    a[0] *= 4.0;
}

#[autodiff(df_exchanged_rows, Reverse, Duplicated)]
fn exchanged_rows(mut rows: Vec<&mut Vec<f64>>) {
    rows.swap(0, 1);
    rows[0][0] *= 4.0;
}

/// The vector is gone when the function has returned, and what it referred to is there.
#[test]
fn references_in_a_vector() {
    let (mut a, mut b, mut da, mut db) = (vec![2.0], vec![3.0], vec![1.0], vec![10.0]);
    df_lent_rows(vec![&mut a, &mut b], &mut vec![&mut da, &mut db]);
    assert_eq!((&a, &b), (&vec![12.0], &vec![2.0]));
    assert_eq!((&da, &db), (&vec![10.0], &vec![4.0]));
    // The rows themselves stay where they are.
    df_exchanged_rows(vec![&mut a, &mut b], &mut vec![&mut da, &mut db]);
    assert_eq!((a, b), (vec![12.0], vec![8.0]));
    assert_eq!((da, db), (vec![10.0], vec![16.0]));
}

#[derive(Differentiable)]
struct BoxedReference<'a> {
    all: Box<&'a mut Vec<f64>>,
    scale: f64,
}

#[autodiff(df_renewed, Reverse, Duplicated)]
fn renewed(boxed: BoxedReference<'_>) {
    let mut new = vec![boxed.all[0] * boxed.scale, 7.0];
    swap(&mut **boxed.all, &mut new);
}

#[test]
fn a_reference_in_a_box() {
    let (mut all, mut d_all) = (vec![2.0, 5.0], vec![10.0, 100.0]);
    let mut d = BoxedReference { all: Box::new(&mut d_all), scale: 0.5 };
    df_renewed(BoxedReference { all: Box::new(&mut all), scale: 3.0 }, &mut d);
    assert_eq!(d.scale, 20.5);
    assert_eq!((all, d_all), (vec![6.0, 7.0], vec![30.0, 0.0]));
}

#[autodiff(df_moved, Reverse, Duplicated, Duplicated)]
fn moved(a: Vec<f64>, b: &mut Vec<f64>) {
    *b = a;
    b[0] *= b[0];
}

#[autodiff(df_collected, Reverse, Duplicated, Duplicated)]
fn collected(a: Vec<f64>, b: &mut Vec<f64>) {
    *b = a.into_iter().map(|x| 3.0 * x).collect();
}

#[autodiff(df_boxes, Reverse, Duplicated, Duplicated)]
fn boxes(mut a: Box<f64>, b: &mut Box<f64>) {
    swap(&mut a, b);
}

/// What was moved into the function is in an argument afterwards, with the cotangent that was given for that.
#[test]
fn memory_that_is_moved_into_an_argument() {
    let given = || (vec![0.0], vec![2.0], vec![10.0]);
    let (mut da, mut b, mut db) = given();
    df_moved(vec![3.0], &mut da, &mut b, &mut db);
    assert_eq!((b, da, db), (vec![9.0], vec![60.0], vec![0.0]));
    let (mut da, mut b, mut db) = given();
    df_collected(vec![3.0], &mut da, &mut b, &mut db);
    assert_eq!((b, da, db), (vec![9.0], vec![30.0], vec![0.0]));
    let (mut da, mut b, mut db) = (Box::new(0.0), Box::new(2.0), Box::new(10.0));
    df_boxes(Box::new(3.0), &mut da, &mut b, &mut db);
    assert_eq!((*b, *da, *db), (3.0, 10.0, 0.0));
}

#[autodiff(df_sorted, Reverse, Duplicated, Active, Active)]
fn sorted(rows: &mut Vec<Vec<f64>>, x: f64) -> f64 {
    rows.sort_by(|a, b| b[0].total_cmp(&a[0]));
    rows.push(vec![x; 3]);
    rows.truncate(2);
    rows[0][0] *= x;
    rows[1][0] + x
}

#[test]
fn rows_that_are_sorted() {
    let mut d = vec![vec![1.0, 10.0], vec![100.0, 1000.0]];
    assert_eq!(df_sorted(&mut vec![vec![2.0, 3.0], vec![7.0, 8.0]], &mut d, 5.0), (8.0, 7.0));
    assert_eq!(d, [[101.0, 1000.0], [5.0, 10.0]]);
}

#[derive(Differentiable)]
struct Pair {
    a: Option<Box<f64>>,
    b: Option<Box<f64>>,
}

#[autodiff(df_shift, Reverse, Duplicated, Active, Active)]
fn shift(p: &mut Pair, x: f64) -> f64 {
    let old = p.a.take();
    p.a = p.b.take();
    p.b = Some(Box::new(x * x * x));
    old.map_or(1.0, |old| *old * x)
}

#[test]
fn boxes_that_move_up() {
    let pair = |a: f64, b: f64| Pair { a: Some(Box::new(a)), b: Some(Box::new(b)) };
    let mut d = pair(1.0, 10.0);
    assert_eq!(df_shift(&mut pair(2.0, 3.0), &mut d, 5.0), (752.0, 10.0));
    assert_eq!((d.a.as_deref(), d.b.as_deref()), (Some(&5.0), Some(&1.0)));
}

#[derive(Differentiable)]
enum List {
    End,
    Node(f64, Box<List>),
}

#[autodiff(df_front, Reverse, Duplicated, Active)]
fn front(list: &mut List, x: f64) {
    let old = replace(list, List::End);
    *list = List::Node(x * x, Box::new(old));
}

#[test]
fn a_list_that_grows_at_its_front() {
    let list = |a: f64, b: f64| List::Node(a, Box::new(List::Node(b, Box::new(List::End))));
    let mut d = list(1.0, 10.0);
    assert_eq!(df_front(&mut list(2.0, 3.0), &mut d, 5.0), 10.0);
    // The second node afterwards is the first one of before; for the third there is no cotangent.
    let List::Node(first, rest) = d else { panic!("the shadow is a list of two") };
    let List::Node(second, _) = *rest else { panic!("the shadow is a list of two") };
    assert_eq!((first, second), (10.0, 0.0));
}

#[autodiff(df_taken, Reverse, Duplicated, Active)]
fn taken(v: &mut Vec<f64>) -> f64 {
    let old = take(v);
    old.iter().map(|x| x * x).sum()
}

#[test]
fn what_is_taken_away_keeps_its_cotangent() {
    let mut d = vec![0.0, 0.0];
    assert_eq!(df_taken(&mut vec![2.0, 3.0], &mut d), 13.0);
    assert_eq!(d, [4.0, 6.0]);
}

#[autodiff(df_inner, Reverse, Duplicated)]
fn inner(s: &mut Buffers) {
    s.next[0] = s.now[0] * s.now[0];
    swap(&mut s.now, &mut s.next);
}

/// The derivative of `inner` at `x`, with the cotangent `seed` for what is in `now` afterwards.
#[autodiff(ddf, Forward, Dual, Const, Dual)]
fn slope(x: f64, seed: f64) -> f64 {
    let mut d = Buffers { now: vec![seed], next: vec![0.0] };
    inner_derivative(&mut Buffers { now: vec![x], next: vec![0.0] }, &mut d);
    d.now[0]
}

fn inner_derivative(s: &mut Buffers, d: &mut Buffers) {
    df_inner(s, d);
}

#[test]
fn a_derivative_of_a_derivative_is_right_or_says_that_it_is_not() {
    assert_eq!(slope(3.0, 1.0), 6.0);
    assert_eq!(ddf(3.0, 1.0, 0.0), (0.0, 0.0));
    let refused = std::panic::catch_unwind(|| ddf(3.0, 1.0, 1.0)).unwrap_err();
    let text = refused.downcast_ref::<String>().map(String::as_str).or(refused.downcast_ref::<&str>().copied());
    assert!(text.unwrap().contains("exchanges for something else"), "{text:?}");
}

/// Cotangents of what holds no pointers stay where they are, whatever happens to pointers beside it.
mod beside_floats {
    use super::*;

    #[autodiff(d_one, Reverse, Duplicated, Duplicated, Active)]
    fn one(a: &mut [f64; 3], p: &mut Vec<f64>) -> f64 {
        a.swap(0, 2);
        *p = vec![p[0] * p[1]];
        a[0]
    }

    #[autodiff(d_single, Reverse, Duplicated, Duplicated, Active)]
    fn single(p: &mut Vec<f32>, a: &mut [f32]) -> f32 {
        a.reverse();
        *p = p.iter().map(|x| x * 2.0).collect();
        a[0] * p[1]
    }

    #[autodiff(d_rows, Reverse, Duplicated, Duplicated)]
    fn rows(mut a: Vec<&mut [f64]>, p: &mut Vec<f64>) {
        a[0][0] *= p[0];
        a[1].swap(0, 1);
        *p = vec![p[0] + a[1][1]];
    }

    #[test]
    fn that_are_exchanged() {
        let (mut a, mut da) = ([1.0, 2.0, 3.0], [1.0, 10.0, 100.0]);
        let (mut p, mut dp) = (vec![2.0, 5.0], vec![7.0, 0.0]);
        d_one(&mut a, &mut da, &mut p, &mut dp);
        assert_eq!((a, p), ([3.0, 2.0, 1.0], vec![10.0]));
        assert_eq!((da, dp), ([100.0, 10.0, 2.0], vec![35.0, 14.0]));
    }

    #[test]
    fn that_are_exchanged_in_single_precision() {
        let (mut a, mut da) = ([1.0, 2.0, 3.0], [1.0, 10.0, 100.0]);
        let (mut p, mut dp) = (vec![2.0, 5.0], vec![7.0, 3.0]);
        d_single(&mut p, &mut dp, &mut a, &mut da);
        assert_eq!((a, p), ([3.0, 2.0, 1.0], vec![4.0, 10.0]));
        assert_eq!((da, dp), ([100.0, 10.0, 11.0], vec![14.0, 12.0]));
    }

    #[test]
    fn that_references_in_a_vector_lead_to() {
        let (mut a, mut b, mut da, mut db) = ([3.0], [1.0, 2.0], [1.0], [10.0, 100.0]);
        let (mut p, mut dp) = (vec![2.0], vec![1000.0]);
        d_rows(vec![&mut a[..], &mut b], &mut vec![&mut da[..], &mut db], &mut p, &mut dp);
        assert_eq!((a, b, p), ([6.0], [2.0, 1.0], vec![3.0]));
        assert_eq!((da, db, dp), ([2.0], [1100.0, 10.0], vec![1003.0]));
    }
}

/// What a reference leads to is there for the caller, whatever becomes of the reference.
mod what_was_lent {
    use super::*;

    #[autodiff(d_popped, Reverse, Duplicated, Duplicated)]
    fn popped(v: &mut Vec<&mut [f64]>, p: &mut Box<f64>) {
        v[1][0] *= 3.0;
        v.pop();
        *p = Box::new(0.0);
    }

    #[autodiff(d_taken, Reverse, Duplicated)]
    fn taken(v: &mut Option<&mut f64>) {
        if let Some(x) = v.take() {
            *x *= 3.0;
        }
    }

    #[autodiff(d_first, Reverse, Duplicated)]
    fn first(rest: &mut &mut [f64]) {
        let (first, others) = take(rest).split_at_mut(1);
        first[0] *= 3.0;
        *rest = others;
    }

    #[autodiff(d_first_row, Reverse, Duplicated)]
    fn first_row(rest: &mut &mut [Vec<f64>]) {
        let (first, others) = take(rest).split_at_mut(1);
        first[0] = vec![first[0][0] * 3.0];
        swap(&mut first[0], &mut others[0]);
        *rest = others;
    }

    #[test]
    fn and_let_go() {
        let (mut a, mut b, mut da, mut db) = ([2.0], [3.0], [1.0], [10.0]);
        let (mut v, mut d) = (vec![&mut a[..], &mut b], vec![&mut da[..], &mut db]);
        d_popped(&mut v, &mut d, &mut Box::new(0.0), &mut Box::new(0.0));
        assert_eq!((a, b, da, db), ([2.0], [9.0], [1.0], [30.0]));
        let (mut a, mut da) = (2.0, 10.0);
        d_taken(&mut Some(&mut a), &mut Some(&mut da));
        assert_eq!((a, da), (6.0, 30.0));
        let (mut a, mut da) = ([2.0, 5.0], [1.0, 10.0]);
        d_first(&mut &mut a[..], &mut &mut da[..]);
        assert_eq!((a, da), ([6.0, 5.0], [3.0, 10.0]));
        let (mut a, mut da) = ([vec![2.0], vec![5.0]], [vec![1.0], vec![10.0]]);
        d_first_row(&mut &mut a[..], &mut &mut da[..]);
        assert_eq!((a, da), ([vec![5.0], vec![6.0]], [vec![30.0], vec![1.0]]));
    }

    #[autodiff(d_one_way, Reverse, Duplicated, Duplicated)]
    fn one_way<'a>(a: Vec<&'a mut Vec<f64>>, b: &mut Vec<&'a mut Vec<f64>>) {
        *b = a;
        b[0][0] *= 3.0;
    }

    #[autodiff(d_other_way, Reverse, Duplicated, Duplicated)]
    fn other_way<'a>(b: &mut Vec<&'a mut Vec<f64>>, a: Vec<&'a mut Vec<f64>>) {
        *b = a;
        b[0][0] *= 3.0;
    }

    #[test]
    fn and_lent_on() {
        let given = || (vec![2.0], vec![3.0], vec![1.0], vec![10.0]);
        let (mut a, mut b, mut da, mut db) = given();
        d_one_way(vec![&mut a], &mut vec![&mut da], &mut vec![&mut b], &mut vec![&mut db]);
        assert_eq!((a, b, da, db), (vec![6.0], vec![3.0], vec![3.0], vec![10.0]));
        let (mut a, mut b, mut da, mut db) = given();
        d_other_way(&mut vec![&mut b], &mut vec![&mut db], vec![&mut a], &mut vec![&mut da]);
        assert_eq!((a, b, da, db), (vec![6.0], vec![3.0], vec![3.0], vec![10.0]));
    }
}

/// What has several owners has its cotangents as long as one of them has it.
mod what_is_shared {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    #[autodiff(d_first, Reverse, Duplicated, Duplicated, Active)]
    fn first(a: &mut Rc<Cell<f64>>, b: &Rc<Cell<f64>>, x: f64) {
        *a = Rc::new(Cell::new(x * 2.0));
        b.set(b.get() * 3.0);
    }

    #[autodiff(d_second, Reverse, Duplicated, Duplicated, Active)]
    fn second(b: &Rc<Cell<f64>>, a: &mut Rc<Cell<f64>>, x: f64) {
        *a = Rc::new(Cell::new(x * 2.0));
        b.set(b.get() * 3.0);
    }

    #[autodiff(d_alone, Reverse, Duplicated, Active)]
    fn alone(a: &mut Rc<Cell<f64>>, x: f64) {
        *a = Rc::new(Cell::new(a.get() * x));
    }

    #[test]
    fn by_arguments_in_either_order() {
        let given = || (Rc::new(Cell::new(2.0)), Rc::new(Cell::new(10.0)));
        let (c, d) = given();
        assert_eq!(d_first(&mut c.clone(), &mut d.clone(), &c, &mut d.clone(), 5.0), 0.0);
        assert_eq!((c.get(), d.get()), (6.0, 30.0));
        let (c, d) = given();
        assert_eq!(d_second(&c, &mut d.clone(), &mut c.clone(), &mut d.clone(), 5.0), 0.0);
        assert_eq!((c.get(), d.get()), (6.0, 30.0));
    }

    #[autodiff(d_swapped, Reverse, Duplicated, Duplicated)]
    fn swapped(a: &mut [Rc<Cell<f64>>; 2], b: &Rc<Cell<f64>>) {
        a.swap(0, 1);
        b.set(b.get() * 3.0);
    }

    #[autodiff(d_then_swapped, Reverse, Duplicated, Duplicated)]
    fn then_swapped(b: &Rc<Cell<f64>>, a: &mut [Rc<Cell<f64>>; 2]) {
        a.swap(0, 1);
        b.set(b.get() * 3.0);
    }

    #[test]
    fn that_change_places() {
        let cell = |x: f64| Rc::new(Cell::new(x));
        let pair = |cells: &[Rc<Cell<f64>>; 2]| [cells[0].get(), cells[1].get()];
        let (a, d) = ([cell(2.0), cell(5.0)], [cell(1.0), cell(10.0)]);
        d_swapped(&mut a.clone(), &mut d.clone(), &a[0], &mut d[0].clone());
        assert_eq!((pair(&a), pair(&d)), ([6.0, 5.0], [3.0, 10.0]));
        let (a, d) = ([cell(2.0), cell(5.0)], [cell(1.0), cell(10.0)]);
        d_then_swapped(&a[0], &mut d[0].clone(), &mut a.clone(), &mut d.clone());
        assert_eq!((pair(&a), pair(&d)), ([6.0, 5.0], [3.0, 10.0]));
        // With one owner each, they are what is in the array.
        let (mut a, mut d) = ([cell(2.0), cell(5.0)], [cell(1.0), cell(10.0)]);
        d_swapped(&mut a, &mut d, &cell(7.0), &mut cell(100.0));
        assert_eq!((pair(&a), pair(&d)), ([5.0, 2.0], [10.0, 1.0]));
    }

    #[test]
    fn by_one_that_gets_another() {
        let (mut c, mut d) = (Rc::new(Cell::new(2.0)), Rc::new(Cell::new(10.0)));
        assert_eq!(d_alone(&mut c, &mut d, 5.0), 20.0);
        assert_eq!((c.get(), d.get()), (10.0, 50.0));
    }
}

#[autodiff(d_exchanged, Reverse, Duplicated, Duplicated)]
fn exchanged(a: &mut Vec<f64>, b: &mut Vec<f64>) {
    swap(a, b);
}

#[test]
fn cotangents_that_are_not_finite() {
    let (mut da, mut db) = (vec![f64::INFINITY, f64::NAN], vec![1.0, 2.0]);
    d_exchanged(&mut vec![1.0, 1.0], &mut da, &mut vec![2.0, 2.0], &mut db);
    assert_eq!((da, db[0], db[1].is_nan()), (vec![1.0, 2.0], f64::INFINITY, true));
}

mod taken_to_another_place {
    use super::*;

    #[autodiff(d_back, Reverse, Duplicated, Duplicated)]
    fn back(a: &mut Vec<f64>, b: &mut Vec<f64>) {
        *a = take(b);
        a[0] *= 3.0;
    }

    #[autodiff(d_on, Reverse, Duplicated, Duplicated)]
    fn on(a: &mut Vec<f64>, b: &mut Vec<f64>) {
        *b = take(a);
        b[0] *= 3.0;
    }

    /// The vector that is left empty leads nowhere, whatever its shadow's pointer is.
    #[test]
    fn from_one_argument_to_another() {
        let (mut da, mut db) = (vec![10.0], vec![0.0]);
        d_back(&mut vec![1.0], &mut da, &mut vec![3.0], &mut db);
        assert_eq!((da, db), (vec![0.0], vec![30.0]));
        let (mut da, mut db) = (vec![0.0], vec![10.0]);
        d_on(&mut vec![1.0], &mut da, &mut vec![3.0], &mut db);
        assert_eq!((da, db), (vec![30.0], vec![0.0]));
    }

    #[autodiff(d_register, Reverse, Duplicated)]
    fn register(v: &mut [Vec<f64>; 3]) {
        v[2] = take(&mut v[1]);
        v[1] = take(&mut v[0]);
    }

    #[test]
    fn a_shift_register() {
        let mut d = [vec![0.0], vec![10.0], vec![100.0]];
        d_register(&mut [vec![1.0], vec![2.0], vec![3.0]], &mut d);
        assert_eq!(d, [vec![10.0], vec![100.0], vec![0.0]]);
    }

    #[autodiff(d_boxes, Reverse, Duplicated)]
    fn boxes(v: &mut [Box<[f32]>; 2]) {
        v[1] = take(&mut v[0]);
    }

    #[autodiff(d_options, Reverse, Duplicated)]
    fn options(v: &mut [Option<Vec<f64>>; 2]) {
        v[1] = v[0].replace(Vec::new());
    }

    #[autodiff(d_rows, Reverse, Duplicated)]
    fn rows(mut v: Vec<&mut Vec<f64>>) {
        let old = take(v[0]);
        *v[1] = old;
    }

    #[test]
    fn of_other_types() {
        let mut d = [Box::from([0.0]), Box::from([10.0])];
        d_boxes(&mut [Box::from([1.0]), Box::from([2.0])], &mut d);
        assert_eq!(d, [Box::from([10.0]), Box::from([0.0])]);
        let mut d = [Some(vec![0.0]), Some(vec![10.0])];
        d_options(&mut [Some(vec![1.0]), Some(vec![2.0])], &mut d);
        assert_eq!(d, [Some(vec![10.0]), Some(vec![0.0])]);
        let (mut da, mut db) = (vec![0.0], vec![10.0]);
        d_rows(vec![&mut vec![1.0], &mut vec![2.0]], &mut vec![&mut da, &mut db]);
        assert_eq!((da, db), (vec![10.0], vec![0.0]));
    }
}

#[autodiff(d_uneven, Reverse, Duplicated, Duplicated)]
fn uneven(a: &mut Vec<f64>, b: &mut Vec<f64>) {
    swap(a, b);
    a[1] *= 2.0;
}

/// The second element of `b` is gone, and there was no second element of `a`.
#[test]
fn nothing_comes_of_the_cotangent_of_what_is_gone() {
    let (mut da, mut db) = (vec![1.0], vec![10.0, 100.0]);
    d_uneven(&mut vec![2.0], &mut da, &mut vec![3.0, 4.0], &mut db);
    assert_eq!((da, db), (vec![10.0], vec![1.0, 100.0]));
}

#[derive(Differentiable)]
struct Integrator {
    now: Vec<f64>,
    next: Vec<f64>,
    step: f64,
}

#[autodiff(d_advance, Reverse, Duplicated)]
fn advance(s: &mut Integrator) {
    for (next, now) in s.next.iter_mut().zip(&s.now) {
        *next = now + s.step * now * now;
    }
    swap(&mut s.now, &mut s.next);
}

#[test]
fn two_buffers_beside_a_float() {
    let mut d = Integrator { now: vec![1.0, 10.0], next: vec![0.0; 2], step: 0.0 };
    advance_derivative(&mut d);
    assert_eq!((d.now, d.next, d.step), (vec![3.0, 30.0], vec![0.0; 2], 44.0));
}

fn advance_derivative(d: &mut Integrator) {
    d_advance(&mut Integrator { now: vec![2.0, 2.0], next: vec![0.0; 2], step: 0.5 }, d);
}

#[derive(Differentiable)]
struct Rows {
    rows: [[f64; 2]; 2],
    rest: Vec<f64>,
}

#[autodiff(d_swap_rows, Reverse, Duplicated)]
fn swap_rows(s: &mut Rows) {
    s.rows.swap(0, 1);
    s.rows[0][1] *= s.rest[0];
}

#[test]
fn rows_of_floats_beside_a_vector() {
    let mut d = Rows { rows: [[1.0, 10.0], [100.0, 1000.0]], rest: vec![0.0] };
    d_swap_rows(&mut Rows { rows: [[1.0, 2.0], [3.0, 4.0]], rest: vec![5.0] }, &mut d);
    assert_eq!((d.rows, d.rest), ([[100.0, 1000.0], [1.0, 50.0]], vec![40.0]));
}
