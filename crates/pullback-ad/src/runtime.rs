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

/// The functions of the run-time support, declared in a module. What each does is in `docs/architecture.md`.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug)]
pub struct Runtime {
    pub push: TapeCall,
    pub fits: FuncId,
    pub out_of_memory: FuncId,
    pub pop: TapeCall,
    pub push_at: FuncId,
    pub pop_at: FuncId,
    pub tape_keep: FuncId,
    pub tape_own: FuncId,
    pub tape_release: FuncId,
    pub shadow_alloc: FuncId,
    pub defer_dealloc: FuncId,
    pub adjoint_copy: FuncId,
    pub zero_lanes: FuncId,
    pub copy_lanes: FuncId,
    pub recount: FuncId,
    pub copy_words: FuncId,
    pub uncopy_words: FuncId,
    pub set_repeatable: FuncId,
    pub save_shadows: FuncId,
    pub settle_shadows: FuncId,
    pub set_sums_aside: FuncId,
}

impl Runtime {
    /// Declare them, for a derivative that is to be differentiated itself or not.
    pub fn declare(module: &mut Module, nested: bool) -> Runtime {
        let mut declare = |name: &str, params: &[Type], ret: Option<Type>| {
            module.declare(name, || Function::new(name, params.to_vec(), ret))
        };
        let (p, i) = (Type::Ptr, Type::I64);
        let [push_at, pop_at] =
            [PUSH_AT, POP_AT].map(|name| declare(name, &[p.clone(), i.clone(), i.clone()], Some(p.clone())));
        let [push, pop] = ["__pullback_tape_push", "__pullback_tape_pop"]
            .map(|name| declare(name, &[p.clone(), i.clone()], Some(p.clone())));
        let of = |plain, at| TapeCall { func: if nested { at } else { plain }, names_site: nested };
        Runtime {
            push: of(push, push_at),
            fits: declare("__pullback_fits", std::slice::from_ref(&i), Some(i.clone())),
            out_of_memory: declare("__pullback_out_of_memory", std::slice::from_ref(&i), None),
            pop: of(pop, pop_at),
            push_at,
            pop_at,
            tape_keep: declare(KEEP, &[p.clone(), i.clone(), i.clone()], Some(p.clone())),
            tape_own: declare(OWN, &[p.clone(), p.clone(), p.clone()], None),
            tape_release: declare(RELEASE, std::slice::from_ref(&p), None),
            shadow_alloc: declare("__pullback_shadow_alloc", &[p.clone(), i.clone(), i.clone()], Some(p.clone())),
            defer_dealloc: declare(DEFER_DEALLOC, &[p.clone(), p.clone(), i.clone(), i.clone()], None),
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
            recount: declare("__pullback_recount", &[p.clone(), i.clone(), i.clone()], None),
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
            set_repeatable: declare(SET_REPEATABLE, &[p.clone(), i.clone()], None),
            save_shadows: declare(SAVE_SHADOWS, &[p.clone(), i.clone()], None),
            settle_shadows: declare(SETTLE_SHADOWS, &[p.clone(), i.clone()], None),
            set_sums_aside: declare(SET_SUMS_ASIDE, &[p, i], None),
        }
    }
}
