//! Enums in shadows: of what lies there beside floats and pointers nothing is seen while a derivative runs, and all of
//! it is there again afterwards.

use super::stand_ins::{StandIn, asked, message};
use pullback::abi::Mode;
use pullback::rt::Tape;
use pullback::{Differentiable, autodiff};
use std::cell::Cell;
use std::rc::Rc;

#[derive(Clone, Copy, PartialEq, Debug, Differentiable)]
enum Reading {
    Exact(f64),
    Count(u64),
    Both(f64, u64),
}

impl Reading {
    /// How far from the start the float lies.
    fn offset() -> usize {
        let reading = Reading::Exact(0.0);
        let Reading::Exact(value) = &reading else { unreachable!() };
        (&raw const *value).addr() - (&raw const reading).addr()
    }
}

#[autodiff(d_put, Reverse, Duplicated, Active)]
fn put(to: &mut [Reading], x: f64) {
    to[0] = Reading::Exact(x);
    assert!(x < 10.0, "too large");
}

unsafe extern "C-unwind" fn put_derivative(
    _: *mut Tape,
    to: *mut *mut [Reading],
    d_to: *mut *mut [Reading],
    x: *const f64,
    dx: *mut f64,
    _: *mut (),
) {
    // SAFETY: as of a derivative.
    unsafe {
        put(&mut *to.read(), x.read());
        *dx += d_to.read().byte_add(Reading::offset()).cast::<f64>().replace(0.0);
    }
}

#[test]
fn numbers_where_a_float_is_put() {
    StandIn::new(put_derivative as *const ()).of("put", Mode::Reverse);
    for bits in [7, f64::to_bits(2.0), u64::MAX] {
        let mut to = [Reading::Count(3), Reading::Both(2.0, 3)];
        let mut d_to = [Reading::Count(bits), Reading::Both(5.0, bits)];
        assert_eq!(d_put(&mut to, &mut d_to, 4.0), 0.0);
        assert_eq!(message(|| d_put(&mut [Reading::Count(1); 2], &mut [Reading::Count(bits); 2], 40.0)), "too large");
        assert_eq!((to[0], d_to), (Reading::Exact(4.0), [Reading::Count(bits), Reading::Both(5.0, bits)]));
    }
    let mut d_to = [Reading::Exact(5.0); 2];
    assert_eq!(d_put(&mut [Reading::Exact(1.0); 2], &mut d_to, 4.0), 5.0);
    assert_eq!(d_to, [Reading::Exact(0.0), Reading::Exact(5.0)]);
}

#[derive(Differentiable)]
struct Deep<'a> {
    options: Vec<Option<f64>>,
    boxed: Box<Option<f64>>,
    lent: &'a mut Option<f64>,
    cell: Rc<Cell<Option<f64>>>,
}

#[autodiff(d_fill, Reverse, Duplicated, Active)]
fn fill(to: &mut Deep<'_>, x: f64) {
    to.options.iter_mut().for_each(|option| *option = Some(x));
    *to.boxed = Some(x);
    *to.lent = Some(x);
    to.cell.set(Some(x));
}

unsafe extern "C-unwind" fn fill_derivative(
    _: *mut Tape,
    to: *mut *mut Deep<'_>,
    d_to: *mut *mut Deep<'_>,
    x: *const f64,
    dx: *mut f64,
    _: *mut (),
) {
    // SAFETY: as of a derivative. All shadows are in memory that it may write.
    unsafe {
        fill(&mut *to.read(), x.read());
        let shadow = d_to.read();
        let option = Some(1.0);
        let Some(value) = &option else { unreachable!() };
        let offset = (&raw const *value).addr() - (&raw const option).addr();
        let take = |place: *mut Option<f64>| *dx += place.byte_add(offset).cast::<f64>().replace(0.0);
        let options = (*shadow).options.as_mut_ptr();
        (0..(*shadow).options.len()).for_each(|index| take(options.add(index)));
        take((&raw mut (*shadow).boxed).cast::<*mut Option<f64>>().read());
        take((&raw mut (*shadow).lent).cast::<*mut Option<f64>>().read());
        take(Rc::as_ptr(&(*shadow).cell).cast_mut().cast());
    }
}

