//! Known cotangents: those that can be computed while the program still runs forwards.
//!
//! The cotangent of a value is the sum of what its uses give it. Where the cotangent of the function's result is there
//! from the start, and what comes after a value is linear in it with factors that are there already, its cotangent is
//! an expression of these ([`terms`]):
//!
//! ```text
//!   term = entry·cofactor         cofactor' = entry·term'
//!   sum  = sum + term             term' = sum',    sum' = result', in each iteration
//! ```
//! It has to be the same expression on all ways that the program may take from where the value is made. A value that is
//! handed on by an edge has the cotangent of the parameter; round a loop that is the same one again, which is left out:
//! what remains is what the loop is left with, and it must not depend on what changes in the loop.
//!
//! Expressions start from the seed that a function is given ([`Node::Seed`]), and from the shadows of places that are
//! written once and for all ([`stores`]). `reverse/known.rs` computes them.

mod place;
pub mod stores;
pub mod terms;

use crate::linearise::augment::Augmented;
use crate::linearise::linear::Linear;
use crate::linearise::share::Share;
pub use crate::schedule::known::place::Placed;
use crate::schedule::known::place::Spot;
use crate::schedule::known::stores::Stores;
use crate::schedule::known::terms::{Leaf, Node, Term, Terms};
use pullback_ir::cfg::{Edge, edges_from};
use pullback_ir::{Block, ControlFlow, Inst, Loop, Terminator, Type, Value, ValueDef};
use pullback_rules::Coefficient;
use std::collections::{BTreeSet, HashMap, HashSet};

/// How many values deep it is looked.
const MOST_DEPTH: usize = 100;
/// How many values, and blocks that they are used in, are looked at in all.
const MOST_STEPS: usize = 20_000;
/// Where a value is used so that it gets a cotangent.
#[derive(Clone, Copy, Debug)]
enum Use {
    /// By a linear operation of this instruction; the number is its own among those.
    Linear(Block, Inst, usize),
    /// By an edge.
    Edges(Block),
    /// By a return.
    Returned(Block),
}

impl Use {
    fn block(self) -> Block {
        match self {
            Use::Linear(block, ..) | Use::Edges(block) | Use::Returned(block) => block,
        }
    }
}

/// What is known of a cotangent.
#[derive(Clone, Debug, Default)]
struct Known {
    /// What it is.
    term: Option<Term>,
    /// It may also be that of these values, which are being looked at.
    same: BTreeSet<Value>,
    /// The loops in which that is another iteration's.
    crossed: BTreeSet<Loop>,
}

/// What is known of a function beside its linear program.
#[derive(Default)]
pub struct Ends<'a> {
    /// Which stores have cotangents that are in the shadows of their places from the start; none, if there are none.
    pub stores: Option<Stores<'a>>,
    /// Parameters whose cotangents go to memory at the end of each iteration, and to no argument.
    pub walks: HashSet<Value>,
}

/// The known cotangents of a function.
pub struct KnownCotangents<'a> {
    aug: &'a Augmented,
    flow: &'a ControlFlow,
    ends: Ends<'a>,
    uses: HashMap<Value, Vec<Use>>,
    spots: HashMap<Inst, Spot>,
    known: HashMap<Value, Option<Term>>,
    open: Vec<Value>,
    steps: usize,
    certain: HashMap<(Block, Block), bool>,
    /// All expressions.
    pub terms: Terms,
}

impl<'a> KnownCotangents<'a> {
    /// Look at a function.
    pub fn new(aug: &'a Augmented, flow: &'a ControlFlow, ends: Ends<'a>) -> Self {
        let mut this = KnownCotangents {
            aug,
            flow,
            ends,
            uses: HashMap::new(),
            spots: HashMap::new(),
            known: HashMap::new(),
            open: Vec::new(),
            steps: MOST_STEPS,
            certain: HashMap::new(),
            terms: Terms::default(),
        };
        this.note_uses();
        this
    }

