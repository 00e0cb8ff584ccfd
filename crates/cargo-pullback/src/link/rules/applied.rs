//! The rules of a working copy: which calls they take the place of, which bodies the optimiser does not see meanwhile,
//! and what comes to the derivatives at the end.

use super::super::nested::Inner;
use super::super::opaque;
use super::super::path::{demangled, without_number};
use super::super::program::{ModuleId, Program};
use super::super::requests::Decoder;
use super::super::resolve::{Callees, is_differentiated, link_part, resolve};
use super::rule::{Rule, custom, read};
use super::{Entry, Rules, described};
use crate::diagnostics::{OneSided, Place, show};
use crate::report::Rendered;
use anyhow::{Context, Result};
use pullback_abi::markers::{LATER, MARKER, RULE_MARKER, RULED_MARKER};
use pullback_abi::{RuleEntry, RuleKind};
use pullback_ad::{CustomRules, Mode};
use pullback_llvm::{CallSite, InlinedCall, Linkage, Module, NormaliseOptions, Parameter, normalise};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::offset_of;
use std::sync::Arc;

/// The rules of a working copy.
#[derive(Default)]
pub struct Applied {
    /// The rules for each stand-in.
    stand_ins: BTreeMap<String, Vec<Rule>>,
    /// The function that each stands in for.
    targets: HashMap<String, String>,
    /// Functions that carry no derivative.
    inactive: HashSet<String>,
    /// The bodies of functions that were taken out or are only looked at, as they were before the optimiser came.
    bodies: Option<Module>,
    /// What is known of the parameters of functions without derivative that are std's own.
    parameters: HashMap<String, Vec<Parameter>>,
}

impl Applied {
    /// The functions that the optimiser must not know: what is called in their place, or whether their result carries a
    /// derivative, does not follow from their bodies.
    fn unknown(&self) -> impl Iterator<Item = &String> {
        self.stand_ins.keys().chain(&self.inactive)
    }

    /// Take the bodies of stand-ins, and of functions without derivative, out of a working copy.
    pub fn take_bodies(&mut self, program: &mut Program, w: &mut Module) -> Result<()> {
        let runs_program = w.functions().iter().any(|f| opaque::runs_program(&f.name));
        if self.unknown().next().is_some() || runs_program {
            let mut whole = None;
            if runs_program {
                opaque::bring_bodies(program, whole.insert(w.clone_module()))?;
            }
            let whole = whole.as_ref().unwrap_or(w);
            // Parts of it are copied often, so it holds no more than is asked for: these, and functions that are only
            // looked at.
            let unknown: HashSet<&String> = self.unknown().collect();
            let wanted = |f: &String| unknown.contains(f) || !is_differentiated(f) || opaque::runs_program(f);
            let defined = whole.functions().into_iter().filter(|f| !f.is_declaration).map(|f| f.name);
            let wanted: Vec<String> = defined.filter(wanted).collect();
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            self.bodies = Some(whole.clone_reachable(&wanted)?);
        }
        for name in self.unknown() {
            w.make_declaration(name)?;
        }
        for module in [Some(&*w), self.bodies.as_ref()].into_iter().flatten() {
            self.parameters.extend(opaque::parameters(program, module)?);
        }
        Ok(())
    }

    /// Bring back the stand-ins that have no rule for one of these modes, each prepared for import by itself: their
    /// bodies are differentiated.
    pub fn restore_stand_ins(&self, w: &mut Module, modes: &[Mode], options: &NormaliseOptions) -> Result<()> {
        for (name, rules) in &self.stand_ins {
            let has =
                |mode: &Mode| rules.iter().any(|rule| (rule.kind == RuleKind::Forward) == (*mode == Mode::Forward));
            if modes.iter().all(has) || w.find_symbol(name).is_none() {
                continue;
            }
            let mut part = self.bodies_of(&[name])?;
            for other in self.unknown().filter(|other| *other != name) {
                if part.find_symbol(other).is_some_and(|s| !s.is_declaration) {
                    part.make_declaration(other)?;
                }
            }
            normalise(&mut part, &[name], options)?;
            link_part(w, part, &[name], Callees::Bodies)?;
        }
        Ok(())
    }

