//! A `static` has one address, in a derivative as in its function.

use pullback::{autodiff, grad, jvp};
use std::ptr;

static HERE: f64 = 1.0;
pub static SEEN: [f64; 3] = [1.0, 2.0, 3.0];
static EMPTY: [u64; 2] = [0, 0];
static LINKS: [&f64; 2] = [&HERE, &SEEN[2]];

#[autodiff(d_known, Reverse, Active, Const, Active)]
#[autodiff(t_known, Forward, Dual, Const, Dual)]
fn known(x: f64, p: &f64) -> f64 {
    if ptr::eq(p, &HERE) {
        x * x
    } else if ptr::eq(p, &SEEN[1]) {
        x * x * x
    } else if ptr::eq(p, LINKS[1]) {
        5.0 * x
    } else {
        x
    }
}

#[test]
fn are_known_by_their_addresses() {
    let other = 1.0;
    for (p, derivative) in [(&HERE, 6.0), (&SEEN[1], 27.0), (&SEEN[2], 5.0), (&other, 1.0)] {
        assert_eq!(d_known(3.0, p), (derivative, known(3.0, p)));
        assert_eq!(t_known(3.0, 1.0, p), (known(3.0, p), derivative));
    }
}

#[inline(never)]
fn address_of_a_static() -> usize {
    (&raw const EMPTY).addr()
}

#[test]
fn have_one_address() {
    let function = |x: &f64| x * if (&raw const EMPTY).addr() == address_of_a_static() { 2.0 } else { 3.0 };
    assert_eq!((grad(function, &1.0), jvp(function, &1.0, &1.0)), (2.0, (2.0, 2.0)));
}

/// A vector that points to a `static` as long as it is empty, as those of some crates do.
struct Thin(*mut [u64; 2], Vec<f64>);

impl Thin {
    fn new(filled: bool) -> Thin {
        let empty = (&raw const EMPTY).cast_mut();
        Thin(if filled { Box::into_raw(Box::new([1, 1])) } else { empty }, Vec::new())
    }
}

impl Drop for Thin {
    fn drop(&mut self) {
        if !ptr::eq(self.0, &EMPTY) {
            // SAFETY: it was made of a box.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
}

#[test]
fn are_not_given_back() {
    for filled in [false, true] {
        let function = |x: &f64| {
            let mut thin = Thin::new(filled);
            thin.1.push(x * x);
            thin.1[0]
        };
        assert_eq!((grad(function, &3.0), jvp(function, &3.0, &1.0)), (6.0, (9.0, 6.0)));
    }
}

/// What a table holds is known all the same.
#[test]
fn are_constants() {
    let function = |x: &[f64; 3]| x.iter().zip(&SEEN).map(|(x, w)| x * w).sum::<f64>();
    assert_eq!(grad(function, &[0.5; 3]), SEEN);
}
