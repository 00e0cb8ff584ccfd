//! Values with several owners: `Rc` and `Arc`. What is shared in the primal is shared in the same way in the shadow.

use super::hashing::Map;
use super::reach::{Behind, Depth};
use super::{
    Differentiable, MakeZero, Mismatch, Path, SharedWritable, VisitConstants, VisitFloats, Writable, layout_fn,
};
use crate::abi::{Field, Layout};
use std::mem::offset_of;
use std::rc::Rc;
use std::sync::Arc;

/// Which shared values [`make_zero`](crate::make_zero) has copied, and to where.
///
/// Values are known by their addresses. So there is one of these for each walk through a value, which is borrowed for
/// as long, and only [`ToZero`](crate::ToZero) makes one.
#[derive(Debug)]
pub struct Sharing {
    /// None in most types.
    copies: Option<Map<*const (), Copy>>,
    /// The `RefCell`s that the walk is in. What owns itself does so by one of them.
    cells: Vec<*const ()>,
}

/// The raw pointer of a shadow's `Rc` or `Arc`, of which this owns one count.
#[derive(Debug)]
struct Copy {
    shadow: *const (),
    release: unsafe fn(*const ()),
}

impl Sharing {
    pub(super) const fn new() -> Self {
        Sharing { copies: None, cells: Vec::new() }
    }

    /// Enter the content of a `RefCell`.
    pub(super) fn enter(&mut self, cell: *const ()) {
        // A value that has no size may have the address of its neighbour.
        assert!(
            !self.cells.contains(&cell),
            "no shadow can be made of a value that owns itself, by an `Rc` in a `RefCell`: let it have a `Weak` there, in a \
             field with `#[pullback(skip)]`"
        );
        self.cells.push(cell);
    }

    /// Leave the `RefCell` that was entered last.
    pub(super) fn leave(&mut self) {
        self.cells.pop();
    }
}

impl Drop for Sharing {
    /// Goes into the caller: of most types nothing is left of it.
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(copies) = self.copies.take() {
            release(copies);
        }
    }
}

/// Give back the counts that were taken when the copies were noted.
#[cold]
#[inline(never)]
fn release(copies: Map<*const (), Copy>) {
    for copy in copies.values() {
        // SAFETY: S37, each count was taken once.
        unsafe { (copy.release)(copy.shadow) }
    }
}

/// What an `Rc` or `Arc` points to.
#[repr(C)]
struct Counted<T> {
    strong: usize,
    weak: usize,
    value: T,
}

/// The layout of `Counted<T>`.
fn counted_layout<T: Differentiable>() -> &'static Layout {
    const {
        &Layout::new::<Counted<T>>(
            "counted value",
            const {
                &[
                    Field::owners(offset_of!(Counted<T>, strong), size_of::<usize>()),
                    Field::owners(offset_of!(Counted<T>, weak), size_of::<usize>()),
                    Field::nested(offset_of!(Counted<T>, value), 1, layout_fn::<T>()),
                    Field::cell(offset_of!(Counted<T>, strong), 2 * size_of::<usize>()),
                ]
            },
        )
    }
}

macro_rules! counted {
    ($($P:ident, plain counts: $plain:literal;)*) => {$(
        // SAFETY: S36, a pointer to the counts and the value, which is checked.
        unsafe impl<T: Differentiable> Differentiable for $P<T> {
            type Within<D: Depth> = Behind<T, D>;

            const LAYOUT: Layout =
                Layout::new::<Self>(stringify!($P), const { &[Field::pointer(0, counted_layout::<T>)] });
            // Not `T::CHECKED`: a recursive type would ask itself.
            const CHECKED: bool = true;
            const PLAIN: bool = false;
            const VARIANTS: bool = false;
            const CELLS: bool = false;
            const CONSTANTS: bool = true;
            const INERT: bool = false;

            fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
                // SAFETY: S2, the pointer is to the counts and the value, of which only the counts are read.
                let counted = |owner: &Self| unsafe { (&raw const *owner).cast::<*mut Counted<T>>().read() };
                let (ours, theirs) = (counted(self), counted(shadow));
                if T::CELLS || path.is_mirrored() {
                    path.piece_of(ours, theirs, size_of::<Counted<T>>(), true);
                }
                if path.is_mirrored() && $plain {
                    path.owner(
                        self,
                        ours.cast(),
                        [$P::strong_count(self), $P::weak_count(self)],
                        [$P::strong_count(shadow), $P::weak_count(shadow)],
                    )?;
                }
                let owners = if $P::weak_count(shadow) == 0 { Some($P::strong_count(shadow)) } else { None };
                let owner = (&raw const *shadow).cast();
                match path.counted(owner, $P::as_ptr(shadow).cast(), ours.cast_const().cast(), owners, $plain) {
                    Some(path) => {
                        if T::CELLS {
                            path.has_cells();
                        }
                        T::check_shadow(self, shadow, &path)
                    }
                    None => Ok(()),
                }
            }

            unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
                let offset = const { offset_of!(Counted<T>, value) };
                // SAFETY: S36, asked of the caller; the pointer is to the counts and the value.
                unsafe { visit.shared::<T>(self, shadow.cast(), offset, $P::strong_count(self)) }
            }

            unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
                // SAFETY: S36, asked of the caller; the pointer is to the counts and the value.
                unsafe {
                    let counted = shadow.cast::<*mut Counted<T>>().read();
                    // The engine makes no memory for the tangent there, and nobody else can make a value of the type.
                    assert!(
                        !counted.is_null(),
                        "a shared value that a function without derivative has made is part of a result, and has no \
                         tangent\n\
                         help: return the value itself"
                    );
                    if visit.counted(counted.cast_const().cast()) {
                        T::constants(self, &raw mut (*counted).value, visit);
                        visit.leave();
                    }
                }
            }
        }

        // SAFETY: S37, a counted value of its own, which only owners in the same zero share.
        unsafe impl<T: MakeZero> MakeZero for $P<T> {
            fn zero_like(&self, sharing: &mut Sharing) -> Self {
                let primal = $P::as_ptr(self).cast::<()>();
                if let Some(copy) = sharing.copies.as_ref().and_then(|copies| copies.get(&primal)) {
                    let shadow = copy.shadow.cast::<T>();
                    // SAFETY: S37, the value that is walked through is borrowed, so one address has one owner type.
                    // This came from `into_raw` below, and its count is still held.
                    return unsafe {
                        $P::increment_strong_count(shadow);
                        $P::from_raw(shadow)
                    };
                }
                let zero = $P::new((**self).zero_like(sharing));
                let copy = Copy {
                    shadow: $P::into_raw(zero.clone()).cast(),
                    // SAFETY: S37, called once, on what `into_raw` gave.
                    release: |shadow| drop(unsafe { $P::from_raw(shadow.cast::<T>()) }),
                };
                sharing.copies.get_or_insert_default().insert(primal, copy);
                zero
            }
        }

        // SAFETY: S38, reached through `&`, whoever owns it.
        unsafe impl<T: SharedWritable> Writable for $P<T> {}
        // SAFETY: S38, likewise.
        unsafe impl<T: SharedWritable> SharedWritable for $P<T> {}
    )*};
}
counted! {
    Rc, plain counts: true;
    // Nothing but atomics change its counts, and these have no derivative.
    Arc, plain counts: false;
}
