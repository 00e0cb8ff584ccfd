//! Statements with records whose payload is a float, a pointer or a number, as their tag says: enums.

use super::body::{Array, Body, Elem};
use pullback_ir::{BlockCall, CastOp, Op, Terminator, Type, Value};

/// Bytes of a record: the tag, and the payload.
const RECORD: u64 = 16;
/// Records of a buffer.
const COUNT: u64 = 4;

/// What a record's tag says.
const FLOAT: i64 = 0;
const POINTER: i64 = 1;
const NUMBER: i64 = 2;

impl Body<'_> {
    /// Two buffers of records: filled, moved about in all ways, and read.
    pub fn variants(&mut self) -> bool {
        let fits = |a: &&Array| a.write && a.elem == Elem::F64;
        let targets: Vec<Array> = self.env.lasting.iter().filter(fits).cloned().collect();
        if targets.is_empty() {
            return false;
        }
        let buffers = [(); 2].map(|()| self.allocate(RECORD * COUNT));
        for buffer in buffers {
            for i in 0..COUNT {
                let record = self.b().offset(buffer, (i * RECORD) as i64);
                // Without a number there, one that is read would be taken for the bits of a float, and refused.
                let (payload, number) = (self.b().offset(record, 8), self.func.i64(3));
                self.b().store(payload, number);
                self.put(record, &targets);
            }
        }
        for _ in 0..self.rng.between(1, 6) {
            let record = self.record(&buffers);
            match self.rng.below(8) {
                0 => self.put(record, &targets),
                1 => self.put_either(record, &targets),
                2 => {
                    let (other, len) = (self.record(&buffers), self.func.i64(RECORD as i64));
                    self.move_bytes(record, other, len);
                }
                3 => self.move_many(&buffers),
                4 => {
                    let other = self.record(&buffers);
                    self.move_words(record, other);
                }
                5 => {
                    let other = self.record(&buffers);
                    self.swap_words(record, other);
                }
                6 => {
                    let other = self.record(&buffers);
                    self.move_by_way(record, other);
                }
                _ => {
                    let (byte, len) = (self.func.int(Type::I8, 0), self.func.i64(RECORD as i64));
                    self.b().push(Op::Fill { dst: record, byte, len, align: 8 }, None);
                }
            }
        }
        for _ in 0..self.rng.between(1, 3) {
            let record = self.record(&buffers);
            self.read(record);
        }
        for buffer in buffers.into_iter().rev() {
            self.deallocate(buffer, RECORD * COUNT);
        }
        true
    }

    /// The address of a record.
    fn record(&mut self, buffers: &[Value]) -> Value {
        let (buffer, index) = (*self.rng.pick(buffers), self.index(COUNT));
        let stride = self.func.i64(RECORD as i64);
        let bytes = self.b().mul(index, stride);
        self.b().ptr_add(buffer, bytes)
    }

    /// Write a record of some variant.
    fn put(&mut self, record: Value, targets: &[Array]) {
        let (tag, value) = match self.rng.below(3) {
            0 => (FLOAT, self.payload_float()),
            1 => (POINTER, self.rng.pick(targets).ptr),
            _ => (NUMBER, self.masked(7)),
        };
        let tag = self.func.i64(tag);
        self.b().store(record, tag);
        let payload = self.b().offset(record, 8);
        self.b().store(payload, value);
    }

    fn payload_float(&mut self) -> Value {
        let value = self.expression(&Type::F64);
        self.squash(value)
    }

    /// Write a record whose variant is decided by data; the payload passes through a variable of no type.
    fn put_either(&mut self, record: Value, targets: &[Array]) {
        let (yes, no, join) = (self.func.add_block(), self.func.add_block(), self.func.add_block());
        let (tag, word) = (self.func.add_param(join, Type::I64), self.func.add_param(join, Type::I64));
        let cond = self.condition();
        self.b().branch(cond, BlockCall::new(yes, vec![]), BlockCall::new(no, vec![]));
        let outside = self.env.clone();
        for side in [yes, no] {
            self.block = side;
            self.env = outside.clone();
            let (tag, word) = match self.rng.below(3) {
                0 => {
                    let value = self.payload_float();
                    (FLOAT, self.b().cast(CastOp::Bitcast, value, Type::I64))
                }
                1 => {
                    let ptr = self.rng.pick(targets).ptr;
                    (POINTER, self.b().cast(CastOp::PtrToInt, ptr, Type::I64))
                }
                _ => (NUMBER, self.masked(7)),
            };
            let tag = self.func.i64(tag);
            self.b().jump(join, vec![tag, word]);
        }
        self.env = outside;
        self.block = join;
        self.b().store(record, tag);
        let payload = self.b().offset(record, 8);
        self.b().store(payload, word);
    }

    fn move_bytes(&mut self, dst: Value, src: Value, len: Value) {
        self.b().push(Op::Copy { dst, src, len, may_overlap: true, align: (8, 8) }, None);
    }

    /// Move some records at once, within a buffer or from one to the other.
    fn move_many(&mut self, buffers: &[Value]) {
        let place = |this: &mut Self| {
            let (buffer, shift) = (*this.rng.pick(buffers), this.rng.below(3) as u64 * RECORD);
            this.b().offset(buffer, shift as i64)
        };
        let (dst, src) = (place(self), place(self));
        let (count, stride) = (self.masked(1), self.func.i64(RECORD as i64));
        let one = self.func.i64(1);
        let count = self.b().add(count, one);
        let len = self.b().mul(count, stride);
        self.move_bytes(dst, src, len);
    }

    /// Move a record as two words; the payload as whatever type.
    fn move_words(&mut self, dst: Value, src: Value) {
        let ty = self.rng.pick(&[Type::I64, Type::F64, Type::Ptr]).clone();
        let tag = self.b().load(Type::I64, src);
        let from = self.b().offset(src, 8);
        let word = self.b().load(ty, from);
        self.b().store(dst, tag);
        let to = self.b().offset(dst, 8);
        self.b().store(to, word);
    }

    /// Move a record by way of places where its payload is seen as one type only, which may have held a float before.
    fn move_by_way(&mut self, dst: Value, src: Value) {
        let ty = self.rng.pick(&[Type::I64, Type::F64, Type::F64, Type::Ptr]).clone();
        let tag = self.b().load(Type::I64, src);
        let mut from = self.b().offset(src, 8);
        let places: Vec<Value> = (0..self.rng.between(1, 2)).map(|_| self.allocate(8)).collect();
        for place in &places {
            if self.rng.chance(30) {
                let value = self.payload_float();
                self.b().store(*place, value);
            }
            let word = self.b().load(ty.clone(), from);
            self.b().store(*place, word);
            from = *place;
        }
        let word = self.b().load(ty, from);
        self.b().store(dst, tag);
        let to = self.b().offset(dst, 8);
        self.b().store(to, word);
        for place in places.into_iter().rev() {
            self.deallocate(place, 8);
        }
    }

    fn swap_words(&mut self, a: Value, b: Value) {
        for offset in [0, 8] {
            let (p, q) = (self.b().offset(a, offset), self.b().offset(b, offset));
            let (x, y) = (self.b().load(Type::I64, p), self.b().load(Type::I64, q));
            self.b().store(p, y);
            self.b().store(q, x);
        }
    }

    /// Read a record as its tag says. The payload is loaded in each arm, or before as a word.
    fn read(&mut self, record: Value) {
        let tag = self.b().load(Type::I64, record);
        let payload = self.b().offset(record, 8);
        let word = self.rng.chance(40).then(|| self.b().load(Type::I64, payload));
        let arms = [(); 3].map(|()| self.func.add_block());
        let join = self.func.add_block();
        let value = self.func.add_param(join, Type::F64);
        let to = |i: usize| BlockCall::new(arms[i], vec![]);
        let cases = vec![(FLOAT as u128, to(0)), (POINTER as u128, to(1))];
        self.b().terminate(Terminator::Switch(tag, cases, to(2)));
        for (i, arm) in arms.into_iter().enumerate() {
            self.block = arm;
            let mut b = self.b();
            let float = match (i, word) {
                (0, None) => b.load(Type::F64, payload),
                (0, Some(word)) => b.cast(CastOp::Bitcast, word, Type::F64),
                (1, word) => {
                    let ptr = match word {
                        Some(word) => b.cast(CastOp::IntToPtr, word, Type::Ptr),
                        None => b.load(Type::Ptr, payload),
                    };
                    b.load(Type::F64, ptr)
                }
                (_, word) => {
                    let number = word.unwrap_or_else(|| b.load(Type::I64, payload));
                    b.cast(CastOp::SiToFp, number, Type::F64)
                }
            };
            self.b().jump(join, vec![float]);
        }
        self.block = join;
        let value = self.squash(value);
        self.env.floats.push(value);
    }
}
