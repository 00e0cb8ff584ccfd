//! A derivative that panics gives back all memory: what the primal holds by the primal's clean-up, shadows beside it
//! (forward) or with the tape (reverse).

use pullback_ad::request::{Activity, Argument, Field, FieldKind, Layout, Layouts, Mode, Request};
use pullback_ir::interp::{Interp, Trap, Val};
use pullback_ir::{Module, Op, parse_module, verify_module};

/// `x²`, held in a box that a box points to. It panics in a callee if `x > 10`, and itself if `x > 5`.
const BOXED_SQUARE: &str = "
declare @alloc(i64, i64) -> ptr
declare @dealloc(ptr, i64, i64)
declare @panic() noreturn
fn @drop_boxes(v0: ptr) {
b0:
  v1 = load ptr v0
  dealloc v1, 8:i64, 8:i64, @dealloc
  dealloc v0, 8:i64, 8:i64, @dealloc
  return
}
fn @free(v0: ptr) {
b0:
  dealloc v0, 16:i64, 8:i64, @dealloc
  return
}
fn @check(v0: f64) {
b0:
  v1 = fcmp ogt v0, 10.0f64
  branch v1, b1, b2
b1:
  v2 = alloc 16:i64, 8:i64, @alloc
  store v2, v0
  call @panic() cleanup @free(v2)
  unreachable
b2:
  return
}
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = alloc 8:i64, 8:i64, @alloc
  v4 = fmul v2, v2
  store v3, v4
  v5 = alloc 8:i64, 8:i64, @alloc
  store v5, v3
  call @check(v2) cleanup @clean(v5)
  v6 = fcmp ogt v2, 5.0f64
  branch v6, b1(v5), b2
b1(v7: ptr):
  call @panic() cleanup @clean(v7)
  unreachable
b2:
  v8 = load ptr v5
  v9 = load f64 v8
  store v1, v9
  call @drop_boxes(v5)
  return
}
fn @clean(v0: ptr) {
b0:
  call @drop_boxes(v0)
  return
}
";

/// The same, with the inner box taken out of the outer one as a number, as std's algorithms hold an element; the
/// clean-up puts it back. If `x > 5` both are freed, and then it panics.
const HELD_AS_A_NUMBER: &str = "
declare @alloc(i64, i64) -> ptr
declare @dealloc(ptr, i64, i64)
declare @panic() noreturn
fn @check(v0: f64) {
b0:
  v1 = fcmp ogt v0, 10.0f64
  branch v1, b1, b2
b1:
  call @panic()
  unreachable
b2:
  return
}
fn @put_back(v0: i64, v1: ptr) {
b0:
  store v1, v0
  v2 = load ptr v1
  dealloc v2, 8:i64, 8:i64, @dealloc
  dealloc v1, 8:i64, 8:i64, @dealloc
  return
}
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = alloc 8:i64, 8:i64, @alloc
  v4 = fmul v2, v2
  store v3, v4
  v5 = alloc 8:i64, 8:i64, @alloc
  store v5, v3
  v6 = load i64 v5
  store v5, null
  call @check(v2) cleanup @put_back(v6, v5)
  store v5, v6
  v7 = load ptr v5
  v8 = load f64 v7
  v9 = fcmp ogt v2, 5.0f64
  branch v9, b1, b2
b1:
  dealloc v7, 8:i64, 8:i64, @dealloc
  dealloc v5, 8:i64, 8:i64, @dealloc
  call @panic()
  unreachable
b2:
  store v1, v8
  dealloc v7, 8:i64, 8:i64, @dealloc
  dealloc v5, 8:i64, 8:i64, @dealloc
  return
}
";

/// `x²` as the payload of an enum, or in a box that is one, held as a value of some type while a callee may panic; the
/// clean-up puts it back.
const HELD_AS_ANYTHING: &str = "
declare @alloc(i64, i64) -> ptr
declare @dealloc(ptr, i64, i64)
declare @panic() noreturn
fn @check(v0: f64) {
b0:
  v1 = fcmp ogt v0, 10.0f64
  branch v1, b1, b2
b1:
  call @panic()
  unreachable
b2:
  return
}
fn @drop(v5: ptr) {
b0:
  v3 = load i64 v5
  v6 = ptradd v5, 8:i64
  v4 = icmp eq v3, 0:i64
  branch v4, b2, b1
b1:
  v7 = load ptr v6
  dealloc v7, 8:i64, 8:i64, @dealloc
  jump b2
b2:
  dealloc v5, 16:i64, 8:i64, @dealloc
  return
}
fn @put_back(v0: TYPE, v1: ptr) {
b0:
  v2 = ptradd v1, 8:i64
  store v2, v0
  call @drop(v1)
  return
}
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = alloc 8:i64, 8:i64, @alloc
  v4 = fmul v2, v2
  store v3, v4
  v5 = alloc 16:i64, 8:i64, @alloc
  v30 = ptradd v5, 8:i64
  v31 = fcmp ogt v2, 1.0f64
  branch v31, b4, b5
