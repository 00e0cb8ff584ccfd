//! Sums over the axes in which an argument is repeated: the gradient by it is the sum of the gradients by its copies.
//!
//! ```text
//! elements of a piece ─▶ sixteen sums side by side ─▶ one number for each element of the argument  (Partial)
//!                        of a run at one place                      │ piece after piece, in order
//!                                                                   ▼
//!                                                            the sum of all  (Total) ─▶ added to the gradient
//! ```
//! Sums of `f32` are taken in `f64`; sums of `f64` carry along what each addition has rounded off, and so do those of
//! pieces. What comes out is the sum of exact numbers, rounded once, for all that arrays can hold; and it is the same
//! number for any number of threads, since what is added to what depends on the elements' places alone.

use crate::dtype::{Kind, Number, with_dtype};
use crate::element::Element;
use crate::operand::Place;
use crate::shape::Shape;
use crate::walk::{Run, Walk};
use smallvec::SmallVec;

/// A sum, and what was rounded off on the way.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Exact {
    sum: f64,
    rest: f64,
}

impl Exact {
    /// Add a number. (Knuth's sum of two numbers has no branch, so rows of it are vector code.)
    #[inline(always)]
    pub fn add(&mut self, number: f64) {
        let sum = self.sum + number;
        let of_number = sum - self.sum;
        let of_sum = sum - of_number;
        self.rest += (number - of_number) + (self.sum - of_sum);
        self.sum = sum;
    }

    /// Add another sum.
    #[inline]
    pub fn join(&mut self, other: Exact) {
        self.add(other.sum);
        self.rest += other.rest;
    }

    /// The number that the sum is.
    pub fn value(self) -> f64 {
        // What is infinite or no number has left a rest that is none.
        if self.sum.is_finite() { self.sum + self.rest } else { self.sum }
    }
}

/// How many sums are taken side by side.
const LANES: usize = 16;

/// The sum of numbers that lie `size` bytes apart.
///
/// # Safety
/// There are `count` numbers to be read.
unsafe fn sum_of_row<T: Number>(first: *const u8, size: usize, count: usize) -> Exact {
    // SAFETY: asked of the caller.
    let number = |i: usize| unsafe { T::read(first.add(i * size)) }.float();
    let whole = count - count % LANES;
    let mut exact = Exact::default();
    if T::DTYPE.size() == 8 {
        let mut lanes = [Exact::default(); LANES];
        for i in (0..whole).step_by(LANES) {
            for (lane, sum) in lanes.iter_mut().enumerate() {
                sum.add(number(i + lane));
            }
        }
        lanes.into_iter().for_each(|lane| exact.join(lane));
    } else {
        // An `f64` has 29 bits more than an `f32`.
        let mut lanes = [0.0; LANES];
        for i in (0..whole).step_by(LANES) {
            for (lane, sum) in lanes.iter_mut().enumerate() {
                *sum += number(i + lane);
            }
        }
        lanes.into_iter().for_each(|lane| exact.add(lane));
    }
    (whole..count).for_each(|i| exact.add(number(i)));
    exact
}

/// The gradient by an argument that is repeated.
#[derive(Clone, Debug)]
pub struct Sums {
    /// How many bytes an element has.
    size: usize,
    /// For each float of the element: to which of the argument's own elements those of the call belong, by number.
    floats: Vec<Summed>,
}

#[derive(Clone, Debug)]
struct Summed {
    /// How far it lies from the first byte of an element.
    offset: usize,
    dtype: crate::dtype::DType,
    /// The way through the argument's own elements.
    own: Walk,
    /// How many of them there are.
    count: usize,
}

impl Sums {
    /// The sums for a parameter whose argument lies at these places, in a call of this shape.
    pub fn new(element: &Element, places: &[Place], shape: &Shape) -> Self {
        let mut floats = Vec::new();
        for (leaf, place) in element.leaves.iter().zip(places) {
            if leaf.dtype.kind() != Kind::Float {
                continue;
            }
            let mut count = 1;
            let mut strides: SmallVec<[isize; 4]> = SmallVec::from_elem(0, shape.len());
            for (axis, stride) in strides.iter_mut().enumerate().rev() {
                if place.strides[axis] != 0 && shape[axis] != 1 {
                    *stride = count as isize;
                    count *= shape[axis];
                }
            }
            let own = Walk::new(shape, &strides);
            for number in 0..leaf.count() {
                let offset = leaf.offset + number * leaf.dtype.size();
                floats.push(Summed { offset, dtype: leaf.dtype, own: own.clone(), count });
            }
        }
        Sums { size: element.size, floats }
    }

    /// How many sums there are.
    pub fn count(&self) -> usize {
        self.floats.iter().map(|float| float.count).sum()
    }

