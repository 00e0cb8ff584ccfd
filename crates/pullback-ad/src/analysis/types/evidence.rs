//! Where numbers lie: said by the numbers that are stored, once it is known where floats are.
//!
//! An integer that is loaded from where floats lie is a float's bits, unless numbers lie there too. What is computed
//! from a float's bits is no evidence for that: else every trick with bits would vouch for itself.

use crate::analysis::follow::{Follow, Way, follow};
use crate::analysis::points_to::facts::{Facts, Slot, may_carry};
use crate::analysis::points_to::objects::{Cell, ContentId, Kinds, ObjId, Objects};
use crate::analysis::types::computed::Numbers;
use pullback_ir::{Block, CastOp, Copies, FuncId, Function, InstData, Module, Op, Value};
use std::collections::HashSet;

/// How far to look for what a number was computed from.
pub(crate) const DEPTH: u32 = 8;

/// Note the numbers that the live blocks of a function store or pass on.
pub(crate) fn find(facts: &mut Facts, module: &Module, id: FuncId, blocks: &[Block], numbers: &Numbers) {
    let group = facts.functions.clone();
    follow(module, &group, &[(id, blocks.to_vec())], &mut Search { facts, func: module.func(id), numbers });
}

/// One walk through a function.
struct Search<'a> {
    facts: &'a mut Facts,
    func: &'a Function,
    numbers: &'a Numbers,
}

impl Search<'_> {
    fn is_number(&self, value: Value) -> bool {
        may_carry(self.func.ty(value)) && self.numbers.contains(self.func, value)
    }

    /// A value is there, too, or goes there: a number is evidence of numbers.
    fn see(&mut self, id: FuncId, value: Value, content: Option<ContentId>) {
        let Some(content) = content.filter(|_| self.is_number(value)) else { return };
        let independent = is_independent(self.facts, self.func, id, value, DEPTH);
        see(self.facts, content, Number { dangling: dangles(self.func, value), independent });
    }
}

impl Follow for Search<'_> {
    fn pass(&mut self, id: FuncId, from: Value, to: Slot, _: Way) {
        let content = self.facts.slot(to).content;
        self.see(id, from, content);
    }

    fn goes_on(&mut self) -> bool {
        false
    }

    fn instruction(&mut self, id: FuncId, func: &Function, data: &InstData) {
        match (&data.op, data.result) {
            (Op::Store { ptr, value, align }, _) if self.is_number(*value) => {
                let Some((object, places)) = self.facts.target(id, *ptr, *align) else { return };
                for at in places.iter() {
                    let content = self.facts.objects.cell(object, at, func.ty(*value).size());
                    self.see(id, *value, Some(content));
                }
            }
            (Op::Select(_, a, b), Some(result)) => {
                [*a, *b].into_iter().for_each(|from| self.see(id, from, self.facts.content(id, result)));
            }
            _ => {}
        }
    }
}

/// Memory of arguments whose layout depends on a variant.
fn given_with_variants(objects: &Objects) -> impl Iterator<Item = ObjId> {
    let is_given = |object: &ObjId| {
        let origins = objects.origins(*object);
        origins.variant && !origins.args.is_empty()
    };
    objects.all().filter(is_given)
}

/// What is behind the pointers of variants in memory of arguments. A layout does not say where these lie, and so not
/// what is behind them.
pub(crate) fn behind_variants(objects: &Objects) -> HashSet<ObjId> {
    let given: Vec<ObjId> = given_with_variants(objects).collect();
    let mut behind: HashSet<ObjId> = HashSet::new();
    loop {
        let before = behind.len();
        for object in &given {
            let in_variant = |cell: &&Cell| {
                behind.contains(object) || objects.touched_opaque(*object, &cell.at.into(), cell.width).next().is_some()
            };
            let cells = objects.cells(*object).iter().filter(in_variant);
            let found: Vec<ObjId> = cells.filter_map(|cell| objects.pointee(cell.content)).map(|(o, _)| o).collect();
            behind.extend(found);
        }
        if behind.len() == before {
            return behind;
        }
    }
}

