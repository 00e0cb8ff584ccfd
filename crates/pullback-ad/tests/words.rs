//! Words, which are a float at one time and a pointer at another, moved in each way that the optimiser knows.
//!
//! Every program makes two payloads: `x²` as a float, and a pointer to memory that holds `3x`; moves them about as its
//! lines say; and then reads one of them as a float (tag 0) or through the pointer (tag 1).

use pullback_ad::request::{Activity, Argument, Field, FieldKind, Layout, Layouts, Mode, Request};
use pullback_ad::{Error, ErrorKind};
use pullback_ir::interp::{Interp, Val};
use pullback_ir::{Module, parse_module, verify_module};

/// Records of tag and payload: in `v10` the float and the pointer, `v11` is room for two more.
const START: &str = "
declare @alloc(i64, i64) -> ptr
declare @dealloc(ptr, i64, i64)
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load f64 v0
  v4 = load i64 v1
  v5 = fmul v3, v3
  v6 = fmul v3, 3.0f64
  v7 = alloc 8:i64, 8:i64, @alloc
  store v7, v6
  v10 = alloc 32:i64, 8:i64, @alloc
  v11 = alloc 48:i64, 8:i64, @alloc
  store v10, 0:i64
  v12 = ptradd v10, 8:i64
  store v12, v5
  v13 = ptradd v10, 16:i64
  store v13, 1:i64
  v14 = ptradd v10, 24:i64
  store v14, v7
  v15 = ptradd v11, 8:i64
  v16 = ptradd v11, 16:i64
  v17 = ptradd v11, 24:i64
";

/// The record at `v11 + 16·v4` is read.
const END: &str = "
  v80 = mul v4, 16:i64
  v81 = ptradd v11, v80
  v82 = load i64 v81
  v83 = ptradd v81, 8:i64
  v84 = icmp eq v82, 0:i64
  branch v84, b90, b91
b90:
  v85 = load f64 v83
  jump b92(v85)
b91:
  v86 = load ptr v83
  v87 = load f64 v86
  jump b92(v87)
b92(v88: f64):
  store v2, v88
  dealloc v11, 48:i64, 8:i64, @dealloc
  dealloc v10, 32:i64, 8:i64, @dealloc
  dealloc v7, 8:i64, 8:i64, @dealloc
  return
}
";

fn floats_and_a_number(layouts: &mut Layouts) -> [pullback_ad::request::LayoutId; 2] {
    let of = |name: &str, kind| Layout { name: name.to_owned(), size: 8, fields: vec![Field { offset: 0, kind }] };
    [layouts.add(of("f64", FieldKind::F64)), layouts.add(of("usize", FieldKind::Int(8)))]
}

fn differentiated(text: &str, mode: Mode) -> Module {
    let module = attempt(text, mode).expect("it has a derivative");
    verify_module(&module).unwrap_or_else(|wrong| panic!("{wrong:?}\n{module}"));
    module
}

