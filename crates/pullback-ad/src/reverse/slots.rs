//! Slots: what crosses from the forward sweep to the reverse sweep, and where it lives meanwhile.
//!
//! A slot belongs to a level, a loop or the function itself, and has a value in each iteration of that. Where it lives
//! depends on the level:
//!
//! - The function's own: an `alloca`, which the optimiser turns into a register. In a callee, whose sweeps are two
//!   functions, a record on the tape carries it from one to the other.
//! - A counted loop: an array on the tape of as many elements as there are iterations, one array for each slot. The
//!   forward sweep writes the element of the current iteration where the value is made, the reverse sweep reads it
//!   where it is used. The arrays of a loop lie one behind the other; in a derivative that is differentiated itself
//!   each is apart, so that pointers and floats are not taken for one another.
//! - Any other loop: an `alloca`, saved at the end of each iteration in a record that is pushed on the tape, and
//!   restored where the reverse sweep begins with the iteration.
//!
//! Arrays and records hold each slot in its own size, the most aligned first, so that there are no gaps.

use crate::error::{Error, Result};
use crate::plan::{self, Key};
use crate::reverse::Sweeps;
use crate::reverse::alias::Origin;
use pullback_ir::{Block, Builder, Flags, Function, Inst, IntPred, Loop, Op, Type, Value};
use std::collections::{BTreeMap, HashMap};

/// Something that lives in a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Slot {
    /// A kept value.
    Kept(Key),
    /// From which predecessor a block was entered.
    Which(Block),
    /// What a value kept at an outer level was last, while the loops inside of that level run.
    Latest(Key),
    /// The number of the current iteration.
    Counter(Loop),
    /// The number of the last iteration of a loop that is not counted.
    Last(Loop),
    /// Where the arrays of a run of a counted loop are; the number is that of their group.
    Base(Loop, usize),
    /// Where those of the current run are.
    Arrays(Loop, usize),
    /// How long they are; only in the reverse sweep.
    Count(Loop),
    /// By which block the function was left.
    Exit,
}

/// Where a slot lives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Home {
    /// In an `alloca` of each sweep.
    Alloca { forward: Value, reverse: Value },
    /// In the arrays of a counted loop: behind so many bytes for each iteration, and of so many bytes itself.
    Array { id: Loop, group: usize, behind: u64, bytes: u64 },
}

/// The slots of both sweeps.
#[derive(Default)]
pub(crate) struct Slots {
    /// How often counted loops run.
    pub(crate) trips: HashMap<Loop, Value>,
    /// The slots of each level, with their types.
    pub(super) levels: BTreeMap<Option<Loop>, Vec<(Slot, Type)>>,
    /// Where each slot lives.
    pub(super) homes: HashMap<Slot, Home>,
    /// For each loop, the values made in it that a loop around it keeps in an array.
    pub(super) latest: HashMap<Loop, Vec<Key>>,
    /// What is known of pointers that are read back from the tape.
    pub(crate) origins: HashMap<Value, Origin>,
    /// Goes to the start of the forward sweep.
    pub(crate) prologue: Vec<Inst>,
}

/// One of the two sweeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sweep {
    Forward,
    Reverse,
}

/// The type of a number below `bound`.
pub(crate) fn index_type(bound: usize) -> Type {
    if bound <= 1 << 8 { Type::I8 } else { Type::I32 }
}

