//! The interpreter, on the programs of `programs/run.ir` with their expectations, and on the run-time functions.

use pullback_ir::interp::{Interp, InterpError, Options, Trap, Uninitialised, Val};
use pullback_ir::{Module, parse_module, verify_module};

const PROGRAMS: &str = include_str!("programs/run.ir");

/// A value as it stands in an expectation.
fn show(value: &Val) -> String {
    match value {
        Val::Int(bits, 1) => (*bits == 1).to_string(),
        Val::Int(_, width) => format!("{}:i{width}", value.as_int().unwrap()),
        Val::F32(x) => format!("{x:?}f32"),
        Val::F64(x) => format!("{x:?}f64"),
        Val::Ptr(p) => format!("{p:#x}"),
        Val::Struct(fields) => format!("{{{}}}", fields.iter().map(show).collect::<Vec<_>>().join(", ")),
        Val::Undef => "undef".to_string(),
    }
}

fn floats(text: &str) -> Vec<f64> {
    text.trim().trim_matches(['[', ']']).split_whitespace().map(|x| x.parse().unwrap()).collect()
}

/// Memory an expectation asks for: its address, and what it holds afterwards.
type Expected = Vec<(u64, Vec<f64>)>;

fn argument(text: &str, interp: &mut Interp<'_>, memory: &mut Expected) -> Val {
    if let Some(x) = text.strip_suffix("f64") {
        return Val::F64(x.parse().unwrap());
    }
    if let Some(x) = text.strip_suffix("f32") {
        return Val::F32(x.parse().unwrap());
    }
    if let Some((number, width)) = text.split_once(":i") {
        return Val::int(number.parse::<i128>().unwrap() as u128, width.parse().unwrap());
    }
    let (before, after) = text.split_once("=>").unwrap_or((text, text));
    let address = interp.alloc_f64s(&floats(before)).unwrap();
    if text.contains("=>") {
        memory.push((address, floats(after)));
    }
    Val::Ptr(address)
}

/// Run `@name(arguments)`.
fn run(module: &Module, call: &str) -> Result<String, InterpError> {
    let (name, rest) = call.strip_prefix('@').unwrap().split_once('(').unwrap();
    let args = rest.strip_suffix(')').unwrap();
    let options = Options { step_limit: 10_000, depth_limit: 100, ..Options::default() };
    let mut interp = Interp::with_options(module, options);
    let mut memory = Vec::new();
    let args: Vec<Val> = args
        .split(',')
        .map(str::trim)
        .filter(|a| !a.is_empty())
        .map(|a| argument(a, &mut interp, &mut memory))
        .collect();
    let result = interp.call(module.find(name).unwrap(), &args)?;
    for (address, expected) in memory {
        assert_eq!(interp.read_f64s(address, expected.len()).unwrap(), expected, "memory after {call}");
    }
    assert!(interp.leaks().is_empty(), "{call} leaks");
    Ok(result.map_or(String::new(), |v| show(&v)))
}

#[test]
fn programs_do_what_stands_beside_them() {
    let module = parse_module(PROGRAMS).unwrap();
    verify_module(&module).unwrap();
    let mut checked = 0;
    for line in PROGRAMS.lines() {
        let (call, expected) = match line.get(3..).map(|l| l.split_once(" -> ").unwrap_or((l, ""))) {
            Some(parts) if line.starts_with(";= ") || line.starts_with(";! ") => parts,
            _ => continue,
        };
        let found = run(&module, call);
        if line.starts_with(";= ") {
            assert_eq!(found.map_err(|e| e.to_string()), Ok(expected.to_string()), "{call}");
        } else {
            assert_eq!(found.map_err(|e| e.to_string()), Err(expected.to_string()), "{call}");
        }
        checked += 1;
    }
    assert!(checked > 30, "only {checked} expectations were found");
}

#[test]
fn unwritten_bytes_are_an_error_if_asked() {
    let module = parse_module(PROGRAMS).unwrap();
    let options = Options { uninitialised: Uninitialised::Trap, ..Options::default() };
    let mut interp = Interp::with_options(&module, options);
    let error = interp.call(module.find("unwritten").unwrap(), &[]).unwrap_err();
    assert!(matches!(error.trap, Trap::Uninitialised { len: 8, .. }), "{error}");
}

#[test]
fn arguments_are_checked() {
    let module = parse_module(PROGRAMS).unwrap();
    let mut interp = Interp::new(&module);
    let square = module.find("square").unwrap();
    assert!(matches!(interp.call(square, &[]).unwrap_err().trap, Trap::IllFormed(_)));
    assert!(matches!(interp.call(square, &[Val::F32(1.0)]).unwrap_err().trap, Trap::IllFormed(_)));
}

