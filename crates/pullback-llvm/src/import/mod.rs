//! LLVM to Pullback's IR.

use crate::error::Result;
use crate::module::Module;

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
    module: Module,
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

/// Import everything reachable from `roots`.
pub fn import_functions(module: Module, roots: &[&str], policy: &dyn Fn(&str) -> Policy) -> Result<Imported> {
    let _ = (module, roots, policy);
    todo!()
}
