//! Functions with a body that cannot be differentiated, and a rule for one mode: only that rule is spoken of.

use pullback::{autodiff, frule, jvp, rrule};

fn inverse_root(x: f32) -> f32 {
    let y = f32::from_bits(0x5f37_59df - (x.to_bits() >> 1));
    y * (1.5 - 0.5 * x * y * y)
}

#[rrule(for = inverse_root)]
fn inverse_root_rrule(x: f32) -> (f32, impl Fn(f32) -> f32) {
    let y = inverse_root(x);
    (y, move |dy| dy * -0.5 * y / x)
}

fn inverse(x: f32) -> f32 {
    f32::from_bits(0x7ef3_11c7 - x.to_bits())
}

#[frule(for = inverse)]
fn inverse_frule(x: f32, dx: f32) -> (f32, f32) {
    let y = inverse(x);
    (y, -dx * y * y)
}

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f32) -> f32 {
    x * inverse(x)
}

fn main() {
    println!("{:?}", jvp(|x: &f32| x * inverse_root(*x), &4.0, &1.0));
    println!("{:?}", df(4.0));
}
