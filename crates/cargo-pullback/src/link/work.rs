//! The way of the modules that ask: their requests are read, the derivatives made, and the marker calls replaced by
//! their addresses.
//!
//! ```text
//! M, N, … ─ clone ─▶ W ─ resolve ─▶ normalise ─▶ import ─▶ differentiate ─▶ export ─▶ D
//! └─ replace the marker calls by the symbols of D ─▶ M', N', …
//! ```
//!
//! Modules of one crate go together: they need the same bodies of the standard library, and rustc makes many small
//! modules of a crate where it is not asked to optimise.
//!
//! Derivatives that a function to be differentiated asks for itself come first, see [`nested`].
//!
//! D holds the derivatives under hidden names, and private copies of all functions and constants they need. Variables
//! are shared: they stay where they are, and those that only their module knows get a hidden name by which D can refer
//! to them; so are functions that ask for derivatives themselves.

use super::c_heap;
use super::nested::{self, Inner};
use super::opaque;
use super::path::demangled;
use super::policy::{is_support, policy};
use super::program::{ModuleId, Program, tag};
use super::progress::Subject;
use super::requests::{Asked, requests};
use super::resolve::{Callees, resolve};
use super::rules::{self, Applied, Rules};
use super::trace::Trace;
use super::{bug, floatless};
use crate::diagnostics::{render, show};
use crate::report::Rendered;
use anyhow::{Context, Result};
use pullback_abi::ENTRY;
use pullback_abi::markers::{self, DISOWNS, LATER, RENEWS, SAVES, YIELDS};
use pullback_ad::linearise::text::print as linear_text;
use pullback_ad::{Derivative, Mode, Request};
use pullback_ir::FuncId;
use pullback_ir::text::function_text;
use pullback_llvm::{
    CallSite, Imported, Linkage, Module, NormaliseOptions, Policy, TargetOptions, import_functions, normalise,
};
use pullback_rules::rule;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What came of a group of modules.
pub enum Outcome {
    /// They ask for nothing.
    Unchanged,
    /// They are replaced.
    Derived(Derived),
    /// They ask for something that cannot be had.
    Failed(Vec<Rendered>),
}

/// For each module its marker calls, and the symbols that replace them, or null.
pub type Replacements = HashMap<ModuleId, Vec<(CallSite, Option<String>)>>;

/// Modules with their derivatives made.
pub struct Derived {
    /// The derivatives' symbols, for the marker calls that ask for them.
    pub replacements: Replacements,
    /// The derivatives and what they need of their own, to be optimised yet.
    pub module: Module,
    /// The names of the derivatives: what is seen of the module from outside.
    pub symbols: Vec<String>,
    /// The modules with variables that the derivatives refer to.
    pub owners: Vec<ModuleId>,
    /// Whose derivatives they are.
    pub subjects: Vec<Subject>,
}

impl Derived {
    /// The module beside which the derivatives are put: all are in the same archive, or in none.
    pub fn home(&self) -> ModuleId {
        *self.replacements.keys().min().expect("derivatives are asked for by a module")
    }

    /// The only module that calls them, if there is one.
    pub fn caller(&self) -> Option<ModuleId> {
        Some(self.home()).filter(|_| self.replacements.len() == 1)
    }
}

/// A request, and the symbol of its derivative.
pub struct Task {
    /// The module that asks.
    pub module: ModuleId,
    /// What is asked for.
    pub asked: Asked,
    /// The name of its shim where the code of all modules comes together.
    pub shim: String,
    /// The derivative's name.
    pub symbol: String,
    /// The marker calls of all modules that ask for the same.
    calls: Vec<(ModuleId, CallSite)>,
    /// The target features of the functions with these calls, where they are the same. Nobody else calls the
    /// derivative. The shim itself has none: it is what rustc makes of a closure to give it an address.
    pub features: Option<String>,
}

