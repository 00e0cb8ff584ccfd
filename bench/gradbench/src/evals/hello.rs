//! `hello`: the square of a number.

use crate::protocol::{Eval, evaluate_plain};
use pullback::autodiff;

pub const EVAL: Eval = Eval {
    name: "hello",
    functions: &[
        ("square", |input| evaluate_plain(input, |x| square(*x))),
        ("double", |input| evaluate_plain(input, |x| double(*x))),
    ],
};

#[autodiff(double, Reverse, Active, ActiveOnly)]
fn square(x: f64) -> f64 {
    x * x
}
