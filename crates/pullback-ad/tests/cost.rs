//! What the reverse sweep costs: bytes on the tape for each iteration, and instructions of the derivative. No clocks.
//!
//! Each program is text IR, differentiated in reverse mode and run in the interpreter. Its gradient is compared with a
//! central difference of the primal, so that what is cheap is right, too.

#[path = "cost/support.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod support;

use support::{Arg, Program};

/// `c[0..n] += a·b[0..n]`: the cotangent of `c` is only read.
#[test]
fn what_is_taken_out_of_a_place_and_put_back_is_not_cleared() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load f64 v0
  v4 = load ptr v1
  v5 = load ptr v2
  v6 = ptradd v2, 8:i64
  v7 = load i64 v6
  jump b1(0:i64)
b1(v8: i64):
  v9 = mul v8, 8:i64
  v10 = ptradd v4, v9
  v11 = ptradd v5, v9
  v12 = load f64 v10
  v13 = fmul v3, v12
  v14 = load f64 v11
  v15 = fadd v13, v14
  store v11, v15
  v16 = add nuw v8, 1:i64
  v17 = icmp eq v16, v7
  branch v17, b2, b1(v16)
b2:
  return
}";
    let args = [Arg::float(3.0), Arg::floats(&[1.0, 2.0]), Arg::floats(&[5.0, 6.0])];
    let run = Program::new(text, &args).check(2);
    assert!(!run.text.contains(", 0.0f64"), "a shadow is cleared to +0\n{}", run.text);
    // What nothing is added to is cleared, and to the zero that everybody knows.
    let text = text.replace("fadd v13, v14", "fadd v13, v13");
    let run = Program::new(&text, &args).check(2);
    assert!(run.text.contains(", 0.0f64"), "{}", run.text);
    assert!(run.shadows[2].iter().all(|v| v.is_sign_positive()), "{:?}", run.shadows[2]);
    // A negated cotangent of zero would leave −0 behind.
    let text = text.replace("fadd v13, v13", "fsub v13, v14");
    let run = Program::new(&text, &args).seeded(2, &[0.0, 0.0]);
    assert!(run.shadows[2].iter().all(|v| v.is_sign_positive()), "{:?}", run.shadows[2]);
}

/// Explicit Euler steps of the Lorenz attractor: of six values that the transposes use, the state is enough.
#[test]
fn lorenz_keeps_its_state() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load f64 v3
  v5 = ptradd v3, 8:i64
  v6 = load f64 v5
  v7 = ptradd v3, 16:i64
  v8 = load f64 v7
  v9 = ptradd v3, 24:i64
  v10 = load f64 v9
  v11 = load i64 v1
  jump b1(0:i64, v4, v6, v8)
b1(v12: i64, v13: f64, v14: f64, v15: f64):
  v16 = fsub v14, v13
  v17 = fmul v10, v16
  v18 = fsub v10, v15
  v19 = fmul v13, v18
  v20 = fsub v19, v14
  v21 = fmul v13, v14
  v22 = fmul v10, v15
  v23 = fsub v21, v22
  v24 = fmul v17, 0.01f64
  v25 = fadd v13, v24
  v26 = fmul v20, 0.01f64
  v27 = fadd v14, v26
  v28 = fmul v23, 0.01f64
  v29 = fadd v15, v28
  v30 = add nuw v12, 1:i64
  v31 = icmp eq v30, v11
  branch v31, b2, b1(v30, v25, v27, v29)
b2:
  v32 = fadd v25, v27
  v33 = fadd v32, v29
  store v2, v33
  return
}";
    assert_eq!(bytes_each(text, |n| vec![Arg::floats(&[1.0, 1.5, 2.0, 0.7]), Arg::Number(n), Arg::float(0.0)]), 24.0);
}

/// The bytes on the tape that a further iteration takes.
fn bytes_each(text: &str, args: impl Fn(i64) -> Vec<Arg>) -> f64 {
    let (few, many) = (8, 40);
    let program = Program::new(text, &args(few));
    let result = args(few).len() - 1;
    let less = program.check(result).tape;
    let more = program.with(&args(many)).check(result).tape;
    (more as f64 - less as f64) / (many - few) as f64
}

