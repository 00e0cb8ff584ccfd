//! Loops that compute the same in each iteration of the loop around them go in front of it.
//!
//! `out[i] = x[i] / norm(x)` runs over `x` for each `i`. LLVM moves a call out of a loop, but not a loop, and it has to
//! be told that `out` does not overlap with `x`; the objects of points-to analysis say so in every build. A derivative
//! of the program as it is would take quadratic time for what is linear.
//!
//! ```text
//!   b0: …                     jump b2        b0: …                      jump n
//!                                            n:  v9 = load v7           jump b3(v9)   what came before the inner loop
//!                                            b3 …                                     the inner loop
//!                                            m:                         jump b2
//!   b2: v9 = load v7          jump b3(v9)    b2:                        jump b4(v4)
//!   b3 …   the inner loop, to b4(v4)
//!   b4(v6): …                 jump b2        b4(v6): …                  jump b2
//! ```
//! Each loop is looked at from its header on, along the blocks that run in every iteration. The first inner loop on the
//! way is moved, with a test around it if the test is the same each time, provided that
//!
//! - all it uses from outside is made before the outer loop, or can be moved in front of it as well;
//! - it writes nothing and calls nothing, and reads only memory that the outer loop does not write;
//! - it ends: its trip count is known;
//! - where it may panic, nothing that can be seen from outside comes before it in the iteration, so that the panic
//!   comes no earlier than anything else.

use crate::analysis::points_to::facts::Facts;
use crate::analysis::points_to::objects::ObjId;
use pullback_ir::cfg::{Cfg, Edge, edges_from};
use pullback_ir::counted::{self, Counted};
use pullback_ir::loops::{ControlFlow, Loops};
use pullback_ir::{Block, BlockCall, Builder, FuncId, Function, Inst, Loop, Op, Terminator, Type, Value, ValueDef};
use std::collections::HashSet;

/// Move what can be moved; whether anything was.
pub fn hoist(func: &mut Function, id: FuncId, facts: &Facts) -> bool {
    let mut changed = false;
    // What was moved is a loop less in a loop, so this ends.
    while let Some(stretch) = find(func, id, facts) {
        stretch.move_it(func);
        changed = true;
    }
    changed
}

/// A part of a loop's body that is to go in front of it.
struct Stretch {
    /// The way into the outer loop.
    into: Edge,
    /// The blocks of the outer loop that stay.
    rest: Vec<Block>,
    /// The block before the stretch.
    before: Block,
    /// Instructions before the stretch that go with it.
    moved: Vec<Inst>,
    /// The edges out of the blocks that go to where the loop goes on.
    exits: Vec<Edge>,
}

fn find(func: &Function, id: FuncId, facts: &Facts) -> Option<Stretch> {
    let ControlFlow { cfg, doms, loops } = ControlFlow::new(func).ok()?;
    if !loops.iter().any(|(_, data)| data.parent.is_some()) {
        return None;
    }
    let counted = Counted::new(func, &cfg, &doms, &loops);
    loops.iter().find_map(|(outer, _)| {
        let entries = counted::entries(func, &cfg, &loops, outer);
        let [into] = entries[..] else { return None };
        let written = written(func, id, facts, &loops, outer)?;
        let search = Search { func, id, facts, cfg: &cfg, loops: &loops, counted: &counted, outer, into, written };
        search.along_the_body()
    })
}

/// The [regions](crate::analysis::points_to::regions::Regions::region) that a loop writes; `None` if it may be any.
fn written(func: &Function, id: FuncId, facts: &Facts, loops: &Loops, outer: Loop) -> Option<HashSet<ObjId>> {
    let mut objects = HashSet::new();
    for data in func.insts_in(&loops.get(outer).blocks) {
        match &data.op {
            op if let Some(at) = op.written_place() => {
                objects.insert(facts.regions.region(facts.object(id, at)?));
            }
            Op::Call(..) | Op::Alloc { .. } | Op::Dealloc { .. } => return None,
            Op::Opaque(op) if op.writes => return None,
            _ => {}
        }
    }
    Some(objects)
}

struct Search<'a> {
    func: &'a Function,
    id: FuncId,
    facts: &'a Facts,
    cfg: &'a Cfg,
    loops: &'a Loops,
    counted: &'a Counted<'a>,
    outer: Loop,
    into: Edge,
    /// What the outer loop writes.
    written: HashSet<ObjId>,
}

