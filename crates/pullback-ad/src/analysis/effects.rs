//! What a function that carries no derivative does to memory that it is given.
//!
//! Such a function is called as it is, beside the shadows of what it is given, of which it knows nothing. It may read
//! everything. If it writes a float, the old tangent or cotangent stays in the shadow; if it writes a pointer, or gives
//! memory back, the shadow no longer fits. Numbers, a counter in a `Cell<usize>` say, have no shadow that is read.
//!
//! Given a module in which the function has a body, and all that it calls as far as that is known, it hands on
//! [`Effects`]. It promises that memory which is not in them holds the same floats and pointers after a call.

use crate::analysis::activity::reached;
use crate::analysis::points_to::objects::{Kinds, ObjId};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::strided::Strided;
use crate::analysis::points_to::{facts::Facts, flow};
use crate::analysis::scope::OnPanic;
use crate::analysis::types::computed::Numbers;
use crate::request::{Activity, Argument, Layout, Layouts, Mode, Request};
use pullback_ir::{Callee, Constant, FuncId, Function, GlobalId, MemoryEffects, Module, Op, OpaqueOp, Type, Value};
use std::collections::{HashMap, HashSet};

/// What a function does to memory that it is given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    /// What may be changed, or handed back to be changed.
    pub changes: Vec<Change>,
    /// Why it carries no derivative.
    pub reason: Reason,
}

/// Why a function carries no derivative.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reason {
    /// The program says so.
    #[default]
    Said,
    /// The standard library runs it unseen, and no attribute says so: what it writes may depend on what it reads.
    Unseen,
    /// It is the standard library's own, and by its nature has none.
    Nature,
}

/// A place that a function may change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The parameter by which it is reached.
    pub param: usize,
    /// Where.
    pub place: Place,
    /// What is done.
    pub deed: Deed,
}

/// Where a function writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// So many bytes that far from where the parameter points to; an unknown number where there is none.
    At(Offsets, Option<u64>),
    /// In what the pointer leads to that lies that far from there.
    Through(Strided, Box<Place>),
    /// Anywhere in it, or behind.
    Anywhere,
}

/// What a function does there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    /// It writes numbers. There may be floats or pointers all the same, which the function does not see.
    Counts,
    /// It writes floats.
    WritesFloats,
    /// It may write pointers, or give the memory back.
    Replaces,
    /// It returns a pointer to it, or leaves one somewhere.
    HandsBack,
    /// It leaves what it reads there where others find it; of a parameter that is no pointer, the number.
    Keeps,
}

/// How a function of which only the signature is known uses a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// It is a number, or a reference to what is kept.
    Keeps,
    /// It reads what is behind the reference.
    Reads,
    /// It may write that: so many bytes, if that is known, and anything behind the pointers in them.
    Writes(Option<u64>),
}

impl Effects {
    /// Those of a function of which nothing is known.
    pub fn anything() -> Effects {
        const MOST_PARAMETERS: usize = 256;
        let change = |param| Change { param, place: Place::Anywhere, deed: Deed::Replaces };
        Effects { changes: (0..MOST_PARAMETERS).map(change).collect(), reason: Reason::Said }
    }

    /// Those of a function that uses its parameters like this, and runs no code of the program's.
    pub fn by_signature(uses: &[Use]) -> Effects {
        let uses = uses.iter().enumerate();
        let changes = uses.flat_map(|(param, use_of)| {
            let change = |place, deed| Change { param, place, deed };
            match use_of {
                Use::Reads => vec![],
                Use::Keeps => vec![change(Place::Anywhere, Deed::Keeps)],
                Use::Writes(None) => vec![change(Place::Anywhere, Deed::WritesFloats)],
                Use::Writes(Some(bytes)) => {
                    let pointers = Strided::between(0, 8, 0, *bytes as i64);
                    vec![
                        change(Place::At(Offsets::zero(), Some(*bytes)), Deed::WritesFloats),
                        change(Place::Through(pointers, Box::new(Place::Anywhere)), Deed::WritesFloats),
                    ]
                }
            }
        });
        Effects { changes: changes.collect(), reason: Reason::Nature }
    }

