//! Handing over to another program.

use anyhow::{Context, Result};
use std::process::{Command, ExitCode, ExitStatus};

/// Run a program in the place of this one.
pub fn hand_over(mut command: Command) -> Result<ExitCode> {
    let program = command.get_program().to_string_lossy().into_owned();
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        Err(command.exec()).with_context(|| format!("could not start `{program}`"))
    }
    #[cfg(not(unix))]
    {
        let status = command.status().with_context(|| format!("could not start `{program}`"))?;
        Ok(exit_code(status))
    }
}

/// The exit code that tells of this status. A program killed by a signal counts as 101, as a Rust panic does.
pub fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(101))
}
