//! One module's way: its requests are read, its derivatives made, and its marker calls replaced by their addresses.
//!
//! ```text
//! M ─ clone ─▶ W ─ resolve ─▶ normalise ─▶ import ─▶ differentiate ─▶ export ─▶ optimise ─▶ D.o
//! └─ replace the marker calls by the symbols of D ─▶ M'
//! ```
//!
//! D holds the derivatives under hidden names, and private copies of all functions and constants they need. Variables are
//! shared: they stay where they are, and those that only their module knows get a hidden name by which D can refer to them.

use super::bug;
use super::inputs::MARKER;
use super::policy::{is_support, policy};
use super::program::{ModuleId, Program, tag};
use super::requests::{Asked, requests};
use super::resolve::{Callees, is_differentiated, resolve};
use super::trace::Trace;
use crate::diagnostics::{render, show};
use crate::report::Rendered;
use anyhow::{Context, Result};
use pullback_ad::Mode;
use pullback_ir::FuncId;
use pullback_ir::text::function_text;
use pullback_llvm::{
    CallSite, Imported, Linkage, Module, NormaliseOptions, Policy, TargetOptions, import_functions, normalise,
};

/// What came of a module.
pub enum Outcome {
    /// It asks for nothing.
    Unchanged,
    /// It is replaced.
    Derived(Derived),
    /// It asks for something that cannot be had.
    Failed(Vec<Rendered>),
}

/// A module with its derivatives made.
pub struct Derived {
    /// The derivatives' symbols, each with the marker calls that it replaces.
    replacements: Vec<(CallSite, String)>,
    /// The derivatives, as a native object.
    pub object: Vec<u8>,
    /// The modules with variables that the object refers to.
    pub owners: Vec<ModuleId>,
}

/// A request, and the symbol of its derivative.
struct Task {
    asked: Asked,
    symbol: String,
}

/// Make the derivatives that module `id` asks for.
pub fn work(program: &mut Program, id: ModuleId, name: &str, trace: &mut Trace) -> Result<Outcome> {
    let module = trace.step("parse", || program.module(id))?;
    let asked = trace.step("read requests", || requests(program, id, &module))?;
    if asked.is_empty() {
        return Ok(Outcome::Unchanged);
    }
    let tag = tag(name);
    let tasks: Vec<Task> =
        asked.into_iter().enumerate().map(|(i, asked)| Task { symbol: symbol(&asked, &tag, i), asked }).collect();
    if trace.debugging.request {
        for task in &tasks {
            trace.print(&format!("request {}", task.symbol), &format!("{:#?}", task.asked));
        }
    }
    trace.save(&format!("{name}.bc"), || module.write_bitcode());

    let (imported, derivatives) = match differentiate(program, id, name, &tasks, trace)? {
        Ok(done) => done,
        Err(errors) => return Ok(Outcome::Failed(errors)),
    };
    let mut d = emit(imported, &derivatives, &tasks, trace)?;
    let symbols: Vec<&str> = tasks.iter().map(|task| task.symbol.as_str()).collect();
    let owners = close(program, &mut d, &symbols)?;
    let object = trace.step("optimise", || -> Result<_> {
        d.run_passes("default<O3>", &TargetOptions::default())?;
        Ok(d.emit_object(&TargetOptions::default())?)
    })?;
    if trace.debugging.llvm {
        let code: Vec<String> = d.print().lines().filter(|line| !line.starts_with('!')).map(str::to_owned).collect();
        trace.print(&format!("LLVM {name}"), code.join("\n").trim_end());
    }
    trace.save(&format!("{name}.derivative.ll"), || d.print().into_bytes());
    trace.save(&format!("{name}.derivative.o"), || object.clone());

    let replacements =
        tasks.into_iter().flat_map(|task| task.asked.calls.into_iter().map(move |call| (call, task.symbol.clone())));
    Ok(Outcome::Derived(Derived { replacements: replacements.collect(), object, owners }))
}

/// The derivatives in Pullback's IR, with everything they need; or all the reasons why there are none.
type Differentiated = std::result::Result<(Imported, Vec<FuncId>), Vec<Rendered>>;

