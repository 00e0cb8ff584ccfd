//! Tangents are Rust values: whatever a forward derivative does to its primal, each string, vector and count of a tangent is its own.

#![forbid(unsafe_code)]

use pullback::{Differentiable, autodiff, jvp, make_zero};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

fn message<R>(f: impl FnOnce() -> R) -> String {
    std::panic::set_hook(Box::new(|_| {}));
    let panic = catch_unwind(AssertUnwindSafe(f)).err().expect("it should have panicked");
    panic.downcast_ref::<String>().cloned().unwrap_or_else(|| panic.downcast_ref::<&str>().unwrap().to_string())
}

#[derive(Differentiable, Clone, Debug, PartialEq)]
struct Named {
    w: f64,
    name: String,
    #[pullback(skip)]
    tags: Vec<String>,
}

fn named(w: f64, name: &str) -> Named {
    Named { w, name: name.to_owned(), tags: vec![name.repeat(2), "tag".to_owned()] }
}

#[autodiff(t_consumed, Forward, Dual, Dual)]
fn consumed(s: Named) -> f64 {
    s.w * s.w
}

#[test]
fn a_string_that_is_dropped() {
    // Other lengths and capacities than the primal's.
    assert_eq!(t_consumed(named(3.0, "a long name, on the heap"), named(1.0, "b")), (9.0, 6.0));
    assert_eq!(t_consumed(named(3.0, ""), named(1.0, "another long name, on the heap")), (9.0, 6.0));
}

#[autodiff(t_grown, Forward, Dual)]
fn grown(s: &mut Named) {
    s.w *= s.w;
    s.name.push_str(" and more, so that it has to grow beyond what it had");
    s.tags.push("new".to_owned());
}

#[test]
fn a_string_that_grows() {
    let (mut s, mut d) = (named(3.0, "a"), named(1.0, "b"));
    t_grown(&mut s, &mut d);
    assert_eq!(s.name, "a and more, so that it has to grow beyond what it had");
    assert_eq!(d, Named { w: 6.0, ..s.clone() });
    d.name.push('!');
    assert_ne!(d.name, s.name);
}

#[autodiff(t_swapped, Forward, Dual, Dual)]
fn swapped(a: &mut Named, b: &mut Named) {
    std::mem::swap(a, b);
    a.w *= 2.0;
    *b = Named { w: a.w * b.w, name: format!("{}", b.name.len()), tags: vec![] };
}

#[test]
fn values_that_change_places() {
    let (mut a, mut b) = (named(3.0, "a name"), named(5.0, "b"));
    let (mut da, mut db) = (named(1.0, "another one for the tangent"), named(10.0, ""));
    t_swapped(&mut a, &mut da, &mut b, &mut db);
    assert_eq!((a.w, b.w), (10.0, 30.0));
    assert_eq!(da, Named { w: 20.0, ..a.clone() });
    assert_eq!(db, Named { w: 20.0 * 3.0 + 10.0 * 1.0, ..b.clone() });
}

#[autodiff(t_grown_or_not, Forward, Dual)]
fn grown_or_not(s: &mut Named) {
    s.name.push_str(" and more, so that it has to grow beyond what it had");
    s.w *= s.w;
    assert!(s.w < 0.0, "too late");
}

#[test]
fn a_panic_after_a_string_has_grown() {
    let (mut s, mut d) = (named(3.0, "a"), named(1.0, "b"));
    assert_eq!(message(|| t_grown_or_not(&mut s, &mut d)), "too late");
    assert_eq!(s.name, d.name);
    drop((s, d));
}

