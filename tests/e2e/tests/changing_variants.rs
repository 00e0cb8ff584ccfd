//! A function that turns an argument's enum into another variant. The shadow keeps the variant that the argument had:
//! it is the cotangent of what went in. Of what came out in another variant the cotangent is zero, whatever bytes lie
//! in the shadow.

use pullback::{Differentiable, autodiff};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What may lie in the bytes that a variant does not use.
const LEFTOVERS: [u64; 5] =
    [0, 4, 0x4014_0000_0000_0000 /* 5.0 */, 0x7ff8_0000_0000_0000 /* NaN */, u64::MAX];

/// `None`, with `bits` where `Some` has its payload.
fn none(bits: u64) -> Option<f64> {
    let mut place = Some(f64::from_bits(bits));
    let word = (&raw mut place).cast::<u64>();
    // SAFETY: an `Option<f64>` is a word for the variant, which is 0 for `None`, and a payload.
    unsafe { word.write(0) };
    assert!(place.is_none());
    assert_eq!(payload(&place), bits);
    place
}

/// The bits where `Some` has its payload.
fn payload(option: &Option<f64>) -> u64 {
    // SAFETY: as above; `none` wrote both words.
    unsafe { (&raw const *option).cast::<u64>().add(1).read() }
}

#[autodiff(d_put, Reverse, Duplicated, Active)]
fn put(option: &mut Option<f64>, x: f64) {
    *option = Some(x * x);
}

#[autodiff(d_put_and_use, Reverse, Duplicated, Active, Active)]
fn put_and_use(option: &mut Option<f64>, x: f64) -> f64 {
    if option.is_none() {
        *option = Some(x * x);
    }
    option.map_or(0.0, |value| value * 3.0)
}

#[test]
fn none_becomes_some() {
    for bits in LEFTOVERS {
        let (mut option, mut shadow) = (None, none(bits));
        assert_eq!(d_put(&mut option, &mut shadow, 3.0), 0.0, "{bits:x}");
        assert_eq!((option, shadow, payload(&shadow)), (Some(9.0), None, bits));

        let (mut option, mut shadow) = (None, none(bits));
        assert_eq!(d_put_and_use(&mut option, &mut shadow, 3.0), (18.0, 27.0), "{bits:x}");
        assert_eq!((option, shadow, payload(&shadow)), (Some(9.0), None, bits));
    }
}

#[test]
fn some_stays_some() {
    let (mut option, mut shadow) = (Some(1.0), Some(0.5));
    assert_eq!(d_put(&mut option, &mut shadow, 3.0), 3.0);
    assert_eq!((option, shadow), (Some(9.0), Some(0.0)));

    let (mut option, mut shadow) = (Some(1.0), Some(0.5));
    assert_eq!(d_put_and_use(&mut option, &mut shadow, 3.0), (0.0, 3.0));
    assert_eq!((option, shadow), (Some(1.0), Some(3.5)));
}

#[autodiff(d_put_in_all, Reverse, Duplicated, Active, Active)]
fn put_in_all(options: &mut [Option<f64>], x: f64) -> f64 {
    let mut sum = 0.0;
    for (option, k) in options.iter_mut().zip(1..) {
        match option {
            Some(value) => sum += *value * f64::from(k),
            None => *option = Some(x * f64::from(k)),
        }
        sum += option.unwrap_or(0.0) * x;
    }
    sum
}

/// Forward and reverse agree, and the shadow keeps its variants, in a slice and in a `Vec` in a `Box`.
#[test]
fn many_options() {
    for bits in LEFTOVERS {
        let mut options = [Some(2.0), None, Some(3.0), None];
        let mut shadow = [Some(0.0), none(bits), Some(0.0), none(bits)];
        // sum = 2·1 + 2x + 2x·x + 3·3 + 3x + 4x·x at x = 5
        assert_eq!(d_put_in_all(&mut options, &mut shadow, 5.0), (5.0 + 60.0, 11.0 + 25.0 + 150.0));
        assert_eq!(options, [Some(2.0), Some(10.0), Some(3.0), Some(20.0)]);
        assert_eq!(shadow, [Some(6.0), None, Some(8.0), None]);
        assert_eq!([payload(&shadow[1]), payload(&shadow[3])], [bits; 2]);
    }
}

#[derive(Clone, PartialEq, Debug, Differentiable)]
enum Reading {
    Exact(f64),
    Count(u64),
    Pair {
        low: f64,
        high: f64,
        #[pullback(skip)]
        label: u32,
    },
}

