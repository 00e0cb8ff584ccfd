//! The engine: analyses and transforms that turn a function of the IR into its derivative.
//!
//! [`differentiate()`] is the way in; [`pipeline`] lists the passes in order. The folders are its stages:
//!
//! ```text
//! prepare ▶ analysis ▶ linearise ─┬─▶ forward mode: done
//!                                 └─▶ schedule ▶ plan ▶ reverse
//! ```
//!
//! | folder | given | hands on |
//! |---|---|---|
//! | [`prepare`] | working copies of the primal | the same program, in a form that the analyses understand |
//! | [`analysis`] | that program and the request | what memory there is, what lies in it, what depends on the inputs |
//! | [`mod@linearise`] | the program and these facts | the augmented primal, and the linear operations |
//! | [`schedule`] | the linear operations | which transposes run where |
//! | [`plan`] | what the transposes use | what is recorded, and what is recomputed |
//! | [`reverse`] | all of it | the forward sweep and the reverse sweep |
//!
//! `docs/architecture.md` tells the way of one function through them.

#![forbid(unsafe_code)]

pub mod analysis;
pub mod custom;
pub mod error;
pub mod linearise;
pub mod pipeline;
pub mod plan;
pub mod prepare;
pub mod request;
pub mod reverse;
mod runtime;
pub mod schedule;
mod session;
mod target;

pub use analysis::effects::{Effects, Reason, Use};
pub use custom::{Calls, CustomRule, CustomRules, ReverseRule, Role, RuleArgument, Storage};
pub use error::{Error, ErrorKind, Result};
pub use pipeline::{Derivative, derivative, differentiate, linearise};
pub use request::{Activity, Argument, Field, FieldKind, Layout, LayoutId, Layouts, Mode, Request};
