//! From the program to its objects: reads every instruction in [scope] of a group of functions until nothing new is
//! learnt.
//!
//! Given the functions reachable from a primal and the request's layouts, it hands on [`Facts`]: for each pointer the
//! object it reaches and at which offsets, and in each object where floats and pointers lie. It is flow-insensitive and
//! joins all calls of a function. What it promises: every pointer or float that a live instruction may read or write
//! at a place is recorded in the cell of that place.

mod settle;

use crate::analysis::points_to::facts::{Facts, Values, kind_of, may_carry};
use crate::analysis::points_to::lanes::last_start;
use crate::analysis::points_to::numbers;
use crate::analysis::points_to::objects::{ContentId, Kinds, ObjId, Objects, Origins};
use crate::analysis::points_to::offsets::{Coarseness, Offsets};
use crate::analysis::points_to::ranges::{self, Bound};
use crate::analysis::points_to::regions::{self};
use crate::analysis::points_to::seed::{Made, describe, fill};
use crate::analysis::points_to::shape::Shape;
use crate::analysis::points_to::strided::{Strided, gcd};
use crate::analysis::scope::{self, OnPanic};
use crate::analysis::types::computed::Numbers;
use crate::analysis::types::{carried, evidence, unseen};
use crate::custom::{CustomRule, Role};
use crate::request::Request;
use crate::runtime::TapeUse;
use pullback_ir::{
    BinOp, Block, Callee, CastOp, Constant, Flags, FuncId, Function, Inst, Module, Op, Terminator, Type,
};
use pullback_ir::{Value, ValueDef};
use std::rc::Rc;

/// Learn the facts of the functions reachable from `primal`.
pub fn analyse(module: &Module, primal: FuncId, request: &Request, on_panic: OnPanic) -> Facts {
    let functions = scope::functions(module, primal, on_panic);
    let returning = scope::returning(module, primal);
    let mut facts = Facts { functions: functions.clone(), returning, on_panic, ..Facts::default() };
    for id in &functions {
        let bound = module.func(*id).value_bound();
        let values = Values {
            object: vec![None; bound],
            offset: vec![None; bound],
            content: vec![None; bound],
            ..Values::default()
        };
        facts.values.insert(*id, values);
    }
    seed(&mut facts, module, primal, request);
    let shapes: Vec<Shape> = functions.iter().map(|id| Shape::new(module, *id, on_panic)).collect();
    let numbers: Vec<Numbers> = functions.iter().map(|id| Numbers::new(module.func(*id))).collect();
    for (id, shape) in functions.iter().zip(&shapes) {
        let passed_on = carried::passed_on(module.func(*id), &shape.scope.blocks, &functions);
        facts.values.get_mut(id).expect("every function of the group has a table").passed_on = passed_on;
    }
    for round in 0.. {
        // Bounds can grow step by step for ever; what still grows by now loses them.
        facts.objects.coarseness = match round {
            0..30 => Coarseness::Fine,
            30..120 => Coarseness::Unbounded,
            120..250 => Coarseness::Nothing,
            _ => Coarseness::Everything,
        };
        let mut changed = false;
        for (i, id) in functions.iter().enumerate() {
            let func = module.func(*id);
            let (shape, numbers, block) = (&shapes[i], &numbers[i], func.entry());
            let mut pass =
                Pass { facts: &mut facts, module, request, id: *id, func, changed: false, shape, numbers, block };
            for block in &shape.scope.blocks {
                pass.block = *block;
                for inst in &pass.func.block(*block).insts {
                    pass.instruction(*inst);
                }
                pass.terminator(&pass.func.block(*block).term);
            }
            changed |= pass.changed;
        }
        facts.objects.spread_origins();
        if !facts.objects.take_changed() && !changed && !settle::settle(&mut facts, module, &shapes) {
            break;
        }
    }
    for (i, id) in functions.iter().enumerate() {
        evidence::find(&mut facts, module, *id, &shapes[i].scope.blocks, &numbers[i]);
    }
    evidence::variants(&mut facts);
    for (id, shape) in functions.iter().zip(&shapes) {
        evidence::in_floats(&mut facts, module.func(*id), *id, &shape.scope.blocks);
    }
    facts.regions = Rc::new(regions::regions(&facts.objects));
    facts
}

