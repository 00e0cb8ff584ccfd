//! The caller's shadows as they were when a derivative began: for the case that it panics, and to find the cotangents
//! in them.
//!
//! Most derivatives add to the shadows of inputs only when the primal is through, and then nothing panics. Where one
//! disturbs them earlier (see `Disturbs` in `pullback-ad`), floats and pointers of all shadows are saved first, and
//! all that lies beside pointers: where the engine cannot tell a pointer from the length beside it, it moves both. Of
//! enums `Masked` takes care. The wrapper of a derivative notes where its shadows are; the derivative has them saved,
//! and forgets that when it is through. What is saved when the tape is dropped is put back.
//!
//! Where a function overwrites pointers in what it was given by reference, the cotangents in the shadow are not where
//! the forward sweep leaves the values they belong to: after `mem::swap(&mut s.now, &mut s.next)`, that of `s.now[0]`
//! is in the memory of what is `s.next` now. Between the sweeps such cotangents are brought to their values
//! ([`paths`]).
//!
//! What a function was given by value and owns, it may change, and nobody sees that afterwards: there is no cotangent
//! of it. What the shadow holds is a sum to which the gradient is added. Where a function changes such memory, these
//! sums are zero while the derivative runs.

mod paths;

use self::paths::Paths;
use super::Tape;
use crate::abi::{self, Layout};
use crate::differentiable::{Differentiable, Float, Set, VisitFloats, holds_pointers, layout_of, pointee};
use std::collections::BTreeSet;
use std::mem::MaybeUninit;

/// Where a shadow is, in a list of such notes.
#[derive(Debug)]
pub struct Noted {
    primal: *const (),
    shadow: *mut (),
    /// Copies what the shadow holds.
    save: unsafe fn(*const (), *mut (), &mut Saved),
    next: *const Noted,
}

/// What shadows hold, or held.
#[derive(Debug, Default)]
pub(super) struct Saved {
    floats: Vec<Run>,
    /// Pointers in the order in which they are met: one that leads to another one comes first.
    pointers: Vec<Pointer>,
    /// Memory in which there are pointers.
    blocks: Vec<Block>,
    /// The bytes that were there, of one block after the other; some may be nothing at all.
    bytes: Vec<MaybeUninit<u8>>,
    /// Whether what is visited is behind a shared reference. Pointers stay as they are there.
    is_shared: bool,
    /// Whether it has several owners. The others may use their cells meanwhile, and what is skipped.
    in_counted: bool,
    /// Whether it is in a cell that an argument by value owns together with others. They see what is there afterwards.
    in_moved_cell: bool,
    /// Shadows of shared values that were met.
    met: Set<*const ()>,
    /// What was lent: what references lead to, if there are pointers in it. All else was moved into the function.
    lent: Vec<Lent>,
    /// Whether what is visited was lent, and has pointers in it.
    in_lent: bool,
    /// Whether what references lead to is left out.
    stays: bool,
    /// Whether only what arguments own is visited.
    owned_only: bool,
    /// What is added to shadows when the derivative is through: sums in memory that the function was given, and
    /// changes, and cotangents of what is gone.
    sums: Vec<Run>,
    /// Whether the derivative is through. What is put back then is put back only if something panics that is dropped
    /// with the tape.
    through: bool,
}

/// A pointer of a shadow.
#[derive(Clone, Copy, Debug)]
struct Pointer {
    place: *mut *mut (),
    to: *mut (),
    kind: Kind,
    /// Whether it lies in memory that was lent.
    in_lent: bool,
}

/// What a pointer is to what it leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Its owner.
    Owner,
    /// One of several owners.
    Counted,
    /// A reference: what it leads to is there whatever becomes of it.
    Reference,
    /// It is that of an empty vector, and leads to nothing.
    Empty,
}

/// Visits something that was lent.
struct Lent {
    shadow: *const (),
    visit: Box<dyn Fn(&mut Saved)>,
}

