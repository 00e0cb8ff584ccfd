//! Functions with rules, in the IR's own text, run in the interpreter. Rules here are wrong on purpose by a factor
//! where a test has to tell the rule from what the engine would have done without it.

use pullback_ad::{
    Activity, Argument, Calls, CustomRule, CustomRules, Error, Field, FieldKind, Layout, LayoutId, Layouts, Mode,
    Request, ReverseRule, Role, RuleArgument, Storage, differentiate,
};
use pullback_ir::interp::{Interp, Val};
use pullback_ir::{FuncId, Module, parse_module, verify_module};
use std::sync::Arc;

/// `cube(x)`, whose pullback keeps `3x²`. The rule of forward mode says `30x²`.
const CUBE: &str = "
fn @cube(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = fmul v2, v2
  v4 = fmul v3, v2
  store v1, v4
  return
}
fn @cube.augmented(v0: ptr, v1: ptr, v2: ptr, v3: ptr) {
b0:
  v4 = load f64 v2
  v5 = fmul v4, v4
  v6 = fmul v5, v4
  v7 = fmul v5, 3.0f64
  store v3, v6
  store v1, v7
  return
}
fn @cube.pullback(v0: ptr, v1: ptr, v2: ptr, v3: ptr) {
b0:
  v4 = load f64 v0
  v5 = load f64 v3
  store v3, 0.0f64
  v6 = fmul v4, v5
  v7 = load f64 v2
  v8 = fadd v7, v6
  store v2, v8
  return
}
fn @cube.tangent(v0: ptr, v1: ptr, v2: ptr, v3: ptr) {
b0:
  v4 = load f64 v0
  v5 = load f64 v1
  v6 = fmul v4, v4
  v7 = fmul v6, v4
  v8 = fmul v6, 30.0f64
  v9 = fmul v8, v5
  store v2, v7
  store v3, v9
  return
}
";

fn floats(layouts: &mut Layouts, name: &str, count: u64) -> LayoutId {
    let fields = (0..count).map(|i| Field { offset: 8 * i, kind: FieldKind::F64 }).collect();
    layouts.add(Layout { name: name.to_owned(), size: 8 * count, fields })
}

fn argument(name: &str, role: Role, layout: LayoutId) -> RuleArgument {
    RuleArgument { name: name.to_owned(), role, layout }
}

/// The rules for `cube`.
fn cube(module: &Module, forward: bool) -> CustomRules {
    let find = |name: &str| module.find(name).expect("the program has it");
    let mut layouts = Layouts::default();
    let float = floats(&mut layouts, "f64", 1);
    let rule = |calls: Calls| CustomRule {
        name: "cube".to_owned(),
        args: vec![argument("x", Role::Read, float), argument("return", Role::Result, float)],
        layouts: layouts.clone(),
        calls,
    };
    let mut rules = CustomRules::default();
    let reverse = ReverseRule {
        augmented: find("cube.augmented"),
        owning: None,
        view: None,
        pullback: find("cube.pullback"),
        closure: Storage { size: 8, align: 8 },
        view_storage: Storage::default(),
        borrows: false,
        once: false,
        drops: false,
    };
    rules.add(find("cube"), Arc::new(rule(Calls::Reverse(reverse))));
    if forward {
        rules.add(find("cube"), Arc::new(rule(Calls::Forward(find("cube.tangent")))));
    }
    rules
}

fn derive(
    text: &str,
    mode: Mode,
    count: u64,
    rules: impl FnOnce(&Module) -> CustomRules,
) -> Result<(Module, FuncId), Error> {
    let mut module = parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    verify_module(&module).expect("the program is well formed");
    let primal = module.find("f").expect("the program has @f");
    let mut layouts = Layouts::default();
    let (x, result) = (floats(&mut layouts, "[f64]", count), floats(&mut layouts, "f64", 1));
    let args = vec![Argument::new("x", Activity::Duplicated, x), Argument::result(Activity::Duplicated, result)];
    let request = Request { rules: rules(&module), ..Request::new(mode, args, layouts) };
    let id = differentiate(&mut module, primal, &request, "df")?;
    verify_module(&module).unwrap_or_else(|error| panic!("{error:?}\n{module}"));
    Ok((module, id))
}

