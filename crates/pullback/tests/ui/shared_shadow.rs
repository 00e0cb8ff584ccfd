use pullback::{Differentiable, autodiff};

struct Plain(f64);

#[autodiff(df, Reverse, Duplicated, Active)]
fn f(x: &Plain) -> f64 {
    x.0
}

#[derive(Differentiable)]
struct View<'a> {
    values: &'a [f64],
}

#[autodiff(dg, Reverse, Duplicated, Active)]
fn g(view: &View<'_>) -> f64 {
    view.values[0]
}

#[autodiff(dh, Reverse, Active, Active)]
fn h(view: View<'_>) -> f64 {
    view.values[0]
}

fn main() {}
