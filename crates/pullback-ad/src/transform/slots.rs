//! Slots: what crosses from the forward sweep to the reverse sweep, and how loops save and restore it.
//!
//! A slot belongs to a level, a loop or the function itself. A loop saves the slots of its level at the end of each iteration:
//! in arrays, one for each slot, of as many elements as there are iterations, where that number is known on entry; else in a
//! record on the tape. Both hold each slot in its own size, the most aligned first, so that there are no gaps.

use super::plan::{self, Key};
use super::reverse::Sweeps;
use super::session::Form;
use crate::error::{Error, Result};
use pullback_ir::{Block, Builder, Flags, Function, Loop, Op, Type, Value};
use std::collections::HashMap;

/// Something that lives in a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Slot {
    /// A kept value.
    Kept(Key),
    /// From which predecessor a block was entered.
    Which(Block),
    /// The number of the current iteration.
    Counter(Loop),
    /// Where a counted loop's arrays are.
    Base(Loop),
    /// How long they are; only in the reverse sweep.
    Count(Loop),
    /// By which block the function was left.
    Exit,
}

/// The type of a number below `bound`.
pub(super) fn index_type(bound: usize) -> Type {
    if bound <= 1 << 8 { Type::I8 } else { Type::I32 }
}

impl Sweeps<'_, '_> {
    /// Make all slots.
    pub(super) fn make_slots(&mut self, live_loops: &[Loop]) -> Result<()> {
        for key in self.plan.kept.clone() {
            let ty = self.aug.func.ty(key.0).clone();
            if !plan::can_keep(&ty) {
                return Err(Error::internal(format!("a value of type {ty} is needed by the reverse sweep")));
            }
            self.saved_slot(key.1, Slot::Kept(key), ty);
        }
        for block in self.cfg.reverse_postorder().to_vec() {
            let told = self.counter_tells(block).is_some() || self.plan.decisions.contains_key(&block);
            let edges = self.live_edges_into(block).len();
            if self.is_live(block) && edges > 1 && !told {
                self.saved_slot(self.loops.innermost(block), Slot::Which(block), index_type(edges));
            }
        }
        let exits = self.return_blocks().len();
        if self.form == Form::Callee && exits > 1 {
            self.saved_slot(None, Slot::Exit, index_type(exits));
        }
        // Inner loops first: what they need of the loop around them is a slot of that one.
        for id in live_loops.iter().rev() {
            let parent = self.loops.get(*id).parent;
            if !self.trips.contains_key(id) {
                self.saved_slot(parent, Slot::Counter(*id), Type::I64);
                continue;
            }
            // The reverse sweep starts at the last iteration, whose number is known.
            self.loose_slot(Slot::Counter(*id), &Type::I64);
            if self.levels.contains_key(&Some(*id)) {
                self.loose_slot(Slot::Count(*id), &Type::I64);
                self.saved_slot(parent, Slot::Base(*id), Type::Ptr);
            }
        }
        for slots in self.levels.values_mut() {
            slots.sort_by_key(|(_, ty)| std::cmp::Reverse(ty.align()));
        }
        Ok(())
    }

    /// A slot that the loop of its level saves.
    fn saved_slot(&mut self, level: Option<Loop>, slot: Slot, ty: Type) {
        self.loose_slot(slot, &ty);
        self.levels.entry(level).or_default().push((slot, ty));
    }

    /// A slot that nobody saves.
    fn loose_slot(&mut self, slot: Slot, ty: &Type) {
        let fwd = alloca(&mut self.aug.func, &mut self.fwd_prologue, ty);
        let rev = match &mut self.rev {
            Some(rev) => alloca(rev, &mut self.rev_prologue, ty),
            None => fwd,
        };
        self.fwd_slots.insert(slot, fwd);
        self.rev_slots.insert(slot, rev);
    }

    /// Write each kept value to its slots where it is made.
    pub(super) fn keep_values(&mut self) {
        let mut of: HashMap<Value, Vec<Value>> = HashMap::new();
        for key in &self.plan.kept {
            of.entry(key.0).or_default().push(self.fwd_slots[&Slot::Kept(*key)]);
        }
        for block in self.cfg.reverse_postorder().to_vec() {
            if !self.is_live(block) {
                continue;
            }
            let mut out = Vec::new();
            let stores = |func: &mut Function, value: Value, out: &mut Vec<pullback_ir::Inst>| {
                let align = func.ty(value).align();
                for place in of.get(&value).into_iter().flatten() {
                    out.push(func.make_inst(Op::Store { ptr: *place, value, align }, None, Flags::NONE, None));
                }
            };
            for param in self.aug.func.block(block).params.clone() {
                stores(&mut self.aug.func, param, &mut out);
            }
            for inst in self.aug.func.block(block).insts.clone() {
                out.push(inst);
                if let Some(result) = self.aug.func.inst(inst).result {
                    stores(&mut self.aug.func, result, &mut out);
                }
            }
            self.aug.func.block_mut(block).insts = out;
        }
    }

    /// Bytes that a level saves each time.
    pub(super) fn bytes_each(&self, level: Option<Loop>) -> u64 {
        self.levels.get(&level).into_iter().flatten().map(|(_, ty)| ty.size()).sum()
    }

