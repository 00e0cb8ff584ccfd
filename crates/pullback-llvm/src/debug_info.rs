//! What debug information says of an instruction: where it stands in the source, and in which function it stood before
//! that was inlined.

use crate::ffi::{MetadataRef, ValueRef, llvm};
use crate::import::demangle;
use crate::kinds::value_kind;
use crate::module::Module;
use std::collections::HashSet;

/// `LLVMMetadataKind` of a subprogram.
const SUBPROGRAM: u32 = 17;
/// Operands of a scope: file, parent scope; of a subprogram also: name, linkage name.
const SCOPE: usize = 1;
const NAME: usize = 2;
const LINKAGE_NAME: usize = 3;

/// A call that is no more, because the callee's body took its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InlinedCall {
    /// The linker symbol of what was called.
    pub callee: String,
    /// Where in the source it was called: file, line and column.
    pub place: (String, u32, u32),
}

impl Module {
    /// The first call, in the code of the functions that `of` picks, of a function that `callee` picks by its linker
    /// symbol, and whose body was put there before this module came to us.
    pub fn inlined_call(&self, of: impl Fn(&str) -> bool, callee: impl Fn(&str) -> bool) -> Option<InlinedCall> {
        let mut seen: HashSet<MetadataRef> = HashSet::new();
        let picked = self.raw_functions().into_iter().filter(|f| of(&self.name_of(*f)));
        for inst in picked.flat_map(|f| self.raw_body(f)) {
            let mut loc = llvm!(self.api(), LLVMInstructionGetDebugLoc(inst)).some();
            while let Some(at) = loc.filter(|at| seen.insert(*at)) {
                loc = llvm!(self.api(), LLVMDILocationGetInlinedAt(at)).some();
                let Some(outer) = loc else { break };
                let symbol = self.scope_symbol(llvm!(self.api(), LLVMDILocationGetScope(at)));
                if let Some(symbol) = symbol.filter(|s| callee(s)) {
                    let file = self.scope_file(llvm!(self.api(), LLVMDILocationGetScope(outer)));
                    let line = llvm!(self.api(), LLVMDILocationGetLine(outer));
                    let column = llvm!(self.api(), LLVMDILocationGetColumn(outer));
                    return Some(InlinedCall { callee: symbol, place: (file, line, column) });
                }
            }
        }
        None
    }

    /// Where in the source a function of this module begins: file and line.
    pub fn function_place(&self, name: &str) -> Option<(String, u32)> {
        let function = self.symbol(name).ok()?;
        if llvm!(self.api(), LLVMGetValueKind(function)) != value_kind::FUNCTION {
            return None;
        }
        let subprogram = llvm!(self.api(), LLVMGetSubprogram(function)).some()?;
        Some((self.scope_file(subprogram), llvm!(self.api(), LLVMDISubprogramGetLine(subprogram))))
    }

    /// The file of a scope, with its directory unless it is absolute.
    pub(crate) fn scope_file(&self, scope: MetadataRef) -> String {
        let api = self.api();
        let Some(file) = llvm!(api, LLVMDIScopeGetFile(scope)).some() else { return String::new() };
        let (mut name_len, mut dir_len) = (0, 0);
        let name = llvm!(api, LLVMDIFileGetFilename(file, &mut name_len));
        let name = api.text(name, name_len as usize);
        let directory = llvm!(api, LLVMDIFileGetDirectory(file, &mut dir_len));
        let directory = api.text(directory, dir_len as usize);
        std::path::Path::new(&directory).join(name).to_string_lossy().into_owned()
    }

    /// The function a scope is in, demangled where it has a linkage name.
    pub(crate) fn scope_function(&self, scope: MetadataRef) -> String {
        let Some(operands) = self.subprogram(scope) else { return String::new() };
        let linkage = self.scope_symbol(scope).map(|symbol| demangle(&symbol));
        linkage.or_else(|| self.text_at(&operands, NAME)).unwrap_or_default()
    }

    /// The linker symbol of the function a scope is in.
    fn scope_symbol(&self, scope: MetadataRef) -> Option<String> {
        self.text_at(&self.subprogram(scope)?, LINKAGE_NAME).filter(|symbol| !symbol.is_empty())
    }

    /// The operands of the subprogram a scope is in.
    fn subprogram(&self, mut scope: MetadataRef) -> Option<Vec<ValueRef>> {
        for _ in 0..64 {
            let operands = self.metadata_operands(scope);
            if llvm!(self.api(), LLVMGetMetadataKind(scope)) == SUBPROGRAM {
                return Some(operands);
            }
            scope = llvm!(self.api(), LLVMValueAsMetadata(operands.get(SCOPE)?.some()?));
        }
        None
    }

    fn text_at(&self, operands: &[ValueRef], index: usize) -> Option<String> {
        let value = operands.get(index)?.some()?;
        let mut len = 0;
        let text = llvm!(self.api(), LLVMGetMDString(value, &mut len));
        Some(self.api().text(text, len as usize))
    }

    fn metadata_operands(&self, node: MetadataRef) -> Vec<ValueRef> {
        let api = self.api();
        let value = llvm!(api, LLVMMetadataAsValue(self.raw_context(), node));
        let mut operands = vec![ValueRef::NULL; llvm!(api, LLVMGetMDNodeNumOperands(value)) as usize];
        llvm!(api, LLVMGetMDNodeOperands(value, operands.as_mut_ptr()));
        operands
    }
}
