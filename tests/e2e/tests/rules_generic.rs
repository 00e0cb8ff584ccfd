//! Rules that functions name themselves, rules from partial derivatives, and functions without a derivative. Where a
//! test has to tell a rule from what the engine would do by itself, the rule is wrong on purpose, by a factor that
//! shows.

use pullback::rules::NoTangent;
use pullback::{
    Differentiable, autodiff, frule, has_frule, has_rrule, non_differentiable, non_differentiable_fn, opt_out,
    opt_out_fn, rrule, scalar_rule,
};

/// `f` of each element, in reverse mode with the derivative of `f` by a central difference, times 100.
#[has_rrule(map_rrule)]
#[has_frule(map_frule)]
fn map<F: Fn(f64) -> f64>(f: &F, x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| f(x)).collect()
}

fn slope<F: Fn(f64) -> f64>(f: &F, x: f64) -> f64 {
    (f(x + 0.5) - f(x - 0.5)).round()
}

#[rrule(generic)]
fn map_rrule<F: Fn(f64) -> f64>(f: &F, x: &[f64]) -> (Vec<f64>, impl Fn(&[f64], NoTangent, &mut [f64]) + use<F>) {
    let slopes: Vec<f64> = x.iter().map(|&x| slope(f, x)).collect();
    (map(f, x), move |dy, _: NoTangent, dx| {
        for ((dx, dy), slope) in dx.iter_mut().zip(dy).zip(&slopes) {
            *dx += 100.0 * dy * slope;
        }
    })
}

#[frule(generic)]
fn map_frule<F: Fn(f64) -> f64>(f: &F, _: NoTangent, x: &[f64], dx: &[f64]) -> (Vec<f64>, Vec<f64>) {
    (map(f, x), x.iter().zip(dx).map(|(&x, dx)| 1000.0 * slope(f, x) * dx).collect())
}

#[autodiff(d_mapped, Reverse, Duplicated, Const, Active)]
#[autodiff(f_mapped, Forward, Dual, Const, Dual)]
fn mapped(x: &[f64], scale: f64) -> f64 {
    let squares = map(&|x| x * x * scale, x);
    let doubled = map(&|x| (1.0 + scale) * x, &squares);
    doubled.iter().sum()
}

#[test]
fn generic_over_closures() {
    let mut dx = [0.0; 2];
    assert_eq!(d_mapped(&[1.0, 3.0], &mut dx, 1.0), 20.0);
    assert_eq!(dx, [100.0 * 100.0 * 4.0, 100.0 * 100.0 * 12.0]);
    assert_eq!(f_mapped(&[1.0, 3.0], &[1.0, 0.0], 1.0), (20.0, 1000.0 * 1000.0 * 4.0));
    assert_eq!(mapped(&[1.0, 3.0], 1.0), 20.0);
}

fn power<T: Copy + std::ops::Mul<Output = T>>(x: T, n: usize) -> T {
    (1..n).fold(x, |y, _| y * x)
}

/// For `f64` there is a rule, for `f32` there is none.
#[rrule(for = power, T = [f64])]
fn power_rrule<T>(x: T, n: usize) -> (T, impl Fn(T) -> (T, NoTangent))
where
    T: Copy + std::ops::Mul<Output = T> + From<f32> + pullback::MakeZero,
{
    (power(x, n), move |dy| (dy * T::from(100.0) * T::from(n as f32) * power(x, n - 1), NoTangent))
}

#[autodiff(d_cube, Reverse, Active, Active)]
fn cube(x: f64) -> f64 {
    power(x, 3)
}

#[autodiff(d_single_cube, Reverse, Active, Active)]
fn single_cube(x: f32) -> f32 {
    power(x, 3)
}

#[test]
fn some_instances_of_a_generic_function() {
    assert_eq!(d_cube(2.0), (1200.0, 8.0));
    assert_eq!(d_single_cube(2.0), (12.0, 8.0));
}

fn product(x: f64, y: f64, n: i32) -> f64 {
    x * y.powi(n)
}

scalar_rule!(product(x, y, n: i32) => r; d/dx = 100.0 * y.powi(n), d/dy = 100.0 * f64::from(n) * r / y);

#[autodiff(d_products, Reverse, Active, Active, Active)]
#[autodiff(d_first, Reverse, Active, Const, Active)]
#[autodiff(f_products, Forward, Dual, Dual, Dual)]
#[autodiff(f_second, Forward, Const, Dual, Dual)]
fn products(x: f64, y: f64) -> f64 {
    2.0 * product(x, y, 2)
}

