//! Vectors and matrices as BLAS has them in memory, and copies of them.

use super::{Blas, ROW_MAJOR};
use crate::rules::Memory;
use std::ffi::{c_int, c_uint};

/// A length as C has it.
fn length(n: c_int) -> usize {
    usize::try_from(n).unwrap_or(0)
}

/// A vector in memory.
#[derive(Clone, Copy, Debug)]
pub struct Vector<T> {
    pub place: *mut T,
    pub length: c_int,
    pub step: c_int,
}

/// A matrix in memory, as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<T> {
    pub place: *mut T,
    pub rows: c_int,
    pub columns: c_int,
    pub layout: c_uint,
    /// From one row to the next, or from one column to the next.
    pub leading: c_int,
}

/// A vector or a matrix.
pub trait Stored<T>: Copy {
    /// The same at another place.
    fn at(self, place: *mut T) -> Self;

    /// One that lies in memory without gaps, with as many elements as it has.
    fn packed(self) -> (Self, usize);

    /// Its parts that lie in a row.
    fn vectors(self) -> impl Iterator<Item = Vector<T>>;
}

impl<T: Blas> Stored<T> for Vector<T> {
    fn at(self, place: *mut T) -> Self {
        Vector { place, ..self }
    }

    fn packed(self) -> (Self, usize) {
        (Vector { step: 1, ..self }, length(self.length))
    }

    fn vectors(self) -> impl Iterator<Item = Vector<T>> {
        std::iter::once(self)
    }
}

impl<T: Blas> Stored<T> for Matrix<T> {
    fn at(self, place: *mut T) -> Self {
        Matrix { place, ..self }
    }

    fn packed(self) -> (Self, usize) {
        let (_, of_one) = self.lines();
        (Matrix { leading: of_one.max(1), ..self }, length(self.rows) * length(self.columns))
    }

    fn vectors(self) -> impl Iterator<Item = Vector<T>> {
        let (count, of_one) = self.lines();
        let start = move |i: c_int| self.place.wrapping_offset(i as isize * self.leading as isize);
        (0..count).map(move |i| Vector { place: start(i), length: of_one, step: 1 })
    }
}

impl<T> Matrix<T> {
    /// How many rows or columns lie one after the other, and how long they are.
    fn lines(self) -> (c_int, c_int) {
        if self.layout == ROW_MAJOR { (self.rows, self.columns) } else { (self.columns, self.rows) }
    }
}

/// Write `value` to all elements.
///
/// # Safety
/// It is there.
pub unsafe fn fill<T: Blas>(value: T, x: impl Stored<T>) {
    for x in x.vectors() {
        let step = x.step.unsigned_abs() as usize;
        // SAFETY: S30, asked of the caller.
        (0..length(x.length)).for_each(|i| unsafe { x.place.add(i * step).write(value) });
    }
}

/// `x := β x`, which is not read for β = 0.
///
/// # Safety
/// It is there.
pub unsafe fn scale<T: Blas>(beta: T, x: impl Stored<T>) {
    // SAFETY: S30, asked of the caller.
    unsafe {
        if beta == T::ZERO {
            fill(T::ZERO, x);
        } else if beta != T::ONE {
            x.vectors().for_each(|x| T::scal(beta, x));
        }
    }
}

/// `⟨x, y⟩`
///
/// # Safety
/// They are there, and of one size.
pub unsafe fn inner<T: Blas, S: Stored<T>>(x: S, y: S) -> T {
    // SAFETY: S30, asked of the caller.
    x.vectors().zip(y.vectors()).fold(T::ZERO, |sum, (x, y)| sum + unsafe { T::dot(x, y) })
}

/// `y := y + α x`
///
/// # Safety
/// They are there, and of one size.
pub unsafe fn add<T: Blas, S: Stored<T>>(alpha: T, x: S, y: S) {
    // SAFETY: S30, asked of the caller.
    x.vectors().zip(y.vectors()).for_each(|(x, y)| unsafe { T::axpy(alpha, x, y) });
}

/// A vector or matrix that is needed later: where it is, and a copy if it does not stay as it is.
#[derive(Clone, Debug)]
pub struct Later<T, S> {
    pub stored: S,
    copy: Option<(S, Vec<T>)>,
}

impl<T: Blas, S: Stored<T>> Later<T, S> {
    /// # Safety
    /// It is there, and stays as `memory` says.
    pub unsafe fn new(memory: Memory, stored: S) -> Self {
        // SAFETY: S30, asked of the caller.
        if memory.stays() { Later { stored, copy: None } } else { unsafe { Self::copied(stored) } }
    }

    /// With a copy.
    ///
    /// # Safety
    /// It is there.
    pub unsafe fn copied(stored: S) -> Self {
        let (packed, count) = stored.packed();
        let mut copy = vec![T::ZERO; count];
        let into = packed.at(copy.as_mut_ptr());
        // SAFETY: S30, asked of the caller.
        stored.vectors().zip(into.vectors()).for_each(|(from, into)| unsafe { T::copy(from, into) });
        Later { stored, copy: Some((packed, copy)) }
    }

    /// With zeros for a copy.
    pub fn zeros(stored: S) -> Self {
        let (packed, count) = stored.packed();
        Later { stored, copy: Some((packed, vec![T::ZERO; count])) }
    }

    /// To be read.
    pub fn view(&self) -> S {
        match &self.copy {
            None => self.stored,
            Some((packed, copy)) => packed.at(copy.as_ptr().cast_mut()),
        }
    }

    /// The copy, to be written.
    pub fn copy_mut(&mut self) -> S {
        let (packed, copy) = self.copy.as_mut().expect("it has a copy");
        packed.at(copy.as_mut_ptr())
    }

    /// A shadow, if there is one: it lies as the original does.
    pub fn shadow(&self, place: *mut T) -> Option<S> {
        (!place.is_null()).then(|| self.stored.at(place))
    }
}

/// The tangent of a vector or matrix, if there is one.
pub fn tangent<T, S: Stored<T>>(stored: S, place: *const T) -> Option<S> {
    (!place.is_null()).then(|| stored.at(place.cast_mut()))
}

/// The cotangent of β in `c := … + β c`, and `c' := β c'`.
///
/// # Safety
/// The shadow is there.
pub unsafe fn pull_back_beta<T: Blas, S: Stored<T>>(beta: T, c: Option<&Later<T, S>>, dc: S) -> T {
    // SAFETY: S30, asked of the caller.
    unsafe {
        let d_beta = c.map_or(T::NAN, |c| inner(c.view(), dc));
        scale(beta, dc);
        d_beta
    }
}

/// `c' := β c' + β' c`, with NaN for c where it is not read.
///
/// # Safety
/// Both are there.
pub unsafe fn push_beta<T: Blas, S: Stored<T>>((beta, d_beta): (T, Option<T>), c: S, dc: S) {
    // SAFETY: S30, asked of the caller.
    unsafe {
        scale(beta, dc);
        match d_beta.filter(|d_beta| *d_beta != T::ZERO) {
            Some(d_beta) if beta != T::ZERO => add(d_beta, c, dc),
            Some(_) => fill(T::NAN, dc),
            None => {}
        }
    }
}
