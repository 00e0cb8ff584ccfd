//! The types of SSA values.

use std::fmt;
use std::sync::Arc;

/// The type of an SSA value. Memory itself is untyped.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// An integer of so many bits, 1 to 128.
    Int(u16),
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// An address, 8 bytes.
    Ptr,
    /// A first-class aggregate, laid out as in C: what a call with several results returns.
    Struct(Arc<[Type]>),
    /// A type this IR does not model (a vector, say). Values of it only pass from one opaque instruction to another.
    /// The text is the type's name in LLVM, the numbers are size and alignment in bytes.
    Opaque(Arc<str>, u64, u64),
}

impl Type {
    /// `i1`, the type of conditions.
    pub const BOOL: Type = Type::Int(1);
    /// `i8`.
    pub const I8: Type = Type::Int(8);
    /// `i32`.
    pub const I32: Type = Type::Int(32);
    /// `i64`, the type of byte offsets and sizes.
    pub const I64: Type = Type::Int(64);

    /// A struct type of these fields.
    pub fn structure(fields: impl IntoIterator<Item = Type>) -> Type {
        Type::Struct(fields.into_iter().collect())
    }

    /// Whether this is `f32` or `f64`.
    pub fn is_float(&self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }

    /// Whether this is an integer type.
    pub fn is_int(&self) -> bool {
        matches!(self, Type::Int(_))
    }

    /// How many bytes a load or a store of it touches, and how many it takes in memory, with padding at the end of a
    /// struct. (As a field it takes up to its alignment more: of an `i56`, seven bytes are stored, and eight taken.)
    pub fn size(&self) -> u64 {
        match self {
            Type::Int(bits) => u64::from(*bits).div_ceil(8),
            Type::F32 => 4,
            Type::F64 | Type::Ptr => 8,
            Type::Struct(fields) => round_up(end_of(fields), self.align()),
            Type::Opaque(_, size, _) => *size,
        }
    }

    /// How many bytes it takes in a row of such values, where each is aligned.
    pub fn room(&self) -> u64 {
        round_up(self.size(), self.align())
    }

    /// Natural alignment in bytes.
    pub fn align(&self) -> u64 {
        match self {
            Type::Int(_) => self.size().next_power_of_two().min(16),
            Type::Struct(fields) => fields.iter().map(Type::align).max().unwrap_or(1),
            Type::Opaque(_, _, align) => *align,
            _ => self.size(),
        }
    }

    /// Byte offset of field `index` of a struct type.
    ///
    /// # Panics
    /// If this is not a struct with such a field.
    pub fn field_offset(&self, index: usize) -> u64 {
        let Type::Struct(fields) = self else { panic!("field_offset of {self}, which is not a struct") };
        round_up(end_of(&fields[..index]), fields[index].align())
    }

    /// Type of field `index` of a struct type.
    pub fn field(&self, index: usize) -> &Type {
        let Type::Struct(fields) = self else { panic!("field of {self}, which is not a struct") };
        &fields[index]
    }

    /// The scalars in a value of this type, with their offsets in bytes: those of all fields, in order.
    pub fn leaves(&self) -> Vec<(u64, &Type)> {
        let Type::Struct(fields) = self else { return vec![(0, self)] };
        let mut all = Vec::new();
        for (i, field) in fields.iter().enumerate() {
            let offset = self.field_offset(i);
            all.extend(field.leaves().into_iter().map(|(at, ty)| (offset + at, ty)));
        }
        all
    }

    /// How many [`leaves`](Self::leaves) of a struct type come before those of field `index`.
    pub fn first_leaf(&self, index: usize) -> usize {
        let Type::Struct(fields) = self else { panic!("first_leaf of {self}, which is not a struct") };
        fields[..index].iter().map(|field| field.leaves().len()).sum()
    }
}

/// Where the next byte after these fields is.
fn end_of(fields: &[Type]) -> u64 {
    fields.iter().fold(0, |at, f| round_up(at, f.align()) + f.room())
}

/// `at` rounded up to a multiple of `align`, a power of two.
pub fn round_up(at: u64, align: u64) -> u64 {
    (at + align - 1) & !(align - 1)
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Int(bits) => write!(f, "i{bits}"),
            Type::F32 => f.write_str("f32"),
            Type::F64 => f.write_str("f64"),
            Type::Ptr => f.write_str("ptr"),
            Type::Struct(fields) => {
                f.write_str("{")?;
                for (i, field) in fields.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{field}")?;
                }
                f.write_str("}")
            }
            Type::Opaque(name, size, align) => write!(f, "opaque({name:?}, {size}, {align})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_of_odd_width_takes_more_than_it_touches() {
        let (odd, byte) = (Type::Int(56), Type::Int(8));
        assert_eq!((odd.size(), odd.room(), odd.align()), (7, 8, 8));
        let pair = Type::structure([odd.clone(), byte.clone()]);
        assert_eq!((pair.field_offset(1), pair.size()), (8, 16));
        assert_eq!(Type::structure([byte, odd]).field_offset(1), 8);
    }

    #[test]
    fn aggregates_in_aggregates_have_leaves() {
        let pair = Type::structure([Type::Ptr, Type::I64]);
        let all = Type::structure([Type::F32, pair.clone(), pair]);
        let at: Vec<u64> = all.leaves().into_iter().map(|(at, _)| at).collect();
        assert_eq!(at, [0, 8, 16, 24, 32]);
        assert_eq!([0, 1, 2].map(|i| all.first_leaf(i)), [0, 1, 3]);
        assert_eq!(Type::F64.leaves(), [(0, &Type::F64)]);
    }
}