    /// The bodies as they were of functions that were taken out or are only looked at, if there are any.
    pub fn bodies(&self) -> Option<&Module> {
        self.bodies.as_ref()
    }

    /// What a function of a working copy was called before stand-ins came back to it: what those call is there a second
    /// time, by a name with a number.
    pub fn original<'s>(&self, symbol: &'s str) -> &'s str {
        let is_known = |name| self.bodies().is_some_and(|bodies| bodies.find_symbol(name).is_some());
        if is_known(symbol) {
            symbol
        } else {
            Some(without_number(symbol)).filter(|name| is_known(name)).unwrap_or(symbol)
        }
    }

    /// What is known of the parameters of a function without derivative that is std's own and does more than read.
    pub fn parameters(&self, symbol: &str) -> Option<&[Parameter]> {
        self.parameters.get(self.original(symbol)).map(Vec::as_slice)
    }

    /// A module with these bodies as they were.
    fn bodies_of(&self, names: &[&str]) -> Result<Module> {
        let mut part = self.bodies.as_ref().context("no body was taken out")?.clone_reachable(names)?;
        for name in names {
            part.set_linkage(name, Linkage::External)?;
        }
        Ok(part)
    }

    /// Whether a function carries no derivative because the program says so.
    pub fn is_inactive(&self, symbol: &str) -> bool {
        self.inactive.contains(symbol)
    }

    /// What the engine is told.
    pub fn rules(&self, ir: &mut pullback_ir::Module) -> CustomRules {
        let mut all = CustomRules::default();
        for (stand_in, rules) in &self.stand_ins {
            let Some(id) = ir.find(stand_in) else { continue };
            for rule in rules {
                if let Some(custom) = custom(ir, rule) {
                    all.add(id, Arc::new(custom));
                }
            }
        }
        all
    }

    /// The functions of the working copy that have a rule for this mode alone.
    pub fn one_sided(&self, mode: Mode) -> Vec<OneSided> {
        let mode_of = |rule: &Rule| if rule.kind == RuleKind::Forward { Mode::Forward } else { Mode::Reverse };
        let alone = self.stand_ins.iter().filter(|(_, rules)| rules.iter().all(|rule| mode_of(rule) == mode));
        let said = |(stand_in, rules): (&String, &Vec<Rule>)| {
            Some(OneSided {
                function: demangled(self.targets.get(stand_in)?),
                stand_in: demangled(stand_in),
                rule: rules.first()?.name().to_owned(),
                mode,
            })
        };
        alone.filter_map(said).collect()
    }

    /// Bring the bodies of the rules' functions to the derivatives that call them, and those that were taken out.
    pub fn complete(&self, program: &mut Program, d: &mut Module) -> Result<()> {
        // A body may call others. One that is not here, because it was taken out for an inner derivative already, is in
        // the program.
        let mut brought: HashSet<&String> = HashSet::new();
        loop {
            let is_missing = |name: &String| d.find_symbol(name).is_some_and(|s| s.is_declaration);
            let wanted: Vec<&str> =
                self.unknown().filter(|name| is_missing(name) && brought.insert(name)).map(String::as_str).collect();
            if wanted.is_empty() {
                break;
            }
            link_part(d, self.bodies_of(&wanted)?, &wanted, Callees::Bodies)?;
        }
        self.bring_functions(program, d)?;
        if self.unknown().next().is_some() {
            resolve(program, d, Callees::OwnBodies, is_differentiated)?;
            call_plainly(d)?;
            // A rule may call derivatives. Those are made where they are asked for.
            let calls = [MARKER, LATER].into_iter().flat_map(|marker| d.calls_of(marker));
            for caller in calls.map(|call| call.caller).collect::<HashSet<_>>() {
                d.make_declaration(&caller)?;
            }
        }
        Ok(())
    }
}

