use pullback::{autodiff, autodiff_forward};

#[autodiff(df, Backward, Active, Active)]
fn f(x: f64) -> f64 {
    x
}

#[autodiff(dg, Revers, Active, Active)]
fn g(x: f64) -> f64 {
    x
}

#[autodiff(dh)]
fn h(x: f64) -> f64 {
    x
}

#[autodiff(di, Reverse(0), Active, Active)]
fn i(x: f64) -> f64 {
    x
}

#[autodiff(dj, Forward(two), Dual, Dual)]
fn j(x: f64) -> f64 {
    x
}

#[autodiff_forward(dk, 0, Dual, Dual)]
fn k(x: f64) -> f64 {
    x
}

#[autodiff(dl, Forward(1000), Dual, Dual)]
fn l(x: f64) -> f64 {
    x
}

fn main() {}
