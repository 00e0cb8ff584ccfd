//! What of an enum's shadow is masked while a reverse derivative runs.
//!
//! The memory of an enum is shared by its variants. Where the shadow of `None` lies, there are bytes in which a
//! function that puts `Some(x)` there finds the cotangent of `x`; in the shadow of `N(4)` of `enum { F(f64), N(i64) }`
//! they are the bits of 4. But a shadow that has no such float says that its cotangent is zero. So everything in the
//! shadow of an enum that may be overwritten, but the floats and pointers of its variant, is kept, set to zero, and put
//! back when the derivative is through or panics. (It never looks at tags, lengths and other plain data of a shadow.)
//!
//! An enum behind a shared reference stays what it is. But a function may move it, without a look at its variant, to
//! where the caller asks for the cotangent of a float, and that goes back to where it was: so what is no float and no
//! pointer is kept and put back there, too. That includes enums within it that have neither, tags and all. Some of
//! these bytes may be uninitialised, so they are put back whatever they are; where all floats are in cells the shadow
//! may lie in memory that cannot be written, and there only numbers that have changed are put back.
//!
//! The check of a shadow looks at it through shared references, by which nothing may be written. So the shadows in which
//! something was noted are walked through once more, by the pointers that a derivative writes through, and each span is
//! found in the memory that one of these leads to ([`Masked::reaches_bookkeeping`]).
//!
//! What is set to zero may be an enum of no variant, which nothing but the derivative may see. An owner or a `&mut` has
//! the shadow to itself. In a cell it need not: another `Rc` may lead there, even the primal's. Nor need it in an `Rc`,
//! whose content the primal may write if it has it to itself (`Rc::get_mut`). So where something is noted in a cell or
//! an `Rc`, a second walk finds out who owns it (`Path::finding_owners`). Each `Rc` on the way has all its owners in
//! the shadows, and no `&` is on the way; else that is a mismatch.

use super::path::{Access, Mismatch, Path};
use super::{Differentiable, Float, Set, VisitFloats, layout_of, pointee};
use crate::abi::{Field, Kind, Layout, LayoutFn};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Range;

/// Masked shadow bytes. They are noted while shadows are checked, and zero from
/// [`clear`](Self::clear) on until this is dropped. Without enums nothing is: each derivative makes one of these, so
/// that it is one word, which LLVM sees to be zero.
#[derive(Default)]
pub struct Masked {
    noted: ManuallyDrop<Cell<Option<Box<Noted>>>>,
}

impl std::fmt::Debug for Masked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Masked").finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Noted {
    /// In the order in which they were noted. One value with two owners is noted twice.
    spans: Vec<Span>,
    /// Where they begin, in the order of addresses, once the shadows are walked through by pointers.
    starts: Vec<usize>,
    /// The memory of the shadows in which they lie.
    memory: Vec<Memory>,
    /// The shared values of the shadows by their addresses, if something that was noted is in a cell.
    owners: Option<HashMap<*const (), Owners>>,
    /// What the spans held, one after the other, once they are cleared. Some of it may be padding.
    bytes: Vec<MaybeUninit<u8>>,
}

/// How many owners of a shared value there are.
#[derive(Debug)]
struct Owners {
    /// Where those in the shadows are.
    met: HashSet<*const ()>,
    /// All in all, if that can be told.
    all: Option<usize>,
    /// Whether the walk has been there.
    is_walked: bool,
    /// Whether it has been there on a way on which the primal may have the value to itself.
    is_walked_exclusively: bool,
    /// The shared values in which owners of it are.
    around: Vec<*const ()>,
    /// Whether a reference leads to one of its owners.
    is_lent: bool,
    /// What is said if there are others, if there may not be any.
    guard: Option<Mismatch>,
}

/// So many bytes of a shadow, by a pointer that may write them.
#[derive(Clone, Copy, Debug)]
struct Memory {
    start: *mut u8,
    length: usize,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    /// Read only, until it is found in the memory of a shadow.
    start: *mut u8,
    length: usize,
    treatment: Treatment,
}

/// What becomes of bytes that are noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Treatment {
    /// They are zero while the derivative runs, and put back.
    Cleared,
    /// They are put back.
    Kept,
    /// They are initialised, may lie where nothing can be written, and are put back if they have changed.
    Compared,
}