#[test]
fn results_that_are_not_only_floats() {
    let f = |x: &f64| (x * x, format!("n{}", 1), "static", vec![1usize, 2]);
    let (y, dy) = jvp(f, &3.0, &1.0);
    assert_eq!(y, (9.0, "n1".to_owned(), "static", vec![1, 2]));
    assert_eq!(dy, (6.0, "n1".to_owned(), "static", vec![1, 2]));
    let g = |x: &f64| if *x > 0.0 { Ok(x * x) } else { Err(format!("{} is negative", -1)) };
    assert_eq!(jvp(g, &3.0, &1.0), (Ok(9.0), Ok(6.0)));
    let (y, dy) = jvp(g, &-3.0, &1.0);
    assert_eq!((y.clone(), dy), (y.clone(), y));
    let h = |x: &f64| Named { w: x * x, name: "x".repeat(*x as usize), tags: vec![format!("{}", 3)] };
    let (y, dy) = jvp(h, &3.0, &1.0);
    assert_eq!(dy, Named { w: 6.0, ..y });
}

#[autodiff(t_pushed, Forward, Dual, Dual)]
fn pushed(v: &mut Vec<f64>, x: f64) {
    v.push(x * x);
}

#[test]
fn a_vector_with_another_capacity() {
    let mut v = Vec::with_capacity(8);
    v.push(1.0);
    let mut d = vec![2.0];
    let said = message(|| t_pushed(&mut v, &mut d, 3.0, 1.0));
    assert!(said.contains("`v` has capacity 8, its shadow has capacity 1"), "{said}");
    let mut d = make_zero(&v);
    t_pushed(&mut v, &mut d, 3.0, 1.0);
    assert_eq!((v, d), (vec![1.0, 9.0], vec![0.0, 6.0]));
}

#[autodiff(t_ended, Forward, Dual, Dual)]
fn ended(r: Rc<Cell<f64>>) -> f64 {
    r.set(r.get() * 2.0);
    r.get() * r.get()
}

#[test]
fn an_rc_that_is_dropped() {
    let (r, d) = (Rc::new(Cell::new(3.0)), Rc::new(Cell::new(1.0)));
    let (keep_r, keep_d) = (r.clone(), d.clone());
    assert_eq!(t_ended(r, d), (36.0, 24.0));
    assert_eq!((Rc::strong_count(&keep_r), Rc::strong_count(&keep_d)), (1, 1));
    assert_eq!((keep_r.get(), keep_d.get()), (6.0, 2.0));
    // The tangent has an owner more than the primal: it must not end with it.
    let d = keep_d.clone();
    let said = message(|| t_ended(Rc::new(Cell::new(3.0)), d));
    assert!(said.contains("`r` has 1 owners and 0 weak references, its shadow has 2 owners"), "{said}");
}

#[autodiff(t_shared, Forward, Dual, Dual, Dual)]
fn shared(all: &mut Vec<Rc<Cell<f64>>>, r: &Rc<Cell<f64>>) -> f64 {
    all.push(r.clone());
    all.iter().map(|r| r.get() * r.get()).sum()
}

#[test]
fn counts_behind_a_reference_stay_apart() {
    let (r, d) = (Rc::new(Cell::new(3.0)), Rc::new(Cell::new(1.0)));
    let more = [d.clone(), d.clone()];
    let (mut all, mut d_all) = (Vec::with_capacity(4), Vec::with_capacity(4));
    assert_eq!(t_shared(&mut all, &mut d_all, &r, &d), (9.0, 6.0));
    assert_eq!((Rc::strong_count(&r), Rc::strong_count(&d)), (2, 4));
    drop(more);
    drop(d);
    assert_eq!((Rc::strong_count(&d_all[0]), d_all[0].get()), (1, 1.0));
}

/// It may own what an argument refers to, and the derivative does not know.
struct Owner(Option<Rc<Cell<f64>>>);

#[autodiff(t_dropped_behind, Forward, Dual, Const, Dual)]
fn dropped_behind(x: &Rc<Cell<f64>>, other: Owner) -> f64 {
    drop(other);
    let twice = [x.clone(), x.clone()];
    twice[0].get() * twice[1].get()
}

