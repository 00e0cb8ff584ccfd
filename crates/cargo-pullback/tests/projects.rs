//! Users' projects of every kind, built with the driver.

mod support;

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
            "#[proc_macro] pub fn two(_: proc_macro::TokenStream) -> proc_macro::TokenStream { \"2.0\".parse().unwrap() }",
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
