//! The engine: analyses and transforms that turn a function of the IR into its derivative.

pub mod error;
pub mod request;
pub mod rules;

pub use error::{Error, ErrorKind, Result};
pub use request::{Activity, Argument, Field, FieldKind, Layout, LayoutId, Layouts, Mode, Request};

use pullback_ir::{FuncId, Module};

/// Add the derivative of `primal` that `request` asks for to the module, as a function called `name`.
pub fn differentiate(_module: &mut Module, _primal: FuncId, _request: &Request, _name: &str) -> Result<FuncId> {
    Err(Error::internal("the engine is not there yet"))
}
