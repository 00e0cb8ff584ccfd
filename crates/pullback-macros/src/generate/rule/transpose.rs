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
use quote::{ToTokens, quote};
use syn::{GenericParam, Generics, Type};

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
    let (transposed, result, name) = (Transposed { parts: parts(rule) }, &rule.result, rule.rule.name());
    let generics = rule.rule.generics();
    let (all, where_clause, captured) = (&generics.params, &generics.where_clause, captured(generics));
    let turbofish = &rule.rule.function.turbofish;
    let (memory, value, cotangent) = (local("memory"), local("value"), local("cotangent"));
    let (tangents, gradient, zero) = (local("tangents"), local("gradient"), local("zero"));
    let names: Vec<&Ident> = transposed.parts.iter().map(|part| &part.name).collect();
    let types = transposed.parts.iter().map(|part| part.ty);
    let kept = transposed.references().map(|part| {
        let name = &part.name;
        quote!(let #name = #memory.keep(#name);)
    });
    let (zero_types, zeros) = transposed.zeros();
    let passed = transposed.passed(&tangents);

    // What the pullback takes and returns.
    let by_value = is_plain(result);
    let cotangent_type = if by_value { quote!(#result) } else { quote!(&#result) };
    let seed = if by_value { quote!(#cotangent) } else { quote!(::core::clone::Clone::clone(#cotangent)) };
    let (shadows, shadow_types) = transposed.shadows();
    let added = transposed.added(&gradient);
    let (returned_types, returned) = transposed.returned(&gradient);
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
                        |#tangents: &#zero_types| #name::<#(#turbofish),*>(#passed).1,
                        &#zero,
                    );
                    let #gradient = pullback(#seed);
                    #added
                    #returned
                })
            }
        };
    }
}

/// What the pullback's type may use: everything that the rule is generic over.
fn captured(generics: &Generics) -> TokenStream {
    let names = generics.params.iter().map(|parameter| match parameter {
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
    quote!(use<#(#names),*>)
}

/// The rule that is written. In its pullback the tangents of all arguments that have one are nested pairs.
struct Transposed<'a> {
    parts: Vec<Part<'a>>,
}

impl Transposed<'_> {
    /// The arguments that have a tangent.
    fn active(&self) -> impl DoubleEndedIterator<Item = &Part<'_>> {
        self.parts.iter().filter(|part| part.zero.is_some())
    }

    fn references(&self) -> impl Iterator<Item = &Part<'_>> {
        self.parts.iter().filter(|part| part.referred.is_some())
    }

    /// The part of the pairs that belongs to an argument.
    fn within(&self, whole: &Ident, part: &Part<'_>) -> TokenStream {
        let position = self.active().position(|other| other.name == part.name).expect("it has a tangent");
        let pair = (0..position).fold(quote!(#whole), |pair, _| quote!(#pair.1));
        quote!(#pair.0)
    }

    /// The type of the pairs, and zeros.
    fn zeros(&self) -> (TokenStream, TokenStream) {
        self.active().rev().fold((quote!(()), quote!(())), |(types, values), part| {
            let (ty, name) = (&part.zero, &part.name);
            let primal = if part.referred.is_some() { quote!(&*#name) } else { quote!(&#name) };
            (quote!((#ty, #types)), quote!((::pullback::make_zero(#primal), #values)))
        })
    }

    /// What the rule is called with.
    fn passed(&self, tangents: &Ident) -> TokenStream {
        let passed = self.parts.iter().map(|part| {
            let name = &part.name;
            let primal = if part.referred.is_some() { quote!(&*#name) } else { quote!(#name) };
            if part.zero.is_none() {
                return quote!(#primal, ::pullback::rules::NoTangent);
            }
            let tangent = self.within(tangents, part);
            let tangent = match &part.referred {
                None => tangent,
                Some(elem) => quote!(::core::borrow::Borrow::<#elem>::borrow(&#tangent)),
            };
            if part.optional {
                quote!(#primal, ::core::option::Option::Some(#tangent))
            } else {
                quote!(#primal, #tangent)
            }
        });
        quote!(#(#passed),*)
    }

    /// The shadows that the pullback takes, and their types.
    fn shadows(&self) -> (Vec<Ident>, Vec<TokenStream>) {
        let ty = |part: &Part<'_>| match (&part.zero, &part.referred) {
            (Some(_), Some(elem)) => quote!(&mut #elem),
            _ => quote!(::pullback::rules::NoTangent),
        };
        self.references().map(|part| (shadow(part), ty(part))).unzip()
    }

    /// What adds the gradients of references to their shadows.
    fn added(&self, gradient: &Ident) -> TokenStream {
        let added = self.references().filter(|part| part.zero.is_some()).map(|part| {
            let (elem, of, shadow) = (&part.referred, self.within(gradient, part), shadow(part));
            quote!(::pullback::__private::rules::add_floats::<#elem>(::core::borrow::Borrow::borrow(&#of), #shadow);)
        });
        added.collect()
    }

    /// What the pullback returns, its type first: the gradients of arguments by value.
    fn returned(&self, gradient: &Ident) -> (TokenStream, TokenStream) {
        let values = self.parts.iter().filter(|part| part.referred.is_none());
        let (types, values): (Vec<_>, Vec<_>) = values
            .map(|part| match part.zero {
                Some(_) => (part.ty.to_token_stream(), self.within(gradient, part)),
                None => (quote!(::pullback::rules::NoTangent), quote!(::pullback::rules::NoTangent)),
            })
            .unzip();
        match values.len() {
            1 => (quote!(#(#types)*), quote!(#(#values)*)),
            _ => (quote!((#(#types),*)), quote!((#(#values),*))),
        }
    }
}

fn shadow(part: &Part<'_>) -> Ident {
    local(&format!("d{}", part.name))
}
