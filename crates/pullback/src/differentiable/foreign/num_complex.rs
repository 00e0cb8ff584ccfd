//! Complex numbers. A shadow has the derivative by the real part in the place of that, and by the imaginary part in the
//! place of that.

use crate::differentiable::made_of::made_of;
use num_complex::Complex;
use std::mem::offset_of;

made_of! {
    [T] Complex<T>, "Complex" {
        "re": T, at offset_of!(Self, re), |z| &z.re;
        "im": T, at offset_of!(Self, im), |z| &z.im;
    } by |re, im| Complex { re, im };
}
