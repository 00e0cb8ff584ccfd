//! What the reverse sweep needs of the forward sweep, and how it gets it.
//!
//! The linear operations use values of the augmented primal: coefficients, conditions, shadow addresses, lengths. Each is
//! *at hand* (a constant, a parameter), or *computed again* from what is at hand, or *kept* in a slot. A value belongs to
//! the innermost loop around its definition; a kept value is saved once per iteration of that loop. A value that is used
//! outside its loop is kept a second time, at the level of its use.
//!
//! A load may be done again if nothing overwrites its place between the load and the end of the forward sweep.

use super::augment::Augmented;
use super::linear::{Coefficient, Linear};
use super::session::Form;
use crate::analysis::counted::{self, Affine};
use crate::analysis::objects::ObjId;
use crate::analysis::offsets::Offsets;
use pullback_ir::cfg::Cfg;
use pullback_ir::loops::Loops;
use pullback_ir::{BinOp, Block, Callee, Function, Inst, Loop, MathFn, Op, Type, Value, ValueDef};
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
    Again,
    /// From the iteration number.
    Counter(Affine),
}

/// The plan of one function.
pub struct Plan {
    sources: HashMap<Key, Source>,
    /// The values to keep, in order.
    pub kept: BTreeSet<Key>,
    blocks: HashMap<Value, Block>,
}

impl Plan {
    /// How a value is got where it is used at the level of `block`.
    pub fn source(&self, key: Key) -> Source {
        self.sources.get(&key).copied().unwrap_or(Source::AtHand)
    }

    /// The level at which `value` is seen from inside loop `user`.
    pub fn key(&self, loops: &Loops, value: Value, user: Option<Loop>) -> Key {
        (value, self.blocks.get(&value).and_then(|b| common(loops, loops.innermost(*b), user)))
    }
}

/// The innermost loop that is around both.
fn common(loops: &Loops, mut a: Option<Loop>, b: Option<Loop>) -> Option<Loop> {
    let around_b: Vec<Loop> = std::iter::successors(b, |l| loops.get(*l).parent).collect();
    while let Some(l) = a {
        if around_b.contains(&l) {
            return Some(l);
        }
        a = loops.get(l).parent;
    }
    None
}

/// More work than this is not repeated to save a slot. A multiplication counts 1, a load 2.
const MOST_WORK: u32 = 12;

/// Make the plan.
pub fn plan(aug: &Augmented, cfg: &Cfg, loops: &Loops, form: Form) -> Plan {
    let mut blocks = HashMap::new();
    for block in cfg.reverse_postorder() {
        let data = aug.func.block(*block);
        blocks.extend(data.params.iter().map(|p| (*p, *block)));
        blocks.extend(data.insts.iter().filter_map(|i| aug.func.inst(*i).result).map(|v| (v, *block)));
    }
    let plan = Plan { sources: HashMap::new(), kept: BTreeSet::new(), blocks };
    let writes = Writes::new(aug, cfg);
    let mut planner = Planner { aug, cfg, loops, form, writes, plan, work: HashMap::new(), open: HashSet::new() };
    for block in cfg.reverse_postorder().iter().filter(|b| cfg.can_return(**b)) {
        let level = loops.innermost(*block);
        for inst in &aug.func.block(*block).insts {
            for linear in aug.linear.get(inst).into_iter().flatten() {
                for value in uses(linear) {
                    planner.require(value, level);
                }
            }
        }
    }
    planner.plan
}

/// The values of the augmented primal that the transpose of a linear operation uses.
pub fn uses(linear: &Linear) -> Vec<Value> {
    match linear {
        Linear::Sum(_, terms) => terms
            .iter()
            .filter_map(|(_, c)| match c {
                Coefficient::Value(v) => Some(*v),
                _ => None,
            })
            .collect(),
        Linear::Quotient { result, y, divisor, .. } => {
            let mut all = vec![*divisor];
            all.extend(y.map(|_| *result));
            all
        }
        Linear::Select(_, cond, ..) => vec![*cond],
        Linear::Load(_, shadow) | Linear::Store { shadow, .. } => shadow.clone(),
        Linear::Copy { dst, src, len, .. } => {
            let mut all = dst.clone();
            all.extend(src.iter().flatten());
            all.push(*len);
            all
        }
        Linear::MixedStore { shadow, old, .. } => vec![*shadow, *old],
        Linear::MixedCopy { dst, src, word, old } => vec![*dst, *src, *word, *old],
        Linear::Restore { shadow, old } => shadow.iter().chain(old).copied().collect(),
        Linear::Cast(..) | Linear::Call { .. } | Linear::Extract(..) | Linear::Insert(..) => vec![],
    }
}

