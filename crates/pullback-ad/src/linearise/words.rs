//! Words in the augmented primal: places where a float lies at one time and a pointer or a number at another.

use crate::analysis::activity::float_cells;
use crate::analysis::points_to::lanes::Lane;
use crate::analysis::points_to::objects::{Cell, Kinds, ObjId};
use crate::analysis::points_to::strided::Strided;
use crate::error::{Error, Result};
use crate::linearise::augment::Augmenter;
use crate::linearise::copies::Region;
use crate::linearise::linear::{CopiedWord, Linear};
use pullback_ir::{Constant, Inst, InstData, Op, Type, Value};
use std::collections::BTreeSet;

impl Augmenter<'_, '_> {
    /// A word comes with its shadow: in the forward sweep zero, unless it is a pointer.
    pub(super) fn load_word(&mut self, data: &InstData, inst: Inst) -> Result<()> {
        let (Op::Load { ptr, align }, Some(old_result)) = (&data.op, data.result) else {
            unreachable!("this is a load")
        };
        let (ptr, align, result) = (*ptr, *align, self.func.result(inst));
        if !self.has_shadow(ptr) {
            return Ok(());
        }
        let mixed = self.is_pointer_or_cotangent(ptr, align);
        if mixed {
            self.own_memory(ptr)?;
        }
        let ty = self.old.ty(old_result).clone();
        let places = self.shadow(ptr)?;
        let words = self.load_each(data, &places, align, &ty);
        self.set_shadow_values(old_result, result, words.clone());
        if mixed {
            self.out.pinned.extend(&words);
            if self.session.active.is_active(self.id, old_result) {
                self.linear(inst, Linear::WordLoad { result, shadow: places, words });
            }
        }
        Ok(())
    }

