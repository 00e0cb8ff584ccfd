//! What is known from layouts: the cells of an argument's memory, and of what is given to a function with rules.

use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::{Kinds, ObjId, Objects, Origins, Property};
use crate::analysis::points_to::strided::Strided;
use crate::analysis::types::unseen;
use crate::request::{FieldKind, LayoutId, Layouts, Request};

/// Arrays inside a value get a cell an element up to this length, and a stride beyond.
const MOST_ELEMENTS: u64 = 32;

/// Give `object` the cells of a layout at `base`, and objects of their own to what its pointers reach. `path` holds the
/// layouts on the way here: a recursive type reaches itself.
pub(crate) fn fill(
    facts: &mut Facts,
    request: &Request,
    arg: usize,
    object: ObjId,
    base: Strided,
    id: LayoutId,
    path: &mut Vec<(LayoutId, ObjId)>,
) {
    for field in &request.layouts.get(id).fields {
        let at = base.plus(Strided::exact(field.offset as i64));
        match field.kind {
            FieldKind::F32 => {
                let content = facts.objects.cell(object, at, 4);
                facts.objects.declare(content, Kinds::F32);
            }
            FieldKind::F64 => {
                let content = facts.objects.cell(object, at, 8);
                facts.objects.declare(content, Kinds::F64);
            }
            FieldKind::Pointer(pointee) => {
                let content = facts.objects.cell(object, at, 8);
                facts.objects.see(content, Kinds::PTR);
                let Some(pointee) = pointee else {
                    facts.objects.mark(object, at, 8, Property::Inert);
                    continue;
                };
                facts.objects.lead_to(content, unseen::first_float(&request.layouts, pointee));
                if request.layouts.get(id).is_shared_reference() {
                    facts.objects.lend(content);
                }
                let target = match path.iter().find(|(layout, _)| *layout == pointee) {
                    Some((_, target)) => *target,
                    None => {
                        let target = facts.objects.add(Origins { args: vec![arg], ..Origins::default() });
                        path.push((pointee, target));
                        let stride = Strided::unbounded(0, request.layouts.get(pointee).size);
                        fill(facts, request, arg, target, stride, pointee, path);
                        path.pop();
                        target
                    }
                };
                let stride = Strided::unbounded(0, request.layouts.get(pointee).size);
                facts.objects.point(content, target, stride.into());
            }
            FieldKind::Nested(inner, count) => {
                let size = request.layouts.get(inner).size;
                if count <= MOST_ELEMENTS {
                    for k in 0..count {
                        fill(facts, request, arg, object, at.plus(Strided::exact((k * size) as i64)), inner, path);
                    }
                } else {
                    let last = (count - 1).saturating_mul(size) as i64;
                    fill(facts, request, arg, object, at.plus(Strided::between(0, size, 0, last)), inner, path);
                }
            }
            FieldKind::Int(width) => {
                facts.objects.mark(object, at, width, Property::Number);
                if matches!(width, 4 | 8) {
                    facts.objects.cell(object, at, width);
                }
            }
            FieldKind::Owners(width) => {
                let content = facts.objects.cell(object, at, width);
                facts.objects.declare(content, Kinds::INT);
                facts.objects.mark(object, at, width, Property::Owners);
            }
            FieldKind::Opaque(bytes) => {
                facts.objects.origins_mut(object).variant = true;
                facts.objects.add_opaque(object, unseen::opaque(&request.layouts, id, at, bytes));
            }
            FieldKind::Payload(inner) => {
                if holds_cells(&request.layouts, inner, &mut Vec::new()) {
                    let size = request.layouts.get(id).size;
                    facts.objects.mark(object, base, size, in_cell(path.is_empty()));
                }
            }
            FieldKind::Unknown(bytes) => {
                facts.objects.mark(object, at, bytes, Property::Inert);
                facts.objects.mark(object, at, bytes, in_cell(path.is_empty()));
            }
            FieldKind::Cell(bytes) => facts.objects.mark(object, at, bytes, in_cell(path.is_empty())),
        }
    }
}

