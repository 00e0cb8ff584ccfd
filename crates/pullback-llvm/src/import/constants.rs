//! Constants as operands.
//!
//! Plain ones become constants of the IR. An address inside a global, a constant expression or an aggregate becomes a
//! few instructions at the head of the entry block, where every use sees them; what is left stays opaque.

use super::function::Body;
use crate::ffi::{ValueRef, llvm};
use crate::kinds::{BIN_OPS, CAST_OPS, from_raw, opcode, value_kind};
use pullback_ir::{Constant, Flags, Op, Type, Value};

impl Body<'_, '_> {
    /// The IR value of a constant.
    pub(super) fn constant(&mut self, raw: ValueRef) -> Value {
        let module = self.imp.module;
        let api = module.api();
        let ty = self.imp.ty(llvm!(api, LLVMTypeOf(raw)));
        let kind = llvm!(api, LLVMGetValueKind(raw));
        if matches!(ty, Type::Opaque(..)) && kind != value_kind::UNDEF && kind != value_kind::POISON {
            return self.opaque_constant(raw, ty);
        }
        let constant = match kind {
            value_kind::INT => Constant::Int(module.int_bits(raw)),
            value_kind::FLOAT if ty == Type::F32 => Constant::F32(module.float_bits(raw) as u32),
            value_kind::FLOAT => Constant::F64(module.float_bits(raw)),
            value_kind::NULL => Constant::Null,
            value_kind::AGGREGATE_ZERO => Constant::Zero,
            value_kind::UNDEF => Constant::Undef,
            value_kind::POISON => Constant::Poison,
            value_kind::FUNCTION => Constant::Func(self.imp.function(raw)),
            value_kind::GLOBAL if llvm!(api, LLVMIsThreadLocal(raw)) == 0 => Constant::Global(self.imp.global(raw)),
            value_kind::ALIAS => return self.value(llvm!(api, LLVMAliasGetAliasee(raw))),
            value_kind::CONSTANT_STRUCT | value_kind::CONSTANT_ARRAY | value_kind::DATA_ARRAY => {
                return self.aggregate(raw, ty);
            }
            value_kind::CONSTANT_EXPR => return self.expression(raw, ty),
            _ => return self.opaque_constant(raw, ty),
        };
        self.func.constant(ty, constant)
    }

    fn opaque_constant(&mut self, raw: ValueRef, ty: Type) -> Value {
        let id = self.imp.opaque.constant(raw);
        let text = self.imp.module.print_value(raw);
        self.func.constant(ty, Constant::Opaque(id, text.as_str().into()))
    }

    /// An instruction at the head of the entry block.
    fn at_head(&mut self, op: Op, ty: Type, flags: Flags) -> Value {
        let inst = self.func.make_inst(op, Some(ty), flags, None);
        self.head.push(inst);
        self.func.inst(inst).result.expect("made with a type")
    }

    fn aggregate(&mut self, raw: ValueRef, ty: Type) -> Value {
        let api = self.imp.module.api();
        let Type::Struct(fields) = &ty else { return self.opaque_constant(raw, ty) };
        let mut value = self.func.constant(ty.clone(), Constant::Undef);
        for i in 0..fields.len() as u32 {
            let element = self.value(llvm!(api, LLVMGetAggregateElement(raw, i)));
            if !matches!(self.func.as_const(element), Some(Constant::Undef)) {
                value = self.at_head(Op::InsertValue(value, element, i), ty.clone(), Flags::NONE);
            }
        }
        value
    }

    fn expression(&mut self, raw: ValueRef, ty: Type) -> Value {
        let module = self.imp.module;
        let api = module.api();
        let code = llvm!(api, LLVMGetConstOpcode(raw));
        let operand = |i| llvm!(api, LLVMGetOperand(raw, i));
        if code == opcode::GEP {
            let Some(offset) = module.constant_gep_offset(raw) else { return self.opaque_constant(raw, ty) };
            let base = self.value(operand(0));
            if offset == 0 {
                return base;
            }
            let offset = self.func.i64(offset);
            let flags = self.gep_flags(raw);
            return self.at_head(Op::PtrAdd(base, offset), Type::Ptr, flags);
        }
        if let Some(cast) = from_raw(&CAST_OPS, code) {
            let value = self.value(operand(0));
            return self.at_head(Op::Cast(cast, value), ty, Flags::NONE);
        }
        if let Some(op) = from_raw(&BIN_OPS, code) {
            let (a, b) = (self.value(operand(0)), self.value(operand(1)));
            return self.at_head(Op::Bin(op, a, b), ty, Flags::NONE);
        }
        self.opaque_constant(raw, ty)
    }
}
