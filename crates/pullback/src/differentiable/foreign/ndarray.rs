//! Arrays that own their elements, of up to six dimensions. Views are not here: a function takes a reference to the
//! array. Nor are arrays with a number of dimensions of which only the program knows: their shape is an enum.

use crate::abi::{Field, Layout};
use crate::differentiable::path::Access;
use crate::differentiable::reach::{Behind, Depth};
use crate::differentiable::{
    Arrangement, Differentiable, MakeZero, Mismatch, Path, SharedWritable, Sharing, VisitConstants, VisitFloats,
    Writable, layout_fn,
};
use ndarray::{ArrayBase, Dim, Dimension, OwnedRepr};
use std::mem::{ManuallyDrop, MaybeUninit, offset_of, size_of};
use std::slice;

/// An array of `N` dimensions.
type Array<A, const N: usize> = ArrayBase<OwnedRepr<A>, Dim<[usize; N]>>;

/// The memory of an array: the vector of its elements, where the first one of the array lies among them, and its shape.
#[repr(C)]
struct Words<A, const N: usize> {
    elements: *mut A,
    length: usize,
    capacity: usize,
    first: *mut A,
    shape: [usize; N],
    strides: [isize; N],
}

/// The words of an array, of which is seen that they are those.
fn words<A, const N: usize>(array: &Array<A, N>) -> &Words<A, N>
where
    Dim<[usize; N]>: Dimension,
{
    const { assert!(size_of::<Array<A, N>>() == size_of::<Words<A, N>>(), "this version of ndarray has other arrays") }
    // SAFETY: S36, as many words, each of which may be an address or a number.
    let words = unsafe { &*(&raw const *array).cast::<Words<A, N>>() };
    let is_first = std::ptr::eq(words.first, array.as_ptr());
    let has_shape = array.shape() == words.shape && array.strides() == words.strides;
    assert!(
        is_first && has_shape && words.length <= words.capacity,
        "this version of ndarray has its arrays' words in another order"
    );
    words
}

impl<A, const N: usize> Words<A, N> {
    /// All elements that the array owns.
    fn elements(&self) -> &[A] {
        // SAFETY: S36, an array's vector.
        unsafe { slice::from_raw_parts(self.elements, self.length) }
    }

    /// Whether the strides are those of another array of the same shape. An axis of length 1 has one index, 0, and its
    /// stride leads nowhere; but a `mirrored` tangent grows with its primal, and by strides of its own.
    fn has_strides_of(&self, other: &Self, mirrored: bool) -> bool {
        let is_empty = self.shape.contains(&0);
        let mut strides = self.strides.iter().zip(&other.strides).zip(&self.shape);
        strides.all(|((a, b), count)| a == b || !mirrored && (is_empty || *count == 1))
    }

    /// Where the array's elements lie among those that it owns.
    fn arrangement(&self) -> Arrangement {
        let begin = self.begin().checked_div(size_of::<A>()).unwrap_or(0);
        Arrangement::strided(&self.shape, &self.strides, begin)
    }

    /// How far behind the first of its elements the array begins, in bytes.
    fn begin(&self) -> usize {
        self.first.addr() - self.elements.addr()
    }
}

// SAFETY: S36, the words as above. The two pointers lead to the same elements; all else is compared, and a vector that
// can grow in place needs as much room in its shadow.
unsafe impl<A: Differentiable, const N: usize> Differentiable for Array<A, N>
where
    Dim<[usize; N]>: Dimension,
{
    type Within<D: Depth> = Behind<A, D>;

    const LAYOUT: Layout = Layout::new::<Self>(
        "Array",
        const {
            &[
                Field::pointer(offset_of!(Words<A, N>, elements), layout_fn::<A>()),
                Field::again(offset_of!(Words<A, N>, first), layout_fn::<A>()),
                Field::inactive(offset_of!(Words<A, N>, length), size_of::<usize>()),
                Field::inactive(offset_of!(Words<A, N>, capacity), size_of::<usize>()),
                Field::inactive(offset_of!(Words<A, N>, shape), 2 * N * size_of::<usize>()),
            ]
        },
    );
    const CHECKED: bool = true;
    const PLAIN: bool = false;
    const VARIANTS: bool = false;
    const CELLS: bool = false;
    const CONSTANTS: bool = true;
    const INERT: bool = false;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        let (words, of_shadow) = (words(self), words(shadow));
        if words.shape != of_shadow.shape {
            let [primal, shadow] = [words, of_shadow].map(|words| format!("{:?}", words.shape));
            return Err(path.mismatch("has shape", primal, shadow));
        }
        if path.is_by_index() {
            let places = [words, of_shadow].map(|words| words.arrangement().places_bookkeeping());
            let [elements, shadows] = [words, of_shadow].map(Words::elements);
            // Of values without a size there is one.
            let is_checked = A::CHECKED && size_of::<A>() > 0;
            let mut pairs = places[0].iter().zip(&places[1]).enumerate().filter(|_| is_checked);
            return pairs.try_for_each(|(index, (place, of_shadow))| {
                elements[*place].check_shadow(&shadows[*of_shadow], &path.index(index))
            });
        }
        if !words.has_strides_of(of_shadow, path.is_mirrored()) {
            return Err(path.differently_arranged(words.strides, of_shadow.strides));
        }
        if words.begin() != of_shadow.begin() {
            return Err(path.mismatch("begins at byte", words.begin(), of_shadow.begin()));
        }
        let (elements, shadows) = (words.elements(), of_shadow.elements());
        path.around(elements, shadows, |path| elements.check_shadow(shadows, path))?;
        if path.access() == Access::Exclusive && size_of::<A>() > 0 && !path.is_constant() {
            path.fitting_capacity(words.capacity, of_shadow.capacity)?;
            // SAFETY: S3, the capacity of the shadow reaches that far; nobody looks at spare capacity, so nobody sees
            // it written. A derivative that lets the array grow into it reads these bytes as the shadow of what is
            // pushed.
            unsafe { of_shadow.elements.add(words.length).write_bytes(0, words.capacity - words.length) };
        }
        Ok(())
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        let shadow = shadow.cast::<Words<A, N>>();
        // SAFETY: S36, asked of the caller; the word is the one that holds the address.
        unsafe {
            let words = words(self);
            visit.array(words.elements(), (&raw mut (*shadow).elements).cast(), || words.arrangement());
        }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        let words = words(self);
        let of_shadow = shadow.cast_const().cast::<Words<A, N>>();
        // SAFETY: S36, asked of the caller; the word is the one that holds the address.
        unsafe {
            let first = (&raw const (*of_shadow).elements).read();
            // Without elements it would not fit the shape beside it, which is believed.
            assert!(
                !first.is_null(),
                "an array that a function without derivative has made is part of a result or an argument, and has no \
                 tangent\nhelp: copy its elements to an array of your own"
            );
            if A::CONSTANTS {
                visit.owned(of_shadow.cast(), first.cast_const().cast());
                for (index, value) in words.elements().iter().enumerate() {
                    value.constants(first.add(index), visit);
                }
                visit.leave();
            }
        }
    }
}

