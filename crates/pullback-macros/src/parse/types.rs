//! What can be seen of a type by its syntax. An alias hides it; then the trait bounds of the expansion say what is wrong.

use syn::{GenericArgument, PathArguments, PointerMutability, Type, TypePtr, TypeReference};

/// The names of types without floats.
#[rustfmt::skip]
pub const INACTIVE: [&str; 27] = [
    "bool", "char", "str", "String", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
    "usize", "Ordering",
    "c_char", "c_uchar", "c_short", "c_ushort", "c_int", "c_uint", "c_long", "c_ulong", "c_longlong", "c_ulonglong",
];

/// The last name of a path type, without what groups or parentheses are around it.
pub fn path_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last().map(|last| last.ident.to_string()),
        Type::Paren(inner) => path_name(&inner.elem),
        Type::Group(inner) => path_name(&inner.elem),
        _ => None,
    }
}

/// Whether values of a type have no floats.
pub fn is_inactive(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => is_inactive(&reference.elem),
        Type::Ptr(pointer) => is_inactive(&pointer.elem),
        Type::Slice(slice) => is_inactive(&slice.elem),
        Type::Array(array) => is_inactive(&array.elem),
        Type::Tuple(tuple) => tuple.elems.iter().all(is_inactive),
        Type::Paren(inner) => is_inactive(&inner.elem),
        Type::Group(inner) => is_inactive(&inner.elem),
        _ => path_name(ty).is_some_and(|name| INACTIVE.contains(&name.as_str())),
    }
}

/// The reference that a type is.
pub fn as_reference(ty: &Type) -> Option<&TypeReference> {
    match ty {
        Type::Reference(reference) => Some(reference),
        Type::Paren(inner) => as_reference(&inner.elem),
        Type::Group(inner) => as_reference(&inner.elem),
        _ => None,
    }
}

/// What a type refers to, if it is a reference or a raw pointer.
#[derive(Clone, Copy)]
pub enum Pointer<'a> {
    Reference(&'a TypeReference),
    Raw(&'a TypePtr),
}

impl<'a> Pointer<'a> {
    pub fn of(ty: &'a Type) -> Option<Self> {
        match ty {
            Type::Reference(reference) => Some(Pointer::Reference(reference)),
            Type::Ptr(pointer) => Some(Pointer::Raw(pointer)),
            Type::Paren(inner) => Self::of(&inner.elem),
            Type::Group(inner) => Self::of(&inner.elem),
            _ => None,
        }
    }

    pub fn elem(&self) -> &'a Type {
        match self {
            Pointer::Reference(reference) => &reference.elem,
            Pointer::Raw(pointer) => &pointer.elem,
        }
    }

    /// Whether it is a `&mut` or a `*mut`.
    pub fn is_mutable(&self) -> bool {
        match self {
            Pointer::Reference(reference) => reference.mutability.is_some(),
            Pointer::Raw(pointer) => matches!(pointer.mutability, PointerMutability::Mut(_)),
        }
    }
}

/// Whether a type is a reference to a slice.
pub fn is_slice_reference(ty: &Type) -> bool {
    as_reference(ty).is_some_and(|reference| matches!(&*reference.elem, Type::Slice(_)))
}

/// The type of a shadow that is written: shared references to floats become mutable ones.
pub fn writable(ty: &Type) -> Type {
    let mut ty = ty.clone();
    make_writable(&mut ty);
    ty
}

fn make_writable(ty: &mut Type) {
    match ty {
        Type::Reference(reference) if !is_inactive(&reference.elem) => {
            reference.mutability = Some(Default::default());
            make_writable(&mut reference.elem);
        }
        Type::Slice(slice) => make_writable(&mut slice.elem),
        Type::Array(array) => make_writable(&mut array.elem),
        Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(make_writable),
        Type::Paren(inner) => make_writable(&mut inner.elem),
        Type::Group(inner) => make_writable(&mut inner.elem),
        Type::Path(path) if path.qself.is_none() => {
            let Some(last) = path.path.segments.last_mut() else { return };
            if let PathArguments::AngleBracketed(arguments) = &mut last.arguments
                && ["Vec", "Box", "Option", "Result"].iter().any(|name| last.ident == name)
            {
                for argument in &mut arguments.args {
                    if let GenericArgument::Type(ty) = argument {
                        make_writable(ty);
                    }
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;
    use syn::parse_quote;

    #[test]
    fn shared_references_to_floats_become_mutable() {
        let cases: [(Type, Type); 4] = [
            (parse_quote!(&[f64]), parse_quote!(&mut [f64])),
            (parse_quote!(&'a [&'a [f64]]), parse_quote!(&'a mut [&'a mut [f64]])),
            (parse_quote!((Vec<&f64>, &str, &[usize])), parse_quote!((Vec<&mut f64>, &str, &[usize]))),
            (parse_quote!(Params<&f64>), parse_quote!(Params<&f64>)),
        ];
        for (primal, shadow) in cases {
            assert_eq!(writable(&primal).to_token_stream().to_string(), shadow.to_token_stream().to_string());
        }
    }
}
