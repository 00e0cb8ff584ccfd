//! What an instruction, and the end of a block, says of pointers, integers and memory.

use super::{Pass, joined};
use crate::analysis::points_to::facts::{kind_of, may_carry};
use crate::analysis::points_to::lanes::last_start;
use crate::analysis::points_to::numbers;
use crate::analysis::points_to::objects::{Kinds, Origins};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::ranges::{self};
use crate::analysis::points_to::strided::{Strided, gcd};
use crate::analysis::types::unseen;
use crate::runtime::TapeUse;
use pullback_ir::Value;
use pullback_ir::{CastOp, Flags, Inst, Op, Terminator, Type};

impl Pass<'_> {
    pub(super) fn instruction(&mut self, inst: Inst) {
        let data = self.func.inst(inst);
        let result = data.result;
        if let Some(cleanup) = data.op.cleanup()
            && self.facts.functions.contains(&cleanup.func)
        {
            self.join_arguments(&cleanup.args, cleanup.func);
            self.join_contents(&cleanup.args, cleanup.func);
        }
        match &data.op {
            op if matches!(op, Op::Alloca { .. } | Op::Alloc { .. })
                || TapeUse::of(self.module, self.func, op) == Some(TapeUse::Keep) =>
            {
                let object = match self.values().site.get(&inst) {
                    Some(object) => *object,
                    None => {
                        let heap = !matches!(data.op, Op::Alloca { .. });
                        let object = self.facts.objects.add(Origins { local: true, heap, ..Origins::default() });
                        self.values().site.insert(inst, object);
                        object
                    }
                };
                let result = result.expect("an allocation has a result");
                self.set_object(result, object);
                self.set_offset(result, Offsets::zero());
            }
            Op::PtrAdd(base, offset) => {
                let result = result.expect("an address has a result");
                if let Some((object, at)) = self.pointer(*base) {
                    self.set_object(result, object);
                    if let Some(mut offset) = self.bytes(*offset) {
                        if data.flags.contains(Flags::NUW) {
                            offset = offset.within(0, i64::MAX);
                        }
                        self.set_offset(result, at.plus(&offset));
                    }
                }
            }
            Op::Load { ptr, align } => self.access(*ptr, result.expect("a load has a result"), *align),
            Op::Store { ptr, value, align } => {
                self.access(*ptr, *value, *align);
                if self.func.ty(*value).is_int() && !self.is_moved(*value) {
                    self.write_over(*ptr, Some(self.func.ty(*value).size()), *align);
                }
            }
            Op::Copy { dst, src, len, align, .. } => self.copy(*dst, *src, *len, *align),
            Op::Select(c, a, b) => {
                let result = result.expect("a select has a result");
                self.assign(result, *a, &ranges::implied(self.func, *c, true));
                self.assign(result, *b, &ranges::implied(self.func, *c, false));
            }
            Op::Freeze(a) => self.assign(result.expect("a freeze has a result"), *a, &[]),
            Op::Cast(op, a) => self.cast(*op, *a, result.expect("a cast has a result")),
            Op::Bin(op, a, b) if !op.is_float() => {
                if let Some(addresses) = self.shape.subtracted(self.func, &data.op) {
                    // What does not reach one object yet may do so later; in the end nothing is known of the others.
                    if let Some(distance) = self.distance(addresses) {
                        // Addresses within one object are no further apart than a positive number says.
                        let forwards = data.flags.contains(Flags::NUW);
                        let distance = if forwards { distance.within(0, i64::MAX) } else { distance };
                        self.set_offset(result.expect("arithmetic has a result"), distance);
                    }
                    return;
                }
                let (Some(x), Some(y)) = (self.interval(*a), self.interval(*b)) else { return };
                let result = result.expect("arithmetic has a result");
                if let Some(bits) = self.bits(result) {
                    self.set_offset(result, numbers::binary(*op, data.flags, bits, &x, &y));
                }
            }
            Op::Intrinsic(name, args) if result.is_some_and(|r| self.func.ty(r).is_int()) => {
                // Of the operands that are no integers nothing becomes known.
                let known =
                    |a: &Value| if self.func.ty(*a).is_int() { self.interval(*a) } else { Some(Offsets::any()) };
                let args: Option<Vec<Offsets>> = args.iter().map(known).collect();
                let result = result.expect("just looked");
                if let (Some(args), Some(bits)) = (args, self.bits(result)) {
                    self.set_offset(result, numbers::intrinsic(name, bits, &args));
                }
            }
            op if let Some(tape) = TapeUse::of(self.module, self.func, op) => self.tape(tape, &op.operands(), result),
            Op::Call(callee, args, _) => self.call(*callee, args, result),
            Op::InsertValue(into, value, i) => {
                let result = result.expect("an aggregate has a result");
                self.assign(result, *into, &[]);
                let first = self.func.ty(result).first_leaf(*i as usize);
                match self.func.ty(*value) {
                    Type::Ptr => {
                        if let Some((object, offset)) = self.pointer(*value) {
                            self.set_field(result, first as u32, object, offset);
                        }
                    }
                    ty @ Type::Struct(_) => self.assign_leaves((result, first), (*value, 0), ty.leaves().len()),
                    _ => {}
                }
            }
            Op::ExtractValue(from, i) => {
                let result = result.expect("a field has a result");
                let first = self.func.ty(*from).first_leaf(*i as usize);
                match self.func.ty(result) {
                    Type::Ptr => {
                        if let Some((object, offset)) = self.values().fields.get(&(*from, first as u32)).cloned() {
                            self.set_object(result, object);
                            self.set_offset(result, offset);
                        }
                    }
                    ty @ Type::Struct(_) => self.assign_leaves((result, 0), (*from, first), ty.leaves().len()),
                    Type::Int(_) => self.set_offset(result, Strided::ANY),
                    _ => {}
                }
            }
            Op::Fill { dst, len, align, .. } => {
                self.write_over(*dst, self.func.as_int(*len).map(|n| n as u64), *align);
            }
            Op::Dealloc { .. } => {}
            _ => {
                if let Some(result) = result {
                    match self.func.ty(result) {
                        Type::Int(_) => self.set_offset(result, Strided::ANY),
                        Type::Ptr => {
                            self.foreign(result);
                            // It may be one of its operands.
                            let operands = match &data.op {
                                Op::Opaque(opaque) => opaque.args.clone(),
                                op => op.operands(),
                            };
                            for operand in operands {
                                if *self.func.ty(operand) == Type::Ptr
                                    && let Some((object, _)) = self.pointer(operand)
                                {
                                    self.set_object(result, object);
                                    self.set_offset(result, Strided::ANY);
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
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
        let object = match self.facts.sites.get(&site) {
            Some(object) => *object,
            None => {
                let object = self.facts.objects.add(Origins { local: true, ..Origins::default() });
                self.facts.sites.insert(site, object);
                object
            }
        };
        self.set_object(result, object);
        self.set_offset(result, Offsets::zero());
    }

    pub(super) fn foreign(&mut self, result: Value) {
        if self.values().object[result.index()].is_none() {
            let object = self.facts.objects.add(Origins { foreign: true, ..Origins::default() });
            self.set_object(result, object);
            self.set_offset(result, Strided::ZERO);
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
                    self.set_object(to, object);
                    self.set_offset(to, at);
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
        let op = self.func.def_inst(value).map(|inst| &self.func.inst(inst).op);
        matches!(op, Some(Op::Cast(CastOp::IntToPtr, from)) if self.func.as_const(*from).is_some())
    }

    pub(super) fn terminator(&mut self, term: &Terminator) {
        for (index, target) in term.targets().iter().enumerate().filter(|(_, t)| self.shape.scope.contains(t.block)) {
            let bounds = ranges::on_edge(self.func, term, index);
            let params = self.func.block(target.block).params.clone();
            for (arg, param) in target.args.iter().zip(params) {
                if self.shape.joins(self.func, target.block, param) {
                    self.assign(param, *arg, &bounds);
                } else {
                    self.set_offset(param, Strided::ANY);
                }
            }
        }
        if let Terminator::Return(Some(value)) = term
            && self.is_moved(*value)
        {
            let ours = self.content(*value);
            match self.values().ret_content {
                Some(old) => self.facts.objects.unify_contents(old, ours),
                None => {
                    self.values().ret_content = Some(ours);
                    self.changed = true;
                }
            }
        }
        if let Terminator::Return(Some(value)) = term
            && let ty @ Type::Struct(_) = self.func.ty(*value)
        {
            for i in 0..ty.leaves().len() as u32 {
                let Some((object, offset)) = self.values().fields.get(&(*value, i)).cloned() else { continue };
                let old = self.values().ret_fields.get(&i).cloned();
                let new = joined(&mut self.facts.objects, old.clone(), object, offset);
                if old.as_ref() != Some(&new) {
                    self.values().ret_fields.insert(i, new);
                    self.changed = true;
                }
            }
        }
        if let Terminator::Return(Some(value)) = term
            && *self.func.ty(*value) == Type::Ptr
            && let Some((object, offset)) = self.pointer(*value)
        {
            let old = self.values().ret.clone();
            let new = joined(&mut self.facts.objects, old.clone(), object, offset);
            if old.as_ref() != Some(&new) {
                self.values().ret = Some(new);
                self.changed = true;
            }
        }
    }
}
