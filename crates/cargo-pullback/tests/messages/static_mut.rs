use pullback::autodiff;

static mut LAST: f64 = 0.0;

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    unsafe {
        LAST = x * x;
        LAST + x
    }
}

fn main() {
    println!("{:?} {}", df(1.0), unsafe { LAST });
}
