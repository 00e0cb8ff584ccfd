//! What a derivative calls while it runs: the tape, shadow memory, and copies of lanes.
//!
//! The functions have C names, since generated code calls them. The [`Tape`] is made and dropped by the wrapper that an
//! attribute writes, also when the primal panics, so whatever a derivative holds is given back exactly once.
//!
//! The tape is a stack of bytes in chunks that double in size. A push is a bounds check and an addition; a chunk that a
//! pop empties is kept, so a push and a pop at a boundary do not allocate, and so popped bytes stay readable.

pub use self::chunk::release_spare;
pub use self::lanes::{__pullback_adjoint_copy, __pullback_copy_lanes, __pullback_zero_lanes};
pub use self::saved::{Noted, note_bookkeeping};
pub use self::seeds::{Seed, note_seed_bookkeeping};

use self::chunk::{Chunk, after, out_of_memory, round_up};
use self::heap::free;
use self::saved::Saved;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{null, null_mut, without_provenance_mut};

/// What a reverse-mode derivative keeps between its two sweeps.
#[repr(C)]
#[derive(Debug)]
pub struct Tape {
    /// The first byte of the current chunk, null as long as there is none.
    start: *mut u8,
    /// The first free byte of the current chunk.
    top: *mut u8,
    /// The end of the current chunk.
    end: *mut u8,
    /// All chunks. Those before `current` hold pushed bytes, those after it are empty.
    chunks: ManuallyDrop<Vec<Chunk>>,
    current: usize,
    /// Memory that is given back when the tape is dropped: shadows, and what the primal freed. What has no layout is of
    /// C's heap.
    owned: ManuallyDrop<Vec<(*mut u8, Option<Layout>)>>,
    /// Values that are dropped with the tape: what rules made.
    values: ManuallyDrop<Vec<Value>>,
    /// Chunks of bytes that stay until the tape is dropped.
    kept: ManuallyDrop<Vec<Chunk>>,
    /// The caller's shadows, the last one first.
    noted: *const Noted,
    /// What shadows held when the derivative began, as long as they may have to be put back.
    saved: ManuallyDrop<Option<Box<Saved>>>,
    /// Cotangents of a result that owns memory.
    seeds: *const Seed,
    /// What can be done again, where the reverse sweep is a function of its own: [`REVERSE_AGAIN`], [`FORWARD_AGAIN`].
    again: i64,
}

/// Where a tape stood.
#[derive(Debug)]
pub struct Mark {
    current: usize,
    top: *mut u8,
    tops: Vec<*mut u8>,
}

/// A value of some type, and how it is dropped.
#[derive(Debug)]
struct Value {
    place: *mut u8,
    release: Release,
}

/// How a value is dropped. It may panic.
type Release = unsafe extern "C-unwind" fn(*mut u8);

impl Tape {
    /// An empty tape. Nothing is allocated until something is pushed.
    pub const fn new() -> Self {
        Tape {
            start: null_mut(),
            top: null_mut(),
            end: null_mut(),
            chunks: ManuallyDrop::new(Vec::new()),
            current: 0,
            owned: ManuallyDrop::new(Vec::new()),
            values: ManuallyDrop::new(Vec::new()),
            kept: ManuallyDrop::new(Vec::new()),
            noted: null(),
            saved: ManuallyDrop::new(None),
            seeds: null(),
            again: 0,
        }
    }

    /// Whether the reverse sweep can be called again, once the tape is [rewound](Self::rewind_bookkeeping).
    pub fn is_repeatable(&self) -> bool {
        self.again & REVERSE_AGAIN != 0
    }

    /// Whether the forward sweep does the same when it is done again.
    pub fn is_reproducible(&self) -> bool {
        self.again & FORWARD_AGAIN != 0
    }

    /// Where the tape stands.
    pub fn mark_bookkeeping(&self) -> Mark {
        Mark { current: self.current, top: self.top, tops: self.chunks.iter().map(|chunk| chunk.top).collect() }
    }

    /// Go back to where the tape stood before things were popped. What was popped is still there if nothing was pushed
    /// since.
    pub fn rewind_bookkeeping(&mut self, mark: &Mark) {
        for (chunk, top) in self.chunks.iter_mut().zip(&mark.tops) {
            chunk.top = *top;
        }
        if mark.current < self.chunks.len() {
            self.enter(mark.current);
            self.top = mark.top;
        }
    }

