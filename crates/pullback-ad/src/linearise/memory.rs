//! Memory and calls in the augmented primal: where primal memory is made, read, written and given back, so is shadow
//! memory.
//!
//! In reverse mode the shadow of a float is a cotangent that belongs to the reverse sweep, so the forward sweep writes
//! shadow pointers only. In forward mode a shadow mirrors its primal in everything but the floats.

use crate::analysis::activity::holds_float;
use crate::analysis::points_to::lanes::Lane;
use crate::analysis::points_to::objects::{ObjId, Property};
use crate::analysis::types::unseen::{has_floats_of_two_widths, is_part};
use crate::error::Result;
use crate::linearise::augment::Augmenter;
use crate::linearise::linear::{Beside, Linear};
use crate::runtime::HEAP_ALLOC;
use crate::session::cotangent_type;
use pullback_ir::{CastOp, FuncId, Inst, InstData, IntPred, Op, Type, Value};

/// How many bytes of a shared value count its owners: strong ones and weak ones.
const COUNTS: u32 = 16;

impl Augmenter<'_, '_> {
    pub(super) fn object(&self, old: Value) -> Option<ObjId> {
        self.session.facts.object(self.id, old)
    }

    pub(crate) fn memory(&mut self, data: &InstData) -> Result<()> {
        let mirrors = self.out.tape.is_none();
        match data.op {
            Op::Load { ptr, align } => self.load(data, ptr, align),
            Op::Store { ptr, value, align } if mirrors => self.mirror_store(data, ptr, value, align),
            Op::Store { ptr, value, align } => self.store(data, ptr, value, align),
            Op::Copy { .. } => self.copy(data),
            Op::Fill { .. } if mirrors => self.mirror_fill(data),
            Op::Fill { dst, len, align, .. } => self.fill(data, dst, len, align),
            Op::Alloca { size, align } => self.alloca(data, size, align),
            Op::Alloc { size, align, func, .. } => self.alloc(data, size, align, func),
            Op::Dealloc { ptr, size, align, func } => self.dealloc(data, ptr, size, align, func),
            _ => unreachable!("not a memory instruction"),
        }
    }

    pub(super) fn push(&mut self, op: Op, ty: Option<Type>, data: &InstData) -> Inst {
        self.builder().with_loc(data.loc).push(op, ty)
    }

    /// What may lie in the shadow of an old pointer: of so many bytes there, or anywhere in its object.
    pub(super) fn beside(&self, ptr: Value, width: Option<u64>) -> Beside {
        let Some(object) = self.object(ptr) else { return Beside::Floats };
        let facts = self.session.facts;
        Beside::of(&facts.objects, object, &facts.offset(self.id, ptr), width)
    }

    /// What lies in each of these places.
    pub(super) fn load_each(&mut self, data: &InstData, places: &[Value], align: u64, ty: &Type) -> Vec<Value> {
        let mut b = self.builder().with_loc(data.loc);
        places.iter().map(|place| b.value(Op::Load { ptr: *place, align }, ty.clone())).collect()
    }

    pub(super) fn load(&mut self, data: &InstData, ptr: Value, align: u64) -> Result<()> {
        let inst = self.copy_instruction(data);
        let old_result = data.result.expect("a load has a result");
        let result = self.func.result(inst);
        if *self.old.ty(old_result) == Type::Ptr && self.has_shadow(old_result) {
            let places = self.shadow(ptr)?;
            let shadows = self.load_each(data, &places, align, &Type::Ptr);
            let object = self.object(ptr).expect("a pointer with a shadow has an object");
            if self.is_covered(object, ptr, align) {
                // In the reverse sweep there may be a cotangent.
                self.out.pinned.extend(&shadows);
            }
            self.bind_shadows(old_result, result, shadows);
        } else if self.session.is_word(self.id, old_result) && !self.is_plain_float(ptr, align) {
            self.load_word(data, inst)?;
        } else if self.session.active.is_active(self.id, old_result) {
            let places = self.shadow(ptr)?;
            let beside = self.beside(ptr, Some(self.old.ty(old_result).size()));
            self.linear(inst, Linear::Load(result, places, beside));
        } else if self.is_mirrored_word(old_result) {
            self.load_word(data, inst)?;
        }
        Ok(())
    }

