//! What is said of the obstacles that [`checks`](super::checks) finds, without their places.

use crate::analysis::effects::{Deed, Reason};
use crate::analysis::types::pieces::Lost;
use crate::custom::{CustomRule, RuleArgument};
use crate::error::{Error, ErrorKind};
use crate::request::Mode;
use pullback_ir::{Function, OpaqueOp, Type};

pub(super) fn unknown_cell() -> Error {
    Error::new(ErrorKind::RuntimeActivity, "a float is read that may lie in a cell in which active data is stored")
        .label("read here, from a capture, a `static`, or a `Const` argument of a type without `Differentiable`")
        .note(
            "the function stores active data in a cell of an argument; if that is the same cell, what is read here has \
             a derivative that would be lost",
        )
        .help("pass the data as an argument whose type is `Differentiable`; it may be `Const`")
}

pub(super) fn overwritten_cell() -> Error {
    Error::new(ErrorKind::RuntimeActivity, "a float is written that may go to a cell whose float depends on the inputs")
        .label("written here, to a capture, a `static`, or a `Const` argument of a type without `Differentiable`")
        .note(
            "an argument with a derivative has floats in cells; if that is the same cell, the derivative of what was \
             there would stay",
        )
        .help("pass the data as an argument whose type is `Differentiable`; it may be `Const`")
}

pub(super) fn partly_inert() -> Error {
    Error::new(ErrorKind::UnknownType, "it cannot be told whether this is in a skipped field or not")
        .label("memory with and without a field that has `#[pullback(skip)]` is used here")
        .help("use the two in functions or branches of their own, or remove the `#[pullback(skip)]`")
}

/// A function without derivative changes what has a shadow.
pub(super) fn spoils(name: &str, deed: Deed, reason: Reason) -> Error {
    if deed == Deed::Keeps {
        return Error::new(
            ErrorKind::Unsupported,
            format!("{name} carries no derivative, and is given data that depends on the inputs"),
        )
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
        .label("given such memory here")
        .note(why)
        .help(
            "let it return what it computes, and write that afterwards; or give it a copy (`x.clone()`, `x.to_vec()`)",
        )
        .help(
            "a function without derivative may read everything, and write to memory that does not depend on the inputs",
        )
}

pub(super) fn indirect_call() -> Error {
    Error::new(
        ErrorKind::IndirectCall,
        "a call through a function pointer or trait object with data that depends on the inputs",
    )
    .label("which function is called here is not known when the program is built")
    .help("call the function directly, make the caller generic over it, or `match` on an enum of those that it may be")
}

fn volatile() -> Error {
    Error::new(ErrorKind::Unsupported, "a volatile access to data that depends on the inputs")
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

pub(super) fn leads_to_skipped() -> Error {
    Error::new(ErrorKind::ActiveInConst, "a reference to a skipped field is stored in a result or an argument")
        .label("stored here")
        .note("the field has `#[pullback(skip)]`, so the tangent that the reference would lead to is not there")
        .help("hand on the field's value, or let the field take part: remove its `#[pullback(skip)]`")
}

pub(super) fn leaked_skipped() -> Error {
    Error::new(
        ErrorKind::ActiveInConst,
        "a shared reference to memory that the function makes is stored in a result or an argument",
    )
    .label("stored here")
    .note(
        "there may be a string or a field with `#[pullback(skip)]` behind it, of which the tangent would have none of \
         its own",
    )
    .help("return a `&mut`, a `Box` or a `Vec`, or where the value lies; of memory that is leaked a `&'static mut`")
}

pub(super) fn put_together() -> Error {
    Error::new(ErrorKind::BitTrick, "the bits of an active float are taken apart and put together again")
        .label("the float is put together here")
        .note(
            "either a function does so by `to_bits` and `from_bits`, or the optimiser does, with the payload of an enum \
             where other variants have numbers or flags in the float's place",
        )
        .help("write what works on bits with float operations, or give that function a rule: `scalar_rule!(…)`")
        .help(
            "of an enum, put the float of each variant in a field of its own, beside the enum, or box the variant's \
             other payloads",
        )
}

pub(super) fn moves_words() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "a derivative that moves the payload of an enum unseen cannot be differentiated itself",
    )
    .label("this is such a derivative")
    .note(
        "an enum has a float in one variant and a pointer in another, and is moved without a look at its variant: a \
         `Vec` of such enums grows, for example",
    )
    .help(
        "give such a `Vec` its capacity when it is made, put the floats in a `Vec` of their own, or put them in a \
         `Box` as well",
    )
}

