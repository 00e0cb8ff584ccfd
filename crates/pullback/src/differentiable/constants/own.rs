//! What a shadow borrows itself.
//!
//! Shadow and primal may differ in their lifetimes, and so may two shadows. So neither what the primal borrows, nor
//! what is borrowed elsewhere in a shadow, can get into a place of the caller's shadow. What can is
//!
//! - what was there before. A place is known by the [way](Way) there, through fields, variants, elements and pointers:
//!   the type at its end is the same whatever the derivative does, lifetimes and all. An address says nothing, for
//!   memory is given back and used again;
//! - a reference to what is there for ever ([`kept`]).

use super::super::hashing::Map;
use super::kept::kept;
use crate::rules::lifetimes::lifetimes_in;
use std::any::TypeId;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The parts that were taken out of shadows, which may borrow.
#[derive(Default)]
pub(super) struct Own {
    parts: Vec<Part>,
    /// The places of those that can be told, in the order of `parts`.
    places: Numbers<Place>,
    /// Where a way goes on. The number of a turn is that of the way there.
    turns: Numbers<(usize, Turn)>,
    /// How many ways were begun.
    roots: usize,
}

/// The way to the memory that something lies in, and how far from its start.
type Place = (usize, usize);

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

/// A way as long as nobody asks where it leads: most lead to nothing that is taken out.
#[derive(Clone, Copy)]
pub(super) enum Ahead {
    /// That was asked.
    Known(Way),
    /// Along the pointer at a place to some memory.
    Pointer { place: usize, memory: usize },
    /// Into a variant.
    Variant(usize),
}

/// What is done where a way goes on as none did before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It is noted.
    Note,
    /// It cannot be told where it leads: nothing was taken out there.
    Leave,
}

/// Keys, in the order in which they were noted, and their numbers. Who asks for them again mostly does in that order.
struct Numbers<K> {
    keys: Vec<K>,
    /// The number that will be asked for next.
    next: usize,
    /// Of the first keys, and of how many.
    numbers: Map<K, usize>,
    mapped: usize,
}

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Numbers { keys: Vec::new(), next: 0, numbers: Map::default(), mapped: 0 }
    }
}

impl<K: Copy + Eq + std::hash::Hash> Numbers<K> {
    fn find(&mut self, key: K) -> Option<usize> {
        let mut number = self.next;
        if self.keys.get(number) != Some(&key) {
            for (number, key) in self.keys.iter().enumerate().skip(self.mapped) {
                self.numbers.insert(*key, number);
            }
            self.mapped = self.keys.len();
            number = *self.numbers.get(&key)?;
        }
        self.next = number + 1;
        Some(number)
    }

    /// Note a key that is new.
    fn note(&mut self, key: K) -> usize {
        self.keys.push(key);
        self.keys.len() - 1
    }
}

/// A value that was taken out.
struct Part {
    value: Value,
    /// Drops the value, if it is still there, and what it was kept in.
    free: unsafe fn(&mut Value, bool),
    is_there: bool,
    /// The type, but for lifetimes.
    ty: TypeId,
    /// Of a reference: what the primal's led to, and how long that was.
    target: (usize, usize),
}

/// A value that is as small as a reference, or the address of a box with it.
type Value = MaybeUninit<[usize; 2]>;

/// Where a value is that was kept.
///
/// # Safety
/// In `value` a `T` was kept.
unsafe fn content<T>(value: &mut Value) -> *mut T {
    let place = value.as_mut_ptr();
    if const { is_small::<T>() } {
        place.cast()
    } else {
        // SAFETY: S19, asked of the caller; this is a box then.
        unsafe { place.cast::<*mut T>().read() }
    }
}

const fn is_small<T>() -> bool {
    size_of::<T>() <= size_of::<Value>() && align_of::<T>() <= align_of::<Value>()
}

impl Way {
    /// Whether it can be told.
    pub(super) const fn is_known(&self) -> bool {
        self.number.is_some()
    }

