//! Values get other types of the same size, and the program's meaning stays: where the old type is wanted, the bits are
//! cast back.
//!
//! Used by [`crate::prepare::retype`], which gives integers their true types, and by [`crate::prepare::words`], which
//! takes types away from values that are not what they are said to be.

use pullback_ir::cfg::Cfg;
use pullback_ir::{
    Block, Builder, Callee, CastOp, Constant, FuncId, Function, Inst, Module, Op, SourceLoc, Terminator, Type, Value,
    ValueDef,
};
use std::collections::{HashMap, HashSet};

/// The types that the parameters of a clean-up function get: the function has no other callers than the clean-ups that
/// name it, so it is changed together with them.
pub type CleanupParams = HashMap<FuncId, Vec<Type>>;

/// The clean-up functions in `group`, with the types that their parameters get: what they become, or what they are.
pub fn cleanup_params(
    module: &Module,
    group: &[FuncId],
    becomes: impl Fn(FuncId, Value) -> Option<Type>,
) -> CleanupParams {
    let mut found = CleanupParams::new();
    let mut called = HashSet::new();
    for op in group.iter().flat_map(|id| module.func(*id).ops()) {
        if let Op::Call(Callee::Direct(callee), ..) = op {
            called.insert(*callee);
        }
        if let Some(id) = op.cleanup().map(|c| c.func).filter(|f| group.contains(f)) {
            let cleanup = module.func(id);
            let ty = |v: &Value| becomes(id, *v).unwrap_or_else(|| cleanup.ty(*v).clone());
            found.entry(id).or_insert_with(|| cleanup.param_values().iter().map(ty).collect());
        }
    }
    found.retain(|id, _| !called.contains(id));
    found
}

/// Whether clean-ups that a function names get parameters of other types.
pub fn cleanups_change(func: &Function, cleanups: &CleanupParams) -> bool {
    let cfg = Cfg::new(func);
    let live = func.insts_in(cfg.reverse_postorder());
    live.filter_map(|data| data.op.cleanup()).any(|cleanup| {
        let wanted = cleanups.get(&cleanup.func);
        wanted.is_some_and(|types| cleanup.args.iter().map(|v| func.ty(*v)).ne(types))
    })
}

/// Whether a value's own definition can be given another type; in a clean-up function also a parameter.
pub fn can_change(func: &Function, value: Value, is_cleanup: bool) -> bool {
    match &func.value(value).def {
        ValueDef::Const(_) => false,
        ValueDef::Param(block, _) => is_cleanup || *block != func.entry(),
        ValueDef::Inst(inst) => matches!(func.inst(*inst).op, Op::Load { .. } | Op::Select(..) | Op::Freeze(_)),
    }
}

/// Give each of `targets`, which can change, its new type; values in `fixed` are computed as they are, and only cast
/// where they are stored. Clean-ups are given what their functions take; `func`, which is `id`, may be one.
pub fn change_types(
    func: &mut Function,
    id: FuncId,
    targets: HashMap<Value, Type>,
    fixed: HashMap<Value, Type>,
    cleanups: &CleanupParams,
) {
    if let Some(types) = cleanups.get(&id) {
        func.params.clone_from(types);
    }
    let cfg = Cfg::new(func);
    let originals = targets.keys().map(|v| (*v, func.ty(*v).clone())).collect();
    for (value, ty) in &targets {
        func.set_type(*value, ty.clone());
    }
    let mut pass = Pass { func, targets, originals, fixed, cleanups, block: Block::from_index(0) };
    for block in cfg.reverse_postorder() {
        pass.block(*block);
    }
}

/// The float or pointer that was cast to the integer `value`, if all its bits are in it.
fn source_of_bits(func: &Function, value: Value) -> Option<Value> {
    let Op::Cast(CastOp::Bitcast | CastOp::PtrToInt, from) = func.def_op(value)? else { return None };
    (func.ty(value).is_int() && func.ty(*from).size() == func.ty(value).size()).then_some(*from)
}

/// Whether an integer is stored that was a float or a pointer the moment before.
pub fn stores_bits(func: &Function) -> bool {
    let cfg = Cfg::new(func);
    func.insts_in(cfg.reverse_postorder()).any(|data| match data.op {
        Op::Store { value, .. } => source_of_bits(func, value).is_some(),
        _ => false,
    })
}

struct Pass<'a> {
    func: &'a mut Function,
    targets: HashMap<Value, Type>,
    /// What the targets were.
    originals: HashMap<Value, Type>,
    fixed: HashMap<Value, Type>,
    cleanups: &'a CleanupParams,
    /// Where casts go.
    block: Block,
}

