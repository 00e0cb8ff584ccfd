//! The engine's entry: from a request to a derivative in the module.

use crate::analysis::points_to::flow;
use crate::analysis::scope::{self, OnPanic};
use crate::analysis::{activity, owners};
use crate::error::{Error, ErrorKind, Result};
use crate::linearise::augment::{Augmented, augment};
use crate::prepare::{
    access_to_branch, extremum, hoist, rejoin, retype, select_to_branch, split_wide_ints, unpack, words,
};
use crate::request::{Mode, Request};
use crate::reverse::alias;
use crate::reverse::release::{self, Part};
use crate::runtime::{Runtime, SAVE_SHADOWS, TapeUse};
use crate::schedule::{self, Scheduled, joint_calls};
use crate::session::{Disturbs, Form, Session};
use crate::{reverse, session};
use pullback_ir::{Callee, Constant, Flags, FuncId, Function, Inst, Module, Op, Terminator, Type};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A derivative, and what its caller has to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Derivative {
    /// The function.
    pub function: FuncId,
    /// In forward mode: whether it may change who owns a value where no shadow says so, see [`owners`].
    pub disowns: bool,
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
/// A forward derivative that cannot be had only because of what the primal does on the way out of a panic is one that leaves the
/// shadows there when the primal panics. One that cannot be had because it cannot be told what memory holds is tried again with accesses by
/// way of selected pointers [taken apart](access_to_branch).
pub fn derivative(module: &mut Module, primal: FuncId, request: &Request, name: &str) -> Result<Derivative> {
    if module.func(primal).params.len() != request.args.len() {
        return Err(Error::internal(format!(
            "the request describes {} arguments, `{}` has {}",
            request.args.len(),
            module.func(primal).name,
            module.func(primal).params.len()
        )));
    }
    let functions = module.functions().count();
    let mut attempt = |on_panic, accesses| {
        module.truncate_functions(functions);
        derive(module, primal, request, name, on_panic, accesses)
    };
    let mut attempts = |accesses| match request.mode {
        Mode::Forward => attempt(OnPanic::Free, accesses).or_else(|_| attempt(OnPanic::Leave, accesses)),
        // The tape owns the shadows.
        Mode::Reverse => attempt(OnPanic::Leave, accesses),
    };
    match attempts(Accesses::Selected) {
        Err(error) if error.kind == ErrorKind::UnknownType => attempts(Accesses::Separate).map_err(|_| error),
        result => result,
    }
}

/// What becomes of loads and stores by way of selected pointers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accesses {
    /// They stay.
    Selected,
    /// They become branches; it is an error if there are none.
    Separate,
}

/// What the reverse sweep of a split derivative is called.
pub fn reverse_sweep(derivative: &str) -> String {
    format!("{derivative}.later")
}

