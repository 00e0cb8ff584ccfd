//! The expressions that derivative rules are written in.
//!
//! An [`Expr`] is a formula over a function's operands and its result. Operators are overloaded, so that a row of the
//! table reads like mathematics: `0.5 * (1.0 / r)`, `(1.0 - r) * (1.0 + r)`. It is emitted as IR, evaluated, and
//! printed.

use pullback_ir::{BinOp, Builder, CastOp, Constant, Flags, FloatPred, Function, MathFn, Value};
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A formula. It is `Copy`, for the sake of rows that read well; its nodes live as long as the program, as the table
/// does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Expr {
    /// An operand, a float.
    Arg(usize),
    /// The function's result.
    Result,
    /// A number.
    Const(f64),
    /// Sum.
    Add(&'static Expr, &'static Expr),
    /// Difference.
    Sub(&'static Expr, &'static Expr),
    /// Product.
    Mul(&'static Expr, &'static Expr),
    /// Quotient.
    Div(&'static Expr, &'static Expr),
    /// Negation.
    Neg(&'static Expr),
    /// A float function.
    Math(MathFn, &'static [Expr]),
    /// An `i32` operand, as it is: only as the second operand of `powi` and `ldexp`.
    Int(usize),
    /// An `i32` operand minus 1, wrapping: only as the second operand of `powi` and `ldexp`.
    IntMinusOne(usize),
    /// An `i32` operand as a float.
    IntToFloat(usize),
    /// The first formula where the condition holds, else the second.
    Select(Condition, &'static Expr, &'static Expr),
}

/// A comparison of two formulas, or several that must all hold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Condition {
    /// How they are compared.
    pub pred: FloatPred,
    /// Left side.
    pub left: &'static Expr,
    /// Right side.
    pub right: &'static Expr,
    /// What must hold, too.
    pub and: Option<&'static Condition>,
}

fn keep(expr: impl Into<Expr>) -> &'static Expr {
    Box::leak(Box::new(expr.into()))
}

impl From<f64> for Expr {
    fn from(value: f64) -> Expr {
        Expr::Const(value)
    }
}

macro_rules! operator {
    ($trait:ident $method:ident) => {
        impl<E: Into<Expr>> $trait<E> for Expr {
            type Output = Expr;
            fn $method(self, other: E) -> Expr {
                Expr::$trait(keep(self), keep(other))
            }
        }
        impl $trait<Expr> for f64 {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                Expr::$trait(keep(self), keep(other))
            }
        }
    };
}
operator!(Add add);
operator!(Sub sub);
operator!(Mul mul);
operator!(Div div);

impl Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        Expr::Neg(keep(self))
    }
}

/// A float function of formulas.
pub(crate) fn math<const N: usize>(function: MathFn, args: [Expr; N]) -> Expr {
    Expr::Math(function, Box::leak(Box::new(args)))
}

impl Expr {
    /// Whether this is one of a few numbers, whatever the operands are.
    pub(crate) fn is_bounded(&self) -> bool {
        match self {
            Expr::Const(_) => true,
            Expr::Neg(a) => a.is_bounded(),
            Expr::Mul(a, b) | Expr::Select(_, a, b) => a.is_bounded() && b.is_bounded(),
            Expr::Math(MathFn::Copysign, args) => args[0].is_bounded(),
            _ => false,
        }
    }

    /// This formula compared with another.
    pub(crate) fn cmp(self, pred: FloatPred, other: impl Into<Expr>) -> Condition {
        Condition { pred, left: keep(self), right: keep(other), and: None }
    }
}

impl Condition {
    /// `then` where this holds, else `otherwise`.
    pub(crate) fn select(self, then: impl Into<Expr>, otherwise: impl Into<Expr>) -> Expr {
        Expr::Select(self, keep(then), keep(otherwise))
    }

    /// Both hold.
    pub(crate) fn and(self, other: Condition) -> Condition {
        assert!(self.and.is_none(), "a comparison and others");
        Condition { and: Some(Box::leak(Box::new(other))), ..self }
    }

    /// Whether it holds.
    fn holds(&self, args: &[f64], result: f64) -> bool {
        let [left, right] = [self.left, self.right].map(|side| side.eval(args, result));
        compare(self.pred, left, right) && self.and.is_none_or(|other| other.holds(args, result))
    }

    /// Append the condition as IR.
    pub fn emit(&self, b: &mut Builder, args: &[Value], result: Value) -> Value {
        Emitter::new(args, result).condition(self, b)
    }
}

impl Expr {
    /// Of a formula that is zero where a condition holds, or where it does not: the condition, what it is where the
    /// formula is not zero, and the formula there.
    pub fn support(&self) -> (Option<(Condition, bool)>, Expr) {
        match self {
            Expr::Select(condition, Expr::Const(0.0), rest) => (Some((*condition, false)), **rest),
            Expr::Select(condition, rest, Expr::Const(0.0)) => (Some((*condition, true)), **rest),
            _ => (None, *self),
        }
    }