fn points(n: i64) -> Vec<f64> {
    (0..n).map(|k| (0.9 * k as f64 + 0.4).sin()).collect()
}

/// `x[i]` is handed on as the last iteration's `x[i + 1]`: it is loaded again.
#[test]
fn neighbours_that_are_handed_on_are_not_kept() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  v5 = load f64 v3
  jump b1(0:i64, v5, 0.0f64)
b1(v6: i64, v7: f64, v8: f64):
  v9 = add nuw v6, 1:i64
  v10 = shl v9, 3:i64
  v11 = ptradd v3, v10
  v12 = load f64 v11
  v13 = fmul v7, v7
  v14 = fsub v12, v13
  v15 = fmul v14, v14
  v16 = fsub 1.0f64, v7
  v17 = fmul v16, v16
  v18 = fadd v15, v17
  v19 = fadd v8, v18
  v20 = icmp eq v9, v4
  branch v20, b2, b1(v9, v12, v19)
b2:
  store v2, v19
  return
}";
    assert_eq!(bytes_each(text, |n| vec![Arg::floats(&points(n + 1)), Arg::Number(n), Arg::float(0.0)]), 0.0);
    // Where the first place is read twice, the handed-on values are not one after the other.
    let other = text.replace("v10 = shl v9, 3:i64", "v10 = shl v6, 3:i64");
    assert_eq!(bytes_each(&other, |n| vec![Arg::floats(&points(n)), Arg::Number(n), Arg::float(0.0)]), 8.0);
}

/// A loop in a loop, with nothing to keep: neither the inner loop's counter nor its entry is recorded.
#[test]
fn counters_of_counted_loops_are_not_kept() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  jump b1(0:i64, 0.0f64)
b1(v5: i64, v6: f64):
  v7 = shl v5, 3:i64
  v8 = ptradd v3, v7
  v9 = load f64 v8
  v10 = icmp eq v5, 0:i64
  branch v10, b3(v6), b2(0:i64, v6)
b2(v11: i64, v12: f64):
  v13 = shl v11, 3:i64
  v14 = ptradd v3, v13
  v15 = load f64 v14
  v16 = fmul v9, v15
  v17 = fadd v12, v16
  v18 = add nuw v11, 1:i64
  v19 = icmp eq v18, v5
  branch v19, b3(v17), b2(v18, v17)
b3(v20: f64):
  v21 = add nuw v5, 1:i64
  v22 = icmp eq v21, v4
  branch v22, b4, b1(v21, v20)
b4:
  store v2, v20
  return
}";
    assert_eq!(bytes_each(text, |n| vec![Arg::floats(&points(n)), Arg::Number(n), Arg::float(0.0)]), 0.0);
}

/// A branch on a value that is kept anyway needs no record; one on a value that is not is a byte.
#[test]
fn conditions_tell_where_a_block_came_from() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  v5 = load f64 v3
  jump b1(0:i64, v5)
b1(v6: i64, v7: f64):
  v8 = fcmp olt v7, 0.5f64
  branch v8, b2, b3
b2:
  v9 = fmul v7, v7
  v10 = fadd v9, 0.1f64
  jump b4(v10)
b3:
  v11 = fmul v7, 0.5f64
  jump b4(v11)
b4(v12: f64):
  v13 = add nuw v6, 1:i64
  v14 = icmp eq v13, v4
  branch v14, b5, b1(v13, v12)
b5:
  store v2, v12
  return
}";
    let args = |n| vec![Arg::floats(&[0.9]), Arg::Number(n), Arg::float(0.0)];
    assert_eq!(bytes_each(text, args), 8.0);
    let linear = text.replace("v9 = fmul v7, v7", "v9 = fmul v7, 0.75f64");
    assert_eq!(bytes_each(&linear, args), 1.0);
}

/// A loop that ends when it has converged: the state of each step is kept, and what is computed from it is computed
/// again.
#[test]
fn newton_keeps_one_value_a_step() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load f64 v0
  v4 = load i64 v1
  jump b1(0:i64, v3)
