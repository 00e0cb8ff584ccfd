//! Programs whose memory is hard to tell apart, in the IR's own text: each is differentiated in both modes and run in
//! the interpreter, and its gradient is compared with the one worked out by hand.
//!
//! Every program is `@f(v0: ptr, v1: ptr)`: so many `f64` at `v0`, the result at `v1`.

use pullback_ad::analysis::points_to::flow;
use pullback_ad::analysis::points_to::objects::Kinds;
use pullback_ad::analysis::points_to::strided::Strided;
use pullback_ad::analysis::scope::OnPanic;
use pullback_ad::{Activity, Argument, ErrorKind, Field, FieldKind, Layout, Layouts, Mode, Request, differentiate};
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
    let argument = Argument::new("x", Activity::Duplicated, x);
    let args = vec![argument, Argument::result(Activity::Duplicated, result)];
    Request::new(mode, args, layouts)
}

/// The module with the derivative of `@f`.
fn derived(text: &str, mode: Mode, count: usize) -> (Module, FuncId) {
    let mut module = parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    verify_module(&module).expect("the program is well formed");
    let primal = module.find("f").expect("the program has @f");
    let id =
        differentiate(&mut module, primal, &request(mode, count), "df").unwrap_or_else(|error| panic!("{error:?}"));
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
    let facts = flow::analyse(&module, id, &request(Mode::Reverse, 2), OnPanic::Leave);
    let object = facts.object(id, Value::from_index(value)).expect("the value is a pointer");
    let at = |offset: u64| Strided::exact(offset as i64);
    let seen = |offset: u64| {
        let cells = facts.objects.cells(object).iter().filter(move |c| c.at.overlaps(c.width, at(offset), 8));
        cells.fold(Kinds::NONE, |all, c| all.union(facts.objects.kinds(c.content)))
    };
    (0..bytes).step_by(8).map(seen).collect()
}

/// A slot holds the address of a node as an integer, and is walked over together with the nodes' own links: the words
/// at 0 are floats in nodes and a pointer in the slot.
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

/// An element of an array of pairs, each a float and a number, is moved into a record beside a pointer and other
/// numbers, as `BinaryHeap` does: what lies in the record follows from the sixteen bytes that are moved, not from the
/// whole array.
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

/// `self.buf[self.head] = v; self.head = (self.head + 1) % 3` beside other numbers, with the remainder as LLVM writes
/// it: the index stays inside the array because of what the selections and the edges say.
#[test]
fn an_index_that_is_wrapped_by_a_selection_stays_in_its_array() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 32 align 8
  fill v2, 0:i8, 32:i64 align 8
  v3 = ptradd v2, 24:i64
  jump b1(0:i64, 0:i64, 0.0f64)
b1(v4: i64, v5: i64, v6: f64):
  v7 = and v5, 1:i64
  v8 = mul v7, 8:i64
  v9 = ptradd v0, v8
  v10 = load f64 v9
  v11 = mul v4, 8:i64
  v12 = ptradd nuw v2, v11
  store v12, v10
  v13 = icmp eq v4, 0:i64
  v14 = add v4, -1:i64
  v15 = select v13, 2:i64, v14
  v16 = mul v15, 8:i64
  v17 = ptradd nuw v2, v16
  v18 = load f64 v17
  v19 = fmul v10, v18
  v20 = fadd v6, v19
  v21 = add v4, 1:i64
  v22 = icmp eq v21, 3:i64
  v23 = select v22, 0:i64, v21
  store v3, v23
  v24 = add v5, 1:i64
  v25 = icmp eq v24, 4:i64
  branch v25, b2, b1(v23, v24, v20)
b2:
  v26 = load i64 v3
  v27 = sitofp f64 v26
  v28 = fmul v20, v27
  store v1, v28
  return
}";
    // x₀ x₁ x₀ x₁, each times the one before: 3 x₀ x₁, and the index ends at 1.
    assert_eq!(words_of(text, 2, 32), [Kinds::F64, Kinds::F64, Kinds::F64, Kinds::INT]);
    assert_gradient(text, &[3.0, 5.0], &[15.0, 9.0]);
}

