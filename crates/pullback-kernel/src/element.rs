//! The numbers of one value, whatever it is made of: a list of leaves.

use crate::abi::{Parameter, Parts, Passing, Type};
use crate::dtype::DType;
use crate::shape::Shape;
use smallvec::SmallVec;

/// A parameter, as a call sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What becomes of it.
    pub passing: Passing,
    /// One value of it.
    pub element: Element,
}

impl From<&Parameter> for Param {
    fn from(parameter: &Parameter) -> Self {
        let Parameter { name, passing, of } = parameter;
        Param { name: name.as_str(), passing: *passing, element: (*of).into() }
    }
}

/// One value of a parameter, as it lies in a tile: as Rust has it.
#[derive(Clone, PartialEq, Debug)]
pub struct Element {
    /// `size_of`
    pub size: usize,
    /// `align_of`
    pub align: usize,
    /// The numbers in it.
    pub leaves: SmallVec<[Leaf; 1]>,
}

/// A number of an element, or an array of numbers of a fixed shape, which lie one after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct Leaf {
    /// The fields that lead to it, with dots between them; nothing where the element is this and nothing else.
    pub path: String,
    /// Where it lies in the element.
    pub offset: usize,
    /// What its numbers are.
    pub dtype: DType,
    /// Its shape: nothing for a single number.
    pub shape: Shape,
}

impl Leaf {
    /// How many numbers it has.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }
}

impl From<&Type> for Element {
    fn from(of: &Type) -> Self {
        let mut leaves = SmallVec::new();
        add(&mut leaves, of, String::new(), 0);
        Element { size: of.size, align: of.align, leaves }
    }
}

/// The numbers of an array of numbers, of whatever depth.
fn array(of: &Type) -> Option<(SmallVec<[usize; 4]>, DType)> {
    match of.parts {
        Parts::Number(dtype) => Some((SmallVec::new(), dtype)),
        Parts::Array(count, inner) => {
            let (mut shape, dtype) = array(inner)?;
            shape.insert(0, count);
            Some((shape, dtype))
        }
        Parts::Fields(_) => None,
    }
}

fn add(leaves: &mut SmallVec<[Leaf; 1]>, of: &Type, path: String, offset: usize) {
    if let Some((shape, dtype)) = array(of) {
        return leaves.push(Leaf { path, offset, dtype, shape: shape.into_iter().collect() });
    }
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match of.parts {
        Parts::Number(_) => {}
        Parts::Array(count, inner) => {
            for index in 0..count {
                add(leaves, inner, below(&index.to_string()), offset + index * inner.size);
            }
        }
        Parts::Fields(fields) => {
            for field in fields.as_slice() {
                add(leaves, field.of, below(field.name.as_str()), offset + field.offset);
            }
        }
    }
}
