//! The numbers of LLVM-C's enumerations (`llvm-c/Core.h`), stable across releases.

#![allow(dead_code)]

/// `LLVMTypeKind`.
pub(crate) mod type_kind {
    pub const VOID: i32 = 0;
    pub const FLOAT: i32 = 2;
    pub const DOUBLE: i32 = 3;
    pub const LABEL: i32 = 7;
    pub const INTEGER: i32 = 8;
    pub const FUNCTION: i32 = 9;
    pub const STRUCT: i32 = 10;
    pub const ARRAY: i32 = 11;
    pub const POINTER: i32 = 12;
    pub const VECTOR: i32 = 13;
    pub const METADATA: i32 = 14;
    pub const TOKEN: i32 = 16;
}

/// `LLVMValueKind`.
pub(crate) mod value_kind {
    pub const ARGUMENT: i32 = 0;
    pub const BASIC_BLOCK: i32 = 1;
    pub const FUNCTION: i32 = 5;
    pub const ALIAS: i32 = 6;
    pub const GLOBAL: i32 = 8;
    pub const CONSTANT_EXPR: i32 = 10;
    pub const CONSTANT_ARRAY: i32 = 11;
    pub const CONSTANT_STRUCT: i32 = 12;
    pub const UNDEF: i32 = 14;
    pub const AGGREGATE_ZERO: i32 = 15;
    pub const DATA_ARRAY: i32 = 16;
    pub const INT: i32 = 18;
    pub const FLOAT: i32 = 19;
    pub const NULL: i32 = 20;
    pub const METADATA: i32 = 22;
    pub const INLINE_ASM: i32 = 23;
    pub const INSTRUCTION: i32 = 24;
    pub const POISON: i32 = 25;
}

/// `LLVMOpcode`.
pub(crate) mod opcode {
    pub const RET: i32 = 1;
    pub const BR: i32 = 2;
    pub const SWITCH: i32 = 3;
    pub const INVOKE: i32 = 5;
    pub const UNREACHABLE: i32 = 7;
    pub const ADD: i32 = 8;
    pub const FADD: i32 = 9;
    pub const SUB: i32 = 10;
    pub const FSUB: i32 = 11;
    pub const MUL: i32 = 12;
    pub const FMUL: i32 = 13;
    pub const UDIV: i32 = 14;
    pub const SDIV: i32 = 15;
    pub const FDIV: i32 = 16;
    pub const UREM: i32 = 17;
    pub const SREM: i32 = 18;
    pub const FREM: i32 = 19;
    pub const SHL: i32 = 20;
    pub const LSHR: i32 = 21;
    pub const ASHR: i32 = 22;
    pub const AND: i32 = 23;
    pub const OR: i32 = 24;
    pub const XOR: i32 = 25;
    pub const ALLOCA: i32 = 26;
    pub const LOAD: i32 = 27;
    pub const STORE: i32 = 28;
    pub const GEP: i32 = 29;
    pub const TRUNC: i32 = 30;
    pub const ZEXT: i32 = 31;
    pub const SEXT: i32 = 32;
    pub const FP_TO_UI: i32 = 33;
    pub const FP_TO_SI: i32 = 34;
    pub const UI_TO_FP: i32 = 35;
    pub const SI_TO_FP: i32 = 36;
    pub const FP_TRUNC: i32 = 37;
    pub const FP_EXT: i32 = 38;
    pub const PTR_TO_INT: i32 = 39;
    pub const INT_TO_PTR: i32 = 40;
    pub const BITCAST: i32 = 41;
    pub const ICMP: i32 = 42;
    pub const FCMP: i32 = 43;
    pub const PHI: i32 = 44;
    pub const CALL: i32 = 45;
    pub const SELECT: i32 = 46;
    pub const EXTRACT_VALUE: i32 = 53;
    pub const INSERT_VALUE: i32 = 54;
    pub const FENCE: i32 = 55;
    pub const CMP_XCHG: i32 = 56;
    pub const ATOMIC_RMW: i32 = 57;
    pub const RESUME: i32 = 58;
    pub const LANDING_PAD: i32 = 59;
    pub const FNEG: i32 = 66;
    pub const FREEZE: i32 = 68;
}

/// The attribute index of the function itself; 0 is the return value, 1 the first parameter.
pub(crate) const FUNCTION_INDEX: u32 = u32::MAX;
