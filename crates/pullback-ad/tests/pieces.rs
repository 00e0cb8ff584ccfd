//! Pointers that are moved in pieces have no shadow where they are put together, which is an error.

use pullback_ad::request::{Activity, Argument, Field, FieldKind, Layout, Layouts, Mode, Request};
use pullback_ad::{Error, ErrorKind};
use pullback_ir::interp::{Interp, Val};
use pullback_ir::{Module, parse_module};

/// Three times a float is put into memory of the function's own, `v7`, whose address is put into `v10`; these
/// instructions find it as `v50`.
fn program(moves: &str) -> String {
    format!(
        "
declare @alloc(i64, i64) -> ptr
declare @dealloc(ptr, i64, i64)
fn @f(v0: ptr, v1: ptr) {{
b0:
  v3 = load f64 v0
  v4 = fmul v3, 3.0f64
  v7 = alloc 8:i64, 8:i64, @alloc
  store v7, v4
  v10 = alloc 16:i64, 8:i64, @alloc
  v11 = alloc 16:i64, 8:i64, @alloc
  store v10, v7
{moves}
  v50 = load f64 v49
  store v1, v50
  dealloc v11, 16:i64, 8:i64, @dealloc
  dealloc v10, 16:i64, 8:i64, @dealloc
  dealloc v7, 8:i64, 8:i64, @dealloc
  return
}}"
    )
}

