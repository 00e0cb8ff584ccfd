//! Statements on floats and integers, and the operands of all statements.

use super::Feature;
use super::body::Body;
use pullback_ir::{BinOp, CastOp, FloatPred, IntPred, MathFn, Op, Type, Value};

const FLOAT_PREDS: [FloatPred; 8] = [
    FloatPred::Ogt,
    FloatPred::Oge,
    FloatPred::Olt,
    FloatPred::Ole,
    FloatPred::Ugt,
    FloatPred::Ult,
    FloatPred::One,
    FloatPred::Une,
];

const INT_PREDS: [IntPred; 8] =
    [IntPred::Eq, IntPred::Ne, IntPred::Ult, IntPred::Ule, IntPred::Ugt, IntPred::Slt, IntPred::Sle, IntPred::Sgt];

impl Body<'_> {
    /// `f64`, or `f32` where that may occur.
    pub fn float_type(&mut self) -> Type {
        if self.has(Feature::Single) && self.rng.chance(35) { Type::F32 } else { Type::F64 }
    }

    /// A float of this type: one in scope, the newer the likelier, or a constant.
    pub fn float(&mut self, ty: &Type) -> Value {
        let known: Vec<Value> = self.env.floats.iter().copied().filter(|v| self.func.ty(*v) == ty).collect();
        if known.is_empty() || self.rng.chance(10) {
            let value = (self.rng.float(-2.0, 2.0) * 64.0).round() / 64.0;
            return self.func.float(ty.clone(), value);
        }
        let recent = known.len().min(4);
        if self.rng.chance(60) { known[known.len() - 1 - self.rng.below(recent)] } else { *self.rng.pick(&known) }
    }

    /// A small integer.
    pub fn int(&mut self) -> Value {
        if self.env.ints.is_empty() || self.rng.chance(20) {
            let value = self.rng.below(6) as i64;
            return self.func.i64(value);
        }
        *self.rng.pick(&self.env.ints)
    }

    /// A condition.
    pub fn condition(&mut self) -> Value {
        if self.has(Feature::Ints) && self.rng.chance(35) {
            let (a, b) = (self.int(), self.int());
            let pred = *self.rng.pick(&INT_PREDS);
            return self.b().icmp(pred, a, b);
        }
        let ty = self.float_type();
        let (a, b) = (self.float(&ty), self.float(&ty));
        let pred = *self.rng.pick(&FLOAT_PREDS);
        self.b().fcmp(pred, a, b)
    }

    /// An integer from 0 to `mask`, one less than a power of two, that may depend on data.
    pub fn masked(&mut self, mask: i64) -> Value {
        if !self.has(Feature::Ints) || self.rng.chance(30) {
            let value = self.rng.between(0, mask as usize) as i64;
            return self.func.i64(value);
        }
        let value = self.int();
        let mask = self.func.i64(mask);
        self.b().bin(BinOp::And, value, mask)
    }

    /// The value brought into [−1, 1], so that loops and memory do not blow it up.
    pub fn squash(&mut self, value: Value) -> Value {
        let ty = self.func.ty(value).clone();
        if self.has(Feature::Math) && self.rng.chance(70) {
            let function = if self.rng.chance(50) { MathFn::Sin } else { MathFn::Tanh };
            return self.b().math(function, vec![value]);
        }
        let one = self.func.float(ty, 1.0);
        let square = self.b().fmul(value, value);
        let sum = self.b().fadd(square, one);
        self.b().bin(BinOp::FDiv, value, sum)
    }

    /// A new value made of floats in scope, not too large.
    pub fn expression(&mut self, ty: &Type) -> Value {
        let (a, b) = (self.float(ty), self.float(ty));
        match self.rng.below(6) {
            0 => self.b().fadd(a, b),
            1 => self.b().bin(BinOp::FSub, a, b),
            2 | 3 => self.b().fmul(a, b),
            4 => self.b().fneg(a),
            _ => a,
        }
    }

    /// Arithmetic of two floats.
    pub fn arithmetic(&mut self) -> bool {
        let ty = self.float_type();
        let (a, b) = (self.float(&ty), self.float(&ty));
        let value = match self.rng.below(10) {
            0..3 => self.b().fadd(a, b),
            3 | 4 => self.b().bin(BinOp::FSub, a, b),
            5..8 => self.b().fmul(a, b),
            8 => {
                let safe = self.away_from_zero(b);
                let op = if self.rng.chance(85) { BinOp::FDiv } else { BinOp::FRem };
                self.b().bin(op, a, safe)
            }
            _ => self.b().fneg(a),
        };
        let value = if self.rng.chance(25) { self.squash(value) } else { value };
        self.env.floats.push(value);
        true
    }

    /// `x² + 1`.
    fn away_from_zero(&mut self, value: Value) -> Value {
        let ty = self.func.ty(value).clone();
        let one = self.func.float(ty, 1.0);
        let square = self.b().fmul(value, value);
        self.b().fadd(square, one)
    }

    /// A float function of an operand inside its domain.
    pub fn float_function(&mut self) -> bool {
        use MathFn::*;
        let ty = self.float_type();
        let x = self.float(&ty);
        let function = *self.rng.pick(MathFn::ALL);
        let args = match function {
            Sqrt | Log | Log2 | Log10 | Cbrt => vec![self.away_from_zero(x)],
            Log1p => {
                let square = self.b().fmul(x, x);
                vec![square]
            }
            Asin | Acos | Atanh => {
                let small = self.squash(x);
                let scale = self.func.float(ty.clone(), 0.7);
                vec![self.b().fmul(small, scale)]
            }
            Acosh => {
                let square = self.b().fmul(x, x);
                let shift = self.func.float(ty.clone(), 1.5);
                vec![self.b().fadd(square, shift)]
            }
            Exp | Exp2 | Expm1 | Sinh | Cosh | Tan => vec![self.squash(x)],
            Pow => {
                let base = self.squash(x);
                let (base, exponent) = (self.away_from_zero(base), self.float(&ty));
                vec![base, self.squash(exponent)]
            }
            Powi | Ldexp => {
                let base = self.squash(x);
                let base = if function == Powi { self.away_from_zero(base) } else { base };
                let exponent = if self.has(Feature::Ints) && self.rng.chance(40) {
                    let int = self.masked(3);
                    self.b().cast(CastOp::Trunc, int, Type::I32)
                } else {
                    let value = self.rng.between(0, 6) as i128 - 2;
                    self.func.int(Type::I32, value)
                };
                vec![base, exponent]
            }
            Atan2 | Hypot => {
                let y = self.float(&ty);
                vec![x, self.away_from_zero(y)]
            }
            _ => (0..function.arity()).map(|i| if i == 0 { x } else { self.float(&ty) }).collect(),
        };
        let value = self.b().math(function, args);
        self.env.floats.push(value);
        true
    }

    /// One of two floats.
    pub fn float_select(&mut self) -> bool {
        let ty = self.float_type();
        let cond = self.condition();
        let (a, b) = (self.float(&ty), self.float(&ty));
        let value = self.b().select(cond, a, b);
        self.env.floats.push(value);
        true
    }

    /// Between `f32` and `f64`.
    pub fn conversion(&mut self) -> bool {
        let from = self.float_type();
        let value = self.float(&from);
        let (op, to) = if from == Type::F32 { (CastOp::FpExt, Type::F64) } else { (CastOp::FpTrunc, Type::F32) };
        let value = self.b().cast(op, value, to);
        self.env.floats.push(value);
        true
    }

    /// Arithmetic on integers, and between integers and floats; the result stays small.
    pub fn integer(&mut self) -> bool {
        let (a, b) = (self.int(), self.int());
        let value = match self.rng.below(9) {
            0 => self.b().add(a, b),
            1 => self.b().sub(a, b),
            2 => self.b().mul(a, b),
            3 => self.b().bin(BinOp::Xor, a, b),
            4 => {
                let name = *self.rng.pick(&["llvm.umin.i64", "llvm.smax.i64", "llvm.umax.i64", "llvm.smin.i64"]);
                self.b().value(Op::Intrinsic(name.into(), vec![a, b]), Type::I64)
            }
            5 => {
                let three = self.func.i64(3);
                self.b().bin(BinOp::URem, a, three)
            }
            6 => {
                let cond = self.condition();
                self.b().select(cond, a, b)
            }
            7 => {
                // A float decides: its derivative ends here.
                let ty = self.float_type();
                let x = self.float(&ty);
                let x = self.squash(x);
                let scale = self.func.float(ty.clone(), 5.0);
                let x = self.b().fmul(x, scale);
                if self.rng.chance(50) {
                    self.b().cast(CastOp::FpToSi, x, Type::I64)
                } else {
                    let name = if ty == Type::F64 { "llvm.fptosi.sat.i64.f64" } else { "llvm.fptosi.sat.i64.f32" };
                    self.b().value(Op::Intrinsic(name.into(), vec![x]), Type::I64)
                }
            }
            _ => {
                let seven = self.func.i64(7);
                let small = self.b().bin(BinOp::And, a, seven);
                let ty = self.float_type();
                let x = self.b().cast(CastOp::SiToFp, small, ty.clone());
                let scale = self.func.float(ty, 0.25);
                let x = self.b().fmul(x, scale);
                self.env.floats.push(x);
                return true;
            }
        };
        let seven = self.func.i64(7);
        let value = self.b().bin(BinOp::And, value, seven);
        self.env.ints.push(value);
        true
    }

    /// A pair that is put together and taken apart.
    pub fn aggregate(&mut self) -> bool {
        let ty = Type::structure([self.float_type(), Type::I64, self.float_type()]);
        let whole = self.any_value(&ty);
        let whole = if self.has(Feature::Select) && self.rng.chance(50) {
            let other = self.any_value(&ty);
            let cond = self.condition();
            self.b().select(cond, whole, other)
        } else {
            whole
        };
        for index in [0, 2] {
            let part = self.b().value(Op::ExtractValue(whole, index), ty.field(index as usize).clone());
            self.env.floats.push(part);
        }
        true
    }
}
