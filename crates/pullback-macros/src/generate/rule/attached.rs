//! A function that says itself which rule it has. Its body moves into a function inside of it, and the body that takes its place calls
//! that through a marker, which tells the driver of each instance that the program uses:
//!
//! ```text
//! fn map<F: Fn(f64) -> f64>(f: F, x: &[f64]) -> Vec<f64> {
//!     fn plain<F…>(f: F, x: &[f64]) -> Vec<f64> { … }             // the body
//!     unsafe extern "C-unwind" fn primal<F…>(…) { … }             // `plain` with everything by pointer
//!     fn wrapper<F…>(a0: F, a1: &[f64]) -> Vec<f64> { … __pullback_rule(RECORD)(&a0, &a1, &mut out) … }
//!     transmute(__pullback_ruled(const { &RuleEntry::new(…, plain::<F>, wrapper::<F>, …) }))(f, x)
//! }
//! ```
//! With rules for both modes there is a wrapper and an entry for each, and each entry is told by a marker of its own.
//! Without the driver it calls `plain`.

use super::{local, places, wrapper_body};
use crate::parse::attribute::Mode;
use crate::parse::rule::attached::{Attached, AttachedRule, TAKEN};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Signature, Type};

/// `item` is the function as it was.
pub fn generate(attached: &Attached, item: TokenStream) -> TokenStream {
    let Attached { attributes, visibility, signature, .. } = attached;
    if attached.rules.is_empty() && attached.turbofish().is_empty() {
        // It has one address.
        let name = &signature.ident;
        let entry = super::marks::entries(&format_ident!("{}", attached.said), &[syn::parse_quote!(#name)]);
        return quote!(#item #entry);
    }
    let outer = with_names(signature, &names(attached));
    let body = body(attached);
    quote! {
        #(#attributes)*
        #visibility #outer {
            #body
        }
    }
}

/// The names of the arguments.
fn names(attached: &Attached) -> Vec<Ident> {
    attached.function.arguments.iter().map(|argument| argument.name.clone()).collect()
}

/// The signature, with these names for the arguments in the place of patterns.
fn with_names(signature: &Signature, names: &[Ident]) -> Signature {
    let mut signature = signature.clone();
    for (input, name) in signature.inputs.iter_mut().zip(names) {
        if let syn::FnArg::Typed(typed) = input {
            *typed.pat = syn::parse_quote!(#name);
        }
    }
    signature
}

fn body(attached: &Attached) -> TokenStream {
    let Attached { signature, body, rules, taken, .. } = attached;
    let word = format_ident!("{TAKEN}");
    let mut plain = signature.clone();
    plain.ident = format_ident!("__pullback_plain");
    let unsafety = &signature.safety;
    let types = signature.inputs.iter().filter_map(|input| match input {
        syn::FnArg::Typed(typed) => Some(&typed.ty),
        syn::FnArg::Receiver(_) => None,
    });
    let (output, turbofish) = (&signature.output, attached.turbofish());
    let arguments = names(attached);
    let checks = rules.iter().map(|rule| check(attached, rule));
    let primal = (!rules.is_empty()).then(|| primal(attached));
    let wrappers = rules.iter().map(|rule| wrapper(attached, rule));
    let mut entries: Vec<TokenStream> = rules.iter().map(|rule| entry(attached, rule)).collect();
    if rules.is_empty() {
        entries.push(entry_without_rule(attached));
    }
    let (last, before) = entries.split_last().expect("there is one");
    quote! {
        #(#[#taken(#word)] const _: () = ();)*
        #plain #body
        #(#checks)*
        ::pullback::__private::with_driver_or! {
            {
                #primal
                #(#wrappers)*
                unsafe {
                    #(::pullback::abi::__pullback_ruled(const { #before });)*
                    ::core::mem::transmute::<*const (), #unsafety fn(#(#types),*) #output>(
                        ::pullback::abi::__pullback_ruled(const { #last }),
                    )(#(#arguments),*)
                }
            }
            {
                __pullback_plain::<#(#turbofish),*>(#(#arguments),*)
            }
        }
    }
}

/// That the rule has the arguments and the result of the function, each argument followed by a tangent in forward mode.
fn check(attached: &Attached, rule: &AttachedRule) -> TokenStream {
    let Attached { function, result, .. } = attached;
    let AttachedRule { mode, path } = rule;
    let name = format_ident!("__pullback_{}_rule_fits", mode.text());
    let parameters = function.generics.params.iter();
    let where_clause = &function.generics.where_clause;
    let turbofish = attached.turbofish();
    // With these in its signature, what they imply (`F: 'a` for a `&'a F`) holds in the function.
    let arguments = function.arguments.iter().map(|argument| &argument.ty);
    let types = function.arguments.iter().map(|argument| {
        let ty = &argument.ty;
        if *mode == Mode::Forward { quote!(#ty, _) } else { quote!(#ty) }
    });
    let returns_nothing = *mode == Mode::Forward && function.result.is_none();
    let returned = if returns_nothing { quote!(()) } else { quote!((#result, _)) };
    let rule = quote_spanned!(path.span()=> #path::<#(#turbofish),*>);
    quote! {
        #[allow(dead_code)]
        fn #name<#(#parameters),*>(_: (#(#arguments,)*)) #where_clause {
            let _: fn(#(#types),*) -> #returned = #rule;
        }
    }
}

/// The body with everything by pointer.
fn primal(attached: &Attached) -> TokenStream {
    let Attached { function, result, .. } = attached;
    let (parameters, where_clause) = (function.generics.params.iter(), &function.generics.where_clause);
    let turbofish = attached.turbofish();
    let types = function.arguments.iter().map(|argument| &argument.ty);
    let (primals, _) = places(function.arguments.len());
    let out = local("out");
    quote! {
        unsafe extern "C-unwind" fn __pullback_primal<#(#parameters),*>(
            #(#primals: *const #types,)*
            #out: *mut #result,
        ) #where_clause {
            #[allow(unused_unsafe)]
            unsafe { #out.write(__pullback_plain::<#(#turbofish),*>(#(#primals.read()),*)) }
        }
    }
}

fn wrapper_name(rule: &AttachedRule) -> Ident {
    format_ident!("__pullback_{}_wrapper", rule.mode.text())
}

/// A function that is differentiated in the place of the body.
fn wrapper(attached: &Attached, rule: &AttachedRule) -> TokenStream {
    let Attached { function, result, .. } = attached;
    let name = wrapper_name(rule);
    let (parameters, where_clause) = (function.generics.params.iter(), &function.generics.where_clause);
    let turbofish = attached.turbofish();
    let types: Vec<&Type> = function.arguments.iter().map(|argument| &argument.ty).collect();
    let (primals, _) = places(types.len());
    let path = &rule.path;
    let record = quote_spanned!(path.span()=> #path::record::<#(#turbofish),*>());
    let record = quote!(const { &#record.with_primal(__pullback_primal::<#(#turbofish),*> as *const ()) });
    let body = wrapper_body(&primals, result, &record);
    quote! {
        #[inline(always)]
        unsafe fn #name<#(#parameters),*>(#(#primals: #types),*) -> #result #where_clause {
            #body
        }
    }
}

fn entry(attached: &Attached, rule: &AttachedRule) -> TokenStream {
    let kind = match rule.mode {
        Mode::Forward => quote!(Forward),
        Mode::Reverse => quote!(Reverse),
    };
    let (turbofish, name, wrapper) = (attached.turbofish(), attached.function.name.to_string(), wrapper_name(rule));
    quote! {
        &::pullback::abi::RuleEntry::new(
            ::pullback::abi::RuleKind::#kind,
            __pullback_plain::<#(#turbofish),*> as *const (),
            #wrapper::<#(#turbofish),*> as *const (),
            #name,
            (::core::file!(), ::core::line!(), ::core::column!()),
        )
    }
}

fn entry_without_rule(attached: &Attached) -> TokenStream {
    let (turbofish, name) = (attached.turbofish(), attached.function.name.to_string());
    quote! {
        &::pullback::abi::RuleEntry::without_wrapper(
            ::pullback::abi::RuleKind::NonDifferentiable,
            __pullback_plain::<#(#turbofish),*> as *const (),
            #name,
            (::core::file!(), ::core::line!(), ::core::column!()),
        )
    }
}
