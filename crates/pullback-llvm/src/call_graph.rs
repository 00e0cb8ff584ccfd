//! Who calls whom in a module, and how large functions become where they are inlined.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// The functions of a module that have bodies, with their calls by name.
pub(crate) struct CallGraph<N> {
    functions: Vec<N>,
    sizes: HashMap<N, u64>,
    calls: HashMap<N, Vec<N>>,
}

impl<N: Copy + Eq + Hash> CallGraph<N> {
    /// The graph of these functions: each with its number of instructions, and with what each of its calls calls.
    pub fn new(functions: impl IntoIterator<Item = (N, u64, Vec<N>)>) -> Self {
        let mut graph = CallGraph { functions: Vec::new(), sizes: HashMap::new(), calls: HashMap::new() };
        for (function, size, calls) in functions {
            graph.functions.push(function);
            graph.sizes.insert(function, size);
            graph.calls.insert(function, calls);
        }
        graph
    }

    /// The functions with bodies that a function calls, once for each call.
    pub fn callees(&self, function: N) -> impl Iterator<Item = N> + '_ {
        self.calls.get(&function).into_iter().flatten().copied().filter(|callee| self.sizes.contains_key(callee))
    }

    /// The functions that call one for which `is_callee` holds, directly or through others, and those themselves.
    pub fn callers(&self, is_callee: impl Fn(N) -> bool) -> HashSet<N> {
        let mut callers: HashMap<N, Vec<N>> = HashMap::new();
        for caller in &self.functions {
            self.callees(*caller).for_each(|callee| callers.entry(callee).or_default().push(*caller));
        }
        let mut open: Vec<N> = self.functions.iter().copied().filter(|f| is_callee(*f)).collect();
        let mut found: HashSet<N> = open.iter().copied().collect();
        while let Some(function) = open.pop() {
            open.extend(callers.get(&function).into_iter().flatten().filter(|f| found.insert(**f)));
        }
        found
    }

    /// What these functions call, directly or through others, and they themselves.
    pub fn called_from(&self, roots: &HashSet<N>) -> HashSet<N> {
        let mut found = roots.clone();
        let mut open: Vec<N> = roots.iter().copied().collect();
        while let Some(function) = open.pop() {
            open.extend(self.callees(function).filter(|callee| found.insert(*callee)));
        }
        found
    }

    /// The functions that call themselves, directly or through others.
    pub fn recursive(&self) -> HashSet<N> {
        let components = Tarjan::components(self);
        let is_cycle = |c: &Vec<N>| c.len() > 1 || self.callees(c[0]).any(|callee| callee == c[0]);
        components.into_iter().filter(is_cycle).flatten().collect()
    }

    /// The functions that are not to be inlined besides those for which `stays` holds, so that no function that is left
    /// has more than `limit` instructions, nor all that are not in `roots` together: large ones that are called more
    /// than once. Their code would be there as often as they are called, and so would that of what they call: as
    /// often as there are ways to it, which grows with the power of the depth.
    ///
    /// As few as it takes: a large function that is inlined may be seen to need less than half of its code.
    pub fn too_large(&self, roots: &HashSet<N>, stays: impl Fn(N) -> bool, limit: u64) -> HashSet<N> {
        let reached = self.called_from(roots);
        let order: Vec<N> = Tarjan::components(self).into_iter().flatten().filter(|f| reached.contains(f)).collect();
        let mut sites: HashMap<N, usize> = HashMap::new();
        for callee in order.iter().flat_map(|caller| self.callees(*caller)) {
            *sites.entry(callee).or_default() += 1;
        }
        let mut large = HashSet::new();
        let mut allowed = u64::MAX;
        loop {
            let mut sizes: HashMap<N, u64> = HashMap::new();
            let (mut largest, mut others) = (0, 0_u64);
            for function in &order {
                // A function that is not inlined is nothing in its caller; nor is one of the same component, which
                // is there already or comes later.
                let inlined = self.callees(*function).filter_map(|callee| sizes.get(&callee));
                let size = inlined.fold(self.sizes[function], |sum, size| sum.saturating_add(*size));
                let is_shared = sites.get(function).is_some_and(|sites| *sites > 1);
                let is_kept = roots.contains(function) || stays(*function);
                if !is_kept && is_shared && size > allowed {
                    large.insert(*function);
                }
                if !is_kept && !large.contains(function) {
                    sizes.insert(*function, size);
                    continue;
                }
                largest = largest.max(size);
                if !roots.contains(function) {
                    others = others.saturating_add(size);
                }
            }
            if largest <= limit && others <= limit || allowed <= SMALL {
                return large;
            }
            large.clear();
            allowed = if allowed == u64::MAX { limit / 2 } else { allowed / 2 };
        }
    }
}