/// A bound on one of two edges, by a condition of two parts.
#[test]
fn an_index_is_bounded_by_every_part_of_a_condition() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 24 align 8
  v3 = ptradd v2, 16:i64
  store v3, 7:i64
  v4 = load f64 v0
  store v2, v4
  v5 = fptosi i64 v4
  v6 = icmp sge v5, 0:i64
  v7 = icmp slt v5, 2:i64
  v8 = select v6, v7, false
  branch v8, b1, b2
b1:
  v9 = mul v5, 8:i64
  v10 = ptradd v2, v9
  store v10, v4
  v11 = load f64 v10
  v12 = load i64 v3
  v13 = sitofp f64 v12
  v14 = fmul v11, v13
  store v1, v14
  return
b2:
  store v1, 0.0f64
  return
}";
    assert_eq!(words_of(text, 2, 24), [Kinds::F64, Kinds::F64, Kinds::INT]);
    assert_gradient(text, &[1.5, 0.0], &[7.0, 0.0]);
    assert_gradient(text, &[2.5, 0.0], &[0.0, 0.0]);
}

/// The distance of two addresses that met as integers is a multiple of the elements' size, as in `sort`.
#[test]
fn a_distance_between_addresses_that_met_as_integers_keeps_its_stride() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 48 align 8
  v3 = load f64 v0
  store v2, v3
  v4 = ptradd v2, 8:i64
  store v4, 5:i64
  v5 = ptradd v2, 16:i64
  store v5, 6:i64
  v6 = ptradd v2, 24:i64
  store v6, v3
  v7 = ptradd v2, 32:i64
  store v7, 8:i64
  v8 = ptradd v2, 40:i64
  store v8, 9:i64
  v9 = ptrtoint i64 v2
  v10 = fcmp ogt v3, 1.0f64
  branch v10, b1, b2(v9)
b1:
  v11 = ptrtoint i64 v6
  jump b2(v11)
b2(v12: i64):
  v13 = sub nuw v12, v9
  v14 = ptradd nuw v2, v13
  v15 = load f64 v14
  v16 = ptradd v14, 8:i64
  v17 = load i64 v16
  v18 = sitofp f64 v17
  v19 = fmul v15, v18
  store v1, v19
  return
}";
    assert_eq!(words_of(text, 2, 24), [Kinds::F64, Kinds::INT, Kinds::INT]);
    assert_gradient(text, &[1.5, 0.0], &[8.0, 0.0]);
    assert_gradient(text, &[0.5, 0.0], &[5.0, 0.0]);
}

/// In a block that ends in a panic a pointer and a number arrive at the same parameter. Nothing follows for either.
#[test]
fn what_meets_on_the_way_to_a_panic_stays_apart() {
    let text = "
declare @handle_error(i64) noreturn
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = fptosi i64 v2
  v4 = shl v3, 3:i64
  v5 = alloca 16 align 8
  v6 = ptrtoint i64 v5
  v7 = icmp ugt v3, 1000:i64
  branch v7, b2(v6), b1(v6)
b1(v13: i64):
  v8 = icmp eq v4, 8000:i64
  branch v8, b2(v4), b3
b2(v9: i64):
  call @handle_error(v9)
  unreachable
b3:
  v10 = inttoptr ptr v13
  store v10, v2
  v11 = load f64 v5
  v12 = fmul v11, v11
  store v1, v12
  return
}";
    assert_gradient(text, &[3.0], &[6.0]);
}

