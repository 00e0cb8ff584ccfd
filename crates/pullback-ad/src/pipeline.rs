//! The pipeline: from a request to a derivative in the module. This file lists the passes, in order.
//!
//! In debug builds, in tests and in fuzzing, the IR is verified after each pass that changes it, and the linear program
//! after linearising.
//!
//! | pass | requires | ensures |
//! |---|---|---|
//! | [`working_copies()`] | the primal has the shim's signature | a copy of each function that takes part; calls among them go to copies |
//! | [`access_to_branch`] | only in a second attempt | no load or store at an address that a `select` chose |
//! | [`select_to_branch`] | – | where an arm may have an infinite partial, it is computed on one way only |
//! | [`carried_selection`] | reverse mode | what a loop chooses last, a maximum say, is computed again after it |
//! | [`unpack`] | – | no load or store of an aggregate with pointers |
//! | [`rejoin`] | – | a pointer that is stored in two halves is stored as a pointer |
//! | [`points_to`](crate::analysis::points_to) | – | for each pointer its object and offsets; in each object where floats and pointers lie |
//! | [`split_wide_ints`] | points-to | no integer carries two floats or pointers |
//! | [`retype`] | no integer carries two | an integer that only carries the bits of a float or a pointer is one |
//! | [`hoist`] | points-to | no loop computes the same in each iteration of the loop around it |
//! | [`words`] | types are true but for enums | what may be a float or a pointer is an integer |
//! | [`activity`] | points-to of the final program | what depends on the inputs; all obstacles are errors |
//! | [`augment`] | activity | the augmented primal, and in reverse mode its linear program |
//! | [`joint_calls`] | a linear program | calls with known cotangents are reversed where they stand |
//! | [`schedule`] | a linear program without useless operations | where each transpose runs; trip counts are values |
//! | [`plan`](crate::plan) | a schedule | how the reverse sweep gets each value that it uses |
//! | [`reverse`] | a plan | the forward sweep and the reverse sweep |
//! | [`alias`] | both sweeps in one function | a class for each load and store |
//! | [`release`] | all functions of the derivative | what rules keep is dropped while what it refers to is there |
//! | [`notes`](crate::reverse::notes) | the finished derivative | the tape is told what to save, and what can be done again |

use crate::analysis::points_to::{facts::Facts, flow};
use crate::analysis::scope::OnPanic;
use crate::analysis::{activity, owners, renews};
use crate::error::{Error, ErrorKind, Result};
use crate::linearise::augment::{Augmented, augment};
use crate::linearise::program::LinearFunction;
use crate::prepare::working_copies::working_copies;
use crate::prepare::{
    access_to_branch, carried_selection, hoist, rejoin, retype, select_to_branch, split_wide_ints, unpack, words,
};
use crate::request::{Mode, Request};
use crate::reverse::notes::{note_first, note_last};
use crate::reverse::release::{self, Part};
use crate::reverse::{self, alias};
use crate::runtime::{Runtime, SAVE_SHADOWS};
use crate::schedule::{self, Scheduled, joint_calls};
use crate::session::{Disturbs, Form, Session};
use pullback_ir::{Callee, FuncId, Function, Module, Op, verify_function};
use std::collections::HashMap;

/// A derivative, and what its caller has to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Derivative {
    /// The function.
    pub function: FuncId,
    /// The reverse sweep of a split derivative.
    pub reverse_sweep: Option<FuncId>,
    /// Whether it has the caller's shadows saved, or what is in them set aside: the wrapper notes where they are.
    pub saves: bool,
    /// In forward mode: whether it may change who owns a value where no shadow says so, see [`owners`].
    pub disowns: bool,
    /// In forward mode: whether it may put values where there were none, see [`renews`].
    pub renews: bool,
}

/// As [`derivative`], for those who know all of the caller.
pub fn differentiate(module: &mut Module, primal: FuncId, request: &Request, name: &str) -> Result<FuncId> {
    derivative(module, primal, request, name).map(|derivative| derivative.function)
}

