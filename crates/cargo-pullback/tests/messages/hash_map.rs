use pullback::autodiff;
use std::collections::HashMap;

#[autodiff(df, Reverse, Active, Const, Active)]
fn f(x: f64, n: usize) -> f64 {
    let mut seen = HashMap::new();
    for i in 0..n {
        *seen.entry(i % 3).or_insert(0.0) += x * x * i as f64;
    }
    let mut t = 0.0;
    for i in 0..3 {
        t += seen.get(&i).copied().unwrap_or(0.0) * (i + 1) as f64;
    }
    t
}

fn main() {
    println!("{:?}", df(1.5, 7));
}
