//! What an instruction, and the end of a block, says of pointers, integers and memory.

use super::Pass;
use crate::analysis::points_to::facts::{kind_of, may_carry};
use crate::analysis::points_to::lanes::last_start;
use crate::analysis::points_to::numbers;
use crate::analysis::points_to::objects::{Kinds, Origins};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::ranges;
use crate::analysis::points_to::strided::{Strided, gcd};
use crate::analysis::types::unseen;
use crate::runtime::TapeUse;
use pullback_ir::{BinOp, CastOp, Flags, Inst, InstData, Op, Terminator, Type, Value};

impl Pass<'_> {
    pub(super) fn instruction(&mut self, inst: Inst) {
        let data = self.func.inst(inst);
        if let Some(cleanup) = data.op.cleanup()
            && self.facts.functions.contains(&cleanup.func)
        {
            self.join_arguments(&cleanup.args, cleanup.func);
            self.join_contents(&cleanup.args, cleanup.func);
        }
        match data.result {
            None => self.effect(&data.op),
            Some(result) => self.result(inst, data, result),
        }
    }

    /// An instruction without a result.
    fn effect(&mut self, op: &Op) {
        match op {
            Op::Store { ptr, value, align } => {
                self.access(*ptr, *value, *align);
                if self.func.ty(*value).is_int() && !self.is_moved(*value) {
                    self.write_over(*ptr, Some(self.func.ty(*value).size()), *align);
                }
            }
            Op::Copy { dst, src, len, align, .. } => self.copy(*dst, *src, *len, *align),
            Op::Fill { dst, len, align, .. } => {
                self.write_over(*dst, self.func.as_int(*len).map(|n| n as u64), *align);
            }
            op if let Some(tape) = TapeUse::of(self.module, self.func, op) => self.tape(tape, &op.operands(), None),
            Op::Call(callee, args, _) => self.call(*callee, args, None),
            _ => {}
        }
    }

    /// An instruction that computes `result`.
    fn result(&mut self, inst: Inst, data: &InstData, result: Value) {
        match &data.op {
            Op::Alloca { .. } => self.allocation(inst, result, false),
            Op::Alloc { .. } => self.allocation(inst, result, true),
            op if let Some(tape) = TapeUse::of(self.module, self.func, op) => match tape {
                TapeUse::Keep => self.allocation(inst, result, true),
                _ => self.tape(tape, &op.operands(), Some(result)),
            },
            Op::PtrAdd(base, offset) => self.address(*base, *offset, data.flags, result),
            Op::Load { ptr, align } => self.access(*ptr, result, *align),
            Op::Select(c, a, b) => {
                self.assign(self.slot(result), *a, &ranges::implied(self.func, *c, true));
                self.assign(self.slot(result), *b, &ranges::implied(self.func, *c, false));
            }
            Op::Freeze(a) => self.assign(self.slot(result), *a, &[]),
            Op::Cast(op, a) => self.cast(*op, *a, result),
            Op::Bin(op, a, b) if !op.is_float() => self.arithmetic(data, *op, [*a, *b], result),
            Op::Intrinsic(name, args) if self.func.ty(result).is_int() => {
                // Of the operands that are no integers nothing becomes known.
                let known =
                    |a: &Value| if self.func.ty(*a).is_int() { self.interval(*a) } else { Some(Offsets::any()) };
                let args: Option<Vec<Offsets>> = args.iter().map(known).collect();
                if let (Some(args), Some(bits)) = (args, self.bits(result)) {
                    self.set_offset(result, numbers::intrinsic(name, bits, &args));
                }
            }
            Op::Call(callee, args, _) => self.call(*callee, args, Some(result)),
            Op::InsertValue(into, value, i) => {
                self.assign(self.slot(result), *into, &[]);
                let ty = self.func.ty(result);
                let to = (self.slot(result), ty, ty.first_leaf(*i as usize));
                self.assign_leaves(to, (*value, 0), self.func.ty(*value));
            }
            Op::ExtractValue(..) if self.func.ty(result).is_int() => self.set_offset(result, Strided::ANY),
            Op::ExtractValue(from, i) => {
                let (ty, first) = (self.func.ty(result), self.func.ty(*from).first_leaf(*i as usize));
                self.assign_leaves((self.slot(result), ty, 0), (*from, first), ty);
            }
            op => self.unmodelled(op, result),
        }
    }

    /// New memory, for all times the instruction runs.
    fn allocation(&mut self, inst: Inst, result: Value, heap: bool) {
        let values = self.facts.values.get_mut(&self.id).expect("every function of the group has a table");
        let origins = Origins { local: true, heap, ..Origins::default() };
        let object = *values.site.entry(inst).or_insert_with(|| self.facts.objects.add(origins));
        self.reach(result, object, Strided::ZERO);
    }

    fn address(&mut self, base: Value, offset: Value, flags: Flags, result: Value) {
        let Some((object, at)) = self.pointer(base) else { return };
        self.facts.set_object(self.slot(result), object);
        if let Some(mut offset) = self.bytes(offset) {
            if flags.contains(Flags::NUW) {
                offset = offset.within(0, i64::MAX);
            }
            self.set_offset(result, at.plus(&offset));
        }
    }

    fn arithmetic(&mut self, data: &InstData, op: BinOp, [a, b]: [Value; 2], result: Value) {
        if let Some(addresses) = self.shape.subtracted(self.func, &data.op) {
            // What does not reach one object yet may do so later; in the end nothing is known of the others.
            if let Some(distance) = self.distance(addresses) {
                // Addresses within one object are no further apart than a positive number says.
                let forwards = data.flags.contains(Flags::NUW);
                self.set_offset(result, if forwards { distance.within(0, i64::MAX) } else { distance });
            }
        } else if let (Some(x), Some(y), Some(bits)) = (self.interval(a), self.interval(b), self.bits(result)) {
            self.set_offset(result, numbers::binary(op, data.flags, bits, &x, &y));
        }
    }

    /// What is not modelled may be any number, or a pointer to foreign memory or to what it is given.
    fn unmodelled(&mut self, op: &Op, result: Value) {
        match self.func.ty(result) {
            Type::Int(_) => self.set_offset(result, Strided::ANY),
            Type::Ptr => {
                self.foreign(result);
                let operands = match op {
                    Op::Opaque(opaque) => opaque.args.clone(),
                    op => op.operands(),
                };
                for operand in operands.into_iter().filter(|operand| *self.func.ty(*operand) == Type::Ptr) {
                    if let Some((object, _)) = self.pointer(operand) {
                        self.reach(result, object, Strided::ANY);
                    }
                }
            }
            _ => {}
        }
    }

    /// What is pushed at a site is what is popped there; a function that is called with the tape's end is called.
    fn tape(&mut self, tape: TapeUse, args: &[Value], result: Option<Value>) {
        if let TapeUse::Own(Some(release)) = tape
            && self.facts.functions.contains(&release)
        {
            return self.join_arguments(&args[1..2], release);
        }
        let (TapeUse::Push(site) | TapeUse::Pop(site), Some(result)) = (tape, result) else { return };
        if let TapeUse::Push(_) = tape {
            self.facts.pushed.insert(site);
        }
        let origins = Origins { local: true, ..Origins::default() };
        let object = *self.facts.sites.entry(site).or_insert_with(|| self.facts.objects.add(origins));
        self.reach(result, object, Strided::ZERO);
    }

    pub(super) fn foreign(&mut self, result: Value) {
        if self.known(result).object.is_none() {
            let object = self.facts.objects.add(Origins { foreign: true, ..Origins::default() });
            self.reach(result, object, Strided::ZERO);
        }
    }

    fn cast(&mut self, op: CastOp, from: Value, to: Value) {
        match op {
            CastOp::ZExt | CastOp::SExt | CastOp::Trunc => {
                let (Some(before), Some(after)) = (self.bits(from), self.bits(to)) else { return };
                if let Some(interval) = self.interval(from) {
                    let known = interval.map(|r| match op {
                        CastOp::ZExt => numbers::zero_extended(r, before),
                        CastOp::Trunc => numbers::wrapped(r, after),
                        _ => r,
                    });
                    self.set_offset(to, known);
                }
            }
            CastOp::Bitcast => {
                let (from_ty, to_ty) = (self.func.ty(from).clone(), self.func.ty(to).clone());
                if from_ty.is_float() && may_carry(&to_ty) {
                    let content = self.content(to);
                    self.facts.objects.see(content, kind_of(&from_ty));
                    self.set_offset(to, Strided::ANY);
                } else if may_carry(&from_ty) && to_ty.is_float() && self.func.as_const(from).is_none() {
                    let content = self.content(from);
                    self.facts.objects.see(content, kind_of(&to_ty));
                }
            }
            CastOp::PtrToInt => {
                self.set_offset(to, Strided::ANY);
                if may_carry(self.func.ty(to))
                    && let Some((object, at)) = self.pointer(from)
                {
                    let content = self.content(to);
                    self.facts.objects.see(content, Kinds::PTR);
                    self.facts.objects.point(content, object, at);
                }
            }
            CastOp::IntToPtr if self.func.as_const(from).is_none() => {
                let content = self.content(from);
                self.facts.objects.see(content, Kinds::PTR);
                // Where nothing is known yet, something may be later; what stays unknown is foreign in the end.
                if let Some((object, at)) = self.facts.objects.pointee(content) {
                    self.reach(to, object, at);
                }
            }
            _ => {
                if self.func.ty(to).is_int() {
                    self.set_offset(to, Strided::ANY);
                }
            }
        }
    }

    /// Every cell of the source region has the content of the target's at the same distance, and the other way round.
    fn copy(&mut self, dst: Value, src: Value, len: Value, align: (u64, u64)) {
        let (Some((to, to_at)), Some((from, from_at))) = (self.pointer(dst), self.pointer(src)) else { return };
        let (to_at, from_at) = (to_at.aligned(align.0), from_at.aligned(align.1));
        let len = self.func.as_int(len).map(|n| n as u64);
        let same = self.facts.objects.find(to) == self.facts.objects.find(from);
        for (object, places) in [(to, &to_at), (from, &from_at)] {
            places.iter().for_each(|at| unseen::moved(&mut self.facts.objects, object, at, len));
        }
        for (to_at, from_at) in to_at.iter().flat_map(|t| from_at.iter().map(move |f| (t, f))) {
            for (a, a_at, b, b_at) in [(from, from_at, to, to_at), (to, to_at, from, from_at)] {
                for cell in self.facts.objects.cells(a).to_vec() {
                    // Whatever lies at the same place of each element, only what is inside the region moves.
                    let last = last_start(len, cell.width);
                    let Some(distance) = cell.at.minus(a_at).clipped(0, last) else { continue };
                    for distance in distance.apart_in(b_at) {
                        let mut place = b_at.plus(distance);
                        if same && len.is_none() {
                            // Moved along its own object, again and again perhaps: every place at that distance. (A
                            // region of known length has an end.)
                            let shift = gcd(b_at.minus(a_at).m, b_at.minus(a_at).k.unsigned_abs());
                            place = Strided::unbounded(place.k, gcd(place.m, shift));
                        }
                        let content = self.facts.objects.cell(b, place, cell.width);
                        self.facts.objects.moved(content, cell.content);
                    }
                }
            }
        }
    }

    /// Whether a pointer is an invented address, which reaches nothing: where every empty `Vec` has its elements.
    pub(super) fn is_invented(&self, value: Value) -> bool {
        matches!(self.func.def_op(value), Some(Op::Cast(CastOp::IntToPtr, from)) if self.func.as_const(*from).is_some())
    }

    pub(super) fn terminator(&mut self, term: &Terminator) {
        for (index, target) in term.targets().iter().enumerate().filter(|(_, t)| self.shape.scope.contains(t.block)) {
            let bounds = ranges::on_edge(self.func, term, index);
            for (arg, param) in target.args.iter().zip(&self.func.block(target.block).params) {
                if self.shape.joins(self.func, target.block, *param) {
                    self.assign(self.slot(*param), *arg, &bounds);
                } else {
                    self.set_offset(*param, Strided::ANY);
                }
            }
        }
        match term {
            Terminator::Return(Some(value)) if self.func.ty(*value).is_int() => self.carry((self.id, None), *value),
            Terminator::Return(Some(value)) => self.assign((self.id, None), *value, &[]),
            _ => {}
        }
    }
}
