//! What of a tangent carries no derivative: strings, and fields with `#[pullback(skip)]`.
//!
//! The engine knows nothing of such parts but where they lie. In a shadow it does not write them, but for the lengths of a string, and moves them
//! with what lies beside them: while a derivative runs, a shadow holds no value there. So the wrapper of a forward derivative
//!
//! - takes such parts out of each shadow that the derivative may change, before it runs ([`Constants::take`]);
//! - puts clones of the primal's there when it is through, also by a panic, and in the tangents of results;
//! - drops what it took out.
//!
//! What is behind a shared reference stays as it is: a skipped cell may be written there, but only the primal's. In an enum the engine does not
//! know where a part lies, and treats it like all else: a string is the same in shadow and primal, capacity and all, which the check of the
//! shadow sees to.

use super::Differentiable;
use super::owning::text_address;
use crate::abi::Layout;
use std::any::type_name;
use std::collections::HashSet;
use std::mem::{ManuallyDrop, needs_drop};

/// Makes another value.
pub type CloneFn<T> = fn(&T) -> T;

/// What is done with each part of a value that carries no derivative, and with its place in a shadow.
pub trait VisitConstants {
    /// A skipped field. Without `clone` no other value of its type can be made.
    ///
    /// # Safety
    /// `primal` holds a value. `shadow` is a place for one.
    unsafe fn part<T>(&mut self, primal: *const T, shadow: *mut T, clone: Option<CloneFn<T>>);

    /// A string.
    ///
    /// # Safety
    /// As for [`part`](Self::part).
    unsafe fn text(&mut self, primal: *const String, shadow: *mut String);

    /// A shared reference to what holds neither floats nor pointers.
    ///
    /// # Safety
    /// As for [`part`](Self::part).
    unsafe fn reference<'a, T: ?Sized>(&mut self, primal: *const &'a T, shadow: *mut &'a T) {
        let _ = (primal, shadow);
    }

    /// A `None` that is told from `Some` by bits of its content, which may be those of a skipped field.
    ///
    /// # Safety
    /// As for [`part`](Self::part), and there is nothing to be dropped in such a value.
    unsafe fn nothing<T>(&mut self, primal: *const T, shadow: *mut T) {
        let _ = (primal, shadow);
    }

    /// What a mutable reference points to.
    ///
    /// # Safety
    /// As for [`part`](Self::part), as long as the derivative runs.
    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T);

    /// Whether to look at a shared value, whose shadow is at this address.
    fn counted(&mut self, shadow: *const ()) -> bool;

    /// What follows lies in an enum, where nobody knows, until it is [left](Self::leave).
    fn enter_variant(&mut self);

    /// The end of an enum, or of a shared value.
    fn leave(&mut self);
}

/// The parts that were taken out of shadows, and where others have to be put. Nothing, if there are none: each forward derivative makes one of
/// these, so that it is one word.
#[derive(Default)]
pub struct Constants {
    taken: ManuallyDrop<Option<Box<Taken>>>,
}

#[derive(Default)]
struct Taken {
    parts: Vec<Box<dyn Erased>>,
    /// What is borrowed by the derivative, and has other parts when it is through.
    borrowed: Vec<Later<'static>>,
    /// Shared values of shadows that came with the arguments.
    counted: HashSet<*const ()>,
    /// The places of shadows that have got parts of their own: several ways may lead there.
    adopted: HashSet<*const ()>,
}

/// Puts parts into a shadow when the derivative is through.
type Later<'a> = Box<dyn Fn(&mut Adopt<'_>) + 'a>;

/// A value of some type.
trait Erased {}
impl<T> Erased for T {}

impl std::fmt::Debug for Constants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Constants").finish_non_exhaustive()
    }
}

impl Constants {
    /// Panic if there is a part in an argument that cannot be taken out of its shadow.
    ///
    /// # Safety
    /// `shadow` is the place of a shadow that fits `primal`: `S` is `T` with other lifetimes.
    #[track_caller]
    #[inline]
    pub unsafe fn examine<T: Differentiable, S>(name: &str, primal: &T, shadow: *mut S) {
        if T::CONSTANTS {
            // SAFETY: S19, asked of the caller.
            unsafe { examine_parts(name, primal, shadow.cast()) }
        }
    }

