//! Joint reversal of calls: one function computes the value and adds to the gradient.
//!
//! In split reversal the reverse of a callee is a function of its own, which is called when the forward sweep is over
//! and finds on the tape what it needs. Where the cotangent of the result is [known](super::known) when the callee is
//! called, there is no need to wait. Recursive functions that sum up products, such as a determinant by minors, know it
//! all the way down:
//!
//! ```text
//! fn minor(rows, …) -> f64                          fn minor.joint(rows, rows', …, g: f64) -> f64
//!     for … {                                           for … {
//!         sum += entry · minor(below, …)                    cofactor = minor.joint(below, below', …, entry·g)
//!     }                                                     entry' += cofactor·g
//!     sum                                                   sum += entry·cofactor
//! ```
//! The transposes of its loads run at the end of the block in which the cotangents are known. Nothing is kept, and
//! there is no reverse sweep. A function can be had in this form if it only reads active memory, of objects to which
//! nothing is written at all: what is added to their shadows may come in any order. All its own calls of active
//! functions have to be of this form, too.
//!
//! When a call panics, what was added is taken back (`Disturbs::Sums`).

use crate::linearise::augment::{Augmented, augment};
use crate::linearise::linear::{Beside, Linear};
use crate::schedule::known::stores::Stores;
use crate::schedule::known::terms::Terms;
use crate::schedule::known::{Ends, KnownCotangents, Placed};
use crate::schedule::useful::drop_useless;
use crate::session::{Callees, Disturbs, Form, Session, with_cotangents};
use pullback_ir::{Block, Callee, ControlFlow, FuncId, Function, Inst, Op, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What is reversed jointly, in the derivative's own function and in those that it calls.
pub struct JointCalls {
    /// The calls of its own.
    pub own: Found,
    /// The functions that are called in this form.
    pub candidates: BTreeMap<FuncId, Candidate>,
    /// Their functions, declared.
    pub functions: HashMap<FuncId, FuncId>,
}

/// A call that can be reversed where it stands.
pub struct Call {
    /// What is called.
    pub callee: FuncId,
    /// The cotangent of its result, if that is active.
    pub seed: Option<Placed>,
}

/// Where cotangents are added up.
#[derive(Clone)]
pub enum Sum {
    /// In the shadow of what was loaded.
    Shadow(Vec<Value>),
    /// For the parameter of this number among the active ones.
    Param(usize),
}

/// What of a function is reversed jointly.
pub struct Found {
    /// The expressions of its cotangents.
    pub terms: Terms,
    /// The calls.
    pub calls: HashMap<Inst, Call>,
    /// At the end of blocks, what is to be added to sums.
    pub additions: BTreeMap<Block, Vec<(Sum, Placed)>>,
}

impl Found {
    /// The functions that are called, in order.
    fn callees(&self) -> Vec<FuncId> {
        self.calls.values().map(|call| call.callee).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// A function that may be had in this form.
pub struct Candidate {
    /// Its augmented primal.
    pub aug: Augmented,
    /// What of it is reversed jointly: everything.
    pub found: Found,
}

/// Find the calls of the derivative's own function that can be reversed where they stand. The functions that will be
/// called in their place are declared.
pub fn find(session: &mut Session, whole: &mut Augmented) -> Option<JointCalls> {
    if !whole.linear.all().any(|(_, linear)| matches!(linear, Linear::Call { .. })) {
        return None;
    }
    let flow = ControlFlow::new(&whole.func).ok()?;
    drop_useless(whole, &flow.cfg);
    let wanted = session.callees.wanted.clone();
    let mut own = calls_with_known_seeds(session, whole, &flow);
    if own.calls.is_empty() {
        return None;
    }
    let candidates = candidates(session, own.callees());
    own.calls.retain(|_, call| candidates.contains_key(&call.callee));
    // Callees whose calls are all joint have no other functions.
    let split = whole.func.insts().filter(|inst| !own.calls.contains_key(inst));
    let called: HashSet<FuncId> = split.filter_map(|inst| called(&whole.func, inst)).collect();
    let joint = own.callees();
    let Callees { variants, pending, wanted: all, .. } = &mut session.callees;
    *all = wanted;
    all.retain(|callee| !joint.contains(callee) || called.contains(&variants[callee].forward));
    pending.retain(|callee| all.contains(callee));
    if own.calls.is_empty() {
        return None;
    }
    let functions: HashMap<FuncId, FuncId> =
        candidates.keys().map(|callee| (*callee, declare(session, *callee))).collect();
    session.callees.joint.extend(functions.values());
    session.noted.disturb(Disturbs::Sums);
    Some(JointCalls { own, candidates, functions })
}

/// The function that an instruction calls.
fn called(func: &Function, inst: Inst) -> Option<FuncId> {
    match func.inst(inst).op {
        Op::Call(Callee::Direct(callee), ..) => Some(callee),
        _ => None,
    }
}

/// The callee whose augmented primal this is.
fn callee_of(session: &Session, forward: FuncId) -> Option<FuncId> {
    session.callees.variants.iter().find(|(_, variant)| variant.forward == forward).map(|(callee, _)| *callee)
}

/// The calls of the derivative's own function whose results have known cotangents.
fn calls_with_known_seeds(session: &Session, aug: &Augmented, flow: &ControlFlow) -> Found {
    let ends = Ends { stores: Some(Stores::new(session, aug)), ..Ends::default() };
    let mut known = KnownCotangents::new(aug, flow, ends);
    let mut calls = HashMap::new();
    for inst in flow.cfg.reverse_postorder().iter().flat_map(|b| &aug.func.block(*b).insts) {
        if let [Linear::Call { result, .. }] = aug.linear.at(*inst)
            && let Some(call) = call_with_known_seed(session, aug, &mut known, *inst, *result)
        {
            calls.insert(*inst, call);
        }
    }
    Found { terms: known.terms, calls, additions: BTreeMap::new() }
}

fn call_with_known_seed(
    session: &Session,
    aug: &Augmented,
    known: &mut KnownCotangents,
    inst: Inst,
    result: Option<Value>,
) -> Option<Call> {
    let callee = callee_of(session, called(&aug.func, inst)?)?;
    let at = known.spot(inst)?;
    let seed = match result {
        Some(result) => Some(known.total(result).and_then(|term| known.placed(term, at))?),
        None => None,
    };
    Some(Call { callee, seed })
}

/// The functions among these and those that they call that can be had in this form.
fn candidates(session: &mut Session, callees: Vec<FuncId>) -> BTreeMap<FuncId, Candidate> {
    let mut candidates = BTreeMap::new();
    let mut seen = HashSet::new();
    let mut work = callees;
    while let Some(callee) = work.pop() {
        if !seen.insert(callee) {
            continue;
        }
        if let Some(candidate) = candidate(session, callee) {
            work.extend(candidate.found.callees());
            candidates.insert(callee, candidate);
        }
    }
    // A function that calls one that is none is none.
    loop {
        let known: HashSet<FuncId> = candidates.keys().copied().collect();
        candidates.retain(|_, candidate: &mut Candidate| {
            candidate.found.calls.values().all(|call| known.contains(&call.callee))
        });
        if candidates.len() == known.len() {
            return candidates;
        }
    }
}

/// A callee in this form, as long as those that it calls are, too.
fn candidate(session: &mut Session, callee: FuncId) -> Option<Candidate> {
    let func = session.module.func(callee);
    let name = func.name.clone();
    let result_fits = match &func.ret {
        Some(ty) if session.active.returns_active(callee) => ty.is_float(),
        _ => true,
    };
    let params = session.active_params(callee);
    let params_fit = params.iter().all(|i| func.ty(func.param_values()[*i]).is_float());
    let tape = session.tape_users.contains(&callee);
    if !result_fits || !params_fit || tape || session.returns_shadow_values(callee) {
        return None;
    }
    // What is wrong with it is said when the usual functions are made for it.
    let mut aug = augment(session, callee, Form::Joint, &name).ok()?;
    let flow = ControlFlow::new(&aug.func).ok()?;
    drop_useless(&mut aug, &flow.cfg);
    let found = everything_joint(session, &aug, &flow)?;
    Some(Candidate { aug, found })
}

/// What of a function is reversed jointly, if that is everything.
fn everything_joint(session: &Session, aug: &Augmented, flow: &ControlFlow) -> Option<Found> {
    if !flow.cfg.can_return(aug.func.entry()) {
        return None;
    }
    let mut known = KnownCotangents::new(aug, flow, Ends::default());
    let mut calls = HashMap::new();
    let mut sums: Vec<(Value, Sum)> = Vec::new();
    for block in flow.cfg.live() {
        for inst in &aug.func.block(block).insts {
            for linear in aug.linear.at(*inst) {
                match linear {
                    arithmetic if arithmetic.shares().is_some() => {}
                    Linear::Load(value, shadow, Beside::Floats) if is_only_read(aug, *value, shadow) => {
                        sums.push((*value, Sum::Shadow(shadow.clone())));
                    }
                    Linear::Call { result, .. } => {
                        let call = call_with_known_seed(session, aug, &mut known, *inst, *result)?;
                        calls.insert(*inst, call);
                    }
                    _ => return None,
                }
            }
        }
    }
    sums.extend(aug.linear.params.iter().enumerate().map(|(i, param)| (*param, Sum::Param(i))));
    let mut additions: BTreeMap<Block, Vec<(Sum, Placed)>> = BTreeMap::new();
    for (value, sum) in sums {
        for (block, term) in known.shares(value)? {
            let placed = known.placed(term, known.end(block))?;
            additions.entry(block).or_default().push((sum.clone(), placed));
        }
    }
    Some(Found { terms: known.terms, calls, additions })
}

/// Whether a load is of a float, from memory that is never written.
fn is_only_read(aug: &Augmented, value: Value, shadow: &[Value]) -> bool {
    let unwritten = |shadow: &Value| aug.places.get(shadow).is_some_and(|(object, _)| aug.unwritten.contains(object));
    aug.func.ty(value).is_float() && shadow.iter().all(unwritten)
}

/// Declare the function of a callee.
fn declare(session: &mut Session, callee: FuncId) -> FuncId {
    let forward = session.callees.variants[&callee].forward;
    let (cotangents, seeds) = session.cotangents(callee);
    let params = session.module.func(forward).params.iter().cloned().chain(seeds).collect();
    let ret = with_cotangents(session.module.func(callee).ret.clone(), cotangents);
    let name = format!("{}.joint", session.callee_name(callee));
    session.module.add_function(Function::new(name, params, ret))
}
