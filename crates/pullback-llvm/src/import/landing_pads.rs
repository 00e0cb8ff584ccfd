//! Landing pads: where an `invoke` goes when its callee panics.
//!
//! A landing pad and all that comes after it drops what the function holds, and lets the panic go on (`resume`); it
//! never comes back to the code before. So it becomes a function of its own, a [`Cleanup`] of the call, and the IR's
//! control flow has no edges for panics:
//!
//! ```text
//!   %x = invoke @f(%a) to %go unwind %pad            v1 = call @f(v0) cleanup @g.cleanup.0(v2)
//! go:                                                jump b1
//!   …                                        ▶      …
//! pad:                                             fn @g.cleanup.0(v0: ptr) {
//!   %e = landingpad cleanup                        b0:
//!   call @free(%p)                                   call @free(v0)
//!   resume %e                                        return
//! ```
//! The function's parameters are the landing pad's phis, and then the values it uses that are made before. Blocks that
//! several landing pads share are in the function of each.

use super::Importer;
use super::function::{Body, Reason};
use crate::Module;
use crate::ffi::{BlockRef, InstRef, ValueRef, llvm};
use crate::kinds::{opcode, value_kind};
use pullback_ir::{Cleanup, Constant, FuncId, Function, Type};
use std::collections::HashSet;

/// A landing pad that has become a function.
#[derive(Clone)]
pub(super) struct LandingPad {
    func: FuncId,
    /// What it uses that is made before, besides its phis.
    captured: Vec<ValueRef>,
}

impl Body<'_, '_> {
    /// What is done if an `invoke` at the end of block `from` panics.
    pub(super) fn cleanup_of(&mut self, from: BlockRef, invoke: ValueRef) -> Result<Cleanup, Reason> {
        let pad = llvm!(self.imp.module.api(), LLVMGetUnwindDest(invoke));
        let LandingPad { func, captured } = self.imp.landing_pad(pad)?;
        let mut args = self.incoming(from, pad);
        args.extend(captured.into_iter().map(|v| self.value(v)));
        Ok(Cleanup { func, args })
    }

    /// The panic that is cleaned up after: the function that does it need not know which.
    pub(super) fn panic_in_flight(&mut self, pad: ValueRef) -> Result<(), Reason> {
        let module = self.imp.module;
        let api = module.api();
        let catches_all = |i| llvm!(api, LLVMGetValueKind(llvm!(api, LLVMGetClause(pad, i)))) == value_kind::NULL;
        if (0..llvm!(api, LLVMGetNumClauses(pad))).any(catches_all) {
            return Err("it catches panics".to_owned());
        }
        let ty = self.imp.ty(llvm!(api, LLVMTypeOf(pad)));
        let value = self.func.constant(ty, Constant::Undef);
        self.values.insert(pad, value);
        Ok(())
    }
}

impl Importer<'_> {
    /// The function of a landing pad.
    fn landing_pad(&mut self, pad: BlockRef) -> Result<LandingPad, Reason> {
        if let Some(known) = self.landing_pads.get(&pad) {
            return Ok(known.clone());
        }
        let (module, api) = (self.module, self.module.api());
        let function = llvm!(api, LLVMGetBasicBlockParent(pad));
        self.personality = self.personality.or(llvm!(api, LLVMGetPersonalityFn(function)).some());
        let captured = captured(module, pad)?;
        let types: Vec<Type> =
            module.phis(pad).iter().chain(&captured).map(|v| self.ty(llvm!(api, LLVMTypeOf(*v)))).collect();
        let mut body = self.cleanup_body(Function::new("", types, None), pad, &captured)?;
        // A landing pad inside has its number by now.
        body.name = format!("{}.cleanup.{}", module.name_of(function), self.landing_pads.len());
        let func = self.ir.add_function(body);
        let made = LandingPad { func, captured };
        self.landing_pads.insert(pad, made.clone());
        Ok(made)
    }
}

/// What a landing pad, and all that comes after it, uses and is made before.
fn captured(module: &Module, pad: BlockRef) -> Result<Vec<ValueRef>, Reason> {
    let api = module.api();
    let order = module.blocks_after(pad);
    let inside: HashSet<BlockRef> = order.iter().copied().collect();
    if order.iter().any(|block| module.successors(*block).contains(&pad)) {
        return Err("a clean-up that begins again when it panics".to_owned());
    }
    let mut found = Vec::new();
    for inst in order.iter().flat_map(|block| module.raw_insts(*block)).map(InstRef::value) {
        let used = if llvm!(api, LLVMGetInstructionOpcode(inst)) == opcode::PHI {
            let incoming = (0..llvm!(api, LLVMCountIncoming(inst)))
                .filter(|i| inside.contains(&llvm!(api, LLVMGetIncomingBlock(inst, *i))));
            incoming.map(|i| llvm!(api, LLVMGetIncomingValue(inst, i))).collect()
        } else {
            module.raw_operands(inst)
        };
        for value in used {
            let before = match api.as_instruction(value) {
                Some(inst) => !inside.contains(&llvm!(api, LLVMGetInstructionParent(inst))),
                None => llvm!(api, LLVMGetValueKind(value)) == value_kind::ARGUMENT,
            };
            if before && !found.contains(&value) {
                found.push(value);
            }
        }
    }
    Ok(found)
}
