//! Rules for functions that make memory, write memory, or take structures: the shadows are those that the derivative
//! has.

use pullback::rules::{Memory, NoTangent};
use pullback::{Differentiable, autodiff, frule, grad, jvp, rrule};
use std::cell::RefCell;
use std::panic::catch_unwind;
use std::rc::Rc;

/// A function that writes: `r ← 2·r + x`. Its pullback takes the cotangent of what was written out of the shadow. It
/// says 20 where it is 2.
fn step(r: &mut [f64], x: f64) {
    for r in r {
        *r = 2.0 * *r + x;
    }
}

#[rrule(for = step)]
fn step_rrule(r: &mut [f64], x: f64) -> ((), impl Fn(&mut [f64]) -> f64 + 'static) {
    step(r, x);
    let pullback = |dr: &mut [f64]| {
        let dx = dr.iter().sum();
        for dr in dr {
            *dr *= 20.0;
        }
        dx
    };
    ((), pullback)
}

#[autodiff(d_steps, Reverse, Duplicated, Active, Active)]
fn steps(r: &mut [f64], x: f64) -> f64 {
    let before = r[0] * r[1];
    step(r, x);
    step(r, x * x);
    before + r[0] * r[1]
}

#[test]
fn a_function_that_writes() {
    let (mut r, mut dr) = ([1.0, 2.0], [0.0; 2]);
    // r₀r₁ + (4r₀ + 2x + x²)(4r₁ + 2x + x²) at x = 3: 2 + 19·23
    let (dx, value) = d_steps(&mut r, &mut dr, 3.0);
    assert_eq!((value, r), (439.0, [19.0, 23.0]));
    assert_eq!(dr, [400.0 * 23.0 + 2.0, 400.0 * 19.0 + 1.0]);
    assert_eq!(dx, 20.0 * (23.0 + 19.0) + 6.0 * (23.0 + 19.0));
}

/// A linear system `A·x = b` by elimination, with the adjoint system as its pullback: `λ = A⁻ᵀ·dx`, `db += λ`, `dA −=
/// λ·xᵀ`.
fn solve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let (mut a, mut x) = (a.to_vec(), b.to_vec());
    for k in 0..n {
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            for j in k..n {
                a[i * n + j] -= factor * a[k * n + j];
            }
            x[i] -= factor * x[k];
        }
    }
    for i in (0..n).rev() {
        for j in i + 1..n {
            x[i] -= a[i * n + j] * x[j];
        }
        x[i] /= a[i * n + i];
    }
    x
}

fn transposed(a: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|k| a[k % n * n + k / n]).collect()
}

#[rrule(for = solve)]
fn solve_rrule(a: &[f64], b: &[f64]) -> (Vec<f64>, impl Fn(&[f64], &mut [f64], &mut [f64]) + 'static) {
    let x = solve(a, b);
    let (adjoint_matrix, solution) = (transposed(a, b.len()), x.clone());
    let pullback = move |dx: &[f64], da: &mut [f64], db: &mut [f64]| {
        let n = dx.len();
        let adjoint = solve(&adjoint_matrix, dx);
        for i in 0..n {
            db[i] += adjoint[i];
            for j in 0..n {
                da[i * n + j] -= adjoint[i] * solution[j];
            }
        }
    };
    (x, pullback)
}

#[autodiff(d_energy, Reverse, Duplicated, Duplicated, Active)]
#[autodiff(f_energy, Forward, Dual, Dual, Dual)]
fn energy(a: &[f64], b: &[f64]) -> f64 {
    let mut x = solve(a, b);
    x.push(1.0);
    x.iter().zip(b.iter().chain([&2.0])).map(|(x, b)| x * x * b).sum()
}

/// Reverse mode goes by the rule, forward mode by the elimination itself.
#[test]
fn a_linear_solve_with_the_adjoint_solve() {
    let a = [4.0, 1.0, 0.5, 1.0, 5.0, 2.0, -1.0, 0.3, 6.0];
    let b = [1.0, 2.0, 3.0];
    let (mut da, mut db) = ([0.0; 9], [0.0; 3]);
    let value = d_energy(&a, &mut da, &b, &mut db);
    assert_eq!(value, energy(&a, &b));
    for i in 0..12 {
        let (mut ta, mut tb) = ([0.0; 9], [0.0; 3]);
        if i < 9 {
            ta[i] = 1.0
        } else {
            tb[i - 9] = 1.0
        }
        let (_, tangent) = f_energy(&a, &ta, &b, &tb);
        let found = if i < 9 { da[i] } else { db[i - 9] };
        assert!((tangent - found).abs() < 1e-12, "{i}: {tangent} {found}");
    }
}

