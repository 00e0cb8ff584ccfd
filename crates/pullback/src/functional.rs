//! Derivatives of functions and closures that are passed to a function.
//!
//! What a closure captures is a constant. The function is called by a shim with everything by pointer, as for an
//! attribute, and what is asked for stands in a constant of the generic function: each function that is passed has an
//! instance of its own.

use crate::__private::{AnyLayout as _, LayoutOf, built_by_driver, check, later, marker, saves, seed, yields};
use crate::abi::{Activity, Arg, Mode, Request};
use crate::differentiable::reach::may_reach_cells;
use crate::differentiable::{Congruence, Constants, Differentiable, MakeZero, Masked, ToZero, layout_of};
use crate::rt::{Mark, Noted, Tape, note_bookkeeping};
use crate::rules::runs::{Runs, misfit};
use std::borrow::{Borrow, BorrowMut};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, transmute};
use std::ptr::NonNull;

/// The function, with everything by pointer.
///
/// # Safety
/// All but `out` hold values.
unsafe fn shim<X: ?Sized, Y, F: Fn(&X) -> Y>(function: *const F, x: *const &X, out: *mut Y) {
    // SAFETY: S40, asked of the caller.
    unsafe { out.write((*function)(*x)) }
}

/// What is asked of the driver.
const fn request<X: Differentiable + ?Sized, Y: Differentiable, F>(mode: Mode, flags: u32) -> Request {
    Request::new(
        mode,
        1,
        flags,
        "a closure",
        (file!(), line!(), column!()),
        const {
            &[
                Arg::new("f", Activity::Const, LayoutOf::<F>::LAYOUT),
                Arg::new("x", Activity::Duplicated, layout_of::<&X>),
                Arg::new("return", Activity::Duplicated, layout_of::<Y>),
            ]
        },
    )
}

/// The value of `f` at `x`, and its derivative in the direction `dx`: forward mode.
///
#[cfg_attr(pullback, doc = "```")]
#[cfg_attr(not(pullback), doc = "```no_run")]
/// use pullback::jvp;
///
/// let (y, dy) = jvp(|x: &[f64; 2]| x[0] * x[0] * x[1], &[3.0, 5.0], &[1.0, 0.0]);
/// assert_eq!((y, dy), (45.0, 30.0));
/// ```
///
/// # Panics
/// If `dx` has another shape than `x`.
#[track_caller]
pub fn jvp<X, Y, F>(f: F, x: &X, dx: &X) -> (Y, Y)
where
    X: Differentiable + ?Sized,
    Y: Differentiable,
    F: Fn(&X) -> Y,
{
    built_by_driver::<F>();
    let mut congruence = Congruence::default();
    // SAFETY: S7, the type is the same.
    unsafe { check("x", &x, &dx, None, (&congruence, 0)) };
    congruence.assert_congruent();
    // SAFETY: S40, the driver puts an address in the place of the marker.
    let asked = || unsafe { yields(shim::<X, Y, F> as *const (), const { &request::<X, Y, F>(Mode::Forward, 0) }) };
    if congruence.is_lent() && !asked().is_null() {
        congruence.refuse_lent_bookkeeping();
    }
    Constants::examine_result::<Y>();
    let mut constants = Constants::default();
    let mut out = MaybeUninit::<Y>::uninit();
    let mut tangent = MaybeUninit::<Y>::uninit();
    // SAFETY: S40, the driver puts the derivative of the shim there, which has this signature and writes value and
    // tangent. Of the shadow it writes cells only, by S8; the tangent has parts of its own once it is complete, by S19.
    unsafe {
        let derivative =
            transmute::<*const (), unsafe extern "C-unwind" fn(*const F, *const &X, *const &X, *mut Y, *mut Y)>(
                marker(shim::<X, Y, F> as *const (), const { &request::<X, Y, F>(Mode::Forward, 0) }),
            );
        derivative(&f, &x, &dx, out.as_mut_ptr(), tangent.as_mut_ptr());
        let out = out.assume_init();
        constants.complete(&raw const out, tangent.as_mut_ptr(), &congruence);
        (out, tangent.assume_init())
    }
}

