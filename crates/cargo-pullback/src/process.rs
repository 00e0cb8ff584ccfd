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
        Ok(exit_code(&command, status))
    }
}

/// The exit code that tells of a program's status. One that was killed by a signal had no chance to say so; that is
/// said here, and it counts as 101, as a Rust panic does.
pub fn exit_code(command: &Command, status: ExitStatus) -> ExitCode {
    match status.code() {
        Some(code) => ExitCode::from(u8::try_from(code).unwrap_or(101)),
        None => {
            let program = format!("`{}`", command.get_program().to_string_lossy());
            eprintln!("error: {}", death(&program, status));
            ExitCode::from(101)
        }
    }
}

/// Whether a program was ended by whoever runs it: by hanging up, interrupting or asking it to terminate.
pub fn was_interrupted(status: ExitStatus) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        matches!(status.signal(), Some(1 | 2 | 15))
    }
    #[cfg(not(unix))]
    {
        let _ = status;
        false
    }
}

/// How a program died that did not mean to.
pub fn death(program: &str, status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            let name = SIGNALS.iter().find(|(number, _)| *number == signal).map_or("", |(_, name)| *name);
            return format!("{program} was killed by signal {signal}{name}");
        }
    }
    match status.code() {
        Some(code) => format!("{program} ended with exit code {code}"),
        None => format!("{program} ended without an exit code ({status})"),
    }
}

/// The signals that kill compilers, in words.
#[cfg(unix)]
const SIGNALS: [(i32, &str); 9] = [
    (1, " (hang-up)"),
    (2, " (interrupt)"),
    (4, " (illegal instruction)"),
    (6, " (abort)"),
    (7, " (bus error)"),
    (8, " (arithmetic exception)"),
    (9, " (kill; is there enough memory?)"),
    (11, " (segmentation fault)"),
    (15, " (termination)"),
];

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn death_by_a_signal_is_told() {
        assert_eq!(death("cc", ExitStatus::from_raw(11)), "cc was killed by signal 11 (segmentation fault)");
        assert_eq!(death("cc", ExitStatus::from_raw(34)), "cc was killed by signal 34");
    }
}
