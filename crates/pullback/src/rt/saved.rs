//! The caller's shadows as they were when a derivative began, for the case that it panics.
//!
//! Most derivatives add to the shadows of inputs only when the primal is through, and then nothing panics. Where one disturbs them earlier
//! (see `Disturbs` in `pullback-ad`), floats and pointers of all shadows are put aside first. What else lies in a shadow, a reverse derivative
//! does not write, but for enums, of which `Aside` takes care. The wrapper of a derivative notes where its shadows are; the
//! derivative has them saved, and forgets that when it is through. What is saved when the tape is dropped is put back.

use super::Tape;
use crate::differentiable::{Differentiable, Float, VisitFloats};
use std::collections::HashSet;
use std::mem::MaybeUninit;

/// Where a shadow is, in a list of such notes.
#[derive(Debug)]
pub struct Noted {
    primal: *const (),
    shadow: *mut (),
    /// Copies what the shadow holds.
    save: unsafe fn(*const (), *mut (), &mut Saved),
    next: *const Noted,
}

/// What shadows held.
#[derive(Debug, Default)]
pub(super) struct Saved {
    floats: Vec<(*mut u8, Box<[u8]>)>,
    pointers: Vec<(*mut *mut (), *mut ())>,
    /// Shared values that were met.
    met: HashSet<*const ()>,
}

impl VisitFloats for Saved {
    unsafe fn run<F: Float>(&mut self, _: *const F, shadow: *mut F, count: usize) {
        let place = shadow.cast::<u8>();
        // SAFETY: S23, asked of the caller.
        let bytes = unsafe { std::slice::from_raw_parts(place, count * size_of::<F>()) }.into();
        self.floats.push((place, bytes));
    }

    unsafe fn pointer(&mut self, place: *mut *mut ()) {
        // SAFETY: S23, asked of the caller.
        self.pointers.push((place, unsafe { place.read() }));
    }

    fn is_new(&mut self, address: *const ()) -> bool {
        self.met.insert(address)
    }
}

/// Note a shadow of `primal`. A derivative of a derivative calls this as it is.
///
/// # Safety
/// `shadow` is the place of a shadow that fits `primal`; these and `note` stay where they are as long as the tape is used, and only the
/// derivative touches them.
#[inline(never)]
pub unsafe fn note<T: Differentiable>(tape: &mut Tape, note: &mut MaybeUninit<Noted>, primal: &T, shadow: *mut ()) {
    /// # Safety: as above.
    unsafe fn save<T: Differentiable>(primal: *const (), shadow: *mut (), saved: &mut Saved) {
        // SAFETY: S23, asked of the caller.
        unsafe { (*primal.cast::<T>()).floats(shadow.cast::<T>(), saved) }
    }
    let primal = (&raw const *primal).cast();
    tape.noted = note.write(Noted { primal, shadow, save: save::<T>, next: tape.noted });
}

impl Tape {
    /// Copy the shadows that were noted.
    ///
    /// # Safety
    /// As asked by [`note`], and the primal has not begun.
    #[cold]
    unsafe fn save(&mut self) {
        let mut saved = Saved::default();
        let mut next = self.noted;
        // SAFETY: S23, asked of the caller.
        while let Some(noted) = unsafe { next.as_ref() } {
            // SAFETY: S23, asked of the caller.
            unsafe { (noted.save)(noted.primal, noted.shadow, &mut saved) };
            next = noted.next;
        }
        *self.saved = Some(Box::new(saved));
    }

    /// Put back what is saved.
    pub(super) fn put_back(&mut self) {
        let Some(saved) = self.saved.take() else { return };
        // What is as it was is not written: it may lie where nothing can be.
        for (place, pointer) in saved.pointers {
            // SAFETY: S23, as asked by `note`; it was read from there.
            unsafe {
                if place.read() != pointer {
                    place.write(pointer);
                }
            }
        }
        for (place, bytes) in saved.floats {
            // SAFETY: S23, as asked by `note`; the bytes were copied from there.
            unsafe {
                if *std::slice::from_raw_parts(place, bytes.len()) != *bytes {
                    place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                }
            }
        }
    }
}

/// Save the caller's shadows, or forget what was saved if `keep` is zero.
///
/// # Safety
/// `tape` points to a tape that nobody else uses. What was asked by [`note`] holds; if `keep` is not zero, the primal has not begun.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_save_shadows(tape: *mut Tape, keep: i64) {
    // SAFETY: S23, asked of the caller.
    let tape = unsafe { &mut *tape };
    if keep == 0 {
        *tape.saved = None;
    } else {
        // SAFETY: S23, asked of the caller.
        unsafe { tape.save() };
    }
}
