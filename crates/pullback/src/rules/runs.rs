//! The floats of a value as a list of runs, for what cannot be done in one walk: two values side by side, or a value
//! that is written while it is walked.

use crate::abi::Kind;
use crate::differentiable::{Arrangement, Differentiable, Float, VisitFloats, pointee};
use std::any::TypeId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Some floats in a row.
#[derive(Clone, Copy, Debug)]
struct Run<F> {
    /// Null in a shadow that has none of them: they are constant.
    place: *mut F,
    count: usize,
    /// How many runs came before it; or what the count is, of an entry that is no run.
    number: usize,
}

/// The entry after all floats that an array owns: so many axes. As many entries of each kind follow: how long they are,
/// and their strides; and then where the array begins.
///
/// (A list has no other memory for this: a derivative of this code has to keep account of all that a list is made of.)
const ARRAY: usize = usize::MAX;
/// The entry before what has a shape, of so many axes, and nothing to be arranged. Their lengths follow.
const SHAPE: usize = usize::MAX - 1;
/// How long an axis is.
const LENGTH: usize = usize::MAX - 2;
/// A stride, or where an array begins.
const STRIDE: usize = usize::MAX - 3;

/// Runs of one type. The first allocates nothing: pullbacks run in inner loops.
#[derive(Debug)]
struct List<F> {
    first: Option<Run<F>>,
    others: Vec<Run<F>>,
}

impl<F: Float> List<F> {
    const EMPTY: Self = List { first: None, others: Vec::new() };

    fn push(&mut self, run: Run<F>) {
        match self.first {
            None => self.first = Some(run),
            Some(_) => self.others.push(run),
        }
    }

    /// An entry after the run that came last.
    fn enter(&mut self, number: usize, count: usize) {
        self.others.push(Run { place: std::ptr::null_mut(), count, number });
    }

    /// The run that came last is all that an array owns.
    fn arrange(&mut self, of: &Arrangement) {
        self.enter(ARRAY, of.axes());
        of.shape().iter().for_each(|length| self.enter(LENGTH, *length));
        of.strides().iter().for_each(|stride| self.enter(STRIDE, stride.cast_unsigned()));
        self.enter(STRIDE, of.begin());
    }

    /// Call `f` with each run. (No reference stands for the first run at one time and for another one at another time:
    /// a derivative of this code could not tell the memory of the two apart.)
    fn each(&self, mut f: impl FnMut(Run<F>)) {
        if let Some(run) = self.first {
            f(run);
        }
        for run in &self.others {
            if run.number < STRIDE {
                f(*run);
            }
        }
    }

    /// Call `f` with the entries of two lists side by side.
    fn pairs(&self, other: &Self, mut f: impl FnMut(Run<F>, Run<F>)) {
        if let (Some(a), Some(b)) = (self.first, other.first) {
            f(a, b);
        }
        for (a, b) in self.others.iter().zip(&other.others) {
            f(*a, *b);
        }
    }

    /// Whether the lists have the same lengths throughout, and arrays whose elements lie in the same places.
    fn fit(&self, other: &Self) -> bool {
        let mut fit = self.others.len() == other.others.len() && self.first.is_some() == other.first.is_some();
        self.pairs(other, |a, b| fit &= (a.count, a.number) == (b.count, b.number));
        fit
    }

    /// The same, but for where the elements of arrays lie.
    fn fit_by_index(&self, other: &Self) -> bool {
        let mut fit = self.others.len() == other.others.len() && self.first.is_some() == other.first.is_some();
        let mut at = 0;
        self.pairs(other, |a, b| {
            at += 1;
            let is_free = a.number == STRIDE || self.axes_at(at).is_some();
            fit &= a.number == b.number && (is_free || a.count == b.count);
        });
        fit
    }

    /// How many axes there are, if the entry at this place is that of an array.
    fn axes_at(&self, at: usize) -> Option<usize> {
        let entry = self.others.get(at.checked_sub(1)?)?;
        (entry.number == ARRAY).then_some(entry.count)
    }