impl Task {
    /// A request of one module.
    pub fn new(id: ModuleId, module: &Module, asked: Asked, shim: String, symbol: String) -> Self {
        let features: BTreeSet<_> = asked.calls.iter().map(|call| module.target_features(&call.caller)).collect();
        let features = if features.len() == 1 { features.into_iter().next().flatten() } else { None };
        let calls = asked.calls.iter().map(|call| (id, call.clone())).collect();
        Task { module: id, asked, shim, symbol, calls, features }
    }

    /// The function, for messages.
    fn subject(&self) -> Subject {
        Subject { name: demangled(&self.asked.request.name), place: self.asked.place.clone() }
    }

    /// What takes the place of a marker call: a function, or no address.
    pub fn answer(&self, call: &CallSite, needs: &Needs) -> Option<String> {
        match call.callee.as_str() {
            LATER => needs.later.clone(),
            SAVES if !needs.saves => None,
            DISOWNS if !needs.disowns => None,
            RENEWS if !needs.renews => None,
            YIELDS if !needs.yields => None,
            _ => Some(self.symbol.clone()),
        }
    }
}

/// Make the derivatives that these modules, each with its name, ask for.
pub fn work(
    program: &mut Program,
    modules: &[(ModuleId, String)],
    rules: &Rules,
    trace: &mut Trace,
) -> Result<Outcome> {
    let tasks = tasks(program, modules, trace)?;
    let Some(first) = tasks.first() else { return Ok(Outcome::Unchanged) };
    if trace.debugging.request {
        for task in &tasks {
            trace.print(&format!("request {}", task.symbol), &format!("{:#?}", task.asked));
        }
    }
    let errors: Vec<Rendered> = tasks.iter().filter_map(|task| floatless::refused(&task.asked)).collect();
    if !errors.is_empty() {
        return Ok(Outcome::Failed(errors));
    }
    let subjects = subjects(&tasks);
    let _step = trace.progress.begin("derivatives", &subjects);
    let named = modules.iter().find(|(id, _)| *id == first.module);
    let name = named.map(|(_, name)| name.clone()).unwrap_or_default();

    let (mut whole, mut owners, mut symbols, mut errors) = (None::<Module>, Vec::new(), Vec::new(), Vec::new());
    let mut replacements = Replacements::new();
    let mut groups = Vec::new();
    for tasks in by_features(tasks) {
        groups.extend(make(program, &name, tasks, rules, trace)?);
    }
    for (tasks, attempt) in groups {
        let made = match attempt {
            Ok(made) => made,
            Err(new) => {
                errors.extend(new);
                continue;
            }
        };
        for task in &tasks {
            let needs = made.needs(&task.symbol)?;
            for (module, call) in &task.calls {
                replacements.entry(*module).or_default().push((call.clone(), task.answer(call, needs)));
            }
        }
        let (made_here, Made { module: mut d, applied, .. }) = (made.symbols(), made);
        let seen: Vec<&str> = made_here.iter().map(String::as_str).collect();
        owners.extend(trace.step("bring rules", || close(program, &mut d, &seen, &applied))?);
        symbols.extend(made_here);
        match &mut whole {
            None => whole = Some(d),
            Some(whole) => whole.link_in(d)?,
        }
    }
    if !errors.is_empty() {
        return Ok(Outcome::Failed(errors));
    }
    let module = whole.context("there is no request")?;
    show_optimised(&module, &name, trace)?;
    Ok(Outcome::Derived(Derived { replacements, module, symbols, owners, subjects }))
}

