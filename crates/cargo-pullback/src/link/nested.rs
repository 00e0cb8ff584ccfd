//! Derivatives of derivatives: requests in functions that are themselves differentiated.
//!
//! ```text
//! w:  outer shim ─▶ f ─▶ the wrapper of `dg` ─▶ marker(inner shim)        inner shim ─▶ g
//!                                               └─ becomes the address of the inner derivative, which is put into w
//! ```
//! The innermost come first: those of functions that ask for nothing. Each derivative goes, in LLVM's IR, into the
//! working copy in which it was asked for, and is code like any other there: it is optimised, and differentiated with
//! all that calls it. Only its tape is not looked into, the engine knows what the functions of that do (`pullback-ad`,
//! `inner_tape`). What else it calls of the run-time support is replaced by plain code (`pullback::rt::nested`), which
//! is differentiated too.

use super::path::demangled;
use super::policy::is_bookkeeping;
use super::program::Program;
use super::requests::{Asked, requests};
use super::resolve::{Callees, link_part};
use super::rules::{Applied, Rules};
use super::trace::Trace;
use super::work::{Made, Needs, Task, differentiate, prepare};
use crate::diagnostics::{CLOSURE, show};
use crate::report::Rendered;
use anyhow::{Context, Result};
use pullback_abi::markers::{DISOWNS, LATER, MARKER, RENEWS, SAVES, YIELDS};
use pullback_ad::{FieldKind, LayoutId, Layouts, Request};
use pullback_ir::MemoryEffects;
use pullback_llvm::{CallSite, Linkage, Module};
use std::collections::{HashMap, HashSet};

/// What inner derivatives are called; a number follows.
const NAME: &str = "pullback_inner";

/// Functions of the run-time support, and the code that stands in for them in a derivative that is differentiated.
const REPLACED: [(&str, &str); 5] = [
    ("__pullback_shadow_alloc", "__pullback_nested_shadow_alloc"),
    ("__pullback_adjoint_copy", "__pullback_nested_adjoint_copy"),
    ("__pullback_zero_lanes", "__pullback_nested_zero_lanes"),
    ("__pullback_copy_lanes", "__pullback_nested_copy_lanes"),
    ("__pullback_recount", "__pullback_nested_recount"),
];

/// Whether a function of a working copy asks for a derivative.
pub fn asks(w: &Module) -> bool {
    [MARKER, LATER].iter().any(|marker| w.find_symbol(marker).is_some())
}

/// The functions of a working copy that ask for a derivative, themselves or by those they call.
pub fn asking(w: &Module) -> HashSet<String> {
    w.referrers(&[MARKER, LATER], |_| false)
}

/// What a derivative asks before it makes large arrays.
const FITS: &str = "__pullback_fits";

/// Tell the engine that what a wrapper does besides calling a derivative leaves the program's memory as it is; as does
/// the question whether there is memory for a tape.
pub fn mark_harmless(ir: &mut pullback_ir::Module) {
    let harmless = |name: &str| is_bookkeeping(name) || name == FITS;
    let found: Vec<_> = ir.functions().filter(|(_, f)| harmless(&f.name)).map(|(id, _)| id).collect();
    for id in found {
        ir.func_mut(id).attrs.memory = MemoryEffects::Read;
    }
}

/// The derivatives that were put into a working copy.
#[derive(Default)]
pub struct Inner {
    /// The rules that they use.
    applied: Vec<Applied>,
    /// Their functions, and copies of others that came with them.
    functions: HashSet<String>,
    count: usize,
}

impl Inner {
    /// The rules that they use.
    pub fn rules(&self) -> &[Applied] {
        &self.applied
    }

    /// Whether a function came with a derivative.
    pub fn has(&self, function: &str) -> bool {
        self.functions.contains(function)
    }

    /// Make all derivatives that functions of `w` ask for, and put them into it. Its other functions are those that
    /// `roots` reach.
    pub fn make_all(
        &mut self,
        program: &mut Program,
        w: &mut Module,
        roots: &[&str],
        rules: &Rules,
        trace: &mut Trace,
    ) -> Result<std::result::Result<(), Vec<Rendered>>> {
        loop {
            // What is asked for by functions that rules take the place of is not wanted.
            let ready = match prepare(program, w.clone_module(), roots, rules, self, trace)? {
                Ok(ready) => ready,
                Err(errors) => return Ok(Err(errors)),
            };
            if !asks(&ready.module) {
                return Ok(Ok(()));
            }
            let id = program.adopt(ready.module);
            let seen = program.module(id)?;
            let asking = asking(&seen);
            let mut asked = requests(program, id, &seen)?;
            asked.retain(|request| !asking.contains(&request.shim));
            let errors: Vec<Rendered> = asked.iter().filter_map(refused).collect();
            if !errors.is_empty() {
                return Ok(Err(errors));
            }
            if asked.is_empty() {
                let all = requests(program, id, &seen)?;
                return Ok(Err(all.iter().take(1).map(endless).collect()));
            }
            let tasks: Vec<Task> = asked
                .into_iter()
                .map(|mut asked| {
                    self.count += 1;
                    asked.request.nested = true;
                    let symbol = format!("{NAME}_{}_{}", self.count, asked.request.name.replace(' ', "_"));
                    Task::new(id, w, asked.clone(), asked.shim, symbol)
                })
                .collect();
            let shims = super::work::shims(&tasks);
            // The shims may be in a module of their own until all bodies are there.
            let mut part = w.clone_module();
            super::rules::bring_bodies(program, &mut part, self)?;
            super::work::set_features(&mut part, &tasks)?;
            part.retain_reachable(&shims)?;
            let ready = match prepare(program, part, &shims, rules, self, trace)? {
                Ok(ready) => ready,
                Err(errors) => return Ok(Err(errors)),
            };
            let made = match differentiate(ready, "inner", &tasks, trace)? {
                Ok(made) => made,
                Err(errors) => return Ok(Err(errors)),
            };
            super::rules::bring_bodies(program, w, self)?;
            self.put_in(program, w, made, &tasks)?;
        }
    }

