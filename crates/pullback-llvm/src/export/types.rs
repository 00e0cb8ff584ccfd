//! LLVM's types and constants for ours.

use super::Exporter;
use crate::ffi::{TypeRef, ValueRef, llvm};
use pullback_ir::{Constant, Type};

impl Exporter<'_> {
    /// LLVM's type for a type of the IR. Structs are literal structs, also where the original was an array.
    pub(super) fn ty(&self, ty: &Type) -> TypeRef {
        let (api, context) = (self.module.api(), self.module.raw_context());
        match ty {
            Type::Int(width) => llvm!(api, LLVMIntTypeInContext(context, u32::from(*width))),
            Type::F32 => llvm!(api, LLVMFloatTypeInContext(context)),
            Type::F64 => llvm!(api, LLVMDoubleTypeInContext(context)),
            Type::Ptr => llvm!(api, LLVMPointerTypeInContext(context, 0)),
            Type::Struct(fields) => {
                let mut fields: Vec<TypeRef> = fields.iter().map(|f| self.ty(f)).collect();
                llvm!(api, LLVMStructTypeInContext(context, fields.as_mut_ptr(), fields.len() as u32, 0))
            }
            Type::Opaque(name, ..) => *self
                .opaque
                .types
                .get(&**name)
                .unwrap_or_else(|| panic!("a bug in Pullback: the type {name} was not imported")),
        }
    }

    /// LLVM's constant for one of the IR.
    pub(super) fn constant(&mut self, ty: &Type, constant: &Constant) -> Result<ValueRef, String> {
        let (api, context) = (self.module.api(), self.module.raw_context());
        let raw_ty = self.ty(ty);
        let bits = |width: u32, bits: u64| {
            let int = llvm!(api, LLVMConstInt(llvm!(api, LLVMIntTypeInContext(context, width)), bits, 0));
            llvm!(api, LLVMConstBitCast(int, raw_ty))
        };
        Ok(match constant {
            Constant::Int(value) => {
                let words = [*value as u64, (*value >> 64) as u64];
                llvm!(api, LLVMConstIntOfArbitraryPrecision(raw_ty, 2, words.as_ptr()))
            }
            Constant::F32(value) => bits(32, u64::from(*value)),
            Constant::F64(value) => bits(64, *value),
            Constant::Null | Constant::Zero => llvm!(api, LLVMConstNull(raw_ty)),
            Constant::Undef => llvm!(api, LLVMGetUndef(raw_ty)),
            Constant::Poison => llvm!(api, LLVMGetPoison(raw_ty)),
            Constant::Func(id) => self.callee(*id),
            Constant::Global(id) => {
                let name = &self.ir.global(*id).name;
                self.module.global_named(name).ok_or_else(|| format!("the global {name} is not in the module"))?
            }
            Constant::Opaque(id, _) => self.opaque.entries[id.index()].value,
        })
    }
}
