use pullback::jvp;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

fn main() {
    let kept = RefCell::new(Vec::new());
    let x = Rc::new(Cell::new(1.0));
    let keeping = |x: &Rc<Cell<f64>>| {
        kept.borrow_mut().push(x.clone());
        x.get()
    };
    println!("{:?}", jvp(keeping, &x, &x.clone()));
}
