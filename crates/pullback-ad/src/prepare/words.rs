//! Values that are not what their type says become plain words.
//!
//! A payload that is a float in one variant and a pointer in another is moved without a look at the variant, and the
//! optimiser moves it as whatever it likes: an `i64`, but also as an `f64` that is a pointer at times, or as a pointer
//! that is a float. Where a value of such a place is stored again, or its bits are used, it becomes an `i64`:
//!
//! ```text
//! v2 = load f64 v0           v2 = load i64 v0
//! store v1, v2        ▶      store v1, v2
//! v3 = fadd v2, 1.0          v4 = bitcast f64 v2; v3 = fadd v4, 1.0
//! ```
//! The rest of the engine then knows of one kind of value only that may be either.

use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::Kinds;
use crate::prepare::change_types::{can_change, change_types};
use crate::prepare::retype::CleanupParams;
use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, CastOp, Copies, FuncId, Function, Op, Type, Value};
use std::collections::{HashMap, HashSet};

/// Rewrite `func`, which `facts` know as `id`. Whether anything changed.
pub fn words(func: &mut Function, id: FuncId, facts: &Facts) -> bool {
    let cfg = Cfg::new(func);
    let order: Vec<Block> = cfg.reverse_postorder().to_vec();
    let search = Search { func, id, facts };
    let doubtful = search.doubtful(&order);
    if doubtful.is_empty() {
        return false;
    }
    let moved = search.moved(&order, &doubtful);
    let (targets, fixed): (HashMap<Value, Type>, HashMap<Value, Type>) =
        moved.into_iter().map(|v| (v, Type::I64)).partition(|(v, _)| can_change(func, *v, false));
    if targets.is_empty() && fixed.is_empty() {
        return false;
    }
    change_types(func, targets, fixed, &CleanupParams::new());
    true
}

struct Search<'a> {
    func: &'a Function,
    id: FuncId,
    facts: &'a Facts,
}

impl Search<'_> {
    fn is_typed(&self, value: Value) -> bool {
        matches!(self.func.ty(value), Type::F64 | Type::Ptr)
    }

    /// What a value of this type should not be.
    fn other(&self, value: Value) -> Kinds {
        if *self.func.ty(value) == Type::F64 { Kinds::PTR } else { Kinds::F64 }
    }

    /// Whether a word of memory may hold all of `kinds`.
    fn place_holds(&self, ptr: Value, align: u64, kinds: Kinds) -> bool {
        let Some((object, at)) = self.facts.target(self.id, ptr, align) else { return false };
        let objects = &self.facts.objects;
        objects.touched(object, &at, 8).any(|c| c.width == 8 && objects.kinds(c.content).contains(kinds))
            || objects.touched_opaque(object, &at, 8).any(|o| o.kinds.contains(Kinds::F64.union(Kinds::PTR)))
    }

    /// Values that may be something else than their type says.
    fn doubtful(&self, order: &[Block]) -> HashSet<Value> {
        let mut found = HashSet::new();
        for data in self.func.insts_in(order) {
            let Some(result) = data.result.filter(|r| self.is_typed(*r)) else { continue };
            let doubt = match data.op {
                Op::Load { ptr, align } => self.place_holds(ptr, align, self.other(result)),
                Op::Cast(CastOp::Bitcast | CastOp::IntToPtr, from) => {
                    self.facts.kinds(self.id, from).contains(self.other(result))
                }
                _ => false,
            };
            if doubt {
                found.insert(result);
            }
        }
        Copies::new(self.func, order.iter().copied()).close_forwards(&mut found, |to| self.is_typed(to));
        found
    }

    /// Of the doubtful values, those that are stored where either may lie, or whose bits are used.
    fn moved(&self, order: &[Block], doubtful: &HashSet<Value>) -> HashSet<Value> {
        let mut found = HashSet::new();
        for data in self.func.insts_in(order) {
            let (value, moves) = match (&data.op, data.result) {
                (Op::Store { ptr, value, align }, _) => {
                    (*value, self.is_typed(*value) && self.place_holds(*ptr, *align, self.other(*value)))
                }
                (Op::Cast(CastOp::Bitcast | CastOp::PtrToInt, from), Some(result)) if self.is_typed(*from) => {
                    (*from, self.facts.kinds(self.id, result).contains(self.other(*from)))
                }
                _ => continue,
            };
            if moves && doubtful.contains(&value) {
                found.insert(value);
            }
        }
        Copies::new(self.func, order.iter().copied()).close_backwards(&mut found, |from| doubtful.contains(&from));
        found
    }
}
