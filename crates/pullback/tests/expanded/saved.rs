//! Shadows of memory that a function moves or makes larger: they are saved, brought to where the cotangents belong
//! between the sweeps, and put back where something panics.

use super::stand_ins::{StandIn, message};
use pullback::abi::{Kind, Mode};
use pullback::rt::{__pullback_adjoint_copy, __pullback_shadow_alloc, Tape};
use pullback::{Differentiable, autodiff, layout_of};
use std::cell::RefCell;
use std::ptr::swap;

// A tape is behind a pointer, whatever it looks like.
#[expect(improper_ctypes)]
unsafe extern "C-unwind" {
    fn __pullback_save_shadows(tape: *mut Tape, keep: i64);
    fn __pullback_settle_shadows(tape: *mut Tape, nested: i64);
    fn __pullback_set_sums_aside(tape: *mut Tape, nested: i64);
}

/// The word of a vector that is its pointer.
///
/// # Safety: `vector` is the place of one.
unsafe fn pointer_of(vector: *mut Vec<f64>) -> *mut *mut f64 {
    let fields = layout_of::<Vec<f64>>().fields.get();
    let field = fields.iter().find(|field| field.kind == Kind::Pointer).expect("a vector has a pointer");
    // SAFETY: asked of the caller.
    unsafe { vector.byte_add(field.offset).cast() }
}

#[autodiff(d_grow, Reverse, Duplicated, Active)]
fn grow(v: &mut Vec<f64>, x: f64) {
    v.push(x * x);
    v[0] *= 3.0;
    assert!(x < 10.0, "too large");
}

/// The shadow of the memory that the vector grows into is the tape's.
unsafe extern "C-unwind" fn grow_derivative(
    tape: *mut Tape,
    v: *mut *mut Vec<f64>,
    dv: *mut *mut Vec<f64>,
    x: *const f64,
    dx: *mut f64,
    _: *mut (),
) {
    // SAFETY: as of a derivative.
    unsafe {
        __pullback_save_shadows(tape, 1);
        let (vector, shadow) = (&mut *v.read(), pointer_of(dv.read()));
        let before = (vector.len(), vector.as_ptr());
        let old = shadow.read();
        let mut new = old;
        let x = x.read();
        vector.push(x * x);
        if vector.as_ptr() != before.1 {
            new = __pullback_shadow_alloc(tape, 8 * vector.capacity() as i64, 8).cast();
            shadow.write(new);
        }
        vector[0] *= 3.0;
        assert!(x < 10.0, "too large");
        __pullback_settle_shadows(tape, 0);
        *new *= 3.0;
        *dx += 2.0 * x * new.add(before.0).replace(0.0);
        if new != old {
            __pullback_adjoint_copy(old.cast(), new.cast(), 0, 8, 0, 8);
            for index in 0..before.0 {
                *old.add(index) += new.add(index).replace(0.0);
            }
            shadow.write(old);
        }
        __pullback_save_shadows(tape, 0);
    }
}

#[test]
fn a_vector_that_grows() {
    StandIn::new(grow_derivative as *const ()).saving().of("grow", Mode::Reverse);
    for spare in [0, 4] {
        let roomy = |values: [f64; 2]| {
            let mut vector = Vec::with_capacity(2 + spare);
            vector.extend(values);
            vector
        };
        let (mut v, mut dv) = (roomy([1.0, 2.0]), roomy([10.0, 100.0]));
        assert_eq!(d_grow(&mut v, &mut dv, 5.0), 0.0);
        assert_eq!((v, dv), (vec![3.0, 2.0, 25.0], vec![30.0, 100.0]));

        let (mut v, mut dv) = (roomy([1.0, 2.0]), roomy([10.0, 100.0]));
        assert_eq!(message(|| d_grow(&mut v, &mut dv, 50.0)), "too large");
        assert_eq!((v, dv), (vec![3.0, 2.0, 2500.0], vec![10.0, 100.0]));
    }
}

#[derive(PartialEq, Debug, Differentiable)]
struct Buffers<'a> {
    now: Vec<f64>,
    next: Vec<f64>,
    rates: &'a mut [f64],
    other: &'a mut Vec<f64>,
}

