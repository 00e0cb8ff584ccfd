//! The values the interpreter computes with, and how they lie in memory.

use super::Trap;
use crate::types::Type;

/// A value at run time.
#[derive(Clone, PartialEq, Debug)]
pub enum Val {
    /// An integer: its bits, zero above the width, and the width.
    Int(u128, u16),
    /// A single-precision float.
    F32(f32),
    /// A double-precision float.
    F64(f64),
    /// An address.
    Ptr(u64),
    /// The fields of a struct.
    Struct(Vec<Val>),
    /// Any value: what `undef` and `poison` are, and what follows from them.
    Undef,
}

/// The low `width` bits set.
pub(super) fn mask(width: u16) -> u128 {
    match width {
        0 => 0,
        w => u128::MAX >> (128 - u32::from(w.min(128))),
    }
}

/// The number that the low `width` bits mean, signed.
pub(super) fn signed(bits: u128, width: u16) -> i128 {
    let shift = 128 - u32::from(width.clamp(1, 128));
    ((bits << shift) as i128) >> shift
}

impl Val {
    /// An integer, cut to `width` bits.
    pub fn int(bits: u128, width: u16) -> Val {
        Val::Int(bits & mask(width), width)
    }

    /// An `i64`.
    pub fn i64(value: i64) -> Val {
        Val::int(value as u128, 64)
    }

    /// An `i1`.
    pub fn bool(value: bool) -> Val {
        Val::Int(u128::from(value), 1)
    }

    /// The float as an `f64`, if this is a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Val::F32(x) => Some(f64::from(*x)),
            Val::F64(x) => Some(*x),
            _ => None,
        }
    }

    /// The integer, signed, if this is one.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Val::Int(bits, width) => Some(signed(*bits, *width)),
            _ => None,
        }
    }

    /// The address, if this is one.
    pub fn as_ptr(&self) -> Option<u64> {
        match self {
            Val::Ptr(p) => Some(*p),
            _ => None,
        }
    }

    /// Whether this can be a value of the type.
    pub fn is_of(&self, ty: &Type) -> bool {
        match (self, ty) {
            (Val::Undef, _) | (Val::F32(_), Type::F32) | (Val::F64(_), Type::F64) | (Val::Ptr(_), Type::Ptr) => true,
            (Val::Int(_, width), Type::Int(w)) => width == w,
            (Val::Struct(vals), Type::Struct(fields)) => {
                vals.len() == fields.len() && vals.iter().zip(fields.iter()).all(|(v, t)| v.is_of(t))
            }
            _ => false,
        }
    }

    /// The zero of a type.
    pub(super) fn zero(ty: &Type) -> Result<Val, Trap> {
        Ok(match ty {
            Type::Int(width) => Val::Int(0, *width),
            Type::F32 => Val::F32(0.0),
            Type::F64 => Val::F64(0.0),
            Type::Ptr => Val::Ptr(0),
            Type::Struct(fields) => Val::Struct(fields.iter().map(Val::zero).collect::<Result<_, _>>()?),
            Type::Opaque(..) => return Err(Trap::Unsupported(format!("a value of type {ty}"))),
        })
    }

    /// The bits of a scalar; `None` for undef and structs.
    pub(super) fn bits(&self) -> Option<u128> {
        match self {
            Val::Int(bits, _) => Some(*bits),
            Val::F32(x) => Some(u128::from(x.to_bits())),
            Val::F64(x) => Some(u128::from(x.to_bits())),
            Val::Ptr(p) => Some(u128::from(*p)),
            Val::Struct(_) | Val::Undef => None,
        }
    }

    /// The scalar of a type that these bytes are.
    pub(super) fn from_bytes(bytes: &[u8], ty: &Type) -> Result<Val, Trap> {
        let mut wide = [0; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        let bits = u128::from_le_bytes(wide);
        Ok(match ty {
            Type::Int(width) => Val::int(bits, *width),
            Type::F32 => Val::F32(f32::from_bits(bits as u32)),
            Type::F64 => Val::F64(f64::from_bits(bits as u64)),
            Type::Ptr => Val::Ptr(bits as u64),
            Type::Struct(_) | Type::Opaque(..) => return Err(Trap::Unsupported(format!("a value of type {ty}"))),
        })
    }
}

/// How many bytes a load or store of a scalar touches.
pub(super) fn store_size(ty: &Type) -> Result<usize, Trap> {
    match ty {
        Type::Struct(_) | Type::Opaque(..) => Err(Trap::Unsupported(format!("a scalar of type {ty}"))),
        scalar => Ok(scalar.size() as usize),
    }
}
