//! Which values and objects take part in the derivative.
//!
//! A float is *active* if it depends on an active input. An object is active if active floats may be stored in it. An
//! object *has a shadow* if it is active, or belongs to an argument with a shadow, or holds pointers to such objects.
//! Where a shadow is needed that cannot exist (in the memory of a `Const` argument) the analysis reports an error.
//!
//! Given [`Facts`], it hands on [`ActiveSet`]. It promises that a value it calls inactive has derivative zero.

mod checks;
mod errors;

use self::errors::{bit_trick, in_pieces, put_together};
use crate::analysis::follow::{Follow, Way, follow};
use crate::analysis::points_to::facts::{Facts, Slot};
use crate::analysis::points_to::objects::{Cell, Kinds, ObjId, Property};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::scope::OnPanic;
use crate::analysis::types::carried::handed_on;
use crate::analysis::types::exponents::{is_exponent, multiple_of};
use crate::analysis::types::rounded::is_rounded;
use crate::analysis::types::unseen::is_part;
use crate::analysis::types::{pieces, repacked, tricks};
use crate::custom::Role;
use crate::error::{Error, Result};
use crate::request::{Mode, Request};
use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, Callee, CastOp, FuncId, Function, InstData, Module, Op, SourceLoc, Type, Value};
use pullback_rules::rule;
use std::collections::{HashMap, HashSet};

/// What takes part.
#[derive(Clone, Debug, Default)]
pub struct ActiveSet {
    values: HashSet<Slot>,
    /// Integers that hold the bits of an active float.
    bits: HashSet<Slot>,
    objects: HashSet<ObjId>,
    shadowed: HashSet<ObjId>,
}

impl ActiveSet {
    /// Whether a value is an active float, a word that may be one, or an aggregate that holds one.
    pub fn is_active(&self, func: FuncId, value: Value) -> bool {
        self.values.contains(&(func, Some(value)))
    }

    /// Whether an integer holds the bits of an active float.
    pub fn has_active_bits(&self, func: FuncId, value: Value) -> bool {
        self.bits.contains(&(func, Some(value)))
    }

    /// Whether active floats may be in an object.
    pub fn is_active_object(&self, object: ObjId) -> bool {
        self.objects.contains(&object)
    }

    /// Whether an object has a shadow.
    pub fn is_shadowed(&self, object: ObjId) -> bool {
        self.shadowed.contains(&object)
    }

    /// Whether active floats can be reached from an object.
    pub fn reaches_active(&self, facts: &Facts, object: ObjId) -> bool {
        reached(facts, object).into_iter().any(|o| self.is_active_object(o))
    }

    /// Whether a pointer of `func`, or a pointer in an aggregate of it, has shadows.
    pub fn has_shadow(&self, facts: &Facts, func: FuncId, value: Value) -> bool {
        facts.object(func, value).into_iter().chain(facts.field_objects(func, value)).any(|o| self.is_shadowed(o))
    }

    /// Whether a value of type `ty` is a word that takes part: an integer that is a float's bits at one time and a
    /// pointer, or a number, at another. It has a cotangent as if it were a float, and a shadow as if it were a
    /// pointer.
    pub fn is_word(&self, facts: &Facts, func: FuncId, ty: &Type, value: Value) -> bool {
        let reaches = || facts.carried_object(func, value).is_some_and(|o| self.is_shadowed(o));
        facts.is_word(func, ty, value) && (self.is_active(func, value) || reaches())
    }

    /// Whether the result of a function is active.
    pub fn returns_active(&self, func: FuncId) -> bool {
        self.values.contains(&(func, None))
    }
}

