//! `cargo xtask bench --compile DIR`: how long programs of others take to build, with derivatives and without.
//!
//! `DIR` is a workspace whose members are programs that build by plain cargo, too: their derivatives are behind
//! `#[cfg(pullback)]`. What they depend on is built first. Then the main file of each is touched, and a build measured:
//! in seconds of the processor, of all processes.

use crate::TaskResult;
use crate::driver::{Driver, cargo, target_directory};
use pullback_measure::clock;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// Measure each member of the workspace, and print a line for it.
pub fn run(workspace: &str) -> TaskResult {
    let driver = Driver::build()?;
    let failed = |error: std::io::Error| format!("`{workspace}`: {error}");
    let workspace = Path::new(workspace).canonicalize().map_err(failed)?;
    let members = std::fs::read_dir(&workspace).map_err(failed)?.flatten().map(|entry| entry.path());
    let mut members: Vec<PathBuf> = members.filter(|path| path.join("src/main.rs").exists()).collect();
    members.sort();
    println!("{:<20} {:>9} {:>9} {:>9}", "processor seconds", "plain", "pullback", "ratio");
    for member in members {
        let target = |kind: &str| target_directory().join("bench-programs").join(kind).to_string_lossy().into_owned();
        let (ours, plain) = (target("pullback"), target("plain"));
        let directory = member.to_string_lossy();
        let with = || driver.cargo_pullback(&directory, &["build", "--release", "--target-dir", &ours]);
        let without = || cargo(&directory, &["build", "--release", "--target-dir", &plain]);
        let (plain, _) = after_a_change(&member, without)?;
        let (ours, answer) = after_a_change(&member, with)?;
        let name = member.file_name().unwrap_or_default().to_string_lossy();
        println!("{name:<20} {plain:>9.2} {ours:>9.2} {:>9.2}{answer}", ours / plain);
    }
    Ok(())
}

/// The seconds that a build takes after a change of the main file, and what it says if it fails.
fn after_a_change(member: &Path, build: impl Fn() -> Command) -> Result<(f64, String), String> {
    seconds(build())?;
    let main = member.join("src/main.rs");
    File::options()
        .append(true)
        .open(&main)
        .and_then(|file| file.set_modified(SystemTime::now()))
        .map_err(|error| format!("`{}`: {error}", main.display()))?;
    seconds(build())
}

/// The seconds that a command takes, and the first error that it prints.
fn seconds(mut command: Command) -> Result<(f64, String), String> {
    let before = clock::seconds_of_children();
    let output = command.stdout(Stdio::null()).output().map_err(|error| format!("could not start cargo: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let error = said.lines().find_map(|line| line.strip_prefix("error: ")).filter(|_| !output.status.success());
    let answer = error.map(|error| format!("   refused: {error}")).unwrap_or_default();
    Ok((clock::seconds_of_children() - before, answer))
}
