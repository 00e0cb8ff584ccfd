//! What is said of the obstacles that [`checks`](super::checks) finds.

use crate::analysis::effects::{Deed, Reason};
use crate::analysis::types::pieces::Lost;
use crate::error::{Error, ErrorKind};
use pullback_ir::SourceLoc;

pub(super) fn unknown_cell(loc: Option<SourceLoc>) -> Error {
    Error::new(ErrorKind::RuntimeActivity, "a float is read that may lie in a cell in which active data is stored")
        .at(loc)
        .label("read here, from a capture, a `static`, or a `Const` argument of a type without `Differentiable`")
        .note("the function stores active data in a cell of an argument; if that is the same cell, what is read here has a derivative that would be lost")
        .help("pass the data as an argument whose type is `Differentiable`; it may be `Const`")
}

pub(super) fn partly_inert(loc: Option<SourceLoc>) -> Error {
    Error::new(ErrorKind::UnknownType, "it cannot be told whether this is in a skipped field or not")
        .at(loc)
        .label("memory with and without a field that has `#[pullback(skip)]` is used here")
        .help("use the two in functions or branches of their own, or remove the `#[pullback(skip)]`")
}

/// A function without derivative changes what has a shadow.
pub(super) fn spoils(name: &str, deed: Deed, reason: Reason, loc: Option<SourceLoc>) -> Error {
    if deed == Deed::Keeps {
        return Error::new(
            ErrorKind::Unsupported,
            format!("{name} carries no derivative, and is given data that depends on the inputs"),
        )
        .at(loc)
        .label("given such data here")
        .note("what the program later reads of it would have no derivative")
        .help("do this outside of the function, or keep active data away from the call");
    }
    let (does, why) = match deed {
        Deed::HandsBack => (
            "hands back a reference to memory that depends on the inputs",
            "what is done through that reference would not be seen",
        ),
        Deed::WritesFloats if reason == Reason::Unseen => (
            "may write floats that it computes from data that depends on the inputs",
            "their derivatives would be lost, and those of what was there would stay there",
        ),
        Deed::WritesFloats | Deed::Counts => (
            "may write floats to memory that depends on the inputs",
            "the derivatives of what was there would stay there",
        ),
        Deed::Replaces | Deed::Keeps => (
            "may replace memory that has a shadow",
            "its shadow would not fit it any more, if it is given back or grows",
        ),
    };
    Error::new(ErrorKind::Unsupported, format!("{name} carries no derivative, and {does}"))
        .at(loc)
        .label("given such memory here")
        .note(why)
        .help(
            "let it return what it computes, and write that afterwards; or give it a copy (`x.clone()`, `x.to_vec()`)",
        )
        .help(
            "a function without derivative may read everything, and write to memory that does not depend on the inputs",
        )
}

pub(super) fn indirect_call(loc: Option<SourceLoc>) -> Error {
    Error::new(
        ErrorKind::IndirectCall,
        "a call through a function pointer or trait object with data that depends on the inputs",
    )
    .at(loc)
    .label("which function is called here is not known when the program is built")
    .help("call the function directly, or make the caller generic over it")
}

pub(super) fn volatile(loc: Option<SourceLoc>) -> Error {
    Error::new(ErrorKind::Unsupported, "a volatile access to data that depends on the inputs")
        .at(loc)
        .label("this has no derivative: what is behind the pointer may not be memory")
        .help("read and write that memory plainly, by `*p`")
}

/// The payload of an enum is moved by a type that hides what it is.
pub(super) fn in_pieces(lost: Lost) -> Error {
    let (loc, what) = match lost {
        Lost::Pointer(loc) => (loc, "a pointer may come here in two halves, which have no shadow"),
        Lost::Float(loc) => (loc, "an `f32` may come here as a part of a pointer, which has no derivative"),
    };
    Error::new(ErrorKind::UnknownType, "a value is moved of which it cannot be told whether it is a pointer")
        .at(loc)
        .label("moved here")
        .note(what)
        .note("an enum has a pointer in one variant, and something of 32 bits at the same place in another")
        .help("use numbers of 64 bits in that enum, or put those of 32 bits in a `Box`, too")
}

pub(super) fn leads_to_skipped(loc: Option<SourceLoc>) -> Error {
    Error::new(ErrorKind::ActiveInConst, "a reference to a skipped field is stored in a result or an argument")
        .at(loc)
        .label("stored here")
        .note("the field has `#[pullback(skip)]`, so the tangent that the reference would lead to is not there")
        .help("hand on the field's value, or let the field take part: remove its `#[pullback(skip)]`")
}

pub(super) fn leaked_skipped(loc: Option<SourceLoc>) -> Error {
    Error::new(ErrorKind::ActiveInConst, "a shared reference to memory that the function makes is stored in a result or an argument")
        .at(loc)
        .label("stored here")
        .note("there may be a string or a field with `#[pullback(skip)]` behind it, of which the tangent would have none of its own")
        .help("return a `&mut`, a `Box` or a `Vec`, or where the value lies; of memory that is leaked a `&'static mut`")
}

pub(super) fn put_together(loc: Option<SourceLoc>) -> Error {
    Error::new(ErrorKind::BitTrick, "the bits of an active float are taken apart and put together again")
        .at(loc)
        .label("the float is put together here")
        .note("the optimiser does so with the payload of an enum, where other variants have numbers or flags in the float's place")
        .help("put the float of each variant in a field of its own, beside the enum, or box the variant's other payloads")
}

pub(super) fn moves_words(loc: Option<SourceLoc>) -> Error {
    Error::new(ErrorKind::Unsupported, "a derivative that moves the payload of an enum unseen cannot be differentiated itself")
        .at(loc)
        .label("this is such a derivative")
        .note("an enum has a float in one variant and a pointer in another, and is moved without a look at its variant: a `Vec` of such enums grows, for example")
        .help("give such a `Vec` its capacity when it is made, put the floats in a `Vec` of their own, or put them in a `Box` as well")
}

pub(super) fn bit_trick(loc: Option<SourceLoc>) -> Error {
    Error::new(ErrorKind::BitTrick, "the bits of an active float are used as an integer")
        .at(loc)
        .label("the result of integer arithmetic on a float's bits is used here")
        .note("the derivative of integer operations on bits is not defined")
        .help("write the computation with float operations, or give the function that does this a rule: `#[rrule(for = …)]`")
}
