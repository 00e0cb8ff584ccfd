//! Users' projects of every kind, built with the driver.

mod support;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::path::Path;
use support::Project;

const MANIFEST: &str = "\
[package]
name = \"app\"
version = \"0.1.0\"
edition = \"2024\"

[dependencies]
PULLBACK
";

/// Prints the gradient of `x² · y` at (3, 2): 12 and 9.
const MAIN: &str = "\
use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active, Active)]
fn f(x: f64, y: f64) -> f64 {
    x * x * y
}

fn main() {
    let (dx, dy, value) = df(3.0, 2.0);
    println!(\"{dx} {dy} {value}\");
}
";

#[test]
fn a_binary_in_debug_and_release() {
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", MAIN)]);
    assert_eq!(project.cargo("pullback run").stdout(), "12 9 18\n");
    assert_eq!(project.cargo("pullback run --release").stdout(), "12 9 18\n");
    let checked = project.cargo("pullback check");
    checked.stdout();
}

/// Plain cargo checks a program, and makes none in which derivatives are missing.
#[test]
fn without_the_driver() {
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", MAIN)]);
    project.cargo("check").stdout();
    let said = project.cargo("build").failure();
    assert!(said.contains("cargo pullback build"), "{said}");
}

#[test]
fn nothing_is_built_twice() {
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", MAIN)]);
    project.cargo("pullback build").stdout();
    let again = project.cargo("pullback build");
    again.stdout();
    assert!(!again.stderr().contains("Compiling"), "{}", again.stderr());
    // A look inside links again, though nothing has changed.
    let look = project.cargo_with("pullback build", &[("PULLBACK_PRINT", "request")]);
    look.stdout();
    assert!(look.stderr().contains("Compiling app"), "{}", look.stderr());
    assert!(look.stderr().contains("── request __pullback_reverse_f"), "{}", look.stderr());
}

#[test]
fn every_profile() {
    let profiles = "
[profile.fat]
inherits = \"release\"
lto = \"fat\"
[profile.thin]
inherits = \"release\"
lto = \"thin\"
[profile.abort]
inherits = \"release\"
panic = \"abort\"
codegen-units = 1
[profile.both]
inherits = \"release\"
debug = true
incremental = true
[profile.small]
inherits = \"release\"
opt-level = \"s\"
strip = true
";
    let manifest = format!("{MANIFEST}{profiles}");
    let project = Project::new(&[("Cargo.toml", &manifest), ("src/main.rs", MAIN)]);
    for profile in ["fat", "thin", "abort", "both", "small"] {
        assert_eq!(project.cargo(&format!("pullback run --profile {profile}")).stdout(), "12 9 18\n", "{profile}");
    }
}

#[test]
fn another_linker_than_lld() {
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", MAIN)]);
    let flags = [("RUSTFLAGS", "-Clink-arg=-fuse-ld=bfd")];
    for profile in ["dev", "release"] {
        let run = project.cargo_with(&format!("pullback run --profile {profile}"), &flags);
        assert_eq!(run.stdout(), "12 9 18\n", "{profile}");
    }
}

#[test]
fn tests_examples_benches_and_documentation() {
    let manifest = format!("{MANIFEST}\n[[bench]]\nname = \"speed\"\nharness = false\n");
    let library = "\
//! ```
//! assert_eq!(app::dcube(2.0), (12.0, 8.0));
//! ```
use pullback::autodiff;

#[autodiff(dcube, Reverse, Active, Active)]
pub fn cube(x: f64) -> f64 {
    x * x * x
}

#[test]
fn unit() {
    assert_eq!(dcube(2.0), (12.0, 8.0));
}
";
    let user = "fn main() { println!(\"{:?}\", app::dcube(2.0)); }";
    let project = Project::new(&[
        ("Cargo.toml", &manifest),
        ("src/lib.rs", library),
        ("tests/outer.rs", "#[test] fn outer() { assert_eq!(app::dcube(1.0), (3.0, 1.0)); }"),
        ("examples/show.rs", user),
        ("benches/speed.rs", user),
    ]);
    let tests = project.cargo("pullback test").stdout();
    for line in ["test unit ... ok", "test outer ... ok", "test src/lib.rs - (line 1) ... ok"] {
        assert!(tests.contains(line), "no `{line}` in\n{tests}");
    }
    assert_eq!(project.cargo("pullback run --example show").stdout(), "(12.0, 8.0)\n");
    assert!(project.cargo("pullback bench").stdout().contains("(12.0, 8.0)"));
}

#[test]
fn a_workspace_with_a_library_that_differentiates_and_a_build_script() {
    let package = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}")
    };
    let project = Project::new(&[
        ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"app\", \"model\", \"macros\"]\n"),
        ("macros/Cargo.toml", &package("macros", "[lib]\nproc-macro = true\n")),
        (
            "macros/src/lib.rs",
            "#[proc_macro] pub fn two(_: proc_macro::TokenStream) -> proc_macro::TokenStream \
             { \"2.0\".parse().unwrap() }",
        ),
        ("model/Cargo.toml", &package("model", "[dependencies]\nPULLBACK\n")),
        (
            "model/src/lib.rs",
            "use pullback::autodiff;
             #[autodiff(dsquare, Reverse, Active, Active)]
             pub fn square(x: f64) -> f64 { x * x }
             pub fn helper(x: f64) -> f64 { x.sin() }",
        ),
        (
            "app/Cargo.toml",
            &package(
                "app",
                "[dependencies]\nPULLBACK\nmodel = { path = \"../model\" }\nmacros = { path = \"../macros\" }\n",
            ),
        ),
        ("app/build.rs", "fn main() { println!(\"cargo::rustc-env=BUILT=yes\"); assert!(!cfg!(pullback)); }"),
        (
            "app/src/main.rs",
            "use pullback::autodiff;
             #[autodiff(df, Reverse, Active, Active)]
             fn f(x: f64) -> f64 { model::helper(x) + macros::two!() * model::square(x) }
             #[autodiff(dslope, Reverse, Active, Active)]
             fn slope(x: f64) -> f64 { x * model::dsquare(x).0 }
             fn main() {
                 let (dx, _) = df(0.0);
                 println!(\"{dx} {:?} {:?} {}\", model::dsquare(3.0), dslope(3.0), env!(\"BUILT\"));
             }",
        ),
    ]);
    for profile in ["dev", "release"] {
        let run = project.cargo(&format!("pullback run --package app --profile {profile}"));
        assert_eq!(run.stdout(), "1 (6.0, 9.0) (12.0, 18.0) yes\n", "{profile}");
    }
}

