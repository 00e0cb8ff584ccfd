//! A variable of the thread, in a crate of its own.

use std::cell::RefCell;

thread_local! {
    /// What was noted.
    pub static NOTES: RefCell<Vec<usize>> = RefCell::default();
}

/// Note something.
pub fn note(what: usize) {
    NOTES.with(|notes| notes.borrow_mut().push(what));
}
