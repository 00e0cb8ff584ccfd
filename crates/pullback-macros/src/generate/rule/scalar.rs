//! A function of numbers with its partial derivatives, as a rule for each mode.
//!
//! `scalar_rule!(hypot(x, y) => r; d/dx = x / r, d/dy = y / r)` is
//!
//! ```text
//! #[rrule(for = hypot)]
//! fn rrule(x: f64, y: f64) -> (f64, impl Fn(f64) -> (Thunk<f64, (f64, f64, f64)>, Thunk<f64, (f64, f64, f64)>)) {
//!     let r = hypot(x, y);
//!     (r, move |d| (Thunk::new((d, x, r), |(d, x, r)| d * (x / r)), Thunk::new((d, y, r), |(d, y, r)| d * (y / r))))
//! }
//!
//! #[frule(for = hypot)]
//! fn frule(x: f64, dx: Option<f64>, y: f64, dy: Option<f64>) -> (f64, f64) {
//!     let r = hypot(x, y);
//!     let mut d = 0.0;
//!     if let Some(dx) = dx { d += (x / r) * dx; }
//!     if let Some(dy) = dy { d += (y / r) * dy; }
//!     (r, d)
//! }
//! ```
//! The pullback captures what the partial derivatives mention, and no partial is computed that nobody asks for.

use super::local;
use crate::parse::rule::scalar::{ScalarArgument, ScalarRule};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

pub fn generate(rule: &ScalarRule) -> TokenStream {
    let (reverse, forward) = (reverse(rule), forward(rule));
    quote! {
        const _: () = {
            #reverse
            #forward
        };
    }
}

/// `for = hypot`, with the ABI, and whether it is a default.
fn options(rule: &ScalarRule) -> TokenStream {
    let target = &rule.target;
    let abi = rule.abi.as_ref().map(|abi| quote!(, abi = #abi));
    let default = rule.default.then(|| quote!(, default));
    quote!(for = #target #abi #default)
}

/// The value. It is called by a pointer: rustc's own inliner, which runs before a rule can take its function's place,
/// leaves such a call, and the rule can be differentiated in its turn.
fn value(rule: &ScalarRule) -> TokenStream {
    let ScalarRule { target, result, result_type, arguments, .. } = rule;
    let (names, types): (Vec<&Ident>, Vec<&Type>) = arguments.iter().map(|a| (&a.name, &a.ty)).unzip();
    let abi = rule.abi.as_ref().map(|abi| quote!(unsafe extern #abi));
    let function = local("function");
    let call = quote!(#function(#(#names),*));
    // SAFETY: S30, the rule is called as the function is.
    let call = if rule.abi.is_some() { quote!(unsafe { #call }) } else { call };
    let signature = quote_spanned!(target.span()=> #abi fn(#(#types),*) -> #result_type);
    quote! {
        let #function: #signature = #target;
        let #result: #result_type = #call;
    }
}

fn reverse(rule: &ScalarRule) -> TokenStream {
    let options = options(rule);
    let value = value(rule);
    let (result, result_type) = (&rule.result, &rule.result_type);
    let (names, types): (Vec<&Ident>, Vec<&Type>) = rule.arguments.iter().map(|a| (&a.name, &a.ty)).unzip();
    let d = local("d");
    let components: Vec<(TokenStream, TokenStream)> =
        rule.arguments.iter().map(|argument| component(rule, argument, &d)).collect();
    let (component_types, component_values): (Vec<_>, Vec<_>) = components.into_iter().unzip();
    let one_or_tuple = |parts: &[TokenStream]| if let [one] = parts { one.clone() } else { quote!((#(#parts),*)) };
    let (returned, values) = (one_or_tuple(&component_types), one_or_tuple(&component_values));
    quote! {
        #[allow(unused_variables, unused_parens, clippy::all)]
        #[::pullback::rrule(#options)]
        fn __pullback_scalar_rrule(#(#names: #types),*) -> (#result_type, impl Fn(#result_type) -> #returned) {
            #value
            (#result, move |#d: #result_type| #values)
        }
    }
}

/// The type and the value of what the pullback returns for an argument.
fn component(rule: &ScalarRule, argument: &ScalarArgument, d: &Ident) -> (TokenStream, TokenStream) {
    let Some(partial) = &argument.partial else {
        return (quote!(::pullback::rules::NoTangent), quote!(::pullback::rules::NoTangent));
    };
    let (ty, result_type) = (&argument.ty, &rule.result_type);
    let values = (rule.arguments.iter().map(|a| (&a.name, &a.ty))).chain([(&rule.result, &rule.result_type)]);
    let (names, types): (Vec<&Ident>, Vec<&Type>) = values.filter(|(name, _)| mentions(quote!(#partial), name)).unzip();
    let state = quote!((#result_type, #(#types),*));
    let cotangent = quote_spanned!(partial.span()=> #d * (#partial));
    (
        quote!(::pullback::rules::Thunk<#ty, #state>),
        quote!(::pullback::rules::Thunk::new((#d, #(#names),*), |(#d, #(#names),*): #state| -> #ty { #cotangent })),
    )
}

/// Whether a name occurs.
pub fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    occurrences(tokens, name) > 0
}

/// How often a name stands in something.
pub fn occurrences(tokens: TokenStream, name: &Ident) -> usize {
    let in_tree = |token| match token {
        TokenTree::Ident(word) => usize::from(word == *name),
        TokenTree::Group(group) => occurrences(group.stream(), name),
        _ => 0,
    };
    tokens.into_iter().map(in_tree).sum()
}

fn forward(rule: &ScalarRule) -> TokenStream {
    let options = options(rule);
    let value = value(rule);
    let (result, result_type) = (&rule.result, &rule.result_type);
    let tangent = local("tangent");
    let parameters = rule.arguments.iter().map(|ScalarArgument { name, ty, partial }| {
        let d = local(&format!("d_{name}"));
        match partial {
            Some(_) => quote!(#name: #ty, #d: ::core::option::Option<#ty>),
            None => quote!(#name: #ty, #d: ::pullback::rules::NoTangent),
        }
    });
    let terms = rule.arguments.iter().filter_map(|ScalarArgument { name, partial, .. }| {
        let d = local(&format!("d_{name}"));
        let partial = partial.as_ref()?;
        let term = quote_spanned!(partial.span()=> (#partial) * #d);
        Some(quote!(if let ::core::option::Option::Some(#d) = #d { #tangent += #term; }))
    });
    quote! {
        #[allow(unused_variables, unused_mut, unused_parens, clippy::all)]
        #[::pullback::frule(#options)]
        fn __pullback_scalar_frule(#(#parameters),*) -> (#result_type, #result_type) {
            #value
            let mut #tangent: #result_type = 0.0;
            #(#terms)*
            (#result, #tangent)
        }
    }
}
