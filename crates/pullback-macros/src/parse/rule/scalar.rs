//! `scalar_rule!(hypot(x, y) => r; d/dx = x / r, d/dy = y / r)`.

use super::list;
use crate::parse::error;
use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, ExprPath, LitStr, Token, Type, parenthesized, parse_quote};

/// A function of numbers with its partial derivatives.
pub struct ScalarRule {
    pub target: ExprPath,
    /// Whether it gives way to another rule.
    pub default: bool,
    /// The ABI, of a foreign function.
    pub abi: Option<LitStr>,
    pub arguments: Vec<ScalarArgument>,
    pub result: Ident,
    pub result_type: Type,
}

/// An argument, and the partial derivative with respect to it unless it has none.
pub struct ScalarArgument {
    pub name: Ident,
    pub ty: Type,
    pub partial: Option<Expr>,
}

const EXAMPLE: &str = "for example `scalar_rule!(hypot(x, y) => r; d/dx = x / r, d/dy = y / r)`";

/// `x` or `x: f32`.
struct Declared {
    name: Ident,
    ty: Type,
}

impl Parse for Declared {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.call(Ident::parse_any)?;
        let ty = if input.peek(Token![:]) {
            input.parse::<Token![:]>()?;
            input.parse()?
        } else {
            parse_quote!(f64)
        };
        Ok(Declared { name, ty })
    }
}

/// `d/dx = x / r`.
struct Partial {
    /// `x`.
    name: Ident,
    value: Expr,
}

impl Parse for Partial {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let wrong = |span| error(span, "expected a partial derivative: `d/dx = …`", EXAMPLE);
        let d = input.call(Ident::parse_any).map_err(|cause| wrong(cause.span()))?;
        input.parse::<Token![/]>().map_err(|cause| wrong(cause.span()))?;
        let dx = input.call(Ident::parse_any).map_err(|cause| wrong(cause.span()))?;
        let text = dx.to_string();
        let name = match text.strip_prefix('d') {
            Some(name) if d == "d" && !name.is_empty() => Ident::new(name, dx.span()),
            _ => return Err(wrong(dx.span())),
        };
        input.parse::<Token![=]>().map_err(|cause| wrong(cause.span()))?;
        Ok(Partial { name, value: input.parse()? })
    }
}

impl ScalarRule {
    pub fn parse(tokens: TokenStream) -> syn::Result<Self> {
        Self::parse_from.parse2(tokens)
    }

    fn parse_from(input: ParseStream<'_>) -> syn::Result<Self> {
        // A function may be called `default`, too.
        let default = input.peek(Token![default]) && !input.peek2(syn::token::Paren) && !input.peek2(Token![::]);
        if default {
            input.parse::<Token![default]>()?;
        }
        let abi = if input.peek(Token![extern]) {
            input.parse::<Token![extern]>()?;
            Some(input.parse::<LitStr>()?)
        } else {
            None
        };
        let target: ExprPath =
            input.parse().map_err(|cause| error(cause.span(), "expected the path of a function", EXAMPLE))?;
        if !input.peek(syn::token::Paren) {
            return Err(error(input.span(), "expected the function's arguments", EXAMPLE));
        }
        let inside;
        parenthesized!(inside in input);
        let declared = Punctuated::<Declared, Token![,]>::parse_terminated(&inside)?;
        let result_type = if input.peek(Token![->]) {
            input.parse::<Token![->]>()?;
            input.parse()?
        } else {
            let float = declared.iter().find(|argument| is_float(&argument.ty));
            float.map_or_else(|| parse_quote!(f64), |argument| argument.ty.clone())
        };
        input
            .parse::<Token![=>]>()
            .map_err(|cause| error(cause.span(), "expected `=>` and a name for the result", EXAMPLE))?;
        let result = input.call(Ident::parse_any).map_err(|cause| {
            error(cause.span(), "expected a name for the result; the partial derivatives follow after a `;`", EXAMPLE)
        })?;
        input
            .parse::<Token![;]>()
            .map_err(|cause| error(cause.span(), "expected `;` and the partial derivatives", EXAMPLE))?;
        let partials = Punctuated::<Partial, Token![,]>::parse_terminated(input)?;
        let arguments = with_partials(declared.into_iter().collect(), partials.into_iter().collect(), target.span())?;
        Ok(ScalarRule { target, default, abi, arguments, result, result_type })
    }
}

fn is_float(ty: &Type) -> bool {
    crate::parse::types::path_name(ty).is_some_and(|name| name == "f32" || name == "f64")
}

fn with_partials(declared: Vec<Declared>, partials: Vec<Partial>, span: Span) -> syn::Result<Vec<ScalarArgument>> {
    for (index, partial) in partials.iter().enumerate() {
        let Some(argument) = declared.iter().find(|argument| argument.name == partial.name) else {
            let names = list(
                declared
                    .iter()
                    .map(|argument| argument.name.to_string())
                    .collect::<Vec<_>>()
                    .iter()
                    .map(String::as_str),
            );
            return Err(error(
                partial.name.span(),
                format_args!("there is no argument `{}`", partial.name),
                format_args!("the arguments are {names}"),
            ));
        };
        if !is_float(&argument.ty) {
            return Err(error(
                partial.name.span(),
                format_args!("`{}` is not a float, so there is no partial derivative", partial.name),
                "leave it out",
            ));
        }
        if partials[..index].iter().any(|earlier| earlier.name == partial.name) {
            return Err(error(
                partial.name.span(),
                format_args!("the partial derivative with respect to `{}` is given twice", partial.name),
                "leave one of them out",
            ));
        }
    }
    let missing: Vec<String> = declared
        .iter()
        .filter(|argument| is_float(&argument.ty) && !partials.iter().any(|partial| partial.name == argument.name))
        .map(|argument| argument.name.to_string())
        .collect();
    if let Some(first) = missing.first() {
        return Err(error(
            span,
            format_args!("no partial derivative is given with respect to {}", list(missing.iter().map(String::as_str))),
            format_args!("add `d/d{first} = …`, which may be `0.0`"),
        ));
    }
    let mut partials = partials;
    Ok(declared
        .into_iter()
        .map(|Declared { name, ty }| {
            let position = partials.iter().position(|partial| partial.name == name);
            ScalarArgument { name, ty, partial: position.map(|position| partials.swap_remove(position).value) }
        })
        .collect())
}
