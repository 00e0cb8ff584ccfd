//! The request that an attribute leaves in the program, as the driver reads it: plain `repr(C)` constants.
//!
//! `docs/architecture.md` has the same tables in words. An attribute makes a [`Request`] with one [`Arg`] for each
//! argument and one for the place of the result, and hands it, with the address of a shim, to [`__pullback_marker`].
//! The types' [`Layout`]s tell the engine what lies where: they come from
//! [`Differentiable::LAYOUT`](crate::Differentiable::LAYOUT).

mod rule;

pub use rule::{__pullback_rule, __pullback_ruled, Kept, Rule, RuleEntry, RuleKind};

use std::mem::{align_of, size_of};

/// A function that returns a layout. Layouts refer to each other through functions, since a recursive type's is cyclic.
pub type LayoutFn = fn() -> &'static Layout;

/// A string as pointer and length.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Str {
    pointer: *const u8,
    length: usize,
}

impl Str {
    /// The string `text`.
    pub const fn new(text: &'static str) -> Self {
        Str { pointer: text.as_ptr(), length: text.len() }
    }

    /// The string back.
    pub const fn get(&self) -> &'static str {
        // SAFETY: S40, the only constructor takes both from a `&'static str`.
        unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.pointer, self.length)) }
    }
}

// SAFETY: S40, it stands for a `&'static str`.
unsafe impl Sync for Str {}
// SAFETY: S40, it stands for a `&'static str`.
unsafe impl Send for Str {}

/// Whether derivatives run with the computation or against it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Mode {
    /// Tangents beside values.
    Forward = 0,
    /// Cotangents after values.
    Reverse = 1,
}

/// Whether an argument takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Activity {
    /// It has no shadow.
    Const = 0,
    /// It has a shadow beside it.
    Duplicated = 1,
    /// It has a shadow, and nobody looks at the primal afterwards.
    DuplicatedNoNeed = 2,
}

/// A derivative that is asked for.
#[repr(C)]
#[derive(Debug)]
pub struct Request {
    version: u32,
    mode: Mode,
    width: u32,
    flags: u32,
    name: Str,
    file: Str,
    line: u32,
    column: u32,
    args: *const Arg,
    arg_count: usize,
}

// SAFETY: S40, constants all the way down; `args` stands for a `&'static [Arg]`.
unsafe impl Sync for Request {}

impl Request {
    /// The version of these structures.
    pub const VERSION: u32 = 2;
    /// The flag of the option `strong_zero`.
    pub const STRONG_ZERO: u32 = 1;
    /// The flag of the option `runtime_activity`.
    pub const RUNTIME_ACTIVITY: u32 = 2;
    /// The flag of a reverse derivative whose reverse sweep is a function of its own.
    pub const SPLIT: u32 = 4;

    /// A request for `width` derivatives side by side of the function `name`; `args` are its arguments and its result's
    /// place.
    pub const fn new(
        mode: Mode,
        width: u32,
        flags: u32,
        name: &'static str,
        (file, line, column): (&'static str, u32, u32),
        args: &'static [Arg],
    ) -> Self {
        Request {
            version: Self::VERSION,
            mode,
            width,
            flags,
            name: Str::new(name),
            file: Str::new(file),
            line,
            column,
            args: args.as_ptr(),
            arg_count: args.len(),
        }
    }

    /// The arguments, and the result's place as the last.
    pub const fn args(&self) -> &'static [Arg] {
        // SAFETY: S40, `new` took both from a `&'static [Arg]`.
        unsafe { std::slice::from_raw_parts(self.args, self.arg_count) }
    }
}

/// An argument of the primal, or the place of its result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    name: Str,
    activity: Activity,
    flags: u32,
    layout: LayoutFn,
}

impl Arg {
    /// It is moved into the function.
    const BY_VALUE: u32 = 1;

    /// The argument `name`, whose memory `layout` describes.
    pub const fn new(name: &'static str, activity: Activity, layout: LayoutFn) -> Self {
        Arg { name: Str::new(name), activity, flags: 0, layout }
    }

