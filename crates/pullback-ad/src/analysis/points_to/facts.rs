//! What points-to analysis hands on: for each pointer its object and offsets, for each integer what it may carry.

use crate::analysis::points_to::objects::{ContentId, Kinds, ObjId, Objects};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::regions::Regions;
use crate::analysis::scope::OnPanic;
use pullback_ir::{FuncId, GlobalId, Inst, Type, Value};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// What is known of a value, or of what a function returns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// What a pointer reaches.
    pub(super) object: Option<ObjId>,
    /// Where in it; or between which numbers an integer lies.
    pub(super) offset: Option<Offsets>,
    /// What an integer carries.
    pub(crate) content: Option<ContentId>,
    /// What the pointers in an aggregate reach, by [leaf](Type::leaves).
    pub(super) fields: BTreeMap<usize, (ObjId, Offsets)>,
}

/// What is known of one function.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    /// By value index.
    pub(super) values: Vec<Known>,
    pub(super) returned: Known,
    /// The object an allocation instruction makes, by instruction.
    pub(super) site: HashMap<Inst, ObjId>,
    /// Integers that are passed on as what they carry.
    pub(super) passed_on: HashSet<Value>,
}

/// A value of a function, or what the function returns (`None`).
pub(crate) type Slot = (FuncId, Option<Value>);

/// What is known of memory and pointers in a group of functions.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The objects and their cells.
    pub objects: Objects,
    pub(super) values: HashMap<FuncId, Values>,
    pub(super) globals: HashMap<GlobalId, ObjId>,
    /// What lies on a tape, by site.
    pub(super) sites: HashMap<i64, ObjId>,
    /// The sites at which something is put there.
    pub(super) pushed: HashSet<i64>,
    /// The functions looked at, primal first.
    pub functions: Vec<FuncId>,
    /// Those of them that take part in the derivative: the others are only called on the way out of a panic.
    pub returning: Vec<FuncId>,
    /// Whether what is done on the way out of a panic was looked at.
    pub on_panic: OnPanic,
    /// Which objects may be written by other names than their own.
    pub regions: Rc<Regions>,
}

impl Facts {
    fn known(&self, func: FuncId, value: Value) -> Option<&Known> {
        self.values.get(&func)?.values.get(value.index())
    }

    /// What is known of a slot, to add to.
    pub(crate) fn slot(&mut self, (func, value): Slot) -> &mut Known {
        let values = self.values.get_mut(&func).expect("every function of the group has a table");
        match value {
            Some(value) => &mut values.values[value.index()],
            None => &mut values.returned,
        }
    }

    /// A pointer may reach `object`, somewhere.
    pub(super) fn set_object(&mut self, slot: Slot, object: ObjId) {
        match self.slot(slot).object {
            None => {
                self.slot(slot).object = Some(object);
                self.objects.note_change();
            }
            Some(old) => self.objects.unify(old, object),
        }
    }

    /// A pointer may be there in its object, or an integer one of these.
    pub(super) fn set_offset(&mut self, slot: Slot, offset: impl Into<Offsets>) {
        let (offset, coarseness) = (offset.into(), self.objects.coarseness);
        let known = &mut self.slot(slot).offset;
        let new = known.as_ref().map_or(offset.clone(), |old| old.grown(&offset, coarseness));
        if known.as_ref() != Some(&new) {
            *known = Some(new);
            self.objects.note_change();
        }
    }

    /// A pointer may reach `object` there.
    pub(super) fn reach(&mut self, slot: Slot, object: ObjId, offset: impl Into<Offsets>) {
        self.set_object(slot, object);
        self.set_offset(slot, offset);
    }

    /// An integer may carry this.
    pub(super) fn set_content(&mut self, slot: Slot, content: ContentId) {
        match self.slot(slot).content {
            None => {
                self.slot(slot).content = Some(content);
                self.objects.note_change();
            }
            Some(old) => self.objects.unify_contents(old, content),
        }
    }

    /// The pointer in leaf `i` of an aggregate may reach `object` there.
    pub(super) fn set_field(&mut self, slot: Slot, i: usize, (object, offset): (ObjId, Offsets)) {
        let old = self.slot(slot).fields.get(&i).cloned();
        let new = match &old {
            None => (object, offset),
            Some((first, at)) => {
                self.objects.unify(*first, object);
                (*first, at.grown(&offset, self.objects.coarseness))
            }
        };
        if old.as_ref() != Some(&new) {
            self.slot(slot).fields.insert(i, new);
            self.objects.note_change();
        }
    }

