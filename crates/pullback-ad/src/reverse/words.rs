//! Transposes of what is done with words: an `i64` that is a float's bits at one time and a pointer at another.
//!
//! Whether a word was a float, its shadow word of the forward sweep says: it is zero then.

use crate::analysis::points_to::lanes::Lane;
use crate::linearise::linear::CopiedWord;
use crate::reverse::Sweeps;
use crate::reverse::cotangents::neutral;
use crate::session::cotangent_type;
use pullback_ir::{Builder, CastOp, Constant, IntPred, Loop, Type, Value};

impl Sweeps<'_, '_> {
    /// Put back the shadow pointers that were overwritten by the shadow of a half.
    pub(crate) fn uncover(&mut self, shadow: &[Value], old: &[Value], level: Option<Loop>) {
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

    /// Take the cotangent of a word that was stored, if it was a float, and put back what was there.
    pub(crate) fn transpose_word_store(
        &mut self,
        value: Option<Value>,
        direction: usize,
        [shadow, word, old]: [Value; 3],
        level: Option<Loop>,
    ) {
        let (place, old) = (self.value(shadow, level), self.value(old, level));
        let word = self.value(word, level);
        let Some(value) = value else {
            self.build().store(place, old);
            return;
        };
        let ty = self.cotangent_type(value);
        let mut b = self.build();
        let g = b.load(ty.clone(), place);
        b.store(place, old);
        let nothing = neutral(b.func, &ty);
        let is_float = is_zero(&mut b, word);
        let g = b.select(is_float, g, nothing);
        self.accumulate(value, direction, g);
    }

    /// Take the cotangents of words that were copied, and put back what was there.
    pub(crate) fn transpose_word_copy(&mut self, words: &[CopiedWord], level: Option<Loop>) {
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

    /// The same for a copy whose length is known at run time.
    pub(crate) fn transpose_word_copies(
        &mut self,
        [dst, len]: [Value; 2],
        src: Option<Value>,
        lane: Lane,
        level: Option<Loop>,
    ) {
        let (dst, len) = (self.value(dst, level), self.value(len, level));
        let src = src.map(|src| self.value(src, level));
        let (tape, callee) = (self.rev.tape, self.target.runtime.uncopy_words);
        let mut b = self.build();
        let src = src.unwrap_or_else(|| b.func.constant(Type::Ptr, Constant::Null));
        let [len, stride, offset, width] = lane.operands(&mut b, len);
        b.call_void(callee, vec![tape, dst, src, len, stride, offset, width]);
    }

    /// Add a cotangent to the shadow of a word, if the word is a float: its shadow was zero then.
    pub(crate) fn add_to_word(&mut self, place: Value, word: Value, g: Value) {
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
}

fn is_zero(b: &mut Builder, word: Value) -> Value {
    let ty = b.func.ty(word).clone();
    let zero = b.func.zero(&ty);
    b.icmp(IntPred::Eq, word, zero)
}