    /// A place for `value`, which is dropped with the tape.
    pub fn own<T>(&mut self, value: T) -> *mut T {
        let place = Box::into_raw(Box::new(value));
        /// # Safety: called once, on a box that was taken apart.
        unsafe extern "C-unwind" fn release<T>(place: *mut u8) {
            // SAFETY: S14, asked of the caller.
            drop(unsafe { Box::from_raw(place.cast::<T>()) });
        }
        // SAFETY: S14, the tape is exclusively borrowed, and nobody else drops the box.
        unsafe { __pullback_tape_own(self, place.cast(), release::<T>) };
        place
    }

    #[inline(always)]
    fn push(&mut self, bytes: usize) -> *mut u8 {
        let bytes = round_up(bytes);
        if bytes <= self.end.addr() - self.top.addr() {
            let place = self.top;
            // Not `add`: an empty tape's pointers are null.
            self.top = place.wrapping_add(bytes);
            place
        } else {
            // SAFETY: S14, the tape is exclusively borrowed.
            unsafe { pullback_rt_next_chunk(self, bytes) }
        }
    }

    #[inline(always)]
    fn pop(&mut self, bytes: usize) -> *mut u8 {
        let bytes = round_up(bytes);
        if bytes <= self.top.addr() - self.start.addr() {
            self.top = self.top.wrapping_sub(bytes);
            self.top
        } else {
            // SAFETY: S14, the tape is exclusively borrowed.
            unsafe { pullback_rt_previous_chunk(self, bytes) }
        }
    }

    /// `bytes` new uninitialised bytes, which stay until the tape is dropped.
    fn keep(&mut self, bytes: usize) -> *mut u8 {
        let bytes = round_up(bytes);
        let fits = |chunk: &&mut Chunk| bytes <= chunk.layout.size() - (chunk.top.addr() - chunk.start.addr());
        let chunk = match self.kept.last_mut().filter(fits) {
            Some(chunk) => chunk,
            None => {
                let chunk = Chunk::of(after(self.kept.last()), bytes);
                self.kept.push(chunk);
                self.kept.last_mut().expect("just pushed")
            }
        };
        let place = chunk.top;
        chunk.top = place.wrapping_add(bytes);
        place
    }

    fn push_into_next_chunk(&mut self, bytes: usize) -> *mut u8 {
        let next = match self.chunks.get_mut(self.current) {
            Some(chunk) => {
                chunk.top = self.top;
                self.current + 1
            }
            None => 0,
        };
        if self.chunks.get(next).is_none_or(|chunk| chunk.layout.size() < bytes) {
            let chunk = Chunk::of(after(self.chunks.last()), bytes);
            self.chunks.insert(next, chunk);
        }
        self.enter(next);
        let place = self.top;
        self.top = place.wrapping_add(bytes);
        place
    }

    fn pop_from_previous_chunk(&mut self, bytes: usize) -> *mut u8 {
        assert!(
            self.top == self.start && self.current > 0,
            "internal error in Pullback: a pop of {bytes} bytes does not match the tape's last push"
        );
        self.chunks[self.current].top = self.top;
        self.enter(self.current - 1);
        self.pop(bytes)
    }

    fn enter(&mut self, index: usize) {
        let chunk = &self.chunks[index];
        self.current = index;
        self.start = chunk.start;
        self.top = chunk.top;
        self.end = chunk.start.wrapping_add(chunk.layout.size());
    }
}

impl Default for Tape {
    fn default() -> Self {
        Self::new()
    }
}

/// A push that does not fit. It and the pop are functions of their own, so that only the fast paths go into
/// derivatives.
///
/// # Safety
/// `tape` points to a tape that nobody else uses.
#[cold]
#[inline(never)]
#[unsafe(no_mangle)]
unsafe extern "C" fn pullback_rt_next_chunk(tape: *mut Tape, bytes: usize) -> *mut u8 {
    // SAFETY: S14, asked of the caller.
    unsafe { &mut *tape }.push_into_next_chunk(bytes)
}

