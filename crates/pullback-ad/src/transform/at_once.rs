//! Loops that only add things up, or fill an output: each iteration is reversed at once.
//!
//! The loss of most fits is a sum over data, and what comes after the sum is linear. The cotangent of such a sum is known before
//! the loop starts, and it is the same in all iterations. So nothing is gained by going through the loop a second time: each
//! iteration is reversed as soon as it is through, while all it computed is at hand. Nothing is kept beyond the iteration, and
//! what it reads is read once.
//!
//! ```text
//!  forward   entry edge    the cotangents of the sums
//!            header … latch
//!            reversed latch … reversed header
//!            onward        what the latch ended with: round again, or out
//!  reverse   exit edge → past → entry edge      the cotangents of the sums go to what they started with
//! ```
//! Reversing earlier must not be seen by anybody, so (`Search`):
//!
//! - nothing of an iteration gets into the next one, or out of the loop, but by the sums (`Chain`) and by what is written to
//!   another place in each iteration (`Memory`). What is handed on from one iteration to the next because it would be loaded
//!   again there (`Walks`) counts as loaded;
//! - what the cotangents of the sums are made from is there before the loop (`Seed`), and so are those of what is written: nobody
//!   reads that later;
//! - what the loop reads is not written in it or after it: a cotangent that is added to a shadow is not taken by the transpose of a
//!   later write;
//! - there is no panic in the loop or after it, for what is added to shadows then would be half a gradient. An index that is compared
//!   with a bound in each iteration is another matter: whether it will run into it is known before (`Bound`), and then
//!   nothing is reversed.

use super::augment::Augmented;
use super::linear::{Coefficient, Linear};
use super::plan::{Place, Walks};
use super::reverse::Sweeps;
use super::session::{Form, Session};
use super::stable::Stability;
use super::useful::operands;
use crate::analysis::counted::{self, Affine, Counted, Step};
use crate::analysis::objects::ObjId;
use pullback_ir::cfg::{Cfg, Edge, edges_from};
use pullback_ir::dominators::Dominators;
use pullback_ir::loops::Loops;
use pullback_ir::{
    BinOp, Block, BlockCall, Builder, Callee, Flags, IntPred, Loop, Op, Terminator, Type, Value, ValueDef,
};
use std::collections::{HashMap, HashSet};

/// A loop whose iterations are reversed at once.
#[derive(Clone, Debug)]
pub(super) struct AtOnce {
    entry: Edge,
    /// The block that goes round, and out.
    pub(super) latch: Block,
    sums: Vec<Sum>,
    walks: Vec<Walk>,
    bounds: Vec<Bound>,
    /// The blocks of the derivative that are neither the forward nor the reverse of a block, once they are made.
    blocks: Option<Blocks>,
}

#[derive(Clone, Copy, Debug)]
struct Blocks {
    /// What the latch ended with, after the iteration has been reversed.
    onward: Block,
    /// In the reverse sweep, instead of the loop.
    past: Block,
}

/// An index that starts at a number and grows by one each time round panics when it gets to a bound.
#[derive(Clone, Copy, Debug)]
struct Bound {
    /// How often the loop runs.
    trips: Value,
    start: i64,
    bound: Value,
    /// Or when it is beyond it.
    or_beyond: bool,
}

/// A header parameter to which things are added.
#[derive(Clone, Debug)]
struct Sum {
    init: Value,
    param: Value,
    /// What the next iteration gets, and the last one hands out.
    last: Value,
    seed: Seed,
}

/// A header parameter that is a load.
#[derive(Clone, Debug)]
struct Walk {
    param: Value,
    /// The shadow of the place from which the next iteration's parameter is loaded, in each direction.
    next: Vec<Value>,
    /// How far that is from this iteration's place.
    step: i64,
}

/// The cotangent of a value, made from what is there before the loop.
#[derive(Clone, PartialEq, Debug)]
enum Seed {
    /// What is so many bytes behind a place, one for each direction: in the shadow of where the value is stored in the end.
    At(Vec<(Value, i64)>, Type),
    /// The cotangent of a term.
    Scaled(Box<Seed>, Coefficient),
    /// The cotangent of a dividend.
    Over(Box<Seed>, Value),
    /// The cotangent of a value that is used several times.
    Both(Box<Seed>, Box<Seed>),
}