    /// A store in reverse mode: shadow pointers are stored beside pointers, cotangents are the reverse sweep's.
    fn store(&mut self, data: &InstData, ptr: Value, value: Value, align: u64) -> Result<()> {
        let inst = self.copy_instruction(data);
        if !self.has_shadow(ptr) {
            return Ok(());
        }
        let ty = self.old.ty(value).clone();
        let object = self.object(ptr).expect("a pointer with a shadow has an object");
        // The shadow's skipped fields are not the derivative's: it does not write them.
        if self.holds_inert(ptr) && self.is_inert(object, ptr, align, ty.size()) {
            return Ok(());
        }
        if self.is_mixed(object, ptr, align, ty.size()) || ty == Type::Ptr && self.is_covered(object, ptr, align) {
            return self.store_word(data, inst, ptr, value);
        }
        let is_word = self.session.is_word(self.id, value);
        if is_word && !self.is_plain_float(ptr, align) {
            // A pointer, or a number.
            let words = self.shadow_values(value)?;
            let shadows = words.into_iter().map(|w| self.builder().cast(CastOp::IntToPtr, w, Type::Ptr)).collect();
            return self.store_shadows(data, inst, ptr, shadows, align);
        }
        if holds_float(&ty) || is_word {
            if self.session.active.is_active_object(object) {
                self.uncover(data, inst, object, ptr, &ty)?;
                self.store_float(inst, ptr, value, &ty)?;
            }
            return Ok(());
        }
        if ty == Type::Ptr {
            if self.has_shadow(value) {
                let shadows = self.shadow(value)?;
                self.store_shadows(data, inst, ptr, shadows, align)?;
            }
            return Ok(());
        }
        // An integer over floats: what is read back as a float is a constant. A part of one is no float any more, and
        // has no cotangent.
        let at = self.session.facts.place(self.id, ptr, align);
        let over_floats = self.is_over_floats(object, ptr, align, &ty);
        if over_floats && !is_part(self.session.facts, self.id, ptr, align, ty.size()) {
            let len = self.func.i64(ty.size() as i64);
            let lanes = self.lanes(object, ptr, align, Some(ty.size()))?;
            let dst = self.shadow(ptr)?;
            self.zero_tangents(inst, dst, len, lanes.floats);
        } else if !over_floats && has_floats_of_two_widths(&self.session.facts.objects, object, &at, ty.size()) {
            let (len, dst) = (self.func.i64(ty.size() as i64), self.shadow(ptr)?);
            self.zero_tangents(inst, dst, len, vec![Lane { offset: 0, stride: 0, width: ty.size(), last: 0 }]);
        }
        Ok(())
    }

    /// The linear operation of a float that is stored where active floats lie.
    pub(super) fn store_float(&mut self, inst: Inst, ptr: Value, value: Value, ty: &Type) -> Result<()> {
        let (ty, shadow) = (cotangent_type(ty), self.shadow(ptr)?);
        let value = self.active(value);
        self.linear(inst, Linear::Store { value, ty, shadow });
        Ok(())
    }

    /// Whether a place is in bytes that take no part.
    pub(super) fn is_inert(&self, object: ObjId, ptr: Value, align: u64, width: u64) -> bool {
        let at = self.session.facts.place(self.id, ptr, align);
        self.session.facts.objects.all_marked(object, Property::Inert, &at, width)
    }

    /// Shadow pointers are stored; in memory that the caller sees the reverse sweep puts back what was there.
    fn store_shadows(&mut self, data: &InstData, inst: Inst, ptr: Value, stored: Vec<Value>, align: u64) -> Result<()> {
        let places = self.shadow(ptr)?;
        if self.belongs_to_caller(ptr) {
            let old = self.load_each(data, &places, align, &Type::Ptr);
            self.linear(inst, Linear::Restore { shadow: places.clone(), old });
        }
        for (place, value) in places.into_iter().zip(stored) {
            self.push(Op::Store { ptr: place, value, align }, None, data);
        }
        Ok(())
    }

    /// Whether a pointer may reach an argument's memory.
    pub(super) fn belongs_to_caller(&self, ptr: Value) -> bool {
        self.object(ptr).is_some_and(|o| !self.session.facts.objects.origins(o).args.is_empty())
    }

