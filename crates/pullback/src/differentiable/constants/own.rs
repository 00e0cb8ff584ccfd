//! What a shadow borrows itself.
//!
//! The types of shadow and primal may differ in their lifetimes, so what the primal borrows cannot get into the
//! caller's shadow. A part that may borrow is put back where it was when the derivative is through. Where there was
//! none, there are such parts elsewhere in the shadow, or the function could not get at any that does not live for
//! ever. What a new reference leads to is copied.

use super::super::pointers::address_comes_first;
use std::alloc::Layout;
use std::any::TypeId;
use std::collections::HashMap;
use std::marker::PhantomData;

/// The parts that were taken out of shadows, which may borrow.
#[derive(Default)]
pub(super) struct Own {
    parts: Vec<Part>,
    /// By their places.
    places: HashMap<usize, usize>,
    /// Of references: by what the primal's led to, and how long that was.
    targets: HashMap<(usize, usize), usize>,
}

/// A value in a box, or in its place again.
struct Part {
    value: *mut (),
    /// Drops the box; its content, too, if that is still there.
    free: unsafe fn(*mut (), bool),
    /// The type, but for lifetimes.
    ty: TypeId,
    is_back: bool,
}

impl Own {
    /// Keep a part of a shadow.
    ///
    /// # Safety
    /// `place` is not used as a value afterwards.
    pub(super) unsafe fn keep<T>(&mut self, place: *mut T) {
        /// # Safety: `value` is a box of a `T`, whose content is there or not.
        unsafe fn free<T>(value: *mut (), is_there: bool) {
            // SAFETY: S19, asked of the caller.
            unsafe {
                if is_there {
                    drop(Box::from_raw(value.cast::<T>()));
                } else {
                    drop(Box::from_raw(value.cast::<std::mem::MaybeUninit<T>>()));
                }
            }
        }
        // SAFETY: S19, asked of the caller.
        let value = Box::into_raw(Box::new(unsafe { place.read() })).cast();
        self.places.insert(place.addr(), self.parts.len());
        self.parts.push(Part { value, free: free::<T>, ty: erased::<T>(), is_back: false });
    }

    /// Keep a reference of a shadow.
    ///
    /// # Safety
    /// As for [`keep`](Self::keep).
    pub(super) unsafe fn keep_reference<T: ?Sized>(&mut self, primal: &T, place: *mut &T) {
        self.targets.insert(target(primal), self.parts.len());
        // SAFETY: S19, asked of the caller.
        unsafe { self.keep(place) }
    }

    /// Put the part back that was in this place; whether there was one.
    ///
    /// # Safety
    /// What is in the place is no value, and a `T` for other lifetimes, if that was there, may be put there.
    pub(super) unsafe fn put_back<T>(&mut self, place: *mut T) -> bool {
        let Some(part) = self.places.get(&place.addr()).map(|number| &mut self.parts[*number]) else { return false };
        if part.ty != erased::<T>() || part.is_back {
            return false;
        }
        // SAFETY: S19, asked of the caller; the content of the box is moved out.
        unsafe { place.write(part.value.cast::<T>().read()) };
        part.is_back = true;
        // SAFETY: S19, the box is empty now.
        unsafe { (part.free)(part.value, false) };
        part.value = place.cast();
        true
    }

    /// The shadow's reference that stands for this one of the primal.
    ///
    /// # Safety
    /// References to something like that, but for lifetimes, were kept only of such a type.
    pub(super) unsafe fn reference<'a, T: ?Sized>(&self, primal: &T) -> Option<&'a T> {
        let part = &self.parts[*self.targets.get(&target(primal))?];
        // SAFETY: S19, asked of the caller. References are not put back, so it is in its box.
        (part.ty == erased::<&T>()).then(|| unsafe { *part.value.cast::<&'a T>() })
    }

    /// The reference that was in this place.
    ///
    /// # Safety
    /// As for [`put_back`](Self::put_back).
    pub(super) unsafe fn at<'a, T: ?Sized>(&self, place: *mut &'a T) -> Option<&'a T> {
        let part = &self.parts[*self.places.get(&place.addr())?];
        // SAFETY: S19, asked of the caller. References are not put back, so it is in its box.
        (part.ty == erased::<&T>()).then(|| unsafe { *part.value.cast::<&'a T>() })
    }

    /// Any part of this type.
    pub(super) fn any<T>(&self) -> Option<*const T> {
        let part = self.parts.iter().find(|part| part.ty == erased::<T>())?;
        Some(part.value.cast_const().cast())
    }

    /// Whether nothing was kept.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

/// Which type this is, but for lifetimes. (Types of one name may be different ones.)
fn erased<T>() -> TypeId {
    trait Erased {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<T> Erased for PhantomData<T> {
        fn id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }
    let probe: &(dyn Erased + '_) = &PhantomData::<T>;
    // SAFETY: S19, there is no `T` in it, so nothing that could be used for too long. The compiler makes one function
    // for all lifetimes.
    unsafe { std::mem::transmute::<&(dyn Erased + '_), &(dyn Erased + 'static)>(probe) }.id()
}

/// A copy for ever of what a reference leads to.
///
/// # Safety
/// There are neither floats nor pointers in it.
pub(super) unsafe fn kept<'a, T: ?Sized>(of: &T) -> &'a T {
    const { assert!(address_comes_first()) };
    let (mut copy, layout) = (&raw const *of, Layout::for_value(of));
    // SAFETY: S19, asked of the caller; a copy of bytes is a value. Without a size, any place is one.
    unsafe {
        if layout.size() > 0 {
            let place = std::alloc::alloc(layout);
            if place.is_null() {
                std::alloc::handle_alloc_error(layout);
            }
            place.copy_from_nonoverlapping((&raw const *of).cast(), layout.size());
            (&raw mut copy).cast::<*const u8>().write(place);
        }
        &*copy
    }
}

fn target<T: ?Sized>(of: &T) -> (usize, usize) {
    ((&raw const *of).addr(), size_of_val(of))
}

impl Drop for Own {
    fn drop(&mut self) {
        for part in self.parts.iter().filter(|part| !part.is_back) {
            // SAFETY: S19, the part is in its box.
            unsafe { (part.free)(part.value, true) };
        }
    }
}