#[test]
fn in_all_that_a_shadow_owns() {
    StandIn::new(fill_derivative as *const ()).of("fill", Mode::Reverse);
    fn deep(lent: &mut Option<f64>, of: Option<f64>) -> Deep<'_> {
        Deep { options: vec![of, None, Some(3.0)], boxed: Box::new(of), lent, cell: Rc::new(Cell::new(of)) }
    }
    for (of, expected) in [(None, 3.0), (Some(5.0), 23.0)] {
        let (mut lent, mut d_lent) = (of, of);
        let (mut to, mut d_to) = (deep(&mut lent, of), deep(&mut d_lent, of));
        assert_eq!(d_fill(&mut to, &mut d_to, 4.0), expected);
        let zero = of.map(|_| 0.0);
        assert_eq!(d_to.options, [zero, None, Some(0.0)]);
        assert_eq!((*d_to.boxed, *d_to.lent, d_to.cell.get()), (zero, zero, zero));
    }
    // Somebody else would see what is masked.
    let (mut lent, mut d_lent) = (None, None);
    let (mut to, mut d_to) = (deep(&mut lent, None), deep(&mut d_lent, None));
    let other = d_to.cell.clone();
    let said = message(|| d_fill(&mut to, &mut d_to, 4.0));
    assert!(said.contains("something that is no shadow may refer to it"), "{said}");
    assert_eq!((other.get(), asked()), (None, 2));
}

#[autodiff(d_shared, Reverse, Duplicated, Active, Active)]
fn shared(reading: &Reading, x: f64) -> f64 {
    match *reading {
        Reading::Exact(value) => value * x,
        Reading::Count(count) => count as f64 * x,
        Reading::Both(value, count) => value * count as f64 * x,
    }
}

/// A copy may have been moved there and back, whatever it is.
unsafe extern "C-unwind" fn shared_derivative(
    _: *mut Tape,
    reading: *const &Reading,
    d_reading: *mut *mut Reading,
    x: *const f64,
    dx: *mut f64,
    out: *mut f64,
    d_out: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe {
        let slope = shared(reading.read(), 1.0);
        out.write(slope * x.read());
        *dx += slope * d_out.read();
        let payload = d_reading.read().byte_add(Reading::offset()).cast::<f64>();
        match reading.read() {
            Reading::Exact(_) => *payload += x.read() * d_out.read(),
            _ => payload.write(f64::NAN),
        }
        d_out.write(0.0);
    }
}

#[test]
fn behind_a_shared_reference() {
    StandIn::new(shared_derivative as *const ()).of("shared", Mode::Reverse);
    let mut shadow = Reading::Exact(1.0);
    assert_eq!(d_shared(&Reading::Exact(3.0), &mut shadow, 2.0), (3.0, 6.0));
    assert_eq!(shadow, Reading::Exact(3.0));
    let mut shadow = Reading::Count(u64::MAX);
    assert_eq!(d_shared(&Reading::Count(3), &mut shadow, 2.0), (3.0, 6.0));
    assert_eq!(shadow, Reading::Count(u64::MAX));
}

#[derive(Clone, PartialEq, Debug, Differentiable)]
enum Gauge {
    Exact(Cell<f64>),
    Count(u64),
}

#[autodiff(d_gauge, Reverse, Duplicated, Active)]
fn gauge(of: &[Gauge]) -> f64 {
    of.iter().map(|of| if let Gauge::Exact(value) = of { value.get() } else { 0.0 }).sum()
}

