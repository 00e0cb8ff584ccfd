//! Tangents are Rust values: whatever a forward derivative does to its primal, each string, vector and count of a
//! tangent is its own.

#![forbid(unsafe_code)]

use pullback::{Differentiable, autodiff, jvp, make_zero};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::{Rc, Weak};

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
struct Owner(#[expect(dead_code, reason = "it is dropped")] Option<Rc<Cell<f64>>>);

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

/// It may own what an argument owns.
struct Holder(#[expect(dead_code, reason = "it is dropped")] Option<Rc<Vec<f64>>>);

thread_local!(static HELD: RefCell<Option<Rc<Vec<f64>>>> = const { RefCell::new(None) });

#[pullback::non_differentiable]
fn let_go() {
    HELD.take();
}

/// It grows what it owns alone.
fn grown_if_alone(mut v: Rc<Vec<f64>>) -> f64 {
    if let Some(v) = Rc::get_mut(&mut v) {
        v.extend([1.0; 100]);
    }
    v[0] * v[0]
}

#[autodiff(t_dropped_holder, Forward, Dual, Const, Dual)]
fn dropped_holder(v: Rc<Vec<f64>>, other: Holder) -> f64 {
    drop(other);
    grown_if_alone(v)
}

#[autodiff(t_dropped_constant, Forward, Dual, Const, Dual)]
fn dropped_constant(v: Rc<Vec<f64>>, other: Rc<Vec<f64>>) -> f64 {
    drop(other);
    grown_if_alone(v)
}

#[autodiff(t_dropped_weak, Forward, Dual, Const, Dual)]
fn dropped_weak(v: Rc<Vec<f64>>, other: Weak<Vec<f64>>) -> f64 {
    drop(other);
    grown_if_alone(v)
}

#[autodiff(t_dropped_static, Forward, Dual, Dual)]
fn dropped_static(v: Rc<Vec<f64>>) -> f64 {
    HELD.take();
    grown_if_alone(v)
}

#[autodiff(t_dropped_opaque, Forward, Dual, Dual)]
fn dropped_opaque(v: Rc<Vec<f64>>) -> f64 {
    let_go();
    grown_if_alone(v)
}

#[autodiff(t_made_mutable, Forward, Dual, Const, Dual)]
fn made_mutable(v: &mut [Rc<Vec<f64>>], other: Holder) -> f64 {
    drop(other);
    let v = Rc::make_mut(&mut v[0]);
    v.extend([1.0; 100]);
    v[0] * v[0]
}

#[autodiff(t_last_owner, Forward, Dual, Const, Dual)]
fn last_owner(v: Rc<Vec<f64>>, other: Holder) -> f64 {
    drop(other);
    v[0] * v[0]
}

/// If another owner is dropped inside, the primal has one owner and its shadow may have more.
#[test]
fn owners_that_may_be_dropped_without_their_shadows() {
    type Counted = Rc<Vec<f64>>;
    let refused = |call: &dyn Fn(Counted, Counted, Counted) -> f64| {
        let (v, d) = (Rc::new(vec![3.0]), Rc::new(vec![1.0]));
        let other = d.clone();
        let seen = &other[..];
        let said = message(|| call(v.clone(), d, v));
        assert!(said.contains("`v` leads to an `Rc` with 2 owners and 0 weak references, of which 1 have"), "{said}");
        assert_eq!((seen, Rc::strong_count(&other)), (&[1.0][..], 1));
    };
    refused(&|v, d, other| t_dropped_holder(v, d, Holder(Some(other))).1);
    refused(&|v, d, other| t_dropped_constant(v, d, other).1);
    refused(&|v, d, other| t_last_owner(v, d, Holder(Some(other))).1);
    refused(&|v, d, other| t_made_mutable(&mut [v], &mut [d], Holder(Some(other))).1);
    refused(&|v, d, other| {
        HELD.set(Some(other));
        let (_, tangent) = t_dropped_static(v, d);
        tangent
    });
    HELD.take();
    refused(&|v, d, other| {
        HELD.set(Some(other));
        let (_, tangent) = t_dropped_opaque(v, d);
        tangent
    });
    HELD.take();
    let (v, d) = (Rc::new(vec![3.0]), Rc::new(vec![1.0]));
    let (weak, d_weak) = (Rc::downgrade(&v), Rc::downgrade(&d));
    let said = message(|| t_dropped_weak(v, d, weak));
    assert!(said.contains("with 1 owners and 1 weak references"), "{said}");
    assert!(d_weak.upgrade().is_none());

    // All owners have shadows.
    let (v, d) = (Rc::new(vec![3.0]), Rc::new(vec![1.0]));
    assert_eq!(t_dropped_holder(v, d, Holder(None)), (9.0, 6.0));
    let (v, d) = (Rc::new(vec![3.0]), Rc::new(vec![1.0]));
    let (mut all, mut d_all) = ([v.clone(), v], [d.clone(), d]);
    assert_eq!(t_made_mutable(&mut all, &mut d_all, Holder(None)), (9.0, 6.0));
    assert_eq!((all[0].len(), all[1].len(), d_all[0].len(), d_all[1].len()), (101, 1, 101, 1));
}

/// Its destructor grows what it owns alone.
#[derive(Differentiable)]
struct GrownLast(Rc<Vec<Cell<f64>>>);

impl Drop for GrownLast {
    fn drop(&mut self) {
        if let Some(v) = Rc::get_mut(&mut self.0) {
            v.push(Cell::new(1.0));
        }
    }
}

#[autodiff(t_too_long, Forward, Dual, Dual)]
fn too_long(v: GrownLast) -> f64 {
    assert!(v.0.len() < 2, "too long");
    v.0[0].get() * v.0[0].get()
}

/// Whoever hears of a panic may drop an owner before what the function holds is dropped.
#[test]
fn owners_that_may_be_dropped_by_a_panic_hook() {
    let cells = |all: &[f64]| Rc::new(all.iter().map(|x| Cell::new(*x)).collect::<Vec<_>>());
    let (v, d) = (cells(&[3.0, 4.0]), cells(&[1.0, 0.0]));
    let (_keep, other) = (v.clone(), d.clone());
    let said = message(|| t_too_long(GrownLast(v), GrownLast(d)));
    assert!(said.contains("`v` leads to an `Rc` with 2 owners"), "{said}");
    assert_eq!((other.len(), Rc::strong_count(&other)), (2, 1));
    assert_eq!(t_too_long(GrownLast(cells(&[3.0])), GrownLast(cells(&[1.0]))), (9.0, 6.0));
    let said = message(|| t_too_long(GrownLast(cells(&[3.0, 4.0])), GrownLast(cells(&[1.0, 0.0]))));
    assert_eq!(said, "too long");
}

#[autodiff(t_only_owner, Forward, Dual, Dual)]
fn only_owner(v: Rc<Vec<f64>>) -> f64 {
    grown_if_alone(v)
}

/// Nothing but the function drops owners, and those have shadows.
#[test]
fn owners_that_stay() {
    let (v, d) = (Rc::new(vec![3.0]), Rc::new(vec![1.0]));
    assert_eq!(t_only_owner(v.clone(), d.clone()), (9.0, 6.0));
    assert_eq!((Rc::strong_count(&v), Rc::strong_count(&d), v.len(), d.len()), (1, 1, 1, 1));
    assert_eq!(t_only_owner(v, d), (9.0, 6.0));
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

#[autodiff(t_single, Forward, Dual, Dual, Dual)]
#[autodiff(t_single_const, Forward, Dual, Const, Dual)]
#[autodiff(d_single, Reverse, Duplicated, Duplicated, Active)]
#[autodiff(t_single_twice, Forward(2), Dual, Dual, Dual)]
fn single(a: &Cell<f64>, b: &Cell<f64>) -> f64 {
    a.set(a.get() * a.get());
    b.get()
}

#[derive(Differentiable)]
struct Cells2<'a> {
    a: &'a Cell<f64>,
    b: &'a (Cell<f64>, Cell<f64>),
}

#[autodiff(t_fields, Forward, Dual, Dual)]
#[autodiff(d_fields, Reverse, Duplicated, Active)]
fn fields(of: &Cells2<'_>) -> f64 {
    of.a.set(of.a.get() * of.a.get());
    of.b.0.get() * of.b.1.get()
}

#[autodiff(t_parts, Forward, Dual, Dual, Dual)]
#[autodiff(d_parts, Reverse, Duplicated, Duplicated, Active)]
fn parts(all: &Cell<[f64; 2]>, one: &Cell<f64>) -> f64 {
    one.set(one.get() * one.get());
    all.get()[1]
}

/// A cell that is a float and nothing more is memory with several names, too.
#[test]
fn names_of_single_cells() {
    let shared = |said: String, what: &str| assert!(said.contains(what), "{said}");
    let (c, other) = (Cell::new(3.0), Cell::new(5.0));
    let (one, zero) = (Cell::new(1.0), Cell::new(0.0));
    let both = "arguments `a` and `b` share memory";
    shared(message(|| t_single(&c, &one, &c, &zero)), both);
    shared(message(|| t_single_const(&c, &one, &c)), both);
    shared(message(|| d_single(&c, &mut one.clone(), &c, &mut zero.clone())), both);
    shared(message(|| t_single(&c, &one, &other, &one)), "the shadows of `a` and `b` share memory");
    shared(message(|| t_single(&c, &c, &other, &one)), "the shadow of `a` is memory of argument `a` itself");
    shared(message(|| t_single_twice(&c, [&one, &one], &other, [&zero, &zero])), "share memory");
    assert_eq!((c.get(), other.get(), one.get(), zero.get()), (3.0, 5.0, 1.0, 0.0));
    assert_eq!(t_single(&c, &one, &c, &one), (9.0, 6.0));
    assert_eq!((c.get(), one.get()), (9.0, 6.0));

    let pair = (Cell::new(3.0), Cell::new(2.0));
    let (d, d_pair) = (Cell::new(0.0), (Cell::new(0.0), Cell::new(0.0)));
    let of = Cells2 { a: &pair.0, b: &pair };
    shared(message(|| d_fields(&of, &mut Cells2 { a: &d, b: &d_pair })), "share memory");
    shared(message(|| t_fields(&of, &Cells2 { a: &d, b: &d_pair })), "share memory");
    let of = Cells2 { a: &c, b: &pair };
    shared(message(|| t_fields(&of, &Cells2 { a: &c, b: &d_pair })), "is memory of argument `of` itself");
    shared(message(|| d_fields(&of, &mut Cells2 { a: &d, b: &pair })), "is memory of argument `of` itself");
    assert_eq!((pair.0.get(), c.get()), (3.0, 9.0));

    let (all, d_all) = (Cell::new([2.0, 3.0]), Cell::new([0.0, 0.0]));
    let part = &all.as_array_of_cells()[1];
    let said = message(|| t_parts(&all, &d_all, part, &one));
    shared(said, "arguments `all` and `one` share memory");
    shared(
        message(|| d_parts(&all, &mut d_all.clone(), part, &mut one.clone())),
        "arguments `all` and `one` share memory",
    );
    let d_all = Cell::new([0.0, 1.0]);
    assert_eq!(t_parts(&all, &d_all, part, &d_all.as_array_of_cells()[1]), (9.0, 6.0));
    assert_eq!(d_all.get(), [0.0, 6.0]);
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

#[derive(Differentiable, Debug, PartialEq)]
enum Marked {
    With(f64, #[pullback(skip)] Vec<u8>),
    Nothing,
}

#[autodiff(t_marked, Forward, Dual, Dual)]
fn marked(of: &mut (f64, Marked)) -> f64 {
    of.0 *= of.0;
    of.0
}

#[autodiff(t_read, Forward, Dual, Dual)]
fn read(of: &(f64, Marked)) -> f64 {
    of.0 * of.0
}

#[derive(Differentiable, Debug, PartialEq)]
struct Tagged {
    x: f64,
    #[pullback(skip)]
    tag: std::cell::RefCell<Box<usize>>,
}

#[autodiff(t_listed, Forward, Dual, Dual)]
fn listed(x: f64) -> (f64, Vec<Option<Tagged>>) {
    (x * x, Vec::new())
}

type Cells = Rc<Vec<Cell<Option<f64>>>>;

/// It never returns, and what it holds then is given back with its shadow.
#[autodiff(t_endless, Forward, Dual, Dual, Dual)]
fn endless(lent: &Cells, mut own: (Cells, usize)) -> f64 {
    let mut sum = 0.25;
    let mut all = Vec::with_capacity(4);
    all.extend(vec![Cell::new(Some(0.5f64.tanh())), (*own.0)[1].clone()]);
    own.0 = Rc::new(all);
    (*lent)[1].swap(&(*lent)[0]);
    (*own.0)[0].swap(&(*lent)[1]);
    for i in 0..usize::MAX {
        assert!(i < 3, "too far");
        sum = (sum * (*lent)[0].get().unwrap_or(0.5)).sin();
    }
    sum
}

#[derive(Differentiable, Clone, Debug, PartialEq)]
struct Weighed {
    #[pullback(skip)]
    weight: Cell<f64>,
    x: f64,
}

/// It never returns, and stores floats of which it cannot be told whether they are in a skipped field.
#[autodiff(t_unsure, Forward, Dual, Dual, Dual)]
fn unsure(of: Box<&mut Option<Weighed>>, other: &mut Option<Weighed>) -> f64 {
    let mut sum = 0.25;
    let mut own =
        Some(Weighed { weight: Cell::new(other.as_ref().unwrap().weight.get()), x: other.as_ref().unwrap().x });
    *other.as_mut().unwrap() = Weighed { weight: Cell::new(own.as_ref().unwrap().weight.get().sin()), x: sum };
    *(**of).as_mut().unwrap() = Weighed { weight: other.as_ref().unwrap().weight.clone(), x: sum.sin() };
    for i in 0..usize::MAX / 2 {
        assert!(i < 3, "too far");
        sum = (sum * 1.33).sin();
        std::mem::take(&mut own.as_mut().unwrap().weight);
        (**of).as_mut().unwrap().x += 0.5 - (**of).as_mut().unwrap().weight.get();
    }
    sum + (**of).as_ref().unwrap().x
}

struct OnDrop<F: Fn()>(F);
impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// It never returns, and it is a destructor that stores such a float.
#[autodiff(t_at_last, Forward, Dual, Dual, Dual)]
fn at_last(of: Box<&mut Vec<f64>>, other: &Option<Weighed>) -> f64 {
    let mut sum = 0.25;
    let last = OnDrop(|| other.as_ref().unwrap().weight.set(other.as_ref().unwrap().weight.get().sin()));
    for i in 0..usize::MAX / 2 {
        assert!(i < 3, "too far");
        sum = (sum * other.as_ref().unwrap().x).sin();
    }
    let _ = &last;
    sum + of[0]
}

/// Constant enums are moved where enums are moved unseen, floats where there may be a skipped field: of what is never
/// returned no tangent is wanted. (Under valgrind nothing is lost.)
#[test]
fn a_function_that_always_panics_gives_back_what_it_holds() {
    let cells = |x: f64| Rc::new(vec![Cell::new(Some(x)), Cell::new(None)]);
    let (lent, tangent) = (cells(1.0), cells(2.0));
    let said = message(|| t_endless(&lent, &tangent, (cells(3.0), 0), (cells(4.0), 0)));
    assert_eq!(said, "too far");
    assert_eq!((lent[0].get(), lent[1].get()), (None, Some(0.5f64.tanh())));
    let some = |weight: f64, x: f64| Some(Weighed { weight: Cell::new(weight), x });
    let ((mut of, mut d_of), (mut other, mut d_other)) =
        ((some(1.0, 2.0), some(3.0, 4.0)), (some(5.0, 6.0), some(7.0, 8.0)));
    let said = message(|| t_unsure(Box::new(&mut of), Box::new(&mut d_of), &mut other, &mut d_other));
    assert_eq!(said, "too far");
    assert_eq!((of.unwrap().weight, other.unwrap().weight), (Cell::new(5f64.sin()), Cell::new(5f64.sin())));
    assert_eq!((d_of.unwrap().weight, d_other.unwrap().weight), (Cell::new(5f64.sin()), Cell::new(5f64.sin())));
    let (mut of, mut d_of, other) = (vec![1.0], vec![2.0], some(1.0, 2.0));
    let said = message(|| t_at_last(Box::new(&mut of), Box::new(&mut d_of), &other, &some(3.0, 4.0)));
    assert_eq!(said, "too far");
    assert_eq!((of, d_of, other.unwrap().weight.get()), (vec![1.0], vec![2.0], 1f64.sin()));
}

/// What the wrapper cannot take out of a tangent would be the primal's, too.
#[test]
fn parts_that_cannot_be_taken_out() {
    let (mut of, mut tangent) = (Unique { x: &3.0, token: Token(1) }, Unique { x: &1.0, token: Token(1) });
    let said = message(|| t_unique(&mut of, &mut tangent));
    assert!(said.contains("argument `of` cannot be differentiated in forward mode: it holds a"), "{said}");
    assert_eq!((of.x, of.token), (&3.0, Token(1)));
    let counted = |x: f64, name: &str| Rc::new((x, name.to_owned()));
    let (of, tangent) = (counted(3.0, "ab"), counted(1.0, "ab"));
    let weak = (Rc::downgrade(&of), Rc::downgrade(&tangent));
    let said = message(|| t_owned(of, tangent));
    assert!(said.contains("it holds a `alloc::string::String` behind an `Rc` that has weak references"), "{said}");
    assert!(weak.0.upgrade().is_none());
    assert_eq!(t_owned(counted(3.0, "ab"), counted(1.0, "abc")), (6.0, 2.0));
    let with = |x: f64| (x, Marked::With(2.0, vec![1, 2]));
    let (mut of, mut tangent) = (with(3.0), with(1.0));
    let said = message(|| t_marked(&mut of, &mut tangent));
    assert!(said.contains("it holds a `alloc::vec::Vec<u8>` in a skipped field of an enum"), "{said}");
    assert_eq!((of, tangent), (with(3.0), with(1.0)));
    // The function may make one itself, and the shadow of what it owns would be lost.
    let said = message(|| t_marked(&mut (3.0, Marked::Nothing), &mut (1.0, Marked::Nothing)));
    assert!(
        said.contains("argument `of` cannot be differentiated in forward mode: it may hold a `Marked` in an enum"),
        "{said}"
    );
    let said = message(|| t_listed(3.0, 1.0));
    assert!(
        said.contains("the result cannot be differentiated in forward mode: it may hold a `Tagged` in an enum"),
        "{said}"
    );
    assert_eq!(t_read(&(3.0, Marked::Nothing), &(1.0, Marked::Nothing)), (9.0, 6.0));
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

#[derive(Differentiable)]
struct Labelled {
    #[pullback(skip)]
    label: String,
    weight: f64,
}

#[autodiff(t_replaced_label, Forward, Dual, Dual)]
fn replaced_label(mut p: Box<Labelled>) -> f64 {
    let mut sum = 0.25;
    for _ in 0..2 {
        p = Box::new(Labelled { label: p.label.clone(), weight: p.weight * p.weight });
    }
    for i in 0..usize::MAX / 2 {
        assert!(sum < 3.0 && i < 9, "over");
        sum = (sum * p.weight).sin();
    }
    sum
}

/// The box that the function made has the skipped field of the one that it replaces.
#[test]
fn a_skipped_string_is_dropped_once() {
    let label = |weight| Box::new(Labelled { label: "a label".to_owned(), weight });
    assert_eq!(message(|| t_replaced_label(label(0.5), label(1.0))), "over");
}

fn roomy<T>(values: Vec<T>) -> Vec<T> {
    let mut vector = Vec::with_capacity(values.len() + 3);
    vector.extend(values);
    vector
}

#[autodiff(t_elsewhere, Forward, Dual, Dual)]
fn elsewhere(x: f64) -> Vec<Labelled> {
    roomy(vec![
        Labelled { label: "the first".to_owned(), weight: x * x },
        Labelled { label: String::with_capacity(9), weight: x },
    ])
}

/// What is not yet in the result's memory is of its type.
#[test]
fn strings_that_are_put_together_elsewhere() {
    let (value, tangent) = t_elsewhere(3.0, 1.0);
    assert_eq!((value[0].weight, tangent[0].weight, tangent[1].weight), (9.0, 6.0, 1.0));
    assert_eq!((tangent[0].label.as_str(), tangent[1].label.as_str()), ("the first", ""));
}

#[derive(Differentiable, Debug, PartialEq)]
struct Rows {
    a: Vec<f64>,
    scale: f64,
    b: Vec<f64>,
}

#[autodiff(t_shorter, Forward, Dual)]
fn shorter(rows: &mut Rows) {
    rows.a.pop();
    std::mem::swap(&mut rows.a, &mut rows.b);
}

#[autodiff(t_longer, Forward, Dual)]
fn longer(rows: &mut Rows) {
    rows.a.push(rows.scale);
    std::mem::swap(&mut rows.a, &mut rows.b);
}

/// A length that is computed from a word that lies where floats may lie is a length.
#[test]
fn lengths_of_vectors_that_change_places() {
    let rows = |by: f64| Rows { a: vec![1.0 * by, 2.0 * by], scale: 3.0 * by, b: vec![4.0 * by] };
    let (mut of, mut tangent) = (rows(1.0), rows(10.0));
    t_shorter(&mut of, &mut tangent);
    assert_eq!(of, Rows { a: vec![4.0], scale: 3.0, b: vec![1.0] });
    assert_eq!(tangent, Rows { a: vec![40.0], scale: 30.0, b: vec![10.0] });
    let (mut of, mut tangent) = (rows(1.0), rows(10.0));
    t_longer(&mut of, &mut tangent);
    assert_eq!(of, Rows { a: vec![4.0], scale: 3.0, b: vec![1.0, 2.0, 3.0] });
    assert_eq!(tangent, Rows { a: vec![40.0], scale: 30.0, b: vec![10.0, 20.0, 30.0] });
}

mod skipped_cells_behind_a_reference {
    use pullback::{Differentiable, autodiff, jvp};
    use std::cell::{Cell, RefCell};

    #[derive(Differentiable)]
    struct Named {
        x: f64,
        #[pullback(skip)]
        name: RefCell<(Box<str>, usize)>,
    }

    /// The tangent keeps its own.
    #[test]
    fn are_left_alone() {
        let named = |x: f64, name: &str| Named { x, name: RefCell::new((Box::from(name), 1)) };
        let (s, d) = (named(3.0, "of the primal"), named(1.0, "of the tangent"));
        let f = |s: &Named| {
            s.name.borrow_mut().0 = Box::from("a longer one than there was before");
            *s.name.borrow_mut() = (Box::from("another"), 2);
            s.name.borrow_mut().1 += 1;
            s.x * s.x
        };
        assert_eq!(jvp(f, &s, &d), (9.0, 6.0));
        assert_eq!(*s.name.borrow(), (Box::from("another"), 3));
        assert_eq!(*d.name.borrow(), (Box::from("of the tangent"), 1));
    }

    #[derive(Differentiable)]
    struct Two {
        x: f64,
        #[pullback(skip)]
        a: RefCell<Option<Box<str>>>,
        #[pullback(skip)]
        b: RefCell<Option<Box<str>>>,
    }

    /// They are filled with zeros, and change places.
    #[test]
    fn that_are_emptied_and_exchanged() {
        let two = |x: f64, a: &str| Two { x, a: RefCell::new(Some(Box::from(a))), b: RefCell::default() };
        let (s, d) = (two(3.0, "of the primal"), two(1.0, "of the tangent"));
        let f = |s: &Two| {
            s.a.swap(&s.b);
            s.b.replace(None);
            s.x * s.x
        };
        assert_eq!(jvp(f, &s, &d), (9.0, 6.0));
        assert_eq!((s.a.take(), s.b.take()), (None, None));
        assert_eq!((d.a.take(), d.b.take()), (Some(Box::from("of the tangent")), None));
    }

    #[derive(Differentiable)]
    struct Side {
        x: f64,
        #[pullback(skip)]
        a: Cell<(usize, usize)>,
        #[pullback(skip)]
        b: Cell<Option<&'static str>>,
        c: Cell<f64>,
        d: Cell<f64>,
    }

    /// They lie side by side with cells that take part, and are filled with zeros at once.
    #[test]
    fn beside_cells_that_take_part() {
        let side =
            |x, a, b, c| Side { x, a: Cell::new((a, a)), b: Cell::new(Some(b)), c: Cell::new(c), d: Cell::new(c) };
        let (s, d) = (side(3.0, 1, "of the primal", 2.0), side(1.0, 7, "of the tangent", 5.0));
        let f = |s: &Side| {
            let y = s.x * s.c.get();
            s.a.set((0, 0));
            s.b.set(None);
            s.c.set(0.0);
            s.d.set(0.0);
            y
        };
        assert_eq!(jvp(f, &s, &d), (6.0, 17.0));
        assert_eq!((s.a.get(), s.b.get(), s.c.get(), s.d.get()), ((0, 0), None, 0.0, 0.0));
        assert_eq!((d.a.get(), d.b.get(), d.c.get(), d.d.get()), ((7, 7), Some("of the tangent"), 0.0, 0.0));
    }

    #[inline(never)]
    fn touch(s: &Named) {
        *s.name.borrow_mut() = (Box::from("touched"), 5);
    }

    #[autodiff(t_both, Forward, Dual, Dual, Dual)]
    fn both(a: &Named, b: &mut Box<Named>) -> f64 {
        *b = Box::new(Named { x: a.x * b.x, name: RefCell::default() });
        touch(a);
        touch(b);
        a.x * b.x
    }

    /// What is lent and what the function makes are told apart where both come to the same place.
    #[test]
    fn beside_what_the_function_makes() {
        let named = |x: f64, name: &str| Named { x, name: RefCell::new((Box::from(name), 1)) };
        let (s, d) = (named(3.0, "of the primal"), named(1.0, "of the tangent"));
        let (mut b, mut e) = (Box::new(named(2.0, "b")), Box::new(named(1.0, "e")));
        assert_eq!(t_both(&s, &d, &mut b, &mut e), (18.0, 21.0));
        assert_eq!((s.name.take().0.as_ref(), b.name.take().0.as_ref()), ("touched", "touched"));
        assert_eq!((d.name.take().0.as_ref(), e.name.take().0.as_ref()), ("of the tangent", "touched"));
    }
}

/// The bits of a skipped field may say whether there is something at all.
mod skipped_fields_with_a_niche {
    use pullback::{Differentiable, autodiff};

    #[derive(Differentiable, Debug, PartialEq, Clone)]
    struct Named {
        x: f64,
        #[pullback(skip)]
        name: Box<str>,
    }

    #[derive(Differentiable, Debug, PartialEq, Clone, Copy)]
    struct Flagged {
        x: f64,
        #[pullback(skip)]
        flag: bool,
    }

    fn named(x: f64, name: &str) -> Option<Named> {
        Some(Named { x, name: Box::from(name) })
    }

    fn flagged(x: f64, flag: bool) -> Option<Flagged> {
        Some(Flagged { x, flag })
    }

    #[autodiff(t_emptied, Forward, Dual, Dual, Dual)]
    fn emptied(one: &mut Option<Named>, other: &mut Option<Flagged>) -> f64 {
        let y = one.as_ref().map_or(0.0, |one| one.x) * other.map_or(0.0, |other| other.x);
        (*one, *other) = (None, None);
        y
    }

    #[autodiff(t_made, Forward, Dual, Dual, Dual)]
    fn made(x: f64, one: &mut Option<Named>, other: &mut Option<Flagged>) {
        *one = named(x * x, "new");
        *other = flagged(2.0 * x, x > 1.0);
    }

    #[autodiff(t_taken, Forward, Dual, Dual)]
    fn taken(all: &mut Vec<Option<Named>>) -> (Option<Named>, Option<Named>) {
        all.push(None);
        let first = all[0].take();
        all.swap(0, 1);
        (first, all.iter().flatten().next().cloned())
    }

    #[test]
    fn are_there_or_not_in_the_tangent_too() {
        let (mut a, mut b) = (named(3.0, "of the primal"), flagged(5.0, true));
        let (mut da, mut db) = (named(1.0, "of the tangent"), flagged(10.0, false));
        assert_eq!(t_emptied(&mut a, &mut da, &mut b, &mut db), (15.0, 35.0));
        assert_eq!((a, b, da, db), (None, None, None, None));
        let (mut a, mut b, mut da, mut db) = (None, flagged(5.0, false), None, flagged(10.0, false));
        t_made(3.0, 1.0, &mut a, &mut da, &mut b, &mut db);
        assert_eq!((a, da), (named(9.0, "new"), named(6.0, "new")));
        assert_eq!((b, db), (flagged(6.0, true), flagged(2.0, true)));
    }

    #[test]
    fn are_taken_out_of_a_vector() {
        let (mut all, mut tangents) = (vec![named(3.0, "a"), named(4.0, "b")], vec![named(1.0, "c"), named(2.0, "d")]);
        let (value, tangent) = t_taken(&mut all, &mut tangents);
        assert_eq!(value, (named(3.0, "a"), named(4.0, "b")));
        assert_eq!(tangent, (named(1.0, "a"), named(2.0, "b")));
        assert_eq!((all, tangents), (vec![named(4.0, "b"), None, None], vec![named(2.0, "b"), None, None]));
    }
}

/// Where the function has made what a mutable reference leads to, nobody but the wrapper can put parts of its own
/// there.
mod skipped_fields_behind_a_mutable_reference {
    use pullback::{Differentiable, autodiff};

    #[derive(Differentiable, Debug, PartialEq)]
    struct Named {
        x: f64,
        #[pullback(skip)]
        name: Box<str>,
    }

    fn named(x: f64, name: &str) -> Named {
        Named { x, name: Box::from(name) }
    }

    type Kept = (&'static mut Named, &'static mut [(f64, String)]);
    static KEPT: std::sync::Mutex<Vec<Kept>> = std::sync::Mutex::new(Vec::new());

    #[autodiff(t_leaked, Forward, Dual, Dual)]
    fn leaked(x: f64) -> Kept {
        (Box::leak(Box::new(named(x * x, "new"))), vec![(x, "a".to_owned()), (2.0 * x, "b".to_owned())].leak())
    }

    #[test]
    fn that_is_never_given_back() {
        let ((one, all), (tangent, tangents)) = t_leaked(3.0, 1.0);
        one.name = Box::from("of the primal");
        tangent.name = Box::from("of the tangent");
        all[0].1 = "changed".to_owned();
        assert_eq!((&*one, &*tangent), (&named(9.0, "of the primal"), &named(6.0, "of the tangent")));
        assert_eq!(tangents, [(1.0, "a".to_owned()), (2.0, "b".to_owned())]);
        // For valgrind, which looks for what is lost.
        KEPT.lock().unwrap().extend([(one, all), (tangent, tangents)]);
    }

    #[autodiff(t_pushed, Forward, Dual, Dual)]
    fn pushed(all: &mut Vec<Named>) -> &mut Named {
        all.push(named(all[0].x * 2.0, "new"));
        let last = all.len() - 1;
        &mut all[last]
    }

    #[autodiff(t_first, Forward, Dual, Dual)]
    fn first<'a>(all: Vec<&'a mut Named>) -> Option<&'a mut Named> {
        all.into_iter().next()
    }

    #[test]
    fn that_an_argument_owns_or_lends() {
        let (mut all, mut tangents) = (vec![named(3.0, "a")], vec![named(1.0, "b")]);
        let (one, tangent) = t_pushed(&mut all, &mut tangents);
        one.name = Box::from("of the primal");
        tangent.name = Box::from("of the tangent");
        assert_eq!(all, [named(3.0, "a"), named(6.0, "of the primal")]);
        assert_eq!(tangents, [named(1.0, "a"), named(2.0, "of the tangent")]);
        let (mut one, mut tangent) = (named(3.0, "a"), named(1.0, "b"));
        let (got, its) = t_first(vec![&mut one], vec![&mut tangent]);
        got.unwrap().name = Box::from("of the primal");
        its.unwrap().name = Box::from("of the tangent");
        assert_eq!((one, tangent), (named(3.0, "of the primal"), named(1.0, "of the tangent")));
    }
}

mod skipped_fields_without_clone {
    use super::message;
    use pullback::{Differentiable, autodiff};
    use std::cell::RefCell;

    #[derive(Default)]
    struct Log(RefCell<String>);

    #[derive(Differentiable)]
    struct Guarded<'a> {
        x: &'a f64,
        #[pullback(skip)]
        log: Log,
    }

    #[derive(Differentiable)]
    enum Either<'a> {
        Guarded(&'a f64, #[pullback(skip)] Log),
        Plain(&'a f64),
    }

    fn guarded(x: &f64) -> Guarded<'_> {
        Guarded { x, log: Log(RefCell::new("made inside".to_owned())) }
    }

    #[autodiff(t_pushed, Forward, Dual, Dual)]
    fn pushed<'a>(all: &mut Vec<Guarded<'a>>, x: &'a f64) {
        all.push(guarded(x));
    }

    #[autodiff(t_put, Forward, Dual, Dual)]
    fn put<'a>(one: &mut Option<Box<Either<'a>>>, x: &'a f64) {
        *one = Some(Box::new(Either::Guarded(x, Log::default())));
    }

    #[autodiff(t_returned, Forward, Dual, Dual)]
    fn returned(x: &f64) -> Guarded<'_> {
        guarded(x)
    }

    #[autodiff(t_read, Forward, Dual, Dual)]
    fn read(all: &[Guarded<'_>]) -> f64 {
        all.iter().map(|one| one.x * one.x + one.log.0.borrow().len() as f64).sum()
    }

    /// The function may make such values: that no argument holds one yet, says nothing.
    #[test]
    fn are_told_by_the_types() {
        let (mut all, mut tangents) = (Vec::new(), Vec::new());
        let said = message(|| t_pushed(&mut all, &mut tangents, &3.0, &1.0));
        assert!(
            said.contains("argument `all` cannot be differentiated in forward mode: it may hold a `Guarded`"),
            "{said}"
        );
        assert_eq!((all.len(), tangents.len()), (0, 0));
        let (mut one, mut tangent) = (Some(Box::new(Either::Plain(&2.0))), Some(Box::new(Either::Plain(&1.0))));
        let said = message(|| t_put(&mut one, &mut tangent, &3.0, &1.0));
        assert!(
            said.contains("argument `one` cannot be differentiated in forward mode: it may hold a `Either`"),
            "{said}"
        );
        assert!(matches!(one.as_deref(), Some(Either::Plain(2.0))));
        let said = message(|| drop(t_returned(&3.0, &1.0)));
        assert!(
            said.contains("the result cannot be differentiated in forward mode: it may hold a `Guarded`"),
            "{said}"
        );
    }

    /// Behind a shared reference they stay what they are.
    #[test]
    fn are_left_alone_behind_a_reference() {
        assert_eq!(t_read(&[guarded(&3.0)], &[guarded(&1.0)]), (20.0, 6.0));
    }
}