pub(super) fn bit_trick() -> Error {
    Error::new(ErrorKind::BitTrick, "the bits of an active float are used as an integer")
        .label("the result of integer arithmetic on a float's bits is used here")
        .note("the derivative of integer operations on bits is not defined")
        .help(
            "write the computation with float operations, or give the function that does this a rule: \
             `#[rrule(for = …)]`",
        )
}

/// What a rule knows nothing of carries a derivative: the captures of a closure.
pub(super) fn no_place_in_rule(arg: &RuleArgument, rule: &CustomRule) -> Error {
    let headline =
        format!("argument `{}` of `{}` carries a derivative that its rule has no place for", arg.name, rule.name);
    Error::new(ErrorKind::Unsupported, headline)
        .label("data that depends on the inputs goes in here, perhaps as the capture of a closure")
        .help("pass that data as an argument of its own, to which the rule gives a cotangent")
}

/// The function `name` has no body, and this rule, which is not for the mode.
pub(super) fn rule_of_other_mode(name: &str, rule: &CustomRule, mode: Mode) -> Error {
    let (has, wants) = match mode {
        Mode::Forward => ("reverse", "frule"),
        Mode::Reverse => ("forward", "rrule"),
    };
    Error::new(ErrorKind::NoBody, format!("`{name}` has a rule for {has} mode only, and no body"))
        .label("called here with data that depends on the inputs")
        .note(format!("the rule it has is `{}`", rule.name))
        .help(format!("write one for this mode, too: `#[{wants}(for = {})]`", target(name)))
}

/// A name without a path is one of C's.
fn is_in_c(name: &str) -> bool {
    !name.contains("::")
}

/// How an attribute names a function.
fn target(name: &str) -> String {
    if is_in_c(name) { format!("{name}, abi = \"C\"") } else { name.to_owned() }
}

/// The line that gives a function of numbers both rules, but for the formulas.
fn scalar_rule(name: &str, function: &Function) -> Option<String> {
    const NAMES: [&str; 4] = ["x", "y", "z", "w"];
    let declared = |(param, name): (&Type, &&str)| {
        Some(match param {
            Type::F64 => (*name).to_owned(),
            Type::F32 => format!("{name}: f32"),
            Type::Int(bits @ (32 | 64)) => format!("{name}: i{bits}"),
            _ => return None,
        })
    };
    let fits = function.params.len() <= NAMES.len() && function.ret.as_ref().is_some_and(Type::is_float);
    let params: Vec<String> = function.params.iter().zip(&NAMES).map(declared).collect::<Option<_>>()?;
    let floats = function.params.iter().zip(NAMES).filter(|(param, _)| param.is_float());
    let partials: Vec<String> = floats.map(|(_, name)| format!("d/d{name} = …")).collect();
    let abi = if is_in_c(name) { "extern \"C\" " } else { "" };
    let line = format!("scalar_rule!({abi}{name}({}) => r; {})", params.join(", "), partials.join(", "));
    (fits && !partials.is_empty()).then_some(line)
}

pub(super) fn no_body(name: &str, function: &Function) -> Error {
    let (in_c, of) = (is_in_c(name), target(name));
    let rule = scalar_rule(name, function)
        .map_or_else(|| format!("`#[rrule(for = {of})]`, `#[frule(for = {of})]`"), |rule| format!("`{rule}`"));
    let error = Error::new(ErrorKind::NoBody, format!("`{name}` has neither a body nor a derivative rule"))
        .label("called here with data that depends on the inputs")
        .note("the function's code is not part of the program's bitcode (a C library, or the operating system)")
        .help(format!("give it a rule: {rule}; or keep active data away from the call"));
    let for_c =
        "rules for C's mathematical functions and for BLAS are in `pullback`, with its features `libm` and `cblas`";
    if in_c { error.help(for_c) } else { error }
}

