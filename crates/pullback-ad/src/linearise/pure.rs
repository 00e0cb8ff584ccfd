//! Instructions without effects in the augmented primal: the linear operation of each, and the shadow values of
//! pointers, words and aggregates that they make.

use crate::analysis::types::exponents::{factor, multiple_of};
use crate::error::{Error, Result};
use crate::linearise::augment::Augmenter;
use crate::linearise::linear::Linear;
use pullback_ir::{BinOp, CastOp, Constant, InstData, MathFn, Op, Type, Value};
use pullback_rules::{Coefficient, Factor, rule};

impl Augmenter<'_, '_> {
    /// An instruction without effects.
    pub(super) fn pure(&mut self, data: &InstData) -> Result<()> {
        let inst = self.copy_instruction(data);
        let (Some(old_result), Some(result)) = (data.result, self.func.inst(inst).result) else { return Ok(()) };
        if *self.old.ty(old_result) == Type::Ptr {
            return self.pure_pointer(data, old_result, result);
        }
        if self.old.ty(old_result).is_int() && self.session.is_word(self.id, old_result) {
            let shadows = self.shadow_words(&data.op, old_result)?;
            self.set_shadow_values(old_result, result, shadows);
        }
        if let Type::Struct(_) = self.old.ty(old_result)
            && self.session.has_shadow_values(self.id, old_result)
        {
            self.pure_aggregate(data, old_result, result)?;
        }
        if !self.is_active(old_result) || self.has_tangent(old_result) {
            return Ok(());
        }
        let linear = self.linear_form(data, result)?;
        self.linear(inst, linear);
        Ok(())
    }

    /// The linear operation of an active instruction without effects: a table.
    fn linear_form(&mut self, data: &InstData, result: Value) -> Result<Linear> {
        let active = |v: Value| self.active(v);
        Ok(match &data.op {
            Op::Bin(BinOp::FAdd, a, b) => {
                Linear::Sum(result, terms([(active(*a), Coefficient::ONE), (active(*b), Coefficient::ONE)]))
            }
            Op::Bin(BinOp::FSub, a, b) => {
                Linear::Sum(result, terms([(active(*a), Coefficient::ONE), (active(*b), Coefficient::MINUS_ONE)]))
            }
            Op::Bin(BinOp::FMul, a, b) if a == b => {
                Linear::Sum(result, terms([(active(*a), Factor::Scaled(2.0, self.get(*a)).into())]))
            }
            Op::Bin(BinOp::FMul, a, b) => {
                let (da, db) = (active(*a), active(*b));
                let (a, b) = (self.get(*a), self.get(*b));
                Linear::Sum(result, terms([(da, Factor::Value(b).into()), (db, Factor::Value(a).into())]))
            }
            Op::Bin(BinOp::FDiv, a, b) => {
                let (x, y) = (active(*a), active(*b));
                let one = [Constant::F32(1f32.to_bits()), Constant::F64(1f64.to_bits())];
                let is_reciprocal = y.is_some() && self.old.as_const(*a).is_some_and(|a| one.contains(a));
                let divisor = (!is_reciprocal).then(|| self.get(*b));
                Linear::Quotient { result, x, y, divisor }
            }
            Op::Bin(BinOp::FRem, a, b) => self.remainder(data, result, *a, *b),
            Op::FNeg(a) => Linear::Sum(result, terms([(active(*a), Coefficient::MINUS_ONE)])),
            Op::Freeze(a) => Linear::Sum(result, terms([(active(*a), Coefficient::ONE)])),
            Op::Cast(CastOp::Bitcast, _) if let Some(float) = multiple_of(&self.old, data, |_| false) => {
                let (dx, x) = (active(float), self.get(float));
                let mut build = self.builder().with_loc(data.loc);
                let factor = factor(&mut build, result, x);
                Linear::Sum(result, terms([(dx, Factor::Value(factor).into())]))
            }
            Op::Cast(CastOp::Bitcast, a) => Linear::Bits(result, self.get(*a)),
            Op::Cast(op, a) => Linear::Cast(result, *op, self.get(*a)),
            Op::Select(c, a, b) => {
                let mut side = |v: Value| -> Option<Value> {
                    if self.is_number_as_float(v) {
                        let new = self.get(v);
                        self.tangents.insert(new, vec![new; self.width()]);
                        return Some(new);
                    }
                    self.active(v)
                };
                let (a, b) = (side(*a), side(*b));
                Linear::Select(result, self.get(*c), a, b)
            }
            Op::Math(function, args) => self.function(data, result, *function, args),
            Op::ExtractValue(a, i) => Linear::Extract(result, self.get(*a), *i),
            Op::InsertValue(a, b, i) => {
                let (a, b) = (active(*a), active(*b).filter(|_| !self.old.ty(*b).is_int()));
                Linear::Insert(result, a, b, *i)
            }
            op => return Err(Error::internal(format!("no linear form for {op:?}"))),
        })
    }

    /// The new value of an old one that is active.
    pub(super) fn active(&self, old: Value) -> Option<Value> {
        self.is_active(old).then(|| self.values[&old])
    }

