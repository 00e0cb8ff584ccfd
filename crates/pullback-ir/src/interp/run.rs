//! Running functions: calls, blocks and instructions.
//!
//! Calls of the program are frames in a `Vec`, not calls of the interpreter, so that deep recursion in a program is a
//! [`Trap::DepthLimit`] and not the end of the process.
//!
//! A panic leaves frame by frame; where the call in progress has a clean-up, that is run as a frame on top, and the
//! panic goes on when it returns. A panic that leaves a clean-up ends the program.

use super::memory::Kind;
use super::value::Val;
use super::{Interp, InterpError, Trap, eval, intrinsics, operand_bits, operand_ptr, runtime};
use crate::entities::{Block, FuncId, Inst, Value};
use crate::function::{Constant, Function, ValueDef};
use crate::inst::{BlockCall, Callee, Op, Terminator};
use crate::text::{inst_text, term_text};
use crate::types::Type;

struct Frame<'m> {
    func: &'m Function,
    block: Block,
    /// The next instruction of the block; past the last is the terminator.
    next: usize,
    values: Vec<Option<Val>>,
    allocas: Vec<u64>,
    caller: Caller,
}

/// Why a frame was entered.
enum Caller {
    /// By whoever uses the interpreter.
    Outside,
    /// A call instruction of the frame below waits for this one.
    Call(Inst),
    /// To clean up the frame below, on the way out with a panic.
    Panic(InterpError),
}

/// What comes after a step.
enum Step<'m> {
    Next,
    Enter(Frame<'m>),
    Leave(Option<Val>),
}

impl<'m> Interp<'m> {
    /// Run a function.
    pub fn call(&mut self, func: FuncId, args: &[Val]) -> Result<Option<Val>, InterpError> {
        let name = &self.module.func(func).name;
        let outside = |trap| InterpError { trap, context: format!("call of @{name}") };
        let mut stack = match self.enter(func, args.to_vec(), Caller::Outside).map_err(outside)? {
            Entered::Frame(frame) => vec![frame],
            Entered::Done(result) => return Ok(result),
        };
        let result = self.run(&mut stack);
        // After an error the stack is still there; what is on it goes, so that only real leaks are left.
        for address in stack.iter().flat_map(|f| &f.allocas) {
            let _ = self.memory.free(*address, Kind::Stack);
        }
        result
    }

    fn run(&mut self, stack: &mut Vec<Frame<'m>>) -> Result<Option<Val>, InterpError> {
        while let Some(frame) = stack.last_mut() {
            let step = match self.step(frame) {
                Ok(step) => step,
                Err(trap) => {
                    let error = self.error(frame, trap);
                    self.unwind(stack, error)?;
                    continue;
                }
            };
            match step {
                Step::Next => {}
                Step::Enter(callee) => {
                    if stack.len() >= self.options.depth_limit {
                        // The callee's frame holds no memory yet.
                        let frame = stack.last().unwrap_or(&callee);
                        return Err(self.error(frame, Trap::DepthLimit));
                    }
                    stack.push(callee);
                }
                Step::Leave(result) => {
                    let left = self.leave(stack)?;
                    match (left, stack.last_mut()) {
                        (Caller::Call(inst), Some(caller)) => {
                            caller.finish(inst, result).map_err(|trap| self.error(caller, trap))?;
                        }
                        (Caller::Panic(panic), Some(_)) => {
                            if let Caller::Panic(_) = self.leave(stack)? {
                                return Err(panic);
                            }
                            self.unwind(stack, panic)?;
                        }
                        _ => return Ok(result),
                    }
                }
            }
        }
        Ok(None)
    }

    /// Take the last frame off, with its memory; why it was there.
    fn leave(&mut self, stack: &mut Vec<Frame<'m>>) -> Result<Caller, InterpError> {
        let Some(mut frame) = stack.pop() else { return Ok(Caller::Outside) };
        for address in std::mem::take(&mut frame.allocas) {
            self.memory.free(address, Kind::Stack).map_err(|trap| self.error(&frame, trap))?;
        }
        Ok(frame.caller)
    }