fn attempt(moves: &str, mode: Mode) -> Result<Module, Error> {
    let text = program(moves);
    let mut module = parse_module(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let mut layouts = Layouts::default();
    let field = Field { offset: 0, kind: FieldKind::F64 };
    let float = layouts.add(Layout { name: "f64".to_owned(), size: 8, fields: vec![field] });
    let args = vec![Argument::new("x", Activity::Duplicated, float), Argument::result(Activity::Duplicated, float)];
    let primal = module.find("f").unwrap();
    pullback_ad::differentiate(&mut module, primal, &Request::new(mode, args, layouts), "d")?;
    Ok(module)
}

const MODES: [Mode; 2] = [Mode::Forward, Mode::Reverse];

#[track_caller]
fn assert_error(moves: &str) {
    for mode in MODES {
        let Err(error) = attempt(moves, mode) else { panic!("{mode:?}: it has a derivative:\n{moves}") };
        assert_eq!(error.kind, ErrorKind::UnknownType, "{mode:?}: {error:?}\n{moves}");
    }
}

#[track_caller]
fn assert_right(moves: &str) {
    for mode in MODES {
        let module = attempt(moves, mode).unwrap_or_else(|e| panic!("{mode:?}: {e:?}\n{moves}"));
        let mut interp = Interp::new(&module);
        let [x, dx, out, d_out] = [2.0, 0.0, 0.0, 0.0].map(|float| interp.alloc_f64s(&[float]).unwrap());
        let (given, found) = if mode == Mode::Forward { (dx, d_out) } else { (d_out, dx) };
        interp.write_f64s(given, &[1.0]).unwrap();
        let tape = (mode == Mode::Reverse).then(|| interp.new_tape());
        let args: Vec<Val> = tape.into_iter().chain([x, dx, out, d_out]).map(Val::Ptr).collect();
        interp.call(module.find("d").unwrap(), &args).unwrap_or_else(|e| panic!("{e:?}\n{module}"));
        assert_eq!(interp.read_f64s(found, 1).unwrap(), [3.0], "{mode:?}\n{moves}");
    }
}

#[test]
fn whole_pointers_keep_their_shadow() {
    assert_right("  v49 = load ptr v10");
    assert_right("  v20 = load i64 v10\n  store v11, v20\n  v49 = load ptr v11");
    assert_right("  copy v11, v10, 8:i64 align 8, 8\n  v49 = load ptr v11");
}

/// The lower half is `v20`, the upper one `v22`.
const HALVES: &str =
    "  v20 = load i32 v10\n  v21 = ptradd v10, 4:i64\n  v22 = load i32 v21\n  v23 = ptradd v11, 4:i64\n";

#[test]
fn halves_in_memory() {
    assert_error(&format!("{HALVES}  store v11, v20\n  store v23, v22\n  v49 = load ptr v11"));
    assert_error("  v20 = load {i32, i32} v10\n  store v11, v20\n  v49 = load ptr v11");
}

#[test]
fn a_half_that_goes_through_a_wider_or_a_narrower_cell() {
    let moved = "  v30 = zext i64 v20\n  v31 = ptradd v11, 8:i64\n  store v31, v30\n  v32 = load i32 v31\n";
    assert_error(&format!("{HALVES}{moved}  store v11, v32\n  store v23, v22\n  v49 = load ptr v11"));
}

#[test]
fn halves_that_are_copied() {
    let upper = "  v21 = ptradd v10, 4:i64\n  v23 = ptradd v11, 4:i64\n  copy v23, v21, 4:i64 align 4, 4\n";
    assert_error(&format!("  copy v11, v10, 4:i64 align 4, 4\n{upper}  v49 = load ptr v11"));
}

#[test]
fn words_that_are_masked_and_put_together() {
    let cut = "  v20 = load i64 v10\n  v21 = and v20, 255:i64\n  v22 = and v20, -256:i64\n";
    for join in ["or", "add"] {
        assert_error(&format!("{cut}  v23 = {join} v21, v22\n  store v11, v23\n  v49 = load ptr v11"));
        assert_error(&format!("{cut}  v23 = {join} v21, v22\n  v49 = inttoptr ptr v23"));
    }
    let shifted = "  v20 = load i64 v10\n  v21 = and v20, 4294967295:i64\n  v22 = lshr v20, 32:i64
  v23 = shl v22, 32:i64\n  v24 = add v21, v23\n";
    assert_error(&format!("{shifted}  v49 = inttoptr ptr v24"));
}

/// A mark in the lowest bit is taken off.
#[test]
fn addresses_with_a_mark() {
    let marked = "  v12 = ptradd v7, 1:i64\n  store v11, v12\n  v20 = load i64 v11\n";
    assert_error(&format!("{marked}  v21 = and v20, -2:i64\n  v49 = inttoptr ptr v21"));
    assert_error(&format!("{marked}  v21 = xor v20, 1:i64\n  v49 = inttoptr ptr v21"));
}

#[test]
fn words_that_are_changed() {
    for change in ["add v20, 8:i64", "intrinsic i64 \"llvm.fshl.i64\"(v20, v20, 8:i64)", "xor v20, 1:i64"] {
        let changed = format!("  v20 = load i64 v10\n  v21 = {change}\n");
        assert_error(&format!("{changed}  v22 = sub v21, 8:i64\n  store v11, v22\n  v49 = load ptr v11"));
        assert_error(&format!("{changed}  v49 = inttoptr ptr v21"));
    }
}

/// What is put together goes on before it is stored.
#[test]
fn words_that_are_put_together_and_passed_on() {
    let joined = "  v20 = load i64 v10\n  v21 = and v20, 255:i64\n  v22 = and v20, -256:i64\n  v23 = or v21, v22\n";
    let chosen = "  v25 = icmp eq v20, 0:i64\n  v24 = select v25, 0:i64, v23\n";
    for on in ["  jump b1(v23)\nb1(v24: i64):\n", "  v24 = freeze v23\n", chosen] {
        assert_error(&format!("{joined}{on}  store v11, v24\n  v49 = load ptr v11"));
        assert_error(&format!("{joined}{on}  v49 = inttoptr ptr v24"));
    }
}

#[test]
fn a_longer_copy_with_a_half() {
    let upper = "  v21 = ptradd v10, 4:i64\n  v23 = ptradd v11, 4:i64\n  copy v23, v21, 12:i64 align 4, 4\n";
    assert_error(&format!("  copy v11, v10, 4:i64 align 4, 4\n{upper}  v49 = load ptr v11"));
}
