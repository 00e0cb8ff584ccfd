//! Joint reversal of loops that only add things up, or fill an output: each iteration is reversed as soon as it is
//! through.
//!
//! The loss of most fits is a sum over data, and what comes after the sum is linear. The cotangent of such a sum is
//! [known](super::known) before the loop starts, and it is the same in all iterations. So nothing is gained by going
//! through the loop a second time: each iteration is reversed while all it computed is at hand. Nothing is kept beyond
//! the iteration, and what it reads is read once.
//!
//! ```text
//!  forward   entry edge    the cotangents of the sums
//!            header … latch
//!            reversed latch … reversed header
//!            onward        what the latch ended with: round again, or out
//!  reverse   exit edge → past → entry edge      the cotangents of the sums go to what they started with
//! ```
//! Reversing earlier must not be seen by the rest of the program, so:
//!
//! - what an iteration hands on, to the next one and out of the loop, has cotangents that are known on entry (`Seed`),
//!   or is written to another place in each iteration (`Memory`). What is handed on from one iteration to the next
//!   because it would be loaded there once more (`Walk`) counts as loaded;
//! - the cotangents of what is written are there before the loop: it is not read later;
//! - what the loop reads is not written in it or after it: a cotangent that is added to a shadow is not taken by the
//!   transpose of a later write;
//! - or it is memory of the function's own that each iteration makes [anew](super::renewed): no cotangent goes round in
//!   it, and it may be read and written in the loop as if it were made there;
//! - there is no panic in the loop or after it, for what is added to shadows then would be half a gradient. An index
//!   that is compared with a bound in each iteration is another matter: whether it will run into it is known before
//!   (`Bound`), and then nothing is reversed. Where a panic takes back what was added anyway, because calls are
//!   reversed [jointly](super::joint_calls), there may be any. So it does where a loop makes memory anew: all of that
//!   would be kept for each iteration, and to copy the shadows once is less.

use crate::analysis::points_to::objects::ObjId;
use crate::analysis::points_to::offsets::Offsets;
use crate::linearise::augment::Augmented;
use crate::linearise::linear::{Beside, Linear};
use crate::schedule::Scheduled;
use crate::schedule::known::stores::Stores;
use crate::schedule::known::terms::{Term, Terms};
use crate::schedule::known::{Ends, KnownCotangents, Placed};
use crate::schedule::recomputable::Recomputable;
use crate::schedule::renewed::Renewed;
use crate::schedule::walk::{Place, Walks};
use crate::session::{Disturbs, Form, Session};
use pullback_ir::cfg::Edge;
use pullback_ir::counted::{self, Affine, Counted, Step};
use pullback_ir::loops::Loops;
use pullback_ir::{Block, Callee, ControlFlow, IntPred, Loop, Op, Terminator, Value};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The loops of a function whose iterations are reversed as soon as they are through.
#[derive(Default, Debug)]
pub struct JointLoops {
    /// The loops.
    pub loops: HashMap<Loop, JointLoop>,
    /// The expressions of their seeds.
    pub terms: Terms,
}

/// A loop whose iterations are reversed as soon as they are through.
#[derive(Clone, Debug)]
pub struct JointLoop {
    /// The way into it.
    pub entry: Edge,
    /// The way out of it, from the latch.
    pub exit: Edge,
    /// The block that goes round, and out.
    pub latch: Block,
    /// What an iteration hands on.
    pub seeds: Vec<Seed>,
    /// The header parameters with known cotangents.
    pub sums: Vec<Sum>,
    /// The header parameters that are loads.
    pub walks: Vec<Walk>,
    /// What decides about panics.
    pub bounds: Vec<Bound>,
}

/// A value that an iteration hands on, to the next one or out of the loop, with the same cotangent for both.
#[derive(Clone, Debug)]
pub struct Seed {
    /// The value.
    pub value: Value,
    /// Its cotangent, on entry.
    pub cotangent: Placed,
}

/// A header parameter with a known cotangent.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    /// The parameter.
    pub param: Value,
    /// What it is in the first iteration.
    pub init: Value,
    /// The seed whose cotangent is its own, too; `None` if it has none.
    pub seed: Option<usize>,
}

/// A header parameter that is a load.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The parameter.
    pub param: Value,
    /// What is loaded for the next iteration's parameter, once in each iteration. Its cotangent is carried along, to be
    /// added together with that of the parameter.
    pub loaded: Option<Value>,
    /// The shadow of the place from which the next iteration's parameter is loaded, in each batch direction.
    pub next: Vec<Value>,
    /// How far that is from this iteration's place.
    pub step: i64,
    /// What may lie there.
    pub beside: Beside,
}

