//! Stores that overwrite what was read from the same place and added to: `c[j] += a·b`.
//!
//! The transpose of a store takes the cotangent out of the place and leaves zero; the transpose of the load before it
//! adds the same cotangent back. If the zero left is `−0`, the addition gives back exactly what was there, since `−0 +
//! g` is `g`, and the optimiser may drop both: the shadow is only read. With `+0` it may not, for `0 + −0` is `0`.
//!
//! The caller must never see that `−0`. So it is only left where the cotangent that was taken is sure to come back in
//! the same block: the stored value reaches the loaded one through sums alone, each with the coefficient one. What then
//! stands in the place is a sum that contains the cotangent itself, which is `−0` only if the place held `−0` before.

use crate::linearise::linear::Linear;
use crate::linearise::program::LinearFunction;
use pullback_ir::{Inst, Type, Value};
use pullback_rules::Coefficient;
use std::collections::{HashMap, HashSet};

/// How many sums are looked through: `c + a·b + d·e + …` in one expression.
const MOST_SUMS: usize = 32;

/// The stores of a block, given by its instructions in order, whose place gets its cotangent back in the reverse of the
/// block.
pub fn refilled(insts: &[Inst], linear: &LinearFunction) -> HashSet<Inst> {
    let mut found = HashSet::new();
    let mut loaded: HashMap<&[Value], Vec<Value>> = HashMap::new();
    let mut summands: HashMap<Value, Vec<Value>> = HashMap::new();
    for inst in insts {
        for operation in linear.at(*inst) {
            match operation {
                Linear::Load(result, shadow, _) => loaded.entry(shadow).or_default().push(*result),
                Linear::Sum(result, terms) => {
                    let whole = terms.iter().filter(|(_, c)| *c == Coefficient::ONE).map(|(v, _)| *v);
                    summands.insert(*result, whole.collect());
                }
                Linear::Store { value: Some(value), ty: Type::F32 | Type::F64, shadow } => {
                    if let Some(loaded) = loaded.get(&shadow[..])
                        && reaches(*value, loaded, &summands)
                    {
                        found.insert(*inst);
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Whether one of `loaded` is among the summands of `value`, or among theirs.
fn reaches(value: Value, loaded: &[Value], summands: &HashMap<Value, Vec<Value>>) -> bool {
    let mut work = vec![value];
    for _ in 0..MOST_SUMS {
        let Some(next) = work.pop() else { return false };
        if loaded.contains(&next) {
            return true;
        }
        work.extend(summands.get(&next).into_iter().flatten());
    }
    false
}
