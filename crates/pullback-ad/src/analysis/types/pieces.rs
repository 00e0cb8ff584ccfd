//! Pointers that are moved in pieces, and floats that are moved in pointers.
//!
//! The payload of an enum is a pointer in one variant, and an `f32` or two in another. The optimiser moves it by
//! whatever type it likes: a pointer as two halves, an `f32` as the low half of a pointer. A half of a pointer has no
//! shadow, and what is stored as a pointer has no cotangent. So neither may arrive where it is what it was before.
//!
//! ```text
//! v2 = ptrtoint i64 v1         v7 = load ptr v6     ; or an f32
//! v3 = trunc i32 v2            store v8, v7
//! store v6, v3                 v9 = load f32 v8     ; whose derivative is lost
//! v4 = lshr v2, 32:i64
//! …
//! v5 = load ptr v6             ; whose shadow is lost
//! ```
//! Given [`Facts`] and the [`ActiveSet`], it finds such an arrival. It follows bits through values and cells, in one
//! direction: a number may lie where pointers lie without being one, as the size of an array does beside the end of
//! another in an enum. Arithmetic on what is loaded from there, other than what takes words apart and puts them
//! together, makes a number (`V::Flags(n) => V::Flags(n ^ 1)`); on a word that can be nothing but a pointer it makes a
//! pointer without a shadow, from which a mark was taken, say. Memory that others write, the caller or code that is not
//! looked into, has a pointer wherever one is seen.

use crate::analysis::activity::{ActiveSet, reached};
use crate::analysis::effects::may_do_anything;
use crate::analysis::follow::{Follow, Live, Marks, Way, follow};
use crate::analysis::points_to::facts::{Facts, Slot};
use crate::analysis::points_to::objects::{Cell, Kinds, ObjId};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::strided::Strided;
use pullback_ir::{BinOp, Block, Callee, CastOp, FuncId, Function, InstData, Module, Op, SourceLoc, Type, Value};
use std::collections::{HashMap, HashSet};

/// What bits may be.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Bits(u8);

impl Bits {
    /// The lower half of a pointer that has a shadow.
    const LOW: Bits = Bits(1);
    /// The upper half.
    const HIGH: Bits = Bits(2);
    /// All of it, as an integer.
    const WHOLE: Bits = Bits(4);
    /// Floats that are narrower than the word.
    const FLOATS: Bits = Bits(8);
    /// All of it, but changed: a mark is taken off.
    const CHANGED: Bits = Bits(16);
    /// The same of what may be a number: then it is one.
    const CUT: Bits = Bits(32);
    /// A number may be there instead.
    const NUMBER: Bits = Bits(64);
    /// What all of it may be.
    const ALL: Bits = Bits(4 | 16 | 32);

    fn with(self, other: Bits) -> Bits {
        Bits(self.0 | other.0)
    }

    fn has(self, other: Bits) -> bool {
        self.0 & other.0 == other.0
    }

    fn both_halves(self) -> bool {
        self.has(Bits::LOW.with(Bits::HIGH))
    }

    /// The halves among them.
    fn halves(self) -> Bits {
        Bits(self.0 & (Bits::LOW.0 | Bits::HIGH.0))
    }

    fn is_any(self, of: Bits) -> bool {
        self.0 & of.0 != 0
    }

    fn without(self, other: Bits) -> Bits {
        Bits(self.0 & !other.0)
    }

    /// A pointer in pieces.
    fn in_pieces(self) -> Bits {
        if self.is_any(Bits::ALL) { self.without(Bits::ALL).with(Bits::LOW).with(Bits::HIGH) } else { self }
    }

    /// What is left of them where some are cut off, of either half.
    fn changed(self) -> Bits {
        let changed = if self.has(Bits::NUMBER) { Bits::CUT } else { Bits::CHANGED };
        if self.has(Bits::WHOLE) { self.without(Bits::WHOLE).with(changed) } else { self }
    }

