use pullback::autodiff;

#[autodiff(df, Reverse, Duplicated, Active)]
fn f(x: &Option<f64>) -> f64 {
    x.map_or(0.0, |x| x * x * x)
}

#[autodiff(dg, Reverse, Active, Active)]
fn g(x: f64) -> f64 {
    let mut dx = Some(0.0);
    df(&Some(x), &mut dx);
    dx.unwrap_or_default()
}

fn main() {
    println!("{:?}", dg(2.0));
}
