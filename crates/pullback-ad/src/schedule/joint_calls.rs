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
use crate::reverse::slots::alloca;
use crate::reverse::transpose::neutral;
use crate::schedule::known::emit::Emitter;
use crate::schedule::known::stores::Stores;
use crate::schedule::known::terms::Terms;
use crate::schedule::known::{Ends, KnownCotangents, Placed};
use crate::schedule::useful::drop_useless;
use crate::session::{Disturbs, Form, Session, cotangent_type};
use pullback_ir::cfg::Cfg;
use pullback_ir::dominators::Dominators;
use pullback_ir::loops::Loops;
use pullback_ir::{Block, Builder, Callee, Constant, Flags, FuncId, Function, Inst, Op, Terminator, Type, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A call that can be reversed where it stands.
struct Call {
    callee: FuncId,
    /// The cotangent of its result, if that is active.
    seed: Option<Placed>,
}

/// Something to be added to a sum.
struct Addition {
    sum: Sum,
    placed: Placed,
}

/// Where cotangents are added up.
#[derive(Clone)]
enum Sum {
    /// In the shadow of what was loaded.
    Shadow(Vec<Value>),
    /// For the parameter of this number among the active ones.
    Param(usize),
}

/// What of a function is reversed jointly.
struct Found {
    terms: Terms,
    calls: HashMap<Inst, Call>,
    /// At the end of blocks.
    additions: BTreeMap<Block, Vec<Addition>>,
}

impl Found {
    /// The functions that are called, in order.
    fn callees(&self) -> Vec<FuncId> {
        self.calls.values().map(|call| call.callee).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// A function that may be had in this form.
struct Candidate {
    aug: Augmented,
    found: Found,
}

/// Let calls of the derivative's own function be reversed where they stand, if that is possible.
pub fn reverse_jointly(session: &mut Session, whole: &mut Augmented) {
    if !whole.linear.all().any(|(_, linear)| matches!(linear, Linear::Call { .. })) {
        return;
    }
    let cfg = Cfg::new(&whole.func);
    drop_useless(whole, &cfg);
    let wanted = session.wanted.clone();
    let Some(mut found) = calls_with_known_seeds(session, whole, &cfg) else { return };
    if found.calls.is_empty() {
        return;
    }
    let candidates = candidates(session, found.callees());
    found.calls.retain(|_, call| candidates.contains_key(&call.callee));
    if !found.calls.is_empty() {
        let joint: HashMap<FuncId, FuncId> =
            candidates.keys().map(|callee| (*callee, declare(session, *callee))).collect();
        for (callee, candidate) in candidates {
            let mut func = finish(session, candidate, &joint);
            let declared = session.module.func_mut(joint[&callee]);
            func.name.clone_from(&declared.name);
            *declared = func;
        }
        Writer::new(session, whole, &found.terms, &joint, vec![]).run(&cfg, &found);
        session.joint.extend(joint.into_values());
        session.disturb(Disturbs::Sums);
    }
    // Callees whose calls are all joint have no other functions.
    let called = called(&whole.func);
    session.wanted = wanted;
    let variants = &session.variants;
    session.wanted.retain(|callee| {
        let joint = found.calls.values().any(|call| call.callee == *callee);
        !joint || called.contains(&variants[callee].forward)
    });
    let wanted = &session.wanted;
    session.pending.retain(|callee| wanted.contains(callee));
}

/// The functions that a function calls.
fn called(func: &Function) -> HashSet<FuncId> {
    let ops = func.blocks().flat_map(|b| &func.block(b).insts).map(|inst| &func.inst(*inst).op);
    ops.filter_map(|op| match op {
        Op::Call(Callee::Direct(callee), ..) => Some(*callee),
        _ => None,
    })
    .collect()
}

/// The callee whose augmented primal this is.
fn callee_of(session: &Session, forward: FuncId) -> Option<FuncId> {
    session.variants.iter().find(|(_, variant)| variant.forward == forward).map(|(callee, _)| *callee)
}

/// The calls of the derivative's own function whose results have known cotangents.
fn calls_with_known_seeds(session: &Session, aug: &Augmented, cfg: &Cfg) -> Option<Found> {
    let doms = Dominators::new(cfg);
    let loops = Loops::new(&aug.func, cfg, &doms).ok()?;
    let ends = Ends { stores: Some(Stores::new(session, aug)), ..Ends::default() };
    let mut known = KnownCotangents::new(aug, cfg, &doms, &loops, ends);
    let mut calls = HashMap::new();
    for inst in cfg.reverse_postorder().iter().flat_map(|b| &aug.func.block(*b).insts) {
        if let [Linear::Call { result, .. }] = aug.linear.at(*inst)
            && let Some(call) = call_with_known_seed(session, aug, &mut known, *inst, *result)
        {
            calls.insert(*inst, call);
        }
    }
    Some(Found { terms: known.terms, calls, additions: BTreeMap::new() })
}

fn call_with_known_seed(
    session: &Session,
    aug: &Augmented,
    known: &mut KnownCotangents,
    inst: Inst,
    result: Option<Value>,
) -> Option<Call> {
    let Op::Call(Callee::Direct(forward), ..) = aug.func.inst(inst).op else { return None };
    let callee = callee_of(session, forward)?;
    let at = known.spot(inst)?;
    let seed = match result {
        Some(result) => {
            let term = known.total(result)?;
            Some(known.placed(term, at)?)
        }
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
    let cfg = Cfg::new(&aug.func);
    drop_useless(&mut aug, &cfg);
    let found = everything_joint(session, &aug, &cfg)?;
    Some(Candidate { aug, found })
}

/// What of a function is reversed jointly, if that is everything.
fn everything_joint(session: &Session, aug: &Augmented, cfg: &Cfg) -> Option<Found> {
    if !cfg.can_return(aug.func.entry()) {
        return None;
    }
    let doms = Dominators::new(cfg);
    let loops = Loops::new(&aug.func, cfg, &doms).ok()?;
    let mut known = KnownCotangents::new(aug, cfg, &doms, &loops, Ends::default());
    let mut calls = HashMap::new();
    let mut sums: Vec<(Value, Sum)> = Vec::new();
    for block in cfg.reverse_postorder().iter().filter(|b| cfg.can_return(**b)) {
        for inst in &aug.func.block(*block).insts {
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
    let mut additions: BTreeMap<Block, Vec<Addition>> = BTreeMap::new();
    for (value, sum) in sums {
        for (block, term) in known.shares(value)? {
            let placed = known.placed(term, known.end(block))?;
            additions.entry(block).or_default().push(Addition { sum: sum.clone(), placed });
        }
    }
    Some(Found { terms: known.terms, calls, additions })
}

/// Whether a load is of a float, from memory to which nobody writes.
fn is_only_read(aug: &Augmented, value: Value, shadow: &[Value]) -> bool {
    let unwritten = |shadow: &Value| aug.places.get(shadow).is_some_and(|(object, _)| aug.unwritten.contains(object));
    aug.func.ty(value).is_float() && shadow.iter().all(unwritten)
}

/// Declare the function of a callee.
fn declare(session: &mut Session, callee: FuncId) -> FuncId {
    let variant = session.variants[&callee];
    let width = session.request.width;
    let func = session.module.func(callee);
    let mut params = session.module.func(variant.forward).params.clone();
    if session.active.returns_active(callee) {
        let ty = func.ret.clone().expect("an active result has a type");
        params.extend(std::iter::repeat_n(ty, width));
    }
    let cotangents: Vec<Type> = session
        .active_params(callee)
        .iter()
        .flat_map(|i| std::iter::repeat_n(cotangent_type(func.ty(func.param_values()[*i])), width))
        .collect();
    let ret = match cotangents.is_empty() {
        true => func.ret.clone(),
        false => Some(Type::structure(func.ret.iter().cloned().chain(cotangents))),
    };
    let name = format!("{}.joint", session.module.func(variant.forward).name.trim_end_matches(".fwd"));
    session.module.add_function(Function::new(name, params, ret))
}

/// The function of a candidate.
fn finish(session: &Session, candidate: Candidate, joint: &HashMap<FuncId, FuncId>) -> Function {
    let Candidate { mut aug, found } = candidate;
    let entry = aug.func.entry();
    let width = session.request.width;
    let seeds: Vec<Value> = match &aug.ret {
        Some(ty) if aug.linear.returns_active => {
            let ty = ty.clone();
            (0..width).map(|_| aug.func.add_param(entry, ty.clone())).collect()
        }
        _ => vec![],
    };
    aug.func.params = aug.func.param_values().iter().map(|v| aug.func.ty(*v).clone()).collect();
    let cfg = Cfg::new(&aug.func);
    let mut writer = Writer::new(session, &mut aug, &found.terms, joint, seeds);
    writer.make_slots();
    writer.run(&cfg, &found);
    writer.return_sums(&cfg);
    aug.func
}

/// Writes what is reversed jointly into a function.
struct Writer<'e, 'a> {
    session: &'e Session<'a>,
    aug: &'e mut Augmented,
    joint: &'e HashMap<FuncId, FuncId>,
    /// Computes known cotangents.
    known: Emitter<'e>,
    /// The block that is being written.
    block: Block,
    /// The sums of the active parameters, by batch direction.
    slots: Vec<Vec<Value>>,
}

impl<'e, 'a> Writer<'e, 'a> {
    fn new(
        session: &'e Session<'a>,
        aug: &'e mut Augmented,
        terms: &'e Terms,
        joint: &'e HashMap<FuncId, FuncId>,
        seeds: Vec<Value>,
    ) -> Self {
        let known = Emitter::new(terms, session.request.strong_zero, seeds);
        let block = aug.func.entry();
        Writer { session, aug, joint, known, block, slots: Vec::new() }
    }

    fn width(&self) -> usize {
        self.session.request.width
    }

    fn build(&mut self) -> Builder<'_> {
        Builder::new(&mut self.aug.func, self.block)
    }

    /// Write everything.
    fn run(&mut self, cfg: &Cfg, found: &Found) {
        for block in cfg.reverse_postorder().iter().filter(|b| cfg.can_return(**b)) {
            self.block = *block;
            for inst in std::mem::take(&mut self.aug.func.block_mut(*block).insts) {
                match found.calls.get(&inst) {
                    Some(call) => self.call(inst, call),
                    None => self.aug.func.block_mut(*block).insts.push(inst),
                }
            }
            for addition in found.additions.get(block).into_iter().flatten() {
                self.add(addition);
            }
        }
    }

    /// The sums of active parameters start with nothing.
    fn make_slots(&mut self) {
        let mut prologue = Vec::new();
        for param in self.aug.linear.params.clone() {
            let ty = self.aug.func.ty(param).clone();
            let mut slots = Vec::new();
            for _ in 0..self.width() {
                let slot = alloca(&mut self.aug.func, &mut prologue, &ty);
                let nothing = neutral(&mut self.aug.func, &ty);
                let store = Op::Store { ptr: slot, value: nothing, align: ty.align() };
                prologue.push(self.aug.func.make_inst(store, None, Flags::NONE, None));
                slots.push(slot);
            }
            self.slots.push(slots);
        }
        let entry = self.aug.func.entry();
        self.aug.func.block_mut(entry).insts.splice(0..0, prologue);
    }

    /// The function returns the cotangents of its active parameters, beside its result.
    fn return_sums(&mut self, cfg: &Cfg) {
        if self.slots.is_empty() {
            return;
        }
        let types = self.aug.linear.params.iter().flat_map(|p| {
            let ty = self.aug.func.ty(*p).clone();
            std::iter::repeat_n(ty, self.session.request.width)
        });
        let ret = Type::structure(self.aug.ret.iter().cloned().chain(types));
        for block in cfg.reverse_postorder() {
            let Terminator::Return(own) = self.aug.func.block(*block).term.clone() else { continue };
            let slots: Vec<Value> = self.slots.iter().flatten().copied().collect();
            let mut all = self.aug.func.constant(ret.clone(), Constant::Undef);
            let mut b = Builder::new(&mut self.aug.func, *block);
            let mut parts: Vec<Value> = own.into_iter().collect();
            for slot in slots {
                parts.push(b.load(ret.field(parts.len()).clone(), slot));
            }
            for (index, part) in parts.into_iter().enumerate() {
                all = b.value(Op::InsertValue(all, part, index as u32), ret.clone());
            }
            self.aug.func.block_mut(*block).term = Terminator::Return(Some(all));
        }
        self.aug.func.ret = Some(ret);
    }

    /// An expression at the end of the block that is being written.
    fn value(&mut self, placed: &Placed, direction: usize) -> Value {
        self.known.value(&mut self.aug.func, self.block, placed, direction)
    }

    /// The call of the function with joint reversal, in the place of another.
    fn call(&mut self, inst: Inst, call: &Call) {
        let width = self.width();
        let mut seeds = Vec::new();
        if let Some(placed) = &call.seed {
            seeds.extend((0..width).map(|direction| self.value(placed, direction)));
        }
        let joint = self.joint[&call.callee];
        let active = match self.aug.linear.at(inst) {
            [Linear::Call { args, .. }] => args.clone(),
            other => unreachable!("a call has one transpose, not {other:?}"),
        };
        let Function { params, ret, .. } = self.session.module.func(joint);
        let (params, ret) = (params.clone(), ret.clone());
        let Op::Call(_, mut args, cleanup) = self.aug.func.inst(inst).op.clone() else {
            unreachable!("this is a call")
        };
        args.extend(seeds);
        // The result of a callee may be active without having a cotangent here.
        for ty in &params[args.len()..] {
            args.push(neutral(&mut self.aug.func, ty));
        }
        self.aug.func.inst_mut(inst).op = Op::Call(Callee::Direct(joint), args, cleanup);
        self.aug.linear.set(inst, vec![]);
        if active.is_empty() {
            self.aug.func.block_mut(self.block).insts.push(inst);
            return;
        }
        // The result is a part of what the new call returns.
        let (op, loc) = (self.aug.func.inst(inst).op.clone(), self.aug.func.inst(inst).loc);
        let mut b = self.build();
        b.loc = loc;
        let ret = ret.expect("there are cotangents");
        let all = b.value(op, ret.clone());
        let own = usize::from(self.aug.func.inst(inst).result.is_some());
        if own == 1 {
            self.aug.func.inst_mut(inst).op = Op::ExtractValue(all, 0);
            self.aug.func.block_mut(self.block).insts.push(inst);
        }
        let mut given = Vec::new();
        for number in 0..active.len() {
            let each = (0..width).map(|direction| {
                let index = own + number * width + direction;
                self.build().value(Op::ExtractValue(all, index as u32), ret.field(index).clone())
            });
            given.push(each.collect::<Vec<Value>>());
        }
        // In a function with a reverse sweep, that adds them to the cotangents of the arguments.
        let last = *self.aug.func.block(self.block).insts.last().expect("just pushed");
        let all = active.into_iter().zip(given.iter().cloned()).filter(|(arg, _)| self.aug.linear.active.contains(arg));
        self.aug.linear.set(last, all.map(|(arg, given)| Linear::Given(arg, given)).collect());
        self.known.given.insert(inst, given);
    }

    /// Add to a sum.
    fn add(&mut self, addition: &Addition) {
        let places = match &addition.sum {
            Sum::Shadow(places) => places.clone(),
            Sum::Param(number) => self.slots[*number].clone(),
        };
        let flags = if self.session.request.nested { Flags::NONE } else { Flags::REASSOC };
        for (direction, place) in places.into_iter().enumerate() {
            let g = self.value(&addition.placed, direction);
            let mut b = self.build();
            let ty = b.func.ty(g).clone();
            let old = b.load(ty, place);
            b.flags = flags;
            let new = b.fadd(old, g);
            b.flags = Flags::NONE;
            b.store(place, new);
        }
    }
}
