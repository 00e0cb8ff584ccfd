//! What a panic leaves behind: every destructor has run once, in order, and all memory is given back, shadows included.
//!
//! Each function is differentiated in both modes and panics at a place of the caller's choice; a place that it never
//! comes to gives the derivative, so that the functions are known to be ordinary ones.

use pullback::{Differentiable, autodiff, autodiff_forward, make_zero};
use pullback_e2e::unwinding::panic_of;
use std::cell::RefCell;

/// A place that no loop comes to.
const NEVER: usize = usize::MAX;

#[autodiff(d_squares, Reverse, Duplicated, Const, Active)]
#[autodiff(t_squares, Forward, Dual, Const, Dual)]
fn squares(x: &[f64], fail_at: usize) -> f64 {
    let squares: Vec<f64> = x.iter().map(|v| v * v).collect();
    let mut sum = 0.0;
    for (i, s) in squares.iter().enumerate() {
        assert!(i != fail_at, "square {fail_at}");
        sum += s * s;
    }
    sum
}

#[test]
fn a_vec() {
    let x = [1.0, 2.0, 3.0];
    let mut dx = [0.0; 3];
    assert_eq!(d_squares(&x, &mut dx, NEVER), 98.0);
    assert_eq!(dx, [4.0, 32.0, 108.0]);
    assert_eq!(t_squares(&x, &[0.0, 1.0, 0.0], NEVER), (98.0, 32.0));
    for at in 0..3 {
        assert_eq!(panic_of(|| d_squares(&x, &mut [0.0; 3], at)), format!("square {at}"));
        assert_eq!(panic_of(|| t_squares(&x, &[1.0; 3], at)), format!("square {at}"));
    }
}

#[autodiff(d_pushed, Reverse, Duplicated, Const, Active)]
#[autodiff(t_pushed, Forward, Dual, Const, Dual)]
fn pushed(x: &[f64], fail_at: usize) -> f64 {
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (i, v) in x.iter().enumerate() {
        let mut row = Vec::new();
        for k in 0..=i {
            if i == fail_at && k == i / 2 {
                panic!("row {i}");
            }
            row.push(v * k as f64);
        }
        rows.push(row);
    }
    rows.iter().map(|row| row.iter().map(|v| v * v).sum::<f64>()).sum()
}

#[test]
fn nested_vecs_that_grow() {
    let x: Vec<f64> = (0..12).map(f64::from).collect();
    let mut dx = vec![0.0; 12];
    let value = d_pushed(&x, &mut dx, NEVER);
    assert_eq!(value, t_pushed(&x, &dx, NEVER).0);
    // f = Σ x²·c, so its derivative in the direction of its gradient is |∇f|².
    assert_eq!(t_pushed(&x, &dx, NEVER).1, dx.iter().map(|v| v * v).sum());
    for at in [0, 1, 5, 11] {
        assert_eq!(panic_of(|| d_pushed(&x, &mut [0.0; 12], at)), format!("row {at}"));
        assert_eq!(panic_of(|| t_pushed(&x, &[1.0; 12], at)), format!("row {at}"));
    }
}

#[autodiff(d_collected, Reverse, Duplicated, Const, Active)]
#[autodiff(t_collected, Forward, Dual, Const, Dual)]
fn collected(x: &[f64], fail_at: usize) -> f64 {
    let number = |(i, v): (usize, &f64)| {
        assert!(i != fail_at, "element {i} of {}", x.len());
        Box::new(v.sin())
    };
    let boxes: Vec<Box<f64>> = x.iter().enumerate().map(number).collect();
    boxes.into_iter().map(|v| *v * *v).sum()
}

#[test]
fn boxes_of_an_unfinished_vec() {
    let x = [0.5, 1.0, 1.5];
    assert!(d_collected(&x, &mut [0.0; 3], NEVER) > 0.0);
    for at in 0..3 {
        assert_eq!(panic_of(|| d_collected(&x, &mut [0.0; 3], at)), format!("element {at} of 3"));
        assert_eq!(panic_of(|| t_collected(&x, &[1.0; 3], at)), format!("element {at} of 3"));
    }
}

#[derive(Differentiable)]
enum List {
    Nil,
    Cons(f64, Box<List>),
}

fn product(list: &List, fail_at: usize) -> f64 {
    match list {
        List::Nil => 1.0,
        List::Cons(value, rest) => {
            assert!(fail_at != 0, "the list ends here");
            value * product(rest, fail_at - 1)
        }
    }
}

