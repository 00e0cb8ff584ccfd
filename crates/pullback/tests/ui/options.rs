use pullback::autodiff;

#[autodiff(df, Reverse, strong_zeros, Active, Active)]
fn f(x: f64) -> f64 {
    x
}

#[autodiff(dg, Reverse, fast_math, Active, Active)]
fn g(x: f64) -> f64 {
    x
}

#[autodiff(dh, Reverse, holomorphic, Active, Active)]
fn h(x: f64) -> f64 {
    x
}

#[autodiff(di, Reverse, checkpoint = 4, Active, Active)]
fn i(x: f64) -> f64 {
    x
}

fn main() {}