    /// How many floats of the run at a place there are by index. A derivative of a derivative calls this as it is.
    #[inline(never)]
    fn part_bookkeeping(&self, at: usize, count: usize) -> usize {
        match self.axes_at(at + 1) {
            Some(axes) => self.others[at + 1..][..axes].iter().map(|axis| axis.count).product(),
            None => count,
        }
    }

    /// Where in the run at a place the float of an index is. A derivative of a derivative calls this as it is.
    #[inline(never)]
    fn place_bookkeeping(&self, at: usize, index: usize) -> usize {
        let Some(axes) = self.axes_at(at + 1) else { return index };
        let (lengths, strides) = self.others[at + 1..][..2 * axes + 1].split_at(axes);
        let (mut place, mut rest) = (strides[axes].count, index);
        for (length, stride) in lengths.iter().zip(strides).rev() {
            place = place.wrapping_add(stride.count.wrapping_mul(rest % length.count));
            rest /= length.count;
        }
        place
    }

    /// The shapes, one after the other. In another list that does not fit they may be others.
    fn shapes(&self) -> Vec<Vec<usize>> {
        let is_shape = |entry: &&Run<F>| matches!(entry.number, ARRAY | SHAPE | LENGTH);
        let mut shapes: Vec<Vec<usize>> = Vec::new();
        for entry in self.others.iter().filter(is_shape) {
            match (entry.number, shapes.last_mut()) {
                (LENGTH, Some(shape)) => shape.push(entry.count),
                _ => shapes.push(Vec::new()),
            }
        }
        shapes
    }
}

/// The floats of a value, in the order of [`Differentiable::floats`]. A shared value occurs once.
///
/// Floats of the two widths are listed apart, so that a derivative of this code never sees one in the place of the
/// other.
#[derive(Debug)]
pub struct Runs {
    narrow: List<f32>,
    wide: List<f64>,
    count: usize,
    /// Which variants the enums have, and which owners have a value in common, as a hash.
    shape: u64,
    /// Shared values that were met; none in most types.
    met: Option<HashMap<*const (), Met>>,
    /// Whether these are the floats of the value itself, and not of a shadow.
    is_primal: bool,
}

/// A shared value that was met.
#[derive(Clone, Copy, Debug)]
struct Met {
    /// How many came before it.
    number: usize,
    has_shadow: bool,
}

impl VisitFloats for Runs {
    #[inline]
    fn variant(&mut self, number: usize) {
        self.hash(number);
    }

    #[inline]
    unsafe fn run<F: Float>(&mut self, _: *const F, shadow: *mut F, count: usize) {
        self.push(shadow, count);
    }

    #[inline(always)]
    unsafe fn owned<T: Differentiable + ?Sized>(&mut self, primal: &T, place: *mut *mut ()) {
        // SAFETY: S36, asked of the caller; what is missing is not followed.
        unsafe {
            if self.is_missing(primal, place, 0) {
                self.missing(primal);
            } else {
                primal.floats(pointee(primal, place), self);
            }
        }
    }

    /// One by one: of another value they may be in two rows.
    unsafe fn owned_from<T: Differentiable>(&mut self, row: &[T], place: *mut *mut (), at: usize) {
        // SAFETY: S36, asked of the caller; what is missing is not followed.
        unsafe {
            if self.is_missing(row, place, at * size_of::<T>()) {
                row.iter().for_each(|value| self.missing(value));
            } else {
                let shadow = place.read().cast::<T>().add(at);
                row.iter().enumerate().for_each(|(index, value)| value.floats(shadow.add(index), self));
            }
        }
    }

    #[inline(always)]
    unsafe fn reference<T: Differentiable + ?Sized>(&mut self, primal: &T, place: *mut *mut ()) {
        // SAFETY: S36, asked of the caller.
        unsafe { self.owned(primal, place) }
    }

