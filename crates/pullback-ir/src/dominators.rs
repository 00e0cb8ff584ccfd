//! The dominator tree.
//!
//! Given the [`Cfg`], [`Dominators::new`] finds for each reachable block its immediate dominator by the algorithm of
//! Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001), and numbers the tree so that
//! [`Dominators::dominates`] is two comparisons. An unreachable block is dominated by nothing and dominates nothing.

use crate::cfg::Cfg;
use crate::entities::Block;
use crate::table::Table;

/// The dominator tree of one function.
#[derive(Clone, Debug)]
pub struct Dominators {
    idom: Table<Block, Option<Block>>,
    children: Table<Block, Vec<Block>>,
    /// When a walk of the tree enters and leaves a block; `(0, 0)` for unreachable ones.
    span: Table<Block, (u32, u32)>,
}

impl Dominators {
    /// The dominator tree of the function that `cfg` was made from.
    pub fn new(cfg: &Cfg) -> Self {
        let block_bound = cfg.block_bound();
        let mut tree = Dominators {
            idom: Table::new(block_bound, None),
            children: Table::new(block_bound, Vec::new()),
            span: Table::new(block_bound, (0, 0)),
        };
        let order = cfg.reverse_postorder();
        let Some((&entry, rest)) = order.split_first() else { return tree };
        let idoms = immediate_dominators(cfg);
        for &block in rest {
            let idom = order[idoms[cfg.position(block).expect("a block in the order has a position")]];
            tree.idom[block] = Some(idom);
            tree.children[idom].push(block);
        }
        tree.number(entry);
        tree
    }

    fn number(&mut self, entry: Block) {
        let mut clock = 1;
        self.span[entry].0 = clock;
        let mut stack = vec![(entry, 0)];
        while let Some((block, next)) = stack.last_mut() {
            clock += 1;
            if let Some(&child) = self.children[*block].get(*next) {
                *next += 1;
                self.span[child].0 = clock;
                stack.push((child, 0));
            } else {
                self.span[*block].1 = clock;
                stack.pop();
            }
        }
    }

    /// The immediate dominator; `None` for the entry and for unreachable blocks.
    pub fn idom(&self, block: Block) -> Option<Block> {
        self.idom[block]
    }

    /// The blocks whose immediate dominator is `block`, in reverse postorder.
    pub fn children(&self, block: Block) -> &[Block] {
        &self.children[block]
    }

    /// Whether every way from the entry to `b` passes `a`; a reachable block dominates itself.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let ((a_in, a_out), (b_in, b_out)) = (self.span[a], self.span[b]);
        a_in != 0 && b_in != 0 && a_in <= b_in && b_out <= a_out
    }

    /// The nearest block that dominates both; `None` if one of them is unreachable.
    pub fn common(&self, a: Block, b: Block) -> Option<Block> {
        let mut at = a;
        while !self.dominates(at, b) {
            at = self.idom(at)?;
        }
        Some(at)
    }
}

/// Immediate dominators as positions in reverse postorder; that of the entry is itself.
fn immediate_dominators(cfg: &Cfg) -> Vec<usize> {
    let order = cfg.reverse_postorder();
    let predecessors: Vec<Vec<usize>> =
        order.iter().map(|b| cfg.predecessors(*b).iter().filter_map(|p| cfg.position(*p)).collect()).collect();
    let mut idom: Vec<Option<usize>> = vec![None; order.len()];
    idom[0] = Some(0);
    let mut changed = true;
    while changed {
        changed = false;
        for at in 1..order.len() {
            let mut new: Option<usize> = None;
            for &p in predecessors[at].iter().filter(|p| idom[**p].is_some()) {
                new = Some(new.map_or(p, |n| intersect(&idom, n, p)));
            }
            if idom[at] != new {
                idom[at] = new;
                changed = true;
            }
        }
    }
    idom.into_iter().map(|d| d.expect("a block in the order has a processed predecessor")).collect()
}

fn intersect(idom: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    let up = |at: usize| idom[at].expect("blocks on the way up are processed");
    while a != b {
        while a > b {
            a = up(a);
        }
        while b > a {
            b = up(b);
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::tests::graph;

    fn tree(edges: &[&[usize]]) -> (Cfg, Dominators) {
        let func = graph(edges);
        let cfg = Cfg::new(&func);
        let doms = Dominators::new(&cfg);
        (cfg, doms)
    }

    fn idoms(edges: &[&[usize]]) -> Vec<Option<usize>> {
        let (_, doms) = tree(edges);
        (0..edges.len()).map(|i| doms.idom(Block::from_index(i)).map(Block::index)).collect()
    }

    #[test]
    fn a_diamond_meets_below_its_top() {
        assert_eq!(idoms(&[&[1, 2], &[3], &[3], &[]]), [None, Some(0), Some(0), Some(0)]);
    }

    #[test]
    fn an_irreducible_graph_has_dominators_too() {
        // 3 and 4 are entered from both sides and jump to each other.
        let edges: &[&[usize]] = &[&[1, 2], &[3], &[4], &[4], &[3, 5], &[]];
        assert_eq!(idoms(edges), [None, Some(0), Some(0), Some(0), Some(0), Some(4)]);
    }

    #[test]
    fn unreachable_blocks_dominate_nothing() {
        let (_, doms) = tree(&[&[2], &[2], &[]]);
        let b = Block::from_index;
        assert_eq!(doms.idom(b(2)), Some(b(0)));
        assert!(!doms.dominates(b(1), b(2)) && !doms.dominates(b(1), b(1)) && !doms.dominates(b(0), b(1)));
        assert_eq!(doms.common(b(1), b(2)), None);
    }

    #[test]
    fn dominance_agrees_with_removing_the_block() {
        // `a` dominates `b` exactly if `b` cannot be reached once `a` is taken out. Checked on many small graphs.
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = |n: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % n) as usize
        };
        for _ in 0..300 {
            let edges: Vec<Vec<usize>> = (0..8).map(|_| (0..random(3)).map(|_| 1 + random(7)).collect()).collect();
            let slices: Vec<&[usize]> = edges.iter().map(Vec::as_slice).collect();
            let (cfg, doms) = tree(&slices);
            for a in 0..8 {
                let without = reachable(&edges, a);
                for b in (0..8).map(Block::from_index) {
                    let expected = cfg.is_reachable(b) && cfg.is_reachable(Block::from_index(a)) && !without[b.index()];
                    assert_eq!(doms.dominates(Block::from_index(a), b), expected, "{a} {b} {edges:?}");
                }
            }
        }
    }

    fn reachable(edges: &[Vec<usize>], without: usize) -> Vec<bool> {
        let mut seen = vec![false; edges.len()];
        let mut work = vec![0];
        while let Some(at) = work.pop() {
            if at != without && !std::mem::replace(&mut seen[at], true) {
                work.extend_from_slice(&edges[at]);
            }
        }
        seen
    }
}
