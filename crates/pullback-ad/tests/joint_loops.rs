//! Joint reversal of loops, and loops that only look as if they could have it. Each derivative is run in the
//! interpreter and its gradient compared with differences. What was reversed jointly keeps nothing; any other loop
//! keeps what is expensive.

#[path = "cost/support.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod support;

use support::{Arg, Program};

fn points(n: i64) -> Vec<f64> {
    (0..n).map(|k| (0.9 * k as f64 + 0.4).sin()).collect()
}

/// For a slice of floats, a number, and a result.
#[track_caller]
fn assert_joint(text: &str, expected: bool) {
    let run = Program::new(text, &[Arg::floats(&points(7)), Arg::Number(6), Arg::float(0.0)]).check(2);
    assert_eq!(run.tape == 0, expected, "{} bytes on the tape\n{}", run.tape, run.text);
}

/// `Σ exp(xᵢ)²`, up to where the sum is used.
fn sum_and(rest: &str) -> String {
    format!(
        "
fn @f(v0: ptr, v1: ptr, v2: ptr) {{
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  jump b1(0:i64, 0.5f64)
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
{rest}
}}"
    )
}

#[test]
fn a_sum_that_is_the_result() {
    assert_joint(&sum_and("  store v2, v12\n  return"), true);
}

#[test]
fn what_comes_after_is_linear() {
    assert_joint(
        &sum_and(
            "  v15 = fmul v12, 0.25f64
  v16 = sitofp f64 v4
  v17 = fdiv v12, 3.0f64
  v18 = fsub v15, v17
  v19 = load f64 v3
  v20 = fadd v18, v19
  jump b3(v20)
b3(v21: f64):
  store v2, v21
  return",
        ),
        true,
    );
}

/// The cotangent is only known when the sum is.
#[test]
fn what_comes_after_is_not_linear() {
    assert_joint(&sum_and("  v15 = fmul v12, v12\n  store v2, v15\n  return"), false);
    assert_joint(&sum_and("  v15 = fdiv 1.0f64, v12\n  store v2, v15\n  return"), false);
    assert_joint(&sum_and("  v15 = math.log v12\n  store v2, v15\n  return"), false);
}

/// A factor that is only there after the loop.
#[test]
fn a_factor_of_the_loop() {
    assert_joint(&sum_and("  v15 = fmul v12, v10\n  store v2, v15\n  return"), false);
}

/// Which way the sum goes is only decided later.
#[test]
fn a_branch_after_the_sum() {
    let text = sum_and(
        "  v15 = fcmp ogt v12, 9.0f64
  branch v15, b3(v12), b3(2.0f64)
b3(v16: f64):
  store v2, v16
  return",
    );
    assert_joint(&text, false);
    let text = sum_and(
        "  v15 = fcmp ogt v12, 9.0f64
  branch v15, b3, b4
b3:
  store v2, v12
  jump b4
b4:
  return",
    );
    assert_joint(&text, false);
}

/// The result is overwritten, or read again.
#[test]
fn a_result_that_is_not_the_last_word() {
    assert_joint(&sum_and("  store v2, v12\n  store v2, 1.0f64\n  return"), false);
    assert_joint(
        &sum_and("  store v2, v12\n  v15 = load f64 v2\n  v16 = fmul v15, v15\n  store v2, v16\n  return"),
        false,
    );
}

/// The transpose of a later write would take what the loop has added.
#[test]
fn what_the_loop_reads_is_written_later() {
    assert_joint(&sum_and("  store v3, v12\n  store v2, v12\n  return"), false);
    assert_joint(&sum_and("  store v3, 0.0f64\n  store v2, v12\n  return"), false);
}

/// A panic after the loop would leave half a gradient.
#[test]
fn a_panic() {
    let text = sum_and(
        "  v15 = icmp eq v4, 1000:i64
  branch v15, b3, b4
b3:
  unreachable
b4:
  store v2, v12
  return",
    );
    assert_joint(&text, false);
}

