//! The functions as C declares them, and their rules.

use super::matrices::{Gemm, GemmAlpha, Gemv, GemvAlpha, pull_back_ger, push_gemm, push_gemv};
use super::stored::{Later, Matrix, Stored, Vector, fill, scale, tangent};
use super::{Blas, PLAIN};
use crate::rules::{Memory, NoTangent, Thunk};
use crate::{frule, rrule};
use std::ffi::{c_int, c_uint};

/// The stored matrix behind `op(A)`, which has so many rows and columns.
fn operand<T>(
    layout: c_uint,
    way: c_uint,
    (rows, columns): (c_int, c_int),
    place: *const T,
    leading: c_int,
) -> Matrix<T> {
    let (rows, columns) = if way == PLAIN { (rows, columns) } else { (columns, rows) };
    Matrix { place: place.cast_mut(), rows, columns, layout, leading }
}

fn vector<T>(length: c_int, place: *const T, step: c_int) -> Vector<T> {
    Vector { place: place.cast_mut(), length, step }
}

/// The lengths of y and x in `y := op(A) x`.
fn lengths(way: c_uint, (rows, columns): (c_int, c_int)) -> (c_int, c_int) {
    if way == PLAIN { (rows, columns) } else { (columns, rows) }
}

macro_rules! rules_for {
    (
        $T:ident, $rules:ident,
        $gemm:ident $gemv:ident $ger:ident $dot:ident $nrm2:ident $axpy:ident $scal:ident $copy:ident
    ) => {
        mod $rules {
            use super::*;

            unsafe extern "C" {
                fn $gemm(
                    layout: c_uint,
                    a_way: c_uint,
                    b_way: c_uint,
                    m: c_int,
                    n: c_int,
                    k: c_int,
                    alpha: $T,
                    a: *const $T,
                    lda: c_int,
                    b: *const $T,
                    ldb: c_int,
                    beta: $T,
                    c: *mut $T,
                    ldc: c_int,
                );
                fn $gemv(
                    layout: c_uint,
                    way: c_uint,
                    m: c_int,
                    n: c_int,
                    alpha: $T,
                    a: *const $T,
                    lda: c_int,
                    x: *const $T,
                    incx: c_int,
                    beta: $T,
                    y: *mut $T,
                    incy: c_int,
                );
                fn $ger(
                    layout: c_uint,
                    m: c_int,
                    n: c_int,
                    alpha: $T,
                    x: *const $T,
                    incx: c_int,
                    y: *const $T,
                    incy: c_int,
                    a: *mut $T,
                    lda: c_int,
                );
                fn $dot(n: c_int, x: *const $T, incx: c_int, y: *const $T, incy: c_int) -> $T;
                fn $nrm2(n: c_int, x: *const $T, incx: c_int) -> $T;
                fn $axpy(n: c_int, alpha: $T, x: *const $T, incx: c_int, y: *mut $T, incy: c_int);
                fn $scal(n: c_int, alpha: $T, x: *mut $T, incx: c_int);
                fn $copy(n: c_int, x: *const $T, incx: c_int, y: *mut $T, incy: c_int);
            }

            impl Blas for $T {
                const NAN: Self = $T::NAN;
                const ZERO: Self = 0.0;
                const ONE: Self = 1.0;

                unsafe fn gemm(
                    [m, n, k]: [c_int; 3],
                    alpha: $T,
                    (a_way, a): (c_uint, Matrix<$T>),
                    (b_way, b): (c_uint, Matrix<$T>),
                    beta: $T,
                    c: Matrix<$T>,
                ) {
                    let (lda, ldb, ldc) = (a.leading, b.leading, c.leading);
                    // SAFETY: S30, asked of the caller.
                    unsafe {
                        $gemm(c.layout, a_way, b_way, m, n, k, alpha, a.place, lda, b.place, ldb, beta, c.place, ldc)
                    }
                }

                unsafe fn gemv(alpha: $T, (way, a): (c_uint, Matrix<$T>), x: Vector<$T>, beta: $T, y: Vector<$T>) {
                    let (m, n, lda) = (a.rows, a.columns, a.leading);
                    // SAFETY: S30, asked of the caller.
                    unsafe { $gemv(a.layout, way, m, n, alpha, a.place, lda, x.place, x.step, beta, y.place, y.step) }
                }

                unsafe fn ger(alpha: $T, x: Vector<$T>, y: Vector<$T>, a: Matrix<$T>) {
                    let (m, n, lda) = (a.rows, a.columns, a.leading);
                    // SAFETY: S30, asked of the caller.
                    unsafe { $ger(a.layout, m, n, alpha, x.place, x.step, y.place, y.step, a.place, lda) }
                }

                unsafe fn dot(x: Vector<$T>, y: Vector<$T>) -> $T {
                    // SAFETY: S30, asked of the caller.
                    unsafe { $dot(x.length, x.place, x.step, y.place, y.step) }
                }

                unsafe fn nrm2(x: Vector<$T>) -> $T {
                    // SAFETY: S30, asked of the caller.
                    unsafe { $nrm2(x.length, x.place, x.step) }
                }

                unsafe fn axpy(alpha: $T, x: Vector<$T>, y: Vector<$T>) {
                    // SAFETY: S30, asked of the caller.
                    unsafe { $axpy(x.length, alpha, x.place, x.step, y.place, y.step) }
                }

                unsafe fn scal(alpha: $T, x: Vector<$T>) {
                    // SAFETY: S30, asked of the caller.
                    unsafe { $scal(x.length, alpha, x.place, x.step) }
                }

                unsafe fn copy(x: Vector<$T>, y: Vector<$T>) {
                    // SAFETY: S30, asked of the caller.
                    unsafe { $copy(x.length, x.place, x.step, y.place, y.step) }
                }
            }

            #[rrule(for = $gemm, abi = "C")]
            fn gemm_rrule(
                memory: Memory,
                layout: c_uint,
                a_way: c_uint,
                b_way: c_uint,
                m: c_int,
                n: c_int,
                k: c_int,
                alpha: $T,
                a: *const $T,
                lda: c_int,
                b: *const $T,
                ldb: c_int,
                beta: $T,
                c: *mut $T,
                ldc: c_int,
            ) -> (
                (),
                impl Fn(
                    *mut $T,
                    *mut $T,
                    *mut $T,
                ) -> (
                    NoTangent,
                    NoTangent,
                    NoTangent,
                    NoTangent,
                    NoTangent,
                    NoTangent,
                    Thunk<$T, GemmAlpha<$T>>,
                    NoTangent,
                    NoTangent,
                    $T,
                    NoTangent,
                ),
            ) {
                let a = (a_way, operand(layout, a_way, (m, k), a, lda));
                let b = (b_way, operand(layout, b_way, (k, n), b, ldb));
                let c = Matrix { place: c, rows: m, columns: n, layout, leading: ldc };
                // SAFETY: S30, as the function is called.
                let kept = unsafe { Gemm::new(memory, [m, n, k], alpha, a, b, beta, c) };
                ((), move |da: *mut $T, db: *mut $T, dc: *mut $T| {
                    // SAFETY: S34, shadows lie as the matrices did.
                    let (d_alpha, d_beta) = unsafe { kept.pull_back(da, db, c.at(dc)) };
                    (
                        NoTangent, NoTangent, NoTangent, NoTangent, NoTangent, NoTangent, d_alpha, NoTangent,
                        NoTangent, d_beta, NoTangent,
                    )
                })
            }

            #[frule(for = $gemm, abi = "C")]
            fn gemm_frule(
                layout: c_uint,
                _: NoTangent,
                a_way: c_uint,
                _: NoTangent,
                b_way: c_uint,
                _: NoTangent,
                m: c_int,
                _: NoTangent,
                n: c_int,
                _: NoTangent,
                k: c_int,
                _: NoTangent,
                alpha: $T,
                d_alpha: Option<$T>,
                a: *const $T,
                da: *const $T,
                lda: c_int,
                _: NoTangent,
                b: *const $T,
                db: *const $T,
                ldb: c_int,
                _: NoTangent,
                beta: $T,
                d_beta: Option<$T>,
                c: *mut $T,
                dc: *mut $T,
                ldc: c_int,
                _: NoTangent,
            ) {
                let a = operand(layout, a_way, (m, k), a, lda);
                let b = operand(layout, b_way, (k, n), b, ldb);
                let c = Matrix { place: c, rows: m, columns: n, layout, leading: ldc };
                let sizes = [m, n, k];
                // SAFETY: S30, as the function is called.
                unsafe {
                    push_gemm(sizes, (alpha, d_alpha), (a_way, a, da), (b_way, b, db), (beta, d_beta), (c, dc));
                    $T::gemm(sizes, alpha, (a_way, a), (b_way, b), beta, c);
                }
            }

            #[rrule(for = $gemv, abi = "C")]
            fn gemv_rrule(
                memory: Memory,
                layout: c_uint,
                way: c_uint,
                m: c_int,
                n: c_int,
                alpha: $T,
                a: *const $T,
                lda: c_int,
                x: *const $T,
                incx: c_int,
                beta: $T,
                y: *mut $T,
                incy: c_int,
            ) -> (
                (),
                impl Fn(
                    *mut $T,
                    *mut $T,
                    *mut $T,
                ) -> (
                    NoTangent,
                    NoTangent,
                    NoTangent,
                    NoTangent,
                    Thunk<$T, GemvAlpha<$T>>,
                    NoTangent,
                    NoTangent,
                    $T,
                    NoTangent,
                ),
            ) {
                let a = operand(layout, PLAIN, (m, n), a, lda);
                let (of_y, of_x) = lengths(way, (m, n));
                let (x, y) = (vector(of_x, x, incx), vector(of_y, y, incy));
                // SAFETY: S30, as the function is called.
                let kept = unsafe { Gemv::new(memory, alpha, (way, a), x, beta, y) };
                ((), move |da: *mut $T, dx: *mut $T, dy: *mut $T| {
                    // SAFETY: S34, shadows lie as the matrix and the vectors did.
                    let (d_alpha, d_beta) = unsafe { kept.pull_back(da, dx, y.at(dy)) };
                    (NoTangent, NoTangent, NoTangent, NoTangent, d_alpha, NoTangent, NoTangent, d_beta, NoTangent)
                })
            }

            #[frule(for = $gemv, abi = "C")]
            fn gemv_frule(
                layout: c_uint,
                _: NoTangent,
                way: c_uint,
                _: NoTangent,
                m: c_int,
                _: NoTangent,
                n: c_int,
                _: NoTangent,
                alpha: $T,
                d_alpha: Option<$T>,
                a: *const $T,
                da: *const $T,
                lda: c_int,
                _: NoTangent,
                x: *const $T,
                dx: *const $T,
                incx: c_int,
                _: NoTangent,
                beta: $T,
                d_beta: Option<$T>,
                y: *mut $T,
                dy: *mut $T,
                incy: c_int,
                _: NoTangent,
            ) {
                let a = operand(layout, PLAIN, (m, n), a, lda);
                let (of_y, of_x) = lengths(way, (m, n));
                let (x, y) = (vector(of_x, x, incx), vector(of_y, y, incy));
                // SAFETY: S30, as the function is called.
                unsafe {
                    push_gemv((alpha, d_alpha), (way, a, da), (x, dx), (beta, d_beta), (y, dy));
                    $T::gemv(alpha, (way, a), x, beta, y);
                }
            }

            #[rrule(for = $ger, abi = "C")]
            fn ger_rrule(
                memory: Memory,
                layout: c_uint,
                m: c_int,
                n: c_int,
                alpha: $T,
                x: *const $T,
                incx: c_int,
                y: *const $T,
                incy: c_int,
                a: *mut $T,
                lda: c_int,
            ) -> (
                (),
                impl Fn(
                    *mut $T,
                    *mut $T,
                    *mut $T,
                ) -> (NoTangent, NoTangent, NoTangent, $T, NoTangent, NoTangent, NoTangent),
            ) {
                let a = operand(layout, PLAIN, (m, n), a, lda);
                // SAFETY: S30, as the function is called.
                let (x, y) = unsafe {
                    let (x, y) = (vector(m, x, incx), vector(n, y, incy));
                    $T::ger(alpha, x, y, a);
                    (Later::new(memory, x), Later::new(memory, y))
                };
                ((), move |dx: *mut $T, dy: *mut $T, da: *mut $T| {
                    // SAFETY: S34, shadows lie as the matrix and the vectors did.
                    let d_alpha = unsafe { pull_back_ger(alpha, (&x, dx), (&y, dy), a.at(da)) };
                    (NoTangent, NoTangent, NoTangent, d_alpha, NoTangent, NoTangent, NoTangent)
                })
            }

            #[frule(for = $ger, abi = "C")]
            fn ger_frule(
                layout: c_uint,
                _: NoTangent,
                m: c_int,
                _: NoTangent,
                n: c_int,
                _: NoTangent,
                alpha: $T,
                d_alpha: Option<$T>,
                x: *const $T,
                dx: *const $T,
                incx: c_int,
                _: NoTangent,
                y: *const $T,
                dy: *const $T,
                incy: c_int,
                _: NoTangent,
                a: *mut $T,
                da: *mut $T,
                lda: c_int,
                _: NoTangent,
            ) {
                let a = operand(layout, PLAIN, (m, n), a, lda);
                let (x, y, da) = (vector(m, x, incx), vector(n, y, incy), a.at(da));
                // SAFETY: S30, as the function is called.
                unsafe {
                    if let Some(dx) = tangent(x, dx) {
                        $T::ger(alpha, dx, y, da);
                    }
                    if let Some(dy) = tangent(y, dy) {
                        $T::ger(alpha, x, dy, da);
                    }
                    if let Some(d_alpha) = d_alpha {
                        $T::ger(d_alpha, x, y, da);
                    }
                    $T::ger(alpha, x, y, a);
                }
            }

            #[rrule(for = $dot, abi = "C")]
            fn dot_rrule(
                memory: Memory,
                n: c_int,
                x: *const $T,
                incx: c_int,
                y: *const $T,
                incy: c_int,
            ) -> ($T, impl Fn($T, *mut $T, *mut $T) -> (NoTangent, NoTangent, NoTangent)) {
                let (x, y) = (vector(n, x, incx), vector(n, y, incy));
                // SAFETY: S30, as the function is called.
                let (value, x, y) =
                    unsafe { ($T::dot(x, y), Later::new(memory, x), Later::new(memory, y)) };
                (value, move |d, dx: *mut $T, dy: *mut $T| {
                    // SAFETY: S34, shadows lie as the vectors did.
                    unsafe {
                        if let Some(dx) = x.shadow(dx) {
                            $T::axpy(d, y.view(), dx);
                        }
                        if let Some(dy) = y.shadow(dy) {
                            $T::axpy(d, x.view(), dy);
                        }
                    }
                    (NoTangent, NoTangent, NoTangent)
                })
            }

            #[frule(for = $dot, abi = "C")]
            fn dot_frule(
                n: c_int,
                _: NoTangent,
                x: *const $T,
                dx: *const $T,
                incx: c_int,
                _: NoTangent,
                y: *const $T,
                dy: *const $T,
                incy: c_int,
                _: NoTangent,
            ) -> ($T, $T) {
                let (x, y) = (vector(n, x, incx), vector(n, y, incy));
                // SAFETY: S30, as the function is called.
                unsafe {
                    let by_x = tangent(x, dx).map_or(0.0, |dx| $T::dot(dx, y));
                    let by_y = tangent(y, dy).map_or(0.0, |dy| $T::dot(x, dy));
                    ($T::dot(x, y), by_x + by_y)
                }
            }

            #[rrule(for = $nrm2, abi = "C")]
            fn nrm2_rrule(
                memory: Memory,
                n: c_int,
                x: *const $T,
                incx: c_int,
            ) -> ($T, impl Fn($T, *mut $T) -> (NoTangent, NoTangent)) {
                let x = vector(n, x, incx);
                // SAFETY: S30, as the function is called.
                let (norm, x) = unsafe { ($T::nrm2(x), Later::new(memory, x)) };
                (norm, move |d, dx: *mut $T| {
                    if let Some(dx) = x.shadow(dx) {
                        // SAFETY: S34, the shadow lies as the vector did.
                        unsafe { $T::axpy(d / norm, x.view(), dx) }
                    }
                    (NoTangent, NoTangent)
                })
            }

            #[frule(for = $nrm2, abi = "C")]
            fn nrm2_frule(
                n: c_int,
                _: NoTangent,
                x: *const $T,
                dx: *const $T,
                incx: c_int,
                _: NoTangent,
            ) -> ($T, $T) {
                let x = vector(n, x, incx);
                // SAFETY: S30, as the function is called.
                unsafe {
                    let norm = $T::nrm2(x);
                    (norm, tangent(x, dx).map_or(0.0, |dx| $T::dot(x, dx) / norm))
                }
            }

            #[rrule(for = $axpy, abi = "C")]
            fn axpy_rrule(
                memory: Memory,
                n: c_int,
                alpha: $T,
                x: *const $T,
                incx: c_int,
                y: *mut $T,
                incy: c_int,
            ) -> ((), impl Fn(*mut $T, *mut $T) -> (NoTangent, $T, NoTangent, NoTangent)) {
                let (x, y) = (vector(n, x, incx), vector(n, y, incy));
                // SAFETY: S30, as the function is called.
                let x = unsafe {
                    $T::axpy(alpha, x, y);
                    Later::new(memory, x)
                };
                ((), move |dx: *mut $T, dy: *mut $T| {
                    let dy = y.at(dy);
                    // SAFETY: S34, shadows lie as the vectors did.
                    let d_alpha = unsafe {
                        if let Some(dx) = x.shadow(dx) {
                            $T::axpy(alpha, dy, dx);
                        }
                        $T::dot(dy, x.view())
                    };
                    (NoTangent, d_alpha, NoTangent, NoTangent)
                })
            }

            #[frule(for = $axpy, abi = "C")]
            fn axpy_frule(
                n: c_int,
                _: NoTangent,
                alpha: $T,
                d_alpha: Option<$T>,
                x: *const $T,
                dx: *const $T,
                incx: c_int,
                _: NoTangent,
                y: *mut $T,
                dy: *mut $T,
                incy: c_int,
                _: NoTangent,
            ) {
                let (x, y) = (vector(n, x, incx), vector(n, y, incy));
                // SAFETY: S30, as the function is called.
                unsafe {
                    if let Some(dx) = tangent(x, dx) {
                        $T::axpy(alpha, dx, y.at(dy));
                    }
                    if let Some(d_alpha) = d_alpha {
                        $T::axpy(d_alpha, x, y.at(dy));
                    }
                    $T::axpy(alpha, x, y);
                }
            }

            #[rrule(for = $scal, abi = "C")]
            fn scal_rrule(
                n: c_int,
                alpha: $T,
                x: *mut $T,
                incx: c_int,
            ) -> ((), impl Fn(*mut $T) -> (NoTangent, $T, NoTangent) + 'static) {
                let x = vector(n, x, incx);
                // SAFETY: S30, as the function is called.
                let old = unsafe {
                    let old = Later::copied(x);
                    $T::scal(alpha, x);
                    old
                };
                ((), move |dx: *mut $T| {
                    let dx = x.at(dx);
                    // SAFETY: S34, the shadow lies as the vector did.
                    let d_alpha = unsafe {
                        let d_alpha = $T::dot(dx, old.view());
                        scale(alpha, dx);
                        d_alpha
                    };
                    (NoTangent, d_alpha, NoTangent)
                })
            }

            #[frule(for = $scal, abi = "C")]
            fn scal_frule(
                n: c_int,
                _: NoTangent,
                alpha: $T,
                d_alpha: Option<$T>,
                x: *mut $T,
                dx: *mut $T,
                incx: c_int,
                _: NoTangent,
            ) {
                let x = vector(n, x, incx);
                // SAFETY: S30, as the function is called.
                unsafe {
                    scale(alpha, x.at(dx));
                    if let Some(d_alpha) = d_alpha {
                        $T::axpy(d_alpha, x, x.at(dx));
                    }
                    $T::scal(alpha, x);
                }
            }

            #[rrule(for = $copy, abi = "C")]
            fn copy_rrule(
                n: c_int,
                x: *const $T,
                incx: c_int,
                y: *mut $T,
                incy: c_int,
            ) -> ((), impl Fn(*mut $T, *mut $T) -> (NoTangent, NoTangent, NoTangent) + 'static) {
                let (x, y) = (vector(n, x, incx), vector(n, y, incy));
                // SAFETY: S30, as the function is called.
                unsafe { $T::copy(x, y) };
                ((), move |dx: *mut $T, dy: *mut $T| {
                    // SAFETY: S34, shadows lie as the vectors did.
                    unsafe {
                        if !dx.is_null() {
                            $T::axpy(1.0, y.at(dy), x.at(dx));
                        }
                        fill(0.0, y.at(dy));
                    }
                    (NoTangent, NoTangent, NoTangent)
                })
            }

            #[frule(for = $copy, abi = "C")]
            fn copy_frule(
                n: c_int,
                _: NoTangent,
                x: *const $T,
                dx: *const $T,
                incx: c_int,
                _: NoTangent,
                y: *mut $T,
                dy: *mut $T,
                incy: c_int,
                _: NoTangent,
            ) {
                let (x, y) = (vector(n, x, incx), vector(n, y, incy));
                // SAFETY: S30, as the function is called.
                unsafe {
                    match tangent(x, dx) {
                        Some(dx) => $T::copy(dx, y.at(dy)),
                        None => fill(0.0, y.at(dy)),
                    }
                    $T::copy(x, y);
                }
            }
        }
    };
}

rules_for!(f32, single, cblas_sgemm cblas_sgemv cblas_sger cblas_sdot cblas_snrm2 cblas_saxpy cblas_sscal cblas_scopy);
rules_for!(f64, double, cblas_dgemm cblas_dgemv cblas_dger cblas_ddot cblas_dnrm2 cblas_daxpy cblas_dscal cblas_dcopy);
