//! Enums of arguments that are moved without a look at their variant: swapped, reversed, pushed, picked. The cotangents
//! go back the same way, whatever the variants are; tangents go along.

use pullback::{Differentiable, autodiff};
use std::mem::{replace, swap, take};

#[derive(Clone, Copy, PartialEq, Debug, Default, Differentiable)]
enum Reading {
    Exact(f64),
    Count(u64),
    Both(f64, u64),
    #[default]
    Nothing,
}
use Reading::{Both, Count, Exact, Nothing};

#[autodiff(d_swap, Reverse, Duplicated, Duplicated)]
#[autodiff(f_swap, Forward, Dual, Dual)]
fn swapped(a: &mut Reading, b: &mut Reading) {
    swap(a, b);
}

/// A shadow keeps its variant and its numbers in reverse mode, and a float's cotangent goes to what was moved there.
/// What came out in another variant than it went in has the cotangent zero.
#[test]
fn two_are_swapped() {
    let cases = [
        ((Exact(1.0), Exact(2.0)), (Exact(10.0), Exact(20.0)), (Exact(20.0), Exact(10.0))),
        ((Exact(1.0), Count(2)), (Exact(10.0), Count(7)), (Exact(0.0), Count(7))),
        ((Both(1.0, 5), Both(2.0, 6)), (Both(10.0, 3), Both(20.0, 4)), (Both(20.0, 3), Both(10.0, 4))),
        ((Nothing, Both(2.0, 6)), (Nothing, Both(20.0, u64::MAX)), (Nothing, Both(0.0, u64::MAX))),
        ((Nothing, Count(3)), (Nothing, Count(1 << 63)), (Nothing, Count(1 << 63))),
    ];
    for ((a, b), (d_a, d_b), expected) in cases {
        let (mut p, mut q, mut d_p, mut d_q) = (a, b, d_a, d_b);
        d_swap(&mut p, &mut d_p, &mut q, &mut d_q);
        assert_eq!((p, q), (b, a));
        assert_eq!((d_p, d_q), expected);

        let (mut p, mut q, mut d_p, mut d_q) = (a, b, d_a, d_b);
        f_swap(&mut p, &mut d_p, &mut q, &mut d_q);
        assert_eq!((p, q, d_p, d_q), (b, a, d_b, d_a));
    }
}

#[inline(never)]
fn pick(a: &Reading, b: &Reading, first: bool) -> Reading {
    if first { *a } else { *b }
}

#[autodiff(d_picked, Reverse, Duplicated, Duplicated, Const)]
#[autodiff(f_picked, Forward, Dual, Dual, Const)]
fn picked(a: &mut Reading, b: &mut Reading, first: bool) {
    *b = pick(a, b, first);
}

#[test]
fn one_of_two_by_way_of_a_variable() {
    let (mut a, mut b, mut d_a, mut d_b) = (Exact(1.0), Exact(2.0), Exact(10.0), Exact(20.0));
    d_picked(&mut a, &mut d_a, &mut b, &mut d_b, true);
    assert_eq!((a, b, d_a, d_b), (Exact(1.0), Exact(1.0), Exact(30.0), Exact(0.0)));

    let (mut a, mut b, mut d_a, mut d_b) = (Exact(1.0), Exact(2.0), Exact(10.0), Exact(20.0));
    d_picked(&mut a, &mut d_a, &mut b, &mut d_b, false);
    assert_eq!((a, b, d_a, d_b), (Exact(1.0), Exact(2.0), Exact(10.0), Exact(20.0)));

    let (mut a, mut b, mut d_a, mut d_b) = (Both(1.0, 3), Nothing, Both(10.0, 4), Nothing);
    f_picked(&mut a, &mut d_a, &mut b, &mut d_b, true);
    assert_eq!((a, b, d_a, d_b), (Both(1.0, 3), Both(1.0, 3), Both(10.0, 4), Both(10.0, 4)));
}

#[autodiff(d_turned, Reverse, Duplicated, Const)]
#[autodiff(f_turned, Forward, Dual, Const)]
fn turned(all: &mut [Reading], by: usize) {
    all.reverse();
    all.rotate_left(by);
    all.swap(0, 2);
}