    /// What `function` does, whose body is in the module. By way of these tables of functions others may do anything to
    /// what is given to them together with one. Of functions without a body there may be [known](Self::by_signature)
    /// what they do.
    pub fn of(
        module: &Module,
        function: FuncId,
        tables: &HashSet<GlobalId>,
        known: &HashMap<FuncId, Effects>,
    ) -> Effects {
        let func = module.func(function);
        if func.is_declaration() {
            return Effects::anything();
        }
        let mut layouts = Layouts::default();
        let layout = layouts.add(Layout::default());
        let argument = |i: usize| Argument::new(format!("{i}"), Activity::Const, layout);
        let request = Request {
            name: func.name.clone(),
            ..Request::new(Mode::Reverse, (0..func.params.len()).map(argument).collect(), layouts)
        };
        let facts = flow::analyse(module, function, &request, OnPanic::Free);
        let mut search = Search { module, facts: &facts, root: function, tables, known, found: Vec::new() };
        for id in &facts.functions {
            search.function(*id);
        }
        // What is returned may be written by the caller.
        facts.returned(function).for_each(|object| search.object(object, None, Deed::HandsBack));
        Effects { changes: search.found, reason: Reason::Said }
    }

    /// Those that are done to what the first argument points to.
    pub fn of_first(mut self) -> Effects {
        self.changes.retain(|change| change.param == 0);
        self
    }

    /// The parameters by which floats or pointers may be changed.
    pub fn changed(&self) -> impl Iterator<Item = usize> + '_ {
        let changed = self.changes.iter().filter(|change| !matches!(change.deed, Deed::Counts | Deed::Keeps));
        changed.map(|change| change.param)
    }

    /// Whether floats and pointers stay as they are, whoever looks.
    pub fn is_harmless(&self) -> bool {
        self.changed().next().is_none()
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// Whether an instruction may do anything to the memory that it is given, and is not looked into. After a function that
/// does not return come clean-ups only, which are; and what is atomic, counts and locks, are numbers.
pub(crate) fn may_do_anything(module: &Module, facts: &Facts, op: &Op) -> bool {
    match op {
        Op::Call(Callee::Direct(callee), ..) => {
            let attrs = &module.func(*callee).attrs;
            !facts.functions.contains(callee) && attrs.memory == MemoryEffects::Any && !attrs.noreturn
        }
        Op::Call(Callee::Indirect(_), ..) => true,
        Op::Opaque(op) => op.writes && !op.is_atomic() && &*op.name != "llvm.trap",
        _ => false,
    }
}

/// Over how many pointers a place is followed: a vector's memory behind a reference in a structure that is borrowed.
const MOST_STEPS: usize = 3;

struct Search<'a> {
    module: &'a Module,
    facts: &'a Facts,
    root: FuncId,
    tables: &'a HashSet<GlobalId>,
    known: &'a HashMap<FuncId, Effects>,
    found: Vec<Change>,
}

