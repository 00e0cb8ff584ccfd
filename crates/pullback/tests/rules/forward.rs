//! Rules for forward mode.

use super::by_hand::{Place, forward};
use pullback::abi::Activity;
use pullback::rules::{NoTangent, ZeroTangent};
use pullback::{Differentiable, frule, make_zero};
use std::mem::ManuallyDrop;

fn scaled_dot(x: &[f64], y: &[f64], scale: f64, n: usize) -> f64 {
    scale * x.iter().zip(y).take(n).map(|(x, y)| x * y).sum::<f64>()
}

#[frule(for = scaled_dot)]
fn scaled_dot_frule(
    x: &[f64],
    dx: &[f64],
    y: &[f64],
    dy: Option<&[f64]>,
    scale: f64,
    dscale: f64,
    n: usize,
    _: NoTangent,
) -> (f64, f64) {
    let from_y = dy.map_or(0.0, |dy| scaled_dot(x, dy, scale, n));
    (scaled_dot(x, y, scale, n), scaled_dot(dx, y, scale, n) + from_y + scaled_dot(x, y, dscale, n))
}

/// The value and the tangent, of all arguments or of those that `asked` says.
fn run(asked: [bool; 3]) -> (f64, f64) {
    let rule = scaled_dot_frule::record();
    let (x, dx, y, dy) = ([1.0, 2.0, 100.0], [10.0, 0.0, 100.0], [3.0, 4.0, 100.0], [0.0, 100.0, 100.0]);
    let (mut x_ref, mut y_ref, mut dx_ref, mut dy_ref) = (&x[..], &y[..], &dx[..], &dy[..]);
    let (mut scale, mut dscale, mut n, mut out, mut d_out) = (2.0, 1000.0, 2_usize, f64::NAN, f64::NAN);
    let mut places = [
        Place::new(&raw mut x_ref, &raw mut dx_ref),
        Place::new(&raw mut y_ref, &raw mut dy_ref),
        Place::new(&raw mut scale, &raw mut dscale),
        Place::constant(&raw mut n),
        Place::new(&raw mut out, &raw mut d_out),
    ];
    for (place, asked) in places.iter_mut().zip(asked) {
        *place = if asked { *place } else { place.without_shadow() };
    }
    // SAFETY: the places of the arguments and of the result.
    unsafe { forward(rule, &places) };
    (out, d_out)
}

#[test]
fn each_argument_is_followed_by_its_tangent() {
    let rule = scaled_dot_frule::record();
    let activities: Vec<Activity> = rule.args.get().iter().map(|arg| arg.activity).collect();
    let has = Activity::Duplicated;
    assert_eq!(activities, [has, has, has, Activity::Const, has]);
    assert_eq!(run([true; 3]), (22.0, 60.0 + 400.0 + 11000.0));
}

#[test]
fn a_tangent_that_is_not_there_is_zero() {
    assert_eq!(run([true, false, false]), (22.0, 60.0));
    assert_eq!(run([false, true, false]), (22.0, 400.0));
    assert_eq!(run([false, false, true]), (22.0, 11000.0));
    assert_eq!(run([false; 3]), (22.0, 0.0));
}

fn powers(x: f64, count: usize) -> Vec<f64> {
    (1..=count as i32).map(|n| x.powi(n)).collect()
}

/// The tangent has another capacity than the value.
#[frule(for = powers)]
fn powers_frule(x: f64, dx: f64, count: usize, _: NoTangent) -> (Vec<f64>, Vec<f64>) {
    let mut value = Vec::with_capacity(10);
    value.extend(powers(x, count));
    (value, (1..=count as i32).map(|n| dx * f64::from(n) * x.powi(n - 1)).collect())
}

/// The tangent has another length.
#[frule(for = powers)]
fn short_frule(x: f64, _: f64, count: usize, _: NoTangent) -> (Vec<f64>, Vec<f64>) {
    (powers(x, count), vec![0.0])
}

#[frule(for = powers)]
fn zero_frule(x: f64, _: f64, count: usize, _: NoTangent) -> (Vec<f64>, ZeroTangent) {
    (powers(x, count), ZeroTangent)
}

