//! The numbers of LLVM-C's enumerations (`llvm-c/Core.h`), stable across releases.

use pullback_ir::{BinOp, CastOp, FloatPred, IntPred};

/// `LLVMTypeKind`.
pub(crate) mod type_kind {
    pub const VOID: i32 = 0;
    pub const FLOAT: i32 = 2;
    pub const DOUBLE: i32 = 3;
    pub const INTEGER: i32 = 8;
    pub const STRUCT: i32 = 10;
    pub const ARRAY: i32 = 11;
    pub const POINTER: i32 = 12;
    pub const VECTOR: i32 = 13;
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
    pub const EXTRACT_ELEMENT: i32 = 50;
    pub const INSERT_ELEMENT: i32 = 51;
    pub const SHUFFLE_VECTOR: i32 = 52;
    pub const EXTRACT_VALUE: i32 = 53;
    pub const INSERT_VALUE: i32 = 54;
    pub const FENCE: i32 = 55;
    pub const CMPXCHG: i32 = 56;
    pub const ATOMIC_RMW: i32 = 57;
    pub const RESUME: i32 = 58;
    pub const LANDING_PAD: i32 = 59;
    pub const FNEG: i32 = 66;
    pub const FREEZE: i32 = 68;
    pub const PTR_TO_ADDR: i32 = 69;
}

/// What LLVM's text calls an instruction. From LLVM the name is only to be had with the text of the whole instruction,
/// for which all values of its function are numbered.
pub(crate) const INSTRUCTION_NAMES: [(i32, &str); 48] = [
    (opcode::ADD, "add"),
    (opcode::FADD, "fadd"),
    (opcode::SUB, "sub"),
    (opcode::FSUB, "fsub"),
    (opcode::MUL, "mul"),
    (opcode::FMUL, "fmul"),
    (opcode::UDIV, "udiv"),
    (opcode::SDIV, "sdiv"),
    (opcode::FDIV, "fdiv"),
    (opcode::UREM, "urem"),
    (opcode::SREM, "srem"),
    (opcode::FREM, "frem"),
    (opcode::SHL, "shl"),
    (opcode::LSHR, "lshr"),
    (opcode::ASHR, "ashr"),
    (opcode::AND, "and"),
    (opcode::OR, "or"),
    (opcode::XOR, "xor"),
    (opcode::ALLOCA, "alloca"),
    (opcode::LOAD, "load"),
    (opcode::STORE, "store"),
    (opcode::GEP, "getelementptr"),
    (opcode::TRUNC, "trunc"),
    (opcode::ZEXT, "zext"),
    (opcode::SEXT, "sext"),
    (opcode::FP_TO_UI, "fptoui"),
    (opcode::FP_TO_SI, "fptosi"),
    (opcode::UI_TO_FP, "uitofp"),
    (opcode::SI_TO_FP, "sitofp"),
    (opcode::FP_TRUNC, "fptrunc"),
    (opcode::FP_EXT, "fpext"),
    (opcode::PTR_TO_INT, "ptrtoint"),
    (opcode::INT_TO_PTR, "inttoptr"),
    (opcode::BITCAST, "bitcast"),
    (opcode::ICMP, "icmp"),
    (opcode::FCMP, "fcmp"),
    (opcode::SELECT, "select"),
    (opcode::EXTRACT_ELEMENT, "extractelement"),
    (opcode::INSERT_ELEMENT, "insertelement"),
    (opcode::SHUFFLE_VECTOR, "shufflevector"),
    (opcode::EXTRACT_VALUE, "extractvalue"),
    (opcode::INSERT_VALUE, "insertvalue"),
    (opcode::FENCE, "fence"),
    (opcode::CMPXCHG, "cmpxchg"),
    (opcode::ATOMIC_RMW, "atomicrmw"),
    (opcode::FNEG, "fneg"),
    (opcode::FREEZE, "freeze"),
    (opcode::PTR_TO_ADDR, "ptrtoaddr"),
];

