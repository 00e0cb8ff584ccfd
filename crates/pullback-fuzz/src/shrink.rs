//! Makes a failing program smaller while it fails in the same way.
//!
//! Tried in turn until nothing more helps: a branch becomes a jump, an effect is left out, what is not used goes, a
//! value is replaced by an operand or a constant, an argument that is not used goes.

use crate::check::{Checks, Failure, Verdict, check};
use crate::generate::Program;
use pullback_ir::{Block, BlockCall, Callee, FuncId, Function, Inst, Module, Op, Terminator, Type, Value, ValueDef};
use std::collections::HashSet;

/// How many candidates are tried at most.
const ATTEMPTS: usize = 4000;

/// A smaller program that fails in the same way, and how.
pub fn shrink(program: &Program, failure: &Failure, checks: Checks) -> (Program, Failure) {
    let mut best = (program.clone(), failure.clone());
    let mut attempts = 0;
    loop {
        let mut progress = false;
        for step in [jumps, effects, unused, values, arguments] {
            let mut index = 0;
            while let Some(candidate) = step(&best.0, index) {
                attempts += 1;
                if attempts > ATTEMPTS {
                    return best;
                }
                match check(&candidate, checks) {
                    Verdict::Bad(f) if f.is_like(failure) => {
                        best = (candidate, f);
                        progress = true;
                    }
                    _ => index += 1,
                }
            }
        }
        if !progress {
            return best;
        }
    }
}

/// The functions that the primal needs, callees first.
pub fn needed(program: &Program) -> Vec<FuncId> {
    let mut order = reachable(&program.module, program.primal);
    order.reverse();
    order
}

/// A function and all it calls, callers first.
pub fn reachable(module: &Module, root: FuncId) -> Vec<FuncId> {
    fn visit(module: &Module, id: FuncId, order: &mut Vec<FuncId>) {
        if order.contains(&id) {
            return;
        }
        order.push(id);
        let func = module.func(id);
        for block in func.blocks() {
            for inst in &func.block(block).insts {
                if let Op::Call(Callee::Direct(callee), ..) = &func.inst(*inst).op {
                    visit(module, *callee, order);
                }
            }
        }
    }
    let mut order = Vec::new();
    visit(module, root, &mut order);
    order
}

/// Change one place of one function: `change` is given the functions in turn with how many places to pass by, and
/// says how many it passed if the place is not in this one.
fn edit(
    program: &Program,
    mut index: usize,
    places: impl Fn(&Function) -> usize,
    change: impl Fn(&mut Function, usize),
) -> Option<Program> {
    for id in needed(program) {
        let count = places(program.module.func(id));
        if index < count {
            let mut candidate = program.clone();
            change(candidate.module.func_mut(id), index);
            tidy(candidate.module.func_mut(id));
            return Some(candidate);
        }
        index -= count;
    }
    None
}

/// Leave out blocks that are not reached.
fn tidy(func: &mut Function) {
    if func.is_declaration() {
        return;
    }
    let mut reached = HashSet::new();
    let mut work = vec![func.entry()];
    while let Some(block) = work.pop() {
        if reached.insert(block) {
            work.extend(func.block(block).term.targets().iter().map(|t| t.block));
        }
    }
    func.retain_blocks(|b| reached.contains(&b));
}

/// A branch or switch becomes a jump to one of its targets.
fn jumps(program: &Program, index: usize) -> Option<Program> {
    let places = |func: &Function| -> Vec<(Block, BlockCall)> {
        let branches = func.blocks().filter(|b| func.block(*b).term.targets().len() > 1);
        branches.flat_map(|b| func.block(b).term.targets().into_iter().map(move |t| (b, t.clone()))).collect()
    };
    edit(
        program,
        index,
        |f| places(f).len(),
        |func, index| {
            let (block, target) = places(func).swap_remove(index);
            func.block_mut(block).term = Terminator::Jump(target);
        },
    )
}

