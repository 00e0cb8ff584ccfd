//! What the expansion of an attribute refers to. Not for use by hand: it changes with the attributes.

pub use crate::abi::{
    __pullback_disowns as disowns, __pullback_later as later, __pullback_marker as marker, __pullback_renews as renews,
    __pullback_saves as saves, __pullback_yields as yields, Activity, Arg, Field, Layout, LayoutFn, Mode, Request,
};
pub use crate::differentiable::{
    ActiveResult, CloneOf, Congruence, Constants, Differentiable, In, MakeZero, Masked, Mirror, Mismatch, NoClone,
    NotUnpin, Part, Path, Ref, Same, ShadowOf, SharedWritable, Sharing, UnpinOf, VisitConstants, VisitFloats, Writable,
    corresponding, is_token, layout_of, make_zero, part_layout,
};
pub use crate::rt::{Noted, Seed, Tape, note_bookkeeping as note, note_seed_bookkeeping as note_seed, release_spare};

/// What is there only in a build by the driver. (A condition in the expansion would be that of the user's crate, whose
/// compiler has not been told of it.)
#[cfg(pullback)]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_driver {
    ($($items:item)*) => { $($items)* };
}

/// Nothing: this build is not by the driver.
#[cfg(not(pullback))]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_driver {
    ($($items:item)*) => {};
}

/// The first of two blocks in a build by the driver, else the second.
#[cfg(pullback)]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_driver_or {
    ($with:block $without:block) => {
        $with
    };
}

/// The second of two blocks: this build is not by the driver.
#[cfg(not(pullback))]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_driver_or {
    ($with:block $without:block) => {
        $without
    };
}

pub use crate::{__with_driver as with_driver, __with_driver_or as with_driver_or};

/// What the expansion of a rule's attribute refers to.
pub mod rules {
    pub use crate::rules::closure::{CopyOf, NoCopy, kept_closure, shared_closure, store_closure, take_closure};
    pub use crate::rules::cotangent::{add_floats, take_cotangent};
    pub use crate::rules::lifetimes::{AnyLifetimes, LifetimesOf, check_lifetimes, is_lifetime_unused, lifetimes_in};
    pub use crate::rules::lifetimes::{SafeFunction, Target, UnsafeFunction};
    pub use crate::rules::result::{Cotangents, assert_own, view_result};
    pub use crate::rules::shadow::{Shadow, kept_view, raw_shadow, read_view, view};
    pub use crate::rules::tangent::TangentPlace;
    pub use crate::rules::transpose::Inside;
    pub use crate::rules::watch::{Behind, NotWatched};

    /// Whether a value is the one of a function's own type.
    pub const fn is_function<F: Copy>(_: &F) -> bool {
        size_of::<F>() == 0
    }

    /// A rule's function, of which there is nothing to know but its type.
    ///
    /// # Safety
    /// `F` is the type of a function, of which a value was seen.
    #[inline(always)]
    pub unsafe fn function<F: Copy>() -> F {
        const { assert!(size_of::<F>() == 0) }
        // SAFETY: S30, it has no bytes, may be copied, and there is one.
        unsafe { std::ptr::dangling::<F>().read() }
    }
}

use crate::abi::Kind;
use crate::differentiable::{Names, ShadowKind};
use std::marker::PhantomData;
use std::mem::{MaybeUninit, align_of, needs_drop, size_of};

/// Fails the build, once and after `cargo check` would be through, if it does not go through the driver: nobody else
/// puts derivatives in place of markers. It is generic so that it fails only where a derivative is compiled.
pub const fn built_by_driver<T>() {
    const { assert!(cfg!(pullback), "{}", BUILD_WITH_CARGO_PULLBACK) }
}

const BUILD_WITH_CARGO_PULLBACK: &str = "this program has derivatives, which Pullback's driver makes: \
    build it with `cargo pullback build` (or `run`, `test`, `bench`)";

/// The layout of `T` if `T` is [`Differentiable`] where the attribute stands, and else opaque bytes: arguments marked
/// `Const` may be of any type.
///
/// `LayoutOf::<T>::LAYOUT` is the inherent constant if its bound holds, and else that of [`AnyLayout`].
#[derive(Debug)]
pub struct LayoutOf<T>(PhantomData<T>);

impl<T: Differentiable> LayoutOf<T> {
    /// The layout of a type that takes part in derivatives.
    pub const LAYOUT: LayoutFn = layout_of::<T>;
}

/// The layout of a type that takes no part in derivatives.
pub trait AnyLayout {
    /// What the type is.
    type Value;
    /// Bytes about which nothing is known.
    const LAYOUT: LayoutFn;