/// The gradient by reverse mode, and how many bytes the tape held at most.
fn by_reverse((module, id): &(Module, FuncId), x: &[f64]) -> Vec<f64> {
    let mut interp = Interp::new(module);
    let (tape, primal) = (interp.new_tape(), interp.alloc_f64s(x).unwrap());
    let shadow = interp.alloc_f64s(&vec![0.0; x.len()]).unwrap();
    let (out, seed) = (interp.alloc_f64s(&[0.0]).unwrap(), interp.alloc_f64s(&[1.0]).unwrap());
    interp.call(*id, &[tape, primal, shadow, out, seed].map(Val::Ptr)).unwrap_or_else(|error| panic!("{error}"));
    interp.drop_tape(tape).unwrap();
    assert_eq!(interp.leaks().len(), 0, "all memory is given back");
    interp.read_f64s(shadow, x.len()).unwrap()
}

fn by_forward((module, id): &(Module, FuncId), x: &[f64], direction: &[f64]) -> f64 {
    let mut interp = Interp::new(module);
    let (primal, shadow) = (interp.alloc_f64s(x).unwrap(), interp.alloc_f64s(direction).unwrap());
    let (out, out_shadow) = (interp.alloc_f64s(&[0.0]).unwrap(), interp.alloc_f64s(&[0.0]).unwrap());
    interp.call(*id, &[primal, shadow, out, out_shadow].map(Val::Ptr)).unwrap_or_else(|error| panic!("{error}"));
    interp.read_f64s(out_shadow, 1).unwrap()[0]
}

/// `f(x) = 2·cube(x)`.
const ONCE: &str = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 8 align 8
  v3 = alloca 8 align 8
  v4 = load f64 v0
  store v2, v4
  call @cube(v2, v3)
  v5 = load f64 v3
  v6 = fmul v5, 2.0f64
  store v1, v6
  return
}
";

#[test]
fn a_rule_is_called_in_the_place_of_its_function() {
    let text = format!("{ONCE}{CUBE}");
    let reverse = derive(&text, Mode::Reverse, 1, |m| cube(m, true)).unwrap();
    assert_eq!(by_reverse(&reverse, &[5.0]), [150.0]);
    let forward = derive(&text, Mode::Forward, 1, |m| cube(m, true)).unwrap();
    assert_eq!(by_forward(&forward, &[5.0], &[1.0]), 1500.0);
}

#[test]
fn without_a_rule_for_the_mode_the_function_itself_is_differentiated() {
    let text = format!("{ONCE}{CUBE}");
    let forward = derive(&text, Mode::Forward, 1, |m| cube(m, false)).unwrap();
    assert_eq!(by_forward(&forward, &[5.0], &[1.0]), 150.0);
}

/// `y = x₀; for i in 0..4 { y = cube(y) / 10 }`: the value of one call goes into the next.
const LOOP: &str = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = alloca 8 align 8
  v3 = alloca 8 align 8
  v4 = load f64 v0
  jump b1(v4, 0:i64)
b1(v5: f64, v6: i64):
  store v2, v5
  call @cube(v2, v3)
  v7 = load f64 v3
  v8 = fdiv v7, 10.0f64
  v9 = add v6, 1:i64
  v10 = icmp eq v9, 4:i64
  branch v10, b2(v8), b1(v8, v9)
b2(v11: f64):
  store v1, v11
  return
}
";

#[test]
fn what_a_pullback_captures_is_kept_for_each_iteration() {
    let derived = derive(&format!("{LOOP}{CUBE}"), Mode::Reverse, 1, |m| cube(m, true)).unwrap();
    let x: f64 = 3.0;
    let (mut y, mut dy) = (x, 1.0);
    for _ in 0..4 {
        dy *= 3.0 * y * y / 10.0;
        y = y * y * y / 10.0;
    }
    let gradient = by_reverse(&derived, &[x])[0];
    assert!((gradient / dy - 1.0).abs() < 1e-14, "{gradient} {dy}");
    // One word for each iteration, and nothing else: the rule needs neither `x` nor `y`.
    let text = pullback_ir::text::function_text(&derived.0, derived.0.func(derived.1));
    let arrays = text.matches("call @__pullback_tape_push").count();
    assert_eq!(arrays, 1, "{text}");
}