impl Pass<'_> {
    fn block(&mut self, block: Block) {
        self.block = block;
        for inst in std::mem::take(&mut self.func.block_mut(block).insts) {
            self.instruction(inst);
        }
        let loc = self.func.block(block).term_loc;
        let mut term = self.func.block(block).term.clone();
        match &mut term {
            Terminator::Branch(v, ..) | Terminator::Switch(v, ..) | Terminator::Return(Some(v)) => {
                *v = self.as_original(*v, loc)
            }
            _ => {}
        }
        for target in term.targets_mut() {
            let params = self.func.block(target.block).params.clone();
            for (arg, param) in target.args.iter_mut().zip(params) {
                *arg = match self.targets.get(&param).cloned() {
                    Some(ty) => self.as_type(*arg, &ty, loc),
                    None => self.as_original(*arg, loc),
                };
            }
        }
        self.func.block_mut(block).term = term;
    }

    fn instruction(&mut self, inst: Inst) {
        let data = self.func.inst(inst).clone();
        let loc = data.loc;
        let wanted = data.result.and_then(|r| self.targets.get(&r).cloned());
        let op = match (data.op, wanted) {
            (Op::Select(c, a, b), Some(ty)) => {
                let c = self.as_original(c, loc);
                Op::Select(c, self.as_type(a, &ty, loc), self.as_type(b, &ty, loc))
            }
            (Op::Freeze(a), Some(ty)) => Op::Freeze(self.as_type(a, &ty, loc)),
            (Op::Store { ptr, value, align }, _) => {
                let value = match self.fixed.get(&value).cloned() {
                    Some(ty) => self.as_type(value, &ty, loc),
                    // Where floats and pointers take turns, what is stored must say itself which of the two it is.
                    None => source_of_bits(self.func, value).unwrap_or(value),
                };
                Op::Store { ptr: self.as_original(ptr, loc), value, align }
            }
            // The cast that a new type makes superfluous becomes a plain copy.
            (Op::Cast(CastOp::Bitcast | CastOp::IntToPtr | CastOp::PtrToInt, a), _)
                if self.targets.get(&a).is_some_and(|t| Some(t) == data.result.map(|r| self.func.ty(r))) =>
            {
                Op::Freeze(a)
            }
            (mut op, _) => {
                let types = op.cleanup().and_then(|c| self.cleanups.get(&c.func));
                let known = types.and_then(|types| Some((types, std::mem::take(&mut op.cleanup_mut()?.args))));
                let mut op = op.map_operands(|v| self.as_original(v, loc));
                if let (Some(cleanup), Some((types, args))) = (op.cleanup_mut(), known) {
                    cleanup.args = args.into_iter().zip(types).map(|(v, ty)| self.as_type(v, ty, loc)).collect();
                }
                op
            }
        };
        // Align stays valid: the types have the same size.
        self.func.inst_mut(inst).op = op;
        self.func.block_mut(self.block).insts.push(inst);
    }

    /// A changed value where its old type is wanted.
    fn as_original(&mut self, value: Value, loc: Option<SourceLoc>) -> Value {
        match self.originals.get(&value).cloned() {
            None => value,
            Some(ty) => self.cast(value, ty, loc),
        }
    }

    /// A value where one of type `ty` is wanted.
    fn as_type(&mut self, value: Value, ty: &Type, loc: Option<SourceLoc>) -> Value {
        if self.func.ty(value) == ty {
            return value;
        }
        match (self.func.as_const(value).cloned(), ty) {
            (Some(Constant::Int(bits)), Type::F64) => return self.func.constant(Type::F64, Constant::F64(bits as u64)),
            (Some(Constant::Int(bits)), Type::F32) => return self.func.constant(Type::F32, Constant::F32(bits as u32)),
            (Some(Constant::Int(0)), Type::Ptr) => return self.func.constant(Type::Ptr, Constant::Null),
            (Some(Constant::F64(bits)), Type::Int(64)) => return self.func.int(Type::I64, i128::from(bits as i64)),
            (Some(Constant::Null), Type::Int(64)) => return self.func.i64(0),
            (Some(c @ (Constant::Undef | Constant::Poison)), _) => return self.func.constant(ty.clone(), c),
            _ => {}
        }
        if let Some(Op::Cast(CastOp::Bitcast | CastOp::PtrToInt | CastOp::IntToPtr, from)) = self.func.def_op(value)
            && self.func.ty(*from) == ty
        {
            return *from;
        }
        self.cast(value, ty.clone(), loc)
    }

    fn cast(&mut self, value: Value, ty: Type, loc: Option<SourceLoc>) -> Value {
        let op = match (self.func.ty(value), &ty) {
            (Type::Ptr, _) => CastOp::PtrToInt,
            (_, Type::Ptr) => CastOp::IntToPtr,
            _ => CastOp::Bitcast,
        };
        Builder::new(self.func, self.block).with_loc(loc).cast(op, value, ty)
    }
}
