//! The pipeline: from a request to a derivative in the module. This file lists the passes, in order.
//!
//! In debug builds, in tests and in fuzzing, the IR is verified after each pass that changes it, and the linear program
//! after each that makes or changes one: `augment`, `joint_calls`, `schedule`.
//!
//! | pass | requires | ensures |
//! |---|---|---|
//! | [`working_copies()`] | the primal has the shim's signature | a copy of each function that takes part |
//! | [`access_to_branch`] | only in a second attempt | no load or store at an address that a `select` chose |
//! | [`select_to_branch`] | – | where an arm may have an infinite partial, it is computed on one way only |
//! | [`carried_selection`] | reverse mode | what a loop chooses last, a maximum say, is recomputed after it |
//! | [`unpack`] | – | no load or store of an aggregate with pointers |
//! | [`rejoin`] | – | a pointer that is stored in two halves is stored as a pointer |
//! | [`points_to`](crate::analysis::points_to) | – | each pointer's object and offsets; where floats and pointers lie |
//! | [`split_wide_ints`] | points-to | no integer carries two floats or pointers |
//! | [`retype`] | no integer carries two | an integer that only carries the bits of a float or a pointer is one |
//! | [`signs`] | floats are no integers | the sign of a float is changed by float operations |
//! | [`hoist`] | points-to | no loop computes the same in each iteration of the loop around it |
//! | [`words`] | types are true but for enums | what may be a float or a pointer is an integer |
//! | [`activity`] | points-to of the final program | what depends on the inputs; all obstacles are errors |
//! | [`augment`] | activity | the augmented primal, and in reverse mode its linear program |
//! | [`joint_calls`] | a linear program | the calls that are reversed where they stand |
//! | [`joint_calls`](reverse::joint_calls) | these calls | they call functions with joint reversal |
//! | [`schedule`] | a linear program | where each transpose runs; no useless operations; trip counts are values |
//! | [`mod@plan`] | a schedule | how the reverse sweep gets each value that it uses |
//! | [`reverse`] | a plan | the forward sweep and the reverse sweep |
//! | [`alias`] | both sweeps in one function | a class for each load and store |
//! | [`release`] | all functions of the derivative | what rules keep is dropped while what it refers to is there |
//! | [`notes`](crate::reverse::notes) | the finished derivative | the tape knows what to save and to repeat |

use crate::analysis::points_to::{facts::Facts, flow};
use crate::analysis::scope::OnPanic;
use crate::analysis::types::mistyped;
use crate::analysis::writes::Writes;
use crate::analysis::{activity, owners, renews, yields};
use crate::error::{Error, ErrorKind, Result};
use crate::linearise::augment::{Augmented, augment};
use crate::linearise::linear::Linear;
use crate::linearise::program::LinearFunction;
use crate::linearise::verify::assert_valid;
use crate::plan::{self, Planned};
use crate::prepare::working_copies::working_copies;
use crate::prepare::{
    access_to_branch, carried_selection, hoist, rejoin, retype, select_to_branch, signs, split_wide_ints, unpack, words,
};
use crate::request::{Mode, Request};
use crate::reverse::notes::{note_first, note_last};
use crate::reverse::release;
use crate::reverse::{self, alias};
use crate::runtime::{Runtime, SAVE_SHADOWS};
use crate::schedule::{self, joint_calls};
use crate::session::{Callees, Disturbs, Form, Noted, Session, tape_users};
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
    /// Whether others may change pointers in cells of arguments while it runs, see [`yields`].
    pub yields: bool,
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
    attempts(module, primal, request, name, derive)
}

/// The linear program of `primal`, and the function that it belongs to, as the derivative that `request` asks for has
/// it before it is scheduled. What its calls refer to is in the module.
pub fn linearise(
    module: &mut Module,
    primal: FuncId,
    request: &Request,
    name: &str,
) -> Result<(Function, LinearFunction)> {
    attempts(module, primal, request, name, |session, primal| {
        let whole = linearised(session, primal)?;
        Ok((whole.func, whole.linear))
    })
}

/// What becomes of loads and stores by way of selected pointers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accesses {
    /// They stay.
    Selected,
    /// They become branches.
    Separate,
}

