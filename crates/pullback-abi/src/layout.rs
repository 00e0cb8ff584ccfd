//! What the memory of a type looks like.

use crate::{Kind, Slice, Str};

/// A function that returns a layout. Layouts refer to each other through functions, since a recursive type's is cyclic.
pub type LayoutFn = fn() -> &'static Layout;

/// The memory of a type: which bytes hold what. Bytes that no field covers are padding.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The size in bytes.
    pub size: usize,
    /// The alignment in bytes.
    pub align: usize,
    /// The fields.
    pub fields: Slice<Field>,
    /// The type's name.
    pub name: Str,
}

impl Layout {
    /// The layout of `T`, which messages call `name`.
    pub const fn new<T>(name: &'static str, fields: &'static [Field]) -> Self {
        Layout { size: size_of::<T>(), align: align_of::<T>(), fields: Slice::new(fields), name: Str::new(name) }
    }
}

/// A part of a [`Layout`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Where it lies, in bytes from the start; of a [`Kind::Payload`] the number of the variant.
    pub offset: usize,
    /// What it is.
    pub kind: Kind,
    /// [`SHARED`](Self::SHARED) or [`AGAIN`](Self::AGAIN); and for the wrapper, not read by the driver, [`SINGLE`](Self::SINGLE),
    /// [`DROPPED`](Self::DROPPED), [`OPTIONAL`](Self::OPTIONAL), [`STAYS`](Self::STAYS),
    /// [`BORROWS`](Self::BORROWS).
    pub flags: u32,
    /// How many bytes ([`Kind::Inactive`], [`Kind::Opaque`], [`Kind::Unknown`], [`Kind::Cell`],
    /// [`Kind::Owners`]) or values ([`Kind::Nested`]).
    pub count: usize,
    /// The layout of what it holds or points to.
    pub layout: Option<LayoutFn>,
}

impl Field {
    /// The flag of a skipped field of whose type no other value can be made.
    pub const SINGLE: u32 = 1;
    /// The flag of a skipped field of a type whose values have to be dropped.
    pub const DROPPED: u32 = 2;
    /// The flag of what is there or not.
    pub const OPTIONAL: u32 = 4;
    /// The flag of a pointer that is a shared reference.
    pub const SHARED: u32 = 8;
    /// The flag of a pointer to where the pointer field before it leads, too.
    pub const AGAIN: u32 = 16;
    /// The flag of a field whose values may not be moved once they are pinned: it is skipped, or another type stands for its.
    pub const STAYS: u32 = 32;
    /// The flag of bytes that say who has borrowed what is beside them.
    pub const BORROWS: u32 = 64;

    const fn new(offset: usize, kind: Kind, count: usize, layout: Option<LayoutFn>) -> Self {
        Field { offset, kind, flags: 0, count, layout }
    }

    /// An `f32`.
    pub const fn f32(offset: usize) -> Self {
        Self::new(offset, Kind::F32, 1, None)
    }

    /// An `f64`.
    pub const fn f64(offset: usize) -> Self {
        Self::new(offset, Kind::F64, 1, None)
    }

    /// A pointer to values of `layout`.
    pub const fn pointer(offset: usize, layout: LayoutFn) -> Self {
        Self::new(offset, Kind::Pointer, 1, Some(layout))
    }

    /// A shared reference to values of `layout`.
    pub const fn reference(offset: usize, layout: LayoutFn) -> Self {
        Field { flags: Self::SHARED, ..Self::pointer(offset, layout) }
    }

    /// A pointer to some of the values of `layout` that the pointer field before it leads to.
    pub const fn again(offset: usize, layout: LayoutFn) -> Self {
        Field { flags: Self::AGAIN, ..Self::pointer(offset, layout) }
    }

    /// A pointer to something that carries no derivative.
    pub const fn inactive_pointer(offset: usize) -> Self {
        Self::new(offset, Kind::Pointer, 1, None)
    }

    /// `bytes` bytes that carry no derivative.
    pub const fn inactive(offset: usize, bytes: usize) -> Self {
        Self::new(offset, Kind::Inactive, bytes, None)
    }

    /// `count` values of `layout` in a row.
    pub const fn nested(offset: usize, count: usize, layout: LayoutFn) -> Self {
        Self::new(offset, Kind::Nested, count, Some(layout))
    }

    /// `bytes` bytes whose content depends on a variant.
    pub const fn opaque(offset: usize, bytes: usize) -> Self {
        Self::new(offset, Kind::Opaque, bytes, None)
    }

    /// A value of `layout` that the variant of this number has in the opaque bytes. The number stands for the offset.
    pub const fn payload(variant: usize, layout: LayoutFn) -> Self {
        Self::new(variant, Kind::Payload, 1, Some(layout))
    }

    /// `bytes` bytes of a type that takes no part.
    pub const fn unknown(offset: usize, bytes: usize) -> Self {
        Self::new(offset, Kind::Unknown, bytes, None)
    }

    /// `bytes` bytes that say who has borrowed what is beside them: of a shadow they are never written.
    pub const fn borrows(offset: usize, bytes: usize) -> Self {
        Field { flags: Self::BORROWS, ..Self::unknown(offset, bytes) }
    }

    /// `bytes` bytes that may be written through a shared reference.
    pub const fn cell(offset: usize, bytes: usize) -> Self {
        Self::new(offset, Kind::Cell, bytes, None)
    }

    /// `bytes` bytes that count owners.
    pub const fn owners(offset: usize, bytes: usize) -> Self {
        Self::new(offset, Kind::Owners, bytes, None)
    }

    /// The same bytes, of a type of which no other value can be made unless it is `Clone`.
    #[must_use]
    pub const fn with_clone(mut self, clone: bool) -> Self {
        self.flags |= if clone { 0 } else { Self::SINGLE };
        self
    }

    /// The same bytes, of a type of which this function tells the wrapper more when the program runs. The driver does
    /// not read it.
    #[must_use]
    pub const fn of(mut self, layout: LayoutFn) -> Self {
        self.layout = Some(layout);
        self
    }

    /// The same bytes, of a type whose values have to be dropped, or not.
    #[must_use]
    pub const fn with_drop(mut self, needs_drop: bool) -> Self {
        self.flags |= if needs_drop { Self::DROPPED } else { 0 };
        self
    }

    /// The same field, of a type whose values may be moved though they are pinned, or not.
    #[must_use]
    pub const fn with_move(mut self, is_unpin: bool) -> Self {
        self.flags |= if is_unpin { 0 } else { Self::STAYS };
        self
    }

    /// The same, which is there or not: a niche in it tells.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.flags |= Self::OPTIONAL;
        self
    }

    /// Whether this is there or not.
    #[inline]
    pub const fn is_optional(&self) -> bool {
        self.flags & Self::OPTIONAL != 0
    }

    /// Whether these are bytes that say who has borrowed what is beside them.
    #[inline]
    pub const fn is_borrows(&self) -> bool {
        self.flags & Self::BORROWS != 0
    }

    /// Whether these are bytes of a type of which no other value can be made.
    #[inline]
    pub const fn is_single(&self) -> bool {
        self.flags & Self::SINGLE != 0
    }

    /// Whether these are bytes of a skipped type whose values have to be dropped.
    #[inline]
    pub const fn is_dropped(&self) -> bool {
        self.flags & Self::DROPPED != 0
    }

    /// Whether this is a field whose values may not be moved once they are pinned: of a skipped type, or one for which
    /// another stands.
    #[inline]
    pub const fn stays(&self) -> bool {
        self.flags & Self::STAYS != 0
    }
}
