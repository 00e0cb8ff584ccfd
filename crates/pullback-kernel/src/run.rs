//! Calls a function for all elements: piece by piece, on all cores if that is worth it.

use crate::abi::{Batch, Entry};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::operand::{Copies, Operand};
use crate::shape::Shape;
use crate::sum::Exact;
use smallvec::SmallVec;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// How a call is made. How many threads there are does not show in the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// How many threads at most; without a number all of the pool that the caller is in.
    pub threads: Option<usize>,
    /// How many elements a tile has; without a number as many as fit in the first cache. (A sum over elements may have
    /// another last bit with another one.)
    pub tile: Option<usize>,
}

/// What the operands of a tile may take of the first cache, which has 32 KiB or more.
const CACHE: usize = 24 * 1024;

/// How many elements a piece has. A call of no more never sees the pool.
const PIECE: usize = 16 * 1024;

/// How many pieces a thread may be ahead of the one whose sums come next, for each thread.
const AHEAD: usize = 4;

/// Call the function for each element of a call of this shape.
///
/// # Safety
/// The entry is that of a function whose parameters these operands are for, in order, and each of them is for a call of
/// this shape.
pub unsafe fn run(entry: Entry, operands: &mut [Operand<'_>], shape: &Shape, options: Options) -> Result<()> {
    let count = shape.count().unwrap_or(0);
    let mut copies = Copies::default();
    // SAFETY: asked of the caller; the copies are there until all is done.
    unsafe { copies.separate(operands, count)? };
    let each: usize = operands.iter().map(|operand| operand.element().size).sum();
    let tile = options.tile.unwrap_or((CACHE / each.max(1)).next_power_of_two() / 2).clamp(1, 4096);
    let call = Call { entry, operands, count, tile };
    let pieces = count.div_ceil(PIECE);
    // (To ask how many there are starts the pool.)
    let threads = || options.threads.unwrap_or_else(rayon::current_num_threads).clamp(1, pieces);
    let threads = if pieces > 1 { threads() } else { 1 };
    let work =
        Work { call, pieces, threads, next: AtomicUsize::new(0), joined: Mutex::default(), go_on: Condvar::new() };
    if threads == 1 {
        // SAFETY: asked of the caller.
        unsafe { work.go_through() };
    } else {
        rayon::scope(|scope| {
            for _ in 1..threads {
                // SAFETY: asked of the caller.
                scope.spawn(|_| unsafe { work.go_through() });
            }
            // SAFETY: asked of the caller.
            unsafe { work.go_through() }
        });
    }
    let Joined { failure, totals, .. } = work.joined.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, error)) = failure {
        return Err(error);
    }
    let summed = work.call.operands.iter().filter(|operand| operand.sums().is_some());
    for (operand, total) in summed.zip(&totals) {
        // SAFETY: asked of the caller; nothing else is at work any more.
        unsafe { operand.add(total, shape) };
    }
    Ok(())
}

/// What all threads of a call share.
struct Work<'a> {
    call: Call<'a>,
    pieces: usize,
    threads: usize,
    /// The piece that is taken next. Pieces are taken in order, so that sums need not wait for long.
    next: AtomicUsize,
    joined: Mutex<Joined>,
    /// Told when sums have been joined.
    go_on: Condvar,
}

/// What has come of pieces.
#[derive(Default)]
struct Joined {
    /// The first piece that has failed, and how.
    failure: Option<(usize, Error)>,
    /// Of how many pieces the sums are in the totals.
    pieces: usize,
    /// By operand that is summed up.
    totals: Vec<Vec<Exact>>,
    /// The sums of pieces whose turn has not come.
    waiting: BTreeMap<usize, Vec<Vec<Exact>>>,
}

impl Joined {
    /// Join the sums of a piece, if it is its turn, and of those that have waited for it.
    fn join(&mut self, number: usize, sums: Vec<Vec<Exact>>) {
        self.waiting.insert(number, sums);
        while let Some(sums) = self.waiting.remove(&self.pieces) {
            self.pieces += 1;
            if self.totals.is_empty() {
                self.totals = sums;
                continue;
            }
            for (total, sums) in self.totals.iter_mut().zip(sums) {
                total.iter_mut().zip(sums).for_each(|(total, sum)| total.join(sum));
            }
        }
    }

    fn has_failed_before(&self, number: usize) -> bool {
        self.failure.as_ref().is_some_and(|(at, _)| *at < number)
    }
}

impl Work<'_> {
    /// Take pieces until there are none.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn go_through(&self) {
        let mut scratch = Scratch::new(&self.call);
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.pieces || !self.may_begin(number) {
                return;
            }
            let start = number * PIECE;
            let mut sums = self.call.no_sums();
            let others = Release(self);
            // SAFETY: asked of the caller; pieces are apart.
            let done = unsafe { self.call.part(start, PIECE.min(self.call.count - start), &mut scratch, &mut sums) };
            drop(others);
            let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
            match done {
                // Of several it is the first; those before it go on, for they may fail, too.
                Err(error) => {
                    if !joined.has_failed_before(number) {
                        joined.failure = Some((number, error));
                    }
                }
                Ok(()) if sums.is_empty() => {}
                Ok(()) => joined.join(number, sums),
            }
            drop(joined);
            self.go_on.notify_all();
        }
    }

    /// Wait until the sums of a piece would not wait for long; whether the piece is needed at all.
    fn may_begin(&self, number: usize) -> bool {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let is_summed = self.call.operands.iter().any(|operand| operand.sums().is_some());
        loop {
            // A piece that comes after one that has failed would wait for that one for ever.
            if joined.failure.is_some() {
                return !joined.has_failed_before(number);
            }
            if !is_summed || number < joined.pieces + AHEAD * self.threads {
                return true;
            }
            joined = self.go_on.wait(joined).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Sees to it that no thread waits for a piece that will never be through, since this crate itself has panicked there.
struct Release<'a>(&'a Work<'a>);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut joined = self.0.joined.lock().unwrap_or_else(PoisonError::into_inner);
            joined.failure = Some((0, Error::Panic { element: 0, message: "a bug in pullback-kernel".to_owned() }));
            self.0.go_on.notify_all();
        }
    }
}

