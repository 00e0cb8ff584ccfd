//! Memory and calls in the augmented primal: where primal memory is made, read, written and given back, so is shadow
//! memory.
//!
//! In reverse mode the shadow of a float is a cotangent that belongs to the reverse sweep, so the forward sweep writes
//! shadow pointers only. In forward mode a shadow mirrors its primal in everything but the floats.

use crate::analysis::activity::{float_cells, holds_float};
use crate::analysis::points_to::lanes::{Lane, Lanes, Unclear, lanes, meet};
use crate::analysis::points_to::objects::{Kinds, ObjId, Property};
use crate::analysis::points_to::strided::Strided;
use crate::analysis::types::unseen::is_part;
use crate::error::{Error, ErrorKind, Result};
use crate::linearise::augment::Augmenter;
use crate::linearise::linear::{Beside, CopiedWord, Linear};
use crate::session::cotangent_type;
use pullback_ir::{Builder, CastOp, Constant, Flags, FuncId, Inst, InstData, IntPred, Op, Type, Value};
use std::collections::BTreeSet;

/// Regions up to this many bytes are copied lane by lane in line.
const INLINE_BYTES: u64 = 128;

/// In larger regions than this, skipped fields that lie side by side with others are not looked for.
const MOST_BYTES: u64 = 4096;

/// How many bytes of a shared value count its owners: strong ones and weak ones.
const COUNTS: u32 = 16;

impl Augmenter<'_, '_> {
    fn object(&self, old: Value) -> Option<ObjId> {
        self.session.facts.object(self.id, old)
    }

    pub(crate) fn memory(&mut self, data: &InstData) -> Result<()> {
        match data.op {
            Op::Load { ptr, align } => self.load(data, ptr, align),
            Op::Store { ptr, value, align } => self.store(data, ptr, value, align),
            Op::Copy { dst, src, len, may_overlap, .. } => self.copy(data, dst, src, len, may_overlap),
            Op::Fill { dst, len, .. } => self.fill(data, dst, len),
            Op::Alloca { size, align } => self.alloca(data, size, align),
            Op::Alloc { size, align, func, .. } => self.alloc(data, size, align, func),
            Op::Dealloc { ptr, size, align, func } => self.dealloc(data, ptr, size, align, func),
            _ => unreachable!("not a memory instruction"),
        }
    }

    fn push(&mut self, op: Op, ty: Option<Type>, data: &InstData) -> Inst {
        let inst = self.func.make_inst(op, ty, Flags::NONE, data.loc);
        self.func.block_mut(self.block).insts.push(inst);
        inst
    }

    /// What may lie in the shadow of an old pointer: of so many bytes there, or anywhere in its object.
    fn beside(&self, ptr: Value, width: Option<u64>) -> Beside {
        let Some(object) = self.object(ptr) else { return Beside::Floats };
        self.session.beside(object, &self.session.facts.offset(self.id, ptr), width)
    }

    /// The floats of a region become constants.
    fn zero_tangents(&mut self, inst: Inst, dst: Vec<Value>, len: Value, floats: Vec<Lane>) {
        self.linear(inst, Linear::Copy { dst, src: None, len, floats, beside: Beside::Floats });
    }

    fn load(&mut self, data: &InstData, ptr: Value, align: u64) -> Result<()> {
        let inst = self.copy_instruction(data);
        let old_result = data.result.expect("a load has a result");
        let result = self.func.inst(inst).result.expect("a load has a result");
        if *self.old.ty(old_result) == Type::Ptr && self.has_shadow(old_result) {
            let mut shadows = Vec::new();
            for place in self.shadow(ptr)? {
                let inst = self.push(Op::Load { ptr: place, align }, Some(Type::Ptr), data);
                shadows.push(self.func.inst(inst).result.expect("a load has a result"));
            }
            let object = self.object(ptr).expect("a pointer with a shadow has an object");
            if self.is_covered(object, ptr, align) {
                // In the reverse sweep there may be a cotangent.
                self.out.pinned.extend(&shadows);
            }
            self.bind_shadows(old_result, result, shadows);
        } else if self.session.is_word(self.id, old_result) && !self.is_plain_float(ptr, align) {
            self.load_word(data, inst, ptr, old_result, result)?;
        } else if self.session.active.is_active(self.id, old_result) {
            let places = self.shadow(ptr)?;
            let beside = self.beside(ptr, Some(self.old.ty(old_result).size()));
            self.linear(inst, Linear::Load(result, places, beside));
        } else if self.is_forward() && self.session.facts.is_word(self.id, self.old.ty(old_result), old_result) {
            // Whether it is a number or a constant float, its shadow knows.
            self.load_word(data, inst, ptr, old_result, result)?;
        }
        Ok(())
    }

    /// A word comes with its shadow: in the forward sweep zero, unless it is a pointer.
    fn load_word(&mut self, data: &InstData, inst: Inst, ptr: Value, old_result: Value, result: Value) -> Result<()> {
        if !self.has_shadow(ptr) {
            return Ok(());
        }
        let Op::Load { align, .. } = data.op else { unreachable!("this is a load") };
        let mixed = self.object(ptr).is_some_and(|object| self.is_mixed(object, ptr, align, 8));
        if !self.is_forward() && mixed {
            self.own_memory(ptr)?;
        }
        let ty = self.old.ty(old_result).clone();
        let places = self.shadow(ptr)?;
        let mut words = Vec::new();
        for place in &places {
            let inst = self.push(Op::Load { ptr: *place, align }, Some(ty.clone()), data);
            words.push(self.func.inst(inst).result.expect("a load has a result"));
        }
        self.set_companion(old_result, result, words.clone());
        if !self.is_forward() && mixed {
            self.out.pinned.extend(&words);
            if self.session.active.is_active(self.id, old_result) {
                self.linear(inst, Linear::WordLoad { result, shadow: places, words });
            }
        }
        Ok(())
    }