    /// A float is stored where a part of a pointer lies at another time. What was the shadow of that becomes zero: it
    /// may be where the float's cotangent is going to be.
    pub(super) fn uncover(&mut self, data: &InstData, inst: Inst, object: ObjId, ptr: Value, ty: &Type) -> Result<()> {
        let Op::Store { align, .. } = data.op else { unreachable!("this is a store") };
        let (objects, at) = (&self.session.facts.objects, self.session.facts.place(self.id, ptr, align));
        let is_pointer = |c: &&Cell| objects.kinds(c.content).contains(Kinds::PTR);
        let pointers = objects.touched(object, &at, ty.size()).filter(is_pointer);
        // How many bytes before the float the pointer begins.
        let (least, at) = (1 - ty.size() as i64, &at);
        let mut before = pointers
            .flat_map(|c| at.iter().filter_map(move |at| at.minus(c.at).clipped(least, 7)))
            .map(Strided::single);
        let Some(first) = before.next() else { return Ok(()) };
        let half = |n: &i64| matches!(n, 0 | 4) && ty.size() == 4;
        let Some(first) = first.filter(half).filter(|first| before.all(|other| other == Some(*first))) else {
            return Err(Error::unknown_type(
                "a float is stored of which it cannot be told where a pointer lies that it overlaps",
            )
            .label("stored here")
            .help("use the variants of the enum in memory of their own"));
        };
        self.own_memory(ptr)?;
        let (mut shadow, mut all) = (Vec::new(), Vec::new());
        for place in self.shadow(ptr)? {
            let mut b = self.builder().with_loc(data.loc);
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
        Err(Error::unknown_type(
            "a word of an argument is overwritten that is a float in one variant and a pointer in another",
        )
        .note("its shadow cannot be told to be a cotangent or a shadow pointer")
        .help("build a new value instead of changing the argument's variant"))
    }

    /// A value is stored where floats lie at one time and pointers at another.
    pub(super) fn store_word(&mut self, data: &InstData, inst: Inst, ptr: Value, value: Value) -> Result<()> {
        self.own_memory(ptr)?;
        let ty = self.old.ty(value).clone();
        if ty.size() != 8 || matches!(ty, Type::Struct(_)) {
            return Err(Error::unknown_type(
                "part of an enum's payload is written that overlaps a float and a pointer",
            ));
        }
        let is_word = self.session.is_word(self.id, value);
        let pointer = ty == Type::Ptr && self.has_shadow(value);
        let stored = if pointer || is_word { self.shadow_values(value)? } else { vec![self.func.i64(0); self.width()] };
        let active = self.active(value);
        for (direction, place) in self.shadow(ptr)?.into_iter().enumerate() {
            let mut b = self.builder().with_loc(data.loc);
            let old = b.load(Type::I64, place);
            b.store(place, stored[direction]);
            self.out.pinned.insert(old);
            // Only a word may be either; everything else is what it is.
            let word = if is_word { stored[direction] } else { self.func.i64(0) };
            self.linear(inst, Linear::WordStore { value: active, direction, shadow: place, word, old });
        }
        Ok(())
    }

    /// The words of a copied region (of a filled one, without a source) that are floats at one time and pointers at
    /// another.
    pub(super) fn copy_words(&mut self, region: &Region, lanes: &[Lane]) -> Result<()> {
        if lanes.is_empty() {
            return Ok(());
        }
        self.own_memory(region.old_dst)?;
        self.own_memory(region.old_src)?;
        match region.inline_len() {
            Some(len) => {
                // Lanes may share places; what is in one is moved once.
                let places: BTreeSet<u64> = lanes.iter().flat_map(|l| l.places(len)).collect();
                self.copy_few_words(region, &places);
            }
            None => self.copy_many_words(region, lanes),
        }
        Ok(())
    }

    fn copy_few_words(&mut self, region: &Region, places: &BTreeSet<u64>) {
        // Read everything first: the regions may overlap.
        let mut moves = Vec::new();
        for at in places {
            for (direction, dst) in region.to.iter().enumerate() {
                let mut b = self.builder();
                let dst = b.offset(*dst, *at as i64);
                let old = b.load(Type::I64, dst);
                let source = region.from.map(|from| {
                    let src = b.offset(from[direction], *at as i64);
                    (src, b.load(Type::I64, src))
                });
                moves.push((direction, dst, old, source));
            }
        }
        let mut copied = Vec::new();
        for (direction, dst, old, source) in moves {
            let word = source.map_or_else(|| self.func.i64(0), |(_, word)| word);
            self.builder().store(dst, word);
            self.out.pinned.extend([old, word]);
            match source {
                Some((src, word)) => copied.push(CopiedWord { dst, src, word, old }),
                None => self.linear(region.inst, Linear::WordStore { value: None, direction, shadow: dst, word, old }),
            }
        }
        if !copied.is_empty() {
            self.linear(region.inst, Linear::WordCopy(copied));
        }
    }

    pub(super) fn copy_many_words(&mut self, region: &Region, lanes: &[Lane]) {
        let tape = self.out.tape.expect("words are copied in reverse mode, which has a tape");
        for lane in lanes {
            for (direction, dst) in region.to.iter().copied().enumerate() {
                let src = region.from.map(|from| from[direction]);
                let callee = self.session.runtime.copy_words;
                let mut b = self.builder();
                let null = b.func.constant(Type::Ptr, Constant::Null);
                let [bytes, stride, offset, width] = lane.operands(&mut b, region.len);
                b.call_void(callee, vec![tape, dst, src.unwrap_or(null), bytes, stride, offset, width]);
                self.linear(region.inst, Linear::WordCopies { dst, src, len: region.len, lane: *lane });
            }
        }
    }

    /// Whether a place holds floats, perhaps numbers, and never pointers: a word is read there like a float.
    pub(super) fn is_plain_float(&self, ptr: Value, align: u64) -> bool {
        let Some(object) = self.object(ptr) else { return false };
        let at = self.session.facts.place(self.id, ptr, align);
        float_cells(self.session.facts, object, &at, 8) && !self.is_mixed(object, ptr, align, 8)
    }

    /// Whether a layout says that a place holds a float of this width.
    pub(super) fn is_declared_float(&self, object: ObjId, ptr: Value, align: u64, width: u64) -> bool {
        let (objects, at) = (&self.session.facts.objects, self.session.facts.place(self.id, ptr, align));
        let mut touched = objects.touched(object, &at, width).peekable();
        let declared = |c: &Cell| objects.is_declared(c.content) && objects.kinds(c.content).has_float();
        touched.peek().is_some() && touched.all(|c| c.width == width && declared(c))
    }

    /// Whether a place holds floats at one time and pointers at another.
    pub(super) fn is_mixed(&self, object: ObjId, ptr: Value, align: u64, width: u64) -> bool {
        let (objects, at) = (&self.session.facts.objects, self.session.facts.place(self.id, ptr, align));
        objects.touched(object, &at, width).any(|c| objects.kinds(c.content).is_mixed())
    }

    /// Whether a pointer is where narrower floats lie at another time (reverse mode).
    pub(super) fn is_covered(&self, object: ObjId, ptr: Value, align: u64) -> bool {
        let (objects, at) = (&self.session.facts.objects, self.session.facts.place(self.id, ptr, align));
        let is_narrow = |c: &Cell| c.width < 8 && objects.kinds(c.content).has_float();
        self.session.active.is_active_object(object) && objects.touched(object, &at, 8).any(is_narrow)
    }
}
