//! Values on the heap with one owner: `Box`, `Vec`, `String`.

use super::path::Access;
use super::pointers::pointer_fields;
use super::reach::{Behind, Depth, Nothing};
use super::{
    Differentiable, MakeZero, Mismatch, Path, SharedWritable, Sharing, VisitConstants, VisitFloats, Writable,
    layout_fn, pointee,
};
use crate::abi::{Field, Layout};
use std::mem::{ManuallyDrop, size_of};

const WORD: usize = size_of::<usize>();

// SAFETY: S36, a pointer, which is checked by what it points to.
unsafe impl<T: Differentiable + ?Sized> Differentiable for Box<T> {
    type Within<D: Depth> = Behind<T, D>;

    const LAYOUT: Layout = Layout::new::<Self>("Box", pointer_fields::<Self, T>());
    // Not `T::CHECKED`: a recursive type would ask itself.
    const CHECKED: bool = true;
    const PLAIN: bool = false;
    const VARIANTS: bool = false;
    const CELLS: bool = false;
    const CONSTANTS: bool = true;
    const INERT: bool = false;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        path.around::<T, _>(self, shadow, |path| T::check_shadow(self, shadow, path))
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller.
        unsafe { visit.owned::<T>(self, shadow.cast()) }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller.
        unsafe {
            let content = pointee(&**self, shadow.cast());
            // The engine makes no memory for the tangent there, and nobody else can make a value of the type.
            assert!(
                !content.is_null() || size_of_val(&**self) == 0,
                "a box that a function without derivative has made is part of a result, and has no tangent\n\
                 help: return what is in the box"
            );
            visit.owned(shadow.cast_const().cast(), content.cast_const().cast());
            T::constants(self, content, visit);
            visit.leave();
        }
    }
}

// SAFETY: S37, a box of its own, of such a value.
unsafe impl<T: MakeZero> MakeZero for Box<T> {
    fn zero_like(&self, sharing: &mut Sharing) -> Self {
        Box::new((**self).zero_like(sharing))
    }
}

// SAFETY: S37, a box of its own, of as many such values.
unsafe impl<T: MakeZero> MakeZero for Box<[T]> {
    fn zero_like(&self, sharing: &mut Sharing) -> Self {
        self.iter().map(|value| value.zero_like(sharing)).collect()
    }
}

// SAFETY: S37, no floats.
unsafe impl MakeZero for Box<str> {
    fn zero_like(&self, _: &mut Sharing) -> Self {
        self.clone()
    }
}

// SAFETY: S38, as the content.
unsafe impl<T: Writable + ?Sized> Writable for Box<T> {}
// SAFETY: S38, as the content.
unsafe impl<T: SharedWritable + ?Sized> SharedWritable for Box<T> {}

/// The fields of a `Vec<T>`: three words, of which one is the pointer. Which one is seen in an empty vector, where
/// length and capacity are zero and the pointer is not. (A capacity of zero-sized elements is zero too: its field, not
/// its value.)
const fn vec_fields<T>(pointer: Field, at: usize) -> [Field; 3] {
    assert!(size_of::<Vec<T>>() == 3 * WORD, "a `Vec` is pointer, capacity and length");
    let others = match at {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    };
    [pointer, Field::inactive(others[0] * WORD, WORD), Field::inactive(others[1] * WORD, WORD)]
}

/// Which word of a `Vec<T>` is its pointer.
const fn vec_pointer_word<T>() -> usize {
    let empty = ManuallyDrop::new(Vec::<T>::new());
    // SAFETY: S2, three initialised words, as asserted in `vec_fields`; the pointer dangles without provenance, so it
    // is an integer.
    let words: [usize; 3] = unsafe { (&raw const empty).cast::<[usize; 3]>().read() };
    match words {
        [0, 0, _] => 2,
        [0, _, 0] => 1,
        [_, 0, 0] => 0,
        _ => panic!("an empty `Vec` has a pointer and two zeros"),
    }
}

// SAFETY: S36, three words, found as above. Lengths are compared; a vector that can grow in place needs as much room in
// its shadow.
unsafe impl<T: Differentiable> Differentiable for Vec<T> {
    type Within<D: Depth> = Behind<T, D>;

