//! What the driver says, word by word.

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

/// A run's diagnostics, without cargo's progress.
fn diagnostics(stderr: &str) -> String {
    let progress = ["Compiling", "Finished", "Locking", "Updating", "Blocking", "Running", "Adding", "Downloaded"];
    let lines = stderr.lines().filter(|line| !progress.iter().any(|word| line.trim_start().starts_with(word)));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[test]
fn a_call_without_a_body() {
    let main = "\
use pullback::autodiff;

unsafe extern \"C\" {
    fn mystery(x: f64) -> f64;
}

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    let y = 2.0 * x;
    unsafe { mystery(y) }
}

fn main() {
    println!(\"{:?}\", df(1.0));
}
";
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", main)]);
    let said = diagnostics(&project.cargo("pullback build").failure());
    assert!(said.starts_with("error: cannot differentiate `f`: "), "{said}");
    assert!(said.contains(" --> src/main.rs:10:14\n"), "{said}");
    assert!(said.contains("10 |     unsafe { mystery(y) }\n   |              ^^^^^^^^^^"), "{said}");
    assert!(said.ends_with("error: could not compile `app` (bin \"app\") due to 1 previous error"), "{said}");
    assert!(!said.contains("linking with"), "{said}");
}

#[test]
fn help_and_unknown_commands() {
    let project = Project::new(&[]);
    assert!(project.cargo("pullback").stdout().contains("Usage: cargo pullback <COMMAND>"));
    assert!(project.cargo("pullback --version").stdout().starts_with("cargo-pullback "));
    assert!(project.cargo("pullback frob").failure().starts_with("error: no such command: `cargo pullback frob`"));
    assert!(project.cargo("pullback build").failure().contains("could not find `Cargo.toml`"));
}
