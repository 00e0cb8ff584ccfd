//! The memory of tapes, in chunks.
//!
//! A thread keeps the chunks of its tapes for the next ones: to touch fresh memory for the first time costs several
//! times what a derivative does with it.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;

/// Each push starts at a multiple of this.
pub(super) const ALIGN: usize = 16;
/// The size of the first chunk in bytes.
pub(super) const FIRST_CHUNK: usize = 64 * 1024;
/// Chunks do not double in size beyond this.
const MOST_DOUBLED: usize = 1024 * 1024 * 1024;
/// From this size on, chunks are aligned to huge pages.
pub(super) const HUGE_PAGE: usize = 2 * 1024 * 1024;
/// How many bytes a thread keeps at most when it has no tape.
pub(super) const MOST_SPARE: usize = 256 * 1024 * 1024;

thread_local! {
    /// Chunks that no tape uses.
    pub(super) static SPARE: RefCell<Vec<Chunk>> = const { RefCell::new(Vec::new()) };
}

/// Some of a tape's memory.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) start: *mut u8,
    pub(super) layout: Layout,
    /// Where the chunk's pushed bytes end; up to date while the chunk is not the current one.
    pub(super) top: *mut u8,
}

/// Give back the memory that this thread keeps for its next tapes.
pub fn release_spare() {
    // Where the thread is ending, it is given back anyway.
    let _ = SPARE.try_with(|spare| drop(spare.take()));
}

/// How large the chunk after this one should be.
pub(super) fn after(last: Option<&Chunk>) -> usize {
    last.map_or(FIRST_CHUNK, |chunk| chunk.layout.size().saturating_mul(2)).min(MOST_DOUBLED)
}

impl Chunk {
    /// A chunk of `wanted` bytes, or one of at least `needed`.
    pub(super) fn of(wanted: usize, needed: usize) -> Self {
        let wanted = wanted.max(needed);
        let spare = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            // The smallest that is large enough, else the largest.
            let (index, chunk) = spare.iter().enumerate().min_by_key(|(_, chunk)| {
                let size = chunk.layout.size();
                if size >= wanted { size } else { usize::MAX - size }
            })?;
            (chunk.layout.size() >= needed).then(|| spare.swap_remove(index))
        });
        let made = spare.ok().flatten().or_else(|| Chunk::new(wanted)).or_else(|| Chunk::new(needed));
        made.unwrap_or_else(|| out_of_memory(needed))
    }

    /// Keep chunks for the next tape, the largest first.
    pub(super) fn keep(mut chunks: Vec<Chunk>) {
        // Where the thread is ending, they are given back.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            spare.append(&mut chunks);
            spare.sort_by_key(|chunk| std::cmp::Reverse(chunk.layout.size()));
            let mut total = 0_usize;
            spare.retain_mut(|chunk| {
                chunk.top = chunk.start;
                let with = total.saturating_add(chunk.layout.size());
                let fits = with <= MOST_SPARE;
                if fits {
                    total = with;
                }
                fits
            });
        });
    }

    /// A new chunk, if there are so many bytes.
    pub(super) fn new(bytes: usize) -> Option<Self> {
        let align = if bytes < HUGE_PAGE { ALIGN } else { HUGE_PAGE };
        let layout = Layout::from_size_align(bytes, align).ok()?;
        // SAFETY: S14, a chunk is never empty.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            return None;
        }
        use_huge_pages(start, bytes);
        Some(Chunk { start, layout, top: start })
    }
}

/// Ask the system for large pages in memory that is not used yet. Small ones are made one by one where they are first
/// touched, which takes longer than what a derivative does with them. (Miri has no such call.)
#[cfg(all(target_os = "linux", not(miri)))]
fn use_huge_pages(start: *mut u8, bytes: usize) {
    /// Linux's advice to use huge pages.
    const MADV_HUGEPAGE: i32 = 14;
    unsafe extern "C" {
        fn madvise(start: *mut u8, bytes: usize, advice: i32) -> i32;
    }
    if bytes >= HUGE_PAGE {
        // SAFETY: S14, the memory is ours, and the advice does not change what is in it. Whether it is taken does not
        // matter.
        unsafe { madvise(start, bytes, MADV_HUGEPAGE) };
    }
}

/// There is no way to ask for them.
#[cfg(not(all(target_os = "linux", not(miri))))]
fn use_huge_pages(_: *mut u8, _: usize) {}

/// The end of a program that cannot have so many bytes for a tape. As for any other allocation, that is no panic.
#[cold]
pub(super) fn out_of_memory(bytes: usize) -> ! {
    // What is written if there is no memory even for that does not matter.
    eprintln!("a derivative in reverse mode is out of memory: its tape needs another {bytes} bytes");
    std::process::abort()
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: S14, it was allocated with this layout, and is dropped once.
        unsafe { dealloc(self.start, self.layout) };
    }
}

pub(super) const fn round_up(bytes: usize) -> usize {
    (bytes + ALIGN - 1) & !(ALIGN - 1)
}
