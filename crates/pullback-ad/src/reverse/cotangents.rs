//! The cotangents of values in the reverse sweep: where they are added up, and taken.

use crate::analysis::activity::holds_float;
use crate::linearise::linear::Beside;
use crate::reverse::Sweeps;
use crate::reverse::slots::alloca;
use crate::session::cotangent_type;
use pullback_ir::{Builder, Flags, FloatPred, Function, Inst, Op, Type, Value};
use std::collections::HashMap;

/// Cotangents while the reverse sweep is written.
#[derive(Default)]
pub(crate) struct Cotangents {
    /// Slots of cotangents.
    adjoints: HashMap<Value, Vec<Value>>,
    /// What the cotangents without slots are so far, by value and batch direction.
    so_far: HashMap<(Value, usize), Value>,
    /// Additions to shadows that wait for the end of the block, if they do.
    pub(crate) waiting: Option<Vec<Addition>>,
    /// What iterations of joint loops carry along, by what is loaded, in each batch direction.
    pub(crate) carried: HashMap<Value, Vec<Carried>>,
}

/// Something to be added to a cotangent, which lies at `slot + offset`.
pub(crate) struct Addition {
    pub(crate) slot: Value,
    pub(crate) offset: u64,
    pub(crate) ty: Type,
    pub(crate) g: Value,
    pub(crate) flags: Flags,
    pub(crate) beside: Beside,
}

impl Addition {
    /// `g`, of type `ty`, is to be added to a float, or to an aggregate, that lies in a slot of its own.
    pub(crate) fn new(slot: Value, ty: Type, g: Value) -> Self {
        Addition { slot, offset: 0, ty, g, flags: Flags::NONE, beside: Beside::Floats }
    }

    /// Add it; aggregates field by field. `summing`: what may be done with such additions.
    pub(crate) fn emit(&self, b: &mut Builder, summing: Flags) {
        let Addition { slot, offset, ref ty, g, flags, beside } = *self;
        match ty {
            Type::Struct(fields) => {
                for (i, field) in fields.iter().enumerate().filter(|(_, f)| holds_float(f)) {
                    b.flags = Flags::NONE;
                    let part = b.value(Op::ExtractValue(g, i as u32), field.clone());
                    let offset = offset + ty.field_offset(i);
                    Addition { slot, offset, ty: field.clone(), g: part, flags, beside }.emit(b, summing);
                }
            }
            Type::F32 | Type::F64 => {
                b.flags = flags;
                let place = b.offset(slot, offset as i64);
                let old = b.load(ty.clone(), place);
                b.flags = flags.union(summing);
                let new = beside.add(b, old, g);
                b.flags = flags;
                b.store(place, new);
            }
            _ => {}
        }
    }
}

/// The cotangent of what an iteration loads for the next one, in slots: it is added to the shadow by the next
/// iteration, together with what that gives to the same place, or on the way out.
#[derive(Clone, Copy)]
pub(crate) struct Carried {
    /// That of this iteration.
    pub(crate) coming: Value,
    /// That of the iteration before.
    pub(crate) due: Value,
}

impl Sweeps<'_, '_> {
    /// The slots of a value's cotangents; zero at the start of the reverse sweep.
    pub(crate) fn adjoints(&mut self, value: Value) -> Vec<Value> {
        if !self.cotangents.adjoints.contains_key(&value) {
            let ty = self.cotangent_type(value);
            let slots = (0..self.width()).map(|_| self.empty_slot(&ty)).collect();
            self.cotangents.adjoints.insert(value, slots);
        }
        self.cotangents.adjoints[&value].clone()
    }

    /// A slot for a cotangent, with nothing in it when the function begins.
    pub(crate) fn empty_slot(&mut self, ty: &Type) -> Value {
        let func = self.rev.func.as_mut().unwrap_or(&mut self.aug.func);
        empty_slot(func, &mut self.rev.prologue, ty)
    }

