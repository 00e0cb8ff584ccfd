//! Blocks whose predecessor follows from a condition.
//!
//! In the reverse sweep a block with several predecessors has to know from which one it was entered. Where the block's
//! dominator branches, and each way in starts with another of its targets, the branch's condition says so, and nothing has to
//! be recorded beside it.

use crate::plan::Shape;
use pullback_ir::cfg::{Edge, edges_from};
use pullback_ir::{Block, Function, Terminator, Value};
use std::collections::HashMap;

/// How the predecessor of a block follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The condition, or what was switched on.
    pub on: Value,
    /// For each edge into the block, in the order of `edges_into`: the target of the branch it comes from.
    pub targets: Vec<usize>,
    /// The block that branches.
    pub branch: Block,
}

/// The edges into a block by which the function may still return, in a fixed order.
pub fn edges_into(func: &Function, shape: Shape, block: Block) -> Vec<Edge> {
    let from = shape.cfg.predecessors(block).iter().filter(|p| shape.cfg.can_return(**p));
    from.flat_map(|p| edges_from(func, *p)).filter(|e| e.to == block).collect()
}

/// The decisions of a function.
pub(crate) fn decisions(func: &Function, shape: Shape) -> HashMap<Block, Decision> {
    let live = shape.cfg.reverse_postorder().iter().filter(|b| shape.cfg.can_return(**b));
    live.filter_map(|block| Some((*block, decision(func, shape, *block)?))).collect()
}

fn decision(func: &Function, shape: Shape, block: Block) -> Option<Decision> {
    let edges = edges_into(func, shape, block);
    if edges.len() < 2 {
        return None;
    }
    let branch = shape.doms.idom(block)?;
    let (Terminator::Branch(on, ..) | Terminator::Switch(on, ..)) = &func.block(branch).term else { return None };
    let out = edges_from(func, branch);
    // A target that is only reached from here, and all that it dominates, is entered by one edge.
    let leads_to = |target: &Edge, edge: &Edge| {
        target == edge
            || target.to != block
                && shape.cfg.predecessors(target.to) == [branch]
                && out.iter().filter(|e| e.to == target.to).count() == 1
                && shape.doms.dominates(target.to, edge.from)
    };
    let targets: Vec<usize> =
        edges.iter().map(|edge| out.iter().position(|target| leads_to(target, edge))).collect::<Option<_>>()?;
    let distinct = (1..targets.len()).all(|i| !targets[..i].contains(&targets[i]));
    distinct.then_some(Decision { on: *on, targets, branch })
}