#[test]
fn a_slice_is_turned() {
    let from = [Exact(1.0), Exact(2.0), Exact(4.0), Count(5), Nothing];
    let d_from = [Exact(10.0), Exact(20.0), Exact(40.0), Count(8), Nothing];
    for by in 0..5 {
        let mut expected = from;
        turned(&mut expected, by);
        let mut d_expected = d_from;
        turned(&mut d_expected, by);

        let (mut all, mut d_all) = (from, d_from);
        f_turned(&mut all, &mut d_all, by);
        assert_eq!((all, d_all), (expected, d_expected));

        // The cotangent of each goes back to where it was, if what came out is what went in there.
        let mut places = [0, 1, 2, 3, 4];
        places.reverse();
        places.rotate_left(by);
        places.swap(0, 2);
        let float = |reading: Reading| if let Exact(x) = reading { x } else { 0.0 };
        let (mut all, mut d_all) = (from, d_from);
        d_turned(&mut all, &mut d_all, by);
        assert_eq!(all, expected);
        for (to, from) in places.into_iter().enumerate() {
            let cotangent = if float(expected[to]) == 0.0 { 0.0 } else { float(d_from[to]) };
            assert_eq!(float(d_all[from]), cotangent, "{by}, {from} to {to}");
        }
        assert_eq!((d_all[3], d_all[4]), (Count(8), Nothing));
    }
}

#[autodiff(d_options, Reverse, Duplicated, Duplicated, Active, Active)]
#[autodiff(f_options, Forward, Dual, Dual, Dual, Dual)]
fn options(a: &mut Option<f64>, b: &mut Option<f64>, x: f64) -> f64 {
    swap(a, b);
    let first = b.replace(x * x).unwrap_or(1.0);
    let second = take(a).unwrap_or(2.0);
    let third = *a.get_or_insert(first * x);
    let fourth = *a.insert(third * second);
    replace(b, Some(fourth)).unwrap_or(0.0) + fourth
}

/// Against forward mode, for each variant of both.
#[test]
fn what_options_offer() {
    let values = |seed: f64| [None, Some(seed)];
    for (a, b) in values(3.0).into_iter().flat_map(|a| values(5.0).map(|b| (a, b))) {
        let zero = |option: Option<f64>| option.map(|_| 0.0);
        let (mut p, mut q, mut d_p, mut d_q) = (a, b, zero(a), zero(b));
        let (d_x, value) = d_options(&mut p, &mut d_p, &mut q, &mut d_q, 7.0);
        let tangent = |da: f64, db: f64, dx: f64| {
            let (mut p, mut q, mut d_p, mut d_q) = (a, b, a.map(|_| da), b.map(|_| db));
            let (v, tangent) = f_options(&mut p, &mut d_p, &mut q, &mut d_q, 7.0, dx);
            assert_eq!(v, value);
            tangent
        };
        assert_eq!(d_x, tangent(0.0, 0.0, 1.0));
        assert_eq!(d_p, a.map(|_| tangent(1.0, 0.0, 0.0)));
        assert_eq!(d_q, b.map(|_| tangent(0.0, 1.0, 0.0)));
    }
}

#[autodiff(d_grown, Reverse, Duplicated, Active, Active)]
#[autodiff(f_grown, Forward, Dual, Dual, Dual)]
fn grown(all: &mut Vec<Option<f64>>, x: f64) -> f64 {
    for k in 0..9 {
        all.push((k % 2 == 0).then(|| x * f64::from(k)));
    }
    all[0] = Some(x * x);
    all.iter().flatten().sum()
}

#[test]
fn a_vector_outgrows_its_memory() {
    let (mut all, mut d_all) = (vec![None, Some(1.0)], vec![None, Some(0.0)]);
    assert_eq!(d_grown(&mut all, &mut d_all, 3.0), (26.0, 70.0));
    assert_eq!((all.len(), d_all), (11, vec![None, Some(1.0)]));

    let (mut all, mut d_all) = (vec![None, Some(1.0)], vec![None, Some(5.0)]);
    assert_eq!(f_grown(&mut all, &mut d_all, 3.0, 1.0), (70.0, 31.0));
    assert_eq!(d_all[..4], [Some(6.0), Some(5.0), Some(0.0), None]);
}