    fn arranged(&mut self, arrangement: impl FnOnce() -> Arrangement) {
        self.shape(&arrangement());
    }

    unsafe fn array<T: Differentiable>(
        &mut self,
        elements: &[T],
        place: *mut *mut (),
        arrangement: impl FnOnce() -> Arrangement,
    ) {
        // SAFETY: S36, asked of the caller; what is missing is not followed.
        unsafe {
            let shadow = (!self.is_missing(elements, place, 0)).then(|| pointee(elements, place).cast::<T>());
            self.elements(elements, shadow, &arrangement());
        }
    }

    #[inline(always)]
    unsafe fn shared<T: Differentiable>(&mut self, primal: &T, place: *mut *mut (), offset: usize, _: usize) {
        // SAFETY: S36, asked of the caller; what is missing is not followed.
        unsafe {
            let has_shadow = !self.is_missing(primal, place, offset);
            match (self.meet((&raw const *primal).cast(), has_shadow), has_shadow) {
                (false, _) => {}
                (true, false) => self.missing(primal),
                (true, true) => primal.floats(place.read().byte_add(offset).cast(), self),
            }
        }
    }

    fn is_new(&mut self, address: *const ()) -> bool {
        self.meet(address, true)
    }
}

/// Lists what a shadow does not have.
struct Missing<'a>(&'a mut Runs);

impl VisitFloats for Missing<'_> {
    fn variant(&mut self, number: usize) {
        self.0.hash(number);
    }

    unsafe fn run<F: Float>(&mut self, _: *const F, _: *mut F, count: usize) {
        self.0.push(std::ptr::null_mut::<F>(), count);
    }

    unsafe fn owned_from<T: Differentiable>(&mut self, row: &[T], _: *mut *mut (), _: usize) {
        row.iter().for_each(|value| self.0.missing(value));
    }

    fn arranged(&mut self, arrangement: impl FnOnce() -> Arrangement) {
        self.0.shape(&arrangement());
    }

    unsafe fn array<T: Differentiable>(
        &mut self,
        elements: &[T],
        _: *mut *mut (),
        arrangement: impl FnOnce() -> Arrangement,
    ) {
        // SAFETY: S36, asked of the caller.
        unsafe { self.0.elements(elements, None, &arrangement()) }
    }

    fn is_new(&mut self, address: *const ()) -> bool {
        self.0.meet(address, false)
    }
}

impl Runs {
    #[inline]
    fn push<F: Float>(&mut self, place: *mut F, count: usize) {
        let number = self.count;
        self.count += 1;
        if TypeId::of::<F>() == TypeId::of::<f64>() {
            self.wide.push(Run { place: place.cast(), count, number });
        } else {
            self.narrow.push(Run { place: place.cast(), count, number });
        }
    }

    /// List a shape.
    fn shape(&mut self, of: &Arrangement) {
        // No entry but a run is the first one.
        if self.wide.first.is_none() {
            self.push(std::ptr::null_mut::<f64>(), 0);
        }
        self.wide.enter(SHAPE, of.axes());
        of.shape().iter().for_each(|length| self.wide.enter(LENGTH, *length));
    }

    /// List the elements of an array: all floats that it owns, as they lie in memory, and of other types those that are
    /// part of it, by index.
    ///
    /// # Safety
    /// As asked by [`VisitFloats::array`]; the shadows, if there are any, lie at `shadow`.
    unsafe fn elements<T: Differentiable>(&mut self, elements: &[T], shadow: Option<*mut T>, of: &Arrangement) {
        if let [field] = T::LAYOUT.fields.get()
            && matches!(field.kind, Kind::F32 | Kind::F64)
        {
            match shadow {
                // SAFETY: S36, asked of the caller.
                Some(shadow) => unsafe { T::floats_in_row(elements, shadow, self) },
                None => self.missing(elements),
            }
            return match field.kind {
                Kind::F32 => self.narrow.arrange(of),
                _ => self.wide.arrange(of),
            };
        }
        self.shape(of);
        // Nothing is listed of what has neither floats nor variants.
        if size_of::<T>() == 0 || T::INERT && !T::VARIANTS {
            return;
        }
        for index in of.places_bookkeeping() {
            match shadow {
                // SAFETY: S36, asked of the caller; `index` is that of an element.
                Some(shadow) => unsafe { elements[index].floats(shadow.add(index), self) },
                None => self.missing(&elements[index]),
            }
        }
    }