/// There is no value for the shadow then, which the caller has.
#[test]
fn a_clone_that_panics_ends_the_program() {
    struct Once(Box<str>);

    impl Clone for Once {
        fn clone(&self) -> Self {
            panic!("there is but one {}", self.0)
        }
    }

    #[derive(Differentiable)]
    struct Holder {
        x: f64,
        #[pullback(skip)]
        once: Once,
    }

    #[autodiff(t_square, Forward, Dual)]
    fn square(of: &mut Holder) {
        of.x *= of.x;
    }

    if std::env::var_os("E2E_CLONE_PANICS").is_some() {
        let holder = |x| Holder { x, once: Once(Box::from("value")) };
        let (mut of, mut tangent) = (holder(3.0), holder(1.0));
        let _ = message(|| t_square(&mut of, &mut tangent));
        std::process::exit(0);
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let child =
        child.args(["a_clone_that_panics_ends_the_program", "--exact", "--nocapture"]).env("E2E_CLONE_PANICS", "1");
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("`Clone::clone` of its type has panicked"), "{said}");
}

/// What is in an `Rc` that the arguments have to themselves may be changed, and has parts of its own afterwards; what
/// others own stays as it is.
mod parts_behind_an_rc {
    use super::message;
    use pullback::{Differentiable, autodiff};
    use std::rc::Rc;

