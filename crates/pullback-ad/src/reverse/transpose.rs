//! The transposes of the linear operations, emitted into the reverse sweep.

use crate::analysis::points_to::lanes::Lane;
use crate::linearise::copies::inline_len;
use crate::linearise::linear::{Beside, Linear};
use crate::linearise::share::Share;
use crate::reverse::Sweeps;
use crate::reverse::cotangents::{Addition, neutral};
use pullback_ir::{Flags, FuncId, Loop, Op, SourceLoc, Type, Value};

impl Sweeps<'_, '_> {
    pub(crate) fn width(&self) -> usize {
        self.target.width
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
            Linear::Load(result, shadow, beside) => self.transpose_load(*result, shadow, *beside, level, flags),
            Linear::Store { value, ty, shadow } => {
                for (direction, place) in shadow.iter().enumerate() {
                    let place = self.value(*place, level);
                    let mut b = self.build().with_loc(loc);
                    let g = b.load(ty.clone(), place);
                    if refilled {
                        let empty = neutral(b.func, ty);
                        b.store(place, empty);
                    } else {
                        self.clear(place, ty);
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
            Linear::Uncover { shadow, old } => self.uncover(shadow, old, level),
            Linear::Bits(result, from) => {
                let cotangents = self.take(*result);
                self.accumulate_all(*from, cotangents);
            }
            Linear::WordLoad { result, shadow, words } => {
                for (direction, g) in self.take(*result).into_iter().enumerate() {
                    let (place, word) = (self.value(shadow[direction], level), self.value(words[direction], level));
                    self.add_to_word(place, word, g);
                }
            }
            Linear::WordStore { value, direction, shadow, word, old } => {
                self.transpose_word_store(*value, *direction, [*shadow, *word, *old], level);
            }
            Linear::WordCopy(words) => self.transpose_word_copy(words, level),
            Linear::WordCopies { dst, src, len, lane } => self.transpose_word_copies([*dst, *len], *src, *lane, level),
            Linear::Call { result, reverse, args } => self.transpose_call(*result, *reverse, args),
            Linear::Given(arg, given) => {
                for (direction, given) in given.iter().enumerate() {
                    let g = self.value(*given, level);
                    self.accumulate(*arg, direction, g);
                }
            }
            Linear::Extract(result, from, index) => self.transpose_extract(*result, *from, *index, flags),
            Linear::Insert(result, into, value, index) => self.transpose_insert(*result, *into, *value, *index),
        }
    }

    fn transpose_load(&mut self, result: Value, shadow: &[Value], beside: Beside, level: Option<Loop>, flags: Flags) {
        let ty = self.cotangent_type(result);
        for (direction, g) in self.take(result).into_iter().enumerate() {
            if let Some(carried) = self.cotangents.carried.get(&result).map(|all| all[direction]) {
                self.build().store(carried.coming, g);
                continue;
            }
            let place = self.value(shadow[direction], level);
            let addition = Addition { flags, beside, ..Addition::new(place, ty.clone(), g) };
            match &mut self.cotangents.waiting {
                Some(waiting) => waiting.push(addition),
                None => self.add(&addition),
            }
        }
    }

    fn transpose_call(&mut self, result: Option<Value>, reverse: FuncId, args: &[Value]) {
        let mut operands = vec![self.rev.tape];
        if let Some(result) = result {
            operands.extend(self.take(result));
        }
        let ret = self.target.module.func(reverse).ret.clone();
        // The caller's record may lie below the callee's: nothing read from the tape stays at hand.
        let Some(ty) = ret else {
            self.build().call_void(reverse, operands);
            return;
        };
        let all = self.build().call(reverse, operands, ty.clone());
        let width = self.width();
        for (i, arg) in args.iter().enumerate() {
            for direction in 0..width {
                let index = i * width + direction;
                let part = self.build().value(Op::ExtractValue(all, index as u32), ty.field(index).clone());
                if self.aug.linear.active.contains(arg) {
                    self.accumulate(*arg, direction, part);
                }
            }
        }
    }

    fn transpose_extract(&mut self, result: Value, from: Value, index: u32, flags: Flags) {
        let ty = self.aug.func.ty(from).clone();
        let (offset, field) = (ty.field_offset(index as usize), ty.field(index as usize).clone());
        for (g, slot) in self.take(result).into_iter().zip(self.adjoints(from)) {
            self.add(&Addition { offset, flags, ..Addition::new(slot, field.clone(), g) });
        }
    }

    fn transpose_insert(&mut self, result: Value, into: Option<Value>, value: Option<Value>, index: u32) {
        let ty = self.aug.func.ty(result).clone();
        let field = ty.field(index as usize).clone();
        for (direction, g) in self.take(result).into_iter().enumerate() {
            if let Some(value) = value {
                let part = self.build().value(Op::ExtractValue(g, index), field.clone());
                self.accumulate(value, direction, part);
            }
            if let Some(into) = into {
                let zero = neutral(self.rev(), &field);
                let rest = self.build().value(Op::InsertValue(g, zero, index), ty.clone());
                self.accumulate(into, direction, rest);
            }
        }
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
            let share = share.folded(&mut self.build().with(flags, loc));
            for (direction, g) in cotangents.iter().enumerate() {
                let part = share.emit(&mut self.build().with(flags, loc), *g, strong);
                self.accumulate(*operand, direction, part);
            }
        }
    }

    /// Zero the floats of a value of type `ty` in memory.
    fn clear(&mut self, place: Value, ty: &Type) {
        let mut b = self.build();
        for (offset, leaf) in ty.leaves().into_iter().filter(|(_, leaf)| leaf.is_float()) {
            let place = b.offset(place, offset as i64);
            let zero = b.func.zero(leaf);
            b.store(place, zero);
        }
    }

    fn transpose_small_copy(&mut self, dst: Value, src: Option<Value>, len: u64, lanes: &[Lane], beside: Beside) {
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

    fn transpose_copy(&mut self, dst: Value, src: Option<Value>, len: Value, lanes: &[Lane]) {
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
