//! The caller's shadows as they were, for a derivative that adds to them before it is sure that the primal will not panic.
//!
//! A wrapper of such a derivative notes where its shadows are. The derivative has them copied when it
//! begins, and forgets the copies once nothing can panic any more. What is left of them when the tape is dropped is put back.

use super::Tape;
use crate::differentiable::Differentiable;
use crate::rules::runs::Runs;
use std::mem::MaybeUninit;

/// Where a shadow is, in a list of such notes.
#[derive(Debug)]
pub struct Noted {
    primal: *const (),
    shadow: *mut (),
    /// Lists the floats of the shadow.
    floats: unsafe fn(*const (), *mut ()) -> Runs,
    next: *const Noted,
}

/// What some floats in a row were.
#[derive(Debug)]
pub(super) struct Saved {
    place: *mut u8,
    bytes: Box<[u8]>,
}

/// Note a shadow of `primal`. A derivative of a derivative calls this as it is.
///
/// # Safety
/// `shadow` is the place of a shadow that fits `primal`; these and `note` stay where they are as long as the tape is used, and only the
/// derivative touches them.
#[inline(never)]
pub unsafe fn note<T: Differentiable>(tape: &mut Tape, note: &mut MaybeUninit<Noted>, primal: &T, shadow: *mut ()) {
    /// # Safety: as above.
    unsafe fn floats<T: Differentiable>(primal: *const (), shadow: *mut ()) -> Runs {
        // SAFETY: asked of the caller.
        unsafe { Runs::of(&*primal.cast::<T>(), shadow.cast::<T>()) }
    }
    let primal = (&raw const *primal).cast();
    tape.noted = note.write(Noted { primal, shadow, floats: floats::<T>, next: tape.noted });
}

impl Tape {
    /// Copy the shadows that were noted.
    ///
    /// # Safety
    /// As asked by [`note`], and the primal has not begun.
    #[cold]
    unsafe fn save(&mut self) {
        let mut next = self.noted;
        // SAFETY: asked of the caller.
        while let Some(noted) = unsafe { next.as_ref() } {
            // SAFETY: asked of the caller.
            let floats = unsafe { (noted.floats)(noted.primal, noted.shadow) };
            floats.each_as_bytes(|place, length| {
                // SAFETY: asked of the caller.
                let bytes = unsafe { std::slice::from_raw_parts(place, length) }.into();
                self.saved.push(Saved { place, bytes });
            });
            next = noted.next;
        }
    }

    /// Put back what is saved.
    pub(super) fn put_back(&mut self) {
        for Saved { place, bytes } in self.saved.drain(..) {
            // SAFETY: as asked by `note`; the bytes were copied from there.
            unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    }
}

/// Save the caller's shadows, or forget what was saved if `keep` is zero.
///
/// # Safety
/// `tape` points to a tape that nobody else uses. What was asked by [`note`] holds; if `keep` is not zero, the primal has not begun.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_save_shadows(tape: *mut Tape, keep: i64) {
    // SAFETY: asked of the caller.
    let tape = unsafe { &mut *tape };
    if keep == 0 {
        tape.saved.clear();
    } else {
        // SAFETY: asked of the caller.
        unsafe { tape.save() };
    }
}
