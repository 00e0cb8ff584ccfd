//! A derivative may be called where its function may be: where the CPU has the target features.

use pullback::autodiff;

#[autodiff(d_square, Reverse, Active, Active)]
#[target_feature(enable = "avx2")]
fn square(x: f64) -> f64 {
    x * x
}

#[autodiff(d_cube, Reverse, Active, Active)]
#[cfg_attr(all(), inline, target_feature(enable = "avx2"))]
fn cube(x: f64) -> f64 {
    x * x * x
}

#[target_feature(enable = "avx2,fma")]
#[autodiff(d_fourth, Forward, Dual, Dual)]
unsafe fn fourth(x: f64) -> f64 {
    x * x * x * x
}

#[target_feature(enable = "avx2,fma")]
fn with_features() {
    d_square(1.0);
    d_cube(1.0);
    d_fourth(1.0, 1.0);
}

fn main() {
    d_square(1.0);
    d_cube(1.0);
    d_fourth(1.0, 1.0);
    unsafe { with_features() }
}
