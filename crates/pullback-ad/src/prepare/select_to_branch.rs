//! Selections between computed values become branches again.
//!
//! The optimiser turns `if x > 0 { x.sqrt() } else { 0 }` into a computation of both arms and a selection. The value is
//! the same, but not the derivative: where the arm that was not taken has an infinite partial derivative, its cotangent
//! `0 · ∞` would be NaN. So instructions that only feed one arm of a selection, and among which there is one whose
//! derivative may be infinite, are moved into a branch, as the programmer wrote them:
//!
//! ```text
//! v1 = math.sqrt v0                   branch v2, b1, b2(0.0)
//! v3 = select v2, v1, 0.0      ▶    b1: v1 = math.sqrt v0;  jump b2(v1)
//!                                   b2(v3):
//! ```
//! Derivatives are then the same at every optimisation level. What the optimiser computes ahead of a branch, without a
//! selection, is beyond this pass; there the driver keeps LLVM from doing so (`pullback-llvm`, `speculation.rs`).

use pullback_ir::cfg::Cfg;
use pullback_ir::{BinOp, Block, BlockCall, Function, Inst, Op, Terminator, Value};
use pullback_rules::rule;
use std::collections::{HashMap, HashSet};

/// Rewrite `func`.
pub fn select_to_branch(func: &mut Function) {
    let mut work: Vec<Block> = Cfg::new(func).reverse_postorder().to_vec();
    let mut uses: Option<Uses> = None;
    let mut replaced: HashMap<Value, Value> = HashMap::new();
    while let Some(block) = work.pop() {
        if !may_have_group(func, block) {
            continue;
        }
        let uses = uses.get_or_insert_with(|| Uses::new(func));
        if let Some(group) = find(func, block, uses) {
            let join = split(func, block, &group, uses, &mut replaced);
            // Both halves may have more.
            work.extend([block, join]);
            work.extend(func.block(block).term.targets().iter().map(|t| t.block).filter(|b| *b != join));
        }
    }
    if !replaced.is_empty() {
        func.map_values(|value| replaced.get(&value).copied().unwrap_or(value));
    }
}

/// Selections on one condition, and what only they use.
struct Group {
    cond: Value,
    selects: Vec<Inst>,
    /// Instructions for the first and for the second arm.
    arms: [HashSet<Inst>; 2],
}

/// Whether a partial derivative of an operation can be infinite or NaN. For a product it can where data is: missing
/// values are often NaN. What has constant partial derivatives, or those 0 and ±1, cannot.
fn is_singular(func: &Function, inst: Inst) -> bool {
    let varies = |value: &Value| func.as_const(*value).is_none();
    match &func.inst(inst).op {
        Op::Bin(BinOp::FDiv | BinOp::FRem, _, divisor) => varies(divisor),
        Op::Bin(BinOp::FMul, a, b) => varies(a) && varies(b),
        Op::Math(function, _) => !rule(*function).is_bounded(),
        _ => false,
    }
}

/// The condition of a selection between floats.
fn float_select(func: &Function, inst: Inst) -> Option<Value> {
    match func.inst(inst).op {
        Op::Select(cond, a, _) if func.ty(a).is_float() => Some(cond),
        _ => None,
    }
}

/// Whether a look at a block is worth while.
fn may_have_group(func: &Function, block: Block) -> bool {
    let insts = &func.block(block).insts;
    insts.iter().any(|i| float_select(func, *i).is_some()) && insts.iter().any(|i| is_singular(func, *i))
}

fn find(func: &Function, block: Block, uses: &Uses) -> Option<Group> {
    let insts = &func.block(block).insts;
    let position: HashMap<Inst, usize> = insts.iter().enumerate().map(|(i, inst)| (*inst, i)).collect();
    let float_select = |inst: &Inst| float_select(func, *inst);
    let selects: Vec<Inst> = insts.iter().copied().filter(|i| float_select(i).is_some()).collect();
    // From the last on: a selection within the arm of another goes there with it, and is found again in its new block.
    // Those on one condition go together if they can, so that there is one branch.
    for last in selects.iter().rev() {
        let alike: Vec<Inst> = selects.iter().copied().filter(|i| float_select(i) == float_select(last)).collect();
        let together = alike.last() == Some(last);
        for selects in together.then_some(alike).into_iter().chain([vec![*last]]) {
            let group = Group::new(func, block, uses, selects);
            if group.is_singular(func) && group.fits(func, &position) {
                return Some(group);
            }
        }
    }
    None
}

impl Group {
    fn new(func: &Function, block: Block, uses: &Uses, selects: Vec<Inst>) -> Group {
        let Op::Select(cond, ..) = func.inst(selects[0]).op else { unreachable!("a group holds selections") };
        let arms = [0, 1].map(|arm| only_for(func, block, uses, &selects, arm));
        Group { cond, selects, arms }
    }

