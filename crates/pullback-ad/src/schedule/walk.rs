//! Header parameters that are loads at an affine place.
//!
//! A loop over neighbours, `x[i]` and `x[i + 1]`, is optimised to one load in each iteration: what was `x[i + 1]` is
//! handed on as the next iteration's `x[i]`. If nothing is written there, that parameter need not be kept: a load
//! recomputes it.
//!
//! ```text
//!   v1 = load f64 v0                   the first place
//!   jump b1(v1, 0:i64)
//! b1(v2: f64, v3: i64):                v2 is load f64 (v0 + 8·i)
//!   v4 = add v3, 1:i64
//!   v5 = mul v4, 8:i64
//!   v6 = ptradd v0, v5
//!   v7 = load f64 v6                   the place one step on
//!   …
//!   branch v9, b2, b1(v7, v4)
//! ```

use crate::schedule::recomputable::Recomputable;
use pullback_ir::counted::{Affine, Counted, Step};
use pullback_ir::{BinOp, Function, Inst, Loop, Op, Value};

/// The loads of a function, to ask about.
#[derive(Clone, Copy)]
pub struct Walks<'a> {
    /// The function.
    pub func: &'a Function,
    /// Its loops.
    pub counted: &'a Counted<'a>,
    /// Which of its loads may be recomputed.
    pub recomputable: &'a Recomputable<'a>,
}

/// An address or index in iteration `i`: `root + constant + i·step`, modulo 2⁶⁴.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// A value that does not change in the loop.
    pub root: Option<Value>,
    /// What is added to it.
    pub constant: i64,
    /// What is added each time round.
    pub step: i64,
}

/// How many instructions are looked through.
const MOST_INSTRUCTIONS: u32 = 12;

impl Walks<'_> {
    /// The place that a header parameter is a load from, and its alignment.
    pub fn walk(&self, value: Value) -> Option<(Affine, u64)> {
        let (id, init, next) = self.counted.recurrence(value)?;
        let ((first, first_align), (after, after_align)) =
            (self.recomputable_load(init)?, self.recomputable_load(next)?);
        if !self.counted.is_invariant(id, first) {
            return None;
        }
        let (start, on) = (self.place(id, first, MOST_INSTRUCTIONS)?, self.place(id, after, MOST_INSTRUCTIONS)?);
        let one_step_on = start.root == on.root && on.step != 0 && start.constant == on.constant.wrapping_sub(on.step);
        one_step_on.then(|| {
            let affine = Affine { id, init: first, step: Step::Constant(on.step) };
            (affine, first_align.min(after_align))
        })
    }

    /// Where a value is loaded from, if the load may be recomputed.
    fn recomputable_load(&self, value: Value) -> Option<(Value, u64)> {
        let inst: Inst = self.func.def_inst(value)?;
        let Op::Load { ptr, align } = self.func.inst(inst).op else { return None };
        self.recomputable.is_recomputable(inst).then_some((ptr, align))
    }

    /// Where a pointer points, by the iteration number of loop `id`.
    pub fn pointer(&self, id: Loop, pointer: Value) -> Option<Place> {
        self.place(id, pointer, MOST_INSTRUCTIONS)
    }

    /// An address or 64-bit index by the iteration number of loop `id`.
    fn place(&self, id: Loop, value: Value, most: u32) -> Option<Place> {
        let func = self.func;
        if let Some(number) = func.as_int(value) {
            return Some(Place { root: None, constant: i64::try_from(number).ok()?, step: 0 });
        }
        if let Some(Affine { id: of, init, step: Step::Constant(step) }) = self.counted.affine(value)
            && of == id
        {
            let at = self.place(id, init, most.checked_sub(1)?)?;
            return (func.ty(value).size() == 8).then_some(Place { step: at.step.wrapping_add(step), ..at });
        }
        let made = func.def_inst(value).and_then(|inst| self.computed_place(id, &func.inst(inst).op, most));
        let invariant =
            || self.counted.is_invariant(id, value).then_some(Place { root: Some(value), constant: 0, step: 0 });
        made.filter(|_| func.ty(value).size() == 8).or_else(invariant)
    }

    fn computed_place(&self, id: Loop, op: &Op, most: u32) -> Option<Place> {
        let most = most.checked_sub(1)?;
        match *op {
            Op::PtrAdd(a, b) | Op::Bin(BinOp::Add, a, b) => {
                let (a, b) = (self.place(id, a, most)?, self.place(id, b, most)?);
                let root = match (a.root, b.root) {
                    (Some(_), Some(_)) => return None,
                    (a, b) => a.or(b),
                };
                Some(Place { root, constant: a.constant.wrapping_add(b.constant), step: a.step.wrapping_add(b.step) })
            }
            Op::Bin(BinOp::Mul | BinOp::Shl, a, by) => {
                let by = i64::try_from(self.func.as_int(by)?).ok()?;
                let factor = match op {
                    Op::Bin(BinOp::Shl, ..) => 1i64.checked_shl(u32::try_from(by).ok()?)?,
                    _ => by,
                };
                let a = self.place(id, a, most)?;
                let scaled =
                    Place { root: None, constant: a.constant.wrapping_mul(factor), step: a.step.wrapping_mul(factor) };
                a.root.is_none().then_some(scaled)
            }
            _ => None,
        }
    }
}
