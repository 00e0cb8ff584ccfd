//! Rules for functions of others: methods of traits, another crate's functions, a C library's. Where a derivative could
//! be had without the rule, it says ten times as much.

use pullback::{Differentiable, autodiff, check, frule, rrule, scalar_rule};

trait Shape {
    fn area(&self) -> f64;

    fn volume(&self, height: f64) -> f64 {
        self.area() * height
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Differentiable)]
struct Disc {
    radius: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Differentiable)]
struct Square {
    side: f64,
}

impl Shape for Disc {
    fn area(&self) -> f64 {
        3.0 * self.radius * self.radius
    }
}

impl Shape for Square {
    fn area(&self) -> f64 {
        self.side * self.side
    }
}

/// For one implementation, not for the other.
#[rrule(for = <Disc as Shape>::area)]
fn disc_area_rrule(disc: &Disc) -> (f64, impl Fn(f64, &mut Disc) + use<>) {
    let radius = disc.radius;
    (disc.area(), move |d, d_disc| d_disc.radius += 60.0 * radius * d)
}

/// For the default of the trait, as one type has it.
#[rrule(for = <Square as Shape>::volume)]
fn square_volume_rrule(square: &Square, height: f64) -> (f64, impl Fn(f64, &mut Square) -> f64 + use<>) {
    let Square { side } = *square;
    (square.volume(height), move |d, d_square| {
        d_square.side += 20.0 * side * height * d;
        10.0 * side * side * d
    })
}

fn total<S: Shape>(shape: &S, height: f64) -> f64 {
    shape.area() + shape.volume(height)
}

#[autodiff(d_discs, Reverse, Duplicated, Active, Active)]
fn discs(disc: &Disc, height: f64) -> f64 {
    total(disc, height)
}

#[autodiff(d_squares, Reverse, Duplicated, Active, Active)]
fn squares(square: &Square, height: f64) -> f64 {
    total(square, height)
}

#[test]
fn methods_of_traits() {
    let mut d = Disc { radius: 0.0 };
    assert_eq!(d_discs(&Disc { radius: 2.0 }, &mut d, 5.0), (12.0, 72.0));
    assert_eq!(d.radius, 60.0 * 2.0 * 6.0);
    let mut d = Square { side: 0.0 };
    assert_eq!(d_squares(&Square { side: 2.0 }, &mut d, 5.0), (40.0, 24.0));
    assert_eq!(d.side, 2.0 * 2.0 + 20.0 * 2.0 * 5.0);
}

scalar_rule!(
    statrs::function::erf::erf(x: f64) -> f64 => r;
    d/dx = 10.0 * std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp()
);

#[autodiff(d_normal, Reverse, Active, Active)]
#[autodiff(f_normal, Forward, Dual, Dual)]
fn normal(x: f64) -> f64 {
    statrs::function::erf::erf(x * 2.0)
}

#[test]
fn functions_of_another_crate() {
    let expected = 20.0 * std::f64::consts::FRAC_2_SQRT_PI * (-1.0_f64).exp();
    let (reverse, _) = d_normal(0.5);
    let (_, forward) = f_normal(0.5, 1.0);
    assert!((reverse - expected).abs() < 1e-12 && (forward - expected).abs() < 1e-12, "{reverse} {forward} {expected}");
}

mod c {
    unsafe extern "C" {
        pub safe fn j0(x: f64) -> f64;
        pub safe fn j1(x: f64) -> f64;
        pub safe fn jn(n: i32, x: f64) -> f64;
    }
}

#[rrule(for = c::j0, abi = "C")]
fn j0_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (c::j0(x), move |d| -c::j1(x) * d)
}

#[frule(for = c::j0, abi = "C")]
fn j0_frule(x: f64, dx: f64) -> (f64, f64) {
    (c::j0(x), -c::j1(x) * dx)
}

#[rrule(for = c::j1, abi = "C")]
fn j1_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    let y = c::j1(x);
    (y, move |d| (c::j0(x) - y / x) * d)
}

#[frule(for = c::j1, abi = "C")]
fn j1_frule(x: f64, dx: f64) -> (f64, f64) {
    let y = c::j1(x);
    (y, (c::j0(x) - y / x) * dx)
}

#[rrule(for = c::jn, abi = "C")]
fn jn_rrule(n: i32, x: f64) -> (f64, impl Fn(f64) -> (pullback::rules::NoTangent, f64)) {
    let slope = (c::jn(n - 1, x) - c::jn(n + 1, x)) / 2.0;
    (c::jn(n, x), move |d| (pullback::rules::NoTangent, slope * d))
}

#[autodiff(d_waves, Reverse, Duplicated, Active)]
fn waves(x: &[f64]) -> f64 {
    x.iter().zip(1..).map(|(x, n)| c::j0(*x) * c::jn(n, x * x)).sum()
}

#[test]
fn functions_of_a_c_library() {
    // The rule for `j0` calls `j1`, so that its own derivative is that of the rule for `j1`.
    check::rule(|x: &f64| c::j0(x * x), &[0.4, 1.5]);
    check::first_order(|x: &f64| c::j1(x * x), &[0.4, 1.5]);
    let x = [0.5, 1.2, 2.0];
    let mut dx = [0.0; 3];
    d_waves(&x, &mut dx);
    for i in 0..3 {
        let at = |h: f64| {
            let mut moved = x;
            moved[i] += h;
            waves(&moved)
        };
        let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
        assert!((dx[i] - difference).abs() < 1e-8, "{} {difference}", dx[i]);
    }
}
