use pullback::autodiff;

unsafe extern "C" {
    fn mystery(x: f64) -> f64;
}

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    let y = 2.0 * x;
    unsafe { mystery(y) }
}

fn main() {
    println!("{:?}", df(1.0));
}
