use pullback::{autodiff, vjp};

fn f(x: &[f64; 2]) -> f64 {
    x[0] * x[0] * x[1]
}

#[autodiff(dg, Reverse, Duplicated, Active)]
fn g(x: &[f64; 2]) -> f64 {
    let (_, pullback) = vjp(f, x);
    pullback(1.0)[0]
}

fn main() {
    let mut dx = [0.0; 2];
    println!("{:?} {dx:?}", dg(&[2.0, 3.0], &mut dx));
}
