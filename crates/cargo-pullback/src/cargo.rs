//! Face 1: `cargo pullback <command>`, cargo's own command with Pullback's compiler and linker faces in place.
//!
//! Arguments go on to cargo untouched. Two are added where the user has not given them:
//!
//! * `--target <host>`: only then does cargo tell code for the target from code for the build (build scripts,
//!   procedural macros and their dependencies), which must not go through the driver.
//! * `--target-dir <target directory>/pullback`: so that `cargo build` and `cargo pullback build` do not undo each
//!   other's work.

use crate::config::Config;
use crate::{LINKER_FACE, RUSTC_FACE, RUSTDOC_FACE, env, process};
use anyhow::{Context, Result, bail};
use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const HELP: &str = "\
Cargo with derivatives: builds a project that uses the `pullback` crate

Usage: cargo pullback <COMMAND> [OPTIONS]

Commands:
  build, b    Compile the current package
  check, c    Analyze the current package, without derivatives
  run, r      Run a binary or example of the current package
  test, t     Run the tests, documentation tests included
  bench       Run the benchmarks

Each takes the options of cargo's command of the same name; see `cargo help <COMMAND>`.
A toolchain is chosen as with cargo: `cargo +nightly pullback run`.

Options:
  -h, --help       Print this page
  -V, --version    Print the version

Environment, for a look inside:
  PULLBACK_PRINT=request,ir,linear,derivative,llvm
                                               Print these stages of each derivative
  PULLBACK_TIMINGS=1                           Print how long each step of the link took
  PULLBACK_SAVE=<DIR>                          Keep the modules of each step in this directory
  PULLBACK_OPTIMISE=0                          Leave derivatives as they are made

Exit status: cargo's own; 101 where cargo's is, and 2 for a command that does not exist.";

const COMMANDS: [&str; 9] = ["build", "b", "check", "c", "run", "r", "test", "t", "bench"];