    fn store(&mut self, data: &InstData, ptr: Value, value: Value, align: u64) -> Result<()> {
        if self.is_forward() && self.has_shadow(ptr) && self.counts_owners(ptr, align, self.old.ty(value).size()) {
            return self.store_owners(data, ptr, value, align);
        }
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
        if !self.is_forward() && self.is_mixed(object, ptr, align, ty.size()) {
            return self.store_word(data, inst, ptr, value, &ty);
        }
        if ty == Type::Ptr && self.is_covered(object, ptr, align) {
            return self.store_word(data, inst, ptr, value, &ty);
        }
        if self.is_forward() && self.session.is_word(self.id, value) {
            let words = self.companion(value)?;
            for (place, value) in self.shadow(ptr)?.into_iter().zip(words) {
                self.push(Op::Store { ptr: place, value, align }, None, data);
            }
            return Ok(());
        }
        let is_word = self.session.is_word(self.id, value);
        if is_word && !self.is_plain_float(ptr, align) {
            // A pointer, or a number.
            let words = self.companion(value)?;
            let shadows = words.into_iter().map(|w| self.builder().cast(CastOp::IntToPtr, w, Type::Ptr)).collect();
            return self.store_shadows(data, inst, ptr, shadows, align);
        }
        if self.is_number_as_float(value) {
            let new = self.get(value);
            for place in self.shadow(ptr)? {
                self.push(Op::Store { ptr: place, value: new, align }, None, data);
            }
            return Ok(());
        }
        if holds_float(&ty) || is_word {
            if self.session.active.is_active_object(object) {
                self.uncover(data, inst, object, ptr, &ty)?;
                let ty = cotangent_type(&ty);
                let shadow = self.shadow(ptr)?;
                let value = self.session.active.is_active(self.id, value).then(|| self.values[&value]);
                self.linear(inst, Linear::Store { value, ty, shadow });
            }
            return Ok(());
        }
        if ty == Type::Ptr {
            return self.store_pointer(data, inst, ptr, value, align);
        }
        // An integer over floats: what is read back as a float is a constant.
        let at = self.session.facts.place(self.id, ptr, align);
        if self.session.active.is_active_object(object) && float_cells(self.session.facts, object, &at, ty.size()) {
            if self.is_forward() {
                // A number in an enum's payload, or the bits of a constant float, which has no tangent.
                if !self.has_tangent(value) && !self.is_number(value) {
                    self.refuse_constant(object, ptr, align, Some(ty.size()))?;
                }
                // Where a layout says that a float is, even a computed number is the bits of one.
                let is_bits = !self.has_tangent(value) && self.is_declared_float(object, ptr, align, ty.size());
                let number = if self.has_tangent(value) || is_bits {
                    None
                } else {
                    let objects = &self.session.facts.objects;
                    let mut there =
                        objects.cells(object).iter().filter(|c| at.overlaps(ty.size(), &c.at.into(), c.width));
                    let is_seen = there.any(|cell| self.session.is_seen(cell.content));
                    self.mirrored(value, is_seen)
                };
                let stored = match number {
                    Some(number) => vec![number; self.width()],
                    None if is_bits => vec![self.func.zero(&ty); self.width()],
                    None => self.companion(value)?,
                };
                for (place, value) in self.shadow(ptr)?.into_iter().zip(stored) {
                    self.push(Op::Store { ptr: place, value, align }, None, data);
                }
                return Ok(());
            }
            if is_part(self.session.facts, self.id, ptr, align, ty.size()) {
                // What is there now is no float, and has no cotangent.
                return Ok(());
            }
            let len = self.func.i64(ty.size() as i64);
            let lanes = self.lanes(object, ptr, align, Some(ty.size()))?;
            let dst = self.shadow(ptr)?;
            self.zero_tangents(inst, dst, len, lanes.floats);
        } else if self.is_forward() {
            let new = self.get(value);
            for place in self.shadow(ptr)? {
                self.push(Op::Store { ptr: place, value: new, align }, None, data);
            }
        }
        Ok(())
    }

    /// Whether a place may be in bytes that count the owners of an object.
    fn counts_owners(&self, ptr: Value, align: u64, width: u64) -> bool {
        let at = self.session.facts.place(self.id, ptr, align);
        self.object(ptr).is_some_and(|o| self.session.facts.objects.some_marked(o, Property::Owners, &at, width))
    }

    /// The owners of an object are counted, in forward mode: as many as come or go here, come or go in the shadow. The
    /// primal may have others, which have no shadow, or more of them.
    fn store_owners(&mut self, data: &InstData, ptr: Value, value: Value, align: u64) -> Result<()> {
        let (at, object) = (self.session.facts.place(self.id, ptr, align), self.object(ptr));
        let objects = &self.session.facts.objects;
        let exact = object.is_some_and(|object| objects.all_marked(object, Property::Owners, &at, 8));
        if !exact || *self.old.ty(value) != Type::I64 {
            return Err(Error::new(
                ErrorKind::UnknownType,
                "something is written that may be the count of an `Rc`, or a number beside it",
            )
            .label("written here"));
        }
        let primal = self.get(ptr);
        let before = self.push(Op::Load { ptr: primal, align }, Some(Type::I64), data);
        let before = self.func.inst(before).result.expect("a load has a result");
        let (after, callee) = (self.get(value), self.session.runtime.recount);
        for place in self.shadow(ptr)? {
            self.builder().call_void(callee, vec![place, before, after]);
        }
        self.copy_instruction(data);
        Ok(())
    }

