//! A function that says itself which rule it has: `#[has_rrule(map_rrule)] fn map<F: Fn(f64) -> f64>(f: F, x: &[f64]) -> Vec<f64>`.

use super::function::name_lifetimes;
use crate::parse::error;
use crate::parse::function::{ArgumentKind, Function};
use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Block, ExprPath, Ident, ItemFn, Signature, Type, Visibility, parse_quote};

/// What is attached to a function.
pub enum Mark {
    /// A rule for forward mode.
    Forward(ExprPath),
    /// A rule for reverse mode.
    Reverse(ExprPath),
    /// That its result carries no derivative.
    NonDifferentiable,
}

/// A function with something attached.
pub struct Attached {
    pub mark: Mark,
    pub attributes: Vec<Attribute>,
    pub visibility: Visibility,
    /// As it was written.
    pub signature: Signature,
    pub body: Block,
    /// With a name for every lifetime.
    pub function: Function,
    pub result: Type,
}

impl Attached {
    pub fn parse(name: &str, attribute: TokenStream, item: TokenStream) -> syn::Result<Self> {
        let mark = match name {
            "non_differentiable" => {
                super::marks::refuse_options(&attribute)?;
                Mark::NonDifferentiable
            }
            _ => {
                let help = format!("for example `#[{name}(f_{})]`", &name[4..]);
                if attribute.is_empty() {
                    return Err(error(Span::call_site(), format_args!("`#[{name}]` does not name the rule"), help));
                }
                let path = syn::parse2::<ExprPath>(attribute)
                    .map_err(|cause| error(cause.span(), "expected the path of the rule", help))?;
                if name == "has_frule" { Mark::Forward(path) } else { Mark::Reverse(path) }
            }
        };
        let mut function = Function::parse(item.clone())?;
        let ItemFn { attrs, vis, sig, block, .. } = syn::parse2(item)?;
        refuse(name, &function, &sig)?;
        if !matches!(mark, Mark::NonDifferentiable) {
            name_lifetimes(&mut function)?;
        }
        let result = function.result.clone().unwrap_or_else(|| parse_quote!(()));
        Ok(Attached { mark, attributes: attrs, visibility: vis, signature: sig, body: *block, function, result })
    }

    /// The type and const parameters, in order.
    pub fn turbofish(&self) -> &[Ident] {
        &self.function.turbofish
    }
}

fn refuse(name: &str, function: &Function, signature: &Signature) -> syn::Result<()> {
    let receiver = function.arguments.iter().find(|argument| matches!(argument.kind, ArgumentKind::Receiver(_)));
    let by_path = match name {
        "non_differentiable" => "write `non_differentiable_fn!(Type::method)` outside of the `impl`",
        _ => "leave it out, and write `for = path` in the rule's attribute",
    };
    if function.associated || receiver.is_some() {
        let span = receiver.map_or(function.name.span(), |receiver| receiver.span);
        return Err(error(span, format_args!("`#[{name}]` is for functions outside of an `impl`"), by_path));
    }
    if function.type_parameters().any(|parameter| !function.turbofish.contains(parameter)) {
        return Err(error(
            function.name.span(),
            format_args!("a function with `#[{name}]` cannot have an argument of type `impl Trait`"),
            "name the type: `fn f<F: Trait>(f: F)`",
        ));
    }
    let is_moved = name != "non_differentiable" || !function.turbofish.is_empty();
    if is_moved && (signature.abi.is_some() || signature.constness.is_some()) {
        return Err(error(
            function.name.span(),
            format_args!("`#[{name}]` is not for `extern` and `const` functions"),
            by_path,
        ));
    }
    Ok(())
}