#[autodiff(d_cloned, Reverse, Duplicated, Duplicated)]
fn cloned(to: &mut [Option<[f64; 2]>], from: &[Option<[f64; 2]>]) {
    for (to, from) in to.iter_mut().zip(from.to_vec()) {
        *to = from;
    }
}

#[test]
fn by_way_of_the_heap() {
    let (mut to, from) = ([Some([1.0, 2.0]), None], [Some([3.0, 4.0]), Some([5.0, 6.0])]);
    let (mut d_to, mut d_from) = ([Some([10.0, 20.0]), None], [Some([1.0, 2.0]), Some([3.0, 4.0])]);
    d_cloned(&mut to, &mut d_to, &from, &mut d_from);
    assert_eq!(to, from);
    assert_eq!(d_to, [Some([0.0, 0.0]), None]);
    assert_eq!(d_from, [Some([11.0, 22.0]), Some([3.0, 4.0])]);
}

#[autodiff(d_returned, Reverse, Duplicated, Duplicated)]
fn returned(reading: &Reading) -> Reading {
    *reading
}

#[test]
fn an_argument_is_the_result() {
    let mut shadow = Exact(10.0);
    assert_eq!(d_returned(&Exact(1.0), &mut shadow, Exact(5.0)), Exact(1.0));
    assert_eq!(shadow, Exact(15.0));
    assert_eq!(d_returned(&Exact(1.0), &mut shadow, Count(u64::MAX)), Exact(1.0));
    assert_eq!(shadow, Exact(15.0));
}

#[derive(Clone, Copy, PartialEq, Debug, Differentiable)]
enum Small {
    Exact(f64),
    Count(u32),
}

#[autodiff(d_small, Reverse, Duplicated, Duplicated, Active, Active)]
#[autodiff(f_small, Forward, Dual, Dual, Dual, Dual)]
fn small(a: &mut Small, b: &mut Small, x: f64) -> f64 {
    swap(a, b);
    let value = match *a {
        Small::Exact(value) => value * x,
        Small::Count(count) => f64::from(count) * x,
    };
    *b = Small::Count(4);
    value
}

/// A tag of four bytes, with a number beside it.
#[test]
fn a_tag_that_is_no_whole_word() {
    let (mut a, mut b) = (Small::Count(2), Small::Exact(3.0));
    let (mut d_a, mut d_b) = (Small::Count(9), Small::Exact(0.0));
    assert_eq!(d_small(&mut a, &mut d_a, &mut b, &mut d_b, 5.0), (3.0, 15.0));
    assert_eq!((a, b, d_a, d_b), (Small::Exact(3.0), Small::Count(4), Small::Count(9), Small::Exact(5.0)));

    let (mut a, mut b) = (Small::Exact(3.0), Small::Count(2));
    let (mut d_a, mut d_b) = (Small::Exact(1.0), Small::Count(2));
    assert_eq!(f_small(&mut a, &mut d_a, &mut b, &mut d_b, 5.0, 1.0), (10.0, 2.0));
    assert_eq!((a, b, d_a, d_b), (Small::Count(2), Small::Count(4), Small::Count(2), Small::Count(4)));
}

#[autodiff(d_single, Reverse, Duplicated, Duplicated)]
#[autodiff(f_single, Forward, Dual, Dual)]
fn single(a: &mut [Option<f32>], b: &mut [Option<f32>]) {
    a.swap_with_slice(b);
}

#[test]
fn in_single_precision() {
    let (mut a, mut b, mut d_a, mut d_b) =
        ([Some(1.0), None], [Some(2.0), None], [Some(10.0), None], [Some(20.0), None]);
    d_single(&mut a, &mut d_a, &mut b, &mut d_b);
    assert_eq!((a, b, d_a, d_b), ([Some(2.0), None], [Some(1.0), None], [Some(20.0), None], [Some(10.0), None]));
    f_single(&mut a, &mut d_a, &mut b, &mut d_b);
    assert_eq!((a, b, d_a, d_b), ([Some(1.0), None], [Some(2.0), None], [Some(10.0), None], [Some(20.0), None]));
}

#[derive(Clone, Copy, PartialEq, Debug, Differentiable)]
enum Mark {
    Weight(f64),
    Flag(bool),
    Note {
        #[pullback(skip)]
        text: &'static str,
    },
}

