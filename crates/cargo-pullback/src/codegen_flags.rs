//! Rustc's command line, as far as the driver reads and changes it.
//!
//! `-C name=value` has four spellings (`-Cname`, `-C name`, `--codegen name`, `--codegen=name`) and so have the other
//! options theirs; this is the one place that knows.

use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A rustc command line, without the program's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    args: Vec<OsString>,
}

impl CommandLine {
    /// These arguments, with `@file` arguments replaced by what the files hold.
    pub fn new(args: impl IntoIterator<Item = OsString>) -> Result<Self> {
        let mut all = Vec::new();
        for arg in args {
            match arg.to_str().and_then(|a| a.strip_prefix('@')) {
                Some(path) => {
                    let text = std::fs::read_to_string(path).with_context(|| format!("could not read `{path}`"))?;
                    all.extend(text.lines().map(OsString::from));
                }
                None => all.push(arg),
            }
        }
        Ok(CommandLine { args: all })
    }

    /// The arguments.
    pub fn args(&self) -> &[OsString] {
        &self.args
    }

    /// Add an argument at the end.
    pub fn push(&mut self, arg: impl Into<OsString>) {
        self.args.push(arg.into());
    }

    /// Whether this argument is there, to the letter.
    pub fn has(&self, arg: &str) -> bool {
        self.args.iter().any(|a| a == arg)
    }

    /// The values of a long option, given as `--name value` or `--name=value`.
    pub fn values(&self, name: &str) -> Vec<&OsStr> {
        let mut values = Vec::new();
        for (i, arg) in self.args.iter().enumerate() {
            if arg == name {
                values.extend(self.args.get(i + 1).map(OsString::as_os_str));
            } else if let Some(value) = arg.to_str().and_then(|a| a.strip_prefix(name)?.strip_prefix('=')) {
                values.push(OsStr::new(value));
            }
        }
        values
    }

    /// The last value of a long option.
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        self.values(name).pop()
    }

    /// The last value of a codegen option; the empty string if it is given without one.
    pub fn codegen(&self, name: &str) -> Option<String> {
        self.clone().take_codegen(name)
    }

    /// Whether the opt-level is above 0.
    pub fn is_optimised(&self) -> bool {
        match self.codegen("opt-level") {
            Some(level) => level != "0",
            None => self.has("-O"),
        }
    }

    /// Remove a codegen option wherever it is given, and return its last value.
    pub fn take_codegen(&mut self, name: &str) -> Option<String> {
        let mut last = None;
        let mut kept = Vec::with_capacity(self.args.len());
        let mut args = std::mem::take(&mut self.args).into_iter();
        while let Some(arg) = args.next() {
            let text = arg.to_str().unwrap_or_default();
            // The option's text, and the argument before it where they are two.
            let (option, first) = if text == "-C" || text == "--codegen" {
                let Some(next) = args.next() else {
                    kept.push(arg);
                    break;
                };
                (next, Some(arg))
            } else if let Some(rest) = text.strip_prefix("-C").or_else(|| text.strip_prefix("--codegen=")) {
                (OsString::from(rest), None)
            } else {
                kept.push(arg);
                continue;
            };
            match value_of(option.to_str().unwrap_or_default(), name) {
                Some(value) => last = Some(value.to_owned()),
                None => match first {
                    Some(first) => kept.extend([first, option]),
                    None => {
                        let mut joined = OsString::from("-C");
                        joined.push(option);
                        kept.push(joined);
                    }
                },
            }
        }
        self.args = kept;
        last
    }

    /// Whether this compiles a crate for the target: not for the build itself, and not one of the calls by which cargo
    /// and build scripts ask rustc for something.
    ///
    /// The subcommand sees to it that cargo passes `--target` for the target's crates, and for no others.
    pub fn is_target_crate(&self) -> bool {
        self.value("--target").is_some()
            && self.values("--print").is_empty()
            && self.value("--crate-name").is_some_and(|name| name != "___")
            && !self.crate_types().contains(&"proc-macro")
    }

    /// Whether a linker will be called, or the objects of the program are put together in an archive.
    pub fn links(&self) -> bool {
        let emits_link =
            self.values("--emit").iter().all(|kinds| kinds.to_string_lossy().split(',').any(|k| k.starts_with("link")));
        let linked = |kind: &&str| matches!(*kind, "bin" | "cdylib" | "dylib" | "staticlib");
        emits_link && (self.has("--test") || self.crate_types().iter().any(linked))
    }

    /// Where rustc writes the list of the files it has read, for cargo.
    pub fn dep_info(&self) -> Option<PathBuf> {
        let emits = self.values("--emit").iter().any(|kinds| kinds.to_string_lossy().contains("dep-info"));
        if !emits {
            return None;
        }
        let name = self.value("--crate-name")?.to_str()?;
        let extra = self.codegen("extra-filename").unwrap_or_default();
        Some(Path::new(self.value("--out-dir")?).join(format!("{name}{extra}.d")))
    }

    /// Where rustc writes the static library, if it makes one.
    pub fn static_library(&self) -> Option<PathBuf> {
        if !self.links() || self.has("--test") || !self.crate_types().contains(&"staticlib") {
            return None;
        }
        let name = self.value("--crate-name")?.to_str()?;
        let extra = self.codegen("extra-filename").unwrap_or_default();
        Some(Path::new(self.value("--out-dir")?).join(format!("lib{name}{extra}.a")))
    }

    fn crate_types(&self) -> Vec<&str> {
        self.values("--crate-type").into_iter().filter_map(OsStr::to_str).flat_map(|list| list.split(',')).collect()
    }
}

