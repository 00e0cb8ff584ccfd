//! Face 2: rustc, with the flags that make it leave bitcode to the linker and call our link driver.
//!
//! Only crates for the target get the flags. Of those, crates that are linked run under supervision: rustc's
//! diagnostics pass through, and the link driver's own are added (see [`crate::report`]).

use crate::codegen_flags::CommandLine;
use crate::report::{self, Format, Message};
use crate::{LINKER_FACE, dep_info, env, link, process};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// What rustc's error about the linker begins with.
const LINKER_FAILED: &str = "linking with `";

/// Run as cargo's `RUSTC_WRAPPER`: the first argument is the rustc to call.
pub fn run(args: Vec<OsString>) -> Result<ExitCode> {
    let mut args = args.into_iter();
    let rustc = args.next().context("no compiler is given; this program is called by cargo")?;
    let mut command = match env::var(env::INNER_WRAPPER) {
        Some(wrapper) => {
            let mut command = Command::new(wrapper);
            command.arg(rustc);
            command
        }
        None => Command::new(rustc),
    };

    let given: Vec<OsString> = args.collect();
    if given == ["-vV"] {
        return tell_version(command);
    }
    let mut line = CommandLine::new(given.iter().cloned())?;
    if !line.is_target_crate() {
        command.args(given);
        return process::hand_over(command);
    }
    // Build scripts of other packages may have left a linker in the environment of a nested cargo.
    command.env_remove(env::INNER_LINKER);
    if let Some(linker) = add_flags(&mut line)? {
        command.env(env::INNER_LINKER, linker);
    }
    // Cargo passes the arguments in a file where they are too many for a command line.
    let file;
    if given.iter().any(|arg| arg.to_string_lossy().starts_with('@')) {
        file = arguments_file(&line)?;
        command.arg(format!("@{}", file.path().display()));
    } else {
        command.args(line.args());
    }
    if line.links() { supervise(command, &line) } else { process::hand_over(command) }
}

/// Tell cargo rustc's version and, after it, the flags that make its output what it is. Cargo compiles everything again
/// when this text changes: with another toolchain, and with a driver that gives other flags.
fn tell_version(mut command: Command) -> Result<ExitCode> {
    let status = command.arg("-vV").status().context("could not start rustc")?;
    let like = ["-Copt-level=3", "--extern=pullback=", "--out-dir=deps"].map(OsString::from);
    let mut line = CommandLine::new(like)?;
    add_flags(&mut line)?;
    let flags = line.args().iter().map(|flag| flag.to_string_lossy());
    let flags: Vec<_> = flags.filter(|flag| !flag.starts_with("-Clinker=")).collect();
    println!("pullback: {}", flags.join(" "));
    Ok(process::exit_code(&command, status))
}

/// Change a command line so that the crate goes through the driver. Returns the user's own linker.
pub fn add_flags(line: &mut CommandLine) -> Result<Option<String>> {
    // The linker does the link-time optimisation, of all crates' bitcode; rustc must not do its own before.
    line.take_codegen("lto");
    let linker = line.take_codegen("linker");
    line.push("-Clinker-plugin-lto");
    let mut option = OsString::from("-Clinker=");
    option.push(face(LINKER_FACE)?);
    line.push(option);
    line.push("--cfg=pullback");
    line.push("--check-cfg=cfg(pullback)");
    // Derivatives are taken of the program as it is written, whatever the opt-level: an optimiser may compute
    // `x.sqrt()` ahead of the branch that guards it, and inline a function that has a rule. The link driver optimises
    // afterwards.
    if line.is_optimised() {
        line.push("-Cno-prepopulate-passes");
        leave_calls(line);
    }
    // Crates have copies of generic functions, and without optimisation of `#[inline]` functions, each under a symbol
    // of its own. These tell that they are one function, and which types it is for: the other mangling hides that, so
    // it is not taken even where it is asked for.
    line.push("-Csymbol-mangling-version=v0");
    // Errors point at source lines. Where the profile has no debug information, cargo strips what we add.
    if matches!(line.codegen("debuginfo").as_deref(), None | Some("0" | "none")) {
        line.push("-Cdebuginfo=line-tables-only");
    }
    Ok(linker)
}

/// Let rustc leave the calls of a crate that may differentiate: rustc has an inliner of its own, before LLVM's, and a
/// function that it inlines is not there any more for a rule of the user's to take its place. The one way to switch it
/// off on stable is to compile incrementally. Rustc then makes a module of each module of the source, which costs more
/// speed than its inliner gains; so it is told to make one.
fn leave_calls(line: &mut CommandLine) {
    let differentiates = line.values("--extern").iter().any(|e| e.to_string_lossy().starts_with("pullback="));
    let Some(deps) = line.value("--out-dir").filter(|_| differentiates).map(PathBuf::from) else { return };
    if line.codegen("incremental").is_none() {
        let mut option = OsString::from("-Cincremental=");
        option.push(deps.with_file_name("incremental"));
        line.push(option);
    }
    if line.codegen("codegen-units").is_none() {
        line.push("-Ccodegen-units=1");
    }
}