impl Applied {
    /// Bring the bodies of the rules' functions to a module that calls them. Whether there were any.
    fn bring_functions(&self, program: &mut Program, module: &mut Module) -> Result<bool> {
        // All that come from one module come together.
        let mut wanted: BTreeMap<ModuleId, Vec<&str>> = BTreeMap::new();
        for rule in self.stand_ins.values().flatten() {
            for name in rule.functions().filter(|name| module.find_symbol(name).is_some_and(|s| s.is_declaration)) {
                let home = Decoder::new(program).home(rule.module, name)?;
                wanted.entry(home).or_default().push(name);
            }
        }
        let found = !wanted.is_empty();
        for (home, names) in wanted {
            let mut part = program.part(home, &names)?;
            for name in &names {
                part.set_linkage(name, Linkage::External)?;
            }
            link_part(module, part, &names, Callees::Bodies)?;
        }
        Ok(found)
    }
}

/// Bring all bodies to a working copy that are differentiated in it: also those of rules that inner derivatives use.
pub fn bring_bodies(program: &mut Program, w: &mut Module, inner: &Inner) -> Result<()> {
    loop {
        resolve(program, w, Callees::Bodies, is_differentiated)?;
        let mut found = false;
        for applied in inner.rules() {
            found |= applied.bring_functions(program, w)?;
        }
        if !found {
            return Ok(());
        }
    }
}

/// Functions that say themselves that they have a rule are called without it.
fn call_plainly(module: &mut Module) -> Result<()> {
    let calls = module.calls_of(RULED_MARKER);
    let target = |call: &CallSite| -> Result<String> {
        let entry = module.constant_data(described(call)?)?;
        let target = entry.reloc_at(offset_of!(RuleEntry, target) as u64);
        Ok(target.context("a rule is for no function")?.symbol.clone())
    };
    let targets: Vec<String> = calls.iter().map(target).collect::<Result<_>>()?;
    module.replace_calls(calls.iter().zip(targets.iter().map(|target| Some(target.as_str()))))?;
    Ok(())
}

/// Let the functions of a working copy call wrappers in place of functions with rules. All bodies that `roots` need
/// come along.
///
/// Fails where the compiler has inlined a function with a rule: a rule is never left out without a word.
pub fn apply(
    program: &mut Program,
    w: &mut Module,
    roots: &[&str],
    rules: &Rules,
    inner: &Inner,
) -> Result<std::result::Result<Applied, Rendered>> {
    let mut applied = Applied::default();
    let mut wrappers: BTreeMap<&str, &str> = BTreeMap::new();
    loop {
        bring_bodies(program, w, inner)?;
        if w.find_symbol(RULED_MARKER).is_some() {
            call_plainly(w)?;
            let wrappers = wrappers.values().copied();
            w.retain_reachable(&roots.iter().copied().chain(wrappers).collect::<Vec<_>>())?;
        }
        // All that come from one module come together.
        let mut new: BTreeMap<ModuleId, Vec<Wrapped>> = BTreeMap::new();
        for name in w.functions().into_iter().map(|f| f.name) {
            let known = inner.rules().iter().find_map(|applied| applied.targets.get(&name));
            let found = known.map_or_else(|| rules.of(&name), |target| rules.by_target.get_key_value(target));
            let Some((target, entries)) = found else { continue };
            if entries.iter().any(|e| e.kind == RuleKind::NonDifferentiable) {
                applied.inactive.insert(name);
            } else if !wrappers.contains_key(target.as_str()) {
                let wrapped = Wrapped::read(program, target, entries)
                    .with_context(|| format!("could not use the rule for `{}`", entries[0].name))?;
                wrappers.insert(target, wrapped.wrapper);
                new.entry(wrapped.home).or_default().push(wrapped);
            }
        }
        if new.is_empty() {
            break;
        }
        for (home, wrapped) in new {
            put_in(program, w, home, wrapped, &mut applied)?;
        }
    }
    let stand_ins: HashSet<String> = applied.stand_ins.keys().cloned().collect();
    // What a stand-in calls, and only that, may have the target's code in it.
    let inlined = |symbol: &str| rules.of(symbol).is_some();
    let differentiated = if rules.by_target.is_empty() { HashSet::new() } else { differentiated(w, roots, rules)? };
    let is_looked_at = |f: &str| differentiated.contains(f) && !stand_ins.contains(f) && !inlined(f) && !inner.has(f);
    if !rules.by_target.is_empty()
        && let Some(call) = w.inlined_call(is_looked_at, inlined)
    {
        let (_, entries) = rules.of(&call.callee).context("an inlined function has no rule")?;
        return Ok(Err(too_late(&entries[0], call)));
    }
    for name in w.functions().into_iter().map(|f| f.name) {
        if let Some(wrapper) = rules.of(&name).and_then(|(target, _)| wrappers.get(target.as_str())) {
            w.redirect(&name, wrapper, |function| stand_ins.contains(function))?;
        }
    }
    Ok(Ok(applied))
}

