//! Functions of BLAS. There is a small one here, the way a library in C would be: what it computes goes through
//! `black_box`, so that nothing but its rules can be differentiated.

use pullback::autodiff;
use pullback_e2e::{assert_close, differentiated};

/// The functions by their names in C, of a float and a letter.
macro_rules! blas {
    (
        $T:ident, $name:ident,
        $gemm:ident $gemv:ident $ger:ident $dot:ident $nrm2:ident $axpy:ident $scal:ident $copy:ident
    ) => {
        #[allow(clippy::missing_safety_doc)]
        pub mod $name {
            use std::hint::black_box;

            /// Where element `i` of a vector lies: from the end, if it goes backwards.
            fn at(n: i32, i: i32, step: i32) -> usize {
                (if step < 0 { (i - n + 1) * step } else { i * step }) as usize
            }

            /// Where an element of a matrix lies.
            fn of(layout: u32, way: u32, row: i32, column: i32, leading: i32) -> usize {
                let (row, column) = if way == 111 { (row, column) } else { (column, row) };
                (if layout == 101 { row * leading + column } else { column * leading + row }) as usize
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $gemm(
                layout: u32,
                a_way: u32,
                b_way: u32,
                m: i32,
                n: i32,
                k: i32,
                alpha: $T,
                a: *const $T,
                lda: i32,
                b: *const $T,
                ldb: i32,
                beta: $T,
                c: *mut $T,
                ldc: i32,
            ) {
                for i in 0..m {
                    for j in 0..n {
                        unsafe {
                            let factor =
                                |l| *a.add(of(layout, a_way, i, l, lda)) * *b.add(of(layout, b_way, l, j, ldb));
                            let c = c.add(of(layout, 111, i, j, ldc));
                            let old = if beta == 0.0 { 0.0 } else { beta * *c };
                            *c = black_box(alpha * (0..k).map(factor).sum::<$T>() + old);
                        }
                    }
                }
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $gemv(
                layout: u32,
                way: u32,
                m: i32,
                n: i32,
                alpha: $T,
                a: *const $T,
                lda: i32,
                x: *const $T,
                incx: i32,
                beta: $T,
                y: *mut $T,
                incy: i32,
            ) {
                let (rows, columns) = if way == 111 { (m, n) } else { (n, m) };
                for i in 0..rows {
                    unsafe {
                        let factor = |j| *a.add(of(layout, way, i, j, lda)) * *x.add(at(columns, j, incx));
                        let y = y.add(at(rows, i, incy));
                        let old = if beta == 0.0 { 0.0 } else { beta * *y };
                        *y = black_box(alpha * (0..columns).map(factor).sum::<$T>() + old);
                    }
                }
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $ger(
                layout: u32,
                m: i32,
                n: i32,
                alpha: $T,
                x: *const $T,
                incx: i32,
                y: *const $T,
                incy: i32,
                a: *mut $T,
                lda: i32,
            ) {
                for i in 0..m {
                    for j in 0..n {
                        unsafe {
                            let product = *x.add(at(m, i, incx)) * *y.add(at(n, j, incy));
                            *a.add(of(layout, 111, i, j, lda)) += black_box(alpha * product);
                        }
                    }
                }
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $dot(n: i32, x: *const $T, incx: i32, y: *const $T, incy: i32) -> $T {
                unsafe { (0..n).map(|i| black_box(*x.add(at(n, i, incx)) * *y.add(at(n, i, incy)))).sum() }
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $nrm2(n: i32, x: *const $T, incx: i32) -> $T {
                unsafe { $dot(n, x, incx, x, incx).sqrt() }
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $axpy(n: i32, alpha: $T, x: *const $T, incx: i32, y: *mut $T, incy: i32) {
                for i in 0..n {
                    unsafe { *y.add(at(n, i, incy)) += black_box(alpha * *x.add(at(n, i, incx))) }
                }
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $scal(n: i32, alpha: $T, x: *mut $T, incx: i32) {
                for i in 0..n {
                    unsafe { *x.add(at(n, i, incx)) = black_box(alpha * *x.add(at(n, i, incx))) }
                }
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $copy(n: i32, x: *const $T, incx: i32, y: *mut $T, incy: i32) {
                for i in 0..n {
                    unsafe { *y.add(at(n, i, incy)) = black_box(*x.add(at(n, i, incx))) }
                }
            }
        }
    };
}

blas!(f32, single_blas, cblas_sgemm cblas_sgemv cblas_sger cblas_sdot cblas_snrm2 cblas_saxpy cblas_sscal cblas_scopy);
blas!(f64, double_blas, cblas_dgemm cblas_dgemv cblas_dger cblas_ddot cblas_dnrm2 cblas_daxpy cblas_dscal cblas_dcopy);

use double_blas::*;
use single_blas::*;

fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7919 + 13) % 101) as f64 / 50.0 - 1.0).collect()
}

/// Weighs each element differently.
fn weigh(c: &[f64]) -> f64 {
    c.iter().enumerate().map(|(i, c)| (1.0 + (i % 5) as f64) * c * c).sum()
}

/// Sums of products of a 3×4 and a 4×2 matrix, each stored as it is or transposed, in both layouts. The leading
/// dimensions are larger than they need to be.
fn products(x: &[f64], layout: u32, a_way: u32, b_way: u32, beta: f64) -> f64 {
    let mut c: Vec<f64> = x[..30].to_vec();
    unsafe {
        cblas_dgemm(layout, a_way, b_way, 3, 2, 4, x[30], x.as_ptr(), 5, x[2..].as_ptr(), 6, beta, c.as_mut_ptr(), 4);
    }
    weigh(&c)
}

differentiated! {
    fn matrix_products(x) {
        let mut sum = 0.0;
        for layout in [101, 102] {
            for (a_way, b_way) in [(111, 111), (111, 112), (112, 111), (113, 112)] {
                sum += products(x, layout, a_way, b_way, x[31]) + products(x, layout, a_way, b_way, 0.0);
            }
        }
        sum
    } at numbers(32);

    fn matrix_times_vector(x) {
        let mut sum = 0.0;
        for (layout, way, incx, incy) in [(101, 111, 1, 1), (102, 111, 2, -1), (101, 112, -1, 2), (102, 113, -2, -2)] {
            for beta in [0.0, x[1]] {
                let mut y = x[4..12].to_vec();
                let matrix = x[3..].as_ptr();
                unsafe {
                    cblas_dgemv(layout, way, 3, 4, x[0], matrix, 5, x[7..].as_ptr(), incx, beta, y.as_mut_ptr(), incy);
                }
                sum += weigh(&y);
            }
        }
        sum
    } at numbers(30);

    fn outer_product(x) {
        let mut sum = 0.0;
        for (layout, incx, incy) in [(101, 1, 1), (102, -2, 2)] {
            let mut a = x[4..24].to_vec();
            unsafe { cblas_dger(layout, 3, 4, x[0], x[1..].as_ptr(), incx, x[6..].as_ptr(), incy, a.as_mut_ptr(), 5) };
            sum += weigh(&a);
        }
        sum
    } at numbers(24);

    fn vectors(x) {
        let mut y = vec![0.5; 8];
        unsafe {
            cblas_dcopy(3, x.as_ptr(), 2, y.as_mut_ptr(), -1);
            cblas_daxpy(4, x[0], x[2..].as_ptr(), -1, y.as_mut_ptr(), 2);
            cblas_dscal(3, x[1], y.as_mut_ptr(), 2);
            let sum = cblas_ddot(4, x.as_ptr(), 1, y.as_ptr(), -2);
            sum * cblas_dnrm2(4, y.as_ptr(), 2) + weigh(&y)
        }
    } at numbers(8);

    fn one_vector_twice(x) {
        unsafe { cblas_ddot(3, x.as_ptr(), 1, x.as_ptr(), 1) }
    } at numbers(3);

    // What the pullbacks need is overwritten before they run.
    fn in_a_loop(x) {
        let mut state = x[..3].to_vec();
        let mut sum = 0.0;
        for _ in 0..4 {
            let mut next = vec![0.0; 3];
            unsafe {
                cblas_dgemv(101, 111, 3, 3, 1.0, x.as_ptr(), 3, state.as_ptr(), 1, 0.0, next.as_mut_ptr(), 1);
                sum += cblas_dnrm2(3, next.as_ptr(), 1);
            }
            state.iter_mut().zip(&next).for_each(|(state, next)| *state = next.tanh());
        }
        sum
    } at numbers(9);
}

#[autodiff(d_single, Reverse, Duplicated, Active)]
#[autodiff(f_single, Forward, Dual, Dual)]
fn single(x: &[f32]) -> f32 {
    let (mut c, mut y) = ([0.0; 6], [1.0; 3]);
    unsafe {
        cblas_sgemm(101, 111, 111, 3, 2, 2, 1.0, x.as_ptr(), 2, x[6..].as_ptr(), 2, 0.0, c.as_mut_ptr(), 2);
        cblas_sgemv(101, 111, 3, 2, 1.0, c.as_ptr(), 2, x.as_ptr(), 1, 1.0, y.as_mut_ptr(), 1);
        cblas_sger(101, 3, 2, 0.5, y.as_ptr(), 1, x.as_ptr(), 1, c.as_mut_ptr(), 2);
        cblas_saxpy(3, 2.0, x.as_ptr(), 1, y.as_mut_ptr(), 1);
        cblas_sscal(3, x[0], y.as_mut_ptr(), 1);
        cblas_scopy(1, c.as_ptr(), 1, y.as_mut_ptr(), 1);
        cblas_sdot(3, y.as_ptr(), 1, c.as_ptr(), 2) + cblas_snrm2(6, c.as_ptr(), 1)
    }
}

#[test]
fn single_precision() {
    let x: Vec<f32> = numbers(10).iter().map(|x| *x as f32).collect();
    let mut gradient = vec![0.0; 10];
    assert_eq!(d_single(&x, &mut gradient), single(&x));
    for i in 0..10 {
        let mut tangent = vec![0.0; 10];
        tangent[i] = 1.0;
        let moved = |by: f32| {
            let mut x = x.clone();
            x[i] += by;
            f64::from(single(&x))
        };
        assert_close(f64::from(gradient[i]), (moved(4e-3) - moved(-4e-3)) / 8e-3, 2e-3);
        assert_close(f64::from(gradient[i]), f64::from(f_single(&x, &tangent).1), 1e-5);
    }
}

#[autodiff(d_unread, Reverse, Active, Active)]
#[autodiff(f_unread, Forward, Dual, Dual)]
fn unread(beta: f64) -> f64 {
    let (a, mut y) = ([2.0], [3.0]);
    unsafe { cblas_dgemv(101, 111, 1, 1, 1.0, a.as_ptr(), 1, a.as_ptr(), 1, beta, y.as_mut_ptr(), 1) };
    y[0]
}

/// With a β of 0, BLAS does not read what β is multiplied with: nobody knows the derivative.
#[test]
fn beta_zero() {
    assert!(d_unread(0.0).0.is_nan() && f_unread(0.0, 1.0).1.is_nan());
    assert_eq!((d_unread(0.5), f_unread(0.5, 1.0)), ((3.0, 5.5), (5.5, 3.0)));
}
