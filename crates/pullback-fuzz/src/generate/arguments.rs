//! The arguments of a program: what kinds there are, their layouts, their memory, and how the program reads them.

use super::body::{Array, Body, Elem};
use super::{Feature, Features};
use crate::image::{Blob, Image};
use crate::rng::Rng;
use pullback_ad::{Field, FieldKind, Layout, LayoutId, Layouts};
use pullback_ir::{Type, Value};

/// What an argument's pointer points to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// So many elements, in place.
    Inline(Elem, u64),
    /// Pointer to so many elements, one array: `&mut [f32; 3]`.
    Reference(Elem, u64),
    /// Pointer and length of a slice with at least so many elements.
    Slice(Elem, u64),
    /// An integer.
    Int,
    /// The first node of a linked list, or null: `{f64, next}`.
    List,
}

/// An argument.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plan {
    /// What it points to.
    pub kind: Kind,
    /// Whether it has a shadow.
    pub active: bool,
}

/// The arguments of a program, the result place last.
pub fn plan(features: Features, rng: &mut Rng) -> Vec<Plan> {
    let mut elems = vec![Elem::F64];
    if features.has(Feature::Single) {
        elems.push(Elem::F32);
    }
    if features.has(Feature::Structs) {
        elems.push(Elem::Triple);
        if features.has(Feature::Single) {
            elems.push(Elem::Mixed);
        }
    }
    let mut plans: Vec<Plan> = (0..rng.between(1, 4))
        .map(|i| {
            let elem = *rng.pick(&elems);
            let kind = match rng.below(10) {
                0..3 => Kind::Inline(elem, 1),
                3 if features.has(Feature::Memory) => Kind::Inline(elem, rng.between(3, 5) as u64),
                4 | 5 if features.has(Feature::Memory) => Kind::Slice(elem, 4),
                6 if features.has(Feature::Ints) => Kind::Int,
                7 if features.has(Feature::Lists) => Kind::List,
                8 | 9 if features.has(Feature::Memory) => Kind::Reference(elem, rng.between(3, 5) as u64),
                _ => Kind::Inline(Elem::F64, 1),
            };
            let active = i == 0 || !features.has(Feature::Constants) || rng.chance(60);
            Plan { kind, active }
        })
        .collect();
    let out = if rng.chance(80) { Kind::Inline(elems[0], 1) } else { Kind::Inline(*rng.pick(&elems), 2) };
    plans.push(Plan { kind: out, active: true });
    plans
}

impl Elem {
    fn fields(self) -> Vec<(u64, FieldKind)> {
        match self {
            Elem::F64 => vec![(0, FieldKind::F64)],
            Elem::F32 => vec![(0, FieldKind::F32)],
            Elem::Triple => vec![(0, FieldKind::F64), (8, FieldKind::F64), (16, FieldKind::F64)],
            Elem::Mixed => {
                vec![(0, FieldKind::F64), (8, FieldKind::Int(8)), (16, FieldKind::F32), (20, FieldKind::F32)]
            }
        }
    }

    fn layout(self, layouts: &mut Layouts) -> LayoutId {
        let fields = self.fields().into_iter().map(|(offset, kind)| Field { offset, kind }).collect();
        layouts.add(Layout { name: format!("{self:?}"), size: self.stride(), fields })
    }

    /// The layout of so many elements.
    fn array(self, count: u64, layouts: &mut Layouts) -> LayoutId {
        let fields = vec![Field { offset: 0, kind: FieldKind::Nested(self.layout(layouts), count) }];
        layouts.add(Layout { name: format!("[{self:?}; {count}]"), size: self.stride() * count, fields })
    }

    fn image(self, blob: &mut Blob, rng: &mut Rng) {
        for (_, kind) in self.fields() {
            match kind {
                FieldKind::F64 => blob.f64(rng.float(-2.0, 2.0)),
                FieldKind::F32 => blob.f32(rng.float(-2.0, 2.0) as f32),
                _ => blob.int(rng.below(8) as i64),
            }
        }
    }
}