    /// Put derivatives into the working copy, in the place of the marker calls.
    fn put_in(&mut self, program: &mut Program, w: &mut Module, made: Made, tasks: &[Task]) -> Result<()> {
        let mut needs = Vec::new();
        for task in tasks {
            needs.push(made.needs(&task.symbol)?.clone());
        }
        let symbols = made.symbols();
        let Made { module: mut d, applied, .. } = made;
        for (old, new) in REPLACED {
            if d.find_symbol(old).is_none() {
                continue;
            }
            let home = program.find(new)?.with_context(|| format!("`{new}` is not in the program"))?;
            link_part(&mut d, program.part(home, &[new])?, &[new], Callees::Declarations)?;
            d.redirect(old, new, |_| false)?;
        }
        let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
        d.retain_reachable(&symbols)?;
        d.internalize(&symbols);
        let names = |module: &Module| -> HashSet<String> { module.functions().into_iter().map(|f| f.name).collect() };
        let before = names(w);
        // What the derivative only declares, since its body was taken out, is what the working copy has.
        for declared in d.functions().into_iter().filter(|f| f.is_declaration) {
            if w.find_symbol(&declared.name).is_some_and(|s| !s.is_declaration && s.linkage == Linkage::Internal) {
                w.set_linkage(&declared.name, Linkage::External)?;
            }
        }
        w.link_in(d)?;
        self.functions.extend(names(w).difference(&before).cloned());
        self.applied.push(applied);
        for marker in [MARKER, LATER, SAVES, DISOWNS, RENEWS, YIELDS] {
            let mut answered = Vec::new();
            for call in w.calls_of(marker) {
                let same = |c: &CallSite| c.callee == call.callee && c.arguments == call.arguments;
                let asked = |(task, _): &(&Task, &Needs)| task.asked.calls.iter().any(same);
                if let Some((task, needs)) = tasks.iter().zip(&needs).find(asked) {
                    let answer = task.answer(&call, needs);
                    answered.push((call, answer));
                }
            }
            w.replace_calls(answered.iter().map(|(call, answer)| (call, answer.as_deref())))?;
        }
        for symbol in symbols {
            w.set_linkage(symbol, Linkage::Internal)?;
        }
        Ok(())
    }
}

/// Why a derivative cannot be differentiated itself, if that is so.
fn refused(asked: &Asked) -> Option<Rendered> {
    let Request { name, strong_zero, args, layouts, .. } = &asked.request;
    let (what, help) = if *strong_zero {
        ("it has the option `strong_zero`", "ask for this derivative without the option")
    } else {
        let mut seen = HashMap::new();
        let active = args.iter().filter(|arg| arg.activity.has_shadow());
        if !active.into_iter().any(|arg| has_variants(layouts, arg.layout, &mut seen)) {
            return None;
        }
        (
            "an argument with a shadow holds an enum",
            "pass the floats of the enum as arguments of their own, or keep the enum in a `Const` argument",
        )
    };
    let label = if name == CLOSURE {
        "its derivative is asked for in a function that is differentiated"
    } else {
        "asked for here, and called in a function that is differentiated"
    };
    Some(show(
        &format!("the derivative of `{}` cannot be differentiated itself yet", demangled(name)),
        Some((&asked.place, label)),
        &[what.to_owned()],
        &[help.to_owned()],
    ))
}

/// Whether a value may hold an enum, itself or behind a pointer.
fn has_variants(layouts: &Layouts, id: LayoutId, seen: &mut HashMap<LayoutId, ()>) -> bool {
    if seen.insert(id, ()).is_some() {
        return false;
    }
    layouts.get(id).fields.iter().any(|field| match field.kind {
        FieldKind::Opaque(_) | FieldKind::Payload(_) => true,
        FieldKind::Nested(inner, _) | FieldKind::Pointer(Some(inner)) | FieldKind::Reference(inner) => {
            has_variants(layouts, inner, seen)
        }
        _ => false,
    })
}

/// All requests need others.
fn endless(asked: &Asked) -> Rendered {
    show(
        &format!("`{}` asks for its own derivative", demangled(&asked.request.name)),
        Some((&asked.place, "this derivative is called by the function it is the derivative of")),
        &["there is no end to derivatives of derivatives of it".to_owned()],
        &["call the derivative outside of the function".to_owned()],
    )
}
