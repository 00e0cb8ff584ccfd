//! Commands that must come to an end.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// By itself, with this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was ended when its time was over.
    Timeout,
}

/// What came of a command.
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// What it wrote to its standard output.
    pub output: String,
    /// What it wrote to its standard error.
    pub error: String,
}

/// Run a command, but not for longer than this.
pub fn run(mut command: Command, limit: Duration) -> io::Result<Ran> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let shown = format!("{command:?}");
    let mut child = command.spawn().map_err(|error| io::Error::other(format!("{shown}: {error}")))?;
    let (output, error) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let output = scope.spawn(|| text(output));
        let error = scope.spawn(|| text(error));
        let start = Instant::now();
        let end = loop {
            if let Some(status) = child.try_wait()? {
                break status.code().map_or(End::Signal(status.signal().unwrap_or(0)), End::Code);
            }
            if start.elapsed() > limit {
                // All that it has started goes with it.
                Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status()?;
                child.wait()?;
                break End::Timeout;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        Ok(Ran { end, output: output.join().unwrap_or_default(), error: error.join().unwrap_or_default() })
    })
}

fn text(stream: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        // What came before an error is worth having.
        let _ = stream.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let mut command = Command::new("sleep");
        command.arg("60");
        assert_eq!(run(command, Duration::from_millis(50)).expect("`sleep` starts").end, End::Timeout);
    }
}
