//! What else lies in the shadow of an enum: in reverse mode the numbers in it stay as they are, bit by bit; in forward
//! mode they are those of the primal, for they may be the length of a tangent.

use pullback::{Differentiable, autodiff};
use std::cell::Cell;
use std::rc::Rc;

/// Numbers whose bits are those of 0, of a tiny float, of −0, and of several that are not a number, one of them
/// signalling.
const NUMBERS: [u64; 6] = [0, 4, 1 << 63, 0x7ff0_0000_0000_0001, 0x7ff8_0000_0000_0000, u64::MAX];

#[derive(Clone, Copy, PartialEq, Debug, Differentiable)]
enum Reading {
    Exact(f64),
    Count(u64),
    Both(f64, u64),
}

#[inline(never)]
fn value(reading: Reading) -> f64 {
    match reading {
        Reading::Exact(value) => value * value,
        Reading::Count(count) => count as f64,
        Reading::Both(value, count) => value * count as f64,
    }
}

#[autodiff(d_shared, Reverse, Duplicated, Active, Active)]
fn shared(reading: &Reading, x: f64) -> f64 {
    let copy = *reading;
    value(copy) * x
}

#[test]
fn behind_a_shared_reference() {
    for number in NUMBERS {
        let mut shadow = Reading::Count(number);
        assert_eq!(d_shared(&Reading::Count(3), &mut shadow, 2.0), (3.0, 6.0));
        assert_eq!(shadow, Reading::Count(number), "{number:x}");

        let mut shadow = Reading::Both(0.0, number);
        assert_eq!(d_shared(&Reading::Both(2.0, 3), &mut shadow, 2.0), (6.0, 12.0));
        assert_eq!(shadow, Reading::Both(6.0, number), "{number:x}");
    }
}

/// Enums without floats within one that has some.
#[derive(Clone, Copy, PartialEq, Debug, Differentiable)]
enum Nested {
    Floats(f64, f64),
    Maybe(Option<u64>),
    Flag(u64, Option<bool>),
}

#[autodiff(d_replaced, Reverse, Duplicated, Duplicated)]
fn replaced(to: &mut Nested, by: &Nested) {
    *to = *by;
}

/// What is there for `to` says nothing of `by`, and least of all a tag.
#[test]
fn enums_within_enums_behind_a_shared_reference() {
    for by in [Nested::Maybe(Some(7)), Nested::Maybe(None), Nested::Flag(7, Some(true)), Nested::Flag(7, None)] {
        let (mut to, mut d_to, mut d_by) = (Nested::Floats(1.0, 2.0), Nested::Floats(10.0, 20.0), by);
        d_replaced(&mut to, &mut d_to, &by, &mut d_by);
        assert_eq!((to, d_by), (by, by));
    }
    let (mut to, mut d_to) = (Nested::Floats(1.0, 2.0), Nested::Floats(10.0, 20.0));
    let mut d_by = Nested::Floats(1.0, 1.0);
    d_replaced(&mut to, &mut d_to, &Nested::Floats(3.0, 4.0), &mut d_by);
    assert_eq!((to, d_by), (Nested::Floats(3.0, 4.0), Nested::Floats(11.0, 21.0)));
}

/// A user's types may have the names of those of the standard library.
mod types_with_names_of_others {
    use pullback::{Differentiable, autodiff};

    #[derive(Clone, Copy, PartialEq, Debug, Differentiable)]
    struct Option {
        strike: f64,
        shares: u64,
    }

    #[derive(Clone, Copy, PartialEq, Debug, Differentiable)]
    enum Asset {
        Cash(f64, f64),
        Right(Option),
    }

    #[autodiff(d_sold, Reverse, Duplicated, Duplicated)]
    fn sold(to: &mut Asset, by: &Asset) {
        *to = *by;
    }

