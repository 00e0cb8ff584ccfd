//! Instructions other than calls.

use super::function::{Body, Reason};
use crate::ffi::{ValueRef, llvm};
use crate::kinds::{
    BIN_OPS, CAST_OPS, FLOAT_PREDS, INSTRUCTION_NAMES, INT_PREDS, from_raw, gep_flags, opcode, type_kind, value_kind,
};
use pullback_ir::inst::OpaqueOp;
use pullback_ir::{BinOp, CastOp, Flags, Op, Type, Value};

/// What an opaque instruction may do to memory, or besides.
#[derive(Clone, Copy)]
pub(super) struct Effects {
    pub reads: bool,
    pub writes: bool,
}

impl Effects {
    pub const NONE: Effects = Effects { reads: false, writes: false };
    pub const ANY: Effects = Effects { reads: true, writes: true };
}

impl Body<'_, '_> {
    /// Import one instruction that is neither a phi nor a terminator.
    pub(super) fn inst(&mut self, raw: ValueRef) -> Result<(), Reason> {
        let api = self.imp.module.api();
        let code = llvm!(api, LLVMGetInstructionOpcode(raw));
        match code {
            opcode::CALL => return self.call(raw),
            opcode::LANDING_PAD => return self.panic_in_flight(raw),
            _ if !self.is_modelled(raw) => return self.unmodelled(raw, code),
            _ => {}
        }
        let operand = |i| llvm!(api, LLVMGetOperand(raw, i));
        let ty = self.imp.ty(llvm!(api, LLVMTypeOf(raw)));
        let flags = self.flags(raw, code);
        if let Some(op) = from_raw(&BIN_OPS, code) {
            let op = Op::Bin(op, self.value(operand(0)), self.value(operand(1)));
            self.define(raw, op, Some(ty), flags);
            return Ok(());
        }
        if let Some(cast) = from_raw(&CAST_OPS, code) {
            let op = Op::Cast(cast, self.value(operand(0)));
            self.define(raw, op, Some(ty), flags);
            return Ok(());
        }
        let op = match code {
            opcode::FNEG => Op::FNeg(self.value(operand(0))),
            opcode::FREEZE => Op::Freeze(self.value(operand(0))),
            opcode::ICMP => {
                let pred = from_raw(&INT_PREDS, llvm!(api, LLVMGetICmpPredicate(raw)));
                let pred = pred.ok_or("an unknown integer comparison")?;
                Op::ICmp(pred, self.value(operand(0)), self.value(operand(1)))
            }
            opcode::FCMP => {
                let pred = from_raw(&FLOAT_PREDS, llvm!(api, LLVMGetFCmpPredicate(raw)));
                let pred = pred.ok_or("an unknown float comparison")?;
                Op::FCmp(pred, self.value(operand(0)), self.value(operand(1)))
            }
            opcode::SELECT => Op::Select(self.value(operand(0)), self.value(operand(1)), self.value(operand(2))),
            opcode::ALLOCA => match self.static_alloca(raw) {
                Some(op) => op,
                None => return self.unmodelled(raw, code),
            },
            opcode::LOAD if !self.is_ordered(raw) => {
                Op::Load { ptr: self.value(operand(0)), align: self.alignment(raw) }
            }
            opcode::STORE if !self.is_ordered(raw) => {
                let (value, ptr) = (self.value(operand(0)), self.value(operand(1)));
                let op = Op::Store { ptr, value, align: self.alignment(raw) };
                self.define(raw, op, None, Flags::NONE);
                return Ok(());
            }
            opcode::GEP => return self.address_computation(raw),
            opcode::EXTRACT_VALUE => return self.extract(raw),
            opcode::INSERT_VALUE => return self.insert(raw),
            _ => return self.unmodelled(raw, code),
        };
        self.define(raw, op, Some(ty), flags);
        Ok(())
    }

    /// Whether the types of the result and of all operands are modelled.
    fn is_modelled(&mut self, raw: ValueRef) -> bool {
        let module = self.imp.module;
        let values = std::iter::once(raw).chain(module.raw_operands(raw));
        values.into_iter().all(|v| {
            let ty = llvm!(module.api(), LLVMTypeOf(v));
            llvm!(module.api(), LLVMGetTypeKind(ty)) == type_kind::VOID || !matches!(self.imp.ty(ty), Type::Opaque(..))
        })
    }

