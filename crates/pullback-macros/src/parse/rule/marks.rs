//! Functions without a derivative, and functions whose rule is not to be used: `#[non_differentiable]`, `#[opt_out]`,
//! and lists of paths.

use crate::parse::error;
use proc_macro2::{Span, TokenStream};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{ExprPath, Token};

/// The functions that `non_differentiable_fn!` or `opt_out_fn!` names.
pub fn paths(name: &str, tokens: TokenStream) -> syn::Result<Vec<ExprPath>> {
    let help = format!("for example `{name}!(rand::random::<f64>)`");
    let paths = Punctuated::<ExprPath, Token![,]>::parse_terminated
        .parse2(tokens)
        .map_err(|cause| error(cause.span(), "expected the path of a function", &help))?;
    if paths.is_empty() {
        return Err(error(Span::call_site(), format_args!("`{name}!` names no function"), help));
    }
    Ok(paths.into_iter().collect())
}

/// That `#[non_differentiable]` or `#[opt_out]` has nothing inside.
pub fn refuse_options(name: &str, tokens: &TokenStream) -> syn::Result<()> {
    match tokens.clone().into_iter().next() {
        None => Ok(()),
        Some(token) => Err(error(
            token.span(),
            format_args!("`#[{name}]` has no options"),
            format_args!("it stands on the function; for one that stands elsewhere, write `{name}_fn!(path)`"),
        )),
    }
}
