//! An argument as a call goes through it: used where it lies, or gathered into a tile and scattered from one.

use crate::abi::Passing;
use crate::dtype::{DType, Kind, Mover, Row, Stored};
use crate::element::{Element, Leaf, Param};
use crate::error::{Result, ShapeError};
use crate::shape::Shape;
use crate::sum::{Exact, Sums};
use crate::walk::{Axis, Walk};
use smallvec::SmallVec;

/// Where the numbers of one leaf lie, of all elements that a call goes through.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// The first number of the first element.
    pub first: *mut u8,
    /// What they are.
    pub stored: Stored,
    /// By how many bytes an axis of the call leads further; 0 where the element is repeated.
    pub strides: SmallVec<[isize; 4]>,
    /// By how many bytes an axis of the leaf's own shape leads further.
    pub inner: SmallVec<[isize; 4]>,
}

/// An argument, by the leaves of its parameter.
#[derive(Clone, Debug)]
pub struct Operand<'a> {
    /// The name of the parameter, for errors.
    name: &'static str,
    passing: Passing,
    element: &'a Element,
    leaves: SmallVec<[Bound; 1]>,
    /// The first element, if they lie as Rust has them, one after the other.
    in_place: Option<*mut u8>,
    /// Of a gradient by what is repeated: what the function writes is summed up.
    sums: Option<Sums>,
}

/// A leaf, and where its numbers lie.
#[derive(Clone, Debug)]
struct Bound {
    place: Place,
    /// The way from element to element.
    walk: Walk,
    /// For each number of the leaf: how far it lies from the first one in the argument, and from the element's first byte
    /// in a tile.
    numbers: SmallVec<[(isize, usize); 4]>,
    read: Mover,
    write: Mover,
}

impl PartialEq for Bound {
    /// Whether they are the same numbers of the same elements.
    fn eq(&self, other: &Self) -> bool {
        (self.place.first, self.place.stored, &self.walk, &self.numbers)
            == (other.place.first, other.place.stored, &other.walk, &other.numbers)
    }
}

impl Bound {
    fn new(leaf: &Leaf, place: Place, shape: &Shape) -> Self {
        let lengths = &leaf.shape;
        assert_eq!(lengths.len(), place.inner.len(), "a place has a stride for each axis of its leaf");
        let mut numbers: SmallVec<[(isize, usize); 4]> = SmallVec::new();
        Walk::new(lengths, &place.inner).runs(0, leaf.count(), |run| {
            for step in 0..run.axis.count {
                let from = run.offset + run.axis.stride * step.cast_signed();
                numbers.push((from, leaf.offset + (run.at + step) * leaf.dtype.size()));
            }
        });
        let (own, stored) = (Stored::from(leaf.dtype), place.stored);
        let walk = Walk::new(shape, &place.strides);
        Bound { walk, numbers, read: Mover::new(stored, own), write: Mover::new(own, stored), place }
    }

    /// All strides, those of the call and those of the leaf.
    fn whole(&self, leaf: &Leaf, shape: &Shape) -> Walk {
        let lengths = shape.iter().chain(&leaf.shape[..]).copied().collect();
        let strides: SmallVec<[isize; 8]> = self.place.strides.iter().chain(&self.place.inner).copied().collect();
        Walk::new(&lengths, &strides)
    }

    /// The shape of the call, without the axes in which elements are repeated.
    fn own_shape(&self, shape: &Shape) -> Shape {
        let axes = shape.iter().zip(&self.place.strides);
        axes.map(|(length, stride)| if *stride == 0 { (*length).min(1) } else { *length }).collect()
    }

    /// The addresses that are reached.
    fn extent(&self) -> (usize, usize) {
        let (low, high) = self.walk.extent(self.place.stored.dtype.size());
        if low == high {
            return (0, 0);
        }
        let first = self.numbers.iter().map(|number| number.0).min().unwrap_or(0);
        let last = self.numbers.iter().map(|number| number.0).max().unwrap_or(0);
        let at = |offset: isize| self.place.first.addr().wrapping_add_signed(offset);
        (at(low + first), at(high + last))
    }
}

impl<'a> Operand<'a> {
    /// The argument for a parameter, in a call of this shape.
    ///
    /// # Safety
    /// For each leaf, the places that the strides lead to hold such numbers: they may be read, and if the parameter is
    /// written, written, as long as the operand is used.
    pub unsafe fn new(parameter: &'a Param, places: impl IntoIterator<Item = Place>, shape: &Shape) -> Result<Self> {
        let mut operand = Self::bound(parameter, places, shape);
        if operand.passing.is_written() {
            operand.check_apart(shape)?;
        }
        operand.in_place = operand.found_in_place();
        Ok(operand)
    }

