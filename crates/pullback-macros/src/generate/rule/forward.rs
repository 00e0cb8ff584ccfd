//! The function of a rule for forward mode: `tangent(a0, a0', a1, a1', out, out')`.

use super::{
    Frame, Parts, activity_behind, activity_of, activity_without_shadow, arg, floats_behind_mut, floats_behind_raw,
    local, local_at, passed_by_value, places, rule_parameter, watched,
};
use crate::generate::abi;
use crate::parse::rule::forward::{ForwardRule, TangentWay};
use crate::parse::rule::reverse::{Access, access};
use crate::parse::rule::{inside_option, is_no_tangent};
use crate::parse::types::{Pointer, as_reference};
use proc_macro2::{Ident, TokenStream};
use pullback_abi::{Activity, RuleKind};
use quote::{quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

pub fn generate(rule: &ForwardRule) -> TokenStream {
    let frame = Frame {
        attribute: &rule.attribute,
        rule: &rule.rule,
        kind: RuleKind::Forward,
        arguments: rule.arguments().map(|argument| (argument.label.as_str(), &argument.ty)).collect(),
        result: &rule.result,
        asks: false,
    };
    let (rule_type, bound) = (rule_parameter(), rule_bound(rule));
    let name = rule.rule.name().to_string();
    let turbofish = &rule.rule.function.turbofish;
    let (args, assertions) = (args(rule, &frame), assertions(rule, &frame));
    let transposed = rule.attribute.transpose.then(|| super::transpose::generate(rule));
    let mut generated = frame.generate(&Parts {
        shims: tangent(rule, &frame),
        parameters: vec![rule_type.clone()],
        bounds: bound,
        named: Vec::new(),
        record: quote! {
            #assertions
            &::pullback::abi::Rule::forward(
                #name,
                const { &[#(#args),*] },
                __pullback_tangent::<#(#turbofish,)* #rule_type> as *const (),
            )
        },
        span: rule.rule.output.as_ref().map_or_else(|| rule.rule.name().span(), Spanned::span),
    });
    generated.extend(transposed);
    generated
}

fn rule_bound(rule: &ForwardRule) -> TokenStream {
    let rule_type = rule_parameter();
    let types = rule.rule.arguments().iter().map(|argument| &argument.ty);
    let (result, tangent) = (&rule.result, &rule.result_tangent);
    let output = if rule.rule.output.is_none() { quote!(()) } else { quote!((#result, #tangent)) };
    quote!(#rule_type: ::core::ops::Fn(#(#types),*) -> #output + ::core::marker::Copy,)
}

/// The tangent of each argument, by the target's arguments.
fn tangent_types(rule: &ForwardRule) -> impl Iterator<Item = &Type> {
    rule.rule.arguments().iter().skip(1).step_by(2).map(|argument| &argument.ty)
}

fn tangent(rule: &ForwardRule, frame: &Frame<'_>) -> TokenStream {
    let generics = rule.rule.generics().params.iter();
    let (rule_type, bound, predicates) = (rule_parameter(), rule_bound(rule), frame.predicates());
    let implied = implied(rule);
    let (primals, shadows) = places(frame.arguments.len());
    let types: Vec<&Type> = frame.arguments.iter().map(|(_, ty)| *ty).collect();
    let result = frame.result;
    let (out, result_shadow) = (local("out"), local("result_shadow"));
    let (value, tangent) = (local("value"), local("tangent"));
    let name = rule.rule.name().to_string();
    let lifetimes_checked = frame.lifetimes_checked();
    let result_tangent = &rule.result_tangent;
    let fitting = quote_spanned! {result_tangent.span()=>
        <#result_tangent as ::pullback::rules::ResultTangent<#result>>::tangent_of(#tangent, #name, &#value)
    };
    let (returned, written) = if rule.rule.output.is_none() {
        (quote!(()), quote!())
    } else {
        (quote!((#value, #tangent)), quote!(#result_shadow.write(#fitting); #out.write(#value);))
    };
    let (made, passed) = lent(rule, frame, &primals, &shadows);
    let arguments_and_ways = frame.arguments.iter().zip(&rule.tangents).enumerate();
    let (before, after): (Vec<_>, Vec<_>) = arguments_and_ways
        .map(|(index, (&(_, ty), way))| {
            let has_shadow = matches!(way, TangentWay::Reference(_));
            let [before, after] = watched(index, &primals[index], ty, has_shadow, frame);
            (before, after)
        })
        .unzip();
    quote! {
        #[allow(unused_variables)]
        unsafe extern "C-unwind" fn __pullback_tangent<#(#generics,)* #rule_type>(
            #(#primals: *const #types, #shadows: *mut #types,)*
            #out: *mut #result,
            #result_shadow: *mut #result,
        )
        where
            #bound
            #predicates
            #implied
        {
            #lifetimes_checked
            // SAFETY: S18 and S30, the arguments are those of a call of the target, and their shadows fit.
            unsafe {
                #(#made)*
                #(#before)*
                let #returned =
                    ::pullback::__private::rules::function::<#rule_type>()(#(#primals.read(), #passed),*);
                #(#after)*
                #written
            }
        }
    }
}

/// What the types of tangents imply (`T: 'a` for a `&'a [T]`), which are not in the signature.
fn implied(rule: &ForwardRule) -> TokenStream {
    let implied = tangent_types(rule).filter_map(|ty| {
        let reference = as_reference(ty).or_else(|| inside_option(ty).and_then(as_reference))?;
        let (lifetime, elem) = (reference.lifetime.as_ref()?, &reference.elem);
        let words = quote!(#elem);
        let named = rule.rule.generics().type_params().map(|parameter| &parameter.ident);
        let named = named.filter(|name| super::scalar::mentions(words.clone(), name));
        Some(quote!(#(#named: #lifetime,)*))
    });
    implied.collect()
}

/// What makes the places of tangents that are lent, and the tangents that are passed.
fn lent(
    rule: &ForwardRule,
    frame: &Frame<'_>,
    primals: &[Ident],
    shadows: &[Ident],
) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let guests: Vec<Ident> =
        tangent_types(rule).enumerate().map(|(index, ty)| local_at(&format!("tangent{index}"), ty.span())).collect();
    let made = rule.tangents.iter().enumerate().map(|(index, way)| {
        let (guest, primal, shadow) = (&guests[index], &primals[index], &shadows[index]);
        match way {
            TangentWay::Reference(ty) => quote_spanned! {ty.span()=>
                let mut #guest =
                    ::pullback::__private::rules::TangentPlace::<#ty>::new(#primal.cast(), #shadow.cast());
            },
            TangentWay::Value | TangentWay::Raw(_) | TangentWay::Nothing => TokenStream::new(),
        }
    });
    let passed = rule.tangents.iter().zip(tangent_types(rule)).enumerate().map(|(index, (way, tangent))| {
        let span = tangent.span();
        let (primal, shadow, ty) = (&primals[index], &shadows[index], frame.arguments[index].1);
        match way {
            TangentWay::Nothing => quote!(::pullback::rules::NoTangent),
            TangentWay::Value => {
                quote_spanned!(span=> <#tangent as ::pullback::rules::Tangent<#ty>>::read(#primal, #shadow))
            }
            TangentWay::Raw(_) => quote!(::pullback::__private::rules::raw_shadow(#shadow)),
            TangentWay::Reference(referred) => {
                let guest = &guests[index];
                quote_spanned! {span=>
                    <#tangent as ::pullback::rules::ReferenceTangent<#referred>>::lend(&mut #guest)
                }
            }
        }
    });
    (made.collect(), passed.collect())
}

/// What an argument that is a reference or a raw pointer lets the function do.
fn access_of(ty: &Type) -> Access {
    Pointer::of(ty).map_or(Access::Shared, access)
}

fn args(rule: &ForwardRule, frame: &Frame<'_>) -> Vec<TokenStream> {
    let active = abi::activity(Activity::Duplicated);
    let constant = abi::activity(Activity::Const);
    let mut args: Vec<TokenStream> = (frame.arguments.iter().zip(rule.tangents.iter().zip(tangent_types(rule))))
        .map(|(&(label, ty), (way, tangent))| match way {
            TangentWay::Nothing if access_of(ty) == Access::Exclusive => {
                arg(label, activity_of(Access::Exclusive), ty, true)
            }
            TangentWay::Nothing => arg(label, activity_without_shadow(ty, frame.result), ty, true),
            TangentWay::Value if is_no_tangent(tangent) => arg(label, constant.clone(), ty, true),
            TangentWay::Value => {
                let activity = quote!(<#tangent as ::pullback::rules::Tangent<#ty>>::ACTIVITY);
                arg(label, activity, ty, false)
            }
            TangentWay::Reference(_) | TangentWay::Raw(_) => {
                arg(label, activity_behind(ty, access_of(ty), frame.result), ty, false)
            }
        })
        .collect();
    args.push(arg("return", active, frame.result, false));
    args
}

fn assertions(rule: &ForwardRule, frame: &Frame<'_>) -> TokenStream {
    let mut assertions = TokenStream::new();
    for (&(label, ty), way) in frame.arguments.iter().zip(&rule.tangents) {
        assertions.extend(match way {
            TangentWay::Value => passed_by_value(label, ty),
            TangentWay::Raw(referred) => floats_behind_raw(label, ty, referred),
            TangentWay::Reference(referred) if access_of(ty) == Access::Exclusive => {
                floats_behind_mut(label, ty, referred)
            }
            TangentWay::Nothing | TangentWay::Reference(_) => TokenStream::new(),
        });
    }
    assertions
}
