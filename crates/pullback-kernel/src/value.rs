//! The Rust types whose values are elements of arrays.

use crate::abi::{Parts, Text, Type};
use crate::dtype::{DType, Number};

/// A type whose values are elements of arrays: numbers, arrays of a fixed size, and structs of these with
/// `#[derive(Value)]`.
///
/// # Safety
/// Values of the type lie in memory as [`TYPE`](Self::TYPE) says, and any numbers in there are a value. Zeros are.
#[diagnostic::on_unimplemented(
    message = "a kernel function cannot take or return `{Self}`",
    label = "`{Self}` is not a value of an array",
    note = "numbers, arrays of a fixed size and structs of these are; add `#[derive(Value)]` to a struct"
)]
pub unsafe trait Value: Copy + Send + Sync + 'static {
    /// What it is made of.
    const TYPE: Type;
}

/// The type of a value, as a constant that others refer to.
pub const fn type_of<T: Value>() -> &'static Type {
    const { &T::TYPE }
}

macro_rules! numbers {
    ($($T:ty, $name:literal;)*) => {$(
        // SAFETY: a number.
        unsafe impl Value for $T {
            const TYPE: Type = number($name, <$T as Number>::DTYPE);
        }
    )*};
}

numbers! {
    bool, "bool"; u8, "u8"; u16, "u16"; u32, "u32"; u64, "u64"; i8, "i8"; i16, "i16"; i32, "i32"; i64, "i64";
    half::f16, "f16"; half::bf16, "bf16"; f32, "f32"; f64, "f64";
}

const fn number(name: &'static str, dtype: DType) -> Type {
    Type { name: Text::of(name), size: dtype.size(), align: dtype.size(), parts: Parts::Number(dtype) }
}

// SAFETY: so many values, one after the other.
unsafe impl<T: Value, const N: usize> Value for [T; N] {
    const TYPE: Type = Type {
        name: Text::of("array"),
        size: size_of::<Self>(),
        align: align_of::<Self>(),
        parts: Parts::Array(N, type_of::<T>()),
    };
}