    /// Whether an access is volatile or atomic.
    fn is_ordered(&self, raw: ValueRef) -> bool {
        let api = self.imp.module.api();
        llvm!(api, LLVMGetVolatile(raw)) != 0 || self.is_atomic(raw)
    }

    fn is_atomic(&self, raw: ValueRef) -> bool {
        llvm!(self.imp.module.api(), LLVMGetOrdering(raw)) != 0
    }

    fn alignment(&self, raw: ValueRef) -> u64 {
        u64::from(llvm!(self.imp.module.api(), LLVMGetAlignment(raw)).max(1))
    }

    fn flags(&self, raw: ValueRef, code: i32) -> Flags {
        let api = self.imp.module.api();
        let mut flags = Flags::NONE;
        let mut set = |is: i32, flag: Flags| {
            if is != 0 {
                flags = flags.union(flag);
            }
        };
        match code {
            opcode::ADD | opcode::SUB | opcode::MUL | opcode::SHL | opcode::TRUNC => {
                set(llvm!(api, LLVMGetNSW(raw)), Flags::NSW);
                set(llvm!(api, LLVMGetNUW(raw)), Flags::NUW);
            }
            opcode::UDIV | opcode::SDIV | opcode::LSHR | opcode::ASHR => {
                set(llvm!(api, LLVMGetExact(raw)), Flags::EXACT);
            }
            opcode::OR => set(llvm!(api, LLVMGetIsDisjoint(raw)), Flags::DISJOINT),
            opcode::ZEXT | opcode::UI_TO_FP => set(llvm!(api, LLVMGetNNeg(raw)), Flags::NNEG),
            _ => {}
        }
        flags.union(self.fast_math(raw))
    }

    pub(super) fn fast_math(&self, raw: ValueRef) -> Flags {
        let api = self.imp.module.api();
        if llvm!(api, LLVMCanValueUseFastMathFlags(raw)) == 0 {
            return Flags::NONE;
        }
        Flags((llvm!(api, LLVMGetFastMathFlags(raw)) & 0x7f) << Flags::FAST_MATH_SHIFT)
    }

    fn static_alloca(&mut self, raw: ValueRef) -> Option<Op> {
        let module = self.imp.module;
        let api = module.api();
        let count = llvm!(api, LLVMGetOperand(raw, 0));
        if self.current != self.func.entry() || llvm!(api, LLVMGetValueKind(count)) != value_kind::INT {
            return None;
        }
        let layout = llvm!(api, LLVMGetModuleDataLayout(module.raw));
        let size = llvm!(api, LLVMABISizeOfType(layout, llvm!(api, LLVMGetAllocatedType(raw))));
        Some(Op::Alloca { size: size * module.int_bits(count) as u64, align: self.alignment(raw) })
    }

    pub(super) fn gep_flags(&self, gep: ValueRef) -> Flags {
        let bits = llvm!(self.imp.module.api(), LLVMGEPGetNoWrapFlags(gep));
        let mut flags = Flags::NONE;
        if bits & gep_flags::INBOUNDS != 0 {
            flags = flags.union(Flags::INBOUNDS);
        }
        if bits & gep_flags::NUW != 0 {
            flags = flags.union(Flags::NUW);
        }
        flags
    }