/// Give each parameter of the primal an object with the cells of its layout.
fn seed(facts: &mut Facts, module: &Module, primal: FuncId, request: &Request) {
    for (i, arg) in request.args.iter().enumerate() {
        let Some(&param) = module.func(primal).param_values().get(i) else { break };
        let object = facts.objects.add(Origins { args: vec![i], ..Origins::default() });
        let mut path = vec![];
        fill(facts, request, i, object, Strided::ZERO, arg.layout, &mut path);
        let values = facts.values.get_mut(&primal).expect("the primal is among the functions");
        values.object[param.index()] = Some(object);
        values.offset[param.index()] = Some(Offsets::zero());
    }
}

/// One reading of one function.
struct Pass<'a> {
    facts: &'a mut Facts,
    module: &'a Module,
    request: &'a Request,
    id: FuncId,
    func: &'a Function,
    changed: bool,
    shape: &'a Shape,
    numbers: &'a Numbers,
    /// The block being read.
    block: Block,
}

impl Pass<'_> {
    fn values(&mut self) -> &mut Values {
        self.facts.values.get_mut(&self.id).expect("every function of the group has a table")
    }

    /// The object and offset of a pointer operand; `None` if it reaches nothing (null, an invented address).
    fn pointer(&mut self, value: Value) -> Option<(ObjId, Offsets)> {
        if let ValueDef::Const(Constant::Global(global)) = self.func.value(value).def {
            let object = match self.facts.globals.get(&global) {
                Some(object) => *object,
                None => {
                    let constant = self.module.global(global).constant;
                    let origins = Origins { constants: constant, statics: !constant, ..Origins::default() };
                    let object = self.facts.objects.add(origins);
                    self.facts.globals.insert(global, object);
                    object
                }
            };
            self.set_object(value, object);
            self.set_offset(value, Strided::ZERO);
        }
        let values = self.values();
        Some((values.object[value.index()]?, values.offset[value.index()].clone().unwrap_or_else(Offsets::zero)))
    }

    fn set_object(&mut self, value: Value, object: ObjId) {
        match self.values().object[value.index()] {
            None => {
                self.values().object[value.index()] = Some(object);
                self.changed = true;
            }
            Some(old) => self.facts.objects.unify(old, object),
        }
    }

    fn set_offset(&mut self, value: Value, offset: impl Into<Offsets>) {
        let (offset, coarseness) = (offset.into(), self.facts.objects.coarseness);
        let old = &self.values().offset[value.index()];
        let new = old.as_ref().map_or(offset.clone(), |old| old.grown(&offset, coarseness));
        if old.as_ref() != Some(&new) {
            self.values().offset[value.index()] = Some(new);
            self.changed = true;
        }
    }

    fn content(&mut self, value: Value) -> ContentId {
        match self.values().content[value.index()] {
            Some(content) => content,
            None => {
                let content = self.facts.objects.add_content();
                self.values().content[value.index()] = Some(content);
                self.changed = true;
                content
            }
        }
    }

    /// What is known of an integer's value.
    fn interval(&mut self, value: Value) -> Option<Offsets> {
        match self.func.as_int(value) {
            Some(n) => Some(i64::try_from(n).map_or(Strided::ANY, Strided::exact).into()),
            None if self.func.as_const(value).is_some() => Some(Offsets::any()),
            None => {
                let known = self.values().offset[value.index()].clone()?;
                let known = self.shape.ranges.narrow(self.func, value, self.block, known);
                if known.ends().is_some() {
                    return Some(known);
                }
                let ends = self.derived(value).and_then(|derived| derived.ends());
                Some(ends.map_or(known.clone(), |(lo, hi)| known.within(lo, hi)))
            }
        }
    }

    /// What is known of an integer from that of which it was made, here, where more may be known of it than where it
    /// was made: `i - 1` lies in an array where `i < 3` was asked since.
    fn derived(&mut self, value: Value) -> Option<Offsets> {
        let data = self.func.inst(self.func.def_inst(value)?);
        match data.op {
            Op::Bin(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Shl), a, by) => {
                let by = Offsets::from(Strided::exact(i64::try_from(self.func.as_int(by)?).ok()?));
                let a = ranges::wrapped(self.func, a, self.interval(a)?);
                Some(numbers::binary(op, data.flags, &a, &by))
            }
            Op::Cast(CastOp::ZExt, a) => {
                let known = ranges::wrapped(self.func, a, self.interval(a)?);
                known.ends().is_some_and(|(lo, _)| lo >= 0).then_some(known)
            }
            _ => None,
        }
    }

    /// What is known of an integer's value where `bounds` hold: of itself, of what it is a constant away from, or of
    /// the same in fewer bits.
    fn bounded(&mut self, value: Value, bounds: &[(Value, Bound)]) -> Option<Offsets> {
        let mut known = self.interval(value)?;
        for (of, bound) in bounds {
            if *of == value {
                known = bound.of(&ranges::wrapped(self.func, value, known));
            } else if let Some(Op::Bin(op @ (BinOp::Add | BinOp::Sub), a, b)) =
                self.func.def_inst(value).map(|i| &self.func.inst(i).op)
                && *a == *of
                && self.func.as_int(*b).is_some()
                && let (Some(x), Some(y)) = (self.interval(*a), self.interval(*b))
            {
                let x = ranges::wrapped(self.func, *a, x);
                known = numbers::binary(*op, Flags::NONE, &bound.of(&x), &y);
            } else if let Some(Op::Cast(CastOp::ZExt, a)) = self.func.def_inst(value).map(|i| &self.func.inst(i).op)
                && *a == *of
                && let Some(x) = self.interval(*a)
                && let Some((lo @ 0.., hi)) = bound.of(&ranges::wrapped(self.func, *a, x)).ends()
            {
                known = known.within(lo, hi);
            }
        }
        Some(known)
    }

    /// `a − b`, where all that these addresses are of reaches one object.
    fn distance(&mut self, (a, b): (Vec<Value>, Vec<Value>)) -> Option<Offsets> {
        let ((object, a), (other, b)) = (self.reached(&a)?, self.reached(&b)?);
        (self.facts.objects.find(object) == self.facts.objects.find(other)).then(|| a.combine(&b, Strided::minus))
    }

    /// The one object that all of these pointers reach, as far as they reach anything yet.
    fn reached(&mut self, pointers: &[Value]) -> Option<(ObjId, Offsets)> {
        let mut known = pointers.iter().filter_map(|ptr| self.pointer(*ptr)).collect::<Vec<_>>().into_iter();
        let first = known.next()?;
        known.try_fold(first, |(object, offsets), (other, at)| {
            let same = self.facts.objects.find(object) == self.facts.objects.find(other);
            same.then(|| (object, offsets.join(&at)))
        })
    }

    /// `to` may be `from`, where `bounds` hold: same object, same content, offsets joined.
    fn assign(&mut self, to: Value, from: Value, bounds: &[(Value, Bound)]) {
        match self.func.ty(to) {
            Type::Ptr => {
                if let Some((object, offset)) = self.pointer(from) {
                    self.set_object(to, object);
                    self.set_offset(to, offset);
                }
            }
            Type::Int(_) => {
                if let Some(interval) = self.bounded(from, bounds) {
                    self.set_offset(to, interval);
                }
                if self.is_moved(from) {
                    let (a, b) = (self.content(to), self.content(from));
                    self.facts.objects.unify_contents(a, b);
                }
            }
            Type::Struct(_) => self.assign_leaves((to, 0), (from, 0), self.func.ty(to).leaves().len()),
            _ => {}
        }
    }

    /// So many leaves of an aggregate, from one of them on, may be those of another.
    fn assign_leaves(&mut self, to: (Value, usize), from: (Value, usize), count: usize) {
        for i in 0..count {
            if let Some((object, offset)) = self.values().fields.get(&(from.0, (from.1 + i) as u32)).cloned() {
                self.set_field(to.0, (to.1 + i) as u32, object, offset);
            }
        }
    }

    /// Whether an integer may carry what was put into it elsewhere.
    fn is_moved(&self, value: Value) -> bool {
        may_carry(self.func.ty(value))
            && self.func.as_const(value).is_none()
            && !self.numbers.contains(self.func, value)
    }

    /// The pointer in leaf `i` of an aggregate may reach `object`.
    fn set_field(&mut self, value: Value, i: u32, object: ObjId, offset: Offsets) {
        let old = self.values().fields.get(&(value, i)).cloned();
        let new = joined(&mut self.facts.objects, old.clone(), object, offset);
        if old.as_ref() != Some(&new) {
            self.values().fields.insert((value, i), new);
            self.changed = true;
        }
    }

    /// A value lies at `ptr`: join it with the cell of each place where that may be.
    fn access(&mut self, ptr: Value, value: Value, align: u64) {
        let Some((object, offsets)) = self.pointer(ptr) else { return };
        for offset in offsets.aligned(align).iter() {
            self.access_at(object, offset, value);
        }
    }

    fn access_at(&mut self, object: ObjId, offset: Strided, value: Value) {
        let ty = self.func.ty(value).clone();
        if let Type::Struct(_) = &ty {
            for (i, (at, field)) in ty.leaves().into_iter().enumerate() {
                let at = offset.plus(Strided::exact(at as i64));
                let content = self.facts.objects.cell(object, at, field.size());
                self.facts.objects.see(content, kind_of(field));
                if *field == Type::Ptr {
                    if let Some((target, at)) = self.values().fields.get(&(value, i as u32)).cloned() {
                        self.facts.objects.point(content, target, at);
                    }
                    if let Some((target, at)) = self.facts.objects.pointee(content) {
                        self.set_field(value, i as u32, target, at);
                    }
                }
            }
            return;
        }
        let content = self.facts.objects.cell(object, offset, ty.size());
        self.facts.objects.see(content, kind_of(&ty));
        let loaded = self.func.def_inst(value).is_some_and(|i| matches!(self.func.inst(i).op, Op::Load { .. }));
        if ty.is_int() && loaded {
            self.set_offset(value, Strided::ANY);
        }
        match ty {
            Type::Ptr => {
                if let Some((target, at)) = self.pointer(value) {
                    self.facts.objects.point(content, target, at);
                }
                if self.func.as_const(value).is_some() || self.is_invented(value) {
                    return;
                }
                if self.facts.objects.pointee(content).is_none() {
                    let target = self.facts.objects.add(Origins::default());
                    self.facts.objects.point(content, target, Offsets::zero());
                }
                if let Some((target, at)) = self.facts.objects.pointee(content) {
                    self.set_object(value, target);
                    if loaded {
                        self.set_offset(value, at);
                    }
                }
            }
            Type::Int(_) if self.is_moved(value) => {
                if self.values().passed_on.contains(&value) {
                    unseen::moved(&mut self.facts.objects, object, offset, Some(ty.size()));
                }
                let carried = self.content(value);
                self.facts.objects.moved(content, carried);
            }
            _ => {}
        }
    }

    fn instruction(&mut self, inst: Inst) {
        let data = self.func.inst(inst);
        let result = data.result;
        if let Some(cleanup) = data.op.cleanup()
            && self.facts.functions.contains(&cleanup.func)
        {
            self.join_arguments(&cleanup.args, cleanup.func);
            self.join_contents(&cleanup.args, cleanup.func);
        }
        match &data.op {
            op if matches!(op, Op::Alloca { .. } | Op::Alloc { .. })
                || TapeUse::of(self.module, self.func, op) == Some(TapeUse::Keep) =>
            {
                let object = match self.values().site.get(&inst) {
                    Some(object) => *object,
                    None => {
                        let heap = !matches!(data.op, Op::Alloca { .. });
                        let object = self.facts.objects.add(Origins { local: true, heap, ..Origins::default() });
                        self.values().site.insert(inst, object);
                        object
                    }
                };
                let result = result.expect("an allocation has a result");
                self.set_object(result, object);
                self.set_offset(result, Offsets::zero());
            }
            Op::PtrAdd(base, offset) => {
                let result = result.expect("an address has a result");
                if let Some((object, at)) = self.pointer(*base) {
                    self.set_object(result, object);
                    if let Some(mut offset) = self.interval(*offset) {
                        if data.flags.contains(Flags::NUW) {
                            offset = offset.within(0, i64::MAX);
                        }
                        self.set_offset(result, at.plus(&offset));
                    }
                }
            }
            Op::Load { ptr, align } => self.access(*ptr, result.expect("a load has a result"), *align),
            Op::Store { ptr, value, align } => self.access(*ptr, *value, *align),
            Op::Copy { dst, src, len, align, .. } => self.copy(*dst, *src, *len, *align),
            Op::Select(c, a, b) => {
                let result = result.expect("a select has a result");
                self.assign(result, *a, &ranges::implied(self.func, *c, true));
                self.assign(result, *b, &ranges::implied(self.func, *c, false));
            }
            Op::Freeze(a) => self.assign(result.expect("a freeze has a result"), *a, &[]),
            Op::Cast(op, a) => self.cast(*op, *a, result.expect("a cast has a result")),
            Op::Bin(op, a, b) if !op.is_float() => {
                if let Some(addresses) = self.shape.subtracted(self.func, &data.op) {
                    // What does not reach one object yet may do so later; in the end nothing is known of the others.
                    if let Some(distance) = self.distance(addresses) {
                        self.set_offset(result.expect("arithmetic has a result"), distance);
                    }
                    return;
                }
                let (Some(x), Some(y)) = (self.interval(*a), self.interval(*b)) else { return };
                let out = numbers::binary(*op, data.flags, &x, &y);
                self.set_offset(result.expect("arithmetic has a result"), out);
            }
            Op::Intrinsic(name, args) if result.is_some_and(|r| self.func.ty(r).is_int()) => {
                // Of the operands that are no integers nothing becomes known.
                let known =
                    |a: &Value| if self.func.ty(*a).is_int() { self.interval(*a) } else { Some(Offsets::any()) };
                let args: Option<Vec<Offsets>> = args.iter().map(known).collect();
                if let Some(args) = args {
                    self.set_offset(result.expect("just looked"), numbers::intrinsic(name, &args));
                }
            }
            op if let Some(tape) = TapeUse::of(self.module, self.func, op) => self.tape(tape, &op.operands(), result),
            Op::Call(callee, args, _) => self.call(*callee, args, result),
            Op::InsertValue(into, value, i) => {
                let result = result.expect("an aggregate has a result");
                self.assign(result, *into, &[]);
                let first = self.func.ty(result).first_leaf(*i as usize);
                match self.func.ty(*value) {
                    Type::Ptr => {
                        if let Some((object, offset)) = self.pointer(*value) {
                            self.set_field(result, first as u32, object, offset);
                        }
                    }
                    ty @ Type::Struct(_) => self.assign_leaves((result, first), (*value, 0), ty.leaves().len()),
                    _ => {}
                }
            }
            Op::ExtractValue(from, i) => {
                let result = result.expect("a field has a result");
                let first = self.func.ty(*from).first_leaf(*i as usize);
                match self.func.ty(result) {
                    Type::Ptr => {
                        if let Some((object, offset)) = self.values().fields.get(&(*from, first as u32)).cloned() {
                            self.set_object(result, object);
                            self.set_offset(result, offset);
                        }
                    }
                    ty @ Type::Struct(_) => self.assign_leaves((result, 0), (*from, first), ty.leaves().len()),
                    Type::Int(_) => self.set_offset(result, Strided::ANY),
                    _ => {}
                }
            }
            Op::Dealloc { .. } | Op::Fill { .. } => {}
            _ => {
                if let Some(result) = result {
                    match self.func.ty(result) {
                        Type::Int(_) => self.set_offset(result, Strided::ANY),
                        Type::Ptr => {
                            self.foreign(result);
                            // It may be one of its operands.
                            let operands = match &data.op {
                                Op::Opaque(opaque) => opaque.args.clone(),
                                op => op.operands(),
                            };
                            for operand in operands {
                                if *self.func.ty(operand) == Type::Ptr
                                    && let Some((object, _)) = self.pointer(operand)
                                {
                                    self.set_object(result, object);
                                    self.set_offset(result, Strided::ANY);
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// What is pushed at a site is what is popped there; a function that is called with the tape's end is called.
    fn tape(&mut self, tape: TapeUse, args: &[Value], result: Option<Value>) {
        if let TapeUse::Own(Some(release)) = tape
            && self.facts.functions.contains(&release)
        {
            return self.join_arguments(&args[1..2], release);
        }
        let (TapeUse::Push(site) | TapeUse::Pop(site), Some(result)) = (tape, result) else { return };
        if let TapeUse::Push(_) = tape {
            self.facts.pushed.insert(site);
        }
        let object = match self.facts.sites.get(&site) {
            Some(object) => *object,
            None => {
                let object = self.facts.objects.add(Origins { local: true, ..Origins::default() });
                self.facts.sites.insert(site, object);
                object
            }
        };
        self.set_object(result, object);
        self.set_offset(result, Offsets::zero());
    }

    fn foreign(&mut self, result: Value) {
        if self.values().object[result.index()].is_none() {
            let object = self.facts.objects.add(Origins { foreign: true, ..Origins::default() });
            self.set_object(result, object);
            self.set_offset(result, Strided::ZERO);
        }
    }

    fn cast(&mut self, op: CastOp, from: Value, to: Value) {
        match op {
            CastOp::ZExt | CastOp::SExt | CastOp::Trunc => {
                let (from_ty, to_ty) = (self.func.ty(from), self.func.ty(to));
                let (Type::Int(a), Type::Int(b)) = (from_ty, to_ty) else { return };
                if let Some(interval) = self.interval(from) {
                    let bits = (*a).min(*b);
                    self.set_offset(to, interval.map(|r| numbers::rewidth(r, bits)));
                }
            }
            CastOp::Bitcast => {
                let (from_ty, to_ty) = (self.func.ty(from).clone(), self.func.ty(to).clone());
                if from_ty.is_float() && may_carry(&to_ty) {
                    let content = self.content(to);
                    self.facts.objects.see(content, kind_of(&from_ty));
                    self.set_offset(to, Strided::ANY);
                } else if may_carry(&from_ty) && to_ty.is_float() && self.func.as_const(from).is_none() {
                    let content = self.content(from);
                    self.facts.objects.see(content, kind_of(&to_ty));
                }
            }
            CastOp::PtrToInt => {
                self.set_offset(to, Strided::ANY);
                if may_carry(self.func.ty(to))
                    && let Some((object, at)) = self.pointer(from)
                {
                    let content = self.content(to);
                    self.facts.objects.see(content, Kinds::PTR);
                    self.facts.objects.point(content, object, at);
                }
            }
            CastOp::IntToPtr if self.func.as_const(from).is_none() => {
                let content = self.content(from);
                self.facts.objects.see(content, Kinds::PTR);
                // Where nothing is known yet, something may be later; what stays unknown is foreign in the end.
                if let Some((object, at)) = self.facts.objects.pointee(content) {
                    self.set_object(to, object);
                    self.set_offset(to, at);
                }
            }
            _ => {
                if self.func.ty(to).is_int() {
                    self.set_offset(to, Strided::ANY);
                }
            }
        }
    }

    /// Every cell of the source region has the content of the target's at the same distance, and the other way round.
    fn copy(&mut self, dst: Value, src: Value, len: Value, align: (u64, u64)) {
        let (Some((to, to_at)), Some((from, from_at))) = (self.pointer(dst), self.pointer(src)) else { return };
        let (to_at, from_at) = (to_at.aligned(align.0), from_at.aligned(align.1));
        let len = self.func.as_int(len).map(|n| n as u64);
        let same = self.facts.objects.find(to) == self.facts.objects.find(from);
        for (object, places) in [(to, &to_at), (from, &from_at)] {
            places.iter().for_each(|at| unseen::moved(&mut self.facts.objects, object, at, len));
        }
        for (to_at, from_at) in to_at.iter().flat_map(|t| from_at.iter().map(move |f| (t, f))) {
            for (a, a_at, b, b_at) in [(from, from_at, to, to_at), (to, to_at, from, from_at)] {
                for cell in self.facts.objects.cells(a).to_vec() {
                    // Whatever lies at the same place of each element, only what is inside the region moves.
                    let last = last_start(len, cell.width);
                    let Some(distance) = cell.at.minus(a_at).clipped(0, last) else { continue };
                    for distance in distance.apart_in(b_at) {
                        let mut place = b_at.plus(distance);
                        if same && len.is_none() {
                            // Moved along its own object, again and again perhaps: every place at that distance. (A
                            // region of known length has an end.)
                            let shift = gcd(b_at.minus(a_at).m, b_at.minus(a_at).k.unsigned_abs());
                            place = Strided::unbounded(place.k, gcd(place.m, shift));
                        }
                        let content = self.facts.objects.cell(b, place, cell.width);
                        self.facts.objects.moved(content, cell.content);
                    }
                }
            }
        }
    }

    /// Whether a pointer is an invented address, which reaches nothing: where every empty `Vec` has its elements.
    fn is_invented(&self, value: Value) -> bool {
        let op = self.func.def_inst(value).map(|inst| &self.func.inst(inst).op);
        matches!(op, Some(Op::Cast(CastOp::IntToPtr, from)) if self.func.as_const(*from).is_some())
    }

    /// A function with a rule: its arguments and its result are what the rule says.
    fn rule_call(&mut self, rule: &CustomRule, args: &[Value]) {
        for (place, arg) in args.iter().zip(&rule.args) {
            let made = if arg.role == Role::Result { Made::Here } else { Made::Before };
            let Some((object, offsets)) = self.pointer(*place) else { continue };
            for at in offsets.iter() {
                let mut path = vec![(arg.layout, object)];
                describe(&mut self.facts.objects, &rule.layouts, (object, at), arg.layout, made, &mut path);
            }
        }
    }

    fn call(&mut self, callee: Callee, args: &[Value], result: Option<Value>) {
        if let Callee::Direct(callee) = callee
            && let Some(rule) = self.request.rule(callee)
        {
            return self.rule_call(rule, args);
        }
        if let Callee::Direct(callee) = callee
            && self.facts.functions.contains(&callee)
        {
            self.join_arguments(args, callee);
            if let Some(result) = result {
                for (i, (object, offset)) in self.facts.values[&callee].ret_fields.clone() {
                    self.set_field(result, i, object, offset);
                }
            }
            if let (Some(result), Some((object, offset))) = (result, self.facts.values[&callee].ret.clone())
                && *self.func.ty(result) == Type::Ptr
            {
                self.set_object(result, object);
                self.set_offset(result, offset);
            } else if let Some(result) = result
                && self.func.ty(result).is_int()
            {
                self.set_offset(result, Strided::ANY);
                if may_carry(self.func.ty(result))
                    && let Some(theirs) = self.facts.values[&callee].ret_content
                {
                    let ours = self.content(result);
                    self.facts.objects.unify_contents(ours, theirs);
                }
            }
            return;
        }
        if let Some(result) = result {
            match self.func.ty(result) {
                Type::Ptr => self.foreign(result),
                Type::Int(_) => self.set_offset(result, Strided::ANY),
                _ => {}
            }
        }
    }

    /// Arguments become the parameters of another function.
    fn join_arguments(&mut self, args: &[Value], callee: FuncId) {
        let params: Vec<Value> = self.module.func(callee).param_values().to_vec();
        for (arg, param) in args.iter().zip(params) {
            self.join_across(*arg, callee, param);
        }
    }

    /// Integers that are given to a clean-up carry what its parameters carry: an element that a sort holds in its hands
    /// is a pointer there too, and [`retype`](crate::prepare::retype) makes it one.
    fn join_contents(&mut self, args: &[Value], callee: FuncId) {
        let params: Vec<Value> = self.module.func(callee).param_values().to_vec();
        for (arg, param) in args.iter().zip(params) {
            if !may_carry(self.func.ty(*arg)) || self.func.as_const(*arg).is_some() {
                continue;
            }
            let ours = self.content(*arg);
            let theirs = self.facts.values.get_mut(&callee).expect("the clean-up is in the group");
            match theirs.content[param.index()] {
                Some(theirs) => self.facts.objects.unify_contents(ours, theirs),
                None => {
                    theirs.content[param.index()] = Some(ours);
                    self.changed = true;
                }
            }
        }
    }

    /// An argument becomes a parameter of another function.
    fn join_across(&mut self, arg: Value, callee: FuncId, param: Value) {
        let slot = param.index();
        let coarseness = self.facts.objects.coarseness;
        match self.func.ty(arg) {
            Type::Ptr => {
                let theirs = self.facts.values[&callee].object[slot];
                let object = match (self.pointer(arg), theirs) {
                    (Some((ours, offset)), theirs) => {
                        let table = self.facts.values.get_mut(&callee).expect("the callee is in the group");
                        let joined =
                            table.offset[slot].as_ref().map_or(offset.clone(), |old| old.grown(&offset, coarseness));
                        if table.offset[slot].as_ref() != Some(&joined) {
                            table.offset[slot] = Some(joined);
                            self.changed = true;
                        }
                        if let Some(theirs) = theirs {
                            self.facts.objects.unify(theirs, ours);
                        }
                        Some(ours)
                    }
                    (None, theirs) => theirs,
                };
                let table = self.facts.values.get_mut(&callee).expect("the callee is in the group");
                if table.object[slot].is_none() && object.is_some() {
                    table.object[slot] = object;
                    self.changed = true;
                }
            }
            ty @ Type::Struct(_) => {
                for i in 0..ty.leaves().len() as u32 {
                    let Some((object, offset)) = self.values().fields.get(&(arg, i)).cloned() else { continue };
                    let old = self.facts.values[&callee].fields.get(&(param, i)).cloned();
                    let new = joined(&mut self.facts.objects, old.clone(), object, offset);
                    if old.as_ref() != Some(&new) {
                        let table = self.facts.values.get_mut(&callee).expect("the callee is in the group");
                        table.fields.insert((param, i), new);
                        self.changed = true;
                    }
                }
            }
            Type::Int(_) => {
                if self.is_moved(arg) {
                    let ours = self.content(arg);
                    match self.facts.values[&callee].content[slot] {
                        Some(theirs) => self.facts.objects.unify_contents(ours, theirs),
                        None => {
                            let table = self.facts.values.get_mut(&callee).expect("the callee is in the group");
                            table.content[slot] = Some(ours);
                            self.changed = true;
                        }
                    }
                }
                let Some(interval) = self.interval(arg) else { return };
                let table = self.facts.values.get_mut(&callee).expect("the callee is in the group");
                let joined =
                    table.offset[slot].as_ref().map_or(interval.clone(), |old| old.grown(&interval, coarseness));
                if table.offset[slot].as_ref() != Some(&joined) {
                    table.offset[slot] = Some(joined);
                    self.changed = true;
                }
            }
            _ => {}
        }
    }

    fn terminator(&mut self, term: &Terminator) {
        for (index, target) in term.targets().iter().enumerate().filter(|(_, t)| self.shape.scope.contains(t.block)) {
            let bounds = ranges::on_edge(self.func, term, index);
            let params = self.func.block(target.block).params.clone();
            for (arg, param) in target.args.iter().zip(params) {
                if self.shape.joins(self.func, target.block, param) {
                    self.assign(param, *arg, &bounds);
                } else {
                    self.set_offset(param, Strided::ANY);
                }
            }
        }
        if let Terminator::Return(Some(value)) = term
            && self.is_moved(*value)
        {
            let ours = self.content(*value);
            match self.values().ret_content {
                Some(old) => self.facts.objects.unify_contents(old, ours),
                None => {
                    self.values().ret_content = Some(ours);
                    self.changed = true;
                }
            }
        }
        if let Terminator::Return(Some(value)) = term
            && let ty @ Type::Struct(_) = self.func.ty(*value)
        {
            for i in 0..ty.leaves().len() as u32 {
                let Some((object, offset)) = self.values().fields.get(&(*value, i)).cloned() else { continue };
                let old = self.values().ret_fields.get(&i).cloned();
                let new = joined(&mut self.facts.objects, old.clone(), object, offset);
                if old.as_ref() != Some(&new) {
                    self.values().ret_fields.insert(i, new);
                    self.changed = true;
                }
            }
        }
        if let Terminator::Return(Some(value)) = term
            && *self.func.ty(*value) == Type::Ptr
            && let Some((object, offset)) = self.pointer(*value)
        {
            let old = self.values().ret.clone();
            let new = joined(&mut self.facts.objects, old.clone(), object, offset);
            if old.as_ref() != Some(&new) {
                self.values().ret = Some(new);
                self.changed = true;
            }
        }
    }
}

/// What a pointer reaches that may reach either.
fn joined(objects: &mut Objects, old: Option<(ObjId, Offsets)>, object: ObjId, offset: Offsets) -> (ObjId, Offsets) {
    match old {
        None => (object, offset),
        Some((old, at)) => {
            objects.unify(old, object);
            (old, at.grown(&offset, objects.coarseness))
        }
    }
}
