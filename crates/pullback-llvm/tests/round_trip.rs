//! Import and export together change nothing: each function of `programs/functions.rs` is imported, exported under
//! another name, compiled, linked with the original and run beside it.

mod common;

use common::{TempDir, Toolchain, toolchains};
use pullback_ir::FuncId;
use pullback_llvm::{Context, Imported, Module, NormaliseOptions, Policy, TargetOptions, import_functions, normalise};
use std::path::Path;

const FUNCTIONS: [&str; 15] = [
    "loops",
    "vectors",
    "enums",
    "swaps",
    "recursion",
    "options",
    "formatting",
    "math",
    "integers",
    "lists",
    "dynamic",
    "atomics",
    "maps",
    "simd_like",
    "panics",
];

/// A copy of each root under the name `<root>_again`.
fn duplicate(imported: &mut Imported) -> Vec<FuncId> {
    FUNCTIONS
        .iter()
        .map(|name| {
            let id = imported.ir.find(name).expect("the root was imported");
            let mut copy = imported.ir.func(id).clone();
            copy.name = format!("{name}_again");
            imported.ir.add_function(copy)
        })
        .collect()
}

/// The object code of the copies, from bitcode of the originals.
fn reexport(toolchain: &Toolchain, bitcode: &[u8], opt_level: &str) -> Vec<u8> {
    let context = Context::new(&toolchain.llvm);
    let mut module = Module::parse_bitcode(&context, "functions", bitcode).expect("LLVM reads rustc's bitcode");
    normalise(&mut module, &FUNCTIONS, &NormaliseOptions::default()).expect("the passes run");
    module.verify().expect("the passes leave a sound module");
    let mut imported = import_functions(module, &FUNCTIONS, &|_| Policy::Import).expect("everything imports");
    if std::env::var_os("PULLBACK_SHOW").is_some() {
        println!("; {opt_level}\n{}", imported.module().print());
        println!("; {opt_level}\n{}", imported.ir);
    }
    pullback_ir::verify::verify_module(&imported.ir).expect("the imported module is sound");
    let copies = duplicate(&mut imported);
    imported.export(&copies, "loops").expect("everything exports");
    let mut module = imported.into_module();
    module.verify().expect("the exported module is sound");
    let names: Vec<String> = FUNCTIONS.iter().map(|name| format!("{name}_again")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    module.internalize(&names);
    let options = TargetOptions::default();
    module.run_passes("default<O3>", &options).expect("LLVM's pipeline runs");
    module.emit_object(&options).expect("LLVM generates code")
}

fn main_program() -> String {
    let mut text = String::from("include!(\"functions.rs\");\nunsafe extern \"Rust\" {\n");
    for name in FUNCTIONS {
        text += &format!("    fn {name}_again(x: &[f64], out: &mut [f64]) -> f64;\n");
    }
    text += "}\nfn main() {\n    std::panic::set_hook(Box::new(|_| {}));\n    let mut failed = false;\n    let x = \
             [0.3, 0.9, 1.7, 0.45, 2.5, 0.61];\n";
    for name in FUNCTIONS {
        text += &format!(
            "    let (mut a, mut b) = ([0.0; 6], [0.0; 6]);\n    \
             let (p, q) = ({name}(&x, &mut a), unsafe {{ {name}_again(&x, &mut b) }});\n    \
             if (p.to_bits(), a.map(f64::to_bits)) != (q.to_bits(), b.map(f64::to_bits)) {{\n        \
             println!(\"{name}: {{p:?}} {{a:?}} against {{q:?}} {{b:?}}\");\n        \
             failed = true;\n    }}\n"
        );
    }
    text + "    std::process::exit(i32::from(failed));\n}\n"
}

fn check(toolchain: &Toolchain, opt_level: &str) {
    let dir = TempDir::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/functions.rs");
    std::fs::copy(&source, dir.path().join("functions.rs")).expect("the temporary directory is writable");
    let bitcode = toolchain.bitcode(dir.path(), &source, opt_level);
    let object = dir.path().join("again.o");
    std::fs::write(&object, reexport(toolchain, &bitcode, opt_level)).expect("the temporary directory is writable");
    let main = dir.path().join("main.rs");
    std::fs::write(&main, main_program()).expect("the temporary directory is writable");
    let program = dir.path().join("program");
    let mut rustc = toolchain.rustc();
    rustc.args(["--edition=2024", "-Aimproper_ctypes", "-Clink-dead-code"]).arg(&main).arg("-o").arg(&program);
    let status = rustc.arg(format!("-Clink-arg={}", object.display())).status().expect("rustc runs");
    assert!(status.success(), "the originals and the copies link");
    let output = std::process::Command::new(&program).output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "the copies compute what the originals compute ({}):\n{text}", output.status);
}

#[test]
fn unoptimised_code_survives_the_round_trip() {
    for toolchain in toolchains() {
        check(&toolchain, "0");
    }
}

#[test]
fn optimised_code_survives_the_round_trip() {
    for toolchain in toolchains() {
        check(&toolchain, "3");
    }
}
