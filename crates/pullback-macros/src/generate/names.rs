//! Whether the names of types show where lifetimes are.
//!
//! The compiler tells no lifetimes apart where it makes code, but the name that it gives a type shows that there is
//! one: `app::Window<'_>`. Rules and skipped fields go by that (`lifetimes_in` in `pullback`), and nobody promises it.
//! These macros are compiled by the compiler that compiles the program, so they try it out.

use proc_macro2::TokenStream;
use quote::quote;
use std::any::type_name;
use std::fmt::Debug;
use std::marker::PhantomData;

/// An error if the names do not show lifetimes.
pub fn checked() -> TokenStream {
    if probes().iter().all(|(name, lifetimes)| shown_in(name) >= *lifetimes) {
        return TokenStream::new();
    }
    quote! {
        ::core::compile_error!(
            "the names that this rustc gives to types do not show where lifetimes are, and this version of `pullback` goes by that\n\
             help: use another version of rustc or of `pullback`"
        );
    }
}

struct One<'a>(PhantomData<&'a ()>);
struct Two<'a, 'b, T>(PhantomData<(&'a (), &'b T)>);

/// Names of types, and how many lifetimes are in them at least.
fn probes() -> Vec<(&'static str, usize)> {
    fn name_of<T>(_: &T) -> &'static str {
        type_name::<T>()
    }
    let text = String::new();
    let closure = || text.len();
    vec![
        (type_name::<One<'_>>(), 1),
        (type_name::<&u8>(), 1),
        (type_name::<&mut [u8]>(), 1),
        (type_name::<Two<'_, '_, u8>>(), 2),
        (type_name::<Two<'_, '_, One<'_>>>(), 3),
        (type_name::<Option<Vec<(u8, [One<'_>; 2])>>>(), 1),
        (type_name::<Result<&str, Box<&One<'_>>>>(), 3),
        (type_name::<Box<dyn Debug + '_>>(), 1),
        (type_name::<&dyn Fn(u8) -> u8>(), 2),
        (type_name::<fn(&u8)>(), 1),
        (type_name::<fn(One<'static>) -> One<'static>>(), 2),
        (name_of(&closure), 1),
        (name_of(&Some(&closure)), 2),
    ]
}

/// How many lifetimes a name shows: what stands for one, references without it, objects, and closures, of which nobody
/// sees what they capture.
fn shown_in(name: &str) -> usize {
    let references = name.matches('&').count() - name.matches("&'").count();
    name.matches('\'').count() + references + name.matches("dyn ").count() + name.matches('{').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_show_lifetimes() {
        for (name, lifetimes) in probes() {
            assert!(shown_in(name) >= lifetimes, "{name}");
        }
        assert!(checked().is_empty());
        assert_eq!([shown_in("app::Window"), shown_in("ref u8"), shown_in("fn(u8)")], [0; 3]);
    }
}
