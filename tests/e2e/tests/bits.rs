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

tests! { in_an_array in_a_vector beside_computed_ones in_boxes chosen exchanged in_single_precision }

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
