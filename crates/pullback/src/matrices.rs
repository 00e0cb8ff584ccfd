//! Derivatives by several floats at once, and second derivatives: made of [`jvp`], [`vjp`] and
//! [`grad`](fn@crate::grad).

use crate::differentiable::{ActiveResult, Differentiable, MakeZero, ToZero};
use crate::functional::{grad, jvp, vjp};
use crate::rules::runs::Runs;
use std::borrow::BorrowMut;

/// A value whose floats can each be replaced by a row of a [`jacobian`]: a float, an array or a `Vec` of such.
pub trait Rows: MakeZero {
    /// The same, with an `R` in the place of each float.
    type Of<R>;

    /// Put what `row` returns, again and again, in the places of the floats.
    fn rows<R>(&self, row: &mut impl FnMut() -> R) -> Self::Of<R>;
}

macro_rules! rows_of_floats {
    ($($float:ty),*) => {$(
        impl Rows for $float {
            type Of<R> = R;

            fn rows<R>(&self, row: &mut impl FnMut() -> R) -> R {
                row()
            }
        }
    )*};
}

rows_of_floats!(f32, f64);

impl<T: Rows, const N: usize> Rows for [T; N]
where
    [T; N]: MakeZero,
{
    type Of<R> = [T::Of<R>; N];

    fn rows<R>(&self, row: &mut impl FnMut() -> R) -> Self::Of<R> {
        self.each_ref().map(|value| value.rows(row))
    }
}

impl<T: Rows> Rows for Vec<T>
where
    Vec<T>: MakeZero,
{
    type Of<R> = Vec<T::Of<R>>;

    fn rows<R>(&self, row: &mut impl FnMut() -> R) -> Self::Of<R> {
        self.iter().map(|value| value.rows(row)).collect()
    }
}

/// The derivative of a function of one float.
///
#[cfg_attr(pullback, doc = "```")]
#[cfg_attr(not(pullback), doc = "```no_run")]
/// use pullback::derivative;
///
/// assert_eq!(derivative(|x: f64| x * x * x, 2.0), 12.0);
/// let second = derivative(|x: f64| derivative(|x: f64| x * x * x, x), 2.0);
/// assert_eq!(second, 12.0);
/// ```
pub fn derivative<T, F>(f: F, x: T) -> T
where
    T: ActiveResult,
    F: Fn(T) -> T,
{
    jvp(|x: &T| f(*x), &x, &T::ONE).1
}

/// All derivatives of the floats of `f`'s value by those of `x`: a row for each float of the value, of the shape of
/// `x`.
///
#[cfg_attr(pullback, doc = "```")]
#[cfg_attr(not(pullback), doc = "```no_run")]
/// use pullback::jacobian;
///
/// let j: [[f64; 3]; 2] = jacobian(|x: &[f64; 3]| [x[0] * x[1], x[2]], &[2.0, 3.0, 5.0]);
/// assert_eq!(j, [[3.0, 2.0, 0.0], [0.0, 0.0, 1.0]]);
/// ```
///
/// It takes forward mode, a column at a time, where the value has at least as many floats as `x`, else reverse mode, a
/// row at a time.
pub fn jacobian<X, Y, F>(f: F, x: &X) -> Y::Of<X::Zero>
where
    X: ToZero<Zero: BorrowMut<X>> + ?Sized,
    Y: Rows,
    F: Fn(&X) -> Y,
{
    let (mut y, pullback) = vjp(&f, x);
    let outputs = floats(&mut y);
    let inputs = floats(x.to_zero().borrow_mut());
    if outputs < inputs {
        let mut output = 0;
        return y.rows(&mut || {
            let mut seed = crate::make_zero(&y);
            set(&mut seed, output, 1.0);
            output += 1;
            pullback(seed)
        });
    }
    let columns: Vec<Vec<f64>> = (0..inputs)
        .map(|input| {
            let mut direction = x.to_zero();
            set(direction.borrow_mut(), input, 1.0);
            let mut column = jvp(&f, x, direction.borrow_mut()).1;
            Runs::of_value(&mut column).places().iter().map(|place| place.get()).collect()
        })
        .collect();
    let mut output = 0;
    y.rows(&mut || {
        let mut row = x.to_zero();
        for (place, column) in Runs::of_value(row.borrow_mut()).places().iter().zip(&columns) {
            place.set(column[output]);
        }
        output += 1;
        row
    })
}

/// The product of the second derivative of `f` at `x` with `v`: forward mode over reverse mode, at the cost of a few
/// gradients.
///
#[cfg_attr(pullback, doc = "```")]
#[cfg_attr(not(pullback), doc = "```no_run")]
/// use pullback::hvp;
///
/// assert_eq!(hvp(|x: &[f64; 2]| x[0] * x[0] * x[1], &[3.0, 5.0], &[1.0, 0.0]), [10.0, 6.0]);
/// ```
///
/// # Panics
/// If `v` has another shape than `x`.
#[track_caller]
pub fn hvp<X, Y, F>(f: F, x: &X, v: &X) -> X::Zero
where
    X: ToZero<Zero: BorrowMut<X> + Differentiable> + ?Sized,
    Y: ActiveResult,
    F: Fn(&X) -> Y,
{
    jvp(|x: &X| grad(&f, x), x, v).1
}

/// All second derivatives of `f` at `x`: a row for each float of `x`, of the shape of `x`.
///
#[cfg_attr(pullback, doc = "```")]
#[cfg_attr(not(pullback), doc = "```no_run")]
/// use pullback::hessian;
///
/// let h: [[f64; 2]; 2] = hessian(|x: &[f64; 2]| x[0] * x[0] * x[1], &[3.0, 5.0]);
/// assert_eq!(h, [[10.0, 6.0], [6.0, 0.0]]);
/// ```
pub fn hessian<X, Y, F>(f: F, x: &X) -> <X::Zero as Rows>::Of<X::Zero>
where
    X: ToZero<Zero: BorrowMut<X> + Rows> + ?Sized,
    Y: ActiveResult,
    F: Fn(&X) -> Y,
{
    let mut input = 0;
    x.to_zero().rows(&mut || {
        let mut direction = x.to_zero();
        set(direction.borrow_mut(), input, 1.0);
        input += 1;
        hvp(&f, x, direction.borrow_mut())
    })
}

/// How many floats a value has.
fn floats<T: Differentiable + ?Sized>(value: &mut T) -> usize {
    Runs::of_value(value).places().len()
}

/// Make one float of a value another one.
fn set<T: Differentiable + ?Sized>(value: &mut T, index: usize, float: f64) {
    Runs::of_value(value).places()[index].set(float);
}