/// An index that is compared with the length of the slice, and panics when it gets there.
#[test]
fn an_index_that_is_checked() {
    let checked = |check: &str| {
        sum_and("  store v2, v12\n  return")
            .replace(
                "  jump b1(0:i64, 0.5f64)\n",
                "  v20 = ptradd v0, 8:i64\n  v21 = load i64 v20\n  jump b1(0:i64, 0.5f64)\n",
            )
            .replace(
                "  v7 = shl v5, 3:i64\n",
                &format!("  v22 = {check}\nb3:\n  unreachable\nb4:\n  v7 = shl v5, 3:i64\n"),
            )
    };
    for check in [
        "icmp ult v5, v21\n  branch v22, b4, b3",
        "icmp uge v5, v21\n  branch v22, b3, b4",
        "icmp eq v5, v21\n  branch v22, b3, b4",
        "icmp ne v5, v21\n  branch v22, b4, b3",
    ] {
        assert_joint(&checked(check), true);
        // Six iterations and four numbers: a panic, and nothing has been added.
        let args = [Arg::floats(&points(4)), Arg::Number(6), Arg::float(0.0)];
        let program = Program::new(&checked(check), &args);
        assert_eq!(program.failing_shadow(0), points(4));
    }
    // Not every iteration gets there, or what is compared is not the index.
    assert_joint(&checked("icmp ult v4, v21\n  branch v22, b4, b3"), false);
    assert_joint(&checked("icmp ugt v5, v21\n  branch v22, b3, b4"), false);
    let now_and_then =
        checked("fcmp ogt v6, 3.0f64\n  branch v22, b5, b4\nb5:\n  v23 = icmp ult v5, v21\n  branch v23, b4, b3");
    assert_joint(&now_and_then, false);
}

/// The sum of an iteration is used in the next one.
#[test]
fn a_sum_that_is_used_on_the_way() {
    let text = sum_and("  store v2, v12\n  return");
    assert_joint(&text.replace("fmul v10, v10", "fmul v10, v6"), false);
    assert_joint(&text.replace("v12 = fadd v6, v11", "v30 = fadd v6, v11\n  v12 = fadd v30, v6"), false);
    assert_joint(&text.replace("fadd v6, v11", "fsub v11, v6"), false);
    assert_joint(&text.replace("fadd v6, v11", "fsub v6, v11"), true);
    // Only compared, it has no cotangent.
    assert_joint(&text.replace("v11 = fmul v10, v10", "v30 = fcmp ogt v6, 4.0f64\n  v11 = select v30, v10, v9"), true);
}

/// Not the sum alone gets out of the loop.
#[test]
fn another_value_of_the_last_iteration() {
    assert_joint(&sum_and("  v15 = fadd v12, v11\n  store v2, v15\n  return"), false);
}

/// A sum with two ways through the body, and one in an inner loop.
#[test]
fn sums_with_branches_and_loops_inside() {
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
  v10 = fcmp ogt v9, 0.1f64
  branch v10, b2, b3(v6)
b2:
  v11 = math.sin v9
  v12 = fsub v6, v11
  jump b3(v12)
b3(v13: f64):
  jump b4(0:i64, v13, v9)
b4(v14: i64, v15: f64, v16: f64):
  v17 = fmul v16, v16
  v18 = fadd v17, 0.25f64
  v19 = fadd v15, v18
  v20 = add nuw v14, 1:i64
  v21 = icmp eq v20, 3:i64
  branch v21, b5, b4(v20, v19, v18)
b5:
  v22 = add nuw v5, 1:i64
  v23 = icmp eq v22, v4
  branch v23, b6, b1(v22, v19)
b6:
  store v2, v19
  return
}";
    let program =
        |n: i64| Program::new(text, &[Arg::floats(&points(n)), Arg::Number(n), Arg::float(0.0)]).check(2).tape;
    // What the inner loop keeps is there for one iteration of the outer loop.
    assert_eq!(program(3), program(30));
    assert!(program(3) > 0);
    // One way through the body forgets the sum.
    let text = text.replace("branch v10, b2, b3(v6)", "branch v10, b2, b3(1.5f64)");
    let few = Program::new(&text, &[Arg::floats(&points(3)), Arg::Number(3), Arg::float(0.0)]).check(2).tape;
    let many = Program::new(&text, &[Arg::floats(&points(9)), Arg::Number(9), Arg::float(0.0)]).check(2).tape;
    assert!(many > few);
}