    type Entries = Rc<Vec<(f64, String)>>;

    #[autodiff(t_entry, Forward, Dual, Dual)]
    fn entry(all: &mut Entries, x: f64) {
        Rc::make_mut(all).push((x * x, "entry".to_owned()));
    }

    #[test]
    fn that_is_changed() {
        let (mut all, mut tangents): (Entries, Entries) = (Rc::default(), Rc::default());
        t_entry(&mut all, &mut tangents, 3.0, 1.0);
        t_entry(&mut all, &mut tangents, 5.0, 1.0);
        assert_eq!(*all, [(9.0, "entry".to_owned()), (25.0, "entry".to_owned())]);
        assert_eq!(*tangents, [(6.0, "entry".to_owned()), (10.0, "entry".to_owned())]);
        // The function could drop other owners, for all that is known.
        let others = (all.clone(), tangents.clone());
        let said = message(|| t_entry(&mut all, &mut tangents, 7.0, 1.0));
        assert!(said.contains("leads to an `Rc` with 2 owners"), "{said}");
        drop(others);
    }

    #[derive(Differentiable)]
    struct Flagged {
        x: Box<f64>,
        #[pullback(skip)]
        flag: bool,
    }

    #[autodiff(t_emptied, Forward, Dual)]
    fn emptied(of: &mut Rc<Option<Flagged>>) {
        if let Some(of) = Rc::get_mut(of) {
            *of = None;
        }
    }

