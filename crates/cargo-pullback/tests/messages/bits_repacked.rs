//! The optimiser takes the payload of an enum apart, byte by byte: another variant has a number or a bool in its place.

use pullback::grad;

enum Inner {
    X(f64),
    Flag(bool),
    Weighted(char, f64),
}

enum Entry {
    Number(u64),
    Nested(Inner),
}

fn value(entry: &Entry) -> f64 {
    match entry {
        Entry::Number(n) => *n as f64,
        Entry::Nested(Inner::X(x)) => *x,
        Entry::Nested(Inner::Flag(flag)) => *flag as u8 as f64,
        Entry::Nested(Inner::Weighted(weight, x)) => *x * *weight as u32 as f64,
    }
}

fn entry(i: usize, x: f64) -> Entry {
    match i {
        0 => Entry::Number((x * 100.0) as u64),
        1 => Entry::Nested(Inner::X(x)),
        2 => Entry::Nested(Inner::Flag(x > 2.0)),
        _ => Entry::Nested(Inner::Weighted('a', x)),
    }
}

fn entries(x: &[f64]) -> f64 {
    let mut all = vec![];
    for i in 0..x.len() {
        all.push(entry(i, x[i]));
    }
    all.iter().map(value).sum()
}

fn main() {
    println!("{:?}", grad(|x: &[f64]| entries(x), &[1.5, 2.5, 3.5, 4.5][..]));
}