/// `Σ exp(x[i + 1] − x[i])`, with `x[i]` handed on.
#[test]
fn neighbours_that_are_handed_on() {
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
  v13 = fsub v12, v7
  v14 = math.exp v13
  v15 = fadd v8, v14
  v16 = icmp eq v9, v4
  branch v16, b2, b1(v9, v12, v15)
b2:
  store v2, v15
  return
}";
    assert_joint(text, true);
    // Handed on is something else than what would be loaded.
    assert_joint(&text.replace("b1(v9, v12, v15)", "b1(v9, v13, v15)"), false);
    assert_joint(&text.replace("v5 = load f64 v3\n", "v30 = ptradd v3, 8:i64\n  v5 = load f64 v30\n"), false);
}

/// Two sums over neighbours, from the front and from the back; what the last iteration has loaded is used after the
/// loop; a neighbour that is loaded again for itself.
#[test]
fn what_is_carried_along_gets_to_its_place() {
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
  v13 = fmul v12, v7
  v14 = math.exp v13
  v15 = fadd v8, v14
  v16 = icmp eq v9, v4
  branch v16, b2, b1(v9, v12, v15)
b2:
  v17 = shl v4, 3:i64
  v18 = ptradd v3, v17
  v19 = load f64 v18
  jump b3(0:i64, v18, v19, v15)
b3(v20: i64, v21: ptr, v22: f64, v23: f64):
  v24 = ptradd v21, -8:i64
  v25 = load f64 v24
  v26 = fsub v25, v22
  v27 = math.exp v26
  v28 = fadd v23, v27
  v29 = add nuw v20, 1:i64
  v30 = icmp eq v29, v4
  branch v30, b4, b3(v29, v24, v25, v28)
b4:
  store v2, v28
  return
}";
    assert_joint(text, true);
    let again =
        text.replace("  v13 = fmul v12, v7", "  v40 = load f64 v11\n  v41 = fmul v40, v7\n  v13 = fmul v12, v41");
    assert_joint(&again, true);
    // The last of those that are loaded goes on: its cotangent is not known in the loop.
    let used = text.replace("  store v2, v28", "  v40 = fmul v25, v25\n  v41 = fadd v28, v40\n  store v2, v41");
    assert_joint(&used, false);
    for n in [1, 2] {
        let args = [Arg::floats(&points(n + 1)), Arg::Number(n), Arg::float(0.0)];
        Program::new(text, &args).check(2);
    }
}

/// One value is handed on to two parameters: its cotangent is carried along once.
#[test]
fn a_neighbour_that_is_handed_on_twice() {
    let text = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  v5 = load f64 v3
  v6 = load f64 v3
  jump b1(0:i64, v5, v6, 0.0f64)
b1(v7: i64, v8: f64, v9: f64, v10: f64):
  v11 = add nuw v7, 1:i64
  v12 = shl v11, 3:i64
  v13 = ptradd v3, v12
  v14 = load f64 v13
  v15 = fmul v14, v8
  v16 = fsub v15, v9
  v17 = math.exp v16
  v18 = fadd v10, v17
  v19 = icmp eq v11, v4
  branch v19, b2, b1(v11, v14, v14, v18)
b2:
  store v2, v18
  return
}";
    assert_joint(text, true);
}

/// `out[i·by] = exp(x[i])²`.
fn fill(by: i64) -> String {
    format!(
        "
fn @f(v0: ptr, v1: ptr, v2: ptr) {{
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  v5 = load ptr v2
  jump b1(0:i64)
b1(v6: i64):
  v7 = shl v6, 3:i64
  v8 = ptradd v3, v7
  v9 = load f64 v8
  v10 = math.exp v9
  v11 = fmul v10, v10
  v12 = mul v6, {}:i64
  v13 = ptradd v5, v12
  store v13, v11
  v14 = add nuw v6, 1:i64
  v15 = icmp eq v14, v4
  branch v15, b2, b1(v14)
b2:
  return
}}",
        8 * by
    )
}

#[track_caller]
fn assert_filled_jointly(text: &str, expected: bool) {
    let args = [Arg::floats(&points(6)), Arg::Number(6), Arg::floats(&points(20))];
    let run = Program::new(text, &args).check(2);
    assert_eq!(run.tape == 0, expected, "{} bytes on the tape\n{}", run.tape, run.text);
}