    #[test]
    fn that_is_emptied() {
        let flagged = |x: f64| Rc::new(Some(Flagged { x: Box::new(x), flag: true }));
        let (mut of, mut tangent) = (flagged(3.0), flagged(1.0));
        let (other, its) = (of.clone(), tangent.clone());
        t_emptied(&mut of, &mut tangent);
        assert!(of.is_some() && tangent.as_ref().as_ref().is_some_and(|t| *t.x == 1.0 && t.flag));
        drop((other, its));
        t_emptied(&mut of, &mut tangent);
        assert!(of.is_none() && tangent.is_none());
    }

    #[derive(Differentiable)]
    struct Named {
        x: f64,
        #[pullback(skip)]
        name: &'static str,
    }

    #[pullback::non_differentiable]
    fn bytes(n: usize) -> Vec<u8> {
        vec![7; n]
    }

    #[autodiff(t_renewed, Forward, Dual, Dual, Dual)]
    fn renewed(all: &mut Vec<Rc<Named>>, x: f64) -> f64 {
        all.clear();
        let bytes = bytes(40);
        all.push(Rc::new(Named { x: x * x, name: "new" }));
        x * bytes.len() as f64
    }

    /// A new one may lie where an old one was.
    #[test]
    fn that_is_made_in_the_place_of_another() {
        let old = |x: f64| (0..4).map(|_| Rc::new(Named { x, name: "old" })).collect::<Vec<_>>();
        let (mut all, mut tangents) = (old(1.0), old(10.0));
        assert_eq!(t_renewed(&mut all, &mut tangents, 3.0, 1.0), (120.0, 40.0));
        assert_eq!((all[0].name, tangents[0].name, tangents[0].x), ("new", "new", 6.0));
    }

