//! The working copies of the primal are brought into a form that the analyses understand. Each pass keeps what the
//! program computes.
//!
//! | module | does |
//! |---|---|
//! | [`working_copies`] | the primal and what it calls, copied |
//! | [`access_to_branch`] | accesses by way of selected pointers become branches, where objects are not told apart |
//! | [`select_to_branch`] | selections between computed values become branches again |
//! | [`carried_selection`] | what a loop chooses last, its largest value say, is computed again after the loop |
//! | [`unpack`] | aggregates with pointers are read and written field by field |
//! | [`rejoin`] | a pointer that is stored in two halves is stored as a pointer |
//! | [`split_wide_ints`] | wide integers that carry several floats or pointers are taken apart |
//! | [`retype`] | integers that only carry a float's or pointer's bits become floats and pointers |
//! | [`signs`] | integer operations on the sign of a float become float operations |
//! | [`hoist`] | loops that compute the same in each iteration of the loop around them go in front of it |
//! | [`words`] | floats and pointers that may be either become plain words |
//! | `change_types` | how values of a function change their types |

pub mod access_to_branch;
pub mod carried_selection;
mod change_types;
pub mod hoist;
pub mod rejoin;
pub mod retype;
pub mod select_to_branch;
pub mod signs;
pub mod split_wide_ints;
pub mod unpack;
pub mod words;
pub mod working_copies;

use pullback_ir::{Builder, Op, Type, Value};

/// What a branch may test in the place of a selection: LLVM may select by the payload of an enum that is not there, ahead
/// of the question whether it is, and use the result on the other way only. A branch by it would be undefined behaviour,
/// and the sweeps might go different ways. Arguments are what they are.
fn decided(b: &mut Builder<'_>, cond: Value) -> Value {
    let is_argument = b.func.param_values().contains(&cond);
    if is_argument { cond } else { b.value(Op::Freeze(cond), Type::BOOL) }
}
