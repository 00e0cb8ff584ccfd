//! Which memory the loads and stores of a finished derivative touch, for the optimiser that comes after us.
//!
//! Primal memory, its shadow and the tape never overlap, and different objects do not either. LLVM cannot know: to it
//! they are pointers out of nowhere. The classes of pointers are found from where pointers come from: parameters, loads
//! from memory of a known class, allocations, the tape; they pass through additions, selections, block parameters and
//! slots. A pointer that may be of two classes, or that comes from elsewhere, has none.

use crate::analysis::points_to::objects::ObjId;
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::regions::Regions;
use crate::request::{Activity, Request};
use crate::runtime::Runtime;
use pullback_ir::{AliasClass, Callee, CastOp, Constant, Function, Inst, Op, Type, Value, ValueDef};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Below this there is no memory.
const LOWEST_ADDRESS: i128 = 4096;

/// What a pointer points into.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Class {
    Tape,
    Primal(ObjId),
    Shadow(ObjId),
    /// Anything.
    Any,
}

/// What is known of a pointer that was read back from the tape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It is what this value was.
    Same(Value),
    /// It points into the tape.
    Tape,
}

/// Where the pointers of a derivative come from.
pub struct Pointers<'a> {
    /// Which objects may have other names.
    pub regions: &'a Regions,
    /// The objects of its augmented primal's pointers.
    pub places: &'a HashMap<Value, (ObjId, Offsets)>,
    /// The pointers that were read back from the tape.
    pub origins: &'a HashMap<Value, Origin>,
}

impl Pointers<'_> {
    /// The class of a pointer whose object is that of an augmented primal's pointer.
    fn placed(&self, pointer: Value, class: fn(ObjId) -> Class) -> Class {
        match self.places.get(&pointer) {
            Some((object, _)) if !self.regions.is_shared(*object) => class(*object),
            _ => Class::Any,
        }
    }
}

/// Set the classes of a reverse-mode derivative.
pub fn classify(func: &mut Function, request: &Request, runtime: Runtime, pointers: &Pointers) {
    let Some(mut flow) = Flow::new(func, request, runtime, pointers) else { return };
    while flow.pass() {}
    let mut found: HashMap<Inst, Class> = HashMap::new();
    for inst in func.insts() {
        if let Op::Load { ptr, .. } | Op::Store { ptr, .. } = func.inst(inst).op
            && let Some(class) = flow.classes.get(&ptr).filter(|c| **c != Class::Any)
        {
            found.insert(inst, *class);
        }
    }
    let all: Vec<Class> = found.values().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let number = |class: &Class| all.binary_search(class).expect("it is among them") as u32;
    func.set_alias_classes(found.iter().map(|(inst, class)| (*inst, AliasClass(number(class)))).collect());
}

struct Flow<'a> {
    func: &'a Function,
    runtime: Runtime,
    pointers: &'a Pointers<'a>,
    /// What is known of each pointer; nothing yet is nothing at all.
    classes: HashMap<Value, Class>,
    /// What the pointers are that lie in a slot.
    slots: HashMap<Value, Option<Class>>,
    changed: bool,
}

impl<'a> Flow<'a> {
    /// What the parameters say; `None` if they are not those of the request.
    fn new(func: &'a Function, request: &Request, runtime: Runtime, pointers: &'a Pointers) -> Option<Self> {
        let mut classes = HashMap::new();
        let mut params = func.param_values().iter();
        classes.insert(*params.next()?, Class::Any);
        for arg in &request.args {
            let shadows = if arg.activity == Activity::Const { 0 } else { request.width };
            for direction in 0..=shadows {
                let param = params.next()?;
                let class = if direction == 0 { Class::Primal } else { Class::Shadow };
                classes.insert(*param, pointers.placed(*param, class));
            }
        }
        if params.next().is_some() {
            return None;
        }
        let slots = slots(func).into_iter().map(|slot| (slot, None)).collect();
        Some(Flow { func, runtime, pointers, classes, slots, changed: false })
    }

