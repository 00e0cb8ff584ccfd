//! The augmented primal: the program with shadow pointers beside its pointers, and a linear operation at each active
//! instruction.
//!
//! Given a function with its facts, [`augment`] builds a new function whose signature is that of the derivative (tape,
//! then each parameter followed by its shadows). Shadow memory is allocated where primal memory is, shadow pointers are
//! stored where primal pointers are. Floats are not touched: each active instruction gets a [`Linear`] operation, which
//! forward mode emits at once and reverse mode transposes later.
//!
//! Blocks that are not in [scope](crate::analysis::scope) (panics) are copied as they are: nothing there is
//! differentiated. What is done when a call panics is done as in the primal in reverse mode, where the tape owns all
//! shadows; in forward mode by a function that gives back the shadows too.

use crate::analysis::points_to::objects::ObjId;
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::regions::Regions;
use crate::analysis::scope::Scope;
use crate::analysis::types::computed::Numbers;
use crate::analysis::types::plain;
use crate::error::{Error, ErrorKind, Result};
use crate::linearise::linear::Linear;
use crate::linearise::program::LinearFunction;
use crate::linearise::text;
use crate::linearise::verify::verify;
use crate::request::{Activity, Mode};
use crate::rules::{Coefficient, Factor, rule};
use crate::runtime::TapeUse;
use crate::session::{Form, Session};
use pullback_ir::cfg::Cfg;
use pullback_ir::{
    BinOp, Block, BlockCall, Builder, Callee, CastOp, Constant, Flags, FuncId, Function, Inst, InstData, IntPred,
};
use pullback_ir::{MemoryEffects, Op, Terminator, Type, Value, ValueDef};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The augmented primal of one function.
pub struct Augmented {
    /// The new function. In forward mode it is the finished derivative.
    pub func: Function,
    /// The linear operations that follow its instructions (reverse mode).
    pub linear: LinearFunction,
    /// The object and offset of each pointer, primal and shadow alike.
    pub places: HashMap<Value, (ObjId, Offsets)>,
    /// The tape parameter (reverse mode).
    pub tape: Option<Value>,
    /// Pointers made at the start of the function that stay valid throughout.
    pub stack: HashSet<Value>,
    /// Memory taken from the tape at the start of a callee, in order: where, and how many bytes.
    pub pushed: Vec<(Value, u64)>,
    /// Shadow words read in the forward sweep, which the reverse sweep must not read again: there may be cotangents
    /// there then.
    pub pinned: HashSet<Value>,
    /// Calls that write nothing that the program reads, but to these objects.
    pub writes: HashMap<Inst, Vec<ObjId>>,
    /// Functions that write no memory the program reads.
    pub harmless: HashSet<FuncId>,
    /// Objects that nobody writes.
    pub unwritten: Rc<HashSet<ObjId>>,
    /// Which objects may be written by other names than their own.
    pub regions: Rc<Regions>,
    /// The primal's own result type.
    pub ret: Option<Type>,
}

impl Augmented {
    /// A function with a linear program, of whose memory nothing is known. Its first parameter is the tape.
    pub fn plain(func: Function, linear: LinearFunction) -> Self {
        let tape = if func.is_declaration() { None } else { func.param_values().first().copied() };
        let ret = func.ret.clone();
        Augmented {
            func,
            linear,
            places: HashMap::new(),
            tape,
            stack: HashSet::new(),
            pushed: Vec::new(),
            pinned: HashSet::new(),
            writes: HashMap::new(),
            harmless: HashSet::new(),
            unwritten: Rc::default(),
            regions: Rc::default(),
            ret,
        }
    }

    /// The [region](Regions::region) that a pointer points into, and where: two pointers into two regions, or into
    /// places of one region that do not overlap, never reach the same bytes.
    pub fn place(&self, pointer: Value) -> Option<(ObjId, Cow<'_, Offsets>)> {
        let (object, offsets) = self.places.get(&pointer)?;
        let shared = self.regions.is_shared(*object);
        let offsets = if shared { Cow::Owned(Offsets::any()) } else { Cow::Borrowed(offsets) };
        Some((self.regions.region(*object), offsets))
    }
}