    /// The same, moved into the function: what it owns, the caller does not see afterwards.
    pub const fn by_value(self) -> Self {
        Arg { flags: Self::BY_VALUE, ..self }
    }

    /// Its name in the source, `return` for the result's place.
    pub const fn name(&self) -> &'static str {
        self.name.get()
    }

    /// Whether it takes part.
    pub const fn activity(&self) -> Activity {
        self.activity
    }

    /// What its memory looks like.
    pub const fn layout(&self) -> LayoutFn {
        self.layout
    }
}

/// The memory of a type: which bytes hold what. Bytes that no field covers are padding.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    size: usize,
    align: usize,
    fields: *const Field,
    field_count: usize,
    name: Str,
}

// SAFETY: S40, constants all the way down; `fields` stands for a `&'static [Field]`.
unsafe impl Sync for Layout {}
// SAFETY: S40, as above.
unsafe impl Send for Layout {}

impl Layout {
    /// The layout of `T`, which messages call `name`.
    pub const fn new<T>(name: &'static str, fields: &'static [Field]) -> Self {
        Layout {
            size: size_of::<T>(),
            align: align_of::<T>(),
            fields: fields.as_ptr(),
            field_count: fields.len(),
            name: Str::new(name),
        }
    }

    /// The size in bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The alignment in bytes.
    pub const fn align(&self) -> usize {
        self.align
    }

    /// The type's name.
    pub const fn name(&self) -> &'static str {
        self.name.get()
    }

    /// The fields.
    pub const fn fields(&self) -> &'static [Field] {
        // SAFETY: S40, `new` took both from a `&'static [Field]`.
        unsafe { std::slice::from_raw_parts(self.fields, self.field_count) }
    }
}

/// What lies at an offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Kind {
    /// An `f32`.
    F32 = 1,
    /// An `f64`.
    F64 = 2,
    /// A pointer to one or more values of the field's layout; without a layout, to nothing that is differentiated.
    Pointer = 3,
    /// So many bytes that carry no derivative.
    Inactive = 4,
    /// So many values of the field's layout in a row.
    Nested = 5,
    /// So many bytes whose content depends on a variant.
    Opaque = 6,
    /// In the opaque bytes of the same layout, some variant has a value of the field's layout; nobody knows where.
    Payload = 7,
    /// So many bytes of a type that takes no part, of which nothing is known. Memory that is reached through them has
    /// no shadow.
    Unknown = 8,
    /// So many bytes that lie in a cell: they may be written through a shared reference. Other fields say what they
    /// are.
    Cell = 9,
    /// So many bytes that count owners of the value, or weak references to it.
    Owners = 10,
}

/// A part of a [`Layout`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Field {
    offset: usize,
    kind: Kind,
    /// For the wrapper, of a skipped field: [`SINGLE`](Self::SINGLE), [`DROPPED`](Self::DROPPED). The driver does not
    /// read it.
    flags: u32,
    count: usize,
    layout: Option<LayoutFn>,
}

impl Field {
    /// No other value of its type can be made.
    const SINGLE: u32 = 1;
    /// A value of its type has to be dropped.
    const DROPPED: u32 = 2;

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

    /// The same bytes, of a type of which no other value can be made unless it is `Clone`.
    #[must_use]
    pub const fn with_clone(mut self, clone: bool) -> Self {
        self.flags |= if clone { 0 } else { Self::SINGLE };
        self
    }

    /// The same bytes, of a type whose values have to be dropped, or not.
    #[must_use]
    pub const fn with_drop(mut self, needs_drop: bool) -> Self {
        self.flags |= if needs_drop { Self::DROPPED } else { 0 };
        self
    }

    /// Whether these are bytes of a type of which no other value can be made.
    pub const fn is_single(&self) -> bool {
        self.flags & Self::SINGLE != 0
    }

    /// Whether these are bytes of a skipped type whose values have to be dropped.
    pub const fn is_dropped(&self) -> bool {
        self.flags & Self::DROPPED != 0
    }

