//! Reverse mode: the forward sweep that keeps what is needed, and the reverse sweep.
//!
//! [`combined`] puts both sweeps into one function, [`split`] into two that pass what is kept over the tape.
//!
//! What crosses from one sweep to the other lives in a *slot* (`slots`); the forward sweep writes it where its value is
//! made. In a loop whose number of iterations is known on entry, slots are elements of arrays of exactly that length:
//!
//! ```text
//!  forward                                  reverse
//!  entry edge   counter = 0; arrays         reversed exit edge   counter = count − 1
//!  …            slot[counter] = value       …                    transposes of the linear operations, backwards
//!  back edge    counter += 1                reversed back edge   counter −= 1
//!                                           reversed entry edge  arrays go
//! ```
//! Any other loop pushes its slots as a record on every back edge and exit edge, and the reverse sweep pops it on the
//! reversed edge; there the last iteration's number is a slot of the loop around. Which predecessor a block came from
//! is a slot too, unless a condition says so (`plan`); at a loop header the counter tells.

pub mod alias;
mod cotangents;
mod hubs;
pub mod joint_calls;
mod joint_loops;
mod known;
pub mod notes;
mod pull_back;
mod recompute;
pub mod release;
mod slots;
mod transpose;
mod unrecorded;
mod words;

use crate::error::Result;
use crate::linearise::augment::Augmented;
use crate::linearise::program::LinearFunction;
use crate::plan::{Decision, Key, Plan, Planned, plan};
use crate::reverse::alias::Origin;
use crate::reverse::cotangents::Cotangents;
use crate::reverse::hubs::Hubs;
use crate::reverse::joint_loops::Joint;
use crate::reverse::slots::{Slot, Slots, index_type};
use crate::reverse::unrecorded::Unrecorded;
use crate::runtime::Runtime;
use crate::schedule::refill::refilled;
use crate::schedule::{self, Scheduled};
use crate::session::{Form, cotangent_types, with_cotangents};
use crate::target::Target;
use pullback_ir::cfg::{Cfg, Edge, edges_from, live_edges_into};
use pullback_ir::counted;
use pullback_ir::loops::{LoopData, Loops};
use pullback_ir::{
    Block, BlockCall, Builder, ControlFlow, Function, Inst, IntPred, Loop, Module, Terminator, Type, Value,
};
use std::collections::{BTreeSet, HashMap};

/// Both sweeps while they are made.
pub(crate) struct Sweeps<'s, 'a> {
    pub(crate) target: &'s Target<'a>,
    pub(crate) aug: Augmented,
    pub(crate) form: Form,
    pub(crate) cfg: Cfg,
    pub(crate) loops: Loops,
    pub(crate) plan: Plan,
    pub(crate) slots: Slots,
    pub(crate) rev: ReverseSweep,
    pub(crate) cursor: Cursor,
    pub(crate) cotangents: Cotangents,
    pub(crate) joint: Joint,
    pub(crate) hubs: Hubs,
    /// Copies of counted loops, for where there is no memory for their arrays.
    pub(crate) unrecorded: HashMap<Loop, Unrecorded>,
}

/// Where the reverse sweep is written.
pub(crate) struct ReverseSweep {
    /// Its function, when it is one of its own.
    pub(crate) func: Option<Function>,
    pub(crate) tape: Value,
    /// Goes to the start of the function.
    pub(crate) prologue: Vec<Inst>,
    /// Its block for each block of the forward sweep.
    pub(crate) blocks: HashMap<Block, Block>,
}

/// The block of the reverse sweep that is being written.
pub(crate) struct Cursor {
    pub(crate) at: Block,
    /// Values of the forward sweep already at hand in it.
    pub(crate) cache: HashMap<Key, Value>,
}