b1(v5: i64, v6: f64):
  v7 = fmul v6, v6
  v8 = fmul v7, v6
  v9 = fsub v8, v3
  v10 = fmul v7, 3.0f64
  v11 = fadd v10, 1.0f64
  v12 = fdiv v9, v11
  v13 = fsub v6, v12
  v14 = add v5, 1:i64
  v15 = math.fabs v12
  v16 = fcmp olt v15, -1.0f64
  v17 = icmp uge v14, v4
  v18 = or v16, v17
  branch v18, b2, b1(v14, v13)
b2:
  store v2, v13
  return
}";
    // Records start at multiples of sixteen.
    assert_eq!(bytes_each(text, |n| vec![Arg::float(2.0), Arg::Number(n), Arg::float(0.0)]), 16.0);
}

/// `exp` costs more than keeping its value.
#[test]
fn what_is_expensive_is_kept() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  jump b1(0:i64, 0.0f64)
b1(v5: i64, v6: f64):
  v7 = shl v5, 3:i64
  v8 = ptradd v3, v7
  v9 = load f64 v8
  v10 = math.exp v9
  v11 = fmul v10, v10
  v12 = fadd v6, v11
  v13 = add nuw v5, 1:i64
  v14 = icmp eq v13, v4
  branch v14, b2, b1(v13, v12)
b2:
  v15 = fmul v12, v12
  store v2, v15
  return
}";
    assert_eq!(bytes_each(text, |n| vec![Arg::floats(&points(n)), Arg::Number(n), Arg::float(0.0)]), 8.0);
    let cheap = text.replace("math.exp", "math.fabs");
    assert_eq!(bytes_each(&cheap, |n| vec![Arg::floats(&points(n)), Arg::Number(n), Arg::float(0.0)]), 0.0);
}

/// Rows of `width` floats: the loop over them is counted by a division, and the pointers to them are not kept.
#[test]
fn chunks_are_counted() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr, v3: ptr) {
b0:
  v4 = load ptr v0
  v5 = load i64 v1
  v6 = load i64 v2
  v7 = icmp eq v6, 0:i64
  branch v7, b4, b1
b1:
  v8 = shl v6, 3:i64
  jump b2(v4, v5, 1.0f64)
b2(v9: ptr, v10: i64, v11: f64):
  v12 = load f64 v9
  v13 = fmul v11, v12
  v14 = ptradd v9, v8
  v15 = sub v10, v6
  v16 = icmp ult v15, v6
  branch v16, b3, b2(v14, v15, v13)
b3:
  store v3, v13
  return
b4:
  unreachable
}";
    let args = |n| vec![Arg::floats(&points(3 * n)), Arg::Number(3 * n), Arg::Number(3), Arg::float(0.0)];
    assert_eq!(bytes_each(text, args), 8.0);
    // Without the test for zero the loop might never end, and is not counted: records on the tape.
    let unchecked = text.replace("icmp eq v6, 0:i64", "icmp eq v6, 1000:i64");
    assert_eq!(bytes_each(&unchecked, args), 16.0);
}

/// A counter that may run past its bound and round the numbers gives no count: an array would be too short.
#[test]
fn a_step_that_may_pass_the_bound_is_not_counted() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load f64 v0
  v4 = load i64 v1
  v5 = trunc i8 v4
  jump b1(0:i8, 1.0f64)
b1(v6: i8, v7: f64):
  v8 = fmul v7, v3
  v9 = math.sin v8
  v10 = add v6, 10:i8
  v11 = icmp eq v10, v5
  branch v11, b2, b1(v10, v9)
b2:
  store v2, v9
  return
}";
    // 10·26 is 4 modulo 256.
    Program::new(text, &[Arg::float(1.01), Arg::Number(4), Arg::float(0.0)]).check(2);
}