impl Sweeps<'_, '_> {
    /// Make all slots.
    pub(crate) fn make_slots(&mut self, live_loops: &[Loop]) -> Result<()> {
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
        if self.form.is_apart() && exits > 1 {
            self.saved_slot(None, Slot::Exit, index_type(exits));
        }
        // Inner loops first: what they need of the loop around them is a slot of that one.
        for id in live_loops.iter().rev() {
            let parent = self.loops.get(*id).parent;
            self.loose_slot(Slot::Counter(*id), &Type::I64);
            // The reverse sweep starts at the last iteration. Its number is known where the count is.
            if !self.slots.trips.contains_key(id) {
                self.saved_slot(parent, Slot::Last(*id), Type::I64);
                continue;
            }
            for group in 0..self.groups(*id) {
                if group == 0 {
                    self.loose_slot(Slot::Count(*id), &Type::I64);
                }
                self.loose_slot(Slot::Arrays(*id, group), &Type::Ptr);
                self.saved_slot(parent, Slot::Base(*id, group), Type::Ptr);
            }
        }
        for (level, mut slots) in std::mem::take(&mut self.slots.levels) {
            slots.sort_by_key(|(_, ty)| std::cmp::Reverse(ty.align()));
            self.house(level, &slots);
            self.slots.levels.insert(level, slots);
        }
        // What is made in an inner loop goes to the array of the outer one when the inner loop is left, not each time
        // round.
        for key in self.plan.kept.clone() {
            if let (Home::Array { .. }, Some(inner)) = (self.slots.homes[&Slot::Kept(key)], self.loop_below(key)) {
                self.loose_slot(Slot::Latest(key), &self.aug.func.ty(key.0).clone());
                self.slots.latest.entry(inner).or_default().push(key);
            }
        }
        Ok(())
    }

    /// In how many groups the arrays of a loop lie; a loop that is not counted has none.
    fn groups(&self, id: Loop) -> usize {
        let slots = self.slots.levels.get(&Some(id)).filter(|_| self.slots.trips.contains_key(&id));
        let arrays = slots.map_or(0, Vec::len);
        if self.target.nested { arrays } else { arrays.min(1) }
    }

    /// Bytes that a group of arrays takes for each iteration.
    fn bytes_of(&self, id: Loop, group: usize) -> u64 {
        match &self.slots.levels[&Some(id)][..] {
            slots if self.target.nested => slots[group].1.room(),
            _ => self.all_bytes_of(id),
        }
    }

    /// Bytes that all arrays of a loop take for each iteration.
    pub(crate) fn all_bytes_of(&self, id: Loop) -> u64 {
        self.slots.levels[&Some(id)].iter().map(|(_, ty)| ty.room()).sum()
    }

    /// The outermost loop inside of a key's level that its value is made in, if it is made in one.
    fn loop_below(&self, (value, level): Key) -> Option<Loop> {
        let block = self.plan.block(value)?;
        self.loops.around(block).find(|id| self.loops.get(*id).parent == level)
    }

    /// On the way out of a loop at the end of `block`: its values that are kept for the loop around it, and its last
    /// number.
    pub(crate) fn keep_last(&mut self, block: Block, id: Loop) {
        for key in self.slots.latest.get(&id).cloned().unwrap_or_default() {
            let value = self.read_forward(block, Slot::Latest(key), self.aug.func.ty(key.0).clone());
            self.write(block, Slot::Kept(key), value);
        }
        if self.has_slot(Slot::Last(id)) {
            let number = self.read_forward(block, Slot::Counter(id), Type::I64);
            self.write(block, Slot::Last(id), number);
        }
    }

    /// A slot that has a value in each iteration of its level.
    fn saved_slot(&mut self, level: Option<Loop>, slot: Slot, ty: Type) {
        self.slots.levels.entry(level).or_default().push((slot, ty));
    }

    /// A slot that belongs to no level: each sweep has its own.
    fn loose_slot(&mut self, slot: Slot, ty: &Type) {
        let forward = alloca(&mut self.aug.func, &mut self.slots.prologue, ty);
        let reverse = match &mut self.rev.func {
            Some(rev) => alloca(rev, &mut self.rev.prologue, ty),
            None => forward,
        };
        self.slots.homes.insert(slot, Home::Alloca { forward, reverse });
    }

