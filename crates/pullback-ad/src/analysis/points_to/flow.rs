//! From the program to its objects: reads every instruction in [scope] of a group of functions until nothing new is
//! learnt.
//!
//! Given the functions reachable from a primal and the request's layouts, it hands on [`Facts`]: for each pointer the
//! object it reaches and at which offsets, and in each object where floats and pointers lie. It is flow-insensitive and
//! joins all calls of a function. What it promises: every pointer or float that a live instruction may read or write
//! at a place is recorded in the cell of that place.

mod calls;
mod settle;
mod transfer;

use crate::analysis::points_to::facts::{Facts, Known, Slot, Values, kind_of, may_carry};
use crate::analysis::points_to::numbers;
use crate::analysis::points_to::objects::{ContentId, ObjId, Origins};
use crate::analysis::points_to::offsets::{Coarseness, Offsets};
use crate::analysis::points_to::ranges::Bound;
use crate::analysis::points_to::regions;
use crate::analysis::points_to::seed::{Made, describe};
use crate::analysis::points_to::shape::Shape;
use crate::analysis::points_to::strided::Strided;
use crate::analysis::scope::{self, OnPanic};
use crate::analysis::types::computed::Numbers;
use crate::analysis::types::{carried, evidence, unseen};
use crate::request::Request;
use pullback_ir::{BinOp, Block, CastOp, Constant, Flags, FuncId, Function, Module, Op, Type, Value, ValueDef};
use std::rc::Rc;

/// Learn the facts of the functions reachable from `primal`.
pub fn analyse(module: &Module, primal: FuncId, request: &Request, on_panic: OnPanic) -> Facts {
    let functions = scope::functions(module, primal, on_panic);
    let returning = scope::returning(module, primal);
    let mut facts = Facts { functions: functions.clone(), returning, on_panic, ..Facts::default() };
    for id in &functions {
        let values = vec![Known::default(); module.func(*id).value_bound()];
        facts.values.insert(*id, Values { values, ..Values::default() });
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
        for (i, id) in functions.iter().enumerate() {
            let func = module.func(*id);
            let (shape, numbers, block) = (&shapes[i], &numbers[i], func.entry());
            let mut pass = Pass { facts: &mut facts, module, request, id: *id, func, shape, numbers, block };
            for block in &shape.scope.blocks {
                pass.block = *block;
                for inst in &pass.func.block(*block).insts {
                    pass.instruction(*inst);
                }
                pass.terminator(&pass.func.block(*block).term);
            }
        }
        facts.objects.spread_origins();
        if !facts.objects.take_changed() && !settle::settle(&mut facts, module, &shapes) {
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
        describe(&mut facts.objects, &request.layouts, (object, Strided::ZERO), arg.layout, Made::ByCaller(i));
        facts.reach((primal, Some(param)), object, Strided::ZERO);
    }
}

/// One reading of one function.
struct Pass<'a> {
    facts: &'a mut Facts,
    module: &'a Module,
    request: &'a Request,
    id: FuncId,
    func: &'a Function,
    shape: &'a Shape,
    numbers: &'a Numbers,
    /// The block being read.
    block: Block,
}