/// An instruction without a result goes.
fn effects(program: &Program, index: usize) -> Option<Program> {
    let places = |func: &Function| -> Vec<(Block, usize)> {
        let insts = |b: Block| func.block(b).insts.iter().enumerate();
        let without = |b: Block| insts(b).filter(|(_, i)| func.inst(**i).result.is_none()).map(move |(k, _)| (b, k));
        func.blocks().flat_map(without).collect()
    };
    edit(
        program,
        index,
        |f| places(f).len(),
        |func, index| {
            let (block, at) = places(func)[index];
            func.block_mut(block).insts.remove(at);
        },
    )
}

/// An instruction whose result is not used goes.
fn unused(program: &Program, index: usize) -> Option<Program> {
    let places = |func: &Function| -> Vec<(Block, usize)> {
        let is_unused = |i: Inst| func.inst(i).result.is_some_and(|v| !is_used(func, v));
        let insts = |b: Block| func.block(b).insts.iter().enumerate();
        func.blocks().flat_map(|b| insts(b).filter(|(_, i)| is_unused(**i)).map(move |(k, _)| (b, k))).collect()
    };
    edit(
        program,
        index,
        |f| places(f).len(),
        |func, index| {
            let (block, at) = places(func)[index];
            func.block_mut(block).insts.remove(at);
        },
    )
}

/// A value is replaced by an operand of its type, or by a constant.
fn values(program: &Program, index: usize) -> Option<Program> {
    let places = |func: &Function| -> Vec<(Block, usize, Option<Value>)> {
        let mut all = Vec::new();
        for block in func.blocks() {
            for (at, inst) in func.block(block).insts.iter().enumerate() {
                let Some(result) = func.inst(*inst).result else { continue };
                let ty = func.ty(result);
                let operands = func.inst(*inst).op.operands();
                if ty.is_float() || ty.is_int() {
                    all.push((block, at, None));
                }
                let like = operands.into_iter().filter(|v| func.ty(*v) == ty && is_local(func, *v));
                all.extend(like.map(|v| (block, at, Some(v))));
            }
        }
        all
    };
    edit(
        program,
        index,
        |f| places(f).len(),
        |func, index| {
            let (block, at, by) = places(func)[index];
            let inst = func.block_mut(block).insts.remove(at);
            let result = func.inst(inst).result.expect("chosen so");
            let ty = func.ty(result).clone();
            let by = by.unwrap_or_else(|| constant(func, &ty));
            func.replace_uses(result, by);
        },
    )
}

fn is_local(func: &Function, value: Value) -> bool {
    !matches!(func.value(value).def, ValueDef::Const(_))
}

fn constant(func: &mut Function, ty: &Type) -> Value {
    if ty.is_float() { func.float(ty.clone(), 0.75) } else { func.int(ty.clone(), 0) }
}

/// An argument that is not used goes.
fn arguments(program: &Program, index: usize) -> Option<Program> {
    let func = program.module.func(program.primal);
    let params = func.param_values();
    let unused: Vec<usize> = (0..params.len().saturating_sub(1)).filter(|i| !is_used(func, params[*i])).collect();
    let at = *unused.get(index)?;
    let mut candidate = program.clone();
    candidate.request.args.remove(at);
    candidate.image.args.remove(at);
    let func = candidate.module.func_mut(program.primal);
    remove_param(func, at);
    Some(candidate)
}

fn is_used(func: &Function, value: Value) -> bool {
    func.blocks().any(|b| {
        let block = func.block(b);
        block.insts.iter().any(|i| func.inst(*i).op.operands().contains(&value))
            || block.term.operand() == Some(value)
            || block.term.targets().iter().any(|t| t.args.contains(&value))
    })
}

/// The function without one of its parameters: rebuilt, since a parameter knows its position.
fn remove_param(func: &mut Function, at: usize) {
    let entry = func.entry();
    let old = func.block(entry).params.clone();
    let types: Vec<Type> = old.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, v)| func.ty(*v).clone()).collect();
    func.block_mut(entry).params.clear();
    for ty in &types {
        func.add_param(entry, ty.clone());
    }
    let new = func.block(entry).params.clone();
    let kept = old.into_iter().enumerate().filter(|(i, _)| *i != at).map(|(_, v)| v);
    for (old, new) in kept.zip(new) {
        func.replace_uses(old, new);
    }
    func.params = types;
}
