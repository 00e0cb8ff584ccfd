//! An access by way of a selected pointer becomes an access in each arm of a branch.
//!
//! The optimiser turns `if c { p.y } else { q.a }` into one load at a selected address. Points-to analysis has one
//! object for all that a pointer may reach, so it takes what lies behind `p` and what lies behind `q` for one object;
//! if their floats and pointers lie at different places, it can no longer tell them apart. Where a derivative cannot be
//! had for that reason, it is tried again after this:
//!
//! ```text
//! v3 = select v2, v0, v1              branch v2, b1, b2
//! v4 = ptradd v3, 8:i64        ▶    b1: v6 = ptradd v0, 8:i64;  v7 = load f64 v6;  jump b3(v7)
//! v5 = load f64 v4                  b2: v8 = ptradd v1, 8:i64;  v9 = load f64 v8;  jump b3(v9)
//!                                   b3(v5):
//! ```
//! A selection stays whose pointer is used in any other way, or whose two pointers are into the same memory by what
//! they are made of.

use super::decided;
use pullback_ir::{Block, BlockCall, Builder, Function, Inst, Op, Type, Uses, Value};
use std::collections::HashMap;

/// Rewrite `func`. Whether anything changed.
pub fn access_to_branch(func: &mut Function) -> bool {
    let mut changed = false;
    // An arm may be a selection too: its accesses are taken apart then.
    while let Some(selection) = find(func) {
        let mut replaced = HashMap::new();
        for access in &selection.accesses {
            split(func, &selection, access, &mut replaced);
        }
        func.map_values(|value| replaced.get(&value).copied().unwrap_or(value));
        for block in func.blocks().collect::<Vec<_>>() {
            func.block_mut(block).insts.retain(|inst| !selection.unused.contains(inst));
        }
        changed = true;
    }
    changed
}

/// A selected pointer, and all that is done with it.
struct Selection {
    pointer: Value,
    cond: Value,
    arms: [Value; 2],
    accesses: Vec<Access>,
    /// What is not used once the accesses are taken apart: the selection, and addresses made from it.
    unused: Vec<Inst>,
}

/// A load or store, and the additions that lead from the selected pointer to its address.
struct Access {
    inst: Inst,
    additions: Vec<Inst>,
}

fn find(func: &Function) -> Option<Selection> {
    let uses = Uses::new(func);
    func.insts().find_map(|inst| {
        let data = func.inst(inst);
        let (Op::Select(cond, a, b), Some(result)) = (&data.op, data.result) else { return None };
        if *func.ty(result) != Type::Ptr || root(func, *a) == root(func, *b) {
            return None;
        }
        let mut found =
            Selection { pointer: result, cond: *cond, arms: [*a, *b], accesses: Vec::new(), unused: vec![inst] };
        let mut work = vec![(result, Vec::new())];
        while let Some((pointer, additions)) = work.pop() {
            if !uses.ends(pointer).is_empty() {
                return None;
            }
            for user in uses.insts(pointer) {
                match (&func.inst(*user).op, func.inst(*user).result) {
                    (Op::Load { .. }, _) => {}
                    (Op::Store { value, .. }, _) if *value != pointer => {}
                    (Op::PtrAdd(base, offset), Some(sum)) if *base == pointer && *offset != pointer => {
                        work.push((sum, additions.iter().copied().chain([*user]).collect()));
                        found.unused.push(*user);
                        continue;
                    }
                    _ => return None,
                }
                found.accesses.push(Access { inst: *user, additions: additions.clone() });
            }
        }
        (!found.accesses.is_empty()).then_some(found)
    })
}

/// What a pointer was before numbers were added to it.
fn root(func: &Function, mut pointer: Value) -> Value {
    while let Some(Op::PtrAdd(base, _)) = func.def_op(pointer) {
        pointer = *base;
    }
    pointer
}

/// Split the block of an access: it happens in one of two blocks, and the rest in a third one.
fn split(func: &mut Function, selection: &Selection, access: &Access, replaced: &mut HashMap<Value, Value>) {
    let place = |block| Some((block, func.block(block).insts.iter().position(|inst| *inst == access.inst)?));
    let (block, at) = func.blocks().find_map(place).expect("the access is in a block");
    let join = func.split_block(block, at);
    func.block_mut(join).insts.remove(0);
    let arms = [0, 1].map(|index| BlockCall::new(arm(func, selection, index, access, join), vec![]));
    let (result, loc) = (func.inst(access.inst).result, func.inst(access.inst).loc);
    let [then, otherwise] = arms;
    let mut b = Builder::new(func, block).with_loc(loc);
    let cond = decided(&mut b, selection.cond);
    b.branch(cond, then, otherwise);
    if let Some(result) = result {
        let param = func.add_param(join, func.ty(result).clone());
        replaced.insert(result, param);
    }
}

/// A block with the access by way of one of the pointers.
fn arm(func: &mut Function, selection: &Selection, index: usize, access: &Access, join: Block) -> Block {
    let block = func.add_block();
    let (mut old, mut new) = (selection.pointer, selection.arms[index]);
    for inst in access.additions.iter().chain([&access.inst]) {
        let copy = func.copy_inst(*inst, |value| if value == old { new } else { value });
        func.block_mut(block).insts.push(copy);
        if let (Some(from), Some(to)) = (func.inst(*inst).result, func.inst(copy).result) {
            (old, new) = (from, to);
        }
    }
    let loaded = func.inst(access.inst).result.map(|_| new);
    Builder::new(func, block).jump(join, loaded.into_iter().collect());
    block
}
