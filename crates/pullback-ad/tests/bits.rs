//! The bits of floats, as integers: moved they are floats, computed with they are an error, and never a constant.

use pullback_ad::request::{Activity, Argument, Field, FieldKind, Layout, LayoutId, Layouts, Mode, Request};
use pullback_ad::{Error, ErrorKind};
use pullback_ir::interp::{Interp, Val};
use pullback_ir::{Module, parse_module};

/// What the first argument is.
#[derive(Clone, Copy, Debug)]
enum Given {
    /// Two floats.
    Floats,
    /// A tag, and a float where that is zero.
    Maybe,
    /// A tag, and a float or a number.
    Either,
}

impl Given {
    fn layout(self, layouts: &mut Layouts) -> LayoutId {
        let field = |offset, kind| Field { offset, kind };
        let float = Layout { name: "f64".to_owned(), size: 8, fields: vec![field(0, FieldKind::F64)] };
        let float = layouts.add(float);
        let number = Layout { name: "u64".to_owned(), size: 8, fields: vec![field(0, FieldKind::Int(8))] };
        let number = layouts.add(number);
        let fields = match self {
            Given::Floats => vec![field(0, FieldKind::F64), field(8, FieldKind::F64)],
            Given::Maybe => vec![field(0, FieldKind::Opaque(16)), field(0, FieldKind::Payload(float))],
            Given::Either => vec![
                field(0, FieldKind::Opaque(16)),
                field(0, FieldKind::Payload(float)),
                field(1, FieldKind::Payload(number)),
            ],
        };
        layouts.add(Layout { name: "given".to_owned(), size: 16, fields })
    }
}