    /// Of the cells in it nothing is known, either: the driver refuses to read floats that may lie in cells which have
    /// a shadow.
    #[inline]
    fn name(_: &'static str, _: &Self::Value, _: &Congruence) {}
}

impl<T> AnyLayout for LayoutOf<T> {
    type Value = T;
    const LAYOUT: LayoutFn = unknown_layout::<T>;
}

/// The layout of a skipped field of an enum: if it is known to hold no floats, nothing else has to be known of it. As
/// [`LayoutOf`], with [`AnySkipped`] for the others.
#[derive(Debug)]
pub struct SkippedOf<T>(PhantomData<T>);

impl<T: Differentiable> SkippedOf<T> {
    /// The layout of a field of a type that takes part elsewhere.
    pub const LAYOUT: LayoutFn = if holds_no_float(&T::LAYOUT) { inactive_layout::<T> } else { unknown_layout::<T> };
}

/// The layout of a skipped field of any type.
pub trait AnySkipped {
    /// Bytes about which nothing is known.
    const LAYOUT: LayoutFn;
}

impl<T> AnySkipped for SkippedOf<T> {
    const LAYOUT: LayoutFn = unknown_layout::<T>;
}

/// Whether a layout by itself says that there are no floats.
const fn holds_no_float(layout: &Layout) -> bool {
    let mut fields = layout.fields.get();
    while let [field, rest @ ..] = fields {
        match field.kind {
            Kind::Inactive => {}
            Kind::Pointer if field.layout.is_none() => {}
            _ => return false,
        }
        fields = rest;
    }
    true
}

fn inactive_layout<T>() -> &'static Layout {
    const { &Layout::new::<T>("skipped", const { &[Field::inactive(0, size_of::<T>())] }) }
}

/// Whether `T` is a reference where the attribute stands: an alias may hide one. As [`LayoutOf`], with [`NoReference`]
/// for the others.
#[derive(Debug)]
pub struct ReferenceOf<T>(PhantomData<T>);

impl<T: ?Sized> ReferenceOf<&T> {
    /// It is one.
    pub const IS_REFERENCE: bool = true;
}

impl<T: ?Sized> ReferenceOf<&mut T> {
    /// It is one.
    pub const IS_REFERENCE: bool = true;
}

/// A type that is not a reference.
pub trait NoReference {
    /// It is none.
    const IS_REFERENCE: bool = false;
}

impl<T> NoReference for ReferenceOf<T> {}

/// The layout of a type that takes no part.
pub fn unknown_layout<T>() -> &'static Layout {
    const { &Layout::new::<T>("unknown", const { &[Field::unknown(0, size_of::<T>())] }) }
}

/// That `S` is `T` with some `&` replaced by `&mut`, as `P` says. (It is said of types, and not of the values, whose
/// lifetimes differ.)
pub const fn shadow_of<T: ?Sized, S: ShadowOf<T, P> + ?Sized, P>() {}

/// Panic unless `shadow` fits `primal`, the argument `name`. In reverse mode, note what of it to mask.
///
/// # Safety
/// `S` is `T` with some `&` replaced by `&mut`, and other lifetimes.
#[track_caller]
#[inline]
pub unsafe fn check<T: Differentiable, S>(
    name: &'static str,
    primal: &T,
    shadow: &S,
    masked: Option<&Masked>,
    (congruence, direction): (&Congruence, usize),
) {
    const { assert!(size_of::<T>() == size_of::<S>() && align_of::<T>() == align_of::<S>()) }
    // SAFETY: S7, `&mut U` behind a shared reference may be read as `&U`; nothing else differs between the types.
    let shadow = unsafe { &*(&raw const *shadow).cast::<T>() };
    let kind = if masked.is_some() { ShadowKind::Cotangent } else { ShadowKind::Tangent };
    let names = || Names { congruence, argument: name, direction, shadow: kind };
    if T::AT_A_GLANCE {
        if !primal.fits_at_a_glance(shadow) {
            mismatched(name, primal, shadow, masked, names());
        }
    } else if T::CHECKED {
        walk_bookkeeping(name, primal, shadow, masked, Some(&names()));
    }
}

/// Panic, for this shadow does not fit.
#[cold]
#[inline(never)]
#[track_caller]
fn mismatched<T: Differentiable>(name: &str, primal: &T, shadow: &T, masked: Option<&Masked>, names: Names<'_>) -> ! {
    walk_bookkeeping(name, primal, shadow, masked, Some(&names));
    unreachable!("the shadow of `{name}` fits and does not fit");
}

/// The walk through a value that has something to check. A derivative of a derivative calls it as it is.
#[track_caller]
fn walk_bookkeeping<T: Differentiable>(
    name: &str,
    primal: &T,
    shadow: &T,
    masked: Option<&Masked>,
    names: Option<&Names<'_>>,
) {
    if let Err(mismatch) = primal.check_shadow(shadow, &Path::argument(name).noting(masked).naming(names)) {
        panic!("{mismatch}");
    }
}

