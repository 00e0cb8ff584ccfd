//! What arrays hold: numbers of thirteen kinds, and how one becomes another.

use half::{bf16, f16};
use std::fmt;

/// A type of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    /// `bool`: a byte, true unless it is zero.
    Bool,
    /// `u8`
    U8,
    /// `u16`
    U16,
    /// `u32`
    U32,
    /// `u64`
    U64,
    /// `i8`
    I8,
    /// `i16`
    I16,
    /// `i32`
    I32,
    /// `i64`
    I64,
    /// `half::f16`
    F16,
    /// `half::bf16`
    Bf16,
    /// `f32`
    F32,
    /// `f64`
    F64,
}

/// What a type of numbers is for. A number may become one of a kind that is later in this list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Kind {
    /// Truth values.
    Bool,
    /// Integers from zero.
    Unsigned,
    /// Integers.
    Signed,
    /// Floats.
    Float,
}

impl DType {
    /// All of them.
    pub const ALL: [DType; 13] = {
        use DType::*;
        [Bool, U8, U16, U32, U64, I8, I16, I32, I64, F16, Bf16, F32, F64]
    };

    /// How many bytes a number has.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::U8 | DType::I8 => 1,
            DType::U16 | DType::I16 | DType::F16 | DType::Bf16 => 2,
            DType::U32 | DType::I32 | DType::F32 => 4,
            DType::U64 | DType::I64 | DType::F64 => 8,
        }
    }

    /// What it is for.
    pub const fn kind(self) -> Kind {
        match self {
            DType::Bool => Kind::Bool,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kind::Unsigned,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Kind::Signed,
            DType::F16 | DType::Bf16 | DType::F32 | DType::F64 => Kind::Float,
        }
    }

    /// Whether its numbers become those of `other` without being asked: within a kind, or to a later one. This is what
    /// NumPy calls `same_kind`.
    pub const fn becomes(self, other: DType) -> bool {
        self.kind() as u8 <= other.kind() as u8
    }

    /// Its name in NumPy.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "uint8",
            DType::U16 => "uint16",
            DType::U32 => "uint32",
            DType::U64 => "uint64",
            DType::I8 => "int8",
            DType::I16 => "int16",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::F16 => "float16",
            DType::Bf16 => "bfloat16",
            DType::F32 => "float32",
            DType::F64 => "float64",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type whose values are numbers of an array.
///
/// # Safety
/// Values of the type are as many bytes as those of [`DTYPE`](Self::DTYPE), any of which are a value but for `bool`, and
/// mean the same number.
pub unsafe trait Number: Copy + Send + Sync + 'static {
    /// Which numbers these are.
    const DTYPE: DType;

    /// Read one from bytes of this machine's order, which need not be aligned.
    ///
    /// # Safety
    /// So many bytes may be read there.
    unsafe fn read(from: *const u8) -> Self {
        // SAFETY: asked of the caller and of the implementer.
        unsafe { from.cast::<Self>().read_unaligned() }
    }

    /// As a number that all integers become: wide enough, with their sign.
    fn integer(self) -> i128;

    /// As a float that all floats become.
    fn float(self) -> f64;

    /// The number of this type that an integer is, without the digits in front that it has no place for.
    fn of_integer(integer: i128) -> Self;

    /// The number of this type that is nearest to a float.
    fn of_float(float: f64) -> Self;
}

macro_rules! numbers {
    ($($T:ident $dtype:ident: $integer:expr, $float:expr, $of_integer:expr, $of_float:expr;)*) => {$(
        // SAFETY: the Rust type of the numbers of this dtype.
        unsafe impl Number for $T {
            const DTYPE: DType = DType::$dtype;

            #[inline(always)]
            fn integer(self) -> i128 {
                let of: fn($T) -> i128 = $integer;
                of(self)
            }

            #[inline(always)]
            fn float(self) -> f64 {
                let of: fn($T) -> f64 = $float;
                of(self)
            }

            #[inline(always)]
            fn of_integer(integer: i128) -> Self {
                let of: fn(i128) -> $T = $of_integer;
                of(integer)
            }

            #[inline(always)]
            fn of_float(float: f64) -> Self {
                let of: fn(f64) -> $T = $of_float;
                of(float)
            }
        }
    )*};
}

numbers! {
    u8 U8: i128::from, f64::from, |x| x as u8, |x| x as u8;
    u16 U16: i128::from, f64::from, |x| x as u16, |x| x as u16;
    u32 U32: i128::from, f64::from, |x| x as u32, |x| x as u32;
    u64 U64: i128::from, |x| x as f64, |x| x as u64, |x| x as u64;
    i8 I8: i128::from, f64::from, |x| x as i8, |x| x as i8;
    i16 I16: i128::from, f64::from, |x| x as i16, |x| x as i16;
    i32 I32: i128::from, f64::from, |x| x as i32, |x| x as i32;
    i64 I64: i128::from, |x| x as f64, |x| x as i64, |x| x as i64;
    f16 F16: |x| x.to_f64() as i128, f16::to_f64, |x| f16::from_f64(x as f64), f16::from_f64;
    bf16 Bf16: |x| x.to_f64() as i128, bf16::to_f64, |x| bf16::from_f64(x as f64), bf16::from_f64;
    f32 F32: |x| x as i128, f64::from, |x| x as f32, |x| x as f32;
    f64 F64: |x| x as i128, |x| x, |x| x as f64, |x| x;
}

