//! The smallest cut of a network, by Dinic's algorithm.
//!
//! Given nodes and edges with capacities, [`Network::min_cut`] finds the cheapest set of edges without which nothing
//! flows from the source to the sink, and hands back on which side of it each node lies. Of several such cuts it is the
//! one nearest to the sink.

/// A node of a [`Network`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node(u32);

/// What no cut can pay.
pub const UNLIMITED: u64 = 1 << 60;

/// Edges come in pairs: an edge, and at the next number its reverse, whose capacity is what flows.
struct Edge {
    to: u32,
    capacity: u64,
}

/// A network with a source and a sink.
pub struct Network {
    edges: Vec<Edge>,
    /// The numbers of the edges out of each node.
    out: Vec<Vec<u32>>,
}

impl Network {
    /// Where everything comes from.
    pub const SOURCE: Node = Node(0);
    /// Where everything goes.
    pub const SINK: Node = Node(1);

    /// A network with no other nodes than source and sink.
    pub fn new() -> Network {
        Network { edges: Vec::new(), out: vec![Vec::new(), Vec::new()] }
    }

    /// A new node.
    pub fn node(&mut self) -> Node {
        self.out.push(Vec::new());
        Node(self.out.len() as u32 - 1)
    }

    /// A new edge.
    pub fn edge(&mut self, from: Node, to: Node, capacity: u64) {
        let number = self.edges.len() as u32;
        self.out[from.0 as usize].push(number);
        self.out[to.0 as usize].push(number + 1);
        self.edges.push(Edge { to: to.0, capacity: capacity.min(UNLIMITED) });
        self.edges.push(Edge { to: from.0, capacity: 0 });
    }

    /// Cut the network.
    pub fn min_cut(mut self) -> Cut {
        loop {
            let distance = self.distances_to_sink();
            if distance[Self::SOURCE.0 as usize] == u32::MAX {
                return Cut { on_source_side: distance.into_iter().map(|d| d == u32::MAX).collect() };
            }
            self.block(&distance);
        }
    }

    /// How many edges with room there are from each node to the sink; `u32::MAX`: there is no way.
    fn distances_to_sink(&self) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.out.len()];
        distance[Self::SINK.0 as usize] = 0;
        let mut layer = vec![Self::SINK.0];
        while !layer.is_empty() {
            let mut next = Vec::new();
            for node in layer {
                for number in &self.out[node as usize] {
                    let from = self.edges[*number as usize].to;
                    let room = self.edges[(number ^ 1) as usize].capacity;
                    if room > 0 && distance[from as usize] == u32::MAX {
                        distance[from as usize] = distance[node as usize] + 1;
                        next.push(from);
                    }
                }
            }
            layer = next;
        }
        distance
    }

    /// Send flow along shortest ways until none is left.
    fn block(&mut self, distance: &[u32]) {
        // For each node the first edge that may still lead on.
        let mut first = vec![0; self.out.len()];
        let mut way: Vec<u32> = Vec::new();
        loop {
            let at = way.last().map_or(Self::SOURCE.0, |n| self.edges[*n as usize].to) as usize;
            if at == Self::SINK.0 as usize {
                let amount = way.iter().map(|n| self.edges[*n as usize].capacity).min().unwrap_or(0);
                for number in &way {
                    self.edges[*number as usize].capacity -= amount;
                    self.edges[(number ^ 1) as usize].capacity += amount;
                }
                // Back to where the first edge is full.
                let full = way.iter().position(|n| self.edges[*n as usize].capacity == 0).unwrap_or(0);
                way.truncate(full);
                continue;
            }
            let leads_on = |number: &u32| {
                let edge = &self.edges[*number as usize];
                edge.capacity > 0
                    && distance[edge.to as usize] != u32::MAX
                    && distance[edge.to as usize] + 1 == distance[at]
            };
            match self.out[at][first[at]..].iter().position(leads_on) {
                Some(skipped) => {
                    first[at] += skipped;
                    way.push(self.out[at][first[at]]);
                }
                None => {
                    first[at] = self.out[at].len();
                    let Some(back) = way.pop() else { return };
                    let from = self.edges[(back ^ 1) as usize].to as usize;
                    first[from] += 1;
                }
            }
        }
    }
}

