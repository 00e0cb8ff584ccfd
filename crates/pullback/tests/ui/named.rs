use pullback::autodiff;

#[autodiff(df, Reverse, weight = Duplicated, return = Active)]
fn f(x: f64, weights: &[f64]) -> f64 {
    x * weights[0]
}

#[autodiff(dg, Reverse, x = Active, x = Const, return = Active)]
fn g(x: f64) -> f64 {
    x
}

#[autodiff(dh, Reverse, x = Active, Active)]
fn h(x: f64) -> f64 {
    x
}

#[autodiff(di, Reverse, x = Duplicated, return = Active)]
fn i(x: &mut f64) {
    *x = 1.0;
}

#[autodiff(dj, Reverse, x = 3, return = Active)]
fn j(x: f64) -> f64 {
    x
}

fn main() {}