/// A pop from a chunk that is empty.
///
/// # Safety
/// `tape` points to a tape that nobody else uses.
#[cold]
#[inline(never)]
#[unsafe(no_mangle)]
unsafe extern "C" fn pullback_rt_previous_chunk(tape: *mut Tape, bytes: usize) -> *mut u8 {
    // SAFETY: S14, asked of the caller.
    unsafe { &mut *tape }.pop_from_previous_chunk(bytes)
}

impl Drop for Tape {
    /// A tape that was not used is as if it were not there: where a derivative is inlined that needs none, nothing is
    /// left of it.
    #[inline]
    fn drop(&mut self) {
        let unused = self.chunks.capacity() == 0
            && self.owned.capacity() == 0
            && self.values.capacity() == 0
            && self.kept.capacity() == 0
            && self.saved.is_none();
        if !unused {
            self.give_back_bookkeeping();
        }
    }
}

impl Tape {
    /// All that is done when a tape is dropped, in one function that a derivative of a derivative calls as it is:
    /// nothing is left to the fields.
    #[inline(never)]
    fn give_back_bookkeeping(&mut self) {
        if self.was_left() {
            self.put_back();
        }
        // Before the memory, since they may refer to it.
        let panic = self.drop_values();
        if panic.is_some() {
            self.put_back()
        } else {
            self.forget_saved()
        }
        self.give_back_memory();
        go_on_with(panic);
    }

    #[inline(never)]
    fn release(&mut self) {
        let panic = self.drop_values();
        go_on_with(panic);
    }

    /// Drop the values, the youngest first, as in a function. One that panics does not keep the others from being
    /// dropped; the first panic is handed back.
    fn drop_values(&mut self) -> Option<Box<dyn Any + Send>> {
        let mut first = None;
        while let Some(Value { place, release }) = self.values.pop() {
            // SAFETY: S14, recorded once, with the function for its type.
            let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { release(place) }));
            match dropped.err() {
                Some(panic) if first.is_some() => forget_panic(panic),
                panic => first = first.or(panic),
            }
        }
        first
    }

    fn give_back_memory(&mut self) {
        for (pointer, layout) in self.owned.drain(..) {
            // SAFETY: S14, each was allocated with this layout, or by C's allocator, and is recorded once.
            unsafe {
                match layout {
                    Some(layout) => dealloc(pointer, layout),
                    None => free(pointer),
                }
            }
        }
        let mut chunks = std::mem::take(&mut *self.chunks);
        chunks.append(&mut self.kept);
        if !chunks.is_empty() {
            Chunk::keep(chunks);
        }
        // SAFETY: S14, the tape is dropped once.
        unsafe {
            ManuallyDrop::drop(&mut self.chunks);
            ManuallyDrop::drop(&mut self.owned);
            ManuallyDrop::drop(&mut self.values);
            ManuallyDrop::drop(&mut self.kept);
            ManuallyDrop::drop(&mut self.saved);
        }
    }
}

/// Go on with a panic of a value that was dropped. Where the primal has panicked, that goes on.
fn go_on_with(panic: Option<Box<dyn Any + Send>>) {
    match panic {
        Some(panic) if std::thread::panicking() => forget_panic(panic),
        Some(panic) => resume_unwind(panic),
        None => {}
    }
}

/// Drop what a panic carries, which may panic itself when it is dropped: then that is lost.
fn forget_panic(panic: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(another);
    }
}

/// `bytes` new uninitialised bytes on the tape, aligned to 16.
///
/// # Safety
/// `tape` points to a tape that nobody else uses, and `bytes` is not negative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_tape_push(tape: *mut Tape, bytes: i64) -> *mut u8 {
    // SAFETY: S14, asked of the caller.
    unsafe { &mut *tape }.push(bytes as usize)
}

/// Whether a tape can have so many bytes in a row, as far as that can be told before: 0 if not. The answer is of use
/// for a loop that may not be as long as it says.
#[cold]
#[unsafe(no_mangle)]
pub extern "C" fn __pullback_fits(bytes: i64) -> i64 {
    // Made in earnest: the optimiser may take memory that nobody uses for granted.
    i64::from(std::hint::black_box(Chunk::new(round_up(bytes as usize))).is_some())
}