    fn note_uses(&mut self) {
        let flow = self.flow;
        for block in flow.cfg.live() {
            let data = self.aug.func.block(block);
            for (position, inst) in data.insts.iter().enumerate() {
                self.spots.insert(*inst, Spot { block, position });
                for (number, linear) in self.aug.linear.at(*inst).iter().enumerate() {
                    let given: BTreeSet<Value> = linear.operands().into_iter().collect();
                    for value in given {
                        self.uses.entry(value).or_default().push(Use::Linear(block, *inst, number));
                    }
                }
            }
            let mut handed_on = BTreeSet::new();
            for edge in self.live_edges(block) {
                handed_on.extend(self.handed_on(edge).into_iter().map(|(value, _)| value));
            }
            for value in handed_on {
                self.uses.entry(value).or_default().push(Use::Edges(block));
            }
            if let Terminator::Return(Some(_)) = data.term
                && self.aug.linear.returns_active
            {
                self.uses.entry(self.aug.linear.returned[&block]).or_default().push(Use::Returned(block));
            }
        }
    }

    fn live_edges(&self, block: Block) -> Vec<Edge> {
        edges_from(&self.aug.func, block).into_iter().filter(|e| self.flow.cfg.can_return(e.to)).collect()
    }

    /// The values that an edge hands on to active parameters, with these.
    fn handed_on(&self, edge: Edge) -> Vec<(Value, Value)> {
        let args = &self.aug.func.block(edge.from).term.targets()[edge.index].args;
        let params = &self.aug.func.block(edge.to).params;
        let pairs = args.iter().copied().zip(params.iter().copied());
        let takes = |param: &Value| self.aug.linear.active.contains(param) && !self.ends.walks.contains(param);
        pairs.filter(|(_, param)| takes(param)).collect()
    }

    /// The block in which a value is made; a constant in none.
    fn block_of(&self, value: Value) -> Option<Block> {
        match self.aug.func.value(value).def {
            ValueDef::Const(_) => None,
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Inst(inst) => self.spots.get(&inst).map(|spot| spot.block),
        }
    }

    /// The whole cotangent of a value.
    pub fn total(&mut self, value: Value) -> Option<Term> {
        self.look(value)?.term
    }

    /// What a value gets of its uses after a block that ends an iteration: in later iterations, and after the loop.
    pub fn after_iteration(&mut self, value: Value, latch: Block) -> Option<Term> {
        let after = self.after(value, latch)?;
        settled(after.unwrap_or_else(|| self.nothing(value)))
    }

    /// Whether a value gets a cotangent in one of these blocks.
    pub fn is_used_in(&self, value: Value, is_there: impl Fn(Block) -> bool) -> bool {
        self.uses.get(&value).into_iter().flatten().any(|each| is_there(each.block()))
    }

    fn look(&mut self, value: Value) -> Option<Known> {
        if let Some(known) = self.known.get(&value) {
            return known.map(|term| Known { term: Some(term), ..Known::default() });
        }
        if self.open.contains(&value) {
            return Some(Known { same: BTreeSet::from([value]), ..Known::default() });
        }
        let too_much = self.open.len() > MOST_DEPTH || self.steps == 0;
        if too_much || !self.aug.func.ty(value).is_float() {
            return None;
        }
        self.steps -= 1;
        self.open.push(value);
        let found = self.sum_of_uses(value);
        self.open.pop();
        let found = found.and_then(|mut known| {
            known.same.remove(&value);
            if known.same.is_empty() {
                known.crossed.clear();
            }
            (known.term.is_some() || !known.same.is_empty()).then_some(known)
        });
        match &found {
            None => {
                self.known.insert(value, None);
            }
            Some(known) if known.same.is_empty() => {
                self.known.insert(value, known.term);
            }
            Some(_) => {}
        }
        found
    }

    fn sum_of_uses(&mut self, value: Value) -> Option<Known> {
        let block = self.block_of(value)?;
        let here = self.in_block(value, block)?;
        let after = self.after(value, block)?;
        Some(self.both(here, after)?.unwrap_or_else(|| self.nothing(value)))
    }