/// Attempt something with the working copy of the primal in the ways there are, until it can be done. An obstacle that
/// another way does not have is not told; a fault of the engine always is.
fn attempts<T>(
    module: &mut Module,
    primal: FuncId,
    request: &Request,
    name: &str,
    then: impl Fn(&mut Session, FuncId) -> Result<T>,
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
            let prepared = prepare(module, primal, request, name, *on_panic, accesses);
            result = prepared
                .and_then(|prepared| prepared.map(|prepared| with_session(module, &prepared, name, &then)).transpose());
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

/// Bring working copies of the primal, and of what it calls, into the form that the analyses understand; `None` if that
/// cannot be had in this way.
fn prepare(
    module: &mut Module,
    primal: FuncId,
    request: &Request,
    name: &str,
    on_panic: OnPanic,
    accesses: Accesses,
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
    if accesses == Accesses::Separate {
        let mut changed = false;
        each(module, &all, |func| changed |= access_to_branch::access_to_branch(func));
        if !changed {
            return Ok(None);
        }
    }
    each(module, &all, select_to_branch::select_to_branch);
    if request.mode == Mode::Reverse {
        each(module, &all, carried_selection::carried_selection);
    }
    each(module, &all, unpack::unpack);
    each(module, &all, rejoin::rejoin);

    let analyse = |module: &Module| flow::analyse(module, primal, &request, on_panic);
    let mut facts = analyse(module);
    // Halves may have to be halved again, an `i128` of four `f32`; each time the integers are half as wide, so there is
    // an end.
    while each_with(module, &facts, split_wide_ints::split_wide_ints) {
        facts = analyse(module);
    }
    // Once: what is a float or a pointer now carries nothing else.
    let cleanups = retype::cleanup_params(module, &facts);
    let mut changed = each_with(module, &facts, |func, id, facts| retype::retype(func, id, facts, &cleanups));
    each(module, &all, |func| changed |= signs::signs(func));
    if changed {
        facts = analyse(module);
    }
    // Once: it goes on by itself until no loop can be moved.
    if each_with(module, &facts, hoist::hoist) {
        facts = analyse(module);
    }
    // Each round may show that more values are mistyped; each takes a type away, so there is an end.
    loop {
        let mistyped = mistyped::find(module, &facts);
        let cleanups = words::cleanup_params(module, &facts.functions, &mistyped);
        if !each_with(module, &facts, |func, id, _| words::words(func, id, &mistyped, &cleanups)) {
            break;
        }
        facts = analyse(module);
    }
    // What an inner derivative puts aside has no shadow that is given back after a panic.
    if on_panic == OnPanic::Free && puts_aside(module, &facts.functions) {
        return Ok(None);
    }
    let originals = copies.iter().map(|(original, copy)| (*copy, *original)).collect();
    Ok(Some(Prepared { primal, request, facts, originals }))
}

/// Run a pass over these functions.
fn each(module: &mut Module, functions: &[FuncId], mut pass: impl FnMut(&mut Function)) {
    for id in functions {
        pass(module.func_mut(*id));
        verify(module, *id);
    }
}

/// The same for a pass that knows what memory holds; whether it has changed anything.
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

/// In debug builds: the linear program is as it has to be.
fn verify_linear(session: &Session, aug: &Augmented) {
    assert_valid(session.module, &aug.func, &aug.linear, session.request.width);
}

/// Whether an inner derivative puts shadows aside in case of a panic. Their own shadows would not be put back.
fn puts_aside(module: &Module, functions: &[FuncId]) -> bool {
    functions.iter().flat_map(|id| module.func(*id).ops()).any(|op| match op {
        Op::Call(Callee::Direct(callee), ..) => module.func(*callee).name == SAVE_SHADOWS,
        _ => false,
    })
}

/// Do something with what all functions of one derivative share.
fn with_session<T>(
    module: &mut Module,
    prepared: &Prepared,
    name: &str,
    then: impl Fn(&mut Session, FuncId) -> Result<T>,
) -> Result<T> {
    let Prepared { request, facts, originals, .. } = prepared;
    let active = activity::analyse(module, facts, request)?;
    let runtime = Runtime::declare(module, request.nested);
    let mut session = Session {
        tape_users: tape_users(module, &facts.functions),
        seen_in_variants: facts.objects.seen_in_variants(),
        module,
        facts,
        active: &active,
        request,
        runtime,
        callees: Callees::default(),
        name: name.to_owned(),
        originals: originals.clone(),
        writes: Writes::default(),
        noted: Noted::default(),
    };
    session.writes = session.writers().writes();
    then(&mut session, prepared.primal)
}

/// The augmented primal of the derivative's own function.
fn linearised(session: &mut Session, primal: FuncId) -> Result<Augmented> {
    let (form, name) = (if session.request.split { Form::Split } else { Form::Whole }, session.name.clone());
    augment(session, primal, form, &name)
}

/// Add the derivative of a program that is prepared.
fn derive(session: &mut Session, primal: FuncId) -> Result<Derivative> {
    let Request { mode, split, .. } = *session.request;
    let disowns =
        mode == Mode::Forward && owners::disowns(session.module, session.facts, session.active, session.request);
    let renews = mode == Mode::Forward && renews::renews(session.module, session.facts, session.request);
    let yields = yields::yields(session.module, session.facts, session.active, session.request);
    if yields::cleans_up(session.module, session.facts, session.active, session.request) {
        // The other way to deal with panics has no such obstacle.
        return Err(Error::new(
            ErrorKind::Unsupported,
            "what is cleaned up after a panic may have been changed by a hook",
        ));
    }
    let whole = linearised(session, primal)?;
    let mut parts = Vec::new();
    let (derivative, backward) = match mode {
        Mode::Forward => (whole.func, None),
        Mode::Reverse if split => {
            let planned = planned(session, whole, Form::Split)?;
            let (forward, backward) = reverse::split(&session.target(), planned, &format!("{}.later", session.name))?;
            let backward = added(session.module, backward);
            parts.push(backward);
            (forward, Some(backward))
        }
        Mode::Reverse => (combined(session, whole)?, None),
    };
    let function = added(session.module, derivative);
    parts.push(function);
    callees(session, &mut parts)?;
    if mode == Mode::Reverse && session.noted.owns_borrowing.get() {
        parts.extend(release::release(session, &parts, Some(function).filter(|_| !split)));
        parts.iter().for_each(|id| verify(session.module, *id));
    }
    let saves = mode == Mode::Reverse && note(session, function, backward);
    [Some(function), backward].into_iter().flatten().for_each(|id| verify(session.module, id));
    Ok(Derivative { function, reverse_sweep: backward, saves, disowns, renews, yields })
}

/// Add a finished function to the module.
fn added(module: &mut Module, func: Function) -> FuncId {
    let id = module.add_function(func);
    verify(module, id);
    id
}

/// Give a function that is declared its body.
fn define(module: &mut Module, declared: FuncId, mut func: Function) {
    let place = module.func_mut(declared);
    func.name = std::mem::take(&mut place.name);
    *place = func;
    verify(module, declared);
}

/// Both sweeps of the whole derivative in one function.
fn combined(session: &mut Session, mut whole: Augmented) -> Result<Function> {
    let joint = joint_calls::find(session, &mut whole);
    for (declared, func) in reverse::joint_calls::write(session, &mut whole, joint) {
        define(session.module, declared, func);
    }
    verify_linear(session, &whole);
    let places = whole.places.clone();
    let planned = planned(session, whole, Form::Whole)?;
    let (mut derivative, origins) = reverse::combined(&session.target(), planned)?;
    let pointers = alias::Pointers { regions: &session.facts.regions, places: &places, origins: &origins };
    alias::classify(&mut derivative, session.request, session.runtime, &pointers);
    Ok(derivative)
}

/// Make the functions of callees that are declared, and of those that they call.
fn callees(session: &mut Session, parts: &mut Vec<FuncId>) -> Result<()> {
    while let Some(callee) = session.callees.pending.pop() {
        let variant = session.callees.variants[&callee];
        let name = session.callee_name(callee);
        let part = augment(session, callee, Form::Callee, &name)?;
        let Some(reverse) = variant.reverse else {
            define(session.module, variant.forward, part.func);
            continue;
        };
        let planned = planned(session, part, Form::Callee)?;
        let (forward, backward) = reverse::split(&session.target(), planned, &name)?;
        define(session.module, variant.forward, forward);
        define(session.module, reverse, backward);
        parts.extend([variant.forward, reverse]);
    }
    Ok(())
}

/// Decide where the transposes of a linear program run, and how the reverse sweep gets what they use; and note what
/// they do to the caller's shadows on the way.
fn planned(session: &Session, aug: Augmented, form: Form) -> Result<Planned> {
    for (_, operation) in aug.linear.all() {
        // Words that are moved within an argument are pointers, too.
        if operation.changes_shadow_pointers() {
            session.noted.unrepeatable.set(true);
            session.noted.disturb(Disturbs::Pointers);
        } else if matches!(operation, Linear::Rule(_)) {
            session.noted.disturb(Disturbs::Sums);
        }
    }
    let scheduled = schedule::schedule(session, aug, form)?;
    verify_linear(session, &scheduled.aug);
    Ok(plan::plan(scheduled))
}

/// Let a reverse derivative tell its tape what to save, and what may be repeated; whether something is saved.
fn note(session: &mut Session, function: FuncId, later: Option<FuncId>) -> bool {
    let Request { nested, split, .. } = *session.request;
    let save = match session.noted.disturbs.get() {
        // The pullback of a split derivative owns its shadows, and drops them, whether they are put back or not.
        _ if split => session.writers().overwrites_pointers(),
        Disturbs::Nothing => false,
        // What calls a derivative that is differentiated itself does not see sums after a panic, but drops values.
        Disturbs::Sums => !nested,
        Disturbs::Pointers => true,
    };
    let (runtime, sets_aside) = (session.runtime, session.writes.sets_aside);
    let reproducible = split && session.writers().is_reproducible();
    let sweeps = i64::from(!session.noted.unrepeatable.get()) | i64::from(reproducible) << 1;
    let derivative = session.module.func_mut(function);
    if sets_aside {
        note_first(derivative, runtime.set_sums_aside, i64::from(nested));
    }
    if save {
        note_first(derivative, runtime.save_shadows, 1);
    }
    // In a derivative that is differentiated itself there is nothing to set aside.
    if save || sets_aside && !nested {
        note_last(session.module.func_mut(later.unwrap_or(function)), runtime.save_shadows, 0);
    }
    if split {
        note_first(session.module.func_mut(function), runtime.set_repeatable, sweeps);
    }
    save || sets_aside
}
