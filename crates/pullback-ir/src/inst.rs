//! The instruction set.

use crate::entities::{Block, FuncId, OpaqueId, Value};
use crate::math::MathFn;
use crate::types::Type;
use std::sync::Arc;

/// Arithmetic with two operands of one type. The `F…` ones are on floats, the others on integers.
#[allow(missing_docs)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
}

impl BinOp {
    /// Whether the operands are floats.
    pub fn is_float(self) -> bool {
        matches!(self, BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem)
    }
}

/// Integer and pointer comparisons.
#[allow(missing_docs)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntPred {
    Eq,
    Ne,
    Ult,
    Ule,
    Ugt,
    Uge,
    Slt,
    Sle,
    Sgt,
    Sge,
}

impl IntPred {
    /// The comparison that holds when this one does not.
    pub fn inverse(self) -> IntPred {
        use IntPred::*;
        match self {
            Eq => Ne,
            Ne => Eq,
            Ult => Uge,
            Uge => Ult,
            Ule => Ugt,
            Ugt => Ule,
            Slt => Sge,
            Sge => Slt,
            Sle => Sgt,
            Sgt => Sle,
        }
    }

    /// The comparison with its operands swapped.
    pub fn swapped(self) -> IntPred {
        use IntPred::*;
        match self {
            Eq => Eq,
            Ne => Ne,
            Ult => Ugt,
            Ugt => Ult,
            Ule => Uge,
            Uge => Ule,
            Slt => Sgt,
            Sgt => Slt,
            Sle => Sge,
            Sge => Sle,
        }
    }
}

/// Float comparisons: `O…` are false and `U…` true when an operand is NaN.
#[allow(missing_docs)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FloatPred {
    False,
    Oeq,
    Ogt,
    Oge,
    Olt,
    Ole,
    One,
    Ord,
    Uno,
    Ueq,
    Ugt,
    Uge,
    Ult,
    Ule,
    Une,
    True,
}

/// Conversions of one value to another type; the target type is that of the instruction's result.
#[allow(missing_docs)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CastOp {
    Trunc,
    ZExt,
    SExt,
    FpTrunc,
    FpExt,
    FpToUi,
    FpToSi,
    UiToFp,
    SiToFp,
    PtrToInt,
    IntToPtr,
    Bitcast,
}

/// Facts and permissions on an instruction, kept from the original program. The bits mean what LLVM's flags of the
/// same name mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags(pub u32);

impl Flags {
    /// No facts.
    pub const NONE: Flags = Flags(0);
    /// No signed wrap.
    pub const NSW: Flags = Flags(1);
    /// No unsigned wrap.
    pub const NUW: Flags = Flags(1 << 1);
    /// The division or shift has no remainder.
    pub const EXACT: Flags = Flags(1 << 2);
    /// The operands of an `or` have no common bits.
    pub const DISJOINT: Flags = Flags(1 << 3);
    /// The operand of a zero extension is not negative.
    pub const NNEG: Flags = Flags(1 << 4);
    /// The address stays in its object.
    pub const INBOUNDS: Flags = Flags(1 << 5);
    /// A call is not to be taken for one of a function that the optimiser knows: the run-time library computes it.
    pub const NO_BUILTIN: Flags = Flags(1 << 6);
    /// The arithmetic of an address, of a pointer to elements: it counts in whole elements, also where it may wrap.
    pub const ADDRESS: Flags = Flags(1 << 7);
    /// The fast-math flags: seven bits in LLVM's order (reassoc, nnan, ninf, nsz, arcp, contract, afn).
    pub const FAST_MATH_SHIFT: u32 = 8;
    /// The order of additions does not matter.
    pub const REASSOC: Flags = Flags(1 << Self::FAST_MATH_SHIFT);
    /// All fast-math bits.
    pub const FAST_MATH: Flags = Flags(0x7f << Self::FAST_MATH_SHIFT);

    /// Both sets of flags.
    pub const fn union(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Whether all of `other` is set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Only the fast-math flags of these: what an instruction of the derivative inherits.
    pub const fn fast_math(self) -> Flags {
        Flags(self.0 & Self::FAST_MATH.0)
    }
}

/// Who is called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Callee {
    /// A function of the module.
    Direct(FuncId),
    /// A function pointer.
    Indirect(Value),
}