/// Run as cargo's subcommand.
pub fn run(mut args: Vec<OsString>) -> Result<ExitCode> {
    // Cargo passes the subcommand's own name first; started by hand it is not there.
    if args.first().is_some_and(|arg| arg == "pullback") {
        args.remove(0);
    }
    let Some(command) = args.first().cloned() else {
        println!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    match command.to_str() {
        Some("-h" | "--help" | "help") => println!("{HELP}"),
        Some("-V" | "--version") => println!("cargo-pullback {}", env!("CARGO_PKG_VERSION")),
        Some(name) if COMMANDS.contains(&name) => return cargo(args),
        _ => {
            eprintln!("error: no such command: `cargo pullback {}`\n\n{HELP}", command.to_string_lossy());
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Start cargo with the faces in place.
fn cargo(mut args: Vec<OsString>) -> Result<ExitCode> {
    let cargo = env::var("CARGO").unwrap_or_else(|| "cargo".into());
    if has_option(&args, &["-h", "--help"]) {
        let mut help = Command::new(cargo);
        help.args(args);
        return process::hand_over(help);
    }

    let (target_dir, given) = match option_value(&args, "--target-dir") {
        Some(dir) => (PathBuf::from(dir), true),
        None => match target_directory(&cargo, &args)? {
            Some(dir) => (dir.join("pullback"), false),
            // Cargo has said what is wrong.
            None => return Ok(ExitCode::from(101)),
        },
    };
    let config = Config::read(&option_values(&args, "--config"))?;
    let mut added = Vec::new();
    let has_target =
        option_value(&args, "--target").is_some() || env::var("CARGO_BUILD_TARGET").is_some() || config.has("target");
    if !has_target {
        added.extend(["--target".into(), OsString::from(host()?)]);
    }
    if !given {
        added.extend(["--target-dir".into(), target_dir.clone().into_os_string()]);
    }
    args.splice(1..1, added);

    let faces = make_faces(&target_dir)?;
    let mut command = Command::new(cargo);
    command.args(args);
    for (variable, key, face, inner) in [
        ("RUSTC_WRAPPER", "rustc-wrapper", RUSTC_FACE, env::INNER_WRAPPER),
        ("RUSTDOC", "rustdoc", RUSTDOC_FACE, env::INNER_RUSTDOC),
    ] {
        match users_tool(variable, key, &config).filter(|tool| !is_face(tool, face)) {
            Some(tool) => command.env(inner, tool),
            None => command.env_remove(inner),
        };
        command.env(variable, faces.join(face));
    }
    process::hand_over(command)
}

/// The tool that cargo would call without us: from the environment, by either name, or from the configuration.
fn users_tool(variable: &str, key: &str, config: &Config) -> Option<OsString> {
    // Set to nothing, the variable turns off what the configuration says.
    if let Some(tool) = std::env::var_os(variable) {
        return Some(tool).filter(|tool| !tool.is_empty());
    }
    let long = format!("CARGO_BUILD_{}", key.to_uppercase().replace('-', "_"));
    env::var(&long).or_else(|| config.program(key))
}

/// Whether a tool is our own face; a test that itself runs `cargo pullback` has it in its environment. It is not one to
/// be called in turn.
fn is_face(tool: &OsStr, face: &str) -> bool {
    Path::new(tool).file_stem() == Some(OsStr::new(face))
}

/// Ask cargo where it would build. `None` if it could not say; it has then told the user why.
fn target_directory(cargo: &OsStr, args: &[OsString]) -> Result<Option<PathBuf>> {
    let mut metadata = Command::new(cargo);
    metadata.args(["metadata", "--no-deps", "--format-version=1", "--quiet"]).stderr(Stdio::inherit());
    for option in ["--manifest-path", "--config"] {
        for value in option_values(args, option) {
            metadata.arg(option).arg(value);
        }
    }
    for flag in ["--offline", "--locked", "--frozen"] {
        if has_option(args, &[flag]) {
            metadata.arg(flag);
        }
    }
    let output = metadata.output().with_context(|| format!("could not start `{}`", cargo.to_string_lossy()))?;
    if !output.status.success() {
        return Ok(None);
    }
    let json: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("could not read what `cargo metadata` says")?;
    let dir = json["target_directory"].as_str().context("`cargo metadata` names no target directory")?;
    Ok(Some(PathBuf::from(dir)))
}

/// The machine's own target, as the rustc in use names it.
fn host() -> Result<String> {
    let rustc = env::var("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc)
        .arg("-vV")
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("could not start `{}`", rustc.to_string_lossy()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().find_map(|line| line.strip_prefix("host: ")) {
        Some(host) => Ok(host.to_owned()),
        None => bail!("`{} -vV` does not name the host", rustc.to_string_lossy()),
    }
}

/// Make the other faces: links to this executable in a directory of their own.
fn make_faces(target_dir: &Path) -> Result<PathBuf> {
    let driver = std::env::current_exe().context("could not find this executable")?;
    let mut hasher = DefaultHasher::new();
    driver.hash(&mut hasher);
    let target_dir = std::path::absolute(target_dir)?;
    let dir = target_dir.join(format!(".driver-{:08x}", hasher.finish() as u32));
    std::fs::create_dir_all(&dir).with_context(|| format!("could not make `{}`", dir.display()))?;
    for face in [RUSTC_FACE, RUSTDOC_FACE, LINKER_FACE] {
        let path = dir.join(face).with_extension(std::env::consts::EXE_EXTENSION);
        make_face(&driver, &path).with_context(|| format!("could not make `{}`", path.display()))?;
    }
    Ok(dir)
}

#[cfg(unix)]
fn make_face(driver: &Path, face: &Path) -> std::io::Result<()> {
    if std::fs::read_link(face).is_ok_and(|target| target == driver) {
        return Ok(());
    }
    // Another cargo may be at the same work: whoever comes first, the link is the same.
    match std::os::unix::fs::symlink(driver, face) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => std::fs::copy(driver, face).map(drop),
        Ok(()) => Ok(()),
    }
}

#[cfg(not(unix))]
fn make_face(driver: &Path, face: &Path) -> std::io::Result<()> {
    std::fs::copy(driver, face).map(drop)
}

/// The arguments for cargo itself: up to `--`.
fn own(args: &[OsString]) -> &[OsString] {
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    &args[..end]
}

fn has_option(args: &[OsString], names: &[&str]) -> bool {
    own(args).iter().any(|arg| names.iter().any(|name| arg == name))
}

/// The values of an option, given as `--name value` or `--name=value`.
fn option_values(args: &[OsString], name: &str) -> Vec<OsString> {
    let mut values = Vec::new();
    let mut args = own(args).iter();
    while let Some(arg) = args.next() {
        if arg == name {
            values.extend(args.next().cloned());
        } else if let Some(value) = arg.to_str().and_then(|a| a.strip_prefix(name)?.strip_prefix('=')) {
            values.push(value.into());
        }
    }
    values
}

fn option_value(args: &[OsString], name: &str) -> Option<OsString> {
    option_values(args, name).pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn options_of_cargo_and_not_of_the_program() {
        let line = args("run --target-dir=a --config x=1 --config=y=2 -- --target t --help");
        assert_eq!(option_value(&line, "--target-dir"), Some("a".into()));
        assert_eq!(option_values(&line, "--config"), ["x=1", "y=2"]);
        assert_eq!(option_value(&line, "--target"), None);
        assert!(!has_option(&line, &["--help"]));
    }

    #[test]
    fn one_option_is_not_the_beginning_of_another() {
        assert_eq!(option_value(&args("build --target-dir a"), "--target"), None);
    }
}