#[test]
fn an_output_that_is_filled() {
    assert_filled_jointly(&fill(1), true);
    assert_filled_jointly(&fill(3), true);
    // The last write is the one that counts.
    assert_filled_jointly(&fill(0), false);
}

/// Places that are written twice.
#[test]
fn an_output_that_is_filled_twice() {
    let twice = |second: &str| {
        fill(2).replace("  store v13, v11\n", &format!("  store v13, v11\n  {second}\n  store v30, v10\n"))
    };
    assert_filled_jointly(&twice("v30 = ptradd v13, 8:i64"), true);
    assert_filled_jointly(&twice("v30 = ptradd v13, 16:i64"), false);
    assert_filled_jointly(&twice("v30 = ptradd v13, 0:i64"), false);
    assert_filled_jointly(&twice("v30 = ptradd v5, 8:i64"), false);
}

/// The output is read again.
#[test]
fn an_output_that_is_read() {
    let text = fill(1).replace(
        "b2:\n",
        "b2:\n  v30 = load f64 v5\n  v31 = fmul v30, v30\n  v32 = ptradd v5, 64:i64\n  store v32, v31\n",
    );
    assert_filled_jointly(&text, false);
    let text = fill(1).replace("b2:\n", "b2:\n  store v5, 1.0f64\n");
    assert_filled_jointly(&text, false);
    let text = fill(1).replace("v10 = math.exp v9", "v30 = load f64 v5\n  v31 = fmul v30, v9\n  v10 = math.exp v31");
    assert_filled_jointly(&text, false);
}

/// For each number, a buffer of `m` floats is filled with products, summed up in place, and read again.
fn filled(filling: &str, reading: &str, after: &str) -> String {
    format!(
        "
fn @f(v0: ptr, v1: ptr, v2: ptr, v3: ptr) {{
b0:
  v4 = load ptr v0
  v5 = load i64 v1
  v6 = load i64 v2
  v7 = shl v6, 3:i64
  v8 = alloc v7, 8:i64, @__rust_alloc
  fill v8, 0:i8, v7
  jump b1(0:i64, 0.5f64)
b1(v9: i64, v10: f64):
  v11 = shl v9, 3:i64
  v12 = ptradd v4, v11
  v13 = load f64 v12
{filling}
b3:
{reading}
b5(v30: f64):
  v31 = math.log v30
  v32 = fadd v10, v31
  v33 = add nuw v9, 1:i64
  v34 = icmp eq v33, v5
  branch v34, b6, b1(v33, v32)
b6:
{after}
  return
}}
declare @__rust_alloc(i64, i64) -> ptr
declare @__rust_dealloc(ptr, i64, i64)"
    )
}

/// By an index, up to a bound.
const FILLING: &str = "  jump b2(0:i64, v13)
b2(v14: i64, v15: f64):
  v16 = shl v14, 3:i64
  v17 = ptradd v8, v16
  v18 = math.exp v15
  store v17, v18
  v19 = fmul v15, 0.5f64
  v20 = add nuw v14, 1:i64
  v21 = icmp eq v20, v6
  branch v21, b3, b2(v20, v19)";
const READING: &str = "  jump b4(0:i64, 1.0f64)
b4(v22: i64, v23: f64):
  v24 = shl v22, 3:i64
  v25 = ptradd v8, v24
  v26 = load f64 v25
  v36 = fmul v26, v26
  v37 = fadd v36, 1.0f64
  v27 = math.log v37
  v28 = fadd v23, v27
  store v25, v28
  v38 = add nuw v22, 1:i64
  v29 = icmp eq v38, v6
  branch v29, b7, b4(v38, v28)
b7:
  v39 = load f64 v8
  v40 = fmul v39, v28
  jump b5(v40)";
const AFTER: &str = "  dealloc v8, v7, 8:i64, @__rust_dealloc\n  store v3, v32";

/// Bytes on the tape for so many numbers, with a buffer of three.
#[track_caller]
fn tape_of_buffers(text: &str, n: i64) -> u64 {
    let args = [Arg::floats(&points(n)), Arg::Number(n), Arg::Number(3), Arg::float(0.0)];
    Program::new(text, &args).check(3).tape
}

/// What is kept is there for one iteration, or for all.
#[track_caller]
fn assert_joint_with_buffer(text: &str, expected: bool) {
    let [few, many] = [2, 9].map(|n| tape_of_buffers(text, n));
    assert_eq!(few == many, expected, "{few} and {many} bytes on the tape\n{text}");
}