/// The value, the tangent, and the tangent's capacity.
fn run_powers(rule: &'static pullback::abi::Rule) -> (Vec<f64>, Vec<f64>) {
    let (mut x, mut dx, mut count) = (2.0, 1.0, 3_usize);
    let (mut out, mut d_out) = (ManuallyDrop::new(Vec::<f64>::new()), ManuallyDrop::new(Vec::<f64>::new()));
    let places = [
        Place::new(&raw mut x, &raw mut dx),
        Place::constant(&raw mut count),
        Place::new(&raw mut *out, &raw mut *d_out),
    ];
    // SAFETY: the places of the arguments and of the result.
    unsafe { forward(rule, &places) };
    assert!(d_out.capacity() >= out.capacity(), "the tangent has room for what the value may grow to");
    (ManuallyDrop::into_inner(out), ManuallyDrop::into_inner(d_out))
}

#[test]
fn a_vec_as_the_result() {
    assert_eq!(run_powers(powers_frule::record()), (vec![2.0, 4.0, 8.0], vec![1.0, 4.0, 12.0]));
    assert_eq!(run_powers(zero_frule::record()), (vec![2.0, 4.0, 8.0], vec![0.0; 3]));
}

#[test]
#[should_panic(expected = "the tangent that rule `short_frule` returns does not fit its value")]
fn a_tangent_of_another_length_is_found() {
    run_powers(short_frule::record());
}

#[derive(Differentiable, Clone, PartialEq, Debug)]
struct Table {
    rows: Vec<f64>,
    used: usize,
}

fn sum_used(table: &Table, scale: Option<f64>) -> f64 {
    table.rows[..table.used].iter().sum::<f64>() * scale.unwrap_or(1.0)
}

#[frule(for = sum_used)]
fn sum_used_frule(table: &Table, d_table: &Table, scale: Option<f64>, d_scale: Option<f64>) -> (f64, f64) {
    assert_eq!(table.used, d_table.used, "all but the floats is as in the value");
    let tangent = sum_used(d_table, scale) + d_scale.map_or(0.0, |d_scale| sum_used(table, Some(d_scale)));
    (sum_used(table, scale), tangent)
}

#[test]
fn a_tangent_of_more_than_floats() {
    let table = Table { rows: vec![1.0, 2.0, 100.0], used: 2 };
    let mut d_table = ManuallyDrop::new(make_zero(&table));
    d_table.rows.copy_from_slice(&[10.0, 0.0, 100.0]);
    d_table.used = 0xdddd;
    // SAFETY: shorter than it is.
    unsafe { d_table.rows.set_len(0) };
    let (mut table_ref, mut d_table_ref) = (&table, &mut d_table);
    let (mut scale, mut d_scale, mut out, mut d_out) = (Some(2.0), Some(1000.0), 0.0, 0.0);
    let places = [
        Place::new(&raw mut table_ref, &raw mut d_table_ref),
        Place::new(&raw mut scale, &raw mut d_scale),
        Place::new(&raw mut out, &raw mut d_out),
    ];
    // SAFETY: the places of the arguments and of the result.
    unsafe { forward(sum_used_frule::record(), &places) };
    assert_eq!((out, d_out), (6.0, 20.0 + 3000.0));
    // SAFETY: the length that it was made with.
    unsafe { d_table.rows.set_len(3) };
    drop(ManuallyDrop::into_inner(d_table));
}

fn scale_in_place(x: &mut [f64], scale: f64) {
    x.iter_mut().for_each(|x| *x *= scale);
}

#[frule(for = scale_in_place)]
fn scale_in_place_frule(x: &mut [f64], dx: &mut [f64], scale: f64, d_scale: f64) {
    dx.iter_mut().zip(&*x).for_each(|(dx, x)| *dx = *dx * scale + x * d_scale);
    scale_in_place(x, scale);
}

#[test]
fn a_function_that_changes_its_argument() {
    let rule = scale_in_place_frule::record();
    assert_eq!(rule.args.get()[0].activity, Activity::DuplicatedNoNeed);
    let (mut x, mut dx, mut scale, mut d_scale) = ([1.0, 2.0], [10.0, 100.0], 3.0, 1.0);
    let (mut x_ref, mut dx_ref) = (&mut x[..], &mut dx[..]);
    let places = [
        Place::new(&raw mut x_ref, &raw mut dx_ref),
        Place::new(&raw mut scale, &raw mut d_scale),
        Place::new(&mut (), &mut ()),
    ];
    // SAFETY: the places of the arguments and of the result.
    unsafe { forward(rule, &places) };
    assert_eq!((x, dx), ([3.0, 6.0], [31.0, 302.0]));
}
