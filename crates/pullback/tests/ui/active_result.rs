use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> i32 {
    x as i32
}

#[autodiff(dg, Reverse, Active, Active)]
fn g(x: f64) -> (f64, f64) {
    (x, x)
}

#[autodiff(dh, Reverse, Active, Active)]
fn h(x: f64) -> Vec<f64> {
    vec![x]
}

type Hidden = [f64; 2];

#[autodiff(di, Reverse, Active, Active)]
fn i(x: f64) -> Hidden {
    [x, x]
}

#[autodiff(dj, Forward, Dual, Dualv)]
fn j(x: f64) -> f64 {
    x
}

fn main() {}
