//! The largest and the smallest of many values: reverse mode looks for the one that was chosen, forward mode carries
//! its tangent along.

use pullback::{Differentiable, grad, jvp, value_and_grad};
use std::hint::black_box;

/// The gradient is what forward mode gives in each direction, and the value is the function's. Lengths are not known
/// when the program is compiled, so that there are loops.
#[track_caller]
fn check(f: impl Fn(&[f64]) -> f64 + Copy, x: &[f64], expected: &[f64]) {
    let (value, gradient) = value_and_grad(f, black_box(x));
    assert_eq!(value.to_bits(), f(x).to_bits(), "the value at {x:?}");
    let direction = |i: usize| (0..x.len()).map(|j| f64::from(i == j)).collect::<Vec<f64>>();
    let tangents: Vec<f64> = (0..x.len()).map(|i| jvp(f, black_box(x), &direction(i)[..]).1).collect();
    assert_eq!(gradient, expected, "reverse mode at {x:?}");
    assert_eq!(tangents, expected, "forward mode at {x:?}");
}

fn largest(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn smallest(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::INFINITY, f64::min)
}

#[test]
fn the_one_that_is_chosen_has_the_derivative() {
    check(largest, &[1.0, 3.0, 2.0, -4.0, 0.5], &[0.0, 1.0, 0.0, 0.0, 0.0]);
    check(smallest, &[1.0, 3.0, 2.0, -4.0, 0.5], &[0.0, 0.0, 0.0, 1.0, 0.0]);
    check(|x: &[f64]| largest(x) * smallest(x), &[1.0, 3.0, 2.0, -4.0, 0.5], &[0.0, -4.0, 0.0, 3.0, 0.0]);
}