/// Solutions in a loop: each has memory of its own, and so has its shadow.
#[autodiff(d_repeated, Reverse, Duplicated, Duplicated, Active)]
#[autodiff(f_repeated, Forward, Dual, Dual, Dual)]
fn repeated(a: &[f64], b: &[f64]) -> f64 {
    let mut x = b.to_vec();
    for _ in 0..4 {
        x = solve(a, &x);
        x[0] += 1.0;
    }
    x.iter().sum()
}

#[test]
fn solutions_of_solutions() {
    let (a, b) = ([4.0, 1.0, 1.0, 3.0], [1.0, 2.0]);
    let (mut da, mut db) = ([0.0; 4], [0.0; 2]);
    d_repeated(&a, &mut da, &b, &mut db);
    for i in 0..6 {
        let (mut ta, mut tb) = ([0.0; 4], [0.0; 2]);
        if i < 4 {
            ta[i] = 1.0
        } else {
            tb[i - 4] = 1.0
        }
        let (_, tangent) = f_repeated(&a, &ta, &b, &tb);
        let found = if i < 4 { da[i] } else { db[i - 4] };
        assert!((tangent - found).abs() < 1e-12, "{i}: {tangent} {found}");
    }
}

/// A structure with more than floats in it.
#[derive(Clone, Debug, PartialEq, Differentiable)]
struct Layer {
    weights: Vec<f64>,
    bias: f64,
    inputs: usize,
}

fn apply(layer: &Layer, x: &[f64]) -> f64 {
    layer.weights.iter().zip(x).take(layer.inputs).map(|(w, x)| w * x).sum::<f64>() + layer.bias
}

/// Three times what it is.
#[rrule(for = apply)]
fn apply_rrule<'a>(layer: &'a Layer, x: &'a [f64]) -> (f64, impl Fn(f64, &mut Layer, Option<&mut [f64]>) + 'a) {
    let pullback = move |dy: f64, d_layer: &mut Layer, dx: Option<&mut [f64]>| {
        assert_eq!(d_layer.inputs, layer.inputs, "a shadow is a value like any other");
        assert_eq!(d_layer.weights.len(), layer.weights.len());
        for i in 0..layer.inputs {
            d_layer.weights[i] += 3.0 * dy * x[i];
        }
        d_layer.bias += 3.0 * dy;
        if let Some(dx) = dx {
            for i in 0..layer.inputs {
                dx[i] += 3.0 * dy * layer.weights[i];
            }
        }
    };
    (apply(layer, x), pullback)
}

#[autodiff(d_network, Reverse, Duplicated, Const, Active)]
fn network(layer: &Layer, x: &[f64]) -> f64 {
    let y = apply(layer, x);
    y * y
}

/// The layer is made inside: the shadow that the derivative has of it knows no lengths.
#[autodiff(d_inside, Reverse, Duplicated, Active)]
fn inside(x: &[f64]) -> f64 {
    let layer = Layer { weights: x.iter().map(|v| v * v).collect(), bias: x[0], inputs: x.len() };
    apply(&layer, x)
}

#[test]
fn structures() {
    let layer = Layer { weights: vec![1.0, 2.0], bias: 3.0, inputs: 2 };
    let mut shadow = pullback::make_zero(&layer);
    assert_eq!(d_network(&layer, &mut shadow, &[5.0, 7.0]), 22.0 * 22.0);
    assert_eq!(shadow, Layer { weights: vec![3.0 * 44.0 * 5.0, 3.0 * 44.0 * 7.0], bias: 3.0 * 44.0, inputs: 2 });

    let mut dx = [0.0; 2];
    assert_eq!(d_inside(&[2.0, 3.0], &mut dx), 37.0);
    assert_eq!(dx, [3.0 * (3.0 * 4.0 + 1.0), 3.0 * (3.0 * 9.0)]);
}

/// A rule for forward mode that returns memory.
fn cumulative(x: &[f64]) -> Vec<f64> {
    x.iter()
        .scan(0.0, |sum, x| {
            *sum += x;
            Some(*sum)
        })
        .collect()
}

#[frule(for = cumulative)]
fn cumulative_frule(x: &[f64], dx: &[f64]) -> (Vec<f64>, Vec<f64>) {
    (cumulative(x), cumulative(dx).into_iter().map(|t| 5.0 * t).collect())
}

