//! The request that an attribute leaves in the program, as the driver reads it: plain `repr(C)` constants.
//!
//! An attribute makes a [`Request`] with one [`Arg`] for each argument and one for the place of the result, and hands
//! it, with the address of a shim, to [`__pullback_marker`]. The types' [`Layout`]s tell the engine what lies where:
//! they come from [`Differentiable::LAYOUT`](crate::Differentiable::LAYOUT). What a rule is, a [`Rule`] says.
//!
//! All of this is the crate `pullback-abi`, which the driver reads by; `docs/architecture.md` has the tables in words.

#[doc(inline)]
pub use pullback_abi::markers::{
    __pullback_disowns, __pullback_later, __pullback_marker, __pullback_renews, __pullback_rule, __pullback_ruled,
    __pullback_saves, __pullback_yields,
};
#[doc(inline)]
pub use pullback_abi::{
    Activity, Arg, Field, Kept, Kind, Layout, LayoutFn, Mode, Request, Rule, RuleEntry, RuleKind, Slice, Str,
};