/// What is said of bytes in a cell. An argument's own place is nobody else's.
fn in_cell(own_place: bool) -> Property {
    if own_place { Property::Alone } else { Property::Shared }
}

/// Whether a value of this layout has cells in its own bytes.
fn holds_cells(layouts: &Layouts, id: LayoutId, path: &mut Vec<LayoutId>) -> bool {
    if path.contains(&id) {
        return false;
    }
    path.push(id);
    layouts.get(id).fields.iter().any(|field| match field.kind {
        FieldKind::Unknown(bytes) | FieldKind::Cell(bytes) => bytes > 0,
        FieldKind::Nested(inner, _) | FieldKind::Payload(inner) => holds_cells(layouts, inner, path),
        FieldKind::F32
        | FieldKind::F64
        | FieldKind::Pointer(_)
        | FieldKind::Int(_)
        | FieldKind::Opaque(_)
        | FieldKind::Owners(_) => false,
    })
}

/// Whether a value is given to a function that is not looked into, or is made by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Made {
    /// It is given: what its pointers reach is known from elsewhere.
    Before,
    /// It is made: its pointers reach memory of its own.
    Here,
}

/// A value of this layout lies in `object` at `base`. `path` holds the layouts and objects on the way here.
pub(crate) fn describe(
    objects: &mut Objects,
    layouts: &Layouts,
    (object, base): (ObjId, Strided),
    id: LayoutId,
    made: Made,
    path: &mut Vec<(LayoutId, ObjId)>,
) {
    for field in &layouts.get(id).fields {
        let at = base.plus(Strided::exact(field.offset as i64));
        match field.kind {
            FieldKind::F32 | FieldKind::F64 => {
                let (width, kind) = if field.kind == FieldKind::F32 { (4, Kinds::F32) } else { (8, Kinds::F64) };
                let content = objects.cell(object, at, width);
                objects.see(content, kind);
            }
            FieldKind::Pointer(pointee) => {
                let content = objects.cell(object, at, 8);
                objects.see(content, Kinds::PTR);
                let Some(pointee) = pointee else { continue };
                let stride = Strided::unbounded(0, layouts.get(pointee).size);
                if objects.pointee(content).is_none() && made == Made::Here {
                    let target = objects.add(Origins { local: true, ..Origins::default() });
                    objects.point(content, target, stride.into());
                }
                let Some((target, offsets)) = objects.pointee(content) else { continue };
                if path.contains(&(pointee, target)) {
                    continue;
                }
                path.push((pointee, target));
                for at in offsets.iter() {
                    describe(objects, layouts, (target, at.plus(stride)), pointee, made, path);
                }
                path.pop();
            }
            FieldKind::Nested(inner, count) => {
                let size = layouts.get(inner).size;
                if count <= MOST_ELEMENTS {
                    for k in 0..count {
                        let at = at.plus(Strided::exact((k * size) as i64));
                        describe(objects, layouts, (object, at), inner, made, path);
                    }
                } else {
                    let last = (count - 1).saturating_mul(size) as i64;
                    describe(
                        objects,
                        layouts,
                        (object, at.plus(Strided::between(0, size, 0, last))),
                        inner,
                        made,
                        path,
                    );
                }
            }
            FieldKind::Int(width @ (4 | 8)) | FieldKind::Owners(width) if made == Made::Here => {
                let content = objects.cell(object, at, width);
                objects.see(content, Kinds::INT);
            }
            FieldKind::Int(_) | FieldKind::Owners(_) => {}
            FieldKind::Opaque(bytes) => {
                objects.origins_mut(object).variant |= made == Made::Here;
                objects.add_opaque(object, unseen::opaque(layouts, id, at, bytes));
            }
            FieldKind::Payload(inner) => {
                if holds_cells(layouts, inner, &mut Vec::new()) {
                    objects.mark(object, base, layouts.get(id).size, in_cell(path.len() == 1));
                }
            }
            FieldKind::Unknown(bytes) | FieldKind::Cell(bytes) => {
                objects.mark(object, at, bytes, in_cell(path.len() == 1));
            }
        }
    }
}