impl std::fmt::Debug for Lent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lent").finish_non_exhaustive()
    }
}

/// So many bytes, with pointers among them.
#[derive(Debug)]
struct Block {
    place: *mut MaybeUninit<u8>,
    bytes: usize,
}

/// Floats in a row.
#[derive(Debug)]
struct Run {
    place: *mut u8,
    /// The size of one.
    size: usize,
    /// Whether they lie in memory that was lent, in which there are pointers.
    in_lent: bool,
    /// Whether they lie in a cell that an argument by value owns together with others.
    in_moved_cell: bool,
    bytes: Box<[u8]>,
}

impl Run {
    fn is_zero(&self) -> bool {
        self.bytes.iter().all(|byte| *byte == 0)
    }

    /// Add them to what is in their place.
    ///
    /// # Safety
    /// They were copied from there, and it may be written.
    unsafe fn add(&self) {
        /// # Safety: as above.
        unsafe fn add<F: Float>(place: *mut u8, bytes: &[u8]) {
            for at in (0..bytes.len()).step_by(size_of::<F>()) {
                // SAFETY: S23, asked of the caller; the copy is not aligned.
                unsafe { *place.add(at).cast::<F>() += bytes.as_ptr().add(at).cast::<F>().read_unaligned() };
            }
        }
        // SAFETY: S23, asked of the caller.
        unsafe {
            match self.size {
                4 => add::<f32>(self.place, &self.bytes),
                _ => add::<f64>(self.place, &self.bytes),
            }
        }
    }
}

impl VisitFloats for Saved {
    unsafe fn run<F: Float>(&mut self, _: *const F, shadow: *mut F, count: usize) {
        let place = shadow.cast::<u8>();
        // SAFETY: S23, asked of the caller.
        let bytes = unsafe { std::slice::from_raw_parts(place, count * size_of::<F>()) }.into();
        let Saved { in_lent, in_moved_cell, .. } = *self;
        self.floats.push(Run { place, size: size_of::<F>(), in_lent, in_moved_cell, bytes });
    }

    unsafe fn pointer(&mut self, place: *mut *mut (), to_nothing: bool) -> bool {
        // SAFETY: S23, asked of the caller.
        unsafe { self.pointer_of(place, if to_nothing { Kind::Empty } else { Kind::Owner }) }
    }

    unsafe fn counted(&mut self, place: *mut *mut (), address: *const (), owners: usize) -> bool {
        let kind = if owners > 1 { Kind::Counted } else { Kind::Owner };
        // SAFETY: S23, asked of the caller.
        !self.owned_only && unsafe { self.pointer_of(place, kind) } && self.is_new(address)
    }

    unsafe fn owned<T: Differentiable + ?Sized>(&mut self, primal: &T, place: *mut *mut ()) {
        // SAFETY: S23, asked of the caller.
        unsafe {
            if self.pointer(place, size_of_val(primal) == 0) {
                let shadow = pointee(primal, place);
                self.block(primal, shadow);
                primal.floats(shadow, self);
            }
        }
    }

    unsafe fn owned_from<T: Differentiable>(&mut self, row: &[T], place: *mut *mut (), at: usize) {
        // SAFETY: S23, asked of the caller.
        unsafe {
            if self.pointer(place, size_of_val(row) == 0) {
                let shadow = place.read().cast::<T>().add(at);
                self.block(row, std::ptr::slice_from_raw_parts_mut(shadow, row.len()));
                T::floats_in_row(row, shadow, self);
            }
        }
    }

    unsafe fn shared<T: Differentiable>(&mut self, primal: &T, place: *mut *mut (), offset: usize, owners: usize) {
        // SAFETY: S23, asked of the caller.
        unsafe {
            if self.counted(place, (&raw const *primal).cast(), owners) {
                let shadow = place.read().byte_add(offset).cast();
                let outer = std::mem::replace(&mut self.in_counted, true);
                self.block(primal, shadow);
                primal.floats(shadow, self);
                self.in_counted = outer;
            }
        }
    }

