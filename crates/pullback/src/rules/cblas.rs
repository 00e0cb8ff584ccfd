//! Rules for functions of BLAS by its C interface, whichever library has them and whichever crate declares them. With
//! the feature `cblas`.
//!
//! A primed name is a tangent in the column of forward mode and a cotangent in that of reverse mode; `:=` replaces, the
//! others are added. Everything is computed by the functions of BLAS themselves.
//!
//! | function | | reverse mode | forward mode |
//! |---|---|---|---|
//! | `gemm` | `C := α A B + β C` | `A' α C' Bᵀ`, `B' α Aᵀ C'`, `α' ⟨C', A B⟩`, … | `C' := β C' + α A' B + α A B' + …` |
//! | `gemv` | `y := α A x + β y` | `A' α y' xᵀ`, `x' α Aᵀ y'`, `α' ⟨y', A x⟩`, … | `y' := β y' + α A' x + α A x' + …` |
//! | `ger` | `A := A + α x yᵀ` | `x' α A' y`, `y' α A'ᵀ x`, `α' ⟨A' y, x⟩` | `A' α x' yᵀ + α x y'ᵀ + α' x yᵀ` |
//! | `dot` | `r = ⟨x, y⟩` | `x' r' y`, `y' r' x` | `r' = ⟨x', y⟩ + ⟨x, y'⟩` |
//! | `nrm2` | `r = ‖x‖` | `x' (r' / r) x` | `r' = ⟨x, x'⟩ / r` |
//! | `axpy` | `y := y + α x` | `x' α y'`, `α' ⟨y', x⟩` | `y' α x' + α' x` |
//! | `scal` | `x := α x` | `α' ⟨x', x⟩`, `x' := α x'` | `x' := α x' + α' x` |
//! | `copy` | `y := x` | `x' y'`, `y' := 0` | `y' := x'` |
//!
//! In reverse mode `gemm` has `β' ⟨C', C⟩` and `C' := β C'` as well, and in forward mode it adds `α' A B + β' C`;
//! `gemv` the same with `y` and `A x`. For `β = 0` the functions do not read C or y, so the cotangent of β is NaN
//! there, and so is its contribution to a tangent. `nrm2` has a NaN at the origin. What a pullback needs and the
//! program overwrites before it runs, it has a copy of.

mod declared;
mod matrices;
mod stored;

use std::ffi::{c_int, c_uint};
use std::ops::{Add, Div, Mul};
use stored::{Matrix, Vector};

/// `CblasRowMajor`; the other layout is `CblasColMajor`.
const ROW_MAJOR: c_uint = 101;
/// `CblasNoTrans`.
const PLAIN: c_uint = 111;
/// `CblasTrans`. For real numbers `CblasConjTrans` is the same.
const TRANSPOSED: c_uint = 112;

/// The other way round.
fn flipped(transpose: c_uint) -> c_uint {
    if transpose == PLAIN { TRANSPOSED } else { PLAIN }
}

/// A float with the functions of its BLAS. All are unsafe: vectors and matrices have to be there.
trait Blas: Copy + PartialEq + From<f32> + Add<Output = Self> + Mul<Output = Self> + Div<Output = Self> + 'static {
    const NAN: Self;
    const ZERO: Self;
    const ONE: Self;

    /// `c := α op(a) op(b) + β c`, of sizes m, n and k.
    unsafe fn gemm(
        sizes: [c_int; 3],
        alpha: Self,
        a: (c_uint, Matrix<Self>),
        b: (c_uint, Matrix<Self>),
        beta: Self,
        c: Matrix<Self>,
    );
    /// `y := α op(a) x + β y`.
    unsafe fn gemv(alpha: Self, a: (c_uint, Matrix<Self>), x: Vector<Self>, beta: Self, y: Vector<Self>);
    /// `a := a + α x yᵀ`.
    unsafe fn ger(alpha: Self, x: Vector<Self>, y: Vector<Self>, a: Matrix<Self>);
    unsafe fn dot(x: Vector<Self>, y: Vector<Self>) -> Self;
    unsafe fn nrm2(x: Vector<Self>) -> Self;
    /// `y := y + α x`.
    unsafe fn axpy(alpha: Self, x: Vector<Self>, y: Vector<Self>);
    /// `x := α x`.
    unsafe fn scal(alpha: Self, x: Vector<Self>);
    /// `y := x`.
    unsafe fn copy(x: Vector<Self>, y: Vector<Self>);
}
