//! Derivatives of derivatives of programs whose first derivatives have an odd shape. Each shape was found by random
//! programs.

use pullback::{autodiff, grad, jvp};
use std::collections::{BTreeMap, BTreeSet};

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The product of the Hessian of `f` at `x` with `v` is `expected`, by all four pairs of modes.
#[track_caller]
fn check<F: Fn(&[f64]) -> f64 + Copy>(f: F, x: &[f64], v: &[f64], expected: &[f64]) {
    let close = |a: f64, b: f64, what: &str| {
        assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs().max(b.abs())), "{what}: {a}, should be {b}");
    };
    let by_reverse = |x: &[f64]| dot(&grad(f, x), v);
    let by_forward = |x: &[f64]| jvp(f, x, v).1;
    let (reverse_reverse, reverse_forward) = (grad(by_reverse, x), grad(by_forward, x));
    for (i, expected) in expected.iter().enumerate() {
        close(reverse_reverse[i], *expected, "reverse over reverse");
        close(reverse_forward[i], *expected, "reverse over forward");
    }
    close(jvp(by_reverse, x, v).1, dot(expected, v), "forward over reverse");
    close(jvp(by_forward, x, v).1, dot(expected, v), "forward over forward");
}

/// `x³` below 2, else `2x²`: the loop is left at two places.
fn grow(x: f64) -> f64 {
    let mut y = x;
    loop {
        if y > 4.0 {
            return y;
        }
        y *= x;
        if y > 8.0 {
            return 2.0 * y;
        }
    }
}

/// The reverse sweep of such a loop has two ways in, and still has to be a loop.
#[test]
fn a_loop_that_is_left_at_two_places() {
    check(|x| grow(x[0]), &[1.8], &[1.0], &[6.0 * 1.8]);
    check(|x| grow(x[0]), &[3.0], &[1.0], &[4.0]);
}

#[inline(never)]
fn first_above(x: &[f64], limit: f64) -> f64 {
    let mut product = 1.0;
    'rows: for i in 0..x.len() {
        for j in 0..x.len() {
            if x[j] < 0.0 {
                continue 'rows;
            }
            product *= x[i] * x[j];
            if product > limit {
                break 'rows;
            }
        }
        if product < 0.01 {
            return product * product;
        }
    }
    product
}

#[test]
fn loops_in_loops_with_many_ways_out() {
    let (x, y) = (1.5, 2.0);
    // (x·x)(x·y)(y·x)(y·y) = x⁴·y⁴
    let hessian = [
        12.0 * x * x * y * y * y * y + 16.0 * x * x * x * y * y * y,
        16.0 * x * x * x * y * y * y + 12.0 * x * x * x * x * y * y,
    ];
    check(|x| first_above(x, 1e9), &[x, y], &[1.0, 1.0], &hessian);
    // Left after (x·x)(x·y) = x³·y.
    check(|x| first_above(x, 5.0), &[x, y], &[1.0, 1.0], &[6.0 * x * y + 3.0 * x * x, 3.0 * x * x]);
    // Left after x².
    check(|x| first_above(x, 1.0), &[x, y], &[1.0, 1.0], &[2.0, 0.0]);
    // Each row is ended by the second number: (x·x)(−y·x).
    check(|x| first_above(&[x[0], -x[1]], 1e9), &[x, y], &[1.0, 1.0], &[-6.0 * x * y - 3.0 * x * x, -3.0 * x * x]);
    // Small after the first row, and squared: x⁶·y².
    let (x, y) = (0.1f64, 0.2);
    let hessian = [30.0 * x.powi(4) * y * y + 12.0 * x.powi(5) * y, 12.0 * x.powi(5) * y + 2.0 * x.powi(6)];
    check(|x| first_above(x, 1e9), &[x, y], &[1.0, 1.0], &hessian);
}

#[inline(never)]
fn rest(x: &[f64], from: usize) -> &[f64] {
    &x[from..]
}

#[inline(never)]
fn halves(x: &[f64]) -> (&[f64], &[f64]) {
    x.split_at(x.len() / 2)
}

/// In the inner derivative a slice is returned with its shadow.
#[test]
fn slices_that_are_returned() {
    let product = |x: &[f64]| {
        let y = rest(x, 1);
        y[0] * y[0] * x[0]
    };
    check(product, &[3.0, 5.0], &[1.0, 0.5], &[5.0, 13.0]);
    let both = |x: &[f64]| {
        let (a, b) = halves(x);
        a[0] * b[0] * b[0]
    };
    check(both, &[3.0, 5.0], &[1.0, 0.5], &[5.0, 13.0]);
}

/// Writes its argument to memory, and returns what does not depend on it.
#[inline(never)]
fn keep(x: f64, places: &mut [f64; 4]) -> f64 {
    let mut own = [x; 4];
    places.swap_with_slice(&mut own);
    own[1]
}

#[test]
fn a_function_that_keeps_what_is_active() {
    let f = |x: &[f64]| {
        let mut places = [3.0; 4];
        let three = keep(x[0], &mut places);
        x[0] * x[0] * three * places[2]
    };
    check(f, &[1.5], &[1.0], &[18.0 * 1.5]);
}

