//! Values of the forward sweep in the reverse sweep, got in the way that the plan says.

use crate::plan::{Key, Source};
use crate::reverse::Sweeps;
use crate::reverse::slots::Slot;
use pullback_ir::counted::{Affine, Step};
use pullback_ir::{BinOp, Builder, CastOp, Loop, Op, Type, Value, ValueDef};
use std::cmp::Ordering;

impl Sweeps<'_, '_> {
    /// A value of the forward sweep, in the reverse of a block of loop `user`.
    pub(crate) fn value(&mut self, value: Value, user: Option<Loop>) -> Value {
        let wanted = self.plan.key(&self.loops, value, user);
        // With a stack of our own: what is recomputed may be a long chain.
        let mut work = vec![wanted];
        while let Some(key) = work.last().copied() {
            if self.cursor.cache.contains_key(&key) {
                work.pop();
                continue;
            }
            let parts = self.plan.source(key).parts(&self.aug.func, key.0).into_iter();
            let parts = parts.map(|part| self.plan.key(&self.loops, part, key.1));
            let missing: Vec<Key> = parts.filter(|part| !self.cursor.cache.contains_key(part)).collect();
            if missing.is_empty() {
                let made = self.make(key);
                self.cursor.cache.insert(key, made);
                work.pop();
            } else {
                work.extend(missing);
            }
        }
        self.cursor.cache[&wanted]
    }

    /// Make a value whose parts are there.
    fn make(&mut self, key: Key) -> Value {
        let (value, level) = key;
        let ty = self.aug.func.ty(value).clone();
        match self.plan.source(key) {
            Source::AtHand => match (&self.rev.func, &self.aug.func.value(value).def) {
                (None, _) => value,
                (Some(_), ValueDef::Const(constant)) => {
                    let constant = constant.clone();
                    self.rev().constant(ty, constant)
                }
                (Some(_), _) => self.rev.tape,
            },
            Source::Kept => self.read(Slot::Kept(key), ty),
            Source::Recompute => {
                let inst = self.aug.func.def_inst(value).expect("its parts are there");
                let data = self.aug.func.inst(inst).clone();
                let op = data.op.map_operands(|operand| self.part(operand, level));
                self.build().with(data.flags, data.loc).value(op, ty)
            }
            Source::Counter(affine) => {
                let i = self.counter(affine.id);
                self.moved(affine, i, level)
            }
            Source::Last(affine, count) => {
                let count = self.part(count, level);
                let mut b = self.build();
                let one = b.func.i64(1);
                let i = b.sub(count, one);
                self.moved(affine, i, level)
            }
            Source::Walk(affine, align) => {
                let i = self.counter(affine.id);
                let ptr = self.moved(affine, i, level);
                self.build().value(Op::Load { ptr, align }, ty)
            }
            Source::Same(other) => self.part(other, level),
        }
    }

    /// A part that is there.
    fn part(&self, value: Value, level: Option<Loop>) -> Value {
        self.cursor.cache[&self.plan.key(&self.loops, value, level)]
    }

    /// The number of the iteration that is being reversed.
    fn counter(&mut self, id: Loop) -> Value {
        self.read(Slot::Counter(id), Type::I64)
    }

    /// What an affine value is in iteration `i`.
    fn moved(&mut self, affine: Affine, i: Value, level: Option<Loop>) -> Value {
        let init = self.part(affine.init, level);
        let step = match affine.step {
            Step::Constant(step) => self.rev().i64(step),
            Step::Plus(step) | Step::Minus(step) => self.part(step, level),
        };
        let mut b = self.build();
        let ty = b.func.ty(init).clone();
        // Modulo two to the power of the value's own width, nothing is lost in between.
        let (i, step) = (resized(&mut b, i, &ty), resized(&mut b, step, &ty));
        let distance = b.mul(i, step);
        match (ty, affine.step) {
            (Type::Ptr, _) => b.ptr_add(init, distance),
            (_, Step::Minus(_)) => b.bin(BinOp::Sub, init, distance),
            _ => b.bin(BinOp::Add, init, distance),
        }
    }
}

/// An integer in the width of `ty`, or of an offset if that is a pointer.
fn resized(b: &mut Builder, value: Value, ty: &Type) -> Value {
    let to = if *ty == Type::Ptr { Type::I64 } else { ty.clone() };
    let (Type::Int(have), Type::Int(want)) = (b.func.ty(value).clone(), to.clone()) else { return value };
    match have.cmp(&want) {
        Ordering::Equal => value,
        Ordering::Greater => b.cast(CastOp::Trunc, value, to),
        Ordering::Less => b.cast(CastOp::SExt, value, to),
    }
}
