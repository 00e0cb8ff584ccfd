//! Instructions.

use super::function::Body;
use super::landing_pads::Unwind;
use crate::ffi::{InstRef, MetadataRef, TypeRef, ValueRef, llvm};
use crate::kinds::{BIN_OPS, CAST_OPS, FLOAT_PREDS, INT_PREDS, gep_flags, opcode, to_raw};
use pullback_ir::inst::OpaqueOp;
use pullback_ir::math::Spelling;
use pullback_ir::{BinOp, Callee, CastOp, Flags, Inst, MathFn, Op, Type, Value};

impl Body<'_, '_> {
    /// Build one instruction at the builder's place.
    pub(super) fn inst(&mut self, inst: Inst) -> Result<(), String> {
        let data = self.func.inst(inst);
        let ty = data.result.map(|v| self.func.ty(v).clone());
        let raw = self.build(&data.op, ty.as_ref(), data.flags)?;
        // The builder folds constants: a constant has no flags, and does not touch memory.
        if let Some(made) = self.exp.module.api().as_instruction(raw) {
            self.set_flags(made, &data.op, data.flags);
            if let Some(class) = self.func.alias_class(inst) {
                self.scopes.mark(self.exp.module, made, class);
            }
        }
        if let (Some(result), Some(ty)) = (data.result, ty) {
            let raw = self.exp.convert(raw, self.exp.ty(&ty))?;
            self.values.insert(result, raw);
        }
        Ok(())
    }

    fn build(&mut self, op: &Op, ty: Option<&Type>, flags: Flags) -> Result<ValueRef, String> {
        let (module, builder) = (self.exp.module, self.exp.builder);
        let (api, context) = (module.api(), module.raw_context());
        let name = c"".as_ptr();
        let result_ty = || ty.map(|t| self.exp.ty(t)).ok_or_else(|| "an instruction lacks its result".to_owned());
        Ok(match op {
            Op::Bin(op, a, b) => {
                let (a, b) = (self.value(*a)?, self.value(*b)?);
                llvm!(api, LLVMBuildBinOp(builder, to_raw(&BIN_OPS, *op), a, b, name))
            }
            Op::FNeg(a) => llvm!(api, LLVMBuildFNeg(builder, self.value(*a)?, name)),
            Op::Freeze(a) => llvm!(api, LLVMBuildFreeze(builder, self.value(*a)?, name)),
            Op::ICmp(pred, a, b) => {
                let (a, b) = (self.value(*a)?, self.value(*b)?);
                llvm!(api, LLVMBuildICmp(builder, to_raw(&INT_PREDS, *pred), a, b, name))
            }
            Op::FCmp(pred, a, b) => {
                let (a, b) = (self.value(*a)?, self.value(*b)?);
                llvm!(api, LLVMBuildFCmp(builder, to_raw(&FLOAT_PREDS, *pred), a, b, name))
            }
            Op::Cast(op, a) => {
                let to = result_ty()?;
                llvm!(api, LLVMBuildCast(builder, to_raw(&CAST_OPS, *op), self.value(*a)?, to, name))
            }
            Op::Select(cond, a, b) => {
                let (cond, a, b) = (self.value(*cond)?, self.value(*a)?, self.value(*b)?);
                llvm!(api, LLVMBuildSelect(builder, cond, a, b, name))
            }
            Op::Math(function, args) => self.math(*function, args)?.value(),
            Op::Intrinsic(name, args) => self.intrinsic(name, args, ty)?.value(),
            Op::Alloca { size, align } => {
                let byte = llvm!(api, LLVMIntTypeInContext(context, 8));
                let alloca = llvm!(api, LLVMBuildAlloca(builder, llvm!(api, LLVMArrayType2(byte, *size)), name));
                llvm!(api, LLVMSetAlignment(alloca, *align as u32));
                alloca.value()
            }
            Op::Load { ptr, align } => {
                let ty = result_ty()?;
                let load = llvm!(api, LLVMBuildLoad2(builder, ty, self.value(*ptr)?, name));
                llvm!(api, LLVMSetAlignment(load, *align as u32));
                load.value()
            }
            Op::Store { ptr, value, align } => {
                let (value, ptr) = (self.value(*value)?, self.value(*ptr)?);
                let store = llvm!(api, LLVMBuildStore(builder, value, ptr));
                llvm!(api, LLVMSetAlignment(store, *align as u32));
                store.value()
            }
            Op::PtrAdd(ptr, offset) => {
                let byte = llvm!(api, LLVMIntTypeInContext(context, 8));
                let (ptr, mut offset) = (self.value(*ptr)?, self.value(*offset)?);
                let mut bits = 0;
                if flags.contains(Flags::INBOUNDS) {
                    bits |= gep_flags::INBOUNDS | gep_flags::NUSW;
                }
                if flags.contains(Flags::NUW) {
                    bits |= gep_flags::NUW;
                }
                llvm!(api, LLVMBuildGEPWithNoWrapFlags(builder, byte, ptr, &mut offset, 1, name, bits))
            }
            Op::Copy { dst, src, len, may_overlap, align } => {
                let (dst, src, len) = (self.value(*dst)?, self.value(*src)?, self.value(*len)?);
                let (to, from) = (align.0 as u32, align.1 as u32);
                let copy = if *may_overlap {
                    llvm!(api, LLVMBuildMemMove(builder, dst, to, src, from, len))
                } else {
                    llvm!(api, LLVMBuildMemCpy(builder, dst, to, src, from, len))
                };
                copy.value()
            }
            Op::Fill { dst, byte, len, align } => {
                let (dst, byte, len) = (self.value(*dst)?, self.value(*byte)?, self.value(*len)?);
                llvm!(api, LLVMBuildMemSet(builder, dst, byte, len, *align as u32)).value()
            }
            Op::Alloc { size, align, func, .. } => {
                let args = [self.value(*size)?, self.value(*align)?];
                let callee = self.exp.callee(*func);
                self.exp.build_call(callee, &args, None)?.value()
            }
            Op::Dealloc { ptr, size, align, func } => {
                let args = [self.value(*ptr)?, self.value(*size)?, self.value(*align)?];
                let callee = self.exp.callee(*func);
                self.exp.build_call(callee, &args, None)?.value()
            }
            Op::Call(Callee::Direct(func), args, cleanup) => {
                let args = self.values(args)?;
                let unwind = cleanup.as_ref().map(|c| self.unwind(Some(c))).transpose()?;
                let callee = self.exp.callee(*func);
                self.exp.build_call(callee, &args, unwind)?.value()
            }
            Op::Call(Callee::Indirect(callee), args, cleanup) => {
                let mut params: Vec<TypeRef> = args.iter().map(|a| self.exp.ty(self.func.ty(*a))).collect();
                let ret = match ty {
                    Some(ty) => self.exp.ty(ty),
                    None => llvm!(api, LLVMVoidTypeInContext(context)),
                };
                let count = args.len() as u32;
                let ty = llvm!(api, LLVMFunctionType(ret, params.as_mut_ptr(), count, 0));
                let (callee, mut args) = (self.value(*callee)?, self.values(args)?);
                let unwind = cleanup.as_ref().map(|c| self.unwind(Some(c))).transpose()?;
                self.exp.call_or_invoke(ty, callee, &mut args, unwind).value()
            }
            Op::ExtractValue(a, index) => {
                llvm!(api, LLVMBuildExtractValue(builder, self.value(*a)?, *index, name))
            }
            Op::InsertValue(a, value, index) => {
                let (a, value) = (self.value(*a)?, self.value(*value)?);
                llvm!(api, LLVMBuildInsertValue(builder, a, value, *index, name))
            }
            Op::Opaque(op) => self.opaque(op)?.value(),
        })
    }

