//! What a rule takes and returns is of types that are known: a derivative relies on what they do.

use pullback::rules::{Cotangent, NoTangent, ReferenceTangent, ResultTangent, Tangent, ZeroTangent};
use pullback::{Differentiable, frule};

fn powers(x: f64) -> Vec<f64> {
    (0..20).map(|n| x.powi(n)).collect()
}

/// Of another length than the value.
struct Short;

impl ResultTangent<Vec<f64>> for Short {
    fn tangent_of(self, _: &str, _: &Vec<f64>) -> Vec<f64> {
        vec![1.0]
    }
}

#[frule(for = powers)]
fn powers_frule(x: f64, _: f64) -> (Vec<f64>, Short) {
    (powers(x), Short)
}

#[derive(Differentiable)]
struct Lent<'a> {
    all: &'a [f64],
}

/// Of a type that owns nothing.
impl<'a> ResultTangent<Lent<'a>> for Lent<'a> {
    fn tangent_of(self, _: &str, _: &Lent<'a>) -> Lent<'a> {
        Lent { all: &self.all[1..] }
    }
}

/// A type of pullback's own, for something else.
impl<'a> ResultTangent<Lent<'a>> for ZeroTangent {
    fn tangent_of(self, _: &str, _: &Lent<'a>) -> Lent<'a> {
        Lent { all: &[] }
    }
}

impl<'a> ResultTangent<Lent<'a>> for NoTangent {
    fn tangent_of(self, _: &str, _: &Lent<'a>) -> Lent<'a> {
        Lent { all: &[] }
    }
}

impl Cotangent<f64> for Short {
    const ACTIVITY: pullback::abi::Activity = pullback::abi::Activity::Const;
    unsafe fn add_to(self, _: *mut f64) {}
}

impl Tangent<f64> for Short {
    const ACTIVITY: pullback::abi::Activity = pullback::abi::Activity::Const;
    unsafe fn read(_: *const f64, _: *mut f64) -> Self {
        Short
    }
}

impl ReferenceTangent<f64> for Short {
    unsafe fn lend(_: &mut pullback::__private::rules::TangentPlace<f64>) -> Self {
        Short
    }
}

fn main() {}
