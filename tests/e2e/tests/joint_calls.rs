//! Recursive functions whose value and gradient are computed jointly, and some that only look like them.

use pullback::{autodiff, grad, hvp, jvp, value_and_grad};
use pullback_e2e::{assert_all_close, assert_close, finite_differences};
use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The determinant of the last rows in some columns, as many as there are rows.
fn minor(rows: &[f64], ell: usize, columns: &mut [usize]) -> f64 {
    let (row, below) = rows.split_at(ell);
    let mut determinant = 0.0;
    for j in 0..columns.len() {
        columns.swap(0, j);
        let entry = row[columns[0]];
        let cofactor = match &mut columns[1..] {
            [] => 1.0,
            [column] => below[*column],
            others => minor(below, ell, others),
        };
        let term = entry * cofactor;
        determinant += if j.is_multiple_of(2) { term } else { -term };
    }
    columns.rotate_left(1);
    determinant
}

#[autodiff(d_determinant, Reverse, Duplicated, Const, Active)]
#[autodiff(d_determinant_2, Reverse(2), Duplicated, Const, Active)]
#[autodiff(d_determinant_strong, Reverse, Duplicated, Const, Active, strong_zero)]
fn determinant(a: &[f64], ell: usize) -> f64 {
    let mut columns: Vec<usize> = (0..ell).collect();
    minor(a, ell, &mut columns)
}

fn matrix(ell: usize) -> Vec<f64> {
    (0..ell * ell).map(|i| ((7 * i * i + 3 * i) % 37) as f64 / 37.0 + 0.1).collect()
}

#[test]
fn determinants() {
    for ell in 1..6 {
        let a = matrix(ell);
        let expected = finite_differences(|a| determinant(a, ell), &a);
        // What is there stays there.
        let mut gradient: Vec<f64> = (0..ell * ell).map(|k| k as f64).collect();
        assert_eq!(d_determinant(&a, &mut gradient, ell).to_bits(), determinant(&a, ell).to_bits());
        gradient.iter_mut().enumerate().for_each(|(k, g)| *g -= k as f64);
        assert_all_close(&gradient, &expected, 1e-6);
        let (mut g, mut h) = (vec![0.0; ell * ell], vec![0.0; ell * ell]);
        d_determinant_2(&a, [&mut g, &mut h], ell, [1.0, -2.0]);
        assert_all_close(&g, &expected, 1e-6);
        g.iter_mut().for_each(|g| *g *= -2.0);
        assert_all_close(&h, &g, 1e-14);
        let mut g = vec![0.0; ell * ell];
        d_determinant_strong(&a, &mut g, ell);
        assert_all_close(&g, &expected, 1e-6);
    }
}

#[test]
fn derivatives_of_it() {
    let (a, ell) = (matrix(4), black_box(4));
    let f = |a: &[f64]| determinant(a, ell);
    let direction: Vec<f64> = (0..16).map(|k| (1.7 * f64::from(k)).cos()).collect();
    let slope = grad(f, &a[..]).iter().zip(&direction).map(|(g, d)| g * d).sum::<f64>();
    assert_close(jvp(f, &a[..], &direction[..]).1, slope, 1e-11);
    let step = 1e-5;
    let at = |by: f64| grad(f, &a.iter().zip(&direction).map(|(x, d)| x + by * d).collect::<Vec<f64>>()[..]);
    let differences: Vec<f64> = at(step).iter().zip(at(-step)).map(|(a, b)| (a - b) / (2.0 * step)).collect();
    assert_all_close(&hvp(f, &a[..], &direction[..]), &differences, 1e-6);
    // Reverse mode over reverse mode.
    let twice = |a: &[f64]| {
        let mut gradient = vec![0.0; 16];
        d_determinant(a, &mut gradient, ell);
        gradient.iter().zip(&direction).map(|(g, d)| g * d).sum::<f64>()
    };
    assert_all_close(&grad(twice, &a[..]), &differences, 1e-6);
}