/// The value of `f` at `x`, and its gradient there: reverse mode.
///
#[cfg_attr(pullback, doc = "```")]
#[cfg_attr(not(pullback), doc = "```no_run")]
/// use pullback::value_and_grad;
///
/// let weights = [1.0, 10.0];
/// let loss = |x: &[f64]| x.iter().zip(weights).map(|(x, w)| w * x * x).sum::<f64>();
/// assert_eq!(value_and_grad(loss, &[3.0, 5.0][..]), (259.0, vec![6.0, 100.0]));
/// ```
pub fn value_and_grad<X, Y, F>(f: F, x: &X) -> (Y, X::Zero)
where
    X: ToZero<Zero: BorrowMut<X>> + ?Sized,
    Y: crate::ActiveResult,
    F: Fn(&X) -> Y,
{
    built_by_driver::<F>();
    let mut gradient = x.to_zero();
    let mut masked = Masked::default();
    let (mut out, mut cotangent) = (MaybeUninit::<Y>::uninit(), Y::ONE);
    seed(&cotangent, true, &masked);
    let mut note = MaybeUninit::uninit();
    let mut tape = Tape::new();
    // SAFETY: S40, the driver puts the derivative of the shim there, which has this signature and writes the value. The
    // shadow has the shape of `x`, and nobody else uses it. It and the note are there as long as the tape is used.
    let y = unsafe {
        let mut shadow: *mut X = gradient.borrow_mut();
        let mut congruence = Congruence::default();
        check("x", &x, &shadow, Some(&masked), (&congruence, 0));
        let asked = || yields(shim::<X, Y, F> as *const (), const { &request::<X, Y, F>(Mode::Reverse, 0) });
        if congruence.is_lent() && !asked().is_null() {
            congruence.refuse_lent_bookkeeping();
        }
        drop(congruence);
        // What is behind a `&`, and in no cell, holds no pointer that a derivative changes.
        if const { may_reach_cells::<X>() } {
            let saves = saves(shim::<X, Y, F> as *const (), const { &request::<X, Y, F>(Mode::Reverse, 0) });
            if !saves.is_null() {
                note_bookkeeping(&mut tape, &mut note, &x, (&raw mut shadow).cast());
            }
        }
        if !masked.is_empty() {
            masked.reaches_bookkeeping(&x, (&raw mut shadow).cast());
            masked.clear();
        }
        let derivative =
            transmute::<
                *const (),
                unsafe extern "C-unwind" fn(*mut Tape, *const F, *const &X, *mut *mut X, *mut Y, *mut Y),
            >(marker(shim::<X, Y, F> as *const (), const { &request::<X, Y, F>(Mode::Reverse, 0) }));
        derivative(&mut tape, &f, &x, &mut shadow, out.as_mut_ptr(), &mut cotangent);
        out.assume_init()
    };
    drop(tape);
    drop(masked);
    (y, gradient)
}

/// The gradient of `f` at `x`: reverse mode.
///
#[cfg_attr(pullback, doc = "```")]
#[cfg_attr(not(pullback), doc = "```no_run")]
/// use pullback::grad;
///
/// assert_eq!(grad(|x: &[f64; 2]| x[0] * x[1], &[3.0, 5.0]), [5.0, 3.0]);
/// ```
pub fn grad<X, Y, F>(f: F, x: &X) -> X::Zero
where
    X: ToZero<Zero: BorrowMut<X>> + ?Sized,
    Y: crate::ActiveResult,
    F: Fn(&X) -> Y,
{
    value_and_grad(f, x).1
}

