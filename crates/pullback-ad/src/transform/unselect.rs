//! Selections between computed values become branches again.
//!
//! The optimiser turns `if x > 0 { x.sqrt() } else { 0 }` into a computation of both arms and a selection. The value is the same,
//! but not the derivative: where the arm that was not taken has an infinite partial derivative, its cotangent `0 · ∞` would
//! be NaN. So instructions that only feed one arm of a selection, and among which there is one whose derivative may be
//! infinite, are moved into a branch, as the programmer wrote them:
//!
//! ```text
//! v1 = math.sqrt v0                   branch v2, b1, b2(0.0)
//! v3 = select v2, v1, 0.0      ▶    b1: v1 = math.sqrt v0;  jump b2(v1)
//!                                   b2(v3):
//! ```
//! Derivatives are then the same at every optimisation level.

use pullback_ir::cfg::Cfg;
use pullback_ir::{BinOp, Block, BlockCall, Function, Inst, MathFn, Op, Terminator, Value};
use std::collections::{HashMap, HashSet};

/// Rewrite `func`.
pub fn unselect(func: &mut Function) {
    let mut work: Vec<Block> = Cfg::new(func).reverse_postorder().to_vec();
    while let Some(block) = work.pop() {
        if let Some(group) = find(func, block) {
            let join = split(func, block, &group);
            // Both halves may have more.
            work.extend([block, join]);
            work.extend(func.block(block).term.targets().iter().map(|t| t.block).filter(|b| *b != join));
        }
    }
}

/// Selections on one condition, and what only they use.
struct Group {
    cond: Value,
    selects: Vec<Inst>,
    /// Instructions for the first and for the second arm.
    arms: [HashSet<Inst>; 2],
}

/// Whether the derivative of an operation can be infinite or NaN where its operands are finite.
fn is_singular(op: &Op) -> bool {
    match op {
        Op::Bin(BinOp::FDiv | BinOp::FRem, ..) => true,
        Op::Math(f, _) => matches!(
            f,
            MathFn::Sqrt
                | MathFn::Log
                | MathFn::Log2
                | MathFn::Log10
                | MathFn::Log1p
                | MathFn::Pow
                | MathFn::Powi
                | MathFn::Asin
                | MathFn::Acos
                | MathFn::Acosh
                | MathFn::Atanh
                | MathFn::Atan2
                | MathFn::Tan
                | MathFn::Cbrt
                | MathFn::Hypot
                | MathFn::Exp
                | MathFn::Exp2
                | MathFn::Expm1
                | MathFn::Sinh
                | MathFn::Cosh
        ),
        _ => false,
    }
}

fn find(func: &Function, block: Block) -> Option<Group> {
    let insts = &func.block(block).insts;
    let position: HashMap<Inst, usize> = insts.iter().enumerate().map(|(i, inst)| (*inst, i)).collect();
    if !insts.iter().any(|i| is_singular(&func.inst(*i).op)) {
        return None;
    }
    let float_select = |inst: &Inst| match func.inst(*inst).op {
        Op::Select(cond, a, _) if func.ty(a).is_float() => Some(cond),
        _ => None,
    };
    let mut conds: Vec<Value> = Vec::new();
    for cond in insts.iter().filter_map(float_select) {
        if !conds.contains(&cond) {
            conds.push(cond);
        }
    }
    let users = users_in(func, block);
    for cond in conds {
        let selects: Vec<Inst> = insts.iter().copied().filter(|i| float_select(i) == Some(cond)).collect();
        let arms = [0, 1].map(|arm| only_for(func, block, &users, &selects, arm));
        let singular = |set: &HashSet<Inst>| set.iter().any(|i| is_singular(&func.inst(*i).op));
        if !singular(&arms[0]) && !singular(&arms[1]) {
            continue;
        }
        // The branch comes before the first selection: the condition and everything the arms use must be there by then.
        let first = selects.iter().map(|i| position[i]).min()?;
        let ready = |v: Value, arm: &HashSet<Inst>| match func.def_inst(v) {
            Some(i) => arm.contains(&i) || position.get(&i).is_none_or(|p| *p < first),
            None => true,
        };
        let fits = ready(cond, &HashSet::new())
            && [0, 1].iter().all(|arm| {
                let inside =
                    arms[*arm].iter().all(|i| func.inst(*i).op.operands().iter().all(|v| ready(*v, &arms[*arm])));
                let results = selects.iter().all(|s| ready(arm_of(func, *s, *arm), &arms[*arm]));
                inside && results
            });
        if fits {
            return Some(Group { cond, selects, arms });
        }
    }
    None
}

