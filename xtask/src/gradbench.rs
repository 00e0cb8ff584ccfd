//! `cargo xtask gradbench`: our tool for GradBench, against logs of correct answers, against the clock or at growing
//! sizes.
//!
//! Nothing of GradBench is in the repository: logs, and other tools to compare with, are wherever they are.

use crate::TaskResult;
use crate::driver::{self, Driver, root, target_directory};
use std::path::PathBuf;
use std::process::Command;

/// Where the logs of correct answers are if nobody says so: beside the repository.
pub fn logs() -> PathBuf {
    root().join("../shared/gradbench")
}

/// Build the driver; with it build the tool, for this machine's processor; then run what `options` ask for.
pub fn run(options: &[&str]) -> TaskResult {
    let driver = Driver::build()?;
    let results = target_directory().join("gradbench");
    let (logs, results) = (logs(), results.to_string_lossy().into_owned());
    let mut args = match options {
        ["--time", ..] => vec!["time", "--out", &results],
        ["--growth", ..] => vec!["growth", "--out", &results],
        ["--peers", directory, ..] => vec!["time", "--out", &results, "--peers", directory],
        ["--logs", directory, ..] => vec!["golden", directory],
        _ => vec!["golden", logs.to_str().ok_or("the repository's path is not UTF-8")?],
    };
    let evals = match options {
        ["--time" | "--growth", evals @ ..] | ["--peers" | "--logs", _, evals @ ..] | evals => evals,
    };
    if let Some(option) = evals.iter().find(|eval| eval.starts_with('-')) {
        return Err(format!("`{option}` is no option of this task, or comes without its directory"));
    }
    args.extend(evals);
    driver::run(build(&driver))?;
    driver::run(harness(&driver, &args))
}

/// Build the tool and what runs it.
pub fn build(driver: &Driver) -> Command {
    native(driver.cargo_pullback("bench/gradbench", &["build", "--release"]))
}

/// Run the tool.
pub fn harness(driver: &Driver, args: &[&str]) -> Command {
    let run = ["run", "--release", "--bin", "harness", "--"];
    native(driver.cargo_pullback("bench/gradbench", &[&run, args].concat()))
}

/// For this machine's processor, as the others are.
fn native(mut command: Command) -> Command {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    command.env("RUSTFLAGS", format!("{flags} -Ctarget-cpu=native").trim());
    command
}
