//! The calls of one symbol: found, read, and replaced by an address.

use crate::error::{Error, Result};
use crate::ffi::{InstRef, ValueRef, llvm};
use crate::kinds::{opcode, value_kind};
use crate::module::{Module, c_string};
use crate::symbols::Visibility;
use std::collections::{HashMap, HashSet};

/// One call of a symbol. It names a place in the module as it is now: after an edit, ask for the calls again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallSite {
    /// The symbol that is called.
    pub callee: String,
    /// The function the call is in.
    pub caller: String,
    /// Which of the module's calls of that symbol this is, from 0.
    pub index: usize,
    /// For each argument the function or global whose address it is, if it is one.
    pub arguments: Vec<Option<String>>,
}

impl Module {
    /// The calls of `symbol`, in the module's order. A symbol that is not there has none.
    pub fn calls_of(&self, symbol: &str) -> Vec<CallSite> {
        let call_site = |(index, call): (usize, InstRef)| {
            let caller = self.function_of(call);
            let count = llvm!(self.api(), LLVMGetNumArgOperands(call.value()));
            let argument = |i| {
                let value = llvm!(self.api(), LLVMGetOperand(call.value(), i));
                self.trace_global(value, 0).map(|g| self.name_of(g))
            };
            CallSite {
                callee: symbol.to_owned(),
                caller: self.name_of(caller),
                index,
                arguments: (0..count).map(argument).collect(),
            }
        };
        self.raw_calls_of(symbol).into_iter().enumerate().map(call_site).collect()
    }

    fn raw_calls_of(&self, symbol: &str) -> Vec<InstRef> {
        let Some(target) = self.function_named(symbol) else { return Vec::new() };
        // Uses have no order that stays; functions and what is in them have one.
        let users = self.raw_users(target).into_iter().filter_map(|user| self.api().as_instruction(user));
        let callers: HashSet<ValueRef> = users.map(|inst| self.function_of(inst)).collect();
        let bodies = self.raw_functions().into_iter().filter(|f| callers.contains(f)).flat_map(|f| self.raw_body(f));
        bodies.filter(|inst| self.called(inst.value()) == Some(target)).collect()
    }

    /// The function a call or invoke names.
    pub(crate) fn called(&self, inst: ValueRef) -> Option<ValueRef> {
        let opcode = llvm!(self.api(), LLVMGetInstructionOpcode(inst));
        if opcode != opcode::CALL && opcode != opcode::INVOKE {
            return None;
        }
        let callee = llvm!(self.api(), LLVMGetCalledValue(inst));
        (llvm!(self.api(), LLVMGetValueKind(callee)) == value_kind::FUNCTION).then_some(callee)
    }

