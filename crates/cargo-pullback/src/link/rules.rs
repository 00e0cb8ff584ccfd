//! The rules that the program has for functions, and how they get into a working copy.
//!
//! An attribute like `#[rrule(for = f)]` leaves a static with the addresses of `f` and of a *wrapper* of the same
//! signature. The wrapper puts its arguments into places and calls the *stand-in* of `f`, which takes everything by
//! pointer and calls `f` itself. In a working copy, calls of `f` become calls of the wrapper, which is inlined; the
//! engine is told what to call in place of the stand-in. The functions of the rule itself come to the derivatives at
//! the end: they are code like any other, in which `f` is `f`.
//!
//! ```text
//! caller ─▶ f             caller ─▶ wrapper ─▶ stand-in ─▶ f
//!                                                 │ in the derivative
//!                                                 └▶ augmented, pullback
//! ```

use super::nested::Inner;
use super::opaque;
use super::path::demangled;
use super::program::{ModuleId, Program};
use super::requests::{Decoder, Reader};
use super::resolve::{Callees, is_differentiated, link_part, resolve};
use crate::diagnostics::{Place, show};
use crate::report::Rendered;
use anyhow::{Context, Result, bail};
use pullback_abi::markers::{LATER, MARKER, RULE_MARKER, RULED_MARKER};
use pullback_abi::{self as abi, ENTRY, Kept, RuleEntry, RuleKind};
use pullback_ad::{
    Activity, Argument, Calls, CustomRule, CustomRules, Layouts, Mode, ReverseRule, Role, RuleArgument, Storage,
};
use pullback_ir::{FuncId, Function, Type};
use pullback_llvm::{CallSite, InlinedCall, Linkage, Module, NormaliseOptions, normalise};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::offset_of;
use std::ops::Bound;
use std::sync::Arc;

/// A static that an attribute leaves.
struct Entry {
    module: ModuleId,
    kind: RuleKind,
    /// Whether it gives way to another one.
    default: bool,
    target: String,
    wrapper: Option<String>,
    /// The function, as the attribute names it.
    name: String,
    place: Place,
}

/// All rules of the program, by the function they are for.
#[derive(Default)]
pub struct Rules {
    by_target: BTreeMap<String, Vec<Entry>>,
}

impl Rules {
    /// The rules for the function of a symbol, and the function they are for.
    fn of(&self, symbol: &str) -> Option<(&String, &Vec<Entry>)> {
        // To read a symbol takes time. It begins with what it is for, and few begin with a function that has rules.
        let mut start = symbol;
        loop {
            let (target, _) = self
                .by_target
                .range::<str, (Bound<&str>, Bound<&str>)>((Bound::Unbounded, Bound::Included(start)))
                .next_back()?;
            if symbol.starts_with(target.as_str()) {
                return self.by_target.get_key_value(base(symbol));
            }
            let common = start.bytes().zip(target.bytes()).take_while(|(a, b)| a == b).count();
            start = &start[..common];
        }
    }

