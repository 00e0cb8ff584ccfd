//! `#[pullback(remote = "…")]`: a struct with the fields of one of another crate, which cannot be `Differentiable` itself,
//! stands for it.
//!
//! Both lie in memory in the same way, which is asserted of each field, so that a reference to one is a reference to the
//! other.

use crate::parse::type_def::{Field, Shape, TypeDef};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

pub fn generate(definition: &TypeDef, remote: &Type) -> TokenStream {
    let Shape::Struct(fields) = &definition.shape else { unreachable!("an enum stands for none") };
    let name = &definition.name;
    let (parameters, arguments, where_clause) = definition.generics.split_for_impl();
    let turbofish = arguments.as_turbofish();
    let members: Vec<_> = fields.iter().map(|field| &field.member).collect();
    let bindings: Vec<_> = fields.iter().map(|field| &field.binding).collect();
    let types: Vec<_> = fields
        .iter()
        .map(|Field { binding, ty, .. }| {
            // A `*const` could have another lifetime, and so could a value that is moved.
            quote_spanned!(ty.span()=> let _: *mut #ty = &raw mut *#binding;)
        })
        .collect();
    let message = format!("`{name}` does not lie in memory as the type that it stands for");
    let dropped = format!("`{name}`, or the type that it stands for, is `Drop`");
    let field_types = fields.iter().map(|field| &field.ty);
    quote! {
        // SAFETY: S45, the sizes are the same, and so are the places and the types of all fields that there are.
        #[automatically_derived]
        #[allow(deprecated)]
        unsafe impl #parameters ::pullback::__private::Mirror for #name #arguments #where_clause {
            type Of = #remote;

            const SAME: () = {
                ::core::assert!(
                    ::core::mem::size_of::<Self>() == ::core::mem::size_of::<#remote>()
                        && ::core::mem::align_of::<Self>() == ::core::mem::align_of::<#remote>()
                        #(&& ::core::mem::offset_of!(Self, #members) == ::core::mem::offset_of!(#remote, #members))*,
                    #message
                );
                // Of fields that are `Copy` nothing is moved below.
                let are_dropped = false #(|| ::core::mem::needs_drop::<#field_types>())*;
                ::core::assert!(
                    are_dropped == ::core::mem::needs_drop::<Self>()
                        && are_dropped == ::core::mem::needs_drop::<#remote>(),
                    #dropped
                );
            };

            #[allow(unused_variables, type_alias_bounds, non_camel_case_types, clippy::all)]
            fn assert_fields(mut mirror: Self, mut remote: #remote) {
                // An attribute below the derive may have changed the fields that the derive has seen.
                let Self { #(#members: #bindings),* } = &mut mirror;
                #(#types)*
                // A pattern takes a name. Fields are bound, which those of a union are not without `unsafe`.
                type __Remote #parameters #where_clause = #remote;
                let __Remote #turbofish { #(#members: #bindings),* } = &mut remote;
                #(#types)*
                // Nothing is moved out of a type with `Drop`. (What is `Copy` is copied: see `SAME`.)
                let Self { #(#members: #bindings),* } = mirror;
                let __Remote #turbofish { #(#members: #bindings),* } = remote;
            }
        }

        #[automatically_derived]
        #[allow(deprecated)]
        impl #parameters #name #arguments #where_clause {
            /// What stands for a value.
            #[inline]
            pub fn of<'__value>(value: &'__value #remote) -> &'__value Self {
                <Self as ::pullback::__private::Mirror>::mirror(value)
            }

            /// What stands for a value that is written.
            #[inline]
            pub fn of_mut<'__value>(value: &'__value mut #remote) -> &'__value mut Self {
                <Self as ::pullback::__private::Mirror>::mirror_mut(value)
            }
        }

        #[automatically_derived]
        #[allow(deprecated)]
        impl #parameters ::core::ops::Deref for #name #arguments #where_clause {
            type Target = #remote;

            #[inline]
            fn deref(&self) -> &#remote {
                ::pullback::__private::Mirror::original(self)
            }
        }

        #[automatically_derived]
        #[allow(deprecated)]
        impl #parameters ::core::ops::DerefMut for #name #arguments #where_clause {
            #[inline]
            fn deref_mut(&mut self) -> &mut #remote {
                ::pullback::__private::Mirror::original_mut(self)
            }
        }

        #[automatically_derived]
        #[allow(deprecated)]
        impl #parameters ::core::convert::From<#remote> for #name #arguments #where_clause {
            #[inline]
            fn from(value: #remote) -> Self {
                ::pullback::__private::Mirror::from(value)
            }
        }

        #[automatically_derived]
        #[allow(deprecated)]
        impl #parameters ::core::convert::From<#name #arguments> for #remote #where_clause {
            #[inline]
            fn from(value: #name #arguments) -> Self {
                ::pullback::__private::Mirror::into(value)
            }
        }
    }
}