/// A smallest cut.
pub struct Cut {
    on_source_side: Vec<bool>,
}

impl Cut {
    /// On which side a node lies.
    pub fn is_on_source_side(&self, node: Node) -> bool {
        self.on_source_side[node.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes `2..` and edges by number.
    fn network(edges: &[(u32, u32, u64)]) -> Network {
        let mut network = Network::new();
        for (from, to, capacity) in edges {
            while network.out.len() <= *from.max(to) as usize {
                network.node();
            }
            network.edge(Node(*from), Node(*to), *capacity);
        }
        network
    }

    /// What a cut costs.
    fn cost(edges: &[(u32, u32, u64)], cut: &Cut) -> u64 {
        let sides = |n: u32| cut.is_on_source_side(Node(n));
        assert!(sides(0) && !sides(1));
        edges.iter().filter(|(a, b, _)| sides(*a) && !sides(*b)).map(|(.., c)| c).sum()
    }

    /// The cheapest cut, by trying all.
    fn by_force(edges: &[(u32, u32, u64)], nodes: u32) -> u64 {
        let sides = 0..1u32 << (nodes - 2);
        // Bit `n` is set where node `n` is on the sink's side.
        let cost = |sides: u32| {
            let sink_side = |n: u32| n == 1 || n > 1 && sides >> (n - 2) & 1 == 1;
            edges.iter().filter(|(a, b, _)| !sink_side(*a) && sink_side(*b)).map(|(.., c)| c).sum::<u64>()
        };
        sides.map(cost).min().unwrap()
    }

    #[test]
    fn the_cheapest_edge_of_a_chain_is_cut() {
        let cut = network(&[(0, 2, 5), (2, 3, 2), (3, 1, 4)]).min_cut();
        assert!(cut.is_on_source_side(Node(2)) && !cut.is_on_source_side(Node(3)));
    }

    #[test]
    fn of_two_equal_cuts_the_one_nearest_to_the_sink() {
        let cut = network(&[(0, 2, 3), (2, 3, 3), (3, 1, UNLIMITED)]).min_cut();
        assert!(cut.is_on_source_side(Node(2)) && !cut.is_on_source_side(Node(3)));
    }

    #[test]
    fn one_value_that_many_are_made_from() {
        // Many at 3 each, all from one at 5.
        let mut edges = vec![(0, 2, UNLIMITED), (2, 3, 5)];
        for k in 0..10 {
            edges.extend([(3, 4 + k, UNLIMITED), (4 + k, 1, 3)]);
        }
        let cut = network(&edges).min_cut();
        assert_eq!(cost(&edges, &cut), 5);
        assert!((0..10).all(|k| !cut.is_on_source_side(Node(4 + k))));
    }

    #[test]
    fn nothing_to_cut() {
        let cut = network(&[(0, 2, 1), (3, 1, 1)]).min_cut();
        assert!(cut.is_on_source_side(Node(2)) && !cut.is_on_source_side(Node(3)));
    }

    #[test]
    fn as_cheap_as_any_on_random_networks() {
        let mut state = 7u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..300 {
            let nodes = 3 + below(6) as u32;
            let mut edges = vec![(0, nodes - 1, 1), (nodes - 1, 1, 1)];
            for _ in 0..below(20) {
                edges.push((below(nodes.into()) as u32, below(nodes.into()) as u32, below(9)));
            }
            assert_eq!(cost(&edges, &network(&edges).min_cut()), by_force(&edges, nodes), "{edges:?}");
        }
    }

    #[test]
    fn a_long_chain_of_sums_takes_no_time() {
        // Twenty thousand values, each needed, each made from the one before: the first is kept.
        let mut network = Network::new();
        let mut before = Network::SOURCE;
        let mut nodes = Vec::new();
        for _ in 0..20_000 {
            let (made, there) = (network.node(), network.node());
            network.edge(before, made, UNLIMITED);
            network.edge(Network::SOURCE, made, 2);
            network.edge(made, there, 24);
            network.edge(there, Network::SINK, UNLIMITED);
            nodes.push((made, there));
            before = there;
        }
        let cut = network.min_cut();
        let kept = nodes.iter().filter(|(made, there)| cut.is_on_source_side(*made) && !cut.is_on_source_side(*there));
        assert_eq!(kept.count(), 1);
    }
}
