//! What a function or global refers to: the edges along which symbols keep each other alive.

use crate::error::Result;
use crate::ffi::{ValueRef, llvm};
use crate::kinds::value_kind;
use crate::module::Module;
use std::collections::HashSet;

impl Module {
    /// The functions and globals that a function's body or a global's initialiser names, each once. Constants in
    /// between are looked through; other functions and globals are not.
    pub fn references(&self, name: &str) -> Result<Vec<String>> {
        let value = self.symbol(name)?;
        let mut seen: HashSet<ValueRef> = HashSet::new();
        let mut found = Vec::new();
        let mut work = self.raw_operands(value);
        if llvm!(self.api(), LLVMGetValueKind(value)) == value_kind::FUNCTION {
            work.extend(self.raw_body(value).into_iter().flat_map(|inst| self.raw_operands(inst.value())));
        }
        while let Some(operand) = work.pop() {
            if !self.is_plain_constant(operand) || !seen.insert(operand) {
                continue;
            }
            match llvm!(self.api(), LLVMGetValueKind(operand)) {
                value_kind::FUNCTION | value_kind::GLOBAL => found.push(self.name_of(operand)),
                _ => work.extend(self.raw_operands(operand)),
            }
        }
        found.sort();
        Ok(found)
    }
}
