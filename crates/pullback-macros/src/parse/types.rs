//! What can be seen of a type by its syntax. An alias hides it; then the trait bounds of the expansion say what is
//! wrong.

use proc_macro2::TokenStream;
use quote::quote;
use syn::visit::Visit;
use syn::{
    BoundLifetimes, GenericArgument, Lifetime, PathArguments, PointerMutability, Type, TypeParamBound, TypePtr,
    TypeReference, TypeTraitObject,
};

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

/// Whether a type, as it is written, holds what lives as long as something else does.
pub fn has_lifetimes(ty: &Type) -> bool {
    lifetimes_in(ty) > 0
}

/// How many lifetimes there are in a type, as it is written; those of references are left out or not.
pub fn lifetimes_in(ty: &Type) -> usize {
    struct Count(usize);
    impl Visit<'_> for Count {
        fn visit_type_reference(&mut self, reference: &TypeReference) {
            self.0 += 1 + implied(&reference.elem);
            self.visit_type(&reference.elem);
        }
        fn visit_lifetime(&mut self, _: &Lifetime) {
            self.0 += 1;
        }
        // They are counted where they are used.
        fn visit_bound_lifetimes(&mut self, _: &BoundLifetimes) {}
    }
    // A trait object that is referred to has the lifetime of the reference, if it does not say.
    fn implied(ty: &Type) -> usize {
        usize::from(matches!(ty, Type::TraitObject(object) if !has_lifetime(object)))
    }
    let mut count = Count(implied(ty));
    count.visit_type(ty);
    count.0
}

/// Whether a trait object says how long what it stands for is there.
pub fn has_lifetime(object: &TypeTraitObject) -> bool {
    object.bounds.iter().any(|bound| matches!(bound, TypeParamBound::Lifetime(_)))
}

/// The types that a type is made of by references, pointers, slices, arrays and tuples.
pub fn leaves<'a>(ty: &'a Type, found: &mut Vec<&'a Type>) {
    match ty {
        Type::Reference(reference) => leaves(&reference.elem, found),
        Type::Ptr(pointer) => leaves(&pointer.elem, found),
        Type::Slice(slice) => leaves(&slice.elem, found),
        Type::Array(array) => leaves(&array.elem, found),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(|elem| leaves(elem, found)),
        Type::Paren(inner) => leaves(&inner.elem, found),
        Type::Group(inner) => leaves(&inner.elem, found),
        _ => found.push(ty),
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

/// The type of a shadow that is written, in which shared references to floats are mutable ones. If it is another type,
/// also what was done to get there, as `pullback::__private::ShadowOf` has it.
pub fn writable(ty: &Type) -> (Type, Option<TokenStream>) {
    let mut ty = ty.clone();
    let change = make_writable(&mut ty);
    (ty, change)
}

/// Nothing was done.
fn same() -> TokenStream {
    quote!(::pullback::__private::Same)
}

/// What was done to get a writable type, if anything was.
fn make_writable(ty: &mut Type) -> Option<TokenStream> {
    match ty {
        Type::Reference(reference) if !is_inactive(&reference.elem) => {
            reference.mutability = Some(Default::default());
            let elem = make_writable(&mut reference.elem).unwrap_or_else(same);
            Some(quote!(::pullback::__private::Ref<#elem>))
        }
        Type::Slice(slice) => inside(&mut [&mut slice.elem]),
        Type::Array(array) => inside(&mut [&mut array.elem]),
        Type::Tuple(tuple) => {
            let fields = each(&mut tuple.elems.iter_mut().collect::<Vec<_>>())?;
            Some(quote!((#(#fields,)*)))
        }
        Type::Paren(inner) => make_writable(&mut inner.elem),
        Type::Group(inner) => make_writable(&mut inner.elem),
        Type::Path(path) if path.qself.is_none() => {
            let last = path.path.segments.last_mut()?;
            let PathArguments::AngleBracketed(arguments) = &mut last.arguments else { return None };
            if !["Vec", "Box", "Option", "Pin", "Result"].iter().any(|name| last.ident == name) {
                return None;
            }
            let types = arguments.args.iter_mut().filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            inside(&mut types.collect::<Vec<_>>())
        }
        _ => None,
    }
}

/// What was done inside of a type.
fn inside(types: &mut [&mut Type]) -> Option<TokenStream> {
    let changes = each(types)?;
    Some(match &changes[..] {
        [one] => quote!(::pullback::__private::In<#one>),
        _ => quote!(::pullback::__private::In<(#(#changes,)*)>),
    })
}

/// What was done to each type, if anything was done to one of them.
fn each(types: &mut [&mut Type]) -> Option<Vec<TokenStream>> {
    let changes: Vec<Option<TokenStream>> = types.iter_mut().map(|ty| make_writable(ty)).collect();
    changes.iter().any(Option::is_some).then(|| changes.into_iter().map(|change| change.unwrap_or_else(same)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;
    use syn::parse_quote;

    #[test]
    fn shared_references_to_floats_become_mutable() {
        let cases: [(Type, Type, &str); 5] = [
            (parse_quote!(&[f64]), parse_quote!(&mut [f64]), "Ref<Same>"),
            (parse_quote!(&'a [&'a [f64]]), parse_quote!(&'a mut [&'a mut [f64]]), "Ref<In<Ref<Same>>>"),
            (
                parse_quote!((Vec<&f64>, &str, &[usize])),
                parse_quote!((Vec<&mut f64>, &str, &[usize])),
                "(In<Ref<Same>>,Same,Same,)",
            ),
            (parse_quote!(Result<&f64, u8>), parse_quote!(Result<&mut f64, u8>), "In<(Ref<Same>,Same,)>"),
            (parse_quote!(Params<&f64>), parse_quote!(Params<&f64>), "Same"),
        ];
        for (primal, shadow, change) in cases {
            let (ty, made) = writable(&primal);
            assert_eq!(ty.to_token_stream().to_string(), shadow.to_token_stream().to_string());
            let made = made.unwrap_or_else(same).to_string();
            assert_eq!(made.replace(":: pullback :: __private :: ", "").replace(' ', ""), change);
        }
    }
}
