//! Where in memory the elements of an array lie.
//!
//! Two arrays of one shape may have their elements in another order, or some that are no part of the array: those that
//! were cut off. Floats of a value and of its shadow correspond by their places in memory, so a shadow has the
//! arrangement of its primal. A cotangent that a caller brings, or a tangent that a rule returns, may have another one,
//! and is copied by index: what is no part of the array is left out then. Of elements that are more than a float it always is.

/// How many axes there are at most.
const AXES: usize = 6;

/// The arrangement of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrangement {
    axes: usize,
    shape: [usize; AXES],
    /// How many elements lie between neighbours, by the axis.
    strides: [isize; AXES],
    /// Which element comes first.
    begin: usize,
}

impl Arrangement {
    /// All elements in the order of the shape, or in another one that follows from it.
    #[cfg(feature = "nalgebra")]
    pub(crate) fn in_order(shape: &[usize]) -> Self {
        Self::of(shape, &[], 0)
    }

    /// Elements of which the one at `begin` is the first; its neighbours lie as the strides say.
    #[cfg(feature = "ndarray")]
    pub(crate) fn strided(shape: &[usize], strides: &[isize], begin: usize) -> Self {
        Self::of(shape, strides, begin)
    }

    #[cfg(any(feature = "nalgebra", feature = "ndarray"))]
    fn of(shape: &[usize], strides: &[isize], begin: usize) -> Self {
        let mut of = Arrangement { axes: shape.len(), shape: [0; AXES], strides: [0; AXES], begin };
        of.shape[..shape.len()].copy_from_slice(shape);
        of.strides[..strides.len()].copy_from_slice(strides);
        of
    }

    /// How many elements there are, by the axis.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape[..self.axes]
    }

    /// How many axes there are.
    pub(crate) fn axes(&self) -> usize {
        self.axes
    }

    /// How many elements lie between neighbours, by the axis.
    pub(crate) fn strides(&self) -> &[isize] {
        &self.strides[..self.axes]
    }

    /// Which element comes first.
    pub(crate) fn begin(&self) -> usize {
        self.begin
    }

    /// The places of the array's elements among those in memory, by their indices, the last of which changes first.
    /// A derivative of a derivative calls this as it is.
    #[inline(never)]
    pub(crate) fn places_bookkeeping(&self) -> Vec<usize> {
        let mut places = if self.shape().contains(&0) { Vec::new() } else { vec![self.begin] };
        for (count, stride) in self.shape().iter().zip(&self.strides) {
            let along = |place: usize| {
                (0..*count).map(move |index| place.wrapping_add_signed(stride.wrapping_mul(index as isize)))
            };
            places = places.into_iter().flat_map(along).collect();
        }
        places
    }
}

#[cfg(all(test, feature = "ndarray"))]
mod tests {
    use super::Arrangement;

    #[test]
    fn elements_are_found_by_their_indices() {
        let transposed = Arrangement::strided(&[2, 3], &[1, 2], 0);
        assert_eq!(transposed.places_bookkeeping(), [0, 2, 4, 1, 3, 5]);
        let part = Arrangement::strided(&[2, 2], &[6, -1], 4);
        assert_eq!(part.places_bookkeeping(), [4, 3, 10, 9]);
        assert_eq!(Arrangement::strided(&[], &[], 1).places_bookkeeping(), [1]);
        assert_eq!(Arrangement::strided(&[3, 0], &[0, 0], 0).places_bookkeeping(), []);
    }
}
