//! The control-flow graph of a function, as tables.
//!
//! Given a function with a body, [`Cfg::new`] hands on the order, the edges and the reachability that the other
//! analyses work with. It is a snapshot: after an edit of terminators it is made anew. Unreachable blocks have no place
//! in the order, and edges out of them do not count.

use crate::entities::Block;
use crate::function::Function;
use crate::inst::Terminator;
use crate::table::Table;
use std::collections::HashSet;

/// One edge of the graph: a jump target of a terminator. Two edges may join the same two blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// The block that jumps.
    pub from: Block,
    /// Which of its targets, in the order of [`Terminator::targets`].
    pub index: usize,
    /// The block jumped to.
    pub to: Block,
}

/// The control-flow graph of one function.
#[derive(Clone, Debug)]
pub struct Cfg {
    order: Vec<Block>,
    position: Table<Block, Option<u32>>,
    predecessors: Table<Block, Vec<Block>>,
    successors: Table<Block, Vec<Block>>,
    returns: Table<Block, bool>,
}

impl Cfg {
    /// The graph of `func` as it is now; empty for a declaration.
    pub fn new(func: &Function) -> Self {
        let bound = func.block_bound();
        let mut cfg = Cfg {
            order: Vec::new(),
            position: Table::new(bound, None),
            predecessors: Table::new(bound, Vec::new()),
            successors: Table::new(bound, Vec::new()),
            returns: Table::new(bound, false),
        };
        if func.is_declaration() {
            return cfg;
        }
        cfg.order = reverse_postorder(func);
        for (i, block) in cfg.order.iter().enumerate() {
            cfg.position[*block] = Some(i as u32);
        }
        for &block in &cfg.order {
            for target in func.block(block).term.targets() {
                if !cfg.successors[block].contains(&target.block) {
                    cfg.successors[block].push(target.block);
                    cfg.predecessors[target.block].push(block);
                }
            }
        }
        cfg.mark_returns(func);
        cfg
    }

    fn mark_returns(&mut self, func: &Function) {
        let is_return = |b: &Block| matches!(func.block(*b).term, Terminator::Return(_));
        let mut work: Vec<Block> = self.order.iter().copied().filter(is_return).collect();
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut self.returns[block], true) {
                work.extend_from_slice(&self.predecessors[block]);
            }
        }
    }

    /// The reachable blocks in reverse postorder: the entry first, and each block before those it leads to, back edges
    /// apart.
    pub fn reverse_postorder(&self) -> &[Block] {
        &self.order
    }

    /// A bound for tables indexed by block.
    pub fn block_bound(&self) -> usize {
        self.position.len()
    }

    /// The place of a block in reverse postorder; `None` if it is unreachable.
    pub fn position(&self, block: Block) -> Option<usize> {
        self.position[block].map(|p| p as usize)
    }

    /// Whether the entry leads to `block`.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.position[block].is_some()
    }

    /// The reachable blocks that jump to `block`, each once.
    pub fn predecessors(&self, block: Block) -> &[Block] {
        &self.predecessors[block]
    }

    /// The blocks that `block` jumps to, each once.
    pub fn successors(&self, block: Block) -> &[Block] {
        &self.successors[block]
    }

    /// Whether `block` is reachable and may lead to a `return`; the others end in a panic or never end.
    pub fn can_return(&self, block: Block) -> bool {
        self.returns[block]
    }

    /// The blocks that [can return](Self::can_return), in reverse postorder.
    pub fn live(&self) -> impl Iterator<Item = Block> + '_ {
        self.order.iter().copied().filter(|block| self.returns[*block])
    }

    /// The blocks that may run after `block`; itself among them only if it is in a loop.
    pub fn reachable_from(&self, block: Block) -> HashSet<Block> {
        let (mut seen, mut work) = (HashSet::new(), self.successors(block).to_vec());
        while let Some(next) = work.pop() {
            if seen.insert(next) {
                work.extend_from_slice(self.successors(next));
            }
        }
        seen
    }
}

/// The edges into a block by which the function may still return, in a fixed order.
pub fn live_edges_into(func: &Function, cfg: &Cfg, block: Block) -> Vec<Edge> {
    let from = cfg.predecessors(block).iter().filter(|p| cfg.can_return(**p));
    from.flat_map(|p| edges_from(func, *p)).filter(|e| e.to == block).collect()
}

