//! One function's body: blocks, parameters, terminators.

use super::Importer;
use crate::Module;
use crate::ffi::{BlockRef, InstRef, ValueRef, llvm};
use crate::kinds::{opcode, value_kind};
use pullback_ir::{Block, BlockCall, Builder, Cleanup, FuncId, Function, Inst, Op, SourceLoc, Terminator, Type, Value};
use std::collections::{HashMap, HashSet};

/// What is known while one function is imported.
pub(super) struct Body<'i, 'm> {
    pub imp: &'i mut Importer<'m>,
    pub func: Function,
    pub values: HashMap<ValueRef, Value>,
    /// Where each LLVM block begins. It may go on in further IR blocks.
    pub blocks: HashMap<BlockRef, Block>,
    /// Where instructions go.
    pub current: Block,
    pub loc: Option<SourceLoc>,
    /// What the call that is being imported does if it panics.
    pub cleanup: Option<Cleanup>,
    part: Part,
    /// Instructions that compute constants; they end up at the head of the entry block.
    pub head: Vec<Inst>,
}

/// What a body is of an LLVM function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The function, as it runs when nothing panics.
    Function,
    /// What comes after a landing pad.
    Cleanup,
}

/// Why a body cannot be imported.
pub(super) type Reason = String;

impl Importer<'_> {
    /// The function with its body.
    pub(super) fn body(&mut self, raw: ValueRef, id: FuncId) -> Result<Function, Reason> {
        let func = self.ir.func(id).clone();
        let entry = llvm!(self.module.api(), LLVMGetEntryBasicBlock(raw));
        let params = (0..func.params.len()).map(|i| llvm!(self.module.api(), LLVMGetParam(raw, i as u32))).collect();
        self.body_from(func, entry, params, Part::Function)
    }

    /// A clean-up function: what comes after a landing pad. Its parameters are the landing pad's phis, and what is
    /// captured.
    pub(super) fn cleanup_body(
        &mut self,
        func: Function,
        pad: BlockRef,
        captured: &[ValueRef],
    ) -> Result<Function, Reason> {
        let params = self.module.phis(pad).into_iter().chain(captured.iter().copied()).collect();
        self.body_from(func, pad, params, Part::Cleanup)
    }

    fn body_from(
        &mut self,
        func: Function,
        entry: BlockRef,
        params: Vec<ValueRef>,
        part: Part,
    ) -> Result<Function, Reason> {
        let module = self.module;
        let order = reverse_postorder(module, entry);
        let mut body = Body {
            imp: self,
            func,
            part,
            values: HashMap::new(),
            blocks: HashMap::new(),
            current: Block::from_index(0),
            loc: None,
            cleanup: None,
            head: Vec::new(),
        };
        for (position, block) in order.iter().enumerate() {
            let new = body.func.add_block();
            body.blocks.insert(*block, new);
            if position == 0 {
                body.parameters(&params, new);
            } else {
                body.phis(*block, new);
            }
        }
        for block in &order {
            body.block(*block)?;
        }
        let entry = body.func.entry();
        let head = std::mem::take(&mut body.head);
        body.func.block_mut(entry).insts.splice(0..0, head);
        body.drop_empty_dead_ends();
        Ok(body.func)
    }
}

impl Module {
    /// Where a block may go next. An `invoke` that panics goes to its landing pad.
    pub(super) fn successors(&self, block: BlockRef) -> Vec<BlockRef> {
        let term = llvm!(self.api(), LLVMGetBasicBlockTerminator(block)).value();
        let count = llvm!(self.api(), LLVMGetNumSuccessors(term));
        (0..count).map(|i| llvm!(self.api(), LLVMGetSuccessor(term, i))).collect()
    }

    /// Where a block goes next if nothing panics.
    fn normal_successors(&self, block: BlockRef) -> Vec<BlockRef> {
        let term = llvm!(self.api(), LLVMGetBasicBlockTerminator(block)).value();
        if llvm!(self.api(), LLVMGetInstructionOpcode(term)) == opcode::INVOKE {
            return vec![llvm!(self.api(), LLVMGetNormalDest(term))];
        }
        self.successors(block)
    }

