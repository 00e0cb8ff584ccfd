//! What a loop chooses last is computed again after it, and only that is differentiated.
//!
//! `x.iter().fold(init, f64::max)` hands the larger of two values on, and so does `if x > m { m = x }`. The reverse
//! sweep would have to know of each iteration which one it was, and would pass the cotangent back through all of them.
//! But the cotangent goes to one value. So the loop carries along in which iteration it chose last, and the value of
//! that iteration, computed again, takes the result's place:
//!
//! ```text
//! b0: jump b1(init, first)                 b0:       jump b1(init, first, 0, -1)
//! b1(v1, v2):                              b1(v1, v2, n, place):
//!   v3 = load … v2                           v3 = load … v2
//!   v4 = fcmp ogt v3, v1             ▶       v4 = fcmp ogt v3, v1
//!   v5 = select v4, v3, v1                   v5 = select v4, v3, v1;  last = select v4, n, place
//!   v6 = add v2, 8                           v6 = add v2, 8
//!   branch …, b2(v5), b1(v5, v6)             branch …, test, b1(v5, v6, n + 1, last)
//!                                          test:     branch last == -1, join(init), found
//!                                          found:    w3 = load … (first + last · 8);  jump join(w3)
//!                                          join(r):  jump b2(r)
//! ```
//! What `b1` computes is only compared then, so nothing of it has a cotangent. `maxnum` and `minnum` choose by a
//! comparison that is made for them: the first of several that are equal, as their rules have it. (With `maximum` a NaN
//! would win.)
//!
//! This is done for loops of one block that only read, if what is chosen can be computed from the number of the
//! iteration.

use pullback_ir::counted::{Affine, Counted, Step};
use pullback_ir::{
    BinOp, Block, BlockCall, Builder, Cfg, Constant, ControlFlow, FloatPred, Function, Inst, IntPred, MathFn, Op,
    SourceLoc, Terminator, Type, Uses, Value,
};
use std::collections::{HashMap, HashSet};

/// Rewrite `func`.
pub fn carried_selection(func: &mut Function) {
    let blocks: Vec<Block> = Cfg::new(func).reverse_postorder().to_vec();
    for block in blocks {
        // What was looked up is not wanted of the loop any more.
        while let Some(selection) = find(func, block) {
            selection.look_up(func);
        }
    }
}

/// A value that a loop carries along until it chooses another.
struct Selection {
    /// The loop.
    block: Block,
    /// The value it is entered with.
    initial: Value,
    /// The value of one iteration, and the instructions that compute it.
    candidate: Value,
    slice: Vec<Inst>,
    /// The parameters of the loop that those need.
    inductions: Inductions,
    /// How an iteration chooses between the two.
    choice: Choice,
    /// What it has chosen, and where in the source.
    result: Value,
    loc: Option<SourceLoc>,
}

/// Parameters of a loop: what each is at first, and what is added to it in each iteration.
type Inductions = Vec<(Value, Value, i64)>;

/// How one of two values is chosen.
enum Choice {
    /// The new one, if this is so.
    If(Value),
    /// The new one, unless this is so.
    Unless(Value),
    /// The new one, if it compares with the old one like this; or if the old one is NaN.
    Compare(FloatPred, Value),
}

fn find(func: &Function, block: Block) -> Option<Selection> {
    let data = func.block(block);
    let (back, exit) = back_and_exit(func, block)?;
    let reads = |inst: &Inst| func.inst(*inst).op.is_pure() || matches!(func.inst(*inst).op, Op::Load { .. });
    if !data.insts.iter().all(reads) {
        return None;
    }
    data.params.iter().enumerate().find_map(|(index, so_far)| {
        let result = back.args[index];
        let inst = func.def_inst(result).filter(|inst| data.insts.contains(inst) && func.ty(result).is_float())?;
        let (choice, candidate) = match &func.inst(inst).op {
            Op::Math(MathFn::MaxNum, v) if v[0] == *so_far => (Choice::Compare(FloatPred::Ogt, *so_far), v[1]),
            Op::Math(MathFn::MinNum, v) if v[0] == *so_far => (Choice::Compare(FloatPred::Olt, *so_far), v[1]),
            Op::Select(c, candidate, old) if old == so_far => (Choice::If(*c), *candidate),
            Op::Select(c, old, candidate) if old == so_far => (Choice::Unless(*c), *candidate),
            _ => return None,
        };
        let uses = Uses::new(func);
        let in_loop = |inst: &&Inst| data.insts.contains(inst);
        let passed_on = exit.args.iter().filter(|value| **value == result).count();
        let at_end = uses.ends(result).iter().filter(|end| **end == block).count() - passed_on;
        let is_alone = uses.insts(result).iter().filter(in_loop).count() + at_end == 1;
        // Beside the choice it is only compared, in the loop.
        let compares = |user: &&Inst| **user == inst || in_loop(user) && matches!(func.inst(**user).op, Op::FCmp(..));
        let is_compared = uses.ends(*so_far).is_empty() && uses.insts(*so_far).iter().all(|user| compares(&user));
        let is_wanted = uses.count(result) > 1;
        let slice = slice(func, block, candidate);
        let is_read = slice.iter().any(|inst| matches!(func.inst(*inst).op, Op::Load { .. }));
        if !is_alone || !is_compared || !is_wanted || !is_read {
            return None;
        }
        // It looks at all blocks, so it comes last.
        let (initial, inductions) = inductions(func, block, index, &slice)?;
        let loc = func.inst(inst).loc;
        Some(Selection { block, initial, candidate, slice, inductions, choice, result, loc })
    })
}

