//! Numbers with exact first and second derivatives: the oracle of random programs.
//!
//! The value is a float of the program's own type, computed by the same functions of std, so that every comparison,
//! every sort and every conversion to an integer has the program's own result. Derivatives are `f64`. Beside each
//! derivative stands its *scale*: the same derivative with the absolute values of all terms, which says how large
//! rounding errors may be.

use std::cell::Cell;
use std::cmp::Ordering;
use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

thread_local! {
    /// Whether a minimum or maximum of this run could be either of its operands.
    static TIED: Cell<bool> = const { Cell::new(false) };
}

/// A value; its derivatives in two directions and the mixed second one; the scales of the three; and whether it depends
/// on what moves in a direction, though the derivative may be zero at this point.
#[derive(Clone, Copy, Default)]
pub struct Dual<T> {
    pub value: T,
    pub first: [f64; 2],
    pub mixed: f64,
    pub first_scale: [f64; 2],
    pub mixed_scale: f64,
    depends: [bool; 2],
}

/// What is known of a function of one number at a point.
struct Partials {
    first: f64,
    second: f64,
    /// Partials are computed with an absolute error of this many units in the last place of 1.
    error: f64,
}

/// What is known of a function of two numbers at a point.
#[derive(Default)]
struct Partials2 {
    a: f64,
    b: f64,
    aa: f64,
    ab: f64,
    bb: f64,
}

impl<T: Copy> Dual<T> {
    pub fn constant(value: T) -> Self {
        Dual { value, first: [0.0; 2], mixed: 0.0, first_scale: [0.0; 2], mixed_scale: 0.0, depends: [false; 2] }
    }

    /// An input, and how it moves in both directions.
    pub fn input(value: T, first: [f64; 2]) -> Self {
        let depends = first.map(|t| t != 0.0);
        Dual { value, first, mixed: 0.0, first_scale: first.map(f64::abs), mixed_scale: 0.0, depends }
    }

    /// Note where it is not said which of two equal numbers is taken: with a constant of the program's for the first one
    /// it is the other, and what is a constant is for LLVM to say.
    fn note_tie(self, other: Self)
    where
        T: PartialEq,
    {
        if self.value == other.value && self.depends == [false; 2] && other.depends != [false; 2] {
            TIED.set(true);
        }
    }

    #[inline(never)]
    fn chain(self, value: T, d: Partials) -> Self {
        let (first, second) = (d.first.abs().max(d.error), d.second.abs().max(d.error));
        let depends = self.depends;
        let both = depends[0] && depends[1];
        Dual {
            value,
            first: [0, 1].map(|i| times(depends[i], d.first, self.first[i])),
            mixed: times(both, d.second, self.first[0] * self.first[1]) + times(both, d.first, self.mixed),
            first_scale: [0, 1].map(|i| times(depends[i], first, self.first_scale[i])),
            mixed_scale: times(both, second, self.first_scale[0] * self.first_scale[1])
                + times(both, first, self.mixed_scale),
            depends,
        }
    }

    #[inline(never)]
    fn chain2(self, other: Self, value: T, d: Partials2) -> Self {
        let (a, b) = (self.first, other.first);
        let (x, y) = (self.first_scale, other.first_scale);
        let (on_a, on_b) = (self.depends, other.depends);
        // In which of the two products of derivatives one is of each operand.
        let crossed = [on_a[0] && on_b[1], on_a[1] && on_b[0]];
        let (both_a, both_b) = (on_a[0] && on_a[1], on_b[0] && on_b[1]);
        Dual {
            value,
            first: [0, 1].map(|i| times(on_a[i], d.a, a[i]) + times(on_b[i], d.b, b[i])),
            mixed: times(both_a, d.a, self.mixed)
                + times(both_b, d.b, other.mixed)
                + times(both_a, d.aa, a[0] * a[1])
                + times(crossed[0], d.ab, a[0] * b[1])
                + times(crossed[1], d.ab, a[1] * b[0])
                + times(both_b, d.bb, b[0] * b[1]),
            first_scale: [0, 1].map(|i| times(on_a[i], d.a.abs(), x[i]) + times(on_b[i], d.b.abs(), y[i])),
            mixed_scale: times(both_a, d.a.abs(), self.mixed_scale)
                + times(both_b, d.b.abs(), other.mixed_scale)
                + times(both_a, d.aa.abs(), x[0] * x[1])
                + times(crossed[0], d.ab.abs(), x[0] * y[1])
                + times(crossed[1], d.ab.abs(), x[1] * y[0])
                + times(both_b, d.bb.abs(), y[0] * y[1]),
            depends: [0, 1].map(|i| on_a[i] || on_b[i]),
        }
    }
}

