//! Panics inside of derivatives under valgrind: no leak, no invalid access.

mod support;

use std::process::Command;
use support::Project;

const MANIFEST: &str = "\
[package]
name = \"pullback-e2e\"
version = \"0.1.0\"
edition = \"2024\"

[dependencies]
PULLBACK
";

/// The target of this machine, as it stands in the names of cargo's variables.
fn host() -> String {
    let about = Command::new("rustc").arg("-vV").output().expect("rustc runs").stdout;
    let about = String::from_utf8(about).expect("rustc writes text");
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc says for which machine it is");
    host.to_uppercase().replace('-', "_")
}

#[test]
fn a_panic_leaves_nothing_behind() {
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|run| run.status.success()) {
        eprintln!("valgrind is not installed; this test is skipped");
        return;
    }
    let project = Project::new(&[
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", "pub mod unwinding;"),
        ("src/unwinding.rs", include_str!("../../../tests/e2e/src/unwinding.rs")),
        ("tests/unwinding.rs", include_str!("../../../tests/e2e/tests/unwinding.rs")),
    ]);
    let runner = format!("CARGO_TARGET_{}_RUNNER", host());
    // What the test harness still points to when the process ends, if only into its middle, is no leak.
    let valgrind = "valgrind --quiet --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
                    --error-exitcode=9";
    for profile in ["dev", "release"] {
        let run =
            project.cargo_with(&format!("pullback test --profile {profile} --test unwinding"), &[(&runner, valgrind)]);
        let said = run.stdout();
        assert!(said.contains("0 failed"), "{said}");
    }
}