/// Another face: it lies beside this one.
fn face(name: &str) -> Result<PathBuf> {
    let this = PathBuf::from(std::env::args_os().next().unwrap_or_default());
    let dir = this.parent().context("this program is called by cargo, with its full path")?;
    Ok(std::path::absolute(dir)?.join(name).with_extension(std::env::consts::EXE_EXTENSION))
}

fn arguments_file(line: &CommandLine) -> Result<tempfile::NamedTempFile> {
    let mut file = tempfile::NamedTempFile::new().context("could not make a temporary file")?;
    for arg in line.args() {
        writeln!(file, "{}", arg.to_string_lossy())?;
    }
    Ok(file)
}

/// Run rustc, show the link driver's messages after rustc's, and leave out what rustc says about a link driver that has
/// already explained itself.
fn supervise(mut command: Command, line: &CommandLine) -> Result<ExitCode> {
    let report = tempfile::NamedTempFile::new().context("could not make a temporary file")?;
    command.env(env::REPORT, report.path()).stderr(Stdio::piped());
    let mut child =
        command.spawn().with_context(|| format!("could not start `{}`", command.get_program().to_string_lossy()))?;
    let mut withheld = Vec::new();
    let stderr = BufReader::new(child.stderr.take().context("rustc's standard error is gone")?);
    for text in stderr.split(b'\n') {
        let mut text = text.context("could not read what rustc says")?;
        text.push(b'\n');
        if memchr::memmem::find(&text, LINKER_FAILED.as_bytes()).is_some() {
            withheld.extend(text);
        } else {
            std::io::stderr().write_all(&text)?;
        }
    }
    let mut code = process::exit_code(&command, child.wait().context("could not wait for rustc")?);
    // Rustc calls no linker for a static library.
    if let (true, Some(library)) = (code == ExitCode::SUCCESS, line.static_library()) {
        let mut driver = Command::new(face(LINKER_FACE)?);
        driver.arg(link::STATIC_LIBRARY).arg(library).arg(line.codegen("opt-level").unwrap_or_default());
        let status = driver.env(env::REPORT, report.path()).status().context("could not start the link driver")?;
        code = process::exit_code(&driver, status);
    }

    let messages = report::read(report.path());
    if !messages.iter().any(|message| matches!(message, Message::Error(_))) {
        std::io::stderr().write_all(&withheld)?;
    }
    let format = format(line);
    for message in &messages {
        eprint!("{}", report::show(message, format));
    }
    if let Some(file) = line.dep_info() {
        dep_info::extend(&file)?;
    }
    Ok(code)
}

fn format(line: &CommandLine) -> Format {
    let json = line.value("--error-format").is_some_and(|format| format == "json");
    let coloured = line.values("--json").iter().any(|kinds| kinds.to_string_lossy().contains("rendered-ansi"));
    match (json, coloured) {
        (false, _) => Format::Text,
        (true, false) => Format::Json,
        (true, true) => Format::JsonColoured,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> CommandLine {
        CommandLine::new(text.split(' ').map(OsString::from)).unwrap()
    }

    #[test]
    fn the_users_lto_and_linker_give_way() {
        let mut l = line("--crate-name a -C lto=fat -C linker=clang -C debuginfo=2");
        assert_eq!(add_flags(&mut l).unwrap(), Some("clang".into()));
        assert_eq!(l.codegen("lto"), None);
        assert!(l.codegen("linker").unwrap().ends_with(LINKER_FACE));
        assert_eq!(l.codegen("linker-plugin-lto"), Some(String::new()));
        assert_eq!(l.codegen("debuginfo"), Some("2".into()));
    }

    #[test]
    fn the_optimiser_waits_for_the_link() {
        let waits = |text: &str| {
            let mut l = line(text);
            add_flags(&mut l).unwrap();
            l.codegen("no-prepopulate-passes").is_some()
        };
        assert!(waits("--crate-name a -C opt-level=3"));
        assert!(waits("--crate-name a -Copt-level=s"));
        assert!(waits("--crate-name a -O"));
        assert!(!waits("--crate-name a"));
        assert!(!waits("--crate-name a -C opt-level=3 -C opt-level=0"));
    }

    #[test]
    fn calls_are_left_where_rules_may_take_their_place() {
        let flags = |text: &str| {
            let mut l = line(text);
            add_flags(&mut l).unwrap();
            (l.codegen("incremental"), l.codegen("codegen-units"))
        };
        let with = "--crate-name a --extern pullback=libpullback.rmeta --out-dir target/release/deps";
        let kept = (Some("target/release/incremental".into()), Some("1".into()));
        assert_eq!(flags(&format!("{with} -C opt-level=3")), kept);
        let given = (Some("mine".into()), Some("4".into()));
        assert_eq!(flags(&format!("{with} -C opt-level=3 -C incremental=mine -C codegen-units=4")), given);
        assert_eq!(flags(with), (None, None));
        assert_eq!(flags("--crate-name a --out-dir deps -C opt-level=3"), (None, None));
    }

    #[test]
    fn lines_are_known_in_every_profile() {
        let mut l = line("--crate-name a -C debuginfo=0");
        add_flags(&mut l).unwrap();
        assert_eq!(l.codegen("debuginfo"), Some("line-tables-only".into()));
    }
}
