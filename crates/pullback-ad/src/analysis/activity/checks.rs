//! What stands in the way of a derivative: each is an error here, at its place.

use super::errors::*;
use super::{Analysis, holds_float, is_inert, reached};
use crate::analysis::effects::{Change, Deed, Effects, Place, Reason};
use crate::analysis::points_to::facts::may_carry;
use crate::analysis::points_to::objects::{Cell, Kinds, ObjId, Property};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::strided::Strided;
use crate::analysis::scope::{OnPanic, Scope};
use crate::analysis::types::exponents::multiple_of;
use crate::analysis::types::unseen::may_hide_floats;
use crate::custom::{CustomRule, Role};
use crate::error::{Error, Result};
use crate::request::{FieldKind, Mode};
use crate::runtime::TapeUse;
use pullback_ir::cfg::Cfg;
use pullback_ir::{Callee, CastOp, Constant, FuncId, Function, Inst, InstData, Op, SourceLoc, Type, Value};
use std::collections::HashSet;

/// How the names of run-time functions begin, which derivatives call.
const RUNTIME: &str = "__pullback_";

/// What an address of a function goes with.
enum Together {
    /// This pointer.
    Value(Value),
    /// A pointer to one of these.
    Objects(Vec<ObjId>),
}

impl Analysis<'_> {
    /// What stands in the way at an instruction.
    pub(super) fn check_all(&self, id: FuncId, func: &Function, inst: Inst, handed_on: &HashSet<Value>) -> Result<()> {
        self.check(id, func, inst)?;
        self.check_unseen(id, func, inst, handed_on)?;
        if self.request.rules.has_effects() { self.check_opaque(id, func, inst) } else { Ok(()) }
    }

    /// What a rule knows nothing of must not carry a derivative: the captures of a closure.
    fn check_rule_call(&self, id: FuncId, rule: &CustomRule, args: &[Value]) -> Result<()> {
        for (place, arg) in args.iter().zip(&rule.args).filter(|(_, arg)| arg.role == Role::Inert) {
            let layout = rule.layouts.get(arg.layout);
            let unseen =
                layout.fields.iter().any(|field| matches!(field.kind, FieldKind::Opaque(_) | FieldKind::Unknown(_)));
            let object = self.facts.object(id, *place);
            if unseen && object.is_some_and(|o| self.active.reaches_active(self.facts, o)) {
                return Err(no_place_in_rule(arg, rule));
            }
        }
        Ok(())
    }

    /// The instructions of these functions, each with its function.
    fn all_in(&self, functions: &[FuncId]) -> impl Iterator<Item = (FuncId, &Function, &InstData)> {
        let funcs = functions.iter().map(|id| (*id, self.module.func(*id)));
        funcs.flat_map(|(id, func)| func.insts().map(move |inst| (id, func, func.inst(inst))))
    }

    /// Where a function is called.
    fn call_of(&self, id: FuncId) -> Option<SourceLoc> {
        let is_call = |op: &Op| matches!(op, Op::Call(Callee::Direct(callee), ..) if *callee == id);
        self.all_in(&self.facts.functions).find(|(.., data)| is_call(&data.op))?.2.loc
    }

    /// Every object that needs a shadow must be able to have one.
    pub(super) fn check_origins(&self) -> Result<()> {
        let request = self.request;
        // First the objects that hold active data: an error is to show the store, not a pointer to the place.
        let shadowed = self.facts.objects.all().filter(|o| self.active.is_shadowed(*o));
        let (holding, pointing): (Vec<_>, Vec<_>) = shadowed.partition(|o| self.active.is_active_object(*o));
        for object in holding.into_iter().chain(pointing) {
            let origins = self.facts.objects.origins(object);
            let loc = self.reasons.get(&object).copied().flatten();
            // A result whose derivative is not asked for still has a shadow, of the engine's own.
            let mut reached_from = origins.args.iter().chain(&origins.inert);
            let constant = reached_from.find(|a| !request.args[**a].activity.has_shadow() && !request.is_result(**a));
            let shadowed = origins.args.iter().find(|a| request.args[**a].activity.has_shadow());
            let name = |arg: &usize| &*request.args[*arg].name;
            let error = match (constant, shadowed) {
                (Some(constant), Some(other)) => const_or_not(name(constant), name(other)),
                (Some(constant), None) => in_const(name(constant)),
                _ if let Some(skipped) = origins.inert.first() => behind_skipped(name(skipped)),
                _ if origins.statics => in_static(),
                _ if origins.foreign => in_foreign(),
                _ => continue,
            };
            return Err(error.at(loc));
        }
        Ok(())
    }

    /// The tangent of a constant is zeros, in memory of the derivative's own, which the caller must not get to see.
    /// (What has neither floats nor pointers in it is its own tangent.)
    pub(super) fn check_escaping_constants(&self) -> Result<()> {
        let objects = &self.facts.objects;
        let has_tangent = |object: ObjId| {
            let (origins, mut cells) = (objects.origins(object), objects.cells(object).iter());
            origins.constants && cells.any(|c| objects.kinds(c.content).without_int() != Kinds::NONE)
        };
        for object in objects.all().filter(|o| self.active.is_shadowed(*o) && !objects.origins(*o).args.is_empty()) {
            let mut targets = objects.live_cells(object).filter_map(|cell| Some(objects.pointee(cell.content)?.0));
            // What is in an argument's memory from the start is the caller's.
            let written = || {
                let result = objects.origins(object).args.iter().any(|arg| self.request.is_result(*arg));
                result || self.moves_pointers_to(object)
            };
            if let Some(target) = targets.find(|target| has_tangent(*target))
                && written()
            {
                return Err(escaping_constant().at(self.stored_at(object, target)));
            }
        }
        Ok(())
    }

    /// Whether pointers may be stored in an object, or copied there.
    fn moves_pointers_to(&self, object: ObjId) -> bool {
        self.all_in(&self.facts.returning).any(|(id, func, data)| match &data.op {
            Op::Store { ptr, value, .. } => {
                let carries = *func.ty(*value) == Type::Ptr || self.facts.is_word(id, func.ty(*value), *value);
                carries && self.facts.object(id, *ptr) == Some(object)
            }
            Op::Copy { dst, .. } => self.facts.object(id, *dst) == Some(object),
            _ => false,
        })
    }

    /// Where a pointer to one object is stored in another.
    fn stored_at(&self, place: ObjId, target: ObjId) -> Option<SourceLoc> {
        let is = |id, value, object| self.facts.object(id, value) == Some(object);
        self.all_in(&self.facts.returning).find_map(|(id, _, data)| match data.op {
            Op::Store { ptr, value, .. } if is(id, ptr, place) && is(id, value, target) => data.loc,
            _ => None,
        })
    }

    /// An argument's enum that is moved without a look at its variant, though its floats cannot be told from pointers,
    /// or floats of one width from those of another.
    fn check_unseen(&self, id: FuncId, func: &Function, inst: Inst, handed_on: &HashSet<Value>) -> Result<()> {
        let data = func.inst(inst);
        let hides = |ptr: Value, align: u64, len: Option<u64>| {
            let object = self.facts.object(id, ptr).filter(|o| self.active.is_shadowed(*o));
            object.is_some_and(|o| may_hide_floats(&self.facts.objects, o, &self.facts.place(id, ptr, align), len))
        };
        let hidden = match (&data.op, data.result) {
            (Op::Load { ptr, align }, Some(result)) => {
                let ty = func.ty(result);
                let word = *ty == Type::Ptr || may_carry(ty);
                word && handed_on.contains(&result) && hides(*ptr, *align, Some(ty.size()))
            }
            // In forward mode a shadow is copied as a whole.
            (Op::Copy { dst, src, len, align, .. }, _) if self.request.mode == Mode::Reverse => {
                let len = func.as_int(*len).map(|n| n as u64);
                hides(*src, align.1, len) || hides(*dst, align.0, len)
            }
            _ => false,
        };
        if hidden { Err(moved_unseen()) } else { Ok(()) }
    }

    /// On the way to a panic, too, it has to be known which pointers have shadows: what those lead to is given back.
    /// The tangents of floats are neither read nor written there.
    pub(super) fn check_way_out(&self, id: FuncId) -> Result<()> {
        let func = self.module.func(id);
        let (cfg, returns) = (Cfg::new(func), self.facts.returning.contains(&id));
        for block in Scope::new(self.module, func, &cfg, OnPanic::Free).blocks {
            let is_unclear = |ptr: Value, align: u64, value: Value| {
                let ty = func.ty(value);
                (*ty == Type::Ptr || returns && cfg.can_return(block)) && self.is_partly_inert(id, ptr, align, ty)
            };
            for data in func.block(block).insts.iter().map(|inst| func.inst(*inst)) {
                let unclear = match &data.op {
                    Op::Load { ptr, align } => data.result.is_some_and(|result| {
                        is_unclear(*ptr, *align, result) || self.may_not_be_inert(id, *ptr, *align, result)
                    }),
                    Op::Store { ptr, value, align } => is_unclear(*ptr, *align, *value),
                    _ => false,
                };
                if unclear {
                    return Err(partly_inert().at(data.loc));
                }
            }
        }
        Ok(())
    }

    /// Whether a pointer is to memory of unknown type, without a shadow, that may be the same as cells in which active
    /// data is stored.
    fn may_be_active_cell(&self, id: FuncId, ptr: Value) -> bool {
        self.facts.object(id, ptr).is_some_and(|object| self.may_have_other_names(object))
            && self.stored.iter().any(|object| self.has_cells_of_floats(*object))
    }

    /// Whether an object without a shadow is of unknown type, so that it may be the same as cells of arguments. (Of
    /// arguments whose types say where their cells are, the wrapper knows that they are not the same.)
    fn may_have_other_names(&self, object: ObjId) -> bool {
        let objects = &self.facts.objects;
        self.facts.regions.is_shared(object)
            && !self.active.is_shadowed(object)
            && (objects.origins(object).is_untyped() || objects.is_marked(object, Property::Inert))
    }

    /// Whether an object is an argument's, and has floats in cells.
    fn has_cells_of_floats(&self, object: ObjId) -> bool {
        let (objects, regions) = (&self.facts.objects, &self.facts.regions);
        let is_in_cell = |c: &Cell| {
            objects.kinds(c.content).has_float() && objects.some_marked(object, Property::Shared, &c.at.into(), c.width)
        };
        !objects.origins(object).args.is_empty()
            && (regions.is_wholly_shared(object)
                || regions.is_shared(object) && objects.live_cells(object).any(is_in_cell))
    }

    /// Whether floats that are written to an object without a shadow may be in a cell of an argument that has one: what
    /// was there has a derivative, and its shadow would keep it.
    fn may_overwrite_active_cell(&self, object: ObjId) -> bool {
        let is_such = |o: ObjId| self.active.is_active_object(o) && self.has_cells_of_floats(o);
        self.may_have_other_names(object) && self.facts.objects.all().any(is_such)
    }

    /// Whether a float or a pointer is read or written that may be in bytes that take no part, or in others.
    fn is_partly_inert(&self, id: FuncId, ptr: Value, align: u64, ty: &Type) -> bool {
        let Some(object) = self.facts.object(id, ptr).filter(|o| self.active.is_shadowed(*o)) else { return false };
        if !(holds_float(ty) || *ty == Type::Ptr) {
            return false;
        }
        let (objects, at) = (&self.facts.objects, self.facts.place(id, ptr, align));
        let some = |property| objects.some_marked(object, property, &at, ty.size());
        holds_float(ty) && objects.touched_opaque(object, &at, ty.size()).any(|opaque| opaque.skips)
            || some(Property::PartlyInert)
            || some(Property::Inert) && !is_inert(self.facts, id, ptr, align, ty.size())
    }

    /// Whether a pointer is read from bytes that take no part, so that it has no shadow there, and may be one that has.
    fn may_not_be_inert(&self, id: FuncId, ptr: Value, align: u64, result: Value) -> bool {
        let object = self.facts.object(id, result).or_else(|| self.facts.carried_object(id, result));
        object.is_some_and(|object| self.active.is_shadowed(object))
            && self.facts.object(id, ptr).is_some_and(|object| self.active.is_shadowed(object))
            && is_inert(self.facts, id, ptr, align, self.module.func(id).ty(result).size())
    }

    /// Whether a pointer that may lead to bytes that take no part is stored where, by a layout, pointers lead to
    /// floats.
    fn leads_to_inert(&self, id: FuncId, ptr: Value, align: u64, value: Value) -> bool {
        let (Some(to), Some(object)) = (self.facts.object(id, ptr), self.facts.object(id, value)) else { return false };
        let objects = &self.facts.objects;
        let may_be_inert = |at: &Offsets, width| {
            objects.some_marked(object, Property::Inert, at, width)
                || objects.some_marked(object, Property::PartlyInert, at, width)
                || objects.touched_opaque(object, at, width).any(|opaque| opaque.skips)
        };
        let (place, start) = (self.facts.place(id, ptr, align), self.facts.place(id, value, 1));
        let mut floats = objects.led_to(to, &place);
        floats.any(|float| may_be_inert(&start.plus(&Strided::exact(float.offset as i64).into()), float.width))
    }

    /// Whether a pointer to memory that the function makes, and that leads to skipped fields, is stored where a layout
    /// says that there is a shared reference: the wrapper leaves alone what is behind it.
    fn leaks_skipped(&self, id: FuncId, ptr: Value, align: u64, value: Value) -> bool {
        let (Some(to), Some(object)) = (self.facts.object(id, ptr), self.facts.object(id, value)) else { return false };
        let objects = &self.facts.objects;
        if !objects.origins(object).heap || !objects.is_lent(to, &self.facts.place(id, ptr, align)) {
            return false;
        }
        let has = |object, property| objects.is_marked(object, property);
        let skips = |object: &ObjId| has(*object, Property::Inert) || has(*object, Property::PartlyInert);
        reached(self.facts, object).iter().any(skips)
    }

    /// Functions without derivative must leave the floats and pointers alone that have shadows: those that are called,
    /// and those whose address goes somewhere together with a pointer.
    fn check_opaque(&self, id: FuncId, func: &Function, inst: Inst) -> Result<()> {
        let (data, rules) = (func.inst(inst), &self.request.rules);
        if let Op::Call(Callee::Direct(callee), args, _) = &data.op
            && self.request.rule(*callee).is_none()
            && let Some(effects) = rules.effects(*callee)
        {
            for change in &effects.changes {
                let found = args.get(change.param).and_then(|arg| self.spoiled(id, func, *arg, change, effects.reason));
                if let Some(deed) = found {
                    return Err(spoils(&format!("`{}`", self.name(*callee)), deed, effects.reason));
                }
            }
        }
        for (position, operand) in data.op.operands().into_iter().enumerate() {
            let Some(constant) = func.as_const(operand) else { continue };
            // Where one of std's own is called by its address, that is an error by itself.
            let effects = rules.effects_by(constant).filter(|effects| effects.reason != Reason::Nature);
            let Some(Effects { changes, reason }) = effects else { continue };
            let with = self.together_with(id, func, inst, position);
            for change in changes.iter().filter(|change| change.param == 0) {
                let spoiled = match &with {
                    Together::Value(value) => self.spoiled(id, func, *value, change, *reason),
                    Together::Objects(objects) => {
                        let reaches =
                            |o: &ObjId| self.active.is_shadowed(*o) && self.active.reaches_active(self.facts, *o);
                        objects.iter().any(reaches).then_some(change.deed).filter(|deed| *deed != Deed::Counts)
                    }
                };
                if let Some(deed) = spoiled {
                    let name = match constant {
                        Constant::Func(function) => format!("`{}`", self.name(*function)),
                        _ => "a method of this value".to_owned(),
                    };
                    return Err(spoils(&name, deed, *reason));
                }
            }
        }
        Ok(())
    }

    /// The name of a function, for a message.
    fn name(&self, function: FuncId) -> String {
        format!("{:#}", rustc_demangle::demangle(&self.module.func(function).name))
    }

    /// The pointer that goes with an address of a function, or a table of them, where that is an operand: the one
    /// before it.
    fn together_with(&self, id: FuncId, func: &Function, inst: Inst, position: usize) -> Together {
        match &func.inst(inst).op {
            Op::Call(_, args, _) if position > 0 && args.len() > position => Together::Value(args[position - 1]),
            Op::InsertValue(into, _, 1) => match func.def_op(*into) {
                Some(Op::InsertValue(_, value, 0)) => Together::Value(*value),
                _ => Together::Objects(self.facts.field_objects(id, *into).collect()),
            },
            Op::Store { ptr, .. } => {
                let objects = &self.facts.objects;
                let before = self.facts.offset(id, *ptr).plus(&Offsets::from(Strided::exact(-8)));
                let there = self.facts.object(id, *ptr).into_iter().flat_map(|o| objects.touched(o, &before, 8));
                Together::Objects(there.filter_map(|c| objects.pointee(c.content)).map(|(o, _)| o).collect())
            }
            _ => Together::Objects(self.facts.objects.all().collect()),
        }
    }

    /// Whether a change behind a pointer spoils a shadow: what is done then. If what is written is computed from what
    /// is behind the pointer, floats need a shadow that have none.
    fn spoiled(&self, id: FuncId, func: &Function, given: Value, change: &Change, reason: Reason) -> Option<Deed> {
        if *func.ty(given) != Type::Ptr {
            let number = func.ty(given).is_int() && self.facts.kinds(id, given).contains(Kinds::INT);
            let active = self.active.is_active(id, given) && !number || self.active.has_active_bits(id, given);
            return Some(change.deed).filter(|deed| active && *deed == Deed::Keeps);
        }
        let (object, offset) = (self.facts.object(id, given)?, self.facts.offset(id, given));
        let depends = reason == Reason::Unseen && self.active.reaches_active(self.facts, object);
        let overwrites = || {
            reason != Reason::Nature
                && matches!(change.deed, Deed::WritesFloats | Deed::Replaces)
                && reached(self.facts, object).into_iter().any(|o| self.may_overwrite_active_cell(o))
        };
        (self.is_spoiled(object, &offset, change, &change.place, depends) || overwrites()).then_some(change.deed)
    }

    /// Whether a change at a place, seen from a pointer into an object, spoils a shadow.
    fn is_spoiled(&self, object: ObjId, base: &Offsets, change: &Change, place: &Place, depends: bool) -> bool {
        let (objects, active, deed) = (&self.facts.objects, &self.active, change.deed);
        // In forward mode every shadow goes where its primal goes, also one without floats. What only such functions
        // have made has none: a place for a result is filled, not changed.
        let follows = self.request.mode == Mode::Forward && deed == Deed::Replaces;
        let result = self.request.args.len() - 1;
        let is_known = |o: ObjId| objects.origins(o).local || objects.origins(o).args.iter().any(|arg| *arg != result);
        let reaches =
            |o: ObjId| active.is_shadowed(o) && (follows && is_known(o) || active.reaches_active(self.facts, o));
        // What takes no part, the text of a string say, has nothing in a shadow that follows it.
        let touched = |at: Offsets, width: u64| objects.live_cells(object).filter(move |cell| cell.meets(&at, width));
        match place {
            Place::At(at, width) if deed != Deed::HandsBack => {
                let (at, width) = match width {
                    Some(width) => (base.plus(at), *width),
                    None => (Offsets::any(), 1),
                };
                let spoils = |c: &Cell| {
                    let kinds = objects.kinds(c.content);
                    let float = kinds.has_float() && (active.is_active_object(object) || depends);
                    let pointee = || objects.pointee(c.content).map(|(o, _)| o);
                    float || kinds.contains(Kinds::PTR) && pointee().is_some_and(reaches)
                };
                (active.is_shadowed(object) || depends) && touched(at, width).any(spoils)
            }
            Place::Through(at, place) => touched(base.plus(&Offsets::from(*at)), 8)
                .filter_map(|c| objects.pointee(c.content))
                .any(|(object, offset)| self.is_spoiled(object, &offset, change, place, depends)),
            Place::At(..) | Place::Anywhere => deed != Deed::Counts && reaches(object),
        }
    }

    /// Whether a value carries a derivative, or leads to what does.
    fn touches(&self, id: FuncId, func: &Function, value: Value) -> bool {
        let is_number = || func.ty(value).is_int() && self.facts.kinds(id, value).contains(Kinds::INT);
        let leads = |object| self.active.is_shadowed(object) && self.active.reaches_active(self.facts, object);
        self.active.is_active(id, value) && !is_number()
            || self.active.has_active_bits(id, value)
            || *func.ty(value) == Type::Ptr && self.facts.object(id, value).is_some_and(leads)
    }

    /// What cannot be differentiated is an error at its place.
    fn check(&self, id: FuncId, func: &Function, inst: Inst) -> Result<()> {
        let data = func.inst(inst);
        let has_bits = |v: Value| self.active.has_active_bits(id, v);
        let is_trick = match &data.op {
            Op::Cast(CastOp::Bitcast, a) => {
                let is_float = data.result.is_some_and(|r| func.ty(r).is_float());
                has_bits(*a) && is_float && multiple_of(func, data, has_bits).is_none()
            }
            Op::Cast(CastOp::UiToFp | CastOp::SiToFp, a) => self.is_bits(id, func, *a),
            Op::Cast(CastOp::IntToPtr, a) | Op::Store { value: a, .. } => has_bits(*a),
            // What comes out of the aggregate is not known.
            Op::InsertValue(_, value, _) => func.ty(*value).is_int() && self.is_bits(id, func, *value),
            _ => false,
        };
        if is_trick {
            return Err(bit_trick());
        }
        let touches = |args: &[Value]| args.iter().any(|arg| self.touches(id, func, *arg));
        match (&data.op, data.result) {
            (Op::Load { ptr, align }, Some(result)) => self.check_load(id, func, (*ptr, *align), result),
            (Op::Store { ptr, value, align }, _) => self.check_store(id, func, (*ptr, *align), *value),
            (Op::Copy { dst, src, len, align, .. }, _) => {
                let Some(to) = self.facts.object(id, *dst) else { return Ok(()) };
                let copies = || self.copies_floats(id, func, *dst, align.0, to, *len);
                if self.may_be_active_cell(id, *src) && copies() {
                    Err(unknown_cell())
                } else if self.may_overwrite_active_cell(to) && copies() {
                    Err(overwritten_cell())
                } else {
                    Ok(())
                }
            }
            (Op::Fill { dst, len, align, .. }, _) => {
                let overwrites =
                    |to| self.may_overwrite_active_cell(to) && self.copies_floats(id, func, *dst, *align, to, *len);
                if self.facts.object(id, *dst).is_some_and(overwrites) { Err(overwritten_cell()) } else { Ok(()) }
            }
            (Op::Call(Callee::Direct(callee), args, _), _) if let Some(rule) = self.request.rule(*callee) => {
                self.check_rule_call(id, rule, args)
            }
            (Op::Call(Callee::Direct(callee), args, _), _) => {
                let known = TapeUse::of(self.module, func, &data.op).is_some();
                if known || !self.is_unseen(*callee) || !touches(args) {
                    return Ok(());
                }
                Err(self.unseen_call(id, *callee))
            }
            (Op::Call(Callee::Indirect(_), args, _), _) if touches(args) => Err(indirect_call()),
            (Op::Opaque(op), result) if touches(&op.args) => {
                // Reading through a pointer is harmless where no result carries a float.
                let carries = result.is_some_and(|r| !matches!(func.ty(r), Type::Int(1..=31)));
                if op.writes || carries { Err(opaque(op)) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    fn check_load(&self, id: FuncId, func: &Function, (ptr, align): (Value, u64), result: Value) -> Result<()> {
        if holds_float(func.ty(result)) && self.may_be_active_cell(id, ptr) {
            return Err(unknown_cell());
        }
        let unclear =
            self.is_partly_inert(id, ptr, align, func.ty(result)) || self.may_not_be_inert(id, ptr, align, result);
        if unclear { Err(partly_inert()) } else { Ok(()) }
    }

    fn check_store(&self, id: FuncId, func: &Function, (ptr, align): (Value, u64), value: Value) -> Result<()> {
        let ty = func.ty(value);
        let is_shadowed = |v| self.facts.object(id, v).is_some_and(|object| self.active.is_shadowed(object));
        let is_reference = *ty == Type::Ptr && is_shadowed(value);
        let may_be_float = || holds_float(ty) || ty.is_int() && self.facts.kinds(id, value).has_float();
        if self.is_partly_inert(id, ptr, align, ty) {
            Err(partly_inert())
        } else if self.facts.object(id, ptr).is_some_and(|o| self.may_overwrite_active_cell(o)) && may_be_float() {
            Err(overwritten_cell())
        } else if self.active.is_active(id, value)
            && is_shadowed(ptr)
            && is_inert(self.facts, id, ptr, align, ty.size())
        {
            Err(in_skipped())
        } else if is_reference && self.leads_to_inert(id, ptr, align, value) {
            Err(leads_to_skipped())
        } else if self.request.mode == Mode::Forward && is_reference && self.leaks_skipped(id, ptr, align, value) {
            Err(leaked_skipped())
        } else {
            Ok(())
        }
    }

    /// Whether a function is not looked into, and may carry a derivative.
    fn is_unseen(&self, callee: FuncId) -> bool {
        let attrs = &self.module.func(callee).attrs;
        !self.facts.functions.contains(&callee) && !attrs.inactive && !attrs.noreturn
    }

    /// A function that is not looked into is given data that depends on the inputs.
    fn unseen_call(&self, id: FuncId, callee: FuncId) -> Error {
        let name = self.name(callee);
        // It is a stand-in that calls it.
        if let Some(rule) = self.request.rules.get(id, self.request.mode.other()) {
            return rule_of_other_mode(&name, rule, self.request.mode).at(self.call_of(id));
        }
        if name.starts_with(RUNTIME) { moves_words() } else { no_body(&name, self.module.func(callee)) }
    }
}
