//! What holds for every [`LinearFunction`], checked: in debug builds after linearising, in tests and by the fuzzer.
//!
//! 1. Operations belong to instructions that stand in a block from which the function may return.
//! 2. What an operation computes the tangent of is made in the same block, and no other operation computes it.
//! 3. What an operation uses the tangent of has one, and is made before it.
//! 4. Coefficients, conditions, addresses and lengths are there at the end of the block.
//! 5. A term of a sum has the type of its result, and so has its coefficient; a condition is an `i1`, an address a
//!    pointer, a length an `i64`.
//! 6. What is there for each batch direction is there for `width` of them.

use crate::linearise::linear::Linear;
use crate::linearise::program::LinearFunction;
use crate::linearise::text;
use crate::session::cotangent_type;
use pullback_ir::cfg::Cfg;
use pullback_ir::dominators::Dominators;
use pullback_ir::{Block, Function, Inst, Module, Type, Value, ValueDef};
use std::collections::{HashMap, HashSet};

/// Check a linear function of so many batch directions.
///
/// # Errors
/// The first rule that does not hold, in a sentence, with the operation.
pub fn verify(module: &Module, func: &Function, linear: &LinearFunction, width: usize) -> Result<(), String> {
    let cfg = Cfg::new(func);
    let places = places(func);
    let this = Verifier { func, doms: Dominators::new(&cfg), places, linear, width };
    let mut computed = HashSet::new();
    for (inst, operation) in linear.all() {
        let told = |error: String| format!("`{}`: {error}", text::operation(module, func, operation));
        let block = this.places.get(&inst).filter(|(block, _)| cfg.can_return(*block));
        let (block, _) = *block.ok_or_else(|| told("its instruction leads to no return".to_owned()))?;
        this.operation(inst, block, operation).map_err(told)?;
        if let Some(result) = operation.result()
            && !computed.insert(result)
        {
            return Err(told(format!("the tangent of {result} is computed twice")));
        }
    }
    Ok(())
}

/// In debug builds: check a linear function that a pass hands on.
///
/// # Panics
/// If it is not as it has to be: a fault of the engine.
pub fn assert_valid(module: &Module, func: &Function, linear: &LinearFunction, width: usize) {
    if cfg!(debug_assertions)
        && let Err(error) = verify(module, func, linear, width)
    {
        panic!("a pass is at fault: {error}\n{}", text::print(module, func, linear));
    }
}

/// Where each instruction stands.
fn places(func: &Function) -> HashMap<Inst, (Block, usize)> {
    let insts = |block| func.block(block).insts.iter().enumerate().map(move |(at, inst)| (*inst, (block, at)));
    func.blocks().flat_map(insts).collect()
}

struct Verifier<'a> {
    func: &'a Function,
    doms: Dominators,
    places: HashMap<Inst, (Block, usize)>,
    linear: &'a LinearFunction,
    width: usize,
}

/// What an operation asks of a value of the primal.
enum Wanted {
    Condition,
    Address,
    Length,
    Float(Type),
    Any,
}

