//! Telling cargo what else an executable depends on: the driver itself, and the variables that change its work.
//!
//! Cargo reads the list of files and variables a crate depends on from a file that rustc leaves beside the artifact:
//!
//! ```text
//! target/debug/deps/app-1: src/main.rs src/data.rs
//! # env-dep:CARGO_PKG_VERSION=0.1.0
//! ```
//!
//! With the driver in the list, a new driver links the user's programs again, and nothing else; with the variables in
//! it, `PULLBACK_PRINT=… cargo pullback build` shows something though nothing has changed.

use crate::env;
use anyhow::{Context, Result};
use std::path::Path;

/// Add the driver and its variables to the list in `file`.
pub fn extend(file: &Path) -> Result<()> {
    let Ok(text) = std::fs::read_to_string(file) else {
        return Ok(()); // Rustc has failed before it wrote the list.
    };
    let driver = std::env::current_exe().context("could not find this executable")?;
    let variables = env::TRACKED.map(|name| (name, env::var(name).map(|v| v.to_string_lossy().into_owned())));
    std::fs::write(file, extended(&text, &driver.to_string_lossy(), &variables))
        .with_context(|| format!("could not write `{}`", file.display()))
}

fn extended(text: &str, driver: &str, variables: &[(&str, Option<String>)]) -> String {
    let mut out = String::new();
    let mut listed = false;
    for line in text.lines() {
        out.push_str(line);
        // Cargo reads the first rule only.
        if !listed && line.contains(": ") && !line.starts_with('#') {
            listed = true;
            out.push(' ');
            out.push_str(&driver.replace(' ', "\\ "));
        }
        out.push('\n');
    }
    for (name, value) in variables {
        match value {
            Some(value) => out.push_str(&format!("# env-dep:{name}={}\n", value.replace('\\', "\\\\"))),
            None => out.push_str(&format!("# env-dep:{name}\n")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_grows() {
        let text = "a: x.rs y.rs\n\na.d: x.rs\n";
        let got = extended(text, "/my tools/driver", &[("P", Some("ir".into())), ("Q", None)]);
        assert_eq!(got, "a: x.rs y.rs /my\\ tools/driver\n\na.d: x.rs\n# env-dep:P=ir\n# env-dep:Q\n");
    }
}
