//! Rules for functions that take raw pointers, as those of C libraries do. What these functions do goes through
//! `black_box`, so that without their rules they could not be differentiated.

use pullback::rules::{Memory, NoTangent};
use pullback::{autodiff, frule, rrule};
use pullback_e2e::{assert_all_close, check, differentiated};
use std::hint::black_box;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// `y += a x`, of vectors of `n` elements.
///
/// # Safety
/// Both are there.
unsafe extern "C" fn axpy(n: i32, a: f64, x: *const f64, y: *mut f64) {
    for i in 0..n as usize {
        // SAFETY: asked of the caller.
        unsafe { *y.add(i) += black_box(a * *x.add(i)) }
    }
}

/// The `n` elements at a pointer.
///
/// # Safety
/// They are there.
unsafe fn slice<'a>(n: i32, x: *const f64) -> &'a [f64] {
    // SAFETY: asked of the caller.
    unsafe { std::slice::from_raw_parts(x, n as usize) }
}

#[rrule(for = axpy, abi = "C")]
fn axpy_rrule(
    n: i32,
    a: f64,
    x: *const f64,
    y: *mut f64,
) -> ((), impl Fn(*mut f64, *mut f64) -> (NoTangent, f64) + 'static) {
    // SAFETY: as the function is called.
    let kept = unsafe {
        axpy(n, a, x, y);
        slice(n, x).to_vec()
    };
    ((), move |dx: *mut f64, dy: *mut f64| {
        // SAFETY: as the function was called.
        let d_a = unsafe {
            if !dx.is_null() {
                axpy(n, a, dy, dx);
            }
            slice(n, dy).iter().zip(&kept).map(|(dy, x)| dy * x).sum()
        };
        (NoTangent, d_a)
    })
}

#[frule(for = axpy, abi = "C")]
fn axpy_frule(n: i32, _: NoTangent, a: f64, da: Option<f64>, x: *const f64, dx: *const f64, y: *mut f64, dy: *mut f64) {
    // SAFETY: as the function is called.
    unsafe {
        axpy(n, a, x, y);
        if !dx.is_null() {
            axpy(n, a, dx, dy);
        }
        if let Some(da) = da {
            axpy(n, da, x, dy);
        }
    }
}

/// A sum of products.
///
/// # Safety
/// Both vectors are there.
unsafe extern "C" fn dot(n: i32, x: *const f64, y: *const f64) -> f64 {
    // SAFETY: asked of the caller.
    unsafe { (0..n as usize).map(|i| black_box(*x.add(i) * *y.add(i))).sum() }
}

/// The pullback refers to the vectors.
#[rrule(for = dot, abi = "C")]
fn dot_rrule(n: i32, x: *const f64, y: *const f64) -> (f64, impl Fn(f64, *mut f64, *mut f64) -> NoTangent) {
    // SAFETY: as the function is called.
    let value = unsafe { dot(n, x, y) };
    (value, move |d, dx: *mut f64, dy: *mut f64| {
        for (shadow, other) in [(dx, y), (dy, x)] {
            if !shadow.is_null() {
                // SAFETY: as the function was called.
                unsafe { axpy(n, d, other, shadow) }
            }
        }
        NoTangent
    })
}

#[frule(for = dot, abi = "C")]
fn dot_frule(n: i32, _: NoTangent, x: *const f64, dx: *const f64, y: *const f64, dy: *const f64) -> (f64, f64) {
    // SAFETY: as the function is called.
    unsafe {
        let part = |tangent: *const f64, other| if tangent.is_null() { 0.0 } else { dot(n, tangent, other) };
        (dot(n, x, y), part(dx, y) + part(dy, x))
    }
}

/// A sum of products, each with its number.
///
/// # Safety
/// Both vectors are there.
unsafe extern "C" fn weighted_dot(n: i32, x: *const f64, y: *const f64) -> f64 {
    // SAFETY: asked of the caller.
    unsafe { (0..n as usize).map(|i| black_box(i as f64 * *x.add(i) * *y.add(i))).sum() }
}

/// The pullback refers to the vectors if they stay as they are.
#[rrule(for = weighted_dot, abi = "C")]
fn weighted_dot_rrule(
    memory: Memory,
    n: i32,
    x: *const f64,
    y: *const f64,
) -> (f64, impl Fn(f64, *mut f64, *mut f64) -> NoTangent) {
    // SAFETY: as the function is called.
    let (value, x, y) = unsafe { (weighted_dot(n, x, y), memory.keep(slice(n, x)), memory.keep(slice(n, y))) };
    COPIES.fetch_add(usize::from(!memory.stays()), Relaxed);
    (value, move |d, dx: *mut f64, dy: *mut f64| {
        for (shadow, other) in [(dx, &y), (dy, &x)] {
            if !shadow.is_null() {
                // SAFETY: shadows are as long as the vectors.
                (0..n as usize).for_each(|i| unsafe { *shadow.add(i) += d * i as f64 * other[i] });
            }
        }
        NoTangent
    })
}

