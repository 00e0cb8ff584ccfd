//! Lifetimes that the type of a rule's argument hides.
//!
//! A rule is called with whatever its function is called with, for any lifetimes. The attribute sees to it that the
//! lifetimes in the types of arguments are parameters of the rule. An alias can hide one from it, and make it
//! `'static`:
//!
//! ```text
//! type Forever = Window<'static>;
//! #[rrule(for = weighted)] fn rule(window: Forever, …)        for   fn weighted(window: Window<'_>, …)
//! ```
//! Such a rule could keep what it is given, in safe code, for longer than that is there. The compiler does not tell
//! lifetimes apart where it makes code, but the name that it gives a type shows where there is one: `app::Window<'_>`.
//! So those are counted before the rule is called, and what is left of that after optimisation is nothing or the panic.
//! An alias may also have a lifetime that says nothing:
//!
//! ```text
//! type Forever<'x> = Window<'static>;
//! ```
//! The compiler does tell `for<'x, 'y> fn(T<'x>, T<'y>)` from `for<'x> fn(T<'x>, T<'x>)` if `T` uses its lifetime. If
//! there are no more lifetimes than are written and used, all of them are the caller's choice.

use crate::differentiable::erased;
use std::any::type_name;
use std::marker::PhantomData;

/// The target of a rule, of which the attribute does not know whether it is safe to call.
#[derive(Debug)]
pub struct Target<F>(pub F);

/// A target that is safe to call.
pub trait SafeFunction<Signature> {
    /// The first of two.
    fn choose<S, U>(&self, safe: S, _: U) -> S {
        safe
    }
}

/// A target that is not, or nobody knows.
pub trait UnsafeFunction {
    /// The second of two.
    fn choose<S, U>(&self, _: S, other: U) -> U {
        other
    }
}

impl<F> UnsafeFunction for &Target<F> {}

macro_rules! safe_functions {
    () => {};
    ($first:ident $($rest:ident)*) => {
        impl<F: Fn($first, $($rest),*) -> R, R, $first, $($rest),*> SafeFunction<(R, ($first, $($rest,)*))> for Target<F> {}
        safe_functions!($($rest)*);
    };
}
safe_functions!(A B C D E G H I J K L M);

/// Whether a type has no lifetimes, as far as that is known without a look at its name: [`AnyLifetimes`] is for the
/// others.
#[derive(Debug)]
pub struct LifetimesOf<T: ?Sized>(PhantomData<T>);

macro_rules! without_lifetimes {
    ($($ty:ty)*) => {
        $(impl LifetimesOf<$ty> {
            /// It has none.
            pub const NONE: bool = true;
        })*
    };
}
without_lifetimes!(f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize bool char str);

/// A type that may have lifetimes.
pub trait AnyLifetimes {
    /// Nobody knows.
    const NONE: bool = false;
}

impl<T: ?Sized> AnyLifetimes for LifetimesOf<T> {}

/// How many lifetimes there are in a type, as its name shows.
#[inline(always)]
pub fn lifetimes_in<T: ?Sized>() -> usize {
    let name = type_name::<T>().as_bytes();
    // Most have none, which the optimiser sees of such a loop.
    let mut may_have_any = false;
    for letter in name {
        may_have_any |= matches!(letter, b'\'' | b'&' | b' ');
    }
    if !may_have_any {
        return 0;
    }
    let mut count = 0;
    let mut at = 0;
    while at < name.len() {
        // `Window<'_>`, `&[f64]`, `&'_ f64`
        let is_bare_reference = name[at] == b'&' && (at + 1 == name.len() || name[at + 1] != b'\'');
        // The name of a trait object does not show that it has one.
        let is_object = name[at..].starts_with(b"dyn ") && (at == 0 || !is_in_word(name[at - 1]));
        count += usize::from(name[at] == b'\'' || is_bare_reference || is_object);
        at += 1;
    }
    count
}

#[inline(always)]
fn is_in_word(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || letter == b'_'
}

/// Checks that there are no more lifetimes in an argument's type than the rule says, of which some may be unused.
///
/// # Panics
/// If there are.
#[inline(always)]
pub fn check_lifetimes<T: ?Sized>(written: usize, unused: usize, rule: &str, argument: &str) {
    if lifetimes_in::<T>() + unused > written {
        hidden(rule, argument, type_name::<T>());
    }
}

/// Whether a lifetime that is written in an argument's type says nothing: functions of two such types, `Apart` with
/// another lifetime in the second and `Together` with the same, are one type then.
#[inline(always)]
pub fn is_lifetime_unused<Apart, Together>() -> bool {
    erased::<Apart>() == erased::<Together>()
}

#[cold]
fn hidden(rule: &str, argument: &str, ty: &str) -> ! {
    panic!(
        "rule `{rule}`: the type of the argument `{argument}` hides a lifetime\n\
         help: write the type with its lifetimes, as `{ty}`, and without an alias"
    )
}

#[cfg(test)]
mod tests {
    use super::lifetimes_in;

    struct Window<'a>(#[allow(dead_code)] &'a [f64]);
    struct Owner(#[allow(dead_code)] Window<'static>);
    type Forever = Window<'static>;
    trait Copyable {}
    #[allow(non_camel_case_types)]
    struct Window_dyn;

    #[test]
    fn lifetimes_are_seen_behind_an_alias_and_not_inside_of_a_structure() {
        assert_eq!([lifetimes_in::<Window<'_>>(), lifetimes_in::<Forever>(), lifetimes_in::<Owner>()], [1, 1, 0]);
        assert_eq!([lifetimes_in::<&[f64]>(), lifetimes_in::<[Option<&mut Forever>; 2]>()], [1, 2]);
        assert_eq!([lifetimes_in::<fn(&f64) -> f64>(), lifetimes_in::<dyn Fn(&f64, Window<'_>)>()], [1, 3]);
        assert_eq!([lifetimes_in::<Option<Box<dyn Copyable>>>(), lifetimes_in::<Window_dyn>()], [1, 0]);
    }
}
