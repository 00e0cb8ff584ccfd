//! What of a tangent carries no derivative: strings, and fields with `#[pullback(skip)]`.
//!
//! The engine knows nothing of such parts but where they lie. In a shadow it does not write them, but for the lengths
//! of a string, and moves them with what lies beside them: while a derivative runs, a shadow holds no value there. So
//! the wrapper of a forward derivative
//!
//! - takes such parts out of each shadow that the derivative may change, before it runs ([`Constants::take`]);
//! - puts clones of the primal's there when it is through, also by a panic, and in the tangents of results;
//! - drops what it took out.
//!
//! What is behind a shared reference, or in an `Rc` that others own, too, stays as it is: a skipped cell may be written
//! there, but only the primal's. What the caller's shadow borrows may have to live longer than what the primal borrows,
//! or another shadow: it stays where it was, or becomes a reference to what is there for ever, a constant of the
//! program or a copy (`own.rs`, `kept.rs`). In an enum the engine does not know where a part lies, and treats it like
//! all else: a string is the same in shadow and primal, capacity and all, which the check of the shadow sees to.

mod examine;
mod kept;
mod own;
mod take;

use self::examine::Place;
pub(super) use self::examine::may_have_parts;
pub use self::examine::part_layout;
pub(crate) use self::own::erased;
use self::take::{Adopt, Take, Taken};
use super::{Congruence, Differentiable, layout_of};
use std::mem::{ManuallyDrop, needs_drop};

/// Makes another value.
pub type CloneFn<T> = fn(&T) -> T;

/// What is done with each part of a value that carries no derivative, and with its place in a shadow.
pub trait VisitConstants {
    /// A skipped field. Without `clone` no other value of its type can be made. It may borrow from somewhere if it
    /// `borrows`.
    ///
    /// # Safety
    /// `primal` holds a value. `shadow` is a place for one.
    unsafe fn part<T>(&mut self, primal: *const T, shadow: *mut T, clone: Option<CloneFn<T>>, borrows: bool);

    /// A string.
    ///
    /// # Safety
    /// As for [`part`](Self::part).
    unsafe fn text(&mut self, primal: *const String, shadow: *mut String);

    /// A shared reference to what holds neither floats nor pointers.
    ///
    /// # Safety
    /// As for [`part`](Self::part).
    unsafe fn reference<'a, T: Differentiable + ?Sized>(&mut self, primal: *const &'a T, shadow: *mut &'a T) {
        let _ = (primal, shadow);
    }

    /// A `None` that is told from `Some` by bits of its content, which may be those of a skipped field.
    ///
    /// # Safety
    /// As for [`part`](Self::part), and there is nothing to be dropped in such a value.
    unsafe fn nothing<T>(&mut self, primal: *const T, shadow: *mut T) {
        let _ = (primal, shadow);
    }

    /// What the mutable reference at `place` in the shadow points to.
    ///
    /// # Safety
    /// As for [`part`](Self::part), as long as the derivative runs.
    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T, place: *const ());

    /// What follows lies in `memory` of its own, which the pointer at `place` in the shadow owns, until it is
    /// [left](Self::leave).
    fn owned(&mut self, place: *const (), memory: *const ());

    /// Whether to look at a counted value, whose shadow is at this address.
    fn counted(&mut self, shadow: *const ()) -> bool;

    /// What follows lies in this variant of an enum, where nobody knows, until it is [left](Self::leave).
    fn enter_variant(&mut self, number: usize);

    /// The end of owned memory, of an enum, or of a counted value.
    fn leave(&mut self);
}

/// The parts that were taken out of shadows, and where others have to be put. Nothing, if there are none: each forward
/// derivative makes one of these, so that it is one word.
#[derive(Default)]
pub struct Constants {
    taken: ManuallyDrop<Option<Box<Taken>>>,
}

impl std::fmt::Debug for Constants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Constants").finish_non_exhaustive()
    }
}

impl Constants {
    /// Panic if there is a part in an argument that cannot be taken out of its shadow.
    ///
    /// # Safety
    /// `shadow` is the place of a shadow that fits `primal`: `S` is `T` with other lifetimes. All arguments are noted
    /// in `congruence`. The function puts no values where there were none, unless it `renews`.
    #[track_caller]
    #[inline]
    pub unsafe fn examine<T: Differentiable, S>(
        name: &str,
        primal: &T,
        shadow: *mut S,
        congruence: &Congruence,
        renews: bool,
    ) {
        if T::CONSTANTS {
            let place = if renews { Place::Moved } else { Place::MovedToStay };
            // SAFETY: S19, asked of the caller.
            unsafe { examine::parts_bookkeeping(name, primal, shadow.cast(), congruence, place) }
        }
    }

