//! Floats whose bits are taken apart and put together again.
//!
//! Where another variant of an enum has a number or a flag in the place of a float, the optimiser may move the float in
//! parts: its lowest byte and the other seven, joined by shifts and masks. To the analyses of numbers such a joint is a
//! number like others, and the float that is read from it would have no derivative. So what shifts, masks and
//! extensions make of the bits of an active float must not become a float, nor go to where floats lie; it is an error.
//! Sums and products are left alone: those are of numbers that lie there in another variant. So is a part of the bits
//! with something else beside it, which is no float any more. Halves of words that are floats are taken apart before
//! (`prepare::split_wide_ints`).
//!
//! Given [`Facts`] and the [`ActiveSet`], it finds the first such place.

use crate::analysis::activity::{ActiveSet, float_cells};
use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::Kinds;
use pullback_ir::{BinOp, Block, CastOp, FuncId, Function, Module, Op, SourceLoc, Type, Value, ValueDef};
use std::collections::HashMap;

/// What an integer has of the bits of a float.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bits {
    /// Some of an `f64`: with something else beside them, they are no float any more.
    Part,
    /// Those of an `f64`.
    Double,
    /// Those of an `f32`, or an integer of which they may be a half.
    Narrow,
    /// All of them, but moved, or put together again.
    Repacked,
}

impl Bits {
    /// What is left after a shift or a mask.
    fn cut(self) -> Bits {
        if matches!(self, Bits::Part | Bits::Double) { Bits::Part } else { Bits::Repacked }
    }

    /// What they are beside something else.
    fn moved(self) -> Bits {
        if self == Bits::Part { Bits::Part } else { Bits::Repacked }
    }
}

/// Where a float is put together of an active float's bits, in these blocks of functions.
pub(crate) fn find(
    module: &Module,
    facts: &Facts,
    active: &ActiveSet,
    live: &[(FuncId, Vec<Block>)],
) -> Option<Option<SourceLoc>> {
    live.iter().find_map(|(id, blocks)| Search { facts, active, id: *id, func: module.func(*id) }.find(blocks))
}

struct Search<'a> {
    facts: &'a Facts,
    active: &'a ActiveSet,
    id: FuncId,
    func: &'a Function,
}

