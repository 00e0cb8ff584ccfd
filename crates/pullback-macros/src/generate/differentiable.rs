//! `#[derive(Differentiable)]`: the layout, the check of shadows, zero shadows, and through what a shadow may be
//! written.
//!
//! Bounds are put on type parameters, as the standard derives do: bounds on field types would be cyclic for a recursive
//! type. A field that names a lifetime gets a bound of its own where it matters (`MakeZero`, `Writable`), since it may
//! hold a reference.

use super::{mirror, names};
use crate::parse::type_def::{Field, FieldRole, Shape, TypeDef, Variant};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Generics, Lifetime, Member, Type, TypeMacro, parse_quote};

pub fn generate(definition: &TypeDef) -> TokenStream {
    let differentiable = differentiable(definition);
    let make_zero = make_zero(definition);
    let writable = writable(definition);
    let mirror = definition.remote.as_ref().map(|remote| mirror::generate(definition, remote));
    quote!(#differentiable #make_zero #writable #mirror)
}

fn differentiable(definition: &TypeDef) -> TokenStream {
    let name = &definition.name;
    let label = name.to_string();
    let generics = bounded(definition, quote!(::pullback::Differentiable));
    let (parameters, arguments, where_clause) = generics.split_for_impl();
    let fields = layout_fields(definition);
    let types = definition.differentiable_fields().map(Field::part);
    // An enum's variants are always checked; asking its fields too would be a cycle for a recursive type.
    let checked = match definition.shape {
        Shape::Enum(_) => quote! { true },
        _ => quote! { false #(|| <#types as ::pullback::Differentiable>::CHECKED)* },
    };
    let check = check(definition);
    let plain = plain(definition);
    let types = definition.differentiable_fields().map(Field::part);
    let variants = match definition.shape {
        Shape::Enum(_) => quote! { true },
        Shape::Struct(_) => quote! { false #(|| <#types as ::pullback::Differentiable>::VARIANTS)* },
    };
    let types: Vec<&Type> = definition.differentiable_fields().map(Field::part).collect();
    let skips = definition.fields().any(|field| field.role == FieldRole::Skipped);
    let cells = quote! { false #(|| <#types as ::pullback::Differentiable>::CELLS)* };
    let has_constants = if skips {
        quote!(true)
    } else {
        quote! { false #(|| <#types as ::pullback::Differentiable>::CONSTANTS)* }
    };
    let inert = if skips {
        quote!(false)
    } else {
        quote! { true #(&& <#types as ::pullback::Differentiable>::INERT)* }
    };
    let within = types.iter().rev().fold(
        quote!(::pullback::reach::Nothing),
        |others, ty| quote!((<#ty as ::pullback::Differentiable>::Within<__Depth>, #others)),
    );
    let (floats, constants) = (floats(definition), constants(definition));
    quote! {
        // SAFETY: S36, the layout is what `offset_of!` says, or opaque where it depends on a variant; every field and
        // variant is checked.
        #[automatically_derived]
        unsafe impl #parameters ::pullback::Differentiable for #name #arguments #where_clause {
            type Within<__Depth: ::pullback::reach::Depth> = #within;

            const LAYOUT: ::pullback::__private::Layout =
                ::pullback::__private::Layout::new::<Self>(#label, const { &[#(#fields),*] });
            const CHECKED: bool = #checked;
            const PLAIN: bool = #plain;
            const VARIANTS: bool = #variants;
            const CELLS: bool = #cells;
            const CONSTANTS: bool = #has_constants;
            const INERT: bool = #inert;

            #[allow(unused_variables, clippy::all)]
            fn check_shadow(
                &self,
                shadow: &Self,
                path: &::pullback::__private::Path<'_>,
            ) -> ::core::result::Result<(), ::pullback::__private::Mismatch> {
                #check
            }

            #[allow(unused_variables, clippy::all)]
            unsafe fn floats<__Visitor: ::pullback::__private::VisitFloats>(
                &self,
                shadow: *mut Self,
                visit: &mut __Visitor,
            ) {
                // SAFETY: S36, asked of the caller.
                unsafe { #floats }
            }

            #[allow(unused_variables, unused_imports, unreachable_code, clippy::all)]
            unsafe fn constants<__Visitor: ::pullback::__private::VisitConstants>(
                &self,
                shadow: *mut Self,
                visit: &mut __Visitor,
            ) {
                use ::pullback::__private::NoClone as _;
                // SAFETY: S36, asked of the caller.
                unsafe { #constants }
            }
        }
    }
}

/// Whether the type is floats and nothing else.
fn plain(definition: &TypeDef) -> TokenStream {
    match &definition.shape {
        Shape::Enum(_) => quote!(false),
        Shape::Struct(fields) => {
            let fields = fields.iter().map(|field| match (field.role, field.part()) {
                (FieldRole::Differentiable, ty) => quote!(<#ty as ::pullback::Differentiable>::PLAIN),
                (FieldRole::Skipped, ty) => {
                    quote!((::core::mem::size_of::<#ty>() == 0 && !::pullback::__private::is_token::<#ty>()))
                }
            });
            quote!(true #(&& #fields)*)
        }
    }
}

/// The visit of every float.
///
/// Errors about a field are shown at its type. Names have the span of the derive, here and below: if a macro has given
/// the type, they would be looked up there.
fn floats(definition: &TypeDef) -> TokenStream {
    let visit = |field: &Field, place: TokenStream| {
        let place = part(field, place);
        let arguments = quote!(#place, ::pullback::__private::corresponding(self, #place, shadow), visit);
        quote_spanned!(field.ty.span()=> ::pullback::Differentiable::floats(#arguments);)
    };
    let fields = visit_fields(definition, |field| field.role == FieldRole::Differentiable, visit);
    match &definition.shape {
        Shape::Enum(variants) if !variants.is_empty() => {
            let number = variant_number(variants);
            quote!(visit.variant(#number); #fields)
        }
        _ => fields,
    }
}

/// The number of the variant that a value is.
fn variant_number(variants: &[Variant]) -> TokenStream {
    let names = variants.iter().map(|variant| &variant.name);
    let numbers = 0..variants.len();
    quote!(match self { #(Self::#names { .. } => #numbers,)* })
}

/// That the layout of what stands for a field's type is the field's.
fn same(field: &Field) -> Option<TokenStream> {
    let with = field.with.as_ref()?;
    Some(quote_spanned!(with.span()=> let () = <#with as ::pullback::__private::Mirror>::SAME;))
}

/// That the field at `place`, a `*mut`, is of the type that the derive has seen, and of the one that its `with` stands
/// for. (`part` takes a reference, which would be coerced: a `&&T` to a `&T`.)
fn is_of_type(field: &Field, place: &TokenStream) -> TokenStream {
    let ty = &field.ty;
    let of = field
        .with
        .as_ref()
        .map(|with| quote_spanned!(with.span()=> let _: *mut <#with as ::pullback::__private::Mirror>::Of = #place;));
    quote_spanned!(ty.span()=> let _: *mut #ty = #place; #of)
}

/// Whether values of a field's type may be moved though they are pinned, if another type stands for it: who has written
/// the type knows nothing of derivatives.
fn moves(field: &Field) -> Option<TokenStream> {
    let (ty, with) = (&field.ty, field.with.as_ref()?);
    Some(quote_spanned! {with.span()=> .with_move({
        #[allow(unused_imports)]
        use ::pullback::__private::NotUnpin as _;
        ::core::mem::size_of::<#ty>() == 0 || ::pullback::__private::UnpinOf::<#ty>::IS
    })})
}

/// What takes part at the place of a field: the field, or what has the fields of its type.
fn part(field: &Field, place: TokenStream) -> TokenStream {
    match &field.with {
        Some(with) => quote_spanned!(with.span()=> <#with as ::pullback::__private::Mirror>::mirror(#place)),
        None => place,
    }
}

/// The visit of every part that carries no derivative.
fn constants(definition: &TypeDef) -> TokenStream {
    let visit = |field: &Field, place: TokenStream| {
        let (ty, place) = (&field.ty, part(field, place));
        let there = quote!(::pullback::__private::corresponding(self, #place, shadow));
        let visit = quote!(visit);
        match field.role {
            FieldRole::Differentiable => {
                quote_spanned!(ty.span()=> ::pullback::Differentiable::constants(#place, #there, #visit);)
            }
            FieldRole::Skipped => {
                let borrows = may_borrow(ty, definition);
                let checked = borrows.then(names::checked);
                let clone = quote_spanned!(ty.span()=> ::pullback::__private::CloneOf::<#ty>::CLONE);
                quote_spanned!(ty.span()=> #checked #visit.part::<#ty>(#place, #there, #clone, #borrows);)
            }
        }
    };
    let visits = visit_fields(definition, |_| true, visit);
    match &definition.shape {
        Shape::Enum(variants) if variants.is_empty() => visits,
        Shape::Enum(variants) => {
            let number = variant_number(variants);
            quote! {
                visit.enter_variant(#number);
                #visits
                visit.leave();
            }
        }
        Shape::Struct(_) => visits,
    }
}

/// A visit of fields, in whatever variant the value is.
fn visit_fields(
    definition: &TypeDef,
    is_meant: impl Fn(&Field) -> bool,
    visit: impl Fn(&Field, TokenStream) -> TokenStream,
) -> TokenStream {
    let takes_part = |field: &&Field| is_meant(field);
    match &definition.shape {
        Shape::Struct(fields) => fields
            .iter()
            .filter(takes_part)
            .map(|field| {
                let member = &field.member;
                visit(field, quote!(&self.#member))
            })
            .collect(),
        Shape::Enum(variants) if variants.is_empty() => quote!(match *self {}),
        Shape::Enum(variants) => {
            let arms = variants.iter().map(|Variant { name, fields }| {
                let fields: Vec<&Field> = fields.iter().filter(takes_part).collect();
                let pattern = fields.iter().map(|Field { member, binding, .. }| quote!(#member: #binding));
                let visits = fields.iter().map(|field| {
                    let binding = &field.binding;
                    visit(field, quote!(#binding))
                });
                quote!(Self::#name { #(#pattern,)* .. } => { #(#visits)* })
            });
            quote!(match self { #(#arms)* })
        }
    }
}

fn layout_fields(definition: &TypeDef) -> Vec<TokenStream> {
    let fields = match &definition.shape {
        Shape::Struct(fields) => fields,
        Shape::Enum(variants) => return variant_fields(variants, definition),
    };
    fields
        .iter()
        .map(|field| {
            let (member, ty) = (&field.member, field.part());
            let offset = quote!(::core::mem::offset_of!(Self, #member));
            match field.role {
                FieldRole::Differentiable => {
                    let (same, moves) = (same(field), moves(field));
                    quote_spanned! {ty.span()=> {
                        #same
                        ::pullback::__private::Field::nested(#offset, 1, ::pullback::__private::layout_of::<#ty>)#moves
                    }}
                }
                FieldRole::Skipped => skipped(&offset, &quote!(::core::mem::size_of::<#ty>()), ty, definition),
            }
        })
        .collect()
}

/// The bytes of a skipped field.
fn skipped(offset: &TokenStream, bytes: &TokenStream, ty: &Type, definition: &TypeDef) -> TokenStream {
    let of =
        may_borrow(ty, definition).then(|| quote_spanned!(ty.span()=> .of(::pullback::__private::part_layout::<#ty>)));
    quote_spanned! {ty.span()=> {
        #[allow(unused_imports)]
        use ::pullback::__private::{NoClone as _, NotUnpin as _};
        ::pullback::__private::Field::unknown(#offset, #bytes)
            .with_clone(
                    ::pullback::__private::CloneOf::<#ty>::CLONE.is_some()
                        && !::pullback::__private::is_token::<#ty>()
                )
            .with_drop(::core::mem::needs_drop::<#ty>())
            .with_move(::core::mem::size_of::<#ty>() == 0 || ::pullback::__private::UnpinOf::<#ty>::IS)
            #of
    }}
}

/// Where the fields of variants lie is not known; what they are is.
fn variant_fields(variants: &[Variant], definition: &TypeDef) -> Vec<TokenStream> {
    let fields = variants.iter().enumerate().flat_map(|(i, variant)| variant.fields.iter().map(move |f| (i, f)));
    let skips = fields.clone().filter(|(_, field)| field.role == FieldRole::Skipped);
    let skips = skips.map(|(_, field)| skipped(&quote!(0), &quote!(0), &field.ty, definition));
    let payloads = fields.clone().map(|(variant, field)| {
        let ty = field.part();
        let layout = match field.role {
            FieldRole::Differentiable => {
                let same = same(field);
                quote_spanned!(ty.span()=> { #same ::pullback::__private::layout_of::<#ty> })
            }
            FieldRole::Skipped => quote_spanned! {ty.span()=> {
                #[allow(unused_imports)]
                use ::pullback::__private::AnySkipped as _;
                ::pullback::__private::SkippedOf::<#ty>::LAYOUT
            }},
        };
        let moves = moves(field);
        quote!({ ::pullback::__private::Field::payload(#variant, #layout)#moves })
    });
    let opaque = quote!(::pullback::__private::Field::opaque(0, ::core::mem::size_of::<Self>()));
    [opaque].into_iter().chain(payloads).chain(skips).collect()
}

fn check(definition: &TypeDef) -> TokenStream {
    match &definition.shape {
        Shape::Struct(fields) => {
            let checks = fields.iter().filter(|field| field.role == FieldRole::Differentiable).map(|field| {
                let (member, label) = (&field.member, member_name(&field.member));
                let [primal, shadow] = [quote!(&self.#member), quote!(&shadow.#member)].map(|place| part(field, place));
                let arguments = quote!(#primal, #shadow, &path.field(#label));
                quote_spanned!(field.ty.span()=> ::pullback::Differentiable::check_shadow(#arguments)?;)
            });
            // All fields there are, of the types that were seen: an attribute below the derive may have changed them.
            // (A reference would be coerced, and a `*const` could have another lifetime.)
            let members = fields.iter().map(|field| &field.member);
            let types = fields.iter().map(|field| {
                let member = &field.member;
                is_of_type(field, &quote!((&raw const self.#member).cast_mut()))
            });
            quote! {
                let Self { #(#members: _),* } = self;
                #(#types)*
                #(#checks)*
                ::core::result::Result::Ok(())
            }
        }
        Shape::Enum(variants) if variants.is_empty() => quote!(match *self {}),
        Shape::Enum(variants) => {
            let arms = variants.iter().map(check_arm);
            let name_of = |Variant { name, .. }: &Variant| {
                let label = name.to_string();
                quote!(Self::#name { .. } => #label)
            };
            let (primal_names, shadow_names) = (variants.iter().map(name_of), variants.iter().map(name_of));
            quote! {
                #[allow(unreachable_patterns)]
                match (self, shadow) {
                    #(#arms)*
                    _ => ::core::result::Result::Err(path.different_variants(
                        match self { #(#primal_names),* },
                        match shadow { #(#shadow_names),* },
                    )),
                }
            }
        }
    }
}

fn check_arm(variant: &Variant) -> TokenStream {
    let (name, label) = (&variant.name, variant.name.to_string());
    let checked: Vec<&Field> = variant.fields.iter().filter(|field| field.role == FieldRole::Differentiable).collect();
    let shadow = |field: &Field| format_ident!("shadow_{}", field.binding);
    let primal_pattern = checked.iter().map(|field| (&field.member, &field.binding)).map(|(m, b)| quote!(#m: #b));
    let shadow_pattern = variant.fields.iter().map(|field| (&field.member, shadow(field))).map(|(m, b)| quote!(#m: #b));
    let checks = checked.iter().map(|field| {
        let label = member_name(&field.member);
        let [primal, shadow] = [field.binding.clone(), shadow(field)].map(|place| part(field, quote!(#place)));
        let arguments = quote!(#primal, #shadow, &path.field(#label));
        quote_spanned!(field.ty.span()=> ::pullback::Differentiable::check_shadow(#arguments)?;)
    });
    let types = variant.fields.iter().map(|field| {
        let place = shadow(field);
        is_of_type(field, &quote!((&raw const *#place).cast_mut()))
    });
    let parts = variant.fields.iter().map(|field| {
        let place = shadow(field);
        let part = part(field, quote!(#place));
        let kind = match field.role {
            FieldRole::Differentiable => quote!(of),
            FieldRole::Skipped => quote!(skipped),
        };
        quote_spanned!(field.ty.span()=> ::pullback::__private::Part::#kind(#part))
    });
    quote! {
        (Self::#name { #(#primal_pattern,)* .. }, Self::#name { #(#shadow_pattern,)* }) => {
            #(#types)*
            path.variant(shadow, &[#(#parts),*]);
            let path = &path.field(#label).hidden();
            #(#checks)*
            ::core::result::Result::Ok(())
        }
    }
}

fn make_zero(definition: &TypeDef) -> TokenStream {
    // A type that holds references to floats has no zero that owns itself. Where an alias hides them, the body says so.
    if definition.differentiable_fields().any(|field| field.references().reference) {
        return TokenStream::new();
    }
    let name = &definition.name;
    let mut generics = bounded(definition, quote!(::pullback::MakeZero));
    bound_fields_with_lifetimes(definition, &mut generics, &quote!(::pullback::MakeZero));
    for field in definition.fields().filter(|field| field.role == FieldRole::Skipped) {
        if !parameters_in(&field.ty, definition).is_empty() {
            let ty = &field.ty;
            generics.make_where_clause().predicates.push(parse_quote!(#ty: ::core::clone::Clone));
        }
    }
    let (parameters, arguments, where_clause) = generics.split_for_impl();
    let value = |field: &Field, place: TokenStream| {
        let (member, ty) = (&field.member, &field.ty);
        match field.role {
            FieldRole::Differentiable => {
                let place = part(field, place);
                let arguments = quote!(#place, sharing);
                let zero = quote_spanned!(ty.span()=> ::pullback::MakeZero::zero_like(#arguments));
                match &field.with {
                    Some(with) => {
                        quote_spanned!(ty.span()=> #member: <#with as ::pullback::__private::Mirror>::into(#zero))
                    }
                    None => quote!(#member: #zero),
                }
            }
            FieldRole::Skipped => quote_spanned!(ty.span()=> #member: <#ty as ::core::clone::Clone>::clone(#place)),
        }
    };
    let body = match &definition.shape {
        Shape::Struct(fields) => {
            let values = fields.iter().map(|field| {
                let member = &field.member;
                value(field, quote!(&self.#member))
            });
            quote!(Self { #(#values),* })
        }
        Shape::Enum(variants) if variants.is_empty() => quote!(match *self {}),
        Shape::Enum(variants) => {
            let arms = variants.iter().map(|Variant { name, fields }| {
                let pattern = fields.iter().map(|Field { member, binding, .. }| quote!(#member: #binding));
                let values = fields.iter().map(|field| {
                    let binding = &field.binding;
                    value(field, quote!(#binding))
                });
                quote!(Self::#name { #(#pattern),* } => Self::#name { #(#values),* })
            });
            quote!(match self { #(#arms),* })
        }
    };
    quote! {
        // SAFETY: S37, every field is such a value, or a clone without floats.
        #[automatically_derived]
        unsafe impl #parameters ::pullback::MakeZero for #name #arguments #where_clause {
            #[allow(unused_variables, clippy::all)]
            fn zero_like(&self, sharing: &mut ::pullback::__private::Sharing) -> Self {
                #body
            }
        }
    }
}

/// That a shadow may be written through `&mut`: asked of every field, and asserted where no bound says it.
fn writable(definition: &TypeDef) -> TokenStream {
    let name = &definition.name;
    let bound = quote!(::pullback::Writable);
    let mut generics = bounded(definition, bound.clone());
    bound_fields_with_lifetimes(definition, &mut generics, &bound);
    let (parameters, arguments, where_clause) = generics.split_for_impl();
    let checks = definition
        .differentiable_fields()
        .filter(|field| !field.references().lifetime)
        .map(Field::part)
        .map(|ty| quote_spanned!(ty.span()=> holds::<#ty>();));
    quote! {
        // SAFETY: S38, every field is.
        #[automatically_derived]
        unsafe impl #parameters ::pullback::Writable for #name #arguments #where_clause {
            #[allow(clippy::all)]
            fn assert_fields() {
                fn holds<T: ::pullback::Writable>() {}
                #(#checks)*
            }
        }
    }
}

fn member_name(member: &Member) -> String {
    match member {
        Member::Named(name) => name.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// The generics, with a bound on each type parameter that a differentiable field names.
fn bounded(definition: &TypeDef, bound: TokenStream) -> Generics {
    let mut generics = definition.generics.clone();
    let mut named: Vec<&Ident> = Vec::new();
    for field in definition.differentiable_fields() {
        named.extend(parameters_in(&field.ty, definition));
    }
    for parameter in definition.generics.type_params().map(|parameter| &parameter.ident) {
        if named.contains(&parameter) {
            generics.make_where_clause().predicates.push(parse_quote!(#parameter: #bound));
        }
    }
    generics
}

fn bound_fields_with_lifetimes(definition: &TypeDef, generics: &mut Generics, bound: &TokenStream) {
    for field in definition.differentiable_fields().filter(|field| field.references().lifetime) {
        let ty = field.part();
        generics.make_where_clause().predicates.push(parse_quote!(#ty: #bound));
    }
}

/// Whether a value of a field's type may borrow what does not live for ever.
fn may_borrow(ty: &Type, definition: &TypeDef) -> bool {
    struct Search<'a> {
        definition: &'a TypeDef,
        found: bool,
    }
    impl Visit<'_> for Search<'_> {
        fn visit_lifetime(&mut self, lifetime: &Lifetime) {
            let name = lifetime.ident.unraw();
            self.found |= self.definition.generics.lifetimes().any(|known| known.lifetime.ident.unraw() == name);
        }

        // The type itself, with all its parameters.
        fn visit_ident(&mut self, word: &Ident) {
            self.found |= word == "Self" && !self.definition.generics.params.is_empty();
        }

        // Nobody sees what it stands for.
        fn visit_type_macro(&mut self, _: &TypeMacro) {
            self.found |= !self.definition.generics.params.is_empty();
        }
    }
    let mut search = Search { definition, found: false };
    search.visit_type(ty);
    search.found || !parameters_in(ty, definition).is_empty()
}

fn parameters_in<'a>(ty: &Type, definition: &'a TypeDef) -> Vec<&'a Ident> {
    struct Words(Vec<Ident>);
    impl Visit<'_> for Words {
        fn visit_ident(&mut self, word: &Ident) {
            self.0.push(word.unraw());
        }
    }
    let mut words = Words(Vec::new());
    words.visit_type(ty);
    let parameters = definition.generics.type_params().map(|parameter| &parameter.ident);
    parameters.filter(|parameter| words.0.contains(&parameter.unraw())).collect()
}
