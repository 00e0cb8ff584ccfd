//! Rules for reverse mode with results and arguments that own memory, and with `&mut`.

use super::by_hand::{Call, Place, reverse};
use pullback::abi::{Activity, Rule};
use pullback::{Differentiable, make_zero, rrule};
use std::mem::{ManuallyDrop, MaybeUninit};

fn scaled(x: &[f64], scale: f64) -> Vec<f64> {
    x.iter().map(|x| x * scale).collect()
}

#[rrule(for = scaled)]
fn scaled_rrule(x: &[f64], scale: f64) -> (Vec<f64>, impl Fn(&[f64], &mut [f64]) -> f64) {
    (scaled(x, scale), move |dy, dx| {
        dx.iter_mut().zip(dy).for_each(|(dx, dy)| *dx += dy * scale);
        dy.iter().zip(x).map(|(dy, x)| dy * x).sum()
    })
}

/// The same with the `Vec` itself, and with room to grow in the result.
#[rrule(for = scaled)]
fn roomy_rrule(x: &[f64], scale: f64) -> (Vec<f64>, impl Fn(&Vec<f64>, &mut [f64]) -> f64) {
    let (value, pullback) = scaled_rrule(x, scale);
    let mut roomy = Vec::with_capacity(10);
    roomy.extend(value);
    (roomy, move |dy, dx| pullback(dy, dx))
}

#[test]
fn a_vec_as_the_result() {
    for (rule, room) in [(scaled_rrule::record(), 2), (roomy_rrule::record(), 10)] {
        assert_eq!(rule.viewed.size, 24);
        let x = [1.0, 2.0];
        let (mut dx, mut scale, mut d_scale) = ([0.0; 2], 3.0, 0.0);
        let (mut x_ref, mut dx_ref) = (&x[..], &mut dx[..]);
        let mut out = ManuallyDrop::new(Vec::<f64>::new());
        let mut d_out = MaybeUninit::<Vec<f64>>::uninit();
        let places = [
            Place::new(&raw mut x_ref, &raw mut dx_ref),
            Place::new(&raw mut scale, &raw mut d_scale),
            Place::new(&raw mut *out, &raw mut d_out),
        ];
        // SAFETY: the places of the arguments and of the result.
        unsafe {
            let mut call = Call::forward_sweep(rule, &places);
            assert_eq!((&out[..], out.capacity()), (&[3.0, 6.0][..], room));
            let shadow = (*d_out.as_ptr()).as_ptr().cast_mut();
            assert_ne!(shadow.cast_const(), out.as_ptr());
            assert_eq!(std::slice::from_raw_parts(shadow, room), vec![0.0; room]);
            // Twice, since no cotangent is left behind.
            for _ in 0..2 {
                shadow.write(10.0);
                shadow.add(1).write(100.0);
                // In the next iteration of a loop, another result's shadow lay in the same place.
                (&raw mut d_out).write_bytes(0xdd, 1);
                call.reverse_sweep(&places);
            }
            drop(ManuallyDrop::into_inner(out));
        }
        assert_eq!((dx, d_scale), ([60.0, 600.0], 420.0));
    }
}

#[derive(Differentiable, Clone, PartialEq, Debug)]
struct Fit {
    slope: f32,
    points: usize,
    residuals: Vec<f64>,
    mean: Option<f64>,
}

fn fit(x: f64) -> Fit {
    Fit { slope: x as f32, points: 2, residuals: vec![x * x, 2.0 * x], mean: Some(3.0 * x) }
}

#[rrule(for = fit)]
fn fit_rrule(x: f64) -> (Fit, impl Fn(&Fit) -> f64) {
    (fit(x), move |d| {
        assert_eq!(d.points, 2, "all but the floats is as in the value");
        f64::from(d.slope) + d.residuals[0] * 2.0 * x + d.residuals[1] * 2.0 + d.mean.unwrap() * 3.0
    })
}