    /// Of `k·p`, with a power of two for `k`, these two; else 1 and the formula itself. The product of `k`, `p` and a
    /// tangent is the same in whichever order.
    pub fn scale(&self) -> (f64, Expr) {
        match self {
            Expr::Mul(Expr::Const(k), p) if k.to_bits().trailing_zeros() >= f64::MANTISSA_DIGITS - 1 => (*k, **p),
            _ => (1.0, *self),
        }
    }

    /// The value in double precision; integer operands come as floats.
    pub fn eval(&self, args: &[f64], result: f64) -> f64 {
        let go = |e: &Expr| e.eval(args, result);
        match self {
            Expr::Arg(i) | Expr::Int(i) | Expr::IntToFloat(i) => args[*i],
            Expr::IntMinusOne(i) => args[*i] - 1.0,
            Expr::Result => result,
            Expr::Const(c) => *c,
            Expr::Add(a, b) => go(a) + go(b),
            Expr::Sub(a, b) => go(a) - go(b),
            Expr::Mul(a, b) => go(a) * go(b),
            Expr::Div(a, b) => go(a) / go(b),
            Expr::Neg(a) => -go(a),
            Expr::Math(f, operands) => f.eval_f64(&operands.iter().map(go).collect::<Vec<_>>()),
            Expr::Select(c, a, b) => go(if c.holds(args, result) { a } else { b }),
        }
    }
}

/// Emits formulas over the same operands; a part that occurs twice is emitted once.
pub(crate) struct Emitter<'a> {
    args: &'a [Value],
    result: Value,
    done: Vec<(Expr, Value)>,
    compared: Vec<(Condition, Value)>,
}

impl<'a> Emitter<'a> {
    pub(crate) fn new(args: &'a [Value], result: Value) -> Self {
        Emitter { args, result, done: Vec::new(), compared: Vec::new() }
    }

    pub(crate) fn emit(&mut self, expr: &Expr, b: &mut Builder) -> Value {
        if let Some((_, value)) = self.done.iter().find(|(e, _)| e == expr) {
            return *value;
        }
        let ty = b.func.ty(self.result).clone();
        let value = match expr {
            Expr::Arg(i) | Expr::Int(i) => self.args[*i],
            Expr::Result => self.result,
            Expr::Const(c) => b.func.float(ty, *c),
            Expr::Add(x, y) => self.bin(BinOp::FAdd, x, y, b),
            Expr::Sub(x, y) => self.bin(BinOp::FSub, x, y, b),
            Expr::Mul(x, y) => self.bin(BinOp::FMul, x, y, b),
            Expr::Div(x, y) => self.bin(BinOp::FDiv, x, y, b),
            Expr::Neg(x) => {
                let x = self.emit(x, b);
                b.fneg(x)
            }
            Expr::Math(function, args) => {
                let args = args.iter().map(|a| self.emit(a, b)).collect();
                b.math(*function, args)
            }
            Expr::IntMinusOne(i) => {
                let int = self.args[*i];
                let ty = b.func.ty(int).clone();
                let one = b.func.int(ty, 1);
                without_flags(b, |b| b.sub(int, one))
            }
            Expr::IntToFloat(i) => without_flags(b, |b| b.cast(CastOp::SiToFp, self.args[*i], ty)),
            Expr::Select(c, x, y) if let Some(holds) = self.known(c, b.func) => self.emit(if holds { x } else { y }, b),
            Expr::Select(c, x, y) => {
                let cond = self.condition(c, b);
                let (x, y) = (self.emit(x, b), self.emit(y, b));
                b.select(cond, x, y)
            }
        };
        debug_assert!(matches!(expr, Expr::Int(_) | Expr::IntMinusOne(_)) || b.func.ty(value).is_float());
        self.done.push((*expr, value));
        value
    }

    /// Whether a condition holds, if it is one on operands that are constants: exponents often are.
    pub(crate) fn known(&self, condition: &Condition, func: &Function) -> Option<bool> {
        let [left, right] = [condition.left, condition.right].map(|side| self.constant(side, func));
        let first = compare(condition.pred, left?, right?);
        let rest = condition.and.map_or(Some(true), |other| self.known(other, func));
        if first { rest } else { Some(false) }
    }

    fn constant(&self, expr: &Expr, func: &Function) -> Option<f64> {
        match expr {
            Expr::Const(c) => Some(*c),
            Expr::Arg(i) => match func.as_const(self.args[*i])? {
                Constant::F32(bits) => Some(f32::from_bits(*bits).into()),
                Constant::F64(bits) => Some(f64::from_bits(*bits)),
                _ => None,
            },
            Expr::IntToFloat(i) => func.as_int(self.args[*i]).map(|n| n as f64),
            _ => None,
        }
    }