/// How far the uses of a sum are followed.
const MOST_USES: usize = 32;

/// The loops of a function whose iterations can be reversed at once.
pub(super) fn find(
    session: &Session,
    aug: &Augmented,
    (cfg, doms, loops): (&Cfg, &Dominators, &Loops),
    counts: &HashMap<Block, Value>,
    form: Form,
) -> HashMap<Loop, AtOnce> {
    if form != Form::Whole || loops.is_empty() || aug.linear.values().flatten().any(Linear::reads_words) {
        return HashMap::new();
    }
    let counted = Counted::new(&aug.func, cfg, doms, loops);
    let outermost = loops.iter().filter(|(_, data)| data.parent.is_none() && cfg.can_return(data.header));
    let plain: Vec<(Loop, Edge, Edge, Block)> = outermost
        .filter_map(|(id, data)| {
            let (entry, back) = counted::ways(&aug.func, cfg, loops, id)?;
            let live: Vec<&Edge> = data.exits.iter().filter(|exit| cfg.can_return(exit.to)).collect();
            match live[..] {
                [exit] if exit.from == back.from => Some((id, entry, back, exit.to)),
                _ => None,
            }
        })
        .collect();
    if plain.is_empty() {
        return HashMap::new();
    }
    let stability = Stability::new(aug, cfg, form);
    let uses = Uses::new(aug, cfg);
    let walks = Walks { func: &aug.func, counted: &counted, stability: &stability };
    let search = Search { session, aug, cfg, doms, loops, counts, counted: &counted, walks, uses: &uses };
    plain.into_iter().filter_map(|(id, entry, back, exit)| Some((id, search.look_at(id, entry, back, exit)?))).collect()
}

/// A use of a value that gives it a cotangent.
#[derive(Clone, Copy)]
enum Use<'a> {
    Linear(Block, &'a Linear),
    /// It is handed to this parameter.
    Edge(Edge, Value),
}

impl Use<'_> {
    fn block(self) -> Block {
        match self {
            Use::Linear(block, _) => block,
            Use::Edge(edge, _) => edge.from,
        }
    }
}

/// The uses of all values.
struct Uses<'a>(HashMap<Value, Vec<Use<'a>>>);

impl<'a> Uses<'a> {
    fn new(aug: &'a Augmented, cfg: &Cfg) -> Self {
        let mut all: HashMap<Value, Vec<Use>> = HashMap::new();
        for block in cfg.reverse_postorder().iter().filter(|b| cfg.can_return(**b)) {
            for linear in aug.func.block(*block).insts.iter().filter_map(|i| aug.linear.get(i)).flatten() {
                let operands: HashSet<Value> = operands(linear).into_iter().collect();
                for value in operands {
                    all.entry(value).or_default().push(Use::Linear(*block, linear));
                }
            }
            for edge in edges_from(&aug.func, *block).into_iter().filter(|e| cfg.can_return(e.to)) {
                let params = aug.func.block(edge.to).params.iter();
                let args = &aug.func.block(*block).term.targets()[edge.index].args;
                for (param, arg) in params.zip(args).filter(|(p, _)| aug.active.contains(p)) {
                    all.entry(*arg).or_default().push(Use::Edge(edge, *param));
                }
            }
        }
        Uses(all)
    }

    fn of(&self, value: Value) -> &[Use<'a>] {
        self.0.get(&value).map_or(&[], Vec::as_slice)
    }
}

struct Search<'a> {
    session: &'a Session<'a>,
    aug: &'a Augmented,
    cfg: &'a Cfg,
    doms: &'a Dominators,
    loops: &'a Loops,
    counts: &'a HashMap<Block, Value>,
    counted: &'a Counted<'a>,
    walks: Walks<'a>,
    uses: &'a Uses<'a>,
}

/// A value that is added to in an iteration, and what becomes of it.
struct Chain {
    all: HashSet<Value>,
    last: Value,
}