    /// Give the slots of a level their homes.
    fn house(&mut self, level: Option<Loop>, slots: &[(Slot, Type)]) {
        let arrays = level.filter(|id| self.slots.trips.contains_key(id));
        let (mut behind, apart) = (0, self.target.nested);
        for (i, (slot, ty)) in slots.iter().enumerate() {
            match arrays {
                Some(id) if apart => {
                    self.slots.homes.insert(*slot, Home::Array { id, group: i, behind: 0, bytes: ty.room() });
                }
                Some(id) => {
                    self.slots.homes.insert(*slot, Home::Array { id, group: 0, behind, bytes: ty.room() });
                    behind += ty.room();
                }
                None => self.loose_slot(*slot, ty),
            }
        }
    }

    /// The address of a slot at the end of a block of one of the sweeps.
    fn place(&mut self, sweep: Sweep, block: Block, slot: Slot) -> Value {
        let (id, group, behind, bytes) = match self.slots.homes[&slot] {
            Home::Alloca { forward, .. } if sweep == Sweep::Forward => return forward,
            Home::Alloca { reverse, .. } => return reverse,
            Home::Array { id, group, behind, bytes } => (id, group, behind, bytes),
        };
        let [arrays, counter, count] =
            [Slot::Arrays(id, group), Slot::Counter(id), Slot::Count(id)].map(|slot| self.place(sweep, block, slot));
        let trips = self.slots.trips[&id];
        let mut b = match sweep {
            Sweep::Forward => Builder::new(&mut self.aug.func, block),
            Sweep::Reverse => Builder::new(self.rev(), block),
        };
        let mut array = b.load(Type::Ptr, arrays);
        if behind > 0 {
            let n = if sweep == Sweep::Forward { trips } else { b.load(Type::I64, count) };
            let behind = b.func.i64(behind as i64);
            let start = b.mul(n, behind);
            array = b.ptr_add(array, start);
        }
        let i = b.load(Type::I64, counter);
        let bytes = b.func.i64(bytes as i64);
        let offset = b.mul(i, bytes);
        b.ptr_add(array, offset)
    }

    /// Whether there is such a slot.
    pub(crate) fn has_slot(&self, slot: Slot) -> bool {
        self.slots.homes.contains_key(&slot)
    }

    /// Write to a slot at the end of a block of the forward sweep.
    pub(crate) fn write(&mut self, block: Block, slot: Slot, value: Value) {
        let place = self.place(Sweep::Forward, block, slot);
        Builder::new(&mut self.aug.func, block).store(place, value);
    }

    /// Read a slot at the end of a block of the forward sweep.
    pub(crate) fn read_forward(&mut self, block: Block, slot: Slot, ty: Type) -> Value {
        let place = self.place(Sweep::Forward, block, slot);
        Builder::new(&mut self.aug.func, block).load(ty, place)
    }

    /// Read a slot in the reverse sweep.
    pub(crate) fn read(&mut self, slot: Slot, ty: Type) -> Value {
        let place = self.place(Sweep::Reverse, self.cursor.at, slot);
        let value = self.build().load(ty, place);
        self.note_origin(slot, value);
        value
    }

    /// Note what a value that was read back from the tape is.
    fn note_origin(&mut self, slot: Slot, value: Value) {
        let origin = match slot {
            Slot::Kept(key) if *self.aug.func.ty(key.0) == Type::Ptr => Origin::Same(key.0),
            Slot::Base(..) | Slot::Arrays(..) => Origin::Tape,
            _ => return,
        };
        self.slots.origins.insert(value, origin);
    }

    /// Write to a slot in the reverse sweep.
    pub(crate) fn write_reverse(&mut self, slot: Slot, value: Value) {
        let place = self.place(Sweep::Reverse, self.cursor.at, slot);
        self.build().store(place, value);
    }

