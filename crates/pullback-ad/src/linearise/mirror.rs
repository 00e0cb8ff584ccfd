//! Forward mode: a shadow mirrors its primal in everything but the floats, which are tangents.
//!
//! What is stored, copied or filled in the primal is stored, copied or filled in the shadow: lengths, tags and counts
//! too, for a tangent is a Rust value that the caller uses and drops. Skipped fields of a shadow are not the
//! derivative's, and are left alone; the counts of an `Rc` change by as much as the primal's. On the way to a panic
//! tangents are not read, so it need not be known there what is a float.

use crate::analysis::activity::{float_cells, holds_float};
use crate::analysis::points_to::lanes::Lane;
use crate::analysis::points_to::objects::{ObjId, Property};
use crate::analysis::points_to::strided::Strided;
use crate::error::{Error, Result};
use crate::linearise::augment::Augmenter;
use crate::linearise::copies::Region;
use pullback_ir::{Constant, InstData, IntPred, Op, Type, Value};

/// In larger regions than this, skipped fields that lie side by side with others are not looked for.
const MOST_BYTES: u64 = 4096;

impl Augmenter<'_, '_> {
    pub(super) fn mirror_store(&mut self, data: &InstData, ptr: Value, value: Value, align: u64) -> Result<()> {
        if !self.has_shadow(ptr) {
            self.copy_instruction(data);
            return Ok(());
        }
        let ty = self.old.ty(value).clone();
        if self.counts_owners(ptr, align, ty.size()) {
            return self.store_owners(data, ptr, value, align);
        }
        let inst = self.copy_instruction(data);
        let object = self.object(ptr).expect("a pointer with a shadow has an object");
        // On the way to a panic it need not be known whether a float is in a skipped field: it is not written.
        let unread = !self.may_return && ty.is_float();
        if self.holds_inert(ptr) && (unread || self.is_inert(object, ptr, align, ty.size())) {
            return Ok(());
        }
        let is_number = self.is_number_as_float(value);
        if holds_float(&ty) && !is_number {
            return match self.session.active.is_active_object(object) {
                true => self.store_float(inst, ptr, value, &ty),
                false => Ok(()),
            };
        }
        let stored = if self.session.is_word(self.id, value) || ty == Type::Ptr && self.has_shadow(value) {
            self.shadow_values(value)?
        } else if !is_number && ty != Type::Ptr && self.is_over_floats(object, ptr, align, &ty) {
            self.over_floats(object, ptr, align, value)?
        } else {
            vec![self.get(value); self.width()]
        };
        for (place, value) in self.shadow(ptr)?.into_iter().zip(stored) {
            self.push(Op::Store { ptr: place, value, align }, None, data);
        }
        Ok(())
    }

    /// Whether active floats lie at a place.
    pub(super) fn is_over_floats(&self, object: ObjId, ptr: Value, align: u64, ty: &Type) -> bool {
        let at = self.session.facts.place(self.id, ptr, align);
        self.session.active.is_active_object(object) && float_cells(self.session.facts, object, &at, ty.size())
    }

