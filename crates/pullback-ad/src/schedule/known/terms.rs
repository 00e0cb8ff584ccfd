//! Known cotangents as expressions, each written down once: equal ones have equal numbers.

use crate::linearise::share::Share;
use pullback_ir::{Flags, Inst, Type, Value};
use std::collections::{HashMap, HashSet};

/// An expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Term(usize);

/// What an expression is made of. Values are those of the augmented primal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// The cotangent of the function's result, which its caller gives.
    Seed,
    /// The cotangent that lies in the shadow of the place of this store.
    Stored(Inst),
    /// The cotangent of a value without uses.
    Nothing {
        /// Whether it is an `f64`, and not an `f32`.
        wide: bool,
    },
    /// The cotangent of the active argument of this number, which a call with joint reversal gives back.
    Given(Inst, usize),
    /// The share that an operand gets of a cotangent, with these flags.
    Share(Term, Share, Flags),
    /// `g + h`.
    Sum(Term, Term),
}

/// All expressions of a function.
#[derive(Default, Debug)]
pub struct Terms {
    nodes: Vec<Node>,
    numbers: HashMap<Node, Term>,
    /// The places of [`Node::Stored`], by batch direction, and the type of what lies there.
    pub places: HashMap<Inst, (Vec<Value>, Type)>,
}

impl Terms {
    /// The expression that is this node.
    pub fn make(&mut self, node: Node) -> Term {
        *self.numbers.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            Term(self.nodes.len() - 1)
        })
    }

    /// What an expression is made of.
    pub fn node(&self, term: Term) -> Node {
        self.nodes[term.0]
    }

    /// Whether an expression is the cotangent of a value without uses.
    pub fn is_nothing(&self, term: Term) -> bool {
        matches!(self.node(term), Node::Nothing { .. })
    }

    /// The expressions that an expression is made of.
    pub fn parts(&self, term: Term) -> Vec<Term> {
        match self.node(term) {
            Node::Seed | Node::Stored(_) | Node::Nothing { .. } | Node::Given(..) => vec![],
            Node::Share(g, ..) => vec![g],
            Node::Sum(g, h) => vec![g, h],
        }
    }

    /// What an expression takes from the program.
    pub fn leaves(&self, term: Term) -> Vec<Leaf> {
        let (mut work, mut seen, mut leaves) = (vec![term], HashSet::new(), Vec::new());
        while let Some(term) = work.pop() {
            if !seen.insert(term) {
                continue;
            }
            work.extend(self.parts(term));
            match self.node(term) {
                Node::Seed | Node::Nothing { .. } | Node::Sum(..) => {}
                Node::Stored(store) => leaves.extend(self.places[&store].0.iter().copied().map(Leaf::Value)),
                Node::Given(call, _) => leaves.push(Leaf::Given(call)),
                Node::Share(_, share, _) => leaves.extend(share.values().map(Leaf::Value)),
            }
        }
        leaves
    }
}

/// What an expression takes from the program.
#[derive(Clone, Copy, Debug)]
pub enum Leaf {
    /// A value.
    Value(Value),
    /// What a call gives back.
    Given(Inst),
}
