//! How the reverse sweep gets into loops, in a derivative that is differentiated itself.
//!
//! A loop that is left at two places is entered at two places in the reverse sweep, and what cannot be told to be a
//! loop cannot be differentiated. So the reverse sweep enters such a loop, and goes round it, through one block, its
//! *hub*, which is told where to go on:
//!
//! ```text
//! b1: …  branch v1, b2, b9     left here       reversed b9 and b8:      jump hub(0), jump hub(1)
//! b2: …  branch v2, b3, b8     and here        reversed back edge:      jump hub(2)
//! b3: …  jump b1                               hub(v9: i64):  switch v9, 0 → reversed b1, 1 → reversed b2, reversed b3
//! ```

use crate::reverse::{Sweeps, dispatch};
use pullback_ir::cfg::Edge;
use pullback_ir::{Block, BlockCall, Builder, Loop, Type, Value};
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

impl Sweeps<'_, '_> {
    /// Make the blocks of hubs.
    pub(crate) fn make_hubs(&mut self, live_loops: &[Loop]) {
        let not_plain = std::mem::take(&mut self.plan.not_plain);
        for id in live_loops.iter().filter(|id| not_plain.contains(id)) {
            let block = self.rev().add_block();
            let which = self.rev().add_param(block, Type::I64);
            self.hubs.insert(*id, Hub { block, which, targets: Vec::new() });
        }
    }

    /// Where the reverse sweep goes on from an edge, to what comes before it: from the outermost loop that is entered
    /// inwards.
    pub(crate) fn before(&mut self, edge: Edge) -> BlockCall {
        let mut call = self.past(edge).unwrap_or_else(|| BlockCall::new(self.rev.blocks[&edge.from], vec![]));
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
            dispatch(&mut Builder::new(self.rev(), hub.block), hub.which, hub.targets);
        }
    }
}