#[frule(for = weighted_dot, abi = "C")]
fn weighted_dot_frule(
    n: i32,
    _: NoTangent,
    x: *const f64,
    dx: *const f64,
    y: *const f64,
    dy: *const f64,
) -> (f64, f64) {
    // SAFETY: as the function is called.
    unsafe {
        let part = |tangent: *const f64, other| if tangent.is_null() { 0.0 } else { weighted_dot(n, tangent, other) };
        (weighted_dot(n, x, y), part(dx, y) + part(dy, x))
    }
}

fn weighted(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    // SAFETY: they are as long as they say.
    unsafe { weighted_dot(x.len() as i32, x.as_ptr(), y.as_ptr()) }
}

/// How often a rule has copied its arguments.
static COPIES: AtomicUsize = AtomicUsize::new(0);

fn add_to(y: &mut [f64], a: f64, x: &[f64]) {
    assert_eq!(x.len(), y.len());
    // SAFETY: they are as long as they say.
    unsafe { axpy(x.len() as i32, a, x.as_ptr(), y.as_mut_ptr()) }
}

fn product(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    // SAFETY: they are as long as they say.
    unsafe { dot(x.len() as i32, x.as_ptr(), y.as_ptr()) }
}

differentiated! {
    fn arguments(x) {
        product(&x[..2], &x[2..])
    } at [1.0, 2.0, 3.0, 5.0], [-0.5, 0.25, 3.0, 0.0];

    fn one_vector_twice(x) {
        product(x, x)
    } at [1.0, -2.0, 3.0];

    fn memory_of_its_own(x) {
        let mut y = vec![1.0; x.len()];
        add_to(&mut y, x[0], x);
        add_to(&mut y, 2.0, x);
        y.iter().map(|y| y * y).sum()
    } at [1.0, -2.0, 3.0];

    fn in_a_loop(x) {
        let mut y = x.to_vec();
        for i in 0..4 {
            let doubled: Vec<f64> = y.iter().map(|y| y.sin()).collect();
            add_to(&mut y, 0.5 * x[i % 2], &doubled);
        }
        product(&y, x)
    } at [0.5, -1.0, 0.25];

    fn constant_vectors(x) {
        let weights = [0.5, 2.0, -1.0];
        let mut y = [0.0; 3];
        add_to(&mut y, 3.0, &weights);
        add_to(&mut y, x[1], &weights);
        product(&y, &weights) * x[0]
    } at [0.5, -1.0, 0.25];
}

#[autodiff(d_staying, Reverse, Duplicated, Active)]
#[autodiff(f_staying, Forward, Dual, Dual)]
fn staying(x: &[f64]) -> f64 {
    let doubled: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
    let mut other = vec![1.0; x.len()];
    let mut sum = 0.0;
    for i in 0..x.len() {
        sum += weighted(&doubled[i..], &x[..x.len() - i]);
        // What this writes is something else.
        add_to(&mut other, sum, x);
    }
    other.iter().sum()
}

#[autodiff(d_changing, Reverse, Duplicated, Active)]
#[autodiff(f_changing, Forward, Dual, Dual)]
fn changing(x: &[f64]) -> f64 {
    let mut y = x.to_vec();
    let mut sum = 0.0;
    for i in 0..3 {
        sum += weighted(&y, x);
        add_to(&mut y, sum, &x[..x.len()]);
        y[i] *= y[i];
    }
    sum
}

/// A pullback refers to memory that stays as it is, and has a copy of what does not.
#[test]
fn copies_are_made_where_they_must() {
    let x = [0.5, -1.0, 0.25];
    check(staying, d_staying, f_staying, &x);
    assert_eq!(COPIES.load(Relaxed), 0);
    check(changing, d_changing, f_changing, &x);
    // Three sweeps, three calls each.
    assert_eq!(COPIES.load(Relaxed), 9);
}

#[autodiff(d_wide, Reverse(2), Duplicated, Active, Active)]
fn wide(x: &[f64], a: f64) -> f64 {
    let mut y = x.to_vec();
    add_to(&mut y, a, x);
    product(&y, x)
}

#[test]
fn a_batch() {
    let mut shadows = [[0.0; 2]; 2];
    let [first, second] = &mut shadows;
    let (da, value) = d_wide(&[1.0, 2.0], [first, second], 0.5, [1.0, 10.0]);
    assert_eq!((value, da), (7.5, [5.0, 50.0]));
    assert_all_close(&shadows[0], &[3.0, 6.0], 1e-15);
    assert_all_close(&shadows[1], &[30.0, 60.0], 1e-15);
}
