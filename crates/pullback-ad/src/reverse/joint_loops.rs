//! Joint reversal of loops, written: the reverse of each iteration follows the iteration, in the forward sweep.

use crate::reverse::Sweeps;
use crate::reverse::cotangents::{Addition, Carried};
use crate::reverse::known::Emitter;
use crate::schedule::joint_loops::{Bound, JointLoop, JointLoops, Walk};
use pullback_ir::cfg::Edge;
use pullback_ir::{BinOp, Block, BlockCall, Builder, IntPred, Loop, Terminator, Value};
use std::collections::HashMap;

/// The loops whose iterations are reversed as soon as they are through.
#[derive(Default)]
pub(crate) struct Joint {
    pub(crate) found: JointLoops,
    /// What they are in the derivative.
    pub(super) written: HashMap<Loop, WrittenLoop>,
    /// For each of them, the cotangents of what an iteration hands on, in each batch direction.
    pub(super) seeds: HashMap<Loop, Vec<Vec<Value>>>,
    /// For those of them that may panic, whether they will not.
    pub(super) no_panic: HashMap<Loop, Value>,
}

/// What a joint loop is in the derivative, beside the forward and the reverse of its blocks.
pub(crate) struct WrittenLoop {
    /// What the latch ended with, after the iteration has been reversed.
    onward: Block,
    /// In the reverse sweep, instead of the loop.
    past: Block,
}

impl Sweeps<'_, '_> {
    /// Whether a loop has joint reversal.
    pub(crate) fn is_joint(&self, id: Loop) -> bool {
        self.joint.found.loops.contains_key(&id)
    }

    /// The loop with joint reversal that ends its iterations here.
    pub(crate) fn ends_joint(&self, latch: Block) -> Option<Loop> {
        let id = self.loops.around(latch).last()?;
        self.joint.found.loops.get(&id).filter(|l| l.latch == latch).map(|_| id)
    }

    /// The loop with joint reversal that starts its iterations here.
    pub(crate) fn starts_joint(&self, header: Block) -> Option<Loop> {
        self.loops.headed_by(header).filter(|id| self.is_joint(*id))
    }

    /// Let all forward iterations end in their reverse. Their edges are as they will be.
    pub(crate) fn turn_each_iteration(&mut self) {
        for id in self.joint_in_order() {
            let latch = self.joint.found.loops[&id].latch;
            let func = &mut self.aug.func;
            let (onward, past) = (func.add_block(), func.add_block());
            func.block_mut(onward).term = func.block(latch).term.clone();
            func.block_mut(onward).term_loc = func.block(latch).term_loc;
            let reversed = BlockCall::new(self.rev.blocks[&latch], vec![]);
            let turn = match self.joint.no_panic.get(&id) {
                Some(no_panic) => Terminator::Branch(*no_panic, reversed, BlockCall::new(onward, vec![])),
                None => Terminator::Jump(reversed),
            };
            Builder::new(&mut self.aug.func, latch).terminate(turn);
            self.joint.written.insert(id, WrittenLoop { onward, past });
            self.carry_along(id, onward);
        }
    }

    /// Make the slots of what is carried along, and add what is due on the way out of the loop.
    fn carry_along(&mut self, id: Loop, onward: Block) {
        let JointLoop { exit, walks, .. } = self.joint.found.loops[&id].clone();
        let walks: Vec<(Value, Walk)> = walks.into_iter().filter_map(|walk| Some((walk.loaded?, walk))).collect();
        if walks.is_empty() {
            return;
        }
        let out = self.aug.func.add_block();
        let to = self.aug.func.redirect(Edge { from: onward, ..exit }, BlockCall::new(out, vec![]));
        self.cursor.at = out;
        for (loaded, walk) in walks {
            let ty = self.cotangent_type(walk.param);
            for next in walk.next {
                let slots = [(); 2].map(|()| self.empty_slot(&ty));
                let carried = Carried { coming: slots[0], due: slots[1] };
                let due = self.build().load(ty.clone(), carried.due);
                self.add(&Addition { beside: walk.beside, ..Addition::new(next, ty.clone(), due) });
                self.cotangents.carried.entry(loaded).or_default().push(carried);
            }
        }
        self.build().terminate(Terminator::Jump(to));
    }

