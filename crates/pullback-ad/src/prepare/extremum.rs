//! The largest of many values is looked up after the loop that finds it, and only that one is differentiated.
//!
//! `x.iter().fold(init, f64::max)` hands the larger of two values on. The reverse sweep would have to know of each
//! iteration which one it was, and would pass the cotangent back through all of them; and a loop that keeps something
//! is not vector code, as the primal's is. But the cotangent goes to one value. So a second loop looks for the first
//! that is equal to the result, and that value takes the result's place:
//!
//! ```text
//! b1(v1, v2):                              b1(v1, v2): …                        as before, but to `test`
//!   v3 = load … v2                         test:    branch v4 == init, join(init), search(first)
//!   v4 = math.maxnum v1, v3          ▶     search(w2): w3 = load … w2;  branch w3 == v4, found, next
//!   v5 = add v2, 1                         next:    branch …, join(init), search(w2 + 1)
//!   branch …, b2(v4), b1(v4, v5)           found:   u3 = load … w2;  jump join(u3)
//!                                          join(r): jump b2(r)
//! ```
//! What `b1` and `search` compute is only compared, so nothing of them has a cotangent. The first of several that are
//! equal is chosen, `init` before all others, as the rule for `maxnum` has it.
//!
//! This is done for loops of one block that only read. With `maximum`, where a NaN wins, there would be nothing to look
//! for; `maxnum` does not care which of +0 and −0 it returns.

use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, BlockCall, Builder, FloatPred, Function, Inst, MathFn, Op, Terminator, Value};
use std::collections::{HashMap, HashSet};

/// Rewrite `func`.
pub fn look_up_extrema(func: &mut Function) {
    let blocks: Vec<Block> = Cfg::new(func).reverse_postorder().to_vec();
    for block in blocks {
        if let Some(extremum) = find(func, block) {
            extremum.look_up(func);
        }
    }
}

/// A loop that finds the largest or smallest of some values.
struct Extremum {
    /// The loop.
    block: Block,
    /// Which of its parameters is the largest so far.
    index: usize,
    /// What the parameters are at first.
    first: Vec<Value>,
    /// The value of one iteration.
    candidate: Value,
    /// The instruction that compares it with the largest so far, and its result.
    choice: Inst,
    result: Value,
}

fn find(func: &Function, block: Block) -> Option<Extremum> {
    let data = func.block(block);
    let (back, _) = back_and_exit(func, block)?;
    let reads = |inst: &Inst| func.inst(*inst).op.is_pure() || matches!(func.inst(*inst).op, Op::Load { .. });
    if !data.insts.iter().all(reads) {
        return None;
    }
    data.params.iter().enumerate().find_map(|(index, so_far)| {
        let result = back.args[index];
        let choice = func.def_inst(result).filter(|inst| data.insts.contains(inst))?;
        let Op::Math(MathFn::MaxNum | MathFn::MinNum, operands) = &func.inst(choice).op else { return None };
        let [a, candidate] = operands[..] else { return None };
        let alone = a == *so_far && uses(func, *so_far) == 1 && uses_in_loop(func, block, result) == 1;
        let is_read = slice(func, block, candidate).iter().any(|inst| matches!(func.inst(*inst).op, Op::Load { .. }));
        // It looks at all blocks, so it comes last.
        let first = (alone && is_read).then(|| entry(func, block))??;
        Some(Extremum { block, index, first, candidate, choice, result })
    })
}

/// Where a block that is a loop goes back to itself, and where it goes on.
fn back_and_exit(func: &Function, block: Block) -> Option<(&BlockCall, &BlockCall)> {
    match &func.block(block).term {
        Terminator::Branch(_, a, b) if a.block == block && b.block != block => Some((a, b)),
        Terminator::Branch(_, a, b) if b.block == block && a.block != block => Some((b, a)),
        _ => None,
    }
}

/// The values with which a loop of one block is entered, if there is one way in.
fn entry(func: &Function, block: Block) -> Option<Vec<Value>> {
    let others = func.blocks().filter(|other| *other != block);
    let terms: Vec<&Terminator> = others.map(|other| &func.block(other).term).collect();
    let mut calls = terms.into_iter().flat_map(|term| term.targets()).filter(|call| call.block == block);
    let only = calls.next().filter(|_| calls.next().is_none())?;
    Some(only.args.clone())
}

