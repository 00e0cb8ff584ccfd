use pullback::{Differentiable, autodiff};

#[derive(Differentiable, Clone, Copy)]
enum Cell {
    Count(u64),
    Weight(f64),
    Half(f32),
}

#[autodiff(df, Reverse, Duplicated, Duplicated, Const)]
fn f(from: &[Cell], to: &mut [Cell]) {
    to.copy_from_slice(from);
}

fn main() {
    let (a, mut b) = ([Cell::Weight(1.0), Cell::Count(1)], [Cell::Half(1.0), Cell::Count(1)]);
    let (mut da, mut db) = (a, b);
    df(&a, &mut da, &mut b, &mut db);
}
