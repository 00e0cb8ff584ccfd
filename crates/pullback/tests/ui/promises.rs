//! What a derivative relies on is promised with `unsafe`, or cannot be said by users.

use pullback::{Differentiable, MakeZero, Path, Sharing, ToZero, make_zero};
use std::borrow::{Borrow, BorrowMut};
use std::rc::Rc;

#[derive(Differentiable, Clone, Copy)]
struct View<'a> {
    all: &'a [f64],
}

/// The gradient would be written to what it refers to.
impl MakeZero for View<'_> {
    fn zero_like(&self, _: &mut Sharing) -> Self {
        *self
    }
}

#[derive(Differentiable)]
struct Lent<'a> {
    all: &'a [f64],
}

/// Another shadow each time it is borrowed.
struct Changing<'a>(Lent<'a>, Lent<'a>, bool);

impl<'a> Borrow<Lent<'a>> for Changing<'a> {
    fn borrow(&self) -> &Lent<'a> {
        &self.0
    }
}

impl<'a> BorrowMut<Lent<'a>> for Changing<'a> {
    fn borrow_mut(&mut self) -> &mut Lent<'a> {
        self.2 = !self.2;
        if self.2 { &mut self.0 } else { &mut self.1 }
    }
}

impl<'a> ToZero for Lent<'a> {
    type Zero = Changing<'a>;
    fn to_zero(&self) -> Changing<'a> {
        Changing(Lent { all: &[] }, Lent { all: self.all }, false)
    }
}

/// What has the address of a value that is gone would be taken for it.
fn shared_by_address() {
    let mut sharing = Sharing::default();
    let _ = Rc::new(1.0).zero_like(&mut sharing);
    let _ = Rc::new(Box::new(1.0)).zero_like(&mut sharing);
}

/// A check writes to spare capacity.
fn check_by_hand(values: &Vec<f64>) {
    let _ = values.check_shadow(values, &Path::argument("values"));
}

fn main() {
    let _ = make_zero(&1.0);
}
