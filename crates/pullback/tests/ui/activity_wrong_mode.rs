use pullback::autodiff;

#[autodiff(df, Reverse, Dual, Dual, Active)]
fn f(x: f64, y: &[f64]) -> f64 {
    x * y[0]
}

#[autodiff(dg, Forward, Active, Dual)]
fn g(x: f64) -> f64 {
    x
}

#[autodiff(dh, Forward, Dual, Active)]
fn h(x: f64) -> f64 {
    x
}

#[autodiff(di, Reverse, Active, DualOnly)]
fn i(x: f64) -> f64 {
    x
}

#[autodiff(dj, Reverse, ActiveOnly, Active)]
fn j(x: f64) -> f64 {
    x
}

fn main() {}
