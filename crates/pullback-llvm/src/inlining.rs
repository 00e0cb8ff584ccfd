//! Which functions go into their callers when a working copy is [normalised](crate::normalise()).
//!
//! All that can, for most working copies: what is behind a call of an iterator's `next` is best seen in its caller. What
//! stays a call is what cannot be inlined (it is recursive, or does not return, or catches panics), and what is called so
//! often, by functions that are called so often, that the code would be larger than the [limit](NormaliseOptions::limit).
//!
//! Functions that are only known by their addresses, in tables of methods or as arguments, are **apart**: nothing is
//! inlined into them. They often are most of a program: a method of each type behind a `dyn`, and all that these call.
//! Derivatives do not look into them. If it turns out while others are inlined which function is called by such an
//! address, that function is apart no longer.

use crate::call_graph::CallGraph;
use crate::error::{Error, Result};
use crate::ffi::{BlockRef, InstRef, ValueRef, llvm};
use crate::import::Allocator;
use crate::kinds::{FUNCTION_INDEX, opcode, value_kind};
use crate::module::Module;
use crate::normalise::NormaliseOptions;
use std::collections::{HashMap, HashSet};

/// Features that each processor of an architecture has. (`core::arch` names them on its functions.)
const EVERYWHERE: [&str; 8] = ["+cx8", "+fp-armv8", "+fxsr", "+mmx", "+neon", "+sse", "+sse2", "+x87"];

/// Whether a function goes into its callers.
#[derive(Clone, Copy)]
pub(crate) enum Inlining {
    Always,
    Never,
}

impl Module {
    /// Mark what is to be inlined; returns the functions that catch panics, which no pass may touch.
    pub(crate) fn mark_for_inlining(
        &self,
        roots: &HashSet<ValueRef>,
        options: &NormaliseOptions,
    ) -> Result<HashSet<ValueRef>> {
        let recursive = self.call_graph().recursive();
        let features = roots.iter().map(|r| self.features(*r)).reduce(|a, b| &a & &b).unwrap_or_default();
        let mut catching = HashSet::new();
        for function in self.raw_functions() {
            if self.is_declaration(function) {
                continue;
            }
            let name = self.name_of(function);
            for attribute in ["optnone", "noinline", "alwaysinline", "optsize", "minsize"] {
                self.remove_attribute(function, attribute);
            }
            let catches = self.catches_panics(function);
            if catches {
                if roots.contains(&function) {
                    let reason = "it catches panics".to_owned();
                    return Err(Error::Import { function: crate::import::demangle(&name), reason });
                }
                catching.insert(function);
            }
            let stays = catches
                || roots.contains(&function)
                || recursive.contains(&function)
                || self.has_attribute(function, "noreturn")
                || self.has_attribute(function, "naked")
                || Allocator::of(&name).is_some()
                || options.keep.contains(&name)
                || !self.features(function).is_subset(&features);
            self.set_inlining(function, if stays { Inlining::Never } else { Inlining::Always });
            self.set_calls(function, Inlining::Always);
        }
        Ok(catching)
    }

    /// The target features a function was compiled with besides the usual ones.
    fn features(&self, function: ValueRef) -> HashSet<String> {
        let features = self.string_attribute(function, "target-features").unwrap_or_default();
        let is_added = |feature: &&str| feature.starts_with('+') && !EVERYWHERE.contains(feature);
        features.split(',').filter(is_added).map(str::to_owned).collect()
    }

    /// Whether a function stops a panic, as `catch_unwind` does: it has a landing pad for any exception.
    fn catches_panics(&self, function: ValueRef) -> bool {
        let api = self.api();
        self.raw_body(function).into_iter().any(|inst| {
            let inst = inst.value();
            llvm!(api, LLVMGetInstructionOpcode(inst)) == opcode::LANDING_PAD
                && (0..llvm!(api, LLVMGetNumClauses(inst)))
                    .any(|i| llvm!(api, LLVMGetValueKind(llvm!(api, LLVMGetClause(inst, i)))) == value_kind::NULL)
        })
    }

    pub(crate) fn set_inlining(&self, function: ValueRef, inlining: Inlining) {
        let (set, clear) = match inlining {
            Inlining::Always => ("alwaysinline", "noinline"),
            Inlining::Never => ("noinline", "alwaysinline"),
        };
        self.remove_attribute(function, clear);
        self.add_attribute(function, set);
    }