/// How often a value is used.
fn uses(func: &Function, value: Value) -> usize {
    func.blocks().map(|block| uses_in(func, block, value)).sum()
}

fn uses_in(func: &Function, block: Block, value: Value) -> usize {
    let mut count = 0;
    let data = func.block(block);
    for inst in &data.insts {
        count += func.inst(*inst).op.operands().iter().filter(|v| **v == value).count();
    }
    data.term.clone().map_operands(|v| {
        count += usize::from(v == value);
        v
    });
    count
}

/// How often a value is used in a loop of one block, not counting what is passed on from it.
fn uses_in_loop(func: &Function, block: Block, value: Value) -> usize {
    let passed = |(_, exit): (&BlockCall, &BlockCall)| exit.args.iter().filter(|v| **v == value).count();
    uses_in(func, block, value) - back_and_exit(func, block).map_or(0, passed)
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

impl Extremum {
    fn look_up(self, func: &mut Function) {
        let [test, search, next, found, join] = std::array::from_fn(|_| func.add_block());
        let data = func.block(self.block).clone();
        let (_, exit) = back_and_exit(func, self.block).expect("the block is a loop");
        let exit = exit.clone();
        let loc = func.inst(self.choice).loc;
        let initial = self.first[self.index];
        let others = |values: &[Value]| -> Vec<Value> {
            let others = values.iter().enumerate().filter(|(index, _)| *index != self.index);
            others.map(|(_, value)| *value).collect()
        };

        let here = others(&data.params);
        let there: Vec<Value> = here.iter().map(|v| func.add_param(search, func.ty(*v).clone())).collect();
        let params: HashMap<Value, Value> = here.into_iter().zip(there).collect();
        let result = func.add_param(join, func.ty(self.result).clone());

        let mut searched = params.clone();
        let insts: Vec<Inst> = data.insts.iter().copied().filter(|inst| *inst != self.choice).collect();
        repeat(func, search, &insts, &mut searched);
        let mut again = params;
        let candidate = slice(func, self.block, self.candidate);
        repeat(func, found, &candidate, &mut again);
        let of = |values: &HashMap<Value, Value>, value: Value| values.get(&value).copied().unwrap_or(value);

        let mut b = Builder::new(func, test);
        b.loc = loc;
        let is_initial = b.fcmp(FloatPred::Oeq, initial, self.result);
        b.branch(is_initial, BlockCall::new(join, vec![initial]), BlockCall::new(search, others(&self.first)));
        b.at(search);
        let is_it = b.fcmp(FloatPred::Oeq, of(&searched, self.candidate), self.result);
        b.branch(is_it, BlockCall::new(found, vec![]), BlockCall::new(next, vec![]));
        b.at(found);
        b.jump(join, vec![of(&again, self.candidate)]);

        let mut term = data.term.clone();
        for target in term.targets_mut() {
            *target = if target.block == self.block {
                BlockCall::new(search, others(&target.args))
            } else {
                BlockCall::new(join, vec![initial])
            };
        }
        term.map_operands(|v| of(&searched, v));
        func.block_mut(next).term = term;
        func.block_mut(next).term_loc = data.term_loc;

        // Whoever uses the result after the loop comes by `join`.
        let args = exit.args.iter().map(|v| if *v == self.result { result } else { *v }).collect();
        let new = [self.block, test, search, next, found];
        let after: Vec<Block> = func.blocks().filter(|block| !new.contains(block)).collect();
        for block in after {
            replace_in(func, block, self.result, result);
        }
        func.block_mut(join).term = Terminator::Jump(BlockCall::new(exit.block, args));
        func.block_mut(join).term_loc = data.term_loc;
        for target in func.block_mut(self.block).term.targets_mut() {
            if target.block != self.block {
                *target = BlockCall::new(test, vec![]);
            }
        }
    }
}

/// Append instructions once more, with other values for some; those that they make are added to `values`.
fn repeat(func: &mut Function, block: Block, insts: &[Inst], values: &mut HashMap<Value, Value>) {
    for inst in insts {
        let data = func.inst(*inst).clone();
        let op = data.op.map_operands(|v| values.get(&v).copied().unwrap_or(v));
        let ty = data.result.map(|result| func.ty(result).clone());
        let copy = func.make_inst(op, ty, data.flags, data.loc);
        func.block_mut(block).insts.push(copy);
        if let (Some(old), Some(new)) = (data.result, func.inst(copy).result) {
            values.insert(old, new);
        }
    }
}

fn replace_in(func: &mut Function, block: Block, from: Value, to: Value) {
    let replaced = |v: Value| if v == from { to } else { v };
    for inst in func.block(block).insts.clone() {
        let op = func.inst(inst).op.clone();
        func.inst_mut(inst).op = op.map_operands(replaced);
    }
    func.block_mut(block).term.map_operands(replaced);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rewritten;

    #[test]
    fn a_maximum_is_looked_up() {
        let before = "\
fn @f(v0: ptr, v1: i64, v2: f64) -> f64 {
b0:
  jump b1(v2, 0:i64)
b1(v3: f64, v4: i64):
  v6 = mul v4, 8:i64
  v7 = ptradd v0, v6
  v8 = load f64 v7
  v9 = math.maxnum v3, v8
  v10 = add v4, 1:i64
  v11 = icmp eq v10, v1
  branch v11, b2(v9), b1(v9, v10)
b2(v5: f64):
  v12 = fadd v5, v9
  return v12
}
";
        let after = "\
fn @f(v0: ptr, v1: i64, v2: f64) -> f64 {
b0:
  jump b1(v2, 0:i64)
b1(v3: f64, v4: i64):
  v6 = mul v4, 8:i64
  v7 = ptradd v0, v6
  v8 = load f64 v7
  v9 = math.maxnum v3, v8
  v10 = add v4, 1:i64
  v11 = icmp eq v10, v1
  branch v11, b3, b1(v9, v10)
b2(v5: f64):
  v12 = fadd v5, v17
  return v12
b3:
  v26 = fcmp oeq v2, v9
  branch v26, b7(v2), b4(0:i64)
b4(v16: i64):
  v18 = mul v16, 8:i64
  v19 = ptradd v0, v18
  v20 = load f64 v19
  v21 = add v16, 1:i64
  v22 = icmp eq v21, v1
  v27 = fcmp oeq v20, v9
  branch v27, b6, b5
b5:
  branch v22, b7(v2), b4(v21)
b6:
  v23 = mul v16, 8:i64
  v24 = ptradd v0, v23
  v25 = load f64 v24
  jump b7(v25)
b7(v17: f64):
  jump b2(v17)
}
";
        assert_eq!(rewritten(before, look_up_extrema), after);
    }

    #[track_caller]
    fn unchanged(body: &str) {
        let text = format!("fn @f(v0: ptr, v1: i64, v2: f64) -> f64 {{\n{}\n}}\n", body.trim_matches('\n'));
        assert_eq!(rewritten(&text, look_up_extrema), text);
    }

    #[test]
    fn a_largest_value_so_far_that_is_used_in_the_loop_stays() {
        unchanged(
            "
b0:
  jump b1(v2, 0.0f64, 0:i64)
b1(v3: f64, v4: f64, v5: i64):
  v6 = ptradd v0, v5
  v7 = load f64 v6
  v8 = math.maxnum v3, v7
  v9 = fadd v4, v8
  v10 = add v5, 8:i64
  v11 = icmp eq v10, v1
  branch v11, b2, b1(v8, v9, v10)
b2:
  return v9",
        );
    }

    #[test]
    fn a_loop_that_writes_stays() {
        unchanged(
            "
b0:
  jump b1(v2, 0:i64)
b1(v3: f64, v4: i64):
  v5 = ptradd v0, v4
  v6 = load f64 v5
  store v5, 0.0f64
  v7 = math.minnum v3, v6
  v8 = add v4, 8:i64
  v9 = icmp eq v8, v1
  branch v9, b2, b1(v7, v8)
b2:
  return v7",
        );
    }
}
