//! A rule for reverse mode: `fn(x: f64, y: &[f64]) -> (f64, impl FnOnce(f64, &mut [f64]) -> f64)`.

use super::attribute::{RuleAttribute, Target};
use super::function::RuleFunction;
use super::{inside_option, is_no_tangent, list};
use crate::parse::error;
use crate::parse::types::{Pointer, as_reference, is_inactive, path_name};
use proc_macro2::{Span, TokenStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{
    CapturedParam, Lifetime, NamedArg, ParenthesizedGenericArguments, PathArguments, ReturnType, Token, Type,
    TypeParamBound, TypeReference, parse_quote,
};

/// A rule for reverse mode.
pub struct ReverseRule {
    pub attribute: RuleAttribute,
    pub rule: RuleFunction,
    /// The type of the value.
    pub result: Type,
    /// Whether the rule's function is told, before its arguments, what becomes of their memory: it has a first
    /// parameter `Memory`.
    pub asks: bool,
    /// Where the pullback's type stands.
    pub pullback: Span,
    pub calls: Calls,
    /// Whether the pullback may refer to what the arguments refer to.
    pub borrows: bool,
    pub cotangent: CotangentParameter,
    /// How each argument gets its cotangent.
    pub arguments: Vec<Way>,
    /// What the pullback returns.
    pub returned: Type,
}

/// How often a pullback may be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calls {
    /// `FnOnce`, `FnMut`.
    Once,
    /// `Fn`.
    Shared,
}

/// How the pullback takes the cotangent of the result.
pub enum CotangentParameter {
    /// Not at all: the result is `()`.
    Nothing,
    /// By value.
    Value,
    /// Through a reference to this type.
    Reference(Box<Type>),
}

/// How an argument gets its cotangent.
pub enum Way {
    /// It is passed by value, and the pullback returns a value of this type.
    Returned(Type),
    /// It is a reference or a raw pointer to this type, and the pullback takes its shadow.
    Written(Type, Access, ShadowParameter),
}

/// What a function may do with what an argument refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// `&T` or `*const T`: read it. The pullback adds to the shadow.
    Shared,
    /// `&mut T` or `*mut T`: change it. The pullback finds in the shadow the cotangent of what the function left there,
    /// and leaves there the cotangent of what the function found.
    Exclusive,
}

/// How a pullback takes the shadow of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShadowParameter {
    /// `&mut T`.
    Always,
    /// `Option<&mut T>`.
    IfAsked,
    /// `*mut T`, null where nobody asks for it: the shadow of a raw pointer.
    Raw,
    /// `NoTangent`.
    Nothing,
}

const RETURNS: &str = "a rule for reverse mode returns the value and the pullback: `(f64, impl FnOnce(f64) -> f64)`";

impl ReverseRule {
    pub fn parse(attribute: TokenStream, item: TokenStream) -> syn::Result<Self> {
        let attribute = RuleAttribute::parse("rrule", attribute)?;
        let mut rule = RuleFunction::parse(item)?;
        rule.check_instances(&attribute)?;
        let asks = take_memory(&mut rule, &attribute)?;
        let (result, pullback) = match &rule.output {
            Some(Type::Tuple(tuple)) if tuple.elems.len() == 2 => (&tuple.elems[0], &tuple.elems[1]),
            other => {
                let span = other.as_ref().map_or_else(|| rule.name().span(), Spanned::span);
                return Err(error(span, "the rule does not return a value and a pullback", RETURNS));
            }
        };
        refuse_references(result)?;
        let (calls, bounds, signature) = closure(pullback)?;
        let borrows = asks || may_borrow(&rule, bounds);
        let cotangent = cotangent(result, signature)?;
        let arguments = ways(&rule, &cotangent, signature)?;
        let returned = match &signature.output {
            ReturnType::Default => parse_quote!(()),
            ReturnType::Type(_, ty) => (**ty).clone(),
        };
        let (result, pullback) = (result.clone(), pullback.span());
        Ok(ReverseRule { attribute, rule, asks, result, pullback, calls, borrows, cotangent, arguments, returned })
    }
}

/// Takes away a first parameter of type `Memory`. Returns whether there was one.
fn take_memory(rule: &mut RuleFunction, attribute: &RuleAttribute) -> syn::Result<bool> {
    let arguments = &mut rule.function.arguments;
    let is_memory = |ty: &Type| path_name(ty).is_some_and(|name| name == "Memory");
    if !arguments.first().is_some_and(|first| is_memory(&first.ty)) {
        return Ok(false);
    }
    let memory = arguments.remove(0);
    if let Target::Named = attribute.target {
        return Err(error(
            memory.span,
            "a rule that is `generic` is not told what becomes of its arguments' memory",
            "list the functions it is for with `for = path`, or let the closure own what it needs",
        ));
    }
    let exclusive = |ty: &Type| as_reference(ty).is_some_and(|reference| reference.mutability.is_some());
    match arguments.iter().find(|argument| exclusive(&argument.ty)) {
        Some(argument) => Err(error(
            argument.span,
            "a rule that is told what becomes of memory has no `&mut` argument: its closure could refer to what is \
             written",
            "leave `Memory` out, and let the closure own what it needs",
        )),
        None => Ok(true),
    }
}

