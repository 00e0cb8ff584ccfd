//! What a finished derivative tells its tape: calls of the run-time support at its start and at its end.

use pullback_ir::{Callee, Flags, FuncId, Function, Op, Terminator, Value};

/// Let a derivative begin with a call of a function that takes the tape, and a number.
pub fn note_first(derivative: &mut Function, callee: FuncId, number: i64) {
    let (entry, args) = (derivative.entry(), vec![derivative.param_values()[0], derivative.i64(number)]);
    let call = derivative.make_inst(Op::Call(Callee::Direct(callee), args, None), None, Flags::NONE, None);
    derivative.block_mut(entry).insts.insert(0, call);
}

/// Let a derivative that does not panic end with such a call.
pub fn note_last(derivative: &mut Function, callee: FuncId, number: i64) {
    let args = [derivative.param_values()[0], derivative.i64(number)];
    call_last(derivative, callee, &args);
}

/// Let a function end with a call wherever it returns.
pub(crate) fn call_last(func: &mut Function, callee: FuncId, args: &[Value]) {
    for block in func.blocks().collect::<Vec<_>>() {
        if let Terminator::Return(_) = func.block(block).term {
            let call = Op::Call(Callee::Direct(callee), args.to_vec(), None);
            let call = func.make_inst(call, None, Flags::NONE, None);
            func.block_mut(block).insts.push(call);
        }
    }
}
