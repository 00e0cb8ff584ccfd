//! The markers, which the driver would replace: each answers with what a test has put there for the function of that
//! name.

use pullback::abi::{Mode, Request};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;

/// What stands for the derivative of a function, and for what the driver says of it.
#[derive(Clone, Copy)]
pub struct StandIn {
    derivative: *const (),
    reverse_sweep: *const (),
    saves: bool,
    disowns: bool,
    renews: bool,
    yields: bool,
}

thread_local! {
    static STAND_INS: RefCell<HashMap<(&'static str, Mode), StandIn>> = RefCell::default();
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

impl StandIn {
    /// The function at this address. It has the derivative's signature, with a pointer for each place.
    pub fn new(derivative: *const ()) -> Self {
        StandIn { derivative, reverse_sweep: null(), saves: false, disowns: false, renews: false, yields: false }
    }

    /// The derivative is the forward sweep, and this is the reverse sweep.
    pub fn then(self, reverse_sweep: *const ()) -> Self {
        StandIn { reverse_sweep, ..self }
    }

    /// It has the caller's shadows saved.
    pub fn saving(self) -> Self {
        StandIn { saves: true, ..self }
    }

    /// It may drop owners that have no shadow.
    pub fn disowning(self) -> Self {
        StandIn { disowns: true, ..self }
    }

    /// It may put values where there were none.
    pub fn renewing(self) -> Self {
        StandIn { renews: true, ..self }
    }

    /// Others may change pointers in cells while it runs.
    pub fn yielding(self) -> Self {
        StandIn { yields: true, ..self }
    }

    /// Stand in for the derivative of the function `name`, in this test.
    pub fn of(self, name: &'static str, mode: Mode) {
        STAND_INS.with_borrow_mut(|all| all.insert((name, mode), self));
    }

    fn asked_by(request: *const Request) -> Self {
        // SAFETY: an attribute's request is a constant.
        let request = unsafe { &*request };
        let key = (request.name.get(), request.mode);
        STAND_INS.with_borrow(|all| *all.get(&key).unwrap_or_else(|| panic!("nothing stands in for {key:?}")))
    }
}

/// How often a derivative was asked for in this test.
pub fn asked() -> usize {
    ASKED.get()
}

fn answer(is_so: bool) -> *const () {
    if is_so { asked as *const () } else { null() }
}

#[unsafe(no_mangle)]
extern "C" fn __pullback_marker(_: *const (), request: *const Request) -> *const () {
    ASKED.set(ASKED.get() + 1);
    StandIn::asked_by(request).derivative
}

#[unsafe(no_mangle)]
extern "C" fn __pullback_later(_: *const (), request: *const Request) -> *const () {
    StandIn::asked_by(request).reverse_sweep
}

#[unsafe(no_mangle)]
extern "C" fn __pullback_saves(_: *const (), request: *const Request) -> *const () {
    answer(StandIn::asked_by(request).saves)
}

#[unsafe(no_mangle)]
extern "C" fn __pullback_disowns(_: *const (), request: *const Request) -> *const () {
    answer(StandIn::asked_by(request).disowns)
}

#[unsafe(no_mangle)]
extern "C" fn __pullback_renews(_: *const (), request: *const Request) -> *const () {
    answer(StandIn::asked_by(request).renews)
}

#[unsafe(no_mangle)]
extern "C" fn __pullback_yields(_: *const (), request: *const Request) -> *const () {
    answer(StandIn::asked_by(request).yields)
}

/// What a panic says.
pub fn message<R>(run: impl FnOnce() -> R) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(run)) else { panic!("nothing has panicked") };
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a text")).to_owned(),
    }
}
