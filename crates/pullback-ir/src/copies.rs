//! The graph of copies: which values are handed on unchanged, by edges between blocks, by selections and by `freeze`.
//!
//! Analyses that ask what a value may be, or what may become of it, walk this graph:
//!
//! ```text
//! b0: branch v0, b1(v1), b1(v2)        v3 is a copy of v1 and of v2,
//! b1(v3): v5 = select v0, v3, v4       v5 one of v3 and of v4
//! ```

use crate::{Block, CastOp, Function, Op, Value};
use std::collections::{HashMap, HashSet};

/// The copies that some blocks of a function make.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// What is a copy, and of what.
    pairs: Vec<(Value, Value)>,
    sources: HashMap<Value, Vec<Value>>,
    targets: HashMap<Value, Vec<Value>>,
}

impl Copies {
    /// The copies that these blocks make.
    pub fn new(func: &Function, blocks: impl IntoIterator<Item = Block>) -> Self {
        Copies::with(func, blocks, |_| None)
    }

    /// The same, with those that keep the bits in another type.
    pub fn of_bits(func: &Function, blocks: impl IntoIterator<Item = Block>) -> Self {
        Copies::with(func, blocks, |op| match op {
            Op::Cast(CastOp::PtrToInt | CastOp::IntToPtr | CastOp::Bitcast, from) => Some(*from),
            _ => None,
        })
    }

    fn with(func: &Function, blocks: impl IntoIterator<Item = Block>, more: impl Fn(&Op) -> Option<Value>) -> Self {
        let mut copies = Copies::default();
        for data in blocks.into_iter().map(|block| func.block(block)) {
            for inst in data.insts.iter().map(|inst| func.inst(*inst)) {
                let Some(result) = inst.result else { continue };
                match &inst.op {
                    Op::Select(_, a, b) => [*a, *b].into_iter().for_each(|from| copies.add(result, from)),
                    Op::Freeze(from) => copies.add(result, *from),
                    op => more(op).into_iter().for_each(|from| copies.add(result, from)),
                }
            }
            for target in data.term.targets() {
                let params = &func.block(target.block).params;
                params.iter().zip(&target.args).for_each(|(param, arg)| copies.add(*param, *arg));
            }
        }
        copies
    }

    fn add(&mut self, to: Value, from: Value) {
        self.pairs.push((to, from));
        self.sources.entry(to).or_default().push(from);
        self.targets.entry(from).or_default().push(to);
    }

    /// All copies, each with what it is a copy of.
    pub fn pairs(&self) -> &[(Value, Value)] {
        &self.pairs
    }

    /// What a value is a copy of, if it is one.
    pub fn sources(&self, value: Value) -> Option<&[Value]> {
        self.sources.get(&value).map(Vec::as_slice)
    }

    /// Add the copies of values of a set to it, and their copies, as far as they are ones that `may` be in it.
    pub fn close_forwards(&self, set: &mut HashSet<Value>, may: impl Fn(Value) -> bool) {
        close(set, &[&self.targets], may);
    }

    /// Add what values of a set are copies of, and what that is a copy of, as far as it `may` be in it.
    pub fn close_backwards(&self, set: &mut HashSet<Value>, may: impl Fn(Value) -> bool) {
        close(set, &[&self.sources], may);
    }

    /// Add all that a value of a set is connected with.
    pub fn close(&self, set: &mut HashSet<Value>) {
        close(set, &[&self.sources, &self.targets], |_| true);
    }
}

fn close(set: &mut HashSet<Value>, along: &[&HashMap<Value, Vec<Value>>], may: impl Fn(Value) -> bool) {
    let mut work: Vec<Value> = set.iter().copied().collect();
    while let Some(value) = work.pop() {
        for next in along.iter().filter_map(|edges| edges.get(&value)).flatten() {
            if may(*next) && set.insert(*next) {
                work.push(*next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_module;

    #[test]
    fn copies_by_edges_selections_and_freezes() {
        let module = parse_module(
            "fn @f(v0: i1, v1: i64, v2: i64, v3: i64) -> i64 {
b0:
  branch v0, b1(v1), b1(v2)
b1(v4: i64):
  v5 = select v0, v4, v3
  v6 = freeze v5
  v7 = add v6, v1
  return v7
}",
        )
        .unwrap();
        let func = module.func(module.find("f").unwrap());
        let copies = Copies::new(func, func.blocks());
        let [v1, v2, v3] = [1, 2, 3].map(|i| func.param_values()[i]);
        let v4 = func.block(func.blocks().nth(1).unwrap()).params[0];
        let add = *func.block(func.blocks().nth(1).unwrap()).insts.last().unwrap();
        let v6 = func.inst(add).op.operands()[0];
        assert_eq!(copies.sources(v4), Some(&[v1, v2][..]));
        assert_eq!(copies.sources(v1), None);
        let mut set = HashSet::from([v6]);
        copies.close_backwards(&mut set, |value| value != v3);
        assert!(set.contains(&v1) && set.contains(&v2) && !set.contains(&v3));
        let mut set = HashSet::from([v2]);
        copies.close_forwards(&mut set, |_| true);
        assert!(set.contains(&v4) && set.contains(&v6) && !set.contains(&v1));
        copies.close(&mut set);
        assert!(set.contains(&v1) && set.contains(&v3));
        assert_eq!(copies.pairs().len(), 5);
    }
}