/// Owners that no argument with a shadow leads to come and go without one.
#[test]
fn owners_without_a_shadow() {
    let (x, dx) = (Rc::new(Cell::new(3.0)), Rc::new(Cell::new(1.0)));
    let more = dx.clone();
    assert_eq!(t_dropped_behind(&x, &dx, Owner(Some(x.clone()))), (9.0, 6.0));
    assert_eq!((Rc::strong_count(&x), Rc::strong_count(&dx)), (1, 2));
    drop(more);
    assert_eq!(dx.get(), 1.0);

    let captured = RefCell::new(Some(x.clone()));
    let taking = |x: &Rc<Cell<f64>>| {
        captured.take();
        x.get() * x.get()
    };
    assert_eq!(jvp(taking, &x, &dx), (9.0, 6.0));
    assert_eq!((Rc::strong_count(&x), Rc::strong_count(&dx)), (1, 1));
    // A shadow's own: it is gone from the shadow.
    let captured = RefCell::new(Some(dx.clone()));
    let taking = |x: &Rc<Cell<f64>>| {
        let copy = x.clone();
        captured.take();
        copy.get() * x.get()
    };
    assert_eq!(jvp(taking, &x, &dx), (9.0, 6.0));
    assert_eq!((Rc::strong_count(&x), Rc::strong_count(&dx)), (1, 1));
}

#[autodiff(t_both, Forward, Dual, Dual, Dual)]
fn both(r: &Rc<Cell<f64>>, rs: Vec<Rc<Cell<f64>>>) -> f64 {
    r.get() * rs.len() as f64
}

/// A derivative that refuses its arguments drops those that were moved in, and their shadows, and has changed no count.
#[test]
fn counts_are_those_of_owners_after_a_refusal() {
    let (r, d) = (Rc::new(Cell::new(3.0)), Rc::new(Cell::new(1.0)));
    let mut d_rs = Vec::with_capacity(4);
    d_rs.push(d.clone());
    let said = message(|| t_both(&r, &d, vec![r.clone()], d_rs));
    assert!(said.contains("capacity"), "{said}");
    assert_eq!((Rc::strong_count(&r), Rc::strong_count(&d)), (1, 1));
    let other = Rc::new(Cell::new(1.0));
    let said = message(|| t_both(&r, &d, vec![r.clone(), r.clone()], vec![other.clone(), other.clone()]));
    assert!(said.contains("share memory"), "{said}");
    assert_eq!((Rc::strong_count(&r), Rc::strong_count(&d), Rc::strong_count(&other)), (1, 1, 1));
}

#[autodiff(d_two, Reverse, Duplicated, Duplicated, Active)]
#[autodiff(t_two, Forward, Dual, Dual, Dual)]
#[autodiff(d_other, Reverse, Duplicated, Const, Active)]
fn two(a: &[Cell<f64>], b: &[Cell<f64>]) -> f64 {
    a[0].set(a[0].get() * b[0].get());
    b[0].get()
}

/// What is one value in the arguments is one in their shadows, and the other way round.
#[test]
fn names_of_shared_memory() {
    let cells = [Cell::new(3.0), Cell::new(4.0)];
    let one = |x: f64| [Cell::new(x), Cell::new(0.0)];
    let (mut da, mut db) = (one(0.0), one(0.0));
    let said = message(|| d_two(&cells, &mut da, &cells, &mut db));
    assert!(said.contains("arguments `a` and `b` share memory"), "{said}");
    let said = message(|| d_other(&cells, &mut da, &cells[..1]));
    assert!(said.contains("arguments `a` and `b` share memory"), "{said}");
    let said = message(|| t_two(&cells, &one(1.0), &one(2.0), &cells));
    assert!(said.contains("the shadow of `b` is memory of argument `a` itself"), "{said}");
    let d = one(1.0);
    let said = message(|| t_two(&cells, &d, &one(2.0), &d));
    assert!(said.contains("the shadows of `a` and `b` share memory"), "{said}");
    // The same for both is right.
    assert_eq!(t_two(&cells, &d, &cells, &d), (9.0, 6.0));
    assert_eq!((cells[0].get(), d[0].get()), (9.0, 6.0));
}

#[derive(Differentiable, Clone, Debug, PartialEq)]
struct Window<'a> {
    all: &'a [f64],
    name: String,
}

