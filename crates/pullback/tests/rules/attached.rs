//! Rules that functions name themselves, functions without derivatives, and rules from partial derivatives. What the
//! driver makes of them is tested with the driver; here, that the functions are what they were, and that the record of
//! each instance is right.

use super::by_hand::{Call, Place, forward};
use pullback::rules::NoTangent;
use pullback::{
    frule, has_frule, has_rrule, non_differentiable, non_differentiable_fn, opt_out_fn, rrule, scalar_rule,
};
use std::mem::{ManuallyDrop, MaybeUninit};

/// `f` of each element, where `f` is `f(x) = scale(x) · x` with a scale that does not depend on `x`.
#[has_rrule(map_rrule)]
#[has_frule(map_frule)]
fn map<F: Fn(f64) -> f64>(f: &F, x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| f(x)).collect()
}

#[rrule(generic)]
fn map_rrule<F: Fn(f64) -> f64>(f: &F, x: &[f64]) -> (Vec<f64>, impl Fn(&[f64], NoTangent, &mut [f64]) + use<F>) {
    let scales: Vec<f64> = x.iter().map(|&x| f(x) / x).collect();
    (map(f, x), move |dy, _: NoTangent, dx| {
        for ((dx, dy), scale) in dx.iter_mut().zip(dy).zip(&scales) {
            *dx += dy * scale;
        }
    })
}

#[frule(generic)]
fn map_frule<F: Fn(f64) -> f64>(f: &F, _: NoTangent, x: &[f64], dx: &[f64]) -> (Vec<f64>, Vec<f64>) {
    (map(f, x), x.iter().zip(dx).map(|(&x, dx)| f(x) / x * dx).collect())
}

/// The record of the instance for a closure's type.
fn records<F: Fn(f64) -> f64>(_: &F) -> [&'static pullback::abi::Rule; 2] {
    [map_rrule::record::<F>(), map_frule::record::<F>()]
}

#[test]
fn a_rule_that_is_generic_over_closures() {
    let scale = 3.0;
    let f = |x: f64| x * scale;
    let [reverse, tangent] = records(&f);
    assert_eq!(map(&f, &[1.0, 2.0]), [3.0, 6.0]);
    let (x, mut dx) = ([1.0, 2.0], [0.0; 2]);
    let (mut f_ref, mut x_ref, mut dx_ref) = (&f, &x[..], &mut dx[..]);
    let (mut out, mut d_out) = (ManuallyDrop::new(Vec::<f64>::new()), MaybeUninit::<Vec<f64>>::uninit());
    let places = [
        Place::constant(&raw mut f_ref),
        Place::new(&raw mut x_ref, &raw mut dx_ref),
        Place::new(&raw mut *out, &raw mut d_out),
    ];
    // SAFETY: the places of the arguments and of the result.
    unsafe {
        let mut call = Call::forward_sweep(reverse, &places);
        (*d_out.as_mut_ptr()).copy_from_slice(&[10.0, 100.0]);
        call.reverse_sweep(&places);
        assert_eq!(ManuallyDrop::take(&mut out), [3.0, 6.0]);
    }
    assert_eq!(dx, [30.0, 300.0]);

    let (mut tangents, mut d_out) = ([1.0, 10.0], ManuallyDrop::new(Vec::<f64>::new()));
    let mut dx_ref = &mut tangents[..];
    let places = [
        Place::constant(&raw mut f_ref),
        Place::new(&raw mut x_ref, &raw mut dx_ref),
        Place::new(&raw mut *out, &raw mut *d_out),
    ];
    // SAFETY: the places of the arguments and of the result.
    unsafe {
        forward(tangent, &places);
        assert_eq!(ManuallyDrop::take(&mut out), [3.0, 6.0]);
        assert_eq!(ManuallyDrop::take(&mut d_out), [3.0, 30.0]);
    }
}

/// Patterns, `mut`, names of its own that could be ours, and early returns stay what they are.
#[has_rrule(odd_rrule)]
#[must_use]
fn odd<const N: usize, T>((a, b): (f64, f64), mut plain: f64, _unused: [T; N]) -> f64
where
    T: Copy,
{
    plain += N as f64;
    if a > b {
        return plain;
    }
    a * b * plain
}

#[rrule(generic)]
fn odd_rrule<const N: usize, T: Copy>(
    ab: (f64, f64),
    plain: f64,
    unused: [T; N],
) -> (f64, impl Fn(f64) -> ((f64, f64), f64, NoTangent) + use<N, T>) {
    (odd(ab, plain, unused), move |dy| ((dy * ab.1, dy * ab.0), dy, NoTangent))
}

#[test]
fn a_function_with_a_rule_is_what_it_was() {
    assert_eq!(odd((1.0, 2.0), 1.0, [0u8; 3]), 8.0);
    assert_eq!(odd((2.0, 1.0), 1.0, [0u8; 3]), 4.0);
    assert_eq!(odd_rrule::record::<3, u8>().args.get().len(), 4);
}

#[non_differentiable]
fn steps(x: f64) -> f64 {
    x.floor()
}

#[non_differentiable]
fn count<T: PartialOrd + Default>(x: &[T]) -> usize {
    x.iter().filter(|&x| *x > T::default()).count()
}

non_differentiable_fn!(f64::round, <f64 as Default>::default, Vec::<f64>::with_capacity);

opt_out_fn!(steps, f64::to_radians);

#[test]
fn a_function_without_derivative_is_what_it_was() {
    assert_eq!((steps(2.5), count(&[1.0, -1.0])), (2.0, 1));
}

scalar_rule!(f64::hypot(x, y) => r; d/dx = x / r, d/dy = y / r);
scalar_rule!(f32::powi(x: f32, n: i32) => _r; d/dx = n as f32 * x.powi(n - 1));
scalar_rule!(steps(x) => y; d/dx = 0.0);

unsafe extern "C" {
    fn expm1(x: f64) -> f64;
}

scalar_rule!(extern "C" expm1(x) => y; d/dx = y + 1.0);

struct Meter(f64);

impl Meter {
    #[has_rrule(steps_of_rrule)]
    fn steps_of<F: Fn(f64) -> f64>(&self, step: F) -> f64 {
        self.0 / step(1.0)
    }
}

#[rrule(generic)]
fn steps_of_rrule<F: Fn(f64) -> f64>(this: &Meter, step: F) -> (f64, impl Fn(f64, NoTangent) -> NoTangent + use<F>) {
    (this.steps_of(step), |_, _: NoTangent| NoTangent)
}

#[test]
fn a_method_is_what_it_was() {
    assert_eq!(Meter(3.0).steps_of(|x| x / 2.0), 6.0);
    assert_eq!(steps_of_rrule(&Meter(3.0), |x| x).0, 3.0);
}
