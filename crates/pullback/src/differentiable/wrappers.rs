//! Types of the standard library around one value, that say how it is ordered or computed with; and the heap, a vector
//! in an order.
//!
//! The elements of a heap and those of its shadow correspond by where they lie, not by their order: the gradient by the
//! element that [`BinaryHeap::iter`] gives first is what `iter` gives first of the shadow, until something is done to that
//! as a heap. A shadow comes from `make_zero`, or its elements are put into a heap by their order, which is another one:
//! that a heap which somebody else has made is meant for other elements cannot be seen.

use super::SharedWritable;
use super::made_of::made_of;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::{ManuallyDrop, offset_of, size_of};
use std::num::{Saturating, Wrapping};

made_of! {
    [T] Reverse<T>, "Reverse" { "0": T, at offset_of!(Self, 0), |reverse| &reverse.0; } by |value| Reverse(value);

    [T] Wrapping<T>, "Wrapping" { "0": T, at offset_of!(Self, 0), |wrapping| &wrapping.0; } by |value| Wrapping(value);

    [T] Saturating<T>, "Saturating" { "0": T, at offset_of!(Self, 0), |saturating| &saturating.0; }
        by |value| Saturating(value);

    [T: Ord] BinaryHeap<T>, "BinaryHeap" { "": Vec<T>, at only_part::<Self, Vec<T>>(), |heap| vector(heap); }
        by |elements| heap(elements);
}

macro_rules! shared_writable {
    ($([$($parameter:tt)*] $T:ty;)*) => {$(
        // SAFETY: S38, as the parts.
        unsafe impl<$($parameter)*> SharedWritable for $T {}
    )*};
}
shared_writable! {
    [T: SharedWritable] Reverse<T>;
    [T: SharedWritable] Wrapping<T>;
    [T: SharedWritable] Saturating<T>;
    [T: SharedWritable + Ord] BinaryHeap<T>;
}

/// Where the part lies that is all of a value.
pub(super) const fn only_part<T, P>() -> usize {
    assert!(size_of::<T>() == size_of::<P>(), "this version of Rust has other fields there");
    0
}

/// The vector in a heap, which is nothing else.
fn vector<T>(heap: &BinaryHeap<T>) -> &Vec<T> {
    const { only_part::<BinaryHeap<T>, Vec<T>>() };
    // SAFETY: S36, as many words, each of which may be an address or a number. Which is which is seen before any is used.
    let vector: &ManuallyDrop<Vec<T>> = unsafe { &*(&raw const *heap).cast() };
    let is_vector = vector.as_ptr() == heap.as_slice().as_ptr()
        && (vector.len(), vector.capacity()) == (heap.len(), heap.capacity());
    assert!(is_vector, "this version of Rust has the words of a heap in another order");
    vector
}

/// A heap with its elements in this order, whatever it is: the zero of a heap has each zero in the place of its value.
fn heap<T>(elements: Vec<T>) -> BinaryHeap<T> {
    const { only_part::<BinaryHeap<T>, Vec<T>>() };
    let elements = ManuallyDrop::new(elements);
    // SAFETY: S37, a heap is a vector, as is seen of the one that this is the zero of. In a heap in another order elements
    // come in another order, and nothing else is wrong.
    unsafe { (&raw const elements).cast::<BinaryHeap<T>>().read() }
}

#[cfg(test)]
mod tests {
    use crate::make_zero;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    use std::num::Wrapping;

    /// In a vector's place lies a vector: what is pushed is seen there.
    #[test]
    fn a_heap_is_a_vector() {
        let heap: BinaryHeap<(u32, Reverse<i8>)> = (0..9).map(|n| (n % 4, Reverse(n as i8))).collect();
        assert_eq!(super::vector(&heap).as_slice(), heap.as_slice());
        assert_eq!((super::vector(&heap).len(), super::vector(&heap).capacity()), (heap.len(), heap.capacity()));
        let zero = make_zero(&heap);
        assert_eq!(zero.as_slice(), heap.as_slice());
        assert_eq!(zero.into_sorted_vec(), heap.into_sorted_vec());
    }

    #[test]
    fn wrappers_have_zeros() {
        assert_eq!(make_zero(&(Reverse(2.0), Wrapping(3_u8))), (Reverse(0.0), Wrapping(3)));
    }
}
