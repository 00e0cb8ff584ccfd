//! Integer operations on the sign of a float become float operations.
//!
//! The derivative of these is known at every point, also where the float is zero, and no bits of the float are seen as
//! an integer.
//!
//! ```text
//! v2 = bitcast i64 v1
//! v3 = and v2, 9223372036854775807:i64
//! v4 = bitcast f64 v3                         v4 = math.fabs v1
//! ```
//! An exclusive or with the sign is a negation; two floats of which one gives the sign and the other one all else are
//! `copysign`. What is stored of such bits is stored as a float. LLVM does the same where it sees the float; where it sees an integer that is loaded and stored,
//! [`retype`](super::retype) has to come first.

use crate::analysis::types::exponents::is_computed_multiple;
use pullback_ir::{BinOp, CastOp, Constant, Flags, Function, Inst, MathFn, Op, Type, Value};

/// Rewrite `func`; whether anything changed.
pub fn signs(func: &mut Function) -> bool {
    let mut changed = false;
    for block in func.blocks().collect::<Vec<_>>() {
        let mut position = 0;
        while let Some(inst) = func.block(block).insts.get(position).copied() {
            if let Op::Store { ptr, value, align } = func.inst(inst).op
                && is_computed_multiple(func, value)
            {
                let (ty, loc) = (if *func.ty(value) == Type::I32 { Type::F32 } else { Type::F64 }, func.inst(inst).loc);
                let cast = func.make_inst(Op::Cast(CastOp::Bitcast, value), Some(ty), Flags::NONE, loc);
                func.block_mut(block).insts.insert(position, cast);
                let value = func.result(cast);
                func.inst_mut(inst).op = Op::Store { ptr, value, align };
                changed = true;
                continue;
            }
            if let Some(op) = float_operation(func, inst) {
                func.inst_mut(inst).op = op;
                changed = true;
            }
            position += 1;
        }
    }
    changed
}

/// The float operation that a cast of bits stands for.
fn float_operation(func: &mut Function, inst: Inst) -> Option<Op> {
    let Op::Cast(CastOp::Bitcast, bits) = func.inst(inst).op else { return None };
    let sign = match func.ty(bits) {
        Type::Int(64) => 1 << 63,
        Type::Int(32) => 1 << 31,
        _ => return None,
    };
    let Some(Op::Bin(op, a, b)) = func.def_op(bits).cloned() else { return None };
    if !func.inst(inst).result.is_some_and(|result| func.ty(result).is_float()) {
        return None;
    }
    match op {
        BinOp::And if is(func, b, sign - 1) => Some(Op::Math(MathFn::Fabs, vec![float_of(func, a)?])),
        BinOp::Xor if is(func, b, sign) => Some(Op::FNeg(float_of(func, a)?)),
        BinOp::Or if is(func, b, sign) => {
            let x = float_of(func, a)?;
            let negative = func.float(func.ty(x).clone(), -1.0);
            Some(Op::Math(MathFn::Copysign, vec![x, negative]))
        }
        BinOp::Or => [(a, b), (b, a)].into_iter().find_map(|(size, other)| {
            let from = masked(func, other, sign)?;
            let constant = func.as_int(size).map(|n| n as u64).filter(|n| n & sign == 0);
            let size = match constant {
                Some(bits) if sign == 1 << 31 => func.constant(Type::F32, Constant::F32(bits as u32)),
                Some(bits) => func.constant(Type::F64, Constant::F64(bits)),
                None => masked(func, size, sign - 1).or_else(|| magnitude(func, size))?,
            };
            Some(Op::Math(MathFn::Copysign, vec![size, from]))
        }),
        _ => None,
    }
}

/// Whether an integer is these bits, of its type's.
fn is(func: &Function, value: Value, bits: u64) -> bool {
    let unused = 128 - 8 * func.ty(value).size() as u32;
    func.as_int(value).is_some_and(|n| (n as u128) << unused == u128::from(bits) << unused)
}

/// The float of whose bits an integer has those of a mask.
fn masked(func: &Function, value: Value, mask: u64) -> Option<Value> {
    match func.def_op(value)? {
        Op::Bin(BinOp::And, a, b) if is(func, *b, mask) => float_of(func, *a),
        _ => None,
    }
}

/// The float that an integer is the bits of.
fn float_of(func: &Function, bits: Value) -> Option<Value> {
    match func.def_op(bits)? {
        Op::Cast(CastOp::Bitcast, float) if func.ty(*float).is_float() => Some(*float),
        Op::Freeze(bits) => float_of(func, *bits),
        _ => None,
    }
}

/// The same for a float whose sign is not set.
fn magnitude(func: &Function, bits: Value) -> Option<Value> {
    let float = float_of(func, bits)?;
    matches!(func.def_op(float), Some(Op::Math(MathFn::Fabs, _))).then_some(float)
}