    /// What a value gets in a block, but by its edges.
    fn in_block(&mut self, value: Value, block: Block) -> Option<Option<Known>> {
        let mut sum = None;
        for each in self.uses.get(&value).cloned().unwrap_or_default() {
            if each.block() == block && !matches!(each, Use::Edges(_)) {
                let part = self.given_by(value, each)?;
                sum = self.both(sum, Some(part))?;
            }
        }
        Some(sum)
    }

    /// What a value gets after the end of a block, if that is the same on all ways from there. Blocks are looked at
    /// backwards; a loop that is entered on the way counts as one block.
    fn after(&mut self, value: Value, start: Block) -> Option<Option<Known>> {
        let uses: BTreeSet<Block> = self.uses.get(&value).into_iter().flatten().map(|each| each.block()).collect();
        let order = self.flow.cfg.reverse_postorder();
        let from = self.flow.cfg.position(start)?;
        let Some(last) = uses.iter().filter_map(|block| self.flow.cfg.position(*block)).max() else {
            return Some(None);
        };
        let last = last.max(from);
        self.steps = self.steps.saturating_sub(last - from);
        let mut found: HashMap<Block, Known> = HashMap::new();
        for block in order[from..=last].iter().rev().copied().filter(|b| self.flow.cfg.can_return(*b)) {
            let entered = self.flow.loops.around(block).filter(|id| !self.flow.loops.contains(*id, start)).last();
            let edges = match entered {
                None => self.live_edges(block),
                Some(_) if uses.contains(&block) => return None,
                Some(id) if self.flow.loops.get(id).header == block => {
                    let exits = self.flow.loops.get(id).exits.iter();
                    exits.copied().filter(|exit| self.flow.cfg.can_return(exit.to)).collect()
                }
                Some(_) => continue,
            };
            let after = self.by_one_of(value, edges, start, &found)?;
            if block == start {
                return Some(after);
            }
            let here = self.in_block(value, block)?;
            if let Some(known) = self.both(here, after)? {
                found.insert(block, known);
            }
        }
        None
    }

    /// What a value gets by one of several edges and after it, if that is the same for all.
    fn by_one_of(
        &mut self,
        value: Value,
        edges: Vec<Edge>,
        start: Block,
        found: &HashMap<Block, Known>,
    ) -> Option<Option<Known>> {
        let mut edges = edges.into_iter();
        let Some(first) = edges.next() else { return Some(None) };
        let mut all = self.along(value, first, start, found)?;
        for edge in edges {
            let along = self.along(value, edge, start, found)?;
            if all.is_some() || along.is_some() {
                let [a, b] = [all, along].map(|known| known.unwrap_or_else(|| self.nothing(value)));
                all = Some(self.either(a, b)?);
            }
        }
        Some(all)
    }

    /// What a value gets by an edge and after it.
    fn along(
        &mut self,
        value: Value,
        edge: Edge,
        start: Block,
        found: &HashMap<Block, Known>,
    ) -> Option<Option<Known>> {
        let params = self.handed_on(edge).into_iter().filter(|(arg, _)| *arg == value).map(|(_, param)| param);
        let mut sum = None;
        for param in params.collect::<Vec<_>>() {
            let part = self.look(param)?;
            sum = self.both(sum, Some(part))?;
        }
        // Round a loop it is another value.
        let goes_round = self.flow.loops.headed_by(edge.to).is_some_and(|id| self.flow.loops.contains(id, start));
        let later = found.get(&edge.to).filter(|_| !goes_round).cloned();
        let Some(mut known) = self.both(sum, later)? else { return Some(None) };
        // Into a loop, round it and out of it: what is made in it is another iteration's on the other side.
        let left = self.flow.loops.around(edge.from).filter(|id| !self.flow.loops.contains(*id, edge.to));
        known.crossed.extend(left.chain(self.flow.loops.headed_by(edge.to)));
        self.is_invariant(&known).then_some(Some(known))
    }

    /// The sum of two cotangents, of which there may be none.
    fn both(&mut self, a: Option<Known>, b: Option<Known>) -> Option<Option<Known>> {
        Some(match (a, b) {
            (Some(a), Some(b)) => Some(self.added(a, b)?),
            (a, b) => a.or(b),
        })
    }