/// A field of a shadow's variant.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    start: *const u8,
    layout: LayoutFn,
}

impl Part {
    /// The field `field`.
    pub fn of<T: Differentiable>(field: &T) -> Self {
        Part { start: (&raw const *field).cast(), layout: layout_of::<T> }
    }

    /// A field that takes no part.
    pub fn skipped<T>(field: &T) -> Self {
        Part { start: (&raw const *field).cast(), layout: skipped_layout::<T> }
    }
}

fn skipped_layout<T>() -> &'static Layout {
    const { &Layout::new::<T>("skipped", const { &[Field::unknown(0, size_of::<T>())] }) }
}

impl Masked {
    /// Do something with what is noted. It does not come back here.
    fn change<R>(&self, change: impl FnOnce(&mut Noted) -> R) -> R {
        // SAFETY: S12, nothing else refers to it meanwhile.
        change(unsafe { &mut *self.noted.as_ptr() }.get_or_insert_default())
    }

    /// Note what to mask of `shadow`, an enum in whose variant `parts` are the fields.
    pub(super) fn note<T: Differentiable>(&self, shadow: &T, parts: &[Part], access: Access, may_have_owners: bool) {
        // Where there are no floats, nothing is added. Most have no numbers, which takes less to see.
        // Long lists come by here with each of their elements: a mask is one test for three kinds.
        const NUMBERS: u32 = (1 << Kind::Inactive as u32) | (1 << Kind::Unknown as u32) | (1 << Kind::Opaque as u32);
        let has_numbers = |part: &Part| holds((part.layout)(), |kind| (NUMBERS >> kind as u32) & 1 == 1);
        if access == Access::Exclusive || parts.iter().any(has_numbers) && holds(layout_of::<T>(), is_float) {
            self.note_parts(shadow, parts, access, may_have_owners);
        }
    }

    /// The same where there is something to mask. Apart, for what comes by for nothing is through sooner.
    #[inline(never)]
    fn note_parts<T: Differentiable>(&self, shadow: &T, parts: &[Part], access: Access, may_have_owners: bool) {
        let treatment = match access {
            Access::Exclusive => Treatment::Cleared,
            Access::Shared if has_free_floats(layout_of::<T>()) => Treatment::Kept,
            Access::Shared => Treatment::Compared,
        };
        let start = (&raw const *shadow).cast::<u8>().cast_mut();
        let mut spans = Vec::new();
        let mut note = |bytes: Range<usize>| {
            if !bytes.is_empty() {
                // SAFETY: S12, within `shadow`.
                spans.push(Span { start: unsafe { start.add(bytes.start) }, length: bytes.len(), treatment });
            }
        };
        let mut found = Vec::new();
        for part in parts {
            find(part.start.addr() - start.addr(), (part.layout)(), &mut found);
        }
        found.sort_unstable_by_key(|(range, _): &(Range<usize>, Content)| range.start);
        let mut end = 0;
        for (range, content) in found {
            let is_noted = match treatment {
                // An enum within is noted by its own check.
                Treatment::Cleared => matches!(content, Content::Number | Content::Skipped),
                Treatment::Kept => matches!(content, Content::Number | Content::Skipped | Content::PlainEnum),
                Treatment::Compared => {
                    note(if content == Content::Number { range } else { 0..0 });
                    continue;
                }
            };
            if !is_noted {
                note(end..range.start);
                end = range.end;
            }
        }
        if treatment != Treatment::Compared {
            note(end..size_of::<T>());
        }
        let in_owners = may_have_owners && access == Access::Exclusive;
        if in_owners || !spans.is_empty() {
            self.change(|noted| {
                if in_owners {
                    noted.owners.get_or_insert_default();
                }
                noted.spans.append(&mut spans);
            });
        }
    }

