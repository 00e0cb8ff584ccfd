//! Types of other crates, each behind a feature that is named like its crate.
//!
//! A shadow has the type of its primal, so the shadow of a `Unit` need not be a unit, nor that of a `Rotation` one.

#[cfg(feature = "glam")]
mod glam;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "num-complex")]
mod num_complex;