/// Build the augmented primal of `id`.
pub fn augment(session: &mut Session, id: FuncId, form: Form, name: &str) -> Result<Augmented> {
    let old = session.module.func(id).clone();
    let cfg = Cfg::new(&old);
    let scope = Scope::new(session.module, &old, &cfg, session.facts.on_panic);
    let mut this = Augmenter {
        session,
        id,
        form,
        cfg,
        scope,
        func: Function::new(name, Vec::new(), None),
        numbers: Numbers::new(&old),
        old,
        values: HashMap::new(),
        shadows: HashMap::new(),
        tangents: HashMap::new(),
        blocks: HashMap::new(),
        block: Block::from_index(0),
        may_return: true,
        prologue: Vec::new(),
        out: Augmented::plain(Function::new("", Vec::new(), None), LinearFunction::default()),
    };
    this.out.unwritten = this.session.unwritten.clone();
    this.out.regions = this.session.facts.regions.clone();
    this.signature();
    this.run()?;
    let mut out = this.out;
    out.func = this.func;
    let runtime = &session.runtime;
    out.harmless.extend([runtime.push.func, runtime.shadow_alloc, runtime.defer_dealloc]);
    out.harmless.extend([runtime.push_at, runtime.pop_at, runtime.tape_keep, runtime.tape_own, runtime.tape_release]);
    out.harmless.insert(runtime.set_repeatable);
    let reads_only = |f: &Function| f.is_declaration() && f.attrs.memory != MemoryEffects::Any;
    out.harmless.extend(session.module.functions().filter(|(_, f)| reads_only(f)).map(|(id, _)| id));
    out.linear.returns_active = session.active.returns_active(id);
    if cfg!(debug_assertions) {
        let (module, width) = (&*session.module, session.request.width);
        if let Err(error) = verify(module, &out.func, &out.linear, width) {
            panic!("linearising is at fault: {error}\n{}", text::print(module, &out.func, &out.linear));
        }
    }
    Ok(out)
}

pub(crate) struct Augmenter<'s, 'a> {
    pub(crate) session: &'s mut Session<'a>,
    pub(crate) id: FuncId,
    pub(crate) form: Form,
    cfg: Cfg,
    scope: Scope,
    pub(crate) old: Function,
    /// The numbers of `old`.
    numbers: Numbers,
    pub(crate) func: Function,
    /// Old value to new.
    pub(crate) values: HashMap<Value, Value>,
    /// New pointer to its shadows.
    pub(crate) shadows: HashMap<Value, Vec<Value>>,
    /// New float to its tangents (forward mode).
    pub(crate) tangents: HashMap<Value, Vec<Value>>,
    blocks: HashMap<Block, Block>,
    pub(crate) block: Block,
    /// Whether the block that is being copied leads to a return. If not, nobody reads the tangents that it computes.
    pub(crate) may_return: bool,
    /// Instructions that go to the start of the entry block.
    pub(crate) prologue: Vec<Inst>,
    pub(crate) out: Augmented,
}

impl Augmenter<'_, '_> {
    pub(crate) fn width(&self) -> usize {
        self.session.request.width
    }

    pub(crate) fn is_forward(&self) -> bool {
        self.session.request.mode == Mode::Forward
    }

    fn is_active(&self, old: Value) -> bool {
        self.session.active.is_active(self.id, old)
    }

    pub(crate) fn has_shadow(&self, old: Value) -> bool {
        self.session.has_shadow(self.id, old)
    }

    /// Make the entry block with the derivative's parameters.
    fn signature(&mut self) {
        for block in self.old.blocks().filter(|b| self.cfg.is_reachable(*b)).collect::<Vec<_>>() {
            let new = self.func.add_block();
            self.blocks.insert(block, new);
        }
        let entry = self.blocks[&self.old.entry()];
        self.func.set_entry(entry);
        if !self.is_forward() {
            self.out.tape = Some(self.func.add_param(entry, Type::Ptr));
        }
        for (i, old) in self.old.param_values().to_vec().into_iter().enumerate() {
            let ty = self.old.ty(old).clone();
            let new = self.func.add_param(entry, ty.clone());
            self.bind(old, new);
            let shadowed = match self.form {
                Form::Whole | Form::Split => self.session.request.args[i].activity.has_shadow(),
                Form::Callee | Form::Joint => self.session.has_companion(self.id, old),
            };
            if shadowed {
                let companions = (0..self.width()).map(|_| self.func.add_param(entry, ty.clone())).collect();
                self.set_companion(old, new, companions);
            }
            if !self.form.is_callee() && !shadowed && self.session.request.is_result(i) && self.has_shadow(old) {
                self.unwanted(i, old, new);
            }
            if self.is_active(old) {
                self.out.linear.params.push(new);
            }
            if !self.form.is_callee() && self.session.request.args[i].activity == Activity::DuplicatedNoNeed {
                self.unneeded(i, old);
            }
        }
        let types = self.func.param_values().iter().map(|v| self.func.ty(*v).clone()).collect();
        self.func.params = types;
        let doubled = self.session.returns_companion(self.id);
        self.func.ret = match &self.old.ret {
            Some(ty) if doubled => Some(Type::structure(std::iter::repeat_n(ty.clone(), self.width() + 1))),
            other => other.clone(),
        };
    }

