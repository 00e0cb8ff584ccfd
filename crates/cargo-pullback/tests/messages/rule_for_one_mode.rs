use pullback::{autodiff, rrule};

unsafe extern "C" {
    fn j0(x: f64) -> f64;
    fn j1(x: f64) -> f64;
}

#[rrule(for = j0, abi = "C")]
fn j0_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    // SAFETY: a function of numbers.
    unsafe { (j0(x), move |dy| -dy * j1(x)) }
}

#[autodiff(df, Forward, Dual, Dual)]
fn f(x: f64) -> f64 {
    unsafe { j0(x) }
}

fn main() {
    println!("{:?}", df(1.0, 1.0));
}
