//! The small SSA IR on which Pullback differentiates.
//!
//! A [`Module`] holds functions, globals and source locations. A [`Function`] is a control-flow graph of basic
//! [`Block`]s; blocks take parameters instead of phi instructions, and each instruction has at most one result.
//! Memory is untyped: pointers are opaque, addresses are computed in bytes by [`Op::PtrAdd`], and the type of an access
//! stands on the load or store.
//!
//! Nothing here knows LLVM. `pullback-llvm` translates rustc's bitcode into this form and back; what it cannot model
//! arrives as [`Op::Opaque`], an instruction with operands and effects that is copied from the original on the way out.
//!
//! | module | what it holds |
//! |---|---|
//! | [`types`] | the types of values |
//! | [`entities`] | index newtypes: `Value`, `Block`, `Inst`, `FuncId`, … |
//! | [`inst`] | the instruction set |
//! | [`math`] | the float functions (`sin`, `pow`, …) as data |
//! | [`function`] | functions, blocks, constants, and how to edit them |
//! | [`module`] | modules, globals, source locations |
//! | [`builder`] | a cursor that appends instructions |
//! | [`table`] | tables indexed by entities |
//! | [`mod@cfg`] | order, edges and reachability of blocks |
//! | [`dominators`] | the dominator tree |
//! | [`copies`] | which values are handed on unchanged |
//! | [`uses`] | who uses which value |
//! | [`loops`] | natural loops and how they nest |
//! | [`counted`] | how often a loop runs, and what follows from the iteration's number |
//! | [`text`] | the text format, both ways |
//! | [`verify`] | the rules every function keeps, and their check |
//! | [`interp`] | the interpreter |

#![forbid(unsafe_code)]

pub mod builder;
pub mod cfg;
pub mod copies;
pub mod counted;
pub mod dominators;
pub mod entities;
pub mod function;
pub mod inst;
pub mod interp;
pub mod loops;
pub mod math;
pub mod module;
pub mod table;
pub mod text;
pub mod types;
pub mod uses;
pub mod verify;

pub use builder::Builder;
pub use cfg::{Cfg, Edge};
pub use copies::Copies;
pub use dominators::Dominators;
pub use entities::{Block, FuncId, GlobalId, Inst, Loop, OpaqueId, SourceLoc, Value};
pub use function::{
    AliasClass, BlockData, Constant, FuncAttrs, Function, InstData, MemoryEffects, ValueData, ValueDef,
};
pub use inst::{BinOp, BlockCall, Callee, CastOp, Cleanup, Flags, FloatPred, IntPred, Op, OpaqueOp, Terminator};
pub use loops::{ControlFlow, Irreducible, Loops};
pub use math::MathFn;
pub use module::{Global, Location, Module};
pub use table::Table;
pub use text::{ParseError, parse_module};
pub use types::Type;
pub use uses::Uses;
pub use verify::{Violation, verify_function, verify_module};
