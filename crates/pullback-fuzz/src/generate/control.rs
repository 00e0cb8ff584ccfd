//! Statements with blocks of their own: branches, loops, lists, ways out.

use super::Feature;
use super::body::{Array, Body, Elem};
use pullback_ir::{BinOp, Block, BlockCall, IntPred, Terminator, Type, Value};

/// A value that is passed to a block: what it is there.
#[derive(Clone, Debug)]
pub enum Port {
    /// A float.
    Float(Type),
    /// A small integer.
    Int,
    /// A pointer to an array like this one.
    Array(Array),
}

impl Port {
    fn ty(&self) -> Type {
        match self {
            Port::Float(ty) => ty.clone(),
            Port::Int => Type::I64,
            Port::Array(_) => Type::Ptr,
        }
    }
}

impl Body<'_> {
    /// What a branch or loop hands on.
    fn ports(&mut self) -> Vec<Port> {
        let mut ports = Vec::new();
        for _ in 0..self.rng.between(1, 3) {
            ports.push(match self.rng.below(6) {
                4 if self.has(Feature::Ints) => Port::Int,
                5 if self.has(Feature::Alias) => match self.array(|_| true) {
                    Some(array) => Port::Array(array),
                    None => Port::Int,
                },
                _ => Port::Float(self.float_type()),
            });
        }
        ports
    }

    /// A block with a parameter for each port.
    fn block_for(&mut self, ports: &[Port]) -> Block {
        let block = self.func.add_block();
        self.add_params(block, ports);
        block
    }

    /// Values for the ports, from what is in scope.
    fn values_for(&mut self, ports: &[Port]) -> Vec<Value> {
        let looping = self.loops > 0;
        ports
            .iter()
            .map(|port| match port {
                Port::Float(ty) if looping => {
                    let value = self.expression(ty);
                    self.squash(value)
                }
                Port::Float(ty) => self.float(ty),
                Port::Int => self.int(),
                Port::Array(like) => {
                    let fits = |a: &Array| a.elem == like.elem && a.write == like.write && a.cap >= like.cap;
                    self.array(fits).unwrap_or_else(|| like.clone()).ptr
                }
            })
            .collect()
    }

    /// Bring the parameters of a block, from `first` on, into scope.
    fn bind(&mut self, block: Block, first: usize, ports: &[Port]) {
        let params = self.func.block(block).params[first..].to_vec();
        for (port, value) in ports.iter().zip(params) {
            match port {
                Port::Float(_) => self.env.floats.push(value),
                Port::Int => self.env.ints.push(value),
                Port::Array(like) => {
                    let array = Array { ptr: value, len: None, object: None, ..like.clone() };
                    self.env.arrays.push(array);
                }
            }
        }
    }

    /// `if`, with or without `else`.
    pub fn branch(&mut self) -> bool {
        let ports = self.ports();
        let join = self.block_for(&ports);
        let cond = self.condition();
        let yes = self.func.add_block();
        let no = if self.rng.chance(25) {
            let args = self.values_for(&ports);
            BlockCall::new(join, args)
        } else {
            BlockCall::new(self.func.add_block(), vec![])
        };
        self.b().branch(cond, BlockCall::new(yes, vec![]), no.clone());
        let sides = if no.block == join { vec![yes] } else { vec![yes, no.block] };
        self.sides(&sides, join, &ports);
        true
    }

    /// `switch` on an integer.
    pub fn switch(&mut self) -> bool {
        let ports = self.ports();
        let join = self.block_for(&ports);
        let value = self.masked(3);
        let sides: Vec<Block> = (0..3).map(|_| self.func.add_block()).collect();
        let to = |i: usize| BlockCall::new(sides[i], vec![]);
        self.b().terminate(Terminator::Switch(value, vec![(0, to(0)), (2, to(1))], to(2)));
        self.sides(&sides, join, &ports);
        true
    }

    fn sides(&mut self, sides: &[Block], join: Block, ports: &[Port]) {
        let outside = self.env.clone();
        for side in sides {
            self.block = *side;
            self.env = outside.clone();
            if self.rng.chance(75) {
                self.some_statements(4);
            }
            let args = self.values_for(ports);
            self.b().jump(join, args);
        }
        self.block = join;
        self.env = outside;
        self.bind(join, 0, ports);
    }

    fn may_loop(&self) -> bool {
        self.loops == 0 || (self.has(Feature::Nesting) && self.loops < 3)
    }

    /// A trip count, zero at times, and the array whose length it is.
    fn trip_count(&mut self) -> (Value, Option<Array>) {
        if self.rng.chance(40)
            && let Some(array) = self.array(|a| a.len.is_some())
        {
            return (array.len.expect("chosen so"), Some(array));
        }
        if self.has(Feature::Ints) && self.rng.chance(50) {
            return (self.masked(3), None);
        }
        let count = self.rng.between(1, 4) as i64;
        (self.func.i64(count), None)
    }

    /// A loop with a known number of iterations: tested at the top, at the bottom, or by a pointer's end.
    pub fn counted_loop(&mut self) -> bool {
        if !self.may_loop() {
            return false;
        }
        match self.rng.below(4) {
            0 | 1 => self.top_tested(),
            2 => self.bottom_tested(),
            _ => return self.pointer_loop(),
        }
        true
    }

    fn top_tested(&mut self) {
        let (trip, over) = self.trip_count();
        let ports = self.ports();
        let header = self.func.add_block();
        let i = self.func.add_param(header, Type::I64);
        self.add_params(header, &ports);
        let (inside, exit) = (self.func.add_block(), self.block_for(&ports));
        let zero = self.func.i64(0);
        self.enter(header, vec![zero], &ports);
        let outside = self.env.clone();

        self.block = header;
        let cond = self.b().icmp(IntPred::Ult, i, trip);
        let through = self.func.block(header).params[1..].to_vec();
        self.b().branch(cond, BlockCall::new(inside, vec![]), BlockCall::new(exit, through));

        self.block = inside;
        self.bind(header, 1, &ports);
        self.env.ints.push(i);
        self.visit(over, i);
        let values = self.loop_body(&ports, exit);
        let one = self.func.i64(1);
        let next = self.b().add(i, one);
        self.b().jump(header, [vec![next], values].concat());
        self.close(outside, exit, &ports);
    }

    fn bottom_tested(&mut self) {
        let (trip, over) = self.trip_count();
        let ports = self.ports();
        let header = self.func.add_block();
        let i = self.func.add_param(header, Type::I64);
        self.add_params(header, &ports);
        let (exit, join) = (self.block_for(&ports), self.block_for(&ports));
        let zero = self.func.i64(0);
        let start = self.values_for(&ports);
        let any = self.b().icmp(IntPred::Ne, trip, zero);
        let first = BlockCall::new(header, [vec![zero], start.clone()].concat());
        self.b().branch(any, first, BlockCall::new(join, start));
        let outside = self.env.clone();

        self.block = header;
        self.loops += 1;
        self.bind(header, 1, &ports);
        self.env.ints.push(i);
        self.visit(over, i);
        let values = self.loop_body(&ports, exit);
        let one = self.func.i64(1);
        let next = self.b().add(i, one);
        let done = self.b().icmp(IntPred::Eq, next, trip);
        let again = BlockCall::new(header, [vec![next], values.clone()].concat());
        self.b().branch(done, BlockCall::new(exit, values), again);
        let last = self.func.block(exit).params.clone();
        self.block = exit;
        self.b().jump(join, last);
        self.close(outside, join, &ports);
    }

    /// A loop over an array as Rust's slice iterator does it.
    fn pointer_loop(&mut self) -> bool {
        let Some(array) = self.array(|_| true) else { return false };
        let ports = self.ports();
        let header = self.func.add_block();
        let p = self.func.add_param(header, Type::Ptr);
        self.add_params(header, &ports);
        let (inside, exit) = (self.func.add_block(), self.block_for(&ports));
        let stride = array.elem.stride() as i64;
        let bytes = match array.len {
            Some(len) => {
                let stride = self.func.i64(stride);
                self.b().mul(len, stride)
            }
            None => self.func.i64(array.cap as i64 * stride),
        };
        let end = self.b().ptr_add(array.ptr, bytes);
        self.enter(header, vec![array.ptr], &ports);
        let outside = self.env.clone();

        self.block = header;
        let done = self.b().icmp(IntPred::Eq, p, end);
        let through = self.func.block(header).params[1..].to_vec();
        self.b().branch(done, BlockCall::new(exit, through), BlockCall::new(inside, vec![]));

        self.block = inside;
        self.bind(header, 1, &ports);
        let next = self.b().offset(p, stride);
        let here = Array { ptr: p, cap: 1, len: None, ..array };
        let zero = self.func.i64(0);
        for lane in here.elem.lanes() {
            self.load_lane(&here, zero, lane.clone());
        }
        self.env.arrays.push(here);
        let values = self.loop_body(&ports, exit);
        self.b().jump(header, [vec![next], values].concat());
        self.close(outside, exit, &ports);
        true
    }

    /// A loop that goes on while a condition on data holds.
    pub fn open_loop(&mut self) -> bool {
        if !self.may_loop() {
            return false;
        }
        let ports = self.ports();
        let header = self.func.add_block();
        let i = self.func.add_param(header, Type::I64);
        self.add_params(header, &ports);
        let (inside, exit) = (self.func.add_block(), self.block_for(&ports));
        let zero = self.func.i64(0);
        self.enter(header, vec![zero], &ports);
        let outside = self.env.clone();

        self.block = header;
        self.bind(header, 1, &ports);
        self.env.ints.push(i);
        let limit = self.rng.between(2, 6) as i64;
        let limit = self.func.i64(limit);
        let low = self.b().icmp(IntPred::Ult, i, limit);
        let through = self.func.block(header).params[1..].to_vec();
        if self.rng.chance(50) {
            let on = self.condition();
            let both = self.b().bin(BinOp::And, low, on);
            self.b().branch(both, BlockCall::new(inside, vec![]), BlockCall::new(exit, through));
        } else {
            let second = self.func.add_block();
            self.b().branch(low, BlockCall::new(second, vec![]), BlockCall::new(exit, through));
            self.block = second;
            let on = self.condition();
            let through = self.values_for(&ports);
            self.b().branch(on, BlockCall::new(inside, vec![]), BlockCall::new(exit, through));
        }

        self.block = inside;
        let values = self.loop_body(&ports, exit);
        let one = self.func.i64(1);
        let next = self.b().add(i, one);
        self.b().jump(header, [vec![next], values].concat());
        self.close(outside, exit, &ports);
        true
    }

    fn add_params(&mut self, block: Block, ports: &[Port]) {
        for port in ports {
            self.func.add_param(block, port.ty());
        }
    }

    /// Jump into a loop.
    fn enter(&mut self, header: Block, first: Vec<Value>, ports: &[Port]) {
        let start = self.values_for(ports);
        self.b().jump(header, [first, start].concat());
        self.loops += 1;
    }

    /// Go on after a loop.
    fn close(&mut self, outside: super::body::Env, exit: Block, ports: &[Port]) {
        self.loops -= 1;
        self.block = exit;
        self.env = outside;
        self.bind(exit, 0, ports);
    }

    /// Read, and at times write, element `i` of the array that is looped over.
    fn visit(&mut self, array: Option<Array>, i: Value) {
        let Some(array) = array else { return };
        let lane = self.rng.pick(array.elem.lanes()).clone();
        self.load_lane(&array, i, lane.clone());
        if array.write && lane.1.is_float() && self.rng.chance(50) {
            let value = self.expression(&lane.1);
            let value = self.squash(value);
            let ptr = self.address(&array, i, lane.0);
            self.b().store(ptr, value);
        }
    }

    /// The inside of a loop, with `break` and `continue` where they may occur; the values for the next iteration.
    fn loop_body(&mut self, ports: &[Port], exit: Block) -> Vec<Value> {
        self.some_statements(4);
        if !self.has(Feature::Exits) {
            return self.values_for(ports);
        }
        let latch = self.block_for(ports);
        for _ in 0..self.rng.below(3) {
            let cond = self.condition();
            let (away, on) = (self.func.add_block(), self.func.add_block());
            self.b().branch(cond, BlockCall::new(away, vec![]), BlockCall::new(on, vec![]));
            let here = self.env.clone();
            self.block = away;
            if self.rng.chance(30) {
                self.some_statements(2);
            }
            let values = self.values_for(ports);
            let target = if self.rng.chance(60) { exit } else { latch };
            self.b().jump(target, values);
            self.block = on;
            self.env = here;
            self.some_statements(2);
        }
        let values = self.values_for(ports);
        self.b().jump(latch, values);
        self.block = latch;
        self.func.block(latch).params.clone()
    }

    /// `return` under a condition.
    pub fn early_return(&mut self) -> bool {
        let cond = self.condition();
        let (away, on) = (self.func.add_block(), self.func.add_block());
        self.b().branch(cond, BlockCall::new(away, vec![]), BlockCall::new(on, vec![]));
        let here = self.env.clone();
        self.block = away;
        self.leave();
        self.block = on;
        self.env = here;
        true
    }

    /// A check that never fails, and panics if it does.
    pub fn panic_check(&mut self) -> bool {
        let index = self.masked(7);
        let bound = self.func.i64(8);
        let outside = self.b().icmp(IntPred::Uge, index, bound);
        let (away, on) = (self.func.add_block(), self.func.add_block());
        self.b().branch(outside, BlockCall::new(away, vec![]), BlockCall::new(on, vec![]));
        self.block = away;
        let panic = self.world.panic;
        self.b().call_void(panic, vec![]);
        self.b().terminate(Terminator::Unreachable);
        self.block = on;
        true
    }

    /// Go through a linked list; where there is none, and memory may be allocated, build one first and free it after.
    pub fn list(&mut self) -> bool {
        if !self.may_loop() {
            return false;
        }
        if let Some((head, write)) = self.env.lists.last().copied()
            && self.rng.chance(60)
        {
            self.walk(head, write);
            return true;
        }
        if !self.has(Feature::Heap) || !self.has(Feature::Loops) {
            return false;
        }
        let may_return = std::mem::replace(&mut self.may_return, false);
        let arrays = self.env.arrays.len();
        let head = self.build_list();
        self.walk(head, true);
        self.free_list(head);
        // What the walk hands on may be a node.
        self.env.arrays.truncate(arrays);
        self.may_return = may_return;
        true
    }

    fn walk(&mut self, head: Value, write: bool) {
        let ports = self.ports();
        let header = self.func.add_block();
        let p = self.func.add_param(header, Type::Ptr);
        self.add_params(header, &ports);
        let (inside, exit) = (self.func.add_block(), self.block_for(&ports));
        self.enter(header, vec![head], &ports);
        let outside = self.env.clone();

        self.block = header;
        let null = self.func.zero(&Type::Ptr);
        let done = self.b().icmp(IntPred::Eq, p, null);
        let through = self.func.block(header).params[1..].to_vec();
        self.b().branch(done, BlockCall::new(exit, through), BlockCall::new(inside, vec![]));

        self.block = inside;
        self.bind(header, 1, &ports);
        let node = Array { ptr: p, elem: Elem::F64, cap: 1, len: None, write, object: None };
        let zero = self.func.i64(0);
        self.load_lane(&node, zero, (0, Type::F64));
        self.env.arrays.push(node);
        let place = self.b().offset(p, 8);
        let next = self.b().load(Type::Ptr, place);
        let values = self.loop_body(&ports, exit);
        self.b().jump(header, [vec![next], values].concat());
        self.close(outside, exit, &ports);
    }

    fn build_list(&mut self) -> Value {
        let (trip, _) = self.trip_count();
        let header = self.func.add_block();
        let (i, head) = (self.func.add_param(header, Type::I64), self.func.add_param(header, Type::Ptr));
        let seed = self.func.add_param(header, Type::F64);
        let (inside, exit) = (self.func.add_block(), self.func.add_block());
        let last = self.func.add_param(exit, Type::Ptr);
        let (zero, null, start) = (self.func.i64(0), self.func.zero(&Type::Ptr), self.float(&Type::F64));
        self.b().jump(header, vec![zero, null, start]);
        let outside = self.env.clone();
        self.loops += 1;

        self.block = header;
        let more = self.b().icmp(IntPred::Ult, i, trip);
        self.b().branch(more, BlockCall::new(inside, vec![]), BlockCall::new(exit, vec![head]));

        self.block = inside;
        self.env.floats.push(seed);
        let node = self.allocate(16);
        let value = self.expression(&Type::F64);
        let value = self.squash(value);
        self.b().store(node, value);
        let place = self.b().offset(node, 8);
        self.b().store(place, head);
        let one = self.func.i64(1);
        let next = self.b().add(i, one);
        self.b().jump(header, vec![next, node, value]);
        self.close(outside, exit, &[]);
        last
    }

    fn free_list(&mut self, head: Value) {
        let header = self.func.add_block();
        let p = self.func.add_param(header, Type::Ptr);
        let (inside, exit) = (self.func.add_block(), self.func.add_block());
        self.b().jump(header, vec![head]);
        self.block = header;
        let null = self.func.zero(&Type::Ptr);
        let done = self.b().icmp(IntPred::Eq, p, null);
        self.b().branch(done, BlockCall::new(exit, vec![]), BlockCall::new(inside, vec![]));
        self.block = inside;
        let place = self.b().offset(p, 8);
        let next = self.b().load(Type::Ptr, place);
        self.deallocate(p, 16);
        self.b().jump(header, vec![next]);
        self.block = exit;
    }
}
