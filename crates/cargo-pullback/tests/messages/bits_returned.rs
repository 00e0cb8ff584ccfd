//! The bits of two floats leave a function that is not inlined, in one integer.

use pullback::grad;

fn packed(x: &[f64; 2], n: u32) -> u128 {
    if n == 0 { x[0].to_bits() as u128 | (x[1].to_bits() as u128) << 64 } else { packed(x, n - 1) }
}

fn product(x: &[f64; 2]) -> f64 {
    let bits = packed(x, 2);
    f64::from_bits(bits as u64) * f64::from_bits((bits >> 64) as u64)
}

fn main() {
    println!("{:?}", grad(product, &[3.0, 2.0]));
}