    #[autodiff(t_shared, Forward, Dual, Dual)]
    fn shared(of: &Rc<(f64, String)>) -> Rc<(f64, String)> {
        of.clone()
    }

    #[test]
    fn that_is_lent() {
        let (of, tangent) = (Rc::new((3.0, "of the primal".to_owned())), Rc::new((1.0, "of the tangent".to_owned())));
        let seen: &String = &tangent.1;
        let (value, its) = t_shared(&of, &tangent);
        assert!(Rc::ptr_eq(&value, &of) && Rc::ptr_eq(&its, &tangent));
        assert_eq!(seen, "of the tangent");
    }

    #[autodiff(t_read, Forward, Dual, Dual)]
    fn read(of: &(Rc<(f64, String)>, f64)) -> f64 {
        of.0.0 * of.1 * of.0.1.len() as f64
    }

    #[test]
    fn that_others_own() {
        let of = (Rc::new((3.0, "ab".to_owned())), 5.0);
        let tangent = (Rc::new((1.0, "abc".to_owned())), 1.0);
        let others = (of.0.clone(), Rc::downgrade(&tangent.0));
        assert_eq!(t_read(&of, &tangent), (30.0, 16.0));
        drop(others);
        let said = message(|| t_entry(&mut Rc::default(), &mut Rc::new(vec![(1.0, String::new())]), 3.0, 1.0));
        assert!(said.contains("does not fit"), "{said}");
    }
}

/// What the primal borrows may not live as long as its tangent, and neither may what another tangent borrows.
mod parts_that_borrow {
    use super::message;
    use pullback::{Differentiable, autodiff};
    use std::rc::Rc;
    use std::time::Duration;

