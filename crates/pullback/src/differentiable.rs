//! The types whose values can have derivatives, and their shadows.
//!
//! A *shadow* is a second value of the same shape, in which the derivative of each float lies where the float lies in
//! the primal. [`Differentiable`] describes a type's memory to the engine and checks that a shadow fits its primal;
//! [`MakeZero`] makes a shadow; [`Writable`] and [`SharedWritable`] say through which references a derivative may write
//! it.

mod arrangement;
mod congruence;
mod constants;
mod deque;
mod floats;
mod foreign;
mod hashing;
mod inactive;
mod made_of;
mod masked;
mod mirror;
mod owning;
mod path;
mod pinned;
mod pointers;
pub mod reach;
mod ref_cell;
mod shadow_of;
mod shared;
mod values;
mod wrappers;

#[cfg(test)]
mod tests;

use crate::abi::{Layout, LayoutFn};
pub use arrangement::Arrangement;
pub use congruence::Congruence;
pub(crate) use constants::erased;
pub use constants::{CloneOf, Constants, NoClone, VisitConstants, is_token, part_layout};
pub(crate) use floats::pointee;
pub use floats::{Float, VisitFloats, corresponding};
pub(crate) use hashing::Set;
pub use masked::{Masked, Part};
pub use mirror::Mirror;
pub use path::{Access, Mismatch, Path};
pub(crate) use path::{Names, Others, ShadowKind};
pub use pinned::{NotUnpin, UnpinOf};
use reach::{Depth, Reach};
pub(crate) use ref_cell::holds_pointers;
pub use shadow_of::{In, Ref, Same, ShadowOf};
pub use shared::Sharing;

/// A type whose values can have derivatives.
///
/// Implemented for floats, for everything built of them with arrays, tuples, references, `Vec`, `Box`, `Option`,
/// `Result`, `Rc` and the like, and for types without floats that occur beside them; with the features `glam`,
/// `nalgebra`, `ndarray` and `num-complex` for the vectors, matrices, arrays and numbers of these crates. For your own types, derive it:
///
/// ```
/// use pullback::{Differentiable, make_zero};
///
/// #[derive(Differentiable, PartialEq, Debug)]
/// struct Layer {
///     weights: Vec<f64>,
///     bias: f64,
///     inputs: usize,
/// }
///
/// let layer = Layer { weights: vec![0.5, 0.25], bias: 1.0, inputs: 2 };
/// assert_eq!(make_zero(&layer), Layer { weights: vec![0.0, 0.0], bias: 0.0, inputs: 2 });
/// ```
///
/// # Safety
/// [`LAYOUT`](Self::LAYOUT) describes the type's memory as it is. [`check_shadow`](Self::check_shadow) fails whenever
/// an access that is in bounds for the primal might not be for the shadow. If [`PLAIN`](Self::PLAIN) is true, all that
/// is not padding is floats; if [`VARIANTS`](Self::VARIANTS) is false, no variant is; if [`CELLS`](Self::CELLS) is
/// false, nothing in it is in a cell; if [`AT_A_GLANCE`](Self::AT_A_GLANCE) is
/// true, `check_shadow` notes nothing, and fails exactly if [`fits_at_a_glance`](Self::fits_at_a_glance) is false; if [`CONSTANTS`](Self::CONSTANTS) is false, nothing is visited by
/// [`constants`](Self::constants), which visits all that the layout calls unknown; if [`INERT`](Self::INERT) is true,
/// there are no floats and no pointers, and [`floats`](Self::floats) visits all variants and numbers, so that values
/// of which it visits the same are the same. [`Within`](Self::Within) leaves out no cell. [`floats`](Self::floats)
/// visits floats of `self` with places that lie in the same way in a shadow.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot take part in a derivative",
    label = "`{Self}` does not implement `Differentiable`",
    note = "add `#[derive(pullback::Differentiable)]` to the type, put `#[pullback(skip)]` on a field that carries no \
            derivative, or mark the argument `Const`",
    note = "types of `glam`, `nalgebra`, `ndarray` and `num-complex` take part with the features of `pullback` of these names",
    note = "the floats of a `HashMap`, a `BTreeMap` or a `dyn Trait` have no shadow: keep them in a `Vec`, and in the map where each \
            is; let the function be generic, or take an enum",
    note = "any struct of another crate whose fields are public takes part by one of yours with the same fields and \
            `#[pullback(remote = \"…\")]`"
)]
pub unsafe trait Differentiable {
    /// What the type holds and what it refers to by so many pointers, as to cells.
    type Within<D: Depth>: Reach;