    /// Whether a place is in bytes that take no part.
    fn is_inert(&self, object: ObjId, ptr: Value, align: u64, width: u64) -> bool {
        let at = self.session.facts.place(self.id, ptr, align);
        self.session.facts.objects.all_marked(object, Property::Inert, &at, width)
    }

    /// The bytes of a region that are not sure to be ones that take no part: where they start, and how many they are in
    /// a row.
    fn live_bytes(&self, object: ObjId, ptr: Value, align: u64, len: u64) -> Vec<(u64, u64)> {
        let objects = &self.session.facts.objects;
        let at = self.session.facts.place(self.id, ptr, align);
        if objects.all_marked(object, Property::Inert, &at, len) {
            return Vec::new();
        }
        if len > MOST_BYTES || !objects.some_marked(object, Property::Inert, &at, len) {
            return vec![(0, len)];
        }
        let mut rows: Vec<(u64, u64)> = Vec::new();
        for byte in 0..len {
            if objects.all_marked(object, Property::Inert, &at.plus(&Strided::exact(byte as i64).into()), 1) {
                continue;
            }
            match rows.last_mut() {
                Some((start, bytes)) if *start + *bytes == byte => *bytes += 1,
                _ => rows.push((byte, 1)),
            }
        }
        rows
    }

    /// A shadow's enum cannot become a constant one where its words are moved unseen: a tag has to be copied, a float
    /// must become zero, unless nobody reads it.
    fn refuse_constant(&self, object: ObjId, ptr: Value, align: u64, len: Option<u64>) -> Result<()> {
        if !self.may_return {
            return Ok(());
        }
        let at = self.session.facts.place(self.id, ptr, align);
        let objects = &self.session.facts.objects;
        let width = len.unwrap_or(i64::MAX as u64);
        let mut cells = objects.cells(object).iter();
        if cells.any(|c| objects.is_unseen(c.content) && at.overlaps(width, &c.at.into(), c.width)) {
            return Err(Error::new(
                ErrorKind::UnknownType,
                "a constant enum is moved to where enums are moved without a look at their variant",
            )
            .label("moved here")
            .note("its tag cannot be told from a float, whose tangent is zero")
            .help("match on it and move its payload variant by variant"));
        }
        Ok(())
    }

    /// The floats of a constant that goes to where floats lie at one time and pointers at another: their tangents are
    /// zero, and those of pointers are the pointers themselves.
    fn constant_floats(&self, src: Value, align: u64, len: Option<u64>) -> Result<Vec<Lane>> {
        let Some(object) = self.object(src) else { return Ok(Vec::new()) };
        let lanes = self.lanes(object, src, align, len)?;
        if lanes.mixed.is_empty() || !self.may_return {
            return Ok(lanes.floats);
        }
        Err(Error::new(
            ErrorKind::UnknownType,
            "a constant is moved of which it cannot be told whether it is a float or a pointer",
        )
        .label("moved here")
        .note("the tangent of a float is zero here, that of a pointer is not")
        .help("match on it and move its payload variant by variant"))
    }

    /// Whether a place holds floats, perhaps numbers, and never pointers: a word is read there like a float.
    fn is_plain_float(&self, ptr: Value, align: u64) -> bool {
        let Some(object) = self.object(ptr) else { return false };
        let at = self.session.facts.place(self.id, ptr, align);
        float_cells(self.session.facts, object, &at, 8) && !self.is_mixed(object, ptr, align, 8)
    }

    /// Whether a layout says that a place holds a float of this width.
    fn is_declared_float(&self, object: ObjId, ptr: Value, align: u64, width: u64) -> bool {
        let at = self.session.facts.place(self.id, ptr, align);
        let objects = &self.session.facts.objects;
        let mut touched = objects.cells(object).iter().filter(|c| at.overlaps(width, &c.at.into(), c.width)).peekable();
        let declared = |c: &crate::analysis::points_to::objects::Cell| {
            c.width == width && objects.is_declared(c.content) && objects.kinds(c.content).has_float()
        };
        touched.peek().is_some() && touched.all(declared)
    }

    /// Whether a place holds floats at one time and pointers at another.
    fn is_mixed(&self, object: ObjId, ptr: Value, align: u64, width: u64) -> bool {
        let at = self.session.facts.place(self.id, ptr, align);
        let objects = &self.session.facts.objects;
        let mixed = |c: &crate::analysis::points_to::objects::Cell| objects.kinds(c.content).is_mixed();
        objects.cells(object).iter().any(|c| mixed(c) && at.overlaps(width, &c.at.into(), c.width))
    }

    /// Whether a pointer is where narrower floats lie at another time (reverse mode).
    fn is_covered(&self, object: ObjId, ptr: Value, align: u64) -> bool {
        let at = self.session.facts.place(self.id, ptr, align);
        let objects = &self.session.facts.objects;
        let narrow =
            |c: &crate::analysis::points_to::objects::Cell| c.width < 8 && objects.kinds(c.content).has_float();
        !self.is_forward()
            && self.session.active.is_active_object(object)
            && objects.cells(object).iter().any(|c| narrow(c) && at.overlaps(8, &c.at.into(), c.width))
    }

