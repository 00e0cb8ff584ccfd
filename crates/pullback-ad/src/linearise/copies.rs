//! Copies and fills in the augmented primal: what lies in a region, floats, pointers and words, is copied in the shadow
//! as what it is. (In forward mode a shadow is copied as a whole, see `mirror`.)

use crate::analysis::points_to::lanes::{Lane, Lanes, Unclear, lanes, meet};
use crate::analysis::points_to::objects::{ObjId, Property};
use crate::analysis::points_to::strided::Strided;
use crate::error::{Error, Result};
use crate::linearise::augment::Augmenter;
use crate::linearise::linear::{Beside, Linear};
use pullback_ir::{Builder, Inst, InstData, IntPred, Op, Type, Value};

/// Regions up to this many bytes are copied lane by lane in line.
const INLINE_BYTES: u64 = 128;

/// The shadows of a region that is copied, or filled if there is no source.
#[derive(Clone, Copy)]
pub(super) struct Region<'a> {
    /// The copy or fill.
    pub(super) inst: Inst,
    /// Target and source in the primal.
    pub(super) old_dst: Value,
    pub(super) old_src: Value,
    /// Their shadows, by batch direction.
    pub(super) to: &'a [Value],
    pub(super) from: Option<&'a [Value]>,
    /// How many bytes.
    pub(super) len: Value,
    pub(super) known_len: Option<u64>,
}

impl Region<'_> {
    /// How many bytes, if they are few enough to be handled lane by lane in line.
    pub(super) fn inline_len(&self) -> Option<u64> {
        self.known_len.filter(|len| *len <= INLINE_BYTES)
    }
}

impl Augmenter<'_, '_> {
    /// The floats of a region become constants.
    pub(super) fn zero_tangents(&mut self, inst: Inst, dst: Vec<Value>, len: Value, floats: Vec<Lane>) {
        self.linear(inst, Linear::Copy { dst, src: None, len, floats, beside: Beside::Floats });
    }

    /// The lanes of a region that starts at an old pointer.
    pub(super) fn lanes(&self, object: ObjId, ptr: Value, align: u64, len: Option<u64>) -> Result<Lanes> {
        let at = self.session.facts.place(self.id, ptr, align);
        lanes(&self.session.facts.objects, object, &at, len).map_err(|why| {
            let note = match why {
                Unclear::Mixed => {
                    "the same bytes hold a float in one place and something else in another (an enum whose variants \
                     overlap, or a union)"
                }
                Unclear::Unaligned => {
                    "the region starts at an address of which too little is known to tell its fields apart"
                }
            };
            Error::unknown_type("memory is copied whose content cannot be told to be float or not")
                .label("copied here")
                .note(note)
                .help("copy the fields one by one, or match on the enum before moving its payload")
        })
    }

    /// A copy. In reverse mode shadows are copied lane by lane: floats are the reverse sweep's, pointers have shadows.
    pub(super) fn copy(&mut self, data: &InstData) -> Result<()> {
        let Op::Copy { dst, src, len, may_overlap, align } = data.op else { unreachable!("this is a copy") };
        let inst = self.copy_instruction(data);
        if !self.has_shadow(dst) {
            return Ok(());
        }
        let known_len = self.old.as_int(len).map(|n| n as u64);
        let object = self.object(dst).expect("a pointer with a shadow has an object");
        let len = self.get(len);
        let from = if self.has_shadow(src) { Some(self.shadow(src)?) } else { None };
        let to = self.shadow(dst)?;
        let region = Region { inst, old_dst: dst, old_src: src, to: &to, from: from.as_deref(), len, known_len };
        if self.out.tape.is_none() {
            return self.mirror_copy(data, object, &region);
        }
        let mut lanes = self.lanes(object, dst, align.0, known_len)?;
        self.check_variants(object, src, &lanes, known_len)?;
        if from.is_some() && self.holds_inert(src) {
            let (live, inert) = self.live_lanes(&lanes.floats, src, align.1)?;
            lanes.floats = live;
            if self.session.active.is_active_object(object) && !inert.is_empty() {
                self.zero_tangents(inst, to.clone(), len, inert);
            }
        }
        if from.is_some() && may_overlap && self.lanes_meet(&region, align, &lanes) {
            let between = self.memory_between(len);
            self.copy_lanes(data, &Region { to: &between, ..region }, &lanes)?;
            return self.copy_lanes(data, &Region { from: Some(&between), ..region }, &lanes);
        }
        self.copy_lanes(data, &region, &lanes)
    }

