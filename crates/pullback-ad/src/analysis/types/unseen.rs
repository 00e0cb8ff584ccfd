//! What lies in an argument's enum that is moved without a look at its variant.
//!
//! A layout says what the variants of an enum hold, not where. Mostly the program says that, for it reads floats as
//! floats. But a function that swaps two enums moves words. If floats of one width are all that its variants hold
//! beside numbers, each word that is moved may be such a float, or a number; and either is moved as a float is, for the
//! shadow of a number is zero in reverse mode (the caller's wrapper sees to that) and a copy in forward mode.

use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::{FloatAt, Kinds, ObjId, Objects, Opaque};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::strided::Strided;
use crate::request::{FieldKind, LayoutId, Layouts, Part};
use pullback_ir::{FuncId, Value};
use std::collections::BTreeSet;

/// What may lie in the opaque bytes of a layout, as far as it is said.
fn payload(layouts: &Layouts, layout: LayoutId) -> Kinds {
    let kinds = layouts.in_variant(layout, None).into_iter().map(|part| match part.kind {
        FieldKind::F32 => Kinds::F32,
        FieldKind::F64 => Kinds::F64,
        FieldKind::Pointer(_) | FieldKind::Reference(_) | FieldKind::Again(_) => Kinds::PTR,
        _ => Kinds::NONE,
    });
    kinds.fold(Kinds::NONE, Kinds::union)
}

/// The opaque bytes of a layout, which lie at a place of an object.
pub(crate) fn opaque(layouts: &Layouts, layout: LayoutId, at: Strided, bytes: u64) -> Opaque {
    let in_variants = layouts.in_variant(layout, None);
    let within = layouts.within(layout);
    let is_number =
        |kind| matches!(kind, FieldKind::Int(_) | FieldKind::Opaque(_) | FieldKind::Unknown(_) | FieldKind::Owners(_));
    Opaque {
        at,
        bytes,
        kinds: payload(layouts, layout),
        // The tag of the enum itself lies beside all variants.
        numbers: in_variants.iter().any(|part| is_number(part.kind)),
        floats: float_places(layouts, layout),
        skips: in_variants.iter().any(|part| matches!(part.kind, FieldKind::Unknown(4..))),
        leads_to: within.iter().filter(|part| part.of != layout).find_map(|part| match part.kind {
            FieldKind::Pointer(Some(pointee)) | FieldKind::Reference(pointee) => first_float(layouts, pointee),
            _ => None,
        }),
        lent: within.iter().any(|part| matches!(part.kind, FieldKind::Reference(_))),
    }
}

/// The first float of a layout that is not behind a pointer, nor in an enum.
pub(crate) fn first_float(layouts: &Layouts, layout: LayoutId) -> Option<FloatAt> {
    layouts.get(layout).fields.iter().find_map(|field| {
        let (offset, width) = match field.kind {
            FieldKind::F32 => (0, 4),
            FieldKind::F64 => (0, 8),
            FieldKind::Nested(inner, count) if count > 0 => {
                let first = first_float(layouts, inner)?;
                (first.offset, first.width)
            }
            _ => return None,
        };
        Some(FloatAt { offset: field.offset + offset, width })
    })
}

/// At how many places of the opaque bytes of a layout floats may lie, at most. Variants that hold nothing but floats
/// have them at the same places, one after the other; where those of another variant lie is not known.
fn float_places(layouts: &Layouts, layout: LayoutId) -> u64 {
    let payloads = layouts.get(layout).fields.iter().filter(|field| matches!(field.kind, FieldKind::Payload(_)));
    let variants: BTreeSet<u64> = payloads.map(|field| field.offset).collect();
    let (mut alone, mut beside_others) = (0, 0);
    for variant in variants {
        let parts = layouts.in_variant(layout, Some(variant));
        let is_float = |part: &&Part| matches!(part.kind, FieldKind::F32 | FieldKind::F64);
        let floats: u64 = parts.iter().filter(is_float).map(|part| part.times).sum();
        let no_other = |part: &Part| {
            is_float(&part) || matches!(part.kind, FieldKind::Nested(..) | FieldKind::Payload(_) | FieldKind::Cell(_))
        };
        if parts.iter().all(no_other) {
            alone = floats.max(alone);
        } else {
            beside_others += floats;
        }
    }
    alone + beside_others
}

/// Whether so many bytes (`None`: unknown) at places of an object may hold floats that the program never looks at: then
/// it cannot be told which of them are floats, and they must not be moved.
pub fn may_hide_floats(objects: &Objects, object: ObjId, at: &Offsets, len: Option<u64>) -> bool {
    let len = len.unwrap_or(i64::MAX as u64);
    objects.opaque(object).iter().filter(|opaque| !opaque.is_clear() && opaque.kinds.has_float()).any(|opaque| {
        let place = |start: u64| opaque.at.plus(Strided::exact(start as i64));
        let touched = opaque.meets(at, len);
        let floats = || objects.cells(object).iter().filter(|cell| objects.kinds(cell.content).has_float());
        let seen = (0..opaque.bytes).step_by(4).filter(|start| floats().any(|c| c.at.overlaps(1, place(*start), 1)));
        touched && (seen.count() as u64) < opaque.floats
    })
}