    /// Leave frames until one has something to clean up, which is then next; an error if none has, or if this is no
    /// panic.
    fn unwind(&mut self, stack: &mut Vec<Frame<'m>>, error: InterpError) -> Result<(), InterpError> {
        if !matches!(error.trap, Trap::Panic(_)) {
            return Err(error);
        }
        while let Some(frame) = stack.last() {
            let inst = frame.func.block(frame.block).insts.get(frame.next);
            if let Some(cleanup) = inst.and_then(|inst| frame.func.inst(*inst).op.cleanup()) {
                let args = self.get_all(frame, &cleanup.args);
                let entered = args.and_then(|args| self.enter(cleanup.func, args, Caller::Panic(error.clone())));
                if let Entered::Frame(frame) = entered.map_err(|trap| self.error(frame, trap))? {
                    stack.push(frame);
                    return Ok(());
                }
            }
            if let Caller::Panic(_) = self.leave(stack)? {
                return Err(error);
            }
        }
        Err(error)
    }

    fn error(&self, frame: &Frame<'m>, trap: Trap) -> InterpError {
        let Frame { func, block, next, .. } = frame;
        let text = match func.block(*block).insts.get(*next) {
            Some(inst) => inst_text(self.module, func, *inst),
            None => term_text(self.module, func, *block),
        };
        InterpError { trap, context: format!("@{}, {block}: `{text}`", func.name) }
    }