#[autodiff(t_narrowed, Forward, Dual, Dual)]
fn narrowed(window: &mut Window<'_>) -> f64 {
    window.all = &window.all[1..];
    window.name.push_str(", and a long one at that");
    window.all.iter().map(|x| x * x).sum()
}

/// The tangent refers to other memory than its primal, for another time.
#[test]
fn a_tangent_has_lifetimes_of_its_own() {
    let all = [1.0, 2.0, 3.0];
    let mut window = Window { all: &all, name: "a window".to_owned() };
    {
        let tangents = vec![10.0, 20.0, 30.0];
        let mut tangent = Window { all: &tangents, name: String::new() };
        assert_eq!(t_narrowed(&mut window, &mut tangent), (13.0, 2.0 * (2.0 * 20.0 + 3.0 * 30.0)));
        assert_eq!(tangent, Window { all: &[20.0, 30.0], name: window.name.clone() });
    }
    assert_eq!(window, Window { all: &all[1..], name: "a window, and a long one at that".to_owned() });
}

/// It cannot be cloned.
#[derive(Debug, PartialEq)]
struct Token(u8);

#[derive(Differentiable)]
struct Unique<'a> {
    x: &'a f64,
    #[pullback(skip)]
    token: Token,
}

#[autodiff(t_unique, Forward, Dual, Dual)]
fn unique(of: &mut Unique<'_>) -> f64 {
    of.token = Token(2);
    of.x * of.x
}

#[autodiff(t_owned, Forward, Dual, Dual)]
fn owned(of: Rc<(f64, String)>) -> f64 {
    of.0 * of.1.len() as f64
}

/// What the wrapper cannot take out of a tangent would be the primal's, too.
#[test]
fn parts_that_cannot_be_taken_out() {
    let (mut of, mut tangent) = (Unique { x: &3.0, token: Token(1) }, Unique { x: &1.0, token: Token(1) });
    let said = message(|| t_unique(&mut of, &mut tangent));
    assert!(said.contains("argument `of` cannot be differentiated in forward mode: it holds a"), "{said}");
    assert_eq!((of.x, of.token), (&3.0, Token(1)));
    let counted = |x: f64, name: &str| Rc::new((x, name.to_owned()));
    let said = message(|| t_owned(counted(3.0, "ab"), counted(1.0, "ab")));
    assert!(said.contains("it holds a `alloc::string::String` behind an `Rc`"), "{said}");
}

#[pullback::non_differentiable]
fn numbers(n: usize) -> Vec<usize> {
    (0..n).collect()
}

#[pullback::non_differentiable]
fn names(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("n{i}")).collect()
}

#[test]
fn vectors_that_a_function_without_derivative_has_made_have_tangents_that_are_vectors() {
    let (value, mut tangent) = jvp(|x: &f64| (x * x, numbers(3)), &3.0, &1.0);
    assert_eq!(value, (9.0, vec![0, 1, 2]));
    tangent.1.push(7);
    assert_eq!(std::hint::black_box(Some(tangent.1)), Some(vec![7]));
    let (value, tangent) = jvp(|x: &f64| (x * x, names(2)), &3.0, &1.0);
    assert_eq!(value, (9.0, vec!["n0".to_string(), "n1".to_string()]));
    assert_eq!(std::hint::black_box(Some(tangent.1)), Some(Vec::new()));
}

#[pullback::non_differentiable]
fn boxed(n: usize) -> (usize, usize, Box<usize>) {
    (n, n, Box::new(n))
}

#[pullback::non_differentiable]
fn counted(n: usize) -> (usize, usize, Rc<usize>) {
    (n, n, Rc::new(n))
}

#[test]
fn a_box_that_a_function_without_derivative_has_made_has_no_tangent() {
    let result = catch_unwind(|| jvp(|x: &f64| (x * x, boxed(3)), &3.0, &1.0));
    let message = *result.unwrap_err().downcast::<&str>().expect("a message");
    assert!(message.contains("a box that a function without derivative has made"), "{message}");
    let result = catch_unwind(|| drop(jvp(|x: &f64| (x * x, counted(3)), &3.0, &1.0)));
    let message = *result.unwrap_err().downcast::<&str>().expect("a message");
    assert!(message.contains("a shared value that a function without derivative has made"), "{message}");
}

