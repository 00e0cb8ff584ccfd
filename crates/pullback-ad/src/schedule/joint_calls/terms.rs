//! Cotangents as expressions, each written down once: equal ones have equal numbers.

use pullback_ir::{CastOp, Flags, Inst, Value};
use std::collections::{HashMap, HashSet};

/// An expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Term(usize);

/// What an expression is made of. Values are those of the augmented primal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// The cotangent of the function's result.
    Seed,
    /// The cotangent of a value that nobody uses.
    Nothing {
        /// Whether it is an `f64`, and not an `f32`.
        wide: bool,
    },
    /// The cotangent of the active argument of this number that a call in one go gave back.
    Given(Inst, usize),
    /// `g·c`; with strong zeros it is zero where the last one is, the cotangent that `g` is a multiple of.
    Scaled(Term, Value, Flags, Term),
    /// `g` times a power of two, given by the bits of an `f64`.
    Times(Term, u64),
    /// `−g`.
    Negated(Term),
    /// `g / y`.
    Divided(Term, Value, Flags),
    /// In the other precision.
    Cast(Term, CastOp),
    /// `g` if the condition is this, else nothing.
    If(Term, Value, bool),
    /// `g + h`.
    Sum(Term, Term),
}

/// All expressions of a function.
#[derive(Default, Debug)]
pub struct Terms {
    nodes: Vec<Node>,
    numbers: HashMap<Node, Term>,
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

    /// Whether all that an expression is made of is so.
    pub fn all(&self, term: Term, mut is_so: impl FnMut(Leaf) -> bool) -> bool {
        let (mut work, mut seen) = (vec![term], HashSet::new());
        while let Some(term) = work.pop() {
            if !seen.insert(term) {
                continue;
            }
            let leaf = match self.node(term) {
                Node::Seed | Node::Nothing { .. } => None,
                Node::Given(call, _) => Some(Leaf::Given(call)),
                Node::Scaled(g, value, _, of) => {
                    work.extend([g, of]);
                    Some(Leaf::Value(value))
                }
                Node::Divided(g, value, _) | Node::If(g, value, _) => {
                    work.push(g);
                    Some(Leaf::Value(value))
                }
                Node::Times(g, _) | Node::Negated(g) | Node::Cast(g, _) => {
                    work.push(g);
                    None
                }
                Node::Sum(g, h) => {
                    work.extend([g, h]);
                    None
                }
            };
            if leaf.is_some_and(|leaf| !is_so(leaf)) {
                return false;
            }
        }
        true
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