/// The derivatives that these modules ask for, each once.
fn tasks(program: &mut Program, modules: &[(ModuleId, String)], trace: &mut Trace) -> Result<Vec<Task>> {
    let mut tasks: Vec<Task> = Vec::new();
    for (id, name) in modules {
        let module = trace.step("parse", || program.module(*id))?;
        let tag = tag(name);
        let asked = trace.step("read requests", || requests(program, *id, &module))?;
        if !asked.is_empty() {
            trace.save(&format!("{name}.bc"), || module.write_bitcode());
        }
        for (i, asked) in asked.into_iter().enumerate() {
            // Other modules may have a function of their own of this name.
            let is_own = module.find_symbol(&asked.shim).is_some_and(|s| s.linkage == Linkage::Internal);
            let shim = if is_own { format!("{}.{tag}", asked.shim) } else { asked.shim.clone() };
            let symbol = symbol(&asked, &tag, i);
            let task = Task::new(*id, &module, asked, shim, symbol);
            let same = |other: &&mut Task| other.shim == task.shim && other.asked.request == task.asked.request;
            match tasks.iter_mut().find(same).filter(|_| task.asked.request.split) {
                // Both sweeps are of one derivative, wherever they are called.
                Some(same) => {
                    same.features = same.features.take().filter(|features| task.features.as_ref() == Some(features));
                    same.calls.extend(task.calls);
                }
                None => tasks.push(task),
            }
        }
    }
    Ok(tasks)
}

/// The requests in groups whose functions have the same target features: in the code of one, a function is inlined if
/// it needs no more features than all that is differentiated with it.
fn by_features(tasks: Vec<Task>) -> Vec<Vec<Task>> {
    let mut groups: BTreeMap<Option<String>, Vec<Task>> = BTreeMap::new();
    for task in tasks {
        groups.entry(task.features.clone()).or_default().push(task);
    }
    groups.into_values().collect()
}

/// The module with the shim of a request. Where many small modules are made of a crate, it may be in another one than
/// the request.
fn home(program: &mut Program, task: &Task) -> Result<ModuleId> {
    let shim = task.asked.shim.as_str();
    let is_here = program.module(task.module)?.find_symbol(shim).is_some_and(|s| !s.is_declaration);
    let found = if is_here { Some(task.module) } else { program.find(shim)? };
    found.with_context(|| format!("no module defines `{}`", demangled(shim)))
}

/// The functions of these requests, each once.
fn subjects(tasks: &[Task]) -> Vec<Subject> {
    let mut subjects: Vec<Subject> = Vec::new();
    for subject in tasks.iter().map(Task::subject) {
        if !subjects.iter().any(|other| other.name == subject.name) {
            subjects.push(subject);
        }
    }
    subjects
}

/// For whoever wants to see it: the derivatives' code as the optimiser makes it where it is not inlined.
fn show_optimised(d: &Module, name: &str, trace: &mut Trace) -> Result<()> {
    if !trace.debugging.llvm && trace.debugging.save.is_none() {
        return Ok(());
    }
    let mut copy = d.clone_module();
    copy.run_passes("default<O3>", &TargetOptions::default())?;
    let text = copy.print();
    if trace.debugging.llvm {
        let code: Vec<&str> = text.lines().filter(|line| !line.starts_with('!')).collect();
        trace.print(&format!("LLVM {name}"), code.join("\n").trim_end());
    }
    trace.save(&format!("{name}.derivative.ll"), || text.into_bytes());
    Ok(())
}

/// Derivatives as LLVM's IR, with what they reach, and the rules that were used.
pub struct Made {
    pub module: Module,
    pub applied: Applied,
    /// What each derivative needs of its wrapper, by symbol.
    needs: BTreeMap<String, Needs>,
}

/// What a derivative needs of its wrapper.
#[derive(Clone)]
pub struct Needs {
    /// The symbol of its reverse sweep, if that is called later.
    later: Option<String>,
    /// It has the caller's shadows saved: where they are is to be noted.
    saves: bool,
    /// It may drop owners that have no shadow: there are to be none of values that it can take apart.
    disowns: bool,
    /// It may put values where there were none: there are to be none that cannot be made for a tangent.
    renews: bool,
    /// Others may change pointers in cells while it runs: there are to be none that others may have.
    yields: bool,
}

impl Made {
    /// What a derivative needs of its wrapper.
    pub fn needs(&self, derivative: &str) -> Result<&Needs> {
        self.needs.get(derivative).context("a derivative is lost that was made")
    }

    /// The symbols of the derivatives: one for each, or two where the reverse sweep is called later.
    pub fn symbols(&self) -> Vec<String> {
        symbols(&self.needs)
    }
}

