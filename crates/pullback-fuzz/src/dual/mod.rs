//! The oracle: an evaluator of the IR on dual numbers.
//!
//! Every scalar is a pair of bit patterns: its value, and its dual. For a float the dual is the tangent; for an integer
//! that carries the bits of a float it is the bits of that float's tangent; else it is zero. Memory has a dual byte for
//! each byte. So a tangent goes wherever the bits of its float go, and nothing needs to be known about types or
//! activity. The evaluator shares no code with the engine or with the IR's interpreter, and is their judge.

mod memory;
mod scalar;
mod tape;

pub use memory::Memory;

use pullback_ir::{
    BlockCall, Callee, Constant, FuncId, Function, GlobalId, Module, Op, Terminator, Type, Value, ValueDef,
};
use std::collections::HashMap;

/// A scalar and its dual, as bits.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Scalar {
    /// The value.
    pub bits: u128,
    /// The tangent of the float whose bits these are, else zero.
    pub dual: u128,
}

impl Scalar {
    /// An integer or address.
    pub fn int(bits: u128) -> Self {
        Scalar { bits, dual: 0 }
    }
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Val {
    /// An integer, float or address.
    Scalar(Scalar),
    /// An aggregate.
    Struct(Vec<Val>),
}

impl Val {
    /// An address.
    pub fn address(address: u64) -> Self {
        Val::Scalar(Scalar::int(address.into()))
    }

    /// The integer or address.
    fn number(&self) -> Option<u64> {
        match self {
            Val::Scalar(scalar) => Some(scalar.bits as u64),
            Val::Struct(_) => None,
        }
    }
}

/// Why a run stopped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Trap {
    /// An access outside live memory.
    #[error("invalid access at {0:#x}")]
    Memory(u64),
    /// More steps than allowed.
    #[error("too many steps")]
    Steps,
    /// Calls nested too deeply.
    #[error("calls nested too deeply")]
    Depth,
    /// An `unreachable` was reached.
    #[error("reached the unreachable")]
    Unreachable,
    /// Division by zero, or another operation without a result.
    #[error("{0}")]
    Undefined(&'static str),
    /// Something that generated programs do not contain.
    #[error("the oracle does not know {0}")]
    Unsupported(String),
}

/// A run of functions of a module on dual numbers.
pub struct Machine<'m> {
    module: &'m Module,
    /// Its memory.
    pub memory: Memory,
    globals: HashMap<GlobalId, u64>,
    /// The program's own tapes, by their address.
    tapes: HashMap<u64, tape::Tape>,
    steps: u64,
    depth: usize,
    /// The largest magnitude of a finite value or tangent that occurred: what rounding errors are measured against.
    pub magnitude: f64,
    /// Whether every float and every tangent so far was finite.
    pub finite: bool,
}

const MAX_STEPS: u64 = 400_000;
const MAX_DEPTH: usize = 200;

impl<'m> Machine<'m> {
    /// A machine with empty memory.
    pub fn new(module: &'m Module) -> Self {
        Machine {
            module,
            memory: Memory::default(),
            globals: HashMap::new(),
            tapes: HashMap::new(),
            steps: 0,
            depth: 0,
            magnitude: 0.0,
            finite: true,
        }
    }