    /// Replace the results of calls, each by the address of the function that is named beside it, declared hidden and
    /// external if it is not there, or by no address, and erase the calls.
    pub fn replace_calls<'s>(
        &mut self,
        replacements: impl IntoIterator<Item = (&'s CallSite, Option<&'s str>)>,
    ) -> Result<()> {
        let api = self.api();
        // The module is gone through once for each symbol: to do so for each call would take a time that grows with the
        // square of their number.
        let mut found: HashMap<&str, Vec<InstRef>> = HashMap::new();
        for (site, name) in replacements {
            let calls = found.entry(&site.callee).or_insert_with(|| self.raw_calls_of(&site.callee));
            let call = *calls.get(site.index).ok_or_else(|| Error::NoSymbol(format!("call of {}", site.callee)))?;
            let address = match name {
                Some(name) => self.function_named(name).unwrap_or_else(|| self.declared_hidden(name)),
                None => llvm!(api, LLVMConstNull(llvm!(api, LLVMTypeOf(call.value())))),
            };
            llvm!(api, LLVMReplaceAllUsesWith(call.value(), address));
            self.erase_call(call);
        }
        Ok(())
    }

    /// A new declaration, of which the type does not matter.
    fn declared_hidden(&self, name: &str) -> ValueRef {
        let api = self.api();
        let void = llvm!(api, LLVMVoidTypeInContext(self.raw_context()));
        let ty = llvm!(api, LLVMFunctionType(void, std::ptr::null_mut(), 0, 0));
        let function = llvm!(api, LLVMAddFunction(self.raw, c_string(name).as_ptr(), ty));
        self.set_raw_visibility(function, Visibility::Hidden);
        function
    }

    /// Let the code of all functions but those that `except` names refer to `new` where it refers to the function
    /// `old`.
    pub fn redirect(&mut self, old: &str, new: &str, except: impl Fn(&str) -> bool) -> Result<()> {
        let (old, new) = (self.symbol(old)?, self.symbol(new)?);
        let users = self.raw_users(old).into_iter().filter_map(|user| self.api().as_instruction(user));
        for inst in users.filter(|inst| !except(&self.name_of(self.function_of(*inst)))).map(InstRef::value) {
            let count = llvm!(self.api(), LLVMGetNumOperands(inst)) as u32;
            for i in (0..count).filter(|i| llvm!(self.api(), LLVMGetOperand(inst, *i)) == old) {
                llvm!(self.api(), LLVMSetOperand(inst, i, new));
            }
        }
        Ok(())
    }

    /// Erase a call without uses; an invoke becomes a jump to where it would have returned.
    pub(crate) fn erase_call(&self, call: InstRef) {
        let api = self.api();
        if llvm!(api, LLVMGetInstructionOpcode(call.value())) == opcode::INVOKE {
            let block = llvm!(api, LLVMGetInstructionParent(call));
            let (normal, unwind) =
                (llvm!(api, LLVMGetNormalDest(call.value())), llvm!(api, LLVMGetUnwindDest(call.value())));
            self.remove_phi_entry(unwind, block);
            let builder = llvm!(api, LLVMCreateBuilderInContext(self.raw_context()));
            llvm!(api, LLVMPositionBuilderBefore(builder, call));
            llvm!(api, LLVMBuildBr(builder, normal));
            llvm!(api, LLVMDisposeBuilder(builder));
        }
        llvm!(api, LLVMInstructionEraseFromParent(call));
    }

    /// Rebuild the phis of `block` without their entries for `pred`, which jumps there no more.
    fn remove_phi_entry(&self, block: crate::ffi::BlockRef, pred: crate::ffi::BlockRef) {
        let api = self.api();
        for inst in self.raw_insts(block) {
            let phi = inst.value();
            if llvm!(api, LLVMGetInstructionOpcode(phi)) != opcode::PHI {
                break;
            }
            let entries = (0..llvm!(api, LLVMCountIncoming(phi)))
                .map(|i| (llvm!(api, LLVMGetIncomingValue(phi, i)), llvm!(api, LLVMGetIncomingBlock(phi, i))))
                .filter(|(_, from)| *from != pred);
            let (mut values, mut blocks): (Vec<_>, Vec<_>) = entries.unzip();
            let ty = llvm!(api, LLVMTypeOf(phi));
            let replacement = if values.is_empty() {
                llvm!(api, LLVMGetPoison(ty))
            } else {
                let builder = llvm!(api, LLVMCreateBuilderInContext(self.raw_context()));
                llvm!(api, LLVMPositionBuilderBefore(builder, inst));
                let new = llvm!(api, LLVMBuildPhi(builder, ty, c"".as_ptr()));
                llvm!(api, LLVMDisposeBuilder(builder));
                llvm!(api, LLVMAddIncoming(new, values.as_mut_ptr(), blocks.as_mut_ptr(), values.len() as u32));
                new.value()
            };
            llvm!(api, LLVMReplaceAllUsesWith(phi, replacement));
            llvm!(api, LLVMInstructionEraseFromParent(inst));
        }
    }
}