/// The same where one of the addresses is of what a function returns, as in `sort_unstable` and its pivots: of that
/// nothing is known when the difference is read for the first time.
#[test]
fn a_distance_to_what_a_function_returns_keeps_its_stride() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 32 align 8
  v3 = load f64 v0
  store v2, v3
  v4 = ptradd v2, 8:i64
  store v4, 5:i64
  v5 = ptradd v2, 16:i64
  store v5, v3
  v6 = ptradd v2, 24:i64
  store v6, 8:i64
  v7 = fcmp ogt v3, 1.0f64
  v8 = call @pivot(v7, v2, v5)
  v9 = ptrtoint i64 v8
  v10 = ptrtoint i64 v2
  v11 = sub nuw v9, v10
  v12 = ptradd nuw v2, v11
  v13 = load f64 v12
  v14 = ptradd v12, 8:i64
  v15 = load i64 v14
  v16 = sitofp f64 v15
  v17 = fmul v13, v16
  store v1, v17
  return
}
fn @pivot(v0: i1, v1: ptr, v2: ptr) -> ptr {
b0:
  v3 = select v0, v2, v1
  return v3
}";
    assert_eq!(words_of(text, 2, 32), [Kinds::F64, Kinds::INT, Kinds::F64, Kinds::INT]);
    assert_gradient(text, &[1.5, 0.0], &[8.0, 0.0]);
    assert_gradient(text, &[0.5, 0.0], &[5.0, 0.0]);
}

/// The distance of addresses in different objects may be any number: what is stored at that distance may lie anywhere.
#[test]
fn a_distance_between_objects_is_any_number() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 16 align 8
  v3 = load f64 v0
  v4 = ptradd v2, 8:i64
  store v4, 5:i64
  v5 = ptrtoint i64 v0
  v6 = ptrtoint i64 v1
  v7 = sub v5, v6
  v8 = ptradd v2, v7
  store v8, v3
  return
}";
    assert_eq!(words_of(text, 2, 16), [Kinds::F64.union(Kinds::INT); 2]);
}

/// Of two pointers that are returned together one has a shadow.
#[test]
fn a_pointer_without_a_shadow_beside_one_with() {
    let text = "
declare @__rust_alloc(i64, i64) -> ptr
declare @__rust_dealloc(ptr, i64, i64)
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = call @both(v2)
  v4 = extract v3, 0
  v5 = extract v3, 1
  v6 = load f64 v4
  v7 = load f64 v5
  v8 = fmul v6, v7
  dealloc v4, 8:i64, 8:i64, @__rust_dealloc
  dealloc v5, 8:i64, 8:i64, @__rust_dealloc
  store v1, v8
  return
}
fn @both(v0: f64) -> {ptr, ptr} {
b0:
  v1 = alloc 8:i64, 8:i64, @__rust_alloc
  store v1, v0
  v2 = alloc 8:i64, 8:i64, @__rust_alloc
  store v2, 3.0f64
  v3 = insert undef {ptr, ptr}, v1, 0
  v4 = insert v3, v2, 1
  return v4
}";
    assert_gradient(text, &[1.5], &[3.0]);
}

/// An aggregate in an aggregate holds the pointer.
#[test]
fn a_pointer_two_aggregates_deep() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 8 align 8
  v3 = load f64 v0
  store v2, v3
  v4 = call @wrap(v2)
  v5 = extract v4, 1
  v6 = extract v5, 0
  v7 = load f64 v6
  v8 = fmul v7, v7
  store v1, v8
  return
}
fn @wrap(v0: ptr) -> {i64, {ptr, i64}} {
b0:
  v1 = insert undef {ptr, i64}, v0, 0
  v2 = insert v1, 1:i64, 1
  v3 = insert undef {i64, {ptr, i64}}, 2:i64, 0
  v4 = insert v3, v2, 1
  return v4
}";
    assert_gradient(text, &[1.5], &[3.0]);
}

/// Copies of unknown length between two buffers at a distance never settle; what lies elsewhere is known nevertheless.
#[test]
fn what_never_settles_is_no_matter_elsewhere() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 80 align 8
  v3 = alloca 80 align 8
  v4 = alloca 16 align 8
  fill v2, 0:i8, 80:i64 align 8
  v5 = load f64 v0
  store v3, v5
  v6 = fptoui i64 v5
  v7 = mul v6, 8:i64
  v8 = ptradd v2, 8:i64
  copy v8, v3, v7 align 8, 8
  copy v2, v3, v7 align 8, 8
  v9 = load f64 v8
  v10 = load f64 v2
  v11 = fmul v9, v10
  store v4, v11
  v12 = ptradd v4, 8:i64
  v13 = fcmp olt v5, 2.0f64
  store v12, v13
  v14 = load i1 v12
  v15 = alloca 1 align 1
  store v15, v14
  v16 = load i1 v15
  v17 = load f64 v4
  branch v16, b1(v17), b1(0.0f64)