/// Add the derivative of `primal` that `request` asks for to the module, as a function called `name`.
///
/// The primal follows the shim convention: every parameter is a pointer to an argument, or to the place of the result,
/// described by the request in order; it returns nothing. The derivative's signature is in `docs/architecture.md`.
///
/// A forward derivative that cannot be had only because of what the primal does on the way out of a panic is one that
/// leaves the shadows there when the primal panics. One that cannot be had because it cannot be told what memory holds
/// is tried again with accesses by way of selected pointers [taken apart](access_to_branch).
pub fn derivative(module: &mut Module, primal: FuncId, request: &Request, name: &str) -> Result<Derivative> {
    attempts(module, primal, request, |module, how| match prepare(module, primal, request, name, how)? {
        Some(prepared) => derive(module, &prepared, name).map(Some),
        None => Ok(None),
    })
}

/// The linear program of `primal`, and the function that it belongs to, as the derivative that `request` asks for has
/// it before it is scheduled. What its calls refer to is in the module.
pub fn linearise(
    module: &mut Module,
    primal: FuncId,
    request: &Request,
    name: &str,
) -> Result<(Function, LinearFunction)> {
    attempts(module, primal, request, |module, how| match prepare(module, primal, request, name, how)? {
        Some(prepared) => with_session(module, &prepared, name, |session| {
            let whole = augment(session, prepared.primal, prepared.form(), name)?;
            Ok(Some((whole.func, whole.linear)))
        }),
        None => Ok(None),
    })
}

/// How a derivative is attempted.
#[derive(Clone, Copy)]
struct How {
    on_panic: OnPanic,
    accesses: Accesses,
}

/// What becomes of loads and stores by way of selected pointers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accesses {
    /// They stay.
    Selected,
    /// They become branches.
    Separate,
}

/// Attempt something in the ways there are, until it can be done; `None` is what cannot be attempted in this way. An
/// obstacle that another way does not have is not told; a fault of the engine always is.
fn attempts<T>(
    module: &mut Module,
    primal: FuncId,
    request: &Request,
    attempt: impl Fn(&mut Module, How) -> Result<Option<T>>,
) -> Result<T> {
    let (given, described) = (module.func(primal).params.len(), request.args.len());
    if given != described {
        let name = &module.func(primal).name;
        return Err(Error::internal(format!("the request describes {described} arguments, `{name}` has {given}")));
    }
    let functions = module.functions().count();
    let is_obstacle = |error: &Error| error.kind != ErrorKind::Internal;
    let mut attempt = |accesses| {
        // In reverse mode the tape owns the shadows.
        let ways: &[OnPanic] =
            if request.mode == Mode::Forward { &[OnPanic::Free, OnPanic::Leave] } else { &[OnPanic::Leave] };
        let mut result = Ok(None);
        for on_panic in ways {
            module.truncate_functions(functions);
            result = attempt(module, How { on_panic: *on_panic, accesses });
            match &result {
                Ok(None) => {}
                Err(error) if is_obstacle(error) => {}
                _ => break,
            }
        }
        result
    };
    let error = match attempt(Accesses::Selected) {
        Ok(Some(made)) => return Ok(made),
        Ok(None) => Error::internal("there is no way to attempt it"),
        Err(error) => error,
    };
    if error.kind != ErrorKind::UnknownType {
        return Err(error);
    }
    match attempt(Accesses::Separate) {
        Ok(Some(made)) => Ok(made),
        Err(fault) if !is_obstacle(&fault) => Err(fault),
        _ => Err(error),
    }
}

/// A program that is ready to be linearised.
struct Prepared {
    /// The working copy of the primal.
    primal: FuncId,
    /// What was asked, with the rules of working copies.
    request: Request,
    /// What is known of its memory.
    facts: Facts,
    /// The functions of the program that the working copies stand for.
    originals: HashMap<FuncId, FuncId>,
}

impl Prepared {
    fn form(&self) -> Form {
        if self.request.split { Form::Split } else { Form::Whole }
    }
}

