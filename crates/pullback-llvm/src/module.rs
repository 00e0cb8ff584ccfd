//! LLVM modules: reading, writing, copying, linking, verifying.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::ffi::{Api, BlockRef, ContextRef, InstRef, ModuleRef, ValueRef, llvm};
use std::ffi::CString;

/// An LLVM module. Methods that change it take `&mut self`, so that whoever holds a shared reference may keep handles
/// to what is in it.
pub struct Module {
    pub(crate) context: Context,
    pub(crate) raw: ModuleRef,
}

impl Module {
    /// Read bitcode. Globals without a name get one.
    pub fn parse_bitcode(context: &Context, name: &str, bytes: &[u8]) -> Result<Module> {
        Self::parse(context, name, bytes)
    }

    /// Read LLVM IR text.
    pub fn parse_ir(context: &Context, name: &str, text: &str) -> Result<Module> {
        Self::parse(context, name, text.as_bytes())
    }

    fn parse(context: &Context, name: &str, bytes: &[u8]) -> Result<Module> {
        let api = &*context.inner.api;
        let c_name = c_string(name);
        let buffer =
            llvm!(api, LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes.as_ptr().cast(), bytes.len(), c_name.as_ptr()));
        let mut raw = ModuleRef::NULL;
        let mut message = std::ptr::null_mut();
        let failed = llvm!(api, LLVMParseIRInContext(context.inner.raw, buffer, &mut raw, &mut message)) != 0;
        let reason = api.take_message(message);
        let errors = context.take_errors();
        if failed {
            let reason = if reason.is_empty() { errors } else { reason };
            return Err(Error::Parse { name: name.to_owned(), reason });
        }
        let module = Module { context: context.clone(), raw };
        module.name_globals();
        Ok(module)
    }

    /// Anonymous globals (`@0`) get a name, since this crate speaks of globals by name.
    fn name_globals(&self) {
        for (index, global) in self.raw_globals().into_iter().enumerate() {
            if self.name_of(global).is_empty() {
                let name = format!("__pullback_anonymous.{index}");
                llvm!(self.api(), LLVMSetValueName2(global, name.as_ptr().cast(), name.len()));
            }
        }
    }

    /// The module as bitcode.
    pub fn write_bitcode(&self) -> Vec<u8> {
        let buffer = llvm!(self.api(), LLVMWriteBitcodeToMemoryBuffer(self.raw));
        self.api().take_buffer(buffer)
    }

    /// The module as LLVM IR text.
    pub fn print(&self) -> String {
        let message = llvm!(self.api(), LLVMPrintModuleToString(self.raw));
        self.api().take_message(message)
    }

    /// A copy in the same context.
    pub fn clone_module(&self) -> Module {
        let raw = llvm!(self.api(), LLVMCloneModule(self.raw));
        Module { context: self.context.clone(), raw }
    }

    /// Link `other`, a module of the same context, into this one.
    pub fn link_in(&mut self, other: Module) -> Result<()> {
        if other.context.inner.raw != self.context.inner.raw {
            return Err(Error::Link("they belong to different contexts".to_owned()));
        }
        // LLVM consumes the source, so its destructor must not run.
        let other = std::mem::ManuallyDrop::new(other);
        let failed = llvm!(self.api(), LLVMLinkModules2(self.raw, other.raw)) != 0;
        // SAFETY: the context of the forgotten module is dropped here, once.
        drop(unsafe { std::ptr::read(&other.context) });
        let errors = self.context.take_errors();
        if failed { Err(Error::Link(errors)) } else { Ok(()) }
    }

    /// Check LLVM's rules.
    pub fn verify(&self) -> Result<()> {
        const RETURN_STATUS: i32 = 2;
        let mut message = std::ptr::null_mut();
        let broken = llvm!(self.api(), LLVMVerifyModule(self.raw, RETURN_STATUS, &mut message)) != 0;
        let reason = self.api().take_message(message);
        if broken { Err(Error::Verify(reason)) } else { Ok(()) }
    }

    /// The target triple.
    pub fn triple(&self) -> String {
        let triple = llvm!(self.api(), LLVMGetTarget(self.raw));
        // SAFETY: the module owns this C string.
        unsafe { std::ffi::CStr::from_ptr(triple) }.to_string_lossy().into_owned()
    }

    /// Whether its debug information says that it is optimised code, or is meant to be: whether it was compiled at an
    /// opt-level above 0.
    pub fn says_optimised(&self) -> bool {
        let name = c"llvm.dbg.cu";
        let count = llvm!(self.api(), LLVMGetNamedMetadataNumOperands(self.raw, name.as_ptr()));
        let mut units = vec![ValueRef::NULL; count as usize];
        if count > 0 {
            llvm!(self.api(), LLVMGetNamedMetadataOperands(self.raw, name.as_ptr(), units.as_mut_ptr()));
        }
        units.into_iter().any(|unit| {
            let text = self.api().take_message(llvm!(self.api(), LLVMPrintValueToString(unit)));
            text.contains("isOptimized: true")
        })
    }

    /// The context this module belongs to.
    pub fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn api(&self) -> &Api {
        &self.context.inner.api
    }

    pub(crate) fn raw_context(&self) -> ContextRef {
        self.context.inner.raw
    }

    pub(crate) fn name_of(&self, value: ValueRef) -> String {
        let mut len = 0;
        let name = llvm!(self.api(), LLVMGetValueName2(value, &mut len));
        self.api().text(name, len)
    }

    pub(crate) fn raw_functions(&self) -> Vec<ValueRef> {
        let first = llvm!(self.api(), LLVMGetFirstFunction(self.raw));
        chain(first, |f| llvm!(self.api(), LLVMGetNextFunction(f)))
    }

    pub(crate) fn raw_globals(&self) -> Vec<ValueRef> {
        let first = llvm!(self.api(), LLVMGetFirstGlobal(self.raw));
        chain(first, |g| llvm!(self.api(), LLVMGetNextGlobal(g)))
    }

    pub(crate) fn raw_aliases(&self) -> Vec<ValueRef> {
        let first = llvm!(self.api(), LLVMGetFirstGlobalAlias(self.raw));
        chain(first, |g| llvm!(self.api(), LLVMGetNextGlobalAlias(g)))
    }

    pub(crate) fn raw_blocks(&self, function: ValueRef) -> Vec<BlockRef> {
        let mut blocks = Vec::new();
        let mut next = llvm!(self.api(), LLVMGetFirstBasicBlock(function));
        while let Some(block) = next.some() {
            blocks.push(block);
            next = llvm!(self.api(), LLVMGetNextBasicBlock(block));
        }
        blocks
    }

    pub(crate) fn raw_insts(&self, block: BlockRef) -> Vec<InstRef> {
        let first = llvm!(self.api(), LLVMGetFirstInstruction(block));
        std::iter::successors(first.some(), |i| llvm!(self.api(), LLVMGetNextInstruction(*i)).some()).collect()
    }

    /// Every instruction of a function.
    pub(crate) fn raw_body(&self, function: ValueRef) -> Vec<InstRef> {
        self.raw_blocks(function).into_iter().flat_map(|block| self.raw_insts(block)).collect()
    }

    pub(crate) fn function_named(&self, name: &str) -> Option<ValueRef> {
        llvm!(self.api(), LLVMGetNamedFunction(self.raw, c_string(name).as_ptr())).some()
    }

    pub(crate) fn global_named(&self, name: &str) -> Option<ValueRef> {
        llvm!(self.api(), LLVMGetNamedGlobal(self.raw, c_string(name).as_ptr())).some()
    }

    /// The function or global of this name.
    pub(crate) fn symbol(&self, name: &str) -> Result<ValueRef> {
        let found = self.function_named(name).or_else(|| self.global_named(name));
        found.ok_or_else(|| Error::NoSymbol(name.to_owned()))
    }

    pub(crate) fn is_declaration(&self, value: ValueRef) -> bool {
        llvm!(self.api(), LLVMIsDeclaration(value)) != 0
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        llvm!(self.api(), LLVMDisposeModule(self.raw));
    }
}

/// The handles from `first` on, until the null handle.
fn chain(first: ValueRef, next: impl Fn(ValueRef) -> ValueRef) -> Vec<ValueRef> {
    std::iter::successors(first.some(), |v| next(*v).some()).collect()
}

/// A C string of `text`; linker symbols have no NUL inside.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_else(|_| CString::new(text.replace('\0', "")).expect("the NULs are gone"))
}