/// The attribute index of the function itself; 0 is the return value, 1 the first parameter.
pub(crate) const FUNCTION_INDEX: u32 = u32::MAX;

/// The arithmetic both sides know.
pub(crate) const BIN_OPS: [(i32, BinOp); 18] = [
    (opcode::ADD, BinOp::Add),
    (opcode::SUB, BinOp::Sub),
    (opcode::MUL, BinOp::Mul),
    (opcode::UDIV, BinOp::UDiv),
    (opcode::SDIV, BinOp::SDiv),
    (opcode::UREM, BinOp::URem),
    (opcode::SREM, BinOp::SRem),
    (opcode::SHL, BinOp::Shl),
    (opcode::LSHR, BinOp::LShr),
    (opcode::ASHR, BinOp::AShr),
    (opcode::AND, BinOp::And),
    (opcode::OR, BinOp::Or),
    (opcode::XOR, BinOp::Xor),
    (opcode::FADD, BinOp::FAdd),
    (opcode::FSUB, BinOp::FSub),
    (opcode::FMUL, BinOp::FMul),
    (opcode::FDIV, BinOp::FDiv),
    (opcode::FREM, BinOp::FRem),
];

/// The conversions both sides know.
pub(crate) const CAST_OPS: [(i32, CastOp); 12] = [
    (opcode::TRUNC, CastOp::Trunc),
    (opcode::ZEXT, CastOp::ZExt),
    (opcode::SEXT, CastOp::SExt),
    (opcode::FP_TRUNC, CastOp::FpTrunc),
    (opcode::FP_EXT, CastOp::FpExt),
    (opcode::FP_TO_UI, CastOp::FpToUi),
    (opcode::FP_TO_SI, CastOp::FpToSi),
    (opcode::UI_TO_FP, CastOp::UiToFp),
    (opcode::SI_TO_FP, CastOp::SiToFp),
    (opcode::PTR_TO_INT, CastOp::PtrToInt),
    (opcode::INT_TO_PTR, CastOp::IntToPtr),
    (opcode::BITCAST, CastOp::Bitcast),
];

/// `LLVMIntPredicate`.
pub(crate) const INT_PREDS: [(i32, IntPred); 10] = [
    (32, IntPred::Eq),
    (33, IntPred::Ne),
    (34, IntPred::Ugt),
    (35, IntPred::Uge),
    (36, IntPred::Ult),
    (37, IntPred::Ule),
    (38, IntPred::Sgt),
    (39, IntPred::Sge),
    (40, IntPred::Slt),
    (41, IntPred::Sle),
];

/// `LLVMRealPredicate`.
pub(crate) const FLOAT_PREDS: [(i32, FloatPred); 16] = [
    (0, FloatPred::False),
    (1, FloatPred::Oeq),
    (2, FloatPred::Ogt),
    (3, FloatPred::Oge),
    (4, FloatPred::Olt),
    (5, FloatPred::Ole),
    (6, FloatPred::One),
    (7, FloatPred::Ord),
    (8, FloatPred::Uno),
    (9, FloatPred::Ueq),
    (10, FloatPred::Ugt),
    (11, FloatPred::Uge),
    (12, FloatPred::Ult),
    (13, FloatPred::Ule),
    (14, FloatPred::Une),
    (15, FloatPred::True),
];

/// LLVM's number to ours.
pub(crate) fn from_raw<T: Copy>(table: &[(i32, T)], raw: i32) -> Option<T> {
    table.iter().find(|(r, _)| *r == raw).map(|(_, t)| *t)
}

/// Ours to LLVM's number.
pub(crate) fn to_raw<T: Copy + PartialEq>(table: &[(i32, T)], ours: T) -> i32 {
    table.iter().find(|(_, t)| *t == ours).map(|(r, _)| *r).expect("the table has every variant")
}