fn attempt(given: Given, text: &str, mode: Mode) -> Result<Module, Error> {
    let mut module = parse_module(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let mut layouts = Layouts::default();
    let given = given.layout(&mut layouts);
    let float = Layout { name: "f64".to_owned(), size: 8, fields: vec![Field { offset: 0, kind: FieldKind::F64 }] };
    let float = layouts.add(float);
    let args = vec![Argument::new("given", Activity::Duplicated, given), Argument::result(Activity::Duplicated, float)];
    let primal = module.find("f").unwrap();
    pullback_ad::differentiate(&mut module, primal, &Request::new(mode, args, layouts), "d")?;
    Ok(module)
}

const MODES: [Mode; 2] = [Mode::Forward, Mode::Reverse];

/// The derivative with respect to the second word, at these two words.
#[track_caller]
fn assert_derivative(given: Given, text: &str, modes: &[Mode], words: [f64; 2], expected: f64) {
    for mode in modes.iter().copied() {
        let module = attempt(given, text, mode).unwrap_or_else(|e| panic!("{mode:?}: {e:?}\n{text}"));
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
fn assert_error(given: Given, text: &str) {
    for mode in MODES {
        let Err(error) = attempt(given, text, mode) else { panic!("{mode:?}: it has a derivative:\n{text}") };
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
    assert_derivative(Given::Floats, &text, &MODES, [3.0, 5.0], 10.0);
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
    assert_error(Given::Floats, &text);
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
        "  v2 = call @bits(v0)\n  v3 = lshr v2, 32:i64\n  v4 = trunc i32 v3\n  v5 = bitcast f32 v4\n  \
         v50 = fpext f64 v5",
    );
    assert_error(Given::Floats, &text);
    // By way of another function.
    let twice = "\nfn @more(v0: ptr) -> i64 {\nb0:\n  v1 = call @bits(v0)\n  v2 = xor v1, 1:i64\n  return v2\n}";
    let text = text.replace("v2 = call @bits(v0)", "v2 = call @more(v0)");
    assert_error(Given::Floats, &format!("{twice}\n{text}"));
}

/// An enum, of which each variant does something.
fn variants(float: &str, number: &str) -> String {
    format!(
        "
fn @same(v0: i64) -> i64 {{
b0:
  v1 = icmp eq v0, 77:i64
  branch v1, b1, b2
b1:
  v2 = call @same(v0)
  return v2
b2:
  return v0
}}
fn @f(v0: ptr, v1: ptr) {{
b0:
  v2 = load i64 v0
  v3 = ptradd v0, 8:i64
  v15 = alloca 8 align 8
  v4 = icmp eq v2, 0:i64
  branch v4, b1, b2
b1:
  v5 = load i64 v3
{float}
  jump b3(v50)
b2:
{number}
  jump b3(v60)
b3(v90: f64):
  store v1, v90
  return
}}"
    )
}

/// What makes twice the float of its bits, or something like it.
const TRICKS: [&str; 15] = [
    "v6 = add v5, 4503599627370496:i64",
    "v6 = add v5, 1:i64",
    "v6 = xor v5, -9223372036854775808:i64",
    "v6 = and v5, 9223372036854775807:i64",
    "v6 = and v5, -4294967296:i64",
    "v6 = mul v5, 3:i64",
    "v8 = lshr v5, 1:i64\n  v6 = sub 6910469410427058089:i64, v8",
    "v6 = intrinsic i64 \"llvm.bswap.i64\"(v5)",
    "v6 = intrinsic i64 \"llvm.bitreverse.i64\"(v5)",
    "v6 = intrinsic i64 \"llvm.fshl.i64\"(v5, v5, 8:i64)",
    "v8 = intrinsic {i64, i1} \"llvm.uadd.with.overflow.i64\"(v5, 1:i64)\n  v6 = extract v8, 0",
    "v6 = intrinsic i64 \"llvm.umax.i64\"(v5, 7:i64)",
    "v8 = insert undef {i64, i64}, v5, 0\n  v9 = insert v8, 1:i64, 1\n  v6 = extract v9, 0",
    "v8 = add v5, 1:i64\n  v6 = call @same(v8)",
    "v8 = intrinsic i64 \"llvm.bswap.i64\"(v5)\n  store v15, v8\n  v9 = load i64 v15\n  \
     v6 = intrinsic i64 \"llvm.bswap.i64\"(v9)",
];

#[test]
fn computing_with_the_bits_of_a_variant_is_an_error() {
    let number = "  v20 = load i64 v3\n  v21 = add v20, 1:i64\n  v60 = uitofp f64 v21";
    for trick in TRICKS {
        let text = variants(&format!("  {trick}\n  v50 = bitcast f64 v6"), number);
        assert_error(Given::Maybe, &text);
        assert_error(Given::Either, &text);
        // Where it is read as a float, too.
        let text =
            text.replace("v50 = bitcast f64 v6", "v10 = bitcast f64 v6\n  v11 = load f64 v3\n  v50 = fadd v10, v11");
        assert_error(Given::Maybe, &text);
        assert_error(Given::Either, &text);
    }
}

/// A float that is stored as bits, where another variant has a number.
#[test]
fn storing_computed_bits_of_a_variant_is_an_error() {
    for trick in [TRICKS[0], TRICKS[2], TRICKS[3], TRICKS[6], TRICKS[7], TRICKS[8], TRICKS[9]] {
        let float = format!("  {trick}\n  store v3, v6\n  v50 = load f64 v3");
        assert_error(Given::Either, &variants(&float, "  v60 = uitofp f64 v2"));
    }
}

#[test]
fn a_variant_may_compute_with_its_number() {
    let changes = [
        "v21 = add v20, 1:i64",
        "v21 = intrinsic i64 \"llvm.umax.i64\"(v20, 7:i64)",
        "v22 = shl v20, 1:i64\n  v21 = or v22, 1:i64",
        "v22 = mul v20, 6364136223846793005:i64\n  v21 = add v22, 1442695040888963407:i64",
        "v22 = lshr v20, 30:i64\n  v23 = xor v20, v22\n  v21 = mul v23, -4658895280553007687:i64",
    ];
    let float = "  v7 = bitcast f64 v5\n  v50 = fmul v7, v7";
    for change in changes {
        let number = format!("  v20 = load i64 v3\n  {change}\n  store v3, v21\n  v60 = uitofp f64 v21");
        let text = variants(float, &number);
        // In forward mode numbers of arguments cannot be replaced.
        let without_store = text.replace("  store v3, v21\n", "");
        for (text, modes) in [(&text, &MODES[1..]), (&without_store, &MODES)] {
            assert_derivative(Given::Either, text, modes, [0.0, 3.0], 6.0);
            assert_derivative(Given::Either, text, modes, [f64::from_bits(1), f64::from_bits(5)], 0.0);
        }
    }
    // A power of two, and a random number from 1 to 2.
    let power = "  v20 = load i64 v3\n  v21 = add v20, 1023:i64\n  v22 = shl v21, 52:i64\n  v60 = bitcast f64 v22";
    let random = "  v20 = load i64 v3\n  v21 = mul v20, 6364136223846793005:i64\n  v22 = lshr v21, 12:i64
  v23 = or v22, 4607182418800017408:i64\n  v60 = bitcast f64 v23";
    for number in [power, random] {
        assert_derivative(Given::Either, &variants(float, number), &MODES, [0.0, 3.0], 6.0);
    }
}

/// The payload of either variant in one variable.
#[test]
fn a_number_that_meets_a_float_again() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load i64 v0
  v3 = ptradd v0, 8:i64
  v4 = icmp eq v2, 0:i64
  v5 = load i64 v3
  branch v4, b2(v5), b1
b1:
  v6 = add v5, 1:i64
  jump b2(v6)
b2(v7: i64):
  branch v4, b3, b4
b3:
  v8 = bitcast f64 v7
  v9 = fmul v8, v8
  jump b5(v9)
b4:
  v10 = uitofp f64 v7
  jump b5(v10)
b5(v11: f64):
  store v1, v11
  return
}";
    assert_derivative(Given::Either, text, &MODES, [0.0, 3.0], 6.0);
    assert_derivative(Given::Either, text, &MODES, [f64::from_bits(1), f64::from_bits(5)], 0.0);
}

/// A number that a variant has is returned with another one, as an `Option` is.
#[test]
fn a_number_of_a_variant_in_an_aggregate() {
    let callee = "
fn @second(v0: ptr, v1: f64) -> {i64, f64} {
b0:
  v2 = ptradd v0, 8:i64
  v3 = load i64 v2
  v4 = insert undef {i64, f64}, v3, 0
  v5 = insert v4, v1, 1
  return v5
}";
    let float = "  v7 = bitcast f64 v5\n  v50 = fmul v7, v7";
    let number = "  v20 = load f64 v3\n  v21 = call @second(v0, v20)\n  v22 = extract v21, 0\n  v60 = uitofp f64 v22";
    let text = format!("{callee}\n{}", variants(float, number));
    assert_derivative(Given::Either, &text, &MODES, [0.0, 3.0], 6.0);
    assert_derivative(Given::Either, &text, &MODES, [f64::from_bits(1), f64::from_bits(5)], 0.0);
    let both =
        text.replace("v60 = uitofp f64 v22", "v23 = extract v21, 1\n  v24 = uitofp f64 v22\n  v60 = fmul v23, v24");
    assert_derivative(Given::Either, &both, &MODES, [0.0, 3.0], 6.0);
}

/// The byte with the sign is taken apart from the others, in which there is the rest of the exponent and the mantissa.
#[test]
fn the_first_byte_that_is_put_beside_the_others() {
    let word = "  v2 = ptradd v0, 8:i64\n  v5 = load i64 v2\n";
    let byte = "  v6 = lshr v5, 56:i64\n  v7 = trunc i8 v6\n  v8 = zext i64 v7\n  v9 = shl v8, 56:i64\n";
    let rest = "  v12 = trunc i56 v5\n  v10 = zext i64 v12\n";
    let masked = "  v9 = and v5, -72057594037927936:i64\n  v10 = and v5, 72057594037927935:i64\n";
    for given in [Given::Maybe, Given::Either] {
        for parts in [format!("{byte}{rest}"), masked.to_owned()] {
            assert_error(given, &calling("", &format!("{word}{parts}  v11 = or v9, v10\n  v50 = bitcast f64 v11")));
            let stored = "  store v2, v11\n  v50 = load f64 v2";
            assert_error(given, &calling("", &format!("{word}{parts}  v11 = or v9, v10\n{stored}")));
        }
    }
}

/// One of the bytes is stored beside the others.
#[test]
fn bytes_that_are_put_together_in_memory() {
    let parts = "  v15 = alloca 8 align 8\n  v2 = ptradd v0, 8:i64\n  v5 = load i64 v2\n";
    let last = "  v6 = lshr v5, 56:i64\n  v7 = trunc i8 v6\n  v8 = trunc i56 v5\n  v16 = ptradd v15, 7:i64
  store v15, v8 align 1\n  store v16, v7 align 1\n";
    let first = "  v6 = trunc i8 v5\n  v7 = lshr v5, 8:i64\n  v8 = trunc i56 v7\n  v16 = ptradd v15, 1:i64
  store v15, v6 align 1\n  store v16, v8 align 1\n";
    for given in [Given::Maybe, Given::Either] {
        for stored in [last, first] {
            assert_error(given, &calling("", &format!("{parts}{stored}  v50 = load f64 v15")));
        }
    }
}

/// What is shifted up, or multiplied, has the mantissa where the exponent was: the digits of a float, one after the
/// other.
#[test]
fn digits_of_the_mantissa_are_no_exponent() {
    for up in ["shl v9, 1:i64", "mul v9, 2:i64", "add v9, v9"] {
        let digits = format!(
            "fn @f(v0: ptr, v1: ptr) {{
b0:
  v2 = ptradd v0, 8:i64
  v3 = load f64 v2
  v4 = bitcast i64 v3
  v5 = shl v4, 12:i64
  jump b1(v5, 1.0f64, 0.5f64)
b1(v9: i64, v10: f64, v11: f64):
  v12 = lshr v9, 63:i64
  v13 = uitofp f64 v12
  v14 = fmul v13, v11
  v15 = fadd v10, v14
  v16 = {up}
  v17 = fmul v11, 0.5f64
  v18 = icmp eq v16, 0:i64
  branch v18, b2, b1(v16, v15, v17)
b2:
  store v1, v15
  return
}}"
        );
        assert_error(Given::Floats, &digits);
    }
    let byte = "  v2 = ptradd v0, 8:i64\n  v3 = load f64 v2\n  v4 = bitcast i64 v3\n  v5 = shl v4, 8:i64
  v6 = lshr v5, 56:i64\n  v50 = uitofp f64 v6";
    assert_error(Given::Floats, &calling("", byte));
    // Nor may they be put in the place of one.
    let into = "  v2 = ptradd v0, 8:i64\n  v3 = load f64 v2\n  v4 = bitcast i64 v3\n  v5 = shl v4, 52:i64
  v6 = xor v4, v5\n  v50 = bitcast f64 v6";
    assert_error(Given::Floats, &calling("", into));
}