    #[derive(Differentiable, Debug, PartialEq, Clone)]
    struct Lent<'a> {
        x: f64,
        text: &'a str,
        #[pullback(skip)]
        all: &'a [String],
    }

    #[autodiff(t_squared, Forward, Dual)]
    fn squared(of: &mut Lent<'_>) {
        of.x *= of.x;
    }

    #[autodiff(t_shortened, Forward, Dual)]
    fn shortened(of: &mut Lent<'_>) {
        of.x *= of.x;
        of.text = &of.text[1..];
    }

    #[autodiff(t_reordered, Forward, Dual)]
    fn reordered(all: &mut [Lent<'_>]) {
        all.swap(0, 1);
        all[0].x *= all[1].x;
    }

    #[derive(Differentiable)]
    struct Ranked<'a> {
        x: f64,
        text: &'a str,
        ranks: Option<&'a [(usize, u8)]>,
    }

    static KEPT: std::sync::Mutex<Vec<&'static [(usize, u8)]>> = std::sync::Mutex::new(Vec::new());

    #[autodiff(t_ranked, Forward, Dual)]
    fn ranked(of: &mut Ranked<'_>) {
        of.x *= of.x;
        of.ranks = if of.ranks.is_none() { Some(&[(1, 2), (3, 4)]) } else { None };
    }

    #[test]
    fn are_made_of_others() {
        let (mut of, mut tangent) =
            (Ranked { x: 3.0, text: "a", ranks: None }, Ranked { x: 1.0, text: "b", ranks: None });
        t_ranked(&mut of, &mut tangent);
        assert_eq!((tangent.x, tangent.text, tangent.ranks), (6.0, "b", Some(&[(1, 2), (3, 4)][..])));
        // A copy for ever. For valgrind, which looks for what is lost.
        KEPT.lock().unwrap().extend(tangent.ranks);
        t_ranked(&mut of, &mut tangent);
        assert_eq!((of.ranks, tangent.x, tangent.ranks), (None, 108.0, None));
    }

    #[test]
    fn stay_the_shadow_s_own() {
        let mut tangent = Lent { x: 1.0, text: "of the tangent", all: &[] };
        let mut short = tangent.clone();
        let mut tangents = [tangent.clone(), Lent { x: 10.0, text: "second", all: &[] }];
        {
            let (text, all) = (String::from("of the primal"), vec![String::from("a")]);
            let of = Lent { x: 3.0, text: &text, all: &all };
            t_squared(&mut of.clone(), &mut tangent);
            t_shortened(&mut of.clone(), &mut short);
            let mut values = [of, Lent { x: 5.0, text: &all[0], all: &all }];
            t_reordered(&mut values, &mut tangents);
        }
        assert_eq!(tangent, Lent { x: 6.0, text: "of the tangent", all: &[] });
        assert_eq!(short, Lent { x: 6.0, text: "f the primal", all: &[] });
        let second = Lent { x: 1.0, text: "of the primal", all: &[] };
        assert_eq!(tangents, [Lent { x: 35.0, text: "a", all: &[] }, second]);
    }

    #[derive(Differentiable, Debug, Clone, PartialEq)]
    struct Named<'a> {
        x: f64,
        name: &'a str,
    }

    fn named(x: f64, name: &str) -> Named<'_> {
        Named { x, name }
    }

    #[autodiff(t_scaled, Forward, Dual, Dual)]
    fn scaled(a: &mut Named<'_>, b: &mut Named<'_>) {
        a.x *= b.x;
    }

    #[autodiff(t_moved, Forward, Dual, Dual)]
    fn moved(a: &mut Vec<Named<'_>>, b: &mut Vec<Named<'_>>) {
        let x = a[0].x;
        *a = Vec::new();
        b.push(Named { x, name: "n" });
        b.push(Named { x: x * x, name: "n" });
    }

    #[derive(Differentiable, Debug, PartialEq)]
    enum Either<'a, 'b> {
        First(f64, &'a str),
        Second(f64, (&'b str,)),
    }

    #[autodiff(t_turned, Forward, Dual)]
    fn turned(of: &mut Either<'_, '_>) {
        if let Either::First(x, _) = of {
            *of = Either::Second(*x * *x, ("n",));
        }
    }

    #[derive(Differentiable)]
    struct Shared<'a, 'b> {
        a: (Rc<Named<'a>>,),
        b: Rc<Named<'b>>,
    }

    #[autodiff(t_joined, Forward, Dual)]
    fn joined<'b: 'a, 'a>(of: &mut Shared<'a, 'b>) {
        of.a.0 = of.b.clone();
    }

    /// All texts of the primals are one, and the tangents' are not.
    #[test]
    fn are_not_mixed() {
        let (mut da, mut lists) = (named(1.0, "own"), Vec::with_capacity(4));
        let mut either = Either::<'_, 'static>::First(1.0, "");
        let kept;
        {
            let short = String::from("the text of a tangent that ends");
            let mut db = named(1.0, &short);
            t_scaled(&mut named(1.0, "n"), &mut da, &mut named(2.0, "n"), &mut db);
            assert_eq!((db.name, db.x), (&*short, 1.0));

            let mut d_first = vec![named(1.0, &short), named(0.0, &short)];
            let (mut first, mut second) = (vec![named(3.0, "n"), named(1.0, "n")], Vec::with_capacity(4));
            t_moved(&mut first, &mut d_first, &mut second, &mut lists);
            assert_eq!((first.len(), d_first.len()), (0, 0));

            let mut d_either = Either::<'_, 'static>::First(1.0, &short);
            t_turned(&mut Either::First(3.0, "n"), &mut d_either);
            if let Either::Second(x, text) = d_either {
                either = Either::Second(x, text);
            }

            let shared = |x: f64| Rc::new(named(x, "n"));
            let mut d = Shared { a: (Rc::new(named(1.0, &short)),), b: Rc::new(named(1.0, "own")) };
            t_joined(&mut Shared { a: (shared(3.0),), b: shared(4.0) }, &mut d);
            kept = d.b.name;
        }
        assert_eq!((da, kept), (named(3.0, "own"), "n"));
        assert_eq!(lists, [named(1.0, "n"), named(6.0, "n")]);
        assert_eq!(either, Either::Second(6.0, ("n",)));
    }

    #[derive(Differentiable)]
    struct Chosen<'a> {
        x: f64,
        out: Option<&'a str>,
        #[allow(dead_code)]
        from: &'a [&'a str],
    }

    #[autodiff(t_chosen, Forward, Dual)]
    fn chosen(of: &mut Chosen<'_>) {
        of.x *= 2.0;
        of.out = Some(of.from[0]);
    }

    #[autodiff(t_returned, Forward, Dual, Dual, Dual)]
    fn returned<'a>(a: Named<'a>, b: Named<'_>) -> (f64, &'a str) {
        (a.x * b.x * b.name.len() as f64, a.name)
    }

    #[autodiff(t_lent, Forward, Dual, Dual)]
    fn lent<'a, 'b>(of: &'a mut Named<'b>) -> (f64, &'a mut Named<'b>) {
        (of.x * of.x, of)
    }

    /// A text that a tangent had not is a copy, and there is one of each.
    #[test]
    fn are_copied_where_they_are_new() {
        let mut tangent = Chosen { x: 1.0, out: None, from: &["own"] };
        let mut own = Named { x: 1.0, name: "own" };
        let text = String::from("the text of a primal that ends");
        let d;
        let again = {
            let short = text.clone();
            let from = [&*short];
            let mut of = Chosen { x: 2.0, out: None, from: &from };
            t_chosen(&mut of, &mut tangent);
            t_chosen(&mut of, &mut tangent);
            let mut again = Chosen { x: 1.0, out: None, from: &["own"] };
            t_chosen(&mut Chosen { out: None, ..of }, &mut again);
            d = t_returned(named(1.0, "n"), named(1.0, "own"), named(2.0, "n"), named(1.0, &short)).1;
            let mut of = named(3.0, &short);
            let (_, (x, lent)) = t_lent(&mut of, &mut own);
            assert_eq!((x, lent.name), (6.0, "own"));
            again.out
        };
        assert_eq!((tangent.x, tangent.out), (4.0, Some(&*text)));
        assert!(std::ptr::eq(again.unwrap(), tangent.out.unwrap()));
        assert_eq!(d, (3.0, "n"));
    }

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    enum Mark {
        At(u32),
        Free,
    }

    type List<'a> = &'a [(usize, Option<u8>, Mark)];

    #[autodiff(t_listed, Forward, Dual, Dual, Dual, Dual)]
    fn listed<'a>(x: f64, list: List<'a>, time: &'a Duration) -> (f64, List<'a>, &'a Duration) {
        (x * x, list, time)
    }

    /// There is one of each list of whatever carries no derivative, too, and none of a constant of the program.
    #[test]
    fn are_copied_once() {
        static TABLE: [(usize, usize); 3] = [(1, 2), (3, 4), (5, 6)];
        let tangents = |marks: [Mark; 2]| {
            let list = marks.map(|mark| (1, Some(2), mark)).to_vec();
            let time = Duration::from_secs(7);
            let (other, later) = (list.clone(), time * 2);
            let (value, d) = t_listed(3.0, 1.0, &list, &other, &time, &later);
            assert_eq!((value, d), ((9.0, &list[..], &time), (6.0, &list[..], &time)));
            [d.1.as_ptr().addr(), (&raw const *d.2).addr()]
        };
        let first = tangents([Mark::At(3), Mark::Free]);
        assert_ne!(first[0], tangents([Mark::At(3), Mark::At(0)])[0]);
        assert_eq!(first, tangents([Mark::At(3), Mark::Free]));
        let constant = pullback::jvp(|x: &f64| (x * x, &TABLE[..], b"abc", "text"), &3.0, &1.0).1;
        assert_eq!(constant, (6.0, &TABLE[..], b"abc", "text"));
        if cfg!(all(target_os = "linux", target_pointer_width = "64")) {
            assert!(std::ptr::eq(constant.1, &TABLE));
        }
    }

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct Tag<'a>(&'a str);

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct Tagged<'a> {
        x: f64,
        #[pullback(skip)]
        tag: Tag<'a>,
    }

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct Noted<N: Clone> {
        x: f64,
        #[pullback(skip)]
        note: N,
    }

    #[autodiff(t_pushed, Forward, Dual, Dual)]
    fn pushed(a: &mut Vec<Tagged<'_>>, b: &mut Tagged<'_>) {
        a.push(Tagged { x: b.x * b.x, tag: Tag("static") });
    }

    #[autodiff(t_pushed_noted, Forward, Dual, Dual)]
    fn pushed_noted<N: Clone>(a: &mut Vec<Noted<N>>, b: &Noted<N>) {
        a.push(Noted { x: b.x * b.x, note: b.note.clone() });
    }

    #[autodiff(t_put, Forward, Dual, Dual)]
    fn put(a: &mut Option<Noted<Tag<'_>>>, x: f64) {
        *a = Some(Noted { x: x * x, note: Tag("static") });
    }

    /// Without a float.
    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct Label<'a> {
        #[pullback(skip)]
        tag: Tag<'a>,
    }

    #[autodiff(t_labelled, Forward, Dual, Dual, Dual)]
    fn labelled(a: &mut Vec<Label<'_>>, x: f64) -> f64 {
        a.push(Label { tag: Tag("static") });
        x * x
    }

    #[autodiff(t_repeated, Forward, Dual)]
    fn repeated(a: &mut Vec<Noted<&str>>) {
        a.push(Noted { x: a[0].x * a[0].x, note: a[0].note });
    }

    #[autodiff(t_counted, Forward, Dual)]
    fn counted(a: &mut Rc<Tagged<'_>>) {
        *a = Rc::new(Tagged { x: a.x * a.x, tag: Tag("static") });
    }

    #[autodiff(t_widened, Forward, Dual)]
    fn widened<'a, 'b>(of: &mut (&'a mut [Tagged<'b>], &'a mut [Tagged<'b>])) {
        std::mem::swap(&mut of.0, &mut of.1);
    }

    #[autodiff(t_made, Forward, Dual, Dual)]
    fn made(x: f64) -> Tagged<'static> {
        Tagged { x: x * x, tag: Tag("static") }
    }

    #[autodiff(t_boxed, Forward, Dual, Dual)]
    fn boxed(a: &mut Box<Tagged<'_>>, b: Vec<Tagged<'_>>) {
        *a = Box::new(Tagged { x: a.x * b[0].x, tag: Tag("static") });
    }

    #[autodiff(t_scaled_all, Forward, Dual, Dual, Dual, Dual)]
    fn scaled_all(all: &mut Vec<Tagged<'_>>, one: &mut Option<Tagged<'_>>, x: f64) -> f64 {
        let mut sum = 0.0;
        for of in all {
            of.x *= x;
            sum += of.x;
        }
        for of in one {
            of.x *= x;
            sum += of.x;
        }
        sum
    }

    #[autodiff(t_scaled_counted, Forward, Dual)]
    fn scaled_counted(of: &mut Rc<Tagged<'_>>) {
        if let Some(of) = Rc::get_mut(of) {
            of.x *= 2.0;
        }
    }

    /// A function that writes floats, and nothing else, leaves them where they are.
    #[test]
    fn that_are_skipped_stay_where_only_floats_are_written() {
        fn tagged(x: f64, tag: &str) -> Tagged<'_> {
            Tagged { x, tag: Tag(tag) }
        }
        let (mut d, mut d_one) = (vec![tagged(1.0, "first"), tagged(10.0, "second")], Some(tagged(100.0, "third")));
        for _ in 0..2 {
            let text = String::from("of the primal");
            let (mut all, mut one) = (vec![tagged(3.0, &text), tagged(5.0, &text)], Some(tagged(7.0, &text)));
            assert_eq!(t_scaled_all(&mut all, &mut d, &mut one, &mut d_one, 1.0, 0.0), (15.0, 111.0));
            assert_eq!((all, one), (vec![tagged(3.0, &text), tagged(5.0, &text)], Some(tagged(7.0, &text))));
        }
        assert_eq!((d, d_one), (vec![tagged(1.0, "first"), tagged(10.0, "second")], Some(tagged(100.0, "third"))));
        let said = message(|| t_scaled_counted(&mut Rc::new(tagged(3.0, "a")), &mut Rc::new(tagged(1.0, "b"))));
        assert!(said.contains("there may be a new `Tagged` in it"), "{said}");
    }

    /// Of a type that borrows no other value can be made that lives for ever.
    #[test]
    fn that_are_skipped_and_new_are_refused() {
        let tagged = |x: f64, tag| Tagged { x, tag: Tag(tag) };
        let refused = |said: String, what: &str| {
            let expected = format!("{what} cannot be differentiated in forward mode: there may be a new `");
            assert!(said.starts_with(&expected) && said.contains("a skipped field that borrows"), "{said}");
        };
        let (mut a, mut da, mut b, mut db) = (vec![], vec![], tagged(3.0, "b"), tagged(1.0, "db"));
        refused(message(|| t_pushed(&mut a, &mut da, &mut b, &mut db)), "argument `a`");
        assert_eq!((a.len(), da.len(), db.tag), (0, 0, Tag("db")));
        let noted = |x: f64| Noted { x, note: Tag("n") };
        refused(message(|| t_pushed_noted(&mut vec![], &mut vec![], &noted(3.0), &noted(1.0))), "argument `a`");
        refused(message(|| t_put(&mut None, &mut None, 3.0, 1.0)), "argument `a`");
        refused(message(|| drop(t_labelled(&mut vec![], &mut vec![], 3.0, 1.0))), "argument `a`");
        let shared = |x: f64| Rc::new(tagged(x, "rc"));
        refused(message(|| t_counted(&mut shared(3.0), &mut shared(1.0))), "argument `a`");
        let (mut one, mut two) = ([tagged(1.0, "")], [tagged(1.0, ""), tagged(2.0, "")]);
        let (mut d_one, mut d_two) = (one.clone(), two.clone());
        refused(message(|| t_widened(&mut (&mut one, &mut two), &mut (&mut d_one, &mut d_two))), "argument `of`");
        refused(message(|| drop(t_made(3.0, 1.0))), "the result");

        // What cannot be new stays, and what does not borrow is cloned.
        let (mut a, mut da) = (Box::new(tagged(3.0, "a")), Box::new(tagged(1.0, "da")));
        t_boxed(&mut a, &mut da, vec![tagged(5.0, "b")], vec![tagged(0.0, "db")]);
        assert_eq!((*a, *da), (tagged(15.0, "static"), tagged(5.0, "da")));
        let noted = |x: f64| Noted { x, note: String::from("owned") };
        let (mut a, mut da) = (vec![], vec![]);
        t_pushed_noted(&mut a, &mut da, &noted(3.0), &noted(1.0));
        assert_eq!((a, da), (vec![noted(9.0)], vec![noted(6.0)]));
        let mut da = vec![Noted { x: 1.0, note: "own" }];
        {
            let text = String::from("the text of a primal that ends");
            t_repeated(&mut vec![Noted { x: 3.0, note: &*text }], &mut da);
        }
        let new = Noted { x: 6.0, note: "the text of a primal that ends" };
        assert_eq!(da, [Noted { x: 1.0, note: "own" }, new]);
    }
}

