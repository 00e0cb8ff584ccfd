//! The link driver works in a process of its own, and this one watches it.
//!
//! LLVM ends the process it runs in where it finds something it did not expect: by a signal, by `abort`, by `exit`. So
//! may a fault of our own: memory that is all used up, a stack that overflows, a panic. Whatever it is, the user is
//! told which function was at work, in the form of every other error; a handler inside of the broken process could not
//! promise that.
//!
//! ```text
//! rustc ─▶ pullback-linker                              watches
//!            └─ pullback-linker --pullback-watched log  works, and writes down in `log` what it is at
//!                 └─ cc
//! ```

use super::progress::{Left, Progress};
use crate::diagnostics::{asked_for, show};
use crate::process;
use crate::report::{Message, Rendered, Sink};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

/// The first argument of the process that works; the log follows.
pub const WATCHED: &str = "--pullback-watched";

/// So much of what a driver said before it died is shown.
const LINES: usize = 20;

/// Run the link driver with these arguments in another process.
pub fn run(args: &[OsString]) -> Result<ExitCode> {
    let this = std::env::args_os().next().context("this program was started without a name")?;
    let log = tempfile::NamedTempFile::new().context("could not make a temporary file")?;
    let mut driver = Command::new(this);
    driver.arg(WATCHED).arg(log.path()).args(args);
    Ok(match watch(driver, log.path())? {
        End::Meant(code) => code,
        End::Crash(error) => {
            Sink::from_env().put(&Message::Error(error));
            ExitCode::FAILURE
        }
    })
}

/// Do the work of the link driver, under watch: `log` is what [`WATCHED`] is followed by.
pub fn watched(log: &Path, work: impl FnOnce(Progress) -> Result<ExitCode>) -> Result<ExitCode> {
    let progress = Progress::in_file(log);
    let result = work(progress.clone());
    progress.finish();
    result
}

/// How a driver has ended.
enum End {
    /// As it meant to, or because the user wanted it to.
    Meant(ExitCode),
    /// By a crash.
    Crash(Rendered),
}

fn watch(mut driver: Command, log: &Path) -> Result<End> {
    driver.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::piped());
    let output = driver.output().context("could not start the link driver")?;
    let left = Left::read(log);
    if left.finished || output.status.success() || process::was_interrupted(output.status) {
        std::io::stderr().write_all(&output.stderr)?;
        return Ok(End::Meant(process::exit_code(&driver, output.status)));
    }
    Ok(End::Crash(crash(output.status, &left, &String::from_utf8_lossy(&output.stderr))))
}

/// The error for a driver that died with this status, with what it was at and what it said.
fn crash(status: ExitStatus, left: &Left, said: &str) -> Rendered {
    const CRASHED: &str = "the link driver has crashed";
    let names: Vec<String> = left.subjects.iter().map(|subject| format!("`{}`", subject.name)).collect();
    let headline = match &names[..] {
        [] => CRASHED.to_owned(),
        [one] => format!("cannot differentiate {one}: {CRASHED}"),
        [many @ .., last] => format!("cannot differentiate {} or {last}: {CRASHED}", many.join(", ")),
    };
    let place = left.subjects.first().map(|subject| (&subject.place, asked_for(&subject.name)));
    let mut notes = vec![process::death("the link driver", status)];
    if !left.steps.is_empty() {
        notes.push(format!("it was at: {}", left.steps.join(" / ")));
    }
    let said: Vec<&str> = said.trim().lines().collect();
    if !said.is_empty() {
        notes.push(format!("it said:\n{}", said[said.len().saturating_sub(LINES)..].join("\n")));
    }
    let help = "this is a bug in Pullback; please report it with this message, the function and what it calls, and the \
                files that `PULLBACK_SAVE=<directory> cargo pullback build` leaves in the directory";
    show(&headline, place, &notes, &[help.to_owned()])
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::progress::Subject;
    use super::*;
    use crate::diagnostics::Place;

    /// How a driver ends that does this, in the words of a shell, while it normalises the derivatives of `f` and has
    /// imported those of `g`.
    fn end_of(script: &str) -> End {
        let log = tempfile::NamedTempFile::new().unwrap();
        let progress = Progress::in_file(log.path());
        let subject =
            |name: &str| Subject { name: name.into(), place: Place { file: "gone.rs".into(), line: 3, column: 1 } };
        drop(progress.begin("import", &[subject("g")]));
        let steps = [progress.begin("derivatives", &[subject("f")]), progress.begin("normalise", &[])];
        steps.into_iter().for_each(std::mem::forget);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg("sh").arg(log.path());
        watch(shell, log.path()).unwrap()
    }

    fn crash_of(script: &str) -> Rendered {
        match end_of(script) {
            End::Crash(error) => error,
            End::Meant(_) => panic!("`{script}` is not taken for a crash"),
        }
    }

    #[test]
    fn signals_aborts_and_exits_are_told_with_the_function() {
        let cases = [
            ("kill -SEGV $$", "killed by signal 11 (segmentation fault)"),
            ("kill -ABRT $$", "killed by signal 6 (abort)"),
            ("kill -KILL $$", "killed by signal 9"),
            ("echo LLVM ERROR: cannot select >&2; exit 1", "LLVM ERROR: cannot select"),
            ("echo panicked >&2; exit 101", "ended with exit code 101"),
        ];
        for (script, how) in cases {
            let error = crash_of(script);
            assert_eq!(error.headline, "cannot differentiate `f`: the link driver has crashed");
            assert!(error.plain.contains(how), "{}", error.plain);
            assert!(error.plain.contains("it was at: derivatives / normalise"), "{}", error.plain);
            assert_eq!(error.place, Some(("gone.rs".into(), 3, 1)));
        }
    }

    #[test]
    fn a_driver_that_has_said_what_is_wrong_has_not_crashed() {
        let finished = "echo '{\"finished\":true}' >> $1; exit 1";
        assert!(matches!(end_of(finished), End::Meant(code) if code == ExitCode::from(1)));
        assert!(matches!(end_of("exit 0"), End::Meant(ExitCode::SUCCESS)));
        assert!(matches!(end_of("kill -INT $$"), End::Meant(_)));
    }
}
