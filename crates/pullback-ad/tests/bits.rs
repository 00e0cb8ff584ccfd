//! The bits of floats, as integers: moved they are floats, computed with they are an error, and never a constant.

use pullback_ad::request::{Activity, Argument, Field, FieldKind, Layout, Layouts, Mode, Request};
use pullback_ad::{Error, ErrorKind};
use pullback_ir::interp::{Interp, Val};
use pullback_ir::{Module, parse_module};

fn attempt(text: &str, mode: Mode) -> Result<Module, Error> {
    let mut module = parse_module(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let mut layouts = Layouts::default();
    let fields = [0, 8].map(|offset| Field { offset, kind: FieldKind::F64 }).to_vec();
    let given = layouts.add(Layout { name: "given".to_owned(), size: 16, fields });
    let float = Layout { name: "f64".to_owned(), size: 8, fields: vec![Field { offset: 0, kind: FieldKind::F64 }] };
    let float = layouts.add(float);
    let args =
        vec![Argument::new("given", Activity::Duplicated, given), Argument::new("return", Activity::Duplicated, float)];
    let primal = module.find("f").unwrap();
    pullback_ad::differentiate(&mut module, primal, &Request::new(mode, args, layouts), "d")?;
    Ok(module)
}

const MODES: [Mode; 2] = [Mode::Forward, Mode::Reverse];

/// The derivative with respect to the second word, at these two words.
#[track_caller]
fn assert_derivative(text: &str, modes: &[Mode], words: [f64; 2], expected: f64) {
    for mode in modes.iter().copied() {
        let module = attempt(text, mode).unwrap_or_else(|e| panic!("{mode:?}: {e:?}\n{text}"));
        let mut interp = Interp::new(&module);
        let place = interp.alloc_f64s(&words).unwrap();
        let [shadow, out, d_out] = [&[0.0, 0.0][..], &[0.0], &[0.0]].map(|floats| interp.alloc_f64s(floats).unwrap());
        match mode {
            Mode::Forward => interp.write_f64s(shadow, &[words[0] * 0.0, 1.0]).unwrap(),
            Mode::Reverse => interp.write_f64s(d_out, &[1.0]).unwrap(),
        }
        let tape = (mode == Mode::Reverse).then(|| interp.new_tape());
        let args: Vec<Val> = tape.into_iter().chain([place, shadow, out, d_out]).map(Val::Ptr).collect();
        interp.call(module.find("d").unwrap(), &args).unwrap_or_else(|e| panic!("{e:?}\n{module}"));
        let found = match mode {
            Mode::Forward => interp.read_f64s(d_out, 1).unwrap()[0],
            Mode::Reverse => interp.read_f64s(shadow, 2).unwrap()[1],
        };
        assert_eq!(found, expected, "{mode:?}\n{text}");
    }
}

#[track_caller]
fn assert_error(text: &str) {
    for mode in MODES {
        let Err(error) = attempt(text, mode) else { panic!("{mode:?}: it has a derivative:\n{text}") };
        assert_eq!(error.kind, ErrorKind::BitTrick, "{mode:?}: {error:?}\n{text}");
    }
}

/// Of two floats, with a function that is called.
fn calling(callee: &str, then: &str) -> String {
    format!("{callee}\nfn @f(v0: ptr, v1: ptr) {{\nb0:\n{then}\n  store v1, v50\n  return\n}}")
}

#[test]
fn bits_that_a_function_returns_are_the_float() {
    let callee = "
fn @bits(v0: ptr) -> i64 {
b0:
  v1 = ptradd v0, 8:i64
  v2 = load f64 v1
  v3 = fmul v2, v2
  v4 = bitcast i64 v3
  return v4
}";
    let text = calling(callee, "  v2 = call @bits(v0)\n  v50 = bitcast f64 v2");
    assert_derivative(&text, &MODES, [3.0, 5.0], 10.0);
}

#[test]
fn bits_that_a_function_returns_in_something_else_are_an_error() {
    let both = "
fn @bits(v0: ptr) -> i128 {
b0:
  v1 = ptradd v0, 8:i64
  v2 = load f64 v0
  v3 = load f64 v1
  v4 = bitcast i64 v2
  v5 = bitcast i64 v3
  v6 = zext i128 v4
  v7 = zext i128 v5
  v8 = shl v7, 64:i128
  v9 = or v8, v6
  return v9
}";
    let text =
        calling(both, "  v2 = call @bits(v0)\n  v3 = lshr v2, 64:i128\n  v4 = trunc i64 v3\n  v50 = bitcast f64 v4");
    assert_error(&text);
    let halves = "
fn @bits(v0: ptr) -> i64 {
b0:
  v1 = ptradd v0, 8:i64
  v2 = load f64 v1
  v3 = fptrunc f32 v2
  v4 = bitcast i32 v3
  v5 = zext i64 v4
  v6 = shl v5, 32:i64
  return v6
}";
    let text = calling(
        halves,
        "  v2 = call @bits(v0)\n  v3 = lshr v2, 32:i64\n  v4 = trunc i32 v3\n  v5 = bitcast f32 v4\n  v50 = fpext f64 v5",
    );
    assert_error(&text);
    // By way of another function.
    let twice = "\nfn @more(v0: ptr) -> i64 {\nb0:\n  v1 = call @bits(v0)\n  v2 = xor v1, 1:i64\n  return v2\n}";
    let text = text.replace("v2 = call @bits(v0)", "v2 = call @more(v0)");
    assert_error(Given::Floats, &format!("{twice}\n{text}"));
}