    #[test]
    fn are_what_they_are() {
        let option = |strike, shares| Asset::Right(Option { strike, shares });
        for shares in super::NUMBERS {
            let (mut to, mut d_to) = (Asset::Cash(1.0, 2.0), Asset::Cash(10.0, 20.0));
            let (by, mut d_by) = (option(3.0, 7), option(0.5, shares));
            d_sold(&mut to, &mut d_to, &by, &mut d_by);
            assert!(to == by && matches!(d_by, Asset::Right(option) if option.shares == shares), "{d_by:?}");

            let (mut to, mut d_to) = (option(1.0, 2), option(10.0, 2));
            let (by, mut d_by) = (option(3.0, 7), option(0.5, shares));
            d_sold(&mut to, &mut d_to, &by, &mut d_by);
            assert_eq!((to, d_by), (by, option(10.5, shares)), "{shares:x}");
        }
    }
}

/// An option with a niche that is empty, beside a float in an enum: its bytes are uninitialised. (Under valgrind they
/// are not looked at.)
#[derive(Clone, PartialEq, Debug, Differentiable)]
struct Titled {
    title: Option<Option<String>>,
    value: f64,
    #[pullback(skip)]
    note: Option<String>,
}

#[autodiff(d_titled, Reverse, Duplicated, Active)]
fn titled(all: &[Option<Titled>; 2]) -> f64 {
    all.iter().flatten().map(|titled| titled.value * titled.value).sum()
}

#[test]
fn an_empty_option_with_a_niche_behind_a_shared_reference() {
    let with = |value| Some(Titled { title: None, value, note: None });
    let mut shadow = [with(0.0), None];
    assert_eq!(d_titled(&[with(3.0), None], &mut shadow), 9.0);
    assert_eq!(shadow, [with(6.0), None]);
}

#[autodiff(d_all, Reverse, Duplicated, Active, Active)]
fn all(readings: &[Reading], x: f64) -> f64 {
    readings.to_vec().into_iter().map(|reading| value(reading) * x).sum()
}

#[test]
fn in_a_slice_that_is_copied() {
    for number in NUMBERS {
        let readings = [Reading::Count(3), Reading::Both(2.0, 3), Reading::Exact(2.0)];
        let mut shadow = [Reading::Count(number), Reading::Both(0.0, number), Reading::Exact(0.0)];
        assert_eq!(d_all(&readings, &mut shadow, 2.0), (13.0, 26.0));
        assert_eq!(shadow, [Reading::Count(number), Reading::Both(6.0, number), Reading::Exact(8.0)], "{number:x}");
    }
}

#[autodiff(d_taken, Reverse, Active, Active, Active)]
fn taken(mut reading: Reading, x: f64) -> f64 {
    reading = Reading::Exact(value(reading) * x);
    value(reading)
}

#[test]
fn in_the_gradient_of_what_is_passed_by_value() {
    for number in NUMBERS {
        assert_eq!(d_taken(Reading::Count(number), 2.0).0, Reading::Count(number), "{number:x}");
    }
    assert_eq!(d_taken(Reading::Both(2.0, 3), 2.0), (Reading::Both(144.0, 3), 144.0, 144.0));
}

#[derive(Clone, Copy, PartialEq, Debug, Differentiable)]
enum Single {
    One(f32),
    Number(u32),
    Two(f32, f32),
}

#[autodiff(d_single, Reverse, Duplicated, Active, Active)]
fn single(place: &mut Single, x: f32) -> f32 {
    let value = match *place {
        Single::One(a) => a,
        Single::Number(n) => n as f32,
        Single::Two(a, b) => a * b,
    };
    *place = Single::One(value * x);
    let square = if let Single::One(a) = *place { a * a } else { 0.0 };
    *place = Single::Number(9);
    square
}

#[test]
fn in_single_precision() {
    for number in [0, 4, 1 << 31, 0x7f80_0001, 0x40a0_0000, u32::MAX] {
        let mut shadow = Single::Number(number);
        assert_eq!(d_single(&mut Single::Number(2), &mut shadow, 3.0), (24.0, 36.0));
        assert_eq!(shadow, Single::Number(number), "{number:x}");
    }
    let mut shadow = Single::Two(0.0, 0.0);
    assert_eq!(d_single(&mut Single::Two(2.0, 4.0), &mut shadow, 1.0), (128.0, 64.0));
    assert_eq!(shadow, Single::Two(64.0, 32.0));
}