#[autodiff(d_listed, Reverse, Duplicated, Const, Active)]
#[autodiff(t_listed, Forward, Dual, Const, Dual)]
fn listed(x: &[f64], fail_at: usize) -> f64 {
    let list = x.iter().rev().fold(List::Nil, |rest, value| List::Cons(*value, Box::new(rest)));
    product(&list, fail_at)
}

#[test]
fn a_linked_list() {
    let x = [2.0, 3.0, 4.0];
    let mut dx = [0.0; 3];
    assert_eq!(d_listed(&x, &mut dx, NEVER), 24.0);
    assert_eq!(dx, [12.0, 8.0, 6.0]);
    for at in 0..3 {
        assert_eq!(panic_of(|| d_listed(&x, &mut [0.0; 3], at)), "the list ends here");
        assert_eq!(panic_of(|| t_listed(&x, &[1.0; 3], at)), "the list ends here");
    }
}

#[autodiff(d_labelled, Reverse, Active, Const, Active)]
#[autodiff(t_labelled, Forward, Dual, Const, Dual)]
fn labelled(x: f64, limit: f64) -> f64 {
    let label = format!("the label of {limit}");
    let copy = label.clone();
    if x > limit {
        let longer = format!("{copy}, and {x}");
        panic!("{longer}");
    }
    x * label.len() as f64
}

#[test]
fn strings() {
    assert_eq!(d_labelled(1.0, 2.0), (14.0, 14.0));
    assert_eq!(panic_of(|| d_labelled(3.5, 2.0)), "the label of 2, and 3.5");
    assert_eq!(panic_of(|| t_labelled(3.5, 1.0, 2.0)), "the label of 2, and 3.5");
}

#[autodiff(d_consumed, Reverse, Duplicated, Const, Active)]
#[autodiff(t_consumed, Forward, Dual, Const, Dual)]
fn consumed(x: Vec<f64>, fail_at: usize) -> f64 {
    let mut sum = 0.0;
    for (i, v) in x.into_iter().enumerate() {
        assert!(i != fail_at, "consumed {i}");
        sum += v * v;
    }
    sum
}

#[autodiff(t_consumed_boxes, Forward, Dual, Const, Dual)]
fn consumed_boxes(x: Vec<Box<f64>>, fail_at: usize) -> f64 {
    x.into_iter().enumerate().fold(1.0, |product, (i, v)| {
        assert!(i != fail_at, "consumed box {i}");
        product * *v
    })
}

#[test]
fn an_argument_that_is_moved_in() {
    let x = vec![1.0, 2.0, 3.0];
    assert_eq!(t_consumed(x.clone(), vec![1.0, 0.0, 0.0], NEVER), (14.0, 2.0));
    for at in 0..3 {
        let text = panic_of(|| {
            let mut dx = vec![0.0; 3];
            d_consumed(x.clone(), &mut dx, at)
        });
        assert_eq!(text, format!("consumed {at}"));
        assert_eq!(panic_of(|| t_consumed(x.clone(), vec![1.0; 3], at)), format!("consumed {at}"));
        let boxes = |x: &[f64]| x.iter().map(|v| Box::new(*v)).collect::<Vec<_>>();
        assert_eq!(panic_of(|| t_consumed_boxes(boxes(&x), boxes(&[1.0; 3]), at)), format!("consumed box {at}"));
    }
}

#[derive(Differentiable, Clone)]
struct Model {
    weights: Vec<f64>,
    layers: Vec<Vec<f64>>,
    bias: Box<f64>,
    name: Option<Box<f64>>,
}

#[autodiff(d_model, Reverse, Duplicated, Const, Active)]
#[autodiff(t_model, Forward, Dual, Const, Dual)]
fn model(mut model: Model, fail: bool) -> f64 {
    let last = model.weights.pop().unwrap_or(1.0);
    let added = vec![vec![last], vec![last; 2]];
    if fail {
        panic!("no model");
    }
    let Model { weights, layers, bias, name } = model;
    let layers: f64 = layers.into_iter().chain(added).map(|layer| layer.iter().sum::<f64>()).sum();
    weights.iter().sum::<f64>() * *bias + name.map_or(0.0, |n| *n) + layers
}