    /// A gradient, to which the function adds for each element. Where the argument is repeated, the gradients of all
    /// its copies are added to one.
    ///
    /// # Safety
    /// As for [`new`](Self::new): the places may be read and written.
    pub unsafe fn gradient(
        parameter: &'a Param,
        places: impl IntoIterator<Item = Place>,
        shape: &Shape,
    ) -> Result<Self> {
        let mut operand = Self::bound(parameter, places, shape);
        operand.passing = Passing::InOut;
        let own: Vec<Shape> = operand.leaves.iter().map(|bound| bound.own_shape(shape)).collect();
        if own.iter().all(|own| own == shape) {
            operand.check_apart(shape)?;
            operand.in_place = operand.found_in_place();
        } else {
            for own in &own {
                operand.check_apart(own)?;
            }
            let places: Vec<Place> = operand.leaves.iter().map(|bound| bound.place.clone()).collect();
            operand.sums = Some(Sums::new(&parameter.element, &places, shape));
        }
        Ok(operand)
    }

    fn bound(parameter: &'a Param, places: impl IntoIterator<Item = Place>, shape: &Shape) -> Self {
        let Param { name, passing, element } = parameter;
        let of_element = &element.leaves;
        let leaves: SmallVec<[Bound; 1]> =
            of_element.iter().zip(places).map(|(leaf, place)| Bound::new(leaf, place, shape)).collect();
        assert_eq!(leaves.len(), of_element.len(), "an argument has a place for each leaf");
        Operand { name, passing: *passing, element, leaves, in_place: None, sums: None }
    }

    /// Fails unless each element of such a shape has memory of its own.
    fn check_apart(&self, shape: &Shape) -> Result<()> {
        for (leaf, bound) in self.element.leaves.iter().zip(&self.leaves) {
            if !bound.whole(leaf, shape).is_injective(bound.place.stored.dtype.size()) {
                return Err(ShapeError::Overlapping { parameter: self.name.to_owned() }.into());
            }
        }
        Ok(())
    }

    /// The first element, if they lie as Rust has them. A `bool` of an array may be another byte than Rust's two.
    fn found_in_place(&self) -> Option<*mut u8> {
        let of_element = &self.element.leaves;
        let first = self.leaves.first()?;
        let base = first.place.first.wrapping_sub(of_element[0].offset);
        let is_there = of_element.iter().zip(&self.leaves).all(|(leaf, bound)| {
            let numbers = bound.numbers.iter();
            let in_order = numbers.clone().all(|(from, to)| *from == to.cast_signed() - leaf.offset.cast_signed());
            let is_readable = !(self.passing.is_read() && leaf.dtype == DType::Bool);
            is_readable
                && in_order
                && bound.place.stored == Stored::from(leaf.dtype)
                && bound.place.first == base.wrapping_add(leaf.offset)
                && bound.walk.is_row_of(self.element.size)
        });
        (is_there && base.addr().is_multiple_of(self.element.align)).then_some(base)
    }

    /// What becomes of it.
    pub fn passing(&self) -> Passing {
        self.passing
    }