    /// Panic if there may be a part in a result of which there is no other for its tangent.
    #[track_caller]
    #[inline]
    pub fn examine_result<T: Differentiable>() {
        if T::CONSTANTS {
            examine_type("the result", &T::LAYOUT);
        }
    }

    /// Take all parts out of the shadow of an argument, which was [examined](Self::examine).
    ///
    /// # Safety
    /// `shadow` is the place of a shadow that fits `primal`: `S` is `T` with other lifetimes. The derivative is called next; until this is
    /// dropped, nothing else uses the two.
    #[inline]
    pub unsafe fn take<T: Differentiable, S>(&mut self, primal: &T, shadow: *mut S) {
        if T::CONSTANTS {
            // SAFETY: S19, asked of the caller.
            unsafe { self.take_parts(primal, shadow.cast()) }
        }
    }

    /// # Safety: as of [`take`](Self::take).
    #[inline(never)]
    unsafe fn take_parts<T: Differentiable>(&mut self, primal: &T, shadow: *mut T) {
        // SAFETY: S19, asked of the caller.
        unsafe { primal.constants(shadow, &mut Take { taken: &mut self.taken, variants: 0 }) };
    }

    /// Put parts of its own into the tangent of a result.
    ///
    /// # Safety
    /// `tangent` is what a derivative made of what is at `value`: `S` is `T` with other lifetimes. The value is there if `T` may have such
    /// parts.
    #[inline]
    pub unsafe fn complete<T: Differentiable, S>(&mut self, value: *const T, tangent: *mut S) {
        if T::CONSTANTS {
            // SAFETY: S19, asked of the caller.
            unsafe { self.complete_parts(&*value, tangent.cast()) }
        }
    }

    /// # Safety: as of [`complete`](Self::complete).
    #[inline(never)]
    unsafe fn complete_parts<T: Differentiable>(&mut self, value: &T, tangent: *mut T) {
        let Taken { counted, adopted, .. } = &mut **self.taken.get_or_insert_default();
        let mut adopt =
            Adopt { known: counted, adopted, borrowed: HashSet::new(), met: HashSet::new(), inside: Vec::new() };
        // SAFETY: S19, asked of the caller.
        unsafe { value.constants(tangent, &mut adopt) };
    }
}

/// # Safety: as of [`Constants::examine`].
#[track_caller]
#[inline(never)]
unsafe fn examine_parts<T: Differentiable>(name: &str, primal: &T, shadow: *mut T) {
    let mut examine = Examine::default();
    // SAFETY: S19, asked of the caller. This pass writes nothing.
    unsafe { primal.constants(shadow, &mut examine) };
    if let Some(why) = examine.obstacle {
        panic!("argument `{name}` cannot be differentiated in forward mode: {why}");
    }
    examine_type(&format!("argument `{name}`"), &T::LAYOUT);
}