#[test]
fn an_argument_that_owns_much() {
    let x = Model {
        weights: vec![1.0, 2.0],
        layers: vec![vec![1.0], vec![], vec![2.0, 3.0]],
        bias: Box::new(4.0),
        name: Some(Box::new(5.0)),
    };
    let mut dx = make_zero(&x);
    assert_eq!(d_model(x.clone(), &mut dx, false), 21.0);
    assert_eq!((dx.weights, *dx.bias), (vec![4.0, 3.0], 1.0));
    let mut dx = make_zero(&x);
    assert_eq!(panic_of(|| d_model(x.clone(), &mut dx, true)), "no model");
    assert_eq!(panic_of(|| t_model(x.clone(), x.clone(), true)), "no model");
}

fn tower(x: f64, height: usize, fail_at: usize) -> f64 {
    let floor = vec![x; height + 1];
    assert!(height != fail_at, "floor {height}");
    if height == 0 {
        return floor[0];
    }
    let above = tower(x * 0.5, height - 1, fail_at);
    floor[height] * above + floor[0]
}

#[autodiff(d_built, Reverse, Active, Const, Active)]
#[autodiff(t_built, Forward, Dual, Const, Dual)]
fn built(x: f64, fail_at: usize) -> f64 {
    let first = tower(x, 3, NEVER);
    first + tower(x, 6, fail_at)
}

#[test]
fn recursion_that_holds_memory() {
    let (dx, value) = d_built(1.5, NEVER);
    assert_eq!(t_built(1.5, 1.0, NEVER), (value, dx));
    for at in [0, 3, 6] {
        assert_eq!(panic_of(|| d_built(1.5, at)), format!("floor {at}"));
        assert_eq!(panic_of(|| t_built(1.5, 1.0, at)), format!("floor {at}"));
    }
}

#[autodiff_forward(t_made, Dual, Const, Dual)]
fn made(x: &[f64], fail_at: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(1);
    for (i, v) in x.iter().enumerate() {
        assert!(i != fail_at, "made {i}");
        out.push(v.exp());
    }
    out
}

#[autodiff_forward(t_two, 2, Dual, Const, Dual)]
fn two(x: f64, fail: bool) -> f64 {
    let boxed = Box::new([x, x * x, x * x * x]);
    let rows: Vec<Vec<f64>> = (0..3).map(|i| vec![boxed[i]; i + 1]).collect();
    assert!(!fail, "both");
    rows.iter().flatten().sum()
}

#[test]
fn results_that_own_memory_and_several_directions() {
    let (value, tangent) = t_made(&[0.0, 1.0], &[2.0, 0.0], NEVER);
    assert_eq!((value[0], tangent), (1.0, vec![2.0, 0.0]));
    for at in 0..2 {
        assert_eq!(panic_of(|| t_made(&[0.0, 1.0], &[2.0, 0.0], at)), format!("made {at}"));
    }
    assert_eq!(t_two(2.0, 1.0, 10.0, false), [34.0, 45.0, 450.0]);
    assert_eq!(panic_of(|| t_two(2.0, 1.0, 10.0, true)), "both");
}

#[autodiff(d_sorted, Reverse, Duplicated, Const, Active)]
fn sorted(x: &[f64], worst: f64) -> f64 {
    let mut boxes: Vec<(Box<f64>, usize)> = x.iter().enumerate().map(|(i, v)| (Box::new(*v), i)).collect();
    for i in 1..boxes.len() {
        for k in (1..=i).rev() {
            assert!(*boxes[k].0 != worst, "not {worst}");
            if boxes[k].0 < boxes[k - 1].0 {
                boxes.swap(k, k - 1);
            }
        }
    }
    boxes.iter().enumerate().map(|(i, (v, _))| **v * i as f64).sum()
}

#[test]
fn while_elements_move() {
    let x = [3.0, 1.0, 2.0];
    let mut dx = [0.0; 3];
    assert_eq!(d_sorted(&x, &mut dx, 9.0), 8.0);
    assert_eq!(dx, [2.0, 0.0, 1.0]);
    assert_eq!(panic_of(|| d_sorted(&x, &mut [0.0; 3], 2.0)), "not 2");
}

#[cold]
#[inline(never)]
fn fail(held: Vec<f64>, text: &str) -> ! {
    let boxed = Box::new(held[0]);
    panic!("{text} {boxed}")
}

