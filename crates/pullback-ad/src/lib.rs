//! The engine: analyses and transforms that turn a function of the IR into its derivative.
//!
//! [`differentiate()`] is the way in. `docs/architecture.md` tells the way of one function through it.

pub mod analysis;
pub mod custom;
mod differentiate;
pub mod error;
pub mod request;
pub mod rules;
pub mod transform;

pub use analysis::effects::Effects;
pub use custom::{Calls, CustomRule, CustomRules, ReverseRule, Role, RuleArgument, Storage};
pub use differentiate::{Derivative, derivative, differentiate, reverse_sweep};
pub use error::{Error, ErrorKind, Result};
pub use request::{Activity, Argument, Field, FieldKind, Layout, LayoutId, Layouts, Mode, Request};