/// What has so few instructions, once all that it calls is inlined, is inlined itself: closures, the methods of
/// iterators and of `Option`, which are seen to be little more than what they are given.
const SMALL: u64 = 500;

/// The search for the strongly connected components, without recursion of its own.
struct Tarjan<'c, N> {
    graph: &'c CallGraph<N>,
    index: HashMap<N, usize>,
    low: HashMap<N, usize>,
    stack: Vec<N>,
    on_stack: HashSet<N>,
    components: Vec<Vec<N>>,
}

impl<'c, N: Copy + Eq + Hash> Tarjan<'c, N> {
    /// The components, each after those that it calls.
    fn components(graph: &'c CallGraph<N>) -> Vec<Vec<N>> {
        let mut search = Tarjan {
            graph,
            index: HashMap::new(),
            low: HashMap::new(),
            stack: Vec::new(),
            on_stack: HashSet::new(),
            components: Vec::new(),
        };
        for function in &graph.functions {
            search.visit(*function);
        }
        search.components
    }

    fn enter(&mut self, function: N) -> (N, std::vec::IntoIter<N>) {
        let number = self.index.len();
        self.index.insert(function, number);
        self.low.insert(function, number);
        self.stack.push(function);
        self.on_stack.insert(function);
        (function, self.graph.callees(function).collect::<Vec<_>>().into_iter())
    }

    fn visit(&mut self, start: N) {
        if self.index.contains_key(&start) {
            return;
        }
        let mut path = vec![self.enter(start)];
        while let Some((function, next)) = path.last_mut() {
            let function = *function;
            if let Some(callee) = next.next() {
                if !self.index.contains_key(&callee) {
                    path.push(self.enter(callee));
                } else if self.on_stack.contains(&callee) {
                    self.low.insert(function, self.low[&function].min(self.index[&callee]));
                }
                continue;
            }
            path.pop();
            if let Some((caller, _)) = path.last() {
                self.low.insert(*caller, self.low[caller].min(self.low[&function]));
            }
            if self.low[&function] == self.index[&function] {
                let from = self.stack.iter().position(|f| *f == function).expect("it is on the stack");
                let component = self.stack.split_off(from);
                for member in &component {
                    self.on_stack.remove(member);
                }
                self.components.push(component);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph of functions with ten instructions: the number of each, and what it calls.
    fn graph(calls: &[(u32, &[u32])]) -> CallGraph<u32> {
        CallGraph::new(calls.iter().map(|(function, calls)| (*function, 10, calls.to_vec())))
    }

    #[test]
    fn cycles_are_recursive() {
        let graph = graph(&[(0, &[1, 4]), (1, &[2]), (2, &[3, 1]), (3, &[]), (4, &[4]), (5, &[0])]);
        assert_eq!(graph.recursive(), HashSet::from([1, 2, 4]));
        assert_eq!(graph.called_from(&HashSet::from([1])), HashSet::from([1, 2, 3]));
        assert_eq!(graph.callers(|f| f == 1), HashSet::from([0, 1, 2, 5]));
    }

    /// Each function calls the next one three times: inlined, the code of the last is there 3ⁿ times.
    #[test]
    fn what_would_grow_with_the_power_of_its_depth_stays_a_call() {
        const DEPTH: u32 = 40;
        let calls: Vec<(u32, Vec<u32>)> = (0..DEPTH).map(|f| (f, vec![f + 1; 3])).collect();
        let mut calls: Vec<(u32, &[u32])> = calls.iter().map(|(f, calls)| (*f, calls.as_slice())).collect();
        calls.push((DEPTH, &[]));
        let graph = graph(&calls);
        let roots = HashSet::from([0]);
        assert_eq!(graph.too_large(&roots, |_| false, u64::MAX), HashSet::new());
        let large = graph.too_large(&roots, |_| false, 100_000);
        assert!((1..DEPTH as usize / 3).contains(&large.len()), "{large:?}");
        // The last few are inlined: three calls of what has ten instructions are little.
        assert!(large.iter().all(|f| *f < DEPTH - 3), "{large:?}");
    }

    #[test]
    fn what_is_called_once_is_inlined_however_large() {
        let graph = CallGraph::new([(0, 10, vec![1]), (1, 1_000_000, vec![2, 2]), (2, 10, vec![])]);
        assert_eq!(graph.too_large(&HashSet::from([0]), |_| false, 1000), HashSet::new());
    }

    /// Many functions that are each of a fair size are not large because there are many.
    #[test]
    fn each_root_has_its_own_limit() {
        let graph = CallGraph::new((1..100).map(|f| (f, 10, vec![0; 9])).chain([(0, 1000, vec![])]));
        let roots: HashSet<u32> = (1..100).collect();
        assert_eq!(graph.too_large(&roots, |_| false, 10_000), HashSet::new());
        assert_eq!(graph.too_large(&roots, |_| false, 9_000), HashSet::from([0]));
    }
}
