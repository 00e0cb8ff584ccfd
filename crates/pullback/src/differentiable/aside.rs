//! What of an enum's shadow is put aside while a reverse derivative runs.
//!
//! The memory of an enum is shared by its variants. Where the shadow of `None` lies, there are bytes in which a function that puts
//! `Some(x)` there finds the cotangent of `x`; in the shadow of `N(4)` of `enum { F(f64), N(i64) }` they are the bits of 4. But a
//! shadow that has no such float says that its cotangent is zero. So everything in the shadow of an enum that may be overwritten,
//! but the floats and pointers of its variant, is kept, set to zero, and put back when the derivative is through or panics. (It
//! never looks at tags, lengths and other plain data of a shadow.)
//!
//! An enum behind a shared reference stays what it is. But a function may move it, without a look at its variant, to where the
//! caller asks for the cotangent of a float, and that goes back to where it was: so numbers are kept and put back there, too.

use super::path::Access;
use super::{Differentiable, layout_of};
use crate::abi::{Field, Kind, Layout, LayoutFn};
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::ops::Range;

/// The bytes of shadows that are put aside. They are noted while shadows are checked, and zero from [`clear`](Self::clear) on
/// until this is dropped.
#[derive(Debug, Default)]
pub struct Aside {
    /// In the order in which they were noted. One value with two owners is noted twice.
    spans: ManuallyDrop<RefCell<Vec<Span>>>,
    /// What the spans held, one after the other, once they are cleared.
    bytes: ManuallyDrop<Vec<u8>>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: *mut u8,
    length: usize,
    access: Access,
}

/// A field of a shadow's variant.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    start: *const u8,
    layout: LayoutFn,
}

impl Part {
    /// The field `field`.
    pub fn of<T: Differentiable>(field: &T) -> Self {
        Part { start: (&raw const *field).cast(), layout: layout_of::<T> }
    }

    /// A field that takes no part.
    pub fn skipped<T>(field: &T) -> Self {
        Part { start: (&raw const *field).cast(), layout: skipped_layout::<T> }
    }
}

fn skipped_layout<T>() -> &'static Layout {
    const { &Layout::new::<T>("skipped", const { &[Field::inactive(0, size_of::<T>())] }) }
}

impl Aside {
    /// Note what to put aside of `shadow`, an enum in whose variant `parts` are the fields.
    pub(super) fn note<T: Differentiable>(&self, shadow: &T, parts: &[Part], access: Access) {
        if access == Access::Shared {
            // Where there are no floats, nobody adds anything, and the memory may be one that cannot be written.
            let numbers = parts.iter().any(|part| holds((part.layout)(), &[Kind::Inactive]));
            if !numbers || !holds(layout_of::<T>(), &[Kind::F32, Kind::F64]) {
                return;
            }
        }
        let start = (&raw const *shadow).cast::<u8>().cast_mut();
        let mut kept = Vec::new();
        for part in parts {
            keep(part.start.addr() - start.addr(), (part.layout)(), &mut kept);
        }
        kept.sort_unstable_by_key(|range| range.start);
        let mut spans = self.spans.borrow_mut();
        let mut note = |bytes: Range<usize>| {
            if !bytes.is_empty() {
                // SAFETY: within `shadow`.
                spans.push(Span { start: unsafe { start.add(bytes.start) }, length: bytes.len(), access });
            }
        };
        let mut end = 0;
        for range in kept {
            note(end..range.start);
            end = range.end;
        }
        note(end..size_of::<T>());
    }

    /// Whether nothing was noted.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        self.spans.get_mut().is_empty()
    }

    /// Let the compiler know that what `shadow` points to, and what that leads to, may be written where it does not see it. Spans are
    /// noted behind shared references, and it may think that nobody writes there. A derivative of a derivative calls this as it is.
    #[inline(never)]
    pub fn reaches(shadow: *mut ()) {
        std::hint::black_box(shadow);
    }

    /// Keep what was noted, and set to zero what may be overwritten. Everything that shadows lie in has been told to
    /// [`reaches`](Self::reaches), if something was noted.
    ///
    /// # Safety
    /// The shadows lie where they were noted until this is dropped, and only the derivative touches them until then.
    #[inline]
    pub unsafe fn clear(&mut self) {
        if !self.spans.get_mut().is_empty() {
            // SAFETY: asked of the caller.
            unsafe { self.put_aside() }
        }
    }

    /// # Safety: as of [`clear`](Self::clear).
    #[inline(never)]
    unsafe fn put_aside(&mut self) {
        for &Span { start, length, access } in self.spans.get_mut().iter() {
            // SAFETY: asked of the caller. The bytes are read where they may be padding: as bytes that nobody looks at.
            unsafe {
                let at = self.bytes.len();
                self.bytes.reserve(length);
                start.copy_to_nonoverlapping(self.bytes.as_mut_ptr().add(at), length);
                self.bytes.set_len(at + length);
                if access == Access::Exclusive {
                    start.write_bytes(0, length);
                }
            }
        }
    }
}

impl Drop for Aside {
    /// If nothing was noted, it is as if this were not there.
    #[inline]
    fn drop(&mut self) {
        if self.spans.get_mut().capacity() > 0 {
            self.finish();
        }
    }
}

impl Aside {
    /// All that is done when this is dropped, in one function that a derivative of a derivative calls as it is: nothing is left to the fields.
    #[inline(never)]
    fn finish(&mut self) {
        self.put_back();
        // SAFETY: this is dropped once.
        unsafe {
            ManuallyDrop::drop(&mut self.spans);
            ManuallyDrop::drop(&mut self.bytes);
        }
    }
}

impl Aside {
    /// Put back what was there before [`clear`](Self::clear).
    pub fn put_back(&mut self) {
        let mut end = self.bytes.len();
        if end == 0 {
            return;
        }
        // Backwards, so that of two notes of the same bytes the first has the last word.
        for &Span { start, length, .. } in self.spans.get_mut().iter().rev() {
            end -= length;
            // SAFETY: as asked by `clear`, which filled `bytes` from these spans.
            unsafe { start.copy_from_nonoverlapping(self.bytes.as_ptr().add(end), length) };
        }
        self.bytes.clear();
    }
}

/// Whether a value of `layout` may hold one of `kinds` itself, in some variant.
fn holds(layout: &Layout, kinds: &[Kind]) -> bool {
    layout.fields().iter().any(|field| match (field.kind(), field.layout()) {
        (Kind::Nested | Kind::Payload, Some(inner)) => holds(inner(), kinds),
        (kind, _) => kinds.contains(&kind),
    })
}

/// The ranges of floats, pointers and enums in a value of `layout` at `offset`. An enum within is noted by its own check.
fn keep(offset: usize, layout: &Layout, kept: &mut Vec<Range<usize>>) {
    for field in layout.fields() {
        let start = offset + field.offset();
        let size = match field.kind() {
            Kind::F32 => size_of::<f32>(),
            Kind::F64 => size_of::<f64>(),
            Kind::Pointer => size_of::<*const ()>(),
            Kind::Opaque => field.count(),
            Kind::Inactive | Kind::Payload | Kind::Unknown | Kind::Cell => continue,
            Kind::Nested => {
                let inner = field.layout().expect("a nested field has a layout")();
                for index in 0..field.count() {
                    keep(start + index * inner.size(), inner, kept);
                }
                continue;
            }
        };
        kept.push(start..start + size);
    }
}