/// What a loop does with memory that takes part.
#[derive(Default)]
struct Memory {
    /// Objects to whose shadows the reverse of the loop adds.
    read: HashSet<ObjId>,
    /// Objects from whose shadows it takes, each time at other places.
    written: HashMap<ObjId, Vec<(Place, u64)>>,
}

impl Memory {
    fn touches(&self, object: &ObjId) -> bool {
        self.read.contains(object) || self.written.contains_key(object)
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
    fn look_at(&self, id: Loop, entry: Edge, back: Edge, exit: Block) -> Option<AtOnce> {
        let data = self.loops.get(id);
        let memory = self.memory(id).filter(Memory::is_apart)?;
        let after = self.reached_from(exit, None);
        let inside = data.blocks.iter().all(|b| self.is_quiet(id, *b, |object| memory.written.contains_key(object)));
        if !inside
            || !after
                .iter()
                .all(|b| self.is_quiet(id, *b, |object| !memory.touches(object)) && !self.reads(*b, &memory))
        {
            return None;
        }
        let panics = data.exits.iter().filter(|exit| !self.cfg.can_return(exit.to));
        let bounds = panics.map(|exit| self.bound(id, entry, back, *exit)).collect::<Option<Vec<Bound>>>()?;
        let (mut sums, mut walks, mut chained) = (Vec::new(), Vec::new(), HashSet::new());
        for (position, param) in self.aug.func.block(data.header).params.iter().copied().enumerate() {
            if !self.aug.active.contains(&param) {
                continue;
            }
            if let Some(walk) = self.walk(id, param) {
                walks.push(walk);
                continue;
            }
            let Chain { all, last } = self.chain(id, param, counted::argument(&self.aug.func, back, position))?;
            let apart = all.iter().all(|value| chained.insert(*value));
            let seed = self.seed(id, entry, last, exit, &mut MOST_USES.clone())?;
            let init = counted::argument(&self.aug.func, entry, position);
            sums.push(apart.then_some(Sum { init, param, last, seed })?);
        }
        let only_sums_get_out = data.blocks.iter().all(|b| self.hands_out_only(id, *b, &sums));
        let good = (!sums.is_empty() || !memory.written.is_empty()) && only_sums_get_out;
        good.then_some(AtOnce { entry, latch: back.from, sums, walks, bounds, blocks: None })
    }

    /// The blocks that can be reached from here, without going through one of them.
    fn reached_from(&self, start: Block, without: Option<Block>) -> HashSet<Block> {
        let mut seen = HashSet::new();
        let mut work = vec![start];
        while let Some(block) = work.pop() {
            if Some(block) != without && seen.insert(block) {
                work.extend(self.cfg.successors(block));
            }
        }
        seen
    }

    /// What a loop does with memory; `None` if it is more than can be said.
    fn memory(&self, id: Loop) -> Option<Memory> {
        let mut memory = Memory::default();
        for block in &self.loops.get(id).blocks {
            for linear in self.linear(*block) {
                match linear {
                    Linear::Load(_, shadow) => {
                        for shadow in shadow {
                            memory.read.insert(self.aug.places.get(shadow)?.0);
                        }
                    }
                    Linear::Store { ty, shadow, .. } => {
                        let once = self.loops.innermost(*block) == Some(id);
                        let place = self.walks.pointer(id, shadow[0]).filter(|_| once)?;
                        let (object, _) = self.aug.places.get(&shadow[0])?;
                        memory.written.entry(*object).or_default().push((place, ty.size()));
                    }
                    Linear::Sum(..)
                    | Linear::Quotient { .. }
                    | Linear::Cast(..)
                    | Linear::Select(..)
                    | Linear::Bits(..)
                    | Linear::Extract(..)
                    | Linear::Insert(..) => {}
                    _ => return None,
                }
            }
        }
        Some(memory)
    }

    /// Whether the transposes of a block have to do with what a loop writes.
    fn reads(&self, block: Block, memory: &Memory) -> bool {
        let of_the_loop = |shadow: &Value| {
            let object = self.aug.places.get(shadow).map(|(object, _)| object);
            object.is_none_or(|object| memory.written.contains_key(object))
        };
        !memory.written.is_empty()
            && self.linear(block).any(|linear| match linear {
                Linear::Load(_, shadow) => shadow.iter().any(of_the_loop),
                Linear::Copy { src, .. } => src.iter().flatten().any(of_the_loop),
                _ => false,
            })
    }

    fn linear(&self, block: Block) -> impl Iterator<Item = &Linear> {
        self.aug.func.block(block).insts.iter().filter_map(|i| self.aug.linear.get(i)).flatten()
    }

    /// The bound that decides about a panic in a loop, if every iteration asks for it.
    fn bound(&self, id: Loop, entry: Edge, back: Edge, panic: Edge) -> Option<Bound> {
        let trips = *self.counts.get(&self.loops.get(id).header)?;
        let each_time = self.loops.innermost(panic.from) == Some(id) && self.doms.dominates(panic.from, back.from);
        let Terminator::Branch(cond, ..) = self.aug.func.block(panic.from).term else { return None };
        let Op::ICmp(pred, index, bound) = self.aug.func.inst(self.aug.func.def_inst(cond)?).op else { return None };
        // The condition holds on the first edge.
        let or_beyond = match (pred, panic.index) {
            (IntPred::Ult, 1) | (IntPred::Uge, 0) => true,
            (IntPred::Ne, 1) | (IntPred::Eq, 0) => false,
            _ => return None,
        };
        let Place { root: None, constant: start, step: 1 } = self.walks.pointer(id, index)? else { return None };
        let is_there = self.counted.block(bound).is_none_or(|b| self.doms.dominates(b, entry.from));
        (each_time && is_there && start >= 0).then_some(Bound { trips, start, bound, or_beyond })
    }

    /// Whether a block in loop `id` or after it cannot panic, but where it leaves the loop, and writes only to objects to which it may.
    fn is_quiet(&self, id: Loop, block: Block, may_write: impl Fn(&ObjId) -> bool) -> bool {
        let runtime = &self.session.runtime;
        let in_loop = self.loops.innermost(block).is_some();
        let elsewhere = |ptr: Value| self.aug.places.get(&ptr).is_some_and(|(object, _)| may_write(object));
        let quiet = |op: &Op| match op {
            Op::Store { ptr, .. } | Op::Fill { dst: ptr, .. } => elsewhere(*ptr),
            Op::Copy { dst, src, .. } => elsewhere(*dst) && elsewhere(*src),
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
        let data = self.aug.func.block(block);
        (self.loops.contains(id, block) || self.cfg.successors(block).iter().all(|next| self.cfg.can_return(*next)))
            && data.insts.iter().all(|inst| quiet(&self.aug.func.inst(*inst).op))
            && self.linear(block).all(takes_no_part)
    }

    /// Follow what a header parameter becomes in an iteration, if it is only added to.
    fn chain(&self, id: Loop, param: Value, last: Value) -> Option<Chain> {
        let mut all = HashSet::from([param]);
        let mut work = vec![param];
        while let Some(value) = work.pop() {
            for used in self.uses.of(value).iter().filter(|u| self.loops.contains(id, u.block())) {
                let next = match *used {
                    Use::Linear(_, Linear::Sum(result, _)) => *result,
                    Use::Linear(..) => return None,
                    Use::Edge(_, to) if to == param => continue,
                    Use::Edge(edge, _) if !self.loops.contains(id, edge.to) => continue,
                    Use::Edge(edge, _) if edge.to == self.loops.get(id).header => return None,
                    Use::Edge(_, to) => to,
                };
                if all.insert(next) {
                    work.push(next);
                }
            }
        }
        // Each is one of the others and something added to it, or another one of the others by each way.
        let grows = |value: &Value| match self.aug.func.value(*value).def {
            ValueDef::Param(block, position) => {
                let from = self.cfg.predecessors(block).iter().flat_map(|p| edges_from(&self.aug.func, *p));
                let mut into = from.filter(|e| e.to == block);
                into.all(|e| all.contains(&counted::argument(&self.aug.func, e, position)))
            }
            ValueDef::Inst(inst) => match &self.aug.linear.get(&inst).map(Vec::as_slice) {
                Some([Linear::Sum(_, terms)]) => {
                    let mut among = terms.iter().filter(|(v, _)| all.contains(v));
                    matches!((among.next(), among.next()), (Some((_, Coefficient::One)), None))
                }
                _ => false,
            },
            ValueDef::Const(_) => false,
        };
        (all.contains(&last) && all.iter().filter(|v| **v != param).all(grows)).then_some(Chain { all, last })
    }

    /// A header parameter that is a load, handed on from the iteration before.
    fn walk(&self, id: Loop, param: Value) -> Option<Walk> {
        let (Affine { step: Step::Constant(step), .. }, _) = self.walks.walk(param)? else { return None };
        let (of, _, next) = self.counted.recurrence(param)?;
        let inst = self.aug.func.def_inst(next)?;
        let [Linear::Load(_, shadow)] = self.aug.linear.get(&inst)?.as_slice() else { return None };
        (of == id).then(|| Walk { param, next: shadow.clone(), step })
    }

    /// Whether no other values with cotangents than the sums are used outside of the loop.
    fn hands_out_only(&self, id: Loop, block: Block, sums: &[Sum]) -> bool {
        let data = self.aug.func.block(block);
        let results = data.insts.iter().filter_map(|i| self.aug.func.inst(*i).result);
        let mut others = data.params.iter().copied().chain(results).filter(|v| sums.iter().all(|s| s.last != *v));
        let outside = |used: &Use| match used {
            Use::Linear(block, _) => !self.loops.contains(id, *block),
            Use::Edge(edge, _) => !self.loops.contains(id, edge.to),
        };
        others.all(|v| !self.uses.of(v).iter().any(outside))
    }

    /// The cotangent that a value gets after loop `id`, which is entered by `entry` and left to `exit`.
    fn seed(&self, id: Loop, entry: Edge, value: Value, exit: Block, most: &mut usize) -> Option<Seed> {
        let outside = |used: &&Use| match used {
            Use::Linear(block, _) => !self.loops.contains(id, *block),
            Use::Edge(edge, _) => !self.loops.contains(id, edge.to),
        };
        let is_there = |v: Value| self.counted.block(v).is_none_or(|b| self.doms.dominates(b, entry.from));
        let mut all: Option<Seed> = None;
        for used in self.uses.of(value).iter().filter(outside) {
            *most = most.checked_sub(1)?;
            if !self.loops.contains(id, used.block()) && !self.comes_once(used.block(), exit) {
                return None;
            }
            let seed = match *used {
                Use::Edge(edge, _) if !self.is_certain(id, edge) => return None,
                Use::Edge(_, param) => self.seed(id, entry, param, exit, most)?,
                Use::Linear(_, Linear::Sum(of, terms)) => {
                    let of = self.seed(id, entry, *of, exit, most)?;
                    let mut parts = terms.iter().filter(|(v, _)| *v == value).map(|(_, c)| {
                        let there = c.value().is_none_or(is_there);
                        there.then(|| Seed::Scaled(Box::new(of.clone()), *c))
                    });
                    let first = parts.next()??;
                    parts.try_fold(first, |sum, part| Some(Seed::Both(Box::new(sum), Box::new(part?))))?
                }
                Use::Linear(_, Linear::Quotient { result, x: Some(x), y, divisor: Some(divisor) })
                    if *x == value && *y != Some(value) && is_there(*divisor) =>
                {
                    Seed::Over(Box::new(self.seed(id, entry, *result, exit, most)?), *divisor)
                }
                Use::Linear(_, linear @ Linear::Store { ty: ty @ (Type::F32 | Type::F64), shadow, .. })
                    if self.is_all_of_it(linear, ty, shadow, exit) =>
                {
                    let places = shadow.iter().map(|s| match self.walks.pointer(id, *s)? {
                        Place { root: Some(root), constant, step: 0 } if is_there(root) => Some((root, constant)),
                        _ => None,
                    });
                    Seed::At(places.collect::<Option<_>>()?, ty.clone())
                }
                Use::Linear(..) => return None,
            };
            all = Some(match all {
                None => seed,
                Some(others) => Seed::Both(Box::new(others), Box::new(seed)),
            });
        }
        all
    }

    /// Whether an edge after a loop is taken once, if the block that it comes from runs once.
    fn is_certain(&self, id: Loop, edge: Edge) -> bool {
        let only = self.loops.contains(id, edge.from) || self.aug.func.block(edge.from).term.targets().len() == 1;
        only && self.loops.headed_by(edge.to).is_none()
    }

    /// Whether a block is sure to run once after a loop that is left to `exit`.
    fn comes_once(&self, block: Block, exit: Block) -> bool {
        let returns = |b: &Block| matches!(self.aug.func.block(*b).term, Terminator::Return(_));
        self.loops.innermost(block).is_none() && !self.reached_from(exit, Some(block)).iter().any(returns)
    }

    /// Whether a store after the loop is the only thing that the reverse sweep has to do with its place before it gets to the loop.
    fn is_all_of_it(&self, store: &Linear, ty: &Type, shadow: &[Value], exit: Block) -> bool {
        let Some((object, at)) = self.aug.places.get(&shadow[0]) else { return false };
        let touches = |linear: &Linear| {
            let (others, width) = match linear {
                other if std::ptr::eq(other, store) => return false,
                Linear::Load(result, shadow) => (shadow, Some(self.aug.func.ty(*result).size())),
                Linear::Store { shadow, ty, .. } => (shadow, Some(ty.size())),
                Linear::Copy { dst, src, .. } => {
                    let all = dst.iter().chain(src.iter().flatten());
                    let mut objects = all.map(|s| self.aug.places.get(s).map(|(object, _)| object));
                    return objects.any(|o| o.is_none_or(|o| o == object));
                }
                // What else has to do with memory does not come after the loop.
                _ => return false,
            };
            others.iter().any(|other| match (self.aug.places.get(other), width) {
                (Some((other, _)), _) if other != object => false,
                (Some((_, other_at)), Some(width)) => at.overlaps(ty.size(), other_at, width),
                _ => true,
            })
        };
        let after = self.reached_from(exit, None);
        let whole = at.exact().is_some();
        whole && !after.iter().flat_map(|b| self.linear(*b)).any(touches)
    }
}

impl Sweeps<'_, '_> {
    /// Whether the iterations of a loop are reversed at once.
    pub(super) fn is_at_once(&self, id: Loop) -> bool {
        self.at_once.contains_key(&id)
    }

    /// The loop that is reversed at once and ends its iterations here.
    pub(super) fn ends_at_once(&self, latch: Block) -> Option<Loop> {
        let id = self.loops.around(latch).last()?;
        self.at_once.get(&id).filter(|l| l.latch == latch).map(|_| id)
    }

    /// The loop that is reversed at once and starts its iterations here.
    pub(super) fn starts_at_once(&self, header: Block) -> Option<Loop> {
        self.loops.headed_by(header).filter(|id| self.is_at_once(*id))
    }

    /// Let all forward iterations end in their reverse. Their edges are as they will be.
    pub(super) fn turn_each_iteration(&mut self) {
        for id in self.at_once_in_order() {
            let latch = self.at_once[&id].latch;
            let func = &mut self.aug.func;
            let (onward, past) = (func.add_block(), func.add_block());
            func.block_mut(onward).term = func.block(latch).term.clone();
            func.block_mut(onward).term_loc = func.block(latch).term_loc;
            let reversed = BlockCall::new(self.rev_blocks[&latch], vec![]);
            let turn = match self.no_panic.get(&id) {
                Some(no_panic) => Terminator::Branch(*no_panic, reversed, BlockCall::new(onward, vec![])),
                None => Terminator::Jump(reversed),
            };
            Builder::new(&mut self.aug.func, latch).terminate(turn);
            self.at_once.get_mut(&id).expect("it is there").blocks = Some(Blocks { onward, past });
        }
    }

    fn at_once_in_order(&self) -> Vec<Loop> {
        let mut all: Vec<Loop> = self.at_once.keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// On the way into the loop, at the end of `block`: whether it will end without a panic, and the cotangents of the sums.
    pub(super) fn make_seeds(&mut self, block: Block, id: Loop) {
        for Bound { trips, start, bound, or_beyond } in self.at_once[&id].bounds.clone() {
            let mut b = Builder::new(&mut self.aug.func, block);
            let start = b.func.i64(start);
            let left = b.sub(bound, start);
            let mut good = b.icmp(IntPred::Ule, trips, left);
            if or_beyond {
                let started = b.icmp(IntPred::Uge, bound, start);
                good = b.bin(BinOp::And, good, started);
            }
            if let Some(others) = self.no_panic.get(&id) {
                good = b.bin(BinOp::And, *others, good);
            }
            self.no_panic.insert(id, good);
        }
        let sums = self.at_once[&id].sums.clone();
        let before = std::mem::replace(&mut self.at, block);
        let seeds = sums.iter().map(|sum| (0..self.width()).map(|lane| self.seed(&sum.seed, lane)).collect()).collect();
        self.at = before;
        self.seeds.insert(id, seeds);
    }

    fn seed(&mut self, seed: &Seed, lane: usize) -> Value {
        match seed {
            Seed::At(places, ty) => {
                let (base, offset) = places[lane];
                let place = self.build().offset(base, offset);
                self.build().load(ty.clone(), place)
            }
            Seed::Scaled(of, coefficient) => {
                let of = self.seed(of, lane);
                self.scaled(of, *coefficient, Flags::NONE, None)
            }
            Seed::Over(of, divisor) => {
                let of = self.seed(of, lane);
                self.divided(of, *divisor, Flags::NONE, None)
            }
            Seed::Both(a, b) => {
                let (a, b) = (self.seed(a, lane), self.seed(b, lane));
                self.build().fadd(a, b)
            }
        }
    }

    /// At the start of the reverse of an iteration: the cotangents of the sums.
    pub(super) fn give_seeds(&mut self, id: Loop) {
        self.at = self.rev_blocks[&self.at_once[&id].latch];
        let lasts: Vec<Value> = self.at_once[&id].sums.iter().map(|sum| sum.last).collect();
        for (last, seeds) in lasts.into_iter().zip(self.seeds[&id].clone()) {
            for (lane, seed) in seeds.into_iter().enumerate() {
                self.accumulate(last, lane, seed);
            }
        }
    }

    /// At the end of the reverse of an iteration: what is handed on goes to the place where it was loaded, and nothing is left.
    pub(super) fn end_iteration(&mut self, id: Loop) {
        let AtOnce { sums, walks, blocks, .. } = self.at_once[&id].clone();
        for sum in sums {
            self.take(sum.param);
        }
        for walk in walks {
            let ty = self.cotangent_type(walk.param);
            for (lane, g) in self.take(walk.param).into_iter().enumerate() {
                let next = self.value(walk.next[lane], Some(id));
                let place = self.build().offset(next, -walk.step);
                let beside = self.beside(walk.next[lane], None);
                self.accumulate_at(place, 0, &ty, g, Flags::NONE, beside);
            }
        }
        let onward = blocks.expect("made before the reverse sweep").onward;
        self.build().jump(onward, vec![]);
    }

    /// In the reverse sweep, instead of the loop: what the sums started with gets their cotangents.
    pub(super) fn pass_by(&mut self) {
        for id in self.at_once_in_order() {
            let AtOnce { entry, sums, blocks, .. } = self.at_once[&id].clone();
            self.at = blocks.expect("made before the reverse sweep").past;
            self.cache.clear();
            for sum in sums {
                for (lane, g) in self.take(sum.last).into_iter().enumerate() {
                    if self.aug.active.contains(&sum.init) {
                        self.accumulate(sum.init, lane, g);
                    }
                }
            }
            let before = self.before(entry);
            self.build().terminate(Terminator::Jump(before));
        }
    }

    /// Where the reverse sweep goes instead of into a loop that is left by this edge.
    pub(super) fn past(&self, edge: Edge) -> Option<BlockCall> {
        let id = self.ends_at_once(edge.from).filter(|id| !self.loops.contains(*id, edge.to))?;
        Some(BlockCall::new(self.at_once[&id].blocks?.past, vec![]))
    }
}
