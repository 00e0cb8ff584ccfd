//! Forward mode: the tangents of the arguments.

use super::runs::Runs;
use super::shadow::Reached;
use super::{NoTangent, ZeroTangent};
use crate::abi::Activity;
use crate::differentiable::{MakeZero, make_zero, pointee};
use std::borrow::BorrowMut;

/// Derivatives rely on what tangents are, so that nobody else implements these traits.
mod sealed {
    use super::{MakeZero, NoTangent, Reached, ZeroTangent};

    pub trait Tangent<A> {}
    impl<A: MakeZero> Tangent<A> for A {}
    impl<A: MakeZero> Tangent<A> for Option<A> {}
    impl<A> Tangent<A> for NoTangent {}

    pub trait ResultTangent<R> {}
    impl<R: MakeZero> ResultTangent<R> for R {}
    impl<R: MakeZero> ResultTangent<R> for ZeroTangent {}

    pub trait ReferenceTangent<T: ?Sized> {}
    impl<T: Reached + ?Sized> ReferenceTangent<T> for &T {}
    impl<T: Reached + ?Sized> ReferenceTangent<T> for &mut T {}
    impl<T: Reached + ?Sized> ReferenceTangent<T> for Option<&T> {}
}

/// What follows an argument of type `A`, passed by value, in a rule for forward mode: an `A`, an `Option<A>` or
/// [`NoTangent`].
#[diagnostic::on_unimplemented(
    message = "an argument of type `{A}` is followed by a `{Self}`",
    label = "not a tangent of `{A}`",
    note = "in a rule for forward mode each argument is followed by its tangent: a value of the argument's type, an \
            `Option` of one, or `NoTangent`"
)]
pub trait Tangent<A>: sealed::Tangent<A> + Sized {
    /// Whether the argument has a tangent at all.
    #[doc(hidden)]
    const ACTIVITY: Activity;

    /// The tangent of the value at `primal`, zero where `shadow` is null.
    ///
    /// # Safety
    /// `primal` holds a value. `shadow` is null or holds its tangent, of which floats and pointers are read.
    #[doc(hidden)]
    unsafe fn read(primal: *const A, shadow: *mut A) -> Self;
}

impl<A: MakeZero> Tangent<A> for A {
    const ACTIVITY: Activity = Activity::Duplicated;

    #[inline(always)]
    unsafe fn read(primal: *const A, shadow: *mut A) -> A {
        // SAFETY: S18, asked of the caller.
        unsafe {
            if shadow.is_null() {
                make_zero(&*primal)
            } else if A::PLAIN {
                shadow.read()
            } else {
                gather(&*primal, shadow)
            }
        }
    }
}

/// `None` where the argument has no tangent at a call.
impl<A: MakeZero> Tangent<A> for Option<A> {
    const ACTIVITY: Activity = Activity::Duplicated;

    #[inline(always)]
    unsafe fn read(primal: *const A, shadow: *mut A) -> Self {
        // SAFETY: S18, asked of the caller.
        if shadow.is_null() { None } else { Some(unsafe { A::read(primal, shadow) }) }
    }
}

impl<A> Tangent<A> for NoTangent {
    const ACTIVITY: Activity = Activity::Const;

    #[inline(always)]
    unsafe fn read(_: *const A, _: *mut A) -> Self {
        NoTangent
    }
}

/// What a rule for forward mode may return as the tangent of its value: a value of the same type, or [`ZeroTangent`].
#[diagnostic::on_unimplemented(
    message = "the rule returns a `{Self}` as the tangent of a `{R}`",
    label = "not a tangent of `{R}`",
    note = "a rule for forward mode returns the value and its tangent, which have the same type; or `ZeroTangent`"
)]
pub trait ResultTangent<R>: sealed::ResultTangent<R> {
    /// The tangent of `value`.
    #[doc(hidden)]
    fn tangent_of(self, rule: &str, value: &R) -> R;
}

impl<R: MakeZero> ResultTangent<R> for R {
    #[inline(always)]
    fn tangent_of(self, rule: &str, value: &R) -> R {
        super::result::fitting_tangent(rule, value, self)
    }
}

