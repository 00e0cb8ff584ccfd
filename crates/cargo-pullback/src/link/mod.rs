//! Face 4: the link driver.
//!
//! Called by rustc as the linker. Finds the modules that ask for derivatives, makes the derivatives, and calls the real
//! linker with the changed modules and the derivatives in their places.
//!
//! | module | what it does |
//! |---|---|
//! | [`mod@line`] | reads and changes the linker's command line |
//! | [`inputs`] | finds bitcode in objects and archives, writes archives |
//! | [`program`] | all bitcode of the program, by symbol |
//! | [`std_bodies`] | the bodies of the standard library's functions |
//! | [`requests`] | reads the requests of a module |
//! | [`rules`] | reads the rules that the program has for functions, and puts them into its working copies |
//! | [`policy`] | which functions are differentiated, which carry no derivative |
//! | [`resolve`] | brings the bodies together that a derivative needs |
//! | [`work`] | makes the derivatives of one module |
//! | [`c_heap`] | lets functions of C's allocator be code that a derivative can be taken of |
//! | [`nested`] | makes those first that functions to be differentiated ask for |
//! | [`bug`] | makes our own panics into errors |
//! | [`watch`] | makes crashes, LLVM's or our own, into errors |
//! | [`progress`] | what the driver is at, for who watches |
//! | [`prelink`] | optimises modules as rustc would before the link, or compiles them |
//! | [`support`] | keeps the names of the run-time support inside of libraries for C |
//! | [`native`] | compiles bitcode for linkers that do not read it |
//! | [`trace`] | prints, times and saves what is asked for |

mod bug;
mod c_heap;
mod floatless;
mod inputs;
mod line;
mod native;
mod nested;
mod opaque;
mod path;
mod policy;
mod prelink;
mod program;
mod progress;
mod requests;
mod resolve;
mod rules;
mod std_bodies;
mod support;
mod trace;
mod watch;
mod work;

use crate::report::{Message, Rendered};
use crate::{env, process};
use anyhow::{Context as _, Result};
use inputs::{Input, Member};
use line::LinkLine;
use prelink::{Goal, Kind, Prelink, Raw};
use program::{ModuleId, Program};
use progress::{Progress, Subject};
use pullback_abi::markers;
use rules::Rules;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std_bodies::StdBodies;
use trace::Trace;
use work::{Derived, Outcome, Replacements};

/// The first argument of a call that is for a static library and not for a link; its path and the opt-level follow.
pub const STATIC_LIBRARY: &str = "--pullback-static-library";

/// Run as rustc's linker, or for a static library.
pub fn run(args: Vec<OsString>) -> Result<ExitCode> {
    match &args[..] {
        [first, log, rest @ ..] if first == watch::WATCHED => watch::watched(Path::new(log), |progress| match rest {
            [first, library, level] if first == STATIC_LIBRARY => {
                static_library(Path::new(library), &level.to_string_lossy(), progress)
            }
            _ => link(rest.to_vec(), progress),
        }),
        _ => watch::run(&args),
    }
}

