//! Natural loops and how they nest.
//!
//! Given the [`Cfg`] and the [`Dominators`], [`Loops::new`] finds the back edges, those to a block that dominates where
//! they come from, and for each block they lead to, the loop's *header*, the blocks of the loop. Loops are handed on
//! outer before inner. Where a cycle can be entered at two places there is no header, and the answer is
//! [`Irreducible`].
//!
//! ```text
//! b0:                       the loop: header b1, blocks b1 b2, latch b2, exit edge b1 → b3
//!   jump b1(0:i64)
//! b1(v1: i64):
//!   v2 = icmp ult v1, v0
//!   branch v2, b2, b3
//! b2:
//!   v3 = add v1, 1:i64
//!   jump b1(v3)
//! b3:
//!   return
//! ```

use crate::cfg::{Cfg, Edge, edges_from};
use crate::dominators::Dominators;
use crate::entities::{Block, Loop};
use crate::function::Function;
use crate::table::Table;

/// A cycle that can be entered at two places: the edge leads back in the order of the blocks, to a block that does not
/// dominate where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("irreducible control flow: {from} jumps back to {to}, and the cycle can be entered elsewhere")]
pub struct Irreducible {
    /// The block that jumps back.
    pub from: Block,
    /// The block jumped to.
    pub to: Block,
}

/// A natural loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopData {
    /// The only block through which the loop is entered.
    pub header: Block,
    /// All blocks of the loop and of the loops inside, in reverse postorder: the header first.
    pub blocks: Vec<Block>,
    /// The blocks that jump back to the header.
    pub latches: Vec<Block>,
    /// The smallest loop around this one.
    pub parent: Option<Loop>,
    /// How many loops there are around a block of this loop, this one included: 1 for an outermost loop.
    pub depth: usize,
    /// The edges out of the loop, in the order of `blocks`.
    pub exits: Vec<Edge>,
}

/// The loops of one function.
#[derive(Clone, Debug)]
pub struct Loops {
    loops: Vec<LoopData>,
    innermost: Table<Block, Option<Loop>>,
}

/// The order, the dominators and the loops of one function.
#[derive(Clone, Debug)]
pub struct ControlFlow {
    /// Its blocks.
    pub cfg: Cfg,
    /// Which comes before which.
    pub doms: Dominators,
    /// Its loops.
    pub loops: Loops,
}

impl ControlFlow {
    /// Those of `func`, or an edge that shows that its control flow is irreducible.
    pub fn new(func: &Function) -> Result<Self, Irreducible> {
        let cfg = Cfg::new(func);
        let doms = Dominators::new(&cfg);
        let loops = Loops::new(func, &cfg, &doms)?;
        Ok(ControlFlow { cfg, doms, loops })
    }
}

impl Loops {
    /// The loops of `func`, or an edge that shows that its control flow is irreducible.
    pub fn new(func: &Function, cfg: &Cfg, doms: &Dominators) -> Result<Self, Irreducible> {
        let mut found = Loops { loops: Vec::new(), innermost: Table::new(func.block_bound(), None) };
        for &header in cfg.reverse_postorder() {
            let latches = latches_of(header, cfg, doms)?;
            if !latches.is_empty() {
                found.add(func, cfg, header, latches);
            }
        }
        Ok(found)
    }

    /// Headers come in reverse postorder, so the loops around this one are there already, and those inside are not.
    fn add(&mut self, func: &Function, cfg: &Cfg, header: Block, latches: Vec<Block>) {
        let id = Loop::from_index(self.loops.len());
        let parent = self.innermost[header];
        let depth = parent.map_or(0, |p| self.get(p).depth) + 1;
        self.innermost[header] = Some(id);
        let mut blocks = vec![header];
        let mut work = latches.clone();
        while let Some(block) = work.pop() {
            if self.innermost[block].replace(id) != Some(id) {
                blocks.push(block);
                work.extend_from_slice(cfg.predecessors(block));
            }
        }
        blocks.sort_by_key(|b| cfg.position(*b));
        let leaves = |edge: &Edge| self.innermost[edge.to] != Some(id);
        let exits = blocks.iter().flat_map(|b| edges_from(func, *b)).filter(leaves).collect();
        self.loops.push(LoopData { header, blocks, latches, parent, depth, exits });
    }

