use pullback::{autodiff, rrule};

fn square(x: f64) -> f64 {
    x * x
}

#[rrule(for = square)]
fn first(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (x * x, move |dy| 2.0 * x * dy)
}

#[rrule(for = square)]
fn second(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (x * x, move |dy| 2.0 * dy * x)
}

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    square(x)
}

fn main() {
    println!("{:?}", df(1.0));
}