/// Find what takes part.
pub fn analyse(module: &Module, facts: &Facts, request: &Request) -> Result<ActiveSet> {
    if facts.pops_nothing() {
        return Err(Error::internal("the reverse sweep of an inner derivative is called without its forward sweep"));
    }
    let mut analysis = Analysis {
        module,
        facts,
        request,
        active: ActiveSet::default(),
        changed: false,
        reasons: HashMap::new(),
        stored: HashSet::new(),
    };
    analysis.seed();
    let live = facts.returning.iter().map(|id| (*id, Cfg::new(module.func(*id)).live().collect()));
    let live: Vec<(FuncId, Vec<Block>)> = live.collect();
    follow(module, &facts.functions, &live, &mut analysis);
    analysis.check_origins()?;
    if request.mode == Mode::Forward {
        analysis.check_escaping_constants()?;
    }
    if let Some(lost) = pieces::find(module, facts, &analysis.active, &live) {
        return Err(in_pieces(lost));
    }
    if let Some(loc) = repacked::find(module, facts, &analysis.active, &live) {
        return Err(put_together().at(loc));
    }
    if let Some(loc) = tricks::find(module, facts, &analysis.active, &live) {
        return Err(bit_trick().at(loc));
    }
    for (id, blocks) in &live {
        let func = module.func(*id);
        let handed_on = handed_on(func);
        for inst in blocks.iter().flat_map(|block| &func.block(*block).insts) {
            analysis.check_all(*id, func, *inst, &handed_on).map_err(|error| error.at(func.inst(*inst).loc))?;
        }
    }
    if facts.on_panic == OnPanic::Free {
        for id in &facts.functions {
            analysis.check_way_out(*id)?;
        }
    }
    Ok(analysis.active)
}

struct Analysis<'a> {
    module: &'a Module,
    facts: &'a Facts,
    request: &'a Request,
    active: ActiveSet,
    changed: bool,
    /// The first instruction that made an object active, for messages.
    reasons: HashMap<ObjId, Option<SourceLoc>>,
    /// The objects to which active data is moved.
    stored: HashSet<ObjId>,
}

impl Follow for Analysis<'_> {
    fn pass(&mut self, id: FuncId, from: Value, to: Slot, way: Way) {
        // Of a rule's arguments the rule says what they are.
        if way != Way::Argument || self.request.rule(to.0).is_none() {
            self.set(to, self.active.is_active(id, from), self.active.has_active_bits(id, from));
        }
    }

    fn goes_on(&mut self) -> bool {
        self.shadows();
        std::mem::take(&mut self.changed)
    }

    fn instruction(&mut self, id: FuncId, func: &Function, data: &InstData) {
        let Some(result) = data.result else { return self.effect(id, func, data) };
        let is = |v: &Value| self.active.is_active(id, *v);
        let has_bits = |v: &Value| self.active.has_active_bits(id, *v);
        let is_float = holds_float(func.ty(result));
        let (active, bits) = match &data.op {
            op if is_rounded(func, op) => (false, false),
            Op::Bin(op, a, b) if op.is_float() => (is(a) || is(b), false),
            Op::FNeg(a) | Op::Cast(CastOp::FpExt | CastOp::FpTrunc, a) => (is(a), false),
            // A number beside active floats is not one.
            Op::ExtractValue(a, _) => (is(a) && is_float, false),
            // What lies in an aggregate as an integer is a number there: `tricks` sees to it.
            Op::InsertValue(a, b, _) => (is(a) || is(b) && holds_float(func.ty(*b)), false),
            Op::Math(f, args) => {
                let partials = &rule(*f).partials;
                (args.iter().zip(partials).any(|(a, p)| p.is_some() && is(a)), false)
            }
            Op::Cast(CastOp::Bitcast, a) if func.ty(*a).is_float() => {
                let word = self.facts.is_word(id, func.ty(result), result);
                let number = || self.facts.kinds(id, result).contains(Kinds::INT);
                (is(a) && word, is(a) && !word && !number())
            }
            // What must not be is found when all that is active is known.
            Op::Cast(CastOp::Bitcast, a) => {
                (is(a) || multiple_of(func, data, |_| false).is_some_and(|x| is(&x)), false)
            }
            Op::Load { ptr, align } => self.load(id, func, (*ptr, *align), result),
            Op::Call(Callee::Direct(callee), args, _) => {
                self.rule_call(id, *callee, args, data.loc);
                let returns = self.facts.functions.contains(callee) && self.request.rule(*callee).is_none();
                let returned = &(*callee, None);
                (returns && self.active.values.contains(returned), returns && self.active.bits.contains(returned))
            }
            op if is_exponent(func, op) => (false, false),
            Op::Bin(..) | Op::Cast(CastOp::Trunc | CastOp::ZExt | CastOp::SExt, _) | Op::Intrinsic(..) => {
                (false, data.op.operands().iter().any(|v| self.is_bits(id, func, *v)))
            }
            Op::Select(_, a, b) => (is(a) || is(b), !is_float && (has_bits(a) || has_bits(b))),
            Op::Freeze(a) => (is(a), !is_float && has_bits(a)),
            _ => (false, false),
        };
        self.set((id, Some(result)), active, bits);
    }
}