    /// Start a call: a new frame, or the result of a function that is built in.
    fn enter(&mut self, id: FuncId, args: Vec<Val>, caller: Caller) -> Result<Entered<'m>, Trap> {
        let func = self.module.func(id);
        if func.is_declaration() {
            return match runtime::call(&func.name, &args, &mut self.tapes, &mut self.memory) {
                Some(result) => result.map(Entered::Done),
                None if func.attrs.noreturn => Err(Trap::Panic(func.name.clone())),
                None => Err(Trap::NoBody(func.name.clone())),
            };
        }
        let mut frame = Frame {
            func,
            block: func.entry(),
            next: 0,
            values: vec![None; func.value_bound()],
            allocas: Vec::new(),
            caller,
        };
        frame.bind(func.entry(), args)?;
        Ok(Entered::Frame(frame))
    }

    fn step(&mut self, frame: &mut Frame<'m>) -> Result<Step<'m>, Trap> {
        if self.executed >= self.options.step_limit {
            return Err(Trap::StepLimit);
        }
        self.executed += 1;
        let func = frame.func;
        match func.block(frame.block).insts.get(frame.next) {
            Some(&inst) => {
                if let Op::Call(callee, args, _) = &func.inst(inst).op {
                    return self.call_inst(frame, inst, *callee, args);
                }
                let result = self.inst(frame, inst)?;
                frame.finish(inst, result)?;
                Ok(Step::Next)
            }
            None => self.terminator(frame, &func.block(frame.block).term),
        }
    }

    fn call_inst(
        &mut self,
        frame: &mut Frame<'m>,
        inst: Inst,
        callee: Callee,
        args: &[Value],
    ) -> Result<Step<'m>, Trap> {
        let id = match callee {
            Callee::Direct(id) => id,
            Callee::Indirect(ptr) => {
                let address = operand_ptr(&self.get(frame, ptr)?)?;
                self.function_at(address).ok_or(Trap::NotAFunction(address))?
            }
        };
        let args = self.get_all(frame, args)?;
        match self.enter(id, args, Caller::Call(inst))? {
            Entered::Frame(callee) => Ok(Step::Enter(callee)),
            Entered::Done(result) => {
                frame.finish(inst, result)?;
                Ok(Step::Next)
            }
        }
    }

    fn terminator(&mut self, frame: &mut Frame<'m>, term: &'m Terminator) -> Result<Step<'m>, Trap> {
        let condition = |value: &Val| match value {
            Val::Int(bits, _) => Ok(*bits),
            Val::Undef => Err(Trap::Undef("the condition")),
            other => Err(Trap::IllFormed(format!("a jump on {other:?}"))),
        };
        let target: &BlockCall = match term {
            Terminator::Jump(target) => target,
            Terminator::Branch(cond, then, otherwise) => {
                if condition(&self.get(frame, *cond)?)? != 0 {
                    then
                } else {
                    otherwise
                }
            }
            Terminator::Switch(value, cases, default) => {
                let bits = condition(&self.get(frame, *value)?)?;
                cases.iter().find(|(case, _)| *case == bits).map_or(default, |(_, target)| target)
            }
            Terminator::Return(value) => {
                let result = value.map(|v| self.get(frame, v)).transpose()?;
                return Ok(Step::Leave(result));
            }
            Terminator::Unreachable => return Err(Trap::Unreachable),
        };
        let args = self.get_all(frame, &target.args)?;
        frame.bind(target.block, args)?;
        (frame.block, frame.next) = (target.block, 0);
        Ok(Step::Next)
    }

    fn get_all(&self, frame: &Frame<'m>, values: &[Value]) -> Result<Vec<Val>, Trap> {
        values.iter().map(|v| self.get(frame, *v)).collect()
    }

    fn get(&self, frame: &Frame<'m>, value: Value) -> Result<Val, Trap> {
        let data = frame.func.value(value);
        let ValueDef::Const(constant) = &data.def else {
            let val = frame.values[value.index()].clone();
            return val.ok_or_else(|| Trap::IllFormed(format!("{value} is used before it is computed")));
        };
        let val = match constant {
            Constant::Int(bits) => match data.ty {
                Type::Int(width) => Val::int(*bits, width),
                _ => return Err(Trap::IllFormed(format!("an integer constant of type {}", data.ty))),
            },
            Constant::F32(bits) => Val::F32(f32::from_bits(*bits)),
            Constant::F64(bits) => Val::F64(f64::from_bits(*bits)),
            Constant::Null => Val::Ptr(0),
            Constant::Zero => Val::zero(&data.ty)?,
            Constant::Undef | Constant::Poison => Val::Undef,
            Constant::Global(id) => Val::Ptr(self.global_address(*id)?),
            Constant::Func(id) => Val::Ptr(self.function_address(*id)),
            Constant::Opaque(_, text) => return Err(Trap::Unsupported(format!("the constant {text}"))),
        };
        Ok(val)
    }

    /// Execute anything but a call.
    fn inst(&mut self, frame: &mut Frame<'m>, inst: Inst) -> Result<Option<Val>, Trap> {
        let func = frame.func;
        let data = func.inst(inst);
        let ty = || match data.result {
            Some(v) => Ok(func.ty(v)),
            None => Err(Trap::IllFormed("the instruction has no result".to_string())),
        };
        let value = |v: &Value| self.get(frame, *v);
        let ptr = |v: &Value| self.get(frame, *v).and_then(|p| operand_ptr(&p));
        let number = |v: &Value| self.get(frame, *v).and_then(|n| operand_bits(&n)).map(|n| n as u64);
        Ok(Some(match &data.op {
            Op::Bin(op, a, b) => eval::binary(*op, &value(a)?, &value(b)?)?,
            Op::FNeg(a) => eval::negate(&value(a)?)?,
            Op::ICmp(pred, a, b) => eval::compare_ints(*pred, &value(a)?, &value(b)?)?,
            Op::FCmp(pred, a, b) => eval::compare_floats(*pred, &value(a)?, &value(b)?)?,
            Op::Cast(op, a) => eval::cast(*op, &value(a)?, ty()?)?,
            Op::Select(c, a, b) => match value(c)? {
                Val::Int(0, _) => value(b)?,
                Val::Int(..) => value(a)?,
                Val::Undef => return Err(Trap::Undef("the condition")),
                other => return Err(Trap::IllFormed(format!("a select on {other:?}"))),
            },
            Op::Freeze(a) => eval::freeze(value(a)?, ty()?)?,
            Op::Math(function, args) => eval::math(*function, &self.get_all(frame, args)?)?,
            Op::Intrinsic(name, args) => intrinsics::call(name, &self.get_all(frame, args)?, ty()?)?,
            Op::PtrAdd(p, offset) => match (value(p)?, value(offset)?) {
                (Val::Undef, _) | (_, Val::Undef) => Val::Undef,
                (p, offset) => Val::Ptr(operand_ptr(&p)?.wrapping_add(operand_bits(&offset)? as u64)),
            },
            Op::ExtractValue(a, i) => eval::extract(&value(a)?, *i)?,
            Op::InsertValue(a, x, i) => eval::insert(value(a)?, value(x)?, *i, ty()?)?,
            Op::Alloca { size, align } => {
                let address = self.memory.alloc(*size, *align, Kind::Stack)?;
                frame.allocas.push(address);
                Val::Ptr(address)
            }
            Op::Load { ptr: p, align } => self.memory.load(aligned(ptr(p)?, *align)?, ty()?)?,
            Op::Store { ptr: p, value: v, align } => {
                let (address, val) = (aligned(ptr(p)?, *align)?, value(v)?);
                self.memory.store(address, func.ty(*v), &val)?;
                return Ok(None);
            }
            Op::Copy { dst, src, len, may_overlap, align } => {
                let (dst, src, len) = (ptr(dst)?, ptr(src)?, number(len)?);
                if len > 0 {
                    aligned(dst, align.0)?;
                    aligned(src, align.1)?;
                    if !may_overlap && dst != src && dst.abs_diff(src) < len {
                        return Err(Trap::Overlap);
                    }
                }
                self.memory.copy(dst, src, len)?;
                return Ok(None);
            }
            Op::Fill { dst, byte, len, align } => {
                let (dst, len, byte) = (ptr(dst)?, number(len)?, value(byte)?);
                if len > 0 {
                    aligned(dst, *align)?;
                }
                match byte {
                    Val::Undef => self.memory.forget(dst, len)?,
                    byte => self.memory.fill(dst, operand_bits(&byte)? as u8, len)?,
                }
                return Ok(None);
            }
            Op::Alloc { size, align, zeroed, .. } => {
                let (size, align) = (number(size)?, number(align)?);
                let address = self.memory.alloc(size, align, Kind::Heap)?;
                if *zeroed {
                    self.memory.fill(address, 0, size)?;
                }
                Val::Ptr(address)
            }
            Op::Dealloc { ptr: p, size, align, .. } => {
                let (address, size, align) = (ptr(p)?, number(size)?, number(align)?);
                self.memory.dealloc(address, size, align)?;
                return Ok(None);
            }
            Op::Opaque(o) => return Err(Trap::Unsupported(format!("the instruction {}", o.name))),
            Op::Call(..) => return Err(Trap::IllFormed("a call that is not run as one".to_string())),
        }))
    }
}

