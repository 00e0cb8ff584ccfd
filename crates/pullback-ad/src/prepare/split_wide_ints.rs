//! Wide integers that carry several floats or pointers are taken apart.
//!
//! A struct of two `f32` moves as one `i64`, a pair of `f64` as one `i128`. Where the memory behind holds narrower
//! floats or pointers, such an integer is loaded, passed on and stored in halves; [`crate::prepare::retype`] then gives
//! the halves their true types.
//!
//! ```text
//! v2 = load i64 v0            lo = load i32 v0; hi = load i32 v0+4
//! store v1, v2         ▶      store v1, lo;     store v1+4, hi
//! v3 = trunc i32 v2           v3 = lo
//! ```
//! Where the whole integer is still wanted it is put together again, and the meaning of the program does not change.

use crate::analysis::activity::float_cells;
use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::{Cell, Kinds, ObjId};
use crate::analysis::points_to::offsets::Offsets;
use pullback_ir::cfg::Cfg;
use pullback_ir::{BinOp, Block, Builder, CastOp, Constant, Copies, FuncId, Function, Inst, Op};
use pullback_ir::{Terminator, Type, Value, ValueDef};
use std::collections::{HashMap, HashSet};

/// Rewrite `func`, which `facts` know as `id`. Whether anything changed.
pub fn split_wide_ints(func: &mut Function, id: FuncId, facts: &Facts) -> bool {
    let cfg = Cfg::new(func);
    let order: Vec<Block> = cfg.reverse_postorder().to_vec();
    let copies = Copies::new(func, order.iter().copied());
    let wide = find_wide(func, id, facts, &order, &copies);
    if wide.is_empty() {
        return false;
    }
    let mut pass = Pass { func, wide, copies, parts: HashMap::new(), whole: HashMap::new() };
    pass.add_params(&order);
    for block in &order {
        pass.block(*block);
    }
    true
}

/// The values to take apart: loads and stored values over narrower floats or pointers, and what passes them on.
fn find_wide(func: &Function, id: FuncId, facts: &Facts, order: &[Block], copies: &Copies) -> HashSet<Value> {
    let mut wide = HashSet::new();
    for data in func.insts_in(order) {
        let (ptr, value, align, is_store) = match (&data.op, data.result) {
            (Op::Load { ptr, align }, Some(result)) => (*ptr, result, *align, false),
            (Op::Store { ptr, value, align }, _) => (*ptr, *value, *align, true),
            // Half of a wide integer is taken to be a float.
            (Op::Cast(CastOp::Bitcast, bits), _) => {
                wide.extend(halved(func, *bits));
                continue;
            }
            _ => continue,
        };
        if is_store && is_wide(func.ty(value)) && holds_half_float(func, copies, value) {
            wide.insert(value);
        }
        let Some((object, at)) = facts.target(id, ptr, align) else { continue };
        // What is stored may be read as a float.
        if is_store && float_cells(facts, object, &at, func.ty(value).size()) {
            wide.extend(halved(func, value));
        }
        if is_wide(func.ty(value)) && over_narrow_cells(facts, object, &at, func.ty(value).size()) {
            wide.insert(value);
        }
    }
    // Parameters and selections between them are taken apart together.
    copies.close(&mut wide);
    wide
}

/// The wide integer of which this is a half: where the memory behind it says nothing, as in an enum that is passed in.
fn halved(func: &Function, bits: Value) -> Option<Value> {
    let half = func.ty(bits);
    let Some(Op::Cast(CastOp::Trunc, from)) = func.def_op(bits) else { return None };
    let wide = match func.def_op(*from) {
        Some(Op::Bin(BinOp::LShr, wide, by)) if func.as_int(*by) == Some(half.size() as i128 * 8) => *wide,
        _ => *from,
    };
    let is_load = matches!(func.def_op(wide), Some(Op::Load { .. }));
    (is_load && is_wide(func.ty(wide)) && func.ty(wide).size() == 2 * half.size()).then_some(wide)
}

/// Whether a wide integer is put together of halves of which one may be a float's bits, on some way here.
fn holds_half_float(func: &Function, copies: &Copies, value: Value) -> bool {
    let is_bits = |value: &Value| match func.def_op(*value) {
        Some(Op::Cast(CastOp::Bitcast, from)) => func.ty(*from).is_float(),
        _ => false,
    };
    match func.def_op(value) {
        Some(Op::Bin(BinOp::Or, a, b)) => holds_half_float(func, copies, *a) || holds_half_float(func, copies, *b),
        Some(Op::Bin(BinOp::Shl, from, _)) => holds_half_float(func, copies, *from),
        Some(Op::Cast(CastOp::ZExt, half)) => {
            2 * func.ty(*half).size() == func.ty(value).size() && all_sources(copies, *half).iter().any(is_bits)
        }
        _ => false,
    }
}

