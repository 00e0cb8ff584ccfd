use pullback::{grad, non_differentiable};
use std::ptr;

fn stored(x: &[f64; 2]) -> f64 {
    let mut product = 0.0;
    unsafe {
        ptr::write_volatile(&mut product, x[0] * x[1]);
        ptr::read_volatile(&product)
    }
}

#[non_differentiable]
fn renew(x: &mut f64) {
    unsafe { ptr::write_volatile(x, 3.0) };
}

fn renewed(x: &[f64; 2]) -> f64 {
    let mut product = x[0] * x[1];
    renew(&mut product);
    product + x[0]
}

fn main() {
    println!("{:?} {:?}", grad(stored, &[2.0, 3.0]), grad(renewed, &[2.0, 3.0]));
}
