//! The derivatives of the functions that have a matrix.

use super::stored::{Later, Matrix, Stored, Vector, inner, pull_back_beta, push_beta, tangent};
use super::{Blas, PLAIN, TRANSPOSED, flipped};
use crate::rules::{Memory, Thunk};
use std::ffi::{c_int, c_uint};
use std::rc::Rc;

/// What the pullback of `gemm` needs.
#[derive(Debug)]
pub struct Gemm<T> {
    /// m, n and k.
    sizes: [c_int; 3],
    alpha: T,
    a: (c_uint, Later<T, Matrix<T>>),
    b: (c_uint, Later<T, Matrix<T>>),
    beta: T,
    /// C as it was, where it is read.
    c: Option<Later<T, Matrix<T>>>,
}

/// What the cotangent of α is computed from, if somebody asks for it: what the pullback needs, and the cotangent of the
/// result.
pub type GemmAlpha<T> = (Rc<Gemm<T>>, Later<T, Matrix<T>>);

impl<T: Blas> Gemm<T> {
    /// # Safety
    /// The matrices are there, and stay as `memory` says.
    pub unsafe fn new(
        memory: Memory,
        sizes: [c_int; 3],
        alpha: T,
        a: (c_uint, Matrix<T>),
        b: (c_uint, Matrix<T>),
        beta: T,
        c: Matrix<T>,
    ) -> Rc<Self> {
        // SAFETY: S30, asked of the caller. C is read only where the function reads it.
        unsafe {
            let old = (beta != T::ZERO).then(|| Later::copied(c));
            T::gemm(sizes, alpha, a, b, beta, c);
            let (a, b) = ((a.0, Later::new(memory, a.1)), (b.0, Later::new(memory, b.1)));
            Rc::new(Gemm { sizes, alpha, a, b, beta, c: old })
        }
    }

    /// # Safety
    /// Shadows lie as the matrices did; those of A and B may be null.
    pub unsafe fn pull_back(self: &Rc<Self>, da: *mut T, db: *mut T, dc: Matrix<T>) -> (Thunk<T, GemmAlpha<T>>, T) {
        let Gemm { sizes: [m, n, k], alpha, a: (a_way, a), b: (b_way, b), .. } = &**self;
        let (a_way, b_way) = (*a_way, *b_way);
        // SAFETY: S30, asked of the caller.
        unsafe {
            match a.shadow(da) {
                None => {}
                Some(da) if a_way == PLAIN => {
                    T::gemm([*m, *k, *n], *alpha, (PLAIN, dc), (flipped(b_way), b.view()), T::ONE, da);
                }
                Some(da) => T::gemm([*k, *m, *n], *alpha, (b_way, b.view()), (TRANSPOSED, dc), T::ONE, da),
            }
            match b.shadow(db) {
                None => {}
                Some(db) if b_way == PLAIN => {
                    T::gemm([*k, *n, *m], *alpha, (flipped(a_way), a.view()), (PLAIN, dc), T::ONE, db);
                }
                Some(db) => T::gemm([*n, *k, *m], *alpha, (TRANSPOSED, dc), (a_way, a.view()), T::ONE, db),
            }
            let d_alpha = Thunk::new((self.clone(), Later::copied(dc)), Self::alpha_cotangent);
            (d_alpha, pull_back_beta(self.beta, self.c.as_ref(), dc))
        }
    }

    fn alpha_cotangent((this, dc): GemmAlpha<T>) -> T {
        let mut product = Later::zeros(dc.stored);
        let (a, b) = ((this.a.0, this.a.1.view()), (this.b.0, this.b.1.view()));
        // SAFETY: S30, the product is our own, and the pullback, which has just run, needs the others.
        unsafe {
            T::gemm(this.sizes, T::ONE, a, b, T::ZERO, product.copy_mut());
            inner(product.view(), dc.view())
        }
    }
}

/// The tangent of `gemm`, before C changes.
///
/// # Safety
/// The matrices are there, and tangents that are not null.
pub unsafe fn push_gemm<T: Blas>(
    sizes: [c_int; 3],
    (alpha, d_alpha): (T, Option<T>),
    (a_way, a, da): (c_uint, Matrix<T>, *const T),
    (b_way, b, db): (c_uint, Matrix<T>, *const T),
    beta: (T, Option<T>),
    (c, dc): (Matrix<T>, *mut T),
) {
    let dc = c.at(dc);
    // SAFETY: S30, asked of the caller.
    unsafe {
        push_beta(beta, c, dc);
        if let Some(da) = tangent(a, da) {
            T::gemm(sizes, alpha, (a_way, da), (b_way, b), T::ONE, dc);
        }
        if let Some(db) = tangent(b, db) {
            T::gemm(sizes, alpha, (a_way, a), (b_way, db), T::ONE, dc);
        }
        if let Some(d_alpha) = d_alpha {
            T::gemm(sizes, d_alpha, (a_way, a), (b_way, b), T::ONE, dc);
        }
    }
}

