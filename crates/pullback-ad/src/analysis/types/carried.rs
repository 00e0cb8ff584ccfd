//! Which integers are passed on as what they carry, and which are only computed with.
//!
//! An integer that is read from where a float lies in another variant, and then only compared, added or used as an
//! index, is a number and nothing else. One whose bits become a float or a pointer, or are stored or passed on, may be
//! either.

use crate::analysis::points_to::facts::may_carry;
use pullback_ir::{Block, Callee, CastOp, Copies, FuncId, Function, InstData, Op, Terminator, Value};
use std::collections::HashSet;

/// The integers of the live blocks of a function that are passed on. `group` are the functions that are looked at.
pub(crate) fn passed_on(func: &Function, blocks: &[Block], group: &[FuncId]) -> HashSet<Value> {
    let mut found = put_down(func, blocks);
    for InstData { op, .. } in func.insts_in(blocks) {
        found.extend(op.cleanup().into_iter().flat_map(|cleanup| &cleanup.args));
        match op {
            Op::Cast(CastOp::Bitcast | CastOp::IntToPtr, from) => found.extend([*from]),
            Op::Call(Callee::Direct(callee), args, _) if group.contains(callee) => found.extend(args),
            _ => {}
        }
    }
    with_sources(func, blocks, found)
}

/// The values of a function that are stored, returned or put into an aggregate, as they are.
pub(crate) fn handed_on(func: &Function) -> HashSet<Value> {
    let mut found = put_down(func, &func.blocks().collect::<Vec<_>>());
    Copies::of_bits(func, func.blocks()).close_backwards(&mut found, |_| true);
    found
}

/// The values that these blocks store, return or put into an aggregate.
fn put_down(func: &Function, blocks: &[Block]) -> HashSet<Value> {
    let stored = func.insts_in(blocks).filter_map(|data| match data.op {
        Op::Store { value, .. } | Op::InsertValue(_, value, _) => Some(value),
        _ => None,
    });
    let returned = blocks.iter().filter_map(|block| match func.block(*block).term {
        Terminator::Return(value) => value,
        _ => None,
    });
    stored.chain(returned).collect()
}

/// The integers of these blocks that become pointers there, or are handed to a clean-up, which may make them pointers.
pub(crate) fn to_cleanups(func: &Function, blocks: &[Block]) -> HashSet<Value> {
    let mut found: HashSet<Value> = HashSet::new();
    for InstData { op, .. } in func.insts_in(blocks) {
        found.extend(op.cleanup().into_iter().flat_map(|cleanup| &cleanup.args));
        if let Op::Cast(CastOp::IntToPtr, from) = op {
            found.insert(*from);
        }
    }
    with_sources(func, blocks, found)
}

/// The integers among these values that may carry something, and those that may have become one of them in these
/// blocks.
fn with_sources(func: &Function, blocks: &[Block], mut found: HashSet<Value>) -> HashSet<Value> {
    found.retain(|v| may_carry(func.ty(*v)));
    Copies::new(func, blocks.iter().copied()).close_backwards(&mut found, |from| may_carry(func.ty(from)));
    found
}
