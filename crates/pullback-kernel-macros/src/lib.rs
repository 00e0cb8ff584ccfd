//! `#[kernel]` and `#[derive(Value)]`. Users meet them through the crate `pullback-kernel`, which documents and
//! re-exports them.

mod kernel;
mod value;

use proc_macro::TokenStream;

/// Make a function one that is called over arrays.
///
/// The function stays what it is for one element, and may be called as that. `call` takes for each parameter a value or
/// an array of them, which broadcast as in NumPy, and returns a [`Tensor`](../pullback_kernel/struct.Tensor.html) of
/// what the function returns. A parameter `&mut T` is read and written. `call_into` writes to an array that is there.
///
/// How it is called can be said before: `add.strict(true)`, `add.threads(2)`, `add.map("x", &[0])`. Each gives a copy of
/// the function, which is a value to keep.
///
/// (Where the function's name is in scope, no variable can have it, as with a `static`, which the name is now.)
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    match kernel::expand(attribute.into(), item.into()) {
        Ok(tokens) => tokens.into(),
        Err(error) => error.into_compile_error().into(),
    }
}

/// Make a struct one whose values are elements of arrays. Its fields are numbers, arrays of a fixed size and such
/// structs, and it is `Copy`.
#[proc_macro_derive(Value)]
pub fn derive_value(item: TokenStream) -> TokenStream {
    match value::expand(syn::parse_macro_input!(item as syn::DeriveInput)) {
        Ok(tokens) => tokens.into(),
        Err(error) => error.into_compile_error().into(),
    }
}
