//! Functions: values, blocks and instructions, and the edits passes make to them.

use crate::cfg::Edge;
use crate::entities::{Block, FuncId, GlobalId, Inst, OpaqueId, SourceLoc, Value};
use crate::inst::{BlockCall, Flags, Op, Terminator};
use crate::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

/// A constant. Constants of one function are shared: asking for the same one twice gives the same [`Value`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Constant {
    /// An integer: its bits, zero-extended.
    Int(u128),
    /// The bits of an `f32`.
    F32(u32),
    /// The bits of an `f64`.
    F64(u64),
    /// The null pointer.
    Null,
    /// All bytes zero, for aggregates.
    Zero,
    /// Any value will do.
    Undef,
    /// Using it is undefined behaviour.
    Poison,
    /// The address of a global.
    Global(GlobalId),
    /// The address of a function.
    Func(FuncId),
    /// A constant of the original program that is not modelled; the text is for messages.
    Opaque(OpaqueId, Arc<str>),
}

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ValueDef {
    /// A constant.
    Const(Constant),
    /// A parameter of a block: which block, which position.
    Param(Block, usize),
    /// The result of an instruction.
    Inst(Inst),
}

/// A value.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Its origin.
    pub def: ValueDef,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct InstData {
    /// What it does.
    pub op: Op,
    /// Its result, if it has one.
    pub result: Option<Value>,
    /// Facts kept from the original program.
    pub flags: Flags,
    /// Where it comes from.
    pub loc: Option<SourceLoc>,
}

/// Memory that a load or store touches: accesses of different classes of one function never touch the same byte. A hint
/// for the optimiser that comes after us; the text format does not show it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AliasClass(pub u32);

/// A basic block.
#[derive(Clone, Debug)]
pub struct BlockData {
    /// Its parameters.
    pub params: Vec<Value>,
    /// Its instructions, in order.
    pub insts: Vec<Inst>,
    /// Its end.
    pub term: Terminator,
    /// Where the end comes from.
    pub term_loc: Option<SourceLoc>,
}

/// What a function without a body may do to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryEffects {
    /// Neither reads nor writes.
    None,
    /// Reads only.
    Read,
    /// Anything.
    #[default]
    Any,
}

/// What is known of a function besides its body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FuncAttrs {
    /// Effects on memory.
    pub memory: MemoryEffects,
    /// Never returns (a panic).
    pub noreturn: bool,
    /// A call carries no derivative, whatever it is given: printing, formatting, hashing. The importer's policy, by
    /// name.
    pub inactive: bool,
}

/// A function: a declaration while it has no blocks, else a body whose first block is the entry. The entry's parameters
/// are the function's.
#[derive(Clone, Debug)]
pub struct Function {
    /// The linker symbol.
    pub name: String,
    /// Parameter types.
    pub params: Vec<Type>,
    /// Result type.
    pub ret: Option<Type>,
    /// What is known besides.
    pub attrs: FuncAttrs,
    values: Vec<ValueData>,
    insts: Vec<InstData>,
    blocks: Vec<BlockData>,
    order: Vec<Block>,
    constants: HashMap<(Type, Constant), Value>,
    alias_classes: HashMap<Inst, AliasClass>,
}

impl Function {
    /// A declaration.
    pub fn new(name: impl Into<String>, params: Vec<Type>, ret: Option<Type>) -> Self {
        Function {
            name: name.into(),
            params,
            ret,
            attrs: FuncAttrs::default(),
            values: Vec::new(),
            insts: Vec::new(),
            blocks: Vec::new(),
            order: Vec::new(),
            constants: HashMap::new(),
            alias_classes: HashMap::new(),
        }
    }

    /// The memory a load or store touches; `None` may be any.
    pub fn alias_class(&self, inst: Inst) -> Option<AliasClass> {
        self.alias_classes.get(&inst).copied()
    }

    /// Say which memory each load or store touches, in place of what was said before.
    pub fn set_alias_classes(&mut self, classes: HashMap<Inst, AliasClass>) {
        self.alias_classes = classes;
    }

    /// All classes that loads and stores have, in order.
    pub fn alias_classes(&self) -> Vec<AliasClass> {
        let mut all: Vec<_> = self.alias_classes.values().copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether there is no body.
    pub fn is_declaration(&self) -> bool {
        self.order.is_empty()
    }

    /// The entry block.
    ///
    /// # Panics
    /// If this is a declaration.
    pub fn entry(&self) -> Block {
        self.order[0]
    }

    /// The parameters as values: those of the entry block.
    pub fn param_values(&self) -> &[Value] {
        &self.block(self.entry()).params
    }

    /// The blocks in layout order, entry first.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + '_ {
        self.order.iter().copied()
    }

    /// How many blocks were ever made: a bound for tables indexed by block.
    pub fn block_bound(&self) -> usize {
        self.blocks.len()
    }

    /// How many values there are: a bound for tables indexed by value.
    pub fn value_bound(&self) -> usize {
        self.values.len()
    }

