//! Which integers are plain numbers, sure not to be the bits of a float.
//!
//! In forward mode the shadow of a number is a copy of it, for it may be the length of a tangent's `Vec`; the shadow of
//! a constant float is zero. Where an integer is stored that floats lie in at other times, the two have to be told
//! apart.

use crate::analysis::activity::float_cells;
use crate::analysis::points_to::facts::Facts;
use crate::analysis::types::computed::{Numbers, largest_number};
use crate::analysis::types::evidence::{DEPTH, is_independent};
use pullback_ir::{Callee, CastOp, Constant, FuncId, Module, Op, Terminator, Type, Value, ValueDef};
use std::collections::HashSet;

/// Whether `value`, an integer of the function `id`, is a number. `numbers` are those of the function.
pub fn is_number(module: &Module, facts: &Facts, id: FuncId, numbers: &Numbers, value: Value) -> bool {
    let undefined = matches!(module.func(id).as_const(value), Some(Constant::Undef | Constant::Poison));
    !undefined && Search { module, facts, seen: HashSet::new() }.is_number(id, numbers, value)
}

struct Search<'a> {
    module: &'a Module,
    facts: &'a Facts,
    /// Values that are numbers if all others that are looked at are.
    seen: HashSet<(FuncId, Value)>,
}

impl Search<'_> {
    fn is_number(&mut self, id: FuncId, numbers: &Numbers, value: Value) -> bool {
        if !self.seen.insert((id, value)) {
            return true;
        }
        let func = self.module.func(id);
        if numbers.contains(func, value) && func.as_const(value).is_none() {
            return is_independent(self.facts, func, id, value, DEPTH);
        }
        match &func.value(value).def {
            ValueDef::Const(Constant::Int(bits)) => is_small(func.ty(value), *bits),
            ValueDef::Const(constant) => matches!(constant, Constant::Undef | Constant::Poison),
            ValueDef::Param(block, index) if *block != func.entry() => {
                func.passed_to(*block, *index).all(|arg| self.is_number(id, numbers, arg))
            }
            ValueDef::Param(..) => !self.facts.kinds(id, value).has_float(),
            ValueDef::Inst(inst) => self.computes_number(id, numbers, value, &func.inst(*inst).op),
        }
    }

    fn computes_number(&mut self, id: FuncId, numbers: &Numbers, value: Value, op: &Op) -> bool {
        match op {
            Op::Cast(CastOp::PtrToInt, _) => true,
            Op::Cast(CastOp::Bitcast, _) => false,
            Op::Load { ptr, align } => {
                let width = self.module.func(id).ty(value).size();
                let target = self.facts.target(id, *ptr, *align);
                target.is_some_and(|(object, at)| !float_cells(self.facts, object, &at, width))
            }
            Op::Select(_, a, b) => self.is_number(id, numbers, *a) && self.is_number(id, numbers, *b),
            Op::Freeze(a) => self.is_number(id, numbers, *a),
            Op::Call(Callee::Direct(callee), ..) => self.returns_numbers(*callee),
            _ => !self.facts.kinds(id, value).has_float(),
        }
    }

    fn returns_numbers(&mut self, callee: FuncId) -> bool {
        let func = self.module.func(callee);
        let numbers = Numbers::new(func);
        func.blocks().all(|block| match func.block(block).term {
            Terminator::Return(Some(value)) => self.is_number(callee, &numbers, value),
            _ => true,
        })
    }
}

/// Whether a constant float has the bits of a small number.
pub(super) fn has_bits_of_number(constant: &Constant) -> bool {
    let (ty, bits) = match constant {
        Constant::F64(bits) => (Type::I64, *bits),
        Constant::F32(bits) => (Type::I32, u64::from(*bits)),
        _ => return false,
    };
    bits != 0 && largest_subnormal(&ty).is_some_and(|largest| u128::from(bits) <= largest)
}

/// Whether a constant integer is small enough to be a number. As a float it would be zero, or subnormal and so less than
/// anything a program writes as bits. The tags of some enums are such numbers with the
/// first bit set. A small negative number would be a NaN that no computation has for its result.
fn is_small(ty: &Type, bits: u128) -> bool {
    let width = 8 * ty.size();
    let (without_sign, mask) = (u128::MAX >> (129 - width), u128::MAX >> (128 - width));
    let negated = bits.wrapping_neg() & mask;
    largest_subnormal(ty).is_none_or(|largest| bits & without_sign <= largest)
        || largest_number(ty).is_some_and(|largest| negated <= largest)
}

/// The largest integer of a type whose bits are those of a subnormal float. `None` if the type is too narrow or wide
/// for a float's bits.
fn largest_subnormal(ty: &Type) -> Option<u128> {
    match ty {
        Type::Int(64) => Some((1 << (f64::MANTISSA_DIGITS - 1)) - 1),
        Type::Int(32) => Some((1 << (f32::MANTISSA_DIGITS - 1)) - 1),
        _ => None,
    }
}