#[autodiff(d_large, Reverse, Duplicated, Active, Active)]
fn large(place: &mut Option<[f64; 40]>, x: f64) -> f64 {
    place.get_or_insert([x; 40]).iter().sum::<f64>() * x
}

#[test]
fn in_an_array_that_is_not_there() {
    for number in NUMBERS {
        let mut shadow = Some([f64::from_bits(number); 40]);
        // SAFETY: the first word is the variant, and 0 is `None`.
        unsafe { (&raw mut shadow).cast::<u64>().write(0) };
        assert!(shadow.is_none());
        assert_eq!(d_large(&mut None, &mut shadow, 2.0), (160.0, 160.0), "{number:x}");
    }
    let mut shadow = Some([1.0; 40]);
    assert_eq!(d_large(&mut Some([3.0; 40]), &mut shadow, 2.0), (120.0, 240.0));
    assert_eq!(shadow, Some([3.0; 40]));
}

#[autodiff(d_counted, Reverse, Duplicated, Active, Active)]
fn counted(place: &Rc<Cell<Option<f64>>>, x: f64) -> f64 {
    place.set(Some(place.get().unwrap_or(1.0) * x));
    place.get().unwrap_or(0.0) * x
}

#[test]
fn in_a_cell_with_several_owners() {
    for number in NUMBERS {
        let mut shadow = Rc::new(Cell::new(None));
        // SAFETY: nothing refers to the content, of which the second word is free.
        unsafe { shadow.as_ptr().cast::<u64>().add(1).write(number) };
        assert_eq!(d_counted(&Rc::new(Cell::new(None)), &mut shadow, 3.0), (6.0, 9.0), "{number:x}");
        assert_eq!(shadow.get(), None);
    }
}

type Twofold = Rc<Rc<Cell<Option<f64>>>>;

#[autodiff(d_twofold, Reverse, Duplicated, Duplicated, Active, Active)]
fn twofold(first: &Twofold, second: &Twofold, x: f64) -> f64 {
    first.set(Some(second.get().unwrap_or(1.0) * x));
    second.get().unwrap_or(0.0) * x
}

/// The cell has two owners, both of them shadows. Who owns one of these, reaches it.
#[test]
fn in_a_cell_with_owners_that_others_own() {
    let both = |content| {
        let cell = Rc::new(Cell::new(content));
        (Rc::new(cell.clone()), Rc::new(cell))
    };
    let (primals, mut shadows) = (both(None), both(None));
    assert_eq!(d_twofold(&primals.0, &mut shadows.0, &primals.1, &mut shadows.1, 3.0), (6.0, 9.0));
    assert_eq!(shadows.0.get(), None);
    for other in [0, 1] {
        let (primals, mut shadows) = (both(None), both(None));
        let _other = if other == 0 { shadows.0.clone() } else { shadows.1.clone() };
        let call = || d_twofold(&primals.0, &mut shadows.0, &primals.1, &mut shadows.1, 3.0);
        let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_err();
        let said = said.downcast_ref::<String>().unwrap();
        assert!(said.contains("holds an enum, and something that is no shadow may refer to it"), "{said}");
    }
}

/// No variant of it is all zeros.
#[derive(Clone, Copy, PartialEq, Debug, Differentiable)]
#[repr(u8)]
enum Either {
    Float(f64) = 3,
    Number(u64) = 4,
}

fn scaled(either: &Cell<Either>, x: f64) -> f64 {
    match either.get() {
        Either::Float(value) => value * x,
        Either::Number(number) => number as f64 * x,
    }
}

#[autodiff(d_either, Reverse, Duplicated, Active, Active)]
fn either(either: &Rc<Cell<Either>>, x: f64) -> f64 {
    scaled(either, x)
}