/// A skipped field may borrow without a word of it.
mod skipped_fields_of_the_type_itself {
    use pullback::{Differentiable, autodiff};

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct Linked<'a, r#Note: Clone> {
        x: f64,
        #[pullback(skip)]
        name: &'a str,
        #[pullback(skip)]
        note: Option<Note>,
        #[pullback(skip)]
        next: Option<Box<Self>>,
    }

    #[autodiff(t_squared, Forward, Dual)]
    fn squared(of: &mut Linked<'_, &str>) {
        of.x *= of.x;
    }

    #[test]
    fn stay_those_of_the_shadow() {
        let mut tangent = Linked { x: 1.0, name: "tangent", note: None, next: None };
        {
            let text = String::from("of the primal, which goes");
            let last = Linked { x: 2.0, name: &text, note: Some(&*text), next: None };
            t_squared(&mut Linked { x: 3.0, next: Some(Box::new(last.clone())), ..last }, &mut tangent);
        }
        assert_eq!(tangent, Linked { x: 6.0, name: "tangent", note: None, next: None });
    }
}

/// Types of blocks of one function have one name, and so have those of two versions of a crate.
mod types_of_one_name {
    use pullback::{Differentiable, autodiff};
    use std::fmt::Debug;

    #[derive(Differentiable, Debug, PartialEq)]
    struct Noted<N: Clone> {
        x: f64,
        #[pullback(skip)]
        note: N,
    }

