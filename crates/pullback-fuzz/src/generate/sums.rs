//! Sums over arrays at the end of a program, from which its result is made: loops that may be reversed one iteration at
//! a time, and loops that miss that by a little.

use super::body::{Array, Body};
use pullback_ir::{BinOp, BlockCall, IntPred, Type, Value};

/// Neighbours in an array that a loop hands on from one iteration to the next, where they are one further.
struct Window {
    array: Array,
    lane: (u64, Type),
    width: i64,
    /// The last one is handed on to two parameters.
    last_twice: bool,
}

impl Body<'_> {
    /// A window that fits a loop over an array.
    fn window(&mut self, array: Array, trips: i64) -> Option<Window> {
        let lane = array.elem.lanes().iter().find(|(_, ty)| ty.is_float()).cloned()?;
        let width = self.rng.between(1, 3.min(array.cap as usize - trips as usize)) as i64;
        Some(Window { array, lane, width, last_twice: self.rng.chance(25) })
    }

    /// Add things up, and make the result of the sums.
    pub fn sum_up(&mut self) {
        let Some(result) = self.result.clone() else { return };
        let (offset, ty) = self.rng.pick(result.elem.lanes()).clone();
        if !ty.is_float() {
            return;
        }
        self.budget = self.rng.between(2, 8);
        let mut all = self.float(&ty);
        for _ in 0..self.rng.between(1, 2) {
            for sum in self.sum_loop(&ty) {
                let part = self.linear(sum);
                all = self.b().fadd(all, part);
            }
        }
        if self.rng.chance(25) {
            self.some_statements(2);
        }
        if self.rng.chance(10) {
            all = self.squash(all);
        }
        let index = self.index(result.cap);
        let ptr = self.address(&result, index, offset);
        self.b().store(ptr, all);
        if self.rng.chance(10) {
            self.store_to_result();
        }
    }

    /// Something that is linear in a value.
    fn linear(&mut self, value: Value) -> Value {
        let ty = self.func.ty(value).clone();
        let factor = self.func.float(ty.clone(), 0.5 + self.rng.below(8) as f64 / 16.0);
        match self.rng.below(5) {
            0 => self.b().fmul(value, factor),
            1 => self.b().bin(BinOp::FDiv, value, factor),
            2 => self.b().fneg(value),
            3 => {
                let other = self.float(&ty);
                self.b().fmul(value, other)
            }
            _ => value,
        }
    }

    /// A loop over an array that adds to one or two sums, and may fill another array.
    fn sum_loop(&mut self, ty: &Type) -> Vec<Value> {
        let count = self.rng.between(1, 2);
        let over = self.array(|a| a.cap > 1);
        let trips = over.as_ref().map_or(3, |a| self.rng.between(1, a.cap as usize) as i64);
        let neighbours = over.as_ref().filter(|a| trips < a.cap as i64).cloned().filter(|_| self.rng.chance(40));
        let window = neighbours.and_then(|array| self.window(array, trips));

        let zero = self.func.i64(0);
        let mut start = vec![zero];
        start.extend((0..count).map(|_| self.float(ty)));
        if let Some(window) = &window {
            for at in 0..window.width {
                let index = self.func.i64(at);
                start.push(self.load_lane(&window.array, index, window.lane.clone()));
            }
            start.extend(start.last().copied().filter(|_| window.last_twice));
        }
        let header = self.func.add_block();
        let params: Vec<Value> = start
            .iter()
            .map(|first| {
                let ty = self.func.ty(*first).clone();
                self.func.add_param(header, ty)
            })
            .collect();
        self.b().jump(header, start);
        let outside = self.env.clone();

        self.block = header;
        self.loops += 1;
        self.env.ints.push(params[0]);
        let one = self.func.i64(1);
        let next = self.b().add(params[0], one);
        if let Some(array) = &over {
            let lane = self.rng.pick(array.elem.lanes()).clone();
            self.load_lane(array, params[0], lane);
        }
        let mut again = vec![next];
        let mut after = Vec::new();
        if let Some(window) = window {
            let carried = &params[count + 1..];
            self.env.floats.extend(carried);
            let last = self.func.i64(window.width - 1);
            let index = if window.width > 1 { self.b().add(next, last) } else { next };
            let entering = self.load_lane(&window.array, index, window.lane);
            after.extend(&carried[1..window.width as usize]);
            after.push(entering);
            after.extend(Some(entering).filter(|_| window.last_twice));
        }
        if self.rng.chance(30) {
            self.refill();
        }
        if self.rng.chance(50) {
            self.some_statements(3);
        }
        for sum in &params[1..=count] {
            let term = self.expression(ty);
            let term = self.squash(term);
            again.push(match self.rng.below(12) {
                0..7 => self.b().fadd(*sum, term),
                7..10 => self.b().bin(BinOp::FSub, *sum, term),
                10 => self.add_under_condition(*sum, term),
                _ => self.b().bin(BinOp::FSub, term, *sum),
            });
        }
        if self.rng.chance(30) {
            self.fill(trips, params[0]);
        }
        let sums = again[1..].to_vec();
        again.extend(after);
        let bound = self.func.i64(trips);
        let done = self.b().icmp(IntPred::Eq, next, bound);
        let exit = self.func.add_block();
        self.b().branch(done, BlockCall::new(exit, vec![]), BlockCall::new(header, again));
        self.loops -= 1;
        self.block = exit;
        self.env = outside;
        sums
    }

    /// `if … { sum += term }`.
    fn add_under_condition(&mut self, sum: Value, term: Value) -> Value {
        let ty = self.func.ty(sum).clone();
        let cond = self.condition();
        let (more, join) = (self.func.add_block(), self.func.add_block());
        let result = self.func.add_param(join, ty);
        self.b().branch(cond, BlockCall::new(more, vec![]), BlockCall::new(join, vec![sum]));
        self.block = more;
        let added = self.b().fadd(sum, term);
        self.b().jump(join, vec![added]);
        self.block = join;
        result
    }

    /// Write to an element of an array in each iteration: mostly to another one.
    fn fill(&mut self, trips: i64, i: Value) {
        let Some(array) = self.array(|a: &Array| a.write && a.cap as i64 >= trips) else { return };
        let (offset, ty) = self.rng.pick(array.elem.lanes()).clone();
        if ty.is_float() {
            let index = if self.rng.chance(80) { i } else { self.index(array.cap) };
            let value = self.expression(&ty);
            let value = self.squash(value);
            let ptr = self.address(&array, index, offset);
            self.b().store(ptr, value);
        }
    }

    /// Write to all elements of an array, mostly: then what lay there before is gone.
    fn refill(&mut self) {
        let Some(array) = self.array(|a: &Array| a.write && a.cap > 2 && a.elem.lanes().len() == 1) else { return };
        let (offset, ty) = array.elem.lanes()[0].clone();
        if !ty.is_float() {
            return;
        }
        let all = self.rng.chance(75);
        let left_out = if all { [0, 0] } else { [(); 2].map(|()| self.rng.below(2) as i64) };
        let [first, bound] = [left_out[0], array.cap as i64 - left_out[1]].map(|number| self.func.i64(number));
        let (header, exit) = (self.func.add_block(), self.func.add_block());
        let i = self.func.add_param(header, Type::I64);
        self.b().jump(header, vec![first]);
        let outside = self.env.clone();
        self.block = header;
        self.loops += 1;
        self.env.ints.push(i);
        let value = self.expression(&ty);
        let value = self.squash(value);
        let ptr = self.address(&array, i, offset);
        self.b().store(ptr, value);
        let one = self.func.i64(1);
        let next = self.b().add(i, one);
        let done = self.b().icmp(IntPred::Eq, next, bound);
        self.b().branch(done, BlockCall::new(exit, vec![]), BlockCall::new(header, vec![next]));
        self.loops -= 1;
        self.block = exit;
        self.env = outside;
    }
}