fn arm_of(func: &Function, select: Inst, arm: usize) -> Value {
    match func.inst(select).op {
        Op::Select(_, a, b) => [a, b][arm],
        _ => unreachable!("a group holds selections"),
    }
}

/// For each value: the instructions of `block` that use it, and whether it is used elsewhere.
fn users_in(func: &Function, block: Block) -> HashMap<Value, (Vec<Inst>, bool)> {
    let mut users: HashMap<Value, (Vec<Inst>, bool)> = HashMap::new();
    for other in func.blocks() {
        for inst in &func.block(other).insts {
            for value in func.inst(*inst).op.operands() {
                let entry = users.entry(value).or_default();
                if other == block { entry.0.push(*inst) } else { entry.1 = true }
            }
        }
        let term = &func.block(other).term;
        for value in term.targets().iter().flat_map(|t| t.args.iter().copied()).chain(term.operand()) {
            users.entry(value).or_default().1 = true;
        }
    }
    users
}

/// The instructions of `block` that are used by one arm of these selections only.
fn only_for(
    func: &Function,
    block: Block,
    users: &HashMap<Value, (Vec<Inst>, bool)>,
    selects: &[Inst],
    arm: usize,
) -> HashSet<Inst> {
    let mut set = HashSet::new();
    for inst in func.block(block).insts.iter().rev() {
        let data = func.inst(*inst);
        let Some(result) = data.result.filter(|_| data.op.is_pure() && !selects.contains(inst)) else { continue };
        let Some((inside, outside)) = users.get(&result) else { continue };
        let feeds = |user: &Inst| {
            set.contains(user)
                || (selects.contains(user)
                    && arm_of(func, *user, arm) == result
                    && arm_of(func, *user, 1 - arm) != result
                    && func.inst(*user).op.operands()[0] != result)
        };
        if !outside && inside.iter().all(feeds) {
            set.insert(*inst);
        }
    }
    set
}

/// Split `block` at the group's first selection; the block where both ways meet.
fn split(func: &mut Function, block: Block, group: &Group) -> Block {
    let insts = std::mem::take(&mut func.block_mut(block).insts);
    let (then, otherwise, join) = (func.add_block(), func.add_block(), func.add_block());
    let mut before = Vec::new();
    let mut after = Vec::new();
    let mut seen_select = false;
    for inst in insts {
        if group.arms[0].contains(&inst) {
            func.block_mut(then).insts.push(inst);
        } else if group.arms[1].contains(&inst) {
            func.block_mut(otherwise).insts.push(inst);
        } else if group.selects.contains(&inst) {
            seen_select = true;
        } else if seen_select {
            after.push(inst);
        } else {
            before.push(inst);
        }
    }
    func.block_mut(block).insts = before;
    let (term, loc) = (func.block(block).term.clone(), func.block(block).term_loc);
    let mut args = [Vec::new(), Vec::new()];
    for select in &group.selects {
        for (arm, args) in args.iter_mut().enumerate() {
            args.push(arm_of(func, *select, arm));
        }
    }
    let select_loc = func.inst(group.selects[0]).loc;
    let [then_args, else_args] = args;
    func.block_mut(then).term = Terminator::Jump(BlockCall::new(join, then_args));
    func.block_mut(otherwise).term = Terminator::Jump(BlockCall::new(join, else_args));
    let data = func.block_mut(join);
    (data.insts, data.term, data.term_loc) = (after, term, loc);
    let data = func.block_mut(block);
    data.term = Terminator::Branch(group.cond, BlockCall::new(then, vec![]), BlockCall::new(otherwise, vec![]));
    data.term_loc = select_loc;
    for select in &group.selects {
        let result = func.inst(*select).result.expect("a selection has a result");
        let param = func.add_param(join, func.ty(result).clone());
        func.replace_uses(result, param);
    }
    join
}
