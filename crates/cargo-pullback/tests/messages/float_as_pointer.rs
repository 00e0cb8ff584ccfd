//! A word that is a float, or a pointer where the value has other owners: the optimiser reads it as a pointer.

use pullback::autodiff;
use std::cell::Cell;
use std::rc::Rc;

#[autodiff(d_moved, Reverse, Duplicated, Duplicated)]
fn moved(out: &mut Option<Cell<(f64, usize)>>, of: Rc<Option<Cell<(f64, usize)>>>) {
    *out = match Rc::try_unwrap(of) {
        Ok(content) => content,
        Err(_) => None,
    }
}

#[autodiff(d_unwrapped, Reverse, Active, Duplicated, Active)]
fn unwrapped(x: f64, of: Rc<Option<Cell<(f64, usize)>>>) -> f64 {
    match Rc::try_unwrap(of) {
        Ok(content) => x * content.map_or(1.0, |cell| cell.get().0),
        Err(_) => 0.0,
    }
}

fn main() {
    let content = |value| Rc::new(Some(Cell::new((value, 4))));
    println!("{:?}", d_unwrapped(2.0, content(3.0), &mut content(0.0)));
    let (mut out, mut d_out) = (None, Some(Cell::new((1.0, 4))));
    d_moved(&mut out, &mut d_out, content(3.0), &mut content(0.0));
}