// SAFETY: S37, an array of its own, of as many such elements, in the same places.
unsafe impl<A: MakeZero, const N: usize> MakeZero for Array<A, N>
where
    Dim<[usize; N]>: Dimension,
{
    fn zero_like(&self, sharing: &mut Sharing) -> Self {
        let words = words(self);
        let mut elements = Vec::with_capacity(words.capacity);
        elements.extend(words.elements().iter().map(|value| value.zero_like(sharing)));
        // Nothing panics from here on: before, the elements are dropped as those of any vector.
        let mut elements = ManuallyDrop::new(elements);
        let start = elements.as_mut_ptr();
        let mut zero = MaybeUninit::<Self>::uninit();
        // SAFETY: S37, the words of an array: those of a vector that goes into it, and the primal's shape.
        unsafe {
            zero.as_mut_ptr().cast::<Words<A, N>>().write(Words {
                elements: start,
                length: elements.len(),
                capacity: elements.capacity(),
                first: start.byte_add(words.begin()),
                shape: words.shape,
                strides: words.strides,
            });
            zero.assume_init()
        }
    }
}

// SAFETY: S38, as the elements.
unsafe impl<A: Writable, const N: usize> Writable for Array<A, N> where Dim<[usize; N]>: Dimension {}
// SAFETY: S38, as the elements.
unsafe impl<A: SharedWritable, const N: usize> SharedWritable for Array<A, N> where Dim<[usize; N]>: Dimension {}

#[cfg(test)]
mod tests {
    use crate::{Differentiable, make_zero};
    use ndarray::{Array0, Array1, Array2, Array3, s};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    /// Which word is the length and which the capacity is not told by the array itself.
    #[test]
    fn a_shadow_has_the_place_and_the_room_of_its_primal() {
        let mut elements = Vec::with_capacity(77);
        elements.extend((0..24).map(f64::from));
        let address = elements.as_ptr();
        let whole = Array2::from_shape_vec((4, 6), elements).unwrap();
        let part = whole.slice_move(s![1..;2, ..;-1]);
        let words = super::words(&part);
        assert_eq!((words.elements.cast_const(), words.length, words.capacity), (address, 24, 77));
        assert_eq!(words.begin(), 8 * 11);
        let zero = make_zero(&part);
        assert_eq!((zero.shape(), zero.strides(), zero.sum()), (part.shape(), part.strides(), 0.0));
        let (elements, begin) = zero.into_raw_vec_and_offset();
        assert_eq!((elements, begin), (vec![0.0; 24], Some(11)));
    }

    /// An element whose clone panics takes none with it that were made before.
    #[test]
    fn what_cannot_be_made_leaves_nothing_behind() {
        struct Counted {
            of: Option<Rc<()>>,
        }

        #[derive(Differentiable)]
        struct Holder(#[pullback(skip)] Counted);

        impl Clone for Counted {
            fn clone(&self) -> Self {
                Counted { of: Some(self.of.clone().expect("there is none")) }
            }
        }

        let rc = Rc::new(());
        let array = Array1::from_vec(vec![Holder(Counted { of: Some(rc.clone()) }), Holder(Counted { of: None })]);
        assert!(catch_unwind(AssertUnwindSafe(|| make_zero(&array))).is_err());
        assert_eq!(Rc::strong_count(&rc), 2);
    }

    #[test]
    fn arrays_of_all_kinds_have_zeros() {
        assert_eq!(make_zero(&Array0::from_elem((), 2.0)), Array0::from_elem((), 0.0));
        assert_eq!(make_zero(&Array1::<f32>::zeros(0)), Array1::<f32>::zeros(0));
        assert_eq!(make_zero(&Array3::<()>::default((2, 3, 4))).shape(), [2, 3, 4]);
        let text = Array1::from_vec(vec![(1.0, "one".to_owned())]);
        assert_eq!(make_zero(&text), Array1::from_vec(vec![(0.0, "one".to_owned())]));
    }
}