    /// Write each kept value to its slots where it is made.
    pub(crate) fn keep_values(&mut self) {
        let mut of: HashMap<Value, Vec<Slot>> = HashMap::new();
        for key in &self.plan.kept {
            let latest = Slot::Latest(*key);
            of.entry(key.0).or_default().push(if self.has_slot(latest) { latest } else { Slot::Kept(*key) });
        }
        let slots = |value: &Value| of.get(value).into_iter().flatten();
        for block in self.cfg.live().collect::<Vec<_>>() {
            let insts = std::mem::take(&mut self.aug.func.block_mut(block).insts);
            let (params, last) = (self.aug.func.block(block).params.clone(), self.hands_on(block));
            let mut later = Vec::new();
            for param in params {
                later.extend(slots(&param).map(|slot| (*slot, param)));
            }
            for inst in insts {
                if !last {
                    later.drain(..).for_each(|(slot, value)| self.write(block, slot, value));
                }
                self.aug.func.block_mut(block).insts.push(inst);
                if let Some(result) = self.aug.func.inst(inst).result {
                    later.extend(slots(&result).map(|slot| (*slot, result)));
                }
            }
            later.into_iter().for_each(|(slot, value)| self.write(block, slot, value));
        }
    }

    /// Whether a block is a loop by itself that hands floats on to its next iteration. Of such a loop the optimiser
    /// makes vector code if they are recomputed from nothing but what comes before, but only if no store that uses the
    /// old ones is ahead of where the new ones are made: it moves anything but that. So stores come last.
    pub(crate) fn hands_on(&self, block: Block) -> bool {
        let params = &self.aug.func.block(block).params;
        let goes_round = self.cfg.predecessors(block).contains(&block) && self.starts_joint(block).is_none();
        goes_round && params.iter().any(|p| self.aug.func.ty(*p).is_float())
    }

    /// Make the arrays of a counted loop at the end of `block`, on the way into it with these arguments. Returns the
    /// block from which it is entered.
    pub(crate) fn make_arrays(&mut self, mut block: Block, id: Loop, args: &[Value]) -> Block {
        if let Some(copy) = self.unrecorded.get(&id).copied() {
            let each = self.all_bytes_of(id);
            let bytes = array_bytes(&mut Builder::new(&mut self.aug.func, block), self.slots.trips[&id], each);
            block = self.enter_unrecorded(block, copy, bytes, args);
        }
        for group in 0..self.groups(id) {
            let (count, each) = (self.slots.trips[&id], self.bytes_of(id, group));
            let tape = self.aug.tape.expect("reverse mode has a tape");
            let push = self.target.runtime.push;
            let site = self.target.site(&self.aug.func.name, &format!("loop {}.{group}", id.index()));
            let mut b = Builder::new(&mut self.aug.func, block);
            let bytes = array_bytes(&mut b, count, each);
            let memory = push.call(&mut b, tape, bytes, site);
            self.write(block, Slot::Arrays(id, group), memory);
            self.write(block, Slot::Base(id, group), memory);
        }
        block
    }

    /// Whether a counted loop has arrays.
    pub(crate) fn has_arrays(&self, id: Loop) -> bool {
        self.groups(id) > 0
    }

    /// The arrays of a counted loop leave the tape.
    pub(crate) fn drop_arrays(&mut self, id: Loop) {
        for group in (0..self.groups(id)).rev() {
            let n = self.read(Slot::Count(id), Type::I64);
            let (pop, tape, each) = (self.target.runtime.pop, self.rev.tape, self.bytes_of(id, group));
            let site = self.target.site(&self.aug.func.name, &format!("loop {}.{group}", id.index()));
            let mut b = self.build();
            let bytes = array_bytes(&mut b, n, each);
            pop.call(&mut b, tape, bytes, site);
        }
    }

    /// The reverse of a loop starts at its last iteration.
    pub(crate) fn start_at_last(&mut self, id: Loop) {
        let Some(count) = self.slots.trips.get(&id).copied() else {
            let last = self.read(Slot::Last(id), Type::I64);
            self.write_reverse(Slot::Counter(id), last);
            return;
        };
        let n = self.value(count, self.loops.get(id).parent);
        let mut b = self.build();
        let one = b.func.i64(1);
        let last = b.sub(n, one);
        self.write_reverse(Slot::Counter(id), last);
        for group in 0..self.groups(id) {
            if group == 0 {
                self.write_reverse(Slot::Count(id), n);
            }
            let arrays = self.read(Slot::Base(id, group), Type::Ptr);
            self.write_reverse(Slot::Arrays(id, group), arrays);
        }
    }

