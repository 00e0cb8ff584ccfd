//! The shadows of arguments that are references.
//!
//! While a reverse derivative runs, memory that the primal made itself has shadows in which only floats and pointers
//! can be relied on. So when the rule runs, a *view* of the shadow is made: its address with the length that the primal
//! has. When the pullback runs, the view becomes a `&mut`: of the shadow itself, or of zeros that are added to it
//! afterwards or thrown away. Where the floats are in cells, others may have the shadow as a `&Cell`, and it is a
//! `&mut` of a copy, which is copied back afterwards.
//!
//! If there is more than floats behind the reference, the view is a zero shadow of its own, which the tape owns, with a
//! list of where the floats of the shadow lie. The pullback is given that one, and what it adds is added to the shadow
//! afterwards.

use super::cotangent::{Add, Overwrite};
use super::runs::Runs;
use crate::abi::Kept;
use crate::differentiable::{MakeZero, ToZero, make_zero, pointee};
use crate::rt::Tape;
use std::borrow::{Borrow, BorrowMut};
use std::mem::{align_of, size_of};
use std::ops::Range;

/// What an argument with a shadow may refer to: a value that owns all it reaches, or a slice of such values.
#[diagnostic::on_unimplemented(
    message = "a rule cannot be given the shadow of a reference to `{Self}`",
    label = "`{Self}` does not own its floats, or is not `Differentiable`",
    note = "take `NoTangent` in the place of the shadow of an argument that has none"
)]
pub trait Reached: ToZero<Zero: BorrowMut<Self>> {
    /// Zeros in the number that the pointer, which may be null, says. For floats only.
    #[doc(hidden)]
    fn zeros(shape: *mut Self) -> Self::Zero;

    /// How many bytes there are.
    #[doc(hidden)]
    fn bytes(shape: *mut Self) -> usize;
}

impl<T: MakeZero> Reached for T {
    #[inline]
    fn zeros(_: *mut Self) -> T {
        assert!(T::PLAIN, "internal error in Pullback: zeros of more than floats");
        // SAFETY: S36, floats only, of which zero bytes are zeros.
        unsafe { std::mem::zeroed() }
    }

    #[inline(always)]
    fn bytes(_: *mut Self) -> usize {
        size_of::<T>()
    }
}

impl<T: MakeZero> Reached for [T] {
    #[inline]
    fn zeros(shape: *mut Self) -> Vec<T> {
        (0..shape.len()).map(|_| T::zeros(std::ptr::null_mut())).collect()
    }

    #[inline(always)]
    fn bytes(shape: *mut Self) -> usize {
        shape.len() * size_of::<T>()
    }
}

/// A zero shadow that the pullback is given in the place of one that is more than floats.
struct Detached<T: Reached + ?Sized> {
    zero: T::Zero,
    /// The floats of the shadow, if somebody asks for it.
    shadow: Option<Runs>,
}

/// A view of a shadow. For floats only: its address, null without a shadow, with the primal's length. Else the address
/// of a `Detached` value.
///
/// # Safety
/// `tape` is a tape that nobody else uses. `primal` is the place of the argument; `shadow` is null or the place of its
/// shadow, in which pointers are right.
#[inline(always)]
pub unsafe fn view<T: Reached + ?Sized>(tape: *mut Tape, primal: *const *const T, shadow: *const *mut ()) -> *mut T {
    let none = std::ptr::null_mut::<()>();
    // SAFETY: S34, asked of the caller.
    unsafe {
        let primal = primal.read();
        let place = pointee(primal, if shadow.is_null() { &raw const none } else { shadow });
        if T::PLAIN {
            return place;
        }
        let primal = &*primal;
        let runs = (!place.is_null()).then(|| Runs::of(primal, place));
        let detached: *mut () = (*tape).own(Detached::<T> { zero: make_zero(primal), shadow: runs }).cast();
        pointee(primal, &raw const detached)
    }
}

/// The shadow of a raw pointer, or the tangent: null where there is none.
///
/// # Safety
/// `place` is null or the place of the pointer's shadow.
#[inline(always)]
pub unsafe fn raw_shadow<P>(place: *const P) -> P {
    const { assert!(size_of::<P>() == size_of::<*mut ()>()) }
    let none = std::ptr::null_mut::<()>();
    // SAFETY: S30, asked of the caller; `P` is a thin pointer, which may be null.
    unsafe { if place.is_null() { (&raw const none).cast::<P>().read() } else { place.read() } }
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
    // SAFETY: S30, asked of the caller.
    unsafe { if size_of::<V>() > 0 { place.read() } else { std::ptr::dangling::<V>().read() } }
}

