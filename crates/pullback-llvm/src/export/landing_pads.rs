//! Calls that clean up when they panic: an `invoke`, and a landing pad that calls the clean-up function and lets the
//! panic go on.

use super::function::Body;
use crate::ffi::{BlockRef, ValueRef, llvm};
use pullback_ir::{Cleanup, Type};

/// Where an `invoke` goes.
#[derive(Clone, Copy)]
pub(super) struct Unwind {
    /// When the callee returns.
    pub normal: BlockRef,
    /// When it panics.
    pub pad: BlockRef,
}

impl Body<'_, '_> {
    /// The ways on from a call with a clean-up. The call ends the current block, and the instructions after it go to
    /// [`Unwind::normal`].
    pub(super) fn unwind(&mut self, cleanup: Option<&Cleanup>) -> Result<Unwind, String> {
        let (module, api, builder) = (self.exp.module, self.exp.module.api(), self.exp.builder);
        let here = llvm!(api, LLVMGetInsertBlock(builder));
        let key = cleanup.map(|c| (c.func, c.args.clone()));
        let pad = match self.pads.get(&key) {
            Some(pad) => *pad,
            None => {
                let pad = self.landing_pad(cleanup)?;
                self.pads.insert(key, pad);
                pad
            }
        };
        llvm!(api, LLVMPositionBuilderAtEnd(builder, here));
        let normal = llvm!(api, LLVMAppendBasicBlockInContext(module.raw_context(), self.raw, c"".as_ptr()));
        Ok(Unwind { normal, pad })
    }

    /// A new block that cleans up and lets the panic go on. What it uses is there at every call that leads to it.
    fn landing_pad(&mut self, cleanup: Option<&Cleanup>) -> Result<BlockRef, String> {
        let (module, api, builder) = (self.exp.module, self.exp.module.api(), self.exp.builder);
        let personality = self.exp.personality();
        let args: Vec<ValueRef> =
            cleanup.into_iter().flat_map(|c| &c.args).map(|v| self.value(*v)).collect::<Result<_, _>>()?;
        let pad = llvm!(api, LLVMAppendBasicBlockInContext(module.raw_context(), self.raw, c"".as_ptr()));
        llvm!(api, LLVMPositionBuilderAtEnd(builder, pad));
        let ty = self.exp.ty(&Type::structure([Type::Ptr, Type::Int(32)]));
        let panic = llvm!(api, LLVMBuildLandingPad(builder, ty, personality, 0, c"".as_ptr()));
        llvm!(api, LLVMSetCleanup(panic, 1));
        if let Some(cleanup) = cleanup {
            let callee = self.exp.callee(cleanup.func);
            self.exp.build_call(callee, &args, None)?;
        }
        llvm!(api, LLVMBuildResume(builder, panic.value()));
        Ok(pad)
    }
}
