//! Loads that the reverse sweep may recompute: they give the same value after the forward sweep.
//!
//! Such a load is from a place that nothing may overwrite between the load and the end of the sweep. What is freed is
//! only given back when the tape is dropped, so it does not matter here.

use crate::analysis::points_to::objects::ObjId;
use crate::analysis::points_to::offsets::Offsets;
use crate::linearise::augment::Augmented;
use crate::session::Form;
use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, Callee, Inst, Op, Value};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// Where an instruction stands.
type Position = (Block, usize);

/// A write to memory: where in the program, and, if that is known, where in its object and how many bytes.
struct Write {
    at: Position,
    bytes: Option<(Offsets, u64)>,
}

/// What is written where, and so which loads may be recomputed.
pub struct Recomputable<'a> {
    aug: &'a Augmented,
    cfg: &'a Cfg,
    form: Form,
    positions: HashMap<Inst, Position>,
    /// The writes to each [region](crate::analysis::points_to::regions::Regions::region).
    writes: HashMap<ObjId, Vec<Write>>,
    /// Calls that may write anything their arguments reach.
    calls: Vec<Position>,
    /// Calls of rules, which may write cells that they know from elsewhere, and so may their pullbacks.
    rules: Vec<Position>,
    /// For each block asked about, the blocks that can run after it.
    after: RefCell<HashMap<Block, HashSet<Block>>>,
}

impl<'a> Recomputable<'a> {
    /// Look at all writes of the function.
    pub fn new(aug: &'a Augmented, cfg: &'a Cfg, form: Form) -> Self {
        let mut this = Recomputable {
            aug,
            cfg,
            form,
            positions: HashMap::new(),
            writes: HashMap::new(),
            calls: Vec::new(),
            rules: Vec::new(),
            after: RefCell::new(HashMap::new()),
        };
        for block in cfg.live() {
            for (position, inst) in aug.func.block(block).insts.iter().enumerate() {
                this.positions.insert(*inst, (block, position));
                this.note(*inst, (block, position));
            }
        }
        this
    }

    /// Note what an instruction writes.
    fn note(&mut self, inst: Inst, at: Position) {
        let func = &self.aug.func;
        if let Some(written) = self.aug.writes.get(&inst) {
            self.rules.push(at);
            for object in written {
                self.writes.entry(self.aug.regions.region(*object)).or_default().push(Write { at, bytes: None });
            }
            return;
        }
        match &func.inst(inst).op {
            Op::Store { ptr, value, .. } => self.write(*ptr, Some(func.ty(*value).size()), at),
            // The zeroing of fresh stack memory happens before everything.
            Op::Fill { dst, .. } if at.0 == func.entry() && self.aug.stack.contains(dst) => {}
            Op::Copy { dst, len, .. } | Op::Fill { dst, len, .. } => {
                self.write(*dst, func.as_int(*len).map(|n| n as u64), at);
            }
            Op::Call(Callee::Direct(callee), ..) if self.aug.harmless.contains(callee) => {}
            Op::Call(..) => self.calls.push(at),
            Op::Opaque(op) if op.writes => self.calls.push(at),
            _ => {}
        }
    }

    fn write(&mut self, ptr: Value, width: Option<u64>, at: Position) {
        match self.aug.place(ptr) {
            Some((region, place)) => {
                let bytes = width.map(|width| (place.into_owned(), width));
                self.writes.entry(region).or_default().push(Write { at, bytes });
            }
            None => self.calls.push(at),
        }
    }

    /// Whether this place in the program may be reached after an instruction.
    fn is_later(&self, at: Position, (block, position): Position) -> bool {
        let mut after = self.after.borrow_mut();
        let after = after.entry(block).or_insert_with(|| self.cfg.reachable_from(block));
        after.contains(&at.0) || (at.0 == block && at.1 > position)
    }

    /// Whether nothing may write to an object after an instruction.
    pub fn stays(&self, inst: Inst, object: ObjId) -> bool {
        let Some(here) = self.positions.get(&inst).filter(|_| !self.form.is_apart()) else { return false };
        let writes = self.writes.get(&self.aug.regions.region(object)).into_iter().flatten().map(|write| write.at);
        !self.calls.iter().copied().chain(writes).any(|at| self.is_later(at, *here))
    }

    /// Whether this is a load that the reverse sweep may recompute.
    pub fn is_recomputable(&self, inst: Inst) -> bool {
        let data = self.aug.func.inst(inst);
        let Op::Load { ptr, .. } = data.op else { return false };
        if data.result.is_some_and(|r| self.aug.pinned.contains(&r)) {
            return false;
        }
        let (Some((object, _)), Some((region, place))) = (self.aug.places.get(&ptr), self.aug.place(ptr)) else {
            return false;
        };
        // Between a callee and its reverse the caller may write anything that is written at all.
        if self.form.is_apart() {
            return self.aug.unwritten.contains(object);
        }
        let Some(here) = self.positions.get(&inst) else { return false };
        let width = data.result.map_or(8, |r| self.aug.func.ty(r).size());
        let later = |at: &Position| self.is_later(*at, *here);
        let overwrites = |write: &Write| {
            let may_touch = |(at, bytes): &(Offsets, u64)| at.overlaps(*bytes, &place, width);
            later(&write.at) && write.bytes.as_ref().is_none_or(may_touch)
        };
        let by_rule = || self.aug.regions.is_shared(*object) && self.rules.iter().any(later);
        !self.calls.iter().any(later) && !by_rule() && !self.writes.get(&region).into_iter().flatten().any(overwrites)
    }
}
