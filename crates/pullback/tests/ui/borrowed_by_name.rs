//! What a result borrows from is not told by the names of types.

use pullback::{Differentiable, autodiff};

#[derive(Differentiable)]
struct Values {
    all: [f64; 2],
}

/// Not the one of the standard library.
#[derive(Differentiable)]
struct Vec<'a> {
    all: &'a [f64],
}

#[allow(mismatched_lifetime_syntaxes)]
impl Values {
    #[autodiff(t_view, Forward, self = Dual, return = Dual)]
    fn view(&self) -> (Vec, &f64) {
        (Vec { all: &self.all }, &self.all[0])
    }
}

#[allow(mismatched_lifetime_syntaxes)]
#[autodiff(t_first, Forward, Dual, Dual)]
fn first(values: Vec) -> &f64 {
    &values.all[0]
}

#[autodiff(t_all, Forward, Dual, Dual)]
fn all(x: &[f64]) -> impl Iterator<Item = &f64> {
    x.iter()
}

fn main() {}