unsafe extern "C-unwind" fn gauge_derivative(
    _: *mut Tape,
    of: *const &[Gauge],
    shadow: *mut *const [Gauge],
    out: *mut f64,
    d_out: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(gauge(of.read()));
        for gauge in &*shadow.read() {
            if let Gauge::Exact(value) = gauge {
                value.set(value.get() + d_out.read());
            }
        }
        d_out.write(0.0);
    }
}

/// A number in memory that may be one in which nothing can be written.
#[test]
fn behind_a_shared_reference_beside_cells() {
    StandIn::new(gauge_derivative as *const ()).of("gauge", Mode::Reverse);
    let of = [Gauge::Exact(Cell::new(2.0)), Gauge::Count(3)];
    let mut shadow = [Gauge::Exact(Cell::new(1.0)), Gauge::Count(7)];
    assert_eq!(d_gauge(&of, &mut shadow), 2.0);
    assert_eq!(shadow, [Gauge::Exact(Cell::new(2.0)), Gauge::Count(7)]);
}

#[derive(Clone, Copy, PartialEq, Debug, Differentiable)]
struct Pair {
    first: Option<f64>,
    second: Reading,
}

#[autodiff(d_pair, Reverse, Active, Duplicated)]
fn pair(x: Reading) -> Pair {
    Pair { first: None, second: x }
}

unsafe extern "C-unwind" fn pair_derivative(
    _: *mut Tape,
    x: *const Reading,
    dx: *mut Reading,
    out: *mut Pair,
    d_out: *mut Pair,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(pair(x.read()));
        let from = (&raw mut (*d_out).second).byte_add(Reading::offset()).cast::<f64>();
        *dx.byte_add(Reading::offset()).cast::<f64>() += from.replace(0.0);
    }
}

#[test]
fn by_value_and_in_a_seed() {
    StandIn::new(pair_derivative as *const ()).of("pair", Mode::Reverse);
    let seed = Pair { first: Some(1.0), second: Reading::Exact(5.0) };
    let (gradient, value) = d_pair(Reading::Exact(2.0), seed);
    assert_eq!((gradient, value), (Reading::Exact(5.0), Pair { first: None, second: Reading::Exact(2.0) }));
    let seed = Pair { first: None, second: Reading::Count(5) };
    assert_eq!(d_pair(Reading::Count(2), seed).0, Reading::Count(2));
}

#[autodiff(d_taken, Reverse, Active, Active)]
fn taken(x: Vec<Option<Box<f64>>>) -> f64 {
    panic!("it fails with {}", x.len())
}

unsafe extern "C-unwind" fn taken_derivative(
    _: *mut Tape,
    x: *const Vec<Option<Box<f64>>>,
    _: *mut Vec<Option<Box<f64>>>,
    _: *mut f64,
    _: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe { taken(x.read()) };
}

/// What is masked in the gradient of an argument is there again before the gradient is dropped.
#[test]
fn in_a_gradient_that_is_never_returned() {
    StandIn::new(taken_derivative as *const ()).of("taken", Mode::Reverse);
    assert_eq!(message(|| d_taken(vec![Some(Box::new(1.0)), None])), "it fails with 2");
    StandIn::new(failed_derivative as *const ()).of("failed", Mode::Reverse);
    let x = vec![Owner::Named { name: "a name".to_owned(), weight: 1.0 }, Owner::Weighed(2.0)];
    assert_eq!(message(|| d_failed(x)), "it fails with 2");
}

#[derive(Clone, PartialEq, Debug, Differentiable)]
enum Owner {
    Named { name: String, weight: f64 },
    Weighed(f64),
}

#[autodiff(d_failed, Reverse, Active, Active)]
fn failed(x: Vec<Owner>) -> f64 {
    panic!("it fails with {}", x.len())
}

unsafe extern "C-unwind" fn failed_derivative(
    _: *mut Tape,
    x: *const Vec<Owner>,
    _: *mut Vec<Owner>,
    _: *mut f64,
    _: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe { failed(x.read()) };
}
