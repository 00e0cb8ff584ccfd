//! The interpreter: runs any function of a module, as the oracle that compiled code and derivatives are held against.
//!
//! Given a module, [`Interp::new`] lays out its globals; [`Interp::call`] runs a function on values and memory that the
//! caller made with [`Interp::alloc_f64s`] and the like. Whatever the program does wrong, an access out of bounds or
//! after a free, a division by zero, an endless loop, comes back as an [`InterpError`] that names the instruction;
//! nothing is undefined. A module that the verifier accepts never makes the interpreter panic.
//!
//! ```
//! use pullback_ir::{parse_module, interp::{Interp, Val}};
//!
//! let module = parse_module("
//! fn @square(v0: ptr) -> f64 {
//! b0:
//!   v1 = load f64 v0
//!   v2 = fmul v1, v1
//!   return v2
//! }").unwrap();
//! let mut interp = Interp::new(&module);
//! let x = interp.alloc_f64s(&[3.0]).unwrap();
//! let y = interp.call(module.find("square").unwrap(), &[Val::Ptr(x)]).unwrap();
//! assert_eq!(y, Some(Val::F64(9.0)));
//! ```

mod eval;
mod intrinsics;
mod memory;
mod run;
mod runtime;
mod trap;
mod value;

pub use memory::{Kind, Live, Memory, Uninitialised};
pub use trap::{InterpError, Trap};
pub use value::Val;

use crate::entities::{FuncId, GlobalId};
use crate::module::Module;
use runtime::Tapes;

/// What the interpreter allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many instructions may be executed in all.
    pub step_limit: u64,
    /// How deep calls may nest.
    pub depth_limit: usize,
    /// How many bytes may be alive at once.
    pub memory_limit: u64,
    /// What reading bytes that were never written gives.
    pub uninitialised: Uninitialised,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            step_limit: 100_000_000,
            depth_limit: 10_000,
            memory_limit: 1 << 30,
            uninitialised: Uninitialised::Zero,
        }
    }
}

/// An interpreter of one module, with its memory.
pub struct Interp<'m> {
    module: &'m Module,
    options: Options,
    memory: Memory,
    globals: Vec<Result<u64, Trap>>,
    tapes: Tapes,
    executed: u64,
}

/// Functions have addresses, but no bytes: they lie below all memory.
const FIRST_FUNCTION: u64 = 1 << 16;
const FUNCTION_STEP: u64 = 16;

impl<'m> Interp<'m> {
    /// An interpreter with the usual limits, in which reading bytes that were never written gives zeros.
    pub fn new(module: &'m Module) -> Self {
        Self::with_options(module, Options::default())
    }

    /// An interpreter that allows what `options` say.
    pub fn with_options(module: &'m Module, options: Options) -> Self {
        let mut memory = Memory::new(options.memory_limit, options.uninitialised);
        let globals = module.globals().map(|(_, g)| place_global(&mut memory, g)).collect();
        Interp { module, options, memory, globals, tapes: Tapes::default(), executed: 0 }
    }

    /// The module being run.
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// Memory, to read.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Memory, to change.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// How many instructions and terminators were executed so far.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// The address of a function, for calls through pointers.
    pub fn function_address(&self, id: FuncId) -> u64 {
        FIRST_FUNCTION + id.index() as u64 * FUNCTION_STEP
    }

    /// The function at an address.
    fn function_at(&self, address: u64) -> Option<FuncId> {
        let offset = address.checked_sub(FIRST_FUNCTION).filter(|o| o % FUNCTION_STEP == 0)?;
        let index = usize::try_from(offset / FUNCTION_STEP).ok()?;
        self.module.functions().nth(index).map(|(id, _)| id)
    }

    /// The address of a global.
    pub fn global_address(&self, id: GlobalId) -> Result<u64, Trap> {
        self.globals.get(id.index()).cloned().unwrap_or_else(|| Err(Trap::IllFormed(format!("there is no {id}"))))
    }