/// Add the derivative, with what it does to shadows when the primal panics.
fn derive(
    module: &mut Module,
    primal: FuncId,
    request: &Request,
    name: &str,
    on_panic: OnPanic,
    accesses: Accesses,
) -> Result<Derivative> {
    let copies = working_copies(module, primal, request, on_panic, name);
    let primal = copies[&primal];
    // A function that is only declared has no copy.
    let mut rules = request.rules.clone();
    for (original, copy) in &copies {
        for mode in [request.mode, request.mode.other()] {
            if let Some(rule) = request.rules.get(*original, mode) {
                rules.add(*copy, rule.clone());
            }
        }
    }
    let request = &Request { rules, ..request.clone() };
    if accesses == Accesses::Separate {
        let separated =
            copies.values().filter(|copy| access_to_branch::access_to_branch(module.func_mut(**copy))).count();
        if separated == 0 {
            return Err(Error::internal("there is nothing to take apart".to_owned()));
        }
    }
    for copy in copies.values() {
        select_to_branch::select_to_branch(module.func_mut(*copy));
        if request.mode == Mode::Reverse {
            extremum::look_up_extrema(module.func_mut(*copy));
        }
        unpack::unpack(module.func_mut(*copy));
        rejoin::rejoin(module.func_mut(*copy));
    }
    let facts = typed_facts(module, primal, request, on_panic);
    if on_panic == OnPanic::Free && puts_aside(module, &facts.functions) {
        return Err(Error::internal(
            "what an inner derivative puts aside has no shadow that is given back after a panic",
        ));
    }
    let active = activity::analyse(module, &facts, request)?;
    let disowns = request.mode == Mode::Forward && owners::disowns(module, &facts, &active, request);
    let runtime = Runtime::declare(module, request.nested);
    let tape_users = session::tape_users(module, &facts.functions);
    let mut session = Session {
        module,
        facts: &facts,
        active: &active,
        request,
        runtime,
        variants: HashMap::new(),
        pending: Vec::new(),
        wanted: HashSet::new(),
        name: name.to_owned(),
        originals: copies.iter().map(|(original, copy)| (*copy, *original)).collect(),
        tape_users,
        unwritten: Rc::default(),
        owns_borrowing: Cell::new(false),
        repeatable: Cell::new(true),
        disturbs: Cell::default(),
        settles: false,
        sets_aside: false,
        seen_in_variants: facts.objects.seen_in_variants(),
    };
    session.note_unwritten();
    session.note_overwritten_pointers();
    session.note_overwritten_sums();
    let form = if request.split { Form::Split } else { Form::Whole };
    let mut whole = augment(&mut session, primal, form, name)?;
    if request.mode == Mode::Reverse && form == Form::Whole {
        joint_calls::reverse_jointly(&mut session, &mut whole, primal);
    }
    let (mut later, mut parts) = (false, Vec::new());
    let derivative = match request.mode {
        Mode::Reverse if request.split => {
            let scheduled = scheduled(&session, whole, form)?;
            let (forward, backward) = reverse::split(&session.target(), scheduled, &reverse_sweep(name))?;
            parts.push((session.module.add_function(backward), Part::Other));
            later = true;
            forward
        }
        Mode::Forward => whole.func,
        Mode::Reverse => {
            let places = whole.places.clone();
            let scheduled = scheduled(&session, whole, form)?;
            let (mut derivative, origins) = reverse::combined(&session.target(), scheduled, name)?;
            let pointers = alias::Pointers { regions: &facts.regions, places: &places, origins: &origins };
            alias::classify(&mut derivative, request, runtime, &pointers);
            derivative
        }
    };
    let id = session.module.add_function(derivative);
    parts.push((id, if request.split { Part::Other } else { Part::Whole }));
    while let Some(callee) = session.pending.pop() {
        let variant = session.variants[&callee];
        let name = session.module.func(variant.forward).name.clone();
        let part = augment(&mut session, callee, Form::Callee, &name)?;
        match variant.reverse {
            None => *session.module.func_mut(variant.forward) = part.func,
            Some(reverse) => {
                let name = session.module.func(reverse).name.clone();
                let scheduled = scheduled(&session, part, Form::Callee)?;
                let (forward, backward) = reverse::split(&session.target(), scheduled, &name)?;
                *session.module.func_mut(variant.forward) = forward;
                *session.module.func_mut(reverse) = backward;
                parts.extend([(variant.forward, Part::Other), (reverse, Part::Other)]);
            }
        }
    }
    if request.mode == Mode::Reverse && session.owns_borrowing.get() {
        release::release(&mut session, &parts);
    }
    let save = match session.disturbs.get() {
        // The pullback of a split derivative owns its shadows.
        _ if request.mode == Mode::Forward || request.split => false,
        Disturbs::Nothing => false,
        // In a derivative that is differentiated itself nobody sees sums after a panic, but values are dropped.
        Disturbs::Sums => !request.nested,
        Disturbs::Pointers => true,
    };
    let (nested, sets_aside) = (request.nested, session.sets_aside);
    // In a derivative that is differentiated itself there is nothing to set aside.
    let forget = save || sets_aside && !nested;
    let derivative = session.module.func_mut(id);
    if sets_aside {
        note_first(derivative, runtime.set_sums_aside, i64::from(nested));
    }
    if save {
        note_first(derivative, runtime.save_shadows, 1);
    }
    if forget {
        note_last(derivative, runtime.save_shadows, 0);
    }
    if later {
        let repeatable = i64::from(session.repeatable.get());
        note_first(session.module.func_mut(id), runtime.set_repeatable, repeatable);
    }
    Ok(Derivative { function: id, disowns })
}

/// Decide where the transposes of a linear program run, and note what they do to the caller's shadows.
fn scheduled(session: &Session, aug: Augmented, form: Form) -> Result<Scheduled> {
    session.note_disturbed(&aug.linear);
    schedule::schedule(session, aug, form)
}