b1(v18: f64):
  store v1, v18
  return
}";
    assert_gradient(text, &[1.5], &[3.0]);
}

/// An aggregate of a pointer and a length goes through memory as a whole.
#[test]
fn an_aggregate_with_a_pointer_in_memory() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 16 align 8
  v3 = insert undef {ptr, i64}, v0, 0
  v4 = insert v3, 1:i64, 1
  store v2, v4
  v5 = load {ptr, i64} v2
  v6 = extract v5, 0
  v7 = load f64 v6
  v8 = fmul v7, v7
  store v1, v8
  return
}";
    assert_gradient(text, &[1.5], &[3.0]);
}

/// The bits of a float go through an aggregate as an integer: an error, for they are not followed there.
#[test]
fn bits_in_an_aggregate() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = bitcast i64 v2
  v4 = insert undef {i64, i64}, v3, 0
  v5 = insert v4, 1:i64, 1
  v6 = extract v5, 0
  v7 = bitcast f64 v6
  v8 = fmul v7, v7
  store v1, v8
  return
}";
    for mode in [Mode::Forward, Mode::Reverse] {
        let mut module = parse_module(text).unwrap();
        let primal = module.find("f").expect("the program has @f");
        let error = differentiate(&mut module, primal, &request(mode, 1), "df").expect_err("it is not differentiated");
        assert_eq!(error.kind, ErrorKind::BitTrick);
    }
}

/// A number beside an active float.
#[test]
fn a_number_in_an_aggregate() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = insert undef {f64, i64}, v2, 0
  v4 = insert v3, 3:i64, 1
  v5 = extract v4, 1
  v6 = insert undef {f64, i64}, 2.0f64, 0
  v7 = insert v6, v5, 1
  v8 = extract v7, 0
  v9 = extract v4, 0
  v10 = fmul v8, v9
  store v1, v10
  return
}";
    assert_gradient(text, &[1.5], &[2.0]);
}

/// A number that a float became is any number: a float that is stored at such an index may lie in every word.
#[test]
fn an_index_from_a_float_is_any_index() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 24 align 8
  v3 = load f64 v0
  v4 = intrinsic i64 \"llvm.fptoui.sat.i64.f64\"(v3)
  v5 = urem v4, 3:i64
  v6 = mul v5, 8:i64
  v7 = ptradd v2, v6
  store v7, v3
  v8 = load f64 v7
  store v1, v8
  return
}
";
    assert_eq!(words_of(text, 2, 24), [Kinds::F64; 3]);
}

/// A buffer is read at every second word and at every third: two lanes that share places. It is moved along by six
/// words, so what arrives at a place of one lane was at a place of the other.
#[test]
fn lanes_that_meet_are_moved_at_once() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 112 align 8
  fill v2, 0:i8, 112:i64 align 8
  v3 = load f64 v0
  v4 = ptradd v0, 8:i64
  v5 = load f64 v4
  v6 = ptradd v0, 16:i64
  v7 = load f64 v6
  v8 = fptoui i64 v7
  v9 = mul v8, 16:i64
  v10 = ptradd v2, v9
  store v10, v3
  v11 = add v8, 2:i64
  v12 = mul v11, 24:i64
  v13 = ptradd v2, v12
  store v13, v5
  v14 = ptradd v2, 48:i64
  v15 = add v8, 56:i64
  move v14, v2, v15 align 8, 8
  v16 = add v8, 3:i64
  v17 = mul v16, 16:i64
  v18 = ptradd v2, v17
  v19 = load f64 v18
  v20 = add v8, 4:i64
  v21 = mul v20, 24:i64
  v22 = ptradd v2, v21
  v23 = load f64 v22
  v24 = fmul v19, 2.0f64
  v25 = fmul v23, 5.0f64
  v26 = fadd v24, v25
  store v1, v26
  return
}
";
    assert_gradient(text, &[7.0, 11.0, 0.0], &[2.0, 5.0, 0.0]);
}

