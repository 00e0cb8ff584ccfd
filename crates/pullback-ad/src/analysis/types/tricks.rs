//! Floats that are computed from the bits of others, where numbers lie too.
//!
//! The payload of an enum, or a word of a `Vec<u64>`, may be a number at one time and a float's bits at another. So it
//! may be used as a number: compared, added to, converted, and the sum may be stored where it came from. But what
//! integer arithmetic makes of it must not be taken for a float, for such a float has no derivative:
//!
//! ```text
//! v2 = load i64 v1            ; V::F(x) or V::I(n)
//! v3 = add v2, 4503599627370496:i64
//! v4 = bitcast f64 v3         ; 2x: an error
//! ```
//! A sum that is stored where a number or a float may lie, or that meets the word as it was before it becomes a float,
//! may be that of the other variant: `V::I(n) => V::I(n + 1)`. It is an error only where no program computes such a one
//! from a number: with a constant that changes the sign or the exponent of a float and nothing else, or with its bytes
//! in another order.
//!
//! Bits of floats where no numbers lie are no matter here: of them every use is an error (`activity`). Floats that are
//! put together from parts that are moved, within one function, are found by [`repacked`](super::repacked).
//!
//! Given [`Facts`] and the [`ActiveSet`], it finds the first such place. Bits are followed through values, calls and
//! memory.

use crate::analysis::activity::{ActiveSet, is_inert};
use crate::analysis::follow::{Follow, Live, Marks, Way, follow};
use crate::analysis::points_to::facts::{Facts, Slot};
use crate::analysis::points_to::objects::{Cell, Kinds, ObjId};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::types::computed::largest_number;
use crate::analysis::types::exponents::{is_exponent, multiple_of};
use pullback_ir::{BinOp, Callee, CastOp, FuncId, Function, InstData, Module, Op, SourceLoc, Type, Value};

/// What an integer has to do with the bits of an active float.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Made {
    /// It may be these bits, or a part of them.
    Carried,
    /// It may be these bits, or a number that was computed: either variant.
    Either,
    /// It was computed from them, as from a number.
    Computed,
    /// It was computed from them as from a float: its sign or its exponent was changed, or the order of its bytes.
    Trick,
}

/// Where a float is computed from an active float's bits, in these blocks of functions.
pub(crate) fn find(module: &Module, facts: &Facts, active: &ActiveSet, live: &Live) -> Option<Option<SourceLoc>> {
    let mut search = Search { module, facts, active, marks: Marks::new(Made::max), stored: Vec::new() };
    follow(module, &facts.functions, live, &mut search);
    live.iter().find_map(|(id, blocks)| {
        let func = module.func(*id);
        func.insts_in(blocks).find(|data| search.is_float(*id, func, data)).map(|data| data.loc)
    })
}

/// Integers that were stored where no floats lie.
struct Stored {
    object: ObjId,
    at: Offsets,
    width: u64,
    made: Made,
}

struct Search<'a> {
    module: &'a Module,
    facts: &'a Facts,
    active: &'a ActiveSet,
    marks: Marks<Made>,
    stored: Vec<Stored>,
}

impl Follow for Search<'_> {
    fn pass(&mut self, id: FuncId, from: Value, to: Slot, way: Way) {
        let made = match way {
            Way::Edge(block, index) => {
                self.one_of(id, self.made(id, from), self.module.func(id).passed_to(block, index))
            }
            Way::Argument | Way::Return => self.passed(id, from),
        };
        self.add(to, made);
    }

    fn goes_on(&mut self) -> bool {
        std::mem::take(&mut self.marks.changed)
    }

    fn instruction(&mut self, id: FuncId, func: &Function, data: &InstData) {
        match &data.op {
            Op::Store { ptr, value, align } => return self.store(id, func, *ptr, *align, *value),
            Op::Copy { dst, src, .. } => return self.copy(id, *dst, *src),
            _ => {}
        }
        let Some(result) = data.result else { return };
        let of = |value: &Value| self.made(id, *value);
        let made = match &data.op {
            Op::Load { ptr, align } => self.loaded(id, func, *ptr, *align, result),
            Op::Cast(CastOp::Bitcast, from) if func.ty(*from).is_float() => {
                self.active.is_active(id, *from).then_some(Made::Carried)
            }
            Op::Cast(CastOp::Trunc | CastOp::ZExt | CastOp::SExt, from) => of(from),
            op if is_exponent(func, op) => None,
            Op::Bin(op, a, b) if !op.is_float() => {
                of(a).max(of(b)).and_then(|made| operation(func, *op, *a, *b).map(|by| made.max(by)))
            }
            Op::Intrinsic(name, args) => {
                let made = args.iter().filter_map(of).max();
                made.and_then(|made| intrinsic(func, name, args).map(|by| made.max(by)))
            }
            Op::Select(_, a, b) => self.one_of(id, of(a).max(of(b)), [*a, *b].into_iter()),
            Op::Freeze(a) | Op::ExtractValue(a, _) => of(a),
            // Which of its integers they are, an aggregate does not say.
            Op::InsertValue(a, b, _) => of(a).max(of(b).map(|made| made.max(Made::Computed))),
            Op::Call(Callee::Direct(callee), ..) => self.marks.get((*callee, None)),
            _ => None,
        };
        if matches!(func.ty(result), Type::Int(_) | Type::Struct(_)) {
            self.add((id, Some(result)), made);
        }
    }
}

