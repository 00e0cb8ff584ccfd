//! Forward mode: each linear operation is emitted as it stands, right after its instruction.

use crate::linearise::augment::Augmenter;
use crate::linearise::copies::inline_len;
use crate::linearise::linear::Linear;
use pullback_ir::{BinOp, Builder, CastOp, FloatPred, Inst, Op, Type, Value};
use pullback_rules::{Coefficient, Factor, Support};

impl Augmenter<'_, '_> {
    /// The tangents of a new value; zeros if it has none.
    pub(crate) fn tangent(&mut self, value: Value) -> Vec<Value> {
        match self.tangents.get(&value) {
            Some(tangents) => tangents.clone(),
            None => {
                let ty = self.func.ty(value).clone();
                vec![self.func.zero(&ty); self.session.request.width]
            }
        }
    }

    /// Emit a linear operation that belongs to `inst`.
    pub(crate) fn emit_tangent(&mut self, inst: Inst, linear: &Linear) {
        let (flags, loc) = (self.func.inst(inst).flags.fast_math(), self.func.inst(inst).loc);
        let strong = self.session.request.strong_zero;
        for direction in 0..self.width() {
            let tangent = |this: &mut Self, v: Value| this.tangent(v)[direction];
            let (result, value) = match linear {
                Linear::Sum(result, terms) => {
                    let terms: Vec<_> = terms.iter().map(|(v, c)| (tangent(self, *v), *c)).collect();
                    let mut b = self.builder();
                    (b.flags, b.loc) = (flags, loc);
                    let part = |(t, c): (Value, Coefficient)| {
                        let zero = b.func.zero(&b.func.ty(t).clone());
                        let product = scale(&mut b, t, c.factor, strong);
                        (within(&mut b, c.support, product, zero), c.factor)
                    };
                    let parts: Vec<_> = terms.into_iter().map(part).collect();
                    (*result, sum(&mut b, &parts))
                }
                Linear::Quotient { result, x, y, divisor } => {
                    let (x, y) = (x.map(|x| tangent(self, x)), y.map(|y| tangent(self, y)));
                    let mut b = self.builder();
                    (b.flags, b.loc) = (flags, loc);
                    let part = y.map(|y| product(&mut b, y, *result, y, strong));
                    let top = match (x, part) {
                        (Some(x), Some(p)) => b.bin(BinOp::FSub, x, p),
                        (Some(x), None) => x,
                        (None, Some(p)) => b.fneg(p),
                        (None, None) => continue,
                    };
                    let value = match divisor {
                        Some(divisor) => b.bin(BinOp::FDiv, top, *divisor),
                        None => b.fmul(top, *result),
                    };
                    (*result, if strong { guard(&mut b, top, value) } else { value })
                }
                Linear::Cast(result, op, from) => {
                    let (from, ty) = (tangent(self, *from), self.func.ty(*result).clone());
                    (*result, self.builder().cast(*op, from, ty))
                }
                Linear::Select(result, cond, a, b) => {
                    let ty = self.func.ty(*result).clone();
                    let zero = self.func.zero(&ty);
                    let a = a.map_or(zero, |a| tangent(self, a));
                    let b = b.map_or(zero, |b| tangent(self, b));
                    (*result, self.builder().select(*cond, a, b))
                }
                Linear::Load(result, shadow, _) => {
                    let ty = self.func.ty(*result).clone();
                    let Op::Load { align, .. } = self.func.inst(inst).op else { unreachable!("this is a load") };
                    let mut b = self.builder();
                    b.loc = loc;
                    (*result, b.value(Op::Load { ptr: shadow[direction], align }, ty))
                }
                Linear::Store { value, ty, shadow } => {
                    let zero = self.func.zero(ty);
                    let value = value.map_or(zero, |v| tangent(self, v));
                    let Op::Store { align, .. } = self.func.inst(inst).op else { unreachable!("this is a store") };
                    let mut b = self.builder();
                    b.loc = loc;
                    b.push(Op::Store { ptr: shadow[direction], value, align }, None);
                    continue;
                }
                Linear::Copy { dst, len, floats, .. } => {
                    // The bytes are mirrored already; a constant source leaves zero tangents.
                    match inline_len(&self.func, *len) {
                        Some(bytes) => {
                            for lane in floats {
                                for at in lane.places(bytes) {
                                    let zero = self.func.zero(&lane.float());
                                    let mut b = self.builder();
                                    let place = b.offset(dst[direction], at as i64);
                                    b.push(Op::Store { ptr: place, value: zero, align: 1 }, None);
                                }
                            }
                        }
                        None => {
                            for lane in floats {
                                let callee = self.session.runtime.zero_lanes;
                                let mut b = self.builder();
                                let [len, stride, offset, width] = lane.operands(&mut b, *len);
                                b.call_void(callee, vec![dst[direction], len, stride, offset, width]);
                            }
                        }
                    }
                    continue;
                }
                Linear::Extract(result, from, index) => {
                    let (from, ty) = (tangent(self, *from), self.func.ty(*result).clone());
                    (*result, self.builder().value(Op::ExtractValue(from, *index), ty))
                }
                Linear::Insert(result, into, value, index) => {
                    let ty = self.func.ty(*result).clone();
                    let part = ty.field(*index as usize).clone();
                    let (zero, part_zero) = (self.func.zero(&ty), self.func.zero(&part));
                    let into = into.map_or(zero, |v| tangent(self, v));
                    let value = value.map_or(part_zero, |v| tangent(self, v));
                    (*result, self.builder().value(Op::InsertValue(into, value, *index), ty))
                }
                Linear::Bits(result, from) => {
                    let (from, ty) = (tangent(self, *from), self.func.ty(*result).clone());
                    (*result, self.builder().cast(CastOp::Bitcast, from, ty))
                }
                Linear::WordLoad { .. }
                | Linear::WordStore { .. }
                | Linear::WordCopy(_)
                | Linear::WordCopies { .. }
                | Linear::Restore { .. }
                | Linear::Uncover { .. }
                | Linear::Rule(_)
                | Linear::Given(..)
                | Linear::Call { .. } => continue,
            };
            self.tangents.entry(result).or_default().push(value);
        }
    }
}

