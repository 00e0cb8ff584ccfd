//! Structs that stand for those of other crates: `#[pullback(remote = "…")]`.

use std::mem::{ManuallyDrop, MaybeUninit};

/// A type that lies in memory as another one does, field by field. The derive makes one.
///
/// # Safety
/// [`SAME`](Self::SAME) can be evaluated only if both types have the same size, the same alignment and the same fields
/// in the same places, and neither type has a `Drop` of its own; [`assert_fields`](Self::assert_fields) compiles only if
/// the fields have the same types, and there are no others.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not stand for a type of another crate",
    note = "`with` names a struct with `#[derive(Differentiable)]` and `#[pullback(remote = \"…\")]`"
)]
pub unsafe trait Mirror: Sized {
    /// The other type.
    type Of;

    /// Asserts that both lie in memory in the same way, and are dropped field by field.
    const SAME: ();

    /// Asserts that both have the same fields, which can be moved out of both. Never called.
    fn assert_fields(mirror: Self, other: Self::Of);

    /// A value of the other type as one of this.
    #[inline(always)]
    fn mirror(other: &Self::Of) -> &Self {
        const { Self::SAME }
        // SAFETY: S45, the same fields in the same places.
        unsafe { &*(&raw const *other).cast() }
    }

    /// A value of the other type that is written.
    #[inline(always)]
    fn mirror_mut(other: &mut Self::Of) -> &mut Self {
        const { Self::SAME }
        // SAFETY: S45, the same fields in the same places.
        unsafe { &mut *(&raw mut *other).cast() }
    }

    /// A value as one of the other type.
    #[inline(always)]
    fn original(&self) -> &Self::Of {
        const { Self::SAME }
        // SAFETY: S45, the same fields in the same places.
        unsafe { &*(&raw const *self).cast() }
    }

    /// A value that is written as one of the other type.
    #[inline(always)]
    fn original_mut(&mut self) -> &mut Self::Of {
        const { Self::SAME }
        // SAFETY: S45, the same fields in the same places.
        unsafe { &mut *(&raw mut *self).cast() }
    }

    /// A value of the other type becomes one of this.
    #[inline(always)]
    fn from(other: Self::Of) -> Self {
        // SAFETY: S45, the value is moved.
        unsafe { moved(other, |other| Self::mirror(other)) }
    }

    /// A value becomes one of the other type.
    #[inline(always)]
    fn into(self) -> Self::Of {
        // SAFETY: S45, the value is moved.
        unsafe { moved(self, Self::original) }
    }
}

/// Read a value as another type.
///
/// # Safety
/// What `as_other` returns is the same value.
#[inline(always)]
unsafe fn moved<T, U>(value: T, as_other: impl for<'a> FnOnce(&'a T) -> &'a U) -> U {
    let value = ManuallyDrop::new(value);
    let mut other = MaybeUninit::<U>::uninit();
    // SAFETY: S45, asked of the caller: the value is not used again.
    unsafe {
        other.as_mut_ptr().copy_from_nonoverlapping(as_other(&value), 1);
        other.assume_init()
    }
}
