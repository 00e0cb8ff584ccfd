//! Floats that are pointers at times, and pointers that are floats.
//!
//! The payload of an enum is a float in one variant and a pointer in another. The optimiser may move it as either,
//! from one place to the next, and no instruction says so where it stands in between:
//!
//! ```text
//! store v1, v0                 ; a pointer
//! v2 = load f64 v1             ; may be one: a pointer lies there
//! store v3, v2                 ; where nothing but floats is seen
//! v4 = load f64 v3
//! store v5, v4
//! v6 = load ptr v5             ; is one
//! ```
//! A value is mistyped if it *may be* something else than its type says, by all that leads to it, and is *wanted* as
//! that, by all that it leads to. Both are followed through values and memory, and into clean-ups, which are given what
//! the optimiser holds where a function may panic. Where a layout says what lies there, it is that; and a float that is
//! given to another function, or returned by one, is a float: no pass that normalises a program passes a value there by
//! another type than the program.
//!
//! Given [`Facts`], it finds these values. [`words`](crate::prepare::words) makes them integers.

use crate::analysis::follow::{Follow, Live, Marks, Way, follow};
use crate::analysis::points_to::facts::{Facts, Slot};
use crate::analysis::points_to::objects::{Cell, ContentId, Kinds, ObjId};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::types::evidence::behind_variants;
use pullback_ir::cfg::Cfg;
use pullback_ir::{CastOp, FuncId, Function, InstData, Module, Op, Type, Value};
use std::collections::{HashMap, HashSet};

/// The mistyped values of each function that has some.
pub type Mistyped = HashMap<FuncId, HashSet<Value>>;

/// Find them in the functions of `facts`.
pub fn find(module: &Module, facts: &Facts) -> Mistyped {
    let reachable = |id: &FuncId| (*id, Cfg::new(module.func(*id)).reverse_postorder().to_vec());
    let live: Vec<_> = facts.functions.iter().map(reachable).collect();
    let marks = Marks::new(Doubt::with);
    let behind = behind_variants(&facts.objects);
    let mut search = Search { module, facts, marks, contents: HashMap::new(), behind };
    follow(module, &[], &live, &mut search);
    search.found(&live)
}

/// What is known of a value, or of what is moved as a value of one type.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Doubt {
    /// It may be something else than its type says.
    may_be: bool,
    /// It may become that again.
    wanted: bool,
}

impl Doubt {
    const NONE: Doubt = Doubt { may_be: false, wanted: false };
    const MAY_BE: Doubt = Doubt { may_be: true, ..Doubt::NONE };
    const WANTED: Doubt = Doubt { wanted: true, ..Doubt::NONE };

    fn with(self, other: Doubt) -> Doubt {
        Doubt { may_be: self.may_be || other.may_be, wanted: self.wanted || other.wanted }
    }
}

struct Search<'a> {
    module: &'a Module,
    facts: &'a Facts,
    marks: Marks<Doubt>,
    /// What is moved there and from there, as a value of this type.
    contents: HashMap<(ContentId, Type), Doubt>,
    /// Memory of which no layout says anything.
    behind: HashSet<ObjId>,
}

impl Follow for Search<'_> {
    fn pass(&mut self, id: FuncId, from: Value, to: Slot, way: Way) {
        if let (Way::Edge(..), Some(param)) = (way, to.1) {
            self.copied((id, from), (to.0, param));
        }
    }

    fn goes_on(&mut self) -> bool {
        std::mem::take(&mut self.marks.changed)
    }

    fn instruction(&mut self, id: FuncId, func: &Function, data: &InstData) {
        match (&data.op, data.result) {
            (Op::Store { ptr, value, align }, _) => {
                let there = self.access(id, *ptr, *align, *value, |doubt| Doubt { wanted: false, ..doubt });
                self.add(id, *value, Doubt { may_be: false, ..there });
            }
            (Op::Load { ptr, align }, Some(result)) => {
                let there = self.access(id, *ptr, *align, result, |doubt| Doubt { may_be: false, ..doubt });
                self.add(id, result, Doubt { wanted: false, ..there });
            }
            (Op::Cast(CastOp::Bitcast | CastOp::IntToPtr | CastOp::PtrToInt, from), Some(result)) => {
                if func.ty(*from).is_int() && self.facts.kinds(id, *from).contains(other(func.ty(result))) {
                    self.add(id, result, Doubt::MAY_BE);
                } else if func.ty(result).is_int() && self.facts.kinds(id, result).contains(other(func.ty(*from))) {
                    self.add(id, *from, Doubt::WANTED);
                }
            }
            (Op::Select(_, a, b), Some(result)) => {
                [*a, *b].into_iter().for_each(|from| self.copied((id, from), (id, result)));
            }
            (Op::Freeze(from), Some(result)) => self.copied((id, *from), (id, result)),
            _ => {}
        }
        if let Some(cleanup) = data.op.cleanup().filter(|cleanup| self.facts.functions.contains(&cleanup.func)) {
            let params = self.module.func(cleanup.func).param_values();
            for (arg, param) in cleanup.args.iter().zip(params) {
                self.copied((id, *arg), (cleanup.func, *param));
            }
        }
    }
}

