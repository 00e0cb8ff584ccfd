//! What a shadow borrows itself.
//!
//! Shadow and primal may differ in their lifetimes, and so may two shadows. So neither what the primal borrows, nor
//! what is borrowed elsewhere in a shadow, can get into a place of the caller's shadow. What can is
//!
//! - what was there before. A place is known by the [way](Way) there, through fields, variants, elements and pointers:
//!   the type at its end is the same whatever the derivative does, lifetimes and all. An address says nothing, for
//!   memory is given back and used again;
//! - a reference to a copy that is kept for ever.

use super::super::pointers::address_comes_first;
use crate::rules::lifetimes::lifetimes_in;
use std::alloc::Layout;
use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;
use std::sync::Mutex;

/// The parts that were taken out of shadows, which may borrow.
#[derive(Default)]
pub(super) struct Own {
    /// By the way to the memory they lie in, and how far from its start.
    parts: HashMap<(usize, usize), Part>,
    /// Those to which no way leads that can be told.
    others: Vec<Part>,
    /// Where a way goes on: by its number and the turn.
    turns: HashMap<(usize, Turn), usize>,
    /// How many ways there are.
    ways: usize,
}

/// The way from what the caller has lent to a piece of memory: its number, if it can be told, and where the memory
/// begins.
#[derive(Clone, Copy, Default)]
pub(super) struct Way {
    number: Option<usize>,
    start: usize,
}

/// How a way goes on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Turn {
    /// Along the pointer that lies so far from the start.
    Pointer(usize),
    /// Into a variant, in the same memory.
    Variant(usize),
}

/// A value in a box.
struct Part {
    value: *mut (),
    /// Drops the box; its content, too, if that is still there.
    free: unsafe fn(*mut (), bool),
    /// The type, but for lifetimes.
    ty: TypeId,
    /// Of a reference: what the primal's led to, and how long that was.
    target: (usize, usize),
}

impl Way {
    /// Whether it can be told.
    pub(super) const fn is_known(&self) -> bool {
        self.number.is_some()
    }

    /// The place in the memory that it leads to.
    fn place<T: ?Sized>(self, place: *const T) -> Option<(usize, usize)> {
        Some((self.number?, place.addr().wrapping_sub(self.start)))
    }
}

impl Own {
    /// The way to `memory` that is lent.
    pub(super) fn root<T: ?Sized>(&mut self, memory: *const T) -> Way {
        self.ways += 1;
        Way { number: Some(self.ways), start: memory.addr() }
    }

    /// From a way along the pointer at `place` to `memory`.
    pub(super) fn along<T: ?Sized>(&mut self, way: Way, place: *const (), memory: *const T) -> Way {
        let number = way.place(place).map(|(way, offset)| self.turn(way, Turn::Pointer(offset)));
        Way { number, start: memory.addr() }
    }

    /// From a way into a variant.
    pub(super) fn in_variant(&mut self, way: Way, variant: usize) -> Way {
        Way { number: way.number.map(|number| self.turn(number, Turn::Variant(variant))), ..way }
    }

    fn turn(&mut self, way: usize, turn: Turn) -> usize {
        let ways = &mut self.ways;
        *self.turns.entry((way, turn)).or_insert_with(|| {
            *ways += 1;
            *ways
        })
    }

    /// Keep a part of a shadow.
    ///
    /// # Safety
    /// `place` is not used as a value afterwards.
    pub(super) unsafe fn keep<T>(&mut self, way: Way, place: *mut T, target: (usize, usize)) {
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
        let part = Part { value, free: free::<T>, ty: erased::<T>(), target };
        match way.place(place) {
            Some(at) => self.others.extend(self.parts.insert(at, part)),
            None => self.others.push(part),
        }
    }

    /// Put the part back that was at the end of this way, if there was one, and if it is a reference that stands for
    /// such a target of the primal's; whether that was so.
    ///
    /// # Safety
    /// What is in the place is no value.
    pub(super) unsafe fn put_back<T>(&mut self, way: Way, place: *mut T, target: (usize, usize)) -> bool {
        let fits = |part: &Part| part.ty == erased::<T>() && part.target == target;
        let Some(at) = way.place(place).filter(|at| self.parts.get(at).is_some_and(fits)) else { return false };
        let Some(part) = self.parts.remove(&at) else { return false };
        // SAFETY: S19, asked of the caller; the content of the box is moved out, and is of the type that the place has.
        unsafe {
            place.write(part.value.cast::<T>().read());
            (part.free)(part.value, false);
        }
        true
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for part in self.parts.values().chain(&self.others) {
            // SAFETY: S19, the part is in its box.
            unsafe { (part.free)(part.value, true) };
        }
    }
}

