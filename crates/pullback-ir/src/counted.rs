//! Loops whose number of iterations is known on entry, and values that follow from the iteration number.
//!
//! A header parameter that grows by the same amount each time round is *affine*: in iteration `i` it is `init +
//! i·step`. A loop that is left by a single edge, tested in every iteration on an affine value against an invariant
//! bound, is *counted*. Pointers that walk over a slice are affine too, and so is what is left of one that is walked in
//! chunks.
//!
//! The reverse sweep trusts a count with memory: arrays are made of exactly that length. So a loop is only counted if
//! it cannot run past its bound and round the numbers, which its instructions have to say (`nuw`, `nsw`) wherever a
//! step of one does not rule it out.

use crate::cfg::{Cfg, Edge, edges_from};
use crate::{
    BinOp, Block, Builder, CastOp, Dominators, Flags, Function, IntPred, Loop, Loops, Op, Table, Terminator, Type,
    Value, ValueDef,
};

/// What an affine value grows by each time round, in bytes for a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A number that is not zero.
    Constant(i64),
    /// A value that does not change in the loop.
    Plus(Value),
    /// Less by a value that does not change in the loop.
    Minus(Value),
}

/// A header parameter that is `init + i·step` in iteration `i`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Affine {
    /// Its loop.
    pub id: Loop,
    /// Its value in iteration 0.
    pub init: Value,
    /// What is added each time round.
    pub step: Step,
}

/// How often a counted loop's header runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TripCount {
    init: Value,
    /// Whether the tested value is one step ahead of the affine parameter.
    ahead: bool,
    step: Step,
    bound: Value,
    /// The loop is left when `tested exit_when bound`.
    exit_when: IntPred,
}

/// The way of a value that steps through a loop, and is at its end when the loop is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Where it starts.
    pub from: Value,
    /// Where it is when the loop is left.
    pub to: Value,
    /// How far it goes each time round, more than zero.
    pub step: i64,
    /// Whether it takes its step before the question: then the loop's header runs once for each step. Else it runs once
    /// more.
    pub ahead: bool,
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

/// The one way into a loop and the one way round it, if there are no others.
pub fn ways(func: &Function, cfg: &Cfg, loops: &Loops, id: Loop) -> Option<(Edge, Edge)> {
    let (entries, backs) = (entries(func, cfg, loops, id), back_edges(func, loops, id));
    let ([entry], [back]) = (&entries[..], &backs[..]) else { return None };
    Some((*entry, *back))
}

/// What an edge passes to a parameter of its target.
pub fn argument(func: &Function, edge: Edge, position: usize) -> Value {
    func.block(edge.from).term.targets()[edge.index].args[position]
}

/// The loops of one function, to ask about.
pub struct Counted<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    doms: &'a Dominators,
    loops: &'a Loops,
    /// Where each value is made; a constant nowhere.
    blocks: Table<Value, Option<Block>>,
    /// The one way in and the one way round.
    ways: Vec<Option<(Edge, Edge)>>,
}

/// A step, and the instruction that takes it.
struct Stride {
    step: Step,
    flags: Flags,
    /// By a subtraction, in whose words `nuw` is about falling.
    falls: bool,
}

impl<'a> Counted<'a> {
    /// The loops of `func`.
    pub fn new(func: &'a Function, cfg: &'a Cfg, doms: &'a Dominators, loops: &'a Loops) -> Self {
        let mut blocks = Table::new(func.value_bound(), None);
        for block in cfg.reverse_postorder() {
            let data = func.block(*block);
            let results = data.insts.iter().filter_map(|i| func.inst(*i).result);
            for value in data.params.iter().copied().chain(results) {
                blocks[value] = Some(*block);
            }
        }
        let ways = loops.iter().map(|(id, _)| ways(func, cfg, loops, id)).collect();
        Counted { func, cfg, doms, loops, blocks, ways }
    }

    /// Where a value is made; a constant nowhere.
    pub fn block(&self, value: Value) -> Option<Block> {
        self.blocks[value]
    }

    /// Whether a value is the same in all iterations of a run of the loop.
    pub fn is_invariant(&self, id: Loop, value: Value) -> bool {
        self.blocks[value].is_none_or(|b| !self.loops.contains(id, b))
    }

    /// The loop whose header parameter `value` is, with what it is in the first iteration and what the next one gets.
    pub fn recurrence(&self, value: Value) -> Option<(Loop, Value, Value)> {
        let ValueDef::Param(block, position) = self.func.value(value).def else { return None };
        let id = self.loops.headed_by(block)?;
        let (entry, back) = self.ways[id.index()]?;
        Some((id, argument(self.func, entry, position), argument(self.func, back, position)))
    }

    /// `value` as `init + i·step`, if it is such a header parameter.
    pub fn affine(&self, value: Value) -> Option<Affine> {
        let (id, init, next) = self.recurrence(value)?;
        let stride = self.stride(id, next, value)?;
        matches!(self.func.ty(value), Type::Ptr | Type::Int(_)).then_some(Affine { id, init, step: stride.step })
    }

