//! Counted loops whose arrays there is no memory for.
//!
//! The arrays of a counted loop are made before its first iteration, of exactly the length that it is going to have.
//! The primal may never get there: `for i in 0..n` with `n = usize::MAX` panics as soon as `x[i]` is out of bounds, and
//! its derivative has to do the same. So where the arrays cannot be had, the forward sweep goes on in a copy of the
//! loop that records nothing:
//!
//! ```text
//! b5:  v9 = icmp ugt bytes, 1073741824                 b7:  the arrays, and the loop as it is recorded
//!      branch v9, b6, b7                               b8:  the loop, unrecorded ─▶ panic, as in the primal
//! b6:  v10 = call @__pullback_fits(bytes)                                        ─▶ b9, if it comes to its end
//!      v11 = icmp eq v10, 0                            b9:  call @__pullback_out_of_memory(bytes)
//!      branch v11, b8, b7
//! ```
//! What comes after the loop is not in the copy: the reverse sweep of a loop that comes to its end needs the memory.

use crate::reverse::Sweeps;
use pullback_ir::{
    BinOp, Block, BlockCall, Builder, Callee, CastOp, Function, IntPred, Loop, Op, Terminator, Type, Value,
};
use std::collections::{HashMap, HashSet};

/// Arrays of so many bytes are made without asking.
const FEW: i64 = 1 << 30;

/// A copy of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unrecorded {
    header: Block,
    /// Where it goes instead of to its end.
    end: Block,
}

impl Sweeps<'_, '_> {
    /// Copy the loops that may be left by a panic before they are as long as their counts say. To be done before
    /// anything of the loops is recorded.
    pub(crate) fn copy_unrecorded(&mut self) {
        let mut counted: Vec<Loop> = self.slots.trips.keys().copied().filter(|id| self.has_arrays(*id)).collect();
        counted.sort_unstable();
        for id in counted {
            if self.is_small(id) || !self.may_panic(id) {
                continue;
            }
            let copy = self.copy_of(id);
            self.unrecorded.insert(id, copy);
        }
    }

    /// Whether the arrays of a loop are small, or not much larger than memory that it walks over.
    fn is_small(&self, id: Loop) -> bool {
        let (func, count) = (&self.aug.func, self.slots.trips[&id]);
        match func.as_int(count) {
            Some(count) => (count as u64).saturating_mul(self.all_bytes_of(id)) <= FEW as u64,
            None => is_length(func, count),
        }
    }

    /// Whether a loop may be left by a panic.
    fn may_panic(&self, id: Loop) -> bool {
        let func = &self.aug.func;
        let harmless = |callee| self.aug.harmless.contains(&callee);
        self.loops.get(id).blocks.iter().any(|block| {
            let leaves = self.cfg.successors(*block).iter().any(|to| !self.is_live(*to));
            let calls = func.block(*block).insts.iter().any(|inst| match &func.inst(*inst).op {
                Op::Call(Callee::Direct(callee), ..) => !harmless(*callee),
                Op::Call(..) | Op::Opaque(_) => true,
                _ => false,
            });
            leaves || calls
        })
    }

    /// A copy of a loop, and of all that leads from it to a panic.
    fn copy_of(&mut self, id: Loop) -> Unrecorded {
        let mut region: Vec<Block> = self.loops.get(id).blocks.clone();
        let mut seen: HashSet<Block> = region.iter().copied().collect();
        let mut next = 0;
        while let Some(block) = region.get(next).copied() {
            next += 1;
            for to in self.cfg.successors(block) {
                if !self.is_live(*to) && seen.insert(*to) {
                    region.push(*to);
                }
            }
        }
        let func = &mut self.aug.func;
        let end = func.add_block();
        let blocks: HashMap<Block, Block> = region.iter().map(|block| (*block, func.add_block())).collect();
        let mut values: HashMap<Value, Value> = HashMap::new();
        for block in &region {
            for param in func.block(*block).params.clone() {
                let ty = func.ty(param).clone();
                values.insert(param, func.add_param(blocks[block], ty));
            }
            for inst in func.block(*block).insts.clone() {
                let copy = func.copy_inst(inst, |operand| operand);
                if let (Some(old), Some(new)) = (func.inst(inst).result, func.inst(copy).result) {
                    values.insert(old, new);
                }
                func.block_mut(blocks[block]).insts.push(copy);
            }
        }
        let renamed = |value: Value| values.get(&value).copied().unwrap_or(value);
        for block in &region {
            let copy = blocks[block];
            for inst in func.block(copy).insts.clone() {
                let data = func.inst_mut(inst);
                data.op = data.op.clone().map_operands(renamed);
            }
            let (mut term, loc) = (func.block(*block).term.clone(), func.block(*block).term_loc);
            term.map_operands(renamed);
            for target in term.targets_mut() {
                *target = match blocks.get(&target.block) {
                    Some(block) => BlockCall::new(*block, std::mem::take(&mut target.args)),
                    None => BlockCall::new(end, vec![]),
                };
            }
            let data = func.block_mut(copy);
            (data.term, data.term_loc) = (term, loc);
        }
        Unrecorded { header: blocks[&self.loops.get(id).header], end }
    }

    /// At the end of `block`, on the way into a loop with these arguments: on to its copy if there is no memory for so
    /// many bytes. Returns the block from which the recorded loop is entered.
    pub(crate) fn enter_unrecorded(&mut self, block: Block, copy: Unrecorded, bytes: Value, args: &[Value]) -> Block {
        let runtime = self.target.runtime;
        let func = &mut self.aug.func;
        let [ask, recorded] = [(); 2].map(|()| func.add_block());
        let go_on = || BlockCall::new(recorded, vec![]);
        let mut b = Builder::new(func, block);
        let few = b.func.i64(FEW);
        let many = b.icmp(IntPred::Ugt, bytes, few);
        b.branch(many, BlockCall::new(ask, vec![]), go_on());
        b.at(ask);
        let fits = b.call(runtime.fits, vec![bytes], Type::I64);
        let zero = b.func.i64(0);
        let missing = b.icmp(IntPred::Eq, fits, zero);
        b.branch(missing, BlockCall::new(copy.header, args.to_vec()), go_on());
        b.at(copy.end);
        b.call_void(runtime.out_of_memory, vec![bytes]);
        b.terminate(Terminator::Unreachable);
        recorded
    }
}

/// Whether a count is the distance of two pointers by the size of what lies between them: memory that is there.
fn is_length(func: &Function, count: Value) -> bool {
    let (mut open, mut divided, mut distance) = (vec![count], false, false);
    while let Some(value) = open.pop() {
        match func.def_op(value) {
            Some(Op::Bin(BinOp::UDiv, a, _)) => {
                divided = true;
                open.push(*a);
            }
            Some(Op::Bin(BinOp::Add | BinOp::Sub, a, b)) if func.as_int(*b).is_some() => open.push(*a),
            Some(Op::Bin(BinOp::Sub, a, b)) => {
                let is_address = |v: Value| matches!(func.def_op(v), Some(Op::Cast(CastOp::PtrToInt, _)));
                let is_place = |v: Value| {
                    let is_moved = |op: &Op| matches!(op, Op::Bin(BinOp::Add | BinOp::Sub, a, _) if is_address(*a));
                    is_address(v) || func.def_op(v).is_some_and(is_moved)
                };
                distance = is_place(*a) && is_place(*b);
            }
            _ => {}
        }
    }
    divided && distance
}