    const LAYOUT: Layout = Layout::new::<Self>(
        "Vec",
        const {
            let at = vec_pointer_word::<T>();
            &vec_fields::<T>(Field::pointer(at * WORD, layout_fn::<T>()), at)
        },
    );
    const CHECKED: bool = true;
    const PLAIN: bool = false;
    const VARIANTS: bool = false;
    const CELLS: bool = false;
    const CONSTANTS: bool = true;
    const INERT: bool = false;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        path.around(&self[..], &shadow[..], |path| self[..].check_shadow(&shadow[..], path))?;
        if path.access() == Access::Exclusive && size_of::<T>() > 0 && !path.is_constant() {
            path.fitting_capacity(self.capacity(), shadow.capacity())?;
            let spare = self.capacity() - self.len();
            // SAFETY: S3, the capacity of the shadow reaches that far; nobody looks at spare capacity, so nobody sees
            // it written. A derivative that lets the vector grow into it reads these bytes as the shadow of what is
            // pushed.
            unsafe { shadow.as_ptr().cast_mut().add(self.len()).write_bytes(0, spare) };
        }
        Ok(())
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller; the word is the one that holds the address.
        unsafe {
            let pointer = shadow.cast::<*mut T>().add(const { vec_pointer_word::<T>() });
            visit.owned(&self[..], pointer.cast());
        }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller; the word is the one that holds the address.
        unsafe {
            let first = elements_address(shadow.cast_const());
            if first.is_null() {
                // A function without derivative has made the vector, and the engine no memory for its tangent.
                shadow.write(Vec::new());
            } else if T::CONSTANTS {
                visit.owned(shadow.cast_const().cast(), first.cast_const().cast());
                for (index, value) in self.iter().enumerate() {
                    value.constants(first.add(index), visit);
                }
                visit.leave();
            }
        }
    }
}

/// Where a vector's elements are.
///
/// # Safety
/// `vector` is the place of a vector, or of zeros.
pub(super) unsafe fn elements_address<T>(vector: *const Vec<T>) -> *mut T {
    // SAFETY: S2, asked of the caller; the word is the one that holds the address.
    unsafe { vector.cast::<*mut T>().add(const { vec_pointer_word::<T>() }).read() }
}

/// Where a string's text is.
///
/// # Safety
/// `string` is the place of a string, or of zeros.
pub(super) unsafe fn text_address(string: *const String) -> *const u8 {
    // SAFETY: S2, asked of the caller: a string is a vector of bytes.
    unsafe { elements_address::<u8>(string.cast()) }
}

// SAFETY: S37, a vector of its own, of as many such values.
unsafe impl<T: MakeZero> MakeZero for Vec<T> {
    fn zero_like(&self, sharing: &mut Sharing) -> Self {
        let mut zero = Vec::with_capacity(self.capacity());
        zero.extend(self.iter().map(|value| value.zero_like(sharing)));
        zero
    }
}

// SAFETY: S38, as the elements.
unsafe impl<T: Writable> Writable for Vec<T> {}
// SAFETY: S38, as the elements.
unsafe impl<T: SharedWritable> SharedWritable for Vec<T> {}

// SAFETY: S36, three words, as `Vec<u8>`; a derivative never looks into a string's shadow.
unsafe impl Differentiable for String {
    type Within<D: Depth> = Nothing;

    const LAYOUT: Layout = Layout::new::<Self>(
        "String",
        const {
            let at = vec_pointer_word::<u8>();
            &vec_fields::<u8>(Field::inactive_pointer(at * WORD), at)
        },
    );
    const CHECKED: bool = true;
    const PLAIN: bool = false;
    const VARIANTS: bool = false;
    const CELLS: bool = false;
    const CONSTANTS: bool = true;
    const INERT: bool = false;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        // In an enum the derivative finds it only where the program does, and treats it like all else.
        if path.is_mirrored() && path.in_variant() {
            path.fitting_capacity(self.capacity(), shadow.capacity())?;
            path.same_text(self, shadow)?;
        }
        Ok(())
    }

    unsafe fn floats<V: VisitFloats>(&self, _: *mut Self, _: &mut V) {}

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller.
        unsafe { visit.text(self, shadow) }
    }
}

// SAFETY: S37, no floats.
unsafe impl MakeZero for String {
    fn zero_like(&self, _: &mut Sharing) -> Self {
        let mut zero = String::with_capacity(self.capacity());
        zero.push_str(self);
        zero
    }
}

// SAFETY: S38, there are no floats to write.
unsafe impl Writable for String {}
// SAFETY: S38, there are no floats to write.
unsafe impl SharedWritable for String {}