#[autodiff(d_eithers, Reverse, Duplicated, Active, Active)]
fn eithers(eithers: &[Rc<Cell<Either>>], x: f64) -> f64 {
    eithers.iter().map(|either| scaled(either, x)).sum()
}

#[derive(Differentiable)]
struct Lent<'a> {
    either: &'a Cell<Either>,
}

#[autodiff(d_lent, Reverse, Duplicated, Active, Active)]
fn lent(lent: Lent<'_>, x: f64) -> f64 {
    scaled(lent.either, x)
}

#[autodiff(d_listed, Reverse, Duplicated, Active, Active)]
fn listed(listed: &[&Cell<Either>], x: f64) -> f64 {
    listed.iter().map(|either| scaled(either, x)).sum()
}

fn told<R>(f: impl FnOnce() -> R) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).err().expect("it is told");
    panic.downcast_ref::<String>().expect("a message").clone()
}

fn counted_either(either: Either) -> Rc<Cell<Either>> {
    Rc::new(Cell::new(either))
}

/// Whoever else sees the cell would find an enum of no variant in it, while the derivative runs.
#[test]
fn a_masked_cell_is_the_shadows_alone() {
    let primal = counted_either(Either::Number(5));
    let message = told(|| d_either(&primal, &mut primal.clone(), 2.0));
    assert!(
        message.contains("the cell `either` holds an enum, and something that is no shadow may refer to it"),
        "{message}"
    );
    let mut shadow = counted_either(Either::Number(5));
    let weak = Rc::downgrade(&shadow);
    told(|| d_either(&primal, &mut shadow, 2.0));
    drop(weak);
    assert_eq!(d_either(&primal, &mut shadow, 2.0), (5.0, 10.0));

    // All owners in the shadows, as in the primal.
    let all = [shadow.clone(), shadow.clone(), shadow];
    let mut shadows = all.clone();
    told(|| d_eithers(&all, &mut shadows, 2.0));
    let primal = counted_either(Either::Number(5));
    let primals = [primal.clone(), primal.clone(), primal];
    drop(all);
    assert_eq!(d_eithers(&primals, &mut shadows, 2.0), (15.0, 30.0));
    assert_eq!(shadows[0].get(), Either::Number(5));

    let (cell, other) = (Cell::new(Either::Number(5)), Cell::new(Either::Number(5)));
    let message = told(|| d_lent(Lent { either: &cell }, &mut Lent { either: &other }, 2.0));
    assert!(message.contains("the cell `lent.either` holds an enum"), "{message}");
}

#[test]
fn a_cell_that_is_lent_as_mutable_is_the_shadows_alone() {
    let (cell, mut float, mut number) =
        (Cell::new(Either::Float(5.0)), Cell::new(Either::Float(0.0)), Cell::new(Either::Number(3)));
    let primals = [&cell, &Cell::new(Either::Number(3))];
    assert_eq!(d_listed(&primals, &mut [&mut float, &mut number], 2.0), (8.0, 16.0));
    assert_eq!((float.get(), number.get()), (Either::Float(2.0), Either::Number(3)));
}

#[derive(Differentiable)]
struct Outcome<'a> {
    of: &'a Result<u64, Cell<f64>>,
}

#[autodiff(d_outcome, Reverse, Duplicated, Active, Active)]
fn outcome(outcome: &Outcome<'_>, x: f64) -> f64 {
    match outcome.of {
        Ok(number) => *number as f64 * x,
        Err(value) => {
            value.set(value.get() * x);
            value.get()
        }
    }
}

/// `&Ok(7)` is a constant: it lies where nothing can be written.
#[test]
fn a_number_behind_a_shared_reference_is_not_written() {
    assert_eq!(d_outcome(&Outcome { of: &Ok(7) }, &mut Outcome { of: &Ok(7) }, 2.0), (7.0, 14.0));
    let (primal, shadow) = (Err(Cell::new(3.0)), Err(Cell::new(0.0)));
    assert_eq!(d_outcome(&Outcome { of: &primal }, &mut Outcome { of: &shadow }, 2.0), (3.0, 6.0));
    assert_eq!(shadow, Err(Cell::new(2.0)));
}

