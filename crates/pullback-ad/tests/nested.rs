//! Derivatives of derivatives, of programs in the IR's own text: for each pair of modes a derivative is made, put into
//! a function that calls it, and differentiated again; the second derivatives are compared with those worked out by
//! hand.
//!
//! Every program is `@f(v0: ptr, v1: ptr)`: so many `f64` at `v0`, the result at `v1`. Its derivatives need no run-time
//! support but the tape's.

use pullback_ad::{Activity, Argument, ErrorKind, Field, FieldKind, Layout, Layouts, Mode, Request, differentiate};
use pullback_ir::cfg::Cfg;
use pullback_ir::dominators::Dominators;
use pullback_ir::interp::{Interp, Val};
use pullback_ir::loops::Loops;
use pullback_ir::{Builder, Callee, FuncAttrs, FuncId, Function, MemoryEffects, Module, Op, Type};
use pullback_ir::{parse_module, verify_module};

const MODES: [Mode; 2] = [Mode::Forward, Mode::Reverse];

/// A request for a function whose parameters point to so many floats.
fn request(mode: Mode, params: &[usize], nested: bool) -> Request {
    let mut layouts = Layouts::default();
    let mut argument = |(i, count): (usize, &usize)| {
        let fields = (0..*count as u64).map(|k| Field { offset: 8 * k, kind: FieldKind::F64 }).collect();
        let layout = layouts.add(Layout { name: "[f64]".to_owned(), size: 8 * *count as u64, fields });
        Argument::new(format!("a{i}"), Activity::Duplicated, layout)
    };
    let args = params.iter().enumerate().map(&mut argument).collect();
    Request { nested, ..Request::new(mode, args, layouts) }
}

/// The derivative of `@f` that is to be differentiated.
fn inner(text: &str, mode: Mode, count: usize) -> (Module, FuncId) {
    let mut module = parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    let primal = module.find("f").expect("the program has @f");
    let id = differentiate(&mut module, primal, &request(mode, &[count, 1], true), "inner")
        .unwrap_or_else(|error| panic!("{mode:?}: {error:?}"));
    (module, id)
}

/// Add the function `@outer(x, x', y, y')`, which has a tape and calls the inner derivative.
fn outer(module: &mut Module, inner: FuncId, mode: Mode) -> FuncId {
    let mut drop = Function::new("__pullback_tape_drop", vec![Type::Ptr], None);
    drop.attrs = FuncAttrs { memory: MemoryEffects::Read, noreturn: false, inactive: true };
    let drop = module.add_function(drop);
    let mut func = Function::new("outer", vec![Type::Ptr; 4], None);
    let entry = func.add_block();
    let mut args: Vec<_> = (0..4).map(|_| func.add_param(entry, Type::Ptr)).collect();
    let mut b = Builder::new(&mut func, entry);
    if mode == Mode::Reverse {
        let tape = b.alloca(64, 16);
        args.insert(0, tape);
        b.call_void(inner, args);
        b.call_void(drop, vec![tape]);
    } else {
        b.call_void(inner, args);
    }
    b.ret(None);
    module.add_function(func)
}

/// The second derivatives of `@f` at `x`, by one mode over another.
fn second(text: &str, x: &[f64], over: Mode, under: Mode) -> Vec<Vec<f64>> {
    let n = x.len();
    let (mut module, id) = inner(text, under, n);
    let outer = outer(&mut module, id, under);
    let id = differentiate(&mut module, outer, &request(over, &[n, n, 1, 1], false), "d2")
        .unwrap_or_else(|error| panic!("{over:?} over {under:?}: {error:?}"));
    verify_module(&module).expect("the derivative is well formed");
    let unit = |i: Option<usize>| -> Vec<f64> { (0..n).map(|j| if Some(j) == i { 1.0 } else { 0.0 }).collect() };
    // One row, and in forward mode one entry of it.
    let run = |row: usize, column: usize| -> Vec<f64> {
        let mut interp = Interp::new(&module);
        let mut place = |values: &[f64]| interp.alloc_f64s(values).unwrap();
        let (tangent, seed) = (unit((under == Mode::Forward).then_some(row)), [f64::from(under == Mode::Reverse)]);
        let primals = [place(x), place(&tangent), place(&[0.0]), place(&seed)];
        let shadows = match (over, under) {
            (Mode::Forward, _) => [place(&unit(Some(column))), place(&unit(None)), place(&[0.0]), place(&[0.0])],
            (Mode::Reverse, Mode::Forward) => [place(&unit(None)), place(&unit(None)), place(&[0.0]), place(&[1.0])],
            (Mode::Reverse, Mode::Reverse) => {
                [place(&unit(None)), place(&unit(Some(row))), place(&[0.0]), place(&[0.0])]
            }
        };
        let tape = (over == Mode::Reverse).then(|| interp.new_tape());
        let pairs = primals.into_iter().zip(shadows).flat_map(|(a, b)| [a, b]);
        let args: Vec<Val> = tape.into_iter().chain(pairs).map(Val::Ptr).collect();
        interp.call(id, &args).unwrap_or_else(|error| panic!("{over:?} over {under:?}: {error}"));
        tape.into_iter().for_each(|tape| interp.drop_tape(tape).unwrap());
        assert_eq!(interp.leaks().len(), 0, "all memory is given back");
        match (over, under) {
            (Mode::Reverse, _) => interp.read_f64s(shadows[0], n).unwrap(),
            (Mode::Forward, Mode::Forward) => interp.read_f64s(shadows[3], 1).unwrap(),
            (Mode::Forward, Mode::Reverse) => vec![interp.read_f64s(shadows[1], n).unwrap()[row]],
        }
    };
    let row = |i: usize| match over {
        Mode::Reverse => run(i, 0),
        Mode::Forward => (0..n).flat_map(|j| run(i, j)).collect(),
    };
    (0..n).map(row).collect()
}