    /// `bytes` bytes that may be written through a shared reference.
    pub const fn cell(offset: usize, bytes: usize) -> Self {
        Self::new(offset, Kind::Cell, bytes, None)
    }

    /// `bytes` bytes that count owners.
    pub const fn owners(offset: usize, bytes: usize) -> Self {
        Self::new(offset, Kind::Owners, bytes, None)
    }

    /// Where it lies, in bytes from the start.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// What it is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// How many bytes ([`Kind::Inactive`], [`Kind::Opaque`], [`Kind::Unknown`], [`Kind::Cell`],
    /// [`Kind::Owners`]) or values ([`Kind::Nested`]).
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The layout of what it holds or points to.
    pub const fn layout(&self) -> Option<LayoutFn> {
        self.layout
    }
}

// The driver reads a layout function's body, and nobody calls it from C.
#[expect(improper_ctypes)]
unsafe extern "C" {
    /// Stands for the derivative that `request` asks of the function behind `shim`. It is never defined: the driver
    /// puts the derivative's address in place of each call.
    pub fn __pullback_marker(shim: *const (), request: *const Request) -> *const ();

    /// Stands for the reverse sweep of the split derivative that [`__pullback_marker`] stands for.
    pub fn __pullback_later(shim: *const (), request: *const Request) -> *const ();

    /// Stands for whether the derivative that [`__pullback_marker`] stands for has the caller's shadows saved: null if
    /// it has not.
    pub fn __pullback_saves(shim: *const (), request: *const Request) -> *const ();

    /// Stands for whether the derivative that [`__pullback_marker`] stands for may drop owners of values that have no
    /// shadow: null if it does not.
    pub fn __pullback_disowns(shim: *const (), request: *const Request) -> *const ();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// The byte offsets of the contract, which the driver reads by.
    #[test]
    fn structures_lie_as_the_driver_reads_them() {
        assert_eq!(
            [
                offset_of!(Request, version),
                offset_of!(Request, mode),
                offset_of!(Request, width),
                offset_of!(Request, flags),
                offset_of!(Request, name),
                offset_of!(Request, file),
                offset_of!(Request, line),
                offset_of!(Request, column),
                offset_of!(Request, args),
                offset_of!(Request, arg_count),
                size_of::<Request>(),
            ],
            [0, 4, 8, 12, 16, 32, 48, 52, 56, 64, 72]
        );
        assert_eq!(
            [offset_of!(Arg, name), offset_of!(Arg, activity), offset_of!(Arg, layout), size_of::<Arg>()],
            [0, 16, 24, 32]
        );
        assert_eq!(
            [
                offset_of!(Layout, size),
                offset_of!(Layout, align),
                offset_of!(Layout, fields),
                offset_of!(Layout, field_count),
                offset_of!(Layout, name),
                size_of::<Layout>(),
            ],
            [0, 8, 16, 24, 32, 48]
        );
        assert_eq!(
            [
                offset_of!(Field, offset),
                offset_of!(Field, kind),
                offset_of!(Field, count),
                offset_of!(Field, layout),
                size_of::<Field>(),
            ],
            [0, 8, 16, 24, 32]
        );
    }

    #[test]
    fn a_request_gives_back_what_it_was_made_of() {
        fn layout() -> &'static Layout {
            const { &Layout::new::<f64>("f64", const { &[Field::f64(0)] }) }
        }
        static REQUEST: Request = Request::new(
            Mode::Reverse,
            2,
            Request::STRONG_ZERO,
            "f",
            ("lib.rs", 3, 5),
            &[Arg::new("x", Activity::Duplicated, layout)],
        );
        let arg = REQUEST.args()[0];
        assert_eq!((REQUEST.mode, REQUEST.width, REQUEST.flags, REQUEST.name.get()), (Mode::Reverse, 2, 1, "f"));
        assert_eq!((arg.name(), arg.activity(), arg.layout()().name()), ("x", Activity::Duplicated, "f64"));
    }
}