    /// Go through the function once; whether anything was new.
    fn pass(&mut self) -> bool {
        self.changed = false;
        let func = self.func;
        for block in func.blocks() {
            for inst in &func.block(block).insts {
                let data = func.inst(*inst);
                if let Op::Store { ptr, value, .. } = data.op
                    && *func.ty(value) == Type::Ptr
                    && let Some(class) = self.class(value)
                    && let Some(content) = self.slots.get_mut(&ptr)
                {
                    let new = join(*content, class);
                    self.changed |= *content != Some(new);
                    *content = Some(new);
                }
                if let Some(result) = data.result.filter(|r| *func.ty(*r) == Type::Ptr)
                    && let Some(class) = self.result(&data.op, result)
                {
                    self.meet(result, class);
                }
            }
            for target in func.block(block).term.targets() {
                for (param, arg) in func.block(target.block).params.iter().zip(&target.args) {
                    if *func.ty(*param) == Type::Ptr
                        && let Some(class) = self.class(*arg)
                    {
                        self.meet(*param, class);
                    }
                }
            }
        }
        self.changed
    }

    fn meet(&mut self, value: Value, class: Class) {
        let old = self.classes.get(&value).copied();
        let new = join(old, class);
        self.changed |= old != Some(new);
        self.classes.insert(value, new);
    }

    fn class(&self, value: Value) -> Option<Class> {
        match &self.func.value(value).def {
            // No program reads or writes there.
            ValueDef::Const(Constant::Null | Constant::Undef | Constant::Poison) => None,
            ValueDef::Const(_) => Some(Class::Any),
            _ => self.classes.get(&value).copied(),
        }
    }

    /// The class of the pointer that an instruction makes; `None`: not known yet.
    fn result(&self, op: &Op, result: Value) -> Option<Class> {
        let placed = |class| self.pointers.placed(result, class);
        match self.pointers.origins.get(&result) {
            Some(Origin::Same(value)) => return self.class(*value),
            Some(Origin::Tape) => return Some(Class::Tape),
            None => {}
        }
        match op {
            Op::PtrAdd(base, _) | Op::Freeze(base) => self.class(*base),
            // The address of an empty `Vec`: the program neither reads nor writes there.
            Op::Cast(CastOp::IntToPtr, address)
                if self.func.as_int(*address).is_some_and(|a| (0..LOWEST_ADDRESS).contains(&a)) =>
            {
                None
            }
            Op::Select(_, a, b) => match (self.class(*a), self.class(*b)) {
                (Some(a), Some(b)) => Some(join(Some(a), b)),
                (a, b) => a.or(b),
            },
            Op::Load { ptr, .. } => match self.slots.get(ptr) {
                Some(content) => *content,
                // Memory holds pointers to memory, its shadow their shadows.
                None => Some(match self.class(*ptr)? {
                    Class::Primal(_) => placed(Class::Primal),
                    Class::Shadow(_) => placed(Class::Shadow),
                    Class::Tape | Class::Any => Class::Any,
                }),
            },
            Op::Alloc { .. } => Some(placed(Class::Primal)),
            Op::Call(Callee::Direct(callee), ..)
                if [self.runtime.push.func, self.runtime.pop.func].contains(callee) =>
            {
                Some(Class::Tape)
            }
            Op::Call(Callee::Direct(callee), ..) if *callee == self.runtime.shadow_alloc => Some(placed(Class::Shadow)),
            // Memory of an inner tape, and its shadow: no other memory.
            Op::Call(Callee::Direct(callee), args, _) if *callee == self.runtime.tape_keep => {
                Some(if self.func.as_int(args[2]) == Some(0) { placed(Class::Primal) } else { Class::Any })
            }
            _ => Some(Class::Any),
        }
    }
}

fn join(a: Option<Class>, b: Class) -> Class {
    if a.is_none_or(|a| a == b) { b } else { Class::Any }
}

/// The allocas that are only loaded from and stored to as a whole.
fn slots(func: &Function) -> HashSet<Value> {
    let mut slots = HashSet::new();
    let mut others = HashSet::new();
    for block in func.blocks() {
        for inst in &func.block(block).insts {
            let data = func.inst(*inst);
            match &data.op {
                Op::Alloca { .. } => slots.extend(data.result),
                Op::Load { .. } => {}
                Op::Store { value, .. } => {
                    others.insert(*value);
                }
                op => others.extend(op.operands()),
            }
        }
        let term = &func.block(block).term;
        others.extend(term.operand());
        others.extend(term.targets().iter().flat_map(|t| t.args.iter().copied()));
    }
    slots.retain(|slot| !others.contains(slot));
    slots
}