    /// Whether a region that is too large to be moved at once has lanes of which one may come to where another was.
    fn lanes_meet(&self, region: &Region, align: (u64, u64), lanes: &Lanes) -> bool {
        if self.object(region.old_dst) != self.object(region.old_src) || region.inline_len().is_some() {
            return false;
        }
        let facts = self.session.facts;
        let (to, from) = (facts.place(self.id, region.old_dst, align.0), facts.place(self.id, region.old_src, align.1));
        let distances = to.combine(&from, Strided::minus);
        [&lanes.floats, &lanes.pointers, &lanes.mixed].into_iter().any(|lanes| meet(lanes, &distances))
    }

    /// Zeroed shadow memory by way of which a region is moved whose lanes meet.
    fn memory_between(&mut self, len: Value) -> Vec<Value> {
        let tape = self.out.tape.expect("lanes are moved in reverse mode, which has a tape");
        let callee = self.session.runtime.shadow_alloc;
        let align = self.func.i64(16);
        (0..self.width()).map(|_| self.builder().call(callee, vec![tape, len, align], Type::Ptr)).collect()
    }

    /// The shadows of a copied region in reverse mode, lane by lane.
    fn copy_lanes(&mut self, data: &InstData, region: &Region, lanes: &Lanes) -> Result<()> {
        self.copy_words(region, &lanes.mixed)?;
        if let Some(from) = region.from {
            self.copy_pointers(data, region, from, &lanes.pointers)?;
        }
        let is_active = |ptr| self.object(ptr).is_some_and(|o| self.session.active.is_active_object(o));
        if is_active(region.old_dst) && !lanes.floats.is_empty() {
            let beside = self.beside(region.old_src, None);
            let src = region.from.filter(|_| is_active(region.old_src)).map(<[Value]>::to_vec);
            let (dst, len, floats) = (region.to.to_vec(), region.len, lanes.floats.clone());
            self.linear(region.inst, Linear::Copy { dst, src, len, floats, beside });
        }
        Ok(())
    }

    /// Whether there are bytes that take no part in the memory that a pointer reaches.
    pub(super) fn holds_inert(&self, ptr: Value) -> bool {
        self.object(ptr).is_some_and(|object| self.session.facts.objects.is_marked(object, Property::Inert))
    }

    /// The lanes of a region at `src` that take part there, and those that do not.
    pub(super) fn live_lanes(&self, lanes: &[Lane], src: Value, align: u64) -> Result<(Vec<Lane>, Vec<Lane>)> {
        let object = self.object(src).expect("memory with skipped fields is an object");
        let at = self.session.facts.place(self.id, src, align);
        let (mut live, mut inert) = (Vec::new(), Vec::new());
        for lane in lanes {
            let (a, b) = lane.apart(&self.session.facts.objects, object, &at).ok_or_else(|| {
                Error::unknown_type("memory is copied of which it cannot be told what is in skipped fields")
                    .label("copied here")
                    .help("copy the fields one by one")
            })?;
            live.extend(a);
            inert.extend(b);
        }
        Ok((live, inert))
    }

    /// Memory that goes from one argument to another without being looked at: what lies in it must be known from the
    /// layouts, because the function itself gives no evidence.
    fn check_variants(&self, to: ObjId, src: Value, lanes: &Lanes, len: Option<u64>) -> Result<()> {
        let objects = &self.session.facts.objects;
        let unclear = |o: ObjId| objects.opaque(o).iter().any(|opaque| !opaque.is_clear());
        let unknown = |o: ObjId| objects.origins(o).variant && !objects.origins(o).args.is_empty() && unclear(o);
        let covered: u64 = lanes.floats.iter().chain(&lanes.pointers).map(|l| l.width).sum();
        let whole = len.is_some_and(|len| covered == len);
        if unknown(to) && self.object(src).is_some_and(unknown) && !whole {
            return Err(Error::unknown_type(
                "a value whose layout depends on a variant is moved from one argument to another unseen",
            )
            .label("moved here")
            .note(
                "its variants hold pointers, or floats of two widths: which lies where is only known by a look at the \
                 variant",
            )
            .help("match on it and move its payload variant by variant"));
        }
        Ok(())
    }

