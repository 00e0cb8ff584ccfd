//! Source locations, with the chain of calls that were inlined.

use super::Importer;
use crate::ffi::{InstRef, MetadataRef, llvm};
use pullback_ir::{Location, SourceLoc};

impl Importer<'_> {
    /// The location of an instruction, if it has one.
    pub(super) fn location(&mut self, inst: InstRef) -> Option<SourceLoc> {
        let loc = llvm!(self.module.api(), LLVMInstructionGetDebugLoc(inst)).some()?;
        Some(self.debug_loc(loc))
    }

    fn debug_loc(&mut self, loc: MetadataRef) -> SourceLoc {
        if let Some(id) = self.locations.get(&loc) {
            return *id;
        }
        let api = self.module.api();
        let inlined_at = llvm!(api, LLVMDILocationGetInlinedAt(loc)).some().map(|at| self.debug_loc(at));
        let scope = llvm!(api, LLVMDILocationGetScope(loc));
        let location = Location {
            file: self.module.scope_file(scope),
            line: llvm!(api, LLVMDILocationGetLine(loc)),
            column: llvm!(api, LLVMDILocationGetColumn(loc)),
            function: self.module.scope_function(scope),
            inlined_at,
        };
        let id = self.ir.add_location(location);
        self.locations.insert(loc, id);
        id
    }
}
