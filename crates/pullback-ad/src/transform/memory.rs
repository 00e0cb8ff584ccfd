//! The run-time functions a derivative calls, as the engine sees them.

use pullback_ir::{FuncId, Function, Module, Type};

/// The functions of the run-time support, declared in a module. What each does is in `docs/architecture.md`.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug)]
pub struct Runtime {
    pub tape_push: FuncId,
    pub tape_pop: FuncId,
    pub shadow_alloc: FuncId,
    pub defer_dealloc: FuncId,
    pub adjoint_copy: FuncId,
    pub zero_lanes: FuncId,
    pub copy_lanes: FuncId,
    pub copy_words: FuncId,
    pub uncopy_words: FuncId,
    pub set_reverse: FuncId,
}

impl Runtime {
    /// Declare them.
    pub fn declare(module: &mut Module) -> Runtime {
        let mut declare = |name: &str, params: &[Type], ret: Option<Type>| {
            module.declare(name, || Function::new(name, params.to_vec(), ret))
        };
        let (p, i) = (Type::Ptr, Type::I64);
        Runtime {
            tape_push: declare("__pullback_tape_push", &[p.clone(), i.clone()], Some(p.clone())),
            tape_pop: declare("__pullback_tape_pop", &[p.clone(), i.clone()], Some(p.clone())),
            shadow_alloc: declare("__pullback_shadow_alloc", &[p.clone(), i.clone(), i.clone()], Some(p.clone())),
            defer_dealloc: declare("__pullback_defer_dealloc", &[p.clone(), p.clone(), i.clone(), i.clone()], None),
            adjoint_copy: declare(
                "__pullback_adjoint_copy",
                &[p.clone(), p.clone(), i.clone(), i.clone(), i.clone(), i.clone()],
                None,
            ),
            zero_lanes: declare(
                "__pullback_zero_lanes",
                &[p.clone(), i.clone(), i.clone(), i.clone(), i.clone()],
                None,
            ),
            copy_lanes: declare(
                "__pullback_copy_lanes",
                &[p.clone(), p.clone(), i.clone(), i.clone(), i.clone(), i.clone()],
                None,
            ),
            copy_words: declare(
                "__pullback_copy_words",
                &[p.clone(), p.clone(), p.clone(), i.clone(), i.clone(), i.clone(), i.clone()],
                None,
            ),
            uncopy_words: declare(
                "__pullback_uncopy_words",
                &[p.clone(), p.clone(), p.clone(), i.clone(), i.clone(), i.clone(), i.clone()],
                None,
            ),
            set_reverse: declare("__pullback_set_reverse", &[p.clone(), p, i], None),
        }
    }
}
