//! Reverse mode: the forward sweep that keeps what is needed, and the reverse sweep.
//!
//! [`combined`] puts both sweeps into one function, [`split`] into two that pass what is kept over the tape.
//!
//! Everything that crosses from one sweep to the other, or from one reversed block to another, lives in a *slot*: an
//! `alloca` that LLVM turns into registers. The forward sweep writes a slot where its value is made. A loop *saves* the
//! slots of its level on every back edge and exit edge, under the number of the iteration; the reverse sweep *restores* them
//! on the reversed edge. Where the number of iterations is known on entry, they are saved in one array a slot, of exactly
//! that length; otherwise as a record pushed on the tape.
//!
//! ```text
//!  forward                                  reverse
//!  entry edge   counter = 0; array          reversed exit edge   restore slots of iteration `counter`
//!  …            slot = value                …                    transposes of the linear operations, backwards
//!  back edge    save slots; counter += 1    reversed back edge   counter −= 1; restore
//!  exit edge    save slots                  reversed entry edge  array goes
//! ```
//! Which predecessor a block came from is a slot too; at a loop header the counter tells.

use super::augment::Augmented;
use super::plan::{self, Key, Plan, Source};
use super::refill::refilled;
use super::session::{Form, Session};
use crate::analysis::counted::{self, TripCount};
use crate::error::{Error, ErrorKind, Result};
use pullback_ir::cfg::{Cfg, Edge, edges_from};
use pullback_ir::dominators::Dominators;
use pullback_ir::loops::Loops;
use pullback_ir::{
    BinOp, Block, BlockCall, Builder, Constant, Flags, Function, IntPred, Loop, Op, Terminator, Type, Value,
};
use pullback_ir::{ValueDef, types::round_up};
use std::collections::{BTreeMap, HashMap, HashSet};

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
    /// How long they are.
    Count(Loop),
    /// By which block the function was left.
    Exit,
}

/// Both sweeps while they are made. In combined form `fwd` is also the reverse function.
pub(super) struct Sweeps<'s, 'a> {
    pub(super) session: &'s Session<'a>,
    pub(super) aug: Augmented,
    pub(super) form: Form,
    pub(super) cfg: Cfg,
    pub(super) loops: Loops,
    pub(super) plan: Plan,
    counted: HashMap<Loop, TripCount>,
    /// The slots of each level, with their types.
    levels: BTreeMap<Option<Loop>, Vec<(Slot, Type)>>,
    /// The reverse function, when it is one of its own.
    rev: Option<Function>,
    fwd_slots: HashMap<Slot, Value>,
    rev_slots: HashMap<Slot, Value>,
    fwd_prologue: Vec<pullback_ir::Inst>,
    pub(super) rev_prologue: Vec<pullback_ir::Inst>,
    /// Slots of cotangents.
    pub(super) adjoints: HashMap<Value, Vec<Value>>,
    /// The block of the reverse sweep that is being written.
    pub(super) at: Block,
    /// Values of the forward sweep already at hand in this block.
    pub(super) cache: HashMap<Key, Value>,
    rev_blocks: HashMap<Block, Block>,
    pub(super) rev_tape: Value,
}

/// The derivative as one function.
pub fn combined(session: &Session, aug: Augmented, name: &str) -> Result<Function> {
    let tape = aug.tape.expect("reverse mode has a tape");
    let mut sweeps = Sweeps::new(session, aug, Form::Whole, None, tape)?;
    sweeps.run()?;
    let mut func = sweeps.aug.func;
    func.name = name.to_owned();
    Ok(func)
}

