//! Statements on memory.

use super::body::{Array, Body, Elem, Slot};
use super::{Feature, TABLE_LEN};
use pullback_ir::{BinOp, Constant, Op, Type, Value};

impl Body<'_> {
    /// An array that is as `test` says.
    pub fn array(&mut self, test: impl Fn(&Array) -> bool) -> Option<Array> {
        let known: Vec<&Array> = self.env.arrays.iter().filter(|a| test(a)).collect();
        if known.is_empty() { None } else { Some((*self.rng.pick(&known)).clone()) }
    }

    /// An index into the first `cap` elements: a constant, or cut to size in one of several ways.
    pub fn index(&mut self, cap: u64) -> Value {
        if cap == 1 || !self.has(Feature::Ints) || self.rng.chance(35) {
            let value = self.rng.below(cap as usize) as i64;
            return self.func.i64(value);
        }
        let value = self.int();
        match self.rng.below(3) {
            0 => {
                let cap = self.func.i64(cap as i64);
                self.b().bin(BinOp::URem, value, cap)
            }
            1 => {
                let last = self.func.i64(cap as i64 - 1);
                self.b().value(Op::Intrinsic("llvm.umin.i64".into(), vec![value, last]), Type::I64)
            }
            _ => {
                let mask = (cap + 1).next_power_of_two() / 2 - 1;
                let mask = self.func.i64(mask as i64);
                self.b().bin(BinOp::And, value, mask)
            }
        }
    }

    /// The address of an element's scalar.
    pub fn address(&mut self, array: &Array, index: Value, offset: u64) -> Value {
        let stride = self.func.i64(array.elem.stride() as i64);
        let bytes = match self.func.as_int(index) {
            Some(index) => self.func.i64(index as i64 * array.elem.stride() as i64),
            None => self.b().mul(index, stride),
        };
        if self.rng.chance(50) {
            let element = self.b().ptr_add(array.ptr, bytes);
            return self.b().offset(element, offset as i64);
        }
        let offset = self.func.i64(offset as i64);
        let bytes = self.b().add(bytes, offset);
        self.b().ptr_add(array.ptr, bytes)
    }

    /// Read a scalar of an element into scope.
    pub fn load_lane(&mut self, array: &Array, index: Value, (offset, ty): (u64, Type)) -> Value {
        let ptr = self.address(array, index, offset);
        let value = self.b().load(ty.clone(), ptr);
        if ty.is_float() {
            self.env.floats.push(value);
        } else {
            let seven = self.func.i64(7);
            let small = self.b().bin(BinOp::And, value, seven);
            self.env.ints.push(small);
        }
        value
    }

    /// Read from an array.
    pub fn load(&mut self) -> bool {
        let Some(array) = self.array(|_| true) else { return false };
        let index = self.index(array.cap);
        let lane = self.rng.pick(array.elem.lanes()).clone();
        self.load_lane(&array, index, lane);
        true
    }

    /// Write to an array, or add to an element of it.
    pub fn store(&mut self) -> bool {
        let Some(array) = self.array(|a| a.write) else { return false };
        self.store_to(&array);
        true
    }

    /// Write to the place of the result.
    pub fn store_to_result(&mut self) {
        if let Some(array) = self.result.clone() {
            self.store_to(&array);
        }
    }

    /// Add many of the floats in scope, and one of each array, to the place of the result, so that little is computed
    /// in vain.
    pub fn store_summary(&mut self) {
        let Some(result) = self.result.clone() else { return };
        for array in self.env.arrays.clone() {
            let index = self.index(array.cap);
            let lane = self.rng.pick(array.elem.lanes()).clone();
            self.load_lane(&array, index, lane);
        }
        let index = self.index(result.cap);
        let (offset, ty) = self.rng.pick(result.elem.lanes()).clone();
        if !ty.is_float() {
            return;
        }
        let ptr = self.address(&result, index, offset);
        let mut sum = self.b().load(ty.clone(), ptr);
        for value in self.env.floats.clone() {
            if *self.func.ty(value) == ty && self.rng.chance(60) {
                let weight = self.func.float(ty.clone(), 0.5 + self.rng.below(8) as f64 / 16.0);
                let term = self.b().fmul(value, weight);
                sum = self.b().fadd(sum, term);
            }
        }
        self.b().store(ptr, sum);
    }

    fn store_to(&mut self, array: &Array) {
        let index = self.index(array.cap);
        let (offset, ty) = self.rng.pick(array.elem.lanes()).clone();
        let ptr = self.address(array, index, offset);
        let mut value = if ty.is_float() { self.expression(&ty) } else { self.masked(7) };
        if ty.is_float() {
            if self.rng.chance(40) {
                let old = self.b().load(ty.clone(), ptr);
                value = self.b().fadd(old, value);
            }
            if self.loops > 0 || self.recursion.is_some() || self.rng.chance(30) {
                value = self.squash(value);
            }
        }
        self.b().store(ptr, value);
    }

    /// Give every element a value.
    pub fn initialise(&mut self, array: &Array) {
        let same = |a: &Array| a.elem == array.elem && a.cap >= array.cap && a.object != array.object;
        let size = (array.elem.stride() * array.cap) as i64;
        if self.has(Feature::Copies) && self.rng.chance(40) {
            let align = array.elem.align();
            let len = self.func.i64(size);
            if let Some(source) = self.array(same) {
                let op = Op::Copy { dst: array.ptr, src: source.ptr, len, may_overlap: false, align: (align, align) };
                self.b().push(op, None);
                return;
            }
            let byte = self.func.int(Type::I8, 0);
            self.b().push(Op::Fill { dst: array.ptr, byte, len, align }, None);
            return;
        }
        for i in 0..array.cap {
            for (offset, ty) in array.elem.lanes() {
                let value = if ty.is_float() { self.float(ty) } else { self.masked(7) };
                let ptr = self.b().offset(array.ptr, (i * array.elem.stride() + offset) as i64);
                self.b().store(ptr, value);
            }
        }
    }

    /// The scalars of an array of triples, one by one.
    fn flat(&self, array: Array) -> Array {
        match array.elem {
            Elem::Triple => Array { elem: Elem::F64, cap: 3 * array.cap, len: None, ..array },
            _ => array,
        }
    }

    /// `memmove` inside an array, from a place to another one and of a length that are known when the program runs:
    /// they may overlap in every way.
    pub fn slide(&mut self) -> bool {
        let Some(array) = self.array(|a| a.write && (a.cap > 1 || a.elem == Elem::Triple)) else { return false };
        let array = if self.rng.chance(50) { self.flat(array) } else { array };
        if array.cap < 2 {
            return false;
        }
        let most = self.rng.between(1, array.cap as usize - 1) as u64;
        let [dst, src] = [(); 2].map(|()| {
            let index = self.index(array.cap - most + 1);
            self.address(&array, index, 0)
        });
        let (count, stride) = (self.index(most + 1), self.func.i64(array.elem.stride() as i64));
        let len = self.b().mul(count, stride);
        let align = array.elem.align();
        self.b().push(Op::Copy { dst, src, len, may_overlap: true, align: (align, align) }, None);
        true
    }

    /// `memcpy` between arrays, `memmove` inside one, `memset` to zero.
    pub fn copy(&mut self) -> bool {
        if self.rng.chance(50) {
            return self.slide();
        }
        let Some(to) = self.array(|a| a.write && a.cap > 1) else { return false };
        let (stride, align) = (to.elem.stride(), to.elem.align());
        let count = if self.has(Feature::Ints) && self.rng.chance(40) {
            self.masked(1)
        } else {
            let count = self.rng.between(1, to.cap as usize - 1) as i64;
            self.func.i64(count)
        };
        let stride_value = self.func.i64(stride as i64);
        let len = self.b().mul(count, stride_value);
        let last = (to.cap - self.func.as_int(count).map_or(1, |c| c as u64)) as usize;
        let shift = (self.rng.between(0, last) as u64 * stride) as i64;
        let dst = self.b().offset(to.ptr, shift);
        let from = self.array(|a| a.elem == to.elem && a.cap >= to.cap);
        match from {
            Some(from) if self.rng.chance(80) => {
                let apart = from.object.is_some() && to.object.is_some() && from.object != to.object;
                let may_overlap = !apart || self.rng.chance(20);
                let op = Op::Copy { dst, src: from.ptr, len, may_overlap, align: (align, align) };
                self.b().push(op, None);
            }
            _ => {
                let byte = self.func.int(Type::I8, 0);
                self.b().push(Op::Fill { dst, byte, len, align }, None);
            }
        }
        true
    }

    /// A pointer to one of two arrays, or into the middle of one.
    pub fn alias(&mut self) -> bool {
        let Some(a) = self.array(|_| true) else { return false };
        if a.cap > 1 && self.rng.chance(40) {
            let index = self.index(a.cap / 2 + 1);
            let ptr = self.address(&a, index, 0);
            let cap = a.cap - a.cap / 2;
            self.env.arrays.push(Array { ptr, cap, len: None, ..a });
            return true;
        }
        let Some(b) = self.array(|b| b.elem == a.elem && b.write == a.write) else { return false };
        let cond = self.condition();
        let ptr = self.b().select(cond, a.ptr, b.ptr);
        let object = if a.object == b.object { a.object } else { None };
        self.env.arrays.push(Array { ptr, cap: a.cap.min(b.cap), len: None, object, ..a });
        true
    }

    /// Memory for two pointers.
    pub fn make_slot(&mut self) {
        let writable: Vec<Array> = self.env.lasting.iter().filter(|a| a.write).cloned().collect();
        if writable.is_empty() {
            return;
        }
        let a = self.rng.pick(&writable).clone();
        let same: Vec<&Array> = writable.iter().filter(|b| b.elem == a.elem).collect();
        let b = (*self.rng.pick(&same)).clone();
        let ptr = self.b().alloca(16, 8);
        self.b().store(ptr, a.ptr);
        let second = self.b().offset(ptr, 8);
        self.b().store(second, b.ptr);
        self.env.slots.push(Slot { ptr, elem: a.elem, cap: a.cap.min(b.cap) });
    }

    /// Put a pointer into memory, or take one out.
    pub fn through_slot(&mut self) -> bool {
        if self.env.slots.is_empty() {
            return false;
        }
        let slot = self.rng.pick(&self.env.slots).clone();
        let index = self.masked(1);
        let eight = self.func.i64(8);
        let offset = self.b().mul(index, eight);
        let place = self.b().ptr_add(slot.ptr, offset);
        let fits = |a: &&Array| a.write && a.elem == slot.elem && a.cap >= slot.cap;
        let lasting: Vec<Array> = self.env.lasting.iter().filter(fits).cloned().collect();
        if self.rng.chance(40) && !lasting.is_empty() {
            let ptr = self.rng.pick(&lasting).ptr;
            self.b().store(place, ptr);
        } else {
            let ptr = self.b().load(Type::Ptr, place);
            self.env.arrays.push(Array { ptr, elem: slot.elem, cap: slot.cap, len: None, write: true, object: None });
        }
        true
    }

    /// Read the table of constants.
    pub fn constant_load(&mut self) -> bool {
        let table = self.world.table;
        let ptr = self.func.constant(Type::Ptr, Constant::Global(table));
        let array = Array { ptr, elem: Elem::F64, cap: TABLE_LEN, len: None, write: false, object: None };
        let index = self.index(TABLE_LEN);
        self.load_lane(&array, index, (0, Type::F64));
        true
    }

    /// Heap memory of so many bytes.
    pub fn allocate(&mut self, size: u64) -> Value {
        let (func, zeroed) = (self.world.alloc, false);
        let (size, align) = (self.func.i64(size as i64), self.func.i64(8));
        self.b().value(Op::Alloc { size, align, zeroed, func }, Type::Ptr)
    }

    /// Give heap memory back.
    pub fn deallocate(&mut self, ptr: Value, size: u64) {
        let func = self.world.dealloc;
        let (size, align) = (self.func.i64(size as i64), self.func.i64(8));
        self.b().push(Op::Dealloc { ptr, size, align, func }, None);
    }

    /// Statements with an array on the heap.
    pub fn heap_scope(&mut self) -> bool {
        let elem = if self.has(Feature::Structs) && self.rng.chance(30) { Elem::Triple } else { Elem::F64 };
        let cap = self.rng.between(3, 5) as u64;
        let size = cap * elem.stride();
        let ptr = self.allocate(size);
        let array = Array { ptr, elem, cap, len: None, write: true, object: Some(self.object()) };
        self.initialise(&array);
        let outside = self.env.clone();
        self.env.arrays.push(array.clone());
        self.heap.push((ptr, size));
        self.some_statements(5);
        let index = self.index(cap);
        let lane = self.rng.pick(elem.lanes()).clone();
        let kept = self.load_lane(&array, index, lane);
        self.heap.pop();
        self.deallocate(ptr, size);
        self.env = outside;
        self.env.floats.push(kept);
        true
    }
}
