//! C's allocator, in the shape of Rust's.
//!
//! The engine knows four functions of it: `alloc`, `alloc_zeroed`, `free`, and how many bytes there are behind an address.
//! What else C has (`calloc`, `realloc`, `posix_memalign`, …) is plain code here, which is differentiated like any: the
//! driver puts it in the place of the functions that a program calls.
//!
//! A block has as many bytes as `malloc_usable_size` tells, not as many as were asked for: nobody else knows how many are
//! to be copied when it is reallocated. So that is how large shadows are.

use std::ffi::c_int;
use std::ptr::{copy_nonoverlapping, null_mut};

unsafe extern "C" {
    fn malloc(size: usize) -> *mut u8;
    fn calloc(count: usize, size: usize) -> *mut u8;
    fn aligned_alloc(align: usize, size: usize) -> *mut u8;
    pub(super) fn free(place: *mut u8);
    fn malloc_usable_size(place: *mut u8) -> usize;
}

/// What `malloc` aligns to.
const ALIGN: i64 = 16;

/// `size` bytes of C's heap, aligned to `align`, or null.
///
/// It is not inlined: LLVM would know `malloc`, and take for granted that there is memory, where a program asks
/// `posix_memalign`, of which it does not.
///
/// # Safety
/// `align` is a power of two.
#[inline(never)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_heap_alloc(size: i64, align: i64) -> *mut u8 {
    // SAFETY: S14, what C asks of `align` is asked of the caller, here and below.
    unsafe { if align <= ALIGN { malloc(size as usize) } else { aligned_alloc(align as usize, size as usize) } }
}

/// As [`__pullback_heap_alloc`], and zero.
///
/// # Safety
/// As there, and `align` is not above 16.
#[inline(never)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_heap_alloc_zeroed(size: i64, _align: i64) -> *mut u8 {
    // SAFETY: S14, any size may be asked for.
    unsafe { calloc(1, size as usize) }
}

/// Give memory of C's heap back; null is none. Size and alignment are not looked at.
///
/// # Safety
/// `place` is null, or was allocated by C's allocator, and nobody else frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_heap_free(place: *mut u8, _size: i64, _align: i64) {
    // SAFETY: S14, asked of the caller.
    unsafe { free(place) }
}

/// How many bytes there are at an address of C's heap; none at null.
///
/// # Safety
/// As for [`__pullback_heap_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_heap_size(place: *mut u8) -> i64 {
    // SAFETY: S14, asked of the caller.
    unsafe { malloc_usable_size(place) as i64 }
}

/// C's `malloc`.
///
/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_c_malloc(size: usize) -> *mut u8 {
    // SAFETY: S14, the alignment is a power of two.
    unsafe { __pullback_heap_alloc(size as i64, ALIGN) }
}

/// C's `calloc`.
///
/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_c_calloc(count: usize, size: usize) -> *mut u8 {
    // No heap has as many bytes as there are addresses: for a product that is too large, there is none.
    // SAFETY: S14, the alignment is a power of two.
    unsafe { __pullback_heap_alloc_zeroed(count.saturating_mul(size) as i64, ALIGN) }
}

/// C's `free`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_c_free(place: *mut u8) {
    // SAFETY: S14, asked of the caller. An alignment of 0 says that the memory is C's, also to the tape.
    unsafe { __pullback_heap_free(place, 0, 0) }
}

/// C's `realloc`, which here always moves. For no bytes it does what glibc does: it frees, and returns null.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_c_realloc(place: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: S14, asked of the caller; both have so many bytes, and the new ones are nobody else's.
    unsafe {
        if place.is_null() {
            return __pullback_c_malloc(size);
        }
        if size == 0 {
            __pullback_c_free(place);
            return null_mut();
        }
        let new = __pullback_c_malloc(size);
        if !new.is_null() {
            let old = __pullback_heap_size(place) as usize;
            copy_nonoverlapping(place, new, if size < old { size } else { old });
            __pullback_c_free(place);
        }
        new
    }
}

/// `reallocarray` of C's library.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_c_reallocarray(place: *mut u8, count: usize, size: usize) -> *mut u8 {
    // SAFETY: S14, asked of the caller. For a product that is too large there is no memory, as above.
    unsafe { __pullback_c_realloc(place, count.saturating_mul(size)) }
}

/// C's `aligned_alloc`, for alignments that are powers of two; for others there is no memory.
///
/// # Safety
/// None is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_c_aligned_alloc(align: usize, size: usize) -> *mut u8 {
    if !align.is_power_of_two() {
        return null_mut();
    }
    // SAFETY: S14, the alignment is a power of two.
    unsafe { __pullback_heap_alloc(size as i64, align as i64) }
}

/// `posix_memalign` of C's library.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_c_posix_memalign(place: *mut *mut u8, align: usize, size: usize) -> c_int {
    const EINVAL: c_int = 22;
    const ENOMEM: c_int = 12;
    if !align.is_power_of_two() || align < size_of::<usize>() {
        return EINVAL;
    }
    // SAFETY: S14, the alignment is a power of two; the caller has a place for the address.
    unsafe {
        let new = __pullback_heap_alloc(size as i64, align as i64);
        if new.is_null() {
            return ENOMEM;
        }
        place.write(new);
    }
    0
}