impl Verifier<'_> {
    /// The block and the position where a value is made; `None` for constants.
    fn made(&self, value: Value) -> Option<(Block, usize)> {
        match self.func.value(value).def {
            ValueDef::Const(_) => None,
            ValueDef::Param(block, _) => Some((block, 0)),
            ValueDef::Inst(inst) => Some(self.places.get(&inst).map_or((self.func.entry(), usize::MAX), |p| *p)),
        }
    }

    fn operation(&self, inst: Inst, block: Block, operation: &Linear) -> Result<(), String> {
        if let Some(result) = operation.result() {
            self.has_tangent(result)?;
            if self.made(result).is_none_or(|(made, _)| made != block) {
                return Err(format!("{result} is made in another block"));
            }
        }
        let (_, at) = self.places[&inst];
        // The cotangents of arguments of a call may have nowhere to go.
        let may_be_constant = matches!(operation, Linear::Call { .. });
        for operand in operation.operands() {
            if !may_be_constant {
                self.has_tangent(operand)?;
            }
            let before =
                |(made, position)| if made == block { position <= at } else { self.doms.dominates(made, block) };
            if !self.made(operand).is_none_or(before) {
                return Err(format!("{operand} is made after it is used"));
            }
        }
        for value in operation.primals() {
            if !self.made(value).is_none_or(|(made, _)| self.doms.dominates(made, block)) {
                return Err(format!("{value} is not there at the end of {block}"));
            }
        }
        self.types(operation)
    }

    fn has_tangent(&self, value: Value) -> Result<(), String> {
        if self.linear.active.contains(&value) { Ok(()) } else { Err(format!("{value} has no tangent")) }
    }

    fn each(&self, values: &[Value], wanted: &Wanted) -> Result<(), String> {
        if values.len() != self.width {
            return Err(format!("{} for {} batch directions", values.len(), self.width));
        }
        values.iter().try_for_each(|value| self.is(*value, wanted))
    }

    fn is(&self, value: Value, wanted: &Wanted) -> Result<(), String> {
        let ty = self.func.ty(value);
        let (fits, word) = match wanted {
            Wanted::Condition => (*ty == Type::Int(1), "a condition".to_owned()),
            Wanted::Address => (*ty == Type::Ptr, "an address".to_owned()),
            Wanted::Length => (*ty == Type::I64, "a length".to_owned()),
            // A word that may be a float has the cotangent of one.
            Wanted::Float(float) => (cotangent_type(ty) == cotangent_type(float), float.to_string()),
            Wanted::Any => (true, String::new()),
        };
        if fits { Ok(()) } else { Err(format!("{value} is of type {ty}, and not {word}")) }
    }

    fn types(&self, operation: &Linear) -> Result<(), String> {
        let same = |value: Value, as_: Value| self.is(value, &Wanted::Float(self.func.ty(as_).clone()));
        match operation {
            Linear::Sum(result, terms) => terms.iter().try_for_each(|(value, coefficient)| {
                same(*value, *result)?;
                let support = coefficient.support.map(|support| support.cond);
                support.map_or(Ok(()), |cond| self.is(cond, &Wanted::Condition))?;
                let factors = coefficient.values().filter(|value| Some(*value) != support);
                factors.into_iter().try_for_each(|factor| same(factor, *result))
            }),
            Linear::Quotient { result, x, y, divisor } => {
                x.iter().chain(y).chain(divisor).try_for_each(|value| same(*value, *result))
            }
            Linear::Cast(result, _, from) => {
                let fits = self.func.ty(*result).is_float() && self.func.ty(*from).is_float();
                if fits { Ok(()) } else { Err("a change of precision is one of floats".to_owned()) }
            }
            Linear::Select(result, cond, a, b) => {
                self.is(*cond, &Wanted::Condition)?;
                a.iter().chain(b).try_for_each(|value| same(*value, *result))
            }
            Linear::Bits(result, from) => {
                let fits = self.func.ty(*result).size() == self.func.ty(*from).size();
                if fits { Ok(()) } else { Err("the same bits are as many".to_owned()) }
            }
            Linear::Extract(result, from, index) => self.is_field(*result, *from, *index),
            Linear::Insert(result, into, value, index) => {
                into.map_or(Ok(()), |into| same(into, *result))?;
                value.map_or(Ok(()), |value| self.is_field(value, *result, *index))
            }
            Linear::Load(_, shadow, _) => self.each(shadow, &Wanted::Address),
            Linear::Store { value, ty, shadow } => {
                value.map_or(Ok(()), |value| self.is(value, &Wanted::Float(ty.clone())))?;
                self.each(shadow, &Wanted::Address)
            }
            Linear::Copy { dst, src, len, .. } => {
                self.is(*len, &Wanted::Length)?;
                self.each(dst, &Wanted::Address)?;
                src.as_ref().map_or(Ok(()), |src| self.each(src, &Wanted::Address))
            }
            Linear::WordLoad { shadow, words, .. } => {
                self.each(shadow, &Wanted::Address)?;
                self.each(words, &Wanted::Any)
            }
            Linear::Restore { shadow, old } | Linear::Uncover { shadow, old } => {
                let same = shadow.len() == old.len();
                let fits = shadow.iter().try_for_each(|place| self.is(*place, &Wanted::Address));
                if same { fits } else { Err("as many are put back as there are places".to_owned()) }
            }
            Linear::WordStore { direction, shadow, .. } => {
                let fits = self.is(*shadow, &Wanted::Address);
                if *direction < self.width { fits } else { Err(format!("there is no direction {direction}")) }
            }
            Linear::WordCopy(words) => {
                let mut places = words.iter().flat_map(|word| [word.dst, word.src]);
                places.try_for_each(|place| self.is(place, &Wanted::Address))
            }
            Linear::WordCopies { dst, src, len, .. } => {
                self.is(*len, &Wanted::Length)?;
                [*dst].iter().chain(src).try_for_each(|place| self.is(*place, &Wanted::Address))
            }
            Linear::Given(_, given) => self.each(given, &Wanted::Any),
            Linear::Call { .. } | Linear::Rule(_) => Ok(()),
        }
    }

    fn is_field(&self, value: Value, of: Value, index: u32) -> Result<(), String> {
        match self.func.ty(of) {
            Type::Struct(fields) if fields.get(index as usize) == Some(self.func.ty(value)) => Ok(()),
            other => Err(format!("{value} is not field {index} of {other}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn said(body: &str) -> String {
        let header = "fn @f(v0: ptr, v1: f64, v2: f64, v3: i1, v4: f32) -> f64 {\nb0:\n";
        let (module, id, linear) = text::parse(&format!("linear v1, v2, v4\n{header}{body}\n}}\n")).unwrap();
        verify(&module, module.func(id), &linear, 1).err().unwrap_or_default()
    }

    #[test]
    fn what_does_not_hold_is_told() {
        let product = |line: &str| said(&format!("  v5 = fmul v1, v2\n  | {line}\n  return v5"));
        assert_eq!(product("v5' = v2*v1' + v1*v2' if v3"), "");
        assert_eq!(product("v5' = v2*v0'"), "`v5' = v2*v0'`: v0 has no tangent");
        assert_eq!(product("v5' = v4'"), "`v5' = v4'`: v4 is of type f32, and not f64");
        assert_eq!(product("v5' = v4*v1'"), "`v5' = v4*v1'`: v4 is of type f32, and not f64");
        assert_eq!(product("v5' = v1' if v2"), "`v5' = v1' if v2`: v2 is of type f64, and not a condition");
        assert_eq!(product("v1' = v2'"), "");
        assert_eq!(product("v5' = load v1"), "`v5' = load v1`: v1 is of type f64, and not an address");
        assert_eq!(product("v5' = load {v0, v0}"), "`v5' = load {v0, v0}`: 2 for 1 batch directions");
        assert_eq!(product("v5' = v1'\n  | v5' = v2'"), "`v5' = v2'`: the tangent of v5 is computed twice");
        let late = said("  v5 = fneg v1\n  | v5' = v6'\n  v6 = fneg v1\n  | v6' = -v1'\n  return v5");
        assert_eq!(late, "`v5' = v6'`: v6 is made after it is used");
        let away =
            "  branch v3, b1, b2\nb1:\n  v5 = fneg v2\n  jump b2\nb2:\n  v6 = fneg v1\n  | v6' = v5*v1'\n  return v6";
        assert_eq!(said(away), "`v6' = v5*v1'`: v5 is not there at the end of b2");
    }
}