/// What the function makes itself may have parts that no argument has yet.
#[track_caller]
#[inline(never)]
fn examine_type(what: &str, layout: &'static Layout) {
    /// A type that has a skipped field of which no other value can be made, in what `layout` owns or borrows mutably.
    fn single(layout: &'static Layout, met: &mut Vec<*const Layout>) -> Option<&'static str> {
        let lent = layout.name().starts_with(['&', '*']) && layout.name() != "&mut";
        if lent || met.contains(&&raw const *layout) {
            return None;
        }
        met.push(layout);
        layout.fields().iter().find_map(|field| match field.layout() {
            Some(inner) => single(inner(), met),
            None => field.is_single().then(|| layout.name()),
        })
    }
    if let Some(name) = single(layout, &mut Vec::new()) {
        panic!(
            "{what} cannot be differentiated in forward mode: it may hold a `{name}`, which has a skipped field that cannot be cloned for the \
             tangent"
        );
    }
}

impl Drop for Constants {
    /// If nothing was taken, it is as if this were not there.
    #[inline]
    fn drop(&mut self) {
        if self.taken.is_some() {
            self.finish();
        }
    }
}

impl Constants {
    /// All that is done when this is dropped, in one function that a derivative of a derivative calls as it is.
    #[inline(never)]
    fn finish(&mut self) {
        if let Some(taken) = &mut *self.taken {
            let unfinished = Unfinished;
            let Taken { borrowed, counted, adopted, .. } = &mut **taken;
            let mut adopt =
                Adopt { known: counted, adopted, borrowed: HashSet::new(), met: HashSet::new(), inside: Vec::new() };
            for borrowed in borrowed {
                borrowed(&mut adopt);
            }
            std::mem::forget(unfinished);
        }
        // SAFETY: S19, this is dropped once.
        unsafe { ManuallyDrop::drop(&mut self.taken) };
    }
}

/// Is dropped if a `clone` panics when the derivative is through. Then there is no value for the caller's shadow, which holds bits of the primal's,
/// and will be dropped.
struct Unfinished;

impl Drop for Unfinished {
    #[cold]
    fn drop(&mut self) {
        eprintln!("a skipped field of a tangent cannot be made, for `Clone::clone` of its type has panicked");
        std::process::abort();
    }
}

/// Finds what stands in the way.
#[derive(Default)]
struct Examine {
    obstacle: Option<String>,
    /// The enums, and shared values, around what is visited.
    inside: Vec<Inside>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Variant,
    Counted,
}

impl Examine {
    fn object<T>(&mut self, why: &str) {
        self.obstacle.get_or_insert_with(|| format!("it holds a `{}` {why}", type_name::<T>()));
    }
}

impl VisitConstants for Examine {
    unsafe fn part<T>(&mut self, _: *const T, _: *mut T, clone: Option<CloneFn<T>>) {
        if size_of::<T>() == 0 {
            return;
        }
        if clone.is_none() {
            self.object::<T>("in a skipped field, which cannot be cloned for the tangent");
        } else if needs_drop::<T>() && self.inside.contains(&Inside::Variant) {
            self.object::<T>("in a skipped field of an enum, where it cannot be found");
        } else if needs_drop::<T>() && self.inside.contains(&Inside::Counted) {
            self.object::<T>("in a skipped field behind an `Rc`, which others may own");
        }
    }

    unsafe fn text(&mut self, _: *const String, _: *mut String) {
        if self.inside.contains(&Inside::Counted) {
            self.object::<String>("behind an `Rc`, which others may own");
        }
    }

    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T) {
        // SAFETY: S19, asked of the caller.
        unsafe { (*primal).constants(shadow, self) }
    }

    fn counted(&mut self, _: *const ()) -> bool {
        self.inside.push(Inside::Counted);
        true
    }

    fn enter_variant(&mut self) {
        self.inside.push(Inside::Variant);
    }

    fn leave(&mut self) {
        self.inside.pop();
    }
}

/// Takes parts out of a shadow. Where they were are the bits of the primal's.
struct Take<'a> {
    taken: &'a mut Option<Box<Taken>>,
    variants: usize,
}

impl VisitConstants for Take<'_> {
    unsafe fn part<T>(&mut self, primal: *const T, shadow: *mut T, _: Option<CloneFn<T>>) {
        if needs_drop::<T>() {
            // SAFETY: S19, asked of the caller. What was there is taken over; the bits that are there now are put away before the shadow is used.
            unsafe {
                let part: Box<dyn Erased> = Box::new(shadow.read());
                // SAFETY: S19, a value that was part of a shadow is dropped before the derivative returns to who lent the shadow.
                self.taken
                    .get_or_insert_default()
                    .parts
                    .push(std::mem::transmute::<Box<dyn Erased + '_>, Box<dyn Erased>>(part));
                primal.copy_to_nonoverlapping(shadow, 1);
            }
        }
    }

    unsafe fn text(&mut self, primal: *const String, shadow: *mut String) {
        if self.variants == 0 {
            // SAFETY: S19, asked of the caller.
            unsafe { self.part(primal, shadow, Some(String::clone)) }
        }
    }

    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T) {
        // SAFETY: S19, asked of the caller.
        let adopt = move |adopt: &mut Adopt<'_>| unsafe { adopt.borrowed(primal, shadow) };
        // SAFETY: S19, it is called before the derivative returns to who lent both.
        self.taken
            .get_or_insert_default()
            .borrowed
            .push(unsafe { std::mem::transmute::<Later<'_>, Later<'static>>(Box::new(adopt)) });
        // SAFETY: S19, asked of the caller.
        unsafe { (*primal).constants(shadow, self) }
    }

    fn counted(&mut self, shadow: *const ()) -> bool {
        self.taken.get_or_insert_default().counted.insert(shadow);
        false
    }

    fn enter_variant(&mut self) {
        self.variants += 1;
    }

    fn leave(&mut self) {
        self.variants -= 1;
    }
}