    /// The place in the memory that it leads to.
    fn place<T: ?Sized>(self, place: *const T) -> Option<Place> {
        Some((self.number?, place.addr().wrapping_sub(self.start)))
    }
}

impl Own {
    /// The way to `memory` that is lent.
    pub(super) fn root<T: ?Sized>(&mut self, memory: *const T) -> Way {
        self.roots += 1;
        Way { number: Some(usize::MAX - self.roots), start: memory.addr() }
    }

    /// Where a way goes on.
    pub(super) fn after(&mut self, way: Way, ahead: Ahead, unknown: Unknown) -> Way {
        let (turn, start) = match ahead {
            Ahead::Known(way) => return way,
            Ahead::Pointer { place, memory } => (Turn::Pointer(place.wrapping_sub(way.start)), memory),
            Ahead::Variant(number) => (Turn::Variant(number), way.start),
        };
        let number = way.number.and_then(|from| {
            // A walk that takes out comes along each pointer once.
            let known = match (turn, unknown) {
                (Turn::Pointer(_), Unknown::Note) => None,
                _ => self.turns.find((from, turn)),
            };
            known.or_else(|| (unknown == Unknown::Note).then(|| self.turns.note((from, turn))))
        });
        Way { number, start }
    }

    /// All parts were taken, and are asked for next.
    pub(super) fn rewind(&mut self) {
        (self.places.next, self.turns.next) = (0, 0);
    }

    /// Keep a part of a shadow.
    ///
    /// # Safety
    /// `place` is not used as a value afterwards.
    pub(super) unsafe fn keep<T>(&mut self, way: Way, place: *mut T, target: (usize, usize)) {
        /// # Safety: in `value` a `T` was kept.
        unsafe fn free<T>(value: &mut Value, is_there: bool) {
            // SAFETY: S19, asked of the caller.
            unsafe {
                let content = content::<T>(value);
                let _box = (!is_small::<T>()).then(|| Box::from_raw(content.cast::<MaybeUninit<T>>()));
                if is_there {
                    content.drop_in_place();
                }
            }
        }
        let mut value = Value::uninit();
        // SAFETY: S19, asked of the caller.
        unsafe {
            if const { is_small::<T>() } {
                value.as_mut_ptr().cast::<T>().write(place.read());
            } else {
                value.as_mut_ptr().cast::<*mut T>().write(Box::into_raw(Box::new(place.read())));
            }
        }
        self.places.note(way.place(place).unwrap_or((usize::MAX, self.parts.len())));
        self.parts.push(Part { value, free: free::<T>, is_there: true, ty: erased::<T>(), target });
    }

    /// Put the part back that was at the end of this way, if there was one, and if it is a reference that stands for
    /// such a target of the primal's; whether that was so.
    ///
    /// # Safety
    /// What is in the place is no value.
    pub(super) unsafe fn put_back<T>(&mut self, way: Way, place: *mut T, target: (usize, usize)) -> bool {
        let Some(number) = way.place(place).and_then(|at| self.places.find(at)) else { return false };
        let part = &mut self.parts[number];
        if !part.is_there || part.ty != erased::<T>() || part.target != target {
            return false;
        }
        part.is_there = false;
        // SAFETY: S19, asked of the caller; the content is moved out, and is of the type that the place has.
        unsafe {
            place.write(content::<T>(&mut part.value).read());
            (part.free)(&mut part.value, false);
        }
        true
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for part in self.parts.iter_mut().filter(|part| part.is_there) {
            // SAFETY: S19, the part is there.
            unsafe { (part.free)(&mut part.value, true) };
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

/// Whether values of a type may borrow what does not live for ever, as far as its name shows. The derive has seen that
/// names do.
pub(super) fn may_borrow<T>() -> bool {
    // A closure does not show what it captures.
    lifetimes_in::<T>() > 0 || std::any::type_name::<T>().contains('{')
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