    /// The records that a level saves. One will do, but if the derivative is differentiated itself, it has to be known
    /// what lies where in a record, and of one with very many slots it is not.
    fn records(&self, level: Option<Loop>) -> Vec<Record> {
        const MOST_SLOTS: usize = 100;
        let is_saved = level.is_none_or(|id| !self.slots.trips.contains_key(&id));
        let Some(slots) = self.slots.levels.get(&level).filter(|_| is_saved) else { return Vec::new() };
        let most = if self.target.nested { MOST_SLOTS } else { slots.len().max(1) };
        let key = level.map_or_else(|| "call".to_owned(), |id| format!("loop {}", id.index()));
        let records = slots.chunks(most).enumerate().map(|(number, slots)| {
            let mut bytes = 0;
            let fields = slots.iter().map(|(slot, ty)| {
                let at = bytes;
                bytes += ty.room() as i64;
                (at, *slot, ty.clone())
            });
            let fields = fields.collect();
            Record { site: self.target.site(&self.aug.func.name, &format!("{key} record {number}")), bytes, fields }
        });
        records.collect()
    }

    /// Save the slots of a level at the end of `block` in the forward sweep.
    pub(crate) fn save(&mut self, block: Block, level: Option<Loop>) {
        let (push, tape) = (self.target.runtime.push, self.aug.tape.expect("reverse mode has a tape"));
        for Record { site, bytes, fields } in self.records(level) {
            let mut b = Builder::new(&mut self.aug.func, block);
            let bytes = b.func.i64(bytes);
            let record = push.call(&mut b, tape, bytes, site);
            for (at, slot, ty) in fields {
                let value = self.read_forward(block, slot, ty);
                let mut b = Builder::new(&mut self.aug.func, block);
                let place = b.offset(record, at);
                b.store(place, value);
            }
        }
    }

    /// Restore the slots of a level at the end of the current block of the reverse sweep.
    pub(crate) fn restore(&mut self, level: Option<Loop>) {
        self.cursor.cache.clear();
        let (pop, tape) = (self.target.runtime.pop, self.rev.tape);
        for Record { site, bytes, fields } in self.records(level).into_iter().rev() {
            let mut b = self.build();
            let bytes = b.func.i64(bytes);
            let record = pop.call(&mut b, tape, bytes, site);
            for (at, slot, ty) in fields {
                let mut b = self.build();
                let place = b.offset(record, at);
                let value = b.load(ty, place);
                self.note_origin(slot, value);
                self.write_reverse(slot, value);
            }
        }
    }
}

/// A record on the tape: slots with their types, and where in it they lie.
struct Record {
    site: i64,
    bytes: i64,
    fields: Vec<(i64, Slot, Type)>,
}

/// An `alloca` for a value of this type.
pub(crate) fn alloca(func: &mut Function, prologue: &mut Vec<Inst>, ty: &Type) -> Value {
    let op = Op::Alloca { size: ty.size().max(1), align: ty.align() };
    let inst = func.make_inst(op, Some(Type::Ptr), Flags::NONE, None);
    prologue.push(inst);
    func.result(inst)
}

/// The bytes of a counted loop's arrays. A loop that would take more than there are addresses for, because it is left
/// by a panic long before, must not look as if it took few: so many bytes cannot be had. A count of zero is 2⁶⁴, for a
/// loop that is entered runs once.
fn array_bytes(b: &mut Builder, count: Value, each: u64) -> Value {
    let most = i64::MAX as u64 / 2 / each;
    let (limit, one) = (b.func.i64(most as i64), b.func.i64(1));
    let last = b.sub(count, one);
    let too_many = b.icmp(IntPred::Uge, last, limit);
    let count = b.select(too_many, limit, count);
    let each = b.func.i64(each as i64);
    b.mul(count, each)
}
