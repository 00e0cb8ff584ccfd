//! Building the driver, and running cargo with and without it.

use crate::TaskResult;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a directory of the repository")
}

/// Where cargo builds the repository's crates.
pub fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Cargo, in a directory of the repository.
pub fn cargo(directory: &str, args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root().join(directory)).args(args);
    command
}

/// What a command writes to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Output,
    Error,
}

/// Run a command and wait for it; what it has to say, it says itself.
pub fn run(command: Command) -> TaskResult {
    run_and_hear(command, None, |_| {})
}

/// Run a command, wait for it, and hear each line that it writes to `stream`; all of it is shown, too.
pub fn run_heard(command: Command, stream: Stream, mut hear: impl FnMut(&str)) -> TaskResult {
    run_and_hear(command, Some(stream), |line| {
        match stream {
            Stream::Output => println!("{line}"),
            Stream::Error => eprintln!("{line}"),
        }
        hear(line);
    })
}

fn run_and_hear(mut command: Command, stream: Option<Stream>, mut hear: impl FnMut(&str)) -> TaskResult {
    let shown = shown(&command);
    eprintln!("\n── {shown}");
    match stream {
        Some(Stream::Output) => command.stdout(Stdio::piped()),
        Some(Stream::Error) => command.stderr(Stdio::piped()),
        None => &mut command,
    };
    let mut child = command.spawn().map_err(|error| format!("could not start `{shown}`: {error}"))?;
    let output = child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read>);
    let error = child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read>);
    if let Some(stream) = output.or(error) {
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            hear(&String::from_utf8_lossy(&line));
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` failed ({status})")),
        Err(error) => Err(format!("could not wait for `{shown}`: {error}")),
    }
}

/// A command as one would type it.
fn shown(command: &Command) -> String {
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    let directory = command.get_current_dir().and_then(|dir| dir.strip_prefix(root()).ok()).unwrap_or(Path::new(""));
    let place = if directory == Path::new(".") || directory == Path::new("") {
        String::new()
    } else {
        format!("{}: ", directory.display())
    };
    format!("{place}cargo {}", args.join(" "))
}

/// `cargo pullback`, from this repository or another checkout of it.
pub struct Driver {
    checkout: PathBuf,
    executable: PathBuf,
}

impl Driver {
    /// Build the driver, optimised.
    pub fn build() -> Result<Self, String> {
        Self::build_in(root())
    }

    /// Build the driver of another checkout, in its own directory.
    pub fn build_in(checkout: &Path) -> Result<Self, String> {
        let failed = |error| format!("`{}`: {error}", checkout.display());
        let checkout = checkout.canonicalize().map_err(failed)?;
        let target = if checkout == root() { target_directory() } else { checkout.join("target") };
        let mut build = cargo(".", &["build", "--release", "--package", "cargo-pullback"]);
        build.current_dir(&checkout).env("CARGO_TARGET_DIR", &target);
        run(build)?;
        let name = format!("cargo-pullback{}", std::env::consts::EXE_SUFFIX);
        Ok(Driver { checkout, executable: target.join("release").join(name) })
    }

    /// The program.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// `cargo pullback <args>`, in a directory of the checkout.
    pub fn cargo_pullback(&self, directory: &str, args: &[&str]) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(self.checkout.join(directory)).arg("pullback").args(args);
        command
    }
}
