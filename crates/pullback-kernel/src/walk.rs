//! Where the elements of a batch lie in an array: a walk through memory in the order of the call's shape.
//!
//! ```text
//! shape (4, 3), strides (24, 8)         one run of 12, each 8 bytes further
//! shape (4, 3), strides (0, 8)          4 runs of 3, which begin at the same place
//! shape (4, 3), strides (0, 0)          one run of 12, all at one place
//! ```
//! Axes that go on where the one inside of them ends are one axis, so most arrays are one run.

use crate::shape::Shape;
use smallvec::SmallVec;

/// A walk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Walk {
    /// The axes, the last of which changes first: how many steps, and how many bytes each.
    axes: SmallVec<[Axis; 4]>,
}

/// Places that lie equally far apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    /// How many there are.
    pub count: usize,
    /// How many bytes lie between them.
    pub stride: isize,
}

/// A part of a walk in which places lie equally far apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The number of its first place, counted from where the part that was asked for begins.
    pub at: usize,
    /// Where its first place lies, in bytes from where the whole walk begins.
    pub offset: isize,
    /// Its places.
    pub axis: Axis,
}

impl Walk {
    /// The walk through an array when a call goes through its shape.
    pub fn new(shape: &Shape, strides: &[isize]) -> Self {
        let mut axes: SmallVec<[Axis; 4]> = SmallVec::new();
        for (&count, &stride) in shape.iter().zip(strides) {
            match axes.last_mut() {
                _ if count == 1 => {}
                Some(outer) if outer.stride == stride.wrapping_mul(count as isize) => {
                    *outer = Axis { count: outer.count * count, stride };
                }
                _ => axes.push(Axis { count, stride }),
            }
        }
        if shape.contains(&0) {
            axes.clear();
            axes.push(Axis { count: 0, stride: 0 });
        }
        if axes.is_empty() {
            axes.push(Axis { count: 1, stride: 0 });
        }
        Walk { axes }
    }

    /// The stride, if all places lie equally far apart.
    pub fn stride(&self) -> Option<isize> {
        match self.axes[..] {
            [axis] => Some(axis.stride),
            _ => None,
        }
    }

    /// Whether elements of so many bytes lie one after the other.
    pub fn is_row_of(&self, size: usize) -> bool {
        match self.axes[..] {
            [axis] => axis.stride == size.cast_signed() || axis.count <= 1,
            _ => false,
        }
    }

    /// Whether there are no two places at which an element of so many bytes would lie over another one.
    pub fn is_injective(&self, size: usize) -> bool {
        let mut axes: SmallVec<[(usize, usize); 4]> =
            self.axes.iter().map(|axis| (axis.stride.unsigned_abs(), axis.count)).collect();
        axes.sort_unstable();
        // As in arrays: each axis steps over all that the ones inside of it reach.
        let mut reach = size;
        axes.iter().all(|(stride, count)| {
            let steps_over = *count <= 1 || *stride >= reach;
            reach = reach.saturating_add(stride.saturating_mul(count.saturating_sub(1)));
            steps_over
        })
    }

    /// The bytes that are reached with elements of so many bytes, from the first to the one after the last, counted from
    /// where the walk begins.
    pub fn extent(&self, size: usize) -> (isize, isize) {
        if self.axes.iter().any(|axis| axis.count == 0) {
            return (0, 0);
        }
        self.axes.iter().fold((0, size.cast_signed()), |(low, high), axis| {
            let way = axis.stride * (axis.count as isize - 1);
            (low + way.min(0), high + way.max(0))
        })
    }

