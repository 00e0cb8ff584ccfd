//! A function that says itself which rule it has: `#[has_rrule(map_rrule)] fn map<F: Fn(f64) -> f64>(f: F, x: &[f64])
//! -> Vec<f64>`.

use super::function::name_lifetimes;
use crate::parse::error;
use crate::parse::function::{ArgumentKind, Function};
use proc_macro2::{Span, TokenStream};
use pullback_abi::{Mode, RuleKind};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Block, ExprPath, GenericArgument, Ident, ItemFn, Meta, Path, PathArguments, Signature, Token, Type,
    Visibility, parse_quote,
};

/// A function with something attached.
pub struct Attached {
    /// Its rules.
    pub rules: Vec<AttachedRule>,
    /// What is said of it, if it has none.
    pub said: RuleKind,
    /// The attributes by which rules after the first are attached.
    pub taken: Vec<Path>,
    pub attributes: Vec<Attribute>,
    pub visibility: Visibility,
    /// As it was written.
    pub signature: Signature,
    pub body: Block,
    /// With a name for every lifetime.
    pub function: Function,
    /// The types of the arguments, with lifetimes as they were written.
    pub types: Vec<Type>,
    pub result: Type,
}

/// What an attribute that was taken along by another one says, on an item of no meaning: so the compiler sees that it
/// is used.
pub const TAKEN: &str = "__pullback_taken";

/// A rule by name.
pub struct AttachedRule {
    pub mode: Mode,
    pub path: ExprPath,
    /// What the rule is given for its parameters, if that is not the function's own parameters in order: those of an
    /// `impl`, say.
    pub arguments: Option<Punctuated<GenericArgument, Token![,]>>,
}

impl AttachedRule {
    fn parse(name: &str, attribute: TokenStream) -> syn::Result<Self> {
        let mode = if name == "has_frule" { Mode::Forward } else { Mode::Reverse };
        let help = format!("for example `#[{name}(f_{})]`", &name["has_".len()..]);
        if attribute.is_empty() {
            return Err(error(Span::call_site(), format_args!("`#[{name}]` does not name the rule"), help));
        }
        let mut path: ExprPath =
            syn::parse2(attribute).map_err(|cause| error(cause.span(), "expected the path of the rule", help))?;
        let last = path.path.segments.last_mut().map(|last| std::mem::take(&mut last.arguments));
        let arguments = match last {
            Some(PathArguments::AngleBracketed(arguments)) => Some(arguments.args),
            _ => None,
        };
        Ok(AttachedRule { mode, path, arguments })
    }
}

impl Attached {
    pub fn parse(name: &str, attribute: TokenStream, item: TokenStream) -> syn::Result<Self> {
        let mut rules = Vec::new();
        let said = if name == "opt_out" { RuleKind::OptOut } else { RuleKind::NonDifferentiable };
        if is_mark(name) {
            super::marks::refuse_options(name, &attribute)?;
        } else {
            rules.push(AttachedRule::parse(name, attribute)?);
        }
        let mut function = Function::parse(item.clone())?;
        let ItemFn { attrs, vis, sig, block, .. } = syn::parse2(item)?;
        refuse(name, &function, &sig)?;
        let types = function.arguments.iter().map(|argument| argument.ty.clone()).collect();
        if !rules.is_empty() {
            name_lifetimes(&mut function)?;
        }
        let (taken, attributes) = take_other_rules(attrs, &mut rules)?;
        let result = function.result.clone().unwrap_or_else(|| parse_quote!(()));
        Ok(Attached {
            rules,
            said,
            taken,
            attributes,
            visibility: vis,
            signature: sig,
            body: *block,
            function,
            types,
            result,
        })
    }

    /// The type and const parameters, in order.
    pub fn turbofish(&self) -> &[Ident] {
        &self.function.turbofish
    }
}

/// The paths of the attributes that attach further rules, which are added to the rules: all of them are for one
/// function. And the other attributes.
fn take_other_rules(
    attributes: Vec<Attribute>,
    rules: &mut Vec<AttachedRule>,
) -> syn::Result<(Vec<Path>, Vec<Attribute>)> {
    let (mut taken, mut others) = (Vec::new(), Vec::new());
    for attribute in attributes {
        let last = attribute.path().segments.last().map(|last| last.ident.to_string());
        match (last.as_deref(), &attribute.meta) {
            (Some(name @ ("has_rrule" | "has_frule")), Meta::List(list)) if !rules.is_empty() => {
                let rule = AttachedRule::parse(name, list.tokens.clone())?;
                if rules.iter().any(|other| other.mode == rule.mode) {
                    return Err(error(
                        rule.path.span(),
                        format_args!("this function has two rules for {} mode", rule.mode.word()),
                        "leave one of them out",
                    ));
                }
                rules.push(rule);
                taken.push(attribute.path().clone());
            }
            _ => others.push(attribute),
        }
    }
    Ok((taken, others))
}

/// Whether an attribute says something of a function without naming a rule.
fn is_mark(name: &str) -> bool {
    matches!(name, "non_differentiable" | "opt_out")
}

fn refuse(name: &str, function: &Function, signature: &Signature) -> syn::Result<()> {
    let receiver = function.arguments.iter().find(|argument| matches!(argument.kind, ArgumentKind::Receiver(_)));
    let by_path = match name {
        "non_differentiable" => "write `non_differentiable_fn!(Type::method)` outside of the `impl`",
        "opt_out" => "write `opt_out_fn!(Type::method)` outside of the `impl`",
        _ => "leave it out, and write `for = path` in the rule's attribute",
    };
    if is_mark(name) && (function.associated || receiver.is_some()) {
        let span = receiver.map_or(function.name.span(), |receiver| receiver.span);
        return Err(error(span, format_args!("`#[{name}]` is for functions outside of an `impl`"), by_path));
    }
    if name == "opt_out" && !function.turbofish.is_empty() {
        return Err(error(
            function.name.span(),
            "a generic function opts out for some types at a time",
            format_args!("write `opt_out_fn!({}::<…>)`", function.name),
        ));
    }
    if function.type_parameters().any(|parameter| !function.turbofish.contains(parameter)) {
        return Err(error(
            function.name.span(),
            format_args!("a function with `#[{name}]` cannot have an argument of type `impl Trait`"),
            "name the type: `fn f<F: Trait>(f: F)`",
        ));
    }
    let is_moved = !is_mark(name) || !function.turbofish.is_empty();
    if is_moved && (signature.abi.is_some() || signature.constness.is_some()) {
        return Err(error(
            function.name.span(),
            format_args!("`#[{name}]` is not for `extern` and `const` functions"),
            by_path,
        ));
    }
    Ok(())
}