#[track_caller]
fn assert_hessian(text: &str, x: &[f64], expected: &[&[f64]]) {
    for (over, under) in MODES.into_iter().flat_map(|over| MODES.map(|under| (over, under))) {
        for (row, expected) in second(text, x, over, under).into_iter().zip(expected) {
            for (value, expected) in row.iter().zip(*expected) {
                let close = (value - expected).abs() <= 1e-12 * expected.abs().max(1.0);
                assert!(close, "{over:?} over {under:?}: {value}, should be {expected}");
            }
        }
    }
}

/// A loop with two ways out: in the reverse sweep it has two ways in, and still has to be a loop.
///
/// `y = x; for … { if y > 4 { break }; y = y·x; if y > 8 { y = 2·y; break } }`
#[test]
fn a_loop_that_is_left_at_two_places() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  jump b1(v2)
b1(v3: f64):
  v4 = fcmp ogt v3, 4.0f64
  branch v4, b4(v3), b2
b2:
  v5 = fmul v3, v2
  v6 = fcmp ogt v5, 8.0f64
  branch v6, b3, b1(v5)
b3:
  v7 = fmul v5, 2.0f64
  jump b4(v7)
b4(v8: f64):
  store v1, v8
  return
}";
    // 1.8³ is above 4, 3² is above 8.
    assert_hessian(text, &[1.8], &[&[6.0 * 1.8]]);
    assert_hessian(text, &[3.0], &[&[4.0]]);
    let (module, _) = inner(text, Mode::Reverse, 1);
    for (_, func) in module.functions().filter(|(_, func)| !func.is_declaration()) {
        let cfg = Cfg::new(func);
        assert!(Loops::new(func, &cfg, &Dominators::new(&cfg)).is_ok(), "{} is not reducible", func.name);
    }
}

/// The ways out of two loops at once, from the inner one and from the outer one, and a way round the outer loop from
/// inside the inner one.
#[test]
fn loops_in_loops_with_many_ways_out() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  jump b1(0:i64, v2)
b1(v3: i64, v4: f64):
  v5 = icmp eq v3, 4:i64
  branch v5, b6(v4), b2(0:i64, v4)
b2(v6: i64, v7: f64):
  v8 = fcmp ogt v7, 100.0f64
  branch v8, b6(v7), b3
b3:
  v9 = fmul v7, v2
  v10 = icmp eq v6, 1:i64
  branch v10, b5(v9), b4
b4:
  v11 = add v6, 1:i64
  v12 = icmp eq v3, 2:i64
  branch v12, b5(v9), b2(v11, v9)
b5(v13: f64):
  v14 = add v3, 1:i64
  jump b1(v14, v13)
b6(v15: f64):
  store v1, v15
  return
}";
    // Two products in each of four iterations, but one in the third: x⁸; with 3, above 100 after four: x⁵.
    assert_hessian(text, &[1.1], &[&[56.0 * 1.1f64.powi(6)]]);
    assert_hessian(text, &[3.0], &[&[20.0 * 27.0]]);
}

/// The reverse sweep of `@keep` has nothing active in its hands, but pops memory that the forward sweep pushed with a
/// shadow.
#[test]
fn a_function_that_only_pops() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = call @keep(v2)
  v4 = fmul v2, v2
  v5 = fmul v4, v3
  store v1, v5
  return
}
fn @keep(v0: f64) -> f64 {
b0:
  v1 = alloca 32 align 8
  store v1, v0
  return 3.0f64
}";
    assert_hessian(text, &[1.5], &[&[6.0]]);
}

