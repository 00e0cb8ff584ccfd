//! Rules for [`matrixmultiply::sgemm`] and [`matrixmultiply::dgemm`], which `ndarray` and `nalgebra` call for products
//! of matrices. With the feature `matrixmultiply`.
//!
//! `C ← α A B + β C`. With `dC` the cotangent of what is left in C, all but the last by the same function:
//!
//! | | reverse mode adds | forward mode adds to the tangent of C |
//! |---|---|---|
//! | A | `α dC Bᵀ` | `α dA B` |
//! | B | `α Aᵀ dC` | `α A dB` |
//! | α | `⟨dC, A B⟩` | `dα A B` |
//! | β | `⟨dC, C⟩`; NaN for β = 0, where C is not read | `dβ C`; NaN for β = 0 |
//! | C | becomes `β dC` | becomes `β dC` |
//!
//! The pullback refers to A and B, or has copies of them where they may be overwritten before it runs; and a copy of C,
//! where β is not zero.

use super::{Memory, NoTangent, Thunk};
use crate::{frule, rrule};
use std::rc::Rc;

/// A matrix whose elements lie somewhere in memory.
#[derive(Clone, Copy, Debug)]
struct Matrix<T> {
    place: *mut T,
    rows: usize,
    columns: usize,
    /// From one row to the next, and from one column to the next.
    strides: [isize; 2],
}

/// A copy of a matrix, row by row.
#[derive(Clone, Debug)]
struct Copied<T> {
    elements: Vec<T>,
    rows: usize,
    columns: usize,
}

/// A float with its product of matrices.
trait Element: Copy + From<f32> + std::ops::Mul<Output = Self> + std::ops::AddAssign + std::iter::Sum + PartialEq {
    const NAN: Self;

    /// `c ← α a b + β c`.
    ///
    /// # Safety
    /// The matrices are there, and no element of `c` is an element of another one, or twice in `c`.
    unsafe fn gemm(alpha: Self, a: Matrix<Self>, b: Matrix<Self>, beta: Self, c: Matrix<Self>);
}

impl<T: Element> Matrix<T> {
    fn transposed(self) -> Self {
        let Matrix { place, rows, columns, strides: [row, column] } = self;
        Matrix { place, rows: columns, columns: rows, strides: [column, row] }
    }

    /// Its elements, row by row.
    fn places(self) -> impl Iterator<Item = *mut T> {
        let [row, column] = self.strides;
        let of_row = move |i: usize| {
            (0..self.columns).map(move |j| self.place.wrapping_offset(i as isize * row + j as isize * column))
        };
        (0..self.rows).flat_map(of_row)
    }

    /// # Safety
    /// It is there.
    unsafe fn copy(self) -> Copied<T> {
        // SAFETY: S30, asked of the caller.
        let elements = self.places().map(|place| unsafe { *place }).collect();
        Copied { elements, rows: self.rows, columns: self.columns }
    }

    /// Whether all elements are in places of their own. (A view may repeat them.)
    fn is_injective(self) -> bool {
        let [mut inner, mut outer] = [(self.strides[0], self.rows), (self.strides[1], self.columns)];
        if inner.0.unsigned_abs() > outer.0.unsigned_abs() {
            (inner, outer) = (outer, inner);
        }
        let inner_size = if inner.1 <= 1 { 1 } else { inner.0.unsigned_abs() * inner.1 };
        inner_size > 0 && (outer.1 <= 1 || outer.0.unsigned_abs() >= inner_size)
    }

    /// `self ← self + α a b`.
    ///
    /// # Safety
    /// The matrices are there, and no element of `self` is one of another.
    unsafe fn add_product(self, alpha: T, a: Matrix<T>, b: Matrix<T>) {
        let (zero, one) = (T::from(0.0), T::from(1.0));
        // SAFETY: S30, asked of the caller.
        unsafe {
            if self.is_injective() {
                return T::gemm(alpha, a, b, one, self);
            }
            let mut product = Copied::zeros(self.rows, self.columns);
            T::gemm(alpha, a, b, zero, product.view_mut());
            self.places().zip(product.elements).for_each(|(place, value)| *place += value);
        }
    }

    /// `self ← β self`, which is not read for β = 0.
    ///
    /// # Safety
    /// It is there.
    unsafe fn scale(self, beta: T) {
        let zero = T::from(0.0);
        // SAFETY: S30, asked of the caller.
        self.places().for_each(|place| unsafe { *place = if beta == zero { zero } else { beta * *place } });
    }
}