    /// `value̅ += g`.
    pub(crate) fn accumulate(&mut self, value: Value, direction: usize, g: Value) {
        if self.plan.local.contains(&value) {
            let sum = match self.cotangents.so_far.get(&(value, direction)).copied() {
                Some(old) => Beside::Floats.add(&mut self.build(), old, g),
                None => g,
            };
            self.cotangents.so_far.insert((value, direction), sum);
            return;
        }
        let (slot, ty) = (self.adjoints(value)[direction], self.cotangent_type(value));
        self.add(&Addition::new(slot, ty, g));
    }

    /// The same in all batch directions.
    pub(crate) fn accumulate_all(&mut self, value: Value, cotangents: impl IntoIterator<Item = Value>) {
        for (direction, g) in cotangents.into_iter().enumerate() {
            self.accumulate(value, direction, g);
        }
    }

    /// Add to a cotangent.
    pub(crate) fn add(&mut self, addition: &Addition) {
        let summing = self.target.summing();
        addition.emit(&mut self.build(), summing);
    }

    /// The cotangents of a value; they become zero.
    pub(crate) fn take(&mut self, value: Value) -> Vec<Value> {
        let ty = self.cotangent_type(value);
        if self.plan.local.contains(&value) {
            let width = self.width();
            let so_far = |direction| self.cotangents.so_far.remove(&(value, direction));
            let taken: Vec<_> = (0..width).map(so_far).collect();
            return taken.into_iter().map(|g| g.unwrap_or_else(|| neutral(self.rev(), &ty))).collect();
        }
        let slots = self.adjoints(value);
        let mut b = self.build();
        let taken = slots.into_iter().map(|slot| {
            let g = b.load(ty.clone(), slot);
            let zero = neutral(b.func, &ty);
            b.store(slot, zero);
            g
        });
        taken.collect()
    }

    /// Do the additions to shadows that wait.
    pub(crate) fn add_waiting(&mut self) {
        let waiting = self.cotangents.waiting.as_mut().map(std::mem::take);
        waiting.unwrap_or_default().iter().for_each(|addition| self.add(addition));
    }

    /// The type of a value's cotangent.
    pub(crate) fn cotangent_type(&self, value: Value) -> Type {
        cotangent_type(self.aug.func.ty(value))
    }

    /// The slots of a value's cotangents, which is not a local one, and what is in them.
    pub(crate) fn peek(&mut self, value: Value) -> Vec<(Value, Value)> {
        let ty = self.cotangent_type(value);
        let slots = self.adjoints(value);
        let mut b = self.build();
        slots.into_iter().map(|slot| (slot, b.load(ty.clone(), slot))).collect()
    }
}

impl Beside {
    /// `old + g`, where `old` may be this.
    pub(crate) fn add(self, b: &mut Builder, old: Value, g: Value) -> Value {
        let new = b.fadd(old, g);
        if self == Beside::Floats {
            return new;
        }
        let ty = b.func.ty(g).clone();
        let zero = b.func.zero(&ty);
        let nothing = b.fcmp(FloatPred::Oeq, g, zero);
        b.select(nothing, old, new)
    }
}

/// A slot for a cotangent, with nothing in it when the function begins.
pub(crate) fn empty_slot(func: &mut Function, prologue: &mut Vec<Inst>, ty: &Type) -> Value {
    let slot = alloca(func, prologue, ty);
    let nothing = neutral(func, ty);
    let store = Op::Store { ptr: slot, value: nothing, align: ty.align() };
    prologue.push(func.make_inst(store, None, Flags::NONE, None));
    slot
}

/// What an empty cotangent holds: −0, because `−0 + g` is `g` for every `g`, so that the optimiser may drop the
/// addition.
pub(crate) fn neutral(func: &mut Function, ty: &Type) -> Value {
    match ty {
        Type::F32 | Type::F64 => func.float(ty.clone(), -0.0),
        other => func.zero(other),
    }
}