fn attempt(text: &str, mode: Mode) -> Result<Module, Error> {
    let mut module = parse_module(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let mut layouts = Layouts::default();
    let [float, number] = floats_and_a_number(&mut layouts);
    let argument = |name: &str, activity, layout| Argument::new(name, activity, layout);
    let args = vec![
        argument("x", Activity::Duplicated, float),
        argument("which", Activity::Const, number),
        Argument::result(Activity::Duplicated, float),
    ];
    let request = Request::new(mode, args, layouts);
    let primal = module.find("f").unwrap();
    pullback_ad::differentiate(&mut module, primal, &request, "d")?;
    Ok(module)
}

/// The derivative at `x = 5`, where record `which` is read.
fn run(module: &Module, mode: Mode, which: u64) -> f64 {
    let mut interp = Interp::new(module);
    let [x, dx, out, d_out] = [5.0, 0.0, 0.0, 0.0].map(|v| interp.alloc_f64s(&[v]).unwrap());
    let number = interp.alloc_bytes(&which.to_le_bytes()).unwrap();
    let (seed, result) = if mode == Mode::Forward { (dx, d_out) } else { (d_out, dx) };
    interp.write_f64s(seed, &[1.0]).unwrap();
    let tape = (mode == Mode::Reverse).then(|| interp.new_tape());
    let args: Vec<Val> = tape.into_iter().chain([x, dx, number, out, d_out]).map(Val::Ptr).collect();
    interp.call(module.find("d").unwrap(), &args).unwrap_or_else(|e| panic!("{e:?}\n{module}"));
    if let Some(tape) = tape {
        assert_eq!(interp.tape_bytes(tape), Some(0), "what was pushed was popped");
        interp.drop_tape(tape).unwrap();
    }
    assert_eq!(interp.leaks(), []);
    interp.read_f64s(result, 1).unwrap()[0]
}

/// Both modes give `expected` for each record that is read: 10 for the float `x²`, 3 for what the pointer reaches.
fn check(moves: &str, expected: &[f64]) {
    check_with("", moves, expected);
}

/// The same with more functions.
fn check_with(functions: &str, moves: &str, expected: &[f64]) {
    for mode in [Mode::Forward, Mode::Reverse] {
        let module = differentiated(&format!("{functions}{START}{moves}{END}"), mode);
        for (which, expected) in expected.iter().enumerate() {
            assert_eq!(run(&module, mode, which as u64), *expected, "{mode:?}, record {which}, {moves}");
        }
    }
}

#[test]
fn a_copy_of_known_length() {
    check("copy v11, v10, 32:i64 align 8, 8", &[10.0, 3.0]);
}

#[test]
fn a_copy_of_unknown_length() {
    check("v20 = add v4, 1:i64\n v21 = mul v20, 16:i64\n copy v11, v10, v21 align 8, 8", &[10.0, 3.0]);
}

#[test]
fn an_overlapping_copy_of_unknown_length() {
    // The first record is moved over the second, and the second over the third.
    let moves = "copy v11, v10, 32:i64 align 8, 8
                 v20 = and v4, 0:i64\n v21 = add v20, 32:i64\n move v16, v11, v21 align 8, 8";
    check(moves, &[10.0, 10.0, 3.0]);
}

/// Both records are floats by then, `x²` and `3x`, in places that have held a pointer.
#[test]
fn an_overlapping_copy_of_known_length() {
    let floats = "store v13, 0:i64\n store v14, v6\n";
    let up = "copy v11, v10, 32:i64 align 8, 8\n move v16, v11, 32:i64 align 8, 8";
    check(&format!("{floats}{up}"), &[10.0, 10.0, 3.0]);
    let down = "copy v16, v10, 32:i64 align 8, 8\n move v11, v16, 32:i64 align 8, 8";
    check(&format!("{floats}{down}"), &[10.0, 3.0, 3.0]);
}

#[test]
fn words_of_every_type() {
    for ty in ["i64", "f64", "ptr"] {
        let moves = format!(
            "v20 = load {ty} v12\n v21 = load {ty} v14\n store v11, 1:i64\n store v15, v21\n store v16, 0:i64\n \
             store v17, v20"
        );
        check(&moves, &[3.0, 10.0]);
    }
}

/// On the way a word lies where it is seen as what it is moved as, and as nothing else.
#[test]
fn words_by_way_of_another_place() {
    for ty in ["i64", "f64", "ptr"] {
        // The pointer by way of `v30`, and of `v31` as an element that is not known; the float by way of `v32`.
        let moves = format!(
            "v30 = alloc 8:i64, 8:i64, @alloc\n v31 = alloc 32:i64, 8:i64, @alloc\n v32 = alloc 8:i64, 8:i64, @alloc
             fill v31, 0:i8, 32:i64 align 8
             v33 = and v4, 1:i64\n v34 = mul v33, 16:i64\n v35 = ptradd v31, v34
             v20 = load {ty} v12\n v21 = load {ty} v14\n store v30, v21\n store v32, v20
             v22 = load {ty} v30\n store v35, v22\n v23 = load {ty} v35\n v24 = load {ty} v32
             store v11, 1:i64\n store v15, v23\n store v16, 0:i64\n store v17, v24
             dealloc v30, 8:i64, 8:i64, @dealloc\n dealloc v31, 32:i64, 8:i64, @dealloc
             dealloc v32, 8:i64, 8:i64, @dealloc"
        );
        check(&moves, &[3.0, 10.0]);
    }
}

/// One function puts a word there, and another takes it away.
#[test]
fn words_by_way_of_another_function() {
    for ty in ["f64", "ptr"] {
        let functions = format!(
            "
fn @put(v0: ptr, v1: ptr) {{
b0:
  v2 = load {ty} v0
  store v1, v2
  return
}}"
        );
        let moves = "v30 = alloc 8:i64, 8:i64, @alloc\n v31 = alloc 8:i64, 8:i64, @alloc
             call @put(v14, v30)\n call @put(v12, v31)
             call @put(v30, v15)\n call @put(v31, v17)
             store v11, 1:i64\n store v16, 0:i64
             dealloc v30, 8:i64, 8:i64, @dealloc\n dealloc v31, 8:i64, 8:i64, @dealloc";
        check_with(&functions, moves, &[3.0, 10.0]);
        let [taken, put] = ["take", "put"].map(|name| functions.replace("@put", &format!("@{name}")));
        check_with(&format!("{taken}{put}"), &moves.replace("@put(v3", "@take(v3"), &[3.0, 10.0]);
    }
}

#[test]
fn a_word_in_a_variable() {
    let moves = "
  v20 = icmp eq v4, 0:i64
  branch v20, b1, b2
b1:
  v21 = ptrtoint i64 v7
  jump b3(v21, 1:i64)
b2:
  v22 = bitcast i64 v5
  jump b3(v22, 0:i64)
b3(v23: i64, v24: i64):
  store v11, v24
  store v15, v23
  store v16, v24
  store v17, v23
";
    check(moves, &[3.0, 10.0]);
}

#[test]
fn a_float_over_a_pointer_and_a_pointer_over_a_float() {
    let moves = "
  copy v11, v10, 32:i64 align 8, 8
  store v11, 1:i64
  store v15, v7
  store v16, 0:i64
  v20 = fmul v5, 2.0f64
  store v17, v20
";
    check(moves, &[3.0, 20.0]);
}

#[test]
fn a_word_of_an_argument_is_not_overwritten() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v1
  v3 = load i64 v0
  v4 = ptradd v0, 8:i64
  v5 = icmp eq v3, 0:i64
  branch v5, b1, b2
b1:
  v6 = load f64 v4
  jump b3(v6)
b2:
  v7 = load ptr v4
  v8 = load f64 v7
  jump b3(v8)
b3(v9: f64):
  v10 = fmul v9, v2
  store v4, v10
  store v0, 0:i64
  return
}
";
    let mut module = parse_module(text).unwrap();
    let mut layouts = Layouts::default();
    let [float, _] = floats_and_a_number(&mut layouts);
    let fields = vec![Field { offset: 0, kind: FieldKind::Opaque(16) }];
    let either = layouts.add(Layout { name: "Either".to_owned(), size: 16, fields });
    let argument = |name: &str, layout| Argument::new(name, Activity::Duplicated, layout);
    let request = Request::new(Mode::Reverse, vec![argument("place", either), argument("x", float)], layouts);
    let primal = module.find("f").unwrap();
    let refused: Error = pullback_ad::differentiate(&mut module, primal, &request, "d").unwrap_err();
    assert_eq!(refused.kind, ErrorKind::UnknownType);
    assert_eq!(
        refused.message,
        "a word of an argument is overwritten that is a float in one variant and a pointer in another"
    );
}