    /// What arithmetic leaves of them. It is done with numbers where such may be there.
    fn computed(self) -> Bits {
        if self.has(Bits::NUMBER) { Bits::default() } else { self.changed() }
    }

    /// What they are beside others: put together, or with a mark on them.
    fn joined(self, other: Bits) -> Bits {
        let (all, bits) = (Bits::ALL.without(Bits::WHOLE), self.with(other));
        let is_piece = |bits: Bits| bits.is_any(all) || bits.halves() != Bits::default();
        let are_two = bits.has(Bits::WHOLE) || self.is_any(all) && other.is_any(all);
        if is_piece(self) && is_piece(other) && !are_two { bits.in_pieces() } else { bits }
    }

    /// What a mask leaves of them.
    fn masked(self, mask: Option<i128>) -> Bits {
        match mask.map(|mask| mask as u64) {
            Some(mask) if mask <= u64::from(u32::MAX) => self.cut_to(Bits::LOW),
            Some(mask) if mask & u64::from(u32::MAX) == 0 => self.cut_to(Bits::HIGH),
            _ => self.changed(),
        }
    }

    /// What is left of them where the other half of a word is cut off.
    fn cut_to(self, half: Bits) -> Bits {
        if self.is_any(Bits::ALL) { self.without(Bits::ALL).with(half) } else { self }
    }
}

/// What was lost, where it arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lost {
    /// The shadow of a pointer that came in pieces.
    Pointer(Option<SourceLoc>),
    /// The derivative of a float that came in a pointer.
    Float(Option<SourceLoc>),
}

/// Find something that is lost, in the live blocks of these functions.
pub fn find(module: &Module, facts: &Facts, active: &ActiveSet, live: &Live) -> Option<Lost> {
    let objects = &facts.objects;
    // Mostly no pointer shares its place with anything narrower.
    let shares = |object: ObjId| {
        let pointers = objects.live_cells(object).filter(|c| is_pointer(facts, c));
        let narrow = || objects.live_cells(object).filter(|c| c.width < 8);
        pointers.into_iter().any(|p| narrow().any(|n| p.at.overlaps(p.width, n.at, n.width)))
    };
    // And mostly no pointer is an integer.
    let has_bits = |(id, blocks): &(FuncId, Vec<Block>)| {
        let func = module.func(*id);
        func.insts_in(blocks).any(|data| match (&data.op, data.result) {
            (Op::Cast(CastOp::PtrToInt, _), _) => true,
            (Op::Copy { len, .. }, _) => is_piece(func, *len),
            (Op::Load { ptr, align }, Some(result)) if matches!(func.ty(result), Type::Int(_) | Type::Struct(_)) => {
                let target = facts.target(*id, *ptr, *align);
                let width = func.ty(result).size();
                target.is_some_and(|(object, at)| objects.touched(object, &at, width).any(|c| is_pointer(facts, c)))
            }
            _ => false,
        })
    };
    if !objects.all().any(shares) && !live.iter().any(has_bits) {
        return None;
    }
    let marks = Marks::new(Bits::with);
    let (contents, arrived) = (HashMap::new(), HashMap::new());
    let written = written_by_others(module, facts, live);
    let mut search = Search { module, facts, active, written, marks, contents, arrived, lost: None };
    follow(module, &facts.functions, live, &mut search);
    search.lost
}

/// Objects that code may write which is not looked into.
fn written_by_others(module: &Module, facts: &Facts, live: &Live) -> HashSet<ObjId> {
    let mut written = HashSet::new();
    for (id, blocks) in live {
        for op in module.func(*id).insts_in(blocks).map(|data| &data.op) {
            let reads = matches!(op, Op::Call(Callee::Direct(callee), ..) if module.func(*callee).attrs.inactive);
            if may_do_anything(module, facts, op) && !reads {
                let given = op.operands().into_iter().filter_map(|operand| facts.object(*id, operand));
                written.extend(given.flat_map(|object| reached(facts, object)));
            }
        }
    }
    written
}

fn is_pointer(facts: &Facts, cell: &Cell) -> bool {
    cell.width == 8 && facts.objects.kinds(cell.content).contains(Kinds::PTR)
}

