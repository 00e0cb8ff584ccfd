//! The text format: what a module looks like on paper, and how to read it back.
//!
//! Given a [`Module`], its `Display` writes text; given text, [`parse_module`] hands back the module or the first error
//! with its line and column. Everything a module holds has a spelling, and the numbers of values and blocks survive the
//! trip, so that a value named in a message is the value of that name in a dump: `print(parse(print(m))) == print(m)`.
//!
//! ```text
//! loc0 = "src/lib.rs":3:5 in "square"                 ; a source location; `at loc1` names the call around it
//! global @table 8 align 8 constant = x"000000000000f03f"
//! declare @dot(ptr, ptr, i64) -> f64 readonly
//! fn @square(v0: ptr, v1: ptr) {
//! b0:
//!   v2 = load f64 v0
//!   v3 = fmul contract v2, v2 !loc0
//!   v4 = fcmp olt v3, 100.0f64
//!   branch v4, b1, b2(v3)
//! b1:
//!   v5 = math.sqrt v3
//!   jump b2(v5)
//! b2(v6: f64):
//!   store v1, v6 align 4
//!   return
//! }
//! ```
//!
//! | part | spelling |
//! |---|---|
//! | comment | `;` to the end of the line |
//! | name | `@name`, or `@"any text"`; a bare `fn3` or `g3` is the third function or global, from 0 |
//! | integer | `42:i64`, `-1:i32`, `true`, `false` |
//! | float | `1.5f64`, `-0.0f32`; infinities and NaN by their bits: `0x7ff0000000000000:f64` |
//! | other constants | `null`, `undef f64`, `poison i1`, `zero {f64, i64}`, `const #3 "text" ptr` for an opaque one |
//! | result | `v3 = …`; `v3: f64 = …` where the type does not follow from the operands |
//! | flags | between the operation and its operands: `add nuw nsw v1, v2` |
//! | alignment | `align 4` at the end, where it is not the type's own |
//! | heap | `alloc v0, 8:i64, @__rust_alloc`, `dealloc v1, v0, 8:i64, @__rust_dealloc` |
//! | memory | `copy v0, v1, v2`, `move` where regions may overlap, `fill v0, 0:i8, v2` |
//! | calls | `call @f(v0)`, `call f64 v1(v0)` through a pointer, `intrinsic i64 "llvm.ctpop.i64"(v0)` |
//! | clean-up | `call @f(v0) cleanup @drop_rest(v1, v2)`: what to do if the callee panics; also after an opaque call |
//! | opaque | `opaque f64 #7 "atomicrmw" reads writes (v0, v1)` |

mod body;
mod lex;
mod names;
mod parse;
mod print;

use crate::entities::{FuncId, Value};
use crate::inst::{Callee, Op, fixed_result};
use crate::types::Type;

pub use lex::ParseError;
pub use parse::parse_module;
pub use print::{block_name, function_text, inst_text, term_text, value_text};

#[cfg(doc)]
use crate::module::Module;

/// Whether an operation's text states the type of its result.
fn states_type(op: &Op) -> bool {
    matches!(op, Op::Load { .. } | Op::Cast(..) | Op::Intrinsic(..) | Op::Opaque(_) | Op::Call(Callee::Indirect(_), ..))
}

/// The type of an operand that is not known yet.
struct Unknown;

/// The type of the result as it follows from the operands: what the text leaves out. `Ok(None)`: none follows.
fn inferred_type(
    op: &Op,
    type_of: impl Fn(Value) -> Option<Type>,
    result_of: impl Fn(FuncId) -> Option<Type>,
) -> Result<Option<Type>, Unknown> {
    let of = |v: &Value| type_of(*v).ok_or(Unknown);
    match op {
        Op::Bin(_, a, _) | Op::FNeg(a) | Op::Freeze(a) | Op::Select(_, a, _) | Op::InsertValue(a, ..) => {
            of(a).map(Some)
        }
        Op::Math(_, args) => args.first().map(of).transpose(),
        Op::ExtractValue(a, i) => match of(a)? {
            Type::Struct(fields) => Ok(fields.get(*i as usize).cloned()),
            _ => Ok(None),
        },
        Op::Call(Callee::Direct(f), ..) => Ok(result_of(*f)),
        other => Ok(fixed_result(other)),
    }
}
