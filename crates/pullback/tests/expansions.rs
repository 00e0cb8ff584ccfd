//! What the attributes accept. Derivatives are not called here: that needs the driver; see `tests/e2e`.
#![cfg_attr(not(pullback), allow(dead_code))]

use pullback::{Differentiable, autodiff, autodiff_forward, autodiff_reverse, make_zero};

#[autodiff(df, Reverse, Active, Duplicated, Active)]
fn f(x: f32, y: &f32) -> f32 {
    x * x + 3.0 * y
}
