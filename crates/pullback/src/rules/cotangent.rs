//! Cotangents by value: of the result, and of the arguments that are passed by value.

use super::{NoTangent, ZeroTangent};
use crate::abi::Activity;
use crate::differentiable::{Differentiable, Float, MakeZero, VisitFloats};

/// What a pullback may return for an argument of type `A` that is passed by value.
///
/// That is an `A`, a [`NoTangent`], a [`ZeroTangent`], or a [`Thunk`] that computes an `A`. It cannot be implemented
/// for others.
#[diagnostic::on_unimplemented(
    message = "the pullback returns `{Self}` for an argument of type `{A}`",
    label = "not a cotangent of `{A}`",
    note = "for an argument that is passed by value, a pullback returns a value of the argument's type, `NoTangent`, \
            `ZeroTangent` or a `Thunk`",
    note = "the argument's type owns its floats, which `#[derive(Differentiable)]` says of a type, and the bound \
            `MakeZero` of a type parameter"
)]
pub trait Cotangent<A>: sealed::Cotangent<A> {
    /// Whether the argument has a tangent at all.
    #[doc(hidden)]
    const ACTIVITY: Activity;

    /// Add the cotangent to the shadow, which is null where nobody asks for it.
    ///
    /// # Safety
    /// `shadow` is null, or the floats there may be read and written.
    #[doc(hidden)]
    unsafe fn add_to(self, shadow: *mut A);
}

/// Derivatives rely on what is added, so that nobody else implements the trait.
mod sealed {
    use super::{MakeZero, NoTangent, Thunk, ZeroTangent};

    pub trait Cotangent<A> {}
    impl<A: MakeZero> Cotangent<A> for A {}
    impl<A> Cotangent<A> for NoTangent {}
    impl<A: MakeZero> Cotangent<A> for ZeroTangent {}
    impl<A: MakeZero, S> Cotangent<A> for Thunk<A, S> {}
}

impl<A: MakeZero> Cotangent<A> for A {
    const ACTIVITY: Activity = Activity::Duplicated;

    #[inline(always)]
    unsafe fn add_to(self, shadow: *mut A) {
        if !shadow.is_null() {
            // SAFETY: S34, asked of the caller; a value that is passed by value owns no memory, so there are no
            // pointers.
            unsafe { self.floats(shadow, &mut Add) }
        }
    }
}

impl<A> Cotangent<A> for NoTangent {
    const ACTIVITY: Activity = Activity::Const;

    #[inline(always)]
    unsafe fn add_to(self, _: *mut A) {}
}

impl<A: MakeZero> Cotangent<A> for ZeroTangent {
    const ACTIVITY: Activity = Activity::Duplicated;

    #[inline(always)]
    unsafe fn add_to(self, _: *mut A) {}
}

/// A cotangent that is computed only if somebody asks for it.
///
/// It holds what it is computed from, and a function. (Not a closure: the type of a closure cannot be named in the type
/// of the pullback.)
///
/// ```
/// use pullback::rrule;
/// use pullback::rules::Thunk;
///
/// # fn expensive(x: f64) -> f64 { x }
/// fn f(x: f64, y: f64) -> f64 {
///     x * y.sin()
/// }
///
/// #[rrule(for = f)]
/// fn f_rrule(x: f64, y: f64) -> (f64, impl Fn(f64) -> (f64, Thunk<f64, (f64, f64)>)) {
///     (f(x, y), move |dz| (dz * y.sin(), Thunk::new((dz * x, y), |(dxz, y)| dxz * y.cos())))
/// }
/// # assert_eq!(f_rrule(3.0, 0.0).1(2.0).1.compute(), 6.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Thunk<T, S = ()> {
    from: S,
    compute: fn(S) -> T,
}

impl<T, S> Thunk<T, S> {
    /// The cotangent `compute(from)`.
    #[inline(always)]
    pub const fn new(from: S, compute: fn(S) -> T) -> Self {
        Thunk { from, compute }
    }

    /// Compute it.
    #[inline(always)]
    pub fn compute(self) -> T {
        (self.compute)(self.from)
    }
}

impl<A: MakeZero, S> Cotangent<A> for Thunk<A, S> {
    const ACTIVITY: Activity = Activity::Duplicated;

    #[inline(always)]
    unsafe fn add_to(self, shadow: *mut A) {
        if !shadow.is_null() {
            // SAFETY: S34, asked of the caller.
            unsafe { self.compute().add_to(shadow) }
        }
    }
}

/// The cotangent of a result that is floats only, which leaves zero behind.
///
/// # Safety
/// `place` holds the cotangent, and nobody else uses it.
#[inline(always)]
pub unsafe fn take_cotangent<R: Differentiable>(place: *mut R) -> R {
    const { assert!(R::PLAIN) }
    // SAFETY: S10, asked of the caller; a value of floats has no other owner, and zero bytes are zeros.
    unsafe {
        let cotangent = place.read();
        place.write_bytes(0, 1);
        cotangent
    }
}

/// Add the floats of a value to those of a shadow of the same shape.
pub fn add_floats<T: Differentiable + ?Sized>(value: &T, shadow: &mut T) {
    // SAFETY: S34, a shadow has the shape of its primal, and so has a gradient of it.
    unsafe { value.floats(shadow, &mut Add) }
}

/// Adds floats to their shadows.
pub(super) struct Add;

impl VisitFloats for Add {
    #[inline(always)]
    unsafe fn run<F: Float>(&mut self, values: *const F, shadow: *mut F, count: usize) {
        for index in 0..count {
            // SAFETY: S34, asked of the caller.
            unsafe { *shadow.add(index) += *values.add(index) }
        }
    }

    fn is_new(&mut self, _: *const ()) -> bool {
        true
    }
}

/// Overwrites floats of a shadow.
pub(super) struct Overwrite;

impl VisitFloats for Overwrite {
    #[inline(always)]
    unsafe fn run<F: Float>(&mut self, values: *const F, shadow: *mut F, count: usize) {
        for index in 0..count {
            // SAFETY: S34, asked of the caller.
            unsafe { *shadow.add(index) = *values.add(index) }
        }
    }

    fn is_new(&mut self, _: *const ()) -> bool {
        true
    }
}
