//! What memory there is and what lies in it: the abstract objects, their cells and the cells' content.
//!
//! An *object* stands for memory that pointers may reach together: what an argument points to, an allocation site, a
//! global. A *cell* is a place in an object, a interval of offsets and a width; its *content* says whether floats or
//! pointers have been seen there, and which object such pointers reach. Objects and contents are merged by
//! union-find, so the tables only grow coarser. [`crate::analysis::points_to::flow`] fills them from the program.

use crate::analysis::points_to::offsets::{Coarseness, Offsets};
use crate::analysis::points_to::places::Mark;
pub use crate::analysis::points_to::places::{Cell, FloatAt, Opaque, Property};
use crate::analysis::points_to::strided::Strided;
use std::collections::HashSet;

/// An abstract object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct ObjId(u32);

impl ObjId {
    /// The object with this number.
    pub fn from_index(index: u32) -> Self {
        ObjId(index)
    }

    /// The number of the object.
    pub fn index(self) -> u32 {
        self.0
    }
}

/// The content of a cell, or of an integer value that may carry a float's or pointer's bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ContentId(u32);

/// Which kinds of data have been seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kinds(u8);

impl Kinds {
    /// Nothing seen.
    pub const NONE: Kinds = Kinds(0);
    /// A single-precision float.
    pub const F32: Kinds = Kinds(1);
    /// A double-precision float.
    pub const F64: Kinds = Kinds(2);
    /// A pointer.
    pub const PTR: Kinds = Kinds(4);
    /// An integer that was computed as one.
    pub const INT: Kinds = Kinds(8);

    /// All of both.
    pub fn union(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Whether all of `other` has been seen.
    pub fn contains(self, other: Kinds) -> bool {
        self.0 & other.0 == other.0
    }

    /// Without what was seen of integers.
    pub fn without_int(self) -> Kinds {
        Kinds(self.0 & !8)
    }

    /// Whether floats and pointers have been seen at the same place: the payload of an enum.
    pub fn is_mixed(self) -> bool {
        self.has_float() && self.contains(Kinds::PTR)
    }

    /// Whether a float has been seen.
    pub fn has_float(self) -> bool {
        self.0 & 3 != 0
    }

    /// Whether a float has been seen, and nothing else.
    pub fn is_float(self) -> bool {
        self.has_float() && self.0 & !3 == 0
    }
}

/// Where an object comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Origins {
    /// Arguments of the request whose memory this is.
    pub args: Vec<usize>,
    /// Arguments through which it is reached by bytes that take no part: it has no shadow, whatever they have.
    pub inert: Vec<usize>,
    /// An `alloca` or heap allocation of the function itself.
    pub local: bool,
    /// It is on the heap.
    pub heap: bool,
    /// Globals that are never written.
    pub constants: bool,
    /// Globals that may be written.
    pub statics: bool,
    /// Memory made by a call whose body is not known.
    pub foreign: bool,
    /// Part of it has a layout that depends on a variant.
    pub variant: bool,
}

impl Origins {
    /// Whether the types of what lies there are not known.
    pub fn is_untyped(&self) -> bool {
        self.foreign || self.statics || !self.inert.is_empty()
    }

    /// Whether this is memory that the function made, and nothing else.
    pub(crate) fn is_own(&self) -> bool {
        *self == Origins { local: true, heap: self.heap, ..Origins::default() }
    }

    fn merge(&mut self, other: Origins) {
        for (ours, theirs) in [(&mut self.args, other.args), (&mut self.inert, other.inert)] {
            for arg in theirs {
                if !ours.contains(&arg) {
                    ours.push(arg);
                }
            }
        }
        self.local |= other.local;
        self.heap |= other.heap;
        self.constants |= other.constants;
        self.statics |= other.statics;
        self.foreign |= other.foreign;
        self.variant |= other.variant;
    }
}

#[derive(Clone, Debug, Default)]
struct Object {
    parent: ObjId,
    cells: Vec<Cell>,
    opaque: Vec<Opaque>,
    marks: Vec<Mark>,
    origins: Origins,
}

