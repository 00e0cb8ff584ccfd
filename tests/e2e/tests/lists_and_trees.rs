//! Recursive structures: as arguments, built inside, and as shadows.

use pullback::{Differentiable, autodiff, make_zero};

#[derive(Differentiable, PartialEq, Debug)]
enum List {
    Nil,
    Cons(f64, Box<List>),
}

fn list(values: &[f64]) -> List {
    values.iter().rev().fold(List::Nil, |rest, value| List::Cons(*value, Box::new(rest)))
}

#[autodiff(d_sum_of_squares, Reverse, Duplicated, Active)]
#[autodiff(t_sum_of_squares, Forward, Dual, Dual)]
fn sum_of_squares(mut list: &List) -> f64 {
    let mut sum = 0.0;
    while let List::Cons(value, rest) = list {
        sum += value * value;
        list = rest;
    }
    sum
}

#[autodiff(d_product, Reverse, Duplicated, Active)]
fn product(list: &List) -> f64 {
    match list {
        List::Nil => 1.0,
        List::Cons(value, rest) => value * product(rest),
    }
}

#[test]
fn a_linked_list_as_the_argument() {
    let values = list(&[1.0, 2.0, 3.0]);
    let mut shadow = make_zero(&values);
    assert_eq!(d_sum_of_squares(&values, &mut shadow), 14.0);
    assert_eq!(shadow, list(&[2.0, 4.0, 6.0]));
    assert_eq!(t_sum_of_squares(&values, &list(&[0.0, 1.0, 0.0])), (14.0, 4.0));
}

#[test]
fn by_recursion() {
    let values = list(&[1.0, 2.0, 3.0]);
    let mut shadow = make_zero(&values);
    assert_eq!(d_product(&values, &mut shadow), 6.0);
    assert_eq!(shadow, list(&[6.0, 3.0, 2.0]));
}

#[autodiff(d_doubled, Reverse, Duplicated)]
fn doubled(mut list: &mut List) {
    while let List::Cons(value, rest) = list {
        *value *= 2.0;
        list = rest;
    }
}

#[test]
fn changed_in_place() {
    let (mut values, mut shadow) = (list(&[1.0, 2.0]), list(&[1.0, 10.0]));
    d_doubled(&mut values, &mut shadow);
    assert_eq!(values, list(&[2.0, 4.0]));
    assert_eq!(shadow, list(&[2.0, 20.0]));
}

#[derive(Differentiable, PartialEq, Debug)]
struct Tree {
    value: f64,
    left: Option<Box<Tree>>,
    right: Option<Box<Tree>>,
}

fn tree(depth: u32, value: f64) -> Tree {
    let child = |v| (depth > 0).then(|| Box::new(tree(depth - 1, v)));
    Tree { value, left: child(value + 0.5), right: if depth == 2 { None } else { child(value - 0.25) } }
}

#[autodiff(d_weight, Reverse, Duplicated, Active)]
#[autodiff(t_weight, Forward, Dual, Dual)]
fn weight(tree: &Tree) -> f64 {
    let left = tree.left.as_deref().map_or(1.0, weight);
    let right = tree.right.as_deref().map_or(2.0, weight);
    tree.value * (left + right).sqrt()
}

#[test]
fn a_tree_as_the_argument() {
    let primal = tree(3, 1.0);
    let mut shadow = make_zero(&primal);
    assert_eq!(d_weight(&primal, &mut shadow), weight(&primal));
    let mut tangent = make_zero(&primal);
    tangent.left.as_mut().unwrap().value = 1.0;
    let (_, derivative) = t_weight(&primal, &tangent);
    pullback_e2e::assert_close(derivative, shadow.left.as_ref().unwrap().value, 1e-13);
    let at = |step: f64| {
        let mut moved = tree(3, 1.0);
        moved.left.as_mut().unwrap().value += step;
        weight(&moved)
    };
    pullback_e2e::assert_close(derivative, (at(1e-6) - at(-1e-6)) / 2e-6, 1e-8);
}

pullback_e2e::differentiated! {
    fn a_list_built_inside(x) {
        let mut values = List::Nil;
        for v in x {
            values = List::Cons(v * v, Box::new(values));
        }
        sum_of_squares(&values)
    } at [1.0, 2.0, 3.0];

    fn a_tree_built_inside(x) {
        fn grow(depth: u32, v: f64) -> Tree {
            let child = |v| (depth > 0).then(|| Box::new(grow(depth - 1, v)));
            Tree { value: v, left: child(v * 1.5), right: child(v.sin()) }
        }
        weight(&grow(3, x[0])) * x[1]
    } at [0.7, 2.0];
}
