//! Plain functions called over arrays.
//!
//! A *kernel function* is an ordinary function of numbers, arrays of a fixed size and structs of these. Called with an
//! array where it takes one value, it is called for each element. This crate is what every such call goes through,
//! whoever makes it, a Rust program or Python: it knows the function by its [description](abi::Function), a constant
//! that glue generated around the function holds, and not by its type.
//!
//! ```text
//! arguments ─▶ bind ─▶ shapes broadcast ─▶ plan ─▶ pieces ─▶ the pool, or inline if there are few elements
//!              types, dtypes      shape.rs   plan.rs    each piece, tile by tile (run.rs):
//!              and parameters                             gather what is not contiguous     tile.rs
//!              meet (bind.rs)                             call the loop over the tile       abi::Entry
//!                                                         scatter, or sum up                sum.rs
//! ```
//! A **tile** is a few hundred elements, all operands of which are in the first cache together. An operand whose
//! elements lie in memory as Rust has them, one after the other, is used where it lies; any other (strided, broadcast,
//! in another byte order, of another dtype, with fields that lie apart) is gathered into a tile of the thread. So a
//! function has one loop body, which LLVM makes vector code of, whatever comes in.
//!
//! What the result depends on is the arguments, and nothing else: a **piece** is a run of tiles of a fixed length, sums
//! are taken in the order of elements within a piece, and pairwise over pieces. How many threads there are does not
//! show, not in one bit.

#![warn(missing_docs)]

// What macros write names the crate by its name, here too.
extern crate self as pullback_kernel;

pub mod abi;
pub mod argument;
pub mod call;
pub mod dtype;
pub mod element;
pub mod error;
pub mod operand;
pub mod run;
pub mod shape;
pub mod sum;
pub mod tensor;
pub mod value;
pub mod walk;

pub use error::{Error, Result};
pub use pullback_kernel_macros::Value;
/// ```
/// use pullback_kernel::{Tensor, kernel};
///
/// #[kernel]
/// fn add(x: f32, y: f32) -> f32 {
///     x + y
/// }
///
/// let x = Tensor::new([2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// assert_eq!(add.call(&x, 20.0)?, Tensor::new([2, 3], [21.0, 22.0, 23.0, 24.0, 25.0, 26.0]));
/// assert_eq!(add.call(&x, &[10.0, 20.0, 30.0])?[[1, 2]], 36.0);
/// assert_eq!(add(1.0, 2.0), 3.0);
/// # Ok::<(), pullback_kernel::Error>(())
/// ```
pub use pullback_kernel_macros::kernel;
pub use shape::Shape;
pub use tensor::Tensor;
pub use value::Value;
