//! Entries without a rule: for functions that have no derivative, and for functions whose rule is not to be used.

use crate::parse::pretty;
use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::ExprPath;
use syn::spanned::Spanned;

/// An entry of this kind for each function.
pub fn entries(kind: &Ident, functions: &[ExprPath]) -> TokenStream {
    functions.iter().map(|function| entry(kind, function)).collect()
}

fn entry(kind: &Ident, function: &ExprPath) -> TokenStream {
    let text = pretty(&quote!(#function));
    let not_a_function = format!("`{text}` is not a function");
    let address = quote_spanned!(function.span()=> #function as *const ());
    let check = quote_spanned! {function.span()=>
        ::core::assert!(::pullback::__private::rules::is_function(&#function), #not_a_function)
    };
    quote! {
        const _: () = {
            #check;
            ::pullback::__private::with_driver! {
                #[used]
                static __PULLBACK_RULE: ::pullback::abi::RuleEntry = ::pullback::abi::RuleEntry::without_wrapper(
                    ::pullback::abi::RuleKind::#kind,
                    #address,
                    #text,
                    (::core::file!(), ::core::line!(), ::core::column!()),
                );
            }
        };
    }
}