    fn just(&mut self, node: Node) -> Known {
        Known { term: Some(self.terms.make(node)), ..Known::default() }
    }

    fn nothing(&mut self, value: Value) -> Known {
        self.just(Node::Nothing { wide: *self.aug.func.ty(value) == Type::F64 })
    }

    /// The sum of two cotangents that are known for good.
    fn added(&mut self, a: Known, b: Known) -> Option<Known> {
        let (a, b) = (settled(a)?, settled(b)?);
        Some(self.just(Node::Sum(a, b)))
    }

    /// What a use gives to the cotangent of a value.
    fn given_by(&mut self, value: Value, by: Use) -> Option<Known> {
        match by {
            Use::Linear(_, inst, number) => self.given_by_operation(value, inst, number),
            Use::Returned(_) => Some(self.just(Node::Seed)),
            Use::Edges(block) => {
                let known = self.by_one_of(value, self.live_edges(block), block, &HashMap::new())?;
                Some(known.unwrap_or_else(|| self.nothing(value)))
            }
        }
    }

    /// What is known if it may be one or the other.
    fn either(&self, mut a: Known, b: Known) -> Option<Known> {
        a.term = match (a.term, b.term) {
            (Some(a), Some(b)) if a != b => return None,
            (a, b) => a.or(b),
        };
        a.same.extend(b.same);
        a.crossed.extend(b.crossed);
        self.is_invariant(&a).then_some(a)
    }

    /// Whether what is known is the same in all iterations of the loops in which it has to be.
    fn is_invariant(&self, known: &Known) -> bool {
        let outside = |block: Option<Block>| {
            block.is_none_or(|block| !known.crossed.iter().any(|id| self.flow.loops.contains(*id, block)))
        };
        let leaves = known.term.map(|term| self.terms.leaves(term)).unwrap_or_default();
        leaves.into_iter().all(|leaf| match leaf {
            Leaf::Value(value) => self.is_there(value) && outside(self.block_of(value)),
            Leaf::Given(inst) => outside(self.spots.get(&inst).map(|spot| spot.block)),
        })
    }

    /// Whether a value is a constant, or made in a block that may return.
    fn is_there(&self, value: Value) -> bool {
        self.aug.func.as_const(value).is_some() || self.block_of(value).is_some()
    }

    fn given_by_operation(&mut self, value: Value, inst: Inst, number: usize) -> Option<Known> {
        let flags = self.aug.func.inst(inst).flags.fast_math();
        let linear = &self.aug.linear.at(inst)[number];
        let mut parts: Vec<Node> = Vec::new();
        if let Some((result, shares)) = linear.shares() {
            let g = self.look(result)?;
            let of: Vec<Share> = shares.iter().filter(|(operand, _)| *operand == value).map(|(_, s)| *s).collect();
            if of == [Share::Times(Coefficient::ONE)] {
                return Some(g);
            }
            let g = settled(g)?;
            parts.extend(of.into_iter().map(|share| match share {
                Share::Times(Coefficient::ONE) => self.terms.node(g),
                _ => Node::Share(g, share, flags),
            }));
        } else {
            match linear {
                Linear::Call { args, .. } => {
                    let of = args.iter().enumerate().filter(|(_, arg)| **arg == value);
                    parts.extend(of.map(|(i, _)| Node::Given(inst, i)));
                }
                Linear::Store { shadow, ty, .. } => {
                    let (stores, block) = (self.ends.stores.as_ref()?, self.spots.get(&inst)?.block);
                    if !stores.is_known(self.aug, &self.flow.cfg, block, inst) {
                        return None;
                    }
                    self.terms.places.insert(inst, (shadow.clone(), ty.clone()));
                    parts.push(Node::Stored(inst));
                }
                _ => return None,
            }
        }
        let mut parts = parts.into_iter();
        let mut sum = self.just(parts.next()?);
        for part in parts {
            let part = self.just(part);
            sum = self.added(sum, part)?;
        }
        Some(sum)
    }
}

/// An expression that is known for good.
fn settled(known: Known) -> Option<Term> {
    known.term.filter(|_| known.same.is_empty())
}