    /// Call `f` with the runs of `count` places from the one with the number `start`.
    pub fn runs(&self, start: usize, count: usize, mut f: impl FnMut(Run)) {
        let Some((inner, outer)) = self.axes.split_last() else { return };
        if outer.is_empty() {
            let offset = start.cast_signed() * inner.stride;
            return f(Run { at: 0, offset, axis: Axis { count, stride: inner.stride } });
        }
        // How far each axis has come.
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
        let (mut rest, mut first) = (start / inner.count, start % inner.count);
        for (index, axis) in index.iter_mut().zip(outer).rev() {
            (rest, *index) = (rest / axis.count, rest % axis.count);
        }
        let mut at = 0;
        while at < count {
            let offset: isize = index.iter().zip(outer).map(|(index, axis)| index.cast_signed() * axis.stride).sum();
            let length = (inner.count - first).min(count - at);
            let offset = offset + first.cast_signed() * inner.stride;
            f(Run { at, offset, axis: Axis { count: length, stride: inner.stride } });
            (at, first) = (at + length, 0);
            for (index, axis) in index.iter_mut().zip(outer).rev() {
                *index += 1;
                if *index < axis.count {
                    break;
                }
                *index = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arrays_are_one_run() {
        let walk = |shape: &[usize], strides: &[isize]| Walk::new(&shape.into(), strides);
        assert_eq!(walk(&[4, 3], &[24, 8]).stride(), Some(8));
        assert_eq!(walk(&[4, 3], &[0, 0]).stride(), Some(0));
        assert_eq!(walk(&[4, 1, 3], &[24, 999, 8]).stride(), Some(8));
        assert_eq!(walk(&[], &[]).stride(), Some(0));
        assert_eq!(walk(&[4, 3], &[0, 8]).stride(), None);
        assert_eq!(walk(&[4, 3], &[8, 32]).stride(), None);
    }

    #[test]
    fn places_that_lie_over_each_other_are_found() {
        let walk = |shape: &[usize], strides: &[isize]| Walk::new(&shape.into(), strides);
        assert!(walk(&[4, 3], &[24, 8]).is_injective(8));
        assert!(walk(&[4, 3], &[8, 32]).is_injective(8));
        assert!(walk(&[4, 3], &[-24, 8]).is_injective(8));
        assert!(!walk(&[4, 3], &[0, 8]).is_injective(8));
        assert!(!walk(&[4, 3], &[8, 8]).is_injective(8));
        assert!(!walk(&[5], &[4]).is_injective(8));
        assert!(walk(&[1], &[0]).is_injective(8));
        assert!(walk(&[0, 3], &[0, 0]).is_injective(8));
    }

    proptest! {
        /// Of whatever part, the runs are the places that the shape gives one after the other.
        #[test]
        fn runs_are_the_places_in_order(
            axes in prop::collection::vec((1_usize..5, -40_isize..40), 0..4),
            (start, count) in (0_usize..40, 0_usize..40),
        ) {
            let shape: Shape = axes.iter().map(|axis| axis.0).collect();
            let strides: Vec<isize> = axes.iter().map(|axis| axis.1).collect();
            let mut places = vec![0_isize];
            for (count, stride) in &axes {
                let along = |place: isize| (0..*count as isize).map(move |index| place + index * stride);
                places = places.into_iter().flat_map(along).collect();
            }
            let start = start.min(places.len());
            let count = count.min(places.len() - start);
            let walk = Walk::new(&shape, &strides);
            let mut found = Vec::new();
            walk.runs(start, count, |run| {
                assert_eq!(run.at, found.len());
                found.extend((0..run.axis.count as isize).map(|index| run.offset + index * run.axis.stride));
            });
            prop_assert_eq!(&found[..], &places[start..][..count]);
            let (low, high) = walk.extent(8);
            prop_assert_eq!(low, *places.iter().min().unwrap());
            prop_assert_eq!(high, *places.iter().max().unwrap() + 8);
            // What is said to be apart is.
            let mut sorted = places.clone();
            sorted.sort_unstable();
            prop_assert!(!walk.is_injective(8) || sorted.windows(2).all(|pair| pair[1] - pair[0] >= 8));
        }
    }
}
