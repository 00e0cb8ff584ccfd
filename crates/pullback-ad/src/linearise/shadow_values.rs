//! The shadow values of values, of which there is one for each batch direction.
//!
//! | value | forward mode | reverse mode |
//! |---|---|---|
//! | pointer | its shadow; itself, if it has none | its shadow |
//! | float | its tangent | none: cotangents are the reverse sweep's |
//! | number | itself | zero |
//! | word: an integer that may be any of these | the bits of the shadow value | the bits of the shadow, or zero |
//! | aggregate | the shadow values of its fields | the shadow values of its fields |
//!
//! So the shadow values of forward mode mirror their primals, and those of reverse mode are shadow pointers and nothing
//! else. For values this is the one place where the modes differ; for instructions it is `memory`, beside what the tape
//! of reverse mode is there for.

use crate::analysis::types::{computed, plain};
use crate::error::{Error, ErrorKind, Result};
use crate::linearise::augment::Augmenter;
use pullback_ir::{BinOp, CastOp, Constant, IntPred, Op, Type, Value, ValueDef};

impl Augmenter<'_, '_> {
    /// Whether shadows mirror their primals.
    fn is_forward(&self) -> bool {
        self.out.tape.is_none()
    }

    /// The new value of an old one.
    pub(crate) fn get(&mut self, old: Value) -> Value {
        if let Some(new) = self.values.get(&old) {
            return *new;
        }
        match &self.old.value(old).def {
            ValueDef::Const(constant) => {
                let new = self.func.constant(self.old.ty(old).clone(), constant.clone());
                self.bind(old, new);
                new
            }
            other => panic!("{old} ({other:?}) is used before it is defined: a fault of the engine"),
        }
    }

    /// The shadows of an old pointer.
    pub(crate) fn shadow(&mut self, old: Value) -> Result<Vec<Value>> {
        let new = self.get(old);
        if let Some(shadows) = self.shadows.get(&new) {
            return Ok(shadows.clone());
        }
        match self.old.as_const(old) {
            Some(Constant::Global(global)) => {
                // A constant table where memory with a shadow may stand too: its shadow is zero, and what is added to
                // it is not read.
                let data = self.session.module.global(*global);
                let shadows = self.zero_shadows(data.size.max(1), data.align.max(8));
                self.bind_shadows(old, new, shadows.clone());
                Ok(shadows)
            }
            _ if self.points_nowhere(old) => Ok(vec![new; self.width()]),
            _ => Err(Error::new(ErrorKind::RuntimeActivity, "a pointer has no shadow where one is needed")
                .note("it may point to constant memory or to memory with a shadow, depending on a run-time condition")),
        }
    }

    /// Whether a pointer is an address made up, or an offset to one: where an empty `Vec` points. Nothing is read or
    /// written there.
    fn points_nowhere(&self, old: Value) -> bool {
        match &self.old.value(old).def {
            ValueDef::Const(constant) => !matches!(constant, Constant::Global(_)),
            ValueDef::Inst(inst) => match &self.old.inst(*inst).op {
                Op::Cast(CastOp::IntToPtr, _) => true,
                Op::PtrAdd(base, _) | Op::Freeze(base) => self.points_nowhere(*base),
                Op::Select(_, a, b) => self.points_nowhere(*a) && self.points_nowhere(*b),
                _ => false,
            },
            ValueDef::Param(..) => false,
        }
    }

    /// The shadow values of an old value: shadows of a pointer, tangents of a float, both in an aggregate. Where it has
    /// none, what a constant has.
    pub(crate) fn shadow_values(&mut self, old: Value) -> Result<Vec<Value>> {
        let new = self.get(old);
        if *self.old.ty(old) == Type::Ptr {
            return if self.has_shadow(old) || !self.is_forward() {
                self.shadow(old)
            } else {
                Ok(vec![new; self.width()])
            };
        }
        if self.is_forward() {
            if self.is_number_as_float(old) {
                return Ok(vec![new; self.width()]);
            }
            if self.old.ty(old).is_int() && !self.has_tangent(old) {
                let is_seen = !self.session.seen_in_variants.is_empty();
                if let Some(number) = self.mirrored(old, is_seen) {
                    return Ok(vec![number; self.width()]);
                }
            }
            return Ok(self.tangent(new));
        }
        match self.shadows.get(&new) {
            Some(shadows) => Ok(shadows.clone()),
            None => {
                let ty = self.old.ty(old).clone();
                Ok(vec![self.func.zero(&ty); self.width()])
            }
        }
    }