/// The sum over all ways of `n` steps, which panics after so many of them.
#[inline(never)]
fn ways(x: &[f64], scale: &(f64, f32), n: usize, left: &Cell<u32>) -> f64 {
    assert!(left.get() > 0, "too many steps");
    left.set(left.get() - 1);
    if n == 0 {
        return scale.0 * x[0];
    }
    let mut sum = 0.0;
    for k in 0..2 {
        let weight = x[k] * f64::from(scale.1);
        sum += weight * ways(&x[k..], scale, n - 1, left);
    }
    sum
}

#[autodiff(d_all_ways, Reverse, Duplicated, Duplicated, Const, Const, Active)]
#[autodiff(d_all_ways_2, Reverse(2), Duplicated, Duplicated, Const, Const, Active)]
fn all_ways(x: &[f64], scale: &(f64, f32), n: usize, left: &Cell<u32>) -> f64 {
    ways(x, scale, n, left)
}

/// A panic deep down, when much has been added to the gradient: it is taken back.
#[test]
fn a_panic_leaves_the_gradient_alone() {
    let (x, scale) = ([0.5, 1.5, -0.7, 0.3, 1.1], (0.7, 1.5));
    let before = ([0.5, 1.0, f64::NAN, -0.0, 3.0].map(f64::to_bits), (7.0, 8.0));
    for steps in [1, 2, 5, 8, 14] {
        let (mut dx, mut d_scale) = (before.0.map(f64::from_bits), before.1);
        let run = || d_all_ways(&x, &mut dx, &scale, &mut d_scale, 3, &Cell::new(steps));
        let failed = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
        assert_eq!(failed.downcast_ref::<&str>(), Some(&"too many steps"));
        assert_eq!((dx.map(f64::to_bits), d_scale), before, "after {steps} steps");
        let (mut dx, mut d_scale) = ([before.0.map(f64::from_bits); 2], [before.1; 2]);
        let ([a, b], [c, d]) = (&mut dx, &mut d_scale);
        let run = || d_all_ways_2(&x, [a, b], &scale, [c, d], 3, &Cell::new(steps), [1.0, 2.0]);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        assert_eq!((dx.map(|dx| dx.map(f64::to_bits)), d_scale), ([before.0; 2], [before.1; 2]));
    }
    let (mut dx, mut d_scale) = ([0.0; 5], (0.0, 0.0));
    d_all_ways(&x, &mut dx, &scale, &mut d_scale, 3, &Cell::new(15));
    assert_all_close(&dx, &finite_differences(|x| all_ways(x, &scale, 3, &Cell::new(15)), &x), 1e-6);
}

#[derive(Clone, Debug, PartialEq, pullback::Differentiable)]
struct Tree {
    weight: f64,
    values: Vec<f64>,
    children: Vec<Tree>,
}

/// The sum of `weight · Σ values²` over the nodes, each scaled by the weights above it.
fn sum(tree: &Tree) -> f64 {
    let mut sum = 0.0;
    for value in &tree.values {
        sum += value * value;
    }
    for child in &tree.children {
        sum += sum_of(child);
    }
    tree.weight * sum
}

#[inline(never)]
fn sum_of(tree: &Tree) -> f64 {
    sum(tree)
}

#[autodiff(d_sum_tree, Reverse, Duplicated, Active)]
fn sum_tree(tree: &Tree) -> f64 {
    sum(tree) / 2.0
}

fn tree(depth: u32, number: f64) -> Tree {
    let children = if depth == 0 { 0 } else { 2 + depth % 2 };
    Tree {
        weight: number.sin() + 1.5,
        values: (0..depth + 1).map(|k| number + f64::from(k)).collect(),
        children: (0..children).map(|k| tree(depth - 1, 0.7 * number + f64::from(k))).collect(),
    }
}

