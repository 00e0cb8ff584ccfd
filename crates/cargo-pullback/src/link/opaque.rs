//! What functions that carry no derivative do to memory.
//!
//! They are called as they are, so the engine has to know that they leave alone what has a shadow. What the standard
//! library does when it formats, prints or panics is known: it reads. But it runs code of the program: `Display`,
//! `io::Write`. Such functions, and those that the program calls not differentiable, are imported by themselves, and
//! their bodies are looked at. Of the others of std's, those that read a file or a clock, the signature says what they
//! may write.

use super::path::{Home, demangled, names_program};
use super::policy::{is_outside, keeps, only_reads, policy};
use super::program::{ModuleId, Program};
use super::resolve::{Callees, is_differentiated, link_part, resolve};
use super::rules::Applied;
use anyhow::Result;
use pullback_ad::{CustomRules, Effects, Reason, Use};
use pullback_ir::{FuncId, Function, Type};
use pullback_llvm::{Imported, Linkage, Module, NormaliseOptions, Parameter, Policy, import_functions, normalise};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Whether the standard library may run this function of the program's, or of its own with types of the program's,
/// where nothing is differentiated.
pub fn is_run_by_std(symbol: &str) -> bool {
    let path = demangled(symbol);
    let runs = |of_trait: &str| of_trait.starts_with("core::fmt::") || of_trait.starts_with("std::io::");
    matches!(Home::of(&path), Some(Home::Impl { of_trait, .. }) if runs(of_trait)) && names_program(&path)
}

/// Whether this is a function of the standard library's own that writes text to a place that it is given: a vector, a
/// string. (Those that format hand it on to another one; what goes to the console is not in the program's memory.)
fn is_writer(symbol: &str) -> bool {
    let path = demangled(symbol);
    let Some(Home::Impl { for_type, of_trait, .. }) = Home::of(&path) else { return false };
    let is_elsewhere = for_type.starts_with("core::fmt::") || is_outside(for_type);
    (of_trait == "core::fmt::Write" || of_trait == "std::io::Write") && !is_elsewhere
}

/// Whether this is a function without derivative that may run code of the program's, or write to its memory.
pub fn runs_program(symbol: &str) -> bool {
    policy(symbol) == Policy::Inactive && names_program(&demangled(symbol))
        || is_run_by_std(symbol)
        || is_writer(symbol)
}

/// Bring the bodies of functions without derivative that run code of the program's, and of all that those call, to a
/// copy of a working copy that is only looked at.
pub fn bring_bodies(program: &mut Program, copy: &mut Module) -> Result<()> {
    // What the copy has, others that come may call.
    let internal = copy.functions().into_iter().filter(|f| !f.is_declaration && f.linkage == Linkage::Internal);
    let internal: Vec<String> = internal.map(|f| f.name).collect();
    for name in &internal {
        copy.set_linkage(name, Linkage::External)?;
    }
    let mut tried: HashSet<String> = HashSet::new();
    loop {
        // All that come from one module come together.
        let mut wanted: BTreeMap<ModuleId, Vec<String>> = BTreeMap::new();
        let missing = copy.functions().into_iter().filter(|f| f.is_declaration && runs_program(&f.name));
        for name in missing.map(|f| f.name).filter(|name| tried.insert(name.clone())) {
            if let Some(home) = program.find(&name)? {
                wanted.entry(home).or_default().push(name);
            }
        }
        if wanted.is_empty() {
            break;
        }
        for (home, names) in wanted {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            link_part(copy, program.promoted_part(home, &names)?, &names, Callees::Bodies)?;
        }
    }
    resolve(program, copy, Callees::Bodies, is_differentiated)?;
    for name in &internal {
        copy.set_linkage(name, Linkage::Internal)?;
    }
    Ok(())
}

/// Tell the engine what opaque functions do that the program's differentiated code names.
pub fn tell(imported: &Imported, applied: &Applied, options: &NormaliseOptions, rules: &mut CustomRules) -> Result<()> {
    for (id, effects) in by_signature(imported, applied) {
        rules.add_effects(id, Arc::new(effects));
    }
    let Some(bodies) = applied.bodies() else { return Ok(()) };
    let mut own: HashMap<String, Effects> = HashMap::new();
    let mut effects = |name: &str| -> Result<Arc<Effects>> {
        let mut named = run_by_std_for(bodies, name)?;
        let is_programs = applied.is_inactive(name) || is_run_by_std(name) || is_writer(name) || moves(name);
        named.extend(is_programs.then(|| name.to_owned()));
        for name in &named {
            if !own.contains_key(name) {
                own.insert(name.clone(), of(bodies, applied, name, options)?);
            }
        }
        // What it calls itself is in its own; of what others call for it, it is not known what they are given.
        let harmless = named.iter().filter(|other| *other != name).all(|other| own[other].is_harmless());
        let reason = if applied.is_inactive(name) { Reason::Said } else { Reason::Unseen };
        Ok(Arc::new(match own.get(name) {
            Some(own) if harmless => Effects { reason, ..own.clone() },
            None if harmless => Effects::default(),
            // What is to be formatted was looked at where its reference was taken.
            None if formats(name) => Effects::anything().of_first(),
            _ => Effects::anything(),
        }))
    };
    for (id, function) in imported.ir.functions().filter(|(_, function)| function.attrs.inactive) {
        if rules.effects(id).is_some() {
            continue;
        }
        let name = applied.original(&function.name);
        let has_body = bodies.find_symbol(name).is_some_and(|symbol| !symbol.is_declaration);
        let effects = match has_body {
            true => effects(name)?,
            false if runs_program(name) => Arc::new(Effects::anything()),
            // The standard library's own, or one of C's, of which the program says that it is not differentiable.
            false => continue,
        };
        if !effects.is_empty() {
            rules.add_effects(id, effects);
        }
    }
    for (id, global) in imported.ir.globals().filter(|(_, global)| global.constant) {
        if imported.module().find_symbol(&global.name).is_none_or(|symbol| symbol.is_declaration) {
            continue;
        }
        let mut all = Effects { reason: Reason::Unseen, ..Effects::default() };
        for name in methods(imported.module(), &global.name)? {
            all.changes.extend(effects(applied.original(&name))?.changes.iter().cloned());
        }
        if !all.is_empty() {
            rules.add_table(id, Arc::new(all));
        }
    }
    Ok(())
}

