//! Between which numbers an integer lies where it is used.
//!
//! Two sources: a branch on `i < 8` bounds `i` in the blocks that are only reached when it holds, and a counted loop with
//! constant bounds bounds its counter. Bounds checks of arrays are of the first kind, so an index into an array that lies
//! beside other fields is known to stay inside the array.

use super::counted::{self, Affine, Counted, Step};
use pullback_ir::cfg::Cfg;
use pullback_ir::dominators::Dominators;
use pullback_ir::loops::Loops;
use pullback_ir::{Block, Function, IntPred, Op, Terminator, Type, Value};
use std::collections::HashMap;

/// The bounds of one function's integers.
#[derive(Clone, Debug)]
pub struct Ranges {
    doms: Dominators,
    /// In the blocks that this block dominates, the value lies between these.
    bounds: HashMap<Value, Vec<(Block, i64, i64)>>,
}

impl Ranges {
    /// Read the bounds off the branches and loops of `func`.
    pub fn new(func: &Function) -> Ranges {
        let cfg = Cfg::new(func);
        let doms = Dominators::new(&cfg);
        let mut bounds: HashMap<Value, Vec<(Block, i64, i64)>> = HashMap::new();
        for block in cfg.reverse_postorder() {
            let Terminator::Branch(cond, then, otherwise) = &func.block(*block).term else { continue };
            let Some(Op::ICmp(pred, a, b)) = func.def_inst(*cond).map(|i| func.inst(i).op.clone()) else { continue };
            let (value, pred, limit) = match (func.as_int(a), func.as_int(b)) {
                (None, Some(limit)) => (a, pred, limit),
                (Some(limit), None) => (b, counted::swapped(pred), limit),
                _ => continue,
            };
            let Ok(limit) = i64::try_from(limit) else { continue };
            for (target, pred) in [(then.block, pred), (otherwise.block, counted::inverse(pred))] {
                // Only if there is no other way into the target.
                if then.block != otherwise.block
                    && cfg.predecessors(target) == [*block]
                    && let Some((lo, hi)) = range(pred, limit)
                {
                    bounds.entry(value).or_default().push((target, lo, hi));
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
                    if *func.ty(*param) == Type::Ptr {
                        continue;
                    }
                    let Some(init) = func.as_int(init).and_then(|n| i64::try_from(n).ok()) else { continue };
                    let Some(last) = step.checked_mul(count - 1).and_then(|d| init.checked_add(d)) else {
                        continue;
                    };
                    bounds.entry(*param).or_default().push((data.header, init.min(last), init.max(last)));
                }
            }
        }
        Ranges { doms, bounds }
    }

    /// Between which numbers `value` lies in `block`.
    pub fn of(&self, value: Value, block: Block) -> Option<(i64, i64)> {
        let all = self.bounds.get(&value)?.iter().filter(|(root, ..)| self.doms.dominates(*root, block));
        all.map(|(_, lo, hi)| (*lo, *hi)).reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))
    }
}

/// The numbers `v` with `v pred limit`.
fn range(pred: IntPred, limit: i64) -> Option<(i64, i64)> {
    // A number that is less than a positive one, seen without sign, is not negative either.
    match pred {
        IntPred::Eq => Some((limit, limit)),
        IntPred::Ult if limit > 0 => Some((0, limit - 1)),
        IntPred::Ule if limit >= 0 => Some((0, limit)),
        IntPred::Slt => Some((i64::MIN, limit.checked_sub(1)?)),
        IntPred::Sle => Some((i64::MIN, limit)),
        IntPred::Sgt => Some((limit.checked_add(1)?, i64::MAX)),
        IntPred::Sge => Some((limit, i64::MAX)),
        _ => None,
    }
}
