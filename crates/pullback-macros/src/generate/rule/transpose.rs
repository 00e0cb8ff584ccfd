//! A rule for reverse mode from one for forward mode: a tangent is linear in the tangents of the arguments, so its
//! transpose is the pullback. `#[frule(for = f, transpose)]` on `fn rule(x: f64, dx: f64, y: &[f64], dy: &[f64]) ->
//! (f64, f64)` is also
//!
//! ```text
//! #[rrule(for = f)]
//! fn transposed(memory: Memory, x: f64, y: &[f64]) -> (f64, impl Fn(f64, &mut [f64]) -> f64) {
//!     let value = f(x, y);
//!     let y = memory.keep(y);
//!     (value, move |d, shadow_y| {
//!         let tangent = |t: &(f64, (Vec<f64>, ()))| rule(x, t.0, &y, &t.1.0).1;
//!         let (_, pullback) = vjp(tangent, &(make_zero(&x), (make_zero(&*y), ())));
//!         let gradient = pullback(d);
//!         add(&gradient.1.0, shadow_y);
//!         gradient.0
//!     })
//! }
//! ```

use super::local;
use crate::parse::rule::attribute::Target;
use crate::parse::rule::forward::{ForwardRule, TangentWay};
use crate::parse::rule::{inside_option, is_no_tangent};
use crate::parse::types::path_name;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{GenericParam, Type};

/// How an argument of the target takes part.
struct Part<'a> {
    name: Ident,
    ty: &'a Type,
    /// What its tangent is in the place where it is differentiated, if it has one.
    zero: Option<TokenStream>,
    /// What it refers to, if it is a reference.
    referred: Option<TokenStream>,
    /// Whether the rule takes the tangent as an `Option`.
    optional: bool,
}

