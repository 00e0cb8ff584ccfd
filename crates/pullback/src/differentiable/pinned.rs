//! `Pin`: pointers to what stays where it is.
//!
//! Who has pinned a value that is not `Unpin` may have its address elsewhere, in a list say, and use it there. Floats and
//! pointers of a shadow are written by the derivative all the same: their types take part, and say so. A skipped field
//! takes no part, and knows nothing of derivatives. In forward mode it would be taken out of the shadow and a clone be put
//! there (S19), in an enum it would be zero for a while (S12), and after a panic the bytes be put back that it had before
//! (S23). So a shadow that is pinned has no skipped field of a type that is not known to be `Unpin`, but where nothing of
//! the kind is done: behind a shared reference, outside of an enum. And of a type of another crate, for which one with the
//! same fields stands, all knows nothing of derivatives.

use super::path::Access;
use super::reach::Depth;
use super::wrappers::only_part;
use super::{
    Differentiable, MakeZero, Mismatch, Path, SharedWritable, Sharing, VisitConstants, VisitFloats, Writable,
    corresponding, layout_fn,
};
use crate::abi::{Field, Kind, Layout};
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

/// Whether a type is `Unpin` where the derive stands; as `CloneOf` for clones.
#[derive(Debug)]
pub struct UnpinOf<T>(PhantomData<T>);

impl<T: Unpin> UnpinOf<T> {
    /// It is.
    pub const IS: bool = true;
}

/// A type of which nobody knows that it is `Unpin`.
pub trait NotUnpin {
    /// It may not be.
    const IS: bool = false;
}

impl<T> NotUnpin for UnpinOf<T> {}

/// The name of a type with a skipped field that may not be moved, or one of another crate's type, in what a value of
/// `layout` is or owns.
fn holder(
    layout: &'static Layout,
    access: Access,
    in_variant: bool,
    met: &mut Vec<(*const Layout, bool)>,
) -> Option<&'static str> {
    let name = layout.name.get();
    let is_lent = name.starts_with(['&', '*']) && name != "&mut";
    if is_lent || met.contains(&(&raw const *layout, in_variant)) {
        return None;
    }
    met.push((&raw const *layout, in_variant));
    let fields = layout.fields.get();
    let in_variant = in_variant || fields.iter().any(|field| field.kind == Kind::Opaque || field.is_optional());
    fields.iter().find_map(|field| match field.layout {
        _ if field.kind == Kind::Unknown => {
            (field.stays() && (in_variant || access == Access::Exclusive)).then_some(name)
        }
        // Its floats are written, too.
        _ if field.stays() => Some(name),
        Some(inner) => holder(inner(), access, in_variant, met),
        None => None,
    })
}

/// The pointer in a pin, which is nothing else.
fn pointer<P>(pin: &Pin<P>) -> &P {
    const { only_part::<Pin<P>, P>() };
    // SAFETY: S36, a `Pin` is `repr(transparent)`. Nothing is moved out of what the pointer leads to.
    unsafe { &*(&raw const *pin).cast() }
}

