//! The linear program of a function, as a value: what linearising hands on and transposing is given.
//!
//! A [`LinearFunction`] belongs to a function of the IR, the augmented primal, whose values are its coefficients,
//! conditions and shadow addresses. After each instruction it has the linear operations on tangents that the
//! instruction stands for. Control flow is that of the function: the tangent of a block parameter is the tangent of
//! what the edge hands on.
//!
//! Run forwards it computes the tangents of the results, which is forward mode. Run backwards, with the transpose of
//! each operation in its place, it computes the cotangents of the inputs from those of the results. Its text form is in
//! [`super::text`], what has to hold for it in [`super::verify`].

use crate::linearise::linear::Linear;
use pullback_ir::{Block, Function, Inst, Value};
use std::collections::{HashMap, HashSet};

/// The linear operations beside a function.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LinearFunction {
    operations: HashMap<Inst, Vec<Linear>>,
    /// Values with a tangent.
    pub active: HashSet<Value>,
    /// The parameters with a tangent, in order: with shadow memory, the inputs.
    pub params: Vec<Value>,
    /// Whether what the function returns has a tangent.
    pub returns_active: bool,
    /// What each block that returns hands to the caller as the primal's own result.
    pub returned: HashMap<Block, Value>,
}

impl LinearFunction {
    /// The operations of an instruction, in order.
    pub fn at(&self, inst: Inst) -> &[Linear] {
        self.operations.get(&inst).map_or(&[], Vec::as_slice)
    }

    /// Add an operation to those of an instruction.
    pub fn push(&mut self, inst: Inst, operation: Linear) {
        self.operations.entry(inst).or_default().push(operation);
    }

    /// An instruction has these operations now.
    pub fn set(&mut self, inst: Inst, operations: Vec<Linear>) {
        if operations.is_empty() {
            self.operations.remove(&inst);
        } else {
            self.operations.insert(inst, operations);
        }
    }

    /// The operations of a block, in order.
    pub fn of_block<'a>(&'a self, func: &'a Function, block: Block) -> impl Iterator<Item = (Inst, &'a Linear)> {
        let insts = func.block(block).insts.iter();
        insts.flat_map(|inst| self.at(*inst).iter().map(move |operation| (*inst, operation)))
    }

    /// All operations, in no particular order.
    pub fn all(&self) -> impl Iterator<Item = (Inst, &Linear)> {
        self.operations.iter().flat_map(|(inst, all)| all.iter().map(move |operation| (*inst, operation)))
    }

    /// Keep the operations and the tangents of which this is said.
    pub fn retain(&mut self, keep: impl Fn(&Linear) -> bool, has_tangent: impl Fn(Value) -> bool) {
        self.operations.values_mut().for_each(|all| all.retain(&keep));
        self.operations.retain(|_, all| !all.is_empty());
        self.active.retain(|value| has_tangent(*value));
    }

    /// The values that are returned and have a tangent, if the function's result is one that has.
    pub fn results(&self) -> impl Iterator<Item = (Block, Value)> {
        self.returned.iter().filter(|_| self.returns_active).map(|(block, value)| (*block, *value))
    }
}
