//! A function that says itself which rule it has. Its body moves into a function inside of it, and the body that takes
//! its place calls that through a marker, which tells the driver of each instance that the program uses:
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
//! Without the driver it calls `plain`. What is inside of the function is beside it if that is a method, with the
//! method's name at the end of each name: a function inside of a method knows neither `Self` nor the parameters of the
//! `impl`.

use super::{local, places, wrapper_body};
use crate::generate::abi;
use crate::parse::rule::attached::{Attached, AttachedRule, TAKEN};
use proc_macro2::{Ident, TokenStream};
use pullback_abi::{Mode, RuleKind};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Signature, Type};

/// `item` is the function as it was.
pub fn generate(attached: &Attached, item: TokenStream) -> TokenStream {
    let Attached { attributes, visibility, signature, body, rules, .. } = attached;
    if rules.is_empty() && attached.turbofish().is_empty() {
        // It has one address.
        let name = &signature.ident;
        let entry = super::marks::entries(attached.said, &[syn::parse_quote!(#name)]);
        return quote!(#item #entry);
    }
    let names = names(attached);
    let outer = with_names(signature, &names);
    let mut plain = signature.clone();
    plain.ident = local_name(attached, "plain");
    let primal = (!rules.is_empty()).then(|| primal(attached));
    let checks = rules.iter().map(|rule| check(attached, rule));
    let wrappers = rules.iter().map(|rule| wrapper(attached, rule));
    let parts = quote! {
        #[allow(clippy::all)]
        #plain #body
        #(#checks)*
        #primal
        #(#wrappers)*
    };
    let call = call(attached, &names);
    let (inside, beside) = if is_method(attached) { (quote!(), parts) } else { (parts, quote!()) };
    quote! {
        #(#attributes)*
        #visibility #outer {
            #inside
            #call
        }
        #beside
    }
}

fn is_method(attached: &Attached) -> bool {
    attached.function.associated
}

/// The name of a part.
fn local_name(attached: &Attached, part: &str) -> Ident {
    if is_method(attached) {
        format_ident!("__pullback_{part}_{}", attached.function.name)
    } else {
        format_ident!("__pullback_{part}")
    }
}

/// A part with the function's parameters.
fn part(attached: &Attached, name: &str) -> TokenStream {
    let (name, turbofish) = (local_name(attached, name), attached.turbofish());
    let of = is_method(attached).then(|| quote!(Self::));
    quote!(#of #name::<#(#turbofish),*>)
}

/// The names of the arguments.
fn names(attached: &Attached) -> Vec<Ident> {
    attached.function.arguments.iter().map(|argument| argument.name.clone()).collect()
}

/// The signature, with these names for the arguments in the place of patterns.
fn with_names(signature: &Signature, names: &[Ident]) -> Signature {
    let mut signature = signature.clone();
    for (input, name) in signature.inputs.iter_mut().zip(names) {
        match input {
            syn::FnArg::Typed(typed) => *typed.pat = syn::parse_quote!(#name),
            syn::FnArg::Receiver(receiver) => receiver.mutability = None,
        }
    }
    signature
}

/// The call that takes the place of the body.
fn call(attached: &Attached, arguments: &[Ident]) -> TokenStream {
    let Attached { signature, rules, taken, types, .. } = attached;
    let word = format_ident!("{TAKEN}");
    let unsafety = &signature.safety;
    let output = &signature.output;
    let plain = part(attached, "plain");
    let mut entries: Vec<TokenStream> = rules.iter().map(|rule| entry(attached, rule)).collect();
    if rules.is_empty() {
        entries.push(entry_without_rule(attached));
    }
    let (last, before) = entries.split_last().expect("there is one");
    quote! {
        #(#[#taken(#word)] const _: () = ();)*
        ::pullback::__private::with_driver_or! {
            {
                // SAFETY: S40, the driver puts `plain` there, which has this type.
                unsafe {
                    #(::pullback::abi::__pullback_ruled(const { #before });)*
                    ::core::mem::transmute::<*const (), #unsafety fn(#(#types),*) #output>(
                        ::pullback::abi::__pullback_ruled(const { #last }),
                    )(#(#arguments),*)
                }
            }
            {
                #plain(#(#arguments),*)
            }
        }
    }
}

/// The rule with its parameters.
fn parameters(attached: &Attached, rule: &AttachedRule) -> TokenStream {
    match &rule.arguments {
        Some(arguments) => quote!(#arguments),
        None => {
            let turbofish = attached.turbofish();
            quote!(#(#turbofish),*)
        }
    }
}

/// That the rule has the arguments and the result of the function, each argument followed by a tangent in forward mode.
fn check(attached: &Attached, rule: &AttachedRule) -> TokenStream {
    let Attached { function, result, .. } = attached;
    let AttachedRule { mode, path, .. } = rule;
    let name = local_name(attached, &format!("{}_rule_fits", mode.word()));
    let generics = function.generics.params.iter();
    let where_clause = &function.generics.where_clause;
    let parameters = parameters(attached, rule);
    // With these in its signature, what they imply (`F: 'a` for a `&'a F`) holds in the function.
    let arguments = function.arguments.iter().map(|argument| &argument.ty);
    let types = function.arguments.iter().map(|argument| {
        let ty = &argument.ty;
        if *mode == Mode::Forward { quote!(#ty, _) } else { quote!(#ty) }
    });
    let returns_nothing = *mode == Mode::Forward && function.result.is_none();
    let returned = if returns_nothing { quote!(()) } else { quote!((#result, _)) };
    let rule = quote_spanned!(path.span()=> #path::<#parameters>);
    quote! {
        #[allow(dead_code)]
        fn #name<#(#generics),*>(_: (#(#arguments,)*)) #where_clause {
            let _: fn(#(#types),*) -> #returned = #rule;
        }
    }
}

/// The body with everything by pointer.
fn primal(attached: &Attached) -> TokenStream {
    let Attached { function, result, .. } = attached;
    let (generics, where_clause) = (function.generics.params.iter(), &function.generics.where_clause);
    let (name, plain) = (local_name(attached, "primal"), part(attached, "plain"));
    let types = function.arguments.iter().map(|argument| &argument.ty);
    let (primals, _) = places(function.arguments.len());
    let out = local("out");
    quote! {
        #[allow(dead_code, clippy::all)]
        unsafe extern "C-unwind" fn #name<#(#generics),*>(
            #(#primals: *const #types,)*
            #out: *mut #result,
        ) #where_clause {
            // SAFETY: S30, called as the function is, with what it is called with.
            #[allow(unused_unsafe)]
            unsafe { #out.write(#plain(#(#primals.read()),*)) }
        }
    }
}

fn wrapper_name(rule: &AttachedRule) -> String {
    format!("{}_wrapper", rule.mode.word())
}

/// A function that is differentiated in the place of the body.
fn wrapper(attached: &Attached, rule: &AttachedRule) -> TokenStream {
    let Attached { function, result, .. } = attached;
    let name = local_name(attached, &wrapper_name(rule));
    let (generics, where_clause) = (function.generics.params.iter(), &function.generics.where_clause);
    let types: Vec<&Type> = function.arguments.iter().map(|argument| &argument.ty).collect();
    let (primals, _) = places(types.len());
    let (path, parameters, primal) = (&rule.path, parameters(attached, rule), part(attached, "primal"));
    let record = quote_spanned!(path.span()=> #path::record::<#parameters>());
    let record = quote!(const { &#record.with_primal(#primal as *const ()) });
    let body = wrapper_body(&primals, result, &record);
    quote! {
        #[inline(always)]
        #[allow(dead_code, unused_variables, clippy::all)]
        unsafe fn #name<#(#generics),*>(#(#primals: #types),*) -> #result #where_clause {
            ::pullback::__private::with_driver_or! {
                { #body }
                { ::core::unreachable!() }
            }
        }
    }
}

fn entry(attached: &Attached, rule: &AttachedRule) -> TokenStream {
    let kind = abi::rule_kind(match rule.mode {
        Mode::Forward => RuleKind::Forward,
        Mode::Reverse => RuleKind::Reverse,
    });
    let (plain, wrapper) = (part(attached, "plain"), part(attached, &wrapper_name(rule)));
    let name = attached.function.name.to_string();
    quote! {
        &::pullback::abi::RuleEntry::new(
            #kind,
            #plain as *const (),
            #wrapper as *const (),
            #name,
            (::core::file!(), ::core::line!(), ::core::column!()),
        )
    }
}

fn entry_without_rule(attached: &Attached) -> TokenStream {
    let (plain, name) = (part(attached, "plain"), attached.function.name.to_string());
    let kind = abi::rule_kind(RuleKind::NonDifferentiable);
    quote! {
        &::pullback::abi::RuleEntry::without_wrapper(
            #kind,
            #plain as *const (),
            #name,
            (::core::file!(), ::core::line!(), ::core::column!()),
        )
    }
}