    /// What lies where in the type's memory. For a slice: in that of one element.
    const LAYOUT: Layout;

    /// Whether there is anything to check about a shadow: a length, a variant, or behind pointers a cell, which may
    /// have other names.
    const CHECKED: bool;

    /// Whether the type is floats and nothing else, so that memory in which only the floats are written holds a value
    /// of it.
    const PLAIN: bool;

    /// Whether the type is or holds an enum, so that what lies where in its memory depends on a variant. What is behind
    /// pointers is not meant.
    const VARIANTS: bool;

    /// Whether there are cells in the value itself: memory that may be written through a shared reference. What is
    /// behind pointers is not meant.
    const CELLS: bool;

    /// Whether there may be parts that carry no derivative and have to be values of their own in a tangent: strings,
    /// skipped fields. It may be true where there are none.
    const CONSTANTS: bool;

    /// Whether the value itself holds neither floats nor pointers, and no cells.
    const INERT: bool;

    /// Check that `shadow` has the shape of `self`: the same lengths and variants throughout.
    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch>;

    /// Whether a [glance](Self::fits_at_a_glance) tells all that [`check_shadow`](Self::check_shadow) does, which then
    /// notes nothing.
    const AT_A_GLANCE: bool = !Self::CHECKED && !Self::CELLS;

    /// Whether `shadow` fits, if that [is seen at a glance](Self::AT_A_GLANCE).
    #[inline(always)]
    fn fits_at_a_glance(&self, shadow: &Self) -> bool {
        let _ = shadow;
        true
    }

    /// Visit each float that `self` owns or refers to, together with the place where it lies in the shadow at `shadow`.
    ///
    /// Of the shadow only pointers are read. Lengths and variants are those of `self`: while a reverse derivative runs,
    /// shadows of what the primal made itself hold only floats and pointers.
    ///
    /// # Safety
    /// `shadow` has the shape of `self`, as far as pointers go; nothing that is behind them is used by anybody else.
    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V);

    /// Visit each part that carries no derivative and is owned by `self`, or is behind a mutable reference, together
    /// with its place in the shadow.
    ///
    /// # Safety
    /// As for [`floats`](Self::floats).
    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        let _ = (shadow, visit);
    }

    /// [`floats`](Self::floats) of values in a row.
    ///
    /// # Safety
    /// As for [`floats`](Self::floats), for as many values as `row` has.
    unsafe fn floats_in_row<V: VisitFloats>(row: &[Self], shadow: *mut Self, visit: &mut V)
    where
        Self: Sized,
    {
        for (index, value) in row.iter().enumerate() {
            // SAFETY: S36, asked of the caller.
            unsafe { value.floats(shadow.add(index), visit) }
        }
    }
}

/// The layout of a type, as the driver reads it.
pub fn layout_of<T: Differentiable + ?Sized>() -> &'static Layout {
    const { &T::LAYOUT }
}

/// [`layout_of`] as a constant, for layouts that refer to that of `T`.
pub(crate) const fn layout_fn<T: Differentiable + ?Sized>() -> LayoutFn {
    layout_of::<T>
}

/// A type that owns all it reaches, so that a shadow of its values can be made and handed back by value.
///
/// [`derive(Differentiable)`](derive@crate::Differentiable) implements it for types that hold no references.
///
/// # Safety
/// What [`zero_like`](Self::zero_like) returns has the shape of `self`, as
/// [`check_shadow`](Differentiable::check_shadow) says. A derivative writes every float that is reached from it: they
/// may be written, and nothing else refers to them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not own its floats, so no gradient of it can be returned by value",
    label = "this type holds a reference, or is not `Differentiable`",
    note = "an argument that is or holds a reference is `Duplicated`, or `Dual` in forward mode; `Active` is for values"
)]
pub unsafe trait MakeZero: Differentiable + Sized {
    /// A deep copy with every float zero and everything else as in `self`. `sharing` remembers which shared values were
    /// copied, so that what is one value in `self` is one value in the copy.
    fn zero_like(&self, sharing: &mut Sharing) -> Self;
}

