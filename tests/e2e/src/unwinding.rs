//! Panics, and what they leave behind: an allocator that counts.
//!
//! It is not in the test itself, because rustc inlines the allocator of a crate into that crate, and the driver would
//! not know it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Allocations and bytes that are alive, of this thread.
    static LIVE: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
    /// Whether a panic of this thread is expected.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

struct Counting;

fn count(allocations: isize, bytes: usize) {
    // Where the thread is ending, nobody asks any more.
    let _ = LIVE.try_with(|live| {
        let (n, total) = live.get();
        live.set((n + allocations, total + allocations * bytes as isize));
    });
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: asked of the caller.
        let pointer = unsafe { System.alloc(layout) };
        if !pointer.is_null() {
            count(1, layout.size());
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-1, layout.size());
        // SAFETY: asked of the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `f` returns. Nothing that it allocated is left.
#[track_caller]
pub fn leaves_nothing<T: Copy>(f: impl Fn() -> T) -> T {
    // The first time, threads and tapes get what they keep.
    f();
    pullback::rt::release_spare();
    let before = LIVE.get();
    let result = f();
    pullback::rt::release_spare();
    assert_eq!(LIVE.get(), before, "allocations and bytes");
    result
}

/// The message of the panic that `f` ends with. Nothing that `f` allocated is left.
#[track_caller]
pub fn panic_of<T>(f: impl FnOnce() -> T) -> String {
    possible_panic_of(f).expect("it does not panic")
}

/// The message of the panic that `f` ends with, if it panics. Nothing that `f` allocated is left then.
#[track_caller]
pub fn possible_panic_of<T>(f: impl FnOnce() -> T) -> Option<String> {
    // The test harness would keep what is printed.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    pullback::rt::release_spare();
    let before = LIVE.get();
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    QUIET.set(false);
    let message = match result {
        Ok(_) => return None,
        Err(payload) => match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => (*payload.downcast::<&'static str>().expect("a message")).to_owned(),
        },
    };
    pullback::rt::release_spare();
    let (allocations, bytes) = LIVE.get();
    let kept = (allocations - before.0, bytes - before.1);
    let own = (isize::from(message.capacity() > 0), message.capacity() as isize);
    assert_eq!(kept, own, "allocations and bytes left, of which the second are those of {message:?}");
    Some(message)
}