impl Search<'_> {
    fn made(&self, id: FuncId, value: Value) -> Option<Made> {
        self.marks.get((id, Some(value)))
    }

    fn add(&mut self, slot: Slot, made: Option<Made>) {
        // Flags are no bits.
        let is_flag = slot.1.is_some_and(|value| *self.module.func(slot.0).ty(value) == Type::Int(1));
        made.into_iter().filter(|_| !is_flag).for_each(|made| self.marks.add(slot, made));
    }

    /// What a value is on the other side of a call, or of memory where no floats lie, where a part does not look like
    /// one.
    fn passed(&self, id: FuncId, value: Value) -> Option<Made> {
        match self.made(id, value) {
            Some(Made::Carried) if !self.active.is_active(id, value) => Some(Made::Computed),
            made => made,
        }
    }

    /// Whether an operation makes a float of what was computed from a float's bits.
    fn is_float(&self, id: FuncId, func: &Function, data: &InstData) -> bool {
        match &data.op {
            _ if multiple_of(func, data, |value| self.made(id, value).is_some()).is_some() => false,
            Op::Cast(CastOp::Bitcast, from) if func.ty(*from).is_int() => {
                let is_masked = || matches!(func.def_op(*from), Some(Op::Bin(BinOp::And, ..)));
                self.made(id, *from) >= Some(Made::Computed) || self.made(id, *from).is_some() && is_masked()
            }
            // What is stored may be read as a float; unless it is a trick, not from where numbers lie.
            Op::Store { ptr, value, align } if self.made(id, *value) >= Some(Made::Computed) => {
                let Some((object, at)) = self.facts.target(id, *ptr, *align) else { return false };
                let (objects, is_trick) = (&self.facts.objects, self.made(id, *value) == Some(Made::Trick));
                let is_float = |c: &Cell| {
                    let kinds = objects.kinds(c.content);
                    kinds.has_float() && (is_trick || objects.is_declared(c.content) || !kinds.contains(Kinds::INT))
                };
                objects.live_cells(object).any(|c| is_float(c) && c.meets(&at, func.ty(*value).size()))
            }
            _ => false,
        }
    }

    /// What one of several values is, where the others may be the bits as they were.
    fn one_of(&self, id: FuncId, made: Option<Made>, mut all: impl Iterator<Item = Value>) -> Option<Made> {
        let is_either = made == Some(Made::Computed) && all.any(|value| self.active.is_active(id, value));
        if is_either { Some(Made::Either) } else { made }
    }

    fn loaded(&self, id: FuncId, func: &Function, ptr: Value, align: u64, result: Value) -> Option<Made> {
        let ((object, at), width) = (self.facts.target(id, ptr, align)?, func.ty(result).size());
        if is_inert(self.facts, id, ptr, align, width) {
            return None;
        }
        if self.facts.kinds(id, result).has_float() {
            return self.active.is_active_object(object).then_some(Made::Carried);
        }
        // What is never read as a float may be one by its layout.
        let mut opaque = self.facts.objects.touched_opaque(object, &at, width);
        if self.active.is_shadowed(object) && opaque.any(|opaque| opaque.kinds.has_float()) {
            return Some(Made::Carried);
        }
        let there = self.stored.iter().filter(|s| s.object == object && at.overlaps(width, &s.at, s.width));
        there.map(|stored| stored.made).max()
    }

    fn store(&mut self, id: FuncId, func: &Function, ptr: Value, align: u64, value: Value) {
        // Where a word is stored as it is, what is loaded is one, too.
        if let Some(made) = self.passed(id, value).filter(|made| *made != Made::Carried)
            && let Some((object, at)) = self.facts.target(id, ptr, align)
        {
            self.note(Stored { object, at, width: func.ty(value).size(), made });
        }
    }

    /// What is stored in an object may be anywhere in the one that it is copied to.
    fn copy(&mut self, id: FuncId, dst: Value, src: Value) {
        let (Some(to), Some(from)) = (self.facts.object(id, dst), self.facts.object(id, src)) else { return };
        let made = self.stored.iter().filter(|stored| stored.object == from).map(|stored| stored.made).max();
        if let Some(made) = made {
            self.note(Stored { object: to, at: Offsets::any(), width: 1, made });
        }
    }

    fn note(&mut self, new: Stored) {
        let is_known = |old: &Stored| {
            old.object == new.object && old.at == new.at && old.width == new.width && old.made >= new.made
        };
        if !self.stored.iter().any(is_known) {
            self.stored.push(new);
            self.marks.changed = true;
        }
    }
}