struct Planner<'a> {
    aug: &'a Augmented,
    cfg: &'a Cfg,
    loops: &'a Loops,
    form: Form,
    writes: Writes,
    plan: Plan,
    /// What it costs to compute a value again at its own level; `None`: not possible.
    work: HashMap<Value, Option<u32>>,
    open: HashSet<Value>,
}

impl Planner<'_> {
    fn func(&self) -> &Function {
        &self.aug.func
    }

    fn level(&self, value: Value) -> Option<Loop> {
        self.plan.blocks.get(&value).and_then(|b| self.loops.innermost(*b))
    }

    fn require(&mut self, value: Value, user: Option<Loop>) {
        let key = self.plan.key(self.loops, value, user);
        if self.plan.sources.contains_key(&key) {
            return;
        }
        let source = self.choose(key);
        self.plan.sources.insert(key, source);
        match source {
            Source::AtHand => {}
            Source::Kept => {
                self.plan.kept.insert(key);
            }
            Source::Again => {
                let inst = self.func().def_inst(value).expect("only results of instructions are computed again");
                for operand in self.func().inst(inst).op.operands() {
                    self.require(operand, key.1);
                }
            }
            Source::Counter(affine) => self.require(affine.init, key.1),
        }
    }

    fn choose(&mut self, (value, level): Key) -> Source {
        if self.at_hand(value) {
            return Source::AtHand;
        }
        let own = self.level(value);
        if let Some(affine) = self.affine(value) {
            return Source::Counter(affine);
        }
        // Outside of loops a slot costs nothing to speak of in one function.
        if own.is_none() && self.form == Form::Whole {
            return Source::Kept;
        }
        let again = match self.work(value) {
            // Seen from outside its loop, a value may only be computed again from what is outside too: the loop's other
            // values may have moved on.
            Some(work) if own == level || self.operands_outside(value, level) => work <= MOST_WORK,
            _ => false,
        };
        if again { Source::Again } else { Source::Kept }
    }

    fn affine(&self, value: Value) -> Option<Affine> {
        counted::affine(self.func(), self.cfg, self.loops, value)
    }

    fn at_hand(&self, value: Value) -> bool {
        match self.func().value(value).def {
            ValueDef::Const(_) => true,
            ValueDef::Param(block, _) if block == self.func().entry() => {
                self.form == Form::Whole || Some(value) == self.aug.tape
            }
            _ => self.form == Form::Whole && self.aug.stack.contains(&value),
        }
    }

    fn operands_outside(&self, value: Value, level: Option<Loop>) -> bool {
        let Some(inst) = self.func().def_inst(value) else { return false };
        let operands = self.func().inst(inst).op.operands();
        operands.iter().all(|o| {
            let own = self.level(*o);
            self.at_hand(*o) || common(self.loops, own, level) == own
        })
    }

    /// The work of computing a value again at its own level from what is kept at outer levels.
    fn work(&mut self, value: Value) -> Option<u32> {
        if self.at_hand(value) {
            return Some(0);
        }
        if let Some(work) = self.work.get(&value) {
            return *work;
        }
        if !self.open.insert(value) {
            return None;
        }
        let work = self.compute_work(value);
        self.open.remove(&value);
        self.work.insert(value, work);
        work
    }

    fn compute_work(&mut self, value: Value) -> Option<u32> {
        if self.affine(value).is_some() {
            return Some(1);
        }
        let inst = self.func().def_inst(value)?;
        let own = self.level(value);
        let data = self.func().inst(inst);
        let own_work = match &data.op {
            Op::Load { .. } => {
                let block = self.plan.blocks[&value];
                if !self.writes.is_stable(self.aug, self.form, block, inst) {
                    return None;
                }
                2
            }
            op if op.is_pure() => effort(op),
            _ => return None,
        };
        let mut total = own_work;
        for operand in data.op.operands() {
            // What belongs to an outer level is kept or computed there.
            if self.level(operand) == own && !(own.is_none() && self.form == Form::Callee) {
                total = total.saturating_add(self.work(operand)?);
            } else if own.is_none() {
                total = total.saturating_add(self.work(operand).unwrap_or(2));
            }
        }
        Some(total)
    }
}

