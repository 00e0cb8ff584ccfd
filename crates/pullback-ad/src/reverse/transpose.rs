//! The transposes of the linear operations, emitted into the reverse sweep.

use crate::analysis::activity::holds_float;
use crate::linearise::copies::inline_len;
use crate::linearise::linear::{Beside, CopiedWord, Linear};
use crate::linearise::share::Share;
use crate::reverse::Sweeps;
use crate::reverse::slots::alloca;
use crate::session::cotangent_type;
use pullback_ir::{Builder, CastOp, Constant, Flags, FloatPred, Function, IntPred, Loop, Op, SourceLoc, Type, Value};

/// Something to be added to what is in a shadow.
pub(crate) struct Addition {
    place: Value,
    ty: Type,
    g: Value,
    flags: Flags,
    beside: Beside,
}

impl Sweeps<'_, '_> {
    pub(crate) fn width(&self) -> usize {
        self.target.width
    }

    pub(crate) fn cotangent_type(&self, value: Value) -> Type {
        cotangent_type(self.aug.func.ty(value))
    }

    /// The slots of a value's cotangents; zero at the start of the reverse sweep.
    fn adjoint(&mut self, value: Value, direction: usize) -> Value {
        if let Some(slots) = self.adjoints.get(&value) {
            return slots[direction];
        }
        let ty = self.cotangent_type(value);
        let slots: Vec<Value> = (0..self.width()).map(|_| self.empty_slot(&ty)).collect();
        let slot = slots[direction];
        self.adjoints.insert(value, slots);
        slot
    }

    /// A slot for a cotangent, with nothing in it when the function begins.
    pub(crate) fn empty_slot(&mut self, ty: &Type) -> Value {
        let mut prologue = std::mem::take(&mut self.rev_prologue);
        let func = self.rev();
        let slot = alloca(func, &mut prologue, ty);
        let nothing = neutral(func, ty);
        let store = Op::Store { ptr: slot, value: nothing, align: ty.align() };
        prologue.push(func.make_inst(store, None, Flags::NONE, None));
        self.rev_prologue = prologue;
        slot
    }

    /// `value̅ += g`.
    pub(crate) fn accumulate(&mut self, value: Value, direction: usize, g: Value) {
        if self.local.contains(&value) {
            let sum = match self.so_far.get(&(value, direction)).copied() {
                Some(old) => Beside::Floats.add(&mut self.build(), old, g),
                None => g,
            };
            self.so_far.insert((value, direction), sum);
            return;
        }
        let slot = self.adjoint(value, direction);
        let ty = self.cotangent_type(value);
        self.accumulate_at(slot, 0, &ty, g, Flags::NONE, Beside::Floats);
    }

    /// What may be done with additions of cotangents. In which order they come is up to us: a sum over a loop may be
    /// several partial sums, as vector code has them. Not where the derivative is differentiated itself, for what may
    /// come out in more than one way cannot be computed again.
    pub(crate) fn summing(&self) -> Flags {
        if self.target.nested { Flags::NONE } else { Flags::REASSOC }
    }

    /// Add `g` to what is at `slot + offset`; aggregates field by field.
    pub(crate) fn accumulate_at(
        &mut self,
        slot: Value,
        offset: u64,
        ty: &Type,
        g: Value,
        flags: Flags,
        beside: Beside,
    ) {
        match ty {
            Type::Struct(fields) => {
                for (i, field) in fields.iter().enumerate().filter(|(_, f)| holds_float(f)) {
                    let part = self.build().value(Op::ExtractValue(g, i as u32), field.clone());
                    self.accumulate_at(slot, offset + ty.field_offset(i), field, part, flags, beside);
                }
            }
            Type::F32 | Type::F64 => {
                let summing = flags.union(self.summing());
                let mut b = self.build();
                b.flags = flags;
                let place = b.offset(slot, offset as i64);
                let old = b.load(ty.clone(), place);
                b.flags = summing;
                let new = beside.add(&mut b, old, g);
                b.flags = flags;
                b.store(place, new);
            }
            _ => {}
        }
    }

    /// The cotangents of a value; they become zero.
    pub(crate) fn take(&mut self, value: Value) -> Vec<Value> {
        let ty = self.cotangent_type(value);
        if self.local.contains(&value) {
            let width = self.width();
            let taken = |direction| self.so_far.remove(&(value, direction)).unwrap_or_else(|| neutral(self.rev(), &ty));
            return (0..width).map(taken).collect();
        }
        (0..self.width())
            .map(|direction| {
                let slot = self.adjoint(value, direction);
                let mut b = self.build();
                let g = b.load(ty.clone(), slot);
                let zero = neutral(b.func, &ty);
                b.store(slot, zero);
                g
            })
            .collect()
    }

