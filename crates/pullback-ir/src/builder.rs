//! A cursor that appends instructions to a block.

use crate::FuncId;
use crate::entities::{Block, Inst, SourceLoc, Value};
use crate::function::{Constant, Function};
use crate::inst::{BinOp, BlockCall, Callee, CastOp, Flags, FloatPred, IntPred, Op, Terminator};
use crate::math::MathFn;
use crate::types::Type;

/// Appends instructions to the end of one block of a function. Each method that makes a value returns it.
pub struct Builder<'f> {
    /// The function being built.
    pub func: &'f mut Function,
    /// Where instructions go.
    pub block: Block,
    /// Facts put on the next instructions.
    pub flags: Flags,
    /// The source location put on the next instructions.
    pub loc: Option<SourceLoc>,
}

impl<'f> Builder<'f> {
    /// A cursor at the end of `block`.
    pub fn new(func: &'f mut Function, block: Block) -> Self {
        Builder { func, block, flags: Flags::NONE, loc: None }
    }

    /// The same, with these facts and this source location put on the next instructions.
    pub fn with(self, flags: Flags, loc: Option<SourceLoc>) -> Self {
        Builder { flags, loc, ..self }
    }

    /// The same, with this source location put on the next instructions.
    pub fn with_loc(self, loc: Option<SourceLoc>) -> Self {
        Builder { loc, ..self }
    }

    /// Go on at the end of another block.
    pub fn at(&mut self, block: Block) -> &mut Self {
        self.block = block;
        self
    }

    /// Append any operation; `ty` is the result's type, `None` if it has no result.
    pub fn push(&mut self, op: Op, ty: Option<Type>) -> Inst {
        let inst = self.func.make_inst(op, ty, self.flags, self.loc);
        self.func.block_mut(self.block).insts.push(inst);
        inst
    }

    /// Append an operation that has a result.
    pub fn value(&mut self, op: Op, ty: Type) -> Value {
        let inst = self.push(op, Some(ty));
        self.func.result(inst)
    }

    /// Append arithmetic.
    pub fn bin(&mut self, op: BinOp, a: Value, b: Value) -> Value {
        let ty = self.func.ty(a).clone();
        self.value(Op::Bin(op, a, b), ty)
    }

    /// `a + b` on floats.
    pub fn fadd(&mut self, a: Value, b: Value) -> Value {
        self.bin(BinOp::FAdd, a, b)
    }

    /// `a · b` on floats.
    pub fn fmul(&mut self, a: Value, b: Value) -> Value {
        self.bin(BinOp::FMul, a, b)
    }

    /// `−a` on floats.
    pub fn fneg(&mut self, a: Value) -> Value {
        let ty = self.func.ty(a).clone();
        self.value(Op::FNeg(a), ty)
    }

    /// `a + b` on integers.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.bin(BinOp::Add, a, b)
    }

    /// `a − b` on integers.
    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.bin(BinOp::Sub, a, b)
    }

    /// `a · b` on integers.
    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        self.bin(BinOp::Mul, a, b)
    }

    /// Compare integers or pointers.
    pub fn icmp(&mut self, pred: IntPred, a: Value, b: Value) -> Value {
        self.value(Op::ICmp(pred, a, b), Type::BOOL)
    }

    /// Compare floats.
    pub fn fcmp(&mut self, pred: FloatPred, a: Value, b: Value) -> Value {
        self.value(Op::FCmp(pred, a, b), Type::BOOL)
    }

    /// Convert to `ty`.
    pub fn cast(&mut self, op: CastOp, a: Value, ty: Type) -> Value {
        self.value(Op::Cast(op, a), ty)
    }

    /// `cond ? a : b`.
    pub fn select(&mut self, cond: Value, a: Value, b: Value) -> Value {
        let ty = self.func.ty(a).clone();
        self.value(Op::Select(cond, a, b), ty)
    }

    /// An aggregate of these fields.
    pub fn aggregate(&mut self, ty: &Type, fields: impl IntoIterator<Item = Value>) -> Value {
        let undef = self.func.constant(ty.clone(), Constant::Undef);
        let with = |all, (i, field)| self.value(Op::InsertValue(all, field, i as u32), ty.clone());
        fields.into_iter().enumerate().fold(undef, with)
    }

    /// A float function.
    pub fn math(&mut self, function: MathFn, args: Vec<Value>) -> Value {
        let ty = self.func.ty(args[0]).clone();
        self.value(Op::Math(function, args), ty)
    }

    /// Read a value.
    pub fn load(&mut self, ty: Type, ptr: Value) -> Value {
        let align = ty.align();
        self.value(Op::Load { ptr, align }, ty)
    }

    /// Write a value.
    pub fn store(&mut self, ptr: Value, value: Value) {
        let align = self.func.ty(value).align();
        self.push(Op::Store { ptr, value, align }, None);
    }

    /// `ptr` plus a constant number of bytes.
    pub fn offset(&mut self, ptr: Value, bytes: i64) -> Value {
        if bytes == 0 {
            return ptr;
        }
        let offset = self.func.i64(bytes);
        self.ptr_add(ptr, offset)
    }

    /// `ptr` plus a number of bytes.
    pub fn ptr_add(&mut self, ptr: Value, offset: Value) -> Value {
        self.value(Op::PtrAdd(ptr, offset), Type::Ptr)
    }

    /// Memory of the current call. Only in the entry block.
    pub fn alloca(&mut self, size: u64, align: u64) -> Value {
        self.value(Op::Alloca { size, align }, Type::Ptr)
    }

    /// Call a function that has a result of type `ty`.
    pub fn call(&mut self, callee: FuncId, args: Vec<Value>, ty: Type) -> Value {
        self.value(Op::Call(Callee::Direct(callee), args, None), ty)
    }

    /// Call a function without a result.
    pub fn call_void(&mut self, callee: FuncId, args: Vec<Value>) {
        self.push(Op::Call(Callee::Direct(callee), args, None), None);
    }

    /// End the block.
    pub fn terminate(&mut self, term: Terminator) {
        let loc = self.loc;
        let block = self.func.block_mut(self.block);
        block.term = term;
        block.term_loc = loc;
    }

    /// End the block with a jump.
    pub fn jump(&mut self, block: Block, args: Vec<Value>) {
        self.terminate(Terminator::Jump(BlockCall::new(block, args)));
    }

    /// End the block with a conditional jump.
    pub fn branch(&mut self, cond: Value, then: BlockCall, otherwise: BlockCall) {
        self.terminate(Terminator::Branch(cond, then, otherwise));
    }

    /// End the block with a return.
    pub fn ret(&mut self, value: Option<Value>) {
        self.terminate(Terminator::Return(value));
    }
}
