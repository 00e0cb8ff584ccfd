//! Pullbacks that are the transpose of a rule for forward mode.

use std::cell::Cell;
use std::thread::LocalKey;

/// That a tangent is being transposed. If it is computed with the rule's own function, its transpose asks for itself.
pub struct Inside(&'static LocalKey<Cell<bool>>);

impl Inside {
    /// Begin.
    ///
    /// # Panics
    /// If it has begun already.
    pub fn enter(inside: &'static LocalKey<Cell<bool>>, rule: &str) -> Self {
        if inside.replace(true) {
            asks_for_itself(rule);
        }
        Inside(inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

#[cold]
fn asks_for_itself(rule: &str) -> ! {
    panic!(
        "the tangent of rule `{rule}` is computed by the function that it is for, so its transpose would need itself\n\
         help: leave `transpose` out, and write a rule for reverse mode"
    )
}