    unsafe fn in_cell<T: Differentiable>(&mut self, primal: &T, shadow: *mut T) {
        // If it is nobody's but the argument's, the memory around has been copied with it. Else others may write it
        // meanwhile, if there are no pointers in it.
        let is_apart = (self.is_shared || self.in_counted) && holds_pointers(layout_of::<T>());
        let outer = (self.is_shared, self.in_counted, self.in_moved_cell);
        self.in_moved_cell |= self.in_counted && !self.in_lent;
        (self.is_shared, self.in_counted) = (false, false);
        // SAFETY: S23, asked of the caller.
        unsafe {
            if is_apart {
                self.block(primal, shadow);
            }
            primal.floats(shadow, self);
        }
        (self.is_shared, self.in_counted, self.in_moved_cell) = outer;
    }

    unsafe fn mutable<T: Differentiable + ?Sized>(&mut self, primal: *const T, place: *mut *mut ()) {
        // SAFETY: S23, asked of the caller.
        unsafe { self.behind(primal, place, self.is_shared) }
    }

    unsafe fn reference<T: Differentiable + ?Sized>(&mut self, primal: &T, place: *mut *mut ()) {
        // SAFETY: S23, asked of the caller.
        unsafe { self.behind(primal, place, true) }
    }

    fn is_new(&mut self, _: *const ()) -> bool {
        // By its shadow, which the last pointer leads to: in a batch a value has several.
        self.pointers.last().is_none_or(|last| self.met.insert(last.to.cast_const()))
    }
}

impl Saved {
    /// Visit what a reference leads to, which is shared or not.
    ///
    /// # Safety
    /// As asked by [`VisitFloats::reference`].
    unsafe fn behind<T: Differentiable + ?Sized>(&mut self, primal: *const T, place: *mut *mut (), is_shared: bool) {
        if self.owned_only || self.stays {
            return;
        }
        // SAFETY: S23, asked of the caller.
        let kind = if size_of_val(unsafe { &*primal }) == 0 { Kind::Empty } else { Kind::Reference };
        // SAFETY: S23, asked of the caller.
        if !unsafe { self.pointer_of(place, kind) } {
            return;
        }
        // SAFETY: S23, asked of the caller.
        let shadow = unsafe { pointee(primal, place) };
        // SAFETY: S23, asked of the caller, also for the time when the function has returned: both are there as long as
        // the tape is used.
        let visit = move |saved: &mut Saved| unsafe { (*primal).floats(shadow, saved) };
        // Without pointers in it nothing can be exchanged, and what is there has its cotangents where it is.
        let outer = (self.in_lent, self.is_shared);
        (self.in_lent, self.is_shared) = (!T::PLAIN, is_shared);
        // SAFETY: S23, asked of the caller.
        unsafe { self.block(&*primal, shadow) };
        visit(self);
        (self.in_lent, self.is_shared) = outer;
        if !T::PLAIN {
            let visit: Box<dyn Fn(&mut Saved) + '_> = Box::new(visit);
            // SAFETY: S23, it is not called when the tape has gone.
            let visit = unsafe { std::mem::transmute::<Box<dyn Fn(&mut Saved) + '_>, Box<dyn Fn(&mut Saved)>>(visit) };
            self.lent.push(Lent { shadow: shadow.cast_const().cast(), visit });
        }
    }

    /// Copy the memory of a shadow, if it holds more than floats: all that nobody else may write.
    ///
    /// # Safety
    /// As asked by [`note_bookkeeping`].
    unsafe fn block<T: Differentiable + ?Sized>(&mut self, primal: &T, shadow: *mut T) {
        if T::PLAIN || self.is_shared || self.owned_only || self.stays {
            return;
        }
        let (place, bytes) = (shadow.cast::<MaybeUninit<u8>>(), size_of_val(primal));
        if !(self.in_counted && (T::CELLS || T::CONSTANTS) && others_may_write(&T::LAYOUT)) {
            // SAFETY: S23, asked of the caller.
            return unsafe { self.bytes(place, bytes) };
        }
        let mut theirs = Vec::new();
        for value in (0..bytes).step_by(T::LAYOUT.size.max(1)) {
            written_by_others(&T::LAYOUT, value, &mut theirs);
        }
        theirs.sort_unstable();
        let mut at = 0;
        for (start, end) in theirs.into_iter().chain([(bytes, bytes)]) {
            // SAFETY: S23, asked of the caller; these are bytes of the shadow.
            unsafe { self.bytes(place.add(at), start.saturating_sub(at)) };
            at = at.max(end);
        }
    }

    /// Copy so many bytes.
    ///
    /// # Safety
    /// As asked by [`note_bookkeeping`].
    unsafe fn bytes(&mut self, place: *mut MaybeUninit<u8>, bytes: usize) {
        if bytes > 0 {
            self.blocks.push(Block { place, bytes });
            // SAFETY: S23, asked of the caller.
            self.bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(place, bytes) });
        }
    }

    /// Note a pointer; whether it leads somewhere. What a function without derivative has made has no shadow.
    ///
    /// # Safety
    /// As asked by [`note_bookkeeping`].
    unsafe fn pointer_of(&mut self, place: *mut *mut (), kind: Kind) -> bool {
        // SAFETY: S23, asked of the caller.
        let to = unsafe { place.read() };
        if !self.owned_only {
            self.pointers.push(Pointer { place, to, kind, in_lent: self.in_lent });
        }
        !to.is_null()
    }
}