    fn copy_pointers(&mut self, data: &InstData, region: &Region, from: &[Value], lanes: &[Lane]) -> Result<()> {
        if lanes.is_empty() {
            return Ok(());
        }
        let restore = self.belongs_to_caller(region.old_dst);
        match region.inline_len() {
            Some(len) => {
                let places: Vec<u64> = lanes.iter().flat_map(|l| l.places(len)).collect();
                // Read everything first: the regions may overlap.
                let mut moves = Vec::new();
                for at in places {
                    for (dst, src) in region.to.iter().zip(from) {
                        let mut b = self.builder().with_loc(data.loc);
                        let (src, dst) = (b.offset(*src, at as i64), b.offset(*dst, at as i64));
                        let value = b.load(Type::Ptr, src);
                        let old = restore.then(|| b.load(Type::Ptr, dst));
                        moves.push((dst, value, old));
                    }
                }
                for (dst, value, old) in moves {
                    self.builder().store(dst, value);
                    if let Some(old) = old {
                        self.linear(region.inst, Linear::Restore { shadow: vec![dst], old: vec![old] });
                    }
                }
            }
            None if restore && self.session.request.nested => {
                return Err(Error::unsupported(
                    "many pointers are moved at once into memory that belongs to an argument",
                )
                .label("moved here")
                .note(
                    "this derivative is differentiated itself, and what puts back the pointers that were there is not",
                )
                .help("move the elements one by one, or build a new value and return it"));
            }
            // What was overwritten is put back like that of words; a pointer that is null has no cotangent either.
            None if restore => self.copy_many_words(region, lanes),
            None => {
                for lane in lanes {
                    for (dst, src) in region.to.iter().zip(from) {
                        let func = self.session.runtime.copy_lanes;
                        let mut b = self.builder();
                        let [len, stride, offset, width] = lane.operands(&mut b, region.len);
                        b.call_void(func, vec![*dst, *src, len, stride, offset, width]);
                    }
                }
            }
        }
        Ok(())
    }

    /// A fill in reverse mode: what is read back is constant.
    pub(super) fn fill(&mut self, data: &InstData, dst: Value, len: Value, align: u64) -> Result<()> {
        let inst = self.copy_instruction(data);
        let Some(object) =
            self.object(dst).filter(|o| self.has_shadow(dst) && self.session.active.is_active_object(*o))
        else {
            return Ok(());
        };
        let known_len = self.old.as_int(len).map(|n| n as u64);
        let (len, to) = (self.get(len), self.shadow(dst)?);
        let lanes = self.lanes(object, dst, align, known_len)?;
        let region = Region { inst, old_dst: dst, old_src: dst, to: &to, from: None, len, known_len };
        self.copy_words(&region, &lanes.mixed)?;
        if !lanes.floats.is_empty() {
            self.zero_tangents(inst, to, len, lanes.floats);
        }
        Ok(())
    }
}

impl Lane {
    /// The places of this lane in a region of `len` bytes.
    pub fn places(&self, len: u64) -> impl Iterator<Item = u64> + use<> {
        let lane = *self;
        let step = if lane.stride == 0 { len.max(1) } else { lane.stride };
        let places = (0..).map(move |k| lane.offset + k * step);
        places.take_while(move |at| at + lane.width <= len && *at <= lane.last)
    }

    /// Length, stride, offset and width as operands of the run-time functions, for a region of `len` bytes. A single
    /// place has a stride beyond any length; a lane that ends before the region has its own length.
    pub fn operands(&self, b: &mut Builder, len: Value) -> [Value; 4] {
        let stride = if self.stride == 0 { i64::MAX / 2 } else { self.stride as i64 };
        let end = i64::try_from(self.last).unwrap_or(i64::MAX).saturating_add(self.width as i64);
        let len = if end == i64::MAX {
            len
        } else {
            let end = b.func.i64(end);
            let shorter = b.icmp(IntPred::Ult, len, end);
            b.select(shorter, len, end)
        };
        [len, b.func.i64(stride), b.func.i64(self.offset as i64), b.func.i64(self.width as i64)]
    }

    /// The float type of this lane.
    pub fn float(&self) -> Type {
        if self.width == 4 { Type::F32 } else { Type::F64 }
    }
}

/// Whether a region is small enough to be handled lane by lane.
pub(crate) fn inline_len(func: &pullback_ir::Function, len: Value) -> Option<u64> {
    func.as_int(len).and_then(|n| u64::try_from(n).ok()).filter(|n| *n <= INLINE_BYTES)
}
