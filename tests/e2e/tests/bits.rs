//! Floats whose bits are kept as integers, beside integers that are computed.

use pullback::{Differentiable, grad, jvp};
use std::num::NonZeroU64;

fn in_an_array(x: &[f64]) -> f64 {
    let mut bits = [0u64; 3];
    for i in 0..3 {
        bits[(i + 1) % 3] = x[i % x.len()].to_bits();
    }
    bits.iter().enumerate().map(|(i, b)| f64::from_bits(*b).powi(i as i32 + 1)).sum()
}

fn in_a_vector(x: &[f64]) -> f64 {
    let bits: Vec<u64> = x.iter().map(|x| x.to_bits()).collect();
    let mut back = bits.clone();
    back.reverse();
    bits.iter().zip(&back).map(|(a, b)| f64::from_bits(*a) * f64::from_bits(*b).sin()).sum()
}

/// The bits of 1, and of what is next to it, are computed.
fn beside_computed_ones(x: &[f64]) -> f64 {
    let mut bits: Vec<u64> = Vec::new();
    for (i, x) in x.iter().enumerate() {
        bits.push(i as u64 + 1f64.to_bits());
        bits.push((x * 2.0).to_bits());
    }
    bits.iter().map(|b| f64::from_bits(*b).abs().sqrt()).sum()
}

fn power_of_two(n: u64) -> u64 {
    (1023 + n % 3) << 52
}

fn in_boxes(x: &[f64]) -> f64 {
    let mut bits: Vec<Box<u64>> = (0..4).map(|i| Box::new(power_of_two(i + x.len() as u64))).collect();
    *bits[2] = x[0].to_bits();
    bits.swap(0, 2);
    bits.iter().enumerate().map(|(i, b)| f64::from_bits(**b) * x[1] * i as f64).sum()
}

fn chosen(x: &[f64]) -> f64 {
    let mut sum = 0.0;
    for i in 0..4 {
        let bits = if i % 2 == 0 { x[i % x.len()].to_bits() } else { power_of_two(i as u64) };
        sum += f64::from_bits(bits) * x[0];
    }
    sum
}

fn exchanged(x: &[f64]) -> f64 {
    let mut bits = [power_of_two(x.len() as u64), 2f64.to_bits()];
    if x[0] > 0.0 {
        bits[1] = (x[0] * x[0]).to_bits();
    }
    if x[1] < 0.0 {
        bits.swap(0, 1);
    }
    f64::from_bits(bits[0]) * f64::from_bits(bits[1]).sin() * x[0]
}

fn in_single_precision(x: &[f64]) -> f64 {
    let mut bits = [0u32; 4];
    for i in 0..4 {
        bits[i] = if i % 2 == 0 { (x[i % x.len()] as f32).to_bits() } else { (127 + i as u32) << 23 };
    }
    bits.rotate_left(x.len() % 3);
    bits.iter().enumerate().map(|(i, b)| f64::from(f32::from_bits(*b)) * (i as f64 + 1.0)).sum()
}

#[derive(Clone, Copy)]
enum Cell {
    Value(f64),
    Count(u64),
}

fn cells(x: &[f64]) -> Vec<Cell> {
    let cell = |i: usize| if i % 3 == 1 { Cell::Count(i as u64) } else { Cell::Value(x[i % x.len()]) };
    (0..2 * x.len()).map(cell).collect()
}

fn sum(cells: &[Cell]) -> f64 {
    let value = |cell: &Cell| match cell {
        Cell::Value(x) => x.sin(),
        Cell::Count(n) => (n % 7) as f64,
    };
    cells.iter().map(value).sum()
}

/// A number may be computed with where another variant has a float.
fn beside_counts(x: &[f64]) -> f64 {
    let mut cells = cells(x);
    for cell in &mut cells {
        match cell {
            Cell::Value(x) => *x *= *x,
            Cell::Count(n) => *n = (*n + 1).max(3) << 1,
        }
    }
    sum(&cells)
}

