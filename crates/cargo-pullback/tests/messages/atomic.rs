use pullback::autodiff;
use std::sync::atomic::{AtomicU64, Ordering};

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    let cell = AtomicU64::new(x.to_bits());
    let old = cell.swap((2.0 * x).to_bits(), Ordering::Relaxed);
    f64::from_bits(old)
}

fn main() {
    println!("{:?}", df(1.0));
}
