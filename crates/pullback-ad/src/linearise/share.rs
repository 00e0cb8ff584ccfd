//! The transposes of arithmetic operations: what each operand gets of the cotangent `g` of the result.
//!
//! | operation | operand | its share |
//! |---|---|---|
//! | `ṙ = Σ cᵢ·ẋᵢ` | `xᵢ` | `cᵢ·g` |
//! | `r = x / y` | `x` | `g / y` |
//! | | `y` | `−r·(g / y)`; `−r·(g·r)` where `x` is 1 |
//! | a change of precision | `x` | `g` in the precision of `x` |
//! | `ṙ = cond ? ȧ : ḃ` | `a`, `b` | `g` where it was taken, else 0 |
//!
//! The reverse sweep emits shares when it comes to the operation; where the cotangent is known ahead of that, they are
//! parts of an expression ([`known`](crate::schedule::known)).

use crate::linearise::forward::{guard, product, scale, within};
use crate::linearise::linear::Linear;
use pullback_ir::{BinOp, Builder, CastOp, Flags, Type, Value};
use pullback_rules::{Coefficient, Factor, Support};

/// What an operand gets of the cotangent `g` of a result. Values are those of the augmented primal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Share {
    /// `c·g`.
    Times(Coefficient),
    /// `g / y`: of a dividend.
    Over(Value),
    /// `−r·(g / y)`, or `−r·(g·r)` if the dividend is 1: of a divisor.
    Divisor {
        /// `r`.
        quotient: Value,
        /// `y`, if the dividend is not 1.
        divisor: Option<Value>,
    },
    /// `g` in the operand's precision.
    Cast(CastOp),
    /// `g` where the condition is this, else 0.
    If(Value, bool),
}

impl Linear {
    /// The result of an arithmetic operation, and the shares of its operands; `None` of any other operation.
    pub fn shares(&self) -> Option<(Value, Vec<(Value, Share)>)> {
        let mut shares = Vec::new();
        let result = match self {
            Linear::Sum(result, terms) => {
                shares.extend(terms.iter().map(|(value, c)| (*value, Share::Times(*c))));
                result
            }
            Linear::Quotient { result, x, y, divisor } => {
                if let (Some(x), Some(divisor)) = (x, divisor) {
                    shares.push((*x, Share::Over(*divisor)));
                }
                shares.extend(y.map(|y| (y, Share::Divisor { quotient: *result, divisor: *divisor })));
                result
            }
            Linear::Cast(result, op, from) => {
                let back = if *op == CastOp::FpExt { CastOp::FpTrunc } else { CastOp::FpExt };
                shares.push((*from, Share::Cast(back)));
                result
            }
            Linear::Select(result, cond, a, b) => {
                shares.extend(a.map(|a| (a, Share::If(*cond, true))));
                shares.extend(b.map(|b| (b, Share::If(*cond, false))));
                result
            }
            _ => return None,
        };
        Some((*result, shares))
    }
}

impl Share {
    /// The values that it takes from the program.
    pub fn values(self) -> impl Iterator<Item = Value> {
        let (first, second) = match self {
            Share::Times(coefficient) => {
                let mut values = coefficient.values();
                (values.next(), values.next())
            }
            Share::Over(value) | Share::If(value, _) => (Some(value), None),
            Share::Divisor { quotient, divisor } => (Some(quotient), divisor),
            Share::Cast(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The same with other values.
    pub fn map_values(self, mut to: impl FnMut(Value) -> Value) -> Share {
        match self {
            Share::Times(Coefficient { factor, support }) => {
                let factor = match factor {
                    Factor::Value(c) => Factor::Value(to(c)),
                    Factor::Scaled(k, c) => Factor::Scaled(k, to(c)),
                    other => other,
                };
                let support = support.map(|Support { cond, when }| Support { cond: to(cond), when });
                Share::Times(Coefficient { factor, support })
            }
            Share::Over(divisor) => Share::Over(to(divisor)),
            Share::Divisor { quotient, divisor } => {
                Share::Divisor { quotient: to(quotient), divisor: divisor.map(&mut to) }
            }
            Share::Cast(op) => Share::Cast(op),
            Share::If(cond, when) => Share::If(to(cond), when),
        }
    }

    /// The same with a number that is multiplied with the coefficient, once for all batch directions: the cotangent is
    /// what comes last.
    pub fn folded(self, b: &mut Builder) -> Share {
        match self {
            Share::Times(Coefficient { factor: Factor::Scaled(k, c), support }) => {
                let k = b.func.float(b.func.ty(c).clone(), k);
                Share::Times(Coefficient { factor: Factor::Value(b.fmul(c, k)), support })
            }
            other => other,
        }
    }

    /// Emit what an operand gets of `g`. With `strong` zeros, a `g` that is zero stays zero.
    pub fn emit(self, b: &mut Builder, g: Value, strong: bool) -> Value {
        let ty = b.func.ty(g).clone();
        match self {
            Share::Times(Coefficient { factor, support }) => {
                let part = match factor {
                    Factor::MinusOne => b.fneg(g),
                    other => scale(b, g, other, strong),
                };
                let zero = b.func.zero(&ty);
                within(b, support, part, zero)
            }
            Share::Over(divisor) => over(b, g, divisor, strong),
            Share::Divisor { quotient, divisor } => {
                let part = match divisor {
                    Some(divisor) => over(b, g, divisor, strong),
                    None => product(b, g, quotient, g, strong),
                };
                let product = product(b, part, quotient, g, strong);
                b.fneg(product)
            }
            Share::Cast(op) => {
                let flags = std::mem::replace(&mut b.flags, Flags::NONE);
                let part = b.cast(op, g, if ty == Type::F64 { Type::F32 } else { Type::F64 });
                b.flags = flags;
                part
            }
            Share::If(cond, when) => {
                let flags = std::mem::replace(&mut b.flags, Flags::NONE);
                // +0, and not −0: a mask makes it.
                let zero = b.func.zero(&ty);
                let part = within(b, Some(Support { cond, when }), g, zero);
                b.flags = flags;
                part
            }
        }
    }
}

/// `g / y`.
fn over(b: &mut Builder, g: Value, divisor: Value, strong: bool) -> Value {
    let quotient = b.bin(BinOp::FDiv, g, divisor);
    if strong { guard(b, g, quotient) } else { quotient }
}
