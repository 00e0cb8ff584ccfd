//! Copies of words that are floats at one time and pointers at another.
//!
//! In the forward sweep the shadow of such a word is zero unless it is a pointer. A copy moves the shadows, and keeps
//! on the tape what was moved and what was overwritten. The reverse puts the latter back and adds cotangents to the
//! source where the former was zero: there the word was a float.
//!
//! Words are moved as memory: as numbers, pointers among them would lose what they lead to.

use super::Tape;
use super::lanes::{Lane, lanes};
use std::mem::MaybeUninit;

/// A word as wide as a float, and the float.
trait Word: Copy + PartialEq {
    type Float: Lane;
    const ZERO: Self;
}

impl Word for u32 {
    type Float = f32;
    const ZERO: Self = 0;
}

impl Word for u64 {
    type Float = f64;
    const ZERO: Self = 0;
}

/// What a copy keeps of each word.
#[repr(C)]
struct Kept<W> {
    moved: MaybeUninit<W>,
    overwritten: MaybeUninit<W>,
}

/// # Safety: as of [`__pullback_copy_words`].
unsafe fn copy<W: Word>(tape: *mut Tape, dst: *mut u8, src: *const u8, at: impl Iterator<Item = usize> + Clone) {
    let bytes = at.clone().count() * size_of::<Kept<W>>();
    // SAFETY: S15, asked of the caller. The record is aligned to 16 and large enough.
    unsafe {
        let kept = (*tape).push(bytes).cast::<Kept<W>>();
        // Everything is read before anything is written: the regions may overlap.
        for (k, at) in at.clone().enumerate() {
            let word = |place: *const u8| place.add(at).cast::<MaybeUninit<W>>().read_unaligned();
            let moved = if src.is_null() { MaybeUninit::new(W::ZERO) } else { word(src) };
            kept.add(k).write(Kept { moved, overwritten: word(dst) });
        }
        for (k, at) in at.enumerate() {
            dst.add(at).cast::<MaybeUninit<W>>().write_unaligned((*kept.add(k)).moved);
        }
    }
}

/// # Safety: as of [`__pullback_uncopy_words`].
unsafe fn uncopy<W: Word>(tape: *mut Tape, dst: *mut u8, src: *mut u8, at: impl Iterator<Item = usize> + Clone) {
    let bytes = at.clone().count() * size_of::<Kept<W>>();
    // SAFETY: S15, asked of the caller. The record is that of the copy.
    unsafe {
        let kept = (*tape).pop(bytes).cast::<Kept<W>>();
        // Every cotangent is taken before any is added. It waits where the word was kept that goes back.
        for (k, at) in at.clone().enumerate() {
            let (kept, dst) = (&mut *kept.add(k), dst.add(at).cast::<MaybeUninit<W>>());
            let cotangent = dst.read_unaligned();
            dst.write_unaligned(kept.overwritten);
            kept.overwritten = cotangent;
        }
        if src.is_null() {
            return;
        }
        for (k, at) in at.enumerate() {
            let kept = kept.add(k);
            if (*kept).moved.assume_init() == W::ZERO {
                let cotangent = (&raw const (*kept).overwritten).cast::<W::Float>().read();
                let place = src.add(at).cast::<MaybeUninit<W::Float>>();
                place.write_unaligned(W::Float::add(place.read_unaligned(), cotangent));
            }
        }
    }
}

/// Copy words and keep what the reverse needs; where `src` is null the words become zero. The regions may overlap.
///
/// # Safety
/// `tape` points to a tape that nobody else uses; all words may be read and written in `dst` and read in `src`; `width`
/// is 4 or 8, `stride` is positive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_copy_words(
    tape: *mut Tape,
    dst: *mut u8,
    src: *const u8,
    len: i64,
    stride: i64,
    offset: i64,
    width: i64,
) {
    let at = lanes(len, stride, offset, width);
    // SAFETY: S15, asked of the caller.
    unsafe { if width == 8 { copy::<u64>(tape, dst, src, at) } else { copy::<u32>(tape, dst, src, at) } }
}

/// The reverse of [`__pullback_copy_words`] with the same arguments.
///
/// # Safety
/// As there, and all words of `src` may be written; the copy's record is the tape's last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_uncopy_words(
    tape: *mut Tape,
    dst: *mut u8,
    src: *mut u8,
    len: i64,
    stride: i64,
    offset: i64,
    width: i64,
) {
    let at = lanes(len, stride, offset, width);
    // SAFETY: S15, asked of the caller.
    unsafe { if width == 8 { uncopy::<u64>(tape, dst, src, at) } else { uncopy::<u32>(tape, dst, src, at) } }
}
