//! LLVM to Pullback's IR.
//!
//! Given a module that [`normalise`](crate::normalise()) prepared, imports every function reachable from the roots.
//! Phis become block parameters, address computations byte offsets, `memcpy` and the allocator's functions
//! instructions; landing pads become functions. What the IR has no word for (atomics, inline assembly, vectors) becomes
//! an opaque instruction that remembers the original, so that [`Imported::export`] can copy it.
//!
//! The result owns the module: the originals have to stay alive and in place.

mod calls;
mod constants;
mod debug_loc;
mod function;
mod inst;
mod landing_pads;
mod math;
mod types;

pub(crate) use calls::Allocator;
pub use calls::is_known;

use crate::error::{Error, Result};
use crate::ffi::{BlockRef, MetadataRef, TypeRef, ValueRef, llvm};
use crate::kinds::type_kind;
use crate::module::Module;
use pullback_ir::{FuncId, Function, Global, GlobalId, OpaqueId, SourceLoc};
use std::collections::HashMap;

/// What becomes of a function on import.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Policy {
    /// With its body, if it has one.
    #[default]
    Import,
    /// As a declaration.
    Declare,
    /// As a declaration whose calls carry no derivative.
    Inactive,
}

/// Functions in Pullback's IR, with the LLVM module they came from.
pub struct Imported {
    /// The functions. New ones may be added and exported.
    pub ir: pullback_ir::Module,
    /// Functions that have a body in LLVM but were left as declarations, and why.
    pub skipped: Vec<(FuncId, String)>,
    pub(crate) opaque: OpaqueTable,
    /// The function that the unwinder asks what to do with a panic, if the program cleans up anywhere.
    pub(crate) personality: Option<ValueRef>,
    pub(crate) module: Module,
}

impl Imported {
    /// The module the functions came from, with what was exported.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Give the module back, with what was exported.
    pub fn into_module(self) -> Module {
        self.module
    }
}

/// The originals of what the IR does not model.
#[derive(Default)]
pub(crate) struct OpaqueTable {
    pub entries: Vec<OpaqueEntry>,
    /// LLVM types by the name they have in the IR.
    pub types: HashMap<String, TypeRef>,
    constants: HashMap<ValueRef, OpaqueId>,
}

/// An instruction or constant of the module.
pub(crate) struct OpaqueEntry {
    pub value: ValueRef,
    /// For an instruction: the index in the original of each operand that the IR has.
    pub operands: Vec<u32>,
}

impl OpaqueTable {
    fn add(&mut self, value: ValueRef, operands: Vec<u32>) -> OpaqueId {
        self.entries.push(OpaqueEntry { value, operands });
        OpaqueId::from_index(self.entries.len() - 1)
    }

    fn constant(&mut self, value: ValueRef) -> OpaqueId {
        if let Some(id) = self.constants.get(&value) {
            return *id;
        }
        let id = self.add(value, Vec::new());
        self.constants.insert(value, id);
        id
    }
}

/// Import everything reachable from `roots`. `policy` is asked for each function by its linker symbol. A function whose
/// body cannot be imported becomes a declaration; for a root that is an error.
pub fn import_functions(module: Module, roots: &[&str], policy: &dyn Fn(&str) -> Policy) -> Result<Imported> {
    let mut importer = Importer {
        module: &module,
        ir: pullback_ir::Module::new(),
        opaque: OpaqueTable::default(),
        functions: HashMap::new(),
        globals: HashMap::new(),
        locations: HashMap::new(),
        pending: Vec::new(),
        landing_pads: HashMap::new(),
        personality: None,
        skipped: Vec::new(),
        policy,
    };
    for root in roots {
        let function = module.function_named(root).ok_or_else(|| Error::NoSymbol((*root).to_owned()))?;
        importer.function(function);
    }
    while let Some((function, id)) = importer.pending.pop() {
        let name = module.name_of(function);
        match importer.body(function, id) {
            Ok(body) => *importer.ir.func_mut(id) = body,
            Err(reason) if roots.contains(&name.as_str()) => {
                return Err(Error::Import { function: demangle(&name), reason });
            }
            Err(reason) => importer.skipped.push((id, reason)),
        }
    }
    let Importer { ir, opaque, skipped, personality, .. } = importer;
    Ok(Imported { ir, skipped, opaque, personality, module })
}

