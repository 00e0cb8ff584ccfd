//! Forward mode: tangents by value and behind references, batches, stacks of directions, and what carries no derivative
//! in a tangent.

use super::stand_ins::{StandIn, asked, message};
use pullback::abi::Mode;
use pullback::{Differentiable, autodiff};
use std::mem::MaybeUninit;

#[autodiff(t_dot, Forward, Dual, Dual, Dual)]
#[autodiff(t_dot_only, Forward, Dual, Dual, DualOnly)]
#[autodiff(t_dot_2, Forward(2), Dualv, Const, Dual)]
fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

unsafe extern "C-unwind" fn dot_derivative(
    x: *const &[f64],
    dx: *const &[f64],
    y: *const &[f64],
    dy: *const &[f64],
    out: *mut f64,
    d_out: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(dot(x.read(), y.read()));
        d_out.write(dot(dx.read(), y.read()) + dot(x.read(), dy.read()));
    }
}

unsafe extern "C-unwind" fn dot_derivative_2(
    x: *const &[f64],
    dx0: *const &[f64],
    dx1: *const &[f64],
    y: *const &[f64],
    out: *mut f64,
    d_out0: *mut f64,
    d_out1: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(dot(x.read(), y.read()));
        d_out0.write(dot(dx0.read(), y.read()));
        d_out1.write(dot(dx1.read(), y.read()));
    }
}

#[test]
fn slices_and_stacks() {
    StandIn::new(dot_derivative as *const ()).of("dot", Mode::Forward);
    let (x, y) = ([1.0, 2.0], [3.0, 5.0]);
    assert_eq!(t_dot(&x, &[1.0, 0.0], &y, &[0.0, 10.0]), (13.0, 23.0));
    assert_eq!(t_dot_only(&x, &[1.0, 0.0], &y, &[0.0, 10.0]), 23.0);
    StandIn::new(dot_derivative_2 as *const ()).of("dot", Mode::Forward);
    assert_eq!(t_dot_2(&x, &[1.0, 0.0, 0.0, 1.0], &y), (13.0, [3.0, 5.0]));
    let said = message(|| t_dot_2(&x, &[1.0, 0.0, 0.0], &y));
    assert!(said.contains("the slice has length 3"), "{said}");
    assert_eq!(asked(), 3);
}

#[autodiff(t_scale_2, Forward(2), Dualv, Const)]
fn scale(x: &mut [f64], by: f64) {
    x.iter_mut().for_each(|x| *x *= by);
}

unsafe extern "C-unwind" fn scale_derivative_2(
    x: *const *mut [f64],
    dx0: *const *mut [f64],
    dx1: *const *mut [f64],
    by: *const f64,
    _: *mut (),
) {
    // SAFETY: as of a derivative.
    unsafe {
        for place in [x, dx0, dx1] {
            scale(&mut *place.read(), by.read());
        }
    }
}

#[test]
fn stacks_that_are_written() {
    StandIn::new(scale_derivative_2 as *const ()).of("scale", Mode::Forward);
    let (mut x, mut dx) = ([1.0, 2.0], [3.0, 4.0, 5.0, 6.0]);
    t_scale_2(&mut x, &mut dx, 10.0);
    assert_eq!((x, dx), ([10.0, 20.0], [30.0, 40.0, 50.0, 60.0]));
}

#[derive(Clone, PartialEq, Debug, Differentiable)]
struct Named {
    name: String,
    weight: f64,
    #[pullback(skip)]
    tags: Vec<String>,
}

impl Named {
    fn new(name: &str, weight: f64) -> Self {
        Named { name: name.to_owned(), weight, tags: vec![format!("tag of {name}")] }
    }
}

#[autodiff(t_rename, Forward, Dual, Const, Dual)]
fn rename(mut named: Named, fails: bool) -> Vec<Named> {
    assert!(!fails, "it fails");
    named.name = "other".to_owned();
    named.tags.push("new".to_owned());
    named.weight *= 2.0;
    vec![named]
}