#[test]
fn trees() {
    fn gradient(tree: &Tree, factor: f64) -> Tree {
        let below: f64 = tree.values.iter().map(|v| v * v).sum::<f64>() + tree.children.iter().map(sum).sum::<f64>();
        Tree {
            weight: factor * below,
            values: tree.values.iter().map(|v| 2.0 * v * factor * tree.weight).collect(),
            children: tree.children.iter().map(|c| gradient(c, factor * tree.weight)).collect(),
        }
    }
    fn flat(tree: &Tree, all: &mut Vec<f64>) {
        all.push(tree.weight);
        all.extend(&tree.values);
        tree.children.iter().for_each(|c| flat(c, all));
    }
    let tree = tree(3, 0.3);
    let mut found = pullback::make_zero(&tree);
    assert_close(d_sum_tree(&tree, &mut found), sum_tree(&tree), 1e-15);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    flat(&found, &mut a);
    flat(&gradient(&tree, 0.5), &mut b);
    assert_all_close(&a, &b, 1e-12);
}

/// A number that is passed down, and one that comes back.
#[inline(never)]
fn tower(x: f64, data: &[f32], n: usize) -> f64 {
    if n == 0 {
        return x * x;
    }
    let weight = f64::from(data[n % data.len()]);
    let inner = tower(x.sin() / weight, data, n - 1);
    weight * x + 0.5 * inner
}

#[autodiff(d_descend, Reverse, Active, Duplicated, Const, Active)]
fn descend(x: f64, data: &[f32], n: usize) -> f64 {
    3.0 * tower(x, data, n)
}

#[test]
fn numbers_that_are_passed_down() {
    let data = [1.5_f32, 2.5, 3.5];
    for n in 0..6 {
        let mut d_data = [0.0_f32; 3];
        let (value, d_x) = {
            let (d_x, value) = d_descend(0.8, &data, &mut d_data, n);
            (value, d_x)
        };
        assert_close(value, descend(0.8, &data, n), 1e-15);
        let step = 1e-6;
        assert_close(d_x, (descend(0.8 + step, &data, n) - descend(0.8 - step, &data, n)) / (2.0 * step), 1e-8);
        for (k, d) in d_data.iter().enumerate() {
            let at = |by: f32| {
                let mut data = data;
                data[k] += by;
                descend(0.8, &data, n)
            };
            let step = 2.0_f32.powi(-10);
            assert_close(f64::from(*d), (at(step) - at(-step)) / (2.0 * f64::from(step)), 1e-4);
        }
    }
}

/// The first result is a factor of the second: it is not known when the first is computed.
#[inline(never)]
fn product(x: &[f64]) -> f64 {
    match x {
        [] => 1.0,
        [one] => *one,
        _ => {
            let (a, b) = x.split_at(x.len() / 2);
            product(a) * product(b) + a[0]
        }
    }
}

/// The second call is known ahead, the first is not; and what is only compared has no cotangent.
#[inline(never)]
fn mixed(x: &[f64], n: usize) -> f64 {
    if n == 0 {
        return x[0];
    }
    let first = mixed(&x[1..], n - 1);
    let second = mixed(x, n - 1);
    if first > 0.3 { first * x[1] + second } else { second - x[0] }
}

#[test]
fn what_is_not_known() {
    let x: Vec<f64> = (0..7).map(|k| (0.9 * f64::from(k) + 0.4).sin()).collect();
    for n in 1..7 {
        let (value, gradient) = value_and_grad(product, black_box(&x[..n]));
        assert_eq!(value.to_bits(), product(&x[..n]).to_bits());
        assert_all_close(&gradient, &finite_differences(product, &x[..n]), 1e-6);
    }
    for n in 0..5 {
        let f = |x: &[f64]| mixed(x, black_box(n));
        assert_all_close(&grad(f, &x[..]), &finite_differences(f, &x), 1e-6);
    }
}