    fn joint_in_order(&self) -> Vec<Loop> {
        let mut all: Vec<Loop> = self.joint.found.loops.keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// On the way into the loop, at the end of `block`: whether it will end without a panic, and the cotangents of what
    /// its iterations hand on.
    pub(crate) fn make_seeds(&mut self, block: Block, id: Loop) {
        let JointLoop { bounds, seeds, .. } = &self.joint.found.loops[&id];
        let func = &mut self.aug.func;
        for Bound { trips, start, bound, or_beyond } in bounds {
            let mut b = Builder::new(func, block);
            let start = b.func.i64(*start);
            let left = b.sub(*bound, start);
            let mut good = b.icmp(IntPred::Ule, *trips, left);
            if *or_beyond {
                let started = b.icmp(IntPred::Uge, *bound, start);
                good = b.bin(BinOp::And, good, started);
            }
            if let Some(others) = self.joint.no_panic.get(&id) {
                good = b.bin(BinOp::And, *others, good);
            }
            self.joint.no_panic.insert(id, good);
        }
        let mut known = Emitter::new(&self.joint.found.terms, self.target.strong_zero, vec![]);
        let mut made = Vec::new();
        for seed in seeds {
            let each = 0..self.target.width;
            made.push(each.map(|direction| known.value(func, block, &seed.cotangent, direction)).collect());
        }
        self.joint.seeds.insert(id, made);
    }

    /// At the start of the reverse of an iteration: the cotangents of what it hands on.
    pub(crate) fn give_seeds(&mut self, id: Loop) {
        self.cursor.at = self.rev.blocks[&self.joint.found.loops[&id].latch];
        let values: Vec<Value> = self.joint.found.loops[&id].seeds.iter().map(|seed| seed.value).collect();
        for (value, cotangents) in values.into_iter().zip(self.joint.seeds[&id].clone()) {
            self.accumulate_all(value, cotangents);
        }
    }

    /// At the end of the reverse of an iteration: what is handed on goes to the place where it was loaded, and nothing
    /// is left.
    pub(crate) fn end_iteration(&mut self, id: Loop) {
        let JointLoop { sums, walks, .. } = self.joint.found.loops[&id].clone();
        for sum in sums {
            self.take(sum.param);
        }
        for walk in walks {
            let ty = self.cotangent_type(walk.param);
            for (direction, mut g) in self.take(walk.param).into_iter().enumerate() {
                if let Some(Carried { coming, due }) =
                    walk.loaded.map(|loaded| self.cotangents.carried[&loaded][direction])
                {
                    let flags = self.target.summing();
                    let mut b = self.build();
                    let before = b.load(ty.clone(), due);
                    let now = b.load(ty.clone(), coming);
                    b.store(due, now);
                    b.flags = flags;
                    g = b.fadd(g, before);
                }
                let next = self.value(walk.next[direction], Some(id));
                let place = self.build().offset(next, -walk.step);
                self.add(&Addition { beside: walk.beside, ..Addition::new(place, ty.clone(), g) });
            }
        }
        let onward = self.joint.written[&id].onward;
        self.build().jump(onward, vec![]);
    }

    /// In the reverse sweep, instead of the loop: what the sums started with gets their cotangents.
    pub(crate) fn pass_by(&mut self) {
        for id in self.joint_in_order() {
            let JointLoop { entry, seeds, sums, .. } = self.joint.found.loops[&id].clone();
            self.cursor.at = self.joint.written[&id].past;
            self.cursor.cache.clear();
            let cotangents: Vec<Vec<Value>> = seeds.iter().map(|seed| self.take(seed.value)).collect();
            for sum in sums {
                let Some(seed) = sum.seed.filter(|_| self.aug.linear.active.contains(&sum.init)) else { continue };
                self.accumulate_all(sum.init, cotangents[seed].iter().copied());
            }
            let before = self.before(entry);
            self.build().terminate(Terminator::Jump(before));
        }
    }

    /// Where the reverse sweep goes instead of into a loop that is left by this edge.
    pub(crate) fn past(&self, edge: Edge) -> Option<BlockCall> {
        let id = self.ends_joint(edge.from).filter(|id| !self.loops.contains(*id, edge.to))?;
        Some(BlockCall::new(self.joint.written.get(&id)?.past, vec![]))
    }
}
