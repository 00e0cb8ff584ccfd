//! What the reverse sweep needs of the forward sweep, and how it gets it.
//!
//! The linear operations use values of the augmented primal: coefficients, conditions, shadow addresses, lengths; the
//! reversed control flow uses trip counts and the conditions of branches. Each is *at hand* (a constant, a parameter),
//! *recomputed* from what is at hand, or *kept*: recorded in a slot. A value belongs to the innermost loop around its
//! definition; a kept value is saved once per iteration of that loop. A value that is used outside its loop is seen
//! from there as what it was last: it is got a second time, at the level of its use.
//!
//! To recompute a value needs its operands, which are themselves kept or recomputed. Which values are to be recorded is
//! a minimum cut between those that cannot be recomputed and those that are needed (`cut`); outside of loops there is
//! nothing to decide, a slot there costs nothing to speak of.
//!
//! What is seen from outside its loop may be recomputed there from its operands as they were last. Each way out of the
//! loop runs through the value's definition (it dominates its use), so the last value was made in the last iteration,
//! after its operands.

mod cut;
mod decide;
mod local;
mod max_flow;

pub use decide::Decision;

use crate::schedule::Scheduled;
use crate::schedule::recomputable::Recomputable;
use crate::schedule::walk::Walks;
use crate::session::Form;
use pullback_ir::cfg::live_edges_into;
use pullback_ir::counted::{Affine, Counted, Step, argument};
use pullback_ir::loops::Loops;
use pullback_ir::table::Table;
use pullback_ir::{BinOp, Block, ControlFlow, Function, Loop, MathFn, Op, Type, Value, ValueDef};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A value at the level of a loop; `None` is the function itself.
pub type Key = (Value, Option<Loop>);

/// How the reverse sweep gets a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// It is there: a constant, or a parameter or stack address of the same function.
    AtHand,
    /// From a slot.
    Kept,
    /// By the instruction that made it, on operands got in the same way.
    Recompute,
    /// From the iteration number.
    Counter(Affine),
    /// From the iteration number of the last iteration: one less than this count.
    Last(Affine, Value),
    /// By a load, with this alignment, from the address that the iteration number gives.
    Walk(Affine, u64),
    /// It is another value: a block parameter that is always given the same.
    Same(Value),
}

impl Source {
    /// The values that `value`, which is got in this way, is made from.
    pub fn parts(self, func: &Function, value: Value) -> Vec<Value> {
        let (affine, count) = match self {
            Source::AtHand | Source::Kept => return vec![],
            Source::Recompute => {
                let inst = func.def_inst(value).expect("only results of instructions are recomputed");
                return func.inst(inst).op.operands();
            }
            Source::Same(other) => return vec![other],
            Source::Counter(affine) | Source::Walk(affine, _) => (affine, None),
            Source::Last(affine, count) => (affine, Some(count)),
        };
        let step = match affine.step {
            Step::Constant(_) => None,
            Step::Plus(step) | Step::Minus(step) => Some(step),
        };
        [affine.init].into_iter().chain(step).chain(count).collect()
    }
}

/// A linear program, where the transposes of its operations run, and how they get what they use.
pub struct Planned {
    /// The program, with its schedule.
    pub scheduled: Scheduled,
    /// How values get to the reverse sweep.
    pub plan: Plan,
}

/// The plan of one function.
pub struct Plan {
    sources: HashMap<Key, Source>,
    /// The values to keep, in order.
    pub kept: BTreeSet<Key>,
    /// Blocks whose predecessor follows from a condition.
    pub decisions: HashMap<Block, Decision>,
    /// Values whose cotangents are only dealt with in the reverse of one block, and need no slots.
    pub local: HashSet<Value>,
    /// Loops that the reverse sweep does not enter in a plain way.
    pub not_plain: Vec<Loop>,
    blocks: Table<Value, Option<Block>>,
}

impl Plan {
    /// How a value is got.
    ///
    /// # Panics
    /// If it was not among what is needed: a fault of the engine.
    pub fn source(&self, key: Key) -> Source {
        *self.sources.get(&key).unwrap_or_else(|| panic!("there is no plan for {} at {:?}", key.0, key.1))
    }

    /// Where a value is made; a constant nowhere.
    pub fn block(&self, value: Value) -> Option<Block> {
        self.blocks[value]
    }