/// What was made, or all the reasons why there is nothing.
pub type Attempt = std::result::Result<Made, Vec<Rendered>>;

/// Make derivatives of functions of the program. Functions that ask for derivatives themselves have a working copy of
/// their own, which is prepared again and again; all others are through the first time.
fn make(
    program: &mut Program,
    name: &str,
    tasks: Vec<Task>,
    rules: &Rules,
    trace: &mut Trace,
) -> Result<Vec<(Vec<Task>, Attempt)>> {
    let mut inner = Inner::default();
    let w = trace.step("copy modules", || working_copy(program, &tasks))?;
    let mut ready = match prepare(program, w, &shims(&tasks), rules, &inner, trace)? {
        Ok(ready) => ready,
        Err(errors) => return Ok(vec![(tasks, Err(errors))]),
    };
    let nested = nested::asking(&ready.module);
    let (asking, others): (Vec<Task>, Vec<Task>) = tasks.into_iter().partition(|task| nested.contains(&task.shim));
    let mut made = Vec::new();
    if !others.is_empty() {
        if !asking.is_empty() {
            ready.module.retain_reachable(&shims(&others))?;
        }
        let attempt = differentiate(ready, name, &others, trace)?;
        made.push((others, attempt));
    }
    if !asking.is_empty() {
        let mut w = trace.step("copy modules", || working_copy(program, &asking))?;
        let attempt = match inner.make_all(program, &mut w, &shims(&asking), rules, trace)? {
            Ok(()) => match prepare(program, w, &shims(&asking), rules, &inner, trace)? {
                Ok(ready) => differentiate(ready, name, &asking, trace)?,
                Err(errors) => Err(errors),
            },
            Err(errors) => Err(errors),
        };
        made.push((asking, attempt));
    }
    Ok(made)
}

/// The names of the functions that are differentiated.
pub fn shims(tasks: &[Task]) -> Vec<&str> {
    tasks.iter().map(|task| task.shim.as_str()).collect()
}

/// A working copy in which rules have taken their places.
pub struct Ready {
    pub module: Module,
    applied: Applied,
}

/// Bring all bodies into a working copy that `shims` need, and rules to their places.
pub fn prepare(
    program: &mut Program,
    mut w: Module,
    shims: &[&str],
    rules: &Rules,
    inner: &Inner,
    trace: &mut Trace,
) -> Result<std::result::Result<Ready, Vec<Rendered>>> {
    let applied = trace.step("resolve bodies", || rules::apply(program, &mut w, shims, rules, inner))?;
    let mut applied = match applied {
        Ok(applied) => applied,
        Err(error) => return Ok(Err(vec![error])),
    };
    trace.step("C's heap", || c_heap::replace(program, &mut w))?;
    share_variables(&mut w)?;
    w.internalize(shims);
    applied.take_bodies(program, &mut w)?;
    w.retain_reachable(shims)?;
    Ok(Ok(Ready { module: w, applied }))
}