impl Search<'_> {
    fn doubt(&self, id: FuncId, value: Value) -> Doubt {
        self.marks.get((id, Some(value))).unwrap_or_default()
    }

    fn add(&mut self, id: FuncId, value: Value, doubt: Doubt) {
        if doubt != Doubt::NONE && is_typed(self.module.func(id).ty(value)) {
            self.marks.add((id, Some(value)), doubt);
        }
    }

    /// What a value may be, its copies may be; as what those are wanted, it is.
    fn copied(&mut self, from: (FuncId, Value), to: (FuncId, Value)) {
        let (source, copy) = (self.doubt(from.0, from.1), self.doubt(to.0, to.1));
        self.add(to.0, to.1, Doubt { wanted: false, ..source });
        self.add(from.0, from.1, Doubt { may_be: false, ..copy });
    }

    /// A value is stored or loaded. Of what is known of it, what `says` leaves is known of its place, too; this is what
    /// is known there.
    fn access(&mut self, id: FuncId, ptr: Value, align: u64, value: Value, says: fn(Doubt) -> Doubt) -> Doubt {
        let ty = self.module.func(id).ty(value);
        let (true, Some((object, at))) = (is_typed(ty), self.facts.target(id, ptr, align)) else { return Doubt::NONE };
        let mut all = Doubt::NONE;
        if self.holds(object, &at, other(ty)) {
            all = Doubt { may_be: true, wanted: true };
        }
        let (said, objects) = (says(self.doubt(id, value)), &self.facts.objects);
        let cells = objects.touched(object, &at, 8).filter(|cell| self.is_untold(object, cell));
        let contents: Vec<ContentId> = cells.map(|cell| objects.find_content(cell.content)).collect();
        for content in contents {
            let place = (content, ty.clone());
            let known = self.contents.get(&place).copied().unwrap_or_default();
            let new = known.with(said);
            if known != new {
                self.contents.insert(place, new);
                self.marks.changed = true;
            }
            all = all.with(new);
        }
        all
    }

    /// Whether a word of memory may hold all of `kinds`.
    fn holds(&self, object: ObjId, at: &Offsets, kinds: Kinds) -> bool {
        let objects = &self.facts.objects;
        self.behind.contains(&objects.find(object))
            || objects.touched(object, at, 8).any(|c| c.width == 8 && objects.kinds(c.content).contains(kinds))
            || objects.touched_opaque(object, at, 8).any(|opaque| opaque.kinds.contains(Kinds::F64.union(Kinds::PTR)))
    }

    /// Whether no layout says of a word of memory what lies there.
    fn is_untold(&self, object: ObjId, cell: &Cell) -> bool {
        let objects = &self.facts.objects;
        let is_told = || {
            let origins = objects.origins(object);
            let is_given = !origins.args.is_empty() && !origins.local && !origins.is_untyped();
            let is_in_variant = || objects.touched_opaque(object, &cell.at.into(), 8).next().is_some();
            is_given && !self.behind.contains(&objects.find(object)) && !is_in_variant()
        };
        cell.width == 8 && !objects.is_declared(cell.content) && !is_told()
    }

    /// The values that may be something else, and are wanted as that.
    fn found(&self, live: &Live) -> Mistyped {
        let mut all = Mistyped::new();
        for (id, blocks) in live {
            let func = self.module.func(*id);
            let results = func.insts_in(blocks).filter_map(|data| data.result);
            let params = blocks.iter().flat_map(|block| func.block(*block).params.iter().copied());
            let is_mistyped = |value: &Value| self.doubt(*id, *value) == Doubt { may_be: true, wanted: true };
            let found: HashSet<Value> = results.chain(params).filter(is_mistyped).collect();
            if !found.is_empty() {
                all.insert(*id, found);
            }
        }
        all
    }
}

/// Whether a value of this type says that it is a float or a pointer, of the size of the other.
fn is_typed(ty: &Type) -> bool {
    matches!(ty, Type::F64 | Type::Ptr)
}

/// What a value of this type should not be.
fn other(ty: &Type) -> Kinds {
    if *ty == Type::F64 { Kinds::PTR } else { Kinds::F64 }
}