/// A pointer, then two `f32` in its place, then a pointer again: each is read before the next comes. The cotangent of
/// one `f32` is zero, and would not be if a pointer's bits were left there.
#[test]
fn narrower_floats_over_a_pointer_and_a_pointer_over_them() {
    for [first, second] in [[8, 12], [12, 8]] {
        let text = format!(
            "
declare @alloc(i64, i64) -> ptr
declare @dealloc(ptr, i64, i64)
fn @f(v0: ptr, v1: ptr, v2: ptr) {{
b0:
  v3 = load f64 v0
  v4 = fptrunc f32 v3
  v5 = fmul v4, 3.0f32
  v6 = alloc 4:i64, 4:i64, @alloc
  store v6, v5
  v7 = alloc 16:i64, 8:i64, @alloc
  v8 = ptradd v7, 8:i64
  store v8, v6
  v10 = load ptr v8
  v11 = load f32 v10
  v12 = ptradd v7, {first}:i64
  v13 = fmul v4, 1e38f32
  store v12, v13
  v14 = ptradd v7, {second}:i64
  v15 = fmul v4, 7.0f32
  store v14, v15
  v16 = load f32 v12
  v17 = load f32 v14
  store v8, v6
  v18 = load ptr v8
  v19 = load f32 v18
  v20 = fmul v19, 2.0f32
  v25 = fmul v16, 0.0f32
  v21 = fadd v11, v25
  v22 = fadd v17, v20
  v23 = fadd v21, v22
  v24 = fpext f64 v23
  store v2, v24
  dealloc v7, 16:i64, 8:i64, @dealloc
  dealloc v6, 4:i64, 4:i64, @dealloc
  return
}}"
        );
        for mode in [Mode::Forward, Mode::Reverse] {
            // 3 + 0 + 7 + 2·3.
            assert_eq!(run(&differentiated(&text, mode), mode, 0), 16.0, "{mode:?}, {first} before {second}");
        }
    }
}