/// A float: a result that can be `Active`, with the seed 1.
#[diagnostic::on_unimplemented(
    message = "an `Active` result is a float, not `{Self}`",
    label = "the seed 1 has no meaning for `{Self}`",
    note = "mark the result `Duplicated` to pass its cotangent as the last argument, or `Const`"
)]
pub trait ActiveResult: MakeZero + Copy {
    /// The seed.
    const ONE: Self;
}

/// A type whose shadow a derivative may write through `&mut`.
///
/// All types but those that reach floats through a shared reference.
///
/// # Safety
/// Whoever has `&mut Self` may write every float that is reached from it.
#[diagnostic::on_unimplemented(
    message = "a shadow of type `{Self}` cannot be written",
    label = "`{Self}` reaches floats through a shared reference, or is not `Differentiable`",
    note = "use `&mut` inside the type, or `Cell`, or mark the argument `Const`"
)]
pub unsafe trait Writable: Differentiable {
    /// Where the derive puts the proof that every field is writable. Never called.
    #[doc(hidden)]
    fn assert_fields() {}
}

/// A type whose shadow a derivative may write through `&`: one without floats, or with its floats in cells.
///
/// # Safety
/// Whoever has `&Self` may write every float that is reached from it.
#[diagnostic::on_unimplemented(
    message = "a gradient cannot be written through a shared reference to `{Self}`",
    label = "the floats of `{Self}` cannot be written through a shared reference",
    note = "use `&mut` or a `Cell`, or mark the argument `Const`"
)]
pub unsafe trait SharedWritable: Writable {}

/// A value of which [`make_zero`] makes a shadow: owned values, slices and strings.
///
/// It is implemented for all types that are [`MakeZero`], for slices of such, and for `str`, and cannot be implemented
/// for others: derivatives rely on what [`to_zero`](Self::to_zero) returns, and on how that is borrowed.
#[diagnostic::on_unimplemented(
    message = "`make_zero` cannot make a shadow of `{Self}`",
    note = "it takes a value that owns its floats, or a slice: for `x: &[f64]` write `make_zero(x)`"
)]
pub trait ToZero: Differentiable + sealed::Sealed {
    /// The shadow: `Self`, or a `Vec` for a slice.
    type Zero;

    /// A deep copy with every float zero and everything else as in `self`.
    fn to_zero(&self) -> Self::Zero;
}

/// The types that are [`ToZero`].
mod sealed {
    pub trait Sealed {}
    impl<T: super::MakeZero> Sealed for T {}
    impl<T: super::MakeZero> Sealed for [T] {}
    impl Sealed for str {}
}

impl<T: MakeZero> ToZero for T {
    type Zero = T;

    fn to_zero(&self) -> T {
        self.zero_like(&mut Sharing::new())
    }
}

impl<T: MakeZero> ToZero for [T] {
    type Zero = Vec<T>;

    fn to_zero(&self) -> Vec<T> {
        let mut sharing = Sharing::new();
        self.iter().map(|value| value.zero_like(&mut sharing)).collect()
    }
}

impl ToZero for str {
    type Zero = String;

    fn to_zero(&self) -> String {
        self.to_owned()
    }
}

/// A zero shadow for `value`: a deep copy with every float zero and everything else as in `value`. Values that are
/// shared in `value` are shared in the same way in the shadow.
///
/// ```
/// use pullback::make_zero;
///
/// let rows = vec![vec![1.0, 2.0], vec![3.0]];
/// assert_eq!(make_zero(&rows), [vec![0.0, 0.0], vec![0.0]]);
/// assert_eq!(make_zero(&rows[0][..]), [0.0, 0.0]);
/// assert_eq!(make_zero(&(1.5, 7)), (0.0, 7));
/// ```
pub fn make_zero<T: ToZero + ?Sized>(value: &T) -> T::Zero {
    value.to_zero()
}