    /// The level at which `value` is seen from inside loop `user`.
    pub fn key(&self, loops: &Loops, value: Value, user: Option<Loop>) -> Key {
        (value, self.blocks[value].and_then(|b| common(loops, loops.innermost(b), user)))
    }
}

/// The innermost loop that is around both.
fn common(loops: &Loops, mut a: Option<Loop>, mut b: Option<Loop>) -> Option<Loop> {
    while a != b {
        let depth = |l: Option<Loop>| l.map_or(0, |l| loops.get(l).depth);
        let outwards = |l: Option<Loop>| l.and_then(|l| loops.get(l).parent);
        if depth(a) >= depth(b) {
            a = outwards(a);
        } else {
            b = outwards(b);
        }
    }
    a
}

/// Make the plan.
pub fn plan(scheduled: Scheduled) -> Planned {
    let plan = plan_of(&scheduled);
    Planned { scheduled, plan }
}

fn plan_of(scheduled: &Scheduled) -> Plan {
    let Scheduled { aug, form, flow, .. } = scheduled;
    let ControlFlow { cfg, doms, loops } = flow;
    let counted = Counted::new(&aug.func, cfg, doms, loops);
    let recomputable = Recomputable::new(aug, cfg, *form);
    let mut blocks = Table::new(aug.func.value_bound(), None);
    for value in (0..aug.func.value_bound()).map(Value::from_index) {
        blocks[value] = counted.block(value);
    }
    let plan = Plan {
        sources: HashMap::new(),
        kept: BTreeSet::new(),
        decisions: decide::decisions(scheduled),
        local: local::local(aug, cfg),
        not_plain: decide::not_plain(flow),
        blocks,
    };
    let mut planner = Planner { scheduled, counted, recomputable, plan };
    let needed = planner.needed();
    let recipes = planner.recipes(&needed);
    let kept = cut::choose(&recipes, &needed, |key| planner.weight(*key));
    planner.settle(&needed, &recipes, &kept);
    planner.plan
}

/// The ways to get a value.
pub(crate) enum Recipe {
    /// There is nothing to decide.
    Given(Source),
    /// It has to be kept.
    Keep,
    /// It is kept, or made in this way from these values, with so much work.
    Make { source: Source, from: Vec<Key>, effort: u64 },
}

struct Planner<'a> {
    scheduled: &'a Scheduled,
    counted: Counted<'a>,
    recomputable: Recomputable<'a>,
    plan: Plan,
}