/// What is to be done when a call does not return because of a panic: call `func`, which drops what the caller holds,
/// and let the panic go on. A landing pad of the original program, with all that comes after it, as a function.
#[derive(Clone, PartialEq, Debug)]
pub struct Cleanup {
    /// The function that cleans up. It returns nothing.
    pub func: FuncId,
    /// What it is given: values that are there before the call.
    pub args: Vec<Value>,
}

/// What an instruction does. Operands are named in the variants; [`Op::operands`] lists them.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// Two-operand arithmetic.
    Bin(BinOp, Value, Value),
    /// Float negation.
    FNeg(Value),
    /// Comparison of integers or pointers; the result is `i1`.
    ICmp(IntPred, Value, Value),
    /// Comparison of floats; the result is `i1`.
    FCmp(FloatPred, Value, Value),
    /// Conversion to the result's type.
    Cast(CastOp, Value),
    /// `cond ? a : b`.
    Select(Value, Value, Value),
    /// A poison operand becomes some fixed value.
    Freeze(Value),
    /// A float function.
    Math(MathFn, Vec<Value>),
    /// An LLVM intrinsic on integers without side effects (`llvm.ctpop.i64`, `llvm.uadd.with.overflow.i64`, …), by its
    /// full name.
    Intrinsic(Arc<str>, Vec<Value>),
    /// Memory of the current call: so many bytes at this alignment. Only in the entry block.
    Alloca {
        /// Bytes.
        size: u64,
        /// Alignment in bytes.
        align: u64,
    },
    /// Read a value of the result's type.
    Load {
        /// Where.
        ptr: Value,
        /// Known alignment in bytes.
        align: u64,
    },
    /// Write a value.
    Store {
        /// Where.
        ptr: Value,
        /// What.
        value: Value,
        /// Known alignment in bytes.
        align: u64,
    },
    /// `ptr` plus `offset` bytes (an `i64`).
    PtrAdd(Value, Value),
    /// Copy `len` bytes (an `i64`); the regions do not overlap unless `may_overlap`.
    Copy {
        /// Target.
        dst: Value,
        /// Source.
        src: Value,
        /// Bytes, `i64`.
        len: Value,
        /// Whether the regions may overlap (`memmove`).
        may_overlap: bool,
        /// Known alignment of the target and the source.
        align: (u64, u64),
    },
    /// Fill `len` bytes (an `i64`) with `byte` (an `i8`).
    Fill {
        /// Target.
        dst: Value,
        /// The byte.
        byte: Value,
        /// Bytes, `i64`.
        len: Value,
        /// Known alignment of the target.
        align: u64,
    },
    /// Heap memory from the program's own allocator; `func` is the allocation function of the original program.
    Alloc {
        /// Bytes, `i64`.
        size: Value,
        /// Alignment, `i64`.
        align: Value,
        /// Whether the memory is zero.
        zeroed: bool,
        /// The allocation function.
        func: FuncId,
    },
    /// Give heap memory back.
    Dealloc {
        /// The memory.
        ptr: Value,
        /// Bytes, `i64`.
        size: Value,
        /// Alignment, `i64`.
        align: Value,
        /// The deallocation function.
        func: FuncId,
    },
    /// Call a function; if it panics, clean up.
    Call(Callee, Vec<Value>, Option<Cleanup>),
    /// Field `index` of an aggregate.
    ExtractValue(Value, u32),
    /// The aggregate with field `index` replaced.
    InsertValue(Value, Value, u32),
    /// An instruction of the original program that the IR does not model.
    Opaque(OpaqueOp),
}

/// An instruction that is not modelled: it has operands and effects, and is cloned from the original on export.
#[derive(Clone, PartialEq, Debug)]
pub struct OpaqueOp {
    /// The original instruction.
    pub id: OpaqueId,
    /// What it is called, for messages (`atomicrmw`, `asm`).
    pub name: Arc<str>,
    /// Its operands in the original's order.
    pub args: Vec<Value>,
    /// Whether it may read memory.
    pub reads: bool,
    /// Whether it may write memory or have another side effect.
    pub writes: bool,
    /// What is done if it is a call, and panics.
    pub cleanup: Option<Cleanup>,
}

impl OpaqueOp {
    /// Whether this is an atomic operation. It may count as one that writes though it does not: an ordered load does.
    pub fn is_atomic(&self) -> bool {
        matches!(&*self.name, "atomicrmw" | "cmpxchg" | "fence" | "atomic load" | "atomic store")
    }
}