impl Reading {
    fn value(&self) -> f64 {
        match self {
            Reading::Exact(value) => *value,
            Reading::Count(count) => *count as f64,
            Reading::Pair { low, high, .. } => (low + high) / 2.0,
        }
    }
}

#[autodiff(d_measure, Reverse, Duplicated, Active, Active)]
fn measure(reading: &mut Reading, x: f64) -> f64 {
    let before = reading.value();
    *reading = Reading::Exact(x * before);
    let exact = reading.value();
    *reading = Reading::Count(7);
    exact * exact
}

/// An integer in the shadow is neither a cotangent, nor changed.
#[test]
fn a_number_becomes_a_float() {
    for bits in LEFTOVERS {
        let (mut reading, mut shadow) = (Reading::Count(4), Reading::Count(bits));
        assert_eq!(d_measure(&mut reading, &mut shadow, 3.0), (96.0, 144.0));
        assert_eq!((reading, shadow), (Reading::Count(7), Reading::Count(bits)));
    }
    let (mut reading, mut shadow) = (Reading::Exact(4.0), Reading::Exact(0.0));
    assert_eq!(d_measure(&mut reading, &mut shadow, 3.0), (96.0, 144.0));
    assert_eq!((reading, shadow), (Reading::Count(7), Reading::Exact(72.0)));
}

/// A shadow's `None` in a niche is not always beside the float: here it is in the `bool`.
#[autodiff(d_niche, Reverse, Duplicated, Active, Active)]
fn niche(option: &mut Option<(f64, bool)>, x: f64) -> f64 {
    let old = option.map_or(1.0, |(value, _)| value);
    *option = Some((x * old, true));
    option.map_or(0.0, |(value, _)| value * 2.0)
}

#[test]
fn none_in_a_niche() {
    for bits in LEFTOVERS {
        let mut shadow = Some((f64::from_bits(bits), true));
        // SAFETY: `None` has another value than 0 and 1 where the `bool` is: that of a fresh `None`.
        unsafe {
            let fresh: Option<(f64, bool)> = None;
            let tag = (&raw const fresh).cast::<u8>().add(8).read();
            (&raw mut shadow).cast::<u8>().add(8).write(tag);
        }
        let mut option = None;
        assert_eq!(d_niche(&mut option, &mut shadow, 3.0), (2.0, 6.0), "{bits:x}");
        assert_eq!((option, shadow), (Some((3.0, true)), None));
    }
    let (mut option, mut shadow) = (Some((4.0, false)), Some((0.0, false)));
    assert_eq!(d_niche(&mut option, &mut shadow, 3.0), (8.0, 24.0));
    assert_eq!((option, shadow), (Some((12.0, true)), Some((6.0, false))));
}

#[autodiff(d_cell, Reverse, Duplicated, Active, Active)]
fn cell(cell: &Cell<Option<f64>>, x: f64) -> f64 {
    cell.set(Some(cell.get().unwrap_or(1.0) * x));
    cell.get().unwrap_or(0.0) * x
}

#[test]
fn a_cell_behind_a_shared_reference() {
    for bits in LEFTOVERS {
        let (primal, mut shadow) = (Cell::new(None), Cell::new(None));
        // The cell is filled in place: a move may drop the bytes.
        // SAFETY: nothing refers to the content.
        unsafe { shadow.as_ptr().cast::<u64>().add(1).write(bits) };
        assert_eq!(d_cell(&primal, &mut shadow, 3.0), (6.0, 9.0), "{bits:x}");
        assert_eq!((primal.get(), shadow.get()), (Some(3.0), None));
    }
}

#[autodiff(d_root, Reverse, Active, Duplicated)]
fn root(x: f64) -> Option<f64> {
    (x >= 0.0).then(|| x.sqrt())
}

#[autodiff(d_parse, Reverse, Active, Duplicated)]
fn parse(x: f64) -> Result<f64, u64> {
    if x > 0.0 { Ok(x * x) } else { Err(3) }
}

/// A seed is given before the result's variant is known. Where it has another one, nothing flows back.
#[test]
fn a_seed_of_another_variant() {
    assert_eq!(d_root(4.0, Some(2.0)), (0.5, Some(2.0)));
    assert_eq!(d_root(-4.0, Some(2.0)), (0.0, None));
    for bits in LEFTOVERS {
        assert_eq!(d_root(4.0, none(bits)), (0.0, Some(2.0)), "{bits:x}");
        assert_eq!(d_parse(4.0, Err(bits)), (0.0, Ok(16.0)), "{bits:x}");
    }
    assert_eq!(d_parse(4.0, Ok(2.0)), (16.0, Ok(16.0)));
    assert_eq!(d_parse(-4.0, Ok(2.0)), (0.0, Err(3)));
}