    /// Whether the elements of arrays lie in the same places, if the lists fit.
    fn are_arranged_alike(&self, other: &Runs) -> bool {
        self.narrow.fit(&other.narrow) && self.wide.fit(&other.wide)
    }

    #[inline]
    fn hash(&mut self, number: usize) {
        // As FNV-1a has it.
        self.shape = (self.shape ^ (number as u64 + 1)).wrapping_mul(0x100_0000_01b3);
    }

    /// Whether the pointer of a shadow at `place`, to memory in which the shadow of `primal` lies at `offset`, leads to
    /// no shadow: what it owns is constant. In reverse mode it is null then. In forward mode it is the primal's own,
    /// which the shadow of another place cannot own; or null, if a function without derivative has made it.
    ///
    /// # Safety
    /// `place` may be read.
    #[inline(always)]
    unsafe fn is_missing<T: ?Sized>(&self, primal: &T, place: *mut *mut (), offset: usize) -> bool {
        // SAFETY: S36, asked of the caller.
        let pointer = unsafe { place.read() };
        !self.is_primal
            && (pointer.is_null() || pointer.addr().wrapping_add(offset) == (&raw const *primal).cast::<()>().addr())
    }

    /// List what a shadow does not have.
    #[cold]
    fn missing<T: Differentiable + ?Sized>(&mut self, primal: &T) {
        // SAFETY: S36, a value has its own shape. The walk only reads.
        unsafe { primal.floats((&raw const *primal).cast_mut(), &mut Missing(self)) }
    }

    /// Whether the shared value at `address` is met for the first time.
    fn meet(&mut self, address: *const (), has_shadow: bool) -> bool {
        let met = self.met.get_or_insert_default();
        let new = Met { number: met.len(), has_shadow };
        match met.entry(address) {
            Entry::Vacant(entry) => {
                entry.insert(new);
                true
            }
            Entry::Occupied(entry) => {
                let before = *entry.get();
                assert!(
                    before.has_shadow == has_shadow,
                    "of a value with several owners some have a derivative and some have none\n\
                     help: let all of them come from the same argument, or let the constant ones own a copy"
                );
                self.hash(before.number);
                false
            }
        }
    }
}

/// Panic, for a cotangent does not fit.
#[cold]
pub fn misfit(cotangent: &Runs, value: &Runs) -> ! {
    match cotangent.different_shapes(value) {
        Some((of, shape)) => {
            panic!(
                "a cotangent has another shape than the value: an array of shape {of:?} in the place of one of shape {shape:?}"
            )
        }
        None => panic!("a cotangent has another shape than the value: other lengths or variants"),
    }
}

/// One float.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    place: *mut (),
    wide: bool,
}

impl Place {
    /// Whether it is an `f64`, and not an `f32`.
    pub fn is_wide(&self) -> bool {
        self.wide
    }

    /// What it is.
    pub fn get(&self) -> f64 {
        // SAFETY: S36, whoever made the list keeps the value.
        unsafe { if self.wide { self.place.cast::<f64>().read() } else { f64::from(self.place.cast::<f32>().read()) } }
    }

    /// Make it another one.
    pub fn set(&self, value: f64) {
        // SAFETY: S36, as above.
        unsafe {
            if self.wide { self.place.cast::<f64>().write(value) } else { self.place.cast::<f32>().write(value as f32) }
        }
    }
}