/// Which type this is, but for lifetimes. (Types of one name may be different ones.)
pub(crate) fn erased<T: ?Sized>() -> TypeId {
    trait Erased {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<T: ?Sized> Erased for PhantomData<T> {
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

/// What a reference leads to, and how long that is.
pub(super) fn target<T: ?Sized>(of: &T) -> (usize, usize) {
    ((&raw const *of).addr(), size_of_val(of))
}

/// Whether values of a type may borrow what does not live for ever, as far as its name shows.
pub(super) fn may_borrow<T>() -> bool {
    struct Probe<'a>(PhantomData<&'a ()>);
    // A closure does not show what it captures.
    lifetimes_in::<T>() > 0 || std::any::type_name::<T>().contains('{') || lifetimes_in::<Probe<'_>>() == 0
}

/// Calls `$call!(T)` for types whose values are bytes, all of which are initialised.
macro_rules! for_plain {
    ($call:ident) => {
        for_plain!($call: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize bool char);
        $call!(str);
    };
    ($call:ident: $($T:ty)*) => {
        $($call!($T);)*
        $($call!([$T]);)*
    };
}

/// Whether values of a type are bytes, all of which are initialised.
fn is_plain<T: ?Sized>() -> bool {
    let id = erased::<T>();
    macro_rules! compare {
        ($T:ty) => {
            if id == TypeId::of::<$T>() {
                return true;
            }
        };
    }
    for_plain!(compare);
    false
}

/// Whether [`lasting`] makes values of a type.
pub(super) fn can_last<T>() -> bool {
    let id = erased::<T>();
    macro_rules! compare {
        ($T:ty) => {
            if id == TypeId::of::<&'static $T>() {
                return true;
            }
        };
    }
    for_plain!(compare);
    false
}

/// Such a value for ever: of a reference, one to a copy.
///
/// # Safety
/// There is a value at `of`.
pub(super) unsafe fn lasting<T>(of: *const T) -> Option<T> {
    let id = erased::<T>();
    macro_rules! copy {
        ($T:ty) => {
            if id == TypeId::of::<&'static $T>() {
                // SAFETY: S19, asked of the caller; the types are the same, but for lifetimes, and it lives for ever.
                return Some(unsafe { std::mem::transmute_copy(&kept::<$T>(*of.cast::<&$T>())) });
            }
        };
    }
    for_plain!(copy);
    None
}

/// The copies that are kept, by their types and bytes.
type Kept = HashMap<TypeId, HashSet<&'static [u8]>>;

/// Of what can be compared by its bytes there is one copy of each.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

/// A copy for ever of what a reference leads to.
///
/// # Safety
/// There are neither floats nor pointers in it.
pub(super) unsafe fn kept<'a, T: ?Sized>(of: &T) -> &'a T {
    const { assert!(address_comes_first()) };
    let (mut copy, layout) = (&raw const *of, Layout::for_value(of));
    let source = copy.cast::<u8>();
    if layout.size() == 0 {
        // SAFETY: S19, without a size any place is one.
        return unsafe { &*copy };
    }
    // SAFETY: S19, asked of the caller; a copy of bytes is a value.
    let new = || unsafe {
        let place = std::alloc::alloc(layout);
        if place.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        place.copy_from_nonoverlapping(source, layout.size());
        place.cast_const()
    };
    let place = if is_plain::<T>() {
        let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let kept = kept.get_or_insert_default().entry(erased::<T>()).or_default();
        // SAFETY: S19, all bytes of such a value are initialised.
        match kept.get(unsafe { std::slice::from_raw_parts(source, layout.size()) }) {
            Some(known) => known.as_ptr(),
            None => {
                let place = new();
                // SAFETY: S19, these bytes are there for ever.
                kept.insert(unsafe { std::slice::from_raw_parts(place, layout.size()) });
                place
            }
        }
    } else {
        new()
    };
    // SAFETY: S2, the address of a pointer is its first word, and there is such a value.
    unsafe {
        (&raw mut copy).cast::<*const u8>().write(place);
        &*copy
    }
}