/// Whether there is something in such a value that other owners may write: a cell, or a skipped field.
fn others_may_write(layout: &Layout) -> bool {
    layout.fields.get().iter().any(|field| match (field.kind, field.layout) {
        (abi::Kind::Cell | abi::Kind::Unknown, _) => true,
        (abi::Kind::Nested | abi::Kind::Payload, Some(inner)) => others_may_write(inner()),
        _ => false,
    })
}

/// Where that is, in a value `at` so many bytes.
fn written_by_others(layout: &Layout, at: usize, found: &mut Vec<(usize, usize)>) {
    let fields = layout.fields.get();
    // Where in an enum it is, nobody knows.
    if fields.iter().any(|field| field.kind == abi::Kind::Opaque) {
        if others_may_write(layout) {
            found.push((at, at + layout.size));
        }
        return;
    }
    for field in fields {
        let start = at + field.offset;
        match (field.kind, field.layout) {
            (abi::Kind::Cell | abi::Kind::Unknown, _) => found.push((start, start + field.count)),
            (abi::Kind::Nested, Some(inner)) => {
                let inner = inner();
                (0..field.count).for_each(|index| written_by_others(inner, start + index * inner.size, found));
            }
            _ => {}
        }
    }
}

/// Note a shadow of `primal`. A derivative of a derivative calls this as it is.
///
/// # Safety
/// `shadow` is the place of a shadow that fits `primal`; these and `note` stay where they are as long as the tape is
/// used, and only the derivative touches them.
#[inline(never)]
pub unsafe fn note_bookkeeping<T: Differentiable>(
    tape: &mut Tape,
    note: &mut MaybeUninit<Noted>,
    primal: &T,
    shadow: *mut (),
) {
    /// # Safety: as above.
    unsafe fn save<T: Differentiable>(primal: *const (), shadow: *mut (), saved: &mut Saved) {
        // SAFETY: S23, asked of the caller.
        unsafe {
            let (primal, shadow) = (&*primal.cast::<T>(), shadow.cast::<T>());
            // A reference is the derivative's own; what it leads to is the caller's.
            if const { !matches!(T::LAYOUT.name.get().as_bytes(), b"&" | b"&mut") } {
                saved.block(primal, shadow);
            }
            primal.floats(shadow, saved)
        }
    }
    let primal = (&raw const *primal).cast();
    tape.noted = note.write(Noted { primal, shadow, save: save::<T>, next: tape.noted });
}

