//! Types of values.

use super::Importer;
use crate::ffi::{TypeRef, llvm};
use crate::kinds::type_kind;
use pullback_ir::Type;

impl Importer<'_> {
    /// The IR type of a first-class LLVM type. An array becomes a struct of equal fields: the exporter converts where
    /// a callee wants the array.
    pub(super) fn ty(&mut self, raw: TypeRef) -> Type {
        let api = self.module.api();
        let ty = match llvm!(api, LLVMGetTypeKind(raw)) {
            type_kind::FLOAT => Type::F32,
            type_kind::DOUBLE => Type::F64,
            type_kind::INTEGER => match llvm!(api, LLVMGetIntTypeWidth(raw)) {
                width @ 1..=128 => Type::Int(width as u16),
                _ => self.opaque_type(raw),
            },
            type_kind::POINTER if llvm!(api, LLVMGetPointerAddressSpace(raw)) == 0 => Type::Ptr,
            type_kind::STRUCT => {
                let count = llvm!(api, LLVMCountStructElementTypes(raw));
                let fields: Vec<Type> =
                    (0..count).map(|i| self.ty(llvm!(api, LLVMStructGetTypeAtIndex(raw, i)))).collect();
                Type::structure(fields)
            }
            type_kind::ARRAY => {
                let length = llvm!(api, LLVMGetArrayLength2(raw));
                // A large array is not a value anyone takes apart.
                if length > 64 {
                    return self.opaque_type(raw);
                }
                let element = self.ty(llvm!(api, LLVMGetElementType(raw)));
                Type::structure(std::iter::repeat_n(element, length as usize))
            }
            _ => self.opaque_type(raw),
        };
        if matches!(ty, Type::Struct(_)) && !self.same_layout(raw, &ty) { self.opaque_type(raw) } else { ty }
    }

    /// Whether the IR lays this struct out as LLVM does: it has no notion of packed structs, nor of opaque fields.
    fn same_layout(&self, raw: TypeRef, ty: &Type) -> bool {
        let api = self.module.api();
        let Type::Struct(fields) = ty else { return true };
        if fields.iter().any(|f| matches!(f, Type::Opaque(..))) {
            return false;
        }
        let layout = llvm!(api, LLVMGetModuleDataLayout(self.module.raw));
        let size = llvm!(api, LLVMABISizeOfType(layout, raw));
        if llvm!(api, LLVMGetTypeKind(raw)) == type_kind::ARRAY {
            return size == ty.size();
        }
        let offset = |i: usize| llvm!(api, LLVMOffsetOfElement(layout, raw, i as u32));
        size == ty.size() && (0..fields.len()).all(|i| offset(i) == ty.field_offset(i))
    }

    fn opaque_type(&mut self, raw: TypeRef) -> Type {
        let api = self.module.api();
        let name = api.take_message(llvm!(api, LLVMPrintTypeToString(raw)));
        let (mut size, mut align) = (0, 1);
        if llvm!(api, LLVMTypeIsSized(raw)) != 0 {
            let layout = llvm!(api, LLVMGetModuleDataLayout(self.module.raw));
            size = llvm!(api, LLVMABISizeOfType(layout, raw));
            align = u64::from(llvm!(api, LLVMABIAlignmentOfType(layout, raw)));
        }
        let ty = Type::Opaque(name.as_str().into(), size, align);
        self.opaque.types.insert(name, raw);
        ty
    }
}