#[test]
fn a_struct_with_memory_as_the_result() {
    let (mut x, mut dx) = (5.0, 0.0);
    let mut out = ManuallyDrop::new(Fit { slope: 0.0, points: 0, residuals: vec![], mean: None });
    let mut d_out = MaybeUninit::<Fit>::uninit();
    let places = [Place::new(&raw mut x, &raw mut dx), Place::new(&raw mut *out, &raw mut d_out)];
    // SAFETY: the places of `x` and of the result.
    unsafe {
        let mut call = Call::forward_sweep(fit_rrule::record(), &places);
        assert_eq!(*out, fit(5.0));
        let shadow = (&raw mut d_out).cast::<Fit>();
        // What is not a float or a pointer in an enum is masked as long as the derivative uses it: also the tag.
        assert_eq!(*shadow, Fit { mean: None, ..make_zero(&*out) });
        (*shadow).slope = 1.0;
        (*shadow).residuals.copy_from_slice(&[10.0, 100.0]);
        (*shadow).mean = Some(1000.0);
        call.reverse_sweep(&places);
        assert_eq!(((*shadow).slope, (*shadow).mean), (0.0, Some(0.0)));
        drop(ManuallyDrop::into_inner(out));
    }
    assert_eq!(dx, 1.0 + 100.0 + 200.0 + 3000.0);
}

fn total(fit: &Fit, twice: &[Fit]) -> f64 {
    let one = |fit: &Fit| f64::from(fit.slope) + fit.residuals.iter().sum::<f64>() + fit.mean.unwrap_or(0.0);
    one(fit) + 2.0 * twice.iter().map(one).sum::<f64>()
}

fn add_ones(fit: &mut Fit, dy: f64) {
    fit.slope += dy as f32;
    fit.residuals.iter_mut().for_each(|r| *r += dy);
    if let Some(mean) = &mut fit.mean {
        *mean += dy;
    }
}

#[rrule(for = total)]
fn total_rrule(fit: &Fit, twice: &[Fit]) -> (f64, impl Fn(f64, &mut Fit, Option<&mut [Fit]>) + use<>) {
    (total(fit, twice), move |dy, d_fit, d_twice| {
        add_ones(d_fit, dy);
        d_twice.into_iter().flatten().for_each(|fit| add_ones(fit, 2.0 * dy));
    })
}

/// A shadow as a reverse derivative has it: its floats and pointers are right, and its lengths and numbers are not.
fn with_garbage(primal: &Fit) -> ManuallyDrop<Fit> {
    let mut shadow = ManuallyDrop::new(make_zero(primal));
    shadow.points = 0xdddd;
    // SAFETY: shorter than it is.
    unsafe { shadow.residuals.set_len(0) };
    shadow
}

/// Put the length back, so that it can be dropped.
fn without_garbage(mut shadow: ManuallyDrop<Fit>, length: usize) -> Fit {
    // SAFETY: the length it was made with.
    unsafe { shadow.residuals.set_len(length) };
    ManuallyDrop::into_inner(shadow)
}

#[test]
fn a_reference_to_more_than_floats() {
    let (one, others) = (fit(1.0), [fit(2.0), Fit { mean: None, residuals: vec![1.0], ..fit(3.0) }]);
    let mut d_one = with_garbage(&one);
    d_one.slope = 0.5;
    let mut d_others = others.each_ref().map(with_garbage);
    let (mut y, mut dy) = (0.0, 1.0);
    let (mut one_ref, mut others_ref) = (&one, &others[..]);
    let (mut d_one_ref, mut d_others_ref) = (&mut d_one, &mut d_others[..]);
    let places = [
        Place::new(&raw mut one_ref, &raw mut d_one_ref),
        Place::new(&raw mut others_ref, &raw mut d_others_ref),
        Place::new(&raw mut y, &raw mut dy),
    ];
    // SAFETY: the places of the arguments and of the result.
    unsafe {
        let mut call = Call::forward_sweep(total_rrule::record(), &places);
        call.reverse_sweep(&places);
        (&raw mut dy).write(10.0);
        call.reverse_sweep(&places);
    }
    assert_eq!((y, dy), (total(&one, &others), 0.0));
    assert_eq!(
        without_garbage(d_one, 2),
        Fit { slope: 11.5, points: 0xdddd, residuals: vec![11.0, 11.0], mean: Some(11.0) }
    );
    let [second, third] = d_others;
    assert_eq!(
        without_garbage(second, 2),
        Fit { slope: 22.0, points: 0xdddd, residuals: vec![22.0, 22.0], mean: Some(22.0) }
    );
    assert_eq!(without_garbage(third, 1), Fit { slope: 22.0, points: 0xdddd, residuals: vec![22.0], mean: None });
}