/// The floats of `Pair` lie where `List` and `Text` have pointers, capacities and lengths.
#[derive(Clone, PartialEq, Debug, Differentiable)]
enum Data {
    One(f64),
    List(Vec<f64>),
    Pair(f64, f64),
    Text(String),
}

#[autodiff(d_make, Forward, Dual, Dual)]
fn make(x: &[f64]) -> Data {
    match x[0] {
        2.0.. => Data::List(x.to_vec()),
        1.0.. => Data::Pair(x[0] * x[1], x[1]),
        0.0.. => Data::Text("abc".to_string()),
        _ => Data::One(x[1] * x[1]),
    }
}

#[test]
fn a_tangent_has_the_length_of_its_primal() {
    let cases = [
        (2.0, Data::List(vec![2.0, 5.0]), Data::List(vec![3.0, 4.0])),
        (1.0, Data::Pair(5.0, 5.0), Data::Pair(19.0, 4.0)),
        (0.0, Data::Text("abc".into()), Data::Text("abc".into())),
        (-1.0, Data::One(25.0), Data::One(40.0)),
    ];
    for (x, primal, tangent) in cases {
        assert_eq!(d_make(&[x, 5.0], &[3.0, 4.0]), (primal, tangent));
    }
}

#[autodiff(d_change, Forward, Dual, Dual, Dual)]
fn change(data: &mut Data, x: f64) -> f64 {
    let old = match data {
        Data::One(a) => *a,
        Data::List(list) => list.iter().product(),
        Data::Pair(a, b) => *a * *b,
        Data::Text(text) => text.len() as f64,
    };
    *data = match x {
        4.0.. => Data::List(vec![x, old]),
        3.0.. => Data::Pair(x, old),
        2.0.. => Data::One(x * old),
        _ => Data::Text("de".into()),
    };
    old * x
}

/// Every variant becomes every other one.
#[test]
fn a_tangent_changes_its_variant_with_its_primal() {
    let starts = [
        (Data::One(2.0), Data::One(1.0), 2.0, 1.0),
        (Data::List(vec![2.0, 3.0]), Data::List(vec![1.0, 0.0]), 6.0, 3.0),
        (Data::Pair(2.0, 3.0), Data::Pair(1.0, 0.0), 6.0, 3.0),
        (Data::Text("abc".into()), Data::Text("abc".into()), 3.0, 0.0),
    ];
    for (primal, tangent, old, d_old) in starts {
        for x in [4.0, 3.0, 2.0, 1.0] {
            let (mut data, mut d_data) = (primal.clone(), tangent.clone());
            assert_eq!(d_change(&mut data, &mut d_data, x, 1.0), (old * x, d_old * x + old));
            let expected = match x {
                4.0 => (Data::List(vec![x, old]), Data::List(vec![1.0, d_old])),
                3.0 => (Data::Pair(x, old), Data::Pair(1.0, d_old)),
                2.0 => (Data::One(x * old), Data::One(old + x * d_old)),
                _ => (Data::Text("de".into()), Data::Text("de".into())),
            };
            assert_eq!((data, d_data), expected);
        }
    }
}

#[autodiff(d_count, Forward, Dual, Dual)]
fn count(reading: &mut Reading, x: f64) {
    *reading = if x > 1.0 { Reading::Count(7) } else { Reading::Both(x * x, 8) };
}

#[test]
fn a_tangent_has_the_numbers_of_its_primal() {
    let (mut reading, mut tangent) = (Reading::Exact(1.0), Reading::Exact(1.0));
    d_count(&mut reading, &mut tangent, 2.0, 1.0);
    assert_eq!((reading, tangent), (Reading::Count(7), Reading::Count(7)));
    d_count(&mut reading, &mut tangent, 0.5, 1.0);
    assert_eq!((reading, tangent), (Reading::Both(0.25, 8), Reading::Both(1.0, 8)));
}