impl Opaque {
    /// The width of the floats that are all it holds beside numbers; `None` if it holds none, or other things too.
    fn float(&self) -> Option<u64> {
        match self.kinds {
            Kinds::F32 => Some(4),
            Kinds::F64 => Some(8),
            _ => None,
        }
    }

    /// Whether it can be moved unseen.
    pub fn is_clear(&self) -> bool {
        self.kinds == Kinds::NONE || self.float().is_some()
    }
}

/// Note that so many bytes (`None`: unknown) at a place of an object are moved unseen.
pub(crate) fn moved(objects: &mut Objects, object: ObjId, at: Strided, len: Option<u64>) {
    let len = len.unwrap_or(i64::MAX as u64);
    for opaque in objects.opaque(object).to_vec() {
        let Some(width) = opaque.float() else { continue };
        for start in (0..opaque.bytes / width).map(|k| k * width) {
            let word = opaque.at.plus(Strided::exact(start as i64));
            if at.overlaps(len, word, width) {
                let content = objects.cell(object, word, width);
                objects.see_unseen(content, opaque.kinds.union(Kinds::INT));
            }
        }
    }
}

/// Whether so many bytes at places of an object are a float of one width in one variant, of another in another, and a
/// pointer in none. Which it is, is not known; but if a number is written there, none of them has a cotangent any more.
pub fn has_floats_of_two_widths(objects: &Objects, object: ObjId, at: &Offsets, width: u64) -> bool {
    let both = Kinds::F32.union(Kinds::F64);
    let within = |opaque: &Opaque| at.iter().all(|at| at.overlaps(width, opaque.at, opaque.bytes));
    matches!(width, 4 | 8) && objects.opaque(object).iter().any(|opaque| opaque.kinds == both && within(opaque))
}

/// Whether so many bytes at a pointer are part of wider words that are moved unseen, and touch no other float.
pub fn is_part(facts: &Facts, func: FuncId, ptr: Value, align: u64, width: u64) -> bool {
    let Some((object, at)) = facts.target(func, ptr, align) else { return false };
    let objects = &facts.objects;
    let floats = objects.touched(object, &at, width).filter(|cell| objects.kinds(cell.content).has_float());
    let mut touched = floats.peekable();
    touched.peek().is_some() && touched.all(|cell| cell.width > width && objects.is_unseen(cell.content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::points_to::objects::Origins;
    use crate::request::{Activity, Argument, Field, Layout, Layouts, Mode, Request};

    fn object(kinds: Kinds) -> (Objects, ObjId) {
        let mut objects = Objects::default();
        let id = objects.add(Origins { args: vec![0], variant: true, ..Origins::default() });
        objects.add_opaque(
            id,
            Opaque {
                at: Strided::unbounded(0, 24),
                bytes: 24,
                kinds,
                numbers: true,
                floats: 3,
                skips: false,
                leads_to: None,
                lent: false,
            },
        );
        (objects, id)
    }

    #[test]
    fn words_that_are_moved_are_floats_or_numbers() {
        let (mut objects, id) = object(Kinds::F64);
        moved(&mut objects, id, Strided::unbounded(8, 24), Some(8));
        let [cell] = objects.cells(id) else { panic!("one word was moved") };
        assert_eq!((cell.at, cell.width), (Strided::unbounded(8, 24), 8));
        assert_eq!(objects.kinds(cell.content), Kinds::F64.union(Kinds::INT));
        assert!(objects.is_unseen(cell.content));
        moved(&mut objects, id, Strided::unbounded(0, 24), None);
        assert_eq!(objects.cells(id).len(), 3);

        let (mut objects, id) = object(Kinds::F32);
        moved(&mut objects, id, Strided::unbounded(8, 24), Some(8));
        assert_eq!(objects.cells(id).iter().map(|cell| cell.width).collect::<Vec<_>>(), [4, 4]);
    }

    #[test]
    fn pointers_and_floats_of_two_widths_have_to_be_seen() {
        for kinds in [Kinds::PTR, Kinds::F64.union(Kinds::PTR), Kinds::F64.union(Kinds::F32)] {
            let (mut objects, id) = object(kinds);
            moved(&mut objects, id, Strided::unbounded(0, 24), Some(24));
            assert!(objects.cells(id).is_empty());
            assert!(!objects.opaque(id)[0].is_clear());
        }
    }

    /// What a list's variants hold, by way of itself; the field beside the enum is not in it.
    #[test]
    fn a_layout_says_what_variants_hold() {
        let mut layouts = Layouts::default();
        let field = |kind| Field { offset: 0, kind };
        let float = layouts.add(Layout { name: "f64".to_owned(), size: 8, fields: vec![field(FieldKind::F64)] });
        let list = layouts.add(Layout::default());
        let link = vec![field(FieldKind::Pointer(Some(list)))];
        let link = layouts.add(Layout { name: "Box".to_owned(), size: 8, fields: link });
        let kinds = [FieldKind::Opaque(16), FieldKind::Payload(float), FieldKind::Payload(link), FieldKind::F32];
        layouts.set(list, Layout { name: "List".to_owned(), size: 24, fields: kinds.map(field).to_vec() });
        let request = Request::new(Mode::Reverse, vec![Argument::new("list", Activity::Duplicated, list)], layouts);
        assert_eq!(payload(&request.layouts, list), Kinds::F64.union(Kinds::PTR));
    }
}