impl<T: Element> Copied<T> {
    fn zeros(rows: usize, columns: usize) -> Self {
        Copied { elements: vec![T::from(0.0); rows * columns], rows, columns }
    }

    /// To be read.
    fn view(&self) -> Matrix<T> {
        self.at(self.elements.as_ptr().cast_mut())
    }

    /// To be written.
    fn view_mut(&mut self) -> Matrix<T> {
        let place = self.elements.as_mut_ptr();
        self.at(place)
    }

    fn at(&self, place: *mut T) -> Matrix<T> {
        Matrix { place, rows: self.rows, columns: self.columns, strides: [self.columns as isize, 1] }
    }

    fn dot(&self, other: &Self) -> T {
        self.elements.iter().zip(&other.elements).map(|(a, b)| *a * *b).sum()
    }
}

/// A matrix that is needed later.
#[derive(Debug)]
enum Later<T> {
    There(Matrix<T>),
    Copied(Copied<T>),
}

impl<T: Element> Later<T> {
    /// # Safety
    /// The matrix is there, and stays as `memory` says.
    unsafe fn new(memory: Memory, matrix: Matrix<T>) -> Self {
        // SAFETY: S30, asked of the caller.
        if memory.stays() { Later::There(matrix) } else { Later::Copied(unsafe { matrix.copy() }) }
    }

    /// To be read.
    fn view(&self) -> Matrix<T> {
        match self {
            Later::There(matrix) => *matrix,
            Later::Copied(copied) => copied.view(),
        }
    }
}

/// What the pullback keeps.
#[derive(Debug)]
struct Kept<T> {
    alpha: T,
    a: Later<T>,
    b: Later<T>,
    beta: T,
    /// C as it was, where it is read.
    c: Option<Copied<T>>,
}

/// What the cotangent of α is computed from, if somebody asks for it: the factors, and the cotangent of C.
type AlphaFrom<T> = (Rc<Kept<T>>, Copied<T>);

impl<T: Element> Kept<T> {
    /// The shadows of A, B and C; the first two may be null. Returns the cotangents of α and β.
    ///
    /// # Safety
    /// Each shadow is null or lies as its matrix did.
    unsafe fn pull_back(self: &Rc<Self>, da: Matrix<T>, db: Matrix<T>, dc: Matrix<T>) -> (Thunk<T, AlphaFrom<T>>, T) {
        // SAFETY: S34, asked of the caller. A shadow overlaps no matrix; and if that of A is that of B, one is added
        // after the other.
        unsafe {
            if !da.place.is_null() {
                da.add_product(self.alpha, dc, self.b.view().transposed());
            }
            if !db.place.is_null() {
                db.add_product(self.alpha, self.a.view().transposed(), dc);
            }
            let cotangent = dc.copy();
            let d_beta = self.c.as_ref().map_or(T::NAN, |c| c.dot(&cotangent));
            dc.scale(self.beta);
            (Thunk::new((self.clone(), cotangent), alpha_cotangent), d_beta)
        }
    }
}

fn alpha_cotangent<T: Element>((kept, dc): AlphaFrom<T>) -> T {
    let mut product = Copied::zeros(dc.rows, dc.columns);
    // SAFETY: S30, the product is our own, and the pullback, which has just run, needs the others.
    unsafe { product.view_mut().add_product(T::from(1.0), kept.a.view(), kept.b.view()) };
    product.dot(&dc)
}

/// Forward mode: what is added to the tangent of C, before C changes.
///
/// # Safety
/// The matrices are there, as [`Element::gemm`] asks for them; tangents lie as they do, or are null.
unsafe fn push_forward<T: Element>(
    (alpha, d_alpha): (T, Option<T>),
    (a, da): (Matrix<T>, *const T),
    (b, db): (Matrix<T>, *const T),
    (beta, d_beta): (T, Option<T>),
    (c, dc): (Matrix<T>, *mut T),
) {
    let zero = T::from(0.0);
    let dc = Matrix { place: dc, ..c };
    // SAFETY: S30, asked of the caller.
    unsafe {
        dc.scale(beta);
        if let Some(d_beta) = d_beta.filter(|d_beta| *d_beta != zero) {
            let read = |place: *mut T| if beta == zero { T::NAN } else { *place };
            dc.places().zip(c.places()).for_each(|(dc, c)| *dc += d_beta * read(c));
        }
        if !da.is_null() {
            dc.add_product(alpha, Matrix { place: da.cast_mut(), ..a }, b);
        }
        if !db.is_null() {
            dc.add_product(alpha, a, Matrix { place: db.cast_mut(), ..b });
        }
        if let Some(d_alpha) = d_alpha {
            dc.add_product(d_alpha, a, b);
        }
    }
}

