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
//! Without the driver it calls `plain`.

use super::{local, places};
use crate::parse::rule::attached::{Attached, Mark};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{ExprPath, GenericParam, Signature, Type};

/// `item` is the function as it was.
pub fn generate(attached: &Attached, item: TokenStream) -> TokenStream {
    let Attached { attributes, visibility, signature, .. } = attached;
    if matches!(attached.mark, Mark::NonDifferentiable) && attached.turbofish().is_empty() {
        // It has one address.
        let name = &signature.ident;
        let entry = super::marks::entries(&format_ident!("NonDifferentiable"), &[syn::parse_quote!(#name)]);
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
    let Attached { signature, body, .. } = attached;
    let mut plain = signature.clone();
    plain.ident = format_ident!("__pullback_plain");
    let unsafety = &signature.safety;
    let types = signature.inputs.iter().filter_map(|input| match input {
        syn::FnArg::Typed(typed) => Some(&typed.ty),
        syn::FnArg::Receiver(_) => None,
    });
    let (output, turbofish) = (&signature.output, attached.turbofish());
    let arguments = names(attached);
    let (rule, check, entry) = match &attached.mark {
        Mark::NonDifferentiable => (quote!(), quote!(), without_wrapper(attached)),
        Mark::Forward(path) => {
            (with_rule(attached, path), check(attached, path, true), with_wrapper(attached, "Forward"))
        }
        Mark::Reverse(path) => {
            (with_rule(attached, path), check(attached, path, false), with_wrapper(attached, "Reverse"))
        }
    };
    quote! {
        #plain #body
        #check
        ::pullback::__private::with_driver_or! {
            {
                #rule
                unsafe {
                    ::core::mem::transmute::<*const (), #unsafety fn(#(#types),*) #output>(
                        ::pullback::abi::__pullback_ruled(const { #entry }),
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
fn check(attached: &Attached, path: &ExprPath, forward: bool) -> TokenStream {
    let Attached { function, result, .. } = attached;
    let parameters = function.generics.params.iter();
    let where_clause = &function.generics.where_clause;
    let turbofish = attached.turbofish();
    // With these in its signature, what they imply (`F: 'a` for a `&'a F`) holds in the function.
    let arguments = function.arguments.iter().map(|argument| &argument.ty);
    let types = function.arguments.iter().map(|argument| {
        let ty = &argument.ty;
        if forward { quote!(#ty, _) } else { quote!(#ty) }
    });
    let returned = if forward && function.result.is_none() { quote!(()) } else { quote!((#result, _)) };
    let rule = quote_spanned!(path.span()=> #path::<#(#turbofish),*>);
    quote! {
        #[allow(dead_code)]
        fn __pullback_rule_fits<#(#parameters),*>(_: (#(#arguments,)*)) #where_clause {
            let _: fn(#(#types),*) -> #returned = #rule;
        }
    }
}

/// The wrapper, and the body with everything by pointer.
fn with_rule(attached: &Attached, path: &ExprPath) -> TokenStream {
    let Attached { function, result, .. } = attached;
    let parameters: Vec<&GenericParam> = function.generics.params.iter().collect();
    let where_clause = &function.generics.where_clause;
    let turbofish = attached.turbofish();
    let types: Vec<&Type> = function.arguments.iter().map(|argument| &argument.ty).collect();
    let (primals, _) = places(types.len());
    let out = local("out");
    let pointers = types.iter().map(|_| quote!(*const ()));
    let record = quote_spanned!(path.span()=> #path::record::<#(#turbofish),*>());
    quote! {
        unsafe extern "C-unwind" fn __pullback_primal<#(#parameters),*>(#(#primals: *const #types,)* #out: *mut #result) #where_clause {
            #[allow(unused_unsafe)]
            unsafe { #out.write(__pullback_plain::<#(#turbofish),*>(#(#primals.read()),*)) }
        }
        #[inline(always)]
        unsafe fn __pullback_wrapper<#(#parameters),*>(#(#primals: #types),*) -> #result #where_clause {
            #(let #primals = ::core::mem::ManuallyDrop::new(#primals);)*
            let mut #out = ::core::mem::MaybeUninit::<#result>::uninit();
            unsafe {
                ::core::mem::transmute::<*const (), unsafe extern "C-unwind" fn(#(#pointers,)* *mut ())>(
                    ::pullback::abi::__pullback_rule(
                        const { &#record.with_primal(__pullback_primal::<#(#turbofish),*> as *const ()) },
                    ),
                )(#((&raw const #primals).cast(),)* #out.as_mut_ptr().cast());
                #out.assume_init()
            }
        }
    }
}

fn with_wrapper(attached: &Attached, kind: &str) -> TokenStream {
    let (kind, turbofish, name) = (format_ident!("{kind}"), attached.turbofish(), attached.function.name.to_string());
    quote! {
        &::pullback::abi::RuleEntry::new(
            ::pullback::abi::RuleKind::#kind,
            __pullback_plain::<#(#turbofish),*> as *const (),
            __pullback_wrapper::<#(#turbofish),*> as *const (),
            #name,
            (::core::file!(), ::core::line!(), ::core::column!()),
        )
    }
}

fn without_wrapper(attached: &Attached) -> TokenStream {
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
