//! What the tests share: toolchains, and Rust snippets compiled to bitcode.
#![allow(dead_code)]

use pullback_llvm::{Context, Llvm, Module};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A rustc and its libLLVM.
pub struct Toolchain {
    /// What follows `rustc` on the command line: nothing, or `+nightly`.
    select: Option<&'static str>,
    pub llvm: Llvm,
}

impl Toolchain {
    pub fn rustc(&self) -> Command {
        let mut command = Command::new("rustc");
        command.args(self.select);
        command
    }

    fn find(select: Option<&'static str>) -> Option<Toolchain> {
        let output = Command::new("rustc").args(select).args(["--print", "sysroot"]).output().ok()?;
        let sysroot = String::from_utf8(output.stdout).ok()?;
        let llvm = Llvm::load(Path::new(sysroot.trim())).ok().filter(|_| output.status.success())?;
        Some(Toolchain { select, llvm })
    }

    /// Compile Rust source to bitcode.
    pub fn bitcode(&self, dir: &Path, source: &Path, opt_level: &str) -> Vec<u8> {
        let out = dir.join("snippet.bc");
        let status = self
            .rustc()
            .args(["--edition=2024", "--crate-type=lib", "--emit=llvm-bc", "-Clinker-plugin-lto", "-Cdebuginfo=1"])
            .args(["-Ccodegen-units=1", "-Awarnings"])
            .arg(format!("-Copt-level={opt_level}"))
            .arg(source)
            .arg("-o")
            .arg(&out)
            .status()
            .expect("rustc runs");
        assert!(status.success(), "rustc compiles {}", source.display());
        std::fs::read(out).expect("rustc wrote bitcode")
    }

    /// Compile a Rust snippet to a module.
    pub fn module(&self, source: &str, opt_level: &str) -> Module {
        let dir = TempDir::new();
        let path = dir.path().join("snippet.rs");
        std::fs::write(&path, source).expect("the temporary directory is writable");
        let bytes = self.bitcode(dir.path(), &path, opt_level);
        Module::parse_bitcode(&Context::new(&self.llvm), "snippet", &bytes).expect("LLVM reads rustc's bitcode")
    }
}

/// The toolchains that are there: the default one always, a nightly one if it is installed.
pub fn toolchains() -> Vec<Toolchain> {
    let default = Toolchain::find(None).expect("the rustc in use has a libLLVM");
    std::iter::once(default).chain(Toolchain::find(Some("+nightly"))).collect()
}

/// A directory that goes away at the end.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn new() -> TempDir {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("pullback-llvm-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("the temporary directory is writable");
        TempDir(dir)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