#[autodiff(d_exchange, Reverse, Duplicated, Const)]
fn exchange(s: &mut Buffers<'_>, fails: bool) {
    std::mem::swap(&mut s.now, &mut s.next);
    std::mem::swap(&mut s.next, s.other);
    s.rates[0] *= 2.0;
    assert!(!fails, "it fails");
}

unsafe extern "C-unwind" fn exchange_derivative(
    tape: *mut Tape,
    s: *const *mut Buffers<'_>,
    ds: *const *mut Buffers<'_>,
    fails: *const bool,
    _: *mut (),
) {
    // SAFETY: as of a derivative.
    unsafe {
        __pullback_save_shadows(tape, 1);
        let shadow = ds.read();
        let other = (&raw mut (*shadow).other).cast::<*mut Vec<f64>>().read();
        swap(&raw mut (*shadow).now, &raw mut (*shadow).next);
        swap(&raw mut (*shadow).next, other);
        exchange(&mut *s.read(), fails.read());
        __pullback_settle_shadows(tape, 0);
        *(&raw mut (*shadow).rates).cast::<*mut f64>().read() *= 2.0;
        swap(&raw mut (*shadow).next, other);
        swap(&raw mut (*shadow).now, &raw mut (*shadow).next);
        __pullback_save_shadows(tape, 0);
    }
}

#[test]
fn buffers_that_are_exchanged() {
    StandIn::new(exchange_derivative as *const ()).saving().of("exchange", Mode::Reverse);
    for fails in [false, true] {
        let (mut rates, mut d_rates) = ([1.0, 2.0], [3.0, 4.0]);
        let (mut other, mut d_other) = (vec![5.0; 3], vec![1.0, 2.0, 3.0]);
        let mut s = Buffers { now: vec![1.0], next: vec![2.0, 3.0], rates: &mut rates, other: &mut other };
        let mut ds = Buffers { now: vec![7.0], next: vec![8.0, 9.0], rates: &mut d_rates, other: &mut d_other };
        if fails {
            assert_eq!(message(|| d_exchange(&mut s, &mut ds, true)), "it fails");
            assert_eq!((&ds.now[..], &ds.next[..], &ds.other[..]), (&[7.0][..], &[8.0, 9.0][..], &[1.0, 2.0, 3.0][..]));
            assert_eq!(ds.rates, [3.0, 4.0]);
        } else {
            d_exchange(&mut s, &mut ds, false);
            // `now` is what was `next`, which is what was `other`, which is what was `now`. The cotangents of elements
            // of `other` that are not there any more stay.
            assert_eq!(
                (&ds.now[..], &ds.next[..], &ds.other[..]),
                (&[1.0][..], &[7.0, 0.0][..], &[8.0, 11.0, 3.0][..])
            );
            assert_eq!(ds.rates, [6.0, 4.0]);
        }
        assert_eq!((&s.now[..], &s.next[..], &s.other[..]), (&[2.0, 3.0][..], &[5.0; 3][..], &[1.0][..]));
    }
}

#[autodiff(d_consume, Reverse, Duplicated, Active)]
fn consume(mut v: Vec<f64>) -> f64 {
    v[0] *= 2.0;
    assert!(v.len() < 3, "too long");
    v.iter().sum()
}

/// What is moved into the function has sums in its shadow, and no cotangents.
unsafe extern "C-unwind" fn consume_derivative(
    tape: *mut Tape,
    v: *mut Vec<f64>,
    dv: *mut Vec<f64>,
    out: *mut f64,
    d_out: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe {
        __pullback_save_shadows(tape, 1);
        __pullback_set_sums_aside(tape, 0);
        let length = (*v).len();
        let shadow = pointer_of(dv).read();
        assert_eq!(shadow.read(), 0.0);
        out.write(consume(v.read()));
        for index in 0..length {
            *shadow.add(index) += d_out.read();
        }
        d_out.write(0.0);
        *shadow *= 2.0;
        __pullback_save_shadows(tape, 0);
    }
}