/// The value with which a loop of one block is entered for one of its parameters, and the parameters that some of its
/// instructions need, if each grows by the same number in all iterations.
fn inductions(func: &Function, block: Block, index: usize, slice: &[Inst]) -> Option<(Value, Inductions)> {
    let ControlFlow { cfg, doms, loops } = ControlFlow::new(func).ok()?;
    let counted = Counted::new(func, &cfg, &doms, &loops);
    let params = &func.block(block).params;
    let (_, initial, _) = counted.recurrence(params[index])?;
    let needed: HashSet<Value> = slice.iter().flat_map(|inst| func.inst(*inst).op.operands()).collect();
    let induction = |param: &Value| match counted.affine(*param)? {
        Affine { init, step: Step::Constant(step), .. } if matches!(func.ty(*param), Type::Ptr | Type::Int(64)) => {
            Some((*param, init, step))
        }
        _ => None,
    };
    let inductions = params.iter().filter(|param| needed.contains(param)).map(induction).collect::<Option<_>>()?;
    Some((initial, inductions))
}

/// Where a block that is a loop goes back to itself, and where it goes on.
fn back_and_exit(func: &Function, block: Block) -> Option<(&BlockCall, &BlockCall)> {
    match &func.block(block).term {
        Terminator::Branch(_, a, b) if a.block == block && b.block != block => Some((a, b)),
        Terminator::Branch(_, a, b) if b.block == block && a.block != block => Some((b, a)),
        _ => None,
    }
}

/// The instructions of a block that a value is made from, in order.
fn slice(func: &Function, block: Block, value: Value) -> Vec<Inst> {
    let mut needed = HashSet::from([value]);
    let mut slice = Vec::new();
    for inst in func.block(block).insts.iter().rev() {
        if func.inst(*inst).result.is_some_and(|result| needed.contains(&result)) {
            needed.extend(func.inst(*inst).op.operands());
            slice.push(*inst);
        }
    }
    slice.reverse();
    slice
}

impl Selection {
    fn look_up(self, func: &mut Function) {
        let [test, found, join] = std::array::from_fn(|_| func.add_block());
        let (_, exit) = back_and_exit(func, self.block).expect("the block is a loop");
        let exit = exit.clone();
        let mut term = func.block(self.block).term.clone();
        let (zero, none, one) = (func.i64(0), func.i64(-1), func.i64(1));
        let (number, place) = (func.add_param(self.block, Type::I64), func.add_param(self.block, Type::I64));
        let result = func.add_param(join, func.ty(self.result).clone());
        // What uses the result after the loop comes by `join`; in the loop only its end does.
        func.replace_uses(self.result, result);

        let is_number = match func.as_const(self.initial) {
            Some(Constant::F32(bits)) => !f32::from_bits(*bits).is_nan(),
            Some(Constant::F64(bits)) => !f64::from_bits(*bits).is_nan(),
            _ => false,
        };
        let mut b = Builder::new(func, self.block).with_loc(self.loc);
        let mut carried = self.result;
        let last = match self.choice {
            Choice::If(condition) => b.select(condition, number, place),
            Choice::Unless(condition) => b.select(condition, place, number),
            // A processor that waits for the one does not have to wait for the other.
            Choice::Compare(pred, so_far) => {
                let mut is_chosen = b.fcmp(pred, self.candidate, so_far);
                if !is_number {
                    let was_none = b.fcmp(FloatPred::Uno, so_far, so_far);
                    let is_one = b.fcmp(FloatPred::Ord, self.candidate, self.candidate);
                    let is_first = b.bin(BinOp::And, was_none, is_one);
                    is_chosen = b.bin(BinOp::Or, is_chosen, is_first);
                }
                carried = b.select(is_chosen, self.candidate, so_far);
                b.select(is_chosen, number, place)
            }
        };
        let next = b.bin(BinOp::Add, number, one);
        b.at(test);
        let is_initial = b.icmp(IntPred::Eq, last, none);
        b.branch(is_initial, BlockCall::new(join, vec![self.initial]), BlockCall::new(found, vec![]));
        b.at(found);
        let mut values = HashMap::new();
        for (param, first, step) in &self.inductions {
            let step = b.func.i64(*step);
            let distance = b.mul(last, step);
            let is_pointer = *b.func.ty(*param) == Type::Ptr;
            values.insert(*param, if is_pointer { b.ptr_add(*first, distance) } else { b.add(*first, distance) });
        }
        for inst in &self.slice {
            let copy = func.copy_inst(*inst, |value| values.get(&value).copied().unwrap_or(value));
            func.block_mut(found).insts.push(copy);
            values.insert(func.result(*inst), func.result(copy));
        }
        let chosen = values.get(&self.candidate).copied().unwrap_or(self.candidate);
        Builder::new(func, found).jump(join, vec![chosen]);

        let args = exit.args.iter().map(|v| if *v == self.result { result } else { *v }).collect();
        for block in func.blocks().filter(|block| *block != self.block).collect::<Vec<_>>() {
            for call in func.block_mut(block).term.targets_mut().into_iter().filter(|call| call.block == self.block) {
                call.args.extend([zero, none]);
            }
        }
        func.block_mut(join).term = Terminator::Jump(BlockCall::new(exit.block, args));
        func.block_mut(join).term_loc = func.block(self.block).term_loc;
        for call in term.targets_mut() {
            if call.block == self.block {
                call.args.iter_mut().filter(|arg| **arg == self.result).for_each(|arg| *arg = carried);
                call.args.extend([next, last]);
            } else {
                *call = BlockCall::new(test, vec![]);
            }
        }
        func.block_mut(self.block).term = term;
        if carried != self.result {
            let made = |inst: &Inst| func.inst(*inst).result == Some(self.result);
            let unused = func.block(self.block).insts.iter().position(made).expect("the result is made in the loop");
            func.block_mut(self.block).insts.remove(unused);
        }
    }
}