/// What a function with a rule returns owns all it reaches.
pub fn refuse_references(result: &Type) -> syn::Result<()> {
    struct Search(Option<Span>);
    impl Visit<'_> for Search {
        fn visit_type_reference(&mut self, reference: &TypeReference) {
            self.0 = Some(reference.span());
        }
        fn visit_lifetime(&mut self, lifetime: &Lifetime) {
            self.0 = Some(lifetime.span());
        }
    }
    let mut search = Search(None);
    search.visit_type(result);
    match search.0 {
        None => Ok(()),
        Some(span) => Err(error(
            span,
            "a function that returns a reference cannot have a rule: the cotangent of what it refers to is not the \
             rule's",
            "return the value, or leave the function without a rule",
        )),
    }
}

type Bounds = Punctuated<TypeParamBound, Token![+]>;

/// The closure that a type says.
fn closure(ty: &Type) -> syn::Result<(Calls, &Bounds, &ParenthesizedGenericArguments)> {
    let Type::ImplTrait(opaque) = ty else {
        return Err(error(
            ty.span(),
            "the pullback's type does not say what it takes and returns",
            "write it as `impl FnOnce(…) -> …` or `impl Fn(…) -> …`",
        ));
    };
    for bound in &opaque.bounds {
        let TypeParamBound::Trait(bound) = bound else { continue };
        let Some(last) = bound.path.segments.last() else { continue };
        let PathArguments::Parenthesized(signature) = &last.arguments else { continue };
        match last.ident.to_string().as_str() {
            "FnOnce" | "FnMut" => return Ok((Calls::Once, &opaque.bounds, signature)),
            "Fn" => return Ok((Calls::Shared, &opaque.bounds, signature)),
            _ => {}
        }
    }
    Err(error(ty.span(), "the pullback is not a closure", "write it as `impl FnOnce(…) -> …` or `impl Fn(…) -> …`"))
}

/// Whether a pullback may refer to memory of the arguments, as far as types say.
fn may_borrow(rule: &RuleFunction, bounds: &Bounds) -> bool {
    let has_lifetimes = rule.generics().lifetimes().next().is_some();
    let is_static = bounds.iter().any(|bound| match bound {
        TypeParamBound::Lifetime(lifetime) => lifetime.ident == "static",
        TypeParamBound::PreciseCapture(capture) => {
            !capture.params.iter().any(|parameter| matches!(parameter, CapturedParam::Lifetime(_)))
        }
        _ => false,
    });
    // What a type parameter stands for may be or hold a reference.
    (has_lifetimes || has_raw(rule) || rule.function.type_parameters().next().is_some()) && !is_static
}

