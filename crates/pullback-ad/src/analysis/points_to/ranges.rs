//! Between which numbers an integer lies where it is used.
//!
//! Three sources: a branch on `i < 8` bounds `i` in the blocks that are only reached when it holds, and on the edge
//! itself; a counted loop with constant bounds bounds its counter; a selection bounds what it selects. Bounds checks of
//! arrays are of the first kind, so an index into an array that lies beside other fields is known to stay inside the
//! array.

use crate::analysis::points_to::numbers::range;
use crate::analysis::points_to::offsets::Offsets;
use pullback_ir::cfg::Cfg;
use pullback_ir::counted::{Affine, Counted, Step};
use pullback_ir::dominators::Dominators;
use pullback_ir::loops::Loops;
use pullback_ir::{BinOp, Block, Function, IntPred, Op, Terminator, Type, Value};
use std::collections::HashMap;

/// What a comparison with a constant says of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// It is one of these, both ends included.
    Between(i64, i64),
    /// It is not this one.
    Not(i64),
}

impl Bound {
    /// The numbers `v` with `v pred limit`.
    fn new(pred: IntPred, limit: i64) -> Option<Bound> {
        // A number that is less than a positive one, seen without sign, is not negative either.
        Some(match pred {
            IntPred::Eq => Bound::Between(limit, limit),
            IntPred::Ne => Bound::Not(limit),
            IntPred::Ult if limit > 0 => Bound::Between(0, limit - 1),
            IntPred::Ule if limit >= 0 => Bound::Between(0, limit),
            IntPred::Slt => Bound::Between(i64::MIN, limit.checked_sub(1)?),
            IntPred::Sle => Bound::Between(i64::MIN, limit),
            IntPred::Sgt => Bound::Between(limit.checked_add(1)?, i64::MAX),
            IntPred::Sge => Bound::Between(limit, i64::MAX),
            _ => return None,
        })
    }

    /// Those of the numbers that it allows.
    pub fn of(self, known: &Offsets) -> Offsets {
        match self {
            Bound::Between(lo, hi) => known.within(lo, hi),
            Bound::Not(number) => known.without(number),
        }
    }
}

/// The bounds of one function's integers.
#[derive(Clone, Debug)]
pub struct Ranges {
    doms: Dominators,
    /// What holds of a value in the blocks that this block dominates.
    bounds: HashMap<Value, Vec<(Block, Bound)>>,
}

impl Ranges {
    /// Read the bounds off the branches and loops of `func`.
    pub fn new(func: &Function) -> Ranges {
        let cfg = Cfg::new(func);
        let doms = Dominators::new(&cfg);
        let mut bounds: HashMap<Value, Vec<(Block, Bound)>> = HashMap::new();
        for block in cfg.reverse_postorder() {
            let term = &func.block(*block).term;
            for (index, target) in term.targets().iter().enumerate() {
                // Only if there is no other way into the target.
                let ways = term.targets().iter().filter(|t| t.block == target.block).count();
                if ways == 1 && cfg.predecessors(target.block) == [*block] {
                    for (value, bound) in on_edge(func, term, index) {
                        bounds.entry(value).or_default().push((target.block, bound));
                    }
                }
            }
        }
        if let Ok(loops) = Loops::new(func, &cfg, &doms) {
            let counted = Counted::new(func, &cfg, &doms, &loops);
            for (id, data) in loops.iter() {
                let Some(trips) = counted.trip_count(id, |b| cfg.can_return(b)) else { continue };
                let Some(count) = trips.constant(func) else { continue };
                for param in &func.block(data.header).params {
                    let Some(Affine { init, step: Step::Constant(step), .. }) = counted.affine(*param) else {
                        continue;
                    };
                    let Type::Int(bits) = *func.ty(*param) else { continue };
                    let Some(init) = func.as_int(init).and_then(|n| i64::try_from(n).ok()) else { continue };
                    let Some(last) = step.checked_mul(count - 1).and_then(|d| init.checked_add(d)) else {
                        continue;
                    };
                    // Beyond the range a counter without sign is a negative number.
                    let (lo, hi) = (init.min(last), init.max(last));
                    if range(bits).0 <= lo && hi <= range(bits).1 {
                        bounds.entry(*param).or_default().push((data.header, Bound::Between(lo, hi)));
                    }
                }
            }
        }
        Ranges { doms, bounds }
    }

    /// Those of the `known` numbers that `value` may be in `block`.
    pub fn narrow(&self, value: Value, block: Block, known: Offsets) -> Offsets {
        let all = self.bounds.get(&value).into_iter().flatten();
        let here = all.filter(|(root, _)| self.doms.dominates(*root, block));
        here.fold(known, |known, (_, bound)| bound.of(&known))
    }
}

/// What holds where a block is left by its edge of this number.
pub fn on_edge(func: &Function, term: &Terminator, index: usize) -> Vec<(Value, Bound)> {
    match term {
        Terminator::Branch(cond, ..) => implied(func, *cond, index == 0),
        Terminator::Switch(value, cases, _) => {
            let Type::Int(bits) = *func.ty(*value) else { return Vec::new() };
            let unused = 128 - u32::from(bits);
            let number = |(case, _): &(u128, _)| i64::try_from((*case << unused) as i128 >> unused).ok();
            match cases.get(index) {
                Some(case) => number(case).map(|n| (*value, Bound::Between(n, n))).into_iter().collect(),
                None => cases.iter().filter_map(number).map(|n| (*value, Bound::Not(n))).collect(),
            }
        }
        _ => Vec::new(),
    }
}

/// What holds of numbers where a condition does, or does not.
pub fn implied(func: &Function, cond: Value, holds: bool) -> Vec<(Value, Bound)> {
    let mut found = Vec::new();
    let mut open = vec![cond];
    // Conditions are small; one that is not says less.
    for _ in 0..8 {
        let Some(cond) = open.pop() else { break };
        let Some(op) = func.def_op(cond) else { continue };
        match *op {
            Op::ICmp(pred, a, b) => {
                let pred = if holds { pred } else { pred.inverse() };
                found.extend(comparison(func, pred, a, b));
            }
            // Both hold where their conjunction does, and neither where their disjunction does not.
            Op::Bin(BinOp::And, a, b) if holds => open.extend([a, b]),
            Op::Bin(BinOp::Or, a, b) if !holds => open.extend([a, b]),
            Op::Select(c, a, b) if holds && func.as_int(b) == Some(0) => open.extend([c, a]),
            Op::Select(c, a, b) if !holds && func.as_int(a).is_some_and(|a| a != 0) => open.extend([c, b]),
            Op::Freeze(a) => open.push(a),
            _ => {}
        }
    }
    found
}

/// What `a pred b` says, where one of them is a constant.
fn comparison(func: &Function, pred: IntPred, a: Value, b: Value) -> Option<(Value, Bound)> {
    let (value, pred, limit) = match (func.as_int(a), func.as_int(b)) {
        (None, Some(limit)) => (a, pred, limit),
        (Some(limit), None) => (b, pred.swapped(), limit),
        _ => return None,
    };
    let bound = Bound::new(pred, i64::try_from(limit).ok()?)?;
    func.ty(value).is_int().then_some((value, bound))
}
