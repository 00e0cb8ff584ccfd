//! Arithmetic on the bits of a float that lies in an enum.

use pullback::autodiff;

#[autodiff(d_twice, Reverse, Duplicated, Active)]
fn twice(x: &Option<f64>) -> f64 {
    match x {
        Some(x) => f64::from_bits(x.to_bits() + (1 << 52)),
        None => 0.0,
    }
}

fn main() {
    let mut gradient = Some(0.0);
    println!("{:?} {gradient:?}", d_twice(&Some(3.0), &mut gradient));
}
