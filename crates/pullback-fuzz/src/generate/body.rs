//! One function in the making: what is in scope, and the choice of the next statement.

use super::calls::Helper;
use super::{Feature, Features, World};
use crate::rng::Rng;
use pullback_ir::{Block, Builder, Function, Op, Type, Value};

/// What an array consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elem {
    /// `f64`.
    F64,
    /// `f32`.
    F32,
    /// Three `f64`.
    Triple,
    /// `{f64, i64, f32, f32}`.
    Mixed,
}

impl Elem {
    /// Bytes from one element to the next.
    pub fn stride(self) -> u64 {
        match self {
            Elem::F64 => 8,
            Elem::F32 => 4,
            Elem::Triple | Elem::Mixed => 24,
        }
    }

    /// The scalars of an element: offset and type.
    pub fn lanes(self) -> &'static [(u64, Type)] {
        match self {
            Elem::F64 => &[(0, Type::F64)],
            Elem::F32 => &[(0, Type::F32)],
            Elem::Triple => &[(0, Type::F64), (8, Type::F64), (16, Type::F64)],
            Elem::Mixed => &[(0, Type::F64), (8, Type::I64), (16, Type::F32), (20, Type::F32)],
        }
    }

    /// Natural alignment.
    pub fn align(self) -> u64 {
        if self == Elem::F32 { 4 } else { 8 }
    }
}

/// Memory that may be indexed.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its address.
    pub ptr: Value,
    /// What is in it.
    pub elem: Elem,
    /// So many elements are surely there.
    pub cap: u64,
    /// How many there are, where that is a value of the program.
    pub len: Option<Value>,
    /// Whether it may be written to.
    pub write: bool,
    /// The object it lies in, where that is one: two arrays of different objects do not overlap.
    pub object: Option<usize>,
}

/// Memory that holds two pointers to arrays.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Its address.
    pub ptr: Value,
    /// What the arrays consist of.
    pub elem: Elem,
    /// How many elements they have at least.
    pub cap: u64,
}

/// What is in scope.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// Floats of both widths.
    pub floats: Vec<Value>,
    /// `i64`s.
    pub ints: Vec<Value>,
    /// Arrays.
    pub arrays: Vec<Array>,
    /// Arrays that live until the function returns, to be pointed to from slots.
    pub lasting: Vec<Array>,
    /// Pointers in memory.
    pub slots: Vec<Slot>,
    /// Lists: the head, and whether nodes may be written to.
    pub lists: Vec<(Value, bool)>,
}

/// One function in the making.
pub struct Body<'a> {
    /// The function.
    pub func: Function,
    /// Where instructions go.
    pub block: Block,
    /// What is in scope.
    pub env: Env,
    /// The random numbers.
    pub rng: &'a mut Rng,
    pub(super) world: &'a World,
    pub(super) helpers: &'a [Helper],
    pub(super) features: Features,
    /// How many more statements there may be.
    pub(super) budget: usize,
    /// How many loops are around the current place, and how many statements of any kind.
    pub(super) loops: usize,
    pub(super) depth: usize,
    /// Heap memory that is to be given back before the function returns: address and size.
    pub(super) heap: Vec<(Value, u64)>,
    /// Where returns go.
    pub(super) exit: Block,
    pub(super) ret: Option<Type>,
    objects: usize,
    /// Whether the current helper may return in the middle.
    pub(super) may_return: bool,
    /// The place of the result, written to before the function returns.
    pub(super) result: Option<Array>,
    /// What a recursive function calls itself by.
    pub(super) recursion: Option<super::calls::Recursion>,
}

impl<'a> Body<'a> {
    /// A function with an empty entry block.
    pub fn new(
        mut func: Function,
        ret: Option<Type>,
        world: &'a World,
        helpers: &'a [Helper],
        features: Features,
        rng: &'a mut Rng,
        budget: usize,
    ) -> Self {
        let block = func.add_block();
        for ty in func.params.clone() {
            func.add_param(block, ty);
        }
        let exit = func.add_block();
        if let Some(ty) = &ret {
            func.add_param(exit, ty.clone());
        }
        let value = func.block(exit).params.first().copied();
        Builder::new(&mut func, exit).ret(value);
        Body {
            func,
            block,
            env: Env::default(),
            rng,
            world,
            helpers,
            features,
            budget,
            loops: 0,
            depth: 0,
            heap: Vec::new(),
            exit,
            ret,
            objects: 0,
            may_return: true,
            result: None,
            recursion: None,
        }
    }

