//! Where expressions can be computed: all that they take from the program is there, or can be recomputed from what is.

use crate::schedule::known::terms::{Leaf, Node, Term};
use crate::schedule::known::{KnownCotangents, settled};
use pullback_ir::{BinOp, Block, CastOp, Inst, MathFn, Op, Terminator, Value, ValueDef};
use std::collections::{BTreeMap, HashSet};

/// How many blocks on it is looked for one where all factors are there.
const MOST_BLOCKS: usize = 32;
/// How many instructions deep a factor is recomputed, ahead of where the program does.
const MOST_RECOMPUTED: usize = 6;

/// A place in the program: before the instruction of this number in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    /// The block.
    pub block: Block,
    /// The number of the instruction; as many as there are is the end.
    pub position: usize,
}

/// An expression that is to be computed at a place, and the values that have to be recomputed for it, because the
/// program gets to them later.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The expression.
    pub term: Term,
    /// These values.
    pub recomputed: HashSet<Value>,
}

impl KnownCotangents<'_> {
    /// Whether block `b` is sure to run, once, each time that `a` does, in the same iteration, if the function returns
    /// at all.
    fn is_certain(&mut self, a: Block, b: Block) -> bool {
        if a == b {
            return true;
        }
        if let Some(known) = self.certain.get(&(a, b)) {
            return *known;
        }
        let certain = self.flow.loops.innermost(a) == self.flow.loops.innermost(b)
            && self.flow.doms.dominates(a, b)
            && !self.can_miss(a, b);
        self.certain.insert((a, b), certain);
        certain
    }

    /// Whether there is a way from `a` past `b`: to a return, or out of the iteration of the innermost loop around.
    fn can_miss(&self, a: Block, b: Block) -> bool {
        let level = self.flow.loops.innermost(a);
        let (mut work, mut seen) = (vec![a], HashSet::from([a]));
        while let Some(block) = work.pop() {
            if matches!(self.aug.func.block(block).term, Terminator::Return(_)) {
                return true;
            }
            for to in self.flow.cfg.successors(block).iter().copied().filter(|to| self.flow.cfg.can_return(*to)) {
                let leaves =
                    level.is_some_and(|id| !self.flow.loops.contains(id, to) || self.flow.loops.get(id).header == to);
                if leaves {
                    return true;
                }
                if to != b && seen.insert(to) {
                    work.push(to);
                }
            }
        }
        false
    }

    /// What is to be added to the place where a value came from, and where: one expression for each block that uses it.
    pub fn shares(&mut self, value: Value) -> Option<Vec<(Block, Term)>> {
        let mut shares: BTreeMap<Block, Term> = BTreeMap::new();
        for each in self.uses.get(&value).cloned().unwrap_or_default() {
            let part = settled(self.given_by(value, each)?)?;
            let sum = match shares.get(&each.block()) {
                Some(sum) => self.terms.make(Node::Sum(*sum, part)),
                None => part,
            };
            shares.insert(each.block(), sum);
        }
        shares.into_iter().map(|(block, term)| Some((self.where_known(block, term)?, term))).collect()
    }

    /// The first block that is sure to come after `block` at whose end an expression can be computed.
    fn where_known(&mut self, block: Block, term: Term) -> Option<Block> {
        let from = self.flow.cfg.position(block)?;
        let candidates = self.flow.cfg.reverse_postorder()[from..].iter().copied().take(MOST_BLOCKS);
        let live: Vec<Block> = candidates.filter(|b| self.flow.cfg.can_return(*b)).collect();
        live.into_iter().find(|b| self.is_certain(block, *b) && self.is_known_at(term, self.end(*b)))
    }

    /// The end of a block.
    pub fn end(&self, block: Block) -> Spot {
        Spot { block, position: self.aug.func.block(block).insts.len() }
    }

    /// Where an instruction stands.
    pub fn spot(&self, inst: Inst) -> Option<Spot> {
        self.spots.get(&inst).copied()
    }

    /// An expression at a place, if it can be computed there.
    pub fn placed(&self, term: Term, at: Spot) -> Option<Placed> {
        self.is_known_at(term, at).then(|| Placed { term, recomputed: self.recomputed_for(term, at) })
    }

    /// Whether an expression can be computed at a place.
    fn is_known_at(&self, term: Term, at: Spot) -> bool {
        self.terms.leaves(term).into_iter().all(|leaf| match leaf {
            Leaf::Value(value) => self.can_be_had(value, at, MOST_RECOMPUTED),
            Leaf::Given(call) => self.spots.get(&call).is_some_and(|made| self.precedes(*made, at)),
        })
    }

    /// The values that have to be recomputed at a place for an expression, because they have not been made there yet.
    fn recomputed_for(&self, term: Term, at: Spot) -> HashSet<Value> {
        let mut work: Vec<Value> = Vec::new();
        for leaf in self.terms.leaves(term) {
            if let Leaf::Value(value) = leaf {
                work.push(value);
            }
        }
        let mut missing = HashSet::new();
        while let Some(value) = work.pop() {
            if !self.is_at_hand(value, at) && missing.insert(value) {
                let inst = self.aug.func.def_inst(value).expect("only results of instructions are recomputed");
                work.extend(self.aug.func.inst(inst).op.operands());
            }
        }
        missing
    }

    fn precedes(&self, made: Spot, at: Spot) -> bool {
        if made.block == at.block {
            made.position < at.position
        } else {
            self.flow.doms.dominates(made.block, at.block)
        }
    }

    /// Whether a value has been made at a place.
    fn is_at_hand(&self, value: Value, at: Spot) -> bool {
        match self.aug.func.value(value).def {
            ValueDef::Const(_) => true,
            ValueDef::Param(block, _) => self.flow.doms.dominates(block, at.block),
            ValueDef::Inst(inst) => self.spots.get(&inst).is_some_and(|made| self.precedes(*made, at)),
        }
    }

    /// Whether a value is there, or can be computed ahead from what is.
    fn can_be_had(&self, value: Value, at: Spot, most: usize) -> bool {
        if self.is_at_hand(value, at) {
            return true;
        }
        let Some(inst) = self.aug.func.def_inst(value) else { return false };
        let Some(made) = self.spots.get(&inst) else { return false };
        let op = &self.aug.func.inst(inst).op;
        let exact = self.aug.func.inst(inst).flags.fast_math().0 == 0;
        let is_same = |operand: Value| self.is_same(operand, at.block, made.block);
        most > 0
            && exact
            && op.is_speculatable()
            && self.is_exact(op)
            && op.operands().into_iter().all(|o| is_same(o) && self.can_be_had(o, at, most - 1))
    }

    /// Whether a value is the same in two blocks that it is seen from: not the current one of a loop here and the last
    /// one there.
    fn is_same(&self, value: Value, a: Block, b: Block) -> bool {
        let Some(made) = self.block_of(value) else { return true };
        self.flow.loops.around(made).all(|id| self.flow.loops.contains(id, a) == self.flow.loops.contains(id, b))
    }

    /// Whether an instruction has one result, and is never poison, also where the program panics before it.
    fn is_exact(&self, op: &Op) -> bool {
        match op {
            Op::Bin(BinOp::Shl | BinOp::LShr | BinOp::AShr, _, by) => self.aug.func.as_int(*by).is_some(),
            Op::Cast(op, _) => !matches!(op, CastOp::FpToUi | CastOp::FpToSi),
            Op::Math(function, _) => *function != MathFn::FmulAdd,
            Op::Bin(..) | Op::FNeg(_) | Op::ICmp(..) | Op::FCmp(..) | Op::Select(..) | Op::PtrAdd(..) => true,
            _ => false,
        }
    }
}
