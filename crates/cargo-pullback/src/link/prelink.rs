//! What rustc's optimiser does before the link, done here.
//!
//! rustc is told to leave its code as it is (see [`crate::rustc`]), because derivatives are taken of the program as it
//! is written. Once they are taken, every module that is meant to be optimised goes through the passes that rustc would
//! have run on it, and then to the linker, which does the rest. As rustc would, this works on the modules side by side,
//! and only on those that have changed: what comes out is kept in the target directory, by the content of what went in.
//! Linkers that do not read bitcode get native code instead.

use super::native::{self, Effort};
use super::progress::{Progress, Subject};
use anyhow::{Context as _, Result};
use pullback_llvm::{Context, Llvm, Module, TargetOptions};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, SystemTime};

/// A module on its way to the linker.
pub struct Raw<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// Its bitcode.
    pub bitcode: &'a [u8],
    /// Where it comes from.
    pub kind: Kind,
    /// What it becomes.
    pub goal: Goal,
    /// The functions whose derivatives are in it.
    pub subjects: &'a [Subject],
}

/// Where a module comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// It is as it was on the line.
    Given,
    /// The driver has changed it, so that it has to be written anew in any case.
    Changed,
    /// The driver has made it: derivatives are optimised in every profile.
    Derivatives,
}

/// What the linker is given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Goal {
    /// Bitcode, for a linker that optimises and compiles it.
    Bitcode,
    /// Native code.
    Object,
}

/// LLVM's passes are recursive in places; this is what they have in a program's first thread.
const STACK: usize = 8 << 20;

/// Runs the passes, and remembers what came out.
pub struct Prelink<'a> {
    /// The library with the passes.
    pub llvm: &'a Llvm,
    /// How hard the linker will try.
    pub effort: Effort,
    /// Whether derivatives stay as they are made.
    pub as_made: bool,
    /// Where results are kept from one link to the next.
    pub cache: Option<PathBuf>,
    /// Where it is written down which module is at work.
    pub progress: Progress,
}

impl Prelink<'_> {
    /// What the linker is given for each module, in order; `None` where it can stay as it is.
    pub fn run(&self, modules: &[Raw<'_>]) -> Result<Vec<Option<Vec<u8>>>> {
        let results: Vec<Mutex<Option<Vec<u8>>>> = modules.iter().map(|_| Mutex::new(None)).collect();
        let failure: Mutex<Option<anyhow::Error>> = Mutex::new(None);
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(module) = modules.get(at) else { return };
                match self.one(module) {
                    Ok(bitcode) => *lock(&results[at]) = bitcode,
                    Err(error) => {
                        lock(&failure).get_or_insert(error);
                    }
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(modules.len());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let thread = std::thread::Builder::new().stack_size(STACK);
                thread.spawn_scoped(scope, work).context("could not start a thread")?;
            }
            anyhow::Ok(())
        })?;
        match failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some(error) => Err(error),
            None => Ok(results.into_iter().map(|r| r.into_inner().unwrap_or_else(|e| e.into_inner())).collect()),
        }
    }

    fn one(&self, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        let kept = self.cache.as_ref().map(|dir| dir.join(self.key(raw)));
        if let Some(found) = kept.as_deref().and_then(read) {
            // An empty file says that the module may stay as it is.
            return Ok((!found.is_empty()).then_some(found));
        }
        let _step = self.progress.begin(&format!("optimise `{}`", raw.name), raw.subjects);
        let made = self.optimise(raw).with_context(|| format!("could not optimise `{}`", raw.name))?;
        if let Some(path) = kept {
            // What cannot be kept is made again next time.
            let _ = write(&path, made.as_deref().unwrap_or_default());
        }
        Ok(made)
    }

    fn optimise(&self, raw: &Raw<'_>) -> Result<Option<Vec<u8>>> {
        let context = Context::new(self.llvm);
        let mut module = Module::parse_bitcode(&context, raw.name, raw.bitcode)?;
        let derivatives = raw.kind == Kind::Derivatives && !self.as_made;
        if raw.goal == Goal::Object {
            let effort = match raw.kind {
                Kind::Derivatives if self.as_made => Effort::NONE,
                Kind::Derivatives => Effort::MOST,
                Kind::Given | Kind::Changed => self.effort,
            };
            return native::compile(module, effort).map(Some);
        }
        if derivatives || module.says_optimised() {
            // A crate may be optimised although the program as a whole is not.
            let level = if self.effort.level() == 0 { 3 } else { self.effort.level() };
            module.run_passes(&format!("thinlto-pre-link<O{level}>"), &TargetOptions::default())?;
        } else if raw.kind == Kind::Given {
            return Ok(None);
        }
        for_linker(module).map(Some)
    }

    /// A name for what comes of a module: two with the same name are the same but for an accident of 1 in 2¹²⁸.
    fn key(&self, raw: &Raw<'_>) -> String {
        let hash = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, self.effort.level(), self.as_made, raw.kind, raw.goal).hash(&mut hasher);
            (self.llvm.path(), self.llvm.version()).hash(&mut hasher);
            driver_hash().hash(&mut hasher);
            raw.bitcode.hash(&mut hasher);
            hasher.finish()
        };
        format!("{:016x}{:016x}.bc", hash(0), hash(1))
    }
}

