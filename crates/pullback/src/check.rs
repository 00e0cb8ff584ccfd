//! Checks of derivatives, for tests: against finite differences, and forward mode against reverse mode.
//!
//! A derivative that Pullback takes is right as far as the function is what is written; a [rule](crate::rules) is right
//! as far as its author is. Check the function that has the rule, or one that calls it:
//!
#![cfg_attr(pullback, doc = "```")]
#![cfg_attr(not(pullback), doc = "```no_run")]
//! use pullback::{check, rrule};
//!
//! fn sigmoid(x: f64) -> f64 {
//!     1.0 / (1.0 + (-x).exp())
//! }
//!
//! #[rrule(for = sigmoid)]
//! fn sigmoid_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
//!     let y = sigmoid(x);
//!     (y, move |dy| dy * y * (1.0 - y))
//! }
//!
//! check::rule(|x: &f64| sigmoid(*x), &[-2.0, 0.0, 3.0]);
//! ```

use crate::differentiable::{MakeZero, ToZero};
use crate::functional::{jvp, vjp};
use crate::rules::runs::{Place, Runs};
use std::borrow::BorrowMut;
use std::fmt;

/// How far from a given point [`rule`] looks, relative to its size.
const SPREAD: f64 = 0.3;

/// What two ways to a derivative disagree about.
#[derive(Clone, PartialEq, Debug)]
pub struct Disagreement {
    /// Which float of the argument, from 0 in the order in which they lie.
    pub input: usize,
    /// Which float of the value.
    pub output: usize,
    /// By finite differences.
    pub difference: f64,
    /// By forward mode.
    pub forward: f64,
    /// By reverse mode.
    pub reverse: f64,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disagreement { input, output, difference, forward, reverse } = self;
        writeln!(f, "the derivative of float {output} of the value by float {input} of the argument is")?;
        writeln!(f, "  {difference:e} by finite differences")?;
        writeln!(f, "  {forward:e} by forward mode")?;
        write!(f, "  {reverse:e} by reverse mode")
    }
}

impl std::error::Error for Disagreement {}

/// Check the derivatives of `f` at `x`: forward mode, reverse mode and finite differences.
///
/// Each derivative of each float of the value by each float of the argument is compared. The function has to be smooth
/// around `x`.
///
#[cfg_attr(pullback, doc = "```")]
#[cfg_attr(not(pullback), doc = "```no_run")]
/// use pullback::check;
///
/// check::derivatives(|x: &[f64]| x.iter().map(|v| v.sin()).product::<f64>(), &[0.3, 0.7][..])?;
/// # Ok::<(), check::Disagreement>(())
/// ```
///
/// # Errors
/// The first derivative about which they disagree.
pub fn derivatives<X, Y, F>(f: F, x: &X) -> Result<(), Disagreement>
where
    X: ToZero<Zero: BorrowMut<X>> + ?Sized,
    Y: MakeZero,
    F: Fn(&X) -> Y,
{
    let inputs: Vec<bool> = Runs::of_value(x.to_zero().borrow_mut()).places().iter().map(Place::is_wide).collect();
    let (mut value, pullback) = vjp(&f, x);
    let outputs = Runs::of_value(&mut value).places().len();

    // Reverse mode, a row for each output.
    let mut rows = Vec::new();
    for output in 0..outputs {
        let mut seed = crate::make_zero(&value);
        Runs::of_value(&mut seed).places()[output].set(1.0);
        let mut row = pullback(seed);
        rows.push(values(row.borrow_mut()));
    }
    for (input, is_wide) in inputs.into_iter().enumerate() {
        // Forward mode, a column.
        let mut direction = x.to_zero();
        Runs::of_value(direction.borrow_mut()).places()[input].set(1.0);
        let (_, mut tangent) = jvp(&f, x, direction.borrow_mut());
        let column = values(&mut tangent);
        let differences = differences(&f, x, input);
        for output in 0..outputs {
            let (forward, reverse) = (column[output], rows[output][input]);
            let (difference, error) = differences[output];
            let size = forward.abs().max(reverse.abs());
            let exact = if is_wide { 1e-9 } else { 1e-4 };
            let agree = (forward - reverse).abs() <= exact * (1.0 + size)
                && (forward - difference).abs() <= error + 1e-7_f64.max(exact) * (1.0 + size);
            if !agree {
                return Err(Disagreement { input, output, difference, forward, reverse });
            }
        }
    }
    Ok(())
}

