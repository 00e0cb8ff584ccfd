//! Vectors of floats before they are taken apart.
//!
//! LLVM's scalarizer takes vectors apart that are computed lane by lane. Two things stand in its way, or in ours:
//!
//! - A comparison of vectors is one instruction, of which the scalarizer makes comparisons of floats, later than these
//!   are [hidden](crate::comparisons) from LLVM.
//! - `_mm_and_ps` computes with the lanes' bits as two numbers of 64 bits, and no lane of those is one of the floats'.

use crate::ffi::{BuilderRef, TypeRef, ValueRef, llvm};
use crate::kinds::{opcode, type_kind};
use crate::module::Module;

/// How many changes of a value's type are looked through.
const MOST_CASTS: usize = 64;

impl Module {
    /// Compare vectors lane by lane.
    pub(crate) fn split_vector_comparisons(&self) {
        let api = self.api();
        let builder = llvm!(api, LLVMCreateBuilderInContext(self.raw_context()));
        let lane_number = llvm!(api, LLVMIntTypeInContext(self.raw_context(), 32));
        for inst in self.raw_functions().into_iter().flat_map(|f| self.raw_body(f)) {
            let operation = llvm!(api, LLVMGetInstructionOpcode(inst.value()));
            let ty = llvm!(api, LLVMTypeOf(inst.value()));
            if operation != opcode::FCMP || llvm!(api, LLVMGetTypeKind(ty)) != type_kind::VECTOR {
                continue;
            }
            llvm!(api, LLVMPositionBuilderBefore(builder, inst));
            let predicate = llvm!(api, LLVMGetFCmpPredicate(inst.value()));
            let operands = [0, 1].map(|i| llvm!(api, LLVMGetOperand(inst.value(), i)));
            let mut whole = llvm!(api, LLVMGetPoison(ty));
            for i in 0..llvm!(api, LLVMGetVectorSize(ty)) {
                let index = llvm!(api, LLVMConstInt(lane_number, u64::from(i), 0));
                let [left, right] =
                    operands.map(|vector| llvm!(api, LLVMBuildExtractElement(builder, vector, index, c"".as_ptr())));
                let truth = llvm!(api, LLVMBuildFCmp(builder, predicate, left, right, c"".as_ptr()));
                whole = llvm!(api, LLVMBuildInsertElement(builder, whole, truth, index, c"".as_ptr()));
            }
            self.put_in_place_of(whole, inst);
        }
        llvm!(api, LLVMDisposeBuilder(builder));
    }

    /// Compute with the bits of floats in lanes of the floats' width.
    pub(crate) fn widen_no_lanes(&self) {
        let api = self.api();
        let builder = llvm!(api, LLVMCreateBuilderInContext(self.raw_context()));
        for inst in self.raw_functions().into_iter().flat_map(|f| self.raw_body(f)) {
            let operation = llvm!(api, LLVMGetInstructionOpcode(inst.value()));
            let is_logic = [opcode::AND, opcode::OR, opcode::XOR].contains(&operation);
            let ty = llvm!(api, LLVMTypeOf(inst.value()));
            if is_logic && llvm!(api, LLVMGetTypeKind(ty)) == type_kind::VECTOR {
                let operands = [0, 1].map(|i| self.without_casts(llvm!(api, LLVMGetOperand(inst.value(), i))));
                let mut from = operands.map(|operand| llvm!(api, LLVMTypeOf(operand)));
                from.sort_by_key(|vector| !self.is_of_floats(*vector));
                let mut lanes = from.into_iter().filter_map(|vector| self.lanes_of(vector));
                if let Some(lanes) = lanes.find(|lanes| *lanes != ty) {
                    llvm!(api, LLVMPositionBuilderBefore(builder, inst));
                    let [left, right] = operands.map(|operand| self.cast(builder, operand, lanes));
                    let result = llvm!(api, LLVMBuildBinOp(builder, operation, left, right, c"".as_ptr()));
                    self.put_in_place_of(self.cast(builder, result, ty), inst);
                }
            } else if operation == opcode::BITCAST {
                let from = self.without_casts(inst.value());
                if from != llvm!(api, LLVMGetOperand(inst.value(), 0)) {
                    llvm!(api, LLVMPositionBuilderBefore(builder, inst));
                    let cast = self.cast(builder, from, ty);
                    if cast == from {
                        // It stays what it is, where it is.
                        llvm!(api, LLVMReplaceAllUsesWith(inst.value(), from));
                        llvm!(api, LLVMInstructionEraseFromParent(inst));
                    } else {
                        self.put_in_place_of(cast, inst);
                    }
                }
            }
        }
        llvm!(api, LLVMDisposeBuilder(builder));
    }

    /// What a value is made of by changes of its type. (In a block that cannot be reached it may be made of itself.)
    fn without_casts(&self, value: ValueRef) -> ValueRef {
        let api = self.api();
        let cast_from = |value: &ValueRef| {
            let inst = api.as_instruction(*value)?;
            let is_cast = llvm!(api, LLVMGetInstructionOpcode(inst.value())) == opcode::BITCAST;
            is_cast.then(|| llvm!(api, LLVMGetOperand(*value, 0)))
        };
        std::iter::successors(Some(value), cast_from).take(MOST_CASTS).last().unwrap_or(value)
    }

    fn is_of_floats(&self, ty: TypeRef) -> bool {
        let api = self.api();
        llvm!(api, LLVMGetTypeKind(ty)) == type_kind::VECTOR
            && [type_kind::FLOAT, type_kind::DOUBLE]
                .contains(&llvm!(api, LLVMGetTypeKind(llvm!(api, LLVMGetElementType(ty)))))
    }

    /// The vector of integers with the lanes of a vector.
    fn lanes_of(&self, vector: TypeRef) -> Option<TypeRef> {
        let api = self.api();
        if llvm!(api, LLVMGetTypeKind(vector)) != type_kind::VECTOR {
            return None;
        }
        let bits = match llvm!(api, LLVMGetTypeKind(llvm!(api, LLVMGetElementType(vector)))) {
            type_kind::INTEGER => return Some(vector),
            type_kind::FLOAT => 32,
            type_kind::DOUBLE => 64,
            _ => return None,
        };
        let lane = llvm!(api, LLVMIntTypeInContext(self.raw_context(), bits));
        Some(llvm!(api, LLVMVectorType(lane, llvm!(api, LLVMGetVectorSize(vector)))))
    }

    fn cast(&self, builder: BuilderRef, value: ValueRef, ty: TypeRef) -> ValueRef {
        llvm!(self.api(), LLVMBuildCast(builder, opcode::BITCAST, value, ty, c"".as_ptr()))
    }
}
