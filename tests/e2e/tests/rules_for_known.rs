//! The user's own rules for functions that Pullback knows, by its table or by rules of its own: they are used, and say
//! ten times as much.

use pullback::{autodiff, rrule, scalar_rule};
use pullback_e2e::copies;
use std::ffi::c_int;

mod c {
    unsafe extern "C" {
        pub safe fn tan(x: f64) -> f64;
        pub safe fn y0f(x: f32) -> f32;
    }
}

scalar_rule!(extern "C" c::tan(x) => r; d/dx = 10.0 * (1.0 + r * r));
scalar_rule!(f64::atan(x) => r; d/dx = 10.0 / (1.0 + x * x));
scalar_rule!(f64::exp(x) => r; d/dx = 10.0 * r);
scalar_rule!(f64::powi(x, n: c_int) => r; d/dx = 10.0 * f64::from(n) * x.powi(n - 1));
scalar_rule!(extern "C" c::y0f(x: f32) => r; d/dx = 10.0);

#[autodiff(d_known, Reverse, Active, Active, Active, Active, Active)]
#[autodiff(f_known, Forward, Dual, Dual, Dual, Dual, Dual)]
fn known(tan: f64, atan: f64, exp: f64, powi: f64) -> f64 {
    tan.tan() + atan.atan() + [exp].map(f64::exp)[0] + powi.powi(3)
}

#[autodiff(d_default, Reverse, Active, Active)]
#[autodiff(f_default, Forward, Dual, Dual)]
fn by_default(x: f32) -> f32 {
    c::y0f(x)
}

#[test]
fn rules_of_the_users_own() {
    let (tan, atan, exp, powi, _) = d_known(0.0, 1.0, 0.0, 2.0);
    assert_eq!([tan, atan, exp, powi], [10.0, 5.0, 10.0, 120.0]);
    assert_eq!(f_known(0.0, 1.0, 1.0, 2.0, 0.0, 0.0, 2.0, 1.0).1, 10.0 + 10.0 + 120.0);
    assert_eq!((d_default(1.0).0, f_default(1.0, 1.0).1), (10.0, 10.0));
}

#[rrule(for = copies::square, T = [f64])]
fn square_rrule<T>(x: T) -> (T, impl Fn(T) -> T)
where
    T: Copy + std::ops::Mul<Output = T> + From<f32> + pullback::MakeZero,
{
    (copies::square(x), move |d| T::from(20.0) * x * d)
}

#[autodiff(d_elsewhere, Reverse, Active, Active)]
fn elsewhere(x: f64) -> f64 {
    copies::square_of_exponential(x)
}

/// Another crate has copies of its own of these functions.
#[test]
fn copies_in_another_crate() {
    assert_eq!(d_elsewhere(0.0), (200.0, 1.0));
}