impl Pass<'_> {
    fn slot(&self, value: Value) -> Slot {
        (self.id, Some(value))
    }

    fn known(&mut self, value: Value) -> &mut Known {
        self.facts.slot((self.id, Some(value)))
    }

    /// The object and offset of a pointer operand; `None` if it reaches nothing (null, an invented address).
    fn pointer(&mut self, value: Value) -> Option<(ObjId, Offsets)> {
        if let ValueDef::Const(Constant::Global(global)) = self.func.value(value).def {
            let constants = self.module.global(global).constant;
            let origins = Origins { constants, statics: !constants, ..Origins::default() };
            let object = *self.facts.globals.entry(global).or_insert_with(|| self.facts.objects.add(origins));
            self.reach(value, object, Strided::ZERO);
        }
        let known = self.known(value);
        Some((known.object?, known.offset.clone().unwrap_or_else(Offsets::zero)))
    }

    fn reach(&mut self, value: Value, object: ObjId, offset: impl Into<Offsets>) {
        self.facts.reach(self.slot(value), object, offset);
    }

    fn set_offset(&mut self, value: Value, offset: impl Into<Offsets>) {
        self.facts.set_offset(self.slot(value), offset);
    }

    fn content(&mut self, value: Value) -> ContentId {
        if let Some(content) = self.known(value).content {
            return content;
        }
        let content = self.facts.objects.add_content();
        self.facts.set_content(self.slot(value), content);
        content
    }

    /// What is known of an integer's value.
    fn interval(&mut self, value: Value) -> Option<Offsets> {
        match self.func.as_int(value) {
            Some(n) => Some(i64::try_from(n).map_or(Strided::ANY, Strided::exact).into()),
            None if self.func.as_const(value).is_some() => Some(Offsets::any()),
            None => {
                let known = self.known(value).offset.clone()?;
                let known = self.shape.ranges.narrow(value, self.block, known);
                if known.exact().is_some() {
                    return Some(known);
                }
                let ends = self.derived(value).and_then(|derived| derived.ends());
                Some(ends.map_or(known.clone(), |(lo, hi)| known.within(lo, hi)))
            }
        }
    }

    /// What is known of an integer that is added to an address. A product is not beyond the numbers there, whatever it
    /// may be where it is used otherwise: no index of a value in memory is so large.
    fn bytes(&mut self, offset: Value) -> Option<Offsets> {
        let known = self.interval(offset)?;
        match self.func.def_op(offset) {
            Some(Op::Bin(op @ (BinOp::Mul | BinOp::Shl), index, by)) if self.func.as_int(*by).is_some() => {
                let (index, by) = (self.interval(*index)?, self.interval(*by)?);
                let bytes = numbers::binary(*op, Flags::ADDRESS, self.bits(offset)?, &index, &by);
                Some(known.ends().map_or(bytes.clone(), |(lo, hi)| bytes.within(lo, hi)))
            }
            _ => Some(known),
        }
    }

    /// How many bits an integer has.
    fn bits(&self, value: Value) -> Option<u16> {
        match self.func.ty(value) {
            Type::Int(bits) => Some(*bits),
            _ => None,
        }
    }

    /// What is known of an integer from that of which it was made, here, where more may be known of it than where it
    /// was made: `i - 1` lies in an array where `i < 3` was asked since.
    fn derived(&mut self, value: Value) -> Option<Offsets> {
        let data = self.func.inst(self.func.def_inst(value)?);
        match data.op {
            Op::Bin(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Shl), a, by) => {
                let by = Offsets::from(Strided::exact(i64::try_from(self.func.as_int(by)?).ok()?));
                let a = self.interval(a)?;
                Some(numbers::binary(op, data.flags, self.bits(value)?, &a, &by))
            }
            Op::Cast(CastOp::ZExt, a) => {
                let known = self.interval(a)?;
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
            match self.func.def_op(value) {
                _ if *of == value => known = bound.of(&known),
                Some(Op::Bin(op @ (BinOp::Add | BinOp::Sub), a, b)) if a == of && self.func.as_int(*b).is_some() => {
                    if let (Some(x), Some(y), Some(bits)) = (self.interval(*a), self.interval(*b), self.bits(value)) {
                        known = numbers::binary(*op, Flags::NONE, bits, &bound.of(&x), &y);
                    }
                }
                Some(Op::Cast(CastOp::ZExt, a)) if a == of => {
                    if let Some((lo @ 0.., hi)) = self.interval(*a).and_then(|x| bound.of(&x).ends()) {
                        known = known.within(lo, hi);
                    }
                }
                _ => {}
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
    fn assign(&mut self, to: Slot, from: Value, bounds: &[(Value, Bound)]) {
        let ty = self.func.ty(from);
        if !ty.is_int() {
            return self.assign_leaves((to, ty, 0), (from, 0), ty);
        }
        if let Some(interval) = self.bounded(from, bounds) {
            self.facts.set_offset(to, interval);
        }
        self.carry(to, from);
    }

    /// What `from` carries, if it is an integer that may, is carried on.
    fn carry(&mut self, to: Slot, from: Value) {
        if self.is_moved(from) {
            let content = self.content(from);
            self.facts.set_content(to, content);
        }
    }

    /// A pointer, or the pointers in an aggregate, `part`, may be those of another value. Each of the two lies in a
    /// value from a leaf on.
    fn assign_leaves(&mut self, (to, ty, at): (Slot, &Type, usize), (from, first): (Value, usize), part: &Type) {
        for i in 0..part.leaves().len() {
            match self.leaf(from, first + i) {
                Some((object, offset)) if *ty == Type::Ptr => self.facts.reach(to, object, offset),
                Some(target) => self.facts.set_field(to, at + i, target),
                None => {}
            }
        }
    }

    /// What a pointer reaches, or the one in a leaf of an aggregate.
    fn leaf(&mut self, value: Value, i: usize) -> Option<(ObjId, Offsets)> {
        match self.func.ty(value) {
            Type::Ptr => self.pointer(value),
            _ => self.known(value).fields.get(&i).cloned(),
        }
    }

    /// Whether an integer may carry what was put into it elsewhere.
    fn is_moved(&self, value: Value) -> bool {
        may_carry(self.func.ty(value))
            && self.func.as_const(value).is_none()
            && !self.numbers.contains(self.func, value)
    }

    /// A value lies at `ptr`: join it with the cell of each place where that may be.
    fn access(&mut self, ptr: Value, value: Value, align: u64) {
        let Some((object, offsets)) = self.pointer(ptr) else { return };
        for offset in offsets.aligned(align).iter() {
            self.access_at(object, offset, value);
        }
    }

    /// So many bytes (`None`: unknown) at `ptr` are written over with something that comes from nowhere else: whatever
    /// float an enum had there, it has no cotangent any more.
    fn write_over(&mut self, ptr: Value, len: Option<u64>, align: u64) {
        let Some((object, offsets)) = self.pointer(ptr) else { return };
        for offset in offsets.aligned(align).iter() {
            unseen::moved(&mut self.facts.objects, object, offset, len);
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
                    if let Some((target, at)) = self.known(value).fields.get(&i).cloned() {
                        self.facts.objects.point(content, target, at);
                    }
                    if let Some(target) = self.facts.objects.pointee(content) {
                        self.facts.set_field(self.slot(value), i, target);
                    }
                }
            }
            return;
        }
        let content = self.facts.objects.cell(object, offset, ty.size());
        self.facts.objects.see(content, kind_of(&ty));
        let loaded = matches!(self.func.def_op(value), Some(Op::Load { .. }));
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
                    self.facts.set_object(self.slot(value), target);
                    if loaded {
                        self.set_offset(value, at);
                    }
                }
            }
            Type::Int(_) if self.is_moved(value) => {
                if self.facts.is_passed_on(self.id, value) {
                    unseen::moved(&mut self.facts.objects, object, offset, Some(ty.size()));
                }
                let carried = self.content(value);
                self.facts.objects.moved(content, carried);
            }
            _ => {}
        }
    }
}