#[autodiff(f_area, Forward, Dual, Dual)]
#[autodiff(d_area, Reverse, Duplicated, Active)]
fn area(x: &[f64]) -> f64 {
    cumulative(x).iter().map(|s| s * s).sum()
}

#[test]
fn tangents_that_own_memory() {
    // 1, 3: 2·1·1 + 2·3·1
    assert_eq!(f_area(&[1.0, 2.0], &[1.0, 0.0]), (10.0, 5.0 * 8.0));
    let mut dx = [0.0; 2];
    assert_eq!(d_area(&[1.0, 2.0], &mut dx), 10.0);
    assert_eq!(dx, [8.0, 6.0]);
}

/// What a rule keeps may be large: beyond a few words it is kept in memory of the tape.
fn large(x: &[f64; 40], n: usize) -> f64 {
    x.iter().map(|v| v.powi(n as i32)).sum()
}

#[rrule(for = large)]
fn large_rrule(x: &[f64; 40], n: usize) -> (f64, impl Fn(f64, &mut [f64; 40]) -> NoTangent + 'static) {
    let kept = *x;
    let pullback = move |dy: f64, dx: &mut [f64; 40]| {
        for i in 0..40 {
            dx[i] += dy * n as f64 * kept[i].powi(n as i32 - 1);
        }
        NoTangent
    };
    (large(x, n), pullback)
}

#[autodiff(d_powers, Reverse, Duplicated, Const, Active)]
fn powers(x: &[f64; 40], n: usize) -> f64 {
    (1..=n).map(|k| large(x, k)).sum()
}

#[test]
fn large_captures() {
    let x: [f64; 40] = std::array::from_fn(|i| 0.1 * i as f64);
    let mut dx = [0.0; 40];
    d_powers(&x, &mut dx, 3);
    for (x, dx) in x.iter().zip(dx) {
        assert!((dx - (1.0 + 2.0 * x + 3.0 * x * x)).abs() < 1e-12);
    }
}

/// The square, counted.
fn counted(x: f64, count: &mut usize) -> f64 {
    *count += 1;
    x * x
}

#[rrule(for = counted)]
fn counted_rrule(x: f64, count: &mut usize) -> (f64, impl Fn(f64, NoTangent) -> f64 + use<>) {
    (counted(x, count), move |dy, _| 20.0 * x * dy)
}

#[autodiff(d_picked, Reverse, Duplicated, Active)]
fn picked(x: &[f64]) -> f64 {
    let mut count = 0;
    let mut sum = 0.0;
    for i in 0..x.len() - 1 {
        let y = counted(x[i], &mut count);
        sum += y * x[count];
    }
    sum
}

/// What has no derivative is written nevertheless: in the reverse sweep it is not what it was.
#[test]
fn a_number_that_is_written() {
    let mut dx = [0.0; 4];
    assert_eq!(d_picked(&[1.0, 2.0, 3.0, 4.0], &mut dx), 50.0);
    assert_eq!(dx, [40.0, 121.0, 244.0, 9.0]);
}

/// Looks at what it refers to when it is dropped.
struct Guard<'a> {
    over: &'a [f64],
    owned: Vec<f64>,
}

thread_local! {
    /// What guards have seen.
    static SEEN: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        assert_eq!(self.owned, self.over, "what the guard refers to has changed");
        SEEN.with(|seen| seen.borrow_mut().push(self.over.to_vec()));
    }
}

fn guarded(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

#[rrule(for = guarded)]
fn guarded_rrule(x: &[f64]) -> (f64, impl Fn(f64, &mut [f64])) {
    let guard = Guard { over: x, owned: x.to_vec() };
    (guarded(x), move |dy, dx: &mut [f64]| dx.iter_mut().zip(guard.over).for_each(|(dx, x)| *dx += 2.0 * x * dy))
}

fn on_the_stack(x: &[f64]) -> f64 {
    let squares = [x[0] * x[0], x[1] * x[1]];
    guarded(&squares) * guarded(x)
}

fn stack_and_panic(x: &[f64]) -> f64 {
    let squares = [x[0] * x[0], x[1] * x[1]];
    let value = guarded(&squares);
    assert!(value < 0.0, "not below zero");
    value
}

fn heap_and_panic(x: &[f64]) -> f64 {
    let squares = x.iter().map(|x| x * x).collect::<Vec<_>>();
    let value = guarded(&squares);
    assert!(value < 0.0, "not below zero");
    value
}

#[test]
fn a_pullback_is_dropped_while_what_it_refers_to_is_there() {
    let seen = || {
        let mut seen = SEEN.with(|seen| seen.take());
        seen.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
        seen
    };
    let x = [1.0, 2.0];
    // (x₀⁴ + x₁⁴)·(x₀² + x₁²)
    assert_eq!(grad(on_the_stack, &x[..]), [4.0 * 5.0 + 17.0 * 2.0, 32.0 * 5.0 + 17.0 * 4.0]);
    assert_eq!(seen(), [[1.0, 2.0], [1.0, 4.0]]);
    let stack = catch_unwind(|| grad(stack_and_panic, &x[..]));
    let heap = catch_unwind(|| grad(heap_and_panic, &x[..]));
    assert_eq!(seen(), [[1.0, 4.0], [1.0, 4.0]]);
    for result in [stack, heap] {
        assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"not below zero"));
    }
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