/// Put derivatives into a static library, and native code in the place of its bitcode: whoever links it need not know
/// bitcode.
fn static_library(library: &Path, level: &str, progress: Progress) -> Result<ExitCode> {
    let mut trace = Trace::from_env(progress);
    let mut line = LinkLine::new(vec![library.into(), format!("-Wl,-plugin-opt=O{level}").into()])?;
    let inputs = read_inputs(&line)?;
    let dir = tempfile::Builder::new().prefix("pullback-").tempdir().context("could not make a temporary directory")?;
    let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let result = prepared(&mut line, inputs, dir.path(), Names::Own, &mut trace);
    trace.finish(&name);
    match result {
        Ok(Finished::Ready) => {}
        Ok(Finished::Refused) => return Ok(ExitCode::FAILURE),
        Err(error) => {
            trace.sink.put(&Message::Error(work::failure(&name, &error)));
            return Ok(ExitCode::FAILURE);
        }
    }
    for (_, written) in line.inputs().into_iter().filter(|(_, path)| *path != library) {
        std::fs::copy(written, library).with_context(|| format!("could not write `{}`", library.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn link(args: Vec<OsString>, progress: Progress) -> Result<ExitCode> {
    let mut trace = Trace::from_env(progress);
    let mut line = LinkLine::new(args)?;
    let output = line.output().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let mut linker = Command::new(env::var(env::INNER_LINKER).unwrap_or_else(|| "cc".into()));
    let inputs = trace.step("read inputs", || read_inputs(&line))?;
    let has_bitcode = inputs.iter().any(|input| input.members.iter().any(inputs::Member::is_bitcode));
    let dir = tempfile::Builder::new().prefix("pullback-").tempdir().context("could not make a temporary directory")?;
    if has_bitcode {
        let result = prepared(&mut line, inputs, dir.path(), Names::Usual, &mut trace);
        trace.finish(&output);
        match result {
            Ok(Finished::Ready) => {}
            // The errors are in the report.
            Ok(Finished::Refused) => return Ok(ExitCode::FAILURE),
            Err(error) => {
                trace.sink.put(&Message::Error(work::failure(&output, &error)));
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    support::hide_exports(&mut line, dir.path())?;
    if line.uses_lld() {
        line.set_llvm_options();
        if trace.debugging.save.is_some() {
            line.save_final_modules();
        } else if let Some(cache) = cache_directory(".lto-cache") {
            line.keep_code_in(&cache);
        }
    }
    let library = line.standard_library().map(Path::to_owned);
    linker.args(line.into_args(dir.path())?);
    let status = linker
        .status()
        .with_context(|| format!("could not start the linker `{}`", linker.get_program().to_string_lossy()))?;
    if let (Some(library), true) = (library, trace.debugging.save.is_some()) {
        save_final_modules(&library, dir.path(), &mut trace)?;
    }
    Ok(process::exit_code(&linker, status))
}

/// For whoever wants to see it: the modules as lld has optimised them, derivatives inlined or not.
fn save_final_modules(library: &Path, dir: &Path, trace: &mut Trace) -> Result<()> {
    let sysroot = library.ancestors().nth(4).context("the standard library is not in a sysroot")?;
    let context = pullback_llvm::Context::new(&pullback_llvm::Llvm::load(sysroot)?);
    for file in std::fs::read_dir(dir)?.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if name.ends_with(line::FINAL) {
            let module = pullback_llvm::Module::parse_bitcode(&context, &name, &std::fs::read(file.path())?)?;
            trace.save(&format!("{name}.final.ll"), || module.print().into_bytes());
        }
    }
    Ok(())
}

/// Whether the link can go on.
enum Finished {
    /// It can.
    Ready,
    /// Some derivatives cannot be had; the report says why.
    Refused,
}

/// What the functions of the run-time support are called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// As they are.
    Usual,
    /// By names that another library does not have.
    Own,
}

/// Replace every module on the line that asks for derivatives, and make all modules ready for the linker.
fn prepared(line: &mut LinkLine, inputs: Vec<Input>, dir: &Path, names: Names, trace: &mut Trace) -> Result<Finished> {
    let libraries = standard_library(line)?;
    let sysroot = libraries.ancestors().nth(4).context("the standard library is not in a sysroot")?;
    let llvm = trace.step("load LLVM", || pullback_llvm::Llvm::load(sysroot))?;
    let context = pullback_llvm::Context::new(&llvm);
    // This process does nothing else, and goes when the linker is through. To give back the memory of LLVM's metadata
    // piece by piece would take a tenth of the time of a program with many derivatives.
    let mut program = ManuallyDrop::new(Program::new(context.clone(), inputs, StdBodies::new(&libraries)));

    let mut derived: Vec<Derived> = Vec::new();
    let rules = trace.step("read rules", || Rules::new(&mut program))?;
    let mut failures = rules.conflicts();
    for modules in asking(&program) {
        let outcome = bug::guarded(|| work::work(&mut program, &modules, &rules, trace))
            .unwrap_or_else(|said| Err(anyhow::anyhow!(said).context(bug::HEADLINE)));
        match outcome.unwrap_or_else(|error| Outcome::Failed(vec![work::failure(&modules[0].1, &error)])) {
            Outcome::Unchanged => {}
            Outcome::Derived(new) => derived.push(new),
            Outcome::Failed(errors) => failures.extend(errors),
        }
    }
    if !failures.is_empty() {
        tell(failures, trace);
        return Ok(Finished::Refused);
    }
    let lld = line.uses_lld();
    let goal = if lld { Goal::Bitcode } else { Goal::Object };
    let effort = native::Effort::of(line);
    let calls = replacements(&mut program, &derived)?;
    let promoted: HashSet<ModuleId> = derived.iter().flat_map(|d| d.owners.iter().copied()).collect();
    let progress = trace.progress.clone();
    let as_made = trace.debugging.as_made;
    let prelink = Prelink { llvm: &llvm, effort, as_made, cache: cache_directory(".prelink-cache"), progress };
    let Placed { mut joining, mut apart } = placed(&mut program, derived, &prelink, goal)?;
    let mut joined: HashMap<ModuleId, Vec<Subject>> = HashMap::new();
    let mut changed: HashMap<ModuleId, Vec<u8>> = HashMap::new();
    for id in calls.keys().chain(&promoted) {
        if changed.contains_key(id) {
            continue;
        }
        let module = if promoted.contains(id) { program.promoted(*id)? } else { program.module(*id)?.clone_module() };
        let calls = calls.get(id).map(Vec::as_slice).unwrap_or_default();
        let joining = joining.remove(id).unwrap_or_default();
        let subjects: Vec<Subject> = joining.iter().flat_map(|d| d.subjects.clone()).collect();
        let step = trace.progress.begin("derivatives", &subjects);
        let bitcode = trace.step("replace modules", || work::replace(module, calls, joining))?;
        drop(step);
        joined.insert(*id, subjects);
        changed.insert(*id, bitcode);
    }
    if names == Names::Own {
        support::rename(&mut program, &mut changed, &mut apart)?;
    }
    if !lld {
        line.remove_plugin_options();
    }
    trace.step("optimise modules", || optimise_all(&program, &prelink, goal, &mut changed, &joined, &mut apart))?;
    put_in_place(line, &program, &changed, &apart, dir)?;
    Ok(Finished::Ready)
}

/// Write errors to the report, in the order of the source, which rustc does not keep. Several derivatives of one
/// function meet the same obstacle, which is told once.
fn tell(mut failures: Vec<Rendered>, trace: &mut Trace) {
    failures.sort_by(|a, b| a.place.cmp(&b.place));
    let mut said: Vec<Rendered> = Vec::new();
    for failure in failures {
        if !said.contains(&failure) {
            trace.sink.put(&Message::Error(failure.clone()));
            said.push(failure);
        }
    }
}

/// What takes the places of the marker calls that ask for these derivatives, and of those in rules.
fn replacements(program: &mut Program, derived: &[Derived]) -> Result<Replacements> {
    let mut calls = Replacements::new();
    for (id, replaced) in derived.iter().flat_map(|d| &d.replacements) {
        calls.entry(*id).or_default().extend(replaced.iter().cloned());
    }
    let has_rules = |m: &Member| m.mentions(pullback_abi::ENTRY) || m.mentions(markers::RULE_MARKER);
    let ruled: Vec<ModuleId> = program.bitcode().iter().filter(|(_, m)| has_rules(m)).map(|(id, _)| *id).collect();
    for id in ruled {
        let replaced = rules::replacements(program, id)?;
        calls.entry(id).or_default().extend(replaced);
    }
    Ok(calls)
}

/// Where derivatives go.
struct Placed {
    /// Into the module of their caller.
    joining: HashMap<ModuleId, Vec<Derived>>,
    /// Beside a module.
    apart: Vec<Apart>,
}

/// Where derivatives go: into the module of their caller if that is optimised as well as they are to be, else apart.
/// `goal` is that of the program's modules.
fn placed(program: &mut Program, derived: Vec<Derived>, prelink: &Prelink<'_>, goal: Goal) -> Result<Placed> {
    let mut joining: HashMap<ModuleId, Vec<Derived>> = HashMap::new();
    let mut apart: Vec<Apart> = Vec::new();
    for derived in derived {
        let may_join = prelink.effort.level() >= 2 && !prelink.as_made;
        let optimised = may_join && program.module(derived.home())?.says_optimised();
        match derived.caller().filter(|_| optimised) {
            Some(caller) => joining.entry(caller).or_default().push(derived),
            None => {
                let goal = if optimised { goal } else { Goal::Object };
                let bytes = derived.module.write_bitcode();
                apart.push(Apart { home: derived.home(), goal, bytes, subjects: derived.subjects });
            }
        }
    }
    Ok(Placed { joining, apart })
}

/// Derivatives that are a module, or an object, of their own.
struct Apart {
    /// The module beside which they are put.
    home: ModuleId,
    /// What they are for the linker.
    goal: Goal,
    /// Their bitcode; once they are optimised, what is linked.
    bytes: Vec<u8>,
    /// Whose derivatives they are.
    subjects: Vec<Subject>,
}

/// Make all bitcode of the program, changed or not, and the derivatives apart from it, what the linker needs.
fn optimise_all(
    program: &Program,
    prelink: &Prelink,
    goal: Goal,
    changed: &mut HashMap<ModuleId, Vec<u8>>,
    joined: &HashMap<ModuleId, Vec<Subject>>,
    apart: &mut [Apart],
) -> Result<()> {
    if let Some(cache) = &prelink.cache {
        prelink::forget_old(cache);
    }
    let modules = program.bitcode();
    let derivatives = apart.iter().map(|d| {
        let (kind, subjects) = (Kind::Derivatives, d.subjects.as_slice());
        Raw { name: "derivatives", bitcode: &d.bytes, kind, goal: d.goal, subjects }
    });
    let given = modules.iter().map(|(id, member)| {
        let (bitcode, kind) = match changed.get(id) {
            Some(bitcode) => (bitcode.as_slice(), Kind::Changed),
            None => (member.bytes(), Kind::Given),
        };
        let subjects = joined.get(id).map(Vec::as_slice).unwrap_or_default();
        Raw { name: &member.name, bitcode, kind, goal, subjects }
    });
    let mut made = prelink.run(&derivatives.chain(given).collect::<Vec<_>>())?;
    let given = made.split_off(apart.len());
    for (derivatives, bytes) in apart.iter_mut().zip(made) {
        derivatives.bytes = bytes.context("derivatives are always made")?;
    }
    changed.extend(modules.iter().zip(given).filter_map(|((id, _), bytes)| Some((*id, bytes?))));
    Ok(())
}

/// Write the changed modules and the derivatives to files, and put these on the line.
fn put_in_place(
    line: &mut LinkLine,
    program: &Program,
    changed: &HashMap<ModuleId, Vec<u8>>,
    apart: &[Apart],
    dir: &Path,
) -> Result<()> {
    let mut objects = Vec::new();
    for (i, input) in program.inputs.iter().enumerate() {
        let id = |k: usize| ModuleId::Line(i, k);
        if !(0..input.members.len()).any(|k| changed.contains_key(&id(k))) {
            continue;
        }
        let mut members: Vec<(String, &[u8])> = Vec::new();
        let mut added: Vec<(String, &[u8])> = Vec::new();
        for (k, member) in input.members.iter().enumerate() {
            members.push((member.name.clone(), changed.get(&id(k)).map_or(member.bytes(), Vec::as_slice)));
            let homed = apart.iter().filter(|d| d.home == id(k));
            added.extend(homed.map(|d| (format!("{}.derivative.o", member.name), d.bytes.as_slice())));
        }
        let file = |name: &str| dir.join(format!("{i}-{name}"));
        if input.is_archive {
            // The derivatives go into the archive: they are linked if and only if their module is.
            members.extend(added);
            let path = file(&input.path.file_name().unwrap_or_default().to_string_lossy());
            inputs::write_archive(&path, &members)?;
            line.replace(input.position, &path);
        } else {
            for (name, bytes) in members {
                line.replace(input.position, &write(file(&name), bytes)?);
            }
            for (name, bytes) in added {
                objects.push(write(file(&name), bytes)?);
            }
        }
    }
    line.prepend(objects);
    Ok(())
}

/// Where something is kept from one link to the next: in the target directory, beside the driver's faces.
fn cache_directory(name: &str) -> Option<PathBuf> {
    let face = PathBuf::from(std::env::args_os().next()?);
    Some(face.parent()?.parent()?.join(name))
}

/// The modules that ask for derivatives, with their names, in groups: the members of an archive belong together, and so
/// do the objects of the crate that is linked.
fn asking(program: &Program) -> Vec<Vec<(ModuleId, String)>> {
    let (mut groups, mut objects) = (Vec::new(), Vec::new());
    for (i, input) in program.inputs.iter().enumerate() {
        let asking = input.members.iter().enumerate().filter(|(_, member)| member.may_have_requests());
        let asking = asking.map(|(k, member)| (ModuleId::Line(i, k), member.name.clone()));
        if input.is_archive {
            groups.push(asking.collect());
        } else {
            objects.extend(asking);
        }
    }
    groups.push(objects);
    groups.retain(|group| !group.is_empty());
    groups
}

/// The files on the line that may hold bitcode: all but the standard library's.
fn read_inputs(line: &LinkLine) -> Result<Vec<Input>> {
    let own = |path: &Path| !path.parent().is_some_and(line::is_standard_library);
    line.inputs().into_iter().filter(|(_, path)| own(path)).map(|(at, path)| Input::read(at, path)).collect()
}

/// The directory of the target's standard library: from the line, else from the rustc in use.
fn standard_library(line: &LinkLine) -> Result<PathBuf> {
    if let Some(dir) = line.standard_library() {
        return Ok(dir.to_owned());
    }
    let rustc = env::var("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc)
        .args(["--print", "target-libdir"])
        .output()
        .with_context(|| format!("could not start `{}`", rustc.to_string_lossy()))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

fn write(path: PathBuf, bytes: &[u8]) -> Result<PathBuf> {
    std::fs::write(&path, bytes).with_context(|| format!("could not write `{}`", path.display()))?;
    Ok(path)
}