/// What is known while a module is imported.
pub(crate) struct Importer<'m> {
    module: &'m Module,
    ir: pullback_ir::Module,
    opaque: OpaqueTable,
    functions: HashMap<ValueRef, FuncId>,
    globals: HashMap<ValueRef, GlobalId>,
    locations: HashMap<MetadataRef, SourceLoc>,
    /// Functions that are declared and whose bodies are still to come.
    pending: Vec<(ValueRef, FuncId)>,
    landing_pads: HashMap<BlockRef, landing_pads::LandingPad>,
    personality: Option<ValueRef>,
    skipped: Vec<(FuncId, String)>,
    policy: &'m dyn Fn(&str) -> Policy,
}

impl Importer<'_> {
    /// The IR function of an LLVM function; declared, and its body put on the list, when it is new.
    fn function(&mut self, raw: ValueRef) -> FuncId {
        if let Some(id) = self.functions.get(&raw) {
            return *id;
        }
        let module = self.module;
        let name = module.name_of(raw);
        let policy = (self.policy)(&name);
        let ty = llvm!(module.api(), LLVMGlobalGetValueType(raw));
        let (params, ret) = self.signature(ty);
        let mut function = Function::new(name, params, ret);
        function.attrs = module.func_attrs(raw, policy == Policy::Inactive);
        let has_body = !module.is_declaration(raw) && policy == Policy::Import;
        // The importer may have declared it already, for a `realloc`.
        let id = self.ir.declare(&function.name.clone(), || function);
        self.functions.insert(raw, id);
        if has_body {
            self.pending.push((raw, id));
        }
        id
    }

    /// The IR global of an LLVM global variable.
    fn global(&mut self, raw: ValueRef) -> GlobalId {
        if let Some(id) = self.globals.get(&raw) {
            return *id;
        }
        let (module, api) = (self.module, self.module.api());
        let ty = llvm!(api, LLVMGlobalGetValueType(raw));
        let sized = llvm!(api, LLVMTypeIsSized(ty)) != 0;
        let layout = llvm!(api, LLVMGetModuleDataLayout(module.raw));
        let init = if module.is_declaration(raw) { ValueRef::NULL } else { llvm!(api, LLVMGetInitializer(raw)) };
        let data = init.some().and_then(|init| module.flatten_constant(init).ok());
        let id = self.ir.add_global(Global {
            name: module.name_of(raw),
            size: if sized { llvm!(api, LLVMABISizeOfType(layout, ty)) } else { 0 },
            align: u64::from(llvm!(api, LLVMGetAlignment(raw)).max(1)),
            constant: llvm!(api, LLVMIsGlobalConstant(raw)) != 0,
            bytes: data.filter(|d| d.relocs.is_empty()).map(|d| d.bytes),
        });
        self.globals.insert(raw, id);
        id
    }

    /// Parameter and result types of a function type.
    fn signature(&mut self, ty: TypeRef) -> (Vec<pullback_ir::Type>, Option<pullback_ir::Type>) {
        let api = self.module.api();
        let mut params = vec![TypeRef::NULL; llvm!(api, LLVMCountParamTypes(ty)) as usize];
        llvm!(api, LLVMGetParamTypes(ty, params.as_mut_ptr()));
        let ret = llvm!(api, LLVMGetReturnType(ty));
        let is_void = llvm!(api, LLVMGetTypeKind(ret)) == type_kind::VOID;
        let params = params.into_iter().map(|t| self.ty(t)).collect();
        (params, (!is_void).then(|| self.ty(ret)))
    }
}

/// A symbol as a programmer knows it, without the hash.
pub(crate) fn demangle(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}
