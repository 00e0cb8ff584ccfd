//! What becomes of the memory that a rule's arguments refer to.

use std::borrow::Cow;

/// What becomes of the memory that the arguments of a rule refer to, before its pullback runs.
///
/// A pullback that refers to memory is refused where the program overwrites that memory in between, and one that owns a
/// copy costs that copy everywhere. A rule for reverse mode that has a `Memory` as its first parameter is told which of
/// the two it has to be, at each call. It is about what is behind a `&` or a `*const`.
///
/// What is behind a `&` is copied for it where it may be overwritten, so that for a rule without raw pointers
/// everything stays. What cannot be copied is refused there, as for a rule that does not ask: a type that is not
/// `Clone`, and references in a structure or behind another reference.
///
/// ```
/// use pullback::rrule;
/// use pullback::rules::Memory;
///
/// fn sum_of_squares(x: &[f64]) -> f64 {
///     x.iter().map(|x| x * x).sum()
/// }
///
/// #[rrule(for = sum_of_squares)]
/// fn sum_of_squares_rrule(memory: Memory, x: &[f64]) -> (f64, impl Fn(f64, &mut [f64])) {
///     let x = memory.keep(x);
///     (sum_of_squares(&x), move |dy, dx| dx.iter_mut().zip(&*x).for_each(|(dx, x)| *dx += 2.0 * x * dy))
/// }
///
/// let mut dx = [0.0];
/// sum_of_squares_rrule(Memory::STAYS, &[3.0]).1(1.0, &mut dx);
/// assert_eq!(dx, [6.0]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    stays: bool,
}

impl Memory {
    /// Nobody writes there before the pullback runs.
    pub const STAYS: Memory = Memory::new(true);
    /// Somebody may.
    pub const CHANGES: Memory = Memory::new(false);

    #[doc(hidden)]
    pub const fn new(stays: bool) -> Self {
        Memory { stays }
    }

    /// Whether nobody writes there before the pullback runs.
    #[inline(always)]
    pub const fn stays(self) -> bool {
        self.stays
    }

    /// A value for the pullback: `value` itself, or a copy if it may be overwritten.
    #[inline(always)]
    pub fn keep<T: ToOwned + ?Sized>(self, value: &T) -> Cow<'_, T> {
        if self.stays { Cow::Borrowed(value) } else { Cow::Owned(value.to_owned()) }
    }
}