/// Make derivatives of functions of a working copy.
pub fn differentiate(ready: Ready, name: &str, tasks: &[Task], trace: &mut Trace) -> Result<Attempt> {
    let Ready { module: mut w, applied } = ready;
    let mut shims = shims(tasks);
    shims.sort_unstable();
    shims.dedup();
    trace.save(&format!("{name}.primal.ll"), || w.print().into_bytes());
    let functions = w.functions().into_iter().map(|f| f.name);
    let keep = functions.filter(|f| !f.starts_with("llvm.") && policy(f) != Policy::Import).collect();
    let free = |function| rule(function).is_bounded();
    let options = NormaliseOptions { keep, free, ..NormaliseOptions::default() };
    let modes: Vec<Mode> = tasks.iter().map(|task| task.asked.request.mode).collect();
    trace.step("normalise", || -> Result<()> {
        normalise(&mut w, &shims, &options)?;
        applied.restore_stand_ins(&mut w, &modes, &options)
    })?;
    trace.save(&format!("{name}.normal.ll"), || w.print().into_bytes());
    let mut imported = trace.step("import", || import_functions(w, &shims, &policy_with(&applied)))?;
    nested::mark_harmless(&mut imported.ir);
    let mut custom = applied.rules(&mut imported.ir);
    trace.step("look at opaque functions", || opaque::tell(&imported, &applied, &options, &mut custom))?;

    let primals = imported.ir.functions().count();
    let (mut derivatives, mut needs, mut errors) = (Vec::new(), BTreeMap::new(), Vec::new());
    for task in tasks {
        let request = &Request { rules: custom.clone(), ..task.asked.request.clone() };
        let primal = imported.ir.find(&task.shim).context("the importer has lost a function")?;
        if trace.debugging.ir {
            trace.print(&format!("primal {}", request.name), &function_text(&imported.ir, imported.ir.func(primal)));
        }
        if trace.debugging.linear && request.mode == Mode::Reverse {
            let mut ir = imported.ir.clone();
            // What stands in its way is told below.
            if let Ok((func, linear)) = pullback_ad::linearise(&mut ir, primal, request, &task.symbol) {
                trace.print(&format!("linear program of {}", request.name), &linear_text(&ir, &func, &linear));
            }
        }
        let ir = &mut imported.ir;
        let _step = trace.progress.begin("derivative", &[task.subject()]);
        let made = trace.step("differentiate", || {
            bug::guarded(|| pullback_ad::derivative(ir, primal, request, &task.symbol))
                .unwrap_or_else(|said| Err(pullback_ad::Error::internal(bug::HEADLINE).note(said)))
        });
        match made {
            Ok(Derivative { function, reverse_sweep, saves, disowns, renews, yields }) => {
                let later = reverse_sweep.map(|id| imported.ir.func(id).name.clone());
                needs.insert(task.symbol.clone(), Needs { later, saves, disowns, renews, yields });
                derivatives.push((task, [function].into_iter().chain(reverse_sweep).collect()));
            }
            Err(error) => {
                let one_sided = applied.one_sided(request.mode.other());
                errors.push(render(&error, &request.name, &imported.ir, &task.asked.place, &one_sided));
            }
        }
    }
    if trace.debugging.derivative {
        // The derivatives, and the functions the engine has made for them.
        for (_, function) in imported.ir.functions().skip(primals).filter(|(_, f)| !f.is_declaration()) {
            trace.print(&format!("derivative {}", function.name), &function_text(&imported.ir, function));
        }
    }
    if !errors.is_empty() {
        return Ok(Err(errors));
    }
    Ok(Ok(Made { module: emit(imported, &derivatives, &symbols(&needs), trace)?, applied, needs }))
}

/// The symbols of derivatives that need this.
fn symbols(needs: &BTreeMap<String, Needs>) -> Vec<String> {
    needs.iter().flat_map(|(symbol, needs)| [symbol].into_iter().chain(&needs.later)).cloned().collect()
}

/// The policy, of a program that says itself which functions carry no derivative.
fn policy_with(applied: &Applied) -> impl Fn(&str) -> Policy + '_ {
    |symbol| if applied.is_inactive(symbol) { Policy::Inactive } else { policy(symbol) }
}

/// One module with the shims of all tasks, under names that are unique, and with what they reach in their own modules.
fn working_copy(program: &mut Program, tasks: &[Task]) -> Result<Module> {
    let mut parts: BTreeMap<ModuleId, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for task in tasks {
        parts.entry(home(program, task)?).or_default().insert((&task.asked.shim, &task.shim));
    }
    let mut whole: Option<Module> = None;
    for (module, shims) in parts {
        let mut part = program.working_copy(module, &shims.iter().map(|(old, _)| *old).collect::<Vec<_>>())?;
        for (old, new) in shims.into_iter().filter(|(old, new)| old != new) {
            part.rename(old, new)?;
            part.set_linkage(new, Linkage::External)?;
        }
        match &mut whole {
            None => whole = Some(part),
            Some(whole) => whole.link_in(part)?,
        }
    }
    let mut whole = whole.context("there is no request")?;
    set_features(&mut whole, tasks)?;
    Ok(whole)
}

