//! Source locations, with the chain of calls that were inlined.

use super::{Importer, demangle};
use crate::ffi::{MetadataRef, ValueRef, llvm};
use pullback_ir::{Location, SourceLoc};

/// `LLVMMetadataKind` of a subprogram.
const SUBPROGRAM: u32 = 17;
/// Operands of a scope: file, parent scope; of a subprogram also: name, linkage name.
const SCOPE: usize = 1;
const NAME: usize = 2;
const LINKAGE_NAME: usize = 3;

impl Importer<'_> {
    /// The location of an instruction, if it has one.
    pub(super) fn location(&mut self, inst: ValueRef) -> Option<SourceLoc> {
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
            file: self.file(scope),
            line: llvm!(api, LLVMDILocationGetLine(loc)),
            column: llvm!(api, LLVMDILocationGetColumn(loc)),
            function: self.scope_function(scope),
            inlined_at,
        };
        let id = self.ir.add_location(location);
        self.locations.insert(loc, id);
        id
    }

    /// The file of a scope, with its directory unless it is absolute.
    fn file(&self, scope: MetadataRef) -> String {
        let api = self.module.api();
        let Some(file) = llvm!(api, LLVMDIScopeGetFile(scope)).some() else { return String::new() };
        let (mut name_len, mut dir_len) = (0, 0);
        let name = llvm!(api, LLVMDIFileGetFilename(file, &mut name_len));
        let name = api.text(name, name_len as usize);
        let directory = llvm!(api, LLVMDIFileGetDirectory(file, &mut dir_len));
        let directory = api.text(directory, dir_len as usize);
        std::path::Path::new(&directory).join(name).to_string_lossy().into_owned()
    }

    /// The function a scope is in, demangled where it has a linkage name.
    fn scope_function(&self, mut scope: MetadataRef) -> String {
        let api = self.module.api();
        for _ in 0..64 {
            let operands = self.metadata_operands(scope);
            let text = |i: usize| operands.get(i).and_then(|v| v.some()).map(|v| self.metadata_string(v));
            if llvm!(api, LLVMGetMetadataKind(scope)) == SUBPROGRAM {
                let linkage = text(LINKAGE_NAME).filter(|s| !s.is_empty());
                return linkage.map(|s| demangle(&s)).or_else(|| text(NAME)).unwrap_or_default();
            }
            match operands.get(SCOPE).and_then(|v| v.some()) {
                Some(parent) => scope = llvm!(api, LLVMValueAsMetadata(parent)),
                None => break,
            }
        }
        String::new()
    }

    fn metadata_operands(&self, node: MetadataRef) -> Vec<ValueRef> {
        let api = self.module.api();
        let value = llvm!(api, LLVMMetadataAsValue(self.module.raw_context(), node));
        let mut operands = vec![ValueRef::NULL; llvm!(api, LLVMGetMDNodeNumOperands(value)) as usize];
        llvm!(api, LLVMGetMDNodeOperands(value, operands.as_mut_ptr()));
        operands
    }

    fn metadata_string(&self, value: ValueRef) -> String {
        let api = self.module.api();
        let mut len = 0;
        let text = llvm!(api, LLVMGetMDString(value, &mut len));
        api.text(text, len as usize)
    }
}