/// What starting a call gives.
enum Entered<'m> {
    Frame(Frame<'m>),
    Done(Option<Val>),
}

impl Frame<'_> {
    /// Give the parameters of a block their values.
    fn bind(&mut self, block: Block, args: Vec<Val>) -> Result<(), Trap> {
        let func = self.func;
        let params = &func.block(block).params;
        if params.len() != args.len() {
            return Err(Trap::IllFormed(format!("{block} takes {} values, not {}", params.len(), args.len())));
        }
        for (param, arg) in params.iter().zip(args) {
            if !arg.is_of(func.ty(*param)) {
                return Err(Trap::IllFormed(format!("{param} is {}, and is given {arg:?}", func.ty(*param))));
            }
            self.values[param.index()] = Some(arg);
        }
        Ok(())
    }

    /// Set the result of an instruction and go on to the next.
    fn finish(&mut self, inst: Inst, result: Option<Val>) -> Result<(), Trap> {
        match (self.func.inst(inst).result, result) {
            (Some(value), Some(val)) if val.is_of(self.func.ty(value)) => self.values[value.index()] = Some(val),
            (Some(value), val) => {
                return Err(Trap::IllFormed(format!("{value} is {}, and is given {val:?}", self.func.ty(value))));
            }
            (None, _) => {}
        }
        self.next += 1;
        Ok(())
    }
}

fn aligned(address: u64, align: u64) -> Result<u64, Trap> {
    if align > 1 && !address.is_multiple_of(align) { Err(Trap::Misaligned { address, align }) } else { Ok(address) }
}