#[test]
fn a_c_library() {
    let manifest = MANIFEST
        .replace("[dependencies]", "[lib]\ncrate-type = [\"cdylib\"]\n\n[dependencies]")
        .replace("app", "plugin");
    let library = "\
use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    x * x
}

#[unsafe(no_mangle)]
pub extern \"C\" fn slope(x: f64) -> f64 {
    df(x).0
}
";
    let project = Project::new(&[("Cargo.toml", &manifest), ("src/lib.rs", library)]);
    project.cargo("pullback build --release").stdout();
    let built = std::fs::read_dir(project.target().join("pullback")).unwrap().flatten();
    let name = format!("{}plugin{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = built.map(|dir| dir.path().join("release").join(&name)).find(|path| path.exists()).unwrap();
    // SAFETY: the library was just built; its function takes and returns an `f64`.
    let slope = unsafe {
        let library = libloading::Library::new(library).unwrap();
        let slope: libloading::Symbol<'_, extern "C" fn(f64) -> f64> = library.get(b"slope").unwrap();
        slope(3.0)
    };
    assert_eq!(slope, 6.0);
}

#[test]
fn another_toolchain() {
    let toolchains = std::process::Command::new("rustup").args(["toolchain", "list"]).output();
    if !toolchains.is_ok_and(|list| String::from_utf8_lossy(&list.stdout).contains("nightly")) {
        eprintln!("no nightly toolchain is installed; nothing is tested");
        return;
    }
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", MAIN)]);
    // What another toolchain has left in the target directory is not used, there and back.
    for toolchain in ["", "+nightly ", ""] {
        assert_eq!(project.cargo(&format!("{toolchain}pullback run")).stdout(), "12 9 18\n", "{toolchain}");
    }
}

#[test]
fn a_static_library_for_c() {
    let manifest = MANIFEST
        .replace("[dependencies]", "[lib]\ncrate-type = [\"staticlib\", \"rlib\"]\n\n[dependencies]")
        .replace("app", "fixed");
    let library = "\
use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    x * x
}

