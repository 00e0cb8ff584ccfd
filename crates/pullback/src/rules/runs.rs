//! The floats of a value as a list of runs, for what cannot be done in one walk: two values side by side, or a value that is
//! written while it is walked.

use crate::differentiable::{Differentiable, Float, VisitFloats};
use std::any::TypeId;
use std::collections::HashSet;

/// Some floats in a row.
#[derive(Clone, Copy, Debug)]
struct Run {
    place: *mut (),
    count: usize,
    /// Whether they are `f64`, and not `f32`.
    wide: bool,
}

/// The floats of a value, in the order of [`Differentiable::floats`]. A shared value occurs once.
///
/// The list of a `Vec<f64>` allocates nothing: pullbacks run in inner loops.
#[derive(Default, Debug)]
pub struct Runs {
    first: Option<Run>,
    others: Vec<Run>,
    /// Shared values that were met; none in most types.
    met: Option<HashSet<*const ()>>,
}

impl VisitFloats for Runs {
    unsafe fn run<F: Float>(&mut self, _: *const F, shadow: *mut F, count: usize) {
        let run = Run { place: shadow.cast(), count, wide: TypeId::of::<F>() == TypeId::of::<f64>() };
        match self.first {
            None => self.first = Some(run),
            Some(_) => self.others.push(run),
        }
    }

    fn is_new(&mut self, address: *const ()) -> bool {
        self.met.get_or_insert_default().insert(address)
    }
}

/// Runs `$body` with `$place`s that have the type of the run's floats.
macro_rules! typed {
    ($run:expr, $F:ident => $body:expr) => {
        if $run.wide {
            type $F = f64;
            $body
        } else {
            type $F = f32;
            $body
        }
    };
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
        // SAFETY: whoever made the list keeps the value.
        unsafe { if self.wide { self.place.cast::<f64>().read() } else { f64::from(self.place.cast::<f32>().read()) } }
    }

    /// Make it another one.
    pub fn set(&self, value: f64) {
        // SAFETY: as above.
        unsafe {
            if self.wide { self.place.cast::<f64>().write(value) } else { self.place.cast::<f32>().write(value as f32) }
        }
    }
}

impl Runs {
    /// Each float by itself.
    pub fn places(&self) -> Vec<Place> {
        let each = |run: &Run| {
            let size = if run.wide { size_of::<f64>() } else { size_of::<f32>() };
            let Run { place, count, wide } = *run;
            (0..count).map(move |i| Place { place: place.wrapping_byte_add(i * size), wide })
        };
        self.iter().flat_map(each).collect()
    }

    /// The floats of a shadow at `shadow`, which has the shape of `primal`.
    ///
    /// # Safety
    /// As for [`Differentiable::floats`].
    pub unsafe fn of<T: Differentiable + ?Sized>(primal: &T, shadow: *mut T) -> Self {
        let mut runs = Runs::default();
        // SAFETY: asked of the caller.
        unsafe { primal.floats(shadow, &mut runs) };
        runs
    }

    /// The floats of a value itself.
    pub fn of_value<T: Differentiable + ?Sized>(value: &mut T) -> Self {
        let place = &raw mut *value;
        // SAFETY: a value has its own shape. The walk only reads, and the list is used after it.
        unsafe { Runs::of(&*place, place) }
    }

    fn iter(&self) -> impl Iterator<Item = &Run> {
        self.first.iter().chain(&self.others)
    }

    /// Whether the lists have the same lengths and types throughout.
    pub fn fit(&self, other: &Runs) -> bool {
        self.others.len() == other.others.len()
            && self.first.is_some() == other.first.is_some()
            && self.iter().zip(other.iter()).all(|(a, b)| (a.count, a.wide) == (b.count, b.wide))
    }

    /// Move the floats of `self` to those of `into`, where they are added; zeros are left behind.
    ///
    /// # Safety
    /// The lists fit, and all floats may be read and written.
    pub unsafe fn add_to(&self, into: &Runs) {
        for (from, to) in self.iter().zip(into.iter()) {
            typed!(from, F => for index in 0..from.count {
                // SAFETY: asked of the caller.
                unsafe {
                    let value = from.place.cast::<F>().add(index).replace(0.0);
                    *to.place.cast::<F>().add(index) += value;
                }
            });
        }
    }

    /// Copy the floats of `self` to those of `into`.
    ///
    /// # Safety
    /// As for [`add_to`](Self::add_to).
    pub unsafe fn copy_to(&self, into: &Runs) {
        for (from, to) in self.iter().zip(into.iter()) {
            // SAFETY: asked of the caller.
            typed!(from, F => unsafe { from.place.cast::<F>().copy_to(to.place.cast(), from.count) });
        }
    }

    /// Set all floats to zero.
    ///
    /// # Safety
    /// All floats may be written.
    pub unsafe fn clear(&self) {
        for run in self.iter() {
            // SAFETY: asked of the caller.
            typed!(run, F => unsafe { run.place.cast::<F>().write_bytes(0, run.count) });
        }
    }

    /// Move those floats that lie in the value at `place` itself, not behind a pointer, from where they lie in the value at `from`.
    ///
    /// # Safety
    /// `self` is the list of the value at `place`; both may be read and written.
    pub unsafe fn take_inline<T>(&self, place: *mut T, from: *mut T) {
        let inside = place.addr()..place.addr() + size_of::<T>();
        for run in self.iter().filter(|run| inside.contains(&run.place.addr())) {
            let offset = run.place.addr() - inside.start;
            typed!(run, F => for index in 0..run.count {
                // SAFETY: asked of the caller; the run lies in the value.
                unsafe {
                    let value = from.byte_add(offset).cast::<F>().add(index).replace(0.0);
                    run.place.cast::<F>().add(index).write(value);
                }
            });
        }
    }
}