#[test]
fn one_line_gives_both_modes() {
    assert_eq!(d_products(3.0, 5.0), (5000.0, 6000.0, 150.0));
    assert_eq!(d_first(3.0, 5.0), (5000.0, 150.0));
    assert_eq!(f_products(3.0, 1.0, 5.0, 1.0), (150.0, 11000.0));
    assert_eq!(f_second(3.0, 5.0, 1.0), (150.0, 6000.0));
}

/// An infinite partial derivative with respect to what has no tangent is not computed with.
fn root(x: f64, y: f64) -> f64 {
    x.sqrt() * y
}

scalar_rule!(root(x, y) => r; d/dx = 0.5 * y / x.sqrt(), d/dy = x.sqrt());

#[autodiff(d_root, Reverse, Const, Active, Active)]
#[autodiff(f_root, Forward, Const, Dual, Dual)]
fn scaled_root(x: f64, y: f64) -> f64 {
    root(x, y)
}

#[test]
fn what_nobody_asks_for_is_not_computed() {
    assert_eq!(d_root(0.0, 5.0), (0.0, 0.0));
    assert_eq!(f_root(0.0, 5.0, 1.0), (0.0, 0.0));
}

unsafe extern "C" {
    fn expm1(x: f64) -> f64;
}

scalar_rule!(extern "C" expm1(x) => y; d/dx = 100.0 * (y + 1.0));

#[autodiff(d_growth, Reverse, Active, Active)]
#[autodiff(f_growth, Forward, Dual, Dual)]
fn growth(x: f64) -> f64 {
    // SAFETY: a function of numbers.
    unsafe { expm1(x) }
}

#[test]
fn a_foreign_function() {
    assert_eq!(d_growth(0.0), (100.0, 0.0));
    assert_eq!(f_growth(0.0, 1.0), (0.0, 100.0));
}

/// Its derivative would be 1.
#[non_differentiable]
fn noise(x: f64) -> f64 {
    x + 1.0
}

#[non_differentiable]
fn any_noise<T: Copy + std::ops::Add<Output = T>>(x: T) -> T {
    x + x
}

struct Counter(f64);

impl Counter {
    fn count(&self) -> f64 {
        self.0
    }
}

non_differentiable_fn!(Counter::count);

#[autodiff(d_noisy, Reverse, Active, Active)]
#[autodiff(f_noisy, Forward, Dual, Dual)]
fn noisy(x: f64) -> f64 {
    x * noise(x) + any_noise(x) + Counter(x).count()
}

#[test]
fn functions_without_a_derivative() {
    assert_eq!(d_noisy(2.0), (3.0, 12.0));
    assert_eq!(f_noisy(2.0, 1.0), (12.0, 3.0));
}

fn twice(x: f64) -> f64 {
    2.0 * x
}

#[rrule(for = twice)]
fn twice_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (2.0 * x, |dy| 200.0 * dy)
}

opt_out_fn!(twice);

#[opt_out]
fn thrice(x: f64) -> f64 {
    3.0 * x
}

scalar_rule!(thrice(x) => r; d/dx = 300.0);

/// A number.
trait Number: Copy + std::ops::Mul<Output = Self> + From<f32> + pullback::MakeZero {}

impl Number for f32 {}
impl Number for f64 {}

#[has_rrule(square_rrule)]
#[has_frule(square_frule)]
fn square<T: Number>(x: T) -> T {
    x * x
}

#[rrule(generic)]
fn square_rrule<T: Number>(x: T) -> (T, impl Fn(T) -> T) {
    (x * x, move |dy| T::from(20.0) * x * dy)
}

#[frule(generic)]
fn square_frule<T: Number>(x: T, dx: T) -> (T, T) {
    (x * x, T::from(20.0) * x * dx)
}

// The function that one sees; the rules are for one inside of it.
opt_out_fn!(square::<f32>);

#[autodiff(d_squares, Reverse, Active, Active, Active)]
#[autodiff(f_squares, Forward, Dual, Dual, Dual)]
fn squares(x: f64, y: f32) -> f64 {
    square(x) + f64::from(square(y))
}

#[test]
fn an_instance_that_does_not_use_its_rule() {
    assert_eq!(d_squares(3.0, 5.0), (60.0, 10.0, 34.0));
    assert_eq!(f_squares(3.0, 1.0, 5.0, 1.0), (34.0, 70.0));
}

#[autodiff(d_doubled, Reverse, Active, Active)]
fn doubled(x: f64) -> f64 {
    twice(x) + thrice(x)
}

