//! Cotangents of results that own memory. Their shadows are made with them, in the forward sweep: what the caller gives
//! is added between the sweeps, when there is a result to compare it with.

use super::Tape;
use crate::differentiable::MakeZero;
use crate::rules::runs::{Runs, misfit};
use std::mem::MaybeUninit;

/// A cotangent, in a list of such notes.
#[derive(Debug)]
pub struct Seed {
    value: *mut (),
    shadow: *mut (),
    seed: *mut (),
    add: unsafe fn(*mut (), *mut (), *mut ()),
    next: *const Seed,
}

/// Note the cotangent of the value that will lie at `value`, and its shadow at `shadow`. A derivative of a derivative
/// calls this as it is.
///
/// # Safety
/// All of these and `note` stay where they are as long as the tape is used, and only the derivative touches them. The
/// places are those of the result, and the derivative was asked to wait for [seeds](crate::abi::Request::SEEDS).
#[inline(never)]
pub unsafe fn note_seed_bookkeeping<R: MakeZero>(
    tape: &mut Tape,
    note: &mut MaybeUninit<Seed>,
    value: *mut R,
    shadow: *mut R,
    seed: &mut R,
) {
    /// # Safety: as above, and the value is there.
    unsafe fn add<R: MakeZero>(value: *mut (), shadow: *mut (), seed: *mut ()) {
        // SAFETY: S17, asked of the caller; the lists fit. The cotangent may have other owners, and is only read.
        unsafe {
            let value = value.cast::<R>();
            let cotangent = Runs::of(&*value, shadow.cast::<R>());
            let seed = Runs::of_value(&mut *seed.cast::<R>());
            if !seed.fit(&cotangent) {
                // Nobody will have it.
                value.drop_in_place();
                misfit(&seed, &cotangent);
            }
            seed.add_to(&cotangent);
        }
    }
    let (value, shadow, seed) = (value.cast(), shadow.cast(), (&raw mut *seed).cast());
    tape.seeds = note.write(Seed { value, shadow, seed, add: add::<R>, next: tape.seeds });
}

impl Tape {
    /// Add the cotangents that were noted.
    ///
    /// # Safety
    /// As asked by [`note_seed_bookkeeping`]; the primal is through, and the reverse sweep has not begun.
    pub(super) unsafe fn add_seeds(&mut self, nested: bool) {
        let first = std::mem::replace(&mut self.seeds, std::ptr::null());
        assert!(
            first.is_null() || !nested,
            "a derivative that is differentiated itself is given a cotangent of a result that owns memory\n\
             help: use `vjp` there, or write the result through a `&mut` argument"
        );
        // SAFETY: S17, asked of the caller.
        for seed in std::iter::successors(unsafe { first.as_ref() }, |seed| unsafe { seed.next.as_ref() }) {
            // SAFETY: S17, asked of the caller.
            unsafe { (seed.add)(seed.value, seed.shadow, seed.seed) };
        }
    }
}
