use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    std::thread::spawn(move || x * x).join().unwrap()
}

fn main() {
    println!("{:?}", df(1.0));
}
