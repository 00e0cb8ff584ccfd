//! What it takes to differentiate a function is linear in its length.
//!
//! Counted are the bytes that the engine allocates on the way, and the instructions of the derivative. No clocks:
//! `cargo xtask bench --compile` has those.

#[path = "cost/support.rs"]
#[allow(dead_code, reason = "the other tests look closer at what a derivative does")]
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use support::{Arg, Program};

/// The system's allocator, which counts all bytes that a thread asks for.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + layout.size());
        // SAFETY: asked of the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: asked of the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// A function of so many parts: each has a loop whose values are kept, a branch, and memory that is read and
/// overwritten.
fn long(parts: usize) -> String {
    let mut text = "fn @f(v0: ptr, v1: ptr) {\nb0:\n  v2 = load ptr v0\n  v3 = load f64 v2\n".to_owned();
    let mut x = 3;
    for part in 0..parts {
        let (v, b) = (x + 1, 5 * part + 1);
        let at = 8 * (part % 4);
        let name = |k: usize| format!("v{}", v + k);
        let [i, y, product, z, next, done, p, old, new, less, chosen] = std::array::from_fn(name);
        text += &format!(
            "  jump b{b}(0:i64, v{x})
b{b}({i}: i64, {y}: f64):
  {product} = fmul {y}, {y}
  {z} = math.sin {product}
  {next} = add nuw {i}, 1:i64
  {done} = icmp eq {next}, 5:i64
  branch {done}, b{}, b{b}({next}, {z})
b{}:
  {p} = ptradd v2, {at}:i64
  {old} = load f64 {p}
  {new} = fmul {old}, {z}
  store {p}, {new}
  {less} = fcmp olt {new}, {old}
  branch {less}, b{}({new}), b{}
b{}:
  jump b{}({z})
b{}({chosen}: f64):
",
            b + 1,
            b + 1,
            b + 3,
            b + 2,
            b + 2,
            b + 3,
            b + 3,
        );
        x = v + 10;
    }
    text + &format!("  store v1, v{x}\n  return\n}}\n")
}

/// The instructions of the derivative of so many parts, and the bytes that were allocated to make it.
fn cost(parts: usize) -> [usize; 2] {
    let (text, args) = (long(parts), [Arg::floats(&[0.9, 1.1, 0.8, 1.2]), Arg::float(0.0)]);
    let before = ALLOCATED.get();
    let program = Program::new(&text, &args);
    let allocated = ALLOCATED.get() - before;
    [program.check(1).text.lines().count(), allocated]
}

#[test]
fn a_derivative_is_made_in_time_linear_in_the_length_of_the_function() {
    let (few, many) = (cost(50), cost(400));
    for (few, many) in few.into_iter().zip(many) {
        assert!(many <= 9 * few, "8 times the length takes {:.1} times as much", many as f64 / few as f64);
    }
}
