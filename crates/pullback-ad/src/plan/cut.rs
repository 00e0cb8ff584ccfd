//! What is to be recorded: the cheapest choice, as a minimum cut.
//!
//! Each value has two nodes, *made* and *there*. Keeping it cuts the edge between them:
//!
//! ```text
//!            work                keeping
//!   source ───────▶ made(v) ───────────────▶ there(v) ───────▶ sink,    if v is needed
//!                      ▲
//!   there(operand) ────┘ ∞,    for each operand;    work is ∞ if v cannot be recomputed
//! ```
//! On the sink's side, `there(v)` means that the reverse sweep has the value and `made(v)` that it recomputes it. That
//! pays for the work, and needs the operands there. So the cost of a cut is all that is kept and all that is
//! recomputed, and a value that many others are made from is paid for once.

use crate::plan::max_flow::{Network, Node, UNLIMITED};
use crate::plan::{Key, Recipe};
use std::collections::{BTreeSet, HashMap};

/// What is known of a value's level and size.
pub struct Weight {
    /// How many loops it is in.
    pub depth: usize,
    /// How many bytes there are to keep; `None` if it cannot be kept.
    pub bytes: Option<u64>,
}

/// How often a loop runs, for want of better knowledge.
const TRIPS_LOG2: usize = 4;

/// Loops deeper than this count as this deep, so that no cost overflows.
const MOST_DEPTH: usize = 8;

impl Weight {
    fn times(&self) -> u64 {
        1 << (TRIPS_LOG2 * self.depth.min(MOST_DEPTH))
    }

    /// What keeping costs: to write it and read it back, and the room in the cache. An `f64` costs as much as twelve
    /// additions, a flag as five.
    fn keeping(&self) -> u64 {
        self.bytes.map_or(UNLIMITED, |bytes| (8 + 2 * bytes) * self.times())
    }

    /// What work costs, in the same unit: half an addition.
    fn work(&self, effort: u64) -> u64 {
        2 * effort * self.times()
    }
}

/// The nodes of a value.
struct Nodes {
    made: Node,
    there: Node,
}

/// The values to keep so that everything needed can be got.
pub(crate) fn choose(recipes: &HashMap<Key, Recipe>, needed: &[Key], weight: impl Fn(&Key) -> Weight) -> BTreeSet<Key> {
    let mut network = Network::new();
    // In the order of the keys: the same program has the same plan.
    let mut undecided: Vec<&Key> =
        recipes.iter().filter(|(_, r)| !matches!(r, Recipe::Given(_))).map(|(k, _)| k).collect();
    undecided.sort_unstable();
    let nodes: HashMap<Key, Nodes> =
        undecided.iter().map(|key| (**key, Nodes { made: network.node(), there: network.node() })).collect();
    for key in &undecided {
        let (Nodes { made, there }, weight) = (&nodes[*key], weight(key));
        network.edge(*made, *there, weight.keeping());
        match &recipes[*key] {
            Recipe::Make { from, effort, .. } => {
                network.edge(Network::SOURCE, *made, weight.work(*effort));
                for operand in from.iter().filter_map(|o| nodes.get(o)) {
                    network.edge(operand.there, *made, UNLIMITED);
                }
            }
            _ => network.edge(Network::SOURCE, *made, UNLIMITED),
        }
    }
    for needed in needed.iter().filter_map(|key| nodes.get(key)) {
        network.edge(needed.there, Network::SINK, UNLIMITED);
    }
    let cut = network.min_cut();
    let kept = |key: &Key| cut.is_on_source_side(nodes[key].made) && !cut.is_on_source_side(nodes[key].there);
    undecided.into_iter().copied().filter(kept).collect()
}
