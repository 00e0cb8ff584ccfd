//! A panic inside goes through to the caller with its own message, and leaves nothing half-written that looks like a
//! result.

use pullback::{autodiff, grad, hvp, vjp};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The message of the panic that `f` ends with.
fn message<T>(f: impl FnOnce() -> T) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("it panics");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&'static str>().expect("a message")).to_owned(),
    }
}

#[autodiff(d_indexed, Reverse, Duplicated, Const, Active)]
#[autodiff(t_indexed, Forward, Dual, Const, Dual)]
fn indexed(x: &[f64], index: usize) -> f64 {
    x[index] * x[0]
}

#[test]
fn bounds_checks() {
    let mut dx = [0.0; 2];
    assert_eq!(d_indexed(&[2.0, 3.0], &mut dx, 1), 6.0);
    let mut dx = [0.0; 2];
    let text = message(|| d_indexed(&[2.0, 3.0], &mut dx, 7));
    assert_eq!(text, "index out of bounds: the len is 2 but the index is 7");
    assert_eq!(dx, [0.0; 2]);
    let text = message(|| t_indexed(&[2.0, 3.0], &[1.0, 0.0], 7));
    assert_eq!(text, "index out of bounds: the len is 2 but the index is 7");
}

#[autodiff(d_negative, Reverse, Active, Active)]
#[autodiff(t_negative, Forward, Dual, Dual)]
fn negative(x: f64) -> f64 {
    assert!(x >= 0.0, "{x} is negative");
    x.sqrt()
}

#[test]
fn messages_with_active_values() {
    assert_eq!(d_negative(4.0), (0.25, 2.0));
    assert_eq!(message(|| d_negative(-1.5)), "-1.5 is negative");
    assert_eq!(message(|| t_negative(-1.5, 1.0)), "-1.5 is negative");
}

#[autodiff(d_unwrapped, Reverse, Duplicated, Active)]
fn unwrapped(x: &[f64]) -> f64 {
    let owned: Vec<f64> = x.iter().map(|v| v * v).collect();
    owned.iter().copied().reduce(|a, b| a * b).expect("an element")
}

#[test]
fn with_memory_held() {
    assert_eq!(message(|| d_unwrapped(&[], &mut [])), "an element");
    let mut dx = [0.0; 2];
    assert_eq!(d_unwrapped(&[2.0, 3.0], &mut dx), 36.0);
    assert_eq!(dx, [36.0, 24.0]);
}

struct Counted<'a>(&'a Cell<u32>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[autodiff(d_guarded, Reverse, Active, Const, Active)]
fn guarded(x: f64, drops: &Cell<u32>) -> f64 {
    let _guard = Counted(drops);
    assert!(x < 10.0, "too large");
    x * x
}

#[test]
fn a_users_drop_runs_once() {
    let drops = Cell::new(0);
    assert_eq!(d_guarded(3.0, &drops), (6.0, 9.0));
    assert_eq!(drops.get(), 1);
}

#[test]
fn a_users_drop_runs_on_a_panic() {
    let drops = Cell::new(0);
    assert_eq!(message(|| d_guarded(30.0, &drops)), "too large");
    assert_eq!(drops.get(), 1);
}

#[autodiff(d_late, Reverse, Duplicated, Duplicated)]
fn late(out: &mut [f64], x: &[f64]) {
    for (index, (out, x)) in out.iter_mut().zip(x).enumerate() {
        assert!(index < 2, "the third element");
        *out = x * x;
    }
}

#[test]
fn a_late_panic_leaves_the_gradient_alone() {
    let (mut out, mut d_out, mut dx) = ([0.0; 3], [1.0; 3], [0.0; 3]);
    assert_eq!(message(|| d_late(&mut out, &mut d_out, &[1.0, 2.0, 3.0], &mut dx)), "the third element");
    assert_eq!(dx, [0.0; 3]);
}

#[autodiff(d_overflow, Reverse, Active, Const, Active)]
fn overflow(x: f64, n: u8) -> f64 {
    x * f64::from(n.checked_add(250).expect("it fits"))
}

#[test]
fn integer_checks() {
    assert_eq!(d_overflow(2.0, 5), (255.0, 510.0));
    assert_eq!(message(|| d_overflow(2.0, 6)), "it fits");
}

/// Compounds as often as it is told, and looks at the rates one by one.
fn compounded(rates: &[f64], years: usize) -> f64 {
    let mut value = 1.0_f64;
    for year in 0..years {
        value = value * (1.0 + rates[year]) + value.sin();
    }
    value
}

/// As many steps as there are numbers, if it gets so far.
fn round_the_numbers(x: f64, start: usize) -> f64 {
    let (mut value, mut at) = (1.0_f64, start);
    loop {
        value = value * x + value.sin();
        assert!(value < 1e6, "too large");
        at = at.wrapping_add(1);
        if at == start {
            return value;
        }
    }
}

#[test]
fn a_loop_asks_for_no_more_memory_than_it_gets_to_use() {
    let rates = [0.5, 0.25, 0.125];
    let text = "index out of bounds: the len is 3 but the index is 3";
    for years in [usize::MAX, usize::MAX / 8, 1 << 60, 1 << 45].map(std::hint::black_box) {
        assert_eq!(message(|| grad(|r: &[f64]| compounded(r, years), &rates[..])), text);
        assert_eq!(message(|| hvp(|r: &[f64]| compounded(r, years), &rates[..], &[1.0, 0.0, 0.0][..])), text);
        assert_eq!(message(|| vjp(|r: &[f64]| compounded(r, years), &rates[..])), text);
        assert_eq!(message(|| grad(|x: &f64| round_the_numbers(*x, years), &1.5)), "too large");
    }
    let (found, step) = (grad(|r: &[f64]| compounded(r, 3), &rates[..]), 1e-6);
    let difference =
        (compounded(&[0.5 + step, 0.25, 0.125], 3) - compounded(&[0.5 - step, 0.25, 0.125], 3)) / (2.0 * step);
    assert!((found[0] - difference).abs() < 1e-6, "{found:?} {difference}");
}

#[autodiff(d_grown, Reverse, Duplicated, Active)]
fn grown(v: &mut Vec<f64>, x: f64) {
    v.push(x * x);
    assert!(x < 0.0, "grown too far");
}

/// A forward derivative of a derivative that has moved the pointers of a shadow: what has a shadow there is lost, and
/// nothing is freed twice.
#[test]
fn a_panic_in_an_inner_derivative_that_has_moved_pointers() {
    let f = |x: &[f64]| {
        let (mut v, mut d) = (vec![x[0], x[1]], vec![0.0, 0.0]);
        d_grown(&mut v, &mut d, x[0]);
        d.iter().sum::<f64>()
    };
    let panic = std::panic::catch_unwind(|| pullback::jvp(f, &[2.0, 3.0][..], &[1.0, 0.0][..])).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"grown too far"));
}