    /// A float is stored where a part of a pointer lies at another time. What was the shadow of that becomes zero: it
    /// may be where the float's cotangent is going to be.
    fn uncover(&mut self, data: &InstData, inst: Inst, object: ObjId, ptr: Value, ty: &Type) -> Result<()> {
        if self.is_forward() {
            return Ok(());
        }
        let Op::Store { align, .. } = data.op else { unreachable!("this is a store") };
        let objects = &self.session.facts.objects;
        let at = self.session.facts.place(self.id, ptr, align);
        let pointers = objects
            .cells(object)
            .iter()
            .filter(|c| objects.kinds(c.content).contains(Kinds::PTR) && at.overlaps(ty.size(), &c.at.into(), c.width));
        // How many bytes before the float the pointer begins.
        let (least, at) = (1 - ty.size() as i64, &at);
        let mut before = pointers
            .flat_map(|c| at.iter().filter_map(move |at| at.minus(c.at).clipped(least, 7)))
            .map(Strided::single);
        let Some(first) = before.next() else { return Ok(()) };
        let half = |n: &i64| matches!(n, 0 | 4) && ty.size() == 4;
        let Some(first) = first.filter(half).filter(|first| before.all(|other| other == Some(*first))) else {
            return Err(Error::new(
                ErrorKind::UnknownType,
                "a float is stored of which it cannot be told where a pointer lies that it overlaps",
            )
            .label("stored here")
            .help("use the variants of the enum in memory of their own"));
        };
        self.own_memory(ptr)?;
        let (mut shadow, mut all) = (Vec::new(), Vec::new());
        for place in self.shadow(ptr)? {
            let mut b = self.builder();
            b.loc = data.loc;
            let place = b.offset(place, -first);
            let old = b.load(Type::I64, place);
            let zero = b.func.i64(0);
            b.store(place, zero);
            self.out.pinned.insert(old);
            shadow.push(place);
            all.push(old);
        }
        self.linear(inst, Linear::Uncover { shadow, old: all });
        Ok(())
    }

