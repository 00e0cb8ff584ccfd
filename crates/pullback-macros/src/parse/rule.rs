//! Rules: `#[rrule(for = dot)]` and `#[frule(for = dot)]` with the functions under them.

pub mod attached;
pub mod attribute;
pub mod forward;
pub mod function;
pub mod marks;
pub mod reverse;
pub mod scalar;

use crate::parse::types::path_name;
use syn::{GenericArgument, PathArguments, Type};

/// Whether a type is written `NoTangent`.
pub fn is_no_tangent(ty: &Type) -> bool {
    path_name(ty).is_some_and(|name| name == "NoTangent")
}

/// `T` of `Option<T>`.
pub fn inside_option(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) if last.ident == "Option" => match arguments.args.first()? {
            GenericArgument::Type(inside) => Some(inside),
            _ => None,
        },
        _ => None,
    }
}

/// `` `x`, `y` and `z` ``.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.pop() {
        None => String::new(),
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
    }
}
