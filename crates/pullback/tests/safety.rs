//! `docs/safety.md` is true to the code as far as text can tell: the tests that it names are there, and each `unsafe`
//! block of this crate, of `pullback-abi` and of the macros names a promise of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is in the workspace").to_owned()
}

fn text(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The promises with what stands below each: number and text.
fn promises() -> Vec<(String, String)> {
    let document = text("docs/safety.md");
    let paragraphs = document.split("\n\n").filter_map(|paragraph| paragraph.strip_prefix("**S"));
    paragraphs
        .map(|paragraph| {
            let number: String = paragraph.chars().take_while(char::is_ascii_digit).collect();
            (format!("S{number}"), paragraph.to_owned())
        })
        .collect()
}

/// The names of tests in a text: what stands between backticks and has a known start.
fn tests_in(text: &str) -> Vec<&str> {
    let starts = ["e2e/", "ad/", "driver/", "rules/", "expanded/", "ui/", "messages/", "unit/"];
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|name| starts.iter().any(|start| name.starts_with(start)) && !name.contains('…')).collect()
}

/// Why there is no such test.
fn missing(name: &str) -> Option<String> {
    let (place, rest) = name.split_once('/')?;
    let (file, test) = rest.split_once("::").unwrap_or((rest, ""));
    let path = match place {
        "e2e" => format!("tests/e2e/tests/{file}.rs"),
        "ad" => format!("crates/pullback-ad/tests/{file}.rs"),
        "driver" => format!("crates/cargo-pullback/tests/{file}.rs"),
        "rules" | "expanded" => format!("crates/pullback/tests/{place}/{file}.rs"),
        "unit" => format!("crates/{file}.rs"),
        "ui" => format!("crates/pullback/tests/ui/{file}.stderr"),
        _ => format!("crates/cargo-pullback/tests/messages/{file}.txt"),
    };
    let Ok(source) = std::fs::read_to_string(root().join(&path)) else { return Some(format!("{name}: no {path}")) };
    let is_there = test.is_empty() || source.contains(&format!("fn {test}("));
    (!is_there).then(|| format!("{name}: not in {path}"))
}

#[test]
fn each_promise_names_tests_that_exist() {
    let promises = promises();
    let numbers: Vec<&str> = promises.iter().map(|(number, _)| &**number).collect();
    let expected: Vec<String> = (1..=promises.len()).map(|number| format!("S{number}")).collect();
    assert_eq!(numbers, expected, "promises are numbered one after the other");
    for (number, text) in &promises {
        assert!(!tests_in(text).is_empty() || text.contains("ot tested"), "{number} names no test");
    }
    let missing: Vec<String> = promises.iter().flat_map(|(_, text)| tests_in(text)).filter_map(missing).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

fn sources(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            into.push(path);
        }
    }
}

/// The promises that a comment names.
fn named(comment: &str) -> impl Iterator<Item = &str> {
    comment
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| word.len() > 1 && word.starts_with('S') && word[1..].bytes().all(|b| b.is_ascii_digit()))
}

#[test]
fn each_unsafe_block_names_a_promise() {
    /// A comment stands above the statement, whose `unsafe` may be some lines further down.
    const NEAR: usize = 8;
    let promises: BTreeSet<String> = promises().into_iter().map(|(number, _)| number).collect();
    let mut files = Vec::new();
    sources(&root().join("crates/pullback/src"), &mut files);
    sources(&root().join("crates/pullback-abi/src"), &mut files);
    sources(&root().join("crates/pullback-macros/src/generate"), &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let source = text(&file);
        let lines: Vec<&str> = source.lines().map(str::trim).collect();
        let at = |line: usize| format!("{}:{}", file.display(), line + 1);
        for (number, line) in lines.iter().enumerate() {
            if let Some((_, comment)) = line.split_once("// SAFETY: ") {
                let mut names = named(comment).peekable();
                if names.peek().is_none() {
                    wrong.push(format!("{}: names no promise", at(number)));
                }
                wrong.extend(
                    names.filter(|name| !promises.contains(*name)).map(|name| format!("{}: {name}", at(number))),
                );
            }
            let is_block = line.contains("unsafe {") || line.contains("unsafe impl");
            if is_block && !line.starts_with("//") {
                let above = &lines[number.saturating_sub(NEAR)..=number];
                if !above.iter().any(|line| line.contains("// SAFETY: ")) {
                    wrong.push(format!("{}: no SAFETY line", at(number)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
