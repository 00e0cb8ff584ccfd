use pullback::autodiff;
use std::sync::Mutex;

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    let total = Mutex::new(0.0);
    *total.lock().unwrap() += x * x;
    total.into_inner().unwrap()
}

fn main() {
    println!("{:?}", df(1.0));
}