/// An index that starts at a number and grows by one each time round panics when it gets to a bound.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// How often the loop runs.
    pub trips: Value,
    /// Where the index starts.
    pub start: i64,
    /// The bound.
    pub bound: Value,
    /// Or when it is beyond it.
    pub or_beyond: bool,
}

/// The loops of a function whose iterations can be reversed jointly.
pub fn find(session: &Session, scheduled: &Scheduled) -> JointLoops {
    let Scheduled { aug, form, flow, .. } = scheduled;
    let ControlFlow { cfg, doms, loops } = flow;
    let stores = Stores::new(session, aug);
    if *form != Form::Whole || loops.is_empty() || stores.late {
        return JointLoops::default();
    }
    let counted = Counted::new(&aug.func, cfg, doms, loops);
    let outermost = loops.iter().filter(|(_, data)| data.parent.is_none() && cfg.can_return(data.header));
    let plain: Vec<Ways> = outermost
        .filter_map(|(id, data)| {
            let (entry, back) = counted::ways(&aug.func, cfg, loops, id)?;
            let live: Vec<&Edge> = data.exits.iter().filter(|exit| cfg.can_return(exit.to)).collect();
            match live[..] {
                [exit] if exit.from == back.from => Some(Ways { id, entry, back, exit: *exit }),
                _ => None,
            }
        })
        .collect();
    if plain.is_empty() {
        return JointLoops::default();
    }
    let recomputable = Recomputable::new(aug, cfg, *form);
    let walks = Walks { func: &aug.func, counted: &counted, recomputable: &recomputable };
    let renewed = Renewed { session, scheduled, counted: &counted, walks };
    let search = Search { session, scheduled, counted: &counted, walks, renewed };
    let headers = plain.iter().flat_map(|ways| aug.func.block(loops.get(ways.id).header).params.clone());
    let loads: HashSet<Value> = headers.filter(|param| search.walk(*param).is_some()).collect();
    let ends = Ends { stores: Some(stores), walks: loads };
    let mut known = KnownCotangents::new(aug, flow, ends);
    let found = plain.into_iter().filter_map(|ways| Some((ways.id, search.look_at(ways, &mut known)?))).collect();
    JointLoops { loops: found, terms: known.terms }
}

/// A loop with one way in, one way round and one way out.
#[derive(Clone, Copy)]
struct Ways {
    id: Loop,
    entry: Edge,
    back: Edge,
    exit: Edge,
}

struct Search<'a> {
    session: &'a Session<'a>,
    scheduled: &'a Scheduled,
    counted: &'a Counted<'a>,
    walks: Walks<'a>,
    renewed: Renewed<'a>,
}

/// What a loop does with memory that takes part.
#[derive(Default)]
struct Memory {
    /// Regions to whose shadows the reverse of the loop adds.
    read: HashSet<ObjId>,
    /// Regions from whose shadows it takes, each time at other places.
    written: HashMap<ObjId, Vec<(Place, u64)>>,
    /// Regions of the function's own that each iteration makes anew.
    renewed: HashSet<ObjId>,
}

impl Memory {
    fn touches(&self, object: &ObjId) -> bool {
        self.read.contains(object) || self.writes(object)
    }

    fn writes(&self, object: &ObjId) -> bool {
        self.written.contains_key(object) || self.renewed.contains(object)
    }

    /// Whether no place is written in two iterations, or twice in one, or is read.
    fn is_apart(&self) -> bool {
        let apart = |places: &Vec<(Place, u64)>| {
            let (first, _) = places[0];
            let mut spans: Vec<(i64, i64)> =
                places.iter().map(|(p, size)| (p.constant, p.constant + *size as i64)).collect();
            spans.sort_unstable();
            let together = spans[spans.len() - 1].1 - spans[0].0;
            places.iter().all(|(p, _)| p.root == first.root && p.step == first.step)
                && spans.windows(2).all(|pair| pair[0].1 <= pair[1].0)
                && together.unsigned_abs() <= first.step.unsigned_abs()
        };
        self.written.iter().all(|(object, places)| !self.read.contains(object) && apart(places))
    }
}