/// The edges out of `block`, in the order of the terminator's targets.
pub fn edges_from(func: &Function, block: Block) -> Vec<Edge> {
    let targets = func.block(block).term.targets();
    targets.iter().enumerate().map(|(index, t)| Edge { from: block, index, to: t.block }).collect()
}

fn reverse_postorder(func: &Function) -> Vec<Block> {
    let successors = |b: Block| func.block(b).term.targets().iter().map(|t| t.block).collect::<Vec<_>>();
    let mut seen = Table::new(func.block_bound(), false);
    let mut order = Vec::new();
    let mut stack = vec![(func.entry(), successors(func.entry()))];
    seen[func.entry()] = true;
    while let Some((block, rest)) = stack.last_mut() {
        // Taking the last target first leaves the first target, the likely one, earliest in the reversed order.
        match rest.pop() {
            Some(next) if seen[next] => {}
            Some(next) => {
                seen[next] = true;
                let targets = successors(next);
                stack.push((next, targets));
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::builder::Builder;
    use crate::inst::BlockCall;
    use crate::types::Type;

    /// A function whose block `i` leads to the blocks of `edges[i]`: none is a return, one a jump, two a branch.
    pub(crate) fn graph(edges: &[&[usize]]) -> Function {
        let mut func = Function::new("g", vec![], None);
        for _ in edges {
            func.add_block();
        }
        let call = |i: usize| BlockCall::new(Block::from_index(i), vec![]);
        for (i, targets) in edges.iter().enumerate() {
            let cond = func.int(Type::BOOL, 1);
            let mut b = Builder::new(&mut func, Block::from_index(i));
            match targets {
                [] => b.ret(None),
                [t] => b.jump(Block::from_index(*t), vec![]),
                [t, e] => b.branch(cond, call(*t), call(*e)),
                [cases @ .., default] => {
                    let cases = cases.iter().enumerate().map(|(k, t)| (k as u128, call(*t))).collect();
                    b.terminate(Terminator::Switch(cond, cases, call(*default)));
                }
            }
        }
        func
    }

    pub(crate) fn blocks(indices: &[usize]) -> Vec<Block> {
        indices.iter().map(|i| Block::from_index(*i)).collect()
    }

    #[test]
    fn a_diamond_is_ordered_then_before_else() {
        let cfg = Cfg::new(&graph(&[&[1, 2], &[3], &[3], &[]]));
        assert_eq!(cfg.reverse_postorder(), blocks(&[0, 1, 2, 3]));
        assert_eq!(cfg.predecessors(Block::from_index(3)), blocks(&[1, 2]));
    }

    #[test]
    fn unreachable_blocks_do_not_count() {
        let cfg = Cfg::new(&graph(&[&[2], &[2], &[]]));
        assert!(!cfg.is_reachable(Block::from_index(1)));
        assert_eq!(cfg.position(Block::from_index(1)), None);
        assert_eq!(cfg.predecessors(Block::from_index(2)), blocks(&[0]));
        assert!(!cfg.can_return(Block::from_index(1)));
    }

    #[test]
    fn a_double_edge_is_one_predecessor() {
        let cfg = Cfg::new(&graph(&[&[1, 1], &[]]));
        assert_eq!(cfg.predecessors(Block::from_index(1)), blocks(&[0]));
        assert_eq!(edges_from(&graph(&[&[1, 1], &[]]), Block::from_index(0)).len(), 2);
    }

    #[test]
    fn a_block_is_reachable_from_itself_in_a_loop_only() {
        let cfg = Cfg::new(&graph(&[&[1], &[1, 2], &[]]));
        let from = |i| cfg.reachable_from(Block::from_index(i));
        assert_eq!(from(0), blocks(&[1, 2]).into_iter().collect());
        assert_eq!(from(1), blocks(&[1, 2]).into_iter().collect());
        assert_eq!(from(2), HashSet::new());
    }

    #[test]
    fn blocks_that_only_panic_cannot_return() {
        let mut func = graph(&[&[1, 2], &[], &[3], &[3]]);
        func.block_mut(Block::from_index(3)).term = Terminator::Unreachable;
        let cfg = Cfg::new(&func);
        let returning: Vec<bool> = func.blocks().map(|b| cfg.can_return(b)).collect();
        assert_eq!(returning, [true, true, false, false]);
    }
}