impl<R: MakeZero> ResultTangent<R> for ZeroTangent {
    #[inline(always)]
    fn tangent_of(self, rule: &str, value: &R) -> R {
        super::result::fitting_tangent(rule, value, make_zero(value))
    }
}

/// A valid value with the floats of the shadow at `shadow`, of which nothing but floats and pointers is looked at.
///
/// # Safety
/// `shadow` has the shape of `primal`, as far as pointers go.
unsafe fn gather<T: Reached + ?Sized>(primal: &T, shadow: *mut T) -> T::Zero {
    let mut tangent = make_zero(primal);
    // SAFETY: S18, asked of the caller; a zero has the shape of its primal.
    unsafe { Runs::of(primal, shadow).copy_to(&Runs::of_value::<T>(tangent.borrow_mut())) };
    tangent
}

/// The tangent of what a reference refers to.
pub struct TangentPlace<T: Reached + ?Sized> {
    primal: *const T,
    /// Null where there is none.
    shadow: *mut T,
    /// A value in the place of the shadow: zeros, or its floats with what lies between them.
    value: Option<T::Zero>,
}

impl<T: Reached + ?Sized> TangentPlace<T> {
    /// The tangent of an argument that is a reference.
    ///
    /// # Safety
    /// `primal` is the place of the argument. `shadow` is null or the place of its shadow, in which pointers are right.
    #[inline(always)]
    pub unsafe fn new(primal: *const *const T, shadow: *const *mut ()) -> Self {
        let none = std::ptr::null_mut::<()>();
        // SAFETY: S18, asked of the caller.
        unsafe {
            let primal = primal.read();
            let shadow = pointee(primal, if shadow.is_null() { &raw const none } else { shadow });
            TangentPlace { primal, shadow, value: None }
        }
    }

    /// Where the tangent lies, zeros where there is none.
    ///
    /// # Safety
    /// The primal and the shadow are there, and nobody writes to them.
    #[inline(always)]
    unsafe fn place(&mut self) -> *mut T {
        // SAFETY: S18, asked of the caller.
        let value = unsafe {
            match (self.shadow.is_null(), T::PLAIN) {
                (false, true) => return self.shadow,
                (false, false) => gather(&*self.primal, self.shadow),
                (true, _) => make_zero(&*self.primal),
            }
        };
        self.value.insert(value).borrow_mut()
    }
}

/// What follows an argument that refers to a `T` in a rule for forward mode: a `&T` or an `Option<&T>`, a `&mut T` if
/// the argument is one, or [`NoTangent`].
#[diagnostic::on_unimplemented(
    message = "an argument that refers to `{T}` is followed by a `{Self}`",
    label = "not a tangent of a reference to `{T}`",
    note = "in a rule for forward mode a `&T` is followed by its tangent, a `&T`, an `Option<&T>`, or `NoTangent`; and \
            a `&mut T` by a `&mut T`"
)]
pub trait ReferenceTangent<T: Reached + ?Sized>: sealed::ReferenceTangent<T> {
    /// The tangent.
    ///
    /// # Safety
    /// The primal and the shadow are there. As long as the reference is used, `place` stays where it is, and nobody
    /// else uses the shadow, or if it is a `&`, writes to it. (A rule names lifetimes as it likes: they are those of a
    /// call.)
    #[doc(hidden)]
    unsafe fn lend(place: &mut TangentPlace<T>) -> Self;
}

impl<T: Reached + ?Sized> ReferenceTangent<T> for &T {
    #[inline(always)]
    unsafe fn lend(place: &mut TangentPlace<T>) -> Self {
        // SAFETY: S18, asked of the caller.
        unsafe { &*place.place() }
    }
}

impl<T: Reached + ?Sized> ReferenceTangent<T> for &mut T {
    #[inline(always)]
    unsafe fn lend(place: &mut TangentPlace<T>) -> Self {
        // SAFETY: S18, asked of the caller.
        unsafe { &mut *place.place() }
    }
}

impl<T: Reached + ?Sized> ReferenceTangent<T> for Option<&T> {
    #[inline(always)]
    unsafe fn lend(place: &mut TangentPlace<T>) -> Self {
        // SAFETY: S18, asked of the caller.
        if place.shadow.is_null() { None } else { Some(unsafe { &*place.place() }) }
    }
}
