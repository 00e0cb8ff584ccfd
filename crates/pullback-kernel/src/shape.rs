//! Shapes, and how those of arguments become one: NumPy's broadcasting.

use crate::error::{Error, Result, ShapeError};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Deref;

/// Lengths by axis, the first of which changes last.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Shape(SmallVec<[usize; 4]>);

impl Shape {
    /// The shape of one value.
    pub const SCALAR: Shape = Shape(SmallVec::new_const());

    /// How many elements there are, if that can be counted.
    pub fn count(&self) -> Option<usize> {
        // Without elements there are none, however long other axes are.
        if self.contains(&0) {
            return Some(0);
        }
        self.iter().try_fold(1_usize, |count, length| count.checked_mul(*length))
    }

    /// By how many bytes each axis leads further where elements of so many bytes lie one after the other.
    pub fn strides(&self, size: usize) -> SmallVec<[isize; 4]> {
        let mut strides = SmallVec::from_elem(0, self.len());
        let mut stride = size.cast_signed();
        for (of_axis, length) in strides.iter_mut().zip(&self[..]).rev() {
            *of_axis = stride;
            stride = stride.wrapping_mul(length.cast_signed());
        }
        strides
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl From<&[usize]> for Shape {
    fn from(lengths: &[usize]) -> Self {
        Shape(lengths.into())
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(lengths: [usize; N]) -> Self {
        lengths[..].into()
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(lengths: I) -> Self {
        Shape(lengths.into_iter().collect())
    }
}

/// As Python writes it: `(3,)`, `(2, 3)`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self[..] {
            [one] => write!(f, "({one},)"),
            all => {
                f.write_str("(")?;
                for (axis, length) in all.iter().enumerate() {
                    write!(f, "{}{length}", if axis == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
        }
    }
}

/// What a parameter adds to the shape of a call.
#[derive(Clone, Copy, Debug)]
pub struct Batched<'a> {
    /// Its name, for errors.
    pub parameter: &'a str,
    /// The shape of its argument, without the dimensions of one element.
    pub shape: &'a Shape,
    /// To which axes of the call its own belong, in order; without that they are the last ones.
    pub axes: Option<&'a [usize]>,
}

/// Whether lengths of 1 are repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rule {
    /// As NumPy does it.
    #[default]
    Broadcast,
    /// Shapes are equal, or of single values.
    Strict,
}

/// The shape that arguments broadcast to.
pub fn broadcast(arguments: &[Batched<'_>], rule: Rule) -> Result<Shape> {
    let rank = arguments.iter().try_fold(0, |most, argument| rank(argument).map(|rank| most.max(rank)))?;
    let mut lengths: SmallVec<[usize; 4]> = SmallVec::from_elem(1, rank);
    // Who has said so, to name both where they differ.
    let mut said: SmallVec<[Option<usize>; 4]> = SmallVec::from_elem(None, rank);
    for (index, argument) in arguments.iter().enumerate() {
        if rule == Rule::Strict
            && argument.axes.is_none()
            && let Some(other) = arguments[..index].iter().find(|other| is_another(other, argument))
        {
            return Err(mismatch(other, argument, rule));
        }
        for (own, axis) in axes_of(argument, rank).enumerate() {
            let length = argument.shape[own];
            match said[axis] {
                // A single value, so far.
                None => (lengths[axis], said[axis]) = (length, Some(index)),
                Some(_) if lengths[axis] == length => {}
                Some(_) if lengths[axis] == 1 && rule == Rule::Broadcast => {
                    (lengths[axis], said[axis]) = (length, Some(index));
                }
                Some(_) if length == 1 && rule == Rule::Broadcast => {}
                Some(other) => return Err(mismatch(&arguments[other], argument, rule)),
            }
        }
    }
    let shape = Shape(lengths);
    // Offsets are signed.
    match shape.count() {
        Some(count) if isize::try_from(count).is_ok() => Ok(shape),
        _ => Err(ShapeError::TooLarge(shape).into()),
    }
}

/// The strides by which an argument is walked through when the call walks through its own shape: 0 where it is
/// repeated. `strides` are those of the argument's own batch dimensions.
pub fn broadcast_strides(argument: &Batched<'_>, strides: &[isize], shape: &Shape) -> SmallVec<[isize; 4]> {
    let mut all = SmallVec::from_elem(0, shape.len());
    for (own, axis) in axes_of(argument, shape.len()).enumerate() {
        if argument.shape[own] != 1 {
            all[axis] = strides[own];
        }
    }
    all
}

/// How many axes a call has to have for this argument.
fn rank(argument: &Batched<'_>) -> Result<usize> {
    let Some(axes) = argument.axes else { return Ok(argument.shape.len()) };
    let wrong =
        |why| Err(ShapeError::Axes { parameter: argument.parameter.to_owned(), axes: axes.to_vec(), why }.into());
    if axes.len() != argument.shape.len() {
        return wrong("it has another number of dimensions");
    }
    if axes.iter().enumerate().any(|(at, axis)| axes[..at].contains(axis)) {
        return wrong("an axis is named twice");
    }
    // What is more than this is no axis, but a slip.
    if axes.iter().any(|axis| *axis >= MOST_AXES) {
        return wrong("there are not so many axes");
    }
    Ok(axes.iter().map(|axis| axis + 1).max().unwrap_or(0))
}

/// How many axes a call may have.
const MOST_AXES: usize = 32;

/// To which axes of a call of that rank those of an argument belong.
fn axes_of<'a>(argument: &Batched<'a>, rank: usize) -> impl Iterator<Item = usize> + use<'a> {
    let (axes, own) = (argument.axes, argument.shape.len());
    (0..own).map(move |at| axes.map_or(rank - own + at, |axes| axes[at]))
}

/// Whether two shapes are different ones, neither of which is that of a single value.
fn is_another(a: &Batched<'_>, b: &Batched<'_>) -> bool {
    a.axes.is_none() && !a.shape.is_empty() && !b.shape.is_empty() && a.shape != b.shape
}

fn mismatch(a: &Batched<'_>, b: &Batched<'_>, rule: Rule) -> Error {
    let of = |argument: &Batched<'_>| (argument.parameter.to_owned(), argument.shape.clone());
    ShapeError::Mismatch { first: of(a), second: of(b), strict: rule == Rule::Strict }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(shapes: &[&[usize]], rule: Rule) -> std::result::Result<Shape, String> {
        let shapes: Vec<Shape> = shapes.iter().map(|shape| Shape::from(*shape)).collect();
        let names = ["x", "y", "z"];
        let arguments: Vec<_> =
            names.iter().zip(&shapes).map(|(parameter, shape)| Batched { parameter, shape, axes: None }).collect();
        broadcast(&arguments, rule).map_err(|error| error.to_string())
    }

    #[test]
    fn shapes_broadcast_as_in_numpy() {
        assert_eq!(of(&[&[256, 1], &[1, 256]], Rule::Broadcast), Ok([256, 256].into()));
        assert_eq!(of(&[&[2, 3], &[3], &[]], Rule::Broadcast), Ok([2, 3].into()));
        assert_eq!(of(&[&[1], &[0]], Rule::Broadcast), Ok([0].into()));
        assert_eq!(of(&[], Rule::Broadcast), Ok(Shape::SCALAR));
        let said = "`x` has shape (3,), `y` has shape (4,)";
        assert_eq!(of(&[&[3], &[4]], Rule::Broadcast), Err(said.to_owned()));
        let said = "`x` has shape (2, 1), `z` has shape (3, 1)";
        assert_eq!(of(&[&[2, 1], &[1], &[3, 1]], Rule::Broadcast), Err(said.to_owned()));
    }

    #[test]
    fn strict_shapes_are_equal_or_of_single_values() {
        assert_eq!(of(&[&[2, 3], &[], &[2, 3]], Rule::Strict), Ok([2, 3].into()));
        for other in [&[3][..], &[1, 3], &[2, 1], &[1]] {
            assert!(of(&[&[2, 3], other], Rule::Strict).unwrap_err().contains("with `strict`"));
        }
    }

    #[test]
    fn axes_are_mapped_by_number() {
        let (rows, columns) = (Shape::from([2]), Shape::from([3]));
        let x = Batched { parameter: "x", shape: &rows, axes: Some(&[0]) };
        let y = Batched { parameter: "y", shape: &columns, axes: Some(&[1]) };
        let shape = broadcast(&[x, y], Rule::Broadcast).unwrap();
        assert_eq!(shape, [2, 3].into());
        assert_eq!(broadcast_strides(&x, &[8], &shape)[..], [8, 0]);
        assert_eq!(broadcast_strides(&y, &[4], &shape)[..], [0, 4]);
        for axes in [&[0, 1][..], &[], &[1000]] {
            let x = Batched { axes: Some(axes), ..x };
            let error = broadcast(&[x, y], Rule::Broadcast).unwrap_err();
            assert!(matches!(&error, Error::Shape(error) if matches!(**error, ShapeError::Axes { .. })));
        }
    }

    #[test]
    fn what_cannot_be_counted_is_told() {
        let long = 1 << 40;
        assert!(of(&[&[long, 1], &[1, long]], Rule::Broadcast).unwrap_err().contains("more than there can be"));
        assert_eq!(of(&[&[long, 1], &[1, long], &[0, 1, 1]], Rule::Broadcast), Ok([0, long, long].into()));
    }

    proptest! {
        /// A shape is that of the call with its axes in front left out, and with any of the others made 1.
        #[test]
        fn parts_of_a_shape_broadcast_to_it(
            shape in prop::collection::vec(0_usize..5, 0..5),
            parts in prop::collection::vec((0_usize..5, any::<u8>()), 0..4),
        ) {
            let part = |(cut, ones): &(usize, u8)| -> Vec<usize> {
                let kept = shape.iter().enumerate().skip((*cut).min(shape.len()));
                kept.map(|(axis, length)| if ones >> axis & 1 == 1 { 1 } else { *length }).collect()
            };
            let mut all: Vec<Vec<usize>> = parts.iter().map(part).collect();
            all.push(shape.clone());
            let shapes: Vec<Shape> = all.iter().map(|shape| shape[..].into()).collect();
            let arguments: Vec<_> =
                shapes.iter().map(|shape| Batched { parameter: "x", shape, axes: None }).collect();
            let whole = broadcast(&arguments, Rule::Broadcast).unwrap();
            prop_assert_eq!(&whole[..], &shape[..]);
            for argument in &arguments {
                let strides = vec![8; argument.shape.len()];
                let strides = broadcast_strides(argument, &strides, &whole);
                for (axis, stride) in strides.iter().enumerate() {
                    let own = (axis + argument.shape.len()).checked_sub(whole.len()).map(|own| argument.shape[own]);
                    prop_assert_eq!(*stride != 0, own.is_some_and(|own| own != 1));
                }
            }
        }
    }
}
