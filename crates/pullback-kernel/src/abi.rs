//! What glue says of a function, and how it is called: structures that a compiled module holds as constants, and that
//! whoever has loaded the module reads. They are the same for every compiler of either side.

use crate::dtype::DType;
use std::ffi::c_char;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;

/// The version of these structures.
pub const VERSION: u32 = 1;

/// Constants in a row.
#[repr(C)]
#[derive(Debug)]
pub struct List<T: 'static> {
    first: *const T,
    count: usize,
    of: PhantomData<&'static [T]>,
}

// SAFETY: a `&'static [T]`.
unsafe impl<T: Sync> Sync for List<T> {}
// SAFETY: a `&'static [T]`.
unsafe impl<T: Sync> Send for List<T> {}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<T> {}

impl<T> List<T> {
    /// These constants.
    pub const fn new(of: &'static [T]) -> Self {
        List { first: of.as_ptr(), count: of.len(), of: PhantomData }
    }

    /// The constants.
    pub const fn as_slice(&self) -> &'static [T] {
        // SAFETY: it was made of a slice.
        unsafe { slice::from_raw_parts(self.first, self.count) }
    }
}

/// Text.
pub type Text = List<u8>;

impl Text {
    /// This text.
    pub const fn of(text: &'static str) -> Self {
        List::new(text.as_bytes())
    }

    /// The text; what a module says that is none is left out.
    pub fn as_str(&self) -> &'static str {
        std::str::from_utf8(self.as_slice()).unwrap_or_default()
    }
}

/// A function that can be called over arrays.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// [`VERSION`].
    pub version: u32,
    /// Its name, as in the source.
    pub name: Text,
    /// Its parameters, and its result if it has one, as the last of them.
    pub parameters: List<Parameter>,
    /// Calls it for each element of a tile.
    pub call: Entry,
}

/// A parameter of a function, or its result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name; that of the result is `return`.
    pub name: Text,
    /// What becomes of it.
    pub passing: Passing,
    /// The type of one value of it.
    pub of: &'static Type,
}

/// What a function does with an argument.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passing {
    /// It reads it.
    In,
    /// It writes it.
    Out,
    /// It reads and writes it.
    InOut,
}

impl Passing {
    /// Whether it is read.
    pub const fn is_read(self) -> bool {
        matches!(self, Passing::In | Passing::InOut)
    }

    /// Whether it is written.
    pub const fn is_written(self) -> bool {
        matches!(self, Passing::Out | Passing::InOut)
    }
}

/// A type, as its values lie in memory in Rust.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// Its name in Rust.
    pub name: Text,
    /// `size_of`
    pub size: usize,
    /// `align_of`
    pub align: usize,
    /// What it is made of.
    pub parts: Parts,
}

/// What a type is made of.
#[repr(C, u32)]
#[derive(Clone, Copy, Debug)]
pub enum Parts {
    /// It is a number.
    Number(DType),
    /// So many values of another type, one after the other.
    Array(usize, &'static Type),
    /// Fields.
    Fields(List<Field>),
}

/// A field of a struct, or a part of a tuple.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name, or its number.
    pub name: Text,
    /// Where it lies.
    pub offset: usize,
    /// Its type.
    pub of: &'static Type,
}

/// A loop over the elements of a tile.
///
/// # Safety
/// The [`Batch`] has for each parameter as many values of its element as it says, in a row, aligned: to be read where
/// the parameter is read, to be written where it is written. What is written may be the same memory as what is read if
/// it is the same element of it.
pub type Entry = unsafe extern "C" fn(batch: &mut Batch);

/// A tile, and what came of it.
#[repr(C)]
#[derive(Debug)]
pub struct Batch {
    /// How many elements there are.
    pub count: usize,
    /// For each parameter in order, the values of the first element.
    pub operands: *const *mut u8,
    /// Set if the function panicked.
    pub panicked: bool,
    /// For which element it panicked.
    pub element: usize,
    /// Its message, of so many bytes.
    pub message: [MaybeUninit<c_char>; MESSAGE],
    /// The length of the message.
    pub message_length: usize,
}

/// How much of a panic's message is handed on.
pub const MESSAGE: usize = 1024;

impl Batch {
    /// A tile of so many elements.
    pub fn new(count: usize, operands: *const *mut u8) -> Self {
        Batch {
            count,
            operands,
            panicked: false,
            element: 0,
            message: [MaybeUninit::uninit(); MESSAGE],
            message_length: 0,
        }
    }

    /// The same for the next tile.
    pub fn continue_with(&mut self, count: usize, operands: *const *mut u8) {
        (self.count, self.operands) = (count, operands);
    }

    /// The message of the panic; nothing if there was none.
    pub fn message(&self) -> String {
        let bytes = self.message.iter().take(self.message_length);
        // SAFETY: so many are written with the length.
        let bytes: Vec<u8> = bytes.map(|byte| unsafe { byte.assume_init() }.cast_unsigned()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Call `each` for each element, and note if it panics. This is what glue calls: a panic must not leave the module,
    /// which may have another copy of the standard library than its caller.
    #[inline(always)]
    pub fn each(&mut self, each: impl FnMut(usize)) {
        /// Which element it is; written to memory only when something panics, so that the loop can be vector code.
        struct At<'a>(usize, &'a mut usize);

        impl Drop for At<'_> {
            fn drop(&mut self) {
                *self.1 = self.0;
            }
        }

        let (count, mut each, element) = (self.count, each, &mut self.element);
        let run = std::panic::AssertUnwindSafe(move || {
            let mut at = At(0, element);
            while at.0 < count {
                each(at.0);
                at.0 += 1;
            }
        });
        if let Err(payload) = std::panic::catch_unwind(run) {
            self.note(&*payload);
        }
    }

    /// Note what a panic says.
    #[cold]
    fn note(&mut self, payload: &(dyn std::any::Any + Send)) {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let bytes = text.unwrap_or("a panic without a message").as_bytes();
        self.panicked = true;
        self.message_length = bytes.len().min(MESSAGE);
        for (to, from) in self.message.iter_mut().zip(bytes) {
            to.write(from.cast_signed());
        }
    }
}