impl Tape {
    /// Copy the shadows that were noted.
    ///
    /// # Safety
    /// As asked by [`note_bookkeeping`], and the primal has not begun.
    #[cold]
    unsafe fn save(&mut self) {
        let mut saved = Saved::default();
        for noted in self.noted() {
            // SAFETY: S23, asked of the caller.
            unsafe { (noted.save)(noted.primal, noted.shadow, &mut saved) };
        }
        *self.saved = Some(Box::new(saved));
    }

    /// Make the floats zero in shadows of what arguments own, until the derivative is through.
    ///
    /// # Safety
    /// As asked by [`note_bookkeeping`], and the primal has not begun.
    #[cold]
    unsafe fn set_sums_aside(&mut self, nested: bool) {
        let mut owned = Saved { owned_only: true, ..Saved::default() };
        for noted in self.noted() {
            // SAFETY: S23, asked of the caller.
            unsafe { (noted.save)(noted.primal, noted.shadow, &mut owned) };
        }
        owned.floats.retain(|run| !run.is_zero());
        assert!(
            owned.floats.is_empty() || !nested,
            "in a derivative that is differentiated itself, a function changes memory of an argument by value whose \
             shadow is not zero\n\
             help: give a shadow of zeros, and add it to yours afterwards"
        );
        for run in &owned.floats {
            // SAFETY: S23, asked of the caller.
            unsafe { run.place.write_bytes(0, run.bytes.len()) };
        }
        if !owned.floats.is_empty() {
            self.saved.get_or_insert_default().sums = owned.floats;
        }
    }

    /// Whether there is something saved that is to be put back.
    pub(super) fn was_left(&self) -> bool {
        self.saved.as_ref().is_some_and(|saved| !saved.through)
    }

    /// The derivative is through, and nothing has panicked: what was saved is forgotten, and what was set aside is
    /// added.
    pub(super) fn forget_saved(&mut self) {
        for run in self.saved.take().map(|saved| saved.sums).unwrap_or_default() {
            // SAFETY: S23, as asked by `note_bookkeeping`; the bytes were copied from there.
            unsafe { run.add() };
        }
    }

    /// What was noted and not yet dropped.
    fn noted(&self) -> impl Iterator<Item = &Noted> {
        // SAFETY: S23, as asked by `note_bookkeeping`.
        std::iter::successors(unsafe { self.noted.as_ref() }, |noted| unsafe { noted.next.as_ref() })
    }

    /// Bring the cotangents in shadows whose pointers have changed to the values they belong to.
    ///
    /// # Safety
    /// As asked by [`note_bookkeeping`]; the primal is through, and the reverse sweep has not begun.
    #[cold]
    unsafe fn settle(&mut self, nested: bool) {
        let Some(saved) = self.saved.as_ref() else { return };
        assert!(
            saved.floats.iter().all(|run| !run.in_moved_cell || run.is_zero()),
            "a cotangent is given of something in a cell behind an `Rc` that the function takes by value, and exchanges \
             for something else\n\
             help: give zero, or let the function borrow the `Rc`"
        );
        if saved.floats.iter().all(|run| !run.in_lent || run.is_zero()) {
            return;
        }
        // What was lent is a value of its type again, and the forward sweep has made its shadow follow. It is where it
        // was.
        let mut now = Saved { in_lent: true, stays: true, ..Saved::default() };
        for lent in &saved.lent {
            (lent.visit)(&mut now);
        }
        let mut paths = Paths::new(saved.lent.iter().map(|lent| lent.shadow.addr()));
        let (before, after) = (paths.before(saved), paths.after(&now));
        let mut moves = paths::moves(&before, &after);
        // Where an enum has a pointer now, the reverse sweep puts the float back.
        let overwritten: BTreeSet<usize> = now.pointers.iter().map(|pointer| pointer.place.addr()).collect();
        // SAFETY: S23, as asked by `note_bookkeeping`.
        moves.retain(|moved| !unsafe { moved.is_restored(&overwritten) });
        assert!(
            moves.is_empty() || !nested,
            "a derivative that is differentiated itself is given a cotangent of something that the function exchanges \
             for something else\n\
             help: give zero, and add what is left in the argument to the result of the function"
        );
        // All are taken before one is put where it belongs: that may be where another one was.
        for moved in &moves {
            // SAFETY: S23, as asked by `note_bookkeeping`.
            unsafe { moved.take() };
        }
        for moved in &moves {
            // SAFETY: S23, as asked by `note_bookkeeping`.
            unsafe { moved.put() };
        }
        let gone: Vec<Run> = moves.iter().filter_map(paths::Move::kept).collect();
        if let Some(saved) = self.saved.as_mut() {
            saved.sums.extend(gone);
        }
    }