    /// What is stored in a shadow for an integer that is stored where floats lie: a number in an enum's payload, or the
    /// bits of a constant float, which has no tangent.
    fn over_floats(&mut self, object: ObjId, ptr: Value, align: u64, value: Value) -> Result<Vec<Value>> {
        if self.has_tangent(value) {
            return self.shadow_values(value);
        }
        let ty = self.old.ty(value).clone();
        if !self.is_number(value) {
            self.refuse_constant(object, ptr, align, Some(ty.size()))?;
        }
        // Where a layout says that a float is, even a computed number is the bits of one.
        if self.is_declared_float(object, ptr, align, ty.size()) {
            return Ok(vec![self.func.zero(&ty); self.width()]);
        }
        let at = self.session.facts.place(self.id, ptr, align);
        let mut there = self.session.facts.objects.touched(object, &at, ty.size());
        let is_seen = there.any(|c| self.session.is_seen(c.content));
        match self.mirrored(value, is_seen) {
            Some(number) => Ok(vec![number; self.width()]),
            None => self.shadow_values(value),
        }
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
            return Err(Error::unknown_type(
                "something is written that may be the count of an `Rc`, or a number beside it",
            )
            .label("written here"));
        }
        let primal = self.get(ptr);
        let before = self.load_each(data, &[primal], align, &Type::I64)[0];
        let (after, callee) = (self.get(value), self.session.runtime.recount);
        for place in self.shadow(ptr)? {
            self.builder().call_void(callee, vec![place, before, after]);
        }
        self.copy_instruction(data);
        Ok(())
    }

    /// The shadows of a copied region, as a whole.
    pub(super) fn mirror_copy(&mut self, data: &InstData, object: ObjId, region: &Region) -> Result<()> {
        let Op::Copy { dst, src, may_overlap, align, .. } = data.op else { unreachable!("this is a copy") };
        let Region { inst, to, from, len, known_len, .. } = *region;
        // As of a store. Where more than skipped fields is moved, they are moved along: no caller reads them.
        if known_len.is_some_and(|len| self.live_bytes(object, dst, align.0, len).is_empty()) {
            return Ok(());
        }
        let mut constant: Vec<Lane> = Vec::new();
        if self.may_return {
            constant = self.constant_lanes(object, (dst, src), align, known_len)?;
        }
        let guarded = known_len.is_none() && self.may_lack_shadow(src);
        let whole = self.get(src);
        for (direction, dst) in to.iter().enumerate() {
            let (src, len) = match from {
                Some(from) if guarded => (from[direction], self.fill_without_shadow(data, *dst, from[direction], len)),
                Some(from) => (from[direction], len),
                None => (whole, len),
            };
            self.push(Op::Copy { dst: *dst, src, len, may_overlap, align }, None, data);
        }
        if !constant.is_empty() {
            self.zero_tangents(inst, to.to_vec(), len, constant);
        }
        Ok(())
    }

    /// The floats of a region that are constant where they are copied from: in skipped fields, or in memory that has no
    /// shadow. Their tangents are zero.
    fn constant_lanes(
        &mut self,
        object: ObjId,
        (dst, src): (Value, Value),
        align: (u64, u64),
        len: Option<u64>,
    ) -> Result<Vec<Lane>> {
        if self.has_shadow(src) {
            if !self.holds_inert(src) {
                return Ok(Vec::new());
            }
            let lanes = self.lanes(object, dst, align.0, len)?;
            return Ok(self.live_lanes(&lanes.floats, src, align.1)?.1);
        }
        self.refuse_constant(object, dst, align.0, len)?;
        let mut lanes = self.lanes(object, dst, align.0, len)?;
        if !lanes.mixed.is_empty() {
            lanes.floats.extend(self.constant_floats(src, align.1, len)?);
        }
        Ok(lanes.floats)
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

    pub(super) fn mirror_fill(&mut self, data: &InstData) -> Result<()> {
        let Op::Fill { dst, byte, len, align } = data.op else { unreachable!("this is a fill") };
        let inst = self.copy_instruction(data);
        if !self.has_shadow(dst) {
            return Ok(());
        }
        let object = self.object(dst).expect("a pointer with a shadow has an object");
        let (new_len, byte, to) = (self.get(len), self.get(byte), self.shadow(dst)?);
        let known_len = self.old.as_int(len).map(|n| n as u64);
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
        // The floats among the bytes are constants.
        if self.func.as_int(byte) != Some(0) && self.may_return && self.session.active.is_active_object(object) {
            let floats = self.lanes(object, dst, align, known_len)?.floats;
            if !floats.is_empty() {
                self.zero_tangents(inst, to, new_len, floats);
            }
        }
        Ok(())
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
    /// must become zero, unless it is not read.
    pub(super) fn refuse_constant(&self, object: ObjId, ptr: Value, align: u64, len: Option<u64>) -> Result<()> {
        if !self.may_return {
            return Ok(());
        }
        let at = self.session.facts.place(self.id, ptr, align);
        let objects = &self.session.facts.objects;
        let width = len.unwrap_or(i64::MAX as u64);
        if objects.touched(object, &at, width).any(|c| objects.is_unseen(c.content)) {
            return Err(Error::unknown_type(
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
        if lanes.mixed.is_empty() {
            return Ok(lanes.floats);
        }
        Err(Error::unknown_type("a constant is moved of which it cannot be told whether it is a float or a pointer")
            .label("moved here")
            .note("the tangent of a float is zero here, that of a pointer is not")
            .help("match on it and move its payload variant by variant"))
    }
}