impl<T: Differentiable> LayoutOf<T> {
    /// Note the cells that an argument without a shadow reaches, if its type says where they are.
    #[inline]
    pub fn name(argument: &'static str, value: &T, congruence: &Congruence) {
        if T::CHECKED && !T::AT_A_GLANCE {
            let names = Names { congruence, argument, direction: 0, shadow: ShadowKind::Missing };
            walk_bookkeeping(argument, value, value, None, Some(&names));
        }
    }
}

/// A shadow that may be written: the bound that a reverse-mode shadow has to meet. If cells of it are masked, it has
/// them to itself, or this panics.
#[track_caller]
#[inline]
pub fn writable<S: Writable>(name: &str, shadow: &mut S, masked: &Masked) -> *mut () {
    if masked.has_cells() {
        own_cells_bookkeeping(name, shadow, masked);
    }
    (&raw mut *shadow).cast()
}

/// The walk that finds who owns the cells of a shadow.
#[track_caller]
#[inline(never)]
fn own_cells_bookkeeping<S: Writable>(name: &str, shadow: &S, masked: &Masked) {
    if let Err(mismatch) = shadow.check_shadow(shadow, &Path::argument(name).finding_owners(masked)) {
        panic!("{mismatch}");
    }
}

/// A result without indirection, whose cotangent can be given by value: it owns all it reaches, and that is nothing.
pub trait FlatResult: MakeZero + Copy {}

impl<T: MakeZero + Copy> FlatResult for T {}

/// Whether a result's cotangent lies where the derivative looks for it from the start. As [`LayoutOf`], with
/// [`OwnsMemory`] for the others.
#[derive(Debug)]
pub struct SeedOf<R>(PhantomData<R>);

impl<R: FlatResult> SeedOf<R> {
    /// It does.
    pub const IS_FLAT: bool = true;
}

/// A result that may own memory: its cotangent is added to its shadow when there is one.
pub trait OwnsMemory {
    /// It does not.
    const IS_FLAT: bool = false;
}

impl<R> OwnsMemory for SeedOf<R> {}

/// The place of the shadow of a result, if that is not the cotangent's own. It is zero, so that what lies beside floats
/// in an enum is not taken for one.
#[inline(always)]
pub const fn result_shadow<R>(is_flat: bool) -> MaybeUninit<R> {
    if is_flat { MaybeUninit::uninit() } else { MaybeUninit::zeroed() }
}

/// A result's cotangent that is given by value. There is no result yet to check it against: if it turns out to be
/// another variant, what counts is a float that lies where the result has one, and nothing else.
pub fn seed<R: MakeZero>(seed: &R, is_flat: bool, masked: &Masked) {
    if R::CHECKED && is_flat {
        walk_bookkeeping("return", seed, seed, Some(masked), None);
    }
}

/// The zero gradient of an `Active` argument.
pub fn zero<T: MakeZero>(value: &T) -> T {
    make_zero(value)
}

/// The activity of a result that is not returned. One that has to be dropped, or has parts for its tangent, is needed
/// for that.
pub const fn unneeded<R: Differentiable>() -> Activity {
    if needs_drop::<R>() || R::CONSTANTS { Activity::Duplicated } else { Activity::DuplicatedNoNeed }
}

/// Drop a result that is not returned.
///
/// # Safety
/// If `R` has to be dropped, `out` holds a value.
pub unsafe fn drop_unneeded<R>(out: MaybeUninit<R>) {
    if needs_drop::<R>() {
        // SAFETY: S40, asked of the caller.
        drop(unsafe { out.assume_init() });
    }
}

/// The tangents of a slice of length `length`, which lie one after the other in `stacked`.
#[track_caller]
pub fn unstack<'a, T, const N: usize>(name: &str, length: usize, stacked: &'a [T]) -> [&'a [T]; N] {
    check_stacked(name, length, N, stacked.len());
    std::array::from_fn(|direction| &stacked[direction * length..(direction + 1) * length])
}

/// [`unstack`] for a mutable slice.
#[track_caller]
pub fn unstack_mut<'a, T, const N: usize>(name: &str, length: usize, mut stacked: &'a mut [T]) -> [&'a mut [T]; N] {
    check_stacked(name, length, N, stacked.len());
    std::array::from_fn(|_| stacked.split_off_mut(..length).expect("the length was checked"))
}

#[track_caller]
fn check_stacked(name: &str, length: usize, directions: usize, stacked: usize) {
    assert!(
        length.checked_mul(directions) == Some(stacked),
        "shadow of argument `{name}` does not fit: `{name}` has length {length}, so its {directions} tangents one \
         after the other have length {}, but the slice has length {stacked}",
        length * directions
    );
}