impl Analysis<'_> {
    fn seed(&mut self) {
        for object in self.facts.objects.all() {
            let args = &self.facts.objects.origins(object).args;
            if args.iter().any(|a| self.request.args[*a].activity.has_shadow()) {
                self.active.shadowed.insert(object);
                if self.holds_floats(object) {
                    self.active.objects.insert(object);
                }
            }
        }
    }

    fn holds_floats(&self, object: ObjId) -> bool {
        let objects = &self.facts.objects;
        objects.live_cells(object).any(|c| objects.kinds(c.content).has_float())
    }

    fn set(&mut self, slot: Slot, active: bool, bits: bool) {
        self.changed |= active && self.active.values.insert(slot);
        self.changed |= bits && self.active.bits.insert(slot);
    }

    fn set_object(&mut self, object: ObjId, loc: Option<SourceLoc>) {
        self.stored.insert(object);
        if self.active.objects.insert(object) {
            self.reasons.insert(object, loc);
            self.changed = true;
        }
    }

    /// Whether integer arithmetic on a value is arithmetic on the bits of an active float: not on a number that lies
    /// where a float lies in another variant.
    fn is_bits(&self, id: FuncId, func: &Function, value: Value) -> bool {
        let word = self.facts.is_word(id, func.ty(value), value) && self.active.is_active(id, value);
        self.active.has_active_bits(id, value) || word && !self.facts.kinds(id, value).contains(Kinds::INT)
    }

    /// Whether what is loaded is active, and whether it is the bits of an active float.
    fn load(&self, id: FuncId, func: &Function, (ptr, align): (Value, u64), result: Value) -> (bool, bool) {
        let Some((object, at)) = self.facts.target(id, ptr, align) else { return (false, false) };
        let ty = func.ty(result);
        if !self.active.is_active_object(object) || is_inert(self.facts, id, ptr, align, ty.size()) {
            return (false, false);
        }
        let word = self.facts.is_word(id, func.ty(result), result);
        let number = || {
            self.facts.kinds(id, result).contains(Kinds::INT)
                || is_part(self.facts, id, ptr, align, ty.size()) && !self.facts.is_passed_on(id, result)
        };
        let bits = ty.is_int() && !word && !number() && float_cells(self.facts, object, &at, ty.size());
        (holds_float(ty) || word, bits)
    }

    /// An instruction without a result.
    fn effect(&mut self, id: FuncId, func: &Function, data: &InstData) {
        match &data.op {
            Op::Store { ptr, value, .. } => {
                if (self.active.is_active(id, *value) || self.active.has_active_bits(id, *value))
                    && let Some(object) = self.facts.object(id, *ptr)
                {
                    self.set_object(object, data.loc);
                }
            }
            Op::Copy { dst, src, len, align, .. } => {
                if let (Some(to), Some(from)) = (self.facts.object(id, *dst), self.facts.object(id, *src))
                    && self.active.is_active_object(from)
                    && self.copies_floats(id, func, *dst, align.0, to, *len)
                {
                    self.set_object(to, data.loc);
                }
            }
            Op::Call(Callee::Direct(callee), args, _) => self.rule_call(id, *callee, args, data.loc),
            _ => {}
        }
    }

    /// A call of a function with a rule: where something active goes in, what comes out is active.
    fn rule_call(&mut self, id: FuncId, callee: FuncId, args: &[Value], loc: Option<SourceLoc>) {
        let Some(rule) = self.request.rule(callee) else { return };
        let places = || args.iter().zip(&rule.args).filter_map(|(a, arg)| Some((self.facts.object(id, *a)?, arg.role)));
        let goes_in = |role: Role| matches!(role, Role::Read | Role::Written);
        if !places().any(|(o, role)| goes_in(role) && self.active.reaches_active(self.facts, o)) {
            return;
        }
        let comes_out = |role: Role| matches!(role, Role::Result | Role::Written);
        let objects = places().filter(|(_, role)| comes_out(*role)).flat_map(|(o, _)| reached(self.facts, o));
        for object in objects.filter(|o| self.holds_floats(*o)).collect::<Vec<_>>() {
            self.set_object(object, loc);
        }
    }

    /// Whether the target region of a copy may hold floats.
    fn copies_floats(&self, id: FuncId, func: &Function, dst: Value, align: u64, to: ObjId, len: Value) -> bool {
        let at = self.facts.place(id, dst, align);
        match func.as_int(len) {
            Some(len) => float_cells(self.facts, to, &at, len as u64),
            None => self.holds_floats(to),
        }
    }

    /// Active objects, and objects that hold pointers to shadowed ones, have shadows.
    fn shadows(&mut self) {
        let objects = &self.facts.objects;
        loop {
            let mut grew = false;
            for object in objects.all() {
                if self.active.shadowed.contains(&object) {
                    continue;
                }
                let reaches = |c: &Cell| {
                    objects.kinds(c.content).contains(Kinds::PTR)
                        && !objects.is_inert(object, c)
                        && objects.pointee(c.content).is_some_and(|(o, _)| self.active.shadowed.contains(&o))
                };
                if self.active.objects.contains(&object) || objects.cells(object).iter().any(reaches) {
                    self.active.shadowed.insert(object);
                    grew = true;
                    self.changed = true;
                }
            }
            if !grew {
                return;
            }
        }
    }
}

