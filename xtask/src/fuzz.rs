//! `cargo xtask fuzz`: random programs against the engine.
//!
//! The options are those of `pullback-fuzz`. Programs in the IR need nothing but the engine; with `--nested`, their
//! derivatives are differentiated. Programs in Rust (`--rust N`) go through the driver, which is built first. With both
//! `--programs N` and `--rust N`, both are run, one after the other. `--safe N` is for safe programs around
//! derivatives, which run under valgrind.

use crate::TaskResult;
use crate::driver::{self, Driver, cargo, target_directory};
use std::process::Command;

/// Run the campaigns that these options ask for.
pub fn run(options: &[&str]) -> TaskResult {
    let (rust, others) = take(options, "--rust");
    let (safe, others) = take(&others, "--safe");
    let (programs, shared) = take(&others, "--programs");
    if programs.is_some() || (rust.is_none() && safe.is_none()) {
        driver::run(ir_programs(&others))?;
    }
    if let Some(count) = rust {
        driver::run(rust_programs(&Driver::build()?, count, &shared))?;
    }
    if let Some(count) = safe {
        driver::run(safe_programs(&Driver::build()?, count, &shared))?;
    }
    Ok(())
}

/// The campaign of programs in the IR.
pub fn ir_programs(options: &[&str]) -> Command {
    let mut command = cargo(".", &["run", "--release", "--package", "pullback-fuzz", "--"]);
    command.args(options);
    command
}

/// The campaign of so many programs in Rust, built with `driver` below the target directory.
pub fn rust_programs(driver: &Driver, count: &str, options: &[&str]) -> Command {
    let directory = target_directory().join("fuzz-rust");
    let mut command = ir_programs(options);
    command.args(["--rust", count]).arg("--driver").arg(driver.executable()).arg("--directory").arg(directory);
    command
}

/// The campaign of so many safe programs, built with `driver` below the target directory and run under valgrind.
pub fn safe_programs(driver: &Driver, count: &str, options: &[&str]) -> Command {
    let directory = target_directory().join("fuzz-safe");
    let mut command = ir_programs(options);
    command.args(["--safe", count]).arg("--driver").arg(driver.executable()).arg("--directory").arg(directory);
    command
}

/// The value of an option, and the options without it.
fn take<'a>(options: &[&'a str], name: &str) -> (Option<&'a str>, Vec<&'a str>) {
    let mut rest = options.to_vec();
    let Some(at) = rest.iter().position(|word| *word == name) else { return (None, rest) };
    rest.remove(at);
    // Without a value, `pullback-fuzz` says what is missing.
    let value = if at < rest.len() { Some(rest.remove(at)) } else { Some("") };
    (value, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_and_its_value_are_taken() {
        assert_eq!(take(&["--seed", "1", "--rust", "5"], "--rust"), (Some("5"), vec!["--seed", "1"]));
        assert_eq!(take(&["--seed", "1"], "--rust"), (None, vec!["--seed", "1"]));
        assert_eq!(take(&["--rust"], "--rust"), (Some(""), vec![]));
    }
}
