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

mod applied;
mod rule;

pub use applied::{Applied, apply, bring_bodies};

use super::path::{demangled, without_number};
use super::program::{ModuleId, Program};
use super::requests::Decoder;
use crate::diagnostics::{Place, show};
use crate::report::Rendered;
use anyhow::{Context, Result, bail};
use pullback_abi::markers::{RULE_MARKER, RULED_MARKER};
use pullback_abi::{self as abi, ENTRY, RuleEntry, RuleKind};
use pullback_llvm::CallSite;
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::ops::Bound;

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

/// What a symbol says of the function it is for: without the number that the linker of modules puts behind a name that
/// is taken, and without the crate that has made this copy of the function.
fn base(symbol: &str) -> &str {
    let symbol = without_number(symbol);
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