fn value_of<'a>(option: &'a str, name: &str) -> Option<&'a str> {
    match option.split_once('=') {
        Some((n, value)) => same(n, name).then_some(value),
        None => same(option, name).then_some(""),
    }
}

/// Rustc takes `_` for `-` in the names of codegen options.
fn same(given: &str, name: &str) -> bool {
    given.replace('_', "-") == name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> CommandLine {
        CommandLine::new(text.split(' ').map(OsString::from)).unwrap()
    }

    #[test]
    fn codegen_options_in_every_spelling() {
        let mut l = line("-C lto -Clto=thin a.rs --codegen lto=fat --codegen=opt-level=3 -C debuginfo=2");
        assert_eq!(l.take_codegen("lto"), Some("fat".into()));
        assert_eq!(l, line("a.rs -Copt-level=3 -C debuginfo=2"));
        assert_eq!(l.codegen("debuginfo"), Some("2".into()));
        assert_eq!(l.codegen("linker"), None);
        assert_eq!(line("-Clinker_plugin_lto").codegen("linker-plugin-lto"), Some("".into()));
    }

    #[test]
    fn only_the_targets_crates_go_through_the_driver() {
        assert!(line("--crate-name a --target t --crate-type lib").is_target_crate());
        assert!(!line("--crate-name build_script_build --crate-type bin").is_target_crate());
        assert!(!line("--crate-name m --crate-type proc-macro --target t").is_target_crate());
        assert!(!line("- --crate-name ___ --print=file-names --target t").is_target_crate());
        assert!(!line("-vV").is_target_crate());
    }

    #[test]
    fn what_is_linked() {
        assert!(line("--crate-type bin --emit=dep-info,link").links());
        assert!(line("--crate-type lib --test --emit=dep-info,link").links());
        assert!(line("--crate-type rlib,cdylib").links());
        assert!(!line("--crate-type lib --emit=dep-info,metadata,link").links());
        assert!(!line("--crate-type bin --emit=dep-info,metadata").links());
    }

    #[test]
    fn where_dep_info_goes() {
        let l = line("--crate-name a --emit=dep-info,link -C extra-filename=-1 --out-dir o");
        assert_eq!(l.dep_info(), Some(PathBuf::from("o/a-1.d")));
        assert_eq!(line("--crate-name a --emit=link --out-dir o").dep_info(), None);
    }
}
