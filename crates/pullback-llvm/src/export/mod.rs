//! Pullback's IR to LLVM.
//!
//! Emits functions of [`Imported::ir`] into the module they were imported from, next to the originals: calls find their
//! callees there, and opaque instructions are copied from there. LLVM's verifier has the last word; run it, and the
//! optimiser, afterwards.

mod abi;
mod alias;
mod function;
mod inst;
mod landing_pads;
mod types;

use crate::error::{Error, Result};
use crate::ffi::{BuilderRef, TypeRef, ValueRef, llvm};
use crate::import::{Imported, OpaqueTable};
use crate::module::{Module, c_string};
use crate::symbols::{Linkage, Visibility};
use pullback_ir::{FuncId, Function};
use std::collections::HashMap;

impl Imported {
    /// Emit these functions of [`Imported::ir`] into the module as external hidden definitions, and what they call and
    /// LLVM has no body of. They get the target attributes (CPU, features, unwind tables) of the function `template`. A
    /// function that is called and has no body anywhere is declared. A panic may unwind through an exported function.
    pub fn export(&mut self, functions: &[FuncId], template: &str) -> Result<()> {
        let module = &self.module;
        let template = module.function_named(template).ok_or_else(|| Error::NoSymbol(template.to_owned()))?;
        let builder = llvm!(module.api(), LLVMCreateBuilderInContext(module.raw_context()));
        let mut exporter = Exporter {
            module,
            ir: &self.ir,
            opaque: &self.opaque,
            personality: self.personality,
            template,
            builder,
            functions: HashMap::new(),
            open: Vec::new(),
        };
        let result = exporter.run(functions);
        llvm!(module.api(), LLVMDisposeBuilder(builder));
        result
    }
}

/// What is known while functions are exported.
pub(crate) struct Exporter<'a> {
    module: &'a Module,
    ir: &'a pullback_ir::Module,
    opaque: &'a OpaqueTable,
    personality: Option<ValueRef>,
    /// Whose target attributes new functions get.
    template: ValueRef,
    builder: BuilderRef,
    /// LLVM's functions, by ours.
    functions: HashMap<FuncId, ValueRef>,
    /// Functions that are declared and whose bodies are still to come.
    open: Vec<FuncId>,
}

impl Exporter<'_> {
    fn run(&mut self, ids: &[FuncId]) -> Result<()> {
        for id in ids {
            let function = self.ir.func(*id);
            let fail = |reason: &str| Error::Export { function: function.name.clone(), reason: reason.to_owned() };
            if function.is_declaration() {
                return Err(fail("it has no body"));
            }
            let declared = self.module.function_named(&function.name);
            if declared.is_some_and(|f| !self.module.is_declaration(f)) {
                return Err(fail("LLVM's module has a definition of that name"));
            }
            self.add_definition(*id);
        }
        while let Some(id) = self.open.pop() {
            let function = self.ir.func(id);
            let fail = |reason| Error::Export { function: function.name.clone(), reason };
            self.function(function, self.functions[&id]).map_err(fail)?;
        }
        Ok(())
    }

    /// Declare a function whose body comes later.
    fn add_definition(&mut self, id: FuncId) -> ValueRef {
        let (module, function) = (self.module, self.ir.func(id));
        let ty = self.signature(function);
        let declared = module.function_named(&function.name);
        // A declaration may stand for it with another type: the place a marker call was replaced.
        let stale = declared.filter(|f| llvm!(module.api(), LLVMGlobalGetValueType(*f)) != ty);
        if let Some(stale) = stale {
            llvm!(module.api(), LLVMSetValueName2(stale, c"".as_ptr(), 0));
        }
        let raw = declared.filter(|_| stale.is_none()).unwrap_or_else(|| self.add_function(&function.name, ty));
        if let Some(stale) = stale {
            llvm!(module.api(), LLVMReplaceAllUsesWith(stale, raw));
            llvm!(module.api(), LLVMDeleteFunction(stale));
        }
        module.set_raw_linkage(raw, Linkage::External);
        module.set_raw_visibility(raw, Visibility::Hidden);
        self.copy_target_attributes(self.template, raw);
        self.functions.insert(id, raw);
        self.open.push(id);
        raw
    }

    /// LLVM's type for a function of the IR.
    fn signature(&self, function: &Function) -> TypeRef {
        let api = self.module.api();
        let mut params: Vec<TypeRef> = function.params.iter().map(|t| self.ty(t)).collect();
        let ret = match &function.ret {
            Some(ty) => self.ty(ty),
            None => llvm!(api, LLVMVoidTypeInContext(self.module.raw_context())),
        };
        llvm!(api, LLVMFunctionType(ret, params.as_mut_ptr(), params.len() as u32, 0))
    }

    /// The function that the unwinder asks what to do with a panic. Where the program's own code cleans up nowhere, it
    /// is std's.
    fn personality(&mut self) -> ValueRef {
        const NAME: &str = "rust_eh_personality";
        let found = self.personality.or_else(|| self.module.function_named(NAME));
        let personality = found.unwrap_or_else(|| {
            let api = self.module.api();
            let number = self.ty(&pullback_ir::Type::Int(32));
            self.add_function(NAME, llvm!(api, LLVMFunctionType(number, std::ptr::null_mut(), 0, 1)))
        });
        self.personality = Some(personality);
        personality
    }

    fn add_function(&self, name: &str, ty: TypeRef) -> ValueRef {
        llvm!(self.module.api(), LLVMAddFunction(self.module.raw, c_string(name).as_ptr(), ty))
    }

    /// LLVM's function for one of ours. If it is not there it is declared, and its body, if it has one, comes later.
    fn callee(&mut self, id: FuncId) -> ValueRef {
        if let Some(raw) = self.functions.get(&id) {
            return *raw;
        }
        let function = self.ir.func(id);
        let raw = match self.module.function_named(&function.name) {
            Some(raw) => raw,
            None if !function.is_declaration() => self.add_definition(id),
            None => {
                let raw = self.add_function(&function.name, self.signature(function));
                if function.attrs.noreturn {
                    self.module.add_attribute(raw, "noreturn");
                }
                raw
            }
        };
        self.functions.insert(id, raw);
        raw
    }
}