/// What an operation makes of bits; `None` if only a number can come of it. One that moves whole bytes, or chooses
/// some, moves parts.
fn operation(func: &Function, op: BinOp, a: Value, b: Value) -> Option<Made> {
    let constants = [a, b].map(|value| func.as_int(value));
    let some = || constants.into_iter().flatten();
    // A word shifted by so much has nothing in the place of the exponent, or nothing else: random numbers are made so.
    let mantissa = if *func.ty(a) == Type::I32 { 23 } else { 52 };
    let (low, high) = (8 * func.ty(a).size() as i128 - mantissa, mantissa);
    let is_shifted = |least: i128| constants[1].is_some_and(|by| by >= least && by % 8 != 0);
    match op {
        BinOp::LShr | BinOp::AShr if is_shifted(low) => None,
        BinOp::Shl if is_shifted(high) => None,
        BinOp::Shl | BinOp::LShr | BinOp::AShr if constants[1].is_some_and(|by| by % 8 == 0) => Some(Made::Carried),
        BinOp::Or if some().all(is_of_bytes) => Some(Made::Carried),
        BinOp::And if some().all(is_of_bytes) && some().next().is_some() => Some(Made::Carried),
        // The sign is taken away, or the exponent.
        BinOp::And if some().any(|mask| is_large(func.ty(a), mask) && mask.trailing_ones() as i128 >= mantissa) => {
            Some(Made::Trick)
        }
        // The exponent is changed, or the sign; or the whole is subtracted from that of another float.
        BinOp::Add | BinOp::Sub | BinOp::Xor | BinOp::Or
            if some().any(|n| is_large(func.ty(a), n) && n.trailing_zeros() as i128 >= mantissa) =>
        {
            Some(Made::Trick)
        }
        BinOp::Sub if constants[0].is_some_and(|n| is_large(func.ty(a), n)) => Some(Made::Trick),
        _ => Some(Made::Computed),
    }
}

/// Whether an integer is too large for a number that somebody wrote.
fn is_large(ty: &Type, n: i128) -> bool {
    largest_number(ty).is_some_and(|largest| n.unsigned_abs() > largest)
}

/// Whether a mask has only whole bytes.
fn is_of_bytes(mask: i128) -> bool {
    mask.to_le_bytes().iter().all(|byte| matches!(byte, 0 | 0xff))
}

/// What an intrinsic function makes of bits; `None` if only a number can come of it.
fn intrinsic(func: &Function, name: &str, args: &[Value]) -> Option<Made> {
    match name.strip_prefix("llvm.").and_then(|name| name.split('.').next()) {
        Some("bswap" | "bitreverse") => Some(Made::Trick),
        // Halves that are exchanged are parts; other bytes are not where they were. To hash a number, it is turned by
        // something else.
        Some("fshl" | "fshr") => {
            let by = args.get(2).and_then(|by| func.as_int(*by));
            let is_half = by == args.first().map(|arg| 4 * func.ty(*arg).size() as i128);
            let is_hashed = by.is_some_and(|by| by % 8 != 0);
            Some(if is_half {
                Made::Carried
            } else if is_hashed {
                Made::Computed
            } else {
                Made::Trick
            })
        }
        Some("ctpop" | "ctlz" | "cttz") => None,
        _ => Some(Made::Computed),
    }
}
