//! The linker's command line, as rustc writes it for a C compiler.

use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A linker command line, without the program's name. `@file` arguments are replaced by what the files hold.
#[derive(Clone, Debug)]
pub struct LinkLine {
    args: Vec<OsString>,
    /// Whether the arguments came in a file, because there are too many for a command line.
    in_file: bool,
}

/// Options whose value is the next argument.
const WITH_VALUE: [&str; 8] = ["-o", "-L", "-l", "-T", "-z", "-Xlinker", "-arch", "-isysroot"];

/// What the names of modules end in that lld leaves.
pub const FINAL: &str = ".precodegen.bc";

impl LinkLine {
    /// The line of these arguments.
    pub fn new(given: Vec<OsString>) -> Result<Self> {
        let mut args = Vec::with_capacity(given.len());
        let mut in_file = false;
        for arg in given {
            match arg.to_str().and_then(|a| a.strip_prefix('@')) {
                Some(path) => {
                    in_file = true;
                    let text = std::fs::read_to_string(path).with_context(|| format!("could not read `{path}`"))?;
                    args.extend(split_response_file(&text).into_iter().map(OsString::from));
                }
                None => args.push(arg),
            }
        }
        Ok(LinkLine { args, in_file })
    }

    /// The input files that may hold bitcode: objects and archives, with their positions in the line.
    pub fn inputs(&self) -> Vec<(usize, &Path)> {
        let mut inputs = Vec::new();
        let mut is_value = false;
        for (i, arg) in self.args.iter().enumerate() {
            let was_value = std::mem::replace(&mut is_value, WITH_VALUE.iter().any(|option| arg == option));
            let path = Path::new(arg);
            let kind = path.extension().and_then(OsStr::to_str);
            if !was_value && matches!(kind, Some("o" | "rlib" | "a" | "lib")) && !arg.to_string_lossy().starts_with('-')
            {
                inputs.push((i, path));
            }
        }
        inputs
    }

    /// The value of `-o`.
    pub fn output(&self) -> Option<&Path> {
        let at = self.args.iter().position(|arg| arg == "-o")?;
        self.args.get(at + 1).map(Path::new)
    }

    /// Whether the link is done by lld, which reads bitcode. The last word on it counts, as for the C compiler.
    pub fn uses_lld(&self) -> bool {
        let choice = self.args.iter().rev().find_map(|arg| arg.to_str()?.strip_prefix("-fuse-ld="));
        choice.is_some_and(|linker| linker.ends_with("lld"))
    }

    /// The directory of the target's standard library, `<sysroot>/lib/rustlib/<target>/lib`, where rustc has passed it
    /// as a search path.
    pub fn standard_library(&self) -> Option<&Path> {
        let paths = self.args.windows(2).filter(|pair| pair[0] == "-L").map(|pair| Path::new(&pair[1]));
        paths.into_iter().find(|path| is_standard_library(path))
    }

    /// Put another file in the place of an argument.
    pub fn replace(&mut self, at: usize, path: &Path) {
        self.args[at] = path.into();
    }

    /// Put another option in the place of an argument.
    pub fn replace_with(&mut self, at: usize, option: String) {
        self.args[at] = option.into();
    }

    /// The file that says what a shared library exports: the position of its option, the option without the path, and
    /// the path.
    pub fn export_list(&self) -> Option<(usize, &'static str, PathBuf)> {
        const OPTIONS: [&str; 2] = ["-Wl,--version-script=", "-Wl,-exported_symbols_list,"];
        self.args.iter().enumerate().find_map(|(at, arg)| {
            let of = |option: &'static str| Some((at, option, arg.to_str()?.strip_prefix(option)?.into()));
            OPTIONS.into_iter().find_map(of)
        })
    }

    /// Add an input before all others.
    ///
    /// Positions given out before are no longer right afterwards.
    pub fn prepend(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        // The first arguments may be options of the C compiler (`-m64`); an object may stand before them.
        self.args.splice(0..0, paths.into_iter().map(PathBuf::into_os_string));
    }

    /// Let lld keep the code it generates from bitcode in `dir` for the next link.
    pub fn keep_code_in(&mut self, dir: &Path) {
        let mut option = OsString::from("-Wl,--thinlto-cache-dir=");
        option.push(dir);
        // Before the user's own, which then counts.
        self.args.insert(0, option);
    }

