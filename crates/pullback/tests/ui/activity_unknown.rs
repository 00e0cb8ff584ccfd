use pullback::autodiff;

#[autodiff(df, Reverse, Actve, Active)]
fn f(x: f64) -> f64 {
    x
}

#[autodiff(dg, Reverse, Foo, Active)]
fn g(x: f64) -> f64 {
    x
}

fn main() {}
