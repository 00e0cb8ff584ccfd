use pullback::autodiff;

fn square(x: f64) -> f64 {
    x * x
}

#[autodiff(df, Reverse, Active, Const, Active)]
fn f(x: f64, step: fn(f64) -> f64) -> f64 {
    step(x) + step(2.0 * x)
}

fn main() {
    println!("{:?}", df(1.0, square));
}