    /// Give the linker's optimiser the options that the driver's own has: derivatives are optimised there.
    pub fn set_llvm_options(&mut self) {
        for option in pullback_llvm::OPTIONS {
            self.args.insert(0, format!("-Wl,-plugin-opt={}", option.to_string_lossy()).into());
        }
    }

    /// Let lld leave each module as it is before code is generated from it: in files beside the modules, whose names
    /// end in [`FINAL`].
    pub fn save_final_modules(&mut self) {
        self.args.insert(0, "-Wl,--save-temps=precodegen".into());
    }

    /// The options for the linker's optimiser: of `-Wl,-plugin-opt=O2,-plugin-opt=mcpu=x86-64` these are `O2` and
    /// `mcpu=x86-64`.
    pub fn plugin_options(&self) -> impl Iterator<Item = &str> {
        let words = self.args.iter().filter_map(|arg| arg.to_str()).flat_map(|arg| arg.split(','));
        words.filter_map(|word| word.strip_prefix("-plugin-opt="))
    }

    /// Leave out the options that speak to the link-time optimiser of a linker that has none for bitcode.
    pub fn remove_plugin_options(&mut self) {
        self.args.retain(|arg| !arg.to_string_lossy().starts_with("-Wl,-plugin-opt"));
    }

    /// The arguments for the real linker; in a file in `dir` if they came in one.
    pub fn into_args(self, dir: &Path) -> Result<Vec<OsString>> {
        if !self.in_file {
            return Ok(self.args);
        }
        let path = dir.join("linker-arguments");
        let text: String = self.args.iter().map(|arg| escape(&arg.to_string_lossy()) + "\n").collect();
        std::fs::write(&path, text).with_context(|| format!("could not write `{}`", path.display()))?;
        Ok(vec![format!("@{}", path.display()).into()])
    }
}

/// Whether this is `<sysroot>/lib/rustlib/<target>/lib`.
pub fn is_standard_library(path: &Path) -> bool {
    path.ends_with("lib") && path.ancestors().nth(2).is_some_and(|dir| dir.ends_with("lib/rustlib"))
}

/// The words of a response file in GNU's form: white space between them, `\` before a character that is meant as it is,
/// and quotes.
fn split_response_file(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '"' | '\'' if quote.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            c if quote == Some(c) => quote = None,
            c if c.is_whitespace() && quote.is_none() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn escape(arg: &str) -> String {
    let special = |c: char| c.is_whitespace() || matches!(c, '\\' | '"' | '\'');
    arg.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> LinkLine {
        LinkLine::new(text.split(' ').map(OsString::from).collect()).unwrap()
    }

    #[test]
    fn inputs_are_objects_and_archives() {
        let l = line("-m64 a.rcgu.o -Wl,-Bstatic libb.rlib -L x.a -lm -o out.o -Wl,--version-script=v.o");
        let inputs: Vec<_> = l.inputs().iter().map(|(i, p)| (*i, p.to_str().unwrap().to_owned())).collect();
        assert_eq!(inputs, [(1, "a.rcgu.o".into()), (3, "libb.rlib".into())]);
        assert_eq!(l.output(), Some(Path::new("out.o")));
    }

    #[test]
    fn the_last_word_on_the_linker_counts() {
        assert!(line("-fuse-ld=lld a.o").uses_lld());
        assert!(!line("-fuse-ld=lld a.o -fuse-ld=mold").uses_lld());
        assert!(!line("a.o").uses_lld());
    }

    #[test]
    fn the_standard_library_is_found() {
        let l = line("-L deps -L /s/lib/rustlib/x86_64-unknown-linux-gnu/lib");
        assert_eq!(l.standard_library(), Some(Path::new("/s/lib/rustlib/x86_64-unknown-linux-gnu/lib")));
    }

    #[test]
    fn response_files_there_and_back() {
        let args = ["a b.o", "c\\d", "\"e\"", "-Wl,x"];
        let text: String = args.iter().map(|a| escape(a) + "\n").collect();
        assert_eq!(split_response_file(&text), args);
        assert_eq!(split_response_file("'a b' \"c\\\"d\" ''"), ["a b", "c\"d", ""]);
    }
}