/// What a value may be a copy of, itself included.
fn all_sources(copies: &Copies, value: Value) -> HashSet<Value> {
    let mut all = HashSet::from([value]);
    copies.close_backwards(&mut all, |_| true);
    all
}

fn is_wide(ty: &Type) -> bool {
    matches!(ty, Type::Int(64 | 128))
}

fn over_narrow_cells(facts: &Facts, object: ObjId, at: &Offsets, width: u64) -> bool {
    let is_typed = |cell: &Cell| facts.objects.kinds(cell.content).without_int() != Kinds::NONE;
    facts.objects.touched(object, at, width).any(|cell| cell.width < width && is_typed(cell))
}

/// Whether an integer has nothing but zeros above its lowest `bits`, however it comes about.
fn is_below(func: &Function, copies: &Copies, value: Value, bits: u32) -> bool {
    all_sources(copies, value).into_iter().all(|value| match &func.value(value).def {
        _ if copies.sources(value).is_some() => true,
        ValueDef::Const(Constant::Int(n)) => n >> bits == 0,
        ValueDef::Const(constant) => matches!(constant, Constant::Undef | Constant::Poison),
        ValueDef::Param(..) => false,
        ValueDef::Inst(inst) => match &func.inst(*inst).op {
            Op::Cast(CastOp::ZExt, from) => func.ty(*from).size() * 8 <= u64::from(bits),
            _ => false,
        },
    })
}

struct Pass<'a> {
    func: &'a mut Function,
    wide: HashSet<Value>,
    /// Of the function as it was.
    copies: Copies,
    parts: HashMap<Value, [Value; 2]>,
    /// The integer put together again, to be used for the old one.
    whole: HashMap<Value, Value>,
}

