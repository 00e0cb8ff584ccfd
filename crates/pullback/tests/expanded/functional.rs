//! `grad`, `jvp`, `value_and_grad` and `vjp`.

use super::stand_ins::{StandIn, asked, message};
use pullback::abi::Mode;
use pullback::rt::{
    __pullback_set_repeatable, __pullback_shadow_alloc, __pullback_tape_pop, __pullback_tape_push, Tape,
};
use pullback::{Differentiable, grad, jvp, value_and_grad, vjp};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn sum_of_squares(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

unsafe extern "C-unwind" fn sum_tangent(
    _: *const (),
    x: *const &[f64],
    dx: *const &[f64],
    out: *mut f64,
    d_out: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(sum_of_squares(x.read()));
        d_out.write(x.read().iter().zip(dx.read()).map(|(x, dx)| 2.0 * x * dx).sum());
    }
}

unsafe extern "C-unwind" fn sum_gradient(
    _: *mut Tape,
    _: *const (),
    x: *const &[f64],
    dx: *mut *mut [f64],
    out: *mut f64,
    d_out: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(sum_of_squares(x.read()));
        for (index, x) in x.read().iter().enumerate() {
            *dx.read().cast::<f64>().add(index) += 2.0 * x * d_out.read();
        }
        d_out.write(0.0);
    }
}

#[test]
fn a_slice() {
    StandIn::new(sum_tangent as *const ()).of("a closure", Mode::Forward);
    StandIn::new(sum_gradient as *const ()).of("a closure", Mode::Reverse);
    let x = &[3.0, 5.0][..];
    assert_eq!(jvp(sum_of_squares, x, &[1.0, 10.0][..]), (34.0, 106.0));
    assert_eq!(value_and_grad(sum_of_squares, x), (34.0, vec![6.0, 10.0]));
    assert_eq!(grad(sum_of_squares, x), [6.0, 10.0]);
    let said = message(|| jvp(sum_of_squares, x, &[1.0][..]));
    assert!(said.contains("its shadow has length 1"), "{said}");
    assert_eq!(asked(), 3);
}

#[derive(Clone, PartialEq, Debug, Differentiable)]
struct Model {
    weights: Vec<f64>,
    bias: Box<Option<f64>>,
}

#[derive(Clone, PartialEq, Debug, Differentiable)]
struct Outcome {
    name: String,
    values: Vec<f64>,
    rest: Option<f64>,
}

thread_local! {
    static FAILS: Cell<bool> = const { Cell::new(false) };
}

fn outcome(x: &Model) -> Outcome {
    let values = x.weights.iter().map(|x| x * x).collect();
    Outcome { name: "outcome".to_owned(), values, rest: *x.bias }
}

/// What the forward sweep leaves for the reverse sweep.
struct Kept {
    x: *const Model,
    dx: *mut Model,
    values: *mut f64,
    rest: *mut Option<f64>,
}

unsafe fn forward_sweep(
    tape: *mut Tape,
    again: i64,
    x: *const Model,
    dx: *mut Model,
    out: *mut Outcome,
    d_out: *mut Outcome,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(outcome(&*x));
        __pullback_set_repeatable(tape, again);
        // The shadow of the result's vector, whose floats are the tape's, with lengths that nobody looks at.
        let values = __pullback_shadow_alloc(tape, 8 * (*out).values.capacity() as i64, 8).cast::<f64>();
        let fields = pullback::layout_of::<Vec<f64>>().fields.get();
        let pointer = fields.iter().find(|field| field.kind == pullback::abi::Kind::Pointer).expect("a pointer");
        (&raw mut (*d_out).values).byte_add(pointer.offset).cast::<*mut f64>().write(values);
        let kept = __pullback_tape_push(tape, size_of::<Kept>() as i64).cast::<Kept>();
        kept.write(Kept { x, dx, values, rest: &raw mut (*d_out).rest });
    }
}

unsafe extern "C-unwind" fn outcome_forward(
    tape: *mut Tape,
    _: *const (),
    x: *const *const Model,
    dx: *const *mut Model,
    out: *mut Outcome,
    d_out: *mut Outcome,
) {
    // SAFETY: as of a derivative.
    unsafe { forward_sweep(tape, 3, x.read(), dx.read(), out, d_out) }
}