/// An augmented primal and its reverse function.
pub fn split(session: &Session, aug: Augmented, name: &str) -> Result<(Function, Function)> {
    let width = session.request.width;
    let mut rev = Function::new(name, Vec::new(), None);
    let entry = rev.add_block();
    let tape = rev.add_param(entry, Type::Ptr);
    if aug.returns_active {
        let ty = aug.ret.clone().expect("an active result has a type");
        for _ in 0..width {
            rev.add_param(entry, ty.clone());
        }
    }
    rev.params = rev.param_values().iter().map(|v| rev.ty(*v).clone()).collect();
    let cotangents: Vec<Type> =
        aug.params.iter().flat_map(|p| std::iter::repeat_n(aug.func.ty(*p).clone(), width)).collect();
    rev.ret = (!cotangents.is_empty()).then(|| Type::structure(cotangents));
    let mut sweeps = Sweeps::new(session, aug, Form::Callee, Some(rev), tape)?;
    sweeps.run()?;
    let rev = sweeps.rev.take().expect("split sweeps have a reverse function");
    Ok((sweeps.aug.func, rev))
}

impl<'s, 'a> Sweeps<'s, 'a> {
    fn new(
        session: &'s Session<'a>,
        aug: Augmented,
        form: Form,
        rev: Option<Function>,
        rev_tape: Value,
    ) -> Result<Self> {
        let cfg = Cfg::new(&aug.func);
        let doms = Dominators::new(&cfg);
        let loops = Loops::new(&aug.func, &cfg, &doms).map_err(|irreducible| {
            Error::new(ErrorKind::Unsupported, "a loop that is entered in its middle")
                .at(aug.func.block(irreducible.from).term_loc)
                .note("the optimiser made control flow here that has no structured form")
        })?;
        let plan = plan::plan(&aug, &cfg, &loops, form);
        let live_loops: Vec<Loop> =
            loops.iter().filter(|(_, data)| cfg.can_return(data.header)).map(|(id, _)| id).collect();
        let counted = live_loops
            .iter()
            .filter_map(|id| {
                Some((*id, counted::trip_count(&aug.func, &cfg, &doms, &loops, *id, |b| cfg.can_return(b))?))
            })
            .collect();
        let mut this = Sweeps {
            session,
            form,
            cfg,
            loops,
            plan,
            counted,
            levels: BTreeMap::new(),
            rev,
            fwd_slots: HashMap::new(),
            rev_slots: HashMap::new(),
            fwd_prologue: Vec::new(),
            rev_prologue: Vec::new(),
            adjoints: HashMap::new(),
            at: aug.func.entry(),
            cache: HashMap::new(),
            rev_blocks: HashMap::new(),
            rev_tape,
            aug,
        };
        this.make_slots(&live_loops)?;
        Ok(this)
    }

    /// The function the reverse sweep is in.
    pub(super) fn rev(&mut self) -> &mut Function {
        self.rev.as_mut().unwrap_or(&mut self.aug.func)
    }

