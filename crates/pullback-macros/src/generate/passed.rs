//! The arguments of the call of a derivative, with what is done with them before.

use proc_macro2::TokenStream;
use quote::quote;

/// What the derivative is called with.
#[derive(Default)]
pub struct Passed {
    /// The arguments of the call.
    pub values: Vec<TokenStream>,
    /// Those of them that are shadows, and the primals before them.
    pub reached: Vec<TokenStream>,
    /// In reverse mode, the places of notes of the shadows, and what writes these.
    pub places: Vec<TokenStream>,
    pub notes: Vec<TokenStream>,
}

impl Passed {
    /// A place of the shadow of `primal`.
    pub fn shadow(&mut self, primal: &TokenStream, pointer: TokenStream) {
        self.reached.push(quote!(#primal, #pointer));
        self.values.push(pointer);
    }
}
