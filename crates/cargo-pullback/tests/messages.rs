//! What the driver says, word by word.

mod support;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use support::Project;

const MANIFEST: &str = "\
[package]
name = \"app\"
version = \"0.1.0\"
edition = \"2024\"

[dependencies]
matrixmultiply = \"0.3\"
PULLBACK
";

/// Each program in `tests/messages` asks for a derivative that cannot be had; beside it stands what the engine says,
/// word by word. After a change of words, write them again with `PULLBACK_UPDATE=1 cargo test -p cargo-pullback --test
/// messages`, and read them.
#[test]
fn what_the_engine_says() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages");
    let files = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let mut programs: Vec<PathBuf> = files.filter(|path| path.extension() == Some(OsStr::new("rs"))).collect();
    programs.sort();
    let sources: Vec<(String, String)> = programs
        .iter()
        .map(|path| {
            let place = format!("src/bin/{}", path.file_name().unwrap().to_string_lossy());
            (place, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    let mut project = vec![("Cargo.toml", MANIFEST)];
    project.extend(sources.iter().map(|(place, source)| (place.as_str(), source.as_str())));
    let project = Project::new(&project);

    let mut wrong = String::new();
    for profile in ["dev", "release"] {
        let build = format!("pullback build --bins --keep-going --message-format=json --profile {profile}");
        let said = said_of_each(&project.cargo(&build).failed_stdout());
        for program in &programs {
            let said = said.get(&*program.file_stem().unwrap().to_string_lossy()).map_or("", String::as_str);
            let file = program.with_extension("txt");
            let expected = std::fs::read_to_string(&file).unwrap_or_default();
            // In release builds rustc has inlined some calls, others not: the notes may tell another way to the same
            // place.
            let compared = if profile == "dev" { without_way } else { without_notes };
            if compared(said) == compared(&expected) {
                continue;
            }
            if profile == "dev" && std::env::var_os("PULLBACK_UPDATE").is_some() {
                std::fs::write(&file, said).unwrap();
            } else {
                let _ = writeln!(wrong, "── {} ({profile}): expected\n{expected}\nfound\n{said}", file.display());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// All but the way through functions of others, and the obstacle there: which of them are inlined when is not for us to
/// say, and which of several obstacles in them is met first changes with the engine.
fn without_way(said: &str) -> String {
    let mut in_way = false;
    let lines = said.lines().filter(|line| {
        let is_note = line.trim_start().starts_with("= ");
        in_way = if is_note {
            line.contains("the way from this line") || line.contains("the obstacle in it")
        } else {
            in_way
        };
        !in_way
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The headline, the place and the source line.
fn without_notes(said: &str) -> String {
    said.lines().take_while(|line| !line.trim_start().starts_with("= ")).collect::<Vec<_>>().join("\n")
}

/// The diagnostics in cargo's messages, for each binary.
fn said_of_each(messages: &str) -> BTreeMap<String, String> {
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    for line in messages.lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        if message["reason"] == "compiler-message" {
            let rendered = message["message"]["rendered"].as_str().unwrap();
            said.entry(message["target"]["name"].as_str().unwrap().to_owned()).or_default().push_str(&stable(rendered));
        }
    }
    said
}

/// A text without what changes from one release of Rust to the next: the lines in the standard library, the versions of
/// its dependencies.
fn stable(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let theirs = line.split_once("`, ").filter(|(_, place)| !place.starts_with("src/"));
        lines.push(match theirs.and_then(|(function, place)| Some((function, place.rsplit_once(':')?.0))) {
            Some((function, file)) => {
                let (package, rest) = file.split_once('/').unwrap_or(("", file));
                format!("{function}`, {}/{rest}:LL", package.split('-').next().unwrap_or_default())
            }
            None => line.to_owned(),
        });
    }
    lines.join("\n").trim_end().to_owned() + "\n"
}

#[test]
fn the_linkers_own_words_are_left_out() {
    let main = include_str!("messages/no_body.rs");
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", main)]);
    let said = project.cargo("pullback build").failure();
    assert!(said.contains("error: cannot differentiate `f`: "), "{said}");
    assert!(
        said.trim_end().ends_with("error: could not compile `app` (bin \"app\") due to 1 previous error"),
        "{said}"
    );
    assert!(!said.contains("linking with"), "{said}");
}

#[test]
fn help_and_unknown_commands() {
    let project = Project::new(&[]);
    assert!(project.cargo("pullback").stdout().contains("Usage: cargo pullback <COMMAND>"));
    assert!(project.cargo("pullback --version").stdout().starts_with("cargo-pullback "));
    assert!(project.cargo("pullback frob").failure().starts_with("error: no such command: `cargo pullback frob`"));
    assert!(project.cargo("pullback build").failure().contains("could not find `Cargo.toml`"));
}