impl Search<'_> {
    fn function(&mut self, id: FuncId) {
        let func = self.module.func(id);
        let numbers = Numbers::new(func);
        for op in func.ops() {
            match op {
                Op::Store { ptr, value, align } => {
                    let width = func.ty(*value).size();
                    let deed = self.stored(id, func, &numbers, *ptr, *value, *align);
                    self.change(id, *ptr, *align, Some(width), deed);
                    self.left(id, func, *ptr, *value);
                }
                Op::Copy { dst, len, align: (align, _), .. } | Op::Fill { dst, len, align, .. } => {
                    self.change(id, *dst, *align, func.as_int(*len).map(|n| n as u64), Deed::Replaces);
                }
                Op::Dealloc { ptr, .. } => self.change(id, *ptr, 1, None, Deed::Replaces),
                Op::Call(Callee::Direct(callee), args, _)
                    if self.module.func(*callee).attrs.inactive && !self.facts.functions.contains(callee) =>
                {
                    self.inactive_call(id, func, *callee, args);
                }
                op if may_do_anything(self.module, self.facts, op) => {
                    let (Op::Call(_, given, _) | Op::Opaque(OpaqueOp { args: given, .. })) = op else {
                        unreachable!("only calls and opaque instructions do anything")
                    };
                    self.given(id, func, given);
                }
                _ => {}
            }
        }
    }

    /// A function that carries no derivative does what is known of it, and what the tables do that it is given.
    fn inactive_call(&mut self, id: FuncId, func: &Function, callee: FuncId, args: &[Value]) {
        let is_table = |v: Value| matches!(func.as_const(v), Some(Constant::Global(g)) if self.tables.contains(g));
        let mut given: Vec<Value> = args.windows(2).filter(|w| is_table(w[1])).map(|w| w[0]).collect();
        let changed = self.known.get(&callee).into_iter().flat_map(Effects::changed);
        given.extend(changed.filter_map(|param| args.get(param)));
        self.given(id, func, &given);
    }

    /// What a store does.
    fn stored(&self, id: FuncId, func: &Function, numbers: &Numbers, ptr: Value, value: Value, align: u64) -> Deed {
        match func.ty(value) {
            Type::F32 | Type::F64 => Deed::WritesFloats,
            Type::Int(bits) => {
                let kinds = self.kinds_at(id, ptr, align, func.ty(value).size());
                let number = numbers.contains(func, value) || func.as_const(value).is_some() || *bits < 32;
                match () {
                    () if kinds.contains(Kinds::PTR) => Deed::Replaces,
                    () if kinds.has_float() => Deed::WritesFloats,
                    () if number => Deed::Counts,
                    () => Deed::Replaces,
                }
            }
            _ => Deed::Replaces,
        }
    }

    /// A pointer that is left in memory that is not the function's own leads to what it reaches, whoever comes by it.
    fn left(&mut self, id: FuncId, func: &Function, ptr: Value, value: Value) {
        let origins = |object| self.facts.objects.origins(object);
        let Some(to) = self.facts.object(id, ptr) else { return };
        let is_own = origins(to).local && origins(to).args.is_empty() && !origins(to).statics && !origins(to).foreign;
        if is_own || !matches!(func.ty(value), Type::Ptr | Type::Struct(_)) {
            return;
        }
        for object in self.facts.object(id, value).into_iter().chain(self.facts.field_objects(id, value)) {
            self.object(object, None, Deed::HandsBack);
        }
    }

    /// What has been seen at a place.
    fn kinds_at(&self, id: FuncId, ptr: Value, align: u64, width: u64) -> Kinds {
        let Some((object, at)) = self.facts.target(id, ptr, align) else { return Kinds::NONE };
        let objects = &self.facts.objects;
        objects.touched(object, &at, width).fold(Kinds::NONE, |kinds, cell| kinds.union(objects.kinds(cell.content)))
    }

    /// Something is done to what these values point to, and to all that is behind it.
    fn given(&mut self, id: FuncId, func: &Function, values: &[Value]) {
        for value in values.iter().filter(|v| *func.ty(**v) == Type::Ptr) {
            let Some(object) = self.facts.object(id, *value) else { continue };
            for object in reached(self.facts, object) {
                self.object(object, None, Deed::Replaces);
            }
        }
    }

    /// Something is done at a pointer.
    fn change(&mut self, id: FuncId, ptr: Value, align: u64, width: Option<u64>, deed: Deed) {
        if let Some((object, at)) = self.facts.target(id, ptr, align) {
            self.object(object, Some((at, width)), deed);
        }
    }

    /// Something is done to an object: at a place in it, if that is known.
    fn object(&mut self, object: ObjId, at: Option<(Offsets, Option<u64>)>, deed: Deed) {
        let params = self.module.func(self.root).param_values().to_vec();
        let place = at.map_or(Place::Anywhere, |(offsets, width)| Place::At(offsets, width));
        for (param, value) in params.into_iter().enumerate() {
            let Some(root) = self.facts.object(self.root, value) else { continue };
            // Numbers behind further pointers are of no interest.
            let steps = if deed == Deed::Counts { 0 } else { MOST_STEPS };
            for place in self.ways(root, object, &place, steps) {
                let change = Change { param, place, deed };
                if !self.found.contains(&change) {
                    self.found.push(change);
                }
            }
        }
    }

    /// A place in `object` as it is found from another object, over so many pointers at most.
    fn ways(&self, from: ObjId, object: ObjId, place: &Place, steps: usize) -> Vec<Place> {
        let objects = &self.facts.objects;
        let mut ways: Vec<Place> = (from == object).then(|| place.clone()).into_iter().collect();
        for cell in objects.cells(from).iter().filter(|_| steps > 0) {
            let Some((target, offset)) = objects.pointee(cell.content) else { continue };
            if !reached(self.facts, target).contains(&object) {
                continue;
            }
            // Places are counted from where a pointer points to.
            let is_start = offset == Offsets::from(Strided::exact(0));
            let further = match steps {
                2.. if is_start => self.ways(target, object, place, steps - 1),
                _ => vec![Place::Anywhere],
            };
            ways.extend(further.into_iter().map(|place| Place::Through(cell.at, Box::new(place))));
        }
        ways
    }
}