fn beside_hashes(x: &[f64]) -> f64 {
    let mut cells = cells(x);
    for cell in &mut cells {
        if let Cell::Count(n) = cell {
            *n = (*n ^ (*n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        }
    }
    sum(&cells)
}

/// Random numbers and powers of two are made of integers by their bits.
fn beside_random_numbers(x: &[f64]) -> f64 {
    let mut cells = cells(x);
    let mut product = 1.0;
    for cell in &mut cells {
        product *= match cell {
            Cell::Value(x) => *x,
            Cell::Count(n) => {
                *n = n.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                f64::from_bits((*n >> 12) | 1f64.to_bits()) + f64::from_bits((1023 + *n % 4) << 52)
            }
        };
    }
    product
}

/// A number of a variant in an `Option`, from a function that is not inlined.
fn first_count(cells: &[Cell], from: usize) -> Option<u64> {
    match cells.get(from)? {
        Cell::Count(n) if *n > 1 => Some(*n),
        _ => first_count(cells, from + 1),
    }
}

fn beside_a_returned_count(x: &[f64]) -> f64 {
    let cells = cells(x);
    sum(&cells) * first_count(&cells, 0).unwrap_or(2) as f64
}

fn bits_of_product(x: &[f64], n: usize) -> u64 {
    if n == 0 { (x[0] * x[1]).to_bits() } else { bits_of_product(x, n - 1) }
}

fn returned(x: &[f64]) -> f64 {
    f64::from_bits(bits_of_product(x, x.len())) * x[2]
}

fn leave_product(x: &[f64], place: &mut u64, n: usize) {
    if n == 0 { *place = (x[0] * x[1]).to_bits() } else { leave_product(x, place, n - 1) }
}

fn left_behind_a_reference(x: &[f64]) -> f64 {
    let mut bits = 0;
    leave_product(x, &mut bits, x.len());
    f64::from_bits(bits).sin()
}

fn sorted(x: &[f64]) -> f64 {
    let mut bits: Vec<(u64, usize)> = x.iter().enumerate().map(|(i, x)| ((x * x).to_bits(), i)).collect();
    bits.sort();
    bits.iter().enumerate().map(|(i, (b, k))| f64::from_bits(*b) * (i + k) as f64).sum()
}

#[derive(Differentiable)]
struct Point {
    x: [f64; 3],
    scale: Option<f64>,
}

macro_rules! tests {
    ($($name:ident)*) => {
        mod derivatives {
            $(
                #[test]
                fn $name() {
                    let x = [1.3, -0.7, 2.1];
                    let gradient = super::grad(|x: &[f64]| super::$name(x), &x[..]);
                    for i in 0..x.len() {
                        let at = |h: f64| {
                            let mut x = x;
                            x[i] += h;
                            super::$name(&x)
                        };
                        // A step that single precision sees.
                        let h = 1.0 / 1024.0;
                        let difference = (at(h) - at(-h)) / (2.0 * h);
                        let mut direction = [0.0; 3];
                        direction[i] = 1.0;
                        let tangent = super::jvp(|x: &[f64]| super::$name(x), &x[..], &direction[..]).1;
                        assert!((tangent - difference).abs() < 1e-3, "{i}: {tangent} for {difference}");
                        assert!((tangent - gradient[i]).abs() < 1e-6, "{i}: {tangent} and {}", gradient[i]);
                    }
                }
            )*
        }
    };
}

tests! {
    in_an_array in_a_vector beside_computed_ones in_boxes chosen exchanged in_single_precision beside_counts
    beside_hashes beside_random_numbers beside_a_returned_count returned left_behind_a_reference sorted
}

#[derive(Differentiable, Debug, PartialEq, Clone, Copy)]
enum Entry {
    Value(f64),
    Key(NonZeroU64),
}

/// The argument has an enum, and the bits have nothing to do with it.
#[test]
fn beside_an_enum() {
    let f = |p: &Point| beside_computed_ones(&p.x) * p.scale.unwrap_or(1.0);
    let point = Point { x: [1.3, -0.7, 2.1], scale: Some(2.0) };
    let (_, tangent) = jvp(f, &point, &Point { x: [1.0, 0.0, 0.0], scale: Some(0.0) });
    assert!((tangent - 2.0 / 2.6f64.sqrt()).abs() < 1e-9, "{tangent}");
}

/// Zero would not be a value of its type.
#[test]
fn a_number_that_a_caller_sees_is_that_of_the_primal() {
    let entry = |x: &f64| {
        if *x > 0.0 { Entry::Value(x * x) } else { Entry::Key(NonZeroU64::MAX.saturating_mul(NonZeroU64::MIN)) }
    };
    assert_eq!(jvp(entry, &3.0, &1.0), (Entry::Value(9.0), Entry::Value(6.0)));
    let hashed = |x: &f64| {
        let hash = (*x * 1e3) as i64 as u64 ^ 0x9E37_79B9_7F4A_7C15;
        [Entry::Key(NonZeroU64::new(hash | 1).expect("it is odd")), Entry::Value(x * x)]
    };
    let (value, tangent) = jvp(hashed, &3.0, &1.0);
    assert_eq!(tangent, [value[0], Entry::Value(6.0)]);
}