#[test]
fn more_than_floats_that_nobody_asks_for() {
    let (one, others) = (fit(1.0), [fit(2.0)]);
    let mut d_one = with_garbage(&one);
    let (mut y, mut dy) = (0.0, 1.0);
    let (mut one_ref, mut others_ref, mut d_one_ref) = (&one, &others[..], &mut d_one);
    let places = [
        Place::new(&raw mut one_ref, &raw mut d_one_ref),
        Place::constant(&raw mut others_ref),
        Place::new(&raw mut y, &raw mut dy),
    ];
    // SAFETY: the places of the arguments and of the result.
    unsafe { reverse(total_rrule::record(), &places) };
    assert_eq!(without_garbage(d_one, 2).residuals, [1.0, 1.0]);
    let places =
        [Place::constant(&raw mut one_ref), Place::constant(&raw mut others_ref), Place::new(&raw mut y, &raw mut dy)];
    // SAFETY: likewise.
    unsafe { reverse(total_rrule::record(), &places) };
}

fn residual_sum(fit: &Fit) -> f64 {
    fit.residuals.iter().sum()
}

#[rrule(for = residual_sum)]
fn careless_rrule(fit: &Fit) -> (f64, impl Fn(f64, &mut Fit)) {
    (residual_sum(fit), move |dy, d_fit| d_fit.residuals = vec![dy; fit.residuals.len() + 1])
}

#[test]
#[should_panic(expected = "the pullback of rule `careless_rrule` has changed the shape of the shadow of `fit`")]
fn a_pullback_that_changes_a_length_is_found() {
    let (one, mut y, mut dy) = (fit(1.0), 0.0, 1.0);
    let mut d_one = make_zero(&one);
    let (mut one_ref, mut d_one_ref) = (&one, &mut d_one);
    // SAFETY: the places of `fit` and of the result.
    unsafe {
        reverse(
            careless_rrule::record(),
            &[Place::new(&raw mut one_ref, &raw mut d_one_ref), Place::new(&raw mut y, &raw mut dy)],
        );
    }
}

fn scale_in_place(x: &mut [f64], scale: f64) {
    x.iter_mut().for_each(|x| *x *= scale);
}

#[rrule(for = scale_in_place)]
fn scale_in_place_rrule(x: &mut [f64], scale: f64) -> ((), impl Fn(&mut [f64]) -> f64 + use<>) {
    let before = x.to_vec();
    scale_in_place(x, scale);
    ((), move |dx| {
        let d_scale = dx.iter().zip(&before).map(|(dx, x)| dx * x).sum();
        dx.iter_mut().for_each(|dx| *dx *= scale);
        d_scale
    })
}

#[test]
fn a_function_that_changes_its_argument() {
    let rule: &Rule = scale_in_place_rrule::record();
    let activities: Vec<Activity> = rule.args.get().iter().map(|arg| arg.activity).collect();
    assert_eq!(activities, [Activity::DuplicatedNoNeed, Activity::Duplicated, Activity::Duplicated]);
    let (mut x, mut dx, mut scale, mut d_scale) = ([1.0, 2.0], [10.0, 100.0], 3.0, 0.0);
    let (mut x_ref, mut dx_ref) = (&mut x[..], &mut dx[..]);
    let places = [
        Place::new(&raw mut x_ref, &raw mut dx_ref),
        Place::new(&raw mut scale, &raw mut d_scale),
        Place::new(&mut (), &mut ()),
    ];
    // SAFETY: the places of the arguments and of the result.
    unsafe { reverse(rule, &places) };
    assert_eq!((x, dx, d_scale), ([3.0, 6.0], [30.0, 300.0], 210.0));
}