impl Search<'_> {
    fn find(&self, blocks: &[Block]) -> Option<Option<SourceLoc>> {
        let found = self.all_bits(blocks);
        let is_repacked = |value: &Value| found.get(value) == Some(&Bits::Repacked);
        let insts = blocks.iter().flat_map(|block| &self.func.block(*block).insts).map(|inst| self.func.inst(*inst));
        let mut joints = insts.filter(|data| match &data.op {
            Op::Cast(CastOp::Bitcast, a) => is_repacked(a),
            Op::Store { value, .. } if *self.func.ty(*value) == Type::Ptr => {
                self.is_float_as_pointer(*value, false, &mut Vec::new())
            }
            Op::Store { ptr, value, align } => is_repacked(value) && self.is_float_place(*ptr, *align, *value),
            _ => false,
        });
        joints.next().map(|data| data.loc)
    }

    /// What the integers of these blocks have of the bits of active floats.
    fn all_bits(&self, blocks: &[Block]) -> HashMap<Value, Bits> {
        let func = self.func;
        let mut found: HashMap<Value, Bits> = HashMap::new();
        loop {
            let mut changed = false;
            let mut see = |found: &mut HashMap<Value, Bits>, value: Value, bits: Option<Bits>| {
                let known = found.get(&value).copied();
                let new = known.max(bits);
                changed |= new != known;
                found.extend(new.map(|new| (value, new)));
            };
            for data in blocks.iter().flat_map(|block| &func.block(*block).insts).map(|inst| func.inst(*inst)) {
                let Some(result) = data.result.filter(|result| func.ty(*result).is_int()) else { continue };
                let of = |v: &Value| found.get(v).copied();
                let bits = match &data.op {
                    Op::Bin(BinOp::Or, a, b) => match (of(a), of(b)) {
                        (Some(Bits::Part), Some(Bits::Part)) => Some(Bits::Repacked),
                        (a, b) => a.max(b).map(Bits::moved),
                    },
                    Op::Bin(BinOp::Shl | BinOp::LShr | BinOp::AShr | BinOp::And, a, b) => {
                        of(a).max(of(b)).map(Bits::cut)
                    }
                    op @ Op::Intrinsic(_, args) if op.is_funnel_shift() => {
                        args.iter().filter_map(of).max().map(|_| Bits::Repacked)
                    }
                    Op::Cast(CastOp::ZExt | CastOp::SExt, a) => of(a).map(Bits::moved),
                    Op::Cast(CastOp::Trunc, a) => of(a).map(Bits::cut),
                    Op::Select(_, a, b) => of(a).max(of(b)),
                    Op::Freeze(a) => of(a),
                    op => self.made(op, result),
                };
                see(&mut found, result, bits);
            }
            for target in blocks.iter().flat_map(|block| func.block(*block).term.targets()) {
                for (arg, param) in target.args.iter().zip(&func.block(target.block).params) {
                    let bits = found.get(arg).copied();
                    see(&mut found, *param, bits);
                }
            }
            if !changed {
                return found;
            }
        }
    }

    /// What an integer has of the bits of an active float, by what makes it.
    fn made(&self, op: &Op, value: Value) -> Option<Bits> {
        let (func, id) = (self.func, self.id);
        let of_kinds = |kinds: Kinds| {
            let narrow = kinds.contains(Kinds::F32) || *func.ty(value) != Type::I64;
            kinds.has_float().then_some(if narrow { Bits::Narrow } else { Bits::Double })
        };
        let is_word = || self.active.is_active(id, value) && self.facts.is_word(id, func.ty(value), value);
        if self.active.has_active_bits(id, value) || is_word() {
            return of_kinds(self.facts.kinds(id, value));
        }
        match op {
            Op::Cast(CastOp::Bitcast, from) if func.ty(*from).is_float() && self.active.is_active(id, *from) => {
                Some(if *func.ty(*from) == Type::F64 { Bits::Double } else { Bits::Narrow })
            }
            Op::Load { ptr, align } => of_kinds(self.unseen_floats(*ptr, *align, value)?),
            // A word that is a pointer in another variant is loaded as one.
            Op::Cast(CastOp::PtrToInt, from) => {
                self.is_float_as_pointer(*from, true, &mut Vec::new()).then_some(Bits::Repacked)
            }
            _ => None,
        }
    }

    /// Whether a pointer may be the bits of an active float, as it was loaded on some way here; from where a pointer may
    /// lie, too, if `or_pointer`.
    fn is_float_as_pointer(&self, pointer: Value, or_pointer: bool, seen: &mut Vec<Value>) -> bool {
        if seen.contains(&pointer) {
            return false;
        }
        seen.push(pointer);
        match &self.func.value(pointer).def {
            ValueDef::Inst(inst) => match &self.func.inst(*inst).op {
                Op::Load { ptr, align } => {
                    let kinds = self.unseen_floats(*ptr, *align, pointer);
                    kinds.is_some_and(|kinds| or_pointer || !kinds.contains(Kinds::PTR))
                }
                Op::Select(_, a, b) => [*a, *b].into_iter().any(|v| self.is_float_as_pointer(v, or_pointer, seen)),
                Op::Freeze(a) => self.is_float_as_pointer(*a, or_pointer, seen),
                _ => false,
            },
            ValueDef::Param(block, index) if *block != self.func.entry() => {
                let passed: Vec<Value> = self.func.passed_to(*block, *index).collect();
                passed.into_iter().any(|value| self.is_float_as_pointer(value, or_pointer, seen))
            }
            _ => false,
        }
    }

    /// Whether what is stored may be read as a float.
    fn is_float_place(&self, ptr: Value, align: u64, value: Value) -> bool {
        let is_float = |(object, at)| float_cells(self.facts, object, &at, self.func.ty(value).size());
        self.facts.target(self.id, ptr, align).is_some_and(is_float) || self.unseen_floats(ptr, align, value).is_some()
    }

    /// What may lie in the place of `value` by its layout, which does not say where, if that may be an active float.
    fn unseen_floats(&self, ptr: Value, align: u64, value: Value) -> Option<Kinds> {
        let (object, at) = self.facts.target(self.id, ptr, align).filter(|(o, _)| self.active.is_shadowed(*o))?;
        let opaque = self.facts.objects.touched_opaque(object, &at, self.func.ty(value).size());
        let there = opaque.map(|opaque| opaque.kinds);
        there.filter(|kinds| kinds.has_float()).reduce(Kinds::union)
    }
}