fn parts(rule: &ForwardRule) -> Vec<Part<'_>> {
    let tangents = rule.rule.arguments().iter().skip(1).step_by(2).map(|argument| &argument.ty);
    let all = rule.arguments().zip(tangents).zip(&rule.tangents).enumerate();
    all.map(|(index, ((argument, tangent), way))| {
        let ty = &argument.ty;
        let referred = crate::parse::types::as_reference(ty).map(|reference| {
            let elem = &reference.elem;
            quote!(#elem)
        });
        let zero = match way {
            TangentWay::Value if is_no_tangent(tangent) => None,
            TangentWay::Value => Some(quote!(#ty)),
            TangentWay::Reference(elem) => Some(quote!(<#elem as ::pullback::ToZero>::Zero)),
            TangentWay::Raw(_) | TangentWay::Nothing => None,
        };
        Part { name: local(&format!("x{index}")), ty, zero, referred, optional: inside_option(tangent).is_some() }
    })
    .collect()
}

/// Whether a cotangent of this type is passed by value.
fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Array(array) => is_plain(&array.elem),
        Type::Tuple(tuple) => tuple.elems.iter().all(is_plain),
        Type::Paren(inner) => is_plain(&inner.elem),
        Type::Group(inner) => is_plain(&inner.elem),
        _ => path_name(ty).is_some_and(|name| name == "f32" || name == "f64"),
    }
}

pub fn generate(rule: &ForwardRule) -> TokenStream {
    let Target::Function { path, abi } = &rule.attribute.target else { return TokenStream::new() };
    let abi = abi.as_ref().map(|abi| quote!(, abi = #abi));
    let default = rule.attribute.default.then(|| quote!(, default));
    let instances = rule.attribute.instances.iter().map(|(name, types)| quote!(, #name = [#(#types),*]));
    let (parts, result, name) = (parts(rule), &rule.result, rule.rule.name());
    let generics = rule.rule.generics();
    let (all, where_clause) = (&generics.params, &generics.where_clause);
    let captured = all.iter().map(|parameter| match parameter {
        GenericParam::Lifetime(lifetime) => {
            let lifetime = &lifetime.lifetime;
            quote!(#lifetime)
        }
        GenericParam::Type(parameter) => {
            let name = &parameter.ident;
            quote!(#name)
        }
        GenericParam::Const(parameter) => {
            let name = &parameter.ident;
            quote!(#name)
        }
    });
    let captured = quote!(use<#(#captured),*>);
    let turbofish = &rule.rule.function.turbofish;
    let (memory, value, cotangent) = (local("memory"), local("value"), local("cotangent"));
    let (tangents, gradient, zero) = (local("tangents"), local("gradient"), local("zero"));
    let names: Vec<&Ident> = parts.iter().map(|part| &part.name).collect();
    let types = parts.iter().map(|part| part.ty);
    let kept = parts.iter().filter(|part| part.referred.is_some()).map(|part| {
        let name = &part.name;
        quote!(let #name = #memory.keep(#name);)
    });

    // The tangents of all arguments that have one, as nested pairs.
    let active: Vec<&Part<'_>> = parts.iter().filter(|part| part.zero.is_some()).collect();
    let zero_types = active.iter().rev().fold(quote!(()), |rest, part| {
        let zero = &part.zero;
        quote!((#zero, #rest))
    });
    let zeros = active.iter().rev().fold(quote!(()), |rest, part| {
        let name = &part.name;
        let zero = if part.referred.is_some() { quote!(&*#name) } else { quote!(&#name) };
        quote!((::pullback::make_zero(#zero), #rest))
    });
    let within = |whole: &Ident, part: &Part<'_>| {
        let position = active.iter().position(|other| other.name == part.name).expect("it has a tangent");
        (0..position).fold(quote!(#whole), |pair, _| quote!(#pair.1))
    };
    let passed = parts.iter().map(|part| {
        let name = &part.name;
        let primal = if part.referred.is_some() { quote!(&*#name) } else { quote!(#name) };
        let tangent = match (&part.zero, &part.referred) {
            (None, _) => quote!(::pullback::rules::NoTangent),
            (Some(_), referred) => {
                let pair = within(&tangents, part);
                let tangent = match referred {
                    None => quote!(#pair.0),
                    Some(elem) => quote!(::core::borrow::Borrow::<#elem>::borrow(&#pair.0)),
                };
                if part.optional { quote!(::core::option::Option::Some(#tangent)) } else { tangent }
            }
        };
        quote!(#primal, #tangent)
    });

    // What the pullback takes and returns.
    let by_value = is_plain(result);
    let cotangent_type = if by_value { quote!(#result) } else { quote!(&#result) };
    let seed = if by_value { quote!(#cotangent) } else { quote!(::core::clone::Clone::clone(#cotangent)) };
    let shadow = |part: &Part<'_>| local(&format!("d{}", part.name));
    let references: Vec<&Part<'_>> = parts.iter().filter(|part| part.referred.is_some()).collect();
    let shadow_types: Vec<TokenStream> = references
        .iter()
        .map(|part| match (&part.zero, &part.referred) {
            (Some(_), Some(elem)) => quote!(&mut #elem),
            _ => quote!(::pullback::rules::NoTangent),
        })
        .collect();
    let shadows: Vec<Ident> = references.iter().map(|part| shadow(part)).collect();
    let added = references.iter().filter(|part| part.zero.is_some()).map(|part| {
        let (elem, pair, shadow) = (&part.referred, within(&gradient, part), shadow(part));
        quote!(::pullback::__private::rules::add_floats::<#elem>(::core::borrow::Borrow::borrow(&#pair.0), #shadow);)
    });
    let values: Vec<&Part<'_>> = parts.iter().filter(|part| part.referred.is_none()).collect();
    let returned_types = values.iter().map(|part| match part.zero {
        Some(_) => {
            let ty = part.ty;
            quote!(#ty)
        }
        None => quote!(::pullback::rules::NoTangent),
    });
    let returned = values.iter().map(|part| match part.zero {
        Some(_) => {
            let pair = within(&gradient, part);
            quote!(#pair.0)
        }
        None => quote!(::pullback::rules::NoTangent),
    });
    let (returned_types, returned) = match values.len() {
        1 => (quote!(#(#returned_types)*), quote!(#(#returned)*)),
        _ => (quote!((#(#returned_types),*)), quote!((#(#returned),*))),
    };
    let text = name.to_string();
    quote! {
        const _: () = {
            #[allow(unused_unsafe, unused_variables, unused_parens, clippy::all)]
            #[::pullback::rrule(for = #path #abi #default #(#instances)*)]
            fn __pullback_transposed<#all>(
                #memory: ::pullback::rules::Memory,
                #(#names: #types),*
            ) -> (#result, impl Fn(#cotangent_type, #(#shadow_types),*) -> #returned_types + #captured)
            #where_clause
            {
                // SAFETY: S30, the rule is called as the function is.
                let #value = unsafe { #path(#(#names),*) };
                #(#kept)*
                (#value, move |#cotangent: #cotangent_type, #(#shadows: #shadow_types),*| {
                    ::std::thread_local! {
                        static INSIDE: ::core::cell::Cell<bool> = const { ::core::cell::Cell::new(false) };
                    }
                    let _inside = ::pullback::__private::rules::Inside::enter(&INSIDE, #text);
                    let #zero = #zeros;
                    let (_, pullback) = ::pullback::vjp(
                        |#tangents: &#zero_types| #name::<#(#turbofish),*>(#(#passed),*).1,
                        &#zero,
                    );
                    let #gradient = pullback(#seed);
                    #(#added)*
                    #returned
                })
            }
        };
    }
}