    /// The shadow value of a word that an instruction makes, chooses or passes on.
    pub(super) fn shadow_words(&mut self, op: &Op, old_result: Value) -> Result<Vec<Value>> {
        let ty = self.old.ty(old_result).clone();
        let cast = match op {
            Op::Cast(CastOp::PtrToInt, from) if self.has_shadow(*from) || self.is_forward() => Some(from),
            Op::Cast(CastOp::Bitcast, from) if self.is_forward() => Some(from),
            _ => None,
        };
        if let (Some(from), Op::Cast(op, _)) = (cast, op) {
            let shadows = self.shadow_values(*from)?;
            return Ok(shadows.into_iter().map(|c| self.builder().cast(*op, c, ty.clone())).collect());
        }
        match op {
            Op::Select(c, a, b) => {
                let (a, b, c) = (self.shadow_values(*a)?, self.shadow_values(*b)?, self.get(*c));
                Ok(a.into_iter().zip(b).map(|(a, b)| self.builder().select(c, a, b)).collect())
            }
            Op::Freeze(a) => self.shadow_values(*a),
            _ => {
                let content = self.session.facts.content(self.id, old_result);
                let is_seen = content.is_some_and(|content| self.session.is_seen(content));
                let number = if self.is_forward() { self.mirrored(old_result, is_seen) } else { None };
                // A float's bits, a number, or a pointer to what has no shadow.
                Ok(vec![number.unwrap_or_else(|| self.func.zero(&ty)); self.width()])
            }
        }
    }

    /// The shadow value of an integer without a tangent in forward mode, if it is a number: a copy. A program that
    /// computes the bits of a float with integers, and reads a float from where they are put, has computed a number as
    /// well, and one that is too large for a length or a tag; the tangent of that float is zero. Where callers may see
    /// the number, in the tangent of an enum, it is that of the primal.
    pub(crate) fn mirrored(&mut self, old: Value, is_seen: bool) -> Option<Value> {
        let is_number = self.is_number(old);
        if !is_number && !self.numbers.contains(&self.old, old) {
            return None;
        }
        let number = self.get(old);
        let ty = self.func.ty(number).clone();
        // What is computed from what may be the bits of a float may be either.
        let Some(largest) = computed::largest_number(&ty).filter(|_| !is_seen || !is_number) else {
            return is_number.then_some(number);
        };
        if self.func.as_const(number).is_some() {
            return is_number.then_some(number);
        }
        // The first bit is set in the tags of some enums.
        let without_sign = self.func.constant(ty.clone(), Constant::Int(u128::MAX >> (129 - 8 * ty.size())));
        let largest = self.func.constant(ty.clone(), Constant::Int(largest));
        let zero = self.func.zero(&ty);
        let mut b = self.builder();
        let magnitude = b.bin(BinOp::And, number, without_sign);
        let is_small = b.icmp(IntPred::Ule, magnitude, largest);
        Some(b.select(is_small, number, zero))
    }

    /// Whether an integer is sure not to be the bits of a float: in forward mode its shadow is a copy.
    pub(crate) fn is_number(&self, old: Value) -> bool {
        plain::is_number(self.session.module, self.session.facts, self.id, &self.numbers, old)
    }

    /// Whether a float is a number that the optimiser moves as one (forward mode).
    pub(crate) fn is_number_as_float(&self, old: Value) -> bool {
        self.numbers_as_floats.contains(&old)
    }

    /// Whether a value has tangents of its own (forward mode).
    pub(crate) fn has_tangent(&self, old: Value) -> bool {
        self.values.get(&old).is_some_and(|new| self.tangents.contains_key(new))
    }

    /// Whether an integer that is loaded, and is no [word](crate::session::Session::is_word) of active memory, has a
    /// shadow value: a number or a constant float, which of them its shadow knows.
    pub(super) fn is_mirrored_word(&self, old: Value) -> bool {
        self.is_forward() && self.session.facts.is_word(self.id, self.old.ty(old), old)
    }

    /// Whether a word in memory may be a cotangent in the reverse sweep, and a shadow pointer before it.
    pub(super) fn is_pointer_or_cotangent(&self, ptr: Value, align: u64) -> bool {
        !self.is_forward() && self.object(ptr).is_some_and(|object| self.is_mixed(object, ptr, align, 8))
    }

    /// Note the shadow values of a value.
    pub(crate) fn set_shadow_values(&mut self, old: Value, new: Value, shadows: Vec<Value>) {
        if self.is_forward() && *self.old.ty(old) != Type::Ptr {
            self.tangents.insert(new, shadows);
        } else {
            self.bind_shadows(old, new, shadows);
        }
    }
}