// SAFETY: a `bool` is read by what its byte is, see below.
unsafe impl Number for bool {
    const DTYPE: DType = DType::Bool;

    unsafe fn read(from: *const u8) -> Self {
        // SAFETY: asked of the caller. NumPy's bytes may be others than 0 and 1.
        unsafe { from.read() != 0 }
    }

    fn integer(self) -> i128 {
        i128::from(self)
    }

    fn float(self) -> f64 {
        f64::from(u8::from(self))
    }

    fn of_integer(integer: i128) -> Self {
        integer != 0
    }

    fn of_float(float: f64) -> Self {
        float != 0.0
    }
}

/// How numbers lie somewhere: of which type, and whether their bytes are in the order of another machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stored {
    /// Their type.
    pub dtype: DType,
    /// Whether their bytes are turned round.
    pub swapped: bool,
}

impl From<DType> for Stored {
    fn from(dtype: DType) -> Self {
        Stored { dtype, swapped: false }
    }
}

/// Numbers that lie apart by a number of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Row<P> {
    /// Where the first one lies.
    pub first: P,
    /// How many bytes further the next one lies.
    pub stride: isize,
}

/// Copies `count` numbers from one row to another, and makes other ones of them. Nothing has to be aligned.
pub type Move = unsafe fn(from: Row<*const u8>, to: Row<*mut u8>, count: usize, turn: (bool, bool));

/// How numbers that lie in one way come to lie in another one.
#[derive(Clone, Copy, Debug)]
pub struct Mover {
    copy: Move,
    turn: (bool, bool),
}

impl Mover {
    /// How they come there.
    pub fn new(from: Stored, to: Stored) -> Self {
        // What is turned round both times is not turned.
        let same = from.dtype == to.dtype && from.swapped == to.swapped;
        let turn = if same { (false, false) } else { (from.swapped, to.swapped) };
        Mover { copy: with_dtype!(from.dtype, S => with_dtype!(to.dtype, D => copy::<S, D>)), turn }
    }

    /// Move `count` numbers.
    ///
    /// # Safety
    /// There are so many to be read in the one row, and places to be written for as many in the other; the two do not
    /// overlap.
    pub unsafe fn copy(&self, from: Row<*const u8>, to: Row<*mut u8>, count: usize) {
        // SAFETY: asked of the caller.
        unsafe { (self.copy)(from, to, count, self.turn) }
    }
}

/// An expression for the Rust type of a dtype.
macro_rules! with_dtype {
    ($dtype:expr, $T:ident => $value:expr) => {{
        use $crate::dtype::DType;
        macro_rules! arm {
            ($type:ty) => {{
                type $T = $type;
                $value
            }};
        }
        match $dtype {
            DType::Bool => arm!(bool),
            DType::U8 => arm!(u8),
            DType::U16 => arm!(u16),
            DType::U32 => arm!(u32),
            DType::U64 => arm!(u64),
            DType::I8 => arm!(i8),
            DType::I16 => arm!(i16),
            DType::I32 => arm!(i32),
            DType::I64 => arm!(i64),
            DType::F16 => arm!(half::f16),
            DType::Bf16 => arm!(half::bf16),
            DType::F32 => arm!(f32),
            DType::F64 => arm!(f64),
        }
    }};
}
pub(crate) use with_dtype;

unsafe fn copy<S: Number, D: Number>(from: Row<*const u8>, to: Row<*mut u8>, count: usize, turn: (bool, bool)) {
    // SAFETY: asked of the caller of `Mover::copy`.
    unsafe {
        if turn == (false, false) {
            // Rows without gaps are most of those that are not used where they lie.
            if from.stride == size_of::<S>() as isize && to.stride == size_of::<D>() as isize {
                for i in 0..count {
                    let value = convert::<S, D>(S::read(from.first.add(i * size_of::<S>())));
                    to.first.cast::<D>().add(i).write_unaligned(value);
                }
                return;
            }
            for i in 0..count as isize {
                let value = convert::<S, D>(S::read(from.first.offset(i * from.stride)));
                to.first.offset(i * to.stride).cast::<D>().write_unaligned(value);
            }
            return;
        }
        for i in 0..count as isize {
            let value = convert::<S, D>(turned::<S>(from.first.offset(i * from.stride), turn.0));
            let value = turned::<D>((&raw const value).cast(), turn.1);
            to.first.offset(i * to.stride).cast::<D>().write_unaligned(value);
        }
    }
}