/// Bring working copies of the primal, and of what it calls, into the form that the analyses understand; `None` if that
/// cannot be had in this way.
fn prepare(
    module: &mut Module,
    primal: FuncId,
    request: &Request,
    name: &str,
    How { on_panic, accesses }: How,
) -> Result<Option<Prepared>> {
    let copies = working_copies(module, primal, request, on_panic, name);
    let primal = copies[&primal];
    let mut rules = request.rules.clone();
    for (original, copy) in &copies {
        for mode in [request.mode, request.mode.other()] {
            if let Some(rule) = request.rules.get(*original, mode) {
                rules.add(*copy, rule.clone());
            }
        }
    }
    let request = Request { rules, ..request.clone() };
    let all: Vec<FuncId> = copies.values().copied().collect();
    if accesses == Accesses::Separate && !each(module, &all, access_to_branch::access_to_branch) {
        return Ok(None);
    }
    each(module, &all, changing(select_to_branch::select_to_branch));
    if request.mode == Mode::Reverse {
        each(module, &all, changing(carried_selection::carried_selection));
    }
    each(module, &all, changing(unpack::unpack));
    each(module, &all, changing(rejoin::rejoin));

    let analyse = |module: &Module| flow::analyse(module, primal, &request, on_panic);
    let mut facts = analyse(module);
    // Halves may have to be halved again, an `i128` of four `f32`; each time the integers are half as wide, so there is
    // an end.
    while each_with(module, &facts, split_wide_ints::split_wide_ints) {
        facts = analyse(module);
    }
    // Once: what is a float or a pointer now carries nothing else.
    let cleanups = retype::cleanup_params(module, &facts);
    if each_with(module, &facts, |func, id, facts| retype::retype(func, id, facts, &cleanups)) {
        facts = analyse(module);
    }
    // Once: it goes on by itself until no loop can be moved.
    if each_with(module, &facts, hoist::hoist) {
        facts = analyse(module);
    }
    // Each round may show that more values are not what their types say; each takes a type away, so there is an end.
    while each_with(module, &facts, words::words) {
        facts = analyse(module);
    }
    // What an inner derivative puts aside has no shadow that is given back after a panic.
    if on_panic == OnPanic::Free && puts_aside(module, &facts.functions) {
        return Ok(None);
    }
    let originals = copies.iter().map(|(original, copy)| (*copy, *original)).collect();
    Ok(Some(Prepared { primal, request, facts, originals }))
}

/// A pass of which it does not matter whether it changes anything.
fn changing(pass: impl Fn(&mut Function)) -> impl Fn(&mut Function) -> bool {
    move |func| {
        pass(func);
        true
    }
}

/// Run a pass over these functions; whether it has changed one.
fn each(module: &mut Module, functions: &[FuncId], pass: impl Fn(&mut Function) -> bool) -> bool {
    let mut changed = false;
    for id in functions {
        changed |= pass(module.func_mut(*id));
        verify(module, *id);
    }
    changed
}

/// The same for a pass that knows what memory holds.
fn each_with(module: &mut Module, facts: &Facts, pass: impl Fn(&mut Function, FuncId, &Facts) -> bool) -> bool {
    let mut changed = false;
    for id in &facts.functions {
        changed |= pass(module.func_mut(*id), *id, facts);
    }
    // Parameters of clean-ups change their types with the arguments for them: all functions are right again when all
    // are through.
    facts.functions.iter().for_each(|id| verify(module, *id));
    changed
}

/// In debug builds: the IR is as it has to be.
fn verify(module: &Module, id: FuncId) {
    if cfg!(debug_assertions)
        && !module.func(id).is_declaration()
        && let Err(violations) = verify_function(module, id)
    {
        panic!("a pass is at fault: {violations:?}\n{}", pullback_ir::text::function_text(module, module.func(id)));
    }
}

/// Whether an inner derivative puts shadows aside in case of a panic. Their own shadows would not be put back.
fn puts_aside(module: &Module, functions: &[FuncId]) -> bool {
    let calls = functions.iter().flat_map(|id| {
        let func = module.func(*id);
        func.blocks().flat_map(|b| &func.block(b).insts).map(|inst| &func.inst(*inst).op)
    });
    calls.into_iter().any(|op| match op {
        Op::Call(Callee::Direct(callee), ..) => module.func(*callee).name == SAVE_SHADOWS,
        _ => false,
    })
}

/// Do something with what all functions of one derivative share.
fn with_session<T>(
    module: &mut Module,
    prepared: &Prepared,
    name: &str,
    then: impl FnOnce(&mut Session) -> Result<T>,
) -> Result<T> {
    let Prepared { request, facts, originals, .. } = prepared;
    let active = activity::analyse(module, facts, request)?;
    let runtime = Runtime::declare(module, request.nested);
    then(&mut Session::new(module, facts, &active, request, runtime, originals.clone(), name))
}