impl Plan {
    /// The layout of what the argument's pointer points to.
    pub fn layout(&self, layouts: &mut Layouts) -> LayoutId {
        let one = |kind| vec![Field { offset: 0, kind }];
        match self.kind {
            Kind::Inline(elem, 1) => elem.layout(layouts),
            Kind::Inline(elem, count) => elem.array(count, layouts),
            Kind::Reference(elem, count) => {
                let fields = one(FieldKind::Pointer(Some(elem.array(count, layouts))));
                layouts.add(Layout { name: format!("&[{elem:?}; {count}]"), size: 8, fields })
            }
            Kind::Slice(elem, _) => {
                let mut fields = one(FieldKind::Pointer(Some(elem.layout(layouts))));
                fields.push(Field { offset: 8, kind: FieldKind::Int(8) });
                layouts.add(Layout { name: format!("&[{elem:?}]"), size: 16, fields })
            }
            Kind::Int => layouts.add(Layout { name: "i64".to_owned(), size: 8, fields: one(FieldKind::Int(8)) }),
            Kind::List => {
                let node = layouts.add(Layout::default());
                let mut fields = one(FieldKind::F64);
                fields.push(Field { offset: 8, kind: FieldKind::Pointer(Some(node)) });
                layouts.set(node, Layout { name: "Node".to_owned(), size: 16, fields });
                let fields = one(FieldKind::Pointer(Some(node)));
                layouts.add(Layout { name: "List".to_owned(), size: 8, fields })
            }
        }
    }

    /// Memory for the argument; the blob its pointer points to.
    pub fn image(&self, image: &mut Image, rng: &mut Rng) -> usize {
        let mut blob = Blob { active: self.active, ..Blob::default() };
        match self.kind {
            Kind::Inline(elem, count) => (0..count).for_each(|_| elem.image(&mut blob, rng)),
            Kind::Reference(elem, count) => {
                let mut data = Blob { active: self.active, ..Blob::default() };
                (0..count).for_each(|_| elem.image(&mut data, rng));
                blob.pointer(image.add(data));
            }
            Kind::Slice(elem, least) => {
                let len = least + rng.below(3) as u64;
                let mut data = Blob { active: self.active, ..Blob::default() };
                (0..len).for_each(|_| elem.image(&mut data, rng));
                blob.pointer(image.add(data));
                blob.int(len as i64);
            }
            Kind::Int => blob.int(rng.below(6) as i64),
            Kind::List => {
                let mut next = None;
                for _ in 0..rng.below(4) {
                    let mut node = Blob { active: self.active, ..Blob::default() };
                    node.f64(rng.float(-2.0, 2.0));
                    match next {
                        Some(next) => node.pointer(next),
                        None => node.int(0),
                    }
                    next = Some(image.add(node));
                }
                match next {
                    Some(next) => blob.pointer(next),
                    None => blob.int(0),
                }
            }
        }
        image.add(blob)
    }

    /// Make the argument behind the parameter `ptr` known to the body.
    pub fn open(&self, body: &mut Body, ptr: Value) {
        match self.kind {
            Kind::Inline(elem, count) => {
                let array = Array { ptr, elem, cap: count, len: None, write: self.active, object: Some(body.object()) };
                if count == 1 {
                    let index = body.func.i64(0);
                    for lane in elem.lanes() {
                        body.load_lane(&array, index, lane.clone());
                    }
                }
                body.env.arrays.push(array);
            }
            Kind::Reference(elem, cap) => {
                let data = body.b().load(Type::Ptr, ptr);
                let object = Some(body.object());
                body.env.arrays.push(Array { ptr: data, elem, cap, len: None, write: self.active, object });
            }
            Kind::Slice(elem, cap) => {
                let data = body.b().load(Type::Ptr, ptr);
                let at = body.b().offset(ptr, 8);
                let len = body.b().load(Type::I64, at);
                let object = Some(body.object());
                body.env.arrays.push(Array { ptr: data, elem, cap, len: Some(len), write: self.active, object });
            }
            Kind::Int => {
                let value = body.b().load(Type::I64, ptr);
                body.env.ints.push(value);
            }
            Kind::List => {
                let head = body.b().load(Type::Ptr, ptr);
                body.env.lists.push((head, self.active));
            }
        }
    }
}
