//! Rules for reverse mode.

use super::by_hand::{Call, Place, assert_close, difference, primal, reverse};
use pullback::abi::{Activity, Rule};
use pullback::rules::{NoTangent, Thunk, ZeroTangent};
use pullback::{Differentiable, rrule};
use std::cell::Cell;

fn fast_inv_sqrt(x: f32) -> f32 {
    let y = f32::from_bits(0x5f37_59df - (x.to_bits() >> 1));
    y * (1.5 - 0.5 * x * y * y)
}

#[rrule(for = fast_inv_sqrt)]
fn fast_inv_sqrt_rrule(x: f32) -> (f32, impl FnOnce(f32) -> f32) {
    let y = fast_inv_sqrt(x);
    (y, move |dy| dy * -0.5 * y / x)
}

#[test]
fn a_scalar() {
    let rule = fast_inv_sqrt_rrule::record();
    assert_eq!((rule.name.get(), rule.flags), ("fast_inv_sqrt_rrule", 0));
    assert_eq!((rule.closure.size, rule.closure.align, rule.viewed.size), (8, 4, 0));
    assert_eq!(rule.args.get().iter().map(|arg| arg.name.get()).collect::<Vec<_>>(), ["x", "return"]);
    let (mut x, mut dx, mut y, mut dy) = (4.0_f32, 1.0_f32, f32::NAN, 2.0_f32);
    let places = [Place::new(&raw mut x, &raw mut dx), Place::new(&raw mut y, &raw mut dy)];
    // SAFETY: the places of `x` and of the result.
    unsafe { primal(rule, &places) };
    assert_eq!((y, dx, dy), (fast_inv_sqrt(4.0), 1.0, 2.0));
    // SAFETY: likewise. What is written is written beside these places, and not over them.
    unsafe {
        (&raw mut y).write(f32::NAN);
        reverse(rule, &places);
    }
    assert_eq!(y, fast_inv_sqrt(4.0));
    assert_eq!(dx, 1.0 + 2.0 * -0.5 * y / 4.0, "the cotangent is added");
    assert_eq!(dy, 0.0, "and taken out of the result's shadow");
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

#[rrule(for = dot)]
fn dot_rrule<'a>(x: &'a [f64], y: &'a [f64]) -> (f64, impl FnOnce(f64, &mut [f64], &mut [f64]) + 'a) {
    (dot(x, y), move |dz, dx, dy| {
        for i in 0..x.len() {
            dx[i] += dz * y[i];
            dy[i] += dz * x[i];
        }
    })
}

#[test]
fn slices() {
    let rule = dot_rrule::record();
    assert_eq!(rule.flags, Rule::BORROWS);
    assert_eq!((rule.closure.size, rule.viewed.size, rule.viewed.align), (32, 32, 8));
    let (x, y) = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]);
    let (mut dx, mut dy) = ([0.5; 3], [0.0; 3]);
    let (mut z, mut dz) = (0.0, 10.0);
    let (mut x_ref, mut y_ref) = (&x[..], &y[..]);
    // The lengths of shadows are not looked at.
    let (mut dx_ref, mut dy_ref) = (&mut dx[..], std::ptr::slice_from_raw_parts_mut(dy.as_mut_ptr(), 0));
    let places = [
        Place::new(&raw mut x_ref, &raw mut dx_ref),
        Place::new(&raw mut y_ref, &raw mut dy_ref),
        Place::new(&raw mut z, &raw mut dz),
    ];
    // SAFETY: the places of `x`, `y` and of the result.
    unsafe { reverse(rule, &places) };
    assert_eq!((z, dz), (32.0, 0.0));
    assert_eq!((dx, dy), ([40.5, 50.5, 60.5], [10.0, 20.0, 30.0]));
}

