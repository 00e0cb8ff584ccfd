//! Rules for forward mode.

use super::by_hand::{Place, forward};
use pullback::abi::Activity;
use pullback::frule;
use pullback::rules::NoTangent;

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
        Place::new(&mut x_ref, &mut dx_ref),
        Place::new(&mut y_ref, &mut dy_ref),
        Place::new(&mut scale, &mut dscale),
        Place::constant(&mut n),
        Place::new(&mut out, &mut d_out),
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
    let activities: Vec<Activity> = rule.args().iter().map(|arg| arg.activity()).collect();
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