#[derive(Clone, Debug, Default)]
struct Content {
    parent: ContentId,
    kinds: Kinds,
    pointee: Option<(ObjId, Offsets)>,
    /// A layout says that it is a float, or a number, in every variant.
    declared: bool,
    /// An enum's words were moved from there or to there unseen.
    unseen: bool,
    /// A layout says that this pointer leads to such a float.
    leads_to: Option<FloatAt>,
    /// A layout says that this pointer is a shared reference.
    lent: bool,
}

/// The tables.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    objects: Vec<Object>,
    contents: Vec<Content>,
    changed: bool,
    /// How coarse offsets have become.
    pub coarseness: Coarseness,
}

/// More cells than this in one object are merged by alignment: types are then known less precisely, never wrongly.
const MOST_CELLS: usize = 200;

impl Objects {
    /// Whether anything was merged or learnt since the last call.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Note that something else was learnt.
    pub(super) fn note_change(&mut self) {
        self.changed = true;
    }

    /// A new object.
    pub fn add(&mut self, origins: Origins) -> ObjId {
        let id = ObjId(self.objects.len() as u32);
        self.objects.push(Object { parent: id, origins, ..Object::default() });
        id
    }

    /// The representative of an object.
    pub fn find(&self, mut id: ObjId) -> ObjId {
        while self.objects[id.0 as usize].parent != id {
            id = self.objects[id.0 as usize].parent;
        }
        id
    }