    /// Do the additions to shadows that wait.
    pub(crate) fn add_waiting(&mut self) {
        for Addition { place, ty, g, flags, beside } in self.waiting.as_mut().map(std::mem::take).unwrap_or_default() {
            self.accumulate_at(place, 0, &ty, g, flags, beside);
        }
    }

    /// The slots of a value's cotangents, which is not a local one, and what is in them.
    pub(crate) fn peek(&mut self, value: Value) -> Vec<(Value, Value)> {
        let ty = self.cotangent_type(value);
        let slots: Vec<Value> = (0..self.width()).map(|direction| self.adjoint(value, direction)).collect();
        let mut b = self.build();
        slots.into_iter().map(|slot| (slot, b.load(ty.clone(), slot))).collect()
    }

    /// Emit the transpose of a linear operation of a block of loop `level`. `refilled`: what a store's transpose takes
    /// out of a place is sure to come back in this block.
    pub(crate) fn transpose(
        &mut self,
        linear: &Linear,
        level: Option<Loop>,
        flags: Flags,
        loc: Option<SourceLoc>,
        refilled: bool,
    ) {
        if let Some((result, shares)) = linear.shares() {
            return self.transpose_arithmetic(result, &shares, level, flags, loc);
        }
        match linear {
            Linear::Sum(..) | Linear::Quotient { .. } | Linear::Cast(..) | Linear::Select(..) => {
                unreachable!("it has shares")
            }
            Linear::Load(result, shadow, beside) => {
                let ty = self.cotangent_type(*result);
                for (direction, g) in self.take(*result).into_iter().enumerate() {
                    if let Some(carried) = self.carried.get(result).map(|all| all[direction]) {
                        self.build().store(carried.coming, g);
                        continue;
                    }
                    let place = self.value(shadow[direction], level);
                    match &mut self.waiting {
                        Some(waiting) => waiting.push(Addition { place, ty: ty.clone(), g, flags, beside: *beside }),
                        None => self.accumulate_at(place, 0, &ty, g, flags, *beside),
                    }
                }
            }
            Linear::Store { value, ty, shadow } => {
                for (direction, place) in shadow.iter().enumerate() {
                    let place = self.value(*place, level);
                    let mut b = self.build();
                    b.loc = loc;
                    let g = b.load(ty.clone(), place);
                    if refilled {
                        let empty = neutral(b.func, ty);
                        b.store(place, empty);
                    } else {
                        self.clear(place, 0, ty);
                    }
                    if let Some(value) = value {
                        self.accumulate(*value, direction, g);
                    }
                }
            }
            Linear::Copy { dst, src, len, floats, beside } => {
                let bytes = self.value(*len, level);
                let small = inline_len(&self.aug.func, *len);
                for direction in 0..self.width() {
                    let to = self.value(dst[direction], level);
                    let from = src.as_ref().map(|src| self.value(src[direction], level));
                    match small {
                        Some(small) => self.transpose_small_copy(to, from, small, floats, *beside),
                        None => self.transpose_copy(to, from, bytes, floats),
                    }
                }
            }
            Linear::Rule(pullback) => self.pull_back(pullback, level),
            Linear::Restore { shadow, old } => {
                for (place, old) in shadow.iter().zip(old) {
                    let (place, old) = (self.value(*place, level), self.value(*old, level));
                    self.build().store(place, old);
                }
            }
            Linear::Uncover { shadow, old } => {
                for (place, old) in shadow.iter().zip(old) {
                    let (place, old) = (self.value(*place, level), self.value(*old, level));
                    let mut b = self.build();
                    // The other half may be a float that has a cotangent.
                    let now = b.load(Type::I64, place);
                    let was_float = is_zero(&mut b, old);
                    let word = b.select(was_float, now, old);
                    b.store(place, word);
                }
            }
            Linear::Bits(result, from) => {
                for (direction, g) in self.take(*result).into_iter().enumerate() {
                    self.accumulate(*from, direction, g);
                }
            }
            Linear::WordLoad { result, shadow, words } => {
                for (direction, g) in self.take(*result).into_iter().enumerate() {
                    let (place, word) = (self.value(shadow[direction], level), self.value(words[direction], level));
                    self.add_to_word(place, word, g);
                }
            }
            Linear::WordStore { value, direction, shadow, word, old } => {
                let (place, old) = (self.value(*shadow, level), self.value(*old, level));
                let word = self.value(*word, level);
                let Some(value) = value else {
                    self.build().store(place, old);
                    return;
                };
                let ty = self.cotangent_type(*value);
                let mut b = self.build();
                let g = b.load(ty.clone(), place);
                b.store(place, old);
                let nothing = neutral(b.func, &ty);
                let is_float = is_zero(&mut b, word);
                let g = b.select(is_float, g, nothing);
                self.accumulate(*value, *direction, g);
            }
            Linear::WordCopy(words) => {
                // Take everything before anything is added: the regions may overlap.
                let mut taken = Vec::new();
                for CopiedWord { dst, src, word, old } in words {
                    let (dst, src) = (self.value(*dst, level), self.value(*src, level));
                    let (word, old) = (self.value(*word, level), self.value(*old, level));
                    let ty = cotangent_type(self.rev().ty(word));
                    let mut b = self.build();
                    let g = b.load(ty, dst);
                    b.store(dst, old);
                    taken.push((src, word, g));
                }
                for (src, word, g) in taken {
                    self.add_to_word(src, word, g);
                }
            }
            Linear::WordCopies { dst, src, len, lane } => {
                let (dst, len) = (self.value(*dst, level), self.value(*len, level));
                let src = src.map(|src| self.value(src, level));
                let (tape, callee) = (self.rev_tape, self.target.runtime.uncopy_words);
                let mut b = self.build();
                let src = src.unwrap_or_else(|| b.func.constant(Type::Ptr, Constant::Null));
                let [len, stride, offset, width] = lane.operands(&mut b, len);
                b.call_void(callee, vec![tape, dst, src, len, stride, offset, width]);
            }
            Linear::Call { result, reverse, args } => {
                let mut operands = vec![self.rev_tape];
                if let Some(result) = result {
                    operands.extend(self.take(*result));
                }
                let ret = self.target.module.func(*reverse).ret.clone();
                // The caller's record may lie below the callee's: nothing read from the tape stays at hand.
                let Some(ty) = ret else {
                    let mut b = self.build();
                    b.call_void(*reverse, operands);
                    return;
                };
                let all = self.build().call(*reverse, operands, ty.clone());
                let width = self.width();
                for (i, arg) in args.iter().enumerate() {
                    for direction in 0..width {
                        let index = i * width + direction;
                        let part_ty = ty.field(index).clone();
                        let part = self.build().value(Op::ExtractValue(all, index as u32), part_ty);
                        if self.aug.linear.active.contains(arg) {
                            self.accumulate(*arg, direction, part);
                        }
                    }
                }
            }
            Linear::Given(arg, given) => {
                for (direction, given) in given.iter().enumerate() {
                    let g = self.value(*given, level);
                    self.accumulate(*arg, direction, g);
                }
            }
            Linear::Extract(result, from, index) => {
                let ty = self.aug.func.ty(*from).clone();
                let (offset, field) = (ty.field_offset(*index as usize), ty.field(*index as usize).clone());
                for (direction, g) in self.take(*result).into_iter().enumerate() {
                    let slot = self.adjoint(*from, direction);
                    self.accumulate_at(slot, offset, &field, g, flags, Beside::Floats);
                }
            }
            Linear::Insert(result, into, value, index) => {
                let ty = self.aug.func.ty(*result).clone();
                let field = ty.field(*index as usize).clone();
                for (direction, g) in self.take(*result).into_iter().enumerate() {
                    if let Some(value) = value {
                        let part = self.build().value(Op::ExtractValue(g, *index), field.clone());
                        self.accumulate(*value, direction, part);
                    }
                    if let Some(into) = into {
                        let zero = neutral(self.rev(), &field);
                        let rest = self.build().value(Op::InsertValue(g, zero, *index), ty.clone());
                        self.accumulate(*into, direction, rest);
                    }
                }
            }
        }
    }