/// The value of `f` at `x`, and the pullback: from a cotangent of the value to that of `x`. It can be called later, and
/// more than once.
///
#[cfg_attr(pullback, doc = "```")]
#[cfg_attr(not(pullback), doc = "```no_run")]
/// use pullback::vjp;
///
/// let (y, pullback) = vjp(|x: &[f64; 2]| [x[0] * x[1], x[0] + x[1]], &[3.0, 5.0]);
/// assert_eq!(y, [15.0, 8.0]);
/// assert_eq!(pullback([1.0, 0.0]), [5.0, 3.0]);
/// assert_eq!(pullback([0.0, 1.0]), [1.0, 1.0]);
/// ```
///
/// What the reverse sweep needs is kept until the pullback is dropped. A cotangent has the shape of the value; the
/// pullback panics if it has not. (An array's elements may lie in memory in another order.)
///
/// Some reverse sweeps can be done once: through a rule whose closure owns memory, through enums that hold a float in
/// one variant and a pointer in another, and after a panic. Then the function is called again for the next one; if it
/// might do something else by then, for it uses cells or captures, the pullback panics.
pub fn vjp<'a, X, Y, F>(f: F, x: &'a X) -> (Y, impl Fn(Y) -> X::Zero + use<'a, X, Y, F>)
where
    X: ToZero<Zero: BorrowMut<X>> + ?Sized,
    Y: MakeZero,
    F: Fn(&X) -> Y,
{
    built_by_driver::<F>();
    let function = Box::new(f);
    let (y, sweep) = Sweep::<X, Y, F>::forward(&function, x);
    let sweep = RefCell::new(sweep);
    let pullback = move |dy: Y| {
        let mut sweep = sweep.borrow_mut();
        if sweep.is_spent() {
            // What the reverse sweep takes off the tape is gone: it is put there once more, if that is the same as
            // before.
            sweep.assert_reproducible();
            let (again, new) = Sweep::<X, Y, F>::forward(&function, x);
            drop(again);
            *sweep = new;
        }
        sweep.backward(dy)
    };
    (y, pullback)
}

/// A value that stays where it is, whatever happens to its owner: others have its address.
struct Pinned<T>(NonNull<T>);

impl<T> Pinned<T> {
    fn new(value: T) -> Self {
        Pinned(NonNull::from(Box::leak(Box::new(value))))
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        // SAFETY: S17, it was a box, and is dropped once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// A forward sweep of `F` that was done, and its reverse sweep to come. The tape refers to everything in it.
struct Sweep<'a, X: ToZero + ?Sized, Y, F> {
    x: &'a X,
    _function: PhantomData<fn(&F)>,
    tape: Pinned<Tape>,
    mark: Mark,
    state: State,
    /// Where the tape finds the shadow, if pointers of it may be put back.
    _note: Pinned<MaybeUninit<Noted>>,
    /// The floats of the value's shadow, to which a cotangent is added.
    cotangent: Runs,
    /// The floats of the shadow of `x`, in the shape that `x` had before the forward sweep.
    gradient: Runs,
    _result: Pinned<MaybeUninit<Y>>,
    _place: Pinned<*mut X>,
    /// What of the shadow is set to zero as long as it is used; it is put back before that is dropped.
    _masked: Masked,
    /// The shadow of `x`, whose floats are zero between sweeps.
    _shadow: Pinned<X::Zero>,
    /// Zeros of the shape that `x` had before the forward sweep, if it may be another one now.
    zero: Option<X::Zero>,
}

/// What was done with a tape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Fresh,
    Used,
    /// A reverse sweep has begun and not ended.
    Broken,
}

impl<'a, X: ToZero<Zero: BorrowMut<X>> + ?Sized, Y: MakeZero, F: Fn(&X) -> Y> Sweep<'a, X, Y, F> {
    /// Do the forward sweep.
    fn forward(function: &F, x: &'a X) -> (Y, Self) {
        let shadow = Pinned::new(x.to_zero());
        let zero = const { may_reach_cells::<X>() }.then(|| x.to_zero());
        let mut note = Pinned::new(MaybeUninit::uninit());
        // SAFETY: S17, nobody else uses it.
        let place = Pinned::new(unsafe { &raw mut *(*shadow.0.as_ptr()).borrow_mut() });
        let mut masked = Masked::default();
        let mut out = MaybeUninit::<Y>::uninit();
        // Zero, so that what lies beside floats in an enum is not taken for one.
        let result = Pinned::new(MaybeUninit::<Y>::zeroed());
        // It puts back what it has saved, by a panic, before that is dropped.
        let tape = Pinned::new(Tape::new());
        // SAFETY: S40, the driver puts the forward sweep there, which has this signature and writes the value. The
        // shadow has the shape of `x`, and all places are there as long as the tape.
        let (y, cotangent, gradient, mark) = unsafe {
            let mut congruence = Congruence::default();
            check("x", &x, place.0.as_ref(), Some(&masked), (&congruence, 0));
            let asked =
                || yields(shim::<X, Y, F> as *const (), const { &request::<X, Y, F>(Mode::Reverse, Request::SPLIT) });
            if congruence.is_lent() && !asked().is_null() {
                congruence.refuse_lent_bookkeeping();
            }
            drop(congruence);
            if const { may_reach_cells::<X>() } {
                let saves =
                    saves(shim::<X, Y, F> as *const (), const { &request::<X, Y, F>(Mode::Reverse, Request::SPLIT) });
                if !saves.is_null() {
                    note_bookkeeping(&mut *tape.0.as_ptr(), note.0.as_mut(), &x, place.0.as_ptr().cast());
                }
            }
            let gradient = Runs::of(x, *place.0.as_ptr());
            if !masked.is_empty() {
                masked.reaches_bookkeeping(&x, place.0.as_ptr().cast());
                masked.clear();
            }
            let forward = transmute::<
                *const (),
                unsafe extern "C-unwind" fn(*mut Tape, *const F, *const &X, *const *mut X, *mut Y, *mut Y),
            >(marker(
                shim::<X, Y, F> as *const (),
                const { &request::<X, Y, F>(Mode::Reverse, Request::SPLIT) },
            ));
            forward(tape.0.as_ptr(), function, &x, place.0.as_ptr(), out.as_mut_ptr(), result.0.as_ptr().cast());
            let y = out.assume_init();
            let cotangent = Runs::of(&y, result.0.as_ptr().cast());
            (y, cotangent, gradient, (*tape.0.as_ptr()).mark_bookkeeping())
        };
        let (_masked, _result, _place, _note) = (masked, result, place, note);
        let _function = PhantomData;
        let state = State::Fresh;
        let _shadow = shadow;
        (
            y,
            Sweep {
                x,
                _function,
                tape,
                mark,
                state,
                _note,
                cotangent,
                gradient,
                _result,
                _place,
                _masked,
                _shadow,
                zero,
            },
        )
    }

    fn tape(&mut self) -> &mut Tape {
        // SAFETY: S17, nobody else uses it.
        unsafe { self.tape.0.as_mut() }
    }

    /// Whether the reverse sweep cannot be done any more.
    fn is_spent(&mut self) -> bool {
        match self.state {
            State::Fresh => false,
            State::Used => !self.tape().is_repeatable(),
            State::Broken => true,
        }
    }

    /// Panics if the function may do something else when it is called again.
    fn assert_reproducible(&mut self) {
        assert!(
            self.tape().is_reproducible(),
            "the pullback of `vjp` cannot be called again: it can be gone through once, or has panicked, and the \
             function may have another value by now: it uses cells, or what it captures, or functions that are not \
             looked into\n\
             help: call `vjp` again, or let rules return pullbacks that can be called more than once"
        );
    }

    /// Do the reverse sweep.
    fn backward(&mut self, mut dy: Y) -> X::Zero {
        let seed = Runs::of_value(&mut dy);
        if !seed.fit(&self.cotangent) {
            misfit(&seed, &self.cotangent);
        }
        let mut gradient = match &self.zero {
            Some(zero) => zero.borrow().to_zero(),
            None => self.x.to_zero(),
        };
        let places = Runs::of_value(gradient.borrow_mut());
        assert!(
            self.gradient.fit(&places),
            "internal error in Pullback: a zero of the argument of `vjp` has another shape"
        );
        if self.state == State::Used {
            let mark = &self.mark;
            // SAFETY: S17, nobody else uses it.
            unsafe { self.tape.0.as_mut() }.rewind_bookkeeping(mark);
        }
        self.state = State::Broken;
        // SAFETY: S17 and S40, the driver puts the reverse sweep there. The lists fit; the shadows and what the tape
        // refers to are still there, and nobody else uses them. The cotangent may have other owners, and is only read.
        unsafe {
            seed.add_to(&self.cotangent);
            let reverse = transmute::<*const (), unsafe extern "C-unwind" fn(*mut Tape)>(later(
                shim::<X, Y, F> as *const (),
                const { &request::<X, Y, F>(Mode::Reverse, Request::SPLIT) },
            ));
            reverse(self.tape.0.as_ptr());
            self.gradient.add_to(&places);
            self.gradient.clear();
        }
        self.state = State::Used;
        gradient
    }
}