    /// Nobody reads this primal result: it goes to memory of our own, and the optimiser drops it.
    fn unneeded(&mut self, arg: usize, old: Value) {
        if !self.session.request.is_result(arg) {
            return;
        }
        let size = self.result_size(arg);
        let scratch = self.prologue_value(Op::Alloca { size, align: 16 }, Type::Ptr);
        let shadows = self.shadows.get(&self.values[&old]).cloned();
        self.bind(old, scratch);
        self.out.stack.insert(scratch);
        if let Some(shadows) = shadows {
            self.shadows.insert(scratch, shadows);
        }
    }

    /// Nobody wants this result's derivative: its shadow is memory of our own, zero, and is dropped.
    fn unwanted(&mut self, arg: usize, old: Value, new: Value) {
        let size = self.result_size(arg);
        let mut shadows = Vec::new();
        for _ in 0..self.width() {
            let shadow = self.prologue_value(Op::Alloca { size, align: 16 }, Type::Ptr);
            self.zero_fill(shadow, size, 16);
            self.out.stack.insert(shadow);
            shadows.push(shadow);
        }
        self.bind_shadows(old, new, shadows);
    }

    fn result_size(&self, arg: usize) -> u64 {
        let request = self.session.request;
        request.layouts.get(request.args[arg].layout).size.max(1)
    }

    pub(crate) fn bind(&mut self, old: Value, new: Value) {
        self.values.insert(old, new);
        if let Some(object) = self.session.facts.object(self.id, old) {
            self.out.places.insert(new, (object, self.session.facts.offset(self.id, old)));
        }
        if self.is_active(old) {
            self.out.linear.active.insert(new);
        }
    }

    pub(crate) fn bind_shadows(&mut self, old: Value, new: Value, shadows: Vec<Value>) {
        if let Some(object) = self.session.facts.object(self.id, old) {
            for shadow in &shadows {
                self.out.places.insert(*shadow, (object, self.session.facts.offset(self.id, old)));
            }
        }
        self.shadows.insert(new, shadows);
    }