    /// Add gradients of elements of the call, from the one with the number `start`.
    ///
    /// # Safety
    /// There are `count` elements to be read.
    pub unsafe fn add(&self, sums: &mut [Exact], start: usize, count: usize, elements: *const u8) {
        let mut before = 0;
        for Summed { offset, dtype, own, count: of_own } in &self.floats {
            let sums = &mut sums[before..][..*of_own];
            before += of_own;
            let size = self.size;
            own.runs(start, count, |Run { at, offset: first, axis }| {
                let row = elements.wrapping_add(at * size + offset);
                // SAFETY: asked of the caller.
                with_dtype!(*dtype, T => unsafe {
                    if axis.stride == 0 {
                        sums[first.unsigned_abs()].join(sum_of_row::<T>(row, size, axis.count));
                    } else {
                        for i in 0..axis.count {
                            let to = first + i.cast_signed() * axis.stride;
                            sums[to.unsigned_abs()].add(T::read(row.add(i * size)).float());
                        }
                    }
                });
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::element::Leaf;
    use proptest::prelude::*;

    fn element(dtype: DType) -> Element {
        let leaf = Leaf { path: String::new(), offset: 0, dtype, shape: Shape::SCALAR };
        Element { size: dtype.size(), align: dtype.size(), leaves: [leaf].into_iter().collect() }
    }

    fn place(dtype: DType, strides: &[isize]) -> Place {
        Place { first: std::ptr::null_mut(), stored: dtype.into(), strides: strides.into(), inner: [][..].into() }
    }

    #[test]
    fn a_sum_of_ten_million_floats_is_exact_to_rounding() {
        let count = 10_000_000;
        let numbers: Vec<f32> = (0..count).map(|i| 0.1 + (i % 7) as f32 * 1e-3).collect();
        let sums = Sums::new(&element(DType::F32), &[place(DType::F32, &[0])], &[count].into());
        let mut total = [Exact::default()];
        // SAFETY: all numbers.
        unsafe { sums.add(&mut total, 0, count, numbers.as_ptr().cast()) };
        let exact: f64 = (0..7)
            .map(|k| {
                let times = (count - k).div_ceil(7);
                f64::from(0.1 + k as f32 * 1e-3) * times as f64
            })
            .sum();
        assert!((total[0].value() - exact).abs() <= 1e-14 * exact, "{} {exact}", total[0].value());
    }

    #[test]
    fn what_cancels_leaves_what_is_small() {
        let numbers = [1e16, 1.0, -1e16, 1e-3, 1e8, -1e8].repeat(40);
        let sums = Sums::new(&element(DType::F64), &[place(DType::F64, &[0])], &[240].into());
        let mut total = [Exact::default()];
        // SAFETY: all numbers.
        unsafe { sums.add(&mut total, 0, 240, numbers.as_ptr().cast()) };
        assert_eq!(total[0].value(), 40.04);
    }

    #[test]
    fn infinities_and_what_is_no_number_come_through() {
        let sum = |numbers: &[f64]| {
            let mut exact = Exact::default();
            numbers.iter().for_each(|number| exact.add(*number));
            exact.value()
        };
        assert_eq!(sum(&[1.0, f64::INFINITY, 2.0]), f64::INFINITY);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert!(sum(&[1.0, f64::NAN]).is_nan());
    }

    proptest! {
        /// Each element of the argument has the sum over the elements of the call that it was repeated for.
        #[test]
        fn sums_are_over_the_axes_that_are_repeated(
            shape in prop::collection::vec(1_usize..6, 0..4),
            repeated in prop::collection::vec(any::<bool>(), 4),
            cut in 0_usize..40,
        ) {
            let count: usize = shape.iter().product();
            let strides: Vec<isize> = (0..shape.len()).map(|axis| if repeated[axis] { 0 } else { 8 }).collect();
            let numbers: Vec<f64> = (0..count).map(|i| (i as f64 * 0.7).sin()).collect();
            let sums = Sums::new(&element(DType::F64), &[place(DType::F64, &strides)], &shape[..].into());
            let mut total = vec![Exact::default(); sums.count()];
            let cut = cut.min(count);
            // SAFETY: all numbers, in two parts.
            unsafe {
                sums.add(&mut total, 0, cut, numbers.as_ptr().cast());
                sums.add(&mut total, cut, count - cut, numbers.as_ptr().add(cut).cast());
            }
            let mut expected = vec![0.0; sums.count()];
            for (i, number) in numbers.iter().enumerate() {
                let (mut rest, mut own, mut of_own) = (i, 0, 1);
                for (axis, length) in shape.iter().enumerate().rev() {
                    if !repeated[axis] && *length != 1 {
                        own += rest % length * of_own;
                        of_own *= length;
                    }
                    rest /= length;
                }
                expected[own] += number;
            }
            for (sum, expected) in total.iter().zip(expected) {
                prop_assert!((sum.value() - expected).abs() < 1e-12);
            }
        }
    }
}