    /// A cursor in the reverse sweep.
    pub(super) fn build(&mut self) -> Builder<'_> {
        let at = self.at;
        Builder::new(self.rev(), at)
    }

    fn is_live(&self, block: Block) -> bool {
        self.cfg.can_return(block)
    }

    /// The live edges into a block, in a fixed order.
    fn live_edges_into(&self, block: Block) -> Vec<Edge> {
        let preds = self.cfg.predecessors(block).iter().filter(|p| self.is_live(**p));
        preds.flat_map(|p| edges_from(&self.aug.func, *p)).filter(|e| e.to == block).collect()
    }

    /// Whether the counter of its loop tells from where a header was entered.
    fn counter_tells(&self, block: Block) -> Option<Loop> {
        let id = self.loops.headed_by(block)?;
        let entries = counted::entries(&self.aug.func, &self.cfg, &self.loops, id);
        let backs = counted::back_edges(&self.aug.func, &self.loops, id);
        (entries.len() == 1 && backs.len() == 1).then_some(id)
    }

    fn make_slots(&mut self, live_loops: &[Loop]) -> Result<()> {
        let mut all: Vec<(Option<Loop>, Slot, Type)> = Vec::new();
        for key in &self.plan.kept {
            let ty = self.aug.func.ty(key.0).clone();
            if !plan::can_keep(&ty) {
                return Err(Error::internal(format!("a value of type {ty} is needed by the reverse sweep")));
            }
            all.push((key.1, Slot::Kept(*key), ty));
        }
        for block in self.cfg.reverse_postorder() {
            if self.is_live(*block) && self.live_edges_into(*block).len() > 1 && self.counter_tells(*block).is_none() {
                all.push((self.loops.innermost(*block), Slot::Which(*block), Type::I32));
            }
        }
        // A loop's arrays exist only if there is something to put into them.
        for id in live_loops {
            let parent = self.loops.get(*id).parent;
            all.push((parent, Slot::Counter(*id), Type::I64));
        }
        let filled: HashSet<Option<Loop>> = all.iter().map(|(level, ..)| *level).collect();
        for id in live_loops.iter().filter(|id| self.counted.contains_key(id) && filled.contains(&Some(**id))) {
            let parent = self.loops.get(*id).parent;
            all.push((parent, Slot::Base(*id), Type::Ptr));
            all.push((parent, Slot::Count(*id), Type::I64));
        }
        // Base and Count may have filled a level that was empty before.
        let filled: HashSet<Option<Loop>> = all.iter().map(|(level, ..)| *level).collect();
        for id in live_loops.iter().filter(|id| self.counted.contains_key(id) && filled.contains(&Some(**id))) {
            if !all.iter().any(|(_, slot, _)| *slot == Slot::Base(*id)) {
                let parent = self.loops.get(*id).parent;
                all.push((parent, Slot::Base(*id), Type::Ptr));
                all.push((parent, Slot::Count(*id), Type::I64));
            }
        }
        let exits = self.return_blocks();
        if self.form == Form::Callee && exits.len() > 1 {
            all.push((None, Slot::Exit, Type::I32));
        }
        for (level, slot, ty) in all {
            let fwd = alloca(&mut self.aug.func, &mut self.fwd_prologue, &ty);
            let rev = match &mut self.rev {
                Some(rev) => alloca(rev, &mut self.rev_prologue, &ty),
                None => fwd,
            };
            self.fwd_slots.insert(slot, fwd);
            self.rev_slots.insert(slot, rev);
            self.levels.entry(level).or_default().push((slot, ty));
        }
        Ok(())
    }

    fn return_blocks(&self) -> Vec<Block> {
        let returns = |b: &Block| matches!(self.aug.func.block(*b).term, Terminator::Return(_));
        self.cfg.reverse_postorder().iter().copied().filter(returns).collect()
    }

    fn run(&mut self) -> Result<()> {
        let live: Vec<Block> = self.cfg.reverse_postorder().iter().copied().filter(|b| self.is_live(*b)).collect();
        if live.is_empty() {
            return self.never_returns();
        }
        let edges: Vec<Edge> =
            live.iter().flat_map(|b| edges_from(&self.aug.func, *b)).filter(|e| self.is_live(e.to)).collect();
        // The reverse sweep reads instructions and edges of the forward sweep, so take them before they change.
        let insts: HashMap<Block, Vec<pullback_ir::Inst>> =
            live.iter().map(|b| (*b, self.aug.func.block(*b).insts.clone())).collect();
        let args: HashMap<Edge, Vec<Value>> =
            edges.iter().map(|e| (*e, self.aug.func.block(e.from).term.targets()[e.index].args.clone())).collect();
        let into: HashMap<Block, Vec<Edge>> = live.iter().map(|b| (*b, self.live_edges_into(*b))).collect();
        let exits = self.return_blocks();

        for block in &live {
            let new = self.rev().add_block();
            self.rev_blocks.insert(*block, new);
        }
        let headers: HashMap<Block, Option<Loop>> = live.iter().map(|b| (*b, self.counter_tells(*b))).collect();
        self.keep_values();
        for edge in &edges {
            self.forward_edge(*edge, &into[&edge.to], &args[edge]);
        }
        self.turn(&exits);
        for block in live.iter().rev() {
            self.reverse_block(*block, &insts[block], &into[block], &args, headers[block])?;
        }
        self.finish();
        Ok(())
    }

    /// A function that never returns has an empty reverse sweep.
    fn never_returns(&mut self) -> Result<()> {
        if let Some(rev) = &mut self.rev {
            let entry = rev.entry();
            Builder::new(rev, entry).terminate(Terminator::Unreachable);
        }
        Ok(())
    }

    /// Write each kept value to its slots where it is made.
    fn keep_values(&mut self) {
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

    /// The loops an edge leaves, innermost first.
    fn left_by(&self, edge: Edge) -> Vec<Loop> {
        self.loops.around(edge.from).filter(|id| !self.loops.contains(*id, edge.to)).collect()
    }

    /// The loop an edge goes round, if it is a back edge.
    fn closed_by(&self, edge: Edge) -> Option<Loop> {
        let id = self.loops.headed_by(edge.to)?;
        self.loops.contains(id, edge.from).then_some(id)
    }

    /// The loop an edge enters.
    fn entered_by(&self, edge: Edge) -> Option<Loop> {
        let id = self.loops.headed_by(edge.to)?;
        (!self.loops.contains(id, edge.from)).then_some(id)
    }

    /// Put the saving, counting and recording of an edge into a block of its own.
    fn forward_edge(&mut self, edge: Edge, into: &[Edge], args: &[Value]) {
        let which = self.fwd_slots.get(&Slot::Which(edge.to)).copied();
        let (left, closed, entered) = (self.left_by(edge), self.closed_by(edge), self.entered_by(edge));
        if which.is_none() && left.is_empty() && closed.is_none() && entered.is_none() {
            return;
        }
        let block = self.aug.func.add_block();
        self.aug.func.block_mut(edge.from).term.targets_mut()[edge.index].clone_from(&BlockCall::new(block, vec![]));
        for id in left.iter().chain(&closed) {
            self.save(block, Some(*id));
        }
        let counter = |id: &Loop| self.fwd_slots[&Slot::Counter(*id)];
        if let Some(id) = &closed {
            let place = counter(id);
            let mut b = Builder::new(&mut self.aug.func, block);
            let i = b.load(Type::I64, place);
            let one = b.func.i64(1);
            let next = b.add(i, one);
            b.store(place, next);
        }
        if let Some(id) = &entered {
            let place = counter(id);
            let mut b = Builder::new(&mut self.aug.func, block);
            let zero = b.func.i64(0);
            b.store(place, zero);
            if let (Some(base), Some(count)) =
                (self.fwd_slots.get(&Slot::Base(*id)).copied(), self.fwd_slots.get(&Slot::Count(*id)).copied())
            {
                let trips = self.counted[id];
                let bytes_each = self.bytes_per_iteration(*id);
                let tape = self.aug.tape.expect("reverse mode has a tape");
                let mut b = Builder::new(&mut self.aug.func, block);
                let n = trips.emit(&mut b);
                b.store(count, n);
                let each = b.func.i64(bytes_each as i64);
                let bytes = b.mul(n, each);
                let memory = b.call(self.session.runtime.tape_push, vec![tape, bytes], Type::Ptr);
                b.store(base, memory);
            }
        }
        if let Some(place) = which {
            let number = into.iter().position(|e| *e == edge).expect("the edge is among those into its target");
            let mut b = Builder::new(&mut self.aug.func, block);
            let number = b.func.int(Type::I32, number as i128);
            b.store(place, number);
        }
        Builder::new(&mut self.aug.func, block).jump(edge.to, args.to_vec());
    }

    /// Bytes a counted loop keeps in each iteration.
    fn bytes_per_iteration(&self, id: Loop) -> u64 {
        self.levels.get(&Some(id)).into_iter().flatten().map(|(_, ty)| padded(ty)).sum()
    }

    /// Save the slots of a level at the end of `block` in the forward sweep.
    fn save(&mut self, block: Block, level: Option<Loop>) {
        let Some(slots) = self.levels.get(&level).cloned() else { return };
        let tape = self.aug.tape.expect("reverse mode has a tape");
        let arrays = level.filter(|id| self.fwd_slots.contains_key(&Slot::Base(*id)));
        let own: Vec<Value> = slots.iter().map(|(slot, _)| self.fwd_slots[slot]).collect();
        let counters =
            arrays.map(|id| [Slot::Base(id), Slot::Count(id), Slot::Counter(id)].map(|s| self.fwd_slots[&s]));
        let push = self.session.runtime.tape_push;
        let mut b = Builder::new(&mut self.aug.func, block);
        let places = match counters {
            Some(counters) => array_places(&mut b, counters, &slots),
            None => {
                let bytes = b.func.i64(slots.iter().map(|(_, ty)| padded(ty)).sum::<u64>() as i64);
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
    fn restore(&mut self, level: Option<Loop>) {
        self.cache.clear();
        let Some(slots) = self.levels.get(&level).cloned() else { return };
        let arrays = level.filter(|id| self.rev_slots.contains_key(&Slot::Base(*id)));
        let own: Vec<Value> = slots.iter().map(|(slot, _)| self.rev_slots[slot]).collect();
        let counters =
            arrays.map(|id| [Slot::Base(id), Slot::Count(id), Slot::Counter(id)].map(|s| self.rev_slots[&s]));
        let (pop, tape) = (self.session.runtime.tape_pop, self.rev_tape);
        let mut b = self.build();
        let places = match counters {
            Some(counters) => array_places(&mut b, counters, &slots),
            None => {
                let bytes = b.func.i64(slots.iter().map(|(_, ty)| padded(ty)).sum::<u64>() as i64);
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

    /// From the end of the forward sweep to the start of the reverse sweep.
    fn turn(&mut self, exits: &[Block]) {
        let Some(_) = &self.rev else {
            for exit in exits {
                let to = self.rev_blocks[exit];
                Builder::new(&mut self.aug.func, *exit).jump(to, vec![]);
            }
            return;
        };
        // The forward sweep of a callee pushes the slots of the function's own level and returns.
        for (number, exit) in exits.iter().enumerate() {
            if let Some(place) = self.fwd_slots.get(&Slot::Exit).copied() {
                let mut b = Builder::new(&mut self.aug.func, *exit);
                let number = b.func.int(Type::I32, number as i128);
                b.store(place, number);
            }
            self.save(*exit, None);
        }
        self.at = self.rev().entry();
        self.restore(None);
        let entries: Vec<Block> = exits.iter().map(|e| self.rev_blocks[e]).collect();
        match self.rev_slots.get(&Slot::Exit).copied() {
            Some(place) => {
                let mut b = self.build();
                let which = b.load(Type::I32, place);
                dispatch(&mut b, which, &entries);
            }
            None => self.build().jump(entries[0], vec![]),
        }
        // The cotangent of the result goes to the value that was returned.
        if self.aug.returns_active {
            let seeds: Vec<Value> = self.rev().param_values()[1..].to_vec();
            for exit in exits {
                let value = self.aug.returned[exit];
                if self.aug.active.contains(&value) {
                    self.at = self.rev_blocks[exit];
                    for (lane, seed) in seeds.iter().enumerate() {
                        self.accumulate(value, lane, *seed);
                    }
                }
            }
        }
    }

    /// The reverse of a block: the transposes of its linear operations, backwards, and then on to where it came from.
    fn reverse_block(
        &mut self,
        block: Block,
        insts: &[pullback_ir::Inst],
        into: &[Edge],
        args: &HashMap<Edge, Vec<Value>>,
        header: Option<Loop>,
    ) -> Result<()> {
        self.at = self.rev_blocks[&block];
        self.cache.clear();
        let level = self.loops.innermost(block);
        let refilled = refilled(insts, &self.aug.linear);
        for inst in insts.iter().rev() {
            let Some(linear) = self.aug.linear.get(inst).cloned() else { continue };
            let data = self.aug.func.inst(*inst);
            let (flags, loc) = (data.flags.fast_math(), data.loc);
            for linear in linear.iter().rev() {
                self.transpose(linear, level, flags, loc, refilled.contains(inst));
            }
        }
        let params = self.aug.func.block(block).params.clone();
        if into.is_empty() {
            self.leave();
            return Ok(());
        }
        // All cotangents of parameters are taken before any is passed on: a parameter may be passed to another.
        let active: Vec<(usize, Value)> =
            params.iter().copied().enumerate().filter(|(_, p)| self.aug.active.contains(p)).collect();
        let taken: Vec<(usize, Vec<Value>)> = active.into_iter().map(|(i, p)| (i, self.take(p))).collect();
        let blocks: Vec<Block> = into.iter().map(|_| self.rev().add_block()).collect();
        match (header, &blocks[..]) {
            (_, [only]) => self.build().jump(*only, vec![]),
            (Some(id), _) => {
                let place = self.rev_slots[&Slot::Counter(id)];
                let entry = into.iter().position(|e| self.entered_by(*e).is_some()).expect("a loop is entered");
                let back = into.iter().position(|e| self.closed_by(*e).is_some()).expect("a loop has a back edge");
                let mut b = self.build();
                let i = b.load(Type::I64, place);
                let zero = b.func.i64(0);
                let first = b.icmp(IntPred::Eq, i, zero);
                b.branch(first, BlockCall::new(blocks[entry], vec![]), BlockCall::new(blocks[back], vec![]));
            }
            (None, _) => {
                let place = self.rev_slots[&Slot::Which(block)];
                let mut b = self.build();
                let which = b.load(Type::I32, place);
                dispatch(&mut b, which, &blocks);
            }
        }
        for (edge, new) in into.iter().zip(blocks) {
            self.at = new;
            for (position, cotangents) in &taken {
                let arg = args[edge][*position];
                if self.aug.active.contains(&arg) {
                    for (lane, g) in cotangents.iter().enumerate() {
                        self.accumulate(arg, lane, *g);
                    }
                }
            }
            self.reverse_edge(*edge);
            let to = self.rev_blocks[&edge.from];
            self.build().jump(to, vec![]);
        }
        Ok(())
    }

    fn reverse_edge(&mut self, edge: Edge) {
        if let Some(id) = self.entered_by(edge)
            && self.rev_slots.contains_key(&Slot::Base(id))
        {
            let count = self.rev_slots[&Slot::Count(id)];
            let (pop, tape, each) = (self.session.runtime.tape_pop, self.rev_tape, self.bytes_per_iteration(id));
            let mut b = self.build();
            let n = b.load(Type::I64, count);
            let each = b.func.i64(each as i64);
            let bytes = b.mul(n, each);
            b.call(pop, vec![tape, bytes], Type::Ptr);
        }
        if let Some(id) = self.closed_by(edge) {
            let place = self.rev_slots[&Slot::Counter(id)];
            let mut b = self.build();
            let i = b.load(Type::I64, place);
            let one = b.func.i64(1);
            let before = b.sub(i, one);
            b.store(place, before);
            self.restore(Some(id));
        }
        for id in self.left_by(edge).into_iter().rev() {
            self.restore(Some(id));
        }
    }

    /// The end of the reverse sweep.
    fn leave(&mut self) {
        if self.rev.is_none() {
            self.build().ret(None);
            return;
        }
        for (_, bytes) in self.aug.pushed.clone().into_iter().rev() {
            let (pop, tape) = (self.session.runtime.tape_pop, self.rev_tape);
            let mut b = self.build();
            let bytes = b.func.i64(bytes as i64);
            b.call(pop, vec![tape, bytes], Type::Ptr);
        }
        let mut result = None;
        if let Some(ty) = self.rev().ret.clone() {
            let parts: Vec<Value> = self.aug.params.clone().into_iter().flat_map(|p| self.take(p)).collect();
            let mut b = self.build();
            let mut all = b.func.constant(ty.clone(), Constant::Undef);
            for (i, part) in parts.into_iter().enumerate() {
                all = b.value(Op::InsertValue(all, part, i as u32), ty.clone());
            }
            result = Some(all);
        }
        self.build().ret(result);
    }

    /// The slots go to the start of the functions.
    fn finish(&mut self) {
        let rev_prologue = std::mem::take(&mut self.rev_prologue);
        let mut fwd_prologue = std::mem::take(&mut self.fwd_prologue);
        match &mut self.rev {
            Some(rev) => {
                let entry = rev.entry();
                rev.block_mut(entry).insts.splice(0..0, rev_prologue);
            }
            None => fwd_prologue.extend(rev_prologue),
        }
        let entry = self.aug.func.entry();
        self.aug.func.block_mut(entry).insts.splice(0..0, fwd_prologue);
    }

    /// A value of the forward sweep, in the reverse of a block of loop `user`.
    pub(super) fn value(&mut self, value: Value, user: Option<Loop>) -> Value {
        let key = self.plan.key(&self.loops, value, user);
        if let Some(found) = self.cache.get(&key) {
            return *found;
        }
        let found = match self.plan.source(key) {
            Source::AtHand => match (&self.rev, &self.aug.func.value(value).def) {
                (None, _) => value,
                (Some(_), ValueDef::Const(constant)) => {
                    let (ty, constant) = (self.aug.func.ty(value).clone(), constant.clone());
                    self.rev().constant(ty, constant)
                }
                (Some(_), _) => self.rev_tape,
            },
            Source::Kept => {
                let (place, ty) = (self.rev_slots[&Slot::Kept(key)], self.aug.func.ty(value).clone());
                self.build().load(ty, place)
            }
            Source::Again => {
                let inst = self.aug.func.def_inst(value).expect("only results of instructions are computed again");
                let data = self.aug.func.inst(inst).clone();
                let mut operands: Vec<Value> = data.op.operands().into_iter().map(|o| self.value(o, key.1)).collect();
                operands.reverse();
                let op = data.op.map_operands(|_| operands.pop().expect("as many operands as before"));
                let ty = self.aug.func.ty(value).clone();
                let mut b = self.build();
                (b.flags, b.loc) = (data.flags, data.loc);
                b.value(op, ty)
            }
            Source::Counter(affine) => {
                let init = self.value(affine.init, key.1);
                let place = self.rev_slots[&Slot::Counter(affine.id)];
                let ty = self.aug.func.ty(value).clone();
                let mut b = self.build();
                let i = b.load(Type::I64, place);
                let step = b.func.i64(affine.step);
                let moved = b.mul(i, step);
                match ty {
                    Type::Ptr => b.ptr_add(init, moved),
                    Type::Int(64) => b.add(init, moved),
                    narrow => {
                        let op = if narrow.size() < 8 { pullback_ir::CastOp::Trunc } else { pullback_ir::CastOp::SExt };
                        let moved = b.cast(op, moved, narrow);
                        b.bin(BinOp::Add, init, moved)
                    }
                }
            }
        };
        self.cache.insert(key, found);
        found
    }
}

/// An `alloca` for a value of this type.
pub(super) fn alloca(func: &mut Function, prologue: &mut Vec<pullback_ir::Inst>, ty: &Type) -> Value {
    let op = Op::Alloca { size: ty.size().max(1), align: ty.align() };
    let inst = func.make_inst(op, Some(Type::Ptr), Flags::NONE, None);
    prologue.push(inst);
    func.inst(inst).result.expect("an alloca has a result")
}

/// Bytes a value takes in an array or record.
fn padded(ty: &Type) -> u64 {
    round_up(ty.size(), 8)
}

/// The places of one iteration's slots in the arrays of a counted loop: an array after the other.
fn array_places(b: &mut Builder, counters: [Value; 3], slots: &[(Slot, Type)]) -> Vec<Value> {
    let [base, count, counter] = counters;
    let base = b.load(Type::Ptr, base);
    let n = b.load(Type::I64, count);
    let i = b.load(Type::I64, counter);
    let mut before = 0;
    let mut places = Vec::new();
    for (_, ty) in slots {
        let start = b.func.i64(before);
        let start = b.mul(n, start);
        let array = b.ptr_add(base, start);
        let each = b.func.i64(padded(ty) as i64);
        let offset = b.mul(i, each);
        places.push(b.ptr_add(array, offset));
        before += padded(ty) as i64;
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
            at += padded(ty) as i64;
            place
        })
        .collect()
}

/// Go on at the target of this number.
fn dispatch(b: &mut Builder, which: Value, targets: &[Block]) {
    let call = |block: &Block| BlockCall::new(*block, vec![]);
    let (last, rest) = targets.split_last().expect("at least one target");
    let cases = rest.iter().enumerate().map(|(i, t)| (i as u128, call(t))).collect();
    b.terminate(Terminator::Switch(which, cases, call(last)));
}
