//! The text format: what is printed can be read, and is printed the same again; what cannot be read says where and why.

use pullback_ir::parse_module;

const EVERYTHING: &str = include_str!("programs/everything.ir");

/// The text without comment lines.
fn bare(text: &str) -> String {
    text.lines().filter(|l| !l.starts_with(';')).map(|l| format!("{l}\n")).collect()
}

#[test]
fn everything_is_printed_as_it_was_read() {
    let module = parse_module(EVERYTHING).unwrap();
    assert_eq!(module.to_string(), bare(EVERYTHING));
}

#[test]
fn printing_is_stable() {
    let once = parse_module(EVERYTHING).unwrap().to_string();
    let twice = parse_module(&once).unwrap().to_string();
    assert_eq!(once, twice);
}

#[test]
fn floats_survive_exactly() {
    let bits = [0x7ff8_0000_0000_0001u64, 0xfff0_0000_0000_0000, 1, 0x3fb9_9999_9999_999a, 0x8000_0000_0000_0000];
    for bits in bits {
        let text = format!("fn @f() -> f64 {{\nb0:\n  return 0x{bits:016x}:f64\n}}\n");
        let module = parse_module(&text).unwrap();
        let again = parse_module(&module.to_string()).unwrap();
        assert_eq!(module.to_string(), again.to_string());
        let func = again.func(again.find("f").unwrap());
        let value = func.block(func.entry()).term.operand().unwrap();
        assert_eq!(func.as_const(value), Some(&pullback_ir::Constant::F64(bits)));
    }
}

#[test]
fn a_block_may_use_what_stands_below() {
    let text = "fn @f(v0: f64) -> f64 {\nb0:\n  jump b2\nb1:\n  v2 = fmul v1, v0\n  return v2\nb2:\n  \
                v1 = fadd v0, v0\n  jump b1\n}\n";
    assert_eq!(parse_module(text).unwrap().to_string(), text);
}

#[test]
fn a_function_without_its_module_shows_numbers() {
    let module = parse_module("declare @g(f64) -> f64\nfn @f() {\nb0:\n  v0 = call @g(1.0f64)\n  return\n}\n").unwrap();
    let func = module.func(module.find("f").unwrap());
    assert!(func.to_string().contains("v0: f64 = call fn0(1.0f64)"), "{func}");
}

#[test]
fn names_that_two_things_have_become_numbers() {
    let text = "global @x 1 align 1\nglobal @x 2 align 1\nglobal @f 3 align 1\nfn @f(v0: ptr) {\nb0:\n  \
                store v0, @x\n  store v0, g1\n  store v0, g2\n  store v0, @f\n  return\n}\n";
    assert_eq!(parse_module(text).unwrap().to_string(), text);
}

/// Each text is followed by the message its reading gives.
#[test]
fn errors_say_where() {
    let cases = [
        ("fn @f() {\nb0:\n  v1 = fmul v0, v0\n  return\n}", "3:13: v0 is not defined"),
        ("fn @f() {\nb0:\n  jump b1\n}", "3:8: there is no block b1"),
        ("fn @f() {\nb0:\n  frobnicate v0\n  return\n}", "3:3: there is no instruction `frobnicate`"),
        ("fn @f(v0: f64) {\nb0:\n  v0 = fneg v0\n  return\n}", "3:3: v0 is defined in line 1 already"),
        ("fn @f(v0: i7000) {\nb0:\n  return\n}", "1:11: i7000 is no type: integers have 1 to 128 bits"),
        ("fn @f() {\nb0:\n  return 300:i8\n}", "3:10: 300 does not fit i8"),
        ("fn @f() {\nb0:\n  return 5\n}", "4:1: expected a type: `5:i64`, found `}`"),
        ("fn @f() {\nb0:\n  call @g()\n  return\n}", "3:8: there is no function or global @g"),
        (
            "fn @f() {\nb0:\nb1:\n  return\n}",
            "3:1: the block above has no end: `jump`, `branch`, `switch`, `return` or `unreachable`",
        ),
        ("fn @f() {\nb0:\n  return", "1:1: this function has no closing `}`"),
        ("fn @f() {\n}", "2:1: expected a block: a function without blocks is a `declare`, found `}`"),
        ("declare @f()\ndeclare @f()", "2:1: two functions are named @f"),
        ("hello", "1:1: `hello` starts nothing: expected `fn`, `declare`, `global` or a location"),
        (
            "fn @f(v0: ptr) {\nb0:\n  v1 = load v0\n  return\n}",
            "3:8: `load` states the type of its result: `load f64 …`",
        ),
        ("fn @f(v0: ptr) {\nb0:\n  v1 = store v0, v0\n  return\n}", "3:3: v1 needs a type: write `v1: f64 = …`"),
        ("fn @f() {\nb0:\n  v1 = fneg v1\n  return\n}", "3:3: v1 depends on itself"),
        ("fn @f() {\nb0:\n  return !loc3\n}", "3:11: there is no loc3"),
        ("global @g 4 align 4 = x\"123\"", "1:24: bytes are pairs of hexadecimal digits"),
        ("fn @f() {\nb0:\n  v99999999 = alloca 8 align 8\n  return\n}", "3:3: v99999999 is too large a number"),
        ("declare @f(opaque(\"x\", 8, 3))", "1:24: no type has this size and alignment"),
        ("declare @\"f", "1:10: this text has no closing quote"),
        ("declare @f() ?", "1:14: '?' has no meaning here"),
    ];
    for (text, message) in cases {
        let error = parse_module(text).expect_err(text);
        assert_eq!(error.to_string(), message, "for\n{text}");
    }
}