#[unsafe(no_mangle)]
pub extern \"C\" fn slope(x: f64) -> f64 {
    df(x).0
}
";
    let main = "#include <stdio.h>\ndouble slope(double);\nint main() { printf(\"%g\\n\", slope(3.0)); return 0; }\n";
    let project = Project::new(&[("Cargo.toml", &manifest), ("src/lib.rs", library), ("main.c", main)]);
    for (profile, directory) in [("dev", "debug"), ("release", "release")] {
        project.cargo(&format!("pullback build --profile {profile}")).stdout();
        let built = std::fs::read_dir(project.target().join("pullback")).unwrap().flatten();
        let library =
            built.map(|dir| dir.path().join(directory).join("libfixed.a")).find(|path| path.exists()).unwrap();
        let program = project.path("program");
        let mut compiler = std::process::Command::new("cc");
        compiler
            .arg(project.path("main.c"))
            .arg(library)
            .args(["-lpthread", "-ldl", "-lm", "-lgcc_s", "-o"])
            .arg(&program);
        assert!(compiler.status().unwrap().success());
        assert_eq!(std::process::Command::new(program).output().unwrap().stdout, b"6\n", "{profile}");
    }
}

/// A copy of `pullback` that says it is another version, in `to`.
fn another_version(to: &Path) {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().flatten() {
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            if from.is_dir() { copy(&from, &to) } else { std::fs::copy(from, to).map(drop).unwrap() }
        }
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ["pullback", "pullback-abi", "pullback-macros"] {
        copy(&crates.join(name), &to.join("crates").join(name));
    }
    let manifest = std::fs::read_to_string(crates.parent().unwrap().join("Cargo.toml")).unwrap();
    let manifest = manifest.replace(", \"xtask\"", "").replace("version = \"0.1.0\"", "version = \"0.1.7\"");
    assert!(manifest.contains("0.1.7"));
    std::fs::write(to.join("Cargo.toml"), manifest).unwrap();
}

/// A driver does not guess what the structures of another version mean.
#[test]
fn structures_of_another_version() {
    let manifest = MANIFEST.replace("PULLBACK", "pullback = { path = \"../changed/crates/pullback\" }");
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"app\"]\nexclude = [\"changed\"]\n";
    let project = Project::new(&[("Cargo.toml", workspace), ("app/Cargo.toml", &manifest), ("app/src/main.rs", MAIN)]);
    // No other test has a copy of that name: cargo knows packages by their place in the workspace, and all projects are
    // built into one directory.
    another_version(&project.path("changed"));
    let abi = project.path("changed/crates/pullback-abi/src/lib.rs");
    let text = std::fs::read_to_string(&abi).unwrap();
    let version = "pub const VERSION: u32 = ";
    assert!(text.contains(version));
    std::fs::write(&abi, text.replace(version, "pub const VERSION: u32 = 1000 + ")).unwrap();
    let said = project.cargo("pullback build").failure();
    assert!(said.contains("it has version 100"), "{said}");
    assert!(said.contains("use `cargo-pullback` and `pullback` of the same release"), "{said}");
}