/// `dot(x, x)`: both shadows are one, and neither `&mut` may be the other.
#[test]
fn one_shadow_for_two_arguments() {
    let x = [1.0, 2.0, 3.0];
    let (mut dx, mut z, mut dz) = ([0.5; 3], 0.0, 1.0);
    let (mut x_ref, mut dx_ref) = (&x[..], &mut dx[..]);
    let place = Place::new(&raw mut x_ref, &raw mut dx_ref);
    // SAFETY: the places of `x`, `y` and of the result.
    unsafe { reverse(dot_rrule::record(), &[place, place, Place::new(&raw mut z, &raw mut dz)]) };
    assert_eq!((z, dx), (14.0, [2.5, 4.5, 6.5]));
    // Shadows that overlap in part.
    let (mut dx, mut dz) = ([0.0; 4], 1.0);
    let start = (&raw mut dx).cast::<f64>();
    let (first, second) = (&mut start.cast::<[f64; 3]>(), &mut start.wrapping_add(1).cast::<[f64; 3]>());
    let shadows = [&mut (*first as *mut [f64]), &mut (*second as *mut [f64])];
    let mut x_ref = &x[..];
    let [first, second] = shadows.map(|shadow| Place::new(&raw mut x_ref, shadow));
    // SAFETY: the places of `x`, `y` and of the result.
    unsafe { reverse(dot_rrule::record(), &[first, second, Place::new(&raw mut z, &raw mut dz)]) };
    assert_eq!(dx, [1.0, 3.0, 5.0, 3.0]);
}

#[test]
fn a_shadow_that_nobody_asks_for() {
    let (x, y) = ([1.0, 2.0], [3.0, 4.0]);
    let (mut dy, mut z, mut dz) = ([0.0; 2], 0.0, 1.0);
    let (mut x_ref, mut y_ref, mut dy_ref) = (&x[..], &y[..], &mut dy[..]);
    let places = [
        Place::constant(&raw mut x_ref),
        Place::new(&raw mut y_ref, &raw mut dy_ref),
        Place::new(&raw mut z, &raw mut dz),
    ];
    // SAFETY: the places of `x`, `y` and of the result.
    unsafe { reverse(dot_rrule::record(), &places) };
    assert_eq!((z, dy), (11.0, [1.0, 2.0]));
}

#[derive(Differentiable, Clone, Copy, PartialEq, Debug)]
struct Point {
    x: f64,
    y: f32,
}

/// By value and by reference, with and without tangents, in one signature.
fn mixed(a: f64, p: Point, q: &Point, n: i32, name: &str, r: &[f64; 2]) -> (f64, Point) {
    let scale = a.powi(n) + name.len() as f64;
    (scale * p.x * q.x + r[0] * r[1], Point { x: scale, y: p.y * q.y })
}

#[rrule(for = mixed)]
fn mixed_rrule<'a>(
    a: f64,
    p: Point,
    q: &'a Point,
    n: i32,
    name: &str,
    r: &'a [f64; 2],
) -> (
    (f64, Point),
    impl Fn((f64, Point), &mut Point, NoTangent, Option<&mut [f64; 2]>) -> (f64, Point, NoTangent) + use<'a>,
) {
    let scale = a.powi(n) + name.len() as f64;
    (mixed(a, p, q, n, name, r), move |(dv, dw), dq, _: NoTangent, dr| {
        let dscale = dv * p.x * q.x + dw.x;
        dq.x += dv * scale * p.x;
        dq.y += dw.y * p.y;
        if let Some(dr) = dr {
            dr[0] += dv * r[1];
            dr[1] += dv * r[0];
        }
        let dp = Point { x: dv * scale * q.x, y: dw.y * q.y };
        (dscale * f64::from(n) * a.powi(n - 1), dp, NoTangent)
    })
}