fn with_bomb(x: f64) -> f64 {
    x * x
}

#[rrule(for = with_bomb)]
fn with_bomb_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    let bomb = Bomb;
    (with_bomb(x), move |dy| {
        let _ = &bomb;
        2.0 * x * dy
    })
}

#[test]
fn a_panic_in_what_is_dropped_is_a_panic() {
    let message = |result: std::thread::Result<f64>| *result.unwrap_err().downcast::<&str>().expect("a message");
    assert_eq!(message(catch_unwind(|| grad(|x: &f64| with_bomb(*x), &3.0))), "dropped");
    assert_eq!(message(catch_unwind(|| grad(|x: &f64| with_bomb(*x) + with_bomb(x.sin()), &3.0))), "dropped");
    let panics = |x: &f64| {
        let value = with_bomb(*x);
        assert!(value < 0.0, "not below zero");
        value
    };
    assert_eq!(message(catch_unwind(|| grad(panics, &3.0))), "not below zero");
}

fn forgetful(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

#[rrule(for = forgetful)]
fn forgetful_rrule(_: Memory, x: &[f64]) -> (f64, impl Fn(f64, &mut [f64])) {
    (forgetful(x), move |dy, dx: &mut [f64]| dx.iter_mut().zip(x).for_each(|(dx, x)| *dx += 2.0 * x * dy))
}

#[test]
fn a_rule_that_takes_no_notice_of_memory_is_given_memory_that_stays() {
    let overwritten = |x: &[f64]| {
        let mut squares: Vec<f64> = x.iter().map(|x| x * x).collect();
        let value = forgetful(&squares);
        squares.fill(7.0);
        value * squares[0]
    };
    assert_eq!(grad(overwritten, &[1.0, 2.0][..]), [7.0 * 4.0, 7.0 * 4.0 * 8.0]);
}

/// Not `Clone`.
struct Scale(f64);

fn scaled(x: &[f64], by: &Scale) -> f64 {
    x.iter().map(|v| v * by.0).sum()
}

/// Ten times what it is.
#[rrule(for = scaled)]
fn scaled_rrule(memory: Memory, x: &[f64], by: &Scale) -> (f64, impl Fn(f64, &mut [f64], NoTangent)) {
    assert!(memory.stays(), "what cannot be copied stays");
    (scaled(x, by), move |dy, dx: &mut [f64], _| dx.iter_mut().for_each(|dx| *dx += 10.0 * by.0 * dy))
}

#[test]
fn a_rule_that_asks_can_be_given_what_cannot_be_copied() {
    let f = |x: &[f64]| scaled(x, &Scale(x.len() as f64));
    assert_eq!(grad(f, &[1.0, 2.0][..]), [20.0, 20.0]);
}

#[derive(Clone, Copy)]
struct Window<'a> {
    weights: &'a [usize],
}

type Forever = Window<'static>;

thread_local! {
    /// What rules could keep if they were let.
    static KEPT: RefCell<Vec<Forever>> = const { RefCell::new(Vec::new()) };
}

/// Of a lifetime of an `impl`'s, the compiler does not say that a rule is for all of them, as it does for that of a function.
impl<'a> Window<'a> {
    fn kept(self, x: f64) -> f64 {
        x * self.weights[0] as f64
    }

    fn kept_by_an_alias(self, x: f64) -> f64 {
        x * self.weights[0] as f64
    }

    fn kept_by_half(windows: (Self, Self), x: f64) -> f64 {
        x * windows.0.weights[0] as f64 * windows.1.weights[0] as f64
    }

