//! Forward mode: the tangents of the arguments.

use super::NoTangent;
use super::shadow::{Reached, view};
use crate::abi::Activity;
use crate::differentiable::{Differentiable, MakeZero, make_zero};
use std::borrow::BorrowMut;

/// What follows an argument of type `A`, passed by value, in a rule for forward mode: an `A` or [`NoTangent`].
#[diagnostic::on_unimplemented(
    message = "an argument of type `{A}` is followed by a `{Self}`",
    label = "not a tangent of `{A}`",
    note = "in a rule for forward mode each argument is followed by its tangent: a value of the argument's type, or `NoTangent`"
)]
pub trait Tangent<A>: Sized {
    /// Whether the argument has a tangent at all.
    #[doc(hidden)]
    const ACTIVITY: Activity;

    /// The tangent of the value at `primal`, zero where `shadow` is null.
    ///
    /// # Safety
    /// `primal` holds a value. `shadow` is null or holds its tangent.
    #[doc(hidden)]
    unsafe fn read(primal: *const A, shadow: *const A) -> Self;
}

impl<A: MakeZero> Tangent<A> for A {
    const ACTIVITY: Activity = Activity::Duplicated;

    #[inline(always)]
    unsafe fn read(primal: *const A, shadow: *const A) -> A {
        const { assert!(<A as Differentiable>::PLAIN) }
        // SAFETY: asked of the caller.
        unsafe { if shadow.is_null() { make_zero(&*primal) } else { shadow.read() } }
    }
}

impl<A> Tangent<A> for NoTangent {
    const ACTIVITY: Activity = Activity::Const;

    #[inline(always)]
    unsafe fn read(_: *const A, _: *const A) -> Self {
        NoTangent
    }
}

/// The tangent of an argument that is passed by value.
///
/// # Safety
/// As for [`Tangent::read`].
#[inline(always)]
pub unsafe fn value_tangent<A, D: Tangent<A>>(primal: *const A, shadow: *const A) -> D {
    // SAFETY: asked of the caller.
    unsafe { D::read(primal, shadow) }
}

/// The tangent of what a reference refers to: the shadow, or zeros.
pub struct TangentPlace<T: Reached + ?Sized> {
    place: *mut T,
    zeros: Option<T::Zero>,
}

/// The tangent of an argument that is a reference.
///
/// # Safety
/// `primal` is the place of the argument. `shadow` is null or the place of its shadow.
#[inline(always)]
pub unsafe fn reference_tangent<T: Reached + ?Sized>(primal: *const &T, shadow: *const &T) -> TangentPlace<T> {
    // SAFETY: asked of the caller.
    TangentPlace { place: unsafe { view(primal, shadow.cast_mut()) }, zeros: None }
}

impl<T: Reached + ?Sized> TangentPlace<T> {
    /// The tangent, zeros where there is none.
    ///
    /// # Safety
    /// The shadow is there, and during `'a` nobody writes to it and `self` stays where it is. (A rule names lifetimes as it likes:
    /// they are those of a call.)
    #[inline(always)]
    pub unsafe fn always<'a>(&mut self) -> &'a T {
        let place = if self.place.is_null() {
            &raw const *(*self.zeros.insert(T::zeros(self.place))).borrow_mut()
        } else {
            self.place
        };
        // SAFETY: asked of the caller.
        unsafe { &*place }
    }

    /// The tangent, if there is one.
    ///
    /// # Safety
    /// As for [`always`](Self::always).
    #[inline(always)]
    pub unsafe fn if_there<'a>(&self) -> Option<&'a T> {
        // SAFETY: asked of the caller.
        unsafe { self.place.as_ref() }
    }
}
