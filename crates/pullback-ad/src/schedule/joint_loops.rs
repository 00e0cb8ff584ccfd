//! Loops that only add things up, or fill an output: each iteration is reversed at once.
//!
//! The loss of most fits is a sum over data, and what comes after the sum is linear. The cotangent of such a sum is
//! known before the loop starts, and it is the same in all iterations. So nothing is gained by going through the loop a
//! second time: each iteration is reversed as soon as it is through, while all it computed is at hand. Nothing is kept
//! beyond the iteration, and what it reads is read once.
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
//! - nothing of an iteration gets into the next one, or out of the loop, but by the sums (`Chain`) and by what is
//!   written to another place in each iteration (`Memory`). What is handed on from one iteration to the next because it
//!   would be loaded again there (`Walks`) counts as loaded;
//! - what the cotangents of the sums are made from is there before the loop (`Seed`), and so are those of what is
//!   written: nobody reads that later;
//! - what the loop reads is not written in it or after it: a cotangent that is added to a shadow is not taken by the
//!   transpose of a later write;
//! - there is no panic in the loop or after it, for what is added to shadows then would be half a gradient. An index
//!   that is compared with a bound in each iteration is another matter: whether it will run into it is known before
//!   (`Bound`), and then nothing is reversed.

mod search;

pub(crate) use search::find;

use crate::linearise::linear::Beside;
use crate::reverse::Sweeps;
use crate::rules::Coefficient;
use pullback_ir::cfg::Edge;
use pullback_ir::{BinOp, Block, BlockCall, Builder, Flags, IntPred, Loop, Terminator, Type, Value};

/// A loop whose iterations are reversed at once.
#[derive(Clone, Debug)]
pub struct JointLoop {
    entry: Edge,
    /// The block that goes round, and out.
    pub(crate) latch: Block,
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
    /// What may lie there.
    beside: Beside,
}

/// The cotangent of a value, made from what is there before the loop.
#[derive(Clone, PartialEq, Debug)]
enum Seed {
    /// What is so many bytes behind a place, one for each direction: in the shadow of where the value is stored in the
    /// end.
    At(Vec<(Value, i64)>, Type),
    /// The cotangent of a term.
    Scaled(Box<Seed>, Coefficient),
    /// The cotangent of a dividend.
    Over(Box<Seed>, Value),
    /// The cotangent of a value that is used several times.
    Both(Box<Seed>, Box<Seed>),
}

impl Sweeps<'_, '_> {
    /// Whether the iterations of a loop are reversed at once.
    pub(crate) fn is_joint(&self, id: Loop) -> bool {
        self.joint_loops.contains_key(&id)
    }

    /// The loop that is reversed at once and ends its iterations here.
    pub(crate) fn ends_joint(&self, latch: Block) -> Option<Loop> {
        let id = self.loops.around(latch).last()?;
        self.joint_loops.get(&id).filter(|l| l.latch == latch).map(|_| id)
    }

    /// The loop that is reversed at once and starts its iterations here.
    pub(crate) fn starts_joint(&self, header: Block) -> Option<Loop> {
        self.loops.headed_by(header).filter(|id| self.is_joint(*id))
    }

    /// Let all forward iterations end in their reverse. Their edges are as they will be.
    pub(crate) fn turn_each_iteration(&mut self) {
        for id in self.joint_in_order() {
            let latch = self.joint_loops[&id].latch;
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
            self.joint_loops.get_mut(&id).expect("it is there").blocks = Some(Blocks { onward, past });
        }
    }

    fn joint_in_order(&self) -> Vec<Loop> {
        let mut all: Vec<Loop> = self.joint_loops.keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// On the way into the loop, at the end of `block`: whether it will end without a panic, and the cotangents of the
    /// sums.
    pub(crate) fn make_seeds(&mut self, block: Block, id: Loop) {
        for Bound { trips, start, bound, or_beyond } in self.joint_loops[&id].bounds.clone() {
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
        let sums = self.joint_loops[&id].sums.clone();
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
    pub(crate) fn give_seeds(&mut self, id: Loop) {
        self.at = self.rev_blocks[&self.joint_loops[&id].latch];
        let lasts: Vec<Value> = self.joint_loops[&id].sums.iter().map(|sum| sum.last).collect();
        for (last, seeds) in lasts.into_iter().zip(self.seeds[&id].clone()) {
            for (lane, seed) in seeds.into_iter().enumerate() {
                self.accumulate(last, lane, seed);
            }
        }
    }

    /// At the end of the reverse of an iteration: what is handed on goes to the place where it was loaded, and nothing
    /// is left.
    pub(crate) fn end_iteration(&mut self, id: Loop) {
        let JointLoop { sums, walks, blocks, .. } = self.joint_loops[&id].clone();
        for sum in sums {
            self.take(sum.param);
        }
        for walk in walks {
            let ty = self.cotangent_type(walk.param);
            for (lane, g) in self.take(walk.param).into_iter().enumerate() {
                let next = self.value(walk.next[lane], Some(id));
                let place = self.build().offset(next, -walk.step);
                self.accumulate_at(place, 0, &ty, g, Flags::NONE, walk.beside);
            }
        }
        let onward = blocks.expect("made before the reverse sweep").onward;
        self.build().jump(onward, vec![]);
    }

    /// In the reverse sweep, instead of the loop: what the sums started with gets their cotangents.
    pub(crate) fn pass_by(&mut self) {
        for id in self.joint_in_order() {
            let JointLoop { entry, sums, blocks, .. } = self.joint_loops[&id].clone();
            self.at = blocks.expect("made before the reverse sweep").past;
            self.cache.clear();
            for sum in sums {
                for (lane, g) in self.take(sum.last).into_iter().enumerate() {
                    if self.aug.linear.active.contains(&sum.init) {
                        self.accumulate(sum.init, lane, g);
                    }
                }
            }
            let before = self.before(entry);
            self.build().terminate(Terminator::Jump(before));
        }
    }

    /// Where the reverse sweep goes instead of into a loop that is left by this edge.
    pub(crate) fn past(&self, edge: Edge) -> Option<BlockCall> {
        let id = self.ends_joint(edge.from).filter(|id| !self.loops.contains(*id, edge.to))?;
        Some(BlockCall::new(self.joint_loops[&id].blocks?.past, vec![]))
    }
}
