//! The text form of a [`LinearFunction`](super::program::LinearFunction): the text of its function, with a line that
//! begins with `|` for each linear operation, after the instruction that it belongs to. A prime marks a tangent.
//!
//! ```text
//! linear v1, v2                        ; parameters with a tangent; `linear v1 -> result` if the result has one
//! fn @f(v0: ptr, v1: f64, v2: f64, v3: ptr, v4: ptr) {
//! b0:
//!   v5 = fmul v1, v2
//!   | v5' = v2*v1' + v1*v2'
//!   store v3, v5
//!   | store f64 v5' -> v4
//!   return
//! }
//! ```
//!
//! A term of a sum has a coefficient, which is 1, −1, a value, or a number and a value, and may have a support.
//!
//! | operation | spelling |
//! |---|---|
//! | sum | `v5' = v2*v1' + -v3' + 2*v4*v4' if v9`, or `unless v9` |
//! | quotient | `v5' = quotient v1', v2' by v2`; `by _` where the dividend is 1 |
//! | change of precision, of type | `v5' = fpext v1'`, `v5' = bits v1'` |
//! | selection | `v5' = select v9, v1', _` |
//! | aggregates | `v5' = extract v1', 0`, `v5' = insert v1', v2', 0` |
//! | memory | `v5' = load v4`, `store f64 v5' -> v4`, `copy v4 <- v6, v7 floats 0:8:8:24` |
//! | shadow pointers that are put back | `restore v4 <- v8`, `uncover v4 <- v8` |
//! | words | `v5' = word v4 was v8`, `word v5' -> v4 as v7 was v8 direction 0` |
//! | … that are copied | `words (v1 v2 v3 v4)`, `words v4 <- v6, v7 lane 0:8:8:24` |
//! | calls | `v5' = call fn3(v1', v2')`, `give v1' v7` |
//! | rules | ``rule fn3 `f` 16:8(0 v5, 8 v6) views {v7} shadows (v1, _) borrows 3 owning fn4 strong (f64, f64)`` |
//!
//! A lane has an offset, a stride, a width and a last place. `beside numbers` says that a number of the caller's may
//! lie in the place of a float. What is kept for a rule's pullback has a size and an alignment, and words at offsets;
//! or it is a value, the address of memory. The shadows of a rule are in parentheses, one list for each batch
//! direction.
//!
//! `_` is what is not there. With several batch directions, what is there for each is a list: `{v4, v5}`.

mod parse;
mod print;

pub use parse::parse;
pub use print::{operation, print};

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation, in the spelling that the printer has.
    const ALL: &str = "\
linear v1, v2 -> result
fn @f(v0: ptr, v1: f64, v2: f64, v3: ptr, v4: ptr, v5: i64, v6: i1) -> f64 {
b0:
  v7 = fmul v1, v2
  | v7' = v2*v1' + -v2' + 2*v1*v1' if v6 + v2' unless v6
  v8 = fdiv v7, v2
  | v8' = quotient v7', v2' by v2
  | v8' = quotient _, v2' by _
  | v8' = select v6, v7', _
  v9 = load f64 v3
  | v9' = load v4
  | v9' = load {v4, v3} beside numbers
  | v9' = word v4 was v5
  store v3, v9
  | store f64 v9' -> v4
  | store {f64, i64} _ -> {v3, v4}
  | word v9' -> v4 as v5 was 0:i64 direction 1
  | restore v4 <- v3
  | uncover v4 <- v5
  copy v3, v4, v5
  | copy v3 <- v4, v5 floats 0:8:8:24 4:0:4:4 beside numbers
  | copy v3 <- _, 16:i64 floats 0:8:8:8
  | words (v3 v4 v5 v5) (v4 v3 v5 v5)
  | words v3 <- v4, v5 lane 0:8:8:64
  | words v3 <- _, v5 lane 0:8:8:64
  v10 = fptrunc f32 v9
  | v10' = fptrunc v9'
  | v10' = fpext v10'
  | v10' = bits v10'
  | v10' = extract v9', 1
  | v10' = insert v9', _, 0
  | _ = call fn0()
  | v10' = call fn0(v9', v10')
  | give v9' v8
  | v10' = -1.5f64*v9' + 3.0f32*v10'
  | rule fn0 `<[f64; 2] as T>::f` 16:8(0 v5, 8 v5) views {0:1(), v4} shadows (v3, _) (_, v4)
  | rule fn0 `f` v4 views {4:4(0 v5)} shadows (v3) borrows 3 4 owning fn1 strong (f64, _)
  return v9
}
";

    #[test]
    fn what_is_printed_is_read_back() {
        let (module, id, linear) = parse(ALL).unwrap();
        assert_eq!(print(&module, module.func(id), &linear), ALL);
        let (_, _, again) = parse(&print(&module, module.func(id), &linear)).unwrap();
        assert_eq!(again, linear);
    }

    #[test]
    fn mistakes_are_told_with_their_lines() {
        let wrong = |line: &str| {
            parse(&format!("linear v0\nfn @f(v0: f64) -> f64 {{\nb0:\n  v1 = fneg v0\n  | {line}\n  return v1\n}}\n"))
                .unwrap_err()
        };
        assert_eq!(wrong("v1' = nonsense"), "line 5: a value is expected, not `nonsense`");
        assert_eq!(wrong("v1' = -v9'"), "line 5: a value is expected, not `v9`");
        assert_eq!(wrong("v1' = -v0' v0'"), "line 5: `v0'` is too much");
        assert_eq!(wrong("v1' = select v0"), "line 5: `,` is expected, not `the end of the line`");
        assert_eq!(wrong("forget v0"), "line 5: `forget` is no linear operation");
        assert_eq!(wrong("rule fn0 f"), "line 5: a name is expected, not `f`");
    }
}
