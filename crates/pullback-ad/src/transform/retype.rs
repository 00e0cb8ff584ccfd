//! Integers that only carry the bits of a float or a pointer become floats and pointers.
//!
//! `slice::swap` on `f64` reaches LLVM as integer loads and stores; an enum's payload moves as an `i64`. Once the analysis
//! knows that the memory behind holds floats, the value itself can be one:
//!
//! ```text
//! v2 = load i64 v0           v2 = load f64 v0
//! store v1, v2        ▶      store v1, v2
//! v3 = icmp slt v2, 0        v4 = bitcast v2 to i64; v3 = icmp slt v4, 0
//! ```
//! The program's meaning does not change: where the integer is really used as one, the bits are cast back. The parameters of a
//! clean-up function change too, with the clean-ups that name it.

use crate::analysis::flow::{Facts, is_number};
use crate::analysis::objects::Kinds;
use pullback_ir::cfg::Cfg;
use pullback_ir::{Callee, CastOp, Constant, Flags, FuncId, Function, Inst, Module, Op, SourceLoc, Terminator};
use pullback_ir::{Type, Value, ValueDef};
use std::collections::{HashMap, HashSet};

/// The types that the parameters of a clean-up function get: the function has no other callers than the clean-ups that name
/// it, so it is changed together with them.
pub type CleanupParams = HashMap<FuncId, Vec<Type>>;

/// The clean-up functions among those that `facts` know, with the types that their parameters get.
pub fn cleanup_params(module: &Module, facts: &Facts) -> CleanupParams {
    let mut found = CleanupParams::new();
    let mut called = HashSet::new();
    for id in &facts.functions {
        let func = module.func(*id);
        for op in func.blocks().flat_map(|b| &func.block(b).insts).map(|i| &func.inst(*i).op) {
            if let Op::Call(Callee::Direct(callee), ..) = op {
                called.insert(*callee);
            }
            if let Some(id) = op.cleanup().map(|c| c.func).filter(|f| facts.functions.contains(f)) {
                let cleanup = module.func(id);
                let ty = |v: &Value| carried(cleanup, id, facts, *v).unwrap_or_else(|| cleanup.ty(*v).clone());
                found.entry(id).or_insert_with(|| cleanup.param_values().iter().map(ty).collect());
            }
        }
    }
    found.retain(|id, _| !called.contains(id));
    found
}

/// Rewrite `func`, which `facts` know as `id`. Whether anything changed.
pub fn retype(func: &mut Function, id: FuncId, facts: &Facts, cleanups: &CleanupParams) -> bool {
    let cfg = Cfg::new(func);
    let mut targets = HashMap::new();
    let mut fixed = HashMap::new();
    for index in 0..func.value_bound() {
        let value = Value::from_index(index);
        if let Some(ty) = carried(func, id, facts, value) {
            if can_change(func, value, cleanups.contains_key(&id)) {
                targets.insert(value, ty);
            } else if !is_number(func, value) {
                fixed.insert(value, ty);
            }
        }
    }
    let calls_changed = func.blocks().flat_map(|b| &func.block(b).insts).any(|i| {
        let cleanup = func.inst(*i).op.cleanup();
        cleanup.is_some_and(|c| {
            let wanted = cleanups.get(&c.func);
            wanted.is_some_and(|types| c.args.iter().map(|v| func.ty(*v)).ne(types))
        })
    });
    if targets.is_empty() && fixed.is_empty() && !calls_changed && !stores_bits(func, &cfg) {
        return false;
    }
    for (value, ty) in &targets {
        func.set_type(*value, ty.clone());
    }
    if let Some(types) = cleanups.get(&id) {
        func.params.clone_from(types);
    }
    let mut pass = Pass { func, targets, fixed, cleanups, out: Vec::new() };
    for block in cfg.reverse_postorder() {
        pass.block(*block);
    }
    true
}

/// What the value's content says it is.
fn carried(func: &Function, id: FuncId, facts: &Facts, value: Value) -> Option<Type> {
    let kinds = match func.ty(value) {
        // A payload that is an integer in another variant is moved like a float: the bits are the same.
        Type::Int(32 | 64) => facts.kinds(id, value).without_int(),
        _ => return None,
    };
    match func.ty(value) {
        Type::Int(64) if kinds == Kinds::F64 => Some(Type::F64),
        Type::Int(64) if kinds == Kinds::PTR => Some(Type::Ptr),
        Type::Int(32) if kinds == Kinds::F32 => Some(Type::F32),
        _ => None,
    }
}