    /// All loops, outer before inner.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Loop, &LoopData)> {
        self.loops.iter().enumerate().map(|(i, l)| (Loop::from_index(i), l))
    }

    /// How many loops there are.
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// A loop.
    pub fn get(&self, id: Loop) -> &LoopData {
        &self.loops[id.index()]
    }

    /// The smallest loop that `block` is in.
    pub fn innermost(&self, block: Block) -> Option<Loop> {
        self.innermost[block]
    }

    /// How many loops `block` is in.
    pub fn depth(&self, block: Block) -> usize {
        self.innermost(block).map_or(0, |l| self.get(l).depth)
    }

    /// Whether `block` is in this loop, or in one inside it.
    pub fn contains(&self, id: Loop, block: Block) -> bool {
        self.around(block).any(|l| l == id)
    }

    /// The loops that `block` is in, from the smallest outwards.
    pub fn around(&self, block: Block) -> impl Iterator<Item = Loop> + '_ {
        std::iter::successors(self.innermost(block), |l| self.get(*l).parent)
    }

    /// The loop whose header `block` is.
    pub fn headed_by(&self, block: Block) -> Option<Loop> {
        self.innermost(block).filter(|l| self.get(*l).header == block)
    }
}

fn latches_of(header: Block, cfg: &Cfg, doms: &Dominators) -> Result<Vec<Block>, Irreducible> {
    let back = |from: &Block| cfg.position(*from) >= cfg.position(header);
    cfg.predecessors(header)
        .iter()
        .copied()
        .filter(back)
        .map(|from| if doms.dominates(header, from) { Ok(from) } else { Err(Irreducible { from, to: header }) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::tests::{blocks, graph};

    fn loops(edges: &[&[usize]]) -> Result<Loops, Irreducible> {
        let func = graph(edges);
        let cfg = Cfg::new(&func);
        Loops::new(&func, &cfg, &Dominators::new(&cfg))
    }

    #[test]
    fn straight_code_has_none() {
        assert!(loops(&[&[1, 2], &[3], &[3], &[]]).unwrap().is_empty());
    }

    #[test]
    fn a_while_loop() {
        let found = loops(&[&[1], &[2, 3], &[1], &[]]).unwrap();
        let (_, l) = found.iter().next().unwrap();
        assert_eq!((l.header, l.depth, l.parent), (Block::from_index(1), 1, None));
        assert_eq!((&l.blocks, &l.latches), (&blocks(&[1, 2]), &blocks(&[2])));
        let exit = Edge { from: Block::from_index(1), index: 1, to: Block::from_index(3) };
        assert_eq!(l.exits, [exit]);
    }

    #[test]
    fn a_block_that_jumps_to_itself() {
        let found = loops(&[&[1], &[1, 2], &[]]).unwrap();
        assert_eq!(found.get(Loop::from_index(0)).blocks, blocks(&[1]));
        assert_eq!(found.headed_by(Block::from_index(1)), Some(Loop::from_index(0)));
    }

    #[test]
    fn loops_nest() {
        // 1 { 2 { 3 } 4 } 5, with an early exit from 3 to 6.
        let found = loops(&[&[1], &[2, 5], &[3, 4], &[2, 6], &[1], &[6], &[]]).unwrap();
        assert_eq!(found.len(), 2);
        let b = Block::from_index;
        let inner = found.innermost(b(3)).unwrap();
        let outer = found.get(inner).parent.unwrap();
        assert_eq!((found.depth(b(3)), found.depth(b(4)), found.depth(b(5))), (2, 1, 0));
        assert!(found.contains(outer, b(3)) && found.contains(inner, b(3)) && !found.contains(inner, b(4)));
        assert_eq!(found.get(inner).exits.iter().map(|e| e.to.index()).collect::<Vec<_>>(), [4, 6]);
        assert_eq!(found.get(outer).exits.iter().map(|e| e.to.index()).collect::<Vec<_>>(), [5, 6]);
    }

    #[test]
    fn two_latches_are_one_loop() {
        let found = loops(&[&[1], &[2, 4], &[1, 3], &[1], &[]]).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found.get(Loop::from_index(0)).latches.len(), 2);
    }

    #[test]
    fn a_cycle_with_two_entries_is_an_error() {
        let error = loops(&[&[1, 2], &[2, 3], &[1], &[]]).unwrap_err();
        assert!(error.to_string().starts_with("irreducible control flow"), "{error}");
    }
}
