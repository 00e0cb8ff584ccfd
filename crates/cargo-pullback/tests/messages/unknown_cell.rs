//! What a closure captures may be the cell that is stored to: its derivative would be lost, without a word.

use pullback::grad;
use std::cell::Cell;
use std::rc::Rc;

fn main() {
    let cell = Rc::new(Cell::new(3.0));
    let same = cell.clone();
    let f = move |x: &(Rc<Cell<f64>>, f64)| {
        x.0.set(x.1 * x.1);
        same.get() * x.1
    };
    println!("{:?}", grad(f, &(cell, 2.0)));
}
