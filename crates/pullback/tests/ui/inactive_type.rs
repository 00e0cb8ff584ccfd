use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active, Active)]
fn f(x: f64, n: usize) -> f64 {
    x * n as f64
}

#[autodiff(dg, Reverse, Active, Duplicated, Active)]
fn g(x: f64, names: &[String]) -> f64 {
    x * names.len() as f64
}

#[autodiff(dh, Forward, Dualv, Dual)]
fn h(x: &f64) -> f64 {
    *x
}

fn main() {}