    fn values(&mut self, values: &[Value]) -> Result<Vec<ValueRef>, String> {
        values.iter().map(|v| self.value(*v)).collect()
    }

    /// A float function, spelled as LLVM or the C library spells it.
    fn math(&mut self, function: MathFn, args: &[Value]) -> Result<InstRef, String> {
        let (module, api) = (self.exp.module, self.exp.module.api());
        let float = self.func.ty(args[0]).clone();
        let raw_args = self.values(args)?;
        let callee = match function.spelling() {
            Spelling::Intrinsic(name) => {
                let name = format!("llvm.{name}");
                let id = llvm!(api, LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()));
                let mut overloads = vec![self.exp.ty(&float)];
                if function.takes_int() {
                    overloads.push(self.exp.ty(self.func.ty(args[1])));
                }
                llvm!(api, LLVMGetIntrinsicDeclaration(module.raw, id, overloads.as_mut_ptr(), overloads.len()))
            }
            Spelling::Libm(name) => {
                let name = if float == Type::F32 { format!("{name}f") } else { name.to_owned() };
                let params = args.iter().map(|a| self.func.ty(*a).clone()).collect();
                let signature = pullback_ir::Function::new(name.clone(), params, Some(float));
                let declared = module.function_named(&name);
                declared.unwrap_or_else(|| self.exp.add_function(&name, self.exp.signature(&signature)))
            }
        };
        self.exp.build_call(callee, &raw_args, None)
    }

    /// An intrinsic by its full name; LLVM knows one by the name of its declaration.
    pub(super) fn intrinsic(&mut self, name: &str, args: &[Value], ty: Option<&Type>) -> Result<InstRef, String> {
        let raw_args = self.values(args)?;
        let params = args.iter().map(|a| self.func.ty(*a).clone()).collect();
        let signature = pullback_ir::Function::new(name, params, ty.cloned());
        let declared = self.exp.module.function_named(name);
        let callee = declared.unwrap_or_else(|| self.exp.add_function(name, self.exp.signature(&signature)));
        self.exp.build_call(callee, &raw_args, None)
    }

    /// A copy of an instruction of the original program, on other operands. Facts that only held in the original's
    /// place (alias scopes, debug locations) stay behind.
    fn opaque(&mut self, op: &OpaqueOp) -> Result<InstRef, String> {
        let api = self.exp.module.api();
        let args = self.values(&op.args)?;
        let entry = &self.exp.opaque.entries[op.id.index()];
        if entry.operands.len() != args.len() {
            return Err(format!("the opaque instruction {} has lost an operand", op.name));
        }
        let original = api
            .as_instruction(entry.value)
            .ok_or_else(|| format!("the opaque instruction {} is a constant", op.name))?;
        let copy = llvm!(api, LLVMInstructionClone(original));
        for (index, arg) in entry.operands.iter().zip(args) {
            let ty = llvm!(api, LLVMTypeOf(llvm!(api, LLVMGetOperand(entry.value, *index))));
            let arg = self.exp.convert(arg, ty)?;
            llvm!(api, LLVMSetOperand(copy.value(), *index, arg));
        }
        let is_invoke = llvm!(api, LLVMGetInstructionOpcode(copy.value())) == opcode::INVOKE;
        let unwind = if is_invoke { Some(self.unwind(op.cleanup.as_ref())?) } else { None };
        llvm!(api, LLVMInsertIntoBuilder(self.exp.builder, copy));
        if let Some(Unwind { normal, pad }) = unwind {
            llvm!(api, LLVMSetNormalDest(copy, normal));
            llvm!(api, LLVMSetUnwindDest(copy, pad));
            llvm!(api, LLVMPositionBuilderAtEnd(self.exp.builder, normal));
        }
        llvm!(api, LLVMInstructionSetDebugLoc(copy, MetadataRef::NULL));
        let mut count = 0;
        let entries = llvm!(api, LLVMInstructionGetAllMetadataOtherThanDebugLoc(copy, &mut count));
        let kinds: Vec<u32> =
            (0..count as u32).map(|i| llvm!(api, LLVMValueMetadataEntriesGetKind(entries, i))).collect();
        llvm!(api, LLVMDisposeValueMetadataEntries(entries));
        for kind in kinds {
            llvm!(api, LLVMSetMetadata(copy, kind, ValueRef::NULL));
        }
        if llvm!(api, LLVMGetInstructionOpcode(copy.value())) == opcode::CALL {
            llvm!(api, LLVMSetTailCallKind(copy, 0));
        }
        Ok(copy)
    }

    fn set_flags(&self, raw: InstRef, op: &Op, flags: Flags) {
        let api = self.exp.module.api();
        if flags == Flags::NONE {
            return;
        }
        let has = |flag| flags.contains(flag);
        match op {
            Op::Bin(BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Shl, ..) | Op::Cast(CastOp::Trunc, _) => {
                llvm!(api, LLVMSetNSW(raw, i32::from(has(Flags::NSW))));
                llvm!(api, LLVMSetNUW(raw, i32::from(has(Flags::NUW))));
            }
            Op::Bin(BinOp::UDiv | BinOp::SDiv | BinOp::LShr | BinOp::AShr, ..) => {
                llvm!(api, LLVMSetExact(raw, i32::from(has(Flags::EXACT))));
            }
            Op::Bin(BinOp::Or, ..) => llvm!(api, LLVMSetIsDisjoint(raw, i32::from(has(Flags::DISJOINT)))),
            Op::Cast(CastOp::ZExt | CastOp::UiToFp, _) => {
                llvm!(api, LLVMSetNNeg(raw, i32::from(has(Flags::NNEG))));
            }
            Op::Math(..) | Op::Call(..) if has(Flags::NO_BUILTIN) => self.exp.module.set_builtin(raw, false),
            _ => {}
        }
        let fast_math = flags.fast_math().0 >> Flags::FAST_MATH_SHIFT;
        if fast_math != 0 && llvm!(api, LLVMCanValueUseFastMathFlags(raw.value())) != 0 {
            llvm!(api, LLVMSetFastMathFlags(raw, fast_math));
        }
    }
}
