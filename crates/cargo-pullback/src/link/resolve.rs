//! Brings the bodies that a working copy needs into it, from the other modules of the program and from the standard
//! library.

use super::policy::policy;
use super::program::{ModuleId, Program};
use anyhow::{Context, Result};
use pullback_llvm::{Linkage, Module, Policy};
use std::collections::{BTreeMap, HashSet};

/// What comes along with a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callees {
    /// The bodies it calls.
    Bodies,
    /// Those of them that are not the standard library's. What the program calls in that can be called where it is.
    OwnBodies,
    /// Only what no other module can refer to; the rest is declared.
    Declarations,
}

/// Link into `work` the bodies of all functions it declares and that `wanted` wants. What nobody defines, or what only
/// works in its own module, stays a declaration.
pub fn resolve(
    program: &mut Program,
    work: &mut Module,
    callees: Callees,
    wanted: impl Fn(&str) -> bool,
) -> Result<()> {
    let mut tried: HashSet<String> = HashSet::new();
    loop {
        let functions = work.functions().into_iter().filter(|f| f.is_declaration && !f.name.starts_with("llvm."));
        let missing: Vec<String> =
            functions.map(|f| f.name).filter(|name| wanted(name) && tried.insert(name.clone())).collect();
        let needed = match callees {
            Callees::Bodies | Callees::OwnBodies => closure(program, missing, &mut tried, callees, &wanted)?,
            Callees::Declarations => owners(program, missing)?,
        };
        if needed.is_empty() {
            return Ok(());
        }
        for (id, names) in needed {
            take(program, work, id, &names, callees)?;
        }
    }
}

/// The modules that define these functions.
fn owners(program: &mut Program, names: Vec<String>) -> Result<BTreeMap<ModuleId, Vec<String>>> {
    let mut owners: BTreeMap<ModuleId, Vec<String>> = BTreeMap::new();
    for name in names {
        if let Some(id) = program.find(&name)? {
            owners.entry(id).or_default().push(name);
        }
    }
    Ok(owners)
}

/// The modules that define these functions, and those that they need in turn, in whatever module: so that a body is
/// taken from a large module in one go, with all others that are to come from there.
fn closure(
    program: &mut Program,
    mut open: Vec<String>,
    tried: &mut HashSet<String>,
    callees: Callees,
    wanted: &impl Fn(&str) -> bool,
) -> Result<BTreeMap<ModuleId, Vec<String>>> {
    let mut needed: BTreeMap<ModuleId, Vec<String>> = BTreeMap::new();
    let mut seen: HashSet<(ModuleId, String)> = HashSet::new();
    while let Some(name) = open.pop() {
        let found = match callees {
            Callees::OwnBodies => program.find_own(&name)?,
            _ => program.find(&name)?,
        };
        let Some(id) = found else { continue };
        let source = program.source(id)?;
        needed.entry(id).or_default().push(name.clone());
        let mut reached = vec![name];
        while let Some(name) = reached.pop() {
            let Some(symbol) = source.find_symbol(&name) else { continue };
            if !symbol.is_declaration {
                if seen.insert((id, name.clone())) {
                    reached.extend(source.references(&name)?);
                }
            } else if !name.starts_with("llvm.") && wanted(&name) && tried.insert(name.clone()) {
                open.push(name);
            }
        }
    }
    for names in needed.values_mut() {
        names.sort();
    }
    Ok(needed)
}

/// Whether a function is differentiated with its body.
pub fn is_differentiated(symbol: &str) -> bool {
    policy(symbol) == Policy::Import
}

/// Link the bodies of `names` from module `id` into `work`.
fn take(program: &mut Program, work: &mut Module, id: ModuleId, names: &[String], callees: Callees) -> Result<()> {
    let source = program.source(id)?;
    let open: Vec<&str> = names
        .iter()
        .filter(|name| source.find_symbol(name).is_some_and(|s| !s.is_declaration))
        .map(String::as_str)
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    let part = program.part(id, &open)?;
    link_part(work, part, &open, callees).with_context(|| format!("could not take the bodies of {}", names.join(", ")))
}

/// Link into `work` a part of a module that holds what `open` reaches.
pub fn link_part(work: &mut Module, mut part: Module, open: &[&str], callees: Callees) -> Result<()> {
    // What `work` has already must not come a second time.
    let defined = |symbol: &str| work.find_symbol(symbol).is_some_and(|s| !s.is_declaration);
    let left = |symbol: &str| callees == Callees::Declarations && !open.contains(&symbol);
    let omitted: Vec<String> = part
        .functions()
        .into_iter()
        .chain(part.globals())
        .filter(|s| !s.is_declaration && s.linkage != Linkage::Internal && (defined(&s.name) || left(&s.name)))
        .map(|s| s.name)
        .collect();
    for name in &omitted {
        part.make_declaration(name)?;
    }
    if !omitted.is_empty() {
        part.retain_reachable(open)?;
    }
    Ok(work.link_in(part)?)
}
