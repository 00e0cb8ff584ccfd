//! The arguments of the call of a derivative, with what is done with them before.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

/// What the derivative is called with.
#[derive(Default)]
pub struct Passed {
    /// The arguments of the call.
    pub values: Vec<TokenStream>,
    /// In reverse mode, what tells where the shadows among them are in which something is masked.
    pub reached: Vec<TokenStream>,
    /// In reverse mode, the places of notes of the shadows, and what writes these.
    pub places: Vec<TokenStream>,
    pub notes: Vec<TokenStream>,
    /// In reverse mode, what notes the cotangents of a result that owns memory.
    pub seeds: Vec<TokenStream>,
}

impl Passed {
    /// The place `pointer` of the shadow of `primal`, an argument or the result, whose type is written at `span`. What
    /// rustc has to say of the type, it says there.
    pub fn shadow(&mut self, masked: &Ident, primal: &TokenStream, pointer: TokenStream, span: Span) {
        self.reached.push(quote_spanned!(span=> #masked.reaches_bookkeeping(#primal, #pointer);));
        self.values.push(pointer);
    }

    /// The same, if the result's cotangent `is_flat`; else its shadow lies at the second place, and leads nowhere yet.
    pub fn shadow_if(
        &mut self,
        is_flat: &Ident,
        masked: &Ident,
        primal: &TokenStream,
        (pointer, other): (&TokenStream, &TokenStream),
        span: Span,
    ) {
        self.reached.push(quote_spanned! {span=>
            if #is_flat {
                #masked.reaches_bookkeeping(#primal, #pointer);
            }
        });
        self.values.push(quote!(if #is_flat { #pointer } else { #other }));
    }
}