/// `v7` is a pointer to `3x`, as an `f32`; `v8` is the place of an enum's payload that holds it, after `first`, and so
/// is `v11`. There is an `f32` in the payload in another variant. What `then` leaves in `v40` is returned.
fn with_narrow_payloads(first: &str, then: &str) -> String {
    format!(
        "
declare @alloc(i64, i64) -> ptr
declare @dealloc(ptr, i64, i64)
fn @f(v0: ptr, v1: ptr, v2: ptr) {{
b0:
  v3 = load f64 v0
  v4 = fptrunc f32 v3
  v5 = fmul v4, 3.0f32
  v7 = alloc 4:i64, 4:i64, @alloc
  store v7, v5
  v8 = alloc 8:i64, 8:i64, @alloc
  v9 = ptradd v8, 4:i64
  v11 = alloc 8:i64, 8:i64, @alloc
  v12 = ptradd v11, 4:i64
  v13 = load i64 v1
  v14 = icmp eq v13, 9:i64
  branch v14, b1, b2
b1:
  store v8, v4 align 8
  v15 = load f32 v8 align 8
  store v11, v15 align 8
  v16 = load f32 v11 align 8
  jump b3(v16)
b2:
  {first}
  {then}
  jump b3(v40)
b3(v50: f32):
  v51 = fpext f64 v50
  store v2, v51
  dealloc v8, 8:i64, 8:i64, @dealloc
  dealloc v11, 8:i64, 8:i64, @dealloc
  dealloc v7, 4:i64, 4:i64, @dealloc
  return
}}"
    )
}

const IN_HALVES: &str = "v20 = ptrtoint i64 v7
  v21 = trunc i32 v20
  v22 = lshr v20, 32:i64
  v23 = trunc i32 v22
  store v8, v21 align 8";

#[test]
fn a_pointer_that_is_stored_in_halves() {
    let text = with_narrow_payloads(
        &format!("{IN_HALVES}\n  store v9, v23"),
        "v30 = load ptr v8
  v40 = load f32 v30",
    );
    for mode in [Mode::Forward, Mode::Reverse] {
        assert_eq!(run(&differentiated(&text, mode), mode, 0), 3.0, "{mode:?}");
    }
}