    /// Read the statics of all modules.
    pub fn new(program: &mut Program) -> Result<Self> {
        let modules: Vec<ModuleId> =
            program.bitcode().into_iter().filter(|(_, member)| member.mentions(ENTRY)).map(|(id, _)| id).collect();
        let mut rules = Rules::default();
        // The functions that say themselves which rule they have, and the functions inside of them that it is for.
        let mut inside: BTreeMap<String, String> = BTreeMap::new();
        for id in modules {
            let module = program.module(id)?;
            let statics = module.globals().into_iter().filter(|g| !g.is_declaration && g.name.contains(ENTRY));
            for global in statics.collect::<Vec<_>>() {
                rules.add(program, id, &global.name)?;
            }
        }
        let modules = program.bitcode().into_iter().filter(|(_, member)| member.mentions(RULED_MARKER));
        for id in modules.map(|(id, _)| id).collect::<Vec<_>>() {
            for call in program.module(id)?.calls_of(RULED_MARKER) {
                let target = rules.add(program, id, described(&call)?)?;
                inside.insert(base(&call.caller).to_owned(), target);
            }
        }
        // Who opts out of such a function names the one that is seen.
        let opted_out = |target: &String| {
            rules.by_target.get(target).is_some_and(|entries| entries.iter().any(|e| e.kind == RuleKind::OptOut))
        };
        let targets: Vec<String> =
            inside.iter().filter(|(seen, _)| opted_out(seen)).map(|(_, target)| target.clone()).collect();
        for target in targets {
            rules.by_target.remove(&target);
        }
        for entries in rules.by_target.values_mut() {
            // Who opts out has no rule; what else is said comes first in reverse mode.
            if entries.iter().any(|e| e.kind == RuleKind::OptOut) {
                entries.clear();
            }
            let said: Vec<RuleKind> = entries.iter().filter(|e| !e.default).map(|e| e.kind).collect();
            entries.retain(|e| !(e.default && (said.contains(&e.kind) || said.contains(&RuleKind::NonDifferentiable))));
            entries.sort_by_key(|e| e.kind != RuleKind::Reverse);
        }
        rules.by_target.retain(|_, entries| !entries.is_empty());
        Ok(rules)
    }

    /// Add what the constant `symbol` says. Returns the function that it is about.
    fn add(&mut self, program: &mut Program, id: ModuleId, symbol: &str) -> Result<String> {
        let entry =
            entry(program, id, symbol).with_context(|| format!("could not read the rule `{}`", demangled(symbol)))?;
        let target = base(&entry.target).to_owned();
        let entries = self.by_target.entry(target.clone()).or_default();
        // An instance of a generic function may be in several modules.
        if !entries.iter().any(|e| e.kind == entry.kind && e.place == entry.place) {
            entries.push(entry);
        }
        Ok(target)
    }

    /// The functions that have two rules for the same thing, or cannot have one.
    pub fn conflicts(&self) -> Vec<Rendered> {
        let mut found = Vec::new();
        let shims = self.by_target.iter().filter(|(target, _)| is_reified(target));
        for entry in shims.flat_map(|(_, entries)| entries) {
            found.push(show(
                &format!("`{}` has `#[track_caller]`, so that no rule can take its place", entry.name),
                Some((&entry.place, "this is its rule")),
                &["such a function has one more argument, where it was called".to_owned()],
                &["move its body to a function without the attribute, and write the rule for that".to_owned()],
            ));
        }
        for entries in self.by_target.values() {
            let mut entries: Vec<&Entry> = entries.iter().collect();
            entries.sort_by_key(|e| (&e.place.file, e.place.line));
            for (i, entry) in entries.iter().enumerate() {
                let alone = entry.kind == RuleKind::NonDifferentiable;
                let Some(other) = entries[..i].iter().find(|e| alone || e.kind == entry.kind) else { continue };
                let Place { file, line, column } = &other.place;
                found.push(show(
                    &format!("`{}` has two rules", entry.name),
                    Some((&entry.place, "this is the second one")),
                    &[format!("the first one is at {file}:{line}:{column}")],
                    &["take one of them away".to_owned()],
                ));
            }
        }
        found
    }
}

/// Whether a symbol is that of a function which rustc makes to have an address for one with `#[track_caller]`.
fn is_reified(symbol: &str) -> bool {
    let path = demangled(symbol);
    path.contains("reify.shim") || path.contains("{shim:reify")
}

/// The constant that a marker is given.
fn described(call: &CallSite) -> Result<&str> {
    match &call.arguments[..] {
        [Some(constant)] => Ok(constant),
        _ => bail!("the description of a rule in `{}` is not a constant", demangled(&call.caller)),
    }
}

