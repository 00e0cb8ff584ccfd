//! Linearising: the augmented primal, and a linear operation on tangents for each active instruction.
//!
//! | module | does |
//! |---|---|
//! | [`linear`] | the linear operations |
//! | [`share`] | … the transposes of the arithmetic ones |
//! | [`program`] | … of a function: what linearising hands on, and transposing is given |
//! | [`text`] | … written down and read back |
//! | [`verify`] | … and checked |
//! | [`augment`] | the primal with shadow pointers beside pointers, and an operation at each active instruction |
//! | `pure` | … for instructions without effects |
//! | `shadow_values` | the shadows, shadow words and tangents of values |
//! | `memory` | … for instructions that read, write, make or free memory |
//! | `mirror` | … for those that write memory in forward mode, where a shadow mirrors its primal |
//! | `copies` | … for copies and fills |
//! | `words` | … for places where a float lies at one time and a pointer at another |
//! | `calls` | … for calls of functions that take part |
//! | [`rule_call`] | … for calls of functions with a rule of the user's |
//! | `cleanup` | what calls of the augmented primal do when they panic |
//! | `inner_tape` | what an inner derivative does with its tape |
//! | `forward` | forward mode: the linear operations, emitted as they stand |

pub mod augment;
mod calls;
mod cleanup;
pub(crate) mod copies;
pub(crate) mod forward;
mod inner_tape;
pub mod linear;
pub(crate) mod memory;
mod mirror;
pub mod program;
mod pure;
pub mod rule_call;
mod shadow_values;
pub mod share;
pub mod text;
pub mod verify;
mod words;
