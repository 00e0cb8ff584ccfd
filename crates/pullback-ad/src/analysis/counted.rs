//! Loops whose number of iterations is known on entry, and values that follow from the iteration number.
//!
//! A header parameter that grows by a constant each time round is *affine*: in iteration `i` it is `init + i·step`. A loop
//! that is left by a single edge, tested in every iteration on an affine value against an invariant bound, is *counted*.
//! Pointers that walk over a slice are affine too.

use pullback_ir::cfg::{Cfg, Edge, edges_from};
use pullback_ir::dominators::Dominators;
use pullback_ir::loops::Loops;
use pullback_ir::{BinOp, Block, Builder, CastOp, Function, IntPred, Loop, Op, Terminator, Type, Value, ValueDef};

/// A header parameter that is `init + i·step` in iteration `i`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Affine {
    /// Its loop.
    pub id: Loop,
    /// Its value in iteration 0.
    pub init: Value,
    /// What is added each time round, in bytes for a pointer.
    pub step: i64,
}

/// How often a counted loop's header runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TripCount {
    init: Value,
    /// What the tested value is ahead of the affine parameter.
    ahead: i64,
    step: i64,
    bound: Value,
    /// The loop is left when `tested exit_when bound`.
    exit_when: IntPred,
}

/// The edges by which a loop is entered.
pub fn entries(func: &Function, cfg: &Cfg, loops: &Loops, id: Loop) -> Vec<Edge> {
    let header = loops.get(id).header;
    let outside = cfg.predecessors(header).iter().filter(|p| !loops.contains(id, **p));
    outside.flat_map(|p| edges_from(func, *p)).filter(|e| e.to == header).collect()
}

/// The edges from inside a loop back to its header.
pub fn back_edges(func: &Function, loops: &Loops, id: Loop) -> Vec<Edge> {
    let data = loops.get(id);
    data.latches.iter().flat_map(|l| edges_from(func, *l)).filter(|e| e.to == data.header).collect()
}

fn argument(func: &Function, edge: Edge, position: usize) -> Value {
    func.block(edge.from).term.targets()[edge.index].args[position]
}

/// `value` as `init + i·step`, if it is such a header parameter.
pub fn affine(func: &Function, cfg: &Cfg, loops: &Loops, value: Value) -> Option<Affine> {
    let ValueDef::Param(block, position) = func.value(value).def else { return None };
    let id = loops.headed_by(block)?;
    let (entries, backs) = (entries(func, cfg, loops, id), back_edges(func, loops, id));
    let ([entry], [back]) = (&entries[..], &backs[..]) else { return None };
    let step = step_of(func, argument(func, *back, position), value)?;
    matches!(func.ty(value), Type::Ptr | Type::Int(_)).then(|| Affine {
        id,
        init: argument(func, *entry, position),
        step,
    })
}

/// `next − value`, if `next` is `value` plus a constant.
fn step_of(func: &Function, next: Value, value: Value) -> Option<i64> {
    let (base, constant, sign) = match func.inst(func.def_inst(next)?).op {
        Op::Bin(BinOp::Add, a, b) if a == value => (a, b, 1),
        Op::Bin(BinOp::Add, b, a) if a == value => (a, b, 1),
        Op::Bin(BinOp::Sub, a, b) => (a, b, -1),
        Op::PtrAdd(a, b) => (a, b, 1),
        _ => return None,
    };
    let step = i64::try_from(func.as_int(constant)?).ok()?;
    (base == value && step != 0).then_some(step * sign)
}

/// How often the header of `id` runs, if that is known on entry. `live` tells the blocks that can return: leaving a loop by a
/// panic does not count.
pub fn trip_count(
    func: &Function,
    cfg: &Cfg,
    doms: &Dominators,
    loops: &Loops,
    id: Loop,
    live: impl Fn(Block) -> bool,
) -> Option<TripCount> {
    let data = loops.get(id);
    let exits: Vec<&Edge> = data.exits.iter().filter(|e| live(e.to)).collect();
    let ([exit], [latch]) = (&exits[..], &data.latches[..]) else { return None };
    // Tested in every iteration, in this loop and not in one inside it.
    if !doms.dominates(exit.from, *latch) || loops.innermost(exit.from) != Some(id) {
        return None;
    }
    let Terminator::Branch(cond, ..) = &func.block(exit.from).term else { return None };
    let Op::ICmp(pred, a, b) = func.inst(func.def_inst(*cond)?).op else { return None };
    // Target 0 is taken when the condition holds.
    let exit_when = if exit.index == 0 { pred } else { inverse(pred) };
    tested(func, cfg, loops, id, a, b, exit_when).or_else(|| tested(func, cfg, loops, id, b, a, swapped(exit_when)))
}