/// A hash of this executable: another driver may make something else of the same module. Where it cannot be read,
/// nothing is the same.
fn driver_hash() -> u64 {
    static HASH: LazyLock<u64> = LazyLock::new(|| {
        let mut hasher = DefaultHasher::new();
        match std::env::current_exe().and_then(std::fs::read) {
            Ok(bytes) => bytes.hash(&mut hasher),
            Err(_) => (std::process::id(), SystemTime::now()).hash(&mut hasher),
        }
        hasher.finish()
    });
    *HASH
}

/// A module as rustc writes it for the linker: bitcode with a summary, by which the linker optimises modules side by
/// side, with what it needs of the others, and keeps the results for the next link. LLVM's C interface cannot write it,
/// but has a pass that puts such bitcode into a constant of the module.
fn for_linker(mut module: Module) -> Result<Vec<u8>> {
    module.run_passes("name-anon-globals,embed-bitcode<thinlto;emit-summary>", &TargetOptions::default())?;
    Ok(module.constant_data("llvm.embedded.object")?.bytes)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A kept result; its time says when it was last wanted.
fn read(path: &Path) -> Option<Vec<u8>> {
    let found = std::fs::read(path).ok()?;
    let file = std::fs::File::options().append(true).open(path);
    let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
    Some(found)
}

/// Keep a result. It appears under its name as a whole: another link may be reading.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let dir = path.parent().context("a path in the cache")?;
    std::fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    std::io::Write::write_all(&mut file, bytes)?;
    file.persist(path)?;
    Ok(())
}

/// What has not been wanted for so long is deleted.
const FORGET_AFTER: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Delete the results in `dir` that nobody has wanted for long.
pub fn forget_old(dir: &Path) {
    let Some(limit) = SystemTime::now().checked_sub(FORGET_AFTER) else { return };
    for file in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_old = file.metadata().and_then(|m| m.modified()).is_ok_and(|time| time < limit);
        if is_old {
            let _ = std::fs::remove_file(file.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A module with a variable in memory, compiled at an opt-level above 0 or not, as bitcode.
    fn bitcode(llvm: &Llvm, optimised: bool) -> Vec<u8> {
        let text = format!(
            r#"
            target triple = "x86_64-unknown-linux-gnu"
            define double @f(double %x) {{
              %place = alloca double
              store double %x, ptr %place
              %y = load double, ptr %place
              ret double %y
            }}
            !llvm.dbg.cu = !{{!0}}
            !llvm.module.flags = !{{!2}}
            !0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, isOptimized: {optimised},
                                         emissionKind: LineTablesOnly)
            !1 = !DIFile(filename: "f.rs", directory: "")
            !2 = !{{i32 2, !"Debug Info Version", i32 3}}
            "#
        );
        Module::parse_ir(&Context::new(llvm), "f", &text).unwrap().write_bitcode()
    }

    fn text(llvm: &Llvm, bitcode: &[u8]) -> String {
        Module::parse_bitcode(&Context::new(llvm), "f", bitcode).unwrap().print()
    }

    #[test]
    fn what_is_meant_to_be_optimised_is_and_only_once() {
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
        let llvm = Llvm::load(Path::new(String::from_utf8(sysroot.stdout).unwrap().trim())).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("cache");
        let (cache_dir, progress) = (Some(cache.clone()), Progress::default());
        let prelink = Prelink { llvm: &llvm, effort: Effort::default(), as_made: false, cache: cache_dir, progress };
        let (raw, debug) = (bitcode(&llvm, true), bitcode(&llvm, false));
        let modules = [
            Raw { name: "optimised", bitcode: &raw, kind: Kind::Given, goal: Goal::Bitcode, subjects: &[] },
            Raw { name: "not", bitcode: &debug, kind: Kind::Given, goal: Goal::Bitcode, subjects: &[] },
            Raw { name: "changed", bitcode: &debug, kind: Kind::Changed, goal: Goal::Bitcode, subjects: &[] },
        ];
        let made = prelink.run(&modules).unwrap();
        assert!(!text(&llvm, made[0].as_deref().unwrap()).contains("alloca"));
        assert_eq!(made[1], None);
        assert!(text(&llvm, made[2].as_deref().unwrap()).contains("alloca"));
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 3);
        // The second time the answers come from the cache: a mark left there comes back.
        let path = cache.join(prelink.key(&modules[0]));
        std::fs::write(&path, b"kept").unwrap();
        assert_eq!(prelink.run(&modules).unwrap()[0].as_deref(), Some(&b"kept"[..]));
    }

    #[test]
    fn derivatives_are_optimised_unless_they_are_to_stay_as_made() {
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
        let llvm = Llvm::load(Path::new(String::from_utf8(sysroot.stdout).unwrap().trim())).unwrap();
        let debug = bitcode(&llvm, false);
        let module = Raw { name: "f", bitcode: &debug, kind: Kind::Derivatives, goal: Goal::Bitcode, subjects: &[] };
        for (as_made, effort) in [false, true].into_iter().flat_map(|m| [(m, Effort::NONE), (m, Effort::default())]) {
            let prelink = Prelink { llvm: &llvm, effort, as_made, cache: None, progress: Progress::default() };
            let made = prelink.run(std::slice::from_ref(&module)).unwrap();
            assert_eq!(text(&llvm, made[0].as_deref().unwrap()).contains("alloca"), as_made);
        }
    }
}
