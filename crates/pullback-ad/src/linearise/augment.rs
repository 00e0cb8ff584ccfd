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
use crate::analysis::types::as_floats;
use crate::analysis::types::computed::Numbers;
use crate::error::Result;
use crate::linearise::linear::Linear;
use crate::linearise::program::LinearFunction;
use crate::linearise::verify::assert_valid;
use crate::request::{Activity, Mode};
use crate::runtime::TapeUse;
use crate::session::{Form, Session};
use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, BlockCall, Builder, Callee, Flags, FuncId, Function, Inst, InstData};
use pullback_ir::{MemoryEffects, Op, Terminator, Type, Value};
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
    /// Objects that are not written.
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
    let is_forward = session.request.mode == Mode::Forward;
    let numbers_as_floats =
        if is_forward { as_floats::numbers_as_floats(session.module, session.facts, id) } else { HashSet::new() };
    let mut this = Augmenter {
        session,
        id,
        form,
        cfg,
        scope,
        func: Function::new(name, Vec::new(), None),
        numbers: Numbers::new(&old),
        numbers_as_floats,
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
    this.out.unwritten = this.session.writes.unwritten.clone();
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
    assert_valid(session.module, &out.func, &out.linear, session.request.width);
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
    pub(super) numbers: Numbers,
    /// Constant floats of `old` that are numbers (forward mode).
    pub(super) numbers_as_floats: HashSet<Value>,
    pub(crate) func: Function,
    /// Old value to new.
    pub(crate) values: HashMap<Value, Value>,
    /// New pointer to its shadows.
    pub(crate) shadows: HashMap<Value, Vec<Value>>,
    /// New float to its tangents (forward mode).
    pub(crate) tangents: HashMap<Value, Vec<Value>>,
    blocks: HashMap<Block, Block>,
    pub(crate) block: Block,
    /// Whether the block that is being copied leads to a return. If not, the tangents that it computes are not read.
    pub(crate) may_return: bool,
    /// Instructions that go to the start of the entry block.
    pub(crate) prologue: Vec<Inst>,
    pub(crate) out: Augmented,
}

impl Augmenter<'_, '_> {
    pub(crate) fn width(&self) -> usize {
        self.session.request.width
    }

    pub(super) fn is_active(&self, old: Value) -> bool {
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
        if self.session.request.mode == Mode::Reverse {
            self.out.tape = Some(self.func.add_param(entry, Type::Ptr));
        }
        for (i, old) in self.old.param_values().to_vec().into_iter().enumerate() {
            let shadowed = match self.form {
                Form::Whole | Form::Split => self.session.request.args[i].activity.has_shadow(),
                Form::Callee | Form::Joint => self.session.has_shadow_values(self.id, old),
            };
            let new = self.add_params(entry, old, shadowed);
            if !self.form.is_callee() && !shadowed && self.session.request.is_result(i) && self.has_shadow(old) {
                // The caller does not want its derivative: that goes to memory of our own, zero, and is dropped.
                let shadows = self.zero_shadows(self.result_size(i), 16);
                self.bind_shadows(old, new, shadows);
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
        self.func.ret = self.session.forward_result(self.id);
    }

    /// A parameter for an old value, and those for its shadow values if they are wanted.
    fn add_params(&mut self, block: Block, old: Value, shadowed: bool) -> Value {
        let ty = self.old.ty(old).clone();
        let new = self.func.add_param(block, ty.clone());
        self.bind(old, new);
        if shadowed {
            let shadows = (0..self.width()).map(|_| self.func.add_param(block, ty.clone())).collect();
            self.set_shadow_values(old, new, shadows);
        }
        new
    }

    /// The caller does not want this primal result: it goes to memory of our own, and the optimiser drops it.
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

    /// Memory of our own for each batch direction, zero at the start of the function.
    pub(super) fn zero_shadows(&mut self, size: u64, align: u64) -> Vec<Value> {
        let mut shadows = Vec::new();
        for _ in 0..self.width() {
            let shadow = self.prologue_value(Op::Alloca { size, align }, Type::Ptr);
            self.zero_fill(shadow, size, align);
            self.out.stack.insert(shadow);
            shadows.push(shadow);
        }
        shadows
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
        self.func.result(inst)
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
                self.add_params(new_block, old, live && self.session.has_shadow_values(self.id, old));
            }
        }
        let returns = self.session.facts.returning.contains(&self.id);
        for old_block in self.cfg.reverse_postorder().to_vec() {
            self.block = self.blocks[&old_block];
            self.may_return = returns && self.cfg.can_return(old_block);
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

    /// Zero `size` bytes at the start of the entry block.
    pub(crate) fn zero_fill(&mut self, ptr: Value, size: u64, align: u64) {
        let (byte, len) = (self.func.int(Type::I8, 0), self.func.i64(size as i64));
        let inst = self.func.make_inst(Op::Fill { dst: ptr, byte, len, align }, None, Flags::NONE, None);
        self.prologue.push(inst);
    }

    /// Copy an instruction as it is; its new result, if any.
    pub(crate) fn copy_instruction(&mut self, data: &InstData) -> Inst {
        let mut op = data.op.clone().map_operands(|v| self.get(v));
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
        match self.out.tape {
            None => self.emit_tangent(inst, &linear),
            Some(_) => self.out.linear.push(inst, linear),
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

    /// Append an instruction that computes a shadow pointer.
    pub(crate) fn shadow_pointer(&mut self, data: &InstData, op: Op) -> Value {
        self.builder().with(data.flags, data.loc).value(op, Type::Ptr)
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
            if live && self.session.has_shadow_values(self.id, param) {
                args.extend(self.shadow_values(*arg)?);
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
            let shadows = if self.session.returns_shadow_values(self.id) { self.shadow_values(old)? } else { vec![] };
            if !shadows.is_empty() {
                let ty = self.func.ret.clone().expect("a function with a result");
                value = Some(self.builder().aggregate(&ty, [new].into_iter().chain(shadows)));
            }
        }
        self.builder().ret(value);
        Ok(())
    }
}
