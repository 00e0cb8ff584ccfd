use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active)]
fn f(x: &[f64]) -> f64 {
    x[0]
}

#[autodiff(dg, Reverse, Active, Active)]
fn g(x: &mut f64) -> f64 {
    *x
}

type Hidden<'a> = &'a [f64];

#[autodiff(dh, Reverse, Active, Active)]
fn h(x: Hidden<'_>) -> f64 {
    x[0]
}

fn main() {}