fn entry(program: &mut Program, id: ModuleId, symbol: &str) -> Result<Entry> {
    let mut decoder = Decoder::new(program);
    let r = decoder.constant(id, symbol)?;
    r.check_version(offset_of!(RuleEntry, version))?;
    let kind = r.u32(offset_of!(RuleEntry, kind))?;
    Ok(Entry {
        module: id,
        kind: RuleKind::try_from(kind & !RuleEntry::DEFAULT)?,
        default: kind & RuleEntry::DEFAULT != 0,
        target: r.function(offset_of!(RuleEntry, target)).context("it is for no function")?,
        wrapper: r.function(offset_of!(RuleEntry, wrapper)),
        name: decoder.string(&r, offset_of!(RuleEntry, name))?,
        place: Place {
            file: decoder.string(&r, offset_of!(RuleEntry, file))?,
            line: r.u32(offset_of!(RuleEntry, line))?,
            column: r.u32(offset_of!(RuleEntry, column))?,
        },
    })
}

/// A rule, as its functions are called in the program.
struct Rule {
    kind: RuleKind,
    name: String,
    borrows: bool,
    once: bool,
    drops: bool,
    args: Vec<Argument>,
    layouts: Layouts,
    stand_in: String,
    augmented: Option<String>,
    owning: Option<String>,
    view: Option<String>,
    pullback: Option<String>,
    tangent: Option<String>,
    closure: Storage,
    view_storage: Storage,
    module: ModuleId,
}

impl Rule {
    /// The functions that derivatives call.
    fn functions(&self) -> impl Iterator<Item = &String> {
        [&self.augmented, &self.owning, &self.view, &self.pullback, &self.tangent].into_iter().flatten()
    }
}

/// The rule that a wrapper calls.
fn read(program: &mut Program, entry: &Entry) -> Result<Rule> {
    let wrapper = entry.wrapper.as_ref().context("it has no wrapper")?;
    let home = Decoder::new(program).home(entry.module, wrapper)?;
    let calls = program.module(home)?.calls_of(RULE_MARKER);
    let call = calls.into_iter().find(|call| call.caller == *wrapper).context("its wrapper calls no rule")?;
    let mut decoder = Decoder::new(program);
    let r = decoder.constant(home, described(&call)?)?;
    r.check_version(offset_of!(abi::Rule, version))?;
    let flags = r.u32(offset_of!(abi::Rule, flags))?;
    Ok(Rule {
        kind: entry.kind,
        name: decoder.string(&r, offset_of!(abi::Rule, name))?,
        borrows: flags & abi::Rule::BORROWS != 0,
        once: flags & abi::Rule::ONCE != 0,
        drops: flags & abi::Rule::DROPS != 0,
        args: decoder.arguments(&r, offset_of!(abi::Rule, args))?,
        layouts: decoder.into_layouts(),
        stand_in: r.function(offset_of!(abi::Rule, primal)).context("it has no stand-in")?,
        augmented: r.function(offset_of!(abi::Rule, augmented)),
        owning: r.function(offset_of!(abi::Rule, owning)),
        view: r.function(offset_of!(abi::Rule, view)),
        pullback: r.function(offset_of!(abi::Rule, pullback)),
        tangent: r.function(offset_of!(abi::Rule, tangent)),
        closure: storage(&r, offset_of!(abi::Rule, closure))?,
        view_storage: storage(&r, offset_of!(abi::Rule, viewed))?,
        module: r.id,
    })
}

/// The `Kept` that lies at an offset.
fn storage(r: &Reader, offset: usize) -> Result<Storage> {
    Ok(Storage { size: r.u64(offset + offset_of!(Kept, size))?, align: r.u64(offset + offset_of!(Kept, align))? })
}

/// The rules of a working copy.
#[derive(Default)]
pub struct Applied {
    /// The rules for each stand-in.
    stand_ins: BTreeMap<String, Vec<Rule>>,
    /// The function that each stands in for.
    targets: HashMap<String, String>,
    /// Functions that carry no derivative.
    inactive: HashSet<String>,
    /// The bodies of functions that are hidden or only looked at, as they were before the optimiser came.
    bodies: Option<Module>,
}