/// The tangent is memory of its own, in which strings and skipped fields are nothing yet.
unsafe extern "C-unwind" fn rename_derivative(
    named: *mut Named,
    d_named: *mut Named,
    fails: *const bool,
    out: *mut Vec<Named>,
    d_out: *mut Vec<Named>,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(rename(named.read(), fails.read()));
        let mut tangent = Vec::<Named>::with_capacity((*out).capacity());
        tangent.as_mut_ptr().write_bytes(0, 1);
        (*tangent.as_mut_ptr()).weight = 2.0 * (*d_named).weight;
        tangent.set_len(1);
        d_out.write(tangent);
    }
}

#[test]
fn strings_and_skipped_fields_by_value() {
    StandIn::new(rename_derivative as *const ()).renewing().of("rename", Mode::Forward);
    let (value, tangent) = t_rename(Named::new("of x", 1.0), Named::new("of dx", 3.0), false);
    let expected = |weight| {
        vec![Named { name: "other".to_owned(), weight, tags: vec!["tag of of x".to_owned(), "new".to_owned()] }]
    };
    assert_eq!((value, tangent), (expected(2.0), expected(6.0)));
    assert_eq!(message(|| t_rename(Named::new("of x", 1.0), Named::new("of dx", 3.0), true)), "it fails");
}

#[autodiff(t_exchange, Forward, Dual, Dual, Const)]
fn exchange(a: &mut Named, b: &mut Vec<Named>, fails: bool) {
    std::mem::swap(a, &mut b[0]);
    a.name.push_str(" and other");
    a.weight *= 2.0;
    assert!(!fails, "it fails");
}

unsafe extern "C-unwind" fn exchange_derivative(
    a: *const *mut Named,
    da: *const *mut Named,
    b: *const *mut Vec<Named>,
    db: *const *mut Vec<Named>,
    fails: *const bool,
    _: *mut (),
) {
    // SAFETY: as of a derivative.
    unsafe {
        let (da, first) = (da.read(), (*db.read()).as_mut_ptr());
        std::ptr::swap(da, first);
        (*da).weight *= 2.0;
        exchange(&mut *a.read(), &mut *b.read(), fails.read());
    }
}

#[test]
fn strings_and_skipped_fields_behind_references() {
    StandIn::new(exchange_derivative as *const ()).of("exchange", Mode::Forward);
    for fails in [false, true] {
        let (mut a, mut b) = (Named::new("a", 1.0), vec![Named::new("b", 2.0)]);
        let (mut da, mut db) = (Named::new("da", 3.0), vec![Named::new("db", 4.0)]);
        if fails {
            assert_eq!(message(|| t_exchange(&mut a, &mut da, &mut b, &mut db, true)), "it fails");
        } else {
            t_exchange(&mut a, &mut da, &mut b, &mut db, false);
        }
        assert_eq!((a.weight, b[0].weight, da.weight, db[0].weight), (4.0, 1.0, 8.0, 3.0));
        // Values of their own, as the primal has them.
        assert_eq!((&a.name, &da.name, &da.tags), (&"b and other".to_owned(), &a.name, &a.tags));
        assert_eq!((&b[0].name, &db[0].name, &db[0].tags), (&"a".to_owned(), &b[0].name, &b[0].tags));
    }
}

#[derive(Differentiable)]
struct Lent<'a> {
    values: &'a mut [f64],
    parts: &'a mut Vec<Named>,
    #[pullback(skip)]
    title: &'a str,
    counts: &'a [usize],
}

#[autodiff(t_lend, Forward, Dual, Dual)]
fn lend<'a>(lent: Lent<'a>) -> Lent<'a> {
    lent.values[0] *= 2.0;
    lent.parts[0].name.push('!');
    lent.parts.push(Named::new("new", 0.5));
    lent
}

/// The result has the argument's references as they are: the engine copies pointers, and borrows nothing again.
unsafe extern "C-unwind" fn lend_derivative<'a>(
    lent: *mut Lent<'a>,
    d_lent: *mut Lent<'a>,
    out: *mut Lent<'a>,
    d_out: *mut Lent<'a>,
) {
    // SAFETY: as of a derivative.
    unsafe {
        for (lent, by) in [(lent, 2.0), (d_lent, 2.0)] {
            *(&raw mut (*lent).values).cast::<*mut f64>().read() *= by;
        }
        let parts = (&raw mut (*lent).parts).cast::<*mut Vec<Named>>().read();
        (&mut *parts)[0].name.push('!');
        (*parts).push(Named::new("new", 0.5));
        // The vector has grown, in both. A shadow has no string there.
        let shadow = (&raw mut (*d_lent).parts).cast::<*mut Vec<Named>>().read();
        let mut new = MaybeUninit::<Named>::zeroed();
        (*new.as_mut_ptr()).weight = 0.25;
        let length = (*shadow).len();
        (*shadow).reserve_exact((*parts).capacity() - length);
        (*shadow).as_mut_ptr().add(length).copy_from(new.as_ptr(), 1);
        (*shadow).set_len(length + 1);
        out.copy_from(lent, 1);
        d_out.copy_from(d_lent, 1);
    }
}