impl Pass<'_> {
    fn half(&self, value: Value) -> Type {
        match self.func.ty(value) {
            Type::Int(128) => Type::I64,
            _ => Type::I32,
        }
    }

    /// Each wide block parameter gets two halves beside it.
    fn add_params(&mut self, order: &[Block]) {
        for block in order.iter().filter(|b| **b != self.func.entry()).copied().collect::<Vec<_>>() {
            for param in self.func.block(block).params.clone() {
                if self.wide.contains(&param) {
                    let ty = self.half(param);
                    let halves = [self.func.add_param(block, ty.clone()), self.func.add_param(block, ty)];
                    self.parts.insert(param, halves);
                }
            }
        }
    }

    fn block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.func.block_mut(block).insts);
        for param in self.func.block(block).params.clone() {
            if let Some(halves) = self.parts.get(&param) {
                self.put_together(block, param, *halves);
            }
        }
        for inst in insts {
            self.instruction(block, inst);
        }
        let mut term = self.func.block(block).term.clone();
        if let Terminator::Branch(v, ..) | Terminator::Switch(v, ..) | Terminator::Return(Some(v)) = &mut term {
            *v = self.now(*v);
        }
        for target in term.targets_mut() {
            let params = self.func.block(target.block).params.clone();
            let mut halves = Vec::new();
            for (arg, param) in target.args.iter_mut().zip(params) {
                if self.parts.contains_key(&param) && self.wide.contains(&param) {
                    halves.extend(self.parts_of(block, *arg));
                    let ty = self.func.ty(param).clone();
                    *arg = self.func.constant(ty, Constant::Undef);
                } else {
                    *arg = self.now(*arg);
                }
            }
            target.args.extend(halves);
        }
        self.func.block_mut(block).term = term;
    }

    /// What stands for an old value now.
    fn now(&self, value: Value) -> Value {
        self.whole.get(&value).copied().unwrap_or(value)
    }

    fn instruction(&mut self, block: Block, inst: Inst) {
        let data = self.func.inst(inst).clone();
        let wide = data.result.filter(|r| self.wide.contains(r));
        let place = |b: &mut Builder, ptr: Value, ty: &Type| b.offset(ptr, ty.size() as i64);
        match (&data.op, wide) {
            (Op::Load { ptr, align }, Some(result)) => {
                let (ty, ptr) = (self.half(result), self.now(*ptr));
                let mut b = Builder::new(self.func, block).with_loc(data.loc);
                let high = place(&mut b, ptr, &ty);
                let low = b.value(Op::Load { ptr, align: *align }, ty.clone());
                let high = b.value(Op::Load { ptr: high, align: (*align).min(ty.size()) }, ty);
                self.put_together(block, result, [low, high]);
            }
            (Op::Select(c, a, b), Some(result)) => {
                let (a, b) = (self.parts_of(block, *a), self.parts_of(block, *b));
                let mut build = Builder::new(self.func, block);
                let halves = [build.select(*c, a[0], b[0]), build.select(*c, a[1], b[1])];
                self.put_together(block, result, halves);
            }
            (Op::Freeze(a), Some(result)) => {
                let halves = self.parts_of(block, *a);
                self.put_together(block, result, halves);
            }
            (Op::Store { ptr, value, align }, _) if self.wide.contains(value) => {
                let (ty, halves, ptr) = (self.half(*value), self.parts_of(block, *value), self.now(*ptr));
                let mut b = Builder::new(self.func, block).with_loc(data.loc);
                let high = place(&mut b, ptr, &ty);
                b.push(Op::Store { ptr, value: halves[0], align: *align }, None);
                b.push(Op::Store { ptr: high, value: halves[1], align: (*align).min(ty.size()) }, None);
            }
            (Op::Cast(CastOp::Trunc, from), _)
                if self.parts.contains_key(from) && data.result.map(|r| self.func.ty(r)) == Some(&self.half(*from)) =>
            {
                self.func.inst_mut(inst).op = Op::Freeze(self.parts[from][0]);
                self.func.block_mut(block).insts.push(inst);
            }
            (Op::Bin(BinOp::LShr, from, by), _)
                if self.parts.contains_key(from)
                    && self.func.as_int(*by) == Some(self.half(*from).size() as i128 * 8) =>
            {
                let (high, ty) = (self.parts[from][1], self.half(*from));
                let zero = self.func.int(ty, 0);
                self.func.inst_mut(inst).op = Op::Cast(CastOp::ZExt, high);
                self.func.inst_mut(inst).flags = pullback_ir::Flags::NONE;
                self.func.block_mut(block).insts.push(inst);
                if let Some(result) = data.result {
                    self.parts.insert(result, [high, zero]);
                }
            }
            (op, _) => {
                let op = op.clone().map_operands(|v| self.now(v));
                self.func.inst_mut(inst).op = op;
                self.func.block_mut(block).insts.push(inst);
            }
        }
    }

    /// The halves of an integer, and the integer from them for uses as a whole.
    fn put_together(&mut self, block: Block, value: Value, [low, high]: [Value; 2]) {
        self.parts.insert(value, [low, high]);
        let (ty, bits) = (self.func.ty(value).clone(), self.half(value).size() as i128 * 8);
        let mut b = Builder::new(self.func, block);
        let low = b.cast(CastOp::ZExt, low, ty.clone());
        let high = b.cast(CastOp::ZExt, high, ty.clone());
        let by = b.func.int(ty, bits);
        let high = b.bin(BinOp::Shl, high, by);
        let whole = b.bin(BinOp::Or, high, low);
        self.whole.insert(value, whole);
    }

    /// The halves of a value, found in how it was made or cut from it at the end of `block`.
    fn parts_of(&mut self, block: Block, value: Value) -> [Value; 2] {
        if let Some(parts) = self.parts.get(&value) {
            return *parts;
        }
        let ty = self.half(value);
        let bits = ty.size() as i128 * 8;
        if let Some(constant) = self.func.as_const(value).cloned() {
            return match constant {
                Constant::Int(n) => [self.func.int(ty.clone(), n as i128), self.func.int(ty, (n >> bits) as i128)],
                other @ (Constant::Undef | Constant::Poison) => [self.func.constant(ty, other); 2],
                _ => [self.func.int(ty, 0); 2],
            };
        }
        let zero = self.func.int(ty.clone(), 0);
        match self.func.def_op(value).cloned() {
            Some(Op::Cast(CastOp::ZExt, from)) if *self.func.ty(from) == ty => return [from, zero],
            Some(Op::Bin(BinOp::Shl, from, by)) if self.func.as_int(by) == Some(bits) => {
                return [zero, self.parts_of(block, from)[0]];
            }
            Some(Op::Bin(BinOp::Or, a, b)) => {
                let (a, b) = (self.parts_of(block, a), self.parts_of(block, b));
                return [self.or(block, a[0], b[0]), self.or(block, a[1], b[1])];
            }
            // The halves of one beside those of the other, of which the two in the middle are taken.
            Some(ref op @ Op::Intrinsic(_, ref args))
                if op.is_funnel_shift() && self.func.as_int(args[2]) == Some(bits) =>
            {
                return [self.parts_of(block, args[1])[1], self.parts_of(block, args[0])[0]];
            }
            _ => {}
        }
        let is_small = is_below(self.func, &self.copies, value, bits as u32);
        let value = self.now(value);
        let wide = self.func.ty(value).clone();
        let mut b = Builder::new(self.func, block);
        let low = b.cast(CastOp::Trunc, value, ty.clone());
        if is_small {
            return [low, zero];
        }
        let by = b.func.int(wide, bits);
        let shifted = b.bin(BinOp::LShr, value, by);
        [low, b.cast(CastOp::Trunc, shifted, ty)]
    }

    fn or(&mut self, block: Block, a: Value, b: Value) -> Value {
        match (self.func.as_int(a), self.func.as_int(b)) {
            (Some(0), _) => b,
            (_, Some(0)) => a,
            _ => Builder::new(self.func, block).bin(BinOp::Or, a, b),
        }
    }
}
