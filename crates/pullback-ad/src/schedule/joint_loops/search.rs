//! Which loops can be reversed one iteration at a time.

use crate::analysis::counted::{self, Affine, Counted, Step};
use crate::analysis::points_to::objects::ObjId;
use crate::analysis::points_to::offsets::Offsets;
use crate::linearise::augment::Augmented;
use crate::linearise::linear::Linear;
use crate::plan::recomputable::Stability;
use crate::plan::{Place, Walks};
use crate::rules::Coefficient;
use crate::schedule::Scheduled;
use crate::schedule::joint_loops::{Bound, JointLoop, Seed, Sum, Walk};
use crate::session::{Form, Session};
use pullback_ir::cfg::{Cfg, Edge, edges_from};
use pullback_ir::dominators::Dominators;
use pullback_ir::loops::Loops;
use pullback_ir::{Block, Callee, IntPred, Loop, Op, Terminator, Type, Value, ValueDef};
use std::collections::{HashMap, HashSet};

/// How far the uses of a sum are followed.
const MOST_USES: usize = 32;

/// The loops of a function whose iterations can be reversed at once.
pub fn find(session: &Session, scheduled: &Scheduled) -> HashMap<Loop, JointLoop> {
    let Scheduled { aug, form, cfg, doms, loops, trips, .. } = scheduled;
    // Where the caller's pointers are overwritten, cotangents are known when the primal is through.
    let late = session.settles || aug.linear.all().any(|(_, linear)| linear.reads_words());
    if *form != Form::Whole || loops.is_empty() || late {
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
    let stability = Stability::new(aug, cfg, *form);
    let uses = Uses::new(aug, cfg);
    let walks = Walks { func: &aug.func, counted: &counted, stability: &stability };
    let search = Search { session, aug, cfg, doms, loops, trips, counted: &counted, walks, uses: &uses };
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
            for (_, linear) in aug.linear.of_block(&aug.func, *block) {
                let operands: HashSet<Value> = linear.operands().into_iter().collect();
                for value in operands {
                    all.entry(value).or_default().push(Use::Linear(*block, linear));
                }
            }
            for edge in edges_from(&aug.func, *block).into_iter().filter(|e| cfg.can_return(e.to)) {
                let params = aug.func.block(edge.to).params.iter();
                let args = &aug.func.block(*block).term.targets()[edge.index].args;
                for (param, arg) in params.zip(args).filter(|(p, _)| aug.linear.active.contains(p)) {
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
    trips: &'a HashMap<Loop, Value>,
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
    /// Regions to whose shadows the reverse of the loop adds.
    read: HashSet<ObjId>,
    /// Regions from whose shadows it takes, each time at other places.
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
    fn look_at(&self, id: Loop, entry: Edge, back: Edge, exit: Block) -> Option<JointLoop> {
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
            if !self.aug.linear.active.contains(&param) {
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
        good.then_some(JointLoop { entry, latch: back.from, sums, walks, bounds, blocks: None })
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
                    Linear::Load(_, shadow, _) => {
                        for shadow in shadow {
                            memory.read.insert(self.aug.place(*shadow)?.0);
                        }
                    }
                    Linear::Store { ty, shadow, .. } => {
                        let once = self.loops.innermost(*block) == Some(id);
                        let place = self.walks.pointer(id, shadow[0]).filter(|_| once)?;
                        let (region, _) = self.aug.place(shadow[0])?;
                        // Two places of a region that has several names may be one.
                        if self.aug.regions.is_shared(region) {
                            return None;
                        }
                        memory.written.entry(region).or_default().push((place, ty.size()));
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
        let of_the_loop =
            |shadow: &Value| self.aug.place(*shadow).is_none_or(|(region, _)| memory.written.contains_key(&region));
        !memory.written.is_empty()
            && self.linear(block).any(|linear| match linear {
                Linear::Load(_, shadow, _) => shadow.iter().any(of_the_loop),
                Linear::Copy { src, .. } => src.iter().flatten().any(of_the_loop),
                _ => false,
            })
    }

    fn linear(&self, block: Block) -> impl Iterator<Item = &Linear> {
        self.aug.linear.of_block(&self.aug.func, block).map(|(_, linear)| linear)
    }

    /// The bound that decides about a panic in a loop, if every iteration asks for it.
    fn bound(&self, id: Loop, entry: Edge, back: Edge, panic: Edge) -> Option<Bound> {
        let trips = *self.trips.get(&id)?;
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

    /// Whether a block in loop `id` or after it cannot panic, but where it leaves the loop, and writes only to objects
    /// to which it may.
    fn is_quiet(&self, id: Loop, block: Block, may_write: impl Fn(&ObjId) -> bool) -> bool {
        let runtime = &self.session.runtime;
        let in_loop = self.loops.innermost(block).is_some();
        let elsewhere = |ptr: Value| self.aug.place(ptr).is_some_and(|(region, _)| may_write(&region));
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
            ValueDef::Inst(inst) => match self.aug.linear.at(inst) {
                [Linear::Sum(_, terms)] => {
                    let mut among = terms.iter().filter(|(v, _)| all.contains(v));
                    matches!((among.next(), among.next()), (Some((_, c)), None) if *c == Coefficient::ONE)
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
        let [Linear::Load(_, shadow, _)] = self.aug.linear.at(inst) else { return None };
        let beside =
            self.session.beside(*self.aug.places.get(&shadow[0]).map(|(object, _)| object)?, &Offsets::any(), None);
        (of == id).then(|| Walk { param, next: shadow.clone(), step, beside })
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
                        let there = c.values().all(is_there);
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

    /// Whether a store after the loop is the only thing that the reverse sweep has to do with its place before it gets
    /// to the loop.
    fn is_all_of_it(&self, store: &Linear, ty: &Type, shadow: &[Value], exit: Block) -> bool {
        let Some((object, at)) = self.aug.place(shadow[0]) else { return false };
        let touches = |linear: &Linear| {
            let (others, width) = match linear {
                other if std::ptr::eq(other, store) => return false,
                Linear::Load(result, shadow, _) => (shadow, Some(self.aug.func.ty(*result).size())),
                Linear::Store { shadow, ty, .. } => (shadow, Some(ty.size())),
                Linear::Copy { dst, src, .. } => {
                    let all = dst.iter().chain(src.iter().flatten());
                    let mut regions = all.map(|s| self.aug.place(*s).map(|(region, _)| region));
                    return regions.any(|region| region.is_none_or(|region| region == object));
                }
                // What else has to do with memory does not come after the loop.
                _ => return false,
            };
            others.iter().any(|other| match (self.aug.place(*other), width) {
                (Some((other, _)), _) if other != object => false,
                (Some((_, other_at)), Some(width)) => at.overlaps(ty.size(), &other_at, width),
                _ => true,
            })
        };
        let after = self.reached_from(exit, None);
        let whole = at.exact().is_some();
        whole && !after.iter().flat_map(|b| self.linear(*b)).any(touches)
    }
}