unsafe extern "C-unwind" fn outcome_forward_once(
    tape: *mut Tape,
    _: *const (),
    x: *const *const Model,
    dx: *const *mut Model,
    out: *mut Outcome,
    d_out: *mut Outcome,
) {
    // SAFETY: as of a derivative.
    unsafe { forward_sweep(tape, 2, x.read(), dx.read(), out, d_out) }
}

unsafe extern "C-unwind" fn outcome_reverse(tape: *mut Tape) {
    // SAFETY: as of a derivative.
    unsafe {
        let Kept { x, dx, values, rest } = __pullback_tape_pop(tape, size_of::<Kept>() as i64).cast::<Kept>().read();
        let weights = (*dx).weights.as_mut_ptr();
        for (index, weight) in (*x).weights.iter().enumerate() {
            *weights.add(index) += 2.0 * weight * values.add(index).replace(0.0);
        }
        assert!(!FAILS.get(), "a rule fails");
        if (*x).bias.is_some() {
            let option = Some(1.0);
            let Some(value) = &option else { unreachable!() };
            let offset = (&raw const *value).addr() - (&raw const option).addr();
            let bias = (&raw mut (*dx).bias).cast::<*mut Option<f64>>().read();
            *bias.byte_add(offset).cast::<f64>() += rest.byte_add(offset).cast::<f64>().replace(0.0);
        }
    }
}

#[test]
fn pullbacks() {
    let model = |of, bias| Model { weights: vec![of, 2.0 * of], bias: Box::new(bias) };
    let seed = |of, rest| Outcome { name: "seed".to_owned(), values: vec![of, 10.0 * of], rest };
    for forward in [outcome_forward as *const (), outcome_forward_once as *const ()] {
        for bias in [Some(4.0), None] {
            StandIn::new(forward).then(outcome_reverse as *const ()).of("a closure", Mode::Reverse);
            let x = model(3.0, bias);
            let (y, pullback) = vjp(outcome, &x);
            assert_eq!(y, outcome(&x));
            drop(y);
            let gradient = |of: f64| Model { weights: vec![6.0 * of, 120.0 * of], bias: Box::new(bias.map(|_| 7.0)) };
            assert_eq!(pullback(seed(1.0, bias.map(|_| 7.0))), gradient(1.0));
            assert_eq!(pullback(seed(2.0, bias.map(|_| 7.0))), gradient(2.0));
            // One that fails, and one after it.
            FAILS.set(true);
            assert_eq!(message(|| pullback(seed(1.0, bias))), "a rule fails");
            FAILS.set(false);
            assert_eq!(pullback(seed(1.0, bias.map(|_| 7.0))), gradient(1.0));
            assert!(catch_unwind(AssertUnwindSafe(|| pullback(seed(1.0, Some(1.0))))).is_err() == bias.is_none());
            // One that is never called.
            drop(vjp(outcome, &x));
        }
    }
}

unsafe extern "C-unwind" fn outcome_tangent(
    _: *const (),
    x: *const &Model,
    dx: *const &Model,
    out: *mut Outcome,
    d_out: *mut Outcome,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(outcome(x.read()));
        assert!(!FAILS.get(), "a rule fails");
        // The string is nothing yet.
        d_out.write_bytes(0, 1);
        let values = x.read().weights.iter().zip(&dx.read().weights).map(|(x, dx)| 2.0 * x * dx);
        (&raw mut (*d_out).values).write(values.collect());
        (&raw mut (*d_out).rest).write(*dx.read().bias);
    }
}

#[test]
fn a_tangent_with_a_string() {
    StandIn::new(outcome_tangent as *const ()).of("a closure", Mode::Forward);
    let model = |of, bias| Model { weights: vec![of, 2.0 * of], bias: Box::new(bias) };
    let (y, dy) = jvp(outcome, &model(3.0, Some(4.0)), &model(10.0, Some(5.0)));
    assert_eq!(y, outcome(&model(3.0, Some(4.0))));
    assert_eq!(dy, Outcome { name: "outcome".to_owned(), values: vec![60.0, 240.0], rest: Some(5.0) });
}