    /// A block and all that may come after it.
    pub(super) fn blocks_after(&self, block: BlockRef) -> Vec<BlockRef> {
        let mut seen = HashSet::from([block]);
        let mut found = vec![block];
        let mut next = 0;
        while let Some(block) = found.get(next).copied() {
            next += 1;
            found.extend(self.successors(block).into_iter().filter(|successor| seen.insert(*successor)));
        }
        found
    }

    /// The phis of a block.
    pub(super) fn phis(&self, block: BlockRef) -> Vec<ValueRef> {
        let is_phi = |i: &ValueRef| llvm!(self.api(), LLVMGetInstructionOpcode(*i)) == opcode::PHI;
        self.raw_insts(block).into_iter().map(InstRef::value).take_while(is_phi).collect()
    }
}

/// The blocks that can be reached from `entry` if nothing panics, each before those it dominates.
fn reverse_postorder(module: &Module, entry: BlockRef) -> Vec<BlockRef> {
    let mut seen = HashSet::from([entry]);
    let mut order = Vec::new();
    let mut stack = vec![(entry, module.normal_successors(entry))];
    while let Some((block, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(next) if seen.insert(next) => stack.push((next, module.normal_successors(next))),
            Some(_) => {}
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

impl Body<'_, '_> {
    fn parameters(&mut self, raw: &[ValueRef], entry: Block) {
        for (raw, ty) in raw.iter().zip(self.func.params.clone()) {
            let value = self.func.add_param(entry, ty);
            self.values.insert(*raw, value);
        }
    }

    /// A parameter for each phi.
    fn phis(&mut self, raw: BlockRef, block: Block) {
        let api = self.imp.module.api();
        for phi in self.imp.module.phis(raw) {
            let ty = self.imp.ty(llvm!(api, LLVMTypeOf(phi)));
            let value = self.func.add_param(block, ty);
            self.values.insert(phi, value);
        }
    }

    fn block(&mut self, raw: BlockRef) -> Result<(), Reason> {
        let module = self.imp.module;
        self.current = self.blocks[&raw];
        let term = llvm!(module.api(), LLVMGetBasicBlockTerminator(raw)).value();
        for inst in module.raw_insts(raw) {
            self.loc = self.imp.location(inst);
            let inst = inst.value();
            if inst == term {
                let terminator = self.terminator(raw, term)?;
                let loc = self.loc;
                let block = self.func.block_mut(self.current);
                block.term = terminator;
                block.term_loc = loc;
            } else if llvm!(module.api(), LLVMGetInstructionOpcode(inst)) != opcode::PHI {
                self.inst(inst)?;
            }
        }
        Ok(())
    }

    fn terminator(&mut self, raw: BlockRef, term: ValueRef) -> Result<Terminator, Reason> {
        let module = self.imp.module;
        let api = module.api();
        let count = llvm!(api, LLVMGetNumSuccessors(term));
        let successor = |i| llvm!(api, LLVMGetSuccessor(term, i));
        Ok(match llvm!(api, LLVMGetInstructionOpcode(term)) {
            opcode::RESUME if self.part == Part::Cleanup => Terminator::Return(None),
            opcode::RET if self.part == Part::Cleanup => return Err("it catches panics".to_owned()),
            opcode::INVOKE => {
                self.cleanup = Some(self.cleanup_of(raw, term)?);
                self.call(term)?;
                self.cleanup = None;
                Terminator::Jump(self.jump(raw, llvm!(api, LLVMGetNormalDest(term))))
            }
            opcode::RET => {
                let value = module.raw_operands(term).first().copied();
                Terminator::Return(value.map(|v| self.value(v)))
            }
            opcode::UNREACHABLE => Terminator::Unreachable,
            opcode::SWITCH => {
                let value = self.value(llvm!(api, LLVMGetOperand(term, 0)));
                if !self.func.ty(value).is_int() {
                    return Err("a switch on a wide integer".to_owned());
                }
                let mut cases = Vec::new();
                for i in 1..count {
                    let case = module.int_bits(llvm!(api, LLVMGetSwitchCaseValue(term, i)));
                    cases.push((case, self.jump(raw, successor(i))));
                }
                Terminator::Switch(value, cases, self.jump(raw, successor(0)))
            }
            _ if count == 1 && module.raw_operands(term).len() == 1 => Terminator::Jump(self.jump(raw, successor(0))),
            opcode::BR => {
                let value = self.value(llvm!(api, LLVMGetCondition(term)));
                Terminator::Branch(value, self.jump(raw, successor(0)), self.jump(raw, successor(1)))
            }
            _ => return Err(format!("the instruction `{}`", module.print_value(term).trim())),
        })
    }

    /// A jump from one block to another, with the values of its phis.
    fn jump(&mut self, from: BlockRef, to: BlockRef) -> BlockCall {
        BlockCall::new(self.blocks[&to], self.incoming(from, to))
    }

    /// The values of a block's phis when it is reached from another.
    pub(super) fn incoming(&mut self, from: BlockRef, to: BlockRef) -> Vec<Value> {
        let api = self.imp.module.api();
        let mut args = Vec::new();
        for phi in self.imp.module.phis(to) {
            let count = llvm!(api, LLVMCountIncoming(phi));
            let entry = (0..count).find(|i| llvm!(api, LLVMGetIncomingBlock(phi, *i)) == from);
            let entry = entry.expect("a phi has an entry for each predecessor");
            args.push(self.value(llvm!(api, LLVMGetIncomingValue(phi, entry))));
        }
        args
    }

    /// The IR value of an operand.
    pub(super) fn value(&mut self, raw: ValueRef) -> Value {
        if let Some(value) = self.values.get(&raw) {
            return *value;
        }
        let kind = llvm!(self.imp.module.api(), LLVMGetValueKind(raw));
        assert!(
            kind != value_kind::INSTRUCTION && kind != value_kind::ARGUMENT,
            "a bug in Pullback: an operand was not imported before its use: {}",
            self.imp.module.print_value(raw)
        );
        let value = self.constant(raw);
        self.values.insert(raw, value);
        value
    }

    /// A cursor at the end of the current block.
    pub(super) fn builder(&mut self) -> Builder<'_> {
        let mut builder = Builder::new(&mut self.func, self.current);
        builder.loc = self.loc;
        builder
    }

    /// Append an operation; its result becomes the value of `raw`.
    pub(super) fn define(&mut self, raw: ValueRef, op: Op, ty: Option<Type>, flags: pullback_ir::Flags) {
        let mut builder = self.builder();
        builder.flags = flags;
        let inst = builder.push(op, ty);
        if let Some(result) = self.func.inst(inst).result {
            self.values.insert(raw, result);
        }
    }

    /// A jump to a block that only says `unreachable` says so itself: LLVM's `mergereturn` shares such blocks.
    fn drop_empty_dead_ends(&mut self) {
        let is_dead_end = |func: &Function, block: Block| {
            let data = func.block(block);
            data.insts.is_empty() && data.params.is_empty() && data.term == Terminator::Unreachable
        };
        let blocks: Vec<Block> = self.func.blocks().collect();
        for block in &blocks {
            if let Terminator::Jump(target) = &self.func.block(*block).term
                && is_dead_end(&self.func, target.block)
            {
                self.func.block_mut(*block).term = Terminator::Unreachable;
            }
        }
        let preds = self.func.predecessors();
        let entry = self.func.entry();
        let gone: Vec<Block> = blocks
            .into_iter()
            .filter(|b| *b != entry && preds[b.index()].is_empty() && is_dead_end(&self.func, *b))
            .collect();
        self.func.retain_blocks(|b| !gone.contains(&b));
    }
}
