//! What a finished derivative tells its tape: calls of the run-time support at its start and at its end.

use pullback_ir::{Callee, Flags, FuncId, Function, Inst, Op, Terminator};

/// Let a derivative begin with a call of a function that takes the tape, and a number.
pub fn note_first(derivative: &mut Function, callee: FuncId, number: i64) {
    let (entry, call) = (derivative.entry(), note(derivative, callee, number));
    derivative.block_mut(entry).insts.insert(0, call);
}

/// Let a derivative that does not panic end with such a call.
pub fn note_last(derivative: &mut Function, callee: FuncId, number: i64) {
    for block in derivative.blocks().collect::<Vec<_>>() {
        if matches!(derivative.block(block).term, Terminator::Return(_)) {
            let call = note(derivative, callee, number);
            derivative.block_mut(block).insts.push(call);
        }
    }
}

fn note(derivative: &mut Function, callee: FuncId, number: i64) -> Inst {
    let (tape, number) = (derivative.param_values()[0], derivative.i64(number));
    derivative.make_inst(Op::Call(Callee::Direct(callee), vec![tape, number], None), None, Flags::NONE, None)
}