#[test]
fn instructions_are_counted() {
    let module = parse_module(PROGRAMS).unwrap();
    let mut interp = Interp::new(&module);
    interp.call(module.find("square").unwrap(), &[Val::F64(2.0)]).unwrap();
    assert_eq!(interp.executed(), 2);
}

#[test]
fn clean_up_runs_from_the_inside_out() {
    let module = parse_module(PROGRAMS).unwrap();
    for (name, before, expected) in [("outer", Some(Val::int(1, 1)), 12.0), ("panics_twice", None, 5.0)] {
        let mut interp = Interp::new(&module);
        let notes = interp.alloc_f64s(&[0.0]).unwrap();
        let args: Vec<Val> = before.into_iter().chain([Val::Ptr(notes)]).collect();
        let error = interp.call(module.find(name).unwrap(), &args).unwrap_err();
        assert!(matches!(error.trap, Trap::Panic(_)), "{error}");
        assert_eq!(interp.read_f64s(notes, 1).unwrap(), [expected], "{name}");
    }
}

#[test]
fn leaks_are_found() {
    let module = parse_module(
        "declare @alloc(i64, i64) -> ptr\nfn @f() {\nb0:\n  v0 = alloc 24:i64, 8:i64, @alloc\n  return\n}\n",
    )
    .unwrap();
    let mut interp = Interp::new(&module);
    interp.call(module.find("f").unwrap(), &[]).unwrap();
    assert_eq!(interp.leaks().iter().map(|l| l.size).collect::<Vec<_>>(), [24]);
}

const RUNTIME: &str = "
declare @__pullback_tape_push(ptr, i64) -> ptr
declare @__pullback_tape_pop(ptr, i64) -> ptr
declare @__pullback_tape_drop(ptr)
declare @__pullback_shadow_alloc(ptr, i64, i64) -> ptr
declare @__pullback_defer_dealloc(ptr, ptr, i64, i64)
declare @__pullback_adjoint_copy(ptr, ptr, i64, i64, i64, i64)
declare @__pullback_zero_lanes(ptr, i64, i64, i64, i64)
declare @__pullback_copy_lanes(ptr, ptr, i64, i64, i64, i64)
declare @alloc(i64, i64) -> ptr
";

/// An interpreter of `@f(tape, …)` with this body.
fn with_runtime(params: &str, body: &str) -> Module {
    let module = parse_module(&format!("{RUNTIME}fn @f(v0: ptr{params}) -> f64 {{\nb0:\n{body}\n}}\n")).unwrap();
    verify_module(&module).unwrap();
    module
}

#[test]
fn the_tape_is_a_stack() {
    let module = with_runtime(
        "",
        "  v1 = call @__pullback_tape_push(v0, 8:i64)
           store v1, 1.5f64
           v2 = call @__pullback_tape_push(v0, 24:i64)
           store v2, 2.5f64
           v3 = call @__pullback_tape_pop(v0, 24:i64)
           v4 = call @__pullback_tape_pop(v0, 8:i64)
           v5 = load f64 v3
           v6 = load f64 v4
           v7 = fsub v5, v6
           return v7",
    );
    let mut interp = Interp::new(&module);
    let tape = interp.new_tape();
    let result = interp.call(module.find("f").unwrap(), &[Val::Ptr(tape)]).unwrap();
    assert_eq!(result, Some(Val::F64(1.0)));
    assert_eq!((interp.tape_bytes(tape), interp.tape_high_water(tape)), (Some(0), Some(48)));
    interp.drop_tape(tape).unwrap();
    assert_eq!(interp.memory().live_bytes(), 0);
    assert_eq!(interp.drop_tape(tape), Err(Trap::NotATape { handle: tape }));
}

fn tape_error(body: &str) -> Trap {
    let module = with_runtime("", body);
    let mut interp = Interp::new(&module);
    let tape = interp.new_tape();
    interp.call(module.find("f").unwrap(), &[Val::Ptr(tape)]).unwrap_err().trap
}

#[test]
fn misuse_of_the_tape_is_found() {
    let empty = "  v1 = call @__pullback_tape_pop(v0, 8:i64)\n  return 0.0f64";
    assert_eq!(tape_error(empty), Trap::TapeEmpty { popped: 8 });
    let mismatch = "  v1 = call @__pullback_tape_push(v0, 8:i64)\n  v2 = call @__pullback_tape_pop(v0, 16:i64)\n  \
                    return 0.0f64";
    assert_eq!(tape_error(mismatch), Trap::TapeMismatch { pushed: 8, popped: 16 });
    let stale = "  v1 = call @__pullback_tape_push(v0, 8:i64)\n  v2 = call @__pullback_tape_pop(v0, 8:i64)\n  \
                 v3 = call @__pullback_tape_push(v0, 8:i64)\n  v4 = load f64 v2\n  return v4";
    assert!(matches!(tape_error(stale), Trap::UseAfterFree { .. }));
    let beyond = "  v1 = call @__pullback_tape_push(v0, 8:i64)\n  v2 = ptradd v1, 8:i64\n  store v2, 1.0f64\n  \
                  return 0.0f64";
    assert!(matches!(tape_error(beyond), Trap::OutOfBounds { .. }));
    let foreign = "  v1 = ptradd v0, 8:i64\n  v2 = call @__pullback_tape_push(v1, 8:i64)\n  return 0.0f64";
    assert!(matches!(tape_error(foreign), Trap::NotATape { .. }));
}

