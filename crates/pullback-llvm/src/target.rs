//! Target machines: pass pipelines with the target's costs, and object code.

use crate::error::{Error, Result};
use crate::ffi::{BufferRef, MachineRef, TargetRef, ValueRef, llvm};
use crate::module::{Module, c_string};
use std::ptr::null_mut;

/// How hard the code generator tries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs)]
pub enum OptLevel {
    None,
    Less,
    Default,
    #[default]
    Aggressive,
}

/// What kind of addresses the code may hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs)]
pub enum RelocModel {
    Static,
    #[default]
    Pic,
    DynamicNoPic,
}

/// How far apart code and data may lie.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs)]
pub enum CodeModel {
    #[default]
    Default,
    Small,
    Kernel,
    Medium,
    Large,
}

/// The machine code is for: as rustc's `-C` options give it. The triple is the module's.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TargetOptions {
    /// `-C target-cpu`; empty is the target's generic one.
    pub cpu: String,
    /// `-C target-feature`, in LLVM's words: `+avx2,-sse4a`.
    pub features: String,
    /// How hard the code generator tries.
    pub opt_level: OptLevel,
    /// The relocation model.
    pub reloc: RelocModel,
    /// The code model.
    pub code_model: CodeModel,
}

/// `LLVMObjectFile` of `LLVMCodeGenFileType`.
const OBJECT_FILE: i32 = 1;

/// A target machine, disposed of at the end.
pub(crate) struct Machine<'m> {
    module: &'m Module,
    pub raw: MachineRef,
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        llvm!(self.module.api(), LLVMDisposeTargetMachine(self.raw));
    }
}

impl Module {
    pub(crate) fn machine(&self, options: &TargetOptions) -> Result<Machine<'_>> {
        let api = self.api();
        let triple = self.triple();
        let c_triple = c_string(&triple);
        let mut target = TargetRef::NULL;
        let mut message = null_mut();
        if llvm!(api, LLVMGetTargetFromTriple(c_triple.as_ptr(), &mut target, &mut message)) != 0 {
            return Err(Error::Target { triple, reason: api.take_message(message) });
        }
        let reloc = match options.reloc {
            RelocModel::Static => 1,
            RelocModel::Pic => 2,
            RelocModel::DynamicNoPic => 3,
        };
        let code_model = match options.code_model {
            CodeModel::Default => 0,
            CodeModel::Small => 3,
            CodeModel::Kernel => 4,
            CodeModel::Medium => 5,
            CodeModel::Large => 6,
        };
        let (cpu, features) = (c_string(&options.cpu), c_string(&options.features));
        let level = options.opt_level as i32;
        let raw = llvm!(
            api,
            LLVMCreateTargetMachine(
                target,
                c_triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                level,
                reloc,
                code_model
            )
        );
        if raw.is_null() {
            return Err(Error::Target { triple, reason: "there is no such machine".to_owned() });
        }
        Ok(Machine { module: self, raw })
    }

    /// Run a pass pipeline, given as `opt -passes=` takes it: `default<O3>`, `function(sroa,gvn)`. Vectorisers run
    /// where the pipeline has them.
    pub fn run_passes(&mut self, pipeline: &str, options: &TargetOptions) -> Result<()> {
        let machine = self.machine(options)?;
        self.run_on(None, pipeline, &machine)
    }

    /// Run a pipeline on the module, or on one function of it.
    pub(crate) fn run_on(&self, function: Option<ValueRef>, pipeline: &str, machine: &Machine<'_>) -> Result<()> {
        let api = self.api();
        let options = llvm!(api, LLVMCreatePassBuilderOptions());
        llvm!(api, LLVMPassBuilderOptionsSetLoopInterleaving(options, 1));
        llvm!(api, LLVMPassBuilderOptionsSetLoopVectorization(options, 1));
        llvm!(api, LLVMPassBuilderOptionsSetSLPVectorization(options, 1));
        let passes = c_string(pipeline);
        let error = match function {
            None => llvm!(api, LLVMRunPasses(self.raw, passes.as_ptr(), machine.raw, options)),
            Some(f) => llvm!(api, LLVMRunPassesOnFunction(f, passes.as_ptr(), machine.raw, options)),
        };
        llvm!(api, LLVMDisposePassBuilderOptions(options));
        match api.take_error(error) {
            Some(reason) => Err(Error::Passes { pipeline: pipeline.to_owned(), reason }),
            None => Ok(()),
        }
    }

    /// The module as an object file. Run the passes first: this only generates code.
    pub fn emit_object(&mut self, options: &TargetOptions) -> Result<Vec<u8>> {
        let api = self.api();
        let machine = self.machine(options)?;
        let mut message = null_mut();
        let mut buffer = BufferRef::NULL;
        let failed = llvm!(
            api,
            LLVMTargetMachineEmitToMemoryBuffer(machine.raw, self.raw, OBJECT_FILE, &mut message, &mut buffer)
        ) != 0;
        let errors = self.context.take_errors();
        if failed || !errors.is_empty() {
            let reason = if failed { api.take_message(message) } else { errors };
            return Err(Error::Target { triple: self.triple(), reason });
        }
        Ok(api.take_buffer(buffer))
    }
}