    /// The object a pointer reaches, or an integer that carries a pointer.
    pub fn object(&self, func: FuncId, value: Value) -> Option<ObjId> {
        self.known(func, value)?.object.map(|object| self.objects.find(object))
    }

    /// Whether something is popped from a tape that was never pushed: nothing would be known of it.
    pub fn pops_nothing(&self) -> bool {
        self.sites.keys().any(|site| !self.pushed.contains(site))
    }

    /// At which offsets of its object a pointer may be.
    pub fn offset(&self, func: FuncId, value: Value) -> Offsets {
        self.known(func, value).and_then(|known| known.offset.clone()).unwrap_or_else(Offsets::any)
    }

    /// At which offsets of its object an access of known alignment may be. Objects start at the alignment of what is in
    /// them.
    pub fn place(&self, func: FuncId, ptr: Value, align: u64) -> Offsets {
        self.offset(func, ptr).aligned(align)
    }

    /// The object that an access of known alignment reaches, and where it may be in it.
    pub fn target(&self, func: FuncId, ptr: Value, align: u64) -> Option<(ObjId, Offsets)> {
        Some((self.object(func, ptr)?, self.place(func, ptr, align)))
    }

    /// The content of an integer that may carry something.
    pub fn content(&self, func: FuncId, value: Value) -> Option<ContentId> {
        self.known(func, value)?.content
    }

    /// What an integer may carry.
    pub fn kinds(&self, func: FuncId, value: Value) -> Kinds {
        self.content(func, value).map_or(Kinds::NONE, |content| self.objects.kinds(content))
    }

    /// The object that an integer reaches where it carries a pointer.
    pub fn carried_object(&self, func: FuncId, value: Value) -> Option<ObjId> {
        self.objects.pointee(self.content(func, value)?).map(|(object, _)| object)
    }

    /// Whether an integer is passed on as the bits of a float or a pointer: a *word*. It may be one of several.
    pub fn is_word(&self, func: FuncId, ty: &Type, value: Value) -> bool {
        let kinds = self.kinds(func, value);
        let holds = match ty {
            Type::Int(64) => kinds.contains(Kinds::F64) || kinds.contains(Kinds::PTR),
            Type::Int(32) => kinds.contains(Kinds::F32),
            _ => false,
        };
        holds && self.is_passed_on(func, value)
    }

    /// Whether an integer is passed on as what it carries, and not only computed with.
    pub fn is_passed_on(&self, func: FuncId, value: Value) -> bool {
        self.values[&func].passed_on.contains(&value)
    }

    /// The object that a function's returned integer reaches where it carries a pointer.
    pub fn returned_word(&self, func: FuncId) -> Option<ObjId> {
        self.objects.pointee(self.values.get(&func)?.returned.content?).map(|(object, _)| object)
    }

    /// The objects that the pointers in an aggregate reach.
    pub fn field_objects(&self, func: FuncId, value: Value) -> impl Iterator<Item = ObjId> + '_ {
        let fields = self.known(func, value).into_iter().flat_map(|known| known.fields.values());
        fields.map(|(object, _)| self.objects.find(*object))
    }

    /// The objects that a function's returned pointer, or the pointers in its returned aggregate, reach.
    pub fn returned(&self, func: FuncId) -> impl Iterator<Item = ObjId> + '_ {
        let returned = self.values.get(&func).map(|values| &values.returned).into_iter();
        let objects = returned.flat_map(|known| known.object.iter().chain(known.fields.values().map(|(o, _)| o)));
        objects.map(|object| self.objects.find(*object))
    }
}

/// Whether an integer type is wide enough to carry a float's or pointer's bits.
pub fn may_carry(ty: &Type) -> bool {
    matches!(ty, Type::Int(32 | 64))
}

/// What a value of this type is evidence of.
pub fn kind_of(ty: &Type) -> Kinds {
    match ty {
        Type::F32 => Kinds::F32,
        Type::F64 => Kinds::F64,
        Type::Ptr => Kinds::PTR,
        _ => Kinds::NONE,
    }
}
