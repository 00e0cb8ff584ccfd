//! What a derivative calls that is to be differentiated itself.
//!
//! The engine knows three functions of a tape: a push, a pop and a deallocation that is put off. A push or a pop names
//! the *site* it belongs to, so that what lies on a tape at one site is told from what lies there at another. All else
//! is plain code, which is differentiated like any: the driver puts these functions in the place of those they are
//! named after.

use super::lanes::{Lane, copy_lanes, lanes, with_lane, zero_lanes};
use super::{__pullback_defer_dealloc, Tape};
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::ptr::without_provenance_mut;

/// As [`__pullback_tape_push`](super::__pullback_tape_push), for a site.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_tape_push_at(tape: *mut Tape, bytes: i64, _site: i64) -> *mut u8 {
    // SAFETY: S14, asked of the caller.
    unsafe { &mut *tape }.push(bytes as usize)
}

/// As [`__pullback_tape_pop`](super::__pullback_tape_pop), for a site.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_tape_pop_at(tape: *mut Tape, bytes: i64, _site: i64) -> *mut u8 {
    // SAFETY: S14, asked of the caller.
    unsafe { &mut *tape }.pop(bytes as usize)
}

/// `bytes` new bytes that stay until the tape is dropped, aligned to 16. They are zero if `zero` is not, else
/// uninitialised.
///
/// # Safety
/// `tape` points to a tape that nobody else uses, and `bytes` is not negative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_tape_keep(tape: *mut Tape, bytes: i64, zero: i64) -> *mut u8 {
    // SAFETY: S14, asked of the caller; the memory is new and so large.
    unsafe {
        let memory = (*tape).keep(bytes as usize);
        if zero != 0 {
            memory.write_bytes(0, bytes as usize);
        }
        memory
    }
}

/// As [`__pullback_shadow_alloc`](super::__pullback_shadow_alloc).
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_nested_shadow_alloc(tape: *mut Tape, size: i64, align: i64) -> *mut u8 {
    if size == 0 {
        return without_provenance_mut(align as usize);
    }
    // SAFETY: S14, asked of the caller.
    unsafe {
        let layout = Layout::from_size_align_unchecked(size as usize, align as usize);
        let pointer = alloc_zeroed(layout);
        if pointer.is_null() {
            handle_alloc_error(layout);
        }
        __pullback_defer_dealloc(tape, pointer, size, align);
        pointer
    }
}

/// As [`__pullback_recount`](super::__pullback_recount).
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_nested_recount(shadow: *mut usize, before: i64, after: i64) {
    // SAFETY: S4, asked of the caller.
    unsafe {
        let owners = (*shadow).wrapping_add(after as usize).wrapping_sub(before as usize);
        if after == 0 && owners != 0 {
            super::owned_by_others(owners);
        }
        *shadow = owners;
    }
}

/// As [`__pullback_adjoint_copy`](super::__pullback_adjoint_copy). A cotangent is added where it is zero, too: its
/// derivative need not be.
///
/// # Safety
/// As there, and all lanes are floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_nested_adjoint_copy(
    dst: *mut u8,
    src: *mut u8,
    len: i64,
    stride: i64,
    offset: i64,
    width: i64,
) {
    /// # Safety: as of the function around it.
    unsafe fn lane<L: Lane + std::ops::Add<Output = L>>(dst: *mut u8, src: *mut u8, at: usize) {
        // SAFETY: S15, asked of the caller.
        unsafe {
            let (dst, src) = (dst.add(at).cast::<L>(), src.add(at).cast::<L>());
            let cotangent = dst.read_unaligned();
            dst.write_unaligned(L::ZERO);
            src.write_unaligned(src.read_unaligned() + cotangent);
        }
    }
    if src.is_null() {
        // SAFETY: S15, asked of the caller.
        return unsafe { zero_lanes(dst, len, stride, offset, width) };
    }
    let lanes = lanes(len, stride, offset, width);
    with_lane!(width, L => if dst.addr() >= src.addr() {
        // SAFETY: S15, asked of the caller.
        lanes.for_each(|at| unsafe { lane::<L>(dst, src, at) })
    } else {
        // SAFETY: S15, asked of the caller.
        lanes.rev().for_each(|at| unsafe { lane::<L>(dst, src, at) })
    })
}

/// As [`__pullback_zero_lanes`](super::__pullback_zero_lanes).
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_nested_zero_lanes(dst: *mut u8, len: i64, stride: i64, offset: i64, width: i64) {
    // SAFETY: S15, asked of the caller.
    unsafe { zero_lanes(dst, len, stride, offset, width) }
}

/// As [`__pullback_copy_lanes`](super::__pullback_copy_lanes).
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_nested_copy_lanes(
    dst: *mut u8,
    src: *const u8,
    len: i64,
    stride: i64,
    offset: i64,
    width: i64,
) {
    // SAFETY: S15, asked of the caller.
    unsafe { copy_lanes(dst, src, len, stride, offset, width) }
}