    /// Whether nothing was noted.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        self.noted.get_mut().as_ref().is_none_or(|noted| noted.spans.is_empty())
    }

    /// Whether something that was noted is in a cell.
    #[inline]
    pub fn has_cells(&self) -> bool {
        // SAFETY: S12, nothing borrows it between the calls of methods.
        unsafe { (*self.noted.as_ptr()).as_ref().is_some_and(|noted| noted.owners.is_some()) }
    }

    /// The `owner` to which `path` leads has the shared value at `address`, which has so many owners, if that can be
    /// told. Whether it is met for the first time, or for the first time in this way.
    pub(super) fn meet(&self, address: *const (), owner: *const (), all: Option<usize>, path: &Path<'_>) -> bool {
        let new = || Owners {
            met: HashSet::new(),
            all,
            is_walked: false,
            is_walked_exclusively: false,
            around: Vec::new(),
            is_lent: false,
            guard: None,
        };
        let (around, is_lent) = path.owner_of_it();
        self.change(|noted| {
            let owners = noted.owners.get_or_insert_default().entry(address).or_insert_with(new);
            owners.around.extend(around);
            owners.is_lent |= is_lent;
            owners.met.insert(owner);
            let is_new_way = path.access() == Access::Exclusive && !owners.is_walked_exclusively;
            let is_first = !std::mem::replace(&mut owners.is_walked, true);
            owners.is_walked_exclusively |= is_new_way;
            is_first || is_new_way
        })
    }

    /// Nothing but shadows may own the shared value at `address`, which is met, or this is said.
    pub(super) fn guard(&self, address: *const (), mismatch: impl FnOnce() -> Mismatch) {
        self.change(|noted| {
            if let Some(owners) = noted.owners.get_or_insert_default().get_mut(&address) {
                owners.guard.get_or_insert_with(mismatch);
            }
        });
    }

    /// Panic if something else than the shadows that were met owns a cell in which something was noted.
    #[track_caller]
    #[inline]
    pub fn assert_alone(&self) {
        if self.has_cells() {
            self.compare_owners_bookkeeping();
        }
    }

    #[track_caller]
    #[inline(never)]
    fn compare_owners_bookkeeping(&self) {
        // SAFETY: S12, nothing changes it here.
        let noted = unsafe { &*self.noted.as_ptr() };
        let Some(all) = noted.as_ref().and_then(|noted| noted.owners.as_ref()) else { return };
        let guarded = all.iter().filter_map(|(address, owners)| Some((*address, owners.guard.as_ref()?)));
        let mut open: Vec<(*const (), &Mismatch)> = guarded.collect();
        let mut seen: HashSet<*const ()> = HashSet::new();
        while let Some((address, mismatch)) = open.pop() {
            let Some(owners) = all.get(&address).filter(|_| seen.insert(address)) else { continue };
            if owners.all != Some(owners.met.len()) || owners.is_lent {
                panic!("{mismatch}");
            }
            // Who owns an owner reaches the value, too.
            open.extend(owners.around.iter().map(|around| (*around, mismatch)));
        }
    }

    /// What was noted may lie in `shadow` or in what that leads to: it is written by the pointers that are found there.
    /// A derivative of a derivative calls this as it is.
    ///
    /// # Safety
    /// `shadow` is the place of a shadow that fits `primal`; nobody else uses it, nor what it leads to.
    #[inline(never)]
    pub unsafe fn reaches_bookkeeping<T: Differentiable>(&mut self, primal: &T, shadow: *mut ()) {
        // Of what is checked at a glance nothing is noted.
        if const { !T::CHECKED || T::AT_A_GLANCE } {
            return;
        }
        let Some(noted) = self.noted.get_mut() else { return };
        let Noted { spans, starts, memory, .. } = &mut **noted;
        if starts.is_empty() {
            starts.extend(spans.iter().map(|span| span.start.addr()));
            starts.sort_unstable();
        }
        let shadow = shadow.cast::<T>();
        let mut reached = Reached { starts, memory, met: Set::default() };
        reached.note(primal, shadow);
        // SAFETY: S12, asked of the caller.
        unsafe { primal.floats(shadow, &mut reached) }
    }

    /// Keep what was noted, and set to zero what may be overwritten. If something was noted, all shadows have been
    /// walked through by [`reaches_bookkeeping`](Self::reaches_bookkeeping).
    ///
    /// # Safety
    /// The shadows lie where they were noted until this is dropped, and only the derivative touches them until then.
    #[inline]
    pub unsafe fn clear(&mut self) {
        if !self.is_empty() {
            // SAFETY: S12, asked of the caller.
            unsafe { self.mask_bookkeeping() }
        }
    }

    /// # Safety: as of [`clear`](Self::clear).
    #[inline(never)]
    unsafe fn mask_bookkeeping(&mut self) {
        let Some(noted) = self.noted.get_mut() else { return };
        noted.find_spans();
        let Noted { spans, bytes, .. } = &mut **noted;
        for &Span { start, length, treatment } in spans.iter() {
            // SAFETY: S12, asked of the caller.
            unsafe {
                let at = bytes.len();
                bytes.reserve(length);
                start.cast::<MaybeUninit<u8>>().copy_to_nonoverlapping(bytes.as_mut_ptr().add(at), length);
                bytes.set_len(at + length);
                if treatment == Treatment::Cleared {
                    start.write_bytes(0, length);
                }
            }
        }
    }
}