    /// Words that are pointers at one time and floats at another are only kept apart in the function's own memory,
    /// where the shadow of a float is zero during the forward sweep: a shadow that is not zero is then a pointer.
    fn own_memory(&self, ptr: Value) -> Result<()> {
        if !self.belongs_to_caller(ptr) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::UnknownType,
            "a word of an argument is overwritten that is a float in one variant and a pointer in another",
        )
        .note("its shadow cannot be told to be a cotangent or a shadow pointer")
        .help("build a new value instead of changing the argument's variant"))
    }

    /// A value is stored where floats lie at one time and pointers at another.
    fn store_word(&mut self, data: &InstData, inst: Inst, ptr: Value, value: Value, ty: &Type) -> Result<()> {
        self.own_memory(ptr)?;
        if ty.size() != 8 || matches!(ty, Type::Struct(_)) {
            return Err(Error::new(
                ErrorKind::UnknownType,
                "part of an enum's payload is written that overlaps a float and a pointer",
            ));
        }
        let is_word = self.session.is_word(self.id, value);
        let pointer = *ty == Type::Ptr && self.has_shadow(value);
        let stored = if pointer || is_word { self.companion(value)? } else { vec![self.func.i64(0); self.width()] };
        let active = self.session.active.is_active(self.id, value).then(|| self.values[&value]);
        for (lane, place) in self.shadow(ptr)?.into_iter().enumerate() {
            let mut b = self.builder();
            b.loc = data.loc;
            let old = b.load(Type::I64, place);
            b.store(place, stored[lane]);
            self.out.pinned.insert(old);
            // Only a word may be either; everything else is what it is.
            let word = if is_word { stored[lane] } else { self.func.i64(0) };
            self.linear(inst, Linear::WordStore { value: active, lane, shadow: place, word, old });
        }
        Ok(())
    }

    /// The words of a copied region (of a filled one, without a source) that are floats at one time and pointers at
    /// another.
    fn copy_words(
        &mut self,
        inst: Inst,
        (old_dst, old_src): (Value, Value),
        to: &[Value],
        from: Option<&[Value]>,
        len: (Value, Option<u64>),
        lanes: &[Lane],
    ) -> Result<()> {
        if lanes.is_empty() {
            return Ok(());
        }
        self.own_memory(old_dst)?;
        self.own_memory(old_src)?;
        match len.1.filter(|len| *len <= INLINE_BYTES) {
            Some(len) => {
                // Lanes may share places; what is in one is moved once.
                let places: BTreeSet<u64> = lanes.iter().flat_map(|l| l.places(len)).collect();
                self.copy_few_words(inst, to, from, &places);
            }
            None => self.copy_many_words(inst, to, from, len.0, lanes),
        }
        Ok(())
    }

    fn copy_few_words(&mut self, inst: Inst, to: &[Value], from: Option<&[Value]>, places: &BTreeSet<u64>) {
        // Read everything first: the regions may overlap.
        let mut moves = Vec::new();
        for at in places {
            for (lane, dst) in to.iter().enumerate() {
                let mut b = self.builder();
                let dst = b.offset(*dst, *at as i64);
                let old = b.load(Type::I64, dst);
                let source = from.map(|from| {
                    let src = b.offset(from[lane], *at as i64);
                    (src, b.load(Type::I64, src))
                });
                moves.push((lane, dst, old, source));
            }
        }
        let mut copied = Vec::new();
        for (lane, dst, old, source) in moves {
            let word = source.map_or_else(|| self.func.i64(0), |(_, word)| word);
            self.builder().store(dst, word);
            self.out.pinned.extend([old, word]);
            match source {
                Some((src, word)) => copied.push(CopiedWord { dst, src, word, old }),
                None => self.linear(inst, Linear::WordStore { value: None, lane, shadow: dst, word, old }),
            }
        }
        if !copied.is_empty() {
            self.linear(inst, Linear::WordCopy(copied));
        }
    }

    fn copy_many_words(&mut self, inst: Inst, to: &[Value], from: Option<&[Value]>, len: Value, lanes: &[Lane]) {
        let tape = self.out.tape.expect("words are copied in reverse mode, which has a tape");
        for lane in lanes {
            for (direction, dst) in to.iter().copied().enumerate() {
                let src = from.map(|from| from[direction]);
                let callee = self.session.runtime.copy_words;
                let mut b = self.builder();
                let null = b.func.constant(Type::Ptr, Constant::Null);
                let [bytes, stride, offset, width] = lane.operands(&mut b, len);
                b.call_void(callee, vec![tape, dst, src.unwrap_or(null), bytes, stride, offset, width]);
                self.linear(inst, Linear::WordCopies { dst, src, len, lane: *lane });
            }
        }
    }

    fn store_pointer(&mut self, data: &InstData, inst: Inst, ptr: Value, value: Value, align: u64) -> Result<()> {
        let stored = if self.has_shadow(value) {
            self.shadow(value)?
        } else if self.is_forward() {
            let new = self.get(value);
            vec![new; self.width()]
        } else {
            return Ok(());
        };
        self.store_shadows(data, inst, ptr, stored, align)
    }

    /// Shadow pointers are stored; in memory that the caller sees the reverse sweep puts back what was there.
    fn store_shadows(&mut self, data: &InstData, inst: Inst, ptr: Value, stored: Vec<Value>, align: u64) -> Result<()> {
        let places = self.shadow(ptr)?;
        if !self.is_forward() && self.belongs_to_caller(ptr) {
            let mut old = Vec::new();
            for place in &places {
                let inst = self.push(Op::Load { ptr: *place, align }, Some(Type::Ptr), data);
                old.push(self.func.inst(inst).result.expect("a load has a result"));
            }
            self.linear(inst, Linear::Restore { shadow: places.clone(), old });
        }
        for (place, value) in places.into_iter().zip(stored) {
            self.push(Op::Store { ptr: place, value, align }, None, data);
        }
        Ok(())
    }

    /// Whether a pointer may reach an argument's memory.
    fn belongs_to_caller(&self, ptr: Value) -> bool {
        self.object(ptr).is_some_and(|o| !self.session.facts.objects.origins(o).args.is_empty())
    }

    /// The lanes of a region that starts at an old pointer.
    fn lanes(&self, object: ObjId, ptr: Value, align: u64, len: Option<u64>) -> Result<Lanes> {
        let at = self.session.facts.place(self.id, ptr, align);
        lanes(&self.session.facts.objects, object, &at, len).map_err(|why| {
            let note = match why {
                Unclear::Mixed => "the same bytes hold a float in one place and something else in another (an enum whose variants overlap, or a union)",
                Unclear::Unaligned => "the region starts at an address of which too little is known to tell its fields apart",
            };
            Error::new(ErrorKind::UnknownType, "memory is copied whose content cannot be told to be float or not")
                .label("copied here")
                .note(note)
                .help("copy the fields one by one, or match on the enum before moving its payload")
        })
    }

    fn copy(&mut self, data: &InstData, dst: Value, src: Value, len: Value, may_overlap: bool) -> Result<()> {
        let inst = self.copy_instruction(data);
        if !self.has_shadow(dst) {
            return Ok(());
        }
        let Op::Copy { align, .. } = data.op else { unreachable!("this is a copy") };
        let known_len = self.old.as_int(len).map(|n| n as u64);
        let object = self.object(dst).expect("a pointer with a shadow has an object");
        let new_len = self.get(len);
        let from = if self.has_shadow(src) { Some(self.shadow(src)?) } else { None };
        let to = self.shadow(dst)?;
        if self.is_forward() {
            // As of a store. Where more than skipped fields is moved, they are moved along: nobody reads them.
            if known_len.is_some_and(|len| self.live_bytes(object, dst, align.0, len).is_empty()) {
                return Ok(());
            }
            match &from {
                // A shadow mirrors its primal, so it is copied as a whole.
                Some(from) => {
                    let guarded = known_len.is_none() && self.may_lack_shadow(src);
                    for (dst, src) in to.iter().zip(from) {
                        let mut len = new_len;
                        if guarded {
                            len = self.fill_without_shadow(data, *dst, *src, len);
                        }
                        self.push(Op::Copy { dst: *dst, src: *src, len, may_overlap, align }, None, data);
                    }
                    // But what lies in skipped fields is constant.
                    if self.holds_inert(src) {
                        let lanes = self.lanes(object, dst, align.0, known_len)?;
                        let (_, inert) = self.live_lanes(&lanes.floats, src, align.1)?;
                        if !inert.is_empty() {
                            self.zero_tangents(inst, to, new_len, inert);
                        }
                    }
                }
                None => {
                    self.refuse_constant(object, dst, align.0, known_len)?;
                    let mut lanes = self.lanes(object, dst, align.0, known_len)?;
                    if !lanes.mixed.is_empty() {
                        lanes.floats.extend(self.constant_floats(src, align.1, known_len)?);
                    }
                    let src = self.get(src);
                    for dst in &to {
                        self.push(Op::Copy { dst: *dst, src, len: new_len, may_overlap, align }, None, data);
                    }
                    self.zero_tangents(inst, to, new_len, lanes.floats);
                }
            }
            return Ok(());
        }
        let mut lanes = self.lanes(object, dst, align.0, known_len)?;
        self.check_variants(object, src, &lanes, known_len)?;
        if from.is_some() && self.holds_inert(src) {
            let (live, inert) = self.live_lanes(&lanes.floats, src, align.1)?;
            lanes.floats = live;
            if self.session.active.is_active_object(object) && !inert.is_empty() {
                self.zero_tangents(inst, to.clone(), new_len, inert);
            }
        }
        let len = (new_len, known_len);
        match from {
            Some(from) if may_overlap && self.lanes_meet((dst, src), align, len, &lanes) => {
                let between = self.memory_between(new_len);
                self.copy_lanes(data, inst, (dst, src), &between, Some(from), len, &lanes)?;
                self.copy_lanes(data, inst, (dst, src), &to, Some(between), len, &lanes)
            }
            from => self.copy_lanes(data, inst, (dst, src), &to, from, len, &lanes),
        }
    }

    /// Whether a pointer may be to memory that a function without derivative has made, a string for example: the shadow
    /// of that is null.
    fn may_lack_shadow(&self, ptr: Value) -> bool {
        let origins = self.object(ptr).map(|object| self.session.facts.objects.origins(object));
        origins.is_some_and(|origins| origins.local || origins.foreign)
    }

    /// Make the shadow `dst` zero if there is no shadow `src` to copy from; how many bytes are left to be copied. (Zero
    /// is what has no shadow.)
    fn fill_without_shadow(&mut self, data: &InstData, dst: Value, src: Value, len: Value) -> Value {
        let (null, none) = (self.func.constant(Type::Ptr, Constant::Null), self.func.i64(0));
        let byte = self.func.int(Type::I8, 0);
        let mut b = self.builder();
        let is_missing = b.icmp(IntPred::Eq, src, null);
        let zeros = b.select(is_missing, len, none);
        let copied = b.select(is_missing, none, len);
        self.push(Op::Fill { dst, byte, len: zeros, align: 1 }, None, data);
        copied
    }

    /// Whether a region that is too large to be moved at once has lanes of which one may come to where another was.
    fn lanes_meet(
        &self,
        (dst, src): (Value, Value),
        align: (u64, u64),
        len: (Value, Option<u64>),
        lanes: &Lanes,
    ) -> bool {
        if self.object(dst) != self.object(src) || len.1.is_some_and(|len| len <= INLINE_BYTES) {
            return false;
        }
        let facts = self.session.facts;
        let (to, from) = (facts.place(self.id, dst, align.0), facts.place(self.id, src, align.1));
        let distances = to.combine(&from, Strided::minus);
        [&lanes.floats, &lanes.pointers, &lanes.mixed].into_iter().any(|lanes| meet(lanes, &distances))
    }

    /// Zeroed shadow memory by way of which a region is moved whose lanes meet.
    fn memory_between(&mut self, len: Value) -> Vec<Value> {
        let tape = self.out.tape.expect("lanes are moved in reverse mode, which has a tape");
        let callee = self.session.runtime.shadow_alloc;
        let align = self.func.i64(16);
        (0..self.width()).map(|_| self.builder().call(callee, vec![tape, len, align], Type::Ptr)).collect()
    }

    /// The shadows of a copied region in reverse mode, lane by lane.
    #[expect(clippy::too_many_arguments, reason = "two call sites in one place; a struct would only repeat the names")]
    fn copy_lanes(
        &mut self,
        data: &InstData,
        inst: Inst,
        (dst, src): (Value, Value),
        to: &[Value],
        from: Option<Vec<Value>>,
        (len, known_len): (Value, Option<u64>),
        lanes: &Lanes,
    ) -> Result<()> {
        self.copy_words(inst, (dst, src), to, from.as_deref(), (len, known_len), &lanes.mixed)?;
        if let Some(from) = &from {
            self.copy_pointers(data, inst, dst, to, from, len, known_len, &lanes.pointers)?;
        }
        let is_active = |ptr| self.object(ptr).is_some_and(|o| self.session.active.is_active_object(o));
        if is_active(dst) && !lanes.floats.is_empty() {
            let beside = self.beside(src, None);
            let (dst, src, floats) = (to.to_vec(), from.filter(|_| is_active(src)), lanes.floats.clone());
            self.linear(inst, Linear::Copy { dst, src, len, floats, beside });
        }
        Ok(())
    }

    /// Whether there are bytes that take no part in the memory that a pointer reaches.
    fn holds_inert(&self, ptr: Value) -> bool {
        self.object(ptr).is_some_and(|object| self.session.facts.objects.is_marked(object, Property::Inert))
    }

    /// The lanes of a region at `src` that take part there, and those that do not.
    fn live_lanes(&self, lanes: &[Lane], src: Value, align: u64) -> Result<(Vec<Lane>, Vec<Lane>)> {
        let object = self.object(src).expect("memory with skipped fields is an object");
        let at = self.session.facts.place(self.id, src, align);
        let (mut live, mut inert) = (Vec::new(), Vec::new());
        for lane in lanes {
            let (a, b) = lane.apart(&self.session.facts.objects, object, &at).ok_or_else(|| {
                Error::new(
                    ErrorKind::UnknownType,
                    "memory is copied of which it cannot be told what is in skipped fields",
                )
                .label("copied here")
                .help("copy the fields one by one")
            })?;
            live.extend(a);
            inert.extend(b);
        }
        Ok((live, inert))
    }

    /// Memory that goes from one argument to another without being looked at: what lies in it must be known from the
    /// layouts, because the function itself gives no evidence.
    fn check_variants(&self, to: ObjId, src: Value, lanes: &Lanes, len: Option<u64>) -> Result<()> {
        let objects = &self.session.facts.objects;
        let unclear = |o: ObjId| objects.opaque(o).iter().any(|opaque| !opaque.is_clear());
        let unknown = |o: ObjId| objects.origins(o).variant && !objects.origins(o).args.is_empty() && unclear(o);
        let covered: u64 = lanes.floats.iter().chain(&lanes.pointers).map(|l| l.width).sum();
        let whole = len.is_some_and(|len| covered == len);
        if unknown(to) && self.object(src).is_some_and(unknown) && !whole {
            return Err(Error::new(
                ErrorKind::UnknownType,
                "a value whose layout depends on a variant is moved from one argument to another unseen",
            )
            .label("moved here")
            .note("its variants hold pointers, or floats of two widths: which lies where is only known by a look at the variant")
            .help("match on it and move its payload variant by variant"));
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one call site; a struct would only repeat the names")]
    fn copy_pointers(
        &mut self,
        data: &InstData,
        inst: Inst,
        old_dst: Value,
        to: &[Value],
        from: &[Value],
        len: Value,
        known_len: Option<u64>,
        lanes: &[Lane],
    ) -> Result<()> {
        if lanes.is_empty() {
            return Ok(());
        }
        let restore = self.belongs_to_caller(old_dst);
        match known_len.filter(|len| *len <= INLINE_BYTES) {
            Some(len) => {
                let places: Vec<u64> = lanes.iter().flat_map(|l| l.places(len)).collect();
                // Read everything first: the regions may overlap.
                let mut moves = Vec::new();
                for at in places {
                    for (dst, src) in to.iter().zip(from) {
                        let mut b = self.builder();
                        b.loc = data.loc;
                        let (src, dst) = (b.offset(*src, at as i64), b.offset(*dst, at as i64));
                        let value = b.load(Type::Ptr, src);
                        let old = restore.then(|| b.load(Type::Ptr, dst));
                        moves.push((dst, value, old));
                    }
                }
                for (dst, value, old) in moves {
                    self.builder().store(dst, value);
                    if let Some(old) = old {
                        self.linear(inst, Linear::Restore { shadow: vec![dst], old: vec![old] });
                    }
                }
            }
            None if restore && self.session.request.nested => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "many pointers are moved at once into memory that belongs to an argument",
                )
                .help("move the elements one by one, or build a new value and return it"));
            }
            // What was overwritten is put back like that of words; a pointer that is null has no cotangent either.
            None if restore => self.copy_many_words(inst, to, Some(from), len, lanes),
            None => {
                for lane in lanes {
                    for (dst, src) in to.iter().zip(from) {
                        let func = self.session.runtime.copy_lanes;
                        let mut b = self.builder();
                        let [len, stride, offset, width] = lane.operands(&mut b, len);
                        b.call_void(func, vec![*dst, *src, len, stride, offset, width]);
                    }
                }
            }
        }
        Ok(())
    }

    fn fill(&mut self, data: &InstData, dst: Value, len: Value) -> Result<()> {
        let inst = self.copy_instruction(data);
        if !self.has_shadow(dst) {
            return Ok(());
        }
        let object = self.object(dst).expect("a pointer with a shadow has an object");
        let new_len = self.get(len);
        let to = self.shadow(dst)?;
        let known_len = self.old.as_int(len).map(|n| n as u64);
        if self.is_forward() {
            // Mirror the bytes; the floats among them are constants.
            let Op::Fill { byte, align, .. } = data.op else { unreachable!("this is a fill") };
            let byte = self.get(byte);
            // As of a store: fields that lie side by side may be filled at once.
            let rows = known_len.map(|len| (len, self.live_bytes(object, dst, align, len)));
            for dst in &to {
                match &rows {
                    Some((len, rows)) if *rows != [(0, *len)] => {
                        for (start, bytes) in rows {
                            let dst = self.builder().offset(*dst, *start as i64);
                            let len = self.func.i64(*bytes as i64);
                            self.push(Op::Fill { dst, byte, len, align: 1 }, None, data);
                        }
                    }
                    _ => {
                        self.push(Op::Fill { dst: *dst, byte, len: new_len, align }, None, data);
                    }
                }
            }
            if self.func.as_int(byte) == Some(0) {
                return Ok(());
            }
        }
        if self.session.active.is_active_object(object) {
            let Op::Fill { align, .. } = data.op else { unreachable!("this is a fill") };
            let mut lanes = self.lanes(object, dst, align, known_len)?;
            lanes.pointers.clear();
            let mixed = std::mem::take(&mut lanes.mixed);
            if !self.is_forward() {
                self.copy_words(inst, (dst, dst), &to, None, (new_len, known_len), &mixed)?;
            }
            if !lanes.floats.is_empty() {
                self.zero_tangents(inst, to, new_len, lanes.floats);
            }
        }
        Ok(())
    }

    fn alloca(&mut self, data: &InstData, size: u64, align: u64) -> Result<()> {
        let old_result = data.result.expect("an alloca has a result");
        let keep = self.form.is_apart() && !self.is_forward();
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
        self.values.insert(old_result, new);
        if let Some(object) = self.object(old_result) {
            self.out.places.insert(new, (object, self.session.facts.offset(self.id, old_result)));
        }
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
        let result = self.func.inst(inst).result.expect("an allocation has a result");
        let object = self.object(old_result).expect("a pointer with a shadow has an object");
        let (size, align) = (self.get(size), self.get(align));
        if self.is_forward() && self.session.facts.objects.is_marked(object, Property::Owners) {
            // The counts are at the beginning; they begin with no owners, see `store_owners`.
            let counts = self.func.as_int(size).map_or(0, |size| size.min(COUNTS.into()));
            let (byte, len) = (self.func.int(Type::I8, 0), self.func.i64(counts as i64));
            self.push(Op::Fill { dst: result, byte, len, align: 1 }, None, data);
        }
        let mut shadows = Vec::new();
        for _ in 0..self.width() {
            let shadow = match self.out.tape {
                Some(tape) => {
                    let callee = self.session.runtime.shadow_alloc;
                    self.builder().call(callee, vec![tape, size, align], Type::Ptr)
                }
                None => {
                    let inst = self.push(Op::Alloc { size, align, zeroed: false, func }, None, data);
                    let shadow = self.func.inst(inst).result.expect("an allocation has a result");
                    let byte = self.func.int(Type::I8, 0);
                    self.push(Op::Fill { dst: shadow, byte, len: size, align: 1 }, None, data);
                    shadow
                }
            };
            shadows.push(shadow);
        }
        self.bind_shadows(old_result, result, shadows);
        Ok(())
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

    /// A call of a function that takes part.
    pub(crate) fn call(&mut self, data: &InstData, callee: FuncId, args: &[Value]) -> Result<()> {
        let variant = self.session.variant(callee);
        let mut new_args: Vec<Value> = self.out.tape.into_iter().collect();
        new_args.extend(self.with_companions(callee, args)?);
        let active_args = self.session.active_params(callee).into_iter().map(|i| self.get(args[i])).collect();
        let cleanup = self.cleanup(data.op.cleanup())?;
        let doubled = self.session.returns_companion(callee);
        let ty = self.session.module.func(variant.forward).ret.clone();
        let callee_op = Op::Call(pullback_ir::Callee::Direct(variant.forward), new_args, cleanup);
        let inst = self.push(callee_op, ty.clone(), data);
        let mut active_result = None;
        if let (Some(old_result), Some(all)) = (data.result, self.func.inst(inst).result) {
            let old_ty = self.old.ty(old_result).clone();
            let mut parts = vec![all];
            if doubled {
                let width = self.width();
                let mut b = self.builder();
                parts = (0..=width).map(|i| b.value(Op::ExtractValue(all, i as u32), old_ty.clone())).collect();
            }
            let result = parts[0];
            self.values.insert(old_result, result);
            if let Some(object) = self.object(old_result) {
                self.out.places.insert(result, (object, self.session.facts.offset(self.id, old_result)));
            }
            if self.session.active.is_active(self.id, old_result) {
                self.out.linear.active.insert(result);
                active_result = Some(result);
            }
            if doubled {
                self.set_companion(old_result, result, parts.split_off(1));
            }
        }
        if let Some(reverse) = variant.reverse {
            self.linear(inst, Linear::Call { result: active_result, reverse, args: active_args });
        }
        Ok(())
    }
}

