//! How much memory is allocated at most.
//!
//! Counting in the allocator sees the tape, shadows and what the primal itself allocates, and nothing has to be built
//! into the tape for it. A tape that grows by chunks counts with all of its last chunk, so up to twice of what was
//! pushed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, counting: for the `#[global_allocator]` of a program of one thread whose memory is measured.
pub struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Not one operation on the counters: that would take longer than some allocations do, and the programs have one
/// thread.
fn grow(bytes: usize) {
    let now = NOW.load(Relaxed) + bytes;
    NOW.store(now, Relaxed);
    PEAK.store(now.max(PEAK.load(Relaxed)), Relaxed);
}

fn shrink(bytes: usize) {
    NOW.store(NOW.load(Relaxed) - bytes, Relaxed);
}

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: asked of the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: asked of the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are there while one is copied to the other.
        grow(size);
        shrink(layout.size());
        // SAFETY: asked of the caller.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: asked of the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What `work` makes, and the bytes that it has allocated at once, at most. Zero in a program whose allocator is not
/// [`Counting`].
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let made = work();
    (made, PEAK.load(Relaxed) - before)
}