/// Notes the memory of a shadow, if a span begins in it.
struct Reached<'a> {
    starts: &'a [usize],
    memory: &'a mut Vec<Memory>,
    /// Shadows of shared values that were met.
    met: Set<*const ()>,
}

impl Reached<'_> {
    fn note<T: ?Sized>(&mut self, primal: &T, shadow: *mut T) {
        let (start, length) = (shadow.cast::<u8>(), size_of_val(primal));
        let next = self.starts.partition_point(|span| *span < start.addr());
        if self.starts.get(next).is_some_and(|span| *span < start.addr() + length) {
            self.memory.push(Memory { start, length });
        }
    }
}

impl VisitFloats for Reached<'_> {
    unsafe fn run<F: Float>(&mut self, _: *const F, _: *mut F, _: usize) {}

    unsafe fn owned<T: Differentiable + ?Sized>(&mut self, primal: &T, place: *mut *mut ()) {
        // SAFETY: S12, asked of the caller.
        unsafe {
            let shadow = pointee(primal, place);
            self.note(primal, shadow);
            primal.floats(shadow, self);
        }
    }

    unsafe fn owned_from<T: Differentiable>(&mut self, row: &[T], place: *mut *mut (), at: usize) {
        // SAFETY: S12, asked of the caller.
        unsafe {
            let shadow = place.read().cast::<T>().add(at);
            self.note(row, std::ptr::slice_from_raw_parts_mut(shadow, row.len()));
            T::floats_in_row(row, shadow, self);
        }
    }

    unsafe fn reference<T: Differentiable + ?Sized>(&mut self, primal: &T, place: *mut *mut ()) {
        // SAFETY: S12, asked of the caller.
        unsafe { self.owned(primal, place) }
    }

    unsafe fn shared<T: Differentiable>(&mut self, primal: &T, place: *mut *mut (), offset: usize, _: usize) {
        // SAFETY: S12, asked of the caller.
        unsafe {
            let shadow: *mut T = place.read().byte_add(offset).cast();
            // By its shadow: in a batch a value has several.
            if self.is_new(shadow.cast_const().cast()) {
                self.note(primal, shadow);
                primal.floats(shadow, self);
            }
        }
    }

    fn is_new(&mut self, address: *const ()) -> bool {
        self.met.insert(address)
    }
}

impl Noted {
    /// Let each span be written by a pointer to the memory that it lies in.
    fn find_spans(&mut self) {
        self.memory.sort_unstable_by_key(|memory| memory.start.addr());
        let mut order: Vec<&mut Span> = self.spans.iter_mut().collect();
        order.sort_unstable_by_key(|span| span.start.addr());
        let mut memory = self.memory.drain(..).peekable();
        // Of what begins before a span, that which ends last: if the span lies in any of it, it lies in this.
        let end = |memory: &Memory| memory.start.addr() + memory.length;
        let mut around: Option<Memory> = None;
        for span in order {
            while let Some(next) = memory.next_if(|next| next.start.addr() <= span.start.addr()) {
                around = around.filter(|around| end(around) >= end(&next)).or(Some(next));
            }
            let found = around.filter(|around| span.start.addr() + span.length <= end(around));
            let found = found.expect("internal error in Pullback: what is masked lies in a shadow");
            span.start = found.start.with_addr(span.start.addr());
        }
    }
}

