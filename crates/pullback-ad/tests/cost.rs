//! What the reverse sweep costs: bytes on the tape for each iteration, and instructions of the derivative. No clocks.
//!
//! Each program is text IR, differentiated in reverse mode and run in the interpreter. Its gradient is compared with a central
//! difference of the primal, so that what is cheap is right, too.

#[path = "cost/support.rs"]
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