b4:
  store v5, 1:i64
  store v30, v3
  jump b6
b5:
  dealloc v3, 8:i64, 8:i64, @dealloc
  store v5, 0:i64
  store v30, v4
  jump b6
b6:
  v6 = load TYPE v30
  store v30, 0:i64
  call @check(v2) cleanup @put_back(v6, v5)
  store v30, v6
  v40 = load i64 v5
  v41 = icmp eq v40, 0:i64
  branch v41, b7, b8
b7:
  v42 = load f64 v30
  jump b9(v42)
b8:
  v7 = load ptr v30
  v8 = load f64 v7
  jump b9(v8)
b9(v43: f64):
  store v1, v43
  call @drop(v5)
  return
}
";

/// `x²` in a box that is brought to its clean-up as a number, as a merge holds where it writes to. On the way to the
/// panic that address meets only itself, and beside it a number meets an address.
const BROUGHT_AS_A_NUMBER: &str = "
declare @alloc(i64, i64) -> ptr
declare @dealloc(ptr, i64, i64)
declare @panic(i64) noreturn
fn @free(v0: i64) {
b0:
  v1 = inttoptr ptr v0
  dealloc v1, 8:i64, 8:i64, @dealloc
  return
}
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = alloc 8:i64, 8:i64, @alloc
  v4 = fmul v2, v2
  store v3, v4
  v5 = ptrtoint i64 v3
  v6 = fcmp ogt v2, 10.0f64
  branch v6, b1(v5), b2
b1(v7: i64):
  jump b4(v7, v7)
b2:
  v8 = fptosi i64 v2
  v9 = icmp sgt v8, 5:i64
  branch v9, b4(v5, v8), b3
b4(v10: i64, v11: i64):
  call @panic(v11) cleanup @free(v10)
  unreachable
b3:
  v12 = load f64 v3
  store v1, v12
  dealloc v3, 8:i64, 8:i64, @dealloc
  return
}
";

/// `x²` in a box, beside memory from somewhere else. One clean-up frees either, so that it cannot be known whether what
/// it frees has a shadow.
const MIXED: &str = "
declare @alloc(i64, i64) -> ptr
declare @dealloc(ptr, i64, i64)
declare @panic() noreturn
declare @name(ptr) -> ptr readonly inactive
fn @free(v0: ptr) {
b0:
  dealloc v0, 8:i64, 8:i64, @dealloc
  return
}
fn @check(v0: f64) {
b0:
  v1 = fcmp ogt v0, 10.0f64
  branch v1, b1, b2
b1:
  call @panic()
  unreachable
b2:
  return
}
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = fmul v2, v2
  v4 = alloc 8:i64, 8:i64, @alloc
  store v4, v3
  call @check(v2) cleanup @free(v4)
  v5 = fcmp ogt v2, 5.0f64
  branch v5, b1, b2
b1:
  v6 = call @name(v0)
  call @panic() cleanup @free(v6)
  unreachable
b2:
  v7 = load f64 v4
  store v1, v7
  dealloc v4, 8:i64, 8:i64, @dealloc
  return
}
";

fn derivative(program: &str, mode: Mode) -> Module {
    let mut module = parse_module(program).unwrap();
    let mut layouts = Layouts::default();
    let float = Layout { name: "f64".to_owned(), size: 8, fields: vec![Field { offset: 0, kind: FieldKind::F64 }] };
    let layout = layouts.add(float);
    let argument = Argument::new("x", Activity::Duplicated, layout);
    let request = Request::new(mode, vec![argument, Argument::result(Activity::Duplicated, layout)], layouts);
    let primal = module.find("f").unwrap();
    pullback_ad::differentiate(&mut module, primal, &request, "d").expect("it has a derivative");
    verify_module(&module).unwrap_or_else(|wrong| panic!("{wrong:?}\n{module}"));
    module
}