    /// New memory for the caller's use, never written.
    pub fn alloc(&mut self, size: u64, align: u64) -> Result<u64, Trap> {
        self.memory.alloc(size, align, Kind::Host)
    }

    /// New memory that holds these bytes, aligned to 16.
    pub fn alloc_bytes(&mut self, bytes: &[u8]) -> Result<u64, Trap> {
        let address = self.alloc(bytes.len() as u64, 16)?;
        self.memory.write(address, bytes)?;
        Ok(address)
    }

    /// New memory that holds these floats.
    pub fn alloc_f64s(&mut self, values: &[f64]) -> Result<u64, Trap> {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.alloc_bytes(&bytes)
    }

    /// New memory that holds these floats.
    pub fn alloc_f32s(&mut self, values: &[f32]) -> Result<u64, Trap> {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.alloc_bytes(&bytes)
    }

    /// Give memory back that the caller made.
    pub fn free(&mut self, address: u64) -> Result<(), Trap> {
        self.memory.free(address, Kind::Host)
    }

    /// Read `count` floats.
    pub fn read_f64s(&self, address: u64, count: usize) -> Result<Vec<f64>, Trap> {
        let bytes = self.memory.read(address, count as u64 * 8)?;
        Ok(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect())
    }

    /// Read `count` floats.
    pub fn read_f32s(&self, address: u64, count: usize) -> Result<Vec<f32>, Trap> {
        let bytes = self.memory.read(address, count as u64 * 4)?;
        Ok(bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
    }

    /// Write floats.
    pub fn write_f64s(&mut self, address: u64, values: &[f64]) -> Result<(), Trap> {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.memory.write(address, &bytes)
    }

    /// Write floats.
    pub fn write_f32s(&mut self, address: u64, values: &[f32]) -> Result<(), Trap> {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.memory.write(address, &bytes)
    }

    /// Heap memory that the program allocated and has not given back.
    pub fn leaks(&self) -> Vec<Live> {
        self.memory.live(Kind::Heap)
    }

    /// A new tape: what a reverse-mode derivative takes as its first argument, as [`Val::Ptr`].
    pub fn new_tape(&mut self) -> u64 {
        self.tapes.create()
    }

    /// Drop a tape: its records and shadows go, and the deallocations it deferred are done.
    pub fn drop_tape(&mut self, tape: u64) -> Result<(), Trap> {
        self.tapes.destroy(tape, &mut self.memory)
    }

    /// The bytes on a tape now, records rounded up to 16; `None` if there is no such tape.
    pub fn tape_bytes(&self, tape: u64) -> Option<u64> {
        self.tapes.bytes(tape)
    }

    /// The most bytes that were ever on a tape at once; `None` if there is no such tape.
    pub fn tape_high_water(&self, tape: u64) -> Option<u64> {
        self.tapes.high_water(tape)
    }
}

fn place_global(memory: &mut Memory, global: &crate::module::Global) -> Result<u64, Trap> {
    let align = global.align.max(1);
    let Some(bytes) = &global.bytes else { return memory.alloc(global.size, align, Kind::External) };
    let size = global.size.max(bytes.len() as u64);
    let address = memory.alloc(size, align, Kind::Global)?;
    memory.write(address, bytes)?;
    if global.constant {
        memory.make_constant(address);
    }
    Ok(address)
}

/// The address behind an operand.
fn operand_ptr(value: &Val) -> Result<u64, Trap> {
    match value {
        Val::Ptr(p) => Ok(*p),
        Val::Undef => Err(Trap::Undef("an address")),
        other => Err(Trap::IllFormed(format!("{other:?} as an address"))),
    }
}

/// The bits of an integer operand.
fn operand_bits(value: &Val) -> Result<u128, Trap> {
    match value {
        Val::Int(bits, _) => Ok(*bits),
        Val::Undef => Err(Trap::Undef("an integer")),
        other => Err(Trap::IllFormed(format!("{other:?} as an integer"))),
    }
}