    /// The functions to be inlined that have a loop, or call one that has.
    pub(crate) fn inlined_with_loops(&self) -> Vec<ValueRef> {
        let found = self.call_graph().callers(|f| self.has_loop(f));
        found.into_iter().filter(|f| self.has_attribute(*f, "alwaysinline")).collect()
    }

    /// Whether a block can be reached from itself: whether taking away blocks without predecessors leaves any.
    fn has_loop(&self, function: ValueRef) -> bool {
        let api = self.api();
        let blocks = self.raw_blocks(function);
        let successors = |block: BlockRef| {
            let term = llvm!(api, LLVMGetBasicBlockTerminator(block)).value();
            let count = llvm!(api, LLVMGetNumSuccessors(term));
            (0..count).map(|i| llvm!(api, LLVMGetSuccessor(term, i))).collect::<Vec<_>>()
        };
        let mut predecessors: HashMap<BlockRef, usize> = blocks.iter().map(|block| (*block, 0)).collect();
        for to in blocks.iter().flat_map(|block| successors(*block)) {
            *predecessors.entry(to).or_default() += 1;
        }
        let mut free: Vec<BlockRef> = blocks.iter().copied().filter(|block| predecessors[block] == 0).collect();
        let mut left = blocks.len();
        while let Some(block) = free.pop() {
            left -= 1;
            for to in successors(block) {
                let count = predecessors.entry(to).or_default();
                *count -= 1;
                if *count == 0 {
                    free.push(to);
                }
            }
        }
        left > 0
    }

    /// The functions with bodies, and their calls.
    fn call_graph(&self) -> CallGraph<ValueRef> {
        CallGraph::new(self.raw_functions().into_iter().filter(|f| !self.is_declaration(*f)).map(|function| {
            let body = self.raw_body(function);
            let calls = body.iter().filter_map(|inst| self.called(inst.value())).collect();
            (function, body.len() as u64, calls)
        }))
    }

    /// Let what is too large stay a call, and what is not called by name be apart. Whether functions were apart that are
    /// called now: into these nothing has been inlined yet.
    pub(crate) fn bound_inlining(&self, roots: &HashSet<ValueRef>, limit: u64) -> bool {
        let graph = self.call_graph();
        // It may have been seen only now that a function calls itself.
        graph.recursive().into_iter().for_each(|function| self.set_inlining(function, Inlining::Never));
        for function in graph.too_large(roots, |f| !self.has_attribute(f, "alwaysinline"), limit) {
            self.set_inlining(function, Inlining::Never);
        }
        let called = graph.called_from(roots);
        let mut joins = false;
        for function in self.raw_functions() {
            if called.contains(&function) {
                joins |= self.set_calls(function, Inlining::Always);
            } else {
                self.set_calls(function, Inlining::Never);
            }
        }
        joins
    }

    /// What was said of functions that are still apart is for this module's passes only.
    pub(crate) fn unbound_inlining(&self, roots: &HashSet<ValueRef>) {
        let called = self.call_graph().called_from(roots);
        for function in self.raw_functions().into_iter().filter(|f| !called.contains(f)) {
            self.set_calls(function, Inlining::Always);
            self.remove_attribute(function, "alwaysinline");
        }
    }

    /// Say of each call in a function whether it may be inlined, if its callee may. Whether any could not, before.
    fn set_calls(&self, function: ValueRef, inlining: Inlining) -> bool {
        let Some(kind) = self.attribute_kind("noinline") else { return false };
        let is_marked = |call: &InstRef| self.call_attribute(call.value(), FUNCTION_INDEX, "noinline").is_some();
        let body = self.raw_body(function).into_iter().filter(|inst| self.called(inst.value()).is_some());
        let (marked, plain): (Vec<InstRef>, Vec<InstRef>) = body.partition(is_marked);
        match inlining {
            Inlining::Always => {
                for call in &marked {
                    llvm!(self.api(), LLVMRemoveCallSiteEnumAttribute(*call, FUNCTION_INDEX, kind));
                }
            }
            Inlining::Never => {
                let attribute = llvm!(self.api(), LLVMCreateEnumAttribute(self.raw_context(), kind, 0));
                for call in plain {
                    llvm!(self.api(), LLVMAddCallSiteAttribute(call, FUNCTION_INDEX, attribute));
                }
            }
        }
        !marked.is_empty()
    }
}