/// `out[i] = x[i] / Σ x[j]²`, as debug builds have it: with a panic that never comes in the inner loop.
const NORMALISE: &str = "
declare @panic() noreturn
fn @f(v0: ptr, v1: ptr) {
b0:
  v7 = load ptr v0
  v9 = ptradd v0, 8:i64
  v10 = load i64 v9
  v11 = load ptr v1
  jump b2(0:i64)
b2(v3: i64):
  v16 = mul v3, 8:i64
  v17 = ptradd v7, v16
  v18 = load f64 v17
  v19 = load f64 v7
  v20 = fmul v19, v19
  jump b3(v20, 0:i64)
b3(v4: f64, v5: i64):
  v22 = add nuw v5, 1:i64
  v23 = icmp eq v22, v10
  branch v23, b4(v4), b9
b4(v6: f64):
  v26 = math.sqrt v6
  v27 = add nuw v3, 1:i64
  v28 = mul v3, 8:i64
  v29 = ptradd v11, v28
  v30 = fdiv v18, v26
  store v29, v30
  v31 = icmp eq v27, v10
  branch v31, b8, b2(v27)
b8:
  return
b9:
  v32 = mul v22, 8:i64
  v33 = ptradd v7, v32
  v34 = load f64 v33
  v35 = fmul v34, v34
  v36 = fadd v4, v35
  v38 = icmp eq v22, -1:i64
  branch v38, b10, b3(v36, v22)
b10:
  call @panic()
  unreachable
}";

/// By what factor the work grows with twice the size, from 30 to 60.
fn growth(text: &str, args: impl Fn(i64) -> Vec<Arg>, result: usize) -> f64 {
    let program = Program::new(text, &args(30));
    let less = program.check(result).executed;
    let more = program.with(&args(60)).check(result).executed;
    more as f64 / less as f64
}

#[test]
fn a_loop_that_does_the_same_each_time_runs_once() {
    let args = |n| vec![Arg::floats(&points(n)), Arg::floats(&vec![0.0; n as usize])];
    let growth_of = |text: &str| growth(text, args, 1);
    assert!(growth_of(NORMALISE) < 2.1, "{}", growth_of(NORMALISE));
    // Behind a test that is the same each time.
    let guarded = NORMALISE
        .replace("jump b2(0:i64)\n", "v40 = icmp eq v10, 0:i64\n  jump b2(0:i64)\n")
        .replace("jump b3(v20, 0:i64)", "branch v40, b4(1.0f64), b3(v20, 0:i64)");
    assert!(growth_of(&guarded) < 2.1, "{}", growth_of(&guarded));
    // Not where the outer loop changes what the inner one reads.
    let in_place = NORMALISE.replace("v29 = ptradd v11, v28", "v29 = ptradd v7, v28");
    assert!(growth(&in_place, args, 0) > 3.0);
    // Nor where it depends on the iteration.
    let dependent = NORMALISE.replace("jump b3(v20, 0:i64)", "jump b3(v18, 0:i64)");
    assert!(growth_of(&dependent) > 3.0);
    // Nor behind a test that is not.
    let sometimes = NORMALISE
        .replace("v20 = fmul v19, v19", "v20 = fmul v19, v19\n  v40 = icmp eq v3, 0:i64")
        .replace("jump b3(v20, 0:i64)", "branch v40, b4(1.0f64), b3(v20, 0:i64)");
    assert!(growth_of(&sometimes) > 3.0);
}

#[test]
fn a_panic_does_not_come_before_what_was_to_be_seen() {
    let stores_first = NORMALISE
        .replace("jump b3(v20, 0:i64)", "v41 = ptradd v11, v16\n  store v41, 7.0f64\n  jump b3(v20, 0:i64)")
        .replace("v38 = icmp eq v22, -1:i64", "v38 = icmp eq v22, 2:i64");
    let program = Program::new(&stores_first, &[Arg::floats(&points(4)), Arg::floats(&[0.0; 4])]);
    assert_eq!(program.failing(1), [7.0, 0.0, 0.0, 0.0]);
    // Where it cannot panic, it may go although something is stored first.
    let quiet = stores_first.replace("branch v38, b10, b3(v36, v22)", "jump b3(v36, v22)");
    assert!(growth(&quiet, |n| vec![Arg::floats(&points(n)), Arg::floats(&vec![0.0; n as usize])], 1) < 2.1);
}

