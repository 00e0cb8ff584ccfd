use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active)]
async fn f(x: f64) -> f64 {
    x
}

#[autodiff(dg, Reverse, Active, Active)]
struct G(f64);

fn main() {}