impl Op {
    /// The operands, in order; those of the clean-up come last.
    pub fn operands(&self) -> Vec<Value> {
        let mut all = Vec::new();
        self.clone().map_operands(|v| {
            all.push(v);
            v
        });
        all
    }

    /// The same operation on other operands.
    pub fn map_operands(self, mut f: impl FnMut(Value) -> Value) -> Op {
        fn list(args: Vec<Value>, f: &mut impl FnMut(Value) -> Value) -> Vec<Value> {
            args.into_iter().map(f).collect()
        }
        fn with(cleanup: Option<Cleanup>, f: &mut impl FnMut(Value) -> Value) -> Option<Cleanup> {
            cleanup.map(|c| Cleanup { func: c.func, args: list(c.args, f) })
        }
        match self {
            Op::Bin(op, a, b) => Op::Bin(op, f(a), f(b)),
            Op::FNeg(a) => Op::FNeg(f(a)),
            Op::ICmp(p, a, b) => Op::ICmp(p, f(a), f(b)),
            Op::FCmp(p, a, b) => Op::FCmp(p, f(a), f(b)),
            Op::Cast(op, a) => Op::Cast(op, f(a)),
            Op::Select(c, a, b) => Op::Select(f(c), f(a), f(b)),
            Op::Freeze(a) => Op::Freeze(f(a)),
            Op::Math(m, args) => Op::Math(m, list(args, &mut f)),
            Op::Intrinsic(name, args) => Op::Intrinsic(name, list(args, &mut f)),
            Op::Alloca { .. } => self,
            Op::Load { ptr, align } => Op::Load { ptr: f(ptr), align },
            Op::Store { ptr, value, align } => Op::Store { ptr: f(ptr), value: f(value), align },
            Op::PtrAdd(p, o) => Op::PtrAdd(f(p), f(o)),
            Op::Copy { dst, src, len, may_overlap, align } => {
                Op::Copy { dst: f(dst), src: f(src), len: f(len), may_overlap, align }
            }
            Op::Fill { dst, byte, len, align } => Op::Fill { dst: f(dst), byte: f(byte), len: f(len), align },
            Op::Alloc { size, align, zeroed, func } => Op::Alloc { size: f(size), align: f(align), zeroed, func },
            Op::Dealloc { ptr, size, align, func } => Op::Dealloc { ptr: f(ptr), size: f(size), align: f(align), func },
            Op::Call(callee, args, cleanup) => {
                let callee = match callee {
                    Callee::Indirect(v) => Callee::Indirect(f(v)),
                    direct => direct,
                };
                Op::Call(callee, list(args, &mut f), with(cleanup, &mut f))
            }
            Op::ExtractValue(a, i) => Op::ExtractValue(f(a), i),
            Op::InsertValue(a, v, i) => Op::InsertValue(f(a), f(v), i),
            Op::Opaque(mut opaque) => {
                opaque.args = list(opaque.args, &mut f);
                opaque.cleanup = with(opaque.cleanup, &mut f);
                Op::Opaque(opaque)
            }
        }
    }

    /// The arguments of a call.
    ///
    /// # Panics
    /// If this is no call.
    pub fn call_args_mut(&mut self) -> &mut [Value] {
        match self {
            Op::Call(_, args, _) => args,
            other => panic!("{other:?} is no call"),
        }
    }

    /// What is done if this is a call, and panics.
    pub fn cleanup(&self) -> Option<&Cleanup> {
        match self {
            Op::Call(_, _, cleanup) => cleanup.as_ref(),
            Op::Opaque(opaque) => opaque.cleanup.as_ref(),
            _ => None,
        }
    }

    /// What is done if this is a call, and panics; to change.
    pub fn cleanup_mut(&mut self) -> Option<&mut Cleanup> {
        match self {
            Op::Call(_, _, cleanup) => cleanup.as_mut(),
            Op::Opaque(opaque) => opaque.cleanup.as_mut(),
            _ => None,
        }
    }

    /// Whether it takes its result out of two integers side by side. LLVM exchanges the halves of one integer so.
    pub fn is_funnel_shift(&self) -> bool {
        matches!(self, Op::Intrinsic(name, _) if name.starts_with("llvm.fshl.") || name.starts_with("llvm.fshr."))
    }