    /// `getelementptr`: the offset in bytes, then one `PtrAdd`.
    fn address_computation(&mut self, raw: ValueRef) -> Result<(), Reason> {
        let module = self.imp.module;
        let api = module.api();
        let layout = llvm!(api, LLVMGetModuleDataLayout(module.raw));
        let flags = self.gep_flags(raw);
        // What the flags promise of the address holds of the arithmetic that leads to it.
        let mut arithmetic = Flags::ADDRESS;
        if flags.contains(Flags::INBOUNDS) {
            arithmetic = arithmetic.union(Flags::NSW);
        }
        if flags.contains(Flags::NUW) {
            arithmetic = arithmetic.union(Flags::NUW);
        }
        let operands = module.raw_operands(raw);
        let base = self.value(operands[0]);
        let mut ty = llvm!(api, LLVMGetGEPSourceElementType(raw));
        let mut constant = 0i64;
        let mut variable: Option<Value> = None;
        for (i, index) in operands[1..].iter().copied().enumerate() {
            let known = llvm!(api, LLVMGetValueKind(index)) == value_kind::INT;
            if i > 0 {
                if llvm!(api, LLVMGetTypeKind(ty)) == type_kind::STRUCT {
                    let field = module.int_bits(index) as u32;
                    constant = constant.wrapping_add(llvm!(api, LLVMOffsetOfElement(layout, ty, field)) as i64);
                    ty = llvm!(api, LLVMStructGetTypeAtIndex(ty, field));
                    continue;
                }
                ty = llvm!(api, LLVMGetElementType(ty));
            }
            let stride = llvm!(api, LLVMABISizeOfType(layout, ty)) as i64;
            if known {
                let index = llvm!(api, LLVMConstIntGetSExtValue(index));
                constant = constant.wrapping_add(index.wrapping_mul(stride));
                continue;
            }
            let mut step = self.index_i64(index);
            let mut builder = self.builder();
            builder.flags = arithmetic;
            if stride != 1 {
                let stride = builder.func.i64(stride);
                step = builder.mul(step, stride);
            }
            if constant != 0 {
                let bytes = builder.func.i64(constant);
                step = builder.add(step, bytes);
                constant = 0;
            }
            variable = Some(match variable {
                Some(sum) => builder.add(sum, step),
                None => step,
            });
        }
        let mut builder = self.builder();
        builder.flags = arithmetic;
        let offset = match variable {
            None if constant == 0 => {
                self.values.insert(raw, base);
                return Ok(());
            }
            None => builder.func.i64(constant),
            Some(sum) if constant == 0 => sum,
            Some(sum) => {
                let bytes = builder.func.i64(constant);
                builder.add(sum, bytes)
            }
        };
        self.define(raw, Op::PtrAdd(base, offset), None, flags);
        Ok(())
    }

    /// An index as an `i64`; LLVM takes narrower ones as signed.
    fn index_i64(&mut self, index: ValueRef) -> Value {
        let value = self.value(index);
        match self.func.ty(value) {
            Type::Int(64) => value,
            Type::Int(width) => {
                let op = if *width < 64 { CastOp::SExt } else { CastOp::Trunc };
                self.builder().cast(op, value, Type::I64)
            }
            other => panic!("a bug in Pullback: an index of type {other}"),
        }
    }

    /// A length as an `i64`; `memcpy` takes narrower ones as unsigned.
    pub(super) fn length(&mut self, raw: ValueRef) -> Value {
        let value = self.value(raw);
        match self.func.ty(value) {
            Type::Int(64) => value,
            _ => self.builder().cast(CastOp::ZExt, value, Type::I64),
        }
    }

    fn indices(&self, raw: ValueRef) -> Vec<u32> {
        let api = self.imp.module.api();
        let count = llvm!(api, LLVMGetNumIndices(raw)) as usize;
        let indices = llvm!(api, LLVMGetIndices(raw));
        // SAFETY: the instruction owns `count` indices at this address.
        unsafe { std::slice::from_raw_parts(indices, count) }.to_vec()
    }

    fn extract(&mut self, raw: ValueRef) -> Result<(), Reason> {
        let mut value = self.value(llvm!(self.imp.module.api(), LLVMGetOperand(raw, 0)));
        for index in self.indices(raw) {
            value = self.field(value, index);
        }
        self.values.insert(raw, value);
        Ok(())
    }

    fn field(&mut self, aggregate: Value, index: u32) -> Value {
        let ty = self.func.ty(aggregate).field(index as usize).clone();
        self.builder().value(Op::ExtractValue(aggregate, index), ty)
    }