    #[derive(Differentiable, Debug, PartialEq)]
    struct Both<A: Clone, B: Clone> {
        first: Noted<A>,
        others: Vec<Noted<B>>,
    }

    #[autodiff(t_added, Forward, Dual)]
    fn added<A: Clone, B: Clone + Default>(both: &mut Both<A, B>) {
        let x = both.first.x;
        both.others.push(Noted { x: x * x, note: B::default() });
    }

    fn check<A, B>(note: A, other: B)
    where
        A: Differentiable + Clone + Debug + PartialEq,
        B: Differentiable + Clone + Debug + PartialEq + Default,
    {
        assert_eq!(std::any::type_name::<A>(), std::any::type_name::<B>());
        let both = |x: f64, others| Both { first: Noted { x, note: note.clone() }, others };
        let other = |x: f64| Noted { x, note: other.clone() };
        let (mut of, mut tangent) = (both(3.0, vec![other(2.0)]), both(1.0, vec![other(5.0)]));
        t_added(&mut of, &mut tangent);
        let added = |x: f64| Noted { x, note: B::default() };
        assert_eq!(of, both(3.0, vec![other(2.0), added(9.0)]));
        assert_eq!(tangent.first, both(1.0, vec![]).first);
        assert_eq!([tangent.others[0].x, tangent.others[1].x], [5.0, 6.0]);
        assert_eq!(tangent.others[0], other(5.0));
    }

    #[test]
    fn are_told_apart() {
        let number = {
            #[derive(Differentiable, Clone, Debug, PartialEq)]
            struct Note([usize; 3]);
            Note([1 << 40; 3])
        };
        let text = {
            #[derive(Differentiable, Clone, Debug, PartialEq, Default)]
            struct Note(String);
            Note("text".to_owned())
        };
        check(number, text);
    }
}

/// Values without a size lie where others do.
mod parts_without_a_size {
    use super::message;
    use pullback::{Differentiable, autodiff};
    use std::marker::PhantomData;
    use std::sync::atomic::{AtomicIsize, Ordering};

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct Named<T: Clone> {
        #[pullback(skip)]
        marker: PhantomData<T>,
        #[pullback(skip)]
        name: Box<str>,
        x: f64,
    }

    #[autodiff(t_both, Forward, Dual, Dual)]
    fn both(x: f64) -> [Named<u8>; 2] {
        [x * x, x].map(|x| Named { marker: PhantomData, name: Box::from("name"), x })
    }

    #[test]
    fn are_no_others() {
        let named = |x| Named { marker: PhantomData, name: Box::from("name"), x };
        assert_eq!(t_both(3.0, 1.0), ([named(9.0), named(3.0)], [named(6.0), named(1.0)]));
    }

    static LIVING: AtomicIsize = AtomicIsize::new(0);

    struct Token(());

    impl Drop for Token {
        fn drop(&mut self) {
            LIVING.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[derive(Differentiable)]
    struct Holder<'a> {
        x: &'a f64,
        #[pullback(skip)]
        token: Token,
    }

    #[autodiff(t_held, Forward, Dual, Dual)]
    fn held(x: &f64) -> Holder<'_> {
        LIVING.fetch_add(1, Ordering::Relaxed);
        Holder { x, token: Token(()) }
    }

    #[test]
    fn are_not_made_from_nothing() {
        let said = message(|| drop(t_held(&3.0, &1.0)));
        assert!(said.contains("the result cannot be differentiated in forward mode: it may hold a `Holder`"), "{said}");
        assert_eq!(LIVING.load(Ordering::Relaxed), 0);
    }
}

/// A cell is written through shared references, behind which nobody puts parts.
mod cells_of_skipped_fields {
    use super::message;
    use pullback::{Differentiable, autodiff, jvp};
    use std::cell::Cell;

    #[derive(Differentiable, Clone, Copy)]
    struct Flagged {
        x: f64,
        #[pullback(skip)]
        flag: bool,
    }

    #[autodiff(t_pushed, Forward, Dual, Dual)]
    fn pushed(all: &mut Vec<Cell<Flagged>>, x: f64) {
        all.push(Cell::new(Flagged { x, flag: true }));
    }

    #[test]
    fn are_told() {
        let cell = |x: f64| (Cell::new(Some(Flagged { x, flag: true })), x);
        let f = |of: &(Cell<Option<Flagged>>, f64)| {
            of.0.set(None);
            of.1
        };
        let said = message(|| jvp(f, &cell(3.0), &cell(1.0)));
        assert!(said.contains("`x.0` is a cell of a `core::option::Option"), "{said}");
        let said = message(|| t_pushed(&mut Vec::new(), &mut Vec::new(), 3.0, 1.0));
        assert!(
            said.contains("argument `all` cannot be differentiated in forward mode: it may hold a `Cell`"),
            "{said}"
        );
    }
}

/// What a derivative leaves in a shadow, the next one takes.
mod derivatives_that_are_called_again {
    use pullback::{Differentiable, autodiff, make_zero};
    use std::cell::Cell;
    use std::rc::Rc;

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    enum Note {
        Text(String),
        Number(Box<f64>),
    }

    #[autodiff(t_noted, Forward, Dual, Dual, Dual)]
    fn noted(note: &mut Note, x: f64) -> f64 {
        *note = Note::Text(format!("{} was", x as usize));
        x * x
    }

    #[test]
    fn strings_have_the_room_of_the_primal_s() {
        let mut note = Note::Text("abc".into());
        let mut tangent = make_zero(&note);
        for _ in 0..3 {
            assert_eq!(t_noted(&mut note, &mut tangent, 3.0, 1.0), (9.0, 6.0));
            assert_eq!((&note, &tangent), (&Note::Text("3 was".into()), &Note::Text("3 was".into())));
        }
    }

    type Shared = Rc<Vec<Rc<Vec<Rc<Cell<f64>>>>>>;

    #[autodiff(t_first, Forward, Dual, Dual)]
    fn first(all: &[Shared]) -> f64 {
        let x = all[0][0][0].get();
        x * x
    }

    /// There are a thousand million ways to one cell.
    #[test]
    fn a_value_with_many_owners_is_looked_at_once() {
        let all = |x: f64| {
            let cells = Rc::new(vec![Rc::new(Cell::new(x)); 1000]);
            vec![Rc::new(vec![cells; 1000]); 1000]
        };
        assert_eq!(t_first(&all(3.0), &all(1.0)), (9.0, 6.0));
    }
}

/// `slice::rotate_left` by a distance that is only known when it runs moves its elements word by word.
mod word_by_word {
    use super::*;

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct Noted {
        w: f64,
        notes: Option<Vec<String>>,
    }

    #[autodiff(t_forgotten, Forward, Dual, Dual, Dual)]
    fn forgotten(s: &mut Noted, x: f64) -> f64 {
        let notes = s.notes.as_mut().unwrap();
        let distance = notes[1].len() % notes.len();
        notes.rotate_left(distance);
        *s = Noted { w: x.tanh(), notes: None };
        s.w
    }

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct Element {
        name: String,
        #[pullback(skip)]
        extra: Box<f64>,
        n: usize,
        w: Box<f64>,
    }

    #[autodiff(t_turned, Forward, Dual, Dual, Const, Dual)]
    fn turned(all: &mut Vec<Element>, x: f64, by: usize) -> f64 {
        let n = all.len();
        all.rotate_left(by % n);
        all.pop();
        x * *all[0].w * all[1].n as f64
    }

    fn notes() -> Vec<String> {
        ["", "four", "the quick brown fox"].map(String::from).into()
    }

    #[test]
    fn strings() {
        let noted = || Noted { w: 0.5, notes: Some(notes()) };
        let (mut s, mut t) = (noted(), noted());
        let y = 0.3f64.tanh();
        assert_eq!(t_forgotten(&mut s, &mut t, 0.3, 1.0), (y, 1.0 - y * y));
        assert_eq!((s, t), (Noted { w: y, notes: None }, Noted { w: 1.0 - y * y, notes: None }));
    }

    #[test]
    fn strings_and_skipped_fields_beside_boxes() {
        let element = |t: f64| {
            let numbered = notes().into_iter().enumerate();
            numbered.map(move |(n, name)| Element { name, extra: Box::new(n as f64), n, w: Box::new(n as f64 + t) })
        };
        let (mut all, mut tangents): (Vec<_>, Vec<_>) = (element(0.0).collect(), element(10.0).collect());
        assert_eq!(t_turned(&mut all, &mut tangents, 3.0, 1.0, 1), (6.0, 68.0));
        assert_eq!(all, element(0.0).skip(1).collect::<Vec<_>>());
        assert_eq!(tangents, element(10.0).skip(1).collect::<Vec<_>>());
    }
}
