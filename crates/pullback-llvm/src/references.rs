//! What a function or global refers to, and what refers to it: the edges along which symbols keep each other alive.

use crate::error::Result;
use crate::ffi::{InstRef, ValueRef, llvm};
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

    /// The functions and globals that refer to one of these symbols, to something that does, and so on. One for which
    /// `stops` holds is found, and what refers to it is not looked for. A symbol that is not there has no referrers.
    ///
    /// LLVM knows the uses of each value, so this takes a time that grows with what is found and not with the module.
    pub fn referrers(&self, symbols: &[&str], stops: impl Fn(&str) -> bool) -> HashSet<String> {
        let mut found = HashSet::new();
        let mut work: Vec<ValueRef> = symbols.iter().filter_map(|name| self.symbol(name).ok()).collect();
        while let Some(value) = work.pop() {
            for user in self.users(value) {
                let name = self.name_of(user);
                if found.contains(&name) {
                    continue;
                }
                if !stops(&name) {
                    work.push(user);
                }
                found.insert(name);
            }
        }
        found
    }

    /// The functions and globals that name a value in their bodies or initialisers, directly or by other constants,
    /// each once.
    fn users(&self, value: ValueRef) -> HashSet<ValueRef> {
        let (mut users, mut seen, mut work) = (HashSet::new(), HashSet::new(), vec![value]);
        while let Some(value) = work.pop() {
            for user in self.raw_users(value).into_iter().filter(|user| seen.insert(*user)) {
                match llvm!(self.api(), LLVMGetValueKind(user)) {
                    value_kind::FUNCTION | value_kind::GLOBAL => _ = users.insert(user),
                    _ => match self.api().as_instruction(user) {
                        Some(inst) => _ = users.insert(self.function_of(inst)),
                        None => work.push(user),
                    },
                }
            }
        }
        users
    }

    /// What has this value among its operands, once for each operand that is the value.
    pub(crate) fn raw_users(&self, value: ValueRef) -> Vec<ValueRef> {
        let first = llvm!(self.api(), LLVMGetFirstUse(value)).some();
        let uses = std::iter::successors(first, |using| llvm!(self.api(), LLVMGetNextUse(*using)).some());
        uses.map(|using| llvm!(self.api(), LLVMGetUser(using))).collect()
    }

    /// The function that an instruction is in.
    pub(crate) fn function_of(&self, inst: InstRef) -> ValueRef {
        llvm!(self.api(), LLVMGetBasicBlockParent(llvm!(self.api(), LLVMGetInstructionParent(inst))))
    }
}
