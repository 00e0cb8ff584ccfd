//! Rustc's bitcode to Pullback's IR and back, through the libLLVM of the rustc in use.
//!
//! The library is loaded at run time from the toolchain's sysroot, so one binary serves every toolchain. The way of a
//! derivative through this crate:
//!
//! ```text
//! Module::parse_bitcode ▶ calls_of, constant_data (requests) ▶ link_in (bodies from elsewhere)
//!   ▶ normalise ▶ import_functions ▶ [pullback-ad works on Imported::ir] ▶ Imported::export ▶ into_module
//!   ▶ run_passes ▶ emit_object
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`context`] | the library, loaded; contexts |
//! | [`module`] | modules: read, write, link, verify |
//! | [`references`] | what a symbol refers to |
//! | [`symbols`] | functions and globals by name: linkage, renaming, deleting |
//! | [`const_data`] | constants as bytes and relocations |
//! | [`debug_info`] | where code stood in the source, and in which function |
//! | [`calls`] | the calls of a symbol: found and replaced |
//! | [`target`] | pass pipelines and object code |
//! | [`mod@normalise`] | the passes that prepare a function for import |
//! | `builtins` | calls that the passes may not rewrite or fold |
//! | `speculation` | operations that the passes may not execute ahead of a branch |
//! | [`import`] | LLVM to Pullback's IR |
//! | [`export`] | Pullback's IR to LLVM |
//!
//! This is the only crate of the project with `unsafe` code outside the run-time support. Its public interface is safe:
//! a module keeps its context alive, and whatever holds handles into a module borrows or owns it.

mod attributes;
mod builtins;
mod call_graph;
pub mod calls;
mod comparisons;
pub mod const_data;
pub mod context;
pub mod debug_info;
pub mod error;
pub mod export;
mod ffi;
pub mod import;
mod inlining;
mod kinds;
pub mod module;
pub mod normalise;
pub mod references;
mod speculation;
pub mod symbols;
pub mod target;
mod vectors;
mod x86;

pub use attributes::Parameter;
pub use calls::CallSite;
pub use const_data::{ConstData, Reloc};
pub use context::{Context, Llvm};
pub use debug_info::InlinedCall;
pub use error::{Error, Result};
pub use ffi::OPTIONS;
pub use import::{Imported, Policy, import_functions, is_known};
pub use module::Module;
pub use normalise::{NormaliseOptions, normalise};
pub use symbols::{Linkage, Symbol, Visibility};
pub use target::{CodeModel, OptLevel, RelocModel, TargetOptions};
