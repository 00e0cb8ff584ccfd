//! From a checked plan to Rust.

pub mod abi;
pub mod body;
pub mod differentiable;
pub mod docs;
mod mirror;
pub mod names;
mod passed;
pub mod rule;
pub mod signature;

#[cfg(test)]
mod tests;

use crate::parse::attribute::Family;
use crate::parse::plan::Plan;
use proc_macro2::TokenStream;
use quote::quote;
use signature::Signature;

/// The function as it was, and its derivative or what is wrong.
pub fn expand(family: Family, attribute: TokenStream, item: TokenStream) -> TokenStream {
    let derivative = match Plan::new(family, attribute, item.clone()) {
        Ok(plan) => derivative(&plan),
        Err(error) => error.to_compile_error(),
    };
    quote! {
        #item
        #derivative
    }
}

fn derivative(plan: &Plan) -> TokenStream {
    let signature = Signature::new(plan);
    let docs = docs::describe(plan, &signature);
    let attributes = &plan.function.attributes;
    let visibility = &plan.function.visibility;
    let body = body::generate(plan, &signature);
    quote! {
        #[doc = #docs]
        #(#attributes)*
        #[allow(unused_mut, unused_unsafe, clippy::all)]
        #[track_caller]
        #visibility #signature {
            #body
        }
    }
}