/// A number whose bytes may be turned round.
unsafe fn turned<T: Number>(at: *const u8, turn: bool) -> T {
    let mut bytes = [0_u8; 8];
    let bytes = &mut bytes[..size_of::<T>()];
    // SAFETY: asked of the caller of `Mover::copy`; as many bytes as are read again.
    unsafe {
        bytes.as_mut_ptr().copy_from_nonoverlapping(at, size_of::<T>());
        if turn {
            bytes.reverse();
        }
        T::read(bytes.as_ptr())
    }
}

/// The number that a number becomes, as `as` does it in Rust.
#[inline(always)]
fn convert<S: Number, D: Number>(value: S) -> D {
    match (S::DTYPE.kind(), D::DTYPE.kind()) {
        _ if S::DTYPE as u8 == D::DTYPE as u8 => {
            // SAFETY: the two are one type.
            unsafe { std::mem::transmute_copy(&value) }
        }
        (Kind::Float, _) => D::of_float(value.float()),
        // To a float at once, so that it is rounded once.
        (_, Kind::Float) if size_of::<D>() == 4 => D::of_integer(value.integer()),
        (_, Kind::Float) => D::of_float(value.float()),
        _ => D::of_integer(value.integer()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn casts_are_those_that_numpy_calls_same_kind() {
        use DType::*;
        for (from, to) in [(I64, F32), (F64, F32), (U64, I8), (Bool, U8), (I64, I8), (F32, F16), (F32, Bf16)] {
            assert!(from.becomes(to), "{from} to {to}");
        }
        for (from, to) in [(F32, I64), (I8, U64), (U8, Bool), (F16, I8), (I8, Bool)] {
            assert!(!from.becomes(to), "{from} to {to}");
        }
    }

    /// What one number becomes.
    fn moved<S: Number, D: Number>(value: S) -> D {
        let mut to = std::mem::MaybeUninit::<D>::uninit();
        let from = Row { first: (&raw const value).cast(), stride: 0 };
        let row = Row { first: to.as_mut_ptr().cast(), stride: 0 };
        // SAFETY: one number is read, and one is written.
        unsafe {
            Mover::new(S::DTYPE.into(), D::DTYPE.into()).copy(from, row, 1);
            to.assume_init()
        }
    }

    #[test]
    fn numbers_are_rounded_once() {
        // Halfway between two `f32` but for its last bit, which an `f64` has no place for.
        let integer = (1_i64 << 60) + (1 << 36) + 1;
        assert_eq!(moved::<i64, f32>(integer), integer as f32);
        assert_ne!(integer as f32, integer as f64 as f32);
        assert_eq!(moved::<u64, f64>(u64::MAX), u64::MAX as f64);
        assert_eq!(moved::<f64, f16>(65520.0), f16::INFINITY);
        assert_eq!(moved::<i32, i8>(-129), 127);
        assert!(moved::<f64, bool>(f64::NAN));
    }

    #[test]
    fn bytes_that_are_not_0_or_1_are_true() {
        let bytes = [0_u8, 1, 2, 255];
        let mut truths = [false; 4];
        let (from, to) =
            (Row { first: bytes.as_ptr(), stride: 1 }, Row { first: truths.as_mut_ptr().cast(), stride: 1 });
        // SAFETY: four bytes are read and written.
        unsafe { Mover::new(DType::Bool.into(), DType::Bool.into()).copy(from, to, 4) };
        assert_eq!(truths, [false, true, true, true]);
    }

    proptest! {
        #[test]
        fn rows_of_any_stride_and_order_are_moved(
            numbers in prop::collection::vec(any::<i32>(), 1..20),
            (strides, backwards) in ((4_usize..12, 8_usize..20), any::<bool>()),
            swapped in any::<(bool, bool)>(),
        ) {
            let count = numbers.len();
            let mut from = vec![0_u8; strides.0 * count];
            let mut to = vec![0_u8; strides.1 * count];
            for (i, number) in numbers.iter().enumerate() {
                let bytes = if swapped.0 { number.swap_bytes() } else { *number }.to_ne_bytes();
                from[i * strides.0..][..4].copy_from_slice(&bytes);
            }
            let mut rows = (
                Row { first: from.as_ptr(), stride: strides.0 as isize },
                Row { first: to.as_mut_ptr(), stride: strides.1 as isize },
            );
            if backwards {
                let last = (count - 1) as isize;
                rows.0 = Row { first: rows.0.first.wrapping_offset(last * rows.0.stride), stride: -rows.0.stride };
                rows.1 = Row { first: rows.1.first.wrapping_offset(last * rows.1.stride), stride: -rows.1.stride };
            }
            let stored = (
                Stored { dtype: DType::I32, swapped: swapped.0 },
                Stored { dtype: DType::F64, swapped: swapped.1 },
            );
            // SAFETY: rows of so many numbers.
            unsafe { Mover::new(stored.0, stored.1).copy(rows.0, rows.1, count) };
            for (i, number) in numbers.iter().enumerate() {
                let bytes = <[u8; 8]>::try_from(&to[i * strides.1..][..8]).unwrap();
                let bits = u64::from_ne_bytes(bytes);
                let value = f64::from_bits(if swapped.1 { bits.swap_bytes() } else { bits });
                prop_assert_eq!(value, f64::from(*number));
            }
        }
    }
}
