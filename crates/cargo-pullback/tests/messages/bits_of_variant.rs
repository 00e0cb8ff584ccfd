//! The same where another variant has a number, which may be computed with.

use pullback::grad;

enum Entry {
    Value(f64),
    Count(u64),
}

fn doubled(x: &[f64]) -> f64 {
    let mut entries = vec![];
    for (i, x) in x.iter().enumerate() {
        entries.push(if i % 2 == 0 { Entry::Value(*x) } else { Entry::Count(i as u64) });
    }
    for entry in &mut entries {
        match entry {
            Entry::Value(x) => *x = f64::from_bits(x.to_bits() + (1 << 52)),
            Entry::Count(n) => *n += 1,
        }
    }
    let value = |entry: &Entry| match entry {
        Entry::Value(x) => *x,
        Entry::Count(n) => *n as f64,
    };
    entries.iter().map(value).sum()
}

fn main() {
    println!("{:?}", grad(|x: &[f64]| doubled(x), &[1.5, 2.5][..]));
}