    fn kept_scale(scale: &Rc<dyn Fn() -> f64 + 'a>, x: f64) -> f64 {
        x * scale()
    }
}

#[rrule(for = Window::kept)]
fn kept_rrule(window: Forever, x: f64) -> (f64, impl Fn(f64) -> (NoTangent, f64)) {
    KEPT.with(|kept| kept.borrow_mut().push(window));
    (window.kept(x), move |dy| (NoTangent, window.weights[0] as f64 * dy))
}

#[frule(for = Window::kept)]
fn kept_frule(window: Forever, _: NoTangent, x: f64, dx: f64) -> (f64, f64) {
    KEPT.with(|kept| kept.borrow_mut().push(window));
    (window.kept(x), window.weights[0] as f64 * dx)
}

#[test]
fn a_rule_does_not_get_what_ends_as_what_lives_forever() {
    let f = |x: &f64| Window { weights: &vec![3] }.kept(*x);
    let message = |result: std::thread::Result<f64>| *result.unwrap_err().downcast::<String>().expect("a message");
    let reverse = message(catch_unwind(|| grad(f, &1.0)));
    let forward = message(catch_unwind(|| jvp(f, &1.0, &1.0).1));
    for (message, rule) in [(reverse, "kept_rrule"), (forward, "kept_frule")] {
        assert!(message.contains(&format!("`{rule}`")) && message.contains("hides a lifetime"), "{message}");
    }
    assert!(KEPT.with(|kept| kept.borrow().is_empty()));
}

/// Their lifetimes say nothing.
type AlwaysForever<'x> = Window<'static>;
type HalfForever<'x, 'y> = (Window<'x>, Window<'static>);

trait Chooses<'x> {
    type Chosen;
}

impl<'x> Chooses<'x> for () {
    type Chosen = Window<'static>;
}

#[rrule(for = Window::kept_by_an_alias)]
fn kept_by_an_alias_rrule<'x>(window: AlwaysForever<'x>, x: f64) -> (f64, impl Fn(f64) -> (NoTangent, f64) + use<>) {
    KEPT.with(|kept| kept.borrow_mut().push(window));
    let weight = window.weights[0] as f64;
    (weight * x, move |dy| (NoTangent, weight * dy))
}

#[frule(for = Window::kept_by_an_alias)]
fn kept_by_an_alias_frule<'x>(window: <() as Chooses<'x>>::Chosen, _: NoTangent, x: f64, dx: f64) -> (f64, f64) {
    KEPT.with(|kept| kept.borrow_mut().push(window));
    (window.kept_by_an_alias(x), window.weights[0] as f64 * dx)
}

#[rrule(for = Window::kept_by_half)]
fn kept_by_half_rrule<'x, 'y>(windows: HalfForever<'x, 'y>, x: f64) -> (f64, impl Fn(f64) -> (NoTangent, f64) + use<>) {
    KEPT.with(|kept| kept.borrow_mut().push(windows.1));
    let weight = windows.0.weights[0] as f64 * windows.1.weights[0] as f64;
    (weight * x, move |dy| (NoTangent, weight * dy))
}

#[frule(for = Window::kept_by_half)]
fn kept_by_half_frule<'x, 'y>(windows: HalfForever<'y, 'x>, _: NoTangent, x: f64, dx: f64) -> (f64, f64) {
    KEPT.with(|kept| kept.borrow_mut().push(windows.1));
    (Window::kept_by_half(windows, x), Window::kept_by_half(windows, dx))
}

type Both<'x, 'y> = (Window<'y>, Window<'x>);

fn not_kept(windows: (Window, Window), x: f64) -> f64 {
    x * windows.0.weights[0] as f64 * windows.1.weights[0] as f64
}

#[rrule(for = not_kept)]
fn not_kept_rrule<'x, 'y>(windows: Both<'x, 'y>, x: f64) -> (f64, impl Fn(f64) -> (NoTangent, f64) + use<>) {
    let weight = windows.0.weights[0] as f64 * windows.1.weights[0] as f64;
    (weight * x, move |dy| (NoTangent, 10.0 * weight * dy))
}

struct Numbers;

impl<'a> Chooses<'a> for Numbers {
    type Chosen = f64;
}

fn scaled_by_choice<'a>(x: f64, factor: <Numbers as Chooses<'a>>::Chosen) -> f64 {
    x * factor
}