/// A constant float has no tangent, also if the optimiser chooses among constants as integers.
#[test]
fn constant_floats_that_are_chosen_as_integers() {
    let chosen = |from: &str| {
        format!(
            "
fn @f(v0: ptr, v1: ptr) {{
b0:
  v2 = load f64 v0
  v3 = fcmp olt v2, 1.0f64
  {from}
  store v1, v5
  return
}}"
        )
    };
    // 0.0 or 2.0.
    assert_gradient(&chosen("v5 = select v3, 0:i64, 4611686018427387904:i64"), &[3.0], &[0.0]);
    let jump = "branch v3, b1(0:i64), b1(4611686018427387904:i64)\nb1(v5: i64):";
    assert_gradient(&chosen(jump), &[3.0], &[0.0]);
}

/// Two `f32`, of which one is a constant: a number in 64 bits, and no number in each half.
#[test]
fn constant_floats_that_are_chosen_as_a_pair() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 8 align 8
  v3 = load f64 v0
  v4 = fptrunc f32 v3
  store v2, v4
  v5 = fcmp olt v3, 1.0f64
  v6 = select v5, 0:i64, 1065353216:i64
  store v2, v6
  v7 = load f32 v2
  v8 = ptradd v2, 4:i64
  v9 = load f32 v8
  v10 = fadd v7, v9
  v11 = fpext f64 v10
  v12 = fmul v11, v3
  store v1, v12
  return
}";
    assert_gradient(text, &[3.0], &[1.0]);
}

/// The payload of an enum: a number in one variant, a float in the other, which of the two is chosen as integers.
#[test]
fn a_number_or_a_constant_float() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 8 align 8
  v3 = load f64 v0
  store v2, v3
  v4 = fcmp olt v3, 1.0f64
  branch v4, b1(5:i64), b1(4611686018427387904:i64)
b1(v5: i64):
  store v2, v5
  branch v4, b2, b3
b2:
  v6 = load i64 v2
  v7 = uitofp f64 v6
  jump b4(v7)
b3:
  v8 = load f64 v2
  jump b4(v8)
b4(v9: f64):
  v10 = fmul v9, v3
  store v1, v10
  return
}";
    assert_gradient(text, &[3.0], &[2.0]);
    assert_gradient(text, &[0.5], &[5.0]);
}

/// A float that is made of the bits of a computed number has no derivative.
#[test]
fn the_bits_of_a_computed_number_where_a_float_is() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = fptoui i64 v2
  v4 = mul v3, 3074457345618258602:i64
  store v1, v4
  return
}";
    assert_gradient(text, &[1.5], &[0.0]);
}

/// C's heap: no size is given when a block is freed, and one that is reallocated is copied by as many bytes as it has. Its
/// shadow has as many.
#[test]
fn blocks_of_cs_heap_are_copied_and_freed() {
    let text = "
declare @__pullback_heap_alloc(i64, i64) -> ptr
declare @__pullback_heap_free(ptr, i64, i64)
declare @__pullback_heap_size(ptr) -> i64 inactive
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = alloc 16:i64, 16:i64, @__pullback_heap_alloc
  v4 = fmul v2, v2
  store v3, v4
  v5 = ptradd v3, 8:i64
  store v5, v2
  v6 = alloc 32:i64, 16:i64, @__pullback_heap_alloc
  v7 = call @__pullback_heap_size(v3)
  copy v6, v3, v7
  dealloc v3, 0:i64, 0:i64, @__pullback_heap_free
  v8 = load f64 v6
  v9 = ptradd v6, 8:i64
  v10 = load f64 v9
  v11 = fmul v8, v10
  dealloc v6, 0:i64, 0:i64, @__pullback_heap_free
  store v1, v11
  return
}";
    assert_gradient(text, &[1.5], &[6.75]);
}