/// The float or pointer that was cast to the integer `value`, if all its bits are in it.
fn source_of_bits(func: &Function, value: Value) -> Option<Value> {
    let Op::Cast(CastOp::Bitcast | CastOp::PtrToInt, from) = func.inst(func.def_inst(value)?).op else { return None };
    (func.ty(value).is_int() && func.ty(from).size() == func.ty(value).size()).then_some(from)
}

/// Whether an integer is stored that was a float or a pointer the moment before.
fn stores_bits(func: &Function, cfg: &Cfg) -> bool {
    let insts = cfg.reverse_postorder().iter().flat_map(|block| &func.block(*block).insts);
    insts.into_iter().any(|inst| match func.inst(*inst).op {
        Op::Store { value, .. } => source_of_bits(func, value).is_some(),
        _ => false,
    })
}

/// Whether a value's own definition can be given another type.
fn can_change(func: &Function, value: Value, is_cleanup: bool) -> bool {
    match &func.value(value).def {
        ValueDef::Const(_) => false,
        ValueDef::Param(block, _) => is_cleanup || *block != func.entry(),
        ValueDef::Inst(inst) => matches!(func.inst(*inst).op, Op::Load { .. } | Op::Select(..) | Op::Freeze(_)),
    }
}

struct Pass<'a> {
    func: &'a mut Function,
    targets: HashMap<Value, Type>,
    /// Integers that carry something but are computed as integers: only cast where they are stored.
    fixed: HashMap<Value, Type>,
    cleanups: &'a CleanupParams,
    out: Vec<Inst>,
}