/// Who has the only `Rc` has what is in it: its enums become others, and its vectors grow.
mod in_an_rc {
    use pullback::{autodiff, make_zero};
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    type Content = Rc<Option<Cell<(f32, usize)>>>;

    #[autodiff(d_by_value, Reverse, Active, Duplicated, Active)]
    fn by_value(x: f32, mut of: Content) -> f32 {
        replaced(x, &mut of)
    }

    #[autodiff(d_replaced, Reverse, Active, Duplicated, Active)]
    fn replaced(x: f32, of: &mut Content) -> f32 {
        let value = of.as_ref().as_ref().map_or(1.0, |cell| cell.get().0) * x;
        *Rc::make_mut(of) = Some(Cell::new((x + value, 7)));
        value
    }

    fn content(value: f32, number: usize) -> Content {
        Rc::new(Some(Cell::new((value, number))))
    }

    #[test]
    fn that_is_replaced() {
        let (mut of, mut shadow) = (content(3.0, 1), content(0.5, 2));
        assert_eq!(d_replaced(2.0, &mut of, &mut shadow), (5.0, 6.0));
        assert_eq!((of, &shadow), (content(8.0, 7), &content(3.0, 2)));
        // What an argument by value owns, others may own, too.
        assert_eq!(d_by_value(2.0, content(3.0, 1), &mut shadow), (15.0, 6.0));
        assert_eq!(shadow, content(8.0, 2));
        // Of what is not there, nothing is known.
        let (mut of, mut shadow) = (Content::default(), Content::default());
        assert_eq!(d_replaced(2.0, &mut of, &mut shadow), (1.0, 2.0));
        assert_eq!((of, shadow), (content(4.0, 7), Content::default()));
    }

    /// Where the primal has other owners, it is copied; where the shadow has, they would see an enum of no variant.
    #[test]
    fn that_others_own() {
        let mut of = content(3.0, 1);
        let (other, mut shadow) = (of.clone(), content(0.5, 2));
        assert_eq!(d_replaced(2.0, &mut of, &mut shadow).1, 6.0);
        assert_eq!((of, other), (content(8.0, 7), content(3.0, 1)));
        let (mut of, mut shadow) = (content(3.0, 1), content(0.5, 2));
        let other = shadow.clone();
        let said = catch_unwind(AssertUnwindSafe(|| d_replaced(2.0, &mut of, &mut shadow))).unwrap_err();
        let said = said.downcast_ref::<String>().unwrap();
        assert!(said.contains("holds an enum, and something that is no shadow may refer to it"), "{said}");
        assert_eq!((of, shadow, other), (content(3.0, 1), content(0.5, 2), content(0.5, 2)));
    }

    #[autodiff(d_grown, Reverse, Active, Duplicated, Active)]
    fn grown(x: f64, of: &mut Rc<Vec<Cell<f64>>>) -> f64 {
        if let Some(of) = Rc::get_mut(of) {
            of.extend([Cell::new(x * x), Cell::new(x)]);
        }
        of.iter().map(|value| value.get() * value.get()).sum()
    }

    #[test]
    fn that_grows() {
        let mut values = Vec::with_capacity(100);
        values.push(Cell::new(3.0));
        let mut of = Rc::new(values);
        let mut shadow = make_zero(&of);
        assert_eq!(d_grown(2.0, &mut of, &mut shadow), (36.0, 29.0));
        assert_eq!((of.len(), &*shadow), (3, &vec![Cell::new(6.0)]));
        // The shadow has no room for what is pushed.
        let mut shadow = Rc::new(vec![Cell::new(0.0); 3]);
        let said = catch_unwind(AssertUnwindSafe(|| d_grown(2.0, &mut of, &mut shadow))).unwrap_err();
        assert!(said.downcast_ref::<String>().unwrap().contains("capacity"));
        assert_eq!((of.len(), &*shadow), (3, &vec![Cell::new(0.0); 3]));
    }
}

