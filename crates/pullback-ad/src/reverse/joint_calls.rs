//! Joint reversal of calls, written: a call of the function that computes the value and adds to the gradient, in the
//! place of another; and these functions.
//!
//! What they are, and which calls are reversed so, [`schedule::joint_calls`](crate::schedule::joint_calls) has decided.

use crate::linearise::augment::Augmented;
use crate::linearise::linear::Linear;
use crate::reverse::cotangents::{Addition, empty_slot, neutral};
use crate::reverse::known::Emitter;
use crate::schedule::joint_calls::{Call, Candidate, Found, JointCalls, Sum};
use crate::schedule::known::Placed;
use crate::schedule::known::terms::Terms;
use crate::session::{Session, cotangent_types, with_cotangents};
use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, Builder, Callee, Constant, FuncId, Function, Inst, Op, Terminator, Value};
use std::collections::HashMap;

/// Write the joint reversal of calls into the derivative's own function. Hands back the functions that are called, each
/// with the one that is declared for it.
pub fn write(session: &Session, whole: &mut Augmented, found: Option<JointCalls>) -> Vec<(FuncId, Function)> {
    let Some(JointCalls { own, candidates, functions }) = found else { return Vec::new() };
    let callees = candidates.into_iter().map(|(callee, candidate)| (functions[&callee], candidate));
    let made = callees.map(|(declared, candidate)| (declared, whole_callee(session, candidate, &functions)));
    let made = made.collect();
    let cfg = Cfg::new(&whole.func);
    Writer::new(session, whole, &own.terms, &functions, vec![]).run(&cfg, &own);
    made
}

/// The function of a callee.
fn whole_callee(session: &Session, candidate: Candidate, functions: &HashMap<FuncId, FuncId>) -> Function {
    let Candidate { mut aug, found } = candidate;
    let entry = aug.func.entry();
    let types = cotangent_types(aug.ret.as_ref().filter(|_| aug.linear.returns_active), session.request.width);
    let seeds = types.into_iter().map(|ty| aug.func.add_param(entry, ty)).collect();
    aug.func.params = aug.func.param_values().iter().map(|v| aug.func.ty(*v).clone()).collect();
    let cfg = Cfg::new(&aug.func);
    let mut writer = Writer::new(session, &mut aug, &found.terms, functions, seeds);
    writer.make_slots();
    writer.run(&cfg, &found);
    writer.return_sums(&cfg);
    aug.func
}

/// Writes what is reversed jointly into a function.
struct Writer<'e, 'a> {
    session: &'e Session<'a>,
    aug: &'e mut Augmented,
    /// The functions with joint reversal.
    functions: &'e HashMap<FuncId, FuncId>,
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
        functions: &'e HashMap<FuncId, FuncId>,
        seeds: Vec<Value>,
    ) -> Self {
        let known = Emitter::new(terms, session.request.strong_zero, seeds);
        let block = aug.func.entry();
        Writer { session, aug, functions, known, block, slots: Vec::new() }
    }

    fn width(&self) -> usize {
        self.session.request.width
    }

    fn build(&mut self) -> Builder<'_> {
        Builder::new(&mut self.aug.func, self.block)
    }

    /// Write everything.
    fn run(&mut self, cfg: &Cfg, found: &Found) {
        for block in cfg.live() {
            self.block = block;
            for inst in std::mem::take(&mut self.aug.func.block_mut(block).insts) {
                match found.calls.get(&inst) {
                    Some(call) => self.call(inst, call),
                    None => self.aug.func.block_mut(block).insts.push(inst),
                }
            }
            for (sum, placed) in found.additions.get(&block).into_iter().flatten() {
                self.add(sum, placed);
            }
        }
    }

    /// The sums of active parameters start with nothing.
    fn make_slots(&mut self) {
        let (width, func) = (self.width(), &mut self.aug.func);
        let mut prologue = Vec::new();
        for param in &self.aug.linear.params {
            let ty = func.ty(*param).clone();
            self.slots.push((0..width).map(|_| empty_slot(func, &mut prologue, &ty)).collect());
        }
        let entry = func.entry();
        func.block_mut(entry).insts.splice(0..0, prologue);
    }

    /// The function returns the cotangents of its active parameters, beside its result.
    fn return_sums(&mut self, cfg: &Cfg) {
        let func = &mut self.aug.func;
        let types = cotangent_types(self.aug.linear.params.iter().map(|p| func.ty(*p)), self.session.request.width);
        func.ret = with_cotangents(self.aug.ret.clone(), types);
        let Some(ret) = func.ret.clone().filter(|_| !self.slots.is_empty()) else { return };
        // The aggregate begins with this: it is made once, ahead of what is loaded for each return.
        func.constant(ret.clone(), Constant::Undef);
        for block in cfg.reverse_postorder() {
            let Terminator::Return(own) = func.block(*block).term.clone() else { continue };
            let mut b = Builder::new(func, *block);
            let mut parts: Vec<Value> = own.into_iter().collect();
            for slot in self.slots.iter().flatten() {
                parts.push(b.load(ret.field(parts.len()).clone(), *slot));
            }
            let all = b.aggregate(&ret, parts);
            func.block_mut(*block).term = Terminator::Return(Some(all));
        }
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
        let joint = self.functions[&call.callee];
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
        let ret = ret.expect("there are cotangents");
        let all = self.build().with_loc(loc).value(op, ret.clone());
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
    fn add(&mut self, sum: &Sum, placed: &Placed) {
        let places = match sum {
            Sum::Shadow(places) => places.clone(),
            Sum::Param(number) => self.slots[*number].clone(),
        };
        let summing = self.session.target().summing();
        for (direction, place) in places.into_iter().enumerate() {
            let g = self.value(placed, direction);
            let ty = self.aug.func.ty(g).clone();
            Addition::new(place, ty, g).emit(&mut self.build(), summing);
        }
    }
}
