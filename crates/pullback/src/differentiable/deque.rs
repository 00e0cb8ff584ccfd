//! `VecDeque`: a ring of elements, which begins somewhere in its memory and may go on at the start of that.
//!
//! The elements of a queue and those of its shadow correspond by where they lie. So both begin at the same place, and
//! if the elements go round the end, both have the same room. A shadow comes from `make_zero`; one that was made by
//! pushing as many elements to a new queue fits if the primal was, too.

use super::path::Access;
use super::reach::{Behind, Depth};
use super::{
    Differentiable, MakeZero, Mismatch, Path, SharedWritable, Sharing, VisitConstants, VisitFloats, Writable, layout_fn,
};
use crate::abi::{Field, Layout};
use std::collections::VecDeque;
use std::mem::{ManuallyDrop, size_of};
use std::sync::atomic::{AtomicUsize, Ordering};

const WORD: usize = size_of::<usize>();

/// Which word of a `VecDeque<T>` is its pointer, as seen in an empty one: all other words of that are zero.
const fn pointer_word<T>() -> usize {
    assert!(size_of::<VecDeque<T>>() == 4 * WORD, "a `VecDeque` is a pointer and three numbers");
    let empty = ManuallyDrop::new(VecDeque::<T>::new());
    // SAFETY: S2, four initialised words; the pointer dangles without provenance, so it is an integer.
    let words: [usize; 4] = unsafe { (&raw const empty).cast::<[usize; 4]>().read() };
    match words {
        [_, 0, 0, 0] => 0,
        [0, _, 0, 0] => 1,
        [0, 0, _, 0] => 2,
        [0, 0, 0, _] => 3,
        _ => panic!("an empty `VecDeque` has a pointer and three zeros"),
    }
}

/// The layout of a queue whose pointer is this word.
const fn fields<T>(pointer: Field, at: usize) -> [Field; 4] {
    let others = match at {
        0 => [1, 2, 3],
        1 => [0, 2, 3],
        2 => [0, 1, 3],
        _ => [0, 1, 2],
    };
    [
        pointer,
        Field::inactive(others[0] * WORD, WORD),
        Field::inactive(others[1] * WORD, WORD),
        Field::inactive(others[2] * WORD, WORD),
    ]
}

/// Which word says where the elements begin. Of each queue that has elements it is seen again. A derivative of a
/// derivative calls this as it is.
#[inline(never)]
fn start_word_bookkeeping() -> usize {
    static FOUND: AtomicUsize = AtomicUsize::new(usize::MAX);
    let found = FOUND.load(Ordering::Relaxed);
    if found != usize::MAX {
        return found;
    }
    let mut probe = VecDeque::with_capacity(8);
    probe.extend([7_u64; 4]);
    probe.pop_front();
    // Three elements, the first of which is the second in memory, and room for eight or more.
    let probe = ManuallyDrop::new(probe);
    // SAFETY: S2, four words, each of which may be an address or a number.
    let words: [usize; 4] = unsafe { (&raw const probe).cast::<[usize; 4]>().read() };
    let start =
        words.iter().position(|word| *word == 1).expect("this version of Rust has other fields in a `VecDeque`");
    drop(ManuallyDrop::into_inner(probe));
    FOUND.store(start, Ordering::Relaxed);
    start
}

/// Where the elements of a queue lie.
struct Ring<T> {
    elements: *mut T,
    start: usize,
    len: usize,
    capacity: usize,
}

impl<T> Ring<T> {
    /// That of a queue of which is seen that it lies like this.
    fn of(queue: &VecDeque<T>) -> Self {
        let words = (&raw const *queue).cast::<usize>();
        // SAFETY: S36, four words, each of which may be an address or a number.
        let (elements, start) = unsafe {
            let pointer = words.add(const { pointer_word::<T>() }).cast::<*mut T>();
            (pointer.read(), words.add(start_word_bookkeeping()).read())
        };
        let ring = Ring { elements, start, len: queue.len(), capacity: queue.capacity() };
        if size_of::<T>() > 0 {
            let (first, second) = queue.as_slices();
            let begins_there = first.is_empty() || first.as_ptr() == elements.wrapping_add(start).cast_const();
            let goes_round = second.is_empty() || second.as_ptr() == elements.cast_const();
            let fits = start < ring.capacity.max(1) && first.len() == ring.len.min(ring.capacity - start);
            assert!(
                begins_there && goes_round && fits,
                "this version of Rust has the words of a `VecDeque` in another order"
            );
        }
        ring
    }

    /// Whether the elements go round the end of the memory.
    fn goes_round(&self) -> bool {
        self.len > self.capacity - self.start
    }

    /// Set to zero what lies in memory where there are no elements.
    ///
    /// # Safety
    /// Nobody looks there.
    unsafe fn clear_room(&self) {
        let end = self.start + self.len;
        // SAFETY: S3, asked of the caller: all of it is memory of the queue.
        unsafe {
            if self.goes_round() {
                let end = end - self.capacity;
                self.elements.add(end).write_bytes(0, self.start - end);
            } else {
                self.elements.write_bytes(0, self.start);
                self.elements.add(end).write_bytes(0, self.capacity - end);
            }
        }
    }
}

// SAFETY: S36, four words, found as above. Where the elements begin, and how many there are, is compared; one that can
// grow in place needs as much room in its shadow.
unsafe impl<T: Differentiable> Differentiable for VecDeque<T> {
    type Within<D: Depth> = Behind<T, D>;