    /// Whether the instruction may be executed where the program does not: it has no effect, and does not trap.
    pub fn is_speculatable(&self) -> bool {
        let divides = matches!(self, Op::Bin(BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem, ..));
        self.is_pure() && !divides && !matches!(self, Op::Opaque(_) | Op::Intrinsic(..))
    }

    /// Where the instruction itself writes, if it does: calls and opaque instructions may write anywhere.
    pub fn written_place(&self) -> Option<Value> {
        match self {
            Op::Store { ptr: at, .. } | Op::Copy { dst: at, .. } | Op::Fill { dst: at, .. } => Some(*at),
            _ => None,
        }
    }

    /// Whether the result depends on the operands alone and computing it has no effect: such an instruction may be
    /// computed again, elsewhere, or not at all. Divisions of integers count as pure where the original executed.
    pub fn is_pure(&self) -> bool {
        match self {
            Op::Bin(..)
            | Op::FNeg(_)
            | Op::ICmp(..)
            | Op::FCmp(..)
            | Op::Cast(..)
            | Op::Select(..)
            | Op::Math(..)
            | Op::Intrinsic(..)
            | Op::PtrAdd(..)
            | Op::ExtractValue(..)
            | Op::InsertValue(..) => true,
            Op::Opaque(o) => !o.reads && !o.writes,
            _ => false,
        }
    }
}

/// A jump target with the values for its parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockCall {
    /// The target.
    pub block: Block,
    /// One value for each of its parameters.
    pub args: Vec<Value>,
}

impl BlockCall {
    /// A jump to `block` with these arguments.
    pub fn new(block: Block, args: Vec<Value>) -> Self {
        Self { block, args }
    }
}

/// How a block ends.
#[derive(Clone, PartialEq, Debug)]
pub enum Terminator {
    /// Go on at one block.
    Jump(BlockCall),
    /// Go on at the first target if the `i1` is true, else at the second.
    Branch(Value, BlockCall, BlockCall),
    /// Go on at the target of the matching case, else at the default.
    Switch(Value, Vec<(u128, BlockCall)>, BlockCall),
    /// Leave the function.
    Return(Option<Value>),
    /// Never reached: the instruction before does not return.
    Unreachable,
}

impl Terminator {
    /// The jump targets, in order.
    pub fn targets(&self) -> Vec<&BlockCall> {
        match self {
            Terminator::Jump(t) => vec![t],
            Terminator::Branch(_, a, b) => vec![a, b],
            Terminator::Switch(_, cases, default) => cases.iter().map(|(_, t)| t).chain([default]).collect(),
            Terminator::Return(_) | Terminator::Unreachable => vec![],
        }
    }

    /// The jump targets, in order, to change.
    pub fn targets_mut(&mut self) -> Vec<&mut BlockCall> {
        match self {
            Terminator::Jump(t) => vec![t],
            Terminator::Branch(_, a, b) => vec![a, b],
            Terminator::Switch(_, cases, default) => cases.iter_mut().map(|(_, t)| t).chain([default]).collect(),
            Terminator::Return(_) | Terminator::Unreachable => vec![],
        }
    }

    /// Replace every value used here, those passed to targets included.
    pub fn map_operands(&mut self, mut f: impl FnMut(Value) -> Value) {
        match self {
            Terminator::Branch(v, ..) | Terminator::Switch(v, ..) | Terminator::Return(Some(v)) => *v = f(*v),
            _ => {}
        }
        for target in self.targets_mut() {
            for arg in &mut target.args {
                *arg = f(*arg);
            }
        }
    }

    /// The value that is tested or returned, if any.
    pub fn operand(&self) -> Option<Value> {
        match self {
            Terminator::Branch(v, ..) | Terminator::Switch(v, ..) => Some(*v),
            Terminator::Return(v) => *v,
            _ => None,
        }
    }
}

/// The result type of an operation where it follows from the operands; `None` where the instruction states it.
pub(crate) fn fixed_result(op: &Op) -> Option<Type> {
    match op {
        Op::ICmp(..) | Op::FCmp(..) => Some(Type::BOOL),
        Op::Alloca { .. } | Op::PtrAdd(..) | Op::Alloc { .. } => Some(Type::Ptr),
        _ => None,
    }
}
