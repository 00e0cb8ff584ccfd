//! Memory of the function's own that each iteration of a loop makes anew.
//!
//! A buffer is often made once, in front of a loop, and filled by each of its iterations:
//!
//! ```text
//! let mut row = vec![0.0; n];
//! for x in points {
//!     for (out, x) in row.iter_mut().zip(x) { *out = f(x); }      all of it is overwritten,
//!     sum += g(&row);                                             and then read
//! }
//! ```
//! No float goes from one iteration to the next in it, and so no cotangent comes back: what an iteration reads there, it
//! has written itself. Such memory
//!
//! - is made once, by one instruction of this function, and its address is nowhere but in values;
//! - has nothing to do with what comes after the loop;
//! - is overwritten as a whole, in each iteration, on every way to where it is read: by a loop inside that stores from
//!   its first byte to its last, or at once. How many bytes are written and how many there are have to be the same
//!   expression of values.

use crate::analysis::points_to::objects::ObjId;
use crate::linearise::augment::Augmented;
use crate::linearise::linear::Linear;
use crate::schedule::Scheduled;
use crate::schedule::walk::Walks;
use crate::session::Session;
use pullback_ir::counted::{Counted, Span};
use pullback_ir::{BinOp, Block, Inst, Loop, Op, Terminator, Type, Value};
use std::collections::{BTreeMap, HashSet};

/// What is asked about the memory of a function.
#[derive(Clone, Copy)]
pub struct Renewed<'a> {
    /// Points-to facts.
    pub session: &'a Session<'a>,
    /// The function.
    pub scheduled: &'a Scheduled,
    /// Its loops.
    pub counted: &'a Counted<'a>,
    /// Its places.
    pub walks: Walks<'a>,
}

/// How many instructions are looked through.
const MOST_INSTRUCTIONS: u32 = 12;

/// What overwrites all of an object.
enum Whole {
    /// A loop, when it has been left.
    Loop(Loop),
    /// An instruction.
    At(Block, usize),
}