fn cotangent(result: &Type, signature: &ParenthesizedGenericArguments) -> syn::Result<CotangentParameter> {
    if matches!(result, Type::Tuple(tuple) if tuple.elems.is_empty()) {
        return Ok(CotangentParameter::Nothing);
    }
    match signature.inputs.first() {
        None => Err(error(
            signature.span(),
            "the pullback takes nothing",
            format_args!(
                "its first parameter is the cotangent of the result: `{}`",
                crate::parse::pretty(&quote::quote!(#result))
            ),
        )),
        Some(first) => Ok(match as_reference(&first.ty) {
            Some(reference) => CotangentParameter::Reference(reference.elem.clone()),
            None => CotangentParameter::Value,
        }),
    }
}

/// How each argument gets its cotangent, from what the pullback takes and returns.
fn ways(
    rule: &RuleFunction,
    cotangent: &CotangentParameter,
    signature: &ParenthesizedGenericArguments,
) -> syn::Result<Vec<Way>> {
    let (first_shadow, after) = match cotangent {
        CotangentParameter::Nothing => (0, ""),
        _ => (1, " after the cotangent of the result"),
    };
    let references: Vec<&str> = labels(rule, true);
    let values: Vec<&str> = labels(rule, false);
    let shadows: Vec<&NamedArg> = signature.inputs.iter().skip(first_shadow).collect();
    if shadows.len() != references.len() {
        return Err(error(
            signature.inputs.span(),
            format_args!(
                "the pullback takes {}{after}, but should take {}",
                count(shadows.len(), "shadow"),
                references.len()
            ),
            match &references[..] {
                [] => {
                    "an argument that is passed by value has no shadow: the pullback returns its cotangent".to_owned()
                }
                several if has_raw(rule) => format!(
                    "a `&mut` for each reference, and a `*mut` for each raw pointer: {}",
                    list(several.iter().copied())
                ),
                [one] => format!("a `&mut` for the argument `{one}`, which is a reference"),
                several => format!("a `&mut` for each of {}, which are references", list(several.iter().copied())),
            },
        ));
    }
    let components = components(&signature.output, &values, signature.span())?;
    let (mut shadows, mut components) = (shadows.into_iter(), components.into_iter());
    rule.arguments()
        .iter()
        .map(|argument| match Pointer::of(&argument.ty) {
            Some(pointer) => {
                let parameter = shadows.next().expect("they were counted");
                let shadow = shadow_parameter(&argument.label, pointer, parameter)?;
                let access = access(pointer);
                if (access, shadow) == (Access::Exclusive, ShadowParameter::Nothing) {
                    refuse_untracked(&argument.label, pointer, parameter.ty.span())?;
                }
                Ok(Way::Written(pointer.elem().clone(), access, shadow))
            }
            None => Ok(Way::Returned(components.next().expect("they were counted"))),
        })
        .collect()
}

/// What a reference or a raw pointer lets a function do.
pub fn access(pointer: Pointer<'_>) -> Access {
    if pointer.is_mutable() { Access::Exclusive } else { Access::Shared }
}

/// Floats that a function writes have a tangent: if there were none, that of what it overwrites would be left behind.
pub fn refuse_untracked(label: &str, pointer: Pointer<'_>, span: Span) -> syn::Result<()> {
    if is_inactive(pointer.elem()) {
        return Ok(());
    }
    let form = mutable(pointer);
    Err(error(
        span,
        format_args!("`{label}` is a `{form}`, so what the function writes there has a tangent"),
        format_args!("take the shadow as a `{form}`"),
    ))
}

/// The form in which what a pointer refers to can be written.
fn mutable(pointer: Pointer<'_>) -> &'static str {
    match pointer {
        Pointer::Reference(_) => "&mut",
        Pointer::Raw(_) => "*mut",
    }
}

/// The arguments that are references or raw pointers, or those that are not.
fn labels(rule: &RuleFunction, pointers: bool) -> Vec<&str> {
    let arguments = rule.arguments().iter();
    arguments.filter(|a| Pointer::of(&a.ty).is_some() == pointers).map(|a| a.label.as_str()).collect()
}

fn has_raw(rule: &RuleFunction) -> bool {
    rule.arguments().iter().any(|argument| matches!(Pointer::of(&argument.ty), Some(Pointer::Raw(_))))
}

fn count(number: usize, noun: &str) -> String {
    match number {
        0 => format!("no {noun}"),
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

fn shadow_parameter(label: &str, pointer: Pointer<'_>, parameter: &NamedArg) -> syn::Result<ShadowParameter> {
    let is_mutable = |ty: &Type| as_reference(ty).is_some_and(|reference| reference.mutability.is_some());
    if is_no_tangent(&parameter.ty) {
        return Ok(ShadowParameter::Nothing);
    }
    if let Pointer::Raw(_) = pointer {
        return match Pointer::of(&parameter.ty) {
            Some(shadow @ Pointer::Raw(_)) if shadow.is_mutable() => Ok(ShadowParameter::Raw),
            _ => Err(error(
                parameter.ty.span(),
                format_args!("this is the shadow of `{label}`, which is a raw pointer"),
                "it is a `*mut`, which is null where nobody asks for it, or `NoTangent`",
            )),
        };
    }
    if is_mutable(&parameter.ty) {
        Ok(ShadowParameter::Always)
    } else if inside_option(&parameter.ty).is_some_and(is_mutable) {
        Ok(ShadowParameter::IfAsked)
    } else {
        Err(error(
            parameter.ty.span(),
            format_args!("this is the shadow of `{label}`, to which the pullback adds"),
            "it is a `&mut`, an `Option<&mut …>` (`None` where nobody asks for it), or `NoTangent`",
        ))
    }
}

/// What the pullback returns for each argument that is passed by value.
fn components(output: &ReturnType, values: &[&str], span: Span) -> syn::Result<Vec<Type>> {
    let (span, returned) = match output {
        ReturnType::Default => (span, Vec::new()),
        ReturnType::Type(_, ty) => (
            ty.span(),
            match &**ty {
                Type::Tuple(tuple) if tuple.elems.is_empty() || values.len() > 1 => {
                    tuple.elems.iter().cloned().collect()
                }
                other => vec![other.clone()],
            },
        ),
    };
    if returned.len() == values.len() {
        return Ok(returned);
    }
    Err(error(
        span,
        format_args!(
            "the pullback returns {}, but {} passed by value",
            count(returned.len(), "cotangent"),
            match values.len() {
                0 => "no argument is".to_owned(),
                1 => "1 argument is".to_owned(),
                number => format!("{number} arguments are"),
            }
        ),
        match values {
            [] => "it adds to the shadows of references, and returns nothing".to_owned(),
            [one] => format!("it returns the cotangent of `{one}`, or `NoTangent`"),
            several => {
                format!("it returns a tuple with the cotangents of {}, or `NoTangent`", list(several.iter().copied()))
            }
        },
    ))
}
