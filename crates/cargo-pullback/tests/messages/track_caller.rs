use pullback::{autodiff, rrule};

#[track_caller]
fn half(x: f64) -> f64 {
    assert!(x > 0.0);
    x * 0.5
}

#[rrule(for = half)]
fn half_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (half(x), |dy| dy * 0.5)
}

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    half(x)
}

fn main() {
    println!("{:?}", df(2.0));
}
