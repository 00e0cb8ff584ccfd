//! Whether cells may be reached from a type, as constants: rules are called in inner loops, and most types have none.
//!
//! A constant of a recursive type that asks what is behind its pointers would ask itself. So a type says what it holds
//! and refers to as a type, [`Differentiable::Within`], for each number of pointers that are followed:
//!
//! ```text
//! (f64, Vec<Cell<f64>>)                   Within<D> = (Nothing, (Behind<Cell<f64>, D>, Nothing)), and behind that is InCell<f64>
//! struct List(f64, Option<Box<List>>)     Within<D> = (Nothing, (Behind<List, D>, Nothing)), and so on, to Beyond
//! ```
//! What is behind more than sixteen pointers may have any cells. Of floats in cells it is taken to have none that were
//! not met before: a type that is recursive has been met by a shorter way.

use super::Differentiable;
use std::marker::PhantomData;

/// What a type holds and refers to.
pub trait Reach {
    /// Whether there may be cells. Counts of owners are none.
    const CELLS: bool;

    /// Whether there may be cells that hold floats.
    const FLOAT_CELLS: bool;
}

/// How many pointers are followed.
pub trait Depth {
    /// What a type behind a pointer holds and refers to.
    type Of<T: Differentiable + ?Sized>: Reach;
}

/// No pointer is followed.
#[derive(Debug)]
pub struct Stop;

/// One more than `D`.
#[derive(Debug)]
pub struct Deeper<D>(PhantomData<D>);

impl Depth for Stop {
    type Of<T: Differentiable + ?Sized> = Beyond;
}

impl<D: Depth> Depth for Deeper<D> {
    type Of<T: Differentiable + ?Sized> = T::Within<D>;
}

/// No cells, and no pointers that lead to any.
#[derive(Debug)]
pub struct Nothing;

impl Reach for Nothing {
    const CELLS: bool = false;
    const FLOAT_CELLS: bool = false;
}

/// Of this nothing is known, but that it has been met before, or is very deep.
#[derive(Debug)]
pub struct Beyond;

impl Reach for Beyond {
    const CELLS: bool = true;
    const FLOAT_CELLS: bool = false;
}

/// A cell of a `T`.
#[derive(Debug)]
pub struct InCell<T>(PhantomData<T>);

impl<T: Differentiable> Reach for InCell<T> {
    const CELLS: bool = true;
    const FLOAT_CELLS: bool = !T::INERT;
}

/// A pointer to a `T`.
#[derive(Debug)]
pub struct Behind<T: ?Sized, D>(PhantomData<(D, *const T)>);

impl<T: Differentiable + ?Sized, D: Depth> Reach for Behind<T, D> {
    const CELLS: bool = <D::Of<T> as Reach>::CELLS;
    const FLOAT_CELLS: bool = <D::Of<T> as Reach>::FLOAT_CELLS;
}

/// Both.
impl<A: Reach, B: Reach> Reach for (A, B) {
    const CELLS: bool = A::CELLS || B::CELLS;
    const FLOAT_CELLS: bool = A::FLOAT_CELLS || B::FLOAT_CELLS;
}

type Four<D> = Deeper<Deeper<Deeper<Deeper<D>>>>;

/// Sixteen pointers.
type Far = Four<Four<Four<Four<Stop>>>>;

/// Whether cells may be reached from a value.
pub(crate) const fn may_reach_cells<T: Differentiable + ?Sized>() -> bool {
    <T::Within<Far> as Reach>::CELLS
}

/// Whether cells that hold floats may be reached from a value.
pub(crate) const fn may_reach_float_cells<T: Differentiable + ?Sized>() -> bool {
    <T::Within<Far> as Reach>::FLOAT_CELLS
}