impl Search<'_> {
    /// Follow the blocks that run in every iteration up to the first inner loop.
    fn along_the_body(&self) -> Option<Stretch> {
        let mut block = self.loops.get(self.outer).header;
        let mut moved: Vec<Inst> = Vec::new();
        let mut made: HashSet<Value> = HashSet::new();
        let mut seen_from_outside = false;
        loop {
            for inst in &self.func.block(block).insts {
                let data = self.func.inst(*inst);
                if self.reads_only(*inst) && data.op.operands().iter().all(|o| self.is_before(*o, &made)) {
                    moved.push(*inst);
                    made.extend(data.result);
                }
                seen_from_outside |= data.op.written_place().is_some();
            }
            let stretch = |arm: &BlockCall, to: Option<&BlockCall>| {
                self.stretch(block, arm, to, &made, seen_from_outside).map(|(blocks, exits)| {
                    let all = &self.loops.get(self.outer).blocks;
                    let rest = all.iter().copied().filter(|b| !blocks.contains(b)).collect();
                    Stretch { into: self.into, rest, before: block, moved: moved.clone(), exits }
                })
            };
            match &self.func.block(block).term {
                Terminator::Jump(next) if self.loops.headed_by(next.block).is_some() => return stretch(next, None),
                Terminator::Jump(next) if self.cfg.predecessors(next.block) == [block] => block = next.block,
                Terminator::Branch(cond, a, b) if self.is_before(*cond, &made) => {
                    return stretch(a, Some(b)).or_else(|| stretch(b, Some(a)));
                }
                _ => return None,
            }
        }
    }

    /// Whether a value is there before the outer loop, or will be.
    fn is_before(&self, value: Value, made: &HashSet<Value>) -> bool {
        made.contains(&value) || self.counted.is_invariant(self.outer, value)
    }

    /// The same of one that may also be made in these blocks.
    fn is_there(&self, value: Value, blocks: &HashSet<Block>, made: &HashSet<Value>) -> bool {
        self.is_before(value, made) || self.counted.block(value).is_some_and(|b| blocks.contains(&b))
    }

    /// Whether an instruction has no effect and gives the same in all iterations, if its operands are the same.
    fn reads_only(&self, inst: Inst) -> bool {
        match &self.func.inst(inst).op {
            Op::Load { ptr, .. } => {
                let object = self.facts.object(self.id, *ptr);
                object.is_some_and(|o| !self.written.contains(&self.facts.regions.region(o)))
            }
            // Decided once, what is undefined is the same in all iterations.
            Op::Freeze(_) => true,
            op => op.is_pure(),
        }
    }

    /// The blocks from `arm` to where the loop goes on, which is `otherwise` or else the only way out, if they can go.
    fn stretch(
        &self,
        before: Block,
        arm: &BlockCall,
        otherwise: Option<&BlockCall>,
        made: &HashSet<Value>,
        seen_from_outside: bool,
    ) -> Option<(HashSet<Block>, Vec<Edge>)> {
        let given = arm.args.iter().chain(otherwise.into_iter().flat_map(|o| &o.args));
        if !given.copied().all(|v| self.is_before(v, made)) {
            return None;
        }
        let blocks: HashSet<Block> = match otherwise {
            None => {
                let inner = self.loops.headed_by(arm.block)?;
                self.loops.get(inner).blocks.iter().copied().collect()
            }
            Some(end) => self.blocks_between(arm.block, end.block)?,
        };
        if blocks.contains(&before) || !self.all_loops_end(&blocks) || !self.is_entered_once(before, arm, &blocks) {
            return None;
        }
        let edges = blocks.iter().flat_map(|b| edges_from(self.func, *b)).filter(|e| !blocks.contains(&e.to));
        let (live, dead): (Vec<Edge>, Vec<Edge>) = edges.partition(|e| self.cfg.can_return(e.to));
        let end = otherwise.map_or_else(|| live.first().map(|e| e.to), |end| Some(end.block))?;
        let goes_on = self.loops.contains(self.outer, end) && end != self.loops.get(self.outer).header;
        let one_way = live.iter().all(|e| e.to == end) && (otherwise.is_some() || live.len() == 1);
        let may_panic = dead.is_empty() || !seen_from_outside;
        let good = goes_on
            && one_way
            && may_panic
            && dead.iter().all(|e| self.only_panics(e.to, &blocks, made))
            && blocks.iter().all(|b| self.can_go(*b, &blocks, made));
        good.then_some((blocks, live))
    }

    /// The blocks of the outer loop that are reached from `start` before `end`.
    fn blocks_between(&self, start: Block, end: Block) -> Option<HashSet<Block>> {
        let header = self.loops.get(self.outer).header;
        let mut blocks = HashSet::new();
        let mut work = vec![start];
        while let Some(block) = work.pop() {
            if block == end || !self.cfg.can_return(block) {
                continue;
            }
            if block == header || !self.loops.contains(self.outer, block) {
                return None;
            }
            if blocks.insert(block) {
                work.extend(self.cfg.successors(block));
            }
        }
        Some(blocks)
    }

    /// Whether there are loops among the blocks, and all run a number of times that is known when they are entered.
    fn all_loops_end(&self, blocks: &HashSet<Block>) -> bool {
        let mut inner = self.loops.iter().filter(|(_, data)| blocks.contains(&data.header)).peekable();
        let ends = |id: Loop| self.counted.trip_count(id, |b| self.cfg.can_return(b)).is_some();
        inner.peek().is_some() && inner.all(|(id, _)| ends(id))
    }

    fn is_entered_once(&self, before: Block, arm: &BlockCall, blocks: &HashSet<Block>) -> bool {
        let edges_in = edges_from(self.func, before).into_iter().filter(|e| e.to == arm.block).count();
        let from_outside = |b: &Block| self.cfg.predecessors(*b).iter().any(|p| !blocks.contains(p));
        let others = blocks.iter().filter(|b| **b != arm.block).any(from_outside);
        let into_arm = self.cfg.predecessors(arm.block).iter().all(|p| *p == before || blocks.contains(p));
        edges_in == 1 && !others && into_arm
    }

    fn can_go(&self, block: Block, blocks: &HashSet<Block>, made: &HashSet<Value>) -> bool {
        let data = self.func.block(block);
        let is_there = |v: Value| self.is_there(v, blocks, made);
        let good =
            |inst: &Inst| self.reads_only(*inst) && self.func.inst(*inst).op.operands().into_iter().all(is_there);
        let mut passed = data.term.targets().into_iter().filter(|t| self.cfg.can_return(t.block)).flat_map(|t| &t.args);
        data.insts.iter().all(good) && data.term.operand().is_none_or(is_there) && passed.all(|v| is_there(*v))
    }

    /// Whether a block that a stretch leads to does nothing but panic, with what will be there.
    fn only_panics(&self, block: Block, blocks: &HashSet<Block>, made: &HashSet<Value>) -> bool {
        let data = self.func.block(block);
        let is_there = |v: Value| self.counted.block(v) == Some(block) || self.is_there(v, blocks, made);
        let operands = data.insts.iter().flat_map(|i| self.func.inst(*i).op.operands());
        // Passed to it are values of the stretch, or they would not be there.
        let passed = blocks.iter().flat_map(|b| self.func.block(*b).term.targets()).filter(|t| t.block == block);
        data.term == Terminator::Unreachable
            && operands.chain(passed.flat_map(|t| t.args.iter().copied())).all(is_there)
    }
}

