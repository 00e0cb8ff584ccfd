//! Which constant floats are numbers.
//!
//! The optimiser moves numbers as floats where floats lie at other times: the length of a `Vec` is 1e-323 then. Such a
//! constant has the bits of a small integer, and gets to where numbers may lie. In forward mode the shadow of such a
//! number is a copy of it; a small float that a program computes with has no tangent.
//!
//! ```text
//! jump b1(v0), or b1(1e-323f64)
//! b1(v1: f64):
//! v2 = call @same(v1)
//! v3 = bitcast i64 v2
//! store v4, v3                 ; in an enum
//! ```
//! Given [`Facts`], values are followed back from such places: through what passes them on, from function to function,
//! and through memory in which nothing but floats lie, one object as a whole.

use crate::analysis::follow::{Follow, Way, follow};
use crate::analysis::points_to::facts::{Facts, Slot};
use crate::analysis::points_to::objects::{Cell, ObjId};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::types::plain::has_bits_of_number;
use pullback_ir::{Block, Callee, CastOp, FuncId, Function, InstData, Module, Op, Value};
use std::collections::{HashMap, HashSet};

/// The constant floats of the function `id` that are numbers.
pub fn numbers_as_floats(module: &Module, facts: &Facts, id: FuncId) -> HashSet<Value> {
    let constants = module.func(id).constants();
    let mut small: HashSet<Value> = constants.filter(|(_, c)| has_bits_of_number(c)).map(|(value, _)| value).collect();
    if !small.is_empty() {
        let put = put_where_numbers_lie(module, facts, id);
        small.retain(|value| put.contains(&Place::Value((id, Some(*value)))));
    }
    small
}

/// Where a value may be.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Value(Slot),
    /// In an object, as a float.
    In(ObjId),
}

/// All places from where something gets to where numbers may lie.
fn put_where_numbers_lie(module: &Module, facts: &Facts, id: FuncId) -> HashSet<Place> {
    let ids: HashSet<FuncId> = facts.functions.iter().copied().chain([id]).collect();
    let all: Vec<(FuncId, Vec<Block>)> = ids.into_iter().map(|id| (id, module.func(id).blocks().collect())).collect();
    let mut moves = Moves { facts, sources: HashMap::new(), ends: Vec::new() };
    follow(module, &facts.functions, &all, &mut moves);
    let Moves { sources, ends: mut open, .. } = moves;
    let mut put: HashSet<Place> = HashSet::new();
    while let Some(place) = open.pop() {
        if put.insert(place) {
            open.extend(sources.get(&place).into_iter().flatten());
        }
    }
    put
}

/// What is moved where.
struct Moves<'a> {
    facts: &'a Facts,
    sources: HashMap<Place, Vec<Place>>,
    /// What is put where numbers may lie.
    ends: Vec<Place>,
}

impl Follow for Moves<'_> {
    fn pass(&mut self, id: FuncId, from: Value, to: Slot, _: Way) {
        self.moved(Place::Value(to), Place::Value((id, Some(from))));
    }

    fn goes_on(&mut self) -> bool {
        false
    }

    fn instruction(&mut self, id: FuncId, func: &Function, data: &InstData) {
        let of = |value: &Value| Place::Value((id, Some(*value)));
        // A clean-up is given what the optimiser holds; nobody reads the tangents there.
        self.ends.extend(data.op.cleanup().into_iter().flat_map(|cleanup| &cleanup.args).map(of));
        match &data.op {
            Op::Store { ptr, value, align } => {
                let place = self.facts.target(id, *ptr, *align);
                return self.put(place, Some(func.ty(*value).size()), of(value));
            }
            Op::Copy { dst, src, len, align, .. } => {
                let Some(from) = self.facts.object(id, *src) else { return };
                let place = self.facts.target(id, *dst, align.0);
                let len = func.as_int(*len).and_then(|len| u64::try_from(len).ok());
                return self.put(place, len, Place::In(from));
            }
            _ => {}
        }
        let Some(result) = data.result.as_ref().map(of) else { return };
        match &data.op {
            Op::Load { ptr, .. } => {
                self.facts.object(id, *ptr).into_iter().for_each(|from| self.moved(result, Place::In(from)));
            }
            Op::Call(Callee::Direct(callee), ..) => self.moved(result, Place::Value((*callee, None))),
            Op::Select(_, a, b) | Op::InsertValue(a, b, _) => {
                [a, b].into_iter().for_each(|from| self.moved(result, of(from)))
            }
            Op::Freeze(a) | Op::ExtractValue(a, _) | Op::Cast(CastOp::Bitcast | CastOp::IntToPtr, a) => {
                self.moved(result, of(a));
            }
            _ => {}
        }
    }
}

impl Moves<'_> {
    fn moved(&mut self, to: Place, from: Place) {
        self.sources.entry(to).or_default().push(from);
    }

    /// Something is put in memory, so many bytes of it if that is known.
    fn put(&mut self, place: Option<(ObjId, Offsets)>, width: Option<u64>, from: Place) {
        let place = place.map(|(object, at)| width.map_or((object, Offsets::any(), 1), |width| (object, at, width)));
        match place.filter(|(object, at, width)| only_floats_lie(self.facts, *object, at, *width)) {
            Some((object, ..)) => self.moved(Place::In(object), from),
            None => self.ends.push(from),
        }
    }
}

/// Whether nothing but floats may lie in so many bytes.
fn only_floats_lie(facts: &Facts, object: ObjId, at: &Offsets, width: u64) -> bool {
    let objects = &facts.objects;
    let is_float = |cell: &Cell| objects.kinds(cell.content).is_float();
    objects.touched_opaque(object, at, width).next().is_none()
        && objects.touched(object, at, width).next().is_some()
        && objects.touched(object, at, width).all(is_float)
}