/// Its shadow would be lost, or the derivative of what lies there instead.
#[test]
fn what_may_be_a_pointer_in_halves_or_a_float_in_a_pointer_is_not_moved() {
    let read = "v30 = load ptr v11\n  v40 = load f32 v30";
    let halves = with_narrow_payloads(
        "store v8, v7",
        &format!(
            "v31 = load i32 v8 align 8
  v32 = load i32 v9
  store v11, v31 align 8
  store v12, v32
  {read}"
        ),
    );
    let float_and_half = halves.replace("v31 = load i32", "v31 = load f32");
    let apart = with_narrow_payloads(
        &format!("{IN_HALVES}\n  v24 = load i32 v8 align 8\n  store v9, v23"),
        "v30 = load ptr v8\n  v40 = load f32 v30",
    );
    let put_together = with_narrow_payloads(
        "store v8, v7",
        "v31 = load i32 v8 align 8
  v32 = load i32 v9
  v33 = zext i64 v31
  v34 = zext i64 v32
  v35 = shl v34, 32:i64
  v36 = or v35, v33
  v30 = inttoptr ptr v36
  v40 = load f32 v30",
    );
    let float_as_pointer = with_narrow_payloads(
        "store v8, v7",
        "v31 = load ptr v8
  store v11, v31
  v40 = load f32 v11 align 8",
    );
    let part_of_pointer = with_narrow_payloads(
        "store v8, v7",
        "v31 = load ptr v8
  v32 = ptrtoint i64 v31
  v33 = trunc i32 v32
  v40 = bitcast f32 v33",
    );
    for text in [halves, float_and_half, apart, put_together, float_as_pointer, part_of_pointer] {
        for mode in [Mode::Forward, Mode::Reverse] {
            let Err(refused) = attempt(&text, mode) else { panic!("{mode:?}: it has a derivative: {text}") };
            assert_eq!(refused.kind, ErrorKind::UnknownType, "{mode:?}, {refused:?}, {text}");
            assert_eq!(refused.message, "a value is moved of which it cannot be told whether it is a pointer");
        }
    }
}

/// A number lies where a pointer lies at other times, and something is computed of it.
#[test]
fn a_number_in_the_place_of_a_pointer() {
    let changes = [
        "v32 = and v31, -8:i64",
        "v32 = xor v31, 1:i64",
        "v32 = add v31, 1:i64",
        "v33 = lshr v31, 7:i64\n v32 = xor v31, v33",
        "v33 = and v31, -256:i64\n v32 = or v33, 7:i64",
        "v33 = and v31, 255:i64\n v34 = lshr v31, 8:i64\n v32 = add v33, v34",
        "v33 = and v31, -65536:i64\n v34 = add v31, 1:i64\n v35 = and v34, 65535:i64\n v32 = or v33, v35",
        "v32 = intrinsic i64 \"llvm.fshl.i64\"(v31, v31, 8:i64)",
    ];
    for change in changes {
        let moves = format!(
            "store v11, 0:i64\n store v15, v5\n v18 = alloc 16:i64, 8:i64, @alloc\n v19 = ptradd v18, 8:i64
             v20 = icmp ugt v4, 5:i64\n branch v20, b1, b2
             b1:\n store v18, 2:i64\n store v19, v4\n jump b3
             b2:\n store v18, 1:i64\n store v19, v7\n jump b3
             b3:\n v30 = load i64 v18\n v29 = icmp eq v30, 2:i64\n branch v29, b4, b5
             b4:\n v31 = load i64 v19\n {change}\n store v16, 2:i64\n store v17, v32\n jump b6
             b5:\n v40 = load ptr v19\n store v16, 1:i64\n store v17, v40\n jump b6
             b6:\n dealloc v18, 16:i64, 8:i64, @dealloc"
        );
        check(&moves, &[10.0, 3.0]);
    }
}