impl Applied {
    /// The functions that the optimiser must not know: what is called in their place, or whether their result carries a
    /// derivative, does not follow from their bodies.
    fn unknown(&self) -> impl Iterator<Item = &String> {
        self.stand_ins.keys().chain(&self.inactive)
    }

    /// Take the bodies of stand-ins, and of functions without derivative, out of a working copy.
    pub fn hide(&mut self, program: &mut Program, w: &mut Module) -> Result<()> {
        let runs_program = w.functions().iter().any(|f| opaque::runs_program(&f.name));
        if self.unknown().next().is_some() || runs_program {
            let mut bodies = w.clone_module();
            if runs_program {
                opaque::bring_bodies(program, &mut bodies)?;
            }
            // Parts of it are copied often, so it holds no more than is asked for: these, and functions that are only
            // looked at.
            let unknown: HashSet<&String> = self.unknown().collect();
            let wanted = |f: &String| unknown.contains(f) || !is_differentiated(f) || opaque::runs_program(f);
            let defined = bodies.functions().into_iter().filter(|f| !f.is_declaration).map(|f| f.name);
            let wanted: Vec<String> = defined.filter(wanted).collect();
            bodies.retain_reachable(&wanted.iter().map(String::as_str).collect::<Vec<_>>())?;
            self.bodies = Some(bodies);
        }
        for name in self.unknown() {
            w.make_declaration(name)?;
        }
        Ok(())
    }

