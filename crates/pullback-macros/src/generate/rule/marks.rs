//! Entries without a rule: for functions that have no derivative, and for functions whose rule is not to be used.

use crate::generate::abi;
use crate::parse::pretty;
use proc_macro2::TokenStream;
use pullback_abi::RuleKind;
use quote::{quote, quote_spanned};
use syn::ExprPath;
use syn::spanned::Spanned;

/// An entry of this kind for each function.
pub fn entries(kind: RuleKind, functions: &[ExprPath]) -> TokenStream {
    functions.iter().map(|function| entry(kind, function)).collect()
}

fn entry(kind: RuleKind, function: &ExprPath) -> TokenStream {
    let (kind, name) = (abi::rule_kind(kind), abi::entry_name());
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
                static #name: ::pullback::abi::RuleEntry = ::pullback::abi::RuleEntry::without_wrapper(
                    #kind,
                    #address,
                    #text,
                    (::core::file!(), ::core::line!(), ::core::column!()),
                );
            }
        };
    }
}
