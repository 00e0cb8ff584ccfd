//! Face 3: rustdoc, whose documentation tests are programs that go through the driver.

use crate::codegen_flags::CommandLine;
use crate::{env, process, rustc};
use anyhow::Result;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

/// Run as cargo's `RUSTDOC`.
pub fn run(args: Vec<OsString>) -> Result<ExitCode> {
    let mut command = Command::new(env::var(env::INNER_RUSTDOC).unwrap_or_else(|| "rustdoc".into()));
    let mut line = CommandLine::new(args)?;
    if line.has("--test") {
        if let Some(linker) = rustc::add_flags(&mut line)? {
            command.env(env::INNER_LINKER, linker);
        }
        command.env_remove(env::REPORT);
    }
    command.args(line.args());
    process::hand_over(command)
}
