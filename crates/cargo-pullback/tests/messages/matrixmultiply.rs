//! A product of matrices, without Pullback's rules for it.

use pullback::autodiff;

#[autodiff(d_product, Reverse, Duplicated, Active)]
fn product(x: &[f64; 4]) -> f64 {
    let mut c = [0.0; 4];
    unsafe { matrixmultiply::dgemm(2, 2, 2, 1.0, x.as_ptr(), 2, 1, x.as_ptr(), 2, 1, 0.0, c.as_mut_ptr(), 2, 1) };
    c[0] + c[3]
}

fn main() {
    println!("{}", d_product(&[1.0, 2.0, 3.0, 4.0], &mut [0.0; 4]));
}