    pub(crate) fn builder(&mut self) -> Builder<'_> {
        Builder::new(&mut self.func, self.block)
    }

    /// Append an instruction to the start of the entry block.
    pub(crate) fn prologue_value(&mut self, op: Op, ty: Type) -> Value {
        let inst = self.func.make_inst(op, Some(ty), Flags::NONE, None);
        self.prologue.push(inst);
        self.func.inst(inst).result.expect("made with a type")
    }

    fn run(&mut self) -> Result<()> {
        // Parameters first: a block may be jumped to before it is reached in order.
        for old_block in self.cfg.reverse_postorder().to_vec() {
            if old_block == self.old.entry() {
                continue;
            }
            let new_block = self.blocks[&old_block];
            let live = self.scope.contains(old_block);
            for old in self.old.block(old_block).params.clone() {
                let ty = self.old.ty(old).clone();
                let new = self.func.add_param(new_block, ty.clone());
                self.bind(old, new);
                if live && self.session.has_companion(self.id, old) {
                    let companions = (0..self.width()).map(|_| self.func.add_param(new_block, ty.clone())).collect();
                    self.set_companion(old, new, companions);
                }
            }
        }
        for old_block in self.cfg.reverse_postorder().to_vec() {
            self.block = self.blocks[&old_block];
            self.may_return = self.cfg.can_return(old_block);
            let live = self.scope.contains(old_block);
            for inst in self.old.block(old_block).insts.clone() {
                let data = self.old.inst(inst).clone();
                if live {
                    self.instruction(&data).map_err(|e| e.at(data.loc))?;
                } else {
                    self.copy_instruction(&data);
                }
            }
            self.terminator(old_block).map_err(|e| e.at(self.old.block(old_block).term_loc))?;
        }
        let entry = self.func.entry();
        let prologue = std::mem::take(&mut self.prologue);
        self.func.block_mut(entry).insts.splice(0..0, prologue);
        Ok(())
    }

    /// The new value of an old one.
    pub(crate) fn get(&mut self, old: Value) -> Value {
        if let Some(new) = self.values.get(&old) {
            return *new;
        }
        match &self.old.value(old).def {
            ValueDef::Const(constant) => {
                let new = self.func.constant(self.old.ty(old).clone(), constant.clone());
                self.bind(old, new);
                new
            }
            other => panic!("{old} ({other:?}) is used before it is defined: a fault of the engine"),
        }
    }

    /// The shadows of an old pointer.
    pub(crate) fn shadow(&mut self, old: Value) -> Result<Vec<Value>> {
        let new = self.get(old);
        if let Some(shadows) = self.shadows.get(&new) {
            return Ok(shadows.clone());
        }
        let width = self.width();
        match self.old.as_const(old) {
            Some(Constant::Global(global)) => {
                // A constant table where memory with a shadow may stand too: its shadow is zero and nobody reads what
                // is added to it.
                let data = self.session.module.global(*global);
                let (size, align) = (data.size.max(1), data.align.max(8));
                let mut shadows = Vec::new();
                for _ in 0..width {
                    let shadow = self.prologue_value(Op::Alloca { size, align }, Type::Ptr);
                    self.zero_fill(shadow, size, align);
                    self.out.stack.insert(shadow);
                    shadows.push(shadow);
                }
                self.bind_shadows(old, new, shadows.clone());
                Ok(shadows)
            }
            _ if self.points_nowhere(old) => Ok(vec![new; width]),
            _ => Err(Error::new(ErrorKind::RuntimeActivity, "a pointer has no shadow where one is needed")
                .note("it may point to constant memory or to memory with a shadow, depending on a run-time condition")),
        }
    }

    /// Whether a pointer is an address made up, or an offset to one: where an empty `Vec` points. Nothing is read or
    /// written there.
    fn points_nowhere(&self, old: Value) -> bool {
        match &self.old.value(old).def {
            ValueDef::Const(constant) => !matches!(constant, Constant::Global(_)),
            ValueDef::Inst(inst) => match &self.old.inst(*inst).op {
                Op::Cast(CastOp::IntToPtr, _) => true,
                Op::PtrAdd(base, _) | Op::Freeze(base) => self.points_nowhere(*base),
                Op::Select(_, a, b) => self.points_nowhere(*a) && self.points_nowhere(*b),
                _ => false,
            },
            ValueDef::Param(..) => false,
        }
    }

    /// The companions of an old value: shadows of a pointer, tangents of a float, both in an aggregate. Where it has
    /// none, what a constant has.
    pub(crate) fn companion(&mut self, old: Value) -> Result<Vec<Value>> {
        let new = self.get(old);
        if *self.old.ty(old) == Type::Ptr {
            return if self.has_shadow(old) || !self.is_forward() {
                self.shadow(old)
            } else {
                Ok(vec![new; self.width()])
            };
        }
        if self.is_forward() {
            if self.is_number_as_float(old) {
                return Ok(vec![new; self.width()]);
            }
            if self.old.ty(old).is_int() && !self.has_tangent(old) {
                let is_seen = !self.session.seen_in_variants.is_empty();
                if let Some(number) = self.mirrored(old, is_seen) {
                    return Ok(vec![number; self.width()]);
                }
            }
            return Ok(self.tangent(new));
        }
        match self.shadows.get(&new) {
            Some(shadows) => Ok(shadows.clone()),
            None => {
                let ty = self.old.ty(old).clone();
                Ok(vec![self.func.zero(&ty); self.width()])
            }
        }
    }

    /// The companion of an integer without a tangent in forward mode, if it is a number: a copy. Who computes the bits
    /// of a float with integers, and reads a float from where they are put, has computed a number as well, and one that
    /// is too large for a length or a tag; the tangent of that float is zero. Where callers may see the number, in the
    /// tangent of an enum, it is that of the primal.
    pub(crate) fn mirrored(&mut self, old: Value, is_seen: bool) -> Option<Value> {
        let is_number = self.is_number(old);
        if !is_number && !self.numbers.contains(&self.old, old) {
            return None;
        }
        let number = self.get(old);
        let ty = self.func.ty(number).clone();
        // What is computed from what may be the bits of a float may be either.
        let Some(largest) = plain::largest_number(&ty).filter(|_| !is_seen || !is_number) else {
            return is_number.then_some(number);
        };
        if self.func.as_const(number).is_some() {
            return is_number.then_some(number);
        }
        // The first bit is set in the tags of some enums.
        let without_sign = self.func.constant(ty.clone(), Constant::Int(u128::MAX >> (129 - 8 * ty.size())));
        let largest = self.func.constant(ty.clone(), Constant::Int(largest));
        let zero = self.func.zero(&ty);
        let mut b = self.builder();
        let magnitude = b.bin(BinOp::And, number, without_sign);
        let is_small = b.icmp(IntPred::Ule, magnitude, largest);
        Some(b.select(is_small, number, zero))
    }

    /// Whether an integer is sure not to be the bits of a float: in forward mode its shadow is a copy.
    pub(crate) fn is_number(&self, old: Value) -> bool {
        plain::is_number(self.session.module, self.session.facts, self.id, &self.numbers, old)
    }

    /// Whether a float is a number that the optimiser moves as one (forward mode): the length of a `Vec` is the
    /// constant 1e-323 then.
    pub(crate) fn is_number_as_float(&self, old: Value) -> bool {
        self.is_forward() && self.old.as_const(old).is_some_and(plain::is_number_as_float)
    }

    /// Whether a value has tangents of its own (forward mode).
    pub(crate) fn has_tangent(&self, old: Value) -> bool {
        self.values.get(&old).is_some_and(|new| self.tangents.contains_key(new))
    }

    /// Note the companions of a value.
    pub(crate) fn set_companion(&mut self, old: Value, new: Value, companions: Vec<Value>) {
        if self.is_forward() && *self.old.ty(old) != Type::Ptr {
            self.tangents.insert(new, companions);
        } else {
            self.bind_shadows(old, new, companions);
        }
    }

    /// Zero `size` bytes at the start of the entry block.
    pub(crate) fn zero_fill(&mut self, ptr: Value, size: u64, align: u64) {
        let (byte, len) = (self.func.int(Type::I8, 0), self.func.i64(size as i64));
        let inst = self.func.make_inst(Op::Fill { dst: ptr, byte, len, align }, None, Flags::NONE, None);
        self.prologue.push(inst);
    }

    /// Copy an instruction as it is; its new result, if any.
    pub(crate) fn copy_instruction(&mut self, data: &InstData) -> Inst {
        let op = data.op.clone();
        let mut operands: Vec<Value> = op.operands().into_iter().map(|v| self.get(v)).collect();
        operands.reverse();
        let mut op = op.map_operands(|_| operands.pop().expect("as many operands as before"));
        if let Op::Call(Callee::Direct(callee), ..) = &mut op {
            *callee = self.original(*callee);
        }
        if let Some(cleanup) = op.cleanup_mut() {
            cleanup.func = self.original(cleanup.func);
        }
        let ty = data.result.map(|r| self.old.ty(r).clone());
        let inst = self.func.make_inst(op, ty, data.flags, data.loc);
        if matches!(data.op, Op::Alloca { .. }) {
            self.prologue.push(inst);
        } else {
            self.func.block_mut(self.block).insts.push(inst);
        }
        if let (Some(old), Some(new)) = (data.result, self.func.inst(inst).result) {
            self.bind(old, new);
        }
        inst
    }

    /// Note the linear operation of the instruction just made: emit it now (forward) or keep it (reverse).
    pub(crate) fn linear(&mut self, inst: Inst, linear: Linear) {
        if self.is_forward() {
            self.emit_tangent(inst, &linear);
        } else {
            self.out.linear.push(inst, linear);
        }
    }

    fn instruction(&mut self, data: &InstData) -> Result<()> {
        match &data.op {
            Op::Bin(..)
            | Op::FNeg(_)
            | Op::Math(..)
            | Op::Cast(..)
            | Op::Select(..)
            | Op::Freeze(_)
            | Op::PtrAdd(..)
            | Op::ExtractValue(..)
            | Op::InsertValue(..) => self.pure(data),
            Op::Load { .. }
            | Op::Store { .. }
            | Op::Copy { .. }
            | Op::Fill { .. }
            | Op::Alloca { .. }
            | Op::Alloc { .. }
            | Op::Dealloc { .. } => self.memory(data),
            op if let Some(tape) = TapeUse::of(self.session.module, &self.old, op) => self.tape_use(data, tape),
            Op::Call(Callee::Direct(callee), args, _)
                if self.session.facts.functions.contains(callee) && self.session.takes_part(*callee) =>
            {
                self.call(data, *callee, args)
            }
            Op::Call(Callee::Direct(callee), args, _) if self.session.request.rule(*callee).is_some() => {
                let rule = self.session.request.rule(*callee).expect("just looked").clone();
                self.rule_call(data, &rule, args)
            }
            _ => self.untouched(data),
        }
    }

    /// An instruction that takes no part.
    pub(crate) fn untouched(&mut self, data: &InstData) -> Result<()> {
        let cleanup = self.cleanup(data.op.cleanup())?;
        let inst = self.copy_instruction(data);
        if let (Some(new), Some(cleanup)) = (self.func.inst_mut(inst).op.cleanup_mut(), cleanup) {
            *new = cleanup;
        }
        Ok(())
    }

    /// An instruction without effects.
    fn pure(&mut self, data: &InstData) -> Result<()> {
        let inst = self.copy_instruction(data);
        let (Some(old_result), Some(result)) = (data.result, self.func.inst(inst).result) else { return Ok(()) };
        if *self.old.ty(old_result) == Type::Ptr {
            return self.pure_pointer(data, old_result, result);
        }
        if self.old.ty(old_result).is_int() && self.session.is_word(self.id, old_result) {
            self.pure_word(data, old_result, result)?;
            if self.is_forward() {
                return Ok(());
            }
        }
        if let Type::Struct(_) = self.old.ty(old_result)
            && self.session.has_companion(self.id, old_result)
        {
            self.pure_aggregate(data, old_result, result)?;
            if self.is_forward() {
                return Ok(());
            }
        }
        if !self.is_active(old_result) {
            return Ok(());
        }
        let flags = data.flags.fast_math();
        let active = |v: Value| self.is_active(v).then(|| self.values[&v]);
        let linear = match &data.op {
            Op::Bin(BinOp::FAdd, a, b) => {
                Linear::Sum(result, terms([(active(*a), Coefficient::ONE), (active(*b), Coefficient::ONE)]))
            }
            Op::Bin(BinOp::FSub, a, b) => {
                Linear::Sum(result, terms([(active(*a), Coefficient::ONE), (active(*b), Coefficient::MINUS_ONE)]))
            }
            Op::Bin(BinOp::FMul, a, b) if a == b => {
                Linear::Sum(result, terms([(active(*a), Factor::Scaled(2.0, self.get(*a)).into())]))
            }
            Op::Bin(BinOp::FMul, a, b) => {
                let (da, db) = (active(*a), active(*b));
                let (a, b) = (self.get(*a), self.get(*b));
                Linear::Sum(result, terms([(da, Factor::Value(b).into()), (db, Factor::Value(a).into())]))
            }
            Op::Bin(BinOp::FDiv, a, b) => {
                let (x, y) = (active(*a), active(*b));
                let one = [Constant::F32(1f32.to_bits()), Constant::F64(1f64.to_bits())];
                let is_reciprocal = y.is_some() && self.old.as_const(*a).is_some_and(|a| one.contains(a));
                let divisor = (!is_reciprocal).then(|| self.get(*b));
                Linear::Quotient { result, x, y, divisor }
            }
            Op::Bin(BinOp::FRem, a, b) => {
                // r = x − k·y with a whole k, which is (x − r) / y and not the quotient without its fraction: 0.9 / 0.1
                // is rounded to 9, and 0.9 % 0.1 is nearly 0.1.
                let (x, y) = (active(*a), active(*b));
                let (a, b) = (self.get(*a), self.get(*b));
                let mut build = self.builder();
                build.loc = data.loc;
                let multiple = build.bin(BinOp::FSub, a, result);
                let quotient = build.bin(BinOp::FDiv, multiple, b);
                let whole = build.math(pullback_ir::MathFn::Rint, vec![quotient]);
                let c = build.fneg(whole);
                Linear::Sum(result, terms([(x, Coefficient::ONE), (y, Factor::Value(c).into())]))
            }
            Op::FNeg(a) => Linear::Sum(result, terms([(active(*a), Coefficient::MINUS_ONE)])),
            Op::Freeze(a) => Linear::Sum(result, terms([(active(*a), Coefficient::ONE)])),
            Op::Cast(CastOp::Bitcast, a) => Linear::Bits(result, self.get(*a)),
            Op::Cast(op, a) => Linear::Cast(result, *op, self.get(*a)),
            Op::Select(c, a, b) => {
                let mut side = |v: Value| -> Option<Value> {
                    if self.is_number_as_float(v) {
                        let new = self.get(v);
                        self.tangents.insert(new, vec![new; self.width()]);
                        return Some(new);
                    }
                    self.is_active(v).then(|| self.values[&v])
                };
                let (a, b) = (side(*a), side(*b));
                Linear::Select(result, self.get(*c), a, b)
            }
            Op::Math(function, args) => {
                let tangents: Vec<Option<Value>> = args.iter().map(|a| active(*a)).collect();
                let is_constant = self.old.as_const(args[0]).is_some();
                let args: Vec<Value> = args.iter().map(|a| self.get(*a)).collect();
                let mut build = self.builder();
                build.flags = flags;
                build.loc = data.loc;
                let rule = rule(*function);
                match rule.choice {
                    Some(first) => {
                        // At a tie with a constant the other operand counts as returned, on whichever side it is: LLVM
                        // may swap them.
                        let (x, y) = if is_constant { (1, 0) } else { (0, 1) };
                        let returns_x = first.emit(&mut build, &[args[x], args[y]], result);
                        Linear::Select(result, returns_x, tangents[x], tangents[y])
                    }
                    None => {
                        let partials = rule.coefficients(&mut build, &args, result, |i| tangents[i].is_some());
                        let products = tangents.into_iter().zip(partials);
                        Linear::Sum(result, terms(products.filter_map(|(t, p)| Some((t, p?)))))
                    }
                }
            }
            Op::ExtractValue(a, i) => Linear::Extract(result, self.get(*a), *i),
            Op::InsertValue(a, b, i) => {
                let (a, b) = (active(*a), active(*b));
                Linear::Insert(result, a, b, *i)
            }
            op => return Err(Error::internal(format!("no linear form for {op:?}"))),
        };
        self.linear(inst, linear);
        Ok(())
    }

    fn pure_pointer(&mut self, data: &InstData, old_result: Value, result: Value) -> Result<()> {
        if !self.has_shadow(old_result) {
            return Ok(());
        }
        let shadows = match &data.op {
            Op::PtrAdd(base, offset) => {
                let (bases, offset) = (self.shadow(*base)?, self.get(*offset));
                bases.into_iter().map(|base| self.shadow_value(data, Op::PtrAdd(base, offset))).collect()
            }
            Op::Select(c, a, b) => {
                let (a, b, c) = (self.shadow(*a)?, self.shadow(*b)?, self.get(*c));
                a.into_iter().zip(b).map(|(a, b)| self.shadow_value(data, Op::Select(c, a, b))).collect()
            }
            Op::Freeze(a) => self.shadow(*a)?,
            Op::ExtractValue(a, i) => {
                let from = self.companion(*a)?;
                from.into_iter().map(|from| self.shadow_value(data, Op::ExtractValue(from, *i))).collect()
            }
            Op::Cast(CastOp::IntToPtr, from) if self.old.as_const(*from).is_some() => vec![result; self.width()],
            Op::Cast(CastOp::IntToPtr, from) if self.session.is_word(self.id, *from) => {
                let words = self.companion(*from)?;
                words.into_iter().map(|w| self.shadow_value(data, Op::Cast(CastOp::IntToPtr, w))).collect()
            }
            _ => {
                return Err(Error::new(ErrorKind::Unsupported, "a pointer made from an integer reaches active memory")
                    .at(data.loc)
                    .help("use references or slices instead of addresses"));
            }
        };
        self.bind_shadows(old_result, result, shadows);
        Ok(())
    }

    /// The companion of a word that is made, chosen or passed on: the bits of a shadow pointer, in forward mode also
    /// those of a tangent; else zero.
    fn pure_word(&mut self, data: &InstData, old_result: Value, result: Value) -> Result<()> {
        let ty = self.old.ty(old_result).clone();
        let companions = match &data.op {
            Op::Cast(CastOp::PtrToInt, from) if self.has_shadow(*from) || self.is_forward() => {
                let shadows = self.companion(*from)?;
                shadows.into_iter().map(|s| self.builder().cast(CastOp::PtrToInt, s, ty.clone())).collect()
            }
            Op::Cast(CastOp::Bitcast, from) if self.is_forward() => {
                let tangents = self.companion(*from)?;
                tangents.into_iter().map(|t| self.builder().cast(CastOp::Bitcast, t, ty.clone())).collect()
            }
            Op::Select(c, a, b) => {
                let (a, b, c) = (self.companion(*a)?, self.companion(*b)?, self.get(*c));
                a.into_iter().zip(b).map(|(a, b)| self.builder().select(c, a, b)).collect()
            }
            Op::Freeze(a) => self.companion(*a)?,
            _ => {
                let content = self.session.facts.content(self.id, old_result);
                let is_seen = content.is_some_and(|content| self.session.is_seen(content));
                let number = if self.is_forward() { self.mirrored(old_result, is_seen) } else { None };
                // A float's bits, a number, or a pointer to what has no shadow.
                vec![number.unwrap_or_else(|| self.func.zero(&ty)); self.width()]
            }
        };
        self.set_companion(old_result, result, companions);
        Ok(())
    }

    /// The companion of an aggregate that is put together, chosen or passed on.
    fn pure_aggregate(&mut self, data: &InstData, old_result: Value, result: Value) -> Result<()> {
        let ty = self.old.ty(old_result).clone();
        let ops: Vec<Op> = match &data.op {
            Op::InsertValue(into, value, i) => {
                let (into, value) = (self.companion(*into)?, self.field_companion(*value)?);
                into.into_iter().zip(value).map(|(a, v)| Op::InsertValue(a, v, *i)).collect()
            }
            Op::Select(c, a, b) => {
                let (a, b, c) = (self.companion(*a)?, self.companion(*b)?, self.get(*c));
                a.into_iter().zip(b).map(|(a, b)| Op::Select(c, a, b)).collect()
            }
            Op::Freeze(a) => self.companion(*a)?.into_iter().map(Op::Freeze).collect(),
            Op::ExtractValue(a, i) => self.companion(*a)?.into_iter().map(|a| Op::ExtractValue(a, *i)).collect(),
            op => return Err(Error::internal(format!("no companion for {op:?}"))),
        };
        let mut companions = Vec::new();
        for op in ops {
            companions.push(self.builder().value(op, ty.clone()));
        }
        self.set_companion(old_result, result, companions);
        Ok(())
    }

    /// The companion of what is put into an aggregate that has one for another field's sake: nobody asks for that of a
    /// pointer to memory without a shadow.
    fn field_companion(&mut self, old: Value) -> Result<Vec<Value>> {
        let is_local = self.old.as_const(old).is_none() && self.session.facts.object(self.id, old).is_some();
        if *self.old.ty(old) == Type::Ptr && is_local && !self.has_shadow(old) {
            return Ok(vec![self.func.constant(Type::Ptr, Constant::Null); self.width()]);
        }
        self.companion(old)
    }

    /// Append an instruction that computes a shadow pointer.
    pub(crate) fn shadow_value(&mut self, data: &InstData, op: Op) -> Value {
        let inst = self.func.make_inst(op, Some(Type::Ptr), data.flags, data.loc);
        self.func.block_mut(self.block).insts.push(inst);
        self.func.inst(inst).result.expect("made with a type")
    }

    fn terminator(&mut self, old_block: Block) -> Result<()> {
        let mut term = self.old.block(old_block).term.clone();
        if let Terminator::Return(value) = &term {
            let value = *value;
            return self.return_(value);
        }
        if let Terminator::Branch(v, ..) | Terminator::Switch(v, ..) = &mut term {
            *v = self.get(*v);
        }
        for target in term.targets_mut() {
            *target = self.block_call(old_block, target)?;
        }
        let loc = self.old.block(old_block).term_loc;
        let data = self.func.block_mut(self.block);
        data.term = term;
        data.term_loc = loc;
        Ok(())
    }

    fn block_call(&mut self, from: Block, target: &BlockCall) -> Result<BlockCall> {
        let live = self.scope.contains(from) && self.scope.contains(target.block);
        let params = self.old.block(target.block).params.clone();
        let mut args = Vec::new();
        for (arg, param) in target.args.iter().zip(params) {
            let new = self.get(*arg);
            args.push(new);
            if live && self.session.has_companion(self.id, param) {
                args.extend(self.companion(*arg)?);
            }
        }
        Ok(BlockCall::new(self.blocks[&target.block], args))
    }

    fn return_(&mut self, old: Option<Value>) -> Result<()> {
        let mut value = old.map(|v| self.get(v));
        self.out.ret = self.old.ret.clone();
        if let Some(value) = value {
            self.out.linear.returned.insert(self.block, value);
        }
        if let (Some(old), Some(new)) = (old, value) {
            let shadows = if self.session.returns_companion(self.id) { self.companion(old)? } else { vec![] };
            if !shadows.is_empty() {
                let ty = self.func.ret.clone().expect("a function with a result");
                let mut all = self.func.constant(ty.clone(), Constant::Undef);
                let mut build = self.builder();
                for (i, part) in [new].into_iter().chain(shadows).enumerate() {
                    all = build.value(Op::InsertValue(all, part, i as u32), ty.clone());
                }
                value = Some(all);
            }
        }
        self.builder().ret(value);
        Ok(())
    }
}

fn terms(all: impl IntoIterator<Item = (Option<Value>, Coefficient)>) -> Vec<(Value, Coefficient)> {
    all.into_iter().filter_map(|(value, c)| Some((value?, c))).collect()
}