fn tested(
    func: &Function,
    cfg: &Cfg,
    loops: &Loops,
    id: Loop,
    value: Value,
    bound: Value,
    exit_when: IntPred,
) -> Option<TripCount> {
    let invariant = match func.value(bound).def {
        ValueDef::Const(_) => true,
        ValueDef::Param(block, _) => !loops.contains(id, block),
        ValueDef::Inst(inst) => block_of(func, loops, id, inst).is_none(),
    };
    if !invariant {
        return None;
    }
    let header = loops.get(id).header;
    for param in &func.block(header).params {
        let Some(found) = affine(func, cfg, loops, *param) else { continue };
        let ahead = if value == *param {
            0
        } else if step_of(func, value, *param) == Some(found.step) {
            found.step
        } else {
            continue;
        };
        let rising = found.step > 0;
        let fits = match exit_when {
            IntPred::Eq => true,
            IntPred::Uge | IntPred::Ugt | IntPred::Sge | IntPred::Sgt => rising,
            IntPred::Ule | IntPred::Ult | IntPred::Sle | IntPred::Slt => !rising,
            IntPred::Ne => false,
        };
        if fits {
            return Some(TripCount { init: found.init, ahead, step: found.step, bound, exit_when });
        }
    }
    None
}

/// The block of the loop that holds `inst`, if any.
fn block_of(func: &Function, loops: &Loops, id: Loop, inst: pullback_ir::Inst) -> Option<Block> {
    loops.get(id).blocks.iter().copied().find(|b| func.block(*b).insts.contains(&inst))
}

impl TripCount {
    /// The count, where it is a constant.
    pub fn constant(&self, func: &Function) -> Option<i64> {
        let number = |v: Value| func.as_int(v).and_then(|n| i64::try_from(n).ok());
        let (start, bound) = (number(self.init)?.checked_add(self.ahead)?, number(self.bound)?);
        let distance = if self.step > 0 { bound.checked_sub(start)? } else { start.checked_sub(bound)? };
        let step = self.step.abs();
        let index = match self.exit_when {
            _ if distance < 0 => 0,
            IntPred::Eq => distance / step,
            IntPred::Ugt | IntPred::Sgt | IntPred::Ult | IntPred::Slt => distance / step + 1,
            _ => (distance + step - 1) / step,
        };
        // A loop that runs round the numbers is not one we know the count of.
        (index >= 0 && !(self.exit_when == IntPred::Eq && (distance < 0 || distance % step != 0))).then_some(index + 1)
    }

    /// Emit the count, an `i64`, where the loop is entered.
    pub fn emit(&self, b: &mut Builder) -> Value {
        let ty = b.func.ty(self.bound).clone();
        let int = |b: &mut Builder, v: Value| match b.func.ty(v) {
            Type::Ptr => b.cast(CastOp::PtrToInt, v, Type::I64),
            _ => v,
        };
        let (mut start, bound) = (int(b, self.init), int(b, self.bound));
        let width = if ty == Type::Ptr { Type::I64 } else { ty };
        if self.ahead != 0 {
            let ahead = b.func.int(width.clone(), i128::from(self.ahead));
            start = b.add(start, ahead);
        }
        let rising = self.step > 0;
        let distance = if rising { b.sub(bound, start) } else { b.sub(start, bound) };
        let step = self.step.unsigned_abs();
        let step_value = b.func.int(width.clone(), i128::from(step));
        let divide = |b: &mut Builder, v: Value| if step == 1 { v } else { b.bin(BinOp::UDiv, v, step_value) };
        let zero = b.func.int(width.clone(), 0);
        let one = b.func.int(width.clone(), 1);
        let index = match self.exit_when {
            IntPred::Eq => divide(b, distance),
            strict @ (IntPred::Ugt | IntPred::Sgt | IntPred::Ult | IntPred::Slt) => {
                let at_once = b.icmp(strict, start, bound);
                let whole = divide(b, distance);
                let more = b.add(whole, one);
                b.select(at_once, zero, more)
            }
            weak => {
                let at_once = b.icmp(weak, start, bound);
                let less = b.sub(distance, one);
                let whole = divide(b, less);
                let more = b.add(whole, one);
                b.select(at_once, zero, more)
            }
        };
        let index = if width == Type::I64 { index } else { b.cast(CastOp::ZExt, index, Type::I64) };
        let one = b.func.i64(1);
        b.add(index, one)
    }
}

/// The comparison that holds when this one does not.
pub(super) fn inverse(pred: IntPred) -> IntPred {
    use IntPred::*;
    match pred {
        Eq => Ne,
        Ne => Eq,
        Ult => Uge,
        Uge => Ult,
        Ule => Ugt,
        Ugt => Ule,
        Slt => Sge,
        Sge => Slt,
        Sle => Sgt,
        Sgt => Sle,
    }
}

/// The comparison with its operands swapped.
pub(super) fn swapped(pred: IntPred) -> IntPred {
    use IntPred::*;
    match pred {
        Eq => Eq,
        Ne => Ne,
        Ult => Ugt,
        Ugt => Ult,
        Ule => Uge,
        Uge => Ule,
        Slt => Sgt,
        Sgt => Slt,
        Sle => Sge,
        Sge => Sle,
    }
}