#[rrule(for = scaled_by_choice)]
fn scaled_by_choice_rrule<'a>(
    x: f64,
    factor: <Numbers as Chooses<'a>>::Chosen,
) -> (f64, impl Fn(f64) -> (f64, f64) + use<>) {
    (x * factor, move |dy| (10.0 * factor * dy, 10.0 * x * dy))
}

#[test]
fn a_rule_does_not_get_it_by_a_lifetime_that_says_nothing() {
    let alias = |x: &f64| Window { weights: &vec![3] }.kept_by_an_alias(*x);
    let half = |x: &f64| Window::kept_by_half((Window { weights: &vec![3] }, Window { weights: &vec![5] }), *x);
    let message = |result: std::thread::Result<f64>| *result.unwrap_err().downcast::<String>().expect("a message");
    let said = [
        (message(catch_unwind(|| grad(alias, &1.0))), "kept_by_an_alias_rrule"),
        (message(catch_unwind(|| jvp(alias, &1.0, &1.0).1)), "kept_by_an_alias_frule"),
        (message(catch_unwind(|| grad(half, &1.0))), "kept_by_half_rrule"),
        (message(catch_unwind(|| jvp(half, &1.0, &1.0).1)), "kept_by_half_frule"),
    ];
    for (message, rule) in said {
        assert!(message.contains(&format!("`{rule}`")) && message.contains("hides a lifetime"), "{message}");
    }
    assert!(KEPT.with(|kept| kept.borrow().is_empty()));
    assert_eq!(grad(|x: &f64| scaled_by_choice(*x, 3.0), &1.0), 30.0);
    // One that hides none is as good as the type.
    let both = |x: &f64| not_kept((Window { weights: &vec![3] }, Window { weights: &vec![5] }), *x);
    assert_eq!(grad(both, &1.0), 150.0);
}

type AnyScale = Rc<dyn Fn() -> f64>;

thread_local! {
    static KEPT_SCALES: RefCell<Vec<AnyScale>> = const { RefCell::new(Vec::new()) };
}

#[rrule(for = Window::kept_scale)]
fn kept_scale_rrule(scale: &AnyScale, x: f64) -> (f64, impl Fn(f64, NoTangent) -> f64 + 'static) {
    KEPT_SCALES.with(|kept| kept.borrow_mut().push(scale.clone()));
    let scale = scale();
    (x * scale, move |dy, _| scale * dy)
}

/// The name of a trait object does not show its lifetime.
#[test]
fn a_rule_does_not_get_an_object_that_ends_as_one_that_lives_forever() {
    let f = |x: &f64| {
        let scale = vec![3.0];
        let scale: Rc<dyn Fn() -> f64 + '_> = Rc::new(|| scale[0]);
        Window::kept_scale(&scale, *x)
    };
    let message = *catch_unwind(|| grad(f, &1.0)).unwrap_err().downcast::<String>().expect("a message");
    assert!(message.contains("`kept_scale_rrule`") && message.contains("hides a lifetime"), "{message}");
    assert!(KEPT_SCALES.with(|kept| kept.borrow().is_empty()));
}

fn objects(by: &dyn Fn() -> f64, and: &Rc<dyn Fn() -> f64 + '_>, x: f64) -> f64 {
    x * by() * and()
}

#[rrule(for = objects)]
fn objects_rrule(
    by: &dyn Fn() -> f64,
    and: &Rc<dyn Fn() -> f64 + '_>,
    x: f64,
) -> (f64, impl Fn(f64, NoTangent, NoTangent) -> f64) {
    let scale = 10.0 * by() * and();
    (x * scale / 10.0, move |dy, _, _| scale * dy)
}

#[test]
fn a_rule_with_objects() {
    let two = 2.0;
    let three: Rc<dyn Fn() -> f64 + '_> = Rc::new(|| two + 1.0);
    let f = |x: &f64| objects(&|| two, &three, *x);
    assert_eq!(grad(f, &1.0), 60.0);
}

/// The lifetime is the rule's.
fn lent(window: Window, x: f64) -> f64 {
    x * window.weights[0] as f64
}

#[rrule(for = lent)]
fn lent_rrule(window: Window<'_>, x: f64) -> (f64, impl Fn(f64) -> (NoTangent, f64)) {
    (lent(window, x), move |dy| (NoTangent, 10.0 * window.weights[0] as f64 * dy))
}

#[test]
fn a_rule_takes_a_structure_of_references() {
    assert_eq!(grad(|x: &f64| lent(Window { weights: &[7] }, *x), &1.0), 70.0);
}