    /// Panic if there may be a part in a result of which there is no other for its tangent.
    #[track_caller]
    #[inline]
    pub fn examine_result<T: Differentiable>() {
        if T::CONSTANTS {
            examine::types_bookkeeping(format_args!("the result"), layout_of::<T>(), Place::New);
        }
    }

    /// Take all parts out of the shadow of an argument, which was [examined](Self::examine).
    ///
    /// # Safety
    /// As of [`examine`](Self::examine). The derivative is called next; until this is dropped, nothing else uses the
    /// two.
    #[inline]
    pub unsafe fn take<T: Differentiable, S>(&mut self, primal: &T, shadow: *mut S, congruence: &Congruence) {
        if T::CONSTANTS {
            // SAFETY: S19, asked of the caller.
            unsafe { self.take_parts_bookkeeping(primal, shadow.cast(), congruence) }
        }
    }

    /// # Safety: as of [`take`](Self::take).
    #[inline(never)]
    unsafe fn take_parts_bookkeeping<T: Differentiable>(
        &mut self,
        primal: &T,
        shadow: *mut T,
        congruence: &Congruence,
    ) {
        // SAFETY: S19, asked of the caller.
        unsafe { primal.constants(shadow, &mut Take::new(&mut self.taken, congruence, shadow)) };
    }

    /// Put parts of its own into the tangent of a result.
    ///
    /// # Safety
    /// `tangent` is what a derivative made of what is at `value`: `S` is `T` with other lifetimes. The value is there
    /// if `T` may have such parts. All arguments are noted in `congruence`.
    #[inline]
    pub unsafe fn complete<T: Differentiable, S>(&mut self, value: *const T, tangent: *mut S, congruence: &Congruence) {
        if T::CONSTANTS {
            // SAFETY: S19, asked of the caller.
            unsafe { self.complete_parts_bookkeeping(&*value, tangent.cast(), congruence) }
        }
    }

    /// # Safety: as of [`complete`](Self::complete).
    #[inline(never)]
    unsafe fn complete_parts_bookkeeping<T: Differentiable>(
        &mut self,
        value: &T,
        tangent: *mut T,
        congruence: &Congruence,
    ) {
        let taken = self.taken.get_or_insert_with(|| Box::new(Taken::of(congruence)));
        // What an argument has lent may be part of a result.
        taken.finish();
        // SAFETY: S19, asked of the caller.
        unsafe { value.constants(tangent, &mut Adopt::new(taken)) };
    }
}

impl Drop for Constants {
    /// If nothing was taken, it is as if this were not there.
    #[inline]
    fn drop(&mut self) {
        if self.taken.is_some() {
            self.finish_bookkeeping();
        }
    }
}

impl Constants {
    /// All that is done when this is dropped, in one function that a derivative of a derivative calls as it is.
    #[inline(never)]
    fn finish_bookkeeping(&mut self) {
        if let Some(taken) = &mut *self.taken {
            taken.finish();
        }
        // SAFETY: S19, this is dropped once.
        unsafe { ManuallyDrop::drop(&mut self.taken) };
    }
}

/// Whether values of the type have no place of their own, but have to be dropped: nobody could say how many there are.
pub const fn is_token<T>() -> bool {
    size_of::<T>() == 0 && needs_drop::<T>()
}

/// How another value of `T` is made, if `T` is `Clone` where the derive stands; as `LayoutOf` for layouts.
#[derive(Debug)]
pub struct CloneOf<T>(std::marker::PhantomData<T>);

impl<T: Clone> CloneOf<T> {
    /// By its `Clone`.
    pub const CLONE: Option<CloneFn<T>> = Some(T::clone);
}

/// A type that is not `Clone`.
pub trait NoClone: Sized {
    /// What stands behind `CloneOf`.
    type Value;
    /// None.
    const CLONE: Option<CloneFn<Self::Value>> = None;
}

impl<T> NoClone for CloneOf<T> {
    type Value = T;
}