    /// How many instructions were ever made: a bound for tables indexed by instruction.
    pub fn inst_bound(&self) -> usize {
        self.insts.len()
    }

    /// A block.
    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block.index()]
    }

    /// A block, to change.
    pub fn block_mut(&mut self, block: Block) -> &mut BlockData {
        &mut self.blocks[block.index()]
    }

    /// An instruction.
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst.index()]
    }

    /// An instruction, to change. The type of its result is changed by [`Function::set_type`].
    pub fn inst_mut(&mut self, inst: Inst) -> &mut InstData {
        &mut self.insts[inst.index()]
    }

    /// A value.
    pub fn value(&self, value: Value) -> &ValueData {
        &self.values[value.index()]
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value.index()].ty
    }

    /// Give a value another type.
    pub fn set_type(&mut self, value: Value, ty: Type) {
        self.values[value.index()].ty = ty;
    }

    /// The constant behind a value.
    pub fn as_const(&self, value: Value) -> Option<&Constant> {
        match &self.value(value).def {
            ValueDef::Const(c) => Some(c),
            _ => None,
        }
    }

    /// The integer behind a constant value, sign-extended from its type.
    pub fn as_int(&self, value: Value) -> Option<i128> {
        match (self.as_const(value)?, self.ty(value)) {
            (Constant::Int(bits), Type::Int(width)) => {
                let shift = 128 - u32::from(*width);
                Some(((*bits << shift) as i128) >> shift)
            }
            (Constant::Zero, Type::Int(_)) => Some(0),
            _ => None,
        }
    }

    /// The instruction whose result this value is.
    pub fn def_inst(&self, value: Value) -> Option<Inst> {
        match self.value(value).def {
            ValueDef::Inst(inst) => Some(inst),
            _ => None,
        }
    }

    /// What makes this value, if an instruction does.
    pub fn def_op(&self, value: Value) -> Option<&Op> {
        self.def_inst(value).map(|inst| &self.inst(inst).op)
    }

    /// The result of an instruction.
    ///
    /// # Panics
    /// If it has none.
    pub fn result(&self, inst: Inst) -> Value {
        self.inst(inst).result.unwrap_or_else(|| panic!("{:?} has no result", self.inst(inst).op))
    }

    /// The instructions of all blocks, in layout order.
    pub fn insts(&self) -> impl Iterator<Item = Inst> + '_ {
        self.blocks().flat_map(|block| self.block(block).insts.iter().copied())
    }

    /// The instructions of these blocks, in order.
    pub fn insts_in<'a>(&'a self, blocks: &'a [Block]) -> impl Iterator<Item = &'a InstData> {
        blocks.iter().flat_map(|block| &self.block(*block).insts).map(|inst| self.inst(*inst))
    }

    /// What the instructions of all blocks do, in layout order.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        self.insts().map(|inst| &self.inst(inst).op)
    }

    /// Make a body of a declaration: an entry block, with the function's parameters.
    pub fn add_entry(&mut self) -> (Block, Vec<Value>) {
        let entry = self.add_block();
        let params = self.params.clone().into_iter().map(|ty| self.add_param(entry, ty)).collect();
        (entry, params)
    }

    /// Append a new block.
    pub fn add_block(&mut self) -> Block {
        let block = Block::from_index(self.blocks.len());
        self.blocks.push(BlockData {
            params: Vec::new(),
            insts: Vec::new(),
            term: Terminator::Unreachable,
            term_loc: None,
        });
        self.order.push(block);
        block
    }

    /// Make `block` the entry.
    pub fn set_entry(&mut self, block: Block) {
        self.order.retain(|b| *b != block);
        self.order.insert(0, block);
    }

    /// Keep only these blocks in the function; the layout order stays.
    pub fn retain_blocks(&mut self, keep: impl Fn(Block) -> bool) {
        self.order.retain(|b| keep(*b));
    }

    /// Let an edge lead elsewhere; where it led.
    pub fn redirect(&mut self, edge: Edge, to: BlockCall) -> BlockCall {
        std::mem::replace(self.block_mut(edge.from).term.targets_mut()[edge.index], to)
    }

    /// Append a parameter to a block.
    pub fn add_param(&mut self, block: Block, ty: Type) -> Value {
        let position = self.blocks[block.index()].params.len();
        let value = self.new_value(ty, ValueDef::Param(block, position));
        self.blocks[block.index()].params.push(value);
        value
    }

    /// What jumps pass to a block's parameter.
    pub fn passed_to(&self, block: Block, index: usize) -> impl Iterator<Item = Value> + '_ {
        let terms = self.blocks().map(|from| &self.block(from).term);
        let jumps = terms.flat_map(|term| term.targets()).filter(move |target| target.block == block);
        jumps.map(move |target| target.args[index])
    }

    /// A constant of this type.
    pub fn constant(&mut self, ty: Type, constant: Constant) -> Value {
        if let Some(value) = self.constants.get(&(ty.clone(), constant.clone())) {
            return *value;
        }
        let value = self.new_value(ty.clone(), ValueDef::Const(constant.clone()));
        self.constants.insert((ty, constant), value);
        value
    }

    /// The constants that there are; an instruction or a terminator may use them.
    pub fn constants(&self) -> impl Iterator<Item = (Value, &Constant)> {
        self.constants.iter().map(|((_, constant), value)| (*value, constant))
    }

    /// An integer constant; `value` is cut to the width of `ty`.
    pub fn int(&mut self, ty: Type, value: i128) -> Value {
        let Type::Int(width) = ty else { panic!("integer constant of type {ty}") };
        let mask = if width >= 128 { u128::MAX } else { (1 << width) - 1 };
        self.constant(ty, Constant::Int(value as u128 & mask))
    }

    /// An `i64` constant.
    pub fn i64(&mut self, value: i64) -> Value {
        self.int(Type::I64, i128::from(value))
    }

    /// A float constant of type `f32` or `f64`.
    pub fn float(&mut self, ty: Type, value: f64) -> Value {
        match ty {
            Type::F32 => self.constant(ty, Constant::F32((value as f32).to_bits())),
            Type::F64 => self.constant(ty, Constant::F64(value.to_bits())),
            other => panic!("float constant of type {other}"),
        }
    }

    /// The zero of any modelled type.
    pub fn zero(&mut self, ty: &Type) -> Value {
        match ty {
            Type::Int(_) => self.int(ty.clone(), 0),
            Type::F32 | Type::F64 => self.float(ty.clone(), 0.0),
            Type::Ptr => self.constant(Type::Ptr, Constant::Null),
            Type::Struct(_) | Type::Opaque(..) => self.constant(ty.clone(), Constant::Zero),
        }
    }

    /// Make an instruction that belongs to no block yet; put it into one with [`Function::block_mut`].
    pub fn make_inst(&mut self, op: Op, ty: Option<Type>, flags: Flags, loc: Option<SourceLoc>) -> Inst {
        let inst = Inst::from_index(self.insts.len());
        let ty = crate::inst::fixed_result(&op).or(ty);
        self.insts.push(InstData { op, result: None, flags, loc });
        if let Some(ty) = ty {
            let value = self.new_value(ty, ValueDef::Inst(inst));
            self.insts[inst.index()].result = Some(value);
        }
        inst
    }

    /// The same instruction on other operands, in no block yet.
    pub fn copy_inst(&mut self, inst: Inst, map: impl FnMut(Value) -> Value) -> Inst {
        let InstData { op, result, flags, loc } = self.inst(inst).clone();
        let ty = result.map(|result| self.ty(result).clone());
        self.make_inst(op.map_operands(map), ty, flags, loc)
    }

    /// Cut a block in two: a new block has its instructions from a position on, and its end. The first half has no end
    /// yet.
    pub fn split_block(&mut self, block: Block, at: usize) -> Block {
        let rest = self.add_block();
        let data = self.block_mut(block);
        let insts = data.insts.split_off(at);
        let (term, term_loc) = (std::mem::replace(&mut data.term, Terminator::Unreachable), data.term_loc.take());
        *self.block_mut(rest) = BlockData { params: Vec::new(), insts, term, term_loc };
        rest
    }

    /// Predecessors of each block, by block index; a block that jumps twice to the same target counts twice.
    pub fn predecessors(&self) -> Vec<Vec<Block>> {
        let mut preds = vec![Vec::new(); self.blocks.len()];
        for block in self.blocks() {
            for target in self.block(block).term.targets() {
                preds[target.block.index()].push(block);
            }
        }
        preds
    }

    /// Replace every use of `from` in live blocks by `to`.
    pub fn replace_uses(&mut self, from: Value, to: Value) {
        self.map_values(|v| if v == from { to } else { v });
    }

    /// Replace every value that is used in live blocks.
    pub fn map_values(&mut self, mut map: impl FnMut(Value) -> Value) {
        for i in 0..self.order.len() {
            let block = self.order[i];
            for k in 0..self.block(block).insts.len() {
                let inst = self.block(block).insts[k];
                let data = self.inst_mut(inst);
                let op = std::mem::replace(&mut data.op, Op::Alloca { size: 0, align: 1 });
                data.op = op.map_operands(&mut map);
            }
            self.block_mut(block).term.map_operands(&mut map);
        }
    }

    /// Give a declaration its body, with tables made elsewhere.
    pub(crate) fn install_body(
        &mut self,
        values: Vec<ValueData>,
        insts: Vec<InstData>,
        blocks: Vec<BlockData>,
        order: Vec<Block>,
    ) {
        for (i, data) in values.iter().enumerate() {
            if let ValueDef::Const(c) = &data.def {
                self.constants.entry((data.ty.clone(), c.clone())).or_insert(Value::from_index(i));
            }
        }
        (self.values, self.insts, self.blocks, self.order) = (values, insts, blocks, order);
    }

    fn new_value(&mut self, ty: Type, def: ValueDef) -> Value {
        let value = Value::from_index(self.values.len());
        self.values.push(ValueData { ty, def });
        value
    }
}
