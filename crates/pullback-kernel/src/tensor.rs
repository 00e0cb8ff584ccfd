//! Arrays of the crate's own: what calls from Rust return.

use crate::abi::Parts;
use crate::shape::Shape;
use crate::value::Value;
use std::fmt;
use std::ops::{Index, IndexMut};

/// An array of any number of dimensions, whose elements lie one after the other, those of the last axis next to each
/// other.
#[derive(Clone, PartialEq)]
pub struct Tensor<T> {
    shape: Shape,
    elements: Box<[T]>,
}

impl<T: Value> Tensor<T> {
    /// An array of these elements.
    ///
    /// # Panics
    /// If there are not as many as the shape says.
    #[track_caller]
    pub fn new(shape: impl Into<Shape>, elements: impl Into<Box<[T]>>) -> Self {
        let (shape, elements) = (shape.into(), elements.into());
        assert!(
            shape.count() == Some(elements.len()),
            "a tensor of shape {shape} is made of {} elements",
            elements.len()
        );
        Tensor { shape, elements }
    }

    /// An array of zeros.
    ///
    /// # Panics
    /// If there are more than can be counted.
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        let Some(count) = shape.count() else { panic!("a tensor of shape {shape} cannot be") };
        let elements = Box::<[T]>::new_zeroed_slice(count);
        // SAFETY: zeros are a value, as `Value` promises.
        Tensor { shape, elements: unsafe { elements.assume_init() } }
    }

    /// An array of what `f` gives for each index.
    ///
    /// # Panics
    /// If there are more than can be counted.
    #[track_caller]
    pub fn from_fn<const N: usize>(shape: [usize; N], mut f: impl FnMut([usize; N]) -> T) -> Self {
        let mut tensor = Self::zeros(shape);
        for (number, element) in tensor.elements.iter_mut().enumerate() {
            let (mut rest, mut index) = (number, [0; N]);
            for (index, length) in index.iter_mut().zip(shape).rev() {
                (*index, rest) = (rest % length, rest / length);
            }
            *element = f(index);
        }
        tensor
    }

    /// Its shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Its elements, in order.
    pub fn as_slice(&self) -> &[T] {
        &self.elements
    }

    /// Its elements, in order.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.elements
    }

    /// Its elements, in order.
    pub fn into_vec(self) -> Vec<T> {
        self.elements.into_vec()
    }

    /// The element of a tensor without axes.
    ///
    /// # Panics
    /// If it has several, or none.
    #[track_caller]
    pub fn item(&self) -> T {
        let [item] = &self.elements[..] else { panic!("a tensor of shape {} is no single element", self.shape) };
        *item
    }

    #[track_caller]
    fn number<const N: usize>(&self, index: [usize; N]) -> usize {
        let is_inside =
            self.shape.len() == N && index.iter().zip(&self.shape[..]).all(|(index, length)| index < length);
        assert!(is_inside, "the index {index:?} is not one of a tensor of shape {}", self.shape);
        index.iter().zip(&self.shape[..]).fold(0, |number, (index, length)| number * length + index)
    }
}

impl<T: Value, const N: usize> Index<[usize; N]> for Tensor<T> {
    type Output = T;

    fn index(&self, index: [usize; N]) -> &T {
        &self.elements[self.number(index)]
    }
}

impl<T: Value, const N: usize> IndexMut<[usize; N]> for Tensor<T> {
    fn index_mut(&mut self, index: [usize; N]) -> &mut T {
        let number = self.number(index);
        &mut self.elements[number]
    }
}

impl<T: Value> From<Vec<T>> for Tensor<T> {
    fn from(elements: Vec<T>) -> Self {
        Tensor::new([elements.len()], elements)
    }
}

/// As nested lists: `Tensor [[1.0, 2.0], [3.0, 4.0]]`. A struct's elements are in one list.
impl<T: Value + fmt::Debug> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn rows<T: fmt::Debug>(f: &mut fmt::Formatter<'_>, shape: &[usize], elements: &[T]) -> fmt::Result {
            let Some((length, inner)) = shape.split_first() else { return elements[0].fmt(f) };
            f.write_str("[")?;
            let row = elements.len().checked_div(*length).unwrap_or(0);
            for index in 0..*length {
                f.write_str(if index == 0 { "" } else { ", " })?;
                rows(f, inner, &elements[index * row..][..row])?;
            }
            f.write_str("]")
        }
        if matches!(T::TYPE.parts, Parts::Fields(_)) || self.elements.is_empty() {
            return write!(f, "Tensor {} {:?}", self.shape, self.elements);
        }
        f.write_str("Tensor ")?;
        rows(f, &self.shape, &self.elements)
    }
}