/// A product, which is zero for what does not depend on an input, whatever the partial is. What depends on it, and has
/// the derivative zero at this point, is NaN where the partial is infinite: nothing is said of that.
fn times(depends: bool, partial: f64, derivative: f64) -> f64 {
    if depends { partial * derivative } else { 0.0 }
}

fn exactly(first: f64, second: f64) -> Partials {
    Partials { first, second, error: 0.0 }
}

fn nearly(first: f64, second: f64) -> Partials {
    Partials { first, second, error: 1.0 }
}

macro_rules! dual {
    ($T:ident) => {
        impl Dual<$T> {
            pub const fn lit(value: $T) -> Self {
                Dual { value, first: [0.0; 2], mixed: 0.0, first_scale: [0.0; 2], mixed_scale: 0.0, depends: [false; 2] }
            }

            fn at(self) -> f64 {
                f64::from(self.value)
            }

            pub fn sin(self) -> Self {
                self.chain(self.value.sin(), nearly(self.at().cos(), -self.at().sin()))
            }
            pub fn cos(self) -> Self {
                self.chain(self.value.cos(), nearly(-self.at().sin(), -self.at().cos()))
            }
            pub fn sin_cos(self) -> (Self, Self) {
                (self.sin(), self.cos())
            }
            pub fn tan(self) -> Self {
                let r = self.at().tan();
                self.chain(self.value.tan(), nearly(1.0 + r * r, 2.0 * r * (1.0 + r * r)))
            }
            pub fn asin(self) -> Self {
                let w = (1.0 - self.at()) * (1.0 + self.at());
                self.chain(self.value.asin(), nearly(1.0 / w.sqrt(), self.at() / (w * w.sqrt())))
            }
            pub fn acos(self) -> Self {
                let w = (1.0 - self.at()) * (1.0 + self.at());
                self.chain(self.value.acos(), nearly(-1.0 / w.sqrt(), -self.at() / (w * w.sqrt())))
            }
            pub fn atan(self) -> Self {
                let w = 1.0 + self.at() * self.at();
                self.chain(self.value.atan(), nearly(1.0 / w, -2.0 * self.at() / (w * w)))
            }
            pub fn sinh(self) -> Self {
                self.chain(self.value.sinh(), nearly(self.at().cosh(), self.at().sinh()))
            }
            pub fn cosh(self) -> Self {
                self.chain(self.value.cosh(), nearly(self.at().sinh(), self.at().cosh()))
            }
            pub fn tanh(self) -> Self {
                let r = self.at().tanh();
                let d = (1.0 - r) * (1.0 + r);
                self.chain(self.value.tanh(), nearly(d, -2.0 * r * d))
            }
            pub fn asinh(self) -> Self {
                let w = 1.0 + self.at() * self.at();
                self.chain(self.value.asinh(), nearly(1.0 / w.sqrt(), -self.at() / (w * w.sqrt())))
            }
            pub fn exp(self) -> Self {
                let r = self.at().exp();
                self.chain(self.value.exp(), exactly(r, r))
            }
            pub fn exp2(self) -> Self {
                let (r, l) = (self.at().exp2(), std::f64::consts::LN_2);
                self.chain(self.value.exp2(), exactly(r * l, r * l * l))
            }
            pub fn exp_m1(self) -> Self {
                let r = self.at().exp();
                self.chain(self.value.exp_m1(), nearly(r, r))
            }
            pub fn ln(self) -> Self {
                let x = self.at();
                self.chain(self.value.ln(), exactly(1.0 / x, -1.0 / (x * x)))
            }
            pub fn log2(self) -> Self {
                let (x, l) = (self.at(), std::f64::consts::LOG2_E);
                self.chain(self.value.log2(), exactly(l / x, -l / (x * x)))
            }
            pub fn log10(self) -> Self {
                let (x, l) = (self.at(), std::f64::consts::LOG10_E);
                self.chain(self.value.log10(), exactly(l / x, -l / (x * x)))
            }
            pub fn ln_1p(self) -> Self {
                let x = 1.0 + self.at();
                self.chain(self.value.ln_1p(), nearly(1.0 / x, -1.0 / (x * x)))
            }
            pub fn sqrt(self) -> Self {
                let (x, r) = (self.at(), self.at().sqrt());
                self.chain(self.value.sqrt(), exactly(0.5 / r, -0.25 / (r * x)))
            }
            pub fn cbrt(self) -> Self {
                let (x, r) = (self.at(), self.at().cbrt());
                self.chain(self.value.cbrt(), exactly(1.0 / (3.0 * r * r), -2.0 / (9.0 * r * r * x)))
            }
            pub fn recip(self) -> Self {
                let x = self.at();
                self.chain(self.value.recip(), exactly(-1.0 / (x * x), 2.0 / (x * x * x)))
            }
            pub fn abs(self) -> Self {
                let d = if self.value == 0.0 { 0.0 } else { self.at().signum() };
                self.chain(self.value.abs(), exactly(d, 0.0))
            }
            pub fn powi(self, n: i32) -> Self {
                let (x, k) = (self.at(), f64::from(n));
                let first = if n == 0 { 0.0 } else { k * x.powi(n - 1) };
                let second = if n == 0 || n == 1 { 0.0 } else { k * (k - 1.0) * x.powi(n - 2) };
                self.chain(self.value.powi(n), exactly(first, second))
            }
            pub fn powf(self, y: Self) -> Self {
                let (x, e) = (self.at(), y.at());
                let (r, l) = (x.powf(e), x.ln());
                let d = Partials2 {
                    a: e * x.powf(e - 1.0),
                    b: r * l,
                    aa: e * (e - 1.0) * x.powf(e - 2.0),
                    ab: x.powf(e - 1.0) * (1.0 + e * l),
                    bb: r * l * l,
                };
                self.chain2(y, self.value.powf(y.value), d)
            }
            pub fn hypot(self, y: Self) -> Self {
                let (a, b) = (self.at(), y.at());
                let r = a.hypot(b);
                let c = r * r * r;
                let d = Partials2 { a: a / r, b: b / r, aa: b * b / c, ab: -a * b / c, bb: a * a / c };
                self.chain2(y, self.value.hypot(y.value), d)
            }
            pub fn atan2(self, x: Self) -> Self {
                let (a, b) = (self.at(), x.at());
                let s = a * a + b * b;
                let q = s * s;
                let d = Partials2 {
                    a: b / s,
                    b: -a / s,
                    aa: -2.0 * a * b / q,
                    ab: (a * a - b * b) / q,
                    bb: 2.0 * a * b / q,
                };
                self.chain2(x, self.value.atan2(x.value), d)
            }
            pub fn mul_add(self, b: Self, c: Self) -> Self {
                let sum = self * b + c;
                Dual { value: self.value.mul_add(b.value, c.value), ..sum }
            }
            pub fn max(self, other: Self) -> Self {
                self.note_tie(other);
                if self.value == self.value.max(other.value) { self } else { other }
            }
            pub fn min(self, other: Self) -> Self {
                self.note_tie(other);
                if self.value == self.value.min(other.value) { self } else { other }
            }
            pub fn clamp(self, low: Self, high: Self) -> Self {
                if self.value < low.value {
                    low
                } else if self.value > high.value {
                    high
                } else {
                    self
                }
            }
            pub fn copysign(self, sign: Self) -> Self {
                let d = if self.value == 0.0 { 0.0 } else { self.at().signum() * sign.at().signum() };
                self.chain(self.value.copysign(sign.value), exactly(d, 0.0))
            }
            pub fn signum(self) -> Self {
                Self::lit(self.value.signum())
            }
            pub fn floor(self) -> Self {
                Self::lit(self.value.floor())
            }
            pub fn ceil(self) -> Self {
                Self::lit(self.value.ceil())
            }
            pub fn round(self) -> Self {
                Self::lit(self.value.round())
            }
            pub fn trunc(self) -> Self {
                Self::lit(self.value.trunc())
            }
            pub fn fract(self) -> Self {
                self.chain(self.value.fract(), exactly(1.0, 0.0))
            }
            pub fn to_radians(self) -> Self {
                self.chain(self.value.to_radians(), exactly(std::f64::consts::PI / 180.0, 0.0))
            }
            pub fn rem_euclid(self, other: Self) -> Self {
                let quotient = self.value.div_euclid(other.value);
                let d = Partials2 { a: 1.0, b: -f64::from(quotient), ..Partials2::default() };
                self.chain2(other, self.value.rem_euclid(other.value), d)
            }
            pub fn is_nan(self) -> bool {
                self.value.is_nan()
            }
            pub fn is_finite(self) -> bool {
                self.value.is_finite()
            }
            pub fn is_sign_negative(self) -> bool {
                self.value.is_sign_negative()
            }
            pub fn total_cmp(&self, other: &Self) -> Ordering {
                self.value.total_cmp(&other.value)
            }
            pub fn as_usize(self) -> usize {
                self.value as usize
            }
            pub fn as_i64(self) -> i64 {
                self.value as i64
            }
        }

        impl From<usize> for Dual<$T> {
            fn from(value: usize) -> Self {
                Self::lit(value as $T)
            }
        }

        impl PartialEq for Dual<$T> {
            fn eq(&self, other: &Self) -> bool {
                self.value == other.value
            }
        }

        impl PartialOrd for Dual<$T> {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.value.partial_cmp(&other.value)
            }
        }

        impl Neg for Dual<$T> {
            type Output = Self;
            fn neg(self) -> Self {
                self.chain(-self.value, exactly(-1.0, 0.0))
            }
        }

        impl Neg for &Dual<$T> {
            type Output = Dual<$T>;
            fn neg(self) -> Dual<$T> {
                -*self
            }
        }

        operator!($T, Add, add, AddAssign, add_assign, |_, _| Partials2 { a: 1.0, b: 1.0, ..Partials2::default() });
        operator!($T, Sub, sub, SubAssign, sub_assign, |_, _| Partials2 { a: 1.0, b: -1.0, ..Partials2::default() });
        operator!($T, Mul, mul, MulAssign, mul_assign, |a, b| Partials2 {
            a: b,
            b: a,
            ab: 1.0,
            ..Partials2::default()
        });
        operator!($T, Div, div, DivAssign, div_assign, |a, b| Partials2 {
            a: 1.0 / b,
            b: -a / (b * b),
            aa: 0.0,
            ab: -1.0 / (b * b),
            bb: 2.0 * a / (b * b * b),
        });
        operator!($T, Rem, rem, RemAssign, rem_assign, |a, b| Partials2 {
            a: 1.0,
            b: -(a / b).trunc(),
            ..Partials2::default()
        });

        impl Sum for Dual<$T> {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::lit(-0.0), |a, b| a + b)
            }
        }

        impl<'a> Sum<&'a Dual<$T>> for Dual<$T> {
            fn sum<I: Iterator<Item = &'a Self>>(items: I) -> Self {
                items.copied().sum()
            }
        }

        impl Product for Dual<$T> {
            fn product<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::lit(1.0), |a, b| a * b)
            }
        }

        impl<'a> Product<&'a Dual<$T>> for Dual<$T> {
            fn product<I: Iterator<Item = &'a Self>>(items: I) -> Self {
                items.copied().product()
            }
        }

        impl std::fmt::Display for Dual<$T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.value.fmt(f)
            }
        }

        impl std::fmt::Debug for Dual<$T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.value.fmt(f)
            }
        }

        impl Data for Dual<$T> {
            fn read(stream: &mut Stream) -> Self {
                stream.dual(|number| number as $T)
            }
            fn write(&self, out: &mut Vec<Number>) {
                out.push(Dual {
                    value: f64::from(self.value),
                    first: self.first,
                    mixed: self.mixed,
                    first_scale: self.first_scale,
                    mixed_scale: self.mixed_scale,
                    depends: self.depends,
                });
            }
        }
    };
}

