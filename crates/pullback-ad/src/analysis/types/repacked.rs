//! Floats whose bits are taken apart and put together again.
//!
//! Where another variant of an enum has a number or a flag in the place of a float, the optimiser may move the float in
//! parts: its lowest byte and the other seven, joined by shifts and masks. To the analyses of numbers such a joint is a
//! number like others, and the float that is read from it would have no derivative. So what shifts, masks and
//! extensions make of the bits of an active float must not become a float, nor go to where floats lie; it is an error.
//! Sums and products are left alone: those are of numbers that lie there in another variant. So is a part of the bits
//! with something else beside it, which is no float any more. Halves of words that are floats are taken apart before
//! (`prepare::split_wide_ints`). The sign and the exponent (`exponents`) are a part only beside
//! another one.
//!
//! Given [`Facts`] and the [`ActiveSet`], it finds the first such place.

use crate::analysis::activity::{ActiveSet, float_cells};
use crate::analysis::follow::{Follow, Live, Marks, Way, follow};
use crate::analysis::points_to::facts::{Facts, Slot};
use crate::analysis::points_to::objects::Kinds;
use crate::analysis::types::exponents::{is_exponent, multiple_of};
use pullback_ir::{BinOp, CastOp, Copies, FuncId, Function, InstData, Module, Op, SourceLoc, Type, Value};
use std::collections::HashSet;

/// What an integer has of the bits of a float.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bits {
    /// The sign or the exponent, which are the same for all floats around.
    Exponent,
    /// Some of an `f64`: with something else beside them, they are no float any more.
    Part,
    /// Those of an `f64`.
    Double,
    /// Those of an `f32`, or an integer of which they may be a half.
    Narrow,
    /// All of them, but moved, or put together again.
    Repacked,
}

impl Bits {
    /// What is left after a shift or a mask.
    fn cut(self) -> Bits {
        match self {
            Bits::Exponent => Bits::Exponent,
            Bits::Part | Bits::Double => Bits::Part,
            Bits::Narrow | Bits::Repacked => Bits::Repacked,
        }
    }

    /// What they are beside something else.
    fn moved(self) -> Bits {
        if matches!(self, Bits::Exponent | Bits::Part) { self } else { Bits::Repacked }
    }
}

/// Where a float is put together of an active float's bits, in these blocks of functions.
pub(crate) fn find(module: &Module, facts: &Facts, active: &ActiveSet, live: &Live) -> Option<Option<SourceLoc>> {
    live.iter().find_map(|part| {
        let (id, func) = (part.0, module.func(part.0));
        let copies = Copies::new(func, func.blocks());
        let mut search = Search { facts, active, id, func, copies, marks: Marks::new(Bits::max) };
        follow(module, &[], std::slice::from_ref(part), &mut search);
        func.insts_in(&part.1).find(|data| search.puts_together(data)).map(|data| data.loc)
    })
}

struct Search<'a> {
    facts: &'a Facts,
    active: &'a ActiveSet,
    id: FuncId,
    func: &'a Function,
    copies: Copies,
    marks: Marks<Bits>,
}

impl Follow for Search<'_> {
    fn pass(&mut self, _: FuncId, from: Value, to: Slot, _: Way) {
        self.bits(&from).into_iter().for_each(|bits| self.marks.add(to, bits));
    }

    fn goes_on(&mut self) -> bool {
        std::mem::take(&mut self.marks.changed)
    }

    fn instruction(&mut self, id: FuncId, func: &Function, data: &InstData) {
        let Some(result) = data.result.filter(|result| func.ty(*result).is_int()) else { return };
        let of = |value: &Value| self.bits(value);
        let bits = match &data.op {
            op if is_exponent(func, op) => op.operands().iter().filter_map(of).max().map(|_| Bits::Exponent),
            Op::Bin(BinOp::Or, a, b) => match (of(a), of(b)) {
                (Some(Bits::Part), Some(Bits::Exponent | Bits::Part)) => Some(Bits::Repacked),
                (Some(Bits::Exponent), Some(Bits::Part)) => Some(Bits::Repacked),
                (a, b) => a.max(b).map(Bits::moved),
            },
            Op::Bin(BinOp::Shl | BinOp::LShr | BinOp::AShr | BinOp::And, a, b) => of(a).max(of(b)).map(Bits::cut),
            op @ Op::Intrinsic(_, args) if op.is_funnel_shift() => {
                args.iter().filter_map(of).max().map(|_| Bits::Repacked)
            }
            Op::Cast(CastOp::ZExt | CastOp::SExt, a) => of(a).map(Bits::moved),
            Op::Cast(CastOp::Trunc, a) => of(a).map(Bits::cut),
            Op::Select(_, a, b) => of(a).max(of(b)),
            Op::Freeze(a) => of(a),
            op => self.made(op, result),
        };
        bits.into_iter().for_each(|bits| self.marks.add((id, Some(result)), bits));
    }
}