    fn is_singular(&self, func: &Function) -> bool {
        self.arms.iter().flatten().any(|inst| is_singular(func, *inst))
    }

    /// The branch comes before the first selection: whether the condition and everything the arms use are there by
    /// then.
    fn fits(&self, func: &Function, position: &HashMap<Inst, usize>) -> bool {
        let Some(first) = self.selects.iter().map(|i| position[i]).min() else { return false };
        let before = |v: Value| func.def_inst(v).is_none_or(|i| position.get(&i).is_none_or(|p| *p < first));
        let fits = |arm: usize| {
            let ready = |v: Value| before(v) || func.def_inst(v).is_some_and(|i| self.arms[arm].contains(&i));
            let inside = self.arms[arm].iter().all(|i| func.inst(*i).op.operands().iter().all(|v| ready(*v)));
            inside && self.selects.iter().all(|s| ready(arm_of(func, *s, arm)))
        };
        before(self.cond) && fits(0) && fits(1)
    }
}

fn arm_of(func: &Function, select: Inst, arm: usize) -> Value {
    match func.inst(select).op {
        Op::Select(_, a, b) => [a, b][arm],
        _ => unreachable!("a group holds selections"),
    }
}

/// Who uses which value.
struct Uses {
    /// The instructions that use a value. Selections that are branches now are in no block any more.
    users: HashMap<Value, Vec<Inst>>,
    /// Values that ends of blocks use.
    at_ends: HashSet<Value>,
    home: HashMap<Inst, Block>,
}

impl Uses {
    fn new(func: &Function) -> Self {
        let mut uses = Uses { users: HashMap::new(), at_ends: HashSet::new(), home: HashMap::new() };
        for block in func.blocks() {
            for inst in &func.block(block).insts {
                for value in func.inst(*inst).op.operands() {
                    uses.users.entry(value).or_default().push(*inst);
                }
            }
            uses.moved(func, block);
        }
        uses
    }

    /// A block has other instructions, or another end.
    fn moved(&mut self, func: &Function, block: Block) {
        self.home.extend(func.block(block).insts.iter().map(|inst| (*inst, block)));
        let term = &func.block(block).term;
        self.at_ends.extend(term.targets().iter().flat_map(|t| t.args.iter().copied()).chain(term.operand()));
    }
}

/// The instructions of `block` that are used by one arm of these selections only.
fn only_for(func: &Function, block: Block, uses: &Uses, selects: &[Inst], arm: usize) -> HashSet<Inst> {
    let mut set = HashSet::new();
    for inst in func.block(block).insts.iter().rev() {
        let data = func.inst(*inst);
        let Some(result) = data.result.filter(|_| data.op.is_pure() && !selects.contains(inst)) else { continue };
        let Some(users) = uses.users.get(&result).filter(|_| !uses.at_ends.contains(&result)) else { continue };
        let feeds = |user: &Inst| {
            set.contains(user)
                || (selects.contains(user)
                    && arm_of(func, *user, arm) == result
                    && arm_of(func, *user, 1 - arm) != result
                    && func.inst(*user).op.operands()[0] != result)
        };
        let feeds = |user: &Inst| uses.home.get(user).is_none_or(|home| *home == block && feeds(user));
        if users.iter().all(feeds) {
            set.insert(*inst);
        }
    }
    set
}

