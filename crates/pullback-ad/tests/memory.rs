//! Programs whose memory is hard to tell apart, in the IR's own text: each is differentiated in both modes and run in the
//! interpreter, and its gradient is compared with the one worked out by hand.
//!
//! Every program is `@f(v0: ptr, v1: ptr)`: so many `f64` at `v0`, the result at `v1`.

use pullback_ad::analysis::flow;
use pullback_ad::analysis::objects::Kinds;
use pullback_ad::analysis::residue::Residue;
use pullback_ad::{Activity, Argument, Field, FieldKind, Layout, Layouts, Mode, Request, differentiate};
use pullback_ir::interp::{Interp, Val};
use pullback_ir::{FuncId, Module, Value, parse_module, verify_module};

/// The request for `@f` of `count` floats.
fn request(mode: Mode, count: usize) -> Request {
    let mut layouts = Layouts::default();
    let floats = |name: &str, count: usize| Layout {
        name: name.to_owned(),
        size: 8 * count as u64,
        fields: (0..count as u64).map(|i| Field { offset: 8 * i, kind: FieldKind::F64 }).collect(),
    };
    let (x, result) = (layouts.add(floats("[f64]", count)), layouts.add(floats("f64", 1)));
    let argument = |name: &str, layout| Argument { name: name.to_owned(), activity: Activity::Duplicated, layout };
    let args = vec![argument("x", x), argument("return", result)];
    Request { mode, width: 1, strong_zero: false, runtime_activity: false, name: "f".to_owned(), args, layouts }
}

/// The module with the derivative of `@f`.
fn derived(text: &str, mode: Mode, count: usize) -> (Module, FuncId) {
    let mut module = parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    verify_module(&module).expect("the program is well formed");
    let primal = module.find("f").expect("the program has @f");
    let id = differentiate(&mut module, primal, &request(mode, count), "df").unwrap_or_else(|error| panic!("{error:?}"));
    verify_module(&module).expect("the derivative is well formed");
    (module, id)
}

/// The gradient of `@f` at `x`, by reverse mode.
fn by_reverse(text: &str, x: &[f64]) -> Vec<f64> {
    let (module, id) = derived(text, Mode::Reverse, x.len());
    let mut interp = Interp::new(&module);
    let (tape, primal) = (interp.new_tape(), interp.alloc_f64s(x).unwrap());
    let shadow = interp.alloc_f64s(&vec![0.0; x.len()]).unwrap();
    let (out, seed) = (interp.alloc_f64s(&[0.0]).unwrap(), interp.alloc_f64s(&[1.0]).unwrap());
    let args = [tape, primal, shadow, out, seed].map(Val::Ptr);
    interp.call(id, &args).unwrap_or_else(|error| panic!("{error}"));
    interp.drop_tape(tape).unwrap();
    assert_eq!(interp.leaks().len(), 0, "all memory is given back");
    interp.read_f64s(shadow, x.len()).unwrap()
}

/// The gradient of `@f` at `x`, by forward mode in each direction.
fn by_forward(text: &str, x: &[f64]) -> Vec<f64> {
    let (module, id) = derived(text, Mode::Forward, x.len());
    let direction = |i: usize| {
        let mut interp = Interp::new(&module);
        let tangent: Vec<f64> = (0..x.len()).map(|j| if i == j { 1.0 } else { 0.0 }).collect();
        let (primal, shadow) = (interp.alloc_f64s(x).unwrap(), interp.alloc_f64s(&tangent).unwrap());
        let (out, out_shadow) = (interp.alloc_f64s(&[0.0]).unwrap(), interp.alloc_f64s(&[0.0]).unwrap());
        let args = [primal, shadow, out, out_shadow].map(Val::Ptr);
        interp.call(id, &args).unwrap_or_else(|error| panic!("{error}"));
        interp.read_f64s(out_shadow, 1).unwrap()[0]
    };
    (0..x.len()).map(direction).collect()
}

#[track_caller]
fn assert_gradient(text: &str, x: &[f64], expected: &[f64]) {
    assert_eq!(by_reverse(text, x), expected, "reverse");
    assert_eq!(by_forward(text, x), expected, "forward");
}