/// `c·t`, but the sign of −1; with strong zeros a zero `t` stays zero.
pub(crate) fn scale(b: &mut Builder, t: Value, factor: Factor, strong: bool) -> Value {
    match factor {
        Factor::One | Factor::MinusOne => t,
        Factor::Value(c) => product(b, t, c, t, strong),
        Factor::Scaled(k, c) => {
            let k = b.func.float(b.func.ty(t).clone(), k);
            let scaled = b.fmul(t, k);
            product(b, scaled, c, t, strong)
        }
    }
}

/// `a·c`; with strong zeros it is zero where `t` is.
pub(crate) fn product(b: &mut Builder, a: Value, c: Value, t: Value, strong: bool) -> Value {
    let product = b.fmul(a, c);
    if strong { guard(b, t, product) } else { product }
}

/// `value` where the coefficient is not zero, else `zero`.
pub(crate) fn within(b: &mut Builder, support: Option<Support>, value: Value, zero: Value) -> Value {
    match support {
        None => value,
        Some(Support { cond, when: true }) => b.select(cond, value, zero),
        Some(Support { cond, when: false }) => b.select(cond, zero, value),
    }
}

/// `value`, but zero where `t` is zero.
pub(crate) fn guard(b: &mut Builder, t: Value, value: Value) -> Value {
    let ty = b.func.ty(value).clone();
    let zero = b.func.zero(&ty);
    let is_zero = b.fcmp(FloatPred::Oeq, t, zero);
    b.select(is_zero, zero, value)
}

/// The sum of scaled tangents; a `MinusOne` is subtracted.
fn sum(b: &mut Builder, parts: &[(Value, Factor)]) -> Value {
    let mut all: Option<Value> = None;
    for (value, factor) in parts {
        all = Some(match (all, factor) {
            (None, Factor::MinusOne) => b.fneg(*value),
            (None, _) => *value,
            (Some(all), Factor::MinusOne) => b.bin(BinOp::FSub, all, *value),
            (Some(all), _) => b.fadd(all, *value),
        });
    }
    all.unwrap_or_else(|| b.func.float(Type::F64, 0.0))
}