/// Puts clones of a primal's parts into a shadow.
struct Adopt<'a> {
    /// Shared values that have parts of their own.
    known: &'a HashSet<*const ()>,
    /// Parts that were put in their places.
    adopted: &'a mut HashSet<*const ()>,
    /// What mutable references lead to: address and size.
    borrowed: HashSet<(*const (), usize)>,
    met: HashSet<*const ()>,
    inside: Vec<Inside>,
}

impl VisitConstants for Adopt<'_> {
    unsafe fn part<T>(&mut self, primal: *const T, shadow: *mut T, clone: Option<CloneFn<T>>) {
        if let Some(clone) = clone
            && (size_of::<T>() == 0 || !self.adopted.contains(&shadow.cast_const().cast()))
        {
            // SAFETY: S19, asked of the caller. What is there is no value.
            unsafe { shadow.write(clone(&*primal)) };
            self.adopted.insert(shadow.cast_const().cast());
        }
    }

    unsafe fn text(&mut self, primal: *const String, shadow: *mut String) {
        // SAFETY: S19, asked of the caller.
        unsafe {
            // In an enum the engine makes memory for the shadow, too, where it sees the primal's made.
            let address = text_address(shadow);
            let own = self.inside.contains(&Inside::Variant) && !address.is_null() && address != text_address(primal);
            if !own && self.adopted.insert(shadow.cast_const().cast()) {
                shadow.write((*primal).clone());
            }
        }
    }

    unsafe fn reference<'a, T: ?Sized>(&mut self, primal: *const &'a T, shadow: *mut &'a T) {
        // SAFETY: S19, asked of the caller. Whoever has the primal's may have it twice.
        unsafe { shadow.write(*primal) }
    }

    unsafe fn nothing<T>(&mut self, primal: *const T, shadow: *mut T) {
        // SAFETY: S19, asked of the caller.
        unsafe { primal.copy_to_nonoverlapping(shadow, 1) }
    }

    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T) {
        // SAFETY: S19, asked of the caller. It may be memory that the function has made and never gives back, of which nobody else knows.
        unsafe {
            if self.borrowed.insert((shadow.cast_const().cast(), size_of_val(&*primal))) {
                (*primal).constants(shadow, self);
            }
        }
    }

    fn counted(&mut self, shadow: *const ()) -> bool {
        let new = !self.known.contains(&shadow) && self.met.insert(shadow);
        if new {
            self.inside.push(Inside::Counted);
        }
        new
    }

    fn enter_variant(&mut self) {
        self.inside.push(Inside::Variant);
    }

    fn leave(&mut self) {
        self.inside.pop();
    }
}

/// How another value of `T` is made, if `T` is `Clone` where the derive stands; as `LayoutOf` for layouts.
#[derive(Debug)]
pub struct CloneOf<T>(std::marker::PhantomData<T>);

impl<T: Clone> CloneOf<T> {
    /// By its `Clone`.
    pub const CLONE: Option<CloneFn<T>> = Some(T::clone);
}

/// A type that is not `Clone`.
pub trait NoClone: Sized {
    /// What stands behind `CloneOf`.
    type Value;
    /// None.
    const CLONE: Option<CloneFn<Self::Value>> = None;
}

impl<T> NoClone for CloneOf<T> {
    type Value = T;
}