    fn insert(&mut self, raw: ValueRef) -> Result<(), Reason> {
        let api = self.imp.module.api();
        let mut levels = vec![self.value(llvm!(api, LLVMGetOperand(raw, 0)))];
        let mut value = self.value(llvm!(api, LLVMGetOperand(raw, 1)));
        let indices = self.indices(raw);
        for index in &indices[..indices.len() - 1] {
            let inner = self.field(levels[levels.len() - 1], *index);
            levels.push(inner);
        }
        for (aggregate, index) in levels.into_iter().zip(indices).rev() {
            let ty = self.func.ty(aggregate).clone();
            value = self.builder().value(Op::InsertValue(aggregate, value, index), ty);
        }
        self.values.insert(raw, value);
        Ok(())
    }

    /// An instruction without a word in the IR, or on types without one.
    fn unmodelled(&mut self, raw: ValueRef, code: i32) -> Result<(), Reason> {
        let pure = from_raw(&BIN_OPS, code).is_some_and(|op: BinOp| !matches!(op, BinOp::UDiv | BinOp::SDiv))
            || from_raw(&CAST_OPS, code).is_some()
            || matches!(
                code,
                opcode::FNEG
                    | opcode::ICMP
                    | opcode::FCMP
                    | opcode::SELECT
                    | opcode::GEP
                    | opcode::EXTRACT_VALUE
                    | opcode::INSERT_VALUE
                    | opcode::EXTRACT_ELEMENT
                    | opcode::INSERT_ELEMENT
                    | opcode::SHUFFLE_VECTOR
                    | opcode::PTR_TO_ADDR
            );
        let effects = match code {
            _ if pure => Effects::NONE,
            opcode::LOAD if !self.is_ordered(raw) => Effects { reads: true, writes: false },
            opcode::STORE if !self.is_ordered(raw) => Effects { reads: false, writes: true },
            _ => Effects::ANY,
        };
        let name = from_raw(&INSTRUCTION_NAMES, code).map_or_else(|| format!("instruction {code}"), str::to_owned);
        let access = match code {
            opcode::LOAD | opcode::STORE if self.is_atomic(raw) => "atomic ",
            opcode::LOAD | opcode::STORE if self.is_ordered(raw) => "volatile ",
            _ => "",
        };
        self.opaque(raw, &format!("{access}{name}"), effects)
    }

    /// An opaque instruction: the original with its operands.
    pub(super) fn opaque(&mut self, raw: ValueRef, name: &str, effects: Effects) -> Result<(), Reason> {
        let module = self.imp.module;
        let api = module.api();
        let mut operands = Vec::new();
        let mut args = Vec::new();
        let callee = if matches!(llvm!(api, LLVMGetInstructionOpcode(raw)), opcode::CALL | opcode::INVOKE) {
            llvm!(api, LLVMGetCalledValue(raw))
        } else {
            ValueRef::NULL
        };
        for i in 0..llvm!(api, LLVMGetNumOperands(raw)) as u32 {
            let operand = llvm!(api, LLVMGetOperand(raw, i));
            let kind = llvm!(api, LLVMGetValueKind(operand));
            let is_value = match kind {
                value_kind::METADATA | value_kind::INLINE_ASM | value_kind::BASIC_BLOCK => false,
                value_kind::INSTRUCTION | value_kind::ARGUMENT => true,
                // Constants stay in the original, except those whose address the IR should know.
                _ => operand != callee && self.is_address(operand),
            };
            if is_value {
                operands.push(i);
                args.push(self.value(operand));
            }
        }
        let raw_ty = llvm!(api, LLVMTypeOf(raw));
        let is_void = llvm!(api, LLVMGetTypeKind(raw_ty)) == type_kind::VOID;
        let ty = (!is_void).then(|| self.imp.ty(raw_ty));
        let id = self.imp.opaque.add(raw, operands);
        let op = OpaqueOp {
            id,
            name: name.into(),
            args,
            reads: effects.reads,
            writes: effects.writes,
            cleanup: self.cleanup.take(),
        };
        self.define(raw, Op::Opaque(op), ty, Flags::NONE);
        Ok(())
    }

    fn is_address(&self, value: ValueRef) -> bool {
        matches!(self.imp.module.address(value), Some((Some(_), _)))
    }
}