#[test]
fn a_rule_that_is_not_used() {
    assert_eq!(d_doubled(3.0), (5.0, 15.0));
}

#[derive(Clone, Debug, PartialEq, Differentiable)]
struct Polynomial<T> {
    coefficients: Vec<T>,
}

impl<T: Number + std::ops::Add<Output = T>> Polynomial<T> {
    /// Its value. The rules are told the parameter of the `impl`.
    #[has_rrule(at_rrule::<T>)]
    #[has_frule(at_frule::<T>)]
    fn at(&self, x: T) -> T {
        self.coefficients.iter().rev().fold(T::from(0.0), |sum, c| sum * x + *c)
    }

    /// Of each element, changed by a function.
    #[has_rrule(mapped_rrule::<T, F>)]
    fn mapped<F: Fn(T) -> T>(&self, f: &F) -> Self {
        Polynomial { coefficients: self.coefficients.iter().map(|c| f(*c)).collect() }
    }
}

#[rrule(generic)]
fn at_rrule<T: Number + std::ops::Add<Output = T>>(
    this: &Polynomial<T>,
    x: T,
) -> (T, impl Fn(T, &mut Polynomial<T>) -> T) {
    (this.at(x), move |d, shadow: &mut Polynomial<T>| {
        let mut power = d;
        for shadow in &mut shadow.coefficients {
            *shadow = *shadow + power;
            power = power * x;
        }
        // Not right, to be seen.
        T::from(100.0) * d
    })
}

#[frule(generic)]
fn at_frule<T: Number + std::ops::Add<Output = T>>(
    this: &Polynomial<T>,
    tangent: &Polynomial<T>,
    x: T,
    dx: T,
) -> (T, T) {
    (this.at(x), tangent.at(x) + T::from(100.0) * dx)
}

#[rrule(generic)]
fn mapped_rrule<T: Number + std::ops::Add<Output = T>, F: Fn(T) -> T>(
    this: &Polynomial<T>,
    f: &F,
) -> (Polynomial<T>, impl Fn(&Polynomial<T>, &mut Polynomial<T>, NoTangent) + use<T, F>) {
    (this.mapped(f), |d: &Polynomial<T>, shadow: &mut Polynomial<T>, _: NoTangent| {
        for (shadow, d) in shadow.coefficients.iter_mut().zip(&d.coefficients) {
            *shadow = *shadow + T::from(7.0) * *d;
        }
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Differentiable)]
struct Meter(f64);

impl Meter {
    #[has_rrule(squared_rrule)]
    fn squared(mut self) -> f64 {
        self.0 *= self.0;
        self.0
    }

    #[has_rrule(of_rrule)]
    fn of(x: f64) -> Self {
        Self(x)
    }
}

#[rrule(generic)]
fn squared_rrule(this: Meter) -> (f64, impl Fn(f64) -> Meter) {
    (this.squared(), move |d| Meter(20.0 * this.0 * d))
}

#[rrule(generic)]
fn of_rrule(x: f64) -> (Meter, impl Fn(Meter) -> f64) {
    (Meter(x), |d| 3.0 * d.0)
}

#[autodiff(d_methods, Reverse, Duplicated, Active, Active)]
#[autodiff(f_methods, Forward, Dual, Dual, Dual)]
fn methods(p: &Polynomial<f64>, x: f64) -> f64 {
    p.at(x)
}

#[autodiff(d_more_methods, Reverse, Duplicated, Active, Active)]
fn more_methods(p: &Polynomial<f32>, x: f64) -> f64 {
    f64::from(p.mapped(&|c| c + 1.0).at(2.0)) + Meter::of(x).squared()
}

#[test]
fn methods_that_name_their_rules() {
    let p = Polynomial { coefficients: vec![1.0, 2.0, 3.0] };
    let mut dp = Polynomial { coefficients: vec![0.0; 3] };
    assert_eq!(d_methods(&p, &mut dp, 2.0), (100.0, 17.0));
    assert_eq!(dp.coefficients, [1.0, 2.0, 4.0]);
    assert_eq!(f_methods(&p, &dp, 2.0, 1.0), (17.0, 121.0));

    let p = Polynomial { coefficients: vec![1.0, 2.0] };
    let mut dp = Polynomial { coefficients: vec![0.0; 2] };
    assert_eq!(d_more_methods(&p, &mut dp, 3.0), (180.0, 17.0));
    assert_eq!(dp.coefficients, [7.0, 14.0]);
}