#[test]
fn several_arguments_and_results() {
    let rule = mixed_rrule::record();
    let activities: Vec<Activity> = rule.args.get().iter().map(|arg| arg.activity).collect();
    let (has, none) = (Activity::Duplicated, Activity::Const);
    assert_eq!(activities, [has, has, has, none, none, has, has]);

    let (mut a, mut p, q, mut n, r) = (1.5, Point { x: 2.0, y: 3.0 }, Point { x: 0.5, y: 0.25 }, 3, [4.0, 5.0]);
    let seed = (1.0, Point { x: 10.0, y: 2.0 });
    let loss = |a: f64, p: Point, q: Point, r: [f64; 2]| {
        let (v, w) = mixed(a, p, &q, n, "ab", &r);
        seed.0 * v + seed.1.x * w.x + f64::from(seed.1.y) * f64::from(w.y)
    };
    let (mut da, mut dp, mut dq, mut dr) = (0.0, Point { x: 0.0, y: 0.0 }, Point { x: 0.0, y: 0.0 }, [0.0; 2]);
    let expected_a = difference(|a| loss(a, p, q, r), a);
    let expected_p = difference(|x| loss(a, Point { x, ..p }, q, r), p.x);
    let expected_q = difference(|x| loss(a, p, Point { x, ..q }, r), q.x);
    let expected_r = difference(|r1| loss(a, p, q, [r[0], r1]), r[1]);
    {
        let (mut q_ref, mut dq_ref, mut name, mut r_ref, mut dr_ref) = (&q, &mut dq, "ab", &r, &mut dr);
        let (mut out, mut d_out) = ((0.0, Point { x: 0.0, y: 0.0 }), seed);
        let places = [
            Place::new(&raw mut a, &raw mut da),
            Place::new(&raw mut p, &raw mut dp),
            Place::new(&raw mut q_ref, &raw mut dq_ref),
            Place::constant(&raw mut n),
            Place::constant(&raw mut name),
            Place::new(&raw mut r_ref, &raw mut dr_ref),
            Place::new(&raw mut out, &raw mut d_out),
        ];
        // SAFETY: the places of the arguments and of the result.
        unsafe { reverse(rule, &places) };
        assert_eq!(out, mixed(a, p, &q, n, "ab", &r));
    }
    for (found, expected) in [(da, expected_a), (dp.x, expected_p), (dq.x, expected_q), (dr[1], expected_r)] {
        assert_close(found, expected);
    }
    assert_eq!((dp.y, dq.y), (0.5, 6.0));
}

thread_local! {
    static COMPUTED: Cell<u32> = const { Cell::new(0) };
}

fn lazy(x: f64, y: f64, z: f64) -> f64 {
    x * y + z.floor()
}

#[rrule(for = lazy)]
fn lazy_rrule(x: f64, y: f64, _z: f64) -> (f64, impl Fn(f64) -> (f64, Thunk<f64, (f64, f64)>, ZeroTangent)) {
    let dy = |(dv, x): (f64, f64)| {
        COMPUTED.set(COMPUTED.get() + 1);
        dv * x
    };
    (lazy(x, y, _z), move |dv| (dv * y, Thunk::new((dv, x), dy), ZeroTangent))
}

#[test]
fn a_thunk_is_computed_if_asked_for() {
    let (mut x, mut y, mut z, mut out) = (3.0, 5.0, 1.5, 0.0);
    let (mut dx, mut dy, mut dz) = (0.0, 0.0, 0.0);
    for asked in [false, true] {
        let mut d_out = 1.0;
        let y_place = if asked { Place::new(&raw mut y, &raw mut dy) } else { Place::constant(&raw mut y) };
        let places = [
            Place::new(&raw mut x, &raw mut dx),
            y_place,
            Place::new(&raw mut z, &raw mut dz),
            Place::new(&raw mut out, &raw mut d_out),
        ];
        // SAFETY: the places of the arguments and of the result.
        unsafe { reverse(lazy_rrule::record(), &places) };
        assert_eq!(COMPUTED.get(), u32::from(asked));
    }
    assert_eq!((dx, dy, dz), (10.0, 3.0, 0.0));
}

fn double(x: f64) -> f64 {
    2.0 * x
}

#[rrule(for = double)]
fn double_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (2.0 * x, |dy| 2.0 * dy)
}

#[test]
fn a_pullback_that_captures_nothing_costs_nothing() {
    let rule = double_rrule::record();
    assert_eq!((rule.closure.size, rule.viewed.size), (0, 0));
    let (mut x, mut dx, mut y, mut dy) = (3.0, 0.0, 0.0, 1.0);
    // SAFETY: the places of `x` and of the result.
    unsafe { reverse(rule, &[Place::new(&raw mut x, &raw mut dx), Place::new(&raw mut y, &raw mut dy)]) };
    assert_eq!((y, dx), (6.0, 2.0));
}

