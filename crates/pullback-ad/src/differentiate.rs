//! The engine's entry: from a request to a derivative in the module.

use crate::analysis::{activity, flow, scope};
use crate::error::{Error, Result};
use crate::request::{Mode, Request};
use crate::transform::augment::augment;
use crate::transform::memory::Runtime;
use crate::transform::session::{Form, Session};
use crate::transform::{alias, halve, hoist, retype, reverse, unselect};
use pullback_ir::{Callee, FuncId, Function, Module, Op};
use std::collections::HashMap;

/// Add the derivative of `primal` that `request` asks for to the module, as a function called `name`.
///
/// The primal follows the shim convention: every parameter is a pointer to an argument, or to the place of the result,
/// described by the request in order; it returns nothing. The derivative's signature is in `docs/architecture.md`.
pub fn differentiate(module: &mut Module, primal: FuncId, request: &Request, name: &str) -> Result<FuncId> {
    if module.func(primal).params.len() != request.args.len() {
        return Err(Error::internal(format!(
            "the request describes {} arguments, `{}` has {}",
            request.args.len(),
            module.func(primal).name,
            module.func(primal).params.len()
        )));
    }
    let copies = working_copies(module, primal, request.mode, name);
    let primal = copies[&primal];
    for copy in copies.values() {
        unselect::unselect(module.func_mut(*copy));
    }
    let facts = typed_facts(module, primal, request);
    let active = activity::analyse(module, &facts, request)?;
    let runtime = Runtime::declare(module);
    let mut session = Session {
        module,
        facts: &facts,
        active: &active,
        request,
        runtime,
        variants: HashMap::new(),
        pending: Vec::new(),
        name: name.to_owned(),
        originals: copies.iter().map(|(original, copy)| (*copy, *original)).collect(),
    };
    let whole = augment(&mut session, primal, Form::Whole, name)?;
    let derivative = match request.mode {
        Mode::Forward => whole.func,
        Mode::Reverse => {
            let places = whole.places.clone();
            let (mut derivative, origins) = reverse::combined(&session, whole, name)?;
            let pointers = alias::Pointers { places: &places, origins: &origins };
            alias::classify(&mut derivative, request, runtime, &pointers);
            derivative
        }
    };
    let id = session.module.add_function(derivative);
    while let Some(callee) = session.pending.pop() {
        let variant = session.variants[&callee];
        let name = session.module.func(variant.forward).name.clone();
        let part = augment(&mut session, callee, Form::Callee, &name)?;
        match variant.reverse {
            None => *session.module.func_mut(variant.forward) = part.func,
            Some(reverse) => {
                let name = session.module.func(reverse).name.clone();
                let (forward, backward) = reverse::split(&session, part, &name)?;
                *session.module.func_mut(variant.forward) = forward;
                *session.module.func_mut(reverse) = backward;
            }
        }
    }
    Ok(id)
}

/// What is known of memory, after integers that carry floats or pointers have got their true types, and what is invariant in a
/// loop has left it.
fn typed_facts(module: &mut Module, primal: FuncId, request: &Request) -> flow::Facts {
    let mut facts = flow::analyse(module, primal, request);
    // Halves may have to be halved again: an `i128` of four `f32`.
    let passes: [fn(&mut Function, FuncId, &flow::Facts) -> bool; 4] =
        [halve::halve, halve::halve, retype::retype, hoist::hoist];
    for pass in passes {
        let mut changed = false;
        for id in facts.functions.clone() {
            changed |= pass(module.func_mut(id), id, &facts);
        }
        if changed {
            facts = flow::analyse(module, primal, request);
        }
    }
    facts
}

/// Copies of the primal and of all it calls, to change at will; calls among them go to the copies.
fn working_copies(module: &mut Module, primal: FuncId, mode: Mode, name: &str) -> HashMap<FuncId, FuncId> {
    let originals = scope::functions(module, primal, mode);
    let copies: HashMap<FuncId, FuncId> = originals
        .iter()
        .map(|id| {
            let mut copy = module.func(*id).clone();
            copy.name = format!("{name}.of.{}", copy.name);
            (*id, module.add_function(copy))
        })
        .collect();
    for copy in copies.values() {
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