impl Drop for Masked {
    /// If nothing was noted, it is as if this were not there.
    #[inline]
    fn drop(&mut self) {
        if self.noted.get_mut().is_some() {
            self.finish_bookkeeping();
        }
    }
}

impl Masked {
    /// All that is done when this is dropped, in one function that a derivative of a derivative calls as it is: nothing
    /// is left to the fields.
    #[inline(never)]
    fn finish_bookkeeping(&mut self) {
        self.put_back();
        // SAFETY: S12, this is dropped once.
        unsafe { ManuallyDrop::drop(&mut self.noted) }
    }
}

impl Masked {
    /// Put back what was there before [`clear`](Self::clear).
    pub fn put_back(&mut self) {
        let Some(noted) = self.noted.get_mut() else { return };
        let Noted { spans, bytes: all, .. } = &mut **noted;
        let mut end = all.len();
        if end == 0 {
            return;
        }
        // Backwards, so that of two notes of the same bytes the first has the last word.
        for &Span { start, length, treatment } in spans.iter().rev() {
            let bytes = &all[end - length..end];
            end -= length;
            // SAFETY: S12, as asked by `clear`, which filled `bytes` from these spans. What is compared is initialised.
            // What is written without that is in a shadow that is written anyhow.
            unsafe {
                let is_same = || {
                    let old = std::slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), length);
                    std::slice::from_raw_parts(start, length) == old
                };
                if treatment != Treatment::Compared || !is_same() {
                    start.copy_from_nonoverlapping(bytes.as_ptr().cast(), length);
                }
            }
        }
        all.clear();
    }
}

/// Whether a value of `layout` may hold itself, in some variant, what is of a kind that `is_meant`.
fn holds(layout: &Layout, is_meant: impl Fn(Kind) -> bool + Copy) -> bool {
    layout.fields.get().iter().any(|field| match (field.kind, field.layout) {
        (Kind::Nested | Kind::Payload, Some(inner)) => holds(inner(), is_meant),
        (kind, _) => is_meant(kind),
    })
}

fn is_float(kind: Kind) -> bool {
    matches!(kind, Kind::F32 | Kind::F64)
}

/// Whether a value of `layout` may hold itself, in some variant, a float that is not in a cell: its shadow can be
/// written, wherever it lies.
fn has_free_floats(layout: &Layout) -> bool {
    let is_cell = layout.fields.get().iter().any(|field| field.kind == Kind::Cell);
    !is_cell
        && layout.fields.get().iter().any(|field| match (field.kind, field.layout) {
            (Kind::Nested | Kind::Payload, Some(inner)) => has_free_floats(inner()),
            (kind, _) => is_float(kind),
        })
}

/// What lies in a part of a variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    /// A float or a pointer.
    Active,
    /// A number, all of whose bytes are initialised.
    Number,
    /// A skipped field, or counts.
    Skipped,
    /// An enum that has neither floats nor pointers in any variant.
    PlainEnum,
    /// Another enum.
    Enum,
}

/// The ranges of what lies in a value of `layout` at `offset`, and what it is.
fn find(offset: usize, layout: &Layout, found: &mut Vec<(Range<usize>, Content)>) {
    if layout.fields.get().iter().any(|field| field.kind == Kind::Opaque || field.is_optional()) {
        let is_active = |kind| is_float(kind) || kind == Kind::Pointer;
        let content = if holds(layout, is_active) { Content::Enum } else { Content::PlainEnum };
        return found.push((offset..offset + layout.size, content));
    }
    for field in layout.fields.get() {
        let start = offset + field.offset;
        let (size, content) = match field.kind {
            Kind::F32 => (size_of::<f32>(), Content::Active),
            Kind::F64 => (size_of::<f64>(), Content::Active),
            Kind::Pointer => (size_of::<*const ()>(), Content::Active),
            Kind::Inactive => (field.count, Content::Number),
            Kind::Unknown | Kind::Owners => (field.count, Content::Skipped),
            Kind::Opaque | Kind::Payload | Kind::Cell => continue,
            Kind::Nested => {
                let inner = field.layout.expect("a nested field has a layout")();
                for index in 0..field.count {
                    find(start + index * inner.size, inner, found);
                }
                continue;
            }
        };
        found.push((start..start + size, content));
    }
}
