//! `#[derive(Value)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Result};

/// The implementation of `Value` for a struct.
pub fn expand(item: DeriveInput) -> Result<TokenStream> {
    let DeriveInput { ident, generics, data, .. } = &item;
    let Data::Struct(data) = data else {
        let message =
            "an element of an array is a number or a struct: an enum or a union has bytes that are none of its values";
        return Err(Error::new(ident.span(), message));
    };
    if let Some(parameter) = generics.params.first() {
        return Err(Error::new(parameter.span(), "a struct with generic parameters is not supported"));
    }
    let fields = data.fields.iter().zip(data.fields.members()).map(|(field, member)| {
        let (ty, name) = (
            &field.ty,
            match &member {
                syn::Member::Named(name) => name.to_string(),
                syn::Member::Unnamed(index) => index.index.to_string(),
            },
        );
        quote_spanned! {ty.span()=>
            ::pullback_kernel::abi::Field {
                name: ::pullback_kernel::abi::Text::of(#name),
                offset: ::core::mem::offset_of!(Self, #member),
                of: ::pullback_kernel::value::type_of::<#ty>(),
            }
        }
    });
    let name = ident.to_string();
    Ok(quote! {
        // SAFETY: the fields are values, and lie where the compiler says.
        unsafe impl ::pullback_kernel::Value for #ident {
            const TYPE: ::pullback_kernel::abi::Type = ::pullback_kernel::abi::Type {
                name: ::pullback_kernel::abi::Text::of(#name),
                size: ::core::mem::size_of::<Self>(),
                align: ::core::mem::align_of::<Self>(),
                parts: ::pullback_kernel::abi::Parts::Fields(
                    ::pullback_kernel::abi::List::new(const { &[#(#fields),*] }),
                ),
            };
        }
    })
}