impl Pass<'_> {
    fn block(&mut self, block: pullback_ir::Block) {
        self.out.clear();
        for inst in self.func.block(block).insts.clone() {
            self.instruction(inst);
        }
        let loc = self.func.block(block).term_loc;
        let mut term = self.func.block(block).term.clone();
        match &mut term {
            Terminator::Branch(v, ..) | Terminator::Switch(v, ..) | Terminator::Return(Some(v)) => {
                *v = self.as_integer(*v, loc)
            }
            _ => {}
        }
        for target in term.targets_mut() {
            let params = self.func.block(target.block).params.clone();
            for (arg, param) in target.args.iter_mut().zip(params) {
                *arg = match self.targets.get(&param).cloned() {
                    Some(ty) => self.as_type(*arg, &ty, loc),
                    None => self.as_integer(*arg, loc),
                };
            }
        }
        let data = self.func.block_mut(block);
        data.insts = std::mem::take(&mut self.out);
        data.term = term;
    }

    fn instruction(&mut self, inst: Inst) {
        let data = self.func.inst(inst).clone();
        let loc = data.loc;
        let wanted = data.result.and_then(|r| self.targets.get(&r).cloned());
        let op = match (data.op, wanted) {
            (Op::Select(c, a, b), Some(ty)) => Op::Select(c, self.as_type(a, &ty, loc), self.as_type(b, &ty, loc)),
            (Op::Freeze(a), Some(ty)) => Op::Freeze(self.as_type(a, &ty, loc)),
            (Op::Store { ptr, value, align }, _) => {
                let value = match self.fixed.get(&value).cloned() {
                    Some(ty) => self.as_type(value, &ty, loc),
                    // Where floats and pointers take turns, what is stored must say itself which of the two it is.
                    None => source_of_bits(self.func, value).unwrap_or(value),
                };
                Op::Store { ptr, value, align }
            }
            // The cast that a retyped value makes superfluous becomes a plain copy.
            (Op::Cast(CastOp::Bitcast | CastOp::IntToPtr, a), _)
                if self.targets.get(&a).is_some_and(|t| Some(t) == data.result.map(|r| self.func.ty(r))) =>
            {
                Op::Freeze(a)
            }
            (mut op, _) => {
                let types = op.cleanup().and_then(|c| self.cleanups.get(&c.func));
                let known = types.and_then(|types| Some((types, std::mem::take(&mut op.cleanup_mut()?.args))));
                let mut op = op.map_operands(|v| self.as_integer(v, loc));
                if let (Some(cleanup), Some((types, args))) = (op.cleanup_mut(), known) {
                    cleanup.args = args.into_iter().zip(types).map(|(v, ty)| self.as_type(v, ty, loc)).collect();
                }
                op
            }
        };
        // Align stays valid: the types have the same size.
        self.func.inst_mut(inst).op = op;
        self.out.push(inst);
    }

    /// A retyped value where its integer is wanted.
    fn as_integer(&mut self, value: Value, loc: Option<SourceLoc>) -> Value {
        match self.targets.get(&value) {
            None => value,
            Some(Type::Ptr) => self.cast(CastOp::PtrToInt, value, Type::I64, loc),
            Some(Type::F32) => self.cast(CastOp::Bitcast, value, Type::I32, loc),
            Some(_) => self.cast(CastOp::Bitcast, value, Type::I64, loc),
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
            (Some(c @ (Constant::Undef | Constant::Poison)), _) => return self.func.constant(ty.clone(), c),
            _ => {}
        }
        if let Some(from) = source_of_bits(self.func, value).filter(|from| self.func.ty(*from) == ty) {
            return from;
        }
        let op = if *ty == Type::Ptr { CastOp::IntToPtr } else { CastOp::Bitcast };
        self.cast(op, value, ty.clone(), loc)
    }

    fn cast(&mut self, op: CastOp, value: Value, ty: Type, loc: Option<SourceLoc>) -> Value {
        let inst = self.func.make_inst(Op::Cast(op, value), Some(ty), Flags::NONE, loc);
        self.out.push(inst);
        self.func.inst(inst).result.expect("a cast has a result")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::FieldKind;
    use crate::transform::testing::rewritten_with_facts;

    const FLOAT: &[FieldKind] = &[FieldKind::F64];
    const POINTER: &[FieldKind] = &[FieldKind::Pointer(None)];
    const INTEGER: &[FieldKind] = &[FieldKind::Int(8)];

    /// The body of `fn @f(v0: ptr, v1: ptr)` before and after; both parameters point to such memory.
    #[track_caller]
    fn check(memory: &[FieldKind], before: &str, after: &str) {
        let function = |body: &str| format!("fn @f(v0: ptr, v1: ptr) {{\n{}\n}}\n", body.trim_matches('\n'));
        let alone = |func: &mut Function, id, facts: &Facts| retype(func, id, facts, &CleanupParams::new());
        assert_eq!(rewritten_with_facts(&function(before), &[memory, memory], alone), function(after));
    }

    #[test]
    fn a_move_of_bits_is_a_move_of_floats() {
        check(
            FLOAT,
            "
b0:
  v2 = load i64 v0
  store v1, v2
  return",
            "
b0:
  v2 = load f64 v0
  store v1, v2
  return",
        );
    }

    #[test]
    fn a_move_of_an_address_is_a_move_of_a_pointer() {
        check(
            POINTER,
            "
b0:
  v2 = load i64 v0
  store v1, v2
  return",
            "
b0:
  v2 = load ptr v0
  store v1, v2
  return",
        );
    }

    #[test]
    fn single_precision_travels_in_32_bits() {
        check(
            &[FieldKind::F32],
            "
b0:
  v2 = load i32 v0
  store v1, v2
  return",
            "
b0:
  v2 = load f32 v0
  store v1, v2
  return",
        );
    }

    #[test]
    fn numbers_stay_numbers() {
        let body = "
b0:
  v2 = load i64 v0
  v3 = add v2, 1:i64
  store v1, v3
  return";
        check(INTEGER, body, body);
    }

    #[test]
    fn where_the_integer_is_wanted_the_bits_are_cast_back() {
        check(
            FLOAT,
            "
b0:
  v2 = load i64 v0
  v3 = icmp slt v2, 0:i64
  branch v3, b1, b2
b1:
  store v1, v2
  jump b2
b2:
  return",
            "
b0:
  v2 = load f64 v0
  v5 = bitcast i64 v2
  v3 = icmp slt v5, 0:i64
  branch v3, b1, b2
b1:
  store v1, v2
  jump b2
b2:
  return",
        );
    }

    #[test]
    fn parameters_and_selections_on_the_way_change_too() {
        check(
            FLOAT,
            "
b0:
  v2 = load i64 v0
  v3 = load i64 v1
  v4 = icmp ult v2, v3
  v5 = select v4, v2, v3
  branch v4, b1(v5), b1(0:i64)
b1(v6: i64):
  store v1, v6
  return",
            "
b0:
  v2 = load f64 v0
  v3 = load f64 v1
  v8 = bitcast i64 v2
  v9 = bitcast i64 v3
  v4 = icmp ult v8, v9
  v5 = select v4, v2, v3
  branch v4, b1(v5), b1(0.0f64)
b1(v6: f64):
  store v1, v6
  return",
        );
    }

    #[test]
    fn the_cast_of_loaded_bits_is_the_value_itself() {
        check(
            FLOAT,
            "
b0:
  v2 = load i64 v0
  v3: f64 = bitcast v2
  v4 = fmul v3, v3
  v5: i64 = bitcast v4
  store v1, v5
  return",
            "
b0:
  v2 = load f64 v0
  v3 = freeze v2
  v4 = fmul v3, v3
  v5 = bitcast i64 v4
  store v1, v4
  return",
        );
    }
}