impl Runs {
    const EMPTY: Self = Runs {
        narrow: List::EMPTY,
        wide: List::EMPTY,
        count: 0,
        shape: 0xcbf2_9ce4_8422_2325,
        met: None,
        is_primal: false,
    };

    /// Each float by itself, in the order of the walk.
    pub fn places(&self) -> Vec<Place> {
        let mut runs: Vec<(usize, Place, usize)> = Vec::new();
        self.narrow.each(|run| runs.push((run.number, Place { place: run.place.cast(), wide: false }, run.count)));
        self.wide.each(|run| runs.push((run.number, Place { place: run.place.cast(), wide: true }, run.count)));
        runs.sort_unstable_by_key(|(number, ..)| *number);
        let each = |(_, Place { place, wide }, count): (usize, Place, usize)| {
            let size = if wide { size_of::<f64>() } else { size_of::<f32>() };
            (0..count).map(move |i| Place { place: place.wrapping_byte_add(i * size), wide })
        };
        runs.into_iter().flat_map(each).collect()
    }

    /// The floats of a shadow at `shadow`, which has the shape of `primal`, or no memory for parts of it that are
    /// constant. It may be `primal` itself: a value may be its own tangent.
    ///
    /// # Safety
    /// As for [`Differentiable::floats`].
    pub unsafe fn of<T: Differentiable + ?Sized>(primal: &T, shadow: *mut T) -> Self {
        let mut runs = Runs { is_primal: std::ptr::addr_eq(primal, shadow), ..Runs::EMPTY };
        // SAFETY: S36, asked of the caller.
        unsafe { primal.floats(shadow, &mut runs) };
        runs
    }

    /// The floats of a value itself.
    pub fn of_value<T: Differentiable + ?Sized>(value: &mut T) -> Self {
        let place = &raw mut *value;
        // SAFETY: S36, a value has its own shape. The walk only reads, and the list is used after it.
        unsafe { Runs::of(&*place, place) }
    }

    /// Whether the lists have the same lengths and types throughout, in the same variants, and with the same values in
    /// common (but for an accident of 1 in 2⁶⁴).
    pub fn fit(&self, other: &Runs) -> bool {
        self.shape == other.shape
            && (self.are_arranged_alike(other)
                || self.narrow.fit_by_index(&other.narrow) && self.wide.fit_by_index(&other.wide))
    }

    /// The shapes of two arrays in the same place that are not the same.
    pub fn different_shapes(&self, other: &Runs) -> Option<(Vec<usize>, Vec<usize>)> {
        let [ours, theirs] = [self, other].map(|runs| [runs.narrow.shapes(), runs.wide.shapes()].concat());
        ours.into_iter().zip(theirs).find(|(a, b)| a != b)
    }

    /// Add the floats of `self` to those of `into`, unless there are none.
    ///
    /// # Safety
    /// The lists fit, all floats of `self` are there and may be read, and those of `into` may be read and written.
    pub unsafe fn add_to(&self, into: &Runs) {
        /// # Safety: as above.
        unsafe fn add<F: Float>(from: &List<F>, into: &List<F>) {
            from.pairs(into, |from, to| {
                let count = if to.place.is_null() { 0 } else { from.count };
                for index in 0..count {
                    // SAFETY: S36, asked of the caller.
                    unsafe { *to.place.add(index) += *from.place.add(index) }
                }
            });
        }
        /// # Safety: as above.
        unsafe fn add_by_index<F: Float>(from_list: &List<F>, into: &List<F>) {
            let mut at = 0;
            from_list.pairs(into, |from, to| {
                let count = if to.place.is_null() { 0 } else { from_list.part_bookkeeping(at, from.count) };
                for index in 0..count {
                    let from_index = from_list.place_bookkeeping(at, index);
                    let to_index = into.place_bookkeeping(at, index);
                    // SAFETY: S36, asked of the caller.
                    unsafe { *to.place.add(to_index) += *from.place.add(from_index) }
                }
                at += 1;
            });
        }
        // SAFETY: S36, asked of the caller.
        unsafe {
            if self.are_arranged_alike(into) {
                add(&self.narrow, &into.narrow);
                add(&self.wide, &into.wide);
            } else {
                add_by_index(&self.narrow, &into.narrow);
                add_by_index(&self.wide, &into.wide);
            }
        }
    }