fn sum_of_squares(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

/// A pullback that owns memory, so that the tape owns it.
#[rrule(for = sum_of_squares)]
fn sum_of_squares_rrule(x: &[f64]) -> (f64, impl FnOnce(f64, &mut [f64]) + use<>) {
    let twice: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
    (sum_of_squares(x), move |dy, dx| {
        for (dx, twice) in dx.iter_mut().zip(twice) {
            *dx += dy * twice;
        }
    })
}

/// The same, but it can be called again.
#[rrule(for = sum_of_squares)]
fn shared_rrule(x: &[f64]) -> (f64, impl Fn(f64, &mut [f64]) + use<>) {
    let twice: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
    (sum_of_squares(x), move |dy, dx| {
        for (dx, twice) in dx.iter_mut().zip(&twice) {
            *dx += dy * twice;
        }
    })
}

/// Runs the reverse sweep of a rule for `sum_of_squares` so many times.
fn run_sum_of_squares(rule: &'static Rule, times: usize) -> [f64; 2] {
    assert_eq!(rule.closure.size, 8);
    let x = [1.0, 3.0];
    let (mut dx, mut y, mut dy) = ([0.0; 2], 0.0, 0.0);
    let (mut x_ref, mut dx_ref) = (&x[..], &mut dx[..]);
    let places = [Place::new(&raw mut x_ref, &raw mut dx_ref), Place::new(&raw mut y, &raw mut dy)];
    // SAFETY: the places of `x` and of the result.
    unsafe {
        let mut call = Call::forward_sweep(rule, &places);
        for _ in 0..times {
            (&raw mut dy).write(1.0);
            call.reverse_sweep(&places);
            assert_eq!(dy, 0.0);
        }
    }
    assert_eq!(y, 10.0);
    dx
}

#[test]
fn a_pullback_that_owns_memory_is_the_tape_s() {
    assert_eq!(sum_of_squares_rrule::record().flags, Rule::ONCE | Rule::DROPS);
    assert_eq!(shared_rrule::record().flags, Rule::DROPS);
    assert_eq!(run_sum_of_squares(sum_of_squares_rrule::record(), 0), [0.0, 0.0]);
    assert_eq!(run_sum_of_squares(sum_of_squares_rrule::record(), 1), [2.0, 6.0]);
    assert_eq!(run_sum_of_squares(shared_rrule::record(), 3), [6.0, 18.0]);
}

#[test]
fn a_pullback_that_is_used_up_says_so() {
    let rule = sum_of_squares_rrule::record();
    let panic = std::panic::catch_unwind(|| run_sum_of_squares(rule, 2)).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.starts_with("the pullback of rule `sum_of_squares_rrule` is called more than once"), "{message}");
}

trait Norm {
    fn norm(&self) -> f64;
}

impl Norm for Point {
    fn norm(&self) -> f64 {
        self.x.hypot(f64::from(self.y))
    }
}

/// For a method of a trait.
#[rrule(for = <Point as Norm>::norm)]
fn norm_rrule(this: &Point) -> (f64, impl Fn(f64, &mut Point)) {
    let norm = this.norm();
    (norm, move |dy, dx| {
        dx.x += dy * this.x / norm;
        dx.y += (dy * f64::from(this.y) / norm) as f32;
    })
}

/// For a method of another crate.
#[rrule(for = f64::sin)]
fn sin_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    let (sin, cos) = x.sin_cos();
    (sin, move |dy| dy * cos)
}

unsafe extern "C" {
    fn cbrt(x: f64) -> f64;
}

/// For a foreign function.
#[rrule(for = cbrt, abi = "C")]
fn cbrt_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    // SAFETY: a function of numbers.
    let y = unsafe { cbrt(x) };
    (y, move |dy| dy / (3.0 * y * y))
}

fn scaled<T: Copy + std::ops::Mul<Output = T>>(x: &[T], scale: T) -> T {
    x[0] * scale
}

/// For some instances of a generic function.
#[rrule(for = scaled, T = [f32, f64])]
fn scaled_rrule<T>(x: &[T], scale: T) -> (T, impl Fn(T, &mut [T]) -> T)
where
    T: Copy + std::ops::Mul<Output = T> + std::ops::AddAssign + pullback::MakeZero,
{
    (scaled(x, scale), move |dy, dx| {
        dx[0] += dy * scale;
        dy * x[0]
    })
}

struct View<'a>(&'a [f64]);

impl<'a> View<'a> {
    fn scaled<'b: 'a>(&self, other: &'b [f64], scale: f64) -> f64 {
        scale * dot(self.0, other)
    }
}

/// For a method whose lifetimes depend on each other, and on those of the `impl`.
#[rrule(for = View::scaled)]
fn view_rrule<'a, 'b: 'a>(
    this: &View<'a>,
    other: &'b [f64],
    scale: f64,
) -> (f64, impl Fn(f64, NoTangent, &mut [f64]) -> f64) {
    (this.scaled(other, scale), move |dy, _, d_other| {
        d_other.iter_mut().zip(this.0).for_each(|(d, x)| *d += dy * scale * x);
        dy * dot(this.0, other)
    })
}