impl Planner<'_> {
    fn func(&self) -> &Function {
        &self.scheduled.aug.func
    }

    fn walks(&self) -> Walks<'_> {
        Walks { func: self.func(), counted: &self.counted, recomputable: &self.recomputable }
    }

    fn key(&self, value: Value, user: Option<Loop>) -> Key {
        self.plan.key(&self.scheduled.flow.loops, value, user)
    }

    /// What the reverse sweep uses.
    fn needed(&self) -> Vec<Key> {
        let mut needed = BTreeSet::new();
        let (cfg, loops) = (&self.scheduled.flow.cfg, &self.scheduled.flow.loops);
        for block in cfg.live() {
            let level = loops.innermost(block);
            let linear = self.scheduled.aug.linear.of_block(self.func(), block);
            needed.extend(linear.flat_map(|(_, linear)| linear.primals()).map(|value| self.key(value, level)));
            needed.extend(self.plan.decisions.get(&block).map(|decision| self.key(decision.on, level)));
        }
        for (id, count) in &self.scheduled.trips {
            needed.insert(self.key(*count, loops.get(*id).parent));
        }
        needed.into_iter().collect()
    }

    /// How to get what is needed, and what that is made from.
    fn recipes(&self, needed: &[Key]) -> HashMap<Key, Recipe> {
        let mut recipes = HashMap::new();
        let mut work = needed.to_vec();
        while let Some(key) = work.pop() {
            if recipes.contains_key(&key) {
                continue;
            }
            let recipe = self.recipe(key);
            if let Recipe::Make { from, .. } = &recipe {
                work.extend(from);
            }
            recipes.insert(key, recipe);
        }
        recipes
    }

    fn recipe(&self, (value, level): Key) -> Recipe {
        if self.at_hand(value) {
            return Recipe::Given(Source::AtHand);
        }
        // Outside of loops a slot costs nothing to speak of in one function, nor does one that is read in the same
        // iteration.
        if level.is_none_or(|id| self.scheduled.joint_loops.loops.contains_key(&id))
            && self.scheduled.form == Form::Whole
        {
            return Recipe::Given(Source::Kept);
        }
        let make = |source: Source, effort: u64| {
            let from = source.parts(self.func(), value).into_iter().map(|v| self.key(v, level)).collect();
            Recipe::Make { source, from, effort }
        };
        if let Some(affine) = self.counted.affine(value) {
            if level == Some(affine.id) {
                return make(Source::Counter(affine), 1);
            }
            return match self.scheduled.trips.get(&affine.id) {
                Some(count) => make(Source::Last(affine, *count), 2),
                None => Recipe::Keep,
            };
        }
        if let Some((walk, align)) = self.walks().walk(value)
            && level == Some(walk.id)
        {
            return make(Source::Walk(walk, align), LOAD);
        }
        if let Some(same) = self.same(value) {
            return make(Source::Same(same), 0);
        }
        let Some(inst) = self.func().def_inst(value) else { return Recipe::Keep };
        let data = self.func().inst(inst);
        let effort = match &data.op {
            Op::Load { .. } if self.recomputable.is_recomputable(inst) => LOAD,
            // With leave to be inexact the same operation may come out differently a second time, and a branch go
            // another way.
            Op::Math(MathFn::FmulAdd, _) => return Recipe::Keep,
            op if op.is_pure() && data.flags.fast_math().0 == 0 => effort(op),
            _ => return Recipe::Keep,
        };
        make(Source::Recompute, effort)
    }

    fn at_hand(&self, value: Value) -> bool {
        match self.func().value(value).def {
            ValueDef::Const(_) => true,
            ValueDef::Param(block, _) if block == self.func().entry() => {
                self.scheduled.form == Form::Whole || Some(value) == self.scheduled.aug.tape
            }
            _ => self.scheduled.form == Form::Whole && self.scheduled.aug.stack.contains(&value),
        }
    }

    /// The value that a block parameter is given by all edges into its block.
    fn same(&self, value: Value) -> Option<Value> {
        let ValueDef::Param(block, position) = self.func().value(value).def else { return None };
        if block == self.func().entry() || self.scheduled.flow.loops.headed_by(block).is_some() {
            return None;
        }
        let edges = live_edges_into(self.func(), &self.scheduled.flow.cfg, block);
        let mut given = edges.into_iter().map(|e| argument(self.func(), e, position));
        let first = given.next()?;
        given.all(|other| other == first).then_some(first)
    }

    /// How often the level of a key runs, compared to the function's own, and what keeping it costs there each time.
    fn weight(&self, (value, level): Key) -> cut::Weight {
        let depth = level.map_or(0, |l| self.scheduled.flow.loops.get(l).depth);
        let ty = self.func().ty(value);
        cut::Weight { depth, bytes: can_keep(ty).then(|| ty.room()) }
    }

    /// Go through what is needed once more, now that it is known what is kept.
    fn settle(&mut self, needed: &[Key], recipes: &HashMap<Key, Recipe>, kept: &BTreeSet<Key>) {
        let mut work = needed.to_vec();
        while let Some(key) = work.pop() {
            if self.plan.sources.contains_key(&key) {
                continue;
            }
            let source = match &recipes[&key] {
                _ if kept.contains(&key) => Source::Kept,
                Recipe::Given(source) => *source,
                Recipe::Keep => Source::Kept,
                Recipe::Make { source, from, .. } => {
                    work.extend(from);
                    *source
                }
            };
            self.plan.sources.insert(key, source);
            if source == Source::Kept {
                self.plan.kept.insert(key);
            }
        }
    }
}

/// What a load costs, where an addition costs 1.
const LOAD: u64 = 2;

/// How much work an instruction is.
fn effort(op: &Op) -> u64 {
    match op {
        Op::Bin(BinOp::FDiv | BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem, ..) => 6,
        Op::Bin(BinOp::FRem, ..) => 20,
        Op::Math(MathFn::Fabs | MathFn::Copysign | MathFn::Fma | MathFn::MinNum | MathFn::MaxNum, _) => 1,
        Op::Math(MathFn::Sqrt, _) => 8,
        Op::Math(..) => 20,
        Op::Opaque(_) => 20,
        _ => 1,
    }
}

/// Whether a type can be kept in a slot.
pub fn can_keep(ty: &Type) -> bool {
    !matches!(ty, Type::Opaque(..))
}
