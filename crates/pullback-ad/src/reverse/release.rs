//! What rules keep is dropped as long as the memory is there that it may refer to.
//!
//! A pullback that owns something belongs to the tape, and is dropped with it. If it also refers to the arguments of
//! its rule, that is too late: memory on the derivative's own stack is gone when the wrapper drops the tape, and when
//! the primal panics its clean-ups give memory back at once. So such a derivative drops what rules keep before it
//! returns, and before it cleans up:
//!
//! ```text
//! call @h.augmented(tape, …)
//! call @g(v3) cleanup @f.cleanup.release(tape, v2)              fn @f.cleanup.release(v0, v1) {
//! …                                                               call @__pullback_tape_release(v0)
//! call @__pullback_tape_release(tape)                             call @f.cleanup(v1)
//! return                                                          return }
//! ```
//! Only a derivative whose two sweeps are one function has memory on the stack; in others it is on the tape.

use crate::reverse::notes::call_last;
use crate::session::Session;
use pullback_ir::{Builder, Callee, Cleanup, FuncId, Function, Inst, Op, Type};
use std::collections::HashMap;

/// Let functions of a derivative, whose first parameter is the tape, drop what rules keep; `whole` is the one with both
/// sweeps. Hands back the clean-ups that are made for it.
pub fn release(session: &mut Session, functions: &[FuncId], whole: Option<FuncId>) -> Vec<FuncId> {
    let mut cleanups: HashMap<FuncId, FuncId> = HashMap::new();
    for id in functions {
        let mut func = session.module.func(*id).clone();
        if func.is_declaration() {
            continue;
        }
        let tape = func.param_values()[0];
        let release = session.runtime.tape_release;
        let calls: Vec<Inst> = func.insts().collect();
        for inst in calls {
            let cleanup = match func.inst(inst).op.cleanup().cloned() {
                Some(Cleanup { func: old, mut args }) => {
                    let both = *cleanups.entry(old).or_insert_with(|| releasing(session, old));
                    args.insert(0, tape);
                    Cleanup { func: both, args }
                }
                None if whole == Some(*id) && may_panic(session, &func.inst(inst).op) => {
                    Cleanup { func: release, args: vec![tape] }
                }
                None => continue,
            };
            match &mut func.inst_mut(inst).op {
                Op::Call(_, _, place) => *place = Some(cleanup),
                Op::Opaque(opaque) => opaque.cleanup = Some(cleanup),
                _ => unreachable!("only calls clean up"),
            }
        }
        if whole == Some(*id) {
            call_last(&mut func, release, &[tape]);
        }
        *session.module.func_mut(*id) = func;
    }
    cleanups.into_values().collect()
}

/// Whether a call may panic, as far as its callee's name tells.
fn may_panic(session: &Session, op: &Op) -> bool {
    match op {
        Op::Call(Callee::Direct(callee), ..) => {
            let callee = session.module.func(*callee);
            !(callee.is_declaration() && callee.name.starts_with("__pullback_"))
        }
        Op::Call(Callee::Indirect(_), ..) => true,
        _ => false,
    }
}

/// A function that drops what rules keep, and then cleans up.
fn releasing(session: &mut Session, cleanup: FuncId) -> FuncId {
    let (params, name) = (session.module.func(cleanup).params.clone(), session.module.func(cleanup).name.clone());
    let params = [Type::Ptr].into_iter().chain(params).collect();
    let mut func = Function::new(format!("{}.{name}.release", session.name), params, None);
    let (entry, args) = func.add_entry();
    let mut b = Builder::new(&mut func, entry);
    b.call_void(session.runtime.tape_release, vec![args[0]]);
    b.call_void(cleanup, args[1..].to_vec());
    b.ret(None);
    session.module.add_function(func)
}