macro_rules! rules_for {
    ($T:ident, $gemm:ident, $rrule:ident, $frule:ident) => {
        impl Element for $T {
            const NAN: Self = $T::NAN;

            unsafe fn gemm(alpha: $T, a: Matrix<$T>, b: Matrix<$T>, beta: $T, c: Matrix<$T>) {
                let ([rsa, csa], [rsb, csb], [rsc, csc]) = (a.strides, b.strides, c.strides);
                let (m, k, n) = (c.rows, a.columns, c.columns);
                // SAFETY: S30, asked of the caller.
                unsafe {
                    matrixmultiply::$gemm(m, k, n, alpha, a.place, rsa, csa, b.place, rsb, csb, beta, c.place, rsc, csc)
                }
            }
        }

        #[rrule(for = matrixmultiply::$gemm)]
        fn $rrule(
            memory: Memory,
            m: usize,
            k: usize,
            n: usize,
            alpha: $T,
            a: *const $T,
            rsa: isize,
            csa: isize,
            b: *const $T,
            rsb: isize,
            csb: isize,
            beta: $T,
            c: *mut $T,
            rsc: isize,
            csc: isize,
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
                Thunk<$T, AlphaFrom<$T>>,
                NoTangent,
                NoTangent,
                NoTangent,
                NoTangent,
                $T,
                NoTangent,
                NoTangent,
            ),
        ) {
            let [a, b, c] = matrices([m, k, n], (a, [rsa, csa]), (b, [rsb, csb]), (c, [rsc, csc]));
            // SAFETY: S30, as the function is called. C is read only where the function reads it.
            let kept = unsafe {
                let old = (beta != 0.0).then(|| c.copy());
                $T::gemm(alpha, a, b, beta, c);
                Rc::new(Kept { alpha, a: Later::new(memory, a), b: Later::new(memory, b), beta, c: old })
            };
            ((), move |da: *mut $T, db: *mut $T, dc: *mut $T| {
                let [da, db, dc] = matrices([m, k, n], (da, [rsa, csa]), (db, [rsb, csb]), (dc, [rsc, csc]));
                // SAFETY: S34, shadows lie as the matrices did.
                let (d_alpha, d_beta) = unsafe { kept.pull_back(da, db, dc) };
                (
                    NoTangent, NoTangent, NoTangent, d_alpha, NoTangent, NoTangent, NoTangent, NoTangent, d_beta,
                    NoTangent, NoTangent,
                )
            })
        }

        #[frule(for = matrixmultiply::$gemm)]
        fn $frule(
            m: usize,
            _: NoTangent,
            k: usize,
            _: NoTangent,
            n: usize,
            _: NoTangent,
            alpha: $T,
            d_alpha: Option<$T>,
            a: *const $T,
            da: *const $T,
            rsa: isize,
            _: NoTangent,
            csa: isize,
            _: NoTangent,
            b: *const $T,
            db: *const $T,
            rsb: isize,
            _: NoTangent,
            csb: isize,
            _: NoTangent,
            beta: $T,
            d_beta: Option<$T>,
            c: *mut $T,
            dc: *mut $T,
            rsc: isize,
            _: NoTangent,
            csc: isize,
            _: NoTangent,
        ) {
            let [a, b, c] = matrices([m, k, n], (a, [rsa, csa]), (b, [rsb, csb]), (c, [rsc, csc]));
            // SAFETY: S30, as the function is called.
            unsafe {
                push_forward((alpha, d_alpha), (a, da), (b, db), (beta, d_beta), (c, dc));
                $T::gemm(alpha, a, b, beta, c);
            }
        }
    };
}

/// The matrices A, B and C.
fn matrices<T>(
    [m, k, n]: [usize; 3],
    (a, a_strides): (*const T, [isize; 2]),
    (b, b_strides): (*const T, [isize; 2]),
    (c, c_strides): (*mut T, [isize; 2]),
) -> [Matrix<T>; 3] {
    [
        Matrix { place: a.cast_mut(), rows: m, columns: k, strides: a_strides },
        Matrix { place: b.cast_mut(), rows: k, columns: n, strides: b_strides },
        Matrix { place: c, rows: m, columns: n, strides: c_strides },
    ]
}

rules_for!(f32, sgemm, sgemm_rrule, sgemm_frule);
rules_for!(f64, dgemm, dgemm_rrule, dgemm_frule);