/// More values are kept for the reverse sweep of a call than lie in one record.
#[inline(never)]
fn chain(x: f64) -> f64 {
    macro_rules! four {
        ($y:ident) => {
            four!(@ $y);
            four!(@ $y);
            four!(@ $y);
            four!(@ $y);
        };
        (@ $y:ident) => {
            $y = $y * $y / $y;
            if $y < 0.5 {
                $y += $y;
            }
        };
    }
    macro_rules! sixteen {
        ($y:ident) => {
            four!($y);
            four!($y);
            four!($y);
            four!($y);
        };
    }
    let mut y = x;
    sixteen!(y);
    sixteen!(y);
    sixteen!(y);
    sixteen!(y);
    y * y
}

#[test]
fn a_function_that_keeps_very_much() {
    check(|x| chain(x[0]), &[1.5], &[1.0], &[2.0]);
}

/// The nodes of a tree hold numbers of 16 bits between pointers; the indices in them depend on comparisons of inputs.
#[test]
fn indices_in_a_tree() {
    let cubes = |x: &[f64]| {
        let large: BTreeSet<usize> = x.iter().enumerate().filter(|(_, v)| **v > 1.0).map(|(i, _)| i).collect();
        large.iter().map(|i| x[*i] * x[*i] * x[*i]).sum::<f64>()
    };
    check(cubes, &[0.5, 2.0, 3.0], &[1.0, 1.0, 0.0], &[0.0, 12.0, 0.0]);
    let inserted = |x: &[f64]| {
        let mut counts = BTreeMap::new();
        for v in x {
            *counts.entry(*v as usize).or_insert(0_usize) += 1;
        }
        x.iter().map(|v| v * v * counts[&(*v as usize)] as f64).sum::<f64>()
    };
    check(inserted, &[2.5, 2.0, 3.0], &[1.0, 1.0, 1.0], &[4.0, 4.0, 2.0]);
}

/// What a function without derivative has made has no shadow, and its copies have none.
#[test]
fn clones_of_strings_beside_floats() {
    #[derive(Clone)]
    enum Item {
        Float(f64),
        Floats(Vec<f64>),
        Name(String),
    }
    let cloned = |x: &[f64]| {
        let mut items = vec![];
        for i in 0..x.len() {
            items.push(match i % 3 {
                0 => Item::Float(x[i]),
                1 => Item::Floats(vec![x[i]]),
                _ => Item::Name(format!("the {i}th")),
            });
        }
        let value = |item: &Item| match item {
            Item::Float(x) => x * x,
            Item::Floats(x) => x[0].powi(3),
            Item::Name(name) => name.len() as f64,
        };
        items.clone().iter().map(value).sum::<f64>()
    };
    check(cloned, &[1.0, 2.0, 3.0, 4.0], &[1.0; 4], &[2.0, 12.0, 0.0, 2.0]);
}

#[autodiff(d_tripled, Reverse, Duplicated, Active)]
fn tripled(mut a: Vec<f64>) -> f64 {
    a[0] *= 3.0;
    a[0] * a[0]
}

/// Sums in the shadow of what an argument by value owns would be numbers without tangents.
#[test]
fn sums_beside_a_gradient_that_is_differentiated() {
    let gradient = |x: &[f64], sum: f64| {
        let mut d = vec![sum];
        d_tripled(x.to_vec(), &mut d);
        d[0]
    };
    assert_eq!(jvp(|x: &[f64]| gradient(x, 0.0), &[2.0][..], &[1.0][..]), (36.0, 18.0));
    let panicked = std::panic::catch_unwind(|| jvp(|x: &[f64]| gradient(x, 1.0), &[2.0][..], &[1.0][..])).unwrap_err();
    let said = panicked.downcast_ref::<String>().map(String::as_str).or(panicked.downcast_ref::<&str>().copied());
    assert!(said.unwrap().contains("help: give a shadow of zeros"), "{said:?}");
}

/// Strings and skipped fields in the tangents of a derivative that is differentiated itself.
mod parts_of_their_own {
    use pullback::{Differentiable, autodiff, jvp};

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct Named {
        x: f64,
        #[pullback(skip)]
        name: Box<str>,
        text: String,
    }

    fn named(x: f64, name: &str) -> Named {
        Named { x, name: Box::from(name), text: name.to_owned() }
    }

    #[autodiff(t_changed, Forward, Dual, Dual)]
    fn changed(of: &mut Named) -> Option<Named> {
        of.x *= of.x;
        of.name = Box::from("changed");
        of.text.push_str(" text");
        Some(of.clone())
    }

    #[autodiff(t_outer, Forward, Dual, Dual)]
    fn outer(x: f64) -> (f64, Named) {
        let (mut of, mut tangent) = (named(x * x, "a"), named(x, "a"));
        let (y, dy) = t_changed(&mut of, &mut tangent);
        let (z, dz) = jvp(|x: &f64| named(x * x * x, "inner"), &x, &x);
        (y.unwrap().x * dy.unwrap().x + z.x * dz.x, tangent)
    }

    #[test]
    fn are_put_in_inside_and_outside() {
        let ((y, of), (dy, tangent)) = t_outer(2.0, 1.0);
        // 2 x⁷ + 3 x⁶
        assert_eq!((y, dy), (448.0, 896.0 + 576.0));
        let like = |x| Named { x, name: Box::from("changed"), text: "a text".to_owned() };
        assert_eq!((of, tangent), (like(16.0), like(24.0)));
    }
}
