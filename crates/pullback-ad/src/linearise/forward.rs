//! Forward mode: each linear operation is emitted as it stands, right after its instruction.

use crate::analysis::points_to::lanes::Lane;
use crate::linearise::augment::Augmenter;
use crate::linearise::copies::inline_len;
use crate::linearise::linear::Linear;
use pullback_ir::{BinOp, Builder, CastOp, FloatPred, Inst, InstData, Op, Type, Value};
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
        for direction in 0..self.width() {
            if let (Some(value), Some(result)) = (self.emit_in(direction, inst, linear), linear.result()) {
                self.tangents.entry(result).or_default().push(value);
            }
        }
    }

    /// The same for one direction of the batch; the tangent that it computes, if it computes one.
    fn emit_in(&mut self, direction: usize, inst: Inst, linear: &Linear) -> Option<Value> {
        let InstData { op, flags, loc, .. } = self.func.inst(inst).clone();
        let strong = self.session.request.strong_zero;
        let tangent = |this: &mut Self, v: Value| this.tangent(v)[direction];
        let ty = linear.result().map(|result| self.func.ty(result).clone());
        Some(match linear {
            Linear::Sum(_, terms) => {
                let terms: Vec<_> = terms.iter().map(|(v, c)| (tangent(self, *v), *c)).collect();
                let mut b = self.builder().with(flags.fast_math(), loc);
                sum(&mut b, terms, strong)
            }
            Linear::Quotient { result, x, y, divisor } => {
                let (x, y) = (x.map(|x| tangent(self, x)), y.map(|y| tangent(self, y)));
                let mut b = self.builder().with(flags.fast_math(), loc);
                quotient(&mut b, *result, *divisor, (x, y), strong)?
            }
            Linear::Cast(_, op, from) => {
                let from = tangent(self, *from);
                self.builder().cast(*op, from, ty?)
            }
            Linear::Bits(_, from) => {
                let from = tangent(self, *from);
                self.builder().cast(CastOp::Bitcast, from, ty?)
            }
            Linear::Select(_, cond, a, b) => {
                let zero = self.func.zero(&ty?);
                let [a, b] = [a, b].map(|v| v.map_or(zero, |v| tangent(self, v)));
                self.builder().select(*cond, a, b)
            }
            Linear::Load(_, shadow, _) => {
                let Op::Load { align, .. } = op else { unreachable!("this is a load") };
                self.builder().with_loc(loc).value(Op::Load { ptr: shadow[direction], align }, ty?)
            }
            Linear::Store { value, ty, shadow } => {
                let zero = self.func.zero(ty);
                let value = value.map_or(zero, |v| tangent(self, v));
                let Op::Store { align, .. } = op else { unreachable!("this is a store") };
                self.builder().with_loc(loc).push(Op::Store { ptr: shadow[direction], value, align }, None);
                return None;
            }
            Linear::Copy { dst, len, floats, .. } => {
                // The bytes are mirrored already; a constant source leaves zero tangents.
                self.clear(dst[direction], *len, floats);
                return None;
            }
            Linear::Extract(_, from, index) => {
                let from = tangent(self, *from);
                self.builder().value(Op::ExtractValue(from, *index), ty?)
            }
            Linear::Insert(_, into, value, index) => {
                let ty = ty?;
                let [zero, part_zero] = [&ty, ty.field(*index as usize)].map(|ty| self.func.zero(ty));
                let into = into.map_or(zero, |v| tangent(self, v));
                let value = value.map_or(part_zero, |v| tangent(self, v));
                self.builder().value(Op::InsertValue(into, value, *index), ty)
            }
            other => unreachable!("{other:?} is an operation of reverse mode"),
        })
    }

    /// The floats of a region become zero.
    fn clear(&mut self, dst: Value, len: Value, floats: &[Lane]) {
        let callee = self.session.runtime.zero_lanes;
        let bytes = inline_len(&self.func, len);
        for lane in floats {
            let mut b = self.builder();
            let Some(bytes) = bytes else {
                let [len, stride, offset, width] = lane.operands(&mut b, len);
                b.call_void(callee, vec![dst, len, stride, offset, width]);
                continue;
            };
            for at in lane.places(bytes) {
                let value = b.func.zero(&lane.float());
                let ptr = b.offset(dst, at as i64);
                b.push(Op::Store { ptr, value, align: 1 }, None);
            }
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
fn sum(b: &mut Builder, terms: Vec<(Value, Coefficient)>, strong: bool) -> Value {
    let part = |(t, c): (Value, Coefficient)| {
        let zero = b.func.zero(&b.func.ty(t).clone());
        let product = scale(b, t, c.factor, strong);
        (within(b, c.support, product, zero), c.factor)
    };
    let parts: Vec<_> = terms.into_iter().map(part).collect();
    let sum = parts.into_iter().fold(None, |all, (value, factor)| {
        Some(match (all, factor) {
            (None, Factor::MinusOne) => b.fneg(value),
            (None, _) => value,
            (Some(all), Factor::MinusOne) => b.bin(BinOp::FSub, all, value),
            (Some(all), _) => b.fadd(all, value),
        })
    });
    sum.unwrap_or_else(|| b.func.float(Type::F64, 0.0))
}

/// `(ẋ − r·ẏ) / y`, or that times `r` where there is no divisor.
fn quotient(
    b: &mut Builder,
    r: Value,
    divisor: Option<Value>,
    (x, y): (Option<Value>, Option<Value>),
    strong: bool,
) -> Option<Value> {
    let part = y.map(|y| product(b, y, r, y, strong));
    let top = match (x, part) {
        (Some(x), Some(p)) => b.bin(BinOp::FSub, x, p),
        (Some(x), None) => x,
        (None, p) => b.fneg(p?),
    };
    let value = match divisor {
        Some(divisor) => b.bin(BinOp::FDiv, top, divisor),
        None => b.fmul(top, r),
    };
    Some(if strong { guard(b, top, value) } else { value })
}