    /// A cursor at the current place.
    pub fn b(&mut self) -> Builder<'_> {
        Builder::new(&mut self.func, self.block)
    }

    /// Whether this may occur.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.has(feature)
    }

    /// A new object.
    pub fn object(&mut self) -> usize {
        self.objects += 1;
        self.objects
    }

    /// Memory on the stack, initialised, and slots for pointers to it.
    pub fn locals(&mut self) {
        if self.has(Feature::Memory) || self.has(Feature::Calls) {
            let mut elems = vec![Elem::F64];
            if self.has(Feature::Single) {
                elems.push(Elem::F32);
            }
            if self.has(Feature::Structs) {
                elems.push(Elem::Triple);
            }
            for i in 0..self.rng.between(1, 3) {
                let elem = if i == 0 { Elem::F64 } else { *self.rng.pick(&elems) };
                let cap = self.rng.between(3, 5) as u64;
                let ptr = self.b().alloca(elem.stride() * cap, 8);
                let array = Array { ptr, elem, cap, len: None, write: true, object: Some(self.object()) };
                self.initialise(&array);
                self.env.arrays.push(array);
            }
        }
        self.env.lasting = self.env.arrays.clone();
        if self.has(Feature::Slots) {
            self.make_slot();
        }
    }

    /// Statements up to the budget, then the end of the function.
    pub fn statements(&mut self) {
        while self.budget > 0 {
            self.statement();
        }
    }

    /// So many statements, as long as the budget lasts.
    pub fn some_statements(&mut self, most: usize) {
        self.depth += 1;
        for _ in 0..self.rng.between(1, most) {
            if self.budget > 0 {
                self.statement();
            }
        }
        self.depth -= 1;
    }

    /// One statement of any kind that may occur.
    pub fn statement(&mut self) {
        self.budget = self.budget.saturating_sub(1);
        let deep = self.depth >= 4;
        for _ in 0..20 {
            let done = match self.rng.below(35) {
                0..6 => self.arithmetic(),
                6..8 => self.has(Feature::Math) && self.float_function(),
                8 => self.has(Feature::Ints) && self.integer(),
                9 => self.has(Feature::Select) && self.float_select(),
                10 => self.has(Feature::Single) && self.conversion(),
                11..14 => self.load(),
                14..17 => self.store(),
                17 => self.has(Feature::Copies) && self.copy(),
                18 => self.has(Feature::Alias) && self.alias(),
                19 => self.has(Feature::Slots) && self.through_slot(),
                20 => self.has(Feature::Bits) && self.bit_copy(),
                21 => self.has(Feature::Pairs) && self.pair(),
                22 => self.has(Feature::Globals) && self.constant_load(),
                23 => self.has(Feature::Aggregates) && self.aggregate(),
                24 => self.has(Feature::Panics) && self.panic_check(),
                25 => self.has(Feature::Calls) && self.call(),
                26 => self.has(Feature::Returns) && self.may_return && self.early_return(),
                27 => self.has(Feature::Heap) && !deep && self.heap_scope(),
                28 => self.has(Feature::Branches) && !deep && self.branch(),
                29 => self.has(Feature::Branches) && !deep && self.switch(),
                30 | 31 => self.has(Feature::Loops) && !deep && self.counted_loop(),
                32 => self.has(Feature::Exits) && !deep && self.open_loop(),
                33 => self.has(Feature::Variants) && self.variants(),
                _ => self.has(Feature::Lists) && !deep && self.list(),
            };
            if done {
                return;
            }
        }
    }

    /// End the function: write or return something, and give heap memory back.
    pub fn finish(&mut self) {
        self.leave();
    }

    /// Give heap memory back and return a value; in the primal, write the result place first.
    pub fn leave(&mut self) {
        let value = match self.ret.clone() {
            None if self.has(Feature::Sums) => {
                self.sum_up();
                None
            }
            None => {
                self.store_to_result();
                self.store_summary();
                None
            }
            Some(ty) => Some(self.any_value(&ty)),
        };
        for (ptr, size) in self.heap.clone().into_iter().rev() {
            self.deallocate(ptr, size);
        }
        let exit = self.exit;
        self.b().jump(exit, value.into_iter().collect());
    }

    /// A value of any type a function may return.
    pub fn any_value(&mut self, ty: &Type) -> Value {
        match ty {
            Type::Struct(fields) => {
                let mut value = self.func.zero(ty);
                for (i, field) in fields.clone().iter().enumerate() {
                    let part = self.any_value(field);
                    value = self.b().value(Op::InsertValue(value, part, i as u32), ty.clone());
                }
                value
            }
            Type::Int(_) => self.int(),
            _ => self.float(ty),
        }
    }

    /// The function that was made.
    pub fn into_function(self) -> Function {
        self.func
    }
}