/// The objects that can be reached from an object, itself first.
pub fn reached(facts: &Facts, object: ObjId) -> Vec<ObjId> {
    let mut seen = vec![facts.objects.find(object)];
    let mut next = 0;
    while let Some(&o) = seen.get(next) {
        next += 1;
        for target in facts.objects.cells(o).iter().filter_map(|c| facts.objects.pointee(c.content)).map(|(o, _)| o) {
            if !seen.contains(&target) {
                seen.push(target);
            }
        }
    }
    seen
}

/// Whether a place is in bytes that take no part.
pub(crate) fn is_inert(facts: &Facts, id: FuncId, ptr: Value, align: u64, width: u64) -> bool {
    let objects = &facts.objects;
    facts.object(id, ptr).is_some_and(|object| {
        objects.is_marked(object, Property::Inert)
            && objects.all_marked(object, Property::Inert, &facts.place(id, ptr, align), width)
    })
}

/// Whether `width` bytes at `at` may touch a float cell.
pub fn float_cells(facts: &Facts, object: ObjId, at: &Offsets, width: u64) -> bool {
    let objects = &facts.objects;
    objects.live_cells(object).any(|cell| objects.kinds(cell.content).has_float() && cell.meets(at, width))
}

/// Whether values of this type can hold a float.
pub fn holds_float(ty: &Type) -> bool {
    match ty {
        Type::F32 | Type::F64 => true,
        Type::Struct(fields) => fields.iter().any(holds_float),
        _ => false,
    }
}