/// The factor is that of the exponents, also where the float or its multiple is infinite, or no number.
#[test]
fn a_multiple_has_a_factor_everywhere() {
    let with = |op: &str| {
        let bits = "  v2 = ptradd v0, 8:i64\n  v3 = load f64 v2\n  v4 = bitcast i64 v3\n  v20 = load f64 v0
  v21 = bitcast i64 v20\n  v22 = and v21, -9223372036854775808:i64\n";
        calling("", &format!("{bits}  v5 = {op}\n  v50 = bitcast f64 v5"))
    };
    let sign = with("xor v4, v22");
    for x in [3.0, 0.0, f64::MAX, f64::INFINITY, f64::NAN, 5e-324] {
        assert_derivative(Given::Floats, &sign, &MODES, [1.0, x], 1.0);
        assert_derivative(Given::Floats, &sign, &MODES, [-1.0, x], -1.0);
    }
    let twice = with("add v4, 4503599627370496:i64");
    for x in [3.0, -3.0, f64::MAX, f64::MIN_POSITIVE] {
        assert_derivative(Given::Floats, &twice, &MODES, [1.0, x], 2.0);
    }
    let mantissa = with("and v4, 4503599627370495:i64")
        .replace("v50 = bitcast", "v6 = or v5, 4607182418800017408:i64\n  v50 = bitcast");
    let mantissa = mantissa.replace("bitcast f64 v5", "bitcast f64 v6");
    assert_derivative(Given::Floats, &mantissa, &MODES, [1.0, 12.0], 0.125);
    assert_derivative(Given::Floats, &mantissa, &MODES, [1.0, 0.0], f64::from_bits(2045 << 52));
}