/// `f(x) = x · cube(2)`: nothing that goes into the call depends on the inputs.
#[test]
fn a_call_that_takes_no_part_is_left_alone() {
    let text = format!(
        "
fn @f(v0: ptr, v1: ptr) {{
b0:
  v2 = alloca 8 align 8
  v3 = alloca 8 align 8
  store v2, 2.0f64
  call @cube(v2, v3)
  v4 = load f64 v3
  v5 = load f64 v0
  v6 = fmul v4, v5
  store v1, v6
  return
}}
{CUBE}"
    );
    let derived = derive(&text, Mode::Reverse, 1, |m| cube(m, true)).unwrap();
    assert_eq!(by_reverse(&derived, &[5.0]), [8.0]);
    let text = pullback_ir::text::function_text(&derived.0, derived.0.func(derived.1));
    assert!(text.contains("call @cube(") && !text.contains("@cube.augmented"), "{text}");
}

/// `sum(x: &[f64; 2])`, by reference: the place holds a pointer. The pullback borrows `x`, and gives `100·x` so
/// that it is seen.
const SQUARES: &str = "
fn @squares(v0: ptr, v1: ptr) {
b0:
  v2 = load ptr v0
  v3 = load f64 v2
  v4 = fmul v3, v3
  v5 = ptradd v2, 8:i64
  v6 = load f64 v5
  v7 = fmul v6, v6
  v8 = fadd v4, v7
  store v1, v8
  return
}
fn @squares.augmented(v0: ptr, v1: ptr, v2: ptr, v3: ptr) {
b0:
  v4 = load ptr v2
  store v1, v4
  call @squares(v2, v3)
  return
}
fn @squares.view(v0: ptr, v1: ptr, v2: ptr, v3: ptr, v4: ptr, v5: ptr) {
b0:
  v6 = load ptr v3
  store v1, v6
  return
}
fn @squares.pullback(v0: ptr, v1: ptr, v2: ptr, v3: ptr) {
b0:
  v4 = load f64 v3
  store v3, 0.0f64
  v5 = fmul v4, 100.0f64
  v6 = load ptr v0
  v7 = load ptr v1
  v8 = load f64 v6
  v9 = fmul v8, v5
  v10 = load f64 v7
  v11 = fadd v10, v9
  store v7, v11
  v12 = ptradd v6, 8:i64
  v13 = ptradd v7, 8:i64
  v14 = load f64 v12
  v15 = fmul v14, v5
  v16 = load f64 v13
  v17 = fadd v16, v15
  store v13, v17
  return
}
";

fn squares(module: &Module) -> CustomRules {
    let find = |name: &str| module.find(name).expect("the program has it");
    let mut layouts = Layouts::default();
    let float = floats(&mut layouts, "f64", 1);
    let pointer = Field { offset: 0, kind: FieldKind::Reference(float) };
    let reference = layouts.add(Layout { name: "&".to_owned(), size: 8, fields: vec![pointer] });
    let word = Storage { size: 8, align: 8 };
    let rule = CustomRule {
        name: "squares".to_owned(),
        args: vec![argument("x", Role::Read, reference), argument("return", Role::Result, float)],
        layouts,
        calls: Calls::Reverse(ReverseRule {
            augmented: find("squares.augmented"),
            owning: None,
            view: Some(find("squares.view")),
            pullback: find("squares.pullback"),
            closure: word,
            view_storage: word,
            borrows: true,
            once: false,
            drops: false,
        }),
    };
    let mut rules = CustomRules::default();
    rules.add(find("squares"), Arc::new(rule));
    rules
}

/// A function that hands `squares` its own argument, and then runs `after`.
fn with_squares(after: &str) -> String {
    format!(
        "
fn @f(v0: ptr, v1: ptr) {{
b0:
  v2 = alloca 8 align 8
  v3 = alloca 8 align 8
  store v2, v0
  call @squares(v2, v3)
  v4 = load f64 v3
  {after}
  store v1, v4
  return
}}
{SQUARES}"
    )
}

#[test]
fn a_pullback_may_refer_to_what_stays_as_it_is() {
    let derived = derive(&with_squares(""), Mode::Reverse, 2, squares).unwrap();
    assert_eq!(by_reverse(&derived, &[3.0, 5.0]), [300.0, 500.0]);
}

#[test]
fn a_pullback_that_refers_to_what_is_overwritten_is_an_error() {
    let error = derive(&with_squares("store v0, v4"), Mode::Reverse, 2, squares).unwrap_err();
    assert!(format!("{error:?}").contains("may be overwritten before it runs"), "{error:?}");
}