macro_rules! pins {
    ($([$($parameter:tt)*] $P:ty, to $T:ident, access $access:expr, glance $glance:expr;)*) => {$(
        // SAFETY: S36, the pointer, and what may not be moved is refused.
        unsafe impl<$($parameter)*> Differentiable for Pin<$P>
        where
            $P: Differentiable,
            $T: Differentiable,
        {
            type Within<Depths: Depth> = <$P as Differentiable>::Within<Depths>;

            const LAYOUT: Layout = Layout::new::<Self>(
                "Pin",
                const { &[Field::nested(only_part::<Self, $P>(), 1, layout_fn::<$P>())] },
            );
            // Not `T::CONSTANTS`: a recursive type would ask itself.
            const CHECKED: bool = <$P as Differentiable>::CHECKED || !$glance;
            const PLAIN: bool = false;
            const VARIANTS: bool = false;
            const CELLS: bool = false;
            const CONSTANTS: bool = <$P as Differentiable>::CONSTANTS;
            const INERT: bool = false;

            fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
                let access: fn(&Path<'_>) -> Access = $access;
                if let Some(holder) = holder(const { &$T::LAYOUT }, access(path), false, &mut Vec::new()) {
                    path.pinned(holder)?;
                }
                pointer(self).check_shadow(pointer(shadow), path)
            }

            #[inline]
            unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
                let part = pointer(self);
                // SAFETY: S36, asked of the caller.
                unsafe { part.floats(corresponding(self, part, shadow), visit) }
            }

            #[inline]
            unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
                let part = pointer(self);
                // SAFETY: S36, asked of the caller.
                unsafe { part.constants(corresponding(self, part, shadow), visit) }
            }
        }

        // SAFETY: S37, such a pointer to a value of its own, that nobody moves. (Of a reference there is no zero.)
        unsafe impl<$($parameter)*> MakeZero for Pin<$P>
        where
            $P: MakeZero,
            $T: Differentiable,
        {
            fn zero_like(&self, sharing: &mut Sharing) -> Self {
                // SAFETY: S37, as above.
                unsafe { Pin::new_unchecked(pointer(self).zero_like(sharing)) }
            }
        }

        // SAFETY: S38, as the pointer.
        unsafe impl<$($parameter)*> Writable for Pin<$P> where $P: Writable, $T: Differentiable {}
        // SAFETY: S38, as the pointer.
        unsafe impl<$($parameter)*> SharedWritable for Pin<$P> where $P: SharedWritable, $T: Differentiable {}
    )*};
}
pins! {
    ['a, T: ?Sized] &'a T, to T, access |_| Access::Shared, glance true;
    ['a, T: ?Sized] &'a mut T, to T, access |path| path.access(), glance false;
    [T: ?Sized] Box<T>, to T, access |path| path.access(), glance false;
    [T] Rc<T>, to T, access |path| path.access(), glance false;
    [T] Arc<T>, to T, access |path| path.access(), glance false;
}

#[cfg(test)]
mod tests {
    use crate::differentiable::{Congruence, Names, ShadowKind};
    use crate::{Differentiable, make_zero};
    use std::marker::PhantomPinned;
    use std::pin::Pin;
    use std::rc::Rc;

    #[test]
    fn pins_have_zeros() {
        assert_eq!(make_zero(&Box::pin(2.5)), Box::pin(0.0));
        let shared = Rc::pin(2.5);
        let zeros = make_zero(&[shared.clone(), shared]);
        assert_eq!((*zeros[0], &raw const *zeros[0]), (0.0, &raw const *zeros[1]));
    }

    #[derive(Differentiable, Clone)]
    struct Linked {
        x: f64,
        #[pullback(skip)]
        node: (u8, PhantomPinned),
    }

    #[derive(Differentiable)]
    enum Either {
        Linked(#[pullback(skip)] (u8, PhantomPinned)),
        Number(f64),
    }

    #[derive(Differentiable)]
    struct Marked<T> {
        x: T,
        #[pullback(skip)]
        pin: PhantomPinned,
        #[pullback(skip)]
        text: Box<Linked>,
    }

    /// As of another crate.
    mod other {
        #[derive(Clone, Copy)]
        pub struct Linked {
            pub x: f64,
            pub id: u64,
            pub pin: super::PhantomPinned,
        }
    }

    #[derive(Differentiable)]
    #[pullback(remote = "other::Linked")]
    struct Other {
        x: f64,
        id: u64,
        #[pullback(skip)]
        pin: PhantomPinned,
    }

    #[derive(Differentiable)]
    struct Holder {
        #[pullback(with = "Other")]
        of: other::Linked,
    }

    #[derive(Differentiable)]
    enum Held {
        Here(#[pullback(with = "Other")] other::Linked),
    }

    /// Whether a shadow may be pinned like this.
    fn fits<T: Differentiable>(value: &T, shadow: ShadowKind) -> bool {
        let names = Names { congruence: &Congruence::default(), argument: "x", direction: 0, shadow };
        value.check_shadow(value, &crate::differentiable::Path::argument("x").naming(Some(&names))).is_ok()
    }

    #[test]
    fn what_is_pinned_and_skipped_is_not_written() {
        let linked = || Linked { x: 1.0, node: (2, PhantomPinned) };
        let either = [Either::Linked((1, PhantomPinned)), Either::Number(1.0)];
        for shadow in [ShadowKind::Cotangent, ShadowKind::Tangent] {
            assert!(!fits(&Box::pin(linked()), shadow));
            assert!(!fits(&Rc::pin(linked()), shadow));
            assert!(!fits(&Box::pin([vec![Some(linked())]]), shadow));
            let linked = linked();
            // SAFETY: S8, it stays where it is.
            let shared = unsafe { Pin::new_unchecked(&linked) };
            assert!(fits(&shared, shadow));
            assert!(fits(&&Box::pin((linked.x, linked)), shadow));
            for either in &either {
                // SAFETY: S8, it stays where it is.
                assert!(!fits(&unsafe { Pin::new_unchecked(either) }, shadow));
            }
            let text = || Box::new(Linked { x: 1.0, node: (2, PhantomPinned) });
            assert!(fits(&Box::pin(Marked { x: 1.0, pin: PhantomPinned, text: text() }), shadow));
        }
        assert!(fits(&Box::pin(linked()), ShadowKind::Missing));
    }

    #[test]
    fn what_is_pinned_and_of_another_crate_is_not_written() {
        let of = other::Linked { x: 1.0, id: 2, pin: PhantomPinned };
        let holder = Holder { of };
        for shadow in [ShadowKind::Cotangent, ShadowKind::Tangent] {
            assert!(!fits(&Box::pin(Holder { of }), shadow) && !fits(&Box::pin(Held::Here(of)), shadow));
            // SAFETY: S8, it stays where it is.
            let shared = unsafe { Pin::new_unchecked(&holder) };
            assert!(!fits(&shared, shadow));
            assert!(fits(&Box::new(Holder { of }), shadow) && fits(&Box::pin(Other::from(of)), shadow));
        }
    }
}
