//! Data that a constant refers to, as pointer and length.
//!
//! A `&'static [T]` is the same, but nobody promises in which order it has the two.

#![allow(unsafe_code)]

use core::mem::offset_of;

/// A `&'static [T]` as pointer and length.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slice<T: 'static> {
    pointer: *const T,
    length: usize,
}

// SAFETY: S40, it stands for a `&'static [T]`.
unsafe impl<T: Sync> Sync for Slice<T> {}
// SAFETY: S40, it stands for a `&'static [T]`.
unsafe impl<T: Sync> Send for Slice<T> {}

impl<T> Slice<T> {
    /// Where the pointer lies, in bytes from the start.
    pub const POINTER: usize = offset_of!(Slice<T>, pointer);
    /// Where the number of values lies, in bytes from the start.
    pub const LENGTH: usize = offset_of!(Slice<T>, length);

    /// The slice `values`.
    pub const fn new(values: &'static [T]) -> Self {
        Slice { pointer: values.as_ptr(), length: values.len() }
    }

    /// The slice back.
    #[inline]
    pub const fn get(&self) -> &'static [T] {
        // SAFETY: S40, the only constructor takes both from a `&'static [T]`.
        unsafe { core::slice::from_raw_parts(self.pointer, self.length) }
    }
}

/// A `&'static str`, as the [`Slice`] of its bytes.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Str(Slice<u8>);

impl Str {
    /// The string `text`.
    pub const fn new(text: &'static str) -> Self {
        Str(Slice::new(text.as_bytes()))
    }

    /// The string back.
    #[inline]
    pub const fn get(&self) -> &'static str {
        // SAFETY: S40, the only constructor takes the bytes from a `&'static str`.
        unsafe { core::str::from_utf8_unchecked(self.0.get()) }
    }
}