/// What a second derivative and differences of first derivatives disagree about.
#[derive(Clone, PartialEq, Debug)]
pub struct SecondDisagreement {
    /// The modes: `"forward over reverse"` or `"forward over forward"`.
    pub modes: &'static str,
    /// Which float of the first derivative, from 0 in the order in which they lie.
    pub place: usize,
    /// By finite differences of the first derivative.
    pub difference: f64,
    /// By the second derivative.
    pub derivative: f64,
}

impl fmt::Display for SecondDisagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SecondDisagreement { modes, place, difference, derivative } = self;
        writeln!(f, "the first derivatives agree, but the derivative of float {place} of the first derivative is")?;
        writeln!(f, "  {difference:e} by finite differences of the first derivative")?;
        write!(f, "  {derivative:e} by {modes} mode")
    }
}

impl std::error::Error for SecondDisagreement {}

/// Check second derivatives of `f` at `x`, forward mode over reverse mode and over forward mode, against finite
/// differences of the first derivatives. These are supposed to be right: see [`derivatives`].
///
/// A rule can be right and have a wrong derivative itself: what its pullback captures may have come about by a detour,
/// through bits or a table say, that carries no derivative. Whoever takes second derivatives gets wrong ones then.
///
/// # Errors
/// The first derivative about which they disagree.
pub fn second_derivatives<X, Y, F>(f: F, x: &X) -> Result<(), SecondDisagreement>
where
    X: MakeZero,
    Y: MakeZero,
    F: Fn(&X) -> Y,
{
    // One seed and two directions that are not special: of a wrong Hessian hardly anything else is left than something
    // wrong.
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut any = |places: Vec<Place>| places.iter().for_each(|place| place.set(0.5 + 0.4 * random.next()));
    let mut seed = crate::make_zero(&f(x));
    any(Runs::of_value(&mut seed).places());
    let (mut along, mut direction) = (crate::make_zero(x), crate::make_zero(x));
    any(Runs::of_value(&mut along).places());
    any(Runs::of_value(&mut direction).places());

    let by_reverse = |x: &X| {
        let (_, pullback) = vjp(&f, x);
        pullback(copy(&seed))
    };
    let by_forward = |x: &X| jvp(&f, x, &direction).1;
    let second = values(&mut jvp(by_reverse, x, &along).1);
    agree("forward over reverse", &second, differences_along(|x| values(&mut by_reverse(x)), x, &along))?;
    let second = values(&mut jvp(by_forward, x, &along).1);
    agree("forward over forward", &second, differences_along(|x| values(&mut by_forward(x)), x, &along))
}

/// Whether second derivatives are what differences say.
fn agree(modes: &'static str, found: &[f64], differences: Vec<(f64, f64)>) -> Result<(), SecondDisagreement> {
    for (place, (derivative, (difference, error))) in found.iter().copied().zip(differences).enumerate() {
        if (derivative - difference).abs() > error + 1e-6 * (1.0 + derivative.abs()) {
            return Err(SecondDisagreement { modes, place, difference, derivative });
        }
    }
    Ok(())
}

/// The derivatives of what `f` computes in a direction, and how sure they are.
fn differences_along<X: MakeZero>(f: impl Fn(&X) -> Vec<f64>, x: &X, direction: &X) -> Vec<(f64, f64)> {
    let mut direction = copy(direction);
    let directions: Vec<f64> = values(&mut direction);
    let at = |step: f64| {
        let mut moved = copy(x);
        for (place, along) in Runs::of_value(&mut moved).places().iter().zip(&directions) {
            place.set(place.get() + step * along);
        }
        f(&moved)
    };
    let mut point = copy(x);
    let is_wide = Runs::of_value(&mut point).places().iter().all(Place::is_wide);
    // First derivatives are as exact as the type.
    let step = if is_wide { 1e-4 } else { 3e-2 };
    let quotient = |step: f64| {
        let (high, low) = (at(step), at(-step));
        high.iter().zip(&low).map(|(high, low)| (high - low) / (2.0 * step)).collect::<Vec<f64>>()
    };
    let (coarse, fine) = (quotient(step), quotient(step / 2.0));
    let rounding = if is_wide { 0.0 } else { 1e-3 };
    let estimate = |(coarse, fine): (&f64, f64)| {
        ((4.0 * fine - coarse) / 3.0, (fine - coarse).abs() + rounding * (1.0 + fine.abs()))
    };
    coarse.iter().zip(fine).map(estimate).collect()
}

