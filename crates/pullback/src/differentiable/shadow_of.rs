//! Which type a shadow has, if it is not that of its primal.
//!
//! A reverse derivative writes its shadows, so the macros put `&mut` where a signature has `&`: the shadow of
//! `Vec<&f64>` is a `Vec<&mut f64>`. All that a macro sees of `Vec` is its name, which may be that of a user's type,
//! and that may be another type for `&mut f64` than for `&f64`. So the macros also write down what they did,
//! `In<Ref<Same>>`, and [`ShadowOf`] says for which types that is sound.

use std::marker::PhantomData;
use std::pin::Pin;

/// The type was left as it is.
#[derive(Debug)]
pub struct Same;

/// A reference became a `&mut`, to the type that `P` made of its target.
#[derive(Debug)]
pub struct Ref<P>(PhantomData<P>);

/// The types inside of a slice, an array or a type of the standard library were replaced, as `P` says. (For a tuple,
/// `P` is a tuple.)
#[derive(Debug)]
pub struct In<P>(PhantomData<P>);

/// A type that is `Primal` with some `&` replaced by `&mut`, as `P` says.
///
/// # Safety
/// Behind a shared reference, a value of `Self` may be read as a `Primal`.
#[diagnostic::on_unimplemented(
    message = "the shadow of `{Primal}` would be `{Self}`, but these are not types of the standard library",
    label = "a type of this name is taken for the one of the standard library",
    note = "give the type another name, or put the references in a struct that derives `Differentiable`"
)]
pub unsafe trait ShadowOf<Primal: ?Sized, P> {}

// SAFETY: S7, the same type.
unsafe impl<T: ?Sized> ShadowOf<T, Same> for T {}
// SAFETY: S7, `&mut` behind a shared reference may be read as `&`, and as `&mut` behind a shared reference.
unsafe impl<T: ?Sized, S: ShadowOf<T, P> + ?Sized, P> ShadowOf<&T, Ref<P>> for &mut S {}
// SAFETY: S7, as above.
unsafe impl<T: ?Sized, S: ShadowOf<T, P> + ?Sized, P> ShadowOf<&mut T, Ref<P>> for &mut S {}
// SAFETY: S7, such values in a row.
unsafe impl<T, S: ShadowOf<T, P>, P> ShadowOf<[T], In<P>> for [S] {}
// SAFETY: S7, such values in a row.
unsafe impl<T, S: ShadowOf<T, P>, P, const N: usize> ShadowOf<[T; N], In<P>> for [S; N] {}
// SAFETY: S7, the types of the content differ only in `&` and `&mut`, which look alike in memory and have the same
// niches. As for all types below, the compiler could lay out the two in different ways, and does not.
unsafe impl<T, S: ShadowOf<T, P>, P> ShadowOf<Vec<T>, In<P>> for Vec<S> {}
// SAFETY: S7, as above.
unsafe impl<T: ?Sized, S: ShadowOf<T, P> + ?Sized, P> ShadowOf<Box<T>, In<P>> for Box<S> {}
// SAFETY: S7, as above.
unsafe impl<T, S: ShadowOf<T, P>, P> ShadowOf<Pin<T>, In<P>> for Pin<S> {}
// SAFETY: S7, as above.
unsafe impl<T, S: ShadowOf<T, P>, P> ShadowOf<Option<T>, In<P>> for Option<S> {}
// SAFETY: S7, as above.
unsafe impl<T, E, S: ShadowOf<T, P>, F: ShadowOf<E, Q>, P, Q> ShadowOf<Result<T, E>, In<(P, Q)>> for Result<S, F> {}

macro_rules! tuples {
    ($($($T:ident $S:ident $P:ident),*;)*) => {$(
        // SAFETY: S7, as above.
        unsafe impl<$($T, $S: ShadowOf<$T, $P>, $P),*> ShadowOf<($($T,)*), ($($P,)*)> for ($($S,)*) {}
    )*};
}
tuples! {
    A S0 P0;
    A S0 P0, B S1 P1;
    A S0 P0, B S1 P1, C S2 P2;
    A S0 P0, B S1 P1, C S2 P2, D S3 P3;
    A S0 P0, B S1 P1, C S2 P2, D S3 P3, E S4 P4;
    A S0 P0, B S1 P1, C S2 P2, D S3 P3, E S4 P4, F S5 P5;
    A S0 P0, B S1 P1, C S2 P2, D S3 P3, E S4 P4, F S5 P5, G S6 P6;
    A S0 P0, B S1 P1, C S2 P2, D S3 P3, E S4 P4, F S5 P5, G S6 P6, H S7 P7;
    A S0 P0, B S1 P1, C S2 P2, D S3 P3, E S4 P4, F S5 P5, G S6 P6, H S7 P7, I S8 P8;
    A S0 P0, B S1 P1, C S2 P2, D S3 P3, E S4 P4, F S5 P5, G S6 P6, H S7 P7, I S8 P8, J S9 P9;
    A S0 P0, B S1 P1, C S2 P2, D S3 P3, E S4 P4, F S5 P5, G S6 P6, H S7 P7, I S8 P8, J S9 P9, K S10 P10;
    A S0 P0, B S1 P1, C S2 P2, D S3 P3, E S4 P4, F S5 P5, G S6 P6, H S7 P7, I S8 P8, J S9 P9, K S10 P10, L S11 P11;
}
