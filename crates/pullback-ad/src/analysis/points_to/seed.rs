//! What is known from layouts: the cells of an argument's memory, and of what is given to a function with rules.

use crate::analysis::points_to::objects::{ContentId, Kinds, ObjId, Objects, Origins, Property};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::strided::Strided;
use crate::analysis::types::unseen;
use crate::request::{FieldKind, LayoutId, Layouts};

/// Arrays inside a value get a cell an element up to this length, and a stride beyond.
const MOST_ELEMENTS: u64 = 32;

/// Where a value comes from that a layout describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Made {
    /// It is what an argument of the request points to: nothing else is known of what its pointers reach.
    ByCaller(usize),
    /// It is given to a function that is not looked into: what its pointers reach is known from elsewhere.
    Before,
    /// It is made by such a function: its pointers reach memory of its own.
    Here,
}

/// Note that a value of layout `id` lies at a place of an object: the cells there, and in what its pointers reach.
pub(crate) fn describe(objects: &mut Objects, layouts: &Layouts, at: (ObjId, Strided), id: LayoutId, made: Made) {
    let (object, base) = at;
    let path = match made {
        Made::ByCaller(_) => vec![],
        Made::Before | Made::Here => vec![(id, object)],
    };
    let own_place = path.len();
    Description { objects, layouts, made, path, own_place }.value(object, base, id);
}

struct Description<'a> {
    objects: &'a mut Objects,
    layouts: &'a Layouts,
    made: Made,
    /// The layouts and objects on the way here, by pointers: a recursive type reaches itself.
    path: Vec<(LayoutId, ObjId)>,
    /// How long that is in the place where the value itself lies.
    own_place: usize,
}

