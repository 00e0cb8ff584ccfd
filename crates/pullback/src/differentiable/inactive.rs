//! Types without floats. They take part as what lies beside floats: their shadows hold copies.

use super::path::Access;
use super::reach::{Depth, Nothing};
use super::{Differentiable, MakeZero, Mismatch, Path, SharedWritable, Sharing, VisitFloats, Writable};
use crate::abi::{Field, Layout};
use std::marker::PhantomData;
use std::mem::size_of;

macro_rules! inactive {
    ($($({$P:ident})? $T:ty, $name:literal;)*) => {$(
        // SAFETY: S36, no floats, no lengths.
        unsafe impl$(<$P>)? Differentiable for $T {
            type Within<D: Depth> = Nothing;

            const LAYOUT: Layout = Layout::new::<Self>($name, const { &[Field::inactive(0, size_of::<Self>())] });
            const CHECKED: bool = false;
            const PLAIN: bool = size_of::<Self>() == 0;
            const VARIANTS: bool = false;
            const CELLS: bool = false;
            const CONSTANTS: bool = false;
            const INERT: bool = true;

            fn check_shadow(&self, _: &Self, _: &Path<'_>) -> Result<(), Mismatch> {
                Ok(())
            }

            #[inline(always)]
            unsafe fn floats<V: VisitFloats>(&self, _: *mut Self, visit: &mut V) {
                visit.inert(self);
            }

            #[inline(always)]
            unsafe fn floats_in_row<V: VisitFloats>(row: &[Self], _: *mut Self, visit: &mut V) {
                visit.inert(row);
            }
        }

        // SAFETY: S37, no floats.
        unsafe impl$(<$P>)? MakeZero for $T {
            fn zero_like(&self, _: &mut Sharing) -> Self {
                Clone::clone(self)
            }
        }

        // SAFETY: S38, there are no floats to write.
        unsafe impl$(<$P>)? Writable for $T {}
        // SAFETY: S38, there are no floats to write.
        unsafe impl$(<$P>)? SharedWritable for $T {}
    )*};
}

inactive! {
    (), "()";

    bool, "bool";
    char, "char";
    i8, "i8";
    i16, "i16";
    i32, "i32";
    i64, "i64";
    i128, "i128";
    isize, "isize";
    u8, "u8";
    u16, "u16";
    u32, "u32";
    u64, "u64";
    u128, "u128";
    usize, "usize";
    std::num::NonZeroU32, "NonZeroU32";
    std::num::NonZeroU64, "NonZeroU64";
    std::num::NonZeroUsize, "NonZeroUsize";
    std::cmp::Ordering, "Ordering";
    std::time::Duration, "Duration";
    std::time::Instant, "Instant";
    {T} PhantomData<T>, "PhantomData";
}

// SAFETY: S36, no floats; a derivative never looks into a string's shadow.
unsafe impl Differentiable for str {
    type Within<D: Depth> = Nothing;

    const LAYOUT: Layout = u8::LAYOUT;
    const CHECKED: bool = true;
    const PLAIN: bool = false;
    const VARIANTS: bool = false;
    const CELLS: bool = false;
    const CONSTANTS: bool = false;
    const INERT: bool = true;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        // What the derivative writes to one it writes to the other, too, and both stay text.
        if path.is_mirrored() && path.access() == Access::Exclusive { path.same_text(self, shadow) } else { Ok(()) }
    }

    unsafe fn floats<V: VisitFloats>(&self, _: *mut Self, visit: &mut V) {
        visit.inert(self);
    }
}

// SAFETY: S38, there are no floats to write.
unsafe impl Writable for str {}
// SAFETY: S38, there are no floats to write.
unsafe impl SharedWritable for str {}
