//! Known cotangents, computed: the code of expressions.

use crate::reverse::cotangents::neutral;
use crate::schedule::known::Placed;
use crate::schedule::known::terms::{Node, Term, Terms};
use pullback_ir::{Block, Builder, Flags, Function, Inst, Type, Value};
use std::collections::HashMap;

/// Computes expressions at the end of a block that is being written.
pub(crate) struct Emitter<'t> {
    terms: &'t Terms,
    strong_zero: bool,
    /// The cotangents of the function's result, by batch direction.
    seeds: Vec<Value>,
    /// What calls with joint reversal gave back: the cotangents of their active arguments, by number and batch
    /// direction.
    pub(crate) given: HashMap<Inst, Vec<Vec<Value>>>,
    block: Option<Block>,
    /// Expressions that have been computed in this block, by batch direction.
    made: HashMap<(Term, usize), Value>,
    /// Values of the program that have been recomputed in this block.
    recomputed: HashMap<Value, Value>,
}

impl<'t> Emitter<'t> {
    /// For the expressions of a function whose result has these cotangents.
    pub(crate) fn new(terms: &'t Terms, strong_zero: bool, seeds: Vec<Value>) -> Self {
        let (given, made, recomputed) = (HashMap::new(), HashMap::new(), HashMap::new());
        Emitter { terms, strong_zero, seeds, given, block: None, made, recomputed }
    }

    /// An expression in a batch direction, at the end of a block.
    pub(crate) fn value(&mut self, func: &mut Function, block: Block, placed: &Placed, direction: usize) -> Value {
        if self.block.replace(block) != Some(block) {
            self.made.clear();
            self.recomputed.clear();
        }
        // With a stack of our own: it may be a long chain.
        let mut work = vec![placed.term];
        while let Some(term) = work.last().copied() {
            let is_missing = |part: &Term| !self.made.contains_key(&(*part, direction));
            let missing: Vec<Term> = self.terms.parts(term).into_iter().filter(is_missing).collect();
            if missing.is_empty() {
                if is_missing(&term) {
                    let made = self.make(&mut Builder::new(func, block), term, direction, placed);
                    self.made.insert((term, direction), made);
                }
                work.pop();
            } else {
                work.extend(missing);
            }
        }
        self.made[&(placed.term, direction)]
    }

    /// Compute an expression whose parts are there.
    fn make(&mut self, b: &mut Builder, term: Term, direction: usize, placed: &Placed) -> Value {
        match self.terms.node(term) {
            Node::Seed => self.seeds[direction],
            Node::Stored(store) => {
                let (places, ty) = &self.terms.places[&store];
                let place = self.primal(b, places[direction], placed);
                b.load(ty.clone(), place)
            }
            Node::Nothing { wide } => neutral(b.func, if wide { &Type::F64 } else { &Type::F32 }),
            Node::Given(call, number) => self.given[&call][number][direction],
            Node::Share(g, share, flags) => {
                let share = share.map_values(|value| self.primal(b, value, placed));
                b.flags = flags;
                let share = share.folded(b);
                share.emit(b, self.made[&(g, direction)], self.strong_zero)
            }
            Node::Sum(g, h) => b.fadd(self.made[&(g, direction)], self.made[&(h, direction)]),
        }
    }

    /// A value of the program at the end of the block.
    fn primal(&mut self, b: &mut Builder, value: Value, placed: &Placed) -> Value {
        if !placed.recomputed.contains(&value) {
            return value;
        }
        if let Some(made) = self.recomputed.get(&value) {
            return *made;
        }
        let inst = b.func.def_inst(value).expect("only results of instructions are recomputed");
        let op = b.func.inst(inst).op.clone().map_operands(|operand| self.primal(b, operand, placed));
        let ty = b.func.ty(value).clone();
        // Without its flags: where the program panics first, they need not hold.
        b.flags = Flags::NONE;
        let made = b.value(op, ty);
        self.recomputed.insert(value, made);
        made
    }
}
