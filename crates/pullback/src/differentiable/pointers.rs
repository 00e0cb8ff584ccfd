//! References and raw pointers. A pointer to a slice is two words: the address, then the length.

use super::reach::{Behind, Depth};
use super::{
    Differentiable, Mismatch, Path, SharedWritable, VisitConstants, VisitFloats, Writable, layout_fn, pointee,
};
use crate::abi::{Field, Layout};
use std::mem::size_of;

const WORD: usize = size_of::<usize>();

/// The layout of `P`, a thin or wide pointer to `T`.
const fn pointer_layout<P, T: Differentiable + ?Sized>(name: &'static str) -> Layout {
    Layout::new::<P>(name, pointer_fields::<P, T>())
}

/// The fields of a shared reference to `T`.
const fn reference_fields<T: Differentiable + ?Sized>() -> &'static [Field] {
    const {
        assert!(address_comes_first());
        if size_of::<&T>() == WORD {
            &[Field::reference(0, layout_fn::<T>())]
        } else {
            &[Field::reference(0, layout_fn::<T>()), Field::inactive(WORD, WORD)]
        }
    }
}

/// The fields of `P`, a thin or wide pointer to `T`.
pub(super) const fn pointer_fields<P, T: Differentiable + ?Sized>() -> &'static [Field] {
    const {
        assert!(address_comes_first());
        if size_of::<P>() == WORD {
            &[Field::pointer(0, layout_fn::<T>())]
        } else {
            &[Field::pointer(0, layout_fn::<T>()), Field::inactive(WORD, WORD)]
        }
    }
}

/// Whether a wide pointer is its address and then its length, as every rustc has had it.
pub(super) const fn address_comes_first() -> bool {
    let slice: *const [u8] = std::ptr::slice_from_raw_parts(std::ptr::without_provenance(5), 7);
    // SAFETY: S2, a pointer without provenance is an integer, so both words are.
    let words: [usize; 2] = unsafe { std::mem::transmute(slice) };
    words[0] == 5 && words[1] == 7
}

// SAFETY: S36, a pointer, which is checked by what it points to.
unsafe impl<T: Differentiable + ?Sized> Differentiable for &T {
    type Within<D: Depth> = Behind<T, D>;

    const LAYOUT: Layout = Layout::new::<Self>("&", reference_fields::<T>());
    const CHECKED: bool = T::CHECKED || T::CELLS;
    const PLAIN: bool = false;
    const VARIANTS: bool = false;
    const CELLS: bool = false;
    const CONSTANTS: bool = T::INERT;
    const INERT: bool = false;

    const AT_A_GLANCE: bool = !T::CELLS && T::AT_A_GLANCE;

    #[inline(always)]
    fn fits_at_a_glance(&self, shadow: &Self) -> bool {
        T::fits_at_a_glance(self, shadow)
    }

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        path.shared().around::<T, _>(self, shadow, |path| T::check_shadow(self, shadow, path))
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller.
        unsafe { visit.reference::<T>(self, shadow.cast()) }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        if T::INERT {
            // SAFETY: S36, asked of the caller.
            unsafe { visit.reference(self, shadow) }
        }
    }
}

// SAFETY: S38, what can be written through `&`, can be written through `&mut &`.
unsafe impl<T: SharedWritable + ?Sized> Writable for &T {}
// SAFETY: S38, likewise.
unsafe impl<T: SharedWritable + ?Sized> SharedWritable for &T {}

/// What a mutable reference leads to, by the address that it holds, and not by way of the shared reference to it: the
/// function that was given the reference writes there, and what was lent is looked at once more when it is through.
fn lent<T: ?Sized>(reference: &&mut T) -> *const T {
    // SAFETY: S2, a reference is a pointer.
    unsafe { (&raw const *reference).cast::<*const T>().read() }
}

// SAFETY: S36, a pointer, which is checked by what it points to.
unsafe impl<T: Differentiable + ?Sized> Differentiable for &mut T {
    type Within<D: Depth> = Behind<T, D>;

    const LAYOUT: Layout = pointer_layout::<Self, T>("&mut");
    // A `&mut` that is itself behind `&` or in an `Rc` leads to cells that have other names.
    const CHECKED: bool = T::CHECKED || T::CELLS;
    const PLAIN: bool = false;
    const VARIANTS: bool = false;
    const CELLS: bool = false;
    // Not `T::CONSTANTS`: a recursive type would ask itself.
    const CONSTANTS: bool = true;
    const INERT: bool = false;

    const AT_A_GLANCE: bool = !T::CELLS && T::AT_A_GLANCE;

    #[inline(always)]
    fn fits_at_a_glance(&self, shadow: &Self) -> bool {
        T::fits_at_a_glance(self, shadow)
    }

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        path.around::<T, _>(self, shadow, |path| T::check_shadow(self, shadow, path))
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller.
        unsafe { visit.mutable::<T>(lent(self), shadow.cast()) }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        if !T::CONSTANTS {
            return;
        }
        // SAFETY: S36, asked of the caller.
        unsafe {
            let primal = lent(self);
            let target = pointee(primal, shadow.cast());
            // The engine makes no memory for the tangent there, and nobody else can make a value of the type.
            assert!(
                !target.is_null() || size_of_val(&*primal) == 0,
                "a function without derivative has made what a reference in a result leads to, and it has no tangent\n\
                 help: return the value itself"
            );
            visit.borrowed::<T>(primal, target, shadow.cast_const().cast())
        }
    }
}

// SAFETY: S38, what can be written through `&mut`, can be written through `&mut &mut`.
unsafe impl<T: Writable + ?Sized> Writable for &mut T {}
// SAFETY: S38, as the target.
unsafe impl<T: SharedWritable + ?Sized> SharedWritable for &mut T {}

macro_rules! raw_pointers {
    ($($P:ty, $name:literal;)*) => {$(
        // SAFETY: S36, a pointer. What it points to cannot be checked: where nobody answers for it, the check fails
        // (S41).
        unsafe impl<T: Differentiable> Differentiable for $P {
            type Within<D: Depth> = Behind<T, D>;

            const LAYOUT: Layout = pointer_layout::<Self, T>($name);
            const CHECKED: bool = true;
            const PLAIN: bool = false;
            const VARIANTS: bool = false;
            const CELLS: bool = false;
            const CONSTANTS: bool = false;
            const INERT: bool = false;

            fn check_shadow(&self, _: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
                path.raw_pointer()
            }

            // How many values are behind it, nobody knows.
            unsafe fn floats<V: VisitFloats>(&self, _: *mut Self, _: &mut V) {}
        }
    )*};
}
raw_pointers! {
    *const T, "*const";
    *mut T, "*mut";
}

// SAFETY: S38, whoever calls the derivative, an `unsafe fn`, answers for what the pointer may be used for.
unsafe impl<T: Differentiable> Writable for *mut T {}
