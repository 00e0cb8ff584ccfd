//! Indices that come from arithmetic which goes beyond its numbers: hashes, and small integers without sign.

use pullback::{grad, jvp};
use std::hint::black_box;

/// Both modes agree with differences.
#[track_caller]
fn check(f: impl Fn(&[f64]) -> f64 + Copy, len: usize) {
    let x: Vec<f64> = (0..len).map(|i| 0.2 + 0.11 * ((i * 7) % 10) as f64).collect();
    let gradient = grad(f, &x[..]);
    for i in 0..len {
        let direction: Vec<f64> = (0..len).map(|j| f64::from(i == j)).collect();
        let at = |h: f64| f(&x.iter().zip(&direction).map(|(x, d)| x + h * d).collect::<Vec<f64>>());
        let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
        let tangent = jvp(f, &x[..], &direction[..]).1;
        assert!((gradient[i] - difference).abs() < 1e-6, "reverse mode, {i}: {} for {difference}", gradient[i]);
        assert!((tangent - difference).abs() < 1e-6, "forward mode, {i}: {tangent} for {difference}");
    }
}

/// The sum of cubes of what is found at these indices; then some places are overwritten, so that the reverse sweep must
/// not load them again.
fn cubes(x: &[f64], n: usize, index: impl Fn(usize) -> usize) -> f64 {
    let mut table = [0.5; 256];
    table.iter_mut().zip(x).for_each(|(place, x)| *place = *x);
    let mut sum = 1.0;
    for k in 0..n {
        let value = table[index(k)];
        sum += value * value * value;
    }
    for place in table.iter_mut().skip(1) {
        *place = 7.0;
    }
    sum + table[n % 16]
}

#[test]
fn hashes() {
    let n = black_box(9);
    check(|x: &[f64]| cubes(x, n, |k| (((k & 3) as u32).wrapping_mul(0x9E37_79B9) >> 28) as usize), 16);
    check(|x: &[f64]| cubes(x, n, |k| (((k & 3) as u64).wrapping_mul(0xF000_0000_0000_0001) >> 60) as usize), 16);
    check(|x: &[f64]| cubes(x, n, |k| (((k & 7) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 59) as usize), 32);
    check(|x: &[f64]| cubes(x, n, |k| (((k & 15) as u8).wrapping_mul(24) / 3) as usize), 90);
    check(|x: &[f64]| cubes(x, n, |k| (((k & 3) as u16).wrapping_mul(0x9E37) % 31) as usize), 32);
    check(|x: &[f64]| cubes(x, n, |k| usize::from((k as u8).wrapping_sub(3)).saturating_sub(240)), 20);
}

#[test]
fn one_place_of_a_small_table() {
    let n = black_box(6);
    check(
        |x: &[f64]| {
            let mut w = [0.5; 16];
            w.iter_mut().zip(x).for_each(|(w, x)| *w = *x);
            let mut s = 1.0;
            for k in 0..n as u32 {
                let v = w[((k & 3).wrapping_mul(0x9E37_79B9) >> 28) as usize];
                s += v * v * v;
            }
            w[9] = 7.0;
            s + w[9] * w[n % 16]
        },
        16,
    );
}

#[test]
fn levels() {
    let n = black_box(9);
    check(
        |x: &[f64]| {
            let mut w = [0.5; 32];
            w.iter_mut().zip(x).for_each(|(w, x)| *w = *x);
            let (mut s, mut level) = (1.0, 200u8);
            for k in 0..n {
                let v = w[(level >> 3) as usize];
                s += v * v * v;
                level = match k & 6 {
                    0 => level,
                    2 => 150,
                    _ => 250,
                };
            }
            w[25] = 7.0;
            w[18] = 7.0;
            s + w[25] * w[n % 32] * w[18]
        },
        32,
    );
}

#[test]
fn a_table_of_references() {
    let n = black_box(6usize);
    check(
        |x: &[f64]| {
            let mut places = [[0.5], [1.5], [2.5], [3.5], [4.5], [5.5], [6.5], [7.5]];
            let [a, b, c, d, e, f, g, h] = &mut places;
            let table: [&mut [f64; 1]; 8] = [a, b, c, d, e, f, g, h];
            table[(((n & 3) as u64).wrapping_mul(0xE000_0000_0000_0001) >> 61) as usize][0] = x[0] * x[1];
            places.iter().enumerate().map(|(i, p)| i as f64 * p[0] * p[0]).sum()
        },
        2,
    );
}

#[test]
fn a_switch_on_a_small_number() {
    let level = black_box(200u8);
    check(
        |x: &[f64]| {
            let mut w = [0.5; 256];
            w.iter_mut().zip(x).for_each(|(w, x)| *w = *x);
            let index = match level {
                200 => level as i8 as i32 + 60,
                _ => 3,
            };
            let v = w[index as usize];
            w[4] = 7.0;
            v * v * w[4]
        },
        8,
    );
}
