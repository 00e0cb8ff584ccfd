//! Requests that ask for a derivative where there is none: by arguments without floats, or of a result without floats.
//!
//! A type without floats may stand beside others, and in an instance of a generic function all of one argument may be
//! without: it is the arguments with a shadow, taken together, that have to reach a float.

use super::path::demangled;
use super::requests::Asked;
use crate::diagnostics::{CLOSURE, asked_for, show};
use crate::report::Rendered;
use pullback_ad::{Argument, FieldKind, LayoutId, Layouts, Request};
use std::collections::HashSet;

/// Why there is no such derivative, if that is so.
pub fn refused(asked: &Asked) -> Option<Rendered> {
    let Request { name, args, layouts, .. } = &asked.request;
    let shadowed = args.iter().filter(|arg| arg.activity.has_shadow());
    let (results, inputs): (Vec<&Argument>, Vec<&Argument>) = shadowed.partition(|arg| arg.is_result);
    let without = |args: &[&Argument]| {
        !args.is_empty() && !args.iter().any(|arg| has_floats(layouts, arg.layout, &mut HashSet::new()))
    };
    // A function that returns nothing may write its results.
    let returns_something = results.iter().any(|arg| layouts.get(arg.layout).size > 0);
    let (what, help) = if without(&inputs) {
        let names: Vec<String> = inputs.iter().map(|arg| format!("`{}`", arg.name)).collect();
        let verb = if names.len() == 1 { "has" } else { "have" };
        (
            format!("{} {verb} no floats, and so no derivative", names.join(", ")),
            "differentiate by an argument that holds an `f32` or `f64`",
        )
    } else if returns_something && without(&results) {
        (
            "the result has no floats, and so no derivative".to_owned(),
            "return an `f32`, an `f64`, or a type that holds one",
        )
    } else {
        return None;
    };
    let function = if name == CLOSURE { name.clone() } else { format!("`{}`", demangled(name)) };
    let headline = format!("cannot differentiate {function}: {what}");
    Some(show(&headline, Some((&asked.place, asked_for(name))), &[], &[help.to_owned()]))
}

/// Whether a value may hold a float, itself or behind a pointer. (An array of none is of a type with floats.)
fn has_floats(layouts: &Layouts, id: LayoutId, seen: &mut HashSet<LayoutId>) -> bool {
    seen.insert(id)
        && layouts.get(id).fields.iter().any(|field| match field.kind {
            FieldKind::F32 | FieldKind::F64 => true,
            FieldKind::Nested(inner, _)
            | FieldKind::Payload(inner)
            | FieldKind::Pointer(Some(inner))
            | FieldKind::Reference(inner) => has_floats(layouts, inner, seen),
            _ => false,
        })
}
