//! Memory that several pointers may reach though their objects differ.
//!
//! The objects of two arguments are two objects, and for most memory that is right: what is behind `&mut` has one name,
//! and what is behind `&` is not written while it is lent. Cells are the exception: two references to one
//! `Cell`, or two clones of an `Rc<RefCell<…>>`, are two names of memory that is written. So all memory that can hold a
//! cell is one *region*: a write to one of its objects may be a write to each of them. What is reached through a cell's
//! pointers is in it, too, since these may have been put there by any name; and so is all memory of unknown
//! types: what a `Const` argument of any type leads to, statics, and memory made by functions without a body.

use crate::analysis::points_to::objects::{ObjId, Objects, Property};
use std::collections::{HashMap, HashSet};

/// Which objects are one region.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Regions {
    shared: HashSet<ObjId>,
    /// Those of which all may be written by other names, and not only what layouts say to be in cells.
    whole: HashSet<ObjId>,
    /// The object that stands for all of them.
    first: Option<ObjId>,
}

impl Regions {
    /// The object that stands for all memory in which a write to `object` may be seen: itself, or one for all that may
    /// be written by other names.
    pub fn region(&self, object: ObjId) -> ObjId {
        self.first.filter(|_| self.is_shared(object)).unwrap_or(object)
    }

    /// Whether an object may be written by other names than its own.
    pub fn is_shared(&self, object: ObjId) -> bool {
        self.shared.contains(&object)
    }

    /// Whether that holds for all of an object, and not only for what layouts say to be in cells.
    pub fn is_wholly_shared(&self, object: ObjId) -> bool {
        self.whole.contains(&object)
    }

    /// The objects that may be written by other names.
    pub fn shared(&self) -> &HashSet<ObjId> {
        &self.shared
    }
}

/// How much of an object may have other names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    /// Nothing, but what pointers in its cells lead to.
    Alone,
    /// The bytes that layouts say to be in cells.
    Cells,
    /// All of it.
    Whole,
}

/// Find the objects that may be reached by other names and written by them.
pub(crate) fn regions(objects: &Objects) -> Regions {
    let mut found: HashMap<ObjId, Extent> = HashMap::new();
    let mut work: Vec<(ObjId, Extent)> = Vec::new();
    for object in objects.all() {
        let origins = objects.origins(object);
        if origins.is_untyped() {
            work.push((object, Extent::Whole));
        } else if objects.is_marked(object, Property::Shared) {
            work.push((object, Extent::Cells));
        } else if objects.is_marked(object, Property::Alone) {
            work.push((object, Extent::Alone));
        }
    }
    while let Some((object, extent)) = work.pop() {
        if found.get(&object).is_some_and(|known| *known >= extent) {
            continue;
        }
        found.insert(object, extent);
        for cell in objects.cells(object) {
            let marked = |property| objects.some_marked(object, property, &cell.at.into(), cell.width);
            let in_cell = || marked(Property::Shared) || marked(Property::Alone);
            if let Some((target, _)) = objects.pointee(cell.content)
                && (extent == Extent::Whole || in_cell())
            {
                work.push((target, Extent::Whole));
            }
        }
    }
    // Constants are never written.
    let constant = |object: &ObjId| {
        let origins = objects.origins(*object);
        origins.constants && !(origins.local || origins.statics || origins.foreign) && origins.args.is_empty()
    };
    let above = |least: Extent| {
        let found = found.iter().filter(|(object, extent)| **extent > least && !constant(object));
        found.map(|(object, _)| *object).collect::<HashSet<ObjId>>()
    };
    let (shared, whole) = (above(Extent::Alone), above(Extent::Cells));
    Regions { first: shared.iter().min().copied(), shared, whole }
}