/// What the pullback of `gemv` needs.
#[derive(Debug)]
pub struct Gemv<T> {
    alpha: T,
    a: (c_uint, Later<T, Matrix<T>>),
    x: Later<T, Vector<T>>,
    beta: T,
    /// y as it was, where it is read.
    y: Option<Later<T, Vector<T>>>,
}

/// As [`GemmAlpha`].
pub type GemvAlpha<T> = (Rc<Gemv<T>>, Later<T, Vector<T>>);

impl<T: Blas> Gemv<T> {
    /// # Safety
    /// As for [`Gemm::new`].
    pub unsafe fn new(
        memory: Memory,
        alpha: T,
        a: (c_uint, Matrix<T>),
        x: Vector<T>,
        beta: T,
        y: Vector<T>,
    ) -> Rc<Self> {
        // SAFETY: S30, asked of the caller. y is read only where the function reads it.
        unsafe {
            let old = (beta != T::ZERO).then(|| Later::copied(y));
            T::gemv(alpha, a, x, beta, y);
            let (a, x) = ((a.0, Later::new(memory, a.1)), Later::new(memory, x));
            Rc::new(Gemv { alpha, a, x, beta, y: old })
        }
    }

    /// # Safety
    /// As for [`Gemm::pull_back`].
    pub unsafe fn pull_back(self: &Rc<Self>, da: *mut T, dx: *mut T, dy: Vector<T>) -> (Thunk<T, GemvAlpha<T>>, T) {
        let Gemv { alpha, a: (way, a), x, .. } = &**self;
        // SAFETY: S30, asked of the caller.
        unsafe {
            if let Some(da) = a.shadow(da) {
                let (rows, columns) = if *way == PLAIN { (dy, x.view()) } else { (x.view(), dy) };
                T::ger(*alpha, rows, columns, da);
            }
            if let Some(dx) = x.shadow(dx) {
                T::gemv(*alpha, (flipped(*way), a.view()), dy, T::ONE, dx);
            }
            let d_alpha = Thunk::new((self.clone(), Later::copied(dy)), Self::alpha_cotangent);
            (d_alpha, pull_back_beta(self.beta, self.y.as_ref(), dy))
        }
    }

    fn alpha_cotangent((this, dy): GemvAlpha<T>) -> T {
        let mut product = Later::zeros(dy.stored);
        // SAFETY: S30, as for `gemm`.
        unsafe {
            T::gemv(T::ONE, (this.a.0, this.a.1.view()), this.x.view(), T::ZERO, product.copy_mut());
            inner(product.view(), dy.view())
        }
    }
}

/// The tangent of `gemv`, before y changes.
///
/// # Safety
/// As for [`push_gemm`].
pub unsafe fn push_gemv<T: Blas>(
    (alpha, d_alpha): (T, Option<T>),
    (way, a, da): (c_uint, Matrix<T>, *const T),
    (x, dx): (Vector<T>, *const T),
    beta: (T, Option<T>),
    (y, dy): (Vector<T>, *mut T),
) {
    let dy = y.at(dy);
    // SAFETY: S30, asked of the caller.
    unsafe {
        push_beta(beta, y, dy);
        if let Some(da) = tangent(a, da) {
            T::gemv(alpha, (way, da), x, T::ONE, dy);
        }
        if let Some(dx) = tangent(x, dx) {
            T::gemv(alpha, (way, a), dx, T::ONE, dy);
        }
        if let Some(d_alpha) = d_alpha {
            T::gemv(d_alpha, (way, a), x, T::ONE, dy);
        }
    }
}

/// The pullback of `ger`. Returns the cotangent of α.
///
/// # Safety
/// As for [`Gemm::pull_back`].
pub unsafe fn pull_back_ger<T: Blas>(
    alpha: T,
    (x, dx): (&Later<T, Vector<T>>, *mut T),
    (y, dy): (&Later<T, Vector<T>>, *mut T),
    da: Matrix<T>,
) -> T {
    let mut by_row = Later::zeros(x.stored);
    // SAFETY: S30, asked of the caller.
    unsafe {
        T::gemv(T::ONE, (PLAIN, da), y.view(), T::ZERO, by_row.copy_mut());
        if let Some(dx) = x.shadow(dx) {
            T::axpy(alpha, by_row.view(), dx);
        }
        if let Some(dy) = y.shadow(dy) {
            T::gemv(alpha, (TRANSPOSED, da), x.view(), T::ONE, dy);
        }
        T::dot(by_row.view(), x.view())
    }
}
