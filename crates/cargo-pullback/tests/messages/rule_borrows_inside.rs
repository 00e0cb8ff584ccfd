use pullback::rules::{Memory, NoTangent};
use pullback::{autodiff, rrule};

struct Window<'a> {
    weights: &'a [usize],
}

fn weighted(window: Window, x: f64) -> f64 {
    x * window.weights[0] as f64
}

#[rrule(for = weighted)]
fn weighted_rrule(_: Memory, window: Window<'_>, x: f64) -> (f64, impl Fn(f64) -> (NoTangent, f64)) {
    let weights = window.weights;
    (weighted(window, x), move |dy| (NoTangent, weights[0] as f64 * dy))
}

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    let mut weights = vec![0, 4];
    let mut sum = 0.0;
    for i in 0..3 {
        weights[0] = i + 1;
        sum += weighted(Window { weights: &weights }, x);
    }
    sum
}

fn main() {
    println!("{:?}", df(1.0));
}