/// A shadow on its way to the pullback.
pub struct Shadow<T: Reached + ?Sized> {
    view: *mut T,
    /// What the pullback is given in the place of floats that it cannot have: zeros, or a copy.
    instead: Option<T::Zero>,
    /// Whether that is a copy.
    is_copy: bool,
}

impl<T: Reached + ?Sized> Shadow<T> {
    /// The shadow of a view. Where it overlaps one of `others`, which are given to the same pullback, the pullback gets
    /// zeros, which are added to the shadow afterwards: of two `&mut` neither may be the other.
    #[inline(always)]
    pub fn new(view: *mut T, others: &[Range<usize>]) -> Self {
        let shadow = Shadow { view, instead: None, is_copy: false };
        let range = shadow.range();
        let overlaps = others.iter().any(|other| other.start < range.end && range.start < other.end);
        Shadow { instead: if overlaps { Some(T::zeros(view)) } else { None }, ..shadow }
    }

    /// The addresses that the pullback is given. (A zero shadow of its own is nobody else's.)
    #[inline(always)]
    pub fn range(&self) -> Range<usize> {
        let start = self.view.cast::<()>().addr();
        if start == 0 || !T::PLAIN { 0..0 } else { start..start + T::bytes(self.view) }
    }

    /// What the view is for a value of more than floats.
    ///
    /// # Safety
    /// `T` is more than floats, and the tape is still there.
    unsafe fn detached(&mut self) -> &mut Detached<T> {
        // SAFETY: S34, `view` made it.
        unsafe { &mut *self.view.cast() }
    }

    /// The shadow, or zeros if nobody asks for it.
    ///
    /// # Safety
    /// The shadow is there, nobody else uses it, and the tape is still there.
    #[inline(always)]
    pub unsafe fn always(&mut self) -> &mut T {
        if !T::PLAIN {
            // SAFETY: S34, asked of the caller.
            return unsafe { self.detached() }.zero.borrow_mut();
        }
        if (self.view.is_null() || T::CELLS) && self.instead.is_none() {
            let mut instead = T::zeros(self.view);
            if !self.view.is_null() {
                // SAFETY: S34, asked of the caller; a cell may be read by a `&`.
                unsafe { (*self.view).floats(instead.borrow_mut(), &mut Overwrite) };
                self.is_copy = true;
            }
            self.instead = Some(instead);
        }
        match &mut self.instead {
            Some(instead) => instead.borrow_mut(),
            // SAFETY: S34, asked of the caller.
            None => unsafe { &mut *self.view },
        }
    }

    /// The shadow, if somebody asks for it.
    ///
    /// # Safety
    /// As for [`always`](Self::always).
    #[inline(always)]
    pub unsafe fn if_asked(&mut self) -> Option<&mut T> {
        // SAFETY: S34, asked of the caller.
        unsafe {
            let asked = if T::PLAIN { !self.view.is_null() } else { self.detached().shadow.is_some() };
            if asked { Some(self.always()) } else { None }
        }
    }

    /// The pullback has run: a copy that it was given is copied back. Of all shadows this comes before anything is
    /// added to one of them, for a cell of which there is a copy may be in another one, too.
    ///
    /// # Safety
    /// As for [`always`](Self::always).
    #[inline(always)]
    pub unsafe fn copy_back(&self) {
        if self.is_copy
            && let Some(copy) = &self.instead
        {
            let copy: &T = copy.borrow();
            // SAFETY: S34, asked of the caller.
            unsafe { copy.floats(self.view, &mut Overwrite) }
        }
    }

    /// The copies are back: what the pullback was given in the place of the shadow otherwise is added to it.
    ///
    /// # Safety
    /// As for [`always`](Self::always).
    ///
    /// # Panics
    /// If the pullback has changed the shape of what it was given.
    #[inline(always)]
    pub unsafe fn finish(mut self, rule: &str, argument: &str) {
        // SAFETY: S34, asked of the caller.
        unsafe {
            if !T::PLAIN {
                let Detached { zero, shadow } = self.detached();
                let added = Runs::of_value::<T>(zero.borrow_mut());
                match shadow {
                    None => {}
                    Some(shadow) if added.fit(shadow) => added.add_to(shadow),
                    Some(_) => changed_shape(rule, argument),
                }
                // What is counted the pullback may have put there, or kept.
                if added.has_counted() {
                    *zero = make_zero::<T>((*zero).borrow_mut());
                } else {
                    added.clear();
                }
            } else if !self.view.is_null()
                && !self.is_copy
                && let Some(instead) = &self.instead
            {
                let instead: &T = instead.borrow();
                instead.floats(self.view, &mut Add);
            }
        }
    }
}

#[cold]
fn changed_shape(rule: &str, argument: &str) -> ! {
    panic!(
        "the pullback of rule `{rule}` has changed the shape of the shadow of `{argument}`\n\
         help: add to its floats, and leave lengths and variants as they are"
    )
}