/// How much work an instruction is.
fn effort(op: &Op) -> u32 {
    match op {
        Op::Bin(BinOp::FDiv | BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem, ..) => 6,
        Op::Bin(BinOp::FRem, ..) => 20,
        Op::Math(
            MathFn::Fabs | MathFn::Copysign | MathFn::Fma | MathFn::FmulAdd | MathFn::MinNum | MathFn::MaxNum,
            _,
        ) => 1,
        Op::Math(MathFn::Sqrt, _) => 8,
        Op::Math(..) => 20,
        Op::Opaque(_) => 20,
        _ => 1,
    }
}

/// A write to memory: where in the program, where in its object, and how many bytes, if that is known.
struct Write {
    block: Block,
    position: usize,
    place: Offsets,
    width: Option<u64>,
}

/// What is written where.
struct Writes {
    /// The writes to each object.
    of: HashMap<ObjId, Vec<Write>>,
    /// Calls that may write anything their arguments reach.
    calls: Vec<(Block, usize)>,
    /// For each block, the blocks that can run after it.
    after: HashMap<Block, HashSet<Block>>,
}

impl Writes {
    fn new(aug: &Augmented, cfg: &Cfg) -> Writes {
        let mut writes = Writes { of: HashMap::new(), calls: Vec::new(), after: HashMap::new() };
        let live: Vec<Block> = cfg.reverse_postorder().iter().copied().filter(|b| cfg.can_return(*b)).collect();
        for block in &live {
            let mut seen = HashSet::new();
            let mut next: Vec<Block> = cfg.successors(*block).to_vec();
            while let Some(b) = next.pop() {
                if cfg.can_return(b) && seen.insert(b) {
                    next.extend(cfg.successors(b));
                }
            }
            writes.after.insert(*block, seen);
            for (position, inst) in aug.func.block(*block).insts.iter().enumerate() {
                let data = aug.func.inst(*inst);
                let mut write = |ptr: Value, width: Option<u64>| {
                    if let Some((object, at)) = aug.places.get(&ptr) {
                        let write = Write { block: *block, position, place: at.clone(), width };
                        writes.of.entry(*object).or_default().push(write);
                    } else {
                        writes.calls.push((*block, position));
                    }
                };
                match &data.op {
                    Op::Store { ptr, value, .. } => write(*ptr, Some(aug.func.ty(*value).size())),
                    // The zeroing of fresh stack memory happens before everything.
                    Op::Fill { dst, .. } if *block == aug.func.entry() && aug.stack.contains(dst) => {}
                    Op::Copy { dst, len, .. } | Op::Fill { dst, len, .. } => {
                        write(*dst, aug.func.as_int(*len).map(|n| n as u64));
                    }
                    Op::Call(Callee::Direct(callee), ..) if aug.harmless.contains(callee) => {}
                    Op::Call(..) => writes.calls.push((*block, position)),
                    Op::Opaque(op) if op.writes => writes.calls.push((*block, position)),
                    _ => {}
                }
            }
        }
        writes
    }

    /// Whether a load gives the same value when it is done again after the forward sweep.
    fn is_stable(&self, aug: &Augmented, form: Form, block: Block, inst: Inst) -> bool {
        let data = aug.func.inst(inst);
        let Op::Load { ptr, .. } = data.op else { return false };
        let Some((object, at)) = aug.places.get(&ptr) else { return false };
        let width = data.result.map_or(8, |r| aug.func.ty(r).size());
        let position = aug.func.block(block).insts.iter().position(|i| *i == inst).unwrap_or(0);
        let after = &self.after[&block];
        let later = |b: &Block, p: usize| after.contains(b) || (*b == block && p > position);
        // Between a callee and its reverse the caller may write anything.
        if form == Form::Callee {
            return false;
        }
        if self.calls.iter().any(|(b, p)| later(b, *p)) {
            return false;
        }
        let mut writes = self.of.get(object).into_iter().flatten();
        !writes.any(|write| {
            later(&write.block, write.position)
                && write.width.is_none_or(|bytes| write.place.overlaps(bytes, at, width))
        })
    }
}

/// Whether a type can be kept in a slot.
pub fn can_keep(ty: &Type) -> bool {
    !matches!(ty, Type::Opaque(..))
}