/// The owners of a shared value were `before` and are `after`: its shadow has as many more, or less. The last owner of
/// the primal is to be the last owner of the shadow, which the derivative gives back then. It is not if the primal had
/// owners that are not known to the derivative, which are gone, in the place of which the shadow has others: that ends
/// the program.
///
/// # Safety
/// `shadow` points to the count of a shadow's owners.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_recount(shadow: *mut usize, before: i64, after: i64) {
    // SAFETY: S4, asked of the caller.
    unsafe {
        let owners = (*shadow).wrapping_add(after as usize).wrapping_sub(before as usize);
        if after == 0 && owners != 0 {
            owned_by_others(owners);
        }
        *shadow = owners;
    }
}

#[cold]
#[inline(never)]
fn owned_by_others(owners: usize) -> ! {
    eprintln!(
        "error: a derivative gives back a shared value whose shadow has {owners} owners more\n\
         note: the function has dropped an `Rc` of the value that no argument with a shadow has led to\n\
         help: what the arguments and the function own is owned in the same way in the shadows"
    );
    std::process::abort()
}

/// A loop has come to its end that could not be recorded: that takes so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn __pullback_out_of_memory(bytes: i64) -> ! {
    out_of_memory(bytes as usize)
}

/// The address of the bytes of the matching push. They leave the tape but stay readable until the next push.
///
/// # Safety
/// As for [`__pullback_tape_push`]; `bytes` is what the last push that was not popped had.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_tape_pop(tape: *mut Tape, bytes: i64) -> *mut u8 {
    // SAFETY: S14, asked of the caller.
    unsafe { &mut *tape }.pop(bytes as usize)
}

/// Drop the value at `place` with the tape.
///
/// # Safety
/// `tape` points to a tape that nobody else uses; `release` may be called once with `place`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_tape_own(tape: *mut Tape, place: *mut u8, release: Release) {
    // SAFETY: S14, asked of the caller.
    unsafe { &mut *tape }.values.push(Value { place, release });
}

/// Drop the values that belong to the tape: their memory is going to be given back.
///
/// # Safety
/// `tape` points to a tape that nobody else uses, and nobody uses the values any more.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pullback_tape_release(tape: *mut Tape) {
    // SAFETY: S14, asked of the caller.
    let tape = unsafe { &mut *tape };
    if !tape.values.is_empty() {
        tape.release();
    }
}

/// The reverse sweep can be called again, once the tape is [rewound](Tape::rewind_bookkeeping).
const REVERSE_AGAIN: i64 = 1;
/// The forward sweep does the same when it is done again.
const FORWARD_AGAIN: i64 = 2;

/// Tell the tape whether the sweeps of what is going to be on it can be done again: bit 0 for the reverse sweep, bit 1
/// for the forward sweep.
///
/// # Safety
/// `tape` points to a tape that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_set_repeatable(tape: *mut Tape, again: i64) {
    // SAFETY: S14, asked of the caller.
    unsafe { (*tape).again = again };
}

/// Zeroed memory that the tape owns.
///
/// # Safety
/// `tape` points to a tape that nobody else uses; `size` and `align` are those of a Rust allocation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_shadow_alloc(tape: *mut Tape, size: i64, align: i64) -> *mut u8 {
    if size == 0 {
        return without_provenance_mut(align as usize);
    }
    // SAFETY: S14, `size` and `align` are those of a Rust allocation, so they make a layout, and `size` is not zero.
    let (pointer, layout) = unsafe {
        let layout = Layout::from_size_align_unchecked(size as usize, align as usize);
        (alloc_zeroed(layout), layout)
    };
    if pointer.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: S14, asked of the caller.
    unsafe { &mut *tape }.owned.push((pointer, Some(layout)));
    pointer
}

/// Give `pointer` back to Rust's allocator when the tape is dropped; to C's if `align` is 0.
///
/// # Safety
/// `tape` points to a tape that nobody else uses; `pointer` was allocated with `size` and `align`, or by C's allocator if
/// `align` is 0, and nobody else frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_defer_dealloc(tape: *mut Tape, pointer: *mut u8, size: i64, align: i64) {
    // SAFETY: S14, asked of the caller.
    unsafe {
        if align == 0 {
            (*tape).owned.push((pointer, None));
        } else if size != 0 {
            let layout = Layout::from_size_align_unchecked(size as usize, align as usize);
            (*tape).owned.push((pointer, Some(layout)));
        }
    }
}

mod chunk;
mod heap;
mod lanes;
mod nested;
mod saved;
mod seeds;
mod words;

#[cfg(test)]
mod tests;
