//! Calls a function for all elements: piece by piece, on all cores if that is worth it.

use crate::abi::{Batch, Element, Entry};
use crate::error::{Error, Result};
use crate::operand::{Copies, Operand};
use rayon::prelude::*;
use smallvec::SmallVec;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a call is made. None of it shows in the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// How many threads at most; without a number all of the pool that the caller is in.
    pub threads: Option<usize>,
    /// How many elements a tile has; without a number as many as fit in the first cache.
    pub tile: Option<usize>,
}

/// What the operands of a tile may take of the first cache, which has 32 KiB or more.
const CACHE: usize = 24 * 1024;

/// How many elements a piece has at least. A call of fewer never sees the pool.
const PIECE: usize = 16 * 1024;

/// Call the function for each of `count` elements.
///
/// # Safety
/// The entry is that of a function whose parameters these operands are for, in order, and each of them is for a call of
/// so many elements.
pub unsafe fn run(entry: Entry, operands: &mut [Operand], count: usize, options: Options) -> Result<()> {
    let mut copies = Copies::default();
    // SAFETY: asked of the caller; the copies are there until all is done.
    unsafe { copies.separate(operands, count)? };
    let each: usize = operands.iter().map(|operand| operand.element().size).sum();
    let tile = options.tile.unwrap_or((CACHE / each.max(1)).next_power_of_two() / 2).clamp(1, 4096);
    // What a piece is does not depend on how many threads there are.
    let piece = PIECE.next_multiple_of(tile);
    let call = Call { entry, operands, tile };
    if count <= piece || options.threads == Some(1) {
        let mut scratch = Scratch::new(&call, count);
        // SAFETY: asked of the caller.
        return unsafe { call.part(0, count, &mut scratch) };
    }
    let pieces = count.div_ceil(piece);
    // The first piece that has failed: what comes after it need not be done, what comes before it may fail, too.
    let failed = AtomicUsize::new(usize::MAX);
    let part = |scratch: &mut Scratch, number: usize| {
        if number > failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let start = number * piece;
        // SAFETY: asked of the caller; pieces are apart.
        let done = unsafe { call.part(start, piece.min(count - start), scratch) };
        if done.is_err() {
            failed.fetch_min(number, Ordering::Relaxed);
        }
        done
    };
    // No more tasks than threads that are asked for.
    let most = options.threads.unwrap_or(usize::MAX).max(1);
    let results = (0..pieces)
        .into_par_iter()
        .with_min_len(pieces.div_ceil(most))
        .map_init(|| Scratch::new(&call, piece), |scratch, number| part(scratch, number).err());
    results
        .flatten()
        .min_by_key(|error| match error {
            Error::Panic { element, .. } => *element,
            _ => 0,
        })
        .map_or(Ok(()), Err)
}

/// A call, as its pieces see it.
struct Call<'a> {
    entry: Entry,
    operands: &'a [Operand],
    tile: usize,
}

// SAFETY: operands lead to memory that the caller of `run` lends for the call; elements that are written are written by
// the piece that they are in, and by no other.
unsafe impl Sync for Call<'_> {}

impl Call<'_> {
    /// Call the function for `count` elements from `start`.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn part(&self, start: usize, count: usize, scratch: &mut Scratch) -> Result<()> {
        let mut places: SmallVec<[*mut u8; 8]> = SmallVec::from_elem(null_mut(), self.operands.len());
        let mut done = 0;
        while done < count {
            let (at, length) = (start + done, self.tile.min(count - done));
            for ((operand, place), tile) in self.operands.iter().zip(&mut places).zip(&mut scratch.tiles) {
                *place = operand.in_place(at).unwrap_or(tile.memory);
                let is_there = operand.in_place(at).is_some() || tile.is_filled;
                if operand.passing().is_read() && !is_there {
                    // SAFETY: asked of the caller; a tile has room for so many.
                    unsafe { operand.gather(at, length, tile.memory) };
                    // Elements that are all one are the same in the next tile, if this one was a whole one.
                    tile.is_filled = operand.is_single() && !operand.passing().is_written() && length == self.tile;
                }
            }
            let mut batch = Batch::new(length, places.as_ptr());
            // SAFETY: the operands are those of the function; each has so many elements there.
            unsafe { (self.entry)(&mut batch) };
            if batch.panicked {
                return Err(Error::Panic { element: at + batch.element, message: batch.message() });
            }
            for (operand, tile) in self.operands.iter().zip(&scratch.tiles) {
                if operand.passing().is_written() && operand.in_place(at).is_none() {
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

// SAFETY: a thread's own memory.
unsafe impl Send for Scratch {}

/// Memory for the elements of one operand.
struct Tile {
    /// Null if the operand is used where it lies.
    memory: *mut u8,
    layout: Layout,
    /// Whether it holds the elements of all tiles that are to come.
    is_filled: bool,
}

impl Scratch {
    /// Tiles for parts of a call with so many elements.
    fn new(call: &Call<'_>, count: usize) -> Self {
        let length = call.tile.min(count).max(1);
        let tile = |operand: &Operand| {
            let Element { size, align, .. } = *operand.element();
            // (Elements without a size take a byte, so that there is memory.)
            let layout = Layout::from_size_align(length * size.max(1), align).expect("a tile is small");
            let memory = match operand.in_place(0) {
                Some(_) => null_mut(),
                // SAFETY: it has a size. Zeros are numbers of all kinds, and what a function is given to write is one.
                None => unsafe { alloc_zeroed(layout) },
            };
            if memory.is_null() && operand.in_place(0).is_none() {
                handle_alloc_error(layout);
            }
            Tile { memory, layout, is_filled: false }
        };
        Scratch { tiles: call.operands.iter().map(tile).collect() }
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