/// What functions without derivative do, of std's own, that do more than read.
fn by_signature(imported: &Imported, applied: &Applied) -> HashMap<FuncId, Effects> {
    let of = |function: &Function| {
        let parameters = applied.parameters(&function.name)?.iter().zip(&function.params);
        let uses = parameters.map(|(parameter, ty)| match ty {
            Type::Ptr if !parameter.is_read => Use::Writes(parameter.bytes),
            Type::Ptr if !keeps(&function.name) => Use::Reads,
            _ => Use::Keeps,
        });
        Some(Effects::by_signature(&uses.collect::<Vec<_>>())).filter(|effects| !effects.is_empty())
    };
    let functions = imported.ir.functions().filter(|(_, function)| function.attrs.inactive);
    functions.filter_map(|(id, function)| Some((id, of(function)?))).collect()
}

/// What is known of the parameters of functions without derivative in a module that are std's own, do more than read,
/// and return. Where the module was compiled without a thought of the optimiser, std's own says more.
pub fn parameters(program: &mut Program, module: &Module) -> Result<Vec<(String, Vec<Parameter>)>> {
    let is_wanted = |name: &str| policy(name) == Policy::Inactive && !runs_program(name) && !only_reads(name);
    let mut found = Vec::new();
    for name in module.functions().into_iter().map(|f| f.name).filter(|name| is_wanted(name)) {
        let mut parameters = module.parameters(&name);
        if parameters.iter().any(|p| p.is_pointer && !p.is_read && p.bytes.is_none())
            && let Some(home) = program.find(&name)?
        {
            parameters = program.source(home)?.parameters(&name);
        }
        found.push((name, parameters));
    }
    Ok(found)
}

/// Whether this is a function of std's that may move values of the program's types: of those that it reads and writes
/// from and to.
fn moves(symbol: &str) -> bool {
    let path = demangled(symbol);
    path.trim_start_matches(['<', '&']).starts_with("std::io::") && names_program(&path) && !formats(symbol)
}

/// Whether this is a function of std's that writes what it is told to format to its first argument.
fn formats(symbol: &str) -> bool {
    demangled(symbol).contains("write_fmt")
}

/// The functions in a table that std may run, but for those that hand the place on with the table.
fn methods(module: &Module, table: &str) -> Result<Vec<String>> {
    let runs = |name: &String| (is_run_by_std(name) || is_writer(name)) && !hands_itself_on(name);
    Ok(module.references(table)?.into_iter().filter(runs).collect())
}

/// Whether this is the method of std's that formats to a place, with the methods that this place has: where the trait
/// is implemented, there is no other one.
fn hands_itself_on(symbol: &str) -> bool {
    const DEFAULT: &str = "_RNvY";
    let path = demangled(symbol);
    symbol.starts_with(DEFAULT) && matches!(Home::of(&path), Some(Home::Impl { name: "write_fmt", .. }))
}

/// The functions that std may run among all that another one names.
fn run_by_std_for(bodies: &Module, name: &str) -> Result<Vec<String>> {
    let (mut found, mut open) = (Vec::new(), vec![name.to_owned()]);
    let mut seen: HashSet<String> = HashSet::from([name.to_owned()]);
    while let Some(symbol) = open.pop() {
        for other in bodies.references(&symbol)? {
            if seen.insert(other.clone()) {
                found.extend(Some(other.clone()).filter(|other| is_run_by_std(other)));
                open.push(other);
            }
        }
    }
    Ok(found)
}

/// What a function does, by its body.
fn of(bodies: &Module, applied: &Applied, name: &str, options: &NormaliseOptions) -> Result<Effects> {
    let mut part = bodies.clone_reachable(&[name])?;
    let looked_at = |symbol: &str| applied.is_inactive(symbol) || is_run_by_std(symbol) || is_writer(symbol);
    let keep = options.keep.iter().filter(|symbol| !looked_at(symbol)).cloned().collect();
    normalise(&mut part, &[name], &NormaliseOptions { keep, ..options.clone() })?;
    let policy = |symbol: &str| if looked_at(symbol) { Policy::Import } else { policy(symbol) };
    // What cannot be looked at may do anything.
    let Ok(imported) = import_functions(part, &[name], &policy) else { return Ok(Effects::anything()) };
    let Some(id) = imported.ir.find(name) else { return Ok(Effects::anything()) };
    let mut tables = HashSet::new();
    for (id, global) in imported.ir.globals().filter(|(_, global)| global.constant) {
        let is_there = imported.module().find_symbol(&global.name).is_some_and(|symbol| !symbol.is_declaration);
        if is_there && !methods(imported.module(), &global.name)?.is_empty() {
            tables.insert(id);
        }
    }
    Ok(Effects::of(&imported.ir, id, &tables, &by_signature(&imported, applied)))
}
