//! How functions are called: conventions, attributes, and aggregates that LLVM knows as arrays.

use super::Exporter;
use super::landing_pads::Unwind;
use crate::attributes::ABI_ATTRIBUTES;
use crate::ffi::{InstRef, TypeRef, ValueRef, llvm};
use crate::kinds::{FUNCTION_INDEX, type_kind};

/// What an exported function takes from the function it belongs to: for which machine it is, how it is unwound.
const TARGET_ATTRIBUTES: [&str; 10] = [
    "target-cpu",
    "target-features",
    "tune-cpu",
    "probe-stack",
    "stack-probe-size",
    "frame-pointer",
    "denormal-fp-math",
    "denormal-fp-math-f32",
    "no-trapping-math",
    "strictfp",
];

impl Exporter<'_> {
    pub(super) fn copy_target_attributes(&self, from: ValueRef, to: ValueRef) {
        let module = self.module;
        let kept = ["uwtable", "nonlazybind", "sspstrong", "sspreq", "ssp", "denormal_fpenv"];
        let kept: Vec<u32> = kept.iter().filter_map(|name| module.attribute_kind(name)).collect();
        for attribute in module.attributes_at(from, FUNCTION_INDEX) {
            let keep = match module.string_attribute_name(attribute) {
                Some(name) => TARGET_ATTRIBUTES.contains(&name.as_str()),
                None => kept.contains(&llvm!(module.api(), LLVMGetEnumAttributeKind(attribute))),
            };
            if keep {
                llvm!(module.api(), LLVMAddAttributeAtIndex(to, FUNCTION_INDEX, attribute));
            }
        }
    }

    /// A call of a known function, as that function wants to be called.
    pub(super) fn build_call(
        &mut self,
        callee: ValueRef,
        args: &[ValueRef],
        unwind: Option<Unwind>,
    ) -> Result<InstRef, String> {
        let (module, api) = (self.module, self.module.api());
        let ty = llvm!(api, LLVMGlobalGetValueType(callee));
        let mut params = vec![TypeRef::NULL; llvm!(api, LLVMCountParamTypes(ty)) as usize];
        llvm!(api, LLVMGetParamTypes(ty, params.as_mut_ptr()));
        if params.len() != args.len() {
            let name = module.name_of(callee);
            return Err(format!("{name} takes {} arguments and gets {}", params.len(), args.len()));
        }
        let mut converted = Vec::with_capacity(args.len());
        for (arg, param) in args.iter().zip(&params) {
            converted.push(self.convert(*arg, *param)?);
        }
        let count = converted.len() as u32;
        let call = self.call_or_invoke(ty, callee, &mut converted, unwind);
        llvm!(api, LLVMSetInstructionCallConv(call, llvm!(api, LLVMGetFunctionCallConv(callee))));
        for index in 0..=count {
            for name in ABI_ATTRIBUTES {
                if let Some(attribute) = module.function_attribute(callee, index, name) {
                    llvm!(api, LLVMAddCallSiteAttribute(call, index, attribute));
                }
            }
        }
        Ok(call)
    }

    /// A call; if it may clean up after a panic it ends its block, and the builder goes on in the next.
    pub(super) fn call_or_invoke(
        &self,
        ty: TypeRef,
        callee: ValueRef,
        args: &mut [ValueRef],
        unwind: Option<Unwind>,
    ) -> InstRef {
        let (api, builder, name) = (self.module.api(), self.builder, c"".as_ptr());
        let (first, count) = (args.as_mut_ptr(), args.len() as u32);
        let Some(Unwind { normal, pad }) = unwind else {
            return llvm!(api, LLVMBuildCall2(builder, ty, callee, first, count, name));
        };
        let invoke = llvm!(api, LLVMBuildInvoke2(builder, ty, callee, first, count, normal, pad, name));
        llvm!(api, LLVMPositionBuilderAtEnd(builder, normal));
        invoke
    }

    /// A value as LLVM wants it: the IR knows arrays as structs.
    pub(super) fn convert(&self, value: ValueRef, to: TypeRef) -> Result<ValueRef, String> {
        let api = self.module.api();
        let from = llvm!(api, LLVMTypeOf(value));
        if from == to {
            return Ok(value);
        }
        let (Some(old), Some(new)) = (self.fields(from), self.fields(to)) else {
            let show = |ty| api.take_message(llvm!(api, LLVMPrintTypeToString(ty)));
            return Err(format!("a value of type {} where LLVM has {}", show(from), show(to)));
        };
        if old.len() != new.len() {
            return Err("aggregates of different length".to_owned());
        }
        let mut result = llvm!(api, LLVMGetPoison(to));
        for (i, field_ty) in new.into_iter().enumerate() {
            let field = llvm!(api, LLVMBuildExtractValue(self.builder, value, i as u32, c"".as_ptr()));
            let field = self.convert(field, field_ty)?;
            result = llvm!(api, LLVMBuildInsertValue(self.builder, result, field, i as u32, c"".as_ptr()));
        }
        Ok(result)
    }

    fn fields(&self, ty: TypeRef) -> Option<Vec<TypeRef>> {
        let api = self.module.api();
        match llvm!(api, LLVMGetTypeKind(ty)) {
            type_kind::STRUCT => {
                let count = llvm!(api, LLVMCountStructElementTypes(ty));
                Some((0..count).map(|i| llvm!(api, LLVMStructGetTypeAtIndex(ty, i))).collect())
            }
            type_kind::ARRAY => {
                let count = llvm!(api, LLVMGetArrayLength2(ty)) as usize;
                Some(vec![llvm!(api, LLVMGetElementType(ty)); count])
            }
            _ => None,
        }
    }
}
