//! Whether a program may put values into what its arguments lead to, where there were none of their type.
//!
//! In forward mode a skipped field that may borrow is the shadow's own, in its place: there is no other value that
//! could be put there. So the wrapper refuses arguments in which there may be such a field in a new place, by their
//! types: in a `Vec`, which may grow, in an `Option`. A program that writes floats, and nothing else, to memory of its
//! arguments leaves lengths, variants and pointers as they are. Each value is where it was then, and its types do not
//! matter.

use crate::analysis::effects::may_do_anything;
use crate::analysis::points_to::facts::Facts;
use crate::request::Request;
use crate::runtime::TapeUse;
use pullback_ir::{Callee, FuncId, Function, Module, Op, Type, Value};

/// Whether anything but floats may be written to memory of arguments with shadows, be it memory without floats, which
/// has no shadow. The place of the result is none of them.
pub fn renews(module: &Module, facts: &Facts, request: &Request) -> bool {
    let has_shadow = |argument: &usize| {
        let is_result = argument + 1 == request.args.len();
        !is_result && request.args[*argument].activity.has_shadow()
    };
    let of_arguments = |id: FuncId, ptr: Value| {
        facts.object(id, ptr).is_none_or(|object| {
            let origins = facts.objects.origins(object);
            // What a function has returned of which nothing is known may be an argument's.
            origins.foreign || origins.args.iter().chain(&origins.inert).any(has_shadow)
        })
    };
    let renews = |id: FuncId, func: &Function, op: &Op| match op {
        Op::Store { value, .. } if matches!(func.ty(*value), Type::F32 | Type::F64) => false,
        op if let Some(at) = op.written_place() => of_arguments(id, at),
        Op::Call(Callee::Direct(callee), ..) if request.rule(*callee).is_some() => true,
        // What is atomic counts owners, and more.
        Op::Opaque(op) if op.is_atomic() => op.writes && &*op.name != "fence",
        op => may_do_anything(module, facts, op) && TapeUse::of(module, func, op).is_none(),
    };
    // Of clean-ups that stay as they are nothing is known.
    let leaves = |op: &Op| op.cleanup().is_some_and(|cleanup| !facts.functions.contains(&cleanup.func));
    facts.functions.iter().any(|id| {
        let func = module.func(*id);
        func.ops().any(|op| leaves(op) || renews(*id, func, op))
    })
}
