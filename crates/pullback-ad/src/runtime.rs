//! The run-time functions a derivative calls, as the engine sees them.

use pullback_ir::{Builder, Callee, Constant, FuncId, Function, Module, Op, Type, Value};

/// How bytes get onto a tape, or off it. In a derivative that is differentiated itself, each push and pop names its
/// site.
#[derive(Clone, Copy, Debug)]
pub struct TapeCall {
    /// The function.
    pub func: FuncId,
    names_site: bool,
}

impl TapeCall {
    /// The call as an operation.
    pub fn op(self, func: &mut Function, tape: Value, bytes: Value, site: i64) -> Op {
        let mut args = vec![tape, bytes];
        if self.names_site {
            args.push(func.i64(site));
        }
        Op::Call(Callee::Direct(self.func), args, None)
    }

    /// Call it at the end of the block: the address of the bytes.
    pub fn call(self, b: &mut Builder, tape: Value, bytes: Value, site: i64) -> Value {
        let op = self.op(b.func, tape, bytes, site);
        b.value(op, Type::Ptr)
    }
}

/// A push that names its site: in the code of a derivative that is differentiated.
pub const PUSH_AT: &str = "__pullback_tape_push_at";
/// The pop of such a push.
pub const POP_AT: &str = "__pullback_tape_pop_at";
/// New memory that stays as long as a tape.
pub const KEEP: &str = "__pullback_tape_keep";
/// A value that is dropped with a tape.
pub const OWN: &str = "__pullback_tape_own";
/// What belongs to a tape is dropped.
pub const RELEASE: &str = "__pullback_tape_release";
/// A note on a tape.
pub const SET_REPEATABLE: &str = "__pullback_set_repeatable";
/// The caller's shadows are put aside, in case of a panic, or may be forgotten.
pub const SAVE_SHADOWS: &str = "__pullback_save_shadows";
const SETTLE_SHADOWS: &str = "__pullback_settle_shadows";
const SET_SUMS_ASIDE: &str = "__pullback_set_sums_aside";
/// New memory of C's heap.
pub const HEAP_ALLOC: [&str; 2] = ["__pullback_heap_alloc", "__pullback_heap_alloc_zeroed"];
/// Memory that is given back with a tape.
pub const DEFER_DEALLOC: &str = "__pullback_defer_dealloc";

/// What a call does with a tape, in the code of a derivative that is differentiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TapeUse {
    /// New bytes, at this site.
    Push(i64),
    /// The bytes that were pushed last, at this site.
    Pop(i64),
    /// New bytes that stay as long as the tape.
    Keep,
    /// Something is noted on the tape.
    Note,
    /// The memory of the second argument is given back with the tape.
    Defer,
    /// A call of this function with the second argument, when the tape is dropped.
    Own(Option<FuncId>),
}

impl TapeUse {
    /// What this call does; `None` if it is another one.
    pub fn of(module: &Module, func: &Function, op: &Op) -> Option<TapeUse> {
        let Op::Call(Callee::Direct(callee), args, _) = op else { return None };
        let callee = module.func(*callee);
        let site = || func.as_int(*args.get(2)?).map(|n| n as i64);
        match callee.name.as_str() {
            _ if !callee.is_declaration() => None,
            PUSH_AT => site().map(TapeUse::Push),
            POP_AT => site().map(TapeUse::Pop),
            KEEP => Some(TapeUse::Keep),
            SET_REPEATABLE | SAVE_SHADOWS | SETTLE_SHADOWS | SET_SUMS_ASIDE | RELEASE => Some(TapeUse::Note),
            OWN => Some(TapeUse::Own(args.get(2).and_then(|f| match func.as_const(*f) {
                Some(Constant::Func(release)) => Some(*release),
                _ => None,
            }))),
            DEFER_DEALLOC => Some(TapeUse::Defer),
            _ => None,
        }
    }
}

const P: Type = Type::Ptr;
const I: Type = Type::I64;

/// Makes the structure of the functions, and what declares them, from a table: field, name, parameters and result.
macro_rules! runtime {
    ($($field:ident = $name:expr, ($($param:ident),*) $(-> $ret:ident)?;)*) => {
        /// The functions of the run-time support, declared in a module. What each does is in `docs/architecture.md`.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug)]
        pub struct Runtime {
            pub push: TapeCall,
            pub pop: TapeCall,
            pub push_at: FuncId,
            pub pop_at: FuncId,
            $(pub $field: FuncId,)*
        }

        impl Runtime {
            /// Declare them, for a derivative that is to be differentiated itself or not.
            pub fn declare(module: &mut Module, nested: bool) -> Runtime {
                let mut declare = |name: &str, params: &[Type], ret: Option<Type>| {
                    module.declare(name, || Function::new(name, params.to_vec(), ret))
                };
                let [push_at, pop_at] = [PUSH_AT, POP_AT].map(|name| declare(name, &[P, I, I], Some(P)));
                let plain = ["__pullback_tape_push", "__pullback_tape_pop"].map(|name| declare(name, &[P, I], Some(P)));
                let used = if nested { [push_at, pop_at] } else { plain };
                let [push, pop] = used.map(|func| TapeCall { func, names_site: nested });
                Runtime {
                    push,
                    pop,
                    push_at,
                    pop_at,
                    $($field: declare($name, &[$($param),*], None$(.or(Some($ret)))?),)*
                }
            }
        }
    };
}

runtime! {
    fits = "__pullback_fits", (I) -> I;
    out_of_memory = "__pullback_out_of_memory", (I);
    tape_keep = KEEP, (P, I, I) -> P;
    tape_own = OWN, (P, P, P);
    tape_release = RELEASE, (P);
    shadow_alloc = "__pullback_shadow_alloc", (P, I, I) -> P;
    heap_size = "__pullback_heap_size", (P) -> I;
    defer_dealloc = DEFER_DEALLOC, (P, P, I, I);
    adjoint_copy = "__pullback_adjoint_copy", (P, P, I, I, I, I);
    zero_lanes = "__pullback_zero_lanes", (P, I, I, I, I);
    copy_lanes = "__pullback_copy_lanes", (P, P, I, I, I, I);
    recount = "__pullback_recount", (P, I, I);
    copy_words = "__pullback_copy_words", (P, P, P, I, I, I, I);
    uncopy_words = "__pullback_uncopy_words", (P, P, P, I, I, I, I);
    set_repeatable = SET_REPEATABLE, (P, I);
    save_shadows = SAVE_SHADOWS, (P, I);
    settle_shadows = SETTLE_SHADOWS, (P, I);
    set_sums_aside = SET_SUMS_ASIDE, (P, I);
}
