//! The shadows of arguments that are references.
//!
//! While a reverse derivative runs, memory that the primal made itself has shadows in which only floats and pointers can be
//! relied on. So a shadow's length is noted when the rule runs, from its primal: a *view*. When the pullback runs, the view becomes
//! a `&mut`: of the shadow itself, or of zeros that are added to it afterwards or thrown away.

use super::cotangent::Add;
use crate::abi::Kept;
use crate::differentiable::{Differentiable, MakeZero, ToZero, pointee};
use std::borrow::BorrowMut;
use std::mem::{align_of, size_of, size_of_val};
use std::ops::Range;

/// What an argument with a shadow may refer to: a value that owns all it reaches, or a slice of such values.
#[diagnostic::on_unimplemented(
    message = "a rule cannot be given the shadow of a reference to `{Self}`",
    label = "`{Self}` does not own its floats, or is not `Differentiable`",
    note = "take `NoTangent` in the place of the shadow of an argument that has none"
)]
pub trait Reached: ToZero<Zero: BorrowMut<Self>> {
    /// Whether it is floats and nothing else.
    #[doc(hidden)]
    const PLAIN: bool;

    /// Zeros in the number that the pointer, which may be null, says.
    #[doc(hidden)]
    fn zeros(shape: *mut Self) -> Self::Zero;

    /// How many bytes there are.
    #[doc(hidden)]
    fn bytes(shape: *mut Self) -> usize;
}

impl<T: MakeZero> Reached for T {
    const PLAIN: bool = <T as Differentiable>::PLAIN;

    #[inline]
    fn zeros(_: *mut Self) -> T {
        const { assert!(<T as Differentiable>::PLAIN) }
        // SAFETY: floats only, of which zero bytes are zeros.
        unsafe { std::mem::zeroed() }
    }

    #[inline(always)]
    fn bytes(_: *mut Self) -> usize {
        size_of::<T>()
    }
}

impl<T: MakeZero> Reached for [T] {
    const PLAIN: bool = <T as Differentiable>::PLAIN;

    #[inline]
    fn zeros(shape: *mut Self) -> Vec<T> {
        (0..shape.len()).map(|_| T::zeros(std::ptr::null_mut())).collect()
    }

    #[inline(always)]
    fn bytes(shape: *mut Self) -> usize {
        shape.len() * size_of::<T>()
    }
}

/// What is to be kept of the shadow of an argument: its address, null without a shadow, with the length that the primal has.
///
/// # Safety
/// `primal` is the place of the argument. `shadow` is null or the place of its shadow, which holds an address.
#[inline(always)]
pub unsafe fn view<T: Reached + ?Sized>(primal: *const &T, shadow: *mut &T) -> *mut T {
    let none = std::ptr::null_mut::<()>();
    let address = if shadow.is_null() { &raw const none } else { shadow.cast_const().cast() };
    // SAFETY: asked of the caller.
    unsafe { pointee(*primal, address) }
}

/// What is kept of the shadows, by the type of all views together.
pub const fn kept_view<V>() -> Kept {
    Kept { size: size_of::<V>(), align: align_of::<V>() }
}

/// The views that are kept at `place`.
///
/// # Safety
/// They were written there, unless they are nothing.
#[inline(always)]
pub unsafe fn read_view<V: Copy>(place: *const V) -> V {
    // SAFETY: asked of the caller.
    unsafe { if size_of::<V>() > 0 { place.read() } else { std::ptr::dangling::<V>().read() } }
}

/// A shadow on its way to the pullback.
pub struct Shadow<T: Reached + ?Sized> {
    /// Null if nobody asks for it.
    place: *mut T,
    /// Zeros that the pullback is given in the place of a shadow that it cannot have.
    zeros: Option<T::Zero>,
}

impl<T: Reached + ?Sized> Shadow<T> {
    /// The shadow of a view. Where it overlaps one of `others`, which are given to the same pullback, the pullback gets zeros,
    /// which are added to the shadow afterwards: of two `&mut` neither may be the other.
    #[inline(always)]
    pub fn new(view: *mut T, others: &[Range<usize>]) -> Self {
        let shadow = Shadow { place: view, zeros: None };
        let range = shadow.range();
        let overlaps = others.iter().any(|other| other.start < range.end && range.start < other.end);
        Shadow { zeros: if overlaps { Some(T::zeros(view)) } else { None }, ..shadow }
    }

    /// The addresses that it covers.
    #[inline(always)]
    pub fn range(&self) -> Range<usize> {
        let start = self.place.cast::<()>().addr();
        if start == 0 { 0..0 } else { start..start + T::bytes(self.place) }
    }

    /// The shadow, or zeros if nobody asks for it.
    ///
    /// # Safety
    /// The shadow is there, and nobody else uses it.
    #[inline(always)]
    pub unsafe fn always(&mut self) -> &mut T {
        if self.place.is_null() && self.zeros.is_none() {
            self.zeros = Some(T::zeros(self.place));
        }
        match &mut self.zeros {
            Some(zeros) => zeros.borrow_mut(),
            // SAFETY: asked of the caller.
            None => unsafe { &mut *self.place },
        }
    }

    /// The shadow, if somebody asks for it.
    ///
    /// # Safety
    /// As for [`always`](Self::always).
    #[inline(always)]
    pub unsafe fn if_asked(&mut self) -> Option<&mut T> {
        // SAFETY: asked of the caller.
        if self.place.is_null() { None } else { Some(unsafe { self.always() }) }
    }

    /// The pullback has run: what it was given in the place of the shadow is added to it.
    ///
    /// # Safety
    /// As for [`always`](Self::always).
    #[inline(always)]
    pub unsafe fn finish(mut self) {
        if let Some(zeros) = &mut self.zeros
            && !self.place.is_null()
        {
            let zeros: &T = (*zeros).borrow_mut();
            assert!(size_of_val(zeros) == T::bytes(self.place), "a pullback must not change the length of a shadow");
            // SAFETY: asked of the caller; they have the same length.
            unsafe { zeros.floats(self.place, &mut Add) }
        }
    }
}