    /// Whether there are values among them that may have other owners: these may be read, and not written, unless it is
    /// known who the owners are.
    pub fn has_counted(&self) -> bool {
        self.met.is_some()
    }

    /// Copy the floats of `self` to those of `into`, but for those that `self` is without.
    ///
    /// # Safety
    /// The lists fit, the floats of `self` may be read, and all of `into` are there and may be written.
    pub unsafe fn copy_to(&self, into: &Runs) {
        /// # Safety: as above.
        unsafe fn copy<F: Float>(from: &List<F>, into: &List<F>) {
            from.pairs(into, |from, to| {
                if !from.place.is_null() {
                    // SAFETY: S36, asked of the caller.
                    unsafe { from.place.copy_to(to.place, from.count) }
                }
            });
        }
        /// # Safety: as above.
        unsafe fn copy_by_index<F: Float>(from_list: &List<F>, into: &List<F>) {
            let mut at = 0;
            from_list.pairs(into, |from, to| {
                let count = if from.place.is_null() { 0 } else { from_list.part_bookkeeping(at, from.count) };
                for index in 0..count {
                    let from_index = from_list.place_bookkeeping(at, index);
                    let to_index = into.place_bookkeeping(at, index);
                    // SAFETY: S36, asked of the caller.
                    unsafe { *to.place.add(to_index) = *from.place.add(from_index) }
                }
                at += 1;
            });
        }
        // SAFETY: S36, asked of the caller.
        unsafe {
            if self.are_arranged_alike(into) {
                copy(&self.narrow, &into.narrow);
                copy(&self.wide, &into.wide);
            } else {
                copy_by_index(&self.narrow, &into.narrow);
                copy_by_index(&self.wide, &into.wide);
            }
        }
    }

    /// Set all floats to zero.
    ///
    /// # Safety
    /// All floats may be written.
    pub unsafe fn clear(&self) {
        /// # Safety: as above.
        unsafe fn zero<F: Float>(run: Run<F>) {
            if run.count > 0 {
                // SAFETY: S36, asked of the caller.
                unsafe { run.place.write_bytes(0, run.count) }
            }
        }
        // SAFETY: S36, asked of the caller.
        self.narrow.each(|run| unsafe { zero(run) });
        // SAFETY: S36, asked of the caller.
        self.wide.each(|run| unsafe { zero(run) });
    }

    /// Move those floats that lie in the value at `place` itself, not behind a pointer, from where they lie in the
    /// value at `from`.
    ///
    /// # Safety
    /// `self` is the list of the value at `place`; both may be read and written.
    pub unsafe fn take_inline<T>(&self, place: *mut T, from: *mut T) {
        /// # Safety: as above.
        unsafe fn take<T, F: Float>(list: &List<F>, place: *mut T, from: *mut T) {
            let inside = place.addr()..place.addr() + size_of::<T>();
            list.each(|run| {
                let offset = run.place.addr().wrapping_sub(inside.start);
                let count = if inside.contains(&run.place.addr()) { run.count } else { 0 };
                for index in 0..count {
                    // SAFETY: S36, asked of the caller; the run lies in the value.
                    unsafe {
                        let value = from.byte_add(offset).cast::<F>().add(index).replace(F::default());
                        run.place.add(index).write(value);
                    }
                }
            });
        }
        // SAFETY: S36, asked of the caller.
        unsafe {
            take(&self.narrow, place, from);
            take(&self.wide, place, from);
        }
    }
}
