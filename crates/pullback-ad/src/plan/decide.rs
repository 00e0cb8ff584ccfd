//! How the reverse sweep finds its way: blocks whose predecessor follows from a condition, and loops that it does
//! not enter in a plain way (`reverse/hubs.rs`).
//!
//! In the reverse sweep a block with several predecessors has to know from which one it was entered. Where the block's
//! dominator branches, and each way in starts with another of its targets, the branch's condition says so, and nothing
//! has to be recorded beside it.

use crate::schedule::Scheduled;
use pullback_ir::cfg::{Edge, edges_from, live_edges_into};
use pullback_ir::loops::LoopData;
use pullback_ir::{Block, ControlFlow, Loop, Terminator, Value};
use std::collections::HashMap;

/// How the predecessor of a block follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The condition, or what was switched on.
    pub on: Value,
    /// For each edge into the block, in the order of [`live_edges_into`]: the target of the branch it comes from.
    pub targets: Vec<usize>,
    /// The block that branches.
    pub branch: Block,
}

/// The decisions of a function.
pub(crate) fn decisions(scheduled: &Scheduled) -> HashMap<Block, Decision> {
    let live = scheduled.flow.cfg.live();
    live.filter_map(|block| Some((block, decision(scheduled, block)?))).collect()
}

fn decision(scheduled: &Scheduled, block: Block) -> Option<Decision> {
    let Scheduled { aug, flow: ControlFlow { cfg, doms, .. }, .. } = scheduled;
    let func = &aug.func;
    let edges = live_edges_into(func, cfg, block);
    if edges.len() < 2 {
        return None;
    }
    let branch = doms.idom(block)?;
    let (Terminator::Branch(on, ..) | Terminator::Switch(on, ..)) = &func.block(branch).term else { return None };
    let out = edges_from(func, branch);
    // A target that is only reached from here, and all that it dominates, is entered by one edge.
    let leads_to = |target: &Edge, edge: &Edge| {
        target == edge
            || target.to != block
                && cfg.predecessors(target.to) == [branch]
                && out.iter().filter(|e| e.to == target.to).count() == 1
                && doms.dominates(target.to, edge.from)
    };
    let targets: Vec<usize> =
        edges.iter().map(|edge| out.iter().position(|target| leads_to(target, edge))).collect::<Option<_>>()?;
    let distinct = (1..targets.len()).all(|i| !targets[..i].contains(&targets[i]));
    distinct.then_some(Decision { on: *on, targets, branch })
}

/// The loops that the reverse sweep does not enter in a plain way: all but those that are left at one block only,
/// through which every iteration goes.
pub(crate) fn not_plain(ControlFlow { cfg, doms, loops }: &ControlFlow) -> Vec<Loop> {
    let is_plain = |(id, data): &(Loop, &LoopData)| {
        let mut left = data.exits.iter().filter(|e| cfg.can_return(e.to)).map(|e| e.from);
        let Some(from) = left.next() else { return true };
        left.all(|other| other == from)
            && loops.innermost(from) == Some(*id)
            && data.latches.iter().all(|latch| doms.dominates(from, *latch))
    };
    loops.iter().filter(|l| !is_plain(l)).map(|(id, _)| id).collect()
}
