//! The pullback between the two sweeps. A closure that need not be dropped is kept as it is, at its own size; any other
//! one belongs to the tape, and its address is kept.

use crate::abi::Kept;
use crate::rt::Tape;
use std::borrow::Borrow;
use std::marker::PhantomData;
use std::mem::{align_of, needs_drop, size_of};

/// What is kept of a closure.
pub const fn kept_closure<C>() -> Kept {
    if needs_drop::<C>() {
        Kept { size: size_of::<*mut Option<C>>(), align: align_of::<*mut Option<C>>() }
    } else {
        Kept { size: size_of::<C>(), align: align_of::<C>() }
    }
}

/// Keep a closure.
///
/// # Safety
/// `tape` is a tape that nobody else uses, and `place` may be written as [`kept_closure`] says.
#[inline(always)]
pub unsafe fn store_closure<C>(tape: *mut Tape, place: *mut u8, closure: C) {
    // SAFETY: S30, asked of the caller.
    unsafe {
        if needs_drop::<C>() {
            place.cast::<*mut Option<C>>().write((*tape).own(Some(closure)));
        } else if size_of::<C>() > 0 {
            place.cast::<C>().write(closure);
        }
    }
}

/// What becomes of what a rule's argument refers to where it may be overwritten: it is copied if it can be, with
/// [`NoCopy`] for what cannot. So a rule that takes no notice of its [`Memory`](super::Memory) is right, too.
#[derive(Debug)]
pub struct CopyOf<T: ?Sized>(PhantomData<T>);

impl<T: ToOwned + ?Sized> CopyOf<T> {
    /// It can be.
    pub const IS_COPIED: bool = true;

    /// What an argument refers to, as long as the tape is there: itself if it stays as it is, else a copy.
    ///
    /// # Safety
    /// `tape` is a tape that nobody else uses, and the reference is not used any more when it is dropped.
    #[inline(always)]
    pub unsafe fn lasting<const STAYS: bool>(tape: *mut Tape, value: &T) -> &T {
        if STAYS {
            return value;
        }
        // SAFETY: S31, asked of the caller; the copy stays where it is until the tape drops it.
        unsafe { (*(*tape).own(value.to_owned())).borrow() }
    }
}

/// A type of which there are no copies: the engine sees to it that it stays as it is.
pub trait NoCopy<T: ?Sized> {
    /// It cannot be.
    const IS_COPIED: bool = false;

    /// Itself.
    ///
    /// # Safety
    /// It stays as it is as long as the tape is there.
    #[inline(always)]
    unsafe fn lasting<const STAYS: bool>(_: *mut Tape, value: &T) -> &T {
        value
    }
}

impl<T: ?Sized> NoCopy<T> for CopyOf<T> {}

/// The closure that is kept at `place`, to be called.
///
/// # Safety
/// [`store_closure`] has written there, and the tape has not been dropped.
///
/// # Panics
/// If a closure that has to be dropped is taken a second time.
#[inline(always)]
pub unsafe fn take_closure<C>(place: *const u8, rule: &str) -> C {
    // SAFETY: S30, asked of the caller. A closure that need not be dropped can be left where it is, too.
    unsafe {
        if needs_drop::<C>() {
            match (*place.cast::<*mut Option<C>>().read()).take() {
                Some(closure) => closure,
                None => called_twice(rule),
            }
        } else if size_of::<C>() > 0 {
            place.cast::<C>().read()
        } else {
            std::ptr::dangling::<C>().read()
        }
    }
}

#[cold]
fn called_twice(rule: &str) -> ! {
    panic!(
        "the pullback of rule `{rule}` is called more than once, but is an `FnOnce` that owns what it captures\n\
         help: let the rule return `impl Fn`"
    )
}

/// The closure that is kept at `place`, to be called any number of times.
///
/// # Safety
/// As for [`take_closure`], which has not been called; and `'a` ends before the tape is dropped.
#[inline(always)]
pub unsafe fn shared_closure<'a, C>(place: *const u8) -> &'a C {
    // SAFETY: S30, asked of the caller.
    unsafe {
        if needs_drop::<C>() {
            match &*place.cast::<*mut Option<C>>().read() {
                Some(closure) => closure,
                None => unreachable!("a pullback that is shared is never taken"),
            }
        } else if size_of::<C>() > 0 {
            &*place.cast::<C>()
        } else {
            &*std::ptr::dangling::<C>()
        }
    }
}
