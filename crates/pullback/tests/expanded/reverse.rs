//! Reverse mode: gradients of values, shadows behind references, batches, what is dropped and when.

use super::stand_ins::{StandIn, asked, message};
use pullback::abi::Mode;
use pullback::rt::{
    __pullback_defer_dealloc, __pullback_shadow_alloc, __pullback_tape_own, __pullback_tape_pop, __pullback_tape_push,
    __pullback_tape_release, Tape,
};
use pullback::{Differentiable, autodiff};
use std::alloc::Layout;
use std::cell::RefCell;

#[autodiff(d_product, Reverse, Active, Duplicated, Active)]
#[autodiff(d_product_2, Reverse(2), Active, Duplicated, Active)]
#[autodiff(d_product_seeded, Reverse, Active, DuplicatedOnly, Duplicated)]
#[autodiff(d_product_unseen, Reverse, Active, Const, ActiveOnly)]
fn product(x: f64, y: &[f64]) -> f64 {
    assert!(x < 1e3, "too large");
    x * y[0] * y[1]
}

/// # Safety: as of a derivative.
unsafe fn product_reversed(x: f64, dx: *mut f64, y: &[f64], dy: Option<*mut *mut [f64]>, d_out: *mut f64) {
    // SAFETY: asked of the caller.
    unsafe {
        let seed = d_out.replace(0.0);
        *dx += seed * y[0] * y[1];
        if let Some(dy) = dy {
            let dy = dy.read().cast::<f64>();
            *dy += seed * x * y[1];
            *dy.add(1) += seed * x * y[0];
        }
    }
}

unsafe extern "C-unwind" fn product_derivative(
    tape: *mut Tape,
    x: *const f64,
    dx: *mut f64,
    y: *const &[f64],
    dy: *mut *mut [f64],
    out: *mut f64,
    d_out: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe {
        let kept = __pullback_tape_push(tape, 8).cast::<f64>();
        kept.write(x.read());
        out.write(product(x.read(), y.read()));
        // More than the first chunk has room for.
        __pullback_tape_push(tape, 1 << 16);
        __pullback_tape_pop(tape, 1 << 16);
        let x = __pullback_tape_pop(tape, 8).cast::<f64>().read();
        product_reversed(x, dx, y.read(), Some(dy), d_out);
    }
}

unsafe extern "C-unwind" fn product_derivative_2(
    _: *mut Tape,
    x: *const f64,
    dx0: *mut f64,
    dx1: *mut f64,
    y: *const &[f64],
    dy0: *mut *mut [f64],
    dy1: *mut *mut [f64],
    out: *mut f64,
    d_out0: *mut f64,
    d_out1: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(product(x.read(), y.read()));
        product_reversed(x.read(), dx0, y.read(), Some(dy0), d_out0);
        product_reversed(x.read(), dx1, y.read(), Some(dy1), d_out1);
    }
}

unsafe extern "C-unwind" fn product_derivative_in_x(
    _: *mut Tape,
    x: *const f64,
    dx: *mut f64,
    y: *const &[f64],
    out: *mut f64,
    d_out: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(product(x.read(), y.read()));
        product_reversed(x.read(), dx, y.read(), None, d_out);
    }
}

#[test]
fn floats_and_slices() {
    StandIn::new(product_derivative as *const ()).of("product", Mode::Reverse);
    let mut dy = [1.0; 2];
    assert_eq!(d_product(2.0, &[3.0, 5.0], &mut dy), (15.0, 30.0));
    assert_eq!(dy, [11.0, 7.0]);
    assert_eq!(message(|| d_product(1e4, &[3.0, 5.0], &mut [0.0; 2])), "too large");

    let mut dy = [1.0; 2];
    assert_eq!(d_product_seeded(2.0, &[3.0, 5.0], &mut dy, 10.0), (150.0, 30.0));
    assert_eq!(dy, [101.0, 61.0]);

    let said = message(|| d_product(2.0, &[3.0, 5.0], &mut [0.0; 3]));
    assert!(said.contains("`y` has length 2, its shadow has length 3"), "{said}");
    assert_eq!(asked(), 3);
}

#[test]
fn batches() {
    StandIn::new(product_derivative_2 as *const ()).of("product", Mode::Reverse);
    let (mut first, mut second) = ([1.0; 2], [0.0; 2]);
    let (dx, value) = d_product_2(2.0, &[3.0, 5.0], [&mut first, &mut second], [1.0, 10.0]);
    assert_eq!((dx, value), ([15.0, 150.0], 30.0));
    assert_eq!((first, second), ([11.0, 7.0], [100.0, 60.0]));
}

#[test]
fn a_result_that_nobody_sees() {
    StandIn::new(product_derivative_in_x as *const ()).of("product", Mode::Reverse);
    assert_eq!(d_product_unseen(2.0, &[3.0, 5.0]), 15.0);
}

/// Says when it is dropped.
#[derive(Differentiable)]
struct Part {
    weight: f64,
    #[pullback(skip)]
    name: &'static str,
}

thread_local! {
    static DROPPED: RefCell<Vec<&'static str>> = RefCell::default();
}

impl Drop for Part {
    fn drop(&mut self) {
        DROPPED.with_borrow_mut(|all| all.push(self.name));
    }
}

fn dropped() -> Vec<&'static str> {
    DROPPED.take()
}

#[autodiff(d_weigh, Reverse, Active, Duplicated, Const, Active)]
fn weigh(x: f64, parts: Box<[Part]>, other: Part) -> f64 {
    assert!(other.weight < 10.0, "too heavy");
    parts.iter().map(|part| part.weight).sum::<f64>() * x
}

