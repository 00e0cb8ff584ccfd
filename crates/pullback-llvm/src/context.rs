//! The library and its contexts: what has to live for a module to live.

use crate::error::{Error, Result};
use crate::ffi::{Api, ContextRef, DiagnosticRef, llvm};
use std::cell::RefCell;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// The libLLVM of one toolchain, loaded into this process. Cheap to clone; several toolchains may be loaded at once.
#[derive(Clone)]
pub struct Llvm {
    pub(crate) api: Arc<Api>,
    path: PathBuf,
}

impl Llvm {
    /// Load the libLLVM of the rustc whose sysroot this is (`rustc --print sysroot`).
    pub fn load(sysroot: &Path) -> Result<Llvm> {
        let mut failure = None;
        for path in candidates(&sysroot.join("lib")) {
            match Api::load(&path) {
                Ok(api) => {
                    api.initialise_targets();
                    api.set_options();
                    return Ok(Llvm { api: Arc::new(api), path });
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or_else(|| Error::NoLibrary { sysroot: sysroot.to_owned() }))
    }

    /// The version: `22.1.2`, say.
    pub fn version(&self) -> String {
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        llvm!(self.api, LLVMGetVersion(&mut major, &mut minor, &mut patch));
        format!("{major}.{minor}.{patch}")
    }

    /// The library's file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The files in `lib` that may be libLLVM, the real ones first: rustup's `libLLVM-….so` is a linker script.
fn candidates(lib: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(lib) else { return Vec::new() };
    let is_llvm = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libLLVM") && (name.contains(".so") || name.ends_with(".dylib"))
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(is_llvm).collect();
    found.sort_by_key(|path| std::cmp::Reverse(std::fs::metadata(path).map(|m| m.len()).unwrap_or(0)));
    found
}

/// Owns types and constants; every module belongs to one. Cheap to clone; it lives while a clone or a module of it
/// does.
#[derive(Clone)]
pub struct Context {
    pub(crate) inner: Rc<ContextInner>,
}

pub(crate) struct ContextInner {
    pub api: Arc<Api>,
    pub raw: ContextRef,
    /// What LLVM complained about; filled by the diagnostic handler, which holds the box's address.
    diagnostics: Box<Diagnostics>,
}

struct Diagnostics {
    api: Arc<Api>,
    errors: RefCell<Vec<String>>,
}

impl Context {
    /// A new context of this library.
    pub fn new(llvm: &Llvm) -> Context {
        let api = llvm.api.clone();
        let raw = llvm!(api, LLVMContextCreate());
        let diagnostics = Box::new(Diagnostics { api: api.clone(), errors: RefCell::default() });
        let data: *const Diagnostics = &*diagnostics;
        llvm!(api, LLVMContextSetDiagnosticHandler(raw, Some(on_diagnostic), data.cast_mut().cast()));
        Context { inner: Rc::new(ContextInner { api, raw, diagnostics }) }
    }

    /// The errors LLVM reported since the last call.
    pub(crate) fn take_errors(&self) -> String {
        self.inner.diagnostics.errors.take().join("; ")
    }
}

impl Drop for ContextInner {
    fn drop(&mut self) {
        llvm!(self.api, LLVMContextDispose(self.raw));
    }
}

/// Collects errors; without a handler LLVM would print them and end the process.
extern "C" fn on_diagnostic(info: DiagnosticRef, data: *mut c_void) {
    // SAFETY: `data` is the address of the context's boxed `Diagnostics`, which outlives the LLVM context.
    let diagnostics = unsafe { &*data.cast::<Diagnostics>() };
    const ERROR: i32 = 0;
    if llvm!(diagnostics.api, LLVMGetDiagInfoSeverity(info)) == ERROR {
        let message = llvm!(diagnostics.api, LLVMGetDiagInfoDescription(info));
        diagnostics.errors.borrow_mut().push(diagnostics.api.take_message(message));
    }
}