/// An enum with floats of two widths, of which none is looked at.
#[derive(Differentiable, Clone, Copy, Debug, PartialEq)]
enum Wide {
    Double(f64),
    Number(usize),
    Pair([f32; 2]),
}

#[autodiff(d_number_over_float, Reverse, Duplicated)]
fn number_over_float(of: &mut [Wide]) {
    of.fill(Wide::Number(7));
}

#[autodiff(d_constant_half, Reverse, Duplicated)]
fn constant_half(of: &mut Wide) {
    if let Wide::Pair([_, y]) = of {
        *of = Wide::Pair([0.25, *y * *y]);
    }
}

#[autodiff(d_constants, Reverse, Duplicated, Duplicated)]
fn constants(of: &mut Option<[f32; 2]>, cell: &Option<Cell<[f32; 2]>>) {
    *of = Some([0.25, 0.5]);
    if let Some(cell) = cell {
        let [_, y] = cell.get();
        cell.set([0.25, y * y]);
    }
}

#[autodiff(d_zeros, Reverse, Duplicated)]
fn zeros(of: &mut Option<[f64; 2]>) {
    *of = Some([0.0; 2]);
}

/// What is written over a float has no cotangent to give to it, also if the optimiser writes constants as numbers, two
/// at a time, and nobody ever reads the float.
#[test]
fn a_constant_takes_the_cotangent_of_what_it_overwrites() {
    let (mut of, mut shadow) = ([Wide::Double(3.0); 3], [Wide::Double(5.0); 3]);
    d_number_over_float(&mut of, &mut shadow);
    assert_eq!((of, shadow), ([Wide::Number(7); 3], [Wide::Double(0.0); 3]));
    let (mut of, mut shadow) = (Wide::Pair([1.0, 3.0]), Wide::Pair([5.0, 1.0]));
    d_constant_half(&mut of, &mut shadow);
    assert_eq!((of, shadow), (Wide::Pair([0.25, 9.0]), Wide::Pair([0.0, 6.0])));
    let (mut of, mut shadow) = (Some([1.0, 3.0]), Some([5.0, 1.0]));
    let cell = |a, b| Some(Cell::new([a, b]));
    let (mut in_cell, mut cell_shadow) = (cell(1.0, 3.0), cell(5.0, 1.0));
    d_constants(&mut of, &mut shadow, &in_cell, &mut cell_shadow);
    assert_eq!((of, shadow), (Some([0.25, 0.5]), Some([0.0; 2])));
    let content = |cell: &mut Option<Cell<[f32; 2]>>| cell.as_mut().map(|cell| *cell.get_mut());
    assert_eq!((content(&mut in_cell), content(&mut cell_shadow)), (Some([0.25, 9.0]), Some([0.0, 6.0])));
    let (mut of, mut shadow) = (Some([1.0, 3.0]), Some([5.0, 1.0]));
    d_zeros(&mut of, &mut shadow);
    assert_eq!((of, shadow), (Some([0.0; 2]), Some([0.0; 2])));
}

#[autodiff(d_exchanged, Reverse, Duplicated, Duplicated)]
fn exchanged(cell: &Option<Cell<[f32; 2]>>, of: &mut Option<[f32; 2]>) {
    if let Some(cell) = cell {
        let [x, y] = cell.get();
        cell.set([y, x]);
    }
    if let Some([_, y]) = of {
        *of = Some([*y, 0.5]);
    }
}

/// The halves of a word that holds two floats are exchanged by one instruction.
#[test]
fn halves_of_a_word_are_exchanged() {
    let cell = |a, b| Some(Cell::new([a, b]));
    let (mut cells, mut of, mut shadow) = ((cell(1.0, 3.0), cell(5.0, 1.0)), Some([1.0, 3.0]), Some([5.0, 1.0]));
    d_exchanged(&cells.0, &mut cells.1, &mut of, &mut shadow);
    assert_eq!(cells.1.as_mut().map(|cell| *cell.get_mut()), Some([1.0, 5.0]));
    assert_eq!((of, shadow), (Some([3.0, 0.5]), Some([0.0, 5.0])));
}