    /// `next − value`, if that is the same each time round.
    fn stride(&self, id: Loop, next: Value, value: Value) -> Option<Stride> {
        let data = self.func.inst(self.func.def_inst(next)?);
        let (amount, falls) = match data.op {
            Op::Bin(BinOp::Add, a, b) | Op::PtrAdd(a, b) if a == value => (b, false),
            Op::Bin(BinOp::Add, b, a) if a == value => (b, false),
            Op::Bin(BinOp::Sub, a, b) if a == value => (b, true),
            _ => return None,
        };
        let step = match self.func.as_int(amount) {
            Some(number) => {
                let number = i64::try_from(number).ok().filter(|n| *n != 0)?;
                Step::Constant(if falls { number.checked_neg()? } else { number })
            }
            None if !self.is_invariant(id, amount) => return None,
            None => (if falls { Step::Minus } else { Step::Plus })(amount),
        };
        Some(Stride { step, flags: data.flags, falls })
    }

    /// How often the header of `id` runs, if that is known on entry. `live` tells the blocks that can return: leaving a
    /// loop by a panic does not count.
    pub fn trip_count(&self, id: Loop, live: impl Fn(Block) -> bool) -> Option<TripCount> {
        let data = self.loops.get(id);
        let exits: Vec<&Edge> = data.exits.iter().filter(|e| live(e.to)).collect();
        let ([exit], [latch]) = (&exits[..], &data.latches[..]) else { return None };
        // Tested in every iteration, in this loop and not in one inside it.
        if !self.doms.dominates(exit.from, *latch) || self.loops.innermost(exit.from) != Some(id) {
            return None;
        }
        let Terminator::Branch(cond, ..) = &self.func.block(exit.from).term else { return None };
        let Op::ICmp(pred, a, b) = self.func.inst(self.func.def_inst(*cond)?).op else { return None };
        // Target 0 is taken when the condition holds.
        let exit_when = if exit.index == 0 { pred } else { pred.inverse() };
        self.tested(id, a, b, exit_when).or_else(|| self.tested(id, b, a, exit_when.swapped()))
    }

    fn tested(&self, id: Loop, value: Value, bound: Value, exit_when: IntPred) -> Option<TripCount> {
        if !self.is_invariant(id, bound) || !matches!(self.func.ty(bound), Type::Ptr | Type::Int(..=64)) {
            return None;
        }
        let header = self.loops.get(id).header;
        for param in &self.func.block(header).params {
            let Some((_, init, next)) = self.recurrence(*param) else { continue };
            let Some(mut stride) = self.stride(id, next, *param) else { continue };
            let ahead = value != *param;
            if ahead {
                // What the tested value's own instruction says is what counts.
                match self.stride(id, value, *param) {
                    Some(tested) if tested.step == stride.step => stride = tested,
                    _ => continue,
                }
            }
            let trips = TripCount { init, ahead, step: stride.step, bound, exit_when };
            if trips.ends(self, &stride, header) {
                return Some(trips);
            }
        }
        None
    }

    /// Whether a value is known not to be zero where `block` runs: a constant, or tested on every way there.
    fn is_not_zero(&self, value: Value, block: Block) -> bool {
        if let Some(number) = self.func.as_int(value) {
            return number != 0;
        }
        let mut at = block;
        while let Some(above) = self.doms.idom(at) {
            if let Terminator::Branch(cond, then, otherwise) = &self.func.block(above).term
                && let Some(Op::ICmp(pred, a, b)) = self.func.def_inst(*cond).map(|i| &self.func.inst(i).op)
                && *a == value
                && self.func.as_int(*b) == Some(0)
            {
                let (good, bad) = match pred {
                    IntPred::Eq => (otherwise.block, then.block),
                    IntPred::Ne | IntPred::Ugt => (then.block, otherwise.block),
                    _ => (above, above),
                };
                let only_way = self.cfg.predecessors(good) == [above] && good != bad;
                if only_way && self.doms.dominates(good, block) {
                    return true;
                }
            }
            at = above;
        }
        false
    }
}