    /// Put back what is saved.
    pub(super) fn put_back(&mut self) {
        let Some(saved) = self.saved.take() else { return };
        let mut copies = &saved.bytes[..];
        for Block { place, bytes } in saved.blocks {
            let (copy, others) = copies.split_at(bytes);
            // SAFETY: S23, as asked by `note_bookkeeping`; the bytes were copied from there, and the shadow's
            // other owners write other bytes.
            unsafe { place.copy_from_nonoverlapping(copy.as_ptr(), bytes) };
            copies = others;
        }
        // What is as it was is not written: it may lie where nothing can be.
        for Pointer { place, to, .. } in saved.pointers {
            // SAFETY: S23, as asked by `note_bookkeeping`; it was read from there.
            unsafe {
                if place.read() != to {
                    place.write(to);
                }
            }
        }
        for Run { place, bytes, .. } in saved.floats.into_iter().chain(saved.sums) {
            // SAFETY: S23, as asked by `note_bookkeeping`; the bytes were copied from there.
            unsafe {
                if *std::slice::from_raw_parts(place, bytes.len()) != *bytes {
                    place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                }
            }
        }
    }
}

/// Save the caller's shadows; or, if `keep` is zero, note that the derivative is through, so that they are not put
/// back.
///
/// # Safety
/// `tape` points to a tape that nobody else uses. What was asked by [`note_bookkeeping`] holds; if `keep` is not zero,
/// the primal has not begun.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pullback_save_shadows(tape: *mut Tape, keep: i64) {
    // SAFETY: S23, asked of the caller.
    let tape = unsafe { &mut *tape };
    // SAFETY: S23, asked of the caller.
    unsafe {
        match &mut *tape.saved {
            saved if keep == 0 => saved.iter_mut().for_each(|saved| saved.through = true),
            _ => tape.save(),
        }
    }
}

/// Make the floats zero in shadows of what arguments own, until the derivative is through, which adds what was there.
/// Panics if there is something and the derivative is differentiated itself (`nested` is not zero).
///
/// # Safety
/// `tape` points to a tape that nobody else uses, what was asked by [`note_bookkeeping`] holds, and the primal has not
/// begun.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pullback_set_sums_aside(tape: *mut Tape, nested: i64) {
    // SAFETY: S23, asked of the caller.
    unsafe { (*tape).set_sums_aside(nested != 0) }
}

/// Between the sweeps of a derivative: add the cotangents of a result that owns memory, and bring the cotangents in the caller's shadows to the values they belong to, where
/// pointers have changed. Panics if there are any and the derivative is differentiated itself (`nested` is not zero).
///
/// # Safety
/// `tape` points to a tape that nobody else uses, and what was asked by [`note_bookkeeping`] holds. The primal is
/// through.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pullback_settle_shadows(tape: *mut Tape, nested: i64) {
    // SAFETY: S23, asked of the caller.
    unsafe {
        (*tape).add_seeds(nested != 0);
        (*tape).settle(nested != 0)
    }
}