impl Stretch {
    fn move_it(self, func: &mut Function) {
        let first = func.add_block();
        for block in &self.rest {
            func.block_mut(*block).insts.retain(|i| !self.moved.contains(i));
        }
        func.block_mut(first).insts = self.moved.clone();
        let into_loop = func.redirect(self.into, BlockCall::new(first, vec![]));
        let last = func.add_block();
        let way = func.block(self.before).term.clone();
        let end = func.block(self.exits[0].from).term.targets()[self.exits[0].index].block;
        let params: Vec<Type> = func.block(end).params.iter().map(|p| func.ty(*p).clone()).collect();
        let results: Vec<Value> = match &way {
            Terminator::Jump(_) => func.redirect(self.exits[0], BlockCall::new(last, vec![])).args,
            _ => {
                let merged = params.into_iter().map(|ty| func.add_param(last, ty)).collect();
                for exit in &self.exits {
                    func.block_mut(exit.from).term.targets_mut()[exit.index].block = last;
                }
                merged
            }
        };
        let mut way_in = way;
        for to in way_in.targets_mut() {
            if to.block == end {
                to.block = last;
            }
        }
        func.block_mut(first).term = way_in;
        Builder::new(func, last).jump(into_loop.block, into_loop.args);
        Builder::new(func, self.before).jump(end, results.clone());
        // Where the loop goes on, what was computed is no longer a matter of how it got there.
        if func.predecessors()[end.index()].len() == 1 {
            for (param, result) in func.block(end).params.clone().into_iter().zip(results) {
                func.replace_uses(param, result);
            }
        }
        self.follow(func, last);
    }

    /// What is computed from the moved part alone follows it.
    fn follow(&self, func: &mut Function, last: Block) {
        let mut inside: HashSet<Value> = HashSet::new();
        for block in &self.rest {
            inside.extend(func.block(*block).params.iter().copied());
            inside.extend(func.block(*block).insts.iter().filter_map(|i| func.inst(*i).result));
        }
        for block in &self.rest {
            let (mut stay, mut go) = (Vec::new(), Vec::new());
            for inst in func.block(*block).insts.clone() {
                let data = func.inst(inst);
                let operands = data.op.operands();
                let constant = operands.iter().all(|o| matches!(func.value(*o).def, ValueDef::Const(_)));
                if data.op.is_speculatable() && !constant && operands.iter().all(|o| !inside.contains(o)) {
                    if let Some(result) = data.result {
                        inside.remove(&result);
                    }
                    go.push(inst);
                } else {
                    stay.push(inst);
                }
            }
            func.block_mut(*block).insts = stay;
            func.block_mut(last).insts.extend(go);
        }
    }
}
