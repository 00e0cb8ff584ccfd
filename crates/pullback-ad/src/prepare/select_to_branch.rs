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

use super::decided;
use pullback_ir::cfg::Cfg;
use pullback_ir::{BinOp, Block, BlockCall, Builder, Function, Inst, Op, Uses, Value};
use pullback_rules::rule;
use std::collections::{HashMap, HashSet};

/// Rewrite `func`.
pub fn select_to_branch(func: &mut Function) {
    let mut work: Vec<Block> = Cfg::new(func).reverse_postorder().to_vec();
    let mut users: Option<Users> = None;
    let mut replaced: HashMap<Value, Value> = HashMap::new();
    while let Some(block) = work.pop() {
        if !may_have_group(func, block) {
            continue;
        }
        let users = users.get_or_insert_with(|| Users::new(func));
        if let Some(group) = find(func, block, users) {
            let join = split(func, block, &group, users, &mut replaced);
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

fn find(func: &Function, block: Block, users: &Users) -> Option<Group> {
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
            let group = Group::new(func, block, users, selects);
            if group.is_singular(func) && group.fits(func, &position) {
                return Some(group);
            }
        }
    }
    None
}

impl Group {
    fn new(func: &Function, block: Block, users: &Users, selects: Vec<Inst>) -> Group {
        let Op::Select(cond, ..) = func.inst(selects[0]).op else { unreachable!("a group holds selections") };
        let arms = [0, 1].map(|arm| only_for(func, block, users, &selects, arm));
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

/// Who uses which value, and where.
struct Users {
    uses: Uses,
    /// The block of each instruction. Selections that are branches now are in no block any more.
    home: HashMap<Inst, Block>,
}

impl Users {
    fn new(func: &Function) -> Self {
        let mut users = Users { uses: Uses::new(func), home: HashMap::new() };
        func.blocks().for_each(|block| users.moved(func, block));
        users
    }

    /// A block has other instructions.
    fn moved(&mut self, func: &Function, block: Block) {
        self.home.extend(func.block(block).insts.iter().map(|inst| (*inst, block)));
    }
}

/// The instructions of `block` that are used by one arm of these selections only.
fn only_for(func: &Function, block: Block, users: &Users, selects: &[Inst], arm: usize) -> HashSet<Inst> {
    let (Users { uses, home }, mut set) = (users, HashSet::new());
    for inst in func.block(block).insts.iter().rev() {
        let data = func.inst(*inst);
        let Some(result) = data.result.filter(|_| data.op.is_pure() && !selects.contains(inst)) else { continue };
        if uses.insts(result).is_empty() || !uses.ends(result).is_empty() {
            continue;
        }
        let feeds = |user: &Inst| {
            set.contains(user)
                || (selects.contains(user)
                    && arm_of(func, *user, arm) == result
                    && arm_of(func, *user, 1 - arm) != result
                    && func.inst(*user).op.operands()[0] != result)
        };
        let feeds = |user: &Inst| home.get(user).is_none_or(|home| *home == block && feeds(user));
        if uses.insts(result).iter().all(feeds) {
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
    users: &mut Users,
    replaced: &mut HashMap<Value, Value>,
) -> Block {
    let arms = group.arms.each_ref().map(|moved| {
        let arm = func.add_block();
        func.block_mut(arm).insts = func.block(block).insts.iter().copied().filter(|i| moved.contains(i)).collect();
        arm
    });
    let insts = &func.block(block).insts;
    let first = insts.iter().position(|i| group.selects.contains(i)).expect("a group holds selections of the block");
    let join = func.split_block(block, first);
    let stays = |inst: &Inst| !group.selects.contains(inst) && !group.arms.iter().any(|moved| moved.contains(inst));
    for half in [block, join] {
        func.block_mut(half).insts.retain(stays);
    }
    for (index, arm) in arms.into_iter().enumerate() {
        let chosen = group.selects.iter().map(|select| arm_of(func, *select, index)).collect();
        Builder::new(func, arm).jump(join, chosen);
    }
    let loc = func.inst(group.selects[0]).loc;
    let [then, otherwise] = arms.map(|arm| BlockCall::new(arm, vec![]));
    let mut b = Builder::new(func, block).with_loc(loc);
    let cond = decided(&mut b, group.cond);
    b.branch(cond, then, otherwise);
    if let Some(frozen) = func.def_inst(cond).filter(|_| cond != group.cond) {
        users.uses.add_inst(func, frozen);
        users.home.insert(frozen, block);
    }
    for select in &group.selects {
        let result = func.result(*select);
        let param = func.add_param(join, func.ty(result).clone());
        replaced.insert(result, param);
        users.home.remove(select);
    }
    for new in [arms[0], arms[1], join] {
        users.moved(func, new);
        users.uses.add_end(func, new);
    }
    users.uses.add_end(func, block);
    join
}