    /// Make the arrays of a counted loop at the end of `block`, on the way into it.
    pub(super) fn make_arrays(&mut self, block: Block, id: Loop) {
        let Some(base) = self.fwd_slots.get(&Slot::Base(id)).copied() else { return };
        let (count, each) = (self.trips[&id], self.bytes_each(Some(id)));
        let tape = self.aug.tape.expect("reverse mode has a tape");
        let mut b = Builder::new(&mut self.aug.func, block);
        let each = b.func.i64(each as i64);
        let bytes = b.mul(count, each);
        let memory = b.call(self.session.runtime.tape_push, vec![tape, bytes], Type::Ptr);
        b.store(base, memory);
    }

    /// The arrays of a counted loop leave the tape.
    pub(super) fn drop_arrays(&mut self, id: Loop) {
        let Some(count) = self.rev_slots.get(&Slot::Count(id)).copied() else { return };
        let (pop, tape, each) = (self.session.runtime.tape_pop, self.rev_tape, self.bytes_each(Some(id)));
        let mut b = self.build();
        let n = b.load(Type::I64, count);
        let each = b.func.i64(each as i64);
        let bytes = b.mul(n, each);
        b.call(pop, vec![tape, bytes], Type::Ptr);
    }

    /// Save the slots of a level at the end of `block` in the forward sweep.
    pub(super) fn save(&mut self, block: Block, level: Option<Loop>) {
        let Some(slots) = self.levels.get(&level).cloned() else { return };
        let tape = self.aug.tape.expect("reverse mode has a tape");
        let arrays = level.filter(|id| self.trips.contains_key(id));
        let own: Vec<Value> = slots.iter().map(|(slot, _)| self.fwd_slots[slot]).collect();
        let counters = arrays.map(|id| [Slot::Base(id), Slot::Counter(id)].map(|s| self.fwd_slots[&s]));
        let count = arrays.map(|id| self.trips[&id]);
        let (push, each) = (self.session.runtime.tape_push, self.bytes_each(level));
        let mut b = Builder::new(&mut self.aug.func, block);
        let places = match counters.zip(count) {
            Some((counters, count)) => array_places(&mut b, counters, count, &slots),
            None => {
                let bytes = b.func.i64(each as i64);
                let record = b.call(push, vec![tape, bytes], Type::Ptr);
                record_places(&mut b, record, &slots)
            }
        };
        for ((place, slot), (_, ty)) in places.into_iter().zip(own).zip(&slots) {
            let value = b.load(ty.clone(), slot);
            b.store(place, value);
        }
    }

    /// Restore the slots of a level at the end of the current block of the reverse sweep.
    pub(super) fn restore(&mut self, level: Option<Loop>) {
        self.cache.clear();
        let Some(slots) = self.levels.get(&level).cloned() else { return };
        let arrays = level.filter(|id| self.trips.contains_key(id));
        let own: Vec<Value> = slots.iter().map(|(slot, _)| self.rev_slots[slot]).collect();
        let counters = arrays.map(|id| [Slot::Base(id), Slot::Counter(id)].map(|s| self.rev_slots[&s]));
        let count = arrays.map(|id| self.rev_slots[&Slot::Count(id)]);
        let (pop, tape, each) = (self.session.runtime.tape_pop, self.rev_tape, self.bytes_each(level));
        let mut b = self.build();
        let places = match counters.zip(count) {
            Some((counters, count)) => {
                let count = b.load(Type::I64, count);
                array_places(&mut b, counters, count, &slots)
            }
            None => {
                let bytes = b.func.i64(each as i64);
                let record = b.call(pop, vec![tape, bytes], Type::Ptr);
                record_places(&mut b, record, &slots)
            }
        };
        let values: Vec<Value> =
            places.into_iter().zip(&slots).map(|(place, (_, ty))| b.load(ty.clone(), place)).collect();
        for (value, slot) in values.into_iter().zip(own) {
            b.store(slot, value);
        }
    }
}

/// An `alloca` for a value of this type.
pub(super) fn alloca(func: &mut Function, prologue: &mut Vec<pullback_ir::Inst>, ty: &Type) -> Value {
    let op = Op::Alloca { size: ty.size().max(1), align: ty.align() };
    let inst = func.make_inst(op, Some(Type::Ptr), Flags::NONE, None);
    prologue.push(inst);
    func.inst(inst).result.expect("an alloca has a result")
}

/// The places of one iteration's slots in the arrays of a counted loop: an array after the other.
fn array_places(b: &mut Builder, counters: [Value; 2], count: Value, slots: &[(Slot, Type)]) -> Vec<Value> {
    let [base, counter] = counters;
    let base = b.load(Type::Ptr, base);
    let i = b.load(Type::I64, counter);
    let mut before = 0;
    let mut places = Vec::new();
    for (_, ty) in slots {
        let start = b.func.i64(before);
        let start = b.mul(count, start);
        let array = b.ptr_add(base, start);
        let each = b.func.i64(ty.size() as i64);
        let offset = b.mul(i, each);
        places.push(b.ptr_add(array, offset));
        before += ty.size() as i64;
    }
    places
}

/// The places of the slots in a record.
fn record_places(b: &mut Builder, record: Value, slots: &[(Slot, Type)]) -> Vec<Value> {
    let mut at = 0;
    slots
        .iter()
        .map(|(_, ty)| {
            let place = b.offset(record, at);
            at += ty.size() as i64;
            place
        })
        .collect()
}