#[autodiff(d_failing, Reverse, Duplicated, Const, Active)]
#[autodiff(t_failing, Forward, Dual, Const, Dual)]
fn failing(x: &[f64], how: u8) -> f64 {
    let squares: Vec<f64> = x.iter().map(|v| v * v).collect();
    match how {
        0 => squares.iter().sum(),
        1 => fail(squares, "moved on"),
        2 => {
            drop(squares);
            panic!("dropped before")
        }
        _ => {
            let copies: Vec<Box<f64>> = squares.iter().map(|v| Box::new(*v)).collect();
            panic!("{} copies of {squares:?}", copies.len())
        }
    }
}

#[test]
fn on_the_way_to_a_panic() {
    assert_eq!(t_failing(&[1.0, 2.0], &[1.0, 0.0], 0), (5.0, 2.0));
    for (how, expected) in [(1, "moved on 1"), (2, "dropped before"), (3, "2 copies of [1.0, 4.0]")] {
        assert_eq!(panic_of(|| d_failing(&[1.0, 2.0], &mut [0.0; 2], how)), expected);
        assert_eq!(panic_of(|| t_failing(&[1.0, 2.0], &[1.0, 0.0], how)), expected);
    }
}

/// Writes its name down when it is dropped, and may panic then.
struct Noted<'a> {
    name: char,
    log: &'a RefCell<String>,
    panics: bool,
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.log.borrow_mut().push(self.name);
        assert!(!self.panics, "in the destructor of {}", self.name);
    }
}

fn noted(name: char, log: &RefCell<String>) -> Noted<'_> {
    Noted { name, log, panics: false }
}

#[inline(never)]
fn inner(x: f64, log: &RefCell<String>, fail: bool) -> f64 {
    let _c = noted('c', log);
    let _d = noted('d', log);
    assert!(!fail, "inner");
    x.sin()
}

#[autodiff(d_ordered, Reverse, Active, Const, Const, Active)]
#[autodiff(t_ordered, Forward, Dual, Const, Const, Dual)]
fn ordered(x: f64, log: &RefCell<String>, fail_at: usize) -> f64 {
    let _a = noted('a', log);
    let held = vec![x; 4];
    let several: Vec<Noted> = "123".chars().map(|name| noted(name, log)).collect();
    let mut sum = 0.0;
    for (i, v) in held.iter().enumerate() {
        let _b = noted('b', log);
        sum += inner(*v, log, i == fail_at);
    }
    drop(several);
    assert!(fail_at != 4, "late");
    sum
}

#[test]
fn destructors_run_once_and_in_order() {
    for (at, order) in [(0, "dcb123a"), (1, "dcbdcb123a"), (4, "dcbdcbdcbdcb123a"), (NEVER, "dcbdcbdcbdcb123a")] {
        let expected = if at < 4 { "inner" } else { "late" };
        let log = RefCell::new(String::with_capacity(64));
        let run = |f: &dyn Fn()| if at == NEVER { f() } else { assert_eq!(panic_of(f), expected) };
        run(&|| assert!(d_ordered(1.0, &log, at).1 > 0.0));
        assert_eq!(log.take(), order);
        log.replace(String::with_capacity(64));
        run(&|| assert!(t_ordered(1.0, 1.0, &log, at).0 > 0.0));
        assert_eq!(log.take(), order);
    }
}

#[autodiff(d_destroyed, Reverse, Active, Const, Active)]
#[autodiff(t_destroyed, Forward, Dual, Const, Dual)]
fn destroyed(x: f64, log: &RefCell<String>) -> f64 {
    let held = vec![Box::new(x); 2];
    let _a = noted('a', log);
    {
        let _b = noted('b', log);
        let _c = Noted { name: 'c', log, panics: *held[1] > 1.0 };
        let _d = noted('d', log);
    }
    *held[0] * *held[1]
}

#[test]
fn a_panic_in_a_destructor() {
    let log = RefCell::new(String::with_capacity(64));
    assert_eq!(d_destroyed(0.5, &log), (1.0, 0.25));
    assert_eq!(log.take(), "dcba");
    log.replace(String::with_capacity(64));
    assert_eq!(panic_of(|| d_destroyed(2.0, &log)), "in the destructor of c");
    assert_eq!(log.take(), "dcba");
    log.replace(String::with_capacity(64));
    assert_eq!(panic_of(|| t_destroyed(2.0, 1.0, &log)), "in the destructor of c");
    assert_eq!(log.take(), "dcba");
}
