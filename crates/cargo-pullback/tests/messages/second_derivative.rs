use pullback::autodiff;

#[autodiff(df, Reverse, Active, ActiveOnly)]
fn f(x: f64) -> f64 {
    x * x * x
}

#[autodiff(ddf, Forward, Dual, Dual)]
fn g(x: f64) -> f64 {
    df(x)
}

fn main() {
    println!("{:?}", ddf(2.0, 1.0));
}
