//! Copies of lanes: of the floats that lie in records, at the same offset in each.
//!
//! In an enum of another variant there may be no float, and nothing at all: what is copied is moved as it is, and what
//! is added to is looked at only where there is a cotangent.

use std::mem::MaybeUninit;

/// A float of a lane, by its width in bytes.
pub(super) trait Lane: Copy {
    const ZERO: Self;

    /// `float + cotangent`. The bits stay as they are if the cotangent is zero: they may be those of a number in an
    /// enum, or uninitialised.
    ///
    /// # Safety
    /// There is a float if the cotangent is not zero.
    unsafe fn add(float: MaybeUninit<Self>, cotangent: Self) -> MaybeUninit<Self>;
}

impl Lane for f32 {
    const ZERO: Self = 0.0;
    unsafe fn add(float: MaybeUninit<Self>, cotangent: Self) -> MaybeUninit<Self> {
        // SAFETY: S15, asked of the caller.
        if cotangent == 0.0 { float } else { MaybeUninit::new(unsafe { float.assume_init() } + cotangent) }
    }
}

impl Lane for f64 {
    const ZERO: Self = 0.0;
    unsafe fn add(float: MaybeUninit<Self>, cotangent: Self) -> MaybeUninit<Self> {
        // SAFETY: S15, asked of the caller.
        if cotangent == 0.0 { float } else { MaybeUninit::new(unsafe { float.assume_init() } + cotangent) }
    }
}

/// The byte offsets of the lanes: `offset + k·stride`, as far as all of their `width` bytes are below `len`.
pub(super) fn lanes(len: i64, stride: i64, offset: i64, width: i64) -> impl DoubleEndedIterator<Item = usize> + Clone {
    let count = if len >= offset + width { (len - offset - width) / stride + 1 } else { 0 };
    (0..count).map(move |k| (offset + k * stride) as usize)
}

/// Run `$body` for the lanes' float type, which `$width` says.
macro_rules! with_lane {
    ($width:expr, $L:ident => $body:expr) => {
        if $width == 8 {
            type $L = f64;
            $body
        } else {
            type $L = f32;
            $body
        }
    };
}
pub(super) use with_lane;

/// The transpose of a copy of shadows. For each lane: `g = dst; dst = 0; src += g`, as if all of `dst` were read before
/// anything is written, so the regions may overlap. What a function without derivative has made has no shadow: `src` is
/// null then.
///
/// # Safety
/// All lanes may be read and written in both regions; `width` is 4 or 8, `stride` is positive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_adjoint_copy(
    dst: *mut u8,
    src: *mut u8,
    len: i64,
    stride: i64,
    offset: i64,
    width: i64,
) {
    /// # Safety: as of the function around it.
    unsafe fn lane<L: Lane>(dst: *mut u8, src: *mut u8, at: usize) {
        // SAFETY: S15, asked of the caller.
        unsafe {
            let (dst, src) = (dst.add(at).cast::<L>(), src.add(at).cast::<MaybeUninit<L>>());
            let cotangent = dst.read_unaligned();
            dst.write_unaligned(L::ZERO);
            src.write_unaligned(L::add(src.read_unaligned(), cotangent));
        }
    }
    if src.is_null() {
        // SAFETY: S15, asked of the caller.
        return unsafe { zero_lanes(dst, len, stride, offset, width) };
    }
    let lanes = lanes(len, stride, offset, width);
    // A lane of `src` that is also one of `dst` must have been emptied before it is added to: it lies before in `dst`
    // if `dst` lies behind.
    with_lane!(width, L => if dst.addr() >= src.addr() {
        // SAFETY: S15, asked of the caller.
        lanes.for_each(|at| unsafe { lane::<L>(dst, src, at) })
    } else {
        // SAFETY: S15, asked of the caller.
        lanes.rev().for_each(|at| unsafe { lane::<L>(dst, src, at) })
    })
}

/// The lanes become zero.
///
/// # Safety
/// All lanes may be written; `width` is 4 or 8, `stride` is positive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_zero_lanes(dst: *mut u8, len: i64, stride: i64, offset: i64, width: i64) {
    // SAFETY: S15, asked of the caller.
    unsafe { zero_lanes(dst, len, stride, offset, width) }
}

/// # Safety: as of [`__pullback_zero_lanes`].
pub(super) unsafe fn zero_lanes(dst: *mut u8, len: i64, stride: i64, offset: i64, width: i64) {
    with_lane!(width, L => for at in lanes(len, stride, offset, width) {
        // SAFETY: S15, asked of the caller.
        unsafe { dst.add(at).cast::<L>().write_unaligned(L::ZERO) }
    })
}

/// The lanes are copied; the regions may overlap.
///
/// # Safety
/// All lanes may be read in `src` and written in `dst`; `width` is 4 or 8, `stride` is positive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_copy_lanes(
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

/// # Safety: as of [`__pullback_copy_lanes`].
pub(super) unsafe fn copy_lanes(dst: *mut u8, src: *const u8, len: i64, stride: i64, offset: i64, width: i64) {
    /// # Safety: as of the function around it.
    unsafe fn lane<L: Lane>(dst: *mut u8, src: *const u8, at: usize) {
        let (dst, src) = (dst.cast::<MaybeUninit<L>>(), src.cast::<MaybeUninit<L>>());
        // SAFETY: S15, asked of the caller.
        unsafe { dst.byte_add(at).write_unaligned(src.byte_add(at).read_unaligned()) }
    }
    if src.is_null() {
        // SAFETY: S15, asked of the caller.
        return unsafe { zero_lanes(dst, len, stride, offset, width) };
    }
    let lanes = lanes(len, stride, offset, width);
    with_lane!(width, L => if dst.addr() <= src.addr() {
        // SAFETY: S15, asked of the caller.
        lanes.for_each(|at| unsafe { lane::<L>(dst, src, at) })
    } else {
        // SAFETY: S15, asked of the caller.
        lanes.rev().for_each(|at| unsafe { lane::<L>(dst, src, at) })
    })
}