    pub(crate) fn condition(&mut self, condition: &Condition, b: &mut Builder) -> Value {
        if let Some((_, value)) = self.compared.iter().find(|(c, _)| c == condition) {
            return *value;
        }
        let (left, right) = (self.emit(condition.left, b), self.emit(condition.right, b));
        let mut value = b.fcmp(condition.pred, left, right);
        if let Some(other) = condition.and {
            let other = self.condition(other, b);
            value = without_flags(b, |b| b.bin(BinOp::And, value, other));
        }
        self.compared.push((*condition, value));
        value
    }

    fn bin(&mut self, op: BinOp, x: &Expr, y: &Expr, b: &mut Builder) -> Value {
        let (x, y) = (self.emit(x, b), self.emit(y, b));
        b.bin(op, x, y)
    }
}

/// The builder's flags are those of a float instruction; integer arithmetic has none of them.
fn without_flags(b: &mut Builder, f: impl FnOnce(&mut Builder) -> Value) -> Value {
    let flags = std::mem::replace(&mut b.flags, Flags::NONE);
    let value = f(b);
    b.flags = flags;
    value
}

/// Whether a comparison holds.
fn compare(pred: FloatPred, a: f64, b: f64) -> bool {
    let unordered = a.is_nan() || b.is_nan();
    match pred {
        FloatPred::False => false,
        FloatPred::Oeq => a == b,
        FloatPred::Ogt => a > b,
        FloatPred::Oge => a >= b,
        FloatPred::Olt => a < b,
        FloatPred::Ole => a <= b,
        FloatPred::One => !unordered && a != b,
        FloatPred::Ord => !unordered,
        FloatPred::Uno => unordered,
        FloatPred::Ueq => unordered || a == b,
        FloatPred::Ugt => unordered || a > b,
        FloatPred::Uge => unordered || a >= b,
        FloatPred::Ult => unordered || a < b,
        FloatPred::Ule => unordered || a <= b,
        FloatPred::Une => a != b,
        FloatPred::True => true,
    }
}

impl Expr {
    /// How tightly the outermost operator binds, for printing.
    fn precedence(&self) -> u8 {
        match self {
            Expr::Select(..) => 0,
            Expr::Add(..) | Expr::Sub(..) | Expr::IntMinusOne(_) => 1,
            Expr::Mul(..) | Expr::Div(..) => 2,
            Expr::Neg(_) => 3,
            _ => 4,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, at_least: u8) -> fmt::Result {
        let parentheses = self.precedence() < at_least;
        if parentheses {
            f.write_str("(")?;
        }
        match self {
            Expr::Arg(i) => f.write_str(["x", "y", "z"][*i])?,
            Expr::Int(_) | Expr::IntToFloat(_) => f.write_str("n")?,
            Expr::IntMinusOne(_) => f.write_str("n − 1")?,
            Expr::Result => f.write_str("r")?,
            Expr::Const(c) if *c == std::f64::consts::LN_2 => f.write_str("ln 2")?,
            Expr::Const(c) if *c == std::f64::consts::LOG2_E => f.write_str("log₂ e")?,
            Expr::Const(c) if *c == std::f64::consts::LOG10_E => f.write_str("log₁₀ e")?,
            Expr::Const(c) if *c < 0.0 => write!(f, "−{}", -c)?,
            Expr::Const(c) => write!(f, "{c}")?,
            Expr::Add(a, b) => write_pair(f, a, " + ", b, 1)?,
            Expr::Sub(a, b) => write_pair(f, a, " − ", b, 1)?,
            Expr::Mul(a, b) => write_pair(f, a, " · ", b, 2)?,
            Expr::Div(a, b) => write_pair(f, a, " / ", b, 2)?,
            Expr::Neg(a) => {
                f.write_str("−")?;
                a.write(f, 3)?;
            }
            Expr::Math(function, args) => {
                write!(f, "{function}(")?;
                for (i, arg) in args.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    arg.write(f, 0)?;
                }
                f.write_str(")")?;
            }
            Expr::Select(c, a, b) => {
                a.write(f, 1)?;
                write!(f, " if {c}, else ")?;
                b.write(f, 0)?;
            }
        }
        if parentheses {
            f.write_str(")")?;
        }
        Ok(())
    }
}

fn write_pair(f: &mut fmt::Formatter<'_>, a: &Expr, operator: &str, b: &Expr, precedence: u8) -> fmt::Result {
    a.write(f, precedence)?;
    f.write_str(operator)?;
    b.write(f, precedence + 1)
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.pred {
            FloatPred::Oeq | FloatPred::Ueq => "=",
            FloatPred::One | FloatPred::Une => "≠",
            FloatPred::Olt | FloatPred::Ult => "<",
            FloatPred::Ole | FloatPred::Ule => "≤",
            FloatPred::Ogt | FloatPred::Ugt => ">",
            FloatPred::Oge | FloatPred::Uge => "≥",
            other => unreachable!("no rule compares with {other:?}"),
        };
        self.left.write(f, 1)?;
        write!(f, " {sign} ")?;
        self.right.write(f, 1)?;
        self.and.map_or(Ok(()), |other| write!(f, " and {other}"))
    }
}