/// A program that computes with a small constant has no number there: its tangent is zero.
#[test]
fn a_small_constant_is_a_float_where_no_numbers_lie() {
    let load = "  v2 = ptradd v0, 8:i64\n  v3 = load f64 v2\n  v4 = fcmp ogt v3, 1e-308f64\n";
    let chosen = format!("{load}  v5 = select v4, v3, 1e-308f64\n  v50 = math.log v5");
    let stored =
        format!("{load}  v5 = select v4, v3, 1e-308f64\n  store v2, v5\n  v6 = load f64 v2\n  v50 = math.log v6");
    let alone = "  v2 = ptradd v0, 8:i64\n  store v2, 1e-308f64\n  v6 = load f64 v2\n  v50 = math.log v6".to_owned();
    for text in [chosen, stored] {
        assert_derivative(Given::Floats, &calling("", &text), &MODES, [0.0, 0.0], 0.0);
        assert_derivative(Given::Floats, &calling("", &text), &MODES, [0.0, 4.0], 0.25);
    }
    assert_derivative(Given::Floats, &calling("", &alone), &MODES, [0.0, 4.0], 0.0);
    let passed = format!(
        "fn @f(v0: ptr, v1: ptr) {{\nb0:\n{load}  branch v4, b1(v3), b1(1e-308f64)\nb1(v6: f64):\n  v50 = math.log v6
  store v1, v50\n  return\n}}"
    );
    assert_derivative(Given::Floats, &passed, &MODES, [0.0, 0.0], 0.0);
}

