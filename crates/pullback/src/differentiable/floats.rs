//! The floats of a value, one after the other, with their places in a shadow.

use super::pointers::address_comes_first;
use super::{Arrangement, Differentiable};
use std::hash::Hash;
use std::ops::AddAssign;

/// `f32` or `f64`.
pub trait Float: Copy + AddAssign + Default + 'static {}

impl Float for f32 {}
impl Float for f64 {}

/// What is done with each float of a value and its place in a shadow.
pub trait VisitFloats: Sized {
    /// `count` floats in a row at `primal`, whose shadows lie at `shadow`.
    ///
    /// # Safety
    /// `primal` may be read and `shadow` written, for `count` floats.
    unsafe fn run<F: Float>(&mut self, primal: *const F, shadow: *mut F, count: usize);

    /// The variant of an enum, by number: what is visited next is in it.
    #[inline(always)]
    fn variant(&mut self, number: usize) {
        let _ = number;
    }

    /// What holds neither floats nor pointers.
    #[inline(always)]
    fn inert<T: Hash + ?Sized>(&mut self, value: &T) {
        let _ = value;
    }

    /// A pointer of the shadow, to what is visited next, unless that is nothing (an empty vector); whether it is to be
    /// visited.
    ///
    /// # Safety
    /// `place` may be read and written.
    #[inline(always)]
    unsafe fn pointer(&mut self, place: *mut *mut (), to_nothing: bool) -> bool {
        let _ = (place, to_nothing);
        true
    }

    /// As [`Self::reference`], for what nobody else sees meanwhile. The pointer to the primal is that of the reference
    /// itself: it is still good when the function that was given the reference has written there.
    ///
    /// # Safety
    /// As asked there.
    #[inline(always)]
    unsafe fn mutable<T: Differentiable + ?Sized>(&mut self, primal: *const T, place: *mut *mut ()) {
        // SAFETY: S36, asked of the caller.
        unsafe { self.reference(&*primal, place) }
    }

    /// A pointer of the shadow at `place`, to the shadow of `primal`, which it owns.
    ///
    /// # Safety
    /// As asked by [`Differentiable::floats`], where `place` holds the pointer.
    #[inline(always)]
    unsafe fn owned<T: Differentiable + ?Sized>(&mut self, primal: &T, place: *mut *mut ()) {
        // SAFETY: S36, asked of the caller.
        unsafe {
            if self.pointer(place, size_of_val(primal) == 0) {
                primal.floats(pointee(primal, place), self);
            }
        }
    }

    /// What is visited next, by [`Self::owned`], has a shape of its own.
    #[inline(always)]
    fn arranged(&mut self, arrangement: impl FnOnce() -> Arrangement) {
        let _ = arrangement;
    }

    /// As [`Self::owned`], for the elements of an array, those among them that are no part of it, too.
    ///
    /// # Safety
    /// As asked there.
    #[inline(always)]
    unsafe fn array<T: Differentiable>(
        &mut self,
        elements: &[T],
        place: *mut *mut (),
        arrangement: impl FnOnce() -> Arrangement,
    ) {
        let _ = arrangement;
        // SAFETY: S36, asked of the caller.
        unsafe { self.owned(elements, place) }
    }

    /// As [`Self::owned`], for values in a row of which the first lies so many values from where the pointer leads.
    ///
    /// # Safety
    /// As asked there.
    #[inline(always)]
    unsafe fn owned_from<T: Differentiable>(&mut self, row: &[T], place: *mut *mut (), at: usize) {
        // SAFETY: S36, asked of the caller.
        unsafe {
            if self.pointer(place, size_of_val(row) == 0) {
                T::floats_in_row(row, place.read().cast::<T>().add(at), self);
            }
        }
    }

    /// What is in a cell, and in that of the shadow: it may be written whatever reference leads there.
    ///
    /// # Safety
    /// As asked by [`Differentiable::floats`].
    #[inline(always)]
    unsafe fn in_cell<T: Differentiable>(&mut self, primal: &T, shadow: *mut T) {
        // SAFETY: S36, asked of the caller.
        unsafe { primal.floats(shadow, self) }
    }

    /// A reference of the shadow at `place`, to the shadow of `primal`: what it leads to is there when a function that
    /// was given it has returned.
    ///
    /// # Safety
    /// As asked by [`Differentiable::floats`], where `place` holds the reference.
    #[inline(always)]
    unsafe fn reference<T: Differentiable + ?Sized>(&mut self, primal: &T, place: *mut *mut ()) {
        // SAFETY: S36, asked of the caller.
        unsafe {
            if self.pointer(place, size_of_val(primal) == 0) {
                primal.floats(pointee(primal, place), self);
            }
        }
    }

    /// A counted pointer of the shadow at `place`, to what others may see, too; whether that is to be visited. The
    /// value is at `address`, and has so many owners.
    ///
    /// # Safety
    /// As asked by [`Self::pointer`].
    #[inline(always)]
    unsafe fn counted(&mut self, place: *mut *mut (), address: *const (), owners: usize) -> bool {
        let _ = owners;
        // SAFETY: S36, asked of the caller.
        unsafe { self.pointer(place, false) && self.is_new(address) }
    }

    /// A counted pointer of the shadow at `place`, to memory in which the shadow of `primal` lies at `offset`. There
    /// are so many owners of `primal`.
    ///
    /// # Safety
    /// As asked by [`Differentiable::floats`], where `place` holds the pointer.
    #[inline(always)]
    unsafe fn shared<T: Differentiable>(&mut self, primal: &T, place: *mut *mut (), offset: usize, owners: usize) {
        // SAFETY: S36, asked of the caller.
        unsafe {
            if self.counted(place, (&raw const *primal).cast(), owners) {
                primal.floats(place.read().byte_add(offset).cast(), self);
            }
        }
    }

    /// Whether the shared value at `address` is met for the first time.
    fn is_new(&mut self, address: *const ()) -> bool;
}

/// The place in `shadow` that lies there as `part` lies in `whole`.
///
/// # Safety
/// `part` lies in `whole`, and `shadow` points to memory of the same type.
#[inline(always)]
pub unsafe fn corresponding<W, P>(whole: &W, part: &P, shadow: *mut W) -> *mut P {
    let offset = (&raw const *part).addr() - (&raw const *whole).addr();
    // SAFETY: S2, an offset within `W`.
    unsafe { shadow.byte_add(offset).cast() }
}

/// What the pointer at `place`, thin or wide, points to, if it has the length that `primal` has.
///
/// # Safety
/// `place` holds an address.
#[inline(always)]
pub(crate) unsafe fn pointee<T: ?Sized>(primal: *const T, place: *const *mut ()) -> *mut T {
    const { assert!(address_comes_first()) }
    let mut pointer = primal.cast_mut();
    // SAFETY: S2, the first word of a pointer is its address.
    unsafe { (&raw mut pointer).cast::<*mut ()>().write(place.read()) };
    pointer
}
