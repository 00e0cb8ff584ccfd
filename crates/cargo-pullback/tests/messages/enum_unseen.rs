use pullback::{Differentiable, autodiff};

#[derive(Clone, Differentiable)]
enum Cell {
    Number(f64),
    Text(String),
}

#[autodiff(df, Reverse, Duplicated, Duplicated, Const)]
fn f(from: &Cell, to: &mut Cell) {
    *to = from.clone();
}

fn main() {
    let (mut d_from, mut to, mut d_to) = (Cell::Number(0.0), Cell::Text(String::new()), Cell::Text(String::new()));
    df(&Cell::Number(1.0), &mut d_from, &mut to, &mut d_to);
}
