//! References that live for ever, in the place of those that a primal has: to the same, if nothing ever ends or writes
//! it; else to a copy, of which there is one for each value.

use super::super::hashing::Map;
use super::super::pointers::address_comes_first;
use super::super::{Differentiable, Float, VisitFloats, pointee};
use super::own::erased;
use std::alloc::Layout;
use std::any::TypeId;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

/// The copies, by the hashes of their types and values.
struct Copies {
    hashes: RandomState,
    places: Map<u64, Vec<Place>>,
}

/// Where a copy is.
struct Place {
    ty: TypeId,
    bytes: &'static [MaybeUninit<u8>],
}

static COPIES: Mutex<Option<Copies>> = Mutex::new(None);

/// A reference for ever to such a value.
///
/// # Safety
/// The type is [`INERT`](Differentiable::INERT).
pub(super) unsafe fn kept<'a, T: Differentiable + ?Sized>(of: &T) -> &'a T {
    let here = (&raw const *of).cast::<u8>();
    let bytes = size_of_val(of);
    if bytes == 0 || program::is_constant(here.addr(), bytes) {
        // SAFETY: S19, without a size any place is one, and what nothing writes or gives back is there for ever.
        return unsafe { value_at(of, here) };
    }
    let key = key(of);
    let ty = erased::<T>();
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    let copies = copies.get_or_insert_with(|| Copies { hashes: RandomState::new(), places: Map::default() });
    let hash = copies.hashes.hash_one((ty, &key));
    let places = copies.places.entry(hash).or_default();
    let known = places.iter().filter(|place| place.ty == ty && place.bytes.len() == bytes);
    // SAFETY: S19, such a value is there, with as many elements as have so many bytes.
    let mut known = known.map(|place| unsafe { value_at::<T>(of, place.bytes.as_ptr().cast()) });
    if let Some(known) = known.find(|known| !key.is_empty() && self::key(*known) == key) {
        return known;
    }
    // SAFETY: S19, asked of the caller: a copy of its bytes is such a value, and has a size.
    unsafe {
        let layout = Layout::for_value(of);
        let copy = std::alloc::alloc(layout);
        if copy.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        copy.copy_from_nonoverlapping(here, bytes);
        places.push(Place { ty, bytes: std::slice::from_raw_parts(copy.cast(), bytes) });
        value_at(of, copy)
    }
}

/// What is at `place`, of the size of another value of the type.
///
/// # Safety
/// There is such a value, for ever.
unsafe fn value_at<'a, T: ?Sized>(like: &T, place: *const u8) -> &'a T {
    const { assert!(address_comes_first()) };
    let place = place.cast_mut().cast::<()>();
    // SAFETY: S19, asked of the caller.
    unsafe { &*pointee(like, &raw const place) }
}

/// What tells one inert value from others of its type and size: variants, and numbers.
fn key<T: Differentiable + ?Sized>(of: &T) -> Vec<u8> {
    let mut key = Key(Vec::new());
    // SAFETY: S36, there are neither floats nor pointers, so nothing of a shadow is used.
    unsafe { of.floats((&raw const *of).cast_mut(), &mut key) };
    key.0
}

struct Key(Vec<u8>);

impl Hasher for Key {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

impl VisitFloats for Key {
    fn inert<T: Hash + ?Sized>(&mut self, value: &T) {
        value.hash(self);
    }

    fn variant(&mut self, number: usize) {
        self.write_usize(number);
    }

    unsafe fn run<F: Float>(&mut self, _: *const F, _: *mut F, _: usize) {}

    unsafe fn pointer(&mut self, _: *mut *mut (), _: bool) -> bool {
        false
    }

    fn is_new(&mut self, _: *const ()) -> bool {
        false
    }
}

/// The memory of the program itself.
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
mod program {
    use std::ffi::{c_char, c_int, c_void};
    use std::sync::OnceLock;

    /// `Elf64_Phdr` of `<elf.h>`.
    #[repr(C)]
    struct Segment {
        kind: u32,
        flags: u32,
        offset: u64,
        address: u64,
        physical_address: u64,
        file_size: u64,
        size: u64,
        align: u64,
    }

    const LOADED: u32 = 1;
    const WRITABLE: u32 = 2;

    /// The beginning of `struct dl_phdr_info` of `<link.h>`.
    #[repr(C)]
    struct Object {
        base: usize,
        name: *const c_char,
        segments: *const Segment,
        count: u16,
    }

    unsafe extern "C" {
        fn dl_iterate_phdr(
            visit: unsafe extern "C" fn(*const Object, usize, *mut c_void) -> c_int,
            data: *mut c_void,
        ) -> c_int;
    }

    type Ranges = Vec<(usize, usize)>;

