//! The bodies of the standard library's functions.
//!
//! The standard library comes as native objects that carry the bitcode they were compiled from in a section `.llvmbc`.
//! The objects' own symbol tables say which function is where, so that bitcode is only parsed for what is needed.

use super::inputs::{Input, Member};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The index of the standard library, made when it is first asked for.
pub struct StdBodies {
    /// The libraries that are not in the index yet, the likelier ones last.
    unread: Vec<PathBuf>,
    index: HashMap<String, usize>,
    members: Vec<Member>,
}

/// The crates whose functions a user's code calls. Instances of their generic functions may be in any other.
const LIKELY: [&str; 3] = ["libcore-", "liballoc-", "libstd-"];

impl StdBodies {
    /// The library in `<sysroot>/lib/rustlib/<target>/lib`.
    pub fn new(directory: &Path) -> Self {
        let files = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|file| file.path());
        let mut unread: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "rlib")).collect();
        let is_likely = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            LIKELY.iter().any(|library| name.starts_with(library))
        };
        unread.sort_by_cached_key(|path| (is_likely(path), path.clone()));
        StdBodies { unread, index: HashMap::new(), members: Vec::new() }
    }

    /// The number of the module that defines this Rust function, for [`StdBodies::bitcode`].
    pub fn find(&mut self, symbol: &str) -> Option<usize> {
        // The names of C functions (`tanh`, `memcpy`) mean the C library's, whoever else may define them.
        if !symbol.starts_with("_R") && !symbol.starts_with("_ZN") {
            return None;
        }
        loop {
            if let Some(module) = self.index.get(symbol) {
                return Some(*module);
            }
            let path = self.unread.pop()?;
            self.read(&path);
        }
    }

    /// The bitcode of a module.
    pub fn bitcode(&self, module: usize) -> Option<&[u8]> {
        embedded_bitcode(self.members[module].bytes())
    }

    fn read(&mut self, path: &Path) {
        // A library that cannot be read has no bodies for us; the linker is the one to complain.
        let Ok(input) = Input::read(0, path) else { return };
        for member in input.members {
            let Ok(object) = ElfFile64::<object::Endianness>::parse(member.bytes()) else { continue };
            if object.section_by_name(SECTION).is_none() {
                continue;
            }
            let functions = object
                .symbols()
                .filter(|symbol| symbol.is_definition() && symbol.is_global() && symbol.kind() == SymbolKind::Text);
            for name in functions.filter_map(|symbol| symbol.name().ok()) {
                self.index.insert(name.to_owned(), self.members.len());
            }
            self.members.push(member.clone());
        }
    }
}

/// Where rustc keeps the bitcode of a native object.
const SECTION: &str = ".llvmbc";

fn embedded_bitcode(object: &[u8]) -> Option<&[u8]> {
    let object = ElfFile64::<object::Endianness>::parse(object).ok()?;
    object.section_by_name(SECTION)?.data().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_standard_library_of_this_toolchain_has_bodies() {
        let rustc = Command::new("rustc").args(["--print", "target-libdir"]).output().unwrap();
        let dir = PathBuf::from(String::from_utf8(rustc.stdout).unwrap().trim());
        let mut bodies = StdBodies::new(&dir);
        assert_eq!(bodies.find("_RNvC4core16no_such_function"), None);
        let name = bodies.index.keys().find(|name| name.contains("handle_alloc_error")).unwrap().clone();
        let module = bodies.find(&name).unwrap();
        assert!(bodies.bitcode(module).unwrap().starts_with(b"BC\xC0\xDE"));
    }
}