impl TripCount {
    /// Whether the count follows: the tested values go towards the bound, and not past it round the numbers.
    fn ends(&self, loops: &Counted, stride: &Stride, header: Block) -> bool {
        use IntPred::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        let is_pointer = *loops.func.ty(self.bound) == Type::Ptr;
        let (nuw, nsw) = (stride.flags.contains(Flags::NUW), stride.flags.contains(Flags::NSW));
        match self.step {
            Step::Constant(step) => {
                let (rising, one) = (step > 0, step.unsigned_abs() == 1);
                // An unsigned number may be said to fall only where it is subtracted from.
                let unsigned = is_pointer || nuw && rising != stride.falls;
                let known = self.constant(loops.func).is_some();
                match self.exit_when {
                    Eq => one || unsigned || nsw || known,
                    Uge => rising && (one || unsigned || known),
                    Ule => !rising && (one || unsigned || known),
                    Sge => rising && (one || nsw || known),
                    Sle => !rising && (one || nsw || known),
                    Ugt => rising && (unsigned || known),
                    Ult => !rising && (unsigned || known),
                    Sgt => rising && (nsw || known),
                    Slt => !rising && (nsw || known),
                    Ne => false,
                }
            }
            // As long as what is left is not less than what is taken away, it does not go below zero.
            Step::Minus(amount) => self.exit_when == Ult && amount == self.bound && loops.is_not_zero(amount, header),
            Step::Plus(amount) => {
                matches!(self.exit_when, Uge | Ugt | Eq) && nuw && !is_pointer && loops.is_not_zero(amount, header)
            }
        }
    }

    /// The way through the loop, where its end is met exactly.
    pub fn span(&self) -> Option<Span> {
        let Step::Constant(step @ 1..) = self.step else { return None };
        let TripCount { init: from, bound: to, ahead, .. } = *self;
        (self.exit_when == IntPred::Eq).then_some(Span { from, to, step, ahead })
    }

    /// The count, where it is a constant.
    pub fn constant(&self, func: &Function) -> Option<i64> {
        use IntPred::{Sgt, Slt, Uge, Ugt, Ule, Ult};
        let Step::Constant(step) = self.step else { return None };
        let number = |v: Value| func.as_int(v).and_then(|n| i64::try_from(n).ok());
        let ahead = if self.ahead { step } else { 0 };
        let (start, bound) = (number(self.init)?.checked_add(ahead)?, number(self.bound)?);
        // The last tested value lies less than a step beyond the bound, and must still be a number of the type.
        let Type::Int(width @ 2..=64) = *func.ty(self.bound) else { return None };
        let (least, most) = (-1i128 << (width - 1), (1i128 << (width - 1)) - 1);
        let unsigned = matches!(self.exit_when, Uge | Ugt | Ule | Ult);
        let least = if unsigned { 0 } else { least };
        let range = least..=most;
        let last = i128::from(bound) + i128::from(step);
        if ![i128::from(start), i128::from(bound), last].iter().all(|n| range.contains(n)) {
            return None;
        }
        let distance = if step > 0 { bound.checked_sub(start)? } else { start.checked_sub(bound)? };
        let step = step.checked_abs()?;
        let index = match self.exit_when {
            IntPred::Eq => (distance >= 0 && distance % step == 0).then_some(distance / step)?,
            _ if distance < 0 => 0,
            Ugt | Sgt | Ult | Slt => distance / step + 1,
            _ => (distance + step - 1) / step,
        };
        Some(index + 1)
    }

    /// Emit the count, an `i64`, where the loop is entered.
    pub fn emit(&self, b: &mut Builder) -> Value {
        if let Some(count) = self.constant(b.func) {
            return b.func.i64(count);
        }
        let ty = b.func.ty(self.bound).clone();
        let int = |b: &mut Builder, v: Value| match b.func.ty(v) {
            Type::Ptr => b.cast(CastOp::PtrToInt, v, Type::I64),
            _ => v,
        };
        let (mut start, bound) = (int(b, self.init), int(b, self.bound));
        let width = if ty == Type::Ptr { Type::I64 } else { ty };
        let (step, rising) = match self.step {
            Step::Constant(step) => (b.func.int(width.clone(), i128::from(step.unsigned_abs())), step > 0),
            Step::Plus(step) => (step, true),
            Step::Minus(step) => (step, false),
        };
        if self.ahead {
            start = b.bin(if rising { BinOp::Add } else { BinOp::Sub }, start, step);
        }
        let distance = if rising { b.sub(bound, start) } else { b.sub(start, bound) };
        let one = b.func.int(width.clone(), 1);
        let divide = |b: &mut Builder, v: Value| if step == one { v } else { b.bin(BinOp::UDiv, v, step) };
        let zero = b.func.int(width.clone(), 0);
        let index = match self.exit_when {
            IntPred::Eq => divide(b, distance),
            strict @ (IntPred::Ugt | IntPred::Sgt | IntPred::Ult | IntPred::Slt) => {
                let leaves_first = b.icmp(strict, start, bound);
                let whole = divide(b, distance);
                let more = b.add(whole, one);
                b.select(leaves_first, zero, more)
            }
            weak => {
                let leaves_first = b.icmp(weak, start, bound);
                let less = b.sub(distance, one);
                let whole = divide(b, less);
                let more = b.add(whole, one);
                b.select(leaves_first, zero, more)
            }
        };
        let index = if width == Type::I64 { index } else { b.cast(CastOp::ZExt, index, Type::I64) };
        let one = b.func.i64(1);
        b.add(index, one)
    }
}