/// What is known of each of the eight-byte words of the object that the value of this number in `@f` points to.
fn words_of(text: &str, value: usize, bytes: u64) -> Vec<Kinds> {
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    let id = module.find("f").expect("the program has @f");
    let facts = flow::analyse(&module, id, &request(Mode::Reverse, 2));
    let object = facts.object(id, Value::from_index(value)).expect("the value is a pointer");
    let at = |offset: u64| Residue::exact(offset as i64);
    let seen = |offset: u64| {
        let cells = facts.objects.cells(object).iter().filter(move |c| c.at.overlaps(c.width, at(offset), 8));
        cells.fold(Kinds::NONE, |all, c| all.union(facts.objects.kinds(c.content)))
    };
    (0..bytes).step_by(8).map(seen).collect()
}

/// A slot holds the address of a node as an integer, and is walked over together with the nodes' own links: the words at 0 are
/// floats in nodes and a pointer in the slot.
#[test]
fn a_pointer_stored_as_an_integer_keeps_its_shadow() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 8 align 8
  v3 = alloca 16 align 8
  v4 = alloca 16 align 8
  v5 = load f64 v0
  v6 = ptradd v0, 8:i64
  v7 = load f64 v6
  store v3, v5
  v8 = ptradd v3, 8:i64
  store v8, v4
  store v4, v7
  v9 = ptradd v4, 8:i64
  store v9, null
  v10 = ptrtoint i64 v3
  store v2, v10
  jump b1(v2, 1.0f64)
b1(v11: ptr, v12: f64):
  v13 = load ptr v11
  v14 = icmp eq v13, null
  branch v14, b3(v12), b2
b2:
  v15 = load f64 v13
  v16 = fmul v12, v15
  v17 = ptradd v13, 8:i64
  jump b1(v17, v16)
b3(v18: f64):
  store v1, v18
  return
}";
    assert_gradient(text, &[3.0, 5.0], &[5.0, 3.0]);
}

/// An element of an array of pairs, each a float and a number, is moved into a record beside a pointer and other numbers, as
/// `BinaryHeap` does: what lies in the record follows from the sixteen bytes that are moved, not from the whole array.
#[test]
fn an_element_of_known_size_moves_alone() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 32 align 8
  v3 = alloca 40 align 8
  v4 = load f64 v0
  v5 = ptradd v0, 8:i64
  v6 = load f64 v5
  v7 = fptosi i64 v6
  v8 = fmul v4, v4
  store v2, v4
  v9 = ptradd v2, 8:i64
  store v9, 1:i64
  v10 = ptradd v2, 16:i64
  store v10, v8
  v11 = ptradd v2, 24:i64
  store v11, 2:i64
  v13 = mul v7, 16:i64
  v14 = ptradd v2, v13
  v12 = load f64 v14
  v30 = ptradd v14, 8:i64
  v31 = load i64 v30
  store v3, v2
  v15 = ptradd v3, 8:i64
  store v15, 2:i64
  v16 = ptradd v3, 16:i64
  copy v16, v14, 16:i64 align 8, 8
  v17 = ptradd v3, 32:i64
  store v17, v7
  v18 = load f64 v16
  v19 = ptradd v3, 24:i64
  v20 = load i64 v19
  v21 = load ptr v3
  v22 = load i64 v15
  v23 = load i64 v17
  v24 = add v22, v23
  v25 = add v24, v20
  v26 = sitofp f64 v25
  v27 = load f64 v21
  v28 = fmul v18, v27
  v29 = fmul v28, v26
  store v1, v29
  return
}";
    assert_eq!(words_of(text, 3, 40), [Kinds::PTR, Kinds::INT, Kinds::F64, Kinds::INT, Kinds::INT]);
    // x³ · (2 + 1 + 2) and x² · (2 + 0 + 1)
    assert_gradient(text, &[3.0, 1.0], &[135.0, 0.0]);
    assert_gradient(text, &[3.0, 0.0], &[18.0, 0.0]);
}
