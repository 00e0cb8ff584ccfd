//! How the reverse sweep gets into loops, in a derivative that is differentiated itself.
//!
//! A loop that is left at two places is entered at two places in the reverse sweep, and what cannot be told to be a
//! loop cannot be differentiated. So the reverse sweep enters such a loop, and goes round it, through one block, its
//! *hub*, which is told where to go on:
//!
//! ```text
//! b1: …  branch v1, b2, b9     left here          reversed b9, b8, and the reversed back edge:  jump hub(0), hub(1), hub(2)
//! b2: …  branch v2, b3, b8     and here           hub(v9: i64):  switch v9, 0 → reversed b1, 1 → reversed b2, reversed b3
//! b3: …  jump b1
//! ```

use crate::reverse::Sweeps;
use pullback_ir::cfg::{Cfg, Edge};
use pullback_ir::dominators::Dominators;
use pullback_ir::loops::Loops;
use pullback_ir::{Block, BlockCall, Builder, Loop, Terminator, Type, Value};
use std::collections::BTreeMap;

/// The hub of a loop.
pub(crate) struct Hub {
    block: Block,
    /// The number of the target.
    which: Value,
    targets: Vec<BlockCall>,
}

/// The hubs of a reverse sweep.
pub(crate) type Hubs = BTreeMap<Loop, Hub>;

/// The loops that need a hub: all but those that are left at one block only, through which every iteration goes.
pub(crate) fn needs_hub(cfg: &Cfg, doms: &Dominators, loops: &Loops) -> Vec<Loop> {
    let is_plain = |(id, data): &(Loop, &pullback_ir::loops::LoopData)| {
        let mut left = data.exits.iter().filter(|e| cfg.can_return(e.to)).map(|e| e.from);
        let Some(from) = left.next() else { return true };
        left.all(|other| other == from)
            && loops.innermost(from) == Some(*id)
            && data.latches.iter().all(|latch| doms.dominates(from, *latch))
    };
    loops.iter().filter(|l| !is_plain(l)).map(|(id, _)| id).collect()
}

impl Sweeps<'_, '_> {
    /// Make the blocks of hubs.
    pub(crate) fn make_hubs(&mut self, needs_hub: &[Loop]) {
        for id in needs_hub {
            let block = self.rev().add_block();
            let which = self.rev().add_param(block, Type::I64);
            self.hubs.insert(*id, Hub { block, which, targets: Vec::new() });
        }
    }

    /// Where the reverse sweep goes on from an edge, to what comes before it: from the outermost loop that is entered
    /// inwards.
    pub(crate) fn before(&mut self, edge: Edge) -> BlockCall {
        let mut call = self.past(edge).unwrap_or_else(|| BlockCall::new(self.rev_blocks[&edge.from], vec![]));
        let (left, closed) = (self.left_by(edge), self.closed_by(edge));
        for id in left.into_iter().chain(closed) {
            let Some(hub) = self.hubs.get_mut(&id) else { continue };
            let number = hub.targets.iter().position(|target| *target == call).unwrap_or_else(|| {
                hub.targets.push(call);
                hub.targets.len() - 1
            });
            let block = hub.block;
            call = BlockCall::new(block, vec![self.rev().i64(number as i64)]);
        }
        call
    }

    /// All targets are known.
    pub(crate) fn finish_hubs(&mut self) {
        for hub in std::mem::take(&mut self.hubs).into_values() {
            let (last, rest) = hub.targets.split_last().expect("a loop with a hub is left somewhere");
            let cases = rest.iter().enumerate().map(|(i, target)| (i as u128, target.clone())).collect();
            Builder::new(self.rev(), hub.block).terminate(Terminator::Switch(hub.which, cases, last.clone()));
        }
    }
}