/// The bits of `LLVMGEPNoWrapFlags`.
pub(crate) mod gep_flags {
    pub const INBOUNDS: u32 = 1;
    pub const NUSW: u32 = 2;
    pub const NUW: u32 = 4;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::llvm;
    use crate::{Context, Llvm, Module};
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn instructions_are_called_what_llvm_calls_them() {
        let text = "
            define <2 x i32> @f(<2 x i32> %v, i32 %i, ptr %p, fp128 %q, double %d, {i32, i32} %s) {
              %1 = add <2 x i32> %v, %v
              %2 = sub <2 x i32> %1, %v
              %3 = mul <2 x i32> %2, %v
              %4 = udiv <2 x i32> %3, %v
              %5 = sdiv <2 x i32> %4, %v
              %6 = urem <2 x i32> %5, %v
              %7 = srem <2 x i32> %6, %v
              %8 = shl <2 x i32> %7, %v
              %9 = lshr <2 x i32> %8, %v
              %10 = ashr <2 x i32> %9, %v
              %11 = and <2 x i32> %10, %v
              %12 = or <2 x i32> %11, %v
              %13 = xor <2 x i32> %12, %v
              %14 = fadd fp128 %q, %q
              %15 = fsub fp128 %14, %q
              %16 = fmul fp128 %15, %q
              %17 = fdiv fp128 %16, %q
              %18 = frem fp128 %17, %q
              %19 = fneg fp128 %18
              %20 = alloca i8, i32 %i
              %21 = load volatile fp128, ptr %p
              store volatile fp128 %21, ptr %p
              %22 = getelementptr i8, ptr %p, i32 %i
              %23 = trunc <2 x i32> %13 to <2 x i16>
              %24 = zext <2 x i16> %23 to <2 x i32>
              %25 = sext <2 x i16> %23 to <2 x i32>
              %26 = fptoui fp128 %19 to i32
              %27 = fptosi fp128 %19 to i32
              %28 = uitofp i32 %26 to fp128
              %29 = sitofp i32 %27 to fp128
              %30 = fptrunc fp128 %29 to double
              %31 = fpext double %30 to fp128
              %32 = ptrtoint ptr %22 to i128
              %33 = inttoptr i128 %32 to ptr
              %34 = bitcast double %d to <2 x i32>
              %35 = icmp eq <2 x i32> %34, %25
              %36 = fcmp oeq fp128 %31, %28
              %37 = select i1 %36, <2 x i32> %25, <2 x i32> %24
              %38 = extractelement <2 x i32> %37, i32 %i
              %39 = insertelement <2 x i32> %37, i32 %38, i32 %i
              %40 = shufflevector <2 x i32> %39, <2 x i32> %v, <2 x i32> <i32 0, i32 3>
              %41 = extractvalue {i32, i32} %s, 0
              %42 = insertvalue {i32, i32} %s, i32 %41, 1
              fence seq_cst
              %43 = cmpxchg ptr %33, i32 0, i32 1 seq_cst seq_cst
              %44 = atomicrmw add ptr %33, i32 1 seq_cst
              %45 = freeze <2 x i32> %40
              %46 = ptrtoaddr ptr %p to i64
              ret <2 x i32> %45
            }";
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
        let llvm = Llvm::load(Path::new(String::from_utf8(sysroot.stdout).unwrap().trim())).unwrap();
        let module = Module::parse_ir(&Context::new(&llvm), "test", text).unwrap();
        let mut seen = Vec::new();
        for inst in module.raw_body(module.function_named("f").unwrap()) {
            let code = llvm!(module.api(), LLVMGetInstructionOpcode(inst.value()));
            let text = module.print_value(inst.value());
            let words = text.trim().split_once("= ").map_or(text.trim(), |(_, rest)| rest);
            if let Some(name) = from_raw(&INSTRUCTION_NAMES, code) {
                assert_eq!(words.split(' ').next(), Some(name), "{text}");
                seen.push(code);
            }
        }
        let unseen: Vec<_> = INSTRUCTION_NAMES.iter().filter(|(code, _)| !seen.contains(code)).collect();
        assert!(unseen.is_empty(), "{unseen:?}");
    }
}