/// Add the derivative of a program that is prepared.
fn derive(module: &mut Module, prepared: &Prepared, name: &str) -> Result<Derivative> {
    let (mode, split) = (prepared.request.mode, prepared.request.split);
    with_session(module, prepared, name, |session| {
        let disowns =
            mode == Mode::Forward && owners::disowns(session.module, session.facts, session.active, session.request);
        let renews = mode == Mode::Forward && renews::renews(session.module, session.facts, session.request);
        let whole = augment(session, prepared.primal, prepared.form(), name)?;
        let mut parts = Vec::new();
        let (derivative, backward) = match mode {
            Mode::Forward => (whole.func, None),
            Mode::Reverse if split => {
                let scheduled = scheduled(session, whole, Form::Split)?;
                let (forward, backward) = reverse::split(&session.target(), scheduled, &reverse_sweep(name))?;
                let backward = session.module.add_function(backward);
                parts.push((backward, Part::Other));
                (forward, Some(backward))
            }
            Mode::Reverse => (combined(session, whole, name)?, None),
        };
        let function = session.module.add_function(derivative);
        parts.push((function, if split { Part::Other } else { Part::Whole }));
        callees(session, &mut parts)?;
        if mode == Mode::Reverse && session.owns_borrowing.get() {
            release::release(session, &parts);
        }
        let saves = mode == Mode::Reverse && note(session, function);
        Ok(Derivative { function, reverse_sweep: backward, saves, disowns, renews })
    })
}

/// Both sweeps of the whole derivative in one function.
fn combined(session: &mut Session, mut whole: Augmented, name: &str) -> Result<Function> {
    joint_calls::reverse_jointly(session, &mut whole);
    let places = whole.places.clone();
    let scheduled = scheduled(session, whole, Form::Whole)?;
    let (mut derivative, origins) = reverse::combined(&session.target(), scheduled, name)?;
    let pointers = alias::Pointers { regions: &session.facts.regions, places: &places, origins: &origins };
    alias::classify(&mut derivative, session.request, session.runtime, &pointers);
    Ok(derivative)
}

/// Make the functions of callees that are declared, and of those that they call.
fn callees(session: &mut Session, parts: &mut Vec<(FuncId, Part)>) -> Result<()> {
    while let Some(callee) = session.pending.pop() {
        let variant = session.variants[&callee];
        let name = session.module.func(variant.forward).name.clone();
        let part = augment(session, callee, Form::Callee, &name)?;
        match variant.reverse {
            None => *session.module.func_mut(variant.forward) = part.func,
            Some(reverse) => {
                let name = session.module.func(reverse).name.clone();
                let scheduled = scheduled(session, part, Form::Callee)?;
                let (forward, backward) = reverse::split(&session.target(), scheduled, &name)?;
                *session.module.func_mut(variant.forward) = forward;
                *session.module.func_mut(reverse) = backward;
                parts.extend([(variant.forward, Part::Other), (reverse, Part::Other)]);
            }
        }
    }
    Ok(())
}

/// Let a reverse derivative tell its tape what to save, and what can be done again; whether something is saved.
fn note(session: &mut Session, function: FuncId) -> bool {
    let Request { nested, split, .. } = *session.request;
    let save = match session.disturbs.get() {
        // The pullback of a split derivative owns its shadows.
        _ if split => false,
        Disturbs::Nothing => false,
        // In a derivative that is differentiated itself nobody sees sums after a panic, but values are dropped.
        Disturbs::Sums => !nested,
        Disturbs::Pointers => true,
    };
    let (runtime, sets_aside) = (session.runtime, session.sets_aside);
    let sweeps = i64::from(session.repeatable.get()) | i64::from(split && session.is_reproducible()) << 1;
    let derivative = session.module.func_mut(function);
    if sets_aside {
        note_first(derivative, runtime.set_sums_aside, i64::from(nested));
    }
    if save {
        note_first(derivative, runtime.save_shadows, 1);
    }
    // In a derivative that is differentiated itself there is nothing to set aside.
    if save || sets_aside && !nested {
        note_last(derivative, runtime.save_shadows, 0);
    }
    if split {
        note_first(derivative, runtime.set_repeatable, sweeps);
    }
    save || sets_aside
}

/// Decide where the transposes of a linear program run, and note what they do to the caller's shadows.
fn scheduled(session: &Session, aug: Augmented, form: Form) -> Result<Scheduled> {
    session.note_disturbed(&aug.linear);
    schedule::schedule(session, aug, form)
}

/// What the reverse sweep of a split derivative is called.
pub fn reverse_sweep(derivative: &str) -> String {
    format!("{derivative}.later")
}
