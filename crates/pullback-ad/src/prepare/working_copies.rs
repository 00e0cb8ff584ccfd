//! Copies of the primal and of all that it calls, for the other passes to change: another request may want the
//! originals.

use crate::analysis::scope::{self, OnPanic};
use crate::request::Request;
use crate::runtime::TapeUse;
use pullback_ir::{Callee, Constant, FuncId, Function, Inst, Module, Op, Type};
use std::collections::HashMap;

/// Let the working copy `id` name working copies as what is called when a tape is dropped.
fn released(module: &mut Module, id: FuncId, copies: &HashMap<FuncId, FuncId>) {
    let func = module.func(id);
    let release = |inst| match TapeUse::of(module, func, &func.inst(inst).op) {
        Some(TapeUse::Own(Some(release))) => Some((inst, *copies.get(&release)?)),
        _ => None,
    };
    let calls: Vec<(Inst, FuncId)> = func.insts().filter_map(release).collect();
    let func = module.func_mut(id);
    for (inst, copy) in calls {
        let copy = func.constant(Type::Ptr, Constant::Func(copy));
        func.inst_mut(inst).op.call_args_mut()[2] = copy;
    }
}

/// Copies of the primal and of all it calls, to change at will; calls among them go to the copies. The copy of a
/// function with a rule has no body.
pub fn working_copies(
    module: &mut Module,
    primal: FuncId,
    request: &Request,
    on_panic: OnPanic,
    name: &str,
) -> HashMap<FuncId, FuncId> {
    let originals = scope::functions(module, primal, on_panic);
    let copies: HashMap<FuncId, FuncId> = originals
        .iter()
        .map(|id| {
            let original = module.func(*id);
            let mut copy = match request.rule(*id) {
                Some(_) => Function::new(&*original.name, original.params.clone(), original.ret.clone()),
                None => original.clone(),
            };
            copy.name = format!("{name}.of.{}", copy.name);
            (*id, module.add_function(copy))
        })
        .collect();
    for copy in copies.values() {
        released(module, *copy, &copies);
        let func = module.func_mut(*copy);
        for index in 0..func.inst_bound() {
            let op = &mut func.inst_mut(Inst::from_index(index)).op;
            if let Op::Call(Callee::Direct(callee), ..) = op
                && let Some(copy) = copies.get(callee)
            {
                *callee = *copy;
            }
            if let Some(cleanup) = op.cleanup_mut()
                && let Some(copy) = copies.get(&cleanup.func)
            {
                cleanup.func = *copy;
            }
        }
    }
    copies
}