/// A call, as its pieces see it.
struct Call<'a> {
    entry: Entry,
    operands: &'a [Operand<'a>],
    count: usize,
    tile: usize,
}

// SAFETY: operands lead to memory that the caller of `run` lends for the call; elements that are written are written by
// the piece that they are in, and by no other.
unsafe impl Sync for Call<'_> {}

impl Call<'_> {
    /// A sum of nothing, for each operand that is summed up.
    fn no_sums(&self) -> Vec<Vec<Exact>> {
        let sums = self.operands.iter().filter_map(Operand::sums);
        sums.map(|sums| vec![Exact::default(); sums.count()]).collect()
    }

    /// Call the function for `count` elements from `start`.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn part(&self, start: usize, count: usize, scratch: &mut Scratch, sums: &mut [Vec<Exact>]) -> Result<()> {
        let mut places: SmallVec<[*mut u8; 8]> = SmallVec::from_elem(null_mut(), self.operands.len());
        let mut batch = Batch::new(0, places.as_ptr());
        let mut done = 0;
        while done < count {
            let (at, length) = (start + done, self.tile.min(count - done));
            for ((operand, place), tile) in self.operands.iter().zip(&mut places).zip(&mut scratch.tiles) {
                *place = operand.in_place(at).unwrap_or(tile.memory);
                if operand.in_place(at).is_none() {
                    // SAFETY: asked of the caller; a tile has room for so many.
                    unsafe { tile.fill(operand, at, length) };
                }
            }
            batch.continue_with(length, places.as_ptr());
            // SAFETY: the operands are those of the function; each has so many elements there.
            unsafe { (self.entry)(&mut batch) };
            if batch.panicked {
                return Err(Error::Panic { element: at + batch.element, message: batch.message() });
            }
            let mut sums = sums.iter_mut();
            for (operand, tile) in self.operands.iter().zip(&scratch.tiles) {
                if let Some(by) = operand.sums() {
                    let sums = sums.next().expect("there are sums for each operand that is summed up");
                    // SAFETY: as many elements are in the tile.
                    unsafe { by.add(sums, at, length, tile.memory) };
                } else if operand.passing().is_written() && operand.in_place(at).is_none() {
                    // SAFETY: asked of the caller; the function has written so many elements.
                    unsafe { operand.scatter(at, length, tile.memory) };
                }
            }
            done += length;
        }
        Ok(())
    }
}

/// The tiles of a thread.
struct Scratch {
    tiles: SmallVec<[Tile; 8]>,
}

/// Memory for the elements of one operand.
struct Tile {
    /// Null if the operand is used where it lies.
    memory: *mut u8,
    layout: Layout,
    /// How many elements of it are those of all tiles that are to come, since there is but one.
    filled: usize,
}

impl Scratch {
    /// Tiles for the parts of a call.
    fn new(call: &Call<'_>) -> Self {
        let length = call.tile.min(call.count).max(1);
        let tile = |operand: &Operand<'_>| {
            let Element { size, align, .. } = *operand.element();
            // (Elements without a size take a byte, so that there is memory.)
            let layout = Layout::from_size_align(length * size.max(1), align).expect("a tile is small");
            let memory = match operand.in_place(0) {
                Some(_) => null_mut(),
                // SAFETY: it has a size. Zeros are numbers of all kinds.
                None => unsafe { alloc_zeroed(layout) },
            };
            if memory.is_null() && operand.in_place(0).is_none() {
                handle_alloc_error(layout);
            }
            Tile { memory, layout, filled: 0 }
        };
        Scratch { tiles: call.operands.iter().map(tile).collect() }
    }
}

impl Tile {
    /// Bring in elements that the function reads, or zeros to which it adds.
    ///
    /// # Safety
    /// As for [`Operand::gather`].
    unsafe fn fill(&mut self, operand: &Operand<'_>, at: usize, count: usize) {
        // SAFETY: asked of the caller.
        unsafe {
            if operand.sums().is_some() {
                self.memory.write_bytes(0, count * operand.element().size);
            } else if operand.passing().is_read() && self.filled < count {
                operand.gather(at, count, self.memory);
                self.filled = if operand.is_single() && !operand.passing().is_written() { count } else { 0 };
            }
        }
    }
}

impl Drop for Tile {
    fn drop(&mut self) {
        if !self.memory.is_null() {
            // SAFETY: it was made with this layout.
            unsafe { dealloc(self.memory, self.layout) };
        }
    }
}