/// Let a derivative begin with a call of a function that takes the tape, and a number.
fn note_first(derivative: &mut Function, callee: FuncId, number: i64) {
    let (entry, call) = (derivative.entry(), note(derivative, callee, number));
    derivative.block_mut(entry).insts.insert(0, call);
}

/// Let a derivative that does not panic end with such a call.
fn note_last(derivative: &mut Function, callee: FuncId, number: i64) {
    for block in derivative.blocks().collect::<Vec<_>>() {
        if matches!(derivative.block(block).term, Terminator::Return(_)) {
            let call = note(derivative, callee, number);
            derivative.block_mut(block).insts.push(call);
        }
    }
}

fn note(derivative: &mut Function, callee: FuncId, number: i64) -> Inst {
    let (tape, number) = (derivative.param_values()[0], derivative.i64(number));
    derivative.make_inst(Op::Call(Callee::Direct(callee), vec![tape, number], None), None, Flags::NONE, None)
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

/// What is known of memory, after integers that carry floats or pointers have got their true types, and what is invariant in a
/// loop has left it.
fn typed_facts(module: &mut Module, primal: FuncId, request: &Request, on_panic: OnPanic) -> flow::Facts {
    type Pass = fn(&mut Function, FuncId, &flow::Facts, &retype::CleanupParams) -> bool;
    let split: Pass = |func, id, facts, _| split_wide_ints::split_wide_ints(func, id, facts);
    let hoist: Pass = |func, id, facts, _| hoist::hoist(func, id, facts);
    let mut facts = flow::analyse(module, primal, request, on_panic);
    // Halves may have to be halved again: an `i128` of four `f32`.
    for pass in [split, split, retype::retype, hoist] {
        let cleanups = retype::cleanup_params(module, &facts);
        let mut changed = false;
        for id in facts.functions.clone() {
            changed |= pass(module.func_mut(id), id, &facts, &cleanups);
        }
        if changed {
            facts = flow::analyse(module, primal, request, on_panic);
        }
    }
    // Each pass may show that more values are not what their types say; each takes a type away, so there is an end.
    loop {
        let mut changed = false;
        for id in facts.functions.clone() {
            changed |= words::words(module.func_mut(id), id, &facts);
        }
        if !changed {
            return facts;
        }
        facts = flow::analyse(module, primal, request, on_panic);
    }
}

/// Let the working copy `id` name working copies as what is called when a tape is dropped.
fn released(module: &mut Module, id: FuncId, copies: &HashMap<FuncId, FuncId>) {
    let func = module.func(id);
    let all = func.blocks().flat_map(|b| func.block(b).insts.clone());
    let calls: Vec<(Inst, FuncId)> = all
        .filter_map(|inst| match TapeUse::of(module, func, &func.inst(inst).op) {
            Some(TapeUse::Own(Some(release))) => Some((inst, *copies.get(&release)?)),
            _ => None,
        })
        .collect();
    let func = module.func_mut(id);
    for (inst, copy) in calls {
        let copy = func.constant(Type::Ptr, Constant::Func(copy));
        if let Op::Call(_, args, _) = &mut func.inst_mut(inst).op {
            args[2] = copy;
        }
    }
}

/// Copies of the primal and of all it calls, to change at will; calls among them go to the copies. The copy of a function with a
/// rule has no body.
fn working_copies(
    module: &mut Module,
    primal: FuncId,
    request: &Request,
    on_panic: OnPanic,
    name: &str,
) -> HashMap<FuncId, FuncId> {
    let originals = scope::functions(module, primal, on_panic);
    let copies: HashMap<FuncId, FuncId> = originals
        .iter()
        .map(|id| {
            let original = module.func(*id);
            let mut copy = match request.rule(*id) {
                Some(_) => Function::new(&*original.name, original.params.clone(), original.ret.clone()),
                None => original.clone(),
            };
            copy.name = format!("{name}.of.{}", copy.name);
            (*id, module.add_function(copy))
        })
        .collect();
    for copy in copies.values() {
        released(module, *copy, &copies);
        let func = module.func_mut(*copy);
        for index in 0..func.inst_bound() {
            let op = &mut func.inst_mut(pullback_ir::Inst::from_index(index)).op;
            if let Op::Call(Callee::Direct(callee), ..) = op
                && let Some(copy) = copies.get(callee)
            {
                *callee = *copy;
            }
            if let Some(cleanup) = op.cleanup_mut()
                && let Some(copy) = copies.get(&cleanup.func)
            {
                cleanup.func = *copy;
            }
        }
    }
    copies
}