#[test]
fn sums_that_are_set_aside() {
    StandIn::new(consume_derivative as *const ()).saving().of("consume", Mode::Reverse);
    let mut dv = vec![10.0, 20.0];
    assert_eq!(d_consume(vec![1.0, 2.0], &mut dv), 4.0);
    assert_eq!(dv, [12.0, 21.0]);
    let mut dv = vec![10.0, 20.0, 30.0];
    assert_eq!(message(|| d_consume(vec![1.0, 2.0, 3.0], &mut dv)), "too long");
    assert_eq!(dv, [10.0, 20.0, 30.0]);
}

#[autodiff(d_squares, Reverse, Active, Duplicated)]
fn squares(x: f64) -> Vec<f64> {
    vec![x, x * x]
}

/// The shadow of a result is the tape's, and has a cotangent when there is a result.
unsafe extern "C-unwind" fn squares_derivative(
    tape: *mut Tape,
    x: *const f64,
    dx: *mut f64,
    out: *mut Vec<f64>,
    d_out: *mut Vec<f64>,
) {
    // SAFETY: as of a derivative.
    unsafe {
        let x = x.read();
        out.write(vec![x, x * x]);
        let shadow = __pullback_shadow_alloc(tape, 16, 8).cast::<f64>();
        pointer_of(d_out).write(shadow);
        __pullback_settle_shadows(tape, 0);
        *dx += shadow.replace(0.0) + 2.0 * x * shadow.add(1).replace(0.0);
    }
}

#[test]
fn a_result_that_owns_memory() {
    StandIn::new(squares_derivative as *const ()).of("squares", Mode::Reverse);
    assert_eq!(d_squares(3.0, vec![1.0, 10.0]), (61.0, vec![3.0, 9.0]));
    assert!(message(|| d_squares(3.0, vec![1.0])).contains("another shape than the value"));
}

#[autodiff(d_replaced, Reverse, Duplicated, Active)]
fn replaced(x: &RefCell<Vec<f64>>) -> f64 {
    let old = x.replace(vec![1.0]);
    assert!(old[0] < 10.0, "too large");
    old[0] * old[0]
}

/// The shadow of the vector that is put there is the tape's.
unsafe extern "C-unwind" fn replaced_derivative(
    tape: *mut Tape,
    x: *const &RefCell<Vec<f64>>,
    dx: *mut *mut RefCell<Vec<f64>>,
    out: *mut f64,
    d_out: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe {
        __pullback_save_shadows(tape, 1);
        let shadow = pointer_of((*dx.read()).as_ptr());
        let before = shadow.read();
        let old = (*x.read()).replace(vec![1.0]);
        shadow.write(__pullback_shadow_alloc(tape, 8, 8).cast());
        assert!(old[0] < 10.0, "too large");
        out.write(old[0] * old[0]);
        __pullback_settle_shadows(tape, 0);
        shadow.write(before);
        *before += 2.0 * old[0] * d_out.replace(0.0);
        __pullback_save_shadows(tape, 0);
    }
}

#[test]
fn a_vector_in_a_cell_that_is_replaced() {
    let stand_in = StandIn::new(replaced_derivative as *const ()).saving();
    stand_in.of("replaced", Mode::Reverse);
    let (x, mut dx) = (RefCell::new(vec![3.0, 4.0]), RefCell::new(vec![1.0, 0.0]));
    assert_eq!(d_replaced(&x, &mut dx), 9.0);
    // The cotangent is that of what is there now, which is a constant.
    assert_eq!((x.take(), dx.take()), (vec![1.0], vec![6.0, 0.0]));
    let (x, mut dx) = (RefCell::new(vec![30.0, 4.0]), RefCell::new(vec![1.0, 2.0]));
    assert_eq!(message(|| d_replaced(&x, &mut dx)), "too large");
    assert_eq!((x.take(), dx.take()), (vec![1.0], vec![1.0, 2.0]));
    stand_in.yielding().of("replaced", Mode::Reverse);
    assert!(message(|| d_replaced(&x, &mut dx)).contains("which others could change while the function runs"));
}