    /// Bring back the stand-ins that have no rule for one of these modes, each prepared for import by itself: their
    /// bodies are differentiated.
    pub fn show(&self, w: &mut Module, modes: &[Mode], options: &NormaliseOptions) -> Result<()> {
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

    /// The bodies as they were of functions that are hidden or only looked at, if there are any.
    pub fn bodies(&self) -> Option<&Module> {
        self.bodies.as_ref()
    }

    /// A module with these bodies as they were.
    fn bodies_of(&self, names: &[&str]) -> Result<Module> {
        let mut part = self.bodies.as_ref().context("nothing was hidden")?.clone_module();
        part.retain_reachable(names)?;
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

    /// Bring the bodies of the rules' functions to the derivatives that call them, and those that were hidden.
    pub fn complete(&self, program: &mut Program, d: &mut Module) -> Result<()> {
        // A body may call others. One that is not here, because it was hidden for an inner derivative already, is in
        // the program.
        let mut brought: HashSet<&String> = HashSet::new();
        loop {
            let hidden = |name: &String| d.find_symbol(name).is_some_and(|s| s.is_declaration);
            let wanted: Vec<&str> =
                self.unknown().filter(|name| hidden(name) && brought.insert(name)).map(String::as_str).collect();
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
            let mut part = program.source(home)?.clone_module();
            part.retain_reachable(&names)?;
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

/// A rule as the engine knows it.
fn custom(ir: &mut pullback_ir::Module, rule: &Rule) -> Option<CustomRule> {
    let count = rule.args.len();
    let mut declare = |name: &String, params: usize| -> FuncId {
        ir.declare(name, || Function::new(name, vec![Type::Ptr; params], None))
    };
    let calls = match rule.kind {
        RuleKind::Forward => Calls::Forward(declare(rule.tangent.as_ref()?, 2 * count)),
        _ => Calls::Reverse(ReverseRule {
            augmented: declare(rule.augmented.as_ref()?, 2 + count),
            owning: rule.owning.as_ref().map(|owning| declare(owning, 2 + count)),
            view: rule.view.as_ref().map(|view| declare(view, 2 + 2 * count)),
            pullback: declare(rule.pullback.as_ref()?, 2 + count),
            closure: rule.closure,
            view_storage: rule.view_storage,
            borrows: rule.borrows,
            once: rule.once,
            drops: rule.drops,
        }),
    };
    let argument = |(i, arg): (usize, &Argument)| {
        let role = match arg.activity {
            _ if i + 1 == count => Role::Result,
            Activity::Const => Role::Inert,
            Activity::Duplicated => Role::Read,
            Activity::DuplicatedNoNeed => Role::Written,
        };
        RuleArgument { name: arg.name.clone(), role, layout: arg.layout }
    };
    let args = rule.args.iter().enumerate().map(argument).collect();
    Some(CustomRule { name: rule.name.clone(), args, layouts: rule.layouts.clone(), calls })
}

/// What a symbol says of the function it is for: without the number that the linker of modules puts behind a name that
/// is taken, and without the crate that has made this copy of the function.
fn base(symbol: &str) -> &str {
    let symbol = match symbol.rsplit_once('.') {
        Some((base, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => symbol,
    };
    without_crate(symbol).unwrap_or(symbol)
}

/// A symbol of the form `_R<path><crate>`, without the last part: the crate in which a function was instantiated, which
/// its path does not show.
fn without_crate(symbol: &str) -> Option<&str> {
    let path = format!("{:#}", rustc_demangle::try_demangle(symbol).ok().filter(|_| symbol.starts_with("_R"))?);
    // It is written out, `Cs<hash>_<length><name>`, or refers to what stands before it, `B<number>_`.
    let starts = symbol.rmatch_indices(['B', 'C']).map(|(at, _)| &symbol[..at]);
    starts.into_iter().find(|start| rustc_demangle::try_demangle(start).is_ok_and(|found| format!("{found:#}") == path))
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
    if !rules.by_target.is_empty()
        && let Some(call) = w.inlined_call(|f| !stand_ins.contains(f) && !inlined(f) && !inner.has(f), inlined)
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
    let mut part = program.working_copy(home)?;
    let stand_ins: HashMap<&str, &str> =
        wrapped.iter().map(|wrapped| (wrapped.wrapper, wrapped.rules[0].stand_in.as_str())).collect();
    let calls = part.calls_of(RULE_MARKER);
    let replaced = calls.iter().filter_map(|call| Some((call, Some(*stand_ins.get(call.caller.as_str())?))));
    part.replace_calls(replaced)?;
    let wrappers: Vec<&str> = wrapped.iter().map(|wrapped| wrapped.wrapper).collect();
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

/// The calls of the markers in a module, and what takes their place in the program: functions are called without their
/// rules there, and nobody calls a wrapper.
pub fn replacements(program: &mut Program, id: ModuleId) -> Result<Vec<(CallSite, Option<String>)>> {
    let mut replaced = Vec::new();
    for (marker, at) in [(RULE_MARKER, offset_of!(abi::Rule, primal)), (RULED_MARKER, offset_of!(RuleEntry, target))] {
        for call in program.module(id)?.calls_of(marker) {
            let r = Decoder::new(program).constant(id, described(&call)?)?;
            let function = r.function(at).context("a rule lacks a function")?;
            replaced.push((call, Some(function)));
        }
    }
    Ok(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_a_function_are_one_function() {
        let exp = "_RNvMNtCsjrHSEGnQ3l9_3std3f64d3exp";
        assert_eq!(base(&format!("{exp}Cs7CeidQFm3AF_6statrs")), exp);
        assert_eq!(base(&format!("{exp}Cs7CeidQFm3AF_6statrs.12")), exp);
        assert_eq!(base(exp), exp);
        let square = "_RINvNtCs57tTokul6bA_12pullback_e2e6copies6squaredE";
        assert_eq!(base(&format!("{square}B4_")), square);
        assert_eq!(base(&format!("{square}CsdHm4oF38IO5_15rules_for_known")), square);
        // The crate is part of the path.
        assert_eq!(base("_RNvCs7CeidQFm3AF_3app4norm"), "_RNvCs7CeidQFm3AF_3app4norm");
        assert_eq!(base("_RNvCs7CeidQFm3AF_3app7normB4_"), "_RNvCs7CeidQFm3AF_3app7normB4_");
        assert_eq!(base("_ZN3app4norm17h0123456789abcdefE"), "_ZN3app4norm17h0123456789abcdefE");
        assert_eq!(base("cbrt"), "cbrt");
    }
}