#[derive(Differentiable, Clone, Copy, Debug, PartialEq)]
enum Counted {
    Pair(f32, f32),
    Many(usize, f32),
    Few(u16, u16, f32),
}

#[derive(Differentiable, Clone, Debug, PartialEq)]
struct Numbered {
    few: (u16, u16),
    all: Vec<Counted>,
}

#[autodiff(d_lengths, Reverse, Duplicated)]
fn lengths(of: &mut Numbered) {
    let (few, many) = (of.few, of.all.len());
    of.all[0] = Counted::Many(many, 2.0);
    of.all[1] = Counted::Few(few.0, few.1, 2.0);
}

/// A length that goes to where another variant has floats stays a length: nothing is added to that of the shadow.
#[test]
fn numbers_stay_numbers_wherever_they_go() {
    let numbered = |x| Numbered { few: (3, 4), all: vec![Counted::Pair(x, x); 3] };
    let (mut of, mut shadow) = (numbered(2.0), numbered(1.0));
    d_lengths(&mut of, &mut shadow);
    assert_eq!((shadow.few, shadow.all.len()), ((3, 4), 3));
    assert!(shadow.all.capacity() >= 3);
    assert_eq!(shadow.all[2], Counted::Pair(1.0, 1.0));
}

#[derive(Differentiable, Clone, Debug, PartialEq)]
enum Kept {
    Float(f64),
    Boxed(Box<f64>),
}

#[autodiff(d_boxed, Reverse, Duplicated, Active)]
fn boxed(of: &mut Kept, x: f64) {
    *of = Kept::Boxed(Box::new(x * x));
    if let Kept::Boxed(boxed) = of {
        **boxed *= x;
    }
}

#[autodiff(d_boxed_elsewhere, Reverse, Duplicated, Duplicated)]
fn boxed_elsewhere(a: &mut Box<Kept>, b: &mut Box<Kept>) {
    std::mem::swap(a, b);
    **b = Kept::Boxed(Box::new(2.0));
}

/// Of a float in whose place there is a pointer afterwards, nobody has a cotangent: what is given is left alone. If its
/// value is elsewhere, that is told.
#[test]
fn a_float_gives_way_to_a_pointer() {
    let (mut of, mut shadow) = (Kept::Float(3.0), Kept::Float(5.0));
    assert_eq!(d_boxed(&mut of, &mut shadow, 2.0), 0.0);
    assert_eq!((of, shadow), (Kept::Boxed(Box::new(8.0)), Kept::Float(5.0)));
    let kept = |x| Box::new(Kept::Float(x));
    let ((mut a, mut d_a), (mut b, mut d_b)) = ((kept(1.0), kept(5.0)), (kept(2.0), kept(7.0)));
    let call = std::panic::AssertUnwindSafe(|| d_boxed_elsewhere(&mut a, &mut d_a, &mut b, &mut d_b));
    let said = *std::panic::catch_unwind(call).unwrap_err().downcast::<&str>().expect("a sentence");
    assert!(said.contains("a cotangent is given of a float that the function exchanges for something else"), "{said}");
    assert_eq!((d_a, d_b), (kept(5.0), kept(7.0)));
}

#[autodiff(d_weigh, Reverse, Active, Active)]
fn weigh(boxes: Vec<Option<Box<f64>>>) -> f64 {
    let sum = boxes.iter().flatten().map(|weight| **weight).sum();
    assert!(sum < 10.0, "too heavy");
    sum
}

/// The gradient of an argument is dropped when the function panics, and what is masked in it is there again then.
/// (Under valgrind nothing is written to memory that was given back.)
#[test]
fn in_a_gradient_that_is_never_returned() {
    let boxes = |weight| vec![Some(Box::new(weight)), None, Some(Box::new(1.0))];
    assert_eq!(d_weigh(boxes(2.0)), (boxes(1.0), 3.0));
    let panic = std::panic::catch_unwind(|| d_weigh(boxes(20.0))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"too heavy"));
}