/// A pointer and a length are returned together, and with their shadows in the inner derivative.
#[test]
fn a_slice_that_is_returned() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = call @rest(v0, 2:i64)
  v3 = extract v2, 0
  v4 = load f64 v3
  v5 = load f64 v0
  v6 = fmul v4, v4
  v7 = fmul v6, v5
  store v1, v7
  return
}
fn @rest(v0: ptr, v1: i64) -> {ptr, i64} {
b0:
  v2 = ptradd v0, 8:i64
  v3 = sub v1, 1:i64
  v4 = insert undef {ptr, i64}, v2, 0
  v5 = insert v4, v3, 1
  return v5
}";
    assert_hessian(text, &[3.0, 5.0], &[&[0.0, 10.0], &[10.0, 6.0]]);
}

/// Pointers of an argument that are moved in a number that is not known: what was overwritten is kept by the run-time
/// support, which is not differentiated.
#[test]
fn many_pointers_of_an_argument_are_not_moved_at_once() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load ptr v0
  v3 = ptradd v0, 8:i64
  v4 = load f64 v3
  v5 = fptoui i64 v4
  v6 = mul v5, 8:i64
  v7 = ptradd v2, 8:i64
  move v7, v2, v6 align 8, 8
  v8 = load ptr v7
  v9 = load f64 v8
  store v1, v9
  return
}";
    let attempt = |nested: bool| {
        let mut module = parse_module(text).unwrap();
        let primal = module.find("f").unwrap();
        let mut request = request(Mode::Reverse, &[2, 1], nested);
        let mut pointer_to = |layout| {
            let fields = vec![Field { offset: 0, kind: FieldKind::Pointer(Some(layout)) }];
            request.layouts.add(Layout { name: "&mut".to_owned(), size: 8, fields })
        };
        let row = pointer_to(request.args[1].layout);
        let table = Field { offset: 0, kind: FieldKind::Pointer(Some(row)) };
        let fields = vec![table, Field { offset: 8, kind: FieldKind::F64 }];
        request.args[0].layout = request.layouts.add(Layout { name: "Table".to_owned(), size: 16, fields });
        differentiate(&mut module, primal, &request, "derivative").map(|_| ())
    };
    attempt(false).unwrap();
    let error = attempt(true).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert_eq!(error.message, "many pointers are moved at once into memory that belongs to an argument");
    assert_eq!(error.label, "moved here");
}

/// A function that keeps very many values of several types for its reverse sweep.
#[test]
fn a_record_of_very_many_values() {
    let mut body = "  jump b1(v0)\n".to_owned();
    let mut value = 1;
    for step in 1..=250 {
        // y·y/y, and 2·y where y is small, which it is not.
        let (y, sum) = (value, value + 1);
        body += &format!("b{}(v{y}: f64):\n", 2 * step - 1);
        body += &format!("  v{sum} = fmul v{y}, v{y}\n  v{} = fdiv v{sum}, v{y}\n", sum + 1);
        body += &format!("  v{} = fcmp olt v{}, 0.5f64\n", sum + 2, sum + 1);
        body += &format!("  branch v{}, b{}, b{}(v{})\n", sum + 2, 2 * step, 2 * step + 1, sum + 1);
        body += &format!("b{}:\n  v{} = fadd v{}, v{}\n", 2 * step, sum + 3, sum + 1, sum + 1);
        body += &format!("  jump b{}(v{})\n", 2 * step + 1, sum + 3);
        value = sum + 4;
    }
    let text = format!(
        "
fn @f(v0: ptr, v1: ptr) {{
b0:
  v2 = load f64 v0
  v3 = call @chain(v2)
  v4 = fmul v3, v3
  store v1, v4
  return
}}
fn @chain(v0: f64) -> f64 {{
b0:
{body}b501(v{value}: f64):
  return v{value}
}}"
    );
    assert_hessian(&text, &[1.5], &[&[2.0]]);
    let (module, _) = inner(&text, Mode::Reverse, 1);
    let pops = module.functions().flat_map(|(_, func)| {
        let insts = func.blocks().flat_map(|b| &func.block(b).insts);
        insts.filter(|inst| match &func.inst(**inst).op {
            Op::Call(Callee::Direct(callee), ..) => module.func(*callee).name == "__pullback_tape_pop_at",
            _ => false,
        })
    });
    let pops = pops.count();
    assert!(pops > 1, "the record is in parts, but there is only {pops}");
}