/// Split `block` at the group's first selection; the block where both ways meet. What takes the place of the selections
/// is noted.
fn split(
    func: &mut Function,
    block: Block,
    group: &Group,
    uses: &mut Uses,
    replaced: &mut HashMap<Value, Value>,
) -> Block {
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
        replaced.insert(result, param);
        uses.home.remove(select);
    }
    for block in [block, then, otherwise, join] {
        uses.moved(func, block);
    }
    join
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rewritten;

    /// The body of `fn @f(v0: f64, v1: f64, v2: i1) -> f64` before and after.
    fn check(before: &str, after: &str) {
        let function =
            |body: &str| format!("fn @f(v0: f64, v1: f64, v2: i1) -> f64 {{\n{}\n}}\n", body.trim_matches('\n'));
        assert_eq!(rewritten(&function(before), select_to_branch), function(after));
    }

    #[track_caller]
    fn unchanged(body: &str) {
        check(body, body);
    }

    #[test]
    fn a_guarded_root_goes_behind_a_branch() {
        check(
            "
b0:
  v3 = math.sqrt v0
  v4 = select v2, v3, 0.0f64
  return v4",
            "
b0:
  branch v2, b1, b2
b1:
  v3 = math.sqrt v0
  jump b3(v3)
b2:
  jump b3(0.0f64)
b3(v6: f64):
  return v6",
        );
    }

    #[test]
    fn what_only_feeds_the_guarded_value_goes_with_it() {
        check(
            "
b0:
  v3 = fadd v0, 1.0f64
  v4 = fsub v1, v0
  v5 = fdiv v3, v4
  v6 = fadd v5, v1
  v7 = select v2, v0, v6
  v8 = fadd v7, v4
  return v8",
            "
b0:
  v4 = fsub v1, v0
  branch v2, b1, b2
b1:
  jump b3(v0)
b2:
  v3 = fadd v0, 1.0f64
  v5 = fdiv v3, v4
  v6 = fadd v5, v1
  jump b3(v6)
b3(v10: f64):
  v8 = fadd v10, v4
  return v8",
        );
    }

    #[test]
    fn selections_on_one_condition_share_a_branch() {
        check(
            "
b0:
  v3 = math.log v0
  v4 = select v2, v3, v1
  v5 = fdiv v1, v0
  v6 = select v2, 1.0f64, v5
  v7 = fadd v4, v6
  return v7",
            "
b0:
  branch v2, b1, b2
b1:
  v3 = math.log v0
  jump b3(v3, 1.0f64)
b2:
  v5 = fdiv v1, v0
  jump b3(v1, v5)
b3(v9: f64, v10: f64):
  v7 = fadd v9, v10
  return v7",
        );
    }

    #[test]
    fn guards_within_guards_are_unfolded_one_by_one() {
        check(
            "
b0:
  v3 = fcmp ogt v0, v1
  v4 = math.log v0
  v5 = math.sqrt v4
  v6 = select v3, v5, v1
  v7 = select v2, v6, v0
  return v7",
            "
b0:
  branch v2, b1, b2
b1:
  v3 = fcmp ogt v0, v1
  branch v3, b4, b5
b2:
  jump b3(v0)
b3(v8: f64):
  return v8
b4:
  v4 = math.log v0
  v5 = math.sqrt v4
  jump b6(v5)
b5:
  jump b6(v1)
b6(v9: f64):
  jump b3(v9)",
        );
    }

    #[test]
    fn missing_data_may_be_nan_so_a_product_is_guarded() {
        check(
            "
b0:
  v3 = fmul v0, v1
  v4 = select v2, v3, -0.0f64
  return v4",
            "
b0:
  branch v2, b1, b2
b1:
  v3 = fmul v0, v1
  jump b3(v3)
b2:
  jump b3(-0.0f64)
b3(v6: f64):
  return v6",
        );
    }

    #[test]
    fn constant_partial_derivatives_need_no_guard() {
        unchanged(
            "
b0:
  v3 = fmul v0, 3.0f64
  v4 = fdiv v3, 7.0f64
  v5 = fadd v4, v1
  v6 = math.fabs v5
  v7 = select v2, v6, v1
  return v7",
        );
    }

    #[test]
    fn a_value_that_is_used_on_both_ways_stays() {
        unchanged(
            "
b0:
  v3 = math.sqrt v0
  v4 = select v2, v3, v1
  v5 = fadd v4, v3
  return v5",
        );
        unchanged(
            "
b0:
  v3 = math.sqrt v0
  v4 = select v2, v3, v3
  return v4",
        );
    }

    #[test]
    fn a_value_the_condition_depends_on_stays() {
        unchanged(
            "
b0:
  v3 = math.sqrt v0
  v4 = fcmp olt v3, v1
  v5 = select v4, v3, v1
  return v5",
        );
    }

    // A load cannot be moved: something may have been stored there meanwhile. What is computed from it can.
    #[test]
    fn loads_stay_where_they_are() {
        check(
            "
b0:
  v3 = alloca 8 align 8
  store v3, v0
  v4 = load f64 v3
  v5 = math.sqrt v4
  store v3, v1
  v6 = select v2, v5, v1
  return v6",
            "
b0:
  v3 = alloca 8 align 8
  store v3, v0
  v4 = load f64 v3
  store v3, v1
  branch v2, b1, b2
b1:
  v5 = math.sqrt v4
  jump b3(v5)
b2:
  jump b3(v1)
b3(v7: f64):
  return v7",
        );
    }

    // The block is cut at the first selection of a group, and there the second one's arm is not ready.
    #[test]
    fn a_selection_that_uses_another_on_the_same_condition_goes_alone() {
        check(
            "
b0:
  v3 = math.sqrt v0
  v4 = select v2, v3, v1
  v5 = fadd v4, v1
  v6 = select v2, v5, v0
  return v6",
            "
b0:
  branch v2, b1, b2
b1:
  branch v2, b4, b5
b2:
  jump b3(v0)
b3(v7: f64):
  return v7
b4:
  v3 = math.sqrt v0
  jump b6(v3)
b5:
  jump b6(v1)
b6(v8: f64):
  v5 = fadd v8, v1
  jump b3(v5)",
        );
    }
}
