//! The floats of a value as a list of runs, for what cannot be done in one walk: two values side by side, or a value
//! that is written while it is walked.

use crate::differentiable::{Differentiable, Float, VisitFloats};
use std::any::TypeId;
use std::collections::HashSet;

/// Some floats in a row.
#[derive(Clone, Copy, Debug)]
struct Run<F> {
    place: *mut F,
    count: usize,
    /// How many runs came before it.
    number: usize,
}

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

    /// Call `f` with each run. (No reference stands for the first run at one time and for another one at another time:
    /// a derivative of this code could not tell the memory of the two apart.)
    fn each(&self, mut f: impl FnMut(Run<F>)) {
        if let Some(run) = self.first {
            f(run);
        }
        for run in &self.others {
            f(*run);
        }
    }

    /// Call `f` with the runs of two lists side by side.
    fn pairs(&self, other: &Self, mut f: impl FnMut(Run<F>, Run<F>)) {
        if let (Some(a), Some(b)) = (self.first, other.first) {
            f(a, b);
        }
        for (a, b) in self.others.iter().zip(&other.others) {
            f(*a, *b);
        }
    }

    fn fit(&self, other: &Self) -> bool {
        let mut fit = self.others.len() == other.others.len() && self.first.is_some() == other.first.is_some();
        self.pairs(other, |a, b| fit &= (a.count, a.number) == (b.count, b.number));
        fit
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
    /// Which variants the enums have, as a hash.
    variants: u64,
    /// Shared values that were met; none in most types.
    met: Option<HashSet<*const ()>>,
}

impl VisitFloats for Runs {
    #[inline]
    fn variant(&mut self, number: usize) {
        // As FNV-1a has it.
        self.variants = (self.variants ^ (number as u64 + 1)).wrapping_mul(0x100_0000_01b3);
    }

    #[inline]
    unsafe fn run<F: Float>(&mut self, _: *const F, shadow: *mut F, count: usize) {
        let number = self.count;
        self.count += 1;
        if TypeId::of::<F>() == TypeId::of::<f64>() {
            self.wide.push(Run { place: shadow.cast(), count, number });
        } else {
            self.narrow.push(Run { place: shadow.cast(), count, number });
        }
    }

    fn is_new(&mut self, address: *const ()) -> bool {
        self.met.get_or_insert_default().insert(address)
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
    const EMPTY: Self =
        Runs { narrow: List::EMPTY, wide: List::EMPTY, count: 0, variants: 0xcbf2_9ce4_8422_2325, met: None };

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

    /// The floats of a shadow at `shadow`, which has the shape of `primal`.
    ///
    /// # Safety
    /// As for [`Differentiable::floats`].
    pub unsafe fn of<T: Differentiable + ?Sized>(primal: &T, shadow: *mut T) -> Self {
        let mut runs = Runs::EMPTY;
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

    /// Whether the lists have the same lengths and types throughout, in the same variants (but for an accident of 1 in
    /// 2⁶⁴).
    pub fn fit(&self, other: &Runs) -> bool {
        self.variants == other.variants && self.narrow.fit(&other.narrow) && self.wide.fit(&other.wide)
    }

    /// Move the floats of `self` to those of `into`, where they are added; zeros are left behind.
    ///
    /// # Safety
    /// The lists fit, and all floats may be read and written.
    pub unsafe fn add_to(&self, into: &Runs) {
        /// # Safety: as above.
        unsafe fn add<F: Float>(from: &List<F>, into: &List<F>) {
            from.pairs(into, |from, to| {
                for index in 0..from.count {
                    // SAFETY: S36, asked of the caller.
                    unsafe {
                        let value = from.place.add(index).replace(F::default());
                        *to.place.add(index) += value;
                    }
                }
            });
        }
        // SAFETY: S36, asked of the caller.
        unsafe {
            add(&self.narrow, &into.narrow);
            add(&self.wide, &into.wide);
        }
    }

    /// Copy the floats of `self` to those of `into`.
    ///
    /// # Safety
    /// As for [`add_to`](Self::add_to).
    pub unsafe fn copy_to(&self, into: &Runs) {
        /// # Safety: as above.
        unsafe fn copy<F: Float>(from: &List<F>, into: &List<F>) {
            // SAFETY: S36, asked of the caller.
            from.pairs(into, |from, to| unsafe { from.place.copy_to(to.place, from.count) });
        }
        // SAFETY: S36, asked of the caller.
        unsafe {
            copy(&self.narrow, &into.narrow);
            copy(&self.wide, &into.wide);
        }
    }

    /// Set all floats to zero.
    ///
    /// # Safety
    /// All floats may be written.
    pub unsafe fn clear(&self) {
        // SAFETY: S36, asked of the caller.
        self.narrow.each(|run| unsafe { run.place.write_bytes(0, run.count) });
        // SAFETY: S36, asked of the caller.
        self.wide.each(|run| unsafe { run.place.write_bytes(0, run.count) });
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
