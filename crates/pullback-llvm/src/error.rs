//! What can go wrong between bitcode and Pullback's IR.

use std::path::PathBuf;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The toolchain has no libLLVM where rustc puts it.
    #[error("no libLLVM under {}; is this the sysroot of a rustc that ships its own LLVM?", .sysroot.display())]
    NoLibrary {
        /// Where it was looked for.
        sysroot: PathBuf,
    },
    /// The library does not load.
    #[error("cannot load {}: {reason}", .path.display())]
    Library {
        /// The library.
        path: PathBuf,
        /// The loader's words.
        reason: String,
    },
    /// The library lacks a function that is needed.
    #[error("{} has no function {symbol}; this LLVM is too old or too new for Pullback", .path.display())]
    MissingSymbol {
        /// The library.
        path: PathBuf,
        /// The function.
        symbol: &'static str,
    },
    /// Bitcode or IR text that LLVM does not read.
    #[error("LLVM cannot read {name}: {reason}")]
    Parse {
        /// The module.
        name: String,
        /// LLVM's words.
        reason: String,
    },
    /// Two modules that do not link.
    #[error("LLVM cannot link the modules: {0}")]
    Link(String),
    /// A module that breaks LLVM's rules.
    #[error("LLVM's verifier rejects the module: {0}")]
    Verify(String),
    /// A pass pipeline that does not exist or failed.
    #[error("LLVM cannot run the passes `{pipeline}`: {reason}")]
    Passes {
        /// The pipeline.
        pipeline: String,
        /// LLVM's words.
        reason: String,
    },
    /// No code generator for the module's target, or it failed.
    #[error("LLVM cannot generate code for {triple}: {reason}")]
    Target {
        /// The target triple.
        triple: String,
        /// LLVM's words.
        reason: String,
    },
    /// A symbol that the module does not have.
    #[error("the module has no symbol {0}")]
    NoSymbol(String),
    /// A constant whose bytes cannot be told.
    #[error("the constant {symbol} is not plain data and addresses: {reason}")]
    Constant {
        /// The global.
        symbol: String,
        /// What is in the way.
        reason: String,
    },
    /// Code that cannot be imported, even as an opaque instruction.
    #[error("cannot import {function}: {reason}")]
    Import {
        /// The function, demangled.
        function: String,
        /// What is in the way.
        reason: String,
    },
    /// IR that cannot be exported.
    #[error("cannot export {function}: {reason}")]
    Export {
        /// The function.
        function: String,
        /// What is in the way.
        reason: String,
    },
}

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;
