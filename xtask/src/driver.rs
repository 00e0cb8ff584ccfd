//! Building the driver, and cargo with it.

use crate::TaskResult;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a directory of the repository")
}

/// Cargo, in a directory of the repository.
pub fn cargo(directory: &str, args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root().join(directory)).args(args);
    command
}

/// Run a command and wait for it; what it has to say, it says itself.
pub fn run(mut command: Command) -> TaskResult {
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    let shown = format!("cargo {}", args.join(" "));
    eprintln!("\n── {shown}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` failed ({status})")),
        Err(error) => Err(format!("could not start `{shown}`: {error}")),
    }
}

/// `cargo pullback`, from this repository.
pub struct Driver {
    executable: PathBuf,
}

impl Driver {
    /// Build the driver, optimised.
    pub fn build() -> Result<Self, String> {
        run(cargo(".", &["build", "--release", "--package", "cargo-pullback"]))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir));
        let name = format!("cargo-pullback{}", std::env::consts::EXE_SUFFIX);
        Ok(Driver { executable: target.join("release").join(name) })
    }

    /// `cargo pullback <args>`, in a directory of the repository.
    pub fn cargo_pullback(&self, directory: &str, args: &[&str]) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(root().join(directory)).arg("pullback").args(args);
        command
    }
}