/// The derivative as one function, and what is known of the pointers that it reads back from the tape.
pub fn combined(target: &Target, planned: Planned) -> Result<(Function, HashMap<Value, Origin>)> {
    let tape = planned.scheduled.aug.tape.expect("reverse mode has a tape");
    let mut sweeps = Sweeps::new(target, planned, None, tape);
    sweeps.run()?;
    Ok((sweeps.aug.func, sweeps.slots.origins))
}

/// The forward sweep and the reverse sweep of a linear program, of whose memory nothing is known: a function that
/// returns what `func` returns, and one that is given the cotangents of that and returns those of the parameters with a
/// tangent, for each of `width` batch directions. The first parameter of both is the tape. The functions that they call
/// are declared in `module`.
///
/// This is transposing by itself, for whoever has a linear program from elsewhere: tests, above all.
pub fn transposed(
    module: &mut Module,
    func: Function,
    linear: LinearFunction,
    width: usize,
) -> Result<(Function, Function)> {
    let runtime = Runtime::declare(module, false);
    let name = func.name.clone();
    let target = Target { module, name: &name, width, strong_zero: false, nested: false, settles: false, runtime };
    let scheduled = schedule::split(Augmented::plain(func, linear), Form::Callee)?;
    split(&target, plan(scheduled), &format!("{name}.rev"))
}

/// An augmented primal and its reverse function.
pub fn split(target: &Target, planned: Planned, name: &str) -> Result<(Function, Function)> {
    let (aug, width) = (&planned.scheduled.aug, target.width);
    let seeds = cotangent_types(aug.ret.as_ref().filter(|_| aug.linear.returns_active), width);
    let given = cotangent_types(aug.linear.params.iter().map(|p| aug.func.ty(*p)), width);
    let params = [Type::Ptr].into_iter().chain(seeds).collect();
    let mut rev = Function::new(name, params, with_cotangents(None, given));
    let (_, args) = rev.add_entry();
    let mut sweeps = Sweeps::new(target, planned, Some(rev), args[0]);
    sweeps.run()?;
    let rev = sweeps.rev.func.take().expect("split sweeps have a reverse function");
    Ok((sweeps.aug.func, rev))
}

impl<'s, 'a> Sweeps<'s, 'a> {
    fn new(target: &'s Target<'a>, planned: Planned, func: Option<Function>, tape: Value) -> Self {
        let Planned { scheduled: Scheduled { aug, form, flow, trips, joint_loops }, plan } = planned;
        let ControlFlow { cfg, loops, .. } = flow;
        Sweeps {
            target,
            form,
            cfg,
            loops,
            plan,
            slots: Slots { trips, ..Slots::default() },
            rev: ReverseSweep { func, tape, prologue: Vec::new(), blocks: HashMap::new() },
            cursor: Cursor { at: aug.func.entry(), cache: HashMap::new() },
            cotangents: Cotangents::default(),
            joint: Joint { found: joint_loops, ..Joint::default() },
            hubs: Hubs::new(),
            unrecorded: HashMap::new(),
            aug,
        }
    }

    /// The function the reverse sweep is in.
    pub(crate) fn rev(&mut self) -> &mut Function {
        self.rev.func.as_mut().unwrap_or(&mut self.aug.func)
    }