macro_rules! operator {
    ($T:ident, $Op:ident, $op:ident, $Assign:ident, $assign:ident, $partials:expr) => {
        impl $Op for Dual<$T> {
            type Output = Self;
            #[inline(never)]
            fn $op(self, other: Self) -> Self {
                let partials: fn(f64, f64) -> Partials2 = $partials;
                self.chain2(other, self.value.$op(other.value), partials(self.at(), other.at()))
            }
        }

        impl $Op<&Dual<$T>> for Dual<$T> {
            type Output = Dual<$T>;
            fn $op(self, other: &Self) -> Self {
                self.$op(*other)
            }
        }

        impl $Op<Dual<$T>> for &Dual<$T> {
            type Output = Dual<$T>;
            fn $op(self, other: Dual<$T>) -> Dual<$T> {
                (*self).$op(other)
            }
        }

        impl $Op<&Dual<$T>> for &Dual<$T> {
            type Output = Dual<$T>;
            fn $op(self, other: &Dual<$T>) -> Dual<$T> {
                (*self).$op(*other)
            }
        }

        impl $Assign for Dual<$T> {
            fn $assign(&mut self, other: Self) {
                *self = self.$op(other);
            }
        }

        impl $Assign<&Dual<$T>> for Dual<$T> {
            fn $assign(&mut self, other: &Self) {
                *self = self.$op(*other);
            }
        }
    };
}