    const LAYOUT: Layout = Layout::new::<Self>(
        "VecDeque",
        const {
            let at = pointer_word::<T>();
            &fields::<T>(Field::pointer(at * WORD, layout_fn::<T>()), at)
        },
    );
    const CHECKED: bool = true;
    const PLAIN: bool = false;
    const VARIANTS: bool = false;
    const CELLS: bool = false;
    const CONSTANTS: bool = true;
    const INERT: bool = false;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        path.same_length(self.len(), shadow.len())?;
        let is_free = path.access() == Access::Exclusive && !path.is_constant();
        if size_of::<T>() > 0 && !path.is_by_index() {
            let (ring, of_shadow) = (Ring::of(self), Ring::of(shadow));
            if (is_free || ring.len > 0) && ring.start != of_shadow.start {
                return Err(path.mismatch("begins at place", ring.start, of_shadow.start));
            }
            if ring.goes_round() && ring.capacity != of_shadow.capacity {
                return Err(path.mismatch("has capacity", ring.capacity, of_shadow.capacity));
            }
            if is_free {
                path.fitting_capacity(ring.capacity, of_shadow.capacity)?;
            }
            let ((first, second), (of_first, of_second)) = (self.as_slices(), shadow.as_slices());
            path.around(first, of_first, |_| ());
            path.around(second, of_second, |_| ());
            if is_free {
                // SAFETY: S3, nobody looks at spare capacity, so nobody sees it written. A derivative that lets the queue
                // grow into it reads these bytes as the shadow of what is pushed.
                unsafe { of_shadow.clear_room() };
            }
        }
        if T::CHECKED {
            let check = |path: &Path<'_>| {
                let mut pairs = self.iter().zip(shadow).enumerate();
                pairs.try_for_each(|(i, (primal, shadow))| primal.check_shadow(shadow, &path.index(i)))
            };
            return path.noted::<T, _>(check);
        }
        Ok(())
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        let (first, second) = self.as_slices();
        let start = if size_of::<T>() > 0 { Ring::of(self).start } else { 0 };
        // SAFETY: S36, asked of the caller; the word is the one that holds the address.
        unsafe {
            let pointer = shadow.cast::<*mut ()>().add(const { pointer_word::<T>() });
            visit.owned_from(first, pointer, start);
            if !second.is_empty() {
                visit.owned_from(second, pointer, 0);
            }
        }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller; the word is the one that holds the address.
        unsafe {
            let first = shadow.cast::<*mut T>().add(const { pointer_word::<T>() }).read();
            if first.is_null() {
                // A function without derivative has made the queue, and the engine no memory for its tangent.
                shadow.write(VecDeque::new());
            } else if T::CONSTANTS {
                let start = if size_of::<T>() > 0 { Ring::of(self).start } else { 0 };
                let (before, after) = self.as_slices();
                visit.owned(shadow.cast_const().cast(), first.cast_const().cast());
                let places = before.iter().zip(start..).chain(after.iter().zip(0..));
                places.for_each(|(value, at)| value.constants(first.add(at), visit));
                visit.leave();
            }
        }
    }
}

// SAFETY: S37, a queue of its own, of as many such values in the same places.
unsafe impl<T: MakeZero> MakeZero for VecDeque<T> {
    fn zero_like(&self, sharing: &mut Sharing) -> Self {
        let mut zero = VecDeque::new();
        if size_of::<T>() > 0 {
            let ring = Ring::of(self);
            zero = VecDeque::with_capacity(ring.capacity);
            // SAFETY: S37, an empty queue begins anywhere in its memory.
            unsafe { (&raw mut zero).cast::<usize>().add(start_word_bookkeeping()).write(ring.start) };
        }
        zero.extend(self.iter().map(|value| value.zero_like(sharing)));
        zero
    }
}

// SAFETY: S38, as the elements.
unsafe impl<T: Writable> Writable for VecDeque<T> {}
// SAFETY: S38, as the elements.
unsafe impl<T: SharedWritable> SharedWritable for VecDeque<T> {}

#[cfg(test)]
mod tests {
    use super::Ring;
    use crate::make_zero;
    use std::collections::VecDeque;

    /// A queue whose elements go round the end of its memory.
    fn round() -> VecDeque<f64> {
        let mut queue = VecDeque::with_capacity(4);
        queue.extend([1.0, 2.0, 3.0, 4.0]);
        queue.drain(..3);
        queue.extend([5.0, 6.0]);
        queue
    }

    #[test]
    fn a_queue_is_a_ring() {
        let queue = round();
        assert!(!queue.as_slices().1.is_empty());
        let ring = Ring::of(&queue);
        assert_eq!((ring.start, ring.len, ring.capacity), (3, 3, queue.capacity()));
        assert!(ring.goes_round());
        let mut empty = VecDeque::from([1.0, 2.0]);
        empty.clear();
        assert_eq!(Ring::of(&empty).len, 0);
        assert_eq!(Ring::of(&VecDeque::<f64>::new()).capacity, 0);
    }

    #[test]
    fn the_zero_of_a_queue_has_its_elements_in_the_same_places() {
        let (queue, zero) = (round(), make_zero(&round()));
        let (ring, of_zero) = (Ring::of(&queue), Ring::of(&zero));
        assert_eq!((of_zero.start, of_zero.capacity), (ring.start, ring.capacity));
        assert_eq!(zero, [0.0; 3]);
        assert_eq!(zero.as_slices().0.len(), queue.as_slices().0.len());
        assert_eq!(make_zero(&VecDeque::from([(), ()])).len(), 2);
        assert_eq!(make_zero(&VecDeque::<f64>::new()).len(), 0);
        let mut texts = VecDeque::from(["b".to_owned()]);
        texts.push_front("a".to_owned());
        assert_eq!(make_zero(&texts), texts);
    }
}