    /// `r = x − k·y` with a whole `k`, which is `(x − r) / y` and not the quotient without its fraction: 0.9 / 0.1 is
    /// rounded to 9, and 0.9 % 0.1 is nearly 0.1.
    fn remainder(&mut self, data: &InstData, result: Value, x: Value, y: Value) -> Linear {
        let (dx, dy) = (self.active(x), self.active(y));
        let (x, y) = (self.get(x), self.get(y));
        let mut build = self.builder().with_loc(data.loc);
        let multiple = build.bin(BinOp::FSub, x, result);
        let quotient = build.bin(BinOp::FDiv, multiple, y);
        let whole = build.math(MathFn::Rint, vec![quotient]);
        let c = build.fneg(whole);
        Linear::Sum(result, terms([(dx, Coefficient::ONE), (dy, Factor::Value(c).into())]))
    }

    /// A float function, by its rule.
    fn function(&mut self, data: &InstData, result: Value, function: MathFn, args: &[Value]) -> Linear {
        let tangents: Vec<Option<Value>> = args.iter().map(|a| self.active(*a)).collect();
        let is_constant = self.old.as_const(args[0]).is_some();
        let args: Vec<Value> = args.iter().map(|a| self.get(*a)).collect();
        let mut build = self.builder().with(data.flags.fast_math(), data.loc);
        let rule = rule(function);
        match rule.choice {
            Some(first) => {
                // At a tie with a constant the other operand counts as returned, on whichever side it is: LLVM may swap
                // them.
                let (x, y) = if is_constant { (1, 0) } else { (0, 1) };
                let returns_x = first.emit(&mut build, &[args[x], args[y]], result);
                Linear::Select(result, returns_x, tangents[x], tangents[y])
            }
            None => {
                let partials = rule.coefficients(&mut build, &args, result, |i| tangents[i].is_some());
                let products = tangents.into_iter().zip(partials);
                Linear::Sum(result, terms(products.filter_map(|(t, p)| Some((t, p?)))))
            }
        }
    }

    fn pure_pointer(&mut self, data: &InstData, old_result: Value, result: Value) -> Result<()> {
        if !self.has_shadow(old_result) {
            return Ok(());
        }
        let shadows = match &data.op {
            Op::PtrAdd(base, offset) => {
                let (bases, offset) = (self.shadow(*base)?, self.get(*offset));
                bases.into_iter().map(|base| self.shadow_pointer(data, Op::PtrAdd(base, offset))).collect()
            }
            Op::Select(c, a, b) => {
                let (a, b, c) = (self.shadow(*a)?, self.shadow(*b)?, self.get(*c));
                a.into_iter().zip(b).map(|(a, b)| self.shadow_pointer(data, Op::Select(c, a, b))).collect()
            }
            Op::Freeze(a) => self.shadow(*a)?,
            Op::ExtractValue(a, i) => {
                let from = self.shadow_values(*a)?;
                from.into_iter().map(|from| self.shadow_pointer(data, Op::ExtractValue(from, *i))).collect()
            }
            Op::Cast(CastOp::IntToPtr, from) if self.old.as_const(*from).is_some() => vec![result; self.width()],
            Op::Cast(CastOp::IntToPtr, from) if self.session.is_word(self.id, *from) => {
                let words = self.shadow_values(*from)?;
                words.into_iter().map(|w| self.shadow_pointer(data, Op::Cast(CastOp::IntToPtr, w))).collect()
            }
            _ => {
                return Err(Error::unsupported("a pointer made from an integer reaches active memory")
                    .at(data.loc)
                    .help("use references or slices instead of addresses"));
            }
        };
        self.bind_shadows(old_result, result, shadows);
        Ok(())
    }

    /// The shadow value of an aggregate that is put together, chosen or passed on.
    fn pure_aggregate(&mut self, data: &InstData, old_result: Value, result: Value) -> Result<()> {
        let ty = self.old.ty(old_result).clone();
        let ops: Vec<Op> = match &data.op {
            Op::InsertValue(into, value, i) => {
                let (into, value) = (self.shadow_values(*into)?, self.shadow_field(*value)?);
                into.into_iter().zip(value).map(|(a, v)| Op::InsertValue(a, v, *i)).collect()
            }
            Op::Select(c, a, b) => {
                let (a, b, c) = (self.shadow_values(*a)?, self.shadow_values(*b)?, self.get(*c));
                a.into_iter().zip(b).map(|(a, b)| Op::Select(c, a, b)).collect()
            }
            Op::Freeze(a) => self.shadow_values(*a)?.into_iter().map(Op::Freeze).collect(),
            Op::ExtractValue(a, i) => self.shadow_values(*a)?.into_iter().map(|a| Op::ExtractValue(a, *i)).collect(),
            op => return Err(Error::internal(format!("no shadow value for {op:?}"))),
        };
        let shadows = ops.into_iter().map(|op| self.builder().value(op, ty.clone())).collect();
        self.set_shadow_values(old_result, result, shadows);
        Ok(())
    }

    /// The shadow value of what is put into an aggregate that has one for another field's sake: that of a pointer to
    /// memory without a shadow is not used.
    fn shadow_field(&mut self, old: Value) -> Result<Vec<Value>> {
        let is_local = self.old.as_const(old).is_none() && self.session.facts.object(self.id, old).is_some();
        if *self.old.ty(old) == Type::Ptr && is_local && !self.has_shadow(old) {
            return Ok(vec![self.func.constant(Type::Ptr, Constant::Null); self.width()]);
        }
        self.shadow_values(old)
    }
}

fn terms(all: impl IntoIterator<Item = (Option<Value>, Coefficient)>) -> Vec<(Value, Coefficient)> {
    all.into_iter().filter_map(|(value, c)| Some((value?, c))).collect()
}