impl Search<'_> {
    fn bits(&self, value: &Value) -> Option<Bits> {
        self.marks.get((self.id, Some(*value)))
    }

    /// Whether an instruction makes a float of bits that are put together.
    fn puts_together(&self, data: &InstData) -> bool {
        let is_repacked = |value: &Value| self.bits(value) == Some(Bits::Repacked);
        match &data.op {
            // With the mantissa of one float, it is a multiple of that.
            _ if multiple_of(self.func, data, |value| self.bits(&value) > Some(Bits::Exponent)).is_some() => false,
            Op::Cast(CastOp::Bitcast, a) => is_repacked(a),
            Op::Store { value, .. } if *self.func.ty(*value) == Type::Ptr => self.is_float_as_pointer(*value, false),
            Op::Store { ptr, value, align } => {
                (is_repacked(value) || self.is_odd_part(value)) && self.is_float_place(*ptr, *align, *value)
            }
            _ => false,
        }
    }

    /// Whether an integer is what is left of a float beside a narrower part of it. No program has numbers as wide; what
    /// is put beside it in memory is the other part.
    fn is_odd_part(&self, value: &Value) -> bool {
        let is_odd = !matches!(self.func.ty(*value), Type::Int(8 | 16 | 32 | 64));
        is_odd && self.bits(value) == Some(Bits::Part)
    }

    /// What an integer has of the bits of an active float, by what makes it.
    fn made(&self, op: &Op, value: Value) -> Option<Bits> {
        let (func, id) = (self.func, self.id);
        let of_kinds = |kinds: Kinds| {
            let narrow = kinds.contains(Kinds::F32) || *func.ty(value) != Type::I64;
            kinds.has_float().then_some(if narrow { Bits::Narrow } else { Bits::Double })
        };
        let is_word = || self.active.is_active(id, value) && self.facts.is_word(id, func.ty(value), value);
        if self.active.has_active_bits(id, value) || is_word() {
            return of_kinds(self.facts.kinds(id, value));
        }
        match op {
            Op::Cast(CastOp::Bitcast, from) if func.ty(*from).is_float() && self.active.is_active(id, *from) => {
                Some(if *func.ty(*from) == Type::F64 { Bits::Double } else { Bits::Narrow })
            }
            Op::Load { ptr, align } => of_kinds(self.unseen_floats(*ptr, *align, value)?),
            // A word that is a pointer in another variant is loaded as one.
            Op::Cast(CastOp::PtrToInt, from) => self.is_float_as_pointer(*from, true).then_some(Bits::Repacked),
            _ => None,
        }
    }

    /// Whether a pointer may be the bits of an active float, as it was loaded on some way here; from where a pointer
    /// may lie, too, if `or_pointer`.
    fn is_float_as_pointer(&self, pointer: Value, or_pointer: bool) -> bool {
        let mut sources = HashSet::from([pointer]);
        self.copies.close_backwards(&mut sources, |_| true);
        sources.into_iter().any(|source| match self.func.def_op(source) {
            Some(Op::Load { ptr, align }) => {
                let kinds = self.unseen_floats(*ptr, *align, source);
                kinds.is_some_and(|kinds| or_pointer || !kinds.contains(Kinds::PTR))
            }
            _ => false,
        })
    }

    /// Whether what is stored may be read as a float.
    fn is_float_place(&self, ptr: Value, align: u64, value: Value) -> bool {
        let is_float = |(object, at)| float_cells(self.facts, object, &at, self.func.ty(value).size());
        self.facts.target(self.id, ptr, align).is_some_and(is_float) || self.unseen_floats(ptr, align, value).is_some()
    }

    /// What may lie in the place of `value` by its layout, which does not say where, if that may be an active float.
    fn unseen_floats(&self, ptr: Value, align: u64, value: Value) -> Option<Kinds> {
        let (object, at) = self.facts.target(self.id, ptr, align).filter(|(o, _)| self.active.is_shadowed(*o))?;
        let opaque = self.facts.objects.touched_opaque(object, &at, self.func.ty(value).size());
        let there = opaque.map(|opaque| opaque.kinds);
        there.filter(|kinds| kinds.has_float()).reduce(Kinds::union)
    }
}
