//! The names of the run-time support stay inside of a library for C: two such libraries in one process, or in one
//! program, may be built with different versions of it, and must not meet.
//!
//! The functions have C names, so that derivatives can call them. rustc exports such names from a shared library, with
//! the user's own; the driver takes them off the list. In a static library there is no list: there the names get a
//! suffix that tells versions apart.

use super::program::{ModuleId, Program};
use super::{Apart, line::LinkLine};
use anyhow::{Context as _, Result};
use pullback_llvm::{Linkage, Module};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

/// What the names of the run-time support, and of derivatives, begin with.
const PREFIXES: [&str; 2] = ["__pullback_", "pullback_rt_"];

/// What names of Rust functions begin with: a library that exports them is for Rust programs, which call the run-time
/// support in it.
const MANGLED: [&str; 2] = ["_R", "_ZN"];

fn is_ours(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Take the run-time support off the list of what a shared library for C exports.
pub fn hide_exports(line: &mut LinkLine, dir: &Path) -> Result<()> {
    let Some((at, option, list)) = line.export_list() else { return Ok(()) };
    let text = std::fs::read_to_string(&list).with_context(|| format!("could not read `{}`", list.display()))?;
    // A version script has `name;`, a list of Apple's `_name`.
    let prefix = if option.contains("exported_symbols_list") { "_" } else { "" };
    let bare = |line: &'_ str| -> String {
        line.trim().trim_end_matches(';').strip_prefix(prefix).unwrap_or_default().to_owned()
    };
    if text.lines().any(|line| MANGLED.iter().any(|mangled| bare(line).starts_with(mangled))) {
        return Ok(());
    }
    let kept: String = text.lines().filter(|line| !is_ours(&bare(line))).flat_map(|line| [line, "\n"]).collect();
    let path = dir.join("exports");
    std::fs::write(&path, kept).with_context(|| format!("could not write `{}`", path.display()))?;
    line.replace_with(at, format!("{option}{}", path.display()));
    Ok(())
}

/// Give the run-time support of a static library names of its own, wherever they are: in modules of the program,
/// changed or not, and in derivatives apart from them.
pub fn rename(program: &mut Program, changed: &mut HashMap<ModuleId, Vec<u8>>, apart: &mut [Apart]) -> Result<()> {
    let Some(home) = program.find_own("__pullback_tape_push")? else { return Ok(()) };
    let mut hasher = DefaultHasher::new();
    let modules: Vec<(ModuleId, Vec<u8>)> = program
        .bitcode()
        .into_iter()
        .filter(|(_, member)| PREFIXES.iter().any(|prefix| member.mentions(prefix)))
        .map(|(id, member)| {
            if id == home {
                member.bytes().hash(&mut hasher);
            }
            (id, changed.get(&id).map_or_else(|| member.bytes().to_vec(), Vec::clone))
        })
        .collect();
    let suffix = format!(".{:016x}", hasher.finish());
    let context = program.context.clone();
    let renamed = |bytes: &[u8]| -> Result<Vec<u8>> {
        let mut module = Module::parse_bitcode(&context, "run-time support", bytes)?;
        let named = module.functions().into_iter().chain(module.globals());
        for symbol in named.filter(|s| s.linkage != Linkage::Internal && is_ours(&s.name)).collect::<Vec<_>>() {
            module.rename(&symbol.name, &format!("{}{suffix}", symbol.name))?;
        }
        Ok(module.write_bitcode())
    };
    for (id, bytes) in modules {
        changed.insert(id, renamed(&bytes)?);
    }
    for derivatives in apart {
        derivatives.bytes = renamed(&derivatives.bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is exported, of a library whose list is this.
    fn exported(option: &str, list: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list");
        std::fs::write(&path, list).unwrap();
        let mut line = LinkLine::new(vec![format!("{option}{}", path.display()).into(), "-shared".into()]).unwrap();
        hide_exports(&mut line, dir.path()).unwrap();
        let (_, kept, path) = line.export_list().unwrap();
        assert_eq!(kept, option);
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_library_for_c_exports_the_users_functions() {
        let script = "{\n  global:\n    slope;\n    __pullback_tape_push;\n    pullback_rt_next_chunk;\n\n  \
                      local:\n    *;\n};\n";
        let expected = "{\n  global:\n    slope;\n\n  local:\n    *;\n};\n";
        assert_eq!(exported("-Wl,--version-script=", script), expected);
        let apples = "_slope\n___pullback_tape_push\n_pullback_rt_next_chunk\n";
        assert_eq!(exported("-Wl,-exported_symbols_list,", apples), "_slope\n");
    }

    #[test]
    fn a_library_for_rust_exports_what_it_has() {
        let script = "{\n  global:\n    __pullback_tape_push;\n    _RNvCs1_1a1f;\n\n  local:\n    *;\n};\n";
        assert_eq!(exported("-Wl,--version-script=", script), script);
    }
}
