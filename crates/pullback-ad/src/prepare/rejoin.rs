//! A pointer that is stored in two halves is stored as a pointer.
//!
//! Where another variant of an enum has two words of 32 bits in the place of a pointer, the optimiser may store the
//! halves of the pointer. A half has no shadow; the pointer has one.
//!
//! ```text
//! v2 = ptrtoint i64 v1
//! v3 = trunc i32 v2
//! v4 = lshr v2, 32:i64
//! v5 = trunc i32 v4
//! store v0, v3                 store v0, v1
//! v6 = ptradd v0, 4:i64
//! store v6, v5
//! ```

use pullback_ir::{BinOp, CastOp, Function, Inst, Op, Type, Value};

/// Store pointers of a function as such where both halves are stored with nothing in between that reads or writes
/// memory.
pub fn rejoin(func: &mut Function) {
    for block in func.blocks().collect::<Vec<_>>() {
        let insts = func.block(block).insts.clone();
        let mut all: Vec<Inst> = Vec::with_capacity(insts.len());
        // The position of the last store in `all`, unless memory was used since.
        let mut last: Option<usize> = None;
        for inst in insts {
            if let (Some(position), Op::Store { .. }) = (last, &func.inst(inst).op)
                && let Some((low, pointer)) = joined(func, all[position], inst)
            {
                let Op::Store { ptr, align, .. } = func.inst(low).op else { unreachable!("both are stores") };
                let (flags, loc) = (func.inst(low).flags, func.inst(low).loc);
                let store = func.make_inst(Op::Store { ptr, value: pointer, align }, None, flags, loc);
                all.remove(position);
                last = Some(all.len());
                all.push(store);
                continue;
            }
            match func.inst(inst).op {
                Op::Store { .. } => last = Some(all.len()),
                Op::Freeze(_) => {}
                ref op if op.is_pure() => {}
                _ => last = None,
            }
            all.push(inst);
        }
        func.block_mut(block).insts = all;
    }
}

/// If two stores are those of the halves of a pointer: the one of the lower half, and the pointer.
fn joined(func: &Function, a: Inst, b: Inst) -> Option<(Inst, Value)> {
    let half = |inst: Inst| match func.inst(inst).op {
        Op::Store { ptr, value, .. } => Some((place(func, ptr), half_of(func, value)?)),
        _ => None,
    };
    let ((a_at, a_half), (b_at, b_half)) = (half(a)?, half(b)?);
    let (low, high, inst) = match (a_half.1, b_half.1) {
        (0, 32) => (a_at, b_at, a),
        (32, 0) => (b_at, a_at, b),
        _ => return None,
    };
    (a_half.0 == b_half.0 && low.0 == high.0 && low.1 + 4 == high.1).then_some((inst, a_half.0))
}

/// What an address is so many bytes beyond.
fn place(func: &Function, ptr: Value) -> (Value, i128) {
    match func.def_op(ptr) {
        Some(Op::PtrAdd(base, offset)) if let Some(offset) = func.as_int(*offset) => {
            let (base, before) = place(func, *base);
            (base, before + offset)
        }
        _ => (ptr, 0),
    }
}

/// The pointer of which a value is 32 bits, and from which bit on.
fn half_of(func: &Function, value: Value) -> Option<(Value, i128)> {
    let Some(Op::Cast(CastOp::Trunc, from)) = func.def_op(value).filter(|_| *func.ty(value) == Type::I32) else {
        return None;
    };
    let (word, shift) = match func.def_op(*from)? {
        Op::Bin(BinOp::LShr, word, by) => (func.def_op(*word)?, func.as_int(*by)?),
        word => (word, 0),
    };
    match word {
        Op::Cast(CastOp::PtrToInt, pointer) => Some((*pointer, shift)),
        _ => None,
    }
}