    /// Add a cotangent to the shadow of a word, if the word is a float: its shadow was zero then.
    fn add_to_word(&mut self, place: Value, word: Value, g: Value) {
        let mut b = self.build();
        let (ty, bits) = (b.func.ty(g).clone(), b.func.ty(word).clone());
        let before = b.load(ty, place);
        let sum = b.fadd(before, g);
        let sum = b.cast(CastOp::Bitcast, sum, bits.clone());
        let unchanged = b.cast(CastOp::Bitcast, before, bits);
        let is_float = is_zero(&mut b, word);
        let after = b.select(is_float, sum, unchanged);
        b.store(place, after);
    }

    /// What the operands get of the cotangents of a result.
    fn transpose_arithmetic(
        &mut self,
        result: Value,
        shares: &[(Value, Share)],
        level: Option<Loop>,
        flags: Flags,
        loc: Option<SourceLoc>,
    ) {
        let strong = self.target.strong_zero;
        let cotangents = self.take(result);
        for (operand, share) in shares {
            let share = share.map_values(|value| self.value(value, level));
            let mut b = self.build();
            (b.flags, b.loc) = (flags, loc);
            let share = share.folded(&mut b);
            for (direction, g) in cotangents.iter().enumerate() {
                let mut b = self.build();
                (b.flags, b.loc) = (flags, loc);
                let part = share.emit(&mut b, *g, strong);
                self.accumulate(*operand, direction, part);
            }
        }
    }

