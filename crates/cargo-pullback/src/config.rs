//! Cargo's configuration files, as far as this program has to know them: a few keys of `[build]` that would be lost
//! because the command line or the environment it gives to cargo comes before them.
//!
//! Cargo reads `.cargo/config.toml` in the current directory and in each one above it, and at last the one in its home;
//! `--config` comes before all of them. What is nearest counts.

use crate::env;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The configuration, most important layer first.
pub struct Config {
    layers: Vec<Layer>,
}

/// One file, or one `--config` option.
struct Layer {
    table: Table,
    /// What relative paths are relative to.
    base: PathBuf,
}

impl Config {
    /// What the files say, and these values of `--config`. A file that cannot be read as TOML is left out: cargo will
    /// say what is wrong with it.
    pub fn read(options: &[OsString]) -> Result<Config> {
        let here = std::env::current_dir().context("could not find the current directory")?;
        let mut layers: Vec<Layer> = options.iter().rev().filter_map(|option| Layer::option(option, &here)).collect();
        let mut dirs: Vec<PathBuf> = here.ancestors().map(|dir| dir.join(".cargo")).collect();
        dirs.extend(cargo_home().filter(|home| !dirs.contains(home)));
        layers.extend(dirs.iter().filter_map(|dir| Layer::directory(dir)));
        Ok(Config { layers })
    }

    /// Whether a key of `[build]` is set.
    pub fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    /// The program that a key of `[build]` names; one with a slash in it is a path, relative to where it is written.
    pub fn program(&self, key: &str) -> Option<OsString> {
        let (value, base) = self.value(key)?;
        let program = value.as_str().filter(|program| !program.is_empty())?;
        Some(if program.contains('/') { base.join(program).into_os_string() } else { program.into() })
    }

    fn value(&self, key: &str) -> Option<(&Value, &Path)> {
        let value = |layer: &'_ Layer| layer.table.get("build")?.get(key).cloned();
        let layer = self.layers.iter().find(|layer| value(layer).is_some())?;
        Some((layer.table.get("build")?.get(key)?, &layer.base))
    }
}

impl Layer {
    /// The file in a directory named `.cargo`, or in cargo's home.
    fn directory(dir: &Path) -> Option<Layer> {
        // Cargo prefers the old name where both are there.
        let path = ["config", "config.toml"].map(|name| dir.join(name)).into_iter().find(|path| path.is_file())?;
        Layer::file(&path)
    }

    fn file(path: &Path) -> Option<Layer> {
        let table = std::fs::read_to_string(path).ok()?.parse().ok()?;
        Some(Layer { table, base: path.parent()?.parent()?.to_owned() })
    }

    /// The value of `--config`: a file, or `key = value`.
    fn option(option: &OsString, here: &Path) -> Option<Layer> {
        let path = here.join(option);
        if path.is_file() {
            return Layer::file(&path);
        }
        Some(Layer { table: option.to_str()?.parse().ok()?, base: here.to_owned() })
    }
}

/// Where cargo keeps what belongs to no project.
fn cargo_home() -> Option<PathBuf> {
    env::var("CARGO_HOME").map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".cargo")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(text: &str, base: &str) -> Layer {
        Layer { table: text.parse().unwrap(), base: base.into() }
    }

    #[test]
    fn the_first_layer_that_has_a_key_counts() {
        let config = Config {
            layers: vec![
                layer("[net]\noffline = true", "/a/b"),
                layer("[build]\nrustc-wrapper = \"tools/wrap\"", "/a"),
                layer("[build]\nrustc-wrapper = \"sccache\"\ntarget = [\"x\"]\nrustdoc = \"doc\"", "/"),
            ],
        };
        assert_eq!(config.program("rustc-wrapper"), Some("/a/tools/wrap".into()));
        assert_eq!(config.program("rustdoc"), Some("doc".into()));
        assert!(config.has("target") && !config.has("jobs"));
    }

    #[test]
    fn an_option_is_a_layer() {
        let option = Layer::option(&"build.target='x'".into(), Path::new("/nowhere")).unwrap();
        assert!(Config { layers: vec![option] }.has("target"));
    }
}