#[test]
fn a_buffer_that_each_iteration_fills() {
    assert_joint_with_buffer(&filled(FILLING, READING, AFTER), true);
    // With a pointer that walks to the end; as many bytes as there are, in other words.
    let walking = FILLING
        .replace("  jump b2(0:i64, v13)", "  v41 = ptradd v8, v7\n  jump b2(v8, v13)")
        .replace("b2(v14: i64, v15: f64):\n  v16 = shl v14, 3:i64\n  v17 = ptradd v8, v16", "b2(v17: ptr, v15: f64):")
        .replace("add nuw v14, 1:i64", "ptradd nuw v17, 8:i64")
        .replace("icmp eq v20, v6", "icmp eq v20, v41");
    assert_joint_with_buffer(&filled(&walking, READING, AFTER), true);
    // All at once.
    let at_once = "  fill v8, 0:i8, v7\n  store v8, v13\n  jump b3";
    assert_joint_with_buffer(&filled(at_once, READING, AFTER), true);
    // A panic takes back what was added.
    let panicking =
        READING.replace("b7:\n", "b7:\n  v42 = icmp eq v9, 100:i64\n  branch v42, b8, b9\nb8:\n  unreachable\nb9:\n");
    assert_joint_with_buffer(&filled(FILLING, &panicking, AFTER), true);
}

/// What an iteration reads may be of the iteration before.
#[test]
fn a_buffer_of_which_something_stays() {
    let reject = |filling: &str, reading: &str, after: &str| {
        assert_joint_with_buffer(&filled(filling, reading, after), false);
    };
    // The first float is left out, or the last, or only every other one is filled.
    reject(
        &FILLING
            .replace("ptradd v8, v16", "ptradd v50, v16")
            .replace("  jump b2(0:i64, v13)", "  v50 = ptradd v8, 8:i64\n  v51 = sub v6, 1:i64\n  jump b2(0:i64, v13)")
            .replace("eq v20, v6", "eq v20, v51"),
        READING,
        AFTER,
    );
    reject(
        &FILLING
            .replace("  jump b2(0:i64, v13)", "  v51 = sub v6, 1:i64\n  jump b2(0:i64, v13)")
            .replace("eq v20, v6", "eq v20, v51"),
        READING,
        AFTER,
    );
    // In some iterations nothing is filled.
    reject(
        &FILLING.replace(
            "  jump b2(0:i64, v13)",
            "  v50 = and v9, 1:i64\n  v51 = icmp eq v50, 0:i64\n  branch v51, b8, b3\nb8:\n  jump b2(0:i64, v13)",
        ),
        READING,
        AFTER,
    );
    // It is read before it is filled.
    reject(
        &FILLING.replace(
            "  jump b2(0:i64, v13)",
            "  v50 = load f64 v8\n  v52 = math.sin v50\n  v51 = fadd v13, v52\n  jump b2(0:i64, v51)",
        ),
        READING,
        AFTER,
    );
    // It is read after the loop.
    reject(FILLING, READING, "  v50 = load f64 v8\n  v51 = fadd v32, v50\n  store v3, v51");
    // A float is filled in some iterations of the inner loop only.
    reject(
        &FILLING.replace(
            "  store v17, v18\n",
            "  v50 = fcmp ogt v15, 0.1f64\n  branch v50, b8, b9\nb8:\n  store v17, v18\n  jump b9\nb9:\n",
        ),
        READING,
        AFTER,
    );
    // One instruction has made two of them: one is filled, the other read.
    let two = filled(FILLING, &READING.replace("ptradd v8, v24", "ptradd v61, v24"), AFTER).replace(
        "  v8 = alloc v7, 8:i64, @__rust_alloc\n  fill v8, 0:i8, v7\n",
        "  jump b20(0:i64, null)
b20(v60: i64, v61: ptr):
  v8 = alloc v7, 8:i64, @__rust_alloc
  fill v8, 0:i8, v7
  v62 = add nuw v60, 1:i64
  v63 = icmp eq v62, 2:i64
  branch v63, b21, b20(v62, v8)
b21:
",
    );
    assert_joint_with_buffer(&two, false);
}