    /// Zero the floats of a value of type `ty` in memory.
    fn clear(&mut self, place: Value, offset: u64, ty: &Type) {
        match ty {
            Type::Struct(fields) => {
                for (i, field) in fields.iter().enumerate() {
                    self.clear(place, offset + ty.field_offset(i), field);
                }
            }
            Type::F32 | Type::F64 => {
                let mut b = self.build();
                let place = b.offset(place, offset as i64);
                let zero = b.func.zero(ty);
                b.store(place, zero);
            }
            _ => {}
        }
    }

    fn transpose_small_copy(
        &mut self,
        dst: Value,
        src: Option<Value>,
        len: u64,
        lanes: &[crate::analysis::points_to::lanes::Lane],
        beside: Beside,
    ) {
        // Take everything before anything is added: the regions may overlap.
        let mut taken = Vec::new();
        for lane in lanes {
            for at in lane.places(len) {
                let ty = lane.float();
                let mut b = self.build();
                let place = b.offset(dst, at as i64);
                let g = b.value(Op::Load { ptr: place, align: 1 }, ty.clone());
                let zero = b.func.zero(&ty);
                b.push(Op::Store { ptr: place, value: zero, align: 1 }, None);
                taken.push((at, ty, g));
            }
        }
        let Some(src) = src else { return };
        for (at, ty, g) in taken {
            let mut b = self.build();
            let place = b.offset(src, at as i64);
            let old = b.value(Op::Load { ptr: place, align: 1 }, ty);
            let new = beside.add(&mut b, old, g);
            b.push(Op::Store { ptr: place, value: new, align: 1 }, None);
        }
    }

    fn transpose_copy(
        &mut self,
        dst: Value,
        src: Option<Value>,
        len: Value,
        lanes: &[crate::analysis::points_to::lanes::Lane],
    ) {
        let runtime = self.target.runtime;
        for lane in lanes {
            let mut b = self.build();
            let [len, stride, offset, width] = lane.operands(&mut b, len);
            match src {
                Some(src) => b.call_void(runtime.adjoint_copy, vec![dst, src, len, stride, offset, width]),
                None => b.call_void(runtime.zero_lanes, vec![dst, len, stride, offset, width]),
            }
        }
    }
}

impl Beside {
    fn add(self, b: &mut Builder, old: Value, g: Value) -> Value {
        let new = b.fadd(old, g);
        if self == Beside::Floats {
            return new;
        }
        let ty = b.func.ty(g).clone();
        let zero = b.func.zero(&ty);
        let nothing = b.fcmp(FloatPred::Oeq, g, zero);
        b.select(nothing, old, new)
    }
}

fn is_zero(b: &mut Builder, word: Value) -> Value {
    let ty = b.func.ty(word).clone();
    let zero = b.func.zero(&ty);
    b.icmp(IntPred::Eq, word, zero)
}

/// What an empty cotangent holds: −0, because `−0 + g` is `g` for every `g`, so that the optimiser may drop the
/// addition.
pub(crate) fn neutral(func: &mut Function, ty: &Type) -> Value {
    match ty {
        Type::F32 | Type::F64 => func.float(ty.clone(), -0.0),
        other => func.zero(other),
    }
}
