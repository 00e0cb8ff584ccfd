//! What a user is told when LLVM ends the process it runs in.

use pullback_llvm::{Context, Llvm, Module};
use std::path::Path;
use std::process::Command;

/// A module for which LLVM's code generator gives up by ending the process: 64-bit code for a CPU that has none. The
/// driver, started as rustc starts it, says so as an error, with what it was at.
#[test]
fn a_fatal_error_of_llvm_is_an_error_like_others() {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let llvm = Llvm::load(Path::new(String::from_utf8(sysroot.stdout).unwrap().trim())).unwrap();
    let text = r#"
        target triple = "x86_64-unknown-linux-gnu"
        define double @f(double %x) "target-cpu"="i386" {
          ret double %x
        }
    "#;
    let dir = tempfile::tempdir().unwrap();
    let object = dir.path().join("module.o");
    std::fs::write(&object, Module::parse_ir(&Context::new(&llvm), "f", text).unwrap().write_bitcode()).unwrap();
    let linker = dir.path().join("pullback-linker");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cargo-pullback"), &linker).unwrap();

    let output = Command::new(&linker).arg(&object).arg("-o").arg(dir.path().join("f")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: the link driver has crashed\n"), "{said}");
    for part in
        ["it was at: optimise modules / optimise `module.o`", "LLVM ERROR: 64-bit code requested", "please report it"]
    {
        assert!(said.contains(part), "{said}");
    }
}