impl Description<'_> {
    fn value(&mut self, object: ObjId, base: Strided, id: LayoutId) {
        let layouts = self.layouts;
        // The last pointer.
        let mut before = None;
        for field in &layouts.get(id).fields {
            let at = base.plus(Strided::exact(field.offset as i64));
            match field.kind {
                FieldKind::F32 => self.scalar(object, at, 4, Kinds::F32),
                FieldKind::F64 => self.scalar(object, at, 8, Kinds::F64),
                FieldKind::Pointer(Some(pointee)) => before = Some(self.pointer(object, at, pointee, false)),
                FieldKind::Reference(pointee) => before = Some(self.pointer(object, at, pointee, true)),
                FieldKind::Again(pointee) => self.again(object, at, pointee, before),
                FieldKind::Pointer(None) => {
                    let content = self.objects.cell(object, at, 8);
                    self.objects.see(content, Kinds::PTR);
                    if self.is_by_caller() {
                        self.objects.mark(object, at, 8, Property::Inert);
                    }
                }
                FieldKind::Nested(inner, count) => self.array(object, at, inner, count),
                FieldKind::Int(width) => self.number(object, at, width),
                FieldKind::Owners(_) if self.made == Made::Before => {}
                FieldKind::Owners(width) => {
                    self.scalar(object, at, width, Kinds::INT);
                    if self.is_by_caller() {
                        self.objects.mark(object, at, width, Property::Owners);
                    }
                }
                FieldKind::Opaque(bytes) => {
                    self.objects.origins_mut(object).variant |= self.made != Made::Before;
                    self.objects.add_opaque(object, unseen::opaque(layouts, id, at, bytes));
                }
                FieldKind::Payload(inner) => {
                    let is_cell =
                        |kind| matches!(kind, FieldKind::Unknown(bytes) | FieldKind::Cell(bytes) if bytes > 0);
                    if layouts.within(inner).iter().any(|part| is_cell(part.kind)) {
                        self.cell(object, base, layouts.get(id).size);
                    }
                }
                FieldKind::Unknown(bytes) => {
                    if self.is_by_caller() {
                        self.objects.mark(object, at, bytes, Property::Inert);
                    }
                    self.cell(object, at, bytes);
                }
                FieldKind::Cell(bytes) => self.cell(object, at, bytes),
            }
        }
    }

    fn is_by_caller(&self) -> bool {
        matches!(self.made, Made::ByCaller(_))
    }

    /// So many bytes are of such a kind; in a caller's memory whatever the function does.
    fn scalar(&mut self, object: ObjId, at: Strided, width: u64, kind: Kinds) {
        let content = self.objects.cell(object, at, width);
        if self.is_by_caller() {
            self.objects.declare(content, kind);
        } else {
            self.objects.see(content, kind);
        }
    }

    fn number(&mut self, object: ObjId, at: Strided, width: u64) {
        if self.is_by_caller() {
            self.objects.mark(object, at, width, Property::Number);
            if matches!(width, 4 | 8) {
                self.objects.cell(object, at, width);
            }
        } else if self.made == Made::Here && matches!(width, 4 | 8) {
            self.scalar(object, at, width, Kinds::INT);
        }
    }

    /// These bytes lie in a cell. A value's own place has no other names.
    fn cell(&mut self, object: ObjId, at: Strided, bytes: u64) {
        let own_place = self.path.len() == self.own_place;
        self.objects.mark(object, at, bytes, if own_place { Property::Alone } else { Property::Shared });
    }

    /// So many values in a row.
    fn array(&mut self, object: ObjId, at: Strided, inner: LayoutId, count: u64) {
        let size = self.layouts.get(inner).size;
        if count > MOST_ELEMENTS {
            let last = (count - 1).saturating_mul(size) as i64;
            return self.value(object, at.plus(Strided::between(0, size, 0, last)), inner);
        }
        for k in 0..count {
            self.value(object, at.plus(Strided::exact((k * size) as i64)), inner);
        }
    }

    /// A pointer to some of the values to which another one leads, too.
    fn again(&mut self, object: ObjId, at: Strided, pointee: LayoutId, other: Option<ContentId>) {
        let content = self.objects.cell(object, at, 8);
        self.objects.see(content, Kinds::PTR);
        let elements = Strided::unbounded(0, self.layouts.get(pointee).size);
        if self.is_by_caller() {
            self.objects.lead_to(content, unseen::first_float(self.layouts, pointee));
        }
        if let Some((target, offsets)) = other.and_then(|other| self.objects.pointee(other)) {
            self.objects.point(content, target, offsets.map(|at| at.plus(elements)));
        }
        // What was known of it before is described as well. That of a caller is what the other one leads to.
        if let Some((target, offsets)) = self.objects.pointee(content)
            && !self.is_by_caller()
            && !self.path.contains(&(pointee, target))
        {
            self.behind(pointee, target, &offsets, elements);
        }
    }

    fn pointer(&mut self, object: ObjId, at: Strided, pointee: LayoutId, is_shared: bool) -> ContentId {
        let content = self.objects.cell(object, at, 8);
        self.objects.see(content, Kinds::PTR);
        let elements = Strided::unbounded(0, self.layouts.get(pointee).size);
        if let Made::ByCaller(arg) = self.made {
            self.objects.lead_to(content, unseen::first_float(self.layouts, pointee));
            if is_shared {
                self.objects.lend(content);
            }
            let target = match self.path.iter().find(|(layout, _)| *layout == pointee) {
                Some((_, target)) => *target,
                None => {
                    let target = self.objects.add(Origins { args: vec![arg], ..Origins::default() });
                    self.behind(pointee, target, &Offsets::zero(), elements);
                    target
                }
            };
            self.objects.point(content, target, elements.into());
            return content;
        }
        if self.objects.pointee(content).is_none() && self.made == Made::Here {
            let target = self.objects.add(Origins { local: true, ..Origins::default() });
            self.objects.point(content, target, elements.into());
        }
        if let Some((target, offsets)) = self.objects.pointee(content)
            && !self.path.contains(&(pointee, target))
        {
            self.behind(pointee, target, &offsets, elements);
        }
        content
    }

    /// Behind a pointer lie values, as far apart as they are large.
    fn behind(&mut self, pointee: LayoutId, target: ObjId, offsets: &Offsets, elements: Strided) {
        self.path.push((pointee, target));
        for at in offsets.iter() {
            self.value(target, at.plus(elements), pointee);
        }
        self.path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Field, Layout};

    /// Two pointers into the same values: an array's.
    fn array(layouts: &mut Layouts) -> LayoutId {
        let layout = |size, fields: &[(u64, FieldKind)]| {
            let fields = fields.iter().map(|&(offset, kind)| Field { offset, kind }).collect();
            Layout { name: String::new(), size, fields }
        };
        let element = layouts.add(layout(16, &[(0, FieldKind::F64), (8, FieldKind::Int(8))]));
        layouts.add(layout(16, &[(0, FieldKind::Pointer(Some(element))), (8, FieldKind::Again(element))]))
    }

    #[test]
    fn a_pointer_again_leads_to_where_the_one_before_it_leads() {
        let mut layouts = Layouts::default();
        let array = array(&mut layouts);
        for made in [Made::ByCaller(0), Made::Before, Made::Here] {
            let mut objects = Objects::default();
            let object = objects.add(Origins::default());
            let pointers = [0, 8].map(|at| objects.cell(object, Strided::exact(at), 8));
            if made == Made::Before {
                // Into the middle of an object.
                let target = objects.add(Origins::default());
                objects.point(pointers[0], target, Strided::exact(24).into());
            }
            describe(&mut objects, &layouts, (object, Strided::ZERO), array, made);
            let [first, again] = pointers.map(|pointer| objects.pointee(pointer).expect("it leads somewhere"));
            assert_eq!(first.0, again.0, "{made:?}");
            let start = if made == Made::Before { 24 } else { 0 };
            assert!(again.1.iter().any(|at| at == Strided::unbounded(start % 16, 16)), "{made:?}: {again:?}");
        }
    }

    /// Of what a function makes that is not looked into, one of the two pointers may be known before the other.
    #[test]
    fn what_a_pointer_again_leads_to_is_described() {
        let mut layouts = Layouts::default();
        let array = array(&mut layouts);
        let mut objects = Objects::default();
        let object = objects.add(Origins::default());
        let (again, target) = (objects.cell(object, Strided::exact(8), 8), objects.add(Origins::default()));
        objects.point(again, target, Strided::exact(32).into());
        describe(&mut objects, &layouts, (object, Strided::ZERO), array, Made::Before);
        assert!(objects.cells(target).iter().any(|cell| cell.at.contains(Strided::exact(48)) && cell.width == 8));
    }
}