/// An object, and where the cell lies in it.
type CellId = (ObjId, Strided, u64);

struct Search<'a> {
    module: &'a Module,
    facts: &'a Facts,
    active: &'a ActiveSet,
    /// Objects that others write.
    written: HashSet<ObjId>,
    marks: Marks<Bits>,
    /// What the program puts in cells.
    contents: HashMap<CellId, Bits>,
    /// The halves that were stored where a pointer lies, by the pointer's content.
    arrived: HashMap<(ObjId, Strided), Bits>,
    lost: Option<Lost>,
}

impl Follow for Search<'_> {
    fn pass(&mut self, id: FuncId, from: Value, to: Slot, _: Way) {
        self.add(to, self.bits(id, from));
    }

    fn goes_on(&mut self) -> bool {
        std::mem::take(&mut self.marks.changed) && self.lost.is_none()
    }

    fn instruction(&mut self, id: FuncId, func: &Function, data: &InstData) {
        if let Some(cleanup) = data.op.cleanup() {
            for (arg, param) in cleanup.args.iter().zip(self.module.func(cleanup.func).param_values()) {
                self.add((cleanup.func, Some(*param)), self.bits(id, *arg));
            }
        }
        match data.op {
            Op::Store { ptr, value, align } => return self.store(id, func, (ptr, align), value, data.loc),
            Op::Copy { dst, src, len, align, .. } => {
                let len = func.as_int(len).and_then(|len| u64::try_from(len).ok());
                if self.copy(id, (dst, align.0), (src, align.1), len) {
                    self.lost.get_or_insert(Lost::Pointer(data.loc));
                }
                return;
            }
            _ => {}
        }
        let Some(result) = data.result else { return };
        let bits = match &data.op {
            Op::Load { ptr, align } => self.loaded(id, func, (*ptr, *align), result),
            Op::Cast(CastOp::PtrToInt, from) => self.bits(id, *from).with(self.whole(id, *from)),
            Op::Cast(CastOp::IntToPtr, from) => {
                let bits = self.bits(id, *from);
                if bits.both_halves() || bits.is_any(Bits::CHANGED.with(Bits::CUT)) {
                    self.lost.get_or_insert(Lost::Pointer(data.loc));
                }
                self.bits(id, *from)
            }
            Op::Cast(CastOp::Trunc, from) => self.bits(id, *from).cut_to(Bits::LOW),
            Op::Cast(CastOp::Bitcast, from) => {
                if self.bits(id, *from).has(Bits::FLOATS) && func.ty(result).is_float() {
                    self.lost.get_or_insert(Lost::Float(data.loc));
                }
                self.bits(id, *from)
            }
            Op::Bin(BinOp::LShr | BinOp::AShr, from, _) => self.bits(id, *from).cut_to(Bits::HIGH),
            Op::Bin(BinOp::And, a, b) => {
                let [of_a, of_b] = [a, b].map(|v| self.bits(id, *v));
                of_a.masked(func.as_int(*b)).with(of_b.masked(func.as_int(*a)))
            }
            Op::Bin(BinOp::Add, a, b) => match [a, b].map(|v| self.bits(id, *v).computed()) {
                // What is added to a half makes a number of it.
                [bits, Bits(0)] | [Bits(0), bits] => bits.without(bits.halves()),
                [of_a, of_b] => of_a.joined(of_b),
            },
            // The difference of two addresses is a number.
            Op::Bin(BinOp::Sub, a, b) if func.as_int(*b).is_some() => {
                let bits = self.bits(id, *a).computed();
                bits.without(bits.halves())
            }
            Op::Bin(BinOp::Xor, a, b) => self.bits(id, *a).computed().joined(self.bits(id, *b).computed()),
            op @ Op::Intrinsic(_, args) if op.is_funnel_shift() => {
                args.iter().map(|v| self.bits(id, *v).computed()).fold(Bits::default(), Bits::with)
            }
            Op::Cast(CastOp::ZExt | CastOp::SExt, a) | Op::Bin(BinOp::Shl, a, _) | Op::Freeze(a) => self.bits(id, *a),
            Op::ExtractValue(a, _) => self.bits(id, *a),
            Op::Bin(BinOp::Or, a, b) => self.bits(id, *a).joined(self.bits(id, *b)),
            Op::Select(_, a, b) => self.bits(id, *a).with(self.bits(id, *b)),
            Op::InsertValue(a, b, _) => self.bits(id, *a).with(self.moved(id, func, *b)),
            Op::Call(Callee::Direct(callee), ..) => self.marks.get((*callee, None)).unwrap_or_default(),
            _ => Bits::default(),
        };
        self.add((id, Some(result)), bits);
    }
}