#[autodiff(d_hand_over, Reverse, Duplicated, Duplicated, Active)]
fn hand_over(a: &mut Option<f64>, b: &mut Option<f64>) -> f64 {
    if let Some(value) = a.take() {
        *b = Some(value * 2.0);
    }
    a.unwrap_or(2.0) * b.unwrap_or(3.0)
}

#[test]
fn from_one_option_to_another() {
    for bits in LEFTOVERS {
        let (mut a, mut b, mut da, mut db) = (Some(5.0), None, Some(0.0), none(bits));
        assert_eq!(d_hand_over(&mut a, &mut da, &mut b, &mut db), 20.0);
        assert_eq!((a, b, da, db, payload(&db)), (None, Some(10.0), Some(4.0), None, bits));
    }
}

#[autodiff(d_both, Reverse(2), Duplicated, Active)]
fn both(option: &mut Option<f64>, x: f64) {
    *option = Some(option.unwrap_or(1.0) * x);
}

#[test]
fn directions_of_a_batch() {
    for bits in LEFTOVERS {
        let mut option = None;
        let (mut first, mut second) = (none(bits), none(!bits));
        assert_eq!(d_both(&mut option, [&mut first, &mut second], 3.0), [0.0, 0.0]);
        assert_eq!([payload(&first), payload(&second)], [bits, !bits]);
    }
    let (mut first, mut second) = (Some(1.0), Some(10.0));
    assert_eq!(d_both(&mut Some(2.0), [&mut first, &mut second], 3.0), [2.0, 20.0]);
    assert_eq!([first, second], [Some(3.0), Some(30.0)]);
}

#[autodiff(d_panics, Reverse, Duplicated, Active, Active)]
fn panics(readings: &mut [Reading], x: f64) -> f64 {
    readings[0] = Reading::Exact(x);
    readings[1] = Reading::Exact(readings[0].value() * x);
    readings[2].value()
}

/// What was masked is put back when the function panics.
#[test]
fn a_panic_leaves_the_variants() {
    for bits in LEFTOVERS {
        let mut readings = [Reading::Count(1), Reading::Pair { low: 1.0, high: 2.0, label: 3 }];
        let mut shadow = [Reading::Count(bits), Reading::Pair { low: 0.5, high: 0.25, label: bits as u32 }];
        let before = shadow.clone();
        let result = catch_unwind(AssertUnwindSafe(|| d_panics(&mut readings, &mut shadow, 3.0)));
        assert!(result.is_err());
        assert_eq!(shadow, before);
    }
}

#[derive(Debug, PartialEq, Differentiable)]
enum List {
    Nil,
    Cons(f64, Box<List>),
}

/// The last node's `Nil` becomes a `Cons`: its float lies where `Nil` has nothing.
#[autodiff(d_append, Reverse, Duplicated, Active, Active)]
fn append(list: &mut List, x: f64) -> f64 {
    let mut sum = 0.0;
    let mut end = list;
    while let List::Cons(value, next) = end {
        sum += *value * x;
        end = next;
    }
    *end = List::Cons(x * x, Box::new(List::Nil));
    sum
}

#[test]
fn a_list_grows() {
    for bits in LEFTOVERS {
        let mut list = List::Cons(2.0, Box::new(List::Cons(3.0, Box::new(List::Nil))));
        let mut shadow = List::Cons(0.0, Box::new(List::Cons(0.0, Box::new(List::Nil))));
        let List::Cons(_, second) = &mut shadow else { unreachable!() };
        let List::Cons(_, last) = &mut **second else { unreachable!() };
        // SAFETY: a node is two words, of which a null pointer says `Nil`; the other one is free then.
        unsafe {
            let words = (&raw mut **last).cast::<u64>();
            let free = if words.read() == 0 { 1 } else { 0 };
            words.add(free).write(bits);
        }
        assert_eq!(d_append(&mut list, &mut shadow, 5.0), (5.0, 25.0), "{bits:x}");
        assert_eq!(shadow, List::Cons(5.0, Box::new(List::Cons(5.0, Box::new(List::Nil)))));
    }
}