    fn alloca(&mut self, data: &InstData, size: u64, align: u64) -> Result<()> {
        let old_result = data.result.expect("an alloca has a result");
        let keep = self.form.is_apart() && self.out.tape.is_some();
        let bytes = self.func.i64(size as i64);
        // The reverse function of a callee runs when the callee's own stack is gone: such memory lives on the tape.
        let place = |this: &mut Self, made: &[Value]| match this.out.tape {
            Some(tape) if keep => {
                let number = this.out.pushed.len() + made.len();
                let site = this.session.target().site(&this.func.name, &format!("memory {number}"));
                let op = this.session.runtime.push.op(&mut this.func, tape, bytes, site);
                this.prologue_value(op, Type::Ptr)
            }
            _ => this.prologue_value(Op::Alloca { size, align }, Type::Ptr),
        };
        let new = place(self, &[]);
        let mut made = vec![new];
        self.bind(old_result, new);
        if self.has_shadow(old_result) {
            let mut shadows = Vec::new();
            for _ in 0..self.width() {
                let shadow = place(self, &made);
                self.zero_fill(shadow, size, align);
                made.push(shadow);
                shadows.push(shadow);
            }
            self.bind_shadows(old_result, new, shadows);
        }
        if keep {
            for ptr in made {
                self.out.pushed.push((ptr, size));
            }
        } else {
            self.out.stack.extend(made);
        }
        Ok(())
    }

    fn alloc(&mut self, data: &InstData, size: Value, align: Value, func: FuncId) -> Result<()> {
        let inst = self.copy_instruction(data);
        let old_result = data.result.expect("an allocation has a result");
        if !self.has_shadow(old_result) {
            return Ok(());
        }
        let result = self.func.result(inst);
        let object = self.object(old_result).expect("a pointer with a shadow has an object");
        let (size, align) = (self.shadow_size(data, result, size, func), self.get(align));
        let shadows = match self.out.tape {
            Some(tape) => {
                let callee = self.session.runtime.shadow_alloc;
                let args = vec![tape, size, align];
                (0..self.width()).map(|_| self.builder().call(callee, args.clone(), Type::Ptr)).collect()
            }
            None => {
                if self.session.facts.objects.is_marked(object, Property::Owners) {
                    // The counts are at the beginning; they begin with no owners, see `store_owners`.
                    let counts = self.func.as_int(size).map_or(0, |size| size.min(COUNTS.into()));
                    let counts = self.func.i64(counts as i64);
                    self.zeros(data, result, counts);
                }
                let op = Op::Alloc { size, align, zeroed: false, func };
                (0..self.width())
                    .map(|_| {
                        let shadow = self.shadow_pointer(data, op.clone());
                        self.zeros(data, shadow, size);
                        shadow
                    })
                    .collect()
            }
        };
        self.bind_shadows(old_result, result, shadows);
        Ok(())
    }

    /// How many bytes the shadow of new memory has: none if there is no memory. In forward mode the program's allocator is
    /// asked for them, which must not be asked for none: a byte then. (Where a few bytes could not be had, no
    /// program goes on; and what lies at the first addresses is nobody's.) What C's heap gives out may be copied by as
    /// many bytes as it has, see `pullback::rt::heap`.
    fn shadow_size(&mut self, data: &InstData, memory: Value, size: Value, func: FuncId) -> Value {
        const FEW: i128 = 4096;
        if HEAP_ALLOC.contains(&self.session.module.func(func).name.as_str()) {
            let callee = self.session.runtime.heap_size;
            return self.builder().with_loc(data.loc).call(callee, vec![memory], Type::I64);
        }
        let size = self.get(size);
        if self.func.as_int(size).is_some_and(|size| (0..=FEW).contains(&size)) {
            return size;
        }
        let least = i64::from(self.out.tape.is_none());
        let (null, none) = (self.func.zero(&Type::Ptr), self.func.i64(least));
        let mut b = self.builder().with_loc(data.loc);
        let is_there = b.icmp(IntPred::Ne, memory, null);
        b.select(is_there, size, none)
    }

    fn zeros(&mut self, data: &InstData, dst: Value, len: Value) {
        let byte = self.func.int(Type::I8, 0);
        self.push(Op::Fill { dst, byte, len, align: 1 }, None, data);
    }

    fn dealloc(&mut self, data: &InstData, ptr: Value, size: Value, align: Value, func: FuncId) -> Result<()> {
        match self.out.tape {
            Some(tape) => {
                let args = vec![tape, self.get(ptr), self.get(size), self.get(align)];
                let callee = self.session.runtime.defer_dealloc;
                self.builder().call_void(callee, args);
            }
            None => {
                self.copy_instruction(data);
                if self.has_shadow(ptr) {
                    let (size, align) = (self.get(size), self.get(align));
                    for ptr in self.shadow(ptr)? {
                        self.push(Op::Dealloc { ptr, size, align, func }, None, data);
                    }
                }
            }
        }
        Ok(())
    }
}
