//! Cells that a rule must not write.
//!
//! A function that returns nothing with a derivative and takes a `&Cell`, or a reference to several, may write them:
//! its rule is called as if they were behind a `&mut`. Elsewhere a rule has no part in what the shadow of a cell holds,
//! and what it writes there would keep the derivative of what was there before. So the floats there are compared when
//! the rule has run.

use super::runs::{Place, Runs};
use crate::differentiable::reach::may_reach_float_cells;
use crate::differentiable::{Differentiable, Float, Set, VisitFloats, holds_pointers, layout_of};
use std::marker::PhantomData;

/// An argument of a rule, if it is a shared reference to something that takes part in derivatives.
///
/// `Behind::<T>::watch` is the inherent function if its bound holds, and else that of [`NotWatched`].
#[derive(Debug)]
pub struct Behind<T>(PhantomData<T>);

impl<'a, T: Differentiable + ?Sized> Behind<&'a T> {
    /// Whether there are cells right behind it, and floats in these or in others that they lead to.
    pub const CELLS: bool = T::CELLS && Self::MAY_REACH_CELLS;

    /// Whether there may be cells anywhere behind it that hold floats.
    pub const MAY_REACH_CELLS: bool = may_reach_float_cells::<T>();

    /// Watch what the argument at `place` refers to. `lent`: the rule is given the shadow of cells that have nothing
    /// beside their floats, and may write it.
    ///
    /// # Safety
    /// `place` holds the argument, and what that refers to is there as long as it is watched.
    #[inline(always)]
    pub unsafe fn watch(place: *const &'a T, lent: bool) -> Watched<'a, T> {
        if !Self::MAY_REACH_CELLS || (T::PLAIN && lent) {
            return Watched { value: None, before: Vec::new() };
        }
        // SAFETY: S30, asked of the caller.
        unsafe { note_bookkeeping(*place) }
    }
}

/// Any other argument.
pub trait NotWatched {
    /// What the type is.
    type Value;

    /// Nothing is known of it.
    const CELLS: bool = false;

    /// Nothing is known of it.
    const MAY_REACH_CELLS: bool = false;

    /// Do nothing.
    ///
    /// # Safety
    /// None is needed.
    #[inline(always)]
    unsafe fn watch(_: *const Self::Value, _: bool) -> Unwatched {
        Unwatched
    }
}

impl<T> NotWatched for Behind<T> {
    type Value = T;
}

/// An argument of which nothing is known.
#[derive(Debug)]
pub struct Unwatched;

impl Unwatched {
    /// Do nothing.
    #[inline(always)]
    pub fn assert_unchanged(self, _: &str, _: &str) {}
}

/// An argument, and the floats that it held.
#[derive(Debug)]
pub struct Watched<'a, T: ?Sized> {
    value: Option<&'a T>,
    before: Vec<u64>,
}

impl<T: Differentiable + ?Sized> Watched<'_, T> {
    /// Panic if the rule has written there.
    #[inline(always)]
    pub fn assert_unchanged(self, rule: &str, argument: &str) {
        if let Some(value) = self.value {
            compare_bookkeeping(value, &self.before, rule, argument);
        }
    }
}

/// A derivative of a derivative calls this as it is.
#[inline(never)]
fn note_bookkeeping<T: Differentiable + ?Sized>(value: &T) -> Watched<'_, T> {
    let mut pointers = PointersInCells::default();
    // SAFETY: S36, a value has its own shape, and is only read.
    unsafe { value.floats((&raw const *value).cast_mut(), &mut pointers) };
    assert!(
        !pointers.found,
        "a rule is given a reference to a `RefCell` that holds pointers, and could change them: their shadows would stay\n\
         help: let the function borrow the content and pass that, take a `&mut`, or give it no rule"
    );
    Watched { value: Some(value), before: bits(value) }
}

/// The comparison. A derivative of a derivative calls this as it is.
#[inline(never)]
fn compare_bookkeeping<T: Differentiable + ?Sized>(value: &T, before: &[u64], rule: &str, argument: &str) {
    assert!(
        bits(value) == before,
        "rule `{rule}` writes a float to a cell of `{argument}`, which has no derivative there\n\
         help: if nothing with a derivative is computed from what is there, as from a memo, mark the field `#[pullback(skip)]`; else let the function \
         take a `&Cell` with its shadow, or return what it computes, or give it no rule"
    );
}

/// Looks for cells that hold pointers.
#[derive(Default)]
struct PointersInCells {
    found: bool,
    met: Set<*const ()>,
}

impl VisitFloats for PointersInCells {
    unsafe fn run<F: Float>(&mut self, _: *const F, _: *mut F, _: usize) {}

    unsafe fn in_cell<T: Differentiable>(&mut self, primal: &T, shadow: *mut T) {
        self.found |= holds_pointers(layout_of::<T>());
        // SAFETY: S36, asked of the caller.
        unsafe { primal.floats(shadow, self) }
    }

    fn is_new(&mut self, address: *const ()) -> bool {
        self.met.insert(address)
    }
}

/// The floats of a value.
fn bits<T: Differentiable + ?Sized>(value: &T) -> Vec<u64> {
    // SAFETY: S36, a value has its own shape. Its floats are only read.
    let runs = unsafe { Runs::of(value, (&raw const *value).cast_mut()) };
    runs.places().iter().map(|place: &Place| place.get().to_bits()).collect()
}