impl Search<'_> {
    fn look_at(&self, ways: Ways, known: &mut KnownCotangents) -> Option<JointLoop> {
        let Ways { id, entry, back, exit } = ways;
        let data = self.loops().get(id);
        let alone = self.memory(id, HashSet::new()).filter(Memory::is_apart);
        let memory = alone.or_else(|| self.memory(id, self.renewed.objects(id)).filter(Memory::is_apart))?;
        let may_panic = self.may_panic() || !memory.renewed.is_empty();
        let mut after = self.scheduled.flow.cfg.reachable_from(exit.to);
        after.insert(exit.to);
        let inside = data.blocks.iter().all(|b| self.is_quiet(id, *b, may_panic, |object| memory.writes(object)));
        if !inside
            || !after
                .iter()
                .all(|b| self.is_quiet(id, *b, may_panic, |object| !memory.touches(object)) && !self.reads(*b, &memory))
        {
            return None;
        }
        let panics = data.exits.iter().filter(|exit| !may_panic && !self.scheduled.flow.cfg.can_return(exit.to));
        let bounds = panics.map(|exit| self.bound(id, entry, back, *exit)).collect::<Option<Vec<Bound>>>()?;
        let mut seeds: Vec<Seed> = Vec::new();
        for value in self.handed_on(id, back.from, known) {
            let term = known.after_iteration(value, back.from)?;
            if !known.terms.is_nothing(term) {
                let cotangent = known.placed(term, known.end(entry.from))?;
                seeds.push(Seed { value, cotangent });
            }
        }
        let (mut sums, mut walks) = (Vec::new(), Vec::new());
        for (position, param) in self.aug().func.block(data.header).params.iter().copied().enumerate() {
            if !self.aug().linear.active.contains(&param) {
                continue;
            }
            if let Some(mut walk) = self.walk(param) {
                // What is handed on to two parameters is carried along for one of them.
                walk.loaded =
                    walk.loaded.filter(|loaded| walks.iter().all(|other: &Walk| other.loaded != Some(*loaded)));
                walks.push(walk);
                continue;
            }
            let init = counted::argument(&self.aug().func, entry, position);
            let term = known.total(param)?;
            let of = |term: Term| seeds.iter().position(|seed| seed.cotangent.term == term);
            let seed = if known.terms.is_nothing(term) { None } else { Some(of(term)?) };
            sums.push(Sum { param, init, seed });
        }
        let good = !seeds.is_empty() || !memory.written.is_empty();
        if good && !memory.renewed.is_empty() {
            self.session.noted.disturb(Disturbs::Sums);
        }
        good.then_some(JointLoop { entry, exit, latch: back.from, seeds, sums, walks, bounds })
    }

    fn aug(&self) -> &Augmented {
        &self.scheduled.aug
    }

    fn loops(&self) -> &Loops {
        &self.scheduled.flow.loops
    }

    /// The values of a loop that get a cotangent of what comes after one of its iterations.
    fn handed_on(&self, id: Loop, latch: Block, known: &KnownCotangents) -> BTreeSet<Value> {
        let data = self.loops().get(id).blocks.iter().map(|block| self.aug().func.block(*block));
        let made = data.flat_map(|data| {
            let results = data.insts.iter().filter_map(|inst| self.aug().func.inst(*inst).result);
            data.params.iter().copied().chain(results)
        });
        made.filter(|value| known.is_used_in(*value, |b| b == latch || !self.loops().contains(id, b))).collect()
    }

    /// Whether a panic takes back what was added to shadows.
    fn may_panic(&self) -> bool {
        self.session.noted.disturbs.get() >= Disturbs::Sums
    }

    /// What a loop does with memory, of which it makes some anew; `None` if it is more than can be said.
    fn memory(&self, id: Loop, renewed: HashSet<ObjId>) -> Option<Memory> {
        let mut memory = Memory { renewed, ..Memory::default() };
        for block in &self.loops().get(id).blocks {
            for linear in self.linear(*block) {
                match linear {
                    Linear::Load(_, shadow, _) => {
                        for shadow in shadow {
                            let (region, _) = self.aug().place(*shadow)?;
                            if !memory.renewed.contains(&region) {
                                memory.read.insert(region);
                            }
                        }
                    }
                    Linear::Store { shadow, .. } | Linear::Copy { dst: shadow, src: None, .. }
                        if self.aug().place(shadow[0]).is_some_and(|(region, _)| memory.renewed.contains(&region)) => {}
                    Linear::Store { ty, shadow, .. } => {
                        let once = self.loops().innermost(*block) == Some(id);
                        let place = self.walks.pointer(id, shadow[0]).filter(|_| once)?;
                        let (region, _) = self.aug().place(shadow[0])?;
                        // Two places of a region that has several names may be one.
                        if self.aug().regions.is_shared(region) {
                            return None;
                        }
                        memory.written.entry(region).or_default().push((place, ty.size()));
                    }
                    Linear::Bits(..) | Linear::Extract(..) | Linear::Insert(..) | Linear::Given(..) => {}
                    other => drop(other.shares()?),
                }
            }
        }
        Some(memory)
    }

    /// Whether the transposes of a block have to do with what a loop writes.
    fn reads(&self, block: Block, memory: &Memory) -> bool {
        let of_the_loop = |shadow: &Value| self.aug().place(*shadow).is_none_or(|(region, _)| memory.writes(&region));
        !(memory.written.is_empty() && memory.renewed.is_empty())
            && self.linear(block).any(|linear| match linear {
                Linear::Load(_, shadow, _) => shadow.iter().any(of_the_loop),
                Linear::Copy { src, .. } => src.iter().flatten().any(of_the_loop),
                _ => false,
            })
    }

    fn linear(&self, block: Block) -> impl Iterator<Item = &Linear> {
        self.aug().linear.of_block(&self.aug().func, block).map(|(_, linear)| linear)
    }

    /// The bound that decides about a panic in a loop, if every iteration asks for it.
    fn bound(&self, id: Loop, entry: Edge, back: Edge, panic: Edge) -> Option<Bound> {
        let trips = *self.scheduled.trips.get(&id)?;
        let each_time =
            self.loops().innermost(panic.from) == Some(id) && self.scheduled.flow.doms.dominates(panic.from, back.from);
        let Terminator::Branch(cond, ..) = self.aug().func.block(panic.from).term else { return None };
        let Op::ICmp(pred, index, bound) = self.aug().func.inst(self.aug().func.def_inst(cond)?).op else {
            return None;
        };
        // The condition holds on the first edge.
        let or_beyond = match (pred, panic.index) {
            (IntPred::Ult, 1) | (IntPred::Uge, 0) => true,
            (IntPred::Ne, 1) | (IntPred::Eq, 0) => false,
            _ => return None,
        };
        let Place { root: None, constant: start, step: 1 } = self.walks.pointer(id, index)? else { return None };
        let is_there = self.counted.block(bound).is_none_or(|b| self.scheduled.flow.doms.dominates(b, entry.from));
        (each_time && is_there && start >= 0).then_some(Bound { trips, start, bound, or_beyond })
    }

    /// Whether a block in loop `id` or after it cannot panic, but where it leaves the loop, and writes only to objects
    /// to which it may.
    fn is_quiet(&self, id: Loop, block: Block, may_panic: bool, may_write: impl Fn(&ObjId) -> bool) -> bool {
        let runtime = &self.session.runtime;
        let in_loop = self.loops().innermost(block).is_some();
        let elsewhere = |ptr: Value| self.aug().place(ptr).is_some_and(|(region, _)| may_write(&region));
        let quiet = |op: &Op| match op {
            Op::Store { ptr, .. } | Op::Fill { dst: ptr, .. } => elsewhere(*ptr),
            Op::Copy { dst, src, .. } => elsewhere(*dst) && elsewhere(*src),
            // It adds to memory to which nothing is written.
            Op::Call(Callee::Direct(callee), ..) if self.session.callees.joint.contains(callee) => true,
            Op::Call(Callee::Direct(callee), ..) => {
                !in_loop && [runtime.shadow_alloc, runtime.defer_dealloc].contains(callee)
            }
            Op::Call(..) => false,
            Op::Opaque(op) => !op.writes,
            Op::Alloc { .. } | Op::Dealloc { .. } => !in_loop,
            _ => true,
        };
        let takes_no_part = |linear: &Linear| match linear {
            Linear::Store { shadow, .. } | Linear::Copy { dst: shadow, .. } => shadow.iter().all(|s| elsewhere(*s)),
            Linear::Call { .. } | Linear::Rule(_) => false,
            _ => true,
        };
        let data = self.aug().func.block(block);
        let returns =
            || self.scheduled.flow.cfg.successors(block).iter().all(|next| self.scheduled.flow.cfg.can_return(*next));
        (may_panic || self.loops().contains(id, block) || returns())
            && data.insts.iter().all(|inst| quiet(&self.aug().func.inst(*inst).op))
            && self.linear(block).all(takes_no_part)
    }

    /// A header parameter that is a load, handed on from the iteration before.
    fn walk(&self, param: Value) -> Option<Walk> {
        let (Affine { step: Step::Constant(step), .. }, _) = self.walks.walk(param)? else { return None };
        let (id, _, next) = self.counted.recurrence(param)?;
        let inst = self.aug().func.def_inst(next)?;
        let [Linear::Load(_, shadow, _)] = self.aug().linear.at(inst) else { return None };
        let (object, _) = self.aug().places.get(&shadow[0])?;
        let beside = Beside::of(&self.session.facts.objects, *object, &Offsets::any(), None);
        let once = self.counted.block(next).is_some_and(|block| self.loops().innermost(block) == Some(id));
        Some(Walk { param, loaded: once.then_some(next), next: shadow.clone(), step, beside })
    }
}