fn differentiate(
    program: &mut Program,
    id: ModuleId,
    name: &str,
    tasks: &[Task],
    trace: &mut Trace,
) -> Result<Differentiated> {
    let mut shims: Vec<&str> = tasks.iter().map(|task| task.asked.shim.as_str()).collect();
    shims.sort_unstable();
    shims.dedup();

    let mut w = program.opened(id)?;
    trace.step("resolve bodies", || -> Result<()> {
        w.retain_reachable(&shims)?;
        resolve(program, &mut w, Callees::Bodies, is_differentiated)?;
        share_variables(&mut w)?;
        w.internalize(&shims);
        Ok(())
    })?;
    trace.save(&format!("{name}.primal.ll"), || w.print().into_bytes());
    let functions = w.functions().into_iter().map(|f| f.name);
    let keep = functions.filter(|f| !f.starts_with("llvm.") && policy(f) != Policy::Import).collect();
    let options = NormaliseOptions { keep, target: TargetOptions::default() };
    trace.step("normalise", || normalise(&mut w, &shims, &options))?;
    trace.save(&format!("{name}.normal.ll"), || w.print().into_bytes());
    let mut imported = trace.step("import", || import_functions(w, &shims, &|symbol| policy(symbol)))?;

    let primals = imported.ir.functions().count();
    let (mut derivatives, mut errors) = (Vec::new(), Vec::new());
    for task in tasks {
        let request = &task.asked.request;
        let primal = imported.ir.find(&task.asked.shim).context("the importer has lost a function")?;
        if trace.debugging.ir {
            trace.print(&format!("primal {}", request.name), &function_text(&imported.ir, primal));
        }
        let ir = &mut imported.ir;
        let made = trace.step("differentiate", || {
            bug::guarded(|| pullback_ad::differentiate(ir, primal, request, &task.symbol))
                .unwrap_or_else(|said| Err(pullback_ad::Error::internal(bug::HEADLINE).note(said)))
        });
        match made {
            Ok(id) => derivatives.push(id),
            Err(error) => errors.push(render(&error, &request.name, &imported.ir, &task.asked.place)),
        }
    }
    if trace.debugging.derivative {
        // The derivatives, and the functions the engine has made for them.
        for (id, function) in imported.ir.functions().skip(primals).filter(|(_, f)| !f.is_declaration()) {
            trace.print(&format!("derivative {}", function.name), &function_text(&imported.ir, id));
        }
    }
    Ok(if errors.is_empty() { Ok((imported, derivatives)) } else { Err(errors) })
}

/// Turn the derivatives into LLVM's IR; the module holds them, and what they reach.
fn emit(mut imported: Imported, derivatives: &[FuncId], tasks: &[Task], trace: &mut Trace) -> Result<Module> {
    trace.step("export", || -> Result<Module> {
        imported.export(derivatives, &tasks[0].asked.shim)?;
        let mut module = imported.into_module();
        let symbols: Vec<&str> = tasks.iter().map(|task| task.symbol.as_str()).collect();
        module.retain_reachable(&symbols)?;
        module.verify().context("the engine has made code that LLVM does not take; this is a bug in Pullback")?;
        Ok(module)
    })
}

/// Make `d` a module of its own: only the derivatives are seen from outside, and variables are shared with their owners, which
/// are returned.
fn close(program: &mut Program, d: &mut Module, derivatives: &[&str]) -> Result<Vec<ModuleId>> {
    // The run-time support's fast paths are worth inlining.
    resolve(program, d, Callees::Declarations, is_support)?;
    share_variables(d)?;
    d.internalize(derivatives);
    Ok(d.globals().iter().filter_map(|g| program.owner(&g.name)).collect())
}

/// Leave variables where they are: a copy of a module refers to them.
fn share_variables(module: &mut Module) -> Result<()> {
    for variable in module.globals().into_iter().filter(|g| !g.is_constant && !g.is_declaration) {
        anyhow::ensure!(variable.linkage != Linkage::Internal, "a variable of the standard library has come along");
        module.make_declaration(&variable.name)?;
    }
    Ok(())
}

/// The module that takes the place of `module`: with the derivatives' addresses in the place of its marker calls.
pub fn replace(mut module: Module, derived: Option<&Derived>) -> Result<Vec<u8>> {
    if let Some(derived) = derived {
        replace_markers(&mut module, &derived.replacements)?;
    }
    Ok(module.write_bitcode())
}

fn replace_markers(module: &mut Module, replacements: &[(CallSite, String)]) -> Result<()> {
    let mut calls: Vec<_> = replacements.iter().collect();
    // From the last to the first: a call's number counts the calls before it.
    calls.sort_by_key(|(call, _)| std::cmp::Reverse(call.index));
    for (call, symbol) in calls {
        module.replace_call(call, symbol)?;
    }
    // The marker's declaration must go, or the linker would look for it.
    module.run_passes("strip-dead-prototypes", &TargetOptions::default())?;
    anyhow::ensure!(module.find_symbol(MARKER).is_none(), "`{MARKER}` is used otherwise than by a call");
    Ok(())
}

/// The symbol of a derivative, to be read in a backtrace or a profile.
fn symbol(asked: &Asked, tag: &str, number: usize) -> String {
    let mode = match asked.request.mode {
        Mode::Forward => "forward",
        Mode::Reverse => "reverse",
    };
    let name: String =
        asked.request.name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    format!("__pullback_{mode}_{name}.{tag}.{number}")
}

/// A failure of the driver or of LLVM, in the form of the other errors.
pub fn failure(name: &str, error: &anyhow::Error) -> Rendered {
    let mut notes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
    notes.push(format!("while working on the derivatives of `{name}`"));
    show(&error.to_string(), None, &notes, &[])
}