/// Memory of an argument whose layout depends on a variant may hold numbers that this function never stores: where the
/// layout says that a variant has some, and anywhere behind the pointers of a variant.
pub(crate) fn variants(facts: &mut Facts) {
    let objects = &facts.objects;
    let behind = behind_variants(objects);
    let given = given_with_variants(objects);
    let mut found: Vec<ContentId> = Vec::new();
    for object in given {
        let may_be_number = |cell: &&Cell| {
            behind.contains(&object)
                || objects.touched_opaque(object, &cell.at.into(), cell.width).any(|opaque| opaque.numbers)
        };
        let floats = objects.cells(object).iter().filter(|cell| objects.kinds(cell.content).has_float());
        found.extend(floats.filter(may_be_number).map(|cell| cell.content));
    }
    for content in found {
        facts.objects.see(content, Kinds::INT);
    }
}

/// A number that is loaded as if it were a float, and passed on as one, is still a number when its bits are used.
pub(crate) fn in_floats(facts: &mut Facts, func: &Function, id: FuncId, blocks: &[Block]) {
    let mut numbers: HashSet<Value> = HashSet::new();
    let mut casts: Vec<(Value, Value)> = Vec::new();
    for data in func.insts_in(blocks) {
        let Some(result) = data.result else { continue };
        match &data.op {
            Op::Load { ptr, align } if func.ty(result).is_float() => {
                let Some((object, at)) = facts.target(id, *ptr, *align) else { continue };
                let mut cells = facts.objects.touched(object, &at, func.ty(result).size());
                if cells.any(|cell| facts.objects.kinds(cell.content).contains(Kinds::INT)) {
                    numbers.insert(result);
                }
            }
            Op::Cast(CastOp::Bitcast, from) if func.ty(*from).is_float() => casts.push((result, *from)),
            _ => {}
        }
    }
    Copies::new(func, blocks.iter().copied()).close_forwards(&mut numbers, |_| true);
    for (bits, from) in casts {
        if numbers.contains(&from) {
            let content = facts.content(id, bits);
            content.into_iter().for_each(|content| see(facts, content, Number { dangling: false, independent: true }));
        }
    }
}

/// What is known of a number that is stored or passed on.
#[derive(Clone, Copy)]
struct Number {
    /// It may be a dangling pointer.
    dangling: bool,
    /// It was not computed from what may be a float's bits.
    independent: bool,
}

/// What may be a dangling pointer is one where only pointers lie; what may be made of a float's bits says nothing where
/// floats lie.
fn see(facts: &mut Facts, content: ContentId, number: Number) {
    let kinds = facts.objects.kinds(content);
    let says = if kinds.has_float() { number.independent } else { !(number.dangling && kinds.contains(Kinds::PTR)) };
    if says {
        facts.objects.see(content, Kinds::INT);
    }
}

/// Whether a constant may be the pointer of an empty `Vec`: the alignment of its elements.
fn dangles(func: &Function, value: Value) -> bool {
    func.as_int(value).is_some_and(|n| matches!(n, 1 | 2 | 4 | 8 | 16 | 32 | 64))
}

/// Whether a number was not computed from what may be a float's bits.
pub(crate) fn is_independent(facts: &Facts, func: &Function, id: FuncId, value: Value, depth: u32) -> bool {
    if facts.kinds(id, value).has_float() {
        return false;
    }
    let Some(op) = func.def_op(value) else { return true };
    if !matches!(op, Op::Bin(..) | Op::Cast(..) | Op::Intrinsic(..) | Op::Select(..) | Op::Freeze(_)) {
        return true;
    }
    let operands = op.operands();
    operands.iter().all(|o| !func.ty(*o).is_int() || depth > 0 && is_independent(facts, func, id, *o, depth - 1))
}
