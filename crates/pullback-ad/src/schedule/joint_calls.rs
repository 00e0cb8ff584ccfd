//! Calls that are differentiated in one go: one function computes the value and adds to the gradient.
//!
//! The reverse of a callee is a function of its own, which is called when the forward sweep is over and finds on the
//! tape what it needs. Where the cotangent of the result is known when the callee is called (`ahead`), there is no need
//! to wait. Recursive functions that sum up products, such as a determinant by minors, know it all the way down:
//!
//! ```text
//! fn minor(rows, …) -> f64                          fn minor.once(rows, rows', …, g: f64) -> f64
//!     for … {                                           for … {
//!         sum += entry · minor(below, …)                    cofactor = minor.once(below, below', …, entry·g)
//!     }                                                     entry' += cofactor·g
//!     sum                                                   sum += entry·cofactor
//! ```
//! Nothing is kept, and there is no reverse sweep. A function can be had in this form if it only reads active memory,
//! of objects to which nobody writes at all: what is added to their shadows may come in any order. All its own calls of
//! active functions have to be of this form, too.
//!
//! When a call panics, what was added is taken back (`Disturbs::Sums`).

mod ahead;
mod terms;

use self::ahead::{Ahead, Spot};
use self::terms::{Node, Term, Terms};
use crate::linearise::augment::{Augmented, augment};
use crate::linearise::forward::{guard, product};
use crate::linearise::linear::{Beside, Linear};
use crate::reverse::slots::alloca;
use crate::reverse::transpose::neutral;
use crate::schedule::useful::drop_useless;
use crate::session::{Disturbs, Form, Session, cotangent_type};
use pullback_ir::cfg::Cfg;
use pullback_ir::{
    BinOp, Block, Builder, Callee, Constant, Flags, FuncId, Function, Inst, Op, Terminator, Type, Value,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// An expression that is to be computed somewhere, and the values that have to be computed for it ahead of where the
/// program does.
struct Share {
    term: Term,
    ahead: HashSet<Value>,
}

/// A call that can be done in one go.
struct Call {
    callee: FuncId,
    /// The cotangent of its result, if that is active.
    seed: Option<Share>,
}

/// Something to be added to a sum.
struct Addition {
    sum: Sum,
    share: Share,
}

/// Where cotangents are added up.
#[derive(Clone)]
enum Sum {
    /// In the shadow of what was loaded.
    Shadow(Vec<Value>),
    /// For the parameter of this number among the active ones.
    Param(usize),
}

/// What is done in one go in a function.
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

/// Let calls of the derivative's own function be done in one go where that is possible.
pub fn reverse_jointly(session: &mut Session, whole: &mut Augmented, primal: FuncId) {
    if !whole.linear.all().any(|(_, linear)| matches!(linear, Linear::Call { .. })) {
        return;
    }
    let cfg = Cfg::new(&whole.func);
    drop_useless(whole, &cfg);
    let Some(result) = result_store(session, whole, primal) else { return };
    let seeds = match whole.linear.at(result) {
        [Linear::Store { shadow, ty, .. }] => Seeds::At(shadow.clone(), ty.clone()),
        other => unreachable!("the result is stored, not {other:?}"),
    };
    let wanted = session.wanted.clone();
    let Some(mut found) = calls_ahead(session, whole, &cfg, Some(result)) else { return };
    let candidates = candidates(session, found.callees());
    found.calls.retain(|_, call| candidates.contains_key(&call.callee));
    if !found.calls.is_empty() {
        let once: HashMap<FuncId, FuncId> =
            candidates.keys().map(|callee| (*callee, declare(session, *callee))).collect();
        for (callee, candidate) in candidates {
            let mut func = finish(session, candidate, &once);
            let declared = session.module.func_mut(once[&callee]);
            func.name.clone_from(&declared.name);
            *declared = func;
        }
        Emitter::new(session, whole, &found.terms, &once, seeds).run(&cfg, &found);
        session.disturb(Disturbs::Sums);
    }
    // Callees that are only called in one go have no other functions.
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

/// The store that gives a float to the caller as the result, if nothing else is ever done with its place: the cotangent
/// that the caller has put there is that of the stored value, from the start.
fn result_store(session: &Session, whole: &Augmented, primal: FuncId) -> Option<Inst> {
    let request = session.request;
    let arg = request.args.len().checked_sub(1).filter(|arg| request.is_result(*arg))?;
    let object = session.facts.object(primal, session.module.func(primal).param_values()[arg])?;
    let mut uses = 0;
    for id in &session.facts.functions {
        let func = session.module.func(*id);
        let is_place = |v: &Value| session.facts.object(*id, *v) == Some(object);
        for block in func.blocks() {
            let data = func.block(block);
            let handed_on = data.term.targets().iter().flat_map(|t| &t.args).filter(|v| is_place(v)).count();
            uses += 2 * (handed_on + data.term.operand().iter().filter(|v| is_place(v)).count());
            uses += data.insts.iter().filter(|inst| func.inst(**inst).op.operands().iter().any(is_place)).count();
        }
    }
    let params = whole.func.param_values();
    let is_result = |linear: &[Linear]| match linear {
        [Linear::Store { value: Some(_), ty, shadow }] => {
            ty.is_float()
                && shadow.iter().all(|s| params.contains(s) && whole.places.get(s).is_some_and(|p| p.0 == object))
        }
        _ => false,
    };
    let mut stores = whole.linear.all().map(|(inst, _)| inst).filter(|inst| is_result(whole.linear.at(*inst)));
    let store = stores.next()?;
    (uses == 1 && stores.next().is_none()).then_some(store)
}

/// The callee whose augmented primal this is.
fn callee_of(session: &Session, forward: FuncId) -> Option<FuncId> {
    session.variants.iter().find(|(_, variant)| variant.forward == forward).map(|(callee, _)| *callee)
}

/// The calls of a function whose results have cotangents that are known when they are called.
fn calls_ahead(session: &Session, aug: &Augmented, cfg: &Cfg, result: Option<Inst>) -> Option<Found> {
    let mut ahead = Ahead::new(aug, cfg, result)?;
    let mut calls = HashMap::new();
    for inst in cfg.reverse_postorder().iter().flat_map(|b| &aug.func.block(*b).insts) {
        if let [Linear::Call { result, .. }] = aug.linear.at(*inst)
            && let Some(call) = call_ahead(session, aug, &mut ahead, *inst, *result)
        {
            calls.insert(*inst, call);
        }
    }
    Some(Found { terms: ahead.terms, calls, additions: BTreeMap::new() })
}

fn call_ahead(
    session: &Session,
    aug: &Augmented,
    ahead: &mut Ahead,
    inst: Inst,
    result: Option<Value>,
) -> Option<Call> {
    let Op::Call(Callee::Direct(forward), ..) = aug.func.inst(inst).op else { return None };
    let callee = callee_of(session, forward)?;
    let at = ahead.spot(inst)?;
    let seed = match result {
        Some(result) => {
            let term = ahead.total(result)?;
            Some(share(ahead, term, at)?)
        }
        None => None,
    };
    Some(Call { callee, seed })
}

/// An expression at a place, if it can be computed there.
fn share(ahead: &Ahead, term: Term, at: Spot) -> Option<Share> {
    ahead.is_known_at(term, at).then(|| Share { term, ahead: ahead.computed_for(term, at) })
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
    if !result_fits || !params_fit || tape || session.returns_companion(callee) {
        return None;
    }
    // What is wrong with it is said when the usual functions are made for it.
    let mut aug = augment(session, callee, Form::Joint, &name).ok()?;
    let cfg = Cfg::new(&aug.func);
    drop_useless(&mut aug, &cfg);
    let found = everything_ahead(session, &aug, &cfg)?;
    Some(Candidate { aug, found })
}

/// What is done in one go in a function, if that is everything.
fn everything_ahead(session: &Session, aug: &Augmented, cfg: &Cfg) -> Option<Found> {
    if !cfg.can_return(aug.func.entry()) {
        return None;
    }
    let mut ahead = Ahead::new(aug, cfg, None)?;
    let mut calls = HashMap::new();
    let mut sums: Vec<(Value, Sum)> = Vec::new();
    for block in cfg.reverse_postorder().iter().filter(|b| cfg.can_return(**b)) {
        for inst in &aug.func.block(*block).insts {
            for linear in aug.linear.at(*inst) {
                match linear {
                    Linear::Sum(..) | Linear::Quotient { .. } | Linear::Cast(..) | Linear::Select(..) => {}
                    Linear::Load(value, shadow, Beside::Floats) if is_only_read(aug, *value, shadow) => {
                        sums.push((*value, Sum::Shadow(shadow.clone())));
                    }
                    Linear::Call { result, .. } => {
                        let call = call_ahead(session, aug, &mut ahead, *inst, *result)?;
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
        for (block, term) in ahead.shares(value)? {
            let share = share(&ahead, term, ahead.end(block))?;
            additions.entry(block).or_default().push(Addition { sum: sum.clone(), share });
        }
    }
    Some(Found { terms: ahead.terms, calls, additions })
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
    let name = format!("{}.once", session.module.func(variant.forward).name.trim_end_matches(".fwd"));
    session.module.add_function(Function::new(name, params, ret))
}

/// The function of a candidate.
fn finish(session: &Session, candidate: Candidate, once: &HashMap<FuncId, FuncId>) -> Function {
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
    let mut emitter = Emitter::new(session, &mut aug, &found.terms, once, Seeds::Are(seeds));
    emitter.make_slots();
    emitter.run(&cfg, &found);
    emitter.return_sums(&cfg);
    aug.func
}

/// Where the cotangents of the result are.
enum Seeds {
    /// They are these.
    Are(Vec<Value>),
    /// They are in memory, at these places, and of this type.
    At(Vec<Value>, Type),
}

/// Writes what is done in one go into a function.
struct Emitter<'e, 'a> {
    session: &'e Session<'a>,
    aug: &'e mut Augmented,
    terms: &'e Terms,
    once: &'e HashMap<FuncId, FuncId>,
    seeds: Seeds,
    /// The block that is being written.
    block: Block,
    /// Expressions that have been computed in this block, by lane.
    made: HashMap<(Term, usize), Value>,
    /// Values that have been computed ahead in this block.
    remade: HashMap<Value, Value>,
    /// What calls in one go gave back: the cotangents of their active arguments, by number and lane.
    given: HashMap<Inst, Vec<Vec<Value>>>,
    /// The sums of the active parameters, by lane.
    slots: Vec<Vec<Value>>,
}

impl<'e, 'a> Emitter<'e, 'a> {
    fn new(
        session: &'e Session<'a>,
        aug: &'e mut Augmented,
        terms: &'e Terms,
        once: &'e HashMap<FuncId, FuncId>,
        seeds: Seeds,
    ) -> Self {
        let block = aug.func.entry();
        let (made, remade, given, slots) = (HashMap::new(), HashMap::new(), HashMap::new(), Vec::new());
        Emitter { session, aug, terms, once, seeds, block, made, remade, given, slots }
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
            self.made.clear();
            self.remade.clear();
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

    /// The call of the function that does it in one go, in the place of another.
    fn call(&mut self, inst: Inst, call: &Call) {
        let width = self.width();
        let mut seeds = Vec::new();
        if let Some(share) = &call.seed {
            seeds.extend((0..width).map(|lane| self.value(share, lane)));
        }
        let once = self.once[&call.callee];
        let active = match self.aug.linear.at(inst) {
            [Linear::Call { args, .. }] => args.clone(),
            other => unreachable!("a call has one transpose, not {other:?}"),
        };
        let (params, ret) = (self.session.module.func(once).params.clone(), self.session.module.func(once).ret.clone());
        let Op::Call(_, mut args, cleanup) = self.aug.func.inst(inst).op.clone() else {
            unreachable!("this is a call")
        };
        args.extend(seeds);
        // The result of a callee may be active without having a cotangent here.
        for ty in &params[args.len()..] {
            args.push(neutral(&mut self.aug.func, ty));
        }
        self.aug.func.inst_mut(inst).op = Op::Call(Callee::Direct(once), args, cleanup);
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
            let lanes = (0..width).map(|lane| {
                let index = own + number * width + lane;
                self.build().value(Op::ExtractValue(all, index as u32), ret.field(index).clone())
            });
            given.push(lanes.collect::<Vec<Value>>());
        }
        // In a function with a reverse sweep, that adds them to the cotangents of the arguments.
        let last = *self.aug.func.block(self.block).insts.last().expect("just pushed");
        let all = active.into_iter().zip(given.iter().cloned()).filter(|(arg, _)| self.aug.linear.active.contains(arg));
        self.aug.linear.set(last, all.map(|(arg, lanes)| Linear::Given(arg, lanes)).collect());
        self.given.insert(inst, given);
    }

    /// Add a share to its sum.
    fn add(&mut self, addition: &Addition) {
        let places = match &addition.sum {
            Sum::Shadow(places) => places.clone(),
            Sum::Param(number) => self.slots[*number].clone(),
        };
        let flags = if self.session.request.nested { Flags::NONE } else { Flags::REASSOC };
        for (lane, place) in places.into_iter().enumerate() {
            let g = self.value(&addition.share, lane);
            let mut b = self.build();
            let ty = b.func.ty(g).clone();
            let old = b.load(ty, place);
            b.flags = flags;
            let new = b.fadd(old, g);
            b.flags = Flags::NONE;
            b.store(place, new);
        }
    }

    /// An expression at the end of the current block.
    fn value(&mut self, share: &Share, lane: usize) -> Value {
        // With a stack of our own: it may be a long chain.
        let mut work = vec![share.term];
        while let Some(term) = work.last().copied() {
            if self.made.contains_key(&(term, lane)) {
                work.pop();
                continue;
            }
            let parts = match self.terms.node(term) {
                Node::Seed | Node::Nothing { .. } | Node::Given(..) => vec![],
                Node::Scaled(g, .., of) => vec![g, of],
                Node::Times(g, _) | Node::Negated(g) | Node::Divided(g, ..) | Node::Cast(g, _) | Node::If(g, ..) => {
                    vec![g]
                }
                Node::Sum(g, h) => vec![g, h],
            };
            let missing: Vec<Term> = parts.into_iter().filter(|p| !self.made.contains_key(&(*p, lane))).collect();
            if missing.is_empty() {
                let made = self.make(self.terms.node(term), lane, share);
                self.made.insert((term, lane), made);
                work.pop();
            } else {
                work.extend(missing);
            }
        }
        self.made[&(share.term, lane)]
    }

    /// Compute a node whose parts are there.
    fn make(&mut self, node: Node, lane: usize, share: &Share) -> Value {
        let strong = self.session.request.strong_zero;
        let part = |this: &Self, term: Term| this.made[&(term, lane)];
        match node {
            Node::Seed => match &self.seeds {
                Seeds::Are(seeds) => seeds[lane],
                Seeds::At(places, ty) => {
                    let (place, ty) = (places[lane], ty.clone());
                    self.build().load(ty, place)
                }
            },
            Node::Nothing { wide } => neutral(&mut self.aug.func, if wide { &Type::F64 } else { &Type::F32 }),
            Node::Given(call, number) => self.given[&call][number][lane],
            Node::Scaled(g, c, flags, of) => {
                let (g, of, c) = (part(self, g), part(self, of), self.factor(c, share));
                let mut b = self.build();
                b.flags = flags;
                product(&mut b, g, c, of, strong)
            }
            Node::Divided(g, divisor, flags) => {
                let (g, divisor) = (part(self, g), self.factor(divisor, share));
                let mut b = self.build();
                b.flags = flags;
                let quotient = b.bin(BinOp::FDiv, g, divisor);
                if strong { guard(&mut b, g, quotient) } else { quotient }
            }
            Node::Times(g, k) => {
                let g = part(self, g);
                let ty = self.aug.func.ty(g).clone();
                let k = self.aug.func.float(ty, f64::from_bits(k));
                self.build().fmul(g, k)
            }
            Node::Negated(g) => {
                let g = part(self, g);
                self.build().fneg(g)
            }
            Node::Cast(g, op) => {
                let g = part(self, g);
                let ty = if *self.aug.func.ty(g) == Type::F64 { Type::F32 } else { Type::F64 };
                self.build().cast(op, g, ty)
            }
            Node::If(g, cond, when) => {
                let (g, cond) = (part(self, g), self.factor(cond, share));
                let ty = self.aug.func.ty(g).clone();
                let nothing = neutral(&mut self.aug.func, &ty);
                let (a, b) = if when { (g, nothing) } else { (nothing, g) };
                self.build().select(cond, a, b)
            }
            Node::Sum(g, h) => {
                let (g, h) = (part(self, g), part(self, h));
                self.build().fadd(g, h)
            }
        }
    }

    /// A value of the program at the end of the current block.
    fn factor(&mut self, value: Value, share: &Share) -> Value {
        if !share.ahead.contains(&value) {
            return value;
        }
        if let Some(made) = self.remade.get(&value) {
            return *made;
        }
        let inst = self.aug.func.def_inst(value).expect("only results of instructions are computed ahead");
        let op = self.aug.func.inst(inst).op.clone();
        let operands: HashMap<Value, Value> =
            op.operands().into_iter().map(|operand| (operand, self.factor(operand, share))).collect();
        let ty = self.aug.func.ty(value).clone();
        // Without its flags: where the program panics first, they need not hold.
        let made = self.build().value(op.map_operands(|operand| operands[&operand]), ty);
        self.remade.insert(value, made);
        made
    }
}
