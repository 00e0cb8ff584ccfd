//! Pullback's IR to LLVM.

use crate::error::Result;
use crate::import::Imported;
use pullback_ir::FuncId;

impl Imported {
    /// Emit these functions of [`Imported::ir`] into the module as external hidden definitions. They get the target
    /// attributes of the function `template`.
    pub fn export(&mut self, functions: &[FuncId], template: &str) -> Result<()> {
        let _ = (functions, template);
        todo!()
    }
}