/// Let shims, and by them derivatives, be compiled with the target features of those who call the derivatives.
pub fn set_features(module: &mut Module, tasks: &[Task]) -> Result<()> {
    for task in tasks {
        if let Some(features) = &task.features {
            module.set_target_features(&task.shim, features)?;
        }
    }
    Ok(())
}

/// Turn the derivatives into LLVM's IR; the module holds them, and what they reach.
fn emit(
    mut imported: Imported,
    derivatives: &[(&Task, Vec<FuncId>)],
    symbols: &[String],
    trace: &mut Trace,
) -> Result<Module> {
    trace.step("export", || -> Result<Module> {
        for (task, functions) in derivatives {
            imported.export(functions, &task.shim)?;
        }
        let mut module = imported.into_module();
        module.retain_reachable(&symbols.iter().map(String::as_str).collect::<Vec<_>>())?;
        module.verify().context("the engine has made code that LLVM does not take; this is a bug in Pullback")?;
        Ok(module)
    })
}

/// Make `d` a module of its own: only the derivatives are seen from outside, and variables are shared with their
/// owners, which are returned.
fn close(program: &mut Program, d: &mut Module, derivatives: &[&str], applied: &Applied) -> Result<Vec<ModuleId>> {
    applied.complete(program, d)?;
    // The run-time support's fast paths are worth inlining.
    resolve(program, d, Callees::Declarations, is_support)?;
    share_variables(d)?;
    d.internalize(derivatives);
    let named = d.globals().into_iter().chain(d.functions());
    Ok(named.filter_map(|symbol| program.owner(&symbol.name)).collect())
}

/// Leave variables where they are, and `static`s, which programs know by their addresses: a copy of a module refers to
/// them. What a constant is, the copy knows. (Those that only a module of the standard library knows are copied.)
fn share_variables(module: &mut Module) -> Result<()> {
    for variable in module.globals().into_iter().filter(|g| !g.is_declaration) {
        if !variable.is_constant {
            anyhow::ensure!(variable.linkage != Linkage::Internal, "a variable of the standard library has come along");
            module.make_declaration(&variable.name)?;
        } else if variable.has_identity && variable.linkage != Linkage::Internal && !variable.name.starts_with("llvm.")
        {
            module.set_linkage(&variable.name, Linkage::AvailableExternally)?;
        }
    }
    Ok(())
}

/// The module that takes the place of `module`: with the derivatives' addresses in the place of its marker calls, and
/// those derivatives in it that nobody else calls. There they are inlined as if the user had written them.
pub fn replace(mut module: Module, calls: &[(CallSite, Option<String>)], joining: Vec<Derived>) -> Result<Vec<u8>> {
    // The statics of rules have been read. They would keep the rules' functions in the program, and ask for what those
    // call.
    for rule in module.globals().into_iter().filter(|g| !g.is_declaration && g.name.contains(ENTRY)) {
        module.clear_global(&rule.name)?;
    }
    if !calls.is_empty() {
        replace_markers(&mut module, calls)?;
    }
    for derived in joining {
        module.link_in(derived.module)?;
        for symbol in &derived.symbols {
            module.set_linkage(symbol, Linkage::Internal)?;
        }
    }
    Ok(module.write_bitcode())
}

fn replace_markers(module: &mut Module, replacements: &[(CallSite, Option<String>)]) -> Result<()> {
    module.replace_calls(replacements.iter().map(|(call, symbol)| (call, symbol.as_deref())))?;
    // The markers' declarations must go, or the linker would look for them.
    module.run_passes("strip-dead-prototypes", &TargetOptions::default())?;
    for marker in markers::ALL {
        anyhow::ensure!(module.find_symbol(marker).is_none(), "`{marker}` is used otherwise than by a call");
    }
    Ok(())
}

/// The symbol of a derivative, to be read in a backtrace or a profile.
fn symbol(asked: &Asked, tag: &str, number: usize) -> String {
    let mode = asked.request.mode.word();
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