    /// What one value of it is.
    pub fn element(&self) -> &'a Element {
        self.element
    }

    /// The element with this number, if they lie as Rust has them.
    pub fn in_place(&self, number: usize) -> Option<*mut u8> {
        self.in_place.map(|first| first.wrapping_add(number * self.element.size))
    }

    /// Whether all elements are one.
    pub fn is_single(&self) -> bool {
        self.leaves.iter().all(|bound| bound.walk.stride() == Some(0))
    }

    /// Bring elements into a tile.
    ///
    /// # Safety
    /// The call has so many elements from there; the tile has room for as many.
    pub unsafe fn gather(&self, start: usize, count: usize, tile: *mut u8) {
        self.moves(start, count, tile, |bound, from, to, count| {
            let from = Row { first: from.first.cast_const(), stride: from.stride };
            // SAFETY: asked here and by `new`.
            unsafe { bound.read.copy(from, to, count) }
        });
    }

    /// Bring elements from a tile to where they lie.
    ///
    /// # Safety
    /// As for [`gather`](Self::gather), of a parameter that is written; the tile holds as many elements.
    pub unsafe fn scatter(&self, start: usize, count: usize, tile: *mut u8) {
        self.moves(start, count, tile, |bound, to, from, count| {
            let from = Row { first: from.first.cast_const(), stride: from.stride };
            // SAFETY: asked here and by `new`.
            unsafe { bound.write.copy(from, to, count) }
        });
    }

    /// What the function writes is summed up by these.
    pub fn sums(&self) -> Option<&Sums> {
        self.sums.as_ref()
    }

    /// Add what was summed up, in a call of this shape.
    ///
    /// # Safety
    /// As for [`new`](Self::new); the sums are those that [`sums`](Self::sums) has made.
    pub unsafe fn add(&self, sums: &[Exact], shape: &Shape) {
        let mut sums = sums.iter();
        for (leaf, bound) in self.element.leaves.iter().zip(&self.leaves) {
            if leaf.dtype.kind() != Kind::Float {
                continue;
            }
            let own = bound.own_shape(shape);
            let walk = Walk::new(&own, &bound.place.strides);
            let (read, write) =
                (Mover::new(bound.place.stored, DType::F64.into()), Mover::new(DType::F64.into(), bound.place.stored));
            for (from, _) in &bound.numbers {
                walk.runs(0, own.count().unwrap_or(0), |run| {
                    for step in 0..run.axis.count {
                        let offset = run.offset + step.cast_signed() * run.axis.stride + from;
                        let first = bound.place.first.wrapping_offset(offset);
                        let mut number = 0.0_f64;
                        let here = (&raw mut number).cast::<u8>();
                        // SAFETY: asked of the caller; one number of the gradient.
                        unsafe {
                            let row = Row { first: first.cast_const(), stride: 0 };
                            read.copy(row, Row { first: here, stride: 0 }, 1);
                            number += sums.next().map_or(0.0, |sum| sum.value());
                            let row = Row { first: (&raw const number).cast::<u8>(), stride: 0 };
                            write.copy(row, Row { first, stride: 0 }, 1);
                        }
                    }
                });
            }
        }
    }

    /// Call `f` with rows of numbers where they lie, and where they lie in the tile.
    fn moves(&self, start: usize, count: usize, tile: *mut u8, f: impl Fn(&Bound, Row<*mut u8>, Row<*mut u8>, usize)) {
        let size = self.element.size;
        for bound in &self.leaves {
            bound.walk.runs(start, count, |run| {
                let Axis { count, stride } = run.axis;
                for (from, to) in &bound.numbers {
                    let there = bound.place.first.wrapping_offset(run.offset + from);
                    let here = tile.wrapping_add(run.at * size + to);
                    let (there, here) = (Row { first: there, stride }, Row { first: here, stride: size.cast_signed() });
                    f(bound, there, here, count);
                }
            });
        }
    }

    /// Whether what is written to this one could be read from the other one, as another element of it.
    fn disturbs(&self, other: &Operand<'_>) -> bool {
        self.leaves != other.leaves
            && self.leaves.iter().any(|a| {
                let (low, high) = a.extent();
                other.leaves.iter().map(Bound::extent).any(|(from, to)| low < to && from < high)
            })
    }
}

/// Copies of arguments that lie where others are written, so that each element is computed of what was there before.
#[derive(Debug, Default)]
pub struct Copies(Vec<Box<[u128]>>);

impl Copies {
    /// Use copies of what is read where something else is written. Two that are written may not meet.
    ///
    /// # Safety
    /// The operands are those of a call of so many elements, which is made while the copies are there.
    pub unsafe fn separate(&mut self, operands: &mut [Operand<'_>], count: usize) -> Result<()> {
        for index in 0..operands.len() {
            let reader = &operands[index];
            let others =
                || operands.iter().enumerate().filter(|(at, other)| *at != index && other.passing.is_written());
            let Some((_, writer)) = others().find(|(_, other)| other.disturbs(reader)) else {
                // Two names for the same elements, both written.
                let twice = others().find(|(_, other)| reader.passing.is_written() && other.leaves == reader.leaves);
                if let Some((_, other)) = twice.filter(|_| count > 0) {
                    return Err(met(reader, other));
                }
                continue;
            };
            if reader.passing.is_written() {
                return Err(met(reader, writer));
            }
            let Element { size, align, .. } = *reader.element;
            assert!(align <= align_of::<u128>(), "no number is aligned to more than sixteen bytes");
            let mut copy = vec![0_u128; (count * size).div_ceil(size_of::<u128>())].into_boxed_slice();
            let first = copy.as_mut_ptr().cast::<u8>();
            // SAFETY: asked of the caller; the copy has room for all elements.
            unsafe { reader.gather(0, count, first) };
            operands[index].in_place = Some(first);
            self.0.push(copy);
        }
        Ok(())
    }
}

fn met(a: &Operand<'_>, b: &Operand<'_>) -> crate::error::Error {
    ShapeError::WrittenTwice { first: a.name.to_owned(), second: b.name.to_owned() }.into()
}