/// A function that has a tape of its own.
#[test]
fn a_tape_in_memory_lives_until_it_is_dropped() {
    let body = |end: &str| {
        format!(
            "  v1 = alloca 8 align 8
               v2 = call @__pullback_tape_push(v1, 8:i64)
               v3 = alloc 8:i64, 8:i64, @alloc
               call @__pullback_defer_dealloc(v1, v3, 8:i64, 8:i64)
               {end}
               call @__pullback_tape_drop(v1)
               return 0.0f64"
        )
    };
    let run = |end: &str| {
        let module = with_runtime("", &body(end));
        let mut interp = Interp::new(&module);
        let tape = interp.new_tape();
        let result = interp.call(module.find("f").unwrap(), &[Val::Ptr(tape)]).map_err(|error| error.trap);
        (result.map(|_| interp.memory().live_bytes()), interp.leaks().len())
    };
    assert_eq!(run("v4 = call @__pullback_tape_pop(v1, 8:i64)"), (Ok(0), 0));
    assert_eq!(run(""), (Err(Trap::TapeNotEmpty { bytes: 16 }), 1));
}

#[test]
fn a_tape_owns_shadows_and_deferred_memory() {
    let module = with_runtime(
        "",
        "  v1 = call @__pullback_shadow_alloc(v0, 16:i64, 8:i64)
           v2 = alloc 8:i64, 8:i64, @alloc
           call @__pullback_defer_dealloc(v0, v2, 8:i64, 8:i64)
           store v2, 1.0f64
           v3 = load f64 v1
           return v3",
    );
    let mut interp = Interp::new(&module);
    let tape = interp.new_tape();
    let result = interp.call(module.find("f").unwrap(), &[Val::Ptr(tape)]).unwrap();
    assert_eq!(result, Some(Val::F64(0.0)));
    assert_eq!(interp.leaks().len(), 1);
    interp.drop_tape(tape).unwrap();
    assert_eq!(interp.memory().live_bytes(), 0);
}

/// Call a lane function on `values`; `dst` and `src` are places in it.
fn lanes(name: &str, values: &[f64], dst: u64, src: Option<u64>, numbers: [i64; 4]) -> Vec<f64> {
    let module = parse_module(RUNTIME).unwrap();
    let mut interp = Interp::new(&module);
    let base = interp.alloc_f64s(values).unwrap();
    let mut args = vec![Val::Ptr(base + 8 * dst)];
    args.extend(src.map(|s| Val::Ptr(base + 8 * s)));
    args.extend(numbers.map(Val::i64));
    interp.call(module.find(name).unwrap(), &args).unwrap();
    interp.read_f64s(base, values.len()).unwrap()
}

#[test]
fn lanes_move_as_the_copy_does() {
    let adjoint = |values: &[f64], dst, src, numbers| lanes("__pullback_adjoint_copy", values, dst, Some(src), numbers);
    assert_eq!(adjoint(&[1.0, 2.0, 10.0, 20.0], 2, 0, [16, 8, 0, 8]), [11.0, 22.0, 0.0, 0.0]);
    // The transpose of moving the first two one place on, and of moving the last two one place back.
    assert_eq!(adjoint(&[1.0, 2.0, 4.0], 1, 0, [16, 8, 0, 8]), [3.0, 4.0, 0.0]);
    assert_eq!(adjoint(&[1.0, 2.0, 4.0], 0, 1, [16, 8, 0, 8]), [0.0, 1.0, 6.0]);
    // Every second lane.
    assert_eq!(adjoint(&[1.0, 2.0, 3.0, 4.0], 2, 0, [16, 16, 8, 8]), [1.0, 6.0, 3.0, 0.0]);
    assert_eq!(lanes("__pullback_zero_lanes", &[1.0, 2.0, 3.0], 0, None, [24, 16, 0, 8]), [0.0, 2.0, 0.0]);
    let copy = |values: &[f64], dst, src, numbers| lanes("__pullback_copy_lanes", values, dst, Some(src), numbers);
    assert_eq!(copy(&[1.0, 2.0, 4.0], 1, 0, [16, 8, 0, 8]), [1.0, 1.0, 2.0]);
    assert_eq!(copy(&[1.0, 2.0, 4.0], 0, 1, [16, 8, 0, 8]), [2.0, 4.0, 4.0]);
}
