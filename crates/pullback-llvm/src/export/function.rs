//! One function's body: blocks, phis, terminators.

use super::Exporter;
use super::alias::Scopes;
use crate::ffi::{BlockRef, ValueRef, llvm};
use pullback_ir::{Block, BlockCall, FuncId, Function, Terminator, Value, ValueDef};
use std::collections::HashMap;

/// What is known while one function is exported.
pub(super) struct Body<'e, 'a> {
    pub exp: &'e mut Exporter<'a>,
    pub func: &'e Function,
    pub values: HashMap<Value, ValueRef>,
    pub scopes: Scopes,
    /// LLVM's function.
    pub raw: ValueRef,
    /// The landing pads, by what they do.
    pub pads: HashMap<Option<(FuncId, Vec<Value>)>, BlockRef>,
    blocks: HashMap<Block, BlockRef>,
}

impl Exporter<'_> {
    /// Give the LLVM function `raw` the body of `func`.
    pub(super) fn function(&mut self, func: &Function, raw: ValueRef) -> Result<(), String> {
        let (module, api, builder) = (self.module, self.module.api(), self.builder);
        let order = reverse_postorder(func);
        let scopes = Scopes::new(module, func);
        let mut body =
            Body { exp: self, func, values: HashMap::new(), scopes, raw, pads: HashMap::new(), blocks: HashMap::new() };
        let mut phis = Vec::new();
        for (position, block) in order.iter().enumerate() {
            let raw_block = llvm!(api, LLVMAppendBasicBlockInContext(module.raw_context(), raw, c"".as_ptr()));
            body.blocks.insert(*block, raw_block);
            llvm!(api, LLVMPositionBuilderAtEnd(builder, raw_block));
            for (i, param) in func.block(*block).params.iter().enumerate() {
                let value = if position == 0 {
                    llvm!(api, LLVMGetParam(raw, i as u32))
                } else {
                    let phi = llvm!(api, LLVMBuildPhi(builder, body.exp.ty(func.ty(*param)), c"".as_ptr()));
                    phis.push((phi, *block, i));
                    phi.value()
                };
                body.values.insert(*param, value);
            }
        }
        // The incoming edges of each block, in the order in which they are built.
        let mut edges: HashMap<Block, Vec<(BlockRef, Vec<ValueRef>)>> = HashMap::new();
        for block in &order {
            let raw_block = body.blocks[block];
            llvm!(api, LLVMPositionBuilderAtEnd(builder, raw_block));
            for inst in &func.block(*block).insts {
                body.inst(*inst)?;
            }
            // A call that cleans up when it panics goes on in a block of its own.
            let last = llvm!(api, LLVMGetInsertBlock(builder));
            let term = &func.block(*block).term;
            let mut ways = Vec::new();
            for (i, target) in term.targets().into_iter().enumerate() {
                if target.block == order[0] {
                    return Err("it jumps to its entry block".to_owned());
                }
                let args = body.arguments(target)?;
                // Two ways to one block with different values: a phi knows only where it was come from.
                let differs = |other: &&BlockCall| other.block == target.block && other.args != target.args;
                let (from, to) = match term.targets()[..i].iter().any(differs) {
                    true => {
                        let way = llvm!(api, LLVMAppendBasicBlockInContext(module.raw_context(), raw, c"".as_ptr()));
                        llvm!(api, LLVMPositionBuilderAtEnd(builder, way));
                        llvm!(api, LLVMBuildBr(builder, body.blocks[&target.block]));
                        (way, way)
                    }
                    false => (last, body.blocks[&target.block]),
                };
                ways.push(to);
                edges.entry(target.block).or_default().push((from, args));
            }
            llvm!(api, LLVMPositionBuilderAtEnd(builder, last));
            // A function without any code would have the address of the next one, and the tables for unwinding would
            // name both: a panic in the other could not be unwound.
            if *block == order[0] && *term == Terminator::Unreachable && func.block(*block).insts.is_empty() {
                body.intrinsic("llvm.trap", &[], None)?;
            }
            body.terminator(term, &ways)?;
        }
        for (phi, block, position) in phis {
            for (from, args) in edges.get(&block).into_iter().flatten() {
                let (mut value, mut from) = (args[position], *from);
                llvm!(api, LLVMAddIncoming(phi, &mut value, &mut from, 1));
            }
        }
        Ok(())
    }
}

/// The reachable blocks, each before those it dominates.
fn reverse_postorder(func: &Function) -> Vec<Block> {
    let successors = |block: Block| func.block(block).term.targets().iter().map(|t| t.block).collect::<Vec<_>>();
    let entry = func.entry();
    let mut seen = vec![false; func.block_bound()];
    seen[entry.index()] = true;
    let mut order = Vec::new();
    let mut stack = vec![(entry, successors(entry))];
    while let Some((block, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(next) if !seen[next.index()] => {
                seen[next.index()] = true;
                stack.push((next, successors(next)));
            }
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
    /// LLVM's value for one of ours.
    pub(super) fn value(&mut self, value: Value) -> Result<ValueRef, String> {
        if let Some(raw) = self.values.get(&value) {
            return Ok(*raw);
        }
        match &self.func.value(value).def {
            ValueDef::Const(constant) => {
                let raw = self.exp.constant(self.func.ty(value), constant)?;
                self.values.insert(value, raw);
                Ok(raw)
            }
            _ => Err(format!("{value} is used where its definition does not reach")),
        }
    }

    fn arguments(&mut self, target: &BlockCall) -> Result<Vec<ValueRef>, String> {
        target.args.iter().map(|v| self.value(*v)).collect()
    }

    /// The end of a block; `ways` are the blocks that its targets are reached by.
    fn terminator(&mut self, term: &Terminator, ways: &[BlockRef]) -> Result<(), String> {
        let (api, builder) = (self.exp.module.api(), self.exp.builder);
        let operand = match term.operand() {
            Some(value) => self.value(value)?,
            None => ValueRef::NULL,
        };
        match term {
            Terminator::Jump(_) => {
                llvm!(api, LLVMBuildBr(builder, ways[0]));
            }
            Terminator::Branch(..) => {
                llvm!(api, LLVMBuildCondBr(builder, operand, ways[0], ways[1]));
            }
            Terminator::Switch(value, cases, _) => {
                let count = cases.len() as u32;
                let switch = llvm!(api, LLVMBuildSwitch(builder, operand, ways[cases.len()], count));
                for ((case, _), way) in cases.iter().zip(ways) {
                    let ty = self.func.ty(*value).clone();
                    let case = self.exp.constant(&ty, &pullback_ir::Constant::Int(*case))?;
                    llvm!(api, LLVMAddCase(switch, case, *way));
                }
            }
            Terminator::Return(Some(_)) => {
                llvm!(api, LLVMBuildRet(builder, operand));
            }
            Terminator::Return(None) => {
                llvm!(api, LLVMBuildRetVoid(builder));
            }
            Terminator::Unreachable => {
                llvm!(api, LLVMBuildUnreachable(builder));
            }
        }
        Ok(())
    }
}