    /// A cursor in the reverse sweep.
    pub(crate) fn build(&mut self) -> Builder<'_> {
        let at = self.cursor.at;
        Builder::new(self.rev(), at)
    }

    pub(crate) fn is_live(&self, block: Block) -> bool {
        self.cfg.can_return(block)
    }

    /// The live edges into a block, in a fixed order.
    pub(crate) fn live_edges_into(&self, block: Block) -> Vec<Edge> {
        live_edges_into(&self.aug.func, &self.cfg, block)
    }

    /// Whether the counter of its loop tells from where a header was entered.
    pub(crate) fn counter_tells(&self, block: Block) -> Option<Loop> {
        let id = self.loops.headed_by(block)?;
        counted::ways(&self.aug.func, &self.cfg, &self.loops, id).map(|_| id)
    }

    pub(crate) fn return_blocks(&self) -> Vec<Block> {
        let returns = |b: &Block| matches!(self.aug.func.block(*b).term, Terminator::Return(_));
        self.cfg.reverse_postorder().iter().copied().filter(returns).collect()
    }

    fn run(&mut self) -> Result<()> {
        let live = |(id, data): &(Loop, &LoopData)| self.is_live(data.header) && !self.is_joint(*id);
        let live_loops: Vec<Loop> = self.loops.iter().filter(live).map(|(id, _)| id).collect();
        self.make_slots(&live_loops)?;
        if self.target.nested {
            self.make_hubs(&live_loops);
        }
        let live: Vec<Block> = self.cfg.live().collect();
        if live.is_empty() {
            // A function that never returns has an empty reverse sweep.
            if let Some(rev) = &mut self.rev.func {
                let entry = rev.entry();
                Builder::new(rev, entry).terminate(Terminator::Unreachable);
            }
            return Ok(());
        }
        let edges: Vec<Edge> =
            live.iter().flat_map(|b| edges_from(&self.aug.func, *b)).filter(|e| self.is_live(e.to)).collect();
        // The reverse sweep reads instructions and edges of the forward sweep, so take them before they change.
        let insts: HashMap<Block, Vec<Inst>> =
            live.iter().map(|b| (*b, self.aug.func.block(*b).insts.clone())).collect();
        let args: HashMap<Edge, Vec<Value>> =
            edges.iter().map(|e| (*e, self.aug.func.block(e.from).term.targets()[e.index].args.clone())).collect();
        let into: HashMap<Block, Vec<Edge>> = live.iter().map(|b| (*b, self.live_edges_into(*b))).collect();
        let exits = self.return_blocks();

        for block in &live {
            let new = self.rev().add_block();
            self.rev.blocks.insert(*block, new);
        }
        let headers: HashMap<Block, Option<Loop>> = live.iter().map(|b| (*b, self.counter_tells(*b))).collect();
        self.copy_unrecorded();
        self.keep_values();
        for edge in &edges {
            self.forward_edge(*edge, &into[&edge.to], &args[edge]);
        }
        self.turn_each_iteration();
        self.turn(&exits);
        for block in live.iter().rev() {
            if let Some(id) = self.ends_joint(*block) {
                self.give_seeds(id);
            }
            self.reverse_block(*block, &insts[block], &into[block], &args, headers[block])?;
        }
        self.pass_by();
        self.finish_hubs();
        self.finish();
        Ok(())
    }

    /// The loops an edge leaves that the reverse sweep goes through, innermost first.
    pub(crate) fn left_by(&self, edge: Edge) -> Vec<Loop> {
        let left = self.loops.around(edge.from).filter(|id| !self.loops.contains(*id, edge.to));
        left.filter(|id| !self.is_joint(*id)).collect()
    }

    /// The loop an edge goes round, if it is a back edge.
    pub(crate) fn closed_by(&self, edge: Edge) -> Option<Loop> {
        let id = self.loops.headed_by(edge.to).filter(|id| !self.is_joint(*id))?;
        self.loops.contains(id, edge.from).then_some(id)
    }

    /// The loop an edge enters.
    fn entered_by(&self, edge: Edge) -> Option<Loop> {
        let id = self.loops.headed_by(edge.to).filter(|id| !self.is_joint(*id))?;
        (!self.loops.contains(id, edge.from)).then_some(id)
    }

    /// Put the saving, counting and recording of an edge into a block of its own.
    fn forward_edge(&mut self, edge: Edge, into: &[Edge], args: &[Value]) {
        let which = Slot::Which(edge.to);
        let (left, closed, entered) = (self.left_by(edge), self.closed_by(edge), self.entered_by(edge));
        let summed = self.starts_joint(edge.to).filter(|id| !self.loops.contains(*id, edge.from));
        let loops = left.iter().copied().chain(closed).chain(entered).chain(summed).count();
        if !self.has_slot(which) && loops == 0 {
            return;
        }
        let mut block = self.aug.func.add_block();
        self.aug.func.redirect(edge, BlockCall::new(block, vec![]));
        for id in &left {
            self.keep_last(block, *id);
        }
        for id in left.iter().chain(&closed) {
            self.save(block, Some(*id));
        }
        if let Some(id) = closed {
            let i = self.read_forward(block, Slot::Counter(id), Type::I64);
            let mut b = Builder::new(&mut self.aug.func, block);
            let one = b.func.i64(1);
            let next = b.add(i, one);
            self.write(block, Slot::Counter(id), next);
        }
        if let Some(id) = summed {
            self.make_seeds(block, id);
        }
        if let Some(id) = entered {
            let zero = self.aug.func.i64(0);
            self.write(block, Slot::Counter(id), zero);
            block = self.make_arrays(block, id, args);
        }
        if self.has_slot(which) {
            let number = into.iter().position(|e| *e == edge).expect("the edge is among those into its target");
            let number = self.aug.func.int(index_type(into.len()), number as i128);
            self.write(block, which, number);
        }
        Builder::new(&mut self.aug.func, block).jump(edge.to, args.to_vec());
    }

    /// From the end of the forward sweep to the start of the reverse sweep.
    fn turn(&mut self, exits: &[Block]) {
        let Some(_) = &self.rev.func else {
            for exit in exits {
                let to = self.rev.blocks[exit];
                let mut b = Builder::new(&mut self.aug.func, *exit);
                if self.target.settles {
                    let nested = b.func.i64(i64::from(self.target.nested));
                    b.call_void(self.target.runtime.settle_shadows, vec![self.rev.tape, nested]);
                }
                b.jump(to, vec![]);
            }
            return;
        };
        // The forward sweep of a callee pushes the slots of the function's own level and returns.
        for (number, exit) in exits.iter().enumerate() {
            if self.has_slot(Slot::Exit) {
                let number = self.aug.func.int(index_type(exits.len()), number as i128);
                self.write(*exit, Slot::Exit, number);
            }
            self.save(*exit, None);
        }
        self.cursor.at = self.rev().entry();
        self.restore(None);
        let mut entries: Vec<BlockCall> = exits.iter().map(|e| BlockCall::new(self.rev.blocks[e], vec![])).collect();
        if self.has_slot(Slot::Exit) {
            let which = self.read(Slot::Exit, index_type(entries.len()));
            dispatch(&mut self.build(), which, entries);
        } else {
            self.build().terminate(Terminator::Jump(entries.swap_remove(0)));
        }
        // The cotangent of the result goes to the value that was returned.
        if self.aug.linear.returns_active {
            let seeds: Vec<Value> = self.rev().param_values()[1..].to_vec();
            for exit in exits {
                let value = self.aug.linear.returned[exit];
                if self.aug.linear.active.contains(&value) {
                    self.cursor.at = self.rev.blocks[exit];
                    self.accumulate_all(value, seeds.iter().copied());
                }
            }
        }
    }

    /// The reverse of a block: the transposes of its linear operations, backwards, and then on to where it came from.
    fn reverse_block(
        &mut self,
        block: Block,
        insts: &[Inst],
        into: &[Edge],
        args: &HashMap<Edge, Vec<Value>>,
        header: Option<Loop>,
    ) -> Result<()> {
        self.cursor.at = self.rev.blocks[&block];
        self.cursor.cache.clear();
        let level = self.loops.innermost(block);
        let refilled = refilled(insts, &self.aug.linear);
        self.cotangents.waiting = self.hands_on(block).then(Vec::new);
        for inst in insts.iter().rev() {
            let linear = self.aug.linear.at(*inst).to_vec();
            let data = self.aug.func.inst(*inst);
            let (flags, loc) = (data.flags.fast_math(), data.loc);
            for linear in linear.iter().rev() {
                if !linear.only_adds() {
                    self.add_waiting();
                }
                self.transpose(linear, level, flags, loc, refilled.contains(inst));
            }
        }
        self.add_waiting();
        if into.is_empty() {
            self.leave();
            return Ok(());
        }
        if let Some(id) = self.starts_joint(block) {
            self.end_iteration(id);
            return Ok(());
        }
        let params = self.aug.func.block(block).params.clone();
        // All cotangents of parameters are taken before any is passed on: a parameter may be passed to another.
        let active: Vec<(usize, Value)> =
            params.iter().copied().enumerate().filter(|(_, p)| self.aug.linear.active.contains(p)).collect();
        let taken: Vec<(usize, Vec<Value>)> = active.into_iter().map(|(i, p)| (i, self.take(p))).collect();
        if let Some(id) = header.filter(|id| self.slots.trips.contains_key(id)) {
            self.reverse_header(id, into, args, &taken);
            return Ok(());
        }
        let blocks: Vec<Block> = into.iter().map(|_| self.rev().add_block()).collect();
        match (header, &blocks[..]) {
            (_, [only]) => self.build().jump(*only, vec![]),
            (Some(id), _) => {
                let i = self.read(Slot::Counter(id), Type::I64);
                let entry = into.iter().position(|e| self.entered_by(*e).is_some()).expect("a loop is entered");
                let back = into.iter().position(|e| self.closed_by(*e).is_some()).expect("a loop has a back edge");
                let mut b = self.build();
                let zero = b.func.i64(0);
                let first = b.icmp(IntPred::Eq, i, zero);
                b.branch(first, BlockCall::new(blocks[entry], vec![]), BlockCall::new(blocks[back], vec![]));
            }
            (None, _) => match self.plan.decisions.get(&block).cloned() {
                Some(decision) => {
                    let on = self.value(decision.on, level);
                    let term = self.decided(&decision, on, &blocks);
                    self.build().terminate(term);
                }
                None => {
                    let which = self.read(Slot::Which(block), index_type(blocks.len()));
                    let targets = blocks.iter().map(|block| BlockCall::new(*block, vec![])).collect();
                    dispatch(&mut self.build(), which, targets);
                }
            },
        }
        for (edge, new) in into.iter().zip(blocks) {
            self.reverse_into(new, *edge, &args[edge], &taken);
        }
        Ok(())
    }

    /// The reverse of an edge, in a block of its own: what was `taken` of its target's parameters goes to its
    /// arguments.
    fn reverse_into(&mut self, block: Block, edge: Edge, args: &[Value], taken: &[(usize, Vec<Value>)]) {
        self.cursor.at = block;
        self.cursor.cache.clear();
        self.pass_on(args, taken);
        self.reverse_edge(edge);
        let before = self.before(edge);
        self.build().terminate(Terminator::Jump(before));
    }

    /// What was taken of parameters goes to the arguments for them.
    fn pass_on(&mut self, args: &[Value], taken: &[(usize, Vec<Value>)]) {
        for (position, cotangents) in taken {
            let arg = args[*position];
            if self.aug.linear.active.contains(&arg) {
                self.accumulate_all(arg, cotangents.iter().copied());
            }
        }
    }

    /// From the header of a counted loop to the iteration before, or out of the loop. All that the way round does comes
    /// ahead of the branch, and the way out undoes it: a loop that is left in its middle is not vectorised, and the
    /// optimiser turns it into one that is left at its end only where there is little to copy.
    fn reverse_header(
        &mut self,
        id: Loop,
        into: &[Edge],
        args: &HashMap<Edge, Vec<Value>>,
        taken: &[(usize, Vec<Value>)],
    ) {
        let entry = *into.iter().find(|e| self.entered_by(**e).is_some()).expect("a loop is entered");
        let back = *into.iter().find(|e| self.closed_by(**e).is_some()).expect("a loop has a back edge");
        let given = taken.iter().map(|(position, _)| args[&back][*position]);
        let changed: BTreeSet<Value> = given.filter(|v| self.aug.linear.active.contains(v)).collect();
        let unchanged: Vec<(Value, Value)> = changed.into_iter().flat_map(|value| self.peek(value)).collect();
        self.pass_on(&args[&back], taken);
        let i = self.read(Slot::Counter(id), Type::I64);
        self.reverse_edge(back);
        let (out, round) = (self.rev().add_block(), self.before(back));
        let mut b = self.build();
        let zero = b.func.i64(0);
        let first = b.icmp(IntPred::Eq, i, zero);
        b.branch(first, BlockCall::new(out, vec![]), round);
        let mut b = Builder::new(self.rev(), out);
        for (slot, cotangent) in unchanged {
            b.store(slot, cotangent);
        }
        self.reverse_into(out, entry, &args[&entry], taken);
    }

    /// The branch to where a block came from, by the condition `on` of the branch that decided it.
    fn decided(&self, decision: &Decision, on: Value, blocks: &[Block]) -> Terminator {
        let to = |target: usize| {
            let edge = decision.targets.iter().position(|t| *t == target)?;
            Some(BlockCall::new(blocks[edge], vec![]))
        };
        let somewhere = || BlockCall::new(blocks[0], vec![]);
        match &self.aug.func.block(decision.branch).term {
            Terminator::Switch(_, cases, _) => {
                let known = cases.iter().enumerate().filter_map(|(i, (number, _))| Some((*number, to(i)?)));
                Terminator::Switch(on, known.collect(), to(cases.len()).unwrap_or_else(somewhere))
            }
            _ => Terminator::Branch(on, to(0).unwrap_or_else(somewhere), to(1).unwrap_or_else(somewhere)),
        }
    }

    fn reverse_edge(&mut self, edge: Edge) {
        if let Some(id) = self.entered_by(edge) {
            self.drop_arrays(id);
        }
        if let Some(id) = self.closed_by(edge) {
            let i = self.read(Slot::Counter(id), Type::I64);
            let mut b = self.build();
            let one = b.func.i64(1);
            let before = b.sub(i, one);
            self.write_reverse(Slot::Counter(id), before);
            self.restore(Some(id));
        }
        for id in self.left_by(edge).into_iter().rev() {
            self.start_at_last(id);
            self.restore(Some(id));
        }
    }

    /// The end of the reverse sweep.
    fn leave(&mut self) {
        if self.rev.func.is_none() {
            self.build().ret(None);
            return;
        }
        for (i, (_, bytes)) in self.aug.pushed.clone().into_iter().enumerate().rev() {
            let (pop, tape) = (self.target.runtime.pop, self.rev.tape);
            let site = self.target.site(&self.aug.func.name, &format!("memory {i}"));
            let mut b = self.build();
            let bytes = b.func.i64(bytes as i64);
            pop.call(&mut b, tape, bytes, site);
        }
        let result = self.rev().ret.clone().map(|ty| {
            let parts: Vec<Value> = self.aug.linear.params.clone().into_iter().flat_map(|p| self.take(p)).collect();
            self.build().aggregate(&ty, parts)
        });
        self.build().ret(result);
    }

    /// The slots go to the start of the functions.
    fn finish(&mut self) {
        let rev_prologue = std::mem::take(&mut self.rev.prologue);
        let mut fwd_prologue = std::mem::take(&mut self.slots.prologue);
        match &mut self.rev.func {
            Some(rev) => {
                let entry = rev.entry();
                rev.block_mut(entry).insts.splice(0..0, rev_prologue);
            }
            None => fwd_prologue.extend(rev_prologue),
        }
        let entry = self.aug.func.entry();
        self.aug.func.block_mut(entry).insts.splice(0..0, fwd_prologue);
    }
}

/// Go on at the target of this number.
fn dispatch(b: &mut Builder, which: Value, mut targets: Vec<BlockCall>) {
    let last = targets.pop().expect("at least one target");
    let cases = targets.into_iter().enumerate().map(|(i, target)| (i as u128, target)).collect();
    b.terminate(Terminator::Switch(which, cases, last));
}
