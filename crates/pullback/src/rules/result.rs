//! The result of a rule, where its cotangent is taken by reference: a `Vec`, or anything else that owns what it
//! reaches.
//!
//! When the rule has run, a shadow of the result is made, and its bits are written to the place of the result's shadow;
//! the derivative then adds cotangents to what is behind its pointers. The shadow itself belongs to the tape.

use super::runs::Runs;
use crate::differentiable::reach::may_reach_cells;
use crate::differentiable::{Congruence, Differentiable, MakeZero, Masked, Names, Others, Path, ShadowKind, make_zero};
use crate::rt::{__pullback_tape_own, Tape};
use std::borrow::Borrow;

/// A result whose cotangent a pullback may take as `&D`: `&[f64]` or `&Vec<f64>` for a `Vec<f64>`.
#[diagnostic::on_unimplemented(
    message = "the pullback takes the cotangent of a result of type `{Self}` as a `&{D}`",
    label = "not a cotangent of `{Self}`",
    note = "the cotangent of a result has the result's type; that of a `Vec<T>` may be taken as a `&[T]`"
)]
pub trait Lend<D: ?Sized>: MakeZero {
    /// The cotangent, as the pullback takes it.
    #[doc(hidden)]
    fn lend(&self) -> &D;
}

impl<R: MakeZero + Borrow<D>, D: ?Sized> Lend<D> for R {
    #[inline(always)]
    fn lend(&self) -> &D {
        self.borrow()
    }
}

/// Panic if the result of a rule for reverse mode has cells in common with anything else: the result has a shadow of
/// its own, and the cells would have two.
#[inline(always)]
pub fn assert_own<R: Differentiable>(rule: &str, value: &R) {
    if may_reach_cells::<R>() {
        find_others_bookkeeping(rule, value, false);
    }
}

/// Panic if a result has cells in common with anything else, or anything that is `counted`. A derivative of a
/// derivative calls this as it is.
#[inline(never)]
fn find_others_bookkeeping<R: Differentiable>(rule: &str, value: &R, counted: bool) {
    let others = Others { rule, counted, masked: Masked::default() };
    if let Err(mismatch) = value.check_shadow(value, &Path::argument("return").finding_others(&others)) {
        panic!("internal error in Pullback: {mismatch}");
    }
    others.masked.assert_alone();
}

/// A shadow of a result. As long as the derivative uses it, its enums hold floats and pointers only (see [`Masked`]).
#[repr(C)]
struct Owned<R> {
    zero: R,
    masked: Masked,
}

/// # Safety: called once, on a box that was taken apart.
unsafe extern "C-unwind" fn release<R>(place: *mut u8) {
    // SAFETY: S14, asked of the caller. What was masked is there again before anything borrows the shadow to drop it.
    unsafe {
        let owned = place.cast::<Owned<R>>();
        (*owned).masked.put_back();
        drop(Box::from_raw(owned));
    }
}

/// Make the shadow of a result. What is kept of it is where the tape has it.
///
/// # Safety
/// `tape` is a tape that nobody else uses, `out` holds the result, and `shadow` may be written.
#[inline]
pub unsafe fn view_result<R: MakeZero>(tape: *mut Tape, out: *const R, shadow: *mut R) -> *mut R {
    // SAFETY: S34, asked of the caller. The bits at `shadow` own nothing.
    unsafe {
        let owned = Box::into_raw(Box::new(Owned { zero: make_zero(&*out), masked: Masked::default() }));
        __pullback_tape_own(tape, owned.cast(), release::<R>);
        if R::CHECKED {
            // The shadow has room for what the result may grow to, and zeros in it.
            let path = Path::argument("return").noting(Some(&(*owned).masked));
            if let Err(mismatch) = (*out).check_shadow(&(*owned).zero, &path) {
                panic!("internal error in Pullback: {mismatch}");
            }
            if !(*owned).masked.is_empty() {
                (*owned).masked.reaches_bookkeeping(&*out, (&raw mut (*owned).zero).cast());
                (*owned).masked.clear();
            }
        }
        let zero = &raw mut (*owned).zero;
        shadow.copy_from(zero, 1);
        zero
    }
}

/// The cotangent of a result on its way to the pullback.
pub struct Cotangents<R: MakeZero> {
    zero: *mut R,
    runs: Runs,
    /// What the pullback is lent, if it could keep parts of the cotangent itself.
    copy: Option<R>,
}

