//! What may be given for a parameter: a value, or an array of them.

use crate::shape::Shape;
use crate::tensor::Tensor;
use crate::value::Value;
use smallvec::SmallVec;
use std::marker::PhantomData;

/// Where the elements of an argument lie: the first, and by how many bytes each axis leads further.
#[derive(Clone, Debug)]
pub struct Argument<'a> {
    pub(crate) first: *mut u8,
    pub(crate) shape: Shape,
    pub(crate) strides: SmallVec<[isize; 4]>,
    lent: PhantomData<&'a ()>,
}

impl Argument<'_> {
    /// An argument whose elements lie so.
    ///
    /// # Safety
    /// The places that the strides lead to hold values, as long as the argument is there: those of the parameter that
    /// it is made for. They may be read, and, for one that is written, written.
    pub unsafe fn new<T: Value>(first: *mut T, shape: Shape, strides: impl IntoIterator<Item = isize>) -> Self {
        let strides: SmallVec<[isize; 4]> = strides.into_iter().collect();
        assert_eq!(strides.len(), shape.len(), "an argument has a stride for each axis");
        Argument { first: first.cast(), shape, strides, lent: PhantomData }
    }
}

/// What gives a kernel function values of `T`: one, for all elements of a call, or an array.
///
/// # Safety
/// What [`argument`](Self::argument) returns is an argument of values of `T` that may be read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` gives no values of `{T}`",
    label = "expected a `{T}`, or an array of them",
    note = "a value, a slice, a `Vec`, a `Tensor`, and with the feature `ndarray` an array or a view, by reference"
)]
pub unsafe trait Values<T: Value> {
    /// Where they lie.
    fn argument(&self) -> Argument<'_>;
}

/// What a kernel function may change: a value, or an array of them.
///
/// # Safety
/// What [`argument`](Self::argument) returns is an argument of values of `T` that may be read and written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written as values of `{T}`",
    label = "expected a `&mut {T}`, or an array of them by `&mut`",
    note = "a value, a slice, a `Vec`, a `Tensor`, and with the feature `ndarray` an array or a view, by `&mut`"
)]
pub unsafe trait ValuesMut<T: Value> {
    /// Where they lie.
    fn argument(&mut self) -> Argument<'_>;
}

// SAFETY: one value.
unsafe impl<T: Value> Values<T> for T {
    fn argument(&self) -> Argument<'_> {
        // SAFETY: a value, which is lent.
        unsafe { Argument::new((&raw const *self).cast_mut(), Shape::SCALAR, []) }
    }
}

// SAFETY: one value.
unsafe impl<T: Value> ValuesMut<T> for &mut T {
    fn argument(&mut self) -> Argument<'_> {
        // SAFETY: a value, which is lent to be written.
        unsafe { Argument::new(&raw mut **self, Shape::SCALAR, []) }
    }
}

/// Arguments from the shape and the elements of arrays whose elements lie one after the other.
macro_rules! arrays {
    ($([$($parameter:tt)*] $A:ty, |$array:ident| $shape:expr, $first:expr, $first_mut:expr;)*) => {$(
        // SAFETY: all elements of the array, which is lent.
        unsafe impl<$($parameter)*> Values<T> for &$A {
            fn argument(&self) -> Argument<'_> {
                let $array: &$A = self;
                let shape: Shape = $shape;
                let strides = shape.strides(size_of::<T>());
                // SAFETY: as above.
                unsafe { Argument::new($first.cast_mut(), shape, strides) }
            }
        }

        // SAFETY: all elements of the array, which is lent to be written.
        unsafe impl<$($parameter)*> ValuesMut<T> for &mut $A {
            fn argument(&mut self) -> Argument<'_> {
                let $array: &mut $A = self;
                let shape: Shape = $shape;
                let strides = shape.strides(size_of::<T>());
                // SAFETY: as above.
                unsafe { Argument::new($first_mut, shape, strides) }
            }
        }
    )*};
}

arrays! {
    [T: Value] [T], |array| [array.len()].into(), array.as_ptr(), array.as_mut_ptr();
    [T: Value, const N: usize] [T; N], |array| [N].into(), array.as_ptr(), array.as_mut_ptr();
    [T: Value] Vec<T>, |array| [array.len()].into(), array.as_ptr(), array.as_mut_ptr();
    [T: Value] Tensor<T>, |array| array.shape().clone(), array.as_slice().as_ptr(), array.as_mut_slice().as_mut_ptr();
}

#[cfg(feature = "ndarray")]
mod ndarray {
    use super::{Argument, Value, Values, ValuesMut};
    use ::ndarray::{ArrayBase, Data, DataMut, Dimension};

    /// The strides in bytes.
    fn strides<T>(strides: &[isize]) -> impl Iterator<Item = isize> {
        strides.iter().map(|stride| stride * size_of::<T>().cast_signed())
    }

    // SAFETY: all elements of the array, which is lent.
    unsafe impl<T: Value, S: Data<Elem = T>, D: Dimension> Values<T> for &ArrayBase<S, D> {
        fn argument(&self) -> Argument<'_> {
            // SAFETY: as above.
            unsafe { Argument::new(self.as_ptr().cast_mut(), self.shape().into(), strides::<T>(self.strides())) }
        }
    }

    // SAFETY: all elements of the array, which is lent to be written.
    unsafe impl<T: Value, S: DataMut<Elem = T>, D: Dimension> ValuesMut<T> for &mut ArrayBase<S, D> {
        fn argument(&mut self) -> Argument<'_> {
            let shape = self.shape().into();
            let strides: Vec<isize> = strides::<T>(self.strides()).collect();
            // SAFETY: as above.
            unsafe { Argument::new(self.as_mut_ptr(), shape, strides) }
        }
    }
}