    /// All representatives.
    pub fn all(&self) -> impl Iterator<Item = ObjId> + '_ {
        (0..self.objects.len() as u32).map(ObjId).filter(|id| self.find(*id) == *id)
    }

    /// Where an object comes from.
    pub fn origins(&self, id: ObjId) -> &Origins {
        &self.object(id).origins
    }

    /// Where an object comes from, to add to.
    pub fn origins_mut(&mut self, id: ObjId) -> &mut Origins {
        &mut self.object_mut(id).origins
    }

    /// The cells of an object.
    pub fn cells(&self, id: ObjId) -> &[Cell] {
        &self.object(id).cells
    }

    fn object(&self, id: ObjId) -> &Object {
        &self.objects[self.find(id).0 as usize]
    }

    fn object_mut(&mut self, id: ObjId) -> &mut Object {
        let id = self.find(id);
        &mut self.objects[id.0 as usize]
    }

    fn content(&self, id: ContentId) -> &Content {
        &self.contents[self.find_content(id).0 as usize]
    }

    fn content_mut(&mut self, id: ContentId) -> &mut Content {
        let id = self.find_content(id);
        &mut self.contents[id.0 as usize]
    }

    /// The cells of an object that `width` bytes at one of these offsets may touch.
    pub fn touched<'a>(&'a self, id: ObjId, at: &'a Offsets, width: u64) -> impl Iterator<Item = &'a Cell> {
        self.cells(id).iter().filter(move |cell| cell.meets(at, width))
    }

    /// The same of the bytes whose content depends on a variant.
    pub fn touched_opaque<'a>(&'a self, id: ObjId, at: &'a Offsets, width: u64) -> impl Iterator<Item = &'a Opaque> {
        self.opaque(id).iter().filter(move |opaque| opaque.meets(at, width))
    }

    /// The kinds seen in a content.
    pub fn kinds(&self, id: ContentId) -> Kinds {
        self.content(id).kinds
    }

    /// What pointers in a content reach.
    pub fn pointee(&self, id: ContentId) -> Option<(ObjId, Offsets)> {
        let (object, offset) = self.content(id).pointee.clone()?;
        Some((self.find(object), offset))
    }

    /// A new content, of which nothing is known.
    pub fn add_content(&mut self) -> ContentId {
        let id = ContentId(self.contents.len() as u32);
        self.contents.push(Content { parent: id, ..Content::default() });
        id
    }

    /// What lies in memory of callers whose layout depends on a variant, and is moved there: they may see numbers in
    /// it.
    pub fn seen_in_variants(&self) -> HashSet<ContentId> {
        let objects = self.all().filter(|object| self.origins(*object).variant);
        objects.flat_map(|object| self.cells(object)).map(|cell| self.find_content(cell.content)).collect()
    }

    /// The representative of a content.
    pub fn find_content(&self, mut id: ContentId) -> ContentId {
        while self.contents[id.0 as usize].parent != id {
            id = self.contents[id.0 as usize].parent;
        }
        id
    }

    /// Note that such data was seen in a content.
    pub fn see(&mut self, id: ContentId, kinds: Kinds) {
        let before = self.kinds(id);
        self.content_mut(id).kinds = before.union(kinds);
        self.changed |= self.kinds(id) != before;
    }

    /// Note that a pointer leads to such a float.
    pub fn lead_to(&mut self, id: ContentId, float: Option<FloatAt>) {
        let known = &mut self.content_mut(id).leads_to;
        let is_new = known.is_none() && float.is_some();
        *known = known.or(float);
        self.changed |= is_new;
    }

    /// The floats to which pointers at this place of an object lead, by layouts.
    pub fn led_to<'a>(&'a self, id: ObjId, at: &'a Offsets) -> impl Iterator<Item = FloatAt> + 'a {
        let contents = self.touched(id, at, 8).map(|cell| self.content(cell.content));
        let opaque = self.touched_opaque(id, at, 8);
        contents.filter_map(|content| content.leads_to).chain(opaque.filter_map(|opaque| opaque.leads_to))
    }

    /// Note that a pointer is a shared reference.
    pub fn lend(&mut self, id: ContentId) {
        self.changed |= !std::mem::replace(&mut self.content_mut(id).lent, true);
    }

    /// Whether a pointer at this place of an object may be a shared reference, by layouts.
    pub fn is_lent(&self, id: ObjId, at: &Offsets) -> bool {
        self.touched(id, at, 8).any(|cell| self.content(cell.content).lent)
            || self.touched_opaque(id, at, 8).any(|opaque| opaque.lent)
    }

    /// Note that such data may have been moved unseen.
    pub fn see_unseen(&mut self, id: ContentId, kinds: Kinds) {
        if !self.is_declared(id) {
            self.see(id, kinds);
            self.content_mut(id).unseen = true;
        }
    }

    /// Whether such data may have been moved unseen: a float, a number, or the tag of an enum.
    pub fn is_unseen(&self, id: ContentId) -> bool {
        self.content(id).unseen
    }

    /// The bytes of an object whose content depends on a variant.
    pub fn opaque(&self, id: ObjId) -> &[Opaque] {
        &self.object(id).opaque
    }

    /// Note such bytes.
    pub fn add_opaque(&mut self, id: ObjId, opaque: Opaque) {
        let all = &mut self.object_mut(id).opaque;
        if !all.contains(&opaque) {
            all.push(opaque);
            self.changed = true;
        }
    }

    /// Note that so many bytes of an object have a property.
    pub fn mark(&mut self, id: ObjId, at: Strided, bytes: u64, property: Property) {
        let (mark, all) = (Mark { at, bytes, property }, &mut self.object_mut(id).marks);
        if bytes > 0 && !all.contains(&mark) {
            all.push(mark);
            self.changed = true;
        }
    }

    fn marks(&self, id: ObjId, property: Property) -> impl Iterator<Item = &Mark> {
        self.object(id).marks.iter().filter(move |mark| mark.property == property)
    }

    /// Whether bytes of an object have a property.
    pub fn is_marked(&self, id: ObjId, property: Property) -> bool {
        self.marks(id, property).next().is_some()
    }

    /// Whether `width` bytes have a property, wherever among `at` they are.
    pub fn all_marked(&self, id: ObjId, property: Property, at: &Offsets, width: u64) -> bool {
        at.iter().all(|at| self.marks(id, property).any(|mark| mark.holds(at, width)))
    }

    /// Whether some of `width` bytes may have a property.
    pub fn some_marked(&self, id: ObjId, property: Property, at: &Offsets, width: u64) -> bool {
        self.marks(id, property).any(|mark| at.meet(width, mark.at, mark.bytes))
    }

    /// After how many bytes the marks of an object repeat, where they do.
    pub fn mark_periods(&self, id: ObjId, property: Property) -> impl Iterator<Item = u64> {
        self.marks(id, property).map(|mark| mark.at.m).filter(|period| *period > 0)
    }

    /// Whether a cell takes no part. Where words are moved one by one, the cell of all of them takes none if each is
    /// inert or a number.
    pub fn is_inert(&self, id: ObjId, cell: &Cell) -> bool {
        let holds = |property, at| self.marks(id, property).any(|mark| mark.holds(at, cell.width));
        let is_inert_or_number = |at| holds(Property::Inert, at) || holds(Property::Number, at);
        let (first, step) = (cell.at.k, cell.at.m);
        let in_steps = |period: u64| {
            let mut words = (0..period / step).map(|n| Strided::unbounded(first + (n * step) as i64, period));
            period.is_multiple_of(step) && period <= MOST_CELLS as u64 * step && words.all(is_inert_or_number)
        };
        holds(Property::Inert, cell.at) || step > 0 && self.mark_periods(id, Property::Inert).any(in_steps)
    }

    /// The cells of an object that take part.
    pub fn live_cells(&self, id: ObjId) -> impl Iterator<Item = &Cell> {
        self.cells(id).iter().filter(move |cell| !self.is_inert(id, cell))
    }

    /// Note that a layout says this content to be a float or a number.
    pub fn declare(&mut self, id: ContentId, kind: Kinds) {
        self.see(id, kind);
        self.content_mut(id).declared = true;
    }

    /// Whether a layout says what this content is, so that whatever is moved from there or to there is that too.
    pub fn is_declared(&self, id: ContentId) -> bool {
        self.content(id).declared
    }

    /// What lies in one place is moved to the other. What is declared stays what it is, whatever lies in the other
    /// place at other times.
    pub fn moved(&mut self, a: ContentId, b: ContentId) {
        match (self.is_declared(a), self.is_declared(b)) {
            (true, _) => self.see(b, self.kinds(a)),
            (_, true) => self.see(a, self.kinds(b)),
            _ => self.unify_contents(a, b),
        }
    }

    /// Note that pointers in a content reach `object` at `offset`.
    pub fn point(&mut self, id: ContentId, object: ObjId, offset: Offsets) {
        let before = self.content(id).pointee.clone();
        let (first, joined) = match &before {
            None => (object, offset),
            Some((first, known)) => (*first, known.grown(&offset, self.coarseness)),
        };
        self.changed |= before.is_none_or(|(_, known)| known != joined);
        self.content_mut(id).pointee = Some((first, joined));
        self.unify(first, object);
    }

    /// Let everything that was merged refer to its representative directly.
    fn shorten(&mut self) {
        for i in 0..self.objects.len() {
            self.objects[i].parent = self.find(ObjId(i as u32));
        }
        for i in 0..self.contents.len() {
            self.contents[i].parent = self.find_content(ContentId(i as u32));
        }
    }

    /// What is reached through memory of an argument, a global or foreign memory belongs to it too.
    pub fn spread_origins(&mut self) {
        self.shorten();
        loop {
            let mut grew = false;
            for id in self.all().collect::<Vec<_>>() {
                let mut origins = self.origins(id).clone();
                origins.local = false;
                if origins == Origins::default() {
                    continue;
                }
                let behind_inert = Origins {
                    inert: [&origins.args[..], &origins.inert].concat(),
                    args: Vec::new(),
                    variant: false,
                    ..origins.clone()
                };
                for cell in self.cells(id).to_vec() {
                    let Some((target, _)) = self.pointee(cell.content) else { continue };
                    let before = self.origins(target).clone();
                    let passed = if self.is_inert(id, &cell) { &behind_inert } else { &origins };
                    self.origins_mut(target).merge(passed.clone());
                    grew |= before != *self.origins(target);
                }
            }
            self.changed |= grew;
            if !grew {
                return;
            }
        }
    }

    /// Merge two contents.
    pub fn unify_contents(&mut self, a: ContentId, b: ContentId) {
        let (a, b) = (self.find_content(a), self.find_content(b));
        if a == b {
            return;
        }
        self.changed = true;
        let merged = self.contents[b.0 as usize].clone();
        self.contents[b.0 as usize].parent = a;
        let content = &mut self.contents[a.0 as usize];
        content.declared &= merged.declared;
        content.unseen |= merged.unseen;
        content.lent |= merged.lent;
        self.lead_to(a, merged.leads_to);
        self.see(a, merged.kinds);
        if let Some((object, offset)) = merged.pointee {
            self.point(a, object, offset);
        }
    }

    /// Merge two objects.
    pub fn unify(&mut self, a: ObjId, b: ObjId) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        self.changed = true;
        let empty = Object { parent: a, ..Object::default() };
        let merged = std::mem::replace(&mut self.objects[b.0 as usize], empty);
        let is_own = [self.origins(a).is_own(), merged.origins.is_own()];
        self.origins_mut(a).merge(merged.origins);
        for opaque in merged.opaque {
            self.add_opaque(a, opaque);
        }
        // Of what is inert in one of the two only, it cannot be told which one it is. But memory that the function made
        // has no layout: it is of the type that the other one says.
        let ours = std::mem::take(&mut self.objects[a.0 as usize].marks);
        let agrees = |marks: &[Mark], is_own: bool, mark: &Mark| {
            let unknown = is_own
                && marks.iter().all(|mark| mark.property != Property::Inert && mark.property != Property::PartlyInert);
            unknown || marks.contains(mark)
        };
        let common = |mark: &Mark| {
            mark.property != Property::Inert || agrees(&ours, is_own[0], mark) && agrees(&merged.marks, is_own[1], mark)
        };
        for mark in ours.iter().chain(&merged.marks) {
            let property = if common(mark) { mark.property } else { Property::PartlyInert };
            self.mark(a, mark.at, mark.bytes, property);
        }
        for cell in merged.cells {
            let content = self.cell(a, cell.at, cell.width);
            self.unify_contents(content, cell.content);
        }
    }

    /// The content at a place of an object; a new cell if the place is new. Cells of the same width that may be the
    /// same place share one content.
    pub fn cell(&mut self, object: ObjId, at: Strided, width: u64) -> ContentId {
        let id = self.find(object);
        let cells = &self.objects[id.0 as usize].cells;
        if let Some(cell) = cells.iter().find(|c| c.width == width && c.at.contains(at)) {
            return cell.content;
        }
        let at = if cells.len() >= MOST_CELLS { Strided::unbounded(at.k, width.max(1)) } else { at };
        let same_place: Vec<Cell> =
            cells.iter().filter(|c| c.width == width && c.at.overlaps(width, at, width)).copied().collect();
        let content = self.add_content();
        self.changed = true;
        let cells = &mut self.objects[id.0 as usize].cells;
        cells.retain(|c| !(c.width == width && at.contains(c.at)));
        cells.push(Cell { at, width, content });
        for cell in same_place {
            // Only cells at the very same bytes share content; ones that overlap in part are a conflict that queries
            // see.
            if cell.at.overlaps(1, at, 1) {
                self.unify_contents(content, cell.content);
            }
        }
        if self.has_no_room_for_floats(id, at, width) {
            self.declare(content, Kinds::INT);
        }
        content
    }

    /// Whether a layout has numbers in all places of a word that an `f32` could lie in.
    fn has_no_room_for_floats(&self, id: ObjId, at: Strided, width: u64) -> bool {
        let is_number = |byte: u64| {
            let byte = at.plus(Strided::exact(byte as i64));
            self.marks(id, Property::Number).any(|mark| mark.holds(byte, 1))
        };
        width >= 4 && (0..width).step_by(4).all(|half| (half..width.min(half + 4)).any(is_number))
    }
}
