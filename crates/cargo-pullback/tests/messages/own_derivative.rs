use pullback::autodiff;

#[autodiff(df, Reverse, Active, Const, Active)]
fn f(x: f64, n: u32) -> f64 {
    if n == 0 { x * x * x } else { df(x, n - 1).0 }
}

fn main() {
    println!("{:?}", df(2.0, 2));
}