impl Renewed<'_> {
    /// The objects to which loop `id` writes, and that each of its iterations makes anew.
    pub fn objects(&self, id: Loop) -> HashSet<ObjId> {
        let written = self.blocks(id).flat_map(|block| self.linear(block));
        let written: HashSet<ObjId> = written.filter_map(|(.., linear)| self.target(linear)).collect();
        written.into_iter().filter(|object| self.is_renewed(id, *object)).collect()
    }

    fn is_renewed(&self, id: Loop, object: ObjId) -> bool {
        let Some(size) = self.size(object) else { return false };
        let wholes = self.wholes(id, object, &size);
        let doms = &self.scheduled.flow.doms;
        let is_after = |block: Block, position: usize| {
            wholes.iter().any(|whole| match whole {
                Whole::Loop(inner) => {
                    let header = self.scheduled.flow.loops.get(*inner).header;
                    doms.dominates(header, block) && !self.scheduled.flow.loops.contains(*inner, block)
                }
                Whole::At(at, before) if *at == block => *before < position,
                Whole::At(at, _) => doms.dominates(*at, block),
            })
        };
        !wholes.is_empty()
            && self.blocks(id).all(|block| {
                self.linear(block).all(|(position, _, linear)| match linear {
                    Linear::Load(_, shadow, _) => self.object(shadow[0]) != Some(object) || is_after(block, position),
                    _ => true,
                })
            })
    }

    /// The bytes of an object, if it is made once, by one instruction, and its address stays in values.
    fn size(&self, object: ObjId) -> Option<Linearly> {
        let Session { facts, module, .. } = self.session;
        if !facts.objects.origins(object).is_own() || self.aug().regions.is_shared(object) {
            return None;
        }
        let mut made = 0;
        for of in &facts.functions {
            let func = module.func(*of);
            let is_it = |value: &Value| facts.object(*of, *value) == Some(object);
            for data in func.blocks().map(|block| func.block(block)) {
                if matches!(&data.term, Terminator::Return(value) if value.iter().any(is_it)) {
                    return None;
                }
                for inst in &data.insts {
                    let data = func.inst(*inst);
                    let leaves = match &data.op {
                        Op::Alloc { .. } | Op::Alloca { .. } => {
                            made += usize::from(data.result.iter().any(is_it));
                            false
                        }
                        Op::Store { value, .. } => is_it(value),
                        Op::InsertValue(_, value, _) => is_it(value),
                        Op::Call(_, args, _) => args.iter().any(is_it),
                        Op::Opaque(op) => op.args.iter().any(is_it),
                        _ => false,
                    };
                    if leaves {
                        return None;
                    }
                }
            }
        }
        let func = &self.aug().func;
        let is_made = |inst: &Inst| {
            let data = func.inst(*inst);
            let result = data.result.filter(|result| self.object(*result) == Some(object))?;
            match data.op {
                Op::Alloc { size, .. } => Some((result, self.linearly(size, MOST_INSTRUCTIONS))),
                Op::Alloca { size, .. } => Some((result, Linearly::number(size.cast_signed()))),
                _ => None,
            }
        };
        let (result, size) = func.insts().find_map(|inst| is_made(&inst)).filter(|_| made == 1)?;
        // In a loop it would make several.
        self.counted
            .block(result)
            .is_some_and(|block| self.scheduled.flow.loops.innermost(block).is_none())
            .then_some(size)
    }

    /// What overwrites all of an object in loop `id`.
    fn wholes(&self, id: Loop, object: ObjId, size: &Linearly) -> Vec<Whole> {
        let func = &self.aug().func;
        let mut wholes = Vec::new();
        for block in self.blocks(id) {
            for (position, inst, linear) in self.linear(block).filter(|(.., l)| self.target(l) == Some(object)) {
                match (&func.inst(inst).op, linear) {
                    (Op::Fill { dst, len, .. }, _)
                        if self.starts(object, *dst, 0) && self.linearly(*len, MOST_INSTRUCTIONS) == *size =>
                    {
                        wholes.push(Whole::At(block, position));
                    }
                    (Op::Store { ptr, .. }, Linear::Store { ty, .. }) => {
                        let inner = self.scheduled.flow.loops.innermost(block).filter(|inner| *inner != id);
                        if let Some(inner) = inner
                            && self.is_filled(inner, block, *ptr, ty, object, size)
                        {
                            wholes.push(Whole::Loop(inner));
                        }
                    }
                    _ => {}
                }
            }
        }
        wholes
    }

    /// Whether a store in each iteration of a loop goes through all of an object.
    fn is_filled(&self, id: Loop, block: Block, ptr: Value, ty: &Type, object: ObjId, size: &Linearly) -> bool {
        let (doms, cfg) = (&self.scheduled.flow.doms, &self.scheduled.flow.cfg);
        let data = self.scheduled.flow.loops.get(id);
        let trips = self.counted.trip_count(id, |b| cfg.can_return(b));
        let Some(Span { from, to, step, ahead }) = trips.and_then(|trips| trips.span()) else { return false };
        let width = ty.size().cast_signed();
        // The iteration that leaves the loop stores if it comes to the question by the store; the others all do.
        let each_time = data.latches.iter().all(|latch| doms.dominates(block, *latch))
            && data
                .exits
                .iter()
                .filter(|exit| cfg.can_return(exit.to))
                .all(|e| !ahead || doms.dominates(block, e.from));
        let Some(place) = self.walks.pointer(id, ptr).filter(|place| place.step == width) else { return false };
        let starts = place.root.is_some_and(|root| self.starts(object, root, place.constant));
        let way = self.linearly(to, MOST_INSTRUCTIONS).plus(&self.linearly(from, MOST_INSTRUCTIONS), -1);
        each_time && starts && width % step == 0 && way.times(width / step) == *size
    }

    /// Whether a pointer points to the first byte of an object, so many bytes from it.
    fn starts(&self, object: ObjId, ptr: Value, constant: i64) -> bool {
        let place = self.aug().places.get(&ptr).filter(|(of, _)| *of == object);
        place.and_then(|(_, at)| at.exact()).is_some_and(|at| at.wrapping_add(constant) == 0)
    }

    /// The object whose shadow an operation takes from.
    fn target(&self, linear: &Linear) -> Option<ObjId> {
        match linear {
            Linear::Store { shadow, .. } | Linear::Copy { dst: shadow, src: None, .. } => self.object(shadow[0]),
            _ => None,
        }
    }

    fn object(&self, pointer: Value) -> Option<ObjId> {
        self.aug().places.get(&pointer).map(|(object, _)| *object)
    }

    fn aug(&self) -> &Augmented {
        &self.scheduled.aug
    }

    fn blocks(&self, id: Loop) -> impl Iterator<Item = Block> {
        self.scheduled.flow.loops.get(id).blocks.iter().copied()
    }

    /// The operations of a block, with the positions of their instructions.
    fn linear(&self, block: Block) -> impl Iterator<Item = (usize, Inst, &Linear)> {
        let insts = self.aug().func.block(block).insts.iter().copied().enumerate();
        insts.flat_map(|(position, inst)| self.aug().linear.at(inst).iter().map(move |l| (position, inst, l)))
    }

    /// A 64-bit number or address as a sum of values, so many times each.
    fn linearly(&self, value: Value, most: u32) -> Linearly {
        let func = &self.aug().func;
        if let Some(number) = func.as_int(value).and_then(|number| i64::try_from(number).ok()) {
            return Linearly::number(number);
        }
        let itself = || Linearly { values: BTreeMap::from([(value, 1)]), constant: 0 };
        let Some(most) = most.checked_sub(1).filter(|_| func.ty(value).size() == 8) else { return itself() };
        match func.def_inst(value).map(|inst| &func.inst(inst).op) {
            Some(Op::Bin(BinOp::Add, a, b) | Op::PtrAdd(a, b)) => {
                self.linearly(*a, most).plus(&self.linearly(*b, most), 1)
            }
            Some(Op::Bin(BinOp::Sub, a, b)) => self.linearly(*a, most).plus(&self.linearly(*b, most), -1),
            Some(Op::Bin(op @ (BinOp::Mul | BinOp::Shl), a, by)) => {
                let by = func.as_int(*by).and_then(|by| i64::try_from(by).ok());
                let factor = match op {
                    BinOp::Shl => by.and_then(|by| u32::try_from(by).ok()).and_then(|by| 1i64.checked_shl(by)),
                    _ => by,
                };
                factor.map_or_else(itself, |factor| self.linearly(*a, most).times(factor))
            }
            _ => itself(),
        }
    }
}

/// A sum of values, so many times each, modulo 2⁶⁴.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Linearly {
    values: BTreeMap<Value, i64>,
    constant: i64,
}

impl Linearly {
    fn number(constant: i64) -> Self {
        Linearly { values: BTreeMap::new(), constant }
    }

    fn times(mut self, factor: i64) -> Self {
        self.constant = self.constant.wrapping_mul(factor);
        self.values.values_mut().for_each(|times| *times = times.wrapping_mul(factor));
        self.values.retain(|_, times| *times != 0);
        self
    }

    fn plus(mut self, other: &Linearly, factor: i64) -> Self {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(factor));
        for (value, times) in &other.values {
            let sum = self.values.entry(*value).or_default();
            *sum = sum.wrapping_add(times.wrapping_mul(factor));
        }
        self.values.retain(|_, times| *times != 0);
        self
    }
}