#[derive(Differentiable, Clone)]
enum Label {
    Number(f64),
    Text(String),
}

#[autodiff(t_label, Forward, Dual, Const, Dual)]
fn label(of: &mut Label, scale: f64) -> f64 {
    match of {
        Label::Number(x) => *x * scale,
        Label::Text(text) => text.len() as f64 * scale,
    }
}

/// What is in an enum is grown and given back as the primal's.
#[test]
fn a_string_in_an_enum_is_the_same_in_the_tangent() {
    let text = |text: &str| Label::Text(text.to_owned());
    assert_eq!(t_label(&mut text("abc"), &mut text("abc"), 2.0), (6.0, 0.0));
    assert_eq!(t_label(&mut Label::Number(3.0), &mut Label::Number(1.0), 2.0), (6.0, 2.0));
    let said = message(|| t_label(&mut text("abc"), &mut text("abd"), 2.0));
    assert!(said.contains("is \"abc\", its shadow is \"abd\""), "{said}");
    let said = message(|| t_label(&mut text("abc"), &mut text("abcd"), 2.0));
    assert!(said.contains("has capacity 3, its shadow has capacity 4"), "{said}");
}

#[autodiff(t_grows_and_panics, Forward, Dual, Dual, Dual)]
fn grows_and_panics(v: &mut Vec<f64>, x: f64) -> f64 {
    if x > 0.0 {
        v.push(1.0);
        panic!("always");
    }
    x
}

#[derive(Differentiable)]
struct Stacks {
    a: Vec<Box<f64>>,
    b: Vec<Box<f64>>,
    count: usize,
}

#[autodiff(t_moves_and_panics, Forward, Dual, Dual, Dual)]
fn moves_and_panics(s: &mut Stacks, x: f64) -> f64 {
    if x > 0.0 {
        let top = s.a.pop().unwrap();
        s.b.push(top);
        s.count = s.b.len();
        assert!(s.count > 5, "only {}: {:?}", s.count, s.b);
    }
    x
}

#[autodiff(t_replaces_and_panics, Forward, Dual, Dual, Dual)]
fn replaces_and_panics(s: &mut Stacks, x: f64) -> f64 {
    if x > 0.0 {
        s.a.clear();
        std::mem::swap(&mut s.a, &mut s.b);
        s.b = vec![Box::new(x)];
        panic!("{} are left", s.b.len());
    }
    x
}

/// Shadows follow their primals to where a panic is, also where no way leads to a return any more.
#[test]
fn what_is_done_on_the_way_to_a_panic() {
    let (mut v, mut t) = (vec![1.0, 2.0], vec![3.0, 4.0]);
    catch_unwind(AssertUnwindSafe(|| t_grows_and_panics(&mut v, &mut t, 2.0, 1.0))).unwrap_err();
    assert_eq!((v, t.len(), &t[..2]), (vec![1.0, 2.0, 1.0], 3, &[3.0, 4.0][..]));
    for f in [t_moves_and_panics, t_replaces_and_panics] {
        let stacks = |a: f64| Stacks { a: vec![Box::new(a), Box::new(2.0 * a)], b: vec![Box::new(3.0 * a)], count: 3 };
        let (mut s, mut t) = (stacks(1.0), stacks(10.0));
        catch_unwind(AssertUnwindSafe(|| f(&mut s, &mut t, 2.0, 1.0))).unwrap_err();
        assert_eq!((s.a.len(), s.b.len(), s.count), (t.a.len(), t.b.len(), t.count));
        let sum = |stack: &[Box<f64>]| stack.iter().map(|x| **x).sum::<f64>();
        assert_eq!(10.0 * sum(&s.a), sum(&t.a));
    }
}