#[test]
fn the_first_of_several_is_chosen() {
    check(largest, &[1.0, 3.0, 3.0, -4.0, 3.0], &[0.0, 1.0, 0.0, 0.0, 0.0]);
    check(smallest, &[2.0; 4], &[1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn what_is_not_a_number_is_passed_over() {
    check(largest, &[f64::NAN, 1.0, f64::NAN, 2.0], &[0.0, 0.0, 0.0, 1.0]);
    check(smallest, &[f64::NAN; 4], &[0.0; 4]);
    check(largest, &[0.0, f64::INFINITY, 1.0, f64::INFINITY], &[0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn the_first_value_of_a_fold_counts_too() {
    let clipped = |x: &[f64]| x[1..].iter().copied().fold(x[0] * x[0], f64::max);
    check(clipped, &[3.0, 5.0, 7.0], &[6.0, 0.0, 0.0]);
    check(clipped, &[2.0, 3.0, 4.0], &[4.0, 0.0, 0.0]);
    check(clipped, &[1.0, 5.0, 7.0], &[0.0, 0.0, 1.0]);
}

#[test]
fn values_that_are_computed_on_the_way() {
    let furthest = |x: &[f64]| x.iter().map(|v| (v - 1.0) * (v + 2.0)).fold(0.0, f64::max).sqrt();
    check(furthest, &[0.5, 2.0, -3.0, 1.5], &[0.0, 1.25, 0.0, 0.0]);
    let widest = |x: &[f64]| x.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f64::max);
    check(widest, &[1.0, 4.0, -2.0, 0.0], &[0.0, 1.0, -1.0, 0.0]);
}

#[test]
fn in_a_loop_with_the_memory_changed_between() {
    let f = |x: &[f64]| {
        let (mut a, mut sum) = (x.to_vec(), 0.0);
        for _ in 0..3 {
            let most = largest(&a);
            sum += most;
            for a in &mut a {
                *a = *a * most - 2.0;
            }
        }
        sum
    };
    let x = [1.1, 0.7, 0.3];
    let gradient = grad(f, black_box(&x[..]));
    let directions = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let tangents = directions.map(|direction| jvp(f, black_box(&x[..]), &direction[..]).1);
    for (a, b) in gradient.iter().zip(tangents) {
        assert!((a - b).abs() < 1e-14, "{gradient:?} and {tangents:?}");
    }
    assert!(gradient[0] != 0.0, "{gradient:?}");
}

#[test]
fn a_position_that_is_used_for_something_else_too() {
    #[derive(Differentiable)]
    struct Weighted {
        values: Vec<f32>,
        weights: Vec<f32>,
    }
    let w = Weighted { values: vec![1.0, 5.0, 2.0], weights: vec![2.0, 3.0, 4.0] };
    let f = |w: &Weighted| {
        let largest = w.values.iter().copied().fold(f32::MIN, f32::max);
        let count = w.values.iter().filter(|v| **v == largest).count();
        w.weights.iter().map(|v| v * largest).sum::<f32>() + count as f32
    };
    let (value, gradient) = value_and_grad(f, &w);
    assert_eq!((value, gradient.values, gradient.weights), (46.0, vec![0.0, 9.0, 0.0], vec![5.0; 3]));
}

/// The loop of whoever writes it out, with the comparison of his choice.
fn chosen(x: &[f64], first: f64, better: impl Fn(f64, f64) -> bool) -> f64 {
    let mut best = first;
    for &x in x {
        if better(x, best) {
            best = x;
        }
    }
    best
}

#[test]
fn an_if_in_a_loop_is_a_maximum_too() {
    let (above, below) = (|x: &[f64]| chosen(x, -9.0, |x, m| x > m), |x: &[f64]| chosen(x, 9.0, |x, m| m > x));
    check(above, &[1.0, 3.0, 3.0, -4.0, 3.0], &[0.0, 1.0, 0.0, 0.0, 0.0]);
    check(below, &[1.0, 3.0, -4.0, -4.0, 3.0], &[0.0, 0.0, 1.0, 0.0, 0.0]);
    check(above, &[f64::NAN, 1.0, f64::NAN, 2.0], &[0.0, 0.0, 0.0, 1.0]);
    check(above, &[-10.0, f64::NAN], &[0.0, 0.0]);
    check(|x: &[f64]| chosen(&x[1..], x[0], |x, m| x > m), &[-0.0, 0.0, -1.0], &[1.0, 0.0, 0.0]);
    check(|x: &[f64]| chosen(&x[1..], x[0], |x, m| x > m), &[f64::NAN, 0.0, 1.0], &[1.0, 0.0, 0.0]);
    check(|x: &[f64]| chosen(x, -1.0, |x, m| x > m), &[-0.0, 0.0, -2.0], &[1.0, 0.0, 0.0]);
}

#[test]
fn which_of_equals_is_chosen_is_for_the_comparison_to_say() {
    let last = |x: &[f64]| chosen(x, -9.0, |x, m| x >= m);
    check(last, &[1.0, 3.0, 3.0, -4.0, 3.0, 2.0], &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let last_or_none = |x: &[f64]| chosen(x, 9.0, |x, m| !(m < x));
    check(last_or_none, &[1.0, 1.0, f64::NAN, 3.0], &[0.0, 0.0, 0.0, 1.0]);
    check(|x: &[f64]| chosen(x, 3.0, |x, m| x != m), &[1.0, 3.0, 3.0], &[0.0, 1.0, 0.0]);
}

#[test]
fn what_else_the_comparison_decides() {
    let with_place = |x: &[f64]| {
        let (mut most, mut place) = (0.0, 0);
        for (i, x) in x.iter().enumerate() {
            let square = x * x;
            if square > most {
                (most, place) = (square, i);
            }
        }
        most * x[(place + 1) % x.len()]
    };
    check(with_place, &[1.0, -3.0, 5.0, 3.0], &[0.0, 0.0, 30.0, 25.0]);
    let only_place = |x: &[f64]| {
        let (mut most, mut place) = (0.0, 0);
        for (i, x) in x.iter().enumerate() {
            if *x > most {
                (most, place) = (*x, i);
            }
        }
        x[place] * x[place]
    };
    check(only_place, &[1.0, 3.0, 2.0], &[0.0, 6.0, 0.0]);
    let with_weight = |x: &[f64]| {
        let (mut most, mut weight) = (0.0, 1.0);
        for x in x.chunks_exact(2) {
            if x[0] > most {
                (most, weight) = (x[0], x[1]);
            }
        }
        most * weight
    };
    check(with_weight, &[1.0, 2.0, 3.0, 5.0, 2.0, 7.0], &[0.0, 0.0, 5.0, 3.0, 0.0, 0.0]);
    let ascent = |x: &[f64]| {
        let mut most = f64::NEG_INFINITY;
        for &x in x {
            if !(x > most) {
                break;
            }
            most = x;
        }
        most
    };
    check(ascent, &[1.0, 3.0, 2.0, 7.0], &[0.0, 1.0, 0.0, 0.0]);
    let bounded = |x: &[f64]| {
        let (mut most, mut i) = (0.0, 0);
        loop {
            let is_more = x[i] > most;
            most = if is_more { x[i] } else { most };
            i += 1 + usize::from(is_more);
            if i >= x.len() {
                return most;
            }
        }
    };
    check(bounded, &[1.0, 9.0, 2.0, 9.0, 1.0], &[0.0, 0.0, 1.0, 0.0, 0.0]);
}
