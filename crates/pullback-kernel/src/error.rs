//! What can be wrong about a call. Each error names the parameter, and is made before anything is written.

use crate::dtype::DType;
use crate::shape::Shape;
use std::fmt;
use thiserror::Error;

/// A result whose error is a call's.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a kernel function is not called with these arguments.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Shapes that do not go together.
    #[error("{0}")]
    Shape(Box<ShapeError>),
    /// A parameter that the function does not have.
    #[error("`{function}` has no parameter `{name}`: it has {}", list(parameters))]
    Unknown {
        /// The function.
        function: String,
        /// What was named.
        name: String,
        /// What there is.
        parameters: Vec<&'static str>,
    },
    /// The function has panicked.
    #[error("the kernel function panicked at element {element}: {message}")]
    Panic {
        /// For which element, counted in the order of the call's shape. Of several it is the first.
        element: usize,
        /// What it said.
        message: String,
    },
    /// An array whose numbers cannot be those of the parameter.
    #[error("`{parameter}` takes {wanted}, and {given} does not become {wanted} without loss{}", help_cast(*wanted))]
    DType {
        /// The parameter, with the field if it is a struct's: `ray.pos`.
        parameter: String,
        /// What the array has.
        given: DType,
        /// What the function takes.
        wanted: DType,
    },
}

/// Shapes that do not go together.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// Two parameters whose lengths along an axis differ, and neither of which is 1 (or, if only equal shapes are
    /// allowed, that differ at all).
    #[error("{}", mismatch(first, second, *strict))]
    Mismatch {
        /// A parameter and the shape of its batch.
        first: (String, Shape),
        /// Another one.
        second: (String, Shape),
        /// Whether shapes must be equal.
        strict: bool,
    },
    /// An array that is to be written, and that has fewer elements than there are calls.
    #[error(
        "`{parameter}` has shape {shape}, and is written once for each of {batch} elements: an array that is written is \
         not broadcast"
    )]
    Written {
        /// The parameter.
        parameter: String,
        /// The shape of what was given for it.
        shape: Shape,
        /// The shape of the call.
        batch: Shape,
    },
    /// An array with too few dimensions, or with others than the parameter has.
    #[error("`{parameter}` has shape {shape}, and the last dimensions of it are to be {inner}: those of one element")]
    Inner {
        /// The parameter.
        parameter: String,
        /// The shape of what was given for it.
        shape: Shape,
        /// The shape of one element.
        inner: Shape,
    },
    /// An axis that the call does not have, or that is named twice.
    #[error("`{parameter}` is mapped to the axes {axes:?}: {why}")]
    Axes {
        /// The parameter.
        parameter: String,
        /// As they were given.
        axes: Vec<usize>,
        /// What is wrong about them.
        why: &'static str,
    },
    /// An array that is written, and in which elements lie over each other.
    #[error("`{parameter}` is written, and some of its elements lie in the same memory")]
    Overlapping {
        /// The parameter.
        parameter: String,
    },
    /// Two arrays that are written, and that lie over each other.
    #[error("`{first}` and `{second}` are both written, and lie in the same memory")]
    WrittenTwice {
        /// A parameter.
        first: String,
        /// Another one.
        second: String,
    },
    /// More elements than can be counted.
    #[error("the shapes of the arguments broadcast to {0}, which is more than there can be")]
    TooLarge(Shape),
}

impl From<ShapeError> for Error {
    fn from(error: ShapeError) -> Self {
        Error::Shape(Box::new(error))
    }
}

fn mismatch(first: &(String, Shape), second: &(String, Shape), strict: bool) -> String {
    let ((a, of_a), (b, of_b)) = (first, second);
    let why = if strict { ", and with `strict` shapes are equal, or of single values" } else { "" };
    format!("`{a}` has shape {of_a}, `{b}` has shape {of_b}{why}")
}

/// Names, with commas between them.
fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The way out, where a cast is one.
fn help_cast(wanted: DType) -> impl fmt::Display {
    format!(" (cast it, if that is meant: `.astype(\"{wanted}\")`)")
}