dual!(f32);
dual!(f64);

/// What a program returns, whatever its precision.
pub type Number = Dual<f64>;

/// Where the numbers of arguments come from.
pub struct Stream {
    values: numbers::Stream,
    /// The direction of forward derivatives, and of Hessian-vector products; constants have none.
    direction: Option<numbers::Stream>,
    /// Which input the first direction belongs to.
    input: usize,
}

impl Stream {
    fn dual<T: Copy>(&mut self, round: impl Fn(f64) -> T) -> Dual<T>
    where
        f64: From<T>,
    {
        let value = round(self.values.number());
        let Some(direction) = &mut self.direction else { return Dual::constant(value) };
        let first = if self.input + 1 == self.values.taken { 1.0 } else { 0.0 };
        Dual::input(value, [first, f64::from(round(direction.number()))])
    }

    pub fn integer(&self) -> usize {
        self.values.point as usize
    }

    pub fn take<T: Data>(&mut self) -> T {
        T::read(self)
    }
}

/// One run of a program.
pub struct Session {
    pub program: usize,
    pub seed: u64,
    pub point: u64,
    pub input: usize,
}

impl Session {
    pub fn values(&self) -> Stream {
        let stream = |purpose| numbers::Stream::new(self.seed, self.point, purpose);
        let direction = Some(stream(numbers::Purpose::Direction));
        Stream { values: stream(numbers::Purpose::Values), direction, input: self.input }
    }

    pub fn constants(&self) -> Stream {
        let values = numbers::Stream::new(self.seed, self.point, numbers::Purpose::Constants);
        Stream { values, direction: None, input: 0 }
    }
}

/// A program: what it computes in one run.
pub type Program = fn(&Session) -> Vec<Number>;

/// Print the derivatives of a program, at each point with respect to each of its inputs.
pub fn tell(program: usize, seed: u64, points: u64, inputs: usize, run: Program) {
    for point in 0..points {
        for input in 0..inputs {
            let session = Session { program, seed, point, input };
            TIED.set(false);
            let Ok(out) = std::panic::catch_unwind(|| run(&session)) else {
                println!("{program} {point} {input} panic");
                continue;
            };
            print!("{program} {point} {input} {}", if TIED.get() { "tie" } else { "ok" });
            for number in out {
                let ([first, _], [first_scale, _]) = (number.first, number.first_scale);
                for part in [number.value, first, number.mixed, first_scale, number.mixed_scale] {
                    print!(" {:x}", part.to_bits());
                }
            }
            println!();
        }
    }
}