/// Six thousand instructions in the body of a loop, each made from the one before: the plan is made in no time, without
/// deep recursion, and all of it comes from one kept value or a few.
#[test]
fn a_long_body() {
    use std::fmt::Write;
    let mut body = String::new();
    let mut last = 7;
    for k in 0..2000 {
        let at = 100 + 3 * k;
        let (square, half) = (at, at + 1);
        writeln!(body, "  v{square} = fmul v{last}, v{last}\n  v{half} = fmul v{square}, 0.5f64").unwrap();
        last = at + 2;
        writeln!(body, "  v{last} = fadd v{half}, 0.3f64").unwrap();
    }
    let text = format!(
        "
fn @f(v0: ptr, v1: ptr, v2: ptr) {{
b0:
  v3 = load f64 v0
  v4 = load i64 v1
  jump b1(0:i64, v3)
b1(v6: i64, v7: f64):
{body}
  v8 = add nuw v6, 1:i64
  v9 = icmp eq v8, v4
  branch v9, b2, b1(v8, v{last})
b2:
  store v2, v{last}
  return
}}"
    );
    let args = |n| vec![Arg::float(0.2), Arg::Number(n), Arg::float(0.0)];
    let program = Program::new(&text, &args(2));
    let less = program.check(2).tape;
    assert_eq!(program.with(&args(6)).check(2).tape - less, 4 * 8);
}

/// A pointer that is kept on the tape is still known to point to what it pointed to.
#[test]
fn kept_pointers_have_a_class() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  jump b1(0:i64, v3, 0.0f64)
b1(v5: i64, v6: ptr, v7: f64):
  v8 = load f64 v6
  v9 = fmul v8, v8
  v10 = fadd v7, v9
  v11 = fcmp ogt v8, 0.0f64
  v12 = select v11, 8:i64, 16:i64
  v13 = ptradd v6, v12
  v14 = add nuw v5, 1:i64
  v15 = icmp eq v14, v4
  branch v15, b2, b1(v14, v13, v10)
b2:
  v16 = fmul v10, v10
  store v2, v16
  return
}";
    let args = |n| vec![Arg::floats(&points(2 * n)), Arg::Number(n), Arg::float(0.0)];
    // The pointer and its shadow.
    assert_eq!(bytes_each(text, args), 16.0);
    let [all, classed] = Program::new(text, &args(8)).accesses();
    assert_eq!(all, classed);
    // And so in a loop that is not counted.
    let text = text.replace("v14 = add nuw v5, 1:i64", "v14 = add v5, 3:i64").replace("icmp eq v14", "icmp uge v14");
    assert_eq!(bytes_each(&text, |n| vec![Arg::floats(&points(2 * n)), Arg::Number(3 * n), Arg::float(0.0)]), 16.0);
    let [all, classed] = Program::new(&text, &args(8)).accesses();
    assert_eq!(all, classed);
}

/// A loop that runs until it has converged, in a counted one: what crosses from the inner to the outer loop is in
/// registers while the inner one runs.
#[test]
fn numbers_of_iterations_are_stored_once() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  jump b1(0:i64, 0.0f64)
b1(v5: i64, v6: f64):
  v7 = shl v5, 3:i64
  v8 = ptradd v3, v7
  v9 = load f64 v8
  jump b2(v9)
b2(v10: f64):
  v11 = fmul v10, v10
  v12 = fmul v11, 0.5f64
  v13 = fcmp olt v12, 0.01f64
  branch v13, b3, b2(v12)
b3:
  v14 = fmul v11, v12
  v15 = fadd v6, v14
  v16 = add nuw v5, 1:i64
  v17 = icmp eq v16, v4
  branch v17, b4, b1(v16, v15)
b4:
  v18 = fmul v15, v15
  store v2, v18
  return
}";
    let program = Program::new(text, &[Arg::floats(&[0.5, 0.9, -0.7]), Arg::Number(3), Arg::float(0.0)]);
    program.check(2);
    assert_eq!(program.integer_stores(), 1);
}

/// A counted loop that hands a value on, in another one: the reverse loops do all that the way round asks for before
/// they ask whether to leave. What was handed on to the first iteration does not go to the last one.
#[test]
fn reverse_loops_are_left_at_their_end() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  jump b1(0:i64, 1.0f64)
b1(v5: i64, v6: f64):
  jump b2(0:i64, v6, 0.5f64)