#[test]
fn references_in_a_tangent() {
    StandIn::new(lend_derivative as *const ()).renewing().of("lend", Mode::Forward);
    let (mut values, mut d_values) = ([1.0], [10.0]);
    let exact = |name, weight| {
        let mut parts = Vec::with_capacity(1);
        parts.push(Named::new(name, weight));
        parts
    };
    let (mut parts, mut d_parts) = (exact("part", 1.0), exact("d_part", 2.0));
    {
        let title = String::from("title");
        let counts = vec![1, 2];
        let d_counts = vec![3, 4];
        let lent = Lent { values: &mut values, parts: &mut parts, title: &title, counts: &counts };
        let d_lent = Lent { values: &mut d_values, parts: &mut d_parts, title: "of the tangent", counts: &d_counts };
        let (value, tangent) = t_lend(lent, d_lent);
        assert_eq!((value.values[0], tangent.values[0]), (2.0, 20.0));
        assert_eq!((value.title, value.counts), ("title", &[1, 2][..]));
        assert_eq!((tangent.title.len() > 0, tangent.counts.len()), (true, 2));
        tangent.parts[0].name.push_str(" of a tangent");
    }
    assert_eq!((parts[0].name.as_str(), d_parts[0].name.as_str()), ("part!", "part! of a tangent"));
    assert_eq!((d_parts[1].name.as_str(), d_parts[1].weight), ("new", 0.25));
}

#[derive(Clone, PartialEq, Debug, Differentiable)]
enum Shape {
    Named { name: String, size: f64 },
    Boxed(Box<f64>),
}

#[autodiff(t_shapes, Forward(2), Dual, DualOnly)]
fn shapes(mut shapes: Vec<Shape>) -> Vec<Shape> {
    shapes.reverse();
    assert!(shapes.len() < 3, "too many");
    shapes
}

/// In an enum a string is mirrored like all else.
unsafe extern "C-unwind" fn shapes_derivative(
    of: *mut Vec<Shape>,
    d0: *mut Vec<Shape>,
    d1: *mut Vec<Shape>,
    out: *mut Vec<Shape>,
    d_out0: *mut Vec<Shape>,
    d_out1: *mut Vec<Shape>,
) {
    // SAFETY: as of a derivative.
    unsafe {
        if (*of).len() >= 3 {
            drop((d0.read(), d1.read()));
        }
        out.write(shapes(of.read()));
        d_out0.write(shapes(d0.read()));
        d_out1.write(shapes(d1.read()));
    }
}

#[test]
fn enums_that_own_memory() {
    StandIn::new(shapes_derivative as *const ()).renewing().of("shapes", Mode::Forward);
    let shapes = |of: f64| vec![Shape::Named { name: "name".to_owned(), size: of }, Shape::Boxed(Box::new(2.0 * of))];
    let [first, second] = t_shapes(shapes(1.0), [shapes(3.0), shapes(5.0)]);
    assert_eq!((&first[0], &second[0]), (&Shape::Boxed(Box::new(6.0)), &Shape::Boxed(Box::new(10.0))));
    assert_eq!(first[1], Shape::Named { name: "name".to_owned(), size: 3.0 });
    let three = |of| [shapes(of), shapes(of)].concat();
    assert_eq!(message(|| t_shapes(three(1.0), [three(3.0), three(5.0)])), "too many");
    // Another text, where nobody could put the primal's.
    let mut other = shapes(3.0);
    other[0] = Shape::Named { name: "eman".to_owned(), size: 3.0 };
    let said = message(|| t_shapes(shapes(1.0), [shapes(3.0), other]));
    assert!(said.contains("its shadow is \"eman\""), "{said}");
}