/// Libraries for C that are built with different versions of `pullback` do not see each other's run-time support, in
/// one process and in one program.
#[test]
fn two_libraries_with_two_versions() {
    let library = |name: &str, factor: f64| {
        format!(
            "use pullback::autodiff;
             #[autodiff(df, Reverse, Duplicated, Active)]
             fn f(x: &[f64]) -> f64 {{
                 let (mut y, mut i) = (1.0, 0);
                 while y < 1e6 {{
                     y = {factor:?} * (y * x[i % x.len()]).max(1.5) + 1.0;
                     i += 1;
                 }}
                 y
             }}
             #[unsafe(no_mangle)]
             pub extern \"C\" fn {name}_slope(x: f64) -> f64 {{
                 let mut slope = [0.0];
                 df(&[x], &mut slope);
                 slope[0]
             }}
             #[unsafe(no_mangle)]
             pub extern \"C\" fn {name}_error(x: f64) -> f64 {{
                 let h = x * 1e-6;
                 let difference = (f(&[x + h]) - f(&[x - h])) / (2.0 * h);
                 ({name}_slope(x) / difference - 1.0).abs()
             }}"
        )
    };
    let main = "\
double one_error(double);
double two_error(double);
int main() { return one_error(2.3) < 1e-6 && two_error(2.3) < 1e-6 ? 0 : 1; }
";
    let manifest =
        MANIFEST.replace("[dependencies]", "[lib]\ncrate-type = [\"cdylib\", \"staticlib\"]\n\n[dependencies]");
    let (one, two) = (manifest.replace("app", "one"), manifest.replace("app", "two"));
    let two = two.replace("PULLBACK", "pullback = { path = \"../copy/crates/pullback\" }");
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"one\", \"two\"]\nexclude = [\"copy\"]\n";
    let project = Project::new(&[
        ("Cargo.toml", workspace),
        ("one/Cargo.toml", &one),
        ("one/src/lib.rs", &library("one", 1.0)),
        ("two/Cargo.toml", &two),
        ("two/src/lib.rs", &library("two", 2.0)),
        ("main.c", main),
    ]);
    another_version(&project.path("copy"));
    project.cargo("pullback build").stdout();
    let built = std::fs::read_dir(project.target().join("pullback")).unwrap().flatten();
    let built = built.map(|dir| dir.path().join("debug")).find(|path| path.join("libtwo.a").exists()).unwrap();

    let shared = ["one", "two"].map(|name| {
        let path = built.join(format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX));
        let nm = std::process::Command::new("nm").arg("-D").arg(&path).output().unwrap();
        let symbols = String::from_utf8(nm.stdout).unwrap();
        assert!(symbols.contains(&format!("{name}_slope")), "{symbols}");
        assert!(!symbols.contains("pullback"), "{symbols}");
        // SAFETY: the library was just built, and has nothing that runs when it is loaded.
        unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.unwrap()
    });
    for (library, name) in shared.iter().zip(["one_error", "two_error"]) {
        // SAFETY: the function takes and returns an `f64`.
        let error = unsafe { library.get::<extern "C" fn(f64) -> f64>(name.as_bytes()).unwrap()(2.3) };
        assert!(error < 1e-6, "{name}: {error}");
    }

    for order in [["libone.a", "libtwo.a"], ["libtwo.a", "libone.a"]] {
        let program = project.path("program");
        let mut compiler = std::process::Command::new("cc");
        compiler.arg(project.path("main.c")).args(order.map(|library| built.join(library)));
        compiler.args(["-lpthread", "-ldl", "-lm", "-lgcc_s", "-o"]).arg(&program);
        assert!(compiler.status().unwrap().success(), "{order:?}");
        assert!(std::process::Command::new(program).status().unwrap().success(), "{order:?}");
    }
}

/// The derivative of a function with target features is compiled with them, and one without is not, in the same crate.
#[test]
#[cfg(target_arch = "x86_64")]
fn target_features() {
    let main = "\
use pullback::autodiff;

#[autodiff(d_wide, Reverse, Duplicated, Active)]
#[target_feature(enable = \"avx2,fma\")]
fn wide(x: &[f64]) -> f64 {
    x.iter().map(|a| a * a).sum()
}

#[autodiff(d_narrow, Reverse, Duplicated, Active)]
fn narrow(x: &[f64]) -> f64 {
    x.iter().map(|a| a * a).sum()
}

fn main() {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0];
    let (mut narrow, mut wide) = ([0.0; 5], [2.0, 4.0, 6.0, 8.0, 10.0]);
    let value = d_narrow(&x, &mut narrow);
    if is_x86_feature_detected!(\"avx2\") && is_x86_feature_detected!(\"fma\") {
        wide = [0.0; 5];
        // SAFETY: the CPU has the features.
        assert_eq!(unsafe { d_wide(&x, &mut wide) }, value);
    }
    println!(\"{narrow:?} {wide:?}\");
}
";
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", main)]);
    for profile in ["dev", "release"] {
        let saved = tempfile::tempdir().unwrap();
        let save = [("PULLBACK_SAVE", saved.path().to_str().unwrap())];
        let run = project.cargo_with(&format!("pullback run --profile {profile}"), &save);
        assert_eq!(run.stdout(), "[2.0, 4.0, 6.0, 8.0, 10.0] [2.0, 4.0, 6.0, 8.0, 10.0]\n", "{profile}");
        let files = std::fs::read_dir(saved.path()).unwrap().flatten().map(|file| file.path());
        let text: String = files
            .filter(|file| file.to_string_lossy().ends_with(".derivative.ll"))
            .map(|file| std::fs::read_to_string(file).unwrap())
            .collect();
        let body = |name: &str| {
            text.split(&format!("@__pullback_reverse_{name}.")).nth(1).unwrap().split("\n}").next().unwrap()
        };
        assert!(body("wide").contains("<4 x double>"), "{profile}: {}", body("wide"));
        assert!(body("narrow").contains("<2 x double>"), "{profile}: {}", body("narrow"));
        assert!(!body("narrow").contains("<4 x double>"), "{profile}: {}", body("narrow"));
    }
}