/// What the optimiser moves as a float may be a number, which is that of the tangent, too, however it gets there.
#[test]
fn a_number_that_is_moved_as_a_float_stays_one() {
    let chosen =
        "  branch v9, b1, b2\nb1:\n  v5 = load f64 v3\n  jump b3(v5)\nb2:\n  jump b3(2.5e-323f64)\nb3(v6: f64):\n";
    let put =
        "fn @put(v0: ptr, v1: f64) {\nb0:\n  v2 = load i64 v0\n  v3 = icmp eq v2, 77:i64\n  branch v3, b1, b2\nb1:
  call @put(v0, v1)\n  return\nb2:\n  store v0, v1\n  return\n}\n";
    let start = "  v2 = load i64 v0\n  v3 = ptradd v0, 8:i64\n  v9 = icmp eq v2, 0:i64\n";
    let choose = |ty: &str, value: &str| {
        format!("fn @choose(v0: ptr) -> {ty} {{\nb0:\n{start}{chosen}  v7 = bitcast i64 v6\n  return {value}\n}}\n")
    };
    let ways = [
        (String::new(), format!("{chosen}  store v4, v6")),
        (String::new(), format!("{chosen}  v7 = bitcast i64 v6\n  store v4, v7")),
        (String::new(), format!("{chosen}  v7 = bitcast i64 v6\n  jump b4(v7)\nb4(v8: i64):\n  store v4, v8")),
        (String::new(), format!("{chosen}  store v10, v6\n  v7 = load f64 v10\n  store v4, v7")),
        (String::new(), format!("{chosen}  store v10, v6\n  copy v4, v10, 8:i64 align 8, 8")),
        (put.to_owned(), format!("{chosen}  call @put(v4, v6)")),
        (choose("f64", "v6"), "  v6 = call @choose(v0)\n  store v4, v6".to_owned()),
        (choose("i64", "v7"), "  v6 = call @choose(v0)\n  store v4, v6".to_owned()),
    ];
    for (function, way) in ways {
        let text = format!(
            "{function}fn @f(v0: ptr, v1: ptr) {{\nb0:\n  v10 = alloca 8 align 8\n{start}  v4 = ptradd v1, 8:i64
  store v1, v2\n{way}\n  return\n}}"
        );
        let mut module = parse_module(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let mut layouts = Layouts::default();
        let given = Given::Either.layout(&mut layouts);
        let args =
            vec![Argument::new("given", Activity::Duplicated, given), Argument::result(Activity::Duplicated, given)];
        let primal = module.find("f").unwrap();
        pullback_ad::differentiate(&mut module, primal, &Request::new(Mode::Forward, args, layouts), "d")
            .unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let number = [1, 5].map(f64::from_bits);
        for (given, shadow, expected) in [([0.0, 3.0], [0.0, 7.0], [0.0, 7.0]), (number, number, number)] {
            let mut interp = Interp::new(&module);
            let places = [given, shadow, [0.0; 2], [0.0; 2]].map(|floats| interp.alloc_f64s(&floats).unwrap());
            interp.call(module.find("d").unwrap(), &places.map(Val::Ptr)).unwrap_or_else(|e| panic!("{e:?}\n{module}"));
            assert_eq!(interp.read_f64s(places[3], 2).unwrap(), expected, "{text}");
        }
    }
}
