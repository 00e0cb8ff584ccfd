//! The types of one instruction: operands against each other, against the result and against the callee.

use crate::entities::Value;
use crate::function::{Function, InstData};
use crate::inst::{Callee, CastOp, Cleanup, Op};
use crate::math::MathFn;
use crate::module::Module;
use crate::types::Type;

/// The fixed alignments an operation names.
pub(super) fn alignments(op: &Op) -> Vec<u64> {
    match op {
        Op::Alloca { align, .. } | Op::Load { align, .. } | Op::Store { align, .. } | Op::Fill { align, .. } => {
            vec![*align]
        }
        Op::Copy { align, .. } => vec![align.0, align.1],
        _ => vec![],
    }
}

/// What is wrong with the types of an instruction, if anything.
pub(super) fn check(module: &Module, func: &Function, inst: &InstData) -> Result<(), String> {
    Checker { module, func, inst }.check()
}

struct Checker<'a> {
    module: &'a Module,
    func: &'a Function,
    inst: &'a InstData,
}

impl Checker<'_> {
    fn check(&self) -> Result<(), String> {
        match &self.inst.op {
            Op::Bin(op, a, b) => {
                self.one_type(*a, *b)?;
                let ty = self.ty(*a);
                if op.is_float() {
                    self.float(ty)?
                } else {
                    self.int(ty)?
                }
                self.result(ty)
            }
            Op::FNeg(a) => {
                self.float(self.ty(*a))?;
                self.result(self.ty(*a))
            }
            Op::ICmp(_, a, b) => {
                self.one_type(*a, *b)?;
                if *self.ty(*a) != Type::Ptr {
                    self.int(self.ty(*a))?;
                }
                self.result(&Type::BOOL)
            }
            Op::FCmp(_, a, b) => {
                self.one_type(*a, *b)?;
                self.float(self.ty(*a))?;
                self.result(&Type::BOOL)
            }
            Op::Cast(op, a) => self.cast(*op, self.ty(*a)),
            Op::Select(c, a, b) => {
                self.is(*c, &Type::BOOL, "the condition")?;
                self.one_type(*a, *b)?;
                self.result(self.ty(*a))
            }
            Op::Freeze(a) => self.result(self.ty(*a)),
            Op::Math(function, args) => self.math(*function, args),
            Op::Intrinsic(..) => self.any_result().map(|_| ()),
            Op::Alloca { .. } => self.result(&Type::Ptr),
            Op::Load { ptr, .. } => {
                self.is(*ptr, &Type::Ptr, "the address")?;
                self.any_result().map(|_| ())
            }
            Op::Store { ptr, .. } => {
                self.is(*ptr, &Type::Ptr, "the address")?;
                self.no_result()
            }
            Op::PtrAdd(p, o) => {
                self.is(*p, &Type::Ptr, "the address")?;
                self.is(*o, &Type::I64, "the offset")?;
                self.result(&Type::Ptr)
            }
            Op::Copy { dst, src, len, .. } => {
                self.is(*dst, &Type::Ptr, "the target")?;
                self.is(*src, &Type::Ptr, "the source")?;
                self.is(*len, &Type::I64, "the length")?;
                self.no_result()
            }
            Op::Fill { dst, byte, len, .. } => {
                self.is(*dst, &Type::Ptr, "the target")?;
                self.is(*byte, &Type::I8, "the byte")?;
                self.is(*len, &Type::I64, "the length")?;
                self.no_result()
            }
            Op::Alloc { size, align, .. } => {
                self.is(*size, &Type::I64, "the size")?;
                self.is(*align, &Type::I64, "the alignment")?;
                self.result(&Type::Ptr)
            }
            Op::Dealloc { ptr, size, align, .. } => {
                self.is(*ptr, &Type::Ptr, "the address")?;
                self.is(*size, &Type::I64, "the size")?;
                self.is(*align, &Type::I64, "the alignment")?;
                self.no_result()
            }
            Op::Call(callee, args, cleanup) => {
                self.call(*callee, args)?;
                self.cleanup(cleanup.as_ref())
            }
            Op::ExtractValue(a, i) => self.result(self.field(*a, *i)?),
            Op::InsertValue(a, x, i) => {
                self.is(*x, self.field(*a, *i)?, "the new field")?;
                self.result(self.ty(*a))
            }
            Op::Opaque(o) => self.cleanup(o.cleanup.as_ref()),
        }
    }

    fn ty(&self, value: Value) -> &Type {
        self.func.ty(value)
    }

    fn one_type(&self, a: Value, b: Value) -> Result<(), String> {
        let (a, b) = (self.ty(a), self.ty(b));
        if a == b { Ok(()) } else { Err(format!("the operands have two types, {a} and {b}")) }
    }

    fn float(&self, ty: &Type) -> Result<(), String> {
        if ty.is_float() { Ok(()) } else { Err(format!("the operands are {ty}, not floats")) }
    }

    fn int(&self, ty: &Type) -> Result<(), String> {
        if ty.is_int() { Ok(()) } else { Err(format!("the operands are {ty}, not integers")) }
    }

    fn is(&self, value: Value, wanted: &Type, what: &str) -> Result<(), String> {
        let ty = self.ty(value);
        if ty == wanted { Ok(()) } else { Err(format!("{what} is {ty}, not {wanted}")) }
    }

    fn any_result(&self) -> Result<&Type, String> {
        self.inst.result.map(|v| self.ty(v)).ok_or_else(|| "it has no result".to_string())
    }

    fn result(&self, wanted: &Type) -> Result<(), String> {
        let ty = self.any_result()?;
        if ty == wanted { Ok(()) } else { Err(format!("the result is {ty}, not {wanted}")) }
    }

    fn no_result(&self) -> Result<(), String> {
        if self.inst.result.is_none() { Ok(()) } else { Err("it has a result".to_string()) }
    }

    fn field(&self, value: Value, index: u32) -> Result<&Type, String> {
        match self.ty(value) {
            Type::Struct(fields) if (index as usize) < fields.len() => Ok(&fields[index as usize]),
            ty => Err(format!("{ty} has no field {index}")),
        }
    }

    fn math(&self, function: MathFn, args: &[Value]) -> Result<(), String> {
        if args.len() != function.arity() {
            return Err(format!("{function} takes {} operands and is given {}", function.arity(), args.len()));
        }
        let ty = self.ty(args[0]);
        self.float(ty)?;
        for (i, arg) in args.iter().enumerate() {
            let wanted = if i == 1 && function.takes_int() { &Type::I32 } else { ty };
            self.is(*arg, wanted, &format!("operand {i}"))?;
        }
        self.result(ty)
    }

    fn cast(&self, op: CastOp, from: &Type) -> Result<(), String> {
        let to = self.any_result()?;
        let (int, float) = (Type::is_int, Type::is_float);
        let bits = |ty: &Type| match ty {
            Type::Int(bits) => u64::from(*bits),
            other => other.size() * 8,
        };
        let fine = match op {
            CastOp::Trunc => int(from) && int(to) && bits(from) > bits(to),
            CastOp::ZExt | CastOp::SExt => int(from) && int(to) && bits(from) < bits(to),
            CastOp::FpTrunc => (from, to) == (&Type::F64, &Type::F32),
            CastOp::FpExt => (from, to) == (&Type::F32, &Type::F64),
            CastOp::FpToUi | CastOp::FpToSi => float(from) && int(to),
            CastOp::UiToFp | CastOp::SiToFp => int(from) && float(to),
            CastOp::PtrToInt => *from == Type::Ptr && int(to),
            CastOp::IntToPtr => int(from) && *to == Type::Ptr,
            CastOp::Bitcast => {
                let plain = |ty: &Type| !matches!(ty, Type::Struct(_));
                plain(from) && plain(to) && bits(from) == bits(to)
            }
        };
        if fine { Ok(()) } else { Err(format!("{from} cannot be cast to {to} this way")) }
    }

    fn call(&self, callee: Callee, args: &[Value]) -> Result<(), String> {
        let callee = match callee {
            Callee::Indirect(ptr) => return self.is(ptr, &Type::Ptr, "the callee"),
            Callee::Direct(id) => self.module.func(id),
        };
        self.arguments(callee, args)?;
        let name = &callee.name;
        match (&callee.ret, self.inst.result) {
            (Some(wanted), Some(_)) => self.result(wanted),
            (Some(wanted), None) => Err(format!("@{name} returns {wanted}, and the call has no result")),
            (None, Some(_)) => Err(format!("@{name} returns nothing, and the call has a result")),
            (None, None) => Ok(()),
        }
    }

    fn cleanup(&self, cleanup: Option<&Cleanup>) -> Result<(), String> {
        let Some(cleanup) = cleanup else { return Ok(()) };
        let func = self.module.func(cleanup.func);
        if let Some(ty) = &func.ret {
            return Err(format!("@{} returns {ty}, and a clean-up returns nothing", func.name));
        }
        self.arguments(func, &cleanup.args)
    }

    fn arguments(&self, callee: &Function, args: &[Value]) -> Result<(), String> {
        let name = &callee.name;
        if args.len() != callee.params.len() {
            return Err(format!("@{name} takes {} arguments and is given {}", callee.params.len(), args.len()));
        }
        for (i, (arg, wanted)) in args.iter().zip(&callee.params).enumerate() {
            self.is(*arg, wanted, &format!("argument {i} of @{name}"))?;
        }
        Ok(())
    }
}