pub(super) fn const_or_not(name: &str, other: &str) -> Error {
    let headline = format!("a pointer may reach `{name}`, which is `Const`, or `{other}`, which is not");
    Error::new(ErrorKind::RuntimeActivity, headline)
        .label("which of the two it is, is decided at run time")
        .note("only one of them has a shadow")
        .help(format!("make `{name}` duplicated too, with a zero shadow if its gradient is not wanted"))
}

/// Active data is stored where there is no shadow.
fn stored(kind: ErrorKind, place: &str) -> Error {
    Error::new(kind, format!("active data is stored in {place}"))
        .label("a value that depends on the inputs is stored here")
}

pub(super) fn in_const(name: &str) -> Error {
    stored(ErrorKind::ActiveInConst, &format!("the memory of `{name}`, which is marked `Const`"))
        .note(format!("`{name}` has no shadow, so the derivative of what is read back from it would be lost"))
        .help(format!("mark `{name}` as `Duplicated` (reverse) or `Dual` (forward) and pass a zero shadow"))
}

pub(super) fn behind_skipped(name: &str) -> Error {
    stored(ErrorKind::ActiveInConst, &format!("memory that is reached through a skipped field of `{name}`"))
        .note(
            "what a skipped field leads to has no shadow, so the derivative of what is read back from it would be lost",
        )
        .help("let the field take part: remove its `#[pullback(skip)]`")
}

pub(super) fn in_skipped() -> Error {
    stored(ErrorKind::ActiveInConst, "a skipped field")
        .note("the field has `#[pullback(skip)]`, so the derivative of what is read back from it would be lost")
        .help("let the field take part: remove its `#[pullback(skip)]`")
}

pub(super) fn in_static() -> Error {
    stored(ErrorKind::ActiveInConst, "a `static`")
        .note("statics are constant for the derivative: they have no shadow")
        .help("pass the memory as an argument instead")
}

pub(super) fn in_foreign() -> Error {
    stored(ErrorKind::NoBody, "memory made by a function whose body is not known")
        .note("that memory has no shadow")
        .help("keep active data in memory that the function allocates itself, or that an argument brings")
}

pub(super) fn escaping_constant() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "a reference to a constant is returned, or stored in an argument, in forward mode",
    )
    .label("a reference to a `static`, or to a constant of the program")
    .note("its tangent would be a reference to zeros that live as long")
    .help("return or store a copy of the value")
}

pub(super) fn moved_unseen() -> Error {
    Error::new(ErrorKind::UnknownType, "a value whose layout depends on a variant is moved unseen")
        .label("moved here")
        .note(
            "its variants hold floats beside pointers, or floats of two widths: which lies where is only known by a \
             look at the variant",
        )
        .help("match on it and use its floats, or move its payload variant by variant")
}

/// An opaque instruction of this name does what has no derivative.
pub(super) fn opaque(op: &OpaqueOp) -> Error {
    let what = match &*op.name {
        "indirect call" => return indirect_call(),
        "volatile load" | "volatile store" => return volatile(),
        // The driver says the same of what it finds inside std's atomics.
        _ if op.is_atomic() => {
            let headline = "atomics, locks and `Arc` around data that depends on the inputs are not supported yet";
            return Error::new(ErrorKind::Unsupported, headline)
                .label("an atomic operation on memory that holds such data")
                .help(
                    "use plain memory, a `Cell` or an `Rc`; take a lock outside of the function, and give it what the \
                     lock protects",
                );
        }
        "asm" => "inline assembly".to_owned(),
        name => format!("the LLVM instruction `{name}`"),
    };
    Error::new(ErrorKind::Unsupported, format!("{what} on data that depends on the inputs"))
        .label("this has no derivative")
        .help("keep active data away from it, or write the computation in plain Rust")
}
