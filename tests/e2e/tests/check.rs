//! Wrong rules are found, right ones are not.

use pullback::{check, frule, rrule, scalar_rule};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// What `check::rule` says, if anything.
fn complaint(f: impl Fn()) -> Option<String> {
    let result = catch_unwind(AssertUnwindSafe(f));
    result.err().map(|error| error.downcast_ref::<String>().cloned().unwrap_or_default())
}

macro_rules! planted {
    ($($name:ident: $function:ident, $pullback:expr;)*) => {$(
        fn $function(x: f64, y: f64) -> f64 {
            x * x * y.sin()
        }

        #[rrule(for = $function)]
        fn $name(x: f64, y: f64) -> (f64, impl Fn(f64) -> (f64, f64)) {
            ($function(x, y), move |d: f64| {
                let pullback: fn(f64, f64, f64) -> (f64, f64) = $pullback;
                pullback(x, y, d)
            })
        }
    )*};
}

planted! {
    right_rule: right, |x, y, d| (2.0 * x * y.sin() * d, x * x * y.cos() * d);
    factor_rule: by_a_factor, |x, y, d| (x * y.sin() * d, x * x * y.cos() * d);
    sign_rule: in_sign, |x, y, d| (2.0 * x * y.sin() * d, -x * x * y.cos() * d);
    argument_rule: in_one_argument, |x, y, d| (2.0 * x * y.sin() * d, 0.0 * y * d);
    place_rule: in_some_places, |x, y, d| (if x > 2.0 { 2.001 } else { 2.0 } * x * y.sin() * d, x * x * y.cos() * d);
}

#[test]
fn a_right_rule_passes() {
    assert_eq!(
        complaint(|| check::rule(|v: &[f64; 2]| right(v[0], v[1]), &[[1.0, 2.0], [-0.5, 0.3], [0.0, 0.0]])),
        None
    );
}

#[test]
fn wrong_rules_are_found() {
    let points = [[1.0, 2.0], [3.0, 0.4]];
    let said = [
        complaint(|| check::rule(|v: &[f64; 2]| by_a_factor(v[0], v[1]), &points)),
        complaint(|| check::rule(|v: &[f64; 2]| in_sign(v[0], v[1]), &points)),
        complaint(|| check::rule(|v: &[f64; 2]| in_one_argument(v[0], v[1]), &points)),
        complaint(|| check::rule(|v: &[f64; 2]| in_some_places(v[0], v[1]), &points)),
    ];
    for (said, argument) in said.iter().zip([0, 1, 1, 0]) {
        let said = said.as_ref().expect("a wrong rule is found");
        assert!(said.contains(&format!("by float {argument} of the argument")), "{said}");
    }
}

fn cube(x: f64) -> f64 {
    x * x * x
}

/// Right in reverse mode, wrong in forward mode.
#[rrule(for = cube)]
fn cube_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (cube(x), move |d| 3.0 * x * x * d)
}

#[frule(for = cube)]
fn cube_frule(x: f64, dx: f64) -> (f64, f64) {
    (cube(x), 3.0 * x * dx)
}

#[test]
fn rules_that_disagree_are_found() {
    let said = complaint(|| check::rule(|x: &f64| cube(*x), &[2.0])).expect("the rules disagree");
    assert!(said.contains("forward mode") && said.contains("reverse mode"), "{said}");
}

#[inline(never)]
fn square_root(x: f64) -> f64 {
    x.sqrt()
}

/// Right, but its pullback has its factor from a detour that carries no derivative.
#[rrule(for = square_root)]
fn square_root_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    let y = square_root(x);
    let text = format!("{:e}", 0.5 / y);
    let factor: f64 = text.parse().unwrap();
    (y, move |d| factor * d)
}

#[inline(never)]
fn squared(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| x * x).collect()
}

/// In forward mode, and only for the second float.
#[frule(for = squared)]
fn squared_frule(x: &[f64], dx: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let factor = |i: usize, x: f64| if i == 1 { hidden(2.0 * x) } else { 2.0 * x };
    (squared(x), x.iter().zip(dx).enumerate().map(|(i, (x, dx))| factor(i, *x) * dx).collect())
}

#[inline(never)]
#[pullback::non_differentiable]
fn hidden(x: f64) -> f64 {
    x
}

#[test]
fn rules_that_are_wrong_only_at_second_order_are_found() {
    assert_eq!(check::derivatives(|x: &f64| square_root(*x), &2.0), Ok(()));
    let said = complaint(|| check::rule(|x: &f64| square_root(*x), &[2.0])).expect("its derivative is wrong");
    assert!(said.contains("forward over reverse"), "{said}");

    let whole = |x: &Vec<f64>| squared(x);
    assert_eq!(check::derivatives(whole, &vec![1.0, 2.0, 3.0]), Ok(()));
    let said = complaint(|| check::rule(whole, &[vec![1.0, 2.0, 3.0]])).expect("its derivative is wrong");
    assert!(said.contains("float 1") && said.contains("forward over forward"), "{said}");
}

fn blend(x: f32, y: f32) -> f32 {
    x * y + x
}

scalar_rule!(blend(x: f32, y: f32) -> f32 => r; d/dx = y + 1.0, d/dy = x);

/// In single precision, slices, and structures with memory.
#[test]
fn other_types() {
    check::rule(|v: &(f32, f32)| blend(v.0, v.1), &[(1.0, 2.0), (-3.0, 0.5)]);
    check::derivatives(|x: &[f64]| x.iter().map(|v| v * v).collect::<Vec<f64>>(), &[1.0, 2.0, 3.0][..]).unwrap();
    let vectors = |v: &(Vec<f64>, f64)| v.0.iter().map(|x| (x * v.1).exp()).sum::<f64>();
    check::derivatives(vectors, &(vec![0.1, 0.2], 0.7)).unwrap();
}

thread_local! {
    /// What `keeping` was given, with what it held.
    static KEPT: RefCell<Vec<(Rc<f64>, f64)>> = const { RefCell::new(Vec::new()) };
}

/// The square. It keeps what it is given.
fn keeping(x: &Rc<f64>) -> f64 {
    KEPT.with(|kept| kept.borrow_mut().push((x.clone(), **x)));
    **x * **x
}

#[rrule(for = keeping)]
fn keeping_rrule(x: &Rc<f64>) -> (f64, impl Fn(f64, &mut Rc<f64>) + use<>) {
    let x = **x;
    (x * x, move |dy, dx| *dx = Rc::new(2.0 * x * dy))
}

#[frule(for = keeping)]
fn keeping_frule(x: &Rc<f64>, dx: &Rc<f64>) -> (f64, f64) {
    (**x * **x, 2.0 * **x * **dx)
}

/// What the function keeps of its argument stays as it was.
#[test]
fn a_function_that_keeps_what_it_is_given() {
    let f = |x: &Rc<f64>| keeping(x);
    assert_eq!(check::derivatives(f, &Rc::new(3.0)), Ok(()));
    let kept = KEPT.with(RefCell::take);
    assert!(kept.len() >= 4);
    for (value, before) in kept {
        assert_eq!(*value, before);
    }
}