/// Check the rules that `f` uses, at these points and at random ones around them: see [`derivatives`] and
/// [`second_derivatives`].
///
/// A rule that is wrong by a factor, in its sign, in one argument only, or only at second order, is found, and so are
/// rules for forward and reverse mode that disagree. A rule whose own code cannot be differentiated (it calls a C
/// function that has no rule, say) is refused when the program is built; [`first_order`] does without that.
///
/// # Panics
/// If the derivatives disagree somewhere, with the point and the derivatives.
#[track_caller]
pub fn rule<X, Y, F>(f: F, points: &[X])
where
    X: MakeZero + fmt::Debug,
    Y: MakeZero,
    F: Fn(&X) -> Y,
{
    for point in around(points) {
        if let Err(disagreement) = derivatives(&f, &point) {
            panic!("at {point:?}:\n{disagreement}");
        }
        if let Err(disagreement) = second_derivatives(&f, &point) {
            panic!("at {point:?}:\n{disagreement}");
        }
    }
}

/// As [`rule`], without second derivatives: for rules whose own code has none.
///
/// # Panics
/// If the derivatives disagree somewhere, with the point and the derivatives.
#[track_caller]
pub fn first_order<X, Y, F>(f: F, points: &[X])
where
    X: MakeZero + fmt::Debug,
    Y: MakeZero,
    F: Fn(&X) -> Y,
{
    for point in around(points) {
        if let Err(disagreement) = derivatives(&f, &point) {
            panic!("at {point:?}:\n{disagreement}");
        }
    }
}

/// These points, and random ones around them.
fn around<X: MakeZero>(points: &[X]) -> Vec<X> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut all = Vec::new();
    for given in points {
        for round in 0..4 {
            let mut point = copy(given);
            if round > 0 {
                for place in Runs::of_value(&mut point).places() {
                    let value = place.get();
                    place.set(value + SPREAD * (0.1 + value.abs()) * random.next());
                }
            }
            all.push(point);
        }
    }
    all
}

/// Numbers between −1 and 1 that look random, and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// A copy of a value, made of a zero shadow and the value's floats.
fn copy<X: ToZero<Zero: BorrowMut<X>> + ?Sized>(x: &X) -> X::Zero {
    let mut copy = x.to_zero();
    let places = Runs::of_value(copy.borrow_mut());
    // SAFETY: S36, a value has its own shape. Its floats are only read.
    let floats = unsafe { Runs::of(x, (&raw const *x).cast_mut()) };
    assert!(floats.fit(&places), "a value has changed its shape while it was copied");
    // SAFETY: S37, the lists fit, and nobody else refers to the copy.
    unsafe { floats.copy_to(&places) };
    copy
}

fn values<T: crate::Differentiable + ?Sized>(value: &mut T) -> Vec<f64> {
    Runs::of_value(value).places().iter().map(Place::get).collect()
}

/// The derivatives of each float of the value by one float of the argument, and how sure that is: central differences,
/// with two steps. Each call of the function is given a copy of its own, of which it may keep parts.
fn differences<X, Y, F>(f: &F, x: &X, input: usize) -> Vec<(f64, f64)>
where
    X: ToZero<Zero: BorrowMut<X>> + ?Sized,
    Y: MakeZero,
    F: Fn(&X) -> Y,
{
    let at = |step: f64| {
        let mut moved = copy(x);
        let place = Runs::of_value(moved.borrow_mut()).places()[input];
        let old = place.get();
        place.set(old + step * (if place.is_wide() { 1e-4 } else { 1e-2 }) * (1.0 + old.abs()));
        // What was rounded away is not part of the step.
        (place.get(), values(&mut f(moved.borrow_mut())))
    };
    let quotient = |step: f64| {
        let ((right, high), (left, low)) = (at(step), at(-step));
        high.iter().zip(&low).map(|(high, low)| (high - low) / (right - left)).collect::<Vec<f64>>()
    };
    let (coarse, fine) = (quotient(1.0), quotient(0.5));
    // The error of central differences goes with the square of the step.
    coarse.iter().zip(fine).map(|(coarse, fine)| ((4.0 * fine - coarse) / 3.0, (fine - coarse).abs())).collect()
}
