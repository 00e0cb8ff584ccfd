//! What is written to a cell by a name that is not known, and what a function without derivative writes there.

use pullback::{autodiff, grad, non_differentiable};
use std::cell::Cell;
use std::rc::Rc;

struct Holder<'a>(&'a Cell<f64>);

#[autodiff(d_reset, Reverse, Duplicated, Const, Active, Active)]
#[autodiff(t_reset, Forward, Dual, Const, Dual, Dual)]
fn reset(of: &Cell<f64>, holder: &Holder<'_>, x: f64) -> f64 {
    holder.0.set(5.0);
    of.get() * x
}

#[non_differentiable]
fn unseen(holder: &Holder<'_>) {
    holder.0.set(5.0);
}

#[autodiff(d_reset_unseen, Reverse, Duplicated, Const, Active, Active)]
fn reset_unseen(of: &Cell<f64>, holder: &Holder<'_>, x: f64) -> f64 {
    unseen(holder);
    of.get() * x
}

struct Log<'a>(&'a Cell<usize>, &'a Cell<f64>);

// Of this no error is said: the argument has no float in a cell.
#[autodiff(d_logged, Reverse, Duplicated, Const, Active, Active)]
fn logged(of: &(f64, Cell<usize>), log: &Log<'_>, x: f64) -> f64 {
    log.0.set(log.0.get() + 1);
    log.1.set(2.5);
    of.0 * x
}

fn main() {
    let (cell, mut shadow) = (Cell::new(3.0), Cell::new(0.0));
    println!("{}", d_reset(&cell, &mut shadow, &Holder(&cell), 2.0).1);
    println!("{:?}", t_reset(&cell, &Cell::new(1.0), &Holder(&cell), 2.0, 0.0));
    println!("{}", d_reset_unseen(&cell, &mut shadow, &Holder(&cell), 2.0).1);
    let same = Rc::new(Cell::new(3.0));
    let other = same.clone();
    let f = move |of: &Rc<Cell<f64>>| {
        other.set(5.0);
        of.get() * 2.0
    };
    println!("{:?}", grad(f, &same));
    let log = Log(&Cell::new(0), &Cell::new(0.0));
    println!("{:?}", d_logged(&(1.0, Cell::new(2)), &mut (0.0, Cell::new(0)), &log, 2.0));
}