b2(v7: i64, v8: f64, v9: f64):
  v10 = shl v7, 3:i64
  v11 = ptradd v3, v10
  v12 = load f64 v11
  v13 = fmul v8, v12
  v14 = fmul v9, 0.3f64
  v15 = fadd v13, v14
  v16 = add nuw v7, 1:i64
  v17 = icmp eq v16, v4
  branch v17, b3, b2(v16, v15, v12)
b3:
  v18 = add nuw v5, 1:i64
  v19 = icmp eq v18, v4
  branch v19, b4, b1(v18, v15)
b4:
  store v2, v15
  return
}";
    let args = |n| vec![Arg::floats(&points(n)), Arg::Number(n), Arg::float(0.0)];
    let program = Program::new(text, &args(5));
    program.check(2);
    assert_eq!(program.loops(), [4, 0]);
    program.with(&args(1)).check(2);
}

/// A value that is only compared has no cotangent: its partial derivative, which may be infinite, is not multiplied
/// with nothing.
#[test]
fn what_is_only_compared_is_not_transposed() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = math.sqrt v2
  v4 = fcmp ogt v3, 1.0f64
  branch v4, b1(v2), b2
b1(v5: f64):
  v6 = fmul v5, 3.0f64
  store v1, v6
  return
b2:
  v7 = fmul v2, 2.0f64
  jump b1(v7)
}";
    let program = Program::new(text, &[Arg::float(0.0), Arg::float(0.0)]);
    assert_eq!(program.seeded(1, &[1.0]).shadows[0], [6.0]);
}

/// The cotangent of a maximum goes to one value, which is looked up after the loop; which one that was is all that is
/// kept.
#[test]
fn a_maximum_keeps_nothing_of_its_iterations() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  jump b1(0.0f64, 0:i64)
b1(v5: f64, v6: i64):
  v7 = mul nsw nuw v6, 8:i64
  v8 = ptradd nuw inbounds v3, v7
  v9 = load f64 v8
  v10 = math.maxnum v5, v9
  v11 = add nuw v6, 1:i64
  v12 = icmp eq v11, v4
  branch v12, b2, b1(v10, v11)
b2:
  store v2, v10
  return
}";
    assert_eq!(bytes_each(text, |n| vec![Arg::floats(&points(n)), Arg::Number(n), Arg::float(0.0)]), 0.0);
}

/// Where all maxima so far count, one flag says of each iteration which of the two it was, for both partial
/// derivatives.
#[test]
fn a_running_maximum_keeps_a_flag() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  jump b1(0.0f64, 0.0f64, 0:i64)
b1(v5: f64, v6: f64, v7: i64):
  v8 = mul nsw nuw v7, 8:i64
  v9 = ptradd nuw inbounds v3, v8
  v10 = load f64 v9
  v11 = math.maxnum v5, v10
  v12 = fadd v6, v11
  v13 = add nuw v7, 1:i64
  v14 = icmp eq v13, v4
  branch v14, b2, b1(v11, v12, v13)
b2:
  store v2, v12
  return
}";
    assert_eq!(bytes_each(text, |n| vec![Arg::floats(&points(n)), Arg::Number(n), Arg::float(0.0)]), 1.0);
}

/// `1 / √(x² + 2)`: the derivative of the reciprocal is multiplied with the reciprocal, that of the root has the same
/// reciprocal, and that of the square is one product.
#[test]
fn reciprocals_and_squares_are_multiplied_with() {
    let text = "
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load f64 v0
  v3 = fmul v2, v2
  v4 = fadd v3, 2.0f64
  v5 = math.sqrt v4
  v6 = fdiv 1.0f64, v5
  store v1, v6
  return
}";
    let run = Program::new(text, &[Arg::float(3.0), Arg::float(0.0)]).check(1);
    let quotients: Vec<&str> = run.text.lines().filter_map(|line| Some(line.split_once("fdiv ")?.1)).collect();
    assert!(quotients.iter().all(|operands| operands.starts_with("1.0f64,")), "{}", run.text);
    // One in the program, one of the root: LLVM sees that they are the same.
    assert_eq!(quotients.len(), 2, "{}", run.text);
    let doubled = run.text.lines().filter(|line| line.contains("fmul") && line.contains(", 2.0f64")).count();
    assert_eq!(doubled, 1, "{}", run.text);
}