/// What the primal frees stays until the reverse sweep is through.
unsafe extern "C-unwind" fn weigh_derivative(
    tape: *mut Tape,
    x: *const f64,
    dx: *mut f64,
    parts: *mut Box<[Part]>,
    d_parts: *mut Box<[Part]>,
    other: *mut Part,
    out: *mut f64,
    d_out: *mut f64,
) {
    unsafe extern "C-unwind" fn release(place: *mut u8) {
        // SAFETY: it was a box of such a value.
        drop(unsafe { Box::from_raw(place.cast::<Part>()) });
    }
    // SAFETY: as of a derivative.
    unsafe {
        let owned = Box::into_raw(Box::new(Part { weight: 0.0, name: "of a rule" }));
        __pullback_tape_own(tape, owned.cast(), release);
        let spare = __pullback_shadow_alloc(tape, 32, 8).cast::<f64>();
        assert_eq!(spare.read(), 0.0);
        let (parts, other) = (parts.cast::<*mut [Part]>().read(), other.read());
        if other.weight >= 10.0 {
            drop(other);
            drop(Box::from_raw(parts));
            panic!("too heavy");
        }
        let sum = (*parts).iter().map(|part| part.weight).sum::<f64>();
        out.write(sum * x.read());
        drop(other);
        let layout = Layout::for_value(&*parts);
        std::ptr::drop_in_place(parts);
        __pullback_defer_dealloc(tape, parts.cast(), layout.size() as i64, layout.align() as i64);
        let seed = d_out.replace(0.0);
        *dx += seed * sum;
        let shadow = d_parts.cast::<*mut [Part]>().read();
        for index in 0..parts.len() {
            (*shadow.cast::<Part>().add(index)).weight += seed * x.read();
            assert!((*parts.cast::<Part>().add(index)).weight > 0.0);
        }
        __pullback_tape_release(tape);
    }
}

#[test]
fn what_is_owned_is_dropped_once() {
    StandIn::new(weigh_derivative as *const ()).of("weigh", Mode::Reverse);
    let part = |weight, name| Part { weight, name };
    let mut shadow: Box<[Part]> = Box::new([part(0.5, "shadow"), part(0.0, "shadow")]);
    let parts = || Box::new([part(1.0, "first"), part(2.0, "second")]);
    assert_eq!(d_weigh(3.0, parts(), &mut shadow, part(4.0, "other")), (3.0, 9.0));
    assert_eq!((shadow[0].weight, shadow[1].weight), (3.5, 3.0));
    assert_eq!(dropped(), ["other", "first", "second", "of a rule"]);
    assert_eq!(message(|| d_weigh(3.0, parts(), &mut shadow, part(40.0, "other"))), "too heavy");
    assert_eq!(dropped(), ["other", "first", "second", "of a rule"]);
    // Refused before the arguments are the primal's.
    let said = message(|| d_weigh(3.0, Box::new([part(1.0, "only")]), &mut shadow, part(4.0, "other")));
    assert!(said.contains("`parts` has length 1, its shadow has length 2"), "{said}");
    assert_eq!(dropped(), ["other", "only"]);
    assert_eq!(asked(), 2);
    drop(shadow);
    assert_eq!(dropped(), ["shadow", "shadow"]);
}

#[derive(Clone, PartialEq, Debug, Differentiable)]
struct Owned {
    weights: Vec<f64>,
    bias: Box<f32>,
}

#[autodiff(d_owned, Reverse, Active, Duplicated, Active)]
fn owned(weights: Owned, scale: &f64) -> f32 {
    (weights.weights.iter().sum::<f64>() * scale) as f32 + *weights.bias
}

unsafe extern "C-unwind" fn owned_derivative(
    _: *mut Tape,
    weights: *mut Owned,
    d_weights: *mut Owned,
    scale: *const &f64,
    d_scale: *mut *mut f64,
    out: *mut f32,
    d_out: *mut f32,
) {
    // SAFETY: as of a derivative.
    unsafe {
        let scale = *scale.read();
        let sum: f64 = (*weights).weights.iter().sum();
        out.write(owned(weights.read(), &scale));
        let seed = d_out.replace(0.0);
        *(*d_weights).bias += seed;
        for weight in &mut (*d_weights).weights {
            *weight += f64::from(seed) * scale;
        }
        *d_scale.read() += f64::from(seed) * sum;
    }
}

/// The gradient of a value that owns memory is another one.
#[test]
fn a_gradient_that_owns_memory() {
    StandIn::new(owned_derivative as *const ()).of("owned", Mode::Reverse);
    let mut d_scale = 1.0;
    let weights = Owned { weights: vec![1.0, 2.0], bias: Box::new(0.5) };
    let (gradient, value) = d_owned(weights, &10.0, &mut d_scale);
    assert_eq!(value, 30.5);
    assert_eq!((gradient, d_scale), (Owned { weights: vec![10.0, 10.0], bias: Box::new(1.0) }, 4.0));
}

#[autodiff(d_parted, Reverse, Active, Const)]
fn parted(x: Owned) -> Owned {
    assert!(x.weights.len() < 3, "too long");
    x
}

unsafe extern "C-unwind" fn parted_derivative(_: *mut Tape, x: *mut Owned, _: *mut Owned, out: *mut Owned) {
    // SAFETY: as of a derivative.
    unsafe { out.write(parted(x.read())) }
}

/// A result that nobody sees is dropped, and gradients are where the function panics.
#[test]
fn results_that_own_memory() {
    StandIn::new(parted_derivative as *const ()).of("parted", Mode::Reverse);
    let value = |length| Owned { weights: vec![1.0; length], bias: Box::new(0.5) };
    let (gradient, result) = d_parted(value(2));
    assert_eq!((gradient.weights, *gradient.bias, result), (vec![0.0, 0.0], 0.0, value(2)));
    assert_eq!(message(|| d_parted(value(3))), "too long");
}