/// The derivative at `x`, or the panic. So many allocations are left.
fn run(module: &Module, mode: Mode, x: f64, left: usize) -> Result<f64, Trap> {
    let mut interp = Interp::new(module);
    let [x, dx, out, d_out] = [x, 0.0, 0.0, 0.0].map(|v| interp.alloc_f64s(&[v]).unwrap());
    let (seed, result) = if mode == Mode::Forward { (dx, d_out) } else { (d_out, dx) };
    interp.write_f64s(seed, &[1.0]).unwrap();
    let tape = (mode == Mode::Reverse).then(|| interp.new_tape());
    let args: Vec<Val> = tape.into_iter().chain([x, dx, out, d_out]).map(Val::Ptr).collect();
    let ended = interp.call(module.find("d").unwrap(), &args);
    if let Some(tape) = tape {
        interp.drop_tape(tape).expect("what the tape owns is given back once");
    }
    assert_eq!(interp.leaks().len(), left, "{ended:?}");
    ended.map_err(|e| e.trap)?;
    Ok(interp.read_f64s(result, 1).unwrap()[0])
}

#[test]
fn nothing_leaks() {
    for program in [BOXED_SQUARE, HELD_AS_A_NUMBER, BROUGHT_AS_A_NUMBER] {
        for mode in [Mode::Forward, Mode::Reverse] {
            let module = derivative(program, mode);
            assert_eq!(run(&module, mode, 3.0, 0), Ok(6.0));
            for x in [7.0, 20.0] {
                assert_eq!(run(&module, mode, x, 0), Err(Trap::Panic("panic".to_owned())), "{mode:?} at {x}");
            }
        }
    }
}

/// The optimiser holds a payload as whatever it likes, also where only a clean-up looks at it.
#[test]
fn a_payload_is_held_as_anything() {
    for ty in ["i64", "f64", "ptr"] {
        for mode in [Mode::Forward, Mode::Reverse] {
            let module = derivative(&HELD_AS_ANYTHING.replace("TYPE", ty), mode);
            assert_eq!(run(&module, mode, 0.5, 0), Ok(1.0), "{ty}, {mode:?}");
            assert_eq!(run(&module, mode, 3.0, 0), Ok(6.0), "{ty}, {mode:?}");
            assert_eq!(run(&module, mode, 20.0, 0), Err(Trap::Panic("panic".to_owned())), "{ty}, {mode:?}");
        }
    }
}

#[test]
fn a_clean_up_that_takes_no_part() {
    let constant = HELD_AS_A_NUMBER.replace("store v3, v4", "store v3, 1.0f64");
    let module = derivative(&constant, Mode::Forward);
    assert_eq!(run(&module, Mode::Forward, 3.0, 0), Ok(0.0));
    assert_eq!(run(&module, Mode::Forward, 20.0, 0), Err(Trap::Panic("panic".to_owned())));
    assert_eq!(cleanups(&module, "d"), ["d.of.put_back"]);
}

#[test]
fn what_a_panic_mixes_up_does_not_stop_a_derivative() {
    for (mode, shadows) in [(Mode::Forward, 1), (Mode::Reverse, 0)] {
        let module = derivative(MIXED, mode);
        assert_eq!(run(&module, mode, 3.0, 0), Ok(6.0));
        // The primal's memory is given back; its shadow is left, where it is not the tape's.
        assert_eq!(run(&module, mode, 20.0, shadows), Err(Trap::Panic("panic".to_owned())));
    }
}

/// The clean-up functions that the calls of a function name.
fn cleanups(module: &Module, name: &str) -> Vec<String> {
    let func = module.func(module.find(name).unwrap());
    let ops = func.blocks().flat_map(|b| &func.block(b).insts).map(|i| &func.inst(*i).op);
    ops.filter_map(Op::cleanup).map(|c| module.func(c.func).name.clone()).collect()
}

#[test]
fn only_forward_mode_cleans_up_shadows() {
    let of = |mode| cleanups(&derivative(BOXED_SQUARE, mode), "d");
    assert_eq!(of(Mode::Reverse), ["clean", "clean"]);
    assert_eq!(of(Mode::Forward), ["d.d.of.clean.fwd", "d.d.of.clean.fwd"]);
}