    /// Where the constants are of the program, or library, that this is part of.
    static CONSTANTS: OnceLock<Ranges> = OnceLock::new();

    /// Whether so many bytes are constants of the program: nothing writes them, and they are there as long as its code
    /// is.
    pub(super) fn is_constant(address: usize, bytes: usize) -> bool {
        let ranges = CONSTANTS.get_or_init(|| {
            let mut found = Ranges::new();
            // SAFETY: S19, the function is called with each object that is loaded, and with the pointer, which is to
            // ours.
            unsafe { dl_iterate_phdr(visit, (&raw mut found).cast()) };
            found
        });
        ranges.iter().any(|(start, end)| *start <= address && address < *end && bytes <= end - address)
    }

    /// # Safety: `data` points to [`Ranges`].
    unsafe extern "C" fn visit(object: *const Object, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: S19, that is how it is called.
        let (object, found) = unsafe { (&*object, &mut *data.cast::<Ranges>()) };
        if object.count == 0 {
            return 0;
        }
        // SAFETY: S19, so many segments are there.
        let segments = unsafe { std::slice::from_raw_parts(object.segments, object.count.into()) };
        let loaded = segments.iter().filter(|segment| segment.kind == LOADED);
        let range = |segment: &Segment| {
            let start = object.base.wrapping_add(segment.address as usize);
            (start, start.wrapping_add(segment.file_size as usize))
        };
        let here = is_constant as fn(usize, usize) -> bool as usize;
        if !loaded.clone().map(range).any(|(start, end)| (start..end).contains(&here)) {
            return 0;
        }
        found.extend(loaded.filter(|segment| segment.flags & WRITABLE == 0).map(range));
        1
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
mod program {
    /// Nobody knows.
    pub(super) fn is_constant(_: usize, _: usize) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::kept;
    use std::time::{Duration, Instant};

    /// Whether a reference to a copy of a value for ever is the one that was made of an equal one.
    fn is_kept_once<T: crate::Differentiable + Clone + PartialEq + std::fmt::Debug + 'static>(values: &[T]) {
        const { assert!(T::INERT) };
        let slice = |values: &[T]| {
            let values = values.to_vec();
            // SAFETY: S19, the type is inert.
            let kept: &'static [T] = unsafe { kept(&values[..]) };
            assert_eq!(kept, values);
            assert_ne!(kept.as_ptr(), values.as_ptr());
            kept
        };
        let ways = [slice(values), slice(&values[1..]), slice(values), slice(&values[1..])].map(<[T]>::as_ptr);
        assert_eq!([ways[0], ways[1]], [ways[2], ways[3]]);
        assert_ne!(ways[0], ways[1]);
        let other = slice(&values.iter().rev().cloned().collect::<Vec<_>>());
        assert_ne!(other.as_ptr(), ways[0]);
    }

    #[test]
    fn of_each_value_one_copy_is_kept() {
        is_kept_once(&[1u8, 2, 3]);
        is_kept_once(&[(1usize, 2usize), (3, 4)]);
        // With padding in them.
        is_kept_once(&[(1usize, 2u8), (3, 4)]);
        is_kept_once(&[[(true, 1u32, 'x'); 2], [(false, 2, 'y'); 2]]);
        is_kept_once(&[Some(1u64), None, Some(0), Some(7)]);
        is_kept_once(&[Ok(1u8), Err(1u32), Ok(2)]);
        is_kept_once(&[1usize..2, 3..4]);
        is_kept_once(&[Duration::from_nanos(7), Duration::from_secs(7)]);
        let now = Instant::now();
        is_kept_once(&[now, now + Duration::from_nanos(1)]);
        let text = String::from("some text");
        // SAFETY: S19, the type is inert.
        let (one, other): (&str, &str) = unsafe { (kept(&text[..]), kept(&text.clone()[..])) };
        assert_eq!((one, one.as_ptr()), ("some text", other.as_ptr()));
    }

    #[test]
    #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
    fn constants_of_the_program_are_not_copied() {
        use std::sync::atomic::{AtomicUsize, Ordering};

        static TABLE: [(usize, usize); 3] = [(1, 2), (3, 4), (5, 6)];
        static COUNT: AtomicUsize = AtomicUsize::new(7);
        COUNT.store(std::hint::black_box(8), Ordering::Relaxed);
        // SAFETY: S19, the types are inert, and nothing is written.
        unsafe {
            assert_eq!(kept(&TABLE[1..]).as_ptr(), TABLE[1..].as_ptr());
            assert_eq!(kept("text").as_ptr(), "text".as_ptr());
            let copy: *const usize = kept(&*COUNT.as_ptr());
            assert_ne!(copy, COUNT.as_ptr().cast_const());
        }
    }
}
