//! Prepares a module for import: inlines, promotes memory to values, brings loops into their usual form.

use crate::error::Result;
use crate::module::Module;
use crate::target::TargetOptions;

/// What [`normalise`] is told besides the roots.
#[derive(Clone, Debug, Default)]
pub struct NormaliseOptions {
    /// Functions that are never inlined.
    pub keep: Vec<String>,
    /// The target, for the passes that ask for costs.
    pub target: TargetOptions,
}

/// Prepare the functions `roots` of a working copy for import.
pub fn normalise(module: &mut Module, roots: &[&str], options: &NormaliseOptions) -> Result<()> {
    let _ = (module, roots, options);
    todo!()
}