/// What `roots` reach otherwise than by functions that are never differentiated: those with rules for both modes.
fn differentiated(w: &Module, roots: &[&str], rules: &Rules) -> Result<HashSet<String>> {
    let has_rules = |symbol: &str| {
        let kinds: HashSet<RuleKind> =
            rules.of(symbol).into_iter().flat_map(|(_, entries)| entries).map(|entry| entry.kind).collect();
        kinds.contains(&RuleKind::NonDifferentiable)
            || kinds.contains(&RuleKind::Reverse) && kinds.contains(&RuleKind::Forward)
    };
    let mut seen: HashSet<String> = roots.iter().map(|root| (*root).to_owned()).collect();
    let mut open: Vec<String> = seen.iter().cloned().collect();
    while let Some(symbol) = open.pop() {
        if !has_rules(&symbol) {
            open.extend(w.references(&symbol)?.into_iter().filter(|other| seen.insert(other.clone())));
        }
    }
    Ok(seen)
}

fn too_late(entry: &Entry, call: InlinedCall) -> Rendered {
    let (file, line, column) = call.place;
    let Place { file: rule, line: at, .. } = &entry.place;
    show(
        &format!("`{}` has a rule, but rustc has inlined it before the rule could take its place", entry.name),
        Some((&Place { file, line, column }, "called here")),
        &[format!("its rule is at {rule}:{at}")],
        &[format!("put `#[inline(never)]` on `{}`, or let the crate that calls it depend on `pullback`", entry.name)],
    )
}

/// A function with rules, and the wrapper that takes its place.
struct Wrapped<'r> {
    target: &'r str,
    wrapper: &'r str,
    rules: Vec<Rule>,
    /// The module with the wrapper.
    home: ModuleId,
}

impl<'r> Wrapped<'r> {
    fn read(program: &mut Program, target: &'r str, entries: &'r [Entry]) -> Result<Self> {
        let rules = entries.iter().map(|entry| read(program, entry)).collect::<Result<_>>()?;
        let wrapper = entries[0].wrapper.as_deref().context("it has no wrapper")?;
        let home = Decoder::new(program).home(entries[0].module, wrapper)?;
        Ok(Wrapped { target, wrapper, rules, home })
    }
}

/// Link wrappers of one module, and their stand-ins, into a working copy.
fn put_in(
    program: &mut Program,
    w: &mut Module,
    home: ModuleId,
    wrapped: Vec<Wrapped>,
    applied: &mut Applied,
) -> Result<()> {
    let wrappers: Vec<&str> = wrapped.iter().map(|wrapped| wrapped.wrapper).collect();
    let mut part = program.working_copy(home, &wrappers)?;
    let stand_ins: HashMap<&str, &str> =
        wrapped.iter().map(|wrapped| (wrapped.wrapper, wrapped.rules[0].stand_in.as_str())).collect();
    let calls = part.calls_of(RULE_MARKER);
    let replaced = calls.iter().filter_map(|call| Some((call, Some(*stand_ins.get(call.caller.as_str())?))));
    part.replace_calls(replaced)?;
    part.retain_reachable(&wrappers)?;
    for name in stand_ins.iter().flat_map(|(wrapper, stand_in)| [wrapper, stand_in]) {
        part.set_linkage(name, Linkage::External)?;
    }
    link_part(w, part, &wrappers, Callees::Bodies)?;
    for Wrapped { target, rules, .. } in wrapped {
        let stand_in = rules[0].stand_in.clone();
        applied.targets.insert(stand_in.clone(), target.to_owned());
        applied.stand_ins.insert(stand_in, rules);
    }
    Ok(())
}