    /// Run a function.
    pub fn call(&mut self, id: FuncId, args: Vec<Val>) -> Result<Option<Val>, Trap> {
        let func = self.module.func(id);
        if func.is_declaration() {
            if let Some(result) = self.tape_call(&func.name, &args) {
                return result;
            }
            return Err(Trap::Unsupported(format!("the function {}", func.name)));
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Trap::Depth);
        }
        let mut frame = Frame { func, values: vec![None; func.value_bound()], allocas: Vec::new() };
        let result = self.run(&mut frame, args);
        self.depth -= 1;
        for address in frame.allocas {
            self.memory.free(address)?;
        }
        result
    }

    fn run(&mut self, frame: &mut Frame, args: Vec<Val>) -> Result<Option<Val>, Trap> {
        let func = frame.func;
        let mut block = func.entry();
        let mut incoming = args;
        loop {
            for (param, value) in func.block(block).params.iter().zip(incoming) {
                frame.values[param.index()] = Some(value);
            }
            for inst in &func.block(block).insts {
                self.steps += 1;
                if self.steps > MAX_STEPS {
                    return Err(Trap::Steps);
                }
                let data = func.inst(*inst);
                let ty = data.result.map(|v| func.ty(v).clone());
                let value = self.execute(frame, &data.op, ty.as_ref())?;
                if let Some(result) = data.result {
                    self.watch(&value, ty.as_ref());
                    frame.values[result.index()] = value;
                }
            }
            let target: &BlockCall = match &func.block(block).term {
                Terminator::Jump(target) => target,
                Terminator::Branch(cond, yes, no) => {
                    if self.scalar(frame, *cond)?.bits & 1 == 1 {
                        yes
                    } else {
                        no
                    }
                }
                Terminator::Switch(value, cases, default) => {
                    let bits = self.scalar(frame, *value)?.bits;
                    cases.iter().find(|(case, _)| *case == bits).map_or(default, |(_, target)| target)
                }
                Terminator::Return(value) => return value.map(|v| self.value(frame, v)).transpose(),
                Terminator::Unreachable => return Err(Trap::Unreachable),
            };
            self.steps += 1;
            incoming = target.args.iter().map(|v| self.value(frame, *v)).collect::<Result<_, _>>()?;
            block = target.block;
        }
    }

    /// How many globals were laid into memory.
    pub fn global_count(&self) -> usize {
        self.globals.len()
    }

    fn watch(&mut self, value: &Option<Val>, ty: Option<&Type>) {
        let (Some(Val::Scalar(s)), Some(ty)) = (value, ty) else { return };
        if ty.is_float() {
            for number in [scalar::to_f64(s.bits, ty), scalar::to_f64(s.dual, ty)] {
                if number.is_finite() {
                    self.magnitude = self.magnitude.max(number.abs());
                } else {
                    self.finite = false;
                }
            }
        }
    }

    fn value(&mut self, frame: &Frame, value: Value) -> Result<Val, Trap> {
        let func = frame.func;
        let ValueDef::Const(constant) = &func.value(value).def else {
            return frame.values[value.index()].clone().ok_or(Trap::Undefined("a value is used before it is made"));
        };
        let bits = match constant {
            Constant::Int(bits) => *bits,
            Constant::F32(bits) => u128::from(*bits),
            Constant::F64(bits) => u128::from(*bits),
            Constant::Null => 0,
            Constant::Zero | Constant::Undef | Constant::Poison => return Ok(zero(func.ty(value))),
            Constant::Global(id) => u128::from(self.global(*id)?),
            Constant::Func(_) | Constant::Opaque(..) => {
                return Err(Trap::Unsupported(format!("the constant {constant:?}")));
            }
        };
        Ok(Val::Scalar(Scalar::int(bits)))
    }

    fn global(&mut self, id: GlobalId) -> Result<u64, Trap> {
        if let Some(address) = self.globals.get(&id) {
            return Ok(*address);
        }
        let global = self.module.global(id);
        let address = self.memory.allocate(global.size);
        if let Some(bytes) = &global.bytes {
            self.memory.write(address, bytes, &vec![0; bytes.len()])?;
        }
        self.globals.insert(id, address);
        Ok(address)
    }

    fn scalar(&mut self, frame: &Frame, value: Value) -> Result<Scalar, Trap> {
        match self.value(frame, value)? {
            Val::Scalar(scalar) => Ok(scalar),
            Val::Struct(_) => Err(Trap::Undefined("an aggregate where a scalar belongs")),
        }
    }

    fn address(&mut self, frame: &Frame, value: Value) -> Result<u64, Trap> {
        Ok(self.scalar(frame, value)?.bits as u64)
    }

    fn execute(&mut self, frame: &mut Frame, op: &Op, ty: Option<&Type>) -> Result<Option<Val>, Trap> {
        let func = frame.func;
        let scalar = match op {
            Op::Bin(op, a, b) => {
                let (x, y) = (self.scalar(frame, *a)?, self.scalar(frame, *b)?);
                scalar::bin(*op, x, y, func.ty(*a))?
            }
            Op::FNeg(a) => scalar::neg(self.scalar(frame, *a)?, func.ty(*a)),
            Op::ICmp(pred, a, b) => {
                let (x, y) = (self.scalar(frame, *a)?, self.scalar(frame, *b)?);
                scalar::icmp(*pred, x, y, func.ty(*a))
            }
            Op::FCmp(pred, a, b) => {
                let (x, y) = (self.scalar(frame, *a)?, self.scalar(frame, *b)?);
                scalar::fcmp(*pred, x, y, func.ty(*a))
            }
            Op::Cast(op, a) => {
                let to = ty.ok_or(Trap::Undefined("a cast without a type"))?;
                scalar::cast(*op, self.scalar(frame, *a)?, func.ty(*a), to)
            }
            Op::Select(cond, a, b) => {
                let chosen = if self.scalar(frame, *cond)?.bits & 1 == 1 { *a } else { *b };
                return self.value(frame, chosen).map(Some);
            }
            Op::Freeze(a) => return self.value(frame, *a).map(Some),
            Op::Math(function, args) => {
                let operands: Vec<Scalar> = args.iter().map(|a| self.scalar(frame, *a)).collect::<Result<_, _>>()?;
                scalar::math(*function, &operands, func.ty(args[0]))
            }
            Op::Intrinsic(name, args) => {
                let operands: Vec<Scalar> = args.iter().map(|a| self.scalar(frame, *a)).collect::<Result<_, _>>()?;
                scalar::intrinsic(name, &operands)?
            }
            Op::Alloca { size, .. } => {
                let address = self.memory.allocate(*size);
                frame.allocas.push(address);
                Scalar::int(address.into())
            }
            Op::Load { ptr, .. } => {
                let ty = ty.ok_or(Trap::Undefined("a load without a type"))?;
                let address = self.address(frame, *ptr)?;
                return self.load(address, ty).map(Some);
            }
            Op::Store { ptr, value, .. } => {
                let address = self.address(frame, *ptr)?;
                let stored = self.value(frame, *value)?;
                self.store(address, func.ty(*value), &stored)?;
                return Ok(None);
            }
            Op::PtrAdd(ptr, offset) => {
                let (p, o) = (self.address(frame, *ptr)?, self.address(frame, *offset)?);
                Scalar::int(p.wrapping_add(o).into())
            }
            Op::Copy { dst, src, len, .. } => {
                let (dst, src, len) =
                    (self.address(frame, *dst)?, self.address(frame, *src)?, self.address(frame, *len)?);
                let (bytes, dual) = self.memory.read(src, len)?;
                self.memory.write(dst, &bytes, &dual)?;
                return Ok(None);
            }
            Op::Fill { dst, byte, len, .. } => {
                let (dst, len) = (self.address(frame, *dst)?, self.address(frame, *len)? as usize);
                let byte = self.scalar(frame, *byte)?.bits as u8;
                self.memory.write(dst, &vec![byte; len], &vec![0; len])?;
                return Ok(None);
            }
            Op::Alloc { size, .. } => {
                let size = self.address(frame, *size)?;
                Scalar::int(self.memory.allocate(size).into())
            }
            Op::Dealloc { ptr, .. } => {
                let address = self.address(frame, *ptr)?;
                self.memory.free(address)?;
                return Ok(None);
            }
            Op::Call(Callee::Direct(callee), args, _) => {
                let args = args.iter().map(|a| self.value(frame, *a)).collect::<Result<_, _>>()?;
                return self.call(*callee, args);
            }
            Op::ExtractValue(a, index) => match self.value(frame, *a)? {
                Val::Struct(fields) => return Ok(Some(fields[*index as usize].clone())),
                Val::Scalar(_) => return Err(Trap::Undefined("a scalar where an aggregate belongs")),
            },
            Op::InsertValue(a, value, index) => match self.value(frame, *a)? {
                Val::Struct(mut fields) => {
                    fields[*index as usize] = self.value(frame, *value)?;
                    return Ok(Some(Val::Struct(fields)));
                }
                Val::Scalar(_) => return Err(Trap::Undefined("a scalar where an aggregate belongs")),
            },
            Op::Call(Callee::Indirect(_), ..) | Op::Opaque(_) => {
                return Err(Trap::Unsupported(format!("{op:?}")));
            }
        };
        Ok(Some(Val::Scalar(scalar)))
    }

    fn load(&mut self, address: u64, ty: &Type) -> Result<Val, Trap> {
        let Type::Struct(fields) = ty else { return self.memory.load(address, ty.size()).map(Val::Scalar) };
        let load = |(i, field): (usize, &Type)| self.load(address + ty.field_offset(i), field);
        fields.iter().enumerate().map(load).collect::<Result<_, _>>().map(Val::Struct)
    }

    fn store(&mut self, address: u64, ty: &Type, value: &Val) -> Result<(), Trap> {
        match value {
            Val::Scalar(scalar) => self.memory.store(address, ty.size(), *scalar),
            Val::Struct(fields) => {
                let mut stores = fields.iter().enumerate();
                stores.try_for_each(|(i, v)| self.store(address + ty.field_offset(i), ty.field(i), v))
            }
        }
    }
}

fn zero(ty: &Type) -> Val {
    match ty {
        Type::Struct(fields) => Val::Struct(fields.iter().map(zero).collect()),
        _ => Val::Scalar(Scalar::default()),
    }
}

/// One call.
struct Frame<'m> {
    func: &'m Function,
    values: Vec<Option<Val>>,
    allocas: Vec<u64>,
}