#[autodiff(d_copied, Reverse, Duplicated, Duplicated)]
fn copied(from: &[Mark], to: &mut [Mark]) {
    to.copy_from_slice(from);
}

/// Cotangents for floats that turn out to be none do not harm what is in their place: a `bool` stays one.
#[test]
fn what_is_behind_a_shared_reference_keeps_its_bits() {
    let from = [Mark::Flag(true), Mark::Weight(2.0), Mark::Note { text: "abc" }];
    let (mut to, mut d_to) = ([Mark::Weight(0.0); 3], [Mark::Weight(0.1); 3]);
    let mut d_from = [Mark::Flag(true), Mark::Weight(0.0), Mark::Note { text: "abc" }];
    d_copied(&from, &mut d_from, &mut to, &mut d_to);
    assert_eq!(to, from);
    assert_eq!(d_from, [Mark::Flag(true), Mark::Weight(0.1), Mark::Note { text: "abc" }]);
    assert_eq!(d_to, [Mark::Weight(0.0); 3]);
}

#[autodiff(d_put, Reverse, Active, Duplicated)]
fn put(from: Mark, to: &mut Mark) {
    *to = from;
}

#[test]
fn a_gradient_keeps_its_bits() {
    for from in [Mark::Flag(true), Mark::Note { text: "abc" }] {
        let (mut to, mut d_to) = (Mark::Weight(0.0), Mark::Weight(0.1));
        assert_eq!(d_put(from, &mut to, &mut d_to), from);
        assert_eq!((to, d_to), (from, Mark::Weight(0.0)));
    }
    let (mut to, mut d_to) = (Mark::Weight(0.0), Mark::Weight(0.1));
    assert_eq!(d_put(Mark::Weight(3.0), &mut to, &mut d_to), Mark::Weight(0.1));
}

/// Constants whose bits are those of no float that a program computes with are numbers, as payloads as well: small
/// negative ones, and positive ones up to the subnormal floats.
mod constant_numbers {
    use super::*;
    use std::rc::Rc;

    #[derive(Differentiable, Clone, Copy, Debug, PartialEq)]
    enum Either {
        Floats(f64, f64),
        Number(i64),
    }
    use Either::{Floats, Number};

    #[autodiff(t_exchanged, Forward, Dual, Dual, Const)]
    fn exchanged(a: &mut Either, b: &mut Either, n: usize) {
        std::mem::swap(a, b);
        if n == 1 {
            *a = Number(-1);
        } else if n == 2 {
            *b = Number(1 << 40);
        }
    }

    #[test]
    fn become_those_of_tangents() {
        let (floats, tangents) = (Floats(1.0, 2.0), Floats(3.0, 4.0));
        let after = |n| {
            let (mut a, mut b, mut da, mut db) = (floats, Number(7), tangents, Number(7));
            t_exchanged(&mut a, &mut da, &mut b, &mut db, n);
            [(a, da), (b, db)]
        };
        assert_eq!(after(0), [(Number(7), Number(7)), (floats, tangents)]);
        assert_eq!(after(1), [(Number(-1), Number(-1)), (floats, tangents)]);
        assert_eq!(after(2), [(Number(7), Number(7)), (Number(1 << 40), Number(1 << 40))]);
    }

    /// What the function drops on its way out may be the argument or a constant. (Under valgrind nothing is lost.)
    #[autodiff(t_replaced, Forward, Dual, Dual, Const, Dual)]
    fn replaced(mut of: Box<Rc<(String, Either)>>, beside: Rc<Box<f64>>, too_far: bool) -> f64 {
        of = Box::new(Rc::new((of.0.clone(), Number(1 << 40))));
        assert!(!too_far, "too far");
        match of.1 {
            Floats(a, b) => a * b * **beside,
            Number(n) => (n % 5) as f64 * **beside,
        }
    }

    #[test]
    fn leave_nothing_behind_when_the_function_panics() {
        let of = |x: f64| Box::new(Rc::new(("text".to_owned(), Floats(x, x))));
        let beside = |x: f64| Rc::new(Box::new(x));
        assert_eq!(t_replaced(of(2.0), of(1.0), beside(3.0), beside(1.0), false), (3.0, 1.0));
        let run = || t_replaced(of(2.0), of(1.0), beside(3.0), beside(1.0), true);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    }
}