impl Search<'_> {
    fn bits(&self, id: FuncId, value: Value) -> Bits {
        self.marks.get((id, Some(value))).unwrap_or_default()
    }

    fn add(&mut self, slot: Slot, bits: Bits) {
        // Flags are computed.
        let is_flag = slot.1.is_some_and(|value| *self.module.func(slot.0).ty(value) == Type::Int(1));
        if bits.without(Bits::NUMBER) != Bits::default() && !is_flag {
            self.marks.add(slot, bits);
        }
    }

    /// A pointer that has a shadow is one.
    fn whole(&self, id: FuncId, pointer: Value) -> Bits {
        let shadowed = self.facts.object(id, pointer).is_some_and(|object| self.active.is_shadowed(object));
        if shadowed { Bits::WHOLE } else { Bits::default() }
    }

    /// What is moved with a value.
    fn moved(&self, id: FuncId, func: &Function, value: Value) -> Bits {
        let bits = self.bits(id, value);
        if *func.ty(value) == Type::Ptr { bits.with(self.whole(id, value)) } else { bits }
    }

    /// What lies in a cell.
    fn content(&self, object: ObjId, cell: &Cell) -> Bits {
        let objects = &self.facts.objects;
        let put = self.contents.get(&(object, cell.at, cell.width)).copied().unwrap_or_default();
        let by_others = !objects.origins(object).is_own() || self.written.contains(&object);
        let shadowed = || objects.pointee(cell.content).is_some_and(|(o, _)| self.active.is_shadowed(o));
        if by_others && is_pointer(self.facts, cell) && shadowed() { put.with(Bits::WHOLE) } else { put }
    }

    /// Bits are put in a cell. In a narrow one there is no place for a whole pointer.
    fn put(&mut self, object: ObjId, cell: &Cell, bits: Bits) {
        let bits = if cell.width < 8 { bits.in_pieces() } else { bits };
        let all = self.contents.entry((object, cell.at, cell.width)).or_default();
        self.marks.changed |= !all.has(bits);
        *all = all.with(bits);
    }

    /// What is loaded.
    fn loaded(&self, id: FuncId, func: &Function, (ptr, align): (Value, u64), result: Value) -> Bits {
        let Some((object, at)) = self.facts.target(id, ptr, align) else { return Bits::default() };
        let (objects, width) = (&self.facts.objects, func.ty(result).size());
        let mut all = Bits::default();
        for cell in objects.live_cells(object).filter(|c| c.meets(&at, width)) {
            let content = self.content(object, cell);
            if cell.width == width || width > 8 {
                all = all.with(content);
            } else {
                let cut =
                    if width < 8 && content.is_any(Bits::ALL) { halves(&at, width, cell) } else { Bits::default() };
                all = all.with(content.halves()).with(cut);
            }
            let is_float = objects.kinds(cell.content).has_float();
            if width == 8 && cell.width < 8 && is_float && self.active.is_active_object(object) {
                all = all.with(Bits::FLOATS);
            }
        }
        let numbers_lie = || {
            let mut opaque = objects.touched_opaque(object, &at, width);
            self.facts.kinds(id, result).contains(Kinds::INT) || opaque.any(|opaque| opaque.numbers)
        };
        // The integers of an aggregate that are too narrow for a pointer have pieces of it.
        let all = if is_narrow(func.ty(result)) { all.in_pieces() } else { all };
        if all != Bits::default() && numbers_lie() { all.with(Bits::NUMBER) } else { all }
    }

    fn store(&mut self, id: FuncId, func: &Function, (ptr, align): (Value, u64), value: Value, loc: Option<SourceLoc>) {
        let (bits, facts, width) = (self.moved(id, func, value), self.facts, func.ty(value).size());
        let Some((object, at)) = facts.target(id, ptr, align).filter(|_| bits != Bits::default()) else { return };
        for cell in facts.objects.touched(object, &at, width) {
            let is_whole = cell.width == width || width > 8;
            self.put(object, cell, if is_whole { bits } else { bits.in_pieces().halves() });
            if bits.has(Bits::FLOATS) && cell.width < 8 && facts.objects.kinds(cell.content).has_float() {
                self.lost.get_or_insert(Lost::Float(loc));
            }
            if is_pointer(facts, cell) && !(width >= 8 && bits.has(Bits::WHOLE)) {
                let is_changed = width >= 8 && bits.has(Bits::CHANGED);
                let bits = if width < 8 { bits.in_pieces() } else { bits };
                if self.arrive(object, cell, bits, (&at, width)) || is_changed {
                    self.lost.get_or_insert(Lost::Pointer(loc));
                }
            }
        }
    }

    /// Bits of a pointer are put in so many bytes where a pointer lies. Whether all of one is put together there.
    fn arrive(&mut self, object: ObjId, pointer: &Cell, bits: Bits, (at, width): (&Offsets, u64)) -> bool {
        let there = Bits(bits.0 & halves(at, width, pointer).0);
        let all = self.arrived.entry((object, pointer.at)).or_default();
        *all = all.with(there);
        all.both_halves()
    }

    /// What lies in memory lies in other memory, too. Whether a piece of a pointer arrives where pointers lie.
    fn copy(
        &mut self,
        id: FuncId,
        (dst, dst_align): (Value, u64),
        (src, src_align): (Value, u64),
        len: Option<u64>,
    ) -> bool {
        let facts = self.facts;
        let target = |ptr, align| facts.target(id, ptr, align);
        let (Some((to, dst)), Some((from, src))) = (target(dst, dst_align), target(src, src_align)) else {
            return false;
        };
        let (further, mut arrives) = (dst.combine(&src, Strided::minus), false);
        for cell in facts.objects.live_cells(from) {
            let bits = self.content(from, cell);
            let at = further.map(|by| cell.at.plus(by));
            for other in facts.objects.live_cells(to).filter(|c| bits != Bits::default() && c.meets(&at, cell.width)) {
                let is_part = |len| len < 8 || !halves(&dst, len, other).both_halves();
                if let Some(len) = len.filter(|len| is_pointer(facts, other) && is_part(*len)) {
                    arrives |= self.arrive(to, other, bits.in_pieces(), (&dst, len));
                }
                self.put(to, other, if len.is_some_and(|len| len < 8) { bits.in_pieces() } else { bits });
            }
        }
        arrives
    }
}

/// Whether a copy of so many bytes can hold no pointer.
fn is_piece(func: &Function, len: Value) -> bool {
    func.as_int(len).is_some_and(|len| len < 8)
}

/// Whether a type is an aggregate of integers that are narrower than a pointer.
fn is_narrow(ty: &Type) -> bool {
    match ty {
        Type::Struct(fields) => fields.iter().all(|field| is_narrow(field) || matches!(field, Type::Int(..64))),
        _ => false,
    }
}

/// Which halves of a pointer so many bytes may touch.
fn halves(at: &Offsets, width: u64, pointer: &Cell) -> Bits {
    let touches = |start: i64, half: Bits| {
        let place = pointer.at.plus(Strided::exact(start));
        if at.meet(width, place, 4) { half } else { Bits::default() }
    };
    touches(0, Bits::LOW).with(touches(4, Bits::HIGH))
}
