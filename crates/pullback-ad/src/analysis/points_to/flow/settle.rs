//! What is decided only when nothing more is to be learnt: until then something unknown may become known, and what was
//! said of it too early could not be taken back.

use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::Origins;
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::shape::Shape;
use pullback_ir::{CastOp, FuncId, Module, Op, Value};

/// Decide what is still open. Whether anything was: more may follow from it.
///
/// First come addresses that were integers, and their distances; then all other integers: one of which nothing became
/// known may be any number, so a pointer that it was added to may be anywhere in its object.
pub(crate) fn settle(facts: &mut Facts, module: &Module, shapes: &[Shape]) -> bool {
    let addresses = decide(facts, module, shapes, |facts, id, shape, value| {
        let func = module.func(id);
        match func.def_op(value) {
            Some(Op::Cast(CastOp::IntToPtr, from)) => func.as_const(*from).is_none() && is_foreign(facts, id, value),
            Some(op) => shape.subtracted(func, op).is_some() && is_any_number(facts, id, value),
            None => false,
        }
    });
    addresses
        || decide(facts, module, shapes, |facts, id, _, value| {
            module.func(id).ty(value).is_int() && is_any_number(facts, id, value)
        })
}

/// Decide of each value that is made in scope. Whether any was open.
fn decide(
    facts: &mut Facts,
    module: &Module,
    shapes: &[Shape],
    was_open: impl Fn(&mut Facts, FuncId, &Shape, Value) -> bool,
) -> bool {
    let mut found = false;
    for (id, shape) in facts.functions.clone().into_iter().zip(shapes) {
        let func = module.func(id);
        for block in shape.scope.blocks.iter().map(|block| func.block(*block)) {
            let results = block.insts.iter().filter_map(|inst| func.inst(*inst).result);
            for value in block.params.iter().copied().chain(results) {
                found |= was_open(facts, id, shape, value);
            }
        }
    }
    found
}

/// A pointer made from an integer of which nothing became known reaches foreign memory. Whether this is one.
fn is_foreign(facts: &mut Facts, id: FuncId, pointer: Value) -> bool {
    if facts.object(id, pointer).is_some() {
        return false;
    }
    let object = facts.objects.add(Origins { foreign: true, ..Origins::default() });
    let known = facts.slot((id, Some(pointer)));
    (known.object, known.offset) = (Some(object), Some(Offsets::zero()));
    true
}

/// A number that is still open, such as the distance of addresses that never came to be in one object, may be any.
/// Whether this is one.
fn is_any_number(facts: &mut Facts, id: FuncId, number: Value) -> bool {
    let known = &mut facts.slot((id, Some(number))).offset;
    let open = known.is_none();
    known.get_or_insert_with(Offsets::any);
    open
}