impl Lane {
    /// The places of this lane in a region of `len` bytes.
    pub fn places(&self, len: u64) -> impl Iterator<Item = u64> + use<> {
        let lane = *self;
        let step = if lane.stride == 0 { len.max(1) } else { lane.stride };
        let places = (0..).map(move |k| lane.offset + k * step);
        places.take_while(move |at| at + lane.width <= len && *at <= lane.last)
    }

    /// Length, stride, offset and width as operands of the run-time functions, for a region of `len` bytes. A single
    /// place has a stride beyond any length; a lane that ends before the region has its own length.
    pub fn operands(&self, b: &mut Builder, len: Value) -> [Value; 4] {
        let stride = if self.stride == 0 { i64::MAX / 2 } else { self.stride as i64 };
        let end = i64::try_from(self.last).unwrap_or(i64::MAX).saturating_add(self.width as i64);
        let len = if end == i64::MAX {
            len
        } else {
            let end = b.func.i64(end);
            let shorter = b.icmp(IntPred::Ult, len, end);
            b.select(shorter, len, end)
        };
        [len, b.func.i64(stride), b.func.i64(self.offset as i64), b.func.i64(self.width as i64)]
    }

    /// The float type of this lane.
    pub fn float(&self) -> Type {
        if self.width == 4 { Type::F32 } else { Type::F64 }
    }
}

/// Whether a region is small enough to be handled lane by lane.
pub(crate) fn inline_len(func: &pullback_ir::Function, len: Value) -> Option<u64> {
    func.as_int(len).and_then(|n| u64::try_from(n).ok()).filter(|n| *n <= INLINE_BYTES)
}
