use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    let mut y = x;
    unsafe { std::arch::asm!("addsd {y}, {y}", y = inout(xmm_reg) y) };
    y * x
}

fn main() {
    println!("{:?}", df(1.0));
}
