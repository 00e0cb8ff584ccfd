//! The inside of a rule's attribute: `for = norm, T = [f32, f64]` or `for = cbrt, abi = "C"`.

use crate::parse::error;
use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{ExprPath, LitStr, Token, Type, bracketed};

mod kw {
    syn::custom_keyword!(generic);
}

/// A rule's attribute.
pub struct RuleAttribute {
    /// `rrule` or `frule`.
    pub name: &'static str,
    pub target: Target,
    /// Whether the rule gives way to another one for the same function and mode.
    pub default: bool,
    /// Whether the rule for reverse mode is the transpose of this one, which is for forward mode.
    pub transpose: bool,
    /// The types for which a generic rule holds, by parameter.
    pub instances: Vec<(Ident, Vec<Type>)>,
}

/// What a rule is for.
pub enum Target {
    /// A function with this path, and with this ABI if it is not Rust's.
    Function { path: ExprPath, abi: Option<LitStr> },
    /// Functions that name the rule themselves, with `#[has_rrule]` or `#[has_frule]`.
    Named,
}

impl RuleAttribute {
    /// `name` is that of the attribute.
    pub fn parse(name: &'static str, tokens: TokenStream) -> syn::Result<Self> {
        let example = format!("for example `#[{name}(for = f)]`");
        (|input: ParseStream<'_>| Self::parse_from(name, &example, input)).parse2(tokens)
    }

    fn parse_from(name: &'static str, example: &str, input: ParseStream<'_>) -> syn::Result<Self> {
        let (mut path, mut abi, mut default, mut transpose, mut instances) = (None, None, false, false, Vec::new());
        if input.peek(kw::generic) {
            input.parse::<kw::generic>()?;
            return if input.is_empty() {
                Ok(RuleAttribute { name, target: Target::Named, default, transpose, instances })
            } else {
                Err(error(
                    input.span(),
                    format_args!("`#[{name}(generic)]` has no further options"),
                    format_args!("it is a rule for the functions that say `#[has_{name}]`"),
                ))
            };
        }
        while !input.is_empty() {
            let word = input
                .call(Ident::parse_any)
                .map_err(|cause| error(cause.span(), format_args!("expected `for = …` in `#[{name}]`"), example))?;
            if word == "default" {
                default = true;
                comma(input)?;
                continue;
            }
            if word == "transpose" {
                if name != "frule" {
                    return Err(error(
                        word.span(),
                        "a rule for forward mode can be transposed, not one for reverse mode",
                        "for example `#[frule(for = f, transpose)]`",
                    ));
                }
                transpose = true;
                comma(input)?;
                continue;
            }
            input
                .parse::<Token![=]>()
                .map_err(|cause| error(cause.span(), format_args!("expected `=` after `{word}`"), example))?;
            match word.to_string().as_str() {
                "for" => {
                    path = Some(input.parse::<ExprPath>().map_err(|cause| {
                        error(cause.span(), "expected the path of the function that the rule is for", example)
                    })?);
                }
                "abi" => {
                    abi = Some(input.parse::<LitStr>().map_err(|cause| {
                        error(cause.span(), "expected the name of an ABI", "for example `abi = \"C\"`")
                    })?);
                }
                _ if input.peek(syn::token::Bracket) => {
                    let inside;
                    bracketed!(inside in input);
                    let types = Punctuated::<Type, Token![,]>::parse_terminated(&inside)?;
                    instances.push((word, types.into_iter().collect()));
                }
                text => {
                    return Err(error(
                        word.span(),
                        format_args!("unknown option `{text}` of `#[{name}]`"),
                        "the options are `for = path`, `abi = \"C\"`, `default`, and `T = [f32, f64]` for a type \
                         parameter `T`",
                    ));
                }
            }
            comma(input)?;
        }
        let Some(path) = path else {
            return Err(error(
                Span::call_site(),
                format_args!("`#[{name}]` does not say which function the rule is for"),
                example,
            ));
        };
        Ok(RuleAttribute { name, target: Target::Function { path, abi }, default, transpose, instances })
    }
}

/// What comes between two options.
fn comma(input: ParseStream<'_>) -> syn::Result<()> {
    if !input.is_empty() {
        input
            .parse::<Token![,]>()
            .map_err(|cause| error(cause.span(), "expected a comma", "separate the options by commas"))?;
    }
    Ok(())
}