impl<R: MakeZero> Cotangents<R> {
    /// The cotangent: what lies in the place of the result's shadow, and what is behind the pointers that it was made
    /// with.
    ///
    /// # Safety
    /// `zero` is from [`view_result`], the tape is still there, and `shadow` is the place of the result's shadow.
    #[inline]
    pub unsafe fn take(zero: *mut R, shadow: *mut R) -> Self {
        // SAFETY: S34, asked of the caller. By now other pointers may lie in the place, but the floats in it are those
        // of this call.
        unsafe {
            (*zero.cast::<Owned<R>>()).masked.put_back();
            // By the pointer that is used again in `finish`, when others have read what is there.
            let runs = Runs::of(&*zero, zero);
            runs.take_inline(zero, shadow);
            let copy = runs.has_counted().then(|| {
                let mut copy = make_zero(&*zero);
                runs.copy_to(&Runs::of_value(&mut copy));
                copy
            });
            Cotangents { zero, runs, copy }
        }
    }

    /// The cotangent, as the pullback takes it.
    #[inline]
    pub fn lend<D: ?Sized>(&self) -> &D
    where
        R: Lend<D>,
    {
        match &self.copy {
            Some(copy) => copy.lend(),
            // SAFETY: S34, the tape has it, and nobody writes to it before `finish`.
            None => unsafe { (*self.zero).lend() },
        }
    }

    /// The pullback has run: no cotangent is left behind.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    #[inline]
    pub unsafe fn finish(self) {
        // SAFETY: S34, asked of the caller. The value is the first field.
        unsafe {
            self.runs.clear();
            let owned = self.zero.cast::<Owned<R>>();
            if !(*owned).masked.is_empty() {
                (*owned).masked.reaches_bookkeeping(&*self.zero, self.zero.cast());
                (*owned).masked.clear();
            }
        }
    }
}

/// The tangent of a result that a rule for forward mode has returned, with the shape, the room and the owners of the
/// result: the derivative treats it as it treats the result. The elements of an array may lie in another order.
///
/// # Panics
/// If lengths or variants differ, or which owners have a value in common; or if the result has memory in common with
/// anything else.
#[inline(always)]
pub fn fitting_tangent<R: MakeZero>(rule: &str, value: &R, tangent: R) -> R {
    if !R::CHECKED || fits_bookkeeping(value, &tangent) {
        return tangent;
    }
    with_room(rule, value, tangent)
}

/// Whether a tangent can be used as it is. A derivative of a derivative calls this as it is.
#[inline(never)]
fn fits_bookkeeping<R: MakeZero>(value: &R, tangent: &R) -> bool {
    let mut congruence = Congruence::default();
    let names = Names { congruence: &congruence, argument: "return", direction: 0, shadow: ShadowKind::Tangent };
    let path = Path::argument("return").naming(Some(&names));
    value.check_shadow(tangent, &path).is_ok() && congruence.is_closed()
}

/// A tangent of its own with the floats of the one that the rule has returned, which has other room, or other owners.
#[cold]
fn with_room<R: MakeZero>(rule: &str, value: &R, mut tangent: R) -> R {
    // What is reached through a shared reference cannot grow, so no room is asked for.
    if let Err(mismatch) = value.check_shadow(&tangent, &Path::argument("return").by_index().shared()) {
        panic!(
            "the tangent that rule `{rule}` returns does not fit its value: {mismatch}\n\
             help: a tangent has the lengths and the variants of the value"
        );
    }
    let mut roomy = make_zero(value);
    // The one that was returned may have other owners: it is only read.
    let (from, to) = (Runs::of_value(&mut tangent), Runs::of_value(&mut roomy));
    assert!(
        from.fit(&to),
        "the tangent that rule `{rule}` returns does not fit its value: other owners have values in common\n\
         help: what is one `Rc` in the value is one in the tangent, and what are two are two"
    );
    // SAFETY: S34, they fit, and the value that is written is ours.
    unsafe { from.copy_to(&to) };
    // It may have been the value itself.
    drop(tangent);
    find_others_bookkeeping(rule, value, true);
    if let Err(mismatch) = value.check_shadow(&roomy, &Path::argument("return")) {
        panic!("internal error in Pullback: {mismatch}");
    }
    roomy
}
