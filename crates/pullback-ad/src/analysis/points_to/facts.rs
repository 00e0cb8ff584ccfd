//! What points-to analysis hands on: for each pointer its object and offsets, for each integer what it may carry.

use crate::analysis::points_to::objects::{ContentId, Kinds, ObjId, Objects};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::regions::Regions;
use crate::analysis::scope::OnPanic;
use pullback_ir::Value;
use pullback_ir::{FuncId, GlobalId, Inst, Type};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// What is known of one function's values, by value index.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub(super) object: Vec<Option<ObjId>>,
    pub(super) offset: Vec<Option<Offsets>>,
    pub(super) content: Vec<Option<ContentId>>,
    /// The object an allocation instruction makes, by instruction.
    pub(super) site: HashMap<Inst, ObjId>,
    /// What the pointers in aggregates reach, by value and [leaf](Type::leaves).
    pub(super) fields: HashMap<(Value, u32), (ObjId, Offsets)>,
    pub(super) ret: Option<(ObjId, Offsets)>,
    /// What a returned integer carries.
    pub(super) ret_content: Option<ContentId>,
    /// Integers that are passed on as what they carry.
    pub(super) passed_on: HashSet<Value>,
    pub(super) ret_fields: HashMap<u32, (ObjId, Offsets)>,
}

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
    /// The object a pointer reaches, or an integer that carries a pointer.
    pub fn object(&self, func: FuncId, value: Value) -> Option<ObjId> {
        self.values.get(&func)?.object.get(value.index()).copied().flatten().map(|o| self.objects.find(o))
    }

    /// Whether something is popped from a tape that nobody has pushed: nothing would be known of it.
    pub fn pops_nothing(&self) -> bool {
        self.sites.keys().any(|site| !self.pushed.contains(site))
    }

    /// At which offsets of its object a pointer may be.
    pub fn offset(&self, func: FuncId, value: Value) -> Offsets {
        self.values[&func].offset.get(value.index()).cloned().flatten().unwrap_or_else(Offsets::any)
    }

    /// At which offsets of its object an access of known alignment may be. Objects start at the alignment of what is in
    /// them.
    pub fn place(&self, func: FuncId, ptr: Value, align: u64) -> Offsets {
        self.offset(func, ptr).aligned(align)
    }

    /// The content of an integer that may carry something.
    pub fn content(&self, func: FuncId, value: Value) -> Option<ContentId> {
        self.values.get(&func)?.content.get(value.index()).copied().flatten()
    }

    /// What an integer may carry.
    pub fn kinds(&self, func: FuncId, value: Value) -> Kinds {
        self.content(func, value).map_or(Kinds::NONE, |content| self.objects.kinds(content))
    }

    /// The content of the integer that a function returns.
    pub(crate) fn returned_content(&self, func: FuncId) -> Option<ContentId> {
        self.values.get(&func)?.ret_content
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
        self.objects.pointee(self.returned_content(func)?).map(|(object, _)| object)
    }

    /// The objects that the pointers in an aggregate reach.
    pub fn field_objects(&self, func: FuncId, value: Value) -> impl Iterator<Item = ObjId> + '_ {
        let fields = self.values.get(&func).into_iter().flat_map(|v| &v.fields);
        fields.filter(move |((v, _), _)| *v == value).map(|(_, (o, _))| self.objects.find(*o))
    }

    /// The objects that a function's returned pointer, or the pointers in its returned aggregate, reach.
    pub fn returned(&self, func: FuncId) -> impl Iterator<Item = ObjId> + '_ {
        let values = self.values.get(&func).into_iter();
        values.flat_map(|v| v.ret.iter().chain(v.ret_fields.values())).map(|(o, _)| self.objects.find(*o))
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