#[test]
fn lifetimes() {
    let (x, y, mut dy, mut scale, mut d_scale, mut z, mut dz) = ([2.0], [3.0], [0.0], 5.0, 0.0, 0.0, 1.0);
    let view = View(&x);
    let (mut view_ref, mut y_ref, mut dy_ref) = (&view, &y[..], &mut dy[..]);
    let places = [
        Place::constant(&raw mut view_ref),
        Place::new(&raw mut y_ref, &raw mut dy_ref),
        Place::new(&raw mut scale, &raw mut d_scale),
        Place::new(&raw mut z, &raw mut dz),
    ];
    // SAFETY: the places of the arguments and of the result.
    unsafe { reverse(view_rrule::record(), &places) };
    assert_eq!((z, dy, d_scale), (30.0, [10.0], 6.0));
}

struct Pair<T>(T, T);

trait Total<T> {
    fn total(&self, scale: T) -> T;
}

impl<T: Copy + std::ops::Add<Output = T> + std::ops::Mul<Output = T>> Total<T> for Pair<T> {
    fn total(&self, scale: T) -> T {
        (self.0 + self.1) * scale
    }
}

/// For some instances of a method of a trait of a generic type.
#[rrule(for = <Pair<T> as Total<T>>::total, T = [f32, f64])]
fn total_rrule<T>(pair: &Pair<T>, scale: T) -> (T, impl Fn(T, NoTangent) -> T)
where
    T: Copy + std::ops::Add<Output = T> + std::ops::Mul<Output = T> + pullback::MakeZero,
{
    (pair.total(scale), move |dy, _| dy * (pair.0 + pair.1))
}

#[test]
fn methods_of_generic_types() {
    let (pair, mut scale, mut d_scale, mut y, mut dy) = (Pair(1.0f32, 2.0), 5.0f32, 0.0f32, 0.0f32, 1.0f32);
    let mut pair_ref = &pair;
    let places = [
        Place::constant(&raw mut pair_ref),
        Place::new(&raw mut scale, &raw mut d_scale),
        Place::new(&raw mut y, &raw mut dy),
    ];
    // SAFETY: the places of the arguments and of the result.
    unsafe { reverse(total_rrule::record::<f32>(), &places) };
    assert_eq!((y, d_scale), (15.0, 3.0));
    assert_eq!(total_rrule::record::<f64>().closure.size, 8);
}

#[test]
fn methods_foreign_and_generic_functions() {
    let (point, mut d_point, mut y, mut dy) = (Point { x: 3.0, y: 4.0 }, Point { x: 0.0, y: 0.0 }, 0.0, 5.0);
    let (mut place, mut d_place) = (&point, &mut d_point);
    // SAFETY: the places of `this` and of the result.
    unsafe {
        reverse(
            norm_rrule::record(),
            &[Place::new(&raw mut place, &raw mut d_place), Place::new(&raw mut y, &raw mut dy)],
        )
    };
    assert_eq!((y, d_point), (5.0, Point { x: 3.0, y: 4.0 }));

    for (rule, f) in [(sin_rrule::record(), f64::sin as fn(f64) -> f64), (cbrt_rrule::record(), f64::cbrt)] {
        let (mut x, mut dx, mut dy) = (0.7, 0.0, 1.0);
        // SAFETY: the places of `x` and of the result.
        unsafe { reverse(rule, &[Place::new(&raw mut x, &raw mut dx), Place::new(&raw mut y, &raw mut dy)]) };
        assert_eq!(y, f(x));
        assert_close(dx, difference(f, x));
    }

    let (x, mut dx, mut scale, mut d_scale, mut y, mut dy) = ([3.0f32], [0.0f32], 2.0f32, 0.0f32, 0.0f32, 1.0f32);
    let (mut x_ref, mut dx_ref) = (&x[..], &mut dx[..]);
    let places = [
        Place::new(&raw mut x_ref, &raw mut dx_ref),
        Place::new(&raw mut scale, &raw mut d_scale),
        Place::new(&raw mut y, &raw mut dy),
    ];
    // SAFETY: the places of the arguments and of the result.
    unsafe { reverse(scaled_rrule::record::<f32>(), &places) };
    assert_eq!((y, dx, d_scale), (6.0, [2.0], 3.0));
    assert_eq!((scaled_rrule::record::<f64>().args.get()[1].layout)().size, 8);
}
